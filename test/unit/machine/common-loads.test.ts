import { checkLines } from './check-lines';

describe('loads common to both arms', () => {
  it('are made once, before the branch', () => {
    checkLines(`k(const int *in, int *out) {
  int i = threadIdx.x;
  if (i % 2 == 0) //= global load 1 x 4 bytes
    out[i] = in[i] + 1; //= global store 1 x 4 bytes
  else
    out[i + 64] = in[i] * in[i ^ 1]; //= global store 1 x 4 bytes, global load 1 x 4 bytes
}`);
  });

  it('are shown at what computes their index, in a loop at its head', () => {
    checkLines(`k(const float *in, float *out, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; //= global load 1 x 4 bytes
  if (i < m)
    out[i] = in[i] * 2; //= global store 1 x 4 bytes
  else
    out[i + 64] = in[i] + 3; //= global store 1 x 4 bytes
}`);
    checkLines(`k(const float *in, float *out, int m) {
  #pragma unroll 1
  for (int j = threadIdx.x; j < m * 32; j += 32) { //= global load 10 x 4 bytes
    if (j < 15)
      out[j] = in[j] * 2; //= global store 1 x 4 bytes
    else
      out[j + 640] = in[j] + 3; //= global store 10 x 4 bytes
  }
}`);
  });

  it('keep their line where both stand in it', () => {
    checkLines(`k(int *in, int n, int step) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int j = i ^ step;
  if (j > i) {
    if (i < n && j < n) {
      int isUp = (i & 4) == 0;
      if ((isUp && in[i] > in[j]) || (!isUp && in[i] < in[j])) { //= global load 2 x 4 bytes
        int v = in[i];
        in[i] = in[j];
        in[j] = v;
      }
    }
  }
}`);
    checkLines(`k(const int *in, int *out) {
  __shared__ int s[32];
  int i = threadIdx.x;
  s[i] = in[i];
  __syncthreads();
  int j = i ^ 8;
  bool isUp = (i & 4) == 0;
  if ((isUp && s[i] > s[j]) || (!isUp && s[i] < s[j])) //= shared load 2 x 4 bytes
    out[i] = 1;
}`);
  });

  it('are shown at the first arm behind another branch, unless the second computes an address of its own', () => {
    checkLines(`k(const float *in, float *out, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= 3 * m) return;
  if (i < m)
    out[i] = in[i] + 1; //= global load 1 x 4 bytes, global store 1 x 4 bytes
  else
    out[i] = in[i] * in[i + 3]; //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`);
    checkLines(`k(const float *in, float *out, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= 3 * m) return;
  if (i < m)
    out[i] = in[i] + 1; //= global store 1 x 4 bytes
  else
    out[i] = in[i] * in[i ^ 1]; //= global load 2 x 4 bytes, global store 1 x 4 bytes
}`);
  });

  it('of shared memory are shown at the barrier or branch before them', () => {
    checkLines(`k(const float *in, float *out, int n) {
  __shared__ float s[64];
  int i = threadIdx.x;
  s[i] = in[i];
  __syncthreads(); //= shared load 1 x 4 bytes
  if (i > n)
    out[i] = s[i]; //= global store 1 x 4 bytes
  else
    out[i + 64] = s[i] + s[i ^ 1]; //= global store 1 x 4 bytes, shared load 1 x 4 bytes
}`);
    checkLines(`k(const float *in, float *out, int n) {
  __shared__ float s[64];
  int i = threadIdx.x;
  s[i] = in[i];
  __syncthreads(); //= none
  if (i == 7) return; //= shared load 1 x 4 bytes
  if (i > n)
    out[i] = s[i]; //= global store 1 x 4 bytes
  else
    out[i + 64] = s[i] + s[i ^ 1]; //= global store 1 x 4 bytes, shared load 1 x 4 bytes
}`);
  });

  it('are those that the left operands read first', () => {
    checkLines(`k(const float *in, float *out, int n) {
  int i = threadIdx.x;
  if (i > n) //= global load 1 x 4 bytes
    out[i] = in[i]; //= global store 1 x 4 bytes
  else
    out[i + 64] = in[i] //= global store 1 x 4 bytes
      + 2 * in[i + 1]; //= global load 1 x 4 bytes
}`);
  });

  it('stay where a store comes before one of them', () => {
    checkLines(`k(int *in, int *out) {
  int i = threadIdx.x;
  if (i % 2 == 0)
    out[i] = in[i] + 1; //= global store 1 x 4 bytes, global load 1 x 4 bytes
  else {
    out[i + 64] = 3; //= global store 1 x 4 bytes
    out[i + 96] = in[i]; //= global store 1 x 4 bytes, global load 1 x 4 bytes
  }
}`);
  });

  it('go up to the first difference', () => {
    checkLines(`k(const float *in, float *out) {
  int i = threadIdx.x;
  if (i % 2 == 0) //= global load 1 x 4 bytes
    out[i] = in[i] * in[i + 1]; //= global store 1 x 4 bytes, global load 1 x 4 bytes
  else
    out[i + 64] = in[i] + in[i + 2]; //= global store 1 x 4 bytes, global load 1 x 4 bytes
}`);
    checkLines(`k(const float *in, float *out) {
  int i = threadIdx.x;
  if (i % 2 == 0)
    out[i] = in[i + 2] - in[i]; //= global store 1 x 4 bytes, global load 2 x 4 bytes
  else
    out[i + 64] = in[i + 1] - in[i] + in[i + 2]; //= global store 1 x 4 bytes, global load 3 x 4 bytes
}`);
  });

  it('stand at the condition where an arm reads more, else at the index', () => {
    const kernel = (condition: string, first: string, second: string, at: string) =>
      `k(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;${at === 'index' ? ' //= global load 1 x 4 bytes' : ' //= none'}
  if (${condition})${at === 'condition' ? ' //= global load 1 x 4 bytes' : ' //= none'}
    out[i] = ${first};
  else
    out[i] = ${second};
}`;
    checkLines(kernel('i > 9', 'in[i]', 'in[i] - in[i - 1]', 'condition'));
    checkLines(kernel('i > 9', 'in[i] - in[i + 1]', 'in[i]', 'condition'));
    checkLines(kernel('i > 9', 'in[i]', 'in[i] * 2', 'index'));
    // where one arm knows the index, the other decides
    checkLines(kernel('i == 0', 'in[i]', 'in[i] - in[i - 1]', 'condition'));
    checkLines(kernel('i == 0', 'in[i] - in[i + 1]', 'in[i]', 'index'));
    checkLines(kernel('i != 0', 'in[i]', 'in[i] - in[i - 1]', 'index'));
  });

  it('stand behind an early return at the arm that reads more where the other knows the index, else at the return', () => {
    const kernel = (first: string, second: string, expected: readonly [ret: string, ofSecond: string]) =>
      `k(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return; //= ${expected[0]}
  if (i == 0)
    out[i] = ${first}; //= global store 1 x 4 bytes
  else
    out[i] = ${second}; //= global store 1 x 4 bytes${expected[1]}
}`;
    checkLines(kernel('in[i]', 'in[i] - in[i - 1]', ['none', ', global load 2 x 4 bytes']));
    checkLines(kernel('in[i]', 'in[i] * 2', ['global load 1 x 4 bytes', '']));
  });

  it('the body of a loop and what follows it are no arms', () => {
    checkLines(`k(const float *__restrict__ in, float *__restrict__ out, int n) {
  int i = threadIdx.x;
  for (int z = 1; z < n; ++z) {
    out[i] = in[i] * z;
    i += 32;
  }
  out[i] = in[i]; //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`);
  });

  it('are made once for the arms of an outer branch too', () => {
    checkLines(`k(const float *a, float *o, int n) {
  int i = threadIdx.x, h = i >> 1; //= global load 1 x 4 bytes
  float v;
  if (i & 1) //= none
    v = n > h ? a[h] * a[h + n] : a[h]; //= global load 1 x 4 bytes
  else
    v = n > h ? a[h] + a[h + 2 * n] : a[h] + 1; //= global load 1 x 4 bytes
  o[i] = v; //= global store 1 x 4 bytes
}`);
  });

  it('the last case of a switch and its default are arms', () => {
    checkLines(`k(const unsigned char *kind, const float *x, const float *y, float *out) {
  float r = 0;
  switch (kind[threadIdx.x]) {
    case 0: break;
    case 1: r = x[threadIdx.x]; break; //= global load 1 x 4 bytes
    case 2: r = 0.5f * x[threadIdx.x] * y[threadIdx.x]; break; //= global load 2 x 4 bytes
    default: r = x[threadIdx.x] * y[threadIdx.x]; break; //= none
  }
  out[threadIdx.x] = r;
}`);
  });

  const cases = (last: string, otherwise: string, shown: string) =>
    checkLines(`k(const int *kind, const float *x, float *out) {
  int i = threadIdx.x;
  float r;
  switch (kind[i]) { //= global load 1 x 4 bytes
    case 0: r = x[i + 9]; break; //= global load 1 x 4 bytes
    case 2: r = ${last}; break; //= global load 2 x 4 bytes
    default: r = ${otherwise}; break; //= ${shown}
  }
  out[i] = r;
}`);

  it('in such arms the order of the loads and what stands between them is no matter', () => {
    cases('x[i] + x[i + 64]', 'x[i + 64] - x[i]', 'none');
    cases('x[i] + x[i + 64]', 'x[i] * x[i + 128] + x[i + 192] - x[i + 64]', 'global load 2 x 4 bytes');
  });

  it('but not where one of them is long, divides or stores', () => {
    cases('x[i] / x[i + 64]', 'x[i + 64] - x[i]', 'global load 2 x 4 bytes');
    cases('x[i] + x[i + 64]', 'x[i + 64] - x[i]; out[i + 64] = r', 'global load 2 x 4 bytes, global store 1 x 4 bytes');
    const more = Array.from({ length: 20 }, (_, k) => `r = r * r + ${k}`).join('; ');
    cases('x[i] + x[i + 64]', `x[i + 64] - x[i]; ${more}`, 'global load 2 x 4 bytes');
  });
});

