/**
 * The load of both arms of an `if` (hoist-common.ts) loses its line (that of `c ? x[i] : x[i] + 1` is one line's, and so is that of
 * `if (up && x[i] > x[j] || !up && x[i] < x[j])` in one line: lines of five kernels, global and shared memory, in a loop too; H200), and is shown at what stands
 * before it in the machine code: in a loop at what the condition has loaded (common-load-in-loop.ts) or at the head, else at what its index is computed by in the same block, or at the condition where an arm
 * reads more; at the condition in the kernel's first block or where the first arm stores nothing, else at the first arm, of which the place that it
 * stores to is computed before, but at the second where that computes an address of its own first. Where the condition says what the index is in
 * one arm (`i == 0`), that arm is the last in the machine code: the load stands at the condition, and behind an early return at the other arm,
 * where the other reads more, else at what stands before (PTX and lines of 60 kernels, machine code of 168; H200: branches.cu:11). From shared
 * memory it is the first thing after a barrier or a branch, and has no line of its own: a profiler shows it at the line of what stands before (six
 * small kernels; H200: scan_blocks.cu:20, stencil_halo_heat.cu:76), unless a load from global memory stands between.
 */
import type { ControlFlow, Loop } from '../program/control-flow';
import { readsOf, writesOf } from '../program/operands';
import type {
  AccessSite,
  Block,
  Instruction,
  LoadInstruction,
  Program,
  Register,
  SourcePlace,
} from '../program/program';
import { placeInPass } from './common-load-in-loop';
import type { FixedVariables } from './fixed-variables';
import { headOf } from './loop-head';
import { statementOf } from './place-behind';
import { isPure } from './pure';

/** Loads that are left in the arms, the first of each. */
export interface Rest {
  readonly first: readonly LoadInstruction[];
  readonly second: readonly LoadInstruction[];
}

/** Where loads from shared memory are shown: at what computes their index in the block, behind its last barrier, else at what stands before them. */
export function placeOfShared(
  program: Program,
  flow: ControlFlow,
  block: number,
  arm: number,
  rest: Rest,
): SourcePlace | undefined {
  const barrier = program.blocks[block].instructions.findLastIndex((i) => i.op === 'barrier');
  return indexBefore(program, block, arm, rest.first, barrier + 1) ?? placeBefore(program, flow, block);
}

/** What the machine code has before the loads that come to the end of a block, if these are the first in it: a barrier, or the branch to the block. */
export function placeBefore(program: Program, flow: ControlFlow, block: number): SourcePlace | undefined {
  for (const i of program.blocks[block].instructions.toReversed()) {
    if (i.op === 'barrier') return i.place;
    if (i.op === 'load' && program.accesses[i.access].space !== 'shared') return undefined;
  }
  const [before, ...others] = flow.predecessors[block];
  const end = before === undefined || others.length > 0 ? undefined : program.blocks[before].terminator;
  if (end?.kind !== 'branch') return undefined;
  const site = program.branches[end.branch];
  const own = program.blocks[block].terminator;
  // a loop's body begins with it: the head's own code is at the end of the pass before
  return site.kind === 'loop' && own.kind === 'branch' ? program.branches[own.branch].place : site.place;
}

/** Whether two accesses are of one line of one statement, which the load for both keeps. */
export function isOfOneLine({ place: one }: AccessSite, { place: other }: AccessSite): boolean {
  const isOfOneCall = one.call?.first === other.call?.first;
  return one.statement !== undefined && one.statement === other.statement && one.row === other.row && isOfOneCall;
}

/** A branch both arms of which begin with a load from global memory. */
export interface Common {
  readonly program: Program;
  readonly flow: ControlFlow;
  readonly given: FixedVariables;
  readonly block: number;
  readonly arms: readonly number[];
  readonly rest: Rest;
}

/** Where a load from global memory is shown that both arms had; undefined where it is the place of the second. */
export function placeOfGlobal(common: Common, ofFirst: AccessSite, ofSecond: AccessSite): SourcePlace | undefined {
  const { program, flow, block, arms, rest } = common;
  const { terminator } = program.blocks[block];
  if (terminator.kind !== 'branch' || program.branches[terminator.branch].kind !== 'if') return undefined;
  const loop = flow.loops[flow.loopOf[block]];
  const index = indexBefore(program, block, arms[0], rest.first);
  if (loop) return placeInPass(program, block, arms, rest) ?? placeInside(common, loop, index) ?? headOf(program, loop);
  const [first, second] = arms;
  const condition = program.branches[terminator.branch].place;
  const isFirstBlock = flow.predecessors[block].length === 0;
  const value = [common.given.givenIn(first, second), common.given.givenIn(second, first)];
  if (value.includes('constant')) {
    // the arm in which the index is a constant is the last in the machine code: what the other reads decides
    const other = value[0] === 'constant' ? 1 : 0;
    const left = [rest.first, rest.second][other];
    const before = index ?? (isFirstBlock ? threadBefore(program, block) : placeBefore(program, flow, block));
    if (left.length === 0) return before ?? condition;
    const isBehind = !(index || isFirstBlock) || readsAnother(program, left[0], [ofFirst, ofSecond][other]);
    return isBehind ? (other === 1 ? undefined : ofFirst.place) : condition;
  }
  const readsMore = rest.first.length + rest.second.length > 0;
  if (isFirstBlock && isSelection(common, ofFirst)) {
    const before = index && isComputed(program, block) ? condition : index;
    return rest.first.length === 0 ? before : undefined;
  }
  // the inner branch that had both loads first has lost their line already, and what the condition is computed of comes behind
  if (index && arms.every((arm) => program.blocks[arm].terminator.kind === 'branch')) return index;
  if (index) return readsMore || value.includes('parameter') || isComputed(program, block) ? condition : index;
  const stores = program.blocks[first].instructions.some((i) => i.op === 'store');
  if (isFirstBlock || !stores) return condition;
  if (rest.second.length > 0 && readsAnother(program, rest.second[0], ofSecond)) return undefined;
  if (value.includes('parameter') || (isComputed(program, block) && rest.second.length > 0)) return condition;
  if (computesAddress(program.blocks[second]) && !computesAddress(program.blocks[first])) return undefined;
  return storesAlike(common) ? ofFirst.place : (placeBefore(program, flow, block) ?? ofFirst.place);
}

