/**
 * npm run accuracy: compares what Warplens says with the counters recorded on an H200 (test/hardware/recorded), line group by
 * line group (source line × space × operation of one launch). Needs no GPU. `-- --json` prints one JSON object at the end,
 * `-- --misses` every miss with its cause, `-- --times` the programs that take longest, `-- <program>` only these programs, `-- --folder=<path>` programs and recordings of another folder.
 * With --check it fails below the thresholds; the programs that take longest (`long` in thresholds.json) are left out there unless --all is given. With --compiler the
 * answers rest on the PTX that nvcc makes of the programs, as `warplens check --compiler` has them. Whether a group depends on
 * loaded data is judged by the analysis without the data of the host: following them changes no group's kind. That takes a
 * second analysis, so what was judged is kept (test/hardware/depends-on-data.json); --judge judges all again and keeps it.
 */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { roundsOf as mostRounds } from '../server/src/analysis/launch-cache';
import { PATIENCE } from '../server/src/cli/options';
import { findNvcc } from '../server/src/compiler/find-nvcc';
import type { AccessReport, ChargedLine, FileReport, KernelReport, LaunchReport } from '../server/src/report/report';
import { dependsOnData, type GroupKey, keepJudged } from './depends-on-data';
import { inProcesses, isChild, serve } from './in-processes';
import { causeOf } from './miss-cause';
import { hardwareFolder, isWithin, type RecordedLaunch, recordedCost, recordedLaunches } from './recorded-counters';
import { analyseProgram, isOwnFile } from './recorded-program';

const root = hardwareFolder;

/** Tables of single accesses whose addresses are loaded: they teach the memory model, not the front end. */
const microbenchmarks = new Set(['request_shapes', 'wide_load_phases', 'async_copy_shapes']);

const options = /^--(?:json|misses|times|check|all|compiler|judge|folder=.*)$/;

type Outcome = 'right' | 'wrong' | 'unknown' | 'data' | 'missing';

interface Row {
  readonly program: string;
  readonly kernel: string;
  /** Without its folder. */
  readonly file: string;
  readonly line: number;
  readonly what: string;
  readonly outcome: Outcome;
  readonly totalsRight: boolean;
  readonly measured: number;
  readonly predicted: number;
  readonly detail: string;
  readonly bad: boolean;
  readonly warned: boolean;
  /** Of a group that depends on data: what is said with the data of the host. */
  readonly followed?: Outcome;
}

const same = (a: readonly number[], b: readonly number[]): boolean => a.every((x, i) => x === b[i]);

/** Whether a demangled name has these template arguments, namespaces and `const` aside: `void scale<(int)4, app::Rows>(…)`. */
function isInstance(demangled: string, args: readonly string[]): boolean {
  const plain = (text: string) =>
    text
      .replace(/(?<=[<,] ?)\([\w: ]+\)|\bconst\b|\s|\b\w+::/g, '')
      .replace(/\bfalse\b/g, '0')
      .replace(/\btrue\b/g, '1');
  return args.length > 0 && plain(demangled).includes(`<${args.map(plain).join(',')}>`);
}

interface ChargedPart extends AccessReport {
  /** Where the access itself stands. */
  readonly startLine: number;
}

/** An access by the lines that the profiler charges, where the compiler was asked; else as it stands. */
function chargedParts(access: AccessReport): ChargedPart[] {
  const startLine = access.line;
  const part = (at: ChargedLine): ChargedPart => ({ ...access, ...at, endLine: at.line, startLine });
  return access.charged?.map(part) ?? [{ ...access, startLine }];
}

/** Recorded launches of one kernel, instance and shape: the rounds of a host loop, mostly. */
function roundsOf(recorded: readonly RecordedLaunch[], of: RecordedLaunch): readonly RecordedLaunch[] {
  return recorded.filter((r) => r.kernel === of.kernel && isSameShape(r, of));
}

type Shape = Pick<LaunchReport & RecordedLaunch, 'grid' | 'block' | 'dynamicSharedBytes'>;

