/**
 * Kernels in the run of the host's program: a launch is executed over its whole grid on the memory that it finds, so that what comes
 * after it finds what it has written. Only where some later kernel rests on what it loads, and within a budget.
 */
import { type DeviceMemory, readScalar } from '../execute/byte-memory';
import type { InputValue, LaunchShape } from '../execute/execution';
import { WholeLaunches } from '../execute/whole-launch';
import { defaultBudget, type LoweringBudget, type UnitContext } from '../lower/context';
import { type KernelInstance, lowerKernel } from '../lower/lower-kernel';
import { argumentKey } from '../lower/records';
import { dropDeadCode } from '../machine/dead-code';
import type { FunctionDeclaration } from '../parse/ast';
import { controlFlow } from '../program/control-flow';
import { decidingLoads } from '../program/data-loads';
import type { HostLaunch } from '../program/host-program';
import type { Input, Program } from '../program/program';
import { resultsDecide } from './deciding-results';
import { wantedResults } from './wanted-results';

/** A kernel, with the unit that it is lowered in. */
export interface DeviceKernel extends KernelInstance {
  readonly context: UnitContext;
}

/** The code of the device, as the kernels of a program are lowered. */
export interface DeviceCode {
  /** The instance as the kernel's unit has it; undefined where the kernel is not one of the program. */
  instanceOf(launched: KernelInstance): DeviceKernel | undefined;
}

/** Warp instructions that the kernels of a program may take, and how many of them one launch. */
export interface KernelFuel {
  readonly total: number;
  readonly launch: number;
}

export interface ExecutedLaunch {
  readonly kernel: string;
  /** Warp instructions. */
  readonly executed: number;
  /** Why it was not executed to its end. */
  readonly failure?: string;
}

/** What a launch finds. */
export interface Launched {
  readonly index: number;
  readonly launch: HostLaunch;
  /** In the order of the launch's values; undefined where not known. */
  readonly values: readonly (number | undefined)[];
  readonly memory: DeviceMemory;
  readonly symbols: ReadonlyMap<string, number | undefined>;
}

/** Instructions of a kernel that is lowered for this. */
const LOWERING: LoweringBudget = { ...defaultBudget, instructions: 20_000, marksCalls: true };

/**
 * Depth of a recursion that is too large when it is written out as deep as others are: with two calls in each it has 63 bodies in place of 255
 * (halves of up to 32 numbers).
 */
const SHALLOW = 6;

/** Warp instructions that take as long as what surrounds a launch: programs repeat short ones hundred thousands of times. */
const LAUNCH_COST = 500;
/** The same of one that fails: what it was executed with is made anew. */
const FAILURE_COST = 5_000;
/** A kernel that has failed so often, one time after the other, is not tried again. */
const MOST_FAILURES = 32;

export class KernelRuns {
  /** Kernels that were looked at: the run holds as long as these do not change. */
  readonly consulted = new Set<FunctionDeclaration>();
  /** Launches that were executed, or tried to be. */
  readonly log: ExecutedLaunch[] = [];
  private readonly launches = new WholeLaunches();
  private left: number;
  /** By program: how often it has failed since it was last executed to its end. */
  private readonly failures = new Map<Program, number>();
  private readonly programs = new Map<string, Program | undefined>();
  private readonly byLaunch: (Program | null | undefined)[] = [];
  private readonly worth: (boolean | undefined)[] = [];
  /** By launch: names of the objects of the device that it may write. */
  private readonly written: (readonly string[])[] = [];
  /** By launch: the pointers that it is given and may write through, by their names; null: any. */
  private readonly through: (ReadonlySet<string> | null | undefined)[] = [];
  private followers: readonly ReadonlySet<number>[] | undefined;
  private wanted: readonly boolean[] | undefined;
  private decides: boolean | undefined;

  /** @param launched by index of the host's launches */
  constructor(
    private readonly host: Program,
    private readonly launched: readonly (KernelInstance | undefined)[],
    private readonly device: DeviceCode,
    private readonly fuel: KernelFuel,
  ) {
    this.left = fuel.total;
  }

  /** Nothing is launched any more. */
  release(): void {
    this.launches.release();
  }

