/** Loops that ptxas writes out beyond NVVM's four copies: sixteen passes in one, then eight, then four. */
import { check } from '../analysis/check-accesses';

/** Lane t makes t passes. */
const loop = (carets: string, body: string, count = 'threadIdx.x') => `
__global__ void rows(const float *in, float *out, int n) {
  __shared__ float line[64];
  line[threadIdx.x] = in[threadIdx.x];
  line[threadIdx.x + 32] = in[threadIdx.x + 32];
  __syncthreads();
  float sum = 0, b = n;
  for (int c = 0; c < ${count}; c++) {
    float v = line[2 * c];
    //        ${carets}
    sum += v;
    ${body}
  }
  out[threadIdx.x] = sum + b;
}
int main() { float *i, *o; rows<<<1, 32>>>(i, o, 20); }
`;

describe('loops that the assembler writes out further', () => {
  it('bring lanes together in the sixteen, the eight, the four and the rest', () =>
    // 16 passes of lanes 16 to 31, one wavefront each; 8, 4 and 3 with two words in a bank: 46 in 31 requests
    check(loop('^^^^^^^^^^^ shared load 1.484-way x31', '')));

  it('stay at four where the body is long', () =>
    // 28 passes at one place, 3 of the rest with two words in a bank: 34 in 31 requests
    check(loop('^^^^^^^^^^^ shared load 1.097-way x31', 'b = b * v + 2; '.repeat(7))));

  it('stay at four where it takes square roots', () =>
    check(loop('^^^^^^^^^^^ shared load 1.097-way x31', 'b += sqrtf(v);')));

  it('count the same where all lanes make the same passes', () =>
    check(loop('^^^^^^^^^^^ shared load x20 1/1 wavefronts', '', 'n')));

  it('may compute with 64-bit floats', () =>
    // 32 passes of lane 0 to 1 of lane 31: at most 3 one by one, then sixteens, eights and fours, in 47 requests
    check(`
__global__ void rows(const double *in, double *out) {
  __shared__ double line[64];
  line[threadIdx.x] = in[threadIdx.x];
  line[threadIdx.x + 32] = in[threadIdx.x + 32];
  __syncthreads();
  double sum = 0;
  for (int c = threadIdx.x; c < 32; c++) sum += line[c] * 2;
    //                                          ^^^^^^^ shared load x47
  out[threadIdx.x] = sum;
}
int main() { double *i, *o; rows<<<1, 32>>>(i, o); }
`));
});
