/**
 * What is told of values that host code computes, against what g++ gives. The programs of `test/host-values` say `show(x);` where a kernel would be
 * launched with x; behind it stand the values of g++, in the order in which they are shown:
 *
 *     show(total / 3); //= 14 15
 *
 * `//~` instead says that some of them are not told yet. A value that is told but wrong is a defect wherever it is.
 *
 *     npm run host-values -- [--record] [name …]    with --record the values are asked of g++ and written down
 *
 * Programs with Thrust are compiled with the toolkit's headers (in CUDA_HOME) and run on the host; those with CUB by nvcc, and need a GPU.
 */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { deviceCode } from '../server/src/analysis/device-code';
import { type ParsedUnit, parseUnit } from '../server/src/analysis/parsed-unit';
import { deviceProperties } from '../server/src/hardware/device-properties';
import { runMain } from '../server/src/host/run-main';
import { findLaunches } from '../server/src/launch/find-launches';
import { LexCache } from '../server/src/preprocess/lex-cache';

const folder = path.join(__dirname, '..', 'test', 'host-values');

/** Rounds of one launch that are looked at: as many as a run keeps. */
const MOST_ROUNDS = 32;

const KERNEL = '__global__ void shown(long value) {}';

/** What is told of one `show`. */
export interface Shown {
  /** From 1 on. */
  readonly line: number;
  readonly expected: readonly number[];
  /** All values are told, not only some of them. */
  readonly isWhole: boolean;
  /** By the run of `main`; undefined where it does not know. */
  readonly run: readonly (number | undefined)[];
  /** By the text alone, of the rounds that are reported. */
  readonly text: readonly number[];
}

export interface Score {
  readonly right: number;
  readonly unknown: number;
  readonly wrong: number;
}

/** The names of the programs. */
export const hostPrograms = (): string[] =>
  fs
    .readdirSync(folder)
    .filter((name) => name.endsWith('.cu'))
    .map((name) => path.basename(name, '.cu'));

/** What programs read lies beside them. */
const files = (name: string): Uint8Array | undefined => {
  const file = path.join(folder, name);
  return fs.existsSync(file) ? new Uint8Array(fs.readFileSync(file)) : undefined;
};

const fileOf = (name: string): string => path.join(folder, `${name}.cu`);

