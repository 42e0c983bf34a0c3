/** Wavefronts of shared memory and passes of constant memory. */

import type { AccessShape, Counter } from './access';
import { isSwapLoop } from './atomic-class';
import type { AccessBytes, Capability, SharedRules } from './capabilities';
import { DistinctSet } from './distinct-set';
import { constantStride, countActive } from './lanes';

/**
 * Where an access of a width falls. Aligned accesses wider than a bank always take the same group of neighbouring
 * banks whole, so counting rows for each group gives the same as counting words for each bank.
 */
export interface BankGeometry {
  /** Bytes of one group of banks (the access width, or the bank interleave where that is wider), as a power of two. */
  readonly groupShift: number;
  readonly groups: number;
  /** Bytes that all banks hold together, as a power of two; a bank delivers one row a wavefront. */
  readonly rowShift: number;
  readonly lanesPerRequest: number;
  /** Requests that follow each other for one lane, each of pieceBytes (more than one only on 1.x). */
  readonly pieces: number;
  readonly pieceBytes: number;
  /** Wavefronts added to every request. */
  readonly extra: number;
}

/** The geometry of an access of `bytes` a lane. */
export function bankGeometry(rules: SharedRules, bytes: AccessBytes): BankGeometry {
  const pieceBytes = Math.min(bytes, rules.widestRequestBytes);
  const groupBytes = Math.max(pieceBytes, rules.interleaveBytes);
  return {
    groupShift: Math.log2(groupBytes),
    groups: (rules.banks * rules.interleaveBytes) / groupBytes,
    rowShift: Math.log2(rules.banks * rules.bankBytes),
    lanesPerRequest: rules.lanesPerRequest[bytes],
    pieces: bytes / pieceBytes,
    pieceBytes,
    extra: rules.extraWavefronts[bytes],
  };
}

/**
 * Whether every active lane n has the address of lane n ^ 1, or every one that of lane n ^ 2; an inactive partner
 * agrees. Loads of 8 and 16 bytes then may merge two requests (measured on 9.0, masked warps too).
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
  const { lanesPerRequest } = geometry;
  if (!rules.mergesPairedLoads || shape.operation !== 'load' || shape.bytes < 8) return lanesPerRequest;
  return lanesArePaired(addresses, active, first, lanes) ? lanesPerRequest * 2 : lanesPerRequest;
}

/** Wavefronts of `count` lanes in `requests` requests, each lane with its own data and no two in conflict. */
function withoutConflict(g: BankGeometry, count: number, requests: number): number {
  const rows = (count * g.pieceBytes + (1 << g.rowShift) - 1) >> g.rowShift;
  return g.pieces * (Math.max(rows, requests) + requests * g.extra);
}

/**
 * What the profiler calls ideal before it takes the smaller of this and the wavefronts needed: the active lanes' data
 * packed into as few requests as can hold them, wherever the lanes are. Settled by measurement on an H200: equal to
 * the profiler's ideal in 202 of 203 load and store patterns of 1 to 16 bytes, partly active and broadcast ones too
 * (in the other the profiler's own count of wavefronts is one below the hardware's counter).
 * @param count active lanes
 */
export function packedWavefronts(g: BankGeometry, count: number): number {
  return withoutConflict(g, count, Math.ceil(count / g.lanesPerRequest));
}

/** Wavefronts that the lanes from … to - 1, at least one of them active, need for one piece of their access. */
type RequestRule = (
  g: BankGeometry,
  addresses: Float64Array,
  active: Uint8Array,
  from: number,
  to: number,
  pieceOffset: number,
) => number;

/** Counts the rows wanted from every group of banks; a group's count is fresh when it bears the request's stamp. */
function multicastRule(): RequestRule {
  const rows = new DistinctSet(128);
  const counts = new Int32Array(32);
  const firstRow = new Int32Array(32);
  const stamps = new Int32Array(32);
  let stamp = 0;
  return (g, addresses, active, from, to) => {
    const { groupShift, rowShift } = g;
    const mask = g.groups - 1;
    let worst = 1;
    let crowded = false;
    stamp = (stamp + 1) | 0;
    for (let lane = from; lane < to; lane++) {
      if (active[lane] === 0) continue;
      const address = addresses[lane] | 0;
      const group = (address >>> groupShift) & mask;
      const row = address >>> rowShift;
      if (stamps[group] !== stamp) {
        stamps[group] = stamp;
        counts[group] = 1;
        firstRow[group] = row;
      } else if (firstRow[group] !== row) {
        if (!crowded) rows.clear();
        crowded = true;
        if (rows.add(row * 32 + group) && ++counts[group] > worst) worst = counts[group];
      }
    }
    return worst;
  };
}

