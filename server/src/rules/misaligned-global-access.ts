/** misaligned-global-access: a warp reads or writes consecutive elements, but its first byte is not on a 32-byte boundary. */
import type { Finding } from '../report/report';
import { accessFinding, conditionText, figure, type Rule, type RuleContext } from './rule';
import { globalExcess, isCertain, mayBeOfFewLanes, type WorstAccess, worstAccesses } from './worst-access';

const THRESHOLD = 1.1;

/** Sectors over the ideal from which a line is bad: what lies below costs a little and is worth no warning. */
const BAD = 1.5;

export const misalignedGlobalAccess: Rule = {
  id: 'misaligned-global-access',
  check(context) {
    return worstAccesses(context, 'global', globalExcess, THRESHOLD)
      .filter((w) => w.excess >= THRESHOLD && w.certainExcess >= THRESHOLD && isShiftedRow(w))
      .map((w) => findingFor(context, w));
  },
};

/** Lanes in order on neighbouring elements, starting within a sector. */
export function isShiftedRow({ access }: WorstAccess): boolean {
  const witness = access.witness;
  if (!witness) return false;
  const at = witness.addresses.flatMap((a, lane) => (a === null ? [] : [{ a, lane }]));
  if (at.length < 8 || at[0].a % 32 === 0) return false;
  return at.every((p, i) => i === 0 || p.a - at[i - 1].a === (p.lane - at[i - 1].lane) * witness.bytes);
}

function findingFor(context: RuleContext, worst: WorstAccess): Finding {
  const { access, excess } = worst;
  const w = access.witness;
  const start = (w?.addresses.find((a) => a !== null) ?? 0) % 32;
  const more = Math.round((excess - 1) * 100);
  return accessFinding(context, worst, {
    rule: 'misaligned-global-access',
    severity: isCertain(worst, BAD) && !mayBeOfFewLanes(access, BAD) ? 'warning' : 'information',
    message: `Misaligned global ${access.operation}: the warp starts ${start} ${start === 1 ? 'byte' : 'bytes'} behind a 32-byte boundary, so a request takes ${w?.sectors ?? figure(access.sectors / access.requests)} sectors instead of ${w?.idealSectors ?? ''} (${more} % more in all). Pad the pitch, or shift the index so that a warp starts on a multiple of 32 bytes.${conditionText(worst, THRESHOLD)}`,
  });
}
