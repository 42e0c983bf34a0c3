// Event-based Monte Carlo neutron transport in a pin lattice (Woodcock delta tracking).
//
// Particles live in a structure of arrays. Every cycle looks up cross sections for the live queue,
// moves the particles, and splits them into a collision queue and a survivor queue. When the live
// population gets small the rest is finished by one history-based kernel.

#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define GPUOK(expr)                                                                      \
  do {                                                                                   \
    cudaError_t _s = (expr);                                                             \
    if (_s != cudaSuccess) {                                                             \
      printf("GPU error: %s (%s:%d)\nFAIL\n", cudaGetErrorString(_s), __FILE__, __LINE__); \
      exit(1);                                                                           \
    }                                                                                    \
  } while (0)

#ifdef __CUDA_ARCH__
#define READONLY(p) __ldg(p)
#else
#define READONLY(p) (*(p))
#endif

namespace mc {

constexpr int   kNuclides   = 17;
constexpr int   kGridPoints = 1201;
constexpr int   kMaterials  = 3;
constexpr int   kMaxNucPerMat = 12;
constexpr float kPitch      = 1.26f;
constexpr int   kPins       = 9;                 // kPins x kPins, vacuum outside
constexpr float kBox        = kPitch * kPins;
constexpr float kHeight     = 14.0f;

// one row of a nuclide's table: 6 floats, as evaluated data comes
struct XsRow { float energy, total, elastic, absorb, fission, nubar; };

struct Material { int count; int nuc[kMaxNucPerMat]; float dens[kMaxNucPerMat]; };

struct Particles {     // all arrays have capacity `n`
  int n;
  float *x, *y, *z, *u, *v, *w, *e;
  float *st, *sa;        // macroscopic total / absorption of the current place
  uint64_t *seed;
};

struct Tally {
  double* flux;             // per pin, collision estimator
  unsigned long long* counts;   // 0 leaked, 1 absorbed, 2 collisions, 3 virtual collisions, 4 lookups
};

__host__ __device__ inline float uniform(uint64_t& s) {
  s = s * 6364136223846793005ull + 1442695040888963407ull;
  uint32_t x = (uint32_t)(s >> 33);
  x ^= x >> 11; x *= 0x9E3779B1u; x ^= x >> 15;
  return ((x >> 8) + 0.5f) * (1.0f / 16777216.0f);
}

__host__ __device__ inline int materialAt(float x, float y) {
  const float px = x - kPitch * floorf(x / kPitch) - 0.5f * kPitch;
  const float py = y - kPitch * floorf(y / kPitch) - 0.5f * kPitch;
  const float r2 = px * px + py * py;
  return r2 < 0.41f * 0.41f ? 0 : (r2 < 0.475f * 0.475f ? 1 : 2);
}

__host__ __device__ inline int pinAt(float x, float y) {
  int i = (int)(x / kPitch), j = (int)(y / kPitch);
  i = i < 0 ? 0 : (i >= kPins ? kPins - 1 : i);
  j = j < 0 ? 0 : (j >= kPins ? kPins - 1 : j);
  return j * kPins + i;
}

__host__ __device__ inline void microXs(const XsRow* tab, int nuc, float e, float& st, float& sa) {
  const XsRow* t = tab + (size_t)nuc * kGridPoints;
  int lo = 0, hi = kGridPoints - 1;
  while (hi - lo > 1) {
    const int mid = (lo + hi) >> 1;
    if (READONLY(&t[mid].energy) > e) hi = mid; else lo = mid;
  }
  const float e0 = READONLY(&t[lo].energy), e1 = READONLY(&t[hi].energy);
  float f = (e - e0) / (e1 - e0);
  f = f < 0.f ? 0.f : (f > 1.f ? 1.f : f);
  st = (1.f - f) * READONLY(&t[lo].total) + f * READONLY(&t[hi].total);
  sa = (1.f - f) * READONLY(&t[lo].absorb) + f * READONLY(&t[hi].absorb);
}

__host__ __device__ inline void macroXs(const XsRow* tab, const Material* mats, int m, float e, float& st, float& sa) {
  st = sa = 0.f;
  for (int i = 0; i < mats[m].count; ++i) {
    float t, a;
    microXs(tab, mats[m].nuc[i], e, t, a);
    st += mats[m].dens[i] * t;
    sa += mats[m].dens[i] * a;
  }
}

__host__ __device__ inline void isotropic(uint64_t& s, float& u, float& v, float& w) {
  w = 2.f * uniform(s) - 1.f;
  const float phi = 6.2831853f * uniform(s), q = sqrtf(fmaxf(0.f, 1.f - w * w));
  u = q * cosf(phi);
  v = q * sinf(phi);
}

__host__ __device__ inline void born(int i, float& x, float& y, float& z, float& u, float& v, float& w, float& e, uint64_t& s) {
  s = (uint64_t)(i + 1) * 0x9E3779B97F4A7C15ull;
  uniform(s);
  x = kBox * uniform(s);
  y = kBox * uniform(s);
  z = kHeight * uniform(s);
  isotropic(s, u, v, w);
  e = 2.0f * uniform(s) + 0.1f;
}

__constant__ Material c_mat[kMaterials];

// ------------------------------------------------------------------------------------ kernels
__global__ void source(Particles p, int* queue) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.n) return;
  float x, y, z, u, v, w, e;
  uint64_t s;
  born(i, x, y, z, u, v, w, e, s);
  p.x[i] = x; p.y[i] = y; p.z[i] = z;
  p.u[i] = u; p.v[i] = v; p.w[i] = w;
  p.e[i] = e; p.seed[i] = s;
  queue[i] = i;
}

