/** The other side of an analysis worker (the editor's server, or the command line): starts it, stops a job, and replaces a worker that hangs or dies. */
import * as path from 'node:path';
import { Worker } from 'node:worker_threads';
import type {
  AnalysisJob,
  Answer,
  CompilerAnswer,
  FromWorker,
  ToWorker,
  WorkerSetup,
  WorkerStart,
} from './worker-messages';

export type Outcome =
  | ({ readonly kind: 'report' } & Answer)
  /** Stopped by `cancel`: there is newer text. */
  | { readonly kind: 'cancelled' }
  /** One line. */
  | { readonly kind: 'failed'; readonly reason: string };

export interface HostOptions {
  /** Path of the worker's program. */
  readonly program: string;
  /** Folder where compiled code is kept from start to start; none is kept without. */
  readonly codeCache?: string;
  readonly log: (line: string) => void;
  /** Milliseconds after which a job is asked to answer with what it has. */
  readonly budgetMs?: number;
  /** Milliseconds a job has to answer once it was asked to stop; then its worker is ended. */
  readonly graceMs?: number;
  /** MB of heap; a worker that needs more is ended, the server goes on. */
  readonly memoryMb?: number;
  /** The worker warms up while nothing is asked for: worth it where somebody waits for single answers. */
  readonly warmsUp?: boolean;
}

interface Running {
  readonly id: number;
  readonly path: string;
  cancelled: boolean;
  timer: NodeJS.Timeout;
  readonly part: (answer: Answer) => void;
  readonly finish: (outcome: Outcome) => void;
}

export class AnalysisHost {
  private readonly stop = new Int32Array(new SharedArrayBuffer(4));
  private readonly documents = new Map<string, string>();
  private readonly compiled = new Map<string, CompilerAnswer>();
  private worker: Worker | undefined;
  private running: Running | undefined;
  private jobs = 0;

  constructor(private readonly options: HostOptions) {
    this.worker = this.start();
  }

  /** Tells the worker a document's latest text (undefined: closed), for the files that include it. */
  setDocument(path: string, text: string | undefined): void {
    if (text === undefined) this.documents.delete(path);
    else this.documents.set(path, text);
    this.post({ kind: 'document', path, text });
  }

  /** Tells the worker what the compiler made of a document (undefined: nothing any more). */
  setCompiled(path: string, answer: CompilerAnswer | undefined): void {
    if (answer === undefined) this.compiled.delete(path);
    else this.compiled.set(path, answer);
    this.post({ kind: 'compiled', path, answer });
  }

  /**
   * Runs one job; there must be none running. Never rejects.
   * @param part told what is known of the first kernels, where the job wants that
   */
  run(job: AnalysisJob, part: (answer: Answer) => void = () => {}): Promise<Outcome> {
    this.worker ??= this.start();
    const id = ++this.jobs;
    return new Promise((resolve) => {
      const finish = (outcome: Outcome): void => {
        clearTimeout(this.running?.timer);
        this.running = undefined;
        resolve(outcome);
      };
      const timer = setTimeout(() => this.askToStop(), this.options.budgetMs ?? 10_000);
      this.running = { id, path: job.path, cancelled: false, timer, part, finish };
      this.post({ kind: 'analyze', id, job });
    });
  }

  /** The running job's answer is not wanted any more. */
  cancel(): void {
    if (this.running === undefined || this.running.cancelled) return;
    this.running.cancelled = true;
    this.askToStop();
  }

  async dispose(): Promise<void> {
    const worker = this.worker;
    this.worker = undefined;
    this.running?.finish({ kind: 'cancelled' });
    await worker?.terminate();
  }

  private askToStop(): void {
    const { running } = this;
    if (running === undefined) return;
    Atomics.store(this.stop, 0, running.id);
    clearTimeout(running.timer);
    running.timer = setTimeout(() => this.replace('it did not stop in time'), this.options.graceMs ?? 3_000);
  }

  /** Ends the worker; the next job starts a new one. */
  private replace(why: string): void {
    const { worker, running } = this;
    this.worker = undefined;
    if (running !== undefined) {
      this.options.log(`analysis of ${running.path} was ended: ${why}`);
      running.finish(running.cancelled ? { kind: 'cancelled' } : { kind: 'failed', reason: why });
    }
    void worker?.terminate();
  }

  private post(message: ToWorker): void {
    this.worker?.postMessage(message);
  }

  private start(): Worker {
    const setup: WorkerSetup = {
      stop: this.stop.buffer as SharedArrayBuffer,
      open: this.documents,
      compiled: this.compiled,
      warmsUp: this.options.warmsUp ?? false,
    };
    const { program, codeCache } = this.options;
    const kept: WorkerStart | undefined = codeCache === undefined ? undefined : { ...setup, program, codeCache };
    const worker = new Worker(kept ? path.join(path.dirname(program), 'worker-start.js') : program, {
      workerData: kept ?? setup,
      // none of the server's own flags: a debugger's port can be opened once only
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: this.options.memoryMb ?? 900 },
    });
    worker.on('message', (message: FromWorker) => this.receive(message));
    worker.on('error', (error: NodeJS.ErrnoException) => {
      if (this.worker !== worker) return;
      this.replace(
        error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'it needed too much memory' : error.message.split('\n')[0],
      );
    });
    worker.on('exit', () => {
      if (this.worker === worker) this.replace('its worker ended');
    });
    worker.unref();
    return worker;
  }

  private receive(message: FromWorker): void {
    if (message.kind === 'log') {
      this.options.log(message.line);
      return;
    }
    const { running } = this;
    if (running === undefined || running.id !== message.id) return;
    if (message.kind === 'part') {
      if (!running.cancelled) running.part(message);
    } else if (running.cancelled) running.finish({ kind: 'cancelled' });
    else if (message.kind === 'failed') running.finish({ kind: 'failed', reason: message.reason });
    else running.finish(message);
  }
}
