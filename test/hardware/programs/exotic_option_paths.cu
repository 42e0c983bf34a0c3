// Path-dependent option pricing.  Counter-based generator (Philox 4x32-10) so
// host and device see identical randoms; path storage layout is a policy.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <numeric>
#include <algorithm>
#include <cuda_runtime.h>

#define cudaOk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line)
{
   if (code != cudaSuccess)
   {
      fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
      exit(code);
   }
}

struct MarketData
{
   float spot;
   float rate;
   float sigma;
   float maturity;
   float strike;
   float barrier;
   int   nSteps;
};

__constant__ MarketData mkt;

template <int Rounds>
struct Philox
{
   __host__ __device__ static uint4 draw(uint4 ctr, uint2 key)
   {
      for (int r = 0; r < Rounds; ++r)
      {
         uint64_t p0 = (uint64_t)0xD2511F53u * ctr.x;
         uint64_t p1 = (uint64_t)0xCD9E8D57u * ctr.z;
         uint4 nxt;
         nxt.x = (uint32_t)(p1 >> 32) ^ ctr.y ^ key.x;
         nxt.y = (uint32_t)p1;
         nxt.z = (uint32_t)(p0 >> 32) ^ ctr.w ^ key.y;
         nxt.w = (uint32_t)p0;
         ctr = nxt;
         key.x += 0x9E3779B9u;
         key.y += 0xBB67AE85u;
      }
      return ctr;
   }
};

__host__ __device__ inline float toUniform(uint32_t u)
{
   return ((u >> 8) + 0.5f) * (1.0f / 16777216.0f);
}

__host__ __device__ inline float4 fourNormals(uint32_t path, uint32_t block)
{
   uint4 u = Philox<10>::draw(make_uint4(path, block, 0u, 0u), make_uint2(2024u, 7u));
   float r0 = sqrtf(-2.0f * logf(toUniform(u.x)));
   float r1 = sqrtf(-2.0f * logf(toUniform(u.z)));
   float a0 = 6.28318531f * toUniform(u.y);
   float a1 = 6.28318531f * toUniform(u.w);
   return make_float4(r0 * cosf(a0), r0 * sinf(a0), r1 * cosf(a1), r1 * sinf(a1));
}

// -- layouts -----------------------------------------------------------------
struct TimeMajor       // paths[t][p]
{
   int nPaths, nSteps;
   __host__ __device__ size_t operator()(int p, int t) const { return (size_t)t * nPaths + p; }
};

struct PathMajor       // paths[p][t]
{
   int nPaths, nSteps;
   __host__ __device__ size_t operator()(int p, int t) const { return (size_t)p * nSteps + t; }
};

template <class Layout>
__global__ void generatePaths(float *paths, Layout at)
{
   int p = blockIdx.x * blockDim.x + threadIdx.x;
   if (p >= at.nPaths) return;
   float dt = mkt.maturity / mkt.nSteps;
   float drift = (mkt.rate - 0.5f * mkt.sigma * mkt.sigma) * dt;
   float vol = mkt.sigma * sqrtf(dt);
   float logS = logf(mkt.spot);
   for (int b = 0; b < at.nSteps / 4; ++b)
   {
      float4 z = fourNormals(p, b);
      logS += drift + vol * z.x;
      paths[at(p, 4 * b + 0)] = expf(logS);
      logS += drift + vol * z.y;
      paths[at(p, 4 * b + 1)] = expf(logS);
      logS += drift + vol * z.z;
      paths[at(p, 4 * b + 2)] = expf(logS);
      logS += drift + vol * z.w;
      paths[at(p, 4 * b + 3)] = expf(logS);
   }
}

// -- payoffs -----------------------------------------------------------------
struct AsianCall
{
   float sum = 0.0f;
   int n = 0;
   __host__ __device__ void observe(float s, const MarketData &) { sum += s; ++n; }
   __host__ __device__ float value(const MarketData &m) const { return fmaxf(sum / n - m.strike, 0.0f); }
};

struct UpAndOutCall
{
   float last = 0.0f;
   bool dead = false;
   __host__ __device__ void observe(float s, const MarketData &m) { last = s; dead |= s > m.barrier; }
   __host__ __device__ float value(const MarketData &m) const { return dead ? 0.0f : fmaxf(last - m.strike, 0.0f); }
};

struct LookbackPut
{
   float top = 0.0f;
   float last = 0.0f;
   __host__ __device__ void observe(float s, const MarketData &) { top = fmaxf(top, s); last = s; }
   __host__ __device__ float value(const MarketData &) const { return top - last; }
};

template <class Payoff, class Layout>
__global__ void evaluate(const float *__restrict__ paths, Layout at, float *__restrict__ pay)
{
   for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < at.nPaths; p += gridDim.x * blockDim.x)
   {
      Payoff f;
      for (int t = 0; t < at.nSteps; ++t)
         f.observe(paths[at(p, t)], mkt);
      pay[p] = f.value(mkt);
   }
}

