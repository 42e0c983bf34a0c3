/**
 * How much is executed for one file, so that an answer comes within two seconds whatever the file holds: a file's warp
 * instructions are shared out among its kernels, a kernel's among its launches and samples. What a run leaves over the later
 * ones may use. Counted in warp instructions and not by a clock, so that equal texts give equal reports.
 */
import { defaultBudget, type LoweringBudget } from '../lower/context';
import type { Program } from '../program/program';

/** Warp instructions of a file; about two million a second are executed. */
const FILE = 3_000_000;
/** Of one kernel, all launches and samples together. */
const KERNEL = 2_000_000;
/** Every run gets this much, however much was used up before. */
const LEAST = 20_000;
/** Runs of a kernel that get it: beyond, only what is left over. */
const SURE_RUNS = 12;
const BLOCKS = 2048;
/** Instructions of all programs of a file, and of one that is made when these are spent. */
const LOWERED = 60_000;
const LEAST_LOWERED = 8_000;

export class Effort {
  private left: number;
  private lowered = 0;

  /** @param kernels that are to be executed @param patience times the work of an editor's answer */
  constructor(
    private kernels: number,
    private readonly patience = 1,
  ) {
    this.left = FILE * patience;
  }

  /** Half of what is left for one kernel, all of it for the last. */
  kernel(launches: number): KernelEffort {
    const share = this.left / Math.max(1, Math.min(2, this.kernels));
    this.kernels--;
    return new KernelEffort(Math.min(KERNEL * this.patience, Math.max(share, LEAST * Math.min(SURE_RUNS, launches))));
  }

  /** What the next program may have: with large ones before it, less. */
  lowering(): LoweringBudget {
    const instructions = Math.max(LEAST_LOWERED, Math.min(defaultBudget.instructions, LOWERED - this.lowered));
    const share = instructions / defaultBudget.instructions;
    return { ...defaultBudget, instructions, steps: Math.ceil(defaultBudget.steps * share) };
  }

  /** No further instance of a kernel that has one already. */
  get isLoweringSpent(): boolean {
    return this.lowered >= LOWERED;
  }

  chargeProgram(program: Program): void {
    for (const block of program.blocks) this.lowered += block.instructions.length;
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
