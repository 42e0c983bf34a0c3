import { checkLines } from './check-lines';

/** Each expectation is what nvcc 13.0 made of the same kernel for sm_90, in machine code. */
describe('loads around what warps do together', () => {
  it('a loop with a shuffle reads what does not change in front of four passes that are written out, and of those that are left', () =>
    checkLines(`k(const float *scale, float *out, int n)
{
    float sum = 0;
    for (int j = 0; j < n - 3; j++) {
        sum += *scale * j; //= global load 2 x 4 bytes
        sum += __shfl_xor_sync(~0u, sum, 1);
    }
    out[threadIdx.x] = sum;
}`));
  it('but in front of it where the pointer is restrict', () =>
    checkLines(`k(const float *__restrict__ scale, float *__restrict__ out, int n)
{
    float sum = 0;
    for (int j = 0; j < n; j++) { //= global load 1 x 4 bytes
        sum += *scale * j; //= none
        sum += __shfl_xor_sync(~0u, sum, 1);
    }
    out[threadIdx.x] = sum;
}`));
  it('a sum in memory is read and written in every pass with a vote', () =>
    checkLines(`k(int *sums, const int *__restrict__ in, int n)
{
    for (int j = 0; j < n; j++)
        if (__any_sync(~0u, in[j] > 3))
            sums[threadIdx.x] += j; //= global load 10 x 4 bytes, global store 10 x 4 bytes
}`));
  it('in straight code a shuffle keeps what is loaded', () =>
    checkLines(`k(const int *in, int *out)
{
    __shared__ int s[64];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    int a = s[63 - threadIdx.x]; //= shared load 1 x 4 bytes
    a += __shfl_xor_sync(~0u, a, 1);
    out[threadIdx.x] = a + s[63 - threadIdx.x]; //= global store 1 x 4 bytes
}`));
  it('behind a barrier all is loaded again', () =>
    checkLines(`k(const int *in, int *out)
{
    __shared__ int s[64];
    s[threadIdx.x] = 1;
    __syncthreads();
    int a = s[63 - threadIdx.x] + in[threadIdx.x]; //= global load 1 x 4 bytes, shared load 1 x 4 bytes
    __syncthreads();
    a += s[63 - threadIdx.x]; //= shared load 1 x 4 bytes
    out[threadIdx.x] = a * in[threadIdx.x]; //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`));
  it('a store to another array of shared memory changes nothing, even with a shuffle', () =>
    checkLines(`k(const int *in, int *out)
{
    __shared__ int s[64], q[64];
    q[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    int a = q[63 - threadIdx.x]; //= shared load 1 x 4 bytes
    s[threadIdx.x] = a; //= shared store 1 x 4 bytes
    a += __shfl_xor_sync(~0u, a, 1);
    a += q[63 - threadIdx.x]; //= none
    out[threadIdx.x] = a + s[threadIdx.x ^ 1]; //= shared load 1 x 4 bytes, global store 1 x 4 bytes
}`));
  it('behind a fence of threads all is loaded again', () =>
    checkLines(`k(const int *in, int *out)
{
    int a = in[threadIdx.x]; //= global load 1 x 4 bytes
    __threadfence();
    out[threadIdx.x] = a * in[threadIdx.x]; //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`));
  it('members on both sides of a shuffle are not merged', () =>
    checkLines(
      `k(const Pair *in, float *__restrict__ out)
{
    float a = in[threadIdx.x].x; //= global load 1 x 4 bytes
    a += __shfl_down_sync(~0u, a, 1);
    out[threadIdx.x] = a + in[threadIdx.x].y; //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`,
      'struct __align__(8) Pair { float x, y; };',
    ));
});
