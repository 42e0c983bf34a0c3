/** Loops of known length that are too large to be written out as a whole. */
import { check } from '../analysis/check-accesses';

const stages = (value: string, expected: string) =>
  check(`
__global__ void stages(float2 *out) {
  __shared__ float2 s[256];
  int j = threadIdx.x;
  for (int ns = 1; ns < 256; ns *= 2) {
    __syncthreads();
    int k = j & (ns - 1);
    float x = 0, y = 1;
    ${value};
    int d = (j - k) * 2 + k;
    s[d] = make_float2(x, y);
    s[d + ns] = make_float2(y, x);
${expected}
  }
  __syncthreads();
  out[j] = s[j];
}
int main() { float2 *o; stages<<<1, 128>>>(o); }
`);

describe('a loop of eight passes', () => {
  it('is written out: the two stores of its first pass are one', () =>
    stages('x = k', '  //^^^^^^^^^ shared store 16 bytes'));
  it('is written out by twos around functions of the mathematical library', () => {
    const body = 'sincospif(k * 0.5f / ns, &x, &y); x = expf(x)';
    stages(body, '  //^^^^^^^^^ shared store 8 bytes x32');
  });
});
