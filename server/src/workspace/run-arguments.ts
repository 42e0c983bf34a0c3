/**
 * What a program is started with, where the folder of its sources says: the `run` rule of a Makefile, or a script `run` or `run.sh`. Only read, never
 * run; a word that is not literal text or a variable of the Makefile makes the whole command unknown.
 */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { shellWords } from './compile-commands';
import { foldersAbove, makefileNames, ReadWhenChanged } from './read-when-changed';

/** A command that starts a program. */
export interface StartCommand {
  /** Without its folder. */
  readonly program: string;
  readonly arguments: readonly string[];
  /** File that says so. */
  readonly file: string;
}

const scripts = ['run', 'run.sh'];
/** Folders above the file's that are looked into. */
const levels = 2;
const sourceExtensions = ['.cu', '.cpp', '.cc', '.cxx', '.c'];

/** The first command in a Makefile's rule `run` that starts a program by its path. */
export function commandOfMakefile(text: string): Omit<StartCommand, 'file'> | undefined {
  const lines = text.replace(/\\\r?\n/g, ' ').split(/\r?\n/);
  const variables = new Map<string, string>();
  for (const line of lines) {
    const [, name, value] = /^(?:export\s+)?(\w+)\s*[:?]{0,2}=\s*(.*?)\s*(?:#.*)?$/.exec(line) ?? [];
    if (name !== undefined) variables.set(name, value);
  }
  const start = lines.findIndex((line) => /^run\s*:(?!=)/.test(line));
  if (start < 0) return undefined;
  for (let at = start + 1; at < lines.length && /^(?:\t|\s*$)/.test(lines[at]); at++) {
    const command = commandOf(expanded(lines[at].trim().replace(/^[@+-]+/, ''), variables));
    if (command) return command;
  }
  return undefined;
}

/** The first command in a shell script that starts a program by its path. */
export function commandOfScript(text: string): Omit<StartCommand, 'file'> | undefined {
  for (const line of text.replace(/\\\r?\n/g, ' ').split(/\r?\n/)) {
    const command = line.startsWith('#') ? undefined : commandOf(line);
    if (command) return command;
  }
  return undefined;
}

/** What stays unknown keeps its `$`. */
function expanded(line: string, variables: ReadonlyMap<string, string>, depth = 0): string {
  if (depth > 8) return line;
  const next = line.replace(/\$[({](\w+)[)}]/g, (whole, name) => variables.get(name) ?? whole);
  return next === line ? line : expanded(next, variables, depth + 1);
}

function commandOf(line: string): Omit<StartCommand, 'file'> | undefined {
  for (const part of line.split(/&&|;/)) {
    const words = shellWords(part.replace(/\s(?:\d?>|<|\||#).*$/, ''));
    const at = words.findIndex((word) => /^(?:\.{0,2}\/|[\w.-]+\/)[\w./-]*$/.test(word) && !word.endsWith('/'));
    if (at < 0 || words.slice(0, at).some((word) => /^(?:cd|rm|cp|mv|mkdir|echo|cat|source|make)$/.test(word)))
      continue;
    const given = words.slice(at + 1);
    if (given.some((word) => /[$`*?]/.test(word))) return undefined;
    return { program: path.posix.basename(words[at]), arguments: given };
  }
  return undefined;
}

/** The commands of folders. */
export class RunArguments {
  private readonly makefiles = new ReadWhenChanged(commandOfMakefile);
  private readonly scripts = new ReadWhenChanged(commandOfScript);

  /**
   * How the program of a source is started; undefined where its folder, and the two above, do not say.
   * @param text of the source @param folders that are looked into, and those below
   */
  commandFor(source: string, text: string, folders: readonly string[]): StartCommand | undefined {
    for (const directory of foldersAbove(source, folders, levels)) {
      for (const name of [...makefileNames, ...scripts]) {
        const file = path.join(directory, name);
        const command = (scripts.includes(name) ? this.scripts : this.makefiles).of(file);
        if (command) return isOfOther(source, text, command) ? undefined : { ...command, file };
      }
    }
    return undefined;
  }
}

/** A folder of many small programs: the command starts another of them. */
function isOfOther(source: string, text: string, { program }: Omit<StartCommand, 'file'>): boolean {
  const { dir, name } = path.parse(source);
  if (name === program || !/\bmain\s*\(/.test(text)) return false;
  return sourceExtensions.some((extension) => fs.existsSync(path.join(dir, path.parse(program).name + extension)));
}
