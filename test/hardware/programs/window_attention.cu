// Sliding-window causal attention, fp16 inputs, fp32 accumulation, online softmax.
// q,k,v come in as [S][H][D] from the projection; attention kernels want [H][S][D].
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

constexpr int S = 1024;
constexpr int H = 8;
constexpr int D = 64;
constexpr int WIN = 96;      // query i attends to keys (i-WIN, i]
constexpr int TQ = 32;
constexpr int TK = 32;

struct AttnParams {
  const half* q;
  const half* k;
  const half* v;
  half* o;
  float scale;
};

#define CHECK_CUDA(call)                                            \
  do {                                                              \
    cudaError_t status_ = call;                                     \
    if (status_ != cudaSuccess) {                                   \
      fprintf(stderr, "CUDA error (%s:%d): %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
      exit(1);                                                      \
    }                                                               \
  } while (0)

// rotary embedding on half2 pairs, [S][H][D] in place. One thread per pair.
__global__ void rope_kernel(half2* x, int n2) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n2) return;
  int pair = i % (D / 2);
  int pos = i / (H * D / 2);
  float freq = exp2f(-13.28771f * pair / (D / 2));
  float s, c;
  sincosf(pos * freq, &s, &c);
  float2 v = __half22float2(x[i]);
  x[i] = __floats2half2_rn(v.x * c - v.y * s, v.x * s + v.y * c);
}

// [S][H][D] -> [H][S][D], 16 bytes per thread
__global__ void to_head_major(const uint4* in, uint4* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  constexpr int V = D / 8;
  if (i >= S * H * V) return;
  int d = i % V;
  int h = (i / V) % H;
  int s = i / (V * H);
  out[(h * S + s) * V + d] = in[i];
}

// baseline: thread per query. Every thread drags whole q/k/v rows through its registers.
__global__ void attn_thread_per_query(AttnParams p) {
  int qi = blockIdx.x * blockDim.x + threadIdx.x;
  int h = blockIdx.y;
  if (qi >= S) return;
  const half* q = p.q + (h * S + qi) * D;
  float acc[D];
#pragma unroll
  for (int d = 0; d < D; ++d) acc[d] = 0.0f;
  float m = -1e30f;
  float l = 0.0f;
  for (int j = max(0, qi - WIN + 1); j <= qi; ++j) {
    const half* k = p.k + (h * S + j) * D;
    const half* v = p.v + (h * S + j) * D;
    float dot = 0.0f;
    for (int d = 0; d < D; ++d) {
      dot += __half2float(q[d]) * __half2float(k[d]);
    }
    dot *= p.scale;
    float mn = fmaxf(m, dot);
    float corr = __expf(m - mn);
    float e = __expf(dot - mn);
    l = l * corr + e;
#pragma unroll
    for (int d = 0; d < D; ++d) {
      acc[d] = acc[d] * corr + e * __half2float(v[d]);
    }
    m = mn;
  }
  half* o = p.o + (h * S + qi) * D;
#pragma unroll
  for (int d = 0; d < D; ++d) {
    o[d] = __float2half(acc[d] / l);
  }
}

// warp per query, lane owns one half2 of the head dimension
__global__ void attn_warp_per_query(AttnParams p) {
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  int h = blockIdx.y;
  if (warp >= S) return;
  const half2* q2 = reinterpret_cast<const half2*>(p.q) + (h * S + warp) * (D / 2);
  const half2* k2 = reinterpret_cast<const half2*>(p.k) + h * S * (D / 2);
  const half2* v2 = reinterpret_cast<const half2*>(p.v) + h * S * (D / 2);
  float2 q = __half22float2(q2[lane]);
  float2 acc = make_float2(0.0f, 0.0f);
  float m = -1e30f;
  float l = 0.0f;
  for (int j = max(0, warp - WIN + 1); j <= warp; ++j) {
    float2 k = __half22float2(k2[j * (D / 2) + lane]);
    float dot = q.x * k.x + q.y * k.y;
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) {
      dot += __shfl_xor_sync(0xffffffffu, dot, o);
    }
    dot *= p.scale;
    float mn = fmaxf(m, dot);
    float corr = __expf(m - mn);
    float e = __expf(dot - mn);
    float2 v = __half22float2(v2[j * (D / 2) + lane]);
    l = l * corr + e;
    acc.x = acc.x * corr + e * v.x;
    acc.y = acc.y * corr + e * v.y;
    m = mn;
  }
  half2* o2 = reinterpret_cast<half2*>(p.o) + (h * S + warp) * (D / 2);
  o2[lane] = __floats2half2_rn(acc.x / l, acc.y / l);
}

