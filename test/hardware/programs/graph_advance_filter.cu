/**
 * @file graph_advance_filter.cu
 * @brief Frontier based graph framework (advance / filter operators) with BFS, SSSP and a
 *        pull PageRank on top of it.
 */
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <queue>
#include <string>
#include <utility>
#include <vector>

namespace error {
struct exception_t : std::exception {
  std::string report;
  exception_t(cudaError_t _status, std::string _message = "") {
    report = cudaGetErrorString(_status) + std::string("\t: ") + _message;
  }
  virtual const char* what() const noexcept { return report.c_str(); }
};
inline void throw_if_exception(cudaError_t status, std::string message = "") {
  if (status != cudaSuccess)
    throw exception_t(status, message);
}
}  // namespace error

using vertex_t = int;
using edge_t = int;
using weight_t = int;

namespace graph {
struct csr_t {
  vertex_t number_of_vertices;
  edge_t number_of_edges;
  const edge_t* row_offsets;
  const vertex_t* column_indices;
  const weight_t* values;

  __device__ __forceinline__ edge_t get_starting_edge(vertex_t v) const { return row_offsets[v]; }
  __device__ __forceinline__ edge_t get_number_of_neighbors(vertex_t v) const { return row_offsets[v + 1] - row_offsets[v]; }
  __device__ __forceinline__ vertex_t get_destination_vertex(edge_t e) const { return column_indices[e]; }
  __device__ __forceinline__ weight_t get_edge_weight(edge_t e) const { return values[e]; }
};
}  // namespace graph

namespace operators {

constexpr vertex_t invalid = -1;

namespace advance {

/// Block mapped load balancing: degrees of a tile of vertices are scanned in shared memory, the
/// edges are then distributed evenly over the threads of the block.
template <unsigned THREADS, typename operator_t>
__global__ void __launch_bounds__(THREADS) block_mapped_kernel(graph::csr_t G,
                                                               operator_t op,
                                                               const vertex_t* input,
                                                               int input_size,
                                                               vertex_t* output,
                                                               int* output_size) {
  __shared__ vertex_t vertices[THREADS];
  __shared__ edge_t sedges[THREADS];
  __shared__ int degrees[THREADS + 1];
  __shared__ int scan[2][THREADS];
  __shared__ int block_offset;

  const int gid = blockIdx.x * THREADS + threadIdx.x;
  const int lid = threadIdx.x;

  int degree = 0;
  if (gid < input_size) {
    const vertex_t v = input[gid];
    vertices[lid] = v;
    sedges[lid] = G.get_starting_edge(v);
    degree = G.get_number_of_neighbors(v);
  }

  // exclusive sum of the degrees
  int p = 0;
  scan[p][lid] = degree;
  __syncthreads();
  for (unsigned d = 1; d < THREADS; d <<= 1) {
    int s = scan[p][lid];
    if (lid >= (int)d)
      s += scan[p][lid - d];
    scan[1 - p][lid] = s;
    p = 1 - p;
    __syncthreads();
  }
  degrees[lid] = scan[p][lid] - degree;
  if (lid == THREADS - 1)
    degrees[THREADS] = scan[p][lid];
  __syncthreads();

  const int aggregate_degree = degrees[THREADS];
  if (lid == 0)
    block_offset = atomicAdd(output_size, aggregate_degree);
  __syncthreads();

  for (int i = lid; i < aggregate_degree; i += THREADS) {
    // upper_bound - 1
    int lo = 0, hi = THREADS;
    while (hi - lo > 1) {
      const int mid = (lo + hi) / 2;
      if (degrees[mid] <= i)
        lo = mid;
      else
        hi = mid;
    }
    const vertex_t v = vertices[lo];
    const edge_t e = sedges[lo] + i - degrees[lo];
    const vertex_t n = G.get_destination_vertex(e);
    const bool cond = op(v, n, e, G.get_edge_weight(e));
    output[block_offset + i] = cond ? n : invalid;
  }
}
}  // namespace advance

namespace filter {

template <typename operator_t>
__global__ void compact_kernel(operator_t op, const vertex_t* input, const int* input_size, vertex_t* output, int* output_size) {
  const int size = *input_size;
  for (int base = blockIdx.x * blockDim.x; base < size; base += gridDim.x * blockDim.x) {
    const int i = base + threadIdx.x;
    const vertex_t v = i < size ? input[i] : invalid;
    const bool keep = v != invalid && op(v);
    const unsigned ballot = __ballot_sync(0xffffffffu, keep);
    const int lane = threadIdx.x & 31;
    int pos = 0;
    if (lane == 0 && ballot)
      pos = atomicAdd(output_size, __popc(ballot));
    pos = __shfl_sync(0xffffffffu, pos, 0);
    if (keep)
      output[pos + __popc(ballot & ((1u << lane) - 1))] = v;
  }
}
}  // namespace filter

namespace parallel_for {
template <typename operator_t>
__global__ void kernel(operator_t op, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    op(i);
}
}  // namespace parallel_for

namespace neighborreduce {
/// One warp per vertex, sum of op over the incident edges
template <typename result_t, typename operator_t, typename finalize_t>
__global__ void warp_kernel(graph::csr_t G, operator_t op, finalize_t fin, result_t* out) {
  const int v = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (v >= G.number_of_vertices)
    return;
  const edge_t start = G.get_starting_edge(v), n = G.get_number_of_neighbors(v);
  result_t sum = 0;
  for (edge_t k = threadIdx.x % 32; k < n; k += 32)
    sum += op(G.get_destination_vertex(start + k));
  for (int d = 16; d > 0; d /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (threadIdx.x % 32 == 0)
    out[v] = fin(v, sum);
}
}  // namespace neighborreduce
}  // namespace operators

// ------------------------------------------------------------------ algorithm functors
struct bfs_op {
  int* labels;
  int next;
  __device__ bool operator()(vertex_t, vertex_t dst, edge_t, weight_t) const { return atomicMin(&labels[dst], next) > next; }
};
struct keep_all {
  __device__ bool operator()(vertex_t) const { return true; }
};
struct sssp_op {
  int* distances;
  __device__ bool operator()(vertex_t src, vertex_t dst, edge_t, weight_t w) const {
    const int d = __ldcg(&distances[src]) + w;
    return d < atomicMin(&distances[dst], d);
  }
};
struct remove_duplicates {
  int* visited;
  int iteration;
  __device__ bool operator()(vertex_t v) const { return atomicExch(&visited[v], iteration) != iteration; }
};
struct pr_contrib {
  float* contrib;
  const float* rank;
  const int* out_degree;
  __device__ void operator()(int v) const { contrib[v] = out_degree[v] ? rank[v] / out_degree[v] : 0.f; }
};
struct pr_gather {
  const float* contrib;
  __device__ float operator()(vertex_t n) const { return contrib[n]; }
};
struct pr_finalize {
  float alpha, base;
  __device__ float operator()(vertex_t, float s) const { return base + alpha * s; }
};

template <typename T>
struct vector_t {
  T* p = nullptr;
  size_t n;
  explicit vector_t(size_t n_) : n(n_) { error::throw_if_exception(cudaMalloc((void**)&p, n * sizeof(T)), "malloc"); }
  explicit vector_t(const std::vector<T>& h) : vector_t(h.size()) { set(h); }
  vector_t(const vector_t&) = delete;
  ~vector_t() { cudaFree(p); }
  void set(const std::vector<T>& h) { error::throw_if_exception(cudaMemcpy(p, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice), "h2d"); }
  std::vector<T> get() const {
    std::vector<T> h(n);
    error::throw_if_exception(cudaMemcpy(h.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost), "d2h");
    return h;
  }
};

/// Double buffered frontier
struct enactor_t {
  vector_t<vertex_t> a, b;
  vector_t<int> sizes;  // [0] advance output, [1] filter output
  explicit enactor_t(size_t max_edges) : a(max_edges), b(max_edges), sizes(2) {}

