/** A loop of known length around one that stays a loop: NVVM writes it out only where all of it is small. */
import { check } from '../analysis/check-accesses';

const sums = (passes: number, expected: string) =>
  check(`
__global__ void sums(const float *in, float *out, int n) {
  __shared__ float line[256];
  line[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < ${passes}; k++) {
    for (int j = 4 * k; j < n; j++)
      sum += line[j];
      //     ^^^^^^^ shared load ${expected}
    sum *= 2;
  }
  out[threadIdx.x] = sum;
}
int main() { float *i, *o; sums<<<1, 256>>>(i, o, 64); }
`);

describe('a loop around a loop', () => {
  it('is written out when it makes few passes: the inner one begins at a constant, and four of its loads are one', () =>
    sums(4, '16 bytes'));
  it('stays one otherwise: where the inner one begins is not known', () => sums(16, '4 bytes'));
});
