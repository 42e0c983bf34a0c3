// Small collection of batched / sparse solvers:
//   * parallel cyclic reduction for diagonally dominant tridiagonal systems
//   * one-sided Jacobi SVD (singular values), one warp per matrix
//   * level-scheduled sparse lower triangular solve + residual
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bs {

inline void check(cudaError_t e, const char* file, int line) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorString(e));
  std::exit(EXIT_FAILURE);
}
#define BS_CHECK(x) ::bs::check((x), __FILE__, __LINE__)

template <typename T>
class DVec {
  T* p_ = nullptr;
  std::size_t n_ = 0;

 public:
  explicit DVec(std::size_t n) : n_(n) { BS_CHECK(cudaMalloc(&p_, n * sizeof(T))); }
  DVec(const std::vector<T>& h) : DVec(h.size()) { BS_CHECK(cudaMemcpy(p_, h.data(), n_ * sizeof(T), cudaMemcpyDefault)); }
  DVec(DVec&& o) noexcept : p_(std::exchange(o.p_, nullptr)), n_(o.n_) {}
  ~DVec() { if (p_) cudaFree(p_); }
  T* get() { return p_; }
  std::vector<T> host() const {
    std::vector<T> h(n_);
    BS_CHECK(cudaMemcpy(h.data(), p_, n_ * sizeof(T), cudaMemcpyDefault));
    return h;
  }
};

// ------------------------------------------------------------------ PCR
// one system per block, n == blockDim.x unknowns (any n), interleaved = element i of system s at i*batch + s
template <typename T, bool Interleaved>
__global__ void pcr_kernel(const T* a, const T* b, const T* c, const T* d, T* x, int batch) {
  extern __shared__ __align__(16) unsigned char smem_raw[];
  T* sa = reinterpret_cast<T*>(smem_raw);
  const int n = blockDim.x, i = threadIdx.x;
  T *sb = sa + n, *sc = sb + n, *sd = sc + n;
  const std::size_t g = Interleaved ? std::size_t(i) * batch + blockIdx.x : std::size_t(blockIdx.x) * n + i;
  sa[i] = i > 0 ? a[g] : T(0);
  sb[i] = b[g];
  sc[i] = i < n - 1 ? c[g] : T(0);
  sd[i] = d[g];
  __syncthreads();
  for (int h = 1; h < n; h <<= 1) {
    T ra = 0, rb = sb[i], rc = 0, rd = sd[i];
    if (i - h >= 0) {
      const T k = sa[i] / sb[i - h];
      ra = -sa[i - h] * k;
      rb -= sc[i - h] * k;
      rd -= sd[i - h] * k;
    }
    if (i + h < n) {
      const T k = sc[i] / sb[i + h];
      rc = -sc[i + h] * k;
      rb -= sa[i + h] * k;
      rd -= sd[i + h] * k;
    }
    __syncthreads();
    sa[i] = ra; sb[i] = rb; sc[i] = rc; sd[i] = rd;
    __syncthreads();
  }
  x[g] = sd[i] / sb[i];
}

// ------------------------------------------------------------------ Jacobi SVD
template <typename T>
__device__ T wsum(T v) {
#pragma unroll
  for (int m = 16; m; m /= 2) v += __shfl_xor_sync(0xffffffffu, v, m);
  return v;
}

template <typename T, int COLS, int WARPS>
__global__ void jacobi_svd_kernel(const T* A, T* sigma, int batch, int sweeps) {
  static_assert(COLS <= 32);
  __shared__ T s[WARPS][COLS][32];
  __shared__ T norms[WARPS][COLS];
  const int lane = threadIdx.x, w = threadIdx.y, id = blockIdx.x * WARPS + w;
  if (id >= batch) return;
  const T* src = A + std::size_t(id) * 32 * COLS;   // row major 32 x COLS
  for (int c = 0; c < COLS; ++c) s[w][c][lane] = src[lane * COLS + c];
  __syncwarp();
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    T off = 0;
    for (int p = 0; p < COLS - 1; ++p)
      for (int q = p + 1; q < COLS; ++q) {
        const T u = s[w][p][lane], v = s[w][q][lane];
        const T alpha = wsum(u * u), beta = wsum(v * v), gamma = wsum(u * v);
        const T rel = fabs(gamma) / (sqrt(alpha * beta) + T(1e-30));
        off = rel > off ? rel : off;
        if (rel < T(1e-7)) continue;
        const T zeta = (beta - alpha) / (2 * gamma);
        const T t = copysign(T(1), zeta) / (fabs(zeta) + sqrt(1 + zeta * zeta));
        const T cs = rsqrt(1 + t * t), sn = cs * t;
        s[w][p][lane] = cs * u - sn * v;
        s[w][q][lane] = sn * u + cs * v;
      }
    if (off < T(1e-6)) break;
  }
  for (int c = 0; c < COLS; ++c) {
    const T nn = wsum(s[w][c][lane] * s[w][c][lane]);
    if (lane == 0) norms[w][c] = sqrt(nn);
  }
  __syncwarp();
  if (lane < COLS) {                                 // rank sort, descending
    const T mine = norms[w][lane];
    int rank = 0;
    for (int c = 0; c < COLS; ++c) rank += norms[w][c] > mine || (norms[w][c] == mine && c < lane);
    sigma[std::size_t(id) * COLS + rank] = mine;
  }
}

