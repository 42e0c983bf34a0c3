// Lossless tiled image codec, encoder and decoder on the GPU.
//
//   RGB888 (padded rows) -> subtract-green planes -> per-tile predictor choice -> residual bytes
//   -> one canonical Huffman code per plane (lengths made on the host) -> one bitstream per tile and plane.
//
// Tiles are independent, so the decoder runs a thread per bitstream and then a warp per tile that undoes
// the prediction along anti-diagonals.

#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <memory>
#include <queue>
#include <vector>

#define CUDA_OK(call)                                                             \
  do {                                                                            \
    const cudaError_t status = (call);                                            \
    if (status != cudaSuccess) {                                                  \
      fprintf(stderr, "%s at line %d\n", cudaGetErrorString(status), __LINE__);   \
      printf("FAIL\n");                                                           \
      exit(1);                                                                    \
    }                                                                             \
  } while (0)

namespace codec {

constexpr int kTileDim = 32;
constexpr int kTileArea = kTileDim * kTileDim;
constexpr int kPlanes = 3;
constexpr int kPredictors = 5;
constexpr int kMaxCodeLength = 15;
constexpr int kMaxTileWords = kTileArea * kMaxCodeLength / 32 + 1;

struct ImageInfo {
  int width, height, stride;  // stride of the interleaved input in bytes
  int tiles_x, tiles_y;
  __host__ __device__ int num_tiles() const { return tiles_x * tiles_y; }
};

__constant__ uint8_t kCodeLength[kPlanes * 256];
__constant__ uint16_t kCode[kPlanes * 256];        // bit-reversed, LSB first
__constant__ uint16_t kFirstCode[kPlanes * 16];
__constant__ uint16_t kFirstIndex[kPlanes * 16];
__constant__ uint16_t kLengthCount[kPlanes * 16];

__host__ __device__ inline int Clamp255(int v) { return v < 0 ? 0 : (v > 255 ? 255 : v); }

// w = left, n = above, nw = above left
__host__ __device__ inline int Predict(int mode, int w, int n, int nw) {
  switch (mode) {
    case 0: return w;
    case 1: return n;
    case 2: return (w + n) >> 1;
    case 3: {  // median edge detector
      const int lo = w < n ? w : n, hi = w < n ? n : w;
      return nw >= hi ? lo : (nw <= lo ? hi : w + n - nw);
    }
    default: return Clamp255(w + ((n - nw) >> 1));
  }
}

// signed residual mod 256 folded so that small magnitudes get small symbols
__host__ __device__ inline uint8_t Fold(int r) {
  const int s = (int8_t)r;
  return (uint8_t)(s >= 0 ? 2 * s : -2 * s - 1);
}
__host__ __device__ inline int Unfold(int s) { return s & 1 ? -((s + 1) >> 1) : s >> 1; }

// neighbours inside the tile; outside counts as 128
template <class Get>
__host__ __device__ inline int PredictAt(int mode, int x, int y, Get get) {
  const int w = x > 0 ? get(x - 1, y) : (y > 0 ? get(x, y - 1) : 128);
  const int n = y > 0 ? get(x, y - 1) : w;
  const int nw = x > 0 && y > 0 ? get(x - 1, y - 1) : (x > 0 ? w : n);
  return Predict(mode, w, n, nw);
}

// ---- encoder --------------------------------------------------------------------------------------

__global__ void SplitPlanes(const uint8_t* __restrict__ rgb, uint8_t* __restrict__ planes, ImageInfo im) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= im.width || y >= im.height) return;
  const uint8_t* p = rgb + y * im.stride + 3 * x;
  const uint8_t r = p[0], g = p[1], b = p[2];
  const int n = im.width * im.height, i = y * im.width + x;
  planes[i] = g;
  planes[n + i] = (uint8_t)(r - g);
  planes[2 * n + i] = (uint8_t)(b - g);
}

