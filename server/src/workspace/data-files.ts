/** What the host's program reads of files: those of the workspace, by the names that the program has for them. */
import * as fs from 'node:fs';
import * as path from 'node:path';

/** Bytes of a file that is read; together as many as are kept. */
const MOST_BYTES = 16 * 1024 * 1024;

interface Kept {
  readonly mtimeMs: number;
  readonly bytes: Uint8Array;
}

export class DataFiles {
  private readonly kept = new Map<string, Kept>();
  private total = 0;

  /**
   * Nothing outside of the folders is read, by no link either, and nothing but files. As long as a file is not changed its bytes are the same object.
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
    for (const start of from) {
      const file = path.resolve(start, name);
      if (!folders.some((folder) => isWithin(file, folder))) continue;
      const bytes = this.bytesOf(file, folders);
      if (!bytes) continue;
      used(file);
      return bytes;
    }
    return undefined;
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

function isWithin(file: string, folder: string): boolean {
  const way = path.relative(folder, file);
  return !way.startsWith('..') && !path.isAbsolute(way);
}
