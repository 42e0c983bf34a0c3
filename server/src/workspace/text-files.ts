/** Reading source text from disk: bounded, cached, and with a reason where a file is not fit to be read. */
import * as fs from 'node:fs';

/** Bytes of one source file or header that are read at most. The longest hand-written CUDA files have about 1 MB. */
export const maxSourceBytes = 4 * 1024 * 1024;

export type SourceText = { readonly text: string } | { readonly problem: string };

/** Decodes UTF-8 (or UTF-16 with a byte order mark); the mark itself is dropped, as editors do. */
export function decodeSource(bytes: Buffer): SourceText {
  if (bytes.length >= 2 && bytes[0] === 0xff && bytes[1] === 0xfe) return { text: bytes.toString('utf16le', 2) };
  if (bytes.subarray(0, 8192).includes(0)) return { problem: 'is a binary file' };
  const start = bytes.length >= 3 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  return { text: bytes.toString('utf8', start) };
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EACCES: 'cannot be read: permission denied',
  EISDIR: 'is a folder',
};

/** In a few words, why the file system refused. */
export function fileProblem(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
  return reasons[code] ?? `cannot be read: ${code}`;
}

/** Reads a source file; never throws. */
export function readSource(file: string): SourceText {
  try {
    const { size } = fs.statSync(file);
    if (size > maxSourceBytes) {
      const megabytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MB`;
      return { problem: `has ${megabytes(size)}; files of up to ${megabytes(maxSourceBytes)} are analysed` };
    }
    return decodeSource(fs.readFileSync(file));
  } catch (error) {
    return { problem: fileProblem(error) };
  }
}

interface CachedText {
  readonly mtimeMs: number;
  readonly size: number;
  readonly text: string | undefined;
}

/** Texts of files by path, read again when a file's time or size has changed. */
export class TextCache {
  private readonly files = new Map<string, CachedText>();
  private bytes = 0;

  /** @param maxBytes what is kept at most; beyond that the files asked for longest ago go first */
  constructor(private readonly maxBytes = 32 * 1024 * 1024) {}

  /** The text, or undefined where there is no such (readable, small enough, textual) file. */
  read(file: string): string | undefined {
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    if (stat === undefined || !stat.isFile()) return this.forget(file);
    const known = this.files.get(file);
    if (known !== undefined && known.mtimeMs === stat.mtimeMs && known.size === stat.size) {
      this.files.delete(file);
      this.files.set(file, known);
      return known.text;
    }
    this.forget(file);
    const source = readSource(file);
    const text = 'text' in source ? source.text : undefined;
    this.files.set(file, { mtimeMs: stat.mtimeMs, size: stat.size, text });
    this.bytes += text?.length ?? 0;
    for (const [oldest] of this.files) {
      if (this.bytes <= this.maxBytes || oldest === file) break;
      this.forget(oldest);
    }
    return text;
  }

  private forget(file: string): undefined {
    this.bytes -= this.files.get(file)?.text?.length ?? 0;
    this.files.delete(file);
    return undefined;
  }
}
