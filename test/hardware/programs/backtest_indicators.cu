// nvcc: -std=c++17
// Trading research: many instruments, many parameter sets. Indicators over time-major and ticker-major bars, a crossover
// strategy swept over a parameter grid, drawdown, bars from ticks, return correlation.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <tuple>
#include <vector>

#include <cuda_runtime.h>

#define CU(x)                                                                      \
  do {                                                                             \
    auto rc = (x);                                                                 \
    if (rc != cudaSuccess) {                                                       \
      fprintf(stderr, "[%s:%d] %s\n", __FILE__, __LINE__, cudaGetErrorString(rc)); \
      exit(9);                                                                     \
    }                                                                              \
  } while (false)

struct Market {
  int tickers;
  int days;
};

struct Strategy {
  int fast;
  int slow;
  float fee;
};

struct Result {
  float pnl;
  float max_drawdown;
  int trades;
};

struct Ohlc {
  float open, high, low, close;
  int volume;
};

// close[ticker][day]
__global__ void sma_direct(Market mk, const float* __restrict__ close, float* __restrict__ out, int win) {
  int d = blockIdx.x * blockDim.x + threadIdx.x;
  int t = blockIdx.y;
  if (d >= mk.days) return;
  float s = 0.f;
  int from = max(0, d - win + 1);
  for (int k = from; k <= d; ++k) s += close[t * mk.days + k];
  out[t * mk.days + d] = s / (d - from + 1);
}

// sequential recursion, one thread a ticker, bars ticker-major
__global__ void ema_rows(Market mk, const float* close, float* out, float alpha) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= mk.tickers) return;
  float e = close[t * mk.days];
  for (int d = 0; d < mk.days; ++d) {
    e += alpha * (close[t * mk.days + d] - e);
    out[t * mk.days + d] = e;
  }
}

// the same, bars time-major
__global__ void ema_columns(Market mk, const float* closeT, float* outT, float alpha) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= mk.tickers) return;
  float e = closeT[t];
  for (int d = 0; d < mk.days; ++d) {
    e += alpha * (closeT[d * mk.tickers + t] - e);
    outT[d * mk.tickers + t] = e;
  }
}

// prefix sums of a ticker in one block, 4 values a thread (1024 days at most)
__global__ void prefix_rows(Market mk, const float* __restrict__ close, float* __restrict__ prefix) {
  __shared__ float warp_sum[8];
  int t = blockIdx.x;
  int base = threadIdx.x * 4;
  float v[4];
  float run = 0.f;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    run += base + k < mk.days ? close[t * mk.days + base + k] : 0.f;
    v[k] = run;
  }
  int lane = threadIdx.x & 31;
  int w = threadIdx.x >> 5;
  float inc = run;
  for (int o = 1; o < 32; o <<= 1) {
    float x = __shfl_up_sync(~0u, inc, o);
    if (lane >= o) inc += x;
  }
  if (lane == 31) warp_sum[w] = inc;
  __syncthreads();
  float off = inc - run;
  for (int k = 0; k < w; ++k) off += warp_sum[k];
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (base + k < mk.days) prefix[t * mk.days + base + k] = off + v[k];
}

__host__ __device__ inline float window_mean(const float* prefix, int d, int win) {
  return (prefix[d] - (d >= win ? prefix[d - win] : 0.f)) / win;
}

// block = ticker, thread = parameter set; prefix and closes of the ticker in dynamic shared memory
__global__ void sweep_crossover(Market mk, const float* __restrict__ close, const float* __restrict__ prefix, const Strategy* __restrict__ grid,
                                int sets, Result* __restrict__ res) {
  extern __shared__ float bars[];
  float* c = bars;
  float* p = bars + mk.days;
  int t = blockIdx.x;
  for (int d = threadIdx.x; d < mk.days; d += blockDim.x) {
    c[d] = close[t * mk.days + d];
    p[d] = prefix[t * mk.days + d];
  }
  __syncthreads();
  for (int s = threadIdx.x; s < sets; s += blockDim.x) {
    Strategy st = grid[s];
    float equity = 1.f, peak = 1.f, dd = 0.f;
    int pos = 0, trades = 0;
    for (int d = st.slow; d + 1 < mk.days; ++d) {
      int want = window_mean(p, d, st.fast) > window_mean(p, d, st.slow) ? 1 : 0;
      if (want != pos) {
        equity *= 1.f - st.fee;
        ++trades;
        pos = want;
      }
      if (pos) equity *= c[d + 1] / c[d];
      peak = fmaxf(peak, equity);
      dd = fmaxf(dd, 1.f - equity / peak);
    }
    res[t * sets + s] = {equity - 1.f, dd, trades};
  }
}

