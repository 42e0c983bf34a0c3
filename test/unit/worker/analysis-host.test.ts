import * as assert from 'node:assert/strict';
import * as path from 'node:path';
import { AnalysisHost } from '../../../server/src/worker/analysis-host';
import type { AnalysisJob, Answer } from '../../../server/src/worker/worker-messages';
import { temporaryFolder } from '../../host/bundle';

/** A worker that does what the text says: answers, hangs, eats memory, ends, waits until it is stopped. */
const worker = `
const { parentPort, workerData } = require('node:worker_threads');
const stop = new Int32Array(workerData.stop);
const acts = {
  hang() { for (;;); },
  eat() { const kept = []; for (;;) kept.push(new Array(1000).fill(kept.length)); },
  end() { process.exit(3); },
  throw() { throw new Error('boom\\nand more'); },
  part(id) { parentPort.postMessage({ kind: 'part', id, report: { path: 'first kernels' }, headers: [], milliseconds: 1 }); },
  late(id) { acts.wait(id); acts.part(id); },
  wait(id) { while (Atomics.load(stop, 0) !== id); },
};
parentPort.on('message', ({ kind, id, job }) => {
  if (kind !== 'analyze') return;
  acts[job.text]?.(id);
  const report = { path: job.path, kernels: [], diagnostics: [], notes: [] };
  parentPort.postMessage({ kind: 'report', id, report, headers: [], milliseconds: 1 });
});
`;

describe('the analysis host', () => {
  const log: string[] = [];
  /** Waits long, and not long, for an answer. */
  let patient: AnalysisHost;
  let hurried: AnalysisHost;
  let remove: () => void;
  before(() => {
    const made = temporaryFolder({ 'worker.js': worker });
    remove = made.remove;
    const program = path.join(made.folder, 'worker.js');
    const options = { program, log: (line: string) => void log.push(line), memoryMb: 64 };
    patient = new AnalysisHost(options);
    hurried = new AnalysisHost({ ...options, budgetMs: 1_000, graceMs: 500 });
  });
  after(async () => {
    await patient.dispose();
    await hurried.dispose();
    remove();
  });
  beforeEach(() => void (log.length = 0));

  function run(text: string, host = patient, part?: (answer: Answer) => void) {
    const options = { computeCapability: '9.0', defines: new Map<string, string>(), assume: new Map<string, number>() };
    const job: AnalysisJob = { path: 'a.cu', text, options, workspace: { folders: [], includePaths: [] } };
    return host.run(job, part);
  }
  async function answersAfterwards(host = patient): Promise<void> {
    assert.equal((await run('ok', host)).kind, 'report');
  }

  it('passes reports on', () => answersAfterwards());
  it('takes what a long analysis has when its time is over', async () => {
    assert.equal((await run('wait', hurried)).kind, 'report');
    await answersAfterwards(hurried);
  });
  it('passes on what is known of the first kernels before the whole report', async () => {
    const parts: string[] = [];
    const whole = await run('part', patient, ({ report }) => parts.push(report.path));
    assert.deepEqual([parts, whole.kind], [['first kernels'], 'report']);
  });
  it('drops parts of a cancelled one', async () => {
    const running = run('late', patient, () => assert.fail('a part'));
    patient.cancel();
    assert.equal((await running).kind, 'cancelled');
  });
  it('drops the answer of a cancelled one', async () => {
    const running = run('wait');
    patient.cancel();
    assert.equal((await running).kind, 'cancelled');
    await answersAfterwards();
  });
  it('replaces a worker that does not stop', async () => {
    const outcome = await run('hang', hurried);
    assert.deepEqual(outcome, { kind: 'failed', reason: 'it did not stop in time' });
    assert.equal(log.length, 1);
    await answersAfterwards(hurried);
    const running = run('hang', hurried);
    hurried.cancel();
    assert.equal((await running).kind, 'cancelled');
    await answersAfterwards(hurried);
  });
  it('replaces a worker that needs too much memory', async () => {
    assert.deepEqual(await run('eat'), { kind: 'failed', reason: 'it needed too much memory' });
    await answersAfterwards();
  });
  it('replaces a worker that throws or ends, and says so in one line', async () => {
    assert.deepEqual(await run('throw'), { kind: 'failed', reason: 'boom' });
    await answersAfterwards();
    assert.equal((await run('end')).kind, 'failed');
    await answersAfterwards();
    assert.equal(log.length, 2);
    for (const line of log) assert.doesNotMatch(line, /\n/);
  });
});
