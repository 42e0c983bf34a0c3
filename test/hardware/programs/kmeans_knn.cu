// k-means with centroids in shared memory, atomics for sums; brute-force k nearest neighbours.
#include <algorithm>
#include <cfloat>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>
#include <cuda_runtime.h>

template <int D>
__global__ void assign(const float* __restrict__ pts, const float* __restrict__ cent, int* __restrict__ label, int n, int k) {
  extern __shared__ float sc[];
  for (int i = threadIdx.x; i < k * D; i += blockDim.x) sc[i] = cent[i];
  __syncthreads();
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= n) return;
  float x[D];
#pragma unroll
  for (int d = 0; d < D; ++d) x[d] = pts[p * D + d];
  float best = FLT_MAX;
  int bi = 0;
  for (int c = 0; c < k; ++c) {
    float s = 0;
#pragma unroll
    for (int d = 0; d < D; ++d) {
      float t = x[d] - sc[c * D + d];
      s += t * t;
    }
    if (s < best) { best = s; bi = c; }
  }
  label[p] = bi;
}

__global__ void accumulate(const float* pts, const int* label, float* sums, int* counts, int n, int D) {
  int p = blockIdx.x * blockDim.y + threadIdx.y;
  int d = threadIdx.x;
  if (p < n && d < D) {
    int c = label[p];
    atomicAdd(&sums[c * D + d], pts[p * D + d]);
    if (d == 0) atomicAdd(&counts[c], 1);
  }
}

__global__ void divide(float* cent, const float* sums, const int* counts, int k, int D) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < k * D) {
    int c = counts[i / D];
    if (c > 0) cent[i] = sums[i] / c;
  }
}

template <int K, int TILE>
__global__ void knn(const float2* __restrict__ q, int nq, const float2* __restrict__ ref, int nr, int* __restrict__ idx) {
  __shared__ float2 tile[TILE];
  int i = blockIdx.x * TILE + threadIdx.x;
  float bd[K];
  int bi[K];
#pragma unroll
  for (int k = 0; k < K; ++k) { bd[k] = FLT_MAX; bi[k] = -1; }
  float2 me = i < nq ? q[i] : make_float2(0, 0);
  for (int t0 = 0; t0 < nr; t0 += TILE) {
    if (t0 + threadIdx.x < nr) tile[threadIdx.x] = ref[t0 + threadIdx.x];
    __syncthreads();
    int lim = min(TILE, nr - t0);
    for (int j = 0; j < lim; ++j) {
      float dx = tile[j].x - me.x, dy = tile[j].y - me.y;
      float d = dx * dx + dy * dy;
      if (d < bd[K - 1]) {
        bd[K - 1] = d;
        bi[K - 1] = t0 + j;
#pragma unroll
        for (int k = K - 1; k > 0; --k)
          if (bd[k] < bd[k - 1]) {
            float td = bd[k]; bd[k] = bd[k - 1]; bd[k - 1] = td;
            int ti = bi[k]; bi[k] = bi[k - 1]; bi[k - 1] = ti;
          }
      }
    }
    __syncthreads();
  }
  if (i < nq)
#pragma unroll
    for (int k = 0; k < K; ++k) idx[i * K + k] = bi[k];
}

struct Free { void operator()(void* p) const { cudaFree(p); } };
template <class T> using dptr = std::unique_ptr<T[], Free>;
template <class T> dptr<T> make_dev(size_t n) {
  T* p = nullptr;
  cudaMalloc(&p, n * sizeof(T));
  return dptr<T>(p);
}

int main(int argc, char** argv) {
  constexpr int D = 6;
  int n = argc > 1 ? std::atoi(argv[1]) : 4000, k = argc > 2 ? std::atoi(argv[2]) : 10, iters = 3;
  std::vector<float> h(n * D);
  unsigned s = 1;
  for (auto& v : h) { s = s * 1103515245 + 12345; v = (s >> 16 & 0x7fff) / 32768.f; }
  auto pts = make_dev<float>(n * D);
  auto cent = make_dev<float>(k * D);
  auto sums = make_dev<float>(k * D);
  auto cnt = make_dev<int>(k);
  auto lab = make_dev<int>(n);
  cudaMemcpy(pts.get(), h.data(), h.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(cent.get(), h.data(), k * D * sizeof(float), cudaMemcpyHostToDevice);
  for (int it = 0; it < iters; ++it) {
    cudaMemset(sums.get(), 0, k * D * sizeof(float));
    cudaMemset(cnt.get(), 0, k * sizeof(int));
    assign<D><<<(n + 127) / 128, 128, k * D * sizeof(float)>>>(pts.get(), cent.get(), lab.get(), n, k);
    accumulate<<<(n + 15) / 16, dim3(8, 16)>>>(pts.get(), lab.get(), sums.get(), cnt.get(), n, D);
    divide<<<1, 64>>>(cent.get(), sums.get(), cnt.get(), k, D);
  }
  std::vector<int> labels(n);
  cudaMemcpy(labels.data(), lab.get(), n * sizeof(int), cudaMemcpyDeviceToHost);
  auto idx = make_dev<int>(300 * 4);
  knn<4, 64><<<(300 + 63) / 64, 64>>>((const float2*)pts.get(), 300, (const float2*)pts.get() + 300, 500, idx.get());
  cudaDeviceSynchronize();
  printf("max label %d\n", *std::max_element(labels.begin(), labels.end()));
  return 0;
}
