/** `check` as text for people: findings with source excerpts, mends, and a last line that sums up. */
import type { CheckReport, FileReport, Finding } from '../report/report';
import { fixEffect } from '../report/wording';
import { excerpt, type Painter } from './excerpt';

export interface TextOptions {
  readonly paint: Painter;
  /** Lines of a file of the report; empty when it cannot be read. */
  readonly linesOf: (file: string) => readonly string[];
}

function findingLines(finding: Finding, report: FileReport, { paint, linesOf }: TextOptions): string[] {
  const place = paint.strong(`${finding.file}:${finding.line}:${finding.column}:`);
  const label = paint.severity(finding.severity, `${finding.severity}:`);
  const lines = [`${place} ${label} ${finding.message} ${paint.dim(`[${finding.rule}]`)}`];
  lines.push(...excerpt(linesOf(finding.file), finding, (text) => paint.severity(finding.severity, text)));
  for (const related of finding.related) {
    lines.push(`      ${paint.dim(`${related.file}:${related.line}:${related.column}:`)} ${related.message}`);
  }
  for (const fix of finding.fixes) {
    const effect = fixEffect(fix, finding, report);
    lines.push(`      ${paint.strong('fix:')} ${fix.title}${effect === undefined ? '' : ` (${effect})`}`);
  }
  return lines;
}

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** `2 warnings, 1 information in 3 files, 7 kernels, 31 accesses (2 unknown), compute capability 9.0` */
export function summaryLine({ files, computeCapability }: CheckReport): string {
  const findings = files.flatMap(({ diagnostics }) => diagnostics);
  const parts: string[] = [];
  for (const severity of ['error', 'warning', 'information', 'hint'] as const) {
    const count = findings.filter((finding) => finding.severity === severity).length;
    if (count > 0) parts.push(severity === 'information' ? `${count} information` : plural(count, severity));
  }
  const kernels = files.flatMap((file) => file.kernels);
  const accesses = kernels.flatMap(({ launches }) => launches.flatMap((launch) => launch.accesses));
  const unknown = accesses.filter(({ certainty }) => certainty === 'unknown').length;
  const found = parts.length > 0 ? parts.join(', ') : 'nothing found';
  const analysed = `${plural(accesses.length, 'access').replace('accesss', 'accesses')}${unknown > 0 ? ` (${unknown} unknown)` : ''}`;
  return `${found} in ${plural(files.length, 'file')}, ${plural(kernels.length, 'kernel')}, ${analysed}, compute capability ${computeCapability}`;
}

/** The whole output, with its last newline. */
export function formatText(reports: readonly CheckReport[], options: TextOptions): string {
  const lines: string[] = [];
  for (const report of reports) {
    if (reports.length > 1) lines.push(options.paint.strong(`compute capability ${report.computeCapability}`), '');
    for (const file of report.files) {
      for (const finding of file.diagnostics) lines.push(...findingLines(finding, file, options), '');
      for (const note of file.notes) lines.push(`${note.file}:${note.line}:${note.column}: note: ${note.message}`);
      for (const { name, problem, nameRange } of file.kernels) {
        if (problem !== undefined)
          lines.push(`${nameRange.file}:${nameRange.line}:${nameRange.column}: note: ${name}: ${problem}`);
      }
    }
    lines.push(summaryLine(report));
    if (reports.length > 1) lines.push('');
  }
  return `${lines.join('\n')}\n`;
}
