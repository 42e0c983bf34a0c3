import { checkLines } from './check-lines';

const storing = (body: string) =>
  checkLines(`k(int *__restrict__ a, int *b, const int *__restrict__ x, const int *y, int n, int m)
{
    int t = threadIdx.x;
    int v = x[t];
    ${body}
}`);

describe('what is stored again on one side of a branch', () => {
  it('is stored once, at the branch', () =>
    storing(`a[t] = v; //= none
    if (v > m) //= global store 1 x 4 bytes
      a[t] = 0; //= none`));
  it('in shared memory as well', () =>
    storing(`__shared__ int s[64];
    s[t] = v * n; //= none
    if (v > m) //= shared store 1 x 4 bytes
      s[t] = 0; //= none
    __syncthreads();
    b[t] = s[63 - t];`));
  it('with whatever the side computes, at the second where the value is not selected', () =>
    storing(`a[t] = v; //= none
    if (v > m) //= none
      a[t] = (v * 7 + n) * (v ^ n) * (v + 77) * (v - n) / m; //= global store 1 x 4 bytes`));
  it('and with what it alone has loaded before', () =>
    storing(`int w = y[t + 5], u = x[t + 6];
    a[t] = 0; //= none
    if (t < n) //= none
      a[t] = (w * 7 + n) * (u ^ n) * (v + 77) * (w - n) / m; //= global store 1 x 4 bytes`));
  it('in front of a barrier at the first, which its address is computed for, or at the second where it is known', () => {
    storing(`__shared__ float s[64];
    s[t] = 0; //= shared store 1 x 4 bytes
    if (t < n) //= none
      s[t] = sqrtf(v) / m; //= none
    __syncthreads();
    b[t] = s[t ^ 1];`);
    storing(`__shared__ float s[64];
    s[t] = v; //= shared store 1 x 4 bytes
    __syncthreads();
    float u = s[63 - t];
    __syncthreads();
    s[t] = 0; //= none
    if (t < n) //= none
      s[t] = u / m; //= shared store 1 x 4 bytes
    __syncthreads();
    b[t] = s[t ^ 1];`);
  });
  it('several in a row are one', () =>
    storing(`a[t] = v; //= none
    if (a[t] > n) a[t] = n; //= none
    if (a[t] < -n) //= global store 1 x 4 bytes
      a[t] = -n; //= none`));
  it('in a loop the last of a pass is shown at the loop', () => {
    storing(`for (int j = 0; j < n; j++) { //= global store 4 x 4 bytes
      a[t * n + j] = v + j; //= none
      if (v + j > m) //= global store 6 x 4 bytes
        a[t * n + j] = 0; //= none
    }`);
    storing(`#pragma unroll
    for (int j = 0; j < 4; j++) { //= none
      a[t * n + j * 3] = v + j; //= none
      if (v + j > m) //= global store 4 x 4 bytes
        a[t * n + j * 3] = 0; //= none
    }`);
  });
  it('keeps the first where a load stands between, if the side computes nothing', () => {
    storing(`b[t] = v; //= global store 1 x 4 bytes
    int w = y[t + 9];
    if (w > m) //= global store 1 x 4 bytes
      b[t] = w; //= none`);
    storing(`b[t] = v; //= global store 1 x 4 bytes
    int w = y[t + 9];
    if (w > m) //= none
      b[t] = w * n; //= global store 1 x 4 bytes`);
  });
  it('not behind another store, nor where the side loads', () => {
    storing(`a[t] = v; //= global store 1 x 4 bytes
    b[t] = v; //= global store 1 x 4 bytes
    if (v > m) //= none
      a[t] = 0; //= global store 1 x 4 bytes`);
    storing(`a[t] = v; //= global store 1 x 4 bytes
    if (v > m) //= none
      a[t] = x[t + 5]; //= global load 1 x 4 bytes, global store 1 x 4 bytes`);
  });
  it('not where the branch ends another one, or a kernel that others have left', () => {
    storing(`if (t < n) {
      a[t] = v; //= global store 1 x 4 bytes
      if (v > m) //= none
        a[t] = 0; //= global store 1 x 4 bytes
    }`);
    storing(`if (t >= n) return;
    a[t] = v; //= global store 1 x 4 bytes
    if (v > m) //= none
      a[t] = 0; //= global store 1 x 4 bytes`);
  });
  it('within another one where something follows', () =>
    storing(`if (t < n) {
      a[t] = v; //= none
      if (v > m) //= global store 1 x 4 bytes
        a[t] = 0; //= none
      b[t] = v;
    }`));
  it('not where the condition says what the index is', () =>
    storing(`a[t] = v; //= global store 1 x 4 bytes
    if (t == 3) //= none
      a[t] = 0; //= global store 1 x 4 bytes`));
});
