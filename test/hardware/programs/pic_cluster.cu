#include <cstdio>
#include <cuda_runtime.h>
struct Particle { float3 pos; float3 vel; float q; };
struct ParticlesSoA { float *x, *y, *z, *vx, *vy, *vz; int n; };
struct Grid { int3 dim; float3 inv; float* rho; float3* E; __device__ int idx(int i, int j, int k) const { return (k*dim.y + j)*dim.x + i; } };
__global__ void deposit(const ParticlesSoA p, Grid g) {
  int i = blockIdx.x*blockDim.x + threadIdx.x; if (i >= p.n) return;
  float fx = p.x[i]*g.inv.x, fy = p.y[i]*g.inv.y, fz = p.z[i]*g.inv.z;
  int ix = (int)fx, iy = (int)fy, iz = (int)fz; fx -= ix; fy -= iy; fz -= iz;
#pragma unroll
  for (int c = 0; c < 8; ++c) { int dx = c & 1, dy = (c >> 1) & 1, dz = c >> 2; float w = (dx ? fx : 1-fx)*(dy ? fy : 1-fy)*(dz ? fz : 1-fz); atomicAdd(g.rho + g.idx(ix+dx, iy+dy, iz+dz), w); }
}
__global__ void push_aos(Particle* p, int n, float dt) {
  int i = blockIdx.x*blockDim.x + threadIdx.x; if (i >= n) return;
  Particle a = p[i]; a.pos.x += dt*a.vel.x; a.pos.y += dt*a.vel.y; a.pos.z += dt*a.vel.z; p[i] = a;
}
__global__ void push_soa(ParticlesSoA p, float dt) {
  int i = blockIdx.x*blockDim.x + threadIdx.x; if (i >= p.n) return;
  p.x[i] += dt*p.vx[i]; p.y[i] += dt*p.vy[i]; p.z[i] += dt*p.vz[i];
}
__global__ void kick_by_field(Particle* p, const Grid g, int n) {
  int i = blockIdx.x*blockDim.x + threadIdx.x; if (i >= n) return;
  auto& a = p[i]; float3 e = g.E[i % (g.dim.x*g.dim.y)];
  a.vel.x += a.q*e.x; a.vel.y += a.q*e.y; a.vel.z += a.q*e.z;
}
__global__ void poisson7(Grid g, const float* __restrict__ phi, float* __restrict__ out) {
  int i = blockIdx.x*blockDim.x + threadIdx.x, j = blockIdx.y*blockDim.y + threadIdx.y;
  if (i < 1 || j < 1 || i >= g.dim.x - 1 || j >= g.dim.y - 1) return;
  float below = phi[g.idx(i,j,0)], cur = phi[g.idx(i,j,1)];
  for (int k = 1; k < g.dim.z - 1; ++k) { float up = phi[g.idx(i,j,k+1)]; int c = g.idx(i,j,k); out[c] = (below + up + phi[c-1] + phi[c+1] + phi[c-g.dim.x] + phi[c+g.dim.x] + g.rho[c])/6.f; below = cur; cur = up; }
}
template <int D, int KMAX>
__global__ void kmeans_assign(const float* __restrict__ pts, const float* __restrict__ cen, int* __restrict__ lab, int n, int k) {
  __shared__ float c[KMAX*D];
  for (int i = threadIdx.x; i < k*D; i += blockDim.x) c[i] = cen[i];
  __syncthreads();
  int i = blockIdx.x*blockDim.x + threadIdx.x; if (i >= n) return;
  float p[D];
#pragma unroll
  for (int d = 0; d < D; ++d) p[d] = pts[i*D + d];
  float best = 1e30f; int bl = 0;
  for (int j = 0; j < k; ++j) { float s = 0;
#pragma unroll
    for (int d = 0; d < D; ++d) { float t = p[d] - c[j*D + d]; s += t*t; }
    if (s < best) { best = s; bl = j; } }
  lab[i] = bl;
}
__global__ void dbscan_degree(const float2* __restrict__ p, int* __restrict__ deg, int n, float eps2) {
  __shared__ float2 t[128];
  int i = blockIdx.x*128 + threadIdx.x; float2 me = p[min(i, n-1)]; int c = 0;
  for (int b = 0; b < n; b += 128) { if (b + threadIdx.x < n) t[threadIdx.x] = p[b + threadIdx.x]; __syncthreads();
    for (int j = 0; j < 128 && b + j < n; ++j) { float dx = t[j].x - me.x, dy = t[j].y - me.y; c += dx*dx + dy*dy <= eps2; } __syncthreads(); }
  if (i < n) deg[i] = c;
}
int main() {
  int n = 1 << 16; Particle* p; ParticlesSoA s; Grid g; float* f; cudaMalloc(&p, n*sizeof(Particle)); cudaMalloc(&f, 1<<26); cudaMemset(f, 0, 1<<26);
  s.n = n; s.x = f; s.y = f + n; s.z = f + 2*n; s.vx = f + 3*n; s.vy = f + 4*n; s.vz = f + 5*n;
  g.dim = make_int3(64, 64, 32); g.inv = make_float3(1,1,1); g.rho = f + 8*n; g.E = (float3*)(f + 12*n);
  deposit<<<n/256,256>>>(s, g); push_aos<<<n/256,256>>>(p, n, 0.1f); push_soa<<<n/256,256>>>(s, 0.1f); kick_by_field<<<n/256,256>>>(p, g, n);
  poisson7<<<dim3(2,8), dim3(32,8)>>>(g, f, f + 16*n);
  kmeans_assign<3,64><<<n/256,256>>>(f, f + 8*n, (int*)(f + 12*n), n, 50);
  kmeans_assign<16,32><<<n/256,256>>>(f, f + 20*n, (int*)(f + 22*n), n, 32);
  dbscan_degree<<<32,128>>>((float2*)f, (int*)(f + 4*n), 4000, 0.1f);
  cudaDeviceSynchronize(); puts("ok");
}
