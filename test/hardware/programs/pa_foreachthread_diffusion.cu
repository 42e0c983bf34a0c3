// Partially assembled diffusion and mass operators on hexahedra with
// sum-factorised tensor contractions: one block per element, a 3D thread box
// walked with FOREACH_THREAD, compile-time D1D/Q1D with a dispatch map, and a
// runtime fallback without shared memory.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#define PA_GPU_CHECK(x)                                                                   \
   do {                                                                                   \
      cudaError_t err = (x);                                                              \
      if (cudaSuccess != err) {                                                           \
         std::fprintf(stderr, "%s failed: %s (%d)\n", #x, cudaGetErrorString(err), __LINE__); \
         std::exit(3);                                                                    \
      }                                                                                   \
   } while (0)

#define FOREACH_THREAD(i, k, N) for (int i = threadIdx.k; i < N; i += blockDim.k)
#define PA_SYNC_THREAD __syncthreads()

constexpr int MAX_Q1D = 7;

// column-major view, like a DeviceTensor
template <int Dim, typename Scalar = double>
class DeviceTensor
{
   Scalar *data;
   int sizes[Dim];
public:
   template <typename... Args>
   __host__ __device__ DeviceTensor(Scalar *d, Args... args) : data(d), sizes{args...} {}
   template <typename... Idx>
   __host__ __device__ inline Scalar &operator()(Idx... idx) const
   {
      const int id[Dim] = {idx...};
      size_t o = id[Dim - 1];
#pragma unroll
      for (int d = Dim - 2; d >= 0; d--) { o = o * sizes[d] + id[d]; }
      return data[o];
   }
};
using ConstCube = DeviceTensor<4, const double>;

template <typename LAMBDA>
__global__ static void CuWrap1D(const int N, LAMBDA d_body)
{
   const int k = blockDim.x * blockIdx.x + threadIdx.x;
   if (k >= N) { return; }
   d_body(k);
}

// ------------------------------------------------------- element restriction
__global__ void Gather(const int n, const int *__restrict__ map, const double *__restrict__ x, double *y)
{
   const int i = blockIdx.x * blockDim.x + threadIdx.x;
   if (i < n) { y[i] = x[map[i]]; }
}

// transpose by the inverse list, so the sum has a fixed order
__global__ void ScatterSum(const int ndofs, const int *__restrict__ offsets, const int *__restrict__ indices,
                           const double *__restrict__ ye, double *y)
{
   const int d = blockIdx.x * blockDim.x + threadIdx.x;
   if (d >= ndofs) { return; }
   double s = 0.0;
   for (int j = offsets[d]; j < offsets[d + 1]; j++) { s += ye[indices[j]]; }
   y[d] = s;
}

// ---------------------------------------------------------- operator kernels
template <int T_D1D, int T_Q1D>
__global__ void __launch_bounds__(T_Q1D *T_Q1D *T_Q1D)
SmemPADiffusionApply3D(const int NE, const double *b_, const double *g_, const double *d_,
                       const double *x_, double *y_)
{
   constexpr int D1D = T_D1D, Q1D = T_Q1D;
   constexpr int MDQ = (Q1D > D1D) ? Q1D : D1D;
   const int e = blockIdx.x;
   if (e >= NE) { return; }
   DeviceTensor<2, const double> b(b_, Q1D, D1D), g(g_, Q1D, D1D);
   DeviceTensor<5, const double> d(d_, Q1D, Q1D, Q1D, 6, NE);
   DeviceTensor<4, const double> x(x_, D1D, D1D, D1D, NE);
   DeviceTensor<4, double> y(y_, D1D, D1D, D1D, NE);

   __shared__ double sBG[2][MDQ * MDQ];
   double (*B)[D1D] = (double (*)[D1D])(sBG + 0);
   double (*G)[D1D] = (double (*)[D1D])(sBG + 1);
   __shared__ double sm0[3][MDQ * MDQ * MDQ];
   __shared__ double sm1[3][MDQ * MDQ * MDQ];
   double (*X)[D1D][D1D] = (double (*)[D1D][D1D])(sm0 + 2);
   double (*DDQ0)[D1D][Q1D] = (double (*)[D1D][Q1D])(sm0 + 0);
   double (*DDQ1)[D1D][Q1D] = (double (*)[D1D][Q1D])(sm0 + 1);
   double (*DQQ0)[Q1D][Q1D] = (double (*)[Q1D][Q1D])(sm1 + 0);
   double (*DQQ1)[Q1D][Q1D] = (double (*)[Q1D][Q1D])(sm1 + 1);
   double (*DQQ2)[Q1D][Q1D] = (double (*)[Q1D][Q1D])(sm1 + 2);
   double (*QQQ0)[Q1D][Q1D] = (double (*)[Q1D][Q1D])(sm0 + 0);
   double (*QQQ1)[Q1D][Q1D] = (double (*)[Q1D][Q1D])(sm0 + 1);
   double (*QQQ2)[Q1D][Q1D] = (double (*)[Q1D][Q1D])(sm0 + 2);
   double (*QQD0)[Q1D][D1D] = (double (*)[Q1D][D1D])(sm1 + 0);
   double (*QQD1)[Q1D][D1D] = (double (*)[Q1D][D1D])(sm1 + 1);
   double (*QQD2)[Q1D][D1D] = (double (*)[Q1D][D1D])(sm1 + 2);
   double (*QDD0)[D1D][D1D] = (double (*)[D1D][D1D])(sm0 + 0);
   double (*QDD1)[D1D][D1D] = (double (*)[D1D][D1D])(sm0 + 1);
   double (*QDD2)[D1D][D1D] = (double (*)[D1D][D1D])(sm0 + 2);

   FOREACH_THREAD(dz, z, D1D)
   FOREACH_THREAD(dy, y, D1D)
   FOREACH_THREAD(dx, x, D1D) { X[dz][dy][dx] = x(dx, dy, dz, e); }
   if (threadIdx.z == 0)
   {
      FOREACH_THREAD(dy, y, D1D)
      FOREACH_THREAD(qx, x, Q1D)
      {
         B[qx][dy] = b(qx, dy);
         G[qx][dy] = g(qx, dy);
      }
   }
   PA_SYNC_THREAD;
   FOREACH_THREAD(dz, z, D1D)
   FOREACH_THREAD(dy, y, D1D)
   FOREACH_THREAD(qx, x, Q1D)
   {
      double u = 0.0, v = 0.0;
#pragma unroll
      for (int dx = 0; dx < D1D; ++dx)
      {
         const double c = X[dz][dy][dx];
         u += c * B[qx][dx];
         v += c * G[qx][dx];
      }
      DDQ0[dz][dy][qx] = u;
      DDQ1[dz][dy][qx] = v;
   }
   PA_SYNC_THREAD;
   FOREACH_THREAD(dz, z, D1D)
   FOREACH_THREAD(qy, y, Q1D)
   FOREACH_THREAD(qx, x, Q1D)
   {
      double u = 0.0, v = 0.0, w = 0.0;
#pragma unroll
      for (int dy = 0; dy < D1D; ++dy)
      {
         u += DDQ1[dz][dy][qx] * B[qy][dy];
         v += DDQ0[dz][dy][qx] * G[qy][dy];
         w += DDQ0[dz][dy][qx] * B[qy][dy];
      }
      DQQ0[dz][qy][qx] = u; DQQ1[dz][qy][qx] = v; DQQ2[dz][qy][qx] = w;
   }
   PA_SYNC_THREAD;
   FOREACH_THREAD(qz, z, Q1D)
   FOREACH_THREAD(qy, y, Q1D)
   FOREACH_THREAD(qx, x, Q1D)
   {
      double u = 0.0, v = 0.0, w = 0.0;
#pragma unroll
      for (int dz = 0; dz < D1D; ++dz)
      {
         u += DQQ0[dz][qy][qx] * B[qz][dz];
         v += DQQ1[dz][qy][qx] * B[qz][dz];
         w += DQQ2[dz][qy][qx] * G[qz][dz];
      }
      const double O11 = d(qx, qy, qz, 0, e), O12 = d(qx, qy, qz, 1, e), O13 = d(qx, qy, qz, 2, e);
      const double O22 = d(qx, qy, qz, 3, e), O23 = d(qx, qy, qz, 4, e), O33 = d(qx, qy, qz, 5, e);
      QQQ0[qz][qy][qx] = O11 * u + O12 * v + O13 * w;
      QQQ1[qz][qy][qx] = O12 * u + O22 * v + O23 * w;
      QQQ2[qz][qy][qx] = O13 * u + O23 * v + O33 * w;
   }
   PA_SYNC_THREAD;
   FOREACH_THREAD(qz, z, Q1D)
   FOREACH_THREAD(qy, y, Q1D)
   FOREACH_THREAD(dx, x, D1D)
   {
      double u = 0.0, v = 0.0, w = 0.0;
#pragma unroll
      for (int qx = 0; qx < Q1D; ++qx)
      {
         u += QQQ0[qz][qy][qx] * G[qx][dx];
         v += QQQ1[qz][qy][qx] * B[qx][dx];
         w += QQQ2[qz][qy][qx] * B[qx][dx];
      }
      QQD0[qz][qy][dx] = u; QQD1[qz][qy][dx] = v; QQD2[qz][qy][dx] = w;
   }
   PA_SYNC_THREAD;
   FOREACH_THREAD(qz, z, Q1D)
   FOREACH_THREAD(dy, y, D1D)
   FOREACH_THREAD(dx, x, D1D)
   {
      double u = 0.0, v = 0.0, w = 0.0;
#pragma unroll
      for (int qy = 0; qy < Q1D; ++qy)
      {
         u += QQD0[qz][qy][dx] * B[qy][dy];
         v += QQD1[qz][qy][dx] * G[qy][dy];
         w += QQD2[qz][qy][dx] * B[qy][dy];
      }
      QDD0[qz][dy][dx] = u; QDD1[qz][dy][dx] = v; QDD2[qz][dy][dx] = w;
   }
   PA_SYNC_THREAD;
   FOREACH_THREAD(dz, z, D1D)
   FOREACH_THREAD(dy, y, D1D)
   FOREACH_THREAD(dx, x, D1D)
   {
      double s = 0.0;
#pragma unroll
      for (int qz = 0; qz < Q1D; ++qz)
      {
         s += (QDD0[qz][dy][dx] + QDD1[qz][dy][dx]) * B[qz][dz] + QDD2[qz][dy][dx] * G[qz][dz];
      }
      y(dx, dy, dz, e) = s;
   }
}

// thread per element, everything in local arrays: the readable reference path
__global__ void PAMassApply3DElementwise(const int NE, const int D1D, const int Q1D, const double *b_,
                                         const double *op_, const double *x_, double *y_)
{
   const int e = blockIdx.x * blockDim.x + threadIdx.x;
   if (e >= NE) { return; }
   DeviceTensor<2, const double> b(b_, Q1D, D1D);
   ConstCube op(op_, Q1D, Q1D, Q1D, NE), x(x_, D1D, D1D, D1D, NE);
   DeviceTensor<4, double> y(y_, D1D, D1D, D1D, NE);
   double sol[MAX_Q1D][MAX_Q1D][MAX_Q1D];
   for (int qz = 0; qz < Q1D; ++qz)
      for (int qy = 0; qy < Q1D; ++qy)
         for (int qx = 0; qx < Q1D; ++qx) { sol[qz][qy][qx] = 0.0; }
   for (int dz = 0; dz < D1D; ++dz)
   {
      double xy[MAX_Q1D][MAX_Q1D] = {};
      for (int dy = 0; dy < D1D; ++dy)
      {
         double sx[MAX_Q1D] = {};
         for (int dx = 0; dx < D1D; ++dx)
            for (int qx = 0; qx < Q1D; ++qx) { sx[qx] += b(qx, dx) * x(dx, dy, dz, e); }
         for (int qy = 0; qy < Q1D; ++qy)
            for (int qx = 0; qx < Q1D; ++qx) { xy[qy][qx] += b(qy, dy) * sx[qx]; }
      }
      for (int qz = 0; qz < Q1D; ++qz)
         for (int qy = 0; qy < Q1D; ++qy)
            for (int qx = 0; qx < Q1D; ++qx) { sol[qz][qy][qx] += b(qz, dz) * xy[qy][qx]; }
   }
   for (int dz = 0; dz < D1D; ++dz)
      for (int dy = 0; dy < D1D; ++dy)
         for (int dx = 0; dx < D1D; ++dx)
         {
            double s = 0.0;
            for (int qz = 0; qz < Q1D; ++qz)
               for (int qy = 0; qy < Q1D; ++qy)
                  for (int qx = 0; qx < Q1D; ++qx)
                  {
                     s += b(qx, dx) * b(qy, dy) * b(qz, dz) * op(qx, qy, qz, e) * sol[qz][qy][qx];
                  }
            y(dx, dy, dz, e) = s;
         }
}

// --------------------------------------------------------------------- host
template <typename T> class Memory
{
   T *d = nullptr;
   size_t n = 0;
public:
   Memory() = default;
   explicit Memory(size_t n_) : n(n_) { PA_GPU_CHECK(cudaMalloc(&d, n * sizeof(T))); }
   Memory(const std::vector<T> &h) : Memory(h.size())
   {
      PA_GPU_CHECK(cudaMemcpy(d, h.data(), n * sizeof(T), cudaMemcpyHostToDevice));
   }
   Memory(Memory &&o) noexcept : d(o.d), n(o.n) { o.d = nullptr; o.n = 0; }
   Memory &operator=(Memory &&o) noexcept { std::swap(d, o.d); std::swap(n, o.n); return *this; }
   ~Memory() { cudaFree(d); }
   const T *Read() const { return d; }
   T *Write() { return d; }
   std::vector<T> HostRead() const
   {
      std::vector<T> h(n);
      PA_GPU_CHECK(cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost));
      return h;
   }
};

