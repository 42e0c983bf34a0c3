/**
 * Loops over lanes for loads of memory that is known: the same as `ByteMemory.isKnown` and `read`, which calls for every lane make
 * three times slower. Each type has a function of its own, so that its loop sees one kind of array. Where kernels are executed for what they leave in memory, loads are a fifth of their time.
 */
import type { ScalarType } from '../program/program';
import { bitcast } from './conversion';
import type { Lanes32, Lanes64 } from './value';

/**
 * Addresses of memory in one piece, from `low` to `high` - 1, and what leads from an address to its place: each lane's own is `stride` bytes behind the
 * lane's before it in local memory, everywhere else at the same place.
 */
export interface Piece {
  low: number;
  high: number;
  shift: number;
  stride: number;
}

/** The views of a memory that are read, and its shadow's distance in bytes. */
export interface Views {
  readonly shadow: number;
  readonly i8: Int8Array;
  readonly u8: Uint8Array;
  readonly i16: Int16Array;
  readonly u16: Uint16Array;
  readonly i32: Int32Array;
  readonly f32: Float32Array;
  readonly f64: Float64Array;
}

/**
 * Loads lane after lane from an address and an offset on.
 * @returns the first lane that is not simple: outside of the piece, not aligned, or not known; else `hi`
 */
export type LoadLoop = (
  d: Lanes32 | Lanes64,
  views: Views,
  piece: Piece,
  addresses: Lanes32 | Lanes64,
  offset: number,
  lanes: Uint8Array,
  lo: number,
  hi: number,
) => number;

const loadFloat32: LoadLoop = (
  d,
  { shadow, i32, f32 },
  { low, high, shift, stride },
  addresses,
  offset,
  lanes,
  lo,
  hi,
) => {
  const [first, last, marks] = [low - offset, high - offset - 4, shadow >> 2];
  for (let lane = lo; lane < hi; lane++) {
    if (lanes[lane] === 0) continue;
    const address = addresses[lane];
    if (address < first || address > last) return lane;
    const at = address + (shift + offset) + lane * stride;
    if ((at & 3) !== 0 || i32[(at >> 2) + marks] !== -1) return lane;
    d[lane] = f32[at >> 2];
  }
  return hi;
};

const loadInt32: LoadLoop = (d, { shadow, i32 }, { low, high, shift, stride }, addresses, offset, lanes, lo, hi) => {
  const [first, last, marks] = [low - offset, high - offset - 4, shadow >> 2];
  for (let lane = lo; lane < hi; lane++) {
    if (lanes[lane] === 0) continue;
    const address = addresses[lane];
    if (address < first || address > last) return lane;
    const at = address + (shift + offset) + lane * stride;
    if ((at & 3) !== 0 || i32[(at >> 2) + marks] !== -1) return lane;
    d[lane] = i32[at >> 2];
  }
  return hi;
};

const loadFloat64: LoadLoop = (
  d,
  { shadow, i32, f64 },
  { low, high, shift, stride },
  addresses,
  offset,
  lanes,
  lo,
  hi,
) => {
  const [first, last, marks] = [low - offset, high - offset - 8, shadow >> 2];
  for (let lane = lo; lane < hi; lane++) {
    if (lanes[lane] === 0) continue;
    const address = addresses[lane];
    if (address < first || address > last) return lane;
    const at = address + (shift + offset) + lane * stride;
    const mark = (at >> 2) + marks;
    if ((at & 7) !== 0 || (i32[mark] & i32[mark + 1]) !== -1) return lane;
    d[lane] = f64[at >> 3];
  }
  return hi;
};

const loadByte: LoadLoop = (d, { shadow, i8, u8 }, { low, high, shift, stride }, addresses, offset, lanes, lo, hi) => {
  const [first, last] = [low - offset, high - offset - 1];
  for (let lane = lo; lane < hi; lane++) {
    if (lanes[lane] === 0) continue;
    const address = addresses[lane];
    if (address < first || address > last) return lane;
    const at = address + (shift + offset) + lane * stride;
    if (i8[at + shadow] !== -1) return lane;
    d[lane] = u8[at];
  }
  return hi;
};

const loadInt16: LoadLoop = (
  d,
  { shadow, i16, u16 },
  { low, high, shift, stride },
  addresses,
  offset,
  lanes,
  lo,
  hi,
) => {
  const [first, last, marks] = [low - offset, high - offset - 2, shadow >> 1];
  for (let lane = lo; lane < hi; lane++) {
    if (lanes[lane] === 0) continue;
    const address = addresses[lane];
    if (address < first || address > last) return lane;
    const at = address + (shift + offset) + lane * stride;
    if ((at & 1) !== 0 || i16[(at >> 1) + marks] !== -1) return lane;
    d[lane] = u16[at >> 1];
  }
  return hi;
};

/** Through a table of all values that 16 bits have. */
function loadHalf(type: 'f16' | 'bf16'): LoadLoop {
  const numberOf = bitcast('u16', type).scalar;
  let values: Float32Array | undefined;
  return (d, views, piece, addresses, offset, lanes, lo, hi) => {
    values ??= Float32Array.from({ length: 0x10000 }, (_, bits) => numberOf(bits));
    const end = loadInt16(d, views, piece, addresses, offset, lanes, lo, hi);
    for (let lane = lo; lane < end; lane++) if (lanes[lane] !== 0) d[lane] = values[d[lane]];
    return end;
  };
}

export const loadLoops: Partial<Record<ScalarType, LoadLoop>> = {
  f32: loadFloat32,
  i32: loadInt32,
  u32: loadInt32,
  f64: loadFloat64,
  u8: loadByte,
  pred: loadByte,
  u16: loadInt16,
  f16: loadHalf('f16'),
  bf16: loadHalf('bf16'),
};
