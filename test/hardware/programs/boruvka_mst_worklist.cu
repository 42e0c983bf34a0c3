/*
 * Minimum spanning forest by Boruvka's algorithm, in the style of the
 * irregular-graph suites: a CSR graph class, double buffered worklists,
 * component pointer jumping, and topology- versus data-driven variants.
 */
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#define CUDA_SAFE_CALL(call)                                                     \
  do {                                                                           \
    cudaError_t err_ = (call);                                                   \
    if (err_ != cudaSuccess) {                                                   \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err_)); \
      exit(EXIT_FAILURE);                                                        \
    }                                                                            \
  } while (0)

typedef unsigned int index_type;
typedef unsigned int edge_data_type;
typedef unsigned long long packed_edge;   // (weight << 32) | undirected edge id

static const packed_edge NO_EDGE = ~0ull;
static const int TB_SIZE = 256;

// ------------------------------------------------------------------ graph
struct CSRGraph {
  index_type nnodes = 0, nedges = 0;      // nedges counts both directions
  index_type *row_start = nullptr;
  index_type *edge_dst = nullptr;
  edge_data_type *edge_data = nullptr;
  index_type *edge_uid = nullptr;
  bool on_device = false;

  CSRGraph() = default;
  CSRGraph(const CSRGraph &) = delete;
  CSRGraph &operator=(const CSRGraph &) = delete;
  CSRGraph(CSRGraph &&o) noexcept { *this = std::move(o); }
  CSRGraph &operator=(CSRGraph &&o) noexcept {
    std::swap(nnodes, o.nnodes);
    std::swap(nedges, o.nedges);
    std::swap(row_start, o.row_start);
    std::swap(edge_dst, o.edge_dst);
    std::swap(edge_data, o.edge_data);
    std::swap(edge_uid, o.edge_uid);
    std::swap(on_device, o.on_device);
    return *this;
  }
  ~CSRGraph() {
    if (on_device) {
      cudaFree(row_start); cudaFree(edge_dst); cudaFree(edge_data); cudaFree(edge_uid);
    } else {
      free(row_start); free(edge_dst); free(edge_data); free(edge_uid);
    }
  }
  void allocOnHost() {
    row_start = (index_type *)calloc(nnodes + 1, sizeof(index_type));
    edge_dst = (index_type *)calloc(nedges, sizeof(index_type));
    edge_data = (edge_data_type *)calloc(nedges, sizeof(edge_data_type));
    edge_uid = (index_type *)calloc(nedges, sizeof(index_type));
  }
  CSRGraph copyToGPU() const {
    CSRGraph g;
    g.nnodes = nnodes; g.nedges = nedges; g.on_device = true;
    CUDA_SAFE_CALL(cudaMalloc(&g.row_start, (nnodes + 1) * sizeof(index_type)));
    CUDA_SAFE_CALL(cudaMalloc(&g.edge_dst, nedges * sizeof(index_type)));
    CUDA_SAFE_CALL(cudaMalloc(&g.edge_data, nedges * sizeof(edge_data_type)));
    CUDA_SAFE_CALL(cudaMalloc(&g.edge_uid, nedges * sizeof(index_type)));
    CUDA_SAFE_CALL(cudaMemcpy(g.row_start, row_start, (nnodes + 1) * sizeof(index_type), cudaMemcpyHostToDevice));
    CUDA_SAFE_CALL(cudaMemcpy(g.edge_dst, edge_dst, nedges * sizeof(index_type), cudaMemcpyHostToDevice));
    CUDA_SAFE_CALL(cudaMemcpy(g.edge_data, edge_data, nedges * sizeof(edge_data_type), cudaMemcpyHostToDevice));
    CUDA_SAFE_CALL(cudaMemcpy(g.edge_uid, edge_uid, nedges * sizeof(index_type), cudaMemcpyHostToDevice));
    return g;
  }
};

// plain view handed to kernels
struct GraphView {
  index_type nnodes;
  const index_type *row_start, *edge_dst;
  const edge_data_type *edge_data;
  const index_type *edge_uid;
  __device__ index_type begin(index_type n) const { return row_start[n]; }
  __device__ index_type end(index_type n) const { return row_start[n + 1]; }
};

// --------------------------------------------------------------- worklist
struct Worklist2 {
  index_type *dwl = nullptr;
  int *dindex = nullptr;
  int capacity = 0;
  explicit Worklist2(int n) : capacity(n) {
    CUDA_SAFE_CALL(cudaMalloc(&dwl, n * sizeof(index_type)));
    CUDA_SAFE_CALL(cudaMalloc(&dindex, sizeof(int)));
    reset();
  }
  ~Worklist2() { cudaFree(dwl); cudaFree(dindex); }
  Worklist2(const Worklist2 &) = delete;
  void reset() { CUDA_SAFE_CALL(cudaMemset(dindex, 0, sizeof(int))); }
  int nitems() const {
    int n; CUDA_SAFE_CALL(cudaMemcpy(&n, dindex, sizeof(int), cudaMemcpyDeviceToHost));
    return n;
  }
};

