import { checkLines } from './check-lines';

/** Each expectation is what nvcc 13.0 made of the same kernel for sm_90. */
describe('elements of a vector that is in registers', () => {
  it('are not loaded again, but behind stores that may change them', () =>
    checkLines(`k(float4 *a, float *r)
{
    int t = threadIdx.x;
    float4 v = a[t]; //= global load 1 x 16 bytes
    float s = v.x + v.y + v.z * v.w + a[t].z; //= none
    r[t] = s; //= global store 1 x 4 bytes
    r[t + 32] = a[t].z; //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`));
  it('are what was stored', () =>
    checkLines(`k(float4 *a, float *r)
{
    __shared__ float4 s[32];
    __shared__ float flat[128];
    int t = threadIdx.x;
    s[t] = a[t]; //= global load 1 x 16 bytes, shared store 1 x 16 bytes
    r[t] = s[t].x + s[t].z; //= global store 1 x 4 bytes
    ((float4 *)flat)[t] = a[t + 32]; //= global load 1 x 16 bytes, shared store 1 x 16 bytes
    r[t + 32] = flat[4 * t + 2]; //= global store 1 x 4 bytes
    __syncthreads();
    r[t + 64] = s[31 - t].x + flat[t]; //= shared load 2 x 4 bytes, global store 1 x 4 bytes
}`));
  it('are loaded where they are bytes of a word', () =>
    checkLines(`k(uchar4 *b, float *r)
{
    int t = threadIdx.x;
    uchar4 c = b[t]; //= global load 1 x 4 bytes
    r[t] = c.x + c.y * c.z * c.w + b[t].y; //= global load 1 x 1 bytes, global store 1 x 4 bytes
}`));
});
