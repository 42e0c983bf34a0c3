/**
 * Pairs brackets before parsing. In a text whose brackets match, this is a stack. In a text that is being written they do
 * not; then the places where only a new declaration can stand (`__global__`, `template`, a definition's first line back at the
 * left margin) say where an unclosed function must end, so that one broken function costs only itself.
 */
import { TokenFlag, type TokenStream } from '../preprocess/token';
import { startsDeclarationAlways, startsDefinition } from './anchors';
import { type BraceKind, classifyBrace } from './brace-kind';
import { columnOf } from './columns';

/** How the brackets of a unit pair up. */
export interface Brackets {
  /**
   * For an opening bracket the token its group ends before: its partner, or, if that is missing, the token before which the
   * group has to end. For a closing bracket its partner or, if it has none, -1. For other tokens 0.
   */
  readonly end: Int32Array;
  /** 1 for brackets that have a partner. */
  readonly matched: Uint8Array;
  /** Opening brackets that are never closed and closing ones that were never opened, in the order they were found. */
  readonly problems: readonly number[];
}

interface Pairing {
  readonly end: Int32Array;
  readonly matched: Uint8Array;
  readonly problems: number[];
}

const closerOf: ReadonlyMap<string, string> = new Map([
  ['(', ')'],
  ['[', ']'],
  ['{', '}'],
]);

function isOpener(text: string): boolean {
  return text === '(' || text === '[' || text === '{';
}

function isCloser(text: string): boolean {
  return text === ')' || text === ']' || text === '}';
}

/** Pairs all brackets. Linear for matching brackets and nearly so otherwise. */
export function matchBrackets(tokens: TokenStream, classes: Uint16Array): Brackets {
  const whole = emptyPairing(tokens.count);
  pairRange(tokens, whole, 0, tokens.count - 1, false);
  if (whole.problems.length === 0 && !declarationInsideFunction(tokens, classes, whole)) return whole;
  return new Repair(tokens, classes, whole).run();
}

function emptyPairing(count: number): Pairing {
  return { end: new Int32Array(count), matched: new Uint8Array(count), problems: [] };
}

/**
 * Pairs the brackets of [from, to) among themselves. What stays open ends at the bracket that closes something further
 * out, or at `to`. With `atSemicolons`, parentheses also end at a `;` that cannot stand in them.
 */
function pairRange(tokens: TokenStream, into: Pairing, from: number, to: number, atSemicolons: boolean): void {
  const open: number[] = [];
  const { text } = tokens;
  const closeAt = (end: number) => {
    const opener = open.pop();
    if (opener === undefined) return;
    into.end[opener] = end;
    into.problems.push(opener);
  };
  for (let i = from; i < to; i++) {
    const spelling = text[i];
    if (spelling.length !== 1) continue;
    if (isOpener(spelling)) open.push(i);
    else if (isCloser(spelling)) closeBracket(tokens, into, open, i);
    else if (atSemicolons && spelling === ';' && open.length > 0 && text[open[open.length - 1]] !== '{') {
      if (!semicolonBelongs(tokens, open[open.length - 1], i, to)) closeAt(i);
    }
  }
  while (open.length > 0) closeAt(to);
}

function closeBracket(tokens: TokenStream, into: Pairing, open: number[], closer: number): void {
  const { text } = tokens;
  const matches = (depth: number) => {
    const opener = open[open.length - 1 - depth];
    return opener !== undefined && closerOf.get(text[opener]) === text[closer];
  };
  let unclosed = 0;
  if (text[closer] === '}') {
    while (unclosed < open.length && !matches(unclosed)) unclosed++;
    if (unclosed === open.length) unclosed = -1;
  } else if (!matches(0)) {
    const blocked = open.length > 0 && text[open[open.length - 1]] === '{';
    unclosed = !blocked && matches(1) ? 1 : -1;
  }
  if (unclosed < 0) {
    into.end[closer] = -1;
    into.problems.push(closer);
    return;
  }
  for (; unclosed > 0; unclosed--) {
    const opener = open.pop() ?? 0;
    into.end[opener] = closer;
    into.problems.push(opener);
  }
  const opener = open.pop() ?? 0;
  into.end[opener] = closer;
  into.end[closer] = opener;
  into.matched[opener] = into.matched[closer] = 1;
}

const semicolonsAllowed: ReadonlyMap<string, number> = new Map([
  ['for', 2],
  ['if', 1],
  ['switch', 1],
  ['while', 1],
  ['constexpr', 1],
]);
const semicolonSearch = 200;

/** Whether the `;` may stand in this parenthesis: that of a `for`, or of a macro call whose `)` follows in the same block. */
function semicolonBelongs(tokens: TokenStream, opener: number, semicolon: number, to: number): boolean {
  const { text } = tokens;
  let allowed = (opener > 0 && semicolonsAllowed.get(text[opener - 1])) || 0;
  let depth = 0;
  for (let i = opener + 1; i <= semicolon; i++) {
    if (isOpener(text[i])) depth++;
    else if (isCloser(text[i])) depth--;
    else if (text[i] === ';' && depth <= 0) allowed--;
  }
  if (allowed >= 0) return true;
  depth = 0;
  for (let i = semicolon + 1; i < Math.min(to, semicolon + semicolonSearch); i++) {
    if (isOpener(text[i])) depth++;
    else if (isCloser(text[i]) && depth-- === 0) return text[i] === ')';
  }
  return false;
}

