// Transposing matrices nobody would choose voluntarily (7 x 3001, 333 x 517, ...), element types from
// one byte to a 12 byte struct, several kernels. The test table is filled with lambdas.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

inline void ensure(cudaError_t err, const char* file, int line) {
  if (err == cudaSuccess) return;
  fprintf(stderr, "%s(%d): %s\n", file, line, cudaGetErrorString(err));
  exit(3);
}
#define ENSURE(e) ensure((e), __FILE__, __LINE__)

struct Rgb96 {  // 12 bytes
  float r, g, b;
};

// reads along rows, writes down columns
template <typename T>
__global__ void transpose_read_rows(T* __restrict__ dst, const T* __restrict__ src, int rows, int cols) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < rows && c < cols) dst[c * rows + r] = src[r * cols + c];
}

// one linear index over the output, integer division for the source
template <typename T>
__global__ void transpose_linear(T* dst, const T* src, int rows, int cols) {
  for (int o = blockIdx.x * blockDim.x + threadIdx.x; o < rows * cols; o += gridDim.x * blockDim.x)
    dst[o] = src[(o % rows) * cols + o / rows];
}

template <typename T, int TILE, int LINES, int PAD>
__global__ void transpose_tile(T* dst, const T* src, int rows, int cols) {
  __shared__ T tile[TILE][TILE + PAD];
  int c = blockIdx.x * TILE + threadIdx.x;
  int r0 = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
  for (int k = 0; k < TILE; k += LINES)
    if (c < cols && r0 + k < rows) tile[threadIdx.y + k][threadIdx.x] = src[(r0 + k) * cols + c];
  __syncthreads();
  int r = blockIdx.y * TILE + threadIdx.x;
  int c0 = blockIdx.x * TILE + threadIdx.y;
#pragma unroll
  for (int k = 0; k < TILE; k += LINES)
    if (r < rows && c0 + k < cols) dst[(c0 + k) * rows + r] = tile[threadIdx.x][threadIdx.y + k];
}

// diagonal storage inside the tile instead of a pad column
template <typename T, int TILE, int LINES>
__global__ void transpose_rotated(T* dst, const T* src, int rows, int cols) {
  __shared__ T tile[TILE * TILE];
  const int x = threadIdx.x;
  int c = blockIdx.x * TILE + x;
  for (int y = threadIdx.y; y < TILE; y += LINES) {
    int r = blockIdx.y * TILE + y;
    if (r < rows && c < cols) tile[y * TILE + (x + y) % TILE] = src[r * cols + c];
  }
  __syncthreads();
  int r = blockIdx.y * TILE + x;
  for (int y = threadIdx.y; y < TILE; y += LINES) {
    int cc = blockIdx.x * TILE + y;
    if (cc < cols && r < rows) dst[cc * rows + r] = tile[x * TILE + (x + y) % TILE];
  }
}

// few rows, many columns: stage a strip of all rows, e.g. planar -> interleaved
template <typename T, int ROWS, int STRIP>
__global__ void transpose_few_rows(T* dst, const T* src, int cols) {
  __shared__ T strip[ROWS][STRIP];
  int first = blockIdx.x * STRIP;
  for (int r = 0; r < ROWS; ++r)
    if (first + threadIdx.x < cols) strip[r][threadIdx.x] = src[r * cols + first + threadIdx.x];
  __syncthreads();
  int valid = min(STRIP, cols - first) * ROWS;
  for (int k = threadIdx.x; k < valid; k += STRIP) dst[first * ROWS + k] = strip[k % ROWS][k / ROWS];
}

// bytes, a 4 x 4 patch per thread through registers; needs both sides divisible by 4
__global__ void transpose_bytes_quad(unsigned* dst, const unsigned* src, int rows, int cols) {
  int cq = blockIdx.x * blockDim.x + threadIdx.x;
  int rq = blockIdx.y * blockDim.y + threadIdx.y;
  if (cq >= cols / 4 || rq >= rows / 4) return;
  unsigned in[4], out[4] = {0, 0, 0, 0};
  for (int i = 0; i < 4; ++i) in[i] = src[(rq * 4 + i) * (cols / 4) + cq];
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) out[j] |= ((in[i] >> (8 * j)) & 0xffu) << (8 * i);
  for (int j = 0; j < 4; ++j) dst[(cq * 4 + j) * (rows / 4) + rq] = out[j];
}

