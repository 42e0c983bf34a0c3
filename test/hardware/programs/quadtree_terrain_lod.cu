// Terrain level of detail for a renderer. Device: height synthesis, min/max pyramid, slope map,
// horizon sweeps, patch tessellation. Host: a quadtree built by recursion from the pyramid,
// whose leaves become the launch grid of the tessellator.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#define GPU_CALL(x)                                                                   \
  do {                                                                                \
    const cudaError_t status_ = (x);                                                  \
    if (status_ != cudaSuccess) {                                                     \
      std::fprintf(stderr, "%s -> %s\n", #x, cudaGetErrorString(status_));            \
      std::abort();                                                                   \
    }                                                                                 \
  } while (false)

constexpr int kCells = 512;
constexpr int kSide = kCells + 1;
constexpr int kLeafCells = 16;
constexpr int kPatchSide = kLeafCells + 1;
constexpr int kPatchVertices = kPatchSide * kPatchSide;

// Pitch-aware raster handed to kernels by value.
template <class T>
struct Raster {
  T* base;
  int width;
  int height;
  int pitch;  // in elements
  __host__ __device__ T& at(int x, int y) const { return base[static_cast<long>(y) * pitch + x]; }
};

template <class T>
class Image {
 public:
  Image(int width, int height) : w_(width), h_(height), pitch_((width + 31) / 32 * 32) {
    GPU_CALL(cudaMalloc(&mem_, sizeof(T) * pitch_ * h_));
    GPU_CALL(cudaMemset(mem_, 0, sizeof(T) * pitch_ * h_));
  }
  Image(Image&& o) noexcept : mem_(std::exchange(o.mem_, nullptr)), w_(o.w_), h_(o.h_), pitch_(o.pitch_) {}
  Image(const Image&) = delete;
  ~Image() { cudaFree(mem_); }
  Raster<T> view() const { return {mem_, w_, h_, pitch_}; }
  std::vector<T> host() const {
    std::vector<T> out(static_cast<std::size_t>(w_) * h_);
    GPU_CALL(cudaMemcpy2D(out.data(), w_ * sizeof(T), mem_, pitch_ * sizeof(T), w_ * sizeof(T), h_, cudaMemcpyDeviceToHost));
    return out;
  }

 private:
  T* mem_ = nullptr;
  int w_, h_, pitch_;
};
// ---- height synthesis -------------------------------------------------------------------
struct FractalNoise {
  int octaves;
  std::uint32_t seed;

  __host__ __device__ float lattice(int x, int y) const {
    std::uint32_t h = seed + x * 374761393u + y * 668265263u;
    h = (h ^ (h >> 13)) * 1274126177u;
    return ((h ^ (h >> 16)) & 0xffffu) * (1.0f / 65536.0f);
  }
  __host__ __device__ float operator()(int px, int py) const {
    float sum = 0.0f;
    float amplitude = 64.0f;
    for (int o = 0; o < octaves; ++o) {
      const int shift = 7 - o;
      const int x = px >> shift;
      const int y = py >> shift;
      const float fx = (px - (x << shift)) / static_cast<float>(1 << shift);
      const float fy = (py - (y << shift)) / static_cast<float>(1 << shift);
      const float sx = fx * fx * (3.0f - 2.0f * fx);
      const float sy = fy * fy * (3.0f - 2.0f * fy);
      const float a = lattice(x, y) + sx * (lattice(x + 1, y) - lattice(x, y));
      const float b = lattice(x, y + 1) + sx * (lattice(x + 1, y + 1) - lattice(x, y + 1));
      sum += amplitude * (a + sy * (b - a));
      amplitude *= 0.5f;
    }
    return sum;
  }
};

template <class Generator>
__global__ void synthesize(Raster<float> height, Generator generate) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < height.width && y < height.height)
    height.at(x, y) = generate(x, y);
}
// ---- pyramid ----------------------------------------------------------------------------
// One block (16 x 16) per leaf; the closed leaf covers 17 x 17 samples.
__global__ void leaf_bounds(Raster<float> height, Raster<float2> out) {
  __shared__ float low[256];
  __shared__ float high[256];
  const int t = threadIdx.y * blockDim.x + threadIdx.x;
  float lo = 1e30f;
  float hi = -1e30f;
  for (int k = t; k < kPatchVertices; k += 256) {
    const float h = height.at(blockIdx.x * kLeafCells + k % kPatchSide, blockIdx.y * kLeafCells + k / kPatchSide);
    lo = fminf(lo, h);
    hi = fmaxf(hi, h);
  }
  low[t] = lo;
  high[t] = hi;
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) {
    if (t < s) {
      low[t] = fminf(low[t], low[t + s]);
      high[t] = fmaxf(high[t], high[t + s]);
    }
    __syncthreads();
  }
  if (t == 0)
    out.at(blockIdx.x, blockIdx.y) = make_float2(low[0], high[0]);
}