__global__ void lookup(Particles p, const int* __restrict__ queue, int live, const XsRow* __restrict__ tab, Tally t) {
  const int q = blockIdx.x * blockDim.x + threadIdx.x;
  if (q < live) {
    const int i = queue[q];
    float st, sa;
    macroXs(tab, c_mat, materialAt(p.x[i], p.y[i]), p.e[i], st, sa);
    p.st[i] = st;
    p.sa[i] = sa;
  }
  if (q == 0) atomicAdd(&t.counts[4], (unsigned long long)live);
}

// first sort step: how many live particles sit in each material, per block
__global__ void materialCount(Particles p, const int* __restrict__ queue, int live, int* matCount) {
  __shared__ int c[kMaterials];
  if (threadIdx.x < kMaterials) c[threadIdx.x] = 0;
  __syncthreads();
  const int q = blockIdx.x * blockDim.x + threadIdx.x;
  if (q < live) {
    const int i = queue[q];
    atomicAdd(&c[materialAt(p.x[i], p.y[i])], 1);
  }
  __syncthreads();
  if (threadIdx.x < kMaterials && c[threadIdx.x]) atomicAdd(&matCount[threadIdx.x], c[threadIdx.x]);
}

__global__ void materialScatter(Particles p, const int* __restrict__ queue, int live, const int* __restrict__ matCount,
                                int* matCursor, int* __restrict__ out) {
  const int q = blockIdx.x * blockDim.x + threadIdx.x;
  if (q >= live) return;
  const int i = queue[q];
  const int m = materialAt(p.x[i], p.y[i]);
  int base = 0;
  for (int k = 0; k < m; ++k) base += matCount[k];
  out[base + atomicAdd(&matCursor[m], 1)] = i;
}

// move to the next tentative collision; leaked particles vanish, the others go on
__global__ void advance(Particles p, const int* __restrict__ queue, int live, float majorant, int* moved, int* nMoved, Tally t) {
  const int q = blockIdx.x * blockDim.x + threadIdx.x;
  if (q >= live) return;
  const int i = queue[q];
  uint64_t s = p.seed[i];
  const float d = -logf(uniform(s)) / majorant;
  const float x = p.x[i] + d * p.u[i], y = p.y[i] + d * p.v[i], z = p.z[i] + d * p.w[i];
  p.x[i] = x; p.y[i] = y; p.z[i] = z;
  p.seed[i] = s;
  if (x < 0.f || y < 0.f || z < 0.f || x >= kBox || y >= kBox || z >= kHeight) {
    atomicAdd(&t.counts[0], 1ull);
    return;
  }
  moved[atomicAdd(nMoved, 1)] = i;
}

