// Camera image signal processor: RAW10 unpack -> black level + lens shading -> demosaic -> grey-world white balance
// -> colour matrix and tone curve -> sharpen.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_OK(x) isp::verify((x), #x, __LINE__)

namespace isp {

inline void verify(cudaError_t e, const char* expr, int line) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s -> %s\n", line, expr, cudaGetErrorName(e));
  std::exit(3);
}

constexpr int kW = 1280;
constexpr int kH = 720;
constexpr int kGainW = 17;
constexpr int kGainH = 13;

struct Config {
  int black = 64;
  float wb_target = 0.0f;
  float sharpen = 0.5f;
};

template <typename T>
struct Deleter {
  void operator()(T* p) const { cudaFree(p); }
};
template <typename T>
using Buf = std::unique_ptr<T[], Deleter<T>>;

template <typename T>
Buf<T> make_buf(size_t n) {
  T* p = nullptr;
  CUDA_OK(cudaMalloc(&p, n * sizeof(T)));
  CUDA_OK(cudaMemset(p, 0, n * sizeof(T)));
  return Buf<T>(p);
}

__constant__ float kCcm[9];

// MIPI RAW10: four pixels in five bytes, the low bits of all four in the last one
__global__ void unpack_raw10(const uint8_t* __restrict__ packed, uint16_t* __restrict__ raw, int groups) {
  int g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= groups) return;
  const uint8_t* p = packed + 5 * (size_t)g;
  unsigned low = p[4];
  ushort4 out;
  out.x = (p[0] << 2) | (low & 3);
  out.y = (p[1] << 2) | ((low >> 2) & 3);
  out.z = (p[2] << 2) | ((low >> 4) & 3);
  out.w = (p[3] << 2) | ((low >> 6) & 3);
  reinterpret_cast<ushort4*>(raw)[g] = out;
}

__host__ __device__ inline float shading(const float* gain, int x, int y) {
  float fx = x * (float)(kGainW - 1) / kW;
  float fy = y * (float)(kGainH - 1) / kH;
  int ix = (int)fx;
  int iy = (int)fy;
  float ax = fx - ix;
  float ay = fy - iy;
  const float* g = gain + iy * kGainW + ix;
  float top = g[0] + ax * (g[1] - g[0]);
  float bot = g[kGainW] + ax * (g[kGainW + 1] - g[kGainW]);
  return top + ay * (bot - top);
}

__global__ void linearize(const uint16_t* __restrict__ raw, const float* __restrict__ gain, float* __restrict__ lin, int black) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= kW || y >= kH) return;
  int v = max((int)raw[y * kW + x] - black, 0);
  lin[y * kW + x] = v * shading(gain, x, y) * (1.0f / 959.0f);
}

// RGGB, bilinear, through a shared tile
template <int TX, int TY>
__global__ void demosaic(const float* __restrict__ lin, float3* __restrict__ rgb) {
  __shared__ float t[TY + 2][TX + 2];
  int bx = blockIdx.x * TX - 1;
  int by = blockIdx.y * TY - 1;
  for (int j = threadIdx.y; j < TY + 2; j += TY) {
    int sy = min(max(by + j, 0), kH - 1);
    for (int i = threadIdx.x; i < TX + 2; i += TX) {
      int sx = min(max(bx + i, 0), kW - 1);
      t[j][i] = lin[sy * kW + sx];
    }
  }
  __syncthreads();
  int i = threadIdx.x + 1;
  int j = threadIdx.y + 1;
  int x = bx + i;
  int y = by + j;
  if (x >= kW || y >= kH) return;
  float c = t[j][i];
  float hor = 0.5f * (t[j][i - 1] + t[j][i + 1]);
  float ver = 0.5f * (t[j - 1][i] + t[j + 1][i]);
  float cross = 0.5f * (hor + ver);
  float diag = 0.25f * (t[j - 1][i - 1] + t[j - 1][i + 1] + t[j + 1][i - 1] + t[j + 1][i + 1]);
  float3 o;
  if ((y & 1) == 0)
    o = (x & 1) == 0 ? make_float3(c, cross, diag) : make_float3(hor, c, ver);
  else
    o = (x & 1) == 0 ? make_float3(ver, c, hor) : make_float3(diag, cross, c);
  rgb[y * kW + x] = o;
}

__global__ void channel_sums(const float3* __restrict__ rgb, double* sums, int n) {
  float r = 0, g = 0, b = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float3 p = rgb[i];
    r += p.x;
    g += p.y;
    b += p.z;
  }
  for (int o = 16; o; o >>= 1) {
    r += __shfl_down_sync(~0u, r, o);
    g += __shfl_down_sync(~0u, g, o);
    b += __shfl_down_sync(~0u, b, o);
  }
  __shared__ float part[3][32];
  int lane = threadIdx.x & 31;
  int w = threadIdx.x >> 5;
  if (lane == 0) {
    part[0][w] = r;
    part[1][w] = g;
    part[2][w] = b;
  }
  __syncthreads();
  if (threadIdx.x < 3) {
    double s = 0;
    for (int k = 0; k < (int)blockDim.x / 32; ++k) s += part[threadIdx.x][k];
    atomicAdd(&sums[threadIdx.x], s);
  }
}