struct Mesh { int nx, ny, nz, p; int NE() const { return nx * ny * nz; } };

struct Operator
{
   Mesh mesh; int D1D, Q1D, ndofs;
   std::vector<int> gatherMap, offsets, indices;
   std::vector<double> B, G, D, M;     // B, G: Q1D x D1D column-major
   Memory<int> dMap, dOff, dIdx;
   Memory<double> dB, dG, dD, dM;
   Operator(Mesh m, int q1d) : mesh(m), D1D(m.p + 1), Q1D(q1d)
   {
      const int p = m.p, NX = m.nx * p + 1, NY = m.ny * p + 1, NZ = m.nz * p + 1, ne = m.NE();
      ndofs = NX * NY * NZ;
      for (int ez = 0; ez < m.nz; ez++) for (int ey = 0; ey < m.ny; ey++) for (int ex = 0; ex < m.nx; ex++)
         for (int k = 0; k <= p; k++) for (int j = 0; j <= p; j++) for (int i = 0; i <= p; i++)
            gatherMap.push_back(((ez * p + k) * NY + ey * p + j) * NX + ex * p + i);
      offsets.assign(ndofs + 1, 0);
      for (int g : gatherMap) offsets[g + 1]++;
      for (int i = 0; i < ndofs; i++) offsets[i + 1] += offsets[i];
      indices.resize(gatherMap.size());
      std::vector<int> fill(offsets.begin(), offsets.end() - 1);
      for (size_t i = 0; i < gatherMap.size(); i++) indices[fill[gatherMap[i]]++] = (int)i;
      // Lagrange basis on equispaced nodes at midpoint quadrature positions
      B.resize(Q1D * D1D); G.resize(Q1D * D1D);
      for (int q = 0; q < Q1D; q++) for (int a = 0; a < D1D; a++)
      {
         const double t = (q + 0.5) / Q1D;
         double v = 1, dv = 0;
         for (int c = 0; c < D1D; c++) if (c != a)
         {
            const double den = double(a - c) / p, f = (t - double(c) / p) / den;
            dv = dv * f + v / den;
            v *= f;
         }
         B[q + Q1D * a] = v; G[q + Q1D * a] = dv;
      }
      std::mt19937 rng(5 + p);
      std::uniform_real_distribution<double> U(-0.2, 0.2);
      const int nq = Q1D * Q1D * Q1D;
      D.resize((size_t)nq * 6 * ne); M.resize((size_t)nq * ne);
      for (int e = 0; e < ne; e++) for (int c = 0; c < 6; c++) for (int q = 0; q < nq; q++)
         D[((size_t)e * 6 + c) * nq + q] = ((c == 0 || c == 3 || c == 5) ? 1.0 : 0.0) + U(rng);
      for (auto &v : M) v = 1.0 + U(rng);
      dMap = Memory<int>(gatherMap); dOff = Memory<int>(offsets); dIdx = Memory<int>(indices);
      dB = Memory<double>(B); dG = Memory<double>(G); dD = Memory<double>(D); dM = Memory<double>(M);
   }
};

