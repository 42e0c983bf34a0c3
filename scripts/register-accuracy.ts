/**
 * How far the register estimate is from ptxas: compiles CUDA files for several capabilities, pairs each compiled kernel
 * (every template instance) with the estimate for the same instance, and prints the errors.
 *
 *     npx tsx scripts/register-accuracy.ts [--kept <folder>] [--list] [file.cu …]
 *
 * Files: test/hardware/programs unless given. Needs nvcc. `--kept`: keeps the compiler's messages and uses those that are
 * there, so that a second run compiles nothing. `--list`: prints every kernel.
 */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { launchBoundsOf, maxRegistersOf } from '../server/src/analysis/bounds';
import { findKernels } from '../server/src/analysis/kernels';
import { matchLaunches } from '../server/src/analysis/launches';
import { architectureOf } from '../server/src/compiler/architecture';
import { findNvcc } from '../server/src/compiler/find-nvcc';
import { matchKernel } from '../server/src/compiler/match-kernels';
import { type KernelResources, parseResources } from '../server/src/compiler/resources';
import { runProgram } from '../server/src/compiler/run-program';
import { type Capability, capability } from '../server/src/hardware/capabilities';
import { occupancy } from '../server/src/hardware/occupancy';
import { compilerBound } from '../server/src/hardware/register-bounds';
import { findLaunches } from '../server/src/launch/find-launches';
import { createContext } from '../server/src/lower/context';
import { lookupName } from '../server/src/lower/lookup';
import { createUnitContext, lowerKernel } from '../server/src/lower/lower-kernel';
import { argumentKey } from '../server/src/lower/records';
import { resolveNamedType } from '../server/src/lower/resolve-type';
import type { Scope } from '../server/src/lower/scope';
import { namedTypes, type TemplateValue, types, vectorTypes } from '../server/src/lower/types';
import { machineProgram } from '../server/src/machine/machine';
import { estimateRegisters } from '../server/src/machine/registers';
import { parse } from '../server/src/parse/parse';
import { predefinedMacros } from '../server/src/preprocess/predefined';
import { preprocess } from '../server/src/preprocess/preprocess';
import { demangle } from '../server/src/ptx/demangle';

const CAPABILITIES = ['7.5', '8.0', '9.0', '12.0'];
/** Written to read rules off single instructions: they stand for no kernel that anybody writes. */
const MICROBENCHMARKS = ['request_shapes.cu', 'wide_load_phases.cu'];
const FLAGS = ['-O3', '-std=c++17'];

interface Row {
  readonly capability: string;
  readonly kernel: string;
  readonly compiled: number;
  readonly estimated: number;
  readonly isWithin: boolean;
  readonly isClassRight: boolean;
}

/** The compiler's messages for each capability, '' where it fails. */
async function compiled(nvcc: string, file: string, kept: string | undefined): Promise<Map<string, string>> {
  const messages = new Map<string, string>();
  for (const cc of CAPABILITIES) {
    const name = path.resolve(file).replace(/[\\/: ]/g, '~');
    const store = kept && path.join(kept, `${name}.${architectureOf(cc)}.txt`);
    if (store && fs.existsSync(store)) {
      messages.set(cc, fs.readFileSync(store, 'utf8'));
      continue;
    }
    const output = path.join(
      fs.mkdtempSync(path.join(fs.realpathSync(process.env.TMPDIR ?? '/tmp'), 'registers-')),
      'out',
    );
    const { errors, exitCode } = await runProgram(nvcc, {
      arguments: [
        ...FLAGS,
        '-cubin',
        `-arch=sm_${architectureOf(cc)}`,
        '-Xptxas',
        '-v',
        '-o',
        output,
        path.basename(file),
      ],
      folder: path.dirname(path.resolve(file)),
      milliseconds: 300_000,
      outputLimit: 4_000_000,
    });
    fs.rmSync(path.dirname(output), { recursive: true, force: true });
    messages.set(cc, exitCode === 0 ? errors : '');
    if (store) fs.writeFileSync(store, messages.get(cc) ?? '');
  }
  return messages;
}

/** Template arguments as the compiler spells them; undefined where one is not understood. */
function argumentsOf(
  context: ReturnType<typeof createContext>,
  scope: Scope,
  spelled: readonly string[],
): TemplateValue[] | undefined {
  const values: TemplateValue[] = [];
  for (const argument of spelled) {
    const last = argument.split('::').at(-1) ?? argument;
    const entity = /^\w+$/.test(last) ? lookupName(context, scope, last) : undefined;
    const type =
      namedTypes.get(argument) ??
      vectorTypes.get(argument) ??
      (entity && resolveNamedType(context, scope, entity, { name: last }));
    if (/^-?\d+$/.test(argument)) values.push({ kind: 'number', value: Number(argument), type: types.int });
    else if (argument === 'true' || argument === 'false')
      values.push({ kind: 'number', value: argument === 'true' ? 1 : 0, type: namedTypes.get('bool') ?? types.int });
    else if (type) values.push({ kind: 'type', type });
    else return undefined;
  }
  return values;
}

function include(name: string, quoted: boolean, from: string): { path: string; text: string } | undefined {
  const found = path.resolve(path.dirname(from), name);
  return quoted && fs.existsSync(found) ? { path: found, text: fs.readFileSync(found, 'utf8') } : undefined;
}

