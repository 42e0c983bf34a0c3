// Semi-global stereo matching, 8-bit rectified input.
//   census 9x7  ->  Hamming cost volume [y][x][d]  ->  2 SGM paths  ->  WTA  ->  median 3x3
#include <cuda_runtime.h>

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <vector>

namespace stereo {

constexpr int kDisp = 64;
constexpr int kCensusW = 9, kCensusH = 7;
constexpr int kRx = kCensusW / 2, kRy = kCensusH / 2;
constexpr int kP1 = 7, kP2 = 43;

// Image descriptor with an explicit pitch, like everything else in our vision stack.
template <typename T>
struct ImageView {
  T* data;
  int width, height, pitch;  // pitch in elements
  __host__ __device__ T& at(int y, int x) const { return data[y * pitch + x]; }
};

__global__ void CensusTransform(ImageView<const uint8_t> img, ImageView<uint64_t> out) {
  constexpr int kBx = 32, kBy = 8;
  __shared__ uint8_t tile[kBy + 2 * kRy][kBx + 2 * kRx];
  const int x0 = blockIdx.x * kBx - kRx, y0 = blockIdx.y * kBy - kRy;
  for (int i = threadIdx.y * kBx + threadIdx.x; i < (kBy + 2 * kRy) * (kBx + 2 * kRx); i += kBx * kBy) {
    const int ty = i / (kBx + 2 * kRx), tx = i % (kBx + 2 * kRx);
    const int gx = min(max(x0 + tx, 0), img.width - 1), gy = min(max(y0 + ty, 0), img.height - 1);
    tile[ty][tx] = img.at(gy, gx);
  }
  __syncthreads();
  const int x = blockIdx.x * kBx + threadIdx.x, y = blockIdx.y * kBy + threadIdx.y;
  if (x >= img.width || y >= img.height) return;
  const uint8_t c = tile[threadIdx.y + kRy][threadIdx.x + kRx];
  uint64_t bits = 0;
#pragma unroll
  for (int dy = 0; dy < kCensusH; ++dy)
#pragma unroll
    for (int dx = 0; dx < kCensusW; ++dx)
      bits = (bits << 1) | (tile[threadIdx.y + dy][threadIdx.x + dx] < c);
  out.at(y, x) = bits;
}

// block = (kDisp, 4): x dimension is disparity, each block handles 4 pixels of one row
__global__ void MatchingCost(ImageView<const uint64_t> left, ImageView<const uint64_t> right, uint8_t* cost) {
  const int d = threadIdx.x;
  const int x = blockIdx.x * blockDim.y + threadIdx.y, y = blockIdx.y;
  if (x >= left.width) return;
  const int xr = max(x - d, 0);
  cost[(y * left.width + x) * kDisp + d] = static_cast<uint8_t>(__popcll(left.at(y, x) ^ right.at(y, xr)));
}

// One block of 64 threads per scanline (horizontal) or per column (vertical).
// `step` and `line` are strides in pixels along and across the path.
template <bool kAccumulate>
__global__ void AggregatePath(const uint8_t* __restrict__ cost, uint16_t* __restrict__ sum, int length, int step, int line) {
  __shared__ uint16_t prev[2][kDisp + 2];
  __shared__ uint16_t warp_min[2];
  const int d = threadIdx.x;
  const int base = blockIdx.x * line;
  if (d < 2) {
    prev[d][0] = 0x3fff;
    prev[d][kDisp + 1] = 0x3fff;
  }
  int carried = 0;
  for (int i = 0; i < length; ++i) {
    const int at = (base + i * step) * kDisp + d;
    int v = cost[at];
    const int buf = i & 1;
    if (i > 0) {
      const uint16_t* p = prev[buf ^ 1];
      int best = min(int(p[d + 1]), carried + kP2);
      best = min(best, int(p[d]) + kP1);
      best = min(best, int(p[d + 2]) + kP1);
      v += best - carried;
    }
    prev[buf][d + 1] = static_cast<uint16_t>(v);
    const unsigned m = __reduce_min_sync(0xffffffffu, static_cast<unsigned>(v));
    if ((d & 31) == 0) warp_min[d >> 5] = static_cast<uint16_t>(m);
    if (kAccumulate) sum[at] += static_cast<uint16_t>(v);
    else sum[at] = static_cast<uint16_t>(v);
    __syncthreads();
    carried = min(warp_min[0], warp_min[1]);
    __syncthreads();
  }
}

// one thread per pixel walks its 64 sums
__global__ void WinnerTakesAll(const uint16_t* __restrict__ sum, ImageView<uint8_t> disp) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= disp.width || y >= disp.height) return;
  const uint16_t* s = sum + (y * disp.width + x) * kDisp;
  int best = 0x7fffffff, arg = 0;
  for (int d = 0; d < kDisp; ++d)
    if (s[d] < best) { best = s[d]; arg = d; }
  disp.at(y, x) = static_cast<uint8_t>(arg);
}

