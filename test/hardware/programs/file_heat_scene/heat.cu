// Heat spreads around walls; the scene is read from a file, constants stand in a file of their own.
#include <cmath>
#include <cstdio>
#include <vector>
#include "constants.h"
#include "scene.h"

#define TILE 16

__global__ void spread(const float* in, const unsigned char* wall, float* out, int width, int height, int halo, float k) {
  extern __shared__ float tile[];
  const int pitch = TILE + 2 * halo;
  int x0 = blockIdx.x * TILE - halo, y0 = blockIdx.y * TILE - halo;
  for (int ty = threadIdx.y; ty < pitch; ty += TILE)
    for (int tx = threadIdx.x; tx < pitch; tx += TILE) {
      int x = min(max(x0 + tx, 0), width - 1), y = min(max(y0 + ty, 0), height - 1);
      tile[ty * pitch + tx] = in[y * width + x];
    }
  __syncthreads();
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  if (x >= width || y >= height) return;
  int at = (threadIdx.y + halo) * pitch + threadIdx.x + halo;
  float centre = tile[at];
  if (wall[y * width + x]) {
    out[y * width + x] = centre;
    return;
  }
  float sum = tile[at - 1] + tile[at + 1] + tile[at - pitch] + tile[at + pitch];
  out[y * width + x] = centre + k * (sum - 4 * centre);
}

__global__ void warmest(const float* heat, const unsigned char* wall, float* most, int n) {
  __shared__ float held[128];
  float best = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    if (!wall[i]) best = fmaxf(best, heat[i]);
  held[threadIdx.x] = best;
  __syncthreads();
  for (int d = 1; d < 128; d *= 2) {
    if (threadIdx.x % (2 * d) == 0) held[threadIdx.x] = fmaxf(held[threadIdx.x], held[threadIdx.x + d]);
    __syncthreads();
  }
  if (threadIdx.x == 0) most[blockIdx.x] = held[0];
}

int main(int argc, char** argv) {
  Scene scene;
  if (readScene(argc > 1 ? argv[1] : "scene.txt", scene) != 0) return 1;
  int w = scene.width, h = scene.height, n = w * h;
  float *a, *b, *most;
  unsigned char* wall;
  cudaMalloc(&a, n * sizeof(float));
  cudaMalloc(&b, n * sizeof(float));
  cudaMalloc(&most, 8 * sizeof(float));
  cudaMalloc(&wall, n);
  cudaMemcpy(a, scene.heat.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(wall, scene.wall.data(), n, cudaMemcpyHostToDevice);
  dim3 block(TILE, TILE), grid((w + TILE - 1) / TILE, (h + TILE - 1) / TILE);
  size_t shared = (TILE + 2 * halo) * (TILE + 2 * halo) * sizeof(float);
  std::vector<float> now = scene.heat, next(n);
  for (int step = 0; step < scene.steps; step++) {
    spread<<<grid, block, shared>>>(a, wall, b, w, h, halo, conductivity);
    if (step % steps_between == 0) warmest<<<8, 128>>>(b, wall, most, n);
    std::swap(a, b);
    for (int y = 0; y < h; y++)
      for (int x = 0; x < w; x++) {
        auto at = [&](int u, int v) { return now[std::min(std::max(v, 0), h - 1) * w + std::min(std::max(u, 0), w - 1)]; };
        float c = at(x, y);
        next[y * w + x] = scene.wall[y * w + x] ? c : c + conductivity * (at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1) - 4 * c);
      }
    now.swap(next);
  }
  std::vector<float> heat(n);
  cudaMemcpy(heat.data(), a, n * sizeof(float), cudaMemcpyDeviceToHost);
  bool ok = true;
  for (int i = 0; i < n; i++) ok = ok && std::fabs(heat[i] - now[i]) < 1e-3f;
  printf("%d x %d, %d steps: %s\n", w, h, scene.steps, ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
