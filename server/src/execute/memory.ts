/** What is known of the contents of memory: values stored to shared and local memory, and constant tables. */

import { bytesOf, type ScalarType } from '../program/program';
import { wrapTo } from './integer32';
import { assembled, byteTaken, isAssembled, takeBytes } from './reinterpret';

/** No value starts here, or one of halves of floating point that was partly overwritten. */
const NOTHING = 0;
/** A later byte of a value. */
const REST = 255;
/** A value that is not known; the reason is in place of the value. */
const NOT_KNOWN = 254;

/** Values are found again when read in the type they were stored in, signed or not. */
const tagOf: Readonly<Record<ScalarType, number>> = {
  pred: 1,
  i8: 1,
  u8: 1,
  i16: 2,
  u16: 2,
  i32: 3,
  u32: 3,
  i64: 4,
  u64: 4,
  f16: 5,
  bf16: 6,
  f32: 7,
  f64: 8,
};

const BYTE = tagOf.u8;

const identity = (x: number) => x;
const reread: Partial<Record<ScalarType, (x: number) => number>> = {
  pred: wrapTo('pred'),
  i8: wrapTo('i8'),
  u8: wrapTo('u8'),
  i16: wrapTo('i16'),
  u16: wrapTo('u16'),
};

/** How a value of a type is stored. */
export interface Cell {
  readonly tag: number;
  readonly bytes: number;
  /** The stored form as a value of the type (signedness may differ). */
  readonly read: (x: number) => number;
}

export function cellOf(type: ScalarType): Cell {
  return { tag: tagOf[type], bytes: bytesOf[type], read: reread[type] ?? identity };
}

/** Where lanes read or write: at the addresses of a vector, or all at one. */
export interface LaneAddresses {
  /** Active lanes, those from `lane` to `hi` - 1 are meant. */
  readonly lanes: Uint8Array;
  lane: number;
  readonly hi: number;
  readonly addresses: Float64Array | undefined;
  readonly scalar: number;
  readonly offset: number;
}

type LaneVector = Int32Array | Float64Array;

/** Stores that are listed, so that all of it may become unknown at once for what they cost. */
const MOST_LISTED = 4096;

/** Contents of a window of memory, one byte address after the other; one copy a lane for local memory. */
export class Contents {
  private readonly values: Float64Array;
  private readonly tags: Uint8Array;
  /** Reason of the last read that found nothing. */
  reason = 0;
  /** A value that is known was stored since the last clearing. */
  holdsKnown = false;
  /** Why nothing is known of a byte that nothing was stored to. */
  private otherwise: number;
  /** Slots `low` to `high` - 1: what was stored to since all of it was cleared or became unknown. */
  private low: number;
  private high = 0;
  /** The first slots of what was stored since, and how many bytes each, as long as that is little of all. */
  private readonly stored: Int32Array;
  private storedCount = 0;
  private readonly mostListed: number;

  /** @param copies 1, or the lanes of a block where every lane has its own copy */
  constructor(
    private readonly base: number,
    private readonly bytes: number,
    private readonly copies: number,
    private readonly neverWritten: number,
  ) {
    this.values = new Float64Array(bytes * copies);
    this.tags = new Uint8Array(bytes * copies);
    this.low = this.tags.length;
    this.otherwise = neverWritten;
    this.mostListed = Math.min(MOST_LISTED, this.tags.length >> 4);
    this.stored = new Int32Array(2 * this.mostListed);
  }

  clear(): void {
    this.poison(this.neverWritten);
  }

  /**
   * Everything becomes unknown, as after a store to an unknown address. It costs what was stored since it last did: local arrays of all
   * lanes are large, and such stores may come in turns with others (faiss PQScanMultiPassPrecomputed.cu: 200 s).
   */
  poison(reason: number): void {
    if (this.storedCount > this.mostListed) this.tags.fill(NOTHING, this.low, this.high);
    else this.clearListed();
    this.storedCount = 0;
    this.low = this.tags.length;
    this.high = 0;
    this.holdsKnown = false;
    this.otherwise = reason;
  }