__host__ __device__ inline void Order(uint8_t& a, uint8_t& b) { if (a > b) { uint8_t t = a; a = b; b = t; } }

__host__ __device__ inline uint8_t Median9(uint8_t* p) {
  for (int i = 0; i < 5; ++i)
    for (int j = i + 1; j < 9; ++j) Order(p[i], p[j]);
  return p[4];
}

__global__ void Median3x3(ImageView<const uint8_t> in, ImageView<uint8_t> out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= in.width || y >= in.height) return;
  uint8_t p[9];
#pragma unroll
  for (int k = 0; k < 9; ++k)
    p[k] = in.at(min(max(y + k / 3 - 1, 0), in.height - 1), min(max(x + k % 3 - 1, 0), in.width - 1));
  out.at(y, x) = Median9(p);
}

}  // namespace stereo

static void Check(cudaError_t e, const char* expr) {
  if (e == cudaSuccess) return;
  std::cerr << expr << ": " << cudaGetErrorString(e) << std::endl;
  std::exit(1);
}
#define CHECKED(e) Check((e), #e)

template <typename T>
static T* Allocate(size_t n) {
  void* p = nullptr;
  CHECKED(cudaMalloc(&p, n * sizeof(T)));
  return static_cast<T*>(p);
}

using namespace stereo;

static std::vector<uint64_t> CensusRef(const std::vector<uint8_t>& im, int w, int h, int pitch) {
  std::vector<uint64_t> out(w * h);
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) {
      uint64_t b = 0;
      for (int dy = -kRy; dy <= kRy; ++dy)
        for (int dx = -kRx; dx <= kRx; ++dx)
          b = (b << 1) | (im[std::clamp(y + dy, 0, h - 1) * pitch + std::clamp(x + dx, 0, w - 1)] < im[y * pitch + x]);
      out[y * w + x] = b;
    }
  return out;
}

static void PathRef(const std::vector<uint8_t>& cost, std::vector<uint16_t>& sum, int lines, int line, int length, int step) {
  for (int l = 0; l < lines; ++l) {
    int prev[kDisp], cur[kDisp], carried = 0;
    for (int i = 0; i < length; ++i) {
      const int at = (l * line + i * step) * kDisp;
      for (int d = 0; d < kDisp; ++d) {
        cur[d] = cost[at + d];
        if (i == 0) continue;
        int b = std::min(prev[d], carried + kP2);
        if (d > 0) b = std::min(b, prev[d - 1] + kP1);
        if (d + 1 < kDisp) b = std::min(b, prev[d + 1] + kP1);
        cur[d] += b - carried;
      }
      carried = *std::min_element(cur, cur + kDisp);
      for (int d = 0; d < kDisp; ++d) { prev[d] = cur[d]; sum[at + d] += cur[d]; }
    }
  }
}

