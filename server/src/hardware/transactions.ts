/** Which pieces of memory one warp access moves, and for whom: the counters of the memory models as a list. */

import type { AccessShape } from './access';
import type { Capability } from './capabilities';
import { isCached, isInOrder, SECTOR, shrinkingSegments } from './global-memory';

/** One transaction: a 32-byte sector, a 128-byte line, a segment of 1.x, or one address of constant memory. */
export interface Transaction {
  readonly address: number;
  readonly bytes: number;
  /** Lanes served, ascending. */
  readonly lanes: readonly number[];
}

type Lane = { readonly lane: number; readonly address: number };

/** A request's lanes cut into units of `unitBytes`, in order of address. */
function units(lanes: readonly Lane[], unitBytes: number): Transaction[] {
  const byUnit = new Map<number, number[]>();
  for (const { lane, address } of lanes) {
    const unit = Math.floor(address / unitBytes) * unitBytes;
    const members = byUnit.get(unit);
    if (members === undefined) byUnit.set(unit, [lane]);
    else members.push(lane);
  }
  return [...byUnit]
    .sort(([left], [right]) => left - right)
    .map(([address, members]) => ({ address, bytes: unitBytes, lanes: members }));
}

function inside(lanes: readonly Lane[], address: number, bytes: number): number[] {
  return lanes.filter((lane) => lane.address >= address && lane.address < address + bytes).map(({ lane }) => lane);
}

/** 1.0 and 1.1: one segment (two of 128 bytes for 16-byte words) where lanes are in order, else one for each lane. */
function inOrderTransactions(lanes: readonly Lane[], bytes: number, inOrder: boolean): Transaction[] {
  if (!inOrder) {
    return lanes.map(({ lane, address }) => ({
      address: Math.floor(address / SECTOR) * SECTOR,
      bytes: SECTOR,
      lanes: [lane],
    }));
  }
  const whole = 16 * bytes;
  const size = Math.min(whole, 128);
  const base = Math.floor(lanes[0].address / whole) * whole;
  return Array.from({ length: whole / size }, (_, index) => {
    const address = base + index * size;
    return { address, bytes: size, lanes: inside(lanes, address, size) };
  });
}

function activeLanes(addresses: Float64Array, active: Uint8Array, from: number, to: number, first: number): Lane[] {
  const result: Lane[] = [];
  for (let lane = from; lane < to; lane++) {
    if (active[lane] !== 0) result.push({ lane: lane - first, address: addresses[lane] });
  }
  return result;
}

/**
 * The transactions of one warp access, request by request; as many as the model counts, but for atomics, whose
 * repeated sectors stand once. Shared memory has none. Local memory: addresses in the warp's interleaved block, a list
 * for each 4-byte word. Parameters as MemoryModel.count.
 */
export function transactions(
  capability: Capability,
  shape: AccessShape,
  addresses: Float64Array,
  active: Uint8Array,
  first: number,
  lanes: number,
): Transaction[] {
  if (shape.space === 'shared') return [];
  if (shape.space === 'local') return localTransactions(capability, shape, addresses, active, first, lanes);
  const rules = capability.global;
  const isConstant = shape.space === 'constant';
  const step = isConstant ? rules.constantLanesPerRequest : rules.lanesPerRequest[shape.bytes];
  const coalescing = shape.space === 'global' ? rules.coalescing : 'lines';
  const isAtomic = shape.operation === 'atomic';
  const result: Transaction[] = [];
  for (let from = first; from < first + lanes; from += step) {
    const to = Math.min(from + step, first + lanes);
    const request = activeLanes(addresses, active, from, to, first);
    if (request.length === 0) continue;
    if (isConstant) {
      result.push(...units(request, shape.bytes));
    } else if (coalescing === 'segment-in-order') {
      const inOrder = !isAtomic && isInOrder(addresses, active, from, to, shape.bytes);
      result.push(...inOrderTransactions(request, shape.bytes, inOrder));
    } else if (coalescing === 'segment-shrinking' && !isAtomic) {
      shrinkingSegments(addresses, active, from, to, shape.bytes, new Uint8Array(32), (address, bytes) => {
        result.push({ address, bytes, lanes: inside(request, address, bytes) });
      });
    } else {
      result.push(...units(request, isCached(rules, shape) ? rules.cachedLineBytes : SECTOR));
    }
  }
  return result;
}

function localTransactions(
  capability: Capability,
  shape: AccessShape,
  addresses: Float64Array,
  active: Uint8Array,
  first: number,
  lanes: number,
): Transaction[] {
  const word: AccessShape = { ...shape, space: 'global', bytes: 4 };
  const result: Transaction[] = [];
  for (let piece = 0; piece < Math.max(1, shape.bytes / 4); piece++) {
    const physical = new Float64Array(first + lanes);
    for (let lane = 0; lane < lanes; lane++) {
      physical[first + lane] = (Math.floor(addresses[first + lane] / 4) + piece) * 128 + lane * 4;
    }
    result.push(...transactions(capability, word, physical, active, first, lanes));
  }
  return result;
}
