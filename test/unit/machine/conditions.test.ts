import { check } from '../analysis/check-accesses';
import { checkLines } from './check-lines';

describe('conditions of several parts', () => {
  it('what the second part read is known to what it guards', () => {
    checkLines(`k(const int *in, int n) {
  __shared__ int key[64], start[64];
  int i = threadIdx.x;
  key[i] = in[i];
  __syncthreads();
  if (i > n && key[i] != key[i + 1]) //= shared load 2 x 4 bytes
    start[key[i]] = i;               //= shared store 1 x 4 bytes
  __syncthreads();
  ((int *)in)[i] = start[i];
}`);
  });

  it('also of three parts', () => {
    checkLines(`k(const int *in, int *out, int n) {
  int i = threadIdx.x;
  if (i < n + 60 && in[i] > 0 && in[i + 1] > 0) //= global load 2 x 4 bytes
    out[i] = in[i] + in[i + 1];                 //= global store 1 x 4 bytes
}`);
  });

  it('behind an or nobody knows which part was read', () => {
    checkLines(`k(const volatile int *in, int *out, int n) {
  int i = threadIdx.x;
  if (i < n || in[i] > 0) //= global load 1 x 4 bytes
    out[i] = 1;           //= global store 1 x 4 bytes
}`);
  });

  it('lanes that fail the first part do not read for the second', () => {
    checkLines(`k(const int *in, int *out, int n) {
  int i = threadIdx.x;
  if (n > 64 && in[i] > 0) //= none
    out[i] = 1;            //= none
}`);
  });
});

describe('answers of several parts', () => {
  const record = 'struct Row { int a, b, c, d; };';
  it('what a question has read before its last answer is known to what follows', () => {
    check(`
${record}
__device__ bool isFull(const Row& row) {
  if (row.a > 500) return false;
  if (row.b > 500) return false;
//    ^^^^^ global load x2
  return true;
}
__device__ int rate(const Row& row) {
  if (!isFull(row)) return -1;
  return row.a + row.b;
}
// warplens: block=64 grid=1
__global__ void k(const Row* __restrict__ rows, int* out) {
  out[threadIdx.x] = rate(rows[threadIdx.x]);
//^^^^^^^^^^^^^^^^ global store x2 4/4 sectors exact
}`);
  });

  it('so it is to what a flag guards, a number or a truth value', () => {
    const flagged = (type: string, yes: string, no: string, asks: string) =>
      checkLines(`k(const int *in, int *out) {
  int i = threadIdx.x;
  ${type} keep = ${yes};
  if (in[i] == 70) keep = ${no};          //= global load 1 x 4 bytes
  else if (in[i + 1] == 70) keep = ${no}; //= global load 1 x 4 bytes
  if (${asks}) out[i] = in[i + 1];        //= global store 1 x 4 bytes
}`);
    flagged('bool', 'true', 'false', 'keep');
    flagged('int', '1', '0', 'keep == 1');
  });

  it('not behind a barrier', () => {
    checkLines(`k(const int *in, int *out) {
  int i = threadIdx.x;
  bool keep = true;
  if (in[i] == 70) keep = false;          //= global load 1 x 4 bytes
  else if (in[i + 1] == 70) keep = false; //= global load 1 x 4 bytes
  __syncthreads();
  if (keep) out[i] = in[i + 1];           //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`);
  });
});

describe('loads on one side of a branch', () => {
  it('of a fixed element of a declared array are made by all lanes, once', () => {
    checkLines(`k(const int *in, int *out) {
  __shared__ int total[1];
  int i = threadIdx.x;
  if (i == 0) total[0] = in[7];
  __syncthreads();
  int a = in[i];
  int r = a > 3 ? i : total[0] + i;     //= shared load 1 x 4 bytes
  int q = a > 5 ? i * 3 : total[0] - i; //= none
  out[i] = r + q;
}`);
  });

  it('are made by the lanes that need them where there is more to compute', () => {
    const kernel = (terms: string, lanes: number) => `
// warplens: block=32 grid=1
__global__ void k(const float* in, float* out) {
  __shared__ float part[8];
  float x = in[threadIdx.x];
  if (threadIdx.x < 8) part[threadIdx.x] = x;
  __syncthreads();
  if (threadIdx.x == 0) x += part[0] * part[5]${terms};
  //                         ^^^^^^^ shared load ${lanes} lanes
  out[threadIdx.x] = x;
}`;
    check(kernel('', 32));
    check(kernel(' + part[3] * part[7]', 1));
  });

  it('of an element that is not fixed stay there', () => {
    checkLines(`k(const int *in, int *out, int n) {
  __shared__ int t[64];
  int i = threadIdx.x;
  t[i] = in[i + 9];
  __syncthreads();
  int a = in[i];
  if (n > 64) a += t[i ^ 1]; //= none
  out[i] = a;
}`);
  });
});
