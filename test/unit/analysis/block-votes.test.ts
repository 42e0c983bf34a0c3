/** What all threads of a block are told at a barrier. */
import { check } from './check-accesses';

describe('votes of a block', () => {
  it('count the threads that say so, across warps', () =>
    void check(`
__global__ void k(int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int count = __syncthreads_count(i < n && threadIdx.x % 4 == 0);
  if (threadIdx.x < count) out[i] = 1;
//                         ^^^^^^ global store x3 exact
}
int main() { int* out; k<<<4, 128>>>(out, 300); }`));

  it('ask whether all do, or any', () =>
    void check(`
__global__ void k(int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (__syncthreads_and(i < n)) out[i] = 1;
//                              ^^^^^^ global store x8 exact
  if (__syncthreads_or(i == n)) out[n + i] = 2;
//                              ^^^^^^^^^^ global store x4 exact
}
int main() { int* out; k<<<4, 128>>>(out, 300); }`));

  it('rest on what the threads have loaded', () =>
    void check(`
__global__ void k(const int* in, int* out) {
  if (__syncthreads_or(in[blockIdx.x * 64 + threadIdx.x] > 2) && threadIdx.x == 0) out[blockIdx.x] = 1;
//                                                                                 ^^^^^^^^^^^^^^^ global store x1 assumed
}
int main() {
  std::vector<int> h(256, 1);
  h[130] = 3;
  int *in, *out;
  cudaMalloc(&in, 1024);
  cudaMalloc(&out, 16);
  cudaMemcpy(in, h.data(), 1024, cudaMemcpyHostToDevice);
  k<<<4, 64>>>(in, out);
}`));
});
