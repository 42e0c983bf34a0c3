/** Accesses at or above a rule's threshold, each in the launch where it is worst, and what becomes of it under other sizes. */
import { isSmallName } from '../analysis/sampling';
import type { CheckKind, Simulation } from '../analysis/simulate';
import { RARE_CONDITION } from '../execute/rare-side';
import { CONDITION_OF_LANES, ITERATIONS_AND_LANES } from '../execute/speculation';
import { BLOCK_BY_BLOCK, BLOCKS_DIFFER, PART_OF_ADDRESSES, WITH_DATA } from '../report/assemble';
import type { AccessReport, LaunchReport, Location } from '../report/report';
import type { RuleContext, RuleLaunch } from './rule';

/** An access under its worst launch. */
export interface WorstAccess {
  readonly access: AccessReport;
  readonly launch: LaunchReport;
  readonly launchIndex: number;
  /** actual ÷ ideal, of the reported sample */
  readonly excess: number;
  /** the smallest excess over all samples of the sizes that nobody gives; NaN where one of them could not be tried, or data are known in part */
  readonly certainExcess: number;
  /** the excess under every sample of sizes that nobody gives, NaN where its run ended before */
  readonly excesses: readonly number[];
  /** the excess with other shapes of a block that nobody gives */
  readonly shapeExcesses: readonly number[];
  /** the excess with larger values for what is taken to be small; undefined without such */
  readonly largeExcess: number | undefined;
  /** the excess with sizes that are aligned with a border around them; undefined where it is small under another sample already */
  readonly borderExcess: number | undefined;
  /** names of these sizes */
  readonly assumed: readonly string[];
  /** excess of everything of the same space and operation on the line, as the profiler's source view sums it up */
  readonly lineExcess: number;
  /** launches in which the access is as bad or worse than the threshold, of how many */
  readonly launchesHit: number;
}

export type Measure = (a: {
  wavefronts: number;
  idealWavefronts: number;
  sectors: number;
  idealSectors: number;
}) => number;

export const sharedExcess: Measure = (a) => (a.idealWavefronts > 0 ? a.wavefronts / a.idealWavefronts : 1);
export const globalExcess: Measure = (a) => (a.idealSectors > 0 ? a.sectors / a.idealSectors : 1);

/** The figure is of all lanes that might come there, while a few do: what few lanes move is another figure. */
const isRarelyExecuted = ({ reason }: AccessReport): boolean =>
  reason?.split('; ').some((part) => part.startsWith(RARE_CONDITION)) === true;

/** Each lane comes there only under a condition of its own, and nobody knows which do. */
export const hasConditionOfLanes = ({ reason }: AccessReport): boolean =>
  reason?.split('; ').some((part) => part.startsWith(CONDITION_OF_LANES) || part.startsWith(ITERATIONS_AND_LANES)) ===
  true;

/**
 * Each lane comes only under a condition of its own that is not known: where half of them come they move half of the sectors, and less than one a
 * request is not to be had (a wavefront of five lanes: 1.57 of all lanes, 1.22 to 1.44 measured of those that came, on an H200; a loop over shifted
 * bytes that most lanes leave soon: 1.76, and 1.16 on an H100, bwt_block_codec.cu:159).
 * @param threshold sectors over the ideal that are worth a word
 */
export function mayBeOfFewLanes(access: AccessReport, threshold: number): boolean {
  const leastIdeal = Math.max(access.requests, access.idealSectors / 2);
  return hasConditionOfLanes(access) && access.sectors / 2 < threshold * leastIdeal;
}

/**
 * What is known of it rests on data, and for some lanes the data do not tell whether or where they come: the figure is of all lanes, and
 * another one where fewer come (huffman_encode.cu:163: 1.65 so, 1.06 measured).
 */
const isPartlyFollowed = ({ reason }: AccessReport): boolean => {
  const parts = reason?.split('; ') ?? [];
  const isOpen = (part: string) => part.startsWith(CONDITION) || part.startsWith(PART_OF_ADDRESSES);
  return parts.some((part) => part.startsWith(WITH_DATA)) && parts.some(isOpen);
};

