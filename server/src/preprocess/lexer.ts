import { asciiClasses, CharacterClass, classAt, continuesIdentifier, wideClass } from './characters';
import type { LexedComment, LexedFile, LexicalProblem } from './lexed-file';
import { findDirectives, findGuard } from './line-structure';
import { endOfLine, findLineStarts } from './positions';
import { punctuatorLength } from './punctuators';
import { Fixed, hashStep, type Spellings } from './spellings';
import { moveToOriginal, originalOffset, type SplicedText, splicedOffset, spliceLines } from './splices';
import { TokenFlag, TokenKind } from './token';

/**
 * Splits a text into preprocessing tokens. Takes any text; what is malformed becomes a token all the same, with a
 * problem recorded. A byte-order mark must have been removed before.
 */
export function lex(text: string, spellings: Spellings): LexedFile {
  return new Lexer(text, spellings).run();
}

const SLASH = 47;
const STAR = 42;
const DOUBLE_QUOTE = 34;
const SINGLE_QUOTE = 39;
const BACKSLASH = 92;
const DOT = 46;
const LESS = 60;

const literalPrefixes: ReadonlySet<string> = new Set(['L', 'u', 'U', 'u8']);
const rawPrefixes: ReadonlySet<string> = new Set(['R', 'LR', 'uR', 'UR', 'u8R']);
/** Suffixes that may follow a quote directly. Others are a name of their own: old code writes "%"PRIu64 without a space. */
const standardSuffixes: ReadonlySet<string> = new Set([
  's',
  'sv',
  'h',
  'min',
  'ms',
  'us',
  'ns',
  'i',
  'if',
  'il',
  'd',
  'y',
]);
const warplensComment = /^(warplens(?:-[\w-]*)?)(?![\w-])\s*(:?)/;

/**
 * Arrays to lex into, copied at their true length at the end. Shared by all calls: fresh memory of the size of a file
 * at every key press would cost as much as the lexing.
 */
const scratch = {
  kind: new Uint8Array(1 << 14),
  flags: new Uint8Array(1 << 14),
  spelling: new Int32Array(1 << 14),
  start: new Int32Array(1 << 14),
  end: new Int32Array(1 << 14),
};

class Lexer {
  private readonly splices: SplicedText | undefined;
  private readonly text: string;
  private position = 0;
  /** Flags of the next token. */
  private pending: number = TokenFlag.lineStart;
  private count = 0;
  private kind = scratch.kind;
  private flags = scratch.flags;
  private spelling = scratch.spelling;
  private start = scratch.start;
  private end = scratch.end;
  private readonly comments: LexedComment[] = [];
  private readonly problems: LexicalProblem[] = [];

  constructor(
    private readonly original: string,
    private readonly spellings: Spellings,
  ) {
    this.splices = spliceLines(original);
    this.text = this.splices?.text ?? original;
  }

  run(): LexedFile {
    const text = this.text;
    const length = text.length;
    while (this.position < length) {
      const code = text.charCodeAt(this.position);
      switch (code < 128 ? asciiClasses[code] : wideClass(text, this.position)) {
        case CharacterClass.space:
          this.pending |= TokenFlag.spaceBefore;
          this.position++;
          break;
        case CharacterClass.newline:
          this.pending = TokenFlag.lineStart;
          this.position++;
          break;
        case CharacterClass.identifier:
          this.identifier();
          break;
        case CharacterClass.digit:
          this.number();
          break;
        case CharacterClass.punctuator:
          this.punctuatorOrComment(code);
          break;
        case CharacterClass.doubleQuote:
          this.quoted(this.position, this.position, DOUBLE_QUOTE);
          break;
        case CharacterClass.singleQuote:
          this.quoted(this.position, this.position, SINGLE_QUOTE);
          break;
        default:
          this.unknown();
      }
    }
    return this.finish();
  }

  private identifier(): void {
    const { text, position: start } = this;
    const length = text.length;
    let position = start;
    let hash = 0;
    while (position < length) {
      const code = text.charCodeAt(position);
      if (code < 128) {
        const value = asciiClasses[code];
        if (value !== CharacterClass.identifier && value !== CharacterClass.digit) break;
      } else if (!continuesIdentifier(text, position)) break;
      hash = (Math.imul(hash, 31) + code) | 0;
      position++;
    }
    if (position - start <= 3) {
      const quote = text.charCodeAt(position);
      if ((quote === DOUBLE_QUOTE || quote === SINGLE_QUOTE) && this.prefixed(start, position, quote)) return;
    }
    this.push(TokenKind.identifier, start, position, this.spellings.internRange(text, start, position, hash));
  }

