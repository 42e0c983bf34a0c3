// Sparse tensor factorisation kernels on a CSF (compressed sparse fibre) tree:
// MTTKRP in three flavours, tensor-times-vector, Gram matrices, column normalisation.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <cuda_runtime.h>

using idx_t = int32_t;
using val_t = float;

static void cuda_check(cudaError_t err, int line) {
  if (err == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(err));
  std::puts("FAIL");
  std::exit(1);
}
#define CUDA_CHECK(x) cuda_check((x), __LINE__)

template <class T>
T* upload(const std::vector<T>& v) {
  T* d = nullptr;
  CUDA_CHECK(cudaMalloc(&d, std::max<size_t>(1, v.size()) * sizeof(T)));
  CUDA_CHECK(cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return d;
}

struct coo_entry {
  std::array<idx_t, 3> ix;
  val_t v;
};

// three level tree: slice -> fibre -> nonzero
struct csf_host {
  std::array<int, 3> order;  // tensor mode at each level
  std::vector<idx_t> sptr, sids, fptr, fids, nids;
  std::vector<val_t> vals;
};

struct csf_dev {
  int nslices, nfibers, nnz;
  const idx_t *sptr, *sids, *fptr, *fids, *nids;
  const val_t* vals;
};

static csf_host build_csf(std::vector<coo_entry> coo, std::array<int, 3> order) {
  std::sort(coo.begin(), coo.end(), [&](const coo_entry& a, const coo_entry& b) {
    return std::tie(a.ix[order[0]], a.ix[order[1]], a.ix[order[2]]) <
           std::tie(b.ix[order[0]], b.ix[order[1]], b.ix[order[2]]);
  });
  csf_host t;
  t.order = order;
  idx_t ps = -1, pf = -1;
  for (size_t e = 0; e < coo.size(); ++e) {
    const idx_t s = coo[e].ix[order[0]], f = coo[e].ix[order[1]];
    if (s != ps) {
      t.sids.push_back(s);
      t.sptr.push_back((idx_t)t.fids.size());
    }
    if (s != ps || f != pf) {
      t.fids.push_back(f);
      t.fptr.push_back((idx_t)e);
    }
    t.nids.push_back(coo[e].ix[order[2]]);
    t.vals.push_back(coo[e].v);
    ps = s;
    pf = f;
  }
  t.sptr.push_back((idx_t)t.fids.size());
  t.fptr.push_back((idx_t)coo.size());
  return t;
}

static csf_dev to_device(const csf_host& h) {
  return {(int)h.sids.size(), (int)h.fids.size(), (int)h.vals.size(), upload(h.sptr), upload(h.sids),
          upload(h.fptr),     upload(h.fids),     upload(h.nids),      upload(h.vals)};
}

// ---- MTTKRP, one block per slice; threadIdx.x runs over the rank, threadIdx.y over fibres -------
template <int R>
__global__ void mttkrp_root(csf_dev t, const val_t* __restrict__ B, const val_t* __restrict__ C,
                            val_t* __restrict__ M) {
  extern __shared__ val_t acc[];  // blockDim.y rows of R
  const int s = blockIdx.x;
  const int r = threadIdx.x;
  val_t sum = 0;
  for (idx_t f = t.sptr[s] + threadIdx.y; f < t.sptr[s + 1]; f += blockDim.y) {
    val_t tmp = 0;
    for (idx_t e = t.fptr[f]; e < t.fptr[f + 1]; ++e) tmp += t.vals[e] * C[t.nids[e] * R + r];
    sum += tmp * B[t.fids[f] * R + r];
  }
  acc[threadIdx.y * R + r] = sum;
  __syncthreads();
  for (int h = blockDim.y / 2; h > 0; h >>= 1) {
    if (threadIdx.y < h) acc[threadIdx.y * R + r] += acc[(threadIdx.y + h) * R + r];
    __syncthreads();
  }
  if (threadIdx.y == 0) M[t.sids[s] * R + r] = acc[r];
}

// ---- MTTKRP on the leaf mode, a warp per fibre, scatter with atomics ---------------------------
template <int R>
__global__ void mttkrp_leaf(csf_dev t, const idx_t* __restrict__ fiber_slice, const val_t* __restrict__ A,
                            const val_t* __restrict__ B, val_t* M) {
  const int f = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (f >= t.nfibers) return;
  const idx_t i = t.sids[fiber_slice[f]];
  const idx_t j = t.fids[f];
  for (int r = lane; r < R; r += 32) {
    const val_t ab = A[i * R + r] * B[j * R + r];
    for (idx_t e = t.fptr[f]; e < t.fptr[f + 1]; ++e) atomicAdd(&M[t.nids[e] * R + r], t.vals[e] * ab);
  }
}

// ---- plain coordinate version: a thread per nonzero, each walks whole rows by itself -----------
template <int R>
__global__ void mttkrp_coo(int nnz, const idx_t* __restrict__ i, const idx_t* __restrict__ j,
                           const idx_t* __restrict__ k, const val_t* __restrict__ v, const val_t* __restrict__ B,
                           const val_t* __restrict__ C, val_t* M) {
  const int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= nnz) return;
  for (int r = 0; r < R; ++r) atomicAdd(&M[i[e] * R + r], v[e] * B[j[e] * R + r] * C[k[e] * R + r]);
}

