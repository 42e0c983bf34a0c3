/**
 * Where several conditions lead to one block, lanes wait there for each other, though all meet further on only: `if (a || b) x; else y;` makes `x` once,
 * and so does `if (a && b) y; else x;`. Evidence: machine code of 20 kernels (nvcc 13.0, sm_90): ptxas puts a barrier for convergence in front of the
 * shared block (BSSY), which lanes leave that go elsewhere (BREAK), in loops, in front of a return and where the conditions nest.
 * So it is where the conditions are the arms of another (`up && a > b || !up && a < b`: five of nine more kernels, in loops and with shared memory too).
 * Here the conditions become one: each says whether it leads to the shared block, and one branch behind the last asks that.
 */
import { type ControlFlow, controlFlow, dominates } from '../program/control-flow';
import type { Block, Instruction, Program, Register, RegisterInfo } from '../program/program';
import { reconvergence } from '../program/reconvergence';

interface Work {
  readonly program: Program;
  readonly registers: RegisterInfo[];
  readonly blocks: Block[];
}

/** `a && b || c && d` nests; deeper ones stay as they are. */
const MOST_ROUNDS = 8;

export function meetAtSharedBlocks(program: Program): Program {
  let result = program;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const next = meetOnce(result);
    if (next === result) return result;
    result = next;
  }
  return result;
}

function meetOnce(program: Program): Program {
  const flow = controlFlow(program);
  const accessing = flow.order.filter((block) => hasAccess(program.blocks[block]));
  const work: Work = { program, registers: [...program.registers], blocks: [...program.blocks] };
  const changed = new Set<number>();
  for (const shared of flow.order) {
    const conditions = conditionsBefore(program, flow, shared, accessing);
    if (!conditions || conditions.some((block) => changed.has(block))) continue;
    for (const block of conditions) changed.add(block);
    if (isChain(flow, conditions)) join(work, shared, conditions);
    else joinArms(work, shared, conditions);
  }
  return changed.size > 0 ? { ...program, registers: work.registers, blocks: work.blocks } : program;
}

/**
 * The blocks whose conditions lead to a block, the first one first, or both arms of another; undefined where lanes wait there anyway, or none may
 * lead there alone.
 */
function conditionsBefore(
  program: Program,
  flow: ControlFlow,
  shared: number,
  accessing: readonly number[],
): readonly number[] | undefined {
  const before = flow.predecessors[shared];
  if (before.length < 2 || flow.loopAtHeader[shared] >= 0) return undefined;
  const isCondition = (block: number) => {
    const { kind } = program.blocks[block].terminator;
    return kind === 'branch' && flow.successors[block].length === 2 && flow.loopOf[block] === flow.loopOf[shared];
  };
  if (!before.every(isCondition)) return undefined;
  const ordered = [...before].sort((a, b) => (dominates(flow.dominator, a, b) ? -1 : 1));
  const first = isChain(flow, ordered) ? ordered[0] : branchOf(program, flow, shared, ordered);
  if (first === undefined || reconvergence(program, flow).point[first] === shared) return undefined;
  return accessing.some((block) => dominates(flow.dominator, shared, block)) ? ordered : undefined;
}

const isChain = (flow: ControlFlow, conditions: readonly number[]): boolean =>
  conditions.every((block, i) => i === 0 || dominates(flow.dominator, conditions[i - 1], block));

/** The block whose branch has two conditions for its arms, both of which lead to the same two blocks. */
function branchOf(program: Program, flow: ControlFlow, shared: number, arms: readonly number[]): number | undefined {
  const [before] = flow.predecessors[arms[0]];
  const isArm = (block: number) => flow.predecessors[block].length === 1 && flow.predecessors[block][0] === before;
  const elsewhere = new Set(arms.flatMap((block) => flow.successors[block]).filter((block) => block !== shared));
  const isOne = arms.length === 2 && arms.every(isArm) && elsewhere.size === 1;
  return isOne && program.blocks[before].terminator.kind === 'branch' ? before : undefined;
}

/** How often anything else is made is not counted. */
const hasAccess = ({ instructions }: Block): boolean =>
  instructions.some(
    (i) => i.op === 'load' || i.op === 'store' || i.op === 'atomic' || i.op === 'matrix' || i.op === 'asyncCopy',
  );

function join(work: Work, shared: number, conditions: readonly number[]): void {
  const { blocks } = work;
  const last = conditions[conditions.length - 1];
  const { terminator: end } = blocks[last];
  if (end.kind !== 'branch') return;
  const leads = register(work, 'variable');
  const [arrival, meeting] = [blocks.length, blocks.length + 1];
  for (const block of conditions.slice(0, -1)) blocks[block] = redirected(blocks[block], shared, arrival);
  blocks[last] = telling(blocks[last], shared, leads, meeting);
  const yes = register(work, 'constant', 1);
  blocks.push({
    instructions: [{ op: 'unary', fn: 'mov', type: 'pred', dst: leads, a: yes }],
    terminator: { kind: 'jump', target: meeting },
  });
  blocks.push({
    instructions: [],
    terminator: { ...end, condition: leads, ifTrue: shared, ifFalse: end.ifTrue === shared ? end.ifFalse : end.ifTrue },
  });
}

/** Each arm tells what its condition says, and one branch behind both asks it. */
function joinArms(work: Work, shared: number, arms: readonly number[]): void {
  const { blocks } = work;
  const { terminator: end } = blocks[arms[0]];
  if (end.kind !== 'branch') return;
  const leads = register(work, 'variable');
  const meeting = blocks.length;
  for (const block of arms) blocks[block] = telling(blocks[block], shared, leads, meeting);
  const elsewhere = end.ifTrue === shared ? end.ifFalse : end.ifTrue;
  blocks.push({ instructions: [], terminator: { ...end, condition: leads, ifTrue: shared, ifFalse: elsewhere } });
}

/** A block that says whether its condition leads to another, in place of going there. */
function telling(block: Block, shared: number, leads: Register, target: number): Block {
  const { instructions, terminator: end } = block;
  if (end.kind !== 'branch') return block;
  const fn = end.ifTrue === shared ? 'mov' : 'lognot';
  const tell: Instruction = { op: 'unary', fn, type: 'pred', dst: leads, a: end.condition };
  return { instructions: [...instructions, tell], terminator: { kind: 'jump', target } };
}

function redirected(block: Block, from: number, to: number): Block {
  const end = block.terminator;
  if (end.kind !== 'branch') return block;
  const target = (at: number) => (at === from ? to : at);
  return { ...block, terminator: { ...end, ifTrue: target(end.ifTrue), ifFalse: target(end.ifFalse) } };
}

function register({ registers }: Work, role: RegisterInfo['role'], value?: number): Register {
  return registers.push({ type: 'pred', role, value }) - 1;
}
