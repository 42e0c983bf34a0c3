/** What numbers of all lanes that move evenly come to: their extremes, and when a comparison of them turns. */
import type { CompareOp, ScalarType } from '../program/program';
import type { Delta } from './affine';
import { numberOf } from './conversion';
import type { Frame } from './mask';
import { type LaneValue, vectorOf } from './value';

export const ranges: Partial<Record<ScalarType, readonly [number, number]>> = {
  i8: [-128, 127],
  u8: [0, 255],
  i16: [-32768, 32767],
  u16: [0, 65535],
  i32: [-(2 ** 31), 2 ** 31 - 1],
  u32: [0, 2 ** 32 - 1],
  i64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  u64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
};

/** The largest or least number a known value has in the active lanes. */
export function extremeOf(value: LaneValue, type: ScalarType, isLargest: boolean, frame: Frame): number {
  const number = numberOf(type);
  if (value.uniform) return number(value.scalar);
  const { width, height, depth } = value.geometry;
  const corner =
    value.linear && frame.mask.count === width * height * depth ? cornerOf(value, type, isLargest) : Number.NaN;
  if (!Number.isNaN(corner)) return corner;
  const vector = vectorOf(value);
  const { lanes } = frame.mask;
  let extreme = isLargest ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  for (let lane = frame.lo; lane < frame.hi; lane++) {
    if (lanes[lane] === 0) continue;
    const now = number(vector[lane]);
    if (isLargest ? now > extreme : now < extreme) extreme = now;
  }
  return extreme;
}

/** For how many further steps a comparison of known values gives what it does now, in every active lane. */
export function fewestUnchanged(
  fn: CompareOp,
  type: ScalarType,
  x: LaneValue,
  dx: Delta,
  y: LaneValue,
  dy: Delta,
  frame: Frame,
): number {
  const xs = x.uniform ? undefined : vectorOf(x);
  const ys = y.uniform ? undefined : vectorOf(y);
  const { lanes } = frame.mask;
  const isUnsigned = type === 'u32';
  let fewest = Number.POSITIVE_INFINITY;
  for (let lane = frame.lo; lane < frame.hi; lane++) {
    if (lanes[lane] === 0) continue;
    const step = (typeof dx === 'number' ? dx : dx[lane]) - (typeof dy === 'number' ? dy : dy[lane]);
    if (step !== 0) {
      const a = xs === undefined ? x.scalar : xs[lane];
      const b = ys === undefined ? y.scalar : ys[lane];
      const passes = passesUnchanged(fn, isUnsigned ? (a >>> 0) - (b >>> 0) : a - b, step);
      if (passes < fewest) fewest = passes;
    }
    // all lanes are alike
    if (xs === undefined && ys === undefined && typeof dx === 'number' && typeof dy === 'number') break;
  }
  return fewest;
}

/** The largest or least number of a linear value over the whole block; NaN where some lane may have wrapped. */
function cornerOf(value: LaneValue, type: ScalarType, isLargest: boolean): number {
  const range = type === 'i32' || type === 'u32' || type === 'i64' ? ranges[type] : undefined;
  if (range === undefined) return Number.NaN;
  const { width, height, depth } = value.geometry;
  const [x, y, z] = [value.kx * (width - 1), value.ky * (height - 1), value.kz * (depth - 1)];
  const scalar = type === 'u32' ? value.scalar >>> 0 : value.scalar;
  const least = scalar + Math.min(0, x) + Math.min(0, y) + Math.min(0, z);
  const most = scalar + Math.max(0, x) + Math.max(0, y) + Math.max(0, z);
  if (!(least >= range[0] && most <= range[1])) return Number.NaN;
  return isLargest ? most : least;
}

/** For how many further steps a comparison of `difference` with zero gives what it gives now. */
export function passesUnchanged(fn: CompareOp, difference: number, step: number): number {
  if (step === 0) return Number.POSITIVE_INFINITY;
  // Steps until the difference is zero, counted along the movement; negative when it moves away.
  const meets = -difference / step;
  switch (fn) {
    case 'eq':
    case 'ne':
      if (difference === 0) return 0;
      return meets > 0 && Number.isInteger(meets) ? meets - 1 : Number.POSITIVE_INFINITY;
    case 'lt':
    case 'ge':
      // Negative or not.
      if (difference < 0) return step > 0 ? Math.ceil(meets) - 1 : Number.POSITIVE_INFINITY;
      return step < 0 ? Math.floor(meets) : Number.POSITIVE_INFINITY;
    case 'le':
    case 'gt':
      // Positive or not.
      if (difference > 0) return step < 0 ? Math.ceil(meets) - 1 : Number.POSITIVE_INFINITY;
      return step > 0 ? Math.floor(meets) : Number.POSITIVE_INFINITY;
  }
}