describe('loads of the second of two conditions', () => {
  const heads = (condition: string, body: string) =>
    checkLines(`k(const int *s, const int *t, int *to, int *y)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    if (${condition}) { //= global load 2 x 4 bytes
        ${body}
    }
}`);
  it('are not made again behind both', () => {
    heads('i == 0 || s[i] != s[i - 1]', 'y[i] = s[i]; //= global store 1 x 4 bytes');
    heads('i == 31 || s[i] != s[i + 1]', 'y[t[i]] = s[i]; //= global load 1 x 4 bytes, global store 1 x 4 bytes');
  });
  it('are made on the way by those that the first decides, where another load comes first', () =>
    heads('i == 0 || s[i - 1] != s[i]', 'y[i] = s[i]; //= global load 1 x 4 bytes, global store 1 x 4 bytes'));
  it('are made again behind a store', () =>
    heads(
      'i == 0 || s[i] != s[i - 1]',
      'y[i] = 1; to[i] = s[i]; //= global load 1 x 4 bytes, global store 2 x 4 bytes',
    ));
  it('are made again behind a function with branches of its own', () => {
    const behind = (call: string, loads: number) =>
      heads(
        'i == 0 || s[i] != s[i - 1]',
        `float f = ${call}; y[i] = f + s[i]; //= global load ${loads} x 4 bytes, global store 1 x 4 bytes`,
      );
    behind('logf(t[i])', 2);
    behind('powf(t[i], 2.5f)', 2);
    behind('expf(t[i])', 1);
    behind('1.0f / t[i]', 1);
  });
});

