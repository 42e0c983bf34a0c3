/** Quick fixes: the findings' own, each of which was simulated again before it was offered. */
import { type CodeAction, CodeActionKind, type Range as ProtocolRange, type TextEdit } from 'vscode-languageserver';
import type { FileReport, Finding, Fix } from '../report/report';
import { fixEffect } from '../report/wording';
import { diagnosticOf } from './diagnostics';
import { overlaps, toProtocolRange } from './positions';

/**
 * Quick fixes for the findings at a range of a file.
 * @param uriOf the URI of a path
 */
export function codeActions(
  report: FileReport,
  file: string,
  range: ProtocolRange,
  uriOf: (file: string) => string,
): CodeAction[] {
  const actions: CodeAction[] = [];
  for (const finding of report.diagnostics) {
    if (finding.file !== file || !overlaps(finding, range)) continue;
    for (const [index, fix] of finding.fixes.entries()) {
      actions.push({
        title: fixTitle(fix, finding, report),
        kind: CodeActionKind.QuickFix,
        diagnostics: [diagnosticOf(finding, uriOf)],
        isPreferred: index === 0,
        edit: { changes: editsByUri(fix, finding, uriOf) },
      });
    }
  }
  return unique(actions);
}

/** The title with the figure before and after. */
function fixTitle(fix: Fix, finding: Finding, report: FileReport): string {
  const change = fixEffect(fix, finding, report);
  return change === undefined ? fix.title : `${fix.title} (${change})`;
}

function editsByUri(fix: Fix, finding: Finding, uriOf: (file: string) => string): Record<string, TextEdit[]> {
  const changes: Record<string, TextEdit[]> = {};
  for (const edit of fix.edits) {
    const uri = uriOf(edit.file ?? finding.file);
    changes[uri] ??= [];
    changes[uri].push({ range: toProtocolRange(edit), newText: edit.newText });
  }
  return changes;
}

/** Several findings may have the same mend: the pad of one array. */
function unique(actions: readonly CodeAction[]): CodeAction[] {
  const byEdit = new Map<string, CodeAction>();
  for (const action of actions) {
    const key = JSON.stringify(action.edit);
    const known = byEdit.get(key);
    if (known === undefined) byEdit.set(key, action);
    else known.diagnostics?.push(...(action.diagnostics ?? []));
  }
  return [...byEdit.values()];
}
