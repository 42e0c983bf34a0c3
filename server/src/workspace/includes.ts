/** Where an `#include` finds its file: open documents first, then the disk. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { AnalysisRequest } from '../analysis/request';
import type { HeaderIndex } from './source-tree';
import type { TextCache } from './text-files';

export interface IncludeContext {
  /** Texts of open documents by absolute path; they win over the disk. */
  readonly open: ReadonlyMap<string, string>;
  /** `-I` and settings first, then those of compile_commands.json; absolute. */
  readonly includePaths: readonly string[];
  readonly headers?: HeaderIndex;
  readonly texts: TextCache;
  /** Told every file that was read (absolute), so that its change can start a new analysis. */
  readonly used?: (file: string) => void;
}

/** Bytes of headers that one analysis reads, and how many lookups it makes. */
const maxIncludedBytes = 16 * 1024 * 1024;
const maxLookups = 5_000;

const toolkitFolders = new Map<string, boolean>();

/**
 * Whether a folder belongs to the CUDA toolkit or to the system. Their headers are not read: the front end knows what
 * they declare, and they would cost a thousand times what the file itself does.
 */
function isToolkitFolder(folder: string): boolean {
  let known = toolkitFolders.get(folder);
  if (known === undefined) {
    known = /^\/usr\/(?:local\/)?include\b|^\/usr\/lib\/gcc\b/.test(folder);
    known ||= fs.existsSync(path.join(folder, 'cuda_runtime.h')) || fs.existsSync(path.join(folder, 'stdio.h'));
    toolkitFolders.set(folder, known);
  }
  return known;
}

/**
 * A reader for one analysis (its budget begins anew with each). Looks beside the includer (quoted names), then in the
 * include paths, then anywhere in the workspace by the end of the path. Paths that it returns stay relative where the
 * includer's is.
 */
export function includeReader(context: IncludeContext): AnalysisRequest['include'] {
  let bytes = 0;
  let lookups = 0;
  const searched = context.includePaths.filter((folder) => !isToolkitFolder(folder));

  const read = (file: string): { path: string; text: string } | undefined => {
    const absolute = path.resolve(file);
    const text = context.open.get(absolute) ?? context.texts.read(absolute);
    if (text === undefined || (bytes += text.length) > maxIncludedBytes) return undefined;
    context.used?.(absolute);
    return { path: file, text };
  };

  return (name, quoted, from) => {
    if (++lookups > maxLookups || name.includes('\0')) return undefined;
    if (path.isAbsolute(name)) return read(name);
    const beside = quoted ? read(path.join(path.dirname(from), name)) : undefined;
    if (beside !== undefined) return beside;
    for (const folder of searched) {
      const found = read(path.join(folder, name));
      if (found !== undefined) return found;
    }
    const somewhere = context.headers?.find(name, path.resolve(from));
    return somewhere === undefined ? undefined : read(somewhere);
  };
}
