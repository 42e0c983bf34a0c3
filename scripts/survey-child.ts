/** The process of `npm run survey` that analyses files: it is sent their names and answers with what was understood of each. */
import * as path from 'node:path';
import { type Analyzer, createAnalyzer } from '../server/src/analysis/analyze';
import type { AnalysisRequest } from '../server/src/analysis/request';
import { optimiseLate } from '../server/src/late-optimisation';
import type { AccessReport, FileReport, KernelReport } from '../server/src/report/report';
import { readSource } from '../server/src/workspace/text-files';
import { UnitReader } from '../server/src/workspace/units';

/** What the child tells of one file. */
export interface FileResult {
  readonly file: string;
  readonly milliseconds: number;
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
  readonly milliseconds: number;
  readonly skipped: readonly Reason[];
  readonly hasLaunch: boolean;
  readonly problem?: string;
  readonly incomplete?: string;
  readonly accesses: readonly (Reason & { readonly space: string; readonly certainty: string })[];
}

const memorySpaces = new Set(['shared', 'global']);

function main(folder: string): void {
  optimiseLate();
  const units = new UnitReader(new Map(), () => {});
  // one for all files, as the command line and the server have it: headers that files share are understood once
  const analyzer = createAnalyzer();
  process.on('message', (file: string) => {
    process.send?.({ started: file });
    process.send?.(analyse(folder, file, units, analyzer));
  });
  process.send?.({ ready: true });
}

/** Milliseconds of processor time, so that other work on the machine counts for little. Those of the compiler and collector too. */
function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function analyse(folder: string, file: string, units: UnitReader, analyzer: Analyzer): FileResult {
  const times: number[] = [];
  let last = processorTime();
  const begin = last;
  const source = readSource(path.join(folder, file));
  const options = { computeCapability: '9.0', defines: new Map(), assume: new Map() };
  const workspace = { folders: [folder], includePaths: [] };
  const text = 'text' in source ? source.text : '';
  const request: AnalysisRequest = {
    ...units.request(path.join(folder, file), text, options, workspace),
    onKernel: () => {
      const now = processorTime();
      times.push(now - last);
      last = now;
    },
    // the first kernel's clock starts when parsing is over
    onParsed: () => {
      last = processorTime();
    },
  };
  try {
    const report = analyzer.analyze(request);
    return { file, milliseconds: processorTime() - begin, kernels: kernelsOf(report, folder, times) };
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { file, milliseconds: processorTime() - begin, kernels: [], crash: text.slice(0, 600) };
  }
}

function kernelsOf(report: FileReport, folder: string, times: readonly number[]): KernelResult[] {
  const place = (at: { file: string; line: number }) => `${path.relative(folder, at.file)}:${at.line}`;
  const accessesOf = (kernel: KernelReport): KernelResult['accesses'] =>
    (kernel.launches[0]?.accesses ?? [])
      .filter((a: AccessReport) => memorySpaces.has(a.space))
      .map((a) => ({ space: a.space, certainty: a.certainty, reason: a.reason ?? '', place: place(a) }));
  return report.kernels.map((kernel, i) => ({
    name: kernel.name,
    place: place(kernel.nameRange),
    milliseconds: times[i] ?? 0,
    skipped: kernel.skipped.map((s) => ({ reason: s.reason, place: place(s) })),
    hasLaunch: kernel.launches.some((l) => l.origin === 'launch-site'),
    problem: kernel.problem,
    incomplete: kernel.launches.find((l) => l.incomplete !== undefined)?.incomplete,
    accesses: accessesOf(kernel),
  }));
}

main(process.argv[2]);