/** An excess of all lanes that leaves something to be said where a few of them come, as much as where nothing is known of the data. */
const BAD_FOR_FEW = 4;

/**
 * Where loaded data lead blocks to different places, those that were executed may be worse than the others by about as much (1.51 from 26 of 313
 * blocks, 1.47 on an H200: a search among neighbours in cells).
 */
const SAMPLING_ERROR = 0.05;

const isSampleOfData = ({ reason }: AccessReport): boolean => {
  const parts = reason?.split('; ') ?? [];
  return parts.some((part) => part.startsWith(WITH_DATA)) && parts.some((part) => part.startsWith(BLOCKS_DIFFER));
};

/**
 * In another order blocks find something else (a tree that lanes build under locks: 1.64 in the order of the blocks, 1.18 on an H100): less than
 * twice the ideal promises nothing.
 */
const ORDER_ERROR = 0.25;

const isOfSomeOrder = ({ reason }: AccessReport): boolean =>
  reason?.split('; ').some((part) => part.startsWith(BLOCK_BY_BLOCK)) === true;

/** How much less than what was found it may be. */
function errorOf(access: AccessReport): number {
  // in another order one request or two are others: of a few that is all of them (two of four lanes told, 1.17 measured of many)
  if (isOfSomeOrder(access)) return Math.max(ORDER_ERROR, Math.min(1, 2 / Math.max(1, access.requests)));
  return isSampleOfData(access) ? SAMPLING_ERROR : 0;
}

/** How the reason begins for what is executed under a condition that is not known. */
const CONDITION = 'condition ';

const positionOf = (a: Location & Pick<AccessReport, 'space' | 'operation'>): string =>
  `${a.file}:${a.line}:${a.column}:${a.endLine}:${a.endColumn}:${a.space}:${a.operation}`;

/** By the index that findings have: launches, then later times of them. */
export const launchAt = ({ launches, later }: RuleContext, index: number): RuleLaunch =>
  launches[index] ?? later[index - launches.length];

/** Accesses of one space at or above a threshold, each with the launch in which it is worst. */
export function worstAccesses(
  context: RuleContext,
  space: AccessReport['space'],
  measure: Measure,
  threshold: number,
): WorstAccess[] {
  const worst = new Map<string, Found>();
  const seen = new Set<string>();
  context.launches.forEach(({ report }, launchIndex) => {
    for (const access of report.accesses) {
      seen.add(positionOf(access));
      if (access.space !== space || access.certainty === 'unknown' || isRarelyExecuted(access)) continue;
      // what an asynchronous copy past L1 costs more is said of the half that writes
      if (space === 'global' && access.witness?.isPastL1) continue;
      const excess = measure(access);
      if (excess < threshold) continue;
      const key = positionOf(access);
      const known = worst.get(key);
      const launchesHit = (known?.launchesHit ?? 0) + 1;
      const found = known && known.excess >= excess ? known : { access, launch: report, launchIndex, excess };
      worst.set(key, { ...found, launchesHit });
    }
  });
  for (const found of worstLater(context, space, measure, threshold, seen)) {
    const key = positionOf(found.access);
    if (!worst.has(key)) worst.set(key, found);
  }
  const sums: Sums = new Map();
  const assumed = assumedOf(context, [...worst.values()]);
  return [...worst.values()].map((found) => checked(context, found, measure, sums, assumed));
}

/** An access in the launch in which it is worst, before other sizes were looked at. */
type Found = Pick<WorstAccess, 'access' | 'launch' | 'launchIndex' | 'excess' | 'launchesHit'>;

/**
 * Of what only other times of launches come to: as bad in every one of them. Of what the launches come to as well, and is in order there (a
 * frontier that has one node yet): bad in all times together.
 */
