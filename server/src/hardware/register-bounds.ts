/**
 * The most registers a compiler may give a thread, and who says so. Measured with ptxas of CUDA 13.0 for 7.5, 8.0, 9.0 and
 * 12.0: `__maxnreg__` and `__launch_bounds__` of a kernel go before `-maxrregcount`, which only holds for kernels without
 * them; a flag below 24 counts as 24, one above the capability's most is ignored; a minimum of blocks that does not fit the
 * multiprocessor's threads is ignored ('out of range. .minnctapersm will be ignored').
 */
import type { Capability } from './capabilities';
import { registerBound } from './occupancy';

export interface BoundsGiven {
  /** Of `__launch_bounds__(maxThreads, minBlocks)`. */
  readonly launchBounds?: { readonly maxThreads: number; readonly minBlocks?: number };
  /** `__maxnreg__(n)` */
  readonly maxRegisters?: number;
  /** `-maxrregcount=n` of the build */
  readonly flag?: number;
}

export interface CompilerBound {
  readonly registers: number;
  readonly by: '__launch_bounds__' | '__maxnreg__' | '-maxrregcount';
  /** The minimum of blocks cannot be held, whatever the registers: the compiler ignores it. */
  readonly ignoresMinBlocks: boolean;
}

/** ptxas: 'adjusting per thread register count of 8 to lower bound of 24'. */
const LEAST_BY_FLAG = 24;

/** Undefined where nothing bounds the registers but the capability. */
export function compilerBound(capability: Capability, given: BoundsGiven): CompilerBound | undefined {
  const most = capability.limits.registersPerThread;
  const { launchBounds, maxRegisters, flag } = given;
  if (maxRegisters !== undefined && maxRegisters > 0)
    return { registers: Math.min(most, maxRegisters), by: '__maxnreg__', ignoresMinBlocks: false };
  if (launchBounds) {
    const { maxThreads, minBlocks = 1 } = launchBounds;
    const ignoresMinBlocks = registerBound(capability, maxThreads, minBlocks) === 0;
    // more threads than a block may have: no such block can be launched, and nothing is bound
    const registers = registerBound(capability, maxThreads, ignoresMinBlocks ? 1 : minBlocks) || most;
    return { registers, by: '__launch_bounds__', ignoresMinBlocks: ignoresMinBlocks && minBlocks > 1 };
  }
  if (flag === undefined || !(flag > 0) || flag > most) return undefined;
  return { registers: Math.max(LEAST_BY_FLAG, flag), by: '-maxrregcount', ignoresMinBlocks: false };
}
