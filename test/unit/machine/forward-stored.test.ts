import { checkLines } from './check-lines';

/** Each expectation is what nvcc 13.0 made of the same kernel for sm_90. */
describe('shared arrays that are read right behind their stores only', () => {
  it('are gone: one beside the other, and with an atomic to another between', () =>
    checkLines(`k(int *p, int n)
{
    __shared__ int s[32], t[32], counts[16];
    int i = threadIdx.x;
    if (i < 16) counts[i] = 0; //= shared store 1 x 4 bytes
    __syncthreads();
    s[i] = p[i]; //= global load 1 x 4 bytes
    int digit = (s[i] - n) & 15; //= none
    t[i] = digit; //= none
    atomicAdd(&counts[digit], 1); //= shared atomic 1 x 4 bytes
    p[i + 32] = t[i]; //= global store 1 x 4 bytes
    __syncthreads();
    if (i < 16) p[i + 64] = counts[i]; //= shared load 1 x 4 bytes, global store 1 x 4 bytes
}`));
  it('are gone through rows and columns, members, and changes in place', () =>
    checkLines(`k(float *p, float *q)
{
    __shared__ float rows[8][33], own[32];
    __shared__ struct { float x, y; } pairs[32];
    int tx = threadIdx.x % 8, ty = threadIdx.x / 8, i = threadIdx.x;
    rows[tx][ty] = p[i]; //= global load 1 x 4 bytes
    q[i] = rows[tx][ty]; //= global store 1 x 4 bytes
    pairs[i].x = p[i + 32]; //= global load 1 x 4 bytes
    pairs[i].y = 2; //= none
    q[i + 32] = pairs[i].x * pairs[i].y; //= global store 1 x 4 bytes
    own[i] = p[i + 64]; //= global load 1 x 4 bytes
    own[i] = expf(own[i]); //= none
    own[i] *= 2; //= none
    q[i + 64] = own[i]; //= global store 1 x 4 bytes
}`));
  it('stay with their stores where five other instructions lie between', () =>
    checkLines(`k(float *p, float *q)
{
    __shared__ float a[32], b[32];
    int i = threadIdx.x;
    a[i] = p[i]; //= global load 1 x 4 bytes, shared store 1 x 4 bytes
    b[i] = p[i + 300]; //= global load 1 x 4 bytes
    q[i] = a[i] * b[i]; //= global store 1 x 4 bytes
}`));
  it('stay where an index is no variable, in another block, and behind a barrier of the warp', () =>
    checkLines(`k(int *p, int n)
{
    __shared__ int a[32], b[33], c[32], d[32];
    int i = threadIdx.x;
    a[threadIdx.x] = p[i]; //= global load 1 x 4 bytes, shared store 1 x 4 bytes
    p[i + 32] = a[threadIdx.x]; //= global store 1 x 4 bytes
    b[i + 1] = p[i + 64]; //= global load 1 x 4 bytes, shared store 1 x 4 bytes
    p[i + 96] = b[i + 1]; //= global store 1 x 4 bytes
    c[i] = n; //= shared store 1 x 4 bytes
    if (p[i + 128] > 3) p[i + 160] = c[i]; //= global load 1 x 4 bytes, global store 1 x 4 bytes
    d[i] = n; //= shared store 1 x 4 bytes
    __syncwarp();
    p[i + 192] = d[i]; //= shared load 1 x 4 bytes, global store 1 x 4 bytes
}`));
});
