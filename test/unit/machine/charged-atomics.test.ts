import { checkLines } from './check-lines';

describe('atomics of one function in a row are shown at one of their lines, mostly the last', () => {
  it('at parameters as they are, behind a condition', () =>
    checkLines(`k(int *count, int *sum, int *most)
{
    if (threadIdx.x == 0) {
        atomicAdd(count, 1); //= none
        atomicAdd(sum, 5); //= none
        atomicAdd(most, 7); //= global atomic 3 x 4 bytes
    }
}`));
  it('at variables of the device', () =>
    checkLines(
      `k(int n)
{
    if (threadIdx.x == 0) {
        atomicAdd(&count, 1); //= none
        atomicAdd(&sum, n); //= global atomic 2 x 4 bytes
    }
}`,
      '__device__ int count, sum;',
      '3',
    ));
  it('no more than four of them are fetched ahead', () =>
    checkLines(`k(float *a, float *b, float *c, float *d, float *e)
{
    if (threadIdx.x == 0) {
        atomicAdd(a, 1.f); //= none
        atomicAdd(b, 1.f); //= none
        atomicAdd(c, 1.f); //= none
        atomicAdd(d, 1.f); //= global atomic 1 x 4 bytes
        atomicAdd(e, 1.f); //= global atomic 4 x 4 bytes
    }
}`));
  it('two where values are loaded for them', () =>
    checkLines(`k(float *in, float *a, float *b, float *c)
{
    if (threadIdx.x == 0) {
        atomicAdd(a, in[0]); //= global load 1 x 4 bytes
        atomicAdd(b, in[8]); //= global load 1 x 4 bytes, global atomic 1 x 4 bytes
        atomicAdd(c, in[16]); //= global load 1 x 4 bytes, global atomic 2 x 4 bytes
    }
}`));
  it('two at one pointer', () =>
    checkLines(`k(float *p)
{
    if (threadIdx.x == 0) {
        atomicAdd(&p[0], 1.f); //= none
        atomicAdd(&p[1], 2.f); //= global atomic 2 x 4 bytes
    }
}`));
  it('that of the first where a conversion between them is waited for', () =>
    checkLines(`k(float *in, int *a, int *b)
{
    float x = in[threadIdx.x], y = in[threadIdx.x + 32];
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(a, (int)x); //= global atomic 2 x 4 bytes
        atomicAdd(b, (int)y); //= none
    }
}`));
  it('that of the first where the last pass of a loop ends in front of them', () =>
    checkLines(`k(float *in, float *p, float *q)
{
    __shared__ float s[256], r[256];
    s[threadIdx.x] = in[threadIdx.x];
    r[threadIdx.x] = in[threadIdx.x + 32];
    for (int h = 128; h; h >>= 1) {
        __syncthreads();
        if (threadIdx.x < h) {
            s[threadIdx.x] += s[threadIdx.x + h];
            r[threadIdx.x] += r[threadIdx.x + h];
        }
    }
    if (threadIdx.x == 0) {
        atomicAdd(p, s[0]); //= shared load 1 x 4 bytes, global atomic 2 x 4 bytes
        atomicAdd(q, r[0]); //= shared load 1 x 4 bytes
    }
}`));
  it('integers of a record in shared memory that all threads add to', () =>
    checkLines(
      `k(Counts *out, int n)
{
    __shared__ Counts c;
    if (threadIdx.x == 0) c.a = c.b = 0;
    __syncthreads();
    atomicAdd(&c.a, n); //= none
    atomicAdd(&c.b, n + 1); //= shared atomic 2 x 4 bytes
    __syncthreads();
    if (threadIdx.x == 0) *out = c;
}`,
      'struct Counts { int a, b; };',
    ));
});

describe('atomics that keep their lines', () => {
  it('have an address that the caller computes', () =>
    checkLines(`k(float *a, float *b)
{
    if (threadIdx.x == 0) {
        atomicAdd(&a[blockIdx.x], 1.f); //= global atomic 1 x 4 bytes
        atomicAdd(&b[blockIdx.x], 1.f); //= global atomic 1 x 4 bytes
    }
}`));
  it('are of different functions', () =>
    checkLines(`k(int *least, int *most, int n)
{
    if (threadIdx.x == 0) {
        atomicMin(least, n); //= global atomic 1 x 4 bytes
        atomicMax(most, n); //= global atomic 1 x 4 bytes
    }
}`));
  it('are three at one pointer', () =>
    checkLines(`k(float *p)
{
    if (threadIdx.x == 0) {
        atomicAdd(&p[0], 1.f); //= global atomic 1 x 4 bytes
        atomicAdd(&p[1], 1.f); //= global atomic 1 x 4 bytes
        atomicAdd(&p[2], 1.f); //= global atomic 1 x 4 bytes
    }
}`));
  it('have a division of floats between them', () =>
    checkLines(`k(float *a, float *b, float x, float y)
{
    if (threadIdx.x == 0) {
        atomicAdd(a, x / y); //= global atomic 1 x 4 bytes
        atomicAdd(b, y / x); //= global atomic 1 x 4 bytes
    }
}`));
});
