/** Sectors and transactions of global, texture and local memory. */

import { type AccessShape, type Counter, emptyCounts, type WarpCounts } from './access';
import type { Capability, GlobalRules } from './capabilities';
import { DistinctSet } from './distinct-set';
import { constantStride, countActive } from './lanes';

/** Bytes of a sector, the smallest piece that moves between caches. */
export const SECTOR = 32;

/** Whether a load of this shape goes through L1. Stores, atomics and texture fetches never do. */
export function isCached(rules: GlobalRules, shape: AccessShape): boolean {
  if (shape.operation !== 'load' || shape.space === 'texture') return false;
  return shape.caching === undefined ? rules.loadsCachedByDefault : shape.caching === 'l1';
}

/** Distinct units of `unitBytes` that the active lanes from … to - 1 touch. */
function countUnits(
  seen: DistinctSet,
  unitBytes: number,
  addresses: Float64Array,
  active: Uint8Array,
  from: number,
  to: number,
): number {
  const perUnit = 1 / unitBytes;
  let lane = from;
  while (lane < to && active[lane] === 0) lane++;
  if (lane === to) return 0;
  // Nearly every access ascends or descends: a unit that was left does not come back, and changes can be counted.
  const start = lane;
  let last = Math.floor(addresses[lane] * perUnit);
  let up = 1;
  let down = 1;
  for (lane++; lane < to; lane++) {
    if (active[lane] === 0) continue;
    const unit = Math.floor(addresses[lane] * perUnit);
    if (unit > last) up++;
    else if (unit < last) down++;
    last = unit;
  }
  if (down === 1) return up;
  if (up === 1) return down;
  seen.clear();
  let count = 0;
  for (lane = start; lane < to; lane++) {
    if (active[lane] !== 0 && seen.add(Math.floor(addresses[lane] * perUnit))) count++;
  }
  return count;
}

/** The same for `count` lanes a constant stride apart: neighbours skip no unit, or every lane has its own. */
function strideUnits(unitBytes: number, stride: number, start: number, count: number): number {
  const distance = Math.abs(stride);
  if (distance > unitBytes) return count;
  const low = stride < 0 ? start + stride * (count - 1) : start;
  return Math.floor((low + distance * (count - 1)) / unitBytes) - Math.floor(low / unitBytes) + 1;
}

/** What one request adds to the counters; `full` when all its lanes are active. */
type RequestRule = (
  shape: AccessShape,
  addresses: Float64Array,
  active: Uint8Array,
  from: number,
  to: number,
  full: boolean,
  out: WarpCounts,
) => void;

/**
 * 2.x and later: distinct lines. The ideal is the profiler's: the active lanes' bytes packed, or fewer where lanes share
 * data (measured on an H200: 232 of 232 patterns).
 */
function lineRule(rules: GlobalRules): RequestRule {
  const seen = new DistinctSet(64);
  return (shape, addresses, active, from, to, full, out) => {
    const count = full ? to - from : countActive(active, from, to);
    if (count === 0) return;
    const lineBytes = isCached(rules, shape) ? rules.cachedLineBytes : rules.lineBytes;
    const stride = full ? constantStride(addresses, from, to) : Number.NaN;
    const lines = Number.isNaN(stride)
      ? countUnits(seen, lineBytes, addresses, active, from, to)
      : strideUnits(lineBytes, stride, addresses[from], count);
    const packed = Math.ceil((count * shape.bytes) / lineBytes);
    const ideal = Math.min(lines, packed);
    out.transactions += lines;
    out.sectors += lines * (lineBytes / SECTOR);
    out.idealSectors += ideal * (lineBytes / SECTOR);
  };
}

/**
 * Atomics: a word is updated by one lane at a time, so a sector is sent as often as lanes meet on one of its words
 * (measured on 9.0: exact in 218 of 226 patterns, one or two more in the others).
 */
