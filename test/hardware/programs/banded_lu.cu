// Batched LU of banded matrices (no pivoting, diagonally dominant) and solves. LAPACK-like band storage
// AB(ku+i-j, j), with the usual leading dimension kl+ku+1.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace gb {

template <int KL_, int KU_>
struct Band {
  static constexpr int KL = KL_;
  static constexpr int KU = KU_;
  static constexpr int LD = KL_ + KU_ + 1;
};

// element accessors: where is AB(r, c) of matrix b
struct MatrixMajor {
  int n, ld, batch;
  __host__ __device__ size_t operator()(int b, int r, int c) const { return ((size_t)b * n + c) * ld + r; }
};
struct Interleaved {
  int n, ld, batch;
  __host__ __device__ size_t operator()(int b, int r, int c) const { return ((size_t)c * ld + r) * batch + b; }
};

template <class B, class Layout, class T>
__host__ __device__ void factorOne(T* ab, Layout at, int b, int n) {
  for (int k = 0; k < n; ++k) {
    T piv = T(1) / ab[at(b, B::KU, k)];
    int last = k + B::KL < n ? k + B::KL : n - 1;
    for (int i = k + 1; i <= last; ++i) {
      T l = ab[at(b, B::KU + i - k, k)] * piv;
      ab[at(b, B::KU + i - k, k)] = l;
      int lastc = k + B::KU < n ? k + B::KU : n - 1;
      for (int j = k + 1; j <= lastc; ++j) {
        ab[at(b, B::KU + i - j, j)] -= l * ab[at(b, B::KU + k - j, j)];
      }
    }
  }
}

// thread per matrix, any layout
template <class B, class Layout, class T>
__global__ void factorThread(T* ab, Layout at, int n, int batch) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b < batch) factorOne<B>(ab, at, b, n);
}

// a warp per matrix, the band in dynamic shared memory; KL*KU updates spread over the lanes
template <class B, class T>
__global__ void factorWarp(T* ab, int n, int batch) {
  extern __shared__ unsigned char raw[];
  T* s = reinterpret_cast<T*>(raw) + (size_t)threadIdx.y * n * B::LD;
  int b = blockIdx.x * blockDim.y + threadIdx.y;
  if (b >= batch) return;
  T* g = ab + (size_t)b * n * B::LD;
  int lane = threadIdx.x;
  for (int e = lane; e < n * B::LD; e += 32) s[e] = g[e];
  __syncwarp();
  for (int k = 0; k < n; ++k) {
    T piv = T(1) / s[k * B::LD + B::KU];
    int i = k + 1 + lane;
    if (lane < B::KL && i < n) s[k * B::LD + B::KU + i - k] *= piv;
    __syncwarp();
    for (int e = lane; e < B::KL * B::KU; e += 32) {
      int ii = k + 1 + e % B::KL;
      int jj = k + 1 + e / B::KL;
      if (ii < n && jj < n) s[jj * B::LD + B::KU + ii - jj] -= s[k * B::LD + B::KU + ii - k] * s[jj * B::LD + B::KU + k - jj];
    }
    __syncwarp();
  }
  for (int e = lane; e < n * B::LD; e += 32) g[e] = s[e];
}

template <class B, class Layout, class T>
__global__ void solveThread(const T* __restrict__ lu, Layout at, T* __restrict__ x, int n, int batch) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= batch) return;
  // right-hand sides are interleaved: x[i * batch + b]
  for (int k = 0; k < n; ++k) {
    T xk = x[(size_t)k * batch + b];
    for (int i = k + 1; i <= k + B::KL && i < n; ++i) x[(size_t)i * batch + b] -= lu[at(b, B::KU + i - k, k)] * xk;
  }
  for (int k = n - 1; k >= 0; --k) {
    T xk = x[(size_t)k * batch + b] / lu[at(b, B::KU, k)];
    x[(size_t)k * batch + b] = xk;
    for (int i = k - 1; i >= k - B::KU && i >= 0; --i) x[(size_t)i * batch + b] -= lu[at(b, B::KU + i - k, k)] * xk;
  }
}

// [batch][len] <-> [len][batch]
template <class T, int TILE>
__global__ void transpose(const T* __restrict__ in, T* __restrict__ out, int rows, int cols) {
  __shared__ T t[TILE][TILE + 1];
  int c = blockIdx.x * TILE + threadIdx.x;
  for (int j = threadIdx.y; j < TILE; j += blockDim.y) {
    int r = blockIdx.y * TILE + j;
    if (r < rows && c < cols) t[j][threadIdx.x] = in[(size_t)r * cols + c];
  }
  __syncthreads();
  int r = blockIdx.y * TILE + threadIdx.x;
  for (int j = threadIdx.y; j < TILE; j += blockDim.y) {
    int cc = blockIdx.x * TILE + j;
    if (r < rows && cc < cols) out[(size_t)cc * rows + r] = t[threadIdx.x][j];
  }
}

// max-norm residual of A x - b per matrix, block per matrix
template <class B, class T>
__global__ void residual(const T* __restrict__ ab, const T* __restrict__ x, const T* __restrict__ rhs, T* __restrict__ res, int n, int batch) {
  __shared__ T red[4];
  int b = blockIdx.x;
  T worst = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    T s = -rhs[(size_t)i * batch + b];
    for (int j = max(0, i - B::KL); j <= min(n - 1, i + B::KU); ++j) s += ab[((size_t)b * n + j) * B::LD + B::KU + i - j] * x[(size_t)j * batch + b];
    worst = max(worst, fabs(s));
  }
  for (int m = 16; m; m >>= 1) worst = max(worst, __shfl_xor_sync(0xffffffffu, worst, m));
  if (threadIdx.x % 32 == 0) red[threadIdx.x / 32] = worst;
  __syncthreads();
  if (threadIdx.x == 0) res[b] = max(max(red[0], red[1]), max(red[2], red[3]));
}

}  // namespace gb

