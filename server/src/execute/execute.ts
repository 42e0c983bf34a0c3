/** Executes a kernel launch: counts what its warps do, over the whole grid. */

import type { MemoryModel } from '../hardware/memory-model';
import { dataLoads } from '../program/data-loads';
import type { Program } from '../program/program';
import { AtomicContention } from './atomic-contention';
import { asLaunched, type BlockOrder, numberedBlocks } from './block-numbers';
import { TurnsOfRow } from './block-quotients';
import { type AccessNotes, type CounterLayout, counterLayout } from './counters';
import { type Analysis, analyse } from './decode';
import { endsOfPlane, withEnds } from './ends-of-plane';
import type { AccessCounts, Execution, ExecutionBudget, LaunchShape } from './execution';
import { allBlocks, type BlockClass, type BlockIndex, blockClasses, PERIOD, SMALL_GRID } from './grid';
import { GridBudget } from './grid-budget';
import { withoutIdleAxes } from './idle-axes';
import { LaneMemory } from './lane-memory';
import { LaunchedBlocks } from './launched-blocks';
import type { Machine } from './machine';
import { areEqual, sumOfRuns } from './piecewise';
import { Reasons } from './reasons';
import { restsOnAtomics } from './rests-on-atomics';
import { type SingledBlocks, singledBlocks } from './singled-blocks';
import { accessCounts, branchCounts } from './totals';

/** Threads of a block on every capability from 2.0 on. */
const MOST_THREADS = 1024;
/** A grid is executed as a whole when that costs no more than this many warp instructions, or this part of the budget. */
const CHEAP_GRID = 20_000;
const CHEAP_PART = 10;
/** Where numbers depend on what atomics change, all blocks are executed in order as long as they cost no more than this, or this part. */
const IN_ORDER_GRID = 2_000_000;
const IN_ORDER_PART = 2;
/** Warp instructions that every block takes. */
const LEAST_BLOCK = 8;
/** Blocks that each remainder of a row in turns takes: both ends, and what finds where it changes. */
const BLOCKS_OF_TURN = 4;
/** Further blocks that are executed in part where one is too long. */
const MOST_ESTIMATES = 7;

/**
 * Executes a launch and counts, for every access site, branch and basic block, what the warps of the whole grid do.
 * Large grids are sampled. Never throws on a verified program; what cannot be executed is told in `incomplete`.
 * @param counted accesses to be counted; where it is given, only what they depend on is executed
 */
export function execute(
  program: Program,
  launch: LaunchShape,
  model: MemoryModel,
  budget: ExecutionBudget,
  counted?: ReadonlySet<number>,
): Execution {
  const refusal = refuse(launch);
  const run = new GridRun(program, launch, model, budget, counted);
  if (refusal !== undefined) return run.result(refusal);
  try {
    run.executeGrid();
  } finally {
    run.release();
  }
  return run.result(run.incomplete);
}

function refuse(launch: LaunchShape): string | undefined {
  const isCount = (n: number) => Number.isSafeInteger(n) && n > 0;
  if (!launch.grid.every(isCount)) return `grid of ${launch.grid.join(' × ')} blocks: nothing is executed`;
  if (!launch.block.every(isCount)) return `block of ${launch.block.join(' × ')} threads: nothing is executed`;
  const threads = launch.block[0] * launch.block[1] * launch.block[2];
  if (threads > MOST_THREADS) return `${threads} threads a block: a launch fails above ${MOST_THREADS}`;
  return undefined;
}

