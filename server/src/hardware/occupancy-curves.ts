/** Resident warps against one resource while the others stay: plain data for charts. */

import type { Capability } from './capabilities';
import { type OccupancyRequest, occupancy } from './occupancy';

export interface OccupancyCurve {
  readonly resource: 'threads' | 'registers' | 'shared';
  /** Threads a block, registers a thread or bytes a block, ascending. */
  readonly values: readonly number[];
  /** Resident warps at each value; 0 where the launch fails. */
  readonly warpsPerSm: readonly number[];
  /** The most warps the multiprocessor holds. */
  readonly mostWarps: number;
}

function range(first: number, last: number, step: number): number[] {
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, index) => first + index * step);
}

/** Points of the shared memory curve at most. */
const SHARED_POINTS = 256;

/** Curves against block size (whole warps), registers a thread, and shared memory a block. */
export function occupancyCurves(capability: Capability, request: OccupancyRequest): OccupancyCurve[] {
  const { limits, warpSize } = capability;
  const sharedSteps = limits.sharedPerBlockOptIn / limits.sharedGranularity;
  const sharedStep = limits.sharedGranularity * Math.ceil(sharedSteps / SHARED_POINTS);
  const curve = (
    resource: OccupancyCurve['resource'],
    values: number[],
    change: (value: number) => Partial<OccupancyRequest>,
  ): OccupancyCurve => ({
    resource,
    values,
    warpsPerSm: values.map((value) => occupancy(capability, { ...request, ...change(value) }).warpsPerSm),
    mostWarps: limits.warpsPerSm,
  });
  return [
    curve('threads', range(warpSize, limits.threadsPerBlock, warpSize), (threadsPerBlock) => ({ threadsPerBlock })),
    curve('registers', range(1, limits.registersPerThread, 1), (registersPerThread) => ({ registersPerThread })),
    curve('shared', range(0, limits.sharedPerBlockOptIn, sharedStep), (sharedBytesPerBlock) => ({
      sharedBytesPerBlock,
    })),
  ];
}
