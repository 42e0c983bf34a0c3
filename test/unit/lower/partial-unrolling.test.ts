/** Loops of known length that are too large to be written out as a whole. */
import { check } from '../analysis/check-accesses';
import { checkLines } from '../machine/check-lines';

const stages = (value: string, expected: string, end = 256) =>
  check(`
__global__ void stages(float2 *out) {
  __shared__ float2 s[256];
  int j = threadIdx.x;
  for (int ns = 1; ns < ${end}; ns *= 2) {
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
  // PTX of nvcc 13.0: up to ten passes of a sincospif in a body of little else
  it('of which there are six is written out around a sincospif', () =>
    stages('sincospif(k * 0.5f / ns, &x, &y)', '  //^^^^^^^^^ shared store 16 bytes', 64));
});

describe('a loop around one that is as long as it has come', () => {
  const triangle = (counters: string, outer: string, inner: string) =>
    checkLines(`k(float *x, const float *d) {
  __shared__ float p[16][17], q[16][17];
  int t = threadIdx.x & 15${counters};
  p[t][t] = x[t];
  q[t][t] = d[t];
  __syncthreads();
  for (${outer} = 0; i < 16; i++) {
    for (${inner} = 0; j < i; j++) {
      float v = p[t][j] * q[j][i]; //= shared load 240 x 4 bytes
      p[t][i] -= v;
    }
    p[t][i] /= q[i][i];
  }
  __syncthreads();
  x[t] = p[t][t];
}`);
  it('stays a loop, and reads what it has stored', () => triangle('', 'int i', 'int j'));
  it('with counters that were declared before too', () => triangle(', i, j', 'i', 'j'));
});

describe('a loop with atomics', () => {
  // what is left over of four passes comes first, so that lanes are at other passes than they would be one by one
  const requests = (head: string, expected: number) =>
    checkLines(`k(int *o, const int *x, int n) {
  for (${head}) {
    atomicAdd(&o[x[i]], 1); //= global atomic ${expected} x 4 bytes, global load ${expected} x 4 bytes
  }
}`);
  it('is written four times', () => requests('int i = threadIdx.x; i < n + 23; i++', 3 + 8 * 4));
  it('stays as it is where its step is no constant', () => requests('int i = threadIdx.x; i < n + 320; i += n', 33));
});

describe('sums in loops that are written out', () => {
  it('are simplified: the element before that of the next pass is this one', () => {
    check(`
__global__ void scan(float *a, const float *__restrict__ b, int n, int stride) {
  for (int i = 1; i < n; i++)
    a[i * stride + threadIdx.x] = a[(i - 1) * stride + threadIdx.x] + b[i * stride];
  //                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load x2
  //                                                                  ^^^^^^^^^^^^^ global load x8
  //^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store x8
}
int main() { float *a, *b; scan<<<1, 32>>>(a, b, 9, 32); }
`);
  });
});
