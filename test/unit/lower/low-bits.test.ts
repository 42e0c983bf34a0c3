/** Bits of loop variables that are the same in every pass: `stage & 1` in the copies of a body is a constant. */
import { check } from '../analysis/check-accesses';

/** Pairs of neighbours: one access of 8 bytes, at the second, where they start at an even element. */
const pairs = (head: string, index: string, expected: string, foot = '') =>
  check(`
__global__ void pairs(const float *in, float *out, int n) {
  __shared__ float s[258];
  int t = threadIdx.x;
  s[t] = in[t];
  s[t + 129] = in[t + 129];
  ${head} {
    __syncthreads();
    int i = 2 * t + (${index});
    float a = s[i], b = s[i + 1];
${expected}
    __syncthreads();
    s[t] = a * b;
    ${foot}
  }
  out[t] = s[t];
}
int main() { float *p; pairs<<<1, 128>>>(p, p, 12); }
`);

describe('low bits of a loop variable', () => {
  it('are those of its start where the step is even', () =>
    pairs('for (int p = 0; p < n; p += 2)', 'p & 1', '    //                  ^^^^^^^^ shared load 8 bytes'));
  it('also by a remainder', () =>
    pairs('for (int p = 4; p < n; p += 2)', 'p % 2', '    //                  ^^^^^^^^ shared load 8 bytes'));
  it('are another constant in an odd start', () =>
    pairs(
      'for (unsigned p = 1; p < n; p += 4)',
      '(p + 1) & 3',
      '    //                  ^^^^^^^^ shared load 8 bytes',
    ));
  it('change from pass to pass where the step is odd', () =>
    pairs('for (int p = 0; p < n; p += 3)', 'p & 1', '    //        ^^^^ shared load 4 bytes'));
  it('do not come from an open start', () =>
    pairs('for (int p = n & 7; p < n; p += 2)', 'p & 1', '    //        ^^^^ shared load 4 bytes'));
  it('under a shift of the thread index are nought', () =>
    pairs(
      'for (int p = 0; p < n; p += 3)',
      '(2 * t + 4 * p) & 1',
      '    //                  ^^^^^^^^ shared load 8 bytes',
    ));
});

describe('a bit that a number does not have', () => {
  const pair = (index: string, set: string, expected: string) =>
    check(`
__global__ void pair(const float *in, float *out, int n) {
  __shared__ float s[1024];
  int t = threadIdx.x;
  unsigned u = threadIdx.x;
  for (int i = t; i < 1024; i += 128) s[i] = in[i];
  __syncthreads();
  int p = ${index};
  float a = s[p];
  float b = ${set};
${expected}
  out[t] = a * (b + 3);
}
int main() { float *p; pair<<<1, 128>>>(p, p, 12); }
`);
  const together = (index: string, set: string) =>
    pair(index, set, `  //        ${'^'.repeat(set.length)} shared load 8 bytes`);
  const apart = (index: string, set: string) =>
    pair(index, set, `  //        ${'^'.repeat(set.length)} shared load 4 bytes`);

  it('is added by setting or turning it', () => {
    for (const index of ['2 * t', 't << 1', '(t << 1) & 63', '2 * n + 4 * t', 'u / 8 << 4 | (u & 7) << 1']) {
      together(index, 's[p | 1]');
      together(index, 's[p ^ 1]');
    }
  });
  it('is not where a mask alone has cleared it, which is gone where it is set again', () => {
    apart('n & ~1', 's[p | 1]');
    apart('(unsigned)n / 2 * 2', 's[p | 1]');
    together('n & ~1', 's[p + 1]');
  });
  it('is not where it may be there', () => {
    apart('t', 's[p | 1]');
    apart('n % 2 ? 2 * t : 4 * t', 's[p | 1]');
  });
});

describe('a buffer that is changed over in every pass', () => {
  const turned = (copies: number, how: string, expected: string) =>
    pairs(`int c = 0;\n#pragma unroll ${copies}\n  for (int p = 0; p < 252; ++p)`, 'c', expected, how);
  it('is the same in every other copy', () => {
    for (const how of ['c ^= 1;', 'c = 1 - c;', 'c = c ^ 1;', 'c = !c;'])
      turned(2, how, '    //                  ^^^^^^^^ shared load 8 bytes');
  });
  it('is not where the copies are odd', () => turned(3, 'c ^= 1;', '    //        ^^^^ shared load 4 bytes'));
  it('is not where the head of the loop changes it too', () =>
    pairs(
      'int c = 0;\n#pragma unroll 2\n  for (int p = 0; p < 252; ++p, c = 3)',
      'c',
      '    //        ^^^^ shared load 4 bytes',
      'c ^= 1;',
    ));
  it('is not where a function may change it too', () =>
    pairs(
      'auto next = [](int& i) { i += 1; };\n  int c = 0;\n#pragma unroll 2\n  for (int p = 0; p < 252; ++p)',
      'c',
      '    //        ^^^^ shared load 4 bytes',
      'next(c); c ^= 1;',
    ));
  it('is not where `!` begins with another number than its own', () =>
    pairs(
      'int c = 2;\n#pragma unroll 2\n  for (int p = 0; p < 252; ++p)',
      'c',
      '    //        ^^^^ shared load 4 bytes',
      'c = !c;',
    ));
  it('is not where it is changed over now and then', () =>
    turned(2, 'if (a > 0) c ^= 1;', '    //        ^^^^ shared load 4 bytes'));
});

describe('a test for equality', () => {
  const between = (p: string, expected: string) =>
    check(`
__global__ void k(float *out, int n) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = s[t + 32] = n;
  for (int p = 0; p < n; p += 2) {
    __syncthreads();
    float a = s[2 * t];
    if (p == ${p}) s[t] = a;
    out[t + p] = a + s[2 * t + 1];
${expected}
    __syncthreads();
  }
}
int main() { float *p; k<<<1, 32>>>(p, 12); }
`);
  it('that low bits decide keeps nothing apart', () =>
    between('5', '    //               ^^^^^^^^^^^^ shared load 8 bytes'));
  it('any other does', () => between('6', '    //               ^^^^^^^^^^^^ shared load 4 bytes'));
});