function measure(file: string, messages: ReadonlyMap<string, string>): { rows: Row[]; left: string[] } {
  const text = fs.readFileSync(file, 'utf8');
  const source = preprocess({ path: file, text, defines: predefinedMacros('9.0'), include });
  const tree = parse(source.tokens, source.pragmas);
  const unit = createUnitContext(tree, source.tokens);
  const kernels = findKernels(tree, unit.scope);
  const launches = matchLaunches(
    unit,
    kernels,
    findLaunches(tree, source.tokens, source.comments, { assume: new Map() }),
  );
  const rows: Row[] = [];
  const left: string[] = [];
  const resources = new Map([...messages].map(([cc, said]) => [cc, parseResources(said)]));
  const instances = [...resources.values()].find((all) => all.length > 0) ?? [];
  for (const { mangled } of instances) {
    const names = demangle(mangled);
    const name = names?.name ?? mangled;
    const candidates = kernels.filter((kernel) => kernel.name === name);
    const label = `${path.basename(file)} ${names?.full ?? name}`;
    const [kernel] = candidates;
    if (candidates.length !== 1) {
      left.push(`${label}: ${candidates.length} kernels of this name`);
      continue;
    }
    const own = launches.filter((launch) => launch.kernel === kernel);
    const launch = own.find(
      (l) => matchKernel(instances, name, l.templateArguments.map(argumentKey))?.mangled === mangled,
    );
    const values =
      launch?.templateArguments ??
      argumentsOf(createContext(unit, name, new Set()), kernel.scope, names?.templateArguments ?? []);
    if (!values) {
      left.push(`${label}: its template arguments are not understood`);
      continue;
    }
    const { declaration, scope } = kernel;
    const program = machineProgram(lowerKernel(unit, { declaration, scope, templateArguments: values }));
    const bounds = launchBoundsOf(unit, kernel, values);
    const block = (launch ?? own[0])?.block.map((value) => (value.kind === 'number' ? value.value : Number.NaN));
    const threads = block?.reduce((product, value) => product * value, 1) ?? Number.NaN;
    const dynamic = (launch ?? own[0])?.dynamicSharedBytes;
    for (const [cc, all] of resources) {
      const row = capability(cc);
      const real: KernelResources | undefined = all.find((each) => each.mangled === mangled);
      if (!row || !real) continue;
      const bound = compilerBound(row, {
        launchBounds: bounds,
        maxRegisters: maxRegistersOf(unit, kernel, values),
      })?.registers;
      const estimate = estimateRegisters(program, row.limits, bound);
      const request = {
        threadsPerBlock: Number.isFinite(threads) ? threads : (bounds?.maxThreads ?? 256),
        sharedBytesPerBlock: real.sharedBytes + (dynamic?.kind === 'number' ? dynamic.value : 0),
      };
      rows.push({
        capability: cc,
        kernel: label,
        compiled: real.registers,
        estimated: estimate.registers,
        isWithin: real.registers >= estimate.range[0] && real.registers <= estimate.range[1],
        isClassRight: blocks(row, request, real.registers) === blocks(row, request, estimate.registers),
      });
    }
  }
  return { rows, left };
}

function blocks(row: Capability, request: { threadsPerBlock: number; sharedBytesPerBlock: number }, registers: number) {
  return occupancy(row, { ...request, registersPerThread: registers }).blocksPerSm;
}

const quantile = (sorted: readonly number[], share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
const percent = (value: number) => `${(100 * value).toFixed(1)} %`;

function print(rows: readonly Row[]): void {
  console.log(
    '| capability | kernels | median error | 80 % within | mean signed | within the range | occupancy right |',
  );
  console.log('|---|---|---|---|---|---|---|');
  for (const cc of CAPABILITIES) {
    const own = rows.filter((row) => row.capability === cc);
    const errors = own.map((row) => (row.estimated - row.compiled) / row.compiled);
    const sorted = errors.map(Math.abs).sort((a, b) => a - b);
    const share = (test: (row: Row) => boolean) => percent(own.filter(test).length / own.length);
    const cells = [
      cc,
      own.length,
      percent(quantile(sorted, 0.5)),
      percent(quantile(sorted, 0.8)),
      percent(errors.reduce((sum, each) => sum + each, 0) / errors.length),
      share((row) => row.isWithin),
      share((row) => row.isClassRight),
    ];
    console.log(`| ${cells.join(' | ')} |`);
  }
}

async function main(): Promise<void> {
  const given = process.argv.slice(2);
  const keptAt = given.indexOf('--kept');
  const kept = keptAt < 0 ? undefined : given.splice(keptAt, 2)[1];
  const listAt = given.indexOf('--list');
  if (listAt >= 0) given.splice(listAt, 1);
  if (kept) fs.mkdirSync(kept, { recursive: true });
  const folder = 'test/hardware/programs';
  const own = fs.readdirSync(folder).filter((name) => name.endsWith('.cu') && !MICROBENCHMARKS.includes(name));
  const files = given.length > 0 ? given : own.map((name) => path.join(folder, name));
  const nvcc = findNvcc({ environment: process.env, platform: process.platform });
  if (!nvcc && !kept) {
    console.error('nvcc is not found: nothing to compare with');
    process.exitCode = 1;
    return;
  }
  const rows: Row[] = [];
  for (const file of files) {
    const result = measure(file, await compiled(nvcc ?? 'nvcc', file, kept));
    rows.push(...result.rows);
    for (const line of result.left) console.error(`left out: ${line}`);
  }
  if (listAt >= 0) {
    for (const { capability: cc, kernel, compiled: real, estimated } of rows)
      console.log(`${cc}\t${real}\t${estimated}\t${kernel}`);
  }
  print(rows);
}

void main();
