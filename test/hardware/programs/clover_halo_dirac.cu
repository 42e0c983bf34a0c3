/**
   @file clover_halo_dirac.cu

   Site-diagonal parts of a clover-improved fermion operator:
     - clover term: two 6x6 Hermitian chiral blocks per site, packed as 6 real diagonals + 15 complex
     - general gamma matrix application from a constant table (permutation and power of i)
     - spin-projected halo packing (1 -/+ gamma_mu) into contiguous face buffers
     - gamma_5 inner product

   Fields are stored in float4-ordered "native" layout: field[(component/4) * volume + site], component = complex
   spin-colour index times two plus re/im.
*/
#include <cuda_runtime.h>

#include <array>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace lattice
{

  constexpr int nSpin = 4, nColor = 3, spinorReal = 24, cloverReal = 72;

  using cplx = std::complex<float>;

  void errorLattice(const char *msg, const char *detail)
  {
    fprintf(stderr, "ERROR: %s (%s)\n", msg, detail);
    exit(1);
  }
#define checkLattice(x)                                                                                                \
  do {                                                                                                                 \
    cudaError_t e = (x);                                                                                               \
    if (e != cudaSuccess) ::lattice::errorLattice(#x, cudaGetErrorString(e));                                        \
  } while (0)

  // gamma_mu psi (s) = i^phase[s] psi(perm[s]);  index 4 is gamma_5
  struct GammaTable {
    int perm[5][4];
    int phase[5][4];
  };
  __constant__ GammaTable gammaTable;

  constexpr GammaTable chiralBasis = {
    {{3, 2, 1, 0}, {3, 2, 1, 0}, {2, 3, 0, 1}, {2, 3, 0, 1}, {0, 1, 2, 3}},
    {{1, 1, 3, 3}, {2, 0, 0, 2}, {1, 3, 3, 1}, {0, 0, 0, 0}, {0, 0, 2, 2}}};

  __host__ __device__ inline float2 rotate(float2 a, int phase)
  {
    switch (phase & 3) {
    case 0: return a;
    case 1: return make_float2(-a.y, a.x);
    case 2: return make_float2(-a.x, -a.y);
    default: return make_float2(a.y, -a.x);
    }
  }

  struct SpinorField {
    float4 *v;
    int volume;
    __device__ void load(float2 (&psi)[12], int x) const
    {
#pragma unroll
      for (int i = 0; i < spinorReal / 4; i++) {
        const float4 t = v[i * volume + x];
        psi[2 * i] = make_float2(t.x, t.y);
        psi[2 * i + 1] = make_float2(t.z, t.w);
      }
    }
    __device__ void save(const float2 (&psi)[12], int x)
    {
#pragma unroll
      for (int i = 0; i < spinorReal / 4; i++)
        v[i * volume + x] = make_float4(psi[2 * i].x, psi[2 * i].y, psi[2 * i + 1].x, psi[2 * i + 1].y);
    }
  };

  struct CloverField {
    const float4 *v;
    int volume;
    __device__ void load(float (&block)[36], int x, int chirality) const
    {
#pragma unroll
      for (int i = 0; i < 9; i++) {
        const float4 t = v[(chirality * 9 + i) * volume + x];
        block[4 * i] = t.x;
        block[4 * i + 1] = t.y;
        block[4 * i + 2] = t.z;
        block[4 * i + 3] = t.w;
      }
    }
  };

  struct DiracArg {
    SpinorField out, in;
    CloverField clover;
    float mu; // twisted mass, enters with i mu gamma_5
    int dim[4];
  };

  // lower triangle, row by row: (1,0) (2,0) (2,1) ...
  __host__ __device__ constexpr int packed(int row, int col) { return 6 + 2 * (row * (row - 1) / 2 + col); }

  __global__ void cloverApply(DiracArg arg)
  {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= arg.in.volume) return;
    float2 psi[12], chi[12];
    arg.in.load(psi, x);
#pragma unroll
    for (int ch = 0; ch < 2; ch++) {
      float A[36];
      arg.clover.load(A, x, ch);
      const float tw = ch == 0 ? arg.mu : -arg.mu;
#pragma unroll
      for (int r = 0; r < 6; r++) {
        float2 s = make_float2(A[r] * psi[ch * 6 + r].x - tw * psi[ch * 6 + r].y,
                               A[r] * psi[ch * 6 + r].y + tw * psi[ch * 6 + r].x);
#pragma unroll
        for (int c = 0; c < 6; c++) {
          if (c == r) continue;
          const int k = c < r ? packed(r, c) : packed(c, r);
          const float re = A[k], im = c < r ? A[k + 1] : -A[k + 1];
          const float2 p = psi[ch * 6 + c];
          s.x += re * p.x - im * p.y;
          s.y += re * p.y + im * p.x;
        }
        chi[ch * 6 + r] = s;
      }
    }
    arg.out.save(chi, x);
  }

  // thread per (site, colour); spinor index is spin*3+colour, table in constant memory
  __global__ void gammaApply(DiracArg arg, int mu)
  {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int c = threadIdx.y;
    if (x >= arg.in.volume) return;
    const float2 *in = reinterpret_cast<const float2 *>(arg.in.v);
    float2 *out = reinterpret_cast<float2 *>(arg.out.v);
    const int V = arg.in.volume;
    for (int s = 0; s < nSpin; s++) {
      const int from = gammaTable.perm[mu][s] * nColor + c, to = s * nColor + c;
      const float2 a = in[((from / 2) * V + x) * 2 + (from & 1)];
      out[((to / 2) * V + x) * 2 + (to & 1)] = rotate(a, gammaTable.phase[mu][s]);
    }
  }

  // Face of dimension d: sites with x_d = 0 (dir 0) or x_d = L-1 (dir 1). Half spinors, face-site fastest.
  __global__ void packFace(DiracArg arg, float4 *halo, int d, int faceVolume)
  {
    const int idx = blockIdx.x * blockDim.x + threadIdx.x;
    const int dir = blockIdx.y;
    if (idx >= faceVolume) return;
    int rest = idx, x = 0, stride = 1;
    for (int k = 0; k < 4; k++) {
      int coord;
      if (k == d) {
        coord = dir ? arg.dim[d] - 1 : 0;
      } else {
        coord = rest % arg.dim[k];
        rest /= arg.dim[k];
      }
      x += coord * stride;
      stride *= arg.dim[k];
    }
    float2 psi[12], half[6];
    arg.in.load(psi, x);
    const float sign = dir ? -1.f : 1.f;
#pragma unroll
    for (int s = 0; s < 2; s++) {
      const int phase = gammaTable.phase[d][s];
      const int from = gammaTable.perm[d][s]; // always 2 or 3 for s = 0, 1
#pragma unroll
      for (int c = 0; c < nColor; c++) {
        const float2 lower = from == 2 ? psi[6 + c] : psi[9 + c];
        const float2 g = rotate(lower, phase);
        half[s * nColor + c] = make_float2(psi[s * nColor + c].x + sign * g.x, psi[s * nColor + c].y + sign * g.y);
      }
    }
    float4 *dst = halo + (size_t)dir * 3 * faceVolume;
#pragma unroll
    for (int i = 0; i < 3; i++)
      dst[i * faceVolume + idx] = make_float4(half[2 * i].x, half[2 * i].y, half[2 * i + 1].x, half[2 * i + 1].y);
  }

  template <int block> __global__ void gamma5Dot(SpinorField a, SpinorField b, double2 *result)
  {
    __shared__ double2 part[block];
    double2 sum = make_double2(0, 0);
    for (int i = blockIdx.x * block + threadIdx.x; i < 6 * a.volume; i += gridDim.x * block) {
      const float4 p = a.v[i], q = b.v[i];
      const double g = i / a.volume < 3 ? 1.0 : -1.0; // components 0..11 are upper spins
      sum.x += g * ((double)p.x * q.x + (double)p.y * q.y + (double)p.z * q.z + (double)p.w * q.w);
      sum.y += g * ((double)p.x * q.y - (double)p.y * q.x + (double)p.z * q.w - (double)p.w * q.z);
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = 1; s < block; s *= 2) {
      const int i = 2 * s * threadIdx.x;
      if (i < block) {
        part[i].x += part[i + s].x;
        part[i].y += part[i + s].y;
      }
      __syncthreads();
    }
    if (threadIdx.x == 0) {
      atomicAdd(&result->x, part[0].x);
      atomicAdd(&result->y, part[0].y);
    }
  }

} // namespace lattice

