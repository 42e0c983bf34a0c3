/** Loops that keep the least and where it was: their addresses are computed anew in every pass, and merge as far as a step is aligned. */
import { check } from '../analysis/check-accesses';

const kernel = (choice: string, words: number, expected: string, last = 'at') =>
  check(`
__global__ void nearest(const float *in, float *out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x;
  for (int k = t; k < 256; k += blockDim.x) s[k] = in[k];
  __syncthreads();
  float x = in[t], y = in[t + 300], z = in[t + 600], best = 1e30f;
  int at = 0;
  for (int j = 0; j < n; j++) {
    float d = 0;
    for (int c = 0; c < ${words}; c++)
      d += (c == 0 ? x : c == 1 ? y : z) * s[j * ${words} + c];
      //                                   ${'^'.repeat(`s[j * ${words} + c]`.length)} shared load ${expected}
    ${choice}
  }
  out[t] = ${last};
}
int main() { float *i, *o; nearest<<<1, 32>>>(i, o, 64); }
`);

describe('a loop that keeps the least and where it was', () => {
  const nearest = 'if (d < best) { best = d; at = j; }';
  it('reads three words of a pass one by one', () => kernel(nearest, 3, '4 bytes x192'));
  it('reads four at once', () => kernel(nearest, 4, '16 bytes x64'));
  it('reads two at once where the least is used as well', () => kernel(nearest, 2, '8 bytes x64', 'at + best'));
  it('reads two passes at once where it is not', () => kernel(nearest, 2, '16 bytes x32'));
});

describe('a loop that keeps something else', () => {
  it('reads by fours where only the least is kept', () => kernel('if (d < best) best = d;', 3, '16 bytes x48', 'best'));
  it('reads by fours what lies below a limit', () => kernel('if (d < 0.5f) { best = d; at = j; }', 3, '16 bytes x48'));
  it('reads by fours where it keeps no place', () => kernel('if (d < best) { best = d; at++; }', 3, '16 bytes x48'));
});
