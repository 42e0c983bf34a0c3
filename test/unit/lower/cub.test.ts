/** CUB's collectives: bytes of their storage as ptxas reports them, and the accesses of a block of 128 as they stand in the machine code (nvcc 13.0). */
import assert from 'node:assert/strict';
import { analyse, check } from '../analysis/check-accesses';

const kernel = (body: string, outside = '') => `
#include <cub/cub.cuh>
${outside}
// warplens: block=128 grid=1
__global__ void k(const int* in, int* out) {
  ${body}
}`;

function bytesOf(collective: string): number | undefined {
  const [k] = analyse(kernel(`__shared__ typename ${collective}::TempStorage s; atomicAdd((int*)&s, 1);`)).kernels;
  assert.deepEqual(k.skipped, []);
  return k.launches[0].occupancy?.staticSharedBytes;
}

/** Requests of the block to shared memory by what lanes access, as `store 4: 4, load 16: 4`. */
function sharedRequests(body: string, outside = ''): string {
  const [k] = analyse(kernel(body, outside)).kernels;
  assert.deepEqual(k.skipped, []);
  const counts = new Map<string, number>();
  for (const a of k.launches[0].accesses) {
    if (a.space !== 'shared') continue;
    const key = `${a.operation} ${a.bytesPerLane}`;
    counts.set(key, (counts.get(key) ?? 0) + a.requests);
  }
  return [...counts].map(([key, n]) => `${key}: ${n}`).join(', ');
}

const collective = (type: string, call: string, items = 4) => `
  using C = ${type};
  __shared__ typename C::TempStorage s;
  int x[${items}], y[${items}], total = 0;
  for (int i = 0; i < ${items}; i++) x[i] = in[threadIdx.x + i * 128];
  ${call};
  for (int i = 0; i < ${items}; i++) out[threadIdx.x + i * 128] = y[i] + total;`;

describe("the storage of CUB's collectives", () => {
  it('reductions hold a value a warp, or a grid for one warp', () => {
    assert.equal(bytesOf('cub::BlockReduce<int, 64>'), 16);
    assert.equal(bytesOf('cub::BlockReduce<double, 256>'), 80);
    assert.equal(bytesOf('cub::BlockReduce<int, 128, cub::BLOCK_REDUCE_RAKING>'), 640);
    assert.equal(bytesOf('cub::BlockReduce<int, 100, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>'), 512);
  });

  it('scans hold a grid, or a value a warp', () => {
    assert.equal(bytesOf('cub::BlockScan<int, 64>'), 288);
    assert.equal(bytesOf('cub::BlockScan<double, 256>'), 2336);
    assert.equal(bytesOf('cub::BlockScan<int, 512, cub::BLOCK_SCAN_WARP_SCANS>'), 96);
    assert.equal(bytesOf('cub::BlockScan<int, 96>'), 416);
  });

  it('exchanges hold all items, with gaps where there are eight and more', () => {
    assert.equal(bytesOf('cub::BlockExchange<int, 128, 4>'), 2048);
    assert.equal(bytesOf('cub::BlockExchange<int, 128, 8>'), 4224);
    assert.equal(bytesOf('cub::BlockExchange<int, 128, 4, true>'), 512);
    assert.equal(bytesOf('cub::WarpExchange<int, 8>'), 1060);
    assert.equal(bytesOf('cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_TRANSPOSE>'), 2064);
  });

  it('sorts hold counters or items, histograms by sorting both ends of runs too', () => {
    assert.equal(bytesOf('cub::BlockRadixSort<int, 128, 4>'), 4640);
    assert.equal(bytesOf('cub::BlockRadixSort<double, 128, 16>'), 16896);
    assert.equal(bytesOf('cub::BlockRadixSort<int, 64, 8, double>'), 4224);
    assert.equal(bytesOf('cub::BlockMergeSort<int, 128, 4>'), 2052);
    assert.equal(bytesOf('cub::BlockHistogram<unsigned char, 128, 4, 256>'), 4640);
  });

  it('neighbours hold an item or two a thread', () => {
    assert.equal(bytesOf('cub::BlockAdjacentDifference<int, 128>'), 1024);
    assert.equal(bytesOf('cub::BlockDiscontinuity<short, 128>'), 512);
    assert.equal(bytesOf('cub::BlockShuffle<int, 128>'), 512);
  });
});

