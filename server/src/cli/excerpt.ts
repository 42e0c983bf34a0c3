/** Source lines with carets under what is meant, as compilers print them. */
import type { Range } from '../report/report';

export interface Painter {
  readonly strong: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly severity: (severity: string, text: string) => string;
}

const colour = (code: string) => (text: string) => `\u001b[${code}m${text}\u001b[0m`;
const severityColours: Readonly<Record<string, string>> = {
  error: '31;1',
  warning: '33;1',
  information: '36;1',
  hint: '36',
};

/** Colours for a terminal, or none. */
export function painter(hasColour: boolean): Painter {
  const plain = (text: string) => text;
  if (!hasColour) return { strong: plain, dim: plain, severity: (_, text) => text };
  return {
    strong: colour('1'),
    dim: colour('2'),
    severity: (severity, text) => colour(severityColours[severity] ?? '0')(text),
  };
}

/** Columns a line may have in an excerpt; longer ones are cut around the range. */
const widest = 160;

/**
 * The line a range begins in, and a line of carets under it; nothing where the text has no such line.
 * @param lines the file's lines
 */
export function excerpt(lines: readonly string[], range: Range, paint: (text: string) => string): string[] {
  const source = lines[range.line - 1]?.replace(/\r$/, '');
  if (source === undefined) return [];
  const from = Math.min(range.column - 1, source.length);
  const to =
    range.endLine === range.line ? Math.max(from + 1, Math.min(range.endColumn - 1, source.length)) : source.length;
  const cut = source.length > widest ? Math.max(0, from - 20) : 0;
  const shown = source.slice(cut, cut + widest);
  const number = `${range.line}`.padStart(5);
  const margin = ' '.repeat(5);
  // tabs stay tabs under the line, so that the carets stand where the terminal puts the text
  const indent = source.slice(cut, from).replace(/[^\t]/g, ' ');
  const marks = '~'.repeat(Math.max(0, Math.min(to, cut + widest) - from - 1));
  return [`${number} | ${shown}`, `${margin} | ${indent}${paint(`^${marks}`)}`];
}
