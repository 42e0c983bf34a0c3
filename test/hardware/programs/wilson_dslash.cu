// wilson_dslash.cu - Wilson hopping term on a 4-d lattice, DeGrand-Rossi basis.
//
// Fields use the blocked float4 order: element j of a site lives at field[j*stride + site],
// which lets every thread fetch its spinor in six (gauge: 5 with padding) 16-byte pieces.
// The accessors hide the order from the kernels; a naive AoS accessor is kept for comparison.

#include <complex>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define checkCudaErrorInline()                                                        \
  do {                                                                                \
    cudaError_t error = cudaGetLastError();                                           \
    if (error != cudaSuccess) {                                                       \
      printf("(CUDA) %s (%s:%d)\n", cudaGetErrorString(error), __FILE__, __LINE__);   \
      exit(1);                                                                        \
    }                                                                                 \
  } while (0)

namespace quda_like {

  constexpr int Nc = 3;
  constexpr int Ns = 4;

  template <typename real> struct complex {
    real x, y;
    __device__ __host__ inline complex(real x = 0, real y = 0) : x(x), y(y) { }
    __device__ __host__ inline complex &operator+=(const complex &a) { x += a.x; y += a.y; return *this; }
  };
  template <typename real> __device__ __host__ inline complex<real> operator+(complex<real> a, complex<real> b) { return {a.x + b.x, a.y + b.y}; }
  template <typename real> __device__ __host__ inline complex<real> operator-(complex<real> a, complex<real> b) { return {a.x - b.x, a.y - b.y}; }
  template <typename real> __device__ __host__ inline complex<real> operator*(real s, complex<real> b) { return {s * b.x, s * b.y}; }
  template <typename real> __device__ __host__ inline complex<real> i_(complex<real> a) { return {-a.y, a.x}; }
  template <typename real> __device__ __host__ inline void cmac(complex<real> a, complex<real> b, complex<real> &c)
  {
    c.x += a.x * b.x; c.x -= a.y * b.y;
    c.y += a.x * b.y; c.y += a.y * b.x;
  }

  template <typename real, int ns> struct ColorSpinor {
    complex<real> data[ns * Nc];
    __device__ __host__ inline complex<real> &operator()(int s, int c) { return data[s * Nc + c]; }
    __device__ __host__ inline const complex<real> &operator()(int s, int c) const { return data[s * Nc + c]; }
  };

  template <typename real> struct Matrix {
    complex<real> data[Nc * Nc];
    __device__ __host__ inline complex<real> &operator()(int i, int j) { return data[i * Nc + j]; }
    __device__ __host__ inline const complex<real> &operator()(int i, int j) const { return data[i * Nc + j]; }
  };

  // 24 reals = 6 x float4
  struct SpinorFloat4 {
    float4 *field;
    int stride;
    __device__ inline void load(ColorSpinor<float, 4> &v, int x) const
    {
#pragma unroll
      for (int i = 0; i < 6; i++) {
        float4 t = field[x + stride * i];
        v.data[2 * i] = {t.x, t.y};
        v.data[2 * i + 1] = {t.z, t.w};
      }
    }
    __device__ inline void save(const ColorSpinor<float, 4> &v, int x) const
    {
#pragma unroll
      for (int i = 0; i < 6; i++)
        field[x + stride * i] = make_float4(v.data[2 * i].x, v.data[2 * i].y, v.data[2 * i + 1].x, v.data[2 * i + 1].y);
    }
  };

  struct SpinorNaive {
    float *field;
    int stride;
    __device__ inline void load(ColorSpinor<float, 4> &v, int x) const
    {
      for (int i = 0; i < Ns * Nc; i++) v.data[i] = {field[(x * Ns * Nc + i) * 2], field[(x * Ns * Nc + i) * 2 + 1]};
    }
    __device__ inline void save(const ColorSpinor<float, 4> &v, int x) const
    {
      for (int i = 0; i < Ns * Nc; i++) {
        field[(x * Ns * Nc + i) * 2] = v.data[i].x;
        field[(x * Ns * Nc + i) * 2 + 1] = v.data[i].y;
      }
    }
  };

