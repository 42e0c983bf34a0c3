// Bermudan option under a two-factor short rate model, Longstaff-Schwartz on the GPU. Sobol points from direction
// numbers in constant memory, Moro inverse normal, paths kept step-major; normal equations by block reductions in double.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

namespace cfg {
constexpr int kDims = 16;          // 8 steps x 2 factors
constexpr int kSteps = 8;
constexpr int kBits = 32;
constexpr int kBasis = 4;          // 1, x, x^2, y
constexpr int kMoments = kBasis * (kBasis + 1) / 2 + kBasis;
constexpr int kThreads = 128;
}

__constant__ uint32_t cDirections[cfg::kDims][cfg::kBits];

struct ModelParams {
    double a, sigma, b, eta, rho, dt, strike, r0;
};

static void gpuCheck(cudaError_t e, int line)
{
    if (e != cudaSuccess) { std::printf("line %d: %s\nFAIL\n", line, cudaGetErrorString(e)); std::exit(1); }
}
#define GPU(x) gpuCheck((x), __LINE__)

__host__ __device__ double moroInverse(double u)
{
    const double a[4] = {2.50662823884, -18.61500062529, 41.39119773534, -25.44106049637};
    const double b[4] = {-8.47351093090, 23.08336743743, -21.06224101826, 3.13082909833};
    const double c[9] = {0.3374754822726147, 0.9761690190917186, 0.1607979714918209, 0.0276438810333863, 0.0038405729373609,
                         0.0003951896511919, 0.0000321767881768, 0.0000002888167364, 0.0000003960315187};
    double y = u - 0.5;
    if (fabs(y) < 0.42) {
        double r = y * y;
        return y * (((a[3] * r + a[2]) * r + a[1]) * r + a[0]) / ((((b[3] * r + b[2]) * r + b[1]) * r + b[0]) * r + 1.0);
    }
    double r = y > 0 ? 1.0 - u : u;
    r = log(-log(r));
    double s = c[8];
    for (int i = 7; i >= 0; --i) s = s * r + c[i];
    return y < 0 ? -s : s;
}

// Sobol by Gray code skipping: one thread makes a strided sequence of points in one dimension (blockIdx.y).
__global__ void sobolNormals(double *out, int nPaths)
{
    __shared__ uint32_t v[cfg::kBits];
    const int dim = blockIdx.y;
    if (threadIdx.x < cfg::kBits) v[threadIdx.x] = cDirections[dim][threadIdx.x];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < nPaths; i += gridDim.x * blockDim.x) {
        uint32_t g = i ^ (i >> 1), x = 0;
        for (int k = 0; g != 0; ++k, g >>= 1)
            if (g & 1) x ^= v[k];
        out[(size_t)dim * nPaths + i] = moroInverse((x + 0.5) * (1.0 / 4294967296.0));
    }
}

// Path layout of the first version of this code: path-major (each thread owns a row)
__global__ void evolvePathMajor(const double *z, double2 *states, double *discount, int nPaths, ModelParams p)
{
    const int path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path >= nPaths) return;
    double x = 0, y = 0, df = 1;
    const double ex = exp(-p.a * p.dt), ey = exp(-p.b * p.dt), sq = sqrt(p.dt), rc = sqrt(1 - p.rho * p.rho);
    for (int s = 0; s < cfg::kSteps; ++s) {
        const double z1 = z[(size_t)(2 * s) * nPaths + path], z2 = z[(size_t)(2 * s + 1) * nPaths + path];
        df *= exp(-(p.r0 + x + y) * p.dt);
        x = x * ex + p.sigma * sq * z1;
        y = y * ey + p.eta * sq * (p.rho * z1 + rc * z2);
        states[path * cfg::kSteps + s] = make_double2(x, y);
        discount[path * cfg::kSteps + s] = df;
    }
}

// what the regression wants: step-major, structure of arrays
__global__ void splitStates(const double2 *__restrict__ states, const double *__restrict__ discount,
                            double *__restrict__ xs, double *__restrict__ ys, double *__restrict__ dfs, int nPaths)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;   // over path * steps
    if (i >= nPaths * cfg::kSteps) return;
    const int path = i / cfg::kSteps, s = i % cfg::kSteps;
    const double2 st = states[i];
    xs[s * nPaths + path] = st.x;
    ys[s * nPaths + path] = st.y;
    dfs[s * nPaths + path] = discount[i];
}

__host__ __device__ inline double payoff(double x, double y, const ModelParams &p)
{
    const double v = p.strike - 100.0 * exp(-2.0 * (p.r0 + x) - 1.5 * y);
    return v > 0 ? v : 0;
}

