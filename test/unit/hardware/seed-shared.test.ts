/** The seed facts on shared and constant memory, one row a test. */
import assert from 'node:assert/strict';
import { keplerEightByteMode } from '../../../server/src/hardware/capabilities';
import type { AccessBytes, AccessShape } from '../../../server/src/hardware/memory-model';
import { type Addresses, countAccess, rowOf, warp } from './counting';

const load = (bytes: AccessBytes): AccessShape => ({ space: 'shared', operation: 'load', bytes });

/** Wavefronts over the least these lanes can have: the n of 'n-way'. */
function ways(cc: Parameters<typeof countAccess>[0], bytes: AccessBytes, list: Addresses): number {
  const counts = countAccess(cc, load(bytes), list);
  return counts.wavefronts / counts.leastWavefronts;
}

const gcd = (left: number, right: number): number => (right === 0 ? left : gcd(right, left % right));
const current = ['2.0', '2.1', '5.0', '6.1', '7.0', '7.5', '8.0', '8.6', '8.9', '9.0', '10.0', '11.0', '12.0'];
const first = ['1.0', '1.1', '1.2', '1.3'];

describe('seed facts: shared memory', () => {
  it('B1: 16 banks of 4 bytes per half-warp on 1.x, 32 per warp later, 8 bytes wide on 3.x', () => {
    for (const cc of first) {
      const { banks, bankBytes, lanesPerRequest } = rowOf(cc).shared;
      assert.deepEqual([banks, bankBytes, lanesPerRequest[4]], [16, 4, 16]);
    }
    for (const cc of [...current, '3.0', '3.5', '3.7']) {
      const { banks, bankBytes, lanesPerRequest } = rowOf(cc).shared;
      assert.deepEqual([banks, bankBytes, lanesPerRequest[4]], [32, cc.startsWith('3.') ? 8 : 4, 32]);
    }
  });

  for (const stride of Array.from({ length: 40 }, (_, index) => index + 1)) {
    const list = warp((lane) => 4 * lane * stride);
    it(`B2: s[tid * ${stride}] is ${gcd(stride, 32)}-way from 2.0, ${gcd(stride, 16)}-way on 1.x`, () => {
      for (const cc of current) assert.equal(ways(cc, 4, list), gcd(stride, 32), cc);
      for (const cc of first) assert.equal(ways(cc, 4, list), gcd(stride, 16), cc);
    });
  }

  it('B2: s[tid * 2] has no conflict on 3.x, in both bank modes', () => {
    const list = warp((lane) => 8 * lane);
    assert.equal(ways('3.5', 4, list), 1);
    assert.equal(ways(keplerEightByteMode(rowOf('3.5')), 4, list), 1);
  });

  it('B3: s[tid + offset] has none for any offset', () => {
    for (const cc of [...first, ...current, '3.5']) {
      for (let offset = 0; offset < 64; offset++)
        assert.equal(
          ways(
            cc,
            4,
            warp((lane) => 4 * (lane + offset)),
          ),
          1,
        );
    }
  });

  it('B4: s[tid / c] has none from 2.0; on 1.x only where each half-warp reads one word, or each lane its own', () => {
    const degree = (cc: string, c: number) =>
      ways(
        cc,
        4,
        warp((lane) => 4 * Math.floor(lane / c)),
      );
    for (let c = 1; c <= 32; c++) for (const cc of [...current, '3.5']) assert.equal(degree(cc, c), 1);
    for (const c of [1, 16, 32]) assert.equal(degree('1.0', c), 1);
    for (let c = 2; c < 16; c++) assert.ok(degree('1.0', c) > 1, `c = ${c}`);
  });

  it('B5: a column of [32][32] floats is 32-way, of [32][33] none', () => {
    for (const cc of current) {
      assert.equal(
        ways(
          cc,
          4,
          warp((lane) => 4 * 32 * lane),
        ),
        32,
      );
      assert.equal(
        ways(
          cc,
          4,
          warp((lane) => 4 * 33 * lane),
        ),
        1,
      );
    }
  });

  it('B6: a column of a tile of 16 or 32 columns is 16-way on 1.x, with one more column none', () => {
    for (const dimension of [16, 32]) {
      for (const cc of first) {
        assert.equal(
          ways(
            cc,
            4,
            warp((lane) => 4 * dimension * lane),
          ),
          16,
        );
        assert.equal(
          ways(
            cc,
            4,
            warp((lane) => 4 * (dimension + 1) * lane),
          ),
          1,
        );
      }
    }
  });

  it('B7: lanes on one word, or on different bytes of it, are served together from 2.0', () => {
    for (const cc of [...current, '3.5']) {
      assert.equal(
        ways(
          cc,
          4,
          warp(() => 20),
        ),
        1,
      );
      assert.equal(
        ways(
          cc,
          1,
          warp((lane) => lane),
        ),
        1,
      );
      assert.equal(
        ways(
          cc,
          2,
          warp((lane) => 2 * (lane % 2)),
        ),
        1,
      );
    }
  });

  it('B8: on 1.x a char array is 4-way by s[base + tid], without conflict by s[base + 4 * tid]', () => {
    assert.equal(
      ways(
        '1.0',
        1,
        warp((lane) => lane),
      ),
      4,
    );
    assert.equal(
      ways(
        '1.0',
        1,
        warp((lane) => 4 * lane),
      ),
      1,
    );
  });

  it('B9: on 1.x a double takes two requests, 2-way each; int halves have no conflict', () => {
    const { wavefronts, leastWavefronts } = countAccess(
      '1.3',
      load(8),
      warp((lane) => 8 * lane),
    );
    assert.deepEqual([wavefronts, leastWavefronts], [2 * 2 * 2, 2 * 2]);
    assert.equal(
      ways(
        '1.3',
        4,
        warp((lane) => 4 * lane),
      ),
      1,
    );
  });

  const members: readonly [string, readonly number[], number, number][] = [
    ['B10: a struct of three floats: three requests without conflict', [0, 4, 8], 12, 1],
    ['B11: a struct of two floats: two requests, 2-way each', [0, 4], 8, 2],
    ['B12: a struct of a float and a char: two requests, 2-way each', [0, 4], 8, 2],
  ];
  for (const [title, offsets, size, expected] of members) {
    it(title, () => {
      for (const offset of offsets)
        assert.equal(
          ways(
            '1.0',
            4,
            warp((lane) => size * lane + offset),
          ),
          expected,
        );
    });
  }

  it('B13: one word is broadcast a step, with one lane of every other bank', () => {
    const steps = (list: Addresses) => countAccess('1.0', load(4), list).wavefronts;
    const half = (address: (lane: number) => number) => warp(address, 16);
    assert.equal(steps(half(() => 12)), 1, 'all lanes on one word');
    // The programming guide's picture: half of the lanes on one word, the others on banks of their own.
    assert.equal(steps(half((lane) => (lane < 8 ? 20 : 4 * lane))), 1, 'a broadcast and eight other banks');
    assert.equal(steps(half((lane) => (lane < 8 ? 20 : 20 + 64))), 2, 'two words of one bank, eight lanes each');
    assert.equal(
      steps(half((lane) => (lane < 8 ? 0 : 4))),
      2,
      'two words of two banks: one lane of the second in step 1',
    );
  });

  it('B14: reduction by index = 2 * s * tid doubles its conflicts up to 16-way on 1.x and 32-way later', () => {
    const degrees = (cc: string) =>
      [1, 2, 4, 8, 16, 32].map((s) =>
        ways(
          cc,
          4,
          warp((lane) => 4 * 2 * s * lane),
        ),
      );
    assert.deepEqual(degrees('1.3'), [2, 4, 8, 16, 16, 16]);
    assert.deepEqual(degrees('9.0'), [2, 4, 8, 16, 32, 32]);
    // Version 3, sv[tid] and sv[tid + s].
    for (const s of [1, 32, 64, 128])
      assert.equal(
        ways(
          '1.3',
          4,
          warp((lane) => 4 * (lane + s)),
        ),
        1,
      );
  });
});

