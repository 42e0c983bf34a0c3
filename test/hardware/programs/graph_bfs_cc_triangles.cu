// graph_bfs_cc_triangles: level-synchronous BFS, connected components by union-find,
// triangle counting and a few power iterations of PageRank on one synthetic CSR graph.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <numeric>
#include <queue>
#include <set>
#include <vector>

using vid_t = int;
using eid_t = int;

#define CU(x)                                                                    \
  if (cudaError_t e_ = (x)) {                                                    \
    std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorName(e_)); \
    std::exit(EXIT_FAILURE);                                                     \
  }

struct csr_view {
  vid_t n;
  const eid_t *row;
  const vid_t *col;
  __device__ eid_t begin(vid_t v) const { return row[v]; }
  __device__ eid_t end(vid_t v) const { return row[v + 1]; }
  __device__ eid_t degree(vid_t v) const { return row[v + 1] - row[v]; }
};

// --- BFS ---------------------------------------------------------------------
// Frontier queue. New vertices are collected in a block-local queue first and
// spilled to the global queue directly when the local one is full.
constexpr int LOCAL_Q = 512;

__global__ void bfs_expand(csr_view g, const vid_t *frontier, int frontier_size, int *dist, int level,
                           vid_t *next, int *next_size) {
  __shared__ vid_t q[LOCAL_Q];
  __shared__ int q_size, q_base;
  if (threadIdx.x == 0) q_size = 0;
  __syncthreads();
  const int tid = blockIdx.x * blockDim.x + threadIdx.x;
  if (tid < frontier_size) {
    const vid_t u = frontier[tid];
    for (eid_t e = g.begin(u); e < g.end(u); ++e) {
      const vid_t v = g.col[e];
      if (atomicCAS(&dist[v], -1, level + 1) == -1) {
        const int at = atomicAdd(&q_size, 1);
        if (at < LOCAL_Q) q[at] = v;
        else next[atomicAdd(next_size, 1)] = v;
      }
    }
  }
  __syncthreads();
  const int mine = min(q_size, LOCAL_Q);
  if (threadIdx.x == 0) q_base = atomicAdd(next_size, mine);
  __syncthreads();
  for (int i = threadIdx.x; i < mine; i += blockDim.x) next[q_base + i] = q[i];
}

// --- connected components ------------------------------------------------------
__device__ vid_t find_root(const volatile vid_t *parent, vid_t v) {
  vid_t p = parent[v];
  while (p != v) {
    v = p;
    p = parent[v];
  }
  return v;
}

__global__ void cc_init(vid_t *parent, vid_t n) {
  for (vid_t v = blockIdx.x * blockDim.x + threadIdx.x; v < n; v += gridDim.x * blockDim.x) parent[v] = v;
}

// 8 lanes cooperate on one vertex
__global__ void cc_union(csr_view g, vid_t *parent) {
  const int lane = threadIdx.x & 7;
  const vid_t u = (blockIdx.x * blockDim.x + threadIdx.x) >> 3;
  if (u >= g.n) return;
  for (eid_t e = g.begin(u) + lane; e < g.end(u); e += 8) {
    vid_t a = u, b = g.col[e];
    if (b >= a) continue;  // each undirected edge once
    for (;;) {
      a = find_root(parent, a);
      b = find_root(parent, b);
      if (a == b) break;
      const vid_t hi = max(a, b), lo = min(a, b);
      if (atomicCAS(&parent[hi], hi, lo) == hi) break;
    }
  }
}

__global__ void cc_flatten(vid_t *parent, vid_t n) {
  const vid_t v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < n) {
    const vid_t r = find_root(parent, v);
    parent[v] = r;
  }
}

// --- triangles: merge of two sorted adjacency lists, u < v < w --------------------
__global__ void count_triangles(csr_view g, unsigned long long *total) {
  __shared__ unsigned int block_count;
  if (threadIdx.x == 0) block_count = 0;
  __syncthreads();
  const vid_t u = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned int mine = 0;
  if (u < g.n) {
    for (eid_t e = g.begin(u); e < g.end(u); ++e) {
      const vid_t v = g.col[e];
      if (v <= u) continue;
      eid_t i = e + 1, j = g.begin(v);
      const eid_t iend = g.end(u), jend = g.end(v);
      while (i < iend && j < jend) {
        const vid_t a = g.col[i], b = g.col[j];
        if (b <= v || a > b) ++j;
        else if (a < b) ++i;
        else { ++mine; ++i; ++j; }
      }
    }
  }
  if (mine) atomicAdd(&block_count, mine);
  __syncthreads();
  if (threadIdx.x == 0 && block_count) atomicAdd(total, (unsigned long long)block_count);
}

