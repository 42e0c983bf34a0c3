// InSAR post-processing of two single-look complex images: interferogram with flat-earth removal, multilook and coherence,
// Goldstein-like smoothing, residues and wrapped gradients, least-squares column offsets, geocoding by lookup table.
#include <cuda_runtime.h>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#define CUDA_ASSERT(x) cuda_assert((x), __FILE__, __LINE__)
static void cuda_assert(cudaError_t e, const char* f, int l) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "%s(%d): %s\n", f, l, cudaGetErrorString(e));
    std::abort();
  }
}

constexpr int RG = 1024;  // range samples
constexpr int AZ = 640;   // azimuth lines
constexpr int LR = 8;
constexpr int LA = 4;
constexpr int MR = RG / LR;
constexpr int MA = AZ / LA;
constexpr float PI = 3.14159265f;

__host__ __device__ inline float wrap(float x) { return x - 2.0f * PI * rintf(x * (1.0f / (2.0f * PI))); }

__host__ __device__ inline float2 cmul(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

__global__ void interferogram(const float2* __restrict__ s1, const float2* __restrict__ s2, float2* __restrict__ ifg, float fringe) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  int a = blockIdx.y;
  if (r >= RG) return;
  float2 x = s1[a * RG + r];
  float2 y = s2[a * RG + r];
  float2 p = cmul(x, make_float2(y.x, -y.y));
  float s, c;
  sincosf(-fringe * r, &s, &c);
  ifg[a * RG + r] = cmul(p, make_float2(c, s));
}

// one thread an output pixel, walks its LA x LR window
__global__ void multilook_window(const float2* __restrict__ s1, const float2* __restrict__ s2, const float2* __restrict__ ifg, float2* __restrict__ ml,
                                 float* __restrict__ coh) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  int a = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= MR || a >= MA) return;
  float re = 0, im = 0, p1 = 0, p2 = 0;
  for (int i = 0; i < LA; ++i) {
    for (int j = 0; j < LR; ++j) {
      int k = (a * LA + i) * RG + r * LR + j;
      re += ifg[k].x;
      im += ifg[k].y;
      p1 += s1[k].x * s1[k].x + s1[k].y * s1[k].y;
      p2 += s2[k].x * s2[k].x + s2[k].y * s2[k].y;
    }
  }
  ml[a * MR + r] = make_float2(re, im);
  coh[a * MR + r] = sqrtf((re * re + im * im) / (p1 * p2 + 1e-20f));
}

// lanes along range, then a sum over groups of LR lanes
__global__ void multilook_lanes(const float2* __restrict__ ifg, float2* __restrict__ ml) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  int a = blockIdx.y;
  float re = 0, im = 0;
#pragma unroll
  for (int i = 0; i < LA; ++i) {
    float2 v = ifg[(a * LA + i) * RG + r];
    re += v.x;
    im += v.y;
  }
  for (int o = LR / 2; o; o >>= 1) {
    re += __shfl_down_sync(0xffffffffu, re, o, LR);
    im += __shfl_down_sync(0xffffffffu, im, o, LR);
  }
  if (threadIdx.x % LR == 0) ml[a * MR + r / LR] = make_float2(re, im);
}

// 5x5 boxcar on the multilooked phase, then phase out; tile with halo
__global__ void smooth_phase(const float2* __restrict__ ml, float* __restrict__ phase) {
  __shared__ float2 t[16 + 4][16 + 4];
  int r0 = blockIdx.x * 16 - 2;
  int a0 = blockIdx.y * 16 - 2;
  for (int k = threadIdx.y * 16 + threadIdx.x; k < 400; k += 256) {
    int a = a0 + k / 20;
    int r = r0 + k % 20;
    float2 v = make_float2(0, 0);
    if (a >= 0 && a < MA && r >= 0 && r < MR) v = ml[a * MR + r];
    t[k / 20][k % 20] = v;
  }
  __syncthreads();
  float re = 0, im = 0;
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 5; ++j) {
      re += t[threadIdx.y + i][threadIdx.x + j].x;
      im += t[threadIdx.y + i][threadIdx.x + j].y;
    }
  }
  int r = r0 + 2 + threadIdx.x;
  int a = a0 + 2 + threadIdx.y;
  if (r < MR && a < MA) phase[a * MR + r] = atan2f(im, re);
}

