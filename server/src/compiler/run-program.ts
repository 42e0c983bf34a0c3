/** Runs a program without a shell: with a time limit, cancellable, its output cut off at a limit. */

import { spawn } from 'node:child_process';

export interface ProgramRun {
  readonly arguments: readonly string[];
  readonly folder: string;
  readonly milliseconds: number;
  /** Characters of standard output and error each that are kept. */
  readonly outputLimit: number;
  readonly signal?: AbortSignal;
}

export interface ProgramResult {
  readonly status: 'exited' | 'timeout' | 'cancelled' | 'not-started';
  readonly exitCode: number | null;
  readonly output: string;
  readonly errors: string;
}

/** Never rejects. A program that runs too long is killed with all that it started. */
export function runProgram(program: string, run: ProgramRun): Promise<ProgramResult> {
  if (run.signal?.aborted) return Promise.resolve(result('cancelled', null, '', ''));
  return new Promise((resolve) => {
    const isWindows = process.platform === 'win32';
    const child = spawn(program, [...run.arguments], {
      cwd: run.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      windowsHide: true,
      // A group of its own: nvcc starts cicc and the host's compiler, which are to go with it.
      detached: !isWindows,
    });
    const output = collector(run.outputLimit);
    const errors = collector(run.outputLimit);
    let status: ProgramResult['status'] = 'exited';
    const stop = (why: ProgramResult['status']) => {
      if (status !== 'exited') return;
      status = why;
      kill(child.pid, isWindows, () => child.kill('SIGKILL'));
    };
    const timer = setTimeout(() => stop('timeout'), run.milliseconds);
    const cancel = () => stop('cancelled');
    run.signal?.addEventListener('abort', cancel, { once: true });
    let isDone = false;
    const finish = (exitCode: number | null) => {
      if (isDone) return;
      isDone = true;
      clearTimeout(timer);
      run.signal?.removeEventListener('abort', cancel);
      resolve(result(status, exitCode, output.text(), errors.text()));
    };
    child.stdout.on('data', output.add);
    child.stderr.on('data', errors.add);
    child.on('error', () => {
      status = status === 'exited' ? 'not-started' : status;
      finish(null);
    });
    child.on('close', (exitCode) => finish(exitCode));
    // A grandchild may keep the pipes open after a kill.
    child.on('exit', (exitCode) => {
      if (status !== 'exited') finish(exitCode);
    });
  });
}

function result(
  status: ProgramResult['status'],
  exitCode: number | null,
  output: string,
  errors: string,
): ProgramResult {
  return { status, exitCode, output, errors };
}

function kill(pid: number | undefined, isWindows: boolean, killOne: () => void): void {
  if (pid === undefined || isWindows) {
    killOne();
    return;
  }
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    killOne();
  }
}

/** Keeps the first characters only, and goes on reading so that the program does not wait. */
function collector(limit: number): { add: (chunk: Buffer) => void; text: () => string } {
  const chunks: Buffer[] = [];
  let size = 0;
  return {
    add(chunk) {
      if (size >= limit) return;
      chunks.push(chunk.subarray(0, limit - size));
      size += chunk.length;
    },
    text: () => Buffer.concat(chunks).toString('utf8'),
  };
}