  // reconstruct-12: only two rows stored (3 x float4 per link), third row from unitarity
  struct GaugeRecon12 {
    const float4 *field;
    int stride;
    __device__ inline void load(Matrix<float> &u, int x, int dir) const
    {
      const float4 *f = field + dir * 3 * stride;
#pragma unroll
      for (int i = 0; i < 3; i++) {
        float4 t = __ldg(&f[x + i * stride]);
        u.data[2 * i] = {t.x, t.y};
        u.data[2 * i + 1] = {t.z, t.w};
      }
#pragma unroll
      for (int j = 0; j < 3; j++) {
        const int a = (j + 1) % 3, b = (j + 2) % 3;
        complex<float> r;
        cmac(u(0, a), u(1, b), r);
        complex<float> m;
        cmac(u(0, b), u(1, a), m);
        r = r - m;
        u(2, j) = {r.x, -r.y};
      }
    }
  };

  template <typename Spinor> struct DslashArg {
    Spinor out, in, x;
    GaugeRecon12 U;
    int X[4];
    int volume;
    float kappa;
    DslashArg(Spinor out, Spinor in, Spinor x, GaugeRecon12 U, const int *X_, float kappa) :
      out(out), in(in), x(x), U(U), kappa(kappa)
    {
      volume = 1;
      for (int d = 0; d < 4; d++) { X[d] = X_[d]; volume *= X_[d]; }
    }
  };

  // h = upper half of (1 + s gamma_dim) psi
  template <int dim, int s> __device__ inline ColorSpinor<float, 2> project(const ColorSpinor<float, 4> &p)
  {
    ColorSpinor<float, 2> h;
    const float sg = s;
#pragma unroll
    for (int c = 0; c < Nc; c++) {
      if (dim == 0) { h(0, c) = p(0, c) + sg * i_(p(3, c)); h(1, c) = p(1, c) + sg * i_(p(2, c)); }
      if (dim == 1) { h(0, c) = p(0, c) - sg * p(3, c);     h(1, c) = p(1, c) + sg * p(2, c); }
      if (dim == 2) { h(0, c) = p(0, c) + sg * i_(p(2, c)); h(1, c) = p(1, c) - sg * i_(p(3, c)); }
      if (dim == 3) { h(0, c) = p(0, c) + sg * p(2, c);     h(1, c) = p(1, c) + sg * p(3, c); }
    }
    return h;
  }

  template <int dim, int s> __device__ inline void reconstruct(ColorSpinor<float, 4> &o, const ColorSpinor<float, 2> &h)
  {
    const float sg = s;
#pragma unroll
    for (int c = 0; c < Nc; c++) {
      o(0, c) += h(0, c);
      o(1, c) += h(1, c);
      if (dim == 0) { o(2, c) += -sg * i_(h(1, c)); o(3, c) += -sg * i_(h(0, c)); }
      if (dim == 1) { o(2, c) += sg * h(1, c);      o(3, c) += -sg * h(0, c); }
      if (dim == 2) { o(2, c) += -sg * i_(h(0, c)); o(3, c) += sg * i_(h(1, c)); }
      if (dim == 3) { o(2, c) += sg * h(0, c);      o(3, c) += sg * h(1, c); }
    }
  }

  template <bool dagger> __device__ inline ColorSpinor<float, 2> mul(const Matrix<float> &u, const ColorSpinor<float, 2> &h)
  {
    ColorSpinor<float, 2> r;
#pragma unroll
    for (int s = 0; s < 2; s++)
#pragma unroll
      for (int i = 0; i < Nc; i++)
#pragma unroll
        for (int j = 0; j < Nc; j++) {
          complex<float> e = dagger ? u(j, i) : u(i, j);
          if (dagger) e.y = -e.y;
          cmac(e, h(s, j), r(s, i));
        }
    return r;
  }

  template <int dim, typename Arg> __device__ inline void applyDirection(ColorSpinor<float, 4> &acc, const Arg &arg, const int *coord, int idx)
  {
    int stride = 1;
#pragma unroll
    for (int d = 0; d < dim; d++) stride *= arg.X[d];
    Matrix<float> U;
    ColorSpinor<float, 4> psi;
    {
      int fwd = coord[dim] == arg.X[dim] - 1 ? idx - (arg.X[dim] - 1) * stride : idx + stride;
      arg.in.load(psi, fwd);
      arg.U.load(U, idx, dim);
      reconstruct<dim, -1>(acc, mul<false>(U, project<dim, -1>(psi)));
    }
    {
      int back = coord[dim] == 0 ? idx + (arg.X[dim] - 1) * stride : idx - stride;
      arg.in.load(psi, back);
      arg.U.load(U, back, dim);
      reconstruct<dim, +1>(acc, mul<true>(U, project<dim, +1>(psi)));
    }
  }

