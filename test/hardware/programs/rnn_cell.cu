// Fused recurrent-cell building blocks: LSTM forward / backward pointwise, batched small GEMV for the
// pre-activations, transposed GEMV for dL/dh_prev, bias gradient and a GRU forward cell with packed gates.
//
// LSTM gate order in the 4H axis: i, f, g, o
#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

#define CUDA_OK(call)                                                                  \
  do {                                                                                 \
    cudaError_t _e = (call);                                                           \
    if (_e != cudaSuccess) {                                                           \
      fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(_e));       \
      std::exit(3);                                                                    \
    }                                                                                  \
  } while (0)

constexpr int kWarp = 32;
constexpr int kWarpsPerBlock = 4;

enum class Act { kTanh, kRelu };

struct TanhOp {
  __device__ __forceinline__ static float fwd(float x) { return tanhf(x); }
  __device__ __forceinline__ static float bwd_from_out(float y) { return 1.f - y * y; }
};
struct ReluOp {
  __device__ __forceinline__ static float fwd(float x) { return fmaxf(x, 0.f); }
  __device__ __forceinline__ static float bwd_from_out(float y) { return y > 0.f ? 1.f : 0.f; }
};
__device__ __forceinline__ float sigmoidf_(float x) { return 1.f / (1.f + __expf(-x)); }

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int o = kWarp / 2; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
  return v;
}
__device__ __forceinline__ float dot4(float4 a, float4 b, float acc) {
  acc = fmaf(a.x, b.x, acc);
  acc = fmaf(a.y, b.y, acc);
  acc = fmaf(a.z, b.z, acc);
  return fmaf(a.w, b.w, acc);
}

// pre[b, r] = Wih[r, :] . x[b, :] + Whh[r, :] . h[b, :] + bias[r];  one warp per (r, b)
__global__ void gate_gemv_kernel(const float* __restrict__ Wih, const float* __restrict__ Whh,
                                 const float* __restrict__ bias, const float* __restrict__ x,
                                 const float* __restrict__ h, float* __restrict__ pre, int in_dim,
                                 int hid, int rows) {
  const int lane = threadIdx.x & (kWarp - 1);
  const int r = blockIdx.x * kWarpsPerBlock + (threadIdx.x >> 5);
  const int b = blockIdx.y;
  if (r >= rows) return;
  float acc = 0.f;
  {
    const float4* w = reinterpret_cast<const float4*>(Wih + (size_t)r * in_dim);
    const float4* v = reinterpret_cast<const float4*>(x + (size_t)b * in_dim);
    for (int k = lane; k < in_dim / 4; k += kWarp) acc = dot4(w[k], v[k], acc);
  }
  {
    const float4* w = reinterpret_cast<const float4*>(Whh + (size_t)r * hid);
    const float4* v = reinterpret_cast<const float4*>(h + (size_t)b * hid);
    for (int k = lane; k < hid / 4; k += kWarp) acc = dot4(w[k], v[k], acc);
  }
  acc = warp_sum(acc);
  if (lane == 0) pre[(size_t)b * rows + r] = acc + bias[r];
}

template <typename ActOp>
__global__ void lstm_pointwise_fwd(const float* __restrict__ pre, const float* __restrict__ c_prev,
                                   float* __restrict__ gates, float* __restrict__ c_out,
                                   float* __restrict__ h_out, int batch, int hid) {
  const int idx = blockIdx.x * blockDim.x + threadIdx.x;
  if (idx >= batch * hid) return;
  const int b = idx / hid;
  const int j = idx - b * hid;
  const float* p = pre + (size_t)b * 4 * hid + j;
  const float i = sigmoidf_(p[0 * hid]);
  const float f = sigmoidf_(p[1 * hid]);
  const float g = ActOp::fwd(p[2 * hid]);
  const float o = sigmoidf_(p[3 * hid]);
  const float c = f * c_prev[idx] + i * g;
  float* q = gates + (size_t)b * 4 * hid + j;
  q[0 * hid] = i;
  q[1 * hid] = f;
  q[2 * hid] = g;
  q[3 * hid] = o;
  c_out[idx] = c;
  h_out[idx] = o * ActOp::fwd(c);
}

template <typename ActOp>
__global__ void lstm_pointwise_bwd(const float* __restrict__ gates, const float* __restrict__ c_prev,
                                   const float* __restrict__ c_cur, const float* __restrict__ dh,
                                   const float* __restrict__ dc_in, float* __restrict__ dpre,
                                   float* __restrict__ dc_prev, int batch, int hid) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  const int b = blockIdx.y;
  if (j >= hid) return;
  const size_t e = (size_t)b * hid + j;
  const size_t g0 = (size_t)b * 4 * hid + j;
  const float i = gates[g0], f = gates[g0 + hid], g = gates[g0 + 2 * hid], o = gates[g0 + 3 * hid];
  const float tc = ActOp::fwd(c_cur[e]);
  const float d_h = dh[e];
  const float d_c = dc_in[e] + d_h * o * ActOp::bwd_from_out(tc);
  dpre[g0] = d_c * g * i * (1.f - i);
  dpre[g0 + hid] = d_c * c_prev[e] * f * (1.f - f);
  dpre[g0 + 2 * hid] = d_c * i * ActOp::bwd_from_out(g);
  dpre[g0 + 3 * hid] = d_h * tc * o * (1.f - o);
  dc_prev[e] = d_c * f;
}

