// X-ray scattering from an atomic model: Debye formula, structure factors of a lattice of reflections, pair-distance
// histogram, spherical-harmonic-free orientation average over Fibonacci directions, and chi-square against a measured curve.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#define CUDA_TRY(x)                                                          \
  {                                                                          \
    const cudaError_t _e = (x);                                              \
    if (_e != cudaSuccess) {                                                 \
      fprintf(stderr, "%s at line %d\n", cudaGetErrorString(_e), __LINE__);  \
      exit(1);                                                               \
    }                                                                        \
  }

struct Atom {
  float x, y, z;
  int element;
  float occupancy;
  float bfactor;
};

constexpr int NQ = 128;
constexpr int NEL = 4;
constexpr int HIST = 1024;
constexpr float BINW = 0.1f;
__constant__ float gauss_a[NEL][4];
__constant__ float gauss_b[NEL][4];

__host__ __device__ inline float qvalue(int k) { return 0.01f + 0.004f * k; }

// form factor table f(q, element) from the four-Gaussian fit
__global__ void form_factors(float* table) {
  int q = threadIdx.x;
  int e = blockIdx.x;
  float s = qvalue(q) / 12.5663706f;
  float f = 0.0f;
  for (int k = 0; k < 4; ++k) f += gauss_a[e][k] * expf(-gauss_b[e][k] * s * s);
  table[q * NEL + e] = f;
}

// block = q; every thread runs over its share of all pairs; atoms as records
__global__ void debye_aos(const Atom* __restrict__ atoms, int n, const float* __restrict__ table, float* __restrict__ I) {
  float q = qvalue(blockIdx.x);
  const float* f = table + blockIdx.x * NEL;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    Atom a = atoms[i];
    float fa = f[a.element] * a.occupancy;
    float acc = 0.0f;
    for (int j = 0; j < n; ++j) {
      Atom b = atoms[j];
      float dx = a.x - b.x;
      float dy = a.y - b.y;
      float dz = a.z - b.z;
      float r = q * sqrtf(dx * dx + dy * dy + dz * dz);
      float sinc = r > 1e-4f ? __sinf(r) / r : 1.0f;
      acc += f[b.element] * b.occupancy * sinc;
    }
    sum += fa * acc;
  }
  __shared__ float red[128];
  red[threadIdx.x] = sum;
  __syncthreads();
  for (int h = 64; h > 0; h >>= 1) {
    if (threadIdx.x < h) red[threadIdx.x] += red[threadIdx.x + h];
    __syncthreads();
  }
  if (threadIdx.x == 0) I[blockIdx.x] = red[0];
}

// distances between tiles, weighted by element pair, into a histogram; integer weights
__global__ void pair_histogram(const float4* __restrict__ pos, int n, unsigned* __restrict__ hist) {
  __shared__ float4 tile[128];
  __shared__ unsigned bins[HIST];
  for (int k = threadIdx.x; k < HIST; k += blockDim.x) bins[k] = 0;
  int i = blockIdx.x * 128 + threadIdx.x;
  int j = blockIdx.y * 128 + threadIdx.x;
  tile[threadIdx.x] = j < n ? pos[j] : make_float4(0, 0, 0, 0);
  __syncthreads();
  if (i < n) {
    float4 a = pos[i];
    int lim = min(128, n - (int)blockIdx.y * 128);
    for (int k = 0; k < lim; ++k) {
      float4 b = tile[k];
      float dx = a.x - b.x;
      float dy = a.y - b.y;
      float dz = a.z - b.z;
      int bin = (int)(sqrtf(dx * dx + dy * dy + dz * dz) * (1.0f / BINW));
      atomicAdd(&bins[min(bin, HIST - 1)], (unsigned)(a.w * b.w));
    }
  }
  __syncthreads();
  for (int k = threadIdx.x; k < HIST; k += blockDim.x)
    if (bins[k]) atomicAdd(&hist[k], bins[k]);
}

// intensity from the histogram: a warp a q
__global__ void debye_from_histogram(const unsigned* __restrict__ hist, float* __restrict__ I) {
  int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int lane = threadIdx.x % 32;
  if (w >= NQ) return;
  float q = qvalue(w);
  float s = 0.0f;
  for (int k = lane; k < HIST; k += 32) {
    float r = q * (k == 0 ? 0.0f : (k + 0.5f) * BINW);
    s += hist[k] * (r > 1e-4f ? sinf(r) / r : 1.0f);
  }
  for (int o = 16; o; o /= 2) s += __shfl_down_sync(0xffffffffu, s, o);
  if (lane == 0) I[w] = s;
}

