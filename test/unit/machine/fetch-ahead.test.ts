/** Shared loads behind an early exit join the aligned 16 bytes before it. */
import { check } from '../analysis/check-accesses';
import { checkLines } from './check-lines';

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

describe('the second word of a record behind a branch', () => {
  const second = (shown: string, arm: string, between = '') =>
    checkLines(
      `k(int *g, int n) {
  __shared__ Entry s[512];
  int i = 2 * threadIdx.x - (threadIdx.x & (n - 1));
  __syncthreads();
  if (s[i].key < n) { //= shared load 1 x ${shown}
    ${between}
    ${arm}
  }
}`,
      'struct Entry { int key, value; };',
    );

  it('is loaded with the first, whatever stands between them', () => {
    second('8 bytes', 'g[i] = s[i].value; //= global store 1 x 4 bytes');
    second('8 bytes', 'g[i] = s[i].value; //= global store 1 x 4 bytes', 'g[i + 1] = __shfl_xor_sync(~0u, i, 1);');
    second('8 bytes', 'if (g[i] > 4) s[i + 9].key = s[i].value; //= global load 1 x 4 bytes, shared store 1 x 4 bytes');
  });

  it('is not behind a store to shared memory or a fence', () => {
    second('4 bytes', 'g[i] = s[i].value; //= shared load 1 x 4 bytes, global store 1 x 4 bytes', 's[i + 1].key = 3;');
    second('4 bytes', 'g[i] = s[i].value; //= shared load 1 x 4 bytes, global store 1 x 4 bytes', '__syncwarp();');
  });
});