static void must(cudaError_t e) {
  if (e != cudaSuccess) {
    std::printf("CUDA: %s\n", cudaGetErrorString(e));
    std::exit(1);
  }
}

template <class T>
static std::vector<T> pull(const T* d, size_t n) {
  std::vector<T> h(n);
  must(cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost));
  return h;
}

template <class T, class B>
static bool run(int n, int batch, double tol) {
  const size_t per = (size_t)n * B::LD, total = per * batch;
  std::vector<T> a(total, T(0)), rhs((size_t)n * batch);
  unsigned s = 987654321u;
  auto rnd = [&]() {
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    return T(s % 20001) / T(10000) - T(1);
  };
  gb::MatrixMajor mm{n, B::LD, batch};
  gb::Interleaved il{n, B::LD, batch};
  for (int b = 0; b < batch; ++b)
    for (int c = 0; c < n; ++c)
      for (int r = 0; r < B::LD; ++r) {
        int i = c + r - B::KU;
        if (i >= 0 && i < n) a[mm(b, r, c)] = r == B::KU ? T(B::LD) + rnd() : rnd();
      }
  for (auto& v : rhs) v = rnd();

  T *dA, *dF, *dI, *dI2, *dX, *dX2, *dB, *dRes;
  must(cudaMalloc(&dA, total * sizeof(T)));
  must(cudaMalloc(&dF, total * sizeof(T)));
  must(cudaMalloc(&dI, total * sizeof(T)));
  must(cudaMalloc(&dI2, total * sizeof(T)));
  must(cudaMalloc(&dX, rhs.size() * sizeof(T)));
  must(cudaMalloc(&dX2, rhs.size() * sizeof(T)));
  must(cudaMalloc(&dB, rhs.size() * sizeof(T)));
  must(cudaMalloc(&dRes, batch * sizeof(T)));
  must(cudaMemcpy(dA, a.data(), total * sizeof(T), cudaMemcpyHostToDevice));
  must(cudaMemcpy(dF, dA, total * sizeof(T), cudaMemcpyDeviceToDevice));
  must(cudaMemcpy(dB, rhs.data(), rhs.size() * sizeof(T), cudaMemcpyHostToDevice));
  must(cudaMemcpy(dX, dB, rhs.size() * sizeof(T), cudaMemcpyDeviceToDevice));
  must(cudaMemcpy(dX2, dB, rhs.size() * sizeof(T), cudaMemcpyDeviceToDevice));

  dim3 tb(32, 8), tg((unsigned)((per + 31) / 32), (batch + 31) / 32);
  gb::transpose<T, 32><<<tg, tb>>>(dA, dI, batch, (int)per);
  gb::factorThread<B><<<(batch + 31) / 32, 32>>>(dI, il, n, batch);
  gb::solveThread<B><<<(batch + 63) / 64, 64>>>(dI, il, dX, n, batch);
  const int warps = 2;
  gb::factorWarp<B><<<(batch + warps - 1) / warps, dim3(32, warps), warps * per * sizeof(T)>>>(dF, n, batch);
  gb::solveThread<B><<<(batch + 63) / 64, 64>>>(dF, mm, dX2, n, batch);
  gb::residual<B><<<batch, 128>>>(dA, dX, dB, dRes, n, batch);
  must(cudaMemcpy(dI2, dA, total * sizeof(T), cudaMemcpyDeviceToDevice));
  gb::factorThread<B><<<(batch + 31) / 32, 32>>>(dI2, mm, n, batch);
  must(cudaGetLastError());
  must(cudaDeviceSynchronize());

  std::vector<T> f = pull(dF, total), fi = pull(dI, total), fm = pull(dI2, total), x = pull(dX, rhs.size()), x2 = pull(dX2, rhs.size()), res = pull(dRes, batch);
  std::vector<T> ref = a;
  double ef = 0, ex = 0, er = 0;
  for (int b = 0; b < batch; ++b) {
    gb::factorOne<B>(ref.data(), mm, b, n);
    for (int c = 0; c < n; ++c)
      for (int r = 0; r < B::LD; ++r) {
        T v = ref[mm(b, r, c)];
        ef = std::fmax(ef, std::fabs(v - f[mm(b, r, c)]));
        ef = std::fmax(ef, std::fabs(v - fi[il(b, r, c)]));
        ef = std::fmax(ef, std::fabs(v - fm[mm(b, r, c)]));
      }
    er = std::fmax(er, (double)res[b]);
  }
  for (size_t i = 0; i < x.size(); ++i) ex = std::fmax(ex, std::fabs(x[i] - x2[i]));
  std::printf("n=%d kl=%d ku=%d: factor %.2e solve %.2e residual %.2e\n", n, B::KL, B::KU, ef, ex, er);
  return ef < tol && ex < tol && er < tol;
}

int main() {
  bool ok = run<double, gb::Band<4, 3>>(128, 512, 1e-11);
  ok = run<float, gb::Band<2, 5>>(96, 1000, 2e-4) && ok;
  std::puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
