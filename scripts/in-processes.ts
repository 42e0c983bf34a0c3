/** Work for one program after the other, in as many processes as there are processors: each runs the script that asks, as a child. */
import { fork } from 'node:child_process';
import * as os from 'node:os';
import { optimiseLate } from '../server/src/late-optimisation';
import { bundled } from './bundled';

const MOST_PROCESSES = 4;

/**
 * What the children answer, in the order of the programs.
 * @param script of the children, which call `serve`
 * @throws if a child ends before its answer
 */
export async function inProcesses<Result>(script: string, programs: readonly string[]): Promise<Result[]> {
  const results: Result[] = new Array(programs.length);
  const program = bundled(script);
  let next = 0;
  const work = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const child = fork(program, process.argv.slice(2), { serialization: 'advanced', execArgv: [] });
      let at = -1;
      const ask = (): void => {
        at = next++;
        if (at < programs.length) child.send(programs[at]);
        else child.disconnect();
      };
      child.on('message', (result) => {
        results[at] = result as Result;
        ask();
      });
      child.on('exit', (code) => {
        if (at >= programs.length) resolve();
        else reject(new Error(`${programs[at]}: the analysis ended with status ${code}`));
      });
      ask();
    });
  const processes = Math.max(1, Math.min(MOST_PROCESSES, os.availableParallelism(), programs.length));
  await Promise.all(Array.from({ length: processes }, work));
  return results;
}

/** Whether this process is one of them. */
export const isChild = (): boolean => process.send !== undefined;

/** Answers as one of them. */
export function serve<Result>(answer: (program: string) => Result | Promise<Result>): void {
  optimiseLate();
  process.on('message', (program: string) => {
    void Promise.resolve(answer(program)).then((result) => process.send?.(result));
  });
}
