/**
 * What Warplens knows about a file: plain data, serialisable, the one source of everything a user sees. The shape is that of
 * the command line's JSON (version 1), with more fields where the editor needs them. Lines and columns count from 1.
 */
import type { Occupancy } from '../hardware/occupancy';
import type { OccupancyCurve } from '../hardware/occupancy-curves';
import type { CompilerBound } from '../hardware/register-bounds';
import type { TimeEstimate } from '../hardware/timing';
import type { MemorySpace } from '../program/program';

export type Certainty = 'exact' | 'assumed' | 'unknown';

export interface Range {
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  /** exclusive */
  readonly endColumn: number;
}

/** A range in a file of the unit (the file itself or an include). */
export interface Location extends Range {
  readonly file: string;
}

export type LaunchOrigin = 'launch-site' | 'annotation' | 'setting' | 'launch-bounds' | 'assumed';

export interface Assumption {
  readonly name: string;
  readonly value: number;
  /** 'device': what a device of the capability answers the host */
  readonly origin: LaunchOrigin | 'device';
}

/** The warp access that shows the trouble best, so that a reader can check the figure. */
export interface AccessWitness {
  readonly block: readonly [number, number, number];
  /** threadIdx of the first lane of the warp */
  readonly thread: readonly [number, number, number];
  /** byte address per lane, null where inactive; shared: offset from the array's start, global: from the allocation's */
  readonly addresses: readonly (number | null)[];
  /** of an asynchronous copy whose conflict comes from where it reads: byte addresses in global memory, per lane */
  readonly sources?: readonly (number | null)[];
  /** of an asynchronous copy that does not go through L1 (cp.async.cg) */
  readonly isPastL1?: boolean;
  readonly bytes: number;
  readonly wavefronts: number;
  readonly idealWavefronts: number;
  readonly sectors: number;
  readonly idealSectors: number;
}

export interface AccessReport {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
  readonly expression: string;
  readonly space: MemorySpace;
  readonly operation: 'load' | 'store' | 'atomic';
  readonly bytesPerLane: number;
  readonly requests: number;
  readonly activeLanes: number;
  readonly wavefronts: number;
  readonly idealWavefronts: number;
  readonly sectors: number;
  readonly idealSectors: number;
  readonly transactions: number;
  readonly certainty: Certainty;
  readonly reason: string | null;
  /** Name and declaration of the array or pointer, where known. */
  readonly object?: {
    readonly name: string;
    readonly dimensions: readonly number[];
    readonly elementType: string;
    readonly elementBytes: number;
    readonly isDynamic: boolean;
    readonly declaration: Location;
  };
  /** Calls through which the kernel comes to this access, innermost first. */
  readonly calls?: readonly Location[];
  readonly witness?: AccessWitness;
  /** The lines where a profiler shows it, with their parts of the figures, unless that is `line` alone: from the machine code. */
  readonly charged?: readonly ChargedLine[];
}

/** What a profiler shows of an access at one line. */
export interface ChargedLine {
  readonly file: string;
  readonly line: number;
  readonly requests: number;
  readonly wavefronts: number;
  readonly idealWavefronts: number;
  readonly sectors: number;
  readonly idealSectors: number;
}

export interface BranchReport extends Location {
  readonly kind: string;
  readonly executed: number;
  readonly divergent: number;
  readonly unknown: number;
}

export interface OccupancyReport extends Occupancy {
  readonly registersPerThread: number;
  readonly registersOrigin: 'compiler' | 'option' | 'launch-bounds' | 'estimate';
  readonly registersRange?: readonly [number, number];
  /** The most registers the compiler may use, and who says so. */
  readonly registersBound?: CompilerBound;
  readonly staticSharedBytes: number;
  /** Blocks a multiprocessor holds with the most and the fewest registers of the range, where these differ. */
  readonly blocksRange?: readonly [number, number];
  /** What a little more or less of each resource would do, both ways. */
  readonly steps: readonly StepReport[];
  /** Where the grid is known and a device stands for the capability. */
  readonly waves?: WavesReport;
  /** What the compiler said of this instance. */
  readonly compiled?: {
    readonly spillStoreBytes: number;
    readonly spillLoadBytes: number;
    readonly stackBytes: number;
    readonly barriers: number;
    /** The text has changed since. */
    readonly isStale: boolean;
  };
  /** In the report of `simulate`. */
  readonly curves?: readonly OccupancyCurve[];
}

