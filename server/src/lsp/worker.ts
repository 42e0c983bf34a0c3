/** The analysis worker: one file at a time, off the server's message loop. */
import { parentPort, workerData } from 'node:worker_threads';
import { createAnalyzer } from '../analysis/analyze';
import { UnitReader } from '../workspace/units';
import type { AnalysisJob, FromWorker, ToWorker, WorkerSetup } from './worker-messages';

const setup = workerData as WorkerSetup;
const stop = new Int32Array(setup.stop);
const open = new Map(setup.open);
const analyzer = createAnalyzer();
const send = (message: FromWorker): void => parentPort?.postMessage(message);
const units = new UnitReader(open, (line) => send({ kind: 'log', line }));

function analyze(id: number, { path, text, options, workspace }: AnalysisJob): void {
  const started = performance.now();
  const headers = new Set<string>();
  try {
    const request = units.request(path, text, options, workspace, (file) => headers.add(file));
    const report = analyzer.analyze({ ...request, cancelled: () => Atomics.load(stop, 0) === id });
    send({ kind: 'report', id, report, headers: [...headers], milliseconds: performance.now() - started });
  } catch (error) {
    const reason =
      error instanceof Error ? (error.stack ?? error.message).split('\n').slice(0, 2).join(' ') : String(error);
    send({ kind: 'failed', id, reason });
  }
}

parentPort?.on('message', (message: ToWorker) => {
  if (message.kind === 'analyze') analyze(message.id, message.job);
  else if (message.text === undefined) open.delete(message.path);
  else open.set(message.path, message.text);
});
