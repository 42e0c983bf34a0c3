import { checkLines } from './check-lines';

const k = (use: string, expected: string) => `k(const unsigned long long *p, unsigned long long *o) {
  int i = threadIdx.x;
  unsigned long long w = p[i]; //= ${expected}
  o[i] = ${use};
}`;

describe('64-bit words', () => {
  const half = 'global load 1 x 4 bytes';
  const whole = 'global load 1 x 8 bytes';
  for (const [use, expected] of [
    ['w << 60', half],
    ['w << 32', half],
    ['(unsigned)w * 3', half],
    ['(w & 0xffffffff) * 5', half],
    ['w >> 60', half],
    ['w << 20', whole],
    ['w >> 20', whole],
    ['w << threadIdx.y', whole],
    ['w * 3', whole],
    ['(w >> 60) | (w << 60)', whole],
    ['w & 0xff00000000', half],
    ['w >> 32 << 32', half],
    ['(w ^ i) >> 32', half],
    ['(unsigned)(w * 3 + i)', half],
    ['(w + i) >> 32', whole],
    ['(w >> 10) << 40', whole],
    ['(i % 2 ? w : 5) >> 40', half],
    ['((w >> 32) + 1) << 32', whole],
    ['((w >> 40) + 1) << 32', half],
    ['(w >> 32) < 7', whole],
    ['(w >> 32) == 7', half],
    ['(w >> 32) < threadIdx.y', half],
    ['w < 7', whole],
  ])
    it(`of which ${use} is used: ${expected}`, () => checkLines(k(use, expected)));

  it('of which an index of 32 bits is made are read by their low half, also where it has a constant stride', () => {
    for (const stride of ['12', 's'])
      checkLines(`k(const long long *p, float *o, int s) {
  int row = p[threadIdx.x]; //= global load 1 x 4 bytes
  o[row * ${stride} + threadIdx.x] = 1;
}`);
    checkLines(`k(const long long *p, float *o) {
  long long row = p[threadIdx.x]; //= global load 1 x 8 bytes
  o[row * 12 + threadIdx.x] = 1;
}`);
  });

  it('of shared memory are read by half too', () =>
    checkLines(`k(unsigned long long *o) {
  __shared__ unsigned long long s[32];
  s[threadIdx.x] = threadIdx.x * 3;
  __syncthreads();
  o[threadIdx.x] = s[threadIdx.x ^ 1] >> 32; //= shared load 1 x 4 bytes, global store 1 x 8 bytes
}`));

  it('are read whole when they are volatile', () => {
    checkLines(`k(volatile unsigned long long *p, unsigned long long *o) {
  o[threadIdx.x] = p[threadIdx.x] >> 60; //= global load 1 x 8 bytes, global store 1 x 8 bytes
}`);
  });
});
