/** The parser's state: where it stands, how far it may read, which names it knows and what it could not understand. */
import { TokenFlag, TokenKind, type TokenStream } from '../preprocess/token';
import type { NamePart, Node } from './ast';
import type { Brackets } from './brackets';
import { type NumberLiteral, readNumber } from './literals';
import { lookup, type NameEntry, Scope } from './names';
import { Packing } from './packing';
import { PRECEDENCE, Word } from './words';

/**
 * Nesting beyond which a group becomes an unknown node: bounds the stack for this parser and for whoever walks the tree.
 * A nested parenthesis counts two, a block two.
 */
const maxDepth = 400;
/** Operators, postfixes or pointers in one chain (`a + b + …`), whose tree is as deep as the chain is long. */
export const maxChain = 2000;

export interface UnrollPragma {
  readonly beforeToken: number;
  readonly text: string;
}

export class Parser {
  readonly text: readonly string[];
  readonly kind: Uint8Array;
  /** Index of the current token. */
  pos = 0;
  /** Characters of the current token already used: a `>>` closes two template argument lists one after the other. */
  split = 0;
  /** The token the current group ends before. */
  limit: number;
  /** Spelling of the current token, '' at the limit. */
  tok = '';
  /** Inside `<…>`: a `>` closes the list and is no operator. */
  inAngles = false;
  depth = 0;
  /** Counts what could not be understood; a function whose parsing raises it is broken. */
  damage = 0;
  readonly notes: (Node & { readonly message: string })[] = [];
  scope: Scope = new Scope(undefined, 'namespace');
  readonly globalScope = this.scope;
  /** Bodies of methods, parsed once their record is complete. */
  deferred: (() => void)[] = [];
  recordDepth = 0;
  /** Ends of template argument lists that were searched already, by the `<` token. */
  readonly angleEnds = new Map<number, number>();
  /** Names that are used like types somewhere in the unit although nobody declares them. */
  typeEvidence: ReadonlySet<string> = new Set();
  private readonly numbers = new Map<string, NumberLiteral>();
  private readonly plainNames = new Map<string, readonly NamePart[]>();
  /** In front of loops. */
  readonly pragmas = new Map<number, string>();
  readonly packing: Packing;

  constructor(
    readonly tokens: TokenStream,
    readonly classes: Uint16Array,
    readonly brackets: Brackets,
    pragmas: readonly UnrollPragma[],
  ) {
    this.text = tokens.text;
    this.kind = tokens.kind;
    this.limit = tokens.count - 1;
    for (const pragma of pragmas) this.pragmas.set(pragma.beforeToken, pragma.text);
    this.packing = new Packing(pragmas);
    this.jump(0);
  }

  // ---- position -------------------------------------------------------------------------------------------------------

  jump(index: number): void {
    this.pos = index;
    this.split = 0;
    this.tok = index < this.limit ? this.text[index] : '';
  }

  next(): void {
    this.jump(this.pos + 1);
  }

  /** Uses the first characters of the current token only. */
  splitToken(characters: number): void {
    const used = this.split + characters;
    if (used >= this.text[this.pos].length) this.next();
    else {
      this.split = used;
      this.tok = this.text[this.pos].slice(used);
    }
  }

  /** Spelling of a token further on, '' beyond the limit. */
  peek(distance: number): string {
    const index = this.pos + distance;
    return index < this.limit ? this.text[index] : '';
  }

  textAt(index: number): string {
    return index < this.limit ? this.text[index] : '';
  }

  /** Whether the current token is spelled so. */
  at(spelling: string): boolean {
    return this.tok === spelling;
  }

  /** Steps over the current token if it is spelled so. */
  eat(spelling: string): boolean {
    if (this.tok !== spelling) return false;
    this.next();
    return true;
  }

  get atEnd(): boolean {
    return this.pos >= this.limit;
  }

  /** Index of the last token used. */
  get last(): number {
    return this.split > 0 ? this.pos : this.pos - 1;
  }

  // ---- what a token is ------------------------------------------------------------------------------------------------

  wordAt(index: number): number {
    return index < this.limit ? this.classes[index] : 0;
  }

  /** Word class of the current token. */
  get word(): number {
    return this.pos < this.limit && this.split === 0 ? this.classes[this.pos] : 0;
  }

  get precedence(): number {
    return this.word & PRECEDENCE;
  }

  /** Whether the current token is an identifier and no keyword. */
  get atName(): boolean {
    return (this.word & Word.name) !== 0;
  }

