// Heston stochastic-volatility European call by Monte Carlo, Philox4x32-10 counters, double accumulation,
// per-thread RNG state kept in global memory between time slabs (first kernel) vs counter-based (second).
#include <cuda_runtime.h>
#include <cstdio>
#include <cmath>
#include <cstdint>
#include <vector>

namespace rng {
struct Philox {
    uint4 ctr; uint2 key;
    __host__ __device__ static void mulhilo(uint32_t a, uint32_t b, uint32_t& hi, uint32_t& lo) {
        uint64_t p = (uint64_t)a * b; hi = (uint32_t)(p >> 32); lo = (uint32_t)p;
    }
    __host__ __device__ uint4 operator()() const {
        uint4 c = ctr; uint2 k = key;
        for (int r = 0; r < 10; ++r) {
            uint32_t h0, l0, h1, l1;
            mulhilo(0xD2511F53u, c.x, h0, l0); mulhilo(0xCD9E8D57u, c.z, h1, l1);
            c = uint4{h1 ^ c.y ^ k.x, l1, h0 ^ c.w ^ k.y, l0};
            k.x += 0x9E3779B9u; k.y += 0xBB67AE85u;
        }
        return c;
    }
};
struct XorWow { uint32_t x, y, z, w, v, d; };
__host__ __device__ inline uint32_t next(XorWow& s) {
    uint32_t t = s.x ^ (s.x >> 2);
    s.x = s.y; s.y = s.z; s.z = s.w; s.w = s.v;
    s.v = (s.v ^ (s.v << 4)) ^ (t ^ (t << 1));
    s.d += 362437u;
    return s.v + s.d;
}
__host__ __device__ inline float u01(uint32_t b) { return (b >> 8) * (1.0f / 16777216.0f) + (0.5f / 16777216.0f); }
template <class F> __host__ __device__ inline void boxmuller(uint32_t a, uint32_t b, F& g0, F& g1) {
    F r = sqrt(F(-2) * log(F(u01(a)))), th = F(6.283185307179586) * F(u01(b));
    g0 = r * cos(th); g1 = r * sin(th);
}
} // namespace rng

struct Model { float S0, K, r, T, kappa, theta, xi, rho, v0; };

template <class F> __host__ __device__ inline void euler(F& x, F& v, F z1, F zz, const Model& m, F dt) {
    F z2 = F(m.rho) * z1 + sqrt(F(1) - F(m.rho) * F(m.rho)) * zz;
    F vp = v > F(0) ? v : F(0), sv = sqrt(vp * dt);
    x += (F(m.r) - F(0.5) * vp) * dt + sv * z1;
    v += F(m.kappa) * (F(m.theta) - vp) * dt + F(m.xi) * sv * z2;
}

__global__ void seed_states(rng::XorWow* st, int n, uint32_t seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    rng::Philox p{{(uint32_t)i, 0, 0, 7}, {seed, 99}};
    uint4 a = p(); p.ctr.y = 1; uint4 b = p();
    st[i] = rng::XorWow{a.x, a.y, a.z, a.w, b.x | 1u, b.y};
}
__global__ void init_paths(float2* xv, int n, Model m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) xv[i] = make_float2(logf(m.S0), m.v0);
}
// 24-byte AoS states: each field load is strided
__global__ void advance_stateful(rng::XorWow* st, float2* xv, int n, Model m, int steps, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    rng::XorWow s = st[i];
    float x = xv[i].x, v = xv[i].y;
    for (int k = 0; k < steps; ++k) {
        float a, b;
        uint32_t r0 = rng::next(s), r1 = rng::next(s);
        rng::boxmuller<float>(r0, r1, a, b);
        euler<float>(x, v, a, b, m, dt);
    }
    st[i] = s; xv[i] = make_float2(x, v);
}
__global__ void paths_counter(float* xT, int n, Model m, int steps, float dt, uint32_t seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = logf(m.S0), v = m.v0;
    rng::Philox p{{(uint32_t)i, 0, 0, 0}, {seed, 1}};
    for (int k = 0; k < steps; k += 2) {
        p.ctr.y = k;
        uint4 q = p();
        float a, b;
        rng::boxmuller<float>(q.x, q.y, a, b); euler<float>(x, v, a, b, m, dt);
        rng::boxmuller<float>(q.z, q.w, a, b); euler<float>(x, v, a, b, m, dt);
    }
    xT[i] = x;
}
__global__ void payoff_mean(const float* x, int stride, int n, Model m, double* acc) {
    __shared__ double sh[2][8];
    double s = 0, s2 = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        double p = fmax(exp((double)x[i * stride]) - m.K, 0.0) * exp(-(double)m.r * m.T);
        s += p; s2 += p * p;
    }
    for (int o = 16; o; o >>= 1) { s += __shfl_down_sync(~0u, s, o); s2 += __shfl_down_sync(~0u, s2, o); }
    if ((threadIdx.x & 31) == 0) { sh[0][threadIdx.x >> 5] = s; sh[1][threadIdx.x >> 5] = s2; }
    __syncthreads();
    if (threadIdx.x < 2) {
        double t = 0;
        for (int w = 0; w < blockDim.x / 32; ++w) t += sh[threadIdx.x][w];
        atomicAdd(acc + threadIdx.x, t);
    }
}

