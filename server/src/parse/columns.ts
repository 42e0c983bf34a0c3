/** Indentation, for telling where an unclosed bracket belongs. */
import type { TokenStream } from '../preprocess/token';

const tabWidth = 4;

/** Indentation of the line a token stands on, in columns. */
export function columnOf(tokens: TokenStream, index: number): number {
  const file = tokens.files[tokens.file[index]];
  if (!file) return 0;
  const { text } = file;
  let start = Math.min(tokens.start[index], text.length);
  while (start > 0 && text[start - 1] !== '\n' && text[start - 1] !== '\r') start--;
  let column = 0;
  for (let i = start; i < text.length; i++) {
    if (text[i] === ' ') column++;
    else if (text[i] === '\t') column += tabWidth - (column % tabWidth);
    else break;
  }
  return column;
}