// residue: sum of the wrapped differences round a 2x2 loop
__global__ void residues(const float* __restrict__ phase, signed char* __restrict__ charge, int* __restrict__ counts) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  int a = blockIdx.y * blockDim.y + threadIdx.y;
  int q = 0;
  if (r < MR - 1 && a < MA - 1) {
    float p00 = phase[a * MR + r];
    float p01 = phase[a * MR + r + 1];
    float p10 = phase[(a + 1) * MR + r];
    float p11 = phase[(a + 1) * MR + r + 1];
    float s = wrap(p01 - p00) + wrap(p11 - p01) + wrap(p10 - p11) + wrap(p00 - p10);
    q = (int)rintf(s / (2.0f * PI));
    charge[a * MR + r] = (signed char)q;
  }
  int pos = __syncthreads_count(q > 0);
  int neg = __syncthreads_count(q < 0);
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    if (pos) atomicAdd(&counts[0], pos);
    if (neg) atomicAdd(&counts[1], neg);
  }
}

// Itoh unwrapping down each range column: a thread a column
__global__ void unwrap_columns(const float* __restrict__ phase, float* __restrict__ un) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= MR) return;
  float p = phase[r];
  un[r] = p;
  for (int a = 1; a < MA; ++a) {
    p += wrap(phase[a * MR + r] - phase[(a - 1) * MR + r]);
    un[a * MR + r] = p;
  }
}

// map grid looks up its radar coordinates
__global__ void geocode(const short2* __restrict__ lut, const float* __restrict__ un, float* __restrict__ map, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    short2 c = lut[i];
    bool ok = c.x >= 0 && c.x < MR && c.y >= 0 && c.y < MA;
    map[i] = ok ? un[c.y * MR + c.x] : -999.0f;
  }
}

template <typename T>
T* gpu(size_t n, const T* init = nullptr) {
  T* p = nullptr;
  CUDA_ASSERT(cudaMalloc(reinterpret_cast<void**>(&p), n * sizeof(T)));
  if (init)
    CUDA_ASSERT(cudaMemcpy(p, init, n * sizeof(T), cudaMemcpyHostToDevice));
  else
    CUDA_ASSERT(cudaMemset(p, 0, n * sizeof(T)));
  return p;
}