/** Whether both arms store to one place, which is computed in front of them then. */
function storesAlike({ program: { blocks }, given, arms }: Common): boolean {
  const [one, other] = arms.map((arm) => blocks[arm].instructions.find((i) => i.op === 'store'));
  if (one?.op !== 'store' || other?.op !== 'store') return true;
  return one.offset === other.offset && given.isSame(one.address, other.address);
}

/** Whether a load reads another array than one before it. */
const readsAnother = ({ accesses }: Program, load: LoadInstruction, { object }: AccessSite): boolean =>
  accesses[load.access].object !== object;

/** Whether something is computed for the condition itself: `i == n - 1`. */
function isComputed({ blocks, registers }: Program, block: number): boolean {
  const { instructions, terminator } = blocks[block];
  const made = (r: Register) => instructions.find((i) => writesOf(i).includes(r));
  const test = terminator.kind === 'branch' ? made(terminator.condition) : undefined;
  if (test?.op !== 'compare') return false;
  const by = made(test.b);
  return registers[test.b].role === 'temporary' && by?.op === 'binary';
}

/** Whether the arms differ in what they compute from as many loads and one store: that becomes a selection without a branch. */
function isSelection({ program, flow: { successors }, arms, rest }: Common, ofFirst: AccessSite): boolean {
  const { blocks } = program;
  const [first, second] = arms;
  const accesses = arms.map((arm) => blocks[arm].instructions.filter((i) => !isPure(i)));
  const isAlike = accesses.every((each) => each.slice(0, -1).every((i) => i.op === 'load'));
  const [one, other] = accesses.map((each) => each.at(-1));
  if (!isAlike || one?.op !== 'store' || other?.op !== 'store') return false;
  const { length } = rest.first;
  // the loads that are left become one where the stores do
  const [a, b] = arms.map((arm) => operationsOf(blocks[arm]));
  const isOfAnother = length === 1 && readsAnother(program, rest.first[0], ofFirst);
  const isOne = length === 0 || (length === 1 && one.offset === other.offset && (a === b || isOfAnother));
  return isOne && length === rest.second.length && successors[first][0] === successors[second][0];
}

/** What a block computes of numbers that are no integers, in order. */
const operationsOf = ({ instructions }: Block): string =>
  instructions
    .map((i) => (i.op === 'fma' || (i.op === 'binary' && /f/.test(i.type)) ? ('fn' in i ? i.fn : i.op) : ''))
    .join('');

/** The statement in a block that reads the thread's index. */
function threadBefore({ blocks, registers, inputs }: Program, block: number): SourcePlace | undefined {
  const isThread = (r: Register) => inputs.some((input) => input.register === r && input.source.kind === 'threadIdx');
  const read = blocks[block].instructions.find((i) => i.op === 'convert' && isThread(i.a));
  return read?.op === 'convert' ? statementOf(registers[read.dst]) : undefined;
}

/** Behind another branch of the same pass: what computes an index there, else that branch. */
function placeInside({ program, flow, block }: Common, loop: Loop, index: SourcePlace | undefined) {
  const [before, ...others] = flow.predecessors[block];
  if (before === undefined || others.length > 0 || loop.contains[before] === 0) return undefined;
  const { terminator } = program.blocks[before];
  if (terminator.kind !== 'branch' || program.branches[terminator.branch].kind === 'loop') return undefined;
  return index ?? program.branches[terminator.branch].place;
}

/** The last statement in a block, from an instruction on, that computes what a load of an arm has its address from; loads that are left in the arm do not count. */
function indexBefore(
  { blocks, registers }: Program,
  block: number,
  arm: number,
  rest: readonly LoadInstruction[],
  from = 0,
): SourcePlace | undefined {
  const made = new Map<Register, Instruction>();
  for (const i of [...blocks[block].instructions, ...blocks[arm].instructions])
    if (isPure(i)) for (const r of writesOf(i)) made.set(r, i);
  const order = new Map(blocks[block].instructions.map((i, at) => [i, at]));
  const left = new Set<Instruction>(rest);
  let last: { readonly at: number; readonly place: SourcePlace } | undefined;
  for (const load of blocks[arm].instructions) {
    if (load.op !== 'load' || left.has(load)) continue;
    const open = [...readsOf(load)];
    for (let r = open.pop(), steps = 0; r !== undefined && steps < 32; r = open.pop(), steps++) {
      const by = made.get(r);
      const at = by?.op === 'binary' ? order.get(by) : undefined;
      const place = at === undefined || at < from ? undefined : statementOf(registers[r]);
      if (at !== undefined && place) {
        if (!last || at > last.at) last = { at, place };
        break;
      }
      if (by) open.push(...readsOf(by));
    }
  }
  return last?.place;
}

/** Whether an arm computes an address by more than sums and widening before it loads. */
function computesAddress({ instructions }: Block): boolean {
  const loads = instructions.filter((i) => i.op === 'load');
  const last = loads.at(-1);
  const before = last ? instructions.slice(0, instructions.indexOf(last)) : [];
  return before.some((i) => i.op === 'binary' && /^[iu]/.test(i.type) && i.fn !== 'add' && i.fn !== 'mul');
}
