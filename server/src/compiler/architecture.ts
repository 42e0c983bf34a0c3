/** Which architecture a compiler makes code for when a capability is asked for. */

import { type ProgramResult, runProgram } from './run-program';

const known = new Map<string, readonly number[]>();

/** Questions to a compiler whose answer names the architectures: the first that is answered counts. */
export const architectureQuestions = {
  /** `--list-gpu-arch` exists from 11.0 on; before, what nvcc's help lists. */
  nvcc: [['--list-gpu-arch'], ['--help']],
  clang: [['--target=nvptx64-nvidia-cuda', '--print-supported-cpus']],
} as const satisfies Readonly<Record<string, readonly (readonly string[])[]>>;

/** Architectures that a compiler knows, ascending; none where it does not say. It is asked once. */
async function supportedArchitectures(
  compiler: string,
  questions: readonly (readonly string[])[],
  folder: string,
  signal?: AbortSignal,
): Promise<readonly number[]> {
  const remembered = known.get(compiler);
  if (remembered) return remembered;
  const run = (args: readonly string[]): Promise<ProgramResult> =>
    runProgram(compiler, { arguments: args, folder, milliseconds: 10_000, outputLimit: 200_000, signal });
  for (const question of questions) {
    const { output, errors } = await run(question);
    const found = numbersIn(`${output}\n${errors}`);
    if (found.length === 0) continue;
    known.set(compiler, found);
    return found;
  }
  return [];
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
function capabilityOf(architecture: number): string {
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

/** What a compiler is told to compile for, with a note where that is not the capability that was asked for. */
export async function chosenArchitecture(
  kind: keyof typeof architectureQuestions,
  compiler: string,
  computeCapability: string,
  folder: string,
  signal?: AbortSignal,
): Promise<{ readonly architecture: number; readonly notes: string[] }> {
  const wanted = architectureOf(computeCapability);
  const supported = await supportedArchitectures(compiler, architectureQuestions[kind], folder, signal);
  const architecture = nearestArchitecture(wanted, supported);
  const notes =
    architecture === wanted
      ? []
      : [`the toolkit has no ${computeCapability}: compiled for ${capabilityOf(architecture)}`];
  return { architecture, notes };
}
