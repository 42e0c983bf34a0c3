// Frontier based graph traversal with load-balanced advance and filter operators, in the manner of gunrock.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <queue>
#include <random>
#include <vector>

namespace gunrock {
namespace error {
inline void throw_if_exception(cudaError_t status, const char* message) {
  if (status != cudaSuccess) { std::fprintf(stderr, "%s: %s\n", message, cudaGetErrorString(status)); std::exit(1); }
}
}  // namespace error

namespace gcuda {
namespace launch_box {
template <int x_, int items_> struct launch_params_t { static constexpr int block_threads = x_, items_per_thread = items_; };
using advance_t = launch_params_t<128, 4>;
using filter_t = launch_params_t<256, 1>;
}  // namespace launch_box
}  // namespace gcuda

namespace graph {
template <typename vertex_t, typename edge_t, typename weight_t> struct graph_csr_t {
  using vertex_type = vertex_t; using edge_type = edge_t; using weight_type = weight_t;
  vertex_t number_of_vertices; edge_t number_of_edges;
  const edge_t* offsets; const vertex_t* indices; const weight_t* values;
  __device__ __forceinline__ edge_t get_starting_edge(vertex_t v) const { return offsets[v]; }
  __device__ __forceinline__ edge_t get_number_of_neighbors(vertex_t v) const { return offsets[v + 1] - offsets[v]; }
  __device__ __forceinline__ vertex_t get_destination_vertex(edge_t e) const { return indices[e]; }
  __device__ __forceinline__ weight_t get_edge_weight(edge_t e) const { return values[e]; }
};
}  // namespace graph

namespace math { namespace atomic {
__device__ __forceinline__ float min(float* address, float value) {
  int old = __float_as_int(*address), assumed;
  do {
    assumed = old;
    if (__int_as_float(assumed) <= value) break;
    old = atomicCAS((int*)address, assumed, __float_as_int(value));
  } while (assumed != old);
  return __int_as_float(old);
}
} }  // namespace math::atomic

namespace operators {
// Exclusive scan of frontier degrees by a single block; scanned[n] receives the total.
template <int block_threads, typename graph_t>
__global__ void scan_degrees_kernel(graph_t G, const typename graph_t::vertex_type* frontier, int n, typename graph_t::edge_type* scanned) {
  using edge_t = typename graph_t::edge_type;
  __shared__ edge_t warp_totals[block_threads / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  edge_t running = 0;
  for (int base = 0; base < n; base += block_threads) {
    const int i = base + threadIdx.x;
    const edge_t degree = i < n ? G.get_number_of_neighbors(frontier[i]) : 0;
    edge_t inclusive = degree;
    for (int o = 1; o < 32; o <<= 1) { const edge_t t = __shfl_up_sync(0xffffffff, inclusive, o); if (lane >= o) inclusive += t; }
    if (lane == 31) warp_totals[warp] = inclusive;
    __syncthreads();
    edge_t prefix = 0, total = 0;
    for (int w = 0; w < block_threads / 32; w++) { if (w < warp) prefix += warp_totals[w]; total += warp_totals[w]; }
    if (i < n) scanned[i] = running + prefix + inclusive - degree;
    running += total;
    __syncthreads();
  }
  if (threadIdx.x == 0) scanned[n] = running;
}

namespace search {
template <typename T> __device__ __forceinline__ int upper_bound(const T* a, int lo, int hi, T key) {
  while (lo < hi) { const int mid = (lo + hi) / 2; if (a[mid] <= key) lo = mid + 1; else hi = mid; }
  return lo;
}
}  // namespace search

namespace advance {
// Each block owns a contiguous range of edges; sources are located by a load-balanced search.
template <typename params_t, typename graph_t, typename operator_t>
__global__ void __launch_bounds__(params_t::block_threads)
    block_mapped_lbs_kernel(graph_t G, operator_t op, const typename graph_t::vertex_type* input, int input_size, const typename graph_t::edge_type* segments, typename graph_t::vertex_type* output) {
  using vertex_t = typename graph_t::vertex_type;
  using edge_t = typename graph_t::edge_type;
  constexpr int tile = params_t::block_threads * params_t::items_per_thread;
  __shared__ edge_t s_offsets[tile + 1];
  __shared__ vertex_t s_sources[tile];
  __shared__ edge_t s_starts[tile];
  __shared__ int s_first, s_last;
  const edge_t total = segments[input_size], tile_begin = blockIdx.x * tile;
  if (tile_begin >= total) return;
  const edge_t tile_end = min(tile_begin + tile, total);
  if (threadIdx.x == 0) {
    s_first = search::upper_bound(segments, 0, input_size, tile_begin) - 1;
    s_last = search::upper_bound(segments, 0, input_size, (edge_t)(tile_end - 1)) - 1;
  }
  __syncthreads();
  int first = s_first;
  const int last = s_last;
  // frontier entries in chunks, since many of them may be without edges
  for (; first <= last; first += tile) {
    const int count = min(last - first + 1, tile);
    for (int i = threadIdx.x; i < count; i += params_t::block_threads) {
      const vertex_t v = input[first + i];
      s_offsets[i] = segments[first + i];
      s_sources[i] = v;
      s_starts[i] = G.get_starting_edge(v);
    }
    if (threadIdx.x == 0) s_offsets[count] = segments[first + count];
    __syncthreads();
    const edge_t begin = max(tile_begin, s_offsets[0]), end = min(tile_end, s_offsets[count]);
    for (edge_t e = begin + threadIdx.x; e < end; e += params_t::block_threads) {
      const int slot = search::upper_bound(s_offsets, 0, count, e) - 1;
      const edge_t edge = s_starts[slot] + (e - s_offsets[slot]);
      const vertex_t neighbor = G.get_destination_vertex(edge);
      const bool keep = op(s_sources[slot], neighbor, edge, G.get_edge_weight(edge));
      output[e] = keep ? neighbor : -1;
    }
    __syncthreads();
  }
}

template <typename graph_t, typename operator_t>
__global__ void thread_mapped_kernel(graph_t G, operator_t op) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= G.number_of_vertices) return;
  const auto start = G.get_starting_edge(v);
  const auto degree = G.get_number_of_neighbors(v);
  for (int i = 0; i < degree; i++) op(v, G.get_destination_vertex(start + i), start + i, G.get_edge_weight(start + i));
}
}  // namespace advance

namespace filter {
template <typename params_t, typename vertex_t, typename operator_t>
__global__ void compact_kernel(const vertex_t* input, int size, vertex_t* output, int* output_size, operator_t op) {
  __shared__ int block_base;
  __shared__ int warp_counts[params_t::block_threads / 32];
  const int i = blockIdx.x * params_t::block_threads + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const vertex_t v = i < size ? input[i] : -1;
  const bool keep = v != -1 && op(v);
  const unsigned ballot = __ballot_sync(0xffffffff, keep);
  if (lane == 0) warp_counts[warp] = __popc(ballot);
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int w = 0; w < params_t::block_threads / 32; w++) { const int c = warp_counts[w]; warp_counts[w] = sum; sum += c; }
    block_base = sum ? atomicAdd(output_size, sum) : 0;
  }
  __syncthreads();
  if (keep) output[block_base + warp_counts[warp] + __popc(ballot & ((1u << lane) - 1))] = v;
}
}  // namespace filter
}  // namespace operators

