/** Grids of several axes whose blocks a kernel numbers in one row. */
import assert from 'node:assert/strict';
import { numberedBlocks } from '../../../server/src/execute/block-numbers';
import { launchOf, run, sound } from './run';

/** Stores one element a thread from `least` on; b is the number of the block. */
const store = (number: string, index = 'i') => `
  in tx i32 threadIdx.x
  in bx i32 blockIdx.x
  in by i32 blockIdx.y
  in bz i32 blockIdx.z
  in dim i32 blockDim.x
  in gx i32 gridDim.x
  in gy i32 gridDim.y
  in n i32 parameter
  in least i32 parameter
  in p u64 parameter
  ${number}
  f = mul.i32 b dim
  i = add.i32 f tx
  c = lt.i32 i n
  d = ge.i32 i least
  e = and.pred c d
  if e body end
  body:
    w = convert.u64.i32 ${index}
    o = mul.u64 w 4
    a = add.u64 p o
    store.f32 global [a] 0
  end:
    exit`;

const byRows = 'r = mul.i32 by gx\n b = add.i32 r bx';
const byColumns = 'b = fma.i32 bx gy by';
const byThreads = 'r = mul.i32 gx dim\n s = mul.i32 r by\n b = add.i32 by bx\n t = mul.i32 bx dim\n f1 = add.i32 s t';

describe('blocks that a kernel numbers in one row', () => {
  it('do what their number says: few of a plane are found wherever they are', () => {
    for (const number of [byRows, byColumns])
      for (const [least, n] of [
        [4, 32 * 700],
        [32 * 300 + 5, 32 * 900],
        [0, 32 * 400 * 300],
      ]) {
        const execution = run(store(number), { grid: [400, 300, 1], values: { n, least }, blocks: 200 });
        const [{ requests, activeLanes }] = execution.accesses;
        assert.deepEqual([requests, activeLanes], [Math.ceil((n - least) / 32), n - least], `${number} ${least} ${n}`);
        assert.ok(execution.uniformBlocks);
        assert.ok(execution.simulatedBlocks <= 200);
      }
  });

  it('may be numbered through sums of threads, over three axes and by shifts', () => {
    const threads = store(byThreads).replace('f = mul.i32 b dim\n  i = add.i32 f tx', 'i = add.i32 f1 tx');
    assert.deepEqual(orderOf(threads, [20, 10, 1])?.grid, [200, 1, 1]);
    const layers = store('h = mul.i32 bz gy\n r = add.i32 h by\n s = mul.i32 r gx\n b = add.i32 s bx');
    assert.deepEqual(orderOf(layers, [7, 5, 3])?.at([7 * 5 + 8]), [1, 1, 1]);
    assert.deepEqual(orderOf(store('r = shl.i32 by 4\n b = add.i32 r bx'), [16, 5, 1])?.at([17]), [1, 1, 0]);
  });

  it('are a plane where anything rests on one of the indices, or the rows of the numbers overlap', () => {
    assert.equal(orderOf(store('r = shl.i32 by 4\n b = add.i32 r bx'), [20, 5, 1]), undefined);
    assert.equal(orderOf(store(byRows, 'bx'), [20, 10, 1]), undefined);
    assert.equal(orderOf(store('b = add.i32 by bx'), [20, 10, 1]), undefined);
    assert.equal(orderOf(store('r = mul.i32 by n\n b = add.i32 r bx'), [20, 10, 1]), undefined);
    assert.equal(orderOf(store(byRows), [20, 1, 1]), undefined);
    assert.equal(orderOf(store('r = mul.i32 by bx\n b = add.i32 r bx'), [20, 10, 1]), undefined);
  });
});

function orderOf(text: string, grid: readonly [number, number, number]) {
  const program = sound(text);
  return numberedBlocks(program, launchOf(program, { grid, values: { n: 4096, least: 0 } }));
}
