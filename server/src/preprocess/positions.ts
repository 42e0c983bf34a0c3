import type { SourceFile } from './token';

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/** Offset of the first character of every line; lines end in LF, CRLF or CR, as in the editor. */
export function findLineStarts(text: string): Int32Array {
  const starts = [0];
  let carriageReturn = text.indexOf('\r');
  let lineFeed = text.indexOf('\n');
  while (carriageReturn >= 0 || lineFeed >= 0) {
    if (carriageReturn >= 0 && (lineFeed < 0 || carriageReturn < lineFeed)) {
      if (carriageReturn + 1 !== lineFeed) starts.push(carriageReturn + 1);
      carriageReturn = text.indexOf('\r', carriageReturn + 1);
    } else {
      starts.push(lineFeed + 1);
      lineFeed = text.indexOf('\n', lineFeed + 1);
    }
  }
  return new Int32Array(starts);
}

/** Index of the line (from 0) that holds `offset`. */
export function lineIndex(lineStarts: Int32Array, offset: number): number {
  let low = 0;
  let high = lineStarts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (lineStarts[middle] <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * Line and column of an offset, both counted from 1; the column counts UTF-16 units.
 * Offsets outside the text are moved to its nearest end.
 */
export function lineAndColumn(file: SourceFile, offset: number): { line: number; column: number } {
  const inside = Math.min(Math.max(offset, 0), file.text.length);
  const line = lineIndex(file.lineStarts, inside);
  return { line: line + 1, column: inside - file.lineStarts[line] + 1 };
}

/** Offset of the line break that ends the line of `offset`, or the text's length. */
export function endOfLine(text: string, offset: number): number {
  for (let position = offset; position < text.length; position++) {
    const code = text.charCodeAt(position);
    if (code === LINE_FEED || code === CARRIAGE_RETURN) return position;
  }
  return text.length;
}
