// LIBOR-market-model style path pricing, after the usual "one thread per path, rates in local memory" code.
// Version A keeps L[] path-major (bad), version B maturity-major (coalesced).
#include <cuda_runtime.h>
#include <cstdio>
#include <cmath>
#include <vector>
#include <cstdint>

constexpr int NMAT = 24;
constexpr int NPATH = 32768;
constexpr float DELTA = 0.25f;

__constant__ float c_vol[NMAT];

__host__ __device__ inline uint32_t hash3(uint32_t a, uint32_t b) {
    uint32_t h = a * 0x9E3779B1u ^ (b + 0x7F4A7C15u) * 0x85EBCA77u;
    h ^= h >> 15; h *= 0x2C1B3C6Du; h ^= h >> 12; h *= 0x297A2D39u; h ^= h >> 15;
    return h;
}
__host__ __device__ inline float unif(uint32_t h) { return ((h >> 9) + 0.5f) * (1.0f / 8388608.0f); }

__global__ void gen_normals(float* z, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 2; i += gridDim.x * blockDim.x) {
        float u = unif(hash3(i, 1)), v = unif(hash3(i, 2));
        float r = sqrtf(-2.0f * logf(u)), s, c;
        sincosf(6.283185307f * v, &s, &c);
        z[i] = r * c;
        z[i + n / 2] = r * s;
    }
}

template <bool PathMajor> struct Lay {
    static __device__ __forceinline__ int at(int path, int m) {
        return PathMajor ? path * NMAT + m : m * NPATH + path;
    }
};

template <class LAY>
__global__ void evolve(const float* __restrict__ z, float* L, int steps) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= NPATH) return;
    for (int m = 0; m < NMAT; ++m) L[LAY::at(p, m)] = 0.05f;
    const float sq = sqrtf(DELTA);
    for (int n = 0; n < steps; ++n) {
        float v = 0.0f, dw = sq * z[n * NPATH + p];
        for (int i = n + 1; i < NMAT; ++i) {
            float lam = c_vol[i - n - 1];
            float con = DELTA * lam;
            float l = L[LAY::at(p, i)];
            v += con * l / (1.0f + DELTA * l);
            float vrat = expf(con * v + lam * (dw - 0.5f * con));
            L[LAY::at(p, i)] = l * vrat;
        }
    }
}

__global__ void swaption_payoff(const float* __restrict__ L, float* out, int steps, float strike) {
    __shared__ float acc[256 / 32];
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    float pay = 0.f;
    if (p < NPATH) {
        float b = 1.f, s = 0.f;
        for (int m = steps; m < NMAT; ++m) {
            b /= 1.f + DELTA * L[Lay<false>::at(p, m)];
            s += DELTA * b;
        }
        float sw = b + strike * s - 1.f;
        pay = sw < 0.f ? -sw : 0.f;
        float df = 1.f;
        for (int m = 0; m < steps; ++m) df /= 1.f + DELTA * L[Lay<false>::at(p, m)];
        pay *= df;
    }
#pragma unroll
    for (int o = 16; o; o >>= 1) pay += __shfl_down_sync(~0u, pay, o);
    if ((threadIdx.x & 31) == 0) acc[threadIdx.x >> 5] = pay;
    __syncthreads();
    if (threadIdx.x == 0) {
        float t = 0;
        for (int w = 0; w < 8; ++w) t += acc[w];
        out[blockIdx.x] = t;
    }
}

int main() {
    const int steps = 10, nz = steps * NPATH;
    float vol[NMAT];
    for (int i = 0; i < NMAT; ++i) vol[i] = 0.18f + 0.03f * sinf(0.4f * i);
    cudaMemcpyToSymbol(c_vol, vol, sizeof vol);
    float *z, *La, *Lb, *out;
    cudaMalloc(&z, nz * 4); cudaMalloc(&La, NPATH * NMAT * 4); cudaMalloc(&Lb, NPATH * NMAT * 4);
    cudaMalloc(&out, (NPATH / 256) * 4);
    gen_normals<<<160, 256>>>(z, nz);
    evolve<Lay<true>><<<NPATH / 128, 128>>>(z, La, steps);
    evolve<Lay<false>><<<NPATH / 128, 128>>>(z, Lb, steps);
    swaption_payoff<<<NPATH / 256, 256>>>(Lb, out, steps, 0.05f);
    std::vector<float> hz(nz), ha(NPATH * NMAT), hb(NPATH * NMAT), ho(NPATH / 256);
    cudaMemcpy(hz.data(), z, nz * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(ha.data(), La, ha.size() * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(hb.data(), Lb, hb.size() * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(ho.data(), out, ho.size() * 4, cudaMemcpyDeviceToHost);
    if (cudaGetLastError() != cudaSuccess) { puts("FAIL cuda"); return 1; }
    double mean = 0, var = 0;
    for (float x : hz) { mean += x; var += (double)x * x; }
    mean /= nz; var /= nz;
    bool ok = fabs(mean) < 0.02 && fabs(var - 1) < 0.03;
    for (int p = 0; p < NPATH && ok; ++p)
        for (int m = 0; m < NMAT; ++m) {
            float a = ha[p * NMAT + m], b = hb[m * NPATH + p];
            if (fabsf(a - b) > 1e-5f * fabsf(b)) { ok = false; printf("layout diff %d %d\n", p, m); break; }
        }
    double ref = 0, gpu = 0;
    for (float v : ho) gpu += v;
    for (int p = 0; p < NPATH; ++p) {
        double L[NMAT];
        for (double& x : L) x = 0.05;
        for (int n = 0; n < steps; ++n) {
            double v = 0, dw = sqrt((double)DELTA) * hz[n * NPATH + p];
            for (int i = n + 1; i < NMAT; ++i) {
                double lam = vol[i - n - 1], con = DELTA * lam;
                v += con * L[i] / (1 + DELTA * L[i]);
                L[i] *= exp(con * v + lam * (dw - 0.5 * con));
            }
        }
        double b = 1, s = 0, df = 1;
        for (int m = steps; m < NMAT; ++m) { b /= 1 + DELTA * L[m]; s += DELTA * b; }
        for (int m = 0; m < steps; ++m) df /= 1 + DELTA * L[m];
        double sw = b + 0.05 * s - 1;
        ref += sw < 0 ? -sw * df : 0;
    }
    printf("swaption gpu %.7f cpu %.7f\n", gpu / NPATH, ref / NPATH);
    ok = ok && fabs(gpu - ref) < 1e-3 * fabs(ref);
    puts(ok ? "PASS" : "FAIL");
    return !ok;
}
