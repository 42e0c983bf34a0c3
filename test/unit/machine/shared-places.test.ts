import { checkLines } from './check-lines';

/** Machine code of nvcc 13.0 for sm_90 has these instructions, one of each. */
describe('elements of a shared array behind another', () => {
  const kernel = (
    before: string,
    count: number,
    index: string,
    found: string,
  ) => `k(const unsigned char *in, int *out) {
  __shared__ ${before};
  __shared__ int res[64];
  int t = threadIdx.x;
  p[t & 3] = in[t];
  res[t] = in[t + 32];
  __syncthreads();
  int s = p[t & 1];
#pragma unroll
  for (int i = 0; i < ${count}; i++) s += res[${index}]; //= ${found}
  out[t] = s;
}`;

  it('are read together as far as the place of the array is divided, where the index varies', () => {
    const index = '(t & 7) * 4 + i';
    checkLines(kernel('unsigned char p[32]', 4, index, 'shared load 1 x 16 bytes'));
    checkLines(kernel('unsigned char p[33]', 4, index, 'shared load 4 x 4 bytes'));
    checkLines(kernel('unsigned char p[37]', 4, index, 'shared load 2 x 8 bytes'));
    checkLines(kernel('int p[2]', 8, '(t & 3) * 8 + i', 'shared load 4 x 8 bytes'));
    checkLines(kernel('int p[3]', 3, index, 'shared load 3 x 4 bytes'));
  });

  it('are read together by their place where the index is constant', () => {
    checkLines(kernel('unsigned char p[33]', 3, 'i', 'shared load 1 x 16 bytes'));
    checkLines(kernel('int p[2]', 4, 'i', 'shared load 2 x 8 bytes'));
  });
});

describe('stores of two bytes to shared memory', () => {
  const kernel = (type: string, row: number, count: number, found: string) => `k(const int *in, int *out) {
  __shared__ ${type} s[32][${row}];
  int t = threadIdx.x, v = in[t];
#pragma unroll
  for (int i = 0; i < ${count}; i++) s[t][i] = (${type})(v * i); //= ${found}
  __syncthreads();
  out[t] = s[t ^ 1][1];
}`;

  it('become one of four or eight bytes, those of one byte do not', () => {
    checkLines(kernel('short', 36, 8, 'shared store 2 x 8 bytes'));
    checkLines(kernel('unsigned short', 2, 2, 'shared store 1 x 4 bytes'));
    checkLines(kernel('short', 33, 8, 'shared store 8 x 2 bytes'));
    checkLines(kernel('unsigned char', 36, 8, 'shared store 8 x 1 bytes'));
  });

  it('of halves and members as well, not around a store to another array', () => {
    checkLines(
      `k(const float *in, int *out) {
  __shared__ half s[128];
  __shared__ short u[64];
  __shared__ Pair pairs[32];
  int t = threadIdx.x;
  float v = in[t];
#pragma unroll
  for (int i = 0; i < 4; i++) s[t * 4 + i] = __float2half(v * i); //= shared store 1 x 8 bytes
  __syncthreads();
  pairs[t].x = (short)v; //= none
  pairs[t].y = (short)(v * 3); //= shared store 1 x 4 bytes
  __syncthreads();
  u[t * 2] = (short)(v * 5); //= shared store 1 x 2 bytes
  pairs[t].y = (short)(v * 7); //= shared store 1 x 2 bytes
  u[t * 2 + 1] = 3; //= shared store 1 x 2 bytes
  __syncthreads();
  out[t] = pairs[t ^ 1].y + (int)__half2float(s[t ^ 3]) + u[t ^ 5];
}`,
      '#include <cuda_fp16.h>\nstruct Pair { short x, y; };',
    );
  });
});
