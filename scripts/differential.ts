/**
 * npm run differential -- <folders or .cu files>: for every kernel that both front ends understand, compares what they say line
 * by line (source line × space × operation of one launch) and lists disagreements by cause. Needs nvcc, no GPU.
 *
 * `-I<folder>` and `-D<name>` go to nvcc (stubs of libraries that are not installed). `--keep=<folder>` keeps what nvcc made there
 * for the next run of the same text and flags (of headers it does not know).
 *
 * `--charged` compares at the lines that a profiler charges (the PTX tier's are the line table's), not at those of the PTX.
 *
 * `-- --recorded [programs]` compares the PTX tier alone with the counters recorded on an H200. `--misses` lists every line that
 * differs, `--json` prints one JSON object at the end.
 */
import * as path from 'node:path';
import { findNvcc } from '../server/src/compiler/find-nvcc';
import { capability } from '../server/src/hardware/capabilities';
import { memoryModel } from '../server/src/hardware/memory-model';
import type { Program } from '../server/src/program/program';
import { assembledProgram } from '../server/src/ptx/assemble';
import { bindParameters } from '../server/src/ptx/bind-parameters';
import { findEntry } from '../server/src/ptx/find-entry';
import { type LowerOptions, lowerPtx } from '../server/src/ptx/lower';
import type { PtxModule } from '../server/src/ptx/module';
import { parsePtx } from '../server/src/ptx/parse';
import { compiledProgram, cudaFilesIn, recordedFlags } from './compiled-program';
import {
  hardwareFolder,
  isWithin,
  type RecordedLaunch,
  recordedCost,
  recordedLaunches,
  recordedPrograms,
} from './recorded-counters';
import {
  byLine,
  costOf,
  groupOfLine,
  type LineGroup,
  lineGroups,
  runLaunch,
  type SourceLaunch,
  type SourceUnit,
  sourceUnit,
} from './tiers';

const CAPABILITY = '9.0';
/** Figures within two percent agree. */
const SHARE = 0.02;

const row = capability(CAPABILITY);
if (!row) throw new Error(`capability ${CAPABILITY} is not in the table`);
const model = memoryModel(row);
const nvcc = findNvcc({ environment: process.env, platform: process.platform });

type Outcome =
  | 'right'
  | 'wrong'
  | 'missing'
  | 'unknown'
  | 'address depends on data'
  | 'execution depends on data'
  /** the execution was cut short in one of the tiers: nothing to compare */
  | 'budget ran out'
  /** an address that the PTX tier does not know, for a reason that is not data: it cannot judge */
  | 'unknown in the PTX';

interface Row {
  readonly where: string;
  readonly outcome: Outcome;
  readonly cause: string;
  readonly totalsRight: boolean;
  readonly detail: string;
  /** Whether lanes come to it depends on loaded data, whatever came out of the comparison. */
  readonly isMaskUnknown?: boolean;
}

/** What nvcc made of a file. */
interface Compiled {
  readonly module: PtxModule;
  readonly machine?: LowerOptions['machine'];
}

/** `-I<folder>` and `-D<name>` among the arguments are nvcc's too; the folders are the source tier's as well. */
const includes = process.argv.filter((arg) => /^-I./.test(arg)).map((arg) => path.resolve(arg.slice(2)));

async function compiledFile(file: string): Promise<Compiled | undefined> {
  if (nvcc === undefined) return undefined;
  const flags = [...recordedFlags(file), ...process.argv.filter((arg) => /^-[ID]./.test(arg))];
  const compiled = await compiledProgram(nvcc, file, flags, CAPABILITY);
  if (compiled?.ptx === undefined) return undefined;
  const { ptx: text, machine: code } = compiled;
  return { module: parsePtx(text), machine: code && { code, text } };
}

/** The program of an entry with the names of the source's parameters, as ptxas leaves it. */
function ptxProgram({ module, machine }: Compiled, entry: string, source: Program): Program {
  return assembledProgram(bindParameters(lowerPtx(module, entry, { machine }), source));
}

const isData = (reason: string | undefined): boolean => /loaded data|depends on/.test(reason ?? '');

function same(a: readonly number[] | undefined, b: readonly number[]): boolean {
  return a?.every((x, i) => x === b[i]) ?? false;
}

// ---- PTX against recorded counters ----

