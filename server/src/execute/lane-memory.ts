/**
 * Memory for the lanes' values and masks that code of WebAssembly reaches (lane-code.ts). There is one for a thread; what is executed takes
 * pieces of it and gives them back at its end. Where there is none left, or WebAssembly does not know vectors, values lie in memory of
 * their own and the loops in JavaScript do the work.
 */
import { type LaneCode, laneModule } from './lane-code';

/** What is used of the JavaScript interface; the compiler's library has it only together with the whole of the browser. */
declare const WebAssembly: {
  readonly Memory: new (size: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer };
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: LaneCode };
  readonly CompileError: new () => Error;
};

/** What one execution takes at a time. */
const PIECE = 65536;
/** In pieces, which are as large as WebAssembly's pages. Nothing of it is used before it is written. */
const SIZE = 512;
/** Of a vector. */
const ALIGNMENT = 16;

interface Shared {
  readonly buffer: ArrayBuffer;
  readonly code: LaneCode;
  /** Where pieces begin that nobody uses. Place 0 is no vector's. */
  readonly free: number[];
}

/** null: there is none. */
let shared: Shared | null | undefined;

function sharedMemory(): Shared | null {
  if (shared !== undefined) return shared;
  const isLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
  if (!isLittleEndian) return (shared = null);
  try {
    const module = new WebAssembly.Module(laneModule());
    const memory = new WebAssembly.Memory({ initial: SIZE, maximum: SIZE });
    const { exports } = new WebAssembly.Instance(module, { env: { memory } });
    const free = Array.from({ length: SIZE - 1 }, (_, piece) => (SIZE - 1 - piece) * PIECE);
    return (shared = { buffer: memory.buffer, code: exports, free });
  } catch (error) {
    // vectors are not known, or there is no memory for them
    if (error instanceof WebAssembly.CompileError || error instanceof RangeError) return (shared = null);
    throw error;
  }
}

/** What one execution has of the memory. */
export class LaneMemory {
  private readonly pieces: number[] = [];
  private next = 0;
  private end = 0;

  private constructor(private readonly memory: Shared) {}

  /** Undefined where there is none. */
  static open(): LaneMemory | undefined {
    const memory = sharedMemory();
    return memory ? new LaneMemory(memory) : undefined;
  }

  get buffer(): ArrayBuffer {
    return this.memory.buffer;
  }

  get code(): LaneCode {
    return this.memory.code;
  }

  /** The place of so many bytes, which are 0; 0 where there are none left. */
  take(bytes: number): number {
    const size = Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
    if (this.next + size > this.end) {
      const piece = size > PIECE ? undefined : this.memory.free.pop();
      if (piece === undefined) return 0;
      this.pieces.push(piece);
      this.next = piece;
      this.end = piece + PIECE;
    }
    const at = this.next;
    this.next += size;
    new Uint8Array(this.buffer, at, size).fill(0);
    return at;
  }

  /** Nothing that lies in it is used any more. */
  release(): void {
    this.memory.free.push(...this.pieces.splice(0));
    this.next = this.end = 0;
  }
}
