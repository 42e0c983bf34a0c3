/** Lines of source files, as PTX names them, to tokens of the unit. */

import type { TokenStream } from '../preprocess/token';

export interface TokenRange {
  readonly first: number;
  readonly last: number;
}

/** Punctuation at the end of a line that belongs to no expression. */
const closing = new Set([';', '{', '}', ',']);

export class TokenLines {
  /** Tokens of each file in the order of their places, made when first asked for. */
  private readonly ofFile = new Map<number, Int32Array>();
  private readonly files = new Map<string, number | undefined>();
  private readonly lines = new Map<string, TokenRange | undefined>();

  constructor(readonly tokens: TokenStream) {}

  /**
   * The file of the unit (index into `tokens.files`) that a path of the compiler's means. The compiler writes paths in full and
   * the unit perhaps relative ones, so the file whose path ends alike is it; undefined when there is none or several.
   */
  fileOf(path: string): number | undefined {
    if (!this.files.has(path)) this.files.set(path, this.find(path));
    return this.files.get(path);
  }

  private find(path: string): number | undefined {
    const { files } = this.tokens;
    const exact = files.findIndex((file) => file.path === path);
    if (exact >= 0) return exact;
    const wanted = partsOf(path);
    const fitting = files.flatMap((file, index) => {
      const parts = partsOf(file.path);
      const shorter = Math.min(parts.length, wanted.length);
      return shorter > 0 && commonEnd(parts, wanted) === shorter ? [{ index, shorter }] : [];
    });
    fitting.sort((a, b) => b.shorter - a.shorter);
    if (fitting.length > 1 && fitting[0].shorter === fitting[1].shorter) return undefined;
    return fitting[0]?.index;
  }

  /** The tokens of a line (from 1) without the punctuation at its end; undefined when there are none. */
  lineOf(file: number, line: number): TokenRange | undefined {
    const key = `${file}:${line}`;
    if (!this.lines.has(key)) this.lines.set(key, this.range(file, line));
    return this.lines.get(key);
  }

  private range(file: number, line: number): TokenRange | undefined {
    const { tokens } = this;
    const { lineStarts } = tokens.files[file];
    if (line < 1 || line > lineStarts.length) return undefined;
    const end = line < lineStarts.length ? lineStarts[line] : Number.POSITIVE_INFINITY;
    const list = this.listOf(file);
    let at = firstFrom(list, tokens.start, lineStarts[line - 1]);
    const first = list[at];
    if (first === undefined || tokens.start[first] >= end) return undefined;
    let last = first;
    // A file that is included twice has its tokens twice: the first ones stand for both.
    for (; at < list.length && tokens.start[list[at]] < end; at++) if (list[at] <= last + 1) last = list[at];
    while (last > first && closing.has(tokens.text[last])) last--;
    return { first, last };
  }

  private listOf(file: number): Int32Array {
    let list = this.ofFile.get(file);
    if (!list) {
      const { tokens } = this;
      const own: number[] = [];
      for (let t = 0; t < tokens.count - 1; t++) if (tokens.file[t] === file) own.push(t);
      own.sort((a, b) => tokens.start[a] - tokens.start[b] || a - b);
      this.ofFile.set(file, (list = Int32Array.from(own)));
    }
    return list;
  }
}

function firstFrom(list: Int32Array, start: Int32Array, offset: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (start[list[middle]] < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Folders and name, without what only a reader in the right folder understands. */
function partsOf(path: string): string[] {
  const parts: string[] = [];
  for (const part of path.split(/[/\\]+/)) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts;
}

function commonEnd(a: readonly string[], b: readonly string[]): number {
  let count = 0;
  while (count < a.length && count < b.length && a[a.length - 1 - count] === b[b.length - 1 - count]) count++;
  return count;
}
