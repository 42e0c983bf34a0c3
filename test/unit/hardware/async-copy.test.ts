/** Asynchronous copies as counted on an H200 (test/hardware/recorded/async_copy_shapes.json): elements by lane, and wavefronts. */
import assert from 'node:assert/strict';
import { type CopyCost, copyCost, type PastL1Cost, pastL1Cost } from '../../../server/src/hardware/async-copy';

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

/** Wavefronts, ideal wavefronts, sectors, ideal sectors, as the profiler shows them. */
type Counters = readonly [number, number, number, number];

/** @param on whether the predicate is true for a lane */
function checkPastL1(source: Element, target: Element, expected: Counters, on = (_: number) => true): void {
  const addresses = (element: Element) => Float64Array.from({ length: 32 }, (_, lane) => element(lane) * 16);
  const cost: PastL1Cost = { wavefronts: 0, idealWavefronts: 0, sectors: 0, idealSectors: 0 };
  const active = Uint8Array.from({ length: 32 }, (_, lane) => (on(lane) ? 1 : 0));
  pastL1Cost(addresses(source), addresses(target), active, 0, 32, cost);
  const { wavefronts, idealWavefronts, sectors, idealSectors } = cost;
  assert.deepEqual([wavefronts, idealWavefronts, sectors, idealSectors], expected, `${source} to ${target}`);
}

describe('asynchronous copies past L1, as an H200 counts them', () => {
  it('of neighbours to neighbours take a line a wavefront', () => {
    checkPastL1(same, same, [4, 4, 16, 16]);
    checkPastL1(row(8, 16), row(8, 8), [4, 4, 16, 16]);
  });
  it('take twice as many where rows are moved within a line, more by an odd number of elements', () => {
    checkPastL1((lane) => lane + 2, same, [8, 4, 16, 16]);
    checkPastL1((lane) => lane + 1, same, [12, 4, 32, 16]);
    checkPastL1(row(8, 48), row(8, 10), [7, 4, 16, 16]);
    checkPastL1(row(8, 64), row(8, 11), [10, 4, 24, 16]);
    checkPastL1(row(4, 24), row(4, 6), [10, 4, 16, 16]);
    // gemm_async.cu:16
    checkPastL1(row(4, 64), row(4, 5), [15, 4, 24, 16]);
  });
  it('cost nothing more where rows are swizzled by an exclusive or', () => {
    // rows of 64 and of 128 bytes, 16 bytes of a row at (place ^ row)
    checkPastL1(
      row(4, 32),
      (lane) => Math.floor(lane / 4) * 4 + ((lane % 4) ^ (Math.floor(lane / 4) % 4)),
      [8, 4, 16, 16],
    );
    checkPastL1(
      row(8, 32),
      (lane) => Math.floor(lane / 8) * 8 + ((lane % 8) ^ (Math.floor(lane / 8) % 8)),
      [4, 4, 16, 16],
    );
    checkPastL1(
      row(8, 32),
      (lane) => Math.floor(lane / 8) * 8 + ((lane % 8) ^ (Math.floor(lane / 8) + 4)),
      [4, 4, 16, 16],
    );
  });
  it('cost no more where rows that begin at half a sector are swizzled', () => {
    // hgemm_ladder.cu:104, rows of 64 bytes, 656 bytes apart: two rows of a line have one exclusive or
    const swizzled: Element = (lane) => Math.floor(lane / 4) * 4 + ((lane % 4) ^ (Math.floor(lane / 8) % 4));
    checkPastL1(row(4, 41), swizzled, [15, 4, 24, 16]);
    checkPastL1((lane) => row(4, 41)(lane) + 4, swizzled, [15, 4, 24, 16]);
  });
  it('go lane by lane where neighbours do not copy neighbours', () => {
    checkPastL1(same, (lane) => lane * 2, [32, 4, 32, 16]);
    checkPastL1((lane) => lane * 4, same, [32, 4, 32, 16]);
    checkPastL1(() => 6, same, [32, 4, 32, 16]);
  });
  it('do not count lanes that are off, by a branch or by a predicate', () => {
    const first = (lane: number) => lane < 12;
    checkPastL1(same, same, [2, 2, 6, 6], first);
    checkPastL1((lane) => lane + 999, same, [6, 2, 12, 6], first);
    checkPastL1((lane) => lane + 1998, same, [4, 2, 6, 6], first);
    checkPastL1((lane) => lane + 2997, same, [7, 2, 12, 6], first);
    // rows of four lanes of sixteen: one wavefront for either row
    checkPastL1(row(16, 64), row(16, 4), [2, 1, 4, 4], (lane) => lane % 16 < 4);
  });
});