function worstLater(
  context: RuleContext,
  space: AccessReport['space'],
  measure: Measure,
  threshold: number,
  seen: ReadonlySet<string>,
): Found[] {
  if (context.later.length === 0) return [];
  const worst = new Map<string, Found | undefined>();
  const inAll = excessInAll(context, space, measure);
  context.later.forEach(({ report }, index) => {
    for (const access of report.accesses) {
      const key = positionOf(access);
      if (access.space !== space || access.requests === 0) continue;
      if (seen.has(key) && !(inAll(key) >= threshold)) continue;
      const excess = measure(access);
      const known = worst.get(key);
      const isBad = access.certainty !== 'unknown' && !isRarelyExecuted(access) && excess >= threshold;
      if (!isBad && seen.has(key)) continue;
      if (!isBad || (known === undefined && worst.has(key))) worst.set(key, undefined);
      else if (!known || excess > known.excess)
        worst.set(key, {
          access,
          launch: report,
          launchIndex: context.launches.length + index,
          excess,
          launchesHit: 1,
        });
    }
  });
  return [...worst.values()].filter((found) => found !== undefined);
}

/** The excess of a position over launches and all their other times; NaN where one of them is not known. */
function excessInAll(
  context: RuleContext,
  space: AccessReport['space'],
  measure: Measure,
): (position: string) => number {
  const counted = [...context.launches, ...context.later].flatMap(({ report }) =>
    report.accesses.flatMap((access) =>
      access.space === space && access.requests > 0 ? countedIn(access, report.rounds?.length ?? 1) : [],
    ),
  );
  const sums = sumsOf(new Map(), counted, ({ position }) => position);
  return (position) => {
    const sum = sums.get(position);
    return sum ? measure(sum) : Number.NaN;
  };
}

/** What an access costs in so many times of its launch. */
function countedIn(access: AccessReport, times: number): Sum & { readonly position: string } {
  const isKnown = access.certainty !== 'unknown' && !isRarelyExecuted(access);
  return {
    position: positionOf(access),
    wavefronts: isKnown ? times * access.wavefronts : Number.NaN,
    idealWavefronts: times * access.idealWavefronts,
    sectors: isKnown ? times * access.sectors : Number.NaN,
    idealSectors: times * access.idealSectors,
  };
}

/** What the found accesses of a simulation rest on, and which of its accesses are looked at with other sizes for them. */
interface Assumed {
  readonly byPlace: ReadonlyMap<string, { readonly names: ReadonlySet<string>; readonly sites: readonly number[] }>;
  readonly counted: Set<number>;
}

function assumedOf(context: RuleContext, found: readonly Found[]): ReadonlyMap<Simulation, Assumed> {
  const bySimulation = new Map<Simulation, Assumed>();
  for (const { access, launchIndex } of found) {
    const { simulation } = launchAt(context, launchIndex);
    const assumed = bySimulation.get(simulation) ?? { byPlace: sitesByPlace(context, simulation), counted: new Set() };
    bySimulation.set(simulation, assumed);
    const at = assumed.byPlace.get(placeOf(access));
    if (at && at.names.size > 0) for (const site of at.sites) assumed.counted.add(site);
  }
  return bySimulation;
}

/** Other sizes are executed only where the access rests on one. */
function checked(
  context: RuleContext,
  found: Found,
  measure: Measure,
  sums: Sums,
  assumedIn: ReadonlyMap<Simulation, Assumed>,
): WorstAccess {
  const { access, launch, launchIndex } = found;
  const { simulation } = launchAt(context, launchIndex);
  const assumed = assumedIn.get(simulation);
  const names = [...(assumed?.byPlace.get(placeOf(access))?.names ?? [])];
  const sizes = names.filter((n) => n !== 'blockDim' && n !== 'gridDim');
  const tried = (kind: CheckKind, isOfUse: boolean) =>
    isOfUse && assumed ? excessBySample(context, sums, simulation, kind, assumed.counted, access, measure) : [];
  const excesses = [measure(access), ...tried('sizes', names.length > 0)];
  const shapeExcesses = tried('shapes', names.includes('blockDim'));
  const [largeExcess] = tried('large', sizes.some(isSmallName));
  const smallest = Math.min(...excesses, ...shapeExcesses, largeExcess ?? excesses[0]);
  const [borderExcess] = tried('border', sizes.length > 0 && smallest > 1);
  return {
    ...found,
    certainExcess:
      isPartlyFollowed(access) && measure(access) < BAD_FOR_FEW
        ? Number.NaN
        : Math.min(smallest, borderExcess ?? smallest) * (1 - errorOf(access)),
    excesses,
    shapeExcesses,
    largeExcess,
    borderExcess,
    assumed: simulation.checks.has('sizes') ? sizes : [],
    lineExcess: excessOfLine(sums, launch, access, measure),
  };
}

