#include <cstdio>
#include <utility>
#include <cuda_runtime.h>
__global__ void thomas_interleaved(const double* __restrict__ a, const double* __restrict__ b, const double* __restrict__ c, double* __restrict__ d, double* __restrict__ cp, int n, int batch) {
  int s = blockIdx.x*blockDim.x + threadIdx.x; if (s >= batch) return;
  double w = b[s]; cp[s] = c[s]/w; d[s] /= w;
  for (int i = 1; i < n; ++i) { int k = i*batch + s; double m = 1.0/(b[k] - a[k]*cp[k - batch]); cp[k] = c[k]*m; d[k] = (d[k] - a[k]*d[k - batch])*m; }
  for (int i = n - 2; i >= 0; --i) { int k = i*batch + s; d[k] -= cp[k]*d[k + batch]; }
}
__global__ void thomas_contig(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c, float* __restrict__ d, int n, int batch) {
  int s = blockIdx.x*blockDim.x + threadIdx.x; if (s >= batch) return;
  const float *A = a + s*n, *B = b + s*n, *C = c + s*n; float* D = d + s*n; float g[64];
  float beta = B[0]; D[0] = D[0]/beta;
  for (int i = 1; i < n; ++i) { g[i] = C[i-1]/beta; beta = B[i] - A[i]*g[i]; D[i] = (D[i] - A[i]*D[i-1])/beta; }
  for (int i = n - 2; i >= 0; --i) D[i] -= g[i+1]*D[i+1];
}
template <int N>
__global__ void pcr(const float* a_, const float* b_, const float* c_, const float* d_, float* x) {
  __shared__ float a[N], b[N], c[N], d[N];
  int t = threadIdx.x, base = blockIdx.x*N;
  a[t] = a_[base+t]; b[t] = b_[base+t]; c[t] = c_[base+t]; d[t] = d_[base+t];
  __syncthreads();
  for (int s = 1; s < N; s *= 2) {
    int l = max(t - s, 0), r = min(t + s, N - 1);
    float k1 = a[t]/b[l], k2 = c[t]/b[r];
    float nb = b[t] - c[l]*k1 - a[r]*k2, nd = d[t] - d[l]*k1 - d[r]*k2, na = -a[l]*k1, nc = -c[r]*k2;
    __syncthreads();
    a[t] = na; b[t] = nb; c[t] = nc; d[t] = nd;
    __syncthreads();
  }
  x[base+t] = d[t]/b[t];
}
template <int COLOR>
__global__ void sor_rb(double* __restrict__ u, const double* __restrict__ f, int nx, int ny, double w) {
  int j = blockIdx.y*blockDim.y + threadIdx.y + 1;
  int i = 2*(blockIdx.x*blockDim.x + threadIdx.x) + 1 + ((j + COLOR) & 1);
  if (i < nx - 1 && j < ny - 1) { int k = j*nx + i; double r = 0.25*(u[k-1] + u[k+1] + u[k-nx] + u[k+nx] - f[k]) - u[k]; u[k] += w*r; }
}
__global__ void restrict_fw(const float* __restrict__ f, float* __restrict__ c, int nc, int nf) {
  int I = blockIdx.x*blockDim.x + threadIdx.x, J = blockIdx.y*blockDim.y + threadIdx.y;
  if (I < 1 || J < 1 || I >= nc - 1 || J >= nc - 1) return;
  int i = 2*I, j = 2*J;
  c[J*nc + I] = 0.25f*f[j*nf + i] + 0.125f*(f[j*nf + i - 1] + f[j*nf + i + 1] + f[(j-1)*nf + i] + f[(j+1)*nf + i]) + 0.0625f*(f[(j-1)*nf + i - 1] + f[(j-1)*nf + i + 1] + f[(j+1)*nf + i - 1] + f[(j+1)*nf + i + 1]);
}
__global__ void prolong(const float* __restrict__ c, float* __restrict__ f, int nc, int nf) {
  int i = blockIdx.x*blockDim.x + threadIdx.x, j = blockIdx.y*blockDim.y + threadIdx.y;
  if (i >= nf || j >= nf) return;
  int I = i >> 1, J = j >> 1; float v;
  if (i & 1) v = (j & 1) ? 0.25f*(c[J*nc+I] + c[J*nc+I+1] + c[(J+1)*nc+I] + c[(J+1)*nc+I+1]) : 0.5f*(c[J*nc+I] + c[J*nc+I+1]);
  else v = (j & 1) ? 0.5f*(c[J*nc+I] + c[(J+1)*nc+I]) : c[J*nc+I];
  f[j*nf + i] += v;
}
template <int BX, int BY>
__global__ void life_halo(const unsigned char* __restrict__ in, unsigned char* __restrict__ out, int w, int h) {
  __shared__ unsigned char s[BY + 2][BX + 2];
  int x = blockIdx.x*BX + threadIdx.x, y = blockIdx.y*BY + threadIdx.y, lx = threadIdx.x + 1, ly = threadIdx.y + 1;
  auto at = [&](int xx, int yy) -> unsigned char { xx = (xx + w) % w; yy = (yy + h) % h; return in[yy*w + xx]; };
  s[ly][lx] = at(x, y);
  if (threadIdx.x == 0) s[ly][0] = at(x - 1, y);
  if (threadIdx.x == BX - 1) s[ly][BX + 1] = at(x + 1, y);
  if (threadIdx.y == 0) { s[0][lx] = at(x, y - 1); if (threadIdx.x == 0) s[0][0] = at(x-1, y-1); if (threadIdx.x == BX-1) s[0][BX+1] = at(x+1, y-1); }
  if (threadIdx.y == BY - 1) { s[BY+1][lx] = at(x, y + 1); if (threadIdx.x == 0) s[BY+1][0] = at(x-1, y+1); if (threadIdx.x == BX-1) s[BY+1][BX+1] = at(x+1, y+1); }
  __syncthreads();
  int c = 0;
#pragma unroll
  for (int dy = -1; dy <= 1; ++dy)
#pragma unroll
    for (int dx = -1; dx <= 1; ++dx) if (dx || dy) c += s[ly + dy][lx + dx];
  out[y*w + x] = c == 3 || (c == 2 && s[ly][lx]);
}
int main() {
  double* p; float* q; cudaMalloc(&p, 1<<27); cudaMalloc(&q, 1<<27);
  thomas_interleaved<<<32,128>>>(p, p + (1<<20), p + (2<<20), p + (3<<20), p + (4<<20), 64, 4096);
  thomas_contig<<<32,128>>>(q, q + (1<<20), q + (2<<20), q + (3<<20), 64, 4096);
  pcr<256><<<128,256>>>(q, q + (1<<20), q + (2<<20), q + (3<<20), q + (4<<20));
  int nx = 514; dim3 b(32,8), g(8,64);
  for (int it = 0; it < 4; ++it) { sor_rb<0><<<g,b>>>(p, p + (1<<20), nx, nx, 1.7); sor_rb<1><<<g,b>>>(p, p + (1<<20), nx, nx, 1.7); }
  restrict_fw<<<dim3(9,33),b>>>(q, q + (1<<20), 257, 513);
  prolong<<<dim3(17,65),b>>>(q + (1<<20), q, 257, 513);
  unsigned char *l0 = (unsigned char*)q, *l1 = l0 + (1 << 20);
  for (int it = 0; it < 4; ++it) { life_halo<24,10><<<dim3(20,50),dim3(24,10)>>>(l0, l1, 480, 500); std::swap(l0, l1); }
  cudaDeviceSynchronize(); puts("ok");
}
