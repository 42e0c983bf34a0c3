/**
 * What differs between GPU generations, one row a compute capability. Every rule the memory models and the occupancy
 * calculator need is a column here; no other module asks which capability it has.
 *
 * Sources named in the notes: 'guide' = CUDA C Programming Guide (edition 4.2 for 1.x to 3.0, 11.x and 13.x later),
 * 'header' = the occupancy header of the CUDA 13.0 toolkit, 'measured' = hardware counters of an H200.
 */

/** Bytes one lane moves in one machine access. */
export type AccessBytes = 1 | 2 | 4 | 8 | 16;

/** A figure for each access width. */
export type ByWidth = Readonly<Record<AccessBytes, number>>;

export interface SharedRules {
  /** Banks, and the bytes a bank delivers in one cycle. */
  readonly banks: number;
  readonly bankBytes: number;
  /** Consecutive bytes before the next bank begins (3.x in its default mode: 4, although a bank is 8 bytes wide). */
  readonly interleaveBytes: number;
  /** Lanes served as one request (phase), by access width; a warp is cut into requests from lane 0 up. */
  readonly lanesPerRequest: ByWidth;
  /** Widest access served whole; wider ones are cut into requests of this many bytes a lane. */
  readonly widestRequestBytes: 4 | 16;
  /**
   * 'broadcast-steps': one word is broadcast a step, every other bank serves one lane (guide, 1.x).
   * 'multicast': a bank delivers one row a wavefront to all lanes that want it.
   */
  readonly serve: 'broadcast-steps' | 'multicast';
  /** Wavefronts added to each request that has an active lane, by width (2.x: 16-byte accesses, guide 4.2). */
  readonly extraWavefronts: ByWidth;
  /** 8- and 16-byte loads merge two requests when lanes n and n^1, or n and n^2, agree in their address. */
  readonly mergesPairedLoads: boolean;
  readonly atomics: 'none' | 'lock-loop' | 'native';
}

export interface GlobalRules {
  /** Lanes of one request, by access width. */
  readonly lanesPerRequest: ByWidth;
  /**
   * 'segment-in-order': lane k on word k of an aligned segment, or each lane alone (1.0, 1.1).
   * 'segment-shrinking': the lowest lane's segment, shrunk to what is used, repeated (1.2, 1.3).
   * 'lines': distinct units of lineBytes.
   */
  readonly coalescing: 'segment-in-order' | 'segment-shrinking' | 'lines';
  /** Bytes fetched together: on a load through L1, and otherwise. */
  readonly cachedLineBytes: number;
  readonly lineBytes: number;
  /** Whether loads go through L1 unless told otherwise. */
  readonly loadsCachedByDefault: boolean;
  /** How many lanes of one request read constant memory together (one address a pass). */
  readonly constantLanesPerRequest: number;
  readonly atomics: 'none' | 'native';
}

export interface Limits {
  readonly threadsPerBlock: number;
  readonly threadsPerSm: number;
  readonly warpsPerSm: number;
  readonly blocksPerSm: number;
  /** Blocks of a grid along x, y, z (guide, appendix of technical specifications). */
  readonly grid: readonly [number, number, number];
  /** Threads of a block along x, y, z (same table); all together: threadsPerBlock. */
  readonly block: readonly [number, number, number];
  readonly registersPerSm: number;
  readonly registersPerBlock: number;
  /** What a compiler may assign; use this in advice. */
  readonly registersPerThread: number;
  /** What the occupancy header lets through (one more than the guide from 7.0). */
  readonly registersPerThreadAccepted: number;
  /** Bytes. */
  readonly sharedPerSm: number;
  readonly sharedPerBlock: number;
  readonly sharedPerBlockOptIn: number;
  /** Bytes the driver takes from every block. */
  readonly reservedSharedPerBlock: number;
  /** Sizes in bytes, ascending, that shared memory can be set to; empty where it is fixed. */
  readonly carveouts: readonly number[];
  /** Whether a block that needs more than the carve-out wished raises it to the next size, or to the largest. */
  readonly carveoutRaise: 'next' | 'largest';
  readonly sharedGranularity: number;
  readonly registerGranularity: number;
  /** 'block' (1.x), 'warp' (2.x, whole SM), 'partition' (3.0 and later, each partition on its own). */
  readonly registerAllocation: 'block' | 'warp' | 'partition';
  /** Partitions of the SM; on 1.x and 2.x the number of warps allocated together. */
  readonly partitions: number;
  /** Partitions the launch check for registers assumes where it differs (6.0 must fit a 6.1 too; header). */
  readonly launchCheckPartitions: number;
  /** Named barriers an SM; undefined where the header has no such limit (before 9.0). */
  readonly barriersPerSm: number | undefined;
  /** Whether half-SM partitioned global caching exists (5.2, 5.3, 6.1, 6.2; header). */
  readonly partitionedGlobalCaching: boolean;
}

