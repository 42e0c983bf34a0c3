/* bootstrap_quantiles.cu

   Percentile confidence interval of the mean by the nonparametric bootstrap, delete-one
   jackknife variance of the (biased) variance estimator, a random walk Metropolis sampler with
   per-chain autocovariances, and an empirical CDF.
   All random numbers come from a counter hash so R code can reproduce them. */

#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <algorithm>
#include <numeric>
#include <vector>

#define TRY(call)                                                            \
    {                                                                        \
        const cudaError_t status_ = (call);                                  \
        if (status_ != cudaSuccess) {                                        \
            printf("error %s in line %d\n", cudaGetErrorString(status_), __LINE__); \
            return EXIT_FAILURE;                                             \
        }                                                                    \
    }

typedef unsigned int u32;

__host__ __device__ static inline u32 hash2(u32 a, u32 b)
{
    u32 h = a * 0x9E3779B1u ^ (b + 0x7F4A7C15u + (a << 6) + (a >> 2));
    h ^= h >> 15; h *= 0x2C1B3C6Du;
    h ^= h >> 12; h *= 0x297A2D39u;
    h ^= h >> 15;
    return h;
}
__host__ __device__ static inline double unif(u32 a, u32 b) { return (hash2(a, b) + 0.5) * (1.0 / 4294967296.0); }

/* One block per bootstrap replicate.
   Dynamic shared memory: [double part[blockDim.x]] [float data[n]] [int multiplicity[n]] */
__global__ void resample(const float *x, int n, double *boot_mean, int *max_multiplicity)
{
    extern __shared__ double pool[];
    double *part = pool;
    float *data = (float *)(part + blockDim.x);
    int *mult = (int *)(data + n);
    const int t = threadIdx.x;

    for (int i = t; i < n; i += blockDim.x) {
        data[i] = x[i];
        mult[i] = 0;
    }
    __syncthreads();

    double s = 0.0;
    for (int i = t; i < n; i += blockDim.x) {
        const int pick = hash2(blockIdx.x, i) % (u32)n;
        s += data[pick];
        atomicAdd(&mult[pick], 1);
    }
    part[t] = s;
    __syncthreads();
    /* blockDim.x need not be a power of two */
    for (int m = blockDim.x; m > 1;) {
        const int half = (m + 1) / 2;
        if (t < m / 2) part[t] += part[t + half];
        m = half;
        __syncthreads();
    }
    if (t == 0) boot_mean[blockIdx.x] = part[0] / n;

    int mx = 0;
    for (int i = t; i < n; i += blockDim.x) mx = max(mx, mult[i]);
    mx = __reduce_max_sync(0xffffffffu, mx);
    if ((t & 31) == 0) atomicMax(&max_multiplicity[blockIdx.x], mx);
}

/* in-place bitonic sort of `len` (power of two) doubles in one block of len/2 threads */
__global__ void bitonic_sort(double *v, int len)
{
    extern __shared__ double key[];
    const int t = threadIdx.x;
    key[2 * t] = v[2 * t];
    key[2 * t + 1] = v[2 * t + 1];
    for (int size = 2; size <= len; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            const int pos = 2 * t - (t & (stride - 1));
            const bool up = (pos & size) == 0;
            const double a = key[pos], b = key[pos + stride];
            if ((a > b) == up) {
                key[pos] = b;
                key[pos + stride] = a;
            }
        }
    __syncthreads();
    v[2 * t] = key[2 * t];
    v[2 * t + 1] = key[2 * t + 1];
}

/* Jackknife: thread i recomputes the variance without observation i, O(n^2) on purpose */
__global__ void jackknife(const float *x, int n, double *theta)
{
    __shared__ float chunk[128];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    double s = 0.0, ss = 0.0;
    for (int base = 0; base < n; base += 128) {
        __syncthreads();
        if (base + threadIdx.x < n) chunk[threadIdx.x] = x[base + threadIdx.x];
        __syncthreads();
        const int lim = min(128, n - base);
        for (int j = 0; j < lim; j++)
            if (base + j != i) {
                const double v = chunk[j];
                s += v;
                ss += v * v;
            }
    }
    if (i < n) theta[i] = ss / (n - 1) - (s / (n - 1)) * (s / (n - 1));
}