int main() {
    const int n = 100000, steps = 64;
    Model m{100, 105, 0.03f, 1.0f, 2.0f, 0.04f, 0.3f, -0.6f, 0.05f};
    const float dt = m.T / steps; const uint32_t seed = 20240;
    rng::XorWow* st; float2* xv; float* xT; double* acc;
    cudaMalloc(&st, n * sizeof(rng::XorWow)); cudaMalloc(&xv, n * 8); cudaMalloc(&xT, n * 4); cudaMalloc(&acc, 32); cudaMemset(acc, 0, 32);
    int g = (n + 255) / 256;
    seed_states<<<g, 256>>>(st, n, seed);
    init_paths<<<g, 256>>>(xv, n, m);
    for (int slab = 0; slab < 4; ++slab) advance_stateful<<<g, 256>>>(st, xv, n, m, steps / 4, dt);
    paths_counter<<<g, 256>>>(xT, n, m, steps, dt, seed);
    payoff_mean<<<64, 256>>>((float*)xv, 2, n, m, acc);
    payoff_mean<<<64, 256>>>(xT, 1, n, m, acc + 2);
    double a[4]; std::vector<float2> hx(n); std::vector<float> ht(n);
    cudaMemcpy(a, acc, 32, cudaMemcpyDeviceToHost);
    cudaMemcpy(hx.data(), xv, n * 8, cudaMemcpyDeviceToHost);
    cudaMemcpy(ht.data(), xT, n * 4, cudaMemcpyDeviceToHost);
    if (cudaGetLastError() != cudaSuccess) { puts("FAIL"); return 1; }
    int bad = 0;
    for (int i = 0; i < n; i += 41) {   // replay a sample of both generators in double
        rng::Philox p{{(uint32_t)i, 0, 0, 0}, {seed, 1}};
        double x = log((double)m.S0), v = m.v0, A, B;
        for (int k = 0; k < steps; k += 2) {
            p.ctr.y = k; uint4 q = p();
            rng::boxmuller<double>(q.x, q.y, A, B); euler<double>(x, v, A, B, m, (double)dt);
            rng::boxmuller<double>(q.z, q.w, A, B); euler<double>(x, v, A, B, m, (double)dt);
        }
        if (fabs(x - ht[i]) > 2e-2) ++bad;
        rng::Philox s{{(uint32_t)i, 0, 0, 7}, {seed, 99}};
        uint4 c = s(); s.ctr.y = 1; uint4 d = s();
        rng::XorWow w{c.x, c.y, c.z, c.w, d.x | 1u, d.y};
        x = log((double)m.S0); v = m.v0;
        for (int k = 0; k < steps; ++k) { uint32_t r0 = rng::next(w), r1 = rng::next(w); rng::boxmuller<double>(r0, r1, A, B); euler<double>(x, v, A, B, m, (double)dt); }
        if (fabs(x - hx[i].x) > 2e-2) ++bad;
    }
    double hs0 = 0, hs1 = 0, df = exp(-(double)m.r * m.T);
    for (int i = 0; i < n; ++i) { hs0 += fmax(exp((double)hx[i].x) - m.K, 0.0) * df; hs1 += fmax(exp((double)ht[i]) - m.K, 0.0) * df; }
    if (fabs(hs0 - a[0]) > 1e-7 * hs0 || fabs(hs1 - a[2]) > 1e-7 * hs1) ++bad;
    double m0 = a[0] / n, m1 = a[2] / n, se = sqrt((a[1] / n - m0 * m0) / n);
    printf("stateful %.4f counter %.4f (se %.4f) bad %d\n", m0, m1, se, bad);
    bool ok = bad == 0 && fabs(m0 - m1) < 8 * se && m0 > 4 && m0 < 14;
    puts(ok ? "PASS" : "FAIL");
    return !ok;
}
