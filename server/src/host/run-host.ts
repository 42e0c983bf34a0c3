/** Runs the program of the host and keeps, for every launch that it comes to, what the kernel is given and finds in memory. */

import type { DeviceMemory } from '../execute/byte-memory';
import type { KernelInstance } from '../lower/lower-kernel';
import type { FunctionDeclaration } from '../parse/ast';
import type { HostLaunch } from '../program/host-program';
import type { Program } from '../program/program';
import { CapturedGraphs } from './captured-graphs';
import { type GeneratedHost, generateHost } from './generate';
import { type Block, type Contents, HostBlocks, placeOf, Stop } from './host-blocks';
import { HostMemory } from './host-memory';
import { hostMath } from './math';
import { HOST_BASE, LAUNCH_SHADOWS, LAUNCH_VALUES, SHADOW } from './memory-layout';
import { writeNumbers } from './number-tables';
import { OpenedFiles, type ReadFile } from './opened-files';
import type { ExecutedLaunch, KernelRuns } from './run-kernel';

/** One time that a launch was come to. */
export interface HostRound {
  readonly launch: HostLaunch;
  /** In the order of the launch's values; pointers as addresses, undefined where not known. */
  readonly values: readonly (number | undefined)[];
  /** Blocks that its pointers lead to, and the objects of the device, by address. */
  readonly contents: readonly Contents[];
  /** Kernels that were executed before, or tried to be. */
  readonly after: ReadonlySet<FunctionDeclaration>;
  /** The seed that random numbers drawn before were given, where the program takes one that differs from run to run. */
  readonly seed?: number;
  /** Files that the program has read before. */
  readonly files: readonly string[];
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
  /** Which instances of kernels its launches launch, as far as that is known. */
  readonly instances: ReadonlyMap<HostLaunch, KernelInstance>;
  /** What it has read of files, by their names in the program; undefined where there was none. */
  readonly files: ReadonlyMap<string, Uint8Array | undefined>;
  /** Why it ended before its end. */
  readonly stopped?: string;
}

/** Grid, block and dynamic shared memory: a profiler, too, tells launches of a kernel apart by these. */
export function shapeOf(launch: HostLaunch, values: readonly (number | undefined)[]): string {
  return values.filter((_, i) => launch.values[i].kind !== 'parameter').join();
}

/** What a seed is that the program has from the clock or the machine: any other would do as well. */
const ASSUMED_SEED = 20261;
/** Rounds that are kept of one launch, and of a shape that comes behind these: what all levels of a grid are like is told by the first of each. */
const MOST_ROUNDS = 32;
const MOST_OF_SHAPE = 8;
/** Beyond that a launch has as many shapes as rounds. */
const MOST_OF_LAUNCH = 256;

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
 * @param files gives what a file holds
 */
export function runHost(
  program: Program,
  fuel: number,
  kernels?: KernelRuns,
  cancelled?: () => boolean,
  files?: ReadFile,
): Omit<HostRun, 'instances'> | undefined {
  const generated = generateHost(program, fuel);
  if (!generated) return undefined;
  const machine = new HostMachine(program, generated, fuel, kernels, cancelled, new OpenedFiles(files));
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
  } finally {
    kernels?.release();
  }
  const result = machine.finish();
  const { consulted = new Set<FunctionDeclaration>(), log: executed = [] } = kernels ?? {};
  return { ...result, consulted, executed, stopped, files: machine.files.opened };
}

class HostMachine {
  private readonly blocks: HostBlocks;
  private readonly rounds: HostRound[] = [];
  private readonly roundsOf = new Map<HostLaunch, Map<string, number>>();
  private readonly symbols = new Map<string, number | undefined>();
  private readonly device: DeviceMemory;
  /** Blocks that the launch which is executed may write, or has written. */
  private written = new Set<Block>();
  /** Why nothing of the run is to be believed. */
  private contradiction: string | undefined;
  private tried: ReadonlySet<FunctionDeclaration> = new Set();
  private seed: number | undefined;
  private readonly graphs = new CapturedGraphs(
    ({ index, values }) => {
      const launch = this.program.launches?.[index];
      if (launch) this.launchNow(index, launch, values);
    },
    (addresses) => {
      const others = new Set(addresses.map((address) => this.blocks.blockAt(address - HOST_BASE)));
      for (const block of this.blocks.all) if (block.isDevice || others.has(block)) this.blocks.forget(block);
    },
  );