__global__ void coarsen_bounds(Raster<float2> fine, Raster<float2> coarse) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= coarse.width || y >= coarse.height) return;
  float2 r = fine.at(2 * x, 2 * y);
  for (int k = 1; k < 4; ++k) {
    const float2 c = fine.at(2 * x + (k & 1), 2 * y + (k >> 1));
    r.x = fminf(r.x, c.x);
    r.y = fmaxf(r.y, c.y);
  }
  coarse.at(x, y) = r;
}
// ---- material weights -------------------------------------------------------------------
template <int Tile>
__global__ void slope_weights(Raster<float> height, Raster<uchar4> weights) {
  __shared__ float h[Tile + 2][Tile + 2];
  const int x0 = blockIdx.x * Tile - 1;
  const int y0 = blockIdx.y * Tile - 1;
  for (int j = threadIdx.y; j < Tile + 2; j += Tile) {
    for (int i = threadIdx.x; i < Tile + 2; i += Tile) {
      const int x = min(max(x0 + i, 0), height.width - 1);
      const int y = min(max(y0 + j, 0), height.height - 1);
      h[j][i] = height.at(x, y);
    }
  }
  __syncthreads();
  const int x = x0 + 1 + threadIdx.x;
  const int y = y0 + 1 + threadIdx.y;
  if (x >= height.width || y >= height.height) return;
  const float dx = h[threadIdx.y + 1][threadIdx.x + 2] - h[threadIdx.y + 1][threadIdx.x];
  const float dy = h[threadIdx.y + 2][threadIdx.x + 1] - h[threadIdx.y][threadIdx.x + 1];
  const float slope = fminf(sqrtf(dx * dx + dy * dy) * 0.2f, 1.0f);
  const float snow = fminf(fmaxf((h[threadIdx.y + 1][threadIdx.x + 1] - 70.0f) * 0.05f, 0.0f), 1.0f);
  const float rock = slope * (1.0f - snow);
  weights.at(x, y) = make_uchar4(static_cast<unsigned char>(snow * 255.0f), static_cast<unsigned char>(rock * 255.0f),
                                 static_cast<unsigned char>((1.0f - snow) * (1.0f - slope) * 255.0f), 255);
}
// ---- shadow height ----------------------------------------------------------------------
enum class Sun { west, north };

template <Sun Direction>
__global__ void sweep_shadow(Raster<float> height, Raster<float> shadow, float drop) {
  const int line = blockIdx.x * blockDim.x + threadIdx.x;
  if (line >= kSide) return;
  float horizon = -1e30f;
  for (int k = 0; k < kSide; ++k) {
    const int x = Direction == Sun::west ? k : line;
    const int y = Direction == Sun::west ? line : k;
    horizon = fmaxf(horizon - drop, height.at(x, y));
    shadow.at(x, y) = fmaxf(shadow.at(x, y), horizon);
  }
}
// ---- patches ----------------------------------------------------------------------------
struct Patch {
  int x, y, step;
  float low, high;
};

struct Vertex {
  float x, height, y;
  std::uint32_t color;
};

