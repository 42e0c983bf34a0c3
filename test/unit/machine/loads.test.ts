import { checkLines } from './check-lines';

describe('loads that are not repeated', () => {
  it('a load that does not change in the loop stands at the head of the loop', () =>
    checkLines(`k(const float *__restrict__ scale, float *__restrict__ out, int n)
{
    float sum = 0;
    for (int j = 0; j < n; j++) //= global load 1 x 4 bytes
        sum += *scale * j; //= none
    out[threadIdx.x] = sum;
}`));
  it('so do the members of a record, but not those of several', () => {
    const record = 'struct Counts { unsigned a, b, c, d; };';
    checkLines(
      `k(const Counts *__restrict__ counts, float *out, int n)
{
    for (int j = threadIdx.y; j < n; j += blockDim.y) { //= global load 2 x 4 bytes
        Counts own = counts[threadIdx.x]; //= none
        out[j * 32 + threadIdx.x] = own.a * j + own.d;
    }
}`,
      record,
    );
    checkLines(
      `k(const Counts *__restrict__ counts, float *out, int n)
{
    for (int j = threadIdx.y; j < n; j += blockDim.y) { //= none
        float sum = 0;
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            Counts own = counts[threadIdx.x + i]; //= global load 4 x 4 bytes
            sum += own.a * j + own.d;
        }
        out[j * 32 + threadIdx.x] = sum;
    }
}`,
      record,
    );
  });
  it('a value that is there already is not stored', () =>
    checkLines(
      `k(Body *bodies)
{
    Body b = bodies[threadIdx.x]; //= global load 1 x 4 bytes
    b.x += 1;
    bodies[threadIdx.x] = b; //= global store 1 x 4 bytes
}`,
      'struct Body { float x, mass; };',
    ));
  it('what a branch has read is not read again behind it', () =>
    checkLines(`k(const float *__restrict__ in, float *out, int n)
{
    float a = in[threadIdx.x]; //= global load 1 x 4 bytes
    if (threadIdx.x < n)
        out[threadIdx.x] = a;
    out[threadIdx.x + 64] = in[threadIdx.x]; //= global store 1 x 4 bytes
}`));
  it('arguments of functions that are not known are still read', () =>
    checkLines(`k(const float *in, float *out)
{
    out[threadIdx.x] = mystery(in[threadIdx.x]); //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`));
});

describe('lines of accesses', () => {
  it('a record assigned over two lines is stored on the line of its value, a scalar on its own', () =>
    checkLines(`k(const float4 *in, float4 *out, float *other)
{
    out[threadIdx.x] = //= none
        in[threadIdx.x]; //= global load 1 x 16 bytes, global store 1 x 16 bytes
    other[threadIdx.x] = //= global store 1 x 4 bytes
        in[threadIdx.x].x + 1;
}`));
  it('with a call in the place that is assigned a record is copied where the call stands, with one in the value at the first line', () =>
    checkLines(
      `k(const float4 *in, float4 *out)
{
    out[ //= none
        swizzled(threadIdx.x)] = //= global load 1 x 16 bytes, global store 1 x 16 bytes
        in[threadIdx.x]; //= none
    out[threadIdx.x + 64] = //= global load 1 x 16 bytes, global store 1 x 16 bytes
        in[swizzled(threadIdx.x)]; //= none
}`,
      '__device__ int swizzled(int i) { return i ^ 3; }',
    ));
  it('what a returned reference refers to is accessed where the call stands', () =>
    checkLines(
      `k(Field f)
{
    f(threadIdx.x) = 1; //= global store 1 x 4 bytes
}`,
      'struct Field { float *data; __device__ float &operator()(int i) const { return data[i]; } };',
    ));
});

describe('atomics on one address', () => {
  it('one lane does it for the warp', () =>
    checkLines(`k(int *count)
{
    __shared__ int last;
    atomicAdd(count, 1); //= global atomic 1 x 4 bytes
    atomicMax(&last, (int)threadIdx.x); //= shared atomic 1 x 4 bytes
}`));
  it('a float in shared memory is a loop of loads and swaps', () =>
    checkLines(`k(float *out)
{
    __shared__ float sums[32];
    atomicAdd(&sums[threadIdx.x], 1.0f); //= shared atomic 1 x 4 bytes, shared load 1 x 4 bytes
}`));
});

