/**
 * npm run survey -- <folder> --latency: how long an edit keeps its answer waiting. In front of each kernel's first statement a declaration is
 * typed, four times another one; counted is the time from the text to the whole report, the second shortest of the four. One analyser does all, as in the editor.
 */
import * as path from 'node:path';
import { createAnalyzer } from '../server/src/analysis/analyze';
import { optimiseLate } from '../server/src/late-optimisation';
import type { FileReport } from '../server/src/report/report';
import { readSource } from '../server/src/workspace/text-files';
import { UnitReader } from '../server/src/workspace/units';

const TRIES = 4;
const COUNTED = 1;

interface Edited {
  readonly kernel: string;
  readonly milliseconds: number;
}

/** Edits every kernel of the files in turn and prints the median, the 95th percentile, and the slowest. */
export function latencyStudy(folder: string, files: readonly string[], top: number): void {
  optimiseLate();
  const units = new UnitReader(new Map(), () => {});
  const analyzer = createAnalyzer();
  const options = { computeCapability: '9.0', defines: new Map(), assume: new Map() };
  const workspace = { folders: [folder], includePaths: [] };
  const analyse = (file: string, text: string): FileReport =>
    analyzer.analyze(units.request(path.join(folder, file), text, options, workspace));
  const found: Edited[] = [];
  for (const file of files) {
    const source = readSource(path.join(folder, file));
    if (!('text' in source)) continue;
    for (const [name, place] of bodiesOf(analyse(file, source.text), source.text)) {
      const times = Array.from({ length: TRIES }, (_, k) => {
        const text = `${source.text.slice(0, place)} int typed${k} = ${k};${source.text.slice(place)}`;
        const start = performance.now();
        analyse(file, text);
        return performance.now() - start;
      }).sort((a, b) => a - b);
      found.push({ kernel: `${file}: ${name}`, milliseconds: times[COUNTED] });
    }
  }
  print(found, top);
}

/** The kernels of a file, and where in its text their bodies begin. */
function bodiesOf(report: FileReport, text: string): readonly (readonly [string, number])[] {
  const lines = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines.push(at + 1);
  const places = new Map<string, number>();
  for (const { name, nameRange } of report.kernels) {
    if (path.resolve(nameRange.file) !== path.resolve(report.path)) continue;
    const brace = text.indexOf('{', lines[nameRange.line - 1] + nameRange.column - 1);
    if (brace >= 0) places.set(`${name}:${nameRange.line}`, brace + 1);
  }
  return [...places];
}

function print(found: readonly Edited[], top: number): void {
  const slowest = [...found].sort((a, b) => b.milliseconds - a.milliseconds);
  const at = (part: number) => slowest.at(Math.floor(slowest.length * part))?.milliseconds.toFixed(0) ?? '-';
  process.stdout.write(
    `${found.length} kernels edited: median ${at(0.5)} ms, p95 ${at(0.05)} ms, longest ${at(0)} ms\n`,
  );
  for (const { kernel, milliseconds } of slowest.slice(0, top))
    process.stdout.write(`${milliseconds.toFixed(0).padStart(6)} ms  ${kernel}\n`);
}
