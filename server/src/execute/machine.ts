/** Executes one thread block in lock-step: all warps together, divergent lanes one side after the other. */

import { EXIT } from '../program/control-flow';
import { Acceleration } from './acceleration';
import type { Tally } from './access';
import { type BranchPlan, variablesOfLoop } from './branch-plan';
import { BRANCH_FIELDS, type CounterLayout } from './counters';
import { type Decoder, decodeBlock } from './decode';
import { LoopSampling } from './loop-sampling';
import type { Frame, Mask } from './mask';
import { forgetLanes, UnknownBranches } from './speculation';
import { type Entry, Stack } from './stack';
import type { Step } from './steps';
import { UnfinishedLoops } from './unfinished-loops';
import { KNOWN, type Lanes32, type LaneValue, vectorOf } from './value';

/** What is known of the pass through a loop that is being executed. */
export interface LoopState {
  /** Times the header was executed since the loop was entered. */
  arrivals: number;
  /** The entry in which lanes that left wait, once lanes have parted. */
  guard?: Entry;
  /** A condition to leave that was known in all lanes was met. */
  hasKnownExit: boolean;
  /** Lanes for which some condition to leave was not known, and where the others are merged with them. */
  unknownExits?: Mask;
  /** By branch that leaves: lanes for which its condition was not known. */
  unknownAt?: Map<number, Mask>;
  /** No known condition will ever end the loop: lanes for which some condition is not known leave. */
  mustLeave?: boolean;
  /** Branches whose leaving side was executed although the condition was not known. */
  triedExits?: Set<number>;
}

export interface Limits {
  /** Warp instructions for this block. */
  readonly steps: number;
  readonly cancelled?: () => boolean;
  /** false: every pass of every loop is executed (for tests). */
  readonly accelerate?: boolean;
  /** Warp instructions after which the passes of a loop are sampled where no proof skips them. */
  readonly sampleLoopsAfter?: number;
}

export type Stop = 'budget' | 'cancelled' | 'endless' | 'doubt';

interface BlockPlan {
  steps: readonly Step[] | undefined;
  readonly instructions: number;
  readonly branch?: BranchPlan;
}

/** Blocks executed between two looks at the clock of the caller. */
const POLL_INTERVAL = 2048;

export class Machine {
  readonly stack: Stack;
  readonly loops: LoopState[];
  readonly plans: readonly BlockPlan[];
  readonly frame: Frame;
  /** Warp instructions executed. */
  executed = 0;
  /** Why the block was not finished. */
  stop: Stop | undefined;
  /** Of the stop 'doubt': number of the reason. */
  doubt = 0;
  /** A loop of the block was left before its end. */
  abandoned = false;
  readonly acceleration: Acceleration;
  readonly sampling: LoopSampling;
  readonly unfinished: UnfinishedLoops;
  private readonly unknown: UnknownBranches;
  private untilPoll = POLL_INTERVAL;

  constructor(
    readonly decoder: Decoder,
    readonly layout: CounterLayout,
    readonly tally: Tally,
    warps: number,
  ) {
    const { analysis } = decoder;
    this.stack = new Stack(warps, analysis.live, decoder.geometry.memory);
    this.loops = analysis.flow.loops.map(() => ({ arrivals: 0, hasKnownExit: false }));
    this.plans = analysis.program.blocks.map((_, index) => ({
      steps: undefined,
      // What only computes data is not executed. The terminator is an instruction too.
      instructions: analysis.slice.kept[index].length + 1,
      branch: analysis.branches[index],
    }));
    const mask = this.stack.masks.take();
    this.frame = { mask, lo: 0, hi: 0, full: true, kept: new Int32Array(0), speculative: 0 };
    this.unknown = new UnknownBranches(this);
    this.acceleration = new Acceleration(this);
    this.sampling = new LoopSampling(this);
    this.unfinished = new UnfinishedLoops(this);
  }