int main() {
  const int w = 231, h = 122, pitch = 240;
  std::vector<uint8_t> left(pitch * h, 0), right(pitch * h, 0);
  uint32_t s = 17;
  std::vector<uint8_t> tex((w + 80) * h);
  for (auto& t : tex) { s = s * 22695477u + 1u; t = s >> 24; }
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) {
      const int d = 8 + (x > 60 && x < 150 && y > 30 && y < 90 ? 25 : 0);
      right[y * pitch + x] = tex[y * (w + 80) + x + 40];
      left[y * pitch + x] = tex[y * (w + 80) + x + 40 - d];
    }

  uint8_t *d_l = Allocate<uint8_t>(pitch * h), *d_r = Allocate<uint8_t>(pitch * h);
  uint64_t *d_cl = Allocate<uint64_t>(w * h), *d_cr = Allocate<uint64_t>(w * h);
  uint8_t *d_cost = Allocate<uint8_t>(w * h * kDisp), *d_disp = Allocate<uint8_t>(w * h), *d_med = Allocate<uint8_t>(w * h);
  uint16_t* d_sum = Allocate<uint16_t>(w * h * kDisp);
  CHECKED(cudaMemcpy(d_l, left.data(), left.size(), cudaMemcpyHostToDevice));
  CHECKED(cudaMemcpy(d_r, right.data(), right.size(), cudaMemcpyHostToDevice));

  const dim3 cb(32, 8), cg((w + 31) / 32, (h + 7) / 8);
  CensusTransform<<<cg, cb>>>({d_l, w, h, pitch}, {d_cl, w, h, w});
  CensusTransform<<<cg, cb>>>({d_r, w, h, pitch}, {d_cr, w, h, w});
  MatchingCost<<<dim3((w + 3) / 4, h), dim3(kDisp, 4)>>>({d_cl, w, h, w}, {d_cr, w, h, w}, d_cost);
  AggregatePath<false><<<h, kDisp>>>(d_cost, d_sum, w, 1, w);
  AggregatePath<true><<<w, kDisp>>>(d_cost, d_sum, h, w, 1);
  const dim3 pb(17, 13), pg((w + 16) / 17, (h + 12) / 13);
  WinnerTakesAll<<<pg, pb>>>(d_sum, {d_disp, w, h, w});
  Median3x3<<<pg, pb>>>({d_disp, w, h, w}, {d_med, w, h, w});
  CHECKED(cudaGetLastError());
  CHECKED(cudaDeviceSynchronize());

  std::vector<uint16_t> sum(w * h * kDisp), sum_ref(w * h * kDisp, 0);
  std::vector<uint8_t> med(w * h), cost(w * h * kDisp), disp(w * h);
  CHECKED(cudaMemcpy(sum.data(), d_sum, sum.size() * 2, cudaMemcpyDeviceToHost));
  CHECKED(cudaMemcpy(med.data(), d_med, med.size(), cudaMemcpyDeviceToHost));

  const auto cl = CensusRef(left, w, h, pitch), cr = CensusRef(right, w, h, pitch);
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x)
      for (int d = 0; d < kDisp; ++d)
        cost[(y * w + x) * kDisp + d] = (uint8_t)std::bitset<64>(cl[y * w + x] ^ cr[y * w + std::max(x - d, 0)]).count();
  PathRef(cost, sum_ref, h, w, w, 1);
  PathRef(cost, sum_ref, w, 1, h, w);
  size_t wrong = 0, good_depth = 0;
  for (size_t i = 0; i < sum.size(); ++i) wrong += sum[i] != sum_ref[i];
  for (int i = 0; i < w * h; ++i) disp[i] = uint8_t(std::min_element(&sum_ref[i * kDisp], &sum_ref[i * kDisp] + kDisp) - &sum_ref[i * kDisp]);
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) {
      uint8_t p[9];
      for (int k = 0; k < 9; ++k) p[k] = disp[std::clamp(y + k / 3 - 1, 0, h - 1) * w + std::clamp(x + k % 3 - 1, 0, w - 1)];
      std::nth_element(p, p + 4, p + 9);
      wrong += p[4] != med[y * w + x];
      good_depth += med[y * w + x] == 8 || med[y * w + x] == 33;
    }
  std::cout << "wrong " << wrong << ", plausible depth " << 100 * good_depth / (w * h) << "%\n";
  for (void* p : {(void*)d_l, (void*)d_r, (void*)d_cl, (void*)d_cr, (void*)d_cost, (void*)d_disp, (void*)d_med, (void*)d_sum}) cudaFree(p);
  std::cout << (wrong ? "FAIL" : "PASS") << std::endl;
  return wrong ? 1 : 0;
}
