/** Shared loads behind an early exit join the aligned 16 bytes before it. */
import { check } from '../analysis/check-accesses';

const rows = (between: string) => `
__global__ void rows(float *out, int n) {
  __shared__ float line[160];
  for (int k = threadIdx.x; k < 160; k += 32) line[k] = k;
  __syncthreads();
#pragma unroll
  for (int p = 0; p < 4; ++p) {
    int at = threadIdx.x * 4 + p;
    if (at >= n) break;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 5; ++i) {
      sum += line[at + i];
EXPECTED
    }
    out[at] = sum;
    ${between}
  }
}
int main() { float *o; rows<<<1, 32>>>(o, 128); }
`;

describe('loads behind an early exit', () => {
  it('fill the 16 bytes that the loads before it began', () => {
    check(
      rows('').replace(
        'EXPECTED',
        '      //     ^^^^^^^^^^^^ shared load 16 bytes x2 8/8 wavefronts'.replace('8/8', '4/4'),
      ),
    );
  });

  it('stay where something is stored to shared memory between them', () => {
    check(rows('line[at] = 0;').replace('EXPECTED', '      //     ^^^^^^^^^^^^ shared load 2.5-way x5'));
  });
});
