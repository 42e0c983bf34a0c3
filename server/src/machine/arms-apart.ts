/**
 * Which stores of more than two arms (`else if`) stay apart. Evidence: PTX of 648 kernels with two to four arms that store to one place, eighteen combinations of what they
 * store and twelve kinds of conditions, in straight code, loops and behind another condition (nvcc 13.0): 633 have as many stores as here.
 */
import { readsOf, writesOf } from '../program/operands';
import type { LoadInstruction, Program, Register, StoreInstruction } from '../program/program';
import type { Arm, Work } from './arm-plans';
import { isPure } from './pure';

/**
 * Of more than two arms: whether the last condition parts two that store different things which are known in front of them. What such arms begin with,
 * their address, is computed in front of that condition, while the others compute their own.
 */
export function endsInPair(
  { flow, registers }: Work,
  arms: readonly Arm[],
  plain: readonly boolean[],
  values: readonly Register[],
): boolean {
  if (arms.length < 3) return false;
  return arms.some(({ block }, k) =>
    arms.some(
      (other, at) =>
        at > k &&
        plain[k] &&
        plain[at] &&
        flow.dominator[other.block] === flow.dominator[block] &&
        values[at] !== values[k] &&
        !(registers[values[k]].role === 'constant' && registers[values[at]].value === registers[values[k]].value),
    ),
  );
}

/**
 * Parts of an index that are widened in front of the arms for `x[i + 5]` alone: NVVM widens the sum there, which is the number and an offset here, and each arm
 * widens the number for itself.
 */
export function partsOfSum({ program, flow, blocks }: Work, join: number, arms: readonly Arm[]): ReadonlySet<Register> {
  const front = flow.dominator[join];
  const before = new Set([front]);
  for (const { block } of arms)
    for (let at = flow.dominator[block]; at >= 0 && at !== front; at = flow.dominator[at]) before.add(at);
  const instructions = [...before].flatMap((block) => blocks[block].instructions);
  const parts = new Set<Register>();
  for (const widened of instructions) {
    if (widened.op !== 'convert' || widened.type !== 'i64') continue;
    const made = new Set([widened.dst]);
    const offsets: boolean[] = [];
    for (const i of instructions) {
      if (isPure(i) && readsOf(i).some((r) => made.has(r))) for (const r of writesOf(i)) made.add(r);
      if ((i.op === 'load' || i.op === 'store') && made.has(i.address)) offsets.push(isOffset(program, i));
    }
    if (offsets.length > 0 && offsets.every(Boolean)) for (const r of made) parts.add(r);
  }
  return parts;
}

/** `x[i + 5]`, not `x[i].y`. */
const isOffset = ({ accesses }: Program, { offset, access }: LoadInstruction | StoreInstruction): boolean =>
  offset !== 0 && accesses[access].isMember !== true;

/** Whether the last condition parts two arms that store the same constant, so that it goes, and two arms are left of three. */
export function endsAlike(
  { flow, registers }: Work,
  arms: readonly Arm[],
  stores: readonly StoreInstruction[],
): boolean {
  return arms.some(({ block }, k) =>
    arms.some(
      (other, at) =>
        at > k &&
        flow.dominator[other.block] === flow.dominator[block] &&
        registers[stores[k].values[0]].role === 'constant' &&
        stores[k].values[0] === stores[at].values[0],
    ),
  );
}

/** Whether the arms read elements with an index that each of them widens, beside what they store with it. */
export function readWithParts(work: Work, arms: readonly Arm[], parts: ReadonlySet<Register>): boolean {
  if (parts.size === 0) return false;
  return arms.some((arm) =>
    work.blocks[arm.block].instructions.some(
      (i) => i.op === 'load' && !isOffset(work.program, i) && isMadeOf(arm, i.address, parts),
    ),
  );
}

export function isMadeOf(arm: Arm, register: Register, parts: ReadonlySet<Register>): boolean {
  if (parts.has(register)) return true;
  const by = arm.definedBy.get(register);
  return by !== undefined && isPure(by) && readsOf(by).some((r) => isMadeOf(arm, r, parts));
}
