/*
  High-order spectral element Poisson operator on a structured block of hexahedra,
  two kernel versions plus gather-scatter and the vector kernels of one CG iteration.

  Naming follows the usual conventions: p_* compile-time, s_* shared, r_* register, o_* device arrays.
*/
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define dfloat double
#define dlong int

#define p_N   6
#define p_Nq  (p_N + 1)
#define p_Np  (p_Nq * p_Nq * p_Nq)
#define p_Nggeo 6
#define p_G00 0
#define p_G01 1
#define p_G02 2
#define p_G11 3
#define p_G12 4
#define p_G22 5
#define p_blockSize 256

#define DEVICE_CHECK(call)                                                                  \
  {                                                                                         \
    cudaError_t status = call;                                                              \
    if (status != cudaSuccess) {                                                            \
      printf("CUDA failure %s:%d: '%s'\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
      exit(1);                                                                              \
    }                                                                                       \
  }

/* v0: one thread per node, (p_Nq,p_Nq,p_Nq) block, everything staged in shared memory */
__global__ void axHex3D_v0(const dlong Nelements,
                           const dfloat* __restrict__ ggeo,
                           const dfloat* __restrict__ D,
                           const dfloat* __restrict__ q,
                           dfloat* __restrict__ Aq)
{
  __shared__ dfloat s_D[p_Nq][p_Nq];
  __shared__ dfloat s_q[p_Nq][p_Nq][p_Nq];
  __shared__ dfloat s_Gqr[p_Nq][p_Nq][p_Nq];
  __shared__ dfloat s_Gqs[p_Nq][p_Nq][p_Nq];
  __shared__ dfloat s_Gqt[p_Nq][p_Nq][p_Nq];

  const dlong e = blockIdx.x;
  const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z;
  const int n = i + p_Nq * (j + p_Nq * k);

  if (k == 0) s_D[j][i] = D[j * p_Nq + i];
  s_q[k][j][i] = q[e * p_Np + n];
  __syncthreads();

  dfloat qr = 0, qs = 0, qt = 0;
#pragma unroll
  for (int m = 0; m < p_Nq; ++m) {
    qr += s_D[i][m] * s_q[k][j][m];
    qs += s_D[j][m] * s_q[k][m][i];
    qt += s_D[k][m] * s_q[m][j][i];
  }

  const dlong gbase = e * p_Nggeo * p_Np + n;
  const dfloat G00 = ggeo[gbase + p_G00 * p_Np], G01 = ggeo[gbase + p_G01 * p_Np];
  const dfloat G02 = ggeo[gbase + p_G02 * p_Np], G11 = ggeo[gbase + p_G11 * p_Np];
  const dfloat G12 = ggeo[gbase + p_G12 * p_Np], G22 = ggeo[gbase + p_G22 * p_Np];
  s_Gqr[k][j][i] = G00 * qr + G01 * qs + G02 * qt;
  s_Gqs[k][j][i] = G01 * qr + G11 * qs + G12 * qt;
  s_Gqt[k][j][i] = G02 * qr + G12 * qs + G22 * qt;
  __syncthreads();

  dfloat r_Aq = 0;
#pragma unroll
  for (int m = 0; m < p_Nq; ++m) {
    r_Aq += s_D[m][i] * s_Gqr[k][j][m];
    r_Aq += s_D[m][j] * s_Gqs[k][m][i];
    r_Aq += s_D[m][k] * s_Gqt[m][j][i];
  }
  Aq[e * p_Np + n] = r_Aq;
}

/* v1: (p_Nq,p_Nq) block, columns in registers, slices in shared memory */
__global__ void axHex3D_v1(const dlong Nelements,
                           const dfloat* __restrict__ ggeo,
                           const dfloat* __restrict__ D,
                           const dfloat* __restrict__ q,
                           dfloat* __restrict__ Aq)
{
  __shared__ dfloat s_D[p_Nq][p_Nq];
  __shared__ dfloat s_q[p_Nq][p_Nq];
  __shared__ dfloat s_Gqr[p_Nq][p_Nq];
  __shared__ dfloat s_Gqs[p_Nq][p_Nq];
  dfloat r_q[p_Nq], r_Aq[p_Nq];

  const dlong e = blockIdx.x;
  const int i = threadIdx.x, j = threadIdx.y;
  s_D[j][i] = D[j * p_Nq + i];
#pragma unroll
  for (int k = 0; k < p_Nq; ++k) {
    r_q[k] = q[e * p_Np + k * p_Nq * p_Nq + j * p_Nq + i];
    r_Aq[k] = 0;
  }

#pragma unroll
  for (int k = 0; k < p_Nq; ++k) {
    __syncthreads();
    s_q[j][i] = r_q[k];
    __syncthreads();

    dfloat qr = 0, qs = 0, qt = 0;
#pragma unroll
    for (int m = 0; m < p_Nq; ++m) {
      qr += s_D[i][m] * s_q[j][m];
      qs += s_D[j][m] * s_q[m][i];
      qt += s_D[k][m] * r_q[m];
    }
    const dlong gbase = e * p_Nggeo * p_Np + k * p_Nq * p_Nq + j * p_Nq + i;
    const dfloat G01 = ggeo[gbase + p_G01 * p_Np], G02 = ggeo[gbase + p_G02 * p_Np], G12 = ggeo[gbase + p_G12 * p_Np];
    s_Gqr[j][i] = ggeo[gbase + p_G00 * p_Np] * qr + G01 * qs + G02 * qt;
    s_Gqs[j][i] = G01 * qr + ggeo[gbase + p_G11 * p_Np] * qs + G12 * qt;
    const dfloat r_Gqt = G02 * qr + G12 * qs + ggeo[gbase + p_G22 * p_Np] * qt;
    __syncthreads();
#pragma unroll
    for (int m = 0; m < p_Nq; ++m) {
      r_Aq[k] += s_D[m][j] * s_Gqs[m][i] + s_D[m][i] * s_Gqr[j][m];
      r_Aq[m] += s_D[k][m] * r_Gqt;
    }
  }
#pragma unroll
  for (int k = 0; k < p_Nq; ++k)
    Aq[e * p_Np + k * p_Nq * p_Nq + j * p_Nq + i] = r_Aq[k];
}

/* sum the local copies of every global node and write the sum back to all copies */
__global__ void gatherScatter(const dlong Ngather,
                              const dlong* __restrict__ gatherStarts,
                              const dlong* __restrict__ gatherIds,
                              dfloat* q)
{
  const dlong g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= Ngather) return;
  const dlong start = gatherStarts[g], end = gatherStarts[g + 1];
  dfloat gq = 0;
  for (dlong n = start; n < end; ++n) gq += q[gatherIds[n]];
  for (dlong n = start; n < end; ++n) q[gatherIds[n]] = gq;
}

