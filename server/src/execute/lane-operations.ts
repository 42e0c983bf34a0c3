/** Operations across the lanes of a warp: shuffles, votes, reductions; and votes of a block. */

import type { LaneInstruction } from '../program/program';
import { type Frame, WARP } from './mask';
import type { Binary } from './operation';
import { type Step, settle } from './steps';
import {
  isUnknownIn,
  KNOWN,
  type LaneValue,
  laneOf,
  markLanes,
  overwrite,
  setUniform,
  setUnknown,
  UNKNOWN,
} from './value';

export interface LaneOperands {
  readonly out: LaneValue;
  readonly a?: LaneValue;
  readonly b?: LaneValue;
  readonly width?: LaneValue;
}

/** Source lane (0 … 31) of a shuffle, by the rules of PTX `shfl`; out of range is the lane itself. */
const sources: Partial<Record<LaneInstruction['fn'], (lane: number, b: number, width: number) => number>> = {
  shuffle: (lane, b, width) => (lane & ~(width - 1)) | (b & (width - 1)),
  shuffleUp: (lane, b, width) => (lane - b >= (lane & ~(width - 1)) ? lane - b : lane),
  shuffleDown: (lane, b, width) => (lane + b <= (lane | (width - 1)) ? lane + b : lane),
  shuffleXor: (lane, b, width) => ((lane ^ b) <= (lane | (width - 1)) ? lane ^ b : lane),
};

/** @param inactiveSource number of the reason when a shuffle reads a lane that is not active */
export function laneStep(
  fn: LaneInstruction['fn'],
  operands: LaneOperands,
  reduction: Binary | undefined,
  inactiveSource: number,
): Step {
  const source = sources[fn];
  if (source && operands.a && operands.b) {
    return shuffleStep(operands.out, operands.a, operands.b, operands.width, source, inactiveSource);
  }
  if (reduction && operands.a) return reduceStep(operands.out, operands.a, reduction);
  if (fn.startsWith('block') && operands.a) return blockVoteStep(fn, operands.out, operands.a);
  return voteStep(fn, operands.out, operands.a);
}

function shuffleStep(
  out: LaneValue,
  a: LaneValue,
  b: LaneValue,
  width: LaneValue | undefined,
  source: (lane: number, b: number, width: number) => number,
  inactiveSource: number,
): Step {
  return (frame) => {
    const controlUnknown = b.unknown === UNKNOWN || width?.unknown === UNKNOWN;
    if (a.unknown === UNKNOWN || controlUnknown) {
      setUnknown(out, (a.unknown === UNKNOWN ? a : b.unknown === UNKNOWN ? b : (width ?? b)).reason);
      return;
    }
    const { mask } = frame;
    if (a.uniform && a.unknown === KNOWN && mask.count === mask.warps * WARP) {
      setUniform(out, a.scalar);
      return;
    }
    const to = overwrite(out);
    for (let first = frame.lo; first < frame.hi; first += WARP) {
      if (mask.perWarp[first / WARP] === 0) continue;
      for (let lane = 0; lane < WARP; lane++) {
        const at = first + lane;
        if (mask.lanes[at] === 0) continue;
        if (isUnknownIn(b, at)) {
          markLanes(out, b.reason)[at] = 1;
          continue;
        }
        const from = first + (source(lane, laneOf(b, at), width ? laneOf(width, at) : WARP) & (WARP - 1));
        if (mask.lanes[from] === 0) markLanes(out, inactiveSource)[at] = 1;
        else if (isUnknownIn(a, from)) markLanes(out, a.reason)[at] = 1;
        else to[at] = laneOf(a, from);
      }
    }
    settle(out, frame);
  };
}

/** Writes one result into all lanes of a warp, or marks them unknown. */
function spread(out: LaneValue, first: number, result: number | undefined, reason: number): void {
  if (result === undefined) markLanes(out, reason).fill(1, first, first + WARP);
  else out.vector.fill(result, first, first + WARP);
}

