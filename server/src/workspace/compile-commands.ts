/** What compile_commands.json tells about a file: folders of headers, macros, and the most registers. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { builtCapability, keptFlags } from './build-flags';

export interface CompileFlags {
  /** Absolute. */
  readonly includePaths: readonly string[];
  readonly defines: ReadonlyMap<string, string>;
  /** Further flags for nvcc that decide what the text means or what is made of it, in order. */
  readonly kept?: readonly string[];
  /** `-maxrregcount` */
  readonly maxRegisters?: number;
  /** The highest capability that the build makes code for, of `-arch`, `-gencode` and `--cuda-gpu-arch`. */
  readonly capability?: string;
}

export const noFlags: CompileFlags = { includePaths: [], defines: new Map() };

/** Bytes of compile_commands.json that are read at most. */
const maxBytes = 64 * 1024 * 1024;

/** Cuts a shell command into its words; quotes and backslashes as a POSIX shell has them, nothing expanded. */
export function shellWords(command: string): string[] {
  const words: string[] = [];
  const pattern = /\s*((?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s"'\\])+)/gy;
  for (let match = pattern.exec(command); match !== null; match = pattern.exec(command)) {
    words.push(
      match[1].replace(/"((?:\\.|[^"\\])*)"|'([^']*)'|\\(.)/g, (_, double, single, escaped) =>
        double !== undefined ? double.replace(/\\(["\\$`])/g, '$1') : (single ?? escaped),
      ),
    );
  }
  return words;
}

/** `NAME=value`, `NAME` (1) or `NAME(x)=…` as of -D. */
export function parseDefine(text: string): [name: string, value: string] {
  const equals = text.indexOf('=');
  return equals < 0 ? [text.trim(), '1'] : [text.slice(0, equals).trim(), text.slice(equals + 1)];
}

const folderFlags = ['-isystem', '-iquote', '-idirafter', '--include-path', '-I', '/I'];
const registerFlags = ['--maxrregcount', '-maxrregcount'];
const defineFlags = ['--define-macro', '-D', '/D'];

/** The value of a flag at `index`, glued on (`-Ifoo`, `--define-macro=A`) or the next word. */
function flagValue(words: readonly string[], index: number, flags: readonly string[]): string | undefined {
  const word = words[index];
  for (const flag of flags) {
    if (word === flag) return words[index + 1];
    if (word.startsWith(flag)) return word.slice(flag.length).replace(/^=/, '');
  }
  return undefined;
}

/** The include folders, macros and bound of registers among a compiler's arguments. */
export function compileFlags(words: readonly string[], directory: string): CompileFlags {
  const includePaths: string[] = [];
  const defines = new Map<string, string>();
  let maxRegisters: number | undefined;
  for (let index = 0; index < words.length; index++) {
    const folders = flagValue(words, index, folderFlags);
    if (folders) {
      // nvcc takes several folders in one argument
      for (const folder of folders.split(',')) includePaths.push(path.resolve(directory, folder));
      continue;
    }
    const define = flagValue(words, index, defineFlags);
    if (define) {
      defines.set(...parseDefine(define));
      continue;
    }
    const registers = Number(flagValue(words, index, registerFlags) ?? Number.NaN);
    if (Number.isSafeInteger(registers) && registers > 0) maxRegisters = registers;
  }
  const kept = keptFlags(words, directory);
  const capability = builtCapability(words);
  return {
    includePaths,
    defines,
    kept,
    ...(maxRegisters === undefined ? {} : { maxRegisters }),
    ...(capability === undefined ? {} : { capability }),
  };
}

interface Entry {
  readonly directory?: unknown;
  readonly file?: unknown;
  readonly command?: unknown;
  readonly arguments?: unknown;
}

/** The commands of a file's text by absolute source path; throws SyntaxError where it is no JSON array. */
export function parseCompileCommands(text: string, folder: string): Map<string, CompileFlags> {
  const entries: unknown = JSON.parse(text);
  if (!Array.isArray(entries)) throw new SyntaxError('not a JSON array');
  const commands = new Map<string, CompileFlags>();
  for (const entry of entries as (Entry | null)[]) {
    if (entry === null || typeof entry !== 'object' || typeof entry.file !== 'string') continue;
    const directory = path.resolve(folder, typeof entry.directory === 'string' ? entry.directory : '.');
    const words = Array.isArray(entry.arguments)
      ? entry.arguments.filter((word): word is string => typeof word === 'string')
      : shellWords(typeof entry.command === 'string' ? entry.command : '');
    commands.set(path.resolve(directory, entry.file), compileFlags(words, directory));
  }
  return commands;
}

/** compile_commands.json files, each read again when it has changed. */
export class CompileCommands {
  private readonly files = new Map<string, { mtimeMs: number; commands: Map<string, CompileFlags> }>();

  /** Told of a file that cannot be understood, in one line. */
  constructor(private readonly complain: (line: string) => void) {}

  /**
   * The flags for a source file; for a header or a file that is not listed, those of a source in the same folder, or
   * else of any source, as editors do.
   */
  flagsFor(source: string, databases: readonly string[]): CompileFlags {
    for (const database of databases) {
      const commands = this.load(database);
      if (commands === undefined || commands.size === 0) continue;
      const own = commands.get(source);
      if (own !== undefined) return own;
      const folder = path.dirname(source);
      let any: CompileFlags | undefined;
      for (const [file, flags] of commands) {
        if (path.dirname(file) === folder) return flags;
        any ??= flags;
      }
      return any ?? noFlags;
    }
    return noFlags;
  }

  private load(database: string): Map<string, CompileFlags> | undefined {
    const stat = fs.statSync(database, { throwIfNoEntry: false });
    if (stat === undefined || !stat.isFile()) return undefined;
    const known = this.files.get(database);
    if (known !== undefined && known.mtimeMs === stat.mtimeMs) return known.commands;
    let commands = new Map<string, CompileFlags>();
    try {
      if (stat.size > maxBytes) throw new Error('the file is too large');
      commands = parseCompileCommands(fs.readFileSync(database, 'utf8'), path.dirname(database));
    } catch (error) {
      this.complain(`${database}: ${(error as Error).message}`);
    }
    this.files.set(database, { mtimeMs: stat.mtimeMs, commands });
    return commands;
  }
}
