/**
 * Memory byte by byte, as a launch that is executed as a whole reads and writes it: the blocks of the host's program, and behind them, for
 * the time of the launch, its shared, local and constant memory. Every byte has a shadow, 0 where what it holds is not known, else 255.
 */
import { addressWindows } from '../program/addresses';
import { bytesOf, type ScalarType } from '../program/program';
import { bitcast } from './conversion';
import type { Piece, Views } from './known-loads';

/** The memory that a launch finds. Places are bytes from its beginning; the shadow of a byte lies `shadow` bytes behind it. */
export interface DeviceMemory {
  readonly buffer: ArrayBuffer;
  /** A power of two. */
  readonly shadow: number;
  /** Address of place 0. */
  readonly base: number;
  /** The block around a place; undefined where nothing was allocated. @param isRead what it holds is asked for */
  blockAt(place: number, isRead: boolean): Range | undefined;
  /** Whether what is stored there, behind all blocks, goes to memory of nobody. */
  isSpare(place: number): boolean;
  /** To be called before a block is written. */
  aboutToChange(place: number): void;
  /** To be called before memory behind the blocks is written. @param end of what may be */
  aboutToUse(end: number): void;
  /** The first place that no block uses. */
  readonly free: number;
  /** Of every block it is known how large it is. */
  readonly isComplete: boolean;
}

/** Places from `start` to `end` - 1. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** What a launch does cannot be followed: whatever it may write is not known. */
export class NotFollowed extends Error {}

/**
 * A launch does what none does in a program that works: something that it found in memory, or was given, is wrong. (Before
 * bit-fields were understood a kernel of timeseries_codec.cu came to one; the data that it was given raised two false alarms.)
 */
export class Contradiction extends NotFollowed {}

/** Where the memory of a block of threads begins, and how much there is of it. */
interface Window {
  place: number;
  bytes: number;
}

/** A large block that was forgotten, and the part of it that something was stored to since. */
interface Forgotten {
  readonly start: number;
  readonly end: number;
  low: number;
  high: number;
}

const STEP = 256;
/** Bytes of a block of which it is worth to remember that it was forgotten. */
const LARGE = 4096;
/** Blocks of which it is remembered: as many as a kernel is likely to scatter to. */
const REMEMBERED = 8;

export class ByteMemory implements Views {
  readonly shadow: number;
  readonly u8: Uint8Array;
  readonly i8: Int8Array;
  readonly u16: Uint16Array;
  readonly i16: Int16Array;
  readonly i32: Int32Array;
  readonly f32: Float32Array;
  readonly f64: Float64Array;
  private readonly base: number;
  private readonly shared: Window = { place: 0, bytes: 0 };
  private readonly constants: Window = { place: 0, bytes: 0 };
  /** Of one lane. */
  private readonly local: Window = { place: 0, bytes: 0 };
  private lanes = 0;
  /** Places from there on are no block's. */
  private free: number;
  /** The last one first. */
  private readonly forgotten: Forgotten[] = [];
  /** Bytes that were forgotten one by one so far, and how many may be: what that costs is the launch's. */
  cleared = 0;
  mostCleared = Number.POSITIVE_INFINITY;

  constructor(private readonly device: DeviceMemory) {
    const { buffer } = device;
    this.shadow = device.shadow;
    this.base = device.base;
    this.free = device.free;
    this.u8 = new Uint8Array(buffer);
    this.i8 = new Int8Array(buffer);
    this.u16 = new Uint16Array(buffer);
    this.i16 = new Int16Array(buffer);
    this.i32 = new Int32Array(buffer);
    this.f32 = new Float32Array(buffer);
    this.f64 = new Float64Array(buffer);
  }

  /** A launch begins: makes room for the memory of a block of threads. @param localBytes of a lane */
  open(sharedBytes: number, constantBytes: number, localBytes: number, lanes: number): void {
    let { free } = this.device;
    this.free = free;
    const take = (window: Window, bytes: number, copies: number) => {
      free = Math.ceil(free / STEP) * STEP;
      window.place = free;
      window.bytes = bytes;
      free += bytes * copies;
    };
    take(this.shared, sharedBytes, 1);
    take(this.constants, constantBytes, 1);
    take(this.local, Math.ceil(localBytes / 16) * 16, lanes);
    this.lanes = lanes;
    this.forgotten.length = 0;
    this.cleared = 0;
    if (free > this.shadow) throw new NotFollowed('there is not enough memory');
    this.device.aboutToUse(free);
  }