function atomicRule(): RequestRule {
  const words = new DistinctSet(64);
  const sectors = new DistinctSet(64);
  const lanesOfWord = new Uint8Array(64);
  const mostOfSector = new Uint8Array(64);
  return (shape, addresses, active, from, to, full, out) => {
    const stride = full ? constantStride(addresses, from, to) : Number.NaN;
    if (Math.abs(stride) >= shape.bytes) {
      const units = strideUnits(SECTOR, stride, addresses[from], to - from);
      out.sectors += units;
      out.transactions += units;
      out.idealSectors += Math.min(units, Math.ceil(((to - from) * shape.bytes) / SECTOR));
      return;
    }
    words.clear();
    sectors.clear();
    let sent = 0;
    let count = 0;
    let touched = 0;
    for (let lane = from; lane < to; lane++) {
      if (active[lane] === 0) continue;
      count++;
      let word = words.slot(Math.floor(addresses[lane] / shape.bytes));
      if (word < 0) lanesOfWord[(word = ~word)] = 0;
      let sector = sectors.slot(Math.floor(addresses[lane] / SECTOR));
      if (sector < 0) {
        mostOfSector[(sector = ~sector)] = 0;
        touched++;
      }
      if (++lanesOfWord[word] > mostOfSector[sector]) {
        mostOfSector[sector] = lanesOfWord[word];
        sent++;
      }
    }
    out.sectors += shape.perLine ? touched : sent;
    out.transactions += sent;
    out.idealSectors += Math.min(touched, Math.ceil((count * shape.bytes) / SECTOR));
  };
}

/** 1.0 and 1.1: whether every active lane k is on word k of a segment aligned to its whole length. */
export function isInOrder(
  addresses: Float64Array,
  active: Uint8Array,
  from: number,
  to: number,
  bytes: number,
): boolean {
  if (bytes < 4) return false;
  let base = -1;
  for (let lane = from; lane < to; lane++) {
    if (active[lane] === 0) continue;
    const start = addresses[lane] - (lane - from) * bytes;
    if (base < 0) base = start;
    if (start !== base || start < 0 || start % (16 * bytes) !== 0) return false;
  }
  return true;
}

/** Lanes of a half-warp; its words fill 64, 128 or 256 bytes, the last in two transactions (guide, 1.x). */
const HALF_WARP = 16;
const LARGEST_SEGMENT = 128;

/** 1.0 and 1.1: one segment where lanes are in order, otherwise a transaction of 32 bytes for every active lane. */
const inOrderRule: RequestRule = (shape, addresses, active, from, to, _full, out) => {
  const count = countActive(active, from, to);
  if (count === 0) return;
  const whole = HALF_WARP * shape.bytes;
  const wholeSectors = shape.bytes < 4 ? count : whole / SECTOR;
  out.idealSectors += Math.min(wholeSectors, count);
  if (shape.operation !== 'atomic' && isInOrder(addresses, active, from, to, shape.bytes)) {
    out.sectors += whole / SECTOR;
    out.transactions += Math.ceil(whole / LARGEST_SEGMENT);
  } else {
    out.sectors += count;
    out.transactions += count;
  }
};

/** Bytes of the segment a 1.2 or 1.3 request begins with, by word size. */
export function segmentBytes(bytes: number): number {
  return bytes >= 4 ? LARGEST_SEGMENT : bytes * SECTOR;
}

/**
 * 1.2 and 1.3: the lowest waiting lane's segment, with every lane in it, shrunk to the half that is used while there
 * is one. Calls `emit` with each transaction; `waiting` is scratch of at least to - from entries.
 */
export function shrinkingSegments(
  addresses: Float64Array,
  active: Uint8Array,
  from: number,
  to: number,
  bytes: number,
  waiting: Uint8Array,
  emit: (address: number, bytes: number) => void,
): void {
  const segment = segmentBytes(bytes);
  for (let lane = from; lane < to; lane++) waiting[lane - from] = active[lane];
  for (let lane = from; lane < to; lane++) {
    if (waiting[lane - from] === 0) continue;
    const base = Math.floor(addresses[lane] / segment) * segment;
    let low = addresses[lane];
    let high = low;
    for (let other = lane; other < to; other++) {
      const address = addresses[other];
      if (waiting[other - from] === 0 || address < base || address >= base + segment) continue;
      waiting[other - from] = 0;
      if (address < low) low = address;
      if (address > high) high = address;
    }
    let size = segment;
    let start = base;
    while (size > SECTOR) {
      const middle = start + size / 2;
      if (low >= middle) start = middle;
      else if (high + bytes > middle) break;
      size /= 2;
    }
    emit(start, size);
  }
}