__device__ inline double blockSum(double v, double *wk)
{
    wk[threadIdx.x] = v;
    __syncthreads();
    for (int n = blockDim.x / 2; n > 0; n /= 2) {
        if (threadIdx.x < n) wk[threadIdx.x] += wk[threadIdx.x + n];
        __syncthreads();
    }
    const double r = wk[0];
    __syncthreads();
    return r;
}

// upper triangle of A^T A and A^T b of the in-the-money paths; one row of partial sums a block
__global__ void regressionMoments(const double *__restrict__ xs, const double *__restrict__ ys, const double *__restrict__ dfs,
                                  const double *__restrict__ value, double *__restrict__ partial, int nPaths, int step, ModelParams p)
{
    __shared__ double wk[cfg::kThreads];
    double m[cfg::kMoments];
    for (int k = 0; k < cfg::kMoments; ++k) m[k] = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < nPaths; i += gridDim.x * blockDim.x) {
        const double x = xs[step * nPaths + i], y = ys[step * nPaths + i];
        if (payoff(x, y, p) <= 0) continue;
        const double f[cfg::kBasis] = {1.0, 100 * x, 1e4 * x * x, 100 * y};
        const double b = value[i] / dfs[step * nPaths + i];
        int k = 0;
#pragma unroll
        for (int r = 0; r < cfg::kBasis; ++r)
#pragma unroll
            for (int c = r; c < cfg::kBasis; ++c) m[k++] += f[r] * f[c];
#pragma unroll
        for (int r = 0; r < cfg::kBasis; ++r) m[k++] += f[r] * b;
    }
#pragma unroll
    for (int k = 0; k < cfg::kMoments; ++k) {
        const double s = blockSum(m[k], wk);
        if (threadIdx.x == 0) partial[blockIdx.x * cfg::kMoments + k] = s;
    }
}

__global__ void exerciseStep(const double *__restrict__ xs, const double *__restrict__ ys, const double *__restrict__ dfs,
                             double *__restrict__ value, double4 beta, int nPaths, int step, ModelParams p)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nPaths) {
        const double x = xs[step * nPaths + i], y = ys[step * nPaths + i];
        const double now = payoff(x, y, p);
        const double hold = beta.x + beta.y * 100 * x + beta.z * 1e4 * x * x + beta.w * 100 * y;
        if (now > 0 && now > hold) value[i] = now * dfs[step * nPaths + i];
    }
}

static void solve4(const double *m, double *beta)
{
    double A[4][5];
    int k = 0;
    for (int r = 0; r < 4; ++r) for (int c = r; c < 4; ++c) A[r][c] = A[c][r] = m[k++];
    for (int r = 0; r < 4; ++r) A[r][4] = m[k++];
    for (int i = 0; i < 4; ++i)
        for (int r = 0; r < 4; ++r)
            if (r != i) { double f = A[r][i] / A[i][i]; for (int c = i; c < 5; ++c) A[r][c] -= f * A[i][c]; }
    for (int i = 0; i < 4; ++i) beta[i] = A[i][4] / A[i][i];
}

