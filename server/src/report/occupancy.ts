/** Occupancy of a launch, with where its register count comes from. */
import type { PlannedLaunch } from '../analysis/launch-plan';
import type { AnalysisOptions } from '../analysis/request';
import { capability } from '../hardware/capabilities';
import { occupancy, registerBound } from '../hardware/occupancy';
import { estimateRegisters } from '../machine/registers';
import type { Program } from '../program/program';
import type { OccupancyReport } from './report';

export interface LaunchBounds {
  readonly maxThreads: number;
  readonly minBlocks?: number;
}

/** Static shared memory of a kernel in bytes, its arrays laid out one after the other. */
export function staticSharedBytes(program: Program): number {
  let end = 0;
  for (const o of program.objects) {
    if (o.space !== 'shared' || o.isDynamic) continue;
    end = Math.ceil(end / o.alignment) * o.alignment + (o.bytes ?? 0);
  }
  return end;
}

export function occupancyReport(
  program: Program,
  plan: PlannedLaunch,
  bounds: LaunchBounds | undefined,
  options: AnalysisOptions,
): OccupancyReport | null {
  const row = capability(options.computeCapability);
  const threads = plan.block[0] * plan.block[1] * plan.block[2];
  if (!row || !(threads > 0)) return null;
  const staticBytes = staticSharedBytes(program);
  const estimate = estimateRegisters(program, row.limits);
  const bound = bounds ? registerBound(row, bounds.maxThreads, bounds.minBlocks ?? 1) : undefined;
  const given = options.registersPerThread;
  const registers = given ?? (bound !== undefined ? Math.min(bound, estimate.registers) : estimate.registers);
  const origin =
    given !== undefined ? 'option' : bound !== undefined && bound < estimate.registers ? 'launch-bounds' : 'estimate';
  const cap = (n: number) => (bound !== undefined ? Math.min(bound, n) : n);
  return {
    ...occupancy(row, {
      threadsPerBlock: threads,
      registersPerThread: registers,
      sharedBytesPerBlock: staticBytes + plan.dynamicSharedBytes,
    }),
    registersPerThread: registers,
    registersOrigin: origin,
    registersRange: given === undefined ? [cap(estimate.range[0]), cap(estimate.range[1])] : undefined,
    staticSharedBytes: staticBytes,
  };
}