struct WLView {
  index_type *wl; int *index;
  // block level push: an exclusive scan in shared memory, then one atomic per block
  __device__ void push_block(bool has, index_type item) {
    __shared__ int warp_off[TB_SIZE / 32];
    __shared__ int base;
    const int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    const unsigned ball = __ballot_sync(0xffffffffu, has);
    if (lane == 0) warp_off[w] = __popc(ball);
    __syncthreads();
    if (threadIdx.x == 0) {
      int sum = 0;
      for (int i = 0; i < TB_SIZE / 32; i++) { int c = warp_off[i]; warp_off[i] = sum; sum += c; }
      base = sum ? atomicAdd(index, sum) : 0;
    }
    __syncthreads();
    if (has) wl[base + warp_off[w] + __popc(ball & ((1u << lane) - 1))] = item;
    __syncthreads();
  }
};

// ---------------------------------------------------------------- kernels
__global__ void init_components(index_type n, index_type *comp, packed_edge *best) {
  for (index_type i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    comp[i] = i;
    best[i] = NO_EDGE;
  }
}

// one thread per node, walks its whole adjacency: low degrees only
__global__ void find_min_node(GraphView g, const index_type *wl, int nwl,
                              const index_type *comp, packed_edge *best) {
  const int tid = blockIdx.x * blockDim.x + threadIdx.x;
  if (tid >= nwl) return;
  const index_type src = wl ? wl[tid] : tid;
  const index_type c = comp[src];
  packed_edge m = NO_EDGE;
  for (index_type e = g.begin(src); e < g.end(src); e++) {
    if (comp[g.edge_dst[e]] == c) continue;
    const packed_edge p = ((packed_edge)g.edge_data[e] << 32) | g.edge_uid[e];
    m = p < m ? p : m;
  }
  if (m != NO_EDGE && m < best[c]) atomicMin(&best[c], m);
}

// one warp per node, strided over its edges
__global__ void __launch_bounds__(TB_SIZE)
find_min_warp(GraphView g, const index_type *__restrict__ wl, int nwl,
              const index_type *__restrict__ comp, packed_edge *best) {
  const int lane = threadIdx.x & 31;
  const int nwarps = (gridDim.x * blockDim.x) >> 5;
  for (int w = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; w < nwl; w += nwarps) {
    const index_type src = wl[w];
    const index_type c = comp[src];
    packed_edge m = NO_EDGE;
    const index_type end = g.end(src);
    for (index_type e = g.begin(src) + lane; e < end; e += 32) {
      if (comp[__ldg(&g.edge_dst[e])] != c) {
        const packed_edge p = ((packed_edge)__ldg(&g.edge_data[e]) << 32) | __ldg(&g.edge_uid[e]);
        m = min(m, p);
      }
    }
    for (int o = 16; o > 0; o >>= 1) m = min(m, __shfl_xor_sync(0xffffffffu, m, o));
    if (lane == 0 && m != NO_EDGE) atomicMin(&best[c], m);
  }
}

// every component hooks to the other end of its lightest edge; the smaller
// root of a mutual pair stays a root
__global__ void hook(index_type n, const index_type *comp, const packed_edge *best,
                     const uint2 *edge_ends, index_type *parent, unsigned char *in_mst) {
  const index_type r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  if (comp[r] != r) { parent[r] = comp[r]; return; }
  const packed_edge p = best[r];
  if (p == NO_EDGE) { parent[r] = r; return; }
  const index_type uid = (index_type)p;
  const uint2 ends = edge_ends[uid];
  const index_type a = comp[ends.x], b = comp[ends.y];
  const index_type other = (a == r) ? b : a;
  in_mst[uid] = 1;
  parent[r] = (best[other] == p && r < other) ? r : other;
}

__global__ void pointer_jump(index_type n, index_type *parent, int *changed) {
  const index_type i = blockIdx.x * blockDim.x + threadIdx.x;
  bool moved = false;
  if (i < n) {
    index_type p = parent[i];
    for (int hop = 0; hop < 4; hop++) {
      const index_type pp = parent[p];
      if (p == pp) break;
      p = pp; moved = true;
    }
    if (moved) parent[i] = p;
  }
  if (__syncthreads_or(moved) && threadIdx.x == 0) *changed = 1;
}

