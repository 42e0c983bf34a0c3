// Particle records: AoS with padding, packed colour, SoA, AoSoA; float3 and double2 fields; class with kernels as friends.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

struct ParticleAoS {
  float3 pos;
  float mass;
  float3 vel;
  unsigned char rgba[4];
  double energy;
};

struct __align__(16) Packed {
  float x, y, z;
  int id;
};

template <int W>
struct AoSoA {
  float x[W], y[W], z[W], m[W];
};

struct ParticleSoA {
  float* __restrict__ x;
  float* __restrict__ y;
  float* __restrict__ z;
  float* __restrict__ m;
  int count;
};

__global__ void kinetic_aos(ParticleAoS* p, int n) {
  const int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) {
    float3 v = p[i].vel;
    p[i].energy = 0.5 * p[i].mass * (v.x * v.x + v.y * v.y + v.z * v.z);
  }
}

__global__ void fade(ParticleAoS* p, int n) {
  const int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) p[i].rgba[3] = p[i].rgba[3] > 8 ? p[i].rgba[3] - 8 : 0;
}

__global__ void shift_packed(Packed* p, float3 d, int n) {
  const int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i >= n) return;
  Packed q = p[i];
  q.x += d.x;
  q.y += d.y;
  q.z += d.z;
  p[i] = q;
}

__global__ void shift_float3(float3* p, float3 d, int n) {
  const int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i >= n) return;
  float3 q = p[i];
  q.x += d.x; q.y += d.y; q.z += d.z;
  p[i] = q;
}

__global__ void shift_soa(ParticleSoA s, float3 d) {
  const int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < s.count) {
    s.x[i] += d.x;
    s.y[i] += d.y;
    s.z[i] += d.z;
  }
}

template <int W>
__global__ void centre_aosoa(const AoSoA<W>* __restrict__ a, float4* __restrict__ out, int groups) {
  int g = (blockDim.x * blockIdx.x + threadIdx.x) / W, l = threadIdx.x % W;
  if (g >= groups) return;
  const AoSoA<W>& b = a[g];
  float m = b.m[l];
  float4 c = make_float4(b.x[l] * m, b.y[l] * m, b.z[l] * m, m);
  out[g * W + l] = c;
}

__global__ void float3_to_soa_shared(const float* __restrict__ in, ParticleSoA s) {
  __shared__ float buf[3 * 128];
  int base = blockIdx.x * 384;
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    int j = base + k * 128 + threadIdx.x;
    if (j < 3 * s.count) buf[k * 128 + threadIdx.x] = in[j];
  }
  __syncthreads();
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i < s.count) {
    s.x[i] = buf[3 * threadIdx.x];
    s.y[i] = buf[3 * threadIdx.x + 1];
    s.z[i] = buf[3 * threadIdx.x + 2];
  }
}

__global__ void complex_mul(double2* a, const double2* b, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) {
    double2 u = a[i], v = b[i];
    a[i].x = u.x * v.x - u.y * v.y;
    a[i].y = u.x * v.y + u.y * v.x;
  }
}

template <typename T>
T* device_alloc(size_t n) {
  T* p;
  if (cudaMalloc(reinterpret_cast<void**>(&p), n * sizeof(T)) != cudaSuccess) { fputs("out of memory\n", stderr); std::exit(2); }
  cudaMemset(p, 0, n * sizeof(T));
  return p;
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 3001;
  constexpr int threads = 128;
  const int blocks = (n + threads - 1) / threads;
  auto* aos = device_alloc<ParticleAoS>(n);
  auto* packed = device_alloc<Packed>(n);
  auto* f3 = device_alloc<float3>(n);
  ParticleSoA soa{device_alloc<float>(n), device_alloc<float>(n), device_alloc<float>(n), device_alloc<float>(n), n};
  auto* tiled = device_alloc<AoSoA<8>>(n / 8);
  auto* out = device_alloc<float4>(n);
  auto* ca = device_alloc<double2>(n);
  auto* cb = device_alloc<double2>(n);
  std::vector<ParticleAoS> h(n);
  for (int i = 0; i < n; ++i) {
    h[i].mass = 1;
    h[i].vel = make_float3(i, 1, 2);
    h[i].rgba[3] = 255;
  }
  cudaMemcpy(aos, h.data(), n * sizeof(ParticleAoS), cudaMemcpyHostToDevice);
  kinetic_aos<<<blocks, threads>>>(aos, n);
  fade<<<blocks, threads>>>(aos, n);
  const float3 d = make_float3(1, 2, 3);
  shift_packed<<<blocks, threads>>>(packed, d, n);
  shift_float3<<<blocks, threads>>>(f3, d, n);
  shift_soa<<<blocks, threads>>>(soa, d);
  centre_aosoa<8><<<(n / 8 * 8 + threads - 1) / threads, threads>>>(tiled, out, n / 8);
  float3_to_soa_shared<<<blocks, threads>>>(reinterpret_cast<float*>(f3), soa);
  complex_mul<<<blocks, threads>>>(ca, cb, n);
  cudaMemcpy(h.data(), aos, n * sizeof(ParticleAoS), cudaMemcpyDeviceToHost);
  int bad = 0;
  for (int i = 0; i < n; ++i) bad += h[i].rgba[3] != 247 || h[i].energy < 2.4;
  printf("bad: %d\n", bad);
  return bad;
}
