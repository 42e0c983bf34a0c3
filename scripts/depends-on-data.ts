/** Which line groups of the recorded programs depend on loaded data: judged once and kept, since judging takes a second analysis. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { hardwareFolder } from './recorded-counters';

/** The number of the recorded launch, the line, the space and the operation: `3:120 global load`, of a program that is a folder `3:kernels.cu:120 global load`. */
export type GroupKey = `${number}:${string} ${string}`;

const file = path.join(hardwareFolder, 'depends-on-data.json');

type Judged = Record<string, readonly GroupKey[]>;

let kept: Judged | undefined;

const read = (): Judged => (fs.existsSync(file) ? (JSON.parse(fs.readFileSync(file, 'utf8')) as Judged) : {});

/** What was judged of a program; undefined if it was not judged yet. */
export function dependsOnData(program: string): readonly GroupKey[] | undefined {
  kept ??= read();
  return Object.hasOwn(kept, program) ? kept[program] : undefined;
}

/** Writes what was judged of these programs; the others keep what they have. */
export function keepJudged(judged: ReadonlyMap<string, readonly GroupKey[]>): void {
  const all = Object.entries({ ...read(), ...Object.fromEntries(judged) }).sort(([a], [b]) => (a < b ? -1 : 1));
  const lines = all.map(([program, keys]) => `  ${JSON.stringify(program)}: ${JSON.stringify(keys)}`);
  fs.writeFileSync(file, `{\n${lines.join(',\n')}\n}\n`);
}
