/** Between the report's positions (lines and columns from 1) and the protocol's (from 0, UTF-16 in both). */
import * as path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Position, Range as ProtocolRange } from 'vscode-languageserver';
import type { Range } from '../report/report';

export function toProtocolRange(range: Range): ProtocolRange {
  const line = Math.max(0, range.line - 1);
  const character = Math.max(0, range.column - 1);
  return {
    start: { line, character },
    end: { line: Math.max(line, range.endLine - 1), character: Math.max(0, range.endColumn - 1) },
  };
}

/** Whether a position lies in a range; its end counts, for that is where a cursor stands behind a word. */
export function covers(range: Range, { line, character }: Position): boolean {
  const [row, column] = [line + 1, character + 1];
  if (row < range.line || row > range.endLine) return false;
  if (row === range.line && column < range.column) return false;
  return row !== range.endLine || column <= range.endColumn;
}

export function overlaps(range: Range, { start, end }: ProtocolRange): boolean {
  const before =
    range.endLine - 1 < start.line || (range.endLine - 1 === start.line && range.endColumn - 1 < start.character);
  const behind = range.line - 1 > end.line || (range.line - 1 === end.line && range.column - 1 > end.character);
  return !before && !behind;
}

/** Whether a range is the smaller one: the more exact answer to a hover. */
export function isNarrower(a: Range, b: Range): boolean {
  const lines = (range: Range) => range.endLine - range.line;
  return lines(a) !== lines(b) ? lines(a) < lines(b) : a.endColumn - a.column < b.endColumn - b.column;
}

/** The path by which the analysis knows a document: that of its file, or the URI itself where it is none. */
export function pathOfUri(uri: string): string {
  if (!uri.startsWith('file:')) return uri;
  try {
    return path.normalize(fileURLToPath(uri));
  } catch {
    return uri;
  }
}

export function uriOfPath(file: string): string {
  return path.isAbsolute(file) ? pathToFileURL(file).href : file;
}
