/**
 * Blocks that a kernel singles out: `if (blockIdx.x == k && blockIdx.y == k) return`, `if (i == source) …` with i of one thread of the grid.
 * One block in hundreds does something else there, which no sample of the others would tell. The same where `i < n` changes in the middle
 * of the grid: the block in which it does stands alone, and the blocks before and behind it are looked at apart.
 */
import { type Instruction, isFloat, type Program } from '../program/program';
import { asLaunched } from './block-numbers';
import type { LaunchShape } from './execution';
import type { BlockIndex } from './grid';
import { LaunchValues } from './launch-values';

/** By axis: block indices that stand alone, in order. */
export type SingledBlocks = readonly [readonly number[], readonly number[], readonly number[]];

const NONE: SingledBlocks = [[], [], []];
/** A condition that holds in more blocks than this singles none out. */
const MOST_OF_ONE = 2;
/** More than this along an axis would be executed for their own sake. */
const MOST_OF_AXIS = 4;

type Comparison = Instruction & { readonly op: 'compare' };

const known = new WeakMap<Program, readonly Comparison[]>();

/** Of integers, the equalities first. */
function comparisonsOf(program: Program): readonly Comparison[] {
  const found = known.get(program);
  if (found) return found;
  const comparisons: Comparison[] = [];
  for (const { instructions } of program.blocks)
    for (const i of instructions) if (i.op === 'compare' && !isFloat(i.type)) comparisons.push(i);
  const inOrder = [...comparisons.filter(isEquality), ...comparisons.filter((i) => !isEquality(i))];
  known.set(program, inOrder);
  return inOrder;
}

const isEquality = ({ fn }: Comparison): boolean => fn === 'eq' || fn === 'ne';

/**
 * The blocks within a grid, its ends aside, that an equality holds in alone, or in which an inequality changes.
 * @param order the shape in which the grid is looked at
 */
export function singledBlocks(program: Program, launch: LaunchShape, order = asLaunched(launch)): SingledBlocks {
  const comparisons = comparisonsOf(program);
  if (comparisons.length === 0) return NONE;
  const values = new LaunchValues(program, launch);
  const found = [new Set<number>(), new Set<number>(), new Set<number>()];
  for (const comparison of comparisons) {
    const { a, b } = comparison;
    const difference = (block: readonly number[], thread: readonly number[]) => {
      const at = order.at(block);
      const left = values.at(a, at, thread);
      const right = left === undefined ? undefined : values.at(b, at, thread);
      return left === undefined || right === undefined ? undefined : left - right;
    };
    const at = placeOf(difference, order.grid, launch.block);
    if (!at) continue;
    const places = new Set([...found[at.axis], ...at.blocks]);
    if (isEquality(comparison) || places.size <= MOST_OF_AXIS) found[at.axis] = places;
  }
  const inOrder = (blocks: ReadonlySet<number>) =>
    blocks.size > MOST_OF_AXIS ? [] : [...blocks].sort((a, b) => a - b);
  return [inOrder(found[0]), inOrder(found[1]), inOrder(found[2])];
}

/** Where along which axis both sides are equal for some thread; undefined where that is not one place of one axis. */
function placeOf(
  difference: (block: readonly number[], thread: readonly number[]) => number | undefined,
  grid: BlockIndex,
  block: BlockIndex,
): { readonly axis: number; readonly blocks: readonly number[] } | undefined {
  const first: BlockIndex = [0, 0, 0];
  const start = difference(first, first);
  if (start === undefined) return undefined;
  const moved = [0, 1, 2].filter((axis) => grid[axis] > 1 && difference(along(axis, 1), first) !== start);
  if (moved.length !== 1) return undefined;
  const [axis] = moved;
  const step = (difference(along(axis, 1), first) ?? Number.NaN) - start;
  const last = grid[axis] - 1;
  if (difference(along(axis, last), first) !== start + step * last) return undefined;
  const corners = [0, 1, 2, 3, 4, 5, 6, 7].map((corner) =>
    difference(
      first,
      [0, 1, 2].map((a) => ((corner >> a) & 1 ? block[a] - 1 : 0)),
    ),
  );
  const places = corners.map((corner) => -(corner ?? Number.NaN) / step);
  const least = Math.ceil(Math.min(...places));
  const most = Math.floor(Math.max(...places));
  if (!(most - least < MOST_OF_ONE)) return undefined;
  const blocks = [least, most].filter((at) => at > 0 && at < last && at >= least);
  return { axis, blocks };
}

const along = (axis: number, place: number): BlockIndex =>
  axis === 0 ? [place, 0, 0] : axis === 1 ? [0, place, 0] : [0, 0, place];
