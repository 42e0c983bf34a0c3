/**
 * Loops over lanes for loads of what the host has put into global memory: the same as `GlobalContents.read` for lane after lane, which was a fifth
 * of the time of programs whose accesses rest on such data. Each kind of array has a function of its own, so that its loop sees no other.
 */
import type { Lanes32, Lanes64 } from './value';

/** Where lanes load from: addresses of a segment, whose bytes begin at `first`. */
export interface SegmentLanes {
  readonly addresses: Lanes64;
  readonly offset: number;
  readonly lanes: Uint8Array;
  readonly hi: number;
  /** The last address at which what is loaded still lies in the segment. */
  readonly last: number;
  readonly first: number;
  /** By byte of the segment: 0 where it is not known; all are where there are none. */
  readonly shadows: Uint8Array | undefined;
  /** By page of an address modulo their number: 1 where something was stored since; undefined where nothing was. */
  readonly stored: Uint8Array | undefined;
}

/** Bytes that are told apart when asking whether anything was stored near an address. */
export const PAGE = 4096;
export const PAGES = 4096;

/** @returns the first lane that is not simple: outside of the segment, not aligned, not known, or near what was stored; else `hi` */
type SegmentLoop<A> = (d: Lanes32 | Lanes64, from: A, at: SegmentLanes, lo: number) => number;

const loadWords: SegmentLoop<Int32Array> = (d, from, at, lo) => {
  const { addresses, offset, lanes, hi, last, first, shadows, stored } = at;
  for (let lane = lo; lane < hi; lane++) {
    if (lanes[lane] === 0) continue;
    const address = addresses[lane] + offset;
    const byte = address - first;
    if (!(byte >= 0 && address <= last) || (byte & 3) !== 0) return lane;
    if (stored !== undefined && isNear(stored, address)) return lane;
    if (shadows !== undefined && !areKnown(shadows, byte, 4)) return lane;
    d[lane] = from[byte >> 2];
  }
  return hi;
};

const loadFloats: SegmentLoop<Float32Array> = (d, from, at, lo) => {
  const { addresses, offset, lanes, hi, last, first, shadows, stored } = at;
  for (let lane = lo; lane < hi; lane++) {
    if (lanes[lane] === 0) continue;
    const address = addresses[lane] + offset;
    const byte = address - first;
    if (!(byte >= 0 && address <= last) || (byte & 3) !== 0) return lane;
    if (stored !== undefined && isNear(stored, address)) return lane;
    if (shadows !== undefined && !areKnown(shadows, byte, 4)) return lane;
    d[lane] = from[byte >> 2];
  }
  return hi;
};

const loadDoubles: SegmentLoop<Float64Array> = (d, from, at, lo) => {
  const { addresses, offset, lanes, hi, last, first, shadows, stored } = at;
  for (let lane = lo; lane < hi; lane++) {
    if (lanes[lane] === 0) continue;
    const address = addresses[lane] + offset;
    const byte = address - first;
    if (!(byte >= 0 && address <= last) || (byte & 7) !== 0) return lane;
    if (stored !== undefined && isNear(stored, address)) return lane;
    if (shadows !== undefined && !areKnown(shadows, byte, 8)) return lane;
    d[lane] = from[byte >> 3];
  }
  return hi;
};

/** Bytes of the widest value, which may lie across the end of a page. */
const WIDEST = 8;

function isNear(stored: Uint8Array, address: number): boolean {
  const [first, last] = [address - WIDEST + 1, address + WIDEST - 1];
  return stored[(first / PAGE) & (PAGES - 1)] + stored[(last / PAGE) & (PAGES - 1)] > 0;
}

function areKnown(shadows: Uint8Array, byte: number, bytes: number): boolean {
  for (let i = byte; i < byte + bytes; i++) if (shadows[i] === 0) return false;
  return true;
}

/** Loads from the bytes of a segment: a loop over its words, floats or doubles. */
export type BoundLoop = (d: Lanes32 | Lanes64, at: SegmentLanes, lo: number) => number;

/**
 * The loop for cells of a tag (memory.ts); undefined where there is none.
 * @param view whose bytes are those of a processor whose low byte comes first
 */
export function segmentLoop(view: DataView, tag: number): BoundLoop | undefined {
  const { buffer, byteOffset, byteLength } = view;
  if (byteOffset % WIDEST !== 0 || !IS_LOW_FIRST) return undefined;
  switch (tag) {
    case 3: {
      const words = new Int32Array(buffer, byteOffset, byteLength >> 2);
      return (d, at, lo) => loadWords(d, words, at, lo);
    }
    case 7: {
      const floats = new Float32Array(buffer, byteOffset, byteLength >> 2);
      return (d, at, lo) => loadFloats(d, floats, at, lo);
    }
    case 8: {
      const doubles = new Float64Array(buffer, byteOffset, byteLength >> 3);
      return (d, at, lo) => loadDoubles(d, doubles, at, lo);
    }
    default:
      return undefined;
  }
}

const IS_LOW_FIRST = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
