// nvcc: -std=c++17
// Overnight pricing run for a small equity derivatives book:
//   Monte Carlo Asian + barrier options on counter based random numbers,
//   American puts on a binomial lattice, European greeks, implied vols and a
//   value-at-risk quantile.
#include <cuda_runtime.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace desk {

struct Market {
    float spot;
    float rate;
    float vol;
    float maturity;
};

struct VanillaTrade {
    double spot, strike, rate, vol, expiry;
    int isCall;
    int notional;
};

struct Greeks {
    double price, delta, gamma, vega;
};

struct PathMajor {
    static __host__ __device__ int at(int path, int step, int, int steps) { return path * steps + step; }
};

struct TimeMajor {
    static __host__ __device__ int at(int path, int step, int paths, int) { return step * paths + path; }
};

// Philox 4x32-10
__host__ __device__ inline void philox(uint32_t c[4], uint32_t k0, uint32_t k1)
{
    for (int r = 0; r < 10; ++r) {
        uint64_t p0 = uint64_t(0xD2511F53u) * c[0];
        uint64_t p1 = uint64_t(0xCD9E8D57u) * c[2];
        uint32_t n0 = uint32_t(p1 >> 32) ^ c[1] ^ k0;
        uint32_t n2 = uint32_t(p0 >> 32) ^ c[3] ^ k1;
        c[1] = uint32_t(p1);
        c[3] = uint32_t(p0);
        c[0] = n0;
        c[2] = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

__host__ __device__ inline float uniform01(uint32_t x)
{
    return ((x >> 8) + 0.5f) * (1.0f / 16777216.0f);
}

__host__ __device__ inline void normals4(uint32_t path, uint32_t block, float z[4])
{
    uint32_t c[4] = {path, block, 0u, 0u};
    philox(c, 0xCAFEu, 0xF00Du);
    for (int h = 0; h < 2; ++h) {
        float r = sqrtf(-2.0f * logf(uniform01(c[2 * h])));
        float a = 6.2831853f * uniform01(c[2 * h + 1]);
        z[2 * h] = r * cosf(a);
        z[2 * h + 1] = r * sinf(a);
    }
}

template <class Layout>
__global__ void simulatePaths(Market m, int paths, int steps, float* out)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= paths)
        return;
    const float dt = m.maturity / steps;
    const float drift = (m.rate - 0.5f * m.vol * m.vol) * dt;
    const float sd = m.vol * sqrtf(dt);
    float x = 0.0f;
    for (int b = 0; b < steps / 4; ++b) {
        float z[4];
        normals4(p, b, z);
        for (int k = 0; k < 4; ++k) {
            x += drift + sd * z[k];
            out[Layout::at(p, 4 * b + k, paths, steps)] = m.spot * expf(x);
        }
    }
}

__device__ double blockSum(double v)
{
    __shared__ double warpPart[32];
    for (int o = 16; o > 0; o >>= 1)
        v += __shfl_down_sync(0xffffffffu, v, o);
    if (threadIdx.x % 32 == 0)
        warpPart[threadIdx.x / 32] = v;
    __syncthreads();
    double total = 0.0;
    if (threadIdx.x == 0) {
        for (unsigned w = 0; w < blockDim.x / 32; ++w)
            total += warpPart[w];
    }
    return total;
}

template <class Layout>
__global__ void asianCall(const float* __restrict__ spots, int paths, int steps, float strike, double* sum)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    double pay = 0.0;
    if (p < paths) {
        float acc = 0.0f;
        for (int s = 0; s < steps; ++s)
            acc += spots[Layout::at(p, s, paths, steps)];
        pay = fmaxf(acc / steps - strike, 0.0f);
    }
    double total = blockSum(pay);
    if (threadIdx.x == 0)
        atomicAdd(sum, total);
}

