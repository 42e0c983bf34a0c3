// End-of-day risk run for a small equity option book.
//
//  1. closed-form prices and greeks for the vanilla quotes
//  2. CRR tree for the American puts
//  3. arithmetic Asian basket by Monte Carlo (antithetic)
//  4. correlated scenario P&L and its histogram, 99% VaR from the bins
#include <cub/block/block_reduce.cuh>
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace desk {

using real = double;

class CudaException : public std::runtime_error {
public:
    CudaException(cudaError_t code, const char* where)
        : std::runtime_error(std::string(where) + ": " + cudaGetErrorString(code)) {}
};

#define DESK_STR2(x) #x
#define DESK_STR(x) DESK_STR2(x)
#define DESK_CALL(f) { cudaError_t rc = f; if (rc != cudaSuccess) throw desk::CudaException(rc, __FILE__ ":" DESK_STR(__LINE__)); }

struct CudaDeleter { void operator()(void* p) const { cudaFree(p); } };
template <typename T> using DevicePtr = std::unique_ptr<T[], CudaDeleter>;
template <typename T> DevicePtr<T> makeDevice(size_t n)
{
    T* raw = nullptr;
    DESK_CALL(cudaMalloc(&raw, n * sizeof(T)));
    return DevicePtr<T>(raw);
}

struct Quote {
    real spot, strike, rate, vol, expiry;
    int  isCall;
};                       // 48 bytes with tail padding

struct Greeks { real price, delta, vega; };

struct AsianTrade { real spot, strike, rate, vol, expiry; int fixings; };

// ---------------------------------------------------------------- numerics
__host__ __device__ inline real normCdf(real x) { return 0.5 * erfc(-x * 0.70710678118654752440); }
__host__ __device__ inline real normPdf(real x) { return 0.39894228040143267794 * exp(-0.5 * x * x); }

__host__ __device__ inline uint64_t splitmix(uint64_t z)
{
    z += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}
__host__ __device__ inline real gaussian(uint64_t stream, uint64_t index)
{
    const uint64_t a = splitmix(stream * 0x100000001B3ull + index), b = splitmix(a ^ 0xA5A5A5A55A5A5A5Aull);
    const real u = ((a >> 11) + 0.5) * (1.0 / 9007199254740992.0), v = (b >> 11) * (1.0 / 9007199254740992.0);
    return sqrt(-2.0 * log(u)) * cos(6.28318530717958647692 * v);
}

__host__ __device__ inline Greeks blackScholes(const Quote& q)
{
    const real sq = q.vol * sqrt(q.expiry);
    const real d1 = (log(q.spot / q.strike) + (q.rate + 0.5 * q.vol * q.vol) * q.expiry) / sq, d2 = d1 - sq;
    const real df = exp(-q.rate * q.expiry), w = q.isCall ? 1.0 : -1.0;
    return { w * (q.spot * normCdf(w * d1) - q.strike * df * normCdf(w * d2)), w * normCdf(w * d1),
             q.spot * normPdf(d1) * sqrt(q.expiry) };
}

// ---------------------------------------------------------------- kernels
__global__ void vanillaKernel(const Quote* quotes, Greeks* out, int count)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        out[i] = blackScholes(quotes[i]);
}

// One block per American put. `steps` + 1 values live in dynamic shared memory and the
// active range shrinks by one at each level.
__global__ void americanPutTree(const Quote* quotes, real* price, int steps)
{
    extern __shared__ real level[];
    const Quote q = quotes[blockIdx.x];
    const real dt = q.expiry / steps, up = exp(q.vol * sqrt(dt)), down = 1.0 / up;
    const real disc = exp(-q.rate * dt), p = (1.0 / disc - down) / (up - down);

    for (int j = threadIdx.x; j <= steps; j += blockDim.x)
        level[j] = fmax(q.strike - q.spot * exp((2.0 * j - steps) * log(up)), 0.0);
    __syncthreads();

    for (int n = steps - 1; n >= 0; --n) {
        // at most two nodes per thread
        real keep[2] = { 0, 0 };
        int k = 0;
        for (int j = threadIdx.x; j <= n; j += blockDim.x, ++k) {
            const real cont = disc * (p * level[j + 1] + (1.0 - p) * level[j]);
            keep[k & 1] = fmax(cont, q.strike - q.spot * exp((2.0 * j - n) * log(up)));
        }
        __syncthreads();
        k = 0;
        for (int j = threadIdx.x; j <= n; j += blockDim.x, ++k) level[j] = keep[k & 1];
        __syncthreads();
    }
    if (threadIdx.x == 0) price[blockIdx.x] = level[0];
}

