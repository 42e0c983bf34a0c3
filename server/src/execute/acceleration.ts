/**
 * Skips passes of loops that are proven to count the same as the passes before them. At the header of a loop the
 * carried variables are compared over one period, the next period is executed under a proof, and what follows is
 * counted up as far as the proof holds.
 */

import { writesOf } from '../program/operands';
import type { Register } from '../program/program';
import { LONGEST_PERIOD, Proof, ProofScratch } from './affine';
import { type Carried, carriedThrough, difference, moveOn, rememberCarried, sameStep } from './carried';
import { LoopCounters } from './loop-counters';
import type { LoopState, Machine } from './machine';
import type { Frame, Mask } from './mask';
import { MemoryProof } from './proof-memory';
import type { Entry } from './stack';
import type { Step } from './steps';
import { copyValue } from './value';

/** Passes that are executed before the first attempt: shorter loops are not worth it. */
const FIRST_ATTEMPT = 4;
/** Periods tried one after the other where a proof gives no idea. */
const PERIODS = [1, 2, 3, 4, 6, 8];
/** Skipping passes that store values which matter makes these unknown: up to this many warp instructions are executed. */
const WORTH_EXECUTING = 200_000;

interface Tracker {
  readonly loop: number;
  phase: 'idle' | 'measuring' | 'proving';
  /** Passes of a period, and those left of the present one. */
  period: number;
  left: number;
  mask: Mask | undefined;
  depth: number;
  carried: Carried[];
  counters: LoopCounters | undefined;
  /** Arrival at the header of the next attempt. */
  nextAttempt: number;
  firstAttempt: number;
  failures: number;
  tried: number;
  /** Warp instructions executed and skipped when the loop was entered, and when the present phase began. */
  enteredAt: number;
  executedAt: number;
  skippedAt: number;
}

export class Acceleration {
  /** The proof that the blocks executed now are part of. */
  proof: Proof | undefined;
  private scratch: ProofScratch | undefined;
  /** Warp instructions counted without being executed. */
  skipped = 0;
  private memory: MemoryProof | undefined;
  private proving = -1;
  private readonly trackers: readonly Tracker[];
  /** By block: of each instruction the registers that it assigns and something needs. */
  private readonly assigned: (readonly (readonly Register[])[])[] = [];
  private readonly carriedBy: (readonly Register[] | undefined)[];

  constructor(private readonly machine: Machine) {
    const { loops } = machine.decoder.analysis.flow;
    this.carriedBy = loops.map(() => undefined);
    this.trackers = loops.map((_, loop) => ({
      loop,
      phase: 'idle',
      period: 1,
      left: 0,
      mask: undefined,
      depth: 0,
      carried: [],
      counters: undefined,
      nextAttempt: FIRST_ATTEMPT,
      firstAttempt: FIRST_ATTEMPT,
      failures: 0,
      tried: 0,
      enteredAt: 0,
      executedAt: 0,
      skippedAt: 0,
    }));
  }

  /** A block of threads begins. */
  reset(): void {
    this.endProof();
    this.skipped = 0;
    for (const tracker of this.trackers) tracker.phase = 'idle';
  }

  /** The header of a loop is about to be executed. */
  arrive(loop: number, top: Entry, state: LoopState, remaining: number): void {
    const tracker = this.trackers[loop];
    if (state.arrivals === 1) {
      tracker.phase = 'idle';
      tracker.nextAttempt = tracker.firstAttempt;
      tracker.tried = 0;
      tracker.enteredAt = this.machine.executed;
      if (this.proving === loop) this.endProof();
    }
    if (tracker.phase === 'idle') {
      if (state.arrivals >= tracker.nextAttempt && this.proof === undefined) this.measure(tracker, top);
      return;
    }
    if (this.machine.stack.entries.length !== tracker.depth || !tracker.mask?.equals(top.mask)) {
      this.giveUp(tracker, state.arrivals + 2 ** Math.min(tracker.failures++, 6));
      return;
    }
    if (tracker.phase === 'proving' && this.proof?.failed) {
      this.retry(tracker, top, state, this.proof.factor);
      return;
    }
    if (--tracker.left > 0) return;
    if (tracker.phase === 'measuring') this.startProof(tracker, top, state, remaining);
    else this.conclude(tracker, top, state, remaining);
  }