interface Sum {
  wavefronts: number;
  idealWavefronts: number;
  sectors: number;
  idealSectors: number;
}

/** Sums of the lists of one report: positions move between reports, so they are not kept longer. */
type Sums = Map<object, ReadonlyMap<string, Sum>>;

/** Counts summed up by key, made once for a list however often it is asked. */
function sumsOf<T extends Readonly<Sum>>(
  sums: Sums,
  list: readonly T[],
  keyOf: (item: T) => string,
): ReadonlyMap<string, Sum> {
  const known = sums.get(list);
  if (known) return known;
  const made = new Map<string, Sum>();
  for (const item of list) {
    const key = keyOf(item);
    const sum = made.get(key) ?? { wavefronts: 0, idealWavefronts: 0, sectors: 0, idealSectors: 0 };
    made.set(key, sum);
    sum.wavefronts += item.wavefronts;
    sum.idealWavefronts += item.idealWavefronts;
    sum.sectors += item.sectors;
    sum.idealSectors += item.idealSectors;
  }
  sums.set(list, made);
  return made;
}

const lineOf = (a: AccessReport): string => `${a.file}:${a.line}:${a.space}:${a.operation}`;

function excessOfLine(sums: Sums, launch: LaunchReport, access: AccessReport, measure: Measure): number {
  const sum = sumsOf(sums, launch.accesses, lineOf).get(lineOf(access));
  return sum ? measure(sum) : 1;
}

/**
 * Whether it deserves a warning: under every size tried, and not outweighed by its neighbours on the line, which is what the
 * profiler shows a user.
 */
export const isCertain = (worst: WorstAccess, threshold: number): boolean =>
  worst.certainExcess >= threshold && worst.lineExcess >= threshold;

/** The excess under what else is tried, by source position; the smallest counts for a warning. */
function excessBySample(
  context: RuleContext,
  sums: Sums,
  simulation: Simulation,
  kind: CheckKind,
  counted: ReadonlySet<number>,
  access: AccessReport,
  measure: Measure,
): number[] {
  const excesses: number[] = [];
  for (const sample of simulation.checks.get(kind, counted, context.request.cancelled)) {
    const byPlace = sumsOf(sums, sample.execution.accesses, (counts) => {
      const site = simulation.program.accesses[counts.access];
      const at = context.locate(site.place.first, site.place.last);
      return positionOf({ ...at, space: counts.space, operation: site.operation });
    });
    const sum = byPlace.get(positionOf(access));
    // a run that ended before it came there tells nothing: neither a warning nor a condition rests on it
    excesses.push(sum ? measure(sum) : sample.execution.incomplete ? Number.NaN : 1);
  }
  return excesses;
}

export const placeOf = (at: Location): string => `${at.file}:${at.line}:${at.column}`;

/** The accesses at each position, and the names of the assumed values that they rest on. */
function sitesByPlace(context: RuleContext, simulation: Simulation): Assumed['byPlace'] {
  const byPlace = new Map<string, { readonly names: Set<string>; readonly sites: number[] }>();
  simulation.program.accesses.forEach((site, index) => {
    const key = placeOf(context.locate(site.place.first, site.place.last));
    const at = byPlace.get(key) ?? { names: new Set(), sites: [] };
    byPlace.set(key, at);
    for (const n of simulation.assumedFor[index]) at.names.add(n);
    at.sites.push(index);
  });
  return byPlace;
}
