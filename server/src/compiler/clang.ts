/**
 * Starts clang as a CUDA compiler, device side only. It gives PTX with lines; registers and machine code come of NVIDIA's assembler, which
 * need not be there, so they are estimated as without a compiler.
 */

import * as fs from 'node:fs/promises';
import * as path from 'node:path';
import { isPtxFile } from '../ptx/names';
import { chosenArchitecture } from './architecture';
import {
  type CompileError,
  compilerLimits,
  inTemporaryFolder,
  type KernelsResult,
  problemOf,
  readPtx,
  type SourceToCompile,
  unsavedCopy,
} from './compile';
import { disk } from './find-nvcc';
import { clangFlags } from './flags';
import { runProgram } from './run-program';

export interface ClangRequest extends SourceToCompile {
  readonly clang: string;
  /** Folder of a CUDA toolkit, for its headers. */
  readonly toolkit: string;
}

/** PTX of a file; of PTX, which only NVIDIA's assembler reads, nothing. Never rejects. */
export async function compileWithClang(request: ClangRequest): Promise<KernelsResult | CompileError> {
  if (isPtxFile(request.file)) return { notes: [] };
  return inTemporaryFolder(async (folder) => {
    const { clang, signal, file } = request;
    const { architecture, notes } = await chosenArchitecture('clang', clang, request.capability, folder, signal);
    const copy = await unsavedCopy(request, folder);
    const result = await runProgram(clang, {
      arguments: [
        ...(await deviceOnly(request, folder)),
        `--cuda-gpu-arch=sm_${architecture}`,
        ...clangFlags(request.flags),
        ...(copy === undefined ? [] : ['-I', path.dirname(file)]),
        '-o',
        path.join(folder, 'out.ptx'),
        copy ?? file,
      ],
      folder: path.dirname(file),
      ...compilerLimits,
      ...(request.milliseconds === undefined ? {} : { milliseconds: request.milliseconds }),
      signal,
    });
    const problem = problemOf(result, clang, request);
    if (problem) return copy ? { ...problem, error: problem.error.replaceAll(copy, file) } : problem;
    const read = await readPtx(folder, request, { copy });
    return 'error' in read ? read : { ptx: read.ptx, notes };
  });
}

/** What makes clang write PTX, with or without what a toolkit has beside its headers. */
async function deviceOnly({ toolkit }: ClangRequest, folder: string): Promise<string[]> {
  const has = (...parts: string[]) => disk.isFile(path.join(toolkit, ...parts));
  const flags = ['-x', 'cuda', '--cuda-device-only', '-S', '-O3', '-gline-directives-only', '-w'];
  flags.push(`--cuda-path=${toolkit}`, '--no-cuda-version-check');
  // Of a toolkit newer than itself clang takes the version for the oldest, whose launches need a function that is long gone. Everything
  // since 9.2 launches alike, and for the device's side the version decides nothing else (clang 22 with CUDA 13.0).
  flags.push('-Xclang', '-target-sdk-version=11.0');
  if (!has('nvvm', 'libdevice', 'libdevice.10.bc')) flags.push('-nocudalib');
  // Since CUDA 13 the headers of libcu++, which cooperative groups include, have a folder of their own, which nvcc adds too.
  if (has('include', 'cccl', 'cuda', 'std', 'type_traits'))
    flags.push('-isystem', path.join(toolkit, 'include', 'cccl'));
  // clang's own header includes this one of cuRAND, which toolkits without that library lack, and uses nothing of it.
  if (!has('include', CURAND)) {
    await fs.writeFile(path.join(folder, CURAND), '');
    flags.push('-idirafter', folder);
  }
  return flags;
}

const CURAND = 'curand_mtgp32_kernel.h';
