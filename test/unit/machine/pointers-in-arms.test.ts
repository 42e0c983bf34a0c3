import { checkLines } from './check-lines';

/** Each expectation is what nvcc 13.0 made of the same kernel for sm_90. */
describe('pointers that both arms read', () => {
  const lists = 'struct Lists { float *pi, *sum; };';
  it('are read in each, since what is stored is computed before', () =>
    checkLines(
      `k(Lists *c, float *x, int n)
{
    int t = threadIdx.x;
    float v = x[t]; //= global load 1 x 4 bytes
    if (n < t + 3)
        c->pi[t] = v; //= global load 1 x 8 bytes, global store 1 x 4 bytes
    else
        c->pi[t] = v * 3; //= global load 1 x 8 bytes, global store 1 x 4 bytes
    if (n < t + 5)
        c->sum[t] = 3; //= global load 1 x 8 bytes, global store 1 x 4 bytes
    else
        c->sum[t] = x[t + 32] + v; //= global load 1 x 8 bytes, global load 1 x 4 bytes, global store 1 x 4 bytes
}`,
      lists,
    ));
  it('are read once where both store what is known before', () =>
    checkLines(
      `k(Lists *c, float a, float b, int n)
{
    int t = threadIdx.x;
    if (n < t + 3) c->pi[t] = a; else c->pi[t] = b; //= global load 1 x 8 bytes, global store 1 x 4 bytes
}`,
      lists,
    ));
});
