/** Functions whose results are not computed here read their arguments all the same. */
import { check } from '../analysis/check-accesses';

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
