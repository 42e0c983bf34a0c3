/** What a rule sees, and what it gives. One rule a file. */
import type { PlannedLaunch } from '../analysis/launch-plan';
import type { AnalysisRequest } from '../analysis/request';
import type { Simulation } from '../analysis/simulate';
import type { Capability } from '../hardware/capabilities';
import type { TokenStream } from '../preprocess/token';
import type { Program } from '../program/program';
import type { AccessReport, FileReport, Finding, KernelReport, LaunchReport, Location } from '../report/report';

export interface RuleContext {
  readonly report: KernelReport;
  readonly launches: readonly {
    readonly plan: PlannedLaunch;
    readonly simulation: Simulation;
    readonly program: Program;
    readonly report: LaunchReport;
  }[];
  readonly capability: Capability;
  readonly request: AnalysisRequest;
  readonly tokens: TokenStream;
  readonly locate: (first: number, last: number) => Location;
  /** Runs the whole way again on another text, for this kernel: how a fix is tried. */
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
  /** the smallest excess over all samples of the sizes that nobody gives */
  readonly certainExcess: number;
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

const positionOf = (a: AccessReport): string =>
  `${a.file}:${a.line}:${a.column}:${a.endLine}:${a.endColumn}:${a.space}:${a.operation}`;

/** Accesses of one space, each with the launch in which it is worst. */
export function worstAccesses(
  context: RuleContext,
  space: AccessReport['space'],
  measure: Measure,
  threshold: number,
): WorstAccess[] {
  const worst = new Map<string, WorstAccess>();
  context.launches.forEach(({ report, simulation }, launchIndex) => {
    report.accesses.forEach((access) => {
      if (access.space !== space || access.certainty === 'unknown') return;
      const excess = measure(access);
      const key = positionOf(access);
      const known = worst.get(key);
      const launchesHit = (known?.launchesHit ?? 0) + (excess >= threshold ? 1 : 0);
      if (known && known.excess >= excess) worst.set(key, { ...known, launchesHit });
      else {
        const certainExcess = smallestExcess(context, simulation, access, measure);
        worst.set(key, { access, launch: report, launchIndex, excess, certainExcess, launchesHit });
      }
    });
  });
  return [...worst.values()];
}

/** The excess under every sample, by source position; the smallest counts for a warning. */
function smallestExcess(context: RuleContext, simulation: Simulation, access: AccessReport, measure: Measure): number {
  let smallest = measure(access);
  for (const sample of simulation.samples.slice(1)) {
    const sum = { wavefronts: 0, idealWavefronts: 0, sectors: 0, idealSectors: 0 };
    for (const counts of sample.execution.accesses) {
      const site = simulation.program.accesses[counts.access];
      if (counts.space !== access.space || site.operation !== access.operation) continue;
      const at = context.locate(site.place.first, site.place.last);
      if (
        at.file !== access.file ||
        at.line !== access.line ||
        at.column !== access.column ||
        at.endColumn !== access.endColumn
      )
        continue;
      sum.wavefronts += counts.wavefronts;
      sum.idealWavefronts += counts.idealWavefronts;
      sum.sectors += counts.sectors;
      sum.idealSectors += counts.idealSectors;
    }
    smallest = Math.min(smallest, measure(sum));
  }
  return smallest;
}

/** `0–31`, `0, 2, 4 … 30`, `3` */
export function laneList(lanes: readonly number[]): string {
  if (lanes.length === 0) return 'none';
  if (lanes.length === 1) return String(lanes[0]);
  const step = lanes[1] - lanes[0];
  const even = lanes.every((l, i) => l === lanes[0] + i * step);
  if (even && step === 1) return `${lanes[0]}–${lanes[lanes.length - 1]}`;
  if (even && lanes.length > 3) return `${lanes[0]}, ${lanes[1]}, ${lanes[2]} … ${lanes[lanes.length - 1]}`;
  return lanes.length > 6 ? `${lanes.slice(0, 5).join(', ')} …` : lanes.join(', ');
}

export const verb = (operation: AccessReport['operation']): string =>
  ({ load: 'read', store: 'write', atomic: 'update' })[operation];

/** A figure for a person: 32, 1.5, 0.25. */
export const figure = (value: number): string =>
  Number.isInteger(value) ? String(value) : value >= 10 ? value.toFixed(0) : value.toFixed(1).replace(/\.0$/, '');

/** A share for a person: 12.5, 50, 3.1. */
export const percent = (value: number): string => value.toFixed(1).replace(/\.0$/, '');

/** Array declaration and launch, for the editor to link to. */
export function relatedOf(context: RuleContext, { access, launch }: WorstAccess): Finding['related'] {
  const related: (Location & { message: string })[] = [];
  if (access.object) related.push({ ...access.object.declaration, message: `${access.object.name} is declared here` });
  for (const call of access.calls ?? [])
    related.push({ ...call, message: `reached from ${context.report.name} by this call` });
  if (launch.location) related.push({ ...launch.location, message: `launched here with ${shapeText(launch)}` });
  return related;
}

export function shapeText(launch: LaunchReport): string {
  const trim = (t: readonly number[]) => (t[2] > 1 ? t.join('×') : t[1] > 1 ? `${t[0]}×${t[1]}` : String(t[0]));
  return `grid ${trim(launch.grid)}, block ${trim(launch.block)}`;
}

/** What the figure rests on, in a half sentence; empty when it follows from the text. */
export function conditionText(worst: WorstAccess): string {
  const { access } = worst;
  if (access.certainty === 'exact' || !access.reason) return '';
  return ` (${access.reason})`;
}