/* 48 chains per block; every chain keeps its last W states in a row of shared memory */
#define W 32
#define CHAINS 48
__host__ __device__ static inline double log_target(double th) { return -0.5 * th * th - 0.25 * fabs(th - 1.0); }

__global__ void metropolis(double *mean, double *autocov, int burn)
{
    __shared__ double hist[CHAINS][W];
    const int c = threadIdx.x, id = blockIdx.x * CHAINS + c;
    double th = 0.1 * (c % 7), lp = log_target(th);
    for (int it = 0; it < burn + W; it++) {
        const double prop = th + 2.4 * (unif(id + 1000, 2 * it) - 0.5);
        const double lq = log_target(prop);
        if (log(unif(id + 1000, 2 * it + 1)) < lq - lp) {
            th = prop;
            lp = lq;
        }
        if (it >= burn) hist[c][it - burn] = th;
    }
    double m = 0.0;
    for (int k = 0; k < W; k++) m += hist[c][k];
    m /= W;
    mean[id] = m;
    for (int lag = 0; lag < 4; lag++) {
        double a = 0.0;
        for (int k = 0; k + lag < W; k++) a += (hist[c][k] - m) * (hist[c][k + lag] - m);
        autocov[id * 4 + lag] = a / W;
    }
}

/* ecdf[g] = #(x <= grid[g]) / n by binary search in the sorted replicate means */
__global__ void ecdf(const double *sorted, int n, const double *grid, double *out, int ng)
{
    const int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= ng) return;
    int lo = 0, hi = n;
    while (lo < hi) {
        const int mid = (lo + hi) / 2;
        if (sorted[mid] <= grid[g]) lo = mid + 1;
        else hi = mid;
    }
    out[g] = (double)lo / n;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 999;
    const int B = 1024, ng = 777, nblk = 6, nchain = nblk * CHAINS, burn = 200, nthr = 160;
    int nbad = 0;

    std::vector<float> x(n);
    for (int i = 0; i < n; i++) x[i] = (float)(3.0 - log(unif(1, i)) + 0.5 * unif(2, i));

    float *dx;
    double *dboot, *dtheta, *dmean, *dacov, *dgrid, *decdf;
    int *dmult;
    TRY(cudaMalloc(&dx, n * sizeof(float)));
    TRY(cudaMalloc(&dboot, B * sizeof(double)));
    TRY(cudaMalloc(&dmult, B * sizeof(int)));
    TRY(cudaMalloc(&dtheta, n * sizeof(double)));
    TRY(cudaMalloc(&dmean, nchain * sizeof(double)));
    TRY(cudaMalloc(&dacov, nchain * 4 * sizeof(double)));
    TRY(cudaMalloc(&dgrid, ng * sizeof(double)));
    TRY(cudaMalloc(&decdf, ng * sizeof(double)));
    TRY(cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    TRY(cudaMemset(dmult, 0, B * sizeof(int)));

    /* --- bootstrap ------------------------------------------------------------------ */
    resample<<<B, nthr, nthr * sizeof(double) + n * (sizeof(float) + sizeof(int))>>>(dx, n, dboot, dmult);
    TRY(cudaGetLastError());
    std::vector<double> boot(B), ref(B), sorted(B);
    std::vector<int> mult(B);
    TRY(cudaMemcpy(boot.data(), dboot, B * sizeof(double), cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(mult.data(), dmult, B * sizeof(int), cudaMemcpyDeviceToHost));
    for (int b = 0; b < B; b++) {
        std::vector<int> m(n, 0);
        double s = 0;
        for (int i = 0; i < n; i++) {
            const int p = hash2(b, i) % (u32)n;
            s += x[p];
            m[p]++;
        }
        if (!(fabs(s / n - boot[b]) < 1e-9) || *std::max_element(m.begin(), m.end()) != mult[b]) nbad++;
    }
    bitonic_sort<<<1, B / 2, B * sizeof(double)>>>(dboot, B);
    TRY(cudaGetLastError());
    TRY(cudaMemcpy(sorted.data(), dboot, B * sizeof(double), cudaMemcpyDeviceToHost));
    ref = boot;
    std::sort(ref.begin(), ref.end());
    if (ref != sorted) { printf("sort is wrong\n"); nbad++; }
    printf("95%% CI of the mean: [%.5f, %.5f]\n", sorted[(int)(0.025 * B)], sorted[(int)(0.975 * B)]);

    /* --- ecdf --------------------------------------------------------------------------- */
    std::vector<double> grid(ng), F(ng);
    for (int g = 0; g < ng; g++) grid[g] = sorted[0] + (sorted[B - 1] - sorted[0]) * (g + 0.37) / ng;
    TRY(cudaMemcpy(dgrid, grid.data(), ng * sizeof(double), cudaMemcpyHostToDevice));
    ecdf<<<(ng + 95) / 96, 96>>>(dboot, B, dgrid, decdf, ng);
    TRY(cudaGetLastError());
    TRY(cudaMemcpy(F.data(), decdf, ng * sizeof(double), cudaMemcpyDeviceToHost));
    for (int g = 0; g < ng; g++)
        if (F[g] != (double)(std::upper_bound(ref.begin(), ref.end(), grid[g]) - ref.begin()) / B) nbad++;

    /* --- jackknife ------------------------------------------------------------------------ */
    jackknife<<<(n + 127) / 128, 128>>>(dx, n, dtheta);
    TRY(cudaGetLastError());
    std::vector<double> theta(n);
    TRY(cudaMemcpy(theta.data(), dtheta, n * sizeof(double), cudaMemcpyDeviceToHost));
    double S = 0, SS = 0, tbar = 0, vjack = 0;
    for (float v : x) { S += v; SS += (double)v * v; }
    for (int i = 0; i < n; i++) {
        const double s = (S - x[i]) / (n - 1), e = (SS - (double)x[i] * x[i]) / (n - 1) - s * s;
        if (!(fabs(e - theta[i]) < 1e-8)) nbad++;
        tbar += theta[i] / n;
    }
    for (double t : theta) vjack += (t - tbar) * (t - tbar) * (n - 1) / n;
    printf("jackknife s.e. of the variance: %.5f\n", sqrt(vjack));

    /* --- MCMC ------------------------------------------------------------------------------- */
    metropolis<<<nblk, CHAINS>>>(dmean, dacov, burn);
    TRY(cudaGetLastError());
    std::vector<double> mean(nchain), acov(nchain * 4);
    TRY(cudaMemcpy(mean.data(), dmean, nchain * sizeof(double), cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(acov.data(), dacov, nchain * 4 * sizeof(double), cudaMemcpyDeviceToHost));
    for (int id = 0; id < nchain; id++) {
        double h[W], th = 0.1 * (id % CHAINS % 7), lp = log_target(th), m = 0;
        for (int it = 0; it < burn + W; it++) {
            const double prop = th + 2.4 * (unif(id + 1000, 2 * it) - 0.5), lq = log_target(prop);
            if (log(unif(id + 1000, 2 * it + 1)) < lq - lp) { th = prop; lp = lq; }
            if (it >= burn) h[it - burn] = th;
        }
        for (double v : h) m += v / W;
        if (!(fabs(m - mean[id]) < 1e-8)) nbad++;
        for (int lag = 0; lag < 4; lag++) {
            double a = 0;
            for (int k = 0; k + lag < W; k++) a += (h[k] - m) * (h[k + lag] - m) / W;
            if (!(fabs(a - acov[id * 4 + lag]) < 1e-8)) nbad++;
        }
    }

    cudaFree(dx); cudaFree(dboot); cudaFree(dmult); cudaFree(dtheta);
    cudaFree(dmean); cudaFree(dacov); cudaFree(dgrid); cudaFree(decdf);
    if (nbad) { printf("%d bad values\nFAIL\n", nbad); return 1; }
    printf("PASS\n");
    return 0;
}
