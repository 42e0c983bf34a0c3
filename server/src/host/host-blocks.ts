/** The blocks of memory of the host's program, and what it does with whole ones: copies, fills, what becomes unknown, what launches see. */
import type { HostMemory } from './host-memory';
import type { Kept } from './kept-bytes';
import { ALL, DEEPEST, HOST_BASE, SHADOW } from './memory-layout';
import { ANY } from './points-to';

/** A block of memory, or an object of the program: bytes `start` to `end`. */
export interface Block {
  readonly start: number;
  readonly end: number;
  /** Only copies and kernels write to it. */
  isDevice: boolean;
  /** The driver gave it. */
  readonly isOfDevice?: boolean;
  /** Of what its address may be handed to (points-to.ts); ANY where it is not known. */
  readonly memoryClass: number;
  /** A kernel that was executed has written to it. */
  isResult?: boolean;
  /** What launches saw of it and is still there. */
  pending?: Contents;
  /** Of the device's memory: nothing of it is known. */
  isBlank?: boolean;
  /** Of the device's memory: nothing was written to it since the driver gave it, cleared (for other programs' sake). */
  isFresh?: boolean;
  /** The program has given it back. */
  isFree?: boolean;
  /** What was kept of it last. */
  kept?: Kept;
}

/** What a block held at some time. */
export class Contents {
  kept: Kept | undefined;
  /** All is zero; there are no bytes. */
  isZero?: boolean;

  /** @param isResult kernels that were launched before have written to it */
  constructor(
    readonly address: number,
    readonly size: number,
    readonly isResult: boolean,
  ) {}

  /** As far as something of it is known; undefined: nothing is. */
  get bytes(): Uint8Array | undefined {
    return this.kept?.bytes.bytes;
  }

  /** By byte: 0 where it is not known; undefined: all is known. */
  get shadows(): Uint8Array | undefined {
    return this.kept?.shadows?.bytes;
  }
}

/** Bytes of all contents that are kept, and how many of them only small blocks may take: indices and lengths beside large fields. */
const MOST_BYTES = 2 ** 27;
const FOR_SMALL = 2 ** 24;
const SMALL = 2 ** 20;
/** Bytes that a launch which is not the device's own memory is given may have: they are copied each time. */
const MOST_EAGER = 2 ** 24;
/** Bytes of a block whose zeros are written down where something comes to stand between them; of larger ones they are not known any more then. */
const MOST_ZEROS = 2 ** 24;
/** Bytes of a block of which nobody knows how many it needs; loops over it have an end that is not known, and are left. */
const UNKNOWN_SIZE = 65536;
/** Bytes behind such a block that no other has: a kernel may know how much it needs. */
const GAP = 2 ** 20;
/** Blocks that do not fit begin here: nothing is kept behind these addresses, the upper half of 32 bits (memory-access.ts). */
const NOWHERE = 2 ** 31;

/** Ends the run; what was launched until then is known. */
export class Stop extends Error {}

/** About a second. */
const MOST_MOVED = 2 ** 32;
/** Of cudaMalloc's addresses at least (CUDA C++ Programming Guide, Device Memory Accesses). */
const ALIGNMENT = 256;
/** Of smaller blocks of the host's: programs make a million nodes, and one that lies within a segment takes as many sectors and lines wherever that is. */
const LEAST_ALIGNMENT = 32;
/** Bytes that the driver maps at once: what is behind a block in its page can be written (seen on an H200). */
const DEVICE_PAGE = 2 ** 21;
/** Bytes that are moved in the time of an instruction. */
const MOVED_AT_ONCE = 16;
/** Looking at a block takes as long as moving so many bytes. */
const LOOK_COST = 64;
/** Bytes of a block that pointers are looked for in, where there may be any number of them on the way. */
const MOST_SEARCHED = 2 ** 22;
/** Looking for pointers in a byte takes so much longer than moving it. */
const SCAN_COST = 16;

