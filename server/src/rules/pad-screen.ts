/**
 * Which paddings are worth a simulation: those under which the request that the finding shows would have no conflict. A
 * simulation of the edited text takes as long as that of the text itself; this takes one request.
 */
import type { AccessBytes, Capability } from '../hardware/capabilities';
import { emptyCounts, memoryModel } from '../hardware/memory-model';
import type { AccessReport } from '../report/report';
import type { Placed } from './array-offsets';

/** Wavefronts over ideal from which on a padding is taken to leave a conflict. */
export const STILL_CONFLICTS = 1.05;

/**
 * Whether rows wider by `pad` elements may free the access of its conflict. True also where that cannot be told.
 * @param placed the lanes of its witness within the array
 */
export function mayFree(capability: Capability, access: AccessReport, placed: readonly Placed[], pad: number): boolean {
  const { object, witness } = access;
  const columns = object?.dimensions.at(-1);
  if (!object || !witness || columns === undefined || columns <= 0 || access.operation === 'atomic') return true;
  const row = columns * object.elementBytes;
  const wider = row + pad * object.elementBytes;
  const addresses = new Float64Array(32);
  const active = new Uint8Array(32);
  for (const { offset, lane } of placed) {
    if (offset < 0 || lane >= 32) return true;
    addresses[lane] = offset + Math.floor(offset / row) * (wider - row);
    active[lane] = 1;
  }
  const counts = emptyCounts();
  const shape = { space: 'shared' as const, operation: access.operation, bytes: widthIn(wider, witness.bytes) };
  memoryModel(capability).count(shape, addresses, active, 0, 32, counts);
  return counts.wavefronts < STILL_CONFLICTS * counts.idealWavefronts;
}

/** What one access still reads where rows of `row` bytes keep no wider alignment: merged neighbours fall apart. */
function widthIn(row: number, bytes: number): AccessBytes {
  let width = 16;
  while (width > 1 && (width > bytes || row % width !== 0)) width /= 2;
  return width as AccessBytes;
}
