import assert from 'node:assert/strict';
import fc from 'fast-check';
import { execute } from '../../../server/src/execute/execute';
import type { Execution } from '../../../server/src/execute/execution';
import { blockClasses } from '../../../server/src/execute/grid';
import { type Launch, launchOf, plainModel, run, sound } from './run';

const copy = (index: string) => `
  in tx i32 threadIdx.x
  in bx i32 blockIdx.x
  in by i32 blockIdx.y
  in dim i32 blockDim.x
  in n i32 parameter
  in p u64 parameter
  first = mul.i32 bx dim
  x = add.i32 first tx
  ${index}
  c = lt.i32 x n
  if c body end
  body:
    w = convert.u64.i32 i
    o = mul.u64 w 4
    a = add.u64 p o
    store.f32 global [a] 0
  end:
    exit`;

function totals(execution: Execution) {
  return execution.accesses.map(({ witness: _, ...rest }) => rest);
}

describe('grids', () => {
  it('classes cover every block once', () => {
    const size = fc.integer({ min: 1, max: 9 });
    fc.assert(
      fc.property(size, size, size, (x, y, z) => {
        const classes = blockClasses([x, y, z]);
        const blocks = classes.flatMap((each) => Array.from({ length: each.size }, (_, n) => each.sample(n).join()));
        const inRange = new Set(blocks.filter((b) => b.split(',').every((v, axis) => Number(v) < [x, y, z][axis])));
        assert.equal(
          classes.reduce((sum, each) => sum + each.size, 0),
          x * y * z,
        );
        if (classes.every((each) => each.size <= 24)) assert.equal(inRange.size, x * y * z);
      }),
    );
  });

  it('samples stay inside, and a cycle of them comes in all remainders modulo 8 along every axis', () => {
    const side = fc.integer({ min: 3, max: 100_000 });
    fc.assert(
      fc.property(side, side, (x, y) => {
        const [inner] = blockClasses([x, y, 1]);
        const samples = Array.from({ length: inner.cycle }, (_, n) => inner.sample(n));
        assert.ok(samples.every(([bx, by]) => bx >= 1 && bx < x - 1 && by >= 1 && by < y - 1));
        const remainders = new Set(samples.map(([bx, by]) => `${bx % 8} ${by % 8}`));
        assert.equal(remainders.size, Math.min(8, x - 2) * Math.min(8, y - 2));
      }),
    );
  });

  it('averages what repeats with the block index modulo 8 exactly', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 3, max: 200 }),
        fc.integer({ min: 3, max: 200 }),
        fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 64, maxLength: 64 }),
        (x, y, table) => {
          const [inner] = blockClasses([x, y, 1]);
          const cost = ([bx, by]: readonly [number, number, number]) => table[(bx % 8) + 8 * (by % 8)];
          let sum = 0;
          let weights = 0;
          for (let n = 0; n < inner.cycle; n++) {
            sum += inner.weight(n) * cost(inner.sample(n));
            weights += inner.weight(n);
          }
          let whole = 0;
          for (let n = 0; n < inner.size; n++) whole += cost(inner.at(n));
          assert.ok(Math.abs((sum * inner.size) / weights - whole) < 1e-6 * (1 + whole));
        },
      ),
    );
  });

  it('odd and even places of two axes meet in the first samples', () => {
    for (const [grid, a, b] of [
      [[40, 30, 1], 0, 1],
      [[1, 40, 30], 1, 2],
      [[40, 1, 30], 0, 2],
    ] as const) {
      const [inner] = blockClasses(grid);
      const seen = new Set(
        Array.from({ length: inner.least }, (_, n) => inner.sample(n).map((i) => i % 2)).map((p) => p[a] * 2 + p[b]),
      );
      assert.equal(seen.size, 4, grid.join());
    }
  });

  it('a sampled grid counts what the whole grid does', () => {
    const text = sound(copy('i = add.i32 x 3'));
    fc.assert(
      fc.property(
        fc.integer({ min: 9, max: 300 }),
        fc.constantFrom(32, 64, 128),
        fc.integer({ min: 0, max: 130 }),
        (blocks, threads, off) => {
          const launch = launchOf(text, {
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            values: { n: Math.max(0, blocks * threads - Math.min(off, threads)) },
          });
          const whole = execute(text, launch, plainModel, { warpInstructions: 1e7, blocks: 1e6 });
          const sampled = execute(text, launch, plainModel, { warpInstructions: 1e7, blocks: 12 });
          assert.deepEqual(totals(sampled), totals(whole));
          assert.ok(sampled.simulatedBlocks <= 12);
          assert.ok(sampled.uniformBlocks);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('a row that is aligned in one block of eight', () => {
    // blocks of a word: seven of eight of them cross from one segment into the next
    const text = sound(copy('i0 = mul.i32 bx 65\n  i1 = add.i32 i0 tx\n  i = add.i32 i1 6'));
    const launch = launchOf(text, { grid: [80, 1, 1], block: [32, 1, 1], values: { n: 1e6 } });
    const whole = execute(text, launch, plainModel, { warpInstructions: 1e7, blocks: 1e6, everyPass: true });
    const sampled = execute(text, launch, plainModel, { warpInstructions: 2000, blocks: 40 });
    assert.ok(sampled.simulatedBlocks < 80);
    assert.equal(sampled.accesses[0].sectors, whole.accesses[0].sectors);
  });

  it('rows that are aligned differently from layer to layer, in a grid two blocks wide', () => {
    const text = sound(
      copy('l = convert.i32.u32 bz\n  r = rem.i32 l 8\n  s = mul.i32 r 27\n  i = add.i32 s tx')
        .replace('in n i32', 'in bz u32 blockIdx.z\n  in n i32')
        .replace('x = add.i32 first tx', 'x = add.i32 tx 0'),
    );
    const launch = launchOf(text, { grid: [2, 4, 16], block: [32, 1, 1], values: { n: 27 } });
    const whole = execute(text, launch, plainModel, { warpInstructions: 1e7, blocks: 1e6, everyPass: true });
    const sampled = execute(text, launch, plainModel, { warpInstructions: 1e4, blocks: 40 });
    assert.equal(whole.accesses[0].sectors, 34 * 16);
    assert.ok(sampled.simulatedBlocks < 128);
    assert.ok(sampled.accesses[0].sectors === whole.accesses[0].sectors || !sampled.uniformBlocks);
  });

  it('says that blocks differ, and averages', () => {
    // Five of eleven blocks start at an odd multiple of 16 bytes.
    const launch: Launch = { grid: [100_000, 1, 1], block: [32, 1, 1], values: { n: 2 ** 30 } };
    const execution = run(copy('m = rem.i32 bx 11\n half = mul.i32 m 4\n i = add.i32 x half'), launch);
    assert.equal(execution.uniformBlocks, false);
    const [{ sectors, requests }] = execution.accesses;
    assert.equal(requests, 100_000);
    assert.ok(Math.abs(sectors / requests - 4.45) < 0.1, `${sectors / requests}`);
    assert.equal(execution.accesses[0].isSampled, true);
  });

  it('rows that are aligned differently from block to block and end somewhere are counted exactly', () => {
    const text = sound(
      copy('s = mul.i32 bx stride\n i = add.i32 s tx')
        .replace('in n i32', 'in stride i32 parameter\n  in end i32 parameter\n  in n i32')
        .replace('c = lt.i32 x n', 'c = lt.i32 i end'),
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 300 }),
        fc.integer({ min: 1000, max: 5000 }),
        fc.double({ min: 0, max: 1.2, noNaN: true }),
        fc.constantFrom(32, 50, 250),
        (stride, blocks, part, threads) => {
          const values = { n: 0, stride, end: Math.floor(part * blocks * stride) };
          const launch = launchOf(text, { grid: [blocks, 1, 1], block: [threads, 1, 1], values });
          const whole = execute(text, launch, plainModel, { warpInstructions: 1e8, blocks: 1e6, everyPass: true });
          const sampled = execute(text, launch, plainModel, { warpInstructions: 60_000, blocks: 900 });
          assert.deepEqual(totals(sampled), totals(whole));
        },
      ),
      { numRuns: 30 },
    );
  });

  it('of a triangle of blocks that a third axis repeats, one is executed whole', () => {
    const triangle = (where: string) => `
      in bx i32 blockIdx.x
      in by i32 blockIdx.y
      in bz i32 blockIdx.z
      in p u64 parameter
      c = lt.i32 ${where}
      if c body end
      body:
        store.f32 global [p] 0
      end:
        exit`;
    const shapes = [
      ['bx by', [24, 24, 300]],
      ['by bz', [300, 24, 24]],
      ['bx bz', [24, 300, 24]],
    ] as const;
    for (const [where, grid] of shapes) {
      const execution = run(triangle(where), { grid, block: [32, 1, 1], warpInstructions: 20_000, blocks: 4000 });
      assert.equal(execution.accesses[0].requests, (300 * 24 * 23) / 2, where);
      assert.ok(execution.simulatedBlocks < 1000);
    }
    // an axis that matters at its end stays
    const atEnd = triangle('bx by').replace(
      'c = lt.i32 bx by',
      'a = eq.i32 bz 299\n b = mul.i32 a 100\n x = add.i32 bx b\n c = lt.i32 x by',
    );
    const { accesses } = run(atEnd, { grid: [24, 24, 300], warpInstructions: 20_000, blocks: 4000 });
    const whole = (299 * 24 * 23) / 2;
    assert.ok(Math.abs(accesses[0].requests / whole - 1) < 0.02, `${accesses[0].requests} of ${whole}`);
    assert.ok(accesses[0].isSampled);
  });

  it('knows that those before such a place begin at different places of a sector', () => {
    const index = 't = mul.i32 bx 2\n i = add.i32 x t';
    const { accesses } = run(copy(index), { grid: [4000, 1, 1], block: [32, 1, 1], values: { n: 48 * 32 } });
    // 34 words from block to block: each fourth begins where a sector does
    assert.deepEqual([accesses[0].requests, accesses[0].sectors], [48, 12 * 4 + 36 * 5]);
  });

  it('finds where the blocks of a row begin to do something else', () => {
    // the last third of the grid has nothing to do, one block is in between
    for (const n of [617 * 32 + 5, 998 * 32, 3 * 32, 32 * 400 + 31]) {
      const execution = run(copy('i = add.i32 x 0'), {
        grid: [1000, 1, 1],
        block: [32, 1, 1],
        values: { n },
        blocks: 60,
      });
      const [{ requests, activeLanes }] = execution.accesses;
      assert.deepEqual([requests, activeLanes], [Math.ceil(n / 32), n]);
      assert.ok(execution.simulatedBlocks <= 60);
    }
  });

  it('rows of bytes begin at more places of a sector than rows of words', () => {
    // 66 bytes from block to block: each sixteenth begins where a sector does
    const text = sound(`
      in tx i32 threadIdx.x
      in bx i32 blockIdx.x
      in stride i32 parameter
      in p u64 parameter
      s = mul.i32 bx stride
      i = add.i32 s tx
      w = convert.u64.i32 i
      a = add.u64 p w
      store.u8 global [a] 0
      exit`);
    for (const stride of [66, 33, 64, 68, 95]) {
      const launch = launchOf(text, { grid: [1333, 1, 1], block: [64, 1, 1], values: { stride } });
      const whole = execute(text, launch, plainModel, { warpInstructions: 1e7, blocks: 1e6, everyPass: true });
      const sampled = execute(text, launch, plainModel, { warpInstructions: 1e4, blocks: 200 });
      assert.ok(sampled.simulatedBlocks <= 200);
      assert.equal(sampled.accesses[0].sectors, whole.accesses[0].sectors, `${stride}`);
    }
  });

  it('blocks next to those at the border of a plane may do something else, and so may those in its corners', () => {
    // what lies beyond a reach is taken from the last column, and not at all below the last row: more blocks than the last ones do so
    const text = copy(`
  x1 = add.i32 x reach
  x2 = min.i32 x1 2399
  row = mul.i32 by 2400
  i = add.i32 row x2
  y = add.i32 by r
  d = lt.i32 y 26
  e = lt.i32 x n`)
      .replace('c = lt.i32 x n', 'c = and.pred d e')
      .replace('in n i32', 'in r i32 parameter\n  in reach i32 parameter\n  in n i32');
    for (const [reach, r, ofRow, rows] of [
      [0, 0, 75 * 4, 26],
      [40, 0, 73 * 4 + 3 + 1, 26],
      [40, 2, 73 * 4 + 3 + 1, 24],
      [104, 1, 71 * 4 + 3 + 3, 25],
    ]) {
      const values = { n: 2400, r, reach };
      const execution = run(text, { grid: [75, 26, 1], values, warpInstructions: 10_000, blocks: 160 });
      assert.ok(execution.simulatedBlocks <= 160);
      assert.equal(execution.accesses[0].sectors, ofRow * rows, `${reach} ${r}`);
      assert.ok(execution.uniformBlocks);
    }
  });

  it('what rests on a quotient of the block index comes again with its divisor, which samples may miss', () => {
    // the first row of each plane does nothing: x of a width, y of a height
    const text = copy(`
      plane = mul.i32 width height
      inPlane = rem.i32 x plane
      y = div.i32 inPlane width
      i = mov.i32 x`)
      .replace('c = lt.i32 x n', 'd = lt.i32 x n\n e = ne.i32 y 0\n c = and.pred d e')
      .replace('in n i32', 'in width i32 parameter\n in height i32 parameter\n in n i32');
    for (const [width, height, depth, isTold] of [
      [128, 128, 128, true],
      [64, 96, 300, true],
      [96, 40, 400, true],
      [1024, 32, 40, true],
      [130, 1200, 9, false],
    ] as const) {
      const n = width * height * depth;
      const grid = [Math.ceil(n / 256), 1, 1] as const;
      const launch = launchOf(sound(text), { grid: [...grid], block: [256, 1, 1], values: { n, width, height } });
      const sampled = execute(sound(text), launch, plainModel, { warpInstructions: 400_000, blocks: 4096 });
      if (isTold) assert.equal(sampled.accesses[0].activeLanes, n - width * depth, `${width} ${height}`);
      assert.ok(sampled.simulatedBlocks < grid[0]);
      assert.equal(sampled.uniformBlocks, isTold);
    }
  });

  it('blocks at the borders have figures of their own where those inside differ by their alignment', () => {
    // tiles of 8 × 8 × 8 threads that overlap by two: those at the ends of each axis reach beyond the data
    const text = `
      in tx i32 threadIdx.x
      in ty i32 threadIdx.y
      in tz i32 threadIdx.z
      in bx i32 blockIdx.x
      in by i32 blockIdx.y
      in bz i32 blockIdx.z
      in n i32 parameter
      in p u64 parameter
      x0 = mul.i32 bx 6
      x = add.i32 x0 tx
      y0 = mul.i32 by 6
      y1 = add.i32 y0 ty
      y = sub.i32 y1 1
      z0 = mul.i32 bz 6
      z1 = add.i32 z0 tz
      z = sub.i32 z1 1
      ux = lt.u32 x n
      uy = lt.u32 y n
      uz = lt.u32 z n
      a1 = and.pred ux uy
      c = and.pred a1 uz
      if c body end
      body:
        r0 = mul.i32 z n
        r1 = add.i32 r0 y
        r2 = mul.i32 r1 n
        i = add.i32 r2 x
        w = convert.u64.i32 i
        o = mul.u64 w 4
        a = add.u64 p o
        store.f32 global [a] 0
      end:
        exit`;
    const n = 128;
    const grid = [22, 22, 22] as [number, number, number];
    for (const warpInstructions of [450_000, 550_000, 650_000, 750_000, 900_000, 1_100_000]) {
      const execution = run(text, { grid, block: [8, 8, 8], values: { n }, warpInstructions, blocks: 2048 });
      // along y and z: 7 of the first tile, 8 of twenty, 3 of the last
      assert.equal(execution.accesses[0].activeLanes, (21 * 8 + 2) * (7 + 20 * 8 + 3) ** 2, `${warpInstructions}`);
    }
  });

  it('corners and edges of a plane count by their number', () => {
    const text = copy('r = mul.i32 by 100000\n i = add.i32 x r').replace(
      'c = lt.i32 x n',
      'd = eq.i32 by 6\n e = lt.i32 x n\n f = lognot.pred d\n c = and.pred e f',
    );
    const execution = run(text, { grid: [40, 7, 1], block: [64, 1, 1], values: { n: 40 * 64 - 10 }, blocks: 20 });
    assert.ok(execution.simulatedBlocks <= 20);
    assert.equal(execution.accesses[0].activeLanes, 6 * (40 * 64 - 10));
  });

  it('inner blocks that all differ leave the last one its budget', () => {
    const scattered = copy(`u = mul.i32 bx bx
    s = and.i32 u 31
    i = mul.i32 x s`);
    const execution = run(scattered, { grid: [24, 1, 1], block: [64, 1, 1], values: { n: 23 * 64 + 28 }, blocks: 17 });
    assert.ok(execution.simulatedBlocks <= 17);
    assert.equal(execution.accesses[0].activeLanes, 23 * 64 + 28);
  });
});

