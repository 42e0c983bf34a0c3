// Nearest-neighbour search of a query in a long signal under constrained DTW.
// Cascade as in the UCR suite: sliding mean/std -> LB_Kim -> LB_Keogh -> banded DTW -> argmin.
#include <cuda_runtime.h>
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define QLEN 128
#define BAND 12
#define SLEN 32768
#define STRIDE 4
#define NWIN ((SLEN - QLEN) / STRIDE + 1)

#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line)
{
  if (code != cudaSuccess) {
    fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
    exit(code);
  }
}

__constant__ float c_query[QLEN];

// mean and 1/std of every candidate window, brute force
__global__ void window_stats(const float *__restrict__ s, float2 *__restrict__ stats)
{
  int w = blockIdx.x * blockDim.x + threadIdx.x;
  if (w >= NWIN) return;
  const float *p = s + w * STRIDE;
  float m = 0.f;
  float m2 = 0.f;
  for (int i = 0; i < QLEN; ++i) {
    float v = p[i];
    m += v;
    m2 += v * v;
  }
  m /= QLEN;
  float var = fmaxf(m2 / QLEN - m * m, 1e-6f);
  stats[w] = make_float2(m, 1.0f / sqrtf(var));
}

// warp per window: LB_Keogh against the query envelope
__global__ void lb_keogh(const float *__restrict__ s, const float2 *__restrict__ stats,
                         const float *__restrict__ lower, const float *__restrict__ upper,
                         float *__restrict__ lb)
{
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int lane = threadIdx.x % 32;
  if (warp >= NWIN) return;
  float2 st = stats[warp];
  float acc = 0.f;
  for (int i = lane; i < QLEN; i += 32) {
    float x = (s[warp * STRIDE + i] - st.x) * st.y;
    float hi = fmaxf(x - upper[i], 0.f);
    float lo = fmaxf(lower[i] - x, 0.f);
    acc += hi * hi + lo * lo;
  }
  for (int o = 16; o > 0; o /= 2) acc += __shfl_down_sync(0xffffffff, acc, o);
  if (lane == 0) lb[warp] = acc;
}

// compaction of the windows whose bound is below the threshold (order is irrelevant)
__global__ void select_candidates(const float *lb, float thr, int *list, int *count)
{
  int w = blockIdx.x * blockDim.x + threadIdx.x;
  bool keep = w < NWIN && lb[w] < thr;
  unsigned m = __ballot_sync(0xffffffff, keep);
  int lane = threadIdx.x & 31;
  int base = 0;
  if (lane == 0 && m) base = atomicAdd(count, __popc(m));
  base = __shfl_sync(0xffffffff, base, 0);
  if (keep) list[base + __popc(m & ((1u << lane) - 1))] = w;
}

// thread per candidate; the two band rows live in a global scratch area. The first port kept
// scratch[cand][cell]; the second one scratch[cell][cand].
template <bool INTERLEAVED>
__global__ void dtw_thread(const float *s, const float2 *stats, const int *list, const int *count,
                           float *scratch, float *dist)
{
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int n = *count;
  if (c >= n) return;
  const int width = 2 * BAND + 3;
  int w = list[c];
  float2 st = stats[w];
  const float *x = s + w * STRIDE;
  auto cell = [&](int row, int k) -> float & {
    int idx = row * width + k;
    return INTERLEAVED ? scratch[idx * NWIN + c] : scratch[c * 2 * width + idx];
  };
  // k = j - i + BAND + 1 ; cells 0 and width-1 are guards
  for (int k = 0; k < width; ++k) {
    cell(0, k) = FLT_MAX;
    cell(1, k) = FLT_MAX;
  }
  int cur = 0;
  for (int i = 0; i < QLEN; ++i) {
    float q = c_query[i];
    for (int k = 1; k < width - 1; ++k) {
      int j = i + k - BAND - 1;
      float v = FLT_MAX;
      if (j >= 0 && j < QLEN) {
        float d = q - (x[j] - st.x) * st.y;
        float best = fminf(fminf(cell(cur ^ 1, k), cell(cur ^ 1, k + 1)), cell(cur, k - 1));
        if (i == 0 && j == 0) best = 0.f;
        v = best + d * d;
      }
      cell(cur, k) = v;
    }
    cur ^= 1;
  }
  dist[c] = cell(cur ^ 1, BAND + 1);
}

