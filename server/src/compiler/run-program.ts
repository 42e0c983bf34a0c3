/** Runs a program without a shell: with a time limit, cancellable, its output cut off at a limit. */

import { spawn, spawnSync } from 'node:child_process';

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

/** Never rejects. A program that runs too long, or longer than this process, is killed with all that it started. */
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
    const end = () => kill(child.pid, isWindows, () => child.kill('SIGKILL'));
    watch(end);
    const stop = (why: ProgramResult['status']) => {
      if (status !== 'exited') return;
      status = why;
      end();
    };
    const timer = setTimeout(() => stop('timeout'), run.milliseconds);
    const cancel = () => stop('cancelled');
    run.signal?.addEventListener('abort', cancel, { once: true });
    let isDone = false;
    const finish = (exitCode: number | null) => {
      if (isDone) return;
      isDone = true;
      unwatch(end);
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
  if (pid === undefined) {
    killOne();
    return;
  }
  try {
    if (isWindows) spawnSync('taskkill', ['/pid', `${pid}`, '/t', '/f'], { windowsHide: true, stdio: 'ignore' });
    else process.kill(-pid, 'SIGKILL');
  } catch {
    killOne();
  }
}

/** Programs that run. Being groups of their own they would outlive this process, so they are ended with it. */
const running = new Set<() => void>();
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

function endAll(): void {
  for (const end of running) end();
}

function endBySignal(signal: NodeJS.Signals): void {
  endAll();
  stopWatching();
  process.kill(process.pid, signal);
}

function watch(end: () => void): void {
  if (running.size === 0) {
    process.on('exit', endAll);
    for (const signal of signals) process.on(signal, endBySignal);
  }
  running.add(end);
}

function unwatch(end: () => void): void {
  if (running.delete(end) && running.size === 0) stopWatching();
}

function stopWatching(): void {
  process.removeListener('exit', endAll);
  for (const signal of signals) process.removeListener(signal, endBySignal);
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
