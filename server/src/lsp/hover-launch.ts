/** The text of a hover on a kernel's name or on a launch. */
import type { Capability } from '../hardware/capabilities';
import { describeStep, occupancySteps } from '../hardware/occupancy-steps';
import { dimensions, grouped, percent } from '../report/figures';
import type { KernelReport, LaunchReport, OccupancyReport } from '../report/report';
import { assumptionsText, launchSummary, originText } from '../report/wording';

const registerOrigins: Readonly<Record<OccupancyReport['registersOrigin'], string>> = {
  compiler: 'by the compiler',
  option: 'from the settings',
  'launch-bounds': 'bound by __launch_bounds__',
  estimate: 'estimated',
};

function registersText({ registersPerThread, registersOrigin, registersRange }: OccupancyReport): string {
  const range = registersRange === undefined ? '' : `, ${registersRange[0]} to ${registersRange[1]}`;
  return `${registersPerThread} registers a thread (${registerOrigins[registersOrigin]}${range})`;
}

function occupancyLines(occupancy: OccupancyReport, launch: LaunchReport, capability: Capability): string[] {
  const lines: string[] = [];
  for (const { resource, wanted, allowed } of occupancy.launchFailures) {
    lines.push(`**The launch fails**: ${wanted} ${resource.replaceAll('-', ' ')}, at most ${allowed} are allowed.`);
  }
  const blocks = occupancy.blocksPerSm === 1 ? '1 block' : `${occupancy.blocksPerSm} blocks`;
  const limits = occupancy.limitedBy.length > 0 ? `, limited by ${occupancy.limitedBy.join(' and ')}` : '';
  lines.push(
    `**${percent(occupancy.theoretical)} occupancy**: ${blocks}, ${occupancy.warpsPerSm} of ${capability.limits.warpsPerSm} warps a multiprocessor${limits}.`,
  );
  const sharedBytes = occupancy.staticSharedBytes + launch.dynamicSharedBytes;
  lines.push(`${registersText(occupancy)}, ${grouped(sharedBytes)} bytes of shared memory a block.`);
  const [x, y, z] = launch.block;
  const steps = occupancySteps(capability, {
    threadsPerBlock: x * y * z,
    registersPerThread: occupancy.registersPerThread,
    sharedBytesPerBlock: sharedBytes,
  });
  const gain = steps.find(({ effect }) => effect === 'gain');
  const loss = steps.find(({ effect }) => effect === 'loss');
  if (gain !== undefined) lines.push(`Next step: ${describeStep(gain)}.`);
  else if (loss !== undefined) lines.push(`Next loss: ${describeStep(loss)}.`);
  return lines;
}

/** One launch of a kernel, as Markdown. */
export function launchText(kernel: KernelReport, launch: LaunchReport, capability: Capability): string {
  const [x, y, z] = launch.block;
  const threads = x * y * z;
  const warps = Math.ceil(threads / capability.warpSize);
  const parts = [
    `**${kernel.name}** — grid ${dimensions(launch.grid)}, block ${dimensions(launch.block)} (${threads} threads, ${warps} ${warps === 1 ? 'warp' : 'warps'}), ${originText(launch)}; capability ${capability.cc}`,
  ];
  if (launch.occupancy !== null) parts.push(...occupancyLines(launch.occupancy, launch, capability));
  // the summary's first figure is the occupancy, which stands above already
  const memory = launchSummary({ ...launch, occupancy: null });
  if (memory.length > 0) parts.push(`Memory: ${memory.join(', ')}.`);
  const assumed = assumptionsText(launch);
  if (assumed !== '') parts.push(`With ${assumed}.`);
  if (launch.estimate !== null) {
    const { microseconds, boundBy, device } = launch.estimate;
    parts.push(`About ${microseconds} µs on ${device}, bound by ${boundBy}.`);
  }
  if (launch.incomplete !== undefined) parts.push(`Incomplete: ${launch.incomplete}.`);
  return parts.join('\n\n');
}
