/** Counts one warp access given as a plain list of addresses. */
import { type Capability, capability } from '../../../server/src/hardware/capabilities';
import { type AccessShape, emptyCounts, memoryModel, type WarpCounts } from '../../../server/src/hardware/memory-model';

/** The table row of a capability that is known to exist. */
export function rowOf(cc: string): Capability {
  const row = capability(cc);
  if (row === undefined) throw new Error(`no capability ${cc}`);
  return row;
}

export type Addresses = readonly (number | null)[];

/** The addresses as the models take them. */
export function lanesOf(list: Addresses): { addresses: Float64Array; active: Uint8Array } {
  return {
    addresses: Float64Array.from(list, (address) => address ?? 0),
    active: Uint8Array.from(list, (address) => (address === null ? 0 : 1)),
  };
}

/** Counters of one access, null where a lane is inactive. */
export function countAccess(cc: string | Capability, shape: AccessShape, list: Addresses): WarpCounts {
  const row = typeof cc === 'string' ? rowOf(cc) : cc;
  const { addresses, active } = lanesOf(list);
  const out = emptyCounts();
  memoryModel(row).count(shape, addresses, active, 0, list.length, out);
  return out;
}

/** One address a lane of a full warp (or fewer lanes). */
export function warp(address: (lane: number) => number | null, lanes = 32): (number | null)[] {
  return Array.from({ length: lanes }, (_, lane) => address(lane));
}