// down-and-out call, Brownian bridge survival probability between fixings
__global__ void barrierCall(const float* __restrict__ spots, Market m, int paths, int steps, float strike,
                            float barrier, double* sum)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    double pay = 0.0;
    if (p < paths) {
        float var = m.vol * m.vol * m.maturity / steps;
        float prev = logf(m.spot / barrier);
        float alive = 1.0f;
        for (int s = 0; s < steps; ++s) {
            float cur = logf(spots[s * paths + p] / barrier);
            float a = fmaxf(prev, 0.0f);
            float b = fmaxf(cur, 0.0f);
            alive *= 1.0f - expf(-2.0f * a * b / var);
            prev = cur;
        }
        pay = alive * fmaxf(spots[(steps - 1) * paths + p] - strike, 0.0f);
    }
    double total = blockSum(pay);
    if (threadIdx.x == 0)
        atomicAdd(sum, total);
}

// one block per American put. Spot ladder and two value rows in dynamic shared.
__global__ void americanPut(const VanillaTrade* trades, int steps, double* price)
{
    extern __shared__ double lattice[];
    double* ladder = lattice;
    double* cur = ladder + 2 * steps + 1;
    double* nxt = cur + steps + 1;
    const VanillaTrade t = trades[blockIdx.x];
    const double dt = t.expiry / steps;
    const double up = exp(t.vol * sqrt(dt));
    const double disc = exp(-t.rate * dt);
    const double pu = (exp(t.rate * dt) - 1.0 / up) / (up - 1.0 / up);
    const double logUp = t.vol * sqrt(dt);

    for (int i = threadIdx.x; i <= 2 * steps; i += blockDim.x)
        ladder[i] = t.spot * exp(logUp * (i - steps));
    __syncthreads();
    for (int j = threadIdx.x; j <= steps; j += blockDim.x)
        cur[j] = fmax(t.strike - ladder[2 * j], 0.0);
    __syncthreads();
    for (int i = steps - 1; i >= 0; --i) {
        for (int j = threadIdx.x; j <= i; j += blockDim.x) {
            double hold = disc * (pu * cur[j + 1] + (1.0 - pu) * cur[j]);
            double now = t.strike - ladder[2 * j - i + steps];
            nxt[j] = fmax(hold, now);
        }
        __syncthreads();
        double* tmp = cur;
        cur = nxt;
        nxt = tmp;
    }
    if (threadIdx.x == 0)
        price[blockIdx.x] = cur[0];
}

__host__ __device__ inline Greeks blackScholes(const VanillaTrade& t)
{
    double sq = sqrt(t.expiry);
    double d1 = (log(t.spot / t.strike) + (t.rate + 0.5 * t.vol * t.vol) * t.expiry) / (t.vol * sq);
    double d2 = d1 - t.vol * sq;
    double sign = t.isCall ? 1.0 : -1.0;
    double n1 = 0.5 * erfc(-sign * d1 * 0.70710678118654752);
    double n2 = 0.5 * erfc(-sign * d2 * 0.70710678118654752);
    double pdf = 0.3989422804014327 * exp(-0.5 * d1 * d1);
    Greeks g;
    g.price = sign * (t.spot * n1 - t.strike * exp(-t.rate * t.expiry) * n2);
    g.delta = sign * n1;
    g.gamma = pdf / (t.spot * t.vol * sq);
    g.vega = t.spot * pdf * sq;
    return g;
}

__global__ void europeanGreeks(const VanillaTrade* trades, int n, Greeks* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = blackScholes(trades[i]);
}

// back out the volatilities from prices, structure of arrays version
__global__ void impliedVol(const double* spot, const double* strike, const double* expiry, const double* rate,
                           const int* isCall, const Greeks* market, int n, double* vol)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    VanillaTrade t;
    t.spot = spot[i];
    t.strike = strike[i];
    t.expiry = expiry[i];
    t.rate = rate[i];
    t.isCall = isCall[i];
    t.notional = 0;
    double target = market[i].price;
    double v = 0.35;
    for (int it = 0; it < 30; ++it) {
        t.vol = v;
        Greeks g = blackScholes(t);
        double step = (g.price - target) / g.vega;
        step = fmin(fmax(step, -0.2), 0.2);
        v = fmin(fmax(v - step, 0.02), 2.0);
    }
    vol[i] = v;
}

