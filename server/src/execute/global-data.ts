/**
 * What is known of the contents of global and constant memory when a kernel begins: the data that the program of the host has put there.
 * Blocks of a grid are executed apart, so that a block sees this and what it has stored itself. What atomics change, other blocks
 * change too: that is never known.
 */
import { mayAlias } from '../program/aliasing';
import { dependencies } from '../program/dependence';
import type { AccessSite, Program } from '../program/program';
import { bitcast } from './conversion';
import type { GlobalData, MemoryBlock } from './execution';
import type { Layout } from './layout';
import type { Cell } from './memory';
import { type BoundLoop, PAGE, PAGES, segmentLoop } from './segment-loads';
import type { Lanes32, Lanes64 } from './value';

/** Bytes at an address of the execution. */
interface Segment {
  readonly first: number;
  readonly end: number;
  readonly view: DataView;
  readonly shadows: Uint8Array | undefined;
  readonly isResult: boolean;
  readonly isZero: boolean;
  /** By the tag of a cell: what loads them for many lanes; null where nothing does. */
  readonly loops: (BoundLoop | null | undefined)[];
}

const halfOf = bitcast('u16', 'f16').scalar;
const bfloatOf = bitcast('u16', 'bf16').scalar;

/** By the tag of a cell: its value from bytes. */
const readers: Readonly<Record<number, (view: DataView, at: number) => number | undefined>> = {
  1: (view, at) => view.getInt8(at),
  2: (view, at) => view.getInt16(at, true),
  3: (view, at) => view.getInt32(at, true),
  4: (view, at) => safe(view.getBigInt64(at, true)),
  5: (view, at) => halfOf(view.getUint16(at, true)),
  6: (view, at) => bfloatOf(view.getUint16(at, true)),
  7: (view, at) => view.getFloat32(at, true),
  8: (view, at) => view.getFloat64(at, true),
};

function safe(value: bigint): number | undefined {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : undefined;
}

interface Stored {
  readonly tag: number;
  readonly bytes: number;
  readonly value: number | undefined;
  readonly reason: number;
}

const pageOf = (address: number): number => (address / PAGE) & (PAGES - 1);
/** Bytes of the widest cell. */
const WIDEST = 8;
/** The tag of what was overwritten in parts: no cell has it. */
const LOST = 0;
const NONE: readonly number[] = [];

export class GlobalContents {
  /** Why the last read gave nothing; 0 where there was nothing to be known. */
  reason = 0;
  /** Accesses that the contents have given a value. */
  readonly given = new Set<number>();
  /** Of these: accesses to blocks that kernels before have written to. */
  readonly results = new Set<number>();
  /** Of these: accesses to what the launch itself has stored, in one of the orders that its blocks may run in. */
  readonly ordered = new Set<number>();
  /** Of these: accesses to memory that nothing was written to. */
  readonly zeros = new Set<number>();
  private readonly stored = new Map<number, Stored>();
  private readonly sizes = new Set<number>();
  /** Something was stored at an address that is no multiple of its size. */
  private hasOdd = false;
  /** By page: 1 where something was stored; pages that are far apart share a mark. */
  private readonly pages = new Uint8Array(PAGES);
  private poisoned = 0;
  private last: Segment | undefined;
  /** By access: 1 when atomics of the kernel may change what it reads, or its stores what is read as volatile: a flag that another block sets. */
  private readonly contested: Uint8Array;
  /**
   * By access: 1 when it decides whether something is executed. Memory that is still blank decides nothing: what fills it may not be written
   * yet, and both sides of the condition have figures until then.
   */
  private readonly decides: Uint8Array;

  /**
   * @param isShared all blocks are executed, in order: each finds what those before it have stored
   * @param tooLarge the reason of numbers that a register does not hold, 0 for none
   */
  constructor(
    program: Program,
    private readonly segments: readonly Segment[],
    readonly isShared: boolean,
    private readonly tooLarge = 0,
  ) {
    const changes = isShared ? [] : program.accesses.filter((site) => site.operation !== 'load');
    const isContested = (site: AccessSite) =>
      changes.some((by) => (by.operation === 'atomic' || site.isVolatile) && mayAlias(site, by));
    this.contested = Uint8Array.from(program.accesses, (site) => (isContested(site) ? 1 : 0));
    this.decides = new Uint8Array(program.accesses.length);
    if (!segments.some(({ isZero }) => isZero)) return;
    const { executionLoads, branches } = dependencies(program);
    for (const loads of [...executionLoads, ...branches.map((branch) => branch.loads)])
      for (const access of loads) this.decides[access] = 1;
  }