template <int BLOCK, int PATHS_PER_THREAD>
__global__ void __launch_bounds__(BLOCK) asianMonteCarlo(AsianTrade t, uint64_t seed, real* sums)
{
    using Reduce = cub::BlockReduce<real, BLOCK>;
    __shared__ typename Reduce::TempStorage scratch;
    const real dt = t.expiry / t.fixings, drift = (t.rate - 0.5 * t.vol * t.vol) * dt, sd = t.vol * sqrt(dt);
    real total = 0;
#pragma unroll 1
    for (int i = 0; i < PATHS_PER_THREAD; ++i) {
        const uint64_t path = (uint64_t(blockIdx.x) * PATHS_PER_THREAD + i) * BLOCK + threadIdx.x;
        real x = 0, y = 0, ax = 0, ay = 0;
        for (int f = 0; f < t.fixings; ++f) {
            const real z = gaussian(seed + path, f);
            x += drift + sd * z;
            y += drift - sd * z;
            ax += exp(x);
            ay += exp(y);
        }
        total += 0.5 * (fmax(t.spot * ax / t.fixings - t.strike, 0.0) + fmax(t.spot * ay / t.fixings - t.strike, 0.0));
    }
    const real s = Reduce(scratch).Sum(total);
    if (threadIdx.x == 0) sums[blockIdx.x] = s;
}

// 12 risk factors. Lower triangular Cholesky factor stored as full rows; exposures in constant memory.
constexpr int kFactors = 12;
__constant__ real cExposure[kFactors];

__global__ void scenarioPnl(const real* __restrict__ chol, real* __restrict__ pnl, int scenarios, uint64_t seed)
{
    __shared__ real L[kFactors][kFactors];
    __shared__ real z[64][kFactors];          // one row of independent normals per thread
    for (int i = threadIdx.x; i < kFactors * kFactors; i += blockDim.x) L[i / kFactors][i % kFactors] = chol[i];
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    for (int f = 0; f < kFactors; ++f) z[threadIdx.x][f] = gaussian(seed + s, f);
    __syncthreads();
    if (s >= scenarios) return;
    real v = 0;
    for (int i = 0; i < kFactors; ++i) {
        real shock = 0;
        for (int j = 0; j <= i; ++j) shock += L[i][j] * z[threadIdx.x][j];
        v += cExposure[i] * (shock + 0.15 * (shock * shock - 1.0));
    }
    pnl[s] = v;
}

__global__ void pnlHistogram(const real* pnl, int n, unsigned* bins, int nbins, real lo, real width)
{
    extern __shared__ unsigned local[];
    for (int b = threadIdx.x; b < nbins; b += blockDim.x) local[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        int b = int((pnl[i] - lo) / width);
        b = max(0, min(nbins - 1, b));
        atomicAdd(local + b, 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < nbins; b += blockDim.x) atomicAdd(bins + b, local[b]);
}

} // namespace desk

