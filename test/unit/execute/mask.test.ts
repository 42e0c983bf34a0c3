import assert from 'node:assert/strict';
import { Mask } from '../../../server/src/execute/mask';

const WARPS = 3;

function maskOf(lanes: readonly number[]): Mask {
  const mask = new Mask(WARPS);
  for (const lane of lanes) mask.lanes[lane] = 1;
  mask.recount();
  return mask;
}

const lanesOf = ({ lanes }: Mask): number[] => [...lanes.keys()].filter((lane) => lanes[lane] === 1);

describe('masks', () => {
  const all = [...Array(WARPS * 32).keys()];
  const samples = [
    [],
    [0],
    [95],
    [31, 32],
    all,
    all.filter((lane) => lane % 3 === 0),
    all.filter((lane) => lane >= 32 && lane < 64),
    all.filter((lane) => lane >= 64 && lane % 2 === 1),
  ];

  it('counts lanes and warps, and where they are', () => {
    const { count, warps, lo, hi, perWarp } = maskOf([31, 32, 33]);
    assert.deepEqual([count, warps, lo, hi, ...perWarp], [3, 2, 0, 64, 1, 2, 0]);
    assert.equal(maskOf(all).count, 96);
    assert.deepEqual([...maskOf(all).perWarp], [32, 32, 32]);
    assert.deepEqual([maskOf([95]).lo, maskOf([95]).hi], [64, 96]);
  });

  it('unites, intersects and subtracts', () => {
    for (const one of samples)
      for (const other of samples) {
        const check = (change: (mask: Mask, by: Mask) => void, expected: readonly number[]) => {
          const mask = maskOf(one);
          change(mask, maskOf(other));
          assert.deepEqual(lanesOf(mask), expected);
          assert.deepEqual(mask, maskOf(expected));
        };
        check(
          (mask, by) => mask.unite(by),
          [...new Set([...one, ...other])].sort((a, b) => a - b),
        );
        check(
          (mask, by) => mask.intersect(by),
          one.filter((lane) => other.includes(lane)),
        );
        check(
          (mask, by) => mask.subtract(by),
          one.filter((lane) => !other.includes(lane)),
        );
      }
  });
});