/** A fact on which sources disagree, or that is carried over without a measurement. */
export interface CapabilityNote {
  readonly text: string;
  readonly source: string;
}

export interface Capability {
  /** As users write it: '9.0'. */
  readonly cc: string;
  readonly major: number;
  readonly minor: number;
  readonly architecture: string;
  readonly warpSize: 32;
  readonly shared: SharedRules;
  readonly global: GlobalRules;
  readonly limits: Limits;
  /** Bytes of constant memory. */
  readonly constantBytes: number;
  /** Whether the kernel's arguments occupy shared memory (1.x). */
  readonly argumentsInShared: boolean;
  readonly notes: readonly CapabilityNote[];
}

const K = 1024;

const sameForAll = (value: number): ByWidth => ({ 1: value, 2: value, 4: value, 8: value, 16: value });
const byPhases: ByWidth = { 1: 32, 2: 32, 4: 32, 8: 16, 16: 8 };

const sharedTesla: SharedRules = {
  banks: 16,
  bankBytes: 4,
  interleaveBytes: 4,
  lanesPerRequest: sameForAll(16),
  widestRequestBytes: 4,
  serve: 'broadcast-steps',
  extraWavefronts: sameForAll(0),
  mergesPairedLoads: false,
  atomics: 'none',
};
const sharedTesla12: SharedRules = { ...sharedTesla, atomics: 'lock-loop' };
const sharedFermi: SharedRules = {
  banks: 32,
  bankBytes: 4,
  interleaveBytes: 4,
  lanesPerRequest: byPhases,
  widestRequestBytes: 16,
  serve: 'multicast',
  extraWavefronts: { ...sameForAll(0), 16: 1 },
  mergesPairedLoads: false,
  atomics: 'lock-loop',
};
const sharedKepler: SharedRules = {
  ...sharedFermi,
  bankBytes: 8,
  lanesPerRequest: sameForAll(32),
  extraWavefronts: sameForAll(0),
};
const sharedMaxwell: SharedRules = { ...sharedFermi, extraWavefronts: sameForAll(0), atomics: 'native' };
const sharedVolta: SharedRules = { ...sharedMaxwell, mergesPairedLoads: true };

const globalTesla: GlobalRules = {
  lanesPerRequest: sameForAll(16),
  coalescing: 'segment-in-order',
  cachedLineBytes: 32,
  lineBytes: 32,
  loadsCachedByDefault: false,
  constantLanesPerRequest: 16,
  atomics: 'none',
};
const globalTesla12: GlobalRules = { ...globalTesla, coalescing: 'segment-shrinking', atomics: 'native' };
const globalFermi: GlobalRules = {
  lanesPerRequest: byPhases,
  coalescing: 'lines',
  cachedLineBytes: 128,
  lineBytes: 32,
  loadsCachedByDefault: true,
  constantLanesPerRequest: 32,
  atomics: 'native',
};
const globalKepler: GlobalRules = { ...globalFermi, cachedLineBytes: 32, loadsCachedByDefault: false };
const globalMaxwell: GlobalRules = { ...globalKepler, lanesPerRequest: sameForAll(32) };
const globalPascal: GlobalRules = { ...globalMaxwell, loadsCachedByDefault: true };

