/*
 * Collective-library internals on one device: R "ranks" are R buffers, a ring step is one launch.
 * Protocols: Simple (128-bit copies with an unaligned head/tail), LL (8-byte data + 8-byte flags
 * packed as {data, flag, data, flag}), LL128 (120 data bytes + 8 flag bytes per 128-byte line, shuffled
 * through the warp), a tree reduction with FuncSum/FuncMax/FuncPreMulSum, and an all-to-all pack.
 */
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <vector>

#define WARP_SIZE 32
#define DIVUP(x, y) (((x) + (y) - 1) / (y))
#define NCCL_LL128_LINESIZE 128
#define NCCL_LL128_LINEELEMS (NCCL_LL128_LINESIZE / sizeof(uint64_t))
#define NCCL_LL128_DATAELEMS (NCCL_LL128_LINEELEMS - 1)
#define MAXRANKS 8
#define CUDACHECK(cmd) do { cudaError_t e = cmd; if (e != cudaSuccess) { \
    printf("Failed: Cuda error %s:%d '%s'\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(EXIT_FAILURE); } } while (0)

union ncclLLFifoLine {
  struct { uint32_t data1; uint32_t flag1; uint32_t data2; uint32_t flag2; };
  uint64_t v[2];
  int4 i4;
};

struct ncclRanks { void *buf[MAXRANKS]; int n; };   // passed by value: pointers indexed by rank

template <typename T> struct FuncSum { using EltType = T; __device__ T operator()(T a, T b) const { return a + b; } };
template <typename T> struct FuncMax { using EltType = T; __device__ T operator()(T a, T b) const { return a < b ? b : a; } };
template <> struct FuncSum<half2> { using EltType = half2; __device__ half2 operator()(half2 a, half2 b) const { return __hadd2(a, b); } };

template <typename T, int N> struct alignas(sizeof(T) * N) BytePack { T e[N]; };

// ---- Simple protocol: one ring reduce-scatter step, dst chunk = fn(dst, src) -----------------------------
// chunk offsets need not be 16-byte aligned: scalar head until aligned, then packs, then scalar tail.
template <typename Fn>
__global__ void __launch_bounds__(512) ringStepSimple(ncclRanks r, int step, size_t count, size_t chunk) {
  using T = typename Fn::EltType;
  constexpr int N = 16 / sizeof(T);
  const int rank = blockIdx.y, next = (rank + 1) % r.n;
  const int c = (rank - step + r.n) % r.n;
  const size_t off = c * chunk;
  if (off >= count) return;
  const size_t len = min(chunk, count - off);
  const T *src = (const T *)r.buf[rank] + off;
  T *dst = (T *)r.buf[next] + off;
  const int tid = blockIdx.x * blockDim.x + threadIdx.x, nthreads = gridDim.x * blockDim.x;
  const size_t mis = ((uintptr_t)src % 16) / sizeof(T);
  size_t head = mis ? N - mis : 0;
  if (head > len) head = len;
  Fn fn;
  if ((size_t)tid < head) dst[tid] = fn(dst[tid], src[tid]);
  const size_t packs = (len - head) / N;
  for (size_t i = tid; i < packs; i += nthreads) {
    BytePack<T, N> a = ((const BytePack<T, N> *)(src + head))[i], b = ((const BytePack<T, N> *)(dst + head))[i];
#pragma unroll
    for (int k = 0; k < N; k++) b.e[k] = fn(b.e[k], a.e[k]);
    ((BytePack<T, N> *)(dst + head))[i] = b;
  }
  for (size_t i = head + packs * N + tid; i < len; i += nthreads) dst[i] = fn(dst[i], src[i]);
}

// ---- LL: pack a user buffer into FIFO lines and back ------------------------------------------------------
__global__ void llSend(const uint64_t *__restrict__ user, ncclLLFifoLine *__restrict__ fifo, int nelem, uint32_t flag) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < nelem; i += gridDim.x * blockDim.x) {
    const uint64_t val = user[i];
    ncclLLFifoLine l;
    l.data1 = val & 0xffffffff; l.flag1 = flag; l.data2 = val >> 32; l.flag2 = flag;
    fifo[i].i4 = l.i4;
  }
}

