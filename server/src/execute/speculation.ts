/**
 * Branches whose condition is not known in some lanes. Such lanes execute both sides of an `if`; of a side that leads
 * straight to a return they take the other; in a loop they stay as long as a known condition keeps it going, else for
 * two passes, and then go on behind it, where one of its ways out does. What the sides leave different in variables becomes unknown.
 */

import { NOT_INITIALISED, type Register } from '../program/program';
import { type BranchPlan, type UnknownBranchPlan, unknownBranchPlan, variablesOfLoop } from './branch-plan';
import type { Machine, Targets } from './machine';
import type { Mask } from './mask';
import { RARE_CONDITION, type Side } from './rare-side';
import type { Entry } from './stack';
import {
  areAlike,
  assignLanes,
  isAsTaken,
  isUnknownIn,
  KNOWN,
  type Lanes32,
  LaneValue,
  laneOf,
  markLanes,
  setUnknown,
  shareValue,
  snapshotOf,
  UNKNOWN,
} from './value';

/** How the reason begins where each lane of a warp has a condition of its own: some come there, and nobody knows which. */
export const CONDITION_OF_LANES = 'condition of each lane';

const ITERATIONS = 'number of iterations';
/** The same within passes of which nobody knows the number. */
export const ITERATIONS_AND_LANES = `${ITERATIONS}, and for each lane whether it comes,`;

const innerReason = new RegExp(
  `^(?:${RARE_CONDITION}|${CONDITION_OF_LANES}|condition|${ITERATIONS_AND_LANES}|${ITERATIONS}) `,
);

/** Variables of a warp that are copied, and copied back, in the time of an instruction. */
const COPIES_A_STEP = 4;
/** Passes through a loop of which no condition to leave is known. */
const PASSES = 2;

/** What registers held, in the order of their list. */
interface Saved {
  readonly registers: readonly Register[];
  readonly values: readonly LaneValue[];
}

const nothing: Saved = { registers: [], values: [] };

export class UnknownBranches {
  /** By reason: a value that is unknown in all lanes, which all that are have in common. */
  private readonly unknowns = new Map<number, LaneValue>();

  private readonly notInitialised: number;

  constructor(private readonly machine: Machine) {
    this.notInitialised = machine.decoder.reasons.number(NOT_INITIALISED);
  }

  take(
    top: Entry,
    block: number,
    targets: Targets,
    plan: BranchPlan,
    condition: LaneValue<Lanes32>,
    counters: number,
  ): void {
    const { masks } = this.machine.stack;
    const [ifTrue, ifFalse, unknown] = [masks.take(), masks.take(), masks.take()];
    partitionUnknown(top.mask, condition, ifTrue, ifFalse, unknown);
    const { tally } = this.machine;
    for (let warp = 0; warp < ifTrue.perWarp.length; warp++) {
      if (ifTrue.perWarp[warp] > 0 && ifFalse.perWarp[warp] > 0) tally.counters[counters + 1]++;
      if (unknown.perWarp[warp] > 0) tally.counters[counters + 2]++;
    }
    if (unknown.count === 0) this.takeKnown(top, block, targets, plan, ifTrue, ifFalse);
    else this.takeUnknown(top, block, targets, plan, condition.reason, ifTrue, ifFalse, unknown);
    for (const mask of [ifTrue, ifFalse, unknown]) masks.give(mask);
  }

  private takeKnown(top: Entry, block: number, targets: Targets, plan: BranchPlan, ifTrue: Mask, ifFalse: Mask): void {
    if (ifFalse.count === 0) this.machine.goAll(top, block, plan, true, targets);
    else if (ifTrue.count === 0) this.machine.goAll(top, block, plan, false, targets);
    else this.machine.part(block, plan, targets, ifTrue, ifFalse);
  }