  // out = x - kappa * D in
  template <typename Spinor> __global__ void __launch_bounds__(192) wilsonDslashKernel(DslashArg<Spinor> arg)
  {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= arg.volume) return;
    int coord[4];
    int za = idx / arg.X[0];
    coord[0] = idx - za * arg.X[0];
    int zb = za / arg.X[1];
    coord[1] = za - zb * arg.X[1];
    coord[3] = zb / arg.X[2];
    coord[2] = zb - coord[3] * arg.X[2];

    ColorSpinor<float, 4> acc;
    applyDirection<0>(acc, arg, coord, idx);
    applyDirection<1>(acc, arg, coord, idx);
    applyDirection<2>(acc, arg, coord, idx);
    applyDirection<3>(acc, arg, coord, idx);

    ColorSpinor<float, 4> x;
    arg.x.load(x, idx);
#pragma unroll
    for (int i = 0; i < Ns * Nc; i++) acc.data[i] = x.data[i] + (-arg.kappa) * acc.data[i];
    arg.out.save(acc, idx);
  }

  __global__ void convertOrderKernel(SpinorFloat4 out, SpinorNaive in, int volume)
  {
    for (int x = blockIdx.x * blockDim.x + threadIdx.x; x < volume; x += gridDim.x * blockDim.x) {
      ColorSpinor<float, 4> v;
      in.load(v, x);
      out.save(v, x);
    }
  }

  // y += a*x, returns partial |y|^2 per block
  template <int block_size> __global__ void axpyNorm2Kernel(float a, const float4 *x, float4 *y, int length, double *partial)
  {
    double sum = 0.0;
    for (int i = blockIdx.x * block_size + threadIdx.x; i < length; i += gridDim.x * block_size) {
      float4 X = x[i], Y = y[i];
      Y.x += a * X.x; Y.y += a * X.y; Y.z += a * X.z; Y.w += a * X.w;
      sum += (double)Y.x * Y.x + (double)Y.y * Y.y + (double)Y.z * Y.z + (double)Y.w * Y.w;
      y[i] = Y;
    }
    __shared__ double s[block_size / 32];
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, o);
    if ((threadIdx.x & 31) == 0) s[threadIdx.x >> 5] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int i = 1; i < block_size / 32; i++) sum += s[i];
      partial[blockIdx.x] = sum;
    }
  }

} // namespace quda_like

using namespace quda_like;
typedef std::complex<double> Cd;

