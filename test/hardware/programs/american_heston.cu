// Pricing library fragment: American options on a binomial lattice (one block an option), Sobol points, Heston paths by
// full-truncation Euler, and the reduction of the payoffs.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

#define ENSURE(cond, msg) do { if (!(cond)) { std::cerr << (msg) << std::endl; std::exit(1); } } while (0)
#define CU(call) ENSURE((call) == cudaSuccess, #call)

typedef float real;

struct OptionData { real S, K, r, sigma, T; int isPut; };

struct Lattice {
    enum { STEPS = 768, THREADS = 128 };
};

// ---- payoff policies -----------------------------------------------------------------------------------------------
struct VanillaPayoff {
    __host__ __device__ static real value(real s, real k, int put) { return fmaxf(put ? k - s : s - k, 0.f); }
};

template <class Payoff>
__global__ void binomialAmerican(const OptionData *options, real *prices)
{
    __shared__ real buf[2][Lattice::STEPS + 1];
    __shared__ OptionData o;
    if (threadIdx.x == 0) o = options[blockIdx.x];
    __syncthreads();
    const real dt = o.T / Lattice::STEPS;
    const real vs = o.sigma * sqrtf(dt);
    const real u = expf(vs), d = 1.f / u;
    const real pu = (expf(o.r * dt) - d) / (u - d), disc = expf(-o.r * dt);
    const real a = pu * disc, b = (1.f - pu) * disc;

    for (int i = threadIdx.x; i <= Lattice::STEPS; i += blockDim.x)
        buf[0][i] = Payoff::value(o.S * expf(vs * (2 * i - Lattice::STEPS)), o.K, o.isPut);
    __syncthreads();
    int cur = 0;
    for (int n = Lattice::STEPS - 1; n >= 0; --n) {
        for (int i = threadIdx.x; i <= n; i += blockDim.x) {
            real hold = a * buf[cur][i + 1] + b * buf[cur][i];
            real now = Payoff::value(o.S * __expf(vs * (2 * i - n)), o.K, o.isPut);
            buf[cur ^ 1][i] = fmaxf(hold, now);
        }
        cur ^= 1;
        __syncthreads();
    }
    if (threadIdx.x == 0) prices[blockIdx.x] = buf[cur][0];
}

// ---- Sobol: dimension per blockIdx.y, point by its Gray code, direction numbers in shared memory ------------------------
__global__ void sobol(const uint32_t *directions, uint32_t *points, int n)
{
    __shared__ uint32_t v[32];
    if (threadIdx.x < 32) v[threadIdx.x] = directions[blockIdx.y * 32 + threadIdx.x];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uint32_t g = i ^ (i >> 1), x = 0;
        for (int k = 0; g; ++k, g >>= 1)
            if (g & 1) x ^= v[k];
        points[blockIdx.y * n + i] = x;
    }
}

// ---- Heston -----------------------------------------------------------------------------------------------------------
struct Heston { real s0, v0, kappa, theta, xi, rho, r, T, strike; int steps; };
__constant__ Heston model;

__host__ __device__ inline real unit(uint32_t x) { return ((x >> 8) + 0.5f) * (1.f / 16777216.f); }

__host__ __device__ inline real hestonPath(const Heston &m, const uint32_t *points, int path, int n)
{
    const real dt = m.T / m.steps, sdt = sqrtf(dt), comp = sqrtf(1.f - m.rho * m.rho);
    real x = logf(m.s0), v = m.v0;
    for (int k = 0; k < m.steps; ++k) {
        real u1 = unit(points[(2 * k) * n + path]), u2 = unit(points[(2 * k + 1) * n + path]);
        real rad = sqrtf(-2.f * logf(u1)), ang = 6.2831853f * u2;
        real z1 = rad * cosf(ang), z2 = m.rho * z1 + comp * rad * sinf(ang);
        real vp = fmaxf(v, 0.f), sv = sqrtf(vp);
        x += (m.r - 0.5f * vp) * dt + sv * sdt * z1;
        v += m.kappa * (m.theta - vp) * dt + m.xi * sv * sdt * z2;
    }
    return expf(-m.r * m.T) * fmaxf(expf(x) - m.strike, 0.f);
}

__global__ __launch_bounds__(256, 4) void hestonKernel(const uint32_t *points, real *payoffs, int n)
{
    int path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path < n) payoffs[path] = hestonPath(model, points, path, n);
}

// sum and sum of squares, tree in shared memory with the last warp unrolled
template <unsigned BLOCK>
__global__ void payoffMoments(const real *x, int n, double *out)
{
    __shared__ volatile double s1[BLOCK], s2[BLOCK];
    unsigned t = threadIdx.x;
    double a = 0, b = 0;
    for (int i = blockIdx.x * BLOCK * 2 + t; i < n; i += BLOCK * 2 * gridDim.x) {
        double p = x[i], q = i + BLOCK < n ? x[i + BLOCK] : 0.0;
        a += p + q;
        b += p * p + q * q;
    }
    s1[t] = a;
    s2[t] = b;
    __syncthreads();
    for (unsigned s = BLOCK / 2; s >= 32; s >>= 1) {
        if (t < s) { s1[t] = s1[t] + s1[t + s]; s2[t] = s2[t] + s2[t + s]; }
        __syncthreads();
    }
    if (t < 32) {
        a = s1[t];
        b = s2[t];
        for (int o = 16; o; o >>= 1) {
            a += __shfl_down_sync(0xffffffff, a, o);
            b += __shfl_down_sync(0xffffffff, b, o);
        }
        if (t == 0) { atomicAdd(out, a); atomicAdd(out + 1, b); }
    }
}

