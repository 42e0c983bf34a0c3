/** shared-bank-conflict: lanes of one request want different words of one bank, which serves one a wavefront. */
import type { AccessBytes } from '../hardware/capabilities';
import { explainShared } from '../hardware/explain';
import type { AccessReport, AccessWitness, Finding } from '../report/report';
import { offsetsInArray, type Placed } from './array-offsets';
import { canPad, padFix } from './pad-fix';
import { accessFinding, conditionText, figure, laneList, type Rule, type RuleContext, verb } from './rule';
import { hasConditionOfLanes, isCertain, sharedExcess, type WorstAccess, worstAccesses } from './worst-access';

/** From here on the profiler's users call it a conflict worth a word. */
const THRESHOLD = 1.5;
/** Two lanes want the same bank: one is enough to be missing for no conflict. */
const PAIR = 2;

export const sharedBankConflict: Rule = {
  id: 'shared-bank-conflict',
  check(context) {
    return worstAccesses(context, 'shared', sharedExcess, THRESHOLD)
      .filter((w) => w.excess >= THRESHOLD && w.access.witness)
      .map((w) => findingFor(context, w));
  },
};

function findingFor(context: RuleContext, worst: WorstAccess): Finding {
  const certain = isCertain(worst, THRESHOLD) && !mayMissItsPartner(worst);
  const sources = worst.access.witness?.sources;
  if (sources)
    return worst.access.witness?.isPastL1
      ? pastL1Finding(context, worst, worst.access.witness, sources, certain)
      : copyFinding(context, worst, sources, certain);
  const fix = certain ? padFix(context, worst) : undefined;
  const mend = fix ? ` ${fix.title.replace(/^Pad \w+ to/, 'Pad to')}.` : adviceFor(context, worst);
  return accessFinding(context, worst, {
    rule: 'shared-bank-conflict',
    severity: certain ? 'warning' : 'information',
    message: `${headline(worst)}: ${witnessText(context, worst)}.${mend}${conditionText(worst, THRESHOLD)}`,
    fixes: fix ? [fix] : [],
  });
}

/**
 * Pairs of lanes conflict, and each lane comes only under a condition of its own that is not known: where few come no pair is whole
 * (two accesses of one program: 1.01 and 1.03 measured, 10 % of the lanes came).
 */
const mayMissItsPartner = ({ access, excess }: WorstAccess): boolean => excess <= PAIR && hasConditionOfLanes(access);

/** An asynchronous copy that reads from places which share their position in the lines of 128 bytes. */
function copyFinding(
  context: RuleContext,
  worst: WorstAccess,
  sources: readonly (number | null)[],
  certain: boolean,
): Finding {
  const byPlace = new Map<number, number[]>();
  sources.forEach((address, lane) => {
    if (address === null) return;
    const place = address % 128;
    byPlace.set(place, [...(byPlace.get(place) ?? []), lane]);
  });
  const [place, lanes] = [...byPlace].reduce((a, b) => (b[1].length > a[1].length ? b : a));
  const ways = figure(worst.excess);
  return accessFinding(context, worst, {
    rule: 'shared-bank-conflict',
    severity: certain ? 'warning' : 'information',
    message:
      `${ways} times the wavefronts of an asynchronous copy: lanes ${laneList(lanes)} read at byte ${place} of their lines of 128 bytes. ` +
      `Let neighbouring lanes copy neighbouring elements.${conditionText(worst, THRESHOLD)}`,
    fixes: [],
  });
}

/** An asynchronous copy past L1: it moves whole lines, as far as rows begin at the same place of a line on both sides. */
function pastL1Finding(
  context: RuleContext,
  worst: WorstAccess,
  witness: AccessWitness,
  sources: readonly (number | null)[],
  certain: boolean,
): Finding {
  const moved = sources.findIndex((from, lane) => {
    const to = witness.addresses[lane];
    return from !== null && to !== null && modulo(from - to, LINE) !== 0;
  });
  const [from, to] = [sources[moved], witness.addresses[moved]];
  const isMoved = from != null && to != null;
  const why = isMoved
    ? `lane ${moved} reads at byte ${modulo(from, LINE)} of a line of 128 bytes and writes at byte ${modulo(to, LINE)} of one`
    : 'neighbouring lanes do not copy neighbouring bytes';
  const mend = isMoved
    ? 'Let rows begin at the same byte of a line on both sides: rows of a multiple of 128 bytes, swizzled instead of padded.'
    : 'Let neighbouring lanes copy neighbouring elements.';
  return accessFinding(context, worst, {
    rule: 'shared-bank-conflict',
    severity: certain ? 'warning' : 'information',
    message: `${figure(worst.excess)} times the wavefronts of an asynchronous copy: ${why}. ${mend}${conditionText(worst, THRESHOLD)}`,
    fixes: [],
  });
}

