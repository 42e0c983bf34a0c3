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
