/** From executions to report objects: accesses merged by source position, certainty, occupancy. */
import type { Simulation } from '../analysis/simulate';
import type { AccessCounts, Witness } from '../execute/execution';
import type { AccessSite, MemoryObject, SourcePlace } from '../program/program';
import { isOfRecursion, PART_OF_RECURSION } from './recursions';
import type { AccessReport, AccessWitness, BranchReport, Certainty, ChargedLine, Location } from './report';

export type Locate = (first: number, last: number) => Location;

interface Merged {
  /** Of the sites at this place the one that wastes most: its array and its calls are named. */
  site: AccessSite;
  waste: number;
  readonly counts: AccessCounts;
  readonly location: Location;
  readonly sites: number[];
  /** By file and line, where the machine code is known. */
  readonly charged: Map<string, Charge>;
}

/** A line that is charged, before it is rounded. */
type Charge = { -readonly [Key in keyof ChargedLine]: ChargedLine[Key] };

/** A place that was looked up. */
interface Located {
  readonly location: Location;
  /** The whole range, and its first line. */
  readonly range: string;
  readonly line: string;
}

/** Loops that are written out have many accesses at few places: each place is looked up once. */
function eachOnce(locate: Locate): (place: SourcePlace) => Located {
  const known = new Map<number, Map<number, Located>>();
  return ({ first, last }) => {
    let byLast = known.get(first);
    if (!byLast) known.set(first, (byLast = new Map()));
    let located = byLast.get(last);
    if (!located) {
      const location = locate(first, last);
      const { file, line, column, endLine, endColumn } = location;
      located = { location, range: `${file}:${line}:${column}:${endLine}:${endColumn}`, line: `${file}:${line}` };
      byLast.set(last, located);
    }
    return located;
  };
}

/** Accesses of the reported sample, one object a source range, space and operation. */
export function accessReports(simulation: Simulation, locate: Locate): AccessReport[] {
  const { program, reported, assumedFor } = simulation;
  const merged = new Map<string, Merged>();
  const locatedOf = eachOnce(locate);
  for (const counts of reported.execution.accesses) {
    const site = program.accesses[counts.access];
    const { location, range } = locatedOf(site.place);
    const key = `${range}:${counts.space}:${site.operation}`;
    let known = merged.get(key);
    const waste = wasteOf(counts);
    if (known) addCounts(known.counts, counts);
    else merged.set(key, (known = { site, waste, counts: { ...counts }, location, sites: [], charged: new Map() }));
    if (waste > known.waste) Object.assign(known, { site, waste });
    known.sites.push(counts.access);
    charge(known.charged, counts, site, locatedOf);
  }
  return [...merged.values()].map((m) => {
    const names = [...new Set(m.sites.flatMap((s) => assumedFor[s] ?? []))];
    return accessReport(m, certaintyOf(m, names, simulation), program.objects[m.site.object ?? -1], locate, simulation);
  });
}

/** What a site moves beyond what its lanes need: wavefronts of shared memory, sectors of the others. */
const wasteOf = (c: AccessCounts): number => c.wavefronts - c.idealWavefronts + c.sectors - c.idealSectors;

/** Adds the figures of a site to the lines that a profiler charges, in equal parts for each of its machine instructions. */
function charge(
  charged: Map<string, Charge>,
  counts: AccessCounts,
  site: AccessSite,
  locatedOf: (place: SourcePlace) => Located,
): void {
  const places = site.machine?.flatMap(({ place }) => place ?? []) ?? (site.charged ? [site.charged] : []);
  const parts = Math.max(1, places.length);
  for (const place of places.length > 0 ? places : [site.place]) {
    const { location, line: key } = locatedOf(place);
    let sum = charged.get(key);
    if (!sum) {
      const { file, line } = location;
      const none = { requests: 0, wavefronts: 0, idealWavefronts: 0, sectors: 0, idealSectors: 0 };
      charged.set(key, (sum = { file, line, ...none }));
    }
    sum.requests += counts.requests / parts;
    sum.wavefronts += counts.wavefronts / parts;
    sum.idealWavefronts += counts.idealWavefronts / parts;
    sum.sectors += counts.sectors / parts;
    sum.idealSectors += counts.idealSectors / parts;
  }
}

