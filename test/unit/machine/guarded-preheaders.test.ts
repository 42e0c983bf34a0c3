/** Who makes a load that leaves a loop: lanes that have a pass of it (guard-preheaders.ts). */
import assert from 'node:assert/strict';
import { analyse } from '../analysis/check-accesses';

/** @param loads requests and lanes of the first loads, as nvcc 13.0 has them for the same kernel */
function check(source: string, loads: readonly string[]): void {
  const [{ launches }] = analyse(source).kernels;
  const found = launches[0].accesses.filter((a) => a.operation === 'load');
  assert.deepEqual(
    found.slice(0, loads.length).map((a) => `${a.space} ${a.requests} x ${a.activeLanes / a.requests} lanes`),
    loads,
  );
}

describe('loads that leave a loop', () => {
  it('are of the lanes that have a pass, in loops within loops too', () =>
    check(
      `
__global__ void k(const float *__restrict__ scale, const float *x, float *y, int n) {
  for (int row = threadIdx.y; row < 9; row += blockDim.y)
    for (int i = threadIdx.x; i < n; i += blockDim.x)
      y[row * n + i] = x[row * n + i] + scale[row];
}
int main() {
  float *p;
  cudaMalloc(&p, 1 << 20);
  k<<<1, dim3(8, 16)>>>(p, p + 4096, p + 8192, 5);
}`,
      ['global 3 x 15 lanes', 'global 3 x 15 lanes'],
    ));

  it('of shared memory', () =>
    check(
      `
__global__ void k(const float *x, float *y, int n) {
  __shared__ float tile[32];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  float sum = 0;
#pragma unroll 1
  for (int k = threadIdx.x; k < n; k++)
    sum += tile[threadIdx.x ^ 1] * x[k];
  y[threadIdx.x] = sum;
}
int main() {
  float *p;
  cudaMalloc(&p, 1 << 12);
  k<<<1, 32>>>(p, p + 512, 11);
}`,
      ['global 1 x 32 lanes', 'global 11 x 6 lanes', 'shared 1 x 11 lanes'],
    ));

  it('of members, which are read apart', () =>
    check(
      `
__global__ void k(const float4 *__restrict__ p, const float *__restrict__ x, float *y, int n) {
  float sum = 0;
#pragma unroll 1
  for (int k = threadIdx.x; k < n; k += 4)
    sum += p[threadIdx.x].x * x[k] + p[threadIdx.x].z;
  y[threadIdx.x] = sum;
}
int main() {
  float *p;
  cudaMalloc(&p, 1 << 16);
  k<<<1, 32>>>((float4 *)p, p + 2048, p + 4096, 9);
}`,
      ['global 3 x 5 lanes', 'global 2 x 9 lanes'],
    ));

  it('that its condition needs are made by all', () =>
    check(
      `
__global__ void k(const int *__restrict__ length, const float *__restrict__ x, float *y) {
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < length[threadIdx.x]; k++)
    sum += x[k];
  y[threadIdx.x] = sum;
}
int main() {
  int h[32];
  for (int i = 0; i < 32; i++) h[i] = i / 4;
  int *n;
  float *p;
  cudaMalloc(&n, sizeof h);
  cudaMalloc(&p, 1 << 12);
  cudaMemcpy(n, h, sizeof h, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(n, p, p + 512);
}`,
      ['global 1 x 32 lanes', 'global 7 x 16 lanes'],
    ));

  const inFront = (reads: string, loop: string) => `
__global__ void k(const float *scale, const int *ends, const float *x, float *y, int n) {
  ${reads}
  ${loop}
}
int main() {
  float *p;
  int *ends;
  cudaMalloc(&p, 1 << 20);
  cudaMalloc(&ends, 1 << 12);
  k<<<1, 128>>>(p, ends, p + 4096, p + 8192, 64);
}`;
  const strided = 'for (int i = threadIdx.x; i < n; i += blockDim.x)';

  it('and what is read in front of it for its passes alone', () => {
    check(inFront('float s = scale[blockIdx.x];', `${strided} y[i] = x[i] * s;`), [
      'global 2 x 32 lanes',
      'global 2 x 32 lanes',
    ]);
    check(
      inFront(
        'int from = ends[blockIdx.x], width = ends[blockIdx.x + 1] - from;',
        `${strided} for (int k = i; k < width; k += n) y[from + k] = 1;`,
      ),
      ['global 2 x 32 lanes', 'global 2 x 32 lanes'],
    );
  });

  it('but not what its condition, its start, a barrier, a store or what follows needs before', () => {
    const all = ['global 4 x 32 lanes'];
    check(
      inFront('int end = ends[blockIdx.x];', 'for (int i = threadIdx.x; i < end + n; i += 128) y[i] = x[i] * end;'),
      all,
    );
    check(inFront('float s = scale[blockIdx.x];', `${strided} y[i] = x[i] * s; y[threadIdx.x + 512] = s;`), all);
    check(inFront('float s = scale[blockIdx.x]; __syncthreads();', `${strided} y[i] = x[i] * s;`), all);
    check(inFront('float s = scale[blockIdx.x]; y[threadIdx.x + 512] = 1;', `${strided} y[i] = x[i] * s;`), all);
  });
});
