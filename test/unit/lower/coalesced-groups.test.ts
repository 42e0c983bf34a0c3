/** Groups of the lanes that are active, or that have the same label. */
import { check } from '../analysis/check-accesses';

describe('coalesced groups', () => {
  it('rank and size count the active lanes', () =>
    check(`
namespace cg = cooperative_groups;
// warplens: block=32 grid=1
__global__ void k(int *out) {
  if (threadIdx.x % 2 == 1) {
    cg::coalesced_group active = cg::coalesced_threads();
    out[active.thread_rank()] = 1;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^ global store 2/2 sectors exact
    out[active.size() * threadIdx.x] = 1;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 16/2 sectors exact
  }
}`));
  it('through a function, with one atomic for all of them', () =>
    check(`
namespace cg = cooperative_groups;
__device__ int next(int *counter) {
  auto active = cg::coalesced_threads();
  int first = 0;
  if (active.thread_rank() == 0) first = atomicAdd(counter, active.size());
//                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global atomic x1 1 lanes
  return active.shfl(first, 0) + active.thread_rank();
}
// warplens: block=32 grid=1
__global__ void k(int *counter, int *out) {
  if (threadIdx.x >= 8) out[next(counter)] = 1;
//                      ^^^^^^^^^^^^^^^^^^ global store 24 lanes
}`));
  it('lanes of one label', () =>
    check(`
namespace cg = cooperative_groups;
// warplens: block=32 grid=1
__global__ void k(int *out) {
  auto alike = cg::labeled_partition(cg::coalesced_threads(), threadIdx.x / 8);
  out[8 * alike.thread_rank() + threadIdx.x / 8] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 8/4 sectors exact
  auto odd = cg::binary_partition(cg::coalesced_threads(), threadIdx.x & 1);
  out[odd.thread_rank() * odd.size()] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 16/4 sectors exact
}`));
});