// square in place, one block per pair of tiles (lower triangle of the tile grid)
template <int TILE>
__global__ void transpose_in_place(double* m, int n) {
  if (blockIdx.x > blockIdx.y) return;
  __shared__ double a[TILE][TILE + 1], b[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int xa = blockIdx.x * TILE + tx, ya = blockIdx.y * TILE + ty;
  int xb = blockIdx.y * TILE + tx, yb = blockIdx.x * TILE + ty;
  if (xa < n && ya < n) a[ty][tx] = m[ya * n + xa];
  if (xb < n && yb < n) b[ty][tx] = m[yb * n + xb];
  __syncthreads();
  if (xb < n && yb < n) m[yb * n + xb] = a[tx][ty];
  if (blockIdx.x != blockIdx.y && xa < n && ya < n) m[ya * n + xa] = b[tx][ty];
}

template <typename T>
using Runner = std::function<void(T*, const T*, int, int)>;

template <typename T>
struct Entry {
  std::string label;
  Runner<T> go;
};

int g_failures = 0;

template <typename T>
void battle(const char* type, int rows, int cols, const std::vector<Entry<T>>& entries, unsigned seed) {
  size_t n = size_t(rows) * cols;
  std::vector<T> in(n), want(n), got(n);
  std::mt19937 mt(seed);
  unsigned char* raw = reinterpret_cast<unsigned char*>(in.data());
  std::uniform_int_distribution<int> digit(0, 99);
  for (size_t i = 0; i < n * sizeof(T); ++i) raw[i] = static_cast<unsigned char>(digit(mt));
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) want[size_t(c) * rows + r] = in[size_t(r) * cols + c];
  T *d_in, *d_out;
  ENSURE(cudaMalloc(&d_in, n * sizeof(T)));
  ENSURE(cudaMalloc(&d_out, n * sizeof(T)));
  ENSURE(cudaMemcpy(d_in, in.data(), n * sizeof(T), cudaMemcpyHostToDevice));
  for (const auto& e : entries) {
    ENSURE(cudaMemset(d_out, 0, n * sizeof(T)));
    e.go(d_out, d_in, rows, cols);
    ENSURE(cudaGetLastError());
    ENSURE(cudaMemcpy(got.data(), d_out, n * sizeof(T), cudaMemcpyDeviceToHost));
    bool same = memcmp(got.data(), want.data(), n * sizeof(T)) == 0;
    printf("  %-7s %4d x %-5d %-24s %s\n", type, rows, cols, e.label.c_str(), same ? "ok" : "WRONG");
    if (!same) ++g_failures;
  }
  ENSURE(cudaFree(d_in));
  ENSURE(cudaFree(d_out));
}

template <typename T>
Entry<T> simple(int bx, int by) {
  return {"rows, block " + std::to_string(bx) + "x" + std::to_string(by), [=](T* o, const T* i, int r, int c) {
            dim3 blk(bx, by), grd((c + bx - 1) / bx, (r + by - 1) / by);
            transpose_read_rows<T><<<grd, blk>>>(o, i, r, c);
          }};
}
template <typename T>
Entry<T> linear() {
  return {"linear", [](T* o, const T* i, int r, int c) { transpose_linear<T><<<60, 192>>>(o, i, r, c); }};
}
template <typename T, int TILE, int LINES, int PAD>
Entry<T> tiled() {
  return {"tile " + std::to_string(TILE) + " pad " + std::to_string(PAD), [](T* o, const T* i, int r, int c) {
            dim3 blk(TILE, LINES), grd((c + TILE - 1) / TILE, (r + TILE - 1) / TILE);
            transpose_tile<T, TILE, LINES, PAD><<<grd, blk>>>(o, i, r, c);
          }};
}
template <typename T, int TILE, int LINES>
Entry<T> rotated() {
  return {"rotated tile", [](T* o, const T* i, int r, int c) {
            dim3 blk(TILE, LINES), grd((c + TILE - 1) / TILE, (r + TILE - 1) / TILE);
            transpose_rotated<T, TILE, LINES><<<grd, blk>>>(o, i, r, c);
          }};
}

int main() {
  battle<float>("float", 333, 517,
                {simple<float>(32, 8), simple<float>(8, 32), linear<float>(), tiled<float, 32, 8, 0>(),
                 tiled<float, 32, 8, 1>(), rotated<float, 32, 4>()}, 1);
  battle<double>("double", 251, 130, {simple<double>(16, 16), tiled<double, 16, 16, 0>(), tiled<double, 32, 8, 1>()}, 2);
  battle<Rgb96>("rgb96", 100, 203, {simple<Rgb96>(32, 4), tiled<Rgb96, 16, 8, 0>(), tiled<Rgb96, 16, 8, 1>()}, 3);
  battle<short>("short", 7, 3001,
                {simple<short>(64, 2), linear<short>(),
                 {"strip of 7 rows", [](short* o, const short* i, int, int c) {
                    transpose_few_rows<short, 7, 128><<<(c + 127) / 128, 128>>>(o, i, c);
                  }}}, 4);
  battle<unsigned char>("byte", 180, 412,
                        {linear<unsigned char>(), tiled<unsigned char, 32, 8, 0>(),
                         {"4 x 4 patches", [](unsigned char* o, const unsigned char* i, int r, int c) {
                            dim3 blk(32, 4), grd((c / 4 + 31) / 32, (r / 4 + 3) / 4);
                            transpose_bytes_quad<<<grd, blk>>>(reinterpret_cast<unsigned*>(o),
                                                               reinterpret_cast<const unsigned*>(i), r, c);
                          }}}, 5);
  battle<double>("double", 205, 205,
                 {{"copy + in place", [](double* o, const double* i, int n, int) {
                     ENSURE(cudaMemcpy(o, i, sizeof(double) * n * n, cudaMemcpyDeviceToDevice));
                     dim3 blk(16, 16), grd((n + 15) / 16, (n + 15) / 16);
                     transpose_in_place<16><<<grd, blk>>>(o, n);
                   }}}, 6);
  ENSURE(cudaDeviceSynchronize());
  printf("%d failures\n%s\n", g_failures, g_failures ? "FAIL" : "PASS");
  return g_failures ? 1 : 0;
}