  /** Executes one block of threads; counters go to the tally. */
  run(threads: Mask, limits: Limits): void {
    const { stack } = this;
    this.executed = 0;
    this.stop = undefined;
    this.abandoned = false;
    stack.start(threads);
    this.acceleration.reset();
    this.sampling.reset();
    this.unfinished.reset();
    while (stack.entries.length > 0 && this.stop === undefined) this.advance(limits);
    this.sampling.finish();
  }

  private advance(limits: Limits): void {
    const { stack } = this;
    const { top } = stack;
    if (top.onResume) {
      const resume = top.onResume;
      top.onResume = undefined;
      resume();
    }
    if (top.pc === EXIT && top.mask.count > 0) stack.retire(top.mask);
    if (top.mask.count === 0 || top.pc === top.until) stack.pop();
    else this.executeBlock(top, limits);
  }

  private executeBlock(top: Entry, limits: Limits): void {
    const block = top.pc;
    const { analysis } = this.decoder;
    const loop = analysis.flow.loopAtHeader[block];
    if (loop >= 0 && !this.arrive(loop, top, limits)) return;
    const { mask } = top;
    const { frame } = this;
    frame.mask = mask;
    frame.lo = mask.lo;
    frame.hi = mask.hi;
    frame.full = mask.count === this.stack.alive;
    frame.kept = top.kept;
    frame.speculative = top.speculative;
    const { counters } = this.tally;
    counters[block] += mask.warps;
    counters[this.layout.lanes + block] += mask.count;
    const plan = this.plans[block];
    const steps = plan.steps ?? this.decoded(block);
    if (this.acceleration.proof) this.acceleration.execute(block, steps, frame);
    else for (let i = 0; i < steps.length; i++) steps[i](frame);
    this.executed += plan.instructions * mask.warps;
    if (this.executed > limits.steps) {
      this.stop = 'budget';
      if (limits.sampleLoopsAfter !== undefined) this.unfinished.estimateAround(block, mask);
    }
    if (--this.untilPoll <= 0) {
      this.untilPoll = POLL_INTERVAL;
      if (limits.cancelled?.()) this.stop = 'cancelled';
    }
    this.terminate(top, block, plan);
  }

  private decoded(block: number): readonly Step[] {
    const steps = decodeBlock(this.decoder, block);
    this.plans[block].steps = steps;
    return steps;
  }

  /** The header of a loop is about to be executed; false: the loop is left instead. */
  private arrive(loop: number, top: Entry, limits: Limits): boolean {
    const state = this.loops[loop];
    if (top.from < 0 || this.decoder.analysis.flow.loops[loop].contains[top.from] === 0) {
      state.arrivals = 0;
      state.guard = undefined;
      state.hasKnownExit = false;
      state.unknownExits = undefined;
      state.unknownAt = undefined;
      state.triedExits = undefined;
      state.mustLeave = undefined;
    }
    state.arrivals++;
    if (limits.accelerate === false) return true;
    if (limits.sampleLoopsAfter !== undefined) {
      this.sampling.arrive(loop, top, state, limits.sampleLoopsAfter);
      const isHopeless = this.unfinished.isHopeless(loop, top.mask, state, limits.steps);
      if (isHopeless || this.sampling.isTooLong(loop, state.arrivals, limits.steps)) {
        this.unfinished.estimate(loop, top.mask);
        this.abandon(loop, top);
        return false;
      }
    }
    this.acceleration.arrive(loop, top, state, limits.steps - this.executed);
    return true;
  }

  /** Lanes go on behind a loop that would take too long, and do not know what its further passes would have left. */
  private abandon(loop: number, top: Entry): void {
    const { analysis, reasons, values } = this.decoder;
    const { header } = analysis.flow.loops[loop];
    const variables = variablesOfLoop(analysis, loop);
    const reason = reasons.number('changed by passes of a long loop that were not executed');
    this.acceleration.touch(variables);
    for (const register of variables) forgetLanes(values[register], top.mask, reason);
    this.forgetContents('stored by passes of a long loop that were not executed');
    this.abandoned = true;
    if (this.loops[loop].guard) this.leave(loop, header, analysis.points.loopEnd[loop], top.mask, true);
    else {
      top.from = header;
      top.pc = analysis.points.loopEnd[loop];
    }
  }