// fibre . vector, thread per fibre: neighbouring threads read ranges of different length
__global__ void ttv_fibers(csf_dev t, const val_t* __restrict__ x, val_t* __restrict__ y) {
  const int f = blockIdx.x * blockDim.x + threadIdx.x;
  if (f >= t.nfibers) return;
  val_t s = 0;
  for (idx_t e = t.fptr[f]; e < t.fptr[f + 1]; ++e) s += t.vals[e] * x[t.nids[e]];
  y[f] = s;
}

__global__ void expand_slices(csf_dev t, idx_t* fiber_slice) {
  const int s = blockIdx.x;
  for (idx_t f = t.sptr[s] + threadIdx.x; f < t.sptr[s + 1]; f += blockDim.x) fiber_slice[f] = s;
}

// G = A^T A, R x R threads, the block walks over its share of rows
template <int R>
__global__ void gram(const val_t* __restrict__ A, int rows, val_t* G) {
  constexpr int STRIP = 16;
  __shared__ val_t s[STRIP][R];
  const int tx = threadIdx.x, ty = threadIdx.y;
  val_t sum = 0;
  for (int base = blockIdx.x * STRIP; base < rows; base += gridDim.x * STRIP) {
    for (int q = ty * R + tx; q < STRIP * R; q += R * blockDim.y) {
      const int row = base + q / R;
      s[q / R][q % R] = row < rows ? A[row * R + q % R] : val_t(0);
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < STRIP; ++q) sum += s[q][tx] * s[q][ty];
    __syncthreads();
  }
  atomicAdd(&G[ty * R + tx], sum);
}

// column norms straight down the columns (a block per column, stride R)
template <int R>
__global__ void normalize_columns(val_t* A, int rows, val_t* lambda) {
  __shared__ val_t red[128];
  const int c = blockIdx.x;
  val_t s = 0;
  for (int i = threadIdx.x; i < rows; i += blockDim.x) {
    const val_t a = A[i * R + c];
    s += a * a;
  }
  red[threadIdx.x] = s;
  __syncthreads();
  for (int h = blockDim.x / 2; h; h /= 2) {
    if (threadIdx.x < h) red[threadIdx.x] += red[threadIdx.x + h];
    __syncthreads();
  }
  const val_t norm = sqrtf(red[0]);
  const val_t inv = norm > 0 ? 1 / norm : 0;
  for (int i = threadIdx.x; i < rows; i += blockDim.x) A[i * R + c] *= inv;
  if (threadIdx.x == 0) lambda[c] = norm;
}