// F(hkl) = sum f exp(2 pi i h.x): one thread a reflection, atoms broadcast; hkl as int3
__global__ void structure_factors(const float4* __restrict__ pos, int n, const int3* __restrict__ hkl, int m, float2* __restrict__ F, float cell) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= m) return;
  int3 h = hkl[r];
  float re = 0.0f, im = 0.0f;
  for (int a = 0; a < n; ++a) {
    float4 p = pos[a];
    float phase = 2.0f * (h.x * p.x + h.y * p.y + h.z * p.z) / cell;
    float s, c;
    sincospif(phase, &s, &c);
    re += p.w * c;
    im += p.w * s;
  }
  F[r] = make_float2(re, im);
}

// orientation average with a golden spiral; grid (q, direction block)
__global__ void orientation_average(const float4* __restrict__ pos, int n, int ndir, float* __restrict__ I) {
  int d = blockIdx.y * blockDim.x + threadIdx.x;
  float q = qvalue(blockIdx.x * 8);
  float v = 0.0f;
  if (d < ndir) {
    float z = 1.0f - 2.0f * (d + 0.5f) / ndir;
    float rho = sqrtf(1.0f - z * z);
    float sn, cs;
    sincosf(2.39996323f * d, &sn, &cs);
    float re = 0.0f, im = 0.0f;
    for (int a = 0; a < n; ++a) {
      float4 p = pos[a];
      float t = q * (rho * cs * p.x + rho * sn * p.y + z * p.z);
      float s, c;
      __sincosf(t, &s, &c);
      re += p.w * c;
      im += p.w * s;
    }
    v = (re * re + im * im) / ndir;
  }
  for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
  if (threadIdx.x % 32 == 0) atomicAdd(&I[blockIdx.x], v);
}

