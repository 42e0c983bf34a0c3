/** Executes a launch over its whole grid for what it leaves in memory: every pass of every loop, one block after the other. */
import type { MemoryModel } from '../hardware/memory-model';
import { addressWindows } from '../program/addresses';
import { controlFlow } from '../program/control-flow';
import { liveness } from '../program/liveness';
import type { Program } from '../program/program';
import { reconvergence } from '../program/reconvergence';
import { AccessCounter } from './access';
import { AtomicContention } from './atomic-contention';
import { branchPlan } from './branch-plan';
import { ByteMemory, Contradiction, type DeviceMemory, NotFollowed, type Range } from './byte-memory';
import { counterLayout, spaces } from './counters';
import { type Analysis, type Decoder, newValues } from './decode';
import type { LaunchShape } from './execution';
import { DIVISION_BY_ZERO } from './integer32';
import { LaneMemory } from './lane-memory';
import { fullMask, type Layout, layoutOf, setBlockInputs, setLaunchInputs } from './layout';
import { Machine } from './machine';
import { Mask, WARP } from './mask';
import { Reasons } from './reasons';
import { Tickets } from './tickets';
import { geometryOf, KNOWN, type LaneValue, setUnknown } from './value';
import { type WholeLaunch, wholeStep } from './whole-steps';
import { asWordPairs } from './word-pairs';

export interface WholeResult {
  /** Warp instructions. */
  readonly executed: number;
  /** Why it was not executed to its end: whatever it may write is not known then. */
  readonly failure?: string;
  /** The failure is one that no program has that works. */
  readonly contradiction?: string;
}

/** By how much blocks may cost more than those before them until a launch is given up as too long. */
const MARGIN = 1.1;
/** Bytes that are forgotten in the time of a warp instruction: stores to places that are not known forget whole blocks, which may have gigabytes. */
const FORGOTTEN_AT_ONCE = 2048;

const analyses = new WeakMap<Program, Analysis>();

/** The same as `analyse`, of a program of which everything is executed. */
function analyseWhole(program: Program): Analysis {
  const known = analyses.get(program);
  if (known) return known;
  const flow = controlFlow(program);
  const kept = program.blocks.map((b) => b.instructions);
  const points = reconvergence(program, flow);
  const analysis: Analysis = {
    program,
    flow,
    slice: {
      needed: new Uint8Array(program.registers.length).fill(1),
      storesMatter: new Uint8Array(program.accesses.length).fill(1),
      kept,
    },
    live: liveness(program, flow, kept),
    points,
    branches: program.blocks.map((_, block) => branchPlan(program, flow, points, block)),
    unknownBranches: new Map(),
    loopVariables: new Map(),
  };
  analyses.set(program, analysis);
  return analysis;
}

/**
 * Launches of a program of the host, executed on its memory. A kernel is decoded, and has its registers, for the next launch as well: loops
 * of the host launch small ones hundreds of times (rushlarsen of HeCBench).
 */
export class WholeLaunches {
  private readonly kept = new Map<Program, WholeRun>();

  /**
   * Executes a launch on the memory it finds. Where it fails, memory is left half changed.
   * @param program as it was lowered, without what the compiler would change
   * @param shape numbers of the parameters, pointers as addresses in the memory
   * @param symbols by name: addresses of the device's objects; the same for all launches
   * @param budget warp instructions
   */
  execute(
    program: Program,
    shape: LaunchShape,
    memory: DeviceMemory,
    symbols: ReadonlyMap<string, number | undefined>,
    budget: number,
  ): WholeResult {
    const known = this.kept.get(program);
    const run = known?.fits(shape, memory) ? known : new WholeRun(asWordPairs(program), shape, memory, symbols);
    if (run !== known) known?.release();
    this.kept.set(program, run);
    try {
      run.begin(shape);
      run.executeGrid(budget);
    } catch (error) {
      // it ends in the middle of a block
      this.kept.delete(program);
      run.release();
      if (!(error instanceof NotFollowed)) throw error;
      const contradiction = error instanceof Contradiction ? error.message : undefined;
      return { executed: run.executed, failure: error.message, contradiction };
    }
    return { executed: run.executed };
  }