/** As the profiler tells launches apart, where it records the first ones of each shape only. */
const isSameShape = (a: Shape, b: Shape): boolean =>
  same(a.grid, b.grid) && same(a.block, b.block) && a.dynamicSharedBytes === b.dynamicSharedBytes;

/** Of kernels of one name (in namespaces of their own, which the report does not name) those in a file that counters were recorded for. */
function kernelsOf(report: FileReport, recorded: RecordedLaunch): readonly KernelReport[] {
  const named = report.kernels.filter((k) => k.name === recorded.function);
  const files = new Set(recorded.groups.map(({ file }) => file));
  const inFiles = named.filter((k) => files.has(path.basename(k.nameRange.file)));
  return inFiles.length > 0 ? inFiles : named;
}

/**
 * The reported launch that a recorded one is compared with: of its shape; where several are, in the order of both. A host loop is
 * reported for its first, a typical and its last round: each recorded round is compared with the nearest of these, and rounds
 * that alternate (two reported, more recorded) in turn. What was found by running the program tells which rounds it stands for.
 */
function matchLaunch(
  report: FileReport,
  all: readonly RecordedLaunch[],
  recorded: RecordedLaunch,
): LaunchReport | undefined {
  const launches = kernelsOf(report, recorded).flatMap((k) => k.launches);
  // of several instances the one whose arguments the profiler names
  const named = launches.filter((l) => isInstance(recorded.kernel, l.templateArguments));
  const candidates = named.length > 0 ? named : launches;
  const isGrid = (l: Shape) => same(l.grid, recorded.grid) && same(l.block, recorded.block);
  const isBytes = candidates.some((l) => isSameShape(l, recorded));
  // dynamic shared memory that nobody knows is told as none
  const isShape = (l: Shape) => (isBytes ? isSameShape(l, recorded) : isGrid(l));
  const shaped = candidates.filter(isShape);
  const alike = named.length > 0 ? shaped : ofInstance(shaped, all.filter(isShape), recorded);
  if (alike.length === 0) return candidates.find((l) => same(l.block, recorded.block)) ?? candidates[0];
  const rounds = roundsOf(all, recorded);
  const round = rounds.indexOf(recorded);
  const told = alike.filter((l) => l.rounds);
  const last = Math.max(...told.flatMap((l) => l.rounds ?? []));
  if (told.length > 0 && (told.length === alike.length || round <= last)) return nearestRound(told, round);
  if (alike.length <= 2 || rounds.length <= alike.length) return alike[round % alike.length];
  const series = seriesOf(all, recorded, rounds);
  if (series.length === alike.length) return alike[series.indexOf(recorded)];
  // fewer than are told of a loop at most: all its rounds are there, and come again where the function around it is called again
  const isWhole = alike.length < mostRounds(PATIENCE) && rounds.length % alike.length === 0;
  if (isWhole && series.length === 1) return alike[round % alike.length];
  return alike[Math.round((round * (alike.length - 1)) / (rounds.length - 1))];
}

/** Of instances that the profiler names by lambdas, whose types no text can write, those that come in the same place among as many. */
function ofInstance(
  alike: readonly LaunchReport[],
  all: readonly RecordedLaunch[],
  recorded: RecordedLaunch,
): readonly LaunchReport[] {
  const key = ({ templateArguments }: LaunchReport) => templateArguments.join();
  const recordedKernels = [...new Set(all.filter((r) => r.function === recorded.function).map((r) => r.kernel))];
  const instances = [...new Set(alike.map(key))];
  if (instances.length < 2 || instances.length !== recordedKernels.length) return alike;
  return alike.filter((l) => key(l) === instances[recordedKernels.indexOf(recorded.kernel)]);
}

