import { checkLines } from './check-lines';

/** Each expectation is what nvcc 13.0 made of the same kernel for sm_90. */
const stores = (value: string, expected: string) => () =>
  checkLines(`k(const float *in, float *out)
{
    __shared__ float s[512];
    for (int i = 0; i < 4; i++) {
        float v = in[threadIdx.x + i * 64];
        s[threadIdx.x * 4 + i] = ${value}; //= shared store ${expected} bytes
    }
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x * 3]; //= shared load 1 x 4 bytes, global store 1 x 4 bytes
}`);
const sharedLoads = (value: string, expected: string) => () =>
  checkLines(`k(const float *in, float *out)
{
    __shared__ float s[512];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 4; i++) {
        float v = s[threadIdx.x * 4 + i]; //= shared load ${expected} bytes
        sum += ${value};
    }
    out[threadIdx.x] = sum; //= global store 1 x 4 bytes
}`);
const globalLoads = (value: string, first: string, second: string) => () =>
  checkLines(`k(const float2 *in, float *out)
{
    float v = in[threadIdx.x].x; //= ${first}
    float sum = ${value};
    v = in[threadIdx.x].y; //= ${second}
    out[threadIdx.x] = sum + ${value}; //= global store 1 x 4 bytes
}`);

describe('a short branch that NVVM makes a selection', () => {
  const short = 'v > 20 ? v : v * v * v * v * 3';
  it('keeps nothing apart', () => {
    stores(short, '1 x 16')();
    sharedLoads(short, '1 x 16')();
    globalLoads(short, 'global load 1 x 8 bytes', 'none')();
  });
});

describe('a branch that only the assembler makes a selection', () => {
  for (const value of ['v > 20 ? v : __expf(v)', 'v > 20 ? v : v * v * v * v * v * v * v * v', 'v > 20 ? v : (int)v'])
    it(`keeps all but shared loads apart: ${value}`, () => {
      stores(value, '4 x 4')();
      sharedLoads(value, '1 x 16')();
      globalLoads(value, 'global load 1 x 4 bytes', 'global load 1 x 4 bytes')();
    });
  it('with statements too', () =>
    checkLines(`k(const float *in, float *out)
{
    extern __shared__ float s[];
    float v = in[threadIdx.x]; //= global load 1 x 4 bytes
    if (v > 3) v = fabsf(v);
    s[threadIdx.x * 2] = v; //= shared store 1 x 4 bytes
    v = in[threadIdx.x + 64]; //= global load 1 x 4 bytes
    if (v > 3) v = fabsf(v);
    s[threadIdx.x * 2 + 1] = v; //= shared store 1 x 4 bytes
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x * 3]; //= shared load 1 x 4 bytes, global store 1 x 4 bytes
}`));
});

describe('a function of the library with short branches', () => {
  it('keeps stores apart', stores('logf(v)', '4 x 4'));
  it('and no shared loads', sharedLoads('logf(v)', '1 x 16'));
  it('a fast one neither', stores('__logf(1 + __expf(v))', '1 x 16'));
});