// block = tile x plane, 32 x 8 threads; every predictor is tried, cheapest sum of magnitudes wins
__global__ void __launch_bounds__(256)
ChoosePredictor(const uint8_t* __restrict__ planes, uint8_t* __restrict__ residuals, uint8_t* __restrict__ modes, ImageInfo im) {
  __shared__ uint8_t px[kTileDim][kTileDim];
  __shared__ int cost[kPredictors];
  __shared__ int best;
  const int tile = blockIdx.x, plane = blockIdx.y;
  const int x0 = tile % im.tiles_x * kTileDim, y0 = tile / im.tiles_x * kTileDim;
  const int w = min(kTileDim, im.width - x0), h = min(kTileDim, im.height - y0);
  const int tx = threadIdx.x;
  const uint8_t* src = planes + (size_t)plane * im.width * im.height;
  const int tid = threadIdx.y * 32 + tx;
  if (tid < kPredictors) cost[tid] = 0;
  for (int y = threadIdx.y; y < h; y += 8)
    if (tx < w) px[y][tx] = src[(y0 + y) * im.width + x0 + tx];
  __syncthreads();
  auto get = [&](int x, int y) { return (int)px[y][x]; };
  int sum[kPredictors] = {0};
  if (tx < w)
    for (int y = threadIdx.y; y < h; y += 8)
#pragma unroll
      for (int m = 0; m < kPredictors; ++m) sum[m] += Fold(px[y][tx] - PredictAt(m, tx, y, get));
#pragma unroll
  for (int m = 0; m < kPredictors; ++m) {
    int s = sum[m];
    for (int d = 16; d > 0; d >>= 1) s += __shfl_down_sync(0xffffffffu, s, d);
    if (tx == 0) atomicAdd(&cost[m], s);
  }
  __syncthreads();
  if (tid == 0) {
    int b = 0;
    for (int m = 1; m < kPredictors; ++m)
      if (cost[m] < cost[b]) b = m;
    best = b;
    modes[plane * im.num_tiles() + tile] = (uint8_t)b;
  }
  __syncthreads();
  uint8_t* dst = residuals + ((size_t)plane * im.num_tiles() + tile) * kTileArea;
  if (tx < w)
    for (int y = threadIdx.y; y < h; y += 8) dst[y * w + tx] = Fold(px[y][tx] - PredictAt(best, tx, y, get));
}

// one histogram per plane; four sub-histograms per block against contention
__global__ void Histogram(const uint8_t* __restrict__ residuals, ImageInfo im, unsigned* __restrict__ hist) {
  __shared__ unsigned sub[4][256];
  for (int i = threadIdx.x; i < 4 * 256; i += blockDim.x) (&sub[0][0])[i] = 0;
  __syncthreads();
  const int plane = blockIdx.y, mine = threadIdx.x & 3;
  for (int tile = blockIdx.x; tile < im.num_tiles(); tile += gridDim.x) {
    const int w = min(kTileDim, im.width - tile % im.tiles_x * kTileDim);
    const int h = min(kTileDim, im.height - tile / im.tiles_x * kTileDim);
    const uint8_t* src = residuals + ((size_t)plane * im.num_tiles() + tile) * kTileArea;
    for (int i = threadIdx.x; i < w * h; i += blockDim.x) atomicAdd(&sub[mine][src[i]], 1u);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) {
    const unsigned s = sub[0][i] + sub[1][i] + sub[2][i] + sub[3][i];
    if (s) atomicAdd(&hist[plane * 256 + i], s);
  }
}