async function againstRecorded(wanted: readonly string[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const program of recordedPrograms(wanted)) {
    const file = path.join(hardwareFolder, 'programs', `${program}.cu`);
    const compiled = await compiledFile(file);
    if (!compiled) continue;
    const unit = sourceUnit(file, CAPABILITY);
    const used = new Set<SourceLaunch>();
    for (const recorded of recordedLaunches(program)) rows.push(...launchRows(program, recorded, compiled, unit, used));
  }
  return rows;
}

function launchRows(
  program: string,
  recorded: RecordedLaunch,
  compiled: Compiled,
  unit: SourceUnit,
  used: Set<SourceLaunch>,
): Row[] {
  const launches = unit.launches.filter((launch) => launch.kernel === recorded.function);
  const fits = (launch: SourceLaunch) =>
    same(launch.plan.grid, recorded.grid) && same(launch.plan.block, recorded.block);
  const found = launches.find((launch) => fits(launch) && !used.has(launch)) ?? launches.find(fits) ?? launches[0];
  if (!found) return [];
  used.add(found);
  const { grid, block, dynamicSharedBytes } = recorded;
  const launch = { ...found, plan: { ...found.plan, grid, block, dynamicSharedBytes } };
  const ptx = ptxProgram(compiled, recorded.mangled, found.program);
  const isOwn = (group: { file: string }) => group.file.endsWith(`${program}.cu`);
  const groups = lineGroups(ptx, runLaunch(ptx, launch, model), unit.locate, true).filter(isOwn);
  return recorded.groups.filter(isOwn).flatMap((group): Row[] => {
    const measured = recordedCost(group);
    if (!measured) return [];
    const mine = groupOfLine(groups, group.line, group.space, group.operation);
    const where = `${program}.cu:${group.line} ${recorded.function} ${group.space} ${group.operation}`;
    if (!mine) return [{ where, outcome: 'missing', cause: 'no access at this line', totalsRight: false, detail: '' }];
    const { actual, ideal } = costOf(mine);
    const outcome = outcomeOf(mine, measured.actual / measured.ideal);
    const detail = `measured ${measured.actual}/${measured.ideal} of ${group.requests} requests, PTX ${Math.round(actual)}/${Math.round(ideal)} of ${Math.round(mine.requests)}`;
    const totalsRight = isWithin(actual, measured.actual, SHARE);
    return [{ where, outcome, cause: mine.reason ?? '', totalsRight, detail, isMaskUnknown: isData(mine.speculative) }];
  });
}

function outcomeOf(group: LineGroup, expected: number): Outcome {
  const { actual, ideal } = costOf(group);
  if (ideal === 0 || group.unknownRequests > 0) {
    return isData(group.reason) ? 'address depends on data' : 'unknown';
  }
  if (isWithin(actual / ideal, expected, SHARE)) return 'right';
  return isData(group.speculative) ? 'execution depends on data' : 'wrong';
}

// ---- source against PTX ----

async function betweenTiers(places: readonly string[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const file of places.flatMap(cudaFilesIn).map((each) => path.resolve(each))) {
    const compiled = await compiledFile(file);
    if (!compiled) continue;
    const unit = sourceUnit(file, CAPABILITY, includes);
    for (const launch of unit.launches) {
      const entry = findEntry(compiled.module, launch.kernel, launch.templateArguments);
      if (!entry) {
        console.error(`${path.basename(file)}: no PTX of ${launch.kernel}<${launch.templateArguments.join(', ')}>`);
        continue;
      }
      rows.push(...compareTiers(file, launch, unit, ptxProgram(compiled, entry.name, launch.program)));
    }
  }
  return distinct(rows);
}

/** A line of a kernel counts once, however many launches say the same of it. */
function distinct(rows: readonly Row[]): Row[] {
  const seen = new Map<string, Row>();
  for (const r of rows) seen.set([r.where, r.outcome, r.cause, r.totalsRight, r.isMaskUnknown].join('|'), r);
  return [...seen.values()];
}

/** At the lines that a profiler charges. */
const isCharged = process.argv.includes('--charged');