__global__ void tessellate(const Patch* __restrict__ patches, Raster<float> height, Raster<uchar4> weights,
                           Vertex* __restrict__ vertices) {
  const Patch p = patches[blockIdx.x];
  const int x = p.x + threadIdx.x * p.step;
  const int y = p.y + threadIdx.y * p.step;
  const uchar4 w = weights.at(x, y);
  Vertex v;
  v.x = static_cast<float>(x);
  v.y = static_cast<float>(y);
  v.height = height.at(x, y);
  v.color = w.x | w.y << 8 | w.z << 16 | 0xff000000u;
  vertices[blockIdx.x * kPatchVertices + threadIdx.y * kPatchSide + threadIdx.x] = v;
}
// ---- quadtree ---------------------------------------------------------------------------
class QuadTree {
 public:
  using Level = std::vector<float2>;
  struct Options {
    float eye_x = 100.0f;
    float eye_y = 140.0f;
    float quality = 3.0f;
  };

  QuadTree(std::vector<Level> pyramid, Options o) : pyramid_(std::move(pyramid)), options_(o) {
    root_ = build(0, 0, static_cast<int>(pyramid_.size()) - 1);
  }
  std::vector<Patch> leaves() const {
    std::vector<Patch> out;
    collect(*root_, out);
    return out;
  }

 private:
  struct Node {
    Patch patch;
    std::array<std::unique_ptr<Node>, 4> child;
  };
  std::unique_ptr<Node> build(int nx, int ny, int level) const {
    const int side = kCells / kLeafCells >> level;
    const float2 range = pyramid_[level][ny * side + nx];
    const int extent = kLeafCells << level;
    auto node = std::make_unique<Node>();
    node->patch = Patch{nx * extent, ny * extent, 1 << level, range.x, range.y};
    const float dx = (nx + 0.5f) * extent - options_.eye_x;
    const float dy = (ny + 0.5f) * extent - options_.eye_y;
    const float distance = std::sqrt(dx * dx + dy * dy);
    const bool split = level > 0 && (range.y - range.x) * options_.quality * extent > 40.0f * distance;
    for (int k = 0; split && k < 4; ++k)
      node->child[k] = build(2 * nx + (k & 1), 2 * ny + (k >> 1), level - 1);
    return node;
  }
  static void collect(const Node& n, std::vector<Patch>& out) {
    if (!n.child[0]) out.push_back(n.patch);
    for (const auto& c : n.child)
      if (c) collect(*c, out);
  }
  std::vector<Level> pyramid_;
  Options options_;
  std::unique_ptr<Node> root_;
};

template <class T>
struct DevicePtr {
  T* p = nullptr;
  explicit DevicePtr(std::size_t n) {
    GPU_CALL(cudaMalloc(&p, n * sizeof(T)));
    GPU_CALL(cudaMemset(p, 0, n * sizeof(T)));
  }
  DevicePtr(const DevicePtr&) = delete;
  ~DevicePtr() { cudaFree(p); }
};