// tiled: 32 queries x 32 keys. K and V tiles in dynamic shared memory with row pitch PITCH (half2 units).
template <int PITCH>
__global__ void __launch_bounds__(128) attn_tiled(AttnParams p) {
  extern __shared__ half2 smem[];
  half2* sq = smem;                         // TQ x PITCH
  half2* sk = sq + TQ * PITCH;              // TK x PITCH
  half2* sv = sk + TK * PITCH;              // TK x D/2
  float* sp = reinterpret_cast<float*>(sv + TK * (D / 2));   // TQ x TK scores
  const int h = blockIdx.y;
  const int q0 = blockIdx.x * TQ;
  const int lane = threadIdx.x & 31;
  const int warp = threadIdx.x >> 5;
  const half2* gq = reinterpret_cast<const half2*>(p.q) + h * S * (D / 2);
  const half2* gk = reinterpret_cast<const half2*>(p.k) + h * S * (D / 2);
  const half2* gv = reinterpret_cast<const half2*>(p.v) + h * S * (D / 2);
  for (int r = warp; r < TQ; r += 4) {
    sq[r * PITCH + lane] = gq[(q0 + r) * (D / 2) + lane];
  }
  float m[TQ / 4];
  float l[TQ / 4];
  float2 acc[TQ / 4];
#pragma unroll
  for (int i = 0; i < TQ / 4; ++i) {
    m[i] = -1e30f;
    l[i] = 0.0f;
    acc[i] = make_float2(0.0f, 0.0f);
  }
  int kstart = max(0, q0 - WIN + 1) / TK * TK;
  for (int k0 = kstart; k0 < q0 + TQ; k0 += TK) {
    __syncthreads();
    for (int r = warp; r < TK; r += 4) {
      sk[r * PITCH + lane] = gk[(k0 + r) * (D / 2) + lane];
      sv[r * (D / 2) + lane] = gv[(k0 + r) * (D / 2) + lane];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TQ / 4; ++i) {
      const int r = warp + 4 * i;
      const int qi = q0 + r;
      const int kj = k0 + lane;             // lane = key
      float dot = 0.0f;
      for (int d = 0; d < D / 2; ++d) {
        float2 a = __half22float2(sq[r * PITCH + d]);
        float2 b = __half22float2(sk[lane * PITCH + d]);
        dot += a.x * b.x + a.y * b.y;
      }
      const bool valid = kj <= qi && kj > qi - WIN;
      dot = valid ? dot * p.scale : -1e30f;
      float mx = dot;
#pragma unroll
      for (int o = 16; o > 0; o >>= 1) {
        mx = fmaxf(mx, __shfl_xor_sync(0xffffffffu, mx, o));
      }
      const float mn = fmaxf(m[i], mx);
      const float e = valid ? __expf(dot - mn) : 0.0f;
      float sum = e;
#pragma unroll
      for (int o = 16; o > 0; o >>= 1) {
        sum += __shfl_xor_sync(0xffffffffu, sum, o);
      }
      const float corr = __expf(m[i] - mn);
      l[i] = l[i] * corr + sum;
      m[i] = mn;
      sp[r * TK + lane] = e;
      __syncwarp();
      float2 a = make_float2(acc[i].x * corr, acc[i].y * corr);
      for (int j = 0; j < TK; ++j) {        // lane = head-dim pair
        const float w = sp[r * TK + j];
        const float2 v = __half22float2(sv[j * (D / 2) + lane]);
        a.x += w * v.x;
        a.y += w * v.y;
      }
      acc[i] = a;
    }
  }
  half2* o2 = reinterpret_cast<half2*>(p.o) + h * S * (D / 2);
#pragma unroll
  for (int i = 0; i < TQ / 4; ++i) {
    const int r = warp + 4 * i;
    o2[(q0 + r) * (D / 2) + lane] = __floats2half2_rn(acc[i].x / l[i], acc[i].y / l[i]);
  }
}

