/** Characters of a PTX text to tokens: words (identifiers, directives, opcodes), numbers, strings, punctuation. */

const SPACE = 32;
const QUOTE = 34;
const SLASH = 47;
const STAR = 42;
const NEWLINE = 10;

/** By character code below 128: may stand in a word. */
const inWord = new Uint8Array(128);
for (const c of 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$%.') inWord[c.charCodeAt(0)] = 1;

export class Scanner {
  private at = 0;

  constructor(private readonly text: string) {}

  /** Line (from 1) of the next token. */
  line(): number {
    let line = 1;
    for (let i = this.text.indexOf('\n'); i >= 0 && i < this.at; i = this.text.indexOf('\n', i + 1)) line++;
    return line;
  }

  get isAtEnd(): boolean {
    this.skipSpace();
    return this.at >= this.text.length;
  }

  get position(): number {
    this.skipSpace();
    return this.at;
  }

  slice(from: number, to: number): string {
    return this.text.slice(from, to);
  }

  private skipSpace(): void {
    const { text } = this;
    for (;;) {
      const c = text.charCodeAt(this.at);
      if (c <= SPACE) this.at++;
      else if (c === SLASH && text.charCodeAt(this.at + 1) === SLASH) {
        const end = text.indexOf('\n', this.at);
        this.at = end < 0 ? text.length : end;
      } else if (c === SLASH && text.charCodeAt(this.at + 1) === STAR) {
        const end = text.indexOf('*/', this.at + 2);
        this.at = end < 0 ? text.length : end + 2;
      } else return;
    }
  }

  /** The next token without taking it; '' at the end. */
  peek(): string {
    const before = this.position;
    const token = this.next();
    this.at = before;
    return token;
  }

  /** The next character that is no space, as a code; NaN at the end. */
  peekCode(): number {
    this.skipSpace();
    return this.text.charCodeAt(this.at);
  }

  /** A word (dots included), a quoted string with its quotes, or one character of punctuation. */
  next(): string {
    this.skipSpace();
    const { text } = this;
    const start = this.at;
    let c = text.charCodeAt(start);
    if (Number.isNaN(c)) return '';
    if (c === QUOTE) {
      const end = text.indexOf('"', start + 1);
      this.at = end < 0 ? text.length : end + 1;
      return text.slice(start, this.at);
    }
    let at = start;
    while (c < 128 && inWord[c] === 1) c = text.charCodeAt(++at);
    this.at = at === start ? start + 1 : at;
    return text.slice(start, this.at);
  }

  /** An opcode: everything up to the next space, `;` or bracket. Holds `::` of cache hints. */
  opcode(): string {
    this.skipSpace();
    const { text } = this;
    const start = this.at;
    let c = text.charCodeAt(start);
    while ((c < 128 && inWord[c] === 1) || c === 58) c = text.charCodeAt(++this.at);
    if (this.at === start) this.at++;
    return text.slice(start, this.at);
  }

  /** Takes the token if it is the next. */
  take(token: string): boolean {
    this.skipSpace();
    if (!this.text.startsWith(token, this.at)) return false;
    this.at += token.length;
    return true;
  }

  /** The rest of the line, taken. */
  restOfLine(): string {
    const end = this.text.indexOf('\n', this.at);
    const start = this.at;
    this.at = end < 0 ? this.text.length : end;
    return this.text.slice(start, this.at);
  }

  /** The comment that ends the line, taken; undefined where something else follows. */
  lineComment(): string | undefined {
    const { text } = this;
    let at = this.at;
    for (let c = text.charCodeAt(at); c <= SPACE && c !== NEWLINE; c = text.charCodeAt(at)) at++;
    if (text.charCodeAt(at) !== SLASH || text.charCodeAt(at + 1) !== SLASH) return undefined;
    this.at = at;
    return this.restOfLine();
  }

  isAtLineEnd(): boolean {
    for (let i = this.at; ; i++) {
      const c = this.text.charCodeAt(i);
      if (c === NEWLINE || Number.isNaN(c)) return true;
      if (c > SPACE) return false;
    }
  }

  /** Skips to just behind the next `;`, or before a brace. */
  skipStatement(): void {
    for (;;) {
      const c = this.peekCode();
      if (Number.isNaN(c) || c === 123 || c === 125) return;
      if (this.next() === ';') return;
    }
  }

  /** Behind the brace that closes the one just taken. */
  skipBraces(): void {
    for (let depth = 1; depth > 0; ) {
      const token = this.next();
      if (token === '') return;
      if (token === '{') depth++;
      else if (token === '}') depth--;
    }
  }
}
