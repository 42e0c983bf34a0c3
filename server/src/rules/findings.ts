/** All rules, in the order their findings are listed. */
import type { Finding } from '../report/report';
import { blockNotMultipleOfWarp } from './block-not-multiple-of-warp';
import { launchExceedsLimits } from './launch-exceeds-limits';
import { localArray } from './local-array';
import { lowOccupancy } from './low-occupancy';
import { misalignedGlobalAccess } from './misaligned-global-access';
import { registerSpill } from './register-spill';
import type { Rule, RuleContext } from './rule';
import { sharedBankConflict } from './shared-bank-conflict';
import { tailEffect } from './tail-effect';
import { uncoalescedGlobalAccess } from './uncoalesced-global-access';

export const rules: readonly Rule[] = [
  launchExceedsLimits,
  sharedBankConflict,
  uncoalescedGlobalAccess,
  misalignedGlobalAccess,
  blockNotMultipleOfWarp,
  localArray,
  lowOccupancy,
  tailEffect,
  registerSpill,
];

const severityOrder = { error: 0, warning: 1, information: 2, hint: 3 } as const;

export function findingsOf(context: RuleContext): Finding[] {
  return joined(rules.flatMap((rule) => rule.check(context))).sort(
    (a, b) => severityOrder[a.severity] - severityOrder[b.severity] || a.line - b.line || a.column - b.column,
  );
}

/** `a[i] += x` loads and stores at one place: one finding says both. */
function joined(findings: readonly Finding[]): Finding[] {
  const byPlace = new Map<string, Finding>();
  for (const finding of findings) {
    const key = `${finding.rule}:${finding.file}:${finding.line}:${finding.column}:${finding.endLine}:${finding.endColumn}`;
    const known = byPlace.get(key);
    if (!known) byPlace.set(key, finding);
    else if (severityOrder[finding.severity] < severityOrder[known.severity]) byPlace.set(key, finding);
    else
      byPlace.set(key, {
        ...known,
        message: known.message
          .replace(/\bglobal load:/, 'global load and store:')
          .replace(/ read /, ' read and write '),
      });
  }
  return [...byPlace.values()];
}
