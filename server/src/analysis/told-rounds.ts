/** Which execution tells of which time that the program comes to a launch. */
import type { LaunchShape } from '../execute/execution';
import { FEWEST_ROUNDS } from '../launch/launch-recorder';
import type { Program } from '../program/program';
import { changedPlan, countAlike, furtherRounds } from './further-rounds';
import type { HostData } from './host-data';
import type { KernelResult } from './kernel-result';
import { roundsOf } from './launch-cache';
import type { PlannedLaunch } from './launch-plan';
import type { Simulation } from './simulate';
import type { Unit } from './unit';

/** With other times that the program comes to these launches, as far as they count something else. The editor's answer has the first times. */
export function withFurtherRounds(
  unit: Unit,
  planned: KernelResult['launches'],
  simulate: (program: Program, plan: PlannedLaunch) => Simulation,
): KernelResult['launches'] {
  const { data, isTrial } = unit;
  const rounds = roundsOf(unit.request.options.patience);
  const isData = planned.some(({ simulation }) => simulation.followed?.some((origin) => origin !== undefined));
  if (!data || isTrial || rounds <= FEWEST_ROUNDS) return planned;
  if (!isData) return withOwnRounds(planned, data);
  const { own, others, left } = furtherRounds(planned, data, rounds);
  const launches = planned.map(
    (launch, i): Reported => ({ ...launch, rounds: own[i].length > 0 ? [...own[i]] : undefined }),
  );
  /** By launch that is planned: which of its times were executed, and the launch that tells of each. */
  const told = launches.map((launch): Told[] => (launch.rounds ? [{ ordinal: launch.rounds[0], launch }] : []));
  const open = left.map((ordinals) => [...ordinals]);
  const made = new Map<Reported, number>();
  for (const other of spreadOut(others)) {
    const { of, change, ordinal, alike } = other;
    const base = launches[of];
    // what the budget cuts short for one time it does for the others
    const isCut = base.simulation.reported.execution.incomplete !== undefined;
    const plan = changedPlan(base.plan, change);
    const simulation = isCut ? base.simulation : simulate(base.program, plan);
    const { execution, shape } = simulation.reported;
    if (execution.incomplete !== undefined || (!change.grid && knowsLess(simulation, base.simulation))) {
      if (!change.grid) open[of].push(ordinal, ...alike);
      continue;
    }
    const same = launches.find(
      ({ index, simulation: { reported } }) =>
        index === base.index && isSameShape(reported.shape, shape) && countAlike(reported.execution, execution),
    );
    const launch: Reported = same ?? { ...base, plan, change, simulation, rounds: [] };
    if (!same) launches.push(launch);
    made.set(launch, Math.min(made.get(launch) ?? others.length, others.indexOf(other)));
    for (const each of [ordinal, ...alike]) move(each, change.grid ? undefined : base, launch);
    if (!change.grid) told[of].push({ ordinal, launch });
  }
  for (const [of, times] of told.entries())
    for (const ordinal of open[of]) move(ordinal, launches[of], nearest(times, ordinal) ?? launches[of]);
  // as the program comes to them
  const further = launches.slice(planned.length).sort((a, b) => (made.get(a) ?? 0) - (made.get(b) ?? 0));
  return [...launches.slice(0, planned.length), ...further];
}

/** Launches that differ in their numbers only, with the times that each of them is: told where the run has been asked for anything. */
function withOwnRounds(planned: KernelResult['launches'], data: HostData): KernelResult['launches'] {
  if (planned.length < 2 || !data.wasAsked) return planned;
  const { own } = furtherRounds(planned, data, planned.length);
  return planned.map(
    (launch, i): Reported => ({ ...launch, rounds: own[i].length > 0 ? [...own[i]].sort((a, b) => a - b) : undefined }),
  );
}

/** What blocks have left in an order of their own is not known: the time before, of which more is, says more of it. */
function knowsLess({ followed = [] }: Simulation, { followed: known = [] }: Simulation): boolean {
  return known.some((origin, access) => origin !== undefined && followed[access] === undefined);
}

function move(ordinal: number, from: Reported | undefined, to: Reported): void {
  if (from?.rounds) from.rounds = from.rounds.filter((each) => each !== ordinal);
  to.rounds = [...new Set([...(to.rounds ?? []), ordinal])].sort((a, b) => a - b);
}

/** A time of a launch that was executed. */
interface Told {
  readonly ordinal: number;
  readonly launch: Reported;
}

type Reported = KernelResult['launches'][number] & { rounds?: readonly number[] };

/** The launch that tells of the nearest time, before or behind: what an iteration does changes from time to time, and mostly less and less. */
function nearest(times: readonly Told[], ordinal: number): Reported | undefined {
  const distance = (time: Told) => Math.abs(time.ordinal - ordinal);
  const [first, ...others] = times;
  return first && others.reduce((best, time) => (distance(time) < distance(best) ? time : best), first).launch;
}

/** The last first, then from the middle on: where the budget ends, some of all parts were executed. */
function spreadOut<T>(items: readonly T[]): T[] {
  const picked: T[] = [];
  const ranges: [number, number][] = [[0, items.length - 1]];
  if (items.length > 0) picked.push(items[items.length - 1]);
  for (let range = ranges.shift(); range; range = ranges.shift()) {
    const [from, to] = range;
    if (from >= to) continue;
    const middle = (from + to - 1) >> 1;
    picked.push(items[middle]);
    ranges.push([from, middle], [middle + 1, to]);
  }
  return picked;
}

const isSameShape = (a: LaunchShape, b: LaunchShape): boolean => shapeKey(a) === shapeKey(b);

const shapeKey = ({ grid, block, dynamicSharedBytes }: LaunchShape): string =>
  [...grid, ...block, dynamicSharedBytes].join();
