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
