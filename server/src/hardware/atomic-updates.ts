/** What atomics cost the lines of global memory that they meet in, counted in updates (see TimingCounters.updatesOfOneLine). */
import type { AccessShape } from './access';

/** Bytes that L2 updates for one request after the other. */
export const UPDATED_LINE_BYTES = 128;

/** Of one request, in updates. */
export interface UpdateCost {
  /** For the line. */
  readonly request: number;
  /** For each lane that shares its address with one before it. */
  readonly sharing: number;
}

const INTEGER: UpdateCost = { request: 0.8, sharing: 0.08 };

/**
 * An update is one of 1.76 ns. A floating-point atomic takes one, and one more for each lane that shares an address with another; an integer
 * atomic 1.4 ns, and 5.8 ns for 32 lanes that share one, because these are added up on the way. Source: H200, docs/timing.md.
 */
export const updateCosts: Readonly<Record<NonNullable<AccessShape['atomic']>, UpdateCost>> = {
  float: { request: 1, sharing: 1 },
  integer: INTEGER,
  wide: INTEGER,
  compared: INTEGER,
  'add-constant': INTEGER,
  // one lane adds for all
  aggregated: { ...INTEGER, sharing: 0 },
};
