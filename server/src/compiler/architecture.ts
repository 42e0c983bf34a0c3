/** Which architecture a toolkit compiles for when a capability is asked for. */

import { type ProgramResult, runProgram } from './run-program';

const known = new Map<string, readonly number[]>();

/** `--list-gpu-arch` exists from 11.0 on; before, what nvcc's help lists. */
export async function supportedArchitectures(
  nvcc: string,
  folder: string,
  signal?: AbortSignal,
): Promise<readonly number[]> {
  const remembered = known.get(nvcc);
  if (remembered) return remembered;
  const run = (...args: string[]): Promise<ProgramResult> =>
    runProgram(nvcc, { arguments: args, folder, milliseconds: 10_000, outputLimit: 200_000, signal });
  let found = numbersIn((await run('--list-gpu-arch')).output);
  if (found.length === 0) found = numbersIn((await run('--help')).output);
  if (found.length > 0) known.set(nvcc, found);
  return found;
}

function numbersIn(text: string): number[] {
  const numbers = [...text.matchAll(/(?:compute|sm)_(\d{2,3})\b/g)].map((match) => Number(match[1]));
  return [...new Set(numbers)].sort((a, b) => a - b);
}

/** '9.0' to 90. */
export function architectureOf(capability: string): number {
  const [major, minor] = capability.split('.').map(Number);
  return 10 * (major || 0) + (minor || 0);
}

/** 90 to '9.0'. */
export function capabilityOf(architecture: number): string {
  return `${Math.floor(architecture / 10)}.${architecture % 10}`;
}

/**
 * The architecture itself, else the nearest one that the toolkit has: the newest before it (whose code a device of the
 * capability runs), else the oldest.
 */
export function nearestArchitecture(wanted: number, supported: readonly number[]): number {
  if (supported.length === 0 || supported.includes(wanted)) return wanted;
  const before = supported.filter((each) => each < wanted);
  return before.length > 0 ? before[before.length - 1] : supported[0];
}