// bits of every stream, a warp per stream
__global__ void MeasureStreams(const uint8_t* __restrict__ residuals, ImageInfo im, int* __restrict__ words) {
  const int stream = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (stream >= kPlanes * im.num_tiles()) return;
  const int plane = stream / im.num_tiles(), tile = stream % im.num_tiles();
  const int n = min(kTileDim, im.width - tile % im.tiles_x * kTileDim) * min(kTileDim, im.height - tile / im.tiles_x * kTileDim);
  const uint8_t* src = residuals + (size_t)stream * kTileArea;
  int bits = 0;
  for (int i = lane; i < n; i += 32) bits += kCodeLength[plane * 256 + src[i]];  // constant memory, lanes differ
  for (int d = 16; d; d >>= 1) bits += __shfl_xor_sync(0xffffffffu, bits, d);
  if (lane == 0) words[stream] = (bits + 31) / 32;
}

__global__ void ScanWords(const int* __restrict__ words, int* __restrict__ offsets, int n) {
  __shared__ int warp_total[32];
  __shared__ int carry;
  const int t = threadIdx.x, lane = t & 31, wid = t >> 5;
  if (t == 0) carry = 0;
  __syncthreads();
  for (int base = 0; base < n; base += blockDim.x) {
    const int v = base + t < n ? words[base + t] : 0;
    int inc = v;
    for (int d = 1; d < 32; d <<= 1) {
      const int o = __shfl_up_sync(0xffffffffu, inc, d);
      if (lane >= d) inc += o;
    }
    if (lane == 31) warp_total[wid] = inc;
    __syncthreads();
    if (wid == 0) {
      int s = lane < blockDim.x / 32 ? warp_total[lane] : 0;
      for (int d = 1; d < 32; d <<= 1) {
        const int o = __shfl_up_sync(0xffffffffu, s, d);
        if (lane >= d) s += o;
      }
      warp_total[lane] = s;
    }
    __syncthreads();
    const int before = carry + (wid ? warp_total[wid - 1] : 0);
    if (base + t < n) offsets[base + t] = before + inc - v;
    __syncthreads();
    if (t == 0) carry += warp_total[blockDim.x / 32 - 1];
    __syncthreads();
  }
  if (t == 0) offsets[n] = carry;
}

// 256 threads, four consecutive symbols each; bits are or-ed together in shared memory
__global__ void __launch_bounds__(256)
EmitStreams(const uint8_t* __restrict__ residuals, const int* __restrict__ offsets, uint32_t* __restrict__ out, ImageInfo im) {
  __shared__ uint32_t buf[kMaxTileWords + 1];
  __shared__ int scan[256];
  const int stream = blockIdx.x, t = threadIdx.x;
  const int plane = stream / im.num_tiles(), tile = stream % im.num_tiles();
  const int n = min(kTileDim, im.width - tile % im.tiles_x * kTileDim) * min(kTileDim, im.height - tile / im.tiles_x * kTileDim);
  const uint8_t* src = residuals + (size_t)stream * kTileArea;
  for (int i = t; i <= kMaxTileWords; i += 256) buf[i] = 0;
  unsigned long long acc = 0;
  int len = 0;
  for (int k = 0; k < 4; ++k) {
    const int i = 4 * t + k;
    if (i < n) {
      const int s = plane * 256 + src[i];
      acc |= (unsigned long long)kCode[s] << len;
      len += kCodeLength[s];
    }
  }
  scan[t] = len;
  __syncthreads();
  for (int d = 1; d < 256; d <<= 1) {
    const int v = t >= d ? scan[t - d] : 0;
    __syncthreads();
    scan[t] += v;
    __syncthreads();
  }
  const int pos = scan[t] - len;
  if (len) {
    const int w = pos >> 5, sh = pos & 31;
    atomicOr(&buf[w], (uint32_t)(acc << sh));
    const unsigned long long rest = acc >> (32 - sh);
    if ((uint32_t)rest) atomicOr(&buf[w + 1], (uint32_t)rest);
    if (rest >> 32) atomicOr(&buf[w + 2], (uint32_t)(rest >> 32));
  }
  __syncthreads();
  const int begin = offsets[stream], count = offsets[stream + 1] - begin;
  for (int i = t; i < count; i += 256) out[begin + i] = buf[i];
}