// --- pagerank, pull, one warp per vertex -------------------------------------------
__global__ void pagerank_pull(csr_view g, const float *rank, float *out, float damping) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (warp >= g.n) return;
  float sum = 0.f;
  for (eid_t e = g.begin(warp) + lane; e < g.end(warp); e += 32) {
    const vid_t src = g.col[e];
    sum += rank[src] / g.degree(src);
  }
  for (int off = 16; off > 0; off /= 2) sum += __shfl_down_sync(~0u, sum, off);
  if (lane == 0) out[warp] = (1.f - damping) / g.n + damping * sum;
}

int main(int argc, char **argv) {
  const vid_t n = argc > 1 ? std::atoi(argv[1]) : 11000;
  const int m = argc > 2 ? std::atoi(argv[2]) : 42000;

  // skewed random edges; the last 5% of the ids only get short local edges
  std::set<std::pair<vid_t, vid_t>> edges;
  unsigned s = 2024;
  auto rnd = [&s] { s = s * 1103515245u + 12345u; return (s >> 8) & 0xFFFFFF; };
  const vid_t core = n - n / 20;
  for (int i = 0; i < m; ++i) {
    vid_t a, b;
    if (i % 40 == 0) {
      a = core + rnd() % (n - core);
      b = std::min<vid_t>(n - 1, a + 1 + rnd() % 3);
    } else {
      const double r = rnd() / double(0x1000000);
      a = vid_t(r * std::sqrt(r) * core);
      b = vid_t(rnd() % core);
      if (i % 3 == 0) b = std::min<vid_t>(core - 1, a + 1 + rnd() % 9);
    }
    if (a == b) continue;
    edges.emplace(a, b);
    edges.emplace(b, a);
  }
  std::vector<eid_t> row(n + 1, 0);
  std::vector<vid_t> col;
  for (auto &[a, b] : edges) { ++row[a + 1]; col.push_back(b); }
  std::partial_sum(row.begin(), row.end(), row.begin());
  std::printf("n=%d directed edges=%zu\n", n, col.size());

  eid_t *d_row; vid_t *d_col, *d_q[2], *d_parent; int *d_dist, *d_size; float *d_rank[2]; unsigned long long *d_tri;
  CU(cudaMalloc(&d_row, row.size() * sizeof(eid_t)));
  CU(cudaMalloc(&d_col, col.size() * sizeof(vid_t)));
  for (int i = 0; i < 2; ++i) {
    CU(cudaMalloc(&d_q[i], n * sizeof(vid_t)));
    CU(cudaMalloc(&d_rank[i], n * sizeof(float)));
  }
  CU(cudaMalloc(&d_parent, n * sizeof(vid_t)));
  CU(cudaMalloc(&d_dist, n * sizeof(int)));
  CU(cudaMalloc(&d_size, sizeof(int)));
  CU(cudaMalloc(&d_tri, sizeof *d_tri));
  CU(cudaMemcpy(d_row, row.data(), row.size() * sizeof(eid_t), cudaMemcpyHostToDevice));
  CU(cudaMemcpy(d_col, col.data(), col.size() * sizeof(vid_t), cudaMemcpyHostToDevice));
  const csr_view g{n, d_row, d_col};
  int errors = 0;

  // BFS
  const vid_t source = 1;
  const int zero = 0;
  CU(cudaMemset(d_dist, 0xff, n * sizeof(int)));
  CU(cudaMemcpy(d_dist + source, &zero, sizeof(int), cudaMemcpyHostToDevice));
  CU(cudaMemcpy(d_q[0], &source, sizeof(vid_t), cudaMemcpyHostToDevice));
  int size = 1, level = 0;
  for (int cur = 0; size > 0 && level < 16; cur ^= 1, ++level) {
    CU(cudaMemset(d_size, 0, sizeof(int)));
    bfs_expand<<<(size + 127) / 128, 128>>>(g, d_q[cur], size, d_dist, level, d_q[cur ^ 1], d_size);
    CU(cudaGetLastError());
    CU(cudaMemcpy(&size, d_size, sizeof(int), cudaMemcpyDeviceToHost));
  }
  std::printf("bfs levels: %d\n", level);
  std::vector<int> dist(n), ref(n, -1);
  CU(cudaMemcpy(dist.data(), d_dist, n * sizeof(int), cudaMemcpyDeviceToHost));
  {
    std::queue<vid_t> q;
    q.push(source);
    ref[source] = 0;
    while (!q.empty()) {
      vid_t u = q.front();
      q.pop();
      for (eid_t e = row[u]; e < row[u + 1]; ++e)
        if (ref[col[e]] < 0) { ref[col[e]] = ref[u] + 1; q.push(col[e]); }
    }
  }
  if (dist != ref) { ++errors; std::puts("bfs mismatch"); }

  // components
  cc_init<<<20, 256>>>(d_parent, n);
  cc_union<<<(8 * n + 255) / 256, 256>>>(g, d_parent);
  cc_flatten<<<(n + 95) / 96, 96>>>(d_parent, n);
  CU(cudaGetLastError());
  std::vector<vid_t> comp(n), label(n, -1);
  CU(cudaMemcpy(comp.data(), d_parent, n * sizeof(vid_t), cudaMemcpyDeviceToHost));
  int ncomp = 0;
  for (vid_t r = 0; r < n; ++r) {
    if (label[r] >= 0) continue;
    ++ncomp;
    std::vector<vid_t> st{r};
    label[r] = r;
    while (!st.empty()) {
      vid_t u = st.back();
      st.pop_back();
      for (eid_t e = row[u]; e < row[u + 1]; ++e)
        if (label[col[e]] < 0) { label[col[e]] = r; st.push_back(col[e]); }
    }
  }
  std::printf("components: %d\n", ncomp);
  if (comp != label) { ++errors; std::puts("components mismatch"); }

  // triangles
  CU(cudaMemset(d_tri, 0, sizeof *d_tri));
  count_triangles<<<(n + 63) / 64, 64>>>(g, d_tri);
  CU(cudaGetLastError());
  unsigned long long tri = 0, tri_ref = 0;
  CU(cudaMemcpy(&tri, d_tri, sizeof tri, cudaMemcpyDeviceToHost));
  for (vid_t u = 0; u < n; ++u)
    for (eid_t e = row[u]; e < row[u + 1]; ++e) {
      const vid_t v = col[e];
      if (v <= u) continue;
      for (eid_t f = row[v]; f < row[v + 1]; ++f)
        if (col[f] > v && std::binary_search(col.begin() + row[u], col.begin() + row[u + 1], col[f])) ++tri_ref;
    }
  std::printf("triangles: %llu\n", tri);
  if (tri != tri_ref) { ++errors; std::printf("expected %llu\n", tri_ref); }

  // pagerank
  std::vector<float> rank(n, 1.f / n), nxt(n);
  CU(cudaMemcpy(d_rank[0], rank.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  for (int it = 0; it < 3; ++it) {
    pagerank_pull<<<(n * 32 + 191) / 192, 192>>>(g, d_rank[it & 1], d_rank[~it & 1], 0.85f);
    for (vid_t v = 0; v < n; ++v) {
      double acc = 0;
      for (eid_t e = row[v]; e < row[v + 1]; ++e) acc += rank[col[e]] / double(row[col[e] + 1] - row[col[e]]);
      nxt[v] = float(0.15 / n + 0.85 * acc);
    }
    rank.swap(nxt);
  }
  CU(cudaGetLastError());
  CU(cudaMemcpy(nxt.data(), d_rank[1], n * sizeof(float), cudaMemcpyDeviceToHost));
  for (vid_t v = 0; v < n; ++v)
    if (!(std::fabs(nxt[v] - rank[v]) <= 1e-4f * rank[v])) { ++errors; break; }

  CU(cudaFree(d_row)); CU(cudaFree(d_col)); CU(cudaFree(d_parent)); CU(cudaFree(d_dist)); CU(cudaFree(d_size)); CU(cudaFree(d_tri));
  for (int i = 0; i < 2; ++i) { CU(cudaFree(d_q[i])); CU(cudaFree(d_rank[i])); }
  std::puts(errors ? "FAIL" : "PASS");
  return errors ? 1 : 0;
}