int main()
{
    using namespace desk;
    bool ok = true;
    auto close = [&](real got, real want, real tol, const char* what) {
        if (!(std::fabs(got - want) <= tol * (1.0 + std::fabs(want)))) {
            if (ok) std::cout << what << ": got " << got << " want " << want << "\n";
            ok = false;
        }
    };
    try {
        const int nQuotes = 5003, nPuts = 40, steps = 255;
        std::vector<Quote> book(nQuotes);
        for (int i = 0; i < nQuotes; ++i)
            book[i] = { 80.0 + i % 41, 70.0 + i % 57, 0.01 + 0.0005 * (i % 7), 0.12 + 0.01 * (i % 23), 0.1 + 0.05 * (i % 31), i % 3 != 0 };

        auto dBook = makeDevice<Quote>(nQuotes);
        auto dGreeks = makeDevice<Greeks>(nQuotes);
        DESK_CALL(cudaMemcpy(dBook.get(), book.data(), nQuotes * sizeof(Quote), cudaMemcpyHostToDevice));
        vanillaKernel<<<16, 160>>>(dBook.get(), dGreeks.get(), nQuotes);
        DESK_CALL(cudaGetLastError());
        std::vector<Greeks> g(nQuotes);
        DESK_CALL(cudaMemcpy(g.data(), dGreeks.get(), nQuotes * sizeof(Greeks), cudaMemcpyDeviceToHost));
        for (int i = 0; i < nQuotes; ++i) {
            const Greeks r = blackScholes(book[i]);
            close(g[i].price, r.price, 1e-9, "price");
            close(g[i].delta, r.delta, 1e-9, "delta");
            close(g[i].vega, r.vega, 1e-9, "vega");
        }

        auto dPut = makeDevice<real>(nPuts);
        americanPutTree<<<nPuts, 128, (steps + 1) * sizeof(real)>>>(dBook.get(), dPut.get(), steps);
        DESK_CALL(cudaGetLastError());
        std::vector<real> put(nPuts), v(steps + 1);
        DESK_CALL(cudaMemcpy(put.data(), dPut.get(), nPuts * sizeof(real), cudaMemcpyDeviceToHost));
        for (int o = 0; o < nPuts; ++o) {
            const Quote& q = book[o];
            const real dt = q.expiry / steps, u = exp(q.vol * sqrt(dt)), disc = exp(-q.rate * dt), p = (1 / disc - 1 / u) / (u - 1 / u);
            for (int j = 0; j <= steps; ++j) v[j] = std::max(q.strike - q.spot * exp((2.0 * j - steps) * log(u)), 0.0);
            for (int n = steps - 1; n >= 0; --n)
                for (int j = 0; j <= n; ++j)
                    v[j] = std::max(disc * (p * v[j + 1] + (1 - p) * v[j]), q.strike - q.spot * exp((2.0 * j - n) * log(u)));
            close(put[o], v[0], 1e-9, "american put");
        }

        const AsianTrade asian{ 100.0, 102.0, 0.02, 0.25, 1.0, 26 };
        constexpr int kBlock = 192, kPer = 3, kGrid = 20;
        const uint64_t seed = 20240131;
        auto dSums = makeDevice<real>(kGrid);
        asianMonteCarlo<kBlock, kPer><<<kGrid, kBlock>>>(asian, seed, dSums.get());
        DESK_CALL(cudaGetLastError());
        std::vector<real> sums(kGrid);
        DESK_CALL(cudaMemcpy(sums.data(), dSums.get(), kGrid * sizeof(real), cudaMemcpyDeviceToHost));
        real mc = 0, ref = 0;
        for (real s : sums) mc += s;
        const int paths = kBlock * kPer * kGrid;
        const real dt = asian.expiry / asian.fixings, dr = (asian.rate - 0.5 * asian.vol * asian.vol) * dt, sd = asian.vol * sqrt(dt);
        for (int k = 0; k < paths; ++k) {
            real x = 0, y = 0, ax = 0, ay = 0;
            for (int f = 0; f < asian.fixings; ++f) {
                const real zz = gaussian(seed + k, f);
                x += dr + sd * zz; y += dr - sd * zz;
                ax += exp(x); ay += exp(y);
            }
            ref += 0.5 * (std::max(asian.spot * ax / asian.fixings - asian.strike, 0.0) + std::max(asian.spot * ay / asian.fixings - asian.strike, 0.0));
        }
        std::cout << "asian " << mc / paths * exp(-asian.rate * asian.expiry) << "\n";
        close(mc / paths, ref / paths, 1e-8, "asian");

        const int nScen = 10000, nBins = 300;
        std::vector<real> chol(kFactors * kFactors, 0.0), expo(kFactors), pnl(nScen);
        for (int i = 0; i < kFactors; ++i) {
            expo[i] = 10.0 * (i % 5) - 17.0;
            for (int j = 0; j <= i; ++j) chol[i * kFactors + j] = i == j ? 0.8 : 0.3 / (1 + i - j);
        }
        auto dChol = makeDevice<real>(chol.size());
        auto dPnl = makeDevice<real>(nScen);
        auto dBins = makeDevice<unsigned>(nBins);
        DESK_CALL(cudaMemcpy(dChol.get(), chol.data(), chol.size() * sizeof(real), cudaMemcpyHostToDevice));
        DESK_CALL(cudaMemcpyToSymbol(cExposure, expo.data(), sizeof(real) * kFactors));
        DESK_CALL(cudaMemset(dBins.get(), 0, nBins * sizeof(unsigned)));
        scenarioPnl<<<(nScen + 63) / 64, 64>>>(dChol.get(), dPnl.get(), nScen, seed * 3);
        pnlHistogram<<<10, 256, nBins * sizeof(unsigned)>>>(dPnl.get(), nScen, dBins.get(), nBins, -150.0, 1.0);
        DESK_CALL(cudaGetLastError());
        std::vector<unsigned> bins(nBins), want(nBins, 0u);
        DESK_CALL(cudaMemcpy(pnl.data(), dPnl.get(), nScen * sizeof(real), cudaMemcpyDeviceToHost));
        DESK_CALL(cudaMemcpy(bins.data(), dBins.get(), nBins * sizeof(unsigned), cudaMemcpyDeviceToHost));
        for (int s = 0; s < nScen; ++s) {
            real zz[kFactors], r = 0;
            for (int f = 0; f < kFactors; ++f) zz[f] = gaussian(seed * 3 + s, f);
            for (int i = 0; i < kFactors; ++i) {
                real sh = 0;
                for (int j = 0; j <= i; ++j) sh += chol[i * kFactors + j] * zz[j];
                r += expo[i] * (sh + 0.15 * (sh * sh - 1.0));
            }
            close(pnl[s], r, 1e-8, "pnl");
            want[std::max(0, std::min(nBins - 1, int((pnl[s] + 150.0) / 1.0)))]++;
        }
        if (bins != want) { std::cout << "histogram differs\n"; ok = false; }
        unsigned acc = 0; int b = 0;
        while (acc < unsigned(nScen / 100)) acc += bins[b++];
        std::cout << "99% VaR about " << 150 - b << "\n";
    } catch (const std::exception& e) {
        std::cout << e.what() << "\n";
        ok = false;
    }
    std::cout << (ok ? "PASS" : "FAIL") << std::endl;
    return ok ? 0 : 1;
}
