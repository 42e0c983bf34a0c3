// Genomics: pile up aligned reads on a reference, base quality recalibration counts, genotype likelihoods, duplicate marking
// keys, per-read GC and quality trimming, coverage windows.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace gen {

constexpr int kReadLen = 100;
constexpr int kStride = 104;  // padded records

struct Read {
  int pos;
  uint8_t mapq;
  uint8_t flags;
  uint16_t group;
};

struct Batch {
  int reads;
  int genome;
  const Read* meta;
  const uint8_t* bases;  // reads x kStride
  const uint8_t* quals;
  const uint8_t* ref;
};

class Error {
 public:
  static void on(cudaError_t e, const char* what) {
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
    std::exit(1);
  }
};

// a thread a read: scattered atomics, byte loads with a stride
__global__ void pileup_by_read(Batch b, int* __restrict__ counts) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= b.reads) return;
  Read m = b.meta[r];
  if (m.mapq < 20) return;
  for (int k = 0; k < kReadLen; ++k) {
    if (b.quals[r * kStride + k] >= 15) atomicAdd(&counts[(m.pos + k) * 4 + b.bases[r * kStride + k]], 1);
  }
}

// a warp a read: lanes along the read
__global__ void pileup_by_warp(Batch b, int* __restrict__ counts) {
  int r = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  if (r >= b.reads) return;
  Read m = b.meta[r];
  if (m.mapq < 20) return;
  for (int k = lane; k < kReadLen; k += 32) {
    if (b.quals[r * kStride + k] >= 15) atomicAdd(&counts[(m.pos + k) * 4 + b.bases[r * kStride + k]], 1);
  }
}

// mismatch table [quality][cycle] in shared memory
__global__ void recalibration(Batch b, int* __restrict__ total, int* __restrict__ miss) {
  __shared__ int t[41];
  __shared__ int m[41];
  for (int k = threadIdx.x; k < 41; k += blockDim.x) {
    t[k] = 0;
    m[k] = 0;
  }
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < b.reads * kReadLen; i += gridDim.x * blockDim.x) {
    int r = i / kReadLen;
    int k = i % kReadLen;
    int q = b.quals[r * kStride + k];
    atomicAdd(&t[q], 1);
    if (b.bases[r * kStride + k] != b.ref[b.meta[r].pos + k]) atomicAdd(&m[q], 1);
  }
  __syncthreads();
  for (int k = threadIdx.x; k < 41; k += blockDim.x) {
    atomicAdd(&total[k], t[k]);
    atomicAdd(&miss[k], m[k]);
  }
}

struct Call {
  uint8_t alt;
  uint8_t genotype;
  short depth;
  float qual;
};

__host__ __device__ inline Call genotype(int4 c, int ref) {
  int n[4] = {c.x, c.y, c.z, c.w};
  int alt = ref == 0 ? 1 : 0;
  for (int k = 0; k < 4; ++k)
    if (k != ref && n[k] > n[alt]) alt = k;
  int a = n[ref], b = n[alt];
  const float e = 0.01f;
  float l0 = a * logf(1 - e) + b * logf(e);
  float l1 = (a + b) * logf(0.5f);
  float l2 = a * logf(e) + b * logf(1 - e);
  Call out;
  out.alt = (uint8_t)alt;
  out.depth = (short)(a + b);
  out.genotype = l0 >= l1 && l0 >= l2 ? 0 : (l1 >= l2 ? 1 : 2);
  out.qual = fmaxf(l1, l2) - l0;
  return out;
}

__global__ void call_variants(const int4* __restrict__ counts, const uint8_t* __restrict__ ref, Call* __restrict__ calls, int n) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p < n) calls[p] = genotype(counts[p], ref[p]);
}

