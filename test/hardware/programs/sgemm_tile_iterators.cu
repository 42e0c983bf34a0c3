/***************************************************************************************************
 * Minimal SIMT GEMM built from predicated tile iterators, a double-buffered mainloop and an
 * element-wise epilogue.  D = alpha * A * B + beta * C, all row-major, optional split-K (serial
 * reduction kernel).
 **************************************************************************************************/
#include <cuda_runtime.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <vector>

#define CUTE_HOST_DEVICE __host__ __device__ __forceinline__
#define CUTE_DEVICE __device__ __forceinline__

#define CUDA_PERROR(x)                                                               \
  do {                                                                               \
    cudaError_t const _e = (x);                                                      \
    if (_e != cudaSuccess) {                                                         \
      std::cerr << "CUDA error " << cudaGetErrorString(_e) << " line " << __LINE__   \
                << std::endl;                                                        \
      std::exit(1);                                                                  \
    }                                                                                \
  } while (0)

namespace tiny_cutlass {

template <int M_, int N_, int K_>
struct GemmShape {
  static int const kM = M_;
  static int const kN = N_;
  static int const kK = K_;
  static int const kMN = M_ * N_;
};

struct GemmCoord {
  int m, n, k;
};

/// Aligned array of elements moved by one memory instruction
template <typename T, int N>
struct alignas(sizeof(T) * N) AlignedArray {
  T storage[N];
  CUTE_HOST_DEVICE T &operator[](int i) { return storage[i]; }
  CUTE_HOST_DEVICE T const &operator[](int i) const { return storage[i]; }
  CUTE_HOST_DEVICE void clear() {
#pragma unroll
    for (int i = 0; i < N; ++i) storage[i] = T(0);
  }
};

/// Strip-mined thread map: threads walk along the contiguous dimension first
template <int Contiguous, int Strided, int Threads, int ElementsPerAccess>
struct PitchLinearThreadMap {
  static int const kElementsPerAccess = ElementsPerAccess;
  static int const kThreadsContiguous = Contiguous / ElementsPerAccess;
  static int const kThreadsStrided = Threads / kThreadsContiguous;
  static int const kIterations = Strided / kThreadsStrided;
  static_assert(Threads % kThreadsContiguous == 0, "threads must tile the contiguous dimension");
  static_assert(Strided % kThreadsStrided == 0, "strided extent must be divisible");

  CUTE_DEVICE static int contiguous(int tid) { return (tid % kThreadsContiguous) * ElementsPerAccess; }
  CUTE_DEVICE static int strided(int tid) { return tid / kThreadsContiguous; }
};

/// Global memory iterator with a bitmask of guards
template <typename Element, typename ThreadMap, bool AdvanceAlongContiguous>
class PredicatedTileIterator {
 public:
  static int const kAccess = ThreadMap::kElementsPerAccess;
  using AccessType = AlignedArray<Element, kAccess>;
  struct Fragment {
    AccessType data[ThreadMap::kIterations];
  };

 private:
  Element const *pointer_;
  int ldm_;
  int extent_c_, extent_s_;
  int c_, s_;

 public:
  CUTE_DEVICE PredicatedTileIterator(Element const *ptr, int ldm, int extent_c, int extent_s,
                                     int thread_id, int offset_c, int offset_s)
      : pointer_(ptr), ldm_(ldm), extent_c_(extent_c), extent_s_(extent_s) {
    c_ = offset_c + ThreadMap::contiguous(thread_id);
    s_ = offset_s + ThreadMap::strided(thread_id);
  }

  CUTE_DEVICE void load(Fragment &frag) const {
#pragma unroll
    for (int i = 0; i < ThreadMap::kIterations; ++i) {
      int s = s_ + i * ThreadMap::kThreadsStrided;
      bool guard = (c_ < extent_c_) && (s < extent_s_);
      if (guard)
        frag.data[i] = *reinterpret_cast<AccessType const *>(pointer_ + long(s) * ldm_ + c_);
      else
        frag.data[i].clear();
    }
  }

  CUTE_DEVICE void advance(int tile) {
    if (AdvanceAlongContiguous)
      c_ += tile;
    else
      s_ += tile;
  }
};

namespace epilogue {

template <typename T>
struct LinearCombination {
  T alpha, beta;
  CUTE_HOST_DEVICE T operator()(T accum, T source) const { return alpha * accum + beta * source; }
};

template <typename T>
struct LinearCombinationRelu {
  T alpha, beta;
  CUTE_HOST_DEVICE T operator()(T accum, T source) const {
    T v = alpha * accum + beta * source;
    return v > T(0) ? v : T(0);
  }
};

}  // namespace epilogue

template <typename Shape, int ThreadM, int ThreadN>
struct SimtMainloop {
  static int const kThreadsM = Shape::kM / ThreadM;
  static int const kThreadsN = Shape::kN / ThreadN;
  static int const kThreads = kThreadsM * kThreadsN;
  static int const kSkew = 4;