  template <typename make_adv_t, typename make_fil_t>
  int enact(graph::csr_t G, vertex_t source, make_adv_t make_advance, make_fil_t make_filter) {
    constexpr unsigned threads = 128;
    int frontier = 1, iteration = 0;
    error::throw_if_exception(cudaMemcpy(a.p, &source, sizeof(vertex_t), cudaMemcpyHostToDevice));
    while (frontier > 0) {
      error::throw_if_exception(cudaMemset(sizes.p, 0, 2 * sizeof(int)));
      auto adv = make_advance(iteration);
      operators::advance::block_mapped_kernel<threads><<<(frontier + threads - 1) / threads, threads>>>(G, adv, a.p, frontier, b.p, sizes.p);
      auto fil = make_filter(iteration);
      operators::filter::compact_kernel<<<64, 256>>>(fil, b.p, sizes.p, a.p, sizes.p + 1);
      error::throw_if_exception(cudaGetLastError(), "enact");
      error::throw_if_exception(cudaMemcpy(&frontier, sizes.p + 1, sizeof(int), cudaMemcpyDeviceToHost));
      ++iteration;
    }
    return iteration;
  }
};

int main() try {
  // R-MAT like edges, symmetric, plus a ring so that everything is reachable
  const int scale = 13, n = 1 << scale, target_edges = 6 * n;
  unsigned long long state = 88172645463325252ull;
  auto next = [&]() { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return state; };
  std::vector<std::vector<std::pair<vertex_t, weight_t>>> adj(n);
  auto connect = [&](int u, int v, int w) { adj[u].push_back({v, w}); adj[v].push_back({u, w}); };
  for (int e = 0; e < target_edges; ++e) {
    int u = 0, v = 0;
    for (int b = 0; b < scale; ++b) {
      const int r = (int)(next() % 100);
      u = 2 * u + (r >= 76);
      v = 2 * v + ((r >= 57 && r < 76) || r >= 95);
    }
    if (u != v)
      connect(u, v, 1 + (int)(next() % 20));
  }
  for (int i = 0; i < n; ++i)
    if (adj[i].size() < 2)
      connect(i, (int)(next() % 64), 1 + (int)(next() % 20));

  std::vector<edge_t> offsets(1, 0);
  std::vector<vertex_t> indices;
  std::vector<weight_t> weights;
  std::vector<int> degree(n);
  for (int v = 0; v < n; ++v) {
    for (auto& e : adj[v]) { indices.push_back(e.first); weights.push_back(e.second); }
    offsets.push_back((edge_t)indices.size());
    degree[v] = (int)adj[v].size();
  }
  const edge_t m = (edge_t)indices.size();
  vector_t<edge_t> d_offsets(offsets);
  vector_t<vertex_t> d_indices(indices);
  vector_t<weight_t> d_weights(weights);
  graph::csr_t G{n, m, d_offsets.p, d_indices.p, d_weights.p};
  enactor_t enactor(m + 1);
  const vertex_t source = 5;

  std::vector<int> init(n, std::numeric_limits<int>::max() / 2);
  init[source] = 0;
  vector_t<int> d_labels(init), d_dist(init), d_visited(std::vector<int>(n, -1));

  const int bfs_iters = enactor.enact(G, source, [&](int it) { return bfs_op{d_labels.p, it + 1}; }, [](int) { return keep_all{}; });
  const int sssp_iters = enactor.enact(G, source, [&](int) { return sssp_op{d_dist.p}; }, [&](int it) { return remove_duplicates{d_visited.p, it}; });

  const float alpha = 0.85f;
  const int pr_iters = 6;
  vector_t<float> d_rank(std::vector<float>(n, 1.f / n)), d_contrib(n);
  vector_t<int> d_degree(degree);
  for (int it = 0; it < pr_iters; ++it) {
    operators::parallel_for::kernel<<<(n + 255) / 256, 256>>>(pr_contrib{d_contrib.p, d_rank.p, d_degree.p}, n);
    operators::neighborreduce::warp_kernel<float><<<(n * 32 + 255) / 256, 256>>>(G, pr_gather{d_contrib.p}, pr_finalize{alpha, (1 - alpha) / n}, d_rank.p);
  }
  error::throw_if_exception(cudaGetLastError(), "pagerank");
  error::throw_if_exception(cudaDeviceSynchronize(), "pagerank");

  const auto labels = d_labels.get(), dist = d_dist.get();
  const auto rank = d_rank.get();

  std::vector<int> ref_l(init), ref_d(init);
  std::queue<int> q;
  q.push(source);
  while (!q.empty()) {
    int u = q.front();
    q.pop();
    for (auto& e : adj[u])
      if (ref_l[e.first] > ref_l[u] + 1) { ref_l[e.first] = ref_l[u] + 1; q.push(e.first); }
  }
  std::priority_queue<std::pair<int, int>, std::vector<std::pair<int, int>>, std::greater<std::pair<int, int>>> pq;
  pq.push({0, source});
  while (!pq.empty()) {
    auto [d, u] = pq.top();
    pq.pop();
    if (d > ref_d[u])
      continue;
    for (auto& e : adj[u])
      if (ref_d[e.first] > d + e.second) { ref_d[e.first] = d + e.second; pq.push({d + e.second, e.first}); }
  }
  std::vector<double> r(n, 1.0 / n), c(n);
  for (int it = 0; it < pr_iters; ++it) {
    for (int v = 0; v < n; ++v) c[v] = degree[v] ? r[v] / degree[v] : 0;
    for (int v = 0; v < n; ++v) {
      double s = 0;
      for (auto& e : adj[v]) s += c[e.first];
      r[v] = (1 - (double)alpha) / n + alpha * s;
    }
  }
  int bad_bfs = 0, bad_sssp = 0, bad_pr = 0;
  for (int v = 0; v < n; ++v) {
    bad_bfs += labels[v] != ref_l[v];
    bad_sssp += dist[v] != ref_d[v];
    bad_pr += std::fabs(rank[v] - r[v]) > 1e-4 * r[v] + 1e-9;
  }
  std::cout << "|V| " << n << " |E| " << m << " bfs iterations " << bfs_iters << " sssp iterations " << sssp_iters << "\n"
            << "mismatches: bfs " << bad_bfs << " sssp " << bad_sssp << " pagerank " << bad_pr << "\n";
  const bool ok = !bad_bfs && !bad_sssp && !bad_pr;
  std::cout << (ok ? "PASS" : "FAIL") << std::endl;
  return ok ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << e.what() << std::endl;
  return 1;
}
