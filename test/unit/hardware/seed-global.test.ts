/** The seed facts on global and local memory that an access model can show, one row a test. */
import assert from 'node:assert/strict';
import { explainGlobal } from '../../../server/src/hardware/explain';
import type { AccessBytes, AccessShape } from '../../../server/src/hardware/memory-model';
import { transactions } from '../../../server/src/hardware/transactions';
import { type Addresses, countAccess, lanesOf, rowOf, warp } from './counting';

const load = (bytes: AccessBytes, caching?: 'l1' | 'l2'): AccessShape => ({
  space: 'global',
  operation: 'load',
  bytes,
  caching,
});

/** Sizes of the transactions, in order. */
function sizes(cc: string, shape: AccessShape, list: Addresses): number[] {
  const { addresses, active } = lanesOf(list);
  return transactions(rowOf(cc), shape, addresses, active, 0, list.length).map(({ bytes }) => bytes);
}

/** Bytes moved, and distinct bytes wanted over bytes moved. */
function traffic(cc: string, shape: AccessShape, list: Addresses): [number, number] {
  const { addresses, active } = lanesOf(list);
  const { bytesMoved, efficiency } = explainGlobal(rowOf(cc), shape, addresses, active, 0, list.length);
  return [bytesMoved, efficiency];
}

const half = (address: (lane: number) => number | null) => warp(address, 16);

