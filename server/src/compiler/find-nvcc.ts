/** Where nvcc is installed. */

import * as fs from 'node:fs';
import * as path from 'node:path';

export interface FindNvcc {
  /** A path that the user gave: nvcc itself or the folder of a toolkit. Nothing else is looked at then. */
  readonly configured?: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
}

/**
 * The path of nvcc: as configured, else of CUDA_HOME or CUDA_PATH, else on PATH, else in the usual folders (the newest
 * version). Undefined when there is none. Looks at names of files only; nothing is started.
 */
export function findNvcc({ configured, environment, platform }: FindNvcc): string | undefined {
  const name = platform === 'win32' ? 'nvcc.exe' : 'nvcc';
  if (configured) {
    const candidates = [configured, path.join(configured, 'bin', name), path.join(configured, name)];
    return candidates.find(isFile);
  }
  const homes = [environment.CUDA_HOME, environment.CUDA_PATH, environment.CUDA_ROOT].filter((home) => home);
  const onPath = (environment.PATH ?? environment.Path ?? '').split(platform === 'win32' ? ';' : ':');
  const candidates = [
    ...homes.map((home) => path.join(home ?? '', 'bin', name)),
    ...onPath.filter((folder) => folder !== '').map((folder) => path.join(folder, name)),
    ...usualToolkits(platform, environment).map((folder) => path.join(folder, 'bin', name)),
  ];
  return candidates.find(isFile);
}

/** Folders of toolkits, newest first. macOS has had none since 10.2. */
function usualToolkits(platform: NodeJS.Platform, environment: Readonly<Record<string, string | undefined>>): string[] {
  if (platform === 'win32') {
    const programs = environment.ProgramFiles ?? 'C:\\Program Files';
    return versions(path.join(programs, 'NVIDIA GPU Computing Toolkit', 'CUDA'), /^v\d/);
  }
  const parents = ['/usr/local', '/opt'];
  const named = parents.flatMap((parent) => versions(parent, /^cuda(-\d|$)/));
  return [...named, '/opt/cuda', '/usr/lib/cuda', '/usr/lib/nvidia-cuda-toolkit'];
}

function versions(parent: string, pattern: RegExp): string[] {
  let names: string[];
  try {
    names = fs.readdirSync(parent).filter((name) => pattern.test(name));
  } catch {
    return [];
  }
  const numbers = (name: string) => (name.match(/\d+/g) ?? []).map(Number);
  // A plain `cuda` is the version that the system chose.
  names.sort((a, b) => {
    const [x, y] = [numbers(a), numbers(b)];
    if (x.length === 0 || y.length === 0) return x.length - y.length;
    return y[0] - x[0] || (y[1] ?? 0) - (x[1] ?? 0);
  });
  return names.map((name) => path.join(parent, name));
}

function isFile(file: string): boolean {
  try {
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}