  private clearListed(): void {
    const { tags, stored, copies } = this;
    for (let k = 0; k < this.storedCount; k++)
      for (let i = 0; i < stored[2 * k + 1]; i++) tags[stored[2 * k] + i * copies] = NOTHING;
  }

  /** The value at an address, or undefined, upon which `reason` says why. */
  read(address: number, lane: number, cell: Cell): number | undefined {
    const at = address - this.base;
    if (!(at >= 0 && at + cell.bytes <= this.bytes) || !Number.isInteger(at)) {
      this.reason = this.neverWritten;
      return undefined;
    }
    const slot = this.copies === 1 ? at : at * this.copies + lane;
    if (this.tags[slot] === cell.tag) return cell.read(this.values[slot]);
    return this.readOther(slot, cell);
  }

  /** What was stored in other types, put together of its bytes; undefined, upon which `reason` says why, if one is not known. */
  private readOther(slot: number, { tag, bytes, read }: Cell): number | undefined {
    const { tags, values, copies } = this;
    this.reason = tags[slot] === NOT_KNOWN ? values[slot] : this.otherwise;
    if (tags[slot] === NOTHING || tags[slot] === NOT_KNOWN || !isAssembled(tag)) return undefined;
    for (let done = 0; done < bytes; ) {
      let head = slot + done * copies;
      let skipped = 0;
      for (; tags[head] === REST && head >= copies; head -= copies) skipped++;
      if (tags[head] === NOT_KNOWN) this.reason = values[head];
      const taken = takeBytes(tags[head], values[head], skipped, done);
      if (taken === 0) return undefined;
      done += taken;
    }
    const value = assembled(tag);
    return value === undefined ? undefined : read(value);
  }

  /** Stores a value, or undefined for one that is unknown for `reason`. */
  write(address: number, lane: number, cell: Cell, value: number | undefined, reason: number): void {
    const at = address - this.base;
    if (!(at >= 0 && at + cell.bytes <= this.bytes) || !Number.isInteger(at)) return;
    const step = this.copies;
    const slot = step === 1 ? at : at * step + lane;
    const tag = value === undefined ? NOT_KNOWN : cell.tag;
    if (this.tags[slot] !== tag || tag === NOT_KNOWN) this.claim(slot, cell.bytes, step, at);
    if (this.storedCount < this.mostListed) {
      this.stored[2 * this.storedCount] = slot;
      this.stored[2 * this.storedCount + 1] = cell.bytes;
    }
    if (this.storedCount <= this.mostListed) this.storedCount++;
    this.tags[slot] = tag;
    this.values[slot] = value ?? reason;
    this.holdsKnown ||= value !== undefined;
    if (slot < this.low) this.low = slot;
    if (slot + cell.bytes * step > this.high) this.high = slot + cell.bytes * step;
  }

  /**
   * What lanes find, one after the other as by `read`, from the first given on as long as their addresses lie in this memory.
   * @param found what is known is written here
   * @param unknown called before the first lane that finds nothing is marked; gives the marks
   * @returns the first lane that was not looked at
   */
  readLanes(at: LaneAddresses, cell: Cell, found: LaneVector, unknown: (reason: number) => Uint8Array): number {
    const { lanes, hi, addresses, scalar, offset } = at;
    const { base, bytes, copies, tags, values } = this;
    const { tag, read } = cell;
    const last = bytes - cell.bytes;
    const isAsStored = read === identity;
    let marks: Uint8Array | undefined;
    let lane = at.lane;
    for (; lane < hi; lane++) {
      if (lanes[lane] === 0) continue;
      const place = (addresses === undefined ? scalar : addresses[lane]) + offset - base;
      if (!(place >= 0 && place <= last) || place % 1 !== 0) break;
      const slot = copies === 1 ? place : place * copies + lane;
      if (tags[slot] === tag) found[lane] = isAsStored ? values[slot] : read(values[slot]);
      else {
        const other = this.readOther(slot, cell);
        if (other !== undefined) found[lane] = other;
        else {
          marks ??= unknown(this.reason);
          marks[lane] = 1;
        }
      }
    }
    return lane;
  }

