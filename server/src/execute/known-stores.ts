/** Loops over lanes for stores of what is known: the same as `ByteMemory.write`, without calls for every lane. */
import type { ScalarType } from '../program/program';
import type { LoadLoop } from './known-loads';

/**
 * Stores lane after lane to an address and an offset on.
 * @returns the first lane that is not simple: outside of the piece, or not aligned; else `hi`
 */
export type StoreLoop = LoadLoop;

const storeFloat32: StoreLoop = (
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
    if ((at & 3) !== 0) return lane;
    f32[at >> 2] = d[lane];
    i32[(at >> 2) + marks] = -1;
  }
  return hi;
};

const storeInt32: StoreLoop = (d, { shadow, i32 }, { low, high, shift, stride }, addresses, offset, lanes, lo, hi) => {
  const [first, last, marks] = [low - offset, high - offset - 4, shadow >> 2];
  for (let lane = lo; lane < hi; lane++) {
    if (lanes[lane] === 0) continue;
    const address = addresses[lane];
    if (address < first || address > last) return lane;
    const at = address + (shift + offset) + lane * stride;
    if ((at & 3) !== 0) return lane;
    i32[at >> 2] = d[lane];
    i32[(at >> 2) + marks] = -1;
  }
  return hi;
};

const storeFloat64: StoreLoop = (
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
    if ((at & 7) !== 0) return lane;
    f64[at >> 3] = d[lane];
    i32[(at >> 2) + marks] = -1;
    i32[(at >> 2) + marks + 1] = -1;
  }
  return hi;
};

const storeByte: StoreLoop = (
  d,
  { shadow, i8, u8 },
  { low, high, shift, stride },
  addresses,
  offset,
  lanes,
  lo,
  hi,
) => {
  const [first, last] = [low - offset, high - offset - 1];
  for (let lane = lo; lane < hi; lane++) {
    if (lanes[lane] === 0) continue;
    const address = addresses[lane];
    if (address < first || address > last) return lane;
    const at = address + (shift + offset) + lane * stride;
    u8[at] = d[lane];
    i8[at + shadow] = -1;
  }
  return hi;
};

export const storeLoops: Partial<Record<ScalarType, StoreLoop>> = {
  f32: storeFloat32,
  i32: storeInt32,
  u32: storeInt32,
  f64: storeFloat64,
  u8: storeByte,
  i8: storeByte,
  pred: storeByte,
};
