import { checkLines } from './check-lines';

describe('arms of a branch that end alike', () => {
  it('are one access at the place of the last', () =>
    checkLines(`k(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    if (i < n)
        out[i] = in[i] + 1; //= none
    else
        out[i] = in[i + 1] + 3; //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`));
  it('three of them too, at the second', () =>
    checkLines(`k(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    if (i < n)
        out[i] = in[i] * 3; //= none
    else if (i < 2 * n)
        out[i] = in[i + 1] * 4; //= global load 1 x 4 bytes, global store 1 x 4 bytes
    else
        out[i] = in[i + 2] * 7; //= none
}`));
  it('three stay apart where the last two store what is known before', () =>
    checkLines(`k(const float *in, const int *other, int *out, int n)
{
    int i = threadIdx.x;
    float x = in[i];
    if (x < 1e-5f)
        out[i] = other[i]; //= global load 1 x 4 bytes, global store 1 x 4 bytes
    else if (x < 3)
        out[i] = -1; //= global store 1 x 4 bytes
    else
        out[i] = 1; //= global store 1 x 4 bytes
}`));
  it('and where each widens the index for itself and reads with it', () => {
    const kernel = (
      at: string,
      first: string,
      second: string,
      third: string,
    ) => `k(const float *in, const int *other, int *out)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    float x = in[${at}];
    if (x < 1e-5f)
        out[i] = other[i]; //= ${first}
    else if (x < 3)
        out[i] = -1; //= ${second}
    else
        out[i] = other[i]; //= ${third}
}`;
    const [load, store] = ['global load 1 x 4 bytes', 'global store 1 x 4 bytes'];
    checkLines(kernel('i + 5', `${load}, ${store}`, store, `${load}, ${store}`));
    checkLines(kernel('i', load, store, load));
  });
  it('four of them are one as well', () =>
    checkLines(`k(const float *in, const int *other, int *out, int n)
{
    int i = threadIdx.x;
    float x = in[i];
    if (x < 1e-5f)
        out[i] = other[i]; //= global load 1 x 4 bytes
    else if (x < 3)
        out[i] = -1; //= global store 1 x 4 bytes
    else if (x < 7)
        out[i] = 1; //= none
    else
        out[i] = other[i + 7]; //= global load 1 x 4 bytes
}`));
  it('at the last where what is greater than a constant comes first', () =>
    checkLines(`k(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    if (i > 20)
        out[i] = in[i] * 3; //= none
    else if (i > 10)
        out[i] = in[i + 1] * 4; //= none
    else
        out[i] = in[i + 2] * 7; //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`));
  it('a store alone whose address serves nothing else', () =>
    checkLines(`k(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    int at = blockIdx.x * n + 2 * i;
    if (i < n)
        out[at] = in[i + 1] - in[i]; //= global load 2 x 4 bytes
    else
        out[at] = in[i + 3] * in[i + 9]; //= global load 2 x 4 bytes, global store 1 x 4 bytes
}`));
  it('not one whose index the loads have too', () =>
    checkLines(`k(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    if (i < n)
        out[i] = in[i + 1] - in[i]; //= global load 2 x 4 bytes, global store 1 x 4 bytes
    else
        out[i] = in[i + 3] * in[i + 9]; //= global load 2 x 4 bytes, global store 1 x 4 bytes
}`));
  it('not where loops within them store', () =>
    checkLines(`k(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    if (i < n)
        for (int r = 0; r < 3; r++)
            out[i + 64 * r] = in[i + 96 * r + 5] * 3; //= global load 3 x 4 bytes, global store 3 x 4 bytes
    else
        for (int r = 0; r < 3; r++)
            out[i + 32 * r] = in[i + 99 * r + 2] * 7; //= global load 3 x 4 bytes, global store 3 x 4 bytes
}`));
  it('what a variable is assigned is loaded once', () =>
    checkLines(`k(const float *in, const float *other, float *out, int n)
{
    int i = threadIdx.x;
    float x = i < n ? in[i] : other[2 * i]; //= global load 1 x 4 bytes
    out[i] = x;
}`));
  it('two stores after each other', () =>
    checkLines(`k(const float *in, float *out, float *other, int n)
{
    int i = threadIdx.x;
    if (i < n) {
        out[i] = in[i]; //= none
        other[i] = in[i + 2]; //= none
    } else {
        out[i] = in[i + 1]; //= global load 1 x 4 bytes, global store 1 x 4 bytes
        other[i] = in[i + 3]; //= global load 1 x 4 bytes, global store 1 x 4 bytes
    }
}`));
  it('up to the first difference, which must be worth it', () =>
    checkLines(`k(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    if (i < n)
        out[i] = in[i] + 1; //= global load 1 x 4 bytes, global store 1 x 4 bytes
    else
        out[i] = in[i + 1] * 3; //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`));
  it('a store alone, where the rest can be computed by all lanes', () =>
    checkLines(`k(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    if (i < n)
        out[i] = in[i]; //= none
    else
        out[i] = -in[i]; //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`));
  it('a store alone, where the place was accessed before', () =>
    checkLines(`k(const float *in, float *out, int n)
{
    __shared__ float s[64];
    int i = threadIdx.x;
    s[i] = in[i];
    if (i < n)
        s[i] += in[i + 1] + 7; //= global load 1 x 4 bytes
    else
        s[i] *= in[i + 3]; //= global load 1 x 4 bytes, shared store 1 x 4 bytes
    __syncthreads();
    out[i] = s[i ^ 1];
}`));
  it('one operand is selected, not two', () =>
    checkLines(`k(float *out, float *other, int n)
{
    int i = threadIdx.x;
    if (i < n)
        out[i] = 1; //= global store 1 x 4 bytes
    else
        other[i] = 2; //= global store 1 x 4 bytes
}`));
  it('a zero is stored on its own', () =>
    checkLines(`k(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    if (i < n)
        out[i] = in[i] * 3; //= global load 1 x 4 bytes, global store 1 x 4 bytes
    else
        out[i] = 0; //= global store 1 x 4 bytes
}`));
  it('stores stay apart where the condition says what their index is, unless what is stored is known before', () => {
    const kernel = (condition: string, first: string, second: string, stores: readonly [string, string]) =>
      checkLines(`k(const float *in, float *out, int n, float a, float b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (${condition})
    out[i] = ${first}; //= ${stores[0]}
  else
    out[i] = ${second}; //= ${stores[1]}
}`);
    const apart = ['global store 1 x 4 bytes', 'global store 1 x 4 bytes'] as const;
    kernel('i == 0', 'in[i]', 'in[i] * 2', apart);
    kernel('i != 7', 'in[i]', 'in[i] * 2', apart);
    kernel('i == n', 'in[i]', 'in[i] * 2', apart);
    kernel('blockIdx.x * blockDim.x + threadIdx.x < 1', 'in[i]', 'in[i] * 2', apart);
    kernel('i == n - 1', 'in[i]', 'in[i] * 2', ['none', 'global store 1 x 4 bytes']);
    kernel('i == 0', 'a', 'b', ['global store 1 x 4 bytes', 'none']);
    checkLines(`k(float *out, float a, float b) {
  int i = threadIdx.x;
  if (i == 0)
    out[i] = a; //= global store 1 x 4 bytes
  else
    out[i] = b; //= none
}`);
  });

  it('what the condition says of a variable makes a difference', () =>
    checkLines(`k(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    if (i == 0)
        out[i] = in[i + 1] + 1; //= global load 1 x 4 bytes, global store 1 x 4 bytes
    else
        out[i] = in[i] + 1; //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`));
  /** A tile that one arm fills and the other pads. @param head what is shown at the loop around */
  const guardedTile = (head: string, [condition, first, second]: readonly [string, string, string]) =>
    checkLines(`k(const float *a, float *c, int rows, int cols)
{
    __shared__ float tile[16][17];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    float sum = 0;
    for (int m = 0; m < (rows - 1) / 16 + 1; m++) { //= ${head}
        if (${condition})
            tile[ty][tx] = ${first}
        else
            tile[ty][tx] = ${second}
        __syncthreads();
        for (int k = 0; k < 16; k++)
            sum += tile[ty][k] * tile[k][tx];
        __syncthreads();
    }
    c[threadIdx.x] = sum; //= global store 1 x 4 bytes
}`);
  const element = 'a[ty * cols + m * 16 + tx];';
  it('a zero too, where the loop around does not change the address: then it is shown at the head of the loop', () =>
    guardedTile('shared store 1 x 4 bytes', [
      'ty < rows && m * 16 + tx < cols',
      `${element} //= global load 1 x 4 bytes`,
      '0; //= none',
    ]));
  /** Several tiles of which one is padded. @param head what is shown at the loop around */
  const paddedTile = (head: string, stores: readonly string[], unroll = '#pragma unroll 8') =>
    checkLines(`k(const float *a, const float *b, float *c, int n)
{
    __shared__ float x[8][64], weight[64];
    int t = threadIdx.x;
    float sum = 0;
    for (int tile = 0; tile < (n + 63) / 64; tile++) { //= ${head}
        int j = tile * 64 + t;
        if (j < n) {
            ${stores.join('\n            ')}
            weight[t] = b[j]; //= global load 1 x 4 bytes
        } else
            weight[t] = 0; //= none
        __syncthreads();
        ${unroll}
        for (int k = 0; k < 64; k++)
            sum += x[0][k] * weight[k] + x[1][k];
        __syncthreads();
    }
    c[blockIdx.x * blockDim.x + t] = sum; //= global store 1 x 4 bytes
}`);
  const filled = (row: number, count: number) =>
    `x[${row}][t] = ${row ? 'c' : 'a'}[j]; //= global load 1 x 4 bytes, shared store ${count} x 4 bytes`;
  it('behind the last store to shared memory that is left in an arm, where another loop follows', () => {
    paddedTile('none', [filled(0, 2)]);
    paddedTile('none', [filled(0, 1), filled(1, 2)]);
  });
  it('at the head where the stores before it do not wait as it does, or no loop follows', () => {
    paddedTile('shared store 1 x 4 bytes', ['x[0][t] = 1; //= shared store 1 x 4 bytes']);
    const row = 'x[0][t] = a[j]; //= global load 1 x 4 bytes, shared store 1 x 4 bytes';
    paddedTile('shared store 1 x 4 bytes', [row], '#pragma unroll');
  });
  it('at the last arm, where that one loads what it stores', () =>
    guardedTile('none', [
      'ty >= rows || m * 16 + tx >= cols',
      '0; //= none',
      `${element} //= global load 1 x 4 bytes, shared store 1 x 4 bytes`,
    ]));
  it('another constant beside a load is shown at its own line', () =>
    guardedTile('none', [
      'ty < rows && m * 16 + tx < cols',
      `${element} //= global load 1 x 4 bytes`,
      '1; //= shared store 1 x 4 bytes',
    ]));
  it('a zero stays apart only in the arm whose line the store would bear: in a loop that is the first', () =>
    checkLines(`k(const float *a, float *c)
{
    #pragma unroll 1
    for (int m = 0; m < 4; m++) { //= none
        if (m * 16 + threadIdx.x < 24)
            c[m * 32 + threadIdx.x] = a[m * 16 + threadIdx.x]; //= global load 2 x 4 bytes, global store 4 x 4 bytes
        else
            c[m * 32 + threadIdx.x] = 0; //= none
    }
}`));
  it('a zero in the first of two arms, elsewhere', () =>
    checkLines(`k(const float *in, const float *by, float *out, float *more, float t)
{
    int i = threadIdx.x;
    if (by[i] > t) //= global load 1 x 4 bytes
        out[i] = 0; //= none
    else
        out[i] = in[i] * 2; //= global load 1 x 4 bytes, global store 1 x 4 bytes
    more[i] = t; //= global store 1 x 4 bytes
}`));
  it('not a zero in the last', () =>
    checkLines(`k(const float *in, const float *by, float *out, float *more, float t)
{
    int i = threadIdx.x;
    if (by[i] > t) //= global load 1 x 4 bytes
        out[i] = in[i] * 2; //= global load 1 x 4 bytes, global store 1 x 4 bytes
    else
        out[i] = 0; //= global store 1 x 4 bytes
    more[i] = t; //= global store 1 x 4 bytes
}`));
  it('what both arms begin with is in front of them but where the kernel begins', () => {
    const arms = `if (i < n - 5)
        out[i] = in[i] * 2; //= global load 1 x 4 bytes, APART
    else
        out[i] = 3; //= global store 1 x 4 bytes
    more[i] = n; //= global store 1 x 4 bytes`;
    const kernel = (before: string) =>
      checkLines(`k(const float *in, float *out, float *more, int n)
{
    int i = threadIdx.x + n - 10;
    ${before}
    ${arms.replace(', APART', before === '' ? ', global store 1 x 4 bytes' : '')}
}`);
    kernel('');
    kernel('if (i >= 500) return;');
  });
  it('of values at hand the store bears the line of the side that is taken, as NVVM turns the condition', () => {
    const kernel = (condition: string, [first, last]: readonly string[]) =>
      checkLines(`k(int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (${condition})
        out[i] = n; //= ${first}
    else
        out[i] = 2; //= ${last}
}`);
    const [here, none] = ['global store 1 x 4 bytes', 'none'];
    for (const condition of ['i < n', 'i == n', 'i >= 5', 'i > 5 && i < n']) kernel(condition, [here, none]);
    for (const condition of ['i >= n', 'i != n', 'i <= n']) kernel(condition, [none, here]);
  });
  it('not where something else leads behind them', () =>
    checkLines(`k(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    if (i >= n) return;
    if (i % 2)
        out[i] = in[i] + 1; //= global load 1 x 4 bytes, global store 1 x 4 bytes
    else
        out[i] = in[i + 1] + 3; //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`));
  it('stay apart where the last branches before its store', () => {
    const kernel = (
      first: string,
      last: string,
      inFirst: string,
      inLast: string,
    ) => `k(const float *in, float *out, int n)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (in[n] > i) {
        ${first}
        out[i] = 1; //= ${inFirst}
    } else {
        ${last}
        out[i] = 3 * in[n + 2]; //= ${inLast}
    }
}`;
    const loop = 'for (int j = 0; in[j] > 2; j++) n += 5;';
    const both = 'global load 1 x 4 bytes, global store 1 x 4 bytes';
    checkLines(kernel('', 'if (in[n + 1] > 2) out[i + 1024] = 2;', 'global store 1 x 4 bytes', both));
    checkLines(kernel('', loop, 'global store 1 x 4 bytes', both));
    checkLines(kernel('if (in[n + 1] > 2) out[i + 1024] = 2;', '', 'none', both));
    checkLines(kernel('', 'if (n > 2) n = i;', 'none', both));
  });
  it('cases of a switch stay apart', () =>
    checkLines(`k(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    switch (i % 3) {
        case 0: out[i] = in[i]; break; //= global load 1 x 4 bytes, global store 1 x 4 bytes
        case 1: out[i] = in[i + 1]; break; //= global load 1 x 4 bytes, global store 1 x 4 bytes
        default: out[i] = in[i + 2]; //= global load 1 x 4 bytes, global store 1 x 4 bytes
    }
}`));
  it('are at the place of the first in a loop', () =>
    checkLines(`k(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    #pragma unroll 1
    for (int j = 0; j < n; j++) {
        if (i < n)
            out[j * 64 + i] = in[j * 64 + i]; //= global load 10 x 4 bytes, global store 10 x 4 bytes
        else
            out[j * 64 + i] = in[j * 64 + i + 1]; //= none
    }
}`));
  it('stay apart where all lanes take the same', () =>
    checkLines(`k(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    if (n == 10)
        out[i] = in[i]; //= global load 1 x 4 bytes, global store 1 x 4 bytes
    else
        out[i] = in[i + 1]; //= none
    if (in[n] > 0) //= global load 1 x 4 bytes
        out[i + 64] = in[i] + 5; //= global load 1 x 4 bytes, global store 1 x 4 bytes
    else
        out[i + 64] = in[i + 1] + 5; //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`));
  it('what a variable is assigned in both arms of an if is loaded at what follows', () =>
    checkLines(`k(const float *in, const float *other, float *out, int n)
{
    int i = threadIdx.x;
    float x;
    if (i < n)
        x = in[i]; //= none
    else
        x = other[i]; //= none
    x = x * 2; //= global load 1 x 4 bytes
    out[i] = x; //= global store 1 x 4 bytes
    float sum = 0;
    #pragma unroll 1
    for (int j = 0; j < n; j++) { //= global load 10 x 4 bytes
        if (i < n)
            sum += in[i * j]; //= none
        else
            sum += other[i * j]; //= none
    }
    out[i + 32] = sum;
}`));
  it('are at the place of the last in a loop whose body goes on', () =>
    checkLines(`k(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    #pragma unroll 1
    for (int j = 0; j < n; j++) {
        if (i < n)
            out[j * 64 + i] = in[j * 64 + i]; //= none
        else
            out[j * 64 + i] = in[j * 64 + i + 1]; //= global load 10 x 4 bytes, global store 10 x 4 bytes
        __syncthreads();
    }
}`));
  it('a store alone, where one arm stores what both have loaded', () =>
    checkLines(`k(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    if (i >= n) //= global load 1 x 4 bytes
        out[i] = in[i] + in[i + 5]; //= global load 1 x 4 bytes
    else
        out[i] = in[i]; //= global store 1 x 4 bytes
}`));
  it('not where all lanes take the same arm, in a loop behind an early return either', () =>
    checkLines(`k(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    if (i > 30) return;
    #pragma unroll 1
    for (int r = 0; r < n; r++) {
        if (r > 3)
            out[i] = in[i] * 2; //= global load 6 x 4 bytes, global store 6 x 4 bytes
        else
            out[i] = in[i + 1] + 3; //= global load 4 x 4 bytes, global store 4 x 4 bytes
        out[i + 64] = out[i + 1]; //= global load 10 x 4 bytes, global store 10 x 4 bytes
    }
}`));
  it('and where what lanes part at is over before', () =>
    checkLines(`k(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    if (n == 10) {
        float v = in[i]; //= global load 1 x 4 bytes
        if (i > 3) out[i + 64] = v;
        out[i] = v * 2; //= global store 1 x 4 bytes
    } else {
        out[i] = in[i + 1] * 3; //= none
    }
}`));
  it('a store alone, where one arm only exchanges what was loaded before', () =>
    checkLines(`k(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    float a = in[i], b = in[i + 32];
    if (i < n) {
        float t = a; a = b; b = t;
        out[i + 64] = b; //= none
    } else
        out[i + 64] = in[i + 5] * 3; //= global load 1 x 4 bytes, global store 1 x 4 bytes
    out[i] = a + b;
}`));
});