  /** Whether launches that may come after this one rest on what memory holds, and something on what this one writes. */
  isWorth(index: number): boolean {
    this.worth[index] ??= this.mayMatter(index) && this.isWanted(index);
    return this.worth[index];
  }

  /** Whether what it writes may lead accesses of a launch behind it, or say with which numbers one is launched. */
  private mayMatter(index: number): boolean {
    if (this.hasDataAfter(index)) return true;
    if (this.followersOf(index).size === 0) return false;
    this.decides ??= resultsDecide(this.host);
    return this.decides;
  }

  private followersOf(index: number): ReadonlySet<number> {
    this.followers ??= followersOf(this.host);
    return this.followers[index];
  }

  private hasDataAfter(index: number): boolean {
    return [...this.followersOf(index)].some((launch) => {
      const program = this.programOf(launch);
      return program !== undefined && decidingLoads(program).length > 0;
    });
  }

  private isWanted(index: number): boolean {
    this.wanted ??= wantedResults(this.host, (launch) => this.programOf(launch), nameOf);
    return this.wanted[index];
  }

  /** The program of a launch; undefined where the kernel is not known or not understood. */
  programOf(index: number): Program | undefined {
    let program = this.byLaunch[index];
    if (program === undefined) this.byLaunch[index] = program = this.lowered(index) ?? null;
    return program ?? undefined;
  }

  /** The kernel that a launch names, where it is one of the unit. */
  kernelOf(index: number): FunctionDeclaration | undefined {
    const launched = this.launched[index];
    return launched && this.device.instanceOf(launched)?.declaration;
  }

  private lowered(index: number): Program | undefined {
    const launched = this.launched[index];
    const instance = launched && this.device.instanceOf(launched);
    if (!instance) return undefined;
    this.consulted.add(instance.declaration);
    const key = `${instance.declaration.first}<${instance.templateArguments.map(argumentKey).join()}>`;
    if (!this.programs.has(key)) this.programs.set(key, this.lower(instance));
    return this.programs.get(key);
  }

  /** No launch will be executed any more. */
  get isSpent(): boolean {
    return this.left <= 0;
  }

  /** Names of the objects of the device that a launch may write; those of all where its kernel is not known. */
  objectsWrittenBy(index: number): readonly string[] {
    this.written[index] ??= this.objectsWritten(index);
    return this.written[index];
  }

  private objectsWritten(index: number): readonly string[] {
    const program = this.mayMatter(index) ? this.programOf(index) : undefined;
    if (!program) return (this.host.objects ?? []).flatMap((o) => (o.lifetime === 'device' ? [o.name] : []));
    const written = program.accesses.filter((site) => site.operation !== 'load');
    const isAny = written.some((site) => site.object === undefined);
    return program.objects.flatMap((object, i) =>
      object.space === 'global' && (isAny || written.some((site) => site.object === i)) ? [object.name] : [],
    );
  }

  /** Whether a launch may write through a pointer that it is given; what it points to need not be constant where it does not. */
  writesThrough(index: number, parameter: number, path: readonly string[]): boolean {
    let names = this.through[index];
    if (names === undefined) this.through[index] = names = this.pointersWritten(index) ?? null;
    return names === null || names.has(nameOf(parameter, path));
  }

  private pointersWritten(index: number): ReadonlySet<string> | undefined {
    const program = this.mayMatter(index) ? this.programOf(index) : undefined;
    if (!program || program.skipped.length > 0) return undefined;
    const names = new Set<string>();
    for (const { operation, space, object } of program.accesses) {
      if (operation === 'load' || space === 'shared' || space === 'local') continue;
      if (object === undefined) return undefined;
      const { register } = program.objects[object];
      const source = program.inputs.find((input) => input.register === register)?.source;
      if (source?.kind === 'parameter') names.add(nameOf(source.parameter, source.path));
      else if (source?.kind !== 'object') return undefined;
    }
    return names;
  }

  private lower(kernel: DeviceKernel): Program | undefined {
    let lowered = lowerKernel(kernel.context, kernel, LOWERING);
    if (lowered.skipped.some((s) => s.isMarked) && lowered.skipped.some((s) => !s.isMarked))
      lowered = lowerKernel(kernel.context, kernel, { ...LOWERING, recursion: SHALLOW });
    const blocks = lowered.blocks.map((b) => ({
      ...b,
      instructions: b.instructions.filter((i) => i.op !== 'work' || i.isNotFollowed),
    }));
    return dropDeadCode({ ...lowered, blocks });
  }

