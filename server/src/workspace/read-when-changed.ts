/** Small files beside sources that say something of the build, each read again when it has changed. */
import * as fs from 'node:fs';
import * as path from 'node:path';

/** One that lists flags or starts a program is small. */
const maxBytes = 256 * 1024;

export class ReadWhenChanged<T> {
  private readonly files = new Map<string, { readonly mtimeMs: number; readonly read: T }>();

  /** @param read what is made of a file's text */
  constructor(private readonly read: (text: string, file: string) => T) {}

  /** What a file says; undefined where there is none, or it is too large. */
  of(file: string): T | undefined {
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    if (!stat?.isFile() || stat.size > maxBytes) return undefined;
    const known = this.files.get(file);
    if (known?.mtimeMs === stat.mtimeMs) return known.read;
    const read = this.read(fs.readFileSync(file, 'utf8'), file);
    this.files.set(file, { mtimeMs: stat.mtimeMs, read });
    return read;
  }
}

/** The folder of a source and those above it, as many as `levels`, and none above the given ones. */
export function* foldersAbove(source: string, folders: readonly string[], levels: number): Generator<string> {
  let directory = path.dirname(source);
  for (let level = 0; level <= levels; level++) {
    if (!folders.some((folder) => directory === folder || directory.startsWith(folder + path.sep))) return;
    yield directory;
    directory = path.dirname(directory);
  }
}

export const makefileNames = ['Makefile', 'makefile', 'GNUmakefile'];