// warp walks one path: lanes along time (suits PathMajor), prefix product not needed
__global__ void asianWarpPerPath(const float4 *__restrict__ paths, int nPaths, int nSteps, float *pay)
{
   int warpsPerBlock = blockDim.x >> 5;
   int lane = threadIdx.x & 31;
   int p = blockIdx.x * warpsPerBlock + (threadIdx.x >> 5);
   if (p >= nPaths) return;
   float sum = 0.0f;
   for (int q = lane; q < nSteps / 4; q += 32)
   {
      float4 v = paths[(size_t)p * (nSteps / 4) + q];
      sum += (v.x + v.y) + (v.z + v.w);
   }
   for (int o = 16; o; o >>= 1)
      sum += __shfl_down_sync(~0u, sum, o);
   if (lane == 0)
      pay[p] = fmaxf(sum / nSteps - mkt.strike, 0.0f);
}

// transpose between the two layouts, unpadded tile
__global__ void timeToPathMajor(const float *__restrict__ in, float *__restrict__ out, int nPaths, int nSteps)
{
   __shared__ float tile[32][32];
   int p = blockIdx.x * 32 + threadIdx.x;
   int t0 = blockIdx.y * 32;
   for (int r = threadIdx.y; r < 32; r += blockDim.y)
      if (p < nPaths && t0 + r < nSteps)
         tile[r][threadIdx.x] = in[(size_t)(t0 + r) * nPaths + p];
   __syncthreads();
   int t = t0 + threadIdx.x;
   for (int r = threadIdx.y; r < 32; r += blockDim.y)
      if (blockIdx.x * 32 + r < nPaths && t < nSteps)
         out[(size_t)(blockIdx.x * 32 + r) * nSteps + t] = tile[threadIdx.x][r];
}

// mean and second moment together
struct __align__(16) Moments
{
   double sum;
   double sumSq;
};

__global__ void reduceMoments(const float *__restrict__ pay, int n, Moments *result)
{
   extern __shared__ Moments sm[];
   double a = 0.0, b = 0.0;
   for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
   {
      double v = pay[i];
      a += v;
      b += v * v;
   }
   sm[threadIdx.x].sum = a;
   sm[threadIdx.x].sumSq = b;
   __syncthreads();
   for (unsigned s = blockDim.x / 2; s > 0; s >>= 1)
   {
      if (threadIdx.x < s)
      {
         sm[threadIdx.x].sum += sm[threadIdx.x + s].sum;
         sm[threadIdx.x].sumSq += sm[threadIdx.x + s].sumSq;
      }
      __syncthreads();
   }
   if (threadIdx.x == 0)
   {
      atomicAdd(&result->sum, sm[0].sum);
      atomicAdd(&result->sumSq, sm[0].sumSq);
   }
}

// terminal distribution, private histogram per warp laid out [bin][warp]
template <int Bins, int Warps>
__global__ void terminalHistogram(const float *paths, TimeMajor at, float lo, float width, unsigned *hist)
{
   __shared__ unsigned h[Bins * Warps];
   for (int i = threadIdx.x; i < Bins * Warps; i += blockDim.x)
      h[i] = 0;
   __syncthreads();
   int w = threadIdx.x / 32;
   for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < at.nPaths; p += gridDim.x * blockDim.x)
   {
      float s = paths[at(p, at.nSteps - 1)];
      int bin = min(max((int)((s - lo) / width), 0), Bins - 1);
      atomicAdd(&h[bin * Warps + w], 1u);
   }
   __syncthreads();
   for (int b = threadIdx.x; b < Bins; b += blockDim.x)
   {
      unsigned tot = 0;
      for (int k = 0; k < Warps; ++k)
         tot += h[b * Warps + k];
      if (tot)
         atomicAdd(&hist[b], tot);
   }
}

template <class Payoff>
static double hostPrice(const std::vector<float> &paths, TimeMajor at, const MarketData &m)
{
   double s = 0.0;
   for (int p = 0; p < at.nPaths; ++p)
   {
      Payoff f;
      for (int t = 0; t < at.nSteps; ++t)
         f.observe(paths[at(p, t)], m);
      s += f.value(m);
   }
   return s / at.nPaths;
}

static bool agree(const char *name, double dev, double host, double tol)
{
   bool ok = std::fabs(dev - host) <= tol * (1.0 + std::fabs(host));
   printf("%-26s device %.6f  host %.6f  %s\n", name, dev, host, ok ? "" : "<-- differs");
   return ok;
}

