/** block-not-multiple-of-warp: the last warp of every block has lanes without a thread. */
import type { Finding, LaunchReport } from '../report/report';
import { blockSizeFix } from './block-size-fix';
import { percent, type Rule, type RuleContext } from './rule';

/** Share of idle lanes from which it is worth a warning rather than a remark. */
const WARN_FROM = 0.25;

export const blockNotMultipleOfWarp: Rule = {
  id: 'block-not-multiple-of-warp',
  check(context) {
    return context.launches.flatMap(({ plan, report }, index) => {
      const o = report.occupancy;
      const blocks = report.grid[0] * report.grid[1] * report.grid[2];
      // nobody is known to take the instance for few threads (`case 16: k<16><<<…>>>`)
      if (plan.launch?.isSupposed) return [];
      // one small block is no question of throughput
      if (!o || o.idleLanesOfLastWarp === 0 || report.origin === 'assumed' || blocks <= 1) return [];
      return [findingFor(context, report, index, o.warpsPerBlock, o.idleLanesOfLastWarp)];
    });
  },
};

function findingFor(context: RuleContext, launch: LaunchReport, index: number, warps: number, idle: number): Finding {
  const fix = blockSizeFix(context, index, warps * 32);
  const at = launch.location ?? context.report.nameRange;
  const threads = warps * 32 - idle;
  const share = idle / (warps * 32);
  return {
    file: at.file,
    line: at.line,
    column: at.column,
    endLine: at.endLine,
    endColumn: at.endColumn,
    rule: 'block-not-multiple-of-warp',
    severity: share >= WARN_FROM ? 'warning' : 'information',
    message: `A block of ${threads === 1 ? '1 thread' : `${threads} threads`} takes ${warps} ${warps === 1 ? 'warp' : 'warps'}; ${idle} lanes of the last one stay idle (${percent(share * 100)} % of all). Use a multiple of 32, ${warps * 32} here.`,
    kernel: context.report.name,
    fixes: fix ? [fix] : [],
    related: [{ ...context.report.nameRange, message: `${context.report.name} is defined here` }],
  };
}
