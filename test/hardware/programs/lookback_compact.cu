// Single-pass scan with decoupled look-back, stream compaction by ballot, run-length encode.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TPB 128
#define IPT 4
#define FLAG_A (1ull << 62)
#define FLAG_P (2ull << 62)

__global__ void scan_lookback(const unsigned* __restrict__ in, unsigned* __restrict__ out, volatile unsigned long long* status, int n) {
  __shared__ unsigned warp_tot[TPB / 32];
  __shared__ unsigned s_prefix;
  const int tile = blockIdx.x;
  const int lane = threadIdx.x & 31, wid = threadIdx.x >> 5;
  unsigned item[IPT];
  int first = tile * TPB * IPT + threadIdx.x * IPT;
  if (first + IPT <= n) {
    uint4 v = *reinterpret_cast<const uint4*>(in + first);
    item[0] = v.x; item[1] = v.y; item[2] = v.z; item[3] = v.w;
  } else {
#pragma unroll
    for (int i = 0; i < IPT; ++i) item[i] = first + i < n ? in[first + i] : 0;
  }
#pragma unroll
  for (int i = 1; i < IPT; ++i) item[i] += item[i - 1];
  unsigned sum = item[IPT - 1], inc = sum;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    unsigned o = __shfl_up_sync(~0u, inc, d);
    if (lane >= d) inc += o;
  }
  if (lane == 31) warp_tot[wid] = inc;
  __syncthreads();
  unsigned before = 0, total = 0;
#pragma unroll
  for (int w = 0; w < TPB / 32; ++w) {
    if (w < wid) before += warp_tot[w];
    total += warp_tot[w];
  }
  if (threadIdx.x == 0) {
    if (tile == 0) {
      status[0] = FLAG_P | total;
      s_prefix = 0;
    } else {
      status[tile] = FLAG_A | total;
      __threadfence();
      unsigned run = 0;
      int look = tile - 1;
      while (true) {
        unsigned long long s = status[look];
        if ((s >> 62) == 0) continue;
        run += (unsigned)s;
        if ((s >> 62) == 2) break;
        --look;
      }
      status[tile] = FLAG_P | (unsigned long long)(run + total);
      s_prefix = run;
    }
  }
  __syncthreads();
  unsigned base = s_prefix + before + inc - sum;
#pragma unroll
  for (int i = 0; i < IPT; ++i)
    if (first + i < n) out[first + i] = base + item[i];
}

template <typename Pred>
__global__ void compact(const int* __restrict__ in, int* __restrict__ out, int* counter, int n, Pred pred) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = i < n ? in[i] : 0;
  bool keep = i < n && pred(v);
  unsigned m = __ballot_sync(0xffffffff, keep);
  int lane = threadIdx.x & 31, leader = 0, base = 0;
  if (lane == leader) base = atomicAdd(counter, __popc(m));
  base = __shfl_sync(0xffffffff, base, leader);
  if (keep) out[base + __popc(m & ((1u << lane) - 1))] = v;
}

struct Even { __device__ bool operator()(int v) const { return !(v & 1); } };
struct Above { int limit; __device__ bool operator()(int v) const { return v > limit; } };

__global__ void rle_heads(const unsigned char* s, int n, unsigned* head) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) head[i] = i == 0 || s[i] != s[i - 1];
}

__global__ void rle_emit(const unsigned char* s, const unsigned* pos, int n, unsigned char* sym, int* start) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i == 0 || s[i] != s[i - 1]) {
    unsigned p = pos[i] - 1;
    sym[p] = s[i];
    start[p] = i;
  }
}

int main(int argc, char** argv) {
  int n = argc > 1 ? atoi(argv[1]) : 10000;
  std::vector<unsigned char> text(n);
  for (int i = 0; i < n; ++i) text[i] = 'a' + (i / (1 + i % 7)) % 26;
  std::vector<int> nums(n);
  for (int i = 0; i < n; ++i) nums[i] = (i * 31) % 1000;
  unsigned char *dt, *dsym;
  unsigned *head, *pos;
  unsigned long long* status;
  int *din, *dout, *cnt, *start;
  cudaMalloc(&dt, n); cudaMalloc(&dsym, n);
  cudaMalloc(&head, n * 4); cudaMalloc(&pos, n * 4);
  cudaMalloc(&din, n * 4); cudaMalloc(&dout, n * 4); cudaMalloc(&cnt, 4); cudaMalloc(&start, n * 4);
  const int tiles = (n + TPB * IPT - 1) / (TPB * IPT);
  cudaMalloc(&status, tiles * sizeof(unsigned long long));
  cudaMemset(status, 0, tiles * sizeof(unsigned long long));
  cudaMemcpy(dt, text.data(), n, cudaMemcpyHostToDevice);
  cudaMemcpy(din, nums.data(), n * 4, cudaMemcpyHostToDevice);
  const int g = (n + 255) / 256;
  rle_heads<<<g, 256>>>(dt, n, head);
  scan_lookback<<<tiles, TPB>>>(head, pos, status, n);
  rle_emit<<<g, 256>>>(dt, pos, n, dsym, start);
  cudaMemset(cnt, 0, 4);
  compact<<<g, 256>>>(din, dout, cnt, n, Even());
  int evens = 0;
  cudaMemcpy(&evens, cnt, 4, cudaMemcpyDeviceToHost);
  cudaMemset(cnt, 0, 4);
  compact<<<g, 256>>>(din, dout, cnt, n, Above{900});
  unsigned runs = 0;
  cudaMemcpy(&runs, pos + n - 1, 4, cudaMemcpyDeviceToHost);
  unsigned want = 1;
  for (int i = 1; i < n; ++i) want += text[i] != text[i - 1];
  printf("runs %u (%u), evens %d\n", runs, want, evens);
  return runs != want;
}