// ---- decoder --------------------------------------------------------------------------------------

// a thread per stream: serial bit twiddling, canonical decoding length by length
__global__ void DecodeStreams(const uint32_t* __restrict__ in, const int* __restrict__ offsets, const uint8_t* __restrict__ sorted_symbols,
                              uint8_t* __restrict__ residuals, ImageInfo im) {
  const int stream = blockIdx.x * blockDim.x + threadIdx.x;
  if (stream >= kPlanes * im.num_tiles()) return;
  const int plane = stream / im.num_tiles(), tile = stream % im.num_tiles();
  const int n = min(kTileDim, im.width - tile % im.tiles_x * kTileDim) * min(kTileDim, im.height - tile / im.tiles_x * kTileDim);
  const uint32_t* p = in + offsets[stream];
  uint8_t* dst = residuals + (size_t)stream * kTileArea;
  uint32_t word = 0;
  int left = 0;
  for (int i = 0; i < n; ++i) {
    int code = 0, length = 0, symbol = 0;
    while (length < kMaxCodeLength) {
      if (left == 0) { word = *p++; left = 32; }
      code = code << 1 | (word & 1);
      word >>= 1;
      --left;
      ++length;
      const int k = code - kFirstCode[plane * 16 + length];
      if (k >= 0 && k < kLengthCount[plane * 16 + length]) {
        symbol = sorted_symbols[plane * 256 + kFirstIndex[plane * 16 + length] + k];
        break;
      }
    }
    dst[i] = (uint8_t)symbol;
  }
}

// a warp per stream; lane = row, column = step - 2 * lane keeps all neighbours ready
__global__ void Reconstruct(const uint8_t* __restrict__ residuals, const uint8_t* __restrict__ modes, uint8_t* __restrict__ planes, ImageInfo im) {
  __shared__ uint8_t px[4][kTileDim][kTileDim + 1];
  const int wid = threadIdx.y, lane = threadIdx.x;
  const int stream = blockIdx.x * 4 + wid;
  if (stream >= kPlanes * im.num_tiles()) return;
  const int plane = stream / im.num_tiles(), tile = stream % im.num_tiles();
  const int x0 = tile % im.tiles_x * kTileDim, y0 = tile / im.tiles_x * kTileDim;
  const int w = min(kTileDim, im.width - x0), h = min(kTileDim, im.height - y0);
  const uint8_t* src = residuals + (size_t)stream * kTileArea;
  const int mode = modes[stream];
  auto get = [&](int x, int y) { return (int)px[wid][y][x]; };
  for (int step = 0; step < w + 2 * (h - 1); ++step) {
    const int x = step - 2 * lane;
    if (lane < h && x >= 0 && x < w) px[wid][lane][x] = (uint8_t)(PredictAt(mode, x, lane, get) + Unfold(src[lane * w + x]));
    __syncwarp();
  }
  uint8_t* dst = planes + (size_t)plane * im.width * im.height;
  for (int y = 0; y < h; ++y)
    if (lane < w) dst[(y0 + y) * im.width + x0 + lane] = px[wid][y][lane];
}

__global__ void MergePlanes(const uint8_t* __restrict__ planes, uint8_t* __restrict__ rgb, ImageInfo im) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= im.width || y >= im.height) return;
  const int n = im.width * im.height, i = y * im.width + x;
  const uint8_t g = planes[i];
  uint8_t* p = rgb + y * im.stride + 3 * x;
  p[0] = (uint8_t)(planes[n + i] + g);
  p[1] = g;
  p[2] = (uint8_t)(planes[2 * n + i] + g);
}

// ---- host: Huffman lengths and canonical codes -----------------------------------------------------

struct HuffmanTable {
  uint8_t length[256];
  uint16_t code[256];
  uint16_t first_code[16], first_index[16], count[16];
  uint8_t sorted[256];
};