  /** Another block begins. */
  clear(): void {
    if (this.isShared) return;
    if (this.stored.size > 0) this.pages.fill(0);
    this.stored.clear();
    this.sizes.clear();
    this.hasOdd = false;
    this.poisoned = 0;
  }

  /** The value at an address; undefined where it is not known. */
  read(address: number, cell: Cell, access: number): number | undefined {
    this.reason = this.poisoned;
    if (this.poisoned !== 0 || this.contested[access] === 1) return undefined;
    if (this.stored.size > 0 && this.isNearStored(address)) {
      const own = this.stored.get(address);
      if (own) {
        this.reason = own.reason;
        if (this.isShared) {
          this.given.add(access);
          this.ordered.add(access);
        }
        return own.tag === cell.tag && own.value !== undefined ? cell.read(own.value) : undefined;
      }
      if (this.placesOver(address, cell.bytes).length > 0) return undefined;
    }
    const segment = this.segmentAt(address, cell.bytes);
    if (!segment) return undefined;
    if (segment.isZero) {
      if (this.decides[access] === 1) return undefined;
      this.given.add(access);
      this.zeros.add(access);
      return cell.read(0);
    }
    const at = address - segment.first;
    if (segment.shadows) for (let i = 0; i < cell.bytes; i++) if (segment.shadows[at + i] === 0) return undefined;
    const value = readers[cell.tag](segment.view, at);
    if (value === undefined) {
      this.reason = this.tooLarge;
      return undefined;
    }
    this.given.add(access);
    if (segment.isResult) this.results.add(access);
    return cell.read(value);
  }

  /**
   * Reads lane after lane at addresses of a vector, from the segment that was read last.
   * @returns the first lane that has to be read by itself; else `hi`
   */
  readLanes(
    d: Lanes32 | Lanes64,
    addresses: Lanes64,
    offset: number,
    cell: Cell,
    access: number,
    lanes: Uint8Array,
    lo: number,
    hi: number,
  ): number {
    const { last: segment } = this;
    if (!segment || segment.isZero || this.poisoned !== 0 || this.contested[access] === 1) return lo;
    let loop = segment.loops[cell.tag];
    if (loop === undefined) segment.loops[cell.tag] = loop = segmentLoop(segment.view, cell.tag) ?? null;
    if (!loop) return lo;
    const { first, end, shadows } = segment;
    const stored = this.stored.size > 0 ? this.pages : undefined;
    const next = loop(d, { addresses, offset, lanes, hi, last: end - cell.bytes, first, shadows, stored }, lo);
    const active = next > lo ? lanes.indexOf(1, lo) : -1;
    if (active >= 0 && active < next) {
      this.given.add(access);
      if (segment.isResult) this.results.add(access);
    }
    return next;
  }

  /** Stores a value, or undefined for one that is not known for `reason`. */
  write(address: number, cell: Cell, value: number | undefined, reason: number): void {
    const { bytes, tag } = cell;
    this.sizes.add(bytes);
    this.hasOdd ||= (address & (bytes - 1)) !== 0;
    this.pages[pageOf(address)] = 1;
    // all of one size, none of which lies over another
    if (this.hasOdd || this.sizes.size > 1) this.overwrite(address, bytes);
    this.stored.set(address, { tag, bytes, value, reason });
  }

  /** Values of which a part is overwritten are lost; the rest of theirs is not the host's any more. */
  private overwrite(address: number, bytes: number): void {
    for (const at of this.placesOver(address, bytes)) {
      const size = this.stored.get(at)?.bytes ?? 0;
      if (at !== address) this.lose(at, size);
      else if (size > bytes) this.lose(address + bytes, size - bytes);
    }
  }

