#pragma once
#include "view.hpp"

namespace pk {

// ------------------------------------------------------------------ policies
struct RangePolicy { long begin, end; };
template <int R> struct MDRangePolicy { long lo[R], hi[R]; int tile[R]; };
template <int R> MDRangePolicy<R> md_range(const long (&lo)[R], const long (&hi)[R], const int (&t)[R]) { MDRangePolicy<R> p; for (int i = 0; i < R; i++) { p.lo[i] = lo[i]; p.hi[i] = hi[i]; p.tile[i] = t[i]; } return p; }
struct TeamPolicy { int league_size, team_size, vector_length; size_t scratch = 0; TeamPolicy& set_scratch_size(size_t b) { scratch = b; return *this; } };

template <class Policy, class F> struct ParallelFor;

template <class Driver>
__global__ void cuda_parallel_launch_local_memory(const Driver driver) { driver(); }
template <class Driver, unsigned MaxT, unsigned MinB>
__global__ void __launch_bounds__(MaxT, MinB) cuda_parallel_launch_bounded(const Driver driver) { driver(); }

template <class F> struct ParallelFor<RangePolicy, F> {
  F f; RangePolicy p;
  __device__ void operator()() const {
    const long work_stride = (long)blockDim.y * gridDim.x;
    for (long i = p.begin + threadIdx.y + (long)blockDim.y * blockIdx.x; i < p.end; i += work_stride) f(i);
  }
  void execute() const {
    const long n = p.end - p.begin;
    if (n <= 0) return;
    long grid = (n + 255) / 256;
    if (grid > 4096) grid = 4096;
    cuda_parallel_launch_bounded<ParallelFor, 256, 2><<<grid, dim3(1, 256, 1)>>>(*this);
    PK_CUDA_SAFE_CALL(cudaGetLastError());
  }
};
// first index is mapped to threadIdx.x
template <class F> struct ParallelFor<MDRangePolicy<2>, F> {
  F f; MDRangePolicy<2> p;
  __device__ void operator()() const {
    const long i = p.lo[0] + (long)blockIdx.x * blockDim.x + threadIdx.x, j = p.lo[1] + (long)blockIdx.y * blockDim.y + threadIdx.y;
    if (i < p.hi[0] && j < p.hi[1]) f(i, j);
  }
  void execute() const {
    dim3 b(p.tile[0], p.tile[1]), g((p.hi[0] - p.lo[0] + b.x - 1) / b.x, (p.hi[1] - p.lo[1] + b.y - 1) / b.y);
    cuda_parallel_launch_local_memory<<<g, b>>>(*this);
    PK_CUDA_SAFE_CALL(cudaGetLastError());
  }
};
template <class F> struct ParallelFor<MDRangePolicy<3>, F> {
  F f; MDRangePolicy<3> p;
  __device__ void operator()() const {
    for (long k = p.lo[2] + (long)blockIdx.z * blockDim.z + threadIdx.z; k < p.hi[2]; k += (long)gridDim.z * blockDim.z)
      for (long j = p.lo[1] + (long)blockIdx.y * blockDim.y + threadIdx.y; j < p.hi[1]; j += (long)gridDim.y * blockDim.y)
        for (long i = p.lo[0] + (long)blockIdx.x * blockDim.x + threadIdx.x; i < p.hi[0]; i += (long)gridDim.x * blockDim.x) f(i, j, k);
  }
  void execute() const {
    dim3 b(p.tile[0], p.tile[1], p.tile[2]);
    dim3 g((p.hi[0] - p.lo[0] + b.x - 1) / b.x, (p.hi[1] - p.lo[1] + b.y - 1) / b.y, (p.hi[2] - p.lo[2] + b.z - 1) / b.z);
    cuda_parallel_launch_local_memory<<<g, b>>>(*this);
    PK_CUDA_SAFE_CALL(cudaGetLastError());
  }
};

// ------------------------------------------------------------------ teams
struct TeamMember {
  char* scratch;
  PK_FUNCTION static int dummy() { return 0; }
  __device__ int league_rank() const { return blockIdx.x; }
  __device__ int team_rank() const { return threadIdx.y; }
  __device__ int team_size() const { return blockDim.y; }
  __device__ void team_barrier() const { __syncthreads(); }
  __device__ char* team_scratch() const { return scratch; }
};
template <class F> __device__ void team_thread_range(const TeamMember& m, int n, const F& f) { for (int i = m.team_rank(); i < n; i += m.team_size()) f(i); }
template <class F> __device__ double thread_vector_reduce(const TeamMember&, int n, const F& f) {
  double s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) f(i, s);
  for (int o = blockDim.x / 2; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffffu, s, o, blockDim.x);
  return __shfl_sync(0xffffffffu, s, 0, blockDim.x);
}
template <class F> __device__ void single_per_thread(const F& f) { if (threadIdx.x == 0) f(); }

