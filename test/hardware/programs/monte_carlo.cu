// Option prices: Black-Scholes on arrays, and a Monte Carlo with a generator state a thread.
#include "common.h"

#define RISK_FREE 0.02f
#define VOLATILITY 0.30f

__device__ inline float cndGPU(float d)
{
    const float A1 = 0.31938153f, A2 = -0.356563782f, A3 = 1.781477937f, A4 = -1.821255978f, A5 = 1.330274429f;
    const float RSQRT2PI = 0.39894228040143267793994605993438f;
    float K = __fdividef(1.0f, (1.0f + 0.2316419f * fabsf(d)));
    float cnd = RSQRT2PI * __expf(-0.5f * d * d) * (K * (A1 + K * (A2 + K * (A3 + K * (A4 + K * A5)))));
    if (d > 0) cnd = 1.0f - cnd;
    return cnd;
}

__device__ inline void BlackScholesBody(float &CallResult, float &PutResult, float S, float X, float T)
{
    float sqrtT = __fdividef(1.0F, rsqrtf(T));
    float d1 = __fdividef(__logf(S / X) + (RISK_FREE + 0.5f * VOLATILITY * VOLATILITY) * T, VOLATILITY * sqrtT);
    float d2 = d1 - VOLATILITY * sqrtT;
    float expRT = __expf(-RISK_FREE * T);
    CallResult = S * cndGPU(d1) - X * expRT * cndGPU(d2);
    PutResult = X * expRT * (1.0f - cndGPU(d2)) - S * (1.0f - cndGPU(d1));
}

__launch_bounds__(128)
__global__ void BlackScholes(float2 *__restrict__ call, float2 *__restrict__ put, const float2 *__restrict__ price,
                             const float2 *__restrict__ strike, const float2 *__restrict__ years, int pairs)
{
    const int opt = blockDim.x * blockIdx.x + threadIdx.x;
    if (opt < pairs) {
        float c1, c2, p1, p2;
        BlackScholesBody(c1, p1, price[opt].x, strike[opt].x, years[opt].x);
        BlackScholesBody(c2, p2, price[opt].y, strike[opt].y, years[opt].y);
        call[opt] = make_float2(c1, c2);
        put[opt] = make_float2(p1, p2);
    }
}

struct Xorshift { unsigned int x, y, z, w, v; };     // 20 bytes: lanes do not line up

__global__ void estimatePi(Xorshift *states, unsigned int *inside, int trials)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    Xorshift s = states[id];
    unsigned int hits = 0;
    for (int i = 0; i < trials; ++i) {
        float p[2];
        for (int k = 0; k < 2; ++k) {
            unsigned int t = s.x ^ (s.x >> 2);
            s.x = s.y; s.y = s.z; s.z = s.w; s.w = s.v;
            s.v = (s.v ^ (s.v << 4)) ^ (t ^ (t << 1));
            p[k] = (s.v >> 8) * (1.0f / 16777216.0f);
        }
        hits += p[0] * p[0] + p[1] * p[1] < 1.0f;
    }
    states[id] = s;
    inside[id] = hits;
}

int main()
{
    const int n = 100000;
    std::vector<float> S(n), X(n), T(n), call(n), put(n);
    Random r(1);
    auto cnd = [](double d) { return 0.5 * std::erfc(-d / std::sqrt(2.0)); };
    for (int i = 0; i < n; ++i) {
        S[i] = 5 + 25 * r.uniform(); X[i] = 1 + 99 * r.uniform(); T[i] = 0.25f + 9.75f * r.uniform();
        double q = VOLATILITY * std::sqrt(T[i]), d1 = (std::log(S[i] / X[i]) + (RISK_FREE + 0.5 * VOLATILITY * VOLATILITY) * T[i]) / q, d2 = d1 - q;
        double e = std::exp(-RISK_FREE * T[i]);
        call[i] = (float)(S[i] * cnd(d1) - X[i] * e * cnd(d2));
        put[i] = (float)(X[i] * e * (1 - cnd(d2)) - S[i] * (1 - cnd(d1)));
    }
    float *dc = deviceZeros<float>(n), *dp = deviceZeros<float>(n);
    bool ok = true;
    BlackScholes<<<(n / 2 + 127) / 128, 128>>>((float2 *)dc, (float2 *)dp, (float2 *)toDevice(S), (float2 *)toDevice(X), (float2 *)toDevice(T), n / 2);
    ok &= report("BlackScholes", allNear(toHost(dc, n), call, 1e-3) && allNear(toHost(dp, n), put, 1e-3));

    const int threads = 128 * 60, trials = 200;
    std::vector<Xorshift> states(threads);
    for (auto &s : states) s = {r.bits(), r.bits(), r.bits(), r.bits(), r.bits()};
    Xorshift *ds = toDevice(states);
    unsigned int *di = deviceZeros<unsigned int>(threads);
    estimatePi<<<60, 128>>>(ds, di, trials);
    double sum = 0;
    for (unsigned int v : toHost(di, threads)) sum += v;
    ok &= report("estimatePi", std::fabs(4 * sum / threads / trials - M_PI) < 0.02);
    return ok ? 0 : 1;
}
