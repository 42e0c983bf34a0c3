/** Elements that the copies of a loop read one behind the other: merged as far as their register is aligned. */
import { check } from '../analysis/check-accesses';

const kernel = (index: string, expected: string, { pragma = '', declared = '__shared__ float s[4096];' } = {}) => {
  const carets = '^'.repeat(index.length);
  return check(`
__global__ void rows(const float *in, float *out, int n) {
  ${declared}
  int t = threadIdx.x;
  for (int k = t; k < 4096; k += blockDim.x) s[k] = in[k];
  __syncthreads();
  float sum = 0;
  ${pragma}
  for (int c = 0; c < n; c++)
    sum += ${index};
    //     ${carets} shared load ${expected}
  out[t] = sum;
}
int main() { float *i, *o; rows<<<1, 32>>>(i, o, 64); }
`);
};

describe('elements of a row in a loop written out in fours', () => {
  it('are read by twos: the register points at the third of them', () => kernel('s[t * 64 + c]', '8 bytes x32'));

  it('are read by fours where the array is fixed', () => kernel('s[c]', '16 bytes x16'));

  it('are read by fours where the array promises its alignment', () =>
    kernel('s[t * 64 + c]', '16 bytes x16', { declared: '__shared__ __align__(16) float s[4096];' }));

  it('are read by fours in eights, where a pragma asks for them', () =>
    kernel('s[t * 64 + c]', '16 bytes x16', { pragma: '#pragma unroll 8' }));

  it('are read one by one in twos', () => kernel('s[t * 64 + c]', '4 bytes x64', { pragma: '#pragma unroll 2' }));
});

describe('a pragma on a loop of unknown length', () => {
  it('makes as many copies as it says: neighbours of a fixed array merge', () =>
    kernel('s[c]', '8 bytes x32', { pragma: '#pragma unroll 2' }));

  it('makes four where it says all', () => kernel('s[c]', '16 bytes x16', { pragma: '#pragma unroll' }));

  it('makes one where it says one', () => kernel('s[c]', '4 bytes x64', { pragma: '#pragma unroll 1' }));
});

describe('bytes of shared memory', () => {
  const bytes = (body: string, expected: string) =>
    check(
      `
__global__ void lookUp(const unsigned char *in, const unsigned char *table, int *out) {
  extern __shared__ unsigned char all[];
  unsigned char *s = all + 16 * threadIdx.x;
  for (int k = 0; k < 16; k++) s[k] = in[k];
  __syncthreads();
  int sum = 0;
  for (int k = 0; k < 16; k++)
    sum += ${body};
EXPECTED
  out[threadIdx.x] = sum;
}
int main() { unsigned char *i; int *o; lookUp<<<1, 32, 512>>>(i, i, o); }
`.replace('EXPECTED', `    //${' '.repeat(5 + body.indexOf('s[k]'))}^^^^ shared load ${expected}`),
    );

  it('are read together', () => bytes('table[s[k]]', '16 bytes'));
  it('are read one by one where inline assembly stands between them, as of __ldg', () =>
    bytes('__ldg(table + s[k])', '1 bytes'));
});
