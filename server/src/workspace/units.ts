/** From a file, the user's options and the workspace to a request of the analysis. */
import * as path from 'node:path';
import type { AnalysisOptions, AnalysisRequest } from '../analysis/request';
import { CompileCommands, type CompileFlags, noFlags } from './compile-commands';
import { includeReader } from './includes';
import { Makefiles } from './makefile-flags';
import { HeaderIndex } from './source-tree';
import { TextCache } from './text-files';

/** Where headers and flags are looked for; plain data, so that it can be sent to a worker. */
export interface Workspace {
  /** Absolute. */
  readonly folders: readonly string[];
  /** Absolute; of the options or settings. */
  readonly includePaths: readonly string[];
  /** Absolute path, or undefined to look in the folders and their `build`. */
  readonly compileCommands?: string;
}

/** Makes requests; keeps texts, header index and compile commands between them. */
export class UnitReader {
  private readonly texts = new TextCache();
  private readonly commands: CompileCommands;
  private readonly makefiles = new Makefiles();
  private headers: { key: string; index: HeaderIndex } | undefined;

  /**
   * @param open texts of open documents by absolute path (a live map)
   * @param complain told in one line what could not be read
   */
  constructor(
    private readonly open: ReadonlyMap<string, string>,
    complain: (line: string) => void,
  ) {
    this.commands = new CompileCommands(complain);
  }

  /** @param used told every header read, by absolute path */
  request(
    file: string,
    text: string,
    options: AnalysisOptions,
    workspace: Workspace,
    used?: (file: string) => void,
  ): AnalysisRequest {
    const { folders } = workspace;
    const flags = this.buildFlags(file, workspace);
    const include = includeReader({
      open: this.open,
      includePaths: [...workspace.includePaths, ...flags.includePaths],
      headers: this.headerIndex(folders),
      texts: this.texts,
      used,
    });
    // the user's own macros win over those of the build
    return {
      path: file,
      text,
      options: {
        ...options,
        defines: new Map([...flags.defines, ...options.defines]),
        maxRegisters: options.maxRegisters ?? flags.maxRegisters,
      },
      include,
    };
  }

  /** The flags of the build as nvcc takes them, with the user's own folders and macros. */
  compilerFlags(file: string, options: AnalysisOptions, workspace: Workspace): string[] {
    const { includePaths, defines, maxRegisters, kept = [] } = this.buildFlags(file, workspace);
    const macros = new Map([...defines, ...options.defines]);
    return [
      ...kept,
      ...[...workspace.includePaths, ...includePaths].flatMap((folder) => ['-I', folder]),
      ...[...macros].map(([name, value]) => `-D${name}=${value}`),
      ...(maxRegisters === undefined ? [] : [`-maxrregcount=${maxRegisters}`]),
    ];
  }

  /** The capability that the build makes code for, where it says. */
  builtCapability(file: string, workspace: Workspace): string | undefined {
    return this.buildFlags(file, workspace).capability;
  }

  private buildFlags(file: string, { folders, compileCommands }: Workspace): CompileFlags {
    const databases = compileCommands !== undefined ? [compileCommands] : folders.flatMap(usualDatabases);
    const flags = this.commands.flagsFor(path.resolve(file), databases);
    return flags === noFlags ? this.makefiles.flagsFor(path.resolve(file), folders) : flags;
  }

  private headerIndex(folders: readonly string[]): HeaderIndex {
    const key = folders.join('\n');
    if (this.headers?.key !== key) this.headers = { key, index: new HeaderIndex(folders) };
    return this.headers.index;
  }
}

function usualDatabases(folder: string): string[] {
  return [path.join(folder, 'compile_commands.json'), path.join(folder, 'build', 'compile_commands.json')];
}