// db[r] = sum_b dpre[b, r]
__global__ void bias_grad_kernel(const float* __restrict__ dpre, float* __restrict__ db, int batch,
                                 int rows) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0.f;
  for (int b = 0; b < batch; ++b) s += dpre[(size_t)b * rows + r];
  db[r] = s;
}

// dh_prev[b, k] = sum_r dpre[b, r] * Whh[r, k]; block = one batch item, the dpre row sits in smem
__global__ void gemv_t_kernel(const float* __restrict__ Whh, const float* __restrict__ dpre,
                              float* __restrict__ dh_prev, int rows, int hid) {
  extern __shared__ float s_d[];
  const int b = blockIdx.x;
  for (int r = threadIdx.x; r < rows; r += blockDim.x) s_d[r] = dpre[(size_t)b * rows + r];
  __syncthreads();
  for (int k = threadIdx.x; k < hid; k += blockDim.x) {
    float acc = 0.f;
#pragma unroll 4
    for (int r = 0; r < rows; ++r) acc = fmaf(s_d[r], Whh[(size_t)r * hid + k], acc);
    dh_prev[(size_t)b * hid + k] = acc;
  }
}

// GRU, gates packed per unit: gi/gh are [batch, hid, 3] = (r, z, n)
__global__ void gru_packed_fwd(const float* __restrict__ gi, const float* __restrict__ gh,
                               const float* __restrict__ h_prev, float* __restrict__ h_out, int total) {
  for (int t = blockIdx.x * blockDim.x + threadIdx.x; t < total; t += gridDim.x * blockDim.x) {
    const float r = sigmoidf_(gi[3 * t] + gh[3 * t]);
    const float z = sigmoidf_(gi[3 * t + 1] + gh[3 * t + 1]);
    const float n = tanhf(gi[3 * t + 2] + r * gh[3 * t + 2]);
    h_out[t] = (1.f - z) * n + z * h_prev[t];
  }
}

