// Matrix transpose ladder: from a plain tiled copy (the speed we would like to reach)
// over the naive transpose to shared memory tiles without bank conflicts.
//
//   usage: transpose_ladder_c [nx] [ny] [reps]
//
// nx, ny are rounded up to a multiple of the tile.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

// ------------------------------------------------------------------ util.cuh
#define CHECK_CUDA(call)                                                        \
  do {                                                                          \
    cudaError_t err_ = (call);                                                  \
    if (err_ != cudaSuccess) {                                                  \
      std::fprintf(stderr, "%s:%d: %s failed: %s\n", __FILE__, __LINE__, #call, \
                   cudaGetErrorString(err_));                                   \
      std::exit(1);                                                             \
    }                                                                           \
  } while (0)

struct EventTimer {
  cudaEvent_t t0, t1;
  EventTimer() {
    CHECK_CUDA(cudaEventCreate(&t0));
    CHECK_CUDA(cudaEventCreate(&t1));
  }
  ~EventTimer() {
    cudaEventDestroy(t0);
    cudaEventDestroy(t1);
  }
  void start(cudaStream_t s) { CHECK_CUDA(cudaEventRecord(t0, s)); }
  float stop(cudaStream_t s) {
    float ms = 0.f;
    CHECK_CUDA(cudaEventRecord(t1, s));
    CHECK_CUDA(cudaEventSynchronize(t1));
    CHECK_CUDA(cudaEventElapsedTime(&ms, t0, t1));
    return ms;
  }
};

// --------------------------------------------------------------- kernels.cuh
constexpr int TILE = 32;  // tile edge
constexpr int ROWS = 8;   // rows one block handles per step

// 0. Upper bound: same traffic as a transpose, but both sides coalesced.
__global__ void copy_tile(float* __restrict__ dst, const float* __restrict__ src, int nx, int ny) {
  int x = blockIdx.x * TILE + threadIdx.x;
  int y = blockIdx.y * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS)
    if (x < nx && y + j < ny) dst[(y + j) * nx + x] = src[(y + j) * nx + x];
}

// 1. Reads run along a row, writes jump by ny floats from lane to lane.
__global__ void transpose_naive(float* __restrict__ dst, const float* __restrict__ src, int nx,
                                int ny) {
  int x = blockIdx.x * TILE + threadIdx.x;
  int y = blockIdx.y * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS)
    if (x < nx && y + j < ny) dst[x * ny + (y + j)] = src[(y + j) * nx + x];
}

// 2./3. Through a shared tile; PAD = 0 gives 32-way bank conflicts on the way out, PAD = 1 none.
template <int PAD>
__global__ void transpose_tile(float* __restrict__ dst, const float* __restrict__ src, int nx,
                               int ny) {
  __shared__ float tile[TILE][TILE + PAD];
  int x = blockIdx.x * TILE + threadIdx.x;
  int y = blockIdx.y * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS) tile[threadIdx.y + j][threadIdx.x] = src[(y + j) * nx + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x;
  y = blockIdx.x * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS) dst[(y + j) * ny + x] = tile[threadIdx.x][threadIdx.y + j];
}

// 4. Padded tile, blocks walk over the matrix along diagonals.
__global__ void transpose_diagonal(float* __restrict__ dst, const float* __restrict__ src, int nx,
                                   int ny) {
  __shared__ float tile[TILE][TILE + 1];
  int linear = blockIdx.x + gridDim.x * blockIdx.y;
  int by = linear % gridDim.y;
  int bx = (linear / gridDim.y + by) % gridDim.x;

  int x = bx * TILE + threadIdx.x;
  int y = by * TILE + threadIdx.y;
#pragma unroll
  for (int j = 0; j < TILE; j += ROWS) tile[threadIdx.y + j][threadIdx.x] = src[(y + j) * nx + x];
  __syncthreads();
  x = by * TILE + threadIdx.x;
  y = bx * TILE + threadIdx.y;
#pragma unroll
  for (int j = 0; j < TILE; j += ROWS) dst[(y + j) * ny + x] = tile[threadIdx.x][threadIdx.y + j];
}

// 5. No padding: the column index is xor-ed with the row index instead.
__global__ void transpose_swizzle(float* __restrict__ dst, const float* __restrict__ src, int nx,
                                  int ny) {
  extern __shared__ float buf[];
  const int tx = threadIdx.x;
  int x = blockIdx.x * TILE + tx;
  int y = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
  for (int j = 0; j < TILE; j += ROWS) {
    int r = threadIdx.y + j;
    buf[r * TILE + (tx ^ r)] = src[(y + j) * nx + x];
  }
  __syncthreads();
  x = blockIdx.y * TILE + tx;
  y = blockIdx.x * TILE + threadIdx.y;
#pragma unroll
  for (int j = 0; j < TILE; j += ROWS) {
    int c = threadIdx.y + j;
    dst[(y + j) * ny + x] = buf[tx * TILE + (c ^ tx)];
  }
}