  constructor(
    private readonly program: Program,
    { places, end, reach }: GeneratedHost,
    fuel: number,
    private readonly kernels: KernelRuns | undefined,
    private readonly cancelled: (() => boolean) | undefined,
    readonly files: OpenedFiles,
  ) {
    const memory = new HostMemory();
    this.blocks = new HostBlocks(memory, end, reach.sets, fuel);
    this.device = this.deviceMemory();
    // variables lie there, whose stores are not watched
    memory.raise(end);
    program.objects.forEach((object, index) => {
      const start = places[index];
      const isDevice = object.lifetime === 'device' || object.lifetime === 'constant';
      const memoryClass = reach.classOf(object.register);
      this.blocks.all.push({ start, end: start + (object.bytes ?? 0), isDevice, memoryClass });
      // texts; the program fills in small tables of numbers itself
      if (object.contents?.type === 'i8') memory.bytes.set(object.contents.values, start);
      if (object.lifetime !== undefined) memory.know(start, start + (object.bytes ?? 0));
      if (object.begins) writeNumbers(memory.view, start, object.begins);
      if (isDevice) this.symbols.set(object.name, this.symbols.has(object.name) ? undefined : HOST_BASE + start);
    });
  }

  /** The memory as kernels have it; one for all launches. */
  private deviceMemory(): DeviceMemory {
    const { blocks } = this;
    const { memory } = blocks;
    return {
      buffer: memory.memory.buffer,
      shadow: SHADOW,
      base: HOST_BASE,
      get free() {
        return blocks.top;
      },
      get isComplete() {
        return !blocks.hasOpen;
      },
      blockAt: (place, isRead) => blocks.found(place, isRead),
      isSpare: (place) => blocks.isSpare(place),
      aboutToUse: (end) => memory.raise(end),
      aboutToChange: (place) => {
        blocks.aboutToChange(place);
        const block = blocks.blockAt(place);
        if (!block) return;
        memory.raise(block.end);
        block.isResult = true;
        this.written.add(block);
      },
    };
  }

  imports(): Record<string, unknown> {
    const { blocks } = this;
    return {
      memory: blocks.memory.memory,
      high: blocks.memory.high,
      allocate: (bytes: bigint, kind: number, memoryClass: number) =>
        BigInt(blocks.allocate(Number(bytes), kind, memoryClass)),
      file: (name: bigint, isWritten: bigint, isUnknown: number, memoryClass: number) =>
        BigInt(isUnknown ? 0 : this.files.open(blocks, placeOf(name), isWritten !== 0n, memoryClass)),
      release: (address: bigint, isUnknown: number) => {
        if (!isUnknown) blocks.release(address);
      },
      touch: (address: bigint, isUnknown: number) => {
        if (!isUnknown) blocks.touch(placeOf(address));
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
        reached: number,
      ) => {
        if (isLost) blocks.forgetAll(true, reached);
        else if (isUnknown) blocks.wild(to, 0);
        else
          for (let row = 0; row < Number(rows); row++)
            blocks.copy(placeOf(to) + row * Number(toPitch), placeOf(from) + row * Number(fromPitch), Number(bytes));
        return blocks.spent();
      },
      fill: (to: bigint, byte: bigint, bytes: bigint, isLost: number, isUnknown: number, reached: number) => {
        if (isLost) blocks.forgetAll(true, reached);
        else if (isUnknown) blocks.wild(to, 0);
        else blocks.fill(placeOf(to), Number(byte & 255n), Number(bytes));
        return blocks.spent();
      },
      wild: (address: bigint, isUnknown: number, depth: number, reached: number) => {
        if (isUnknown) blocks.forgetAll(false, reached);
        else blocks.wild(address, depth);
        return blocks.spent();
      },
      seed: (given: bigint, isUnknown: number) => {
        if (!isUnknown) return given;
        this.seed = ASSUMED_SEED;
        return BigInt(ASSUMED_SEED);
      },
      launch: (index: number) => this.launch(index),
      stop: () => {
        throw new Stop('the program ends, or takes too long');
      },
    };
  }

