import assert from 'node:assert/strict';
import { causeOf } from '../../../scripts/miss-cause';

const measured = { bytes: [4], requests: 100, predicatedOnLanes: 3200 };
const ours = { bytesPerLane: 4, requests: 100, activeLanes: 3200, reason: null };

const check = (access: Partial<Parameters<typeof causeOf>[1][number]>, expected: string): void =>
  assert.equal(causeOf(measured, [{ ...ours, ...access }]), expected);

describe('causes of misses', () => {
  it('nothing of ours is there', () =>
    assert.equal(causeOf(measured, []), 'attribution: none of our accesses is charged to this line'));
  it('what we doubt ourselves', () =>
    check(
      { reason: 'condition depends on loaded data: p[i]', requests: 50 },
      'condition depends on loaded data: p[i]',
    ));
  it('widths', () => check({ bytesPerLane: 16, requests: 25 }, 'width: 4 bytes measured, 16 here'));
  it('requests', () => check({ requests: 50 }, 'frequency: 100 requests measured, 50 here'));
  it('lanes', () => check({ activeLanes: 1600 }, 'lanes: 3200 measured, 1600 here'));
  it('the rest', () => check({}, 'addresses or widths: as many requests and lanes'));
});
