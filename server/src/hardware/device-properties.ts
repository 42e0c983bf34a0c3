/**
 * What a device answers when a program asks it: members of cudaDeviceProp, attributes, and the two questions about occupancy. What follows from
 * the capability is certain; how many multiprocessors there are, and what a chip has once, is that of one device.
 */
import { type Capability, capability } from './capabilities';
import { type Device, device, typicalDevice } from './devices';
import { occupancy } from './occupancy';

export interface DeviceProperties {
  /** `H100 SXM`; undefined where no device of the capability is known. */
  readonly device: Device | undefined;
  readonly row: Capability;
  /** Of a thread of a kernel that nobody has compiled, where occupancy is asked for. */
  readonly registersPerThread: number;
}

/** Of a member or an attribute; undefined where it is not known. */
type Answer = (properties: DeviceProperties) => number | undefined;

/** Answers of one device among those of its capability. */
const ofDevice = {
  multiProcessorCount: ({ device }) => device?.sms,
  l2CacheSize: ({ device }) => device?.l2Bytes,
  totalGlobalMem: ({ device }) => device?.memoryBytes,
  clockRate: ({ device }) => device && Math.round(device.clockGHz * 1e6),
} as const satisfies Record<string, Answer>;

/** Answers of every device of a capability (what rests on the platform too has none); arrays have an answer for each element. */
const ofCapability: Readonly<Record<string, Answer | readonly Answer[]>> = {
  major: ({ row }) => Math.trunc(Number(row.cc)),
  minor: ({ row }) => Number(row.cc.split('.')[1]),
  warpSize: () => 32,
  maxThreadsPerBlock: ({ row }) => row.limits.threadsPerBlock,
  maxThreadsPerMultiProcessor: ({ row }) => row.limits.threadsPerSm,
  maxBlocksPerMultiProcessor: ({ row }) => row.limits.blocksPerSm,
  sharedMemPerBlock: ({ row }) => row.limits.sharedPerBlock,
  sharedMemPerBlockOptin: ({ row }) => row.limits.sharedPerBlockOptIn,
  sharedMemPerMultiprocessor: ({ row }) => row.limits.sharedPerSm,
  reservedSharedMemPerBlock: ({ row }) => row.limits.reservedSharedPerBlock,
  regsPerBlock: ({ row }) => row.limits.registersPerBlock,
  regsPerMultiprocessor: ({ row }) => row.limits.registersPerSm,
  maxGridSize: [0, 1, 2].map(
    (axis): Answer =>
      ({ row }) =>
        row.limits.grid[axis],
  ),
  maxThreadsDim: [0, 1, 2].map(
    (axis): Answer =>
      ({ row }) =>
        row.limits.block[axis],
  ),
  totalConstMem: () => 65_536,
  concurrentKernels: ({ row }) => Number(Number(row.cc) >= 2),
  unifiedAddressing: ({ row }) => Number(Number(row.cc) >= 2),
  managedMemory: ({ row }) => Number(Number(row.cc) >= 3),
  cooperativeLaunch: ({ row }) => Number(Number(row.cc) >= 6),
  computePreemptionSupported: ({ row }) => Number(Number(row.cc) >= 6),
  clusterLaunch: ({ row }) => Number(Number(row.cc) >= 9),
};

/** Enumerators of cudaDeviceAttr (behind cudaDevAttr), their numbers (CUDA 13.0, driver_types.h), and the members that say the same. */
export const attributes: readonly (readonly [name: string, number: number, member: string, element?: number])[] = [
  ['MaxThreadsPerBlock', 1, 'maxThreadsPerBlock'],
  ['MaxBlockDimX', 2, 'maxThreadsDim', 0],
  ['MaxBlockDimY', 3, 'maxThreadsDim', 1],
  ['MaxBlockDimZ', 4, 'maxThreadsDim', 2],
  ['MaxGridDimX', 5, 'maxGridSize', 0],
  ['MaxGridDimY', 6, 'maxGridSize', 1],
  ['MaxGridDimZ', 7, 'maxGridSize', 2],
  ['MaxSharedMemoryPerBlock', 8, 'sharedMemPerBlock'],
  ['TotalConstantMemory', 9, 'totalConstMem'],
  ['WarpSize', 10, 'warpSize'],
  ['MaxRegistersPerBlock', 12, 'regsPerBlock'],
  ['ClockRate', 13, 'clockRate'],
  ['MultiProcessorCount', 16, 'multiProcessorCount'],
  ['ConcurrentKernels', 31, 'concurrentKernels'],
  ['L2CacheSize', 38, 'l2CacheSize'],
  ['MaxThreadsPerMultiProcessor', 39, 'maxThreadsPerMultiProcessor'],
  ['UnifiedAddressing', 41, 'unifiedAddressing'],
  ['ComputeCapabilityMajor', 75, 'major'],
  ['ComputeCapabilityMinor', 76, 'minor'],
  ['MaxSharedMemoryPerMultiprocessor', 81, 'sharedMemPerMultiprocessor'],
  ['MaxRegistersPerMultiprocessor', 82, 'regsPerMultiprocessor'],
  ['ManagedMemory', 83, 'managedMemory'],
  ['ComputePreemptionSupported', 90, 'computePreemptionSupported'],
  ['CooperativeLaunch', 95, 'cooperativeLaunch'],
  ['MaxSharedMemoryPerBlockOptin', 97, 'sharedMemPerBlockOptin'],
  ['MaxBlocksPerMultiprocessor', 106, 'maxBlocksPerMultiProcessor'],
  ['ReservedSharedMemoryPerBlock', 111, 'reservedSharedMemPerBlock'],
];