int main()
{
  const int X[4] = {8, 8, 8, 16};
  const int V = X[0] * X[1] * X[2] * X[3], stride = V + 64; // pad
  const float kappa = 0.12f, a = -0.37f;

  std::mt19937 rng(11);
  std::normal_distribution<double> gauss;
  std::vector<float> spinor(V * 24), gauge(3 * 4 * stride * 4, 0.f);
  std::vector<Cd> U((size_t)V * 4 * 9);
  for (auto &s : spinor) s = gauss(rng);
  for (int d = 0; d < 4; d++)
    for (int x = 0; x < V; x++) {
      Cd r[3][3];
      for (int i = 0; i < 2; i++) for (int j = 0; j < 3; j++) r[i][j] = Cd(gauss(rng), gauss(rng));
      double n0 = 0;
      for (auto &z : r[0]) n0 += std::norm(z);
      for (auto &z : r[0]) z /= sqrt(n0);
      Cd ov = 0;
      for (int j = 0; j < 3; j++) ov += std::conj(r[0][j]) * r[1][j];
      double n1 = 0;
      for (int j = 0; j < 3; j++) { r[1][j] -= ov * r[0][j]; n1 += std::norm(r[1][j]); }
      for (auto &z : r[1]) z /= sqrt(n1);
      for (int j = 0; j < 3; j++) r[2][j] = std::conj(r[0][(j + 1) % 3] * r[1][(j + 2) % 3] - r[0][(j + 2) % 3] * r[1][(j + 1) % 3]);
      for (int i = 0; i < 9; i++) U[((size_t)d * V + x) * 9 + i] = r[i / 3][i % 3];
      for (int i = 0; i < 6; i++) { // 12 reals in 3 float4
        size_t base = ((size_t)(d * 3 + i / 2) * stride + x) * 4 + (i % 2) * 2;
        gauge[base] = r[i / 3][i % 3].real();
        gauge[base + 1] = r[i / 3][i % 3].imag();
      }
    }

  float *d_naive_in, *d_naive_out;
  float4 *d_in, *d_out, *d_gauge;
  double *d_partial;
  cudaMalloc(&d_naive_in, V * 24 * sizeof(float));
  cudaMalloc(&d_naive_out, V * 24 * sizeof(float));
  cudaMalloc(&d_in, 6 * stride * sizeof(float4));
  cudaMalloc(&d_out, 6 * stride * sizeof(float4));
  cudaMalloc(&d_gauge, gauge.size() * sizeof(float));
  cudaMalloc(&d_partial, 64 * sizeof(double));
  cudaMemset(d_in, 0, 6 * stride * sizeof(float4));
  cudaMemset(d_out, 0, 6 * stride * sizeof(float4));
  cudaMemcpy(d_naive_in, spinor.data(), spinor.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(d_gauge, gauge.data(), gauge.size() * sizeof(float), cudaMemcpyHostToDevice);
  checkCudaErrorInline();

  SpinorNaive nin{d_naive_in, V}, nout{d_naive_out, V};
  SpinorFloat4 fin{d_in, stride}, fout{d_out, stride};
  GaugeRecon12 links{d_gauge, stride};
  convertOrderKernel<<<32, 128>>>(fin, nin, V);
  DslashArg<SpinorFloat4> arg(fout, fin, fin, links, X, kappa);
  wilsonDslashKernel<<<(V + 191) / 192, 192>>>(arg);
  DslashArg<SpinorNaive> narg(nout, nin, nin, links, X, kappa);
  wilsonDslashKernel<<<(V + 63) / 64, 64>>>(narg);
  checkCudaErrorInline();

  std::vector<float> out(24 * (size_t)stride), nres(V * 24);
  cudaMemcpy(out.data(), d_out, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
  cudaMemcpy(nres.data(), d_naive_out, nres.size() * sizeof(float), cudaMemcpyDeviceToHost);
  axpyNorm2Kernel<256><<<48, 256>>>(a, d_in, d_out, 6 * stride, d_partial);
  std::vector<double> partial(48);
  cudaMemcpy(partial.data(), d_partial, 48 * sizeof(double), cudaMemcpyDeviceToHost);
  checkCudaErrorInline();

  // reference with explicit gamma matrices: (gamma psi)_r = coef[r] psi_{col[r]}
  const int col[4][4] = {{3, 2, 1, 0}, {3, 2, 1, 0}, {2, 3, 0, 1}, {2, 3, 0, 1}};
  const Cd I(0, 1);
  const Cd coef[4][4] = {{I, I, -I, -I}, {-1, 1, 1, -1}, {I, -I, -I, I}, {1, 1, 1, 1}};
  double max_dev = 0, norm2 = 0;
  for (int x = 0; x < V; x++) {
    Cd acc[4][3] = {};
    int st = 1;
    for (int d = 0; d < 4; d++) {
      int c = (x / st) % X[d];
      for (int dir = 0; dir < 2; dir++) {
        int nb = dir == 0 ? (c == X[d] - 1 ? x - (X[d] - 1) * st : x + st) : (c == 0 ? x + (X[d] - 1) * st : x - st);
        const Cd *u = &U[((size_t)d * V + (dir ? nb : x)) * 9];
        double s = dir ? 1 : -1;
        for (int r = 0; r < 4; r++) {
          Cd p[3];
          for (int k = 0; k < 3; k++) {
            const float *q0 = &spinor[(nb * 12 + r * 3 + k) * 2], *q1 = &spinor[(nb * 12 + col[d][r] * 3 + k) * 2];
            p[k] = Cd(q0[0], q0[1]) + s * coef[d][r] * Cd(q1[0], q1[1]);
          }
          for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) acc[r][i] += (dir ? std::conj(u[j * 3 + i]) : u[i * 3 + j]) * p[j];
        }
      }
      st *= X[d];
    }
    for (int i = 0; i < 12; i++) {
      Cd in(spinor[(x * 12 + i) * 2], spinor[(x * 12 + i) * 2 + 1]);
      Cd ref = in - (double)kappa * acc[i / 3][i % 3];
      const float *o = &out[((size_t)(i / 2) * stride + x) * 4 + (i % 2) * 2];
      max_dev = std::max(max_dev, std::abs(ref - Cd(o[0], o[1])));
      max_dev = std::max(max_dev, std::abs(ref - Cd(nres[(x * 12 + i) * 2], nres[(x * 12 + i) * 2 + 1])));
      norm2 += std::norm(ref + (double)a * in);
    }
  }
  double dnorm2 = 0;
  for (double p : partial) dnorm2 += p;
  printf("max deviation %e, |r|^2 device %.8e host %.8e\n", max_dev, dnorm2, norm2);
  bool pass = max_dev < 2e-5 && fabs(dnorm2 - norm2) < 1e-5 * norm2;
  printf("%s\n", pass ? "PASS" : "FAIL");
  return pass ? 0 : 1;
}
