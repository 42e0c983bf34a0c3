/** String literals in kernels are tables of letters in global memory. */
import { checkLines } from '../machine/check-lines';

describe('a string in a kernel', () => {
  it('is loaded from at an index that varies', () =>
    checkLines(`k(char *o, int n) {
  const char *digits = "0123456789abcdef";
  o[threadIdx.x] = digits[threadIdx.x & 15]; //= global load 1 x 1 bytes, global store 1 x 1 bytes
  o[threadIdx.x + 32] = "ACGT"[threadIdx.x & 3]; //= global load 1 x 1 bytes, global store 1 x 1 bytes
}`));
  it('is known at an index that is', () =>
    checkLines(
      `k(unsigned *o) {
  const unsigned char *magic = (const unsigned char *)"expand 32-byte k";
  o[threadIdx.x + word(magic) - 0x61707865] = 1; //= global store 1 x 4 bytes
}`,
      `__device__ unsigned word(const unsigned char *p) {
  return p[0] | p[1] << 8 | p[2] << 16 | p[3] << 24; //= none
}`,
    ));
  it('is a table of global memory as a static array, and no access where it is known', () =>
    checkLines(`k(char *o, int n) {
  static const char digits[] = "0123456789abcdef";
  static const int order[3][2] = {{3, 1}, {4, 1}, {5, 9}};
  o[threadIdx.x] = digits[threadIdx.x & 15]; //= global load 1 x 1 bytes, global store 1 x 1 bytes
  o[threadIdx.x + 32] = order[n % 3][threadIdx.x & 1]; //= global load 1 x 4 bytes, global store 1 x 1 bytes
  o[threadIdx.x + 64] = order[2][1] + digits[3]; //= global store 1 x 1 bytes
}`));
});