  /**
   * Stores to lanes one after the other, as by `write`, from the first given on as long as their addresses lie in this memory.
   * @param stored undefined where the same number is stored in all lanes
   * @param unknownLanes lanes for which the number is not known; undefined: none
   * @param isKnown false: it is not known in any
   * @returns the first lane that was not looked at
   */
  writeLanes(
    at: LaneAddresses,
    cell: Cell,
    stored: LaneVector | undefined,
    same: number,
    unknownLanes: Uint8Array | undefined,
    isKnown: boolean,
    reason: number,
  ): number {
    const { lanes, hi, addresses, scalar, offset } = at;
    const { base, bytes, copies, tags, values, mostListed } = this;
    const last = bytes - cell.bytes;
    const span = cell.bytes * copies;
    let lane = at.lane;
    for (; lane < hi; lane++) {
      if (lanes[lane] === 0) continue;
      const place = (addresses === undefined ? scalar : addresses[lane]) + offset - base;
      if (!(place >= 0 && place <= last) || place % 1 !== 0) break;
      const slot = copies === 1 ? place : place * copies + lane;
      const isLaneKnown = isKnown && (unknownLanes === undefined || unknownLanes[lane] === 0);
      const tag = isLaneKnown ? cell.tag : NOT_KNOWN;
      if (tags[slot] !== tag || tag === NOT_KNOWN) this.claim(slot, cell.bytes, copies, place);
      if (this.storedCount < mostListed) {
        this.stored[2 * this.storedCount] = slot;
        this.stored[2 * this.storedCount + 1] = cell.bytes;
      }
      if (this.storedCount <= mostListed) this.storedCount++;
      tags[slot] = tag;
      values[slot] = isLaneKnown ? (stored === undefined ? same : stored[lane]) : reason;
      if (isLaneKnown) this.holdsKnown = true;
      if (slot < this.low) this.low = slot;
      if (slot + span > this.high) this.high = slot + span;
    }
    return lane;
  }

  /** Frees bytes for a value: of what overlaps it the other bytes stay. */
  private claim(slot: number, bytes: number, step: number, at: number): void {
    const { tags } = this;
    if (tags[slot] === REST) {
      let head = slot;
      for (let left = at; left > 0 && tags[head] === REST; left--) head -= step;
      this.split(head, step);
    }
    const end = slot + bytes * step;
    if (tags[end] === REST) {
      let head = end;
      while (head > slot && tags[head] === REST) head -= step;
      this.split(head, step);
    }
    for (let i = 1; i < bytes; i++) tags[slot + i * step] = REST;
  }

  /** Makes of a value its bytes, so that some of them can be overwritten. */
  private split(head: number, step: number): void {
    const { tags, values } = this;
    const tag = tags[head];
    const value = values[head];
    const isKnown = isAssembled(tag) && takeBytes(tag, value, 0, 0) > 0;
    for (let at = head, k = 0; at < tags.length && (k === 0 || tags[at] === REST); at += step, k++) {
      tags[at] = isKnown ? BYTE : tag === NOT_KNOWN ? NOT_KNOWN : NOTHING;
      values[at] = isKnown ? byteTaken(k) : value;
    }
  }
}

/** A table whose contents the source gives. */
export interface Table {
  readonly first: number;
  readonly end: number;
  readonly elementBytes: number;
  readonly tag: number;
  readonly values: readonly number[];
}

/** The element of a table at an address, if the type fits. */
export function readTable(tables: readonly Table[], address: number, cell: Cell): number | undefined {
  for (const table of tables) {
    if (address < table.first || address >= table.end) continue;
    const index = (address - table.first) / table.elementBytes;
    return table.tag === cell.tag && Number.isInteger(index) ? cell.read(table.values[index]) : undefined;
  }
  return undefined;
}
