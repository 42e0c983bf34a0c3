/** Bytes of static shared memory, as ptxas reports them. */
import assert from 'node:assert/strict';
import { analyse } from '../analysis/check-accesses';

function sharedBytes(source: string): Record<string, number | undefined> {
  const { kernels } = analyse(source);
  return Object.fromEntries(kernels.map((k) => [k.name, k.launches[0].occupancy?.staticSharedBytes]));
}

const kernel = (name: string, declarations: string) => `
// warplens: block=256 grid=1
__global__ void ${name}(int *out) { ${declarations} out[threadIdx.x] = 1; }`;

describe('static shared memory', () => {
  it('is the sum of the arrays', () => {
    assert.deepEqual(sharedBytes(kernel('a', '__shared__ int e[17]; e[threadIdx.x % 17] += 1;')), { a: 68 });
  });

  it('is none for what nothing reads or writes', () => {
    assert.deepEqual(sharedBytes(kernel('a', '__shared__ int e[17], f[4]; int* p = e; f[threadIdx.x % 4] += 1;')), {
      a: 16,
    });
  });

  it('is none for what is only written', () => {
    assert.deepEqual(sharedBytes(kernel('a', '__shared__ int e[17]; e[threadIdx.x % 17] = 1;')), { a: 0 });
  });

  it('counts barriers that are initialised, alone and in arrays', () => {
    const barriers = `
using barrier_t = cuda::barrier<cuda::thread_scope_block>;`;
    const two = '__shared__ barrier_t full[2], empty[2]; init(&full[0], 2); init(&empty[threadIdx.x & 1], 3);';
    const one = '__shared__ barrier_t full; if (threadIdx.x == 0) init(&full, 2);';
    const array = '__shared__ int s[8]; s[threadIdx.x & 7] += 1;';
    assert.deepEqual(sharedBytes(barriers + kernel('a', two + array) + kernel('b', one + array)), { a: 64, b: 40 });
  });

  it('counts what a pipeline of a block keeps of its stages', () => {
    const state = (stages: number) =>
      `__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, ${stages}> state;`;
    const group = 'auto block = cooperative_groups::this_thread_block();';
    const one = `${group} ${state(1)} auto pipe = cuda::make_pipeline(block, &state); pipe.producer_acquire();`;
    const four = `${group} ${state(4)} auto pipe = cuda::make_pipeline(block, &state, threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer); pipe.producer_acquire();`;
    assert.deepEqual(sharedBytes(kernel('a', one) + kernel('b', four)), { a: 24, b: 72 });
  });

  it('is counted for each instance of a template, and once for several calls of one', () => {
    const sums = `
template <class T> struct Sum {
  __device__ static T over(T x) { __shared__ T all[32]; all[threadIdx.x % 32] = x; __syncthreads(); return all[0]; }
};
template <int N> __device__ int first(int x) { __shared__ int s[8]; s[threadIdx.x % 8] = x; __syncthreads(); return s[0] + N; }`;
    const body =
      'out[threadIdx.x] = first<1>(3) + first<2>(4) + first<1>(5) + Sum<int>::over(1) + (int)Sum<double>::over(2.0);';
    assert.deepEqual(sharedBytes(sums + kernel('a', body)), { a: 2 * 32 + 128 + 256 });
  });

  it('is rounded up beside dynamic arrays, in every kernel of the file', () => {
    const dynamic = kernel('b', 'extern __shared__ float p[]; p[threadIdx.x] = 1;');
    assert.deepEqual(sharedBytes(kernel('a', '__shared__ int e[17]; e[threadIdx.x % 17] += 1;') + dynamic), {
      a: 80,
      b: 0,
    });
    const wide = kernel('b', 'extern __shared__ __align__(32) float p[]; p[threadIdx.x] = 1;');
    assert.deepEqual(sharedBytes(kernel('a', '__shared__ int e; e += 1;') + wide), { a: 32, b: 0 });
    // hungarian of HeCBench: the words in the other order, at namespace scope
    const outside = '__shared__ extern int p[];';
    assert.deepEqual(sharedBytes(outside + kernel('a', '__shared__ bool e; e = !e;')), { a: 16 });
  });
});

describe('dynamic shared memory of a size that nobody gives', () => {
  it('keeps what is stored there', () => {
    const report = analyse(`
__global__ void k(int *out, const int *in) {
  extern __shared__ int at[];
  at[threadIdx.x] = threadIdx.x * 2;
  __syncthreads();
  out[at[threadIdx.x]] = 1;
}
void run(int *out, const int *in, int bytes) { k<<<4, 32, bytes>>>(out, in); }`);
    const store = report.kernels[0].launches[0].accesses.find((a) => a.space === 'global' && a.operation === 'store');
    assert.deepEqual([store?.sectors, store?.idealSectors], [32, 16]);
  });
});
