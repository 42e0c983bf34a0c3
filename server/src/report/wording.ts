/** Phrases that editor, panel and command line share. */
import { conflictText, grouped, memoryFigures, percent } from './figures';
import type { FileReport, Finding, Fix, LaunchOrigin, LaunchReport } from './report';

const origins: Readonly<Record<LaunchOrigin, string>> = {
  'launch-site': 'launched',
  annotation: 'from the comment',
  setting: 'from the settings',
  'launch-bounds': 'from __launch_bounds__',
  assumed: 'assumed: no launch was found',
};

/** `launched in line 118` */
export function originText({ origin, line }: LaunchReport): string {
  return line > 0 ? `${origins[origin]} in line ${line}` : origins[origin];
}

/** `n = 4096 (assumed)` */
export function assumptionsText(launch: LaunchReport): string {
  return launch.assumptions
    .map(({ name, value, origin }) => `${name} = ${value}${origin === 'assumed' ? ' (assumed)' : ''}`)
    .join(', ');
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
