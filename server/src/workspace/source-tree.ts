/** Walking folders for CUDA sources and headers. */
import * as fs from 'node:fs';
import * as path from 'node:path';

const skippedFolders = new Set(['.git', '.hg', '.svn', 'node_modules', 'build', '.vscode', '.vscode-test', '.cache']);

export const cudaFile = /\.cuh?$/i;
export const headerFile = /\.(?:cuh?|h|hh|hpp|hxx|inl|inc|ipp|tpp)$/i;

/**
 * Files under a folder, folders and files in alphabetical order, symbolic links not followed.
 * @param limit entries looked at, at most
 */
export function* filesUnder(folder: string, wanted: RegExp, limit = 50_000): Generator<string> {
  let left = limit;
  const open = [folder];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    let entries: fs.Dirent[];
    try {
      entries = fs.readdirSync(next, { withFileTypes: true });
    } catch {
      continue; // a folder that may not be read holds nothing for us
    }
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    left -= entries.length;
    if (left < 0) return;
    for (const entry of entries) if (entry.isFile() && wanted.test(entry.name)) yield path.join(next, entry.name);
    for (const entry of entries.reverse()) {
      if (entry.isDirectory() && !skippedFolders.has(entry.name)) open.push(path.join(next, entry.name));
    }
  }
}

/** Headers of the workspace by their name, for includes whose folder nobody told us. */
export class HeaderIndex {
  private byName = new Map<string, string[]>();
  private builtAt = Number.NEGATIVE_INFINITY;

  /**
   * @param folders roots, absolute
   * @param now a clock in milliseconds; the index is built again when it is older than `maxAgeMs`
   */
  constructor(
    private readonly folders: readonly string[],
    private readonly now: () => number = Date.now,
    private readonly maxAgeMs = 30_000,
  ) {}

  /**
   * The header whose path ends with the name as written in the include, nearest to the file that includes it.
   * @param name e.g. 'common/reduce.cuh'
   */
  find(name: string, from: string): string | undefined {
    const wanted = path.normalize(name);
    if (wanted.startsWith('..') || path.isAbsolute(wanted)) return undefined;
    if (this.now() - this.builtAt > this.maxAgeMs) this.build();
    const suffix = path.sep + wanted;
    let nearest: string | undefined;
    for (const candidate of this.byName.get(path.basename(wanted)) ?? []) {
      if (!candidate.endsWith(suffix) || candidate === from) continue;
      if (nearest === undefined || sharedFolders(candidate, from) > sharedFolders(nearest, from)) nearest = candidate;
    }
    return nearest;
  }

  private build(): void {
    this.builtAt = this.now();
    this.byName = new Map();
    for (const folder of this.folders) {
      for (const file of filesUnder(folder, headerFile)) {
        const name = path.basename(file);
        const known = this.byName.get(name);
        if (known === undefined) this.byName.set(name, [file]);
        else known.push(file);
      }
    }
  }
}

/** Leading folders that two paths have in common. */
export function sharedFolders(a: string, b: string): number {
  // by characters: it is asked for every file of a folder, and lists of names would be made twice each time
  let count = 0;
  for (let at = 0; ; at++) {
    const [endsA, endsB] = [at === a.length, at === b.length];
    const isBorder = endsA || a[at] === path.sep;
    if (isBorder !== (endsB || b[at] === path.sep)) return count;
    if (!isBorder && a[at] !== b[at]) return count;
    if (isBorder) count++;
    if (endsA || endsB) return count;
  }
}