/** The lines charged, rounded; undefined where they are the access's own. */
function chargedLines({ charged, location }: Merged): readonly ChargedLine[] | undefined {
  const lines = [...charged.values()];
  if (lines.every(({ file, line }) => file === location.file && line === location.line)) return undefined;
  return lines.map((each) => ({
    file: each.file,
    line: each.line,
    requests: Math.round(each.requests),
    wavefronts: Math.round(each.wavefronts),
    idealWavefronts: Math.round(each.idealWavefronts),
    sectors: Math.round(each.sectors),
    idealSectors: Math.round(each.idealSectors),
  }));
}

function addCounts(into: AccessCounts, more: AccessCounts): void {
  into.bytesPerLane = Math.max(into.bytesPerLane, more.bytesPerLane);
  into.requests += more.requests;
  into.activeLanes += more.activeLanes;
  into.wavefronts += more.wavefronts;
  into.idealWavefronts += more.idealWavefronts;
  into.sectors += more.sectors;
  into.idealSectors += more.idealSectors;
  into.transactions += more.transactions;
  into.unknownRequests += more.unknownRequests;
  into.unknownReason ??= more.unknownReason;
  into.speculative ??= more.speculative;
  into.isSampled ||= more.isSampled;
  if (more.witness && excessOf(more.witness) > (into.witness ? excessOf(into.witness) : 0)) into.witness = more.witness;
}

/** How the reason begins for figures that rest on the contents of memory. */
export const WITH_DATA = 'with the data';
/** How the reason begins where only some addresses are known. */
export const PART_OF_ADDRESSES = 'part of the addresses is not known';
/** How the reason begins where some blocks stand for others that differ from them. */
export const BLOCKS_DIFFER = 'blocks differ here';
/** How the reason begins for data that the blocks of a launch make for each other. */
export const BLOCK_BY_BLOCK = `${WITH_DATA} in memory as the blocks leave them`;
const FOLLOWED = {
  zeros: `${WITH_DATA} that the device’s memory holds where nothing was written to it before this launch (zeros)`,
  host: `${WITH_DATA} that main fills in before this launch`,
  kernels: `${WITH_DATA} that main and the kernels before this launch leave in memory`,
  blocks: `${BLOCK_BY_BLOCK} when they run one after the other, which may be another order than the hardware’s`,
} as const;

/** Behind it, where the program seeds its random numbers with the time or the like. */
const SEEDED = ' (random numbers drawn with an assumed seed: the program takes another in each run)';

/** Behind it, where the program has read files. */
function readFrom(files: readonly string[] = []): string {
  const [first, ...more] = files;
  if (first === undefined) return '';
  return ` (${first}${more.length > 0 ? ` and ${more.length} more ${more.length > 1 ? 'files' : 'file'}` : ''} read)`;
}

const excessOf = (w: Witness): number =>
  Math.max(w.wavefronts / Math.max(1, w.idealWavefronts), w.sectors / Math.max(1, w.idealSectors));

function certaintyOf(
  m: Merged,
  assumed: readonly string[],
  simulation: Simulation,
): { certainty: Certainty; reason: string | null } {
  const { counts } = m;
  // What little is known is no sample of the rest: the first step of a search is not like the others.
  if (counts.unknownRequests > 0 && 2 * counts.unknownRequests >= counts.requests)
    return { certainty: 'unknown', reason: counts.unknownReason ?? 'the address is not known' };
  const reasons: string[] = [];
  if (counts.unknownRequests > 0) reasons.push(`${PART_OF_ADDRESSES}: ${counts.unknownReason ?? ''}`);
  if (counts.speculative) reasons.push(counts.speculative);
  if (m.sites.some((site) => isOfRecursion(simulation.program, site))) reasons.push(PART_OF_RECURSION);
  const origins = m.sites.map((site) => simulation.followed?.[site]);
  const origin = (['blocks', 'kernels', 'zeros', 'host'] as const).find((o) => origins.includes(o));
  const { seed, files } = simulation.reported.shape.data ?? {};
  if (origin) reasons.push(`${FOLLOWED[origin]}${readFrom(files)}${seed === undefined ? '' : SEEDED}`);
  if (assumed.length > 0) reasons.push(`rests on assumed ${list(assumed, simulation)}`);
  const { incomplete, sampledLoops, simulatedBlocks } = simulation.reported.execution;
  if (incomplete) reasons.push(incomplete);
  else if (counts.isSampled) reasons.push(`${BLOCKS_DIFFER}, and ${simulatedBlocks} of them were executed`);
  if (!incomplete && sampledLoops)
    reasons.push('of a long loop some passes were executed, the others count like those around them');
  return reasons.length > 0
    ? { certainty: 'assumed', reason: reasons.join('; ') }
    : { certainty: 'exact', reason: null };
}

