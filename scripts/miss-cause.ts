/** Why a line group differs from the counters, as far as the two lists of numbers tell: the first thing that differs between them. */
import type { AccessReport } from '../server/src/report/report';
import type { RecordedGroup } from './recorded-counters';

type MeasuredGroup = Pick<RecordedGroup, 'bytes' | 'requests' | 'predicatedOnLanes'>;
type OurAccess = Pick<AccessReport, 'bytesPerLane' | 'requests' | 'activeLanes' | 'reason'>;

const differ = (a: number, b: number): boolean => Math.abs(a - b) > 0.02 * Math.max(a, b);
const sum = (numbers: readonly number[]): number => numbers.reduce((s, n) => s + n, 0);
const listed = (numbers: Iterable<number>): string => [...new Set(numbers)].sort((a, b) => a - b).join(' and ');

/** In a few words; what we say of the accesses ourselves comes first. */
export function causeOf(group: MeasuredGroup, ours: readonly OurAccess[]): string {
  if (ours.length === 0) return 'attribution: none of our accesses is charged to this line';
  const doubts = ours.flatMap(({ reason }) => reason ?? []);
  const doubt = doubts.find((r) => /condition|iterations|depends on/.test(r)) ?? doubts[0];
  if (doubt !== undefined) return doubt;
  const widths = listed(ours.map((a) => a.bytesPerLane));
  if (widths !== listed(group.bytes)) return `width: ${listed(group.bytes)} bytes measured, ${widths} here`;
  const requests = sum(ours.map((a) => a.requests));
  if (differ(requests, group.requests)) return `frequency: ${group.requests} requests measured, ${requests} here`;
  const lanes = sum(ours.map((a) => a.activeLanes));
  if (differ(lanes, group.predicatedOnLanes)) return `lanes: ${group.predicatedOnLanes} measured, ${lanes} here`;
  return 'addresses or widths: as many requests and lanes';
}
