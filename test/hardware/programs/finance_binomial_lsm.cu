// American puts: (1) CRR binomial tree, one block an option; (2) GBM paths + regression sums (Longstaff-Schwartz step)
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <vector>

typedef struct {
    double S, K, T, r, sigma;
} OptionData;   // AoS, as it comes from the trade store

#define NUM_STEPS 512
#define TREE_THREADS 128

__device__ inline double2 make_pv(const OptionData &o, int i, double up)
{
    double s = o.S * exp(up * (2.0 * i - NUM_STEPS));
    return make_double2(s, fmax(o.K - s, 0.0));
}

__global__ void binomialKernel(const OptionData *opts, double *price)
{
    __shared__ double v[NUM_STEPS + 1];
    const OptionData o = opts[blockIdx.x];
    const double dt = o.T / NUM_STEPS;
    const double vDt = o.sigma * sqrt(dt);
    const double u = exp(vDt), d = 1.0 / u;
    const double a = exp(o.r * dt), p = (a - d) / (u - d);
    const double pu = p / a, pd = (1.0 - p) / a;
    for (int i = threadIdx.x; i <= NUM_STEPS; i += blockDim.x) v[i] = make_pv(o, i, vDt).y;
    __syncthreads();
    for (int step = NUM_STEPS - 1; step >= 0; step--) {
        double nv[(NUM_STEPS + TREE_THREADS - 1) / TREE_THREADS];
#pragma unroll
        for (int c = 0; c < NUM_STEPS / TREE_THREADS; c++) {
            int i = threadIdx.x + c * TREE_THREADS;
            if (i <= step) {
                double cont = pu * v[i + 1] + pd * v[i];
                double ex = o.K - o.S * exp(vDt * (2.0 * i - step));
                nv[c] = fmax(cont, ex);
            }
        }
        __syncthreads();
#pragma unroll
        for (int c = 0; c < NUM_STEPS / TREE_THREADS; c++) {
            int i = threadIdx.x + c * TREE_THREADS;
            if (i <= step) v[i] = nv[c];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) price[blockIdx.x] = v[0];
}

__device__ __forceinline__ unsigned lcg_hash(unsigned x)
{
    x ^= x >> 16; x *= 0x7feb352dU; x ^= x >> 15; x *= 0x846ca68bU; x ^= x >> 16;
    return x;
}

// paths stored time-major: S[t * nPaths + p]
__global__ void generatePaths(float *S, int nPaths, int nSteps, float S0, float drift, float vol, unsigned seed)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= nPaths) return;
    float s = S0;
    unsigned state = lcg_hash(p ^ seed);
    for (int t = 0; t < nSteps; t++) {
        state = state * 1664525u + 1013904223u;
        float u1 = ((lcg_hash(state) >> 8) + 1) * (1.0f / 16777217.0f);
        state = state * 1664525u + 1013904223u;
        float u2 = (lcg_hash(state) >> 8) * (1.0f / 16777216.0f);
        float z = sqrtf(-2.0f * logf(u1)) * cosf(6.2831853f * u2);
        s *= expf(drift + vol * z);
        S[t * nPaths + p] = s;
    }
}

// sums for the quadratic regression of one exercise date
__global__ void regressionSums(const float *S, const float *cash, int nPaths, int t, float K, double *sums)
{
    __shared__ double part[8][256];
    double m[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < nPaths; p += gridDim.x * blockDim.x) {
        float x = S[(size_t)t * nPaths + p] / K;
        if (x < 1.0f) {
            double y = cash[p], xx = (double)x * x;
            m[0] += 1; m[1] += x; m[2] += xx; m[3] += xx * x; m[4] += xx * xx;
            m[5] += y; m[6] += x * y; m[7] += xx * y;
        }
    }
    for (int k = 0; k < 8; k++) part[k][threadIdx.x] = m[k];
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s)
            for (int k = 0; k < 8; k++) part[k][threadIdx.x] += part[k][threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x < 8) atomicAdd(&sums[threadIdx.x], part[threadIdx.x][0]);
}