  private launch(index: number): void {
    if (this.cancelled?.()) throw new Stop('nobody waits for it any more');
    const launch = this.program.launches?.[index];
    if (!launch) return;
    const values = launch.values.map((value, i) =>
      this.valueOf(i, value.kind === 'parameter' && value.isFloat === true),
    );
    if (launch.graph) this.graphs.carryOut(launch.graph, values);
    else if (!this.graphs.captures({ index, values })) this.launchNow(index, launch, values);
  }

  private launchNow(index: number, launch: HostLaunch, values: readonly (number | undefined)[]): void {
    if (this.isKept(launch, values)) {
      const contents = this.blocks.snapshots(this.reachedBy(launch, values));
      this.rounds.push({ launch, values, contents, after: this.tried, seed: this.seed, files: this.files.read });
    }
    const written = this.writtenBy(index, launch, values);
    if (!this.execute(index, launch, values, written)) for (const block of written) this.blocks.forget(block);
  }

  /** Counts a round of a launch. */
  private isKept(launch: HostLaunch, values: readonly (number | undefined)[]): boolean {
    const counts = this.roundsOf.get(launch) ?? new Map<string, number>();
    this.roundsOf.set(launch, counts);
    const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
    if (all >= MOST_OF_LAUNCH) return false;
    const shape = shapeOf(launch, values);
    const count = counts.get(shape) ?? 0;
    if (all >= MOST_ROUNDS && count >= MOST_OF_SHAPE) return false;
    counts.set(shape, count + 1);
    return true;
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
    // zeros that nobody wrote may be what is wrong
    if (!this.blocks.restsOnZeros) this.contradiction ??= contradiction;
    return isDone;
  }

  private valueOf(index: number, isFloat: boolean): number | undefined {
    const { bytes, view } = this.blocks.memory;
    if (bytes[LAUNCH_SHADOWS + index] !== 0) return undefined;
    const at = LAUNCH_VALUES + 8 * index;
    return isFloat ? view.getFloat64(at, true) : view.getInt32(at + 4, true) * 2 ** 32 + view.getUint32(at, true);
  }

  /** Blocks that the kernel may read: those of its pointers, what they lead to, and the objects of the device. */
  private reachedBy(launch: HostLaunch, values: readonly (number | undefined)[]): Set<Block> {
    const reached = new Set<Block>(this.blocks.all.filter((b, i) => i < this.program.objects.length && b.isDevice));
    launch.values.forEach((value, i) => {
      const address = values[i];
      if (value.kind !== 'parameter' || !value.isPointer || address === undefined) return;
      const block = this.blocks.blockAt(address - HOST_BASE);
      if (!block) return;
      reached.add(block);
      if (value.leadsFurther) for (const next of this.blocks.leadsTo(block)) reached.add(next);
    });
    return reached;
  }

  /** Blocks that the kernel may write. */
  private writtenBy(index: number, launch: HostLaunch, values: readonly (number | undefined)[]): Set<Block> {
    const written = new Set<Block>();
    launch.values.forEach((value, i) => {
      const address = values[i];
      if (value.kind !== 'parameter' || !value.isPointer) return;
      if (this.kernels?.writesThrough(index, value.parameter, value.path) === false) return;
      if (address === undefined) {
        // it may lead anywhere that kernels may write
        if (value.writes) for (const block of this.blocks.all) if (block.isDevice) written.add(block);
        return;
      }
      const block = this.blocks.blockAt(address - HOST_BASE);
      if (!block) return;
      if (value.leadsFurther) for (const next of this.blocks.leadsTo(block)) written.add(next);
      if (value.writes) written.add(block);
    });
    for (const name of this.kernels?.objectsWrittenBy(index) ?? []) {
      const address = this.symbols.get(name);
      const block = address === undefined ? undefined : this.blocks.blockAt(address - HOST_BASE);
      if (block) written.add(block);
    }
    return written;
  }

  /** To be called once, at the end of the run. */
  finish(): Pick<HostRun, 'rounds' | 'symbols' | 'contradiction'> {
    const { symbols, contradiction } = this;
    if (contradiction === undefined) this.blocks.savePending();
    this.blocks.memory.giveBack();
    return contradiction === undefined ? { rounds: this.rounds, symbols } : { rounds: [], symbols, contradiction };
  }
}
