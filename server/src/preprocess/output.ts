import type { MacroExpansion, SourceFile, TokenStream } from './token';

/** The token stream while it grows. */
export class TokenOutput {
  count = 0;
  readonly expansions: MacroExpansion[] = [];
  kind: Uint8Array;
  flags: Uint8Array;
  file: Int32Array;
  start: Int32Array;
  end: Int32Array;
  expansion: Int32Array;
  readonly text: string[];

  constructor(capacity: number) {
    this.text = new Array(capacity);
    this.kind = new Uint8Array(capacity);
    this.flags = new Uint8Array(capacity);
    this.file = new Int32Array(capacity);
    this.start = new Int32Array(capacity);
    this.end = new Int32Array(capacity);
    this.expansion = new Int32Array(capacity);
  }

  /** Makes room for so many more tokens. */
  reserve(more: number): void {
    const needed = this.count + more;
    if (needed <= this.kind.length) return;
    const capacity = Math.max(needed, this.kind.length * 2);
    const bytes = (old: Uint8Array) => {
      const array = new Uint8Array(capacity);
      array.set(old);
      return array;
    };
    const words = (old: Int32Array) => {
      const array = new Int32Array(capacity);
      array.set(old);
      return array;
    };
    this.kind = bytes(this.kind);
    this.flags = bytes(this.flags);
    this.file = words(this.file);
    this.start = words(this.start);
    this.end = words(this.end);
    this.expansion = words(this.expansion);
  }

  push(kind: number, text: string, flags: number, file: number, start: number, end: number, expansion: number): void {
    const index = this.count;
    if (index === this.kind.length) this.reserve(1);
    this.kind[index] = kind;
    this.text[index] = text;
    this.flags[index] = flags;
    this.file[index] = file;
    this.start[index] = start;
    this.end[index] = end;
    this.expansion[index] = expansion;
    this.count = index + 1;
  }

  finish(files: readonly SourceFile[]): TokenStream {
    const { count } = this;
    this.text.length = count;
    return {
      count,
      kind: this.kind.subarray(0, count),
      text: this.text,
      flags: this.flags.subarray(0, count),
      file: this.file.subarray(0, count),
      start: this.start.subarray(0, count),
      end: this.end.subarray(0, count),
      expansion: this.expansion.subarray(0, count),
      expansions: this.expansions,
      files,
    };
  }
}