/** Whether a token that can only begin a namespace-scope declaration stands inside a function or parenthesis. */
function declarationInsideFunction(tokens: TokenStream, classes: Uint16Array, whole: Pairing): boolean {
  const { text, count } = tokens;
  let head = 0;
  for (let i = 0; i < count; i++) {
    const spelling = text[i];
    if (spelling === ';' || spelling === '}') head = i + 1;
    else if (spelling === '{') {
      const kind = classifyBrace(tokens, classes, head, i);
      head = i + 1;
      if (kind !== 'function') continue;
      if (anchorWithin(tokens, i, whole.end[i])) return true;
      i = whole.end[i] - 1;
    } else if (spelling === '(' || spelling === '[') {
      if (anchorWithin(tokens, i, whole.end[i])) return true;
      i = whole.end[i];
    }
  }
  return false;
}

function anchorWithin(tokens: TokenStream, opener: number, end: number): boolean {
  for (let i = opener + 1; i < end; i++) if (startsDeclarationAlways(tokens, i, true)) return true;
  return false;
}

/** How many braces of functions and statements are followed by a line that is indented further than their own, and how many are not. */
function countIndented(tokens: TokenStream): { indented: number; flush: number } {
  const count = { indented: 0, flush: 0 };
  for (let i = 0; i + 1 < tokens.count; i++) {
    if (
      tokens.text[i] !== '{' ||
      tokens.text[i - 1] !== ')' ||
      tokens.text[i + 1] === '}' ||
      !(tokens.flags[i + 1] & TokenFlag.lineStart)
    )
      continue;
    if (columnOf(tokens, i + 1) > columnOf(tokens, i)) count.indented++;
    else count.flush++;
  }
  return count;
}

/** Pairs the brackets of a text in which they do not match, function by function. */
class Repair {
  private readonly result: Pairing;
  /** Open namespaces and records, and where a record has to end if it is not closed. */
  private readonly outer: { readonly opener: number; readonly kind: BraceKind; readonly limit: number }[] = [];

  private indentation: { readonly indented: number; readonly flush: number } | undefined;

  constructor(
    private readonly tokens: TokenStream,
    private readonly classes: Uint16Array,
    /** The pairing by stack alone. */
    private readonly whole: Pairing,
  ) {
    this.result = emptyPairing(tokens.count);
  }

  /** Whether nearly all blocks of the unit that begin a line are indented. */
  private get indentsBodies(): boolean {
    this.indentation ??= countIndented(this.tokens);
    return this.indentation.indented > 3 * this.indentation.flush;
  }

  run(): Brackets {
    const { text } = this.tokens;
    const last = this.tokens.count - 1;
    let head = 0;
    let i = 0;
    while (i < last) {
      this.leaveRecordsAt(i);
      const spelling = text[i];
      if (spelling === '{') {
        i = this.brace(head, i);
        head = i;
      } else if (spelling === '}') {
        this.closeOuter(i++);
        head = i;
      } else if (spelling === '(' || spelling === '[') i = this.headGroup(head, i);
      else if (isCloser(spelling)) this.stray(i++);
      else {
        if (spelling === ';' || startsDeclarationAlways(this.tokens, i, false)) head = i;
        i++;
        if (spelling === ';') head = i;
      }
    }
    while (this.outer.length > 0) this.unclosed(this.outer.pop()?.opener ?? 0, last);
    return this.result;
  }

  /** A brace at namespace or record level; returns where to go on. */
  private brace(head: number, opener: number): number {
    const kind = classifyBrace(this.tokens, this.classes, head, opener);
    if (kind === 'function') return this.region(opener, this.endOfFunction(head, opener));
    this.outer.push({
      opener,
      kind,
      limit: kind === 'record' ? this.endOfRecord(head, opener) : this.tokens.count - 1,
    });
    return opener + 1;
  }

  /** A parenthesis or square bracket outside functions: parameters, attributes, array sizes. */
  private headGroup(head: number, opener: number): number {
    const { text } = this.tokens;
    const partner = this.whole.matched[opener] ? this.whole.end[opener] : -1;
    const bound = partner >= 0 ? partner : this.tokens.count - 1;
    const anchor = this.firstAnchor(opener, bound, this.headColumn(head), true);
    if (partner >= 0 && anchor < 0) return this.region(opener, partner);
    // unclosed: it ends where the next declaration, the statement's end or the body begins
    const stop = anchor >= 0 ? anchor : bound;
    let end = opener + 1;
    while (end < stop && text[end] !== ';' && text[end] !== '{' && text[end] !== '}') end++;
    return this.region(opener, end);
  }