// ticks of all instruments are interleaved: ticker = tick % tickers; bars of `per` ticks
__global__ void bars_from_ticks(const float2* __restrict__ ticks, Ohlc* __restrict__ bars, int tickers, int nbars, int per) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int b = blockIdx.y;
  if (t >= tickers) return;
  Ohlc o;
  for (int k = 0; k < per; ++k) {
    float2 q = ticks[((size_t)b * per + k) * tickers + t];
    if (k == 0) {
      o.open = o.high = o.low = q.x;
      o.volume = 0;
    }
    o.high = fmaxf(o.high, q.x);
    o.low = fminf(o.low, q.x);
    o.close = q.x;
    o.volume += (int)q.y;
  }
  bars[t * nbars + b] = o;
}

// correlation of the log returns of two tickers: one warp a pair
__global__ void correlation(Market mk, const float* __restrict__ close, float* __restrict__ corr, int m) {
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  if (warp >= m * m) return;
  const float* a = close + (warp / m) * mk.days;
  const float* b = close + (warp % m) * mk.days;
  float sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
  for (int d = lane; d + 1 < mk.days; d += 32) {
    float x = 100.f * (a[d + 1] / a[d] - 1.f);
    float y = 100.f * (b[d + 1] / b[d] - 1.f);
    sa += x;
    sb += y;
    saa += x * x;
    sbb += y * y;
    sab += x * y;
  }
  for (int o = 16; o; o >>= 1) {
    sa += __shfl_xor_sync(~0u, sa, o);
    sb += __shfl_xor_sync(~0u, sb, o);
    saa += __shfl_xor_sync(~0u, saa, o);
    sbb += __shfl_xor_sync(~0u, sbb, o);
    sab += __shfl_xor_sync(~0u, sab, o);
  }
  if (lane == 0) {
    float n = mk.days - 1;
    corr[warp] = (n * sab - sa * sb) * rsqrtf((n * saa - sa * sa) * (n * sbb - sb * sb));
  }
}

