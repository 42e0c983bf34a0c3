/**
 * The macros that a Makefile beside a file defines for its build, for folders without compile_commands.json. Nothing is run and nothing
 * expanded: only words that stand literally behind `CFLAGS =` and the like count, outside of conditionals.
 */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type CompileFlags, compileFlags, noFlags, shellWords } from './compile-commands';

const names = ['Makefile', 'makefile', 'GNUmakefile'];
/** A Makefile that lists flags is small. */
const maxBytes = 256 * 1024;
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
  private readonly files = new Map<string, { mtimeMs: number; flags: CompileFlags }>();

  flagsFor(source: string, folders: readonly string[]): CompileFlags {
    let directory = path.dirname(source);
    for (let level = 0; level <= levels; level++) {
      if (!folders.some((folder) => directory === folder || directory.startsWith(folder + path.sep))) break;
      for (const name of names) {
        const flags = this.load(path.join(directory, name), directory);
        if (flags) return flags;
      }
      directory = path.dirname(directory);
    }
    return noFlags;
  }

  private load(file: string, directory: string): CompileFlags | undefined {
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    if (!stat?.isFile() || stat.size > maxBytes) return undefined;
    const known = this.files.get(file);
    if (known?.mtimeMs === stat.mtimeMs) return known.flags;
    const flags = makefileFlags(fs.readFileSync(file, 'utf8'), directory);
    this.files.set(file, { mtimeMs: stat.mtimeMs, flags });
    return flags;
  }
}
