/** Wavefronts of shared memory and passes of constant memory. */

import type { AccessBytes, Capability, SharedRules } from './capabilities';
import { DistinctSet } from './distinct-set';
import type { Counter } from './global-memory';
import type { AccessShape } from './memory-model';

/**
 * Where an access of a width falls. Aligned accesses wider than a bank always take the same group of neighbouring
 * banks whole, so counting rows for each group gives the same as counting words for each bank.
 */
export interface BankGeometry {
  /** Bytes of one group of banks: the access width, or the bank interleave where that is wider. */
  readonly groupBytes: number;
  readonly groups: number;
  /** Bytes that all banks hold together; a bank delivers one row a wavefront. */
  readonly rowBytes: number;
  /** Lanes of one request. */
  readonly lanesPerRequest: number;
  /** Requests that follow each other for one lane, each of pieceBytes (more than one only on 1.x). */
  readonly pieces: number;
  readonly pieceBytes: number;
}

/** The geometry of an access of `bytes` a lane. */
export function bankGeometry(rules: SharedRules, bytes: AccessBytes): BankGeometry {
  const pieceBytes = Math.min(bytes, rules.widestRequestBytes);
  const groupBytes = Math.max(pieceBytes, rules.interleaveBytes);
  return {
    groupBytes,
    groups: (rules.banks * rules.interleaveBytes) / groupBytes,
    rowBytes: rules.banks * rules.bankBytes,
    lanesPerRequest: rules.lanesPerRequest[bytes],
    pieces: bytes / pieceBytes,
    pieceBytes,
  };
}

/**
 * Whether every active lane n has the address of lane n ^ 1, or every one that of lane n ^ 2 (an inactive partner
 * agrees). Loads of 8 and 16 bytes then merge two requests (measured on 9.0).
 */
export function lanesArePaired(addresses: Float64Array, active: Uint8Array, first: number, lanes: number): boolean {
  let byOne = true;
  let byTwo = true;
  for (let lane = 0; lane < lanes; lane++) {
    if (active[first + lane] === 0) continue;
    const address = addresses[first + lane];
    const one = lane ^ 1;
    const two = lane ^ 2;
    if (byOne && one < lanes && active[first + one] !== 0 && addresses[first + one] !== address) byOne = false;
    if (byTwo && two < lanes && active[first + two] !== 0 && addresses[first + two] !== address) byTwo = false;
    if (!byOne && !byTwo) return false;
  }
  return true;
}

/** Lanes of one request of this access, after merging. */
export function requestLanes(
  rules: SharedRules,
  geometry: BankGeometry,
  shape: AccessShape,
  addresses: Float64Array,
  active: Uint8Array,
  first: number,
  lanes: number,
): number {
  const merges = rules.mergesPairedLoads && shape.operation === 'load' && shape.bytes >= 8;
  return merges && lanesArePaired(addresses, active, first, lanes)
    ? geometry.lanesPerRequest * 2
    : geometry.lanesPerRequest;
}

/** Wavefronts that the lanes from … to - 1 need for one piece of their access. */
type RequestRule = (
  g: BankGeometry,
  addresses: Float64Array,
  active: Uint8Array,
  from: number,
  to: number,
  pieceOffset: number,
) => number;