// ------------------------------------------------------------------ sparse triangular
template <typename T>
struct CsrView { const int* rowptr; const int* col; const T* val; int n; };

template <typename T>
__global__ void trsv_level_kernel(CsrView<T> L, const int* rows, int count, const T* rhs, T* x) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= count) return;
  const int r = rows[k];
  T acc = rhs[r], diag = T(1);
  for (int p = L.rowptr[r]; p < L.rowptr[r + 1]; ++p) {
    if (L.col[p] == r) diag = L.val[p];
    else acc -= L.val[p] * x[L.col[p]];
  }
  x[r] = acc / diag;
}

// 8 lanes per row
template <typename T>
__global__ void residual_kernel(CsrView<T> L, const T* x, const T* rhs, T* res) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x, r = t / 8, sub = t % 8;
  T acc = 0;
  if (r < L.n)
    for (int p = L.rowptr[r] + sub; p < L.rowptr[r + 1]; p += 8) acc += L.val[p] * x[L.col[p]];
  for (int m = 4; m; m /= 2) acc += __shfl_down_sync(0xffffffffu, acc, m, 8);
  if (r < L.n && sub == 0) res[r] = rhs[r] - acc;
}

// ------------------------------------------------------------------ tests
template <typename T, bool Interleaved>
double test_pcr(int n, int batch, unsigned seed) {
  std::mt19937 g(seed);
  std::uniform_real_distribution<T> u(-1, 1);
  std::vector<T> a(std::size_t(n) * batch), b(a.size()), c(a.size()), d(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = u(g); c[i] = u(g); d[i] = 5 * u(g);
    b[i] = (u(g) > 0 ? 1 : -1) * (T(2.5) + u(g) / 3);
  }
  DVec<T> da(a), db(b), dc(c), dd(d), dx(a.size());
  pcr_kernel<T, Interleaved><<<batch, n, 4 * n * sizeof(T)>>>(da.get(), db.get(), dc.get(), dd.get(), dx.get(), batch);
  BS_CHECK(cudaGetLastError());
  const auto x = dx.host();
  double worst = 0;
  std::vector<double> cp(n), dp(n);
  for (int s = 0; s < batch; ++s) {
    auto at = [&](int i) { return Interleaved ? std::size_t(i) * batch + s : std::size_t(s) * n + i; };
    for (int i = 0; i < n; ++i) {
      const double ai = i ? double(a[at(i)]) : 0.0, m = b[at(i)] - (i ? ai * cp[i - 1] : 0.0);
      cp[i] = (i < n - 1 ? double(c[at(i)]) : 0.0) / m;
      dp[i] = (d[at(i)] - (i ? ai * dp[i - 1] : 0.0)) / m;
    }
    for (int i = n - 2; i >= 0; --i) dp[i] -= cp[i] * dp[i + 1];
    for (int i = 0; i < n; ++i) worst = std::max(worst, std::isfinite(double(x[at(i)])) ? std::abs(x[at(i)] - dp[i]) : 1e9);
  }
  return worst;
}

template <typename T, int COLS>
double test_svd(int batch) {
  std::mt19937_64 g(99 + COLS);
  std::normal_distribution<double> nd;
  std::vector<T> A(std::size_t(batch) * 32 * COLS);
  std::generate(A.begin(), A.end(), [&] { return T(nd(g)); });
  DVec<T> dA(A), ds(std::size_t(batch) * COLS);
  constexpr int W = 4;
  jacobi_svd_kernel<T, COLS, W><<<(batch + W - 1) / W, dim3(32, W)>>>(dA.get(), ds.get(), batch, 12);
  BS_CHECK(cudaGetLastError());
  const auto sig = ds.host();
  double worst = 0;
  for (int id = 0; id < batch; ++id) {              // cyclic Jacobi on the Gram matrix, double
    double G[COLS][COLS] = {};
    for (int r = 0; r < 32; ++r)
      for (int i = 0; i < COLS; ++i)
        for (int j = 0; j < COLS; ++j) G[i][j] += double(A[(std::size_t(id) * 32 + r) * COLS + i]) * A[(std::size_t(id) * 32 + r) * COLS + j];
    for (int sweep = 0; sweep < 10; ++sweep)
      for (int p = 0; p < COLS - 1; ++p)
        for (int q = p + 1; q < COLS; ++q) {
          if (std::abs(G[p][q]) < 1e-13 * G[p][p]) continue;
          const double th = (G[q][q] - G[p][p]) / (2 * G[p][q]), t = std::copysign(1.0, th) / (std::abs(th) + std::sqrt(1 + th * th));
          const double c = 1 / std::sqrt(1 + t * t), s = c * t;
          for (int k = 0; k < COLS; ++k) { const double x = G[k][p], y = G[k][q]; G[k][p] = c * x - s * y; G[k][q] = s * x + c * y; }
          for (int k = 0; k < COLS; ++k) { const double x = G[p][k], y = G[q][k]; G[p][k] = c * x - s * y; G[q][k] = s * x + c * y; }
        }
    std::vector<double> ref(COLS);
    for (int k = 0; k < COLS; ++k) ref[k] = std::sqrt(std::max(0.0, G[k][k]));
    std::sort(ref.begin(), ref.end(), std::greater<>());
    for (int k = 0; k < COLS; ++k) {
      const double e = std::abs(double(sig[std::size_t(id) * COLS + k]) - ref[k]) / ref[0];
      worst = e <= worst ? worst : e;
    }
  }
  return worst;
}