  private takeUnknown(
    top: Entry,
    block: number,
    targets: Targets,
    plan: BranchPlan,
    cause: number,
    ifTrue: Mask,
    ifFalse: Mask,
    unknown: Mask,
  ): void {
    const details = unknownBranchPlan(this.machine.decoder.analysis, block, plan);
    const { reasons } = this.machine.decoder;
    // of conditions within conditions the innermost is told
    const why = reasons.text(cause).replace(innerReason, '');
    if (plan.leavesTrue >= 0 || plan.leavesFalse >= 0) {
      if (this.machine.decoder.wholeStep) {
        // what the passes that are not made would store is not known
        this.machine.stop = 'doubt';
        this.machine.doubt = cause;
        return;
      }
      const reason = reasons.number(`${ITERATIONS} ${why}`);
      this.leaveOrStay(block, targets, plan, details, reason, ifTrue, ifFalse, unknown);
      return;
    }
    const reason = reasons.number(`${details.isOfEachLane ? CONDITION_OF_LANES : 'condition'} ${why}`);
    if (details.returns !== undefined) {
      (details.returns === 'true' ? ifFalse : ifTrue).unite(unknown);
      const side = details.returns === 'true' ? 'false' : 'true';
      top.speculative = this.reasonOf(side, top.speculative, details, reason);
      this.takeKnown(top, block, targets, plan, ifTrue, ifFalse);
      return;
    }
    this.takeBoth(block, targets, plan, details, reason, ifTrue, ifFalse, unknown);
  }

  /** An `if`: lanes with unknown condition execute both sides, then what differs becomes unknown. */
  private takeBoth(
    block: number,
    targets: Targets,
    plan: BranchPlan,
    details: UnknownBranchPlan,
    reason: number,
    ifTrue: Mask,
    ifFalse: Mask,
    unknown: Mask,
  ): void {
    const { stack } = this.machine;
    const outer = stack.top.speculative;
    const loop = this.machine.decoder.analysis.flow.loopOf[block];
    if (loop >= 0) this.machine.guardLoops(loop, block);
    const lanes = stack.masks.copyOf(unknown);
    ifTrue.unite(unknown);
    ifFalse.unite(unknown);
    const { top } = stack;
    const before = this.save(details.assigned);
    let afterTrue: Saved = nothing;
    const sides: Entry[] = [];
    const arrivedTrue = stack.masks.take();
    const arrivedFalse = stack.masks.take();
    top.pc = plan.meets;
    top.from = block;
    const meeting = top;
    if (details.isFinal) meeting.speculative ||= reason;
    meeting.onResume = () => {
      this.machine.acceleration.touch(details.assigned);
      this.forgetLeavers(lanes, arrivedTrue, arrivedFalse, sides);
      this.merge(meeting, lanes, arrivedTrue, arrivedFalse, afterTrue, reason);
      for (const mask of [lanes, arrivedTrue, arrivedFalse]) stack.masks.give(mask);
    };
    const second = stack.push(targets.ifFalse, block, plan.meets, stack.masks.copyOf(ifFalse));
    second.both = lanes;
    second.speculative = this.reasonOf('false', outer, details, reason);
    second.onPop = (arrived) => arrivedFalse.copyFrom(arrived);
    const first = stack.push(targets.ifTrue, block, plan.meets, stack.masks.copyOf(ifTrue));
    first.both = lanes;
    first.speculative = this.reasonOf('true', outer, details, reason);
    first.onPop = (arrived) => {
      arrivedTrue.copyFrom(arrived);
      afterTrue = this.save(details.assigned);
      this.restore(before, lanes);
    };
    sides.push(first, second);
  }

  /**
   * Why a side is executed: the outermost reason, but a rare condition within others makes all of it rare, and where each lane asks for
   * a number of its own those that meet it are some of the lanes that others let through.
   */
  private reasonOf(side: Side, outer: number, { rare, seldom }: UnknownBranchPlan, reason: number): number {
    const { reasons } = this.machine.decoder;
    const saidOf = (kind: string, why: number) =>
      reasons.number(`${kind} ${reasons.text(why).replace(innerReason, '')}`);
    if (rare === side) return saidOf(RARE_CONDITION, reason);
    if (outer === 0) return reason;
    const isOfPasses = seldom === side && reasons.text(outer).startsWith(ITERATIONS);
    return isOfPasses ? saidOf(ITERATIONS_AND_LANES, outer) : outer;
  }

