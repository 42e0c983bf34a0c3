/**
 * Where several conditions lead to one block, lanes wait there for each other, though all meet further on only: `if (a || b) x; else y;` makes `x` once,
 * and so does `if (a && b) y; else x;`. Evidence: machine code of 20 kernels (nvcc 13.0, sm_90): ptxas puts a barrier for convergence in front of the
 * shared block (BSSY), which lanes leave that go elsewhere (BREAK), in loops, in front of a return and where the conditions nest.
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
    join(work, shared, conditions);
  }
  return changed.size > 0 ? { ...program, registers: work.registers, blocks: work.blocks } : program;
}

/** The blocks whose conditions lead to a block, the first one first; undefined where lanes wait there anyway, or none may lead there alone. */
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
  if (ordered.some((block, i) => i > 0 && !dominates(flow.dominator, ordered[i - 1], block))) return undefined;
  if (reconvergence(program, flow).point[ordered[0]] === shared) return undefined;
  return accessing.some((block) => dominates(flow.dominator, shared, block)) ? ordered : undefined;
}

/** How often anything else is made is not counted. */
const hasAccess = ({ instructions }: Block): boolean =>
  instructions.some(
    (i) => i.op === 'load' || i.op === 'store' || i.op === 'atomic' || i.op === 'matrix' || i.op === 'asyncCopy',
  );

function join(work: Work, shared: number, conditions: readonly number[]): void {
  const { blocks } = work;
  const last = conditions[conditions.length - 1];
  const { instructions, terminator: end } = blocks[last];
  if (end.kind !== 'branch') return;
  const leads = register(work, 'variable');
  const [arrival, meeting] = [blocks.length, blocks.length + 1];
  for (const block of conditions.slice(0, -1)) blocks[block] = redirected(blocks[block], shared, arrival);
  const isOnTrue = end.ifTrue === shared;
  const tell: Instruction = isOnTrue
    ? { op: 'unary', fn: 'mov', type: 'pred', dst: leads, a: end.condition }
    : { op: 'unary', fn: 'lognot', type: 'pred', dst: leads, a: end.condition };
  blocks[last] = { instructions: [...instructions, tell], terminator: { kind: 'jump', target: meeting } };
  const yes = register(work, 'constant', 1);
  blocks.push({
    instructions: [{ op: 'unary', fn: 'mov', type: 'pred', dst: leads, a: yes }],
    terminator: { kind: 'jump', target: meeting },
  });
  blocks.push({
    instructions: [],
    terminator: { ...end, condition: leads, ifTrue: shared, ifFalse: isOnTrue ? end.ifFalse : end.ifTrue },
  });
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