describe('a fixed element in one arm', () => {
  const chosen = (value: string, loads: number) =>
    checkLines(`k(const float *in, float *out)
{
    __shared__ float s[64];
    int i = threadIdx.x;
    s[i] = in[i];
    s[i + 32] = in[i + 32];
    __syncthreads();
    float v = ${value}; //= shared load ${loads} x 4 bytes
    out[i] = v;
}`);
  it('is chosen by its address beside one with an index', () => {
    chosen('i ? s[i - 1] : s[63]', 1);
    chosen('i > 5 ? s[i - 1] * 2 : s[63] * 2', 1);
    chosen('(i ? s[i - 1] : s[0]) + (i < 31 ? s[i + 1] : s[31]) * 3', 2);
  });
  it('is read by itself beside something else that is chosen, or another such', () => {
    chosen('i > 5 ? s[i - 1] * 2 : s[63] * 3', 2);
    chosen('i > 5 ? s[3] : s[9]', 2);
  });
});

describe('stores of arms to an address that is known in front of them', () => {
  it('are one of two arms, and stay apart of three', () =>
    checkLines(`k(float *o, const float *x, const float *f, int n)
{
    int i = threadIdx.x;
    float t = x[i]; //= global load 1 x 4 bytes
    o[i + 99] = o[i + n]; //= global load 1 x 4 bytes, global store 1 x 4 bytes
    if (f[i] == 1.0f) //= global load 1 x 4 bytes
        o[i + n] = 0; //= global store 1 x 4 bytes
    else if (f[i + 64] == 1.0f) //= global load 1 x 4 bytes
        o[i + n] = t; //= global store 1 x 4 bytes
    else
        o[i + n] += t; //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`));
  it('are one where one arm sets what the other changes', () =>
    checkLines(`k(float *o, const float *x, const float *f, int n)
{
    int i = threadIdx.x;
    float t = x[i]; //= global load 1 x 4 bytes
    if (f[i] == 1.0f) //= global load 1 x 4 bytes
        o[i + n] = t; //= none
    else
        o[i + n] += t; //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`));
});

describe('elements that both arms change', () => {
  it('are read once where the arms begin alike, or end alike', () =>
    checkLines(`k(float *o, float a, float b, int n)
{
    int i = threadIdx.x;
    float v = a * i, w = b + i;
    if (i < n)
        o[i] -= v * w; //= none
    else
        o[i] -= v; //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`));
  it('are read in each where what is added is computed before, of three arms', () =>
    checkLines(`k(float *o, const float *x, float b, int n)
{
    int i = threadIdx.x, j = threadIdx.y;
    float v = x[i] * i, w = b + x[j]; //= global load 2 x 4 bytes
    if (j == n)
        o[i * 32 + j] = v; //= none
    else if (i > 40 - n * 2)
        o[i * 32 + j] -= v * w; //= global load 1 x 4 bytes, global store 1 x 4 bytes
    else
        o[i * 32 + j] -= w; //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`));
});
