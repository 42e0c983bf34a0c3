/** What nvcc says of the kernels of the sources: registers, spills, shared memory. */
import * as path from 'node:path';
import type { AnalysisOptions, CompiledKernel } from '../analysis/request';
import { compileRegisters } from '../compiler/compile';
import { findNvcc } from '../compiler/find-nvcc';
import { UnitReader, type Workspace } from '../workspace/units';
import type { Source } from './sources';

/** By `key` of capability and path. */
export type CompiledSources = ReadonlyMap<string, readonly CompiledKernel[]>;

/** Sources that 'auto' compiles at most: a check of a whole project stays quick, and its answer the same everywhere. */
const MOST_AUTOMATIC = 8;

export const compiledKey = (computeCapability: string, file: string): string => `${computeCapability} ${file}`;

export interface CompileSources {
  readonly sources: readonly Source[];
  readonly options: readonly AnalysisOptions[];
  readonly workspace: Workspace;
  /** 'auto', 'off', or the path of nvcc. */
  readonly compiler: string;
  /** Told in one line what an nvcc that was named could not compile. */
  readonly complain: (line: string) => void;
}

/**
 * Compiles the sources with kernels for every capability, one after the other. With 'auto' nothing happens where no nvcc is
 * found, where there are many sources, and when nvcc fails; a register count that was given makes it needless.
 */
export async function compileSources(request: CompileSources): Promise<CompiledSources> {
  const { compiler, options, workspace } = request;
  const found = new Map<string, readonly CompiledKernel[]>();
  if (compiler === 'off') return found;
  const sources = request.sources.filter(({ text }) => text.includes('__global__'));
  const isNamed = compiler !== 'auto';
  if (!isNamed && sources.length > MOST_AUTOMATIC) return found;
  const nvcc = findNvcc({
    configured: isNamed ? compiler : undefined,
    environment: process.env,
    platform: process.platform,
  });
  if (nvcc === undefined) return found;
  const units = new UnitReader(new Map(), () => {});
  for (const each of options) {
    if (each.registersPerThread !== undefined) continue;
    for (const source of sources) {
      const result = await compileRegisters({
        nvcc,
        file: path.resolve(source.path),
        flags: units.compilerFlags(source.path, each, workspace),
        capability: each.computeCapability,
      });
      if ('kernels' in result) found.set(compiledKey(each.computeCapability, source.path), result.kernels);
      else if (isNamed) request.complain(`${source.path}: not compiled: ${result.error}`);
    }
  }
  return found;
}
