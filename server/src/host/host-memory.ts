/**
 * The memory of a run of the host's program: bytes, and behind them a shadow for each, 255 where the byte is known and 0 where not, so that
 * memory nobody has written needs no filling to be unknown. Half a gigabyte of it counts with the garbage collector whether it is touched
 * or not: each new one made it collect everything. It is therefore made once, and cleared as far as it was written.
 */
import { type Kept, KeptBytes } from './kept-bytes';
import { FIRST_OBJECT, PAGES, SHADOW } from './memory-layout';

export interface WasmMemory {
  readonly buffer: ArrayBuffer;
}
export interface WasmGlobal {
  value: number;
}

/** What is used of the JavaScript interface; the compiler's library has it only together with the whole of the browser. */
declare const WebAssembly: {
  readonly Memory: new (size: { initial: number; maximum: number }) => WasmMemory;
  readonly Global: new (type: { value: 'i32'; mutable: boolean }, value: number) => WasmGlobal;
};

/** Bytes that a memory may have been written up to and is still kept: it stays with the process twice. */
const MOST_KEPT = 2 ** 25;
/** Bytes of the widest store. */
const WIDEST = 8;
const KNOWN = 255;
const UNKNOWN = 0;

/** Clean: as it was made. */
let spare: WasmMemory | undefined;

export class HostMemory {
  readonly memory: WasmMemory;
  /** The highest place that something was stored to; the program itself raises it where it stores. */
  readonly high: WasmGlobal;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly view: DataView;
  private readonly shadows: Uint8Array<ArrayBuffer>;

  constructor() {
    this.memory = spare ?? new WebAssembly.Memory({ initial: PAGES, maximum: PAGES });
    spare = undefined;
    this.high = new WebAssembly.Global({ value: 'i32', mutable: true }, FIRST_OBJECT);
    this.bytes = new Uint8Array(this.memory.buffer, 0, SHADOW);
    this.shadows = new Uint8Array(this.memory.buffer, SHADOW, SHADOW);
    this.view = new DataView(this.memory.buffer);
  }

  /** The run is over: the next may have the memory. Nothing of it may be used any more. */
  giveBack(): void {
    const end = this.written;
    if (end > MOST_KEPT) return;
    this.bytes.fill(0, 0, end);
    this.shadows.fill(UNKNOWN, 0, end);
    spare = this.memory;
  }

  /** Nothing was written from this place on: bytes are 0 there, and not known. */
  get written(): number {
    return (this.high.value >>> 0) + WIDEST;
  }

  /** Something is written before this place. */
  raise(end: number): void {
    if (end > this.written) this.high.value = end - WIDEST;
  }

  know(start: number, end: number): void {
    this.raise(end);
    this.shadows.fill(KNOWN, start, end);
  }

  forget(start: number, end: number): void {
    const last = Math.min(end, this.written);
    if (start < last) this.shadows.fill(UNKNOWN, start, last);
  }

  fill(start: number, end: number, byte: number): void {
    const last = byte === 0 ? Math.min(end, this.written) : end;
    if (start < last) this.bytes.fill(byte, start, last);
    this.know(start, end);
  }

  copy(to: number, from: number, bytes: number): void {
    if (from >= this.written) {
      const last = Math.min(to + bytes, this.written);
      if (to < last) this.bytes.fill(0, to, last);
      this.forget(to, to + bytes);
      return;
    }
    this.raise(to + bytes);
    this.bytes.copyWithin(to, from, from + bytes);
    this.shadows.copyWithin(to, from, from + bytes);
  }

  /** The place between two behind which nothing is known; the first where nothing is. */
  knownEnd(start: number, end: number): number {
    const last = Math.min(end, this.written);
    return start < last ? start + knownLength(this.shadows.subarray(start, last)) : start;
  }

  /**
   * As `save`, kept together with what the same places held before.
   * @param most bytes that it may take; undefined where it would take more
   */
  keep(start: number, end: number, before: Kept | undefined, most: number): Kept | undefined {
    const bytes = KeptBytes.of(this.bytes.subarray(start, end), before?.bytes, most);
    if (!bytes) return undefined;
    const shadows = this.shadows.subarray(start, end);
    const known = isAllKnown(shadows) ? undefined : KeptBytes.of(shadows, before?.shadows, shadows.length);
    return { bytes, shadows: known };
  }

  /** What is between two places now; no shadows where all is known. */
  save(start: number, end: number): { bytes: Uint8Array; shadows: Uint8Array | undefined } {
    const shadows = this.shadows.subarray(start, end);
    return { bytes: this.bytes.slice(start, end), shadows: isAllKnown(shadows) ? undefined : shadows.slice() };
  }
}

/** Marks up to the last that is set. Eight at a time: numbers made of marks are 0 only where all of them are. */
function knownLength(shadows: Uint8Array<ArrayBuffer>): number {
  let length = shadows.length;
  const isSet = () => shadows[length - 1] !== UNKNOWN;
  for (; length > 0 && ((shadows.byteOffset + length) & 7) !== 0; length--) if (isSet()) return length;
  const words = new Float64Array(shadows.buffer, 8 * Math.ceil(shadows.byteOffset / 8), length >> 3);
  let left = words.length;
  while (left > 0 && words[left - 1] === 0) left--;
  length -= 8 * (words.length - left);
  for (; length > 0; length--) if (isSet()) return length;
  return 0;
}

/** The bytes begin at a multiple of four. */
function isAllKnown(shadows: Uint8Array<ArrayBuffer>): boolean {
  const words = new Int32Array(shadows.buffer, shadows.byteOffset, shadows.length >> 2);
  for (let i = 0; i < words.length; i++) if (words[i] !== -1) return false;
  for (let i = words.length << 2; i < shadows.length; i++) if (shadows[i] !== KNOWN) return false;
  return true;
}
