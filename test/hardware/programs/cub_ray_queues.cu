// Rays are sorted by what they hit, those that go on are selected, and the queues are worked off (CUB).
#include <cstdio>
#include <vector>
#include <algorithm>
#include <cub/cub.cuh>

__global__ void trace(const int* seed, int* material, int* alive, int n, int bounce) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned s = seed[i] * 2654435761u + bounce * 40503u;
  s ^= s >> 15;
  material[i] = s % 13;
  alive[i] = (s >> 8) % 4 != 0;
}

__global__ void shade(const int* material, const int* ray, const float* table, float* light, int n) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= n) return;
  light[ray[k]] += table[material[k] * 33 + k % 33];
}

__global__ void starts(const int* material, int* begin, int n) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < n && (k == 0 || material[k] != material[k - 1])) begin[material[k]] = k;
}

int main() {
  const int n = 8192;
  std::vector<int> ids(n);
  for (int i = 0; i < n; i++) ids[i] = i;
  std::vector<float> table(13 * 33);
  for (size_t i = 0; i < table.size(); i++) table[i] = 0.5f * (i % 7);
  int *ray, *next, *material, *sorted, *order, *alive, *count, *begin;
  float *colours, *light;
  for (int** p : {&ray, &next, &material, &sorted, &order, &alive}) cudaMalloc(p, n * sizeof(int));
  cudaMalloc(&count, sizeof(int));
  cudaMalloc(&begin, 13 * sizeof(int));
  cudaMalloc(&colours, table.size() * sizeof(float));
  cudaMalloc(&light, n * sizeof(float));
  cudaMemcpy(ray, ids.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(colours, table.data(), table.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(light, 0, n * sizeof(float));
  void* room = nullptr;
  size_t bytes = 0, more = 0;
  cub::DeviceRadixSort::SortPairs(nullptr, bytes, material, sorted, ray, order, n);
  cub::DeviceSelect::Flagged(nullptr, more, ray, alive, next, count, n);
  bytes = std::max(bytes, more);
  cudaMalloc(&room, bytes);
  int left = n;
  std::vector<int> sizes;
  for (int bounce = 0; bounce < 4 && left > 0; bounce++) {
    int blocks = (left + 255) / 256;
    trace<<<blocks, 256>>>(ray, material, alive, left, bounce);
    cub::DeviceRadixSort::SortPairs(room, bytes, material, sorted, ray, order, left);
    starts<<<blocks, 256>>>(sorted, begin, left);
    shade<<<blocks, 256>>>(sorted, order, colours, light, left);
    cub::DeviceSelect::Flagged(room, bytes, ray, alive, next, count, left);
    cudaMemcpy(&left, count, sizeof(int), cudaMemcpyDeviceToHost);
    sizes.push_back(left);
    std::swap(ray, next);
  }
  std::vector<float> result(n);
  cudaMemcpy(result.data(), light, n * sizeof(float), cudaMemcpyDeviceToHost);
  int expected = n;
  bool ok = true;
  std::vector<int> rays = ids;
  for (size_t bounce = 0; bounce < sizes.size(); bounce++) {
    std::vector<int> kept;
    for (int r : rays) {
      unsigned s = r * 2654435761u + (unsigned)bounce * 40503u;
      s ^= s >> 15;
      if ((s >> 8) % 4 != 0) kept.push_back(r);
    }
    rays = kept;
    ok = ok && (int)rays.size() == sizes[bounce];
  }
  printf("%d rays, %d left: %s\n", expected, left, ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