  /**
   * Pairs the brackets inside a group that ends at `end` and returns where to go on. The token at `end` is the partner if
   * it is the right bracket.
   */
  private region(opener: number, end: number): number {
    const { text } = this.tokens;
    pairRange(this.tokens, this.result, opener + 1, end, true);
    if (end < this.tokens.count && text[end] === closerOf.get(text[opener])) {
      this.pair(opener, end);
      return end + 1;
    }
    this.unclosed(opener, end);
    return end;
  }

  /** The token at which a function body ends: its `}`, or the declaration that follows if that is missing. */
  private endOfFunction(head: number, opener: number): number {
    const partner = this.whole.matched[opener] ? this.whole.end[opener] : -1;
    const bound = partner >= 0 ? partner : this.tokens.count - 1;
    const column = this.headColumn(head);
    const anchor = this.firstAnchor(opener, bound, column);
    const aligned = this.alignedBrace(opener, anchor >= 0 ? anchor : this.tokens.count - 1, column);
    if (partner >= 0 && anchor < 0 && this.plausiblePartner(partner, aligned, column)) return partner;
    if (aligned >= 0) return aligned;
    return anchor >= 0 ? anchor : this.limitOfOuter(bound);
  }

  /** Whether the brace the stack found closes the function: it stands on the opener's column or nothing better does. */
  private plausiblePartner(partner: number, aligned: number, column: number): boolean {
    if (aligned < 0 || aligned === partner) return true;
    if (!(this.tokens.flags[partner] & TokenFlag.lineStart)) return true;
    if (aligned < partner) return columnOf(this.tokens, partner) === column;
    // an indented `}` before the aligned one: one brace too many, unless a new definition follows it
    for (let i = partner + 1; i < aligned; i++) {
      if (this.tokens.flags[i] & TokenFlag.lineStart && startsDefinition(this.tokens, this.classes, i) !== 'no') {
        return true;
      }
    }
    return columnOf(this.tokens, partner) === column;
  }

  /** First `}` after the opener that begins a line in the given column and after which the function can be over; -1 for none. */
  private alignedBrace(opener: number, to: number, column: number): number {
    const { text, flags } = this.tokens;
    for (let i = opener + 1; i < to; i++) {
      if (text[i] === '}' && flags[i] & TokenFlag.lineStart && columnOf(this.tokens, i) === column) return i;
    }
    return -1;
  }

  private endOfRecord(head: number, opener: number): number {
    const partner = this.whole.matched[opener] ? this.whole.end[opener] : -1;
    const bound = partner >= 0 ? partner : this.tokens.count - 1;
    let anchor = -1;
    for (let i = opener + 1; i < bound && anchor < 0; i++) {
      const spelling = this.tokens.text[i];
      if ((spelling === '__global__' || spelling === 'namespace') && startsDeclarationAlways(this.tokens, i, false))
        anchor = i;
    }
    if (anchor < 0 && partner >= 0) return this.tokens.count - 1;
    const column = this.headColumn(head);
    if (anchor < 0) anchor = this.firstAnchor(opener, bound, column);
    const stop = anchor >= 0 ? anchor : bound;
    const aligned = this.alignedBrace(opener, stop, column);
    return aligned >= 0 ? aligned + 1 : stop;
  }

  private leaveRecordsAt(i: number): void {
    for (let top = this.outer.at(-1); top && top.limit <= i; top = this.outer.at(-1)) {
      this.outer.pop();
      this.unclosed(top.opener, i);
    }
  }

  private limitOfOuter(end: number): number {
    return this.outer.reduce((least, brace) => Math.min(least, brace.limit), end);
  }

  /**
   * First token in (opener, to) that must begin a new declaration: by its kind, or because it looks like a definition and
   * stands no further right than the line the enclosing one began on.
   */
  private firstAnchor(opener: number, to: number, column: number, inParentheses = false): number {
    const { flags } = this.tokens;
    let indented = inParentheses || this.indentsBodies;
    for (let i = opener + 1; i < to; i++) {
      if (startsDeclarationAlways(this.tokens, i, true)) return i;
      if (!(flags[i] & TokenFlag.lineStart)) continue;
      if (columnOf(this.tokens, i) > column) {
        indented = true;
        continue;
      }
      const start = startsDefinition(this.tokens, this.classes, i);
      if (start === 'certain' || (start === 'likely' && indented)) return i;
    }
    return -1;
  }

  /** Column of the line on which a declaration's first token stands. */
  private headColumn(head: number): number {
    let first = head;
    while (first > 0 && !(this.tokens.flags[first] & TokenFlag.lineStart)) first--;
    return columnOf(this.tokens, first);
  }

  private closeOuter(closer: number): void {
    const open = this.outer.pop();
    if (open) this.pair(open.opener, closer);
    else this.stray(closer);
  }

  private pair(opener: number, closer: number): void {
    this.result.end[opener] = closer;
    this.result.end[closer] = opener;
    this.result.matched[opener] = this.result.matched[closer] = 1;
  }

  private unclosed(opener: number, end: number): void {
    this.result.end[opener] = end;
    this.result.problems.push(opener);
  }

  private stray(closer: number): void {
    this.result.end[closer] = -1;
    this.result.problems.push(closer);
  }
}