// scenario P&L: delta-gamma of the book, then a bitonic sort per desk
template <int N>
__global__ void valueAtRisk(const Greeks* book, int trades, const float* shocks, float* var99)
{
    __shared__ float pnl[N];
    for (int s = threadIdx.x; s < N; s += blockDim.x) {
        float dx = shocks[blockIdx.x * N + s];
        float sum = 0.0f;
        for (int t = blockIdx.x; t < trades; t += gridDim.x)
            sum += float(book[t].delta) * dx + 0.5f * float(book[t].gamma) * dx * dx;
        pnl[s] = sum;
    }
    __syncthreads();
    for (int k = 2; k <= N; k <<= 1) {
        for (int j = k >> 1; j > 0; j >>= 1) {
            for (int i = threadIdx.x; i < N; i += blockDim.x) {
                int other = i ^ j;
                if (other > i) {
                    bool asc = (i & k) == 0;
                    float a = pnl[i];
                    float b = pnl[other];
                    if ((a > b) == asc) {
                        pnl[i] = b;
                        pnl[other] = a;
                    }
                }
            }
            __syncthreads();
        }
    }
    if (threadIdx.x == 0)
        var99[blockIdx.x] = pnl[N / 100];
}

void ok(cudaError_t e)
{
    if (e != cudaSuccess) {
        std::printf("cuda: %s\nFAIL\n", cudaGetErrorString(e));
        std::exit(2);
    }
}

template <class T>
T* toDevice(const std::vector<T>& h)
{
    T* d = nullptr;
    ok(cudaMalloc(&d, h.size() * sizeof(T)));
    ok(cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
    return d;
}

template <class T>
std::vector<T> toHost(const T* d, size_t n)
{
    std::vector<T> h(n);
    ok(cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost));
    return h;
}

}  // namespace desk

