// Felsenstein pruning for nucleotide data: 4 states, 4 rate categories.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace cg = cooperative_groups;
using std::vector;

static const int STATES = 4;
static const int RATES = 4;
static const int TIPS = 8;
static const int NODES = 2 * TIPS - 1;

#define SAFE(x)                                                      \
    {                                                                \
        cudaError_t rc = (x);                                        \
        if (rc) {                                                    \
            printf("%d: %s\nFAIL\n", __LINE__, cudaGetErrorString(rc)); \
            exit(1);                                                 \
        }                                                            \
    }

// Jukes-Cantor matrices for all branches and rate classes: P[node][rate][4][4]
__global__ void transitionMatrices(const float* branch, const float* rate, float* P)
{
    int node = blockIdx.x;
    int r = threadIdx.y;
    int e = threadIdx.x;
    float ex = expf(-4.f / 3.f * branch[node] * rate[r]);
    float v = (e / STATES == e % STATES) ? 0.25f + 0.75f * ex : 0.25f - 0.25f * ex;
    P[(node * RATES + r) * STATES * STATES + e] = v;
}

// partials[site][rate][state]; sixteen threads per site, matrices in shared memory
__global__ void pruneTipsSites16(const unsigned char* tipL, const unsigned char* tipR, const float* PL, const float* PR,
                                 float* out, int sites)
{
    __shared__ float mL[RATES * 16];
    __shared__ float mR[RATES * 16];
    int t = threadIdx.x;
    if (t < RATES * 16) {
        mL[t] = PL[t];
        mR[t] = PR[t];
    }
    __syncthreads();
    int site = blockIdx.x * (blockDim.x / 16) + t / 16;
    if (site >= sites)
        return;
    int k = t % 16;
    int row = (k / 4) * 16 + (k % 4) * 4;
    out[site * 16 + k] = mL[row + tipL[site]] * mR[row + tipR[site]];
}

// inner node, four states as float4: one thread per (site, rate)
__global__ void pruneInnerVec4(const float4* left, const float4* right, const float* PL, const float* PR, float4* out,
                               int sites)
{
    extern __shared__ float4 mat[];
    float4* sL = mat;
    float4* sR = mat + RATES * STATES;
    if (threadIdx.x < RATES * STATES) {
        sL[threadIdx.x] = reinterpret_cast<const float4*>(PL)[threadIdx.x];
        sR[threadIdx.x] = reinterpret_cast<const float4*>(PR)[threadIdx.x];
    }
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= sites * RATES)
        return;
    int r = i % RATES;
    float4 a = left[i];
    float4 b = right[i];
    float res[4];
#pragma unroll
    for (int s = 0; s < STATES; ++s) {
        float4 p = sL[r * 4 + s];
        float4 q = sR[r * 4 + s];
        float x = p.x * a.x + p.y * a.y + p.z * a.z + p.w * a.w;
        float y = q.x * b.x + q.y * b.y + q.z * b.z + q.w * b.w;
        res[s] = x * y;
    }
    out[i] = make_float4(res[0], res[1], res[2], res[3]);
}

// scale a site when its largest partial is small; a thread walks 16 floats
__global__ void rescale(float* part, float* logScale, int sites)
{
    int site = blockIdx.x * blockDim.x + threadIdx.x;
    if (site >= sites)
        return;
    float m = 0.f;
    for (int k = 0; k < 16; ++k)
        m = fmaxf(m, part[site * 16 + k]);
    if (m < 0.05f) {
        float inv = 1.f / m;
        for (int k = 0; k < 16; ++k)
            part[site * 16 + k] *= inv;
        logScale[site] += logf(m);
    }
}

__global__ void rootLogLik(const float* part, const float* logScale, const int* weight, float* siteLL, double* total,
                           int sites)
{
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    int perGrid = gridDim.x * blockDim.x / 16;
    double mine = 0;
    for (int site = (blockIdx.x * blockDim.x + threadIdx.x) / 16; site < sites; site += perGrid) {
        float v = part[site * 16 + tile.thread_rank()];
        v = cg::reduce(tile, v, cg::plus<float>());
        if (tile.thread_rank() == 0) {
            float ll = logf(v * (1.f / 16.f)) + logScale[site];
            siteLL[site] = ll;
            mine += (double)ll * weight[site];
        }
    }
    if (tile.thread_rank() == 0)
        atomicAdd(total, mine);
}

struct Merge {
    int l, r, out;
};

