/** One warp access and what it costs: the data that the memory models take and give. */

import type { AtomicClass } from './atomic-class';
import type { AccessBytes } from './capabilities';

/** One machine access, as far as its cost depends on it. */
export interface AccessShape {
  space: 'shared' | 'global' | 'constant' | 'local' | 'texture';
  operation: 'load' | 'store' | 'atomic';
  /** Bytes a lane moves: 1, 2, 4, 8 or 16. Addresses are multiples of it (others fault on the hardware). */
  bytes: AccessBytes;
  /** Where there is none: 'integer' for an atomic. */
  atomic?: AtomicClass;
  /**
   * Count what the profiler charges to a source line: of global atomics the distinct sectors (request_shapes.cu:135-141, 162
   * accesses on an H200), of a shared compare-and-swap loop its swaps or, for a load, its loads. Otherwise the whole traffic.
   */
  perLine?: boolean;
  resultUsed?: boolean;
  /** Whether a global load goes through L1; the capability's default when absent. */
  caching?: 'l1' | 'l2';
}

/** Counters of one warp access. Fields that do not apply to the access are 0. */
export interface WarpCounts {
  /** Shared memory: wavefronts. Constant memory: passes. */
  wavefronts: number;
  /** The profiler's ideal: the active lanes' data packed into as few requests as hold it; at most `wavefronts`. */
  idealWavefronts: number;
  /**
   * What these lanes need wherever their data lies: they cannot be packed into fewer requests. What exceeds this is
   * bank conflicts; what exceeds only the ideal comes from inactive lanes.
   */
  leastWavefronts: number;
  /** Global, local and texture: 32-byte sectors moved (on 1.x and for 2.x lines: bytes moved / 32). */
  sectors: number;
  idealSectors: number;
  /** Memory transactions: segments on 1.x, 128-byte lines of cached 2.x loads, sectors elsewhere. */
  transactions: number;
  /** Active lanes. */
  lanes: number;
}

/** Adds one warp access with at least one active lane to zeroed counts; see MemoryModel.count. */
export type Counter = (
  shape: AccessShape,
  addresses: Float64Array,
  active: Uint8Array,
  first: number,
  lanes: number,
  out: WarpCounts,
) => void;

/** Counters all at zero, to be handed to `count` again and again. */
export function emptyCounts(): WarpCounts {
  return {
    wavefronts: 0,
    idealWavefronts: 0,
    leastWavefronts: 0,
    sectors: 0,
    idealSectors: 0,
    transactions: 0,
    lanes: 0,
  };
}
