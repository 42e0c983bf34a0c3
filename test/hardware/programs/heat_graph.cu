// CUDA graph captured stencil, pinned memory, two streams with chunked pipeline, argument struct parsed with getopt-like loop.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

struct Options {
  int nx = 200;
  int ny = 120;
  int steps = 5;
  int chunks = 4;
  bool verbose = false;
};

static Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const char* a = argv[i];
    auto value = [&]() -> int { return i + 1 < argc ? atoi(argv[++i]) : 0; };
    if (!strcmp(a, "-x")) o.nx = value();
    else if (!strcmp(a, "-y")) o.ny = value();
    else if (!strcmp(a, "-s")) o.steps = value();
    else if (!strcmp(a, "-v")) o.verbose = true;
  }
  return o;
}

template <int BX, int BY, int R>
__global__ void star(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int ld) {
  __shared__ float t[BY + 2 * R][BX + 2 * R + 1];
  const int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y;
  for (int j = threadIdx.y; j < BY + 2 * R; j += BY)
    for (int i = threadIdx.x; i < BX + 2 * R; i += BX) {
      int gx = blockIdx.x * BX + i - R, gy = blockIdx.y * BY + j - R;
      t[j][i] = (gx >= 0 && gx < nx && gy >= 0 && gy < ny) ? in[gy * ld + gx] : 0.f;
    }
  __syncthreads();
  if (x >= nx || y >= ny) return;
  float s = t[threadIdx.y + R][threadIdx.x + R];
#pragma unroll
  for (int k = 1; k <= R; ++k)
    s += (t[threadIdx.y + R][threadIdx.x + R - k] + t[threadIdx.y + R][threadIdx.x + R + k] + t[threadIdx.y + R - k][threadIdx.x + R] +
          t[threadIdx.y + R + k][threadIdx.x + R]) / (k * k);
  out[y * ld + x] = s * 0.1f;
}

__global__ void scale_bias(float* p, int n, float s, float b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = p[i] * s + b;
}

__global__ void boundary(float* p, int nx, int ny, int ld, float v) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  switch (blockIdx.y) {
    case 0: if (i < nx) p[i] = v; break;
    case 1: if (i < nx) p[(ny - 1) * ld + i] = v; break;
    case 2: if (i < ny) p[i * ld] = v; break;
    default: if (i < ny) p[i * ld + nx - 1] = v;
  }
}

int main(int argc, char** argv) {
  Options o = parse(argc, argv);
  const int ld = (o.nx + 31) / 32 * 32;
  size_t bytes = sizeof(float) * ld * o.ny;
  float *a, *b, *pinned;
  cudaMalloc(&a, bytes);
  cudaMalloc(&b, bytes);
  cudaMallocHost(&pinned, bytes);
  for (int i = 0; i < ld * o.ny; ++i) pinned[i] = i % 9;
  cudaMemset(b, 0, bytes);
  cudaStream_t s[2];
  for (auto& x : s) cudaStreamCreate(&x);
  int rows = (o.ny + o.chunks - 1) / o.chunks;
  for (int c = 0; c < o.chunks; ++c) {
    int first = c * rows, count = first + rows > o.ny ? o.ny - first : rows;
    cudaMemcpyAsync(a + first * ld, pinned + first * ld, sizeof(float) * ld * count, cudaMemcpyHostToDevice, s[c % 2]);
    scale_bias<<<(ld * count + 255) / 256, 256, 0, s[c % 2]>>>(a + first * ld, ld * count, 0.5f, 1.f);
  }
  cudaDeviceSynchronize();
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(s[0], cudaStreamCaptureModeGlobal);
  dim3 blk(32, 8), grd((o.nx + 31) / 32, (o.ny + 7) / 8);
  star<32, 8, 2><<<grd, blk, 0, s[0]>>>(a, b, o.nx, o.ny, ld);
  boundary<<<dim3((ld + 127) / 128, 4), 128, 0, s[0]>>>(b, o.nx, o.ny, ld, 0.f);
  star<32, 8, 2><<<grd, blk, 0, s[0]>>>(b, a, o.nx, o.ny, ld);
  cudaStreamEndCapture(s[0], &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  for (int t = 0; t < o.steps; ++t) cudaGraphLaunch(exec, s[0]);
  cudaStreamSynchronize(s[0]);
  cudaMemcpy(pinned, a, bytes, cudaMemcpyDeviceToHost);
  if (o.verbose) printf("verbose\n");
  printf("%f\n", pinned[o.ny / 2 * ld + o.nx / 2]);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaFreeHost(pinned);
  return 0;
}