/** Shared memory of a capability. */
export function sharedCounter(capability: Capability): Counter {
  const rules = capability.shared;
  const geometries: Readonly<Record<AccessBytes, BankGeometry>> = {
    1: bankGeometry(rules, 1),
    2: bankGeometry(rules, 2),
    4: bankGeometry(rules, 4),
    8: bankGeometry(rules, 8),
    16: bankGeometry(rules, 16),
  };
  const rows = new DistinctSet(128);
  const counts = new Uint8Array(32);
  const firstRow = new Float64Array(32);
  const taken = new Uint8Array(32);
  const banksServed = new Uint8Array(32);
  const loopAddresses = new Float64Array(32);
  const loopActive = new Uint8Array(32);

  /** The largest number of distinct rows that the lanes want from one group of banks. */
  function multicast(g: BankGeometry, addresses: Float64Array, active: Uint8Array, from: number, to: number): number {
    const perGroup = 1 / g.groupBytes;
    const perRow = 1 / g.rowBytes;
    const mask = g.groups - 1;
    counts.fill(0);
    let worst = 0;
    let cleared = false;
    for (let lane = from; lane < to; lane++) {
      if (active[lane] === 0) continue;
      const group = Math.floor(addresses[lane] * perGroup) & mask;
      const row = Math.floor(addresses[lane] * perRow);
      const count = counts[group];
      if (count === 0) {
        firstRow[group] = row;
      } else {
        if (firstRow[group] === row) continue;
        if (!cleared) {
          rows.clear();
          cleared = true;
        }
        if (!rows.add(row * 32 + group)) continue;
      }
      counts[group] = count + 1;
      if (count >= worst) worst = count + 1;
    }
    return worst;
  }

  /** Steps of the broadcast algorithm of 1.x for one piece (4 bytes or less) of each lane. */
  function broadcastSteps(
    g: BankGeometry,
    addresses: Float64Array,
    active: Uint8Array,
    from: number,
    to: number,
    offset: number,
  ): number {
    let waiting = 0;
    for (let lane = from; lane < to; lane++) {
      taken[lane - from] = active[lane] === 0 ? 1 : 0;
      if (active[lane] !== 0) waiting++;
    }
    let steps = 0;
    while (waiting > 0) {
      steps++;
      banksServed.fill(0);
      let broadcast = -1;
      for (let lane = from; lane < to; lane++) {
        if (taken[lane - from] !== 0) continue;
        const word = Math.floor((addresses[lane] + offset) / g.groupBytes);
        const bank = word & (g.groups - 1);
        if (broadcast < 0) broadcast = word;
        if (word !== broadcast && banksServed[bank] !== 0) continue;
        banksServed[bank] = 1;
        taken[lane - from] = 1;
        waiting--;
      }
    }
    return steps;
  }

  /** The largest number of lanes on one group of banks: atomics do not share a word. */
  function lanesOnOneBank(
    g: BankGeometry,
    addresses: Float64Array,
    active: Uint8Array,
    from: number,
    to: number,
  ): number {
    const perGroup = 1 / g.groupBytes;
    counts.fill(0);
    let worst = 0;
    for (let lane = from; lane < to; lane++) {
      if (active[lane] === 0) continue;
      const group = Math.floor(addresses[lane] * perGroup) & (g.groups - 1);
      if (++counts[group] > worst) worst = counts[group];
    }
    return worst;
  }

  /**
   * A compare-and-swap loop: a round for each lane that meets others on its bank. A round loads the words of the lanes
   * that are left and then swaps, two wavefronts (measured on 9.0: swaps are exactly 2 a round).
   */
  function swapLoop(g: BankGeometry, addresses: Float64Array, active: Uint8Array, from: number, to: number): number {
    const rounds = lanesOnOneBank(g, addresses, active, from, to);
    const lanes = to - from;
    for (let lane = 0; lane < lanes; lane++) {
      loopAddresses[lane] = addresses[from + lane];
      loopActive[lane] = active[from + lane];
    }
    let wavefronts = 2 * rounds;
    for (let round = 0; round < rounds; round++) {
      wavefronts += multicast(g, loopAddresses, loopActive, 0, lanes);
      banksServed.fill(0);
      for (let lane = 0; lane < lanes; lane++) {
        const group = Math.floor(loopAddresses[lane] / g.groupBytes) & (g.groups - 1);
        if (loopActive[lane] === 0 || banksServed[group] !== 0) continue;
        banksServed[group] = 1;
        loopActive[lane] = 0;
      }
    }
    return wavefronts;
  }

  const serve = { multicast, 'broadcast-steps': broadcastSteps }[rules.serve];

  /** What one request costs: plain accesses as the banks serve them, atomics by their form. */
  function requestRule(shape: AccessShape): RequestRule {
    if (shape.operation !== 'atomic') return serve;
    if (shape.atomic === 'float') return swapLoop;
    // The increment counts the lanes of a word first, so that they need no serialisation.
    if (shape.atomic === 'add-constant' && !shape.resultUsed && rules.atomics === 'native') return multicast;
    return lanesOnOneBank;
  }

  return (shape, addresses, active, first, lanes, out) => {
    const g = geometries[shape.bytes];
    const rule = requestRule(shape);
    const step = requestLanes(rules, g, shape, addresses, active, first, lanes);
    const extra = rules.extraWavefronts[shape.bytes];
    const end = first + lanes;
    // Returning the old values takes one more wavefront; a compare-and-swap loop has them already (measured on 9.0).
    let wavefronts = shape.operation === 'atomic' && shape.resultUsed && rule !== swapLoop ? 1 : 0;
    out.idealWavefronts = wavefronts + idealSharedWavefronts(rules, g, shape, active, first, lanes);
    for (let from = first; from < end; from += step) {
      const to = Math.min(from + step, end);
      for (let piece = 0; piece < g.pieces; piece++) {
        const needed = rule(g, addresses, active, from, to, piece * g.pieceBytes);
        wavefronts += needed === 0 ? 0 : needed + extra;
      }
    }
    out.wavefronts = wavefronts;
  };
}

/** Wavefronts of one compare-and-swap round without conflicts: a load and two for the swap. */
const SWAP_ROUND = 3;

/**
 * The least wavefronts of an access of this width by these active lanes, each with its own data: what the profiler
 * calls ideal. Every request that has an active lane needs as many rows as its bytes fill, at least one.
 */
export function idealSharedWavefronts(
  rules: SharedRules,
  g: BankGeometry,
  shape: AccessShape,
  active: Uint8Array,
  first: number,
  lanes: number,
): number {
  const cost = shape.operation === 'atomic' && shape.atomic === 'float' ? SWAP_ROUND : 1;
  const extra = rules.extraWavefronts[shape.bytes];
  let ideal = 0;
  for (let from = first; from < first + lanes; from += g.lanesPerRequest) {
    let count = 0;
    const to = Math.min(from + g.lanesPerRequest, first + lanes);
    for (let lane = from; lane < to; lane++) if (active[lane] !== 0) count++;
    if (count > 0) ideal += g.pieces * (cost * Math.ceil((count * g.pieceBytes) / g.rowBytes) + extra);
  }
  return ideal;
}

/**
 * Constant memory: one address a pass for every request (a warp; a half-warp on 1.x). Passes are given as wavefronts;
 * one a request is ideal.
 */
export function constantCounter(capability: Capability): Counter {
  const { constantLanesPerRequest } = capability.global;
  const seen = new DistinctSet(64);
  return (_shape, addresses, active, first, lanes, out) => {
    const end = first + lanes;
    for (let from = first; from < end; from += constantLanesPerRequest) {
      seen.clear();
      let passes = 0;
      const to = Math.min(from + constantLanesPerRequest, end);
      for (let lane = from; lane < to; lane++) if (active[lane] !== 0 && seen.add(addresses[lane])) passes++;
      out.wavefronts += passes;
      if (passes > 0) out.idealWavefronts++;
    }
  };
}
