// Kernel polynomial method for a disordered honeycomb lattice: Chebyshev recursion with random vectors, moments, Jackson
// kernel, density of states. The Hamiltonian is applied matrix-free and through ELLPACK (two index orders).
#include <cuda_runtime.h>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define CC(call)                                                                                  \
  {                                                                                               \
    auto status = call;                                                                           \
    if (status != cudaSuccess) {                                                                  \
      fprintf(stderr, "CUDA failure %d (%s) at line %d\n", status, cudaGetErrorString(status), __LINE__); \
      exit(1);                                                                                    \
    }                                                                                             \
  }

constexpr int LX = 192;
constexpr int LY = 160;
constexpr int N = 2 * LX * LY;  // sublattices A and B: site = 2*(y*LX + x) + s
constexpr int R = 4;            // random vectors in a block
constexpr int MOMENTS = 12;
constexpr int NE = 256;

struct Model {
  float t;      // hopping over the half width
  float width;  // scale of the spectrum
};

__host__ __device__ inline int site(int x, int y, int s) {
  x = (x + LX) % LX;
  y = (y + LY) % LY;
  return 2 * (y * LX + x) + s;
}

__host__ __device__ inline void neighbours(int i, int n[3]) {
  int s = i & 1;
  int x = (i >> 1) % LX;
  int y = (i >> 1) / LX;
  if (s == 0) {
    n[0] = site(x, y, 1);
    n[1] = site(x - 1, y, 1);
    n[2] = site(x, y - 1, 1);
  } else {
    n[0] = site(x, y, 0);
    n[1] = site(x + 1, y, 0);
    n[2] = site(x, y + 1, 0);
  }
}

// vectors interleaved: v[site][R]; thread = (site, vector)
__global__ void chebyshev_free(Model m, const float* __restrict__ eps, const float2* __restrict__ cur, float2* __restrict__ prev, float factor) {
  int g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= N * R) return;
  int i = g / R;
  int r = g % R;
  int n[3];
  neighbours(i, n);
  float2 a = cur[n[0] * R + r];
  float2 b = cur[n[1] * R + r];
  float2 c = cur[n[2] * R + r];
  float2 self = cur[g];
  float e = eps[i];
  float hx = e * self.x - m.t * (a.x + b.x + c.x);
  float hy = e * self.y - m.t * (a.y + b.y + c.y);
  float2 p = prev[g];
  prev[g] = make_float2(factor * hx - (factor > 1.5f ? p.x : 0.0f), factor * hy - (factor > 1.5f ? p.y : 0.0f));
}

// ELLPACK, slot-major: col[slot * N + row]; single vector
__global__ void spmv_ell_columns(const int* __restrict__ col, const float* __restrict__ val, const float2* __restrict__ x, float2* __restrict__ y, int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  float re = 0, im = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    float2 v = x[col[k * N + i] * stride];
    float a = val[k * N + i];
    re += a * v.x;
    im += a * v.y;
  }
  y[i] = make_float2(re, im);
}

// ELLPACK, row-major: col[row * 4 + slot]
__global__ void spmv_ell_rows(const int4* __restrict__ col, const float4* __restrict__ val, const float2* __restrict__ x, float2* __restrict__ y, int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  int4 c = col[i];
  float4 a = val[i];
  float2 v0 = x[c.x * stride];
  float2 v1 = x[c.y * stride];
  float2 v2 = x[c.z * stride];
  float2 v3 = x[c.w * stride];
  y[i] = make_float2(a.x * v0.x + a.y * v1.x + a.z * v2.x + a.w * v3.x, a.x * v0.y + a.y * v1.y + a.z * v2.y + a.w * v3.y);
}

