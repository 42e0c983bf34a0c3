/** Libraries whose headers are not read: their types have sizes, their functions do what they do to memory, and nothing is skipped. */
import assert from 'node:assert/strict';
import { analyse, check } from '../analysis/check-accesses';

/** A kernel of one warp in which nothing may be skipped, with expectations under its accesses. */
function understood(source: string): void {
  const report = source.includes('^') ? check(source) : analyse(source);
  for (const kernel of report.kernels) assert.deepEqual(kernel.skipped, [], kernel.name);
}

/** Bytes of static shared memory of the only kernel. */
function sharedBytes(declarations: string): number | undefined {
  const report = analyse(
    `// warplens: block=256 grid=1\n__global__ void k(int* out) { ${declarations} atomicAdd((int*)&s, 1); out[0] = 1; }`,
  );
  const [kernel] = report.kernels;
  assert.deepEqual(kernel.skipped, []);
  return kernel.launches[0].occupancy?.staticSharedBytes;
}

describe('libraries', () => {
  it('CUB: reductions and scans give values that are not known, and access nothing of the user', () => {
    understood(`
template <int B>
__global__ void k(const float* in, float* out, int n) {
  using Reduce = cub::BlockReduce<float, B>;
  __shared__ typename Reduce::TempStorage storage;
  float x = in[blockIdx.x * B + threadIdx.x];
//          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load 4/4 sectors
  float sum = Reduce(storage).Sum(x);
  int items[4] = {1, 2, 3, 4};
  int total;
  __shared__ typename cub::BlockScan<int, B>::TempStorage scan;
  cub::BlockScan<int, B>(scan).ExclusiveSum(items, items, total);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sum + total;
//                      ^^^^^^^^^^^^^^^ global store 1/1 sectors
}
void run(const float* in, float* out) { k<256><<<4, 256>>>(in, out, 1024); }`);
  });

  it('CUB: temporary storage has its size', () => {
    assert.equal(sharedBytes('__shared__ typename cub::BlockReduce<float, 256>::TempStorage s;'), 44);
    assert.equal(sharedBytes('__shared__ typename cub::BlockScan<float, 256>::TempStorage s;'), 1184);
  });

  it('CUB: loads and stores are the user’s data', () => {
    understood(`
__global__ void k(const float* in, float* out) {
  using Load = cub::BlockLoad<float, 128, 4>;
  using Store = cub::BlockStore<float, 128, 4, cub::BLOCK_STORE_STRIPED>;
  __shared__ union { typename Load::TempStorage load; typename Store::TempStorage store; } s;
  float x[4];
  Load(s.load).Load(in + blockIdx.x * 512, x);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load 16/4 sectors
  Store(s.store).Store(out + blockIdx.x * 512, x);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 4/4 sectors
}
void run(const float* in, float* out) { k<<<4, 128>>>(in, out); }`);
  });

  it('cuRAND: states are structures of 48 bytes in memory', () => {
    understood(`
__global__ void k(curandState* states, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  curandState s = states[i];
  out[i] = curand_uniform(&s) + curand_normal(&s);
//^^^^^^ global store 4/4 sectors
  states[i] = s;
//^^^^^^^^^ global store
}
__global__ void init(curandState* states) { curand_init(1234, threadIdx.x, 0, &states[threadIdx.x]); }
void run(curandState* s, float* out) { k<<<4, 128>>>(s, out); init<<<1, 128>>>(s); }`);
  });

  it('barriers and pipelines; a copy of a thread or a group is made of asynchronous copies', () => {
    understood(`
__global__ void k(const float4* in, float* out) {
  __shared__ float4 tile[128];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  cuda::pipeline<cuda::thread_scope_thread> pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], sizeof(float4), pipe);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load 16/16 sectors
  pipe.producer_commit();
  cuda::pipeline_consumer_wait_prior<0>(pipe);
  auto token = bar.arrive();
  bar.wait(std::move(token));
  out[threadIdx.x] = tile[threadIdx.x].x;
//                   ^^^^^^^^^^^^^^^^^^^ shared load
}
void run(const float4* in, float* out) { k<<<1, 128>>>(in, out); }`);
    understood(`
namespace cg = cooperative_groups;
__global__ void k(const int* in, int* out) {
  __shared__ int tile[256];
  cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, tile, in + blockIdx.x * 256, sizeof(int) * 256);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load 4/4 sectors x8
  cg::wait(block);
  out[blockIdx.x * 256 + threadIdx.x] = tile[threadIdx.x];
}
void run(const int* in, int* out) { k<<<1, 128>>>(in, out); }`);
    understood(`
namespace cg = cooperative_groups;
__global__ void k(const int4* in, int* out) {
  __shared__ int4 tile[128];
  auto thread = cg::this_thread();
  auto pipe = cuda::make_pipeline();
  cuda::memcpy_async(thread, tile + threadIdx.x, in + threadIdx.x, sizeof(int4), pipe);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load 16/16 sectors x4
  thread.sync();
  out[128 * thread.thread_rank() + threadIdx.x] = thread.size();
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 4/4 sectors x4
}
void run(const int4* in, int* out) { k<<<1, 128>>>(in, out); }`);
  });

  it('atomics of cuda::', () => {
    understood(`
__global__ void k(int* count, cuda::atomic<unsigned, cuda::thread_scope_device>* flag) {
  cuda::atomic_ref<int, cuda::thread_scope_device> c(count[threadIdx.x]);
  c.fetch_add(2, cuda::memory_order_relaxed);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global atomic 4 bytes
  flag->store(1u);
}
void run(int* c, cuda::atomic<unsigned, cuda::thread_scope_device>* f) { k<<<1, 32>>>(c, f); }`);
  });

  it('standard arrays, limits, pairs and sequences', () => {
    understood(`
template <class... T> __device__ int count(T...) { return sizeof...(T); }
template <size_t... I> __device__ int sum(const std::array<int, 3>& a, std::index_sequence<I...>) { return (a[I] + ...); }
__global__ void k(int* out) {
  std::array<int, 3> a = {1, 1, 2};
  auto p = std::make_pair(1, 0);
  int worst = std::numeric_limits<int>::lowest() + 2147483647 + 1;
  out[threadIdx.x * (sum(a, std::make_index_sequence<3>{}) - p.first * 3 + p.second + worst)] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 4/4 sectors
}
void run(int* out) { k<<<1, 32>>>(out); }`);
  });

  it('complex numbers', () => {
    understood(`
__global__ void k(const cufftComplex* a, cuDoubleComplex* out) {
  cufftComplex x = a[threadIdx.x];
//                 ^^^^^^^^^^^^^^ global load 8 bytes 8/8 sectors
  cuFloatComplex y = cuCmulf(x, cuConjf(x));
  out[threadIdx.x] = make_cuDoubleComplex(y.x, cuCabsf(y));
//^^^^^^^^^^^^^^^^ global store 16 bytes
}
void run(cufftComplex* a, cuDoubleComplex* o) { k<<<1, 32>>>(a, o); }`);
  });

  it('arrays of wmma fragments', () => {
    understood(`
using namespace nvcuda;
__global__ void k(const half* a, float* out) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[2][2];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
  wmma::load_matrix_sync(x, a, 16);
  for (int i = 0; i < 2; i++)
    for (int t = 0; t < c[i][0].num_elements; t++) c[i][0].x[t] *= 2.0f;
  out[threadIdx.x] = c[0][0].x[1];
//^^^^^^^^^^^^^^^^ global store 4/4 sectors
}
void run(half* a, float* o) { k<<<1, 32>>>(a, o); }`);
  });

  it('wmma fragments of 8 × 32: two matrices, twice four, and floats whose pairs lie in the columns', () => {
    understood(`
using namespace nvcuda;
__global__ void k(const half* p, float* out) {
  __shared__ half a[8 * 16], b[32 * 16];
  __shared__ float c[8][32];
  a[threadIdx.x] = b[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  wmma::fragment<wmma::matrix_a, 8, 32, 16, half, wmma::row_major> x;
  wmma::fragment<wmma::matrix_b, 8, 32, 16, half, wmma::col_major> y;
  wmma::fragment<wmma::accumulator, 8, 32, 16, float> z;
  wmma::load_matrix_sync(x, a, 16);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shared load x1 4/2 wavefronts
  wmma::load_matrix_sync(y, b, 16);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shared load x2 8/4 wavefronts
  wmma::fill_fragment(z, 0.0f);
  wmma::mma_sync(z, x, y, z);
  wmma::store_matrix_sync(&c[0][0], z, 32, wmma::mem_row_major);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shared store x8 4/1 wavefronts
  __syncthreads();
  out[threadIdx.x] = c[0][threadIdx.x];
}
void run(half* p, float* o) { k<<<1, 32>>>(p, o); }`);
  });

  it('a name of the user hides the library’s', () => {
    understood(`
struct curandState { int a, b; };
__global__ void k(curandState* s, int* out) {
  out[threadIdx.x] = s[threadIdx.x].a;
//                   ^^^^^^^^^^^^^^^^ global load 8/4 sectors
}
void run(curandState* s, int* out) { k<<<1, 32>>>(s, out); }`);
  });

  it('PyTorch: shuffles, atomics and half types of extensions', () => {
    understood(`
__global__ void sums(const at::Half* in, float* out) {
  float x = static_cast<float>(in[threadIdx.x]);
//                             ^^^^^^^^^^^^^^^ global load 2/2 sectors 2 bytes
  for (int lanes = 16; lanes > 0; lanes /= 2) x += WARP_SHFL_XOR(x, lanes);
  gpuAtomicAdd(out + threadIdx.x, x);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global atomic 4/4 sectors
}
int main() { at::Half* i; float* o; sums<<<1, 32>>>(i, o); }`);
  });
  it('numbers of eight bits: words of four are made of halves, and converted', () => {
    understood(`
__global__ void scale(const __nv_fp8x4_e4m3* in, const float* by, __nv_fp8x4_e5m2* out, __nv_fp8_e4m3* one) {
  const char4 word = reinterpret_cast<const char4*>(in)[threadIdx.x];
//                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load 4/4 sectors 4 bytes
  float x = float(*(const __nv_fp8_e4m3*)&word.x) + float(*(const __nv_fp8_e4m3*)&word.y);
  x += float(*(const __nv_fp8_e4m3*)&word.z) + float(*(const __nv_fp8_e4m3*)&word.w);
  float f = by[0];
//          ^^^^^ global load 1/1 sectors
  out[threadIdx.x] = __nv_fp8x4_e5m2(__floats2half2_rn(x, f), __float2half2_rn(x * f));
//^^^^^^^^^^^^^^^^ global store 4/4 sectors 4 bytes
  one[threadIdx.x] = __nv_fp8_e4m3(x + f);
//^^^^^^^^^^^^^^^^ global store 1/1 sectors 1 bytes
}
int main() { __nv_fp8x4_e4m3* i; float* b; __nv_fp8x4_e5m2* o; __nv_fp8_e4m3* p; scale<<<1, 32>>>(i, b, o, p); }`);
  });

  it('types of the toolkit may be template arguments of a launch', () => {
    check(`
#include <mma.h>
template <typename T, typename Layout> __global__ void load(const T *in, int pitch) {
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, T, Layout> a {};
  nvcuda::wmma::load_matrix_sync(a, in, pitch);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load 8/4 sectors x2 exact
}
int main() { signed char *in; load<signed char, nvcuda::wmma::row_major><<<1, 32>>>(in, 64); }
`);
  });

  it('a constant that calls in a loop are handed stays one', () => {
    check(`
#include <mma.h>
__global__ void load(const half *in, int n) {
  constexpr int SIDE = 16;
  for (int t = 0; t < n; t += SIDE) {
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, SIDE, SIDE, SIDE, half, nvcuda::wmma::row_major> a;
    nvcuda::wmma::load_matrix_sync(a, in + t * SIDE, SIDE);
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load 8/4 sectors exact
  }
}
int main() { half *in; load<<<1, 32>>>(in, 64); }
`);
  });
});
