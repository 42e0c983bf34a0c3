/** Packs of kernels and their functions, and specialisations whose arguments nobody writes. */
import { check } from '../analysis/check-accesses';

describe('packs of a kernel', () => {
  it('that others follow are given by the launch, and the rest is what is left', () => {
    check(`
template <typename T, int n> struct alignas(sizeof(T) * n) Row { T of[n]; };
template <int n, typename R, typename... In>
__global__ void sum(int count, Row<R, n>* out, const Row<In, n>*... in, int rest, R* last, const In*... ends) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    Row<R, n> r;
    for (int k = 0; k < n; ++k) r.of[k] = (in[i].of[k] + ...);
//                                         ^^^^^^^^^^^ global load x32
    out[i] = r;
//  ^^^^^^ global store x8 16 bytes
  }
  if (i < rest) last[i] = (ends[i] + ...);
//              ^^^^^^^ no access
}
template <int n, typename R, typename... In>
void start(int count, R* out, const In*... in) {
  sum<n, R, In...><<<4, 64>>>(count, (Row<R, n>*)out, ((const Row<In, n>*)in)..., 0, out, in...);
}
int main() {
  double *x, *y, *z;
  cudaMalloc(&x, 1 << 20);
  cudaMalloc(&y, 1 << 20);
  cudaMalloc(&z, 1 << 20);
  start<2>(256, x, y, z);
}`);
  });

  it('of records by value have arrays that can be pointed into', () => {
    check(`
struct alignas(16) Four { float of[4]; };
__device__ float two(const float* a, const float* b) { return a[0] * b[1]; }
template <typename... In> __device__ float all(const In... in) {
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 4; k += 2) sum += two((in.of + k)...);
  return sum;
}
// warplens: block=32 grid=1
__global__ void k(const Four* a, const Four* b, float* out) {
  out[threadIdx.x] = all(a[threadIdx.x], b[threadIdx.x]);
//                       ^^^^^^^^^^^^^^ global load x2 4 bytes exact
}`);
  });
});

describe('a specialisation of a kernel without arguments of its own', () => {
  it('is that for the types of its parameters', () => {
    check(`
template <typename T> __global__ void twice(T* x, T* y) { y[threadIdx.x] = x[threadIdx.x]; }
template <> __global__ void twice(double* x, double* y) {
  y[threadIdx.x * 2] = x[threadIdx.x];
//^^^^^^^^^^^^^^^^^^ global store x1 16/8 sectors exact
}
int main() {
  double *x, *y;
  cudaMalloc(&x, 1024);
  cudaMalloc(&y, 1024);
  twice<double><<<1, 32>>>(x, y);
}`);
  });
});
