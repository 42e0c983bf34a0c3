/** How much of a launch's budget its blocks have taken, and what the next ones may. */
import type { ExecutionBudget } from './execution';
import type { BlockClass } from './grid';

/** Where blocks differ, as many of them are executed as cost no more than this, or this part of the budget. */
const DIVERSE_GRID = 3_000_000;
const DIVERSE_PART = 2;
/** By how much a block may cost more than those before it. */
const MARGIN = 1.25;
/** Blocks that cost this many times what those before them did tell that these had nothing to do. */
const IDLE = 4;
/** Times the cost of a block, so that none of its loops is left before its end (a loop may take most of what its block may). */
const ENOUGH = 2;

export class GridBudget {
  /** Warp instructions executed so far. */
  warpInstructions = 0;
  /** Blocks executed so far. */
  blocks = 0;
  /** What a block may take, where that is settled. */
  stepsEach: number | undefined;

  /** Blocks that classes still to come may need: what differs before them may not use these up. */
  private reserved = 0;
  /** The same of which they cannot do without. */
  private needed = 0;

  /** What was executed before the class whose turn it is. */
  private before = { warpInstructions: 0, blocks: 0 };

  constructor(readonly limit: ExecutionBudget) {}

  /** Warp instructions that are left, at least 0. */
  get left(): number {
    return Math.max(0, this.limit.warpInstructions - this.warpInstructions);
  }

  /** Warp instructions of a block, the average of those executed. */
  get costOfBlock(): number {
    return this.blocks === 0 ? 0 : this.warpInstructions / this.blocks;
  }

  /** The same of the class whose turn it is, where it costs much more: blocks that have nothing to do tell nothing of those that have. */
  private get costWithinClass(): number {
    const blocks = this.blocks - this.before.blocks;
    const own = blocks === 0 ? 0 : (this.warpInstructions - this.before.warpInstructions) / blocks;
    return Math.max(1, own > IDLE * this.costOfBlock ? own : this.costOfBlock);
  }

  /** Another block can be executed to its end. */
  get allowsAnother(): boolean {
    const left = this.limit.warpInstructions - this.warpInstructions;
    return this.blocks < this.limit.blocks && left > this.costOfBlock * MARGIN;
  }

  /** Another block can be executed to its end, and behind it those without which classes still to come have no figure of their own. */
  get leavesOthersTheirs(): boolean {
    const left = this.limit.warpInstructions - this.warpInstructions;
    return this.blocks + this.needed < this.limit.blocks && left > this.costOfBlock * (ENOUGH + this.needed);
  }

  /** For classes that are to be sampled. */
  reserve(classes: readonly Pick<BlockClass, 'least' | 'most'>[]): void {
    this.reserved = classes.reduce((sum, { most }) => sum + most, 0);
    this.needed = classes.reduce((sum, { least }) => sum + least, 0);
  }

  /** For one of them, whose turn it is. */
  release({ least, most }: Pick<BlockClass, 'least' | 'most'>): void {
    this.reserved -= most;
    this.needed -= least;
    const { warpInstructions, blocks } = this;
    this.before = { warpInstructions, blocks };
  }

  spend(warpInstructions: number): void {
    this.warpInstructions += warpInstructions;
    this.blocks++;
  }

  /** As if nothing had been executed yet. */
  forget(): void {
    this.warpInstructions = 0;
    this.blocks = 0;
    this.before = { warpInstructions: 0, blocks: 0 };
  }

  /**
   * Warp instructions that the next block may take: one alone may not use up everything, since others may behave differently, but not cost much more.
   * @param isOnly the grid has no other block
   */
  stepsOfNext(isOnly: boolean): number {
    if (this.stepsEach !== undefined) return this.stepsEach;
    if (isOnly) return this.left;
    const expected = this.blocks === 0 ? (this.limit.firstBlock ?? 0) : 2 * this.costOfBlock;
    return Math.ceil(Math.max(this.left / 2, Math.min(this.left, expected)));
  }

  /** Blocks that may still be executed where blocks differ. */
  affordable(): number {
    const { warpInstructions } = this.limit;
    const cost = this.costWithinClass;
    const free = warpInstructions - this.warpInstructions - this.reserved * Math.max(1, this.costOfBlock);
    const left = Math.min(DIVERSE_GRID, warpInstructions / DIVERSE_PART, free / 2);
    // Half of the blocks is left to other classes.
    const blocks = (this.limit.blocks - this.blocks - this.reserved) / 2;
    return Math.max(0, Math.floor(Math.min(left / cost, blocks)));
  }
}
