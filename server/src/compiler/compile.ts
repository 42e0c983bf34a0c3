/** Starts nvcc: to PTX, and to machine code for what ptxas says about registers. Nothing runs unless called. */

import * as fs from 'node:fs/promises';
import * as os from 'node:os';
import * as path from 'node:path';
import type { MachineCode, MachineLine } from '../cubin/machine-access';
import { readCubin } from '../cubin/read-cubin';
import { isPtxFile } from '../ptx/names';
import { chosenArchitecture } from './architecture';
import { demangleAll } from './demangle';
import { firstError } from './errors';
import { featureSuffix, usableFlags } from './flags';
import { type KernelResources, parseResources } from './resources';
import { type ProgramResult, runProgram } from './run-program';

/** What is to be compiled, by whichever compiler. */
export interface SourceToCompile {
  /** Absolute path of the source. */
  readonly file: string;
  /** Unsaved text to compile in place of the file's. */
  readonly text?: string;
  /** Flags of the build (-I, -D, -std=…); outputs and architectures among them are left out. */
  readonly flags: readonly string[];
  /** '9.0' */
  readonly capability: string;
  readonly signal?: AbortSignal;
  /** One minute unless given. */
  readonly milliseconds?: number;
}

export interface CompileRequest extends SourceToCompile {
  readonly nvcc: string;
}

export interface CompileError {
  /** One line for people. */
  readonly error: string;
  readonly isCancelled?: boolean;
}

export interface PtxResult {
  readonly ptx: string;
  /** What was done otherwise than asked. */
  readonly notes: readonly string[];
}

export interface KernelsResult {
  /** With line numbers. */
  readonly ptx?: string;
  /** Registers, spills, stack and static shared memory of every kernel; absent where the assembler refused. */
  readonly kernels?: readonly KernelResources[];
  /** Memory instructions of the machine code, by lines of the PTX. */
  readonly machine?: MachineCode;
  readonly notes: readonly string[];
}

/** What a run of a compiler may take and say. */
export const compilerLimits = { milliseconds: 60_000, outputLimit: 1_000_000 };
/** Bytes of PTX beyond which it is not worth reading: parsed, it takes ten times as much memory. */
const MOST_PTX = 16 * 2 ** 20;

/** PTX of a file, with line numbers. Never rejects. */
export async function compileToPtx(request: CompileRequest): Promise<PtxResult | CompileError> {
  return inTemporaryFolder(async (folder) => {
    const compiled = await compile(request, folder, 'out.ptx', (arch) => [
      '-ptx',
      '-lineinfo',
      `-arch=compute_${arch}`,
    ]);
    if ('error' in compiled) return plain(compiled);
    const read = await readPtx(folder, request, compiled);
    return 'error' in read ? read : { ptx: read.ptx, notes: compiled.notes };
  });
}

/** The PTX that was left in a folder, with the name of the source in place of its copy's. */
export async function readPtx(
  folder: string,
  request: SourceToCompile,
  { copy }: { readonly copy?: string },
): Promise<{ readonly ptx: string } | CompileError> {
  const name = (await fs.readdir(folder)).find((each) => each.endsWith('.ptx'));
  if (name === undefined) return { error: 'the compiler wrote no PTX' };
  const file = path.join(folder, name);
  const { size } = await fs.stat(file);
  if (size > MOST_PTX) return { error: `the PTX has ${Math.round(size / 2 ** 20)} MB: too much to read` };
  const text = await fs.readFile(file, 'utf8');
  return { ptx: copy ? text.replaceAll(copy, request.file) : text };
}

/**
 * PTX and resources of every kernel of a file, in one run. What the assembler refuses (too much shared memory) still has its
 * PTX; why is in the notes. Never rejects.
 */
export async function compileKernels(request: CompileRequest): Promise<KernelsResult | CompileError> {
  return inTemporaryFolder(async (folder) => {
    const compiled = await compile(request, folder, CUBIN, (arch) => [
      '-cubin',
      `-arch=sm_${arch}`,
      '-lineinfo',
      ...(isPtxFile(request.file) ? [] : ['--keep', '--keep-dir', folder]),
      '-Xptxas',
      '-v',
    ]);
    if ('error' in compiled && compiled.isCancelled) return plain(compiled);
    const read: { readonly ptx?: string; readonly error?: string } = isPtxFile(request.file)
      ? {}
      : await readPtx(folder, request, compiled);
    if ('error' in compiled) {
      return read.ptx === undefined ? { error: compiled.error } : { ptx: read.ptx, notes: [compiled.error] };
    }
    const kernels = await resourcesOf(compiled.result, request, folder);
    const notes = read.error === undefined ? compiled.notes : [...compiled.notes, read.error];
    return { ptx: read.ptx, kernels, machine: await readMachineCode(folder, request, compiled), notes };
  });
}