  using ThreadMapA = PitchLinearThreadMap<Shape::kK, Shape::kM, kThreads, 4>;
  using ThreadMapB = PitchLinearThreadMap<Shape::kN, Shape::kK, kThreads, 4>;
  using IteratorA = PredicatedTileIterator<float, ThreadMapA, true>;
  using IteratorB = PredicatedTileIterator<float, ThreadMapB, false>;

  struct SharedStorage {
    float A[2][Shape::kK][Shape::kM + kSkew];  // transposed
    float B[2][Shape::kK][Shape::kN];
  };

  CUTE_DEVICE static void store_a(SharedStorage &s, int stage, typename IteratorA::Fragment const &f, int tid) {
    int k = ThreadMapA::contiguous(tid), m = ThreadMapA::strided(tid);
#pragma unroll
    for (int i = 0; i < ThreadMapA::kIterations; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) s.A[stage][k + j][m + i * ThreadMapA::kThreadsStrided] = f.data[i][j];
  }

  CUTE_DEVICE static void store_b(SharedStorage &s, int stage, typename IteratorB::Fragment const &f, int tid) {
    int n = ThreadMapB::contiguous(tid), k = ThreadMapB::strided(tid);
#pragma unroll
    for (int i = 0; i < ThreadMapB::kIterations; ++i)
      *reinterpret_cast<typename IteratorB::AccessType *>(
          &s.B[stage][k + i * ThreadMapB::kThreadsStrided][n]) = f.data[i];
  }
};

template <typename Mainloop, typename Shape, int ThreadM, int ThreadN>
struct GemmKernel {
  struct Params {
    GemmCoord problem_size;
    float const *A; int lda;
    float const *B; int ldb;
    float *workspace;
    int k_per_slice;
  };

  static int const kThreads = Mainloop::kThreads;

  CUTE_DEVICE void operator()(Params const &p, typename Mainloop::SharedStorage &shared,
                              float (&accum)[ThreadM][ThreadN]) {
    int const tid = threadIdx.x;
    int const m0 = blockIdx.y * Shape::kM, n0 = blockIdx.x * Shape::kN;
    int const k_begin = blockIdx.z * p.k_per_slice;
    int const k_end = min(p.problem_size.k, k_begin + p.k_per_slice);

    typename Mainloop::IteratorA iter_a(p.A, p.lda, k_end, p.problem_size.m, tid, k_begin, m0);
    typename Mainloop::IteratorB iter_b(p.B, p.ldb, p.problem_size.n, k_end, tid, n0, k_begin);
    typename Mainloop::IteratorA::Fragment frag_a;
    typename Mainloop::IteratorB::Fragment frag_b;

    iter_a.load(frag_a);
    iter_b.load(frag_b);
    Mainloop::store_a(shared, 0, frag_a, tid);
    Mainloop::store_b(shared, 0, frag_b, tid);
    __syncthreads();

    int const tm = (tid / Mainloop::kThreadsN) * ThreadM;
    int const tn = (tid % Mainloop::kThreadsN) * 4;  // ThreadN is split in quads kN/2 apart
    int stage = 0;
    for (int k = k_begin; k < k_end; k += Shape::kK) {
      bool const more = k + Shape::kK < k_end;
      if (more) {
        iter_a.advance(Shape::kK);
        iter_b.advance(Shape::kK);
        iter_a.load(frag_a);
        iter_b.load(frag_b);
      }
#pragma unroll
      for (int kk = 0; kk < Shape::kK; ++kk) {
        float a[ThreadM], b[ThreadN];
#pragma unroll
        for (int i = 0; i < ThreadM; i += 4)
          *reinterpret_cast<float4 *>(&a[i]) = *reinterpret_cast<float4 const *>(&shared.A[stage][kk][tm + i]);
#pragma unroll
        for (int j = 0; j < ThreadN; j += 4)
          *reinterpret_cast<float4 *>(&b[j]) =
              *reinterpret_cast<float4 const *>(&shared.B[stage][kk][tn + (j / 4) * (Shape::kN * 4 / ThreadN)]);
#pragma unroll
        for (int i = 0; i < ThreadM; ++i)
#pragma unroll
          for (int j = 0; j < ThreadN; ++j) accum[i][j] += a[i] * b[j];
      }
      if (more) {
        Mainloop::store_a(shared, stage ^ 1, frag_a, tid);
        Mainloop::store_b(shared, stage ^ 1, frag_b, tid);
        __syncthreads();
        stage ^= 1;
      }
    }
  }