/** Every `show` of a program, with what is told of it. */
export function shownBy(name: string): readonly Shown[] {
  const source = fs.readFileSync(fileOf(name), 'utf8');
  const text = `${KERNEL} ${source.replace(/\bshow\(/g, 'shown<<<1, 32>>>(')}`;
  const options = { computeCapability: '9.0', defines: new Map(), assume: new Map() };
  const parsed = parseUnit({ path: 'program.cu', text, options, include: () => undefined }, new LexCache());
  const lineOf = (token: number) => text.slice(0, parsed.source.tokens.start[token]).split('\n').length;
  const byRun = valuesOfRun(parsed, lineOf);
  const byText = valuesOfText(parsed, lineOf);
  return source.split('\n').flatMap((each, i): Shown[] => {
    const [, mark, values] = /\bshow\(.*\/\/([=~]) (.*)$/.exec(each) ?? [];
    if (!mark) return [];
    const line = i + 1;
    const expected = values.split(' ').map(Number);
    return [{ line, expected, isWhole: mark === '=', run: byRun.get(line) ?? [], text: byText.get(line) ?? [] }];
  });
}

type LineOf = (token: number) => number;

function valuesOfRun(parsed: ParsedUnit, lineOf: LineOf): Map<number, (number | undefined)[]> {
  const { tree, source, context, kernels } = parsed;
  const device = deviceCode({ context, kernels }, []);
  const run = runMain(tree, source.tokens, { device, properties: deviceProperties('9.0'), files });
  const values = new Map<number, (number | undefined)[]>();
  for (const round of run?.rounds ?? []) {
    const index = round.launch.values.findIndex((value) => value.kind === 'parameter');
    add(values, lineOf(round.launch.place.first), round.values[index]);
  }
  return values;
}

function valuesOfText({ tree, source }: ParsedUnit, lineOf: LineOf): Map<number, number[]> {
  const options = { assume: new Map(), device: deviceProperties('9.0'), rounds: MOST_ROUNDS };
  const values = new Map<number, number[]>();
  for (const launch of findLaunches(tree, source.tokens, source.comments, options)) {
    const [value] = launch.arguments;
    if (value?.kind === 'number') add(values, lineOf(launch.place.first), value.value);
  }
  return values;
}

function add<T>(values: Map<number, T[]>, line: number, value: T): void {
  const ofLine = values.get(line);
  if (ofLine) ofLine.push(value);
  else values.set(line, [value]);
}

/** What the run tells of the values; one too many is wrong. */
export function scoreOfRun({ expected, run }: Shown): Score {
  const wrong = run.filter((value, i) => value !== undefined && value !== expected[i]).length;
  const right = expected.filter((value, i) => value === run[i]).length;
  return { right, wrong, unknown: Math.max(0, Math.min(expected.length, MOST_ROUNDS) - right - wrong) };
}

/** The same of the text, which may leave rounds out. */
export function scoreOfText({ expected, text }: Shown): Score {
  const wrong = text.filter((value) => !expected.includes(value)).length;
  const right = Math.min(new Set(expected).size, new Set(text).size - wrong);
  return { right: Math.max(0, right), wrong, unknown: Math.max(0, new Set(expected).size - right - wrong) };
}

export const sumOf = (scores: readonly Score[]): Score =>
  scores.reduce((a, b) => ({ right: a.right + b.right, unknown: a.unknown + b.unknown, wrong: a.wrong + b.wrong }), {
    right: 0,
    unknown: 0,
    wrong: 0,
  });

// ---- recording ----

/** Stands in for the runtime: memory of the device is the host's. */
const STAND_IN = `
#include <bits/stdc++.h>
#include <unistd.h>
#define __constant__
#define __forceinline__ inline
struct dim3 { unsigned x, y, z; constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {} };
struct float4 { float x, y, z, w; };
struct float2 { float x, y; };
struct int2 { int x, y; };
struct int3 { int x, y, z; };
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline int3 make_int3(int x, int y, int z) { return {x, y, z}; }
enum cudaError_t { cudaSuccess };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyHostToHost };
template <class T> cudaError_t cudaMalloc(T** p, size_t n) { *p = (T*)malloc(n); return cudaSuccess; }
template <class T> cudaError_t cudaMallocManaged(T** p, size_t n) { *p = (T*)malloc(n); return cudaSuccess; }
inline cudaError_t cudaFree(void* p) { free(p); return cudaSuccess; }
inline cudaError_t cudaMemcpy(void* a, const void* b, size_t n, cudaMemcpyKind) { memcpy(a, b, n); return cudaSuccess; }
inline cudaError_t cudaMemset(void* a, int x, size_t n) { memset(a, x, n); return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
inline const char* cudaGetErrorString(cudaError_t) { return ""; }
`;

const noAttributes = `
#define __host__
#define __device__
`;

const printing = `
#include <cstdio>
static void __shown(int line, long long x) { printf("%d %lld\\n", line, x); }
#define show(...) __shown(__LINE__, (long long)(__VA_ARGS__))
`;

/** Thrust itself, run on the host: it brings the runtime's headers along. */
const THRUST = ['-DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP'];
const toolkit = process.env.CUDA_HOME ?? '/usr/local/cuda';
const ofToolkit = ['include', 'include/cccl'].map((folder) => `-I${path.join(toolkit, folder)}`);

/** The values of g++ by line. */
function recorded(name: string): Map<number, number[]> {
  const temporary = fs.mkdtempSync(path.join(os.tmpdir(), 'host-values-'));
  const header = path.join(temporary, 'stand-in.h');
  const program = path.join(temporary, 'program');
  const text = fs.readFileSync(fileOf(name), 'utf8');
  const [usesCub, usesThrust] = [text.includes('<cub/'), text.includes('<thrust/')];
  fs.writeFileSync(
    header,
    usesCub ? printing : usesThrust ? noAttributes + printing : noAttributes + printing + STAND_IN,
  );
  const flags = ['-std=c++20', '-O1', '-w', ...(usesThrust ? [...THRUST, ...ofToolkit] : [])];
  // CUB needs a GPU
  const [compiler, language] = usesCub ? ['nvcc', 'cu'] : ['g++', 'c++'];
  execFileSync(compiler, [...flags, '-include', header, '-x', language, fileOf(name), '-o', program]);
  const values = new Map<number, number[]>();
  for (const row of execFileSync(program, { encoding: 'utf8', cwd: folder }).trim().split('\n')) {
    const [line, value] = row.split(' ').map(Number);
    add(values, line, value);
  }
  fs.rmSync(temporary, { recursive: true });
  return values;
}

/** Writes what is expected behind each `show`; a line that is never come to has none. */
function rewrite(name: string, valuesAt: (line: number) => readonly number[], markOf: (line: number) => string): void {
  const lines = fs.readFileSync(fileOf(name), 'utf8').split('\n');
  const written = lines.map((each, i) => {
    if (!/\bshow\(/.test(each)) return each;
    const plain = each.replace(/\s*\/\/[=~].*$/, '');
    const values = valuesAt(i + 1);
    return values.length === 0 ? plain : `${plain} //${markOf(i + 1)} ${values.join(' ')}`;
  });
  fs.writeFileSync(fileOf(name), written.join('\n'));
}

/** Asks g++, then marks the lines of which everything is told. */
function record(name: string): void {
  const values = recorded(name);
  rewrite(
    name,
    (line) => values.get(line) ?? [],
    () => '=',
  );
  const isTold = new Map(shownBy(name).map((shown) => [shown.line, scoreOfRun(shown).unknown === 0]));
  rewrite(
    name,
    (line) => values.get(line) ?? [],
    (line) => (isTold.get(line) ? '=' : '~'),
  );
}

// ---- report ----

const say = ({ right, unknown, wrong }: Score): string => `${right} right, ${unknown} unknown, ${wrong} wrong`;

function report(name: string): readonly [run: Score, text: Score] {
  const shown = shownBy(name);
  const run = sumOf(shown.map(scoreOfRun));
  const text = sumOf(shown.map(scoreOfText));
  console.log(`${name}: run ${say(run)}; text ${say(text)}`);
  for (const each of shown) {
    const [ofRun, ofText] = [scoreOfRun(each), scoreOfText(each)];
    if (ofRun.wrong > 0)
      console.log(`  line ${each.line}: run WRONG ${each.run.join(' ')}, not ${each.expected.join(' ')}`);
    else if (ofRun.unknown > 0) console.log(`  line ${each.line}: run unknown`);
    if (ofText.wrong > 0)
      console.log(`  line ${each.line}: text WRONG ${each.text.join(' ')}, not ${each.expected.join(' ')}`);
  }
  return [run, text];
}

function main(args: readonly string[]): void {
  const isRecording = args.includes('--record');
  const given = args.filter((arg) => !arg.startsWith('--'));
  const names = given.length > 0 ? given : hostPrograms();
  if (isRecording) for (const name of names) record(name);
  const scores = names.map(report);
  console.log(`${names.length} programs: run ${say(sumOf(scores.map(([run]) => run)))}`);
  console.log(`text ${say(sumOf(scores.map(([, text]) => text)))}`);
}

if (process.argv[1]?.includes('host-values')) main(process.argv.slice(2));
