/** One launch of one kernel: executed for its known values, or for the samples of what is unknown. */
import { analyse } from '../execute/decode';
import { execute } from '../execute/execute';
import type { Execution, LaunchShape } from '../execute/execution';
import { TOO_LARGE } from '../execute/integer64';
import { ticketAccesses } from '../execute/tickets';
import { asWordPairs } from '../execute/word-pairs';
import type { MemoryModel } from '../hardware/memory-model';
import { dataLoads } from '../program/data-loads';
import { dependencies } from '../program/dependence';
import { readsOf } from '../program/operands';
import type { Program } from '../program/program';
import type { Assumption } from '../report/report';
import type { KernelEffort } from './effort';
import type { HostData } from './host-data';
import { type PlannedLaunch, type Triple, tripleOf } from './launch-plan';
import { assumedGrid, BORDER_SAMPLE, isSmallName, LARGE_SAMPLE, resolveInputs, SAMPLES } from './sampling';
import { isSymbolTable, withSymbolTables } from './symbols';

/** The execution for one set of values. */
export interface Sample {
  readonly shape: LaunchShape;
  readonly execution: Execution;
  readonly assumptions: readonly Assumption[];
}

/**
 * 'host': all is as main has put it there; 'zeros': nothing was written to some of it; 'kernels': kernels that were launched before have written some of it; 'blocks': blocks of the
 * launch itself have, one after the other.
 */
export type DataOrigin = 'host' | 'zeros' | 'kernels' | 'blocks';

export interface Simulation {
  readonly program: Program;
  /** What is reported. */
  readonly reported: Sample;
  readonly checks: CheckSamples;
  /** Names of sampled sizes that the access depends on, by access index; empty: the figure follows from the text. */
  readonly assumedFor: readonly (readonly string[])[];
  /** By input: the value it has where nobody gives one. */
  readonly sampled: ReadonlyMap<number, number>;
  /** By access: whose data in memory it rests on; undefined where none was followed. */
  readonly followed?: readonly (DataOrigin | undefined)[];
  readonly gridAssumed: boolean;
}

/** @param counted the accesses of interest */
type MakeSample = (counted: ReadonlySet<number>, cancelled?: () => boolean) => Sample;

/**
 * What else is tried. 'sizes': other values of the sizes that nobody gives. 'large': larger values for what is taken to be small
 * by its name. 'border': sizes that are aligned with a border around them. 'shapes': other shapes of a block that nobody gives.
 */
export type CheckKind = 'sizes' | 'large' | 'border' | 'shapes';

type CheckMakers = Readonly<Record<CheckKind, readonly MakeSample[]>>;

/**
 * Executions for other values of what nobody gives, to see whether a figure holds under them. Only findings ask for
 * them, so that most kernels are executed once, and for the accesses that they are about, so that little of the kernel
 * is; they are kept as long as the result is.
 */
export class CheckSamples {
  constructor(
    private readonly makers: CheckMakers,
    private readonly made = new Map<CheckKind, CheckedAccesses[]>(),
  ) {}

  /** The same samples, as far as they are made; others are made in this way. */
  madeBy(makers: CheckMakers): CheckSamples {
    return new CheckSamples(makers, this.made);
  }

  /** Whether there is something of the kind to be tried. */
  has(kind: CheckKind): boolean {
    return this.makers[kind].length > 0;
  }

  /**
   * @param counted indices of the accesses whose counts are asked for; others may be missing
   * @param cancelled true ends the executions; what they gave until then is not kept
   */
  get(kind: CheckKind, counted: ReadonlySet<number>, cancelled?: () => boolean): readonly Sample[] {
    const made = this.made.get(kind) ?? [];
    const known = made.find((each) => isWithin(counted, each.counted));
    if (known) return known.samples;
    const samples = this.makers[kind].map((make) => make(counted, cancelled));
    if (!cancelled?.()) this.made.set(kind, [...made, { counted, samples }]);
    return samples;
  }
}

