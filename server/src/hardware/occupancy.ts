/**
 * How many blocks of a kernel one multiprocessor holds, and what stops it from holding more. The rules for 3.0 and
 * later are those of the CUDA 13.0 occupancy header, for 1.x and 2.x those of the programming guide 4.2.
 */

import type { Capability, Limits } from './capabilities';

/** What a launch asks of a multiprocessor. */
export interface OccupancyRequest {
  readonly threadsPerBlock: number;
  readonly registersPerThread: number;
  /** Static and dynamic bytes together; on 1.x the kernel's arguments as well. */
  readonly sharedBytesPerBlock: number;
  /** Named barriers a block uses; counted on 9.0 and later, left out when absent. */
  readonly barriers?: number;
  /** Bytes of shared memory wished for the multiprocessor; the largest when absent. Rounds up to the next size. */
  readonly carveoutBytes?: number;
  /** Partitioned global caching of 5.2, 5.3, 6.1 and 6.2 ('strict': even if the launch then fails); off when absent. */
  readonly partitionedGlobalCaching?: 'off' | 'on' | 'strict';
}

export type Limiter = 'warps' | 'blocks' | 'registers' | 'shared' | 'barriers';

/** Blocks a multiprocessor would hold if only this resource mattered; null where the kernel does not use it. */
export interface BlockLimits {
  readonly warps: number;
  readonly blocks: number;
  readonly registers: number | null;
  readonly shared: number | null;
  /** Absent where barriers are not counted. */
  readonly barriers?: number;
}

/** Why a launch fails: the launch wants `wanted` of something of which `allowed` is the most. */
export interface LaunchFailure {
  readonly resource: 'threads-per-block' | 'registers-per-thread' | 'registers-per-block' | 'shared-per-block';
  readonly wanted: number;
  readonly allowed: number;
}

export interface Occupancy {
  readonly blocksPerSm: number;
  readonly warpsPerSm: number;
  /** Resident warps over the most the multiprocessor holds, 0 … 1. */
  readonly theoretical: number;
  readonly limits: BlockLimits;
  /** Every resource whose limit is blocksPerSm. */
  readonly limitedBy: readonly Limiter[];
  readonly launchFailures: readonly LaunchFailure[];
  readonly warpsPerBlock: number;
  /** Lanes of a block's last warp that have no thread. */
  readonly idleLanesOfLastWarp: number;
  /** What the hardware sets aside for a block, after rounding and with what the driver reserves. */
  readonly allocatedRegistersPerBlock: number;
  readonly allocatedSharedBytesPerBlock: number;
  /** Whether the shared memory needs the opt-in attribute (cudaFuncAttributeMaxDynamicSharedMemorySize). */
  readonly needsSharedOptIn: boolean;
}

function roundUp(value: number, granularity: number): number {
  return Math.ceil(value / granularity) * granularity;
}

interface RegisterNeed {
  /** Registers a warp takes (3.0 and later), 0 where that does not matter. */
  readonly perWarp: number;
  readonly perBlock: number;
  /** What the launch check compares with the registers a block may have. */
  readonly checked: number;
}

const WARP = 32;

type RegisterRule = (limits: Limits, warps: number, registers: number) => RegisterNeed;

const registerRules: Readonly<Record<Limits['registerAllocation'], RegisterRule>> = {
  block: (limits, warps, registers) => {
    const perBlock = roundUp(roundUp(warps, limits.partitions) * registers * WARP, limits.registerGranularity);
    return { perWarp: 0, perBlock, checked: perBlock };
  },
  warp: (limits, warps, registers) => {
    const perBlock = roundUp(registers * WARP, limits.registerGranularity) * warps;
    return { perWarp: 0, perBlock, checked: perBlock };
  },
  partition: (limits, warps, registers) => {
    const perWarp = roundUp(registers * WARP, limits.registerGranularity);
    const checked = perWarp * roundUp(warps, limits.launchCheckPartitions);
    return { perWarp, perBlock: perWarp * warps, checked };
  },
};

/** Blocks for which the registers suffice, and whether partitioned global caching stays on. */
function registerLimit(
  limits: Limits,
  need: RegisterNeed,
  warps: number,
  caching: 'off' | 'on' | 'strict',
): { blocks: number | null; isPartitioned: boolean } {
  if (need.perBlock === 0) return { blocks: null, isPartitioned: caching !== 'off' };
  if (need.perWarp === 0) return { blocks: Math.floor(limits.registersPerSm / need.perBlock), isPartitioned: false };
  const warpsPerPartition = Math.floor(limits.registersPerSm / limits.partitions / need.perWarp);
  if (caching !== 'off') {
    const blocks = 2 * Math.floor((warpsPerPartition * (limits.partitions / 2)) / warps);
    if (blocks > 0 || caching === 'strict') return { blocks, isPartitioned: true };
  }
  return { blocks: Math.floor((warpsPerPartition * limits.partitions) / warps), isPartitioned: false };
}