template <typename graph_t> struct enactor_t {
  using vertex_t = typename graph_t::vertex_type;
  using edge_t = typename graph_t::edge_type;
  graph_t G;
  vertex_t *active, *next, *scratch;
  edge_t* segments;
  int* d_size;
  explicit enactor_t(graph_t g) : G(g) {
    auto alloc = [](auto** p, size_t n) { error::throw_if_exception(cudaMalloc(p, n * sizeof(**p)), "cudaMalloc"); };
    alloc(&active, G.number_of_vertices); alloc(&next, G.number_of_vertices); alloc(&scratch, G.number_of_edges); alloc(&segments, G.number_of_vertices + 1); alloc(&d_size, 1);
  }
  ~enactor_t() { cudaFree(active); cudaFree(next); cudaFree(scratch); cudaFree(segments); cudaFree(d_size); }
  template <typename advance_op, typename filter_op> int enact(vertex_t source, int max_iterations, advance_op make_advance, filter_op make_filter) {
    using namespace operators;
    using aparams = gcuda::launch_box::advance_t;
    using fparams = gcuda::launch_box::filter_t;
    error::throw_if_exception(cudaMemcpy(active, &source, sizeof(source), cudaMemcpyHostToDevice), "frontier init");
    int size = 1, iteration = 0;
    while (size > 0 && iteration < max_iterations) {
      scan_degrees_kernel<1024><<<1, 1024>>>(G, active, size, segments);
      edge_t work = 0;
      error::throw_if_exception(cudaMemcpy(&work, segments + size, sizeof(work), cudaMemcpyDeviceToHost), "scan");
      if (work == 0) break;
      constexpr int tile = aparams::block_threads * aparams::items_per_thread;
      advance::block_mapped_lbs_kernel<aparams><<<(work + tile - 1) / tile, aparams::block_threads>>>(G, make_advance(iteration), active, size, segments, scratch);
      error::throw_if_exception(cudaMemset(d_size, 0, sizeof(int)), "memset");
      filter::compact_kernel<fparams><<<(work + fparams::block_threads - 1) / fparams::block_threads, fparams::block_threads>>>(scratch, work, next, d_size, make_filter(iteration));
      error::throw_if_exception(cudaGetLastError(), "operators");
      error::throw_if_exception(cudaMemcpy(&size, d_size, sizeof(int), cudaMemcpyDeviceToHost), "filter");
      std::swap(active, next);
      iteration++;
    }
    return iteration;
  }
};
}  // namespace gunrock