interface CheckedAccesses {
  readonly counted: ReadonlySet<number>;
  readonly samples: readonly Sample[];
}

function isWithin(part: ReadonlySet<number>, whole: ReadonlySet<number>): boolean {
  for (const each of part) if (!whole.has(each)) return false;
  return true;
}

/** Executions of a kernel by what decides them: launches of equal shape and arguments are executed once. */
export class KnownRuns {
  /** Programs that something rests on in which was beyond what a double holds: executed with halves from then on. */
  readonly large = new Set<Program>();
  private readonly runs = new Map<Program, Map<string, Execution>>();

  get(program: Program, shape: LaunchShape): Execution | undefined {
    return this.runs.get(program)?.get(runKey(shape));
  }

  set(program: Program, shape: LaunchShape, execution: Execution): void {
    let runs = this.runs.get(program);
    if (!runs) this.runs.set(program, (runs = new Map()));
    runs.set(runKey(shape), execution);
  }
}

const runKey = ({ grid, block, dynamicSharedBytes, inputs }: LaunchShape): string =>
  JSON.stringify([grid, block, dynamicSharedBytes, [...inputs]]);

export interface SimulationOptions {
  readonly assume: ReadonlyMap<string, number>;
  readonly parameterNames: readonly (string | undefined)[];
  readonly effort: KernelEffort;
  /** Shared by the launches of a kernel. */
  readonly runs?: KnownRuns;
  readonly cancelled?: () => boolean;
  /** The data that the host gives the kernel; not asked for where nothing rests on it. */
  readonly data?: HostData;
}

export function simulateLaunch(
  program: Program,
  plan: PlannedLaunch,
  model: MemoryModel,
  options: SimulationOptions,
): Simulation {
  const first = runSample(program, plan, model, options, 0, options.cancelled);
  const assumedFor = assumedNames(program, plan, first.sampled);
  const followed = followedAccesses(program, first.sample.execution);
  const simulation = {
    program,
    reported: first.sample,
    checks: new CheckSamples(nothing),
    assumedFor,
    sampled: first.sampled,
    followed,
    gridAssumed: plan.grid === undefined,
  };
  return checkable(simulation, plan, model, options);
}

const nothing: CheckMakers = { sizes: [], large: [], border: [], shapes: [] };

/** The same without what its samples are made from: the unit, its text and its launches. */
export const resting = (simulation: Simulation): Simulation => ({
  ...simulation,
  checks: simulation.checks.madeBy(nothing),
});

/** The same with samples made for a launch that is planned now. */
export function checkable(
  simulation: Simulation,
  plan: PlannedLaunch,
  model: MemoryModel,
  options: SimulationOptions,
): Simulation {
  const { program, sampled, assumedFor } = simulation;
  const isSampled = sampled.size > 0 && assumedFor.some((names) => names.length > 0);
  const make =
    (sample: number, block = plan.block): MakeSample =>
    (counted, cancelled) =>
      runSample(program, { ...plan, block }, model, options, sample, cancelled, counted).sample;
  const hasSmall = isSampled && [...sampled.keys()].some((input) => isSmallName(program.inputs[input].name));
  const checks = simulation.checks.madeBy({
    sizes: isSampled ? SAMPLES.slice(1).map((_, i) => make(i + 1)) : [],
    large: hasSmall ? [make(LARGE_SAMPLE)] : [],
    border: isSampled ? [make(BORDER_SAMPLE)] : [],
    shapes: otherShapes(program, plan).map((block) => make(0, block)),
  });
  return { ...simulation, checks };
}

/** Shapes that people give a block when its lanes have more than one index. */
const SHAPES: readonly Triple[] = [
  [32, 8, 1],
  [16, 16, 1],
];

