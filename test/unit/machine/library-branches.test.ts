/** Functions of the mathematical library with branches in them keep neighbouring accesses apart, the short ones not in shared memory. */
import { check } from '../analysis/check-accesses';

const pairs = (call: string, expected: string) =>
  check(`
__global__ void pairs(const float2 *in, float *out) {
  const float2 &pair = in[threadIdx.x];
  float sum = ${call.replace('#', 'pair.x')};
  sum += ${call.replace('#', 'pair.y')};
  //     ${' '.repeat(call.indexOf('#'))}^^^^^^ ${expected}
  out[threadIdx.x] = sum;
}
int main() { float2 *i; float *o; pairs<<<1, 32>>>(i, o); }
`);

const shared = (call: string, expected: string) =>
  check(`
__global__ void fours(const float *in, float *out) {
  __shared__ __align__(16) float line[128];
  for (int k = 0; k < 4; k++) line[threadIdx.x + 32 * k] = in[threadIdx.x + 32 * k];
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 4; k++)
    sum += ${call.replace('#', 'line[4 * threadIdx.x + k]')};
    //     ${' '.repeat(call.indexOf('#'))}^^^^^^^^^^^^^^^^^^^^^^^^^ shared load ${expected}
  out[threadIdx.x] = sum;
}
int main() { float *i, *o; fours<<<1, 32>>>(i, o); }
`);

const found = (call: string, expected: string) =>
  check(`
__global__ void loop(const float *in, float *out, float p, int n) {
  __shared__ float line[128];
  for (int k = 0; k < 4; k++) line[threadIdx.x + 32 * k] = in[threadIdx.x + 32 * k];
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < n; k++)
    sum += ${call.replace('#', 'line[k]')};
    //     ${' '.repeat(call.indexOf('#'))}^^^^^^^ shared load ${expected}
  out[threadIdx.x] = sum;
}
int main() { float *i, *o; loop<<<1, 32>>>(i, o, 2, 64); }
`);

describe('neighbouring loads with a function of the library between them', () => {
  it('are one where it has no branches', () => pairs('expf(#)', 'no access'));
  it('stay apart where it has', () => pairs('logf(#)', 'global load 4 bytes'));
  it('are one for the fast form', () => pairs('__logf(#)', 'no access'));
  it('are one of shared memory where its branches are short', () => shared('logf(#)', '16 bytes'));
  it('stay apart there too where they are long', () => shared('powf(#, 1.5f)', '4 bytes'));
  it('are one of shared memory where the assembler finds them', () => found('__fdividef(p, #)', '16 bytes'));
  it('stay apart there where a division of full precision has branches in the machine code', () => {
    found('p / #', '4 bytes');
    found('sqrtf(#)', '4 bytes');
  });
  it('are one where the divisor is a power of two', () => found('# / 4.0f', '16 bytes'));
});
