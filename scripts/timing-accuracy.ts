/**
 * npm run timing: compares the estimated time of launches with the durations recorded on an H200 (test/hardware/recorded). Needs no
 * GPU. Constants were fitted to one half of the programs; the other half, which no fit has seen, is shown apart. `-- --all`
 * prints every launch, `-- --check` fails where the estimates of the other half are worse than a factor of two in 80 % of cases.
 */
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { analyzeFile } from '../server/src/analysis/analyze';
import type { LaunchReport } from '../server/src/report/report';
import { hardwareFolder, recordedLaunches, recordedPrograms } from './recorded-counters';

interface Row {
  readonly program: string;
  readonly kernel: string;
  readonly isFitted: boolean;
  readonly measured: number;
  readonly estimated: number | undefined;
  readonly boundBy: string;
}

/** One half of the programs by their names, so that the split was not chosen. */
const isFitted = (program: string): boolean =>
  BigInt(`0x${createHash('md5').update(program).digest('hex')}`) % 2n !== 0n;

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
    return { program, kernel: recorded.function, isFitted: isFitted(program), measured, estimated, boundBy };
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

const rows = recordedPrograms([]).flatMap(rowsOf);
const fitted = rows.filter((row) => row.isFitted);
const unseen = rows.filter((row) => !row.isFitted);
if (process.argv.includes('--all'))
  for (const row of [...rows].sort((a, b) => factor(b) - factor(a)))
    console.log(
      `${row.program} ${row.kernel}: ${row.measured.toFixed(1)} µs, estimated ${row.estimated ?? 'none'} ${row.boundBy}`,
    );
console.log('| launches | estimated | none | median factor | 80 % within | 90 % within | worst |');
console.log('|---|---|---|---|---|---|---|');
console.log(line('fitted', fitted));
console.log(line('others', unseen));
for (const [name, of] of [
  ['fitted', fitted],
  ['others', unseen],
] as const) {
  console.log(
    line(
      `${name}, up to 5 µs`,
      of.filter(({ measured }) => measured <= 5),
    ),
  );
  console.log(
    line(
      `${name}, 5 to 600 µs`,
      of.filter(({ measured }) => measured > 5),
    ),
  );
}
const worst = quantile(
  unseen
    .filter(({ estimated }) => estimated !== undefined)
    .map(factor)
    .sort((a, b) => a - b),
  0.8,
);
if (process.argv.includes('--check') && !(worst < 2)) {
  console.error(`timing: 80 % are within a factor of ${worst.toFixed(2)} only`);
  process.exitCode = 1;
}