__global__ void weightedInnerProduct(const dlong N, const dfloat* __restrict__ w, const dfloat* __restrict__ x,
                                     const dfloat* __restrict__ y, dfloat* __restrict__ wxy)
{
  __shared__ volatile dfloat s_wxy[p_blockSize];
  const int t = threadIdx.x;
  dfloat sum = 0;
  for (dlong id = t + blockIdx.x * p_blockSize; id < N; id += gridDim.x * p_blockSize) sum += w[id] * x[id] * y[id];
  s_wxy[t] = sum;
  __syncthreads();
#define p_FOLD(h)                                \
  if (t < (h)) s_wxy[t] = s_wxy[t] + s_wxy[t + (h)]; \
  __syncthreads();
  p_FOLD(128)
  p_FOLD(64)
  p_FOLD(32)
  p_FOLD(16)
  p_FOLD(8)
  p_FOLD(4)
  p_FOLD(2)
  if (t == 0) wxy[blockIdx.x] = s_wxy[0] + s_wxy[1];
}

/* x += alpha p ; r -= alpha Ap  (interleaved update used by the combined CG) */
__global__ void updatePCG(const dlong N, const dfloat alpha, const dfloat* __restrict__ p, const dfloat* __restrict__ Ap,
                          double2* __restrict__ xr)
{
  const dlong n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n < N) {
    double2 v = xr[n];
    v.x += alpha * p[n];
    v.y -= alpha * Ap[n];
    xr[n] = v;
  }
}

