/**
 * A launch that the program comes to again and again, with the same arguments but other data: the levels of a search, the passes of a sort. What
 * its first time counts is not what the others do, so more of them are executed, each with what memory holds then. Launches that only the
 * run of the program has found, since the text does not tell how its loop ends, are counted among them.
 */
import type { AccessCounts, Execution } from '../execute/execution';
import type { HostRound } from '../host/run-host';
import type { HostValue } from '../launch/host-value';
import { reportedRounds } from '../launch/reported-rounds';
import { mapped } from './completed-launches';
import type { HostData } from './host-data';
import type { KernelResult } from './kernel-result';
import type { PlannedLaunch, Triple } from './launch-plan';
import { byteOfLine } from './launches';
import { partsOf, pointersIn, shapeOf } from './round-parts';

type Simulated = KernelResult['launches'][number];

/** What another time of a launch changes of how it is planned. */
export type RoundChange = Pick<PlannedLaunch, 'round'> & {
  /** Which of the places that launch the same. */
  readonly site?: number;
} & Partial<Pick<PlannedLaunch, 'grid' | 'block' | 'dynamicSharedBytes' | 'arguments'>>;

/** A launch as another time of it changes it. */
export function changedPlan(plan: PlannedLaunch, change: RoundChange | undefined): PlannedLaunch {
  if (!change) return plan;
  const { site, ...changes } = change;
  return { ...plan, ...changes, place: (site !== undefined && plan.sites?.[site]) || plan.place };
}

export interface FurtherRounds {
  /** By index of the launches that are simulated already: the times that they may stand for, by their numbers. */
  readonly own: readonly (readonly number[])[];
  /** Times to be executed as well, in the order of the program. */
  readonly others: readonly FurtherRound[];
  /** By index: times with data of their own that are not executed. */
  readonly left: readonly (readonly number[])[];
}

export interface FurtherRound {
  /** Index of the launch that is simulated. */
  readonly of: number;
  readonly change: RoundChange;
  readonly ordinal: number;
  /** Times that find the same in memory. */
  readonly alike: readonly number[];
}

/** @param most launches of a kernel that are reported */
export function furtherRounds(launches: readonly Simulated[], data: HostData, most: number): FurtherRounds {
  const own: number[][] = launches.map(() => []);
  const left: number[][] = launches.map(() => []);
  const others: FurtherRound[] = [];
  const sites = new Map<string, number[]>();
  launches.forEach(({ plan }, index) => {
    if (plan.place && plan.launch) push(sites, `${plan.place.first}#${plan.launch.instance}`, index);
  });
  for (const members of sites.values()) {
    const { place, launch } = launches[members[0]].plan;
    if (!place || !launch) continue;
    const rounds = data.roundsAt(place.first, launch.instance);
    const plannedAs = rounds.map((round) => members.find((index) => isRoundOf(data, launches[index], round)));
    if (plannedAs.every((index) => index === undefined)) continue;
    const again = new Map<number, number[]>();
    const unforeseen = new Map<string, number>();
    rounds.forEach((round, nth) => {
      const index = plannedAs[nth];
      if (index === undefined) {
        const key = keyOf(round);
        if (!unforeseen.has(key)) unforeseen.set(key, nth);
        return;
      }
      own[index].push(data.ordinalOf(round));
      if (isOfData(launches[index])) push(again, index, nth);
    });
    for (const index of members) {
      const elsewhere = timesElsewhere(launches[index], data);
      for (const { round } of elsewhere) own[index].push(data.ordinalOf(round));
      const times = (again.get(index) ?? []).map((nth): Time => ({ nth, round: rounds[nth] }));
      if (isOfData(launches[index])) times.push(...elsewhere);
      const groups = groupsOf(times);
      const picked = new Set(reportedRounds(groups.length, most, () => ''));
      for (const [at, group] of groups.entries()) {
        if (at === 0) continue;
        const [ordinal, ...alike] = group.map(({ round }) => data.ordinalOf(round));
        const [{ nth, site }] = group;
        if (picked.has(at)) others.push({ of: index, change: { round: nth, site }, ordinal, alike });
        else left[index].push(ordinal, ...alike);
      }
    }
    const found = [...unforeseen.values()];
    for (const at of reportedRounds(found.length, most, (i) => shapeOf(rounds[found[i]]))) {
      const change = changeOf(launches[members[0]].plan, rounds[found[at]], found[at]);
      if (change) others.push({ of: members[0], change, ordinal: data.ordinalOf(rounds[found[at]]), alike: [] });
    }
  }
  const room = Math.max(0, most - launches.length);
  // what was launched with other numbers is no time of this launch: nobody tells of it
  for (const { of, change, ordinal, alike } of others.slice(room)) if (!change.grid) left[of].push(ordinal, ...alike);
  return { own, others: others.slice(0, room), left };
}

