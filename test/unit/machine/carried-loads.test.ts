import { checkLines } from './check-lines';

const summing = (body: string, head = '') =>
  checkLines(`k(const float *__restrict__ v, float *out, int n)
{
    int t = threadIdx.x;
    float x = 0;
    ${head}
    for (int j = 1; j <= n; j++) {
      ${body}
    }
    out[t] = x;
}`);

describe('loads handed on to the next pass', () => {
  it('what this pass has read is not read again, but in front of the loop', () =>
    summing(`float a = v[j - 1]; //= global load 2 x 4 bytes
      float b = v[j]; //= global load 10 x 4 bytes
      x += a * b;`));
  it('in a loop of its own it is read once, whichever comes first', () =>
    checkLines(`k(const float *__restrict__ v, float *out, int n)
{
    float x = 0;
    #pragma unroll 1
    for (int j = 1; j <= n; j++) {
      float b = v[j]; //= global load 10 x 4 bytes
      x += b * v[j - 1]; //= global load 1 x 4 bytes
    }
    out[threadIdx.x] = x;
}`));
  it('by a variable that follows the counter', () =>
    checkLines(`k(const float2 *__restrict__ v, float *out, int n)
{
    float x = 0;
    int k = n - 1;
    for (int j = 0; j < n; k = j++) {
      float2 b = v[j]; //= global load 10 x 8 bytes
      float2 a = v[k]; //= global load 1 x 8 bytes
      x += a.x * b.y - a.y * b.x;
    }
    out[threadIdx.x] = x;
}`));
  it('rows of shared memory', () =>
    checkLines(`k(const float *__restrict__ v, float *out, int n)
{
    __shared__ float s[16][32];
    int t = threadIdx.x;
    for (int j = 0; j < 16; j++) s[j][t] = v[32 * j + t];
    __syncthreads();
    float x = 0;
    #pragma unroll 1
    for (int j = 1; j <= n; j++) {
      float a = s[j - 1][t]; //= shared load 1 x 4 bytes
      x += a * s[j][t]; //= shared load 10 x 4 bytes
    }
    out[t] = x;
}`));
  it('not where the index has other parts, under a condition, or where something may change it', () => {
    checkLines(`k(const float *__restrict__ v, float *out, int n)
{
    float x = 0;
    #pragma unroll 1
    for (int j = 1; j <= n; j++) {
      float a = v[threadIdx.x + j - 1]; //= global load 10 x 4 bytes
      x += a * v[threadIdx.x + j];
    }
    out[threadIdx.x] = x;
}`);
    checkLines(`k(float *v, float *out, int n)
{
    #pragma unroll 1
    for (int j = 1; j <= n; j++) {
      float a = v[j - 1]; //= global load 10 x 4 bytes
      out[threadIdx.x + j] = a * v[j];
    }
}`);
    checkLines(`k(const float *__restrict__ v, float *out, int n)
{
    float x = 0;
    #pragma unroll 1
    for (int j = 1; j <= n; j++) {
      if (j == 20) { atomicAdd(out, 1); x = 3; }
      x += v[j - 1] / x; //= global load 10 x 4 bytes
      if (j == 30) break;
      x += v[j];
    }
    out[threadIdx.x] = x;
}`);
  });
  it('a loop without a pass reads nothing', () =>
    checkLines(`k(const float *__restrict__ v, float *out, int n)
{
    float x = 0;
    for (int j = n; j < n; j++) {
      x += v[j - 1]; //= none
      x *= v[j];
    }
    out[threadIdx.x] = x;
}`));
  it('not where a counter of fewer bits may wrap between the two, or of other kinds', () => {
    const reading = (counter: string, first: string, second: string, counts: readonly number[]) =>
      checkLines(`k(const float *__restrict__ v, float *out, int n)
{
    float x = 0;
    #pragma unroll 1
    for (${counter} < n; j += 1) {
      float a = v[${first}]; //= global load ${counts[0]} x 4 bytes
      x += a * v[${second}]; //= global load ${counts[1]} x 4 bytes
    }
    out[threadIdx.x] = x;
}`);
    reading('unsigned char j = 0; j', 'j', 'j + 1', [10, 10]);
    reading('short j = 0; j', 'j', 'j + 1', [10, 10]);
    reading('float j = 0; j', '(int)j', '(int)(j + 1)', [10, 10]);
    reading('unsigned j = 0; j', 'j', 'j + 1', [1, 10]);
    reading('long long j = 0; j', 'j', 'j + 1', [1, 10]);
    reading('unsigned long long j = 0; j', 'j', 'j + 1', [1, 10]);
    reading('unsigned char j = 0; j', 'j', '(unsigned char)(j + 1)', [1, 10]);
  });
  it('of vectors where the next pass needs no other parts', () => {
    const reading = (sum: string, count: number) =>
      checkLines(`k(const float2 *__restrict__ v, float *out, int n)
{
    float x = 0;
    #pragma unroll 1
    for (int j = 0; j < n; j++) {
      float2 a = v[j]; //= global load ${count} x ${count === 1 ? 8 : 4} bytes
      float2 b = v[j + 1];
      x += ${sum};
    }
    out[threadIdx.x] = x;
}`);
    reading('a.x * b.y - a.y * b.x', 1);
    reading('a.x * b.y', 10);
  });
  it('not where a search ends between what it reads and a step that the index of it has made already', () => {
    const searching = (body: string, count: number) =>
      checkLines(`k(const int *__restrict__ v, int *out, int n)
{
    int j = 1;
    float x = 0;
    while (j <= n) {
      ${body} //= global load ${count} x 4 bytes
      j++;
    }
    out[threadIdx.x] = j + x;
}`);
    searching('if (v[j] > v[j + 1] + 100000) break;', 20);
    searching('if (v[j - 1] > v[j] + 100000) break;', 11);
    searching('if (v[j] > v[j + 1] + 100000) break; x = x * 1.5f + 1;', 11);
  });
});

