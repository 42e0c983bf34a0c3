/** A launch whose blocks are executed one after the other: values, memory and counters that one block leaves to the next. */
import type { MemoryModel } from '../hardware/memory-model';
import { addressWindows } from '../program/addresses';
import type { Program } from '../program/program';
import { AccessCounter, type Tally } from './access';
import type { AtomicContention } from './atomic-contention';
import { type AccessNotes, type CounterLayout, spaces } from './counters';
import { type Analysis, newValues } from './decode';
import type { ExecutionBudget, LaunchShape } from './execution';
import { globalContents } from './global-data';
import { PERIOD } from './grid';
import { TOO_LARGE } from './integer64';
import type { LaneMemory } from './lane-memory';
import { fullMask, type Layout, layoutOf, setBlockInputs, setLaunchInputs } from './layout';
import { Machine } from './machine';
import { Mask, WARP } from './mask';
import { Contents } from './memory';
import type { MemoryState } from './memory-steps';
import type { Reasons } from './reasons';
import { Tickets } from './tickets';
import { geometryOf, KNOWN, type LaneValue, setUnknown } from './value';

/** Bytes of a segment that begin no half of a word, and halves that begin no word. */
const ODD_BYTES = 0xaaaaaaaa;
const ODD_HALVES = 0x44444444;

/** Elements of local memory whose contents are kept for a block. */
const MOST_LOCAL_CONTENTS = 8 * 2 ** 20;

/** The machine of a launch, ready to execute one block after the other. */
export class LaunchedBlocks {
  readonly machine: Machine;
  readonly counters: Float64Array;
  private readonly values: readonly LaneValue[];
  private readonly memory: MemoryState;
  private readonly tally: Tally;
  private readonly threads: Mask;
  private readonly variables: readonly LaneValue[];
  private readonly unassigned: number;

  /** By access and space, as in the tally: the places of the first block that came there. */
  private readonly firstStarts: Int32Array;
  /** Of accesses that begin elsewhere in other blocks: all places. */
  private movedStarts = 0;

  constructor(
    private readonly program: Program,
    private readonly launch: LaunchShape,
    model: MemoryModel,
    analysis: Analysis,
    layout: CounterLayout,
    private readonly reasons: Reasons,
    notes: (AccessNotes | undefined)[],
    contention: AtomicContention,
    isShared: boolean,
    lanesMemory: LaneMemory | undefined,
  ) {
    const threads = launch.block[0] * launch.block[1] * launch.block[2];
    const warps = Math.ceil(threads / WARP);
    const geometry = geometryOf(launch.block, WARP, lanesMemory);
    const { lanes } = geometry;
    this.values = newValues(analysis, geometry, reasons);
    this.variables = this.values.filter((_, register) => analysis.live.bitOf[register] >= 0);
    this.unassigned = reasons.number('variable used before anything is assigned to it');
    const objects = layoutOf(program, launch.dynamicSharedBytes);
    setLaunchInputs(program, launch, objects, this.values, reasons);
    const [width, height, depth] = launch.grid;
    const tickets = new Tickets(program, width * height * depth);
    const { data } = launch;
    const addressOf = (input: number): number | undefined => {
      const value = this.values[program.inputs[input].register];
      return value.uniform && value.unknown === KNOWN ? value.scalar : undefined;
    };
    const contents = data && globalContents(program, data, objects, addressOf, isShared, reasons.number(TOO_LARGE));
    this.memory = { ...memoryState(program, launch, analysis, objects, lanes, tickets, reasons), global: contents };
    this.counters = new Float64Array(layout.size);
    const starts = new Int32Array(program.accesses.length * spaces.length);
    const comparedReason = reasons.number('how often its loop of compare and swap runs depends on the values');
    const heapReason = program.usesHeap ? reasons.number('where the device puts what lanes ask for is not known') : 0;
    const fixed = { model, layout, notes, contention, comparedReason, heapReason };
    this.tally = { ...fixed, counters: this.counters, block: [0, 0, 0], starts };
    const counter = new AccessCounter(this.tally, lanes);
    const decoder = { analysis, values: this.values, reasons, counter, memory: this.memory, geometry };
    this.machine = new Machine(decoder, layout, this.tally, warps);
    this.firstStarts = new Int32Array(starts.length);
    this.threads = new Mask(warps, lanesMemory);
    fullMask(this.threads, threads);
  }