/* Gauss-Lobatto-Legendre nodes, weights and differentiation matrix */
static void setupGLL(std::vector<dfloat>& z, std::vector<dfloat>& w, std::vector<dfloat>& D)
{
  auto legendre = [](int n, double x, double& dp) {
    double p0 = 1, p1 = x;
    for (int k = 2; k <= n; ++k) { double p2 = ((2 * k - 1) * x * p1 - (k - 1) * p0) / k; p0 = p1; p1 = p2; }
    dp = n * (x * p1 - p0) / (x * x - 1);
    return p1;
  };
  z.resize(p_Nq); w.resize(p_Nq); D.assign(p_Nq * p_Nq, 0);
  z[0] = -1; z[p_N] = 1;
  for (int i = 1; i < p_N; ++i) {
    double x = -cos(M_PI * i / p_N), dp, p;
    for (int it = 0; it < 50; ++it) {
      p = legendre(p_N, x, dp);
      const double ddp = (2 * x * dp - p_N * (p_N + 1) * p) / (1 - x * x);
      x -= dp / ddp;
    }
    z[i] = x;
  }
  double dp, L[p_Nq];
  for (int i = 0; i <= p_N; ++i) {
    L[i] = (i == 0) ? (p_N % 2 ? -1 : 1) : (i == p_N) ? 1 : legendre(p_N, z[i], dp);
    w[i] = 2.0 / (p_N * (p_N + 1) * L[i] * L[i]);
  }
  for (int i = 0; i <= p_N; ++i)
    for (int j = 0; j <= p_N; ++j) {
      if (i != j) D[i * p_Nq + j] = L[i] / (L[j] * (z[i] - z[j]));
      else if (i == 0) D[0] = -0.25 * p_N * (p_N + 1);
      else if (i == p_N) D[i * p_Nq + i] = 0.25 * p_N * (p_N + 1);
    }
}

