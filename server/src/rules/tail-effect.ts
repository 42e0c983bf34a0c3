/** tail-effect: the last wave of blocks takes as long as the others and is nearly empty. */

import type { Finding } from '../report/report';
import { launchWaves } from '../report/waves';
import { type Rule, shapeText } from './rule';

/** With more waves than that the last one is a small share of the time. */
const MOST_WAVES = 4;
/** Share of a wave up to which it counts as nearly empty. */
const NEARLY_EMPTY = 0.25;

export const tailEffect: Rule = {
  id: 'tail-effect',
  check(context) {
    return context.launches.flatMap(({ report, plan }): Finding[] => {
      const known = report.occupancy;
      if (!known || plan.grid === undefined || !report.location) return [];
      const blocks = plan.grid[0] * plan.grid[1] * plan.grid[2];
      const waves = launchWaves(context.capability.cc, context.request.options.device, blocks, known.blocksPerSm);
      if (!waves) return [];
      const isTail = (at: typeof waves | undefined) =>
        at !== undefined && at.waves > 1 && at.waves < MOST_WAVES && at.lastWave > 0 && at.lastWave <= NEARLY_EMPTY;
      // Estimated registers: it has to hold for every count in their range.
      const all = known.blocksRange ?? [known.blocksPerSm, known.blocksPerSm];
      if (all[0] !== all[1] || !isTail(waves)) return [];
      const { file, line, column, endLine, endColumn } = report.location;
      const whole = Math.floor(waves.waves);
      return [
        {
          file,
          line,
          column,
          endLine,
          endColumn,
          rule: 'tail-effect',
          severity: 'information',
          message: `${blocks} blocks are ${waves.waves.toFixed(2)} waves on a ${waves.device} (${waves.multiprocessors} multiprocessors × ${known.blocksPerSm} blocks): behind ${whole === 1 ? '1 full wave' : `${whole} full waves`} comes one that is ${Math.max(1, Math.round(100 * waves.lastWave))} % full. Make the grid ${whole * waves.blocksPerWave} blocks with a loop over the rest, or the blocks smaller.`,
          kernel: context.report.name,
          fixes: [],
          related: [
            { ...context.report.nameRange, message: `${context.report.name} is defined here (${shapeText(report)})` },
          ],
        },
      ];
    });
  },
};