__global__ void terminalCash(const float *S, float *cash, int nPaths, int last, float K, float disc)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < nPaths) cash[p] = disc * fmaxf(K - S[(size_t)last * nPaths + p], 0.0f);
}

static double cpuTree(const OptionData &o)
{
    std::vector<double> v(NUM_STEPS + 1);
    double dt = o.T / NUM_STEPS, w = o.sigma * sqrt(dt), u = exp(w), d = 1 / u, a = exp(o.r * dt), p = (a - d) / (u - d);
    for (int i = 0; i <= NUM_STEPS; i++) v[i] = fmax(o.K - o.S * exp(w * (2.0 * i - NUM_STEPS)), 0.0);
    for (int s = NUM_STEPS - 1; s >= 0; s--)
        for (int i = 0; i <= s; i++)
            v[i] = fmax((p * v[i + 1] + (1 - p) * v[i]) / a, o.K - o.S * exp(w * (2.0 * i - s)));
    return v[0];
}

int main()
{
    const int nOpt = 1500;
    std::vector<OptionData> opts(nOpt);
    for (int i = 0; i < nOpt; i++)
        opts[i] = {80.0 + i % 41, 95.0 + i % 13, 0.25 + (i % 8) * 0.25, 0.01 + (i % 5) * 0.01, 0.15 + (i % 7) * 0.05};
    OptionData *dO; double *dP;
    cudaMalloc(&dO, nOpt * sizeof(OptionData)); cudaMalloc(&dP, nOpt * sizeof(double));
    cudaMemcpy(dO, opts.data(), nOpt * sizeof(OptionData), cudaMemcpyHostToDevice);
    binomialKernel<<<nOpt, TREE_THREADS>>>(dO, dP);
    std::vector<double> price(nOpt);
    cudaMemcpy(price.data(), dP, nOpt * sizeof(double), cudaMemcpyDeviceToHost);
    double err = 0;
    for (int i = 0; i < nOpt; i += 100) err = fmax(err, fabs(price[i] - cpuTree(opts[i])));

    const int nPaths = 500000, nSteps = 16;
    const float S0 = 100, K = 105, r = 0.03f, sig = 0.25f, dt = 1.0f / nSteps;
    float *dS, *dC; double *dM;
    cudaMalloc(&dS, sizeof(float) * nPaths * nSteps);
    cudaMalloc(&dC, sizeof(float) * nPaths);
    cudaMalloc(&dM, sizeof(double) * 8 * 2);
    cudaMemset(dM, 0, sizeof(double) * 16);
    generatePaths<<<(nPaths + 255) / 256, 256>>>(dS, nPaths, nSteps, S0, (r - 0.5f * sig * sig) * dt, sig * sqrtf(dt), 99u);
    terminalCash<<<(nPaths + 255) / 256, 256>>>(dS, dC, nPaths, nSteps - 1, K, expf(-r * dt));
    for (int k = 0; k < 2; k++)
        regressionSums<<<132, 256>>>(dS, dC, nPaths, nSteps - 2 - k, K, dM + 8 * k);
    double M[16];
    cudaMemcpy(M, dM, sizeof(M), cudaMemcpyDeviceToHost);
    std::vector<float> hS((size_t)nPaths * nSteps), hC(nPaths);
    cudaMemcpy(hS.data(), dS, hS.size() * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(hC.data(), dC, hC.size() * 4, cudaMemcpyDeviceToHost);
    double cnt = 0, sxy = 0, mean = 0;
    for (int p = 0; p < nPaths; p++) {
        float x = hS[(size_t)(nSteps - 2) * nPaths + p] / K;
        if (x < 1.0f) { cnt++; sxy += (double)x * hC[p]; }
        mean += hS[(size_t)(nSteps - 1) * nPaths + p];
    }
    mean /= nPaths;
    double e2 = fabs(sxy - M[6]) / sxy;
    printf("tree err %g, regression rel err %g, count diff %g, E[S] %f (exp %f)\n", err, e2, cnt - M[0], mean, S0 * exp(r));
    bool ok = err < 1e-8 && e2 < 1e-6 && fabs(cnt - M[0]) < 3 && fabs(mean / (S0 * exp(r)) - 1) < 0.005;
    puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