class GridRun {
  incomplete: string | undefined;
  private readonly analysis: Analysis;
  private readonly layout: CounterLayout;
  private readonly reasons = new Reasons();
  private readonly lanes = LaneMemory.open();
  private readonly totals: Float64Array;
  private readonly notes: (AccessNotes | undefined)[] = [];
  private readonly contention = new AtomicContention();
  private readonly spent: GridBudget;
  /** Of the block that was executed last. */
  private alignment = 0;
  /** Blocks of a row after which the places within segments at which they begin repeat. */
  private period = 1;
  /** How the blocks of a grid that is not small are looked at. */
  private readonly order: BlockOrder;
  private readonly turns: TurnsOfRow;
  private isUniform = true;
  private sampledLoops = false;
  private isEstimated = false;
  private givenLoads: ReadonlySet<number> | undefined;
  private resultLoads: ReadonlySet<number> | undefined;
  private orderedLoads: ReadonlySet<number> | undefined;
  private zeroLoads: ReadonlySet<number> | undefined;
  /** By counter of an access: it differs from block to block, and not all blocks were executed. */
  private readonly differs: Uint8Array;

  constructor(
    private readonly program: Program,
    private readonly launch: LaunchShape,
    private readonly model: MemoryModel,
    private readonly budget: ExecutionBudget,
    counted: ReadonlySet<number> | undefined,
  ) {
    this.spent = new GridBudget(budget);
    this.analysis = analyse(program, launch.data !== undefined, counted);
    this.order = (!isSmall(launch, budget) && numberedBlocks(program, launch)) || asLaunched(launch);
    this.turns = new TurnsOfRow(program, launch, this.order);
    this.layout = counterLayout(program);
    this.totals = new Float64Array(this.layout.size);
    this.differs = new Uint8Array(this.layout.size);
  }

  /** No block is executed any more. */
  release(): void {
    this.lanes?.release();
  }

  executeGrid(): void {
    const { grid } = this.launch;
    const size = grid[0] * grid[1] * grid[2];
    if (this.launch.data && restsOnAtomics(this.program) && this.executeInOrder(size)) return;
    const launched = this.launchedBlocks(false);
    const runBlock = (block: BlockIndex, isOnly: boolean) => {
      launched.run(block, this.spent.stepsOfNext(isOnly), this.budget);
      this.spent.spend(launched.machine.executed);
      this.alignment = launched.alignment;
      this.period = launched.period;
      this.sampledLoops ||= launched.machine.sampling.hasSkipped;
      this.isEstimated ||= launched.machine.unfinished.hasEstimated;
      this.note(launched.machine.stop ?? (launched.machine.abandoned ? 'budget' : undefined));
      return launched.counters;
    };
    if (isSmall(this.launch, this.budget)) {
      this.sampleClass(allBlocks(grid), (block) => runBlock(block, size === 1));
      return;
    }
    this.sampleGrid(this.order.grid, size, (block) => runBlock(this.order.at(block), false));
  }

  private launchedBlocks(isShared: boolean): LaunchedBlocks {
    const { program, launch, model, analysis, layout, reasons, notes, contention } = this;
    const launched = new LaunchedBlocks(
      program,
      launch,
      model,
      analysis,
      layout,
      reasons,
      notes,
      contention,
      isShared,
      this.lanes,
    );
    this.givenLoads = launched.givenLoads;
    this.resultLoads = launched.resultLoads;
    this.orderedLoads = launched.orderedLoads;
    this.zeroLoads = launched.zeroLoads;
    return launched;
  }

  /**
   * Executes every block in order on memory that they share, where that can be afforded: what atomics change is known then, in one of
   * the orders that the hardware may take. False: nothing was counted.
   */
  private executeInOrder(size: number): boolean {
    const { grid } = this.launch;
    const budget = Math.min(IN_ORDER_GRID, this.budget.warpInstructions / IN_ORDER_PART);
    if (size * LEAST_BLOCK > budget) return false;
    const launched = this.launchedBlocks(true);
    if (!launched.givenLoads) return false;
    for (let n = 0; n < size; n++) {
      const block = [n % grid[0], Math.floor(n / grid[0]) % grid[1], Math.floor(n / (grid[0] * grid[1]))] as const;
      launched.run(block, budget - this.spent.warpInstructions, { ...this.budget, sampleLoopsAfter: undefined });
      this.spent.spend(launched.machine.executed);
      this.addScaled(launched.counters, 1);
      // at every power of two of blocks: how much will the others cost?
      const isTooMuch = ((n + 1) & n) === 0 && (this.spent.warpInstructions / (n + 1)) * size > budget;
      if (!isTooMuch && launched.machine.stop === undefined) continue;
      this.forget();
      return false;
    }
    return true;
  }

