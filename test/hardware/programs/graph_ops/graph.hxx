#pragma once
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace gr {
using vertex_t = int;
using edge_t = int;
using weight_t = float;

inline void throw_if(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    std::exit(1);
  }
}
#define GR_CHECK(x) ::gr::throw_if((x), #x)

template <typename T>
struct device_vector {
  T* ptr = nullptr;
  size_t n = 0;
  device_vector() = default;
  explicit device_vector(size_t n_) : n(n_) { GR_CHECK(cudaMalloc(&ptr, n * sizeof(T))); }
  explicit device_vector(const std::vector<T>& h) : device_vector(h.size()) { GR_CHECK(cudaMemcpy(ptr, h.data(), n * sizeof(T), cudaMemcpyHostToDevice)); }
  device_vector(const device_vector&) = delete;
  device_vector& operator=(const device_vector&) = delete;
  ~device_vector() { cudaFree(ptr); }
  T* data() const { return ptr; }
  std::vector<T> to_host() const {
    std::vector<T> h(n);
    GR_CHECK(cudaMemcpy(h.data(), ptr, n * sizeof(T), cudaMemcpyDeviceToHost));
    return h;
  }
};

struct host_csr {
  int n = 0;
  std::vector<edge_t> offsets;
  std::vector<vertex_t> indices;
  std::vector<weight_t> values;
};
host_csr build_rmat(int scale, int edge_factor, unsigned seed);      // csr.cpp: undirected, no loops, no duplicates

#ifdef __CUDACC__
// device view handed to lambdas and functors by value
struct graph_t {
  int n_vertices, n_edges;
  const edge_t* row_offsets;
  const vertex_t* column_indices;
  const weight_t* weights;
  __device__ __forceinline__ edge_t get_starting_edge(vertex_t v) const { return __ldg(row_offsets + v); }
  __device__ __forceinline__ int get_number_of_neighbors(vertex_t v) const { return __ldg(row_offsets + v + 1) - __ldg(row_offsets + v); }
  __device__ __forceinline__ vertex_t get_destination_vertex(edge_t e) const { return __ldg(column_indices + e); }
  __device__ __forceinline__ weight_t get_edge_weight(edge_t e) const { return __ldg(weights + e); }
};
#endif
}  // namespace gr
