import type { MemorySpace } from '../program/program';

/** What a launch gives an input register. */
export type InputValue =
  | { readonly kind: 'number'; readonly value: number }
  /** an address: `allocation` numbers distinct buffers, `offset` bytes into it */
  | { readonly kind: 'pointer'; readonly allocation: number; readonly offset: number }
  | { readonly kind: 'unknown'; readonly reason: string };

export interface LaunchShape {
  readonly grid: readonly [number, number, number];
  readonly block: readonly [number, number, number];
  readonly dynamicSharedBytes: number;
  /** By index into Program.inputs; only kinds 'parameter' and 'global' need a value, missing ones are unknown. */
  readonly inputs: ReadonlyMap<number, InputValue>;
  /** What memory holds when the kernel begins, as far as it is known. */
  readonly data?: GlobalData;
}

/** Memory as the program of the host has left it; addresses are the host's. */
export interface GlobalData {
  readonly blocks: readonly MemoryBlock[];
  /** By index into Program.inputs: where a pointer leads to. */
  readonly pointers: ReadonlyMap<number, number>;
  /** Objects of the device, by name. */
  readonly symbols: ReadonlyMap<string, number | undefined>;
  /** The seed that was assumed for random numbers among it; undefined where the program gives one. */
  readonly seed?: number;
  /** Files that the program has read for it, perhaps. */
  readonly files?: readonly string[];
}

export interface MemoryBlock {
  readonly address: number;
  readonly size: number;
  /** Undefined: nothing of it is known. */
  readonly bytes: Uint8Array | undefined;
  /** By byte: 0 where it is not known; undefined: all is known. */
  readonly shadows: Uint8Array | undefined;
  /** Kernels that were launched before have written to it. */
  readonly isResult?: boolean;
  /** Nothing was written to it: zeros without bytes. */
  readonly isZero?: boolean;
}

export interface ExecutionBudget {
  /** Warp instructions over the whole execution. */
  readonly warpInstructions: number;
  /** The first block may have as many of them in any case; half of all otherwise. */
  readonly firstBlock?: number;
  /** Blocks executed at most. */
  readonly blocks: number;
  /** Warp instructions after which the passes of a loop are sampled where no proof skips them; never by default. */
  readonly sampleLoopsAfter?: number;
  /** Polled now and then; true stops the execution with a partial result. */
  readonly cancelled?: () => boolean;
  /** Execute every pass of every loop, also where passes are proven to count the same (for tests). */
  readonly everyPass?: boolean;
}

/** One access site in one space, counted over the whole grid (sampled blocks weighted up). */
export interface AccessCounts {
  readonly access: number;
  readonly space: MemorySpace;
  /** Bytes a lane of the machine access (the largest, if instructions differ). */
  bytesPerLane: number;
  requests: number;
  activeLanes: number;
  wavefronts: number;
  idealWavefronts: number;
  sectors: number;
  idealSectors: number;
  transactions: number;
  /** Requests whose address was unknown in some active lane: in `requests` and `activeLanes`, in no other figure. */
  unknownRequests: number;
  unknownReason?: string;
  /** Executed under a branch or loop whose outcome was not known; the reason. */
  speculative?: string;
  /** Blocks differ in what they count here, and only some of them were executed. */
  isSampled?: boolean;
  /** The request with the highest excess (the first such). */
  witness?: Witness;
}

export interface Witness {
  readonly block: readonly [number, number, number];
  /** First thread (linear index in the block) of the warp. */
  readonly firstThread: number;
  /** 32 byte addresses (relative to the object's window for shared), NaN: lane inactive. */
  readonly addresses: readonly number[];
  /** Of an asynchronous copy whose cost comes from where it reads: those addresses in global memory. */
  readonly sources?: readonly number[];
  readonly bytes: number;
  readonly wavefronts: number;
  readonly idealWavefronts: number;
  readonly sectors: number;
  readonly idealSectors: number;
}

export interface BranchCounts {
  readonly branch: number;
  /** Warps that came to the branch (times), whole grid. */
  executed: number;
  /** Of these: lanes went both ways. */
  divergent: number;
  unknown: number;
}

export interface Execution {
  readonly accesses: readonly AccessCounts[];
  readonly branches: readonly BranchCounts[];
  /** Updates by atomics that the line of global memory takes that takes most, one after the other. */
  readonly updatesOfOneLine: number;
  /** Warp-level executions of every basic block, whole grid. */
  readonly blockExecutions: Float64Array;
  /** Sum over active lanes of the same. */
  readonly laneExecutions: Float64Array;
  /** Warp instructions really simulated (not scaled). */
  readonly simulatedWarpInstructions: number;
  readonly simulatedBlocks: number;
  /** All blocks gave the same counts (or the grid was executed wholly): figures are exact, not sampled. */
  readonly uniformBlocks: boolean;
  /** Loads that the contents of memory at the launch have given a value; undefined without such contents. */
  readonly givenLoads?: ReadonlySet<number>;
  /** Of these: loads of what kernels before have written. */
  readonly resultLoads?: ReadonlySet<number>;
  /** Of these: loads of what blocks of the launch have stored; they were all executed, one after the other, on the same memory. */
  readonly orderedLoads?: ReadonlySet<number>;
  /** Of these: loads of memory that nothing was written to before the launch. */
  readonly zeroLoads?: ReadonlySet<number>;
  /** Some passes of long loops were counted like those around them. */
  readonly sampledLoops: boolean;
  /** Undefined when everything was executed within the budget. */
  readonly incomplete?: string;
}
