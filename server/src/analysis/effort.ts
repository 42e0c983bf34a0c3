/**
 * How much is done for one file, so that an answer comes within two seconds whatever the file holds: the instructions that
 * are lowered and those that are executed are shared out among its kernels, a kernel's among its instances, launches and
 * samples. What one leaves over the later ones may use, and every kernel gets some. Counted in instructions and not by a
 * clock, so that equal texts give equal reports.
 */
import { defaultBudget, type LoweringBudget } from '../lower/context';
import type { Program } from '../program/program';

/** Warp instructions of a file; one to three million a second are executed. */
const FILE = 1_500_000;
/** Of one kernel, all launches and samples together. */
const KERNEL = 1_000_000;
/** Every run gets this much, however much was used up before. */
const LEAST = 20_000;
/** Runs of a kernel that get it: beyond, only what is left over. */
const SURE_RUNS = 12;
const BLOCKS = 2048;
/** Effort of making all programs of a file (see Program.effort), about ten microseconds each; of one made when it is spent. */
const LOWERED = 100_000;
const LEAST_LOWERED = 8_000;

export class Effort {
  private left: number;
  private lowered = 0;
  /** What may have been lowered when the present kernel is done. */
  private loweredByNow = LOWERED;

  /** @param kernels that are to be executed @param patience times the work of an editor's answer */
  constructor(
    private kernels: number,
    private readonly patience = 1,
  ) {
    this.left = FILE * patience;
  }

  /** Half of what is left for the next kernel, all of it for the last. */
  kernel(launches: number): KernelEffort {
    const parts = Math.max(1, Math.min(2, this.kernels));
    const share = this.left / parts;
    this.loweredByNow = this.lowered + Math.max(LEAST_LOWERED, (LOWERED - this.lowered) / parts);
    this.kernels--;
    return new KernelEffort(Math.min(KERNEL * this.patience, Math.max(share, LEAST * Math.min(SURE_RUNS, launches))));
  }

  /** What the next program may have: with large ones before it, less. */
  lowering(): LoweringBudget {
    const instructions = Math.max(
      LEAST_LOWERED,
      Math.min(defaultBudget.instructions, Math.round(this.loweredByNow - this.lowered)),
    );
    const share = instructions / defaultBudget.instructions;
    return { ...defaultBudget, instructions, steps: Math.ceil(defaultBudget.steps * share) };
  }

  /** No further instance of a kernel that has one already. */
  get isLoweringSpent(): boolean {
    return this.lowered >= this.loweredByNow;
  }

  chargeProgram(program: Program): void {
    this.lowered += program.effort ?? 0;
  }

  /** Takes off what a kernel has used. */
  charge(warpInstructions: number): void {
    this.left = Math.max(0, this.left - warpInstructions);
  }
}

export class KernelEffort {
  spent = 0;

  constructor(private readonly total: number) {}

  /** What the next run may use: the sample that is reported half of what is left, one that only checks it an eighth. */
  budget(isReported: boolean): { warpInstructions: number; blocks: number } {
    const left = Math.max(0, this.total - this.spent);
    return { warpInstructions: Math.ceil(Math.max(LEAST, left / (isReported ? 2 : 8))), blocks: BLOCKS };
  }

  charge(warpInstructions: number): void {
    this.spent += warpInstructions;
  }
}