/** @param cc '9.0' @param name of a device of that capability; the typical one where it is missing or of another */
export function deviceProperties(cc: string, name?: string): DeviceProperties | undefined {
  const row = capability(cc);
  const named = name === undefined ? undefined : device(name);
  return row && { row, registersPerThread: UNLIMITED, device: named?.cc === cc ? named : typicalDevice(cc) };
}

/** Registers that limit no occupancy, and some that do. */
const UNLIMITED = 1;
const LIMITING = 128;

/** The same capability on a chip with other numbers, for kernels with many registers: what both answer alike rests on the capability alone. */
export function otherDevice(properties: DeviceProperties): DeviceProperties {
  const { device: known, row } = properties;
  return {
    row,
    registersPerThread: LIMITING,
    device: known && {
      ...known,
      sms: 2 * known.sms + 3,
      l2Bytes: known.l2Bytes / 2,
      memoryBytes: known.memoryBytes / 2,
      clockGHz: 1,
    },
  };
}

/** Members with more than 32 bits. */
export const wideMembers: ReadonlySet<string> = new Set(['totalGlobalMem']);

/** Members of cudaDeviceProp that have an answer, those that are arrays with their length. */
export const memberNames: readonly (readonly [name: string, length?: number])[] = [
  ...Object.keys(ofDevice).map((name): [string] => [name]),
  ...Object.entries(ofCapability).map(([name, answer]): [string, number?] =>
    typeof answer === 'function' ? [name] : [name, answer.length],
  ),
];

/** `prop.multiProcessorCount`, `prop.maxGridSize[1]` */
export function memberAnswer(properties: DeviceProperties, name: string, element = 0): number | undefined {
  if (Object.hasOwn(ofDevice, name)) return ofDevice[name as keyof typeof ofDevice](properties);
  const answer = Object.hasOwn(ofCapability, name) ? ofCapability[name] : undefined;
  return typeof answer === 'function' ? answer(properties) : answer?.[element]?.(properties);
}

/** @param name `cudaDevAttrMultiProcessorCount`, `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT` */
export function attributeAnswer(properties: DeviceProperties, name: string): number | undefined {
  const plain = (spelled: string) => spelled.replaceAll('_', '').toLowerCase();
  const prefix = /^cudaDevAttr|^CU_DEVICE_ATTRIBUTE_/.exec(name)?.[0];
  const found = prefix ? attributes.find(([each]) => plain(each) === plain(name.slice(prefix.length))) : undefined;
  return found ? memberAnswer(properties, found[2], found[3]) : undefined;
}

/** cudaOccupancyMaxActiveBlocksPerMultiprocessor, before anybody has compiled the kernel: as if registers did not limit it. */
export function residentBlocks(
  { row, registersPerThread }: DeviceProperties,
  threadsPerBlock: number,
  sharedBytesPerBlock: number,
): number {
  return occupancy(row, { threadsPerBlock, registersPerThread, sharedBytesPerBlock }).blocksPerSm;
}

/**
 * cudaOccupancyAvailableDynamicSMemPerBlock, of a kernel without static shared memory: bytes that so many blocks of a multiprocessor leave each of
 * them, what the system keeps included (asked of an H200).
 */
export function sharedLeft({ row }: DeviceProperties, blocks: number): number | undefined {
  const { sharedPerSm, sharedPerBlock } = row.limits;
  if (blocks <= 0) return undefined;
  return Math.min(Math.floor(sharedPerSm / blocks / 128) * 128, sharedPerBlock);
}

/**
 * cudaOccupancyMaxPotentialBlockSize: the largest block among those of the best occupancy, and the blocks that fill the device; undefined where
 * the device is not known. As if registers did not limit it; what varies with the block is at most what a block may have without asking for more.
 * @param sharedOf bytes of dynamic shared memory of a block of so many threads
 * @param limit of threads a block; 0 for none
 */
export function bestBlock(
  properties: DeviceProperties,
  sharedOf: (block: number) => number | undefined,
  limit: number,
): { readonly block: number; readonly grid: number } | undefined {
  const { row, device: known } = properties;
  if (!known) return undefined;
  const most = limit > 0 ? Math.min(limit, row.limits.threadsPerBlock) : row.limits.threadsPerBlock;
  const isFixed = sharedOf(most) === sharedOf(32);
  let best = { block: 0, threads: 0 };
  for (let block = most; block > 0; block = Math.ceil(block / 32) * 32 - 32) {
    const shared = sharedOf(block);
    if (shared === undefined) return undefined;
    if (!isFixed && shared > row.limits.sharedPerBlock) continue;
    const threads = block * residentBlocks(properties, block, shared);
    if (threads > best.threads) best = { block, threads };
  }
  return best.block === 0 ? undefined : { block: best.block, grid: (known.sms * best.threads) / best.block };
}
