/** Runs the analysis over sources for every capability asked for; a file that fails is left out and named. */
import { availableParallelism } from 'node:os';
import { createAnalyzer } from '../analysis/analyze';
import type { AnalysisOptions } from '../analysis/request';
import type { CheckReport, FileReport } from '../report/report';
import { UnitReader } from '../workspace/units';
import { compiledKey } from './compiled';
import { type AnalyzeSources, FILE_BUDGET_MS, failure, type Task, type TaskOutcome } from './task';
import { analyzeInThreads } from './threads';

declare const WARPLENS_VERSION: string;

/** A thread's first answers cost more than later ones, since its code is compiled anew: fewer files than this are no work for one more. */
const FILES_A_THREAD = 4;
/** Each has a heap of its own. */
const MOST_THREADS = 16;

/** The reports, one for each capability, whose files stand in the order of the sources however many threads there are. */
export async function analyzeSources(request: AnalyzeSources): Promise<CheckReport[]> {
  const { sources, options, complain } = request;
  const tasks = options.flatMap((each) => sources.map((source): Task => ({ source, options: each })));
  const most = Math.floor(tasks.length / FILES_A_THREAD);
  const threads = request.threads ?? Math.min(availableParallelism(), MOST_THREADS, most);
  const outcomes = threads > 1 ? await analyzeInThreads(tasks, threads, request) : analyzeHere(tasks, request);
  for (const complaint of new Set(outcomes.flatMap(({ complaints }) => complaints))) complain(complaint);
  return options.map(({ computeCapability }, at) => ({
    schemaVersion: 1,
    tool: { name: 'warplens', version: WARPLENS_VERSION },
    computeCapability,
    files: outcomes
      .slice(at * sources.length, (at + 1) * sources.length)
      .flatMap(({ report }): FileReport[] => (report ? [report] : [])),
  }));
}

function analyzeHere(tasks: readonly Task[], { workspace, compiled }: AnalyzeSources): TaskOutcome[] {
  let complaints: string[] = [];
  const units = new UnitReader(new Map(), (line) => void complaints.push(line));
  let analyzer = createAnalyzer();
  let last: AnalysisOptions | undefined;
  return tasks.map(({ source: { path, text }, options }): TaskOutcome => {
    if (options !== last) analyzer = createAnalyzer();
    last = options;
    complaints = [];
    const end = performance.now() + FILE_BUDGET_MS;
    try {
      const request = units.request(path, text, options, workspace);
      const compilation = compiled?.get(compiledKey(options.computeCapability, path));
      const report = analyzer.analyze({ ...request, compilation, cancelled: () => performance.now() > end });
      return { report, complaints };
    } catch (error) {
      return { complaints: [...complaints, failure(path, error instanceof Error ? error.message : String(error))] };
    }
  });
}
