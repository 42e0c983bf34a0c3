/**
 * Samples the passes of long loops that no proof skips: two neighbouring passes are executed, those up to the next two are
 * counted as the average of both pairs. That is right for counts that change linearly from pass to pass (triangular loops), and
 * an estimate for others. Only loops are sampled whose variables move by equal steps and whose ways out compare numbers that
 * do so too: how many passes are left is known then, and what comes behind the loop is executed as it should be.
 */

import { writesOf } from '../program/operands';
import type { CompareOp, Program, Register, ScalarType } from '../program/program';
import type { Delta } from './affine';
import { passesUnchanged } from './affine-ranges';
import { type Carried, carriedThrough, difference, moveOn, rememberCarried, sameStep } from './carried';
import { numberOf } from './conversion';
import type { Analysis } from './decode';
import type { LoopState, Machine } from './machine';
import type { Mask } from './mask';
import type { Entry } from './stack';
import { ticketAccesses } from './tickets';
import { copyValue, KNOWN, type LaneValue, laneOf } from './value';

/** The first passes often differ from the others. */
const FIRST_PASS = 3;
/** A proof has had its chance by then. It is not waited for where that costs this many times what makes a loop long. */
const PROOF_PASSES = 7;
const TOO_LONG = 3;
/** Pairs of passes that are followed by a jump; where a pass alone makes a loop long, one is. */
const PAIRS = 4;
/** Passes at the end that are executed in any case: a pair, and the one whose branch turns. */
const LAST_PASSES = 3;
/** Parts of what a block may execute after which a loop is left. */
const MOST = 0.6;
const MOST_SAMPLED = 0.85;
/** Attempts at a loop that fail before it is left alone. */
const MOST_FAILURES = 3;

/** A branch out of a loop on a comparison. */
interface Exit {
  readonly fn: CompareOp;
  readonly type: ScalarType;
  readonly a: Register;
  readonly b: Register;
  /** In the present pass, and the one before: how often it was come to, and the difference of both sides. */
  seen: number;
  now: Delta | undefined;
  before: Delta | undefined;
}

interface Tracker {
  readonly loop: number;
  /** 'ending': few passes are left, 'never': not understood */
  phase: 'idle' | 'first' | 'second' | 'ending' | 'never';
  mask: Mask | undefined;
  depth: number;
  carried: Carried[];
  /** By block. Undefined: not looked at yet, or (null) not understood. */
  exits: Map<number, Exit> | null | undefined;
  /** Arrival at the header that ends the present pass. */
  expected: number;
  pairs: number;
  failures: number;
  enteredAt: number;
  executedAt: number;
  /** Counters when the present pair began. */
  before: Float64Array | undefined;
  /** What a pass of the last pair counted. */
  average: Float64Array | undefined;
  /** Passes skipped that the next pair counts for. */
  pending: number;
}

export class LoopSampling {
  /** Some passes were not executed. */
  hasSkipped = false;
  private readonly trackers: readonly Tracker[];
  /** By block: the exits of loops that are being measured. */
  private readonly watched = new Map<number, Exit>();

  constructor(private readonly machine: Machine) {
    this.trackers = machine.decoder.analysis.flow.loops.map((_, loop) => ({
      loop,
      phase: 'idle',
      mask: undefined,
      depth: 0,
      carried: [],
      exits: undefined,
      expected: 0,
      pairs: 0,
      failures: 0,
      enteredAt: 0,
      executedAt: 0,
      before: undefined,
      average: undefined,
      pending: 0,
    }));
  }

  /** A block of threads begins. */
  reset(): void {
    this.watched.clear();
    for (const tracker of this.trackers) {
      tracker.pending = 0;
      tracker.failures = 0;
      tracker.phase = 'idle';
    }
  }

  /** A block of threads is over. */
  finish(): void {
    for (const tracker of this.trackers) this.settle(tracker);
  }

  /** The header of a loop is about to be executed. @param after warp instructions after which a loop is long */
  arrive(loop: number, top: Entry, state: LoopState, after: number): void {
    const tracker = this.trackers[loop];
    const { machine } = this;
    if (state.arrivals === 1) this.enter(tracker);
    if (tracker.phase === 'never' || tracker.phase === 'ending') return;
    if (tracker.phase === 'idle') {
      if (this.isLong(tracker, state, after) && !machine.acceleration.proof) this.begin(tracker, top, state);
      return;
    }
    const isSame = state.arrivals === tracker.expected && this.isUndisturbed(tracker, top, state);
    if (!isSame || !this.measure(tracker, top)) {
      this.fail(tracker);
      machine.acceleration.pause(loop, state.arrivals);
      return;
    }
    if (tracker.phase === 'first') {
      tracker.phase = 'second';
      tracker.expected++;
    } else this.jump(tracker, top, state, after);
  }

  /** A branch is about to be taken by the lanes of a mask. */
  branch(block: number, mask: Mask): void {
    const exit = this.watched.get(block);
    if (!exit) return;
    exit.seen++;
    exit.now = differenceOf(this.machine.decoder.values, exit, mask);
  }