  /** Loads that the contents of memory at the launch have given a value; undefined where nothing is known of them. */
  get givenLoads(): ReadonlySet<number> | undefined {
    return this.memory.global?.given;
  }

  /** Of these: loads of what kernels before have written. */
  get resultLoads(): ReadonlySet<number> | undefined {
    return this.memory.global?.results;
  }

  /** Of these: loads of what the launch itself has stored, its blocks one after the other. */
  get orderedLoads(): ReadonlySet<number> | undefined {
    return this.memory.global?.ordered;
  }

  /** Of these: loads of memory that nothing was written to before. */
  get zeroLoads(): ReadonlySet<number> | undefined {
    return this.memory.global?.zeros;
  }

  /** Blocks of a row after which the places within segments at which their requests begin repeat; 1 where these are the same in all blocks. */
  get period(): number {
    if (this.movedStarts === 0) return 1;
    if ((this.movedStarts & ODD_BYTES) !== 0) return 4 * PERIOD;
    return (this.movedStarts & ODD_HALVES) !== 0 ? 2 * PERIOD : PERIOD;
  }

  /** Blocks in which it is the same begin their requests at the same places within segments, however many passes of a loop were skipped. */
  get alignment(): number {
    let sum = 0;
    for (const places of this.tally.starts) sum = (Math.imul(sum, 31) + places) | 0;
    return sum;
  }

  run(block: readonly [number, number, number], steps: number, budget: ExecutionBudget): void {
    this.counters.fill(0);
    this.tally.block = block;
    this.tally.starts.fill(0);
    this.tally.contention.beginBlock();
    this.memory.shared?.clear();
    this.memory.local?.clear();
    this.memory.global?.clear();
    const [width, height] = this.launch.grid;
    this.memory.tickets.begin(block[0] + width * (block[1] + height * block[2]));
    for (const variable of this.variables) setUnknown(variable, this.unassigned);
    setBlockInputs(this.program, block, this.values, this.reasons);
    const { cancelled, sampleLoopsAfter } = budget;
    this.machine.run(this.threads, {
      steps,
      cancelled,
      accelerate: budget.everyPass !== true && !this.memory.global?.isShared,
      sampleLoopsAfter,
    });
    this.compareStarts();
  }

  private compareStarts(): void {
    const { firstStarts } = this;
    const { starts } = this.tally;
    for (let i = 0; i < starts.length; i++) {
      if (firstStarts[i] === 0) firstStarts[i] = starts[i];
      else if (starts[i] !== 0 && starts[i] !== firstStarts[i]) this.movedStarts |= starts[i] | firstStarts[i];
    }
  }
}

/** A launch that is not known gives no size for dynamic shared memory: what is stored there is kept as far as this, in bytes. */
const OPEN_DYNAMIC_BYTES = 48 * 1024;

/** No device has a quarter of this; a sampled size may ask for any (1 GB in faiss IVFPQ.cu), and what lies behind is not known then. */
const MOST_SHARED_CONTENTS = 2 ** 20;

const sharedBytesAreOpen = ({ objects }: Program, { dynamicSharedBytes }: LaunchShape): boolean =>
  dynamicSharedBytes <= 0 && objects.some((object) => object.space === 'shared' && object.isDynamic);

/** Contents are kept only where some address or branch depends on them. */
function memoryState(
  program: Program,
  launch: LaunchShape,
  analysis: Analysis,
  layout: Layout,
  lanes: number,
  tickets: Tickets,
  reasons: Reasons,
): MemoryState {
  const keeps = (space: 'shared' | 'local') =>
    program.accesses.some(
      (site, access) => analysis.slice.storesMatter[access] === 1 && (site.space === space || site.space === 'generic'),
    );
  const neverWritten = reasons.number('reads memory that nothing was stored to');
  const { localBytes } = layout;
  const isOpen = sharedBytesAreOpen(program, launch);
  const sharedBytes = Math.min(MOST_SHARED_CONTENTS, layout.sharedBytes + (isOpen ? OPEN_DYNAMIC_BYTES : 0));
  const keepsLocal = keeps('local') && localBytes * lanes <= MOST_LOCAL_CONTENTS;
  return {
    shared: keeps('shared') ? new Contents(addressWindows.shared, sharedBytes, 1, neverWritten) : undefined,
    local: keepsLocal ? new Contents(addressWindows.local, localBytes, lanes, neverWritten) : undefined,
    tables: layout.tables,
    tickets,
    reasons,
    storesMatter: analysis.slice.storesMatter,
  };
}