// 6. 128 bit global accesses on both sides, one float4 in and one out per thread (256 threads).
__global__ void transpose_vec4(float* __restrict__ dst, const float* __restrict__ src, int nx,
                               int ny) {
  __shared__ float tile[TILE][TILE + 1];
  const int r = threadIdx.x / (TILE / 4);
  const int c = (threadIdx.x % (TILE / 4)) * 4;
  const int x0 = blockIdx.x * TILE, y0 = blockIdx.y * TILE;

  float4 v = *reinterpret_cast<const float4*>(src + (y0 + r) * nx + x0 + c);
  tile[c + 0][r] = v.x;
  tile[c + 1][r] = v.y;
  tile[c + 2][r] = v.z;
  tile[c + 3][r] = v.w;
  __syncthreads();
  float4 w = make_float4(tile[r][c], tile[r][c + 1], tile[r][c + 2], tile[r][c + 3]);
  *reinterpret_cast<float4*>(dst + (x0 + r) * ny + y0 + c) = w;
}

// ------------------------------------------------------------------ main.cu
enum Variant { kCopy, kNaive, kTile, kPadded, kDiagonal, kSwizzle, kVec4, kNumVariants };

static const char* kNames[kNumVariants] = {"copy",     "naive",   "tile (conflicts)", "tile padded",
                                           "diagonal", "swizzle", "float4"};

static void launch(int variant, float* dst, const float* src, int nx, int ny, cudaStream_t stream) {
  const dim3 dimGrid(nx / TILE, ny / TILE);
  const dim3 dimBlock(TILE, ROWS);
  const size_t smemBytes = TILE * TILE * sizeof(float);
  switch (variant) {
    case kCopy: copy_tile<<<dimGrid, dimBlock, 0, stream>>>(dst, src, nx, ny); break;
    case kNaive: transpose_naive<<<dimGrid, dimBlock, 0, stream>>>(dst, src, nx, ny); break;
    case kTile: transpose_tile<0><<<dimGrid, dimBlock, 0, stream>>>(dst, src, nx, ny); break;
    case kPadded: transpose_tile<1><<<dimGrid, dimBlock, 0, stream>>>(dst, src, nx, ny); break;
    case kDiagonal: transpose_diagonal<<<dimGrid, dimBlock, 0, stream>>>(dst, src, nx, ny); break;
    case kSwizzle:
      transpose_swizzle<<<dimGrid, dimBlock, smemBytes, stream>>>(dst, src, nx, ny);
      break;
    case kVec4:
      transpose_vec4<<<dimGrid, TILE * TILE / 4, 0, stream>>>(dst, src, nx, ny);
      break;
    default: std::fprintf(stderr, "unknown variant %d\n", variant); std::exit(1);
  }
  CHECK_CUDA(cudaGetLastError());
}

static size_t count_errors(const float* got, const float* in, int nx, int ny, bool transposed) {
  size_t bad = 0;
  for (int y = 0; y < ny; ++y)
    for (int x = 0; x < nx; ++x) {
      size_t o = transposed ? size_t(x) * ny + y : size_t(y) * nx + x;
      bad += got[o] != in[size_t(y) * nx + x];
    }
  return bad;
}

int main(int argc, char** argv) {
  int nx = argc > 1 ? std::atoi(argv[1]) : 2048;
  int ny = argc > 2 ? std::atoi(argv[2]) : 1536;
  const int reps = argc > 3 ? std::atoi(argv[3]) : 1;
  if (nx < 1 || ny < 1 || nx > 16384 || ny > 16384 || reps < 1) {
    std::fprintf(stderr, "usage: %s [nx] [ny] [reps]\n", argv[0]);
    return 1;
  }
  nx = (nx + TILE - 1) / TILE * TILE;
  ny = (ny + TILE - 1) / TILE * TILE;
  const size_t n = size_t(nx) * ny, bytes = n * sizeof(float);

  float *h_in, *h_out, *d_in, *d_out;
  CHECK_CUDA(cudaMallocHost(&h_in, bytes));
  CHECK_CUDA(cudaMallocHost(&h_out, bytes));
  CHECK_CUDA(cudaMalloc(&d_in, bytes));
  CHECK_CUDA(cudaMalloc(&d_out, bytes));
  for (size_t i = 0; i < n; ++i) h_in[i] = float((i * 2654435761ull) & 0xfffff);

  cudaStream_t stream;
  CHECK_CUDA(cudaStreamCreate(&stream));
  CHECK_CUDA(cudaMemcpyAsync(d_in, h_in, bytes, cudaMemcpyHostToDevice, stream));

  EventTimer timer;
  bool ok = true;
  launch(kCopy, d_out, d_in, nx, ny, stream);  // warm-up
  std::printf("%d x %d floats\n", ny, nx);
  for (int v = 0; v < kNumVariants; ++v) {
    CHECK_CUDA(cudaMemsetAsync(d_out, 0xff, bytes, stream));
    timer.start(stream);
    for (int r = 0; r < reps; ++r) launch(v, d_out, d_in, nx, ny, stream);
    float ms = timer.stop(stream) / reps;
    CHECK_CUDA(cudaMemcpyAsync(h_out, d_out, bytes, cudaMemcpyDeviceToHost, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    size_t bad = count_errors(h_out, h_in, nx, ny, v != kCopy);
    std::printf("  %-18s %8.4f ms %8.1f GB/s  %s\n", kNames[v], ms, 2e-6 * bytes / ms,
                bad ? "wrong" : "ok");
    ok = ok && bad == 0;
  }

  CHECK_CUDA(cudaStreamDestroy(stream));
  CHECK_CUDA(cudaFree(d_in));
  CHECK_CUDA(cudaFree(d_out));
  CHECK_CUDA(cudaFreeHost(h_in));
  CHECK_CUDA(cudaFreeHost(h_out));
  std::printf("%s\n", ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