// two moments from one pair of vectors: <a|b> and <a|a>
__global__ void moments(const float2* __restrict__ a, const float2* __restrict__ b, double2* __restrict__ out) {
  double ab = 0, aa = 0;
  for (int g = blockIdx.x * blockDim.x + threadIdx.x; g < N * R; g += gridDim.x * blockDim.x) {
    float2 x = a[g];
    float2 y = b[g];
    ab += x.x * y.x + x.y * y.y;
    aa += x.x * x.x + x.y * x.y;
  }
  __shared__ double s1[256];
  __shared__ double s2[256];
  s1[threadIdx.x] = ab;
  s2[threadIdx.x] = aa;
  for (int h = 128; h; h >>= 1) {
    __syncthreads();
    if (threadIdx.x < h) {
      s1[threadIdx.x] += s1[threadIdx.x + h];
      s2[threadIdx.x] += s2[threadIdx.x + h];
    }
  }
  if (threadIdx.x == 0) {
    atomicAdd(&out->x, s1[0]);
    atomicAdd(&out->y, s2[0]);
  }
}

// rho(E) by summing the Chebyshev series, coefficients in shared memory
__global__ void density_of_states(const double* __restrict__ mu, int n, float* __restrict__ rho) {
  extern __shared__ float coef[];
  for (int k = threadIdx.x; k < n; k += blockDim.x) {
    double q = 3.14159265358979 / (n + 1);
    double jackson = ((n - k + 1) * cos(q * k) + sin(q * k) / tan(q)) / (n + 1);
    coef[k] = (float)(jackson * mu[k] * (k ? 2.0 : 1.0));
  }
  __syncthreads();
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= NE) return;
  float x = cosf(3.14159265f * (e + 0.5f) / NE);
  float t0 = 1.0f, t1 = x;
  float s = coef[0] + coef[1] * x;
  for (int k = 2; k < n; ++k) {
    float t2 = 2.0f * x * t1 - t0;
    s += coef[k] * t2;
    t0 = t1;
    t1 = t2;
  }
  rho[e] = s / (3.14159265f * sqrtf(1.0f - x * x));
}

// local densities of the two sublattices, summed along y
__global__ void sublattice_profile(const float2* __restrict__ v, float* __restrict__ profile) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int s = blockIdx.y;
  if (x >= LX) return;
  float sum = 0;
  for (int y = 0; y < LY; ++y) {
    for (int r = 0; r < R; ++r) {
      float2 a = v[(2 * (y * LX + x) + s) * R + r];
      sum += a.x * a.x + a.y * a.y;
    }
  }
  profile[s * LX + x] = sum;
}

struct VectorPair {
  float2* a;
  float2* b;
  void swap() { std::swap(a, b); }
};

template <typename T>
static T* make(const std::vector<T>& h) {
  void* d;
  CC(cudaMalloc(&d, h.size() * sizeof(T)));
  CC(cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
  return (T*)d;
}
template <typename T>
static std::vector<T> fetch(const T* d, size_t n) {
  std::vector<T> h(n);
  CC(cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost));
  return h;
}

