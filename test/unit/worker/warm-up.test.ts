import * as assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { analyzeFile } from '../../../server/src/analysis/analyze';
import { AnalysisHost, type Outcome } from '../../../server/src/worker/analysis-host';
import { WarmUp } from '../../../server/src/worker/warm-up/warm-up';
import type { AnalysisJob } from '../../../server/src/worker/worker-messages';
import { bundledPrograms } from '../../host/bundle';
import { conflicting } from '../lsp/reports';

const folder = path.resolve(__dirname, '..', '..', '..', 'server', 'src', 'worker', 'warm-up');
const sources = fs
  .readdirSync(folder)
  .filter((name) => name.endsWith('.cu'))
  .map((name) => ({ name, text: fs.readFileSync(path.join(folder, name), 'utf8') }));

const options = { computeCapability: '9.0', defines: new Map<string, string>(), assume: new Map<string, number>() };

/** Steps until it ends; how many that were. */
function finish(warmUp: WarmUp): number {
  let steps = 1;
  while (warmUp.step()) steps++;
  return steps;
}

describe('the sources of the warm-up', () => {
  for (const { name, text } of sources)
    it(`${name} is understood as a whole: what is left out is not warmed`, () => {
      const { kernels } = analyzeFile({ path: name, text, options, include: () => undefined });
      assert.notEqual(kernels.length, 0);
      for (const kernel of kernels) {
        assert.deepEqual([kernel.problem, kernel.skipped], [undefined, []]);
        assert.equal(kernel.launches[0].origin, 'launch-site');
        assert.deepEqual(
          kernel.launches.flatMap(({ accesses }) => accesses.filter(({ certainty }) => certainty === 'unknown')),
          [],
        );
      }
    });
  it('are all in the bundle', () => {
    const listed = fs.readFileSync(path.join(folder, 'sources.ts'), 'utf8');
    for (const { name } of sources) assert.ok(listed.includes(`from './${name}'`), name);
  });
});

describe('the warm-up', () => {
  it('ends by itself, and does nothing afterwards', () => {
    const warmUp = new WarmUp([{ name: 'a.cu', text: conflicting }]);
    assert.ok(finish(warmUp) > 1);
    assert.equal(warmUp.step(), false);
  });
  it('ends where its time is over', () => {
    const many = Array.from({ length: 1_000 }, (_, i) => ({ name: `${i}.cu`, text: conflicting }));
    const steps = finish(new WarmUp(many, 200));
    assert.ok(steps < 1_000, `${steps}`);
  });
  it('is quiet about texts that nobody could read', () => {
    finish(new WarmUp(['', '\0', '__global__ void f(', '#include "a.h"'].map((text) => ({ name: 'a.cu', text }))));
  });
});

describe('a worker that warms up', () => {
  const log: string[] = [];
  let host: AnalysisHost;
  before(() => {
    host = new AnalysisHost({
      program: path.join(bundledPrograms(), 'worker.js'),
      log: (line) => void log.push(line),
      warmsUp: true,
    });
  });
  after(() => host.dispose());

  const run = (text: string): Promise<Outcome> => {
    const job: AnalysisJob = { path: '/a.cu', text, options, workspace: { folders: [], includePaths: [] } };
    return host.run(job);
  };
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  it('answers what it is asked meanwhile, soon, and with nothing of its own', async () => {
    const expected = analyzeFile({ path: '/a.cu', text: conflicting, options, include: () => undefined });
    const plain = JSON.stringify(expected);
    for (const ms of [0, 20, 50, 120, 450, 500, 550, 700]) {
      await pause(ms);
      const started = performance.now();
      const outcome = await run(conflicting);
      const elapsed = performance.now() - started;
      assert.ok(outcome.kind === 'report', JSON.stringify(outcome));
      // a slice takes a twentieth of a second; the rest is the start of the worker, and room for other work on the machine
      assert.ok(elapsed - outcome.milliseconds < 3_000, `${elapsed} ms, its own work ${outcome.milliseconds}`);
      assert.equal(JSON.stringify(outcome.report), plain);
      assert.deepEqual(outcome.headers, []);
    }
    assert.deepEqual(log, []);
  });
});
