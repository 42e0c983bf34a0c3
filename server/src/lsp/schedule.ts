/** Which document is analysed next: the one edited last, and never an old text when there is a new one. */
import type { AnalysisHost, Outcome } from '../worker/analysis-host';
import type { AnalysisJob, Answer } from '../worker/worker-messages';

export interface ScheduleOptions {
  readonly host: Pick<AnalysisHost, 'run' | 'cancel'>;
  /** The document's latest text and settings; undefined when it is not to be analysed (closed, switched off). */
  readonly jobFor: (uri: string) => Promise<AnalysisJob | undefined>;
  readonly finished: (uri: string, job: AnalysisJob, outcome: Outcome) => void;
  /** What is known of a document's first kernels, while the others are looked at. */
  readonly part: (uri: string, job: AnalysisJob, answer: Answer) => void;
}

/** Below this many milliseconds the last analysis was so fast that waiting for a pause in the typing gains nothing. */
const fastMs = 60;
const longestDelayMs = 400;

/** Milliseconds without an edit after which the host's code is run for what kernels load. */
const dataDelayMs = 300;

/** How long to wait for more typing: nothing for files that are analysed at once, about their own time for slow ones. */
export function typingDelay(lastMilliseconds: number): number {
  return lastMilliseconds < fastMs ? 0 : Math.min(longestDelayMs, lastMilliseconds / 2);
}

/** The answer to a key press does not wait for the host's code to be run. */
const withReadyData = (job: AnalysisJob): AnalysisJob => ({ ...job, options: { ...job.options, followData: 'ready' } });

export class Schedule {
  /** Documents that wait for their turn, the latest last. */
  private readonly ready = new Set<string>();
  private readonly delayed = new Map<string, NodeJS.Timeout>();
  private readonly lastMs = new Map<string, number>();
  /** Documents whose kernels wait for data: their next analysis runs the host's code. */
  private readonly waitsForData = new Set<string>();
  private current: string | undefined;
  private waiters: { readonly uri: string; readonly done: () => void }[] = [];

  constructor(private readonly options: ScheduleOptions) {}

  /** The document has changed. */
  edited(uri: string): void {
    this.waitsForData.delete(uri);
    this.request(uri, typingDelay(this.lastMs.get(uri) ?? 0));
  }

  /**
   * Asks for an analysis in `delayMs` milliseconds; what runs for the document now is stopped. At once also stops
   * another document's, which is taken up again afterwards.
   */
  request(uri: string, delayMs: number): void {
    clearTimeout(this.delayed.get(uri));
    this.delayed.delete(uri);
    this.ready.delete(uri);
    if (this.current === uri) this.options.host.cancel();
    if (delayMs > 0) {
      const timer = setTimeout(() => this.enqueue(uri), delayMs);
      this.delayed.set(uri, timer);
      return;
    }
    if (this.current !== undefined && this.current !== uri) {
      this.options.host.cancel();
      this.ready.add(this.current);
    }
    this.enqueue(uri);
  }

  /** The document is gone. */
  forget(uri: string): void {
    clearTimeout(this.delayed.get(uri));
    this.delayed.delete(uri);
    this.ready.delete(uri);
    this.lastMs.delete(uri);
    this.waitsForData.delete(uri);
    if (this.current === uri) this.options.host.cancel();
    this.release(uri);
  }

  /** Resolves when nothing more is to be done for the document, or after `timeoutMs`. */
  settled(uri: string, timeoutMs: number): Promise<void> {
    if (!this.isBusy(uri)) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      const done = (): void => {
        clearTimeout(timer);
        resolve();
      };
      this.waiters.push({ uri, done });
    });
  }

  dispose(): void {
    for (const timer of this.delayed.values()) clearTimeout(timer);
    this.delayed.clear();
    this.ready.clear();
  }

  private isBusy(uri: string): boolean {
    return this.current === uri || this.ready.has(uri) || this.delayed.has(uri);
  }

  private enqueue(uri: string): void {
    this.delayed.delete(uri);
    this.ready.add(uri);
    if (this.current === undefined) void this.next();
  }

  private async next(): Promise<void> {
    const uri = [...this.ready].pop();
    if (uri === undefined) return;
    this.ready.delete(uri);
    this.current = uri;
    const job = await this.options.jobFor(uri);
    // an edit while the settings were asked for: the text in hand is old already
    if (job !== undefined && !this.ready.has(uri)) {
      const runsHost = this.waitsForData.delete(uri);
      const outcome = await this.options.host.run(runsHost ? job : withReadyData(job), (answer) =>
        this.options.part(uri, job, answer),
      );
      if (outcome.kind === 'report' && !runsHost) this.lastMs.set(uri, outcome.milliseconds);
      if (outcome.kind !== 'cancelled') this.options.finished(uri, job, outcome);
      if (outcome.kind === 'report' && outcome.report.dataPending && !this.isWaiting(uri)) this.runHostSoon(uri);
    }
    this.current = undefined;
    this.release(uri);
    void this.next();
  }

  private isWaiting(uri: string): boolean {
    return this.ready.has(uri) || this.delayed.has(uri);
  }

  private runHostSoon(uri: string): void {
    this.waitsForData.add(uri);
    this.delayed.set(
      uri,
      setTimeout(() => this.enqueue(uri), dataDelayMs),
    );
  }

  private release(uri: string): void {
    if (this.isBusy(uri)) return;
    const done = this.waiters.filter((waiter) => waiter.uri === uri);
    this.waiters = this.waiters.filter((waiter) => waiter.uri !== uri);
    for (const waiter of done) waiter.done();
  }
}