  /**
   * Whether a loop has taken so much of a block that it has to be left: of what comes behind it more is to be known than of
   * its further passes. One that is being sampled is waited for. @param steps warp instructions of the block
   */
  isTooLong(loop: number, arrivals: number, steps: number): boolean {
    const { executed } = this.machine;
    const { phase, enteredAt } = this.trackers[loop];
    if (phase === 'ending') return false;
    const isSampled = phase === 'first' || phase === 'second';
    const most = steps * (isSampled ? MOST_SAMPLED : MOST);
    return arrivals > FIRST_PASS && executed > most && executed - enteredAt > steps / 4;
  }

  /** No passes of the loop are or will be sampled. */
  isGivenUp(loop: number): boolean {
    return this.trackers[loop].phase === 'never';
  }

  private enter(tracker: Tracker): void {
    this.settle(tracker);
    if (tracker.phase !== 'idle') this.unwatch(tracker);
    tracker.phase = tracker.failures > MOST_FAILURES ? 'never' : 'idle';
    tracker.pairs = 0;
    tracker.enteredAt = this.machine.executed;
  }

  private isLong({ enteredAt, failures }: Tracker, { arrivals }: LoopState, after: number): boolean {
    const spent = (this.machine.executed - enteredAt) / 2 ** failures;
    if (spent <= after || arrivals < FIRST_PASS - 1) return false;
    return arrivals >= PROOF_PASSES || spent > (arrivals < FIRST_PASS ? 2 : 1) * TOO_LONG * after;
  }

  private isUndisturbed(tracker: Tracker, top: Entry, state: LoopState): boolean {
    return (
      !this.machine.acceleration.proof &&
      !state.unknownExits &&
      this.machine.stack.entries.length === tracker.depth &&
      tracker.mask?.equals(top.mask) === true
    );
  }

  private begin(tracker: Tracker, top: Entry, state: LoopState): void {
    const { machine } = this;
    const { analysis } = machine.decoder;
    if (tracker.exits === undefined) tracker.exits = exitsOf(analysis, tracker.loop) ?? null;
    if (tracker.exits === null || state.unknownExits) {
      tracker.phase = 'never';
      return;
    }
    machine.acceleration.pause(tracker.loop, Number.POSITIVE_INFINITY);
    tracker.phase = 'first';
    tracker.expected = state.arrivals + 1;
    tracker.depth = machine.stack.entries.length;
    tracker.mask ??= machine.stack.masks.take();
    tracker.mask.copyFrom(top.mask);
    tracker.carried = carriedThrough(analysis, tracker.loop).map((r) => rememberCarried(machine.decoder, r));
    tracker.executedAt = machine.executed;
    tracker.before ??= new Float64Array(machine.tally.counters.length);
    // behind what is used all is zero, in both
    tracker.before.set(machine.tally.counters.subarray(0, machine.tally.layout.used));
    for (const [block, exit] of tracker.exits) {
      exit.seen = 0;
      exit.now = undefined;
      this.watched.set(block, exit);
    }
  }

  /** One pass of a pair is over: false where something does not move by equal steps. */
  private measure(tracker: Tracker, top: Entry): boolean {
    const { values } = this.machine.decoder;
    const isSecond = tracker.phase === 'second';
    const steps: Delta[] = [];
    for (const each of tracker.carried) {
      const step = difference(each, values[each.register], top.mask);
      if (step === undefined || (isSecond && !sameStep(step, each.step, top.mask))) return false;
      steps.push(step);
    }
    for (const [k, each] of tracker.carried.entries()) {
      copyValue(each.start, values[each.register]);
      each.step = steps[k];
    }
    for (const exit of tracker.exits?.values() ?? []) {
      if (exit.seen > 1 || (exit.seen === 1 && exit.now === undefined)) return false;
      exit.before = isSecond ? exit.before : exit.now;
      if (!isSecond) exit.now = undefined;
      exit.seen = 0;
    }
    return true;
  }

  private jump(tracker: Tracker, top: Entry, state: LoopState, after: number): void {
    const { machine } = this;
    this.unwatch(tracker);
    this.count(tracker);
    const left = this.passesLeft(tracker, top.mask) - LAST_PASSES;
    const cost = (machine.executed - tracker.executedAt) / 2;
    const pairs = cost > after ? 1 : PAIRS;
    const share = Math.ceil(left / Math.max(1, pairs - tracker.pairs++));
    // an odd distance from pair to pair: all remainders of an alignment come up
    const passes = share % 2 === 1 ? share : share - 1;
    if (!(passes >= 3) || !Number.isFinite(passes)) {
      tracker.phase = Number.isFinite(left) ? 'ending' : 'never';
      return;
    }
    this.add(tracker, passes / 2);
    tracker.pending = passes / 2;
    machine.acceleration.skipped += passes * cost;
    moveOn(machine.decoder, tracker.carried, passes, top.mask, top.kept, top.mask.count === machine.stack.alive);
    state.arrivals += passes;
    this.hasSkipped = true;
    tracker.phase = 'idle';
    this.begin(tracker, top, state);
  }

