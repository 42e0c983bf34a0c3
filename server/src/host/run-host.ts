/** Runs the program of the host and keeps, for every launch that it comes to, what the kernel is given and finds in memory. */

import type { DeviceMemory } from '../execute/byte-memory';
import type { FunctionDeclaration } from '../parse/ast';
import type { HostLaunch, Program } from '../program/program';
import { generateHost } from './generate';
import { HostMemory } from './host-memory';
import { hostMath } from './math';
import { HOST_BASE, LAUNCH_SHADOWS, LAUNCH_VALUES, SHADOW } from './memory-layout';
import type { ExecutedLaunch, KernelRuns } from './run-kernel';

/** A block of memory, or an object of the program: bytes `start` to `end`. */
interface Block {
  readonly start: number;
  readonly end: number;
  /** Only copies and kernels write to it. */
  readonly isDevice: boolean;
  /** A kernel that was executed has written to it. */
  isResult?: boolean;
  /** What launches saw of it and is still there. */
  pending?: Contents;
  /** Of the device's memory: nothing of it is known. */
  isBlank?: boolean;
}

/** What a block held at some time. */
export class Contents {
  /** Undefined: nothing of it is known. */
  bytes: Uint8Array | undefined;
  /** By byte: 0 where it is not known; undefined: all is known. */
  shadows: Uint8Array | undefined;

  /** @param isResult kernels that were launched before have written to it */
  constructor(
    readonly address: number,
    readonly size: number,
    readonly isResult: boolean,
  ) {}
}

/** One time that a launch was come to. */
export interface HostRound {
  readonly launch: HostLaunch;
  /** In the order of the launch's values; pointers as addresses, undefined where not known. */
  readonly values: readonly (number | undefined)[];
  /** Blocks that its pointers lead to, and the objects of the device, by address. */
  readonly contents: readonly Contents[];
  /** Kernels that were executed before, or tried to be. */
  readonly after: ReadonlySet<FunctionDeclaration>;
}

export interface HostRun {
  readonly rounds: readonly HostRound[];
  /** By name: where objects of the device lie; undefined where two have the name. */
  readonly symbols: ReadonlyMap<string, number | undefined>;
  /** Kernels whose code it rests on. */
  readonly consulted: ReadonlySet<FunctionDeclaration>;
  readonly executed: readonly ExecutedLaunch[];
  /** What a kernel would do that none does in a program that works: some value of the run is wrong, and no round is kept. */
  readonly contradiction?: string;
  /** Why it ended before its end. */
  readonly stopped?: string;
}

/** Rounds that are kept of one launch. */
const MOST_ROUNDS = 32;
/** Bytes of all contents that are kept. */
const MOST_BYTES = 2 ** 27;
/** Bytes that a launch which is not the device's own memory is given may have: they are copied each time. */
const MOST_EAGER = 2 ** 24;
/** Bytes of a block of which nobody knows how many it needs; loops over it have an end that is not known, and are left. */
const UNKNOWN_SIZE = 65536;
/** Bytes behind such a block that no other has: a kernel may know how much it needs. */
const GAP = 2 ** 20;
/** Blocks that do not fit begin here: nothing is kept behind these addresses, the upper half of 32 bits (memory-access.ts). */
const NOWHERE = 2 ** 31;

class Stop extends Error {}

/** What is used of the JavaScript interface; the compiler's library has it only together with the whole of the browser. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: { readonly run: () => void } };
  readonly RuntimeError: new () => Error;
};

/**
 * Runs a program; undefined where it cannot be made into code. Never throws.
 * @param fuel instructions that it may take
 * @param kernels execute the launches; without them what a kernel may write is not known afterwards
 */
export function runHost(program: Program, fuel: number, kernels?: KernelRuns): HostRun | undefined {
  const generated = generateHost(program, fuel);
  if (!generated) return undefined;
  const machine = new HostMachine(program, generated.places, generated.end, kernels);
  const module = new WebAssembly.Module(generated.bytes);
  const instance = new WebAssembly.Instance(module, { env: { ...hostMath, ...machine.imports() } });
  let stopped: string | undefined;
  try {
    instance.exports.run();
  } catch (error) {
    // an access beyond the memory ends the run as the budget does: what was launched until then is known
    if (!(error instanceof Stop) && !(error instanceof WebAssembly.RuntimeError) && !(error instanceof RangeError))
      throw error;
    stopped = error.message;
  }
  const result = machine.finish();
  const { consulted = new Set<FunctionDeclaration>(), log: executed = [] } = kernels ?? {};
  return { ...result, consulted, executed, stopped };
}

