// Graph analytics on CSR: bucketed SSSP (delta-stepping, persistent cooperative kernel), k-core peeling, degree statistics.
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

namespace cg = cooperative_groups;

#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line) {
  if (code != cudaSuccess) {
    fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
    exit(code);
  }
}

struct Csr {
  int n;
  int m;
  const int *row;
  const int *col;
  const int *w;
};

struct Control {
  int minBucket;
  int rounds;
  int removed;
  int pad;
};

__global__ void init_sssp(int *dist, int *dirty, int n, int src) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < n) {
    dist[v] = v == src ? 0 : INT_MAX;
    dirty[v] = v == src;
  }
}

__global__ void delta_stepping(Csr g, int *dist, int *dirty, Control *ctl, int delta) {
  cg::grid_group grid = cg::this_grid();
  int tid = blockIdx.x * blockDim.x + threadIdx.x;
  int nth = gridDim.x * blockDim.x;
  volatile int *vmin = &ctl->minBucket;
  int cur = 0;
  while (true) {
    if (tid == 0) {
      *vmin = INT_MAX;
      ctl->rounds++;
    }
    grid.sync();
    for (int v = tid; v < g.n; v += nth) {
      if (((volatile int *)dirty)[v] == 0) continue;
      if (((volatile int *)dist)[v] / delta > cur) continue;
      atomicExch(&dirty[v], 0);
      __threadfence();
      int d = ((volatile int *)dist)[v];
      for (int e = g.row[v]; e < g.row[v + 1]; e++) {
        int u = g.col[e];
        int nd = d + g.w[e];
        if (nd < ((volatile int *)dist)[u]) {
          int old = atomicMin(&dist[u], nd);
          if (nd < old) {
            __threadfence();
            atomicExch(&dirty[u], 1);
          }
        }
      }
    }
    grid.sync();
    int m = INT_MAX;
    for (int v = tid; v < g.n; v += nth) {
      if (((volatile int *)dirty)[v]) m = min(m, ((volatile int *)dist)[v] / delta);
    }
    m = __reduce_min_sync(0xffffffffu, m);
    if ((threadIdx.x & 31) == 0 && m != INT_MAX) atomicMin(&ctl->minBucket, m);
    grid.sync();
    cur = *vmin;
    grid.sync();
    if (cur == INT_MAX) break;
  }
}

// expand the predecessor tree: any tight edge u->v with dist[u] + w == dist[v]; smallest u wins
__global__ void find_parents(Csr g, const int *dist, int *parent) {
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  if (warp >= g.n) return;
  int d = dist[warp];
  if (d == INT_MAX) return;
  for (int e = g.row[warp] + lane; e < g.row[warp + 1]; e += 32) {
    int u = g.col[e];
    if (dist[u] == d + g.w[e]) atomicMin(&parent[u], warp);
  }
}

__global__ void degrees(Csr g, int *deg, int *hist) {
  __shared__ int h[64];
  if (threadIdx.x < 64) h[threadIdx.x] = 0;
  __syncthreads();
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < g.n) {
    int d = g.row[v + 1] - g.row[v];
    deg[v] = d;
    atomicAdd(&h[min(d, 63)], 1);
  }
  __syncthreads();
  if (threadIdx.x < 64 && h[threadIdx.x]) atomicAdd(&hist[threadIdx.x], h[threadIdx.x]);
}

__global__ void mark_below(const int *deg, int *alive, int *queue, int *qlen, int n, int k) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  bool drop = v < n && deg[v] < k;
  unsigned mask = __ballot_sync(0xffffffffu, drop);
  int lane = threadIdx.x & 31;
  int base = 0;
  if (lane == 0 && mask) base = atomicAdd(qlen, __popc(mask));
  base = __shfl_sync(0xffffffffu, base, 0);
  if (v < n) alive[v] = !drop;
  if (drop) queue[base + __popc(mask & ((1u << lane) - 1))] = v;
}

// one block drains the peeling queue; 8 lanes per vertex
__global__ void peel(Csr g, int *deg, int *alive, int *queue, int *qlen, int k) {
  __shared__ int head;
  __shared__ int tail;
  if (threadIdx.x == 0) {
    head = 0;
    tail = *qlen;
  }
  __syncthreads();
  int sub = threadIdx.x % 8;
  int slot = threadIdx.x / 8;
  while (true) {
    int h = head;
    int t = tail;
    __syncthreads();
    if (h >= t) break;
    for (int q = h + slot; q < t; q += blockDim.x / 8) {
      int v = ((volatile int *)queue)[q];
      for (int e = g.row[v] + sub; e < g.row[v + 1]; e += 8) {
        int u = g.col[e];
        if (atomicSub(&deg[u], 1) == k) {
          alive[u] = 0;
          ((volatile int *)queue)[atomicAdd(&tail, 1)] = u;
        }
      }
    }
    __syncthreads();
    if (threadIdx.x == 0) head = t;
    __syncthreads();
  }
  if (threadIdx.x == 0) *qlen = tail;
}

