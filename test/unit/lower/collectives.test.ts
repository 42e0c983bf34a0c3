/** Reductions and scans over tiles of cooperative groups: their values, where those of the lanes are known. */
import { check } from '../analysis/check-accesses';
import { index } from './check-index';

const before = `auto block = cooperative_groups::this_thread_block();
  auto warp = cooperative_groups::tiled_partition<32>(block);
  auto tile = cooperative_groups::tiled_partition<8>(block);`;
const names = '#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;';

const stride = (expression: string, words: number) => index(before, expression, words, names);

describe('reductions over a group', () => {
  it('give every lane the result', () => {
    stride('threadIdx.x * (cg::reduce(warp, 1, cg::plus<int>()) / 8)', 4);
    stride('threadIdx.x * (cg::reduce(tile, 1, cg::plus<int>()) / 2)', 4);
    stride('threadIdx.x * (cg::reduce(warp, threadIdx.x % 5, cg::greater<unsigned>()))', 4);
    stride('threadIdx.x * (cg::reduce(warp, threadIdx.x + 2, cg::less<unsigned>()))', 2);
    stride('threadIdx.x * cg::reduce(warp, 2, [](int a, int b) { return a > b ? a : b; })', 2);
  });
  it('of lanes that are known at run time only have no value', () => {
    check(`
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
// warplens: block=32 grid=1
__global__ void k(int* out) {
  auto some = cg::coalesced_threads();
  out[cg::reduce(some, 1, cg::plus<int>())] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store unknown
}`);
  });
});

describe('scans over a group', () => {
  it('add up the lanes before, and the lane itself or not', () => {
    stride('cg::inclusive_scan(warp, 2) - 2', 2);
    stride('cg::exclusive_scan(warp, 4, cg::plus<int>())', 4);
    stride('cg::exclusive_scan(warp, 3) + 1 - cg::inclusive_scan(warp, 1)', 2);
    stride('cg::inclusive_scan(tile, 1) - 1 + threadIdx.x / 8 * 8', 1);
  });
});

describe('groups that functions are given', () => {
  it('tiles by their size, and the group that they are part of', () => {
    check(`
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
template <unsigned N> __device__ unsigned sizeOf(cg::thread_block_tile<N> tile) { return N; }
template <unsigned N, class Parent> __device__ unsigned rowOf(const cg::thread_block_tile<N, Parent>& tile) { return tile.meta_group_rank() * N; }
__global__ void k(int* out) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
  out[sizeOf(tile) * threadIdx.x] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 32/4 sectors
  out[rowOf(tile) + tile.thread_rank()] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 4/4 sectors
}
int main() { int* out; cudaMalloc(&out, 4096); k<<<1, 64>>>(out); }`);
  });

  it('a thread_group is whichever it is made of', () => {
    check(`
#include <cooperative_groups.h>
using namespace cooperative_groups;
__device__ int sum(thread_group g, int* temp, int v) {
  int lane = g.thread_rank();
  for (int i = g.size() / 2; i > 0; i /= 2) {
    temp[lane] = v;
//  ^^^^^^^^^^ shared store x10
    g.sync();
    v += temp[lane ^ i];
    g.sync();
  }
  return v;
}
__global__ void k(int* out) {
  __shared__ int temp[64];
  thread_block block = this_thread_block();
  thread_group tile = tiled_partition(block, 32);
  int v = sum(tile, temp + block.thread_rank() / 32 * 32, out[threadIdx.x]);
  if (tile.thread_rank() == 0) out[block.thread_rank()] = v;
//                             ^^^^^^^^^^^^^^^^^^^^^^^^ global store x2 exact
}
int main() { int* out; cudaMalloc(&out, 4096); k<<<1, 64>>>(out); }`);
  });
});
