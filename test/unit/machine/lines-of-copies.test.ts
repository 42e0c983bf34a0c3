/** Line tables of nvcc 13.0 for sm_90 say the same of every kernel here. */
import { checkLines } from './check-lines';

describe('asynchronous copies of a loop that is written out are shown', () => {
  const kernel = (copies: readonly string[]) =>
    checkLines(`k(const float *a, const float *b, float *o, int n) {
  __shared__ alignas(16) float s[4][32], t[4][128];
  int i = threadIdx.x;
  for (int k = 0; k < 4; k++) {
    ${copies.join('\n    ')}
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  o[i] = s[3][31 - i] + t[2][31 - i] + s[1][i ^ 1] + t[0][i ^ 1];
}`);
  const single = '__pipeline_memcpy_async(&s[k][i], &a[k * n + i], 4);';

  it('at their calls where there is one', () =>
    kernel([`${single} //= global load 4 x 4 bytes, shared store 4 x 4 bytes`]));

  it('at the last of several from the second pass on', () =>
    kernel([
      `${single} //= global load 1 x 4 bytes, shared store 1 x 4 bytes`,
      '__pipeline_memcpy_async(&t[k][i], &b[k * n + i], 4); //= global load 7 x 4 bytes, shared store 7 x 4 bytes',
    ]));

  it('so where it copies another size', () =>
    kernel([
      `${single} //= global load 1 x 4 bytes, shared store 1 x 4 bytes`,
      '__pipeline_memcpy_async(&t[k][i * 4], &b[(k * n + i) * 4], 16); //= global load 3 x 4 bytes, shared store 3 x 4 bytes, global load 4 x 16 bytes, shared store 4 x 16 bytes',
    ]));
});
