/** What an analysis worker and those who ask it send to each other. */
import type { AnalysisOptions, Compilation } from '../analysis/request';
import type { FileReport } from '../report/report';
import type { Workspace } from '../workspace/units';

/** What a compiler made of a file. */
export interface CompilerAnswer {
  /** The capability that it is asked for, e.g. '9.0'; where the toolkit lacks it, it was compiled for the nearest. */
  readonly computeCapability: string;
  readonly compilation: Compilation;
}

/** Handed to the worker when it starts. */
export interface WorkerSetup {
  /** One Int32: the number of the job that is to stop. */
  readonly stop: SharedArrayBuffer;
  /** Open documents by path. */
  readonly open: ReadonlyMap<string, string>;
  /** What the compiler made of them, by path. */
  readonly compiled: ReadonlyMap<string, CompilerAnswer>;
  /** It warms up while nothing is asked for. */
  readonly warmsUp: boolean;
}

/** Handed to the program that starts the worker with kept code. */
export interface WorkerStart extends WorkerSetup {
  /** Path of the worker's program. */
  readonly program: string;
  /** Folder of the code that is kept. */
  readonly codeCache: string;
}

export interface AnalysisJob {
  readonly path: string;
  readonly text: string;
  readonly options: AnalysisOptions;
  readonly workspace: Workspace;
  /** Nothing is shown for the file yet: what is known of its first kernels is sent while the others are looked at. */
  readonly wantsParts?: boolean;
}

/** What is known of a file, whole or of its first kernels. */
export interface Answer {
  readonly report: FileReport;
  /** Absolute paths of the headers that were read. */
  readonly headers: readonly string[];
  readonly milliseconds: number;
}

export type ToWorker =
  | { readonly kind: 'analyze'; readonly id: number; readonly job: AnalysisJob }
  /** A document's latest text, for files that include it; undefined when it was closed. */
  | { readonly kind: 'document'; readonly path: string; readonly text: string | undefined }
  /** What the compiler made of a document; undefined when there is nothing any more. */
  | { readonly kind: 'compiled'; readonly path: string; readonly answer: CompilerAnswer | undefined };

export type FromWorker =
  | ({ readonly kind: 'report'; readonly id: number } & Answer)
  | ({ readonly kind: 'part'; readonly id: number } & Answer)
  | { readonly kind: 'failed'; readonly id: number; readonly reason: string }
  | { readonly kind: 'log'; readonly line: string };
