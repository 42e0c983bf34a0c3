import { checkLines } from './check-lines';

describe("reductions of CUB's blocks", () => {
  it('store one value a warp, and the first thread reads those of the others', () =>
    checkLines(
      `k(const float *in, float *out)
{
    using Reduce = cub::BlockReduce<float, 32>;
    __shared__ typename Reduce::TempStorage storage;
    float sum = Reduce(storage).Sum(in[threadIdx.x]); //= global load 1 x 4 bytes, shared store 1 x 4 bytes
    if (threadIdx.x == 0) out[blockIdx.x] = sum; //= global store 1 x 4 bytes
}`,
      '#include <cub/cub.cuh>',
    ));
  it('in wider accesses where they are aligned', () =>
    checkLines(
      `k(const float *in, float *out)
{
    using Reduce = cub::BlockReduce<float, 256>;
    __shared__ typename Reduce::TempStorage storage;
    float sum = Reduce(storage).Sum(in[threadIdx.x]); //= global load 1 x 4 bytes, shared store 1 x 4 bytes, shared load 3 x 16 bytes
    if (threadIdx.x == 0) out[blockIdx.x] = sum; //= global store 1 x 4 bytes
}`,
      '#include <cub/cub.cuh>',
    ));
});
