/** What a little more or a little less of a resource would do to the occupancy, in both directions. */

import type { Capability } from './capabilities';
import { grouped } from './grouped';
import { type Occupancy, type OccupancyRequest, occupancy } from './occupancy';

export interface OccupancyStep {
  readonly resource: 'registers' | 'shared' | 'threads';
  /**
   * 'gain': the nearest change that lets more warps in. 'free': how far the resource may grow without losing any.
   * 'loss': the first amount beyond that.
   */
  readonly effect: 'gain' | 'free' | 'loss';
  /** The amount now and after the step: registers a thread, bytes a block, or threads a block. */
  readonly from: number;
  readonly to: number;
  readonly before: Occupancy;
  readonly after: Occupancy;
}

type Amount = 'registersPerThread' | 'sharedBytesPerBlock' | 'threadsPerBlock';
const amounts = {
  registers: 'registersPerThread',
  shared: 'sharedBytesPerBlock',
  threads: 'threadsPerBlock',
} as const satisfies Record<OccupancyStep['resource'], Amount>;

/** Amounts of registers or shared memory worth trying, ascending: each is the last of one allocation step. */
function allocationSteps(capability: Capability, resource: 'registers' | 'shared'): number[] {
  const { limits } = capability;
  if (resource === 'registers') return Array.from({ length: limits.registersPerThread }, (_, index) => index + 1);
  const count = Math.floor(limits.sharedPerBlockOptIn / limits.sharedGranularity);
  return Array.from({ length: count + 1 }, (_, index) => index * limits.sharedGranularity);
}

function stepsOf(
  capability: Capability,
  request: OccupancyRequest,
  resource: 'registers' | 'shared',
  worth: number,
): OccupancyStep[] {
  const key = amounts[resource];
  const before = occupancy(capability, request);
  const from = request[key];
  const at = (to: number) => occupancy(capability, { ...request, [key]: to });
  const steps: OccupancyStep[] = [];
  const add = (effect: OccupancyStep['effect'], to: number, after: Occupancy) =>
    steps.push({ resource, effect, from, to, before, after });

  // The more of either, the fewer warps; but not where a wish for a carveout makes shared memory grow with the need.
  const isMonotone = request.carveoutBytes === undefined && (request.partitionedGlobalCaching ?? 'off') === 'off';
  const tried = allocationSteps(capability, resource);
  const less = tried.filter((value) => value < from).reverse();
  const gain = firstOf(less, isMonotone, (to) => {
    const { warpsPerSm } = at(to);
    return warpsPerSm > before.warpsPerSm && warpsPerSm >= worth * before.warpsPerSm;
  });
  if (gain < less.length) add('gain', less[gain], at(less[gain]));
  const more = tried.filter((value) => value > from);
  const loss = firstOf(more, isMonotone, (to) => at(to).warpsPerSm < before.warpsPerSm);
  if (loss > 0) add('free', more[loss - 1], at(more[loss - 1]));
  if (loss < more.length) add('loss', more[loss], at(more[loss]));
  return steps;
}

/**
 * The index of the first amount that passes, or their number when none does.
 * @param isMonotone those behind one that passes do too
 */
function firstOf(amounts: readonly number[], isMonotone: boolean, passes: (amount: number) => boolean): number {
  if (!isMonotone) {
    const found = amounts.findIndex(passes);
    return found < 0 ? amounts.length : found;
  }
  let low = 0;
  let high = amounts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (passes(amounts[middle])) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Block sizes of whole warps that keep more warps resident, best first, then nearest to the present one. */
function blockSizeSteps(capability: Capability, request: OccupancyRequest, most: number): OccupancyStep[] {
  const before = occupancy(capability, request);
  const from = request.threadsPerBlock;
  const steps: OccupancyStep[] = [];
  for (let to = 32; to <= capability.limits.threadsPerBlock; to += 32) {
    const after = occupancy(capability, { ...request, threadsPerBlock: to });
    if (after.warpsPerSm > before.warpsPerSm) {
      steps.push({ resource: 'threads', effect: 'gain', from, to, before, after });
    }
  }
  const distance = (step: OccupancyStep) => Math.abs(step.to - from);
  steps.sort((left, right) => right.after.warpsPerSm - left.after.warpsPerSm || distance(left) - distance(right));
  return steps.slice(0, most);
}

/**
 * The next steps from a launch: fewer registers or bytes that would let another block in, how much more of each is free,
 * where the next block is lost, and up to three better block sizes (with the same registers and shared bytes a block).
 * @param worth a gain of registers or shared memory has to bring so many times the warps
 */
export function occupancySteps(capability: Capability, request: OccupancyRequest, worth = 1): OccupancyStep[] {
  return [
    ...stepsOf(capability, request, 'registers', worth),
    ...stepsOf(capability, request, 'shared', worth),
    ...blockSizeSteps(capability, request, 3),
  ];
}

function blocks(count: number): string {
  return count === 1 ? '1 block' : `${count} blocks`;
}

/** `1.2 KB`, `96 bytes` */
function bytesText(bytes: number): string {
  return bytes < 1024 ? `${bytes} bytes` : `${(bytes / 1024).toFixed(1).replace(/\.0$/, '')} KB`;
}

const changes: Readonly<Record<OccupancyStep['resource'], (from: number, to: number) => string>> = {
  registers: (from, to) => {
    const by = Math.abs(to - from);
    return `${by} ${by === 1 ? 'register' : 'registers'} ${to < from ? 'fewer' : 'more'}, ${from} → ${to}`;
  },
  shared: (from, to) =>
    `${bytesText(Math.abs(to - from))} ${to < from ? 'less' : 'more'} shared memory, ${grouped(from)} → ${grouped(to)} bytes`,
  threads: (from, to) => `a block of ${to} threads instead of ${from}`,
};

/** For a count that is not known for certain: where the step lies, and not how far away it is. */
function edgeText({ effect, to }: OccupancyStep): string {
  return effect === 'loss' ? `${to} registers a thread or more` : `at most ${to} registers a thread`;
}

/**
 * A step in words: '2 registers fewer, 38 → 36: 6 blocks instead of 5'.
 * @param isEstimated the register count is an estimate: how many fewer is then not known, only at which count
 */
export function describeStep(step: OccupancyStep, isEstimated = false): string {
  const { resource, effect, from, to, before, after } = step;
  const change = isEstimated && resource === 'registers' ? edgeText(step) : changes[resource](from, to);
  if (effect === 'free') return `${change}: still ${blocks(after.blocksPerSm)}`;
  if (resource !== 'threads') return `${change}: ${blocks(after.blocksPerSm)} instead of ${before.blocksPerSm}`;
  const percent = (value: number) => `${Math.round(value * 100)} %`;
  return `${change}: ${percent(after.theoretical)} occupancy instead of ${percent(before.theoretical)}`;
}