describe('loads of both arms', () => {
  it('are made in each behind a function with branches of its own', () => {
    const arms = (call: string, loads: string) =>
      checkLines(`k(const float *x, const float *__restrict__ q, float *y) {
    int i = threadIdx.x;
    float a = x[i], d;
    if (a > 1)
        d = ${call}(a) + q[i]; //= ${loads}
    else
        d = ${call}(a + 1) * q[i]; //= ${loads}
    y[i] = d;
}`);
    arms('logf', 'global load 1 x 4 bytes');
    arms('expf', 'none');
  });
});

describe('loads of both arms in a loop', () => {
  const loop = (body: string) =>
    checkLines(`k(const int *col, const float *v, const float *x, const float *w, float *out, int n) {
  int i = threadIdx.x, r = i + n;
  float sum = 0, other = 1;
  #pragma unroll 1
  for (int p = i; p < n * 32 + i; p += 32) {
${body}
  }
  out[i] = sum / other;
}`);
  it('are shown at what the condition has loaded', () => {
    loop(`    if (col[p] == r) //= global load 20 x 4 bytes
      other = v[p]; //= none
    else
      sum -= v[p]; //= none`);
    loop(`    float e = w[p]; //= global load 10 x 4 bytes
    int c = col[p]; //= global load 20 x 4 bytes
    if (c == r)
      other = v[p] + e; //= none
    else
      sum -= v[p] * e; //= none`);
  });
  it('of two loads of the condition at that which the text has first', () =>
    loop(`    float a = x[p]; //= global load 20 x 4 bytes
    float b = w[p] * a; //= global load 10 x 4 bytes
    if (b > 3)
      sum += v[p]; //= none
    else
      sum -= v[p] * b; //= none`));
  it('are shown at the arm that goes on from there', () => {
    loop(`    if (col[p] == r) //= global load 10 x 4 bytes
      other = v[p]; //= none
    else
      sum -= v[p] * x[col[p]]; //= global load 20 x 4 bytes`);
    loop(`    if (col[p] != r) //= global load 10 x 4 bytes
      sum -= v[p] * x[col[p]]; //= global load 20 x 4 bytes
    else
      other = v[p]; //= none`);
  });
  it('but not where the arms stay a branch', () =>
    loop(`    if (col[p] == r) //= global load 20 x 4 bytes
      out[p] = v[p]; //= global store 10 x 4 bytes
    else
      sum -= v[p] * x[col[p]]; //= global load 10 x 4 bytes`));
});
