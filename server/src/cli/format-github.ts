/** `check` as workflow commands: GitHub shows them beside the lines of a pull request. */
import type { CheckReport, Severity } from '../report/report';

const levels: Readonly<Record<Severity, string>> = {
  error: 'error',
  warning: 'warning',
  information: 'notice',
  hint: 'notice',
};

const escapeText = (text: string): string => text.replace(/%/g, '%25').replace(/\r/g, '%0D').replace(/\n/g, '%0A');
const escapeProperty = (text: string): string => escapeText(text).replace(/:/g, '%3A').replace(/,/g, '%2C');

export function formatGithub(reports: readonly CheckReport[]): string {
  const lines = new Set<string>();
  for (const { files, computeCapability } of reports) {
    for (const finding of files.flatMap(({ diagnostics }) => diagnostics)) {
      const title = reports.length > 1 ? `${finding.rule} (${computeCapability})` : finding.rule;
      const where = `file=${escapeProperty(finding.file)},line=${finding.line},endLine=${finding.endLine}`;
      // columns make sense to GitHub only within one line
      const columns = finding.line === finding.endLine ? `,col=${finding.column},endColumn=${finding.endColumn}` : '';
      lines.add(
        `::${levels[finding.severity]} ${where}${columns},title=${escapeProperty(title)}::${escapeText(finding.message)}`,
      );
    }
  }
  return [...lines].map((line) => `${line}\n`).join('');
}