// BWA-style trimming from the 3' end and the number of G and C
__global__ void trim_and_gc(Batch b, uint8_t* __restrict__ keep, uint8_t* __restrict__ gc) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= b.reads) return;
  int s = 0, best = 0, at = kReadLen, g = 0;
  for (int k = kReadLen - 1; k >= 0; --k) {
    s += 20 - b.quals[r * kStride + k];
    if (s < 0) break;
    if (s > best) {
      best = s;
      at = k;
    }
  }
  const uint32_t* words = reinterpret_cast<const uint32_t*>(b.bases + (size_t)r * kStride);
  for (int w = 0; w < kReadLen / 4; ++w) {
    uint32_t v = words[w];
    uint32_t x = (v ^ (v >> 1)) & 0x01010101u;  // codes 1 and 2
    g += __popc(x);
  }
  keep[r] = (uint8_t)at;
  gc[r] = (uint8_t)g;
}

__global__ void window_coverage(const int4* __restrict__ counts, int* __restrict__ cov, int n, int win) {
  int lane = threadIdx.x % 32;
  int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (w * win >= n) return;
  int s = 0;
  for (int p = w * win + lane; p < min(n, (w + 1) * win); p += 32) {
    int4 c = counts[p];
    s += c.x + c.y + c.z + c.w;
  }
  s = __reduce_add_sync(0xffffffffu, s);
  if (lane == 0) cov[w] = s;
}

// 64-bit signature of a read for duplicate marking: position, strand, and a hash of every 7th base
__global__ void duplicate_keys(Batch b, unsigned long long* __restrict__ key) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= b.reads) return;
  unsigned long long h = b.meta[r].pos * 2 + (b.meta[r].flags & 1);
  for (int k = 0; k < kReadLen; k += 7) h = h * 1099511628211ull + b.bases[r * kStride + k];
  key[r] = h;
}

template <class T>
std::shared_ptr<T> device(size_t n, const T* src = nullptr) {
  T* p;
  Error::on(cudaMalloc(&p, n * sizeof(T)), "cudaMalloc");
  if (src)
    Error::on(cudaMemcpy(p, src, n * sizeof(T), cudaMemcpyHostToDevice), "upload");
  else
    Error::on(cudaMemset(p, 0, n * sizeof(T)), "memset");
  return std::shared_ptr<T>(p, [](T* q) { cudaFree(q); });
}

template <class T>
std::vector<T> back(const std::shared_ptr<T>& p, size_t n) {
  std::vector<T> h(n);
  Error::on(cudaMemcpy(h.data(), p.get(), n * sizeof(T), cudaMemcpyDeviceToHost), "download");
  return h;
}

}  // namespace gen

