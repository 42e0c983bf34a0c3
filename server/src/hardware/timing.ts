/**
 * How long a launch takes on a device, from its counters. A sum of what cannot be hidden: the way to the first instruction and
 * back, and then the longer of two: the most loaded unit of a multiprocessor or of the memory system, and the chain of
 * dependent instructions that a warp has to go through, once for each wave of blocks.
 *
 * Fitted to 81 launches recorded on an H200 and tested on those of other programs: docs/timing.md has the errors, and what it
 * does not know. There are constants for no other device, and so no estimate.
 */

/** What one launch asks of the hardware, summed over the grid where nothing else is said. */
export interface TimingCounters {
  readonly blocks: number;
  readonly blocksPerSm: number;
  /** Warp instructions; a division counts as several. */
  readonly instructions: number;
  readonly sharedWavefronts: number;
  /** Addresses that requests of constant memory ask for, one after the other. */
  readonly constantPasses: number;
  /** 32-byte sectors of global loads, stores and atomics. */
  readonly sectors: number;
  /** Of these: stores and atomics, which go to L2 whatever L1 holds. */
  readonly storeSectors: number;
  /** Updates by atomics that one line of global memory takes, one after the other. */
  readonly updatesOfOneLine: number;
  /** Bytes that have to come from memory at least once; what is written may stay in L2. */
  readonly dramBytes: number;
  /** Rounds of loops of compare and swap in shared memory that a warp goes through, one after the other. */
  readonly swapRounds: number;
  /** One warp's way through the kernel, cut up by what overlaps with what. */
  readonly chains: readonly WarpChain[];
}

export interface WarpChain {
  readonly overlap: 'serial' | 'stores' | 'free';
  readonly instructions: number;
  /** Cycles of dependent arithmetic. */
  readonly arithmetic: number;
  /** Accesses that wait for one another. */
  readonly globalDepth: number;
  readonly sharedDepth: number;
}

export type TimeBound =
  | 'launch'
  | 'latency'
  | 'instructions'
  | 'shared'
  | 'constant'
  | 'l1'
  | 'l2'
  | 'atomics'
  | 'dram';

export interface TimeEstimate {
  readonly microseconds: number;
  readonly cycles: number;
  readonly boundBy: TimeBound;
  readonly device: string;
}

interface TimingConstants {
  readonly multiprocessors: number;
  readonly clockGHz: number;
  /** Cycles from the start of a launch to its end without any work. */
  readonly launch: number;
  /** Cycles of one multiprocessor for a warp instruction, a shared wavefront, an address of constant memory, a sector through L1. */
  readonly instruction: number;
  readonly wavefront: number;
  readonly constantPass: number;
  readonly sector: number;
  /** Cycles of the whole device for a sector through L2 and a byte of memory. */
  readonly l2Sector: number;
  readonly dramByte: number;
  /** Cycles for an update of a line that others wait for. */
  readonly update: number;
  /** Latencies of a global access that misses every cache and of one that hits, and of shared memory. */
  readonly globalMiss: number;
  readonly globalHit: number;
  readonly shared: number;
  /** A round of a loop of compare and swap: a load, the sum, the swap. */
  readonly swapRound: number;
  /** A chain of arithmetic takes so much of its latencies' sum, at least so many cycles an instruction. */
  readonly arithmetic: number;
  readonly leastPerInstruction: number;
  /** How many passes of a loop are under way together: of its memory accesses, and of its arithmetic. */
  readonly memoryOverlap: Readonly<Record<WarpChain['overlap'], number>>;
  readonly arithmeticOverlap: Readonly<Record<WarpChain['overlap'], number>>;
}

const H200: TimingConstants = {
  multiprocessors: 132,
  clockGHz: 1.98,
  launch: 4100,
  instruction: 0.25,
  wavefront: 1.5,
  constantPass: 2,
  sector: 1,
  l2Sector: 0.011,
  // 4,800 GB/s
  dramByte: 1.98 / 4800,
  // 1.756 ns, of float and double alike
  update: 1.756 * 1.98,
  globalMiss: 640,
  globalHit: 480,
  shared: 25,
  swapRound: 200,
  arithmetic: 1.5,
  leastPerInstruction: 1.5,
  // below 1: a loop that stores where it may load from waits for more than its longest chain
  memoryOverlap: { serial: 1, stores: 0.55, free: 1.4 },
  arithmeticOverlap: { serial: 1, stores: 1, free: 1.8 },
};

const measured: ReadonlyMap<string, TimingConstants> = new Map([['H200', H200]]);

/** Devices for which there is an estimate. */
export const timedDevices: readonly string[] = [...measured.keys()];

/** Nothing longer was measured; beyond, no estimate is given. */
const MOST_MICROSECONDS = 1000;

/** Undefined for a device without measured constants, a launch that does not fit, and times far from what was measured. */
export function estimateTime(counters: TimingCounters, device: string): TimeEstimate | undefined {
  const constants = measured.get(device);
  if (!constants || counters.blocksPerSm < 1 || !(counters.blocks > 0)) return undefined;
  const parts = partsOf(counters, constants);
  const { launch, latency, ...units } = parts;
  const busiest = Math.max(...Object.values(units));
  const cycles = launch + Math.hypot(latency, busiest);
  const microseconds = cycles / constants.clockGHz / 1000;
  if (!(microseconds <= MOST_MICROSECONDS)) return undefined;
  const names = Object.keys(parts) as TimeBound[];
  const boundBy = names.reduce((most, name) => (parts[name] > parts[most] ? name : most));
  return { microseconds: Number(microseconds.toPrecision(2)), cycles: Number(cycles.toPrecision(2)), boundBy, device };
}

/** Cycles by what takes them. */
function partsOf(counters: TimingCounters, constants: TimingConstants): Readonly<Record<TimeBound, number>> {
  const { blocks, sectors, dramBytes } = counters;
  const busiest = Math.ceil(blocks / constants.multiprocessors);
  const waves = Math.ceil(busiest / counters.blocksPerSm);
  // the multiprocessor with the most blocks decides
  const share = busiest / blocks;
  const missRate = Math.min(1, dramBytes / Math.max(1, sectors * 32));
  const globalLatency = constants.globalMiss * missRate + constants.globalHit * (1 - missRate);
  const chains = counters.chains.reduce((sum, chain) => sum + chainCycles(chain, globalLatency, constants), 0);
  const latency = chains + constants.swapRound * counters.swapRounds;
  return {
    launch: constants.launch,
    latency: waves * latency,
    instructions: constants.instruction * counters.instructions * share,
    shared: constants.wavefront * counters.sharedWavefronts * share,
    constant: constants.constantPass * counters.constantPasses * share,
    l1: constants.sector * sectors * share,
    l2: constants.l2Sector * (counters.storeSectors + dramBytes / 32),
    atomics: constants.update * counters.updatesOfOneLine,
    dram: constants.dramByte * dramBytes,
  };
}

function chainCycles(chain: WarpChain, globalLatency: number, constants: TimingConstants): number {
  const { overlap } = chain;
  const memory = chain.globalDepth * globalLatency + chain.sharedDepth * constants.shared;
  const dependent =
    (constants.arithmetic * chain.arithmetic) / constants.arithmeticOverlap[overlap] +
    memory / constants.memoryOverlap[overlap];
  return Math.max(constants.leastPerInstruction * chain.instructions, dependent);
}
