/** Addresses of shared memory have 32 bits: an unsigned index below zero wraps to where the array is. */
import assert from 'node:assert/strict';
import { analyse } from './check-accesses';

/** Space and wavefronts of the loads of a line. */
function check(statements: string, expected: readonly string[]): void {
  const source = `
__global__ void k(int *o, int rounds) {
  __shared__ int a[2048];
  for (int i = threadIdx.x; i < 2048; i += 32) a[i] = i;
  __syncthreads();
  unsigned x = threadIdx.x + 1;
  int *middle = a + 1024;
${statements}
}
int main() { int *o; cudaMalloc(&o, 400); k<<<1, 32>>>(o, 4); }`;
  const line = source.split('\n').findIndex((text) => text.includes('// here')) + 1;
  const [{ launches }] = analyse(source).kernels;
  const loads = launches[0].accesses.filter((a) => a.line === line && a.operation === 'load');
  assert.deepEqual(
    loads.map((a) => `${a.space} ${a.requests} ${a.wavefronts}`),
    expected,
  );
}

describe('pointers into shared memory', () => {
  it('behind the element that they point to, counted down', () =>
    check('  o[threadIdx.x] = middle[~x]; // here', ['shared 1 1']));
  it('with a stride, from where other numbers begin', () =>
    check('  int *from = middle + 2 * threadIdx.x;\n  o[threadIdx.x] = from[~(3 * x)]; // here', ['shared 1 1']));
  it('kept in a variable from pass to pass', () =>
    check(
      `  int sum = 0;
  int *at = middle + threadIdx.x;
  for (int r = 0; r < rounds; r++) {
    unsigned y = x + r;
    sum += at[~y]; // here
    at += 1;
    __syncthreads();
  }
  o[threadIdx.x] = sum;`,
      ['shared 4 4'],
    ));
});
