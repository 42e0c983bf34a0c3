/** Phrases that editor, panel and command line share. */
import type { TimeBound, TimeEstimate } from '../hardware/timing';
import { conflictText, grouped, memoryFigures, percent } from './figures';
import type {
  AccessReport,
  Assumption,
  FileReport,
  Finding,
  Fix,
  KernelReport,
  LaunchOrigin,
  LaunchReport,
  OccupancyReport,
  StepReport,
} from './report';

const origins: Readonly<Record<LaunchOrigin, string>> = {
  'launch-site': 'launched',
  annotation: 'from the comment',
  setting: 'from the settings',
  'launch-bounds': 'from __launch_bounds__',
  assumed: 'assumed: no launch was found',
};

/** `launched in line 118` */
export function originText({ origin, line, rounds }: LaunchReport): string {
  return `${line > 0 ? `${origins[origin]} in line ${line}` : origins[origin]}${timesText(rounds)}`;
}

/** `, times 2, 5 and 6`: of a launch that the program comes to with other data; '' for the first time alone. */
export function timesText(rounds: readonly number[] = []): string {
  if (rounds.every((round) => round === 0)) return '';
  const times = rounds.slice(0, MOST_TIMES).map((round) => `${round + 1}`);
  if (rounds.length > MOST_TIMES) times.push(`${rounds.length - MOST_TIMES} more`);
  const last = times.pop() ?? '';
  return times.length > 0 ? `, times ${times.join(', ')} and ${last}` : `, time ${last}`;
}

/** Times that are named. */
const MOST_TIMES = 8;

/** Which front end the figures of a kernel come from, as a sentence. */
export function tierText({ origin, originReason }: KernelReport): string {
  if (origin === 'ptx') return 'From the PTX that the compiler made of it.';
  return originReason === undefined ? 'From the source.' : `From the source, not from the compiler: ${originReason}.`;
}

/** `A profiler shows it at lines 51 and 54.`; '' where that is the access's own line, or the machine code was not read. */
export function chargedText({ charged, file, line }: AccessReport): string {
  if (charged === undefined) return '';
  const places = charged.map((each) => (each.file === file ? `${each.line}` : `${each.line} of ${each.file}`));
  const own = places.indexOf(`${line}`);
  if (own >= 0) places.unshift(...places.splice(own, 1));
  const last = places.pop() ?? '';
  return `A profiler shows it at ${places.length > 0 ? `lines ${places.join(', ')} and` : 'line'} ${last}.`;
}

/** What is said behind a value, where it does not follow from the text. */
const stated: Partial<Record<Assumption['origin'], string>> = { assumed: ' (assumed)', device: ' (of the device)' };

/** `n = 4096 (assumed)` */
export function assumptionsText(launch: LaunchReport): string {
  return launch.assumptions.map(({ name, value, origin }) => `${name} = ${value}${stated[origin] ?? ''}`).join(', ');
}

/** `50 % occupancy · 32-way conflict · 25 % of global bytes used` */
export function launchSummary(launch: LaunchReport): string[] {
  const { worstConflict, globalEfficiency, unknown } = memoryFigures(launch);
  const parts: string[] = [];
  if (launch.occupancy !== null) {
    // Estimated registers, and their range gives different occupancies.
    const approximate = launch.occupancy.blocksRange === undefined ? '' : '≈ ';
    parts.push(`${approximate}${percent(launch.occupancy.theoretical)} occupancy`);
  }
  if (worstConflict !== undefined) parts.push(conflictText(worstConflict));
  if (globalEfficiency !== undefined) parts.push(`${percent(globalEfficiency)} of global bytes used`);
  if (unknown > 0) parts.push(`${unknown} unknown`);
  return parts;
}

const bounds: Readonly<Record<TimeBound, string>> = {
  launch: 'mostly the launch itself',
  latency: 'bound by latency',
  instructions: 'bound by instructions',
  shared: 'bound by shared memory',
  l1: 'bound by L1',
  l2: 'bound by L2',
  constant: 'bound by constant memory, which gives one address at a time',
  atomics: 'bound by atomics that meet in one line of memory',
  dram: 'bound by memory bandwidth',
};

/** `about 9.1 µs on H200 with cold caches, bound by latency` */
export function estimateText({ microseconds, device, boundBy }: TimeEstimate): string {
  return `about ${microseconds} µs on ${device} with cold caches, ${bounds[boundBy]}`;
}

const registerOrigins: Readonly<Record<OccupancyReport['registersOrigin'], string>> = {
  compiler: 'by the compiler',
  option: 'from the settings',
  'launch-bounds': 'bound by __launch_bounds__',
  estimate: 'estimated',
};

function spillText(compiled: OccupancyReport['compiled']): string {
  const bytes = compiled === undefined ? 0 : compiled.spillStoreBytes + compiled.spillLoadBytes;
  return bytes > 0 ? `, ${grouped(bytes)} bytes of spills` : '';
}

/** `≈ 32 registers a thread (estimated, 24 to 43)` */
export function registersText({
  registersPerThread,
  registersOrigin,
  registersRange,
  compiled,
}: OccupancyReport): string {
  const range = registersRange === undefined ? '' : `, ${registersRange[0]} to ${registersRange[1]}`;
  const approximate = registersRange === undefined ? '' : '≈ ';
  const saved = compiled?.isStale === true ? ', as of last save' : '';
  return `${approximate}${registersPerThread} registers a thread (${registerOrigins[registersOrigin]}${range}${saved}${spillText(compiled)})`;
}

/** What stands before a step's text. */
export const stepNames: Readonly<Record<StepReport['effect'], string>> = {
  gain: 'More warps: ',
  free: 'Room: ',
  loss: 'Fewer warps: ',
};

/** A step is near where this share of the resource makes the difference. */
const NEAR = 0.15;

/**
 * The nearest step each way, where it is near: `2 registers fewer: 6 blocks`, `1 register more: 4 blocks`. Steps of an
 * estimated register count are left out: how far away they are is not known.
 */
export function nearSteps({ occupancy }: LaunchReport): string[] {
  const near = (effect: StepReport['effect']) =>
    occupancy?.steps
      .filter((step) => step.effect === effect && step.resource !== 'threads')
      .filter(({ resource }) => resource !== 'registers' || occupancy.registersRange === undefined)
      .map((step) => ({ step, distance: Math.abs(step.to - step.from) / Math.max(1, step.from) }))
      .filter(({ distance }) => distance <= NEAR)
      .sort((a, b) => a.distance - b.distance)
      .map(({ step }) => {
        const blocks = step.blocksPerSm === 1 ? '1 block' : `${step.blocksPerSm} blocks`;
        return `${step.text.split(',')[0]}: ${blocks}`;
      })[0];
  return [near('gain'), near('loss')].filter((text) => text !== undefined);
}

/** `32,768 → 1,024 wavefronts`, where the simulation of the edited text gave such a figure. */
export function fixEffect(fix: Fix, finding: Finding, report: FileReport): string | undefined {
  const access = report.kernels
    .filter(({ name }) => name === finding.kernel)
    .flatMap(({ launches }) => launches.flatMap(({ accesses }) => accesses))
    .find(({ file, line, column }) => file === finding.file && line === finding.line && column === finding.column);
  for (const counter of ['wavefronts', 'sectors'] as const) {
    const after = fix.after[counter];
    if (after === undefined || access === undefined || access[counter] === after) continue;
    return `${grouped(access[counter])} → ${grouped(after)} ${counter}`;
  }
  return undefined;
}
