/** The explanation of one warp access: who meets whom on which bank, or who shares which sector. */

import type { AccessShape } from './access';
import type { Capability } from './capabilities';
import { bankGeometry, requestLanes } from './shared-memory';
import { type Transaction, transactions } from './transactions';

/** One active lane of a shared memory access. */
export interface LaneOnBank {
  readonly lane: number;
  readonly address: number;
  /** The first bank of its access, and how many neighbouring banks it takes. */
  readonly bank: number;
  readonly banks: number;
  /** Index of the request that serves it. */
  readonly request: number;
}

/** What meets on one bank in one request. */
export interface BankLoad {
  readonly bank: number;
  readonly request: number;
  /** Lanes that want this bank, ascending. */
  readonly lanes: readonly number[];
  /** Byte addresses of the distinct words wanted from it, ascending. */
  readonly words: readonly number[];
  /** Lanes that want each of these words. */
  readonly lanesOfWords: readonly (readonly number[])[];
}

export interface SharedExplanation {
  readonly lanes: readonly LaneOnBank[];
  /** Requests one after the other that the access is cut into, after merging. */
  readonly requests: number;
  /** Every bank that is wanted, in every request. */
  readonly loads: readonly BankLoad[];
  /** The bank that takes longest in one request (atomics: the one with most lanes); undefined without active lanes. */
  readonly worst: BankLoad | undefined;
}

function collectBanks(lanes: readonly LaneOnBank[], wordBytes: number, totalBanks: number): BankLoad[] {
  const loads = new Map<number, { lanes: number[]; words: Map<number, number[]> }>();
  for (const { lane, address, bank, banks, request } of lanes) {
    for (let index = 0; index < banks; index++) {
      const key = request * totalBanks + ((bank + index) % totalBanks);
      const load = loads.get(key) ?? { lanes: [], words: new Map<number, number[]>() };
      load.lanes.push(lane);
      const word = Math.floor(address / wordBytes + index) * wordBytes;
      load.words.set(word, [...(load.words.get(word) ?? []), lane]);
      loads.set(key, load);
    }
  }
  return [...loads].map(([key, load]) => {
    const words = [...load.words].sort(([left], [right]) => left - right);
    return {
      bank: key % totalBanks,
      request: Math.floor(key / totalBanks),
      lanes: load.lanes,
      words: words.map(([word]) => word),
      lanesOfWords: words.map(([, lanes]) => lanes),
    };
  });
}

/**
 * Explains one shared memory access of a warp; parameters as MemoryModel.count. On 1.x an access wider than 4 bytes is
 * explained by its first 4 bytes, the others conflict alike.
 */
export function explainShared(
  capability: Capability,
  shape: AccessShape,
  addresses: Float64Array,
  active: Uint8Array,
  first: number,
  lanes: number,
): SharedExplanation {
  const rules = capability.shared;
  const geometry = bankGeometry(rules, shape.bytes);
  const step = requestLanes(rules, geometry, shape, addresses, active, first, lanes);
  const placed: LaneOnBank[] = [];
  for (let lane = 0; lane < lanes; lane++) {
    if (active[first + lane] === 0) continue;
    const address = addresses[first + lane];
    const word = Math.floor(address / rules.interleaveBytes);
    const banks = Math.ceil(geometry.pieceBytes / rules.interleaveBytes);
    placed.push({ lane, address, bank: word % rules.banks, banks, request: Math.floor(lane / step) });
  }
  const rowBytes = rules.banks * rules.bankBytes;
  // A bank delivers a row at once: on 3.x that is two 4-byte words, elsewhere one.
  const rows = (load: BankLoad) => new Set(load.words.map((word) => Math.floor(word / rowBytes))).size;
  const weight = (load: BankLoad) => (shape.operation === 'atomic' ? load.lanes.length : rows(load));
  let worst: BankLoad | undefined;
  const loads = collectBanks(placed, rules.interleaveBytes, rules.banks);
  for (const load of loads) {
    if (worst === undefined || weight(load) > weight(worst)) worst = load;
  }
  return { lanes: placed, requests: Math.ceil(lanes / step), loads, worst };
}

export interface GlobalExplanation {
  /** Every transaction with the lanes in it. */
  readonly transactions: readonly Transaction[];
  /** Bytes moved, and bytes the active lanes asked for (each lane's own, shared data counted once a lane). */
  readonly bytesMoved: number;
  readonly bytesWanted: number;
  /** Bytes of the distinct data wanted ÷ bytes moved, 0 … 1; 1 without active lanes. */
  readonly efficiency: number;
}

/** Explains one global (or local, texture, constant) memory access of a warp; parameters as MemoryModel.count. */
export function explainGlobal(
  capability: Capability,
  shape: AccessShape,
  addresses: Float64Array,
  active: Uint8Array,
  first: number,
  lanes: number,
): GlobalExplanation {
  const list = transactions(capability, shape, addresses, active, first, lanes);
  const distinct = new Set<number>();
  let bytesWanted = 0;
  for (let lane = first; lane < first + lanes; lane++) {
    if (active[lane] === 0) continue;
    bytesWanted += shape.bytes;
    // Local memory is the thread's own: equal offsets of two lanes are different data.
    distinct.add(shape.space === 'local' ? lane : addresses[lane]);
  }
  const bytesMoved = list.reduce((sum, { bytes }) => sum + bytes, 0);
  const efficiency = bytesMoved === 0 ? 1 : (distinct.size * shape.bytes) / bytesMoved;
  return { transactions: list, bytesMoved, bytesWanted, efficiency };
}
