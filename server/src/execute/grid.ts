/** Which blocks of a grid are executed, and for how many others each of them stands. */

export type BlockIndex = readonly [number, number, number];

/** Blocks that are expected to behave alike: first, inner or last along each axis. */
export interface BlockClass {
  readonly size: number;
  /** Blocks to be executed at least, as long as they agree; and at most. */
  readonly least: number;
  readonly most: number;
  /** The blocks in order, 0 … size - 1. */
  readonly at: (n: number) => BlockIndex;
  /** The n-th sample, n < size; up to `most` samples differ. */
  readonly sample: (n: number) => BlockIndex;
}

/** Grids up to this size are executed as a whole. */
export const SMALL_GRID = 8;
/** Samples of the inner blocks: enough that every remainder modulo 8 of the linear index comes up. */
const INNER_LEAST = 5;
const INNER_MOST = 24;
/** One is enough where it counts what the inner blocks do. */
const BORDER_LEAST = 4;
const BORDER_MOST = 8;

interface Span {
  readonly first: number;
  readonly count: number;
  readonly isInner: boolean;
}

/** First, inner and last blocks along an axis of n blocks. */
function spansOf(n: number): Span[] {
  const first = { first: 0, count: 1, isInner: n === 1 };
  if (n === 1) return [first];
  const last = { first: n - 1, count: 1, isInner: false };
  return n === 2 ? [first, last] : [{ first: 1, count: n - 2, isInner: true }, first, last];
}

/** The classes of a grid, the innermost one first: it stands for most blocks. Sizes add up to the grid's. */
export function blockClasses(grid: BlockIndex): BlockClass[] {
  const classes: BlockClass[] = [];
  for (const z of spansOf(grid[2])) {
    for (const y of spansOf(grid[1])) {
      for (const x of spansOf(grid[0])) {
        const size = x.count * y.count * z.count;
        const isInner = x.isInner && y.isInner && z.isInner;
        const at = (n: number): BlockIndex => {
          const inPlane = n % (x.count * y.count);
          return [
            x.first + (inPlane % x.count),
            y.first + Math.floor(inPlane / x.count),
            z.first + Math.floor(n / (x.count * y.count)),
          ];
        };
        classes.push({
          size,
          least: Math.min(size, isInner ? INNER_LEAST : BORDER_LEAST),
          most: Math.min(size, isInner ? INNER_MOST : BORDER_MOST),
          at,
          sample: (n) => at(spread(n, size)),
        });
      }
    }
  }
  return classes;
}

/** All blocks of a grid, x fastest. */
export function allBlocks(grid: BlockIndex): BlockClass {
  const [width, height, depth] = grid;
  const size = width * height * depth;
  const at = (n: number): BlockIndex => [n % width, Math.floor(n / width) % height, Math.floor(n / (width * height))];
  return { size, least: size, most: size, at, sample: at };
}

const GOLDEN = (Math.sqrt(5) - 1) / 2;
/** 0 … 7 in an order in which neighbours are far apart. */
const REMAINDERS = [0, 5, 2, 7, 4, 1, 6, 3];

/**
 * The n-th of `size` numbers in an order of low discrepancy, without repetition for n below the number of samples
 * used: the golden-section sequence over groups of eight, each remainder modulo 8 in turn. All of them in order where
 * there are few.
 */
export function spread(n: number, size: number): number {
  if (size <= INNER_MOST) return n;
  const groups = Math.floor(size / 8);
  const group = Math.floor((((n + 1) * GOLDEN) % 1) * groups);
  return group * 8 + REMAINDERS[n % 8];
}