  /** A branch that leaves a loop, with a condition that is unknown in some lanes. */
  private leaveOrStay(
    block: number,
    targets: Targets,
    plan: BranchPlan,
    details: UnknownBranchPlan,
    reason: number,
    ifTrue: Mask,
    ifFalse: Mask,
    unknown: Mask,
  ): void {
    const { machine } = this;
    const { flow } = machine.decoder.analysis;
    const isTrueLeaving = plan.leavesTrue >= 0;
    const loop = isTrueLeaving ? plan.leavesTrue : plan.leavesFalse;
    const innermost = flow.loopOf[block];
    machine.guardLoops(innermost, block);
    const state = machine.loops[innermost];
    const leaving = isTrueLeaving ? ifTrue : ifFalse;
    const staying = isTrueLeaving ? ifFalse : ifTrue;
    if (state.unknownExits) state.unknownExits.unite(unknown);
    else this.observe(loop, innermost, unknown, reason);
    if (details.carriedOut.length > 0) this.forgetCarried(loop, innermost, block, details.carriedOut, unknown, reason);
    const { entries, top } = machine.stack;
    const { guard } = machine.loops[loop];
    // All that goes on in the loop, from now on, depends on lanes having stayed.
    const from = guard ? machine.stack.indexOf(guard) + 1 : entries.length - 1;
    for (const entry of entries.slice(from)) entry.speculative ||= reason;
    const target = isTrueLeaving ? targets.ifTrue : targets.ifFalse;
    const stay = isTrueLeaving ? targets.ifFalse : targets.ifTrue;
    // A test at the top comes before the first pass, one at the bottom after it.
    const isAtTop = flow.loops[innermost].header === block && stay !== block;
    const passes = isAtTop ? PASSES : PASSES - 1;
    // Nobody is made to return from a loop (`if (found) return;`) that has an end to go on from.
    const isOver = !details.leavesForGood && !state.hasKnownExit && state.arrivals > passes;
    const mustLeave = state.mustLeave || isOver;
    const tried = details.leavingHasAccesses && (state.triedExits ??= new Set()).has(block);
    if (details.leavingHasAccesses && !tried && !mustLeave) {
      state.triedExits?.add(block);
      staying.unite(unknown);
      this.tryLeaving(loop, block, targets, isTrueLeaving, details, leaving, unknown, reason);
      return;
    }
    (mustLeave ? leaving : staying).unite(unknown);
    top.from = block;
    top.pc = stay;
    if (leaving.count === 0) return;
    if (!tried || !mustLeave) {
      machine.leave(loop, block, target, leaving, mustLeave);
      return;
    }
    // The leaving side was executed for the lanes that are unknown: now they only go.
    const gone = machine.stack.masks.copyOf(unknown);
    if (guard) machine.stack.removeAbove(machine.stack.indexOf(guard), gone, guard, true);
    machine.stack.masks.give(gone);
    leaving.subtract(unknown);
    if (leaving.count > 0) machine.leave(loop, block, target, leaving);
  }

  /** Lanes with unknown condition execute the leaving side once, and stay in the loop as well. */
  private tryLeaving(
    loop: number,
    block: number,
    targets: Targets,
    isTrueLeaving: boolean,
    details: UnknownBranchPlan,
    leaving: Mask,
    unknown: Mask,
    reason: number,
  ): void {
    const { machine } = this;
    const { stack } = machine;
    stack.top.from = block;
    stack.top.pc = isTrueLeaving ? targets.ifFalse : targets.ifTrue;
    const { guard } = machine.loops[loop];
    const gone = stack.masks.copyOf(leaving);
    if (guard) stack.removeAbove(stack.indexOf(guard), gone, guard);
    stack.masks.give(gone);
    leaving.unite(unknown);
    const before = this.save(details.assigned);
    const target = isTrueLeaving ? targets.ifTrue : targets.ifFalse;
    const lanes = stack.masks.copyOf(unknown);
    const entry = stack.push(target, block, machine.decoder.analysis.points.loopEnd[loop], stack.masks.copyOf(leaving));
    entry.both = lanes;
    entry.speculative ||= reason;
    entry.onPop = () => {
      this.restore(before, lanes);
      stack.masks.give(lanes);
    };
  }

