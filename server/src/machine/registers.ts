/**
 * An estimate of the registers a thread needs, for when no compiler is at hand; always shown as a range. How it was
 * found and how far it is off: docs/registers.md, measured by scripts/register-accuracy.ts.
 */
import type { Limits } from '../hardware/capabilities';
import type { Program } from '../program/program';
import { type Pressure, registerPressure } from './register-pressure';

/** What every kernel has besides its values: the stack pointer, scratch of the scheduler, gaps before aligned pairs. */
const OVERHEAD = 7;
/** Shares by which the compiler's count differs: four of five kernels lie within on 8.0 to 12.0, 73 % on 7.5. */
const BELOW = 0.75;
const ABOVE = 1.35;
/** Registers are handed out to pairs where 64-bit values are about, which is nearly everywhere. */
const PAIR = 2;

export interface RegisterEstimate {
  readonly registers: number;
  readonly range: readonly [number, number];
}

/** Positions move with every edit, the blocks stay: what was found of them is kept. */
const known = new WeakMap<Program['blocks'], Pressure>();

/** @param full registers that loads under way fill at most */
function pressureOf(program: Program, full: number): Pressure {
  let pressure = known.get(program.blocks);
  const isEnough = (least: number): boolean => least + OVERHEAD >= full;
  if (pressure === undefined || (pressure.eager === undefined && !isEnough(pressure.least)))
    known.set(program.blocks, (pressure = registerPressure(program, isEnough)));
  return pressure;
}

/**
 * Registers at which every warp the multiprocessor may hold still fits: 32 on 8.0 and 9.0, 40 on 8.6 and 12.0, 64 on 7.5.
 * The compiler overlaps loads up to here, and goes beyond only when it has to.
 */
export function registersAtFullOccupancy(limits: Limits): number {
  const threads = limits.warpsPerSm * 32;
  const perWarp = Math.floor((limits.registersPerSm / threads) * 32);
  return Math.floor(perWarp / limits.registerGranularity) * (limits.registerGranularity / 32);
}

/** The likely count, and the range in which most kernels lie. `bound`: the most that launch bounds allow. */
export function estimateRegisters(
  program: Program,
  limits: Limits,
  bound = limits.registersPerThread,
): RegisterEstimate {
  const full = registersAtFullOccupancy(limits);
  const { least, eager = least } = pressureOf(program, full);
  const wanted = Math.min(eager + OVERHEAD, full);
  const found = PAIR * Math.ceil(Math.max(least + OVERHEAD, wanted) / PAIR);
  const clamp = (n: number) => Math.max(8, Math.min(bound, limits.registersPerThread, Math.round(n)));
  return { registers: clamp(found), range: [clamp(found * BELOW), clamp(found * ABOVE)] };
}
