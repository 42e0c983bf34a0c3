import { check } from '../analysis/check-accesses';
import { checkLines } from './check-lines';

describe('places that a loop keeps in a register', () => {
  it('a sum in memory is read once and written every pass, since b may be a', () => {
    checkLines(`k(float *a, const float *b, int n) {
  int i = threadIdx.x;
  for (int j = 0; j < n - 2; ++j)
    a[i] += b[j * 32 + i]; //= global load 9 x 4 bytes, global store 8 x 4 bytes
}`);
  });

  it('and once where nothing else can see it', () => {
    checkLines(`k(float *__restrict__ a, const float *__restrict__ b, int n) {
  int i = threadIdx.x;
  for (int j = 0; j < n - 1; ++j) {
    float x = b[j * 32 + i]; //= global load 9 x 4 bytes
    a[i] += x;               //= global load 1 x 4 bytes, global store 1 x 4 bytes
  }
}`);
  });

  it('a sum in shared memory starts from what was just stored', () => {
    checkLines(`k(const float *b, float *out, int n) {
  __shared__ float s[32];
  int i = threadIdx.x;
  s[i] = 0;              //= shared store 1 x 4 bytes
  for (int j = i; j < n * 32; j += 32)
    s[i] += b[j];        //= global load 10 x 4 bytes, shared store 1 x 4 bytes
  __syncthreads();
  out[i] = s[i ^ 1];
}`);
  });

  it('behind the loop the value is known', () => {
    checkLines(`k(float *a, const float *b, int n) {
  int i = threadIdx.x;
  a[i] = 0;
  for (int j = 0; j < n - 2; ++j)
    a[i] += b[j]; //= global load 8 x 4 bytes, global store 8 x 4 bytes
  a[i] *= 2; //= global store 1 x 4 bytes
}`);
  });

  it('behind a loop that may have no pass it is read again where nothing was known of it before', () => {
    checkLines(`k(float *a, const float *b, int n) {
  int i = threadIdx.x;
  for (int j = 0; j < n - 2; ++j)
    a[i] += b[j]; //= global load 9 x 4 bytes, global store 8 x 4 bytes
  a[i] *= 2; //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`);
  });

  it('is read by lanes that have a pass, for each part of a loop written out in part', () => {
    checkLines(`k(float *a, const float *b, int n) {
  int i = threadIdx.x + n * 1024 - 10240;
  for (int j = 40; j < i; j += 4)
    a[i] += b[j]; //= none
  for (int j = 20; j < i; j += 3 * n)
    a[i] += b[j]; //= global load 2 x 4 bytes, global store 1 x 4 bytes
  for (int j = 0; j < n; ++j)
    a[i] += b[j]; //= global load 12 x 4 bytes, global store 10 x 4 bytes
}`);
  });

  it('by no other lanes of their warp', () => {
    check(`
// warplens: block=32 grid=1
__global__ void k(float *a, const float *b) {
  int i = threadIdx.x;
#pragma unroll 1
  for (int j = max(0, i - 7); j <= min(3, 20 - i); ++j)
    a[i] += b[j * 32 + i];
  //^^^^ global load x1 11 lanes exact
}`);
  });

  it('and what the loop begins with is not changed by that', () => {
    check(`
// warplens: block=32 grid=1
__global__ void k(float *a, const float *b, int n) {
  int i = threadIdx.x, p = i, q = 3;
  for (int r = 0; r < 2; r++) {
    int t = p; p = q; q = t;
#pragma unroll 1
    for (int j = 0; j < i; ++j)
      a[i] += b[j];
  }
  a[q * 32] = p;
//^^^^^^^^^ global store 1/1 sectors exact
}`);
  });

  it('and is known behind one that has', () => {
    checkLines(`k(float *a, const float *b) {
  int i = threadIdx.x;
  for (int j = 0; j < 1000; ++j)
    a[i] += b[j]; //= global load 1001 x 4 bytes, global store 1000 x 4 bytes
  a[i] *= 2; //= global store 1 x 4 bytes
}`);
  });

  it('a barrier lets the others see it', () => {
    checkLines(`k(float *a, int n) {
  __shared__ float s[32];
  int i = threadIdx.x;
  s[i] = a[i];
  for (int j = 0; j < n; ++j) {
    s[i] += j; //= shared load 10 x 4 bytes, shared store 10 x 4 bytes
    __syncthreads();
  }
  a[i] = s[i];
}`);
  });

  it('a guarded store stays in the loop', () => {
    checkLines(`k(const float *b, float *out, int n) {
  __shared__ float s[32];
  int i = threadIdx.x;
  s[i] = 0;
  for (int j = 0; j < n; ++j) {
    if (j < n - 5 + i / 32)
      s[i] = s[i] + b[j * 32 + i]; //= global load 5 x 4 bytes, shared store 5 x 4 bytes
  }
  out[i] = s[i];
}`);
  });

  it('and is read there too when nothing was known of it before', () => {
    checkLines(`k(const float *b, float *out, int n) {
  __shared__ float s[32];
  int i = threadIdx.x;
  for (int j = 0; j < n; ++j) {
    if (j < n - 5 + i / 32)
      s[i] = s[i] + b[j * 32 + i]; //= global load 5 x 4 bytes, shared load 5 x 4 bytes, shared store 5 x 4 bytes
  }
  out[i] = s[i];
}`);
  });
});

