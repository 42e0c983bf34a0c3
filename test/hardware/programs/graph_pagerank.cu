// PageRank pull/push on a generated graph, triangle counting by merge, Floyd-Warshall tiles, SSSP with relaxations.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

__global__ void pagerank_pull(const int* __restrict__ in_ptr, const int* __restrict__ in_src, const int* __restrict__ out_deg,
                              const float* __restrict__ rank, float* __restrict__ next, int n, float d) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < n) {
    float s = 0;
    for (int e = in_ptr[v]; e < in_ptr[v + 1]; ++e) {
      int u = in_src[e];
      s += rank[u] / out_deg[u];
    }
    next[v] = (1 - d) / n + d * s;
  }
}

__global__ void pagerank_push(const int2* __restrict__ edges, const int* __restrict__ out_deg, const float* __restrict__ rank, float* next, int m, float d) {
  for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < m; e += blockDim.x * gridDim.x) {
    int2 uv = edges[e];
    atomicAdd(&next[uv.y], d * rank[uv.x] / out_deg[uv.x]);
  }
}

__global__ void fill(float* p, float v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = v;
}

__global__ void triangles(const int* ptr, const int* adj, const int2* edges, int m, unsigned* total) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned c = 0;
  if (e < m) {
    int a = ptr[edges[e].x], ae = ptr[edges[e].x + 1], b = ptr[edges[e].y], be = ptr[edges[e].y + 1];
    while (a < ae && b < be) {
      int x = adj[a], y = adj[b];
      if (x == y) { ++c; ++a; ++b; }
      else if (x < y) ++a;
      else ++b;
    }
  }
  if (c) atomicAdd(total, c);
}

#define T 16
__global__ void fw_diag(int* d, int n, int k) {
  __shared__ int s[T][T];
  int i = k * T + threadIdx.y, j = k * T + threadIdx.x;
  s[threadIdx.y][threadIdx.x] = d[i * n + j];
  __syncthreads();
  for (int q = 0; q < T; ++q) {
    s[threadIdx.y][threadIdx.x] = min(s[threadIdx.y][threadIdx.x], s[threadIdx.y][q] + s[q][threadIdx.x]);
    __syncthreads();
  }
  d[i * n + j] = s[threadIdx.y][threadIdx.x];
}

__global__ void fw_rest(int* d, int n, int k) {
  if (blockIdx.x == k && blockIdx.y == k) return;
  __shared__ int r[T][T], c[T][T];
  int i = blockIdx.y * T + threadIdx.y, j = blockIdx.x * T + threadIdx.x;
  c[threadIdx.y][threadIdx.x] = d[i * n + k * T + threadIdx.x];
  r[threadIdx.y][threadIdx.x] = d[(k * T + threadIdx.y) * n + j];
  __syncthreads();
  int v = d[i * n + j];
#pragma unroll
  for (int q = 0; q < T; ++q) v = min(v, c[threadIdx.y][q] + r[q][threadIdx.x]);
  d[i * n + j] = v;
}

__global__ void relax(const int2* edges, const int* weight, int* dist, int m, int* changed) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= m) return;
  int du = dist[edges[e].x];
  if (du == 0x3fffffff) return;
  int nd = du + weight[e];
  if (nd < dist[edges[e].y]) {
    atomicMin(&dist[edges[e].y], nd);
    *changed = 1;
  }
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1024;
  std::vector<std::pair<int, int>> el;
  for (int u = 0; u < n; ++u)
    for (int k = 1; k <= 4; ++k) el.emplace_back(u, (u * 3 + k * k * 17) % n);
  std::sort(el.begin(), el.end(), [](const auto& a, const auto& b) { return a.second < b.second || (a.second == b.second && a.first < b.first); });
  int m = (int)el.size();
  std::vector<int> ptr(n + 1, 0), src(m), deg(n, 0), w(m);
  std::vector<int2> edges(m);
  for (int e = 0; e < m; ++e) {
    ptr[el[e].second + 1]++;
    deg[el[e].first]++;
    src[e] = el[e].first;
    edges[e] = make_int2(el[e].first, el[e].second);
    w[e] = 1 + e % 7;
  }
  for (int i = 0; i < n; ++i) ptr[i + 1] += ptr[i];
  int *dptr, *dsrc, *ddeg, *dw, *dist, *flag;
  int2* de;
  float *r0, *r1;
  unsigned* tri;
  cudaMalloc(&dptr, (n + 1) * 4); cudaMalloc(&dsrc, m * 4); cudaMalloc(&ddeg, n * 4); cudaMalloc(&dw, m * 4);
  cudaMalloc(&de, m * sizeof(int2)); cudaMalloc(&r0, n * 4); cudaMalloc(&r1, n * 4); cudaMalloc(&tri, 4); cudaMalloc(&flag, 4);
  cudaMemcpy(dptr, ptr.data(), (n + 1) * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dsrc, src.data(), m * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(ddeg, deg.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dw, w.data(), m * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(de, edges.data(), m * sizeof(int2), cudaMemcpyHostToDevice);
  const int B = 128, G = (n + B - 1) / B;
  fill<<<G, B>>>(r0, 1.f / n, n);
  for (int it = 0; it < 4; ++it) {
    pagerank_pull<<<G, B>>>(dptr, dsrc, ddeg, r0, r1, n, 0.85f);
    std::swap(r0, r1);
  }
  fill<<<G, B>>>(r1, 0.15f / n, n);
  pagerank_push<<<8, B>>>(de, ddeg, r0, r1, m, 0.85f);
  cudaMemset(tri, 0, 4);
  triangles<<<(m + B - 1) / B, B>>>(dptr, dsrc, de, m, tri);
  std::vector<int> hd(n, 0x3fffffff);
  hd[0] = 0;
  cudaMalloc(&dist, n * 4);
  cudaMemcpy(dist, hd.data(), n * 4, cudaMemcpyHostToDevice);
  int changed = 1;
  for (int it = 0; it < 20 && changed; ++it) {
    cudaMemset(flag, 0, 4);
    relax<<<(m + 255) / 256, 256>>>(de, dw, dist, m, flag);
    cudaMemcpy(&changed, flag, 4, cudaMemcpyDeviceToHost);
  }
  const int fn = 96;
  std::vector<int> fd(fn * fn);
  for (int i = 0; i < fn * fn; ++i) fd[i] = i % (fn + 1) == 0 ? 0 : 1 + (i * 7) % 50;
  int* dd;
  cudaMalloc(&dd, fd.size() * 4);
  cudaMemcpy(dd, fd.data(), fd.size() * 4, cudaMemcpyHostToDevice);
  dim3 t(T, T);
  for (int k = 0; k < fn / T; ++k) {
    fw_diag<<<1, t>>>(dd, fn, k);
    fw_rest<<<dim3(fn / T, fn / T), t>>>(dd, fn, k);
  }
  unsigned ht = 0;
  cudaMemcpy(&ht, tri, 4, cudaMemcpyDeviceToHost);
  printf("triangles %u\n", ht);
  return 0;
}