/** Wavefronts of a request of `lanes` active lanes, each a constant number of bytes (whole groups) behind the last. */
type StrideRule = (g: BankGeometry, stride: number, lanes: number) => number;

/** Lanes on one group of banks: they return to a group after groups / (the stride's power of two) lanes. */
const serialStride: StrideRule = (g, stride, lanes) => {
  const steps = stride >> g.groupShift;
  if (steps === 0) return lanes;
  const period = g.groups / Math.min(steps & -steps, g.groups);
  return Math.ceil(lanes / period);
};

/** Lanes come back to a group on another row each time, unless all have one address. */
const multicastStride: StrideRule = (g, stride, lanes) => (stride === 0 ? 1 : serialStride(g, stride, lanes));

/** The algorithm of 1.x, step by step. */
function broadcastRule(): RequestRule {
  const waiting = new Uint8Array(32);
  const served = new Uint8Array(32);
  return (g, addresses, active, from, to, pieceOffset) => {
    let left = 0;
    for (let lane = from; lane < to; lane++) {
      waiting[lane - from] = active[lane];
      if (active[lane] !== 0) left++;
    }
    let steps = 0;
    while (left > 0) {
      steps++;
      served.fill(0);
      let broadcast = -1;
      for (let lane = from; lane < to; lane++) {
        if (waiting[lane - from] === 0) continue;
        const word = ((addresses[lane] + pieceOffset) | 0) >>> g.groupShift;
        const bank = word & (g.groups - 1);
        if (broadcast < 0) broadcast = word;
        if (word !== broadcast && served[bank] !== 0) continue;
        served[bank] = 1;
        waiting[lane - from] = 0;
        left--;
      }
    }
    return steps;
  };
}

/** Atomics do not share a word: the largest number of lanes on one group of banks. */
function serialRule(): RequestRule {
  const counts = new Int32Array(32);
  return (g, addresses, active, from, to) => {
    const mask = g.groups - 1;
    let worst = 0;
    for (let group = 0; group <= mask; group++) counts[group] = 0;
    for (let lane = from; lane < to; lane++) {
      if (active[lane] === 0) continue;
      const group = ((addresses[lane] | 0) >>> g.groupShift) & mask;
      if (++counts[group] > worst) worst = counts[group];
    }
    return worst;
  };
}

/** Wavefronts of one compare-and-swap (measured on 9.0), and of a round of the loop: the load as well. */
export const SWAP = 2;
const SWAP_ROUND = 1 + SWAP;

/**
 * A compare-and-swap loop: as many rounds as lanes meet on one bank. A round loads the words of the lanes that are
 * left and swaps, two wavefronts, after which one lane of every bank is done (measured on 9.0, all patterns exact).
 */
function swapLoopRule(load: RequestRule, serial: RequestRule, swap: number): RequestRule {
  const loopAddresses = new Float64Array(32);
  const waiting = new Uint8Array(32);
  const served = new Uint8Array(32);
  return (g, addresses, active, from, to) => {
    const lanes = to - from;
    const rounds = serial(g, addresses, active, from, to, 0);
    for (let lane = 0; lane < lanes; lane++) {
      loopAddresses[lane] = addresses[from + lane];
      waiting[lane] = active[from + lane];
    }
    let wavefronts = 0;
    for (let round = 0; round < rounds; round++) {
      wavefronts += swap + load(g, loopAddresses, waiting, 0, lanes, 0);
      served.fill(0);
      for (let lane = 0; lane < lanes; lane++) {
        const group = ((loopAddresses[lane] | 0) >>> g.groupShift) & (g.groups - 1);
        if (waiting[lane] === 0 || served[group] !== 0) continue;
        served[group] = 1;
        waiting[lane] = 0;
      }
    }
    return wavefronts;
  };
}

/** How shared memory serves one kind of access. */
interface Service {
  readonly rule: RequestRule;
  /** Wavefronts of a request that does not conflict with itself. */
  readonly unit: number;
  /** The short cut for full requests with a constant stride, where there is one. */
  readonly strideRule?: StrideRule;
}

/**
 * Two requests that pair up by their addresses run as one only when they are free of conflicts together; otherwise each
 * runs alone (249 wide loads measured on 9.0).
 */
function apart(
  g: BankGeometry,
  addresses: Float64Array,
  active: Uint8Array,
  from: number,
  to: number,
  rule: RequestRule,
): number {
  let wavefronts = 0;
  for (let start = from; start < to; start += g.lanesPerRequest) {
    const end = Math.min(start + g.lanesPerRequest, to);
    if (countActive(active, start, end) > 0) wavefronts += rule(g, addresses, active, start, end, 0);
  }
  return wavefronts;
}