describe('budgets and refusals', () => {
  const launch = { values: { n: 1 << 30 } };

  function incomplete(text: string, more: Launch, expected: RegExp): Execution {
    const execution = run(text, { ...launch, ...more });
    assert.match(execution.incomplete ?? 'complete', expected);
    return execution;
  }

  it('impossible shapes are not executed', () => {
    const text = copy('i = mov.i32 x');
    incomplete(text, { block: [33, 32, 1] }, /^1056 threads a block/);
    incomplete(text, { grid: [0, 1, 1] }, /^grid of 0 × 1 × 1 blocks/);
    incomplete(text, { block: [-1, 1, 1] }, /^block of -1 × 1 × 1 threads/);
    const nothing = incomplete(text, { grid: [Number.NaN, 1, 1] }, /^grid of NaN/);
    assert.deepEqual(nothing.accesses, []);
    assert.equal(nothing.simulatedBlocks, 0);
  });

  // x → 5x + 3 modulo 2^20 has no shorter period: nothing can be skipped.
  const long = copy(`i = mov.i32 x
    var s i32
    s = mov.i32 1
    again:
      u = mul.i32 s 5
      v = add.i32 u 3
      s = and.i32 v 1048575
      k = ne.i32 s 1
      if k again on
    on:
      g = mov.i32 0`);

  it('a long computation stops with what was counted', () => {
    const expected = /^too long to execute within 5,000 warp instructions/;
    const execution = incomplete(long, { warpInstructions: 5000 }, expected);
    assert.ok(execution.simulatedWarpInstructions <= 5100);
  });

  it('a cancelled execution returns soon', () => {
    const program = sound(long);
    let polls = 0;
    const cancelled = () => ++polls > 2;
    const budget = { warpInstructions: 1e9, blocks: 1e9, cancelled };
    const execution = execute(program, launchOf(program, { grid: [1 << 20, 1, 1], ...launch }), plainModel, budget);
    assert.match(execution.incomplete ?? '', /^stopped before the end/);
    assert.ok(execution.simulatedWarpInstructions < 100_000);
  });

  const singled = (condition: string) => `
  in tx i32 threadIdx.x
  in bx u32 blockIdx.x
  in by u32 blockIdx.y
  in dim i32 blockDim.x
  in k i32 parameter
  in p u64 parameter
  ${condition}
  if c body end
  body:
    store.f32 global [p] 0
  end:
    exit`;
  const requests = (text: string, grid: readonly [number, number, number], k: number) =>
    run(text, { grid, values: { k }, warpInstructions: 10_000 }).accesses.reduce((sum, each) => sum + each.requests, 0);

  it('a block that an equality singles out is executed, wherever it is', () => {
    const column = singled('b = convert.i32.u32 bx\n  c = eq.i32 b k');
    const others = singled('b = convert.i32.u32 bx\n  c = ne.i32 b k');
    const both = singled(`
  x = convert.i32.u32 bx
  y = convert.i32.u32 by
  cx = eq.i32 x k
  cy = eq.i32 y k
  c = and.pred cx cy`);
    const thread = singled(`
  b = convert.i32.u32 bx
  first = mul.i32 b dim
  i = add.i32 first tx
  c = eq.i32 i k`);
    for (const k of [0, 1, 57, 998, 999]) {
      assert.equal(requests(column, [1000, 3, 1], k), 3);
      assert.equal(requests(others, [1000, 1, 1], k), 999);
      assert.equal(requests(both, [1000, 1000, 1], k), 1);
      assert.equal(requests(thread, [1000, 1, 1], 32 * k + 7), 1);
    }
    assert.equal(requests(column, [1000, 3, 1], 1000), 0);
  });
});
