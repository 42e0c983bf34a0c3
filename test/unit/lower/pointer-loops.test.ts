/** Loops that move a pointer over a local array. */
import { check } from '../analysis/check-accesses';

const kernel = (loop: string) => `
__global__ void k(float *o, const float *f, int n) {
  float a[4] = {f[0], f[1], f[2], f[3]};
  float sum = 0;
  ${loop}
  o[threadIdx.x * 2] = sum;
//^^^^^^^^^^^^^^^^^^ global store 8/4 sectors exact
}
int main() { float *o, *f; k<<<1, 32>>>(o, f, 3); }`;

describe('pointers that loops move over a local array', () => {
  it('lead to registers where the number of passes is known', () => {
    for (const loop of [
      'for (const float *p = a; p < a + 4; p++) sum += *p;',
      'for (const float *p = a + 3; p >= a; p--) sum += *p;',
      'for (float *p = a, *end = a + 4; end != p; p += 2) sum += *p;',
      'const float *p = a, *end = p + 4; while (p != end) sum += *p++;',
      'const float *p = a, *end = p + 4; while (p != end) { float x = *p++; if (x < 0) break; sum += x; }',
    ])
      check(kernel(loop));
  });

  it('lead to memory where it is not', () => {
    for (const loop of [
      `const float *p = a; while (n--) sum += *p++;
  //                                     ^^^^ local load`,
      `const float *p = a; for (int i = 0; i < n; i++) { if (f[i] > 0) p++; sum += *p; }
  //                                                                          ^^ local load`,
    ])
      check(kernel(loop));
  });

  it('lead to a variable that bytes and words are made of', () => {
    check(`
__device__ unsigned long long mixed(const void *key, int bytes) {
  unsigned long long h = bytes;
  const unsigned long long *at = (const unsigned long long *)key, *end = at + bytes / 8;
  while (at != end) { unsigned long long k = *at++; h = (h ^ k * 3) * 5; }
  return h;
}
__global__ void k(unsigned long long *o) {
  unsigned long long seed = threadIdx.x;
  o[threadIdx.x] = mixed(&seed, 8);
//^^^^^^^^^^^^^^ global store 8/8 sectors exact
}
int main() { unsigned long long *o; k<<<1, 32>>>(o); }`);
  });
});