using namespace gunrock;
struct bfs_advance {
  int* distances; int next_level;
  __device__ bool operator()(int const&, int const& neighbor, int const&, float const&) const { return next_level < atomicMin(distances + neighbor, next_level); }
};
struct keep_all { __device__ bool operator()(int const&) const { return true; } };
struct sssp_advance {
  float* distances;
  __device__ bool operator()(int const& source, int const& neighbor, int const&, float const& weight) const {
    const float d = __ldcg(distances + source) + weight;
    return d < math::atomic::min(distances + neighbor, d);
  }
};
struct sssp_filter {
  int* visited; int iteration;
  __device__ bool operator()(int const& v) const { return atomicExch(visited + v, iteration) != iteration; }
};
struct pagerank_push {
  const float* scaled; float* next;
  __device__ void operator()(int const& src, int const& dst, int const&, float const&) const { atomicAdd(next + dst, scaled[src]); }
};

template <typename T> T* to_device(const std::vector<T>& h) {
  T* p;
  error::throw_if_exception(cudaMalloc(&p, h.size() * sizeof(T)), "cudaMalloc");
  error::throw_if_exception(cudaMemcpy(p, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice), "h2d");
  return p;
}
template <typename T> std::vector<T> to_host(const T* p, size_t n) {
  std::vector<T> h(n);
  error::throw_if_exception(cudaMemcpy(h.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost), "d2h");
  return h;
}