export class HostBlocks {
  /** By place. */
  readonly all: Block[] = [];
  /** Of some block nobody knows how large it is. */
  hasOpen = false;
  /** Memory of the device was given back: what is taken from now on may be old. */
  private isUsed = false;
  /** Something was read that nobody wrote. */
  restsOnZeros = false;
  private nowhere = NOWHERE;
  private kept = 0;
  /** Bytes that copies, fills and what becomes unknown may still move. */
  private moves = MOST_MOVED;
  private movesBefore = MOST_MOVED;

  /** Before it are the program's own objects. */
  private readonly heap: number;
  /** No fewer than that a nest of loops that moves bytes is left with its part of the instructions before all are moved. */
  private readonly instructionsAByte: number;

  /**
   * @param top the first place that is free
   * @param fuel instructions of the whole run
   */
  constructor(
    readonly memory: HostMemory,
    public top: number,
    private readonly reached: readonly (ReadonlySet<number> | undefined)[],
    fuel: number,
  ) {
    this.heap = top;
    this.instructionsAByte = Math.max(1 / MOVED_AT_ONCE, fuel / MOST_MOVED);
  }

  /** @param bytes -1: not known */
  allocate(bytes: number, kind: number, memoryClass: number): number {
    const isOpen = bytes < 0;
    const isDevice = kind === 2;
    const size = isOpen ? UNKNOWN_SIZE : isDevice ? roomOf(bytes) : bytes;
    this.hasOpen ||= isOpen;
    const start = roundUp(this.top, isDevice || isOpen ? ALIGNMENT : alignmentOf(size));
    if (!(start + size + (isOpen ? GAP : 0) <= SHADOW)) {
      const at = this.nowhere;
      this.nowhere += 256;
      if (this.nowhere >= 2 ** 32) throw new Stop('too much memory');
      return HOST_BASE + at;
    }
    this.top = start + size + (isOpen ? GAP : 0);
    this.all.push({
      start,
      end: start + size,
      isDevice,
      isOfDevice: isDevice,
      memoryClass,
      isBlank: isDevice,
      isFresh: isDevice && !isOpen && !this.isUsed,
    });
    if (kind === 1) this.memory.fill(start, start + size, 0);
    else this.memory.forget(start, start + size);
    return HOST_BASE + start;
  }

  /** Gives a block back; its memory is used again when all behind it are given back too. */
  release(address: bigint): void {
    const block = this.blockAt(placeOf(address));
    if (!block || block.start !== placeOf(address) || block.start < this.heap) return;
    block.isFree = true;
    this.isUsed ||= block.isDevice;
    for (let last = this.all.at(-1); last?.isFree; last = this.all.at(-1)) {
      this.putAside(last);
      this.all.pop();
      this.top = last.start;
    }
  }

  /** The program writes to memory of the device, as a library's algorithms do. */
  touch(place: number): void {
    const block = this.blockAt(place);
    if (!block?.isDevice) return;
    this.aboutToChange(block.start);
    block.isDevice = false;
  }

  blockAt(place: number): Block | undefined {
    const block = this.all[this.behind(place) - 1];
    return block && place < Math.max(block.end, block.start + 1) ? block : undefined;
  }

  /** Index of the first block that begins behind a place. */
  private behind(place: number): number {
    let low = 0;
    let high = this.all.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.all[middle].start <= place) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private isWithin = (place: number, bytes: number): boolean => bytes >= 0 && place >= 0 && place + bytes <= SHADOW;

  private spend(bytes: number): void {
    this.moves -= bytes;
    if (this.moves < 0) throw new Stop('too much is copied');
  }

  /** What was spent since the last time, in instructions: a loop that goes on moving bytes is left like one that goes on counting. */
  spent(): bigint {
    const moved = this.movesBefore - this.moves;
    this.movesBefore = this.moves;
    return BigInt(Math.ceil(moved * this.instructionsAByte));
  }

