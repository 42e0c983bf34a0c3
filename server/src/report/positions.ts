/** From token indices to lines and columns of files. */
import { lineAndColumn } from '../preprocess/positions';
import type { TokenStream } from '../preprocess/token';
import type { Location } from './report';

/** The range of tokens first … last (inclusive); a token of a macro stands at the macro call. */
export function locationOf(tokens: TokenStream, first: number, last: number): Location {
  const start = Math.max(0, Math.min(first, tokens.count - 1));
  const fileIndex = tokens.file[start];
  let end = Math.max(start, Math.min(last, tokens.count - 1));
  // a node that begins in one file and ends in another (an include in the middle) is shown by its first token
  while (end > start && tokens.file[end] !== fileIndex) end--;
  const file = tokens.files[fileIndex];
  const from = lineAndColumn(file, tokens.start[start]);
  const to = lineAndColumn(file, Math.max(tokens.end[end], tokens.end[start]));
  return { file: file.path, line: from.line, column: from.column, endLine: to.line, endColumn: to.column };
}