function unknownLaneOf(a: LaneValue, frame: Frame, first: number): number {
  for (let lane = first; lane < first + WARP; lane++) {
    if (frame.mask.lanes[lane] !== 0 && isUnknownIn(a, lane)) return lane;
  }
  return -1;
}

function reduceStep(out: LaneValue, a: LaneValue, reduction: Binary): Step {
  return (frame) => {
    overwrite(out);
    for (let first = frame.lo; first < frame.hi; first += WARP) {
      if (frame.mask.perWarp[first / WARP] === 0) continue;
      let result: number | undefined;
      if (unknownLaneOf(a, frame, first) < 0) {
        for (let lane = first; lane < first + WARP; lane++) {
          if (frame.mask.lanes[lane] === 0) continue;
          result = result === undefined ? laneOf(a, lane) : reduction.scalar(result, laneOf(a, lane));
        }
      }
      spread(out, first, Number.isNaN(result) ? undefined : result, a.reason);
    }
    settle(out, frame);
  };
}

/** Bits of the warp's active lanes for which the test holds; bit 31 makes it negative, which is how u32 is held. */
function bitsWhere(frame: Frame, first: number, test: (lane: number) => boolean): number {
  let bits = 0;
  for (let i = 0; i < WARP; i++) if (frame.mask.lanes[first + i] !== 0 && test(first + i)) bits |= 1 << i;
  return bits;
}

function voteStep(fn: LaneInstruction['fn'], out: LaneValue, a: LaneValue | undefined): Step {
  return (frame) => {
    overwrite(out);
    for (let first = frame.lo; first < frame.hi; first += WARP) {
      if (frame.mask.perWarp[first / WARP] !== 0) voteOfWarp(fn, out, a, frame, first);
    }
    settle(out, frame);
  };
}

/** What the lanes that come to a barrier say there: one value for all of them. */
function blockVoteStep(fn: LaneInstruction['fn'], out: LaneValue, a: LaneValue): Step {
  return (frame) => {
    let set = 0;
    let unset = 0;
    let reason: number | undefined;
    for (let lane = frame.lo; lane < frame.hi; lane++) {
      if (frame.mask.lanes[lane] === 0) continue;
      if (isUnknownIn(a, lane)) reason ??= a.reason;
      else if (laneOf(a, lane) === 0) unset++;
      else set++;
    }
    if (fn === 'blockAny' && set > 0) setUniform(out, 1);
    else if (fn === 'blockAll' && unset > 0) setUniform(out, 0);
    else if (reason !== undefined) setUnknown(out, reason);
    else setUniform(out, fn === 'blockCount' ? set : fn === 'blockAny' ? 0 : 1);
  };
}

function voteOfWarp(
  fn: LaneInstruction['fn'],
  out: LaneValue,
  a: LaneValue | undefined,
  frame: Frame,
  first: number,
): void {
  const active = bitsWhere(frame, first, () => true);
  if (!a || fn === 'activeMask') {
    spread(out, first, active, 0);
    return;
  }
  const someUnknown = unknownLaneOf(a, frame, first) >= 0;
  const isSet = (lane: number) => !isUnknownIn(a, lane) && laneOf(a, lane) !== 0;
  const set = bitsWhere(frame, first, isSet);
  const unset = bitsWhere(frame, first, (lane) => !isUnknownIn(a, lane) && laneOf(a, lane) === 0);
  if (fn === 'matchAny' && !someUnknown) {
    for (let i = first; i < first + WARP; i++) {
      if (frame.mask.lanes[i] !== 0)
        out.vector[i] = bitsWhere(frame, first, (lane) => laneOf(a, lane) === laneOf(a, i));
    }
    return;
  }
  spread(out, first, vote(fn, set, unset, someUnknown), a.reason);
}

/** The result of a vote, undefined where it depends on lanes that are not known. */
function vote(fn: LaneInstruction['fn'], set: number, unset: number, someUnknown: boolean): number | undefined {
  if (fn === 'any' && set !== 0) return 1;
  if (fn === 'all' && unset !== 0) return 0;
  if (someUnknown) return undefined;
  if (fn === 'any') return 0;
  if (fn === 'all') return 1;
  return fn === 'ballot' ? set : undefined;
}