std::pair<double, double> test_trsv(int n, int nlevels) {
  using T = double;
  std::mt19937 g(4242);
  std::uniform_real_distribution<T> u(-1, 1);
  // row r may only reference rows of lower "colour"; colour blocks are contiguous, sizes shrink
  std::vector<int> colour_start{0};
  for (int l = 0; l < nlevels; ++l) colour_start.push_back(std::min(n, colour_start.back() + (l + 1 == nlevels ? n : n * 2 / (nlevels + 3 + l))));
  std::vector<int> rowptr{0}, col, level(n);
  std::vector<T> val, rhs(n);
  for (int l = 0; l < nlevels; ++l)
    for (int r = colour_start[l]; r < colour_start[l + 1]; ++r) {
      const int deg = l ? 3 + int(g() % 12) : 0;
      std::vector<int> cs;
      for (int k = 0; k < deg; ++k) cs.push_back(int(g() % colour_start[l]));
      std::sort(cs.begin(), cs.end());
      cs.erase(std::unique(cs.begin(), cs.end()), cs.end());
      int lv = 0;
      for (int c : cs) { col.push_back(c); val.push_back(u(g) * 0.5); lv = std::max(lv, level[c] + 1); }
      col.push_back(r);
      val.push_back(2 + u(g));
      rowptr.push_back(int(col.size()));
      level[r] = lv;
      rhs[r] = u(g);
    }
  const int levels = 1 + *std::max_element(level.begin(), level.end());
  std::vector<int> order(n), lstart(levels + 1, 0);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int x, int y) { return level[x] < level[y]; });
  for (int lv : level) ++lstart[lv + 1];
  std::partial_sum(lstart.begin(), lstart.end(), lstart.begin());

  DVec<int> drp(rowptr), dcol(col), dorder(order);
  DVec<T> dval(val), drhs(rhs), dx(n), dres(n);
  const CsrView<T> L{drp.get(), dcol.get(), dval.get(), n};
  for (int l = 0; l < levels; ++l) {
    const int cnt = lstart[l + 1] - lstart[l], threads = cnt > 4000 ? 256 : 64;
    trsv_level_kernel<T><<<(cnt + threads - 1) / threads, threads>>>(L, dorder.get() + lstart[l], cnt, drhs.get(), dx.get());
  }
  residual_kernel<T><<<(n * 8 + 255) / 256, 256>>>(L, dx.get(), drhs.get(), dres.get());
  BS_CHECK(cudaGetLastError());
  const auto x = dx.host(), res = dres.host();
  std::vector<double> xr(n);
  double worst = 0, wres = 0, scale = 0;
  for (int r = 0; r < n; ++r) {
    double acc = rhs[r];
    const int last = rowptr[r + 1] - 1;
    for (int p = rowptr[r]; p < last; ++p) acc -= val[p] * xr[col[p]];
    xr[r] = acc / val[last];
    scale = std::max(scale, std::abs(xr[r]));
    worst = std::max(worst, std::isfinite(x[r]) ? std::abs(x[r] - xr[r]) : 1e9);
    wres = std::max(wres, std::abs(res[r]));
  }
  std::printf("trsv: %d rows, %zu nnz, %d levels\n", n, col.size(), levels);
  return {worst / scale, wres / scale};
}

}  // namespace bs

int main(int argc, char** argv) {
  const int batch = argc > 1 ? std::max(1, std::atoi(argv[1])) : 400;
  struct Row { std::string name; double err, tol; };
  std::vector<Row> rows;
  rows.push_back({"pcr<float, contiguous> n=256", bs::test_pcr<float, false>(256, batch, 1), 5e-3});
  rows.push_back({"pcr<double, interleaved> n=200", bs::test_pcr<double, true>(200, batch + 13, 2), 1e-9});
  rows.push_back({"jacobi svd<float, 16>", bs::test_svd<float, 16>(batch), 1e-3});
  rows.push_back({"jacobi svd<double, 10>", bs::test_svd<double, 10>(batch / 2 + 1), 1e-6});
  const auto [xerr, rerr] = bs::test_trsv(30000, 8);
  rows.push_back({"sparse trsv x", xerr, 1e-9});
  rows.push_back({"sparse trsv residual", rerr, 1e-9});
  bool ok = true;
  for (const auto& [name, err, tol] : rows) {
    const bool good = err < tol;
    ok = ok && good;
    std::printf("%-32s %.3e (tol %.0e) %s\n", name.c_str(), err, tol, good ? "ok" : "BAD");
  }
  std::puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