  copy(to: number, from: number, bytes: number): void {
    if (bytes === 0) return;
    const isKnown = this.isWithin(from, bytes);
    if (!this.isWithin(to, bytes)) {
      // a block that is nowhere holds nothing, and costs nothing; what is read of it is not known
      if (to < NOWHERE || bytes < 0) throw new Stop('a copy beyond the memory');
      return;
    }
    this.spend(bytes);
    this.aboutToChange(to, bytes);
    const target = this.blockAt(to);
    const source = this.blockAt(from);
    if (target && source?.isResult) target.isResult = true;
    if (source?.isFresh && from + bytes <= source.end) {
      this.restsOnZeros = true;
      this.memory.fill(to, to + bytes, 0);
    } else if (isKnown) this.memory.copy(to, from, bytes);
    else this.memory.forget(to, to + bytes);
  }

  fill(to: number, byte: number, bytes: number): void {
    if (bytes === 0) return;
    if (!this.isWithin(to, bytes)) {
      // a block that is nowhere is not filled, and costs nothing
      if (to < NOWHERE || bytes < 0) throw new Stop('a copy beyond the memory');
      return;
    }
    this.spend(bytes);
    this.aboutToChange(to, bytes);
    this.memory.fill(to, to + bytes, byte);
  }

  /**
   * Nothing is known any more of the block that a pointer leads to, or of those behind the pointers in it.
   * @param depth pointers that are followed; ALL: the block and all that is behind it
   */
  wild(address: bigint, depth: number): void {
    const place = placeOf(address);
    if (address === 0n || place >= SHADOW) return;
    const block = this.blockAt(place);
    // what is behind a pointer that leads nowhere is nothing that the program may read
    if (!block) return;
    let level: readonly Block[] = [block];
    for (let i = 0; i < depth; i++) level = [...new Set(level.flatMap((each) => this.leadsTo(each)))];
    const found = new Set(level);
    if (depth === ALL || depth === DEEPEST)
      for (const each of found) for (const next of this.knownBehind(each)) found.add(next);
    for (const each of found) this.forget(each);
  }

  /** What large blocks hold are numbers: looking for pointers there would take longer than all the rest. */
  private knownBehind(block: Block): readonly Block[] {
    return block.isDevice || block.end - block.start > MOST_SEARCHED ? [] : this.leadsTo(block, true);
  }

  forget(block: Block): void {
    if (block.isBlank && !block.isFresh) return;
    this.spend(block.end - block.start);
    this.aboutToChange(block.start, block.end - block.start);
    this.memory.forget(block.start, block.end);
    block.isBlank = block.isDevice;
  }

  /**
   * Something is stored, nobody knows where: a store of the host goes to no memory of the device's own.
   * @param reached index of the set of classes that the address may lead to
   */
  forgetAll(alsoDevice: boolean, reached: number): void {
    const classes = this.reached[reached];
    this.spend(this.all.length * LOOK_COST);
    for (const block of this.all) {
      const isReached = !classes || block.memoryClass === ANY || classes.has(block.memoryClass);
      if (isReached && (alsoDevice || !block.isDevice)) this.forget(block);
    }
  }

  /** Blocks that pointers in a block lead to. @param isKnown not those of which it is not known any more where they lead */
  leadsTo(block: Block, isKnown = false): Block[] {
    const found = new Set<Block>();
    this.spend((block.end - block.start) * SCAN_COST);
    const { view, written } = this.memory;
    const end = Math.min(block.end, written + 8);
    for (let at = Math.ceil(block.start / 8) * 8; at + 8 <= end; at += 8) {
      const high = view.getUint32(at + 4, true);
      if (high !== HOST_BASE / 2 ** 32 || (isKnown && view.getUint32(at + SHADOW, true) === 0)) continue;
      const next = this.blockAt(view.getUint32(at, true));
      if (next) found.add(next);
    }
    return [...found];
  }