/** About a second. */
const MOST_MOVED = 2 ** 32;
/** Bytes that are moved in the time of an instruction. */
const MOVED_AT_ONCE = 16;
/** Looking for pointers in a byte takes so much longer than moving it. */
const SCAN_COST = 16;

class HostMachine {
  private readonly memory = new HostMemory();
  /** By place. */
  private readonly blocks: Block[] = [];
  private readonly rounds: HostRound[] = [];
  private readonly roundsOf = new Map<HostLaunch, number>();
  private readonly symbols = new Map<string, number | undefined>();
  private readonly device = this.deviceMemory();
  /** Blocks that the launch which is executed may write, or has written. */
  private written = new Set<Block>();
  private top: number;
  private nowhere = NOWHERE;
  /** Of some block nobody knows how large it is. */
  private hasOpenBlocks = false;
  /** Why nothing of the run is to be believed. */
  private contradiction: string | undefined;
  private tried: ReadonlySet<FunctionDeclaration> = new Set();
  private kept = 0;
  /** Bytes that copies, fills and what becomes unknown may still move. */
  private moves = MOST_MOVED;
  private movesBefore = MOST_MOVED;

  constructor(
    private readonly program: Program,
    places: readonly number[],
    end: number,
    private readonly kernels: KernelRuns | undefined,
  ) {
    this.top = end;
    // variables lie there, whose stores are not watched
    this.memory.raise(end);
    program.objects.forEach((object, index) => {
      const start = places[index];
      const isDevice = object.lifetime === 'device' || object.lifetime === 'constant';
      this.blocks.push({ start, end: start + (object.bytes ?? 0), isDevice });
      if (object.contents) this.memory.bytes.set(object.contents.values, start);
      if (object.lifetime !== undefined) this.memory.know(start, start + (object.bytes ?? 0));
      if (isDevice) this.symbols.set(object.name, this.symbols.has(object.name) ? undefined : HOST_BASE + start);
    });
  }

  /** The memory as kernels have it; one for all launches. */
  private deviceMemory(): DeviceMemory {
    const { memory } = this;
    const free = () => this.top;
    const isComplete = () => !this.hasOpenBlocks;
    return {
      buffer: memory.memory.buffer,
      shadow: SHADOW,
      base: HOST_BASE,
      get free() {
        return free();
      },
      get isComplete() {
        return isComplete();
      },
      blockAt: (place) => this.blockAt(place),
      aboutToUse: (end) => memory.raise(end),
      aboutToChange: (place) => {
        this.aboutToChange(place);
        const block = this.blockAt(place);
        if (!block) return;
        memory.raise(block.end);
        block.isResult = true;
        this.written.add(block);
      },
    };
  }

  imports(): Record<string, unknown> {
    return {
      memory: this.memory.memory,
      high: this.memory.high,
      allocate: (bytes: bigint, kind: number) => BigInt(this.allocate(Number(bytes), kind)),
      release: (address: bigint, isUnknown: number) => {
        if (!isUnknown) this.release(address);
      },
      copy: (
        to: bigint,
        from: bigint,
        bytes: bigint,
        rows: bigint,
        toPitch: bigint,
        fromPitch: bigint,
        isLost: number,
        isUnknown: number,
      ) => {
        if (isLost) this.forgetAll(true);
        else if (isUnknown) this.wild(to, false);
        else
          for (let row = 0; row < Number(rows); row++)
            this.copy(placeOf(to) + row * Number(toPitch), placeOf(from) + row * Number(fromPitch), Number(bytes));
        return this.spent();
      },
      fill: (to: bigint, byte: bigint, bytes: bigint, isLost: number, isUnknown: number) => {
        if (isLost) this.forgetAll(true);
        else if (isUnknown) this.wild(to, false);
        else this.fill(placeOf(to), Number(byte & 255n), Number(bytes));
        return this.spent();
      },
      wild: (address: bigint, isUnknown: number, isFurther: number) => {
        if (isUnknown) this.forgetAll(false);
        else this.wild(address, isFurther !== 0);
        return this.spent();
      },
      launch: (index: number) => this.launch(index),
      stop: () => {
        throw new Stop('the program ends, or takes too long');
      },
    };
  }

  // ---- memory ----

  /** @param bytes -1: not known */
  private allocate(bytes: number, kind: number): number {
    const isOpen = bytes < 0;
    const size = isOpen ? UNKNOWN_SIZE : bytes;
    this.hasOpenBlocks ||= isOpen;
    const start = Math.ceil(this.top / 256) * 256;
    if (!(start + size + (isOpen ? GAP : 0) <= SHADOW)) {
      const at = this.nowhere;
      this.nowhere += 256;
      if (this.nowhere >= 2 ** 32) throw new Stop('too much memory');
      return HOST_BASE + at;
    }
    this.top = start + size + (isOpen ? GAP : 0);
    this.blocks.push({ start, end: start + size, isDevice: kind === 2, isBlank: kind === 2 });
    if (kind === 1) this.memory.fill(start, start + size, 0);
    else this.memory.forget(start, start + size);
    return HOST_BASE + start;
  }