  /** Nothing is executed any more. */
  release(): void {
    for (const run of this.kept.values()) run.release();
    this.kept.clear();
  }
}

const noCounts: MemoryModel = { count: () => {} };

class WholeRun {
  executed = 0;
  private readonly machine: Machine;
  private readonly memory: ByteMemory;
  private readonly reasons = new Reasons();
  private readonly values: readonly LaneValue[];
  private readonly variables: readonly LaneValue[];
  private readonly threads: Mask;
  private readonly layout: Layout;
  private readonly launch: WholeLaunch;
  private readonly lanes = LaneMemory.open();
  private readonly unassigned = this.reasons.number('variable used before anything is assigned to it');

  constructor(
    private readonly program: Program,
    private shape: LaunchShape,
    private readonly device: DeviceMemory,
    symbols: ReadonlyMap<string, number | undefined>,
  ) {
    const { block } = shape;
    const threads = block[0] * block[1] * block[2];
    const warps = Math.ceil(threads / WARP);
    const geometry = geometryOf(block, WARP, this.lanes);
    const analysis = analyseWhole(program);
    this.layout = withSymbols(program, layoutOf(program, shape.dynamicSharedBytes), symbols);
    this.memory = new ByteMemory(device);
    this.values = newValues(analysis, geometry, this.reasons);
    this.variables = this.values.filter((_, register) => analysis.live.bitOf[register] >= 0);
    const counters = counterLayout(program);
    const tally = {
      model: noCounts,
      counters: new Float64Array(counters.size),
      layout: counters,
      notes: [],
      block: [0, 0, 0] as const,
      starts: new Int32Array(program.accesses.length * spaces.length),
      contention: new AtomicContention(),
      comparedReason: 0,
      heapReason: 0,
    };
    this.launch = {
      number: 0,
      memory: this.memory,
      notKnown: this.reasons.number('depends on what is not known of memory'),
      claim: (place: number): Range | undefined => {
        device.aboutToChange(place);
        return device.blockAt(place, false);
      },
      blockOf: (object: number): Range | undefined => {
        const address = this.values[program.objects[object].register];
        return address.unknown === KNOWN && address.uniform && address.scalar >= device.base
          ? device.blockAt(address.scalar - device.base, false)
          : undefined;
      },
    };
    const decoder: Decoder = {
      analysis,
      values: this.values,
      reasons: this.reasons,
      counter: new AccessCounter(tally, geometry.lanes),
      memory: {
        tables: [],
        tickets: new Tickets(program, 1),
        reasons: this.reasons,
        storesMatter: analysis.slice.storesMatter,
      },
      geometry,
      wholeStep: (instruction) => wholeStep(decoder, this.launch, instruction),
    };
    this.machine = new Machine(decoder, counters, tally, warps);
    this.threads = new Mask(warps, this.lanes);
    fullMask(this.threads, threads);
  }

  /** Whether it can execute another launch of its kernel. */
  fits({ block, dynamicSharedBytes }: LaunchShape, device: DeviceMemory): boolean {
    const { shape } = this;
    return (
      device === this.device &&
      dynamicSharedBytes === shape.dynamicSharedBytes &&
      block.every((size, axis) => size === shape.block[axis])
    );
  }

  /** It is not used any more. */
  release(): void {
    this.lanes?.release();
  }

  /** To be called before a launch is executed. */
  begin(shape: LaunchShape): void {
    const { program, layout } = this;
    this.shape = shape;
    this.executed = 0;
    this.launch.number++;
    this.memory.open(layout.sharedBytes, constantBytes(program, layout), layout.localBytes, this.threads.lanes.length);
    this.fillTables(layout);
    setLaunchInputs(program, shape, layout, this.values, this.reasons);
  }

