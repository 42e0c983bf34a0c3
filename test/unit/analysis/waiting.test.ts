/** Blocks that wait for what other blocks store: what stands behind the loop is counted. */
import { check } from './check-accesses';

const kernel = (flags: string, wait: string) => `
__global__ void chain(${flags}, const float* in, float* out) {
  __shared__ float before;
  if (threadIdx.x == 0) {
    if (blockIdx.x > 0) {
      ${wait}
    }
    before = in[blockIdx.x];
  //         ^^^^^^^^^^^^^^ global load x16
    __threadfence();
    int set = 1; flags[blockIdx.x] = set;
  //             ^^^^^^^^^^^^^^^^^ global store x16
  }
  __syncthreads();
  float v = before; out[blockIdx.x * 64 + threadIdx.x] = v;
  //                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store x32 4/4 sectors
}
int main() {
  int* flags; float *in, *out;
  cudaMalloc(&flags, 64); cudaMalloc(&in, 64); cudaMalloc(&out, 4096);
  cudaMemset(flags, 0, 64);
  chain<<<16, 64>>>(flags, in, out);
}`;

describe('blocks that wait for one another', () => {
  it('by a volatile flag', () => void check(kernel('volatile int* flags', 'while (flags[blockIdx.x - 1] == 0) {}')));
  it('by an atomic', () => void check(kernel('int* flags', 'while (atomicAdd(&flags[blockIdx.x - 1], 0) == 0) {}')));
});