function compareTiers(file: string, launch: SourceLaunch, unit: SourceUnit, ptx: Program): Row[] {
  // what no warp comes to has no counters to agree on
  const isCounted = (group: LineGroup) =>
    (group.space === 'shared' || group.space === 'global') && group.requests + group.unknownRequests > 0;
  const ofSourceRun = runLaunch(launch.program, launch, model);
  const ofPtxRun = runLaunch(ptx, launch, model);
  const ofSource = byLine(lineGroups(launch.program, ofSourceRun, unit.locate, isCharged)).filter(isCounted);
  const ofPtx = byLine(lineGroups(ptx, ofPtxRun, unit.locate, isCharged)).filter(isCounted);
  const matched = new Set<LineGroup>();
  const rows = ofPtx.map((group): Row => {
    const fits = ofSource.filter(
      (each) =>
        path.basename(each.file) === path.basename(group.file) &&
        each.line <= group.line &&
        group.line <= each.endLine &&
        each.space === group.space &&
        each.operation === group.operation,
    );
    const exact = fits.filter((each) => each.line === group.line);
    const chosen = exact.length > 0 ? exact : fits;
    for (const each of chosen) matched.add(each);
    return tierRow(file, launch, group, chosen, ofSource, ofPtx);
  });
  for (const group of ofSource) {
    if (!matched.has(group)) rows.push(tierRow(file, launch, group, [], ofSource, ofPtx, 'only in the source'));
  }
  if (ofSourceRun.incomplete === undefined && ofPtxRun.incomplete === undefined) return rows;
  return rows.map((r) => ({ ...r, outcome: 'budget ran out' }));
}

function tierRow(
  file: string,
  launch: SourceLaunch,
  group: LineGroup,
  chosen: readonly LineGroup[],
  ofSource: readonly LineGroup[],
  ofPtx: readonly LineGroup[],
  absent = 'only in the PTX',
): Row {
  const header = path.basename(group.file) === path.basename(file) ? '' : ` ${path.basename(group.file)}`;
  const instance = launch.templateArguments.length > 0 ? `<${launch.templateArguments.join(', ')}>` : '';
  const where = `${path.basename(path.dirname(file))}/${path.basename(file)}${header}:${group.line} ${launch.kernel}${instance} ${group.space} ${group.operation}`;
  const here = costOf(group);
  if (chosen.length === 0 && group.unknownRequests > 0) {
    const outcome = isData(group.reason)
      ? 'address depends on data'
      : ofPtx.includes(group)
        ? 'unknown in the PTX'
        : 'unknown';
    return { where, outcome, cause: general(group.reason), totalsRight: false, detail: '' };
  }
  if (chosen.length === 0) {
    const sum = (groups: readonly LineGroup[]) =>
      groups
        .filter((each) => each.space === group.space && each.operation === group.operation)
        .reduce((total, each) => total + costOf(each).actual, 0);
    const isMoved = isWithin(sum(ofSource), sum(ofPtx), SHARE);
    const cause = isMoved ? 'charged to another line, totals of the kernel agree' : absent;
    return {
      where,
      outcome: 'missing',
      cause,
      totalsRight: false,
      detail: `${Math.round(here.actual)}/${Math.round(here.ideal)}`,
    };
  }
  const source = chosen.reduce(
    (total, each) => ({ actual: total.actual + costOf(each).actual, ideal: total.ideal + costOf(each).ideal }),
    { actual: 0, ideal: 0 },
  );
  const requests = chosen.reduce((total, each) => total + each.requests, 0);
  const detail = `source ${Math.round(source.actual)}/${Math.round(source.ideal)} of ${Math.round(requests)} requests, PTX ${Math.round(here.actual)}/${Math.round(here.ideal)} of ${Math.round(group.requests)}`;
  const totalsRight = isWithin(source.actual, here.actual, SHARE);
  const unknownSource = chosen.find((each) => each.unknownRequests > 0);
  const isPtxUnknown = group.unknownRequests > 0;
  if (unknownSource || isPtxUnknown) {
    const bothData =
      isPtxUnknown && isData(group.reason) && (unknownSource === undefined || isData(unknownSource.reason));
    if (bothData) return { where, outcome: 'address depends on data', cause: '', totalsRight, detail };
    const cause = isPtxUnknown
      ? `unknown in the PTX: ${general(group.reason)}`
      : `unknown in the source: ${general(unknownSource?.reason)}`;
    const outcome = isPtxUnknown ? 'unknown in the PTX' : 'unknown';
    return { where, outcome, cause, totalsRight, detail };
  }
  const isMask = isData(group.speculative) || chosen.some((each) => isData(each.speculative));
  const ratio = source.ideal > 0 ? source.actual / source.ideal : Number.NaN;
  if (isWithin(ratio, here.actual / here.ideal, SHARE)) {
    const cause = totalsRight ? '' : countCause(requests, group.requests);
    return { where, outcome: 'right', cause, totalsRight, detail, isMaskUnknown: isMask };
  }
  const outcome = isMask ? 'execution depends on data' : 'wrong';
  const isWidth = !isWithin(requests, group.requests, SHARE);
  return {
    where,
    outcome,
    cause: isWidth ? 'width or number of accesses' : 'addresses or lanes',
    totalsRight,
    detail,
    isMaskUnknown: isMask,
  };
}