  CUTE_DEVICE static int row(int i) {
    return blockIdx.y * Shape::kM + (threadIdx.x / Mainloop::kThreadsN) * ThreadM + i;
  }
  CUTE_DEVICE static int col(int j) {
    return blockIdx.x * Shape::kN + (threadIdx.x % Mainloop::kThreadsN) * 4 + (j / 4) * (Shape::kN * 4 / ThreadN) + j % 4;
  }
};

/// Non split-K kernel: epilogue applied straight to the accumulators
template <typename Gemm, typename Mainloop, int ThreadM, int ThreadN, typename Epilogue>
__global__ void __launch_bounds__(Gemm::kThreads)
gemm_kernel(typename Gemm::Params params, float const *C, float *D, int ldd, Epilogue op) {
  __shared__ __align__(16) typename Mainloop::SharedStorage shared;
  float accum[ThreadM][ThreadN] = {};
  Gemm gemm;
  gemm(params, shared, accum);
#pragma unroll
  for (int i = 0; i < ThreadM; ++i) {
#pragma unroll
    for (int j = 0; j < ThreadN; j += 4) {
      int r = Gemm::row(i), c = Gemm::col(j);
      if (r < params.problem_size.m && c < params.problem_size.n) {
        AlignedArray<float, 4> src = *reinterpret_cast<AlignedArray<float, 4> const *>(C + r * ldd + c), dst;
#pragma unroll
        for (int v = 0; v < 4; ++v) dst[v] = op(accum[i][j + v], src[v]);
        *reinterpret_cast<AlignedArray<float, 4> *>(D + r * ldd + c) = dst;
      }
    }
  }
}

/// Split-K kernel: raw partial sums go to the workspace, one slab per slice
template <typename Gemm, typename Mainloop, int ThreadM, int ThreadN>
__global__ void __launch_bounds__(Gemm::kThreads) gemm_splitk_kernel(typename Gemm::Params params) {
  __shared__ __align__(16) typename Mainloop::SharedStorage shared;
  float accum[ThreadM][ThreadN] = {};
  Gemm gemm;
  gemm(params, shared, accum);
  float *slab = params.workspace + size_t(blockIdx.z) * params.problem_size.m * params.problem_size.n;
#pragma unroll
  for (int i = 0; i < ThreadM; ++i)
#pragma unroll
    for (int j = 0; j < ThreadN; ++j) {
      int r = Gemm::row(i), c = Gemm::col(j);
      if (r < params.problem_size.m && c < params.problem_size.n) slab[r * params.problem_size.n + c] = accum[i][j];
    }
}

template <int kPartitions, typename Epilogue>
__global__ void reduce_split_k(float const *workspace, float const *C, float *D, int count, Epilogue op) {
  int idx = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  if (idx >= count) return;
  float4 sum = make_float4(0.f, 0.f, 0.f, 0.f);
#pragma unroll
  for (int p = 0; p < kPartitions; ++p) {
    float4 v = *reinterpret_cast<float4 const *>(workspace + size_t(p) * count + idx);
    sum.x += v.x; sum.y += v.y; sum.z += v.z; sum.w += v.w;
  }
  float4 c = *reinterpret_cast<float4 const *>(C + idx);
  *reinterpret_cast<float4 *>(D + idx) = make_float4(op(sum.x, c.x), op(sum.y, c.y), op(sum.z, c.z), op(sum.w, c.w));
}

}  // namespace tiny_cutlass

/// Naive reference GEMM computation.
__global__ void ReferenceGemm_kernel(int M, int N, int K, float alpha, float const *A, int lda, float const *B,
                                     int ldb, float beta, float const *C, float *D, int ldc) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  int j = threadIdx.y + blockIdx.y * blockDim.y;
  if (i < M && j < N) {
    float accumulator = 0;
    for (int k = 0; k < K; ++k) accumulator += A[i * lda + k] * B[k * ldb + j];
    D[i * ldc + j] = alpha * accumulator + beta * C[i * ldc + j];
  }
}

template <int BM, int BN, int BK, int TM, int TN, typename Epilogue>
void launch_gemm(tiny_cutlass::GemmCoord size, float const *A, float const *B, float const *C, float *D, Epilogue op) {
  using Shape = tiny_cutlass::GemmShape<BM, BN, BK>;
  using Mainloop = tiny_cutlass::SimtMainloop<Shape, TM, TN>;
  using Gemm = tiny_cutlass::GemmKernel<Mainloop, Shape, TM, TN>;
  typename Gemm::Params params{size, A, size.k, B, size.n, nullptr, size.k};
  dim3 grid((size.n + BN - 1) / BN, (size.m + BM - 1) / BM, 1);
  tiny_cutlass::gemm_kernel<Gemm, Mainloop, TM, TN, Epilogue><<<grid, Gemm::kThreads>>>(params, C, D, size.n, op);
  CUDA_PERROR(cudaGetLastError());
}