/** One of the times that the run comes to a launch. */
interface Time {
  readonly nth: number;
  readonly site?: number;
  readonly round: HostRound;
}

/** Times that find the same in memory, one group after the other as they first come. */
function groupsOf(times: readonly Time[]): Time[][] {
  const groups: Time[][] = [];
  for (const time of times) {
    const group = groups.find(([first]) => isSame(first.round, time.round));
    if (group) group.push(time);
    else groups.push([time]);
  }
  return groups;
}

/** The times that the run comes to the same launch at other places. */
function timesElsewhere(launched: Simulated, data: HostData): Time[] {
  const { sites = [], launch } = launched.plan;
  const times: Time[] = [];
  for (let site = 1; site < sites.length; site++) {
    const [before, all] = [site, site + 1].map((count) => {
      const places = sites.slice(0, count).map(({ first }) => first);
      return data.roundsAtAll(places, launch?.instance);
    });
    for (let nth = before.length; nth < all.length; nth++)
      if (isRoundOf(data, launched, all[nth])) times.push({ nth, site, round: all[nth] });
  }
  return times;
}

/**
 * It rests on data, and not on the order in which its blocks change them: what another order makes of them grows from time to time (a relaxation of
 * distances converges in 8 passes where the blocks run one after the other, on an H200 in 12: graph_pagerank.cu:80).
 */
function isOfData({ simulation: { followed = [] } }: Simulated): boolean {
  return followed.some((origin) => origin !== undefined) && !followed.includes('blocks');
}

function push<K>(lists: Map<K, number[]>, key: K, value: number): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

function isRoundOf(data: HostData, { plan, program, simulation }: Simulated, round: HostRound): boolean {
  const numbers = new Map<number, number>();
  for (const [input, value] of simulation.reported.shape.inputs) {
    // what nobody has told of constant memory is the round's own
    const isOpen = program.inputs[input].source.kind === 'global' && simulation.sampled.has(input);
    if (value.kind === 'number' && !isOpen) numbers.set(input, value.value);
  }
  return data.isPlanned(round, plan, program, numbers);
}

/** Equal for rounds of the same numbers, with pointers to the same bytes of a line. */
function keyOf(round: HostRound): string {
  const pointers = pointersIn(round).map(({ part, offset }) => [part, byteOfLine(offset)]);
  return JSON.stringify([...partsOf(round), ...pointers]);
}

/** A plan with the numbers and pointers of a round; undefined where the run does not know its shape. */
function changeOf(plan: PlannedLaunch, round: HostRound, nth: number): RoundChange | undefined {
  const { launch } = plan;
  if (!launch) return undefined;
  const parts = partsOf(round);
  const offsets = new Map(pointersIn(round).map(({ part, offset }) => [part, offset]));
  const known = (value: HostValue, part: string): HostValue => {
    if (value.kind === 'pointer') return { ...value, offsetBytes: offsets.get(part) ?? value.offsetBytes };
    const number = parts.get(part);
    return number === undefined ? value : { kind: 'number', value: number };
  };
  const triple = (name: string): Triple | undefined => {
    const [x, y, z] = [0, 1, 2].map((axis) => parts.get(`${name}.${axis}`));
    return x === undefined || y === undefined || z === undefined ? undefined : [x, y, z];
  };
  const [grid, block] = [triple('grid'), triple('block')];
  const dynamicSharedBytes = parts.get('dynamicSharedBytes');
  if (!grid || !block || dynamicSharedBytes === undefined || grid.some((size) => size < 1)) return undefined;
  return { round: nth, grid, block, dynamicSharedBytes, arguments: mapped(launch, known).arguments };
}

/** Both find the same in memory. */
function isSame(a: HostRound, b: HostRound): boolean {
  return (
    a.contents.length === b.contents.length &&
    a.contents.every((one, i) => {
      const other = b.contents[i];
      if (one === other) return true;
      return (
        one.address === other.address &&
        one.isZero === other.isZero &&
        isEqual(one.bytes, other.bytes) &&
        isEqual(one.shadows, other.shadows)
      );
    })
  );
}

function isEqual(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  if (!a || !b || a.length !== b.length) return a === b;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Whether two executions of a program give an access the same figures everywhere. */
export function countAlike(a: Execution, b: Execution): boolean {
  return a.accesses.length === b.accesses.length && a.accesses.every((counts, i) => isAlike(counts, b.accesses[i]));
}

const isAlike = (a: AccessCounts, b: AccessCounts): boolean =>
  a.access === b.access &&
  a.requests === b.requests &&
  a.wavefronts === b.wavefronts &&
  a.sectors === b.sectors &&
  a.idealWavefronts === b.idealWavefronts &&
  a.idealSectors === b.idealSectors &&
  a.unknownRequests === b.unknownRequests;
