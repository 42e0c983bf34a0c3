import { checkLines } from './check-lines';

/** Machine code of nvcc 13.0 for sm_90 has these instructions in and in front of every loop here. */
describe('a place that every pass of a loop reads', () => {
  it('is handed on to the next pass where nothing may change it behind its last read', () => {
    checkLines(`k(const float *x, float *o, int n) {
  __shared__ float s[32];
  int t = threadIdx.x;
  s[t ^ 1] = x[t];
  __syncthreads();
  #pragma unroll 1
  for (int r = 0; r < n; ++r) {
    float a = s[t]; //= shared load 1 x 4 bytes
    __syncthreads();
    o[r * 32 + t] = a * s[t]; //= shared load 10 x 4 bytes, global store 10 x 4 bytes
  }
}`);
  });

  it('is not read in front of the loop where it was stored there', () => {
    checkLines(`k(const float *x, float *o, int n) {
  __shared__ float s[32];
  int t = threadIdx.x;
  s[t] = x[t];
  #pragma unroll 1
  for (int r = 0; r < n; ++r) {
    float a = s[t]; //= none
    __syncthreads();
    o[r * 32 + t] = a * s[t]; //= shared load 10 x 4 bytes, global store 10 x 4 bytes
  }
}`);
  });

  it('is handed on where the pass stores it last', () => {
    checkLines(`k(const float *x, float *o, int n) {
  __shared__ float s[32];
  int t = threadIdx.x;
  s[t] = x[t];
  #pragma unroll 1
  for (int r = 0; r < n; ++r) {
    float a = s[t]; //= none
    __syncthreads();
    s[t] = a * x[r * 32 + t]; //= shared store 10 x 4 bytes, global load 10 x 4 bytes
    o[r * 32 + t] = a;
  }
}`);
  });

  it('is read anew behind a barrier, and where only some passes read it again', () => {
    checkLines(`k(const float *x, float *o, int n) {
  __shared__ float s[32];
  int t = threadIdx.x;
  s[t] = x[t];
  #pragma unroll 1
  for (int r = 0; r < n; ++r) {
    float a = s[t]; //= shared load 10 x 4 bytes
    __syncthreads();
    float b = s[t]; //= shared load 10 x 4 bytes
    __syncthreads();
    o[r * 32 + t] = a * b;
  }
}`);
  });

  it('behind shuffles alone leaves the loop, but for one that has another inside or stores to shared memory', () => {
    const loop = (more: string, found: string) => `k(const float *x, float *o, int n, int m) {
  __shared__ float s[32], u[64];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  #pragma unroll 1
  for (int r = 0; r < n; ++r) {
    float b = __shfl_sync(0xffffffffu, x[t + r], r & 31);
    b *= s[t ^ 1]; //= ${found}
    ${more}
    o[r * 32 + t] = b;
  }
}`;
    checkLines(loop('', 'shared load 1 x 4 bytes'));
    checkLines(loop('u[(r + t) & 63] = b; __syncwarp(); b = u[t];', 'shared load 10 x 4 bytes'));
    checkLines(loop('if (b > 3) atomicAdd(&u[r], 1.f);', 'shared load 10 x 4 bytes'));
    checkLines(
      loop(
        '\n    #pragma unroll 1\n    for (int k = 0; k < m; ++k) b += __shfl_xor_sync(~0u, b, k);',
        'shared load 10 x 4 bytes',
      ),
    );
  });
});

describe('a fixed place of a declared array', () => {
  const loop = (declared: string, index: string, inFront: string, inside: string) => `k(const int *x, int *o, int n) {
  ${declared}
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  #pragma unroll 1
  for (int i = 0; i < n; i++) { //= ${inFront}
    int v = x[i];
    if (v + 1 > n)
      v = x[v] * s[${index}]; //= ${inside}
    o[i * 32 + threadIdx.x] = v;
  }
}`;

  it('is read in front of a loop of which only some passes read it', () => {
    checkLines(loop('__shared__ int s[32];', '3', 'shared load 1 x 4 bytes', 'global load 10 x 4 bytes'));
  });

  it('not where the index is open or the array may be too small', () => {
    const inside = 'global load 10 x 4 bytes, shared load 10 x 4 bytes';
    checkLines(loop('__shared__ int s[32];', 'threadIdx.x ^ 1', 'none', inside));
    checkLines(loop('extern __shared__ int s[];', '3', 'none', inside));
  });
});
