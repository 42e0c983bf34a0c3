// Exposure fusion (Mertens et al.) with Gaussian / Laplacian pyramids.
// Three exposures of a synthetic scene, 3-channel float, interleaved RGB.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
using std::vector;

constexpr int kExposures = 3;
constexpr int kLevels = 3;
constexpr int kW = 512;
constexpr int kH = 384;

static void die(cudaError_t e, const char* expr, int line) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s -> %s\n", line, expr, cudaGetErrorString(e));
  std::exit(1);
}
#define CU(x) die((x), #x, __LINE__)

struct Image {       // planar or interleaved, the kernel knows
  float* data;
  int w, h, c;
};

__host__ __device__ inline int clampi(int v, int lo, int hi) { return v < lo ? lo : (v > hi ? hi : v); }

__host__ __device__ inline float wellExposed(float v) {
  float d = v - 0.5f;
  return expf(-d * d / 0.08f);
}

// quality weights: contrast * saturation * well-exposedness
__global__ void weightKernel(Image in, float* w) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= in.w || y >= in.h) return;
  auto grey = [&](int xx, int yy) {
    xx = clampi(xx, 0, in.w - 1);
    yy = clampi(yy, 0, in.h - 1);
    const float* p = in.data + (yy * in.w + xx) * 3;
    return (p[0] + p[1] + p[2]) * (1.0f / 3.0f);
  };
  float lap = fabsf(grey(x - 1, y) + grey(x + 1, y) + grey(x, y - 1) + grey(x, y + 1) - 4.0f * grey(x, y));
  const float* p = in.data + (y * in.w + x) * 3;
  float r = p[0];
  float g = p[1];
  float b = p[2];
  float mu = (r + g + b) / 3.0f;
  float sat = sqrtf(((r - mu) * (r - mu) + (g - mu) * (g - mu) + (b - mu) * (b - mu)) / 3.0f);
  w[y * in.w + x] = (lap + 0.05f) * (sat + 0.05f) * wellExposed(r) * wellExposed(g) * wellExposed(b) + 1e-6f;
}

__global__ void normaliseWeights(float* w0, float* w1, float* w2, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 1.0f / (w0[i] + w1[i] + w2[i]);
    w0[i] *= s;
    w1[i] *= s;
    w2[i] *= s;
  }
}

__constant__ float kTap[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};

// 5x5 binomial then decimate. One thread per output pixel and channel (z).
__global__ void pyrDown(Image in, Image out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int c = blockIdx.z;
  if (x >= out.w || y >= out.h) return;
  float s = 0.0f;
  for (int dy = -2; dy <= 2; ++dy) {
    int yy = clampi(2 * y + dy, 0, in.h - 1);
    for (int dx = -2; dx <= 2; ++dx) {
      int xx = clampi(2 * x + dx, 0, in.w - 1);
      s += kTap[dx + 2] * kTap[dy + 2] * in.data[(yy * in.w + xx) * in.c + c];
    }
  }
  out.data[(y * out.w + x) * out.c + c] = s;
}

// bilinear upsample used both for Laplacian and collapse
__device__ float upsample(const Image& im, int x, int y, int c) {
  float fx = (x - 0.5f) * 0.5f;
  float fy = (y - 0.5f) * 0.5f;
  int x0 = (int)floorf(fx);
  int y0 = (int)floorf(fy);
  float ax = fx - x0;
  float ay = fy - y0;
  int x1 = clampi(x0 + 1, 0, im.w - 1);
  int y1 = clampi(y0 + 1, 0, im.h - 1);
  x0 = clampi(x0, 0, im.w - 1);
  y0 = clampi(y0, 0, im.h - 1);
  float a = im.data[(y0 * im.w + x0) * im.c + c];
  float b = im.data[(y0 * im.w + x1) * im.c + c];
  float d = im.data[(y1 * im.w + x0) * im.c + c];
  float e = im.data[(y1 * im.w + x1) * im.c + c];
  return (1 - ay) * ((1 - ax) * a + ax * b) + ay * ((1 - ax) * d + ax * e);
}

// fused += w * (fine - up(coarse)); threads run over the interleaved floats
__global__ void accumulateLaplacian(Image fine, Image coarse, const float* w, float* fused, int first) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int row = fine.w * 3;
  if (i >= row * fine.h) return;
  int y = i / row;
  int x = (i - y * row) / 3;
  int c = i % 3;
  float lap = fine.data[i] - upsample(coarse, x, y, c);
  float v = w[y * fine.w + x] * lap;
  fused[i] = first ? v : fused[i] + v;
}

