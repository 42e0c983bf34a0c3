/** From token indices to lines and columns of files. */
import { lineAndColumn } from '../preprocess/positions';
import { TokenFlag, type TokenStream } from '../preprocess/token';
import type { Location } from './report';

/** Tokens of a node that are looked at for macros: accesses are short, and what is longer is shown by its ends. */
const MOST_TOKENS = 64;

/** The range of tokens first … last (inclusive); a token of a macro stands at the macro call. */
export function locationOf(tokens: TokenStream, first: number, last: number): Location {
  const start = Math.max(0, Math.min(first, tokens.count - 1));
  const fileIndex = tokens.file[start];
  let end = Math.max(start, Math.min(last, tokens.count - 1));
  // a node that begins in one file and ends in another (an include in the middle) is shown by its first token
  while (end > start && tokens.file[end] !== fileIndex) end--;
  const file = tokens.files[fileIndex];
  let [begin, finish] = [tokens.start[start], Math.max(tokens.end[end], tokens.end[start])];
  // what begins or ends with an argument of a macro is all of the macro's call: `AT(tile, i)` of tile[i]
  for (let t = start; t <= end && t - start < MOST_TOKENS; t++) {
    if (!(tokens.flags[t] & TokenFlag.fromMacro) || tokens.file[t] !== fileIndex) continue;
    begin = Math.min(begin, tokens.start[t]);
    finish = Math.max(finish, tokens.end[t]);
  }
  const from = lineAndColumn(file, begin);
  const to = lineAndColumn(file, finish);
  return { file: file.path, line: from.line, column: from.column, endLine: to.line, endColumn: to.column };
}
