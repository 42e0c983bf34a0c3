/** What is asked of the analysis file by file, and what comes of it, on one thread or on several. */
import type { AnalysisOptions } from '../analysis/request';
import type { FileReport } from '../report/report';
import type { Workspace } from '../workspace/units';
import type { CompiledSources } from './compiled';
import type { Source } from './sources';

/** Milliseconds one file may take for one capability; then what there is is reported. */
export const FILE_BUDGET_MS = 60_000;

export interface AnalyzeSources {
  readonly sources: readonly Source[];
  readonly options: readonly AnalysisOptions[];
  readonly workspace: Workspace;
  /** Told in one line what could not be analysed or read. */
  readonly complain: (line: string) => void;
  /** What a compiler made of the sources. */
  readonly compiled?: CompiledSources;
  /** How many threads analyse; as many as the processor has cores and the files are worth, if nobody says. */
  readonly threads?: number;
}

/** One file under one capability. */
export interface Task {
  readonly source: Source;
  readonly options: AnalysisOptions;
}

/** What came of it: no report, but complaints, where it failed. */
export interface TaskOutcome {
  readonly report?: FileReport;
  readonly complaints: readonly string[];
}

/** The line that is said of a file whose analysis failed. */
export const failure = (path: string, reason: string): string =>
  `${path}: the analysis failed: ${reason.split('\n')[0]}`;