  /** A literal behind what may be its prefix; false if the name is none. */
  private prefixed(start: number, quoteAt: number, quote: number): boolean {
    const prefix = this.text.slice(start, quoteAt);
    if (literalPrefixes.has(prefix)) {
      this.quoted(start, quoteAt, quote);
      return true;
    }
    if (quote !== DOUBLE_QUOTE || !rawPrefixes.has(prefix)) return false;
    this.rawString(start, quoteAt);
    return true;
  }

  private number(): void {
    const { text, position: start } = this;
    let position = start + 1;
    for (; position < text.length; position++) {
      const code = text.charCodeAt(position);
      const value = code < 128 ? asciiClasses[code] : wideClass(text, position);
      if (value === CharacterClass.identifier || value === CharacterClass.digit || code === DOT) continue;
      if ((code === 43 || code === 45) && isExponent(text.charCodeAt(position - 1))) continue;
      // a digit separator stands between digits: 1'000'000
      if (code === SINGLE_QUOTE && continuesIdentifier(text, position + 1)) continue;
      break;
    }
    this.push(TokenKind.number, start, position, this.internRange(start, position));
  }

  private punctuatorOrComment(code: number): void {
    const { text, position: start } = this;
    const next = text.charCodeAt(start + 1);
    if (code === SLASH && (next === SLASH || next === STAR)) {
      this.comment(next === STAR);
    } else if (code === DOT && next >= 48 && next <= 57) {
      this.number();
    } else if (code === LESS && this.followsInclude()) {
      this.headerName();
    } else {
      const end = start + punctuatorLength(text, start, code);
      this.push(TokenKind.punctuator, start, end, this.internRange(start, end));
    }
  }

  /** Whether the tokens just before are `# include` at the start of a line. */
  private followsInclude(): boolean {
    const last = this.count - 1;
    if (last < 1 || this.pending & TokenFlag.lineStart) return false;
    if (this.spelling[last - 1] !== Fixed.hash || !(this.flags[last - 1] & TokenFlag.lineStart)) return false;
    const name = this.spelling[last];
    return name === Fixed.include || name === Fixed.includeNext || name === Fixed.import;
  }

  /** `<path>` of an include as one string token: a path may hold what would be a comment or an open quote elsewhere. */
  private headerName(): void {
    const start = this.position;
    const close = this.text.indexOf('>', start);
    const end = close >= 0 && close < endOfLine(this.text, start) ? close + 1 : start + 1;
    const kind = end > start + 1 ? TokenKind.string : TokenKind.punctuator;
    this.push(kind, start, end, this.internRange(start, end));
  }

  private comment(block: boolean): void {
    const { text, position: start } = this;
    let contentEnd: number;
    let end: number;
    if (block) {
      const close = text.indexOf('*/', start + 2);
      contentEnd = close < 0 ? text.length : close;
      end = close < 0 ? text.length : close + 2;
      if (close < 0)
        this.problem(start, end, 'This comment is not closed: the rest of the file belongs to it. Add */.');
    } else {
      contentEnd = endOfLine(text, start);
      end = contentEnd;
    }
    this.collect(start, contentEnd, end);
    this.pending |= TokenFlag.spaceBefore;
    this.position = end;
  }

  /** Keeps a comment that speaks to Warplens. */
  private collect(start: number, contentEnd: number, end: number): void {
    let front = start + 2;
    while (front < contentEnd && leadsComment(this.text.charCodeAt(front))) front++;
    if (!this.text.startsWith('warplens', front)) return;
    const content = this.text.slice(front, contentEnd);
    const match = warplensComment.exec(content);
    if (!match) return;
    this.comments.push({
      start: this.toOriginal(start),
      end: this.toOriginal(end - 1) + 1,
      keyword: match[1],
      hasColon: match[2] !== '',
      text: content.slice(match[0].length).trim(),
      token: this.count,
    });
  }

  private quoted(start: number, quoteAt: number, quote: number): void {
    const text = this.text;
    const isString = quote === DOUBLE_QUOTE;
    let position = quoteAt + 1;
    for (; position < text.length; position++) {
      const code = text.charCodeAt(position);
      if (code === BACKSLASH && position + 1 < text.length && classAt(text, position + 1) !== CharacterClass.newline) {
        position++;
      } else if (code === quote || code === 10 || code === 13) break;
    }
    const closed = position < text.length && text.charCodeAt(position) === quote;
    const end = closed ? this.suffixEnd(position + 1) : Math.min(position, text.length);
    if (!closed) {
      const what = isString ? 'This string is' : 'This character literal is';
      this.problem(start, end, `${what} not closed: it is taken to end with its line. Add ${isString ? '"' : "'"}.`);
    }
    this.push(isString ? TokenKind.string : TokenKind.character, start, end, this.internRange(start, end));
  }

