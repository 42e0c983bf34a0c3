/**
 * Two arms that only ask, and lead to the same two places, are one question: behind `(up && x > y) || (!up && x < y)`, once its loads are made in front
 * of the first part (decided-branches.ts, hoist-common.ts), lanes of both arms go on together. NVVM leaves the branches, ptxas selects: of a bitonic
 * sort that is written out an H200 counts as many stores as passes have warps that swap, where both arms by themselves would make a quarter more.
 */
import { controlFlow } from '../program/control-flow';
import { writesOf } from '../program/operands';
import type { Block, Instruction, Program, Register, RegisterInfo, Terminator } from '../program/program';
import { isPure } from './pure';

type Branch = Terminator & { kind: 'branch' };

/** Instructions of an arm. */
const MOST_INSTRUCTIONS = 8;

export function joinQuestions(program: Program): Program {
  const { predecessors, order } = controlFlow(program);
  let blocks: Block[] | undefined;
  const registers: RegisterInfo[] = [...program.registers];
  // what lies further behind first: its question may be an arm of another one
  for (const index of order.toReversed()) {
    const { instructions, terminator } = (blocks ?? program.blocks)[index];
    if (terminator.kind !== 'branch' || terminator.ifTrue === terminator.ifFalse) continue;
    if (program.branches[terminator.branch].kind === 'loop') continue;
    const arms = [terminator.ifTrue, terminator.ifFalse];
    if (!arms.every((arm) => arm !== index && predecessors[arm].length === 1)) continue;
    const [one, other] = arms.map((arm) => (blocks ?? program.blocks)[arm]);
    const asked = isQuestion(program, one) && isQuestion(program, other) ? joined(one, other) : undefined;
    if (!asked) continue;
    const add = (): Register => registers.push({ role: 'temporary', type: 'pred' }) - 1;
    const negated = asked.isOpposite ? add() : asked.second;
    const dst = add();
    const turned: Instruction[] = asked.isOpposite
      ? [{ op: 'unary', fn: 'lognot', type: 'pred', dst: negated, a: asked.second }]
      : [];
    blocks ??= [...program.blocks];
    blocks[index] = {
      instructions: [
        ...instructions,
        ...one.instructions,
        ...other.instructions,
        ...turned,
        { op: 'select', type: 'pred', dst, p: terminator.condition, a: asked.end.condition, b: negated },
      ],
      terminator: { ...asked.end, condition: dst },
    };
    for (const arm of arms) blocks[arm] = { instructions: [], terminator: { kind: 'exit' } };
  }
  return blocks ? { ...program, blocks, registers } : program;
}

/** A block that computes a condition, and nothing that others read as a variable. */
function isQuestion({ registers }: Program, { instructions, terminator }: Block): boolean {
  if (terminator.kind !== 'branch' || instructions.length > MOST_INSTRUCTIONS) return false;
  return instructions.every((i) => isPure(i) && writesOf(i).every((r) => registers[r].role === 'temporary'));
}

/** The end of both; undefined where they lead elsewhere. */
function joined(one: Block, other: Block): { end: Branch; second: Register; isOpposite: boolean } | undefined {
  const [first, second] = [one.terminator, other.terminator];
  if (first.kind !== 'branch' || second.kind !== 'branch' || first.ifTrue === first.ifFalse) return undefined;
  const isSame = first.ifTrue === second.ifTrue && first.ifFalse === second.ifFalse;
  const isOpposite = first.ifTrue === second.ifFalse && first.ifFalse === second.ifTrue;
  return isSame || isOpposite ? { end: first, second: second.condition, isOpposite } : undefined;
}