// block of 32 threads per candidate, wavefront over anti-diagonals, full matrix rows in shared memory
__global__ void dtw_wavefront(const float *s, const float2 *stats, const int *list, const int *count, float *dist)
{
  __shared__ float x[QLEN];
  __shared__ float diag[3][QLEN + 1];
  int c = blockIdx.x;
  if (c >= *count) return;
  int w = list[c];
  float2 st = stats[w];
  int t = threadIdx.x;
  for (int i = t; i < QLEN; i += 32) x[i] = (s[w * STRIDE + i] - st.x) * st.y;
  for (int i = t; i < 3 * (QLEN + 1); i += 32) (&diag[0][0])[i] = FLT_MAX;
  __syncthreads();
  // diag[d % 3][i + 1] holds D(i, d - i)
  for (int d = 0; d <= 2 * (QLEN - 1); ++d) {
    float *now = diag[d % 3];
    float *p1 = diag[(d + 2) % 3];
    float *p2 = diag[(d + 1) % 3];
    int lo = max(max(0, d - QLEN + 1), (d - BAND + 1) / 2 - 1);
    int hi = min(min(QLEN - 1, d), (d + BAND) / 2 + 1);
    lo = max(lo, 0);
    hi = min(hi, QLEN - 1);
    for (int i = lo + t; i <= hi; i += 32) {
      int j = d - i;
      float v = FLT_MAX;
      if (j >= 0 && j < QLEN && abs(i - j) <= BAND) {
        float e = c_query[i] - x[j];
        float best = fminf(fminf(p1[i], p1[i + 1]), p2[i]);
        if (d == 0) best = 0.f;
        v = best + e * e;
      }
      now[i + 1] = v;
    }
    __syncthreads();
  }
  if (t == 0) dist[c] = diag[(2 * (QLEN - 1)) % 3][QLEN];
}

__global__ void argmin_kernel(const float *dist, const int *list, const int *count, unsigned long long *best)
{
  __shared__ unsigned long long sh[256];
  unsigned long long b = ~0ull;
  for (int i = threadIdx.x; i < *count; i += blockDim.x) {
    unsigned long long key = ((unsigned long long)__float_as_uint(dist[i]) << 32) | (unsigned)list[i];
    b = key < b ? key : b;
  }
  sh[threadIdx.x] = b;
  __syncthreads();
  for (int o = 128; o > 0; o >>= 1) {
    if (threadIdx.x < o && sh[threadIdx.x + o] < sh[threadIdx.x]) sh[threadIdx.x] = sh[threadIdx.x + o];
    __syncthreads();
  }
  if (threadIdx.x == 0) *best = sh[0];
}

static float cpu_dtw(const float *q, const float *s, int w, float m, float is)
{
  std::vector<float> prev(QLEN + 1, FLT_MAX), cur(QLEN + 1, FLT_MAX);
  for (int i = 0; i < QLEN; ++i) {
    std::fill(cur.begin(), cur.end(), FLT_MAX);
    for (int j = std::max(0, i - BAND); j <= std::min(QLEN - 1, i + BAND); ++j) {
      float e = q[i] - (s[w * STRIDE + j] - m) * is;
      float best = std::min(std::min(prev[j], prev[j + 1]), cur[j]);
      if (i == 0 && j == 0) best = 0;
      cur[j + 1] = best + e * e;
    }
    std::swap(prev, cur);
  }
  return prev[QLEN];
}