  isName(index: number): boolean {
    return (this.wordAt(index) & Word.name) !== 0;
  }

  kindAt(index: number): TokenKind {
    return index < this.limit ? (this.kind[index] as TokenKind) : TokenKind.endOfFile;
  }

  /** Whether a token is the first of its line. */
  startsLine(index: number): boolean {
    return (this.tokens.flags[index] & TokenFlag.lineStart) !== 0;
  }

  /** Whether two neighbouring tokens touch: `[[`, as two tokens. */
  touches(index: number): boolean {
    return (this.tokens.flags[index] & (TokenFlag.spaceBefore | TokenFlag.lineStart)) === 0;
  }

  /** Value of a number token, read once for each spelling; undefined if it is malformed. */
  numberAt(index: number): NumberLiteral | undefined {
    const text = this.text[index];
    let literal = this.numbers.get(text);
    if (literal === undefined) {
      literal = readNumber(text);
      if (literal) this.numbers.set(text, literal);
    }
    return literal;
  }

  /** Parts of a name that is one plain identifier: shared by all its uses. */
  plainParts(identifier: string): readonly NamePart[] {
    let parts = this.plainNames.get(identifier);
    if (parts === undefined) {
      parts = [{ name: identifier }];
      this.plainNames.set(identifier, parts);
    }
    return parts;
  }

  // ---- groups ---------------------------------------------------------------------------------------------------------

  /** Index of the token that follows a bracket group. */
  afterGroup(open: number): number {
    const end = this.brackets.end[open];
    return this.brackets.matched[open] ? end + 1 : end;
  }

  /** Steps over a bracket group. */
  skipGroup(): void {
    if (!this.brackets.matched[this.pos]) this.unclosed(this.pos);
    this.jump(Math.max(this.afterGroup(this.pos), this.pos + 1));
  }

  /** Steps into a bracket group: until `leave`, nothing beyond its end can be read. Returns what `leave` needs. */
  enter(): Group {
    const open = this.pos;
    const outer = this.limit;
    const { inAngles } = this;
    this.inAngles = false;
    this.limit = Math.min(outer, this.brackets.end[open]);
    this.jump(open + 1);
    return { open, outer, inAngles };
  }

  /** Gives up on what is nested too deeply: goes to the next `;` or the end of the group or template argument list. */
  skipToGroupEnd(): void {
    let open = 0;
    let i = this.pos;
    for (; i < this.limit && this.text[i] !== ';'; i++) {
      const text = this.text[i];
      if (text === '(' || text === '[' || text === '{') i = Math.max(i, this.afterGroup(i) - 1);
      else if (!this.inAngles) continue;
      else if (text === '<') open++;
      else if (/^>+$/.test(text)) {
        if (text.length > open) break;
        open -= text.length;
      }
    }
    this.jump(Math.min(i, this.limit));
    // what closes the lists that were skipped
    if (open > 0 && this.tok[0] === '>') this.splitToken(open);
  }

  /** Steps out behind the group's end. What was left of it is reported, unless `silently`. */
  leave(group: Group, silently = false): void {
    if (this.pos < this.limit && !silently) this.report(this.pos, this.limit - 1, 'this was not understood');
    const end = this.limit;
    this.limit = group.outer;
    this.inAngles = group.inAngles;
    if (this.brackets.matched[group.open] && end < this.limit) this.jump(end + 1);
    else {
      this.unclosed(group.open);
      this.jump(end);
    }
  }

  private unclosed(open: number): void {
    this.report(open, open, `this '${this.text[open]}' is never closed`);
  }

  // ---- damage ---------------------------------------------------------------------------------------------------------

  /** Notes something that was not understood. */
  report(first: number, last: number, message: string): void {
    this.damage++;
    this.notes.push({ first, last: Math.max(first, last), message });
  }

  /** Counts a level of nesting; false if there are too many (then `leaveLevel` must still be called). */
  enterLevel(): boolean {
    return ++this.depth <= maxDepth;
  }

  leaveLevel(): void {
    this.depth--;
  }

  // ---- names ----------------------------------------------------------------------------------------------------------

  lookup(name: string): NameEntry | undefined {
    return lookup(this.scope, name);
  }

  /** Runs `body` in an inner scope. */
  within<T>(scope: Scope, body: () => T): T {
    const outer = this.scope;
    this.scope = scope;
    const result = body();
    this.scope = outer;
    return result;
  }
}

export interface Group {
  readonly open: number;
  readonly outer: number;
  readonly inAngles: boolean;
}
