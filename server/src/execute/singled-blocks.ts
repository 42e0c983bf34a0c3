/**
 * Blocks that a kernel singles out: `if (blockIdx.x == k && blockIdx.y == k) return`, `if (i == source) …` with i of one thread of the grid.
 * One block in hundreds does something else there, which no sample of the others would tell.
 */
import { definitionsOf } from '../program/definitions';
import { foldBinary, foldConvert, foldUnary } from '../program/fold';
import type { Instruction, Program, Register } from '../program/program';
import type { LaunchShape } from './execution';
import type { BlockIndex } from './grid';

/** By axis: block indices that stand alone, in order. */
export type SingledBlocks = readonly [readonly number[], readonly number[], readonly number[]];

const NONE: SingledBlocks = [[], [], []];
/** A condition that holds in more blocks than this singles none out. */
const MOST_OF_ONE = 2;
/** More than this along an axis would be executed for their own sake. */
const MOST_OF_AXIS = 4;
/** Longer chains of instructions are not followed. */
const DEEPEST = 24;

type Comparison = Instruction & { readonly op: 'compare' };

interface Equalities {
  readonly comparisons: readonly Comparison[];
  readonly inputs: ReadonlyMap<Register, number>;
}

const known = new WeakMap<Program, Equalities>();

function equalitiesOf(program: Program): Equalities {
  const found = known.get(program);
  if (found) return found;
  const comparisons: Comparison[] = [];
  for (const { instructions } of program.blocks)
    for (const i of instructions)
      if (i.op === 'compare' && (i.fn === 'eq' || i.fn === 'ne') && i.type !== 'f32' && i.type !== 'f64')
        comparisons.push(i);
  const inputs = new Map(program.inputs.map(({ register }, index) => [register, index]));
  const result = { comparisons, inputs };
  known.set(program, result);
  return result;
}

/** The blocks within a grid, its ends aside, that an equality holds in alone. */
export function singledBlocks(program: Program, launch: LaunchShape): SingledBlocks {
  const equalities = equalitiesOf(program);
  if (equalities.comparisons.length === 0) return NONE;
  const found = [new Set<number>(), new Set<number>(), new Set<number>()];
  for (const comparison of equalities.comparisons) {
    const at = placeOf(new Difference(program, launch, equalities, comparison), launch);
    for (const block of at?.blocks ?? []) found[at?.axis ?? 0].add(block);
  }
  const inOrder = (blocks: ReadonlySet<number>) =>
    blocks.size > MOST_OF_AXIS ? [] : [...blocks].sort((a, b) => a - b);
  return [inOrder(found[0]), inOrder(found[1]), inOrder(found[2])];
}

/** Where along which axis both sides are equal for some thread; undefined where that is not one place of one axis. */
function placeOf(
  difference: Difference,
  { grid, block }: LaunchShape,
): { readonly axis: number; readonly blocks: readonly number[] } | undefined {
  const first: BlockIndex = [0, 0, 0];
  const start = difference.at(first, first);
  if (start === undefined) return undefined;
  const moved = [0, 1, 2].filter((axis) => grid[axis] > 1 && difference.at(along(axis, 1), first) !== start);
  if (moved.length !== 1) return undefined;
  const [axis] = moved;
  const step = (difference.at(along(axis, 1), first) ?? Number.NaN) - start;
  const last = grid[axis] - 1;
  if (difference.at(along(axis, last), first) !== start + step * last) return undefined;
  const corners = [0, 1, 2, 3, 4, 5, 6, 7].map((corner) =>
    difference.at(
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

/** What the sides of a comparison differ by, as a number of block and thread. */
class Difference {
  private block: readonly number[] = [];
  private thread: readonly number[] = [];

  constructor(
    private readonly program: Program,
    private readonly launch: LaunchShape,
    private readonly equalities: Equalities,
    private readonly comparison: Comparison,
  ) {}

  /** Undefined where a side rests on anything but the launch. */
  at(block: readonly number[], thread: readonly number[]): number | undefined {
    this.block = block;
    this.thread = thread;
    const a = this.value(this.comparison.a, 0);
    const b = a === undefined ? undefined : this.value(this.comparison.b, 0);
    return a === undefined || b === undefined ? undefined : a - b;
  }

  private value(register: Register, depth: number): number | undefined {
    const info = this.program.registers[register];
    if (info.role === 'constant') return info.value;
    if (info.role === 'input') return this.input(register);
    const definitions = definitionsOf(this.program);
    const entry = definitions.last(register);
    // what several instructions assign changes in a loop, or from way to way
    if (entry < 0 || definitions.before(entry) >= 0 || depth > DEEPEST) return undefined;
    const i = definitions.at(entry);
    if (i.op === 'convert') return foldConvert(i.from, i.type, this.value(i.a, depth + 1));
    if (i.op === 'unary') return i.fn === 'mov' ? this.value(i.a, depth + 1) : this.unary(i, depth);
    if (i.op === 'binary') return this.binary(i.fn, i.type, this.value(i.a, depth + 1), i.b, depth);
    if (i.op !== 'fma') return undefined;
    const product = this.binary('mul', i.type, this.value(i.a, depth + 1), i.b, depth);
    return this.binary('add', i.type, product, i.c, depth);
  }

  private unary(i: Instruction & { readonly op: 'unary' }, depth: number): number | undefined {
    return i.fn === 'neg' ? foldUnary('neg', i.type, this.value(i.a, depth + 1)) : undefined;
  }

  private binary(
    fn: (Instruction & { readonly op: 'binary' })['fn'],
    type: (Instruction & { readonly op: 'binary' })['type'],
    a: number | undefined,
    right: Register,
    depth: number,
  ): number | undefined {
    const b = a === undefined ? undefined : this.value(right, depth + 1);
    const result = b === undefined ? undefined : foldBinary(fn, type, a, b);
    return result === 'a' ? a : result === 'b' ? b : result;
  }

  private input(register: Register): number | undefined {
    const index = this.equalities.inputs.get(register);
    if (index === undefined) return undefined;
    const { source } = this.program.inputs[index];
    if (source.kind === 'blockIdx') return this.block[source.axis];
    if (source.kind === 'threadIdx') return this.thread[source.axis];
    if (source.kind === 'blockDim') return this.launch.block[source.axis];
    if (source.kind === 'gridDim') return this.launch.grid[source.axis];
    const given = this.launch.inputs.get(index);
    return given?.kind === 'number' ? given.value : undefined;
  }
}
