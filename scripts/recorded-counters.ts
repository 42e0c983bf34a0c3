/** The counters recorded on an H200, and of the last two sets on an H100 (test/hardware/recorded), as the comparing scripts read them. */
import * as fs from 'node:fs';
import * as path from 'node:path';

const ownFolder = path.resolve(__dirname, '..', 'test', 'hardware');

/** `programs` and what was `recorded` of them: the repository's own, or those of `--folder=…`. */
export const hardwareFolder = folderOf(process.argv) ?? ownFolder;

function folderOf(args: readonly string[]): string | undefined {
  const [given] = args.flatMap((arg) => /^--folder=(.+)$/.exec(arg)?.[1] ?? []);
  return given === undefined ? undefined : path.resolve(given);
}

export interface RecordedGroup {
  readonly file: string;
  readonly line: number;
  readonly space: string;
  readonly operation: string;
  readonly bytes: readonly number[];
  readonly requests: number;
  /** Active lanes. */
  readonly predicatedOnLanes: number;
  readonly wavefronts?: number;
  readonly idealWavefronts?: number;
  readonly sectors?: number;
  readonly idealSectors?: number;
}

export interface RecordedLaunch {
  readonly function: string;
  readonly mangled: string;
  readonly kernel: string;
  readonly grid: readonly [number, number, number];
  readonly block: readonly [number, number, number];
  readonly registersPerThread: number;
  readonly dynamicSharedBytes: number;
  readonly staticSharedBytes: number;
  readonly theoreticalOccupancyPercent: number;
  readonly durationNs: number;
  readonly groups: readonly RecordedGroup[];
}

/** Programs made to read rules off single instructions, with addresses from a table: they prove nothing about accuracy. */
const instruments = new Set(['request_shapes', 'wide_load_phases']);

/** Names of the recorded programs of one file, all or those wanted. */
export function recordedPrograms(wanted: readonly string[]): string[] {
  const files = fs.readdirSync(path.join(hardwareFolder, 'recorded')).filter((file) => file.endsWith('.json'));
  const isOneFile = (name: string) => fs.existsSync(path.join(hardwareFolder, 'programs', `${name}.cu`));
  const names = files
    .map((file) => path.basename(file, '.json'))
    .filter((name) => !instruments.has(name) && isOneFile(name));
  return wanted.length === 0 ? names : names.filter((name) => wanted.includes(name));
}

interface Recording {
  /** As the driver names it. */
  readonly device: string;
  /** What the program was compiled with, all its files alike. */
  readonly flags: readonly string[];
  readonly launches: readonly RecordedLaunch[];
}

function recordingOf(program: string): Recording {
  const text = fs.readFileSync(path.join(hardwareFolder, 'recorded', `${program}.json`), 'utf8');
  const recording: Recording = JSON.parse(text);
  if (!text.includes('"generic"')) return recording;
  const launches = recording.launches.map((launch) => ({ ...launch, groups: inTheirSpaces(launch.groups) }));
  return { ...recording, launches };
}

/**
 * Accesses whose space the compiler lost (`LD.E`, of a pointer that was loaded, say) with those of their line that went to the same memory, as the
 * analysis tells them. Where a line has no others they stay apart: most are those of a grid's barrier, which nobody tells.
 */
function inTheirSpaces(groups: readonly RecordedGroup[]): readonly RecordedGroup[] {
  const keyOf = ({ file, line, operation }: RecordedGroup, space: string) => `${file}:${line} ${space} ${operation}`;
  const told = new Map(groups.map((group) => [keyOf(group, group.space), group]));
  for (const group of groups) {
    if (group.space !== 'generic') continue;
    const key = keyOf(group, group.wavefronts ? 'shared' : 'global');
    const known = told.get(key);
    if (!known) continue;
    told.set(key, together(known, group));
    told.delete(keyOf(group, 'generic'));
  }
  return [...told.values()];
}

function together(a: RecordedGroup, b: RecordedGroup): RecordedGroup {
  const sum = (x: number | undefined, y: number | undefined) =>
    x === undefined && y === undefined ? undefined : (x ?? 0) + (y ?? 0);
  return {
    ...a,
    bytes: [...new Set([...a.bytes, ...b.bytes])].sort((x, y) => x - y),
    requests: a.requests + b.requests,
    predicatedOnLanes: a.predicatedOnLanes + b.predicatedOnLanes,
    wavefronts: sum(a.wavefronts, b.wavefronts),
    idealWavefronts: sum(a.idealWavefronts, b.idealWavefronts),
    sectors: sum(a.sectors, b.sectors),
    idealSectors: sum(a.idealSectors, b.idealSectors),
  };
}

export const recordedLaunches = (program: string): readonly RecordedLaunch[] => recordingOf(program).launches;

export const flagsOfRecording = (program: string): readonly string[] => recordingOf(program).flags;

/** Counters are those of the capability, times those of the device. */
export const isRecordedOn = (device: string, program: string): boolean =>
  recordingOf(program).device.split(' ').includes(device);

/** Actual and ideal of the counter that matters in a space; undefined where none was recorded. */
export function recordedCost(group: RecordedGroup): { readonly actual: number; readonly ideal: number } | undefined {
  if (group.space !== 'shared' && group.space !== 'global') return undefined;
  const isShared = group.space === 'shared';
  const actual = (isShared ? group.wavefronts : group.sectors) ?? 0;
  const ideal = (isShared ? group.idealWavefronts : group.idealSectors) ?? 0;
  return ideal > 0 ? { actual, ideal } : undefined;
}

/** Equal but for a share of the larger. */
export function isWithin(a: number, b: number, share: number): boolean {
  return Math.abs(a - b) <= share * Math.max(Math.abs(a), Math.abs(b), 1e-9);
}
