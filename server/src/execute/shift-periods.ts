/** By how many bytes the addresses of an access may be shifted without a change of any count, found by asking the model. */

import { type AccessShape, emptyCounts, type MemoryModel } from '../hardware/memory-model';
import { WARP } from './mask';

/** Largest memory geometry of any capability: rows of banks and segments are at most this long. */
const LARGEST = 256;

/** Words of the lanes in the patterns that are shifted: consecutive, strided, scattered, pairs in two rows. */
const patterns: readonly ((lane: number) => number)[] = [
  (lane) => lane,
  (lane) => lane * 2,
  (lane) => lane * 33,
  (lane) => (lane * 5) ^ 9,
  (lane) => (lane & 1) * 32 + (lane >> 1),
  (lane) => (lane * lane * 7) % 61,
];
const shifts: readonly number[] = [1, 3, 7, 11, 31];

interface Known {
  readonly byShape: WeakMap<AccessShape, number>;
  readonly byKey: Map<string, number>;
}

const known = new WeakMap<MemoryModel, Known>();

/** The least shift (a power of two times the access width, at most 256 bytes) that leaves all counts as they are. */
export function shiftPeriod(model: MemoryModel, shape: AccessShape): number {
  let periods = known.get(model);
  if (!periods) known.set(model, (periods = { byShape: new WeakMap(), byKey: new Map() }));
  let period = periods.byShape.get(shape);
  if (period === undefined) periods.byShape.set(shape, (period = periodOf(model, shape, periods.byKey)));
  return period;
}

function periodOf(model: MemoryModel, shape: AccessShape, periods: Map<string, number>): number {
  const key = `${shape.space} ${shape.operation} ${shape.bytes} ${shape.atomic} ${shape.resultUsed}`;
  let period = periods.get(key);
  if (period === undefined) {
    period = Math.max(4, shape.bytes);
    while (period < LARGEST && !isInvariant(model, shape, period)) period *= 2;
    periods.set(key, period);
  }
  return period;
}

function isInvariant(model: MemoryModel, shape: AccessShape, period: number): boolean {
  const addresses = new Float64Array(WARP);
  const active = new Uint8Array(WARP);
  const unit = Math.max(4, shape.bytes);
  const countAt = (pattern: (lane: number) => number, shift: number) => {
    for (let lane = 0; lane < WARP; lane++) addresses[lane] = pattern(lane) * unit + shift;
    const counts = emptyCounts();
    model.count(shape, addresses, active, 0, WARP, counts);
    return [counts.wavefronts, counts.idealWavefronts, counts.sectors, counts.idealSectors, counts.transactions].join();
  };
  for (const lanes of [WARP, 20]) {
    active.fill(0).fill(1, 0, lanes);
    for (const pattern of patterns) {
      const base = countAt(pattern, 0);
      if (shifts.some((times) => countAt(pattern, times * period) !== base)) return false;
    }
  }
  return true;
}
