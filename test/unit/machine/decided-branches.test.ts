import { checkLines } from './check-lines';

// lines and numbers are those of machine code (nvcc 13.0, sm_90) and of an H200
describe('branches that the one before has decided', () => {
  it('are one with it: what both arms begin with is loaded once', () => {
    checkLines(`k(int *a, int up, int step) {
  int i = threadIdx.x;
  int p = i ^ step;
  if (p > i) {
    if ((i & up) == 0) { //= global load 2 x 4 bytes
      if (a[i] > a[p]) { //= none
        int t = a[i];
        a[i] = a[p];
        a[p] = t;
      }
    }
    if ((i & up) != 0) {
      if (a[i] < a[p]) { //= none
        int t = a[i];
        a[i] = a[p];
        a[p] = t;
      }
    }
  }
}`);
  });

  it('also as parts of conditions', () => {
    checkLines(`k(int *a, int up, int step) {
  int i = threadIdx.x;
  int p = i ^ step; //= global load 2 x 4 bytes
  if ((i & up) == 0 && a[i] > a[p]) { //= none
    int t = a[i];
    a[i] = a[p]; //= global store 1 x 4 bytes
    a[p] = t;    //= global store 1 x 4 bytes
  } else if ((i & up) != 0 && a[i] < a[p]) { //= none
    int t = a[i];
    a[i] = a[p]; //= global store 1 x 4 bytes
    a[p] = t;    //= global store 1 x 4 bytes
  }
}`);
  });

  it('both sides of an or go on together', () => {
    checkLines(`k(int *out) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = t % 5;
  __syncthreads();
  #pragma unroll 1
  for (int j = 16; j > 0; j >>= 1) {
    int p = t ^ j;
    if (p > t) { //= shared load 10 x 4 bytes
      bool isUp = (t & 8) == 0;
      if ((isUp && s[t] > s[p]) ||
          (!isUp && s[t] < s[p])) {
        int x = s[t];
        s[t] = s[p]; //= shared store 5 x 4 bytes
        s[p] = x;    //= shared store 5 x 4 bytes
      }
    }
    __syncthreads();
  }
  out[t] = s[t];
}`);
  });

  it('stay two where something stands between them', () => {
    checkLines(`k(int *a, int *c, int up) {
  int i = threadIdx.x;
  if ((i & up) == 0) {
    if (a[i] > 7) c[i] = 1; //= global load 1 x 4 bytes, global store 1 x 4 bytes
  }
  c[i + 64] = 3;
  if ((i & up) != 0) {
    if (a[i] < 5) c[i] = 9; //= global load 1 x 4 bytes, global store 1 x 4 bytes
  }
}`);
  });

  it('stay two where they compare numbers with a fraction', () => {
    checkLines(`k(const float *x, const int *a, int *c, float least) {
  int i = threadIdx.x;
  float u = x[i];
  if (u < least) {
    if (a[i] > 7) c[i] = 1; //= global load 1 x 4 bytes, global store 1 x 4 bytes
  }
  if (!(u < least)) {
    if (a[i] < 5) c[i] = 9; //= global load 1 x 4 bytes, global store 1 x 4 bytes
  }
}`);
  });

  it('in a loop the loads stand at the branch before them', () => {
    checkLines(`k(int *a, int up) {
  int i = threadIdx.x;
  #pragma unroll 1
  for (int j = 16; j > 0; j >>= 1) {
    int p = i ^ j;
    if (p > i) { //= global load 10 x 4 bytes
      if ((i & up) == 0) {
        if (a[i] > a[p]) { //= none
          int t = a[i];
          a[i] = a[p];
          a[p] = t;
        }
      } else {
        if (a[i] < a[p]) { //= none
          int t = a[i];
          a[i] = a[p];
          a[p] = t;
        }
      }
    }
    __syncthreads();
  }
}`);
  });

  it('the first store of a function stands at its call, where all that it needs is known before', () => {
    checkLines(
      `k(int *a, int up, int step) {
  int i = threadIdx.x;
  int p = i ^ step;
  if ((i & up) == 0 && a[i] > a[p]) {
    swap(a, i, p); //= global store 1 x 4 bytes
  } else if ((i & up) != 0 && a[i] < a[p]) {
    swap(a, i, p); //= global store 1 x 4 bytes
  }
}`,
      `__device__ void swap(int *a, int i, int j) {
  int t = a[i];
  a[i] = a[j]; //= none
  a[j] = t; //= global store 2 x 4 bytes
}`,
    );
  });
});