  /** Nothing was executed yet. */
  private forget(): void {
    this.totals.fill(0);
    this.notes.length = 0;
    this.contention.clear();
    this.layout.used = this.layout.accesses;
    this.spent.forget();
  }

  /** What was executed is spent, and counts no more. */
  private recount(): void {
    this.totals.fill(0);
    this.differs.fill(0);
    this.isUniform = true;
  }

  /** Another block can be executed to its end. */
  private get isWithinBudget(): boolean {
    return this.incomplete === undefined && this.spent.allowsAnother;
  }

  private sampleGrid(
    grid: BlockIndex,
    size: number,
    runBlock: (block: BlockIndex) => Float64Array,
    ends?: SingledBlocks,
  ): void {
    const singled = withEnds(singledBlocks(this.program, this.launch, this.order), ends);
    const classes = blockClasses(grid, singled);
    const probe = runBlock(classes[0].sample(0)).slice();
    const cost = this.spent.warpInstructions;
    if (this.incomplete !== undefined) {
      this.addEstimates(probe, grid, size, runBlock);
      return;
    }
    // The probe is executed again.
    if (size < this.budget.blocks && size * cost <= Math.min(CHEAP_GRID, this.budget.warpInstructions / CHEAP_PART)) {
      this.sampleClass(allBlocks(grid), runBlock);
      return;
    }
    let covered = 0;
    let inner: Float64Array | undefined;
    let differs = false;
    const rows: BlockClass[] = [];
    let smaller: BlockIndex | undefined;
    const reduce = (differing: number) => {
      const samples = new Set([0, 1, differing].map((n) => classes[0].sample(n)));
      smaller = this.withoutIdleAxes(grid, [...samples], singled, runBlock);
      return smaller !== undefined;
    };
    this.spent.reserve(classes);
    for (const each of classes) {
      if (!this.isWithinBudget) break;
      this.spent.release(each);
      const isInner = each === classes[0];
      const counted = this.sampleClass(
        each,
        runBlock,
        isInner ? probe : undefined,
        !isInner,
        inner,
        isInner ? reduce : undefined,
      );
      if (smaller) {
        this.sampleSmaller(smaller, size, runBlock);
        return;
      }
      if (isInner) inner = counted;
      else if (inner && counted && !areEqual(inner, counted, this.layout.used)) differs = true;
      else if (inner && counted && classes[0].place) rows.push(each);
      covered += each.size;
    }
    if (differs && inner && !classes[0].place && !ends) {
      const more = this.endsOf(grid, classes[0], inner, runBlock);
      if (more) {
        this.recount();
        this.sampleGrid(grid, size, runBlock, more);
        return;
      }
    }
    if (differs && inner) for (const row of [classes[0], ...rows]) this.refineRow(row, inner, runBlock);
    if (covered === 0) {
      this.addScaled(probe, size);
      this.isUniform = false;
    } else if (covered < size) {
      // Classes that the budget left out count as the average of the others.
      for (let i = 0; i < this.layout.used; i++) this.totals[i] *= size / covered;
      this.isUniform = false;
      this.differs.fill(1);
    }
  }

  /** A block is too long, and some of its passes were estimated: so are others in what is left, since they may have fewer or more of them. */
  private addEstimates(
    probe: Float64Array,
    grid: BlockIndex,
    size: number,
    runBlock: (block: BlockIndex) => Float64Array,
  ): void {
    const others = this.isEstimated ? Math.min(MOST_ESTIMATES, size - 1) : 0;
    const sum = probe.slice();
    const blocks = allBlocks(grid);
    for (let k = 0; k < others; k++) {
      this.spent.stepsEach = this.spent.left / (others - k);
      this.add(sum, runBlock(blocks.at(Math.floor(((k + 0.5) * size) / others))), 1);
    }
    this.addScaled(sum, size / (others + 1));
    this.isUniform = false;
  }

