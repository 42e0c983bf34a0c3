/** Starts nvcc: to PTX, and to machine code for what ptxas says about registers. Nothing runs unless called. */

import * as fs from 'node:fs/promises';
import * as os from 'node:os';
import * as path from 'node:path';
import { architectureOf, capabilityOf, nearestArchitecture, supportedArchitectures } from './architecture';
import { demangleAll } from './demangle';
import { firstError } from './errors';
import { usableFlags } from './flags';
import { type KernelResources, parseResources } from './resources';
import { type ProgramResult, runProgram } from './run-program';

export interface CompileRequest {
  readonly nvcc: string;
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

export interface RegistersResult {
  readonly kernels: readonly KernelResources[];
  readonly notes: readonly string[];
}

const MILLISECONDS = 60_000;
/** Characters of messages that are kept. */
const OUTPUT_LIMIT = 1_000_000;
/** PTX beyond is not worth reading in an editor. */
const MOST_PTX = 64 * 2 ** 20;

/** PTX of a file, with line numbers. Never rejects. */
export async function compileToPtx(request: CompileRequest): Promise<PtxResult | CompileError> {
  return inTemporaryFolder(async (folder) => {
    const compiled = await compile(request, folder, 'out.ptx', (arch) => [
      '-ptx',
      '-lineinfo',
      `-arch=compute_${arch}`,
    ]);
    if ('error' in compiled) return compiled;
    const file = path.join(folder, 'out.ptx');
    const size = await fs.stat(file).then(
      (stat) => stat.size,
      () => -1,
    );
    if (size < 0) return { error: 'nvcc wrote no PTX' };
    if (size > MOST_PTX) return { error: `the PTX has ${Math.round(size / 2 ** 20)} MB: too much to read` };
    const text = await fs.readFile(file, 'utf8');
    return { ptx: compiled.copy ? text.replaceAll(compiled.copy, request.file) : text, notes: compiled.notes };
  });
}

/** Registers, spills, stack and static shared memory of every kernel of a file. Never rejects. */
export async function compileRegisters(request: CompileRequest): Promise<RegistersResult | CompileError> {
  return inTemporaryFolder(async (folder) => {
    const compiled = await compile(request, folder, 'out.cubin', (arch) => [
      '-cubin',
      `-arch=sm_${arch}`,
      '-Xptxas',
      '-v',
    ]);
    if ('error' in compiled) return compiled;
    const resources = parseResources(`${compiled.result.errors}\n${compiled.result.output}`);
    const names = await demangleAll(
      resources.map((each) => each.mangled),
      { nvcc: request.nvcc, folder, signal: request.signal },
    );
    const kernels = resources.map((each) => ({ ...each, name: names.get(each.mangled) ?? each.mangled }));
    return { kernels, notes: compiled.notes };
  });
}

interface Compiled {
  readonly result: ProgramResult;
  readonly notes: readonly string[];
  /** Where the unsaved text was compiled from. */
  readonly copy?: string;
}

async function compile(
  request: CompileRequest,
  folder: string,
  output: string,
  mode: (architecture: number) => readonly string[],
): Promise<Compiled | CompileError> {
  const { nvcc, signal } = request;
  const notes: string[] = [];
  const wanted = architectureOf(request.capability);
  const architecture = nearestArchitecture(wanted, await supportedArchitectures(nvcc, folder, signal));
  if (architecture !== wanted) {
    notes.push(`the toolkit has no ${request.capability}: compiled for ${capabilityOf(architecture)}`);
  }
  const source = request.file;
  const copy = request.text === undefined ? undefined : path.join(folder, path.basename(source));
  if (copy !== undefined && request.text !== undefined) await fs.writeFile(copy, request.text);
  const result = await runProgram(nvcc, {
    arguments: [
      ...usableFlags(request.flags),
      ...(copy === undefined ? [] : ['-I', path.dirname(source)]),
      ...mode(architecture),
      '-o',
      path.join(folder, output),
      ...(/\.(cu)$/i.test(source) ? [] : ['-x', 'cu']),
      copy ?? source,
    ],
    // Relative flags are meant from the folder of the source unless a build says otherwise.
    folder: path.dirname(source),
    milliseconds: request.milliseconds ?? MILLISECONDS,
    outputLimit: OUTPUT_LIMIT,
    signal,
  });
  const problem = problemOf(result, request);
  if (problem) return copy === undefined ? problem : { ...problem, error: problem.error.replaceAll(copy, source) };
  return { result, notes, copy };
}

function problemOf(result: ProgramResult, request: CompileRequest): CompileError | undefined {
  switch (result.status) {
    case 'cancelled':
      return { error: 'cancelled', isCancelled: true };
    case 'timeout':
      return {
        error: `nvcc took longer than ${Math.round((request.milliseconds ?? MILLISECONDS) / 1000)} s and was stopped`,
      };
    case 'not-started':
      return { error: `${request.nvcc} cannot be started` };
    case 'exited':
      if (result.exitCode === 0) return undefined;
      return { error: firstError(`${result.errors}\n${result.output}`) ?? `nvcc ended with status ${result.exitCode}` };
  }
}

async function inTemporaryFolder<T>(work: (folder: string) => Promise<T | CompileError>): Promise<T | CompileError> {
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
