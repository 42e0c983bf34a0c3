/**
 * An estimate of the registers a thread needs, for when no compiler is at hand: the most values that live at once, with
 * 64-bit ones counted twice. It is an estimate and always shown as a range.
 */
import { controlFlow } from '../program/control-flow';
import { readsOf, writesOf } from '../program/operands';
import { bytesOf, type Program, type Register } from '../program/program';

/** Registers that every kernel has besides its values: addresses of parameters, scratch, the stack pointer. */
const OVERHEAD = 8;
/** Shares by which the compiler's count typically differs. */
const BELOW = 0.75;
const ABOVE = 1.35;

export interface RegisterEstimate {
  readonly registers: number;
  readonly range: readonly [number, number];
}

export function estimateRegisters(program: Program, most: number): RegisterEstimate {
  const live = mostLive(program);
  const clamp = (n: number) => Math.max(8, Math.min(most, Math.round(n)));
  const registers = clamp(live + OVERHEAD);
  return { registers, range: [clamp(registers * BELOW), clamp(registers * ABOVE)] };
}

/** Weight of a register: predicates, constants and parameters (in the constant bank) take none. */
function weights(program: Program): Uint8Array {
  return Uint8Array.from(program.registers, (r) =>
    r.type === 'pred' || r.role === 'constant' || r.role === 'input' ? 0 : bytesOf[r.type] === 8 ? 2 : 1,
  );
}

function mostLive(program: Program): number {
  const flow = controlFlow(program);
  const weight = weights(program);
  const liveIn = program.blocks.map(() => new Set<Register>());
  for (let changed = true, rounds = 0; changed && rounds < 12; rounds++) {
    changed = false;
    for (let i = flow.order.length - 1; i >= 0; i--) {
      const block = flow.order[i];
      const before = liveIn[block].size;
      walk(program, flow.successors[block], block, liveIn, weight, liveIn[block]);
      if (liveIn[block].size !== before) changed = true;
    }
  }
  return Math.max(
    0,
    ...flow.order.map((block) => walk(program, flow.successors[block], block, liveIn, weight, undefined)),
  );
}

/** Goes backwards through a block; gives the largest sum of weights, and puts what lives at its start into `into`. */
function walk(
  program: Program,
  successors: readonly number[],
  block: number,
  liveIn: readonly Set<Register>[],
  weight: Uint8Array,
  into: Set<Register> | undefined,
): number {
  const live = new Set<Register>();
  for (const next of successors) for (const r of liveIn[next]) live.add(r);
  let sum = 0;
  for (const r of live) sum += weight[r];
  let most = sum;
  const { instructions } = program.blocks[block];
  for (let k = instructions.length - 1; k >= 0; k--) {
    for (const r of writesOf(instructions[k])) if (live.delete(r)) sum -= weight[r];
    for (const r of readsOf(instructions[k])) {
      if (weight[r] > 0 && !live.has(r)) {
        live.add(r);
        sum += weight[r];
      }
    }
    if (sum > most) most = sum;
  }
  if (into) for (const r of live) into.add(r);
  return most;
}
