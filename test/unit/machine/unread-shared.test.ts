import { checkLines } from './check-lines';

/** Each expectation is what nvcc 13.0 made of the same kernel for sm_90. */
describe('shared variables that nothing reads', () => {
  it('are gone, with what is loaded for them', () =>
    checkLines(`k(int *p, int n)
{
    __shared__ int s[128], t[4][32], one;
    for (int i = threadIdx.x; i < n; i += 32)
        s[i] = p[i]; //= none
    t[threadIdx.x / 32][threadIdx.x % 32] = 3; //= none
    if (threadIdx.x == 0) one = n; //= none
    __syncthreads();
    p[threadIdx.x] = 1; //= global store 1 x 4 bytes
}`));
  it('are gone through casts, and where only what is never used reads them', () =>
    checkLines(`k(int *p, int n)
{
    __shared__ int4 s[32];
    reinterpret_cast<int *>(s)[threadIdx.x] = n; //= none
    __syncthreads();
    int unused = s[31 - threadIdx.x].x; //= none
    p[threadIdx.x] = 1; //= global store 1 x 4 bytes
}`));
  it('stay where one member of the record is read', () =>
    checkLines(`k(int *p, int n)
{
    __shared__ struct { int a, other, b; } s[32];
    s[threadIdx.x].a = n; //= shared store 1 x 4 bytes
    s[threadIdx.x].b = n + 1; //= shared store 1 x 4 bytes
    __syncthreads();
    p[threadIdx.x] = s[31 - threadIdx.x].a; //= shared load 1 x 4 bytes, global store 1 x 4 bytes
}`));
  it('stay where a read was forwarded, where they are volatile, and where an atomic goes to them', () =>
    checkLines(`k(int *p, int n)
{
    __shared__ int s[32];
    __shared__ volatile int v[32];
    __shared__ int counts[32];
    s[threadIdx.x] = n; //= none
    s[threadIdx.x] += 2; //= shared store 1 x 4 bytes
    v[threadIdx.x] = n; //= shared store 1 x 4 bytes
    atomicAdd(&counts[n & 31], 1); //= shared atomic 1 x 4 bytes
    p[threadIdx.x] = 1; //= global store 1 x 4 bytes
}`));
  it('stay where which of two it is is not known', () =>
    checkLines(`k(int *p, int n)
{
    __shared__ int s[32], t[32];
    int *q = n ? s : t;
    q[threadIdx.x] = 3; //= shared store 1 x 4 bytes
    p[threadIdx.x] = 1; //= global store 1 x 4 bytes
}`));
});