int main()
{
  std::vector<float> s(SLEN), q(QLEN), lo(QLEN), up(QLEN);
  unsigned r = 1;
  float walk = 0;
  for (int i = 0; i < SLEN; ++i) {
    r = r * 1664525u + 1013904223u;
    walk = 0.97f * walk + ((r >> 9) / 8388608.0f - 0.5f);
    s[i] = walk + sinf(0.05f * i);
  }
  double qm = 0, qs = 0;
  for (int i = 0; i < QLEN; ++i) {
    q[i] = s[20000 + (int)(i * 0.97f + 2 * sinf(0.05f * i) + 2)];
    qm += q[i];
    qs += q[i] * q[i];
  }
  qm /= QLEN;
  qs = sqrt(qs / QLEN - qm * qm);
  for (auto &v : q) v = (float)((v - qm) / qs);
  for (int i = 0; i < QLEN; ++i) {
    lo[i] = *std::min_element(q.begin() + std::max(0, i - BAND), q.begin() + std::min(QLEN, i + BAND + 1));
    up[i] = *std::max_element(q.begin() + std::max(0, i - BAND), q.begin() + std::min(QLEN, i + BAND + 1));
  }
  float *ds, *dlo, *dup, *dlb, *dscr, *d1, *d2, *d3;
  float2 *dst;
  int *dlist, *dcnt;
  unsigned long long *dbest;
  gpuErrchk(cudaMalloc(&ds, SLEN * 4));
  gpuErrchk(cudaMalloc(&dlo, QLEN * 4));
  gpuErrchk(cudaMalloc(&dup, QLEN * 4));
  gpuErrchk(cudaMalloc(&dlb, NWIN * 4));
  gpuErrchk(cudaMalloc(&dscr, (size_t)NWIN * 2 * (2 * BAND + 3) * 4));
  gpuErrchk(cudaMalloc(&d1, NWIN * 4));
  gpuErrchk(cudaMalloc(&d2, NWIN * 4));
  gpuErrchk(cudaMalloc(&d3, NWIN * 4));
  gpuErrchk(cudaMalloc(&dst, NWIN * sizeof(float2)));
  gpuErrchk(cudaMalloc(&dlist, NWIN * 4));
  gpuErrchk(cudaMalloc(&dcnt, 4));
  gpuErrchk(cudaMalloc(&dbest, 8));
  gpuErrchk(cudaMemset(dcnt, 0, 4));
  gpuErrchk(cudaMemcpyToSymbol(c_query, q.data(), QLEN * 4));
  gpuErrchk(cudaMemcpy(ds, s.data(), SLEN * 4, cudaMemcpyHostToDevice));
  gpuErrchk(cudaMemcpy(dlo, lo.data(), QLEN * 4, cudaMemcpyHostToDevice));
  gpuErrchk(cudaMemcpy(dup, up.data(), QLEN * 4, cudaMemcpyHostToDevice));

  const float thr = 60.0f;
  window_stats<<<(NWIN + 127) / 128, 128>>>(ds, dst);
  lb_keogh<<<(NWIN * 32 + 127) / 128, 128>>>(ds, dst, dlo, dup, dlb);
  select_candidates<<<(NWIN + 255) / 256, 256>>>(dlb, thr, dlist, dcnt);
  dtw_thread<false><<<(NWIN + 63) / 64, 64>>>(ds, dst, dlist, dcnt, dscr, d1);
  dtw_thread<true><<<(NWIN + 63) / 64, 64>>>(ds, dst, dlist, dcnt, dscr, d2);
  dtw_wavefront<<<NWIN, 32>>>(ds, dst, dlist, dcnt, d3);
  argmin_kernel<<<1, 256>>>(d3, dlist, dcnt, dbest);
  gpuErrchk(cudaGetLastError());
  gpuErrchk(cudaDeviceSynchronize());

  int cnt = 0;
  unsigned long long best = 0;
  std::vector<float> h1(NWIN), h2(NWIN), h3(NWIN), lb(NWIN);
  std::vector<float2> st(NWIN);
  std::vector<int> list(NWIN);
  gpuErrchk(cudaMemcpy(&cnt, dcnt, 4, cudaMemcpyDeviceToHost));
  gpuErrchk(cudaMemcpy(&best, dbest, 8, cudaMemcpyDeviceToHost));
  gpuErrchk(cudaMemcpy(h1.data(), d1, NWIN * 4, cudaMemcpyDeviceToHost));
  gpuErrchk(cudaMemcpy(h2.data(), d2, NWIN * 4, cudaMemcpyDeviceToHost));
  gpuErrchk(cudaMemcpy(h3.data(), d3, NWIN * 4, cudaMemcpyDeviceToHost));
  gpuErrchk(cudaMemcpy(lb.data(), dlb, NWIN * 4, cudaMemcpyDeviceToHost));
  gpuErrchk(cudaMemcpy(st.data(), dst, NWIN * sizeof(float2), cudaMemcpyDeviceToHost));
  gpuErrchk(cudaMemcpy(list.data(), dlist, NWIN * 4, cudaMemcpyDeviceToHost));

  int bad = 0, expect = 0;
  for (int w = 0; w < NWIN; ++w) expect += lb[w] < thr;
  if (cnt != expect || cnt == 0) ++bad;
  float bestD = FLT_MAX;
  for (int c = 0; c < cnt; ++c) {
    int w = list[c];
    bestD = std::min(bestD, h3[c]);
    if (c % 7) continue;
    double m = 0, m2 = 0;
    for (int i = 0; i < QLEN; ++i) {
      double v = s[w * STRIDE + i];
      m += v;
      m2 += v * v;
    }
    m /= QLEN;
    double is = 1.0 / sqrt(m2 / QLEN - m * m);
    float ref = cpu_dtw(q.data(), s.data(), w, (float)m, (float)is);
    float tol = 1e-2f * (1 + ref);
    if (!(fabsf(h1[c] - ref) < tol) || !(fabsf(h2[c] - ref) < tol) || !(fabsf(h3[c] - ref) < tol)) ++bad;
    if (lb[w] > ref + tol) ++bad;
  }
  unsigned bw = (unsigned)(best & 0xffffffffu);
  float bd;
  unsigned hi = (unsigned)(best >> 32);
  std::copy((char *)&hi, (char *)&hi + 4, (char *)&bd);
  if (bd != bestD) ++bad;
  printf("%d of %d windows, best at %u (%f), bad %d\n", cnt, NWIN, bw * STRIDE, bd, bad);
  printf("%s\n", bad ? "FAIL" : "PASS");
  return bad ? 1 : 0;
}