function shrinkingRule(): RequestRule {
  const waiting = new Uint8Array(32);
  let current: WarpCounts | undefined;
  const emit = (_address: number, bytes: number) => {
    if (current === undefined) return;
    current.sectors += bytes / SECTOR;
    current.transactions++;
  };
  return (shape, addresses, active, from, to, _full, out) => {
    const count = countActive(active, from, to);
    if (count === 0) return;
    current = out;
    const before = out.sectors;
    shrinkingSegments(addresses, active, from, to, shape.bytes, waiting, emit);
    const packed = packedSegments(count * shape.bytes, segmentBytes(shape.bytes));
    out.idealSectors += Math.min(out.sectors - before, packed);
  };
}

/** Sectors of `bytes` bytes side by side: whole segments, and the smallest segment for the rest. */
function packedSegments(bytes: number, segment: number): number {
  const rest = bytes % segment;
  let last = rest === 0 ? 0 : SECTOR;
  while (last < rest) last *= 2;
  return (bytes - rest + last) / SECTOR;
}

const loadRules: Readonly<Record<GlobalRules['coalescing'], (rules: GlobalRules) => RequestRule>> = {
  'segment-in-order': () => inOrderRule,
  'segment-shrinking': shrinkingRule,
  lines: lineRule,
};

/** Cuts a warp into requests and hands them to a rule. */
function byRequests(rules: GlobalRules, plain: RequestRule, atomic: RequestRule): Counter {
  return (shape, addresses, active, first, lanes, out) => {
    const rule = shape.operation === 'atomic' ? atomic : plain;
    const step = rules.lanesPerRequest[shape.bytes];
    const end = first + lanes;
    const full = out.lanes === lanes;
    for (let from = first; from < end; from += step) {
      rule(shape, addresses, active, from, Math.min(from + step, end), full, out);
    }
  };
}

/** Global memory of a capability. */
export function globalCounter(capability: Capability): Counter {
  const rules = capability.global;
  const atomic = rules.coalescing === 'segment-in-order' ? inOrderRule : atomicRule();
  return byRequests(rules, loadRules[rules.coalescing](rules), atomic);
}

/** Texture fetches: distinct sectors, without rules for the order of lanes; the cache's hits are not modelled. */
export function textureCounter(capability: Capability): Counter {
  return byRequests(capability.global, lineRule(capability.global), atomicRule());
}

/**
 * Local memory: word w of every lane lies beside word w of its neighbours (guide), so an access is one 4-byte global
 * access a word. Addresses are offsets in the thread's own local memory. The ideal is that of all lanes on one offset.
 */
export function localCounter(capability: Capability): Counter {
  const count = globalCounter(capability);
  const physical = new Float64Array(32);
  const lanesUsed = new Uint8Array(32);
  const word: AccessShape = { space: 'local', operation: 'load', bytes: 4 };
  const ideal = emptyCounts();
  return (shape, addresses, active, first, lanes, out) => {
    word.operation = shape.operation === 'store' ? 'store' : 'load';
    word.caching = shape.caching;
    for (let lane = 0; lane < lanes; lane++) {
      lanesUsed[lane] = active[first + lane];
      physical[lane] = lane * 4;
    }
    const words = Math.max(1, shape.bytes / 4);
    ideal.sectors = 0;
    ideal.lanes = out.lanes;
    count(word, physical, lanesUsed, 0, lanes, ideal);
    for (let piece = 0; piece < words; piece++) {
      for (let lane = 0; lane < lanes; lane++) {
        physical[lane] = (Math.floor(addresses[first + lane] / 4) + piece) * 128 + lane * 4;
      }
      count(word, physical, lanesUsed, 0, lanes, out);
    }
    out.idealSectors = ideal.sectors * words;
  };
}
