/**
 * A worker that has just begun has compiled nothing: its first answers take two to three times as long as later ones (docs/survey.md). While
 * nobody asks, it analyses short sources of our own for what V8 learns from it. Nothing else is kept: the analyzer is its own, and thrown away.
 */
import { createAnalyzer } from '../../analysis/analyze';
import type { AnalysisOptions, AnalysisRequest } from '../../analysis/request';

export interface WarmUpSource {
  readonly name: string;
  readonly text: string;
}

/** Times that all sources are analysed; twice as many gain a few hundredths more (docs/survey.md). */
const ROUNDS = 3;
/** Milliseconds of processor time, V8's own threads included, that all slices may take together: a slow machine does not finish. */
const BUDGET_MS = 3_000;

export class WarmUp {
  /** Undefined when it is over: nothing of it is held then. */
  private slices: Iterator<unknown> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private spentMs = 0;

  constructor(
    sources: readonly WarmUpSource[],
    private readonly budgetMs = BUDGET_MS,
  ) {
    this.slices = slicesOf(sources);
  }

  /** Nothing has been asked for now; if that stays so for `idleMs` milliseconds, slices are done until something is. */
  goOnAfter(idleMs: number): void {
    clearTimeout(this.timer);
    if (this.slices) this.timer = setTimeout(() => this.goOn(), idleMs);
  }

  /** Does one slice; false when all is done. Never throws. */
  step(): boolean {
    const started = processorMs();
    const isDone = this.slice();
    this.spentMs += processorMs() - started;
    if (isDone || this.spentMs > this.budgetMs) this.slices = undefined;
    return this.slices !== undefined;
  }

  /** True: there is no more. */
  private slice(): boolean {
    try {
      return this.slices?.next().done !== false;
    } catch {
      // a defect of ours will show where somebody has asked
      return true;
    }
  }

  /** A timer between slices lets a job be taken that has come meanwhile. */
  private goOn(): void {
    if (this.step()) this.goOnAfter(0);
  }
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** One source a slice: an editor's first answers, then those behind them for which the host's program is run. */
function* slicesOf(sources: readonly WarmUpSource[]): Generator<unknown, void> {
  for (let round = 0; round < ROUNDS; round++) {
    // a new one each time: the old one would only give back what it knows
    const analyzer = createAnalyzer();
    for (const followData of ['ready', true] as const)
      for (const source of sources) yield analyzer.analyze(requestFor(source, followData));
  }
}

function requestFor({ name, text }: WarmUpSource, followData: AnalysisOptions['followData']): AnalysisRequest {
  const options = { computeCapability: '9.0', defines: new Map(), assume: new Map(), followData };
  return { path: `/${name}`, text, options, include: () => undefined };
}
