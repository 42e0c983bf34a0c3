/** The line of a compiler's messages that says what is wrong. */

const errorLine = /\b(fatal\s+)?(catastrophic\s+)?error\b/i;
const MOST_CHARACTERS = 300;

/** The first error, else the first line that says something; shortened. Undefined when nothing was said. */
export function firstError(messages: string): string | undefined {
  const lines = messages.split('\n').map((line) => line.trim());
  const found = lines.find((line) => errorLine.test(line)) ?? lines.find((line) => line !== '');
  if (found === undefined) return undefined;
  return found.length > MOST_CHARACTERS ? `${found.slice(0, MOST_CHARACTERS)} …` : found;
}
