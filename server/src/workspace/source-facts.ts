/** What a source file mentions, defines and includes, read without parsing it: enough to know which files belong together. */

export interface SourceFacts {
  /** Hashes of its identifiers, sorted, each once. */
  readonly words: Uint32Array;
  /** Hashes of the names of functions with a body (roughly: a name, parentheses, and a brace), sorted. */
  readonly defined: Uint32Array;
  /** Hashes of the names of variables outside of functions and classes, `extern` ones not (roughly: a word in front, and no parentheses), sorted. */
  readonly variables: Uint32Array;
  /** Hashes of names that are called (roughly: parentheses behind them, and no type in front), sorted. */
  readonly called: Uint32Array;
  /** Includes as written, without their quotes or brackets. */
  readonly includes: readonly string[];
}

/** Words before parentheses and a brace that define no function. */
const statements: ReadonlySet<string> = new Set(['if', 'for', 'while', 'switch', 'catch', 'return', 'sizeof']);
/** Characters looked at behind a name for the end of its parameters. */
const parameterReach = 2_000;

const skipped =
  /\/\/(?:\\\n|[^\n])*|\/\*[\s\S]*?(?:\*\/|$)|"(?:\\[\s\S]|[^"\\\n])*"?|'(?:\\[\s\S]|[^'\\\n])*'?|[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]*)[>"]/y;
/** What may stand between a function's parameters and its body, before an initialiser list or a trailing type. */
const qualifiers = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/|const\b|noexcept\b|override\b|final\b)*/y;
/** What a comment may hold is no end of parameters. */
const comment = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y;
/** Characters that those two may have. */
const behindReach = 500;

/** Reads a file's text once. */
export function sourceFacts(text: string): SourceFacts {
  const words: number[] = [];
  const defined: number[] = [];
  const called: number[] = [];
  const variables: number[] = [];
  const includes: string[] = [];
  let before = 0;
  const outside = new Outside();
  for (let at = 0; at < text.length; before = isSpace(text.charCodeAt(at - 1)) ? before : at) {
    const code = text.charCodeAt(at);
    if (isLetter(code)) {
      const start = at;
      let hash = hashStart;
      for (let c = code; isWord(c); c = text.charCodeAt(++at)) hash = Math.imul(hash ^ c, hashFactor);
      words.push(hash >>> 0);
      if (outside.isVariable(text, start, at, before)) variables.push(hash >>> 0);
      const next = text.charCodeAt(at);
      if (next === 0x28 || isSpace(next)) {
        if (isDefinition(text, start, at)) defined.push(hash >>> 0);
        else if ((next === 0x28 || next === 0x20) && !isBehindType(text, before)) called.push(hash >>> 0);
      }
    } else if (code === 0x2f || code === 0x22 || code === 0x27 || code === 0x23) {
      skipped.lastIndex = at;
      const found = skipped.exec(text);
      if (found?.[1] !== undefined) includes.push(found[1]);
      at += Math.max(1, found?.[0].length ?? 1);
    } else if (code >= 0x30 && code <= 0x39) {
      while (at < text.length && isWord(text.charCodeAt(at))) at++;
    } else {
      outside.pass(code);
      at++;
    }
  }
  return {
    words: sortedOnce(words),
    defined: sortedOnce(defined),
    variables: sortedOnce(variables),
    called: sortedOnce(called),
    includes,
  };
}

/** Words that begin what defines no variable. */
const notDefining: ReadonlySet<string> = new Set(['extern', 'typedef', 'using', 'template', 'return', 'friend']);

/** Keeps track of what stands outside of braces and parentheses, but for those of namespaces and `extern "C"`. */
class Outside {
  private readonly open: boolean[] = [];
  private depth = 0;
  private first = '';
  private isValue = false;

  /** A word of the text; `before` is where what stands in front of it ends. */
  isVariable(text: string, start: number, end: number, before: number): boolean {
    if (this.depth > 0) return false;
    if (this.first === '') {
      this.first = text.slice(start, end);
      return false;
    }
    if (this.isValue || notDefining.has(this.first) || !isBehindType(text, before)) return false;
    let at = end;
    while (isSpace(text.charCodeAt(at))) at++;
    return text[at] === ';' || text[at] === '[' || text[at] === ',' || (text[at] === '=' && text[at + 1] !== '=');
  }

  /** Any other character. */
  pass(code: number): void {
    if (code === 0x7b || code === 0x28) {
      // what a namespace holds stands outside too
      const isInside = code === 0x28 || !(this.first === 'namespace' || this.first === 'extern');
      this.open.push(isInside);
      if (isInside) this.depth++;
      else this.begin();
    } else if (code === 0x7d || code === 0x29) {
      if (this.open.pop()) this.depth--;
      if (code === 0x7d && this.depth === 0 && !this.isValue) this.begin();
    } else if (this.depth > 0) return;
    else if (code === 0x3b) this.begin();
    else if (code === 0x3d) this.isValue = true;
  }

  private begin(): void {
    this.first = '';
    this.isValue = false;
  }
}

/** Whether what ends there is a type, so that a name behind it is declared. */
function isBehindType(text: string, end: number): boolean {
  const last = text.charCodeAt(end - 1);
  return last === 0x2a || last === 0x26 || last === 0x3e || (isWord(last) && !text.endsWith('return', end));
}

function isDefinition(text: string, start: number, end: number): boolean {
  let at = end;
  while (isSpace(text.charCodeAt(at))) at++;
  if (text.charCodeAt(at) !== 0x28 || statements.has(text.slice(start, end))) return false;
  const limit = Math.min(text.length, at + parameterReach);
  let depth = 0;
  for (; at < limit; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x28) depth++;
    else if (code === 0x2f) at += commentAt(text, at);
    else if (code === 0x29 && --depth === 0) break;
    else if (code === 0x3b || code === 0x7b) return false;
  }
  if (at >= limit) return false;
  return isFollowedByBody(text, at + 1);
}

/** Characters of the comment that begins there, without its last; 0 where none does. */
function commentAt(text: string, at: number): number {
  comment.lastIndex = at;
  return Math.max(0, (comment.exec(text)?.[0].length ?? 0) - 1);
}

function isFollowedByBody(text: string, from: number): boolean {
  qualifiers.lastIndex = from;
  const start = from + (qualifiers.exec(text)?.[0].length ?? 0);
  if (text[start] === '{') return true;
  if (text[start] !== ':' && !text.startsWith('->', start)) return false;
  for (let at = start; at < Math.min(text.length, start + behindReach); at++) {
    if (text[at] === '{') return true;
    if (text[at] === ';') return false;
  }
  return false;
}

const isLetter = (code: number): boolean =>
  (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || code === 0x5f;

const isSpace = (code: number): boolean => code === 0x20 || (code >= 0x09 && code <= 0x0d);

const isWord = (code: number): boolean => isLetter(code) || (code >= 0x30 && code <= 0x39);

/** FNV-1a */
const hashStart = 0x811c9dc5;
const hashFactor = 0x01000193;

export function hashOf(word: string): number {
  let hash = hashStart;
  for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), hashFactor);
  return hash >>> 0;
}

function sortedOnce(hashes: number[]): Uint32Array {
  return Uint32Array.from(new Set(hashes)).sort();
}

/** Whether a sorted list has a hash. */
export function hasHash(sorted: Uint32Array, hash: number): boolean {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < hash) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === hash;
}
