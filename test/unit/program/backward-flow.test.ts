import assert from 'node:assert/strict';
import { flowBackwards, forEachBit } from '../../../server/src/program/backward-flow';
import { type ControlFlow, controlFlow } from '../../../server/src/program/control-flow';
import { programFrom } from './program-text';

describe('backward flow', () => {
  const flow = controlFlow(
    programFrom('in c pred parameter\na:\njump h\nh:\nif c b x\nb:\nif c i t\ni:\nif c i t\nt:\njump h\nx:\nexit'),
  );
  const sets = (values: readonly number[]) => values.map((bits) => Int32Array.of(bits));
  const result = (starts: readonly number[], ended: readonly number[], rounds?: number): number[] => {
    const found = sets(starts);
    flowBackwards(flow, found, sets(ended), rounds);
    return found.map(([bits]) => bits);
  };

  it('reaches round loops, and no further than where it ends', () => {
    // block x asks for bit 0, t for bit 1, i for bit 2; b ends bit 1, i ends bit 0
    assert.deepEqual(result([0, 0, 0, 4, 2, 1], [0, 0, 2, 1, 0, 0]), [5, 5, 5, 6, 7, 1]);
  });

  it('a round is one walk from the end to the start', () => {
    assert.deepEqual(result([0, 2, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0], 1), [3, 3, 2, 2, 2, 1]);
    assert.deepEqual(result([0, 2, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0], 2), [3, 3, 3, 3, 3, 1]);
  });

  it('is what going through all blocks again and again comes to', () => {
    let seed = 1;
    const random = (): number => (seed = Math.imul(seed, 1103515245) + 12345) >> 8;
    for (let n = 0; n < 50; n++) {
      const starts = flow.order.map(random);
      const ended = flow.order.map(random);
      assert.deepEqual(result(starts, ended), plain(flow, starts, ended));
    }
  });

  it('bits ascend', () => {
    const bits: number[] = [];
    forEachBit(Int32Array.of(-2147483647, 0, 6), (bit) => bits.push(bit));
    assert.deepEqual(bits, [0, 31, 65, 66]);
  });
});

function plain({ successors }: ControlFlow, starts: readonly number[], ended: readonly number[]): number[] {
  const found = [...starts];
  for (let round = 0; round <= found.length; round++)
    for (let block = 0; block < found.length; block++)
      for (const next of successors[block]) found[block] |= found[next] & ~ended[block];
  return found;
}