// ------------------------------------------------------------------------------------------------
template <class T>
struct DBuf {
  T* p = nullptr;
  size_t n;
  explicit DBuf(size_t n_) : n(n_) { CUDA_OK(cudaMalloc(&p, n * sizeof(T))); }
  explicit DBuf(const std::vector<T>& v) : DBuf(v.size()) {
    CUDA_OK(cudaMemcpy(p, v.data(), n * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~DBuf() { cudaFree(p); }
  DBuf(const DBuf&) = delete;
  operator T*() const { return p; }
  std::vector<T> host() const {
    std::vector<T> v(n);
    CUDA_OK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
  }
};

template <typename F>
static void dispatch_act(Act a, F&& f) {
  switch (a) {
    case Act::kTanh: f(TanhOp{}); break;
    case Act::kRelu: f(ReluOp{}); break;
  }
}

static bool close(const char* name, const std::vector<float>& got, const std::vector<double>& ref, double tol) {
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double d = std::fabs(got[i] - ref[i]) / (1.0 + std::fabs(ref[i]));
    if (!(d <= worst)) worst = d;
  }
  printf("  %-8s max err %.3e\n", name, worst);
  return worst < tol;
}

int main(int argc, char** argv) {
  const int batch = argc > 1 ? atoi(argv[1]) : 32;
  const int hid = argc > 2 ? atoi(argv[2]) : 256;   // multiple of 4
  const int in_dim = argc > 3 ? atoi(argv[3]) : 192;  // multiple of 4
  const int rows = 4 * hid;
  const Act act = Act::kTanh;

  std::mt19937 gen(99);
  std::normal_distribution<float> nd(0.f, 1.f);
  auto rnd = [&](size_t n, float s) {
    std::vector<float> v(n);
    for (auto& e : v) e = s * nd(gen);
    return v;
  };
  const size_t bh = (size_t)batch * hid;
  auto Wih = rnd((size_t)rows * in_dim, 0.06f), Whh = rnd((size_t)rows * hid, 0.06f), bias = rnd(rows, 0.1f);
  auto x = rnd((size_t)batch * in_dim, 1.f), h = rnd(bh, 0.5f), c = rnd(bh, 0.5f);
  auto dh = rnd(bh, 1.f), dc = rnd(bh, 0.3f);
  auto gi = rnd(3 * bh, 1.f), gh = rnd(3 * bh, 1.f);

  DBuf<float> dWih(Wih), dWhh(Whh), dbias(bias), dx(x), dhp(h), dcp(c), ddh(dh), ddc(dc), dgi(gi), dgh(gh);
  DBuf<float> pre(batch * (size_t)rows), gates(batch * (size_t)rows), cn(bh), hn(bh), dpre(batch * (size_t)rows),
      dcprev(bh), db(rows), dhprev(bh), hgru(bh);

  dim3 ggrid((rows + kWarpsPerBlock - 1) / kWarpsPerBlock, batch);
  gate_gemv_kernel<<<ggrid, kWarp * kWarpsPerBlock>>>(dWih, dWhh, dbias, dx, dhp, pre, in_dim, hid, rows);
  CUDA_OK(cudaGetLastError());
  dispatch_act(act, [&](auto op) {
    using Op = decltype(op);
    lstm_pointwise_fwd<Op><<<(int)((bh + 255) / 256), 256>>>(pre, dcp, gates, cn, hn, batch, hid);
    lstm_pointwise_bwd<Op><<<dim3((hid + 127) / 128, batch), 128>>>(gates, dcp, cn, ddh, ddc, dpre, dcprev,
                                                                   batch, hid);
  });
  CUDA_OK(cudaGetLastError());
  bias_grad_kernel<<<(rows + 127) / 128, 128>>>(dpre, db, batch, rows);
  gemv_t_kernel<<<batch, 256, rows * sizeof(float)>>>(dWhh, dpre, dhprev, rows, hid);
  gru_packed_fwd<<<16, 256>>>(dgi, dgh, dhp, hgru, (int)bh);
  CUDA_OK(cudaGetLastError());
  CUDA_OK(cudaDeviceSynchronize());

  // ---- reference
  auto sig = [](double v) { return 1.0 / (1.0 + std::exp(-v)); };
  std::vector<double> r_pre((size_t)batch * rows), r_c(bh), r_h(bh), r_dpre((size_t)batch * rows), r_dc(bh),
      r_db(rows, 0.0), r_dh(bh, 0.0), r_gru(bh);
  for (int b = 0; b < batch; ++b) {
    for (int r = 0; r < rows; ++r) {
      double s = bias[r];
      for (int k = 0; k < in_dim; ++k) s += (double)Wih[(size_t)r * in_dim + k] * x[(size_t)b * in_dim + k];
      for (int k = 0; k < hid; ++k) s += (double)Whh[(size_t)r * hid + k] * h[(size_t)b * hid + k];
      r_pre[(size_t)b * rows + r] = s;
    }
    for (int j = 0; j < hid; ++j) {
      const size_t e = (size_t)b * hid + j;
      const double* p = &r_pre[(size_t)b * rows + j];
      const double i = sig(p[0]), f = sig(p[hid]), g = std::tanh(p[2 * hid]), o = sig(p[3 * hid]);
      r_c[e] = f * c[e] + i * g;
      const double tc = std::tanh(r_c[e]);
      r_h[e] = o * tc;
      const double d_c = dc[e] + dh[e] * o * (1 - tc * tc);
      double* q = &r_dpre[(size_t)b * rows + j];
      q[0] = d_c * g * i * (1 - i);
      q[hid] = d_c * c[e] * f * (1 - f);
      q[2 * hid] = d_c * i * (1 - g * g);
      q[3 * hid] = dh[e] * tc * o * (1 - o);
      r_dc[e] = d_c * f;
      const double rr = sig((double)gi[3 * e] + gh[3 * e]), zz = sig((double)gi[3 * e + 1] + gh[3 * e + 1]);
      const double nn = std::tanh(gi[3 * e + 2] + rr * gh[3 * e + 2]);
      r_gru[e] = (1 - zz) * nn + zz * h[e];
    }
    for (int r = 0; r < rows; ++r) {
      const double d = r_dpre[(size_t)b * rows + r];
      r_db[r] += d;
      for (int k = 0; k < hid; ++k) r_dh[(size_t)b * hid + k] += d * Whh[(size_t)r * hid + k];
    }
  }
  bool ok = true;
  ok &= close("pre", pre.host(), r_pre, 1e-4);
  ok &= close("c", cn.host(), r_c, 1e-4);
  ok &= close("h", hn.host(), r_h, 1e-4);
  ok &= close("dpre", dpre.host(), r_dpre, 2e-4);
  ok &= close("dc_prev", dcprev.host(), r_dc, 2e-4);
  ok &= close("db", db.host(), r_db, 5e-4);
  ok &= close("dh_prev", dhprev.host(), r_dh, 5e-4);
  ok &= close("gru", hgru.host(), r_gru, 1e-4);
  printf("%s\n", ok ? "PASS" : "FAIL");
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