template <class T> static T* toDevice(const std::vector<T>& v)
{
  T* d;
  DEVICE_CHECK(cudaMalloc(&d, v.size() * sizeof(T)));
  DEVICE_CHECK(cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return d;
}

static bool agree(const char* what, const std::vector<dfloat>& a, const std::vector<dfloat>& b, double tol)
{
  double m = 0, s = 1e-30;
  bool ok = true;
  for (size_t n = 0; n < b.size(); ++n) {
    m = fmax(m, fabs(a[n] - b[n]));
    s = fmax(s, fabs(b[n]));
    if (a[n] != a[n]) ok = false;
  }
  printf("%-14s relative difference %.2e\n", what, m / s);
  return ok && m / s < tol;
}

int main()
{
  const int Ex = 7, Ey = 5, Ez = 4;
  const dlong E = Ex * Ey * Ez, Nlocal = E * p_Np;
  std::vector<dfloat> z, w, D;
  setupGLL(z, w, D);

  std::vector<dfloat> q(Nlocal), ggeo((size_t)E * p_Nggeo * p_Np), Aq(Nlocal, 0);
  std::vector<dlong> gid(Nlocal);
  const int Gx = Ex * p_N + 1, Gy = Ey * p_N + 1, Gz = Ez * p_N + 1;
  for (dlong e = 0; e < E; ++e) {
    const int ei = e % Ex, ej = e / Ex % Ey, ek = e / (Ex * Ey);
    for (int k = 0; k < p_Nq; ++k) for (int j = 0; j < p_Nq; ++j) for (int i = 0; i < p_Nq; ++i) {
      const int n = i + p_Nq * (j + p_Nq * k);
      const int gi = ei * p_N + i, gj = ej * p_N + j, gk = ek * p_N + k;
      gid[e * p_Np + n] = gi + Gx * (gj + Gy * gk);
      q[e * p_Np + n] = sin(0.21 * gi) * cos(0.17 * gj) + 0.3 * sin(0.4 * gk + gi);
      // mildly skewed elements: SPD 3x3 tensor varying from node to node
      const dfloat wJ = w[i] * w[j] * w[k], a = 0.2 * sin(0.3 * gi + 0.1 * gj), b = 0.15 * cos(0.2 * gk);
      dfloat* g = &ggeo[((size_t)e * p_Nggeo) * p_Np + n];
      g[p_G00 * p_Np] = wJ * (1.0 + a * a); g[p_G01 * p_Np] = wJ * a;       g[p_G02 * p_Np] = wJ * b;
      g[p_G11 * p_Np] = wJ * 1.3;           g[p_G12 * p_Np] = wJ * 0.1 * b; g[p_G22 * p_Np] = wJ * (1.1 + b * b);
    }
  }
  // gather lists
  const dlong Ngather = Gx * Gy * Gz;
  std::vector<dlong> starts(Ngather + 1, 0), ids(Nlocal);
  for (dlong n = 0; n < Nlocal; ++n) ++starts[gid[n] + 1];
  for (dlong g = 0; g < Ngather; ++g) starts[g + 1] += starts[g];
  std::vector<dlong> cursor(starts.begin(), starts.end() - 1);
  for (dlong n = 0; n < Nlocal; ++n) ids[cursor[gid[n]]++] = n;
  std::vector<dfloat> invDegree(Nlocal);
  for (dlong n = 0; n < Nlocal; ++n) invDegree[n] = 1.0 / (starts[gid[n] + 1] - starts[gid[n]]);

  // host operator
  for (dlong e = 0; e < E; ++e) {
    static dfloat gr[p_Np], gs[p_Np], gt[p_Np];
    const dfloat* u = &q[e * p_Np];
    for (int k = 0; k < p_Nq; ++k) for (int j = 0; j < p_Nq; ++j) for (int i = 0; i < p_Nq; ++i) {
      dfloat r = 0, s = 0, t = 0;
      for (int m = 0; m < p_Nq; ++m) {
        r += D[i * p_Nq + m] * u[m + p_Nq * (j + p_Nq * k)];
        s += D[j * p_Nq + m] * u[i + p_Nq * (m + p_Nq * k)];
        t += D[k * p_Nq + m] * u[i + p_Nq * (j + p_Nq * m)];
      }
      const int n = i + p_Nq * (j + p_Nq * k);
      const dfloat* g = &ggeo[(size_t)e * p_Nggeo * p_Np + n];
      gr[n] = g[0] * r + g[p_Np] * s + g[2 * p_Np] * t;
      gs[n] = g[p_Np] * r + g[3 * p_Np] * s + g[4 * p_Np] * t;
      gt[n] = g[2 * p_Np] * r + g[4 * p_Np] * s + g[5 * p_Np] * t;
    }
    for (int k = 0; k < p_Nq; ++k) for (int j = 0; j < p_Nq; ++j) for (int i = 0; i < p_Nq; ++i) {
      dfloat v = 0;
      for (int m = 0; m < p_Nq; ++m)
        v += D[m * p_Nq + i] * gr[m + p_Nq * (j + p_Nq * k)] + D[m * p_Nq + j] * gs[i + p_Nq * (m + p_Nq * k)]
           + D[m * p_Nq + k] * gt[i + p_Nq * (j + p_Nq * m)];
      Aq[e * p_Np + i + p_Nq * (j + p_Nq * k)] = v;
    }
  }

  dfloat *o_D = toDevice(D), *o_q = toDevice(q), *o_ggeo = toDevice(ggeo), *o_w = toDevice(invDegree), *o_Aq, *o_dot;
  dlong *o_starts = toDevice(starts), *o_ids = toDevice(ids);
  std::vector<double2> xr(Nlocal);
  for (dlong n = 0; n < Nlocal; ++n) xr[n] = make_double2(0.5 * q[n], 1.0 + n % 3);
  double2* o_xr = toDevice(xr);
  const int Nblock = 30;
  DEVICE_CHECK(cudaMalloc(&o_Aq, Nlocal * sizeof(dfloat)));
  DEVICE_CHECK(cudaMalloc(&o_dot, Nblock * sizeof(dfloat)));
  std::vector<dfloat> h(Nlocal), dots(Nblock);
  bool ok = true;

  axHex3D_v0<<<E, dim3(p_Nq, p_Nq, p_Nq)>>>(E, o_ggeo, o_D, o_q, o_Aq);
  DEVICE_CHECK(cudaGetLastError());
  DEVICE_CHECK(cudaMemcpy(h.data(), o_Aq, Nlocal * sizeof(dfloat), cudaMemcpyDeviceToHost));
  ok &= agree("axHex3D_v0", h, Aq, 1e-12);
  DEVICE_CHECK(cudaMemset(o_Aq, 0, Nlocal * sizeof(dfloat)));
  axHex3D_v1<<<E, dim3(p_Nq, p_Nq)>>>(E, o_ggeo, o_D, o_q, o_Aq);
  DEVICE_CHECK(cudaGetLastError());
  DEVICE_CHECK(cudaMemcpy(h.data(), o_Aq, Nlocal * sizeof(dfloat), cudaMemcpyDeviceToHost));
  ok &= agree("axHex3D_v1", h, Aq, 1e-12);

  gatherScatter<<<(Ngather + p_blockSize - 1) / p_blockSize, p_blockSize>>>(Ngather, o_starts, o_ids, o_Aq);
  DEVICE_CHECK(cudaGetLastError());
  std::vector<dfloat> glob(Ngather, 0);
  for (dlong n = 0; n < Nlocal; ++n) glob[gid[n]] += Aq[n];
  for (dlong n = 0; n < Nlocal; ++n) Aq[n] = glob[gid[n]];
  DEVICE_CHECK(cudaMemcpy(h.data(), o_Aq, Nlocal * sizeof(dfloat), cudaMemcpyDeviceToHost));
  ok &= agree("gatherScatter", h, Aq, 1e-12);

  weightedInnerProduct<<<Nblock, p_blockSize>>>(Nlocal, o_w, o_q, o_Aq, o_dot);
  DEVICE_CHECK(cudaGetLastError());
  DEVICE_CHECK(cudaMemcpy(dots.data(), o_dot, Nblock * sizeof(dfloat), cudaMemcpyDeviceToHost));
  dfloat pAp = 0, ref = 0;
  for (dfloat d : dots) pAp += d;
  for (dlong n = 0; n < Nlocal; ++n) ref += invDegree[n] * q[n] * Aq[n];
  printf("pAp = %.10f\n", pAp);
  ok &= fabs(pAp - ref) < 1e-10 * fabs(ref);

  const dfloat alpha = 0.375;
  updatePCG<<<(Nlocal + 159) / 160, 160>>>(Nlocal, alpha, o_q, o_Aq, o_xr);
  DEVICE_CHECK(cudaGetLastError());
  std::vector<double2> xr2(Nlocal);
  DEVICE_CHECK(cudaMemcpy(xr2.data(), o_xr, Nlocal * sizeof(double2), cudaMemcpyDeviceToHost));
  for (dlong n = 0; n < Nlocal; ++n)
    if (!(fabs(xr2[n].x - (xr[n].x + alpha * q[n])) < 1e-11) || !(fabs(xr2[n].y - (xr[n].y - alpha * Aq[n])) < 1e-9)) ok = false;

  cudaFree(o_D); cudaFree(o_q); cudaFree(o_ggeo); cudaFree(o_w); cudaFree(o_Aq); cudaFree(o_dot);
  cudaFree(o_starts); cudaFree(o_ids); cudaFree(o_xr);
  printf("%s\n", ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
