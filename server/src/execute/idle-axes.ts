/**
 * Axes of a grid along which blocks do the same, where others make them differ: of a batch of triangular products (x, y against each other,
 * z the matrix) one matrix is executed whole instead of a sample of all. Nothing is proved: blocks at several places are moved along the axis.
 */
import type { BlockIndex } from './grid';
import { areEqual, type Counters } from './piecewise';

/** Along shorter axes nothing is gained. */
const LEAST_COUNT = 4;

interface Grid {
  readonly size: BlockIndex;
  /** Executes a block; undefined when it may not. Counters hold until the next block. */
  readonly run: (block: BlockIndex) => Counters | undefined;
  /** How many counters are in use. */
  readonly used: () => number;
  /** By axis: blocks that are known to stand alone. */
  readonly singled: readonly (readonly number[])[];
}

/**
 * The grid without the axes along which its blocks do the same, or undefined where all of them matter.
 * @param samples blocks at various places, of which two are known to differ
 */
export function withoutIdleAxes(grid: Grid, samples: readonly BlockIndex[]): BlockIndex | undefined {
  const { size, singled } = grid;
  const axes = [2, 1, 0].filter((axis) => size[axis] >= LEAST_COUNT && singled[axis].length === 0);
  if (axes.length < 2) return undefined;
  const corners: BlockIndex[] = [
    [0, 0, 0],
    [size[0] - 1, size[1] - 1, size[2] - 1],
  ];
  const bases = [...samples, ...corners];
  const rest: [number, number, number] = [...size];
  for (const axis of axes) if (bases.every((base) => isAlikeAlong(grid, axis, base))) rest[axis] = 1;
  return rest.every((count, axis) => count === size[axis]) ? undefined : rest;
}

function isAlikeAlong({ size, run, used }: Grid, axis: number, base: BlockIndex): boolean {
  const last = size[axis] - 1;
  // both ends, and places that differ in the remainders that alignment repeats in
  const places = new Set([0, 1, Math.floor(last / 2) | 1, last].filter((place) => place !== base[axis]));
  const first = run(base)?.slice();
  if (!first) return false;
  for (const place of places) {
    const moved: [number, number, number] = [...base];
    moved[axis] = place;
    const counters = run(moved);
    if (!counters || !areEqual(first, counters, used())) return false;
  }
  return true;
}