// keeps only nodes that still have an edge out of their component
__global__ void __launch_bounds__(TB_SIZE)
filter_active(GraphView g, const index_type *in, int nin, const index_type *comp,
              packed_edge *best, WLView out) {
  const int tid = blockIdx.x * TB_SIZE + threadIdx.x;
  bool alive = false;
  index_type node = 0;
  if (tid < nin) {
    node = in[tid];
    const index_type c = comp[node];
    if (c == node) best[node] = NO_EDGE;
    for (index_type e = g.begin(node); e < g.end(node) && !alive; e++)
      alive = comp[g.edge_dst[e]] != c;
  }
  out.push_block(alive, node);
}

__global__ void reset_best(index_type n, packed_edge *best) {
  const index_type i = (blockIdx.x * blockDim.x + threadIdx.x) * 2;
  if (i + 1 < n) {
    *reinterpret_cast<ulonglong2 *>(best + i) = make_ulonglong2(NO_EDGE, NO_EDGE);
  } else if (i < n) {
    best[i] = NO_EDGE;
  }
}

__global__ void iota(index_type n, index_type *wl) {
  const index_type i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) wl[i] = i;
}

__global__ void mst_weight(index_type m, const unsigned char *in_mst, const edge_data_type *w,
                           unsigned long long *total, unsigned int *count) {
  unsigned long long s = 0; unsigned int c = 0;
  for (index_type i = blockIdx.x * blockDim.x + threadIdx.x; i < m; i += gridDim.x * blockDim.x)
    if (in_mst[i]) { s += w[i]; c++; }
  for (int o = 16; o; o >>= 1) {
    s += __shfl_down_sync(0xffffffffu, s, o);
    c += __shfl_down_sync(0xffffffffu, c, o);
  }
  if ((threadIdx.x & 31) == 0 && c) { atomicAdd(total, s); atomicAdd(count, c); }
}

// ------------------------------------------------------------------- host
struct Edge { index_type u, v; edge_data_type w; };

static std::vector<Edge> random_edges(index_type n, int m, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<Edge> e;
  e.reserve(m);
  for (int i = 0; i < m; i++) {
    // quadratic skew makes a few hubs
    const double r = rng() / 4294967296.0;
    const index_type u = (index_type)(r * r * n), v = (index_type)(rng() % n);
    if (u == v) continue;
    e.push_back({u, v, (edge_data_type)(1 + rng() % 100000)});
  }
  return e;
}

static CSRGraph build(index_type n, const std::vector<Edge> &edges) {
  CSRGraph g;
  g.nnodes = n;
  g.nedges = 2 * edges.size();
  g.allocOnHost();
  for (const Edge &e : edges) { g.row_start[e.u + 1]++; g.row_start[e.v + 1]++; }
  std::partial_sum(g.row_start, g.row_start + n + 1, g.row_start);
  std::vector<index_type> cursor(g.row_start, g.row_start + n);
  for (size_t i = 0; i < edges.size(); i++) {
    const Edge &e = edges[i];
    for (auto p : {std::make_pair(e.u, e.v), std::make_pair(e.v, e.u)}) {
      const index_type k = cursor[p.first]++;
      g.edge_dst[k] = p.second;
      g.edge_data[k] = e.w;
      g.edge_uid[k] = i;
    }
  }
  return g;
}

static std::pair<unsigned long long, unsigned> kruskal(index_type n, const std::vector<Edge> &edges,
                                                       std::vector<unsigned char> &chosen) {
  std::vector<index_type> order(edges.size()), uf(n);
  std::iota(order.begin(), order.end(), 0u);
  std::iota(uf.begin(), uf.end(), 0u);
  std::sort(order.begin(), order.end(), [&](index_type a, index_type b) {
    return edges[a].w != edges[b].w ? edges[a].w < edges[b].w : a < b;
  });
  auto find = [&](index_type x) { while (uf[x] != x) x = uf[x] = uf[uf[x]]; return x; };
  unsigned long long total = 0; unsigned cnt = 0;
  chosen.assign(edges.size(), 0);
  for (index_type i : order) {
    const index_type a = find(edges[i].u), b = find(edges[i].v);
    if (a == b) continue;
    uf[a] = b; total += edges[i].w; cnt++; chosen[i] = 1;
  }
  return {total, cnt};
}

struct DeviceFree { void operator()(void *p) const { cudaFree(p); } };
template <typename T> using dev_ptr = std::unique_ptr<T[], DeviceFree>;
template <typename T> dev_ptr<T> dev_alloc(size_t n) {
  T *p; CUDA_SAFE_CALL(cudaMalloc(&p, n * sizeof(T)));
  return dev_ptr<T>(p);
}

