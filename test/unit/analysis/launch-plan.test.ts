/** Shapes and sizes of launches that the host's text leaves open. */
import assert from 'node:assert/strict';
import { check } from './check-accesses';

describe('launches behind the checks of a program', () => {
  const rejecting = (end: string) => `
__global__ void clear(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = 0;
  //         ^^^^ global store 4/4 sectors assumed
}
int main(int argc, char** argv) {
  int n = 0;
  while (argc > 2) n = atoi(argv[--argc]);
  if (n <= 0) { printf("usage"); ${end} }
  int* a;
  cudaMalloc(&a, n * 4);
  clear<<<(n + 255) / 256, 256>>>(a, n);
}`;
  it('a size of 0 that the program rejects is sampled', () => {
    check(rejecting('exit(1);'));
    check(rejecting('return 1;'));
  });
});

describe('sizes that nobody gives', () => {
  it('the grid is computed from the sampled size', () => {
    check(`
__global__ void scale(float* a, int n) {
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) a[i] *= 2;
  //         ^^^^ global load x32 4/4 sectors assumed
}
void run(float* a, int n) { scale<<<(n + 511) / 128 - 3, 128>>>(a, n); }`);
  });
  it('so are arguments, the block and dynamic shared memory', () => {
    check(`
__global__ void reverse(float* a, int pitch) {
  extern __shared__ float row[];
  row[threadIdx.x] = a[blockIdx.x * pitch + threadIdx.x];
//^^^^^^^^^^^^^^^^ shared store x96 32 lanes assumed
  __syncthreads();
  a[blockIdx.x * pitch + threadIdx.x] = row[pitch / 4 - 1 - threadIdx.x];
//                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shared load x96 assumed
}
void run(float* a, int w) {
  int pitch = (w + 31) / 32 * 32;
  reverse<<<12, pitch / 4, pitch>>>(a, pitch);
}`);
  });
  it('unless that leads to no launch', () => {
    check(`
__global__ void inner(float* a, int cells) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < cells) a[i] = 0;
  //             ^^^^ global store x32 assumed
}
void run(float* a, int n) { inner<<<(n - 4000 + 255) / 256, 256>>>(a, n - 4000); }`);
    check(`
__global__ void heads(float* a) {
  a[blockIdx.y * 32 + threadIdx.x] = 0;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store x32 exact
}
void run(float* a, int batch, int seq, int num) { heads<<<dim3(1, seq * num), 32>>>(a); }`);
  });
  it('a variable is sampled by the name of the parameter that it is passed for', () => {
    check(`
__global__ void rows(float* a, int K) {
  for (int i = threadIdx.x; i < K; i += 32) a[blockIdx.x * K + i] = 0;
  //                                        ^^^^^^^^^^^^^^^^^^^^^ global store x4 assumed
}
void run(float* a, int channels) { rows<<<2, 32>>>(a, channels); }`);
  });
});

describe('sizes that the device gives', () => {
  const grid = (blocks: string, expected: string) => `
__global__ void fill(float* a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) a[i] = 1;
  //                                                                                      ^^^^ ${expected}
}
int main() {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  float* a;
  cudaMalloc(&a, 1 << 22);
  fill<<<${blocks}, 256>>>(a, 1 << 20);
}`;
  it('are those of a device of the capability, and said so', () => {
    const report = check(grid('prop.multiProcessorCount', 'global store x32768 assumed'));
    assert.match(report.kernels[0].launches[0].accesses[0].reason ?? '', /multiProcessorCount = 132, as of H100 SXM/);
    assert.deepEqual(report.kernels[0].launches[0].grid, [132, 1, 1]);
  });
  it('on another capability those of another', () =>
    assert.deepEqual(
      check(grid('prop.multiProcessorCount', 'global store assumed'), { cc: '8.6' }).kernels[0].launches[0].grid,
      [82, 1, 1],
    ));
  it('are certain where the capability decides', () => {
    check(grid('prop.major', 'global store exact'));
  });
});