/** Bytes of machine code beyond which it is not read. */
const MOST_CUBIN = 64 * 2 ** 20;

/** What the cubin says of memory instructions; undefined where it cannot be read. */
async function readMachineCode(
  folder: string,
  { file }: CompileRequest,
  { architecture, copy }: Compiled,
): Promise<MachineCode | undefined> {
  try {
    const cubin = path.join(folder, CUBIN);
    if ((await fs.stat(cubin)).size > MOST_CUBIN) return undefined;
    const code = readCubin(await fs.readFile(cubin), architecture);
    if (copy === undefined) return code;
    const renamed = (line: MachineLine): MachineLine => (line.file === copy ? { ...line, file } : line);
    return new Map(
      [...code].map(([name, accesses]) => [
        name,
        accesses.map((each) => ({ ...each, lines: each.lines.map(renamed) })),
      ]),
    );
  } catch {
    return undefined;
  }
}

const CUBIN = 'out.cubin';

async function resourcesOf(
  { errors, output }: ProgramResult,
  { nvcc, signal }: CompileRequest,
  folder: string,
): Promise<KernelResources[]> {
  const resources = parseResources(`${errors}\n${output}`);
  const mangled = resources.map((each) => each.mangled);
  const names = await demangleAll(mangled, { nvcc, folder, signal });
  return resources.map((each) => ({ ...each, name: names.get(each.mangled) ?? each.mangled }));
}

interface Compiled {
  readonly result: ProgramResult;
  readonly notes: readonly string[];
  /** That it was compiled for, 90 for capability 9.0. */
  readonly architecture: number;
  /** Where the unsaved text was compiled from. */
  readonly copy?: string;
}

interface Failed extends CompileError {
  readonly copy?: string;
}

const plain = ({ error, isCancelled }: Failed): CompileError => (isCancelled ? { error, isCancelled } : { error });

async function compile(
  request: CompileRequest,
  folder: string,
  output: string,
  mode: (architecture: string) => readonly string[],
): Promise<Compiled | Failed> {
  const { nvcc, signal } = request;
  const { architecture, notes } = await chosenArchitecture('nvcc', nvcc, request.capability, folder, signal);
  const source = request.file;
  const copy = await unsavedCopy(request, folder);
  const result = await runProgram(nvcc, {
    arguments: [
      ...usableFlags(request.flags),
      ...(copy === undefined ? [] : ['-I', path.dirname(source)]),
      ...mode(`${architecture}${featureSuffix(request.flags, architecture)}`),
      '-o',
      path.join(folder, output),
      ...(/\.(cu|ptx)$/i.test(source) ? [] : ['-x', 'cu']),
      copy ?? source,
    ],
    // Relative flags are meant from the folder of the source unless a build says otherwise.
    folder: path.dirname(source),
    ...compilerLimits,
    ...(request.milliseconds === undefined ? {} : { milliseconds: request.milliseconds }),
    signal,
  });
  const problem = problemOf(result, nvcc, request);
  if (problem) return { ...problem, error: copy ? problem.error.replaceAll(copy, source) : problem.error, copy };
  return { result, notes, architecture, copy };
}

/** Unsaved text as a file of the same name in a folder. */
export async function unsavedCopy({ file, text }: SourceToCompile, folder: string): Promise<string | undefined> {
  if (text === undefined) return undefined;
  const copy = path.join(folder, path.basename(file));
  await fs.writeFile(copy, text);
  return copy;
}

/** What went wrong in a run of a compiler; undefined for nothing. */
export function problemOf(
  result: ProgramResult,
  compiler: string,
  { milliseconds = compilerLimits.milliseconds }: Pick<SourceToCompile, 'milliseconds'>,
): CompileError | undefined {
  const name = path.basename(compiler);
  switch (result.status) {
    case 'cancelled':
      return { error: 'cancelled', isCancelled: true };
    case 'timeout':
      return { error: `${name} took longer than ${Math.round(milliseconds / 1000)} s and was stopped` };
    case 'not-started':
      return { error: `${compiler} cannot be started` };
    case 'exited':
      if (result.exitCode === 0) return undefined;
      return {
        error: firstError(`${result.errors}\n${result.output}`) ?? `${name} ended with status ${result.exitCode}`,
      };
  }
}

/** Never rejects; the folder is gone afterwards. */
export async function inTemporaryFolder<T>(
  work: (folder: string) => Promise<T | CompileError>,
): Promise<T | CompileError> {
  let folder: string | undefined;
  try {
    folder = await fs.mkdtemp(path.join(os.tmpdir(), 'warplens-'));
    return await work(folder);
  } catch (error) {
    return { error: error instanceof Error ? error.message.split('\n')[0] : String(error) };
  } finally {
    if (folder !== undefined) await fs.rm(folder, { recursive: true, force: true }).catch(() => {});
  }
}