static int g_failures = 0;
static void compare(const char* what, const val_t* dev, const std::vector<double>& ref, double tol) {
  std::vector<val_t> h(ref.size());
  CUDA_CHECK(cudaMemcpy(h.data(), dev, h.size() * sizeof(val_t), cudaMemcpyDeviceToHost));
  double scale = 1e-12, err = 0;
  for (double x : ref) scale = std::max(scale, std::fabs(x));
  for (size_t i = 0; i < h.size(); ++i) err = std::max(err, std::fabs(h[i] - ref[i]));
  const bool ok = err <= tol * scale;
  std::printf("  %-14s max err %.2e of %.2e %s\n", what, err, scale, ok ? "" : "<-- wrong");
  if (!ok) ++g_failures;
}

template <int R>
void factor_step(const std::vector<coo_entry>& coo, const std::array<int, 3>& dims) {
  std::printf("rank %d\n", R);
  std::array<std::vector<val_t>, 3> F;
  std::array<val_t*, 3> dF;
  for (int m = 0; m < 3; ++m) {
    F[m].resize((size_t)dims[m] * R);
    for (size_t q = 0; q < F[m].size(); ++q) F[m][q] = (val_t)((q * 2654435761u >> 7) % 1000) / 1000.f - 0.3f;
    dF[m] = upload(F[m]);
  }
  const csf_host tree = build_csf(coo, {0, 1, 2});
  const csf_dev d = to_device(tree);

  std::array<std::vector<double>, 3> ref;
  for (int m : {0, 2}) ref[m].assign((size_t)dims[m] * R, 0.0);
  for (const auto& e : coo)
    for (int r = 0; r < R; ++r) {
      const double a = F[0][e.ix[0] * R + r], b = F[1][e.ix[1] * R + r], c = F[2][e.ix[2] * R + r];
      ref[0][e.ix[0] * R + r] += e.v * b * c;
      ref[2][e.ix[2] * R + r] += e.v * a * b;
    }

  val_t *M0, *M2;
  CUDA_CHECK(cudaMalloc(&M0, ref[0].size() * sizeof(val_t)));
  CUDA_CHECK(cudaMalloc(&M2, ref[2].size() * sizeof(val_t)));
  CUDA_CHECK(cudaMemset(M0, 0, ref[0].size() * sizeof(val_t)));
  CUDA_CHECK(cudaMemset(M2, 0, ref[2].size() * sizeof(val_t)));

  // average fibres per slice decides how many fibres a block works on at once
  int fy = 1;
  while (fy * 2 * R <= 256 && fy * 2 <= d.nfibers / d.nslices) fy *= 2;
  mttkrp_root<R><<<d.nslices, dim3(R, fy), fy * R * sizeof(val_t)>>>(d, dF[1], dF[2], M0);
  compare("root mode", M0, ref[0], 1e-4);

  idx_t* fiber_slice;
  CUDA_CHECK(cudaMalloc(&fiber_slice, d.nfibers * sizeof(idx_t)));
  expand_slices<<<d.nslices, 32>>>(d, fiber_slice);
  mttkrp_leaf<R><<<(d.nfibers + 3) / 4, 128>>>(d, fiber_slice, dF[0], dF[1], M2);
  compare("leaf mode", M2, ref[2], 1e-4);

  std::array<std::vector<idx_t>, 3> ij;
  std::vector<val_t> v;
  for (const auto& e : coo) {
    for (int m = 0; m < 3; ++m) ij[m].push_back(e.ix[m]);
    v.push_back(e.v);
  }
  idx_t* dij[3];
  for (int m = 0; m < 3; ++m) dij[m] = upload(ij[m]);
  val_t* dv = upload(v);
  CUDA_CHECK(cudaMemset(M0, 0, ref[0].size() * sizeof(val_t)));
  mttkrp_coo<R><<<(d.nnz + 255) / 256, 256>>>(d.nnz, dij[0], dij[1], dij[2], dv, dF[1], dF[2], M0);
  compare("coo", M0, ref[0], 1e-4);

  // Gram matrix of the new factor, then normalise it
  std::vector<double> g((size_t)R * R, 0.0), lam(R);
  for (int i = 0; i < dims[1]; ++i)
    for (int p = 0; p < R; ++p)
      for (int q = 0; q < R; ++q) g[p * R + q] += (double)F[1][i * R + p] * F[1][i * R + q];
  val_t* G;
  CUDA_CHECK(cudaMalloc(&G, g.size() * sizeof(val_t)));
  CUDA_CHECK(cudaMemset(G, 0, g.size() * sizeof(val_t)));
  gram<R><<<24, dim3(R, R)>>>(dF[1], dims[1], G);
  compare("gram", G, g, 1e-4);

  val_t* lambda;
  CUDA_CHECK(cudaMalloc(&lambda, R * sizeof(val_t)));
  normalize_columns<R><<<R, 128>>>(M0, dims[0], lambda);
  for (int c = 0; c < R; ++c) {
    double s = 0;
    for (int i = 0; i < dims[0]; ++i) s += ref[0][i * R + c] * ref[0][i * R + c];
    lam[c] = std::sqrt(s);
  }
  compare("lambda", lambda, lam, 1e-4);

  // tensor times vector along the leaf mode
  std::vector<val_t> x(dims[2]);
  for (int k = 0; k < dims[2]; ++k) x[k] = 1.f / (1 + k % 17);
  std::vector<double> y(d.nfibers, 0.0);
  for (int f = 0; f < d.nfibers; ++f)
    for (idx_t e = tree.fptr[f]; e < tree.fptr[f + 1]; ++e) y[f] += (double)tree.vals[e] * x[tree.nids[e]];
  val_t* dx = upload(x);
  val_t* dy;
  CUDA_CHECK(cudaMalloc(&dy, d.nfibers * sizeof(val_t)));
  ttv_fibers<<<(d.nfibers + 127) / 128, 128>>>(d, dx, dy);
  compare("ttv", dy, y, 1e-4);
  for (void* p : {(void*)M0, (void*)M2, (void*)fiber_slice, (void*)dv, (void*)G, (void*)lambda, (void*)dx, (void*)dy})
    CUDA_CHECK(cudaFree(p));
}