/** Other shapes to try where nobody says what the block is, and the kernel looks at its second or third index. */
function otherShapes(program: Program, plan: PlannedLaunch): Triple[] {
  const isAssumed = plan.assumptions.some(
    ({ name, origin }) => name.startsWith('blockDim') && (origin === 'assumed' || origin === 'launch-bounds'),
  );
  if (!isAssumed || !readsSecondIndex(program)) return [];
  const known = plan.launch?.block.map((value) => (value.kind === 'number' ? value.value : undefined)) ?? [];
  const fits = (shape: Triple) => known.every((value, axis) => value === undefined || value === shape[axis]);
  return SHAPES.filter((shape) => fits(shape) && shape.some((size, axis) => size !== plan.block[axis]));
}

function readsSecondIndex({ inputs, blocks }: Program): boolean {
  const registers = new Set(
    inputs.flatMap(({ source, register }) => (source.kind === 'threadIdx' && source.axis > 0 ? register : [])),
  );
  return (
    registers.size > 0 &&
    blocks.some(({ instructions }) => instructions.some((i) => readsOf(i).some((r) => registers.has(r))))
  );
}

/** The grid that the host computes from the sampled sizes. */
function sampledGrid(plan: PlannedLaunch, sample: number): Triple | undefined {
  const launch = plan.under?.(sample);
  const grid = launch && tripleOf(launch.grid);
  return grid?.every((size) => size >= 1) ? grid : undefined;
}

function runSample(
  program: Program,
  plan: PlannedLaunch,
  model: MemoryModel,
  options: SimulationOptions,
  sample: number,
  cancelled: (() => boolean) | undefined,
  counted?: ReadonlySet<number>,
): { sample: Sample; sampled: ReadonlyMap<number, number> } {
  const resolved = resolveInputs(program, plan, {
    assume: options.assume,
    parameterNames: options.parameterNames,
    sample,
    under: plan.under?.(sample),
    fromRun: (input) => options.data?.numberOf(plan, program, input),
  });
  const grid: Triple = plan.grid ?? sampledGrid(plan, sample) ?? assumedGrid(plan.block, sample);
  const shape: LaunchShape = {
    grid,
    block: plan.block,
    dynamicSharedBytes: plan.dynamicSharedBytes,
    inputs: resolved.values,
    data: dataOf(program, plan, options, resolved.values, resolved.sampled),
  };
  const execution = executed(program, plan.symbols, shape, model, options, cancelled, counted);
  const assumptions = [...plan.assumptions, ...resolved.assumptions];
  if (!plan.grid) assumptions.push({ name: 'gridDim.x', value: grid[0], origin: 'assumed' });
  return { sample: { shape, execution, assumptions }, sampled: resolved.sampled };
}

/** Passes of an inner loop that a pass of the loop around it is expected to make, at least. */
const INNER_PASSES = 4;

/** Warp instructions of a block whose warps come to everything once, and a few times to what stands in loops within loops. */
function stepsOnce(program: Program, { block }: LaunchShape, counted?: ReadonlySet<number>): number {
  const warps = Math.ceil((block[0] * block[1] * block[2]) / 32);
  const { flow, slice } = analyse(program, false, counted);
  const { loopOf, loops } = flow;
  const isInner = (at: number) => loopOf[at] >= 0 && loops[loopOf[at]].parent >= 0;
  const steps = slice.kept.map(({ length }, at) => (length + 1) * (isInner(at) ? INNER_PASSES : 1));
  return steps.reduce((sum, each) => sum + each, 0) * warps;
}

const restsOnLarge = ({ accesses }: Execution): boolean =>
  accesses.some(({ unknownReason, speculative }) => `${unknownReason} ${speculative}`.includes(TOO_LARGE));