describe('what a pass has stored, handed on to the next', () => {
  const running = (loop: string) =>
    checkLines(`k(float *v, float *w, int n, int s)
{
    ${loop}
}`);
  it('from a constant on: read in front of the loop, and in passes left over behind one that is written out', () => {
    running(`#pragma unroll 1
    for (int j = 1; j <= n; j++)
      v[j] =
        w[j] * 2 + //= global load 10 x 4 bytes
        v[j - 1]; //= global load 1 x 4 bytes`);
    running(`for (int j = 1; j <= n; j++)
      v[j] =
        w[j] * 2 + //= global load 10 x 4 bytes
        v[j - 1]; //= global load 3 x 4 bytes`);
  });
  it('counting down from a constant, not from a number', () => {
    const down = (from: string, count: number) =>
      running(`#pragma unroll 1
    for (int j = ${from}; j >= 0; j--)
      v[j] =
        v[j + 1] * 2; //= global load ${count} x 4 bytes`);
    down('9', 1);
    down('n - 1', 10);
  });
  it('from any number where the counter itself is read', () =>
    running(`for (int j = s; j < s + n; j++)
      v[j + 1] =
        v[j] * 2; //= global load 2 x 4 bytes`));
  it('two back in a loop that is written out', () =>
    running(`for (int j = 2; j < n; j++) {
      float a = v[j - 1]; //= global load 1 x 4 bytes
      v[j] =
        v[j - 2] * 2 + a; //= global load 1 x 4 bytes
    }`));
  it('behind another store, not in front of one that may be there', () => {
    const among = (body: string, count: number) =>
      running(`#pragma unroll 1
    for (int j = 1; j <= n; j++) {
      float a = v[j - 1]; //= global load ${count} x 4 bytes
      ${body}
    }`);
    among('w[j] = a; v[j] = a * 2;', 1);
    among('v[j] = a * 2; w[j] = a;', 10);
  });
  it('not under a condition, nor at an index with other parts', () => {
    running(`#pragma unroll 1
    for (int j = 1; j <= n; j++) {
      float a = v[j - 1]; //= global load 10 x 4 bytes
      if (a < 1e9f) v[j] = a * 2;
    }`);
    running(`#pragma unroll 1
    for (int j = 1; j <= n; j++)
      v[j * s + 1] =
        v[(j - 1) * s + 1] * 2; //= global load 10 x 4 bytes`);
  });
});
