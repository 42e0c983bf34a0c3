// Text of few letters is cut into runs, their places are scanned, and the runs are written out again (CUB).
#include <cstdio>
#include <vector>
#include <cub/cub.cuh>

__global__ void widen(const int* letters, const int* lengths, const int* places, int* text, int runs) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= runs) return;
  for (int i = 0; i < lengths[k]; i++) text[places[k] + i] = letters[k];
}

__global__ void widen_by_warps(const int* letters, const int* lengths, const int* places, int* text, int runs) {
  int k = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (k >= runs) return;
  for (int i = threadIdx.x % 32; i < lengths[k]; i += 32) text[places[k] + i] = letters[k];
}

__global__ void longest(const int* lengths, int* most, int runs) {
  __shared__ int held[256];
  int best = 0;
  for (int i = threadIdx.x; i < runs; i += blockDim.x) best = max(best, lengths[i]);
  held[threadIdx.x] = best;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d /= 2) {
    if (threadIdx.x < d) held[threadIdx.x] = max(held[threadIdx.x], held[threadIdx.x + d]);
    __syncthreads();
  }
  if (threadIdx.x == 0) *most = held[0];
}

int main() {
  const int n = 20000;
  std::vector<int> text(n);
  unsigned s = 99;
  for (int i = 0; i < n;) {
    s = s * 1664525u + 1013904223u;
    int letter = (s >> 10) % 5, length = 1 + (s >> 20) % 23;
    for (int k = 0; k < length && i < n; k++) text[i++] = letter;
  }
  int *in, *letters, *lengths, *places, *out, *again, *runs, *most;
  for (int** p : {&in, &letters, &lengths, &places, &out, &again}) cudaMalloc(p, n * sizeof(int));
  cudaMalloc(&runs, sizeof(int));
  cudaMalloc(&most, sizeof(int));
  cudaMemcpy(in, text.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  void* room = nullptr;
  size_t bytes = 0;
  cub::DeviceRunLengthEncode::Encode(room, bytes, in, letters, lengths, runs, n);
  cudaMalloc(&room, bytes);
  cub::DeviceRunLengthEncode::Encode(room, bytes, in, letters, lengths, runs, n);
  int count = 0;
  cudaMemcpy(&count, runs, sizeof(int), cudaMemcpyDeviceToHost);
  void* scanRoom = nullptr;
  size_t scanBytes = 0;
  cub::DeviceScan::ExclusiveSum(scanRoom, scanBytes, lengths, places, count);
  cudaMalloc(&scanRoom, scanBytes);
  cub::DeviceScan::ExclusiveSum(scanRoom, scanBytes, lengths, places, count);
  widen<<<(count + 127) / 128, 128>>>(letters, lengths, places, out, count);
  widen_by_warps<<<(count * 32 + 127) / 128, 128>>>(letters, lengths, places, again, count);
  longest<<<1, 256>>>(lengths, most, count);
  std::vector<int> a(n), b(n);
  cudaMemcpy(a.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpy(b.data(), again, n * sizeof(int), cudaMemcpyDeviceToHost);
  bool ok = a == text && b == text;
  printf("%d runs: %s\n", count, ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