__global__ void collide(Particles p, const int* __restrict__ queue, int live, float majorant, int* next, int* nNext, Tally t) {
  const int q = blockIdx.x * blockDim.x + threadIdx.x;
  bool alive = false;
  int i = 0;
  if (q < live) {
    i = queue[q];
    uint64_t s = p.seed[i];
    alive = true;
    const float st = p.st[i];
    if (uniform(s) * majorant < st) {
      atomicAdd(&t.counts[2], 1ull);
      atomicAdd(&t.flux[pinAt(p.x[i], p.y[i])], 1.0 / st);
      if (uniform(s) * st < p.sa[i]) {
        atomicAdd(&t.counts[1], 1ull);
        alive = false;
      } else {
        float u, v, w;
        isotropic(s, u, v, w);
        p.u[i] = u; p.v[i] = v; p.w[i] = w;
        p.e[i] = fmaxf(1e-5f, p.e[i] * (0.2f + 0.8f * uniform(s)));
      }
    } else {
      atomicAdd(&t.counts[3], 1ull);
    }
    p.seed[i] = s;
  }
  // compaction: one atomic per warp
  const unsigned m = __ballot_sync(0xffffffffu, alive);
  const int lane = threadIdx.x & 31;
  int base = 0;
  if (lane == 0 && m) base = atomicAdd(nNext, __popc(m));
  base = __shfl_sync(0xffffffffu, base, 0);
  if (alive) next[base + __popc(m & ((1u << lane) - 1))] = i;
}

// the same physics for one particle until it dies
template <class FluxAdd>
__host__ __device__ inline void history(float x, float y, float z, float u, float v, float w, float e, uint64_t s,
                                        const XsRow* tab, const Material* mats, float majorant, unsigned* c, FluxAdd add) {
  for (;;) {
    const float d = -logf(uniform(s)) / majorant;
    x += d * u; y += d * v; z += d * w;
    if (x < 0.f || y < 0.f || z < 0.f || x >= kBox || y >= kBox || z >= kHeight) { c[0]++; return; }
    float st, sa;
    macroXs(tab, mats, materialAt(x, y), e, st, sa);
    c[4]++;
    if (uniform(s) * majorant < st) {
      c[2]++;
      add(pinAt(x, y), 1.0 / st);
      if (uniform(s) * st < sa) { c[1]++; return; }
      isotropic(s, u, v, w);
      e = fmaxf(1e-5f, e * (0.2f + 0.8f * uniform(s)));
    } else c[3]++;
  }
}

struct AtomicFlux { double* f; __device__ void operator()(int p, double v) const { atomicAdd(f + p, v); } };
struct HostFlux   { double* f; __host__ __device__ void operator()(int p, double v) const { f[p] += v; } };

__global__ void finishHistories(Particles p, const int* queue, int live, const XsRow* __restrict__ tab, float majorant, Tally t) {
  const int q = blockIdx.x * blockDim.x + threadIdx.x;
  if (q >= live) return;
  const int i = queue[q];
  unsigned c[5] = {0, 0, 0, 0, 0};
  history(p.x[i], p.y[i], p.z[i], p.u[i], p.v[i], p.w[i], p.e[i], p.seed[i], tab, c_mat, majorant, c, AtomicFlux{t.flux});
  for (int k = 0; k < 5; ++k)
    if (c[k]) atomicAdd(&t.counts[k], (unsigned long long)c[k]);
}

template <class T> T* dev(size_t n) {
  T* p;
  GPUOK(cudaMalloc(&p, n * sizeof(T)));
  GPUOK(cudaMemset(p, 0, n * sizeof(T)));
  return p;
}

}  // namespace mc

