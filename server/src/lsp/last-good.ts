/**
 * What to go on showing while a kernel is half-typed: the findings of its last good text, as far as the text they stand
 * on is unchanged, and nothing new.
 */
import type { AccessReport, FileReport, Finding, KernelReport, LaunchReport, Location, Range } from '../report/report';

export interface Snapshot {
  readonly text: string;
  readonly report: FileReport;
}

/** The lines that differ between two texts: before `first` all are equal, and the last `tail` ones. */
interface Edit {
  readonly first: number;
  readonly beforeLines: number;
  readonly tail: number;
  readonly shift: number;
}

function editBetween(before: string, after: string): Edit {
  const a = before.split('\n');
  const b = after.split('\n');
  const shorter = Math.min(a.length, b.length);
  let first = 0;
  while (first < shorter && a[first] === b[first]) first++;
  let tail = 0;
  while (tail < shorter - first && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  return { first, beforeLines: a.length, tail, shift: b.length - a.length };
}

/** Where an unchanged range stands now; undefined when its lines have changed. */
function moved<T extends Range>(range: T, edit: Edit): T | undefined {
  if (range.endLine <= edit.first) return range;
  if (range.line <= edit.beforeLines - edit.tail) return undefined;
  return { ...range, line: range.line + edit.shift, endLine: range.endLine + edit.shift };
}

/**
 * The new report, filled up from the last good one for kernels that do not parse now. A kernel that has vanished is
 * kept only when its whole text stands there unchanged and the new report says that something could not be read.
 */
export function withLastGood(before: Snapshot | undefined, after: Snapshot): FileReport {
  const { report } = after;
  if (before === undefined || before.report.kernels.length === 0) return report;
  const isBroken = report.notes.length > 0 || report.kernels.some((kernel) => kernel.problem !== undefined);
  if (!isBroken) return report;
  const edit = editBetween(before.text, after.text);
  const move = <T extends Range & { readonly file: string }>(range: T): T | undefined =>
    range.file === report.path ? moved(range, edit) : range;

  const kernels: KernelReport[] = [];
  const revived = new Set<string>();
  for (const kernel of report.kernels) {
    const last = before.report.kernels.find(({ name }) => name === kernel.name);
    if (kernel.problem === undefined || kernel.launches.length > 0 || last === undefined) kernels.push(kernel);
    else {
      revived.add(kernel.name);
      kernels.push({
        ...kernel,
        origin: last.origin,
        launches: last.launches.map((launch) => movedLaunch(launch, move)),
      });
    }
  }
  for (const last of before.report.kernels) {
    if (report.kernels.some(({ name }) => name === last.name)) continue;
    const range = move(last.range);
    const nameRange = move(last.nameRange);
    if (range === undefined || nameRange === undefined || last.range.file !== report.path) continue;
    revived.add(last.name);
    const launches = last.launches.map((launch) => movedLaunch(launch, move));
    kernels.push({ ...last, line: nameRange.line, range, nameRange, launches });
  }
  if (revived.size === 0) return report;
  const fresh = report.diagnostics.filter(({ kernel }) => !revived.has(kernel));
  const kept = before.report.diagnostics
    .filter(({ kernel }) => revived.has(kernel))
    .flatMap((finding) => movedFinding(finding, move));
  return { ...report, kernels, diagnostics: [...fresh, ...kept] };
}

type Move = <T extends Location>(range: T) => T | undefined;

function movedLaunch(launch: LaunchReport, move: Move): LaunchReport {
  const accesses = launch.accesses.flatMap((access: AccessReport) => move(access) ?? []);
  const location = launch.location && move(launch.location);
  return {
    ...launch,
    location,
    line: location?.line ?? 0,
    accesses,
    branches: launch.branches.flatMap((b) => move(b) ?? []),
  };
}

/** Its fixes are left out: their edits were tried on a text that is gone. */
function movedFinding(finding: Finding, move: Move): Finding[] {
  const there = move(finding);
  if (there === undefined) return [];
  return [{ ...there, fixes: [], related: finding.related.flatMap((related) => move(related) ?? []) }];
}
