/** Loads that only one arm of a branch uses are made there (sink-into-arms.ts): requests are those of lanes that take it. */
import assert from 'node:assert/strict';
import { analyse } from '../analysis/check-accesses';
import { checkLines } from './check-lines';

/** A branch that lanes never take: what is only used there is not loaded. */
const arm = (before: string, loads: string, inside = 'y[i] = u;', otherwise = '') =>
  checkLines(`k(const float *a, const float* __restrict__ b, float *y, float *q, int n, float t)
{
    __shared__ float s[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    ${before} //= ${loads}
    if (n > 500) { ${inside} } ${otherwise}
}`);

const load = 'global load 1 x 4 bytes';

describe('loads that one arm uses', () => {
  it('are made there, with what is computed of them', () => {
    arm('float u = a[i];', 'none');
    arm('float u = a[i] * 2 + 1;', 'none');
    arm('float u = a[i];', 'none', 'y[i] = u; q[i] = u * 3;');
    arm('float u = a[i];', 'none', 'y[i] = u;', 'else q[i] = 1;');
  });
  it('behind several conditions, an early return among them', () => {
    arm('float u = a[i];', 'none', 'q[i] = t; if (i > 3) y[i] = u;');
    arm('float u = a[i]; if (n < 300) return;', 'none', 'y[i] = u;');
  });
  it('behind a condition that asks for what is loaded already', () => {
    const asked = (condition: string) =>
      checkLines(`k(const float *a, const float *b, float *y, int n)
{
    int i = threadIdx.x;
    float m = a[i]; //= global load 1 x 4 bytes
    float u = b[i]; //= none
    if (${condition}) y[i] = u * m; //= none
}`);
    asked('i < n - 500 && m > 0');
    asked('i < n - 500 && a[i] > 0');
  });
  it('not where another arm or what follows uses them too', () => {
    arm('float u = a[i];', load, 'y[i] = u;', 'else q[i] = u + 1;');
    arm('float u = a[i];', load, 'y[i] = u;', 'q[i] = u;');
    arm('float u = a[i];', load, 'if (i > 3) y[i] = u; else q[i] = u;');
  });
  it('not past a store that may change them, but past those to other spaces', () => {
    arm('float u = a[i]; q[i] = t;', `${load}, global store 1 x 4 bytes`);
    arm('float u = b[i]; q[i] = t;', 'global store 1 x 4 bytes');
    arm('float u = a[i]; s[i] = t;', 'shared store 1 x 4 bytes', 'y[i] = u;', 'else q[i] = s[31 - i];');
  });
  it('not past barriers and shuffles, whatever is read', () => {
    arm('float u = b[i]; __syncthreads();', load);
    arm('float u = b[i]; t = __shfl_xor_sync(~0u, t, 1);', load, 'y[i] = u + t;');
  });
  it('not for arms of cheap operations, which are selections', () => {
    arm('float u = a[i], m = 0;', load, 'm = u * t + 2;', 'y[i] = m;');
    arm('float u = a[i], m = 0;', 'none', 'm = expf(u);', 'y[i] = m;');
    arm('float u = a[i], m = 0;', 'none', 'm = ((((u + t) * t + t) * t + 3) * t + 4) * t;', 'y[i] = m;');
  });
  it('not where a product and a sum become one operation in front of the branch', () => {
    arm('float u = a[i] * a[i] + t;', load);
    arm('float u = a[i] * a[i + 1];', 'none');
  });
  it('together where a record is copied in pieces of its alignment', () => {
    const record = (align: string, uses: string, expected: string) =>
      checkLines(`k(const float *a, float *y, int n)
{
    struct ${align} Quad { float x, y, z, w; };
    int i = threadIdx.x;
    float s = 0;
    Quad q = *reinterpret_cast<const Quad *>(a + 4 * i); //= ${expected}
    ${uses}
    y[i] = s;
}`);
    const each =
      'if (n > 500) s += __expf(y[i]) * q.x; if (n > 600) s += __expf(y[i + 1]) * q.y; if (n > 700) s += __expf(y[i + 2]) * q.z;';
    record('alignas(16)', each, 'global load 1 x 16 bytes');
    record('alignas(8)', each, 'global load 2 x 8 bytes');
    record('', each, 'global load 2 x 4 bytes');
    record('alignas(16)', 'if (n > 500) s += __expf(y[i]) * q.x * q.y;', 'none');
  });
  it('but where the text asks for that operation', () => {
    arm('float u = fmaf(a[i], a[i + 1], t);', 'none');
    arm('float u = __fmaf_rn(a[i], 3.f, fmaf(b[i], 5.f, t));', 'none');
  });
  it('lanes that do not take the arm load nothing', () =>
    checkLines(`k(const float *a, float *y, int n)
{
    #pragma unroll 1
    for (int j = 0; j < n; j++) {
        float u = a[j * 32 + threadIdx.x]; //= global load 3 x 4 bytes
        if (j > 6) y[j * 32 + threadIdx.x] = u;
    }
}`));
  it('not the bounds of a loop in the arm', () =>
    checkLines(`k(const int *start, const float *a, float *y, int n)
{
    int i = threadIdx.x;
    int from = start[i], to = start[i + 1]; //= global load 2 x 4 bytes
    if (n > 500) {
        float s = 0;
        for (int j = from; j < to; j++) s += a[j];
        y[i] = s;
    }
}`));

  it('sums of an array stay where the condition asks one of its elements, but of those beside it', () => {
    /** No element is 1. */
    const asked = (sum: string, requests: number) => {
      const source = `
__global__ void k(const int *a, const int *b, int *y, int w)
{
  int i = threadIdx.x + 64;
  int s = 0;
  ${sum}
  if (a[i] == 1) y[i] = s;
}
int main() { int *a; cudaMalloc(&a, 4096); cudaMemset(a, 0, 4096); k<<<1, 32>>>(a, a + 512, a + 768, 10); }`;
      const { accesses } = analyse(source).kernels[0].launches[0];
      const loads = accesses.filter(({ line, operation }) => line === 6 && operation === 'load');
      assert.equal(
        loads.reduce((sum, load) => sum + load.requests, 0),
        requests,
        sum,
      );
    };
    asked('for (int d = -1; d <= 1; d++) s += a[i + d * w];', 3);
    asked('for (int d = -1; d <= 1; d++) s += a[i + d * 3];', 3);
    asked('s = a[i - w] + a[i + w];', 2);
    asked('for (int d = 1; d <= 3; d++) s += a[i + d];', 0);
    asked('s = b[i - w] + b[i + w];', 0);
    asked('s = a[i + w];', 0);
  });
});
