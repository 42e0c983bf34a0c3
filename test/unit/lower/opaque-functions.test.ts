/** Functions whose results are not computed here read their arguments all the same. */
import assert from 'node:assert/strict';
import { analyse, check } from '../analysis/check-accesses';

describe('an argument of a function whose result is not known', () => {
  it('is loaded when it is a vector', () =>
    check(`
#include <cuda_fp16.h>
__global__ void positive(const half2 *in, half2 *out) {
  out[threadIdx.x] = __hgt2(in[threadIdx.x], in[threadIdx.x + 64]);
  //                        ^^^^^^^^^^^^^^^ global load 4 bytes x1
}
int main() { half2 *i, *o; positive<<<1, 32>>>(i, o); }
`));
  it('is loaded when it is a number', () =>
    check(`
#include <cuda_fp16.h>
__global__ void smaller(const half *in, half *out) {
  if (__hlt(in[threadIdx.x], in[threadIdx.x + 64]))
    //      ^^^^^^^^^^^^^^^ global load 2 bytes x1
    out[threadIdx.x] = 1;
}
int main() { half *i, *o; smaller<<<1, 32>>>(i, o); }
`));
});

describe('a function of a value whose type is not known', () => {
  it('is not taken for the library’s of complex numbers, of which one line makes thousands of calls', () => {
    const line = 'r[i] = std::sqrt(r[i]) / (std::sqrt(r[i] * r[i]) + std::abs(r[i] - g[i]));';
    const report = analyse(`
struct Sum {
  __device__ void operator()(void** all, int i) const {
    Wide* r = (Wide*)all[0];
    Wide* g = (Wide*)all[1];
    ${line.repeat(20)}
  }
};
template <typename F> __global__ void apply(void** all, F f) { f(all, threadIdx.x); }
int main() { void** all; apply<<<1, 32>>>(all, Sum()); }
`);
    const reasons = new Set(report.kernels[0].skipped.map(({ reason }) => reason));
    assert.deepEqual([...reasons], ['type Wide is not declared in the files that could be read']);
  });
});