  private lose(at: number, bytes: number): void {
    const before = this.stored.get(at)?.bytes ?? 0;
    // a rest begins where none of its size may
    this.hasOdd ||= (at & (bytes - 1)) !== 0 || (bytes & (bytes - 1)) !== 0;
    this.pages[pageOf(at)] = 1;
    this.stored.set(at, { tag: LOST, bytes: Math.max(bytes, before), value: undefined, reason: 0 });
  }

  /** Something was stored at an address that is not known. */
  poison(reason: number): void {
    this.poisoned = reason;
  }

  private isNearStored(address: number): boolean {
    const { pages } = this;
    // what is read, or was stored, may lie across the end of a page
    return pages[pageOf(address)] + pages[pageOf(address + WIDEST - 1)] + pages[pageOf(address - WIDEST + 1)] > 0;
  }

  /** Where values begin that lie over some of the bytes; one of their size at their address is not looked for. */
  private placesOver(address: number, bytes: number): readonly number[] {
    if (this.hasOdd || (address & (bytes - 1)) !== 0) return this.placesFrom(address - WIDEST + 1, 1, address, bytes);
    let found = NONE;
    for (const size of this.sizes) {
      if (size === bytes) continue;
      const more = this.placesFrom(address - (address & (size - 1)), size, address, bytes);
      found = found.length === 0 ? more : [...found, ...more];
    }
    return found;
  }

  private placesFrom(first: number, step: number, address: number, bytes: number): readonly number[] {
    let found = NONE;
    for (let at = first; at < address + bytes; at += step) {
      const other = this.stored.get(at);
      if (other && at + other.bytes > address) found = [...found, at];
    }
    return found;
  }

  private segmentAt(address: number, bytes: number): Segment | undefined {
    if (this.last && address >= this.last.first && address + bytes <= this.last.end) return this.last;
    for (const segment of this.segments) {
      if (address < segment.first || address + bytes > segment.end) continue;
      this.last = segment;
      return segment;
    }
    return undefined;
  }
}

/**
 * The contents for a launch: the host's blocks at the addresses that the execution gives the kernel's buffers, and at the host's own,
 * for pointers that are loaded. Undefined when nothing is known.
 * @param addressOf by input: the address that the execution gives it
 * @param isShared all blocks are executed, in order
 */
export function globalContents(
  program: Program,
  data: GlobalData,
  layout: Layout,
  addressOf: (input: number) => number | undefined,
  isShared: boolean,
  tooLarge: number,
): GlobalContents | undefined {
  const segments: Segment[] = [];
  const seen = new Set<number>();
  const add = (address: number, hostAddress: number | undefined) => {
    const block = hostAddress === undefined ? undefined : blockOf(data.blocks, hostAddress);
    if (!block || hostAddress === undefined) return;
    const first = address - (hostAddress - block.address);
    if (seen.has(first)) return;
    seen.add(first);
    segments.push(segment(first, block));
  };
  for (const [input, hostAddress] of data.pointers) {
    const address = addressOf(input);
    if (address !== undefined) add(address, hostAddress);
  }
  program.objects.forEach((object, index) => {
    const address = layout.addresses[index];
    if (address !== undefined && (object.space === 'global' || object.space === 'constant') && !object.contents)
      add(address, data.symbols.get(object.name));
  });
  for (const block of data.blocks) if (holdsAnything(block)) add(block.address, block.address);
  return segments.length === 0 ? undefined : new GlobalContents(program, segments, isShared, tooLarge);
}

const blockOf = (blocks: readonly MemoryBlock[], address: number): MemoryBlock | undefined =>
  blocks.find((b) => holdsAnything(b) && address >= b.address && address < b.address + b.size);

const holdsAnything = ({ bytes, isZero }: MemoryBlock): boolean => bytes !== undefined || isZero === true;

function segment(first: number, { size, bytes = new Uint8Array(0), shadows, isResult, isZero }: MemoryBlock): Segment {
  return {
    first,
    end: first + (isZero ? size : bytes.length),
    view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length),
    shadows,
    isResult: isResult === true,
    isZero: isZero === true,
    loops: [],
  };
}
