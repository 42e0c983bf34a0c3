// Lennard-Jones with a cell list built on the host, sorted particles, periodic box, Verlet steps.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

struct Box { float len; int cells; __host__ __device__ float cell() const { return len / cells; } };
using vec = float4;

__host__ __device__ inline int wrap(int i, int n) { return i < 0 ? i + n : i >= n ? i - n : i; }
__device__ inline float image(float d, float len) { return d - len * rintf(d / len); }

__global__ void forces_cells(const vec* __restrict__ pos, const int* __restrict__ start, vec* __restrict__ force, Box box, float rc2) {
  int c = blockIdx.x;
  int cx = c % box.cells, cy = (c / box.cells) % box.cells, cz = c / (box.cells * box.cells);
  int first = start[c], last = start[c + 1];
  for (int i = first + threadIdx.x; i < last; i += blockDim.x) {
    vec p = pos[i];
    float fx = 0, fy = 0, fz = 0, e = 0;
    for (int dz = -1; dz <= 1; ++dz)
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          int n = (wrap(cz + dz, box.cells) * box.cells + wrap(cy + dy, box.cells)) * box.cells + wrap(cx + dx, box.cells);
          for (int j = start[n]; j < start[n + 1]; ++j) {
            if (j == i) continue;
            vec q = pos[j];
            float rx = image(p.x - q.x, box.len), ry = image(p.y - q.y, box.len), rz = image(p.z - q.z, box.len);
            float r2 = rx * rx + ry * ry + rz * rz;
            if (r2 < rc2) {
              float i2 = 1.f / r2, i6 = i2 * i2 * i2;
              float f = 24.f * i6 * (2.f * i6 - 1.f) * i2;
              fx += f * rx; fy += f * ry; fz += f * rz;
              e += 4.f * i6 * (i6 - 1.f);
            }
          }
        }
    force[i] = make_float4(fx, fy, fz, e);
  }
}

__global__ void kick_drift(vec* pos, vec* vel, const vec* force, int n, float dt, Box box) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  vec v = vel[i], f = force[i], p = pos[i];
  v.x += dt * f.x; v.y += dt * f.y; v.z += dt * f.z;
  p.x += dt * v.x; p.y += dt * v.y; p.z += dt * v.z;
  p.x -= floorf(p.x / box.len) * box.len;
  p.y -= floorf(p.y / box.len) * box.len;
  p.z -= floorf(p.z / box.len) * box.len;
  vel[i] = v;
  pos[i] = p;
}

template <unsigned N>
__global__ void energy(const vec* force, const vec* vel, double* out, int n) {
  __shared__ double s[N];
  double e = 0;
  for (int i = blockIdx.x * N + threadIdx.x; i < n; i += N * gridDim.x)
    e += 0.5 * force[i].w + 0.5 * (vel[i].x * vel[i].x + vel[i].y * vel[i].y + vel[i].z * vel[i].z);
  s[threadIdx.x] = e;
  __syncthreads();
#pragma unroll
  for (unsigned k = N / 2; k > 0; k /= 2) {
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(out, s[0]);
}

__global__ void velocity_histogram(const vec* __restrict__ vel, unsigned* __restrict__ bins, int n, float vmax) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    vec v = vel[i];
    float s = sqrtf(v.x * v.x + v.y * v.y + v.z * v.z);
    int b = (int)(s / vmax * 32);
    atomicAdd(&bins[b < 31 ? b : 31], 1u);
  }
}

int main(int argc, char** argv) {
  int side = argc > 1 ? atoi(argv[1]) : 10;
  Box box{side * 1.2f, 4};
  int n = side * side * side;
  std::vector<vec> pos(n), sorted(n);
  for (int i = 0; i < n; ++i) {
    int x = i % side, y = i / side % side, z = i / side / side;
    pos[i] = make_float4((x + 0.5f) * 1.2f, (y + 0.5f) * 1.2f, (z + 0.5f) * 1.2f, 0);
  }
  int nc = box.cells * box.cells * box.cells;
  std::vector<int> count(nc + 1, 0), cell(n);
  for (int i = 0; i < n; ++i) {
    int cx = (int)(pos[i].x / box.cell()), cy = (int)(pos[i].y / box.cell()), cz = (int)(pos[i].z / box.cell());
    cell[i] = (cz * box.cells + cy) * box.cells + cx;
    count[cell[i] + 1]++;
  }
  for (int c = 0; c < nc; ++c) count[c + 1] += count[c];
  std::vector<int> cur(count.begin(), count.end() - 1);
  for (int i = 0; i < n; ++i) sorted[cur[cell[i]]++] = pos[i];
  vec *dp, *dv, *df;
  int* ds;
  double* de;
  unsigned* db;
  cudaMalloc(&dp, n * sizeof(vec));
  cudaMalloc(&dv, n * sizeof(vec));
  cudaMalloc(&df, n * sizeof(vec));
  cudaMalloc(&ds, (nc + 1) * sizeof(int));
  cudaMalloc(&de, sizeof(double));
  cudaMalloc(&db, 32 * sizeof(unsigned));
  cudaMemcpy(dp, sorted.data(), n * sizeof(vec), cudaMemcpyHostToDevice);
  cudaMemset(dv, 0, n * sizeof(vec));
  cudaMemset(de, 0, sizeof(double));
  cudaMemset(db, 0, 32 * sizeof(unsigned));
  cudaMemcpy(ds, count.data(), (nc + 1) * sizeof(int), cudaMemcpyHostToDevice);
  forces_cells<<<nc, 32>>>(dp, ds, df, box, 6.25f);
  kick_drift<<<(n + 127) / 128, 128>>>(dp, dv, df, n, 0.001f, box);
  energy<128><<<5, 128>>>(df, dv, de, n);
  velocity_histogram<<<(n + 127) / 128, 128>>>(dv, db, n, 2.f);
  double e = 0;
  cudaMemcpy(&e, de, sizeof(e), cudaMemcpyDeviceToHost);
  printf("energy %g\n", e);
  return !(e < 0);
}