__global__ void llRecvReduce(const ncclLLFifoLine *__restrict__ fifo, float2 *__restrict__ user, int nelem, uint32_t flag, int *__restrict__ err) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < nelem; i += gridDim.x * blockDim.x) {
    ncclLLFifoLine l;
    l.i4 = fifo[i].i4;
    if (l.flag1 != flag || l.flag2 != flag) { atomicAdd(err, 1); continue; }
    float2 v = user[i];
    v.x += __uint_as_float(l.data1);
    v.y += __uint_as_float(l.data2);
    user[i] = v;
  }
}

// ---- LL128: every 8th thread owns the flag word of its 128-byte line -----------------------------------
// user data is contiguous, 15 words of 8 bytes... per pair of loads: each thread carries two 64-bit words,
// the flag thread carries one word and the flag.
__global__ void ll128Store(const uint64_t *__restrict__ user, uint64_t *__restrict__ fifo, int nlines, uint64_t flag) {
  __shared__ uint64_t stage[8][WARP_SIZE * 2];
  const int wid = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;
  const bool flagThread = wid % 8 == 7;
  const int warpLine = (blockIdx.x * 8 + warp) * 4;        // 4 lines of 16 words per warp
  // shared staging: 4 * 15 data words, loaded contiguously
  for (int w = wid; w < 60; w += WARP_SIZE) {
    const int64_t g = (int64_t)warpLine * 15 + w;
    stage[warp][w] = g < (int64_t)nlines * 15 ? user[g] : 0;
  }
  __syncwarp();
  const int line = wid / 8, pos = wid % 8;
  ulonglong2 v;
  v.x = stage[warp][line * 15 + pos * 2];
  v.y = flagThread ? flag : stage[warp][line * 15 + pos * 2 + 1];
  if (warpLine + line < nlines) *(ulonglong2 *)(fifo + (size_t)(warpLine + line) * 16 + pos * 2) = v;
}

__global__ void ll128Load(const uint64_t *__restrict__ fifo, uint64_t *__restrict__ user, int nlines, uint64_t flag, int *__restrict__ err) {
  const int wid = threadIdx.x % WARP_SIZE;
  const bool flagThread = wid % 8 == 7;
  const int line = (blockIdx.x * blockDim.x + threadIdx.x) / 8, pos = wid % 8;
  ulonglong2 v = make_ulonglong2(0, flag);
  if (line < nlines) v = *(const ulonglong2 *)(fifo + (size_t)line * 16 + pos * 2);
  const bool needReload = flagThread && v.y != flag;
  if (__any_sync(0xffffffff, needReload)) { if (wid == 0) atomicAdd(err, 1); return; }
  if (line >= nlines) return;
  user[(size_t)line * 15 + pos * 2] = v.x;                         // 120-byte pitch: never 16-byte aligned pairs
  if (!flagThread) user[(size_t)line * 15 + pos * 2 + 1] = v.y;
}

// ---- tree: reduce all ranks at once, MultimemReduce-free "one shot" all-reduce -----------------------------
template <typename Fn, int RANKS>
__global__ void oneShotAllReduce(ncclRanks r, typename Fn::EltType *__restrict__ out, int count) {
  using T = typename Fn::EltType;
  Fn fn;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  T acc = ((const T *)r.buf[0])[i];
#pragma unroll
  for (int k = 1; k < RANKS; k++) acc = fn(acc, ((const T *)r.buf[k])[i]);
  out[i] = acc;
}

// ---- all-to-all pack: rows routed to destination ranks, row bytes not a multiple of 16 -------------------
__global__ void alltoallPack(const float *__restrict__ rows, const int *__restrict__ dest, const int *__restrict__ slot, float *__restrict__ send,
                             int nrows, int rowElems, int cap) {
  const int row = blockIdx.x * (blockDim.x / WARP_SIZE) + threadIdx.x / WARP_SIZE, lane = threadIdx.x % WARP_SIZE;
  if (row >= nrows) return;
  const float *s = rows + (size_t)row * rowElems;
  float *d = send + ((size_t)dest[row] * cap + slot[row]) * rowElems;
  for (int i = lane; i < rowElems; i += WARP_SIZE) d[i] = s[i];
}

