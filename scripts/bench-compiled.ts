/**
 * Milliseconds from nvcc's answer to the report that rests on it, over every fifth recorded program: the median and the quarter that takes
 * longer. The first answer of a file, analysed before as the editor does it (source first, then with the data of the host), all in one process;
 * the answer after an edit of one of its kernels, the same way; and the first answer of a process, for every fifth of the programs one of its
 * own: what an editor gives that was just started. Needs nvcc. `npm run bench` bundles and runs it; alone: npx tsx scripts/bench-compiled.ts, which takes
 * a third longer.
 */
import { spawnSync } from 'node:child_process';
import * as path from 'node:path';
import { type Analyzer, createAnalyzer } from '../server/src/analysis/analyze';
import type { Compilation } from '../server/src/analysis/request';
import { findNvcc } from '../server/src/compiler/find-nvcc';
import { optimiseLate } from '../server/src/late-optimisation';
import type { FileReport } from '../server/src/report/report';
import { compiledProgram, recordedFlags } from './compiled-program';
import { hardwareFolder, recordedPrograms } from './recorded-counters';
import { includeFrom } from './tiers';

const EVERY = 5;

const folder = path.join(hardwareFolder, 'programs');
const include = includeFrom(folder);

interface Time {
  readonly wall: number;
  /** Of the processor: what another load on the machine changes little. */
  readonly processor: number;
}

interface Compiled {
  readonly file: string;
  readonly compilation: Compilation;
}

interface Answer extends Time {
  readonly report: FileReport;
}

/** An analysis as the editor asks for it. */
function analyse(
  analyzer: Analyzer,
  file: string,
  { text }: Compilation,
  followData: true | 'ready',
  compilation?: Compilation,
): Answer {
  const options = { computeCapability: '9.0', defines: new Map(), assume: new Map(), followData };
  const [started, usage] = [performance.now(), process.cpuUsage()];
  const report = analyzer.analyze({ path: file, text, options, include, compilation });
  const { user, system } = process.cpuUsage(usage);
  return { wall: performance.now() - started, processor: (user + system) / 1000, report };
}

/** What comes before the compiler's answer for a text, with its answer for the text before; then its answer. */
function answer(analyzer: Analyzer, file: string, now: Compilation, before?: Compilation): Answer {
  analyse(analyzer, file, now, 'ready', before);
  analyse(analyzer, file, now, true, before);
  return analyse(analyzer, file, now, 'ready', now);
}

async function compiled(nvcc: string, program: string): Promise<Compiled | undefined> {
  const file = path.join(folder, `${program}.cu`);
  const compilation = await compiledProgram(nvcc, file);
  return compilation && { file, compilation: { ...compilation, include } };
}

/** The file with a barrier at the beginning of its first kernel. */
async function edited(nvcc: string, { file, compilation }: Compiled): Promise<Compilation | undefined> {
  const text = withBarrier(file, compilation.text);
  const made = text && (await compiledProgram(nvcc, file, recordedFlags(file), '9.0', text));
  return made ? { ...made, id: `${file} edited`, include } : undefined;
}

function withBarrier(file: string, text: string): string | undefined {
  const options = { computeCapability: '9.0', defines: new Map(), assume: new Map(), followData: false };
  const { kernels } = createAnalyzer().analyze({ path: file, text, options, include });
  const kernel = kernels.find(({ range }) => range.file === file);
  if (!kernel) return undefined;
  const start = text.split('\n', kernel.range.line - 1).join('\n').length;
  const head = /\)\s*\{/.exec(text.slice(start));
  if (!head) return undefined;
  const at = start + head.index + head[0].length;
  return `${text.slice(0, at)}\n  __syncthreads();${text.slice(at)}`;
}

/** `median 40.1 ms, a quarter above 70.2 ms` */
function inWords(times: readonly number[]): string {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number) => `${sorted[Math.floor(sorted.length * share)].toFixed(1)} ms`;
  return `median ${at(0.5)}, a quarter above ${at(0.75)}`;
}

function print(what: string, times: readonly Time[]): void {
  console.log(`${what} of ${times.length} programs: ${inWords(times.map(({ wall }) => wall))}`);
  console.log(`processor time: ${inWords(times.map(({ processor }) => processor))}`);
}

/** The first answer of a process of its own; undefined where the program was not compiled. */
function coldAnswer(program: string): Time | undefined {
  const args = [__filename, `--cold=${program}`, ...process.argv.slice(2)];
  const { stdout } = spawnSync(process.execPath, [...process.execArgv, ...args], { encoding: 'utf8' });
  return stdout === '' ? undefined : (JSON.parse(stdout) as Time);
}

async function main(): Promise<void> {
  const nvcc = findNvcc({ environment: process.env, platform: process.platform });
  if (nvcc === undefined) throw new Error('nvcc was not found');
  const analyzer = createAnalyzer();
  const [alone] = process.argv.flatMap((arg) => /^--cold=(.+)$/.exec(arg)?.[1] ?? []);
  if (alone !== undefined) {
    const made = await compiled(nvcc, alone);
    if (made) console.log(JSON.stringify({ ...answer(analyzer, made.file, made.compilation), report: undefined }));
    return;
  }
  const names = recordedPrograms([]).filter((_, index) => index % EVERY === 0);
  const programs: Compiled[] = [];
  const first: Time[] = [];
  for (const name of names) {
    const made = await compiled(nvcc, name);
    if (!made) continue;
    programs.push(made);
    first.push(answer(analyzer, made.file, made.compilation));
  }
  print('first answer', first);
  const again: Time[] = [];
  for (const program of programs) {
    const changed = await edited(nvcc, program);
    if (!changed) continue;
    answer(analyzer, program.file, program.compilation);
    again.push(answer(analyzer, program.file, changed, program.compilation));
  }
  print('answer after an edit of one kernel', again);
  print(
    'first answer of a process',
    names.filter((_, index) => index % EVERY === 0).flatMap((name) => coldAnswer(name) ?? []),
  );
}

optimiseLate();
main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
