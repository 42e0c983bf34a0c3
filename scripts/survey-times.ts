/** What `npm run survey` tells of times: of an editor's first answer and of the whole one, by the clock and in processor time. */
import type { FileResult, Time } from './survey-child';

/** Milliseconds. */
const slowFile = 2000;
const SLOWEST_FILES = 5;
const SLOWEST_KERNELS = 10;

interface Spread {
  readonly p50: number;
  readonly p90: number;
  readonly p95: number;
  readonly max: number;
  readonly sum: number;
}
interface Times {
  readonly kernels: Readonly<Record<keyof Time, Spread>>;
  /** Files with all that is done for them. */
  readonly files: Readonly<Record<keyof Time, Spread>>;
  /** Files that take longer than two seconds, with all that is done for them. */
  readonly slowFiles: Readonly<Record<keyof Time, number>>;
  /** What is done for files between their kernels: the run of the host's program, launches under samples. */
  readonly fileWork: Readonly<Record<keyof Time, Spread>>;
}

export function timesOf(results: readonly FileResult[]): Times {
  const both = <T>(of: (unit: keyof Time) => T) => ({ clock: of('clock'), processor: of('processor') });
  const worked = results.filter(({ fileWork }) => fileWork.clock > 0);
  return {
    kernels: both((unit) => spread(results.flatMap((r) => r.kernels.map((k) => k.time[unit])))),
    files: both((unit) => spread(results.map((r) => r.time[unit]))),
    slowFiles: both((unit) => results.filter((r) => r.time[unit] > slowFile).length),
    fileWork: both((unit) => spread(worked.map((r) => r.fileWork[unit]))),
  };
}

function spread(times: readonly number[]): Spread {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50: at(0.5), p90: at(0.9), p95: at(0.95), max: at(1), sum: sorted.reduce((a, b) => a + b, 0) };
}

const told = ({ p50, p90, p95, max, sum }: Spread): string =>
  `p50 ${p50.toFixed(1)}, p90 ${p90.toFixed(1)}, p95 ${p95.toFixed(1)}, max ${max.toFixed(0)} ms, all ${(sum / 1000).toFixed(1)} s`;

/** One block of the printed summary. */
export function timeLines(answer: string, { kernels, files, slowFiles, fileWork }: Times): string[] {
  return [
    `${answer}, a kernel`,
    `  by the clock   ${told(kernels.clock)}`,
    `  processor      ${told(kernels.processor)}`,
    `${answer}, a file`,
    `  by the clock   ${told(files.clock)}`,
    `  processor      ${told(files.processor)}`,
    `  files over 2 s ${slowFiles.clock} by the clock, ${slowFiles.processor} in processor time`,
    ...(fileWork.clock.sum === 0
      ? []
      : [
          `${answer}, a file's own work between its kernels (host run, launches under samples), where there is any`,
          `  by the clock   ${told(fileWork.clock)}`,
          `  processor      ${told(fileWork.processor)}`,
        ]),
  ];
}

/** The slowest files and kernels, by the clock in the first answer and in the whole one. */
export function slowest(first: readonly FileResult[], whole: readonly FileResult[]): string[] {
  const row = (a: Time | undefined, b: Time, what: string) =>
    `${(a?.clock ?? 0).toFixed(0).padStart(8)} ${b.clock.toFixed(0).padStart(8)} ms  ${what}`;
  const longest = <T extends { time: Time }>(all: readonly T[], most: number) =>
    [...all].sort((a, b) => b.time.clock - a.time.clock).slice(0, most);
  const firstFiles = new Map(first.map((r) => [r.file, r]));
  const kernels = whole.flatMap((r) =>
    r.kernels.map((k, i) => ({ ...k, file: r.file, before: firstFiles.get(r.file)?.kernels[i]?.time })),
  );
  return [
    '',
    'slowest files (first answer, whole answer)',
    ...longest(whole, SLOWEST_FILES).map((r) => row(firstFiles.get(r.file)?.time, r.time, r.file)),
    'slowest kernels (first answer, whole answer)',
    ...longest(kernels, SLOWEST_KERNELS).map((k) => row(k.before, k.time, `${k.name} ${k.place} in ${k.file}`)),
  ];
}
