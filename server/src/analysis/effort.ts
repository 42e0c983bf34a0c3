/**
 * How much is done for one file, so that an answer comes within two seconds whatever the file holds: the instructions that
 * are lowered and those that are executed are shared out among its kernels, a kernel's among its instances, launches and
 * samples. What one leaves over the later ones may use, and every kernel gets some. Counted in instructions and not by a
 * clock, so that equal texts give equal reports; only who waits longer on a slow machine has the last kernels as an editor has them, since no answer
 * would be worse.
 */
import type { ExecutionBudget } from '../execute/execution';
import { defaultBudget, type LoweringBudget } from '../lower/context';
import type { Program } from '../program/program';
import type { AnalysisOptions } from './request';

/** Warp instructions of a file; about a million a second are executed. */
const FILE = 600_000;
/** Of one kernel, all launches and samples together; for who waits longer a larger part of the file's. */
const KERNEL = 80_000;
const PATIENT_KERNEL = 320_000;
/** Every run gets this much, however much was used up before. */
const LEAST = 8_000;
/** Runs of a kernel that get it: beyond, only what is left over. */
const SURE_RUNS = 12;
/** Blocks of a run, each some ten microseconds beside its instructions; and at most, for who waits longer. */
const BLOCKS = 2_048;
const MOST_BLOCKS = 65_536;
/** Every run may come this often to everything, or long bodies would be cut before the first loop has shown what it does. */
const PASSES = 8;
/** A loop that takes this part of a run is sampled; who waits longer has more of its passes executed. */
const LOOP_SHARE = 64;
const PATIENT_LOOP_SHARE = 4;
/** Effort of making all programs of a file (see Program.effort), about ten microseconds each; of one made when it is spent. */
const LOWERED = 100_000;
/** Who waits longer has so many times as much lowered: a hash whose rounds are written out where each of nine calls is inlined (sha1 over a tree) is 70,000. */
const PATIENT_LOWERING = 2;
const LEAST_LOWERED = 8_000;
/** Of one kernel: an instance is made as long as those before it stay below. The command line has no such limit. */
const INSTANCES = 12_000;

/** For the kernels of a file, whose patience ends so many milliseconds from now. */
export function effortOf(
  kernels: number,
  { patience, patienceEndsAfter }: Pick<AnalysisOptions, 'patience' | 'patienceEndsAfter'>,
): Effort {
  if (patienceEndsAfter === undefined) return new Effort(kernels, patience);
  const end = performance.now() + patienceEndsAfter;
  return new Effort(kernels, patience, () => performance.now() > end);
}

export class Effort {
  private left: number;
  private lowered = 0;
  private loweredBefore = 0;
  /** What may have been lowered when the present kernel is done. */
  private loweredByNow: number;

  /**
   * @param kernels that are to be executed
   * @param patience times the work of an editor's answer
   * @param isLate kernels from now on have an editor's effort
   */
  constructor(
    private kernels: number,
    private patience = 1,
    private readonly isLate: () => boolean = () => false,
  ) {
    this.left = FILE * patience;
    this.loweredByNow = LOWERED * this.loweringShare;
  }

  private get loweringShare(): number {
    return this.patience > 1 ? PATIENT_LOWERING : 1;
  }

  /** Half of what is left for the next kernel, all of it for the last. */
  kernel(launches: number): KernelEffort {
    if (this.patience > 1 && this.isLate()) this.hurry();
    const parts = Math.max(1, Math.min(2, this.kernels));
    const share = this.left / parts;
    this.loweredBefore = this.lowered;
    const lowerable = LOWERED * this.loweringShare - this.lowered;
    this.loweredByNow = this.lowered + Math.max(LEAST_LOWERED, lowerable / parts);
    this.kernels--;
    const most = this.patience > 1 ? PATIENT_KERNEL * this.patience : KERNEL;
    const total = Math.min(most, Math.max(share, LEAST * Math.min(SURE_RUNS, launches)));
    const blocks = Math.min(MOST_BLOCKS, BLOCKS * this.patience);
    return new KernelEffort(total, Math.max(PATIENT_LOOP_SHARE, LOOP_SHARE / this.patience), blocks);
  }

  private hurry(): void {
    this.patience = 1;
    this.left = Math.min(this.left, FILE);
  }

  /** What the next program may have: with large ones before it, less. */
  lowering(): LoweringBudget {
    const instructions = Math.max(
      LEAST_LOWERED,
      Math.min(defaultBudget.instructions * this.loweringShare, Math.round(this.loweredByNow - this.lowered)),
    );
    const share = instructions / defaultBudget.instructions;
    return { ...defaultBudget, instructions, steps: Math.ceil(defaultBudget.steps * share) };
  }

  /** No further instance of a kernel that has one already. */
  get isLoweringSpent(): boolean {
    const ofKernel = this.lowered - this.loweredBefore;
    return this.lowered >= this.loweredByNow || ofKernel >= INSTANCES * this.patience;
  }

  chargeProgram({ effort = 0 }: Pick<Program, 'effort'>): void {
    this.lowered += effort;
  }

  /** Takes off what a kernel has used. */
  charge(warpInstructions: number): void {
    this.left = Math.max(0, this.left - warpInstructions);
  }
}

export class KernelEffort {
  spent = 0;

  constructor(
    private readonly total: number,
    private readonly loopShare: number,
    private readonly blocks: number,
  ) {}

  /**
   * What the next run may use: the sample that is reported half of what is left, one that only checks it an eighth.
   * @param once warp instructions of a block that comes to everything once
   */
  budget(isReported: boolean, once = 0): Omit<ExecutionBudget, 'cancelled'> {
    const left = Math.max(0, this.total - this.spent);
    const warpInstructions = Math.ceil(Math.max(LEAST, PASSES * once, left / (isReported ? 2 : 8)));
    return {
      warpInstructions,
      firstBlock: PASSES * once,
      blocks: this.blocks,
      sampleLoopsAfter: warpInstructions / this.loopShare,
    };
  }

  charge(warpInstructions: number): void {
    this.spent += warpInstructions;
  }
}
