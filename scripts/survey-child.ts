/** The process of `npm run survey` that analyses files: it is sent their names and answers with what was understood of each. */
import * as path from 'node:path';
import { type Analyzer, createAnalyzer } from '../server/src/analysis/analyze';
import type { AnalysisRequest } from '../server/src/analysis/request';
import { optimiseLate } from '../server/src/late-optimisation';
import type { AccessReport, FileReport, KernelReport } from '../server/src/report/report';
import { warmUpSources } from '../server/src/worker/warm-up/sources';
import { WarmUp } from '../server/src/worker/warm-up/warm-up';
import { readSource } from '../server/src/workspace/text-files';
import { UnitReader } from '../server/src/workspace/units';

/** Milliseconds by the clock, and of processor time: of all threads of the process, so those of the compiler and the collector too. */
export interface Time {
  readonly clock: number;
  readonly processor: number;
}
/** What the child tells of one file. */
export interface FileResult {
  readonly file: string;
  readonly time: Time;
  /** Of that, what was done for the file between its kernels: the run of its host code, its launches under samples of sizes. */
  readonly fileWork: Time;
  readonly kernels: readonly KernelResult[];
  readonly crash?: string;
}
export interface Reason {
  readonly reason: string;
  readonly place: string;
}
export interface KernelResult {
  readonly name: string;
  /** file:line of the definition */
  readonly place: string;
  readonly time: Time;
  readonly skipped: readonly Reason[];
  readonly hasLaunch: boolean;
  readonly problem?: string;
  readonly incomplete?: string;
  readonly accesses: readonly (Reason & { readonly space: string; readonly certainty: string })[];
}

const memorySpaces = new Set(['shared', 'global']);

function main(folder: string, isFirst: boolean, isWarmed: boolean): void {
  optimiseLate();
  if (isWarmed) warmUp();
  const units = new UnitReader(new Map(), () => {});
  // one for all files, as the command line and the server have it: headers that files share are understood once
  let analyzer = createAnalyzer();
  process.on('message', (file: string) => {
    // another round over all files: code that is compiled stays so, what was understood is forgotten
    if (file === '') {
      analyzer = createAnalyzer();
      return;
    }
    process.send?.({ started: file });
    process.send?.(analyse(folder, file, isFirst, units, analyzer));
  });
  process.send?.({ ready: true });
}

function warmUp(): void {
  const warming = new WarmUp(warmUpSources);
  while (warming.step()) {
    // until it ends by itself
  }
}

function now(): Time {
  const { user, system } = process.cpuUsage();
  return { clock: performance.now(), processor: (user + system) / 1000 };
}

const none: Time = { clock: 0, processor: 0 };
const plus = (a: Time, b: Time): Time => ({ clock: a.clock + b.clock, processor: a.processor + b.processor });
const minus = (a: Time, b: Time): Time => ({ clock: a.clock - b.clock, processor: a.processor - b.processor });

/** Takes the time of each kernel of a file, without what is done for the whole file meanwhile. */
class Stopwatch {
  readonly kernels: Time[] = [];
  fileWork = none;
  private readonly begin = now();
  private last = this.begin;
  private works = 0;
  private workBegin = none;

  get total(): Time {
    return minus(now(), this.begin);
  }

  /** The first kernel's clock starts when parsing is over. */
  parsed(): void {
    this.last = now();
  }

  kernel(): void {
    this.kernels.push(minus(now(), this.last));
    this.last = now();
  }

  work(isBegin: boolean): void {
    this.works += isBegin ? 1 : -1;
    if (isBegin && this.works === 1) this.workBegin = now();
    if (this.works > 0) return;
    const taken = minus(now(), this.workBegin);
    this.fileWork = plus(this.fileWork, taken);
    this.last = plus(this.last, taken);
  }
}

function analyse(folder: string, file: string, isFirst: boolean, units: UnitReader, analyzer: Analyzer): FileResult {
  const watch = new Stopwatch();
  const source = readSource(path.join(folder, file));
  const followData = isFirst ? ('ready' as const) : undefined;
  const options = { computeCapability: '9.0', defines: new Map(), assume: new Map(), followData };
  const workspace = { folders: [folder], includePaths: [] };
  const text = 'text' in source ? source.text : '';
  let defect: unknown;
  const request: AnalysisRequest = {
    ...units.request(path.join(folder, file), text, options, workspace),
    onKernel: () => watch.kernel(),
    onFileWork: (isBegin) => watch.work(isBegin),
    onParsed: () => watch.parsed(),
    onDefect: (error) => {
      defect = error;
    },
  };
  try {
    const report = analyzer.analyze(request);
    const { total, fileWork } = watch;
    const crash = defect === undefined ? undefined : textOf(defect);
    return { file, time: total, fileWork, kernels: kernelsOf(report, folder, watch.kernels), crash };
  } catch (error) {
    return { file, time: watch.total, fileWork: watch.fileWork, kernels: [], crash: textOf(error) };
  }
}

const textOf = (error: unknown): string =>
  (error instanceof Error ? (error.stack ?? error.message) : String(error)).slice(0, 600);

function kernelsOf(report: FileReport, folder: string, times: readonly Time[]): KernelResult[] {
  const place = (at: { file: string; line: number }) => `${path.relative(folder, at.file)}:${at.line}`;
  const accessesOf = (kernel: KernelReport): KernelResult['accesses'] =>
    (kernel.launches[0]?.accesses ?? [])
      .filter((a: AccessReport) => memorySpaces.has(a.space))
      .map((a) => ({ space: a.space, certainty: a.certainty, reason: a.reason ?? '', place: place(a) }));
  return report.kernels.map((kernel, i) => ({
    name: kernel.name,
    place: place(kernel.nameRange),
    time: times[i] ?? none,
    skipped: kernel.skipped.map((s) => ({ reason: s.reason, place: place(s) })),
    hasLaunch: kernel.launches.some((l) => l.origin === 'launch-site'),
    problem: kernel.problem,
    incomplete: kernel.launches.find((l) => l.incomplete !== undefined)?.incomplete,
    accesses: accessesOf(kernel),
  }));
}

main(process.argv[2], process.argv[3] === 'first', process.argv[4] === 'warmed');
