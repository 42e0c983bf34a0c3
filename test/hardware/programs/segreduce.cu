// Segmented reductions: offsets with a warp per segment, head flags scan in a block, sparse-dense products.
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>
#include <cuda_runtime.h>

constexpr int kWarp = 32;

template <typename T, int kBlock>
__global__ void seg_reduce_warp(const T* __restrict__ values, const int* __restrict__ offsets, T* __restrict__ out, int segments) {
  const int warp = (blockIdx.x * kBlock + threadIdx.x) / kWarp;
  const int lane = threadIdx.x & (kWarp - 1);
  if (warp >= segments) return;
  T acc{};
  for (int i = offsets[warp] + lane; i < offsets[warp + 1]; i += kWarp) acc += values[i];
#pragma unroll
  for (int d = kWarp / 2; d >= 1; d >>= 1) acc += __shfl_down_sync(0xffffffff, acc, d);
  if (lane == 0) out[warp] = acc;
}

__global__ void seg_scan_flags(const float* in, const unsigned char* flags, float* out, int n) {
  __shared__ float v[256];
  __shared__ unsigned char f[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  v[t] = i < n ? in[i] : 0.f;
  f[t] = i < n ? flags[i] : 1;
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    float nv = v[t];
    unsigned char nf = f[t];
    if (t >= d) {
      if (!nf) nv += v[t - d];
      nf |= f[t - d];
    }
    __syncthreads();
    v[t] = nv;
    f[t] = nf;
    __syncthreads();
  }
  if (i < n) out[i] = v[t];
}

__global__ void seg_ids(const int* offsets, int* ids, int segments) {
  int s = blockIdx.x;
  for (int i = offsets[s] + threadIdx.x; i < offsets[s + 1]; i += blockDim.x) ids[i] = s;
}

__global__ void scatter_add(const float* __restrict__ vals, const int* __restrict__ ids, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(out + ids[i], vals[i]);
}

template <int DIM>
__global__ void embedding_bag(const float* __restrict__ table, const int* __restrict__ idx, const int* __restrict__ offsets,
                              float* __restrict__ out, int bags) {
  int bag = blockIdx.x * blockDim.y + threadIdx.y;
  if (bag >= bags) return;
  for (int d = threadIdx.x; d < DIM; d += blockDim.x) {
    float s = 0.f;
    for (int e = offsets[bag]; e < offsets[bag + 1]; ++e) s += table[idx[e] * DIM + d];
    out[bag * DIM + d] = s;
  }
}

template <class T>
struct DeviceBuffer {
  T* p = nullptr;
  size_t n;
  explicit DeviceBuffer(size_t n) : n(n) { cudaMalloc(&p, n * sizeof(T)); }
  explicit DeviceBuffer(const std::vector<T>& v) : DeviceBuffer(v.size()) {
    cudaMemcpy(p, v.data(), n * sizeof(T), cudaMemcpyHostToDevice);
  }
  ~DeviceBuffer() { cudaFree(p); }
  operator T*() { return p; }
  std::vector<T> host() const {
    std::vector<T> v(n);
    cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost);
    return v;
  }
};

int main(int argc, char** argv) {
  int segments = argc > 1 ? atoi(argv[1]) : 150;
  std::vector<int> lens(segments);
  for (int i = 0; i < segments; ++i) lens[i] = 5 + (i * 13) % 60;
  std::vector<int> offs(segments + 1, 0);
  std::partial_sum(lens.begin(), lens.end(), offs.begin() + 1);
  int n = offs.back();
  std::vector<float> vals(n);
  std::vector<unsigned char> flags(n, 0);
  for (int i = 0; i < n; ++i) vals[i] = (float)(i % 4);
  for (int s = 0; s < segments; ++s) flags[offs[s]] = 1;
  std::vector<int> idx(n);
  for (int i = 0; i < n; ++i) idx[i] = (i * 29) % 200;
  DeviceBuffer<float> dv(vals), dout(segments), dscan(n), dtab(200 * 64), dbag(segments * 64);
  DeviceBuffer<int> doff(offs), dids(n), didx(idx);
  DeviceBuffer<unsigned char> dfl(flags);
  seg_reduce_warp<float, 128><<<(segments * 32 + 127) / 128, 128>>>(dv, doff, dout, segments);
  std::vector<float> got = dout.host();
  int bad = 0;
  for (int s = 0; s < segments; ++s) {
    float r = 0;
    for (int i = offs[s]; i < offs[s + 1]; ++i) r += vals[i];
    bad += r != got[s];
  }
  seg_scan_flags<<<(n + 255) / 256, 256>>>(dv, dfl, dscan, n);
  seg_ids<<<segments, 64>>>(doff, dids, segments);
  cudaMemset(dout.p, 0, segments * sizeof(float));
  scatter_add<<<(n + 191) / 192, 192>>>(dv, dids, dout, n);
  cudaMemset(dtab.p, 0, dtab.n * 4);
  embedding_bag<64><<<(segments + 3) / 4, dim3(32, 4)>>>(dtab, didx, doff, dbag, segments);
  cudaDeviceSynchronize();
  printf("bad %d\n", bad);
  return bad;
}
