import * as assert from 'node:assert/strict';
import { capability } from '../../../server/src/hardware/capabilities';
import { lanePicture, ranges } from '../../../server/src/lsp/lane-picture';
import type { AccessReport } from '../../../server/src/report/report';
import { conflicting, reportOf } from './reports';

const [shared] = reportOf(conflicting).kernels[0].launches[0].accesses.filter(({ space }) => space === 'shared');

function check(
  change: Partial<AccessReport>,
  bytes: number,
  address: (lane: number) => number | null,
  expected: string,
  cc = '9.0',
): void {
  const row = capability(cc);
  assert.ok(row);
  const addresses = Array.from({ length: 32 }, (_, lane) => address(lane));
  const counts = { wavefronts: 1, idealWavefronts: 1, sectors: 1, idealSectors: 1 };
  const witness = { block: [0, 0, 0], thread: [0, 0, 0], addresses, bytes, ...counts } as const;
  assert.equal(lanePicture({ ...shared, ...change, witness }, row), expected);
}

describe('the picture of a warp access', () => {
  it('shows the bank of each lane, and what meets on the worst', () => {
    check(
      {},
      4,
      (lane) => (lane % 4) * 128 + lane * 4,
      [
        'lane   0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15',
        'bank   0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15',
        'lane  16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31',
        'bank  16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31',
      ].join('\n'),
    );
    check(
      {},
      4,
      (lane) => (lane < 20 ? lane * 64 : null),
      [
        'lane   0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15',
        'bank   0 16  0 16  0 16  0 16  0 16  0 16  0 16  0 16',
        'lane  16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31',
        'bank   0 16  0 16  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·',
        'bank 0: 10 different words for lanes 0, 2, 4, 6, 8, 10, 12, 14, 16, 18',
      ].join('\n'),
    );
  });
  it('shows the piece of memory of each lane', () => {
    check(
      { space: 'global', operation: 'load' },
      4,
      (lane) => (lane < 16 ? lane * 4 : null),
      [
        'lane    0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15',
        'piece   0  0  0  0  0  0  0  0  1  1  1  1  1  1  1  1',
        'lane   16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31',
        'piece   ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·',
        '2 pieces of 32 bytes: 64 bytes moved',
      ].join('\n'),
    );
  });
  it('writes neighbouring lanes as ranges', () => {
    assert.equal(ranges([0, 1, 2, 5, 7, 8]), '0–2, 5, 7–8');
    assert.equal(ranges([]), '');
  });
});
