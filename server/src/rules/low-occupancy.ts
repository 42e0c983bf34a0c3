/** low-occupancy: block size or shared memory alone keep most warps of a multiprocessor out, whatever the registers. */
import type { Capability } from '../hardware/capabilities';
import { type Limiter, occupancy } from '../hardware/occupancy';
import { describeStep, occupancySteps } from '../hardware/occupancy-steps';
import type { Finding, LaunchReport } from '../report/report';
import { failuresOf } from './launch-exceeds-limits';
import { type Rule, type RuleContext, shapeText } from './rule';

const BELOW = 1 / 3;
/** Times the warps that a step has to bring to be worth a word. */
const WORTH = 1.25;

const causes: Partial<Record<Limiter, (launch: LaunchReport, bytes: number) => string>> = {
  shared: (_, bytes) => `${bytes} bytes of shared memory a block`,
  blocks: (launch) => `blocks of only ${threadsOf(launch)} threads`,
  warps: (launch) => `blocks of ${threadsOf(launch)} threads`,
  registers: (launch) => `${launch.occupancy?.registersPerThread} registers a thread`,
};

const threadsOf = ({ block: [x, y, z] }: LaunchReport) => x * y * z;

export const lowOccupancy: Rule = {
  id: 'low-occupancy',
  check(context) {
    return context.launches.flatMap(({ report, program, plan }) => {
      const blocks = report.grid[0] * report.grid[1] * report.grid[2];
      // A launch that fails has no occupancy.
      if (failuresOf(context, report).length > 0) return [];
      if (report.origin === 'assumed' || report.assumptions.some(({ name }) => name.startsWith('blockDim'))) return [];
      // One block has no use for more room.
      if (plan.grid !== undefined && blocks <= 1) return [];
      // Copies in the background and matrix products hide latency by other means than many warps.
      const hides = program.blocks.some(({ instructions }) =>
        instructions.some((i) => i.op === 'asyncCopy' || i.op === 'matrix' || (i.op === 'work' && i.unit === 'tensor')),
      );
      return hides ? [] : findingFor(context, report);
    });
  },
};

function findingFor(context: RuleContext, launch: LaunchReport): Finding[] {
  const known = launch.occupancy;
  if (!known) return [];
  const sharedBytes = known.staticSharedBytes + launch.dynamicSharedBytes;
  const isCertain = known.registersOrigin === 'compiler' || known.registersOrigin === 'option';
  const request = {
    threadsPerBlock: threadsOf(launch),
    registersPerThread: isCertain ? known.registersPerThread : 0,
    sharedBytesPerBlock: sharedBytes,
  };
  const held = occupancy(context.capability, request);
  if (held.launchFailures.length > 0 || held.blocksPerSm === 0 || held.theoretical >= BELOW) return [];
  const cause = held.limitedBy.flatMap((limiter) => causes[limiter]?.(launch, sharedBytes) ?? []).join(' and ');
  if (cause === '') return [];
  const at = launch.location ?? context.report.nameRange;
  const step = nearestStep(context.capability, request, held.limitedBy);
  const blocks = held.blocksPerSm === 1 ? '1 block' : `${held.blocksPerSm} blocks`;
  return [
    {
      file: at.file,
      line: at.line,
      column: at.column,
      endLine: at.endLine,
      endColumn: at.endColumn,
      rule: 'low-occupancy',
      severity: 'information',
      message: `${Math.round(held.theoretical * 100)} % occupancy at most: ${cause} let a multiprocessor of ${context.capability.cc} hold ${blocks}, ${held.warpsPerSm} of ${context.capability.limits.warpsPerSm} warps.${step} Fewer warps are enough where each has much independent work.`,
      kernel: context.report.name,
      fixes: [],
      related: [
        { ...context.report.nameRange, message: `${context.report.name} is defined here (${shapeText(launch)})` },
      ],
    },
  ];
}

function nearestStep(
  capability: Capability,
  request: Parameters<typeof occupancySteps>[1],
  limitedBy: readonly Limiter[],
): string {
  const wanted = limitedBy.includes('shared') ? 'shared' : limitedBy.includes('registers') ? 'registers' : 'threads';
  const gains = occupancySteps(capability, request, WORTH).filter(({ effect }) => effect === 'gain');
  const step = gains.find(({ resource }) => resource === wanted) ?? gains[0];
  return step ? ` With ${describeStep(step)}.` : '';
}