  private terminate(top: Entry, block: number, plan: BlockPlan): void {
    const { terminator } = this.decoder.analysis.program.blocks[block];
    if (terminator.kind === 'jump') {
      top.from = block;
      top.pc = terminator.target;
      return;
    }
    if (terminator.kind === 'exit') {
      const { stack } = this;
      const leaving = stack.masks.copyOf(top.mask);
      stack.retire(leaving);
      stack.masks.give(leaving);
      return;
    }
    const condition = this.decoder.values[terminator.condition] as LaneValue<Lanes32>;
    const at = this.layout.branches + BRANCH_FIELDS * terminator.branch;
    this.tally.counters[at] += top.mask.warps;
    this.sampling.branch(block, top.mask);
    if (!plan.branch) return;
    if (condition.unknown !== KNOWN) {
      this.unknown.take(top, block, terminator, plan.branch, condition, at);
      return;
    }
    const loop = Math.max(plan.branch.leavesTrue, plan.branch.leavesFalse);
    if (loop >= 0) this.loops[loop].hasKnownExit = true;
    if (condition.uniform) {
      this.goAll(top, block, plan.branch, condition.scalar !== 0, terminator);
      return;
    }
    const { masks } = this.stack;
    const ifTrue = masks.take();
    const ifFalse = masks.take();
    const divergent = this.partition(top.mask, condition, ifTrue, ifFalse);
    if (ifFalse.count === 0) this.goAll(top, block, plan.branch, true, terminator);
    else if (ifTrue.count === 0) this.goAll(top, block, plan.branch, false, terminator);
    else {
      this.tally.counters[at + 1] += divergent;
      this.part(block, plan.branch, terminator, ifTrue, ifFalse);
    }
    masks.give(ifTrue);
    masks.give(ifFalse);
  }

  private partition(mask: Mask, condition: LaneValue<Lanes32>, ifTrue: Mask, ifFalse: Mask): number {
    const predicate = vectorOf(condition);
    const code = this.decoder.geometry.memory?.code;
    if (!code || condition.at === 0 || mask.at === 0 || ifTrue.at === 0 || ifFalse.at === 0)
      return partition(mask, predicate, ifTrue, ifFalse);
    const { perWarp, lanes } = mask;
    ifTrue.count = code.part(ifTrue.at, mask.at, condition.at, ifFalse.at, perWarp.length, lanes.length);
    ifFalse.count = mask.count - ifTrue.count;
    // all that anybody looks at where the lanes stay together
    if (ifTrue.count === 0 || ifFalse.count === 0) return 0;
    ifTrue.recountWarps();
    ifFalse.recountWarps();
    return bothSided(ifTrue, ifFalse);
  }

  /** Nothing is known of the contents of memory any more. */
  forgetContents(reason: string): void {
    const { memory, reasons } = this.decoder;
    memory.shared?.poison(reasons.number(reason));
    memory.local?.poison(reasons.number(reason));
  }

  /** All active lanes take the same side. */
  goAll(top: Entry, block: number, plan: BranchPlan, side: boolean, targets: Targets): void {
    const target = side ? targets.ifTrue : targets.ifFalse;
    const leaves = side ? plan.leavesTrue : plan.leavesFalse;
    if (leaves >= 0 && this.loops[leaves].guard) {
      this.leave(leaves, block, target, top.mask);
      return;
    }
    top.from = block;
    top.pc = target;
  }