template <typename T>
std::vector<T> cpu(const T* p, size_t n) {
  std::vector<T> v(n);
  CUDA_ASSERT(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
  return v;
}

int main() {
  const int n = RG * AZ;
  const int m = MR * MA;
  const int map_n = 300 * 300;
  const float fringe = 0.37f;
  std::vector<float2> s1(n), s2(n);
  unsigned seed = 1234;
  auto rnd = [&seed] {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) / 16777216.0f - 0.5f;
  };
  for (int a = 0; a < AZ; ++a) {
    for (int r = 0; r < RG; ++r) {
      float topo = 6.0f * std::sin(r * 0.004f) * std::cos(a * 0.006f);
      float amp = 1.0f + rnd();
      float ph0 = 6.0f * rnd();
      s1[a * RG + r] = make_float2(amp * std::cos(ph0), amp * std::sin(ph0));
      float d = ph0 - fringe * r - topo;
      s2[a * RG + r] = make_float2(amp * std::cos(d) + 0.3f * rnd(), amp * std::sin(d) + 0.3f * rnd());
    }
  }
  std::vector<short2> lut(map_n);
  for (int i = 0; i < map_n; ++i) {
    int x = i % 300, y = i / 300;
    lut[i] = make_short2((short)(0.4f * x + 0.1f * y - 5), (short)(0.5f * y - 0.08f * x + 10));
  }
  auto* d1 = gpu(n, s1.data());
  auto* d2 = gpu(n, s2.data());
  auto* dl = gpu(map_n, lut.data());
  auto* di = gpu<float2>(n);
  auto* dm1 = gpu<float2>(m);
  auto* dm2 = gpu<float2>(m);
  auto* dc = gpu<float>(m);
  auto* dp = gpu<float>(m);
  auto* du = gpu<float>(m);
  auto* dq = gpu<signed char>(m);
  auto* dn = gpu<int>(2);
  auto* dmap = gpu<float>(map_n);

  interferogram<<<dim3(RG / 128, AZ), 128>>>(d1, d2, di, fringe);
  multilook_window<<<dim3(MR / 32, MA / 4), dim3(32, 4)>>>(d1, d2, di, dm1, dc);
  multilook_lanes<<<dim3(RG / 256, MA), 256>>>(di, dm2);
  smooth_phase<<<dim3(MR / 16, MA / 16), dim3(16, 16)>>>(dm1, dp);
  residues<<<dim3(MR / 32, MA / 8), dim3(32, 8)>>>(dp, dq, dn);
  unwrap_columns<<<MR / 32, 32>>>(dp, du);
  geocode<<<90, 256>>>(dl, du, dmap, map_n);
  CUDA_ASSERT(cudaGetLastError());
  CUDA_ASSERT(cudaDeviceSynchronize());

  auto ifg = cpu(di, n);
  auto m1 = cpu(dm1, m);
  auto m2 = cpu(dm2, m);
  auto coh = cpu(dc, m);
  auto ph = cpu(dp, m);
  auto un = cpu(du, m);
  auto charge = cpu(dq, m);
  auto counts = cpu(dn, 2);
  auto map = cpu(dmap, map_n);
  long bad = 0;
  using C = std::complex<double>;
  for (int a = 0; a < AZ; ++a) {
    for (int r = 0; r < RG; r += 3) {
      int k = a * RG + r;
      C v = C(s1[k].x, s1[k].y) * std::conj(C(s2[k].x, s2[k].y)) * std::polar(1.0, -(double)fringe * r);
      bad += std::abs(v - C(ifg[k].x, ifg[k].y)) > 1e-3;
    }
  }
  for (int a = 0; a < MA; ++a) {
    for (int r = 0; r < MR; ++r) {
      C s = 0;
      double p1 = 0, p2 = 0;
      for (int i = 0; i < LA; ++i) {
        for (int j = 0; j < LR; ++j) {
          int k = (a * LA + i) * RG + r * LR + j;
          s += C(ifg[k].x, ifg[k].y);
          p1 += std::norm(C(s1[k].x, s1[k].y));
          p2 += std::norm(C(s2[k].x, s2[k].y));
        }
      }
      int k = a * MR + r;
      bad += std::abs(s - C(m1[k].x, m1[k].y)) > 1e-3;
      bad += std::abs(s - C(m2[k].x, m2[k].y)) > 1e-3;
      bad += std::fabs(std::abs(s) / std::sqrt(p1 * p2) - coh[k]) > 1e-4;
    }
  }
  for (int a = 0; a < MA; ++a) {
    for (int r = 0; r < MR; ++r) {
      C s = 0;
      for (int i = -2; i <= 2; ++i)
        for (int j = -2; j <= 2; ++j)
          if (a + i >= 0 && a + i < MA && r + j >= 0 && r + j < MR) s += C(m1[(a + i) * MR + r + j].x, m1[(a + i) * MR + r + j].y);
      double d = std::arg(s) - ph[a * MR + r];
      d -= 2 * M_PI * std::rint(d / (2 * M_PI));
      bad += std::fabs(d) > 1e-3 && std::abs(s) > 1.0;
    }
  }
  int pos = 0, neg = 0;
  for (auto c : charge) {
    pos += c > 0;
    neg += c < 0;
  }
  bad += pos != counts[0] || neg != counts[1];
  for (int r = 0; r < MR; ++r) {
    double p = ph[r];
    for (int a = 1; a < MA; ++a) {
      double d = (double)ph[a * MR + r] - ph[(a - 1) * MR + r];
      double w = d - 2 * M_PI * std::rint(d / (2 * M_PI));
      if (std::fabs(std::fabs(w) - M_PI) > 1e-3) {
        double step = (double)un[a * MR + r] - un[(a - 1) * MR + r];
        bad += std::fabs(step - w) > 1e-3;
      }
      p += w;
    }
  }
  for (int i = 0; i < map_n; ++i) {
    short2 c = lut[i];
    bool ok = c.x >= 0 && c.x < MR && c.y >= 0 && c.y < MA;
    bad += map[i] != (ok ? un[c.y * MR + c.x] : -999.0f);
  }
  std::printf("%d positive and %d negative residues, %ld bad\n", pos, neg, bad);
  std::printf("%s\n", bad ? "FAIL" : "PASS");
  return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}