using KernelFn = std::function<void(int, const double *, const double *, const double *, const double *, double *)>;

template <int D, int Q> static KernelFn MakeKernel()
{
   return [](int NE, const double *b, const double *g, const double *d, const double *x, double *y)
   { SmemPADiffusionApply3D<D, Q><<<NE, dim3(Q, Q, Q)>>>(NE, b, g, d, x, y); };
}

static const std::map<int, KernelFn> &Registry()
{
   static const std::map<int, KernelFn> reg = {
      {0x23, MakeKernel<2, 3>()}, {0x34, MakeKernel<3, 4>()}, {0x45, MakeKernel<4, 5>()}, {0x56, MakeKernel<5, 6>()}};
   return reg;
}

struct AxpyBody
{
   double a; const double *x; double *y;
   __device__ void operator()(int i) const { y[i] += a * x[i]; }
};

static double BruteForce(const Operator &op, const std::vector<double> &x, int e, int a, double beta)
{
   // row `a` of element e: sum over quadrature points, no factorisation
   const int D1 = op.D1D, Q1 = op.Q1D, nd = D1 * D1 * D1, nq = Q1 * Q1 * Q1;
   auto b = [&](int q, int d) { return op.B[q + Q1 * d]; };
   auto g = [&](int q, int d) { return op.G[q + Q1 * d]; };
   double r = 0;
   for (int q = 0; q < nq; q++)
   {
      const int qx = q % Q1, qy = q / Q1 % Q1, qz = q / Q1 / Q1;
      double u = 0, gx = 0, gy = 0, gz = 0;
      for (int d = 0; d < nd; d++)
      {
         const int dx = d % D1, dy = d / D1 % D1, dz = d / D1 / D1;
         const double v = x[op.gatherMap[(size_t)e * nd + d]];
         u += v * b(qx, dx) * b(qy, dy) * b(qz, dz);
         gx += v * g(qx, dx) * b(qy, dy) * b(qz, dz);
         gy += v * b(qx, dx) * g(qy, dy) * b(qz, dz);
         gz += v * b(qx, dx) * b(qy, dy) * g(qz, dz);
      }
      const double *O = &op.D[(size_t)e * 6 * nq + q];
      const int ax = a % D1, ay = a / D1 % D1, az = a / D1 / D1;
      r += (O[0] * gx + O[nq] * gy + O[2 * nq] * gz) * g(qx, ax) * b(qy, ay) * b(qz, az)
         + (O[nq] * gx + O[3 * nq] * gy + O[4 * nq] * gz) * b(qx, ax) * g(qy, ay) * b(qz, az)
         + (O[2 * nq] * gx + O[4 * nq] * gy + O[5 * nq] * gz) * b(qx, ax) * b(qy, ay) * g(qz, az)
         + beta * op.M[(size_t)e * nq + q] * u * b(qx, ax) * b(qy, ay) * b(qz, az);
   }
   return r;
}