const limitsTesla: Limits = {
  grid: [65535, 65535, 1],
  block: [512, 512, 64],
  threadsPerBlock: 512,
  threadsPerSm: 768,
  warpsPerSm: 24,
  blocksPerSm: 8,
  registersPerSm: 8 * K,
  registersPerBlock: 8 * K,
  registersPerThread: 124,
  registersPerThreadAccepted: 124,
  sharedPerSm: 16 * K,
  sharedPerBlock: 16 * K,
  sharedPerBlockOptIn: 16 * K,
  reservedSharedPerBlock: 0,
  carveouts: [],
  carveoutRaise: 'largest',
  sharedGranularity: 512,
  registerGranularity: 256,
  registerAllocation: 'block',
  partitions: 2,
  launchCheckPartitions: 1,
  barriersPerSm: undefined,
  partitionedGlobalCaching: false,
};
const limitsTesla12: Limits = {
  ...limitsTesla,
  threadsPerSm: 1024,
  warpsPerSm: 32,
  registersPerSm: 16 * K,
  registersPerBlock: 16 * K,
  registerGranularity: 512,
};
const limitsFermi: Limits = {
  ...limitsTesla,
  grid: [65535, 65535, 65535],
  block: [1024, 1024, 64],
  threadsPerBlock: 1024,
  threadsPerSm: 1536,
  warpsPerSm: 48,
  registersPerSm: 32 * K,
  registersPerBlock: 32 * K,
  registersPerThread: 63,
  registersPerThreadAccepted: 63,
  sharedPerSm: 48 * K,
  sharedPerBlock: 48 * K,
  sharedPerBlockOptIn: 48 * K,
  carveouts: [16 * K, 48 * K],
  sharedGranularity: 128,
  registerGranularity: 64,
  registerAllocation: 'warp',
};
const limitsKepler: Limits = {
  ...limitsFermi,
  grid: [2 ** 31 - 1, 65535, 65535],
  threadsPerSm: 2048,
  warpsPerSm: 64,
  blocksPerSm: 16,
  registersPerSm: 64 * K,
  registersPerBlock: 64 * K,
  registersPerThread: 255,
  registersPerThreadAccepted: 255,
  carveouts: [16 * K, 32 * K, 48 * K],
  sharedGranularity: 256,
  registerGranularity: 256,
  registerAllocation: 'partition',
  partitions: 4,
  launchCheckPartitions: 4,
};
const limitsMaxwell: Limits = { ...limitsKepler, blocksPerSm: 32, sharedPerSm: 64 * K, carveouts: [] };
const limitsVolta: Limits = {
  ...limitsMaxwell,
  registersPerThreadAccepted: 256,
  sharedPerSm: 96 * K,
  sharedPerBlockOptIn: 96 * K,
  carveouts: [0, 8 * K, 16 * K, 32 * K, 64 * K, 96 * K],
  carveoutRaise: 'next',
};
const carveouts100 = [0, 8 * K, 16 * K, 32 * K, 64 * K, 100 * K];
const carveouts164 = [...carveouts100, 132 * K, 164 * K];
const carveouts228 = [...carveouts164, 196 * K, 228 * K];
const limitsAmpere: Limits = {
  ...limitsVolta,
  sharedPerSm: 164 * K,
  sharedPerBlockOptIn: 163 * K,
  reservedSharedPerBlock: K,
  carveouts: carveouts164,
  sharedGranularity: 128,
};
const limitsAmpereSmall: Limits = {
  ...limitsAmpere,
  threadsPerSm: 1536,
  warpsPerSm: 48,
  blocksPerSm: 16,
  sharedPerSm: 100 * K,
  sharedPerBlockOptIn: 99 * K,
  carveouts: carveouts100,
};
const limitsAda: Limits = { ...limitsAmpereSmall, blocksPerSm: 24 };
const limitsHopper: Limits = {
  ...limitsAmpere,
  sharedPerSm: 228 * K,
  sharedPerBlockOptIn: 227 * K,
  carveouts: carveouts228,
  barriersPerSm: 64,
};

