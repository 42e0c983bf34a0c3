#include <cstdio>
#include <cuda_runtime.h>
struct Mesh { int nElem, nNode; const int4* conn; const double* x; const double* y; const double* z; };
struct Vec3 { double x, y, z; __device__ Vec3 operator-(const Vec3& o) const { return {x - o.x, y - o.y, z - o.z}; } __device__ double dot(const Vec3& o) const { return x*o.x + y*o.y + z*o.z; } };
__device__ Vec3 cross(const Vec3& a, const Vec3& b) { return {a.y*b.z - a.z*b.y, a.z*b.x - a.x*b.z, a.x*b.y - a.y*b.x}; }
__device__ Vec3 node(const Mesh& m, int i) { return {m.x[i], m.y[i], m.z[i]}; }
__global__ void tet_volume(Mesh m, double* __restrict__ vol) {
  int e = blockIdx.x*blockDim.x + threadIdx.x; if (e >= m.nElem) return;
  int4 c = m.conn[e];
  Vec3 p = node(m, c.x), a = node(m, c.y) - p, b = node(m, c.z) - p, d = node(m, c.w) - p;
  vol[e] = fabs(a.dot(cross(b, d)))/6.0;
}
__global__ void matvec_scatter(Mesh m, const double* __restrict__ Ke, const double* __restrict__ u, double* __restrict__ r) {
  int e = blockIdx.x*blockDim.x + threadIdx.x; if (e >= m.nElem) return;
  int n[4]; int4 c = m.conn[e]; n[0] = c.x; n[1] = c.y; n[2] = c.z; n[3] = c.w;
  double ue[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) ue[i] = u[n[i]];
#pragma unroll
  for (int i = 0; i < 4; ++i) { double s = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) s += Ke[(i*4 + j)*m.nElem + e]*ue[j];
    atomicAdd(&r[n[i]], s); }
}
template <int P, int NQ>
__global__ void sum_factor(const double* __restrict__ B, const double* __restrict__ u, double* __restrict__ out, int ne) {
  __shared__ double sB[NQ][P], s0[P][P][P], s1[NQ][P][P];
  int e = blockIdx.x; if (e >= ne) return;
  int tx = threadIdx.x, ty = threadIdx.y, tz = threadIdx.z;
  if (tz == 0 && ty < NQ && tx < P) sB[ty][tx] = B[ty*P + tx];
  if (tx < P && ty < P && tz < P) s0[tz][ty][tx] = u[((e*P + tz)*P + ty)*P + tx];
  __syncthreads();
  if (tx < NQ && ty < P && tz < P) { double a = 0;
#pragma unroll
    for (int k = 0; k < P; ++k) a += sB[tx][k]*s0[tz][ty][k];
    s1[tx][tz][ty] = a; }
  __syncthreads();
  if (tz < P && ty < P && tx < NQ) out[((e*P + tz)*P + ty)*NQ + tx] = s1[tx][tz][ty];
}
__global__ void gather_csr(const int* __restrict__ off, const int* __restrict__ idx, const double* __restrict__ ev, double* __restrict__ nv, int nn) {
  int i = blockIdx.x*blockDim.x + threadIdx.x; if (i >= nn) return;
  double s = 0; for (int k = off[i], end = off[i+1]; k < end; ++k) s += ev[idx[k]]; nv[i] = s;
}
int main() {
  Mesh m; m.nElem = 1 << 16; m.nNode = 1 << 14; int4* c; double *x, *ke, *u, *r, *v; int *o, *ix;
  cudaMalloc(&c, m.nElem*16); cudaMemset(c, 0, m.nElem*16); cudaMalloc(&x, m.nNode*24); cudaMalloc(&ke, m.nElem*128); cudaMalloc(&u, m.nElem*125*8); cudaMalloc(&r, m.nNode*8); cudaMalloc(&v, m.nElem*8); cudaMalloc(&o, 4*(m.nNode+1)); cudaMalloc(&ix, 16*m.nElem);
  m.conn = c; m.x = x; m.y = x + m.nNode; m.z = x + 2*m.nNode;
  tet_volume<<<(m.nElem + 127)/128, 128>>>(m, v);
  matvec_scatter<<<(m.nElem + 127)/128, 128>>>(m, ke, u, r);
  sum_factor<3,4><<<1024, dim3(4,4,4)>>>(ke, u, u, 1024);
  sum_factor<5,6><<<1024, dim3(6,6,6)>>>(ke, u, u, 1024);
  gather_csr<<<(m.nNode + 255)/256, 256>>>(o, ix, v, r, m.nNode);
  cudaDeviceSynchronize(); puts("ok");
}
