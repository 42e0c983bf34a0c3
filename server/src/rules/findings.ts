/** All rules, in the order their findings are listed. */
import type { Finding } from '../report/report';
import { misalignedGlobalAccess } from './misaligned-global-access';
import type { Rule, RuleContext } from './rule';
import { sharedBankConflict } from './shared-bank-conflict';
import { uncoalescedGlobalAccess } from './uncoalesced-global-access';

export const rules: readonly Rule[] = [sharedBankConflict, uncoalescedGlobalAccess, misalignedGlobalAccess];

const severityOrder = { error: 0, warning: 1, information: 2, hint: 3 } as const;

export function findingsOf(context: RuleContext): Finding[] {
  return rules
    .flatMap((rule) => rule.check(context))
    .sort((a, b) => severityOrder[a.severity] - severityOrder[b.severity] || a.line - b.line || a.column - b.column);
}
