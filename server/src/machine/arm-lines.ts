/** Which arm of a branch gives its line to what is made of both. */
import type { Instruction, LoadInstruction, StoreInstruction } from '../program/program';
import type { Arm, Work } from './arm-plans';

/** The arm whose access is the one that stays: of two the last in the text, of more mostly the second. */
export function lineArm(
  work: Work,
  arms: readonly Arm[],
  all: readonly (LoadInstruction | StoreInstruction)[],
  join?: number,
): number {
  const placeOf = (k: number) => work.program.accesses[all[k].access].place.first;
  const order = all.map((_, k) => k).sort((a, b) => placeOf(a) - placeOf(b));
  if (all[0].op === 'store' && join !== undefined && work.endsLoop(join, placeOf(order[0]))) return order[0];
  if (order.length === 2) return order[1];
  const isAbove = (k: number, tests: readonly string[]) => tests.includes(constantTest(work, arms[k].block) ?? '');
  const isTurned = isAbove(order[0], ['gt', 'ge']) && isAbove(order[1], ['gt', 'ge', 'eq']);
  return isTurned ? order[order.length - 1] : order[1];
}

/** How the condition of an arm compares an integer with a constant; undefined for another condition. */
function constantTest({ flow, blocks, registers }: Work, block: number): string | undefined {
  const from = blocks[flow.predecessors[block][0]];
  const { terminator } = from ?? blocks[block];
  if (terminator.kind !== 'branch' || terminator.ifTrue !== block) return undefined;
  const test = from.instructions.find((i) => i.op === 'compare' && i.dst === terminator.condition);
  const isInteger = test?.op === 'compare' && /^[iu]/.test(test.type) && registers[test.b].role === 'constant';
  return isInteger ? test.fn : undefined;
}

/** Of two arms the one that is taken where the condition holds, in NVVM's words. */
export function takenArm(work: Work, join: number, arms: readonly Arm[]): number {
  const { terminator, instructions } = work.blocks[work.flow.dominator[join]];
  if (terminator.kind !== 'branch') return arms.length - 1;
  const test = instructions.find((i) => i.op === 'compare' && i.dst === terminator.condition);
  const [taken, other] = [terminator.ifTrue, terminator.ifFalse].map((side) =>
    arms.findIndex((arm) => arm.block === side),
  );
  // of several conditions the arm where they hold
  if (taken < 0 || other < 0) return other < 0 ? Math.max(0, taken) : arms.length - 1 - other;
  return isTurned(work, test) ? other : taken;
}

/** `!=`, `<=` and `>=` become the opposite, but `>= 5` is `> 4`; of numbers with a fraction `!=` stays. */
function isTurned({ registers }: Work, test: Instruction | undefined): boolean {
  if (test?.op !== 'compare') return false;
  const isInteger = /^[iu]/.test(test.type);
  if (test.fn === 'ne') return isInteger;
  return (test.fn === 'le' || test.fn === 'ge') && !(isInteger && registers[test.b].role === 'constant');
}
