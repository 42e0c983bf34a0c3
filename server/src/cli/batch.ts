/** `--batch`: one answer a line, as the lines come. */
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/** Answers every line that is not blank; waits where the reader of the answers is slower. */
export async function answerLines(input: Readable, output: Writable, answer: (line: string) => string): Promise<void> {
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line.trim() === '') continue;
    if (!output.write(`${answer(line)}\n`)) await new Promise((resolve) => output.once('drain', resolve));
  }
}