describe('loops of unknown length run in fours', () => {
  it('neighbours of four iterations merge, the rest comes behind', () =>
    checkLines(`k(float *out, int n)
{
    __shared__ float s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    float sum = 0;
    for (int j = 0; j < n; j++)
        sum += s[j]; //= shared load 4 x 16 bytes
    out[threadIdx.x] = sum;
}`));
});

describe('texture fetches', () => {
  it('what their coordinates are made from is read', () =>
    checkLines(`k(const float *at, float *out)
{
    float x = at[threadIdx.x] + 1; //= global load 1 x 4 bytes
    out[threadIdx.x] = tex1D<float>(0, x);
}`));
});

describe('loads in an arm in which a variable has one value', () => {
  const kernel = (before: string, last: string) => `k(const int *a, int *o, int *total, int n) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  o[t] = s[t] + s[t ^ 1]; //= shared load 2 x 4 bytes, global store 1 x 4 bytes
  ${before}
  ${last}
}`;

  it('are made again, at the address that the value gives', () => {
    checkLines(kernel('if (t == 31)', 'total[0] = s[t]; //= shared load 1 x 4 bytes, global store 1 x 4 bytes'));
    checkLines(
      kernel('if (t != 31) return;', 'total[0] = s[t]; //= shared load 1 x 4 bytes, global store 1 x 4 bytes'),
    );
    checkLines(
      kernel('if (n > 3 && t == 31)', 'total[0] = s[t]; //= shared load 1 x 4 bytes, global store 1 x 4 bytes'),
    );
    checkLines(kernel('if (t == n)', 'total[0] = s[t]; //= shared load 1 x 4 bytes, global store 1 x 4 bytes'));
  });

  it('are not where the value is computed, or the index computed before', () => {
    checkLines(kernel('if (t == blockDim.x - 1)', 'total[0] = s[t]; //= global store 1 x 4 bytes'));
    checkLines(kernel('if (t == 30)', 'total[0] = s[t ^ 1]; //= global store 1 x 4 bytes'));
    checkLines(kernel('int w = t / 32; if (w == 0)', 'total[t] = s[t]; //= global store 1 x 4 bytes'));
  });
  it('what is stored in front of a loop is known in it, behind a pointer that the loop stores to', () =>
    checkLines(`k(const float *a, float *y, int n)
{
    int i = threadIdx.x;
    y[i] = 0; //= global store 1 x 4 bytes
    for (int j = 0; j < n; j++)
        y[i] += a[i + j * 32]; //= global load 10 x 4 bytes, global store 10 x 4 bytes
}`));
  it('a record is written back in pieces of its alignment, of which those stay away that nothing changed', () => {
    const copy = (align: string, change: string, expected: string) =>
      checkLines(
        `k(Cell *c)
{
    Cell own = c[threadIdx.x]; //= ${expected.split(' | ')[0]}
    ${change}
    c[threadIdx.x] = own; //= ${expected.split(' | ')[1]}
}`,
        `struct ${align} Cell { float a, b, c, d; int id; float p, q, r; };`,
      );
    copy('alignas(16)', 'own.id = 3;', 'global load 1 x 16 bytes | global store 1 x 16 bytes');
    copy('alignas(16)', 'own.a += own.d; own.id = 3;', 'global load 2 x 16 bytes | global store 2 x 16 bytes');
    copy('', 'own.a += own.d; own.id = 3;', 'global load 2 x 4 bytes | global store 2 x 4 bytes');
  });
  it('an index that two calls reflect at a border is one, and so is what is read there', () =>
    checkLines(
      `k(const float *a, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float left = a[reflected(i - 1, n)]; //= global load 1 x 4 bytes
    float here = a[reflected(i, n)]; //= global load 1 x 4 bytes
    y[i] = left * 2 + here + a[reflected(i, n)] * a[reflected(i - 1, n)]; //= global store 1 x 4 bytes
}`,
      '__device__ int reflected(int i, int n) { if (i < 0) i = -i; if (i >= n) i = 2 * (n - 1) - i; return i; }',
    ));
});