int main(int argc, char **argv)
{
    const int nPaths = argc > 1 ? std::atoi(argv[1]) : 6000;
    const ModelParams p = {0.1, 0.02, 0.3, 0.015, -0.6, 0.25, 96.0, 0.03};
    uint32_t dir[cfg::kDims][cfg::kBits];
    for (int d = 0; d < cfg::kDims; ++d)
        for (int k = 0; k < cfg::kBits; ++k) {
            // van der Corput in dimension 0, scrambled lower triangular matrices in the others
            uint32_t h = (d * 2654435761u) ^ (k * 40503u);
            h ^= h >> 13; h *= 0x5bd1e995u; h ^= h >> 15;
            dir[d][k] = (1u << (31 - k)) | (d == 0 ? 0u : (h & ((1u << (31 - k)) - 1u)));
        }
    GPU(cudaMemcpyToSymbol(cDirections, dir, sizeof(dir)));
    double *z, *df, *xs, *ys, *dfs, *value, *partial; double2 *states;
    const size_t col = nPaths * sizeof(double);
    const int blocks = 20;
    GPU(cudaMalloc(&z, cfg::kDims * col));
    GPU(cudaMalloc(&states, cfg::kSteps * col * 2));
    GPU(cudaMalloc(&df, cfg::kSteps * col));
    GPU(cudaMalloc(&xs, cfg::kSteps * col));
    GPU(cudaMalloc(&ys, cfg::kSteps * col));
    GPU(cudaMalloc(&dfs, cfg::kSteps * col));
    GPU(cudaMalloc(&value, col));
    GPU(cudaMalloc(&partial, blocks * cfg::kMoments * sizeof(double)));
    GPU(cudaMemset(value, 0, col));

    sobolNormals<<<dim3(10, cfg::kDims), 256>>>(z, nPaths);
    const int nb = (nPaths + cfg::kThreads - 1) / cfg::kThreads;
    evolvePathMajor<<<nb, cfg::kThreads>>>(z, states, df, nPaths, p);
    splitStates<<<(nPaths * cfg::kSteps + 255) / 256, 256>>>(states, df, xs, ys, dfs, nPaths);

    std::vector<double> hz(cfg::kDims * nPaths), hx(cfg::kSteps * nPaths), hy(hx), hd(hx), hv(nPaths, 0.0), gv(nPaths), part(blocks * cfg::kMoments);
    GPU(cudaMemcpy(hz.data(), z, hz.size() * 8, cudaMemcpyDeviceToHost));
    bool ok = true;
    for (int i = 0; i < nPaths; i += 17)
        for (int d = 0; d < cfg::kDims; ++d) {
            uint32_t g = i ^ (i >> 1), x = 0;
            for (int k = 0; k < 32; ++k) if (g >> k & 1) x ^= dir[d][k];
            if (std::fabs(hz[d * nPaths + i] - moroInverse((x + 0.5) / 4294967296.0)) > 1e-8) ok = false;
        }
    for (int i = 0; i < nPaths; ++i) {
        double x = 0, y = 0, f = 1;
        for (int s = 0; s < cfg::kSteps; ++s) {
            f *= std::exp(-(p.r0 + x + y) * p.dt);
            const double z1 = hz[2 * s * nPaths + i], z2 = hz[(2 * s + 1) * nPaths + i];
            x = x * std::exp(-p.a * p.dt) + p.sigma * std::sqrt(p.dt) * z1;
            y = y * std::exp(-p.b * p.dt) + p.eta * std::sqrt(p.dt) * (p.rho * z1 + std::sqrt(1 - p.rho * p.rho) * z2);
            hx[s * nPaths + i] = x; hy[s * nPaths + i] = y; hd[s * nPaths + i] = f;
        }
    }
    for (int step = cfg::kSteps - 1; step >= 1; step -= 3) {
        regressionMoments<<<blocks, cfg::kThreads>>>(xs, ys, dfs, value, partial, nPaths, step, p);
        GPU(cudaMemcpy(part.data(), partial, part.size() * 8, cudaMemcpyDeviceToHost));
        double m[cfg::kMoments] = {}, want[cfg::kMoments] = {}, beta[4] = {};
        for (size_t k = 0; k < part.size(); ++k) m[k % cfg::kMoments] += part[k];
        for (int i = 0; i < nPaths; ++i) {
            const double x = hx[step * nPaths + i], y = hy[step * nPaths + i];
            if (payoff(x, y, p) <= 0) continue;
            const double f[4] = {1.0, 100 * x, 1e4 * x * x, 100 * y};
            int k = 0;
            for (int r = 0; r < 4; ++r) for (int c = r; c < 4; ++c) want[k++] += f[r] * f[c];
            for (int r = 0; r < 4; ++r) want[k++] += f[r] * hv[i] / hd[step * nPaths + i];
        }
        for (int k = 0; k < cfg::kMoments; ++k)
            if (std::fabs(m[k] - want[k]) > 1e-6 * (1 + std::fabs(want[k]))) { ok = false; std::printf("moment %d step %d: %g %g\n", k, step, m[k], want[k]); }
        solve4(want, beta);
        exerciseStep<<<nb, cfg::kThreads>>>(xs, ys, dfs, value, make_double4(beta[0], beta[1], beta[2], beta[3]), nPaths, step, p);
        for (int i = 0; i < nPaths; ++i) {
            const double x = hx[step * nPaths + i], y = hy[step * nPaths + i], now = payoff(x, y, p);
            if (now > 0 && now > beta[0] + beta[1] * 100 * x + beta[2] * 1e4 * x * x + beta[3] * 100 * y) hv[i] = now * hd[step * nPaths + i];
        }
    }
    GPU(cudaMemcpy(gv.data(), value, col, cudaMemcpyDeviceToHost));
    double a = 0, b = 0;
    for (int i = 0; i < nPaths; ++i) { a += gv[i] / nPaths; b += hv[i] / nPaths; }
    ok = ok && std::fabs(a - b) < 1e-3;
    std::printf("value %.6f (host %.6f)\n%s\n", a, b, ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
