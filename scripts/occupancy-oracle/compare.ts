/**
 * Compares hardware/occupancy.ts with the CUDA toolkit's occupancy header on seeded random launches.
 *
 *   npx tsx scripts/occupancy-oracle/compare.ts <toolkit include folder> [launches] [fixture to write]
 *
 * Compiles oracle.cpp with the host compiler (c++), asks it everything, prints every disagreement up to 20 and the
 * count. With a fixture path, writes a few thousand of the answers as the table that the unit test reads.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Capability, capabilities, capability } from '../../server/src/hardware/capabilities';
import { type Occupancy, type OccupancyRequest, occupancy } from '../../server/src/hardware/occupancy';

const FIXTURE_ROWS = 4000;
const INT_MAX = 2 ** 31 - 1;
const factorBits = { warps: 1, registers: 2, shared: 4, blocks: 8, barriers: 16 } as const;

interface Launch {
  /** As the header knows it: 11.0 is asked as 10.1 too. */
  readonly cc: string;
  readonly row: Capability;
  readonly request: OccupancyRequest;
  readonly carveoutPercent: number;
  readonly cacheConfig: number;
}

/** A small seeded generator (mulberry32), so that a run can be repeated. */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

const random = seeded(20251120);
const pick = <T>(values: readonly T[]): T => values[random(values.length)];

/** Sizes near the rounding steps are as likely as any others, and so are a few beyond the limits. */
function randomShared(row: Capability): number {
  const { sharedPerBlockOptIn, sharedGranularity } = row.limits;
  const bytes = pick([0, random(4096), random(sharedPerBlockOptIn + 2048), random(16384)]);
  return random(2) === 0 ? bytes : Math.ceil(bytes / sharedGranularity) * sharedGranularity;
}

function randomWish(row: Capability): Pick<Launch, 'carveoutPercent' | 'cacheConfig'> & { bytes?: number } {
  const { carveouts, carveoutRaise, sharedPerSm } = row.limits;
  if (carveouts.length === 0 || random(3) > 0) return { carveoutPercent: -1, cacheConfig: 0 };
  if (carveoutRaise === 'largest') {
    const index = random(3);
    return { carveoutPercent: -1, cacheConfig: [2, 3, 1][index], bytes: carveouts[index] };
  }
  const carveoutPercent = random(101);
  return { carveoutPercent, cacheConfig: 0, bytes: Math.floor((carveoutPercent * sharedPerSm) / 100) };
}

function randomLaunch(): Launch {
  const cc = pick([...capabilities.filter(({ major }) => major >= 3).map((row) => row.cc), '10.1']);
  const row = capability(cc);
  if (row === undefined) throw new Error(`no table row for ${cc}`);
  const wish = randomWish(row);
  const barriers = random(4) === 0 ? 1 + random(16) : 0;
  return {
    cc,
    row,
    carveoutPercent: wish.carveoutPercent,
    cacheConfig: wish.cacheConfig,
    request: {
      threadsPerBlock: random(2) === 0 ? 32 * (1 + random(33)) : 1 + random(1056),
      registersPerThread: random(260),
      sharedBytesPerBlock: randomShared(row),
      barriers: barriers === 0 ? undefined : barriers,
      carveoutBytes: wish.bytes,
      partitionedGlobalCaching: pick(['off', 'off', 'on', 'strict']),
    },
  };
}

function question({ cc, row, request, carveoutPercent, cacheConfig }: Launch): string {
  const { limits } = row;
  const caching = { off: 0, on: 1, strict: 2 }[request.partitionedGlobalCaching ?? 'off'];
  return [
    ...cc.split('.'),
    limits.threadsPerBlock,
    limits.threadsPerSm,
    limits.registersPerBlock,
    limits.registersPerSm,
    limits.sharedPerBlock,
    limits.sharedPerSm,
    limits.sharedPerBlockOptIn,
    limits.reservedSharedPerBlock,
    request.threadsPerBlock,
    request.registersPerThread,
    request.sharedBytesPerBlock,
    request.barriers ?? 0,
    caching,
    carveoutPercent,
    cacheConfig,
  ].join(' ');
}

/** Our answer in the oracle's words. Limiting factors are compared where barriers do not lower the result: the header
 * then keeps the factors of the higher one. */
function answer(result: Occupancy, lowered: boolean, factors: string): string {
  const { limits } = result;
  const ours = result.limitedBy.reduce((bits, name) => bits | factorBits[name], 0);
  return [
    0,
    result.blocksPerSm,
    limits.warps,
    limits.blocks,
    limits.registers ?? INT_MAX,
    limits.shared ?? INT_MAX,
    limits.barriers ?? INT_MAX,
    lowered ? factors : ours,
    result.allocatedRegistersPerBlock,
    result.allocatedSharedBytesPerBlock,
  ].join(' ');
}

function askOracle(includeFolder: string, launches: readonly Launch[]): string[] {
  const program = join(mkdtempSync(join(tmpdir(), 'occupancy-oracle-')), 'oracle');
  execFileSync('c++', ['-O1', '-I', includeFolder, '-o', program, join(import.meta.dirname, 'oracle.cpp')]);
  const input = `${launches.map(question).join('\n')}\n`;
  const { stdout } = spawnSync(program, { input, encoding: 'utf8', maxBuffer: 2 ** 30 });
  return stdout.trimEnd().split('\n');
}

function fixtureRow({ cc, request }: Launch, expected: string): string {
  const [, blocks, warps, , registers, shared, barriers] = expected.split(' ');
  const limit = (text: string) => (Number(text) === INT_MAX ? '' : text);
  return [
    cc,
    request.threadsPerBlock,
    request.registersPerThread,
    request.sharedBytesPerBlock,
    request.barriers ?? '',
    request.carveoutBytes ?? '',
    request.partitionedGlobalCaching === 'off' ? '' : request.partitionedGlobalCaching,
    blocks,
    warps,
    limit(registers),
    limit(shared),
    limit(barriers),
  ].join(',');
}

const [includeFolder = '', count = '300000', fixture = ''] = process.argv.slice(2);
if (includeFolder === '') {
  console.error('usage: compare.ts <toolkit include folder> [launches] [fixture]');
  process.exit(2);
}
const launches = Array.from({ length: Number(count) }, randomLaunch);
const expected = askOracle(includeFolder, launches);
let agree = 0;
let shown = 0;
const varied: string[] = [];
for (const [index, launch] of launches.entries()) {
  const theirs = expected[index] ?? '';
  const result = occupancy(launch.row, launch.request);
  const [, blocks, , , , , barriers, factors] = theirs.split(' ');
  const lowered = barriers === blocks && barriers !== String(INT_MAX);
  const ours = answer(result, lowered, factors);
  if (ours === theirs) agree++;
  else if (shown++ < 20)
    console.log(JSON.stringify({ cc: launch.cc, ...launch.request }), `\n  header ${theirs}\n  ours   ${ours}`);
  // Every launch that runs is kept for the table before those that fail, which are alike.
  if (varied.length < FIXTURE_ROWS && (blocks !== '0' || index % 8 === 0)) varied.push(fixtureRow(launch, theirs));
}
console.log(`${agree} of ${launches.length} launches agree`);
if (fixture !== '') {
  const head =
    'cc,threads,registers,shared,barriers,carveout,caching,blocks,limitWarps,limitRegisters,limitShared,limitBarriers';
  writeFileSync(
    fixture,
    `# made by scripts/occupancy-oracle/compare.ts with the CUDA 13.0 toolkit's occupancy header\n${head}\n${varied.join('\n')}\n`,
  );
}
process.exitCode = agree === launches.length ? 0 : 1;