/** Rounds that follow each other without another kernel's launch between: where a loop is come to again and again, one time of it. */
function seriesOf(
  all: readonly RecordedLaunch[],
  recorded: RecordedLaunch,
  rounds: readonly RecordedLaunch[],
): readonly RecordedLaunch[] {
  const at = all.indexOf(recorded);
  let [first, last] = [at, at];
  while (first > 0 && rounds.includes(all[first - 1])) first--;
  while (last + 1 < all.length && rounds.includes(all[last + 1])) last++;
  return all.slice(first, last + 1);
}

/** Of launches that tell which rounds they stand for. */
function nearestRound(launches: readonly LaunchReport[], round: number): LaunchReport {
  const distance = ({ rounds = [] }: LaunchReport) => Math.min(...rounds.map((r) => Math.abs(r - round)));
  return launches.reduce((best, each) => (distance(each) < distance(best) ? each : best));
}

function compare(
  program: string,
  recorded: RecordedLaunch,
  launch: LaunchReport | undefined,
  report: FileReport,
): Row[] {
  return recorded.groups
    .filter((g) => isOwnFile(program, g.file))
    .flatMap((g): Row[] => {
      const cost = recordedCost(g);
      if (!cost) return [];
      const { actual, ideal } = cost;
      const shared = g.space === 'shared';
      const measured = actual / ideal;
      const isInFile = (at: { file: string }) => path.basename(at.file) === g.file;
      const parts = (launch?.accesses ?? [])
        .flatMap(chargedParts)
        .filter(
          (a) =>
            a.line <= g.line &&
            g.line <= a.endLine &&
            a.space === g.space &&
            a.operation === g.operation &&
            isInFile(a),
        );
      const exactLine = parts.filter((a) => a.line === g.line);
      // the profiler charges the first instructions of an inlined function to the line of the call
      const called = (launch?.accesses ?? [])
        .flatMap(chargedParts)
        .filter(
          (a) =>
            a.space === g.space &&
            a.operation === g.operation &&
            a.calls?.some((c) => c.line <= g.line && g.line <= c.endLine && isInFile(c)),
        );
      const chosen = exactLine.length > 0 ? exactLine : parts.length > 0 ? parts : called;
      const sum = (f: (a: ChargedPart) => number) => chosen.reduce((s, a) => s + f(a), 0);
      const ours = sum((a) => (shared ? a.wavefronts : a.sectors));
      const oursIdeal = sum((a) => (shared ? a.idealWavefronts : a.idealSectors));
      const predicted = oursIdeal > 0 ? ours / oursIdeal : Number.NaN;
      const unknown = chosen.filter((a) => a.certainty === 'unknown');
      const byData = unknown.find((a) => /loaded data|depends on/.test(a.reason ?? ''));
      let outcome: Outcome;
      // a line group with one access at a loaded index is not ours to know, whatever else stands on the line
      if (chosen.length === 0) outcome = 'missing';
      else if (byData) outcome = 'data';
      else if (oursIdeal === 0 || unknown.length === chosen.length) outcome = 'unknown';
      else outcome = isWithin(predicted, measured, 0.02) ? 'right' : 'wrong';
      const warned = report.diagnostics.some(
        (d) =>
          d.kernel === recorded.function &&
          d.severity === 'warning' &&
          (shared ? d.rule === 'shared-bank-conflict' : d.rule.endsWith('global-access')) &&
          chosen.some((a) => a.startLine === d.line && a.column === d.column && a.endColumn === d.endColumn),
      );
      const excessOf = (a: ChargedPart): number =>
        shared ? a.wavefronts / Math.max(1, a.idealWavefronts) : a.sectors / Math.max(1, a.idealSectors);
      const isElsewhere = !chosen.some((a) => a.startLine === g.line && excessOf(a) >= 1.5);
      return [
        {
          program,
          kernel: recorded.function,
          file: g.file,
          line: g.line,
          what: `${g.space} ${g.operation}`,
          outcome,
          totalsRight: isWithin(ours, actual, 0.02),
          measured,
          predicted,
          detail: `measured ${actual}/${ideal}, Warplens ${ours}/${oursIdeal} (${launch ? causeOf(g, byData ? [byData] : unknown.length > 0 ? unknown : chosen) : 'launch not found'})`,
          bad: measured >= 1.5,
          // a warning stands at the access: at another line that is charged it can be missing or right, but no false alarm, nor is it
          // one where we say ourselves that what is charged to this line (one of the calls of a function, say) is in order
          warned: warned && !(isElsewhere && measured < 1.5),
        },
      ];
    });
}

