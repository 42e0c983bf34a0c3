import { checkLines } from './check-lines';

describe('vectors that a variable hands on', () => {
  it('are read where they are stored', () =>
    checkLines(`k(const float4 *in, float4 *out)
{
    float4 v = in[threadIdx.x]; //= none
    out[threadIdx.x] = v; //= global load 1 x 16 bytes, global store 1 x 16 bytes
}`));
  it('in a branch by its lanes only', () =>
    checkLines(`k(const float4 *in, float4 *out, int n)
{
    float4 v = in[threadIdx.x]; //= none
    if (n < 5)
        out[threadIdx.x] = v; //= none
}`));
  it('through parameters and results of functions', () =>
    checkLines(
      `k(const float4 *in, float4 *out)
{
    put(out, threadIdx.x, get(in, threadIdx.x)); //= none
}`,
      `__device__ float4 get(const float4 *p, int i) { return p[i]; }
__device__ void put(float4 *p, int i, float4 v) { p[i] = v; } //= global load 1 x 16 bytes, global store 1 x 16 bytes`,
    ));
  it('across stores to an array that cannot be theirs', () =>
    checkLines(`k(const uint4 *in, uint4 *out)
{
    __shared__ uint4 s[32], t[32];
    uint4 v = in[threadIdx.x], w = in[threadIdx.x + 32]; //= none
    s[threadIdx.x] = v; //= global load 1 x 16 bytes, shared store 1 x 16 bytes
    t[threadIdx.x] = w; //= global load 1 x 16 bytes, shared store 1 x 16 bytes
    __syncthreads();
    out[threadIdx.x] = s[31 - threadIdx.x];
    out[threadIdx.x + 32] = t[31 - threadIdx.x];
}`));
  it('not where a member is used', () =>
    checkLines(`k(const float4 *in, float4 *out, float *first)
{
    float4 v = in[threadIdx.x]; //= global load 1 x 16 bytes
    out[threadIdx.x] = v; //= global store 1 x 16 bytes
    first[threadIdx.x] = v.x; //= global store 1 x 4 bytes
}`));
  it('not where they are put together again', () =>
    checkLines(`k(const float4 *in, float4 *out)
{
    float4 v = in[threadIdx.x]; //= global load 1 x 16 bytes
    out[threadIdx.x] = make_float4(v.x, v.y, v.z, v.w); //= global store 1 x 16 bytes
}`));
  it('not across a store that may change them, whatever __restrict__ says', () =>
    checkLines(`k(const float4 *__restrict__ in, float4 *__restrict__ out, float *__restrict__ other)
{
    float4 v = in[threadIdx.x]; //= global load 1 x 16 bytes
    other[threadIdx.x] = 3; //= global store 1 x 4 bytes
    out[threadIdx.x] = v; //= global store 1 x 16 bytes
}`));
  it('not across a barrier', () =>
    checkLines(`k(const float4 *in, float4 *out)
{
    float4 v = in[threadIdx.x]; //= global load 1 x 16 bytes
    __syncthreads();
    out[threadIdx.x] = v; //= global store 1 x 16 bytes
}`));
  it('elements of an array are no variables', () =>
    checkLines(`k(const float4 *in, float4 *out)
{
    float4 v[2];
    v[0] = in[threadIdx.x]; //= global load 1 x 16 bytes
    v[1] = in[threadIdx.x + 32]; //= global load 1 x 16 bytes
    out[threadIdx.x] = v[0]; //= global store 1 x 16 bytes
    out[threadIdx.x + 32] = v[1]; //= global store 1 x 16 bytes
}`));
  it('records with the alignment of their members are read member by member', () =>
    checkLines(`k(const float3 *in, float3 *out)
{
    float3 v = in[threadIdx.x]; //= global load 3 x 4 bytes
    out[threadIdx.x] = v; //= global store 3 x 4 bytes
}`));

  it('half2 has a copy constructor: it is read where the variable is', () =>
    checkLines(
      `k(const __half2 *in, __half2 *out)
{
    __half2 v = in[threadIdx.x]; //= global load 1 x 4 bytes
    out[threadIdx.x] = v; //= global store 1 x 4 bytes
}`,
      '#include <cuda_fp16.h>',
    ));
  it('records made of vectors are read where the variable is', () =>
    checkLines(
      `k(const R *in, R *out)
{
    R v = in[threadIdx.x]; //= global load 2 x 16 bytes
    out[threadIdx.x] = v; //= global store 2 x 16 bytes
}`,
      'struct R { float4 a, b; };',
    ));
});
