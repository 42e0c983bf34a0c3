/** From a file, the user's options and the workspace to a request of the analysis. */
import * as path from 'node:path';
import type { AnalysisOptions, AnalysisRequest, OtherFile, SourceUnit } from '../analysis/request';
import { CompileCommands, type CompileFlags, noFlags } from './compile-commands';
import { DataFiles } from './data-files';
import { includeReader } from './includes';
import { Makefiles } from './makefile-flags';
import { RelatedFiles } from './related-files';
import { RunArguments } from './run-arguments';
import { HeaderIndex, headerFile } from './source-tree';
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

/** What a reading of a file and of those that belong to it has in common. */
interface Reading {
  readonly options: AnalysisOptions;
  readonly workspace: Workspace;
  readonly used?: (file: string) => void;
}

type Others = Generator<OtherFile>;

/** Makes requests; keeps texts, header index and compile commands between them. */
export class UnitReader {
  private readonly texts = new TextCache();
  private readonly commands: CompileCommands;
  private readonly makefiles = new Makefiles();
  private readonly commandsToRun = new RunArguments();
  private readonly data = new DataFiles();
  private readonly related: RelatedFiles;
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
    this.related = new RelatedFiles(this.texts, open);
  }

  /** @param used told every header read, by absolute path */
  request(
    file: string,
    text: string,
    options: AnalysisOptions,
    workspace: Workspace,
    used?: (file: string) => void,
  ): AnalysisRequest {
    const reading: Reading = { options, workspace, used };
    const { include, defines } = this.unit(file, text, reading);
    const maxRegisters = options.maxRegisters ?? this.buildFlags(file, workspace).maxRegisters;
    const command = this.commandsToRun.commandFor(path.resolve(file), text, foldersFor(file, workspace.folders));
    if (command) used?.(command.file);
    const programArguments = options.programArguments ?? command?.arguments;
    const programArgumentsFile = options.programArguments ? undefined : command?.file;
    return {
      path: file,
      text,
      options: { ...options, defines, maxRegisters, programArguments, programArgumentsFile },
      include,
      root: this.rootOf(file, text, reading),
      others: (names, known) => this.others('users', file, names, known, reading),
      definers: (names, known) => this.others('definers', file, names, known, reading),
      dataFile: (name) => this.dataFile(name, file, command?.file, reading),
    };
  }

  /** A program is started beside what says how, beside its source, or at the top of the workspace. */
  private dataFile(
    name: string,
    file: string,
    command: string | undefined,
    { workspace, used }: Reading,
  ): Uint8Array | undefined {
    const own = path.dirname(path.resolve(file));
    const folders = foldersFor(file, workspace.folders);
    const starts = [...(command ? [path.dirname(command)] : []), own, path.dirname(own), ...folders];
    return this.data.read(name, starts, [own, ...folders], (each) => used?.(each));
  }

  /** Reads the includes of a file; of the rest of a request nothing is looked for. */
  includeOf(file: string, options: AnalysisOptions, workspace: Workspace): AnalysisRequest['include'] {
    return this.unit(file, '', { options, workspace }).include;
  }

  /** A text as the build reads it; the user's own macros win over those of the build. */
  private unit(file: string, text: string, { options, workspace, used }: Reading): SourceUnit {
    const flags = this.buildFlags(file, workspace);
    const include = includeReader({
      open: this.open,
      includePaths: [...workspace.includePaths, ...flags.includePaths],
      headers: this.headerIndex(workspace.folders),
      texts: this.texts,
      used,
    });
    return { path: file, text, include, defines: new Map([...flags.defines, ...options.defines]) };
  }

  /** The source through which a header with kernels is compiled. */
  private rootOf(file: string, text: string, reading: Reading): SourceUnit | undefined {
    if (!headerFile.test(file) && path.extname(file) !== '.cu') return undefined;
    const kernels = [...text.matchAll(kernelName)].map(([, name]) => name);
    if (kernels.length === 0) return undefined;
    const { folders } = reading.workspace;
    const root = this.related.rootOf(path.resolve(file), kernels, foldersFor(file, folders));
    const rootText = root && this.read(root);
    if (root === undefined || rootText === undefined) return undefined;
    reading.used?.(root);
    return this.unit(asGiven(root, file), rootText, reading);
  }

  private *others(
    which: 'users' | 'definers',
    file: string,
    names: readonly string[],
    known: ReadonlySet<string>,
    reading: Reading,
  ): Others {
    const { folders } = reading.workspace;
    const read = (each: string) => this.read(path.resolve(each));
    const present = new Set([...known].map((each) => path.resolve(each)));
    for (const found of this.related[which](path.resolve(file), names, foldersFor(file, folders), present)) {
      const given = asGiven(found.path, file);
      if (known.has(given)) continue;
      reading.used?.(found.path);
      yield { ...this.unit(given, found.text, reading), distance: found.distance, read };
    }
  }

  private read(absolute: string): string | undefined {
    return this.open.get(absolute) ?? this.texts.read(absolute);
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

/** Name of a kernel that a text defines: behind __global__, its type and what stands between them. */
const kernelName = /__global__[^;{}()]*?(?:__launch_bounds__\s*\([^;{}]*?\)[^;{}()]*?)?\b(\w+)\s*\(/g;

/** Other files are looked for in the workspace, or beside a file that lies outside of it. */
function foldersFor(file: string, folders: readonly string[]): readonly string[] {
  const absolute = path.resolve(file);
  const isInside = folders.some((folder) =>
    absolute.startsWith(folder.endsWith(path.sep) ? folder : folder + path.sep),
  );
  return isInside ? folders : [path.dirname(absolute)];
}

/** A path is told as that of the file that it belongs to: relative where that one is. */
const asGiven = (found: string, like: string): string => (path.isAbsolute(like) ? found : path.relative('', found));

function usualDatabases(folder: string): string[] {
  return [path.join(folder, 'compile_commands.json'), path.join(folder, 'build', 'compile_commands.json')];
}
