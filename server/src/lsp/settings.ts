/** The `warplens` section of the editor's configuration, checked and with its defaults. */
import * as path from 'node:path';
import type { AnalysisOptions } from '../analysis/request';
import { capability } from '../hardware/capabilities';
import { parseDefine, shellWords } from '../workspace/compile-commands';
import { defaultCapability, type Size, sizeOf } from '../workspace/defaults';
import type { Workspace } from '../workspace/units';

export interface Settings {
  readonly enable: boolean;
  readonly codeLens: boolean;
  readonly options: AnalysisOptions;
  /** `computeCapability` is 'auto': the build's, where it says; that of `options` where it does not. */
  readonly followsBuild: boolean;
  /** As written: absolute, or relative to the workspace folder. */
  readonly includePaths: readonly string[];
  readonly compileCommands: string | undefined;
  /** 'auto', 'off', 'clang', or the path of nvcc, of clang or of a toolkit. */
  readonly compiler: string;
  /** For the compiler, behind those of the build. */
  readonly compilerFlags: readonly string[];
  /** Compile the editor's text in pauses of the typing, not only what is saved. */
  readonly compileUnsaved: boolean;
  /** One line for each setting that makes no sense; its default is used. */
  readonly problems: readonly string[];
}

type Section = Readonly<Record<string, unknown>>;

const isSection = (value: unknown): value is Section =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reads the section; whatever it holds, settings come out. */
export function readSettings(section: unknown): Settings {
  const given: Section = isSection(section) ? section : {};
  const problems: string[] = [];
  const complain = (name: string, wanted: string): undefined => {
    problems.push(`warplens.${name} is ${JSON.stringify(given[name])}: ${wanted}`);
    return undefined;
  };
  const isSet = (name: string) => given[name] !== undefined && given[name] !== null && given[name] !== '';
  const strings = (name: string): string[] => {
    const list = given[name];
    if (!isSet(name)) return [];
    if (Array.isArray(list) && list.every((item) => typeof item === 'string')) return list;
    complain(name, 'give a list of texts');
    return [];
  };
  const size = (name: string): Size | undefined => {
    const list = given[name];
    if (!isSet(name) || (Array.isArray(list) && list.length === 0)) return undefined;
    return (Array.isArray(list) ? sizeOf(list) : undefined) ?? complain(name, 'give one to three positive numbers');
  };
  const count = (name: string): number | undefined => {
    const value = given[name];
    if (!isSet(name)) return undefined;
    return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : complain(name, 'give a whole number');
  };
  const text = (name: string): string | undefined => {
    const value = given[name];
    if (!isSet(name)) return undefined;
    return typeof value === 'string' ? value : complain(name, 'give a text');
  };

  let computeCapability = text('computeCapability') ?? defaultCapability;
  const followsBuild = computeCapability === 'auto';
  if (followsBuild) computeCapability = defaultCapability;
  if (capability(computeCapability) === undefined) {
    complain('computeCapability', `not a capability that is known; ${defaultCapability} is used`);
    computeCapability = defaultCapability;
  }
  const assume = new Map<string, number>();
  for (const [name, value] of Object.entries(isSection(given.assume) ? given.assume : {})) {
    if (typeof value === 'number' && Number.isFinite(value)) assume.set(name, value);
    else problems.push(`warplens.assume: ${name} is ${JSON.stringify(value)}: give a number`);
  }
  const codeLens: unknown = isSection(given.codeLens) ? given.codeLens.enable : undefined;
  return {
    enable: given.enable !== false,
    codeLens: codeLens !== false,
    options: {
      computeCapability,
      defines: new Map(strings('defines').map(parseDefine)),
      block: size('block'),
      grid: size('grid'),
      dynamicSharedBytes: count('dynamicSharedBytes'),
      registersPerThread: count('registersPerThread'),
      assume,
      programArguments: words(text('programArguments')),
      device: text('device'),
    },
    followsBuild,
    includePaths: strings('includePaths'),
    compileCommands: text('compileCommands'),
    compiler: text('compiler') ?? 'auto',
    compilerFlags: strings('compilerFlags'),
    compileUnsaved: given.compileUnsaved === true,
    problems,
  };
}

const words = (text: string | undefined): string[] | undefined => (text === undefined ? undefined : shellWords(text));

/**
 * Where headers are looked for under these settings.
 * @param folders workspace folders; the first that holds the file is what relative paths start from
 */
export function workspaceOf(settings: Settings, file: string, folders: readonly string[]): Workspace {
  const home = folders.find((folder) => file.startsWith(folder + path.sep)) ?? folders[0] ?? path.dirname(file);
  return {
    folders,
    includePaths: settings.includePaths.map((folder) => path.resolve(home, folder)),
    compileCommands: settings.compileCommands === undefined ? undefined : path.resolve(home, settings.compileCommands),
  };
}