describe('seed facts: global memory', () => {
  for (const cc of ['1.0', '1.1']) {
    it(`C1: ${cc}, lane k on word k: one 64, one 128, two 128-byte transactions`, () => {
      assert.deepEqual(
        sizes(
          cc,
          load(4),
          half((lane) => 4 * lane),
        ),
        [64],
      );
      assert.deepEqual(
        sizes(
          cc,
          load(8),
          half((lane) => 8 * lane),
        ),
        [128],
      );
      assert.deepEqual(
        sizes(
          cc,
          load(16),
          half((lane) => 16 * lane),
        ),
        [128, 128],
      );
      assert.deepEqual(
        sizes(
          cc,
          load(4),
          half((lane) => (lane % 3 === 0 ? null : 4 * lane)),
        ),
        [64],
        'inactive lanes',
      );
    });

    it(`C2: ${cc}, permuted or misaligned: 16 transactions`, () => {
      assert.equal(
        sizes(
          cc,
          load(4),
          half((lane) => 4 * (lane ^ 1)),
        ).length,
        16,
      );
      assert.equal(
        sizes(
          cc,
          load(4),
          half((lane) => 4 * (lane + 1)),
        ).length,
        16,
      );
    });
  }

  for (const cc of ['1.2', '1.3']) {
    it(`C3: ${cc}, segments of 32, 64, 128 bytes by word size, shrunk to the half that is used`, () => {
      assert.deepEqual(
        sizes(
          cc,
          load(1),
          half((lane) => lane),
        ),
        [32],
      );
      assert.deepEqual(
        sizes(
          cc,
          load(2),
          half((lane) => 4 * lane),
        ),
        [64],
      );
      assert.deepEqual(
        sizes(
          cc,
          load(4),
          half((lane) => 8 * lane),
        ),
        [128],
      );
      assert.deepEqual(
        sizes(
          cc,
          load(8),
          half((lane) => 8 * lane),
        ),
        [128],
      );
      assert.deepEqual(
        sizes(
          cc,
          load(4),
          half((lane) => 64 + 4 * lane),
        ),
        [64],
        'upper half',
      );
      assert.deepEqual(
        sizes(
          cc,
          load(4),
          half((lane) => 96 + 4 * (lane % 8)),
        ),
        [32],
        'last quarter',
      );
      assert.deepEqual(
        sizes(
          cc,
          load(4),
          half((lane) => 96 + 4 * lane),
        ),
        [32, 32],
        'across two segments, both shrunk',
      );
    });

    it(`C4: ${cc}, any order within a segment: one transaction; n segments: n`, () => {
      assert.equal(
        sizes(
          cc,
          load(4),
          half((lane) => 4 * ((lane * 7) % 16)),
        ).length,
        1,
      );
      for (const n of [2, 4, 8, 16]) {
        assert.equal(
          sizes(
            cc,
            load(4),
            half((lane) => 128 * (lane % n) + 4 * lane),
          ).length,
          n,
        );
      }
    });
  }

  it('C5: a copy with an offset moves 8 times as much on 1.0; on 1.2 two transactions', () => {
    const shifted = half((lane) => 4 * (lane + 1));
    assert.equal(traffic('1.0', load(4), shifted)[1], 1 / 8);
    assert.equal(
      sizes(
        '1.2',
        load(4),
        half((lane) => 4 * (lane + 17)),
      ).length,
      2,
    );
  });

  const fermi: readonly [string, Addresses, [number, number], [number, number]][] = [
    ['C6: 32 aligned consecutive words', warp((lane) => 4 * lane), [128, 1], [128, 1]],
    ['C7: aligned, permuted', warp((lane) => 4 * ((lane * 5) % 32)), [128, 1], [128, 1]],
    ['C8: misaligned consecutive', warp((lane) => 4 * (lane + 3)), [256, 0.5], [160, 0.8]],
    ['C9: all lanes one word', warp(() => 36), [128, 0.03125], [32, 0.125]],
    ['C10: 32 words in 32 lines', warp((lane) => 4096 * lane), [4096, 1 / 32], [1024, 1 / 8]],
  ];
  for (const [title, list, cached, uncached] of fermi) {
    it(`${title}: 2.0 cached ${cached[0]} B, not cached ${uncached[0]} B`, () => {
      assert.deepEqual(traffic('2.0', load(4, 'l1'), list), cached);
      assert.deepEqual(traffic('2.0', load(4), list), cached, 'cached is the default');
      assert.deepEqual(traffic('2.0', load(4, 'l2'), list), uncached);
    });
  }

  it('C11: stores of 2.0 go out in 32-byte segments', () => {
    const store: AccessShape = { space: 'global', operation: 'store', bytes: 4 };
    assert.deepEqual(
      sizes(
        '2.0',
        store,
        warp(() => 36),
      ),
      [32],
    );
  });

  it('C12: lines of 128 bytes in the L1 of 2.x; 32-byte sectors on 3.0 and from 5.x', () => {
    const { cachedLineBytes, lineBytes } = rowOf('2.0').global;
    assert.deepEqual([cachedLineBytes, lineBytes], [128, 32]);
    for (const cc of ['3.0', '3.5', '5.0', '7.0', '9.0']) {
      assert.equal(
        countAccess(
          cc,
          load(4, 'l1'),
          warp(() => 36),
        ).sectors,
        1,
      );
    }
  });

  it('C13: a struct of 5 floats takes 5 loads of 20 bytes apart; aligned to 16, two of 16 bytes', () => {
    const sectors = (bytes: AccessBytes, stride: number, offset: number) =>
      countAccess(
        '9.0',
        load(bytes),
        warp((lane) => stride * lane + offset),
      ).sectors;
    assert.deepEqual(
      [0, 4, 8, 12, 16].map((offset) => sectors(4, 20, offset)),
      [20, 20, 20, 20, 20],
    );
    assert.deepEqual(
      [0, 16].map((offset) => sectors(16, 32, offset)),
      [32, 32],
    );
  });

  it('C15: base + width * ty + tx is coalesced on 1.0 only for multiples of the half-warp', () => {
    const access = (blockWidth: number, width: number) =>
      sizes(
        '1.0',
        load(4),
        half((lane) => 4 * (width * Math.floor(lane / blockWidth) + (lane % blockWidth))),
      );
    assert.equal(access(16, 64).length, 1);
    assert.equal(access(8, 64).length, 16, 'block width 8');
    const secondRow = (width: number) =>
      sizes(
        '1.0',
        load(4),
        half((lane) => 4 * (width + lane)),
      );
    assert.equal(secondRow(48).length, 1);
    assert.equal(secondRow(50).length, 16, 'width 50');
  });

  it('K3: local accesses of all lanes by one index are coalesced, whatever the index', () => {
    const local: AccessShape = { space: 'local', operation: 'load', bytes: 4 };
    for (const cc of ['1.2', '2.0', '3.5', '6.1', '9.0']) {
      const { sectors, idealSectors } = countAccess(
        cc,
        local,
        warp(() => 44),
      );
      assert.deepEqual([sectors, idealSectors], [4, 4], cc);
    }
    const own = countAccess(
      '9.0',
      local,
      warp((lane) => 4 * lane),
    );
    assert.deepEqual([own.sectors, own.idealSectors], [32, 4], 'an index of its own for every lane');
    const wide = countAccess(
      '9.0',
      { ...local, bytes: 8 },
      warp(() => 8),
    );
    assert.deepEqual([wide.sectors, wide.idealSectors], [8, 8]);
  });
});
