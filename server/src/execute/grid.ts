/** Which blocks of a grid are executed, and for how many others each of them stands. */

export type BlockIndex = readonly [number, number, number];

/** Blocks that are expected to behave alike: first, inner or last along each axis. */
export interface BlockClass {
  readonly size: number;
  /** Blocks to be executed at least, as long as they agree; and at most. */
  readonly least: number;
  /** The same where they are aligned differently. */
  readonly leastUnaligned: number;
  readonly most: number;
  /** The blocks in order, 0 … size - 1. */
  readonly at: (n: number) => BlockIndex;
  /** Blocks of a row, of which the n-th sample is `place(n)` in their order; undefined for planes. */
  readonly place?: (n: number) => number;
  /** The n-th sample. Every `cycle` samples come in all combinations of remainders modulo 8 along the axes. */
  readonly sample: (n: number) => BlockIndex;
  readonly cycle: number;
  /** How many blocks the n-th sample stands for, in relation to the others. */
  readonly weight: (n: number) => number;
}

/** Grids up to this size are executed as a whole. */
export const SMALL_GRID = 8;
/** Samples of the inner blocks. */
const INNER_LEAST = 5;
/** Where they are aligned differently: along one axis every remainder modulo 8, of two most sums of them. */
const UNALIGNED_LEAST = 8;
const INNER_MOST = 24;
/** One is enough where it counts what the inner blocks do. */
const BORDER_LEAST = 4;
const BORDER_MOST = 8;

interface Span {
  readonly first: number;
  readonly count: number;
  readonly isInner: boolean;
}

/** First, inner and last blocks along an axis of n blocks, and those that are singled out. */
function spansOf(n: number, singled: readonly number[] = []): Span[] {
  const first = { first: 0, count: 1, isInner: n === 1 };
  if (n === 1) return [first];
  const alone = [...singled, n - 1].map((at) => ({ first: at, count: 1, isInner: false }));
  const inner: Span[] = [];
  let from = 1;
  for (const { first: to } of alone) {
    if (to > from) inner.push({ first: from, count: to - from, isInner: true });
    from = to + 1;
  }
  return [...inner.sort((a, b) => b.count - a.count), first, ...alone];
}

/**
 * The classes of a grid, the innermost one first: it stands for most blocks. Sizes add up to the grid's.
 * @param singled by axis: indices of blocks that stand alone, in order, none at an end
 */
export function blockClasses(grid: BlockIndex, singled: readonly (readonly number[])[] = []): BlockClass[] {
  const classes: BlockClass[] = [];
  for (const z of spansOf(grid[2], singled[2])) {
    for (const y of spansOf(grid[1], singled[1])) {
      for (const x of spansOf(grid[0], singled[0])) {
        const size = x.count * y.count * z.count;
        // of a grid two blocks wide none are inner along that axis: the first class stands for most of them all the same
        const isInner = classes.length === 0 || (x.isInner && y.isInner && z.isInner);
        const innerAxes = [x, y, z].filter(({ count }) => count > 1).length;
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
          leastUnaligned: Math.min(size, isInner ? UNALIGNED_LEAST * Math.max(1, innerAxes) : BORDER_LEAST),
          most: Math.min(size, isInner ? INNER_MOST : BORDER_MOST),
          at,
          ...samplesOf([x, y, z]),
          ...rowOf([x, y, z], size),
        });
      }
    }
  }
  return classes;
}

/** Where the samples of a class stand that is one row of blocks. */
function rowOf(spans: readonly [Span, Span, Span], size: number): Pick<BlockClass, 'place'> {
  const axis = spans.findIndex((span) => span.count === size);
  if (axis < 0 || size === 1) return {};
  const { sample } = samplesOf(spans);
  return { place: (n) => sample(n)[axis] - spans[axis].first };
}

/** All blocks of a grid, x fastest. */
export function allBlocks(grid: BlockIndex): BlockClass {
  const [width, height, depth] = grid;
  const size = width * height * depth;
  const at = (n: number): BlockIndex => [n % width, Math.floor(n / width) % height, Math.floor(n / (width * height))];
  return { size, least: size, leastUnaligned: size, most: size, at, sample: at, cycle: size, weight: () => 1 };
}

/** Addresses repeat in 32 bytes, 8 words: with the block index modulo 8, whatever the step from block to block. */
export const PERIOD = 8;
/** 0 … 7 in an order in which neighbours are far apart. */
const REMAINDERS = [0, 5, 2, 7, 4, 1, 6, 3];
/** Independent irrational steps for the axes: low discrepancy along each, and of all together. */
const STEPS = [0.6180339887498949, 0.7548776662466927, 0.5698402909980532];

/**
 * Samples of a box of blocks. What blocks count is mostly periodic in the remainders of their indices modulo 8 (alignment) and
 * otherwise slowly varying: each cycle goes through all remainders, the places within a remainder are spread evenly.
 */
function samplesOf(spans: readonly [Span, Span, Span]): Pick<BlockClass, 'sample' | 'cycle' | 'weight'> {
  const radix = spans.map((span) => Math.min(PERIOD, span.count));
  const remainders = (n: number): number[] => {
    // odd and even places of two axes meet in the first four samples: rows and planes may shift alignment by half a sector each
    const row = Math.floor(n / radix[0]) % radix[1];
    const x = n % radix[0];
    const y = (row + (x >> 1)) % radix[1];
    const z = (Math.floor(n / (radix[0] * radix[1])) + (x >> (radix[1] > 1 ? 2 : 1)) + (row >> 1)) % radix[2];
    return [x, y, z].map((digit, axis) => (radix[axis] === PERIOD ? REMAINDERS[digit] : digit));
  };
  // positions with a remainder: those of a span of 11 are 0 … 10, so 0, 1 and 2 come twice
  const inRemainder = (axis: number, remainder: number) => Math.ceil((spans[axis].count - remainder) / radix[axis]);
  return {
    cycle: radix[0] * radix[1] * radix[2],
    sample: (n) => {
      const [x, y, z] = remainders(n).map((remainder, axis) => {
        const turn = Math.floor((((n + 1) * STEPS[axis]) % 1) * inRemainder(axis, remainder));
        return spans[axis].first + turn * radix[axis] + remainder;
      });
      return [x, y, z];
    },
    weight: (n) => remainders(n).reduce((product, remainder, axis) => product * inRemainder(axis, remainder), 1),
  };
}
