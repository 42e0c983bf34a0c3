import assert from 'node:assert/strict';
import { analyse } from '../analysis/check-accesses';
import { checkLines } from './check-lines';

/** Each expectation is what nvcc 13.0 made of the same kernel for sm_90. */
describe('variables of shared memory that lie side by side', () => {
  it('are one access, at the last store and the first load', () =>
    checkLines(`k(const float *x, float *o, int n)
{
    __shared__ float mean;
    __shared__ float tile[32];
    __shared__ float low, high;
    int i = threadIdx.x;
    tile[i] = x[i]; //= global load 1 x 4 bytes, shared store 1 x 4 bytes
    if (i == 0)
    {
        mean = x[n]; //= global load 1 x 4 bytes, shared store 1 x 4 bytes
        low = x[n + 32]; //= global load 1 x 4 bytes, shared store 1 x 4 bytes
        high = x[n + 64]; //= global load 1 x 4 bytes, shared store 1 x 4 bytes
    }
    __syncthreads();
    o[i] = tile[31 - i] * mean * low * high; //= shared load 4 x 4 bytes, global store 1 x 4 bytes
}`));
  it('are where the first lies on a multiple of their bytes', () =>
    checkLines(`k(const float *x, float *o, int n)
{
    __shared__ float mean, scale;
    __shared__ float tile[32];
    int i = threadIdx.x;
    tile[i] = x[i]; //= global load 1 x 4 bytes, shared store 1 x 4 bytes
    if (i == 0)
    {
        mean = x[n]; //= global load 1 x 4 bytes
        scale = x[n + 32]; //= global load 1 x 4 bytes, shared store 1 x 8 bytes
    }
    __syncthreads();
    float m = mean; //= shared load 1 x 8 bytes
    float s = scale; //= none
    o[i] = (tile[31 - i] - m) * s; //= shared load 1 x 4 bytes, global store 1 x 4 bytes
}`));
  it('are four at once, two of doubles, and none of different sizes', () =>
    checkLines(`k(const float *x, const double *y, float *o, int n)
{
    __shared__ float a, b, c, d;
    __shared__ double e, f;
    __shared__ float g;
    int i = threadIdx.x;
    if (i == 0)
    {
        a = x[0], b = x[n], c = n, d = x[n + 32]; //= global load 3 x 4 bytes, shared store 1 x 16 bytes
        e = y[0], f = y[n]; //= global load 2 x 8 bytes, shared store 1 x 16 bytes
        g = x[n + 64]; //= global load 1 x 4 bytes, shared store 1 x 4 bytes
    }
    __syncthreads();
    o[i] = a * b * c * d; //= shared load 1 x 16 bytes, global store 1 x 4 bytes
    o[i + 32] = e * f * g; //= shared load 1 x 16 bytes, shared load 1 x 4 bytes, global store 1 x 4 bytes
}`));
  it('keep their names', () => {
    const report = analyse(`// warplens: block=32
__global__ void k(const float *x, float *o, int n) {
  __shared__ int last, first;
  if (threadIdx.x == 0) last = n;
  if (threadIdx.x == 1) first = n + 1;
  __syncthreads();
  o[threadIdx.x] = x[last] + x[first];
}`);
    const accesses = report.kernels.flatMap((k) => k.launches.flatMap((l) => l.accesses));
    const stores = accesses.filter((a) => a.space === 'shared' && a.operation === 'store');
    assert.deepEqual(
      stores.map((a) => a.object?.name),
      ['last', 'first'],
    );
  });
});
