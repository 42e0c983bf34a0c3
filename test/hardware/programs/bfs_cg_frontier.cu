// Level-synchronous BFS, queue based, with warp-aggregated enqueue (cooperative groups)
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <queue>
#include <algorithm>
namespace cg = cooperative_groups;

struct Graph { const int* __restrict__ rowptr; const int* __restrict__ col; int n; long long m; };

__device__ int agg_inc(int* ctr) {
  auto g = cg::coalesced_threads();
  int base;
  if (g.thread_rank() == 0) base = atomicAdd(ctr, (int)g.size());
  return g.shfl(base, 0) + g.thread_rank();
}

__global__ void fill(int* p, int v, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) p[i] = v;
}

// TILE lanes scan the neighbours of one frontier vertex
template <int TILE>
__global__ void expand(Graph g, const int* fin, int nin, int* fout, int* nout, int* dist, int level) {
  auto tile = cg::tiled_partition<TILE>(cg::this_thread_block());
  int id = (blockIdx.x * blockDim.x + threadIdx.x) / TILE;
  int stride = gridDim.x * blockDim.x / TILE;
  for (; id < nin; id += stride) {
    int v = fin[id];
    int b = g.rowptr[v], e = g.rowptr[v + 1];
    for (int i = b + tile.thread_rank(); i < e; i += TILE) {
      int w = g.col[i];
      if (dist[w] < 0 && atomicCAS(&dist[w], -1, level + 1) == -1)
        fout[agg_inc(nout)] = w;
    }
  }
}

// bottom-up step: unvisited vertices look for a visited parent
__global__ void bottom_up(Graph g, int* dist, int level, int* found) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  bool hit = false;
  if (v < g.n && dist[v] == -1) {
    for (int i = g.rowptr[v]; i < g.rowptr[v + 1]; ++i)
      if (dist[g.col[i]] == level) { hit = true; break; }
    if (hit) dist[v] = level + 1;
  }
  unsigned b = __ballot_sync(~0u, hit);
  if ((threadIdx.x & 31) == 0 && b) atomicAdd(found, __popc(b));
}

__global__ void collect(const int* dist, int n, int level, int* f, int* cnt) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < n && dist[v] == level) f[agg_inc(cnt)] = v;
}

int main() {
  const int n = 1 << 18;
  std::vector<std::pair<int,int>> e;
  unsigned long long s = 12345;
  auto rnd = [&] { s = s * 6364136223846793005ull + 1442695040888963407ull; return (unsigned)(s >> 33); };
  for (int i = 0; i < n * 6; ++i) {
    int a = rnd() % n, b = (rnd() & 3) ? rnd() % n : rnd() % 1024;  // some hubs
    if (a != b) { e.push_back({a, b}); e.push_back({b, a}); }
  }
  std::vector<int> rp(n + 1, 0), col(e.size());
  for (auto& p : e) rp[p.first + 1]++;
  for (int i = 0; i < n; ++i) rp[i + 1] += rp[i];
  { std::vector<int> pos(rp.begin(), rp.end() - 1); for (auto& p : e) col[pos[p.first]++] = p.second; }

  std::vector<int> ref(n, -1);
  std::queue<int> q; q.push(1); ref[1] = 0;
  while (!q.empty()) { int v = q.front(); q.pop(); for (int i = rp[v]; i < rp[v + 1]; ++i) if (ref[col[i]] < 0) { ref[col[i]] = ref[v] + 1; q.push(col[i]); } }

  int *drp, *dcol, *dist, *f0, *f1, *cnt;
  cudaMalloc(&drp, rp.size() * 4); cudaMalloc(&dcol, col.size() * 4);
  cudaMalloc(&dist, n * 4); cudaMalloc(&f0, n * 4); cudaMalloc(&f1, n * 4);
  cudaMallocManaged(&cnt, 2 * sizeof(int));
  cudaMemcpy(drp, rp.data(), rp.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dcol, col.data(), col.size() * 4, cudaMemcpyHostToDevice);
  Graph g{drp, dcol, n, (long long)col.size()};
  fill<<<256, 256>>>(dist, -1, n);
  int src = 1, zero = 0;
  cudaMemcpy(f0, &src, 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dist + src, &zero, 4, cudaMemcpyHostToDevice);
  int level = 0, nf = 1, launches = 1;
  bool top = true;
  while (nf > 0 && level < 12) {
    cnt[0] = cnt[1] = 0;
    if (top && nf > n / 20) top = false;
    if (top) {
      if (nf < 2000) expand<32><<<std::max(1, nf / 8 + 1), 256>>>(g, f0, nf, f1, cnt, dist, level);
      else expand<8><<<(nf + 31) / 32, 256>>>(g, f0, nf, f1, cnt, dist, level);
      std::swap(f0, f1);
    } else {
      bottom_up<<<(n + 255) / 256, 256>>>(g, dist, level, cnt);
    }
    cudaDeviceSynchronize();
    nf = cnt[0];
    ++level; ++launches;
  }
  cnt[1] = 0;
  collect<<<(n + 255) / 256, 256>>>(dist, n, 3, f1, cnt + 1);
  cudaDeviceSynchronize();
  std::vector<int> d(n);
  cudaMemcpy(d.data(), dist, n * 4, cudaMemcpyDeviceToHost);
  int bad = 0, l3 = 0;
  for (int i = 0; i < n; ++i) { bad += d[i] != ref[i]; l3 += ref[i] == 3; }
  printf("levels %d launches %d bad %d level3 %d/%d %s\n", level, launches, bad, cnt[1], l3, cudaGetErrorString(cudaGetLastError()));
  puts(!bad && l3 == cnt[1] ? "PASS" : "FAIL");
  return bad;
}