export interface StepReport {
  readonly resource: 'registers' | 'shared' | 'threads';
  /** A gain of warps, room that costs none, or the first loss. */
  readonly effect: 'gain' | 'free' | 'loss';
  /** Registers a thread, bytes a block or threads a block. */
  readonly from: number;
  readonly to: number;
  readonly blocksPerSm: number;
  readonly theoretical: number;
  /** `2 registers fewer, 38 → 36: 6 blocks instead of 5` */
  readonly text: string;
}

export interface WavesReport {
  readonly device: string;
  readonly multiprocessors: number;
  readonly blocksPerWave: number;
  /** Blocks of the grid over blocks of a wave. */
  readonly waves: number;
  /** How full the last wave is, above 0 up to 1. */
  readonly lastWave: number;
}

/** Which front end a result comes from: our reading of the CUDA source, or the compiler's PTX. */
export type Tier = 'source' | 'ptx';

export interface LaunchReport {
  /** Of the kernel instance that is launched. */
  readonly templateArguments: readonly string[];
  /** Line of the launch site (or annotation), 0 when there is none. */
  readonly line: number;
  readonly location?: Location;
  readonly origin: LaunchOrigin;
  readonly grid: readonly [number, number, number];
  readonly block: readonly [number, number, number];
  readonly dynamicSharedBytes: number;
  /**
   * Of a launch that the program comes to several times, with other data: which times it stands for, from 0, among the launches of the kernel in this
   * shape (grid, block and dynamic shared memory). Missing where the program was not run.
   */
  readonly rounds?: readonly number[];
  readonly assumptions: readonly Assumption[];
  readonly occupancy: OccupancyReport | null;
  readonly launchBounds?: {
    readonly maxThreads: number;
    readonly minBlocks?: number;
    /** Where `__launch_bounds__(…)` stands. */
    readonly location?: Location;
  };
  readonly accesses: readonly AccessReport[];
  readonly branches: readonly BranchReport[];
  /** Warp instructions of the whole grid, by the IR. */
  readonly warpInstructions: number;
  /** Null where something it needs is not known, and for devices that were not measured (docs/timing.md). */
  readonly estimate: TimeEstimate | null;
  /** Template arguments that nobody gives, e.g. `T = float`. */
  readonly assumedTemplateArguments?: readonly string[];
  /** Why the simulation ended early or is partial. */
  readonly incomplete?: string;
}

export interface KernelReport {
  readonly name: string;
  readonly line: number;
  readonly templateArguments: readonly string[];
  /** 'ptx' when every launch was analysed from what the compiler made of the kernel. */
  readonly origin: Tier;
  /** Why the result is the source's although the file was compiled. */
  readonly originReason?: string;
  /** The kernel's name, and its whole definition. */
  readonly nameRange: Location;
  readonly range: Location;
  readonly launches: readonly LaunchReport[];
  /** What the program is started with, as far as launches of the text may rest on it, and the file that says so. */
  readonly startedWith?: { readonly arguments: readonly string[]; readonly file?: string };
  /** Constructs not understood. */
  readonly skipped: readonly (Location & { readonly reason: string })[];
  /** Set when the kernel could not be analysed now (half-typed, over budget); launches is then empty or of the last good text. */
  readonly problem?: string;
}

export type Severity = 'error' | 'warning' | 'information' | 'hint';

export interface TextEdit extends Range {
  /** other than the diagnostic's file only if given */
  readonly file?: string;
  readonly newText: string;
}

export interface Fix {
  readonly title: string;
  readonly edits: readonly TextEdit[];
  /** Figures of the same access after the edit, from a simulation of the edited text. */
  readonly after: {
    readonly wavefronts?: number;
    readonly idealWavefronts?: number;
    readonly sectors?: number;
    readonly idealSectors?: number;
  };
}

export interface Finding extends Range {
  readonly file: string;
  readonly rule: string;
  readonly severity: Severity;
  readonly message: string;
  readonly kernel: string;
  readonly fixes: readonly Fix[];
  readonly related: readonly (Location & { readonly message: string })[];
}

export interface FileReport {
  readonly path: string;
  readonly kernels: readonly KernelReport[];
  readonly diagnostics: readonly Finding[];
  /** One line each: what could not be analysed. */
  readonly notes: readonly (Location & { readonly message: string })[];
  /** Kernels rest on data that the host's code was not run for yet (followData: 'ready'). */
  readonly dataPending?: true;
}

export interface CheckReport {
  readonly schemaVersion: 1;
  readonly tool: { readonly name: 'warplens'; readonly version: string };
  readonly computeCapability: string;
  readonly files: readonly FileReport[];
}
