/** Demangled names: our own reading, and for what it does not read the toolkit's or the system's program. */

import * as path from 'node:path';
import { demangle } from '../ptx/demangle';
import { runProgram } from './run-program';

/** By mangled name; names that nobody can read are left out. */
export async function demangleAll(
  names: readonly string[],
  where: { readonly nvcc: string; readonly folder: string; readonly signal?: AbortSignal },
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const name of names) {
    const own = demangle(name);
    if (own) found.set(name, own.full);
  }
  const left = names.filter((name) => !found.has(name) && name.startsWith('_Z')).slice(0, 200);
  if (left.length === 0) return found;
  for (const program of [path.join(path.dirname(where.nvcc), 'cu++filt'), 'c++filt']) {
    const run = {
      arguments: left,
      folder: where.folder,
      milliseconds: 5000,
      outputLimit: 1_000_000,
      signal: where.signal,
    };
    const { status, exitCode, output } = await runProgram(program, run);
    const lines = output.split('\n');
    if (status !== 'exited' || exitCode !== 0 || lines.length < left.length) continue;
    left.forEach((name, index) => {
      if (lines[index] !== '' && lines[index] !== name) found.set(name, lines[index]);
    });
    break;
  }
  return found;
}
