/** The analysis worker: one file at a time, off the message loop of the editor's server, or beside others for the command line. */
import { parentPort, workerData } from 'node:worker_threads';
import { createAnalyzer } from '../analysis/analyze';
import type { Compilation } from '../analysis/request';
import type { FileReport } from '../report/report';
import { UnitReader } from '../workspace/units';
import { warmUpSources } from './warm-up/sources';
import { WarmUp } from './warm-up/warm-up';
import type { AnalysisJob, FromWorker, ToWorker, WorkerSetup } from './worker-messages';

/** Milliseconds without a message after which the warm-up goes on: longer than a server waits before it asks for what the host's data make of an answer. */
const IDLE_MS = 400;
/** The same behind the start: documents that are open then have been sent before the worker is there. */
const IDLE_AT_START_MS = 50;
/** Milliseconds behind a job's start after which what is known by then is sent; the next part comes when twice as many are over. */
const FIRST_PART_MS = 250;

const setup = workerData as WorkerSetup;
const stop = new Int32Array(setup.stop);
const open = new Map(setup.open);
const compiled = new Map(setup.compiled);
const analyzer = createAnalyzer();
const send = (message: FromWorker): void => parentPort?.postMessage(message);
const units = new UnitReader(open, (line) => send({ kind: 'log', line }));
/** Headers as a compiler sees them: on disk. */
const saved = new UnitReader(new Map(), () => {});
const warmUp = setup.warmsUp ? new WarmUp(warmUpSources) : undefined;

/** The compiler's answer for a document, if it is for this capability. */
function compilationOf({ path, options, workspace }: AnalysisJob): Compilation | undefined {
  const answer = compiled.get(path);
  if (answer?.computeCapability !== options.computeCapability) return undefined;
  const { compilation } = answer;
  return { ...compilation, include: saved.includeOf(path, options, workspace) };
}

function analyze(id: number, job: AnalysisJob): void {
  const { path, text, options, workspace } = job;
  const started = performance.now();
  const headers = new Set<string>();
  const tell = (kind: 'report' | 'part', report: FileReport): void =>
    send({ kind, id, report, headers: [...headers], milliseconds: performance.now() - started });
  let nextPartMs = FIRST_PART_MS;
  const onPart = (report: () => FileReport): void => {
    const elapsed = performance.now() - started;
    if (elapsed < nextPartMs) return;
    nextPartMs = 2 * elapsed;
    tell('part', report());
  };
  try {
    const request = units.request(path, text, options, workspace, (file) => headers.add(file));
    const report = analyzer.analyze({
      ...request,
      compilation: compilationOf(job),
      cancelled: () => Atomics.load(stop, 0) === id,
      onPart: job.wantsParts ? onPart : undefined,
    });
    tell('report', report);
  } catch (error) {
    const reason =
      error instanceof Error ? (error.stack ?? error.message).split('\n').slice(0, 2).join(' ') : String(error);
    send({ kind: 'failed', id, reason });
  }
}

parentPort?.on('message', (message: ToWorker) => {
  if (message.kind === 'analyze') analyze(message.id, message.job);
  else if (message.kind === 'compiled') {
    if (message.answer === undefined) compiled.delete(message.path);
    else compiled.set(message.path, message.answer);
  } else if (message.text === undefined) open.delete(message.path);
  else open.set(message.path, message.text);
  warmUp?.goOnAfter(IDLE_MS);
});
warmUp?.goOnAfter(IDLE_AT_START_MS);
