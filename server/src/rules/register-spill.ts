/** register-spill: the compiler had too few registers and moves values to local memory and back. Only by its own word. */
import type { Finding, LaunchReport } from '../report/report';
import { launchedText, type Rule, type RuleContext } from './rule';

/** Bytes a thread from which it is worth a warning rather than a remark. */
const WARN_FROM = 64;

export const registerSpill: Rule = {
  id: 'register-spill',
  check(context) {
    const found = new Map<string, Finding>();
    for (const { report } of context.launches) {
      const compiled = report.occupancy?.compiled;
      if (!compiled || compiled.spillStoreBytes + compiled.spillLoadBytes === 0) continue;
      const key = `${compiled.spillStoreBytes}:${compiled.spillLoadBytes}`;
      if (!found.has(key)) found.set(key, findingFor(context, report, compiled));
    }
    return [...found.values()];
  },
};

function findingFor(
  context: RuleContext,
  launch: LaunchReport,
  { spillStoreBytes, spillLoadBytes, isStale }: NonNullable<NonNullable<LaunchReport['occupancy']>['compiled']>,
): Finding {
  const { nameRange, name } = context.report;
  const bound = launch.launchBounds
    ? ' Relax __launch_bounds__, or keep fewer values alive at once.'
    : ' Keep fewer values alive at once, or unroll less.';
  const registers = launch.occupancy?.registersPerThread;
  return {
    ...nameRange,
    rule: 'register-spill',
    severity: spillStoreBytes + spillLoadBytes >= WARN_FROM && !isStale ? 'warning' : 'information',
    message: `${name} spills with ${registers} registers: ${spillStoreBytes} bytes a thread are stored in local memory and ${spillLoadBytes} read back, by the compiler${isStale ? ' (as of last save)' : ''}.${bound}`,
    kernel: name,
    fixes: [],
    related: launch.location ? [{ ...launch.location, message: launchedText(launch) }] : [],
  };
}