  /** Remembers the variables of a loop before the first pass that may not take place, to be compared after the loop. */
  private observe(loop: number, innermost: number, unknown: Mask, reason: number): void {
    const { machine } = this;
    const before = this.save(variablesOfLoop(machine.decoder.analysis, loop));
    const lanes = machine.stack.masks.copyOf(unknown);
    machine.loops[innermost].unknownExits = lanes;
    const { guard } = machine.loops[loop];
    if (!guard) return;
    const earlier = guard.onResume;
    guard.onResume = () => {
      earlier?.();
      before.registers.forEach((register, i) => {
        this.forgetDifferences(machine.decoder.values[register], before.values[i], lanes, reason);
      });
    };
  }

  /** What the leaving side of a branch would have left in variables (`found = i; break;`) is not known behind the loop. */
  private forgetCarried(
    loop: number,
    innermost: number,
    block: number,
    carriedOut: readonly Register[],
    unknown: Mask,
    reason: number,
  ): void {
    const { machine } = this;
    const state = machine.loops[innermost];
    const { guard } = machine.loops[loop];
    if (!guard) return;
    const before = (state.unknownAt ??= new Map()).get(block);
    if (before) {
      before.unite(unknown);
      return;
    }
    const lanes = machine.stack.masks.copyOf(unknown);
    state.unknownAt.set(block, lanes);
    const earlier = guard.onResume;
    guard.onResume = () => {
      earlier?.();
      machine.acceleration.touch(carriedOut);
      for (const register of carriedOut) forgetLanes(machine.decoder.values[register], lanes, reason);
    };
  }

  /** Copies of variables. They count as work: of kernels written out large they are most of it (faiss WarpSelectFloat.cu: 20 s). */
  private save(registers: readonly Register[]): Saved {
    const { machine } = this;
    machine.acceleration.touch(registers);
    machine.executed += Math.floor((registers.length * machine.stack.top.mask.warps) / COPIES_A_STEP);
    const { values } = machine.decoder;
    return { registers, values: registers.map((register) => this.taken(values[register])) };
  }

  private taken(value: LaneValue): LaneValue {
    if (value.unknown !== UNKNOWN) return snapshotOf(value);
    let unknown = this.unknowns.get(value.reason);
    if (!unknown) {
      unknown = new LaneValue(value.wide, value.geometry);
      setUnknown(unknown, value.reason);
      this.unknowns.set(value.reason, unknown);
    }
    return unknown;
  }

  private restore(saved: Saved, lanes: Mask): void {
    const { values, geometry } = this.machine.decoder;
    const { width, height, depth } = geometry;
    const isWhole = lanes.count === width * height * depth;
    saved.registers.forEach((register, i) => {
      const [value, before] = [values[register], saved.values[i]];
      if (isAsTaken(value, before)) return;
      if (isWhole) shareValue(value, before);
      else assignLanes(value, before, lanes.lanes, lanes.lo, lanes.hi);
    });
  }

  /** Lanes that came to the end of neither side have left a loop on one of them, or returned. */
  private forgetLeavers(lanes: Mask, arrivedTrue: Mask, arrivedFalse: Mask, sides: readonly Entry[]): void {
    const { stack } = this.machine;
    const gone = stack.masks.copyOf(lanes);
    gone.subtract(arrivedTrue);
    gone.subtract(arrivedFalse);
    for (const { left } of sides) {
      if (!left) continue;
      const leavers = stack.masks.copyOf(gone);
      leavers.intersect(left.lanes);
      gone.subtract(leavers);
      stack.removeAbove(stack.indexOf(left.to), leavers, left.to);
      stack.masks.give(leavers);
    }
    if (gone.count > 0) stack.retire(gone);
    stack.masks.give(gone);
  }