/** Bytes of shared memory the multiprocessor is set to for blocks of `allocated` bytes. */
function sharedConfiguration(limits: Limits, allocated: number, wish: number | undefined): number {
  const { carveouts, sharedPerSm } = limits;
  if (wish === undefined || carveouts.length === 0) return sharedPerSm;
  const preferred = carveouts.find((size) => size >= wish) ?? sharedPerSm;
  if (preferred >= allocated || limits.carveoutRaise === 'largest') {
    return preferred >= allocated ? preferred : sharedPerSm;
  }
  return carveouts.find((size) => size >= allocated) ?? sharedPerSm;
}

function findFailures(
  limits: Limits,
  request: OccupancyRequest,
  registers: RegisterNeed,
  sharedAllocated: number,
): LaunchFailure[] {
  const checks: LaunchFailure[] = [
    { resource: 'threads-per-block', wanted: request.threadsPerBlock, allowed: limits.threadsPerBlock },
    {
      resource: 'registers-per-thread',
      wanted: request.registersPerThread,
      allowed: limits.registersPerThreadAccepted,
    },
    { resource: 'registers-per-block', wanted: registers.checked, allowed: limits.registersPerBlock },
    {
      resource: 'shared-per-block',
      wanted: sharedAllocated,
      allowed: limits.sharedPerBlockOptIn + limits.reservedSharedPerBlock,
    },
  ];
  return checks.filter(({ wanted, allowed }) => wanted > allowed);
}

const limiters: readonly Limiter[] = ['warps', 'blocks', 'registers', 'shared', 'barriers'];

/**
 * The occupancy of a launch. Whole numbers from 0 up are expected, at least one thread a block; what does not fit gives
 * 0 blocks and the reasons in launchFailures.
 */
export function occupancy(capability: Capability, request: OccupancyRequest): Occupancy {
  const { limits } = capability;
  const threads = Math.max(1, request.threadsPerBlock);
  const warps = Math.ceil(threads / WARP);
  const registers = registerRules[limits.registerAllocation](limits, warps, request.registersPerThread);
  const sharedAllocated = roundUp(
    request.sharedBytesPerBlock + limits.reservedSharedPerBlock,
    limits.sharedGranularity,
  );
  const launchFailures = findFailures(limits, request, registers, sharedAllocated);
  const fails = (resource: LaunchFailure['resource']) =>
    launchFailures.some((failure) => failure.resource === resource);

  const caching = limits.partitionedGlobalCaching ? (request.partitionedGlobalCaching ?? 'off') : 'off';
  const byRegisters =
    fails('registers-per-block') || fails('registers-per-thread')
      ? { blocks: 0, isPartitioned: caching !== 'off' }
      : registerLimit(limits, registers, warps, caching);
  const warpSlots = byRegisters.isPartitioned ? limits.warpsPerSm / 2 : limits.warpsPerSm;
  const perWarps = Math.floor(warpSlots / warps) * (byRegisters.isPartitioned ? 2 : 1);
  const configured = sharedConfiguration(limits, sharedAllocated, request.carveoutBytes);
  const byShared = sharedAllocated === 0 ? null : Math.floor(configured / sharedAllocated);
  const countsBarriers = limits.barriersPerSm !== undefined && request.barriers !== undefined && request.barriers > 0;

  const blockLimits: BlockLimits = {
    warps: fails('threads-per-block') ? 0 : perWarps,
    blocks: limits.blocksPerSm,
    registers: byRegisters.blocks,
    shared: fails('shared-per-block') ? 0 : byShared,
    ...(countsBarriers ? { barriers: Math.floor((limits.barriersPerSm ?? 0) / (request.barriers ?? 1)) } : {}),
  };
  const values = limiters.map((name) => blockLimits[name] ?? Number.POSITIVE_INFINITY);
  const blocksPerSm = Math.min(...values);
  const warpsPerSm = blocksPerSm * warps;
  return {
    blocksPerSm,
    warpsPerSm,
    theoretical: warpsPerSm / limits.warpsPerSm,
    limits: blockLimits,
    limitedBy: limiters.filter((_, index) => values[index] === blocksPerSm),
    launchFailures,
    warpsPerBlock: warps,
    idleLanesOfLastWarp: warps * WARP - threads,
    allocatedRegistersPerBlock: registers.perBlock,
    allocatedSharedBytesPerBlock: sharedAllocated,
    needsSharedOptIn: request.sharedBytesPerBlock > limits.sharedPerBlock && !fails('shared-per-block'),
  };
}

/**
 * The most registers a thread may have so that `minBlocks` blocks of `maxThreads` threads fit one multiprocessor: the
 * bound that __launch_bounds__(maxThreads, minBlocks) sets. 0 when not even one register would fit.
 */
export function registerBound(capability: Capability, maxThreads: number, minBlocks = 1): number {
  let registers = capability.limits.registersPerThread;
  const fits = (count: number) =>
    occupancy(capability, { threadsPerBlock: maxThreads, registersPerThread: count, sharedBytesPerBlock: 0 })
      .blocksPerSm >= minBlocks;
  while (registers > 0 && !fits(registers)) registers--;
  return registers;
}
