/** What client and server say to each other beyond the language server protocol. Shared by both sides: types and names only. */
import type { KernelReport } from '../report/report';

/** Request: all capabilities, for the picker. No parameters. */
export const capabilitiesRequest = 'warplens/capabilities';

export interface CapabilityChoice {
  /** '9.0' */
  readonly computeCapability: string;
  readonly architecture: string;
  /** GPUs people know, e.g. 'H100'. */
  readonly devices: readonly string[];
}

/** Request: the whole report of one kernel, for the panel. */
export const simulateRequest = 'warplens/simulate';

export interface SimulateParams {
  readonly uri: string;
  /** By name, or else the kernel around (or the nearest above) this line. */
  readonly kernel?: string;
  /** Counts from 0, as the protocol does. */
  readonly line?: number;
}

export interface SimulateResult {
  readonly uri: string;
  /** As a person would write it: the file's name. */
  readonly fileName: string;
  readonly computeCapability: string;
  /** Names of all kernels in the file. */
  readonly kernels: readonly string[];
  /** undefined when there is no such kernel (now). */
  readonly kernel?: KernelReport;
  /** The files that accesses refer to, with their URIs. */
  readonly files: Readonly<Record<string, string>>;
}

/** Notification from the server: a document has a new report. */
export const analysedNotification = 'warplens/analysed';

export interface AnalysedParams {
  readonly uri: string;
  readonly version: number;
  readonly computeCapability: string;
  readonly kernels: number;
  readonly findings: number;
  readonly milliseconds: number;
}

/** Notification from the server: what the status bar shows. */
export const statusNotification = 'warplens/status';

export interface StatusParams {
  readonly state: 'ready' | 'problem';
  /** One line, when there is a problem. */
  readonly message?: string;
}

/** Notification from the server: how it stands with the compiler for a document. */
export const compilerNotification = 'warplens/compiler';

/** none: not installed, switched off, not trusted, or nothing to compile. */
export type CompilerState = 'none' | 'compiling' | 'compiled' | 'failed';

export interface CompilerParams {
  readonly uri: string;
  readonly state: CompilerState;
  /** One line: why it failed, or what was done otherwise than asked. */
  readonly message?: string;
}

/** Notification from the client: the workspace is trusted now. */
export const trustedNotification = 'warplens/trusted';

/** Command of the client that a code lens runs, with these arguments. */
export const simulateCommand = 'warplens.simulateKernel';
export type SimulateArguments = readonly [uri: string, kernel: string];

/** Sent by the client when it starts the server; every field may be missing. */
export interface InitializationOptions {
  /** The `warplens` section, used where the client cannot be asked for its configuration. */
  readonly settings?: unknown;
  /** Whether programs (the compiler) may be started; they are not where nobody says so. */
  readonly isTrusted?: boolean;
}