  /** Executes the steps of a block under the proof. */
  execute(block: number, steps: readonly Step[], frame: Frame): void {
    const { analysis } = this.machine.decoder;
    if (analysis.flow.loops[this.proving].contains[block] === 0) {
      this.giveUp(this.trackers[this.proving], Number.POSITIVE_INFINITY);
      for (const step of steps) step(frame);
      return;
    }
    const { proof, memory } = this;
    const kept = analysis.slice.kept[block];
    const assigned = this.assignedIn(block);
    for (let i = 0; i < kept.length; i++) {
      if (!proof || !memory || proof.failed) {
        steps[i](frame);
        continue;
      }
      memory.before(kept[i], frame);
      const delta = proof.before(kept[i], frame) ?? 0;
      steps[i](frame);
      memory.after(kept[i]);
      const registers = assigned[i];
      for (let k = 0; k < registers.length; k++) proof.after(registers[k], delta, frame);
    }
  }

  private assignedIn(block: number): readonly (readonly Register[])[] {
    const { slice } = this.machine.decoder.analysis;
    this.assigned[block] ??= slice.kept[block].map((i) => writesOf(i).filter((r) => slice.needed[r] === 1));
    return this.assigned[block];
  }

  /** Variables are saved or merged outside of instructions: that is understood only for those that do not move. */
  touch(registers: readonly Register[]): void {
    const { proof } = this;
    if (proof && registers.some((register) => !proof.isConstant(register))) proof.fail();
  }

  /** No attempt at a loop before an arrival at its header: another way is tried. */
  pause(loop: number, nextAttempt: number): void {
    this.giveUp(this.trackers[loop], nextAttempt);
  }

  private measure(tracker: Tracker, top: Entry): void {
    const { machine } = this;
    tracker.phase = 'measuring';
    tracker.left = tracker.period;
    tracker.depth = this.machine.stack.entries.length;
    tracker.mask ??= this.machine.stack.masks.take();
    tracker.mask.copyFrom(top.mask);
    tracker.carried = this.carriedThrough(tracker.loop).map((register) => rememberCarried(machine.decoder, register));
    tracker.executedAt = this.machine.executed;
    tracker.skippedAt = this.skipped;
  }

  private carriedThrough(loop: number): readonly Register[] {
    this.carriedBy[loop] ??= carriedThrough(this.machine.decoder.analysis, loop);
    return this.carriedBy[loop];
  }

  private startProof(tracker: Tracker, top: Entry, state: LoopState, remaining: number): void {
    const { machine } = this;
    const executed = machine.executed - tracker.executedAt;
    const skipped = this.skipped - tracker.skippedAt;
    if (this.proof !== undefined) {
      this.giveUp(tracker, state.arrivals + 1);
      return;
    }
    // Under a proof inner loops are executed in full. That pays once as much has been spent without.
    const cost = executed + skipped;
    const spent = machine.executed - tracker.enteredAt;
    if (skipped > 0 && cost > spent) {
      const passes = Math.ceil(((cost - spent) / Math.max(1, executed)) * tracker.period);
      this.giveUp(tracker, cost > remaining / 4 ? Number.POSITIVE_INFINITY : state.arrivals + passes);
      return;
    }
    for (const each of tracker.carried) {
      const step = difference(each, machine.decoder.values[each.register], top.mask);
      if (step === undefined) {
        this.retry(tracker, top, state, 0);
        return;
      }
      each.step = step;
    }
    const { analysis, values, geometry } = machine.decoder;
    this.scratch ??= new ProofScratch(analysis.program);
    const proof = new Proof(analysis.program, values, geometry, this.scratch);
    for (const each of tracker.carried) {
      proof.setDelta(each.register, each.step);
      copyValue(each.start, machine.decoder.values[each.register]);
    }
    this.proof = proof;
    this.memory = new MemoryProof(machine.decoder, machine.tally, proof);
    this.proving = tracker.loop;
    tracker.phase = 'proving';
    tracker.left = tracker.period;
    tracker.executedAt = machine.executed;
    tracker.counters ??= new LoopCounters(analysis, tracker.loop, machine.tally);
    tracker.counters.remember();
  }

