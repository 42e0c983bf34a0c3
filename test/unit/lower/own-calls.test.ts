/** Functions of a kernel that call themselves so often that the kernel has no room for it. */
import { check } from '../analysis/check-accesses';

describe('functions that call themselves', () => {
  it('what stands behind a recursion of two calls is reached', () => {
    check(`
template <int WIDTH> __device__ void visit(float* out, const float* in, int depth, int at) {
  float sum = 0;
  #pragma unroll
  for (int i = 0; i < WIDTH; i++) sum += in[(at + i) * depth];
  out[at] = sum;
//^^^^^^^ global store x3 assumed
  if (depth == 0) return;
  visit<WIDTH>(out, in, depth - 1, 2 * at);
  visit<WIDTH>(out, in, depth - 1, 2 * at + 1);
}
// warplens: block=32 grid=1 depth=40
__global__ void k(float* out, const float* in, int depth, int* done) {
  visit<32>(out, in, depth, threadIdx.x);
  done[threadIdx.x * 2] = 1;
//^^^^^^^^^^^^^^^^^^^^^ global store 8/4 sectors exact
}`);
  });

  it('levels that are not followed are no exact figure', () => {
    check(`
__device__ void halve(int* out, int n) {
  out[threadIdx.x + n] = n;
//^^^^^^^^^^^^^^^^^^^^ global store assumed
  if (n > 0) halve(out, n / 2);
}
// warplens: block=32 grid=1 n=4096
__global__ void k(int* out, int n) {
  halve(out, n);
  out[threadIdx.x * 2] = n;
//^^^^^^^^^^^^^^^^^^^^ global store 8/4 sectors exact
}`);
  });

  it('one that ends is followed to its end', () => {
    check(`
__device__ int power(int base, int exponent) {
  return exponent == 0 ? 1 : base * power(base, exponent - 1);
}
// warplens: block=32 grid=1
__global__ void k(int* out) {
  out[threadIdx.x * power(2, 4)] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 32/4 sectors exact
}`);
  });
});