int main() {
  const std::array<int, 3> dims{487, 350, 1021};
  // power-law slices: slice i gets about 1/(i+3) of the nonzeros
  std::mt19937 rng(2024);
  std::map<std::tuple<int, int, int>, val_t> cells;
  while (cells.size() < 24000) {
    const double u = rng() / 4294967296.0;
    const int i = std::min(dims[0] - 1, (int)(3 * (std::pow(165.0, u) - 1)));
    const int j = rng() % dims[1];
    const int run = 1 + rng() % 6;
    const int k0 = rng() % dims[2];
    for (int q = 0; q < run && k0 + q * 3 < dims[2]; ++q)
      cells[{i, j, k0 + q * 3}] = (val_t)((rng() >> 8) % 2001) / 1000.f - 1.f;
  }
  std::vector<coo_entry> coo;
  for (const auto& [key, v] : cells) coo.push_back({{std::get<0>(key), std::get<1>(key), std::get<2>(key)}, v});
  std::shuffle(coo.begin(), coo.end(), rng);

  const std::map<std::string, std::function<void()>> runs{
      {"rank16", [&] { factor_step<16>(coo, dims); }},
      {"rank25", [&] { factor_step<25>(coo, dims); }},
  };
  for (const auto& [name, fn] : runs) fn();
  CUDA_CHECK(cudaDeviceSynchronize());
  std::puts(g_failures ? "FAIL" : "PASS");
  return g_failures ? 1 : 0;
}