int main() {
  const index_type n = 40000;
  auto edges = random_edges(n, 160000, 7);
  const index_type m = edges.size();
  CSRGraph hg = build(n, edges);
  CSRGraph dg = hg.copyToGPU();
  GraphView g{dg.nnodes, dg.row_start, dg.edge_dst, dg.edge_data, dg.edge_uid};

  std::vector<uint2> ends(m);
  std::vector<edge_data_type> ew(m);
  for (index_type i = 0; i < m; i++) { ends[i] = make_uint2(edges[i].u, edges[i].v); ew[i] = edges[i].w; }
  auto d_ends = dev_alloc<uint2>(m);
  auto d_w = dev_alloc<edge_data_type>(m);
  auto d_comp = dev_alloc<index_type>(n);
  auto d_best = dev_alloc<packed_edge>(n);
  auto d_parent = dev_alloc<index_type>(n);
  auto d_in = dev_alloc<unsigned char>(m);
  auto d_changed = dev_alloc<int>(1);
  auto d_total = dev_alloc<unsigned long long>(1);
  auto d_count = dev_alloc<unsigned>(1);
  CUDA_SAFE_CALL(cudaMemcpy(d_ends.get(), ends.data(), m * sizeof(uint2), cudaMemcpyHostToDevice));
  CUDA_SAFE_CALL(cudaMemcpy(d_w.get(), ew.data(), m * sizeof(edge_data_type), cudaMemcpyHostToDevice));
  CUDA_SAFE_CALL(cudaMemset(d_in.get(), 0, m));
  CUDA_SAFE_CALL(cudaMemset(d_total.get(), 0, sizeof(unsigned long long)));
  CUDA_SAFE_CALL(cudaMemset(d_count.get(), 0, sizeof(unsigned)));

  Worklist2 wl1(n), wl2(n), *inwl = &wl1, *outwl = &wl2;
  const int nblocks = (n + TB_SIZE - 1) / TB_SIZE;
  init_components<<<64, TB_SIZE>>>(n, d_comp.get(), d_best.get());
  iota<<<nblocks, TB_SIZE>>>(n, inwl->dwl);
  int nwl = n, round = 0;
  while (nwl > 0 && round < 20) {
    const int blocks = (nwl + TB_SIZE - 1) / TB_SIZE;
    if (round == 0) {
      find_min_node<<<blocks, TB_SIZE>>>(g, nullptr, nwl, d_comp.get(), d_best.get());
    } else if (round % 2) {
      const int wb = std::min((nwl + 7) / 8, 528);
      find_min_warp<<<wb, TB_SIZE>>>(g, inwl->dwl, nwl, d_comp.get(), d_best.get());
    } else {
      find_min_node<<<blocks, TB_SIZE>>>(g, inwl->dwl, nwl, d_comp.get(), d_best.get());
    }
    hook<<<nblocks, TB_SIZE>>>(n, d_comp.get(), d_best.get(), d_ends.get(), d_parent.get(), d_in.get());
    int changed;
    do {
      CUDA_SAFE_CALL(cudaMemset(d_changed.get(), 0, sizeof(int)));
      pointer_jump<<<nblocks, TB_SIZE>>>(n, d_parent.get(), d_changed.get());
      CUDA_SAFE_CALL(cudaMemcpy(&changed, d_changed.get(), sizeof(int), cudaMemcpyDeviceToHost));
    } while (changed);
    std::swap(d_comp, d_parent);
    reset_best<<<(n / 2 + TB_SIZE) / TB_SIZE, TB_SIZE>>>(n, d_best.get());
    outwl->reset();
    filter_active<<<blocks, TB_SIZE>>>(g, inwl->dwl, nwl, d_comp.get(), d_best.get(),
                                       WLView{outwl->dwl, outwl->dindex});
    CUDA_SAFE_CALL(cudaGetLastError());
    std::swap(inwl, outwl);
    nwl = inwl->nitems();
    printf("round %d: %d active nodes\n", round++, nwl);
  }
  mst_weight<<<40, TB_SIZE>>>(m, d_in.get(), d_w.get(), d_total.get(), d_count.get());
  CUDA_SAFE_CALL(cudaDeviceSynchronize());

  unsigned long long total; unsigned count;
  std::vector<unsigned char> in(m), ref;
  CUDA_SAFE_CALL(cudaMemcpy(&total, d_total.get(), sizeof total, cudaMemcpyDeviceToHost));
  CUDA_SAFE_CALL(cudaMemcpy(&count, d_count.get(), sizeof count, cudaMemcpyDeviceToHost));
  CUDA_SAFE_CALL(cudaMemcpy(in.data(), d_in.get(), m, cudaMemcpyDeviceToHost));
  auto expect = kruskal(n, edges, ref);
  const bool ok = total == expect.first && count == expect.second && in == ref;
  printf("mst weight %llu (%llu), edges %u (%u)\n", total, expect.first, count, expect.second);
  printf("%s\n", ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