  /** Another block of threads begins. */
  beginBlock(): void {
    for (const { place, bytes, copies } of [
      { ...this.shared, copies: 1 },
      { ...this.local, copies: this.lanes },
    ])
      this.u8.fill(0, this.shadow + place, this.shadow + place + bytes * copies);
  }

  /** The place of an address, -1 where there is none. */
  place(address: number, lane: number): number {
    if (address >= this.base) {
      const at = address - this.base;
      return at < this.free ? at : -1;
    }
    if (address < addressWindows.shared || address >= addressWindows.texture) return -1;
    if (address < addressWindows.local) return within(this.shared, address - addressWindows.shared);
    if (address < addressWindows.constant) {
      const at = within(this.local, address - addressWindows.local);
      return at < 0 ? at : at + lane * this.local.bytes;
    }
    return within(this.constants, address - addressWindows.constant);
  }

  /** Sets the addresses of a block, or those around a place that only the present block of threads has. */
  pieceAround(address: number, block: Range | undefined, piece: Piece): void {
    if (block) {
      setPiece(piece, block.start + this.base, block.end + this.base, -this.base, 0);
      return;
    }
    const isLocal = address >= addressWindows.local && address < addressWindows.constant;
    const [window, base] = isLocal
      ? [this.local, addressWindows.local]
      : address < addressWindows.local
        ? [this.shared, addressWindows.shared]
        : [this.constants, addressWindows.constant];
    if (address >= base && address < base + window.bytes)
      setPiece(piece, base, base + window.bytes, window.place - base, isLocal ? window.bytes : 0);
    else setPiece(piece, 0, 0, 0, 0);
  }

  /** Whether all is known of the memory that there is around an address. */
  hasAll = (address: number): boolean => this.device.isComplete && address < this.base + this.shadow;

  isSpare = (address: number): boolean => address >= this.base && this.device.isSpare(address - this.base);

  blockAt = (place: number, isRead: boolean): Range | undefined => this.device.blockAt(place, isRead);

  /** Whether a place lies in memory that only the present block of threads has. */
  isOwn = (place: number): boolean => place >= this.free;

  isKnown(place: number, bytes: number): boolean {
    const at = place + this.shadow;
    if (bytes === 4) return this.i32[at >> 2] === -1;
    if (bytes === 8) return this.i32[at >> 2] === -1 && this.i32[(at >> 2) + 1] === -1;
    return bytes === 1 ? this.i8[at] === -1 : this.i16[at >> 1] === -1;
  }

  mark(place: number, bytes: number, isKnown: boolean): void {
    const at = place + this.shadow;
    if (isKnown) this.changed(place, bytes);
    const mark = isKnown ? -1 : 0;
    if (bytes === 4) this.i32[at >> 2] = mark;
    else if (bytes === 8) {
      this.i32[at >> 2] = mark;
      this.i32[(at >> 2) + 1] = mark;
    } else if (bytes === 1) this.u8[at] = mark;
    else this.u16[at >> 1] = mark;
  }

  /** Nothing is known any more from a place on. Many lanes may forget the same large blocks, one after the other. */
  forget(start: number, end: number): void {
    const known = this.forgotten.find((f) => start >= f.start && end <= f.end);
    if (!known) {
      this.clear(start, end);
      if (end - start < LARGE) return;
      this.forgotten.unshift({ start, end, low: 0, high: 0 });
      if (this.forgotten.length > REMEMBERED) this.forgotten.pop();
      return;
    }
    this.clear(Math.max(start, known.low), Math.min(end, known.high));
    if (start <= known.low && end >= known.high) known.low = known.high = 0;
  }

  private clear(start: number, end: number): void {
    if (start >= end) return;
    this.u8.fill(0, start + this.shadow, end + this.shadow);
    this.cleared += end - start;
    if (this.cleared > this.mostCleared) throw new NotFollowed('it takes too long to execute');
  }