describe('seed facts: constant memory', () => {
  const constant: AccessShape = { space: 'constant', operation: 'load', bytes: 4 };
  const passes = (cc: string, list: Addresses) => countAccess(cc, constant, list).wavefronts;

  it('K1: 64 KB; one address a warp is one pass, n addresses n passes, half-warps apart on 1.x', () => {
    assert.equal(rowOf('9.0').constantBytes, 65536);
    assert.equal(
      passes(
        '9.0',
        warp(() => 60),
      ),
      1,
    );
    assert.equal(
      passes(
        '9.0',
        warp((lane) => 4 * lane),
      ),
      32,
    );
    assert.equal(
      passes(
        '9.0',
        warp((lane) => 4 * (lane % 5)),
      ),
      5,
    );
    assert.equal(
      passes(
        '1.0',
        warp(() => 60),
      ),
      2,
    );
    assert.equal(
      passes(
        '1.0',
        warp((lane) => 4 * Math.floor(lane / 16)),
      ),
      2,
    );
  });

  it('K2: g[15] and g[blockIdx.x + 5] are uniform, g[threadIdx.x] is not', () => {
    const isUniform = (list: Addresses) => {
      const { wavefronts, idealWavefronts } = countAccess('2.0', constant, list);
      return wavefronts === idealWavefronts;
    };
    const blockIdx = 7;
    assert.equal(isUniform(warp(() => 15 * 4)), true);
    assert.equal(isUniform(warp(() => (blockIdx + 5) * 4)), true);
    assert.equal(isUniform(warp((threadIdx) => threadIdx * 4)), false);
  });
});
