/** Where nvcc is installed. */

import * as fs from 'node:fs';
import * as path from 'node:path';

/** What is asked of the disk: names only, nothing is started. */
export interface Folders {
  readonly isFile: (file: string) => boolean;
  /** Names in a folder; none where it does not exist. */
  readonly names: (folder: string) => readonly string[];
}

export interface FindNvcc {
  /** A path that the user gave: nvcc itself or the folder of a toolkit. Nothing else is looked at then. */
  readonly configured?: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  /** The disk unless given. */
  readonly folders?: Folders;
}

/**
 * The path of nvcc: as configured, else of CUDA_HOME or CUDA_PATH, else on PATH, else in the usual folders (the newest
 * version). Undefined when there is none.
 */
export function findNvcc({ configured, environment, platform, folders = disk }: FindNvcc): string | undefined {
  const isWindows = platform === 'win32';
  const name = isWindows ? 'nvcc.exe' : 'nvcc';
  const { join } = isWindows ? path.win32 : path.posix;
  if (configured) {
    const candidates = [configured, join(configured, 'bin', name), join(configured, name)];
    return candidates.find(folders.isFile);
  }
  const homes = [environment.CUDA_HOME, environment.CUDA_PATH, environment.CUDA_ROOT].filter((home) => home);
  const onPath = (environment.PATH ?? environment.Path ?? '').split(isWindows ? ';' : ':');
  const candidates = [
    ...homes.map((home) => join(home ?? '', 'bin', name)),
    ...onPath.filter((folder) => folder !== '').map((folder) => join(folder, name)),
    ...usualToolkits(platform, environment, folders).map((folder) => join(folder, 'bin', name)),
  ];
  return candidates.find(folders.isFile);
}

/**
 * Folders of toolkits, newest first, as NVIDIA's and the systems' installers make them. macOS has had no toolkit since 10.2,
 * which went to /Developer/NVIDIA.
 */
export function usualToolkits(
  platform: NodeJS.Platform,
  environment: FindNvcc['environment'],
  folders: Folders,
): string[] {
  const versions = (parent: string, pattern: RegExp, join: (...parts: string[]) => string): string[] =>
    newestFirst(folders.names(parent).filter((name) => pattern.test(name))).map((name) => join(parent, name));
  if (platform === 'win32') {
    const { join } = path.win32;
    const programs = environment.ProgramFiles ?? 'C:\\Program Files';
    return versions(join(programs, 'NVIDIA GPU Computing Toolkit', 'CUDA'), /^v\d/, join);
  }
  const { join } = path.posix;
  if (platform === 'darwin') return [...versions('/Developer/NVIDIA', /^CUDA-\d/, join), '/usr/local/cuda'];
  const named = ['/usr/local', '/opt'].flatMap((parent) => versions(parent, /^cuda(-\d|$)/, join));
  const kits = versions('/opt/nvidia/hpc_sdk/Linux_x86_64', /^\d/, join).map((kit) => join(kit, 'cuda'));
  return [...named, '/opt/cuda', '/usr/lib/cuda', '/usr/lib/nvidia-cuda-toolkit', ...kits];
}

/** A plain `cuda` is the version that the system chose. */
function newestFirst(names: readonly string[]): string[] {
  const numbers = (name: string) => (name.match(/\d+/g) ?? []).map(Number);
  return [...names].sort((a, b) => {
    const [x, y] = [numbers(a), numbers(b)];
    if (x.length === 0 || y.length === 0) return x.length - y.length;
    return y[0] - x[0] || (y[1] ?? 0) - (x[1] ?? 0);
  });
}

export const disk: Folders = {
  isFile(file) {
    try {
      return fs.statSync(file).isFile();
    } catch {
      return false;
    }
  },
  names(folder) {
    try {
      return fs.readdirSync(folder);
    } catch {
      return [];
    }
  },
};
