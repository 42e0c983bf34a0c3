/** What a compiler makes of the sources: PTX, registers, spills, shared memory. */
import * as path from 'node:path';
import type { AnalysisOptions, Compilation } from '../analysis/request';
import { compileFile } from '../compiler/compile-file';
import { findCompiler } from '../compiler/find-compiler';
import { isPtxFile } from '../ptx/names';
import { UnitReader, type Workspace } from '../workspace/units';
import type { Source } from './sources';

/** By `key` of capability and path. */
export type CompiledSources = ReadonlyMap<string, Compilation>;

/** Sources that 'auto' compiles at most: a check of a whole project stays quick, and its answer the same everywhere. */
const MOST_AUTOMATIC = 8;

export const compiledKey = (computeCapability: string, file: string): string => `${computeCapability} ${file}`;

export interface CompileSources {
  readonly sources: readonly Source[];
  readonly options: readonly AnalysisOptions[];
  readonly workspace: Workspace;
  /** 'auto', 'off', 'clang', or the path of a compiler. */
  readonly compiler: string;
  /** Told in one line what a compiler that was named could not compile. */
  readonly complain: (line: string) => void;
}

/**
 * Compiles the sources with kernels for every capability, one after the other. With 'auto' nothing happens where no compiler is
 * found, where there are many sources, and when it fails.
 */
export async function compileSources(request: CompileSources): Promise<CompiledSources> {
  const { compiler, options, workspace } = request;
  const found = new Map<string, Compilation>();
  if (compiler === 'off') return found;
  const sources = request.sources.filter(({ path, text }) => isPtxFile(path) || text.includes('__global__'));
  const isNamed = compiler !== 'auto';
  if (!isNamed && sources.length > MOST_AUTOMATIC) return found;
  const program = findCompiler({
    configured: isNamed ? compiler : undefined,
    environment: process.env,
    platform: process.platform,
  });
  if (program === undefined) return found;
  if ('reason' in program) {
    request.complain(program.reason);
    return found;
  }
  const units = new UnitReader(new Map(), () => {});
  for (const each of options) {
    for (const source of sources) {
      const { computeCapability } = each;
      const result = await compileFile(program, {
        file: path.resolve(source.path),
        flags: units.compilerFlags(source.path, each, workspace),
        capability: computeCapability,
      });
      const key = compiledKey(computeCapability, source.path);
      if ('notes' in result) {
        const { ptx, kernels, machine } = result;
        found.set(key, { id: key, text: source.text, ptx, kernels, machine });
      }
      const said = 'notes' in result ? result.notes : [`not compiled: ${result.error}`];
      if (isNamed) for (const line of said) request.complain(`${source.path}: ${line}`);
    }
  }
  return found;
}