int main() {
  Model m{1.0f / 3.6f, 3.6f};
  std::mt19937 gen(4);
  std::vector<float> eps(N);
  for (auto& e : eps) e = 0.5f * ((gen() >> 8) / 16777216.0f - 0.5f) / m.width;
  std::vector<float2> v0(N * R);
  for (auto& v : v0) {
    float ph = 6.2831853f * ((gen() >> 8) / 16777216.0f);
    v = make_float2(std::cos(ph), std::sin(ph));
  }
  std::vector<int> colC(4 * N), colR(4 * N);
  std::vector<float> valC(4 * N), valR(4 * N);
  for (int i = 0; i < N; ++i) {
    int n[3];
    neighbours(i, n);
    for (int k = 0; k < 4; ++k) {
      int c = k < 3 ? n[k] : i;
      float a = k < 3 ? -m.t : eps[i];
      colC[k * N + i] = c;
      valC[k * N + i] = a;
      colR[4 * i + k] = c;
      valR[4 * i + k] = a;
    }
  }
  float* dEps = make(eps);
  VectorPair v{make(v0), make(v0)};
  int* dColC = make(colC);
  float* dValC = make(valC);
  int* dColR = make(colR);
  float* dValR = make(valR);
  float2* dY1 = make(std::vector<float2>(N));
  float2* dY2 = make(std::vector<float2>(N));
  double2* dMu = make(std::vector<double2>(MOMENTS, make_double2(0, 0)));
  float* dRho = make(std::vector<float>(NE));
  float* dProf = make(std::vector<float>(2 * LX));
  const int grid = (N * R + 255) / 256;

  spmv_ell_columns<<<(N + 127) / 128, 128>>>(dColC, dValC, v.a, dY1, R);
  spmv_ell_rows<<<(N + 127) / 128, 128>>>((const int4*)dColR, (const float4*)dValR, v.a, dY2, R);
  // v.a = T_k v, v.b = T_{k-1} v (overwritten by T_{k+1} v)
  for (int k = 0; k < 8; ++k) {
    chebyshev_free<<<grid, 256>>>(m, dEps, v.a, v.b, k == 0 ? 1.0f : 2.0f);
    moments<<<132, 256>>>(v.a, v.b, dMu + k);
    v.swap();
  }
  CC(cudaGetLastError());
  auto raw = fetch(dMu, MOMENTS);
  std::vector<double> mu(16);
  double norm = raw[0].y;
  double mu1 = raw[0].x / norm;
  mu[0] = 1.0;
  mu[1] = mu1;
  for (int k = 1; k < 8; ++k) {
    mu[2 * k] = 2.0 * raw[k].y / norm - 1.0;
    mu[2 * k + 1] = 2.0 * raw[k].x / norm - mu1;
  }
  double* dCoef = make(mu);
  density_of_states<<<(NE + 63) / 64, 64, 16 * sizeof(float)>>>(dCoef, 16, dRho);
  sublattice_profile<<<dim3((LX + 63) / 64, 2), 64>>>(v.a, dProf);
  CC(cudaGetLastError());
  CC(cudaDeviceSynchronize());

  auto y1 = fetch(dY1, N);
  auto y2 = fetch(dY2, N);
  auto rho = fetch(dRho, NE);
  auto prof = fetch(dProf, 2 * LX);
  auto last = fetch(v.a, (size_t)N * R);
  int bad = 0;
  using C = std::complex<double>;
  std::vector<C> a(N * R), b(N * R);
  for (int g = 0; g < N * R; ++g) a[g] = C(v0[g].x, v0[g].y);
  auto apply = [&](const std::vector<C>& x, int i, int r) {
    int n[3];
    neighbours(i, n);
    return (double)eps[i] * x[i * R + r] - (double)m.t * (x[n[0] * R + r] + x[n[1] * R + r] + x[n[2] * R + r]);
  };
  for (int i = 0; i < N; ++i) {
    C w = apply(a, i, 0);
    bad += std::abs(w - C(y1[i].x, y1[i].y)) > 1e-4 || std::abs(w - C(y2[i].x, y2[i].y)) > 1e-4;
  }
  for (int k = 0; k < 8; ++k) {
    for (int i = 0; i < N; ++i)
      for (int r = 0; r < R; ++r) b[i * R + r] = k == 0 ? apply(a, i, r) : 2.0 * apply(a, i, r) - b[i * R + r];
    C ab = 0;
    double aa = 0;
    for (int g = 0; g < N * R; ++g) {
      ab += std::conj(a[g]) * b[g];
      aa += std::norm(a[g]);
    }
    bad += std::fabs(aa - raw[k].y) > 1e-4 * norm || std::fabs(ab.real() - raw[k].x) > 1e-4 * norm;
    a.swap(b);
  }
  for (int g = 0; g < N * R; ++g) bad += std::abs(a[g] - C(last[g].x, last[g].y)) > 1e-3;
  double integral = 0;
  for (int e = 0; e < NE; ++e) {
    double th = M_PI * (e + 0.5) / NE;
    integral += rho[e] * std::sin(th) * M_PI / NE;
  }
  bad += std::fabs(integral - 1.0) > 1e-3;
  for (int x = 0; x < LX; ++x) {
    double s = 0;
    for (int y = 0; y < LY; ++y)
      for (int r = 0; r < R; ++r) s += std::norm(a[(2 * (y * LX + x) + 1) * R + r]);
    bad += std::fabs(s - prof[LX + x]) > 1e-3 * s;
  }
  printf("mu1 %.5f mu2 %.5f, integral %.6f, %d bad\n", mu[1], mu[2], integral, bad);
  puts(bad ? "FAIL" : "PASS");
  return bad ? 1 : 0;
}
