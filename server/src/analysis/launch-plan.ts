/** Which launches of a kernel are analysed: found ones, an annotation's, bounds, settings, or a stated assumption. */
import type { Annotation } from '../launch/annotation';
import type { HostTriple, HostValue } from '../launch/host-value';
import type { Assumption, LaunchOrigin } from '../report/report';
import type { Launch } from './launches';
import type { AnalysisOptions } from './request';
import type { SampledLaunches } from './sampled-launches';

export type Triple = readonly [number, number, number];

/** A launch with its shape settled. Values of parameters may still be unknown. */
export interface PlannedLaunch {
  readonly origin: LaunchOrigin;
  readonly place?: { readonly first: number; readonly last: number };
  readonly block: Triple;
  /** undefined: follows from the sampled sizes */
  readonly grid: Triple | undefined;
  readonly dynamicSharedBytes: number;
  readonly arguments: readonly HostValue[];
  readonly named: ReadonlyMap<string, number>;
  readonly symbols: ReadonlyMap<string, HostValue>;
  readonly launch?: Launch;
  /** Where the program launches the same as well, its own place first; undefined where nowhere else does. */
  readonly sites?: readonly NonNullable<PlannedLaunch['place']>[];
  /** Which of the times that the run of the program came to its places it is; the first that it agrees with where it is missing. */
  readonly round?: number;
  /** The launch as it would be under a sample of what is not known. */
  readonly under?: (sample: number) => Launch | undefined;
  readonly assumptions: readonly Assumption[];
}

export const DEFAULT_BLOCK: Triple = [256, 1, 1];

/** Numbers of a host triple; undefined where one is not known. */
export function tripleOf(values: readonly HostValue[]): Triple | undefined {
  const numbers = values.map((v) => (v.kind === 'number' ? Math.trunc(v.value) : undefined));
  const [x, y, z] = numbers;
  return x === undefined || y === undefined || z === undefined ? undefined : [x, y, z];
}

export interface PlanInputs {
  readonly launches: readonly Launch[];
  /** Launches under samples of what the host leaves open. */
  readonly sampled?: SampledLaunches;
  readonly annotation: Annotation | undefined;
  /** __launch_bounds__(maxThreads), evaluated where the launch does not say its block */
  readonly maxThreads: () => number | undefined;
  readonly options: AnalysisOptions;
}

/** Launches of one kernel, at least one, identical ones once. */
export function planLaunches(inputs: PlanInputs): PlannedLaunch[] {
  const planned = new Map<string, PlannedLaunch>();
  for (const launch of possible(inputs.launches)) {
    const plan = fromLaunchSite(launch, inputs);
    const key = JSON.stringify([plan.block, plan.grid, plan.dynamicSharedBytes, launch.key]);
    const same = planned.get(key);
    planned.set(key, same ? alsoAt(same, launch.place) : plan);
  }
  if (planned.size > 0) return [...planned.values()].slice(0, 24);
  return [withoutLaunchSite(inputs)];
}

function alsoAt(plan: PlannedLaunch, place: Launch['place']): PlannedLaunch {
  const sites = plan.sites ?? (plan.place ? [plan.place] : []);
  return sites.some(({ first }) => first === place.first) ? plan : { ...plan, sites: [...sites, place] };
}

/**
 * Launches that can be. Behind an exit() that the plainest run takes, a grid of no blocks comes from defaults that the program itself
 * rejects (a size of 0 until an option gives one): what is 0 counts as not known there.
 */
function possible(launches: readonly Launch[]): readonly Launch[] {
  const running = launches.filter(({ grid }) => !grid.some(isNone));
  return running.length > 0 ? running : launches.map((launch) => (launch.reached ? launch : withoutZeros(launch)));
}

/** It has a grid of no blocks, or a block of no threads. */
export const isEmpty = ({ grid, block }: Launch): boolean => [...grid, ...block].some(isNone);

const isNone = (value: HostValue): boolean => value.kind === 'number' && value.value < 1;

/** A launch of no blocks, with what is 0 of it not known. */
export function withoutZeros(launch: Launch): Launch {
  const open: HostValue = { kind: 'unknown', reason: 'the launch would have no blocks' };
  const named = (name: string | undefined): HostValue => (name === undefined ? open : { ...open, name });
  const free = (value: HostValue): HostValue => (isNone(value) ? open : value);
  const opened = ([x, y, z]: HostTriple): HostTriple => [free(x), free(y), free(z)];
  const { parameters } = launch.kernel.declaration;
  const values = launch.arguments.map((v, i) =>
    isNone(v) && v.kind === 'number' && Number.isInteger(v.value) ? named(parameters[i]?.name) : v,
  );
  return {
    ...launch,
    grid: opened(launch.grid),
    block: opened(launch.block),
    arguments: values,
    key: `${launch.key} without blocks`,
  };
}

