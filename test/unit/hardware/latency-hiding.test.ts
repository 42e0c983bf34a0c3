import assert from 'node:assert/strict';
import { capabilities } from '../../../server/src/hardware/capabilities';
import { instructionsToHide, issueRate, warpsToHide } from '../../../server/src/hardware/latency-hiding';
import { rowOf } from './counting';

describe('seed facts: latency hiding', () => {
  it('L1: instructions to hide 22 cycles on 1.x, 2.0, 2.1 and 3.0: a quarter, rounded up; as many; twice as many', () => {
    assert.deepEqual(
      ['1.0', '1.3', '2.0', '2.1', '3.0'].map((cc) => instructionsToHide(rowOf(cc), 22)),
      [6, 6, 22, 44, 44],
    );
  });

  it('L2: warps to hide a register dependency: 22 cycles on 1.x and 2.x, 11 on 3.0', () => {
    assert.deepEqual(
      ['1.0', '1.3', '2.0', '2.1', '3.0'].map((cc) => [issueRate(rowOf(cc)).arithmetic, warpsToHide(rowOf(cc))]),
      [
        [22, 6],
        [22, 6],
        [22, 22],
        [22, 22],
        [11, 22],
      ],
    );
  });

  it('L3: 18 cycles of Fermi take 18 warps, 576 threads; 9 warps of two independent instructions', () => {
    assert.equal(warpsToHide(rowOf('2.0'), 1, 18) * 32, 576);
    assert.equal(warpsToHide(rowOf('2.0'), 2, 18), 9);
  });

  it('L4: 400 to 800 cycles of global memory are more than all the warps of a multiprocessor hide with one instruction each', () => {
    for (const cc of ['1.3', '2.0']) {
      const row = rowOf(cc);
      for (const cycles of [400, 600, 800]) {
        const warps = warpsToHide(row, 1, cycles);
        assert.equal(warps, Math.ceil(cycles * (cc === '1.3' ? 1 / 4 : 1)));
        assert.ok(warps > row.limits.warpsPerSm, `${cc}: ${warps}`);
      }
    }
  });

  it('four schedulers of 4 cycles since 7.0: 16 warps; no generation needs more than it holds', () => {
    assert.equal(warpsToHide(rowOf('9.0')), 16);
    for (const row of capabilities) assert.ok(warpsToHide(row) <= row.limits.warpsPerSm, row.cc);
  });
});
