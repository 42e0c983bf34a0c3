// GPU side of our training data loader: crop -> flip -> jitter -> normalise -> NCHW.
// Source images are RGBA8 (uchar4) HWC, output is planar float / half for the network.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <vector>

namespace aug {

inline void cuCheck(cudaError_t e, const char* what) {
  if (e != cudaSuccess) {
    std::cerr << what << ": " << cudaGetErrorString(e) << std::endl;
    std::exit(2);
  }
}

template <typename T>
struct DevBuf {
  T* p = nullptr;
  size_t n = 0;
  explicit DevBuf(size_t count) : n(count) {
    cuCheck(cudaMalloc(&p, n * sizeof(T)), "malloc");
  }
  ~DevBuf() { cudaFree(p); }
  DevBuf(const DevBuf&) = delete;
  void put(const std::vector<T>& v) {
    cuCheck(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice), "h2d");
  }
  std::vector<T> get() const {
    std::vector<T> v(n);
    cuCheck(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost), "d2h");
    return v;
  }
};

struct SampleParams {
  int x0;
  int y0;
  int flip;
  float brightness;
  float contrast;
};

struct Normalise {
  float mean[3];
  float invStd[3];
};

constexpr int kBatch = 16;
constexpr int kSrcW = 320;
constexpr int kSrcH = 256;
constexpr int kCrop = 224;

// one thread per output pixel, one z-slice per sample
__global__ void cropFlip(const uchar4* __restrict__ src, uchar4* __restrict__ dst,
                         const SampleParams* __restrict__ params) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int n = blockIdx.z;
  if (x >= kCrop || y >= kCrop) return;
  const SampleParams p = params[n];
  const int sx = p.flip ? (p.x0 + kCrop - 1 - x) : (p.x0 + x);
  const int sy = p.y0 + y;
  const uchar4 px = src[(size_t(n) * kSrcH + sy) * kSrcW + sx];
  dst[(size_t(n) * kCrop + y) * kCrop + x] = px;
}

// per-sample mean luma (integer so that the sum is exact)
__global__ void meanLuma(const uchar4* __restrict__ img, unsigned* __restrict__ sums) {
  const int n = blockIdx.y;
  const uchar4* base = img + size_t(n) * kCrop * kCrop;
  unsigned acc = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kCrop * kCrop; i += gridDim.x * blockDim.x) {
    const uchar4 c = base[i];
    acc += (77u * c.x + 150u * c.y + 29u * c.z) >> 8;
  }
  for (int o = 16; o > 0; o >>= 1) {
    acc += __shfl_down_sync(0xffffffffu, acc, o);
  }
  __shared__ unsigned warpSums[8];
  if ((threadIdx.x & 31) == 0) {
    warpSums[threadIdx.x >> 5] = acc;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned t = 0;
    for (int w = 0; w < 8; ++w) {
      t += warpSums[w];
    }
    atomicAdd(&sums[n], t);
  }
}

// colour jitter in place, byte by byte (legacy version, kept because the CPU loader matches it)
__global__ void jitterBytes(unsigned char* img, const SampleParams* params, const unsigned* sums) {
  const int idx = blockIdx.x * blockDim.x + threadIdx.x;
  const int n = blockIdx.y;
  if (idx >= kCrop * kCrop) return;
  const float mean = float(sums[n]) / float(kCrop * kCrop);
  const float br = params[n].brightness;
  const float ct = params[n].contrast;
  unsigned char* px = img + (size_t(n) * kCrop * kCrop + idx) * 4;
  for (int c = 0; c < 3; ++c) {
    float v = px[c];
    v = (v - mean) * ct + mean + br;
    v = fminf(fmaxf(v, 0.0f), 255.0f);
    px[c] = (unsigned char)(v);
  }
}

template <typename Out>
__device__ __forceinline__ Out castTo(float v);
template <>
__device__ __forceinline__ float castTo<float>(float v) { return v; }
template <>
__device__ __forceinline__ __half castTo<__half>(float v) { return __float2half(v); }

template <typename Out>
__global__ void toPlanar(const uchar4* __restrict__ img, Out* __restrict__ out, Normalise nrm) {
  const int idx = blockIdx.x * blockDim.x + threadIdx.x;
  const int n = blockIdx.y;
  constexpr int plane = kCrop * kCrop;
  if (idx >= plane) return;
  const uchar4 c = img[size_t(n) * plane + idx];
  Out* o = out + size_t(n) * 3 * plane + idx;
  o[0] = castTo<Out>((c.x / 255.0f - nrm.mean[0]) * nrm.invStd[0]);
  o[plane] = castTo<Out>((c.y / 255.0f - nrm.mean[1]) * nrm.invStd[1]);
  o[2 * plane] = castTo<Out>((c.z / 255.0f - nrm.mean[2]) * nrm.invStd[2]);
}

// channel-per-thread formulation: threadIdx fastest over output, reads bytes with stride 4
__global__ void toPlanarPerElement(const unsigned char* img, float* out, Normalise nrm, int total) {
  constexpr int plane = kCrop * kCrop;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += blockDim.x * gridDim.x) {
    const int n = i / (3 * plane);
    const int r = i % (3 * plane);
    const int ch = r / plane;
    const int pix = r % plane;
    const unsigned char v = img[(size_t(n) * plane + pix) * 4 + ch];
    out[i] = (v / 255.0f - nrm.mean[ch]) * nrm.invStd[ch];
  }
}