int main() {
  tiny_cutlass::GemmCoord size{460, 388, 512};
  float alpha = 0.5f, beta = -1.25f;
  std::vector<float> A(size.m * size.k), B(size.k * size.n), C(size.m * size.n);
  unsigned seed = 17;
  auto fill = [&](std::vector<float> &v) {
    for (auto &x : v) {
      seed = seed * 1103515245u + 12345u;
      x = float(int(seed >> 20) % 17 - 8) / 8.f;
    }
  };
  fill(A); fill(B); fill(C);

  int const count = size.m * size.n;
  int const kSlices = 4;
  float *dA, *dB, *dC, *dRef, *dD0, *dD1, *dD2, *dWs;
  CUDA_PERROR(cudaMalloc(&dA, A.size() * 4));
  CUDA_PERROR(cudaMalloc(&dB, B.size() * 4));
  CUDA_PERROR(cudaMalloc(&dC, C.size() * 4));
  for (float **p : {&dRef, &dD0, &dD1, &dD2}) CUDA_PERROR(cudaMalloc(p, count * 4));
  CUDA_PERROR(cudaMalloc(&dWs, size_t(kSlices) * count * 4));
  CUDA_PERROR(cudaMemcpy(dA, A.data(), A.size() * 4, cudaMemcpyHostToDevice));
  CUDA_PERROR(cudaMemcpy(dB, B.data(), B.size() * 4, cudaMemcpyHostToDevice));
  CUDA_PERROR(cudaMemcpy(dC, C.data(), C.size() * 4, cudaMemcpyHostToDevice));

  dim3 block(16, 16), grid((size.m + 15) / 16, (size.n + 15) / 16);
  ReferenceGemm_kernel<<<grid, block>>>(size.m, size.n, size.k, alpha, dA, size.k, dB, size.n, beta, dC, dRef, size.n);

  launch_gemm<128, 64, 8, 8, 8>(size, dA, dB, dC, dD0, tiny_cutlass::epilogue::LinearCombination<float>{alpha, beta});
  launch_gemm<64, 64, 16, 4, 4>(size, dA, dB, dC, dD1, tiny_cutlass::epilogue::LinearCombinationRelu<float>{alpha, beta});
  {
    using Shape = tiny_cutlass::GemmShape<64, 64, 16>;
    using Mainloop = tiny_cutlass::SimtMainloop<Shape, 8, 4>;
    using Gemm = tiny_cutlass::GemmKernel<Mainloop, Shape, 8, 4>;
    Gemm::Params params{size, dA, size.k, dB, size.n, dWs, size.k / kSlices};
    dim3 g((size.n + 63) / 64, (size.m + 63) / 64, kSlices);
    tiny_cutlass::gemm_splitk_kernel<Gemm, Mainloop, 8, 4><<<g, Gemm::kThreads>>>(params);
    tiny_cutlass::reduce_split_k<kSlices><<<(count / 4 + 191) / 192, 192>>>(
        dWs, dC, dD2, count, tiny_cutlass::epilogue::LinearCombination<float>{alpha, beta});
  }
  CUDA_PERROR(cudaGetLastError());
  CUDA_PERROR(cudaDeviceSynchronize());

  std::vector<float> ref(count, 0.f), r0(count), r1(count), r2(count), r3(count);
  CUDA_PERROR(cudaMemcpy(r0.data(), dD0, count * 4, cudaMemcpyDeviceToHost));
  CUDA_PERROR(cudaMemcpy(r1.data(), dD1, count * 4, cudaMemcpyDeviceToHost));
  CUDA_PERROR(cudaMemcpy(r2.data(), dD2, count * 4, cudaMemcpyDeviceToHost));
  CUDA_PERROR(cudaMemcpy(r3.data(), dRef, count * 4, cudaMemcpyDeviceToHost));
  for (int i = 0; i < size.m; ++i)
    for (int k = 0; k < size.k; ++k) {
      float a = A[i * size.k + k];
      for (int j = 0; j < size.n; ++j) ref[i * size.n + j] += a * B[k * size.n + j];
    }
  int errors = 0;
  for (int i = 0; i < count; ++i) {
    float e = alpha * ref[i] + beta * C[i];
    errors += std::fabs(r0[i] - e) > 1e-3f;
    errors += std::fabs(r1[i] - std::max(e, 0.f)) > 1e-3f;
    errors += std::fabs(r2[i] - e) > 1e-3f;
    errors += std::fabs(r3[i] - e) > 1e-3f;
  }
  std::cout << "errors: " << errors << "\n" << (errors ? "FAIL" : "PASS") << std::endl;
  return errors ? 1 : 0;
}
