// Sum reduction in seven steps. Each step removes one bottleneck of the step before.
//
//   reduction_ladder_c [elements] [threads per block: 64|128|256|512]
//
// Steps 1-6 leave one partial sum per block for the host, step 7 adds them with one atomic per block.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- helper_check.h ---- */
static inline void gpu_assert(cudaError_t code, const char* file, int line) {
  if (code != cudaSuccess) {
    fprintf(stderr, "CUDA error %s (%s) at %s:%d\n", cudaGetErrorName(code),
            cudaGetErrorString(code), file, line);
    exit(EXIT_FAILURE);
  }
}
#define GPU_CHECK(x) gpu_assert((x), __FILE__, __LINE__)
#define KERNEL_CHECK() GPU_CHECK(cudaGetLastError())

/* ---- reduction kernels ---- */

// step 1: interleaved pairs, neighbouring threads diverge, the modulo is slow as well
__global__ void reduce_interleaved(const int* in, int* partial, int n) {
  extern __shared__ int sdata[];
  unsigned tid = threadIdx.x;
  unsigned i = blockIdx.x * blockDim.x + tid;
  sdata[tid] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned s = 1; s < blockDim.x; s *= 2) {
    if (tid % (2 * s) == 0) sdata[tid] += sdata[tid + s];
    __syncthreads();
  }
  if (tid == 0) partial[blockIdx.x] = sdata[0];
}

// step 2: sequential addressing
__global__ void reduce_sequential(const int* in, int* partial, int n) {
  extern __shared__ int sdata[];
  unsigned tid = threadIdx.x;
  unsigned i = blockIdx.x * blockDim.x + tid;
  sdata[tid] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
    if (tid < s) sdata[tid] += sdata[tid + s];
    __syncthreads();
  }
  if (tid == 0) partial[blockIdx.x] = sdata[0];
}

// The last 64 values; called by the whole first warp. Read, fence, write, fence: no lane overtakes.
__device__ __forceinline__ void last_warp(int* sdata, unsigned tid) {
  int v = sdata[tid] + sdata[tid + 32];
  __syncwarp();
  sdata[tid] = v;
  __syncwarp();
#pragma unroll
  for (int s = 16; s > 0; s >>= 1) {
    v += sdata[tid + s];
    __syncwarp();
    sdata[tid] = v;
    __syncwarp();
  }
}

// steps 3 and 4: the first addition happens while loading; step 4 drops the barriers of the last warp
template <bool kUnrollLastWarp>
__global__ void reduce_first_add(const int* in, int* partial, int n) {
  extern __shared__ int sdata[];
  unsigned tid = threadIdx.x;
  unsigned i = blockIdx.x * (blockDim.x * 2) + tid;
  int v = i < n ? in[i] : 0;
  if (i + blockDim.x < n) v += in[i + blockDim.x];
  sdata[tid] = v;
  __syncthreads();
  const unsigned stop = kUnrollLastWarp ? 32 : 0;
  for (unsigned s = blockDim.x / 2; s > stop; s >>= 1) {
    if (tid < s) sdata[tid] += sdata[tid + s];
    __syncthreads();
  }
  if (kUnrollLastWarp && tid < 32) last_warp(sdata, tid);
  if (tid == 0) partial[blockIdx.x] = sdata[0];
}

// step 5: block size known to the compiler, the loop disappears
template <unsigned BLOCK>
__global__ void reduce_unrolled(const int* in, int* partial, int n) {
  __shared__ int sdata[BLOCK];
  unsigned tid = threadIdx.x;
  unsigned i = blockIdx.x * (BLOCK * 2) + tid;
  int v = i < n ? in[i] : 0;
  if (i + BLOCK < n) v += in[i + BLOCK];
  sdata[tid] = v;
  __syncthreads();
  if (BLOCK >= 512) { if (tid < 256) sdata[tid] += sdata[tid + 256]; __syncthreads(); }
  if (BLOCK >= 256) { if (tid < 128) sdata[tid] += sdata[tid + 128]; __syncthreads(); }
  if (BLOCK >= 128) { if (tid < 64) sdata[tid] += sdata[tid + 64]; __syncthreads(); }
  if (tid < 32) last_warp(sdata, tid);
  if (tid == 0) partial[blockIdx.x] = sdata[0];
}

__device__ __forceinline__ int warp_sum(int v) {
  for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
  return v;
}

template <unsigned BLOCK>
__device__ __forceinline__ int block_sum(int v) {
  __shared__ int per_warp[BLOCK / 32];
  const unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  v = warp_sum(v);
  if (lane == 0) per_warp[warp] = v;
  __syncthreads();
  if (warp == 0) v = warp_sum(lane < BLOCK / 32 ? per_warp[lane] : 0);
  return v;  // valid in thread 0
}

// step 6: grid-stride loop and shuffles
template <unsigned BLOCK>
__global__ void reduce_shuffle(const int* __restrict__ in, int* __restrict__ partial, int n) {
  int v = 0;
  for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) v += in[i];
  v = block_sum<BLOCK>(v);
  if (threadIdx.x == 0) partial[blockIdx.x] = v;
}

// step 7: 16 byte loads, one atomic per block
template <unsigned BLOCK>
__global__ void reduce_atomic(const int* __restrict__ in, int* __restrict__ total, int n) {
  const int4* in4 = reinterpret_cast<const int4*>(in);
  const int gid = blockIdx.x * BLOCK + threadIdx.x;
  int v = 0;
  for (int i = gid; i < n / 4; i += gridDim.x * BLOCK) {
    int4 q = in4[i];
    v += q.x + q.y + q.z + q.w;
  }
  if (gid < n % 4) v += in[n / 4 * 4 + gid];
  v = block_sum<BLOCK>(v);
  if (threadIdx.x == 0) atomicAdd(total, v);
}

