/**
 * npm run timing: compares the estimated time of launches with the durations recorded on an H200 (test/hardware/recorded). Needs no
 * GPU. Constants were fitted to one half of the first set of programs; the other half, which no fit has seen, is shown apart, and
 * so is the second set, recorded after the model was made. `-- --all` prints every launch, `-- --check` fails where the
 * estimates of these are worse than a factor of two in more than a fifth of cases.
 */
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { analyzeFile } from '../server/src/analysis/analyze';
import type { LaunchReport } from '../server/src/report/report';
import { inProcesses, isChild, serve } from './in-processes';
import { hardwareFolder, isRecordedOn, recordedLaunches, recordedPrograms } from './recorded-counters';

interface Row {
  readonly program: string;
  readonly kernel: string;
  readonly group: Group;
  readonly measured: number;
  readonly estimated: number | undefined;
  readonly boundBy: string;
}

const groups = ['fitted', 'others', 'second set'] as const;
type Group = (typeof groups)[number];

const thresholds = JSON.parse(fs.readFileSync(path.join(hardwareFolder, 'thresholds.json'), 'utf8')) as {
  /** Programs that take longest, which checks leave out. */
  long: string[];
  sets: { name: string; programs?: string[] }[];
};
const secondSet = new Set(thresholds.sets.find(({ name }) => name === 'second set')?.programs);

/** The first set in two halves by the programs' names, so that the split was not chosen. */
function groupOf(program: string): Group {
  if (secondSet.has(program)) return 'second set';
  const hash = BigInt(`0x${createHash('md5').update(program).digest('hex')}`);
  return hash % 2n === 0n ? 'others' : 'fitted';
}

const same = (a: readonly number[], b: readonly number[]): boolean => a.every((x, i) => x === b[i]);

function rowsOf(program: string): Row[] {
  const file = path.join(hardwareFolder, 'programs', `${program}.cu`);
  const report = analyzeFile({
    path: file,
    text: fs.readFileSync(file, 'utf8'),
    options: { computeCapability: '9.0', defines: new Map(), assume: new Map(), device: 'H200' },
    include: (name, quoted, from) => {
      const header = path.resolve(path.dirname(from), name);
      return quoted && fs.existsSync(header) ? { path: header, text: fs.readFileSync(header, 'utf8') } : undefined;
    },
  });
  const used = new Set<LaunchReport>();
  return recordedLaunches(program).map((recorded): Row => {
    const launches = report.kernels.filter(({ name }) => name === recorded.function).flatMap((k) => k.launches);
    const isSame = (l: LaunchReport) => same(l.grid, recorded.grid) && same(l.block, recorded.block);
    const launch = launches.find((l) => isSame(l) && !used.has(l)) ?? launches.find(isSame);
    if (launch) used.add(launch);
    const measured = recorded.durationNs / 1000;
    const { microseconds: estimated, boundBy = '' } = launch?.estimate ?? {};
    return { program, kernel: recorded.function, group: groupOf(program), measured, estimated, boundBy };
  });
}

const quantile = (sorted: readonly number[], share: number) =>
  sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
/** By what factor an estimate is off, in either direction. */
const factor = ({ estimated = Number.NaN, measured }: Row): number =>
  Math.max(estimated / measured, measured / estimated);

function line(name: string, rows: readonly Row[]): string {
  const given = rows.filter(({ estimated }) => estimated !== undefined);
  const factors = given.map(factor).sort((a, b) => a - b);
  const cells = [0.5, 0.8, 0.9, 1].map((share) => quantile(factors, share).toFixed(2));
  return `| ${[name, given.length, rows.length - given.length, ...cells].join(' | ')} |`;
}

async function main(): Promise<void> {
  const isCheck = process.argv.includes('--check');
  // what the constants were fitted to says nothing of how good they are
  const isLeftOut = (program: string) => groupOf(program) === 'fitted' || thresholds.long.includes(program);
  const isAsked = (program: string) => isRecordedOn('H200', program) && !(isCheck && isLeftOut(program));
  const programs = recordedPrograms([]).filter(isAsked);
  const rows = (await inProcesses<Row[]>(__filename, programs)).flat();
  if (process.argv.includes('--all'))
    for (const row of [...rows].sort((a, b) => factor(b) - factor(a)))
      console.log(
        `${row.program} ${row.kernel}: ${row.measured.toFixed(1)} µs, estimated ${row.estimated ?? 'none'} ${row.boundBy}`,
      );
  console.log('| launches | estimated | none | median factor | 80 % within | 90 % within | worst |');
  console.log('|---|---|---|---|---|---|---|');
  const of = (group: Group) => rows.filter((row) => row.group === group);
  const shown = groups.filter((group) => of(group).length > 0);
  for (const group of shown) console.log(line(group, of(group)));
  for (const group of shown) {
    const short = (row: Row) => row.measured <= 5;
    console.log(line(`${group}, up to 5 µs`, of(group).filter(short)));
    console.log(
      line(
        `${group}, above 5 µs`,
        of(group).filter((row) => !short(row)),
      ),
    );
  }
  for (const group of ['others', 'second set'] as const) {
    const factors = of(group).flatMap((row) => (row.estimated === undefined ? [] : factor(row)));
    const worst = quantile(
      factors.sort((a, b) => a - b),
      0.8,
    );
    if (!isCheck || worst < 2) continue;
    console.error(`timing: 80 % of the launches (${group}) are within a factor of ${worst.toFixed(2)} only`);
    process.exitCode = 1;
  }
}

if (isChild()) serve(rowsOf);
else void main();