describe("accesses of CUB's collectives", () => {
  it('reductions: one lane a warp stores, the first thread reads', () => {
    assert.equal(
      sharedRequests(collective('cub::BlockReduce<int, 128>', 'total = C(s).Sum(x)')),
      'store 4: 4, load 8: 2',
    );
    assert.equal(
      sharedRequests(
        collective('cub::BlockReduce<int, 128, cub::BLOCK_REDUCE_RAKING>', 'total = C(s).Reduce(x[0], cub::Max())'),
      ),
      'store 4: 4, load 4: 4',
    );
  });

  it('scans: all threads store and load, one warp goes over the grid', () => {
    assert.equal(
      sharedRequests(collective('cub::BlockScan<int, 128>', 'C(s).ExclusiveSum(x, y)')),
      'store 4: 8, load 4: 8',
    );
    assert.equal(
      sharedRequests(collective('cub::BlockScan<int, 128>', 'C(s).InclusiveScan(x, y, cub::Max(), total)')),
      'store 4: 9, load 4: 12',
    );
    assert.equal(
      sharedRequests(collective('cub::BlockScan<int, 128, cub::BLOCK_SCAN_WARP_SCANS>', 'C(s).ExclusiveSum(x, y)')),
      'store 4: 4, load 16: 4',
    );
  });

  it('scans: a functor of the user gives the prefix', () => {
    const outside =
      'struct Running { int sum; __device__ int operator()(int more) { int old = sum; sum += more; return old; } };';
    assert.equal(
      sharedRequests(
        `Running running{3};${collective('cub::BlockScan<int, 128>', 'C(s).ExclusiveSum(x, y, running)')}`,
        outside,
      ),
      'store 4: 8, load 4: 8',
    );
  });

  it('scans give numbers where they are given some', () => {
    check(
      kernel(`
  using S = cub::BlockScan<int, 128>;
  __shared__ typename S::TempStorage s;
  int at, total;
  S(s).ExclusiveSum(2, at, total);
  out[at] = total;
//^^^^^^^ global store 8/4 sectors exact`),
    );
  });

  it('exchanges: four items of a thread at once', () => {
    assert.equal(
      sharedRequests(collective('cub::BlockExchange<int, 128, 4>', 'C(s).BlockedToStriped(x, y)')),
      'store 16: 4, load 4: 16',
    );
    assert.equal(
      sharedRequests(collective('cub::BlockExchange<int, 128, 8>', 'C(s).StripedToBlocked(x, y)', 8)),
      'store 4: 32, load 4: 32',
    );
  });

  it('differences: what the functor takes by reference it reads', () => {
    check(
      kernel(
        `
  using C = cub::BlockAdjacentDifference<int, 128>;
  __shared__ typename C::TempStorage s;
  int x[2] = {in[threadIdx.x], in[threadIdx.x + 128]};
  C(s).SubtractLeft(x, x, Less());
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shared store 1/1 wavefronts x4
  out[threadIdx.x] = x[0] + x[1];`,
        `struct Less {
  __device__ int operator()(const int& a, const int& b) { return a - b; }
//                                                                   ^ shared load 1/1 wavefronts x4
};`,
      ),
    );
  });

  it('by value it is read at the call', () => {
    check(
      kernel(
        `
  using C = cub::BlockAdjacentDifference<int, 128>;
  __shared__ typename C::TempStorage s;
  int x[2] = {in[threadIdx.x], in[threadIdx.x + 128]};
  C(s).SubtractRight(x, x, Less());
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shared load 1/1 wavefronts x4
  out[threadIdx.x] = x[0] + x[1];`,
        'struct Less { __device__ int operator()(int a, int b) { return a - b; } };',
      ),
    );
  });

  it('loads and stores: vectors, or through an exchange', () => {
    check(
      kernel(`
  using L = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_VECTORIZE>;
  using S = cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  __shared__ union { typename L::TempStorage load; typename S::TempStorage store; } s;
  int x[4];
  L(s.load).Load(in, x);
//^^^^^^^^^^^^^^^^^^^^^ global load 16/16 sectors 16 bytes x4
  S(s.store).Store(out, x);
//^^^^^^^^^^^^^^^^^^^^^^^^ global store 4/4 sectors x16
//^^^^^^^^^^^^^^^^^^^^^^^^ shared store 16 bytes x4`),
    );
  });

  it('sorts: where items go is not known', () => {
    check(
      kernel(`
  using C = cub::BlockRadixSort<int, 128, 2>;
  __shared__ typename C::TempStorage s;
  int x[2] = {in[threadIdx.x], in[threadIdx.x + 128]};
  C(s).Sort(x);
//^^^^^^^^^^^^ shared store unknown
//^^^^^^^^^^^^ shared load unknown
  out[threadIdx.x] = x[0] + x[1];`),
    );
  });
});