/* ---- host side ---- */
template <unsigned BLOCK>
static int launch_step(int step, const int* d_in, int* d_partial, int n, cudaStream_t st) {
  const int one = (n + BLOCK - 1) / BLOCK;
  const int two = (n + 2 * BLOCK - 1) / (2 * BLOCK);
  const int few = two < 528 ? two : 528;
  const size_t smem = BLOCK * sizeof(int);
  int blocks = 0;
  switch (step) {
    case 1: reduce_interleaved<<<blocks = one, BLOCK, smem, st>>>(d_in, d_partial, n); break;
    case 2: reduce_sequential<<<blocks = one, BLOCK, smem, st>>>(d_in, d_partial, n); break;
    case 3: reduce_first_add<false><<<blocks = two, BLOCK, smem, st>>>(d_in, d_partial, n); break;
    case 4: reduce_first_add<true><<<blocks = two, BLOCK, smem, st>>>(d_in, d_partial, n); break;
    case 5: reduce_unrolled<BLOCK><<<blocks = two, BLOCK, 0, st>>>(d_in, d_partial, n); break;
    case 6: reduce_shuffle<BLOCK><<<blocks = few, BLOCK, 0, st>>>(d_in, d_partial, n); break;
    case 7:
      GPU_CHECK(cudaMemsetAsync(d_partial, 0, sizeof(int), st));
      reduce_atomic<BLOCK><<<few, BLOCK, 0, st>>>(d_in, d_partial, n);
      blocks = 1;
      break;
  }
  KERNEL_CHECK();
  return blocks;  // number of values the host has to add
}

static int dispatch(int threads, int step, const int* d_in, int* d_partial, int n, cudaStream_t st) {
  switch (threads) {
    case 64: return launch_step<64>(step, d_in, d_partial, n, st);
    case 128: return launch_step<128>(step, d_in, d_partial, n, st);
    case 256: return launch_step<256>(step, d_in, d_partial, n, st);
    case 512: return launch_step<512>(step, d_in, d_partial, n, st);
  }
  fprintf(stderr, "unsupported block size %d\n", threads);
  exit(EXIT_FAILURE);
}

int main(int argc, char* argv[]) {
  const int n = argc > 1 ? atoi(argv[1]) : (1 << 22) + 1001;
  const int threads = argc > 2 ? atoi(argv[2]) : 256;
  if (n < 1024 || n > (1 << 26)) {
    fprintf(stderr, "element count out of range\n");
    return 1;
  }
  const int max_blocks = (n + 63) / 64;
  int *h_in, *h_partial, *d_in, *d_partial;
  GPU_CHECK(cudaHostAlloc((void**)&h_in, n * sizeof(int), cudaHostAllocDefault));
  h_partial = (int*)malloc(max_blocks * sizeof(int));
  GPU_CHECK(cudaMalloc((void**)&d_in, n * sizeof(int)));
  GPU_CHECK(cudaMalloc((void**)&d_partial, max_blocks * sizeof(int)));

  long long want = 0;
  unsigned state = 12345u;
  for (int i = 0; i < n; ++i) {
    state = state * 1664525u + 1013904223u;
    h_in[i] = (int)((state >> 16) & 0xff) - 100;
    want += h_in[i];
  }

  cudaStream_t st;
  cudaEvent_t beg, end;
  GPU_CHECK(cudaStreamCreateWithFlags(&st, cudaStreamNonBlocking));
  GPU_CHECK(cudaEventCreate(&beg));
  GPU_CHECK(cudaEventCreate(&end));
  GPU_CHECK(cudaMemcpyAsync(d_in, h_in, n * sizeof(int), cudaMemcpyHostToDevice, st));

  int failures = 0;
  dispatch(threads, 6, d_in, d_partial, n, st);  // warm-up
  for (int step = 1; step <= 7; ++step) {
    float ms = 0.0f;
    GPU_CHECK(cudaEventRecord(beg, st));
    int count = dispatch(threads, step, d_in, d_partial, n, st);
    GPU_CHECK(cudaEventRecord(end, st));
    GPU_CHECK(cudaEventSynchronize(end));
    GPU_CHECK(cudaEventElapsedTime(&ms, beg, end));
    GPU_CHECK(cudaMemcpyAsync(h_partial, d_partial, count * sizeof(int), cudaMemcpyDeviceToHost, st));
    GPU_CHECK(cudaStreamSynchronize(st));
    long long got = 0;
    for (int b = 0; b < count; ++b) got += h_partial[b];
    printf("step %d: %9.4f ms, %7.1f GB/s, sum %lld %s\n", step, ms, n * 4e-6 / ms, got,
           got == want ? "" : "<-- mismatch");
    failures += got != want;
  }

  GPU_CHECK(cudaEventDestroy(beg));
  GPU_CHECK(cudaEventDestroy(end));
  GPU_CHECK(cudaStreamDestroy(st));
  GPU_CHECK(cudaFree(d_in));
  GPU_CHECK(cudaFree(d_partial));
  GPU_CHECK(cudaFreeHost(h_in));
  free(h_partial);
  puts(failures ? "FAIL" : "PASS");
  return failures ? 1 : 0;
}