int main()
{
    const int sites = 30000;
    std::mt19937 g(1859);
    vector<unsigned char> tips(TIPS * sites);
    vector<int> weight(sites);
    for (int s = 0; s < sites; ++s) {
        int base = g() % 4;
        weight[s] = 1 + g() % 3;
        for (int t = 0; t < TIPS; ++t)
            tips[t * sites + s] = (g() % 10 < 7) ? base : g() % 4;
    }
    vector<float> branch(NODES);
    for (auto& b : branch)
        b = 0.02f + 0.2f * (g() % 1000) / 1000.f;
    float rate[RATES] = {0.137f, 0.477f, 1.0f, 2.386f};
    const Merge tree[TIPS - 1] = {{0, 1, 8}, {2, 3, 9}, {4, 5, 10}, {6, 7, 11}, {8, 9, 12}, {10, 11, 13}, {12, 13, 14}};

    unsigned char* dTips;
    float *dBranch, *dRate, *dP, *dScale, *dSite;
    int* dW;
    double* dTotal;
    float* part[NODES] = {};
    SAFE(cudaMalloc(&dTips, tips.size()));
    SAFE(cudaMalloc(&dBranch, sizeof(float) * NODES));
    SAFE(cudaMalloc(&dRate, sizeof(rate)));
    SAFE(cudaMalloc(&dP, sizeof(float) * NODES * RATES * 16));
    SAFE(cudaMalloc(&dScale, sizeof(float) * sites));
    SAFE(cudaMalloc(&dSite, sizeof(float) * sites));
    SAFE(cudaMalloc(&dW, sizeof(int) * sites));
    SAFE(cudaMalloc(&dTotal, sizeof(double)));
    for (int n = TIPS; n < NODES; ++n)
        SAFE(cudaMalloc(&part[n], sizeof(float) * 16 * sites));
    SAFE(cudaMemcpy(dTips, tips.data(), tips.size(), cudaMemcpyHostToDevice));
    SAFE(cudaMemcpy(dBranch, branch.data(), sizeof(float) * NODES, cudaMemcpyHostToDevice));
    SAFE(cudaMemcpy(dRate, rate, sizeof(rate), cudaMemcpyHostToDevice));
    SAFE(cudaMemcpy(dW, weight.data(), sizeof(int) * sites, cudaMemcpyHostToDevice));
    SAFE(cudaMemset(dScale, 0, sizeof(float) * sites));
    SAFE(cudaMemset(dTotal, 0, sizeof(double)));

    transitionMatrices<<<NODES, dim3(16, RATES)>>>(dBranch, dRate, dP);
    for (const Merge& m : tree) {
        const float* pl = dP + m.l * RATES * 16;
        const float* pr = dP + m.r * RATES * 16;
        if (m.l < TIPS) {
            pruneTipsSites16<<<(sites + 15) / 16, 256>>>(dTips + m.l * sites, dTips + m.r * sites, pl, pr, part[m.out],
                                                         sites);
        } else {
            pruneInnerVec4<<<(sites * RATES + 127) / 128, 128, 2 * 16 * sizeof(float4)>>>(
                (const float4*)part[m.l], (const float4*)part[m.r], pl, pr, (float4*)part[m.out], sites);
            rescale<<<(sites + 127) / 128, 128>>>(part[m.out], dScale, sites);
        }
    }
    rootLogLik<<<120, 256>>>(part[NODES - 1], dScale, dW, dSite, dTotal, sites);
    SAFE(cudaGetLastError());
    SAFE(cudaDeviceSynchronize());

    vector<float> siteLL(sites);
    double total = 0;
    SAFE(cudaMemcpy(siteLL.data(), dSite, sizeof(float) * sites, cudaMemcpyDeviceToHost));
    SAFE(cudaMemcpy(&total, dTotal, sizeof(double), cudaMemcpyDeviceToHost));
    double ref = 0;
    double worst = 0;
    vector<double> P(NODES * RATES * 16);
    for (int n = 0; n < NODES; ++n)
        for (int r = 0; r < RATES; ++r)
            for (int e = 0; e < 16; ++e) {
                double ex = std::exp(-4.0 / 3.0 * branch[n] * rate[r]);
                P[(n * RATES + r) * 16 + e] = (e / 4 == e % 4) ? 0.25 + 0.75 * ex : 0.25 - 0.25 * ex;
            }
    for (int s = 0; s < sites; ++s) {
        double lik = 0;
        for (int r = 0; r < RATES; ++r) {
            double L[NODES][4];
            for (int t = 0; t < TIPS; ++t)
                for (int x = 0; x < 4; ++x)
                    L[t][x] = tips[t * sites + s] == x ? 1.0 : 0.0;
            for (const Merge& m : tree)
                for (int x = 0; x < 4; ++x) {
                    double a = 0;
                    double b = 0;
                    for (int y = 0; y < 4; ++y) {
                        a += P[(m.l * RATES + r) * 16 + x * 4 + y] * L[m.l][y];
                        b += P[(m.r * RATES + r) * 16 + x * 4 + y] * L[m.r][y];
                    }
                    L[m.out][x] = a * b;
                }
            for (int x = 0; x < 4; ++x)
                lik += L[NODES - 1][x] / 16.0;
        }
        double ll = std::log(lik);
        ref += ll * weight[s];
        worst = std::max(worst, std::fabs(ll - siteLL[s]));
    }
    bool ok = worst < 5e-3 && std::fabs(ref - total) < 1e-4 * std::fabs(ref);
    printf("logL %.4f (cpu %.4f) worst site %.2e\n%s\n", total, ref, worst, ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
