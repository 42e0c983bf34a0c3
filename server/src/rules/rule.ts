/** What a rule sees, and what it gives. One rule a file. */
import type { PlannedLaunch } from '../analysis/launch-plan';
import type { AnalysisRequest } from '../analysis/request';
import { isSmallName } from '../analysis/sampling';
import type { CheckKind, Simulation } from '../analysis/simulate';
import { RARE_CONDITION } from '../execute/rare-side';
import { CONDITION_OF_LANES, ITERATIONS_AND_LANES } from '../execute/speculation';
import type { Capability } from '../hardware/capabilities';
import { lineAndColumn } from '../preprocess/positions';
import { TokenFlag, type TokenStream } from '../preprocess/token';
import type { AccessSite, Program } from '../program/program';
import { BLOCKS_DIFFER, PART_OF_ADDRESSES, WITH_DATA } from '../report/assemble';
import type { AccessReport, FileReport, Finding, Fix, KernelReport, LaunchReport, Location } from '../report/report';

/** A padding that was simulated and works. */
export interface TriedPadding {
  readonly pad: number;
  readonly wavefronts: number;
  readonly idealWavefronts: number;
}

/** What is known of a launch, and what is reported of it. */
export interface RuleLaunch {
  readonly plan: PlannedLaunch;
  readonly simulation: Simulation;
  readonly program: Program;
  readonly report: LaunchReport;
}

export interface RuleContext {
  readonly report: KernelReport;
  readonly launches: readonly RuleLaunch[];
  /** Other times of launches, with the data they find then: asked for accesses alone that the launches themselves never come to. */
  readonly later: readonly RuleLaunch[];
  readonly capability: Capability;
  readonly request: AnalysisRequest;
  readonly tokens: TokenStream;
  readonly locate: (first: number, last: number) => Location;
  /** Results of paddings tried earlier for the same text, by access. */
  readonly tried: Map<string, TriedPadding | undefined>;
  /** Runs the whole way again on another text, for this kernel and the reported sizes: how a fix is tried. Each text once. */
  readonly tryText: (text: string) => FileReport;
}

export interface Rule {
  readonly id: string;
  readonly check: (context: RuleContext) => Finding[];
}

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
 * What is known of it rests on data, and for some lanes the data do not tell whether or where they come: the figure is of all lanes, and
 * another one where fewer come (huffman_encode.cu:163: 1.65 so, 1.06 measured).
 */
const isPartlyFollowed = ({ reason }: AccessReport): boolean => {
  const parts = reason?.split('; ') ?? [];
  const isOpen = (part: string) => part.startsWith(CONDITION) || part.startsWith(PART_OF_ADDRESSES);
  return parts.some((part) => part.startsWith(WITH_DATA)) && parts.some(isOpen);
};

/**
 * Where loaded data lead blocks to different places, those that were executed may be worse than the others by about as much (1.51 from 26 of 313
 * blocks, 1.47 on an H200: a search among neighbours in cells).
 */
const SAMPLING_ERROR = 0.05;

const isSampleOfData = ({ reason }: AccessReport): boolean => {
  const parts = reason?.split('; ') ?? [];
  return parts.some((part) => part.startsWith(WITH_DATA)) && parts.some((part) => part.startsWith(BLOCKS_DIFFER));
};

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
  for (const found of worstLater(context, space, measure, threshold, seen)) worst.set(positionOf(found.access), found);
  const sums: Sums = new Map();
  const assumed = assumedOf(context, [...worst.values()]);
  return [...worst.values()].map((found) => checked(context, found, measure, sums, assumed));
}

/** An access in the launch in which it is worst, before other sizes were looked at. */
type Found = Pick<WorstAccess, 'access' | 'launch' | 'launchIndex' | 'excess' | 'launchesHit'>;