function countCause(source: number, ptx: number): string {
  return source > ptx ? 'fewer accesses in the PTX' : 'more accesses in the PTX';
}

/** Reasons without the names in them. */
function general(reason: string | undefined): string {
  return (reason ?? 'no reason')
    .replace(/'[^']*'/g, '…')
    .replace(/: .*$/, '')
    .slice(0, 80);
}

// ---- output ----

const notCompared: ReadonlySet<Outcome> = new Set(['address depends on data', 'budget ran out', 'unknown in the PTX']);

/** The share of right lines of each file: one program with many template instances does not decide alone. */
function sharesByFile(rows: readonly Row[]): number[] {
  const files = new Map<string, { all: number; right: number }>();
  for (const r of rows) {
    const file = r.where.split(/[ :]/, 1)[0];
    const known = files.get(file) ?? { all: 0, right: 0 };
    files.set(file, { all: known.all + 1, right: known.right + (r.outcome === 'right' ? 1 : 0) });
  }
  return [...files.values()].map(({ all, right }) => right / all);
}

function print(rows: readonly Row[], args: readonly string[]): void {
  const by = (key: (r: Row) => string, of: readonly Row[]) => {
    const counts = new Map<string, number>();
    for (const each of of) counts.set(key(each), (counts.get(key(each)) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1]);
  };
  if (args.includes('--misses')) {
    for (const r of rows) {
      if ((r.outcome === 'right' && r.totalsRight) || notCompared.has(r.outcome)) continue;
      console.log(
        `${r.where}: ${r.outcome}${r.outcome === 'right' ? ' but totals' : ''}; ${r.detail}${r.cause ? `; ${r.cause}` : ''}`,
      );
    }
  }
  const independent = rows.filter((r) => !notCompared.has(r.outcome));
  const certain = independent.filter((r) => r.isMaskUnknown !== true);
  const right = (of: readonly Row[]) => of.filter((r) => r.outcome === 'right');
  const percent = (a: number, b: number) => `${((100 * a) / Math.max(1, b)).toFixed(1)} %`;
  console.log(
    `${rows.length} line groups; ${by((r) => r.outcome, rows)
      .map(([name, n]) => `${name} ${n}`)
      .join(', ')}`,
  );
  console.log(
    `addresses that do not depend on data: ${independent.length}, of these right ${percent(right(independent).length, independent.length)}, with totals ${percent(right(independent).filter((r) => r.totalsRight).length, independent.length)}; executed whatever the data: ${certain.length}, right ${percent(right(certain).length, certain.length)}, with totals ${percent(right(certain).filter((r) => r.totalsRight).length, certain.length)}`,
  );
  const shares = sharesByFile(certain);
  if (shares.length > 1) {
    const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
    const good = shares.filter((share) => share >= 0.95).length;
    console.log(`mean of ${shares.length} files ${percent(mean, 1)}; in ${good} of them at least 95 %`);
  }
  const wrong = certain.filter((r) => r.outcome !== 'right' || !r.totalsRight);
  for (const [cause, n] of by((r) => `${r.outcome}: ${r.cause || 'figures'}`, wrong).slice(0, 30)) {
    console.log(`  ${String(n).padStart(5)}  ${percent(n, certain.length).padStart(7)}  ${cause}`);
  }
  if (args.includes('--json'))
    console.log(JSON.stringify({ groups: rows.length, outcomes: Object.fromEntries(by((r) => r.outcome, rows)) }));
}

async function main(): Promise<void> {
  const args = process.argv.slice(2);
  const named = args.filter((arg) => !arg.startsWith('-'));
  const rows = args.includes('--recorded') ? await againstRecorded(named) : await betweenTiers(named);
  print(rows, args);
}

void main();
