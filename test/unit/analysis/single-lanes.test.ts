/** A warp of which one lane is on takes one request of one address, wherever that is. */
import { check } from './check-accesses';

describe('an address that nobody knows', () => {
  it('has figures where one lane of a warp goes there', () => {
    check(`
// warplens: block=64 grid=1
__global__ void k(const int* at, float* p, int* n, float4* v) {
  __shared__ float tile[64];
  tile[threadIdx.x] = p[threadIdx.x];
  if (threadIdx.x == 5) {
    p[at[0]] = 1;
  //^^^^^^^^ global store x1 1/1 sectors exact
    atomicAdd(&n[at[1]], 3);
  //^^^^^^^^^^^^^^^^^^^^^^^ global atomic x1 1/1 sectors exact
    v[at[2]] = make_float4(1, 2, 3, 4);
  //^^^^^^^^ global store x1 1/1 sectors 16 bytes exact
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) p[threadIdx.x] = tile[at[3]];
  //                                          ^^^^^^^^^^^ shared load x2 1/1 wavefronts exact
}
`);
  });

  it('has none where several do', () => {
    check(`
// warplens: block=64 grid=1
__global__ void k(const int* at, float* p) {
  if (threadIdx.x < 2) p[at[threadIdx.x]] = 1;
  //                   ^^^^^^^^^^^^^^^^^^ global store x1 unknown
  if (threadIdx.x < 33) p[at[threadIdx.x]] = 1;
  //                    ^^^^^^^^^^^^^^^^^^ global store x2 unknown
}
`);
  });

  it('has none where the pointer may lead to other memory, nor beside a heap', () => {
    check(`
// warplens: block=64 grid=1
__global__ void k(const int* at, float** p) {
  if (threadIdx.x == 5) p[1][at[0]] = 1;
  //                    ^^^^^^^^^^^ global store x1 unknown
}
// warplens: block=64 grid=1
__global__ void h(const int* at, float* p) {
  float* mine = (float*)malloc(64);
  mine[threadIdx.x % 16] = 1;
  if (threadIdx.x == 5) p[at[0]] = mine[3];
  //                    ^^^^^^^^ global store x1 unknown
}
`);
  });
});
