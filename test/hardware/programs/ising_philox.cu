// 2-D Ising / Edwards-Anderson spin glass, checkerboard Metropolis with Philox4x32-10 counters
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cmath>
#include <vector>

namespace rng {
struct philox { uint32_t c[4]; };
__host__ __device__ inline uint32_t mulhi(uint32_t a, uint32_t b) {
#ifdef __CUDA_ARCH__
  return __umulhi(a, b);
#else
  return (uint64_t)a * b >> 32;
#endif
}
__host__ __device__ inline philox generate(uint32_t c0, uint32_t c1, uint32_t k0, uint32_t k1) {
  philox p{{c0, c1, 0u, 0u}};
#pragma unroll
  for (int r = 0; r < 10; ++r) {
    uint32_t h0 = mulhi(0xD2511F53u, p.c[0]), l0 = 0xD2511F53u * p.c[0];
    uint32_t h1 = mulhi(0xCD9E8D57u, p.c[2]), l1 = 0xCD9E8D57u * p.c[2];
    p = {{h1 ^ p.c[1] ^ k0, l1, h0 ^ p.c[3] ^ k1, l0}};
    k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
  }
  return p;
}
}  // namespace rng

struct Lattice { int8_t* s; const int8_t *Jx, *Jy; int L; };

__host__ __device__ inline int field(const Lattice& g, int x, int y) {
  int L = g.L, xl = x ? x - 1 : L - 1, xr = x + 1 < L ? x + 1 : 0, yu = y ? y - 1 : L - 1, yd = y + 1 < L ? y + 1 : 0;
  return g.Jx[y * L + x] * g.s[y * L + xr] + g.Jx[y * L + xl] * g.s[y * L + xl] +
         g.Jy[y * L + x] * g.s[yd * L + x] + g.Jy[yu * L + x] * g.s[yu * L + x];
}
__constant__ uint32_t c_thresh[9];  // acceptance for s*h = -4..4

// each thread handles 4 sites of one colour in a row with one Philox call
__global__ void metropolis(Lattice g, int color, uint32_t sweep, uint32_t seed) {
  const int q = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (y >= g.L || q * 8 >= g.L) return;
  rng::philox r = rng::generate(q, y, seed, sweep * 2 + color);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    int x = q * 8 + 2 * k + ((y + color) & 1);
    int8_t s = g.s[y * g.L + x];
    int e = s * field(g, x, y);
    if (r.c[k] <= c_thresh[e + 4]) g.s[y * g.L + x] = -s;
  }
}

__global__ void measure(Lattice g, long long* out) {
  int m = 0, e = 0;
  const int n = g.L * g.L;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int s = g.s[i];
    m += s;
    e -= s * field(g, i % g.L, i / g.L);
  }
  m = __reduce_add_sync(0xffffffff, m);
  e = __reduce_add_sync(0xffffffff, e);
  if (threadIdx.x % 32 == 0) {
    atomicAdd((unsigned long long*)&out[0], (unsigned long long)(long long)m);
    atomicAdd((unsigned long long*)&out[1], (unsigned long long)(long long)e);
  }
}

// replica overlap of two byte lattices, char4 loads and dp4a
__global__ void overlap(const int* a, const int* b, int n4, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = i < n4 ? __dp4a(a[i], b[i], 0) : 0;
  v = __reduce_add_sync(0xffffffff, v);
  if ((threadIdx.x & 31) == 0) atomicAdd(out, v);
}

int main() {
  const int L = 1496, n = L * L;
  std::vector<int8_t> s(n), s0, Jx(n), Jy(n), o(n);
  uint32_t st = 5;
  for (int i = 0; i < n; ++i) {
    st = st * 1664525u + 1013904223u;
    s[i] = (st >> 30) & 1 ? 1 : -1; Jx[i] = (st >> 28) & 1 ? 1 : -1; Jy[i] = (st >> 27) & 3 ? 1 : -1;
  }
  s0 = s;
  uint32_t th[9];
  for (int e = -4; e <= 4; ++e) th[e + 4] = e <= 0 ? 0xffffffffu : (uint32_t)(exp(-2.0 * e * 0.7) * 4294967295.0);
  cudaMemcpyToSymbol(c_thresh, th, sizeof(th));
  int8_t *ds, *dx, *dy, *d0; long long* dm; int* dq;
  cudaMalloc(&ds, n); cudaMalloc(&dx, n); cudaMalloc(&dy, n); cudaMalloc(&d0, n); cudaMalloc(&dm, 16); cudaMalloc(&dq, 4);
  cudaMemcpy(ds, s.data(), n, cudaMemcpyHostToDevice); cudaMemcpy(d0, s.data(), n, cudaMemcpyHostToDevice);
  cudaMemcpy(dx, Jx.data(), n, cudaMemcpyHostToDevice); cudaMemcpy(dy, Jy.data(), n, cudaMemcpyHostToDevice);
  cudaMemset(dm, 0, 16); cudaMemset(dq, 0, 4);
  Lattice g{ds, dx, dy, L}, h{s.data(), Jx.data(), Jy.data(), L};
  dim3 b(16, 16), gr((L / 8 + 15) / 16, (L + 15) / 16);
  for (uint32_t t = 0; t < 4; ++t)
    for (int c = 0; c < 2; ++c) {
      metropolis<<<gr, b>>>(g, c, t, 1234u);
      for (int y = 0; y < L; ++y)
        for (int q = 0; q < L / 8; ++q) {
          auto r = rng::generate(q, y, 1234u, t * 2 + c);
          for (int k = 0; k < 4; ++k) {
            int x = q * 8 + 2 * k + ((y + c) & 1), e = s[y * L + x] * field(h, x, y);
            if (r.c[k] <= th[e + 4]) s[y * L + x] = -s[y * L + x];
          }
        }
    }
  measure<<<264, 256>>>(g, dm);
  overlap<<<(n / 4 + 255) / 256, 256>>>((int*)ds, (int*)d0, n / 4, dq);
  long long m[2], rm = 0, re = 0; int q, rq = 0;
  cudaMemcpy(m, dm, 16, cudaMemcpyDeviceToHost); cudaMemcpy(&q, dq, 4, cudaMemcpyDeviceToHost); cudaMemcpy(o.data(), ds, n, cudaMemcpyDeviceToHost);
  int bad = 0;
  for (int i = 0; i < n; ++i) { bad += o[i] != s[i]; rm += s[i]; re -= s[i] * field(h, i % L, i / L); rq += s[i] * s0[i]; }
  printf("bad %d M %lld/%lld E %lld/%lld q %d/%d %s\n", bad, m[0], rm, m[1], re, q, rq, cudaGetErrorString(cudaGetLastError()));
  puts(!bad && m[0] == rm && m[1] == re && q == rq ? "PASS" : "FAIL");
}