/** Groups that depend on data stay what they are, whatever is said of them with the data of the host. */
function judged(dependent: ReadonlySet<GroupKey>, launch: number, rows: readonly Row[]): Row[] {
  return rows.map((row) =>
    dependent.has(keyOf(launch, row)) ? { ...row, outcome: 'data', followed: row.outcome } : row,
  );
}

const keyOf = (launch: number, { program, file, line, what }: Row): GroupKey =>
  file === `${program}.cu` ? `${launch}:${line} ${what}` : `${launch}:${file}:${line} ${what}`;

/** Groups of a program that depend on loaded data, by the analysis that is not told the data of the host. */
async function judge(program: string, nvcc: string | undefined): Promise<GroupKey[]> {
  const recorded = recordedLaunches(program);
  const without = await analyseProgram(program, nvcc, false);
  return recorded.flatMap((r, launch) =>
    compare(program, r, matchLaunch(without, recorded, r), without)
      .filter(({ outcome }) => outcome === 'data')
      .map((row) => keyOf(launch, row)),
  );
}

/** What is found out of one program. */
interface Measured {
  readonly program: string;
  readonly dependent: readonly GroupKey[];
  /** That the analysis with the data took, in ms. */
  readonly ms: number;
  readonly rows: readonly Row[];
  readonly found: readonly FoundLaunch[];
  readonly origins: readonly KernelReport['origin'][];
  readonly notes: readonly string[];
}

async function measure(program: string, nvcc: string | undefined, again: boolean): Promise<Measured> {
  const recorded = recordedLaunches(program);
  const started = performance.now();
  const report = await analyseProgram(program, nvcc, true);
  const ms = performance.now() - started;
  const kept = again || nvcc !== undefined ? undefined : dependsOnData(program);
  const dependent = kept ?? (await judge(program, nvcc));
  const isDependent = new Set(dependent);
  const rows = recorded.flatMap((r, launch) =>
    judged(isDependent, launch, compare(program, r, matchLaunch(report, recorded, r), report)),
  );
  const found = recorded.map((r): FoundLaunch => {
    const launch = matchLaunch(report, recorded, r);
    return {
      program,
      isShape: launch !== undefined && same(launch.grid, r.grid) && same(launch.block, r.block),
      isStaticShared: launch?.occupancy?.staticSharedBytes === r.staticSharedBytes,
      detail: `${r.function}: ${shapeOf(r, r.staticSharedBytes)} measured, ${launch === undefined ? 'no launch found' : shapeOf(launch, launch.occupancy?.staticSharedBytes)}`,
    };
  });
  const notes = report.kernels.flatMap(({ name, originReason }) =>
    originReason === undefined ? [] : [`${program}: ${name} is the source's: ${originReason}`],
  );
  return { program, dependent, ms, rows, found, origins: report.kernels.map(({ origin }) => origin), notes };
}

function compilerOf(args: readonly string[]): string | undefined {
  return args.includes('--compiler') ? findNvcc({ environment: process.env, platform: process.platform }) : undefined;
}