  snapshots(blocks: Iterable<Block>): Contents[] {
    return [...blocks].map((block) => {
      if (block.pending) return block.pending;
      const contents = new Contents(HOST_BASE + block.start, block.end - block.start, block.isResult === true);
      if (block.isDevice) block.pending = contents;
      else if (block.end - block.start <= MOST_EAGER) this.save(block, contents);
      return contents;
    });
  }

  /** To be called before a block changes: what launches saw of it is put aside. @param bytes that will change */
  aboutToChange(place: number, bytes = 0): void {
    const block = this.blockAt(place);
    if (!block) return;
    this.putAside(block);
    if (block.isFresh && bytes < block.end - block.start) this.writeZeros(block);
    block.isBlank = false;
    block.isFresh = false;
  }

  /** The block around a place that a kernel which is executed comes to. */
  found(place: number, isRead: boolean): Block | undefined {
    const block = this.blockAt(place);
    if (block?.isFresh) {
      this.restsOnZeros ||= isRead;
      this.writeZeros(block);
    }
    return block;
  }

  /**
   * Whether what a kernel stores at a place, behind the last block of the device and in its page, changes nothing that anybody has
   * (on an H200 programs that do it run to their end).
   */
  isSpare(place: number): boolean {
    if (this.blockAt(place)) return false;
    const next = this.behind(place);
    let last = next - 1;
    while (last >= 0 && !this.all[last].isOfDevice) last--;
    if (last < 0 || this.all[last].isFree) return false;
    const { start, end } = this.all[last];
    if (place >= start + roundUp(end - start, DEVICE_PAGE)) return false;
    for (let i = next; i < this.all.length; i++) if (this.all[i].isOfDevice && !this.all[i].isFree) return false;
    return true;
  }

  /** The zeros that a block holds come to stand in memory. */
  private writeZeros(block: Block): void {
    const { start, end } = block;
    if (end - start > MOST_ZEROS) return;
    this.spend(end - start);
    this.putAside(block);
    this.memory.fill(start, end, 0);
    block.isBlank = false;
    block.isFresh = false;
  }

  private putAside(block: Block): void {
    if (!block.pending) return;
    this.save(block, block.pending);
    block.pending = undefined;
  }

  private save(block: Block, into: Contents): void {
    const { start, end, isBlank, isFresh } = block;
    into.isZero = isFresh;
    if (isBlank) return;
    const last = this.memory.knownEnd(start, end);
    const size = last - start;
    if (size === 0) return;
    const most = size > SMALL ? MOST_BYTES - FOR_SMALL : MOST_BYTES;
    const kept = this.memory.keep(start, last, block.kept, most - this.kept);
    if (!kept) return;
    this.kept += kept.bytes.taken;
    block.kept = kept;
    into.kept = kept;
  }

  savePending(): void {
    for (const block of this.all) this.putAside(block);
  }
}

/**
 * Bytes that a block of the device has for itself, which kernels store to and read like those that were asked for: those of its
 * alignment, and of a large one a part of its last page (all of it would soon fill the memory of the run). On an H200 what was stored
 * 13 KB behind blocks of 2.5 MB changed none of the small ones that were asked for behind them.
 */
function roomOf(size: number): number {
  const aligned = roundUp(size, ALIGNMENT);
  return size < DEVICE_PAGE ? aligned : Math.min(roundUp(size, DEVICE_PAGE), roundUp(size + size / 16, ALIGNMENT));
}

/** Of a block of the host's: the next power of two that is as large. */
function alignmentOf(size: number): number {
  let alignment = LEAST_ALIGNMENT;
  while (alignment < size && alignment < ALIGNMENT) alignment *= 2;
  return alignment;
}

const roundUp = (bytes: number, step: number): number => Math.ceil(bytes / step) * step;

/** Places are what is left of an address without its base. */
export const placeOf = (address: bigint): number => Number(address & 0xffffffffn);