static double latticeCpu(const OptionData &o)
{
    const int N = Lattice::STEPS;
    double dt = (double)o.T / N, vs = o.sigma * std::sqrt(dt), u = std::exp(vs), d = 1 / u;
    double p = (std::exp(o.r * dt) - d) / (u - d), disc = std::exp(-o.r * dt);
    auto pay = [&](double s) { return std::fmax(o.isPut ? o.K - s : s - o.K, 0.0); };
    std::vector<double> v(N + 1);
    for (int i = 0; i <= N; ++i) v[i] = pay(o.S * std::exp(vs * (2 * i - N)));
    for (int n = N - 1; n >= 0; --n) {
        double s = o.S * std::exp(-vs * n);
        for (int i = 0; i <= n; ++i, s *= u * u) v[i] = std::fmax(disc * (p * v[i + 1] + (1 - p) * v[i]), pay(s));
    }
    return v[0];
}

int main(int argc, char *argv[])
{
    const int nOptions = 528, nPaths = argc > 1 ? atoi(argv[1]) : 60000, steps = 32, dims = 2 * steps;
    std::vector<OptionData> options(nOptions);
    for (int i = 0; i < nOptions; ++i)
        options[i] = {80.f + (i * 37 % 41), 100.f, 0.01f + 0.005f * (i % 9), 0.15f + 0.02f * (i % 13), 0.25f + 0.125f * (i % 7), i & 1};
    // random odd initial numbers under a recurrence of bit k only: a valid (if poor) digital net in every dimension
    std::vector<uint32_t> dir(dims * 32);
    uint32_t seed = 1;
    for (int d = 0; d < dims; ++d)
        for (int k = 0; k < 32; ++k) {
            seed = seed * 747796405u + 2891336453u;
            uint32_t low = d ? (seed >> 4) & ((1ull << k) - 1) : 0;
            dir[d * 32 + k] = ((1u << k) | low) << (31 - k);
        }
    Heston h = {100.f, 0.04f, 1.5f, 0.05f, 0.4f, -0.6f, 0.02f, 1.f, 102.f, steps};

    OptionData *dOpt; real *dPrice, *dPay; uint32_t *dDir, *dPts; double *dMom;
    CU(cudaMalloc((void **)&dOpt, nOptions * sizeof(OptionData)));
    CU(cudaMalloc((void **)&dPrice, nOptions * sizeof(real)));
    CU(cudaMalloc((void **)&dPay, nPaths * sizeof(real)));
    CU(cudaMalloc((void **)&dDir, dir.size() * 4));
    CU(cudaMalloc((void **)&dPts, (size_t)dims * nPaths * 4));
    CU(cudaMalloc((void **)&dMom, 2 * sizeof(double)));
    CU(cudaMemset(dMom, 0, 2 * sizeof(double)));
    CU(cudaMemcpy(dOpt, options.data(), nOptions * sizeof(OptionData), cudaMemcpyHostToDevice));
    CU(cudaMemcpy(dDir, dir.data(), dir.size() * 4, cudaMemcpyHostToDevice));
    CU(cudaMemcpyToSymbol(model, &h, sizeof(h)));

    binomialAmerican<VanillaPayoff><<<nOptions, Lattice::THREADS>>>(dOpt, dPrice);
    sobol<<<dim3(40, dims), 128>>>(dDir, dPts, nPaths);
    hestonKernel<<<(nPaths + 255) / 256, 256>>>(dPts, dPay, nPaths);
    payoffMoments<256><<<32, 256>>>(dPay, nPaths, dMom);
    CU(cudaGetLastError());
    CU(cudaDeviceSynchronize());

    std::vector<real> price(nOptions), pay(nPaths);
    std::vector<uint32_t> pts((size_t)dims * nPaths);
    double mom[2];
    CU(cudaMemcpy(price.data(), dPrice, nOptions * sizeof(real), cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(pay.data(), dPay, nPaths * sizeof(real), cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(pts.data(), dPts, pts.size() * 4, cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(mom, dMom, sizeof(mom), cudaMemcpyDeviceToHost));

    int bad = 0;
    for (int i = 0; i < nOptions; i += 5) {
        double w = latticeCpu(options[i]);
        if (!(std::fabs(w - price[i]) < 0.03 + 0.005 * w)) { ++bad; std::cout << "option " << i << ": " << price[i] << " for " << w << "\n"; }
    }
    for (int d = 0; d < dims; ++d)
        for (int i = 0; i < nPaths; ++i) {
            uint32_t x = 0;
            for (int k = 0; k < 20; ++k)
                if ((i ^ (i >> 1)) >> k & 1) x ^= dir[d * 32 + k];
            bad += x != pts[(size_t)d * nPaths + i];
        }
    double s1 = 0, s2 = 0;
    for (int i = 0; i < nPaths; ++i) {
        real w = hestonPath(h, pts.data(), i, nPaths);
        bad += !(std::fabs(w - pay[i]) < 0.05f + 0.002f * w);
        s1 += pay[i];
        s2 += (double)pay[i] * pay[i];
    }
    bad += !(std::fabs(s1 - mom[0]) < 1e-6 * s1) + !(std::fabs(s2 - mom[1]) < 1e-6 * s2);
    std::cout << "Heston call " << mom[0] / nPaths << ", " << bad << " errors\n";
    return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}
