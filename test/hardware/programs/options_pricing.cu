// Black-Scholes (SoA and AoS), binomial American put in shared memory, Monte-Carlo Asian with per-thread RNG state, interpolation table for vol
#include <cstdio>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

struct Option { float S, K, T, r, sigma; };         // 20 bytes
struct BookSoA { const float *S, *K, *T; float *call, *put; };

__device__ __forceinline__ float cnd(float d)
{
    const float A1 = 0.31938153f, A2 = -0.356563782f, A3 = 1.781477937f, A4 = -1.821255978f, A5 = 1.330274429f;
    float k = __fdividef(1.f, 1.f + 0.2316419f * fabsf(d));
    float c = 0.39894228040143267794f * __expf(-0.5f * d * d) * (k * (A1 + k * (A2 + k * (A3 + k * (A4 + k * A5)))));
    return d > 0 ? 1.f - c : c;
}

__device__ void black_scholes(float S, float K, float T, float r, float v, float* call, float* put)
{
    float sq = sqrtf(T), d1 = (logf(S / K) + (r + 0.5f * v * v) * T) / (v * sq), d2 = d1 - v * sq;
    float e = __expf(-r * T), c1 = cnd(d1), c2 = cnd(d2);
    *call = S * c1 - K * e * c2;
    *put = K * e * (1.f - c2) - S * (1.f - c1);
}

__global__ void bs_soa(BookSoA b, int n, float r, float v)
{
    const int step = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        float c, p;
        black_scholes(b.S[i], b.K[i], b.T[i], r, v, &c, &p);
        b.call[i] = c;
        b.put[i] = p;
    }
}

__global__ void bs_aos(const Option* __restrict__ opt, float2* __restrict__ price, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Option o = opt[i];
        float2 p;
        black_scholes(o.S, o.K, o.T, o.r, o.sigma, &p.x, &p.y);
        price[i] = p;
    }
}

// a block an option; steps+1 leaves kept in shared memory, backward induction in place with two halves
template <int STEPS>
__global__ void binomial_put(const Option* opts, float* out, bool american)
{
    __shared__ float val[STEPS + 1];
    const Option o = opts[blockIdx.x];
    const float dt = o.T / STEPS, u = expf(o.sigma * sqrtf(dt)), d = 1.f / u;
    const float disc = expf(-o.r * dt), p = (expf(o.r * dt) - d) / (u - d);
    for (int i = threadIdx.x; i <= STEPS; i += blockDim.x)
        val[i] = fmaxf(o.K - o.S * powf(u, 2.f * i - STEPS), 0.f);
    __syncthreads();
    for (int s = STEPS - 1; s >= 0; --s) {
        float keep[(STEPS + 63) / 64 + 1];
        int c = 0;
        for (int i = threadIdx.x; i <= s; i += blockDim.x, ++c) {
            float v = disc * (p * val[i + 1] + (1 - p) * val[i]);
            if (american) v = fmaxf(v, o.K - o.S * __powf(u, 2.f * i - s));
            keep[c] = v;
        }
        __syncthreads();
        c = 0;
        for (int i = threadIdx.x; i <= s; i += blockDim.x) val[i] = keep[c++];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = val[0];
}

struct Xoro {
    unsigned a, b, c, d;
    __device__ unsigned next() {
        unsigned t = b << 9, r = a * 5; r = ((r << 7) | (r >> 25)) * 9;
        c ^= a; d ^= b; b ^= c; a ^= d; c ^= t; d = (d << 11) | (d >> 21);
        return r;
    }
    __device__ float2 gauss() {
        float u1 = (next() >> 8) * 5.9604645e-8f + 1e-9f, u2 = (next() >> 8) * 5.9604645e-8f, s, co;
        float r = sqrtf(fmaxf(0.f, -2.f * __logf(u1)));
        __sincosf(6.2831853f * u2, &s, &co);
        return make_float2(r * s, r * co);
    }
};

__global__ void asian_mc(uint4* states, int paths_per_thread, int steps, Option o, const float* __restrict__ vol_table, int table_n, double* sum)
{
    extern __shared__ float vt[];
    for (int i = threadIdx.x; i < table_n; i += blockDim.x) vt[i] = vol_table[i];
    __syncthreads();
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 st = states[id];
    Xoro g{st.x, st.y, st.z, st.w};
    const float dt = o.T / steps;
    double acc = 0;
    for (int p = 0; p < paths_per_thread; ++p) {
        float s = o.S, avg = 0;
        for (int k = 0; k < steps; k += 2) {
            float2 z = g.gauss();
            #pragma unroll
            for (int h = 0; h < 2; ++h) {
                float m = fminf(fmaxf(s / o.K * 0.5f, 0.f), 0.999f) * (table_n - 1);
                int j = (int)m;
                float v = vt[j] + (m - j) * (vt[j + 1] - vt[j]);
                s *= __expf((o.r - 0.5f * v * v) * dt + v * sqrtf(dt) * (h ? z.y : z.x));
                avg += s;
            }
        }
        acc += fmaxf(avg / steps - o.K, 0.f);
    }
    states[id] = make_uint4(g.a, g.b, g.c, g.d);
    for (int w = 16; w; w >>= 1) acc += __shfl_xor_sync(~0u, acc, w);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, acc);
}