const notes = {
  broadcast: {
    text: 'Which word a request broadcasts first is unspecified; the lowest waiting lane is taken.',
    source: 'guide',
  },
  fermiWide: {
    text: 'A 16-byte access takes one wavefront more than its conflict degree in every quarter-warp.',
    source: 'guide 4.2',
  },
  keplerMode: {
    text: 'Four-byte bank mode, the default of the runtime; the eight-byte mode is keplerEightByteMode.',
    source: 'guide',
  },
  noMerge: {
    text: 'Whether 8- and 16-byte loads of paired lanes merge is not known; assumed not.',
    source: 'not measured',
  },
  mergeTalk: {
    text: '8- and 16-byte loads of paired lanes merge, as on 7.0 to 7.5 and, measured, on 9.0.',
    source: 'vendor forum (7.x), measured (9.0), carried over elsewhere',
  },
  quarterWarps: {
    text: 'A 16-byte access is served as four quarter-warps; one assembler author reports two phases on Maxwell.',
    source: 'measured on 9.0, carried over',
  },
  registers256: {
    text: 'The occupancy header accepts 256 registers a thread, the guide says 255; advice uses 255.',
    source: 'header, guide',
  },
  registers52: {
    text: '65,536 registers a block; the vendor spreadsheet says 32,768.',
    source: 'header, vendor spreadsheet',
  },
  renamed: { text: 'Called 10.1 before CUDA 13; 1,536 threads and 24 blocks.', source: 'header, guide 13' },
  gp100: {
    text: 'A launch must also fit the four partitions of 6.1, although 6.0 has two.',
    source: 'header',
  },
  atomicsCarried: {
    text: 'Wavefronts and sectors of atomics follow the rules measured on 9.0.',
    source: 'measured on 9.0, carried over',
  },
} as const satisfies Record<string, CapabilityNote>;

const maxwellNotes = [notes.noMerge, notes.quarterWarps, notes.atomicsCarried];
const voltaNotes = [notes.mergeTalk, notes.quarterWarps, notes.registers256, notes.atomicsCarried];
const hopperNotes = [notes.registers256];

interface Row {
  readonly cc: string;
  readonly architecture: string;
  readonly shared: SharedRules;
  readonly global: GlobalRules;
  readonly limits: Limits;
  readonly notes: readonly CapabilityNote[];
  readonly argumentsInShared?: boolean;
}

const teslaNotes = [notes.broadcast];
const tesla = { architecture: 'Tesla', notes: teslaNotes, argumentsInShared: true };
const fermi = {
  architecture: 'Fermi',
  shared: sharedFermi,
  global: globalFermi,
  limits: limitsFermi,
  notes: [notes.fermiWide, notes.atomicsCarried],
};
const kepler = {
  architecture: 'Kepler',
  shared: sharedKepler,
  global: globalKepler,
  notes: [notes.keplerMode, notes.atomicsCarried],
};
const maxwell = { architecture: 'Maxwell', shared: sharedMaxwell, global: globalMaxwell, notes: maxwellNotes };
const pascal = { architecture: 'Pascal', shared: sharedMaxwell, global: globalPascal, notes: maxwellNotes };
const modern = { shared: sharedVolta, global: globalPascal, notes: voltaNotes };