  /** Both sides of an `if` have been executed: lanes that did both know only what both left equal. */
  private merge(
    meeting: Entry,
    lanes: Mask,
    arrivedTrue: Mask,
    arrivedFalse: Mask,
    afterTrue: Saved,
    reason: number,
  ): void {
    const { stack, decoder } = this.machine;
    if (meeting.mask.count === 0) return;
    const onlyTrue = stack.masks.copyOf(lanes);
    onlyTrue.subtract(arrivedFalse);
    const didBoth = stack.masks.copyOf(lanes);
    didBoth.intersect(arrivedTrue);
    didBoth.intersect(arrivedFalse);
    afterTrue.registers.forEach((register, i) => {
      const [current, value] = [decoder.values[register], afterTrue.values[i]];
      if (isAsTaken(current, value)) return;
      if (onlyTrue.count > 0) assignLanes(current, value, onlyTrue.lanes, onlyTrue.lo, onlyTrue.hi);
      this.forgetDifferences(current, value, didBoth, reason);
    });
    stack.masks.give(onlyTrue);
    stack.masks.give(didBoth);
  }

  /**
   * Marks the lanes unknown in which the value is not what it was. Where one of the two was never assigned the other is meant, to the
   * compiler as to who wrote it.
   */
  private forgetDifferences(current: LaneValue, other: LaneValue, lanes: Mask, reason: number): void {
    if (lanes.count === 0 || isAsTaken(current, other) || this.isOpen(other)) return;
    if (this.isOpen(current)) assignLanes(current, other, lanes.lanes, lanes.lo, lanes.hi);
    if (current.unknown === UNKNOWN) return;
    const bothKnown = (current.unknown | other.unknown) === KNOWN;
    if (bothKnown && areAlike(current, other)) return;
    let marks: Uint8Array | undefined;
    for (let lane = lanes.lo; lane < lanes.hi; lane++) {
      if (lanes.lanes[lane] === 0 || isUnknownIn(current, lane)) continue;
      if (!isUnknownIn(other, lane) && laneOf(current, lane) === laneOf(other, lane)) continue;
      marks ??= markLanes(current, reason);
      marks[lane] = 1;
    }
  }

  /** Nothing was assigned in any lane. */
  private isOpen({ unknown, reason }: LaneValue): boolean {
    return unknown === UNKNOWN && reason === this.notInitialised;
  }
}

/** Marks the lanes unknown. */
export function forgetLanes(value: LaneValue, lanes: Mask, reason: number): void {
  if (lanes.count === 0 || value.unknown === UNKNOWN) return;
  const marks = markLanes(value, reason);
  for (let lane = lanes.lo; lane < lanes.hi; lane++) if (lanes.lanes[lane] !== 0) marks[lane] = 1;
}

function partitionUnknown(mask: Mask, condition: LaneValue<Lanes32>, ifTrue: Mask, ifFalse: Mask, unknown: Mask): void {
  if (condition.unknown === UNKNOWN) {
    unknown.copyFrom(mask);
    ifTrue.clear();
    ifFalse.clear();
    return;
  }
  for (let lane = 0; lane < mask.lanes.length; lane++) {
    const isActive = mask.lanes[lane];
    const isOpen = isActive !== 0 && isUnknownIn(condition, lane) ? 1 : 0;
    const isSet = isActive !== 0 && isOpen === 0 && laneOf(condition, lane) !== 0 ? 1 : 0;
    unknown.lanes[lane] = isOpen;
    ifTrue.lanes[lane] = isSet;
    ifFalse.lanes[lane] = isActive ^ isOpen ^ isSet;
  }
  for (const part of [ifTrue, ifFalse, unknown]) part.recount();
}