/** Of what only other times of launches come to: as bad in every one of them. */
function worstLater(
  context: RuleContext,
  space: AccessReport['space'],
  measure: Measure,
  threshold: number,
  seen: ReadonlySet<string>,
): Found[] {
  const worst = new Map<string, Found | undefined>();
  context.later.forEach(({ report }, index) => {
    for (const access of report.accesses) {
      const key = positionOf(access);
      if (access.space !== space || access.requests === 0 || seen.has(key)) continue;
      const excess = measure(access);
      const known = worst.get(key);
      const isBad = access.certainty !== 'unknown' && !isRarelyExecuted(access) && excess >= threshold;
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
  return {
    ...found,
    certainExcess: isPartlyFollowed(access)
      ? Number.NaN
      : Math.min(...excesses, ...shapeExcesses, largeExcess ?? excesses[0]) *
        (isSampleOfData(access) ? 1 - SAMPLING_ERROR : 1),
    excesses,
    shapeExcesses,
    largeExcess,
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

const placeOf = (at: Location): string => `${at.file}:${at.line}:${at.column}`;

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

/** `0–31`, `0, 2, 4 … 30`, `3` */
export function laneList(lanes: readonly number[]): string {
  if (lanes.length === 0) return 'none';
  if (lanes.length === 1) return String(lanes[0]);
  const step = lanes[1] - lanes[0];
  const even = lanes.every((l, i) => l === lanes[0] + i * step);
  if (even && step === 1 && lanes.length > 2) return `${lanes[0]}–${lanes[lanes.length - 1]}`;
  if (even && lanes.length > 4) return `${lanes[0]}, ${lanes[1]}, ${lanes[2]} … ${lanes[lanes.length - 1]}`;
  return lanes.length > 6 ? `${lanes.slice(0, 5).join(', ')} …` : lanes.join(', ');
}

export const verb = (operation: AccessReport['operation']): string =>
  ({ load: 'read', store: 'write', atomic: 'update' })[operation];

/** A figure for a person: 32, 1.5, 0.25. */
export const figure = (value: number): string =>
  Number.isInteger(value) ? String(value) : value >= 10 ? value.toFixed(0) : value.toFixed(1).replace(/\.0$/, '');

/** `n`, `n and pitch`, `n, m and pitch` */
const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names[names.length - 1]}`;

/** What was tried with small values only holds for them. */
function smallText({ assumed, largeExcess }: WorstAccess, threshold: number): string {
  const names = assumed.filter(isSmallName);
  if (largeExcess === undefined || largeExcess >= threshold || names.length === 0) return '';
  return ` When ${listed(names)} ${names.length === 1 ? 'is' : 'are'} small.`;
}

/** A finding at an access, with the array and the launch to go to. */
export function accessFinding(
  context: RuleContext,
  worst: WorstAccess,
  said: Pick<Finding, 'rule' | 'severity' | 'message'> & { readonly fixes?: readonly Fix[] },
): Finding {
  const { file, line, column, endLine, endColumn } = worst.access;
  const related = relatedOf(context, worst);
  return { file, line, column, endLine, endColumn, kernel: context.report.name, fixes: [], related, ...said };
}

/** A share for a person: 12.5, 50, 3.1. */
export const percent = (value: number): string => value.toFixed(1).replace(/\.0$/, '');

/** Array declaration and launch, for the editor to link to. */
function relatedOf(context: RuleContext, { access, launch, launchIndex }: WorstAccess): Finding['related'] {
  const related: (Location & { message: string })[] = [];
  const instance = instanceName(context.report.name, launch);
  const macro = macroDefinition(context, access, launchIndex);
  if (macro) related.push(macro);
  if (access.object) related.push({ ...access.object.declaration, message: `${access.object.name} is declared here` });
  for (const call of access.calls ?? []) related.push({ ...call, message: `reached from ${instance} by this call` });
  const text = instance === context.report.name ? launchedText(launch) : `${instance} ${launchedText(launch)}`;
  if (launch.location) related.push({ ...launch.location, message: text });
  return related;
}

/** `scale<float, 4>` */
const instanceName = (kernel: string, { templateArguments }: LaunchReport): string =>
  templateArguments.length > 0 ? `${kernel}<${templateArguments.join(', ')}>` : kernel;

/** By context and launch: the first access at each position. Findings ask for one of them each. */
const knownSites = new WeakMap<RuleContext, Map<number, ReadonlyMap<string, AccessSite>>>();

function firstSites(context: RuleContext, launchIndex: number): ReadonlyMap<string, AccessSite> {
  const ofLaunches = knownSites.get(context) ?? new Map<number, ReadonlyMap<string, AccessSite>>();
  knownSites.set(context, ofLaunches);
  const known = ofLaunches.get(launchIndex);
  if (known) return known;
  const sites = new Map<string, AccessSite>();
  for (const site of launchAt(context, launchIndex).simulation.program.accesses) {
    if (site.place.first < 0) continue;
    const place = placeOf(context.locate(site.place.first, site.place.last));
    if (!sites.has(place)) sites.set(place, site);
  }
  ofLaunches.set(launchIndex, sites);
  return sites;
}

/** Where the macro is defined whose use an access is. */
function macroDefinition(
  context: RuleContext,
  access: AccessReport,
  launchIndex: number,
): (Location & { message: string }) | undefined {
  const { tokens } = context;
  const site = firstSites(context, launchIndex).get(placeOf(access));
  if (!site) return undefined;
  for (let t = site.place.first; t <= site.place.last && t < tokens.count; t++) {
    const expansion = tokens.flags[t] & TokenFlag.fromMacro ? tokens.expansions[tokens.expansion[t]] : undefined;
    const { definition, macro } = expansion ?? {};
    const file = definition && tokens.files[definition.file];
    if (!file) continue;
    const [from, to] = [lineAndColumn(file, definition.start), lineAndColumn(file, definition.end)];
    const range = { line: from.line, column: from.column, endLine: to.line, endColumn: to.column };
    return { file: file.path, ...range, message: `${macro} is defined here` };
  }
  return undefined;
}

/** Where it is launched and with what, as far as the host code says it. */
export function launchedText(launch: LaunchReport): string {
  const isAssumed = (part: string) =>
    launch.assumptions.some(({ name, origin }) => name.startsWith(part) && origin === 'assumed');
  const parts = (['grid', 'block'] as const).filter((part) => isAssumed(`${part}Dim`));
  const assumed = parts.length === 0 ? '' : ` (${parts.join(' and ')} assumed)`;
  return `launched here with ${shapeText(launch)}${assumed}`;
}

/** `32×8`, trailing ones left out. */
const sizeText = (t: readonly number[]): string =>
  t[2] > 1 ? t.join('×') : t[1] > 1 ? `${t[0]}×${t[1]}` : String(t[0]);

export function shapeText(launch: LaunchReport): string {
  return `grid ${sizeText(launch.grid)}, block ${sizeText(launch.block)}`;
}

/**
 * Under which sizes a figure holds that was sampled, as an end of a sentence; empty when it follows from the text. The samples
 * are a power of two, a multiple of 32 that is none, and an odd number.
 */
export function conditionText(worst: WorstAccess, threshold: number): string {
  const { access, excesses } = worst;
  if (access.certainty === 'exact' || !access.reason) return '';
  if (worst.shapeExcesses.some((e) => !(e >= threshold)))
    return ` With a block of ${sizeText(worst.launch.block)}, which is assumed; other shapes may do better.`;
  const names = listed(worst.assumed);
  if (excesses.length < 2 || names === '') return ` (${access.reason})`;
  if (excesses.some(Number.isNaN)) return ` (${access.reason})`;
  const one = worst.assumed.length === 1;
  const [power, multiple, odd] = excesses.map((e) => e >= threshold);
  if (power && multiple && odd) return smallText(worst, threshold);
  if (power && multiple) return ` When ${names} ${one ? 'is a multiple' : 'are multiples'} of 32.`;
  if (power) return ` When ${names} ${one ? 'is a power' : 'are powers'} of two.`;
  if (odd && !multiple) return ` When ${names} ${one ? 'is' : 'are'} odd.`;
  return ` For some ${names}, not for all.`;
}
