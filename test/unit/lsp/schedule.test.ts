import * as assert from 'node:assert/strict';
import { Schedule, typingDelay } from '../../../server/src/lsp/schedule';
import type { Outcome } from '../../../server/src/worker/analysis-host';
import type { AnalysisJob, Answer } from '../../../server/src/worker/worker-messages';

const report = { path: '', kernels: [], diagnostics: [], notes: [] };

/** A host whose jobs end when the test says so. */
class Host {
  readonly started: string[] = [];
  readonly data: unknown[] = [];
  part: (answer: Answer) => void = () => {};
  private end: ((outcome: Outcome) => void) | undefined;

  run(job: AnalysisJob, part: (answer: Answer) => void): Promise<Outcome> {
    this.part = part;
    assert.equal(this.end, undefined, 'one job at a time');
    this.started.push(job.text);
    this.data.push(job.options.followData);
    return new Promise((resolve) => (this.end = resolve));
  }
  cancel(): void {
    this.finish({ kind: 'cancelled' });
  }
  finish(outcome: Outcome = { kind: 'report', report, headers: [], milliseconds: 1 }): void {
    const { end } = this;
    this.end = undefined;
    end?.(outcome);
  }
}

const turn = (ms = 0) => new Promise((resolve) => setTimeout(resolve, ms));

describe('the schedule', () => {
  let host: Host;
  let texts: Map<string, string>;
  let finished: string[];
  let schedule: Schedule;

  beforeEach(() => {
    host = new Host();
    texts = new Map([
      ['a', 'a1'],
      ['b', 'b1'],
    ]);
    finished = [];
    schedule = new Schedule({
      host,
      jobFor: async (uri) => {
        const text = texts.get(uri);
        const options = {
          computeCapability: '9.0',
          defines: new Map<string, string>(),
          assume: new Map<string, number>(),
        };
        return text === undefined
          ? undefined
          : { path: uri, text, options, workspace: { folders: [], includePaths: [] } };
      },
      finished: (uri, job) => finished.push(`${uri}:${job.text}`),
      part: (uri, job) => finished.push(`part of ${uri}:${job.text}`),
    });
  });

  it('stops the running analysis at the next edit and takes the latest text', async () => {
    schedule.edited('a');
    await turn();
    for (const text of ['a2', 'a3']) {
      texts.set('a', text);
      schedule.edited('a');
    }
    await turn();
    host.finish();
    await turn();
    assert.deepEqual(host.started, ['a1', 'a3']);
    assert.deepEqual(finished, ['a:a3']);
  });
  it('puts the document edited last first, and takes the other up again', async () => {
    schedule.edited('a');
    await turn();
    schedule.edited('b');
    await turn();
    host.finish();
    await turn();
    host.finish();
    await turn();
    assert.deepEqual(host.started, ['a1', 'b1', 'a1']);
    assert.deepEqual(finished, ['b:b1', 'a:a1']);
  });
  it('passes on what is known of the first kernels, and is not done with it', async () => {
    schedule.edited('a');
    await turn();
    host.part({ report, headers: [], milliseconds: 1 });
    assert.deepEqual(finished, ['part of a:a1']);
    host.finish();
    await turn();
    assert.deepEqual(finished, ['part of a:a1', 'a:a1']);
  });
  it('forgets what is closed', async () => {
    schedule.edited('a');
    texts.delete('a');
    schedule.forget('a');
    await turn();
    assert.deepEqual(finished, []);
    schedule.edited('b');
    await turn();
    host.finish();
    await turn();
    assert.deepEqual(finished, ['b:b1']);
  });
  it('tells when a document is settled, and gives up waiting', async () => {
    schedule.edited('a');
    await turn();
    let isSettled = false;
    const waiting = schedule.settled('a', 5_000).then(() => (isSettled = true));
    await turn();
    assert.equal(isSettled, false);
    host.finish();
    await waiting;
    schedule.edited('a');
    await turn();
    await schedule.settled('a', 10);
    await schedule.settled('b', 10_000);
    host.finish();
  });
  it('waits for a pause only where an analysis takes long', async () => {
    assert.equal(typingDelay(0), 0);
    assert.equal(typingDelay(30), 0);
    assert.equal(typingDelay(200), 100);
    assert.equal(typingDelay(60_000), 400);
    schedule.edited('a');
    await turn();
    host.finish({ kind: 'report', report, headers: [], milliseconds: 100 });
    await turn();
    schedule.edited('a');
    await turn();
    assert.equal(host.started.length, 1);
    await turn(80);
    assert.equal(host.started.length, 2);
    host.finish();
  });

  it('runs the code of the host for data only when nobody types', async () => {
    const pending = { kind: 'report', report: { ...report, dataPending: true }, headers: [], milliseconds: 1 } as const;
    schedule.edited('a');
    await turn();
    host.finish(pending);
    await turn(20);
    schedule.edited('a');
    await turn();
    host.finish(pending);
    await turn(20);
    assert.deepEqual(host.data, ['ready', 'ready']);
    await turn(400);
    host.finish();
    await turn();
    assert.deepEqual(host.data, ['ready', 'ready', undefined]);
    assert.equal(finished.length, 3);
  });
});
