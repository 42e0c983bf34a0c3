/**
 * Grids of several axes whose blocks a kernel numbers in one row: `block = blockIdx.y * gridDim.x + blockIdx.x`. Whatever it does follows
 * from that number, so that its blocks are looked at as those of a row are: what the first two thousand of them do, and the others
 * do not, is a few rows of a plane, which samples of the plane would miss or take for a part of all.
 */
import { definitionsOf } from '../program/definitions';
import { readsOf } from '../program/operands';
import { bytesOf, type Instruction, isFloat, type Program, type Register, type ScalarType } from '../program/program';
import type { LaunchShape } from './execution';
import type { BlockIndex } from './grid';
import { LaunchValues } from './launch-values';

/** The blocks of a grid in another shape. */
export interface BlockOrder {
  readonly grid: BlockIndex;
  /** Where a block of that shape lies in the grid of the launch. */
  readonly at: (block: readonly number[]) => BlockIndex;
}

/** The grid as it is launched. */
export const asLaunched = ({ grid }: LaunchShape): BlockOrder => ({ grid, at: ([x, y, z]) => [x, y, z] });

/** The blocks as a row, in the order in which the kernel numbers them; undefined where it rests on their indices in any other way. */
export function numberedBlocks(program: Program, launch: LaunchShape): BlockOrder | undefined {
  const axes = [0, 1, 2].filter((axis) => launch.grid[axis] > 1);
  if (axes.length < 2) return undefined;
  let orders = ordersOf(axes);
  const steps = new BlockSteps(program, launch);
  const settles = (register: Register): boolean => {
    const step = steps.of(register);
    if (step === NONE) return true;
    orders = orders.filter((order) => isNumber(step, order, launch.grid));
    return orders.length > 0;
  };
  for (const { instructions, terminator } of program.blocks) {
    for (const i of instructions) if (!steps.isFollowed(i) && !readsOf(i).every(settles)) return undefined;
    if (terminator.kind === 'branch' && !settles(terminator.condition)) return undefined;
  }
  // where nothing rests on the block all orders are left, and the grid may stay as it is
  return orders.length === 1 ? rowIn(orders[0], launch.grid) : undefined;
}

/** Axes, the one first whose neighbours follow each other. */
function ordersOf(axes: readonly number[]): number[][] {
  if (axes.length < 2) return [[...axes]];
  return axes.flatMap((first) => ordersOf(axes.filter((axis) => axis !== first)).map((rest) => [first, ...rest]));
}

/** Whether a value steps along every axis as a multiple of the number of the block does. */
function isNumber(step: Step, order: readonly number[], grid: BlockIndex): boolean {
  let expected = step[order[0]];
  for (const axis of order) {
    if (step[axis] !== expected) return false;
    expected *= grid[axis];
  }
  return true;
}

function rowIn(order: readonly number[], grid: BlockIndex): BlockOrder {
  const at = ([number]: readonly number[]): BlockIndex => {
    const block: [number, number, number] = [0, 0, 0];
    for (const axis of order) {
      block[axis] = number % grid[axis];
      number = Math.floor(number / grid[axis]);
    }
    return block;
  };
  return { grid: [grid[0] * grid[1] * grid[2], 1, 1], at };
}

/** By axis: what one block further adds to an integer. */
type Step = readonly [number, number, number];
const NONE: Step = [0, 0, 0];
const AXES: readonly Step[] = [
  [1, 0, 0],
  [0, 1, 0],
  [0, 0, 1],
];

/** Steps of integers that are sums of block indices, with factors that the launch tells. */
class BlockSteps {
  private readonly inputs: ReadonlyMap<Register, Step>;
  private readonly found = new Map<Register, Step>();
  private readonly values: LaunchValues;

  constructor(
    private readonly program: Program,
    launch: LaunchShape,
  ) {
    this.values = new LaunchValues(program, launch);
    this.inputs = new Map(
      program.inputs.flatMap(({ register, source }) =>
        source.kind === 'blockIdx' ? [[register, AXES[source.axis]] as const] : [],
      ),
    );
  }

  /** Of a register that several instructions assign, or one that is not followed: none, as far as what these read is settled. */
  of(register: Register): Step {
    const known = this.inputs.get(register) ?? this.found.get(register);
    if (known) return known;
    const definitions = definitionsOf(this.program);
    const entry = definitions.last(register);
    if (entry < 0 || definitions.areSeveral(register)) return NONE;
    // in a ring of assignments it is asked for itself
    this.found.set(register, NONE);
    const step = this.sumOf(definitions.at(entry)) ?? NONE;
    this.found.set(register, step);
    return step;
  }

  /** Whether what the instruction gives steps as a sum of what it reads. */
  isFollowed(i: Instruction): boolean {
    const definitions = definitionsOf(this.program);
    return 'dst' in i && typeof i.dst === 'number' && !definitions.areSeveral(i.dst) && this.sumOf(i) !== undefined;
  }

  private sumOf(i: Instruction): Step | undefined {
    if (!('type' in i) || !isWhole(i.type)) return undefined;
    if (i.op === 'convert') return isWhole(i.from) && bytesOf[i.type] >= 4 ? this.of(i.a) : undefined;
    if (i.op === 'unary') return i.fn === 'mov' ? this.of(i.a) : i.fn === 'neg' ? scaled(this.of(i.a), -1) : undefined;
    if (i.op === 'fma') return plus(this.product(i.a, i.b), this.of(i.c), 1);
    if (i.op !== 'binary') return undefined;
    if (i.fn === 'add') return plus(this.of(i.a), this.of(i.b), 1);
    if (i.fn === 'sub') return plus(this.of(i.a), this.of(i.b), -1);
    if (i.fn === 'mul') return this.product(i.a, i.b);
    const count = i.fn === 'shl' ? this.factor(i.b) : undefined;
    return count === undefined || count < 0 || count > 31 ? undefined : scaled(this.of(i.a), 2 ** count);
  }

  private product(a: Register, b: Register): Step | undefined {
    const [left, right] = [this.of(a), this.of(b)];
    if (isNone(left) && isNone(right)) return NONE;
    const factor = isNone(left) ? this.factor(a) : isNone(right) ? this.factor(b) : undefined;
    return factor === undefined ? undefined : scaled(isNone(left) ? right : left, factor);
  }

  /** A number that is the same in all blocks and threads. */
  private factor(register: Register): number | undefined {
    const value = this.values.at(register, [], []);
    return value !== undefined && Number.isSafeInteger(value) ? value : undefined;
  }
}

/** Sums of narrower ones are made in 32 bits. */
const isWhole = (type: ScalarType): boolean => !isFloat(type) && bytesOf[type] >= 4;
const isNone = ([x, y, z]: Step): boolean => x === 0 && y === 0 && z === 0;
const scaled = ([x, y, z]: Step, by: number): Step => (by === 0 ? NONE : [x * by, y * by, z * by]);

function plus(a: Step | undefined, b: Step, sign: number): Step | undefined {
  return a && [a[0] + sign * b[0], a[1] + sign * b[1], a[2] + sign * b[2]];
}
