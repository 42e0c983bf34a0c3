/** Blocks that draw numbers from a counter in global memory: each number is drawn once. */
import { check } from '../analysis/check-accesses';

describe('numbers drawn from a counter', () => {
  it('lets one block find that it is the last', () => {
    check(`
__device__ unsigned int done;
__global__ void sum(float *partial, float *result) {
  __shared__ bool last;
  if (threadIdx.x == 0) last = atomicInc(&done, gridDim.x) == gridDim.x - 1;
  __syncthreads();
  if (last) {
    result[threadIdx.x] = partial[threadIdx.x];
    //                    ^^^^^^^^^^^^^^^^^^^^ global load x2 assumed
  }
}
int main() { float *p, *r; sum<<<200, 64>>>(p, r); }
`);
  });

  it('gives each block another tile', () => {
    check(`
__global__ void tiles(int *next, const float *in, float *out) {
  __shared__ int tile;
  if (threadIdx.x == 0) tile = atomicAdd(next, 1);
  __syncthreads();
  out[tile * 32 + threadIdx.x] = 2 * in[(tile * 32 + threadIdx.x) * 8];
  //                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load 32/4 sectors x100 assumed
}
int main() { int *n; float *p, *r; tiles<<<100, 32>>>(n, p, r); }
`);
  });

  it('is drawn from at several places', () => {
    check(`
__global__ void queue(int *next, float *out, int n) {
  __shared__ int item;
  if (threadIdx.x == 0) item = atomicAdd(next, 1);
  __syncthreads();
  while (item < n) {
    if (n > 0) out[item * 32 + threadIdx.x] = 1;
    //         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store x100 assumed
    __syncthreads();
    if (threadIdx.x == 0) item = atomicAdd(next, 1);
    __syncthreads();
  }
}
int main() { int *n; float *r; queue<<<100, 32>>>(n, r, 100); }
`);
  });

  it('ends a loop over a queue of work', () => {
    check(`
__global__ void queue(int *next, float *out, int n) {
  __shared__ int item;
  while (true) {
    if (threadIdx.x == 0) item = atomicAdd(next, 1);
    __syncthreads();
    if (item >= n) break;
    float *at = out + item * 32;
    if (threadIdx.x < 32) at[threadIdx.x] = item;
    //                    ^^^^^^^^^^^^^^^ global store x1000 assumed
    __syncthreads();
  }
}
int main() { int *n; float *r; queue<<<10, 32>>>(n, r, 1000); }
`);
  });

  it('knows nothing of numbers that several lanes draw, of other steps, or of a counter for each block', () => {
    check(`
__global__ void others(int *count, int *each, float *out) {
  int mine = atomicAdd(count, 1);
  if (mine >= 0) out[mine] = 1;
  //             ^^^^^^^^^ global store unknown
  int his = threadIdx.x == 0 ? atomicAdd(&each[blockIdx.x], 1) : 0;
  if (threadIdx.x < 2) out[his] = 1;
  //                   ^^^^^^^^ global store unknown
  int some = threadIdx.x == 0 ? atomicAdd(count, each[0]) : 0;
  if (threadIdx.x < 2) out[some] = 1;
  //                   ^^^^^^^^^ global store unknown
}
int main() { int *n; float *r; others<<<10, 32>>>(n, n, r); }
`);
  });
});