  private withoutIdleAxes(
    size: BlockIndex,
    samples: readonly BlockIndex[],
    singled: SingledBlocks,
    runBlock: (block: BlockIndex) => Float64Array,
  ): BlockIndex | undefined {
    const run = (block: BlockIndex) => (this.isWithinBudget ? runBlock(block) : undefined);
    return withoutIdleAxes({ size, run, used: () => this.layout.used, singled }, samples);
  }

  /** Counts a grid by the blocks along those of its axes that matter. */
  private sampleSmaller(grid: BlockIndex, size: number, runBlock: (block: BlockIndex) => Float64Array): void {
    const rest = grid[0] * grid[1] * grid[2];
    if (!this.executeAll(allBlocks(grid), runBlock)) this.sampleGrid(grid, rest, runBlock);
    const { used } = this.layout;
    for (let i = 0; i < used; i++) this.totals[i] *= size / rest;
  }

  /** Adds what a row of blocks counts that change at few places, from those that were executed. */
  private addRuns(
    blocks: BlockClass,
    row: ReadonlyMap<number, Float64Array>,
    runBlock: (block: BlockIndex) => Float64Array,
    mostChanges?: number,
  ): boolean {
    const run = (n: number) => (this.isWithinBudget ? runBlock(blocks.at(n)) : undefined);
    const runs = row.size > 0 ? sumOfRuns(row, blocks.size, run, this.rowPeriod, mostChanges) : undefined;
    if (!runs) return false;
    this.addScaled(runs, 1);
    if (this.turns.areLeftOutBy(this.rowPeriod)) this.isUniform = false;
    return true;
  }

  /** Inner blocks of a plane whose samples agree may differ next to those at the border: these; undefined where none do. */
  private endsOf(
    grid: BlockIndex,
    inner: BlockClass,
    counters: Float64Array,
    runBlock: (block: BlockIndex) => Float64Array,
  ): SingledBlocks | undefined {
    const ends = endsOfPlane(inner, counters, (block) => (this.isWithinBudget ? runBlock(block) : undefined));
    if (ends?.every((places) => places.length === 0)) return undefined;
    const again = ends ? blockClasses(grid, ends).reduce((sum, { least }) => sum + least, 0) : Number.POSITIVE_INFINITY;
    if (again <= this.spent.affordable()) return ends;
    this.isUniform = false;
    return undefined;
  }

  /**
   * Blocks of a row of which each remainder is a row of its own. Where data lead few blocks are alike: it is not worth while to ask for the
   * remainders of bytes.
   */
  private get rowPeriod(): number {
    return this.turns.with(this.isLedByData ? Math.min(PERIOD, this.period) : this.period);
  }

  /** Inner blocks of a row whose samples agree may differ towards its ends, if the blocks at the border do. */
  private refineRow(inner: BlockClass, counters: Float64Array, runBlock: (block: BlockIndex) => Float64Array): void {
    if (!inner.place) return;
    const run = (n: number) => (this.isWithinBudget ? runBlock(inner.at(n)) : undefined);
    const known = new Map([[inner.place(0), counters]]);
    for (const n of [0, inner.size - 1]) {
      const end = known.get(n) ?? run(n)?.slice();
      if (!end) return;
      known.set(n, end);
    }
    const runs = sumOfRuns(known, inner.size, run, this.rowPeriod);
    if (!runs) {
      this.isUniform &&= [...known.values()].every((each) => areEqual(each, counters, this.layout.used));
      return;
    }
    this.addScaled(counters, -inner.size);
    this.addScaled(runs, 1);
  }