int main() {
  using namespace mc;
  const int N = 30011;
  std::vector<XsRow> tab(kNuclides * kGridPoints);
  for (int n = 0; n < kNuclides; ++n)
    for (int g = 0; g < kGridPoints; ++g) {
      XsRow& r = tab[n * kGridPoints + g];
      r.energy = 1e-5f * powf(3e5f, (float)g / (kGridPoints - 1));
      const float res = 1.f / (1.f + 40.f * fabsf(sinf(0.09f * g + n)));
      r.absorb = 0.05f + 0.9f * res * (n % 3 == 0);
      r.elastic = 1.f + 0.3f * cosf(0.01f * g * (n + 1));
      r.total = r.absorb + r.elastic;
      r.fission = 0.4f * r.absorb;
      r.nubar = 2.4f;
    }
  Material mats[kMaterials] = {};
  const int counts[kMaterials] = {12, 3, 5};
  for (int m = 0, k = 0; m < kMaterials; ++m) {
    mats[m].count = counts[m];
    for (int i = 0; i < counts[m]; ++i, ++k) {
      mats[m].nuc[i] = (k * 5) % kNuclides;
      mats[m].dens[i] = (m == 2 ? 0.25f : 0.06f) / (1 + i % 3);
    }
  }
  float majorant = 0.f;                       // host scan over the energy grid, small margin on top
  for (int m = 0; m < kMaterials; ++m)
    for (int g = 0; g < kGridPoints; ++g) {
      float st, sa;
      macroXs(tab.data(), mats, m, tab[g].energy, st, sa);
      majorant = fmaxf(majorant, 1.02f * st);
    }

  XsRow* dTab = dev<XsRow>(tab.size());
  GPUOK(cudaMemcpy(dTab, tab.data(), tab.size() * sizeof(XsRow), cudaMemcpyHostToDevice));
  GPUOK(cudaMemcpyToSymbol(c_mat, mats, sizeof(mats)));
  Particles p;
  p.n = N;
  for (float** f : {&p.x, &p.y, &p.z, &p.u, &p.v, &p.w, &p.e, &p.st, &p.sa}) *f = dev<float>(N);
  p.seed = dev<uint64_t>(N);
  Tally t{dev<double>(kPins * kPins), dev<unsigned long long>(5)};
  int *qLive = dev<int>(N), *qMoved = dev<int>(N), *qSorted = dev<int>(N), *qNext = dev<int>(N);
  int* counters = dev<int>(8);     // 0 moved, 1 next, 2..4 material counts, 5..7 material cursors

  source<<<(N + 255) / 256, 256>>>(p, qLive);
  int live = N, cycle = 0;
  while (live > N / 4 && cycle < 6) {
    int h[2];
    GPUOK(cudaMemset(counters, 0, 8 * sizeof(int)));
    advance<<<(live + 255) / 256, 256>>>(p, qLive, live, majorant, qMoved, counters, t);
    GPUOK(cudaMemcpy(h, counters, sizeof(int), cudaMemcpyDeviceToHost));
    const int moved = h[0];
    if (moved == 0) { live = 0; break; }
    const int* q = qMoved;
    if (cycle % 2 == 0) {          // sorting by material pays off only while many are alive
      materialCount<<<(moved + 255) / 256, 256>>>(p, qMoved, moved, counters + 2);
      materialScatter<<<(moved + 255) / 256, 256>>>(p, qMoved, moved, counters + 2, counters + 5, qSorted);
      q = qSorted;
    }
    lookup<<<(moved + 127) / 128, 128>>>(p, q, moved, dTab, t);
    collide<<<(moved + 127) / 128, 128>>>(p, q, moved, majorant, qNext, counters + 1, t);
    GPUOK(cudaMemcpy(h, counters, 2 * sizeof(int), cudaMemcpyDeviceToHost));
    live = h[1];
    int* tmp = qLive; qLive = qNext; qNext = tmp;
    printf("cycle %d: %d alive\n", cycle++, live);
  }
  if (live > 0) finishHistories<<<(live + 63) / 64, 64>>>(p, qLive, live, dTab, majorant, t);
  GPUOK(cudaGetLastError());
  GPUOK(cudaDeviceSynchronize());

  std::vector<double> flux(kPins * kPins), ref(kPins * kPins, 0.0);
  unsigned long long c[5];
  GPUOK(cudaMemcpy(flux.data(), t.flux, flux.size() * sizeof(double), cudaMemcpyDeviceToHost));
  GPUOK(cudaMemcpy(c, t.counts, sizeof(c), cudaMemcpyDeviceToHost));

  unsigned hc[5] = {0, 0, 0, 0, 0};
  for (int i = 0; i < N; ++i) {
    float x, y, z, u, v, w, e;
    uint64_t s;
    born(i, x, y, z, u, v, w, e, s);
    history(x, y, z, u, v, w, e, s, tab.data(), mats, majorant, hc, HostFlux{ref.data()});
  }
  int bad = 0;
  if (c[0] + c[1] != (unsigned long long)N) bad++;                 // balance, exact
  if (c[2] + c[3] != c[4]) bad++;
  const char* names[5] = {"leaked", "absorbed", "collisions", "virtual", "lookups"};
  for (int k = 0; k < 5; ++k) {
    printf("%-11s gpu %llu cpu %u\n", names[k], c[k], hc[k]);
    if (fabs((double)c[k] - hc[k]) > 0.03 * hc[k] + 20) bad++;
  }
  double fs = 0, rs = 0;
  for (int k = 0; k < kPins * kPins; ++k) { fs += flux[k]; rs += ref[k]; if (fabs(flux[k] - ref[k]) > 0.15 * ref[k]) bad++; }
  if (fabs(fs - rs) > 0.03 * rs) bad++;
  printf("%s\n", bad ? "FAIL" : "PASS");
  return bad ? 1 : 0;
}
