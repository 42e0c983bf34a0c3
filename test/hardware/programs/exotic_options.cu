// exotic_options.cu -- American puts on a binomial tree, arithmetic Asian calls by Monte Carlo,
// basket calls with a Cholesky factor in constant memory, and an implicit finite-difference barrier pricer.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

typedef float real;

struct OptionData {           // array of structures, as read from the trade file
    real S, K, r, sigma, T;
};

namespace cfg {
constexpr int kTreeSteps = 255;
constexpr int kAmerican = 256;
constexpr int kPaths = 1 << 16;
constexpr int kFixings = 32;
constexpr int kAssets = 8;
constexpr int kPdeOptions = 2048;
constexpr int kNodes = 96;
constexpr int kPdeSteps = 8;
}

struct BasketParams {
    real chol[cfg::kAssets][cfg::kAssets];
    real spot[cfg::kAssets];
    real vol[cfg::kAssets];
    real weight[cfg::kAssets];
    real r, T, K;
};
__constant__ BasketParams basket;

struct CounterRng {
    uint32_t key;
    __host__ __device__ uint32_t bits(uint32_t ctr) const {
        uint32_t s = (ctr ^ key) * 747796405u + 2891336453u;
        s = ((s >> ((s >> 28) + 4)) ^ s) * 277803737u;
        return (s >> 22) ^ s;
    }
    __host__ __device__ real uniform(uint32_t ctr) const { return ((bits(ctr) >> 8) + 0.5f) * (1.0f / 16777216.0f); }
    // Box-Muller, two normals per call
    __host__ __device__ void normals(uint32_t ctr, real& a, real& b) const {
        const real rad = sqrtf(-2.0f * logf(uniform(2 * ctr))), ang = 6.28318531f * uniform(2 * ctr + 1);
        a = rad * cosf(ang);
        b = rad * sinf(ang);
    }
};

// one option a block, one tree level per pass
__global__ void americanPut(const OptionData* options, real* price) {
    __shared__ real value[cfg::kTreeSteps + 1];
    const OptionData o = options[blockIdx.x];
    const int t = threadIdx.x;
    const real dt = o.T / cfg::kTreeSteps;
    const real up = expf(o.sigma * sqrtf(dt)), disc = expf(-o.r * dt);
    const real pu = disc * (expf(o.r * dt) - 1.0f / up) / (up - 1.0f / up), pd = disc - pu;
    const real logUp = o.sigma * sqrtf(dt);
    value[t] = fmaxf(o.K - o.S * expf(logUp * (2 * t - cfg::kTreeSteps)), 0.0f);
    __syncthreads();
    for (int level = cfg::kTreeSteps - 1; level >= 0; --level) {
        real v = 0.0f;
        if (t <= level) {
            const real hold = pu * value[t + 1] + pd * value[t];
            v = fmaxf(hold, o.K - o.S * expf(logUp * (2 * t - level)));
        }
        __syncthreads();
        if (t <= level) value[t] = v;
        __syncthreads();
    }
    if (t == 0) price[blockIdx.x] = value[0];
}

__device__ void accumulate(real v, double* out) {
    __shared__ double sums[8];
    double d = v;
    for (int o = 16; o > 0; o >>= 1) d += __shfl_down_sync(0xffffffffu, d, o);
    if ((threadIdx.x & 31) == 0) sums[threadIdx.x >> 5] = d;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned w = 1; w < blockDim.x / 32; ++w) d += sums[w];
        atomicAdd(out, d);
    }
}

__host__ __device__ inline real asianPath(const OptionData& o, CounterRng rng, uint32_t path) {
    const real dt = o.T / cfg::kFixings, drift = (o.r - 0.5f * o.sigma * o.sigma) * dt, sd = o.sigma * sqrtf(dt);
    real logS = logf(o.S), sum = 0.0f;
    for (int i = 0; i < cfg::kFixings; i += 2) {
        real a, b;
        rng.normals(path * (cfg::kFixings / 2) + i / 2, a, b);
        logS += drift + sd * a;
        sum += expf(logS);
        logS += drift + sd * b;
        sum += expf(logS);
    }
    return fmaxf(sum / cfg::kFixings - o.K, 0.0f);
}

__global__ void __launch_bounds__(256) asianMonteCarlo(OptionData o, CounterRng rng, real* payoff, double* total) {
    const uint32_t path = blockIdx.x * blockDim.x + threadIdx.x;
    const real p = asianPath(o, rng, path);
    payoff[path] = p;
    accumulate(p, total);
}