  private rawString(start: number, quoteAt: number): void {
    // within a raw string nothing is spliced: find its end in the text as it was written
    const original = this.original;
    const from = this.toOriginal(quoteAt) + 1;
    const open = /^[^()\\\s]{0,16}\(/.exec(original.slice(from, from + 17));
    const close = open ? original.indexOf(`)${open[0].slice(0, -1)}"`, from + open[0].length) : -1;
    if (!open || close < 0) {
      const end = endOfLine(this.text, start);
      const message = open ? 'This raw string is not closed' : 'This raw string has no delimiter';
      this.problem(start, end, `${message}: it is taken to end with its line. Write R"(…)".`);
      this.push(TokenKind.string, start, end, this.internRange(start, end));
      return;
    }
    const originalEnd = close + open[0].length + 1;
    const end = this.suffixEnd(this.toSpliced(originalEnd - 1) + 1);
    const spelling = this.spellings.intern(original.slice(this.toOriginal(start), this.toOriginal(end - 1) + 1));
    this.push(TokenKind.string, start, end, spelling);
  }

  /** End of the user-defined suffix at `position`, or `position` where there is none. */
  private suffixEnd(position: number): number {
    if (classAt(this.text, position) !== CharacterClass.identifier) return position;
    let end = position + 1;
    while (continuesIdentifier(this.text, end)) end++;
    const suffix = this.text.slice(position, end);
    return suffix[0] === '_' || standardSuffixes.has(suffix) ? end : position;
  }

  private unknown(): void {
    const start = this.position;
    const end = start + ((this.text.codePointAt(start) ?? 0) > 0xffff ? 2 : 1);
    this.push(TokenKind.unknown, start, end, this.internRange(start, end));
  }

  private push(kind: number, start: number, end: number, spelling: number): void {
    const index = this.count;
    if (index === this.kind.length) this.grow();
    this.kind[index] = kind;
    this.flags[index] = this.pending;
    this.spelling[index] = spelling;
    this.start[index] = start;
    this.end[index] = end;
    this.count = index + 1;
    this.pending = 0;
    this.position = end;
  }

  private grow(): void {
    this.kind = scratch.kind = enlarged(this.kind, new Uint8Array(this.kind.length * 2));
    this.flags = scratch.flags = enlarged(this.flags, new Uint8Array(this.flags.length * 2));
    this.spelling = scratch.spelling = enlarged(this.spelling, new Int32Array(this.spelling.length * 2));
    this.start = scratch.start = enlarged(this.start, new Int32Array(this.start.length * 2));
    this.end = scratch.end = enlarged(this.end, new Int32Array(this.end.length * 2));
  }

  private internRange(start: number, end: number): number {
    const text = this.text;
    let hash = 0;
    for (let position = start; position < end; position++) hash = hashStep(hash, text.charCodeAt(position));
    return this.spellings.internRange(text, start, end, hash);
  }

  private problem(start: number, end: number, message: string): void {
    this.problems.push({
      token: this.count,
      start: this.toOriginal(start),
      end: this.toOriginal(end - 1) + 1,
      message,
    });
  }

  private toOriginal(position: number): number {
    return this.splices ? originalOffset(this.splices, position) : position;
  }

  private toSpliced(offset: number): number {
    return this.splices ? splicedOffset(this.splices, offset) : offset;
  }

  private finish(): LexedFile {
    const { count } = this;
    const flags = this.flags.slice(0, count);
    const spelling = this.spelling.slice(0, count);
    const kind = this.kind.slice(0, count);
    const start = this.start.slice(0, count);
    const end = this.end.slice(0, count);
    if (this.splices) moveToOriginal(this.splices, start, end);
    const directives = findDirectives(flags, spelling, kind);
    return {
      text: this.original,
      lineStarts: findLineStarts(this.original),
      count,
      kind,
      flags,
      spelling,
      start,
      end,
      directives,
      comments: this.comments,
      problems: this.problems,
      guard: findGuard(directives, spelling, kind, this.spellings),
      compiledMacros: new Map(),
    };
  }
}

/** Blanks, and the ornaments of documentation comments. */
function leadsComment(code: number): boolean {
  return code === STAR || code === SLASH || code === 33 || asciiClasses[code] === CharacterClass.space || code === 10;
}

function isExponent(code: number): boolean {
  return code === 101 || code === 69 || code === 112 || code === 80; // e E p P
}

function enlarged<T extends Uint8Array | Int32Array>(old: T, target: T): T {
  target.set(old);
  return target;
}
