/** Analyses many files beside each other, each in a worker as the editor's server has one. */
import * as path from 'node:path';
import { AnalysisHost } from '../worker/analysis-host';
import { compiledKey } from './compiled';
import { type AnalyzeSources, FILE_BUDGET_MS, failure, type Task, type TaskOutcome } from './task';

/** Stands beside the command line's own program. */
const PROGRAM = path.join(__dirname, 'worker.js');
/** MB of heap for one file: as much as Node gives a program by default. A file that needs more fails alone. */
const MEMORY_MB = 4_000;
/** Milliseconds to answer with what there is, once the time is over. */
const GRACE_MS = 30_000;

/** What came of each task, in their order. Every thread takes the next task as soon as it has done one. */
export async function analyzeInThreads(
  tasks: readonly Task[],
  threads: number,
  request: AnalyzeSources,
): Promise<TaskOutcome[]> {
  const outcomes: TaskOutcome[] = [];
  let next = 0;
  const thread = async (): Promise<void> => {
    let complaints: string[] = [];
    const host = new AnalysisHost({
      program: PROGRAM,
      log: (line) => void complaints.push(line),
      budgetMs: FILE_BUDGET_MS,
      graceMs: GRACE_MS,
      memoryMb: MEMORY_MB,
    });
    while (next < tasks.length) {
      const at = next++;
      complaints = [];
      outcomes[at] = await analyzeOne(host, tasks[at], request, complaints);
    }
    await host.dispose();
  };
  await Promise.all(Array.from({ length: Math.min(threads, tasks.length) }, thread));
  return outcomes;
}

async function analyzeOne(
  host: AnalysisHost,
  { source, options }: Task,
  { workspace, compiled }: AnalyzeSources,
  complaints: string[],
): Promise<TaskOutcome> {
  const { computeCapability } = options;
  const compilation = compiled?.get(compiledKey(computeCapability, source.path));
  if (compilation) host.setCompiled(source.path, { computeCapability, compilation });
  const outcome = await host.run({ ...source, options, workspace });
  if (compilation) host.setCompiled(source.path, undefined);
  if (outcome.kind === 'report') return { report: outcome.report, complaints };
  // the host's own line about a worker that ended says the same
  return { complaints: [failure(source.path, outcome.kind === 'failed' ? outcome.reason : 'it was stopped')] };
}
