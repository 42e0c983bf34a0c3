#pragma once
#include "graph.hxx"

namespace gr {
enum class load_balance_t { thread_mapped, block_mapped, warp_mapped };

struct frontier_t {
  device_vector<vertex_t> storage;
  device_vector<int> d_count;
  int count = 0;
  explicit frontier_t(size_t cap) : storage(cap), d_count(1) { GR_CHECK(cudaMemset(d_count.data(), 0, sizeof(int))); }
  vertex_t* data() const { return storage.data(); }
  void clear() { GR_CHECK(cudaMemset(d_count.data(), 0, sizeof(int))); count = 0; }
  void sync_count() { GR_CHECK(cudaMemcpy(&count, d_count.data(), sizeof(int), cudaMemcpyDeviceToHost)); }
  void set(vertex_t v) { GR_CHECK(cudaMemcpy(data(), &v, sizeof(v), cudaMemcpyHostToDevice)); count = 1; }
};

namespace operators {

template <typename op_t>
__global__ void thread_mapped_kernel(graph_t G, op_t op, const vertex_t* __restrict__ input, int n, vertex_t* __restrict__ output, int* __restrict__ out_count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const vertex_t v = input[i];
  const edge_t start = G.get_starting_edge(v);
  const int total = G.get_number_of_neighbors(v);
  for (int k = 0; k < total; ++k) {
    const edge_t e = start + k;
    const vertex_t u = G.get_destination_vertex(e);
    if (op(v, u, e, G.get_edge_weight(e))) output[atomicAdd(out_count, 1)] = u;
  }
}

// a warp per vertex, one atomic per warp round
template <typename op_t>
__global__ void warp_mapped_kernel(graph_t G, op_t op, const vertex_t* __restrict__ input, int n, vertex_t* __restrict__ output, int* __restrict__ out_count) {
  const int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (w >= n) return;
  const vertex_t v = input[w];
  const edge_t start = G.get_starting_edge(v);
  const int total = G.get_number_of_neighbors(v);
  for (int k0 = 0; k0 < total; k0 += 32) {
    const int k = k0 + lane;
    vertex_t u = -1;
    bool keep = false;
    if (k < total) {
      u = G.get_destination_vertex(start + k);
      keep = op(v, u, start + k, G.get_edge_weight(start + k));
    }
    const unsigned m = __ballot_sync(0xffffffffu, keep);
    int base = 0;
    if (lane == 0 && m) base = atomicAdd(out_count, __popc(m));
    base = __shfl_sync(0xffffffffu, base, 0);
    if (keep) output[base + __popc(m & ((1u << lane) - 1))] = u;
  }
}

// block-mapped: prefix sum of degrees in shared memory, threads strip-mine the block's edges
template <int BLOCK, typename op_t>
__global__ void __launch_bounds__(BLOCK) block_mapped_kernel(graph_t G, op_t op, const vertex_t* __restrict__ input, int n, vertex_t* __restrict__ output, int* __restrict__ out_count) {
  __shared__ int degrees[BLOCK];         // exclusive scan
  __shared__ vertex_t vertices[BLOCK];
  __shared__ edge_t starts[BLOCK];
  __shared__ int warp_tot[BLOCK / 32];
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  const int i = blockIdx.x * BLOCK + tid;
  int deg = 0;
  if (i < n) {
    const vertex_t v = input[i];
    vertices[tid] = v;
    starts[tid] = G.get_starting_edge(v);
    deg = G.get_number_of_neighbors(v);
  }
  int inc = deg;
  for (int d = 1; d < 32; d <<= 1) {
    int t = __shfl_up_sync(0xffffffffu, inc, d);
    if (lane >= d) inc += t;
  }
  if (lane == 31) warp_tot[warp] = inc;
  __syncthreads();
  int before = 0, total = 0;
  for (int w = 0; w < BLOCK / 32; ++w) {
    if (w < warp) before += warp_tot[w];
    total += warp_tot[w];
  }
  degrees[tid] = before + inc - deg;
  __syncthreads();
  const int block_n = min(BLOCK, n - (int)blockIdx.x * BLOCK);
  for (int k = tid; k < total; k += BLOCK) {
    int lo = 0, hi = block_n;            // last position with degrees[pos] <= k
    while (hi - lo > 1) {
      int mid = (lo + hi) / 2;
      if (degrees[mid] <= k) lo = mid; else hi = mid;
    }
    const edge_t e = starts[lo] + (k - degrees[lo]);
    const vertex_t u = G.get_destination_vertex(e);
    if (op(vertices[lo], u, e, G.get_edge_weight(e))) output[atomicAdd(out_count, 1)] = u;
  }
}

template <load_balance_t lb, typename op_t>
void advance(const graph_t& G, op_t op, const frontier_t& in, frontier_t& out) {
  out.clear();
  if (in.count == 0) return;
  if (lb == load_balance_t::thread_mapped)
    thread_mapped_kernel<<<(in.count + 127) / 128, 128>>>(G, op, in.data(), in.count, out.data(), out.d_count.data());
  else if (lb == load_balance_t::warp_mapped)
    warp_mapped_kernel<<<(in.count + 3) / 4, 128>>>(G, op, in.data(), in.count, out.data(), out.d_count.data());
  else
    block_mapped_kernel<128><<<(in.count + 127) / 128, 128>>>(G, op, in.data(), in.count, out.data(), out.d_count.data());
  GR_CHECK(cudaGetLastError());
  out.sync_count();
}

template <typename op_t>
__global__ void filter_kernel(op_t op, const vertex_t* __restrict__ input, int n, vertex_t* __restrict__ output, int* __restrict__ out_count) {
  __shared__ int block_count, block_base;
  if (threadIdx.x == 0) block_count = 0;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  vertex_t v = -1;
  int slot = -1;
  if (i < n) {
    v = input[i];
    if (op(v)) slot = atomicAdd(&block_count, 1);
  }
  __syncthreads();
  if (threadIdx.x == 0) block_base = atomicAdd(out_count, block_count);
  __syncthreads();
  if (slot >= 0) output[block_base + slot] = v;
}
template <typename op_t>
void filter(op_t op, const frontier_t& in, frontier_t& out) {
  out.clear();
  if (in.count == 0) return;
  filter_kernel<<<(in.count + 255) / 256, 256>>>(op, in.data(), in.count, out.data(), out.d_count.data());
  GR_CHECK(cudaGetLastError());
  out.sync_count();
}

template <typename op_t>
__global__ void for_each_kernel(op_t op, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) op(i);
}
template <typename op_t>
void parallel_for(op_t op, int n) {
  for_each_kernel<<<(n + 255) / 256, 256>>>(op, n);
  GR_CHECK(cudaGetLastError());
}

// neighbor reduce (pull): a group of LANES threads per vertex
template <int LANES, typename op_t>
__global__ void neighbor_reduce_kernel(graph_t G, op_t op, float* __restrict__ out) {
  const int v = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
  float acc = 0.f;
  if (v < G.n_vertices) {
    const edge_t s = G.get_starting_edge(v), t = s + G.get_number_of_neighbors(v);
    for (edge_t e = s + lane; e < t; e += LANES) acc += op(v, G.get_destination_vertex(e), e);
  }
#pragma unroll
  for (int o = LANES / 2; o > 0; o >>= 1) acc += __shfl_down_sync(0xffffffffu, acc, o, LANES);
  if (v < G.n_vertices && lane == 0) out[v] = acc;
}

// sorted adjacency intersection for every edge u < v: merge, one thread per edge
template <typename op_t>
__global__ void intersect_kernel(graph_t G, const vertex_t* __restrict__ edge_src, op_t op) {
  const edge_t e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= G.n_edges) return;
  const vertex_t u = edge_src[e], v = G.get_destination_vertex(e);
  if (u >= v) return;
  edge_t a = G.get_starting_edge(u), b = G.get_starting_edge(v);
  const edge_t ae = a + G.get_number_of_neighbors(u), be = b + G.get_number_of_neighbors(v);
  while (a < ae && b < be) {
    const vertex_t x = G.get_destination_vertex(a), y = G.get_destination_vertex(b);
    if (x == y) { if (x > v) op(u, v, x); ++a; ++b; }
    else if (x < y) ++a;
    else ++b;
  }
}
}  // namespace operators
}  // namespace gr
