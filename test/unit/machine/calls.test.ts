import { checkLines } from './check-lines';

/** Each expectation is what nvcc 13.0 made of the same kernel for sm_90. */
describe('printf', () => {
  it('needs what it prints', () =>
    checkLines(`k(const float3 *v, float *out)
{
    float3 a = v[threadIdx.x]; //= global load 2 x 4 bytes
    printf("%f %f", a.x, v[threadIdx.x + 1].z); //= global load 1 x 4 bytes
    printf("%f", a.y); //= none
}`));
  it('is printed from what was loaded already', () =>
    checkLines(`k(int *p, const int *__restrict__ r, int *out)
{
    int i = threadIdx.x;
    int x = r[i]; //= global load 1 x 4 bytes
    out[i] = p[i]; //= global load 1 x 4 bytes, global store 1 x 4 bytes
    printf("%d %d", x, out[i]); //= none
    if (x > 3) printf("%d", r[i]); //= none
}`));
  it('may change what was loaded, but not behind __restrict__', () =>
    checkLines(`k(int *p, const int *__restrict__ r, int *out)
{
    int i = threadIdx.x;
    printf("%d %d", p[i], r[i]); //= global load 2 x 4 bytes
    out[i] = r[i]; //= global store 1 x 4 bytes
    out[i + 32] = p[i]; //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`));
  it('may be the last thing that happens: what was stored stays', () =>
    checkLines(`k(int *p, int *__restrict__ r)
{
    int i = threadIdx.x;
    p[i] = 3; //= global store 1 x 4 bytes
    r[i] += 5; //= global load 1 x 4 bytes, global store 1 x 4 bytes
    printf("%d", r[i]); //= none
    p[i] += 3; //= global load 1 x 4 bytes, global store 1 x 4 bytes
    r[i] += 6; //= global store 1 x 4 bytes
}`));
});

describe('assert', () => {
  it('needs what it asks', () =>
    checkLines(`k(int *p, int *__restrict__ out, int n)
{
    int i = threadIdx.x;
    assert(p[i] < n && p[i + 40] > 3); //= global load 2 x 4 bytes
    out[i] = 4; //= global store 1 x 4 bytes
}`));
  it('may change what was loaded', () =>
    checkLines(`k(int *p, int *out, int n)
{
    int i = threadIdx.x;
    int x = p[i]; //= global load 1 x 4 bytes
    assert(i < n);
    out[i] = p[i] + x; //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`));
});
