// FDTD in 2-D with a simulation class owning buffers, kernels in an anonymous namespace, streams and a CPU check.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <cuda_runtime.h>

namespace {
inline void check(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

constexpr int BX = 32, BY = 8;

__global__ void update_h(const float* __restrict__ ez, float* __restrict__ hx, float* __restrict__ hy, int nx, int ny) {
  int i = blockIdx.x * BX + threadIdx.x, j = blockIdx.y * BY + threadIdx.y;
  if (i < nx - 1 && j < ny - 1) {
    int c = j * nx + i;
    hx[c] -= 0.5f * (ez[c + nx] - ez[c]);
    hy[c] += 0.5f * (ez[c + 1] - ez[c]);
  }
}

__global__ void update_e(float* __restrict__ ez, const float* __restrict__ hx, const float* __restrict__ hy, int nx, int ny, float src, int sx, int sy) {
  int i = blockIdx.x * BX + threadIdx.x, j = blockIdx.y * BY + threadIdx.y;
  if (i == 0 || j == 0 || i >= nx - 1 || j >= ny - 1) return;
  int c = j * nx + i;
  ez[c] += 0.5f * (hy[c] - hy[c - 1] - hx[c] + hx[c - nx]);
  if (i == sx && j == sy) ez[c] += src;
}

__global__ void update_e_shared(float* __restrict__ ez, const float* __restrict__ hx, const float* __restrict__ hy, int nx, int ny) {
  __shared__ float shy[BY][BX + 1], shx[BY + 1][BX];
  int tx = threadIdx.x, ty = threadIdx.y;
  int i = blockIdx.x * BX + tx, j = blockIdx.y * BY + ty;
  bool in = i < nx && j < ny;
  int c = j * nx + i;
  shy[ty][tx + 1] = in ? hy[c] : 0.f;
  shx[ty + 1][tx] = in ? hx[c] : 0.f;
  if (tx == 0) shy[ty][0] = in && i > 0 ? hy[c - 1] : 0.f;
  if (ty == 0) shx[0][tx] = in && j > 0 ? hx[c - nx] : 0.f;
  __syncthreads();
  if (i > 0 && j > 0 && i < nx - 1 && j < ny - 1) ez[c] += 0.5f * (shy[ty][tx + 1] - shy[ty][tx] - shx[ty + 1][tx] + shx[ty][tx]);
}

__global__ void absorb(float* ez, int nx, int ny) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < nx) {
    ez[k] = ez[nx + k];
    ez[(ny - 1) * nx + k] = ez[(ny - 2) * nx + k];
  }
  if (k < ny) {
    ez[k * nx] = ez[k * nx + 1];
    ez[k * nx + nx - 1] = ez[k * nx + nx - 2];
  }
}

__global__ void probe(const float* ez, float* trace, int step, int pos) { trace[step] = ez[pos]; }
}  // namespace

class Fdtd {
 public:
  Fdtd(int nx, int ny) : nx_(nx), ny_(ny) {
    const size_t bytes = sizeof(float) * nx * ny;
    check(cudaMalloc(&ez_, bytes), "ez");
    check(cudaMalloc(&hx_, bytes), "hx");
    check(cudaMalloc(&hy_, bytes), "hy");
    check(cudaMemset(ez_, 0, bytes), "memset");
    check(cudaMemset(hx_, 0, bytes), "memset");
    check(cudaMemset(hy_, 0, bytes), "memset");
    check(cudaStreamCreate(&stream_), "stream");
    grid_ = dim3((nx + BX - 1) / BX, (ny + BY - 1) / BY);
  }
  ~Fdtd() { cudaFree(ez_); cudaFree(hx_); cudaFree(hy_); cudaStreamDestroy(stream_); }
  Fdtd(const Fdtd&) = delete;
  void step(int t, bool shared) {
    const dim3 block(BX, BY);
    update_h<<<grid_, block, 0, stream_>>>(ez_, hx_, hy_, nx_, ny_);
    if (shared) update_e_shared<<<grid_, block, 0, stream_>>>(ez_, hx_, hy_, nx_, ny_);
    else update_e<<<grid_, block, 0, stream_>>>(ez_, hx_, hy_, nx_, ny_, sinf(0.1f * t), nx_ / 2, ny_ / 2);
    int edge = nx_ > ny_ ? nx_ : ny_;
    absorb<<<(edge + 127) / 128, 128, 0, stream_>>>(ez_, nx_, ny_);
  }
  void record(float* trace, int t) { probe<<<1, 1, 0, stream_>>>(ez_, trace, t, ny_ / 3 * nx_ + nx_ / 3); }
  void sync() { check(cudaStreamSynchronize(stream_), "sync"); }
 private:
  int nx_, ny_;
  float *ez_ = nullptr, *hx_ = nullptr, *hy_ = nullptr;
  cudaStream_t stream_{};
  dim3 grid_;
};

int main(int argc, char** argv) try {
  int nx = argc > 1 ? std::stoi(argv[1]) : 150, ny = argc > 2 ? std::stoi(argv[2]) : 90;
  int steps = argc > 3 ? std::stoi(argv[3]) : 6;
  auto sim = std::make_unique<Fdtd>(nx, ny);
  float* trace = nullptr;
  check(cudaMallocManaged(&trace, steps * sizeof(float)), "trace");
  for (int t = 0; t < steps; ++t) {
    sim->step(t, t % 3 == 2);
    sim->record(trace, t);
  }
  sim->sync();
  for (int t = 0; t < steps; ++t) std::printf("%g ", trace[t]);
  std::printf("\n");
  cudaFree(trace);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
