// Lennard-Jones forces with cell lists (counting sort into cells, 27 neighbours)
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <vector>
#include <random>

typedef struct { float3 box; float rc2; int3 nc; float3 inv; } SimParams;
__constant__ SimParams P;

__device__ __host__ inline int cellIndex(int x, int y, int z, int3 nc) { return (z * nc.y + y) * nc.x + x; }
__device__ int3 cellOf(float3 r) {
  return make_int3(min((int)(r.x * P.inv.x), P.nc.x - 1), min((int)(r.y * P.inv.y), P.nc.y - 1), min((int)(r.z * P.inv.z), P.nc.z - 1));
}

__global__ void countCells(const float3* __restrict__ pos, int* cell, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int3 c = cellOf(pos[i]);
  cell[i] = cellIndex(c.x, c.y, c.z, P.nc);
  atomicAdd(&count[cell[i]], 1);
}

// single block exclusive scan over all cells
__global__ void scanCells(const int* count, int* start, int ncell) {
  __shared__ int s[1024];
  int carry = 0;
  for (int base = 0; base < ncell; base += 1024) {
    int i = base + threadIdx.x, v = i < ncell ? count[i] : 0;
    s[threadIdx.x] = v;
    __syncthreads();
    for (int d = 1; d < 1024; d *= 2) {
      int t = threadIdx.x >= d ? s[threadIdx.x - d] : 0;
      __syncthreads();
      s[threadIdx.x] += t;
      __syncthreads();
    }
    if (i < ncell) start[i] = carry + s[threadIdx.x] - v;
    carry += s[1023];
    __syncthreads();
  }
  if (threadIdx.x == 0) start[ncell] = carry;
}

__global__ void scatter(const float3* pos, const int* cell, const int* start, int* fillp, float4* sorted, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int c = cell[i];
  int k = start[c] + atomicAdd(&fillp[c], 1);
  sorted[k] = make_float4(pos[i].x, pos[i].y, pos[i].z, __int_as_float(i));
}

__device__ float minimg(float d, float L) { return d - L * rintf(d / L); }

__global__ void ljForce(const float4* __restrict__ sorted, const int* __restrict__ start, float3* force, float* energy, int n) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  float e = 0.f;
  if (k < n) {
    float4 me = sorted[k];
    int3 c = cellOf(make_float3(me.x, me.y, me.z));
    float3 f = make_float3(0, 0, 0);
    for (int dz = -1; dz <= 1; dz++)
      for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
          int cx = (c.x + dx + P.nc.x) % P.nc.x, cy = (c.y + dy + P.nc.y) % P.nc.y, cz = (c.z + dz + P.nc.z) % P.nc.z;
          int ci = cellIndex(cx, cy, cz, P.nc);
          for (int j = start[ci]; j < start[ci + 1]; j++) {
            if (j == k) continue;
            float4 o = __ldg(&sorted[j]);
            float rx = minimg(me.x - o.x, P.box.x), ry = minimg(me.y - o.y, P.box.y), rz = minimg(me.z - o.z, P.box.z);
            float r2 = rx * rx + ry * ry + rz * rz;
            if (r2 < P.rc2) {
              float i2 = 1.f / r2, i6 = i2 * i2 * i2;
              float s = 24.f * i6 * (2.f * i6 - 1.f) * i2;
              f.x += s * rx; f.y += s * ry; f.z += s * rz;
              e += 2.f * i6 * (i6 - 1.f);
            }
          }
        }
    force[__float_as_int(me.w)] = f;
  }
  for (int o = 16; o > 0; o >>= 1) e += __shfl_down_sync(0xffffffff, e, o);
  if ((threadIdx.x & 31) == 0) atomicAdd(energy, e);
}

int main() {
  const int m = 40, n = m * m * m;
  const float a = 1.15f, L = m * a, rc = 2.5f;
  std::mt19937 g(7);
  std::uniform_real_distribution<float> u(-0.1f, 0.1f);
  std::vector<float3> pos(n), F(n);
  for (int i = 0; i < n; i++) {
    int j = (int)((i * 48271ll) % n);   // shuffled lattice order
    pos[i] = make_float3((j % m + .5f) * a + u(g), (j / m % m + .5f) * a + u(g), (j / (m * m) + .5f) * a + u(g));
  }
  SimParams p; p.box = make_float3(L, L, L); p.rc2 = rc * rc;
  int nc = (int)(L / rc); p.nc = make_int3(nc, nc, nc); p.inv = make_float3(nc / L, nc / L, nc / L);
  cudaMemcpyToSymbol(P, &p, sizeof(p));
  const int ncell = nc * nc * nc;
  float3 *dpos, *df; float4* dsort; int *dcell, *dcount, *dstart, *dfill; float* de;
  cudaMalloc(&dpos, n * sizeof(float3)); cudaMalloc(&df, n * sizeof(float3)); cudaMalloc(&dsort, n * sizeof(float4));
  cudaMalloc(&dcell, n * 4); cudaMalloc(&dcount, ncell * 4); cudaMalloc(&dstart, (ncell + 1) * 4); cudaMalloc(&dfill, ncell * 4); cudaMalloc(&de, 4);
  cudaMemcpy(dpos, pos.data(), n * sizeof(float3), cudaMemcpyHostToDevice);
  cudaMemset(dcount, 0, ncell * 4); cudaMemset(dfill, 0, ncell * 4); cudaMemset(de, 0, 4);
  const int B = 128, G = (n + B - 1) / B;
  countCells<<<G, B>>>(dpos, dcell, dcount, n);
  scanCells<<<1, 1024>>>(dcount, dstart, ncell);
  scatter<<<G, B>>>(dpos, dcell, dstart, dfill, dsort, n);
  ljForce<<<G, B>>>(dsort, dstart, df, de, n);
  cudaMemcpy(F.data(), df, n * sizeof(float3), cudaMemcpyDeviceToHost);
  float e; cudaMemcpy(&e, de, 4, cudaMemcpyDeviceToHost);
  double err = 0;
  for (int i = 0; i < n; i += 997) {
    double fx = 0, fy = 0, fz = 0, sc = 1;
    for (int j = 0; j < n; j++) {
      if (j == i) continue;
      double x = pos[i].x - pos[j].x, y = pos[i].y - pos[j].y, z = pos[i].z - pos[j].z;
      x -= L * rint(x / L); y -= L * rint(y / L); z -= L * rint(z / L);
      double r2 = x * x + y * y + z * z;
      if (r2 < rc * rc) { double i2 = 1 / r2, i6 = i2 * i2 * i2, s = 24 * i6 * (2 * i6 - 1) * i2; fx += s * x; fy += s * y; fz += s * z; sc = fmax(sc, fabs(s)); }
    }
    err = fmax(err, (fabs(fx - F[i].x) + fabs(fy - F[i].y) + fabs(fz - F[i].z)) / sc);
  }
  printf("cells %d, E/N %f, force err %g %s\n", ncell, e / n, err, cudaGetErrorString(cudaGetLastError()));
  puts(err < 2e-2 && std::isfinite(e) ? "PASS" : "FAIL");
}
