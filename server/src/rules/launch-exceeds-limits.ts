/** launch-exceeds-limits: the launch asks for more than the hardware of the chosen capability has, and fails. */
import type { LaunchFailure } from '../hardware/occupancy';
import type { Finding, LaunchReport } from '../report/report';
import { type Rule, type RuleContext, shapeText } from './rule';

/** Blocks of a grid along y and z, on every capability. */
const GRID_YZ = 65535;

const reasons: Partial<Record<LaunchFailure['resource'], (f: LaunchFailure) => string>> = {
  'threads-per-block': (f) => `a block of ${f.wanted} threads, ${f.allowed} are allowed`,
  'shared-per-block': (f) => `${f.wanted} bytes of shared memory a block, ${f.allowed} are allowed`,
};

export const launchExceedsLimits: Rule = {
  id: 'launch-exceeds-limits',
  check(context) {
    return context.launches.flatMap(({ report }) => {
      const failures = [
        ...hardware(report),
        ...staticShared(context, report),
        ...bounds(report),
        ...gridSize(context, report),
      ];
      return failures.map((text): Finding => findingFor(context, report, text));
    });
  },
};

/** Registers are left out: they are an estimate without a compiler. */
function hardware(launch: LaunchReport): string[] {
  return (launch.occupancy?.launchFailures ?? []).flatMap((f) => reasons[f.resource]?.(f) ?? []);
}

/** The opt-in attribute is for dynamic memory: static arrays stay within the plain limit. */
function staticShared(context: RuleContext, launch: LaunchReport): string[] {
  const bytes = launch.occupancy?.staticSharedBytes ?? 0;
  const { sharedPerBlock } = context.capability.limits;
  const known = launch.occupancy?.launchFailures.some((f) => f.resource === 'shared-per-block');
  if (bytes <= sharedPerBlock || known) return [];
  return [`${bytes} bytes of static shared memory, ${sharedPerBlock} are allowed; more has to be dynamic`];
}

function bounds(launch: LaunchReport): string[] {
  const most = launch.launchBounds?.maxThreads;
  const threads = launch.block[0] * launch.block[1] * launch.block[2];
  if (most === undefined || threads <= most || launch.origin !== 'launch-site') return [];
  return [`a block of ${threads} threads, __launch_bounds__ says ${most} at most`];
}

function gridSize(context: RuleContext, launch: LaunchReport): string[] {
  const most = [context.capability.limits.gridX, GRID_YZ, GRID_YZ];
  return (['x', 'y', 'z'] as const).flatMap((axis, i) =>
    launch.grid[i] > most[i] ? [`a grid of ${launch.grid[i]} blocks in ${axis}, ${most[i]} are allowed`] : [],
  );
}

function findingFor(context: RuleContext, launch: LaunchReport, text: string): Finding {
  const at = launch.location ?? context.report.nameRange;
  return {
    file: at.file,
    line: at.line,
    column: at.column,
    endLine: at.endLine,
    endColumn: at.endColumn,
    rule: 'launch-exceeds-limits',
    severity: launch.origin === 'launch-site' ? 'error' : 'information',
    message: `This launch of ${context.report.name} (${shapeText(launch)}) fails on capability ${context.capability.cc}: ${text}.`,
    kernel: context.report.name,
    fixes: [],
    related: [{ ...context.report.nameRange, message: `${context.report.name} is defined here` }],
  };
}
