/**
 * Loops that would take more than there is: their passes differ from each other (by what they load, say), so that none is skipped or sampled. Where
 * a way out compares numbers that move, the passes that are left are known all the same, and those that were executed stand for them. What the
 * loop leaves behind is not known then.
 */
import { writesOf } from '../program/operands';
import type { CompareOp, Register, ScalarType } from '../program/program';
import type { Delta } from './affine';
import { differenceOf, exitAt } from './loop-sampling';
import type { LoopState, Machine } from './machine';
import { type Mask, WARP } from './mask';

/** Parts of what a block may execute after which the passes of a loop are measured, and after which it may be left. */
const MEASURED = 1 / 32;
const LEFT = 1 / 8;
/** The first pass often differs from the others. */
const FIRST_PASS = 2;
/** Passes that stand for others where a loop is left, at least. */
const FEWEST = 4;
/** What was executed, about, of the pass in which the budget is spent; of one whose inner loop was estimated. */
const PART_OF_PASS = 0.5;
const WHOLE = 1;

interface Comparison {
  readonly a: Register;
  readonly b: Register;
  readonly fn: CompareOp;
  readonly type: ScalarType;
  /** The header itself gives a side its value: at an arrival it is still that of the pass before. */
  readonly isBehind: boolean;
}

interface Tracker {
  /** Undefined: not looked at yet. */
  comparisons: readonly Comparison[] | undefined;
  enteredAt: number;
  /** Passes that were over when they began to be measured; none are where it is undefined. */
  began: number | undefined;
  executedAt: number;
  counters: Float64Array | undefined;
  /** By comparison: what is left when passes began to be measured, and at the last arrival. */
  before: readonly (Delta | undefined)[];
  now: readonly (Delta | undefined)[];
}

export class UnfinishedLoops {
  /** Passes were counted that were not executed. */
  hasEstimated = false;
  private readonly trackers: readonly Tracker[];

  constructor(private readonly machine: Machine) {
    this.trackers = machine.decoder.analysis.flow.loops.map(() => ({
      comparisons: undefined,
      enteredAt: 0,
      began: undefined,
      executedAt: 0,
      counters: undefined,
      before: [],
      now: [],
    }));
  }

  /** A block of threads begins. */
  reset(): void {
    for (const tracker of this.trackers) tracker.began = undefined;
  }

  /** The header of a loop is about to be executed. True: it would take more than what is left. @param steps warp instructions of the block */
  isHopeless(loop: number, mask: Mask, { arrivals }: LoopState, steps: number): boolean {
    const tracker = this.trackers[loop];
    const { executed, acceleration, sampling } = this.machine;
    if (arrivals === 1) {
      tracker.enteredAt = executed;
      tracker.began = undefined;
    }
    const spent = executed - tracker.enteredAt;
    if (spent < steps * MEASURED || arrivals < FIRST_PASS) return false;
    if (tracker.began === undefined) {
      this.begin(loop, mask, arrivals);
      return false;
    }
    tracker.now = (tracker.comparisons ?? []).map((each) => differenceOf(this.machine.decoder.values, each, mask));
    const passes = arrivals - tracker.began;
    if (passes < FEWEST || spent < steps * LEFT || acceleration.proof || !sampling.isGivenUp(loop)) return false;
    const left = this.passesLeft(loop, mask, passes);
    return left !== undefined && (left * (executed - tracker.executedAt)) / passes > steps - executed;
  }

  private begin(loop: number, mask: Mask, arrivals: number): void {
    const tracker = this.trackers[loop];
    const { tally, executed, decoder } = this.machine;
    const comparisons = (tracker.comparisons ??= this.comparisonsOf(loop));
    if (comparisons.length === 0) return;
    tracker.began = arrivals;
    tracker.executedAt = executed;
    tracker.counters ??= new Float64Array(tally.counters.length);
    tracker.counters.set(tally.counters);
    tracker.before = comparisons.map((each) => differenceOf(decoder.values, each, mask));
    tracker.now = tracker.before;
  }

