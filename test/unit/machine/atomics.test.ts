import { check } from '../analysis/check-accesses';
import { checkLines } from './check-lines';

describe('atomics on floating-point numbers', () => {
  it('in shared memory load for their loop, through a pointer too', () =>
    checkLines(`k(float *out, int n)
{
    __shared__ float s[64];
    float *half = s + n;
    for (float *p = half; p < half + 2; p++)
        atomicAdd(p + threadIdx.x, 1.f); //= shared atomic 2 x 4 bytes, shared load 2 x 4 bytes
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}`));
  it('in global memory are one instruction', () =>
    checkLines(`k(float *out, int n)
{
    for (float *p = out; p < out + 2; p++)
        atomicAdd(p + threadIdx.x, 1.f); //= global atomic 2 x 4 bytes
}`));
});

describe('atomics on 64 bits', () => {
  it('load for their loop in shared memory, where no exchange is meant', () =>
    checkLines(`k(unsigned long long *out)
{
    __shared__ unsigned long long s[64];
    s[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&s[threadIdx.x / 2], 1ull); //= shared atomic 1 x 8 bytes, shared load 1 x 8 bytes
    atomicExch(&s[threadIdx.x / 2], 1ull); //= shared atomic 1 x 8 bytes
    atomicAdd(&out[threadIdx.x], 1ull); //= global atomic 1 x 8 bytes
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}`));
  it('store only what is larger: how often their loop runs is not said', () =>
    check(`
// warplens: block=32 grid=1
__global__ void k(unsigned long long *out) {
  __shared__ unsigned long long largest;
  atomicMax(&largest, out[threadIdx.x] << 32);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shared atomic unknown
  out[threadIdx.x] = largest;
}`));
});
