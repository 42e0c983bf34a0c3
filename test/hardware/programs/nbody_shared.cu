// All-pairs n-body with float4 positions in shared memory, leapfrog, AoS and SoA variants.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

struct Body { float x, y, z, m, vx, vy, vz; };

__device__ float3 interact(float3 acc, float4 bi, float4 bj, float soft2) {
  float3 r = make_float3(bj.x - bi.x, bj.y - bi.y, bj.z - bi.z);
  float d2 = r.x * r.x + r.y * r.y + r.z * r.z + soft2;
  float inv = rsqrtf(d2);
  float s = bj.w * inv * inv * inv;
  acc.x += r.x * s;
  acc.y += r.y * s;
  acc.z += r.z * s;
  return acc;
}

template <int P>
__global__ void forces_tiled(const float4* __restrict__ pos, float4* __restrict__ acc, int n, float soft2) {
  __shared__ float4 tile[P];
  int i = blockIdx.x * P + threadIdx.x;
  float4 me = i < n ? pos[i] : make_float4(0, 0, 0, 0);
  float3 a = {0.f, 0.f, 0.f};
  for (int t = 0; t < n; t += P) {
    int j = t + threadIdx.x;
    tile[threadIdx.x] = j < n ? pos[j] : make_float4(0, 0, 0, 0);
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < P; ++k) a = interact(a, me, tile[k], soft2);
    __syncthreads();
  }
  if (i < n) acc[i] = make_float4(a.x, a.y, a.z, 0.f);
}

__global__ void integrate(float4* pos, float4* vel, const float4* acc, float dt, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i >= n) return;
  float4 p = pos[i], v = vel[i], a = acc[i];
  v.x += a.x * dt; v.y += a.y * dt; v.z += a.z * dt;
  p.x += v.x * dt; p.y += v.y * dt; p.z += v.z * dt;
  pos[i] = p;
  vel[i] = v;
}

__global__ void aos_kick(Body* b, int n, float dt) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) {
    Body& q = b[i];
    float fx = 0, fy = 0, fz = 0;
    for (int j = 0; j < n; j++) {
      float dx = b[j].x - q.x, dy = b[j].y - q.y, dz = b[j].z - q.z;
      float inv = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-6f);
      float f = b[j].m * inv * inv * inv;
      fx += dx * f; fy += dy * f; fz += dz * f;
    }
    q.vx += fx * dt; q.vy += fy * dt; q.vz += fz * dt;
  }
}

__global__ void aos_drift(Body* b, int n, float dt) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) {
    b[i].x += b[i].vx * dt;
    b[i].y += b[i].vy * dt;
    b[i].z += b[i].vz * dt;
  }
}

struct Soa { float *x, *y, *z, *vx, *vy, *vz; };

__global__ void soa_drift(Soa s, int n, float dt) {
  for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x) {
    s.x[i] += s.vx[i] * dt;
    s.y[i] += s.vy[i] * dt;
    s.z[i] += s.vz[i] * dt;
  }
}

int main(int argc, const char** argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1000;
  int iters = argc > 2 ? atoi(argv[2]) : 3;
  float4* hp = (float4*)malloc(n * sizeof(float4));
  Body* hb = (Body*)malloc(n * sizeof(Body));
  srand(42);
  for (int i = 0; i < n; ++i) {
    hp[i] = make_float4(rand() / (float)RAND_MAX, rand() / (float)RAND_MAX, rand() / (float)RAND_MAX, 1.f);
    hb[i] = Body{hp[i].x, hp[i].y, hp[i].z, 1.f, 0, 0, 0};
  }
  float4 *p, *v, *a;
  Body* db;
  cudaMalloc(&p, n * sizeof(float4));
  cudaMalloc(&v, n * sizeof(float4));
  cudaMalloc(&a, n * sizeof(float4));
  cudaMalloc(&db, n * sizeof(Body));
  cudaMemcpy(p, hp, n * sizeof(float4), cudaMemcpyHostToDevice);
  cudaMemset(v, 0, n * sizeof(float4));
  cudaMemcpy(db, hb, n * sizeof(Body), cudaMemcpyHostToDevice);
  Soa soa;
  float** parts[] = {&soa.x, &soa.y, &soa.z, &soa.vx, &soa.vy, &soa.vz};
  for (float** q : parts) { cudaMalloc(q, n * sizeof(float)); cudaMemset(*q, 0, n * sizeof(float)); }
  constexpr int P = 128;
  const int blocks = (n + P - 1) / P;
  for (int it = 0; it < iters; ++it) {
    forces_tiled<P><<<blocks, P>>>(p, a, n, 1e-6f);
    integrate<<<blocks, P>>>(p, v, a, 0.01f, n);
    aos_kick<<<blocks, P>>>(db, n, 0.01f);
    aos_drift<<<blocks, P>>>(db, n, 0.01f);
  }
  soa_drift<<<2, 192>>>(soa, n, 0.5f);
  cudaMemcpy(hp, p, n * sizeof(float4), cudaMemcpyDeviceToHost);
  cudaMemcpy(hb, db, n * sizeof(Body), cudaMemcpyDeviceToHost);
  double diff = 0;
  for (int i = 0; i < n; ++i) diff += fabs(hp[i].x - hb[i].x);
  printf("difference %g\n", diff / n);
  return diff / n > 1e-3;
}