  private comparisonsOf(loop: number): Comparison[] {
    const { program, flow } = this.machine.decoder.analysis;
    const { header, exitBranches } = flow.loops[loop];
    return exitBranches.flatMap((block): Comparison[] => {
      const exit = exitAt(program, block);
      if (!exit) return [];
      const written = new Set(program.blocks[block].instructions.flatMap(writesOf));
      return [{ ...exit, isBehind: block === header && (written.has(exit.a) || written.has(exit.b)) }];
    });
  }

  /** Counts the passes that are left like those that were executed. @param part of the present pass that was executed */
  estimate(loop: number, mask: Mask, part = 0): boolean {
    const { began, counters: before } = this.trackers[loop];
    if (began === undefined || !before) return false;
    const passes = this.machine.loops[loop].arrivals - began;
    const left = passes > 0 ? this.passesLeft(loop, mask, passes) : undefined;
    if (left === undefined) return false;
    const { counters } = this.machine.tally;
    const times = Math.max(0, left - part) / (passes + part);
    for (let i = 0; i < counters.length; i++) counters[i] += (counters[i] - before[i]) * times;
    this.trackers[loop].began = undefined;
    this.hasEstimated = true;
    return true;
  }

  /** The block ends in the midst of a pass: the loops around it are estimated from the inside out. @param block that is executed */
  estimateAround(block: number, mask: Mask): void {
    const { loopOf, loops } = this.machine.decoder.analysis.flow;
    let part = PART_OF_PASS;
    for (let loop = loopOf[block]; loop >= 0; loop = loops[loop].parent)
      if (this.estimate(loop, mask, part)) part = WHOLE;
  }

  /** Passes until the first way out that compares what moves evenly; for lanes that leave one after the other, of a warp on average. */
  private passesLeft(loop: number, mask: Mask, passes: number): number | undefined {
    const { comparisons = [], before, now } = this.trackers[loop];
    let least: number | undefined;
    comparisons.forEach(({ fn, isBehind }, i) => {
      const [first, last] = [before[i], now[i]];
      if (first === undefined || last === undefined) return;
      const left = leftOf(fn, first, last, mask, passes);
      if (left !== undefined) least = Math.max(0, Math.min(least ?? left, isBehind ? left - 1 : left));
    });
    return least;
  }
}

function leftOf(fn: CompareOp, before: Delta, now: Delta, mask: Mask, passes: number): number | undefined {
  if (typeof before === 'number' && typeof now === 'number') return untilTurned(fn, before, now, passes);
  const at = (delta: Delta, lane: number) => (typeof delta === 'number' ? delta : delta[lane]);
  let sum = 0;
  let warps = 0;
  for (let warp = Math.floor(mask.lo / WARP); warp * WARP < mask.hi; warp++) {
    let most: number | undefined;
    for (let lane = warp * WARP; lane < Math.min(mask.hi, (warp + 1) * WARP); lane++) {
      if (mask.lanes[lane] === 0) continue;
      const left = untilTurned(fn, at(before, lane), at(now, lane), passes);
      if (left === undefined) return undefined;
      most = Math.max(most ?? 0, left);
    }
    if (most === undefined) continue;
    sum += most;
    warps++;
  }
  return warps > 0 ? sum / warps : undefined;
}

/** Passes, the present one included, until a comparison turns whose difference moves on as it did. */
function untilTurned(fn: CompareOp, before: number, now: number, passes: number): number | undefined {
  const left = -now / ((now - before) / passes);
  if (!(left >= 0) || !Number.isFinite(left)) return undefined;
  const isZeroAPass = now < 0 ? fn === 'le' || fn === 'gt' : fn === 'ge' || fn === 'lt';
  return isZeroAPass ? Math.floor(left) + 1 : Math.ceil(left);
}