  /** Something may be known of a place again. */
  private changed(place: number, bytes: number): void {
    for (const known of this.forgotten) {
      if (place >= known.end || place + bytes <= known.start) continue;
      const isFirst = known.low === known.high;
      known.low = isFirst ? place : Math.min(known.low, place);
      known.high = isFirst ? place + bytes : Math.max(known.high, place + bytes);
    }
  }

  /** Whether nothing of a piece was forgotten of late, so that nobody keeps what of it is known again. */
  isPlain({ low, high, shift, stride }: Piece): boolean {
    const [first, end] = [low + shift, high + shift + stride * (this.lanes - 1)];
    return this.forgotten.every((f) => f.end <= first || f.start >= end);
  }

  forgetShared(): void {
    this.forget(this.shared.place, this.shared.place + this.shared.bytes);
  }

  copy(to: number, from: number, bytes: number): void {
    this.changed(to, bytes);
    this.u8.copyWithin(to, from, from + bytes);
    this.u8.copyWithin(to + this.shadow, from + this.shadow, from + bytes + this.shadow);
  }

  /** The value at a place, in the form that registers hold it in; undefined for an integer beyond 2^53. */
  read(type: ScalarType, place: number): number | undefined {
    switch (type) {
      case 'f32':
        return this.f32[place >> 2];
      case 'i32':
      case 'u32':
        return this.i32[place >> 2];
      case 'f64':
        return this.f64[place >> 3];
      case 'i64':
      case 'u64': {
        const value = this.i32[(place >> 2) + 1] * 2 ** 32 + (this.i32[place >> 2] >>> 0);
        return Number.isSafeInteger(value) ? value : undefined;
      }
      case 'u8':
      case 'pred':
        return this.u8[place];
      case 'i8':
        return this.i8[place];
      case 'u16':
        return this.u16[place >> 1];
      case 'i16':
        return this.i16[place >> 1];
      case 'f16':
        return halfOf(this.u16[place >> 1]);
      case 'bf16':
        return bfloatOf(this.u16[place >> 1]);
    }
  }

  /** The words of a number of 64 bits, low half first. */
  readHalves(place: number): readonly [number, number] {
    return [this.i32[place >> 2], this.i32[(place >> 2) + 1]];
  }

  /** Writes a value that is known. */
  write(type: ScalarType, place: number, value: number): void {
    switch (type) {
      case 'f32':
        this.f32[place >> 2] = value;
        break;
      case 'i32':
      case 'u32':
        this.i32[place >> 2] = value;
        break;
      case 'f64':
        this.f64[place >> 3] = value;
        break;
      case 'i64':
      case 'u64':
        this.i32[place >> 2] = value;
        this.i32[(place >> 2) + 1] = Math.floor(value / 2 ** 32);
        break;
      case 'u8':
      case 'i8':
      case 'pred':
        this.u8[place] = value;
        break;
      case 'u16':
      case 'i16':
        this.u16[place >> 1] = value;
        break;
      case 'f16':
        this.u16[place >> 1] = bitsOfHalf(value);
        break;
      case 'bf16':
        this.u16[place >> 1] = bitsOfBfloat(value);
        break;
    }
    this.mark(place, bytesOf[type], true);
  }
}

const halfOf = bitcast('u16', 'f16').scalar;
const bfloatOf = bitcast('u16', 'bf16').scalar;
const bitsOfHalf = bitcast('f16', 'u16').scalar;
const bitsOfBfloat = bitcast('bf16', 'u16').scalar;

const within = ({ place, bytes }: Window, offset: number): number => (offset < bytes ? place + offset : -1);

/** A scalar at an address of the device, in the form that registers hold it in; undefined where it is not known. */
export function readScalar(device: DeviceMemory, address: number, type: ScalarType): number | undefined {
  const memory = new ByteMemory(device);
  const place = memory.place(address, 0);
  return place >= 0 && memory.isKnown(place, bytesOf[type]) ? memory.read(type, place) : undefined;
}

/** Field by field, as it is done for lane after lane where these access different blocks. */
function setPiece(piece: Piece, low: number, high: number, shift: number, stride: number): void {
  piece.low = low;
  piece.high = high;
  piece.shift = shift;
  piece.stride = stride;
}