  /** Gives the newest block back. */
  private release(address: bigint): void {
    const last = this.blocks.at(-1);
    if (!last || last.start !== placeOf(address) || last.pending) return;
    this.blocks.pop();
    this.top = last.start;
  }

  private blockAt(place: number): Block | undefined {
    let low = 0;
    let high = this.blocks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.blocks[middle].start <= place) low = middle + 1;
      else high = middle;
    }
    const block = this.blocks[low - 1];
    return block && place < Math.max(block.end, block.start + 1) ? block : undefined;
  }

  private isWithin = (place: number, bytes: number): boolean => bytes >= 0 && place >= 0 && place + bytes <= SHADOW;

  private spend(bytes: number): void {
    this.moves -= bytes;
    if (this.moves < 0) throw new Stop('too much is copied');
  }

  /** What was spent since the last time, in instructions: a loop that goes on moving bytes is left like one that goes on counting. */
  private spent(): bigint {
    const moved = this.movesBefore - this.moves;
    this.movesBefore = this.moves;
    return BigInt(Math.ceil(moved / MOVED_AT_ONCE));
  }

  private copy(to: number, from: number, bytes: number): void {
    if (bytes === 0) return;
    const isKnown = this.isWithin(from, bytes);
    if (!this.isWithin(to, bytes)) {
      // a block that is nowhere holds nothing, and costs nothing; what is read of it is not known
      if (to < NOWHERE || bytes < 0) throw new Stop('a copy beyond the memory');
      return;
    }
    this.spend(bytes);
    this.aboutToChange(to);
    const target = this.blockAt(to);
    if (target && this.blockAt(from)?.isResult) target.isResult = true;
    if (isKnown) this.memory.copy(to, from, bytes);
    else this.memory.forget(to, to + bytes);
  }

  private fill(to: number, byte: number, bytes: number): void {
    if (bytes === 0) return;
    if (!this.isWithin(to, bytes)) {
      // a block that is nowhere is not filled, and costs nothing
      if (to < NOWHERE || bytes < 0) throw new Stop('a copy beyond the memory');
      return;
    }
    this.spend(bytes);
    this.aboutToChange(to);
    this.memory.fill(to, to + bytes, byte);
  }

  /** Nothing is known any more of the block that a pointer leads to, or of those behind the pointers in it. */
  private wild(address: bigint, isFurther: boolean): void {
    const place = placeOf(address);
    if (address === 0n || place >= SHADOW) return;
    const block = this.blockAt(place);
    // what is behind a pointer that leads nowhere is nothing that the program may read
    if (!block) return;
    if (isFurther) for (const next of this.leadsTo(block)) this.forget(next);
    else this.forget(block);
  }

  private forget(block: Block): void {
    if (block.isBlank) return;
    this.spend(block.end - block.start);
    this.aboutToChange(block.start);
    this.memory.forget(block.start, block.end);
    block.isBlank = block.isDevice;
  }

  /** Something is stored, nobody knows where: a store of the host goes to no memory of the device's own. */
  private forgetAll(alsoDevice: boolean): void {
    for (const block of this.blocks) if (alsoDevice || !block.isDevice) this.forget(block);
  }

  /** Blocks that pointers in a block lead to. */
  private leadsTo(block: Block): Block[] {
    const found = new Set<Block>();
    this.spend((block.end - block.start) * SCAN_COST);
    const { view, written } = this.memory;
    const end = Math.min(block.end, written + 8);
    for (let at = Math.ceil(block.start / 8) * 8; at + 8 <= end; at += 8) {
      const high = view.getUint32(at + 4, true);
      if (high !== HOST_BASE / 2 ** 32) continue;
      const next = this.blockAt(view.getUint32(at, true));
      if (next) found.add(next);
    }
    return [...found];
  }

  // ---- launches ----

  private launch(index: number): void {
    const launch = this.program.launches?.[index];
    if (!launch) return;
    const values = launch.values.map((value, i) =>
      this.valueOf(i, value.kind === 'parameter' && value.isFloat === true),
    );
    const count = this.roundsOf.get(launch) ?? 0;
    if (count < MOST_ROUNDS) {
      this.roundsOf.set(launch, count + 1);
      const contents = this.snapshots(this.reachedBy(launch, values));
      this.rounds.push({ launch, values, contents, after: this.tried });
    }
    const written = this.writtenBy(index, launch, values);
    if (!this.execute(index, launch, values, written)) for (const block of written) this.forget(block);
  }

  /**
   * Executes a launch where a later one may rest on what it writes; false where it was not executed to its end.
   * @param written blocks that it may write; those that it does write come to them
   */
  private execute(
    index: number,
    launch: HostLaunch,
    values: readonly (number | undefined)[],
    written: Set<Block>,
  ): boolean {
    if (!this.kernels?.isWorth(index)) return false;
    const kernel = this.kernels.kernelOf(index);
    if (kernel && !this.tried.has(kernel)) this.tried = new Set([...this.tried, kernel]);
    if (this.kernels.isSpent) return false;
    const { symbols, device } = this;
    this.written = written;
    const { isDone, contradiction } = this.kernels.run({ index, launch, values, memory: device, symbols });
    this.contradiction ??= contradiction;
    return isDone;
  }

  private valueOf(index: number, isFloat: boolean): number | undefined {
    const { bytes, view } = this.memory;
    if (bytes[LAUNCH_SHADOWS + index] !== 0) return undefined;
    const at = LAUNCH_VALUES + 8 * index;
    return isFloat ? view.getFloat64(at, true) : view.getInt32(at + 4, true) * 2 ** 32 + view.getUint32(at, true);
  }

  /** Blocks that the kernel may read: those of its pointers, what they lead to, and the objects of the device. */
  private reachedBy(launch: HostLaunch, values: readonly (number | undefined)[]): Set<Block> {
    const reached = new Set<Block>(this.blocks.filter((b, i) => i < this.program.objects.length && b.isDevice));
    launch.values.forEach((value, i) => {
      const address = values[i];
      if (value.kind !== 'parameter' || !value.isPointer || address === undefined) return;
      const block = this.blockAt(address - HOST_BASE);
      if (!block) return;
      reached.add(block);
      if (value.leadsFurther) for (const next of this.leadsTo(block)) reached.add(next);
    });
    return reached;
  }

  private snapshots(blocks: Iterable<Block>): Contents[] {
    return [...blocks].map((block) => {
      if (block.pending) return block.pending;
      const contents = new Contents(HOST_BASE + block.start, block.end - block.start, block.isResult === true);
      if (block.isDevice) block.pending = contents;
      else if (block.end - block.start <= MOST_EAGER) this.save(block, contents);
      return contents;
    });
  }

  /** To be called before a block changes: what launches saw of it is put aside. */
  private aboutToChange(place: number): void {
    const block = this.blockAt(place);
    if (!block) return;
    this.putAside(block);
    block.isBlank = false;
  }

  private putAside(block: Block): void {
    if (!block.pending) return;
    this.save(block, block.pending);
    block.pending = undefined;
  }

  private save({ start, end, isBlank }: Block, into: Contents): void {
    if (isBlank || this.kept + end - start > MOST_BYTES || !this.memory.isAnyKnown(start, end)) return;
    this.kept += end - start;
    Object.assign(into, this.memory.save(start, end));
  }

  /** Blocks that the kernel may write. */
  private writtenBy(index: number, launch: HostLaunch, values: readonly (number | undefined)[]): Set<Block> {
    const written = new Set<Block>();
    launch.values.forEach((value, i) => {
      const address = values[i];
      if (value.kind !== 'parameter' || !value.isPointer) return;
      if (address === undefined) {
        // it may lead anywhere that kernels may write
        if (value.writes) for (const block of this.blocks) if (block.isDevice) written.add(block);
        return;
      }
      const block = this.blockAt(address - HOST_BASE);
      if (!block) return;
      if (value.leadsFurther) for (const next of this.leadsTo(block)) written.add(next);
      if (value.writes) written.add(block);
    });
    for (const name of this.kernels?.objectsWrittenBy(index) ?? []) {
      const address = this.symbols.get(name);
      const block = address === undefined ? undefined : this.blockAt(address - HOST_BASE);
      if (block) written.add(block);
    }
    return written;
  }

  /** To be called once, at the end of the run. */
  finish(): Pick<HostRun, 'rounds' | 'symbols' | 'contradiction'> {
    const { symbols, contradiction } = this;
    if (contradiction === undefined) this.savePending();
    this.memory.giveBack();
    return contradiction === undefined ? { rounds: this.rounds, symbols } : { rounds: [], symbols, contradiction };
  }

  private savePending(): void {
    for (const block of this.blocks) this.putAside(block);
  }
}

/** Places are what is left of an address without its base. */
const placeOf = (address: bigint): number => Number(address & 0xffffffffn);
