/**
 * Where a store of both arms is shown that bears no line of its own (sink-common.ts), in a loop that is not written out: the line table goes on with what the
 * assembler writes before it. Evidence: line tables of the machine code of 74 kernels that fill tiles in a loop, nvcc 13.0, sm_90:
 *
 * - mostly that is the step of the loop around, at its head, which is computed while the store waits for what is loaded;
 * - it stands right behind the last store to shared memory that is left in an arm, if that waits for loads as well, or neither does, the arms are short
 *   enough to be predicated, and another loop follows behind the barrier (the step of the one around is computed before the stores then): 32 of 35 such
 *   kernels, the others having two stores of their arm change places.
 *
 * Not told: where such a loop follows and no store is left, or one that does not wait, it is mostly what comes behind the barrier instead of the head (11 of 15);
 * where no loop follows, 9 of 24 stand behind the arm's last store as well, and 12 at the head.
 */
import type { Loop } from '../program/control-flow';
import { readsOf, writesOf } from '../program/operands';
import type { Instruction, Register, SourcePlace, StoreInstruction } from '../program/program';
import type { Work } from './arm-plans';
import { headOf } from './loop-head';
import { hasSlowPath, isPure } from './pure';

/** Of both arms: with seven loads and six stores they are predicated, with eight and seven no longer. */
const MOST_LOADS = 7;
/** Operations on numbers with a fraction: up to three were looked at. */
const MOST_OPERATIONS = 3;

/** Stores behind the arms that are shown at the loop's head move to where an arm's last store stands. */
export function placeBehindStores(work: Work, join: number): void {
  const loop = work.addresses.innermost(join);
  const head = loop && headOf(work.program, loop);
  const arms = work.joins.get(join) ?? [];
  if (!loop || !head || !isBeforeLoop(work, join, loop) || !arePredicated(work, arms)) return;
  const { instructions } = work.blocks[join];
  for (const [k, i] of instructions.entries()) {
    if (i.op !== 'store' && !isPure(i)) return;
    const site = i.op === 'store' ? work.program.accesses[i.access] : undefined;
    if (i.op !== 'store' || site?.space !== 'shared' || site.charged?.first !== head.first) continue;
    const charged = lastStorePlace(work, arms, waits(work, join, arms, i));
    if (!charged) continue;
    instructions[k] = { ...i, access: work.program.accesses.push({ ...site, charged }) - 1 };
  }
}

/** Whether the next loop begins behind a block, without a branch between, within the loop around. */
function isBeforeLoop({ blocks, flow }: Work, from: number, around: Loop): boolean {
  for (let block = from, passed = 0; passed < blocks.length; passed++) {
    const { terminator } = blocks[block];
    if (terminator.kind !== 'jump') return false;
    block = terminator.target;
    if (flow.loopAtHeader[block] >= 0) return flow.loops[flow.loopAtHeader[block]].parent === around.index;
  }
  return false;
}

function arePredicated({ blocks }: Work, arms: readonly number[]): boolean {
  const all = arms.flatMap((arm) => blocks[arm].instructions);
  const loads = all.filter((i) => i.op === 'load').length;
  const operations = all.filter(
    (i) => (i.op === 'binary' || i.op === 'fma' || i.op === 'unary') && isCounted(i),
  ).length;
  const isPlain = all.every((i) => (isPure(i) && !hasSlowPath(i)) || i.op === 'load' || i.op === 'store');
  return isPlain && loads <= MOST_LOADS && operations <= MOST_OPERATIONS;
}

const isCounted = (i: Instruction & { readonly op: 'binary' | 'fma' | 'unary' }): boolean =>
  /^(f|bf)/.test(i.type) && !(i.op === 'unary' && i.fn === 'mov');

/** Whether a store behind the arms waits for what one of them loads. */
function waits(
  { blocks }: Work,
  join: number,
  arms: readonly number[],
  { values: [value] }: StoreInstruction,
): boolean {
  const [variable] = blocks[join].instructions.flatMap((i) => (writesOf(i).includes(value) ? readsOf(i) : []));
  return arms.some((arm) => restsOnLoad(blocks[arm].instructions, variable ?? value));
}

function restsOnLoad(instructions: readonly Instruction[], register: Register): boolean {
  const by = instructions.findLast((i) => writesOf(i).includes(register));
  return by !== undefined && (by.op === 'load' || readsOf(by).some((r) => restsOnLoad(instructions, r)));
}

/** The place of the last store of an arm, if it is to shared memory and waits for loads as asked, or a store before it does. */
function lastStorePlace(
  { blocks, program }: Work,
  arms: readonly number[],
  isWaiting: boolean,
): SourcePlace | undefined {
  for (const arm of arms) {
    const { instructions } = blocks[arm];
    const stores = instructions.filter((i) => i.op === 'store');
    const last = stores.at(-1);
    if (last?.op !== 'store' || program.accesses[last.access].space !== 'shared') continue;
    if (!isWaiting || stores.some((store) => store.values.some((value) => restsOnLoad(instructions, value))))
      return program.accesses[last.access].place;
  }
  return undefined;
}
