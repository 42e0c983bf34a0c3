// Particles sorted by the cell they lie in (Thrust), then searched for neighbours cell by cell.
#include <cstdio>
#include <cmath>
#include <vector>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/fill.h>
#include <thrust/reduce.h>

constexpr int SIDE = 24;
constexpr int CELLS = SIDE * SIDE;

__global__ void cells_of(const float* x, const float* y, int* cell, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) cell[i] = (int)y[i] * SIDE + (int)x[i];
}

__global__ void bounds(const int* cell, int* first, int* last, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int c = cell[i];
  if (i == 0 || cell[i - 1] != c) first[c] = i;
  if (i == n - 1 || cell[i + 1] != c) last[c] = i + 1;
}

__global__ void count_near(const float* x, const float* y, const int* order, const int* first, const int* last, int* near, int n, float r2) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= n) return;
  int i = order[k];
  float px = x[i], py = y[i];
  int cx = (int)px, cy = (int)py, found = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++) {
      int qx = cx + dx, qy = cy + dy;
      if (qx < 0 || qy < 0 || qx >= SIDE || qy >= SIDE) continue;
      int c = qy * SIDE + qx;
      for (int m = first[c]; m < last[c]; m++) {
        int j = order[m];
        float ex = x[j] - px, ey = y[j] - py;
        if (j != i && ex * ex + ey * ey < r2) found++;
      }
    }
  near[i] = found;
}

int main() {
  const int n = 6000;
  thrust::host_vector<float> hx(n), hy(n);
  unsigned s = 12345;
  for (int i = 0; i < n; i++) {
    s = s * 1664525u + 1013904223u;
    hx[i] = (s >> 8) % 24000 / 1000.0f;
    s = s * 1664525u + 1013904223u;
    hy[i] = (s >> 8) % 24000 / 1000.0f;
  }
  thrust::device_vector<float> x = hx, y = hy;
  thrust::device_vector<int> cell(n), order(n), first(CELLS), last(CELLS), near(n);
  int threads = 128, blocks = (n + threads - 1) / threads;
  cells_of<<<blocks, threads>>>(thrust::raw_pointer_cast(x.data()), thrust::raw_pointer_cast(y.data()), thrust::raw_pointer_cast(cell.data()), n);
  thrust::sequence(order.begin(), order.end());
  thrust::sort_by_key(cell.begin(), cell.end(), order.begin());
  thrust::fill(first.begin(), first.end(), 0);
  thrust::fill(last.begin(), last.end(), 0);
  bounds<<<blocks, threads>>>(thrust::raw_pointer_cast(cell.data()), thrust::raw_pointer_cast(first.data()), thrust::raw_pointer_cast(last.data()), n);
  count_near<<<blocks, threads>>>(thrust::raw_pointer_cast(x.data()), thrust::raw_pointer_cast(y.data()), thrust::raw_pointer_cast(order.data()),
                                  thrust::raw_pointer_cast(first.data()), thrust::raw_pointer_cast(last.data()), thrust::raw_pointer_cast(near.data()), n, 0.25f);
  long total = thrust::reduce(near.begin(), near.end(), 0L);
  long expected = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      float ex = hx[j] - hx[i], ey = hy[j] - hy[i];
      if (j != i && ex * ex + ey * ey < 0.25f) expected++;
    }
  bool ok = std::labs(total - expected) <= 4;
  printf("%ld pairs, %ld expected: %s\n", total, expected, ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