  /** Executes a launch. Where it is not done to its end memory may be half changed. */
  run(launched: Launched): { isDone: boolean; contradiction?: string } {
    const program = this.programOf(launched.index);
    if (!program || program.skipped.some((s) => !s.isMarked) || program.usesHeap) return { isDone: false };
    const failures = this.failures.get(program) ?? 0;
    if (failures >= MOST_FAILURES) return { isDone: false };
    const shape = shapeOf(program, launched);
    const budget = Math.min(this.left, this.fuel.launch);
    if (!shape || budget <= 0) return { isDone: false };
    const { executed, failure, contradiction } = this.launches.execute(
      program,
      shape,
      launched.memory,
      launched.symbols,
      budget,
    );
    this.failures.set(program, failure === undefined ? 0 : failures + 1);
    this.left -= Math.max(executed, failure === undefined ? LAUNCH_COST : FAILURE_COST);
    this.log.push({ kernel: launched.launch.kernel, executed, failure });
    return { isDone: failure === undefined, contradiction };
  }
}

function shapeOf(program: Program, launched: Launched): LaunchShape | undefined {
  const { launch, values } = launched;
  const grid: [number, number, number] = [0, 0, 0];
  const block: [number, number, number] = [0, 0, 0];
  let dynamicSharedBytes = 0;
  const given = new Map<string, number>();
  for (let i = 0; i < values.length; i++) {
    const value = launch.values[i];
    const number = values[i];
    if (value.kind === 'parameter') {
      if (number !== undefined) given.set(nameOf(value.parameter, value.path), number);
    } else if (number === undefined) return undefined;
    else if (value.kind === 'grid') grid[value.axis] = number;
    else if (value.kind === 'block') block[value.axis] = number;
    else dynamicSharedBytes = number;
  }
  const threads = block[0] * block[1] * block[2];
  if (grid.some((n) => n < 1) || !(threads >= 1 && threads <= 1024)) return undefined;
  const inputs = new Map<number, InputValue>();
  program.inputs.forEach((input, index) => {
    const { source } = input;
    let value: number | undefined;
    if (source.kind === 'parameter') value = given.get(nameOf(source.parameter, source.path));
    else if (source.kind === 'global') value = symbolValue(program, input, source, launched);
    if (value !== undefined) inputs.set(index, { kind: 'number', value });
  });
  return { grid, block, dynamicSharedBytes, inputs };
}

/** Inputs name the members of a parameter, whatever it is called. */
export const nameOf = (parameter: number, path: readonly string[]): string => `${parameter}.${path.slice(1).join('.')}`;

/** A number in constant memory. */
function symbolValue(
  { registers }: Program,
  { register }: Input,
  { path, offset }: Extract<Input['source'], { kind: 'global' }>,
  { symbols, memory }: Launched,
): number | undefined {
  const address = symbols.get(path[0]);
  if (address === undefined || offset === undefined) return undefined;
  return readScalar(memory, address + offset, registers[register].type);
}

/** By launch: those that may come after it. */
function followersOf(host: Program): ReadonlySet<number>[] {
  const { successors, order } = controlFlow(host);
  const inBlock = host.blocks.map(({ instructions }) =>
    instructions.flatMap((i) => (i.op === 'host' && i.fn === 'launch' && i.launch !== undefined ? [i.launch] : [])),
  );
  const launches = host.launches ?? [];
  // what was captured comes again with its graph
  if (launches.some(({ graph }) => graph === 'launch')) return launches.map(() => new Set(launches.keys()));
  const after: Set<number>[] = launches.map(() => new Set());
  for (const block of order) {
    if (inBlock[block].length === 0) continue;
    const reached = new Set<number>();
    const queue = [...successors[block]];
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      if (next < 0 || reached.has(next)) continue;
      reached.add(next);
      queue.push(...successors[next]);
    }
    inBlock[block].forEach((launch, i) => {
      for (const later of inBlock[block].slice(i + 1)) after[launch].add(later);
      for (const other of reached) for (const later of inBlock[other] ?? []) after[launch].add(later);
    });
  }
  return after;
}