__host__ __device__ inline real basketPath(const BasketParams& bp, CounterRng rng, uint32_t path) {
    real z[cfg::kAssets];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int a = 0; a < cfg::kAssets; a += 2) rng.normals(path * (cfg::kAssets / 2) + a / 2, z[a], z[a + 1]);
    real value = 0.0f;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int a = 0; a < cfg::kAssets; ++a) {
        real w = 0.0f;
        for (int b = 0; b <= a; ++b) w += bp.chol[a][b] * z[b];
        value += bp.weight[a] * bp.spot[a] * expf((bp.r - 0.5f * bp.vol[a] * bp.vol[a]) * bp.T + bp.vol[a] * sqrtf(bp.T) * w);
    }
    return fmaxf(value - bp.K, 0.0f);
}

__global__ void basketMonteCarlo(CounterRng rng, double* total) {
    accumulate(basketPath(basket, rng, blockIdx.x * blockDim.x + threadIdx.x), total);
}

// Thomas sweeps, one option a thread; grid values interleaved as [node][option]
__global__ void barrierImplicit(const OptionData* __restrict__ options, real* __restrict__ u, real* __restrict__ cp,
                                real* __restrict__ price, int n) {
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= n) return;
    const OptionData o = options[id];
    const real dt = o.T / cfg::kPdeSteps, smax = 3.0f * o.K, ds = smax / (cfg::kNodes - 1);
    for (int j = 0; j < cfg::kNodes; ++j) u[j * n + id] = j == cfg::kNodes - 1 ? 0.0f : fmaxf(j * ds - o.K, 0.0f);
    for (int step = 0; step < cfg::kPdeSteps; ++step) {
        real cPrev = 0.0f, dPrev = 0.0f;      // knocked out at both ends
        for (int j = 1; j < cfg::kNodes - 1; ++j) {
            const real s2 = o.sigma * o.sigma * j * j, rj = o.r * j;
            const real lo = -0.5f * dt * (s2 - rj), di = 1.0f + dt * (s2 + o.r), hi = -0.5f * dt * (s2 + rj);
            const real inv = 1.0f / (di - lo * cPrev);
            cPrev = hi * inv;
            dPrev = (u[j * n + id] - lo * dPrev) * inv;
            cp[j * n + id] = cPrev;
            u[j * n + id] = dPrev;
        }
        real next = 0.0f;
        for (int j = cfg::kNodes - 2; j > 0; --j) {
            next = u[j * n + id] - cp[j * n + id] * next;
            u[j * n + id] = next;
        }
    }
    const real x = o.S / ds;
    const int j = min((int)x, cfg::kNodes - 2);
    price[id] = u[j * n + id] + (x - j) * (u[(j + 1) * n + id] - u[j * n + id]);
}

static int failures = 0;
static void compare(const char* name, double got, double want, double tol) {
    if (!(std::fabs(got - want) <= tol) && failures++ < 10) printf("%s: got %.6f want %.6f\n", name, got, want);
}
#define C(x) { cudaError_t e = x; if (e != cudaSuccess) { printf("%s: %s\n", #x, cudaGetErrorString(e)); return 2; } }

