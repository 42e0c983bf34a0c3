/**
 * The macros that a Makefile beside a file defines for its build, for folders without compile_commands.json. Nothing is run and nothing
 * expanded: only words that stand literally behind `CFLAGS =` and the like count, outside of conditionals.
 */
import * as path from 'node:path';
import { type CompileFlags, compileFlags, noFlags, shellWords } from './compile-commands';
import { foldersAbove, makefileNames, ReadWhenChanged } from './read-when-changed';

/** Folders above the file's that are looked into. */
const levels = 2;

const assignment =
  /^\s*(?:(?:export|override)\s+)*\w*(?:FLAGS|DEFINES|DEFS|DFLAG|MACROS|OPTS)\w*\s*(?::{0,3}|\+|\?)=(.*)$/i;

/** Macros and folders of headers that a Makefile's text names in variables of flags. */
export function makefileFlags(text: string, directory: string): CompileFlags {
  const words: string[] = [];
  let conditional = 0;
  for (const line of text.replace(/\\\r?\n/g, ' ').split(/\r?\n/)) {
    const directive = /^\s*(if(?:n?eq|n?def)|endif)\b/.exec(line)?.[1];
    if (directive) conditional += directive === 'endif' ? -1 : 1;
    const flags = conditional > 0 || line.startsWith('\t') ? undefined : assignment.exec(line)?.[1];
    if (flags) words.push(...shellWords(flags.replace(/(^|\s)#.*$/, '')).filter((word) => !word.includes('$')));
  }
  const { defines, includePaths, maxRegisters } = compileFlags(words, directory);
  return { defines, includePaths, ...(maxRegisters === undefined ? {} : { maxRegisters }) };
}

/** The flags of the nearest Makefile above a file, not above the given folders; read again when it has changed. */
export class Makefiles {
  private readonly files = new ReadWhenChanged((text, file) => makefileFlags(text, path.dirname(file)));

  flagsFor(source: string, folders: readonly string[]): CompileFlags {
    for (const directory of foldersAbove(source, folders, levels)) {
      for (const name of makefileNames) {
        const flags = this.files.of(path.join(directory, name));
        if (flags) return flags;
      }
    }
    return noFlags;
  }
}