function executed(
  program: Program,
  symbols: PlannedLaunch['symbols'],
  shape: LaunchShape,
  model: MemoryModel,
  { effort, runs }: SimulationOptions,
  cancelled: (() => boolean) | undefined,
  counted: ReadonlySet<number> | undefined,
): Execution {
  const whole = withSymbolTables(program, symbols);
  // equal arguments may come with other data
  const isKept = runs !== undefined && shape.data === undefined;
  const known = isKept ? runs.get(whole, shape) : undefined;
  if (known) return known;
  const budget = { ...effort.budget(counted === undefined, stepsOnce(whole, shape, counted)), cancelled };
  const run = (of: Program) => {
    const execution = execute(of, shape, model, budget, counted);
    effort.charge(execution.simulatedWarpInstructions);
    return execution;
  };
  const halved = () => withSymbolTables(asWordPairs(program), symbols);
  let execution = run(runs?.large.has(program) ? halved() : whole);
  if (!runs?.large.has(program) && restsOnLarge(execution) && asWordPairs(program) !== program) {
    runs?.large.add(program);
    execution = run(halved());
  }
  // a run for some accesses is not shown in place of a whole one
  if (isKept && counted === undefined) runs.set(whole, shape, execution);
  return execution;
}

/**
 * What memory holds at the launch, where something rests on it. It holds for the launch as it is; a number that neither the text nor the run
 * tells is assumed all the same, and named where something rests on it.
 */
function dataOf(
  program: Program,
  plan: PlannedLaunch,
  options: SimulationOptions,
  values: LaunchShape['inputs'],
  sampled: ReadonlyMap<number, number>,
): LaunchShape['data'] {
  if (!options.data || !asksForData(program, plan)) return undefined;
  const numbers = new Map<number, number>();
  for (const [input, value] of values)
    if (value.kind === 'number' && !sampled.has(input)) numbers.set(input, value.value);
  return options.data.at(plan, program, numbers);
}

/** Loads of data decide something; of tables that the launch's symbols give the numbers are known anyway. */
function asksForData(program: Program, plan: PlannedLaunch): boolean {
  return dataLoads(program).some((access) => {
    const { object } = program.accesses[access];
    return object === undefined || !isSymbolTable(program.objects[object], plan.symbols);
  });
}

/** By access: whose data its address or its lanes rest on. */
function followedAccesses(
  program: Program,
  { givenLoads, resultLoads, orderedLoads, zeroLoads }: Execution,
): Simulation['followed'] {
  if (!givenLoads) return undefined;
  const depends = dependencies(program);
  return program.accesses.map((_, access) => {
    const loads = [...(depends.addressLoads[access] ?? []), ...(depends.executionLoads[access] ?? [])];
    if (loads.some((l) => orderedLoads?.has(l))) return 'blocks';
    if (loads.some((l) => resultLoads?.has(l))) return 'kernels';
    if (loads.some((l) => zeroLoads?.has(l))) return 'zeros';
    return loads.some((l) => givenLoads.has(l)) ? 'host' : undefined;
  });
}

/** For every access the assumed values that its address or its execution rests on. */
function assumedNames(program: Program, plan: PlannedLaunch, sampled: ReadonlyMap<number, number>): string[][] {
  const assumedBlock = plan.assumptions.some(
    (a) => a.name.startsWith('blockDim') && (a.origin === 'assumed' || a.origin === 'launch-bounds'),
  );
  const tickets = ticketAccesses(program);
  if (sampled.size === 0 && !assumedBlock && plan.grid !== undefined && tickets.size === 0)
    return program.accesses.map(() => []);
  const depends = dependencies(program);
  return program.accesses.map((_, access) => {
    const names = new Set<string>();
    for (const inputs of [depends.address[access], depends.execution[access]]) {
      for (const input of inputs ?? []) {
        const { source, name } = program.inputs[input];
        if (sampled.has(input)) names.add(name);
        if (assumedBlock && (source.kind === 'blockDim' || source.kind === 'threadIdx')) names.add('blockDim');
        if (plan.grid === undefined && source.kind === 'gridDim') names.add('gridDim');
      }
    }
    for (const loads of [depends.addressLoads[access], depends.executionLoads[access]]) {
      for (const load of loads ?? []) {
        if (tickets.has(load)) names.add(`order in which blocks draw from ${program.accesses[load].expression}`);
      }
    }
    return [...names];
  });
}