int main() {
    using namespace cfg;
    std::vector<OptionData> opt(kPdeOptions);
    for (int i = 0; i < kPdeOptions; ++i)
        opt[i] = {80.0f + i % 41, 90.0f + i % 23, 0.01f + 0.005f * (i % 7), 0.15f + 0.02f * (i % 11), 0.5f + 0.25f * (i % 5)};
    BasketParams bp{};
    for (int a = 0; a < kAssets; ++a) {
        real rest = 1.0f;
        for (int b = 0; b < a; ++b) { bp.chol[a][b] = 0.3f / (1 + a - b); rest -= bp.chol[a][b] * bp.chol[a][b]; }
        bp.chol[a][a] = sqrtf(rest);
        bp.spot[a] = 90.0f + 3 * a; bp.vol[a] = 0.18f + 0.02f * a; bp.weight[a] = 1.0f / kAssets;
    }
    bp.r = 0.03f; bp.T = 1.0f; bp.K = 100.0f;

    OptionData* dOpt; real *dAm, *dPay, *dU, *dCp, *dPde; double* dSum;
    C(cudaMalloc(&dOpt, opt.size() * sizeof(OptionData)));
    C(cudaMalloc(&dAm, kAmerican * sizeof(real)));
    C(cudaMalloc(&dPay, kPaths * sizeof(real)));
    C(cudaMalloc(&dU, kNodes * kPdeOptions * sizeof(real))); C(cudaMalloc(&dCp, kNodes * kPdeOptions * sizeof(real)));
    C(cudaMalloc(&dPde, kPdeOptions * sizeof(real)));
    C(cudaMalloc(&dSum, 2 * sizeof(double)));
    C(cudaMemcpy(dOpt, opt.data(), opt.size() * sizeof(OptionData), cudaMemcpyHostToDevice));
    C(cudaMemcpyToSymbol(basket, &bp, sizeof bp));
    C(cudaMemset(dSum, 0, 2 * sizeof(double)));

    const CounterRng rngA{0x9e3779b9u}, rngB{0x85ebca6bu};
    const OptionData asian{100.0f, 101.0f, 0.04f, 0.25f, 1.0f};
    americanPut<<<kAmerican, kTreeSteps + 1>>>(dOpt, dAm);
    asianMonteCarlo<<<kPaths / 256, 256>>>(asian, rngA, dPay, dSum);
    basketMonteCarlo<<<kPaths / 128, 128>>>(rngB, dSum + 1);
    barrierImplicit<<<(kPdeOptions + 63) / 64, 64>>>(dOpt, dU, dCp, dPde, kPdeOptions);
    C(cudaGetLastError());
    C(cudaDeviceSynchronize());

    std::vector<real> am(kAmerican), pay(kPaths), pde(kPdeOptions);
    double sums[2];
    C(cudaMemcpy(am.data(), dAm, am.size() * sizeof(real), cudaMemcpyDeviceToHost));
    C(cudaMemcpy(pay.data(), dPay, pay.size() * sizeof(real), cudaMemcpyDeviceToHost));
    C(cudaMemcpy(pde.data(), dPde, pde.size() * sizeof(real), cudaMemcpyDeviceToHost));
    C(cudaMemcpy(sums, dSum, sizeof sums, cudaMemcpyDeviceToHost));

    for (int i = 0; i < kAmerican; ++i) {
        const OptionData o = opt[i];
        const double dt = (double)o.T / kTreeSteps, lu = o.sigma * std::sqrt(dt), u = std::exp(lu), dc = std::exp(-o.r * dt);
        const double p = (std::exp(o.r * dt) - 1 / u) / (u - 1 / u);
        std::vector<double> v(kTreeSteps + 1);
        for (int t = 0; t <= kTreeSteps; ++t) v[t] = std::max(o.K - o.S * std::exp(lu * (2 * t - kTreeSteps)), 0.0);
        for (int l = kTreeSteps - 1; l >= 0; --l)
            for (int t = 0; t <= l; ++t)
                v[t] = std::max(dc * (p * v[t + 1] + (1 - p) * v[t]), o.K - o.S * std::exp(lu * (2 * t - l)));
        compare("american", am[i], v[0], 0.03);
    }
    double a = 0, b = 0;
    for (int i = 0; i < kPaths; ++i) {
        const real p = asianPath(asian, rngA, i);
        compare("asian path", pay[i], p, 0.05);
        a += p, b += basketPath(bp, rngB, i);
    }
    compare("asian", sums[0] / kPaths, a / kPaths, 1e-3);
    compare("basket", sums[1] / kPaths, b / kPaths, 1e-3);
    for (int i = 0; i < kPdeOptions; ++i) {
        const OptionData o = opt[i];
        const double dt = (double)o.T / kPdeSteps, ds = 3.0 * o.K / (kNodes - 1);
        double v[kNodes], c[kNodes];
        for (int j = 0; j < kNodes; ++j) v[j] = j == kNodes - 1 ? 0.0 : std::max(j * ds - o.K, 0.0);
        for (int s = 0; s < kPdeSteps; ++s) {
            double cPrev = 0, dPrev = 0, next = 0;
            for (int j = 1; j < kNodes - 1; ++j) {
                const double s2 = (double)o.sigma * o.sigma * j * j, rj = (double)o.r * j, lo = -0.5 * dt * (s2 - rj);
                const double inv = 1 / (1 + dt * (s2 + o.r) - lo * cPrev);
                c[j] = cPrev = -0.5 * dt * (s2 + rj) * inv;
                v[j] = dPrev = (v[j] - lo * dPrev) * inv;
            }
            for (int j = kNodes - 2; j > 0; --j) v[j] = next = v[j] - c[j] * next;
        }
        const double x = o.S / ds;
        const int j = std::min((int)x, kNodes - 2);
        compare("barrier", pde[i], v[j] + (x - j) * (v[j + 1] - v[j]), 0.02);
    }
    cudaFree(dOpt); cudaFree(dAm); cudaFree(dPay); cudaFree(dU); cudaFree(dCp); cudaFree(dPde); cudaFree(dSum);
    if (failures) { printf("FAILED %d\n", failures); return 1; }
    printf("OK\n");
    return 0;
}