/** Shared memory of a capability. Addresses are taken modulo 2^32, the width of the shared window. */
export function sharedCounter(capability: Capability): Counter {
  const rules = capability.shared;
  const geometries: Readonly<Record<AccessBytes, BankGeometry>> = {
    1: bankGeometry(rules, 1),
    2: bankGeometry(rules, 2),
    4: bankGeometry(rules, 4),
    8: bankGeometry(rules, 8),
    16: bankGeometry(rules, 16),
  };
  const multicast = multicastRule();
  const serial = serialRule();
  // With one bank word a row, distinct addresses of a group are distinct rows: what the short cut relies on.
  const rowsAreWords = rules.interleaveBytes === rules.bankBytes;
  const shared: Service = { rule: multicast, unit: 1, strideRule: rowsAreWords ? multicastStride : undefined };
  const oneByOne: Service = { rule: serial, unit: 1, strideRule: serialStride };
  const plain = { multicast: shared, 'broadcast-steps': { rule: broadcastRule(), unit: 1 } }[rules.serve];
  const increment = rules.atomics === 'native' ? shared : oneByOne;
  const swapLoop: Service = { rule: swapLoopRule(multicast, serial, SWAP), unit: SWAP_ROUND };
  const swapLoads: Service = { rule: swapLoopRule(multicast, serial, 0), unit: 1 };
  const swaps: Service = { rule: (...request) => SWAP * serial(...request), unit: SWAP };

  function serviceOf(shape: AccessShape): Service {
    if (isSwapLoop(shape.atomic) && shape.perLine) return shape.operation === 'atomic' ? swaps : swapLoads;
    if (shape.operation !== 'atomic' || shape.atomic === 'aggregated') return plain;
    if (isSwapLoop(shape.atomic)) return swapLoop;
    // The population-count increment counts the lanes of each word first, so only words are serialised.
    return shape.atomic === 'add-constant' && !shape.resultUsed ? increment : oneByOne;
  }

  /** The stride where the short cut applies: all lanes active, whole groups apart. */
  function usableStride(g: BankGeometry, addresses: Float64Array, first: number, lanes: number): number {
    const stride = constantStride(addresses, first, first + lanes);
    const withinGroup = (1 << g.groupShift) - 1;
    return ((stride | addresses[first]) & withinGroup) === 0 ? stride : Number.NaN;
  }

  return (shape, addresses, active, first, lanes, out) => {
    const g = geometries[shape.bytes];
    const { rule, unit, strideRule } = serviceOf(shape);
    const mayStride = strideRule !== undefined && out.lanes === lanes && g.pieces === 1;
    const stride = mayStride ? usableStride(g, addresses, first, lanes) : Number.NaN;
    const step = requestLanes(rules, g, shape, addresses, active, first, lanes);
    const end = first + lanes;
    let wavefronts = 0;
    let least = 0;
    for (let from = first; from < end; from += step) {
      const to = Math.min(from + step, end);
      const count = out.lanes === lanes ? to - from : countActive(active, from, to);
      if (count === 0) continue;
      least += unit * withoutConflict(g, count, 1);
      for (let piece = 0; piece < g.pieces; piece++) {
        wavefronts += g.extra;
        const together =
          strideRule === undefined || Number.isNaN(stride)
            ? rule(g, addresses, active, from, to, piece * g.pieceBytes)
            : strideRule(g, stride, count);
        wavefronts += step > g.lanesPerRequest && together > 1 ? apart(g, addresses, active, from, to, rule) : together;
      }
    }
    if (isSwapLoop(shape.atomic) && shape.perLine) {
      // every round is a request of its own, with an ideal of its own (atomics_mix.cu:34-36 on an H200)
      const rounds = serial(g, addresses, active, first, end, 0);
      out.wavefronts = wavefronts;
      out.idealWavefronts = shape.operation === 'atomic' ? wavefronts : Math.min(wavefronts, rounds);
      out.leastWavefronts = out.idealWavefronts;
      return;
    }
    // A result that is used costs no wavefront of its own in the profiler's counters (58 accesses measured on 9.0).
    out.wavefronts = wavefronts;
    out.idealWavefronts = Math.min(wavefronts, unit * packedWavefronts(g, out.lanes));
    out.leastWavefronts = Math.min(wavefronts, least);
  };
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
    out.leastWavefronts = out.idealWavefronts;
  };
}
