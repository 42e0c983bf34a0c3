import { checkLines } from './check-lines';

const shared = (body: string, declaration = '__shared__ float s[1024];') =>
  checkLines(`k(const float *in, float *out)
{
    ${declaration}
    int i = threadIdx.x;
    s[i] = in[i];
    __syncthreads();
    ${body}
}`);

describe('merging of neighbours', () => {
  it('four words on 16 bytes are one load, on the line of the first', () =>
    shared(`float a = s[4 * i + 2]; //= shared load 1 x 16 bytes
    float b = s[4 * i]; //= none
    float c = s[4 * i + 3] + s[4 * i + 1];
    out[i] = a + b + c;`));
  it('volatile elements stay apart', () =>
    shared(
      'out[i] = s[2 * i] + s[2 * i + 1]; //= shared load 2 x 4 bytes, global store 1 x 4 bytes',
      '__shared__ volatile float s[1024];',
    ));
  it('bear the line of the second where one operation takes the first two, but in the first block', () => {
    const last = (body: string) =>
      checkLines(`k(const float *in, float *out)
{
    __shared__ float s[4];
    float v = in[threadIdx.x];
    if (threadIdx.x % 8 == 0) s[threadIdx.x / 8] = v;
    __syncthreads();
    ${body}
}`);
    last(`v = s[0]; //= none
    for (int i = 1; i < 4; ++i)
      v = fmaxf(v, s[i]); //= shared load 1 x 16 bytes
    out[threadIdx.x] = v;`);
    last(`float a = s[0] * 3; //= shared load 1 x 8 bytes
    float b = s[1]; //= none
    out[threadIdx.x] = a + b;`);
  });
  it('bear the line of the one that is used first, of two that are compared the second', () => {
    const last = (body: string) =>
      checkLines(`k(float *out)
{
    __shared__ float s[128];
    int i = threadIdx.x;
    s[i] = i;
    if (i % 2) s[i + 64] = 3;
    __syncthreads();
    ${body}
}`);
    last(`float a = s[2 * i]; //= none
    float b = s[2 * i + 1]; //= shared load 1 x 8 bytes
    if (a > b) {
      s[2 * i] = b;
      s[2 * i + 1] = a;
    }
    __syncthreads();
    out[i] = s[i];`);
    last(`float a = s[2 * i]; //= shared load 1 x 8 bytes
    float b = s[2 * i + 1]; //= none
    out[i + 64] = a;
    if (a > b) out[i] = b;`);
    last(`float a = s[2 * i]; //= none
    float b = s[2 * i + 1]; //= shared load 1 x 8 bytes
    out[i] = a * (b + 1);`);
    last(`float a = s[2 * i]; //= shared load 1 x 8 bytes
    float b = s[2 * i + 1]; //= none
    s[2 * i] = a + b;
    s[2 * i + 1] = a - b;`);
    last(`float a = s[2 * i]; //= shared load 1 x 8 bytes
    float b = s[2 * i + 1]; //= none
    s[2 * i] = b;
    s[2 * i + 1] = b + a;`);
  });
  it('three of four are enough for a load', () =>
    shared(
      'out[i] = s[4 * i + 1] + s[4 * i + 2] + s[4 * i + 3]; //= shared load 1 x 16 bytes, global store 1 x 4 bytes',
    ));
  it('two in the middle stay apart', () =>
    shared(`float a = s[4 * i + 1]; //= shared load 1 x 4 bytes
    out[i] = a + s[4 * i + 2]; //= shared load 1 x 4 bytes, global store 1 x 4 bytes`));
  it('a counter that serves loop after loop says as much as one of each', () => {
    checkLines(`k(const float *in, float *out, int n)
{
    __shared__ float s[1024];
    int i, t = threadIdx.x;
    for (i = t; i < 1024; i += 32) s[i] = in[i];
    __syncthreads();
    float sum = 0;
    for (i = 0; i < n; i++)
      sum += s[i]; //= shared load 4 x 16 bytes
    out[t] = sum;
    for (i = t; i < n; i++) sum -= in[i];
    out[t + 32] = sum;
}`);
    checkLines(`k(const float *in, float *out, int n)
{
    __shared__ float s[1024];
    int i, j, t = threadIdx.x;
    for (j = 0; j < n; j++) {
      s[t] = in[t + j];
      __syncthreads();
      float sum = 0;
      for (i = 0; i < n; i++)
        sum += s[i]; //= shared load 30 x 16 bytes
      out[t + i] = sum;
      __syncthreads();
    }
}`);
  });
  it('an array of the device lies as it is declared to, not better', () => {
    const body = (name: string, lines: string) =>
      `k(float *out)\n{\n    int i = 4 * threadIdx.x;\n${lines.replaceAll('s[', `${name}[`)}\n}`;
    checkLines(
      body(
        'plain',
        'float a = s[i] + s[i + 1];\nout[i] = a + s[i + 2] + s[i + 3]; //= global load 2 x 4 bytes, global store 1 x 4 bytes',
      ),
      '__device__ float plain[256];',
    );
    checkLines(
      body(
        'declared',
        'out[i] = s[i] + s[i + 1] + s[i + 2] + s[i + 3]; //= global load 1 x 16 bytes, global store 1 x 4 bytes',
      ),
      '__device__ __align__(16) float declared[256];',
    );
  });
  it('a pair on 8 bytes', () =>
    shared(`float a = s[2 * i]; //= shared load 1 x 8 bytes
    out[i] = a * s[2 * i + 1];`));
  it('of an array behind another one as it lies in memory', () =>
    shared(
      `float a = s[2] * s[3] + s[4] * s[5]; //= shared load 1 x 16 bytes
    out[i] = a + s[8] * s[9] + t[i & 1]; //= shared load 1 x 8 bytes, shared load 1 x 4 bytes, global store 1 x 4 bytes`,
      '__shared__ float t[2], s[64]; t[threadIdx.x & 1] = in[threadIdx.x];',
    ));
  it('no alignment, no merging', () =>
    shared(`float a = s[i]; //= shared load 1 x 4 bytes
    out[i] = a * s[i + 1];`));
  it('a row of 33 words is not aligned, one of 34 to 8 bytes', () => {
    shared(
      'float a = e[i][0] + e[i][1]; out[i] = a; //= shared load 2 x 4 bytes, global store 1 x 4 bytes',
      '__shared__ float s[1024]; __shared__ float e[32][33];',
    );
    shared(
      'float a = e[i][0]; out[i] = a + e[i][1]; //= shared load 1 x 8 bytes, global store 1 x 4 bytes',
      '__shared__ float s[1024]; __shared__ float e[32][34];',
    );
  });
  it('steps along two axes are known to be aligned together where a power of two comes out', () => {
    const diagonal = (width: number, index: string, expected: string) =>
      shared(
        `float a = e${index}[i]; out[i] = a + e${index}[i + 1]; //= ${expected}, global store 1 x 4 bytes`,
        `__shared__ float s[1024]; __shared__ __align__(16) float e[32][${width}];`,
      );
    const pair = 'shared load 1 x 8 bytes';
    const apart = 'shared load 2 x 4 bytes';
    for (const width of [3, 7, 15, 31]) diagonal(width, '[i]', pair);
    for (const width of [5, 9, 13, 17, 33]) diagonal(width, '[i]', apart);
    for (const width of [15, 17, 31, 33]) diagonal(width, '[16 - i]', apart);
  });
  it('multiples of one number are one, sums with another are not', () => {
    const flat = (index: string, expected: string) =>
      shared(`float a = s[${index}]; out[i] = a + s[${index} + 1]; //= ${expected}, global store 1 x 4 bytes`);
    for (const index of ['i * 17 + i', '19 * i - i', '(16 - i) * 17 + (16 - i)', '(i + 2) * 17 - i'])
      flat(index, 'shared load 1 x 8 bytes');
    for (const index of ['(16 - i) * 17 + i', '272 - 17 * i - i', '300 + i - 19 * i', '(i + 2) * 17 + i'])
      flat(index, 'shared load 2 x 4 bytes');
  });
  it('the place of the array in shared memory counts: behind two words 8 bytes, behind three 4', () => {
    shared(
      'float a = s[2 * i]; out[i] = a + s[2 * i + 1] + e[0]; //= shared load 1 x 8 bytes, shared load 1 x 4 bytes, global store 1 x 4 bytes',
      '__shared__ float e[2]; __shared__ float s[1024];',
    );
  });
  it('stores need all bytes and stand on the line of the last', () =>
    shared(`float *r = s + 4 * i;
    r[3] = in[i + 1]; //= global load 1 x 4 bytes
    r[2] = in[i + 2];
    r[1] = in[i + 3];
    r[0] = in[i + 4]; //= global load 1 x 4 bytes, shared store 1 x 16 bytes
    __syncthreads();
    out[i] = s[i];`));
  it('dynamic shared memory is aligned to 16 bytes by declaration: NVVM merges across accesses of provably other places', () => {
    const dynamic = 'extern __shared__ float s[];';
    shared(
      `s[2 * i] = in[i + 1]; //= global load 1 x 4 bytes
    s[2 * i + 512] = in[i + 2]; //= global load 1 x 4 bytes
    s[2 * i + 1] = in[i + 3]; //= global load 1 x 4 bytes, shared store 1 x 8 bytes
    s[2 * i + 513] = in[i + 4]; //= global load 1 x 4 bytes, shared store 1 x 8 bytes`,
      dynamic,
    );
    shared(
      `float a = s[2 * i]; //= shared load 1 x 8 bytes
    s[2 * i + 512] = a; //= shared store 1 x 4 bytes
    out[i] = s[2 * i + 1];`,
      dynamic,
    );
    shared(
      `int n = int(in[0]); //= global load 1 x 4 bytes
    s[2 * i] = 1; //= shared store 1 x 4 bytes
    s[n] = 2; //= shared store 1 x 4 bytes
    s[2 * i + 1] = 3; //= shared store 1 x 4 bytes`,
      dynamic,
    );
    shared(
      `s[2 * i] = in[i + 1]; //= global load 1 x 4 bytes, shared store 1 x 4 bytes
    s[2 * i + 512] = in[i + 2]; //= global load 1 x 4 bytes, shared store 1 x 4 bytes
    s[2 * i + 1] = in[i + 3]; //= global load 1 x 4 bytes, shared store 1 x 4 bytes
    s[2 * i + 513] = in[i + 4]; //= global load 1 x 4 bytes, shared store 1 x 4 bytes
    __syncthreads();
    out[i] = s[1023 - i];`,
    );
  });
  it('a shared store between loads keeps them apart, to another array too', () =>
    shared(
      `float a = s[2 * i]; //= shared load 1 x 4 bytes
    e[i] = a;
    float b = s[2 * i + 1]; //= shared load 1 x 4 bytes
    out[i] = a + b + e[31 - i];`,
      '__shared__ float s[1024]; __shared__ float e[64];',
    ));
  it('bytes merge only where the array is declared with an alignment', () => {
    shared(
      'int t = s[4 * i] + s[4 * i + 1] + s[4 * i + 2] + s[4 * i + 3]; out[i] = t; //= global store 1 x 4 bytes, shared load 4 x 1 bytes',
      '__shared__ unsigned char s[1024];',
    );
    shared(
      'int t = s[4 * i] + s[4 * i + 1] + s[4 * i + 2] + s[4 * i + 3]; out[i] = t; //= global store 1 x 4 bytes, shared load 1 x 4 bytes',
      '__shared__ __align__(4) unsigned char s[1024];',
    );
  });
  it('goes by bytes, not by type', () =>
    checkLines(
      `k(const float *in, int *out)
{
    __shared__ Best best[32];
    Best mine = {in[threadIdx.x], (int)threadIdx.x};
    best[threadIdx.x] = mine; //= shared store 1 x 8 bytes
    __syncthreads();
    Best other = best[threadIdx.x ^ 1]; //= shared load 1 x 8 bytes
    out[threadIdx.x] = other.value > 0 ? other.index : 0;
}`,
      'struct Best { float value; int index; };',
    ));
  it('pointers to floats promise 4 bytes, to float2 8', () => {
    checkLines(
      `k(const float *in, float *out)
{
    out[threadIdx.x] = in[2 * threadIdx.x] + in[2 * threadIdx.x + 1]; //= global load 2 x 4 bytes, global store 1 x 4 bytes
}`,
    );
    checkLines(`k(const float2 *in, float *out)
{
    float a = in[threadIdx.x].x; //= global load 1 x 8 bytes
    if (a < 0) a = -a;
    out[threadIdx.x] = a + in[threadIdx.x].y;
}`);
  });
});

describe('vector loads of which a part is needed', () => {
  const vector = (members: string, expected: string) =>
    checkLines(`k(const float4 *in, float *out)
{
    float4 v = in[threadIdx.x]; //= ${expected}
    out[threadIdx.x] = ${members};
}`);
  it('one member', () => vector('v.z', 'global load 1 x 4 bytes'));
  it('a half', () => vector('v.z + v.w', 'global load 1 x 8 bytes'));
  it('two that are no half', () => vector('v.y + v.z', 'global load 2 x 4 bytes'));
  it('three', () => vector('v.x + v.y + v.w', 'global load 1 x 16 bytes'));
  it('bytes: the word that covers them', () =>
    checkLines(`k(const uchar4 *in, int *out)
{
    uchar4 v = in[threadIdx.x]; //= global load 1 x 4 bytes
    out[threadIdx.x] = v.x + v.z;
}`));
});

describe('unsigned sums that may wrap', () => {
  it('are neighbours in shared memory, whose addresses have 32 bits', () =>
    checkLines(`k(const float *in, float *out, int n)
{
    __shared__ float s[512];
    for (int i = 0; i < 4; i++)
        s[n * 8 + threadIdx.x * 4 + i] = in[threadIdx.x]; //= global load 1 x 4 bytes, shared store 1 x 16 bytes
    __syncthreads();
    unsigned t = n * 8 + threadIdx.x * 4;
    out[threadIdx.x] = s[t] + s[t + 1] + s[t + 2] + s[t + 3]; //= shared load 1 x 16 bytes, global store 1 x 4 bytes
}`));
  it('and not in global memory', () =>
    checkLines(`k(const float *p, float *out, int n)
{
    unsigned t = n * 8 + threadIdx.x * 4;
    out[threadIdx.x] = p[t] + p[t + 1] + p[t + 2] + p[t + 3]; //= global load 4 x 4 bytes, global store 1 x 4 bytes
}`));
  it('of minus one are the one before', () =>
    checkLines(`k(const float *in, float *out, int n)
{
    __shared__ float s[64];
    s[threadIdx.x] = in[threadIdx.x]; //= global load 1 x 4 bytes, shared store 1 x 4 bytes
    __syncthreads();
    float x = 0;
    for (int d = -1; d <= 0; d++)
        x += s[threadIdx.x + n + d] * s[threadIdx.x + n + d]; //= shared load 2 x 4 bytes
    out[threadIdx.x] = x; //= global store 1 x 4 bytes
}`));

  it('of an array in a record the elements that the text names by numbers, as the record is aligned', () => {
    const quants = (body: string) =>
      checkLines(
        `k(const Quants *in, float *out)
{
    const Quants *p = in + threadIdx.x;
    float sum = 0;
    ${body}
    out[threadIdx.x] = sum; //= global store 1 x 4 bytes
}`,
        `struct Quants { int scale; signed char q[8]; };
const int third = 2;`,
      );
    quants('sum = p->q[0] + p->q[1] * 2 + p->q[third] * 3 + p->q[2 + 1] * 5; //= global load 1 x 4 bytes');
    quants('for (int i = 0; i < 4; ++i) sum += p->q[i] * (i + 2); //= global load 4 x 1 bytes');
    quants(`for (int i = 0; i < 4; ++i) sum += p->q[i] * (i + 2); //= global load 4 x 1 bytes
    sum *= p->scale; //= global load 1 x 4 bytes`);
  });
  it('of rows and records in a record at whatever index, as far as their size keeps them aligned', () => {
    const rows = (body: string) =>
      checkLines(
        `k(const Rows *p, float *out, int n)
{
    float sum = 0;
    ${body}
    out[threadIdx.x] = sum; //= global store 1 x 4 bytes
}`,
        `struct Four { float x, y, z, w; };
struct alignas(16) Rows { float m[4][4]; Four r[4]; float odd[4][3]; };`,
      );
    rows(
      'sum = p->m[n & 3][0] + p->m[n & 3][1] * 2 + p->m[n & 3][2] * 3 + p->m[n & 3][3] * 5; //= global load 1 x 16 bytes',
    );
    rows('for (int i = 0; i < 4; i++) sum += p->m[i][2] - p->m[i][3] * 2; //= global load 4 x 8 bytes');
    rows(
      'sum = p->r[n & 3].x + p->r[n & 3].y * 2 + p->r[n & 3].z * 3 + p->r[n & 3].w * 5; //= global load 1 x 16 bytes',
    );
    rows('sum = p->odd[n & 3][0] + p->odd[n & 3][1] * 2; //= global load 2 x 4 bytes');
    rows('for (int j = 0; j < 4; j++) sum += p->m[n & 3][j] * (j + 2); //= global load 4 x 4 bytes');
  });
});