  /** Lanes of the top entry take different sides; the masks stay the caller's. */
  part(block: number, plan: BranchPlan, targets: Targets, ifTrue: Mask, ifFalse: Mask): void {
    const { stack } = this;
    const loop = this.decoder.analysis.flow.loopOf[block];
    if (loop >= 0) this.guardLoops(loop, block);
    const { top } = stack;
    if (plan.leavesTrue >= 0 || plan.leavesFalse >= 0) {
      const isTrueLeaving = plan.leavesTrue >= 0;
      top.from = block;
      top.pc = isTrueLeaving ? targets.ifFalse : targets.ifTrue;
      if (isTrueLeaving) this.leave(plan.leavesTrue, block, targets.ifTrue, ifTrue);
      else this.leave(plan.leavesFalse, block, targets.ifFalse, ifFalse);
      return;
    }
    const { meets } = plan;
    if (top.until === meets && !top.onPop && !top.both) {
      // Lanes that come to the meeting point wait in the entry below already.
      if (targets.ifFalse === meets) {
        top.mask.copyFrom(ifTrue);
        top.pc = targets.ifTrue;
        top.from = block;
        return;
      }
      top.mask.copyFrom(ifFalse);
      top.pc = targets.ifFalse;
      top.from = block;
    } else {
      top.pc = meets;
      top.from = block;
      if (targets.ifFalse !== meets) stack.push(targets.ifFalse, block, meets, stack.masks.copyOf(ifFalse));
    }
    if (targets.ifTrue !== meets) stack.push(targets.ifTrue, block, meets, stack.masks.copyOf(ifTrue));
  }

  /** Gives the loops around a block in which lanes part an entry where lanes that leave can wait. */
  guardLoops(loop: number, block: number): void {
    const state = this.loops[loop];
    if (state.guard) return;
    const { parent } = this.decoder.analysis.flow.loops[loop];
    if (parent >= 0) this.guardLoops(parent, block);
    const { stack } = this;
    const guard = stack.top;
    const { pc, from } = guard;
    const end = this.decoder.analysis.points.loopEnd[loop];
    guard.pc = end;
    guard.from = block;
    stack.push(pc, from, end, stack.masks.copyOf(guard.mask));
    state.guard = guard;
  }

  /**
   * Lanes leave a loop: they are taken from all entries of the loop and go on to where the loop's lanes meet.
   * @param all also from the other sides of branches with unknown conditions, which might go round for ever
   */
  leave(loop: number, block: number, target: number, lanes: Mask, all = false): void {
    const { stack } = this;
    const { guard } = this.loops[loop];
    if (!guard) return;
    // The mask given may be that of an entry, which removing changes.
    const leaving = stack.masks.copyOf(lanes);
    const gone = stack.masks.copyOf(lanes);
    stack.removeAbove(stack.indexOf(guard), gone, guard, all);
    stack.masks.give(gone);
    const end = this.decoder.analysis.points.loopEnd[loop];
    if (target !== end) stack.push(target, block, end, leaving);
    else stack.masks.give(leaving);
  }
}

export interface Targets {
  readonly ifTrue: number;
  readonly ifFalse: number;
}

/** Splits a mask by a predicate; gives the number of warps with lanes on both sides. */
export function partition(mask: Mask, predicate: Int32Array, ifTrue: Mask, ifFalse: Mask): number {
  const { lanes } = mask;
  const t = ifTrue.lanes;
  const f = ifFalse.lanes;
  for (let lane = 0; lane < lanes.length; lane++) {
    const isSet = predicate[lane] !== 0 ? lanes[lane] : 0;
    t[lane] = isSet;
    f[lane] = lanes[lane] ^ isSet;
  }
  ifTrue.recount();
  ifFalse.recount();
  return bothSided(ifTrue, ifFalse);
}

/** Warps that have lanes in both masks. */
function bothSided(a: Mask, b: Mask): number {
  let count = 0;
  for (let warp = 0; warp < a.perWarp.length; warp++) if (a.perWarp[warp] > 0 && b.perWarp[warp] > 0) count++;
  return count;
}