/** Assumptions that a reason names; the elements of an array in a parameter are hundreds. */
const MOST_NAMED = 6;

function list(names: readonly string[], simulation: Simulation): string {
  const values = new Map(simulation.reported.assumptions.map((a) => [a.name, a.value]));
  const left = names.length - MOST_NAMED;
  const named = names
    .slice(0, MOST_NAMED)
    .map((n) =>
      values.has(n)
        ? `${n} = ${values.get(n)}`
        : n === 'blockDim'
          ? `block ${simulation.reported.shape.block.join('×')}`
          : n,
    )
    .join(', ');
  return left > 0 ? `${named} and ${left} more` : named;
}

function accessReport(
  m: Merged,
  sure: { certainty: Certainty; reason: string | null },
  object: MemoryObject | undefined,
  locate: Locate,
  simulation: Simulation,
): AccessReport {
  const { counts, site, location } = m;
  return {
    ...location,
    expression: site.expression,
    space: counts.space,
    operation: site.operation,
    bytesPerLane: counts.bytesPerLane,
    requests: Math.round(counts.requests),
    activeLanes: Math.round(counts.activeLanes),
    wavefronts: Math.round(counts.wavefronts),
    idealWavefronts: Math.round(counts.idealWavefronts),
    sectors: Math.round(counts.sectors),
    idealSectors: Math.round(counts.idealSectors),
    transactions: Math.round(counts.transactions),
    ...sure,
    object: object && {
      name: object.name,
      dimensions: object.dimensions,
      elementType: object.elementType,
      elementBytes: object.elementBytes,
      isDynamic: object.isDynamic,
      declaration: locate(object.place.first, object.place.last),
    },
    calls: callsOf(site.place, locate),
    witness: counts.witness && { ...witnessOf(counts.witness, simulation), ...(site.isPastL1 && { isPastL1: true }) },
    charged: chargedLines(m),
  };
}

function callsOf(place: SourcePlace, locate: Locate): Location[] | undefined {
  const calls: Location[] = [];
  for (let call = place.call; call && calls.length < 32; call = call.call) calls.push(locate(call.first, call.last));
  return calls.length > 0 ? calls : undefined;
}

function witnessOf(witness: Witness, simulation: Simulation): AccessWitness {
  const { block } = simulation.reported.shape;
  const t = witness.firstThread;
  return {
    block: witness.block,
    thread: [t % block[0], Math.floor(t / block[0]) % block[1], Math.floor(t / (block[0] * block[1]))],
    addresses: witness.addresses.map((a) => (Number.isNaN(a) ? null : a)),
    sources: witness.sources?.map((a) => (Number.isNaN(a) ? null : a)),
    bytes: witness.bytes,
    wavefronts: witness.wavefronts,
    idealWavefronts: witness.idealWavefronts,
    sectors: witness.sectors,
    idealSectors: witness.idealSectors,
  };
}

export function branchReports(simulation: Simulation, locate: Locate): BranchReport[] {
  return simulation.reported.execution.branches
    .filter((b) => b.executed > 0 && simulation.program.branches[b.branch].isGuard !== true)
    .map((b) => {
      const site = simulation.program.branches[b.branch];
      return {
        ...locate(site.place.first, site.place.last),
        kind: site.kind,
        executed: b.executed,
        divergent: b.divergent,
        unknown: b.unknown,
      };
    });
}