// tone curve is looked up from shared memory
__global__ void colour_and_tone(const float3* __restrict__ rgb, const double* __restrict__ sums, const uint8_t* __restrict__ curve,
                                uchar4* __restrict__ out, int n) {
  __shared__ uint8_t lut[1024];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) lut[i] = curve[i];
  __syncthreads();
  float gr = (float)(sums[1] / sums[0]);
  float gb = (float)(sums[1] / sums[2]);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float3 p = rgb[i];
    float r = p.x * gr;
    float g = p.y;
    float b = p.z * gb;
    float q[3];
#pragma unroll
    for (int c = 0; c < 3; ++c) q[c] = __saturatef(kCcm[3 * c] * r + kCcm[3 * c + 1] * g + kCcm[3 * c + 2] * b);
    out[i] = make_uchar4(lut[(int)(q[0] * 1023.0f)], lut[(int)(q[1] * 1023.0f)], lut[(int)(q[2] * 1023.0f)], 255);
  }
}

// unsharp mask; interleaved 3-byte output as the encoder wants it
__global__ void sharpen_rgb24(const uchar4* __restrict__ in, uint8_t* __restrict__ out, float k) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y;
  if (x >= kW) return;
  int xm = max(x - 1, 0), xp = min(x + 1, kW - 1);
  int ym = max(y - 1, 0), yp = min(y + 1, kH - 1);
  uchar4 c = in[y * kW + x];
  uchar4 l = in[y * kW + xm];
  uchar4 r = in[y * kW + xp];
  uchar4 u = in[ym * kW + x];
  uchar4 d = in[yp * kW + x];
  uint8_t* o = out + 3 * (y * kW + x);
  o[0] = (uint8_t)fminf(fmaxf(c.x + k * (4 * c.x - l.x - r.x - u.x - d.x) * 0.25f, 0.0f), 255.0f);
  o[1] = (uint8_t)fminf(fmaxf(c.y + k * (4 * c.y - l.y - r.y - u.y - d.y) * 0.25f, 0.0f), 255.0f);
  o[2] = (uint8_t)fminf(fmaxf(c.z + k * (4 * c.z - l.z - r.z - u.z - d.z) * 0.25f, 0.0f), 255.0f);
}

}  // namespace isp

