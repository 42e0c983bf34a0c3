/** Entry: the program of a unit's host, run without arguments; what its launches find in memory comes out. */
import type { DeviceProperties } from '../hardware/device-properties';
import { defaultBudget, type LoweringBudget } from '../lower/context';
import { lowerHost } from '../lower/host/lower-host';
import { createHostContext, type KernelInstance } from '../lower/lower-kernel';
import { dropDeadCode } from '../machine/dead-code';
import type { FunctionDeclaration, TranslationUnit } from '../parse/ast';
import type { TokenStream } from '../preprocess/token';
import type { HostLaunch } from '../program/host-program';
import { endAfterLastLaunch } from './last-launch';
import { neededForLaunches } from './needed';
import type { ReadFile } from './opened-files';
import { type HostRun, runHost } from './run-host';
import { type DeviceCode, KernelRuns } from './run-kernel';

const LOWERING: LoweringBudget = { ...defaultBudget, instructions: 60_000, steps: 600_000, callDepth: 60 };
/** For who waits longer: with a parser of options and a table of results main has some 60,000 (SHOC). */
const PATIENT_LOWERING: LoweringBudget = { ...LOWERING, instructions: 120_000, steps: 1_200_000 };
/** Instructions of the program, about a nanosecond each, times the patience. */
const FUEL = 24_000_000;
/** Warp instructions of the kernels that are executed between its launches, and of one launch, times the patience: 6 to 12 million take a second. */
const KERNEL_FUEL = { total: 530_000, launch: 480_000 };
/** The same for who waits longer: most of what is not known in large programs rests on a kernel that was not executed to its end. */
const PATIENT_KERNEL_FUEL = { total: 1_060_000, launch: 960_000 };

export interface RunOptions {
  /** Times the work of an editor's answer; 1 where it is missing. */
  readonly patience?: number;
  /** The kernels, which are then executed for what later ones find; without it what they may write is not known. */
  readonly device?: DeviceCode;
  /** Answers what the program asks its device. */
  readonly properties?: DeviceProperties;
  /** What the program is started with. */
  readonly programArguments?: readonly string[];
  /** Gives what a file holds that the program reads. */
  readonly files?: ReadFile;
  /** True ends it: what it gives then is not to be kept. */
  readonly cancelled?: () => boolean;
  /** Told of an error of ours that ended it. */
  readonly onDefect?: (error: unknown) => void;
}

/** Runs `main`; undefined where there is none, where it launches nothing or is too large. Never throws. */
export function runMain(tree: TranslationUnit, tokens: TokenStream, options: RunOptions = {}): HostRun | undefined {
  const main = tree.declarations.find(isMain);
  if (!main) return undefined;
  try {
    return runProgram(main, tree, tokens, options);
  } catch (error) {
    options.onDefect?.(error);
    // a defect of ours here must not cost the kernels their figures: they are then as if nothing were known of the data
    return undefined;
  }
}

function runProgram(
  main: FunctionDeclaration,
  tree: TranslationUnit,
  tokens: TokenStream,
  { patience = 1, device, properties, programArguments, cancelled, files }: RunOptions,
): HostRun | undefined {
  const context = createHostContext(tree, tokens, properties, programArguments);
  const isPatient = patience > 1;
  const made = lowerHost(context, main, { ...(isPatient ? PATIENT_LOWERING : LOWERING), cancelled });
  const lowered = made?.program;
  if (!made || !lowered?.launches || lowered.launches.length === 0) return undefined;
  // what the kernels' machine code would compute for nothing is nothing here
  const blocks = lowered.blocks.map((b) => ({ ...b, instructions: b.instructions.filter((i) => i.op !== 'work') }));
  const program = neededForLaunches(dropDeadCode(endAfterLastLaunch({ ...lowered, blocks })));
  const { total, launch } = isPatient ? PATIENT_KERNEL_FUEL : KERNEL_FUEL;
  const fuel = { total: total * patience, launch: launch * patience };
  const kernels = device && new KernelRuns(program, made.launched, device, fuel);
  const run = runHost(program, FUEL * patience, kernels, cancelled, files);
  const instances = new Map<HostLaunch, KernelInstance>();
  program.launches?.forEach((launch, index) => {
    const instance = made.launched[index];
    if (instance) instances.set(launch, instance);
  });
  return run && { ...run, instances };
}

const isMain = (d: TranslationUnit['declarations'][number]): d is FunctionDeclaration =>
  d.kind === 'function' && d.body !== undefined && d.name.parts.length === 1 && d.name.parts[0].name === 'main';