HuffmanTable BuildHuffman(std::vector<unsigned> counts) {
  HuffmanTable t;
  for (;;) {  // halve the counts until the deepest leaf fits
    memset(&t, 0, sizeof(t));
    using Item = std::pair<uint64_t, int>;
    std::priority_queue<Item, std::vector<Item>, std::greater<Item>> q;
    std::vector<int> parent(512, -1);
    for (int s = 0; s < 256; ++s)
      if (counts[s]) q.push({counts[s], s});
    int next = 256;
    while (q.size() > 1) {
      const Item a = q.top(); q.pop();
      const Item b = q.top(); q.pop();
      parent[a.second] = parent[b.second] = next;
      q.push({a.first + b.first, next++});
    }
    int deepest = 0;
    for (int s = 0; s < 256; ++s)
      if (counts[s]) {
        int d = 0;
        for (int p = s; parent[p] >= 0; p = parent[p]) ++d;
        t.length[s] = (uint8_t)std::max(d, 1);
        deepest = std::max(deepest, d);
      }
    if (deepest <= kMaxCodeLength) break;
    for (auto& c : counts) c = c ? c / 2 + 1 : 0;
  }
  for (int s = 0; s < 256; ++s) if (t.length[s]) t.count[t.length[s]]++;
  int code = 0, index = 0;
  for (int l = 1; l <= kMaxCodeLength; ++l) {
    code <<= 1;
    t.first_code[l] = (uint16_t)code;
    t.first_index[l] = (uint16_t)index;
    for (int s = 0; s < 256; ++s)
      if (t.length[s] == l) {
        t.sorted[index++] = (uint8_t)s;
        uint16_t r = 0;
        for (int b = 0; b < l; ++b) r |= (code >> b & 1) << (l - 1 - b);
        t.code[s] = r;
        ++code;
      }
  }
  return t;
}

template <class T>
std::shared_ptr<T> Device(size_t n, bool clear = false) {
  T* p = nullptr;
  CUDA_OK(cudaMalloc(&p, n * sizeof(T)));
  if (clear) CUDA_OK(cudaMemset(p, 0, n * sizeof(T)));
  return std::shared_ptr<T>(p, [](T* q) { cudaFree(q); });
}

}  // namespace codec

