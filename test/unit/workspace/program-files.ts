/** Files of a folder, one of which is analysed. */
import assert from 'node:assert/strict';
import * as path from 'node:path';
import { createAnalyzer } from '../../../server/src/analysis/analyze';
import { UnitReader } from '../../../server/src/workspace/units';
import { temporaryFolder } from '../../host/bundle';

const options = { computeCapability: '9.0', defines: new Map(), assume: new Map() };

/**
 * Analyses one file of a folder and compares the accesses of its launches with `kernel:line operation sectors/ideal lanes` (`kernel:file:line` in
 * other files), `?` for those that are not known. `edits`: texts of the file that are analysed one after the other by the same analyzer; the last counts.
 */
export function check(
  files: Readonly<Record<string, string>>,
  file: string,
  expected: readonly string[],
  edits: readonly string[] = [],
): void {
  const { folder, remove } = temporaryFolder(files);
  try {
    const units = new UnitReader(new Map(), assert.fail);
    const analyzer = createAnalyzer();
    const report = [files[file], ...edits]
      .map((text) =>
        analyzer.analyze(
          units.request(path.join(folder, file), text, options, { folders: [folder], includePaths: [] }),
        ),
      )
      .at(-1);
    const told = report?.kernels.flatMap(({ name, launches }) =>
      launches.flatMap(({ accesses }) =>
        accesses.map((a) => {
          const figure = a.certainty === 'unknown' ? '?' : `${a.sectors}/${a.idealSectors} ${a.activeLanes} lanes`;
          const place = path.basename(a.file) === path.basename(file) ? a.line : `${path.basename(a.file)}:${a.line}`;
          return `${name}:${place} ${a.operation} ${figure}`;
        }),
      ),
    );
    assert.deepEqual(told, expected);
  } finally {
    remove();
  }
}
