#include "md_types.h"

__global__ void k_nve_initial(int n, float4 *xt, float *v, const float *__restrict__ f, const float *__restrict__ rmass, Box box, float dt)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float dtfm = 0.5f * dt * rmass[i];
  float4 x = xt[i];
  float *vi = v + 3 * i;
  vi[0] += dtfm * f[3 * i];
  vi[1] += dtfm * f[3 * i + 1];
  vi[2] += dtfm * f[3 * i + 2];
  x.x += dt * vi[0]; x.y += dt * vi[1]; x.z += dt * vi[2];
  // wrap
  if (x.x < box.lo[0]) x.x += box.len[0]; else if (x.x >= box.lo[0] + box.len[0]) x.x -= box.len[0];
  if (x.y < box.lo[1]) x.y += box.len[1]; else if (x.y >= box.lo[1] + box.len[1]) x.y -= box.len[1];
  if (x.z < box.lo[2]) x.z += box.len[2]; else if (x.z >= box.lo[2] + box.len[2]) x.z -= box.len[2];
  xt[i] = x;
}

// flat over the 3n components
__global__ void k_nve_final(int n3, float *v, const float *__restrict__ f, const float *__restrict__ rmass, float dt)
{
  for (int t = blockIdx.x * blockDim.x + threadIdx.x; t < n3; t += gridDim.x * blockDim.x) v[t] += 0.5f * dt * rmass[t / 3] * f[t];
}

__global__ void k_ke(int n, const float *__restrict__ v, const float *__restrict__ rmass, double *ke)
{
  double s = 0.0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    s += 0.5 * (v[3 * i] * v[3 * i] + v[3 * i + 1] * v[3 * i + 1] + v[3 * i + 2] * v[3 * i + 2]) / rmass[i];
  for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffffu, s, o);
  if ((threadIdx.x & 31) == 0) atomicAdd(ke, s);
}

void nve_initial(const AtomData &a, const Box &box, float dt) { k_nve_initial<<<(a.nlocal + 255) / 256, 256>>>(a.nlocal, a.xt, a.v, a.f, a.rmass, box, dt); CUDACHK(cudaGetLastError()); }
void nve_final(const AtomData &a, float dt) { k_nve_final<<<24, 256>>>(3 * a.nlocal, a.v, a.f, a.rmass, dt); CUDACHK(cudaGetLastError()); }
void compute_ke(const AtomData &a, double *d_ke) { CUDACHK(cudaMemset(d_ke, 0, sizeof(double))); k_ke<<<8, 128>>>(a.nlocal, a.v, a.rmass, d_ke); CUDACHK(cudaGetLastError()); }
