import { checkLines } from './check-lines';

/** Line tables of nvcc 13.0 for sm_90 say the same of every kernel here. */
describe('what every pass and what follows the loop begin with is shown', () => {
  it('at the barrier before it', () => {
    checkLines(`k(int *d, int n) {
  __shared__ int s[4][16];
  int x = threadIdx.x % 16, y = threadIdx.x / 16;
  s[y][x] = d[threadIdx.x];
  __syncthreads(); //= shared load 1 x 4 bytes
  for (int q = 0; q < 4; ++q) {
    s[y][x] = min(s[y][x], s[y][q] + s[q][x]); //= shared load 9 x 4 bytes, shared store 4 x 4 bytes
    __syncthreads(); //= shared load 3 x 4 bytes
  }
  d[threadIdx.x] = s[y][x]; //= global store 1 x 4 bytes
}`);
  });

  it('where it stands if a pass begins with another load', () => {
    checkLines(`k(int *d, int n) {
  __shared__ int s[4][16];
  int x = threadIdx.x % 16, y = threadIdx.x / 16;
  s[y][x] = d[threadIdx.x];
  __syncthreads(); //= none
  for (int q = 0; q < 4; ++q) {
    s[y][x] = min(s[y][q] + s[q][x], s[y][x]); //= shared load 12 x 4 bytes, shared store 4 x 4 bytes
    __syncthreads(); //= none
  }
  d[threadIdx.x] = s[y][x]; //= global store 1 x 4 bytes, shared load 1 x 4 bytes
}`);
  });

  it('where it stands if another load follows the loop', () => {
    checkLines(`k(int *d, int n) {
  __shared__ int s[4][16];
  int x = threadIdx.x % 16, y = threadIdx.x / 16;
  s[y][x] = d[threadIdx.x];
  __syncthreads(); //= none
  for (int q = 0; q < 4; ++q) {
    s[y][x] = s[y][x] * 3 + s[q][15 - x]; //= shared load 8 x 4 bytes, shared store 4 x 4 bytes
    __syncthreads(); //= none
  }
  d[threadIdx.x] = s[3 - y][x]; //= global store 1 x 4 bytes, shared load 1 x 4 bytes
}`);
  });
});
