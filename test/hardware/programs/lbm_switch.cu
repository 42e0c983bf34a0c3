// D2Q9 lattice Boltzmann with constant velocities, AoS/SoA layouts chosen by a template policy, dispatched by a switch.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

enum class Layout { AoS, SoA };
__constant__ int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
__constant__ int cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant__ float wt[9] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};

template <Layout L>
struct Field {
  float* f;
  int nx, ny;
  __device__ __forceinline__ float& operator()(int x, int y, int q) const {
    if constexpr (L == Layout::AoS) return f[(y * nx + x) * 9 + q];
    else return f[(q * ny + y) * nx + x];
  }
};

template <Layout L>
__global__ void collide_stream(Field<L> src, Field<L> dst, float omega) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= src.nx || y >= src.ny) return;
  float f[9], rho = 0, ux = 0, uy = 0;
#pragma unroll
  for (int q = 0; q < 9; ++q) {
    int sx = x - cx[q], sy = y - cy[q];
    sx = sx < 0 ? sx + src.nx : (sx >= src.nx ? sx - src.nx : sx);
    sy = sy < 0 ? sy + src.ny : (sy >= src.ny ? sy - src.ny : sy);
    f[q] = src(sx, sy, q);
    rho += f[q];
    ux += f[q] * cx[q];
    uy += f[q] * cy[q];
  }
  ux /= rho;
  uy /= rho;
  float u2 = 1.5f * (ux * ux + uy * uy);
#pragma unroll
  for (int q = 0; q < 9; ++q) {
    float cu = 3.f * (cx[q] * ux + cy[q] * uy);
    float feq = wt[q] * rho * (1.f + cu + 0.5f * cu * cu - u2);
    dst(x, y, q) = f[q] + omega * (feq - f[q]);
  }
}

template <Layout L>
__global__ void init_field(Field<L> a) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < a.nx && y < a.ny)
    for (int q = 0; q < 9; ++q) a(x, y, q) = wt[q] * (1.f + 0.01f * ((x + y) % 3));
}

template <Layout L>
__global__ void density(Field<L> a, float* rho) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < a.nx && y < a.ny) {
    float r = 0;
    for (int q = 0; q < 9; ++q) r += a(x, y, q);
    rho[y * a.nx + x] = r;
  }
}

template <Layout L>
static double simulate(int nx, int ny, int steps) {
  Field<L> a{nullptr, nx, ny}, b{nullptr, nx, ny};
  size_t bytes = sizeof(float) * 9 * nx * ny;
  float* rho;
  cudaMalloc((void**)&a.f, bytes);
  cudaMalloc((void**)&b.f, bytes);
  cudaMalloc((void**)&rho, sizeof(float) * nx * ny);
  dim3 t(32, 4), g((nx + t.x - 1) / t.x, (ny + t.y - 1) / t.y, 1);
  init_field<L><<<g, t>>>(a);
  for (int s = 0; s < steps; ++s) {
    if (s & 1) collide_stream<L><<<g, t>>>(b, a, 1.2f);
    else collide_stream<L><<<g, t>>>(a, b, 1.2f);
  }
  density<L><<<g, t>>>(steps & 1 ? b : a, rho);
  float* h = new float[nx * ny];
  cudaMemcpy(h, rho, sizeof(float) * nx * ny, cudaMemcpyDeviceToHost);
  double m = 0;
  for (int i = 0; i < nx * ny; ++i) m += h[i];
  delete[] h;
  cudaFree(a.f); cudaFree(b.f); cudaFree(rho);
  return m;
}

int main(int argc, char** argv) {
  Layout only = Layout::SoA;
  bool both = true;
  int nx = 100, ny = 60, steps = 4;
  for (int i = 1; i < argc; i++) {
    if (strncmp(argv[i], "--nx=", 5) == 0) nx = atoi(argv[i] + 5);
    if (strcmp(argv[i], "--aos") == 0) { only = Layout::AoS; both = false; }
  }
  double m = 0;
  if (both) {
    for (Layout l : {Layout::AoS, Layout::SoA}) {
      switch (l) {
        case Layout::AoS: m += simulate<Layout::AoS>(nx, ny, steps); break;
        case Layout::SoA: m += simulate<Layout::SoA>(nx, ny, steps); break;
      }
    }
  } else if (only == Layout::AoS) m = simulate<Layout::AoS>(nx, ny, steps);
  printf("mass %.3f\n", m);
  return 0;
}