  /** What a pass of the pair counts; half of the passes skipped before it are counted by it. */
  private count(tracker: Tracker): void {
    const { counters, layout } = this.machine.tally;
    const { before, pending } = tracker;
    if (!before) return;
    tracker.average ??= new Float64Array(counters.length);
    for (let i = 0; i < layout.used; i++) tracker.average[i] = (counters[i] - before[i]) / 2;
    tracker.pending = 0;
    this.add(tracker, pending);
  }

  private add({ average }: Tracker, times: number): void {
    const { counters, layout } = this.machine.tally;
    if (average && times > 0) for (let i = 0; i < layout.used; i++) counters[i] += times * average[i];
  }

  /** The next pair never came: the one before stands for the passes. */
  private settle(tracker: Tracker): void {
    this.add(tracker, tracker.pending);
    tracker.pending = 0;
  }

  /** Passes for which no exit turns; 0 where that is not known. */
  private passesLeft(tracker: Tracker, mask: Mask): number {
    let left = Number.POSITIVE_INFINITY;
    for (const { fn, now, before } of tracker.exits?.values() ?? []) {
      if (now === undefined && before === undefined) continue;
      if (now === undefined || before === undefined) return 0;
      for (let lane = mask.lo; lane < mask.hi; lane++) {
        if (mask.lanes[lane] === 0) continue;
        const last = typeof now === 'number' ? now : now[lane];
        const first = typeof before === 'number' ? before : before[lane];
        if (Number.isNaN(last) || Number.isNaN(first)) continue;
        left = Math.min(left, passesUnchanged(fn, last, last - first));
        if (typeof now === 'number' && typeof before === 'number') break;
      }
    }
    for (const { type, start, step } of tracker.carried) {
      if (step === 0 || !/32$/.test(type)) continue;
      for (let lane = mask.lo; lane < mask.hi; lane++) {
        if (mask.lanes[lane] === 0) continue;
        const by = typeof step === 'number' ? step : step[lane];
        if (by === 0) continue;
        const room = Math.max(0, 2 ** 31 - 1 - Math.abs(laneOf(start, lane)));
        left = Math.min(left, Math.floor(room / Math.abs(by)));
        if (typeof step === 'number' && start.uniform) break;
      }
    }
    return left;
  }

  private fail(tracker: Tracker): void {
    this.unwatch(tracker);
    this.settle(tracker);
    tracker.failures++;
    tracker.phase = tracker.failures > MOST_FAILURES ? 'never' : 'idle';
  }

  private unwatch(tracker: Tracker): void {
    for (const block of tracker.exits?.keys() ?? []) this.watched.delete(block);
  }
}

/** What is left of one number beside the other, by lane where lanes differ; undefined where one is not known. */
export function differenceOf(
  values: readonly LaneValue[],
  { a, b, type }: Pick<Exit, 'a' | 'b' | 'type'>,
  mask: Mask,
): Delta | undefined {
  const [x, y] = [values[a], values[b]];
  if ((x.unknown | y.unknown) !== KNOWN) return undefined;
  const number = numberOf(type);
  if (x.uniform && y.uniform) return number(x.scalar) - number(y.scalar);
  const differences = new Float64Array(mask.lanes.length).fill(Number.NaN);
  for (let lane = mask.lo; lane < mask.hi; lane++)
    if (mask.lanes[lane] !== 0) differences[lane] = number(laneOf(x, lane)) - number(laneOf(y, lane));
  return differences;
}

/** The exits of a loop; undefined where some is not understood, or where passes do what cannot be left out. */
function exitsOf(analysis: Analysis, loop: number): Map<number, Exit> | undefined {
  const { program, flow, slice } = analysis;
  const { blocks, exitBranches } = flow.loops[loop];
  const tickets = ticketAccesses(program);
  for (const block of blocks) {
    for (const i of slice.kept[block]) {
      if ((i.op === 'store' || i.op === 'atomic') && slice.storesMatter[i.access] === 1) return undefined;
      if (i.op === 'atomic' && tickets.has(i.access)) return undefined;
    }
  }
  const exits = new Map<number, Exit>();
  for (const block of exitBranches) {
    const exit = exitAt(program, block);
    if (!exit) return undefined;
    exits.set(block, exit);
  }
  return exits;
}

/** A comparison in the block of the branch, of registers that do not change between the two. */
export function exitAt(program: Program, block: number): Exit | undefined {
  const { instructions, terminator } = program.blocks[block];
  if (terminator.kind !== 'branch') return undefined;
  for (let k = instructions.length - 1; k >= 0; k--) {
    const i = instructions[k];
    if (!writesOf(i).includes(terminator.condition)) continue;
    if (i.op !== 'compare' || /^[fb]|pred/.test(i.type)) return undefined;
    const isStable = (r: Register) => instructions.slice(k + 1).every((later) => !writesOf(later).includes(r));
    if (!isStable(i.a) || !isStable(i.b)) return undefined;
    return { fn: i.fn, type: i.type, a: i.a, b: i.b, seen: 0, now: undefined, before: undefined };
  }
  return undefined;
}