// biome-ignore format: one row a capability
const rows: readonly Row[] = [
  { cc: '1.0', ...tesla, shared: sharedTesla, global: globalTesla, limits: limitsTesla },
  { cc: '1.1', ...tesla, shared: sharedTesla, global: { ...globalTesla, atomics: 'native' }, limits: limitsTesla },
  { cc: '1.2', ...tesla, shared: sharedTesla12, global: globalTesla12, limits: limitsTesla12 },
  { cc: '1.3', ...tesla, shared: sharedTesla12, global: globalTesla12, limits: limitsTesla12 },
  { cc: '2.0', ...fermi },
  { cc: '2.1', ...fermi },
  { cc: '3.0', ...kepler, limits: { ...limitsKepler, registersPerThread: 63 } },
  { cc: '3.2', ...kepler, limits: { ...limitsKepler, registersPerBlock: 32 * K } },
  { cc: '3.5', ...kepler, limits: limitsKepler },
  { cc: '3.7', ...kepler, limits: { ...limitsKepler, registersPerSm: 128 * K, sharedPerSm: 112 * K, carveouts: [80 * K, 96 * K, 112 * K] } },
  { cc: '5.0', ...maxwell, limits: limitsMaxwell },
  { cc: '5.2', ...maxwell, limits: { ...limitsMaxwell, sharedPerSm: 96 * K, partitionedGlobalCaching: true }, notes: [...maxwellNotes, notes.registers52] },
  { cc: '5.3', ...maxwell, limits: { ...limitsMaxwell, registersPerBlock: 32 * K, partitionedGlobalCaching: true } },
  { cc: '6.0', ...pascal, limits: { ...limitsMaxwell, partitions: 2 }, notes: [...maxwellNotes, notes.gp100] },
  { cc: '6.1', ...pascal, limits: { ...limitsMaxwell, sharedPerSm: 96 * K, partitionedGlobalCaching: true } },
  { cc: '6.2', ...pascal, limits: { ...limitsMaxwell, registersPerBlock: 32 * K, partitionedGlobalCaching: true } },
  { cc: '7.0', architecture: 'Volta', ...modern, limits: limitsVolta },
  { cc: '7.2', architecture: 'Volta', ...modern, limits: limitsVolta },
  { cc: '7.5', architecture: 'Turing', ...modern, limits: { ...limitsVolta, threadsPerSm: 1024, warpsPerSm: 32, blocksPerSm: 16, sharedPerSm: 64 * K, sharedPerBlockOptIn: 64 * K, carveouts: [32 * K, 64 * K] } },
  { cc: '8.0', architecture: 'Ampere', ...modern, limits: limitsAmpere },
  { cc: '8.6', architecture: 'Ampere', ...modern, limits: limitsAmpereSmall },
  { cc: '8.7', architecture: 'Ampere', ...modern, limits: { ...limitsAmpereSmall, sharedPerSm: 164 * K, sharedPerBlockOptIn: 163 * K, carveouts: carveouts164 } },
  { cc: '8.8', architecture: 'Ampere', ...modern, limits: limitsAmpereSmall },
  { cc: '8.9', architecture: 'Ada', ...modern, limits: limitsAda },
  { cc: '9.0', architecture: 'Hopper', ...modern, limits: limitsHopper, notes: hopperNotes },
  { cc: '10.0', architecture: 'Blackwell', ...modern, limits: limitsHopper },
  { cc: '10.3', architecture: 'Blackwell', ...modern, limits: limitsHopper },
  { cc: '11.0', architecture: 'Blackwell', ...modern, limits: { ...limitsHopper, threadsPerSm: 1536, warpsPerSm: 48, blocksPerSm: 24, barriersPerSm: 24 }, notes: [...voltaNotes, notes.renamed] },
  { cc: '12.0', architecture: 'Blackwell', ...modern, limits: { ...limitsAda, barriersPerSm: 24 } },
  { cc: '12.1', architecture: 'Blackwell', ...modern, limits: { ...limitsAda, barriersPerSm: 24 } },
];

/** Every compute capability known, ascending. */
export const capabilities: readonly Capability[] = rows.map(({ cc, argumentsInShared = false, ...row }) => {
  const [major, minor] = cc.split('.').map(Number);
  return { cc, major, minor, warpSize: 32, constantBytes: 64 * K, argumentsInShared, ...row };
});

const renamed: Readonly<Record<string, string>> = { '10.1': '11.0' };
const byName = new Map(capabilities.map((row) => [row.cc, row]));

/** The row for a capability written '9.0', 'sm_90', 'compute_90a' or '90'; undefined when it is not known. */
export function capability(cc: string): Capability | undefined {
  const written = /^(?:sm_|compute_|lto_)?(\d+?)\.?(\d)[af]?$/.exec(cc.trim().toLowerCase());
  if (written === null) return undefined;
  const name = `${written[1]}.${written[2]}`;
  return byName.get(renamed[name] ?? name);
}

/** Eight-byte bank mode of 3.x (cudaSharedMemBankSizeEightByte): the same table row with banks interleaved by 8 bytes. */
export function keplerEightByteMode(row: Capability): Capability {
  return { ...row, shared: { ...row.shared, interleaveBytes: row.shared.bankBytes } };
}
