// Run-length encoding by flags + scan + scatter; decode by binary search; stream compaction three ways
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cstdio>
#include <vector>
#include <algorithm>
namespace cg = cooperative_groups;

constexpr int BLK = 256, ITEMS = 8, TILE = BLK * ITEMS;

template <class F>
__device__ int block_exclusive_scan(F&& local, int& total) {
  __shared__ int ws[BLK / 32];
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int v = local();
  int inc = cg::inclusive_scan(warp, v, cg::plus<int>());
  if (warp.thread_rank() == 31) ws[warp.meta_group_rank()] = inc;
  __syncthreads();
  int before = 0;
  total = 0;
  for (int i = 0; i < BLK / 32; ++i) { if (i < warp.meta_group_rank()) before += ws[i]; total += ws[i]; }
  __syncthreads();
  return before + inc - v;
}

__global__ void tile_counts(const unsigned char* __restrict__ in, int n, int* cnt) {
  auto blk = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(blk);
  __shared__ int s;
  if (threadIdx.x == 0) s = 0;
  blk.sync();
  int c = 0;
  for (int k = 0; k < ITEMS; ++k) {
    int i = blockIdx.x * TILE + k * BLK + threadIdx.x;
    if (i < n) c += i == 0 || in[i] != in[i - 1];
  }
  c = cg::reduce(warp, c, cg::plus<int>());
  if (warp.thread_rank() == 0) atomicAdd(&s, c);
  blk.sync();
  if (threadIdx.x == 0) cnt[blockIdx.x] = s;
}

__global__ void scan_tiles(int* cnt, int nt, int* total) {   // one block
  int carry = 0;
  for (int b = 0; b < nt; b += BLK) {
    int i = b + threadIdx.x, t, v = i < nt ? cnt[i] : 0;
    int e = block_exclusive_scan([&] { return v; }, t);
    if (i < nt) cnt[i] = carry + e;
    carry += t;
  }
  if (threadIdx.x == 0) *total = carry;
}

// blocked arrangement: a thread reads 8 consecutive bytes
__global__ void write_heads(const unsigned char* __restrict__ in, int n, const int* __restrict__ tile_off, int* head, unsigned char* sym) {
  const int base = blockIdx.x * TILE + threadIdx.x * ITEMS;
  bool f[ITEMS];
  int c = 0, tot;
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    int i = base + k;
    f[k] = i < n && (i == 0 || in[i] != in[i - 1]);
    c += f[k];
  }
  int pos = tile_off[blockIdx.x] + block_exclusive_scan([&] { return c; }, tot);
#pragma unroll
  for (int k = 0; k < ITEMS; ++k)
    if (f[k]) { head[pos] = base + k; sym[pos] = in[base + k]; ++pos; }
}

__global__ void rle_decode(const int* __restrict__ head, const unsigned char* __restrict__ sym, int runs, unsigned char* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int lo = 0, hi = runs;
  while (hi - lo > 1) { int m = (lo + hi) >> 1; if (head[m] <= i) lo = m; else hi = m; }
  out[i] = sym[lo];
}

// keep runs longer than a threshold; unordered, warp aggregated by ballot
__global__ void long_runs(const int* head, int runs, int n, int minlen, int2* out, int* count) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  int len = r < runs ? (r + 1 < runs ? head[r + 1] : n) - head[r] : 0;
  bool keep = len >= minlen;
  unsigned b = __ballot_sync(0xffffffff, keep);
  int lane = threadIdx.x & 31, base = 0;
  if (lane == 0 && b) base = atomicAdd(count, __popc(b));
  base = __shfl_sync(0xffffffff, base, 0);
  if (keep) out[base + __popc(b & ((1u << lane) - 1))] = make_int2(head[r], len);
}

int main() {
  const int n = 6000011;
  std::vector<unsigned char> in(n), dec(n);
  unsigned s = 9;
  for (int i = 0; i < n;) {
    s = s * 1664525u + 1013904223u;
    int len = 1 + ((s >> 10) % ((s >> 25) % 5 == 0 ? 60 : 6));
    unsigned char c = s >> 28;
    for (int k = 0; k < len && i < n; ++k) in[i++] = c;
  }
  std::vector<int> head;
  for (int i = 0; i < n; ++i) if (!i || in[i] != in[i - 1]) head.push_back(i);
  const int nt = (n + TILE - 1) / TILE;
  unsigned char *din, *dsym, *ddec; int *dcnt, *dhead, *dtot; int2* dl;
  cudaMalloc(&din, n); cudaMalloc(&dsym, n); cudaMalloc(&ddec, n); cudaMalloc(&dcnt, nt * 4);
  cudaMalloc(&dhead, n * 4); cudaMallocManaged(&dtot, 8); cudaMalloc(&dl, n * sizeof(int2));
  cudaMemcpy(din, in.data(), n, cudaMemcpyHostToDevice);
  dtot[0] = dtot[1] = 0;
  tile_counts<<<nt, BLK>>>(din, n, dcnt);
  scan_tiles<<<1, BLK>>>(dcnt, nt, dtot);
  write_heads<<<nt, BLK>>>(din, n, dcnt, dhead, dsym);
  cudaDeviceSynchronize();
  int runs = dtot[0];
  rle_decode<<<(n + 255) / 256, 256>>>(dhead, dsym, runs, ddec, n);
  long_runs<<<(runs + 255) / 256, 256>>>(dhead, runs, n, 20, dl, dtot + 1);
  cudaDeviceSynchronize();
  int nl = dtot[1];
  std::vector<int> gh(runs); std::vector<int2> l(nl);
  cudaMemcpy(gh.data(), dhead, runs * 4, cudaMemcpyDeviceToHost); cudaMemcpy(dec.data(), ddec, n, cudaMemcpyDeviceToHost); cudaMemcpy(l.data(), dl, nl * sizeof(int2), cudaMemcpyDeviceToHost);
  long long s1 = 0, s2 = 0; int c2 = 0;
  for (auto& q : l) s1 += q.x ^ q.y;
  for (size_t r = 0; r < head.size(); ++r) { int len = (r + 1 < head.size() ? head[r + 1] : n) - head[r]; if (len >= 20) { c2++; s2 += head[r] ^ len; } }
  bool ok = gh == head && dec == in && c2 == nl && s1 == s2;
  printf("runs %d/%zu long %d/%d %s\n%s\n", runs, head.size(), nl, c2, cudaGetErrorString(cudaGetLastError()), ok ? "PASS" : "FAIL");
}