template <typename T> static T *devAlloc(size_t n) { T *p; CUDACHECK(cudaMalloc(&p, n * sizeof(T))); CUDACHECK(cudaMemset(p, 0, n * sizeof(T))); return p; }
static uint64_t seed = 0x853c49e6748fea9bULL;
static uint32_t rnd() { seed = seed * 6364136223846793005ULL + 1442695040888963407ULL; return (uint32_t)(seed >> 33); }

int main(int argc, char **argv) {
  const int R = 5;
  const size_t count = argc > 1 ? atoi(argv[1]) : 40009;
  int fail = 0;

  // ring reduce-scatter in float (small integers, so every order is exact)
  const size_t chunk = DIVUP(count, R) | 1;          // odd on purpose: chunks start off 16 bytes
  std::vector<std::vector<float>> h(R, std::vector<float>(count));
  std::vector<float> sum(count, 0.f), mx(count, -1e9f), got(count);
  ncclRanks ranks{};
  ranks.n = R;
  for (int k = 0; k < R; k++) {
    for (size_t i = 0; i < count; i++) { h[k][i] = (float)(int)(rnd() % 513) - 256; sum[i] += h[k][i]; mx[i] = fmaxf(mx[i], h[k][i]); }
    ranks.buf[k] = devAlloc<float>(count);
    CUDACHECK(cudaMemcpy(ranks.buf[k], h[k].data(), count * 4, cudaMemcpyHostToDevice));
  }
  float *out = devAlloc<float>(count);
  oneShotAllReduce<FuncSum<float>, R><<<DIVUP((int)count, 256), 256>>>(ranks, out, (int)count);
  CUDACHECK(cudaMemcpy(got.data(), out, count * 4, cudaMemcpyDeviceToHost));
  fail |= memcmp(got.data(), sum.data(), count * 4) != 0;
  oneShotAllReduce<FuncMax<float>, R><<<DIVUP((int)count, 256), 256>>>(ranks, out, (int)count);
  CUDACHECK(cudaMemcpy(got.data(), out, count * 4, cudaMemcpyDeviceToHost));
  fail |= memcmp(got.data(), mx.data(), count * 4) != 0;
  printf("one shot: %s\n", fail ? "bad" : "ok");
  for (int step = 0; step < R - 1; step++) ringStepSimple<FuncSum<float>><<<dim3(4, R), 256>>>(ranks, step, count, chunk);
  CUDACHECK(cudaDeviceSynchronize());
  int bad = 0;
  for (int k = 0; k < R; k++) {                      // rank k now owns the complete chunk (k + 1) % R
    CUDACHECK(cudaMemcpy(got.data(), ranks.buf[k], count * 4, cudaMemcpyDeviceToHost));
    const size_t b = (size_t)((k + 1) % R) * chunk;
    for (size_t i = b; i < b + chunk && i < count; i++) bad += got[i] != sum[i];
  }
  printf("ring simple: %d bad\n", bad);
  fail |= bad != 0;

  // the same ring step once in half2 (two ranks only)
  const int hc = 8190;
  std::vector<half2> ha(hc), hb(hc), hg(hc);
  for (int i = 0; i < hc; i++) { ha[i] = __floats2half2_rn((float)(int)(rnd() % 65) - 32, (float)(rnd() % 33)); hb[i] = __floats2half2_rn((float)(rnd() % 65), 1.0f); }
  ncclRanks two{};
  two.n = 2;
  two.buf[0] = devAlloc<half2>(hc); two.buf[1] = devAlloc<half2>(hc);
  CUDACHECK(cudaMemcpy(two.buf[0], ha.data(), hc * 4, cudaMemcpyHostToDevice));
  CUDACHECK(cudaMemcpy(two.buf[1], hb.data(), hc * 4, cudaMemcpyHostToDevice));
  ringStepSimple<FuncSum<half2>><<<dim3(2, 2), 128>>>(two, 0, hc, hc / 2);
  bad = 0;
  for (int k = 0; k < 2; k++) {
    CUDACHECK(cudaMemcpy(hg.data(), two.buf[k], hc * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < hc / 2; i++) {
      const int q = (k == 1 ? 0 : hc / 2) + i;       // rank 1 received chunk 0, rank 0 received chunk 1
      const float2 a = __half22float2(ha[q]), b = __half22float2(hb[q]), g = __half22float2(hg[q]);
      bad += a.x + b.x != g.x || a.y + b.y != g.y;
    }
  }
  printf("ring half2: %d bad\n", bad);
  fail |= bad != 0;

  // LL
  const int nelem = (int)count / 2;
  ncclLLFifoLine *fifo = devAlloc<ncclLLFifoLine>(nelem);
  int *err = devAlloc<int>(1), herr;
  float *fa = devAlloc<float>(count), *fb = devAlloc<float>(count);
  CUDACHECK(cudaMemcpy(fa, h[0].data(), count * 4, cudaMemcpyHostToDevice));
  CUDACHECK(cudaMemcpy(fb, h[1].data(), count * 4, cudaMemcpyHostToDevice));
  llSend<<<16, 512>>>((const uint64_t *)fa, fifo, nelem, 7);
  llRecvReduce<<<16, 512>>>(fifo, (float2 *)fb, nelem, 7, err);
  CUDACHECK(cudaMemcpy(got.data(), fb, count * 4, cudaMemcpyDeviceToHost));
  bad = 0;
  for (int i = 0; i < nelem * 2; i++) bad += got[i] != h[0][i] + h[1][i];
  // LL128
  const int nlines = 1501;
  std::vector<uint64_t> u(nlines * 15), ug(nlines * 15);
  for (auto &x : u) x = ((uint64_t)rnd() << 32) | rnd();
  uint64_t *du = devAlloc<uint64_t>(u.size()), *dl = devAlloc<uint64_t>((size_t)nlines * 16), *dv = devAlloc<uint64_t>(u.size());
  CUDACHECK(cudaMemcpy(du, u.data(), u.size() * 8, cudaMemcpyHostToDevice));
  ll128Store<<<DIVUP(nlines, 32), 256>>>(du, dl, nlines, 99);
  ll128Load<<<DIVUP(nlines * 8, 256), 256>>>(dl, dv, nlines, 99, err);
  CUDACHECK(cudaMemcpy(ug.data(), dv, ug.size() * 8, cudaMemcpyDeviceToHost));
  CUDACHECK(cudaMemcpy(&herr, err, 4, cudaMemcpyDeviceToHost));
  const int bad128 = memcmp(u.data(), ug.data(), u.size() * 8) != 0;
  printf("LL %d bad, LL128 %s, flag errors %d\n", bad, bad128 ? "bad" : "ok", herr);
  fail |= bad != 0 || bad128 || herr;

  // all-to-all
  const int nrows = 1200, rowElems = 77, cap = 400;
  std::vector<float> rows((size_t)nrows * rowElems), send((size_t)R * cap * rowElems, 0.f), sg(send.size());
  std::vector<int> dest(nrows), slot(nrows), fill(R, 0);
  for (int i = 0; i < nrows; i++) {
    do dest[i] = rnd() % R; while (fill[dest[i]] == cap);
    slot[i] = fill[dest[i]]++;
    for (int k = 0; k < rowElems; k++) send[((size_t)dest[i] * cap + slot[i]) * rowElems + k] = rows[(size_t)i * rowElems + k] = (float)(rnd() % 1000);
  }
  float *dr = devAlloc<float>(rows.size()), *dsnd = devAlloc<float>(send.size());
  int *dd = devAlloc<int>(nrows), *ds = devAlloc<int>(nrows);
  CUDACHECK(cudaMemcpy(dr, rows.data(), rows.size() * 4, cudaMemcpyHostToDevice));
  CUDACHECK(cudaMemcpy(dd, dest.data(), nrows * 4, cudaMemcpyHostToDevice));
  CUDACHECK(cudaMemcpy(ds, slot.data(), nrows * 4, cudaMemcpyHostToDevice));
  alltoallPack<<<DIVUP(nrows, 8), 256>>>(dr, dd, ds, dsnd, nrows, rowElems, cap);
  CUDACHECK(cudaMemcpy(sg.data(), dsnd, sg.size() * 4, cudaMemcpyDeviceToHost));
  bad = memcmp(sg.data(), send.data(), sg.size() * 4) != 0;
  printf("all-to-all %s\n", bad ? "bad" : "ok");
  fail |= bad;
  puts(fail ? "FAIL" : "PASS");
  return fail;
}