int main() {
  using namespace gen;
  const int genome = 200000, reads = 60000, win = 250;
  std::mt19937 rng(3);
  std::vector<uint8_t> ref(genome);
  for (auto& c : ref) c = rng() & 3;
  std::vector<Read> meta(reads);
  std::vector<uint8_t> bases((size_t)reads * kStride, 0), quals((size_t)reads * kStride, 0);
  for (int r = 0; r < reads; ++r) {
    meta[r] = {(int)(rng() % (genome - kReadLen)), (uint8_t)(rng() % 60), (uint8_t)(rng() & 1), (uint16_t)(r & 3)};
    for (int k = 0; k < kReadLen; ++k) {
      int p = meta[r].pos + k;
      uint8_t c = ref[p];
      if (p % 997 == 0 && (p % 2 || rng() & 1)) c = (c + 1) & 3;
      int q = 40 - k * 25 / kReadLen - (int)(rng() % 14);
      if ((int)(rng() % 400) < 41 - q) c = rng() & 3;
      bases[(size_t)r * kStride + k] = c;
      quals[(size_t)r * kStride + k] = (uint8_t)(q < 2 ? 2 : q);
    }
  }
  auto dmeta = device(reads, meta.data());
  auto dbases = device(bases.size(), bases.data());
  auto dquals = device(quals.size(), quals.data());
  auto dref = device(genome, ref.data());
  auto dc1 = device<int>(genome * 4);
  auto dc2 = device<int>(genome * 4);
  auto dtot = device<int>(41);
  auto dmiss = device<int>(41);
  auto dcall = device<Call>(genome);
  auto dkeep = device<uint8_t>(reads);
  auto dgc = device<uint8_t>(reads);
  auto dcov = device<int>(genome / win);
  auto dkey = device<unsigned long long>(reads);
  Batch b{reads, genome, dmeta.get(), dbases.get(), dquals.get(), dref.get()};

  const int per = 128;
  const int g1 = (reads + per - 1) / per;
  pileup_by_read<<<g1, per>>>(b, dc1.get());
  pileup_by_warp<<<(reads * 32 + per - 1) / per, per>>>(b, dc2.get());
  recalibration<<<264, 256>>>(b, dtot.get(), dmiss.get());
  call_variants<<<(genome + 255) / 256, 256>>>(reinterpret_cast<const int4*>(dc2.get()), dref.get(), dcall.get(), genome);
  trim_and_gc<<<g1, per>>>(b, dkeep.get(), dgc.get());
  window_coverage<<<(genome / win * 32 + per - 1) / per, per>>>(reinterpret_cast<const int4*>(dc2.get()), dcov.get(), genome, win);
  duplicate_keys<<<g1, per>>>(b, dkey.get());
  Error::on(cudaGetLastError(), "launch");
  Error::on(cudaDeviceSynchronize(), "sync");

  std::vector<int> counts(genome * 4, 0), tot(41, 0), miss(41, 0), cov(genome / win, 0);
  auto keep = back(dkeep, reads);
  auto gc = back(dgc, reads);
  auto key = back(dkey, reads);
  int bad = 0;
  for (int r = 0; r < reads; ++r) {
    const uint8_t* B = &bases[(size_t)r * kStride];
    const uint8_t* Q = &quals[(size_t)r * kStride];
    int g = 0;
    for (int k = 0; k < kReadLen; ++k) {
      int p = meta[r].pos + k;
      if (meta[r].mapq >= 20 && Q[k] >= 15) {
        counts[p * 4 + B[k]]++;
        if (p / win < genome / win) cov[p / win]++;
      }
      tot[Q[k]]++;
      miss[Q[k]] += B[k] != ref[p];
      g += B[k] == 1 || B[k] == 2;
    }
    int s = 0, best = 0, at = kReadLen;
    for (int k = kReadLen - 1; k >= 0; --k) {
      s += 20 - Q[k];
      if (s < 0) break;
      if (s > best) {
        best = s;
        at = k;
      }
    }
    unsigned long long h = meta[r].pos * 2 + (meta[r].flags & 1);
    for (int k = 0; k < kReadLen; k += 7) h = h * 1099511628211ull + B[k];
    bad += keep[r] != at || gc[r] != g || key[r] != h;
  }
  bad += back(dc1, genome * 4) != counts;
  bad += back(dc2, genome * 4) != counts;
  bad += back(dtot, 41) != tot || back(dmiss, 41) != miss || back(dcov, genome / win) != cov;
  auto calls = back(dcall, genome);
  int variants = 0, soft = 0;
  for (int p = 0; p < genome; ++p) {
    const int* c = &counts[p * 4];
    Call w = genotype(make_int4(c[0], c[1], c[2], c[3]), ref[p]);
    bad += w.alt != calls[p].alt || w.depth != calls[p].depth || std::fabs(w.qual - calls[p].qual) > 1e-2f + 1e-4f * std::fabs(w.qual);
    soft += w.genotype != calls[p].genotype;
    variants += calls[p].genotype > 0 && calls[p].qual > 5;
  }
  bad += soft > 5;
  std::printf("%d variants, %d bad, %d soft\n", variants, bad, soft);
  std::puts(bad ? "FAIL" : "PASS");
  return bad ? 1 : 0;
}
