import { checkLines } from './check-lines';

/** Each expectation is what nvcc 13.0 made of the same kernel for sm_90. */
describe('stores that a later one covers', () => {
  it('are not made', () =>
    checkLines(`k(int *out, int n)
{
    out[threadIdx.x] = n; //= none
    out[threadIdx.x] = n + 1; //= global store 1 x 4 bytes
}`));
  it('nor across a shuffle', () =>
    checkLines(`k(int *out, int n)
{
    out[threadIdx.x] = n; //= none
    out[threadIdx.x] = __shfl_xor_sync(~0u, n, 1); //= global store 1 x 4 bytes
}`));
  it('are made where others wait between them', () =>
    checkLines(`k(int *out, int n)
{
    out[threadIdx.x] = n; //= global store 1 x 4 bytes
    __syncthreads();
    out[threadIdx.x] = n + 1; //= global store 1 x 4 bytes
}`));
  it('are made where something else may be read between them', () =>
    checkLines(`k(int *out, int *in, int n)
{
    out[threadIdx.x] = n; //= global store 1 x 4 bytes
    out[threadIdx.x] = in[0]; //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`));
  it('are made before a function with a loop in it, dropped before one with branches only', () => {
    checkLines(`k(float *__restrict__ out, float x)
{
    out[threadIdx.x] = x; //= global store 1 x 4 bytes
    out[threadIdx.x] += sinf(x + threadIdx.x); //= global store 1 x 4 bytes
}`);
    checkLines(`k(float *__restrict__ out, float x)
{
    out[threadIdx.x] = x; //= none
    out[threadIdx.x] += powf(x + threadIdx.x, 1.3f); //= global store 1 x 4 bytes
}`);
  });
});