template <int PITCH>
static void launch_tiled(const AttnParams& p) {
  size_t bytes = (TQ * PITCH + TK * PITCH + TK * D / 2) * sizeof(half2) + TQ * TK * sizeof(float);
  attn_tiled<PITCH><<<dim3(S / TQ, H), 128, bytes>>>(p);
}

int main() {
  const int n = S * H * D;
  std::mt19937 rng(321);
  std::normal_distribution<float> dist(0.0f, 1.0f);
  half* raw[3];
  half* hm[3];
  half* o;
  std::vector<half> host(n);
  for (int t = 0; t < 3; ++t) {
    for (auto& x : host) x = __float2half(dist(rng));
    CHECK_CUDA(cudaMalloc(&raw[t], n * sizeof(half)));
    CHECK_CUDA(cudaMalloc(&hm[t], n * sizeof(half)));
    CHECK_CUDA(cudaMemcpy(raw[t], host.data(), n * sizeof(half), cudaMemcpyHostToDevice));
  }
  CHECK_CUDA(cudaMalloc(&o, n * sizeof(half)));
  rope_kernel<<<(n / 2 + 255) / 256, 256>>>(reinterpret_cast<half2*>(raw[0]), n / 2);
  rope_kernel<<<(n / 2 + 255) / 256, 256>>>(reinterpret_cast<half2*>(raw[1]), n / 2);
  for (int t = 0; t < 3; ++t) {
    to_head_major<<<(n / 8 + 127) / 128, 128>>>(reinterpret_cast<uint4*>(raw[t]), reinterpret_cast<uint4*>(hm[t]));
  }
  CHECK_CUDA(cudaGetLastError());

  // reference from the rotated tensors in [S][H][D]
  std::vector<float> f[3];
  for (int t = 0; t < 3; ++t) {
    CHECK_CUDA(cudaMemcpy(host.data(), raw[t], n * sizeof(half), cudaMemcpyDeviceToHost));
    f[t].resize(n);
    for (int i = 0; i < n; ++i) f[t][i] = __half2float(host[i]);
  }
  const float scale = 1.0f / std::sqrt(float(D));
  std::vector<float> ref(n);
  for (int h = 0; h < H; ++h)
    for (int i = 0; i < S; ++i) {
      int j0 = std::max(0, i - WIN + 1);
      std::vector<float> w(i - j0 + 1);
      float mx = -1e30f, sum = 0;
      for (int j = j0; j <= i; ++j) {
        float dot = 0;
        for (int d = 0; d < D; ++d) dot += f[0][(i * H + h) * D + d] * f[1][(j * H + h) * D + d];
        w[j - j0] = dot * scale;
        mx = std::max(mx, w[j - j0]);
      }
      for (auto& x : w) {
        x = std::exp(x - mx);
        sum += x;
      }
      float* r = &ref[(h * S + i) * D];
      for (int j = j0; j <= i; ++j)
        for (int d = 0; d < D; ++d) r[d] += w[j - j0] / sum * f[2][(j * H + h) * D + d];
    }

  AttnParams p = {hm[0], hm[1], hm[2], o, scale};
  bool ok = true;
  auto verify = [&](const char* name) {
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaMemcpy(host.data(), o, n * sizeof(half), cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemset(o, 0, n * sizeof(half)));
    float worst = 0;
    for (int i = 0; i < n; ++i) {
      float e = std::fabs(__half2float(host[i]) - ref[i]);
      if (!(e <= worst)) worst = e;
    }
    printf("%-20s max err %g\n", name, worst);
    ok = ok && worst < 1e-2f;
  };
  attn_thread_per_query<<<dim3(S / 64, H), 64>>>(p);
  verify("thread per query");
  attn_warp_per_query<<<dim3(S * 32 / 128, H), 128>>>(p);
  verify("warp per query");
  launch_tiled<D / 2>(p);
  verify("tiled, pitch 32");
  launch_tiled<D / 2 + 1>(p);
  verify("tiled, pitch 33");
  printf("%s\n", ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