async function main(): Promise<void> {
  const args = process.argv.slice(2);
  const nvcc = compilerOf(args);
  const wanted = args.filter((a) => !a.startsWith('--'));
  // a run of everything takes minutes: nobody should start one by a slip of the pen
  const strange = args.find((a) => a.startsWith('--') && !options.test(a));
  if (strange !== undefined) throw new Error(`no option ${strange}: see the head of scripts/accuracy.ts`);
  const files = fs.readdirSync(path.join(root, 'recorded')).filter((f) => f.endsWith('.json'));
  const { long, sets } = readThresholds();
  const isLeftOut = (program: string) =>
    microbenchmarks.has(program) || (args.includes('--check') && !args.includes('--all') && long.includes(program));
  const programs = files
    .map((file) => path.basename(file, '.json'))
    .filter((program) => (wanted.length > 0 ? wanted.includes(program) : !isLeftOut(program)));
  const measured = await inProcesses<Measured>(__filename, programs);
  const rows = measured.flatMap((each) => each.rows);
  const found = measured.flatMap((each) => each.found);
  if (args.includes('--judge') && nvcc === undefined)
    keepJudged(new Map(measured.map(({ program, dependent }) => [program, dependent])));
  for (const { notes } of measured) for (const note of notes) console.log(note);
  if (nvcc !== undefined) {
    const count = (origin: KernelReport['origin']) =>
      measured.flatMap(({ origins }) => origins).filter((each) => each === origin).length;
    console.log(`kernels from PTX ${count('ptx')}, from the source ${count('source')}`);
  }
  if (args.includes('--times')) printTimes(measured);
  if (args.includes('--misses')) printMisses(rows, found);
  for (const set of sets) {
    const isIn = ({ program }: { program: string }) => (set.programs ?? othersOf(sets, program)).includes(program);
    const figures = figuresOf(rows.filter(isIn), found.filter(isIn));
    if (figures.groups === 0) continue;
    console.log(`${set.name}: ${textOf(figures)}`);
    if (args.includes('--check')) checkThresholds(set, figures, nvcc !== undefined);
  }
  const all = figuresOf(rows, found);
  console.log(`all: ${textOf(all)}`);
  if (args.includes('--json')) console.log(JSON.stringify(all));
}

const lineOf = (r: Row): string => `${r.program}:${r.kernel}:${r.file}:${r.line}:${r.what.split(' ')[0]}`;

interface FoundLaunch {
  readonly program: string;
  readonly isShape: boolean;
  readonly isStaticShared: boolean;
  /** What was measured and what was found, for the list of misses. */
  readonly detail: string;
}

/** Grid, block and bytes of static shared memory. */
function shapeOf(launch: Pick<RecordedLaunch, 'grid' | 'block'> | LaunchReport, shared: number | undefined): string {
  return `<<<(${launch.grid}), (${launch.block})>>> ${shared ?? '?'} B`;
}

type Figures = ReturnType<typeof figuresOf>;

/** A warning is of a kernel's line, whichever of its launches it was raised for. */
const badLinesOf = (rows: readonly Row[]): Set<string> => new Set(rows.filter((r) => r.bad).map(lineOf));

function figuresOf(rows: readonly Row[], found: readonly FoundLaunch[]) {
  const badLines = badLinesOf(rows);
  const independent = rows.filter((r) => r.outcome !== 'data');
  const count = (f: (r: Row) => boolean) => independent.filter(f).length;
  const n = Math.max(1, independent.length);
  const right = count((r) => r.outcome === 'right');
  const known = count((r) => r.outcome === 'right' || r.outcome === 'wrong');
  const bad = count((r) => r.bad);
  const launches = Math.max(1, found.length);
  return {
    groups: rows.length,
    dependOnData: rows.length - independent.length,
    dataRight: rows.filter((r) => r.followed === 'right').length,
    coverage: known / n,
    accuracy: right / Math.max(1, known),
    right: right / n,
    totals: count((r) => r.totalsRight) / n,
    recall: bad === 0 ? 1 : count((r) => r.bad && r.warned) / bad,
    falseAlarms: new Set(rows.filter((r) => r.warned && !badLines.has(lineOf(r))).map(lineOf)).size,
    launches: found.length,
    launchShapes: found.filter((l) => l.isShape).length / launches,
    staticShared: found.filter((l) => l.isStaticShared).length / launches,
  };
}

function printTimes(measured: readonly Measured[]): void {
  const total = measured.reduce((sum, { ms }) => sum + ms, 0);
  console.log(`${(total / 1000).toFixed(1)} s in all, of them`);
  for (const { program, ms } of measured.toSorted((a, b) => b.ms - a.ms).slice(0, 40))
    console.log(`${(ms / 1000).toFixed(1)} s ${program}`);
}