function fromLaunchSite(launch: Launch, inputs: PlanInputs): PlannedLaunch {
  const { annotation, options } = inputs;
  const assumptions = [...launch.asked].map(([name, value]): Assumption => ({ name, value, origin: 'device' }));
  if (launch.seed !== undefined) assumptions.push({ name: RANDOM_SEED, value: launch.seed, origin: 'assumed' });
  const found = tripleOf(launch.block);
  const first = inputs.sampled?.of(launch, 0);
  const open = found ? undefined : blockWithoutSite(inputs);
  const block = found ?? shapeOf(first) ?? partly(launch.block, open?.block ?? DEFAULT_BLOCK);
  if (open) assumptions.push(...blockAssumptions(block, open.origin));
  const grid = tripleOf(launch.grid) ?? annotation?.grid ?? options.grid;
  const shared =
    launch.dynamicSharedBytes.kind === 'number'
      ? launch.dynamicSharedBytes.value
      : (annotation?.dynamicSharedBytes ?? options.dynamicSharedBytes);
  const assumedShared = shared ?? bytesOf(first) ?? 0;
  if (shared === undefined)
    assumptions.push({ name: 'dynamic shared memory', value: assumedShared, origin: 'assumed' });
  return {
    origin: 'launch-site',
    place: launch.place,
    block,
    grid,
    dynamicSharedBytes: Math.max(0, assumedShared),
    arguments: launch.arguments,
    named: annotation?.values ?? new Map(),
    symbols: launch.symbols,
    launch,
    under: (sample) => inputs.sampled?.of(launch, sample),
    assumptions,
  };
}

/** The block that the host computes from sampled sizes, if it can be one. */
function shapeOf(launch: Launch | undefined): Triple | undefined {
  const shape = launch && tripleOf(launch.block);
  return shape?.every((size) => size >= 1) && shape[0] * shape[1] * shape[2] <= MOST_THREADS ? shape : undefined;
}

/** Threads of a block at most (CUDA C++ Programming Guide, "Compute Capabilities"). */
const MOST_THREADS = 1024;
/** Name of the assumption that a launch rests on where random numbers may have led to what it is given. */
export const RANDOM_SEED = 'random seed';

const bytesOf = (launch: Launch | undefined): number | undefined =>
  launch?.dynamicSharedBytes.kind === 'number' ? launch.dynamicSharedBytes.value : undefined;

/** Known components of a block shape are kept. */
function partly(values: readonly HostValue[], fallback: Triple): Triple {
  const known = values.map((v) => (v.kind === 'number' ? v.value : undefined));
  if (known[0] === undefined && known[1] === 1 && known[2] === 1)
    return [fallback[0] * fallback[1] * fallback[2], 1, 1];
  if (known[0] === undefined && known[1] === undefined) return fallback[1] > 1 ? fallback : [16, 16, 1];
  return [known[0] ?? 32, known[1] ?? (known[0] === undefined ? 1 : 8), known[2] ?? 1];
}

function blockAssumptions(block: Triple, origin: LaunchOrigin): Assumption[] {
  return (['x', 'y', 'z'] as const).flatMap((axis, i) =>
    block[i] === 1 && i > 0 ? [] : [{ name: `blockDim.${axis}`, value: block[i], origin }],
  );
}

function blockWithoutSite({ annotation, maxThreads: bound, options }: PlanInputs): {
  block: Triple;
  origin: LaunchOrigin;
} {
  if (annotation?.block) return { block: annotation.block, origin: 'annotation' };
  if (options.block) return { block: options.block, origin: 'setting' };
  const maxThreads = bound();
  if (maxThreads !== undefined && maxThreads > 0 && maxThreads <= 1024)
    return { block: [maxThreads, 1, 1], origin: 'launch-bounds' };
  return { block: DEFAULT_BLOCK, origin: 'assumed' };
}

function withoutLaunchSite(inputs: PlanInputs): PlannedLaunch {
  const { annotation, options } = inputs;
  const { block, origin } = blockWithoutSite(inputs);
  return {
    origin,
    block,
    grid: annotation?.grid ?? options.grid,
    dynamicSharedBytes: annotation?.dynamicSharedBytes ?? options.dynamicSharedBytes ?? 0,
    arguments: [],
    named: annotation?.values ?? new Map(),
    symbols: new Map(),
    assumptions: origin === 'annotation' ? [] : blockAssumptions(block, origin),
  };
}
