/** An address that both arms of a branch compute, one of them for what it stores and reads, is computed in front of them. */
import { readsOf } from '../program/operands';
import type { Instruction, Register, StoreInstruction } from '../program/program';
import { type Arm, isSameOperation, type Work } from './arm-plans';
import { armsOf, isPlainStore, lastStore } from './arm-stores';
import { isPure } from './pure';

/**
 * `if (c) y[i] = v; else y[i] += v;`: both arms begin with the address, so that NVVM computes it once in front of them, and InstCombine makes one store.
 */
export function shareAddress(work: Work, join: number): void {
  const blocks = work.joins.get(join) ?? [];
  const [one, other] = blocks.map((block) => lastStore(work, block));
  if (blocks.length !== 2 || !one || !other || one.offset !== other.offset) return;
  const arms = armsOf(work, join);
  const plain = [one, other].map((store, k) => isPlainStore(work, arms[k], store));
  const at = plain.indexOf(false);
  const changing = [one, other][at];
  if (!plain.includes(true) || !changing || !isChanged(work, arms[at], changing)) return;
  const beside = arms[1 - at];
  const address = [one, other][1 - at].address;
  if (!isAlike(work, arms[at], changing.address, beside, address)) return;
  const chain = definitionsOf(arms[at], changing.address);
  const front = work.blocks[work.flow.dominator[join]];
  const own = work.blocks[arms[at].block];
  const others = work.blocks[beside.block];
  front.instructions.push(...own.instructions.filter((i) => chain.has(i)));
  own.instructions = own.instructions.filter((i) => !chain.has(i));
  others.instructions = others.instructions.map((i) =>
    i.op === 'store' && i.address === address ? { ...i, address: changing.address } : i,
  );
}

/** `y[i] += v`: the address stands in front of all that the arm does. */
const isChanged = ({ blocks }: Work, { block }: Arm, { address, offset }: StoreInstruction): boolean =>
  blocks[block].instructions.some((i) => i.op === 'load' && i.address === address && i.offset === offset);

/** Whether two arms compute the same, from what is known in front of them. */
export function isAlike(work: Work, arm: Arm, a: Register, beside: Arm, b: Register): boolean {
  const [one, other] = [arm.definedBy.get(a), beside.definedBy.get(b)];
  if (!one || !other) return a === b && !one && !other && work.registers[a].role !== 'variable';
  if (!isPure(one) || !isSameOperation(work, one, other)) return false;
  const [reads, otherReads] = [readsOf(one), readsOf(other)];
  return reads.every((r, k) => isAlike(work, arm, r, beside, otherReads[k]));
}

/** What an arm computes a register of. */
export function definitionsOf(arm: Arm, register: Register, into = new Set<Instruction>()): Set<Instruction> {
  const by = arm.definedBy.get(register);
  if (by === undefined || into.has(by)) return into;
  into.add(by);
  for (const r of readsOf(by)) definitionsOf(arm, r, into);
  return into;
}
