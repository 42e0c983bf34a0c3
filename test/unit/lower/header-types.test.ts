/** Types that the C library's headers name, which are not read: the host's program and kernels know them by their sizes. */
import { check } from '../analysis/check-accesses';
import { equals } from './check-index';

describe('types of the C library', () => {
  it('have the sizes of 64-bit Linux', () => {
    equals('', 'sizeof(u_int32_t)', 4);
    equals('', 'sizeof(u_int64_t)', 8);
    equals('', 'sizeof(u_int8_t) + sizeof(u_char)', 2);
    equals('', 'sizeof(u_short) + sizeof(u_int16_t)', 4);
    equals('', 'sizeof(int_fast16_t)', 8);
    equals('', 'sizeof(uint_least16_t)', 2);
    equals('', 'sizeof(uintmax_t)', 8);
  });

  it('are cast to where nobody declares them', () => {
    equals('int two = 2;', '(u_char)(two + 256)', 2);
    equals('int two = 2;', '(u_int)(two)', 2);
  });

  it('count loops and are parameters of kernels', () => {
    check(`
__global__ void k(float* out, u_int32_t rows, uint_fast8_t step) {
  for (u_int32_t i = 0; i < rows; i++)
    out[(i * 32 + threadIdx.x) * step] = 1;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 8/4 sectors x3 exact
}
int main() {
  float* out;
  u_int32_t rows = 3;
  cudaMalloc(&out, 4096);
  k<<<1, 32>>>(out, rows, 2);
}`);
  });
});
