/**
 * npm run bench: how fast the editor is answered, through the real server over its protocol, with a file of 1,000 lines
 * and ten kernels; beside it nvcc's time for the same file, and how long after nvcc's answer a report rests on it. `-- --json` ends with
 * one line of JSON.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import { largeFile } from '../test/bench/large-file';
import { LanguageServer } from '../test/host/language-server';
import { bundled } from './bundled';

const program = path.resolve('dist/server.js');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'warplens-bench-'));
const file = path.join(folder, 'large.cu');
const uri = pathToFileURL(file).href;

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

/** Milliseconds from the server's start to the first diagnostics; the median of several starts. `codeCache`: with code that was kept there. */
async function coldStart(text: string, codeCache?: string, runs = 5): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < runs; run++) {
    const started = performance.now();
    const { server } = await LanguageServer.start({ program, folder, codeCache });
    await server.open(uri, text);
    await server.diagnostics(uri, 1);
    times.push(performance.now() - started);
    await server.stop();
  }
  return quantile(
    times.sort((a, b) => a - b),
    0.5,
  );
}

/** A folder with the code that a first start keeps, some seconds behind its answer. */
async function keptCode(text: string): Promise<string> {
  const codeCache = path.join(folder, 'code');
  const { server } = await LanguageServer.start({ program, folder, codeCache });
  await server.open(uri, text);
  await server.diagnostics(uri, 1);
  for (let waited = 0; !fs.existsSync(codeCache) || fs.readdirSync(codeCache).length === 0; waited++) {
    if (waited > 300) throw new Error('no code was kept within 30 s of the first answer');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await server.stop();
  return codeCache;
}

/** Where and what is typed: in an index, a statement, host code, a comment, a launch, an early declaration. */
const typing: readonly (readonly [after: string, text: string])[] = [
  ['tile[threadIdx.x][threadIdx.y + j', ' + 0'],
  ['float sum = 0.0f;', ' int q = n;'],
  ['double total = 0.0;', ' int p = 1;'],
  ['// step 3 of the check of stencil', ' again'],
  ['vectorsKernel<<<grid, block', ', 0'],
  ['constexpr int SIZE = 1024;', ' // elements'],
  ['int at = static_cast<int>(in[i]', ' + 0'],
];

interface Typed {
  readonly milliseconds: readonly number[];
  readonly residentMb: number;
}

/** Types character by character, each as soon as the answer to the one before is there, and takes it back again. */
async function type(text: string, rounds = 6): Promise<Typed> {
  const { server } = await LanguageServer.start({ program, folder });
  await server.open(uri, text);
  await server.diagnostics(uri, 1);
  const milliseconds: number[] = [];
  let version = 1;
  const edit = async (insert: string, line: number, from: number, to: number): Promise<void> => {
    const started = performance.now();
    const range = { start: { line, character: from }, end: { line, character: to } };
    await server.change(uri, ++version, insert, range);
    await server.diagnostics(uri, version);
    milliseconds.push(performance.now() - started);
    // a person needs longer for the next key
    await new Promise((resolve) => setTimeout(resolve, 20));
  };
  for (let round = 0; round < rounds; round++) {
    for (const [after, typed] of typing) {
      const index = text.indexOf(after) + after.length;
      if (index < after.length) throw new Error(`${after} is not in the file`);
      const line = text.slice(0, index).split('\n').length - 1;
      const column = index - (text.lastIndexOf('\n', index - 1) + 1);
      for (let k = 0; k < typed.length; k++) await edit(typed[k], line, column + k, column + k);
      for (let k = typed.length; k > 0; k--) await edit('', line, column + k - 1, column + k);
    }
  }
  const residentMb = residentMegabytes(server.process.pid);
  await server.stop();
  return { milliseconds: milliseconds.sort((a, b) => a - b), residentMb };
}

function residentMegabytes(pid: number | undefined): number {
  const kilobytes = Number(execFileSync('ps', ['-o', 'rss=', '-p', `${pid}`], { encoding: 'utf8' }));
  return kilobytes / 1024;
}

/** Warp instructions a second of the executor, over all cases of scripts/bench-executor.ts, warm. */
function executorRate(): number {
  const { stdout } = spawnSync(process.execPath, ['--import', 'tsx', 'scripts/bench-executor.ts'], {
    encoding: 'utf8',
  });
  let instructions = 0;
  let milliseconds = 0;
  for (const match of stdout.matchAll(/: (\d+) of \d+ warp instructions;.* warm ([\d.]+) ms/g)) {
    instructions += Number(match[1]);
    milliseconds += Number(match[2]);
  }
  if (milliseconds === 0) throw new Error('scripts/bench-executor.ts printed no case');
  return (instructions / milliseconds) * 1_000;
}

/** nvcc's median time for the file; undefined where it is not installed. */
function nvccMilliseconds(runs = 3): number | undefined {
  if (spawnSync('nvcc', ['--version']).status !== 0) return undefined;
  const times: number[] = [];
  for (let run = 0; run < runs; run++) {
    const started = performance.now();
    const args = ['-cubin', '-arch=sm_90', '-o', path.join(folder, 'large.cubin'), file];
    const { status, stderr } = spawnSync('nvcc', args, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`nvcc does not compile the bench file: ${stderr.slice(0, 1_000)}`);
    times.push(performance.now() - started);
  }
  return quantile(
    times.sort((a, b) => a - b),
    0.5,
  );
}

/**
 * From nvcc's answer to the report that rests on it, the first one, one after an edit of one kernel, and the first one of a process: medians over recorded programs (scripts/bench-compiled.ts), bundled as the
 * server is.
 */
function compiledMilliseconds(): Readonly<Record<'first' | 'edited' | 'cold', number>> {
  const { stdout } = spawnSync(process.execPath, [bundled(path.join(__dirname, 'bench-compiled.ts'))], {
    encoding: 'utf8',
  });
  const medianOf = (answer: string): number => {
    const median = new RegExp(`^${answer} of \\d+ programs: median ([\\d.]+) ms`, 'm').exec(stdout)?.[1];
    if (median === undefined) throw new Error(`scripts/bench-compiled.ts printed no median of the ${answer}`);
    return Number(median);
  };
  return {
    first: medianOf('first answer'),
    edited: medianOf('answer after an edit of one kernel'),
    cold: medianOf('first answer of a process'),
  };
}

async function main(): Promise<void> {
  const { text, kernels } = largeFile();
  fs.writeFileSync(file, text);
  const coldFirstDiagnosticsMs = await coldStart(text);
  const keptFirstDiagnosticsMs = await coldStart(text, await keptCode(text));
  const { milliseconds, residentMb } = await type(text);
  const nvccCubinMs = nvccMilliseconds();
  const compiled = nvccCubinMs === undefined ? undefined : compiledMilliseconds();
  const p50 = quantile(milliseconds, 0.5);
  const results = {
    editToDiagnosticsP50Ms: p50,
    editToDiagnosticsP95Ms: quantile(milliseconds, 0.95),
    coldFirstDiagnosticsMs,
    keptFirstDiagnosticsMs,
    warpInstructionsPerSecond: Math.round(executorRate()),
    serverRssMb: residentMb,
    nvccCubinMs,
    nvccRatio: nvccCubinMs === undefined ? undefined : nvccCubinMs / p50,
    compiledAnswerMs: compiled?.first,
    compiledEditAnswerMs: compiled?.edited,
    compiledColdAnswerMs: compiled?.cold,
  };
  fs.rmSync(folder, { recursive: true, force: true });

  const ms = (value: number) => `${value.toFixed(1)} ms`;
  console.log(`${text.split('\n').length} lines, ${kernels.length} kernels, ${milliseconds.length} edits`);
  console.log(
    `edit to diagnostics   p50 ${ms(p50)}, p95 ${ms(results.editToDiagnosticsP95Ms)}, longest ${ms(milliseconds[milliseconds.length - 1])}`,
  );
  console.log(
    `start to diagnostics  ${ms(coldFirstDiagnosticsMs)}, with code kept from a start before ${ms(keptFirstDiagnosticsMs)}`,
  );
  console.log(
    `executor              ${(results.warpInstructionsPerSecond / 1e6).toFixed(1)} million warp instructions a second`,
  );
  console.log(`server memory         ${residentMb.toFixed(0)} MB`);
  if (nvccCubinMs === undefined) console.log('nvcc                  not installed');
  else console.log(`nvcc -cubin           ${ms(nvccCubinMs)}, ${(nvccCubinMs / p50).toFixed(0)} times an edit`);
  if (compiled) {
    console.log(
      `nvcc's answer         ${ms(compiled.first)} later a report rests on it, ${ms(compiled.edited)} after an edit of one kernel, ${ms(compiled.cold)} in a process just started (medians of recorded programs)`,
    );
  }
  if (process.argv.includes('--json')) {
    const rounded = Object.entries(results).map(([name, value]) => [name, value && Math.round(value * 100) / 100]);
    console.log(JSON.stringify(Object.fromEntries(rounded)));
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
