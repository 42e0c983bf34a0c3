// Hop-limited path problems over different semirings (bottleneck = max/min, distance = min/plus).
// "best value from the source to v with at most K edges", computed with three graph layouts:
//   * CSR of incoming edges, pull, one thread or one warp per vertex
//   * ELLPACK (column major) plus a COO rest for the heavy vertices
//   * CSR of outgoing edges with a compacted frontier, push with atomics
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#define CUDA_OR_DIE(stmt)                                                                       \
  do {                                                                                          \
    const cudaError_t result__ = (stmt);                                                        \
    if (result__ != cudaSuccess) {                                                              \
      std::fprintf(stderr, "[%s:%d] %s\n", __FILE__, __LINE__, cudaGetErrorString(result__));   \
      std::abort();                                                                             \
    }                                                                                           \
  } while (false)

namespace {

using Vertex = int;
constexpr int kVertices = 6000;
constexpr int kEdges = 52000;
constexpr int kHops = 4;
constexpr int kEllWidth = 8;
constexpr int kInfinity = 1 << 29;

struct Edge {
  Vertex from, to;
  int weight;
};

struct Bottleneck {
  static __host__ __device__ int source() { return kInfinity; }
  static __host__ __device__ int nothing() { return 0; }
  static __host__ __device__ int extend(int value, int w) { return value < w ? value : w; }
  static __host__ __device__ int better(int a, int b) { return a > b ? a : b; }
  static __device__ int improve(int* p, int v) { return atomicMax(p, v); }
};

struct Distance {
  static __host__ __device__ int source() { return 0; }
  static __host__ __device__ int nothing() { return kInfinity; }
  static __host__ __device__ int extend(int value, int w) { return value >= kInfinity ? kInfinity : value + w; }
  static __host__ __device__ int better(int a, int b) { return a < b ? a : b; }
  static __device__ int improve(int* p, int v) { return atomicMin(p, v); }
};

struct CsrView {
  int n;
  const int* offset;
  const Vertex* neighbour;
  const int* weight;
};

template <class Semiring>
__global__ void pull_thread(CsrView g, const int* in, int* out) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= g.n) return;
  int best = in[v];
  for (int e = g.offset[v]; e < g.offset[v + 1]; ++e)
    best = Semiring::better(best, Semiring::extend(in[g.neighbour[e]], g.weight[e]));
  out[v] = best;
}

template <class Semiring, int LANES>
__global__ void pull_group(CsrView g, const int* __restrict__ in, int* __restrict__ out) {
  const int v = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
  const int lane = threadIdx.x % LANES;
  int best = Semiring::nothing();
  if (v < g.n) {
    const int end = g.offset[v + 1];
    for (int e = g.offset[v] + lane; e < end; e += LANES)
      best = Semiring::better(best, Semiring::extend(in[g.neighbour[e]], g.weight[e]));
  }
#pragma unroll
  for (int d = LANES / 2; d > 0; d /= 2) best = Semiring::better(best, __shfl_down_sync(~0u, best, d, LANES));
  if (v < g.n && lane == 0) out[v] = Semiring::better(best, in[v]);
}

// slot-major: entry k of vertex v is at k * n + v; x = neighbour (or -1), y = weight
template <class Semiring>
__global__ void ell_round(int n, const int2* ell, const int* in, int* out) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  int best = in[v];
  for (int k = 0; k < kEllWidth; ++k) {
    const int2 e = ell[k * n + v];
    if (e.x < 0) break;
    best = Semiring::better(best, Semiring::extend(in[e.x], e.y));
  }
  out[v] = best;
}

template <class Semiring>
__global__ void coo_round(int m, const Edge* edges, const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  const Edge e = edges[i];
  const int candidate = Semiring::extend(in[e.from], e.weight);
  if (candidate != Semiring::nothing()) Semiring::improve(&out[e.to], candidate);
}

