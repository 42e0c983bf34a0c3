/** What is the same for every execution of an access. */
import type { AccessShape, WarpCounts } from '../hardware/memory-model';
import type { AccessSite } from '../program/program';
import { spaces } from './counters';
import type { LaneValue } from './value';

/** One machine access of a site, as the model wants it, in every space. */
export interface AccessPlan {
  readonly access: number;
  readonly site: AccessSite;
  readonly shapes: readonly AccessShape[];
  readonly bytes: number;
  /** What full warps were found to count whose addresses are linear, by the remainder of the first: in loops they come again. */
  readonly linear: Map<number, LinearCounts>;
}

interface LinearCounts {
  readonly kx: number;
  readonly ky: number;
  readonly kz: number;
  readonly space: number;
  readonly counts: WarpCounts;
}

/** @param bytes bytes a lane; widths that no machine access has are counted as the next smaller one */
export function accessPlan(
  access: number,
  site: AccessSite,
  operation: AccessShape['operation'],
  bytes: number,
): AccessPlan {
  const machineBytes = (2 ** Math.floor(Math.log2(Math.max(1, Math.min(bytes, 16))))) as AccessShape['bytes'];
  const shapes = spaces.map(
    (space): AccessShape => ({
      space,
      operation,
      bytes: machineBytes,
      perLine: true,
      atomic: operation === 'atomic' ? (site.atomic ?? 'integer') : site.atomic,
      resultUsed: operation === 'atomic' ? (site.resultUsed ?? false) : undefined,
    }),
  );
  return { access, site, shapes, bytes, linear: new Map() };
}

/** How many bytes a lane of an asynchronous copy reads; the others are zeros. */
export interface BytesRead {
  bytes: LaneValue;
  /** The profiler takes its shared half for a store of all lanes (`hardware/async-copy.ts`). */
  countsAsFilled: boolean;
}