template <typename T> T *toGpu(const std::vector<T> &h) {
  T *d;
  gpuErrchk(cudaMalloc(&d, h.size() * sizeof(T)));
  gpuErrchk(cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
  return d;
}

int main() {
  const int n = 24000;
  const int k = 6;
  const int delta = 24;
  std::mt19937 rng(5);
  std::vector<std::vector<std::pair<int, int>>> adj(n);
  auto link = [&](int a, int b) {
    if (a == b) return;
    int w = 1 + rng() % 64;
    adj[a].push_back({b, w});
    adj[b].push_back({a, w});
  };
  for (int i = 0; i < n * 3; i++) link(rng() % n, rng() % n);
  for (int i = 0; i < n; i++) link(rng() % 400, rng() % n);
  std::vector<int> row(n + 1, 0), col, w;
  for (int v = 0; v < n; v++) {
    for (auto &e : adj[v]) {
      col.push_back(e.first);
      w.push_back(e.second);
    }
    row[v + 1] = (int)col.size();
  }
  Csr g;
  g.n = n;
  g.m = (int)col.size();
  g.row = toGpu(row);
  g.col = toGpu(col);
  g.w = toGpu(w);
  int *dist = toGpu(std::vector<int>(n));
  int *dirty = toGpu(std::vector<int>(n));
  int *parent = toGpu(std::vector<int>(n, INT_MAX));
  int *deg = toGpu(std::vector<int>(n));
  int *hist = toGpu(std::vector<int>(64, 0));
  int *alive = toGpu(std::vector<int>(n));
  int *queue = toGpu(std::vector<int>(n));
  int *qlen = toGpu(std::vector<int>(1, 0));
  Control *ctl = toGpu(std::vector<Control>(1, Control{INT_MAX, 0, 0, 0}));

  const int src = 1234;
  int blk = 256;
  int grd = (n + blk - 1) / blk;
  init_sssp<<<grd, blk>>>(dist, dirty, n, src);
  int d = delta;
  void *args[] = {&g, &dist, &dirty, &ctl, &d};
  gpuErrchk(cudaLaunchCooperativeKernel((void *)delta_stepping, dim3(grd), dim3(blk), args, 0, 0));
  find_parents<<<(n * 32 + 255) / 256, 256>>>(g, dist, parent);
  degrees<<<grd, blk>>>(g, deg, hist);
  mark_below<<<grd, blk>>>(deg, alive, queue, qlen, n, k);
  peel<<<1, 1024>>>(g, deg, alive, queue, qlen, k);
  gpuErrchk(cudaGetLastError());
  gpuErrchk(cudaDeviceSynchronize());

  std::vector<int> hd(n), hp(n), ha(n), hh(64);
  int hq;
  Control hc;
  gpuErrchk(cudaMemcpy(hd.data(), dist, n * 4, cudaMemcpyDeviceToHost));
  gpuErrchk(cudaMemcpy(hp.data(), parent, n * 4, cudaMemcpyDeviceToHost));
  gpuErrchk(cudaMemcpy(ha.data(), alive, n * 4, cudaMemcpyDeviceToHost));
  gpuErrchk(cudaMemcpy(hh.data(), hist, 64 * 4, cudaMemcpyDeviceToHost));
  gpuErrchk(cudaMemcpy(&hq, qlen, 4, cudaMemcpyDeviceToHost));
  gpuErrchk(cudaMemcpy(&hc, ctl, sizeof(hc), cudaMemcpyDeviceToHost));

  // Dijkstra
  std::vector<int> rd(n, INT_MAX), rp(n, INT_MAX);
  std::priority_queue<std::pair<int, int>, std::vector<std::pair<int, int>>, std::greater<std::pair<int, int>>> pq;
  rd[src] = 0;
  pq.push({0, src});
  while (!pq.empty()) {
    auto [dd, v] = pq.top();
    pq.pop();
    if (dd > rd[v]) continue;
    for (auto &e : adj[v])
      if (dd + e.second < rd[e.first]) {
        rd[e.first] = dd + e.second;
        pq.push({rd[e.first], e.first});
      }
  }
  for (int v = 0; v < n; v++)
    if (rd[v] != INT_MAX)
      for (auto &e : adj[v])
        if (rd[e.first] == rd[v] + e.second) rp[e.first] = std::min(rp[e.first], v);
  // k-core
  std::vector<int> dg(n), ra(n, 1), stack, rh(64, 0);
  for (int v = 0; v < n; v++) {
    dg[v] = (int)adj[v].size();
    rh[std::min(dg[v], 63)]++;
    if (dg[v] < k) {
      ra[v] = 0;
      stack.push_back(v);
    }
  }
  int removed = 0;
  while (!stack.empty()) {
    int v = stack.back();
    stack.pop_back();
    removed++;
    for (auto &e : adj[v])
      if (dg[e.first]-- == k && ra[e.first]) {
        ra[e.first] = 0;
        stack.push_back(e.first);
      }
  }
  bool ok = rd == hd && rp == hp && ra == ha && rh == hh && removed == hq;
  printf("rounds %d, core %d of %d\n", hc.rounds, n - removed, n);
  puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
