/**
 * Runs the whole way on CUDA source and compares what it says with expectations written under the code:
 *
 *     out[i] = tile[threadIdx.x][0];
 *     //       ^^^^^^^^^^^^^^^^^^^^ shared load 32-way
 *
 * Carets stand under the access. Words: the space, the operation, then any of `32-way` (wavefronts ÷ ideal, or sectors ÷ ideal),
 * `8/4 sectors` and `2/1 wavefronts` a request, `x64` requests in all, `16 lanes` a request, `4 bytes`, `exact`, `assumed`,
 * `unknown`. `no access` says that there is none. Launches come from the source: `// warplens: block=…` or `<<<…>>>`.
 */
import assert from 'node:assert/strict';
import { analyzeFile } from '../../../server/src/analysis/analyze';
import type { Compilation } from '../../../server/src/analysis/request';
import type { AccessReport, FileReport } from '../../../server/src/report/report';

export interface CheckOptions {
  readonly cc?: string;
  readonly assume?: Readonly<Record<string, number>>;
  readonly defines?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  /** test.cu unless given. */
  readonly path?: string;
  readonly compilation?: Compilation;
}

export function analyse(source: string, options: CheckOptions = {}): FileReport {
  const { files = {} } = options;
  return analyzeFile({
    path: options.path ?? 'test.cu',
    text: source,
    options: {
      computeCapability: options.cc ?? '9.0',
      defines: new Map(Object.entries(options.defines ?? {})),
      assume: new Map(Object.entries(options.assume ?? {})),
    },
    include: (name) => (name in files ? { path: name, text: files[name] } : undefined),
    compilation: options.compilation,
  });
}

interface Expectation {
  readonly line: number;
  readonly column: number;
  readonly endColumn: number;
  readonly text: string;
}

function expectations(source: string): Expectation[] {
  const lines = source.split('\n');
  const found: Expectation[] = [];
  let code = 0;
  lines.forEach((line, index) => {
    const match = /^(\s*\/\/\s*)(\^+)\s+(.*?)\s*$/.exec(line);
    if (!match) {
      code = index + 1;
      return;
    }
    const column = match[1].length + 1;
    found.push({ line: code, column, endColumn: column + match[2].length, text: match[3] });
  });
  return found;
}

const describe = (a: AccessReport): string => {
  const excess = a.space === 'shared' ? a.wavefronts / a.idealWavefronts : a.sectors / a.idealSectors;
  return `${a.space} ${a.operation} ${+excess.toFixed(3)}-way x${a.requests} ${a.wavefronts}/${a.idealWavefronts} wavefronts ${a.sectors}/${a.idealSectors} sectors ${a.bytesPerLane} bytes ${a.certainty}${a.reason ? ` (${a.reason})` : ''}`;
};

function fits(a: AccessReport, text: string): boolean {
  const per = (n: number) => +(n / Math.max(1, a.requests)).toFixed(4);
  const actual = a.space === 'shared' ? a.wavefronts : a.sectors;
  const ideal = a.space === 'shared' ? a.idealWavefronts : a.idealSectors;
  const checks: readonly (readonly [RegExp, (m: RegExpExecArray) => boolean])[] = [
    [/\b(shared|global|constant|local|texture)\b/, (m) => m[1] === a.space],
    [/\b(load|store|atomic)\b/, (m) => m[1] === a.operation],
    [/([\d.]+)-way/, (m) => Math.abs(actual / ideal - Number(m[1])) < 0.01],
    [/([\d.]+)\/([\d.]+) sectors/, (m) => per(a.sectors) === Number(m[1]) && per(a.idealSectors) === Number(m[2])],
    [
      /([\d.]+)\/([\d.]+) wavefronts/,
      (m) => per(a.wavefronts) === Number(m[1]) && per(a.idealWavefronts) === Number(m[2]),
    ],
    [/\bx(\d+)/, (m) => a.requests === Number(m[1])],
    [/([\d.]+) lanes/, (m) => per(a.activeLanes) === Number(m[1])],
    [/(\d+) bytes/, (m) => a.bytesPerLane === Number(m[1])],
    [/\b(exact|assumed|unknown)\b/, (m) => a.certainty === m[1]],
  ];
  return checks.every(([pattern, test]) => {
    const match = pattern.exec(text);
    return !match || test(match);
  });
}

/** Checks every expectation in the source; at least one must be there. */
export function check(source: string, options: CheckOptions = {}): FileReport {
  const report = analyse(source, options);
  const wanted = expectations(source);
  assert.ok(wanted.length > 0, 'the source has no expectation');
  const accesses = report.kernels.flatMap((k) => k.launches.flatMap((l) => l.accesses));
  const skipped = report.kernels.flatMap((k) => k.skipped.map((s) => `skipped ${s.line}:${s.column} ${s.reason}`));
  for (const e of wanted) {
    const here = accesses.filter((a) => a.line === e.line && a.column === e.column && a.endColumn === e.endColumn);
    const ok = e.text.startsWith('no access') ? here.length === 0 : here.some((a) => fits(a, e.text));
    const shown = here.length > 0 ? here : accesses.filter((a) => a.line === e.line);
    const list = shown.map((a) => `  ${a.line}:${a.column}-${a.endColumn} ${describe(a)}`);
    assert.ok(
      ok,
      `line ${e.line}, column ${e.column}: expected '${e.text}', found\n${[...list, ...skipped].join('\n') || '  nothing'}`,
    );
  }
  return report;
}