  /** The period under proof has been executed. */
  private conclude(tracker: Tracker, top: Entry, state: LoopState, remaining: number): void {
    const { proof, memory, machine } = this;
    if (!proof || !memory) return;
    const { values } = machine.decoder;
    const repeats = tracker.carried.every((each) => {
      const step = difference(each, values[each.register], top.mask);
      return (
        step !== undefined &&
        sameStep(step, each.step, top.mask) &&
        sameStep(step, proof.delta(each.register), top.mask)
      );
    });
    // What the accesses ask for counts only once the variables are known to move as assumed.
    const factor = proof.factor > 1 && (!repeats || proof.periods < 1) ? proof.factor : repeats ? proof.required : 0;
    if (!repeats || !memory.isSound || factor > 1 || proof.periods < 1) {
      this.retry(tracker, top, state, factor);
      return;
    }
    if (proof.periods === Number.POSITIVE_INFINITY) {
      this.giveUp(tracker, Number.POSITIVE_INFINITY);
      if (state.unknownExits) state.mustLeave = true;
      else machine.stop = 'endless';
      return;
    }
    const cost = machine.executed - tracker.executedAt;
    if (memory.changesContents) {
      const work = cost * proof.periods;
      if (work < WORTH_EXECUTING && work < remaining / 2) {
        this.giveUp(tracker, state.arrivals + proof.periods * tracker.period);
        return;
      }
      machine.forgetContents('stored by passes of a loop that were not executed one by one');
    }
    this.skip(tracker, top, proof.periods, cost);
    state.arrivals += proof.periods * tracker.period;
    const longer = tracker.period * proof.factor;
    // Limited by something that a longer period would carry over.
    if (proof.factor > 1 && proof.periods < 4 * proof.factor && longer <= LONGEST_PERIOD) tracker.period = longer;
    tracker.firstAttempt = 2;
    this.giveUp(tracker, state.arrivals + 1);
  }

  private skip(tracker: Tracker, top: Entry, periods: number, cost: number): void {
    const { machine } = this;
    tracker.counters?.repeat(periods);
    this.skipped += periods * cost;
    moveOn(machine.decoder, tracker.carried, periods, top.mask, top.kept, top.mask.count === machine.stack.alive);
  }

  /** Tries a longer period from here on, or none for a while. */
  private retry(tracker: Tracker, top: Entry, state: LoopState, factor: number): void {
    this.giveUp(tracker, state.arrivals);
    if (factor > 1 && tracker.period * factor <= LONGEST_PERIOD) {
      tracker.period *= factor;
      this.measure(tracker, top);
      return;
    }
    tracker.tried++;
    if (tracker.tried < PERIODS.length && factor <= 1) {
      tracker.period = PERIODS[tracker.tried];
      this.measure(tracker, top);
      return;
    }
    tracker.failures++;
    tracker.tried = 0;
    tracker.period = 1;
    tracker.nextAttempt = state.arrivals * 4;
    tracker.firstAttempt = Math.min(tracker.firstAttempt * 2, 4096);
  }

  private giveUp(tracker: Tracker, nextAttempt: number): void {
    tracker.phase = 'idle';
    tracker.nextAttempt = nextAttempt;
    if (this.proving === tracker.loop) this.endProof();
  }

  private endProof(): void {
    this.proof = undefined;
    this.memory = undefined;
    this.proving = -1;
  }
}