int main()
{
    const int n = 5000, nb = 40, threads = 64 * 30;
    std::vector<float> S(n), K(n), T(n), c(n), p(n); std::vector<Option> o(n); std::vector<float2> q(n); std::vector<uint4> st(threads); std::vector<float> vt(33, 0.2f), am(nb), eu(nb);
    for (int i = 0; i < n; ++i) { S[i] = 80 + i % 40; K[i] = 90 + i % 17; T[i] = 0.25f + (i % 9) * 0.2f; o[i] = {S[i], K[i], T[i], 0.03f, 0.25f}; }
    for (int i = 0; i < threads; ++i) st[i] = make_uint4(i * 2654435761u + 1, i ^ 0x55aa, 77u + i, 0x1234567u * (i + 1));
    float* buf[5]; for (auto& b : buf) cudaMalloc(&b, n * 4);
    cudaMemcpy(buf[0], S.data(), n * 4, cudaMemcpyHostToDevice); cudaMemcpy(buf[1], K.data(), n * 4, cudaMemcpyHostToDevice); cudaMemcpy(buf[2], T.data(), n * 4, cudaMemcpyHostToDevice);
    Option* dopt; float2* dq; float *da, *de, *dv; uint4* ds; double* sum;
    cudaMalloc(&dopt, n * sizeof(Option)); cudaMalloc(&dq, n * 8); cudaMalloc(&da, nb * 4); cudaMalloc(&de, nb * 4); cudaMalloc(&dv, 33 * 4); cudaMalloc(&ds, threads * 16); cudaMalloc(&sum, 8);
    cudaMemcpy(dopt, o.data(), n * sizeof(Option), cudaMemcpyHostToDevice); cudaMemcpy(dv, vt.data(), 33 * 4, cudaMemcpyHostToDevice); cudaMemcpy(ds, st.data(), threads * 16, cudaMemcpyHostToDevice); cudaMemset(sum, 0, 8);
    bs_soa<<<11, 128>>>(BookSoA{buf[0], buf[1], buf[2], buf[3], buf[4]}, n, 0.03f, 0.25f);
    bs_aos<<<(n + 191) / 192, 192>>>(dopt, dq, n);
    binomial_put<200><<<nb, 64>>>(dopt, da, true);
    binomial_put<200><<<nb, 64>>>(dopt, de, false);
    for (int rep = 0; rep < 2; ++rep) asian_mc<<<30, 64, 33 * 4>>>(ds, 8, 16, Option{100, 100, 1, 0.05f, 0.2f}, dv, 33, sum);
    cudaMemcpy(c.data(), buf[3], n * 4, cudaMemcpyDeviceToHost); cudaMemcpy(p.data(), buf[4], n * 4, cudaMemcpyDeviceToHost); cudaMemcpy(q.data(), dq, n * 8, cudaMemcpyDeviceToHost);
    cudaMemcpy(am.data(), da, nb * 4, cudaMemcpyDeviceToHost); cudaMemcpy(eu.data(), de, nb * 4, cudaMemcpyDeviceToHost);
    double hs; cudaMemcpy(&hs, sum, 8, cudaMemcpyDeviceToHost);
    double e = 0, par = 0, be = 0; int lower = 0;
    for (int i = 0; i < n; ++i) { e = fmax(e, fabs(c[i] - q[i].x) + fabs(p[i] - q[i].y)); par = fmax(par, fabs(c[i] - p[i] - S[i] + K[i] * exp(-0.03 * T[i]))); }
    for (int i = 0; i < nb; ++i) { be = fmax(be, fabs(eu[i] - p[i])); lower += am[i] < eu[i] - 1e-3; }
    double asian = hs / (2.0 * threads * 8) * exp(-0.05);
    printf("layouts %g parity %g binomial %g american<european %d asian %.3f\n", e, par, be, lower, asian);
    return !(e < 1e-3 && par < 1e-2 && be < 0.1 && lower == 0 && asian > 4 && asian < 8);
}