int main()
{
   bool ok = true;
   for (const Mesh &m : {Mesh{10, 9, 8, 1}, Mesh{7, 7, 6, 2}, Mesh{6, 5, 5, 3}, Mesh{4, 4, 5, 4}})
   {
      Operator op(m, m.p + 2);
      const int ne = m.NE(), nd = op.D1D * op.D1D * op.D1D, elems = ne * nd, TB = 256;
      std::vector<double> x(op.ndofs);
      std::mt19937 rng(1);
      for (auto &v : x) v = rng() / 4294967296.0 - 0.5;
      Memory<double> dx(x), xe(elems), ye(elems), me(elems), y(op.ndofs);
      const double beta = 0.75;
      Gather<<<(elems + TB - 1) / TB, TB>>>(elems, op.dMap.Read(), dx.Read(), xe.Write());
      auto it = Registry().find((op.D1D << 4) | op.Q1D);
      if (it == Registry().end()) { throw std::runtime_error("no kernel for D1D " + std::to_string(op.D1D)); }
      it->second(ne, op.dB.Read(), op.dG.Read(), op.dD.Read(), xe.Read(), ye.Write());
      PAMassApply3DElementwise<<<(ne + 63) / 64, 64>>>(ne, op.D1D, op.Q1D, op.dB.Read(), op.dM.Read(), xe.Read(), me.Write());
      CuWrap1D<<<(elems + TB - 1) / TB, TB>>>(elems, AxpyBody{beta, me.Read(), ye.Write()});
      ScatterSum<<<(op.ndofs + TB - 1) / TB, TB>>>(op.ndofs, op.dOff.Read(), op.dIdx.Read(), ye.Read(), y.Write());
      PA_GPU_CHECK(cudaGetLastError());
      PA_GPU_CHECK(cudaDeviceSynchronize());
      const auto hy = y.HostRead();
      double worst = 0;
      for (int t = 0; t < 150; t++)
      {
         const int dof = rng() % op.ndofs;
         double want = 0;
         for (int j = op.offsets[dof]; j < op.offsets[dof + 1]; j++)
         {
            want += BruteForce(op, x, op.indices[j] / nd, op.indices[j] % nd, beta);
         }
         worst = std::fmax(worst, std::fabs(want - hy[dof]) / (1.0 + std::fabs(want)));
      }
      std::printf("p=%d elements=%d dofs=%d worst=%.2e\n", m.p, ne, op.ndofs, worst);
      ok &= worst < 1e-10;
   }
   std::printf("%s\n", ok ? "PASS" : "FAIL");
   return ok ? 0 : 1;
}
