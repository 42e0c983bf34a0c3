// Monte Carlo: pi by xorshift, option paths with LCG states AoS/SoA, random walk histogram in shared memory.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

struct Xorshift {
  uint32_t x, y, z, w;
  __device__ explicit Xorshift(uint32_t seed) : x(seed), y(362436069u), z(521288629u), w(88675123u) {}
  __device__ uint32_t next() {
    uint32_t t = x ^ (x << 11);
    x = y; y = z; z = w;
    return w = w ^ (w >> 19) ^ t ^ (t >> 8);
  }
  __device__ float uniform() { return next() * 2.3283064e-10f; }
};

__global__ void pi_kernel(unsigned long long* hits, int per_thread) {
  __shared__ unsigned counts[256];
  Xorshift rng(blockIdx.x * blockDim.x + threadIdx.x + 1);
  unsigned in = 0;
  for (int i = 0; i < per_thread; ++i) {
    float a = rng.uniform(), b = rng.uniform();
    in += a * a + b * b <= 1.0f;
  }
  counts[threadIdx.x] = in;
  __syncthreads();
  for (int s = blockDim.x >> 1; s; s >>= 1) {
    if (threadIdx.x < s) counts[threadIdx.x] += counts[threadIdx.x + s];
    __syncthreads();
  }
  if (!threadIdx.x) atomicAdd(hits, (unsigned long long)counts[0]);
}

struct PathState { uint64_t seed; float price; float best; };

__global__ void init_paths(PathState* st, int n, float s0) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    st[i].seed = 88172645463325252ull + i;
    st[i].price = s0;
    st[i].best = s0;
  }
}

__global__ void step_paths(PathState* st, int n, float mu, float sigma, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  PathState s = st[i];
  for (int t = 0; t < steps; ++t) {
    s.seed = s.seed * 6364136223846793005ull + 1442695040888963407ull;
    float u = (uint32_t)(s.seed >> 33) * 4.656612e-10f;
    s.price *= expf(mu + sigma * (u - 0.5f));
    s.best = fmaxf(s.best, s.price);
  }
  st[i] = s;
}

__global__ void payoff(const PathState* __restrict__ st, int n, float strike, float* __restrict__ sums) {
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) v += fmaxf(st[i].best - strike, 0.f);
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
  __shared__ float part[32];
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    float t = 0;
    for (int w = 0; w < blockDim.x / 32; ++w) t += part[w];
    sums[blockIdx.x] = t;
  }
}

__global__ void walk_hist(uint32_t* __restrict__ states, int* __restrict__ hist, int steps) {
  __shared__ int h[64];
  if (threadIdx.x < 64) h[threadIdx.x] = 0;
  __syncthreads();
  const int g = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t s = states[g];
  int pos = 32;
  for (int i = 0; i < steps; i++) {
    s ^= s << 13; s ^= s >> 17; s ^= s << 5;
    pos += (s & 1) ? 1 : -1;
    pos = pos < 0 ? 0 : pos > 63 ? 63 : pos;
  }
  states[g] = s;
  atomicAdd(&h[pos], 1);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&hist[threadIdx.x], h[threadIdx.x]);
}

int main(int argc, char** argv) {
  int paths = argc > 1 ? atoi(argv[1]) : 5000;
  unsigned long long *hits, hh = 0;
  cudaMalloc(&hits, sizeof(hh));
  cudaMemset(hits, 0, sizeof(hh));
  const int blocks = 24, threads = 256, per = 100;
  pi_kernel<<<blocks, threads>>>(hits, per);
  cudaMemcpy(&hh, hits, sizeof(hh), cudaMemcpyDeviceToHost);
  double pi = 4.0 * hh / ((double)blocks * threads * per);
  PathState* st;
  float* sums;
  cudaMalloc(&st, paths * sizeof(PathState));
  cudaMalloc(&sums, 16 * sizeof(float));
  int g = (paths + 127) / 128;
  init_paths<<<g, 128>>>(st, paths, 100.f);
  for (int day = 0; day < 5; ++day) step_paths<<<g, 128>>>(st, paths, 0.0001f, 0.02f, 10);
  payoff<<<16, 128>>>(st, paths, 100.f, sums);
  uint32_t* rs;
  int* hist;
  cudaMalloc(&rs, 20 * 128 * 4);
  cudaMalloc(&hist, 64 * 4);
  cudaMemset(hist, 0, 64 * 4);
  uint32_t init[20 * 128];
  for (int i = 0; i < 20 * 128; ++i) init[i] = 2463534242u ^ (i * 2654435769u);
  cudaMemcpy(rs, init, sizeof init, cudaMemcpyHostToDevice);
  walk_hist<<<20, 128>>>(rs, hist, 50);
  int hb[64], total = 0;
  cudaMemcpy(hb, hist, sizeof hb, cudaMemcpyDeviceToHost);
  for (int b : hb) total += b;
  printf("pi %.4f walks %d\n", pi, total);
  return total != 20 * 128 || fabs(pi - 3.14) > 0.1;
}
