/** uncoalesced-global-access: a request moves many more 32-byte sectors than its lanes' data would fill. */
import type { AccessReport, AccessWitness, Finding } from '../report/report';
import { isShiftedRow } from './misaligned-global-access';
import { accessFinding, conditionText, figure, percent, type Rule, type RuleContext } from './rule';
import { globalExcess, isCertain, mayBeOfFewLanes, type WorstAccess, worstAccesses } from './worst-access';

const THRESHOLD = 1.5;

export const uncoalescedGlobalAccess: Rule = {
  id: 'uncoalesced-global-access',
  check(context) {
    return worstAccesses(context, 'global', globalExcess, THRESHOLD)
      .filter(
        (w) => w.excess >= THRESHOLD && w.access.witness && !isShiftedRow(w) && !mayBeOfFewLanes(w.access, THRESHOLD),
      )
      .map((w) => findingFor(context, w));
  },
};

function findingFor(context: RuleContext, worst: WorstAccess): Finding {
  const { access } = worst;
  return accessFinding(context, worst, {
    rule: 'uncoalesced-global-access',
    severity: isCertain(worst, THRESHOLD) ? 'warning' : 'information',
    message: `${headline(worst)} ${witnessText(access)} ${adviceFor(worst)}${conditionText(worst, THRESHOLD)}`,
  });
}

function headline({ access, excess }: WorstAccess): string {
  const perRequest = access.sectors / Math.max(1, access.requests);
  const ideal = access.idealSectors / Math.max(1, access.requests);
  const used = Math.min(100, 100 / excess);
  return `Uncoalesced global ${access.operation}: ${figure(perRequest)} sectors a request where ${figure(ideal)} would do, ${percent(used)} % of the bytes used.`;
}

/** Bytes between neighbouring lanes when it is the same everywhere. */
export function laneStride(witness: AccessWitness | undefined): number | undefined {
  const at = (witness?.addresses ?? []).flatMap((a, lane) => (a === null ? [] : [{ a, lane }]));
  if (at.length < 2) return undefined;
  const step = (at[1].a - at[0].a) / (at[1].lane - at[0].lane);
  return at.every((p, i) => i === 0 || (p.a - at[i - 1].a) / (p.lane - at[i - 1].lane) === step) ? step : undefined;
}

function witnessText(access: AccessReport): string {
  const stride = laneStride(access.witness);
  if (stride !== undefined)
    return stride === 0 ? 'All lanes want the same address.' : `Neighbouring lanes are ${bytesText(stride)} apart.`;
  const row = rowLength(access.witness);
  if (row !== undefined)
    return `Rows of ${row} lanes lie together, ${bytesText(row * (access.witness?.bytes ?? 0))} each, far from the next row.`;
  const first = access.witness?.addresses.slice(0, 2) ?? [];
  const gap =
    first[0] !== null && first[1] !== null && first.length === 2
      ? Math.abs((first[1] ?? 0) - (first[0] ?? 0))
      : undefined;
  return gap === undefined ? 'The lanes of a warp are scattered.' : `Lanes 0 and 1 are ${bytesText(gap)} apart.`;
}

const bytesText = (bytes: number): string => (Math.abs(bytes) === 1 ? '1 byte' : `${Math.abs(bytes)} bytes`);

/** Lanes that follow each other without a gap, when the whole warp falls into such rows of equal length. */
function rowLength(witness: AccessWitness | undefined): number | undefined {
  if (!witness || witness.addresses.length < 4) return undefined;
  const starts = witness.addresses.flatMap((a, lane) => {
    const before = lane === 0 ? null : witness.addresses[lane - 1];
    return a === null || before === null || a - before !== witness.bytes ? [lane] : [];
  });
  const [, second] = starts;
  const isRows = second >= 2 && starts.every((lane, i) => lane === i * second);
  return isRows && witness.addresses.every((a) => a !== null) ? second : undefined;
}

function adviceFor({ access, launch }: WorstAccess): string {
  const row = rowLength(access.witness);
  if (row !== undefined)
    return launch.block[0] === row && row < 32
      ? 'A block at least 32 wide gives each warp a longer row.'
      : 'Let more lanes of a warp take neighbouring elements.';
  const stride = Math.abs(laneStride(access.witness) ?? 0);
  const element = access.object?.elementBytes ?? access.bytesPerLane;
  if (element > access.bytesPerLane && stride === element)
    return 'Use a structure of arrays, or load whole elements as vectors.';
  if (stride > 128) return 'Let threadIdx.x select neighbouring elements, or stage the tile in shared memory.';
  if (stride > 0) return 'Let neighbouring lanes take neighbouring elements.';
  return 'Let the lanes of a warp use neighbouring elements, or stage the data in shared memory.';
}
