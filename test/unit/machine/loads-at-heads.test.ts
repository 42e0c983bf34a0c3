import assert from 'node:assert/strict';
import { analyse } from '../analysis/check-accesses';

/** What is shown at each line, with what is at its end in a comment: `//= load`, `//= load, store`; nothing at lines without one. */
function check(body: string): void {
  const source = `__global__ void ${body}`;
  const accesses = analyse(source).kernels.flatMap((k) => k.launches.flatMap((l) => l.accesses));
  const shown = accesses.flatMap((a) => (a.charged ?? [a]).map(({ line }) => ({ line, operation: a.operation })));
  const found = source.split('\n').map((_, index) => {
    const operations = shown.filter(({ line }) => line === index + 1).map(({ operation }) => operation);
    return [...new Set(operations)].sort().join(', ');
  });
  const expected = source.split('\n').map((line) => /\/\/= (.*)$/.exec(line)?.[1] ?? '');
  assert.deepEqual(found, expected);
}

/** Line tables of nvcc 13.0 for sm_90 say the same of every kernel here. */
describe('what is loaded in front of a loop and anew at the end of every pass is shown', () => {
  it('at the head of a while', () => {
    check(`k(const int *first, const int *next, int *d) {
  int p = first[threadIdx.x];
  while (p >= 0) { //= load
    d[p] = 1; //= store
    p = next[p];
  }
}`);
  });

  it('at the head of a for that counts something else', () => {
    check(`k(const float *x, float *d, int n) {
  float a = x[threadIdx.x];
  float s = 0;
  for (int i = 32; i < n; i += 32) { //= load
    s += a * a;
    a = x[i + threadIdx.x];
  }
  d[threadIdx.x] = s + a; //= store
}`);
  });

  it('at the head with what a continue loads', () => {
    check(`k(const int *first, const int *next, const int *other, int *d) {
  int p = first[threadIdx.x];
  while (p >= 0) { //= load
    if (d[p] == 5) { //= load
      p = other[p];
      continue;
    }
    d[p] = 1; //= store
    p = next[p];
  }
}`);
  });

  it('where it stands if something is stored behind it', () => {
    check(`k(const int *first, const int *next, int *d) {
  int p = first[threadIdx.x]; //= load
  while (p >= 0) {
    d[p] = 1; //= store
    p = next[p]; //= load
    d[p + 1] = 2; //= store
  }
}`);
  });

  it('where it stands if the loop asks at its end', () => {
    check(`k(const int *first, const int *next, int *d) {
  int p = first[threadIdx.x]; //= load
  do {
    d[p] = 1; //= store
    p = next[p]; //= load
  } while (p >= 0);
}`);
  });

  it('where it stands if it is read otherwise, or comes from another space', () => {
    check(`k(const float *x, const int *next, int *d, int n) {
  __shared__ int s[32];
  s[threadIdx.x] = d[threadIdx.x]; //= load, store
  __syncthreads();
  float a = x[threadIdx.x]; //= load
  int p = s[threadIdx.x + 1]; //= load
  while (p >= 0) {
    float b = x[p]; //= load
    d[p] = a * b; //= store
    a = b;
    p = next[p]; //= load
  }
}`);
  });
});

describe('the load of a variable that both arms at the end of a loop assign is one', () => {
  it('at the last arm of a while', () => {
    check(`k(const int *left, const int *right, const int *value, int *d) {
  int key = value[threadIdx.x]; //= load
  int p = 0;
  while (p >= 0) {
    if (key < value[p]) //= load
      p = left[p];
    else
      p = right[p]; //= load
  }
  d[threadIdx.x] = p; //= store
}`);
  });

  it('at the step behind them', () => {
    check(`k(const int *left, const int *right, const int *value, int *d, int n) {
  int key = d[threadIdx.x]; //= load
  int p = 0;
  int depth = 0;
  while (depth < n) {
    if (key < value[p]) //= load
      p = left[p];
    else
      p = right[p];
    depth++; //= load
  }
  d[threadIdx.x] = p; //= store
}`);
  });
});
