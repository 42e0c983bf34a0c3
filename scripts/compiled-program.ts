/** What nvcc makes of a program of test/hardware, for the scripts that compare: with the flags of the recording. */
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Compilation } from '../server/src/analysis/request';
import { type CompileRequest, compileKernels, type KernelsResult } from '../server/src/compiler/compile';
import type { MachineAccess } from '../server/src/cubin/machine-access';

/** A file itself, or the CUDA sources of a folder in order of their names. */
export function cudaFilesIn(place: string): string[] {
  if (!fs.statSync(place).isDirectory()) return [place];
  return fs
    .readdirSync(place, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.cu'))
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort();
}

/** `// nvcc: --extended-lambda` in the first line of a program gives flags of its own. */
export function recordedFlags(file: string): string[] {
  const first = fs.readFileSync(file, 'utf8').split('\n', 1)[0];
  const asked = /^\/\/\s*nvcc:\s*(.*)/.exec(first)?.[1].split(/\s+/) ?? [];
  return ['-O3', ...asked.filter((flag) => flag !== '')];
}

/** Macros that the first line of a program gives the compiler: `// nvcc: -DSIZE=64`. */
export function definesOf(text: string): Map<string, string> {
  const [, flags = ''] = /^\/\/ nvcc: (.*)/.exec(text) ?? [];
  return definesIn(flags.split(/\s+/));
}

/** Macros among flags of the compiler. */
export function definesIn(flags: readonly string[]): Map<string, string> {
  return new Map(
    flags.flatMap((flag) => {
      const [, name, value = '1'] = /^-D(\w+)(?:=(.*))?$/.exec(flag) ?? [];
      return name === undefined ? [] : [[name, value] as const];
    }),
  );
}

/**
 * `--keep=<folder>` among the arguments keeps the answers there for the next run of the same text and flags (of headers it
 * knows nothing).
 * @param edited a text to compile in place of the file's
 */
export async function compiledProgram(
  nvcc: string,
  file: string,
  flags: readonly string[] = recordedFlags(file),
  capability = '9.0',
  edited?: string,
): Promise<Compilation | undefined> {
  const text = edited ?? fs.readFileSync(file, 'utf8');
  const kept = keptFile([file, text, flags, capability]);
  const known = kept !== undefined && fs.existsSync(kept) ? fs.readFileSync(kept, 'utf8') : undefined;
  const source = { nvcc, file, text: edited, flags, capability };
  const compiled = known === undefined ? await compile(source) : (JSON.parse(known) as Kept);
  if (kept !== undefined && known === undefined) {
    fs.mkdirSync(path.dirname(kept), { recursive: true });
    fs.writeFileSync(kept, JSON.stringify(compiled));
  }
  if (compiled.error !== undefined) console.error(`${path.basename(file)}: ${compiled.error}`);
  if (compiled.ptx === undefined) return undefined;
  const machine = compiled.machine && new Map(compiled.machine);
  return { id: file, text, ptx: compiled.ptx, machine };
}

interface Kept {
  readonly error?: string;
  readonly ptx?: string;
  readonly machine?: readonly (readonly [string, readonly MachineAccess[]])[];
}

async function compile(source: CompileRequest): Promise<Kept> {
  const result = await compileKernels(source);
  if (!('notes' in result)) return { error: result.error };
  const { ptx, machine }: KernelsResult = result;
  return { ptx, machine: machine && [...machine] };
}

function keptFile(what: readonly unknown[]): string | undefined {
  const folder = process.argv.find((arg) => arg.startsWith('--keep='))?.slice('--keep='.length);
  if (folder === undefined) return undefined;
  const name = createHash('sha256').update(JSON.stringify(what)).digest('hex');
  return path.join(folder, `${name.slice(0, 24)}.json`);
}
