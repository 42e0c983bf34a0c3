#pragma once
#include "operators.cuh"
#include <utility>

namespace gr {

struct bfs_advance {
  int* dist; int depth;
  __device__ bool operator()(vertex_t, vertex_t u, edge_t, weight_t) const {
    return dist[u] == 0x7fffffff && atomicCAS(&dist[u], 0x7fffffff, depth) == 0x7fffffff;
  }
};
template <load_balance_t lb>
int bfs(const graph_t& G, vertex_t src, device_vector<int>& dist) {
  std::vector<int> init(G.n_vertices, 0x7fffffff);
  init[src] = 0;
  GR_CHECK(cudaMemcpy(dist.data(), init.data(), init.size() * sizeof(int), cudaMemcpyHostToDevice));
  frontier_t f0(G.n_vertices), f1(G.n_vertices);
  frontier_t *in = &f0, *out = &f1;
  in->set(src);
  int depth = 0;
  while (in->count > 0 && depth < 12) {
    operators::advance<lb>(G, bfs_advance{dist.data(), ++depth}, *in, *out);
    std::swap(in, out);
  }
  return depth;
}

__device__ __forceinline__ float atomic_min(float* p, float v) {     // non-negative floats
  return __int_as_float(atomicMin((int*)p, __float_as_int(v)));
}
struct sssp_relax {
  float* dist;
  __device__ bool operator()(vertex_t v, vertex_t u, edge_t, weight_t w) const {
    const float d = dist[v] + w;
    return d < atomic_min(&dist[u], d);
  }
};
struct sssp_unique {
  int* visited; int iteration;
  __device__ bool operator()(vertex_t v) const { return atomicExch(&visited[v], iteration) != iteration; }
};
template <load_balance_t lb>
int sssp(const graph_t& G, vertex_t src, device_vector<float>& dist) {
  std::vector<float> init(G.n_vertices, 1e30f);
  init[src] = 0.f;
  GR_CHECK(cudaMemcpy(dist.data(), init.data(), init.size() * sizeof(float), cudaMemcpyHostToDevice));
  device_vector<int> visited(std::vector<int>(G.n_vertices, -1));
  frontier_t a(G.n_vertices), b(G.n_edges + G.n_vertices);
  a.set(src);
  int it = 0;
  while (a.count > 0 && it < 40) {
    operators::advance<lb>(G, sssp_relax{dist.data()}, a, b);
    operators::filter(sssp_unique{visited.data(), it}, b, a);
    ++it;
  }
  return it;
}

struct pr_gather {
  const float* scaled;
  __device__ float operator()(vertex_t, vertex_t u, edge_t) const { return __ldg(scaled + u); }
};
struct pr_scale {
  graph_t G; float *rank, *scaled; const float* sum; float damping; int first;
  __device__ void operator()(int v) const {
    const float r = first ? 1.f / G.n_vertices : (1.f - damping) / G.n_vertices + damping * sum[v];
    rank[v] = r;
    const int d = G.get_number_of_neighbors(v);
    scaled[v] = d ? r / d : 0.f;
  }
};
template <int LANES>
void pagerank(const graph_t& G, int iters, float damping, device_vector<float>& rank) {
  device_vector<float> scaled(G.n_vertices), sum(G.n_vertices);
  operators::parallel_for(pr_scale{G, rank.data(), scaled.data(), sum.data(), damping, 1}, G.n_vertices);
  for (int i = 0; i < iters; ++i) {
    operators::neighbor_reduce_kernel<LANES><<<(G.n_vertices * LANES + 127) / 128, 128>>>(G, pr_gather{scaled.data()}, sum.data());
    GR_CHECK(cudaGetLastError());
    operators::parallel_for(pr_scale{G, rank.data(), scaled.data(), sum.data(), damping, 0}, G.n_vertices);
  }
}

struct tc_count {
  int* per_vertex;
  __device__ void operator()(vertex_t u, vertex_t v, vertex_t w) const {
    atomicAdd(&per_vertex[u], 1);
    atomicAdd(&per_vertex[v], 1);
    atomicAdd(&per_vertex[w], 1);
  }
};
}  // namespace gr