int main() {
  const int n = 30000;
  std::mt19937 rng(17);
  std::vector<int> offsets{0}, indices;
  std::vector<float> values;
  for (int v = 0; v < n; v++) {
    int degree = rng() % 8 == 0 ? 150 + rng() % 200 : rng() % 40;
    if (v % 97 == 5) degree = 0;
    if (v == 0) degree = 2500;
    for (int i = 0; i < degree; i++) {
      const double u = (rng() % 1000003) / 1000003.0;
      indices.push_back((int)(u * u * n) % n);
      values.push_back(1.0f + (rng() % 1000) * 0.001f);
    }
    offsets.push_back(indices.size());
  }
  using graph_t = graph::graph_csr_t<int, int, float>;
  graph_t G{n, (int)indices.size(), to_device(offsets), to_device(indices), to_device(values)};
  bool ok = true;

  { // BFS, three levels deep
    std::vector<int> dist(n, std::numeric_limits<int>::max());
    dist[0] = 0;
    int* d_dist = to_device(dist);
    enactor_t<graph_t> enactor(G);
    const int its = enactor.enact(0, 3, [&](int it) { return bfs_advance{d_dist, it + 1}; }, [](int) { return keep_all{}; });
    std::queue<int> q;
    q.push(0);
    while (!q.empty()) {
      const int v = q.front();
      q.pop();
      if (dist[v] == 3) continue;
      for (int e = offsets[v]; e < offsets[v + 1]; e++) if (dist[indices[e]] == std::numeric_limits<int>::max()) { dist[indices[e]] = dist[v] + 1; q.push(indices[e]); }
    }
    const auto got = to_host(d_dist, n);
    const bool good = got == dist;
    std::printf("bfs: %d iterations, %s\n", its, good ? "ok" : "BAD");
    ok &= good;
    cudaFree(d_dist);
  }
  { // SSSP, bounded number of relaxation rounds: distances over at most two hops are exact
    const float inf = 1e30f;
    std::vector<float> dist(n, inf);
    dist[0] = 0;
    float* d_dist = to_device(dist);
    int* d_visited = to_device(std::vector<int>(n, -1));
    enactor_t<graph_t> enactor(G);
    const int rounds = 2;
    enactor.enact(0, rounds, [&](int) { return sssp_advance{d_dist}; }, [&](int it) { return sssp_filter{d_visited, it}; });
    // any value must lie between the true shortest path and the best path of at most two hops
    std::vector<float> hops = dist, exact = dist;
    for (int r = 0; r < rounds; r++) {
      const auto prev = hops;
      for (int v = 0; v < n; v++) if (prev[v] < inf) for (int e = offsets[v]; e < offsets[v + 1]; e++) hops[indices[e]] = std::min(hops[indices[e]], prev[v] + values[e]);
    }
    std::priority_queue<std::pair<float, int>, std::vector<std::pair<float, int>>, std::greater<std::pair<float, int>>> pq;
    pq.push({0.f, 0});
    while (!pq.empty()) {
      const auto [d, v] = pq.top();
      pq.pop();
      if (d > exact[v]) continue;
      for (int e = offsets[v]; e < offsets[v + 1]; e++) if (d + values[e] < exact[indices[e]]) { exact[indices[e]] = d + values[e]; pq.push({exact[indices[e]], indices[e]}); }
    }
    const auto got = to_host(d_dist, n);
    int bad = 0;
    for (int v = 0; v < n; v++) bad += !(got[v] >= exact[v] - 1e-4f && got[v] <= hops[v] + 1e-4f);
    std::printf("sssp: %d bad\n", bad);
    ok &= bad == 0;
    cudaFree(d_dist); cudaFree(d_visited);
  }
  { // one PageRank push step
    std::vector<float> scaled(n), zero(n, 0.f);
    for (int v = 0; v < n; v++) scaled[v] = offsets[v + 1] > offsets[v] ? 0.85f / (offsets[v + 1] - offsets[v]) : 0.f;
    float *d_scaled = to_device(scaled), *d_next = to_device(zero);
    operators::advance::thread_mapped_kernel<<<(n + 255) / 256, 256>>>(G, pagerank_push{d_scaled, d_next});
    error::throw_if_exception(cudaGetLastError(), "pagerank");
    std::vector<double> ref(n, 0.0);
    for (int v = 0; v < n; v++) for (int e = offsets[v]; e < offsets[v + 1]; e++) ref[indices[e]] += scaled[v];
    const auto got = to_host(d_next, n);
    int bad = 0;
    for (int v = 0; v < n; v++) bad += !(std::fabs(got[v] - ref[v]) <= 1e-3 * (1 + ref[v]));
    std::printf("pagerank: %d bad\n", bad);
    ok &= bad == 0;
    cudaFree(d_scaled); cudaFree(d_next);
  }
  std::printf("%s\n", ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