int main() {
  using namespace codec;
  ImageInfo im;
  im.width = 517;
  im.height = 389;
  im.stride = 3 * im.width + 1;  // 1552
  im.tiles_x = (im.width + kTileDim - 1) / kTileDim;
  im.tiles_y = (im.height + kTileDim - 1) / kTileDim;
  const int tiles = im.num_tiles(), streams = kPlanes * tiles;
  std::vector<uint8_t> image((size_t)im.stride * im.height, 0);
  unsigned seed = 9;
  for (int y = 0; y < im.height; ++y)
    for (int x = 0; x < im.width; ++x) {
      seed = seed * 1664525u + 1013904223u;
      const int noise = (int)(seed >> 29) - 3;
      const int base = (x * x / 700 + y * 3 / 4 + ((x / 40 + y / 25) % 2 ? 60 : 0)) & 255;
      uint8_t* p = &image[(size_t)y * im.stride + 3 * x];
      p[0] = (uint8_t)Clamp255(base + noise + 10);
      p[1] = (uint8_t)Clamp255(base + noise / 2);
      p[2] = (uint8_t)Clamp255(255 - base + noise);
    }

  auto rgb = Device<uint8_t>(image.size()), decoded = Device<uint8_t>(image.size(), true);
  auto planes = Device<uint8_t>((size_t)kPlanes * im.width * im.height), planes2 = Device<uint8_t>((size_t)kPlanes * im.width * im.height);
  auto residuals = Device<uint8_t>((size_t)streams * kTileArea, true), residuals2 = Device<uint8_t>((size_t)streams * kTileArea, true);
  auto modes = Device<uint8_t>(streams);
  auto hist = Device<unsigned>(kPlanes * 256, true);
  auto words = Device<int>(streams), offsets = Device<int>(streams + 1);
  CUDA_OK(cudaMemcpy(rgb.get(), image.data(), image.size(), cudaMemcpyHostToDevice));

  const dim3 pix(32, 8), pix_grid((im.width + 31) / 32, (im.height + 7) / 8);
  SplitPlanes<<<pix_grid, pix>>>(rgb.get(), planes.get(), im);
  ChoosePredictor<<<dim3(tiles, kPlanes), dim3(32, 8)>>>(planes.get(), residuals.get(), modes.get(), im);
  Histogram<<<dim3(40, kPlanes), 256>>>(residuals.get(), im, hist.get());

  std::vector<unsigned> counts(kPlanes * 256);
  CUDA_OK(cudaMemcpy(counts.data(), hist.get(), counts.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
  auto sorted = Device<uint8_t>(kPlanes * 256);
  for (int p = 0; p < kPlanes; ++p) {
    const HuffmanTable t = BuildHuffman(std::vector<unsigned>(counts.begin() + 256 * p, counts.begin() + 256 * (p + 1)));
    CUDA_OK(cudaMemcpyToSymbol(kCodeLength, t.length, 256, 256 * p));
    CUDA_OK(cudaMemcpyToSymbol(kCode, t.code, 512, 512 * p));
    CUDA_OK(cudaMemcpyToSymbol(kFirstCode, t.first_code, 32, 32 * p));
    CUDA_OK(cudaMemcpyToSymbol(kFirstIndex, t.first_index, 32, 32 * p));
    CUDA_OK(cudaMemcpyToSymbol(kLengthCount, t.count, 32, 32 * p));
    CUDA_OK(cudaMemcpy(sorted.get() + 256 * p, t.sorted, 256, cudaMemcpyHostToDevice));
  }

  MeasureStreams<<<(streams + 3) / 4, 128>>>(residuals.get(), im, words.get());
  ScanWords<<<1, 512>>>(words.get(), offsets.get(), streams);
  int total_words = 0;
  CUDA_OK(cudaMemcpy(&total_words, offsets.get() + streams, sizeof(int), cudaMemcpyDeviceToHost));
  auto bits = Device<uint32_t>(std::max(1, total_words));
  EmitStreams<<<streams, 256>>>(residuals.get(), offsets.get(), bits.get(), im);

  DecodeStreams<<<(streams + 63) / 64, 64>>>(bits.get(), offsets.get(), sorted.get(), residuals2.get(), im);
  Reconstruct<<<(streams + 3) / 4, dim3(32, 4)>>>(residuals2.get(), modes.get(), planes2.get(), im);
  MergePlanes<<<pix_grid, pix>>>(planes2.get(), decoded.get(), im);
  CUDA_OK(cudaGetLastError());
  CUDA_OK(cudaDeviceSynchronize());

  std::vector<uint8_t> back(image.size()), r1((size_t)streams * kTileArea), r2(r1.size());
  CUDA_OK(cudaMemcpy(back.data(), decoded.get(), back.size(), cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(r1.data(), residuals.get(), r1.size(), cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(r2.data(), residuals2.get(), r2.size(), cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (size_t i = 0; i < image.size(); ++i) wrong += back[i] != image[i];
  const bool same_residuals = r1 == r2;
  uint64_t symbols = 0;
  for (unsigned c : counts) symbols += c;
  const bool ok = wrong == 0 && same_residuals && symbols == (uint64_t)kPlanes * im.width * im.height &&
                  total_words * 4 < kPlanes * im.width * im.height;
  printf("%dx%d: %d bytes -> %d bytes, %d wrong bytes\n", im.width, im.height, kPlanes * im.width * im.height, total_words * 4, wrong);
  printf(ok ? "PASS\n" : "FAIL\n");
  return ok ? 0 : 1;
}
