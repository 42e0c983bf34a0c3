/** Lanes that several conditions lead to one statement make it together: a warp once (machine code of nvcc 13.0 for sm_90: a barrier stands in front). */
import { check } from '../analysis/check-accesses';

/** A warp whose lanes go all ways: the first condition holds for a third of them, the second for a fifth. */
const launched = (kernel: string): string => `
__global__ void k(const int *a, const int *b, float *x, float *y, int n) {
  int i = threadIdx.x;
${kernel}
}
int main() {
  int h[32], g[32];
  for (int i = 0; i < 32; i++) { h[i] = i % 3; g[i] = i % 5; }
  int *a, *b; float *x, *y;
  cudaMalloc(&a, 128); cudaMalloc(&b, 128); cudaMalloc(&x, 4096); cudaMalloc(&y, 4096);
  cudaMemcpy(a, h, 128, cudaMemcpyHostToDevice);
  cudaMemcpy(b, g, 128, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(a, b, x, y, 32);
}`;

describe('a statement that several conditions lead to', () => {
  it('is made once by those for whom one of them holds', () => {
    check(
      launched(`
  if (a[i] == 0 || b[i] == 0) x[i] = 1;
  //                          ^^^^ global store x1 15 lanes
  else y[i * 2] = 2;
  //   ^^^^^^^^ global store x1
  y[i] += 3;`),
    );
  });

  it('is made once by those for whom none holds', () => {
    check(
      launched(`
  if (a[i] == 0 && b[i] == 0) {
    x[i] = y[i + 32];
    x[i + 64] = y[i + 96];
  } else {
    x[i + 32] = y[i];
    //          ^^^^ global load x1
    x[i + 96] = y[i + 64];
    //          ^^^^^^^^^ global load x1
  }
  y[i] = 3;`),
    );
  });

  it('in a loop, and where the conditions nest', () => {
    check(
      launched(`
  for (int p = 0; p < n; p += 16) {
    if ((a[(i + p) & 31] == 0 && b[i] == 0) || a[(i + 1) & 31] == 2) {
      x[i + p] += y[i];
      //          ^^^^ global load x2
      x[i * 2] = y[i + p];
    } else y[i + 2 * p] += 2;
  }`),
    );
  });

  it('where the conditions are the sides of another, in a loop as well', () => {
    check(
      launched(`
  int j = i ^ 1, *c = (int *)a;
  if (j > i) {
    bool isUp = (i & 4) == 0;
    if ((isUp && c[i] > c[j]) || (!isUp && c[i] < c[j])) {
      int v = c[i];
      c[i] = c[j];
    //^^^^ global store x1
      c[j] = v;
    }
  }`),
    );
    check(
      launched(`
  #pragma unroll 1
  for (int p = 1; p < 3; p++) {
    int j = i ^ p, *c = (int *)a;
    bool isUp = (i & 4) == 0;
    if ((isUp && c[i] > c[j]) || (!isUp && c[i] < c[j])) c[i] = 1;
    //                                                   ^^^^ global store x2
  }`),
    );
  });

  it('in front of a return', () => {
    check(
      launched(`
  if (a[i] == 0 || b[i] == 0) return;
  { x[i] = 1; }
  //^^^^ global store x1`),
    );
  });
});