int main() {
  using namespace isp;
  const int n = kW * kH;
  Config cfg;
  std::vector<uint16_t> raw(n);
  std::vector<uint8_t> packed(n / 4 * 5);
  uint32_t s = 77;
  for (int i = 0; i < n; ++i) {
    int x = i % kW, y = i / kW;
    s = s * 1103515245u + 12345u;
    raw[i] = (uint16_t)std::min(1023, 80 + (x * 400) / kW + (y * 300) / kH + (int)((s >> 16) & 127));
  }
  for (int g = 0; g < n / 4; ++g) {
    for (int k = 0; k < 4; ++k) {
      packed[5 * g + k] = raw[4 * g + k] >> 2;
      packed[5 * g + 4] |= (raw[4 * g + k] & 3) << (2 * k);
    }
  }
  std::vector<float> gain(kGainW * kGainH);
  for (int j = 0; j < kGainH; ++j)
    for (int i = 0; i < kGainW; ++i) gain[j * kGainW + i] = 1.0f + 0.004f * ((i - 8) * (i - 8) + (j - 6) * (j - 6));
  std::vector<uint8_t> curve(1024);
  for (int i = 0; i < 1024; ++i) curve[i] = (uint8_t)(255.0 * std::pow(i / 1023.0, 1 / 2.2) + 0.5);
  const float ccm[9] = {1.5f, -0.3f, -0.2f, -0.25f, 1.45f, -0.2f, -0.05f, -0.45f, 1.5f};
  CUDA_OK(cudaMemcpyToSymbol(kCcm, ccm, sizeof ccm));

  auto d_packed = make_buf<uint8_t>(packed.size());
  auto d_raw = make_buf<uint16_t>(n);
  auto d_gain = make_buf<float>(gain.size());
  auto d_lin = make_buf<float>(n);
  auto d_rgb = make_buf<float3>(n);
  auto d_sums = make_buf<double>(3);
  auto d_curve = make_buf<uint8_t>(1024);
  auto d_rgba = make_buf<uchar4>(n);
  auto d_out = make_buf<uint8_t>(3 * n);
  CUDA_OK(cudaMemcpy(d_packed.get(), packed.data(), packed.size(), cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy(d_gain.get(), gain.data(), gain.size() * 4, cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy(d_curve.get(), curve.data(), 1024, cudaMemcpyHostToDevice));

  cudaStream_t st;
  CUDA_OK(cudaStreamCreate(&st));
  using Stage = std::pair<std::string, std::function<void()>>;
  std::vector<Stage> stages = {
      {"unpack", [&] { unpack_raw10<<<(n / 4 + 127) / 128, 128, 0, st>>>(d_packed.get(), d_raw.get(), n / 4); }},
      {"linearize", [&] { linearize<<<dim3(kW / 64, kH / 4), dim3(64, 4), 0, st>>>(d_raw.get(), d_gain.get(), d_lin.get(), cfg.black); }},
      {"demosaic", [&] { demosaic<32, 8><<<dim3(kW / 32, kH / 8), dim3(32, 8), 0, st>>>(d_lin.get(), d_rgb.get()); }},
      {"awb", [&] { channel_sums<<<132, 256, 0, st>>>(d_rgb.get(), d_sums.get(), n); }},
      {"tone", [&] { colour_and_tone<<<264, 256, 0, st>>>(d_rgb.get(), d_sums.get(), d_curve.get(), d_rgba.get(), n); }},
      {"sharpen", [&] { sharpen_rgb24<<<dim3((kW + 255) / 256, kH), 256, 0, st>>>(d_rgba.get(), d_out.get(), cfg.sharpen); }},
  };
  for (auto& stage : stages) {
    stage.second();
    CUDA_OK(cudaGetLastError());
  }
  CUDA_OK(cudaStreamSynchronize(st));

  std::vector<uint16_t> g_raw(n);
  std::vector<float> g_lin(n);
  std::vector<float3> g_rgb(n);
  std::vector<double> g_sums(3);
  std::vector<uchar4> g_rgba(n);
  std::vector<uint8_t> g_out(3 * n);
  CUDA_OK(cudaMemcpy(g_raw.data(), d_raw.get(), n * 2, cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(g_lin.data(), d_lin.get(), n * 4, cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(g_rgb.data(), d_rgb.get(), n * 12, cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(g_sums.data(), d_sums.get(), 24, cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(g_rgba.data(), d_rgba.get(), n * 4, cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(g_out.data(), d_out.get(), 3 * n, cudaMemcpyDeviceToHost));

  int bad = g_raw == raw ? 0 : 1;
  double sums[3] = {0, 0, 0};
  for (int y = 1; y < kH - 1; ++y) {
    for (int x = 1; x < kW - 1; ++x) {
      int i = y * kW + x;
      float want = std::max(raw[i] - cfg.black, 0) * shading(gain.data(), x, y) / 959.0f;
      bad += std::fabs(want - g_lin[i]) > 1e-4f;
      const float* p = &g_lin[i];
      float hor = 0.5f * (p[-1] + p[1]);
      float ver = 0.5f * (p[-kW] + p[kW]);
      float green = (x + y) % 2 ? p[0] : 0.5f * (hor + ver);
      bad += std::fabs(green - g_rgb[i].y) > 1e-4f;
    }
  }
  for (int i = 0; i < n; ++i) {
    sums[0] += g_rgb[i].x;
    sums[1] += g_rgb[i].y;
    sums[2] += g_rgb[i].z;
  }
  for (int c = 0; c < 3; ++c) bad += std::fabs(sums[c] / g_sums[c] - 1.0) > 1e-4;
  int toned = 0;
  for (int i = 0; i < n; ++i) {
    float v[3] = {(float)(g_rgb[i].x * (g_sums[1] / g_sums[0])), g_rgb[i].y, (float)(g_rgb[i].z * (g_sums[1] / g_sums[2]))};
    float q = ccm[3] * v[0] + ccm[4] * v[1] + ccm[5] * v[2];
    q = std::min(std::max(q, 0.0f), 1.0f);
    toned += std::abs((int)curve[(int)(q * 1023.0f)] - (int)g_rgba[i].y) > 12;
  }
  int sharp = 0;
  for (int y = 1; y < kH - 1; ++y) {
    for (int x = 1; x < kW - 1; ++x) {
      const uchar4* p = &g_rgba[y * kW + x];
      float v = p[0].y + cfg.sharpen * (4 * p[0].y - p[-1].y - p[1].y - p[-kW].y - p[kW].y) * 0.25f;
      int w = (int)std::min(std::max(v, 0.0f), 255.0f);
      sharp += std::abs(w - (int)g_out[3 * (y * kW + x) + 1]) > 1;
    }
  }
  bad += toned + sharp;
  std::printf("%d bad values (%d tone, %d sharpen)\n", bad, toned, sharp);
  std::printf("%s\n", bad ? "FAIL" : "PASS");
  CUDA_OK(cudaStreamDestroy(st));
  return bad ? 1 : 0;
}
