import assert from 'node:assert/strict';
import { ByteMemory } from '../../../server/src/execute/byte-memory';

const SHADOW = 2 ** 16;
const BLOCK = { start: 256, end: 256 + 8192 };

function memory(): ByteMemory {
  return new ByteMemory({
    buffer: new ArrayBuffer(2 * SHADOW),
    shadow: SHADOW,
    base: 2 ** 50,
    free: BLOCK.end,
    isComplete: true,
    blockAt: () => undefined,
    isSpare: () => false,
    aboutToChange: () => {},
    aboutToUse: () => {},
  });
}

describe('what is forgotten of a block', () => {
  it('is all of it, whatever was stored since it was forgotten before', () => {
    const bytes = memory();
    bytes.forget(BLOCK.start, BLOCK.end);
    bytes.write('f32', 512, 1);
    bytes.write('f64', 4096, 2);
    assert.deepEqual([bytes.isKnown(512, 4), bytes.isKnown(2048, 4), bytes.isKnown(4096, 8)], [true, false, true]);
    bytes.forget(512, 516);
    assert.deepEqual([bytes.isKnown(512, 4), bytes.isKnown(4096, 8)], [false, true]);
    bytes.forget(BLOCK.start, BLOCK.end);
    assert.equal(bytes.isKnown(4096, 8), false);
    bytes.write('u8', BLOCK.start, 3);
    bytes.copy(1024, BLOCK.start, 1);
    bytes.forget(BLOCK.start, BLOCK.end);
    assert.deepEqual([bytes.isKnown(BLOCK.start, 1), bytes.isKnown(1024, 1)], [false, false]);
  });

  // a sort that scatters to two buffers of 64 MB, lane after lane, took minutes
  it('costs nothing where two blocks are forgotten in turns', () => {
    const bytes = memory();
    const half = 256 + 4096;
    for (let n = 0; n < 100; n++) {
      bytes.forget(256, half);
      bytes.forget(half, BLOCK.end);
    }
    assert.equal(bytes.cleared, 8192);
    bytes.write('f32', half - 4, 1);
    bytes.write('f32', half, 2);
    bytes.forget(256, half);
    assert.deepEqual([bytes.isKnown(half - 4, 4), bytes.isKnown(half, 4)], [false, true]);
  });

  it('is at most what a launch may take', () => {
    const bytes = memory();
    bytes.mostCleared = 100;
    assert.throws(() => bytes.forget(256, 512), /too long/);
  });
});
