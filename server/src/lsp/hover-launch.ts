/** The text of a hover on a kernel's name or on a launch. */
import * as path from 'node:path';
import type { Capability } from '../hardware/capabilities';
import { warpsToHide } from '../hardware/latency-hiding';
import { dimensions, grouped, percent } from '../report/figures';
import type { KernelReport, LaunchReport, OccupancyReport } from '../report/report';
import { assumptionsText, estimateText, launchSummary, originText, registersText, tierText } from '../report/wording';
import { boundsName } from './hover-bounds';

function occupancyLines(occupancy: OccupancyReport, launch: LaunchReport, capability: Capability): string[] {
  const lines: string[] = [];
  for (const { resource, wanted, allowed } of occupancy.launchFailures) {
    const isEstimate = occupancy.registersRange !== undefined && resource.startsWith('registers');
    const fails = isEstimate ? '**The launch may fail** (registers are estimated)' : '**The launch fails**';
    lines.push(
      `${fails}: ${grouped(wanted)} ${resource.replaceAll('-', ' ')}, at most ${grouped(allowed)} are allowed.`,
    );
  }
  const blocks = occupancy.blocksPerSm === 1 ? '1 block' : `${occupancy.blocksPerSm} blocks`;
  const limits = occupancy.limitedBy.length > 0 ? `, limited by ${occupancy.limitedBy.join(' and ')}` : '';
  lines.push(
    `**${percent(occupancy.theoretical)} occupancy**: ${blocks}, ${occupancy.warpsPerSm} of ${capability.limits.warpsPerSm} warps a multiprocessor${limits}.`,
  );
  const sharedBytes = occupancy.staticSharedBytes + launch.dynamicSharedBytes;
  lines.push(`${registersText(occupancy)}, ${grouped(sharedBytes)} bytes of shared memory a block.`);
  lines.push(...latencyLines(occupancy, capability));
  lines.push(...boundsLines(occupancy, launch), ...stepLines(occupancy), ...waveLines(occupancy));
  return lines;
}

/** Where too few warps are resident for one to issue while the others wait for plain arithmetic. */
function latencyLines({ warpsPerSm, blocksPerSm }: OccupancyReport, capability: Capability): string[] {
  const needed = warpsToHide(capability);
  if (blocksPerSm === 0 || warpsPerSm >= needed) return [];
  return [
    `${needed} warps hide the latency of arithmetic when each has one instruction ready, ${warpsToHide(capability, 2)} with two; ${warpsPerSm} are resident.`,
  ];
}

/** What `__launch_bounds__` or a flag allow. */
function boundsLines({ registersBound }: OccupancyReport, { launchBounds }: LaunchReport): string[] {
  if (registersBound === undefined) return [];
  const { by, registers } = registersBound;
  const name = by === '__launch_bounds__' && launchBounds ? boundsName(launchBounds) : by;
  return [`\`${name}\` allows at most ${registers} registers a thread.`];
}

/** The nearest step of each kind: what would gain warps, and what would lose some. */
function stepLines({ steps }: OccupancyReport): string[] {
  const first = (effect: 'gain' | 'loss') =>
    (['registers', 'shared', 'threads'] as const).flatMap(
      (resource) => steps.find((step) => step.effect === effect && step.resource === resource)?.text ?? [],
    );
  const [gains, losses] = [first('gain'), first('loss')];
  return [
    ...(gains.length > 0 ? [`More warps with ${gains.join('; or ')}.`] : []),
    ...(losses.length > 0 ? [`Fewer with ${losses.join('; or ')}.`] : []),
  ];
}

function waveLines({ waves }: OccupancyReport): string[] {
  if (waves === undefined) return [];
  const { device, multiprocessors, blocksPerWave, lastWave } = waves;
  if (waves.waves < 1)
    return [
      `The grid fills ${percent(waves.waves)} of one wave on a ${device} (${multiprocessors} multiprocessors, ${blocksPerWave} blocks a wave).`,
    ];
  return [
    `${waves.waves.toFixed(1)} waves on a ${device} (${blocksPerWave} blocks each), the last ${percent(lastWave)} full.`,
  ];
}

/** Longer command lines are cut. */
const MOST_LETTERS = 60;

function startText({ arguments: given, file }: NonNullable<KernelReport['startedWith']>): string {
  const text = given.map((each) => (/\s/.test(each) ? `"${each}"` : each)).join(' ');
  const shown = text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS)}…` : text;
  return `Started with \`${shown}\`, as ${file === undefined ? 'set' : `${path.basename(file)} has it`}.`;
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
  if (kernel.startedWith) parts.push(startText(kernel.startedWith));
  if (launch.estimate !== null) parts.push(`${estimateText(launch.estimate).replace('about', 'About')}.`);
  if (launch.incomplete !== undefined) parts.push(`Incomplete: ${launch.incomplete}.`);
  parts.push(tierText(kernel));
  return parts.join('\n\n');
}
