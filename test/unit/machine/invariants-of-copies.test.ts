import { checkLines } from './check-lines';

/** Line tables of nvcc 13.0 for sm_90 say the same of every kernel here. */
describe('a shared variable that every pass of a loop reads which is written out is shown', () => {
  const kernel = (barrier: string, between: string, own: string) => `k(const float *p, float *o, int n) {
  __shared__ float m;
  int t = threadIdx.x;
  float v[4];
  for (int j = 0; j < 4; j++)
    v[j] = p[t * 8 + j * 2];
  if (t == 0)
    m = v[1];
  __syncthreads(); //= ${barrier}
  ${between}
  for (int j = 0; j < 4; j++)
    o[t * 8 + j * 2] = v[j] * m; //= ${own}
}`;

  it('at the barrier right before the loop', () => {
    checkLines(kernel('shared load 1 x 4 bytes', '', 'global store 4 x 4 bytes'));
  });

  it('where it stands behind a condition', () => {
    checkLines(kernel('none', 'if (n < 0)\n    return;', 'shared load 1 x 4 bytes, global store 4 x 4 bytes'));
  });
});
