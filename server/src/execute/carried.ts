/** Variables that go from one pass of a loop to the next: by how much they move, and how to move them on. */

import { forEachBit } from '../program/backward-flow';
import { hasBit, setBit } from '../program/liveness';
import type { Register, ScalarType } from '../program/program';
import type { Delta } from './affine';
import { numberOf } from './conversion';
import type { Analysis, Decoder } from './decode';
import type { Mask } from './mask';
import {
  changeSome,
  copyValue,
  isFloat,
  isUnknownIn,
  KNOWN,
  LaneValue,
  MIXED,
  setLinear,
  setUniform,
  UNKNOWN,
  vectorOf,
} from './value';

/** A variable as it was at the header of a loop, and by how much it has moved since. */
export interface Carried {
  readonly register: Register;
  readonly type: ScalarType;
  readonly start: LaneValue;
  step: Delta;
}

/** Variables assigned in a loop whose values go from one pass to the next. */
export function carriedThrough({ flow, live }: Analysis, loop: number): readonly Register[] {
  const { blocks, header } = flow.loops[loop];
  // what goes round: assigned somewhere in the loop, and looked at from its header on
  const looked = live.liveIn[header];
  const round = new Int32Array(live.words);
  for (const block of blocks) for (const bit of live.assignedBits[block]) if (hasBit(looked, bit)) setBit(round, bit);
  const registers: Register[] = [];
  forEachBit(round, (bit) => registers.push(live.registers[bit]));
  return registers;
}

export function rememberCarried({ values, analysis }: Decoder, register: Register): Carried {
  const value = values[register];
  const start = new LaneValue(value.wide, value.geometry);
  copyValue(start, value);
  return { register, type: analysis.program.registers[register].type, start, step: 0 };
}

/** By how much a variable grew since it was remembered; undefined when that cannot be told or makes no sense. */
export function difference(carried: Carried, now: LaneValue, mask: Mask): Delta | undefined {
  const { start, type } = carried;
  if (start.unknown === UNKNOWN && now.unknown === UNKNOWN) return 0;
  const mustStay = isFloat(type) || type === 'pred';
  const number = numberOf(type === 'u64' ? 'i64' : type);
  if ((start.unknown | now.unknown) === KNOWN && haveOneForm(start, now)) {
    if (Object.is(start.scalar, now.scalar)) return 0;
    return mustStay ? undefined : number(now.scalar) - number(start.scalar);
  }
  // one that is unknown everywhere is never unknown in no lane
  if ((start.unknown === UNKNOWN) !== (now.unknown === UNKNOWN) && start.unknown !== MIXED && now.unknown !== MIXED)
    return undefined;
  const before = start.uniform || start.unknown === UNKNOWN ? undefined : vectorOf(start);
  const after = now.uniform || now.unknown === UNKNOWN ? undefined : vectorOf(now);
  // made with the first lane that moves
  let steps: Float64Array | undefined;
  for (let lane = mask.lo; lane < mask.hi; lane++) {
    if (mask.lanes[lane] === 0) continue;
    const wasUnknown = isUnknownIn(start, lane);
    if (wasUnknown !== isUnknownIn(now, lane)) return undefined;
    if (wasUnknown) continue;
    const [from, to] = [
      before === undefined ? start.scalar : before[lane],
      after === undefined ? now.scalar : after[lane],
    ];
    if (Object.is(from, to)) continue;
    if (mustStay) return undefined;
    steps ??= new Float64Array(now.geometry.lanes);
    steps[lane] = number(to) - number(from);
  }
  return steps === undefined || steps.every((step) => step === 0) ? 0 : steps;
}

/** Both are uniform, or linear with the same slopes: they differ by one number in all lanes. */
function haveOneForm(a: LaneValue, b: LaneValue): boolean {
  if (a.uniform && b.uniform) return true;
  return a.linear && b.linear && a.kx === b.kx && a.ky === b.ky && a.kz === b.kz;
}

export function sameStep(a: Delta, b: Delta, mask: Mask): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a === b;
  for (let lane = mask.lo; lane < mask.hi; lane++) {
    if (mask.lanes[lane] === 0) continue;
    if ((typeof a === 'number' ? a : a[lane]) !== (typeof b === 'number' ? b : b[lane])) return false;
  }
  return true;
}

/**
 * Moves variables on by several steps in the lanes of a mask.
 * @param kept as in an Entry of the stack; isFull: no other lane is alive
 */
export function moveOn(
  { values, analysis }: Decoder,
  carried: readonly Carried[],
  times: number,
  mask: Mask,
  kept: Int32Array,
  isFull: boolean,
): void {
  for (const { register, step } of carried) {
    const value = values[register];
    if (step === 0 || value.unknown === UNKNOWN) continue;
    const bit = analysis.live.bitOf[register];
    const isWhole = value.unknown === KNOWN && (isFull || !hasBit(kept, bit));
    if (isWhole && typeof step === 'number' && (value.uniform || value.linear)) {
      const moved = value.scalar + times * step;
      const held = value.wide ? moved : moved | 0;
      if (value.uniform) setUniform(value, held);
      else setLinear(value, held, value.kx, value.ky, value.kz);
      continue;
    }
    const vector = changeSome(value);
    for (let lane = mask.lo; lane < mask.hi; lane++) {
      if (mask.lanes[lane] !== 0) vector[lane] += times * (typeof step === 'number' ? step : step[lane]);
    }
  }
}