const LINE = 128;
const modulo = (a: number, n: number): number => ((a % n) + n) % n;

function headline({ access, excess }: WorstAccess): string {
  const w = access.witness;
  const ways = w ? w.wavefronts / Math.max(1, w.idealWavefronts) : excess;
  if (access.operation === 'atomic') return `${figure(ways)}-way conflict of a shared atomic`;
  const average = excess < ways * 0.9 ? ` (${figure(excess)} on average)` : '';
  return `${figure(ways)}-way bank conflict${average}`;
}

function witnessText(context: RuleContext, worst: WorstAccess): string {
  const { access } = worst;
  const witness = access.witness;
  if (!witness) return `${access.wavefronts} wavefronts where ${access.idealWavefronts} would do`;
  const { bank, lanes } = worstBank(context, access, witness);
  const placed = offsetsInArray(context, worst, witness);
  const own = placed.filter((p) => lanes.includes(p.lane));
  const place = sameWordText(own) ?? columnText(access, own) ?? strideText(placed, lanes.length === placed.length);
  const all = lanes.length > 1 ? `all in bank ${bank}` : `in bank ${bank}`;
  return `lanes ${laneList(lanes)} ${verb(access.operation)} ${place}, ${all}`;
}

function worstBank(
  context: RuleContext,
  access: AccessReport,
  witness: AccessWitness,
): { bank: number; lanes: readonly number[] } {
  const addresses = Float64Array.from(witness.addresses, (a) => a ?? 0);
  const active = Uint8Array.from(witness.addresses, (a) => (a === null ? 0 : 1));
  const shape = { space: 'shared' as const, operation: access.operation, bytes: witness.bytes as AccessBytes };
  const explained = explainShared(context.capability, shape, addresses, active, 0, addresses.length);
  return { bank: explained.worst?.bank ?? 0, lanes: explained.worst?.lanes ?? [] };
}

/** `column 0 of tile[32][32]` when that is what the lanes have in common. */
function columnText(access: AccessReport, placed: readonly Placed[]): string | undefined {
  const object = access.object;
  if (!object || object.dimensions.length < 2 || placed.length < 2) return undefined;
  const row = object.dimensions[object.dimensions.length - 1] * object.elementBytes;
  if (row <= 0) return undefined;
  const columns = new Set(placed.map((p) => Math.floor((((p.offset % row) + row) % row) / object.elementBytes)));
  const name = `${object.name}${object.dimensions.map((d) => `[${d}]`).join('')}`;
  return columns.size === 1 ? `column ${[...columns][0]} of ${name}` : `different rows of ${name}`;
}

/** Where several lanes share a word (an atomic's, or broadcast words of one bank): how many words there are. */
function sameWordText(placed: readonly Placed[]): string | undefined {
  const words = new Set(placed.map((p) => Math.floor(p.offset / 4)));
  if (placed.length < 2 || words.size === placed.length) return undefined;
  return words.size === 1 ? 'the same word' : `${words.size} different words`;
}

function strideText(placed: readonly Placed[], all: boolean): string {
  const steps = new Set(
    placed.slice(1).map((p, i) => (p.offset - placed[i].offset) / Math.max(1, p.lane - placed[i].lane)),
  );
  const [step] = steps;
  if (steps.size === 1 && step !== undefined && step % 4 === 0) return `words ${Math.abs(step) / 4} apart`;
  return all ? 'different words' : 'different words of one bank';
}

function adviceFor(context: RuleContext, worst: WorstAccess): string {
  const { access } = worst;
  if (access.operation === 'atomic')
    return ' Give each warp a copy of its own, or combine equal values in the warp first.';
  if (access.object && access.object.dimensions.length >= 2 && !canPad(context, worst))
    return ' Another row length may remove it, or change which lane takes which row.';
  if (access.object && access.object.dimensions.length >= 2)
    return ' No small padding of the rows removes it: change which lane takes which row, or swizzle the column with the row.';
  return ' Make neighbouring lanes use neighbouring words, or spread the index by index/32.';
}
