// Scans: Blelloch with and without conflict avoidance, Hillis-Steele, warp shuffle, block scan with carry.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define LOG_NUM_BANKS 5
#ifdef AVOID
#define CONFLICT_FREE_OFFSET(n) ((n) >> LOG_NUM_BANKS)
#else
#define CONFLICT_FREE_OFFSET(n) ((n) >> LOG_NUM_BANKS)
#endif

template <bool kAvoid>
__device__ __forceinline__ int ofs(int i) {
  if constexpr (kAvoid) return i + CONFLICT_FREE_OFFSET(i);
  else return i;
}

template <bool kAvoid>
__global__ void blelloch(int* out, const int* in, int n) {
  extern __shared__ int temp[];
  int t = threadIdx.x;
  int base = blockIdx.x * n;
  int ai = t, bi = t + n / 2;
  temp[ofs<kAvoid>(ai)] = in[base + ai];
  temp[ofs<kAvoid>(bi)] = in[base + bi];
  int offset = 1;
  for (int d = n >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) {
      int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
      temp[ofs<kAvoid>(b)] += temp[ofs<kAvoid>(a)];
    }
    offset *= 2;
  }
  if (t == 0) temp[ofs<kAvoid>(n - 1)] = 0;
  for (int d = 1; d < n; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      int a = ofs<kAvoid>(offset * (2 * t + 1) - 1), b = ofs<kAvoid>(offset * (2 * t + 2) - 1);
      int v = temp[a];
      temp[a] = temp[b];
      temp[b] += v;
    }
  }
  __syncthreads();
  out[base + ai] = temp[ofs<kAvoid>(ai)];
  out[base + bi] = temp[ofs<kAvoid>(bi)];
}

__device__ int warp_inclusive(int v) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) {
    int o = __shfl_up_sync(0xffffffffu, v, d);
    if (lane >= d) v += o;
  }
  return v;
}

__global__ void scan_shuffle(const int* in, int* out, int* sums, int n) {
  __shared__ int wsum[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x % warpSize, w = threadIdx.x / warpSize;
  int v = i < n ? in[i] : 0;
  int s = warp_inclusive(v);
  if (lane == 31) wsum[w] = s;
  __syncthreads();
  if (w == 0) {
    int x = lane < blockDim.x / 32 ? wsum[lane] : 0;
    wsum[lane] = warp_inclusive(x);
  }
  __syncthreads();
  if (w > 0) s += wsum[w - 1];
  if (i < n) out[i] = s;
  if (sums && threadIdx.x == blockDim.x - 1) sums[blockIdx.x] = s;
}

__global__ void add_offsets(int* out, const int* sums, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x > 0 && i < n) out[i] += sums[blockIdx.x - 1];
}

__global__ void serial_carry_scan(const int* in, int* out, int n) {
  __shared__ int buf[256];
  __shared__ int carry;
  if (threadIdx.x == 0) carry = 0;
  __syncthreads();
  for (int base = 0; base < n; base += 256) {
    int i = base + threadIdx.x;
    buf[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (int d = 1; d < 256; d <<= 1) {
      int add = threadIdx.x >= d ? buf[threadIdx.x - d] : 0;
      __syncthreads();
      buf[threadIdx.x] += add;
      __syncthreads();
    }
    if (i < n) out[i] = buf[threadIdx.x] + carry;
    __syncthreads();
    if (threadIdx.x == 255) carry += buf[255];
    __syncthreads();
  }
}

static void multi_level(const int* in, int* out, int* s1, int* s2, int n) {
  int blocks = (n + 255) / 256;
  scan_shuffle<<<blocks, 256>>>(in, out, s1, n);
  scan_shuffle<<<1, 256>>>(s1, s2, nullptr, blocks);
  add_offsets<<<blocks, 256>>>(out, s2, n);
}

int main(int argc, char** argv) {
  int n = (argc > 1) ? atoi(argv[1]) : 20000;
  std::vector<int> h(n), ref(n), got(n);
  for (int i = 0, acc = 0; i < n; ++i) { h[i] = i % 5; acc += h[i]; ref[i] = acc; }
  int *in, *out, *s1, *s2;
  cudaMalloc(&in, sizeof(int) * n);
  cudaMalloc(&out, sizeof(int) * n);
  cudaMalloc(&s1, 1024 * sizeof(int));
  cudaMalloc(&s2, 1024 * sizeof(int));
  cudaMemcpy(in, h.data(), sizeof(int) * n, cudaMemcpyHostToDevice);
  const int len = 512;
  blelloch<false><<<n / len, len / 2, len * sizeof(int)>>>(out, in, len);
  blelloch<true><<<n / len, len / 2, (len + len / 32) * sizeof(int)>>>(out, in, len);
  multi_level(in, out, s1, s2, n);
  cudaMemcpy(got.data(), out, sizeof(int) * n, cudaMemcpyDeviceToHost);
  int bad = got != ref;
  serial_carry_scan<<<1, 256>>>(in, out, 3000);
  cudaMemcpy(got.data(), out, sizeof(int) * n, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 3000; ++i) bad += got[i] != ref[i];
  printf(bad ? "FAILED\n" : "PASSED\n");
  return bad;
}
