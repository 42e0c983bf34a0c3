// BFS: level-synchronous over vertices, frontier queue with atomics; connected components by label propagation.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

struct Graph {
  int n;
  const int* row;
  const int* col;
};

__global__ void bfs_level(Graph g, int* dist, int level, int* changed) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < g.n && dist[v] == level) {
    for (int e = g.row[v]; e < g.row[v + 1]; ++e) {
      int u = g.col[e];
      if (dist[u] < 0) {
        dist[u] = level + 1;
        *changed = 1;
      }
    }
  }
}

__global__ void bfs_queue(Graph g, int* dist, const int* in, int inCount, int* out, int* outCount, int level) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= inCount) return;
  int v = in[i];
  for (int e = g.row[v]; e < g.row[v + 1]; ++e) {
    int u = g.col[e];
    if (atomicCAS(&dist[u], -1, level + 1) == -1) {
      int slot = atomicAdd(outCount, 1);
      out[slot] = u;
    }
  }
}

__global__ void label_init(int* label, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) label[i] = i;
}

__global__ void label_prop(Graph g, int* label, int* changed) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= g.n) return;
  int best = label[v];
  for (int e = g.row[v]; e < g.row[v + 1]; ++e) best = min(best, label[g.col[e]]);
  if (best < label[v]) {
    atomicMin(&label[v], best);
    *changed = 1;
  }
}

__global__ void degree_hist(Graph g, int* hist) {
  for (int v = threadIdx.x + blockIdx.x * blockDim.x; v < g.n; v += blockDim.x * gridDim.x)
    atomicAdd(&hist[g.row[v + 1] - g.row[v]], 1);
}

int main(int argc, char** argv) {
  const int side = argc > 1 ? atoi(argv[1]) : 40;
  const int n = side * side;
  std::vector<int> row(1, 0), col;
  for (int v = 0; v < n; ++v) {
    int x = v % side, y = v / side;
    if (x > 0) col.push_back(v - 1);
    if (x + 1 < side) col.push_back(v + 1);
    if (y > 0) col.push_back(v - side);
    if (y + 1 < side) col.push_back(v + side);
    if (v % 5 == 0) col.push_back((v * 7) % n);
    row.push_back(col.size());
  }
  int *drow, *dcol, *dist, *flag, *qa, *qb, *cnt, *label, *hist;
  cudaMalloc(&drow, row.size() * sizeof(int));
  cudaMalloc(&dcol, col.size() * sizeof(int));
  cudaMalloc(&dist, n * sizeof(int));
  cudaMalloc(&flag, sizeof(int));
  cudaMalloc(&qa, n * sizeof(int));
  cudaMalloc(&qb, n * sizeof(int));
  cudaMalloc(&cnt, sizeof(int));
  cudaMalloc(&label, n * sizeof(int));
  cudaMalloc(&hist, 16 * sizeof(int));
  cudaMemcpy(drow, row.data(), row.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(dcol, col.data(), col.size() * sizeof(int), cudaMemcpyHostToDevice);
  Graph g{n, drow, dcol};
  cudaMemset(dist, 0xff, n * sizeof(int));
  int zero = 0;
  cudaMemcpy(dist, &zero, sizeof(int), cudaMemcpyHostToDevice);
  const int T = 128, B = (n + T - 1) / T;
  int changed = 1;
  for (int level = 0; changed; ++level) {
    changed = 0;
    cudaMemcpy(flag, &changed, sizeof(int), cudaMemcpyHostToDevice);
    bfs_level<<<B, T>>>(g, dist, level, flag);
    cudaMemcpy(&changed, flag, sizeof(int), cudaMemcpyDeviceToHost);
  }
  std::vector<int> d1(n), d2(n);
  cudaMemcpy(d1.data(), dist, n * sizeof(int), cudaMemcpyDeviceToHost);

  cudaMemset(dist, 0xff, n * sizeof(int));
  cudaMemcpy(dist, &zero, sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(qa, &zero, sizeof(int), cudaMemcpyHostToDevice);
  int count = 1, level = 0;
  while (count > 0) {
    cudaMemset(cnt, 0, sizeof(int));
    bfs_queue<<<(count + T - 1) / T, T>>>(g, dist, qa, count, qb, cnt, level++);
    cudaMemcpy(&count, cnt, sizeof(int), cudaMemcpyDeviceToHost);
    std::swap(qa, qb);
  }
  cudaMemcpy(d2.data(), dist, n * sizeof(int), cudaMemcpyDeviceToHost);
  label_init<<<B, T>>>(label, n);
  do {
    cudaMemset(flag, 0, sizeof(int));
    label_prop<<<B, T>>>(g, label, flag);
    cudaMemcpy(&changed, flag, sizeof(int), cudaMemcpyDeviceToHost);
  } while (changed);
  cudaMemset(hist, 0, 16 * sizeof(int));
  degree_hist<<<4, 256>>>(g, hist);
  cudaDeviceSynchronize();
  printf("%s, %d levels\n", d1 == d2 ? "ok" : "differ", level);
  return d1 != d2;
}
