/** Which line a load bears that a loop does not change (invariant-lines.ts). */
import { checkLines } from './check-lines';

const load = 'global load 1 x 4 bytes';

describe('lines of loads that leave a loop', () => {
  it('are the first line of code where the array is read nowhere else', () =>
    checkLines(`k(const float *a, const float *b, float *y, int n)
{
    __shared__ float unused[4];
    float s = 0;
    int i = threadIdx.x; //= ${load}
    if (i < n) {
        #pragma unroll 1
        for (int j = 0; j < n; j++) //= none
            s += a[i] * b[j]; //= global load 10 x 4 bytes
        y[i] = s;
    }
}`));
  it('are the head of the loop where a record holds the pointer', () =>
    checkLines(
      `k(Rows r)
{
    float s = 0;
    int i = threadIdx.x; //= none
    if (i < r.n) {
        #pragma unroll 1
        for (int j = 0; j < r.n; j++) //= ${load}
            s += r.a[i] * r.b[j]; //= global load 10 x 4 bytes
        r.y[i] = s;
    }
}`,
      'struct Rows { const float *a, *b; float *y; int n; };',
      'Rows{(float *)buffer, (float *)buffer + 8192, (float *)buffer + 16384, 10}',
    ));
  it('are the head of the loop where it is', () =>
    checkLines(`k(const float *a, float *y, int n)
{
    int i = threadIdx.x; //= none
    float s = 0;
    #pragma unroll 1
    for (int j = 0; j < n; j++) //= ${load}
        s += a[i] * a[j]; //= global load 10 x 4 bytes
    y[i] = s;
}`));
  it('are those of what stands before an inner loop that counts between constants', () =>
    checkLines(`k(const float4 *p, const float *in, float *o, int n, int m)
{
    __shared__ float s[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < m; t++) { //= none
        s[threadIdx.x] = in[t * 256 + threadIdx.x]; //= global load 10 x 4 bytes, shared store 10 x 4 bytes
        __syncthreads(); //= global load 10 x 4 bytes
        for (int j = 0; j < 256; j++) { //= none
            float d = s[j] - p[i].x; //= shared load 640 x 16 bytes
            sum += d * d;
        }
        __syncthreads();
    }
    o[i] = sum; //= global store 1 x 4 bytes
}`));
  it('are the head of the outer loop where that does not change whether the inner one has a pass', () => {
    const nest = (start: string, [outer, inner]: readonly string[]) =>
      checkLines(`k(const float *a, const float *b, float *y, int n)
{
    int i = threadIdx.x; //= none
    #pragma unroll 1
    for (int r = 0; r < n; r++) { //= ${outer}
        float s = 0;
        #pragma unroll 1
        for (int j = ${start}; j < n; j++) //= ${inner}
            s += a[i + r * 32] * b[j];
        y[i + r * 32] = s;
    }
}`);
    nest('0', ['global load 10 x 4 bytes', 'none']);
    nest('r', ['none', 'global load 10 x 4 bytes']);
  });
  it('are the last access before a loop that has a pass in any case', () =>
    checkLines(`k(const float *a, const float *b, float *y, float *q, int n)
{
    int i = threadIdx.x; //= none
    q[i] = b[i]; //= global load 2 x 4 bytes, global store 1 x 4 bytes
    float s = 0;
    #pragma unroll 1
    for (int j = 0; j < 1000; j++) //= none
        s += a[i] * b[j]; //= global load 1000 x 4 bytes
    y[i] = s;
}`));
});

describe('what an inner loop reads of one place', () => {
  const nest = (head: string, expected: string) =>
    checkLines(`k(const float *__restrict__ a, const int *__restrict__ from, float *y, int n)
{
    float s = 0;
    #pragma unroll 1
    for (int r = 0; r < n; r++) { //= ${expected}
        #pragma unroll 1
        ${head}
            s += a[n] * r; //= none
        y[r] = s;
    }
}`);

  it('is read once for every pass of the outer one, where it may have no pass', () =>
    nest('for (int j = threadIdx.x; j < n * 8; j += 2)', 'global load 10 x 4 bytes'));
  it('is read once where the outer one has asked whether it has any', () =>
    nest('for (int j = 0; j < n; j++)', 'global load 1 x 4 bytes'));
  it('is read once where it has some for sure', () =>
    nest('for (int j = 0; j < 5000; j++)', 'global load 1 x 4 bytes'));
});

describe('what is read of one place in a loop', () => {
  const scaled = (body: string) =>
    checkLines(
      `k(const half *x, const float *scale, float *__restrict__ y, int n) {
    for (int i = threadIdx.x; i < 64; i += 32) {
${body}
    }
}`,
      '#include <cuda_fp16.h>',
    );

  it('is read once, in front of the inline assembly that halves are converted with', () =>
    scaled(`float s = scale[n]; //= none
        float v = __half2float(x[i]); //= global load 2 x 2 bytes
        y[i] = v * s; //= global store 2 x 4 bytes`));
  it('is read in every pass behind it, where the loop stores', () =>
    scaled(`float v = __half2float(x[i]); //= global load 2 x 2 bytes
        y[i] = v * scale[n]; //= global load 2 x 4 bytes, global store 2 x 4 bytes`));
});

describe('what only the assembler takes out of a loop', () => {
  const row = (pointers: string, body: string) =>
    checkLines(
      `k(${pointers}, float *__restrict__ y, int n, int m) {
    float s = 0;
    for (int j = threadIdx.x; j < n * 320; j += 32 * m) {
${body}
    }
    y[threadIdx.x] = s;
}`,
      '#include <cuda_fp16.h>',
    );
  const plain = 'const half *x, const float *scale';
  const restrict = 'const half *__restrict__ x, const float *__restrict__ scale';

  it('what stands behind the assembly of halves, at its line', () =>
    row(
      plain,
      `s += __half2float(x[j]) //= global load 10 x 2 bytes
      * scale[threadIdx.x]; //= global load 1 x 4 bytes`,
    ));
  it('also around a branch, and stores that cannot meet it', () =>
    row(
      restrict,
      `float v = __half2float(x[j]);
      v *= scale[threadIdx.x]; //= global load 1 x 4 bytes
      if (v > 3) y[j] = v;
      s += v;`,
    ));
  it('but not what a branch decides', () =>
    row(
      restrict,
      `float v = __half2float(x[j]);
      if (v > 3) break;
      s += v
      * scale[threadIdx.x]; //= global load 10 x 4 bytes`,
    ));
});
