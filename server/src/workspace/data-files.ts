/** What the host's program reads of files: those of the workspace, by the names that the program has for them. */
import * as fs from 'node:fs';
import * as path from 'node:path';

/** Bytes of a file that is read; together as many as are kept. */
const MOST_BYTES = 16 * 1024 * 1024;
/** Folders inside of one that are looked into. */
const MOST_INNER = 64;

interface Kept {
  readonly mtimeMs: number;
  readonly bytes: Uint8Array;
}

interface Found {
  readonly file: string;
  readonly bytes: Uint8Array;
}

export class DataFiles {
  private readonly kept = new Map<string, Kept>();
  private total = 0;

  /**
   * Nothing outside of the folders is read, by no link either, and nothing but files. As long as a file is not changed its bytes are the same object.
   * Programs try one place after the other (`x`, `data/x`), or are started in the folder of their data: a name that leads nowhere is looked for
   * inside of the folders there, and is the file of the only one that has it.
   * @param name as the program writes it
   * @param from folders that the program may be started in, the likeliest first
   * @param folders absolute
   * @param used told the file that is read
   */
  read(
    name: string,
    from: readonly string[],
    folders: readonly string[],
    used: (file: string) => void,
  ): Uint8Array | undefined {
    const found =
      first(from, (start) => this.found(start, name, folders)) ??
      (goesUp(name) ? undefined : first(from, (start) => this.insideOf(start, name, folders)));
    if (found) used(found.file);
    return found?.bytes;
  }

  private found(start: string, name: string, folders: readonly string[]): Found | undefined {
    const file = path.resolve(start, name);
    if (!folders.some((folder) => isWithin(file, folder))) return undefined;
    const bytes = this.bytesOf(file, folders);
    return bytes && { file, bytes };
  }

  /** The file in one of the folders inside of another; undefined where several have it. */
  private insideOf(start: string, name: string, folders: readonly string[]): Found | undefined {
    const inner = innerFolders(start).flatMap((folder) => this.found(folder, name, folders) ?? []);
    return inner.length === 1 ? inner[0] : undefined;
  }

  private bytesOf(file: string, folders: readonly string[]): Uint8Array | undefined {
    try {
      const stat = fs.statSync(file, { throwIfNoEntry: false });
      if (!stat?.isFile() || stat.size > MOST_BYTES) return undefined;
      const real = fs.realpathSync(file);
      const present = folders.filter((folder) => fs.existsSync(folder));
      if (!present.some((folder) => isWithin(real, fs.realpathSync(folder)))) return undefined;
      const known = this.kept.get(file);
      if (known?.mtimeMs === stat.mtimeMs && known.bytes.length === stat.size) return known.bytes;
      const bytes = new Uint8Array(fs.readFileSync(file));
      this.keep(file, { mtimeMs: stat.mtimeMs, bytes });
      return bytes;
    } catch {
      // one that may not be read is as one that is not there
      return undefined;
    }
  }

  private keep(file: string, read: Kept): void {
    this.total += read.bytes.length - (this.kept.get(file)?.bytes.length ?? 0);
    this.kept.delete(file);
    this.kept.set(file, read);
    for (const [oldest, { bytes }] of this.kept) {
      if (this.total <= 2 * MOST_BYTES || oldest === file) break;
      this.kept.delete(oldest);
      this.total -= bytes.length;
    }
  }
}

function first<T, R>(all: readonly T[], of: (each: T) => R | undefined): R | undefined {
  for (const each of all) {
    const found = of(each);
    if (found !== undefined) return found;
  }
  return undefined;
}

const goesUp = (name: string): boolean => path.isAbsolute(name) || path.normalize(name).startsWith('..');

/** None where there are too many: that is no program's folder. */
function innerFolders(folder: string): readonly string[] {
  try {
    const inner = fs.readdirSync(folder, { withFileTypes: true }).filter((e) => e.isDirectory() && e.name[0] !== '.');
    return inner.length > MOST_INNER ? [] : inner.map((e) => path.join(folder, e.name));
  } catch {
    return [];
  }
}

function isWithin(file: string, folder: string): boolean {
  const way = path.relative(folder, file);
  return !way.startsWith('..') && !path.isAbsolute(way);
}