function printMisses(rows: readonly Row[], found: readonly FoundLaunch[]): void {
  for (const { program, isShape, isStaticShared, detail } of found)
    if (!isShape || !isStaticShared) console.log(`${program}.cu: launch of ${detail}`);
  const badLines = badLinesOf(rows);
  for (const r of rows) {
    const isFalseAlarm = r.warned && !badLines.has(lineOf(r));
    if ((r.followed ?? r.outcome) === 'right' && r.totalsRight && (!r.bad || r.warned) && !isFalseAlarm) continue;
    const marks = [
      r.followed === undefined ? r.outcome : `${r.outcome} (followed: ${r.followed})`,
      r.totalsRight ? '' : 'totals',
      r.bad && !r.warned ? 'not-warned' : '',
      isFalseAlarm ? 'FALSE-ALARM' : '',
    ]
      .filter((m) => m !== '')
      .join(' ');
    console.log(
      `${r.file === `${r.program}.cu` ? '' : `${r.program}/`}${r.file}:${r.line} ${r.kernel} ${r.what}: ${marks}; excess ${r.measured.toFixed(3)} measured, ${r.predicted.toFixed(3)} predicted; ${r.detail}`,
    );
  }
}

function textOf(f: Figures): string {
  const percent = (x: number) => `${(100 * x).toFixed(1)} %`;
  return (
    `${f.groups} line groups, ${f.dependOnData} depend on loaded data (of those ${f.dataRight} right with the data of the host); right ${percent(f.right)} (coverage ${percent(f.coverage)} × accuracy ${percent(f.accuracy)}), ` +
    `totals ${percent(f.totals)}, recall of bad lines ${percent(f.recall)}, false alarms ${f.falseAlarms}; ` +
    `${f.launches} launches, shapes right ${percent(f.launchShapes)}, static shared memory right ${percent(f.staticShared)}`
  );
}

/** Programs that were recorded together, and what their figures may not fall below. One set has all programs of no other. */
interface ProgramSet {
  readonly name: string;
  readonly programs?: readonly string[];
  readonly atLeast: Readonly<Record<string, number>>;
  readonly atMost: Readonly<Record<string, number>>;
  /** In place of `atLeast` where the answers rest on what nvcc makes. */
  readonly atLeastCompiled?: Readonly<Record<string, number>>;
}

/** test/hardware/thresholds.json; its figures only go up. */
interface Thresholds {
  /** Programs that take longest: checks leave them out for the time they take, a run of all measures them. */
  readonly long: readonly string[];
  readonly sets: readonly ProgramSet[];
}

function readThresholds(): Thresholds {
  const file = path.join(root, 'thresholds.json');
  if (!fs.existsSync(file)) return { long: [], sets: [] };
  return JSON.parse(fs.readFileSync(file, 'utf8')) as Thresholds;
}

const othersOf = (sets: readonly ProgramSet[], program: string): readonly string[] =>
  sets.some((set) => set.programs?.includes(program)) ? [] : [program];

function checkThresholds(set: ProgramSet, figures: Readonly<Record<string, number>>, isCompiled: boolean): void {
  const atLeast = (isCompiled ? set.atLeastCompiled : undefined) ?? set.atLeast;
  const failures = [
    ...Object.entries(atLeast).filter(([name, limit]) => !(figures[name] >= limit)),
    ...Object.entries(set.atMost).filter(([name, limit]) => !(figures[name] <= limit)),
  ];
  for (const [name, limit] of failures)
    console.error(`${set.name}: ${name} is ${figures[name]}, the threshold is ${limit}`);
  if (failures.length > 0) process.exitCode = 1;
}

if (isChild()) {
  const args = process.argv.slice(2);
  const nvcc = compilerOf(args);
  serve((program) => measure(program, nvcc, args.includes('--judge')));
} else void main();
