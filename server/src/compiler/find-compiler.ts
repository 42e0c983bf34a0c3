/** Which compiler is started: nvcc, or clang with the headers of a toolkit. */

import * as path from 'node:path';
import { disk, type FindNvcc, findNvcc, usualToolkits } from './find-nvcc';

export type Compiler =
  | { readonly kind: 'nvcc'; readonly program: string }
  | {
      readonly kind: 'clang';
      readonly program: string;
      /** Folder of a CUDA toolkit, with its headers. */
      readonly toolkit: string;
    };

/**
 * The compiler as configured ('clang', a path of clang or nvcc, the folder of a toolkit), else nvcc, else a clang on PATH with a toolkit's
 * headers. Undefined when there is none; why, where one was asked for.
 */
export function findCompiler(asked: FindNvcc): Compiler | { readonly reason: string } | undefined {
  const { configured } = asked;
  if (configured !== undefined && isClang(configured)) {
    const program = clangAt(asked, configured);
    if (program === undefined) return { reason: `no clang at ${configured}` };
    const toolkit = toolkitOf(asked);
    if (toolkit !== undefined) return { kind: 'clang', program, toolkit };
    return { reason: `${configured}: clang needs the headers of a CUDA toolkit, and none was found (CUDA_HOME)` };
  }
  const nvcc = findNvcc(asked);
  if (nvcc !== undefined) return { kind: 'nvcc', program: nvcc };
  if (configured) return { reason: `no nvcc at ${configured}` };
  const toolkit = toolkitOf(asked);
  const program = toolkit === undefined ? undefined : clangAt(asked, 'clang');
  return program === undefined || toolkit === undefined ? undefined : { kind: 'clang', program, toolkit };
}

/** Versions of the names under which systems install clang, the newest first. 14 is the oldest that they still have. */
const versions = Array.from({ length: 20 }, (_, index) => `-${33 - index}`);

const isClang = (program: string): boolean => /^clang(\+\+)?(-\d+)?(\.exe)?$/i.test(program.split(/[/\\]/).pop() ?? '');

/** A path of clang itself, or one on PATH: plain `clang` before the newest of its versions. */
function clangAt({ environment, platform, folders = disk }: FindNvcc, configured: string): string | undefined {
  const isWindows = platform === 'win32';
  if (/[/\\]/.test(configured)) return folders.isFile(configured) ? configured : undefined;
  const names =
    configured === 'clang' || configured === 'clang++'
      ? ['', ...versions].flatMap((version) => [`clang++${version}`, `clang${version}`])
      : [configured];
  const onPath = (environment.PATH ?? environment.Path ?? '')
    .split(isWindows ? ';' : ':')
    .filter((each) => each !== '');
  const { join } = isWindows ? path.win32 : path.posix;
  return names
    .flatMap((name) => onPath.map((folder) => join(folder, isWindows && !name.endsWith('.exe') ? `${name}.exe` : name)))
    .find(folders.isFile);
}

/** The folder of a toolkit with headers: of the environment, else a usual one. */
function toolkitOf({ environment, platform, folders = disk }: FindNvcc): string | undefined {
  const { join } = platform === 'win32' ? path.win32 : path.posix;
  const homes = [environment.CUDA_HOME, environment.CUDA_PATH, environment.CUDA_ROOT].flatMap((home) => home || []);
  return [...homes, ...usualToolkits(platform, environment, folders)].find((folder) =>
    folders.isFile(join(folder, 'include', 'cuda_runtime.h')),
  );
}
