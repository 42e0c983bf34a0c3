/** The options that `check` and `simulate` share: their values checked, turned into what the analysis asks for. */
import * as path from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { AnalysisOptions } from '../analysis/request';
import { capabilities, capability } from '../hardware/capabilities';
import { device, devices } from '../hardware/devices';
import { parseDefine, shellWords } from '../workspace/compile-commands';
import { defaultCapability, type Size, sizeOf } from '../workspace/defaults';
import type { Workspace } from '../workspace/units';
import { UsageProblem } from './problem';

/** As commander hands them over. */
export interface SharedOptions {
  readonly cc?: readonly string[];
  readonly device?: string;
  readonly I?: readonly string[];
  readonly D?: ReadonlyMap<string, string>;
  readonly compileCommands?: string;
  readonly assume?: ReadonlyMap<string, number>;
  readonly block?: Size;
  readonly grid?: Size;
  readonly dynamicShared?: number;
  readonly registers?: number;
  readonly kernel?: string;
  readonly arguments?: string;
  readonly compiler: string;
}

function parseCapability(text: string, before: readonly string[] = []): string[] {
  if (capability(text) === undefined) {
    throw new InvalidArgumentError(`Known capabilities: ${capabilities.map(({ cc }) => cc).join(', ')}.`);
  }
  return before.includes(text) ? [...before] : [...before, text];
}

function parseDevice(text: string): string {
  const found = device(text);
  if (found === undefined)
    throw new InvalidArgumentError(`Known devices: ${devices.map(({ name }) => name).join(', ')}.`);
  return found.name;
}

function parseSize(text: string): Size {
  const size = sizeOf(text.split(/[,x]/).map(Number));
  if (size === undefined) throw new InvalidArgumentError('Give one to three positive whole numbers, x[,y[,z]].');
  return size;
}

/** @param least smallest value allowed */
export function wholeNumber(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() === '' || !Number.isSafeInteger(value) || value < least) {
      throw new InvalidArgumentError(`Give a whole number from ${least} up.`);
    }
    return value;
  };
}

function parseAssumption(text: string, before: ReadonlyMap<string, number> = new Map()): Map<string, number> {
  const match = /^([^=]+)=(.+)$/.exec(text);
  const value = Number(match?.[2]);
  if (match === null || !Number.isFinite(value)) throw new InvalidArgumentError('Give <name>=<number>.');
  return new Map(before).set(match[1].trim(), value);
}

const collect = (text: string, before: readonly string[] = []): string[] => [...before, text];

function collectDefine(text: string, before: ReadonlyMap<string, string> = new Map()): Map<string, string> {
  return new Map(before).set(...parseDefine(text));
}

/** Adds the options that `check` and `simulate` share. */
export function addSharedOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--cc <x.y>', `compute capability, repeatable (default: ${defaultCapability})`).argParser(
        parseCapability,
      ),
    )
    .addOption(
      new Option('--device <name>', 'GPU to estimate times for; sets the capability too').argParser(parseDevice),
    )
    .addOption(new Option('-I <dir>', 'folder to look for headers in, repeatable').argParser(collect))
    .addOption(new Option('-D <name[=value]>', 'macro to define, repeatable').argParser(collectDefine))
    .option('--compile-commands <file>', 'compile_commands.json to take header folders and macros from')
    .addOption(
      new Option('--assume <name=value>', 'value of a size not found in the text, repeatable').argParser(
        parseAssumption,
      ),
    )
    .addOption(new Option('--block <x[,y[,z]]>', 'block size to launch with').argParser(parseSize))
    .addOption(new Option('--grid <x[,y[,z]]>', 'grid size to launch with').argParser(parseSize))
    .addOption(new Option('--dynamic-shared <bytes>', 'dynamic shared memory of a block').argParser(wholeNumber(0)))
    .addOption(new Option('--registers <n>', 'registers a thread').argParser(wholeNumber(1)))
    .option('--kernel <name>', 'this kernel only')
    .option(
      '--arguments <text>',
      'arguments that the program is started with (default: of the folder’s Makefile or run script)',
    )
    .option('--compiler <auto|off|clang|path>', 'compiler to take PTX and registers from', 'auto');
}

/** One set of analysis options for each capability asked for. */
export function analysisOptions(options: SharedOptions): AnalysisOptions[] {
  const known = options.device === undefined ? undefined : device(options.device);
  const wanted = options.cc ?? [known?.cc ?? defaultCapability];
  return wanted.map((computeCapability) => ({
    computeCapability,
    defines: options.D ?? new Map(),
    block: options.block,
    grid: options.grid,
    dynamicSharedBytes: options.dynamicShared,
    registersPerThread: options.registers,
    assume: options.assume ?? new Map(),
    kernel: options.kernel,
    programArguments: options.arguments === undefined ? undefined : shellWords(options.arguments),
    device: options.device,
    patience: PATIENCE,
    patienceEndsAfter: PATIENCE_ENDS_MS,
  }));
}

/** Nobody types while the command line works: long loops are executed further than in the editor. */
export const PATIENCE = 64;
/** On a machine that is slow or has much else to do kernels behind this are looked at as in the editor, or they would not be looked at at all. */
const PATIENCE_ENDS_MS = 20_000;

/** Where headers are looked for; the folder worked in is the workspace. */
export function workspaceOf(options: SharedOptions): Workspace {
  return {
    folders: [process.cwd()],
    includePaths: (options.I ?? []).map((folder) => path.resolve(folder)),
    compileCommands: options.compileCommands === undefined ? undefined : path.resolve(options.compileCommands),
  };
}

/** @throws UsageProblem when a file that an option names is not there to be read */
export function checkFilesOf(options: SharedOptions, isFile: (file: string) => boolean): void {
  if (options.compileCommands !== undefined && !isFile(options.compileCommands)) {
    throw new UsageProblem(`${options.compileCommands}: does not exist`);
  }
  if (!['auto', 'off', 'clang'].includes(options.compiler) && !isFile(options.compiler)) {
    throw new UsageProblem(`${options.compiler}: no compiler there; use auto, off, clang or the path of nvcc or clang`);
  }
}