using namespace lattice;

int main(int argc, char **argv)
{
  const int L = argc > 1 ? atoi(argv[1]) : 8, T = argc > 2 ? atoi(argv[2]) : 16;
  const int dim[4] = {L, L, L, T}, V = L * L * L * T;
  std::mt19937 rng(1234);
  std::normal_distribution<float> g(0.f, 1.f);
  std::vector<std::array<cplx, 12>> psi(V);
  std::vector<std::array<float, cloverReal>> clover(V);
  for (auto &site : psi)
    for (auto &c : site) c = {g(rng), g(rng)};
  for (auto &site : clover)
    for (int i = 0; i < cloverReal; i++) site[i] = 0.2f * g(rng) + (i % 36 < 6 ? 1.f : 0.f);

  // host site-major -> native order
  std::vector<float4> spinorNative(6 * V), cloverNative(18 * V);
  for (int x = 0; x < V; x++) {
    for (int i = 0; i < 6; i++)
      spinorNative[i * V + x] = {psi[x][2 * i].real(), psi[x][2 * i].imag(), psi[x][2 * i + 1].real(), psi[x][2 * i + 1].imag()};
    for (int i = 0; i < 18; i++)
      cloverNative[i * V + x] = {clover[x][4 * i], clover[x][4 * i + 1], clover[x][4 * i + 2], clover[x][4 * i + 3]};
  }
  float4 *d_in, *d_out, *d_gam, *d_clover, *d_halo;
  double2 *d_dot;
  const size_t sb = spinorNative.size() * sizeof(float4);
  checkLattice(cudaMalloc(&d_in, sb));
  checkLattice(cudaMalloc(&d_out, sb));
  checkLattice(cudaMalloc(&d_gam, sb));
  checkLattice(cudaMalloc(&d_clover, cloverNative.size() * sizeof(float4)));
  checkLattice(cudaMalloc(&d_dot, sizeof(double2)));
  checkLattice(cudaMemcpy(d_in, spinorNative.data(), sb, cudaMemcpyHostToDevice));
  checkLattice(cudaMemcpy(d_clover, cloverNative.data(), cloverNative.size() * sizeof(float4), cudaMemcpyHostToDevice));
  checkLattice(cudaMemset(d_dot, 0, sizeof(double2)));
  checkLattice(cudaMemcpyToSymbol(gammaTable, &chiralBasis, sizeof(GammaTable)));

  DiracArg arg {{d_out, V}, {d_in, V}, {d_clover, V}, 0.17f, {L, L, L, T}};
  cloverApply<<<(V + 127) / 128, 128>>>(arg);
  checkLattice(cudaGetLastError());
  std::vector<float4> out(6 * V), gam(6 * V);
  checkLattice(cudaMemcpy(out.data(), d_out, sb, cudaMemcpyDeviceToHost));

  auto component = [V](const std::vector<float4> &f, int x, int k) {
    const float4 t = f[(k / 2) * V + x];
    return k & 1 ? cplx(t.z, t.w) : cplx(t.x, t.y);
  };
  const cplx iPow[4] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  double err = 0;
  std::complex<double> dotRef = 0;
  for (int x = 0; x < V; x++)
    for (int ch = 0; ch < 2; ch++)
      for (int r = 0; r < 6; r++) {
        const std::complex<double> diag(clover[x][ch * 36 + r], ch ? -0.17f : 0.17f);
        std::complex<double> s = diag * std::complex<double>(psi[x][ch * 6 + r]);
        for (int c = 0; c < 6; c++) {
          if (c == r) continue;
          const int k = ch * 36 + (c < r ? packed(r, c) : packed(c, r));
          std::complex<double> a(clover[x][k], clover[x][k + 1]);
          s += (c < r ? a : std::conj(a)) * std::complex<double>(psi[x][ch * 6 + c]);
        }
        const std::complex<double> o = component(out, x, ch * 6 + r);
        err = std::max(err, std::abs(s - o));
        dotRef += (ch ? -1.0 : 1.0) * std::conj(std::complex<double>(psi[x][ch * 6 + r])) * o;
      }

  DiracArg garg = arg;
  garg.out.v = d_gam;
  double gammaErr = 0, haloErr = 0;
  for (int mu = 0; mu < 5; mu++) {
    gammaApply<<<(V + 63) / 64, dim3(64, nColor)>>>(garg, mu);
    checkLattice(cudaMemcpy(gam.data(), d_gam, sb, cudaMemcpyDeviceToHost));
    for (int x = 0; x < V; x++)
      for (int k = 0; k < 12; k++) {
        const int s = k / 3;
        const cplx ref = iPow[chiralBasis.phase[mu][s]] * psi[x][chiralBasis.perm[mu][s] * 3 + k % 3];
        gammaErr = std::max(gammaErr, (double)std::abs(ref - component(gam, x, k)));
      }
  }
  checkLattice(cudaMalloc(&d_halo, (size_t)2 * 3 * V / L * sizeof(float4)));
  for (int d = 0; d < 4; d++) {
    const int F = V / dim[d];
    packFace<<<dim3((F + 63) / 64, 2), 64>>>(arg, d_halo, d, F);
    std::vector<float4> halo(2 * 3 * F);
    checkLattice(cudaMemcpy(halo.data(), d_halo, halo.size() * sizeof(float4), cudaMemcpyDeviceToHost));
    int below = 1;
    for (int k = 0; k < d; k++) below *= dim[k];
    for (int dir = 0; dir < 2; dir++)
      for (int f = 0; f < F; f++) {
        const int x = f % below + below * ((dir ? dim[d] - 1 : 0) + dim[d] * (f / below));
        for (int k = 0; k < 6; k++) {
          const int s = k / 3;
          const cplx gp = iPow[chiralBasis.phase[d][s]] * psi[x][chiralBasis.perm[d][s] * 3 + k % 3];
          const cplx ref = psi[x][k] + (dir ? -1.f : 1.f) * gp;
          const float4 t = halo[(dir * 3 + k / 2) * F + f];
          haloErr = std::max(haloErr, (double)std::abs(ref - (k & 1 ? cplx(t.z, t.w) : cplx(t.x, t.y))));
        }
      }
  }
  gamma5Dot<128><<<48, 128>>>({d_in, V}, {d_out, V}, d_dot);
  double2 dot;
  checkLattice(cudaMemcpy(&dot, d_dot, sizeof(dot), cudaMemcpyDeviceToHost));
  const double dotErr = std::abs(dotRef - std::complex<double>(dot.x, dot.y)) / std::abs(dotRef);
  printf("lattice %dx%dx%dx%d clover %.2e gamma %.2e halo %.2e dot %.2e\n", L, L, L, T, err, gammaErr, haloErr, dotErr);
  const bool pass = err < 1e-4 && gammaErr == 0 && haloErr < 1e-6 && dotErr < 1e-10;
  printf("%s\n", pass ? "PASS" : "FAIL");
  cudaFree(d_in), cudaFree(d_out), cudaFree(d_gam), cudaFree(d_clover), cudaFree(d_halo), cudaFree(d_dot);
  return pass ? 0 : 1;
}
