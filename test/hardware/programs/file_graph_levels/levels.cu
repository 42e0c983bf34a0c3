// Levels of a graph, from a file with an edge a line.
#include <cstdio>
#include <cstdlib>
#include <queue>
#include <vector>

__global__ void step(const int* start, const int* to, int* level, int* changed, int nodes, int depth) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= nodes || level[v] != depth) return;
  for (int e = start[v]; e < start[v + 1]; e++) {
    int u = to[e];
    if (level[u] < 0) {
      level[u] = depth + 1;
      *changed = 1;
    }
  }
}

__global__ void degrees(const int* start, int* bins, int nodes) {
  __shared__ int held[32];
  if (threadIdx.x < 32) held[threadIdx.x] = 0;
  __syncthreads();
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < nodes) atomicAdd(&held[min(start[v + 1] - start[v], 31)], 1);
  __syncthreads();
  if (threadIdx.x < 32) atomicAdd(&bins[threadIdx.x], held[threadIdx.x]);
}

int main(int argc, char* argv[]) {
  FILE* f = fopen(argc > 1 ? argv[1] : "graph.txt", "r");
  if (!f) { printf("no graph\n"); exit(1); }
  int nodes, edges;
  if (fscanf(f, "%d %d", &nodes, &edges) != 2) exit(1);
  std::vector<std::vector<int>> out(nodes);
  for (int i = 0; i < edges; i++) {
    int a, b;
    if (fscanf(f, "%d %d", &a, &b) != 2) break;
    out[a].push_back(b);
    out[b].push_back(a);
  }
  fclose(f);
  std::vector<int> start(nodes + 1, 0), to;
  for (int v = 0; v < nodes; v++) {
    for (int u : out[v]) to.push_back(u);
    start[v + 1] = (int)to.size();
  }
  int *dStart, *dTo, *level, *changed, *bins;
  cudaMalloc(&dStart, start.size() * sizeof(int));
  cudaMalloc(&dTo, to.size() * sizeof(int));
  cudaMalloc(&level, nodes * sizeof(int));
  cudaMalloc(&changed, sizeof(int));
  cudaMalloc(&bins, 32 * sizeof(int));
  cudaMemcpy(dStart, start.data(), start.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(dTo, to.data(), to.size() * sizeof(int), cudaMemcpyHostToDevice);
  std::vector<int> initial(nodes, -1);
  initial[0] = 0;
  cudaMemcpy(level, initial.data(), nodes * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(bins, 0, 32 * sizeof(int));
  degrees<<<(nodes + 255) / 256, 256>>>(dStart, bins, nodes);
  int again = 1;
  for (int depth = 0; again && depth < 12; depth++) {
    again = 0;
    cudaMemcpy(changed, &again, sizeof(int), cudaMemcpyHostToDevice);
    step<<<(nodes + 255) / 256, 256>>>(dStart, dTo, level, changed, nodes, depth);
    cudaMemcpy(&again, changed, sizeof(int), cudaMemcpyDeviceToHost);
  }
  std::vector<int> found(nodes), expected(nodes, -1);
  cudaMemcpy(found.data(), level, nodes * sizeof(int), cudaMemcpyDeviceToHost);
  std::queue<int> open;
  open.push(0);
  expected[0] = 0;
  while (!open.empty()) {
    int v = open.front();
    open.pop();
    if (expected[v] == 12) continue;
    for (int u : out[v]) if (expected[u] < 0) { expected[u] = expected[v] + 1; open.push(u); }
  }
  bool ok = found == expected;
  printf("%d nodes, %zu ways: %s\n", nodes, to.size(), ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
