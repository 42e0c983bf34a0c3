/**
 * npm run survey -- <folder> --unread: what the parser could not read. A kernel whose body does not parse shows neither a skipped construct nor
 * an access, so that only this count finds it. A file is read by itself, with what it includes from the folder.
 */
import * as path from 'node:path';
import { parseUnit } from '../server/src/analysis/parsed-unit';
import { LexCache } from '../server/src/preprocess/lex-cache';
import { readSource } from '../server/src/workspace/text-files';
import { UnitReader } from '../server/src/workspace/units';

/** Prints each place with its reason, then how many files have one. */
export function unreadStudy(folder: string, files: readonly string[]): void {
  const units = new UnitReader(new Map(), () => {});
  const lexCache = new LexCache();
  const options = { computeCapability: '9.0', defines: new Map<string, string>(), assume: new Map<string, number>() };
  const told = new Set<string>();
  let read = 0;
  let damaged = 0;
  for (const file of files) {
    const full = path.join(folder, file);
    const content = readSource(full);
    if (!('text' in content)) continue;
    read++;
    const request = units.request(full, content.text, options, { folders: [folder], includePaths: [] });
    const {
      source: { tokens },
      tree: { notes },
    } = parseUnit(request, lexCache);
    if (notes.length > 0) damaged++;
    for (const { first, message } of notes) {
      const at = tokens.files[tokens.file[first]];
      const line = at.text.slice(0, tokens.start[first]).split('\n').length;
      const place = `${path.relative(folder, at.path)}:${line}`;
      if (told.has(place)) continue;
      told.add(place);
      const text = at.text.split('\n')[line - 1].trim();
      process.stdout.write(`${place}\t${message}\t${text}\n`);
    }
  }
  process.stdout.write(`${damaged} of ${read} files have a place that was not read; ${told.size} places\n`);
}