describe('pointers that are __restrict__', () => {
  it('what they read is not changed by other stores or barriers', () => {
    checkLines(`k(float *__restrict__ a, float *b) {
  int i = threadIdx.x;
  b[i] = a[i];           //= global load 1 x 4 bytes, global store 1 x 4 bytes
  __syncthreads();
  b[i + 32] = a[i] + 1;  //= global store 1 x 4 bytes
}`);
  });

  it('others may be the same buffer', () => {
    checkLines(`k(const float *a, float *b) {
  int i = threadIdx.x;
  b[i] = a[i];           //= global load 1 x 4 bytes, global store 1 x 4 bytes
  b[i + 32] = a[i] + 1;  //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`);
  });
});

describe('pointers that move', () => {
  it('stay in the array they come from', () => {
    checkLines(
      `k(const int *at, int n) {
  extern __shared__ int s[];
  int *p = s;
  for (int r = 0; r < n; ++r) {
    p[at[r]] = threadIdx.x; //= global load 10 x 4 bytes, shared store 10 x 4 bytes
    p += 32;
  }
}`,
    );
  });
});

describe('a sum in memory of a loop in a loop', () => {
  const sum = (pointer: string, expected: string) =>
    checkLines(`k(float *${pointer} p, const float *a, int n)
{
    for (int j = threadIdx.x; j < 64; j += 32)
        for (int t = 0; t < n + 1; t++)
            p[j] += a[t]; //= ${expected}
}`);
  it('is stored once behind the passes that are left', () =>
    sum('__restrict__', 'global load 24 x 4 bytes, global store 2 x 4 bytes'));
  it('is stored in every pass where others may see it', () =>
    sum('', 'global load 26 x 4 bytes, global store 22 x 4 bytes'));
});

describe('what is read in front of a loop and written behind it', () => {
  it('has the line of the last use', () =>
    checkLines(`k(float *__restrict__ p, const float *__restrict__ a, int n)
{
    int j = threadIdx.x;
    for (int t = 0; t < n; t++) {
        float s = p[j]; //= none
        p[j] = s * 3 + a[t]; //= global load 11 x 4 bytes, global store 1 x 4 bytes
    }
}`));
  it('and what stands under a condition is the last', () =>
    checkLines(`k(float *__restrict__ p, const float *__restrict__ a, int n)
{
    int j = threadIdx.x;
    for (int t = 0; t < n; t++) {
        float v = a[t]; //= global load 10 x 4 bytes
        if (v > 2)
            p[j] *= 3; //= global load 1 x 4 bytes, global store 1 x 4 bytes
        p[j] += v; //= none
    }
}`));
  it('stores behind the loop what code behind it covers, where not all enter the loop', () =>
    checkLines(`k(float *p, float *r, int n, int d)
{
    __shared__ float mean[32];
    int t = threadIdx.x;
    mean[t] = 0; //= shared store 1 x 4 bytes
    for (int i = 0; i < n; i++)
        mean[t] += p[i * d + t]; //= global load 10 x 4 bytes, shared store 1 x 4 bytes
    mean[t] /= n; //= shared store 1 x 4 bytes
    __syncthreads();
    r[t] = mean[31 - t]; //= shared load 1 x 4 bytes, global store 1 x 4 bytes
}`));
  it('stores once where all enter it', () =>
    checkLines(`k(float *p, float *r, int n, int d)
{
    __shared__ float mean[32];
    int t = threadIdx.x;
    mean[t] = 0; //= none
    for (int i = 0; i < 32; i++)
        mean[t] += p[i * d + t]; //= global load 32 x 4 bytes
    mean[t] *= n; //= shared store 1 x 4 bytes
    __syncthreads();
    r[t] = mean[31 - t]; //= shared load 1 x 4 bytes, global store 1 x 4 bytes
}`));
});
