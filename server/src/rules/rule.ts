/** What a rule sees, and what it gives. One rule a file. */
import type { PlannedLaunch } from '../analysis/launch-plan';
import type { AnalysisRequest } from '../analysis/request';
import { isSmallName } from '../analysis/sampling';
import type { Simulation } from '../analysis/simulate';
import type { Capability } from '../hardware/capabilities';
import { lineAndColumn } from '../preprocess/positions';
import { TokenFlag, type TokenStream } from '../preprocess/token';
import type { AccessSite, Program } from '../program/program';
import type { AccessReport, FileReport, Finding, Fix, KernelReport, LaunchReport, Location } from '../report/report';
import { timesText } from '../report/wording';
import { launchAt, placeOf, type WorstAccess } from './worst-access';

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
  return `launched here with ${shapeText(launch)}${assumed}${timesText(launch.rounds)}`;
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
  const { borderExcess = threshold } = worst;
  if (power && multiple && odd && borderExcess >= threshold) return smallText(worst, threshold);
  if (power && multiple && odd) return ` For some ${names}, not for all.`;
  if (power && multiple) return ` When ${names} ${one ? 'is a multiple' : 'are multiples'} of 32.`;
  if (power) return ` When ${names} ${one ? 'is a power' : 'are powers'} of two.`;
  if (odd && !multiple) return ` When ${names} ${one ? 'is' : 'are'} odd.`;
  return ` For some ${names}, not for all.`;
}