template <class Semiring>
__global__ void push_frontier(CsrView g, const Vertex* frontier, int size, const int* in, int* out) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  if (warp >= size) return;
  const Vertex u = frontier[warp];
  const int value = in[u];
  for (int e = g.offset[u] + (threadIdx.x & 31); e < g.offset[u + 1]; e += 32)
    Semiring::improve(&out[g.neighbour[e]], Semiring::extend(value, g.weight[e]));
}

// vertices that changed form the next frontier; positions per warp by ballot, per block by one atomic
__global__ void next_frontier(int n, int* before, const int* after, Vertex* frontier, int* size) {
  __shared__ int warp_count[8];
  __shared__ int base;
  const int v = blockIdx.x * 256 + threadIdx.x;
  const int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
  const bool changed = v < n && before[v] != after[v];
  const unsigned ballot = __ballot_sync(~0u, changed);
  if (lane == 0) warp_count[w] = __popc(ballot);
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int k = 0; k < 8; ++k) {
      const int c = warp_count[k];
      warp_count[k] = sum;
      sum += c;
    }
    base = sum ? atomicAdd(size, sum) : 0;
  }
  __syncthreads();
  if (changed) {
    frontier[base + warp_count[w] + __popc(ballot & ((1u << lane) - 1u))] = v;
    before[v] = after[v];
  }
}

