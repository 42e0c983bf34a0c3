/** Asynchronous copies as counted on an H200 (test/hardware/recorded/async_copy_shapes.json): elements by lane, and wavefronts. */
import assert from 'node:assert/strict';
import { type CopyCost, copyCost } from '../../../server/src/hardware/async-copy';

type Element = (lane: number) => number;
const row = (n: number, pitch: number) => (lane: number) => Math.floor(lane / n) * pitch + (lane % n);
const same: Element = (lane) => lane;

function check(bytes: number, source: Element, target: Element, expected: number): void {
  const addresses = (element: Element) => Float64Array.from({ length: 32 }, (_, lane) => element(lane) * bytes);
  const cost: CopyCost = { wavefronts: 0, boundBy: 'target' };
  copyCost(bytes, addresses(source), addresses(target), new Uint8Array(32).fill(1), 0, 32, cost);
  assert.equal(cost.wavefronts, expected, `${bytes} bytes, ${source} to ${target}`);
}

describe('asynchronous copies', () => {
  it('of neighbours to neighbours cost what the bytes need, wherever they start', () => {
    for (const [bytes, expected] of [
      [4, 1],
      [8, 2],
      [16, 4],
    ]) {
      check(bytes, same, same, expected);
      check(bytes, (lane) => lane + 1, same, expected);
    }
  });

  it('pay for lanes that share a bank', () => {
    check(4, same, (lane) => lane * 2, 2);
    check(4, same, (lane) => lane * 3, 1);
    check(4, same, (lane) => lane * 4, 4);
    check(8, same, (lane) => lane * 4, 8);
    check(16, same, (lane) => lane * 2, 8);
  });

  it('pay as much for sources that share their place in the lines of 128 bytes', () => {
    check(4, (lane) => lane * 4, same, 4);
    check(4, (lane) => lane * 5, same, 1);
    check(4, row(2, 32), same, 16);
    check(8, row(4, 16), same, 8);
    check(16, row(2, 8), same, 16);
  });

  it('do not broadcast', () => {
    for (const bytes of [4, 8, 16]) check(bytes, () => 3, same, 32);
  });

  it('pay for both together', () => {
    check(4, row(4, 16), row(4, 5), 5);
    check(4, row(4, 32), row(4, 7), 9);
    check(4, row(8, 48), row(8, 10), 3);
    check(8, row(4, 16), row(4, 5), 10);
    check(16, row(4, 16), row(4, 5), 12);
    check(16, row(8, 32), row(8, 9), 4);
  });
});