template <class T>
struct Device {
  struct Free {
    void operator()(T* p) const { cudaFree(p); }
  };
  std::unique_ptr<T, Free> p;
  size_t n;
  explicit Device(size_t count) : n(count) {
    T* raw;
    CUDA_TRY(cudaMalloc(&raw, n * sizeof(T)));
    CUDA_TRY(cudaMemset(raw, 0, n * sizeof(T)));
    p.reset(raw);
  }
  Device& operator<<(const std::vector<T>& h) {
    CUDA_TRY(cudaMemcpy(p.get(), h.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    return *this;
  }
  operator T*() { return p.get(); }
  std::vector<T> host() {
    std::vector<T> h(n);
    CUDA_TRY(cudaMemcpy(h.data(), p.get(), n * sizeof(T), cudaMemcpyDeviceToHost));
    return h;
  }
};

int main() {
  const int n = 900;
  const float cell = 40.0f;
  std::mt19937 g(17);
  auto u = [&] { return (float)((g() >> 8) / 16777216.0); };
  std::vector<Atom> atoms(n);
  std::vector<float4> pos(n);
  for (int i = 0; i < n; ++i) {
    atoms[i] = {cell * u(), cell * u(), cell * u(), (int)(g() % NEL), 0.5f + 0.5f * u(), 20.0f};
    pos[i] = make_float4(atoms[i].x, atoms[i].y, atoms[i].z, 1.0f + atoms[i].element);
  }
  float a[NEL][4], b[NEL][4];
  for (int e = 0; e < NEL; ++e) {
    for (int k = 0; k < 4; ++k) {
      a[e][k] = 1.0f + 0.4f * e + 0.1f * k;
      b[e][k] = 2.0f + 6.0f * k + e;
    }
  }
  CUDA_TRY(cudaMemcpyToSymbol(gauss_a, a, sizeof a));
  CUDA_TRY(cudaMemcpyToSymbol(gauss_b, b, sizeof b));
  std::vector<int3> hkl;
  for (int h = 0; h < 16; ++h)
    for (int k = 0; k < 16; ++k)
      for (int l = 0; l < 8; ++l) hkl.push_back(make_int3(h, k - 8, l));
  const int m = (int)hkl.size();
  const int ndir = 512;

  Device<Atom> dAtoms(n);
  Device<float4> dPos(n);
  Device<int3> dHkl(m);
  Device<float> dTable(NQ * NEL), dI(NQ), dIh(NQ), dIo(NQ / 8);
  Device<unsigned> dHist(HIST);
  Device<float2> dF(m);
  dAtoms << atoms;
  dPos << pos;
  dHkl << hkl;
  const int tiles = (n + 127) / 128;
  form_factors<<<NEL, NQ>>>(dTable);
  debye_aos<<<NQ, 128>>>(dAtoms, n, dTable, dI);
  pair_histogram<<<dim3(tiles, tiles), 128>>>(dPos, n, dHist);
  debye_from_histogram<<<NQ / 4, 128>>>(dHist, dIh);
  structure_factors<<<(m + 63) / 64, 64>>>(dPos, n, dHkl, m, dF, cell);
  orientation_average<<<dim3(NQ / 8, ndir / 128), 128>>>(dPos, n, ndir, dIo);
  CUDA_TRY(cudaGetLastError());
  CUDA_TRY(cudaDeviceSynchronize());

  auto table = dTable.host();
  auto I = dI.host();
  auto Ih = dIh.host();
  auto Io = dIo.host();
  auto hist = dHist.host();
  auto F = dF.host();
  int bad = 0;
  for (int q = 0; q < NQ; q += 16) {
    double want = 0;
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        double dx = atoms[i].x - atoms[j].x, dy = atoms[i].y - atoms[j].y, dz = atoms[i].z - atoms[j].z;
        double r = qvalue(q) * std::sqrt(dx * dx + dy * dy + dz * dz);
        want += (double)table[q * NEL + atoms[i].element] * atoms[i].occupancy * table[q * NEL + atoms[j].element] * atoms[j].occupancy * (r > 1e-4 ? std::sin(r) / r : 1.0);
      }
    }
    bad += std::fabs(I[q] - want) > 0.01 * std::fabs(want) + 50.0;
  }
  std::vector<unsigned> ref(HIST, 0);
  unsigned long long total = 0, gotTotal = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      float dx = pos[i].x - pos[j].x, dy = pos[i].y - pos[j].y, dz = pos[i].z - pos[j].z;
      int bin = (int)(std::sqrt(dx * dx + dy * dy + dz * dz) * (1.0f / BINW));
      ref[bin < HIST ? bin : HIST - 1] += (unsigned)(pos[i].w * pos[j].w);
      total += (unsigned)(pos[i].w * pos[j].w);
    }
  }
  unsigned moved = 0;
  for (int k = 0; k < HIST; ++k) {
    gotTotal += hist[k];
    moved += hist[k] > ref[k] ? hist[k] - ref[k] : ref[k] - hist[k];
  }
  bad += gotTotal != total || moved > total / 1000;
  for (int q = 0; q < NQ; ++q) {
    double s = 0;
    for (int k = 0; k < HIST; ++k) {
      double r = qvalue(q) * (k == 0 ? 0.0 : (k + 0.5) * BINW);
      s += hist[k] * (r > 1e-4 ? std::sin(r) / r : 1.0);
    }
    bad += std::fabs(Ih[q] - s) > 1e-3 * std::fabs(s) + 100.0;
  }
  for (int r = 0; r < m; r += 13) {
    double re = 0, im = 0;
    for (int k = 0; k < n; ++k) {
      double ph = 2.0 * M_PI * ((double)hkl[r].x * pos[k].x + (double)hkl[r].y * pos[k].y + (double)hkl[r].z * pos[k].z) / cell;
      re += pos[k].w * std::cos(ph);
      im += pos[k].w * std::sin(ph);
    }
    bad += std::fabs(re - F[r].x) > 0.1 || std::fabs(im - F[r].y) > 0.1;
  }
  for (int k = 0; k < NQ / 8; k += 5) {
    double want = 0;
    for (int d = 0; d < ndir; ++d) {
      double z = 1.0 - 2.0 * (d + 0.5) / ndir, rho = std::sqrt(1 - z * z), al = 2.39996323 * d, re = 0, im = 0;
      for (int i = 0; i < n; ++i) {
        double t = qvalue(8 * k) * (rho * std::cos(al) * pos[i].x + rho * std::sin(al) * pos[i].y + z * pos[i].z);
        re += pos[i].w * std::cos(t);
        im += pos[i].w * std::sin(t);
      }
      want += (re * re + im * im) / ndir;
    }
    bad += std::fabs(Io[k] - want) > 0.02 * want + 20.0;
  }
  printf("I(0)=%.1f, %u moved of %llu, %d bad\n", I[0], moved, total, bad);
  puts(bad ? "FAIL" : "PASS");
  return bad ? 1 : 0;
}