template <class T>
T* clone(const std::vector<T>& v) {
  T* p = nullptr;
  CUDA_OR_DIE(cudaMalloc(&p, std::max<std::size_t>(1, v.size()) * sizeof(T)));
  CUDA_OR_DIE(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}

CsrView build_csr(const std::vector<Edge>& edges, bool incoming) {
  std::vector<int> offset(kVertices + 1, 0), weight(edges.size());
  std::vector<Vertex> neighbour(edges.size());
  for (const Edge& e : edges) ++offset[(incoming ? e.to : e.from) + 1];
  std::partial_sum(offset.begin(), offset.end(), offset.begin());
  std::vector<int> cursor(offset.begin(), offset.end() - 1);
  for (const Edge& e : edges) {
    const int at = cursor[incoming ? e.to : e.from]++;
    neighbour[at] = incoming ? e.from : e.to;
    weight[at] = e.weight;
  }
  return CsrView{kVertices, clone(offset), clone(neighbour), clone(weight)};
}

template <class Semiring>
std::vector<int> reference(const std::vector<Edge>& edges, Vertex source) {
  std::vector<int> value(kVertices, Semiring::nothing());
  value[source] = Semiring::source();
  for (int h = 0; h < kHops; ++h) {
    std::vector<int> next = value;
    for (const Edge& e : edges) next[e.to] = Semiring::better(next[e.to], Semiring::extend(value[e.from], e.weight));
    value.swap(next);
  }
  return value;
}

bool same(const char* what, const int* device, const std::vector<int>& want) {
  std::vector<int> got(want.size());
  CUDA_OR_DIE(cudaMemcpy(got.data(), device, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  long differ = 0;
  for (std::size_t i = 0; i < got.size(); ++i) differ += got[i] != want[i];
  std::printf("%-34s %ld differences\n", what, differ);
  return differ == 0;
}

}  // namespace

int main() {
  std::srand(5150);
  std::vector<Edge> edges;
  for (int i = 0; i < kEdges; ++i) {
    // skewed on both sides: products of two uniform numbers prefer small ids
    const Vertex a = static_cast<Vertex>((std::rand() % 1000) * 1e-3 * (std::rand() % kVertices));
    const Vertex b = static_cast<Vertex>((std::rand() % 1000) * 1e-3 * (std::rand() % kVertices));
    edges.push_back(Edge{i % 3 ? a : std::rand() % kVertices, i % 5 ? b : std::rand() % kVertices, 1 + std::rand() % 5000});
  }
  const Vertex source = 4321;
  for (int k = 0; k < 3; ++k) edges.push_back(Edge{source, k * 7, 2500 + k * 800});

  // ELL + rest, from incoming edges
  std::vector<int2> ell(static_cast<std::size_t>(kEllWidth) * kVertices, make_int2(-1, 0));
  std::vector<int> used(kVertices, 0);
  std::vector<Edge> rest;
  for (const Edge& e : edges) {
    if (used[e.to] < kEllWidth) ell[static_cast<std::size_t>(used[e.to]++) * kVertices + e.to] = make_int2(e.from, e.weight);
    else rest.push_back(e);
  }
  const CsrView in_csr = build_csr(edges, true), out_csr = build_csr(edges, false);
  int2* d_ell = clone(ell);
  Edge* d_rest = clone(rest);

  std::vector<int> start_b(kVertices, Bottleneck::nothing()), start_d(kVertices, Distance::nothing());
  start_b[source] = Bottleneck::source();
  start_d[source] = Distance::source();
  const auto want_b = reference<Bottleneck>(edges, source);
  const auto want_d = reference<Distance>(edges, source);
  const int blocks = (kVertices + 255) / 256;
  bool ok = true;

  int *x = clone(start_b), *y = clone(start_b);
  for (int h = 0; h < kHops; ++h, std::swap(x, y)) {
    if (h < 2) pull_thread<Bottleneck><<<blocks, 256>>>(in_csr, x, y);
    else pull_group<Bottleneck, 32><<<(kVertices * 32 + 255) / 256, 256>>>(in_csr, x, y);
  }
  CUDA_OR_DIE(cudaGetLastError());
  ok &= same("bottleneck, pull (thread, warp)", x, want_b);

  int *dx = clone(start_d), *dy = clone(start_d);
  for (int h = 0; h < kHops; ++h, std::swap(dx, dy)) pull_group<Distance, 8><<<(kVertices * 8 + 127) / 128, 128>>>(in_csr, dx, dy);
  ok &= same("distance, pull (8 lanes)", dx, want_d);

  CUDA_OR_DIE(cudaMemcpy(x, start_b.data(), kVertices * sizeof(int), cudaMemcpyHostToDevice));
  for (int h = 0; h < kHops; ++h, std::swap(x, y)) {
    ell_round<Bottleneck><<<blocks, 256>>>(kVertices, d_ell, x, y);
    coo_round<Bottleneck><<<(static_cast<int>(rest.size()) + 127) / 128, 128>>>(static_cast<int>(rest.size()), d_rest, x, y);
  }
  CUDA_OR_DIE(cudaGetLastError());
  ok &= same("bottleneck, ELL + COO", x, want_b);

  // frontier version; dx = values of the previous hop, dy = values being improved
  CUDA_OR_DIE(cudaMemcpy(dx, start_d.data(), kVertices * sizeof(int), cudaMemcpyHostToDevice));
  CUDA_OR_DIE(cudaMemcpy(dy, start_d.data(), kVertices * sizeof(int), cudaMemcpyHostToDevice));
  std::vector<Vertex> first(kVertices, 0);
  first[0] = source;
  Vertex* frontier = clone(first);
  int* d_size = clone(std::vector<int>(1, 0));
  int size = 1;
  for (int h = 0; h < kHops && size > 0; ++h) {
    push_frontier<Distance><<<(size * 32 + 127) / 128, 128>>>(out_csr, frontier, size, dx, dy);
    CUDA_OR_DIE(cudaMemset(d_size, 0, sizeof(int)));
    next_frontier<<<blocks, 256>>>(kVertices, dx, dy, frontier, d_size);
    CUDA_OR_DIE(cudaMemcpy(&size, d_size, sizeof(int), cudaMemcpyDeviceToHost));
    std::printf("  hop %d: %d vertices changed\n", h + 1, size);
  }
  CUDA_OR_DIE(cudaGetLastError());
  ok &= same("distance, frontier push", dy, want_d);

  const long reached = kVertices - std::count(want_d.begin(), want_d.end(), Distance::nothing());
  std::printf("%ld of %d vertices within %d hops, ELL rest %zu edges\n", reached, kVertices, kHops, rest.size());
  for (void* p : {(void*)x, (void*)y, (void*)dx, (void*)dy, (void*)d_ell, (void*)d_rest, (void*)frontier, (void*)d_size})
    CUDA_OR_DIE(cudaFree(p));
  std::puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