int main()
{
    using namespace desk;
    constexpr int paths = 16384, steps = 64, lattice = 384, amer = 128, vanilla = 20000;
    constexpr int scen = 1024, desks = 16;
    const Market m{100.0f, 0.03f, 0.25f, 1.0f};
    const float strike = 101.0f, barrier = 85.0f;

    std::mt19937 rng(5);
    auto u = [&](double a, double b) { return a + (b - a) * (rng() / 4294967296.0); };
    std::vector<VanillaTrade> trades(vanilla);
    std::array<std::vector<double>, 4> soa;
    std::vector<int> isCall;
    for (auto& t : trades) {
        t = {u(80, 120), u(85, 115), u(0.0, 0.05), u(0.15, 0.6), u(0.25, 2.0), int(rng() & 1), 1000};
        soa[0].push_back(t.spot);
        soa[1].push_back(t.strike);
        soa[2].push_back(t.expiry);
        soa[3].push_back(t.rate);
        isCall.push_back(t.isCall);
    }
    std::vector<float> shocks(scen * desks);
    for (auto& s : shocks)
        s = float(u(-8, 8));

    auto* dTrades = toDevice(trades);
    auto* dSpot = toDevice(soa[0]);
    auto* dStrike = toDevice(soa[1]);
    auto* dExpiry = toDevice(soa[2]);
    auto* dRate = toDevice(soa[3]);
    auto* dCall = toDevice(isCall);
    auto* dShocks = toDevice(shocks);
    auto* dSums = toDevice(std::vector<double>(3, 0.0));
    auto* dPm = toDevice(std::vector<float>(paths * steps));
    auto* dTm = toDevice(std::vector<float>(paths * steps));
    auto* dAmer = toDevice(std::vector<double>(amer));
    auto* dGreeks = toDevice(std::vector<Greeks>(vanilla));
    auto* dVol = toDevice(std::vector<double>(vanilla));
    auto* dVar = toDevice(std::vector<float>(desks));

    cudaStream_t mc, lat;
    ok(cudaStreamCreate(&mc));
    ok(cudaStreamCreate(&lat));
    simulatePaths<PathMajor><<<paths / 128, 128, 0, mc>>>(m, paths, steps, dPm);
    asianCall<PathMajor><<<paths / 128, 128, 0, mc>>>(dPm, paths, steps, strike, dSums);
    simulatePaths<TimeMajor><<<paths / 128, 128, 0, mc>>>(m, paths, steps, dTm);
    asianCall<TimeMajor><<<paths / 128, 128, 0, mc>>>(dTm, paths, steps, strike, dSums + 1);
    barrierCall<<<paths / 128, 128, 0, mc>>>(dTm, m, paths, steps, strike, barrier, dSums + 2);
    size_t shm = (2 * lattice + 1 + 2 * (lattice + 1)) * sizeof(double);
    americanPut<<<amer, 128, shm, lat>>>(dTrades, lattice, dAmer);
    int nb = (vanilla + 191) / 192;
    europeanGreeks<<<nb, 192, 0, lat>>>(dTrades, vanilla, dGreeks);
    impliedVol<<<nb, 192, 0, lat>>>(dSpot, dStrike, dExpiry, dRate, dCall, dGreeks, vanilla, dVol);
    valueAtRisk<scen><<<desks, 256, 0, lat>>>(dGreeks, 640, dShocks, dVar);
    ok(cudaGetLastError());
    ok(cudaDeviceSynchronize());

    int bad = 0;
    auto sums = toHost(dSums, 3);
    double asian = 0, down = 0;
    for (int p = 0; p < paths; ++p) {
        float dt = m.maturity / steps, x = 0, acc = 0, last = 0;
        float prev = std::log(m.spot / barrier), alive = 1;
        for (int s = 0; s < steps; ++s) {
            static float z[4];
            if (s % 4 == 0)
                normals4(p, s / 4, z);
            x += (m.rate - 0.5f * m.vol * m.vol) * dt + m.vol * std::sqrt(dt) * z[s % 4];
            last = m.spot * std::exp(x);
            acc += last;
            float cur = std::log(last / barrier);
            alive *= 1.0f - std::exp(-2.0f * std::max(prev, 0.f) * std::max(cur, 0.f) / (m.vol * m.vol * dt));
            prev = cur;
        }
        asian += std::max(acc / steps - strike, 0.0f);
        down += alive * std::max(last - strike, 0.0f);
    }
    bad += std::fabs(sums[0] - asian) > 1e-3 * asian;
    bad += std::fabs(sums[1] - asian) > 1e-3 * asian;
    bad += std::fabs(sums[2] - down) > 2e-3 * down;

    auto am = toHost(dAmer, amer);
    for (int o = 0; o < amer; ++o) {
        const auto& t = trades[o];
        double dt = t.expiry / lattice, lu = t.vol * std::sqrt(dt), up = std::exp(lu);
        double pu = (std::exp(t.rate * dt) - 1 / up) / (up - 1 / up), disc = std::exp(-t.rate * dt);
        std::vector<double> lad(2 * lattice + 1), v(lattice + 1);
        for (int i = 0; i <= 2 * lattice; ++i)
            lad[i] = t.spot * std::exp(lu * (i - lattice));
        for (int j = 0; j <= lattice; ++j)
            v[j] = std::max(t.strike - lad[2 * j], 0.0);
        for (int i = lattice - 1; i >= 0; --i)
            for (int j = 0; j <= i; ++j)
                v[j] = std::max(disc * (pu * v[j + 1] + (1 - pu) * v[j]), t.strike - lad[2 * j - i + lattice]);
        bad += std::fabs(v[0] - am[o]) > 1e-8 * (1 + v[0]);
    }
    auto gr = toHost(dGreeks, vanilla);
    auto iv = toHost(dVol, vanilla);
    for (int i = 0; i < vanilla; ++i) {
        Greeks g = blackScholes(trades[i]);
        bad += std::fabs(g.price - gr[i].price) > 1e-9 * (1 + g.price);
        bad += std::fabs(iv[i] - trades[i].vol) > 1e-5;
    }
    auto var = toHost(dVar, desks);
    for (int d = 0; d < desks; ++d) {
        std::vector<float> pnl(scen);
        for (int s = 0; s < scen; ++s) {
            float dx = shocks[d * scen + s], sum = 0;
            for (int t = d; t < 640; t += desks)
                sum += float(gr[t].delta) * dx + 0.5f * float(gr[t].gamma) * dx * dx;
            pnl[s] = sum;
        }
        std::sort(pnl.begin(), pnl.end());
        bad += std::fabs(pnl[scen / 100] - var[d]) > 1e-3f * (1 + std::fabs(var[d]));
    }
    std::printf("asian %.4f / %.4f, barrier %.4f, bad %d\n%s\n", sums[0] / paths, sums[1] / paths, sums[2] / paths,
                bad, bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