int main() {
  const FractalNoise noise{6, 90210u};
  Image<float> height(kSide, kSide);
  Image<float> shadow(kSide, kSide);
  Image<uchar4> weights(kSide, kSide);
  synthesize<<<dim3((kSide + 31) / 32, (kSide + 7) / 8), dim3(32, 8)>>>(height.view(), noise);
  std::vector<Image<float2>> pyramid;
  pyramid.emplace_back(kCells / kLeafCells, kCells / kLeafCells);
  leaf_bounds<<<dim3(kCells / kLeafCells, kCells / kLeafCells), dim3(16, 16)>>>(height.view(), pyramid[0].view());
  for (int side = kCells / kLeafCells / 2; side >= 1; side /= 2) {
    pyramid.emplace_back(side, side);
    coarsen_bounds<<<dim3((side + 7) / 8, (side + 7) / 8), dim3(8, 8)>>>(pyramid[pyramid.size() - 2].view(), pyramid.back().view());
  }
  slope_weights<16><<<dim3((kSide + 15) / 16, (kSide + 15) / 16), dim3(16, 16)>>>(height.view(), weights.view());
  sweep_shadow<Sun::west><<<(kSide + 63) / 64, 64>>>(height.view(), shadow.view(), 0.35f);
  sweep_shadow<Sun::north><<<(kSide + 63) / 64, 64>>>(height.view(), shadow.view(), 0.60f);
  GPU_CALL(cudaGetLastError());
  std::vector<QuadTree::Level> levels;
  for (const auto& image : pyramid) levels.push_back(image.host());
  const QuadTree tree(levels, QuadTree::Options{});
  const std::vector<Patch> patches = tree.leaves();
  const int count = static_cast<int>(patches.size());
  DevicePtr<Patch> d_patches(count);
  DevicePtr<Vertex> d_vertices(static_cast<std::size_t>(count) * kPatchVertices);
  GPU_CALL(cudaMemcpy(d_patches.p, patches.data(), count * sizeof(Patch), cudaMemcpyHostToDevice));
  tessellate<<<count, dim3(kPatchSide, kPatchSide)>>>(d_patches.p, height.view(), weights.view(), d_vertices.p);
  GPU_CALL(cudaGetLastError());
  GPU_CALL(cudaDeviceSynchronize());
  // ---- checks
  int bad = 0;
  const auto h = height.host();
  const auto s = shadow.host();
  const auto w = weights.host();
  std::vector<float> sw(h.size(), 0.0f);
  for (int dir = 0; dir < 2; ++dir) {
    for (int line = 0; line < kSide; ++line) {
      float horizon = -1e30f;
      for (int k = 0; k < kSide; ++k) {
        const int at = dir == 0 ? line * kSide + k : k * kSide + line;
        horizon = std::max(horizon - (dir == 0 ? 0.35f : 0.60f), h[at]);
        sw[at] = std::max(sw[at], horizon);
      }
    }
  }
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const int at = y * kSide + x;
      bad += std::fabs(h[at] - noise(x, y)) > 1e-3f;
      bad += std::fabs(s[at] - sw[at]) > 1e-3f;
      const int xl = std::max(x - 1, 0), xr = std::min(x + 1, kSide - 1);
      const int yl = std::max(y - 1, 0), yr = std::min(y + 1, kSide - 1);
      const float dx = h[y * kSide + xr] - h[y * kSide + xl];
      const float dy = h[yr * kSide + x] - h[yl * kSide + x];
      const float slope = std::min(std::sqrt(dx * dx + dy * dy) * 0.2f, 1.0f);
      const float snow = std::min(std::max((h[at] - 70.0f) * 0.05f, 0.0f), 1.0f);
      bad += std::abs(static_cast<int>(snow * 255.0f) - w[at].x) > 1;
      bad += std::abs(static_cast<int>(slope * (1.0f - snow) * 255.0f) - w[at].y) > 1;
      bad += std::abs(static_cast<int>((1.0f - snow) * (1.0f - slope) * 255.0f) - w[at].z) > 1;
    }
  }
  long covered = 0;
  std::vector<Vertex> vertices(static_cast<std::size_t>(count) * kPatchVertices);
  GPU_CALL(cudaMemcpy(vertices.data(), d_vertices.p, vertices.size() * sizeof(Vertex), cudaMemcpyDeviceToHost));
  for (int i = 0; i < count; ++i) {
    const Patch& p = patches[i];
    covered += static_cast<long>(p.step) * p.step;
    float lo = 1e30f;
    float hi = -1e30f;
    for (int y = p.y; y <= p.y + p.step * kLeafCells; ++y) {
      for (int x = p.x; x <= p.x + p.step * kLeafCells; ++x) {
        lo = std::min(lo, h[y * kSide + x]);
        hi = std::max(hi, h[y * kSide + x]);
      }
    }
    bad += lo != p.low || hi != p.high;
    for (int k = 0; k < kPatchVertices; ++k) {
      const int x = p.x + k % kPatchSide * p.step;
      const int y = p.y + k / kPatchSide * p.step;
      const Vertex& v = vertices[static_cast<std::size_t>(i) * kPatchVertices + k];
      bad += v.height != h[y * kSide + x] || v.x != x || v.y != y || (v.color & 255u) != w[y * kSide + x].x;
    }
  }
  bad += covered != static_cast<long>(kCells / kLeafCells) * (kCells / kLeafCells);
  const bool ok = bad == 0 && count > 1;
  std::printf("%d patches, %d errors: %s\n", count, bad, ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