__global__ void accumulateTop(Image top, const float* w, float* fused, int first) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= top.w * top.h) return;
  float wt = w[p];
  for (int c = 0; c < 3; ++c) {
    float v = wt * top.data[p * 3 + c];
    if (first) {
      fused[p * 3 + c] = v;
    } else {
      fused[p * 3 + c] += v;
    }
  }
}

__global__ void collapse(Image coarse, Image fine) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= fine.w || y >= fine.h) return;
  float* p = fine.data + (y * fine.w + x) * 3;
  p[0] += upsample(coarse, x, y, 0);
  p[1] += upsample(coarse, x, y, 1);
  p[2] += upsample(coarse, x, y, 2);
}

// ---------------- CPU reference ----------------
static vector<float> cpuDown(const vector<float>& in, int w, int h, int c) {
  static const float t[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
  vector<float> out((w / 2) * (h / 2) * c);
  for (int y = 0; y < h / 2; ++y)
    for (int x = 0; x < w / 2; ++x)
      for (int k = 0; k < c; ++k) {
        float s = 0;
        for (int dy = -2; dy <= 2; ++dy)
          for (int dx = -2; dx <= 2; ++dx)
            s += t[dx + 2] * t[dy + 2] * in[(clampi(2 * y + dy, 0, h - 1) * w + clampi(2 * x + dx, 0, w - 1)) * c + k];
        out[(y * (w / 2) + x) * c + k] = s;
      }
  return out;
}

static float cpuUp(const vector<float>& im, int w, int h, int x, int y, int c) {
  float fx = (x - 0.5f) * 0.5f, fy = (y - 0.5f) * 0.5f;
  int x0 = (int)std::floor(fx), y0 = (int)std::floor(fy);
  float ax = fx - x0, ay = fy - y0;
  int x1 = clampi(x0 + 1, 0, w - 1), y1 = clampi(y0 + 1, 0, h - 1);
  x0 = clampi(x0, 0, w - 1);
  y0 = clampi(y0, 0, h - 1);
  return (1 - ay) * ((1 - ax) * im[(y0 * w + x0) * 3 + c] + ax * im[(y0 * w + x1) * 3 + c]) +
         ay * ((1 - ax) * im[(y1 * w + x0) * 3 + c] + ax * im[(y1 * w + x1) * 3 + c]);
}

int main() {
  vector<vector<float>> src(kExposures, vector<float>(kW * kH * 3));
  unsigned lcg = 99;
  for (int y = 0; y < kH; ++y)
    for (int x = 0; x < kW; ++x)
      for (int c = 0; c < 3; ++c) {
        lcg = lcg * 1103515245u + 12345u;
        float noise = ((lcg >> 16) & 1023) / 1023.0f;
        float scene = 0.6f + 0.5f * sinf(0.02f * x + c) * cosf(0.03f * y) + 0.1f * noise;
        for (int e = 0; e < kExposures; ++e) {
          float v = scene * (0.4f + 0.5f * e);
          src[e][(y * kW + x) * 3 + c] = v < 0 ? 0 : (v > 1 ? 1 : v);
        }
      }
  Image img[kExposures][kLevels], wt[kExposures][kLevels], out[kLevels];
  for (int l = 0; l < kLevels; ++l) {
    int w = kW >> l, h = kH >> l;
    out[l] = {nullptr, w, h, 3};
    CU(cudaMalloc(&out[l].data, w * h * 3 * sizeof(float)));
    for (int e = 0; e < kExposures; ++e) {
      img[e][l] = {nullptr, w, h, 3};
      wt[e][l] = {nullptr, w, h, 1};
      CU(cudaMalloc(&img[e][l].data, w * h * 3 * sizeof(float)));
      CU(cudaMalloc(&wt[e][l].data, w * h * sizeof(float)));
    }
  }
  dim3 b(32, 8);
  auto g2 = [&](const Image& i, int z) { return dim3((i.w + 31) / 32, (i.h + 7) / 8, z); };
  for (int e = 0; e < kExposures; ++e) {
    CU(cudaMemcpy(img[e][0].data, src[e].data(), src[e].size() * sizeof(float), cudaMemcpyHostToDevice));
    weightKernel<<<g2(img[e][0], 1), b>>>(img[e][0], wt[e][0].data);
  }
  normaliseWeights<<<(kW * kH + 255) / 256, 256>>>(wt[0][0].data, wt[1][0].data, wt[2][0].data, kW * kH);
  for (int e = 0; e < kExposures; ++e) {
    for (int l = 0; l + 1 < kLevels; ++l) {
      pyrDown<<<g2(img[e][l + 1], 3), b>>>(img[e][l], img[e][l + 1]);
      pyrDown<<<g2(wt[e][l + 1], 1), b>>>(wt[e][l], wt[e][l + 1]);
      int n = img[e][l].w * img[e][l].h * 3;
      accumulateLaplacian<<<(n + 255) / 256, 256>>>(img[e][l], img[e][l + 1], wt[e][l].data, out[l].data, e == 0);
    }
    const Image& t = img[e][kLevels - 1];
    accumulateTop<<<(t.w * t.h + 127) / 128, 128>>>(t, wt[e][kLevels - 1].data, out[kLevels - 1].data, e == 0);
  }
  for (int l = kLevels - 2; l >= 0; --l) collapse<<<g2(out[l], 1), b>>>(out[l + 1], out[l]);
  CU(cudaGetLastError());
  CU(cudaDeviceSynchronize());
  vector<float> got(kW * kH * 3);
  CU(cudaMemcpy(got.data(), out[0].data, got.size() * sizeof(float), cudaMemcpyDeviceToHost));

  // reference
  vector<vector<float>> W0(kExposures, vector<float>(kW * kH));
  for (int e = 0; e < kExposures; ++e) {
    auto grey = [&](int x, int y) {
      const float* p = &src[e][(clampi(y, 0, kH - 1) * kW + clampi(x, 0, kW - 1)) * 3];
      return (p[0] + p[1] + p[2]) * (1.0f / 3.0f);
    };
    for (int y = 0; y < kH; ++y)
      for (int x = 0; x < kW; ++x) {
        const float* p = &src[e][(y * kW + x) * 3];
        float lap = fabsf(grey(x - 1, y) + grey(x + 1, y) + grey(x, y - 1) + grey(x, y + 1) - 4 * grey(x, y));
        float mu = (p[0] + p[1] + p[2]) / 3;
        float sat = sqrtf(((p[0] - mu) * (p[0] - mu) + (p[1] - mu) * (p[1] - mu) + (p[2] - mu) * (p[2] - mu)) / 3);
        W0[e][y * kW + x] = (lap + 0.05f) * (sat + 0.05f) * wellExposed(p[0]) * wellExposed(p[1]) * wellExposed(p[2]) + 1e-6f;
      }
  }
  for (int i = 0; i < kW * kH; ++i) {
    float s = W0[0][i] + W0[1][i] + W0[2][i];
    for (int e = 0; e < kExposures; ++e) W0[e][i] /= s;
  }
  vector<vector<float>> F(kLevels);
  for (int e = 0; e < kExposures; ++e) {
    vector<float> I = src[e], Wt = W0[e];
    for (int l = 0; l < kLevels; ++l) {
      int w = kW >> l, h = kH >> l;
      if (e == 0) F[l].assign(w * h * 3, 0.0f);
      vector<float> J = l + 1 < kLevels ? cpuDown(I, w, h, 3) : vector<float>();
      for (int i = 0; i < w * h * 3; ++i) {
        int p = i / 3;
        float base = J.empty() ? 0.0f : cpuUp(J, w / 2, h / 2, p % w, p / w, i % 3);
        F[l][i] += Wt[p] * (I[i] - base);
      }
      if (J.empty()) break;
      Wt = cpuDown(Wt, w, h, 1);
      I = J;
    }
  }
  for (int l = kLevels - 2; l >= 0; --l) {
    int w = kW >> l, h = kH >> l;
    for (int i = 0; i < w * h * 3; ++i) F[l][i] += cpuUp(F[l + 1], w / 2, h / 2, (i / 3) % w, (i / 3) / w, i % 3);
  }
  float worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    float d = fabsf(got[i] - F[0][i]);
    if (!(d <= worst)) worst = d;
  }
  std::printf("max difference %g\n%s\n", worst, worst < 2e-3f ? "PASS" : "FAIL");
  return worst < 2e-3f ? 0 : 1;
}