template <class F> struct ParallelFor<TeamPolicy, F> {
  F f; TeamPolicy p;
  __device__ void operator()() const {
    extern __shared__ __align__(16) char pk_shared[];
    TeamMember m{pk_shared};
    f(m);
  }
  void execute() const {
    cuda_parallel_launch_local_memory<<<p.league_size, dim3(p.vector_length, p.team_size), p.scratch>>>(*this);
    PK_CUDA_SAFE_CALL(cudaGetLastError());
  }
};

template <class Policy, class F> void parallel_for(const char*, const Policy& p, const F& f) { ParallelFor<Policy, F>{f, p}.execute(); }
template <class F> void parallel_for(const char* name, long n, const F& f) { parallel_for(name, RangePolicy{0, n}, f); }

// ------------------------------------------------------------------ reduce: per block partials, the last block finishes
template <class F, class T>
__global__ void __launch_bounds__(256) reduce_kernel(const F f, long n, T* scratch, unsigned* flag, T* result) {
  __shared__ T sh[256];
  __shared__ bool last;
  T v = 0;
  for (long i = blockIdx.x * 256L + threadIdx.x; i < n; i += gridDim.x * 256L) f(i, v);
  sh[threadIdx.x] = v;
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) {
    if (threadIdx.x < s) sh[threadIdx.x] += sh[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    scratch[blockIdx.x] = sh[0];
    __threadfence();
    last = atomicInc(flag, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  v = 0;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += 256) v += ((volatile T*)scratch)[i];
  sh[threadIdx.x] = v;
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) {
    if (threadIdx.x < s) sh[threadIdx.x] += sh[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) *result = sh[0];
}
template <class T, class F> void parallel_reduce(const char*, long n, const F& f, T& result) {
  int grid = (int)((n + 255) / 256);
  if (grid > 128) grid = 128;
  View<T, 1> scratch("scratch", grid + 1);
  View<unsigned, 1> flag("flag", 1);
  reduce_kernel<<<grid, 256>>>(f, n, scratch.data(), flag.data(), scratch.data() + grid);
  PK_CUDA_SAFE_CALL(cudaGetLastError());
  PK_CUDA_SAFE_CALL(cudaMemcpy(&result, scratch.data() + grid, sizeof(T), cudaMemcpyDeviceToHost));
}

// ------------------------------------------------------------------ scan: functor(i, update, final), two passes
template <class F, class T, bool FINAL>
__global__ void __launch_bounds__(256) scan_kernel(const F f, long n, long chunk, T* block_sums) {
  __shared__ T sh[257];
  const long lo = blockIdx.x * chunk, hi = lo + chunk < n ? lo + chunk : n;
  T base = 0;
  if (FINAL) for (unsigned b = 0; b < blockIdx.x; b++) base += block_sums[b];
  for (long i0 = lo; i0 < hi; i0 += 256) {
    const long i = i0 + threadIdx.x;
    T v = 0;
    if (i < hi) f(i, v, false);
    sh[threadIdx.x] = v;
    __syncthreads();
    for (int d = 1; d < 256; d <<= 1) {
      T t = (int)threadIdx.x >= d ? sh[threadIdx.x - d] : T(0);
      __syncthreads();
      sh[threadIdx.x] += t;
      __syncthreads();
    }
    if (FINAL && i < hi) {
      T u = base + (threadIdx.x ? sh[threadIdx.x - 1] : T(0));
      f(i, u, true);
    }
    base += sh[255];
    __syncthreads();
  }
  if (!FINAL && threadIdx.x == 0) block_sums[blockIdx.x] = base;
}
template <class T, class F> void parallel_scan(const char*, long n, const F& f) {
  const int grid = 32;
  const long chunk = (n + grid - 1) / grid;
  View<T, 1> sums("scan sums", grid);
  scan_kernel<F, T, false><<<grid, 256>>>(f, n, chunk, sums.data());
  scan_kernel<F, T, true><<<grid, 256>>>(f, n, chunk, sums.data());
  PK_CUDA_SAFE_CALL(cudaGetLastError());
}
inline void fence() { PK_CUDA_SAFE_CALL(cudaDeviceSynchronize()); }
}  // namespace pk