  /**
   * Executes samples of a class until they agree or its limit is reached, and adds what the class counts.
   * @param giveUp asked where they differ and are too many to be executed, with the first sample that does; nothing is added where it says so
   */
  private sampleClass(
    blocks: BlockClass,
    runBlock: (block: BlockIndex) => Float64Array,
    probe?: Float64Array,
    isBorder = false,
    inner?: Float64Array,
    giveUp?: (differing: number) => boolean,
  ): Float64Array | undefined {
    let sum: Float64Array | undefined;
    let first: Float64Array | undefined;
    let agree = true;
    let alignment: number | undefined;
    let least = blocks.least;
    /** Before these are executed nothing is left to other classes. */
    let own = least;
    let samples = 0;
    let weights = 0;
    /** Of the samples that count what the first one does: while all do, there is nothing to add up. */
    const alike: number[] = [];
    const row = new Map<number, Float64Array>();
    // Next to inner blocks that differ among themselves, those at the border do too.
    if (isBorder && inner === undefined && this.executeAll(blocks, runBlock)) return undefined;
    let most = blocks.most;
    while (samples < most && (samples < least || !agree)) {
      // where nothing but their alignment differs the first samples tell
      if (
        !agree &&
        samples === blocks.most &&
        this.period > 1 &&
        !this.isLedByData &&
        this.addRuns(blocks, row, runBlock, 1)
      )
        return undefined;
      // A block at the border that does what inner ones do is taken not to differ from its neighbours.
      if (samples === 1 && inner && first && areEqual(first, inner, this.layout.used)) break;
      if (!this.isWithinBudget && samples > 0) {
        if (samples < blocks.least && !isBorder) this.note('budget');
        break;
      }
      if (samples >= own && !this.spent.leavesOthersTheirs) break;
      const counters = samples === 0 && probe ? probe : runBlock(blocks.sample(samples));
      const weight = blocks.weight(samples);
      if (blocks.place) row.set(blocks.place(samples), counters.slice());
      samples++;
      weights += weight;
      first ??= counters.slice();
      // blocks that are aligned differently may cost the same by chance: more of the remainders are looked at
      alignment ??= this.alignment;
      if (this.alignment !== alignment) {
        least = Math.max(least, blocks.leastUnaligned);
        own = blocks.leastUnaligned;
      }
      if (agree && (samples === 1 || areEqual(first, counters, this.layout.used))) {
        alike.push(weight);
        // what loaded data lead to in some blocks tells nothing of the others
        if (samples !== least || samples === blocks.size || isBorder || !this.isLedByData) continue;
        if (this.executeAll(blocks, runBlock)) return undefined;
        most = wholeCycles(Math.min(blocks.size, Math.max(most, this.spent.affordable())), blocks.cycle);
        least = most;
        continue;
      }
      sum ??= this.sumOfAlike(first, alike);
      this.add(sum, counters, weight);
      if (agree) {
        agree = false;
        if (samples < blocks.size && (this.executeAll(blocks, runBlock) || giveUp?.(samples - 1))) return undefined;
        most = wholeCycles(Math.min(blocks.size, Math.max(most, this.spent.affordable())), blocks.cycle);
      }
    }
    if (first === undefined) return undefined;
    if (agree && samples < blocks.size && this.isLedByData && this.executeAll(blocks, runBlock)) return undefined;
    // samples agree on remainders modulo 8, and of rows of bytes more may differ
    const turns = blocks.place !== undefined && this.turns.areLeftOutBy(PERIOD);
    const isOpen = !agree || turns || this.rowPeriod > PERIOD;
    if (isOpen && samples < blocks.size) {
      if (turns && agree && this.executeAll(blocks, runBlock)) return undefined;
      const isAffordable = !turns || BLOCKS_OF_TURN * this.rowPeriod <= this.spent.affordable();
      if (isAffordable && this.addRuns(blocks, row, runBlock)) return undefined;
    }
    const isLikeInner = inner !== undefined && areEqual(first, inner, this.layout.used);
    if (samples < blocks.size && (!agree || turns || (samples < least && !isLikeInner))) this.isUniform = false;
    if (sum === undefined) this.addScaled(first, blocks.size);
    else {
      if (samples < blocks.size) this.noteDifferences(first, sum, weights);
      for (let i = 0; i < this.layout.used; i++) this.totals[i] += (sum[i] * blocks.size) / weights;
    }
    return agree ? first : undefined;
  }