  executeGrid(budget: number): void {
    const [width, height, depth] = this.shape.grid;
    const size = width * height * depth;
    this.memory.mostCleared = budget * FORGOTTEN_AT_ONCE;
    for (let n = 0; n < size; n++) {
      const left = budget - this.executed;
      this.executeBlock([n % width, Math.floor(n / width) % height, Math.floor(n / (width * height))], left);
      // a power of two of blocks is done: how much will the others cost?
      if (((n + 1) & n) === 0 && (this.executed / (n + 1)) * (size - n - 1) > MARGIN * (budget - this.executed))
        throw new NotFollowed('it takes too long to execute');
    }
  }

  private executeBlock(block: readonly [number, number, number], steps: number): void {
    this.memory.beginBlock();
    const { cleared } = this.memory;
    for (const variable of this.variables) setUnknown(variable, this.unassigned);
    setBlockInputs(this.program, block, this.values, this.reasons);
    this.machine.run(this.threads, { steps, accelerate: false });
    this.executed += this.machine.executed + Math.ceil((this.memory.cleared - cleared) / FORGOTTEN_AT_ONCE);
    const { stop } = this.machine;
    if (stop === 'doubt') {
      const doubt = this.reasons.text(this.machine.doubt);
      const isCertain = doubt === DIVISION_BY_ZERO && this.machine.frame.speculative === 0;
      throw new (isCertain ? Contradiction : NotFollowed)(`how often a loop is passed ${doubt}`);
    }
    if (stop !== undefined) throw new NotFollowed('it takes too long to execute');
  }

  /** Tables that the source gives, as far as the host's program does not have them. */
  private fillTables(layout: Layout): void {
    this.program.objects.forEach(({ contents }, index) => {
      const first = layout.addresses[index];
      if (!contents || first === undefined) return;
      const table = layout.tables.find((t) => t.first === first);
      table?.values.forEach((value, i) => {
        const place = this.memory.place(first + i * table.elementBytes, 0);
        if (place < 0 || !this.memory.isOwn(place)) return;
        this.memory.write(contents.type, place, value);
      });
    });
  }
}

/**
 * Objects of the device lie where the host's program has them; tables of global memory that it does not know (letters of a text, a static array of a
 * function) lie behind those of constant memory.
 */
function withSymbols(program: Program, layout: Layout, symbols: ReadonlyMap<string, number | undefined>): Layout {
  const moved = new Map<number, number>();
  let next = addressWindows.constant + constantBytes(program, layout);
  const addresses = program.objects.map((object, index) => {
    const own = layout.addresses[index];
    if (object.space !== 'global' && object.space !== 'constant') return own;
    const address = object.isOfFunction ? undefined : symbols.get(object.name);
    // one that two objects have the name of, or that the host does not know, has none
    if (address !== undefined || !object.contents) return address;
    if (object.space === 'constant' || own === undefined) return own;
    const place = Math.ceil(next / TABLE_ALIGNMENT) * TABLE_ALIGNMENT;
    next = place + (object.bytes ?? 0);
    moved.set(own, place);
    return place;
  });
  const tables = layout.tables.map((table) => {
    const place = moved.get(table.first);
    return place === undefined ? table : { ...table, first: place, end: place + table.end - table.first };
  });
  return { ...layout, addresses, tables };
}

const TABLE_ALIGNMENT = 16;

/** Bytes of constant memory that tables of the source take. */
function constantBytes(program: Program, { addresses }: Layout): number {
  const ends = program.objects.map(({ bytes }, index) => {
    const address = addresses[index] ?? 0;
    return address >= addressWindows.constant && address < addressWindows.texture
      ? address + (bytes ?? 0) - addressWindows.constant
      : 0;
  });
  return Math.max(0, ...ends);
}