template <class T>
T* to_device(const std::vector<T>& v) {
  T* p;
  CU(cudaMalloc(&p, v.size() * sizeof(T)));
  CU(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}
template <class T>
std::vector<T> to_host(const T* p, size_t n) {
  std::vector<T> v(n);
  CU(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
  return v;
}

int main() {
  const Market mk{512, 1000};
  const size_t cells = (size_t)mk.tickers * mk.days;
  std::vector<float> close(cells), closeT(cells);
  unsigned s = 99;
  auto u = [&s] {
    s = s * 1664525u + 1013904223u;
    return (s >> 8) / 16777216.f;
  };
  for (int t = 0; t < mk.tickers; ++t) {
    float p = 20.f + 60.f * u();
    for (int d = 0; d < mk.days; ++d) {
      p *= 1.f + 0.02f * (u() - 0.49f);
      close[t * mk.days + d] = p;
      closeT[d * mk.tickers + t] = p;
    }
  }
  std::vector<Strategy> grid;
  for (int fast = 3; fast <= 18; ++fast)
    for (int slow = 20; slow < 100; slow += 10) grid.push_back({fast, slow, 0.0005f});
  const int sets = (int)grid.size();
  const int per = 20, nbars = 50;
  std::vector<float2> ticks((size_t)mk.tickers * per * nbars);
  for (auto& q : ticks) q = make_float2(10.f + u(), (float)(int)(u() * 100));

  float* d_close = to_device(close);
  float* d_closeT = to_device(closeT);
  Strategy* d_grid = to_device(grid);
  float2* d_ticks = to_device(ticks);
  float *d_sma, *d_ema, *d_emaT, *d_prefix, *d_corr;
  Result* d_res;
  Ohlc* d_bars;
  const int m = 64;
  for (float** p : {&d_sma, &d_ema, &d_emaT, &d_prefix}) CU(cudaMalloc(p, cells * sizeof(float)));
  CU(cudaMalloc(&d_corr, m * m * sizeof(float)));
  CU(cudaMalloc(&d_res, (size_t)mk.tickers * sets * sizeof(Result)));
  CU(cudaMalloc(&d_bars, (size_t)mk.tickers * nbars * sizeof(Ohlc)));

  cudaStream_t streams[2];
  for (auto& st : streams) CU(cudaStreamCreateWithFlags(&st, cudaStreamNonBlocking));
  cudaEvent_t ready;
  CU(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  prefix_rows<<<mk.tickers, 256, 0, streams[0]>>>(mk, d_close, d_prefix);
  CU(cudaEventRecord(ready, streams[0]));
  sma_direct<<<dim3((mk.days + 127) / 128, mk.tickers), 128, 0, streams[1]>>>(mk, d_close, d_sma, 30);
  ema_rows<<<(mk.tickers + 63) / 64, 64, 0, streams[1]>>>(mk, d_close, d_ema, 0.1f);
  ema_columns<<<(mk.tickers + 63) / 64, 64, 0, streams[0]>>>(mk, d_closeT, d_emaT, 0.1f);
  CU(cudaStreamWaitEvent(streams[1], ready, 0));
  sweep_crossover<<<mk.tickers, 128, 2 * mk.days * sizeof(float), streams[1]>>>(mk, d_close, d_prefix, d_grid, sets, d_res);
  bars_from_ticks<<<dim3((mk.tickers + 127) / 128, nbars), 128, 0, streams[0]>>>(d_ticks, d_bars, mk.tickers, nbars, per);
  correlation<<<(m * m * 32 + 255) / 256, 256, 0, streams[0]>>>(mk, d_close, d_corr, m);
  CU(cudaGetLastError());
  for (auto& st : streams) CU(cudaStreamSynchronize(st));

  auto sma = to_host(d_sma, cells);
  auto ema = to_host(d_ema, cells);
  auto emaT = to_host(d_emaT, cells);
  auto prefix = to_host(d_prefix, cells);
  auto res = to_host(d_res, (size_t)mk.tickers * sets);
  auto bars = to_host(d_bars, (size_t)mk.tickers * nbars);
  auto corr = to_host(d_corr, m * m);
  int bad = 0;
  for (int t = 0; t < mk.tickers; ++t) {
    double pre = 0, e = close[t * mk.days];
    for (int d = 0; d < mk.days; ++d) {
      float c = close[t * mk.days + d];
      pre += c;
      e += 0.1f * (c - e);
      int from = std::max(0, d - 29);
      double w = 0;
      for (int k = from; k <= d; ++k) w += close[t * mk.days + k];
      bad += std::fabs(sma[t * mk.days + d] - w / (d - from + 1)) > 1e-4 * c;
      bad += std::fabs(ema[t * mk.days + d] - e) > 1e-4 * c;
      bad += std::fabs(emaT[d * mk.tickers + t] - e) > 1e-4 * c;
      bad += std::fabs(prefix[t * mk.days + d] - pre) > 1e-5 * pre;
    }
  }
  // a comparison may fall the other way when the two means are equal to rounding
  int differ = 0;
  for (int t = 0; t < mk.tickers; t += 4) {
    for (int q = 0; q < sets; ++q) {
      Strategy st = grid[q];
      const float* c = &close[t * mk.days];
      const float* p = &prefix[t * mk.days];
      float equity = 1.f, peak = 1.f, dd = 0.f;
      int pos = 0, trades = 0;
      for (int d = st.slow; d + 1 < mk.days; ++d) {
        int want = window_mean(p, d, st.fast) > window_mean(p, d, st.slow) ? 1 : 0;
        if (want != pos) {
          equity *= 1.f - st.fee;
          ++trades;
          pos = want;
        }
        if (pos) equity *= c[d + 1] / c[d];
        peak = std::max(peak, equity);
        dd = std::max(dd, 1.f - equity / peak);
      }
      const Result& r = res[t * sets + q];
      if (r.trades != trades || std::fabs(r.pnl - (equity - 1.f)) > 2e-3f * equity || std::fabs(r.max_drawdown - dd) > 2e-3f) ++differ;
    }
  }
  bad += differ > mk.tickers / 4 * sets / 50;
  for (int t = 0; t < mk.tickers; ++t) {
    for (int b = 0; b < nbars; ++b) {
      float hi = 0, lo = 1e9f;
      int vol = 0;
      for (int k = 0; k < per; ++k) {
        float2 q = ticks[((size_t)b * per + k) * mk.tickers + t];
        hi = std::max(hi, q.x);
        lo = std::min(lo, q.x);
        vol += (int)q.y;
      }
      const Ohlc& o = bars[t * nbars + b];
      bad += o.high != hi || o.low != lo || o.volume != vol;
    }
  }
  for (int i = 0; i < m; i += 3) {
    bad += std::fabs(corr[i * m + i] - 1.f) > 1e-3f;
    for (int j = 0; j < m; ++j) bad += std::fabs(corr[i * m + j] - corr[j * m + i]) > 1e-4f || std::fabs(corr[i * m + j]) > 1.001f;
  }
  printf("%d bad, %d strategies differ by rounding\n", bad, differ);
  puts(bad ? "FAIL" : "PASS");
  return bad ? 1 : 0;
}