int main(int, char **)
{
   const int nPaths = 40000, nSteps = 128, bins = 64, warps = 8;
   MarketData m = {100.0f, 0.03f, 0.25f, 1.0f, 102.0f, 140.0f, nSteps};
   cudaOk(cudaMemcpyToSymbol(mkt, &m, sizeof m));
   TimeMajor tm{nPaths, nSteps};
   PathMajor pm{nPaths, nSteps};
   float *dT, *dP, *dPay;
   Moments *dMom;
   unsigned *dHist;
   size_t bytes = sizeof(float) * nPaths * nSteps;
   cudaOk(cudaMalloc(&dT, bytes));
   cudaOk(cudaMalloc(&dP, bytes));
   cudaOk(cudaMalloc(&dPay, nPaths * sizeof(float)));
   cudaOk(cudaMalloc(&dMom, sizeof(Moments)));
   cudaOk(cudaMalloc(&dHist, bins * sizeof(unsigned)));
   cudaOk(cudaMemset(dHist, 0, bins * sizeof(unsigned)));
   const int grid = (nPaths + 127) / 128;

   generatePaths<<<grid, 128>>>(dT, tm);
   generatePaths<<<grid, 128>>>(dP, pm);
   cudaOk(cudaGetLastError());
   std::vector<float> hT((size_t)nPaths * nSteps), hP(hT.size());
   cudaOk(cudaMemcpy(hT.data(), dT, bytes, cudaMemcpyDeviceToHost));
   cudaOk(cudaMemcpy(hP.data(), dP, bytes, cudaMemcpyDeviceToHost));

   bool ok = true;
   long layoutBad = 0, pathBad = 0;
   for (int p = 0; p < nPaths; ++p)
      for (int t = 0; t < nSteps; ++t)
         layoutBad += std::fabs(hT[tm(p, t)] - hP[pm(p, t)]) > 1e-3f * hT[tm(p, t)];
   for (int p = 0; p < nPaths; p += 101)
   {
      float dt = m.maturity / nSteps;
      double logS = std::log((double)m.spot);
      for (int b = 0; b < nSteps / 4; ++b)
      {
         float4 z = fourNormals(p, b);
         float zz[4] = {z.x, z.y, z.z, z.w};
         for (int k = 0; k < 4; ++k)
         {
            logS += (m.rate - 0.5 * m.sigma * m.sigma) * dt + m.sigma * std::sqrt(dt) * zz[k];
            pathBad += std::fabs(hT[tm(p, 4 * b + k)] - std::exp(logS)) > 2e-3 * std::exp(logS);
         }
      }
   }
   printf("paths differing: layouts %ld, host %ld\n", layoutBad, pathBad);
   ok = ok && layoutBad == 0 && pathBad == 0;

   auto price = [&]() {
      cudaOk(cudaMemset(dMom, 0, sizeof(Moments)));
      reduceMoments<<<64, 256, 256 * sizeof(Moments)>>>(dPay, nPaths, dMom);
      Moments r;
      cudaOk(cudaMemcpy(&r, dMom, sizeof r, cudaMemcpyDeviceToHost));
      return r.sum / nPaths;
   };
   double asianRef = hostPrice<AsianCall>(hT, tm, m);
   evaluate<AsianCall><<<grid, 128>>>(dT, tm, dPay);
   ok &= agree("asian, time major", price(), asianRef, 1e-4);
   evaluate<AsianCall><<<grid, 128>>>(dP, pm, dPay);
   ok &= agree("asian, path major", price(), asianRef, 1e-3);
   asianWarpPerPath<<<(nPaths + 3) / 4, 128>>>((const float4 *)dP, nPaths, nSteps, dPay);
   ok &= agree("asian, warp per path", price(), asianRef, 1e-3);
   evaluate<UpAndOutCall><<<grid / 2, 128>>>(dT, tm, dPay);
   ok &= agree("up-and-out, time major", price(), hostPrice<UpAndOutCall>(hT, tm, m), 1e-4);
   evaluate<LookbackPut><<<grid, 128>>>(dT, tm, dPay);
   ok &= agree("lookback, time major", price(), hostPrice<LookbackPut>(hT, tm, m), 1e-4);

   timeToPathMajor<<<dim3((nPaths + 31) / 32, (nSteps + 31) / 32), dim3(32, 8)>>>(dT, dP, nPaths, nSteps);
   cudaOk(cudaMemcpy(hP.data(), dP, bytes, cudaMemcpyDeviceToHost));
   long trBad = 0;
   for (int p = 0; p < nPaths; ++p)
      for (int t = 0; t < nSteps; ++t)
         trBad += hP[pm(p, t)] != hT[tm(p, t)];
   terminalHistogram<bins, warps><<<66, 32 * warps>>>(dT, tm, 40.0f, 3.0f, dHist);
   std::vector<unsigned> hist(bins);
   cudaOk(cudaMemcpy(hist.data(), dHist, bins * sizeof(unsigned), cudaMemcpyDeviceToHost));
   std::vector<unsigned> ref(bins, 0);
   for (int p = 0; p < nPaths; ++p)
   {
      int b = (int)((hT[tm(p, nSteps - 1)] - 40.0f) / 3.0f);
      ++ref[std::min(std::max(b, 0), bins - 1)];
   }
   long hd = 0;
   for (int b = 0; b < bins; ++b)
      hd += std::labs((long)hist[b] - (long)ref[b]);
   printf("transpose bad %ld, histogram diff %ld of %u\n", trBad, hd, std::accumulate(hist.begin(), hist.end(), 0u));
   ok = ok && trBad == 0 && hd <= 20 && std::accumulate(hist.begin(), hist.end(), 0u) == (unsigned)nPaths;
   cudaOk(cudaDeviceSynchronize());
   printf("%s\n", ok ? "PASS" : "FAIL");
   return ok ? 0 : 1;
}
