/** `check` as SARIF 2.1.0, for code scanning: one run a capability. */
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { CheckReport, Finding, Range, Severity } from '../report/report';

const levels: Readonly<Record<Severity, string>> = {
  error: 'error',
  warning: 'warning',
  information: 'note',
  hint: 'note',
};

const region = ({ line, column, endLine, endColumn }: Range) => ({
  startLine: line,
  startColumn: column,
  endLine,
  endColumn,
});

/** Relative to the folder worked in where the file lies below it, as code scanning wants it. */
function artifact(file: string) {
  const relative = path.relative(process.cwd(), path.resolve(file));
  if (relative.startsWith('..') || path.isAbsolute(relative)) return { uri: pathToFileURL(file).href };
  return { uri: relative.split(path.sep).map(encodeURIComponent).join('/'), uriBaseId: '%SRCROOT%' };
}

const location = (range: Range & { readonly file: string }) => ({
  physicalLocation: { artifactLocation: artifact(range.file), region: region(range) },
});

function fixOf(fix: Finding['fixes'][number], finding: Finding) {
  const files = new Map<string, { deletedRegion: object; insertedContent: { text: string } }[]>();
  for (const edit of fix.edits) {
    const file = edit.file ?? finding.file;
    const list = files.get(file) ?? [];
    list.push({ deletedRegion: region(edit), insertedContent: { text: edit.newText } });
    files.set(file, list);
  }
  return {
    description: { text: fix.title },
    artifactChanges: [...files].map(([file, replacements]) => ({ artifactLocation: artifact(file), replacements })),
  };
}

function result(finding: Finding) {
  return {
    ruleId: finding.rule,
    level: levels[finding.severity],
    message: { text: finding.message },
    locations: [location(finding)],
    relatedLocations: finding.related.map((related, id) => ({
      id,
      ...location(related),
      message: { text: related.message },
    })),
    ...(finding.fixes.length > 0 ? { fixes: finding.fixes.map((fix) => fixOf(fix, finding)) } : {}),
    properties: { kernel: finding.kernel },
  };
}

function run({ tool, files, computeCapability }: CheckReport) {
  const findings = files.flatMap(({ diagnostics }) => diagnostics);
  return {
    tool: {
      driver: {
        name: tool.name,
        version: tool.version,
        rules: [...new Set(findings.map(({ rule }) => rule))].map((id) => ({ id })),
      },
    },
    columnKind: 'utf16CodeUnits',
    automationDetails: { id: `warplens/${computeCapability}` },
    results: findings.map(result),
  };
}

export function formatSarif(reports: readonly CheckReport[]): string {
  const log = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: reports.map(run),
  };
  return `${JSON.stringify(log, null, 2)}\n`;
}