// cutout: zero a square in every plane. One block per (sample, channel).
__global__ void cutout(float* out, const int2* corner, int side) {
  const int n = blockIdx.x / 3;
  const int c = blockIdx.x % 3;
  float* plane = out + (size_t(n) * 3 + c) * kCrop * kCrop;
  const int2 k = corner[n];
  for (int y = threadIdx.y; y < side; y += blockDim.y) {
    for (int x = threadIdx.x; x < side; x += blockDim.x) {
      plane[(k.y + y) * kCrop + k.x + x] = 0.0f;
    }
  }
}

}  // namespace aug

int main() {
  using namespace aug;
  std::mt19937 rng(2024);
  std::vector<uchar4> src(size_t(kBatch) * kSrcW * kSrcH);
  for (auto& c : src) {
    const uint32_t r = rng();
    c = make_uchar4(r & 255, (r >> 8) & 255, (r >> 16) & 255, 255);
  }
  std::vector<SampleParams> prm(kBatch);
  std::vector<int2> corner(kBatch);
  for (int i = 0; i < kBatch; ++i) {
    prm[i].x0 = rng() % (kSrcW - kCrop + 1);
    prm[i].y0 = rng() % (kSrcH - kCrop + 1);
    prm[i].flip = rng() & 1;
    prm[i].brightness = float(rng() % 40) - 20.0f;
    prm[i].contrast = 0.75f + float(rng() % 100) / 200.0f;
    corner[i] = make_int2(rng() % (kCrop - 48), rng() % (kCrop - 48));
  }
  const Normalise nrm = {{0.485f, 0.456f, 0.406f}, {1 / 0.229f, 1 / 0.224f, 1 / 0.225f}};
  constexpr int plane = kCrop * kCrop;
  constexpr int total = kBatch * 3 * plane;

  DevBuf<uchar4> dSrc(src.size());
  DevBuf<uchar4> dCrop(size_t(kBatch) * plane);
  DevBuf<SampleParams> dPrm(kBatch);
  DevBuf<unsigned> dSum(kBatch);
  DevBuf<int2> dCorner(kBatch);
  DevBuf<float> dOut(total);
  DevBuf<float> dOut2(total);
  DevBuf<__half> dHalf(total);
  dSrc.put(src);
  dPrm.put(prm);
  dCorner.put(corner);

  cudaStream_t st;
  cuCheck(cudaStreamCreate(&st), "stream");
  cuCheck(cudaMemsetAsync(dSum.p, 0, kBatch * sizeof(unsigned), st), "memset");
  const dim3 blk(32, 8);
  const dim3 grd((kCrop + 31) / 32, (kCrop + 7) / 8, kBatch);
  cropFlip<<<grd, blk, 0, st>>>(dSrc.p, dCrop.p, dPrm.p);
  meanLuma<<<dim3(8, kBatch), 256, 0, st>>>(dCrop.p, dSum.p);
  const dim3 lin((plane + 255) / 256, kBatch);
  jitterBytes<<<lin, 256, 0, st>>>(reinterpret_cast<unsigned char*>(dCrop.p), dPrm.p, dSum.p);
  toPlanar<float><<<lin, 256, 0, st>>>(dCrop.p, dOut.p, nrm);
  toPlanar<__half><<<lin, 256, 0, st>>>(dCrop.p, dHalf.p, nrm);
  toPlanarPerElement<<<1024, 256, 0, st>>>(reinterpret_cast<unsigned char*>(dCrop.p), dOut2.p, nrm, total);
  cutout<<<kBatch * 3, dim3(16, 16), 0, st>>>(dOut2.p, dCorner.p, 48);
  cuCheck(cudaGetLastError(), "launch");
  cuCheck(cudaStreamSynchronize(st), "sync");

  const auto out = dOut.get();
  const auto out2 = dOut2.get();
  const auto hlf = dHalf.get();
  const auto sums = dSum.get();
  long bad = 0;
  for (int n = 0; n < kBatch; ++n) {
    unsigned s = 0;
    std::vector<uchar4> crop(plane);
    for (int y = 0; y < kCrop; ++y) {
      for (int x = 0; x < kCrop; ++x) {
        const int sx = prm[n].flip ? prm[n].x0 + kCrop - 1 - x : prm[n].x0 + x;
        const uchar4 c = src[(size_t(n) * kSrcH + prm[n].y0 + y) * kSrcW + sx];
        crop[y * kCrop + x] = c;
        s += (77u * c.x + 150u * c.y + 29u * c.z) >> 8;
      }
    }
    if (s != sums[n]) ++bad;
    const float mean = float(s) / float(plane);
    for (int i = 0; i < plane; ++i) {
      const unsigned char ch[3] = {crop[i].x, crop[i].y, crop[i].z};
      const int x = i % kCrop;
      const int y = i / kCrop;
      const bool inCut = x >= corner[n].x && x < corner[n].x + 48 && y >= corner[n].y && y < corner[n].y + 48;
      for (int c = 0; c < 3; ++c) {
        float v = (ch[c] - mean) * prm[n].contrast + mean + prm[n].brightness;
        v = std::fmin(std::fmax(v, 0.0f), 255.0f);
        const float want = (float((unsigned char)v) / 255.0f - nrm.mean[c]) * nrm.invStd[c];
        const size_t o = (size_t(n) * 3 + c) * plane + i;
        const float tol = 1.5f / 255.0f * nrm.invStd[c];  // truncation may differ by one level
        if (!(std::fabs(out[o] - want) < tol)) ++bad;
        if (!(std::fabs(__half2float(hlf[o]) - want) < tol + 0.01f)) ++bad;
        const float w2 = inCut ? 0.0f : want;
        if (!(std::fabs(out2[o] - w2) < tol)) ++bad;
      }
    }
  }
  cudaStreamDestroy(st);
  std::cout << (bad == 0 ? "PASS" : "FAIL") << " mismatches=" << bad << std::endl;
  return bad == 0 ? 0 : 1;
}