  /** Which accesses count different things in different blocks of a class that was not executed whole. */
  private noteDifferences(first: Float64Array, sum: Float64Array, weights: number): void {
    const { accesses, used } = this.layout;
    for (let i = accesses; i < used; i++) if (sum[i] !== first[i] * weights) this.differs[i] = 1;
  }

  /** Whether addresses or branches have met data that the launch finds in memory. */
  private get isLedByData(): boolean {
    const given = this.givenLoads;
    return given !== undefined && given.size > 0 && dataLoads(this.program).some((access) => given.has(access));
  }

  /** Executes every block of a class whose samples differ, where that can be afforded. */
  private executeAll(blocks: BlockClass, runBlock: (block: BlockIndex) => Float64Array): boolean {
    if (this.spent.affordable() < blocks.size) return false;
    for (let n = 0; n < blocks.size; n++) this.addScaled(runBlock(blocks.at(n)), 1);
    return true;
  }

  private addScaled(counters: Float64Array, weight: number): void {
    this.add(this.totals, counters, weight);
  }

  private add(to: Float64Array, counters: Float64Array, weight: number): void {
    const { used } = this.layout;
    for (let i = 0; i < used; i++) to[i] += counters[i] * weight;
  }

  private sumOfAlike(counters: Float64Array, weights: readonly number[]): Float64Array {
    const sum = new Float64Array(this.layout.size);
    for (const weight of weights) this.add(sum, counters, weight);
    return sum;
  }

  private note(stop: Machine['stop']): void {
    if (stop === undefined || this.incomplete !== undefined) return;
    const figure = this.budget.warpInstructions.toLocaleString('en');
    if (stop === 'cancelled') this.incomplete = 'stopped before the end: only what was executed until then is counted';
    else if (stop === 'endless') this.incomplete = 'a loop does not end with these values: one pass is counted';
    else
      this.incomplete = `too long to execute within ${figure} warp instructions: ${this.isEstimated ? 'passes of loops that were not executed are counted like those that were' : 'only the part executed is counted'}`;
  }

  result(incomplete: string | undefined): Execution {
    const { layout, totals } = this;
    const accesses = accessCounts(totals, this.notes, this.differs, this.reasons);
    return {
      accesses,
      updatesOfOneLine: this.updatesOfOneLine(accesses),
      branches: branchCounts(totals, layout, this.program.branches.length),
      blockExecutions: totals.slice(0, layout.blocks),
      laneExecutions: totals.slice(layout.lanes, layout.lanes + layout.blocks),
      simulatedWarpInstructions: this.spent.warpInstructions,
      simulatedBlocks: this.spent.blocks,
      sampledLoops: this.sampledLoops,
      givenLoads: this.givenLoads,
      resultLoads: this.resultLoads,
      orderedLoads: this.orderedLoads,
      zeroLoads: this.zeroLoads,
      uniformBlocks: this.isUniform && incomplete === undefined,
      incomplete,
    };
  }

  private updatesOfOneLine(accesses: readonly AccessCounts[]): number {
    const isGlobalAtomic = ({ access, space }: AccessCounts) =>
      space === 'global' && this.program.accesses[access].operation === 'atomic';
    const requests = accesses.reduce((sum, counts) => sum + (isGlobalAtomic(counts) ? counts.requests : 0), 0);
    const [width, height, depth] = this.launch.grid;
    return this.contention.mostUpdates(requests, width * height * depth);
  }
}

/** Whether all blocks are executed anyway. */
const isSmall = ({ grid }: LaunchShape, { blocks }: ExecutionBudget): boolean =>
  grid[0] * grid[1] * grid[2] <= Math.min(SMALL_GRID, blocks);

/** Averages are right over whole cycles of samples only. */
function wholeCycles(samples: number, cycle: number): number {
  return samples < cycle ? samples : samples - (samples % cycle);
}
