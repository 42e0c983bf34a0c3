// nvcc: -std=c++17
// MPPI style rollouts for a 6-joint arm: policies choose the trajectory layout.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <type_traits>
#include <vector>
#include <cuda_runtime.h>

namespace arm {

inline constexpr int kJoints = 6;
inline constexpr int kHorizon = 32;
inline constexpr int kRollouts = 4096;

struct DhRow {
    float a;
    float sinAlpha;
    float cosAlpha;
    float d;
};

__constant__ DhRow g_dh[kJoints];
__constant__ float g_limit[kJoints];

// ---- layout policies -------------------------------------------------
struct RolloutMajor {
    __host__ __device__ static constexpr int index(int r, int t, int j)
    {
        return (r * kHorizon + t) * kJoints + j;
    }
};

struct RolloutMinor {
    __host__ __device__ static constexpr int index(int r, int t, int j)
    {
        return (t * kJoints + j) * kRollouts + r;
    }
};

template <typename Real>
struct Transform {
    Real m[12];
};

template <typename Real>
__host__ __device__ inline void chain(Transform<Real>& T, const DhRow& row, Real s, Real c)
{
    for (int i = 0; i < 3; ++i) {
        Real r0 = T.m[4 * i + 0];
        Real r1 = T.m[4 * i + 1];
        Real r2 = T.m[4 * i + 2];
        Real p = T.m[4 * i + 3];
        T.m[4 * i + 0] = r0 * c + r1 * s;
        T.m[4 * i + 1] = -r0 * s * row.cosAlpha + r1 * c * row.cosAlpha + r2 * row.sinAlpha;
        T.m[4 * i + 2] = r0 * s * row.sinAlpha - r1 * c * row.sinAlpha + r2 * row.cosAlpha;
        T.m[4 * i + 3] = r0 * row.a * c + r1 * row.a * s + r2 * row.d + p;
    }
}

// ---- kernels ---------------------------------------------------------
__device__ inline float hashNoise(unsigned x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    x ^= x >> 16;
    return (x >> 8) * (2.0f / 16777216.0f) - 1.0f;
}

template <class Layout>
__global__ void sampleControls(const float* nominal, float* controls, float sigma, unsigned seed)
{
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= kRollouts)
        return;
    for (int t = 0; t < kHorizon; ++t)
        for (int j = 0; j < kJoints; ++j) {
            const unsigned key = (r * kHorizon + t) * kJoints + j + seed;
            controls[Layout::index(r, t, j)] = nominal[t * kJoints + j] + sigma * hashNoise(key);
        }
}

template <class Layout>
__global__ void rollout(const float* __restrict__ controls, const float* __restrict__ q0, float3 goal, float dt,
                        float* __restrict__ cost, float* __restrict__ finalPos)
{
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= kRollouts)
        return;
    float q[kJoints];
#pragma unroll
    for (int j = 0; j < kJoints; ++j)
        q[j] = q0[j];
    float total = 0.f;
    float px = 0.f, py = 0.f, pz = 0.f;
    for (int t = 0; t < kHorizon; ++t) {
        Transform<float> T = {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}};
        float effort = 0.f;
#pragma unroll
        for (int j = 0; j < kJoints; ++j) {
            const float u = controls[Layout::index(r, t, j)];
            q[j] = fminf(fmaxf(q[j] + dt * u, -g_limit[j]), g_limit[j]);
            effort += u * u;
            float s, c;
            sincosf(q[j], &s, &c);
            chain(T, g_dh[j], s, c);
        }
        px = T.m[3];
        py = T.m[7];
        pz = T.m[11];
        const float dx = px - goal.x;
        const float dy = py - goal.y;
        const float dz = pz - goal.z;
        total += dx * dx + dy * dy + dz * dz + 0.001f * effort;
    }
    cost[r] = total;
    finalPos[3 * r + 0] = px;
    finalPos[3 * r + 1] = py;
    finalPos[3 * r + 2] = pz;
}

template <int Block>
__global__ void minCost(const float* cost, float* out)
{
    __shared__ float s[Block];
    float m = 1e30f;
    for (int i = threadIdx.x; i < kRollouts; i += Block)
        m = fminf(m, cost[i]);
    s[threadIdx.x] = m;
    __syncthreads();
    for (int w = Block / 2; w > 0; w >>= 1) {
        if (threadIdx.x < w)
            s[threadIdx.x] = fminf(s[threadIdx.x], s[threadIdx.x + w]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *out = s[0];
}

__global__ void softWeights(const float* cost, const float* best, float* weight, float* norm, float invTemp)
{
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    const float w = r < kRollouts ? expf(-(cost[r] - *best) * invTemp) : 0.f;
    if (r < kRollouts)
        weight[r] = w;
    float s = w;
    for (int o = 16; o; o >>= 1)
        s += __shfl_down_sync(0xffffffffu, s, o);
    if ((threadIdx.x & 31) == 0)
        atomicAdd(norm, s);
}

// one block per (t, j); for RolloutMajor this walks memory with a stride of 768 bytes
template <class Layout>
__global__ void blendControls(const float* controls, const float* weight, const float* norm, float* nominal)
{
    __shared__ float s[8];
    const int t = blockIdx.x / kJoints;
    const int j = blockIdx.x % kJoints;
    float acc = 0.f;
    for (int r = threadIdx.x; r < kRollouts; r += blockDim.x)
        acc += weight[r] * controls[Layout::index(r, t, j)];
    for (int o = 16; o; o >>= 1)
        acc += __shfl_down_sync(0xffffffffu, acc, o);
    if ((threadIdx.x & 31) == 0)
        s[threadIdx.x >> 5] = acc;
    __syncthreads();
    if (threadIdx.x == 0) {
        float v = 0.f;
        for (int w = 0; w < 8; ++w)
            v += s[w];
        nominal[t * kJoints + j] = v / *norm;
    }
}

// ---- host ------------------------------------------------------------
void guard(cudaError_t e)
{
    if (e != cudaSuccess)
        throw std::runtime_error(cudaGetErrorString(e));
}

struct Result {
    std::vector<float> controls;
    std::vector<float> cost;
    std::vector<float> pos;
    std::vector<float> nominal;
};

template <class Layout>
Result solve(const std::vector<float>& nominal, const std::vector<float>& q0, float3 goal)
{
    const size_t nc = size_t(kRollouts) * kHorizon * kJoints;
    float *dNom, *dNew, *dCtl, *dQ, *dCost, *dPos, *dW, *dScal;
    guard(cudaMalloc(&dNom, nominal.size() * 4));
    guard(cudaMalloc(&dNew, nominal.size() * 4));
    guard(cudaMalloc(&dCtl, nc * 4));
    guard(cudaMalloc(&dQ, kJoints * 4));
    guard(cudaMalloc(&dCost, kRollouts * 4));
    guard(cudaMalloc(&dPos, 3 * kRollouts * 4));
    guard(cudaMalloc(&dW, kRollouts * 4));
    guard(cudaMalloc(&dScal, 8));
    guard(cudaMemset(dScal, 0, 8));
    guard(cudaMemcpy(dNom, nominal.data(), nominal.size() * 4, cudaMemcpyHostToDevice));
    guard(cudaMemcpy(dQ, q0.data(), kJoints * 4, cudaMemcpyHostToDevice));
    sampleControls<Layout><<<kRollouts / 128, 128>>>(dNom, dCtl, 0.6f, 99u);
    rollout<Layout><<<kRollouts / 64, 64>>>(dCtl, dQ, goal, 0.05f, dCost, dPos);
    minCost<512><<<1, 512>>>(dCost, dScal);
    softWeights<<<kRollouts / 256, 256>>>(dCost, dScal, dW, dScal + 1, 2.0f);
    blendControls<Layout><<<kHorizon * kJoints, 256>>>(dCtl, dW, dScal + 1, dNew);
    guard(cudaGetLastError());
    guard(cudaDeviceSynchronize());
    Result res;
    res.controls.resize(nc);
    res.cost.resize(kRollouts);
    res.pos.resize(3 * kRollouts);
    res.nominal.resize(nominal.size());
    guard(cudaMemcpy(res.controls.data(), dCtl, nc * 4, cudaMemcpyDeviceToHost));
    guard(cudaMemcpy(res.cost.data(), dCost, kRollouts * 4, cudaMemcpyDeviceToHost));
    guard(cudaMemcpy(res.pos.data(), dPos, 3 * kRollouts * 4, cudaMemcpyDeviceToHost));
    guard(cudaMemcpy(res.nominal.data(), dNew, nominal.size() * 4, cudaMemcpyDeviceToHost));
    for (float* p : {dNom, dNew, dCtl, dQ, dCost, dPos, dW, dScal})
        guard(cudaFree(p));
    return res;
}

template <class Layout>
bool verify(const Result& r, const DhRow* dh, const float* limit, const std::vector<float>& q0, float3 goal)
{
    double worst = 0;
    std::vector<double> cost(kRollouts);
    for (int k = 0; k < kRollouts; ++k) {
        double q[kJoints];
        std::copy(q0.begin(), q0.end(), q);
        double total = 0;
        Transform<double> T;
        for (int t = 0; t < kHorizon; ++t) {
            T = {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}};
            double effort = 0;
            for (int j = 0; j < kJoints; ++j) {
                const double u = r.controls[Layout::index(k, t, j)];
                q[j] = std::min(std::max(q[j] + 0.05 * u, -(double)limit[j]), (double)limit[j]);
                effort += u * u;
                chain(T, dh[j], std::sin(q[j]), std::cos(q[j]));
            }
            const double dx = T.m[3] - goal.x;
            const double dy = T.m[7] - goal.y;
            const double dz = T.m[11] - goal.z;
            total += dx * dx + dy * dy + dz * dz + 0.001 * effort;
        }
        cost[k] = total;
        worst = std::max(worst, std::fabs(total - r.cost[k]) / (1 + total));
        worst = std::max(worst, std::fabs(T.m[3] - r.pos[3 * k]));
        worst = std::max(worst, std::fabs(T.m[11] - r.pos[3 * k + 2]));
    }
    const double best = *std::min_element(cost.begin(), cost.end());
    double norm = 0;
    std::vector<double> blend(kHorizon * kJoints, 0.0);
    for (int k = 0; k < kRollouts; ++k) {
        const double w = std::exp(-(cost[k] - best) * 2.0);
        norm += w;
        for (int i = 0; i < kHorizon * kJoints; ++i)
            blend[i] += w * r.controls[Layout::index(k, i / kJoints, i % kJoints)];
    }
    double worstBlend = 0;
    for (int i = 0; i < kHorizon * kJoints; ++i)
        worstBlend = std::max(worstBlend, std::fabs(blend[i] / norm - r.nominal[i]));
    std::printf("rollout error %.2e blend error %.2e\n", worst, worstBlend);
    return worst < 1e-3 && worstBlend < 2e-3;
}

}  // namespace arm

int main()
{
    using namespace arm;
    const float hp = 1.5707963f;
    const float alpha[kJoints] = {hp, 0.f, 0.f, hp, -hp, 0.f};
    const float a[kJoints] = {0.f, -0.425f, -0.392f, 0.f, 0.f, 0.f};
    const float d[kJoints] = {0.089f, 0.f, 0.f, 0.109f, 0.095f, 0.082f};
    DhRow dh[kJoints];
    float limit[kJoints];
    for (int j = 0; j < kJoints; ++j) {
        dh[j] = DhRow{a[j], std::sin(alpha[j]), std::cos(alpha[j]), d[j]};
        limit[j] = 1.2f + 0.2f * j;
    }
    std::mt19937 rng(8);
    std::uniform_real_distribution<float> u(-0.4f, 0.4f);
    std::vector<float> nominal(kHorizon * kJoints);
    std::vector<float> q0(kJoints);
    for (auto& v : nominal)
        v = u(rng);
    for (auto& v : q0)
        v = u(rng);
    const float3 goal = make_float3(-0.4f, 0.3f, 0.35f);
    bool ok = true;
    try {
        guard(cudaMemcpyToSymbol(g_dh, dh, sizeof(dh)));
        guard(cudaMemcpyToSymbol(g_limit, limit, sizeof(limit)));
        ok = verify<RolloutMajor>(solve<RolloutMajor>(nominal, q0, goal), dh, limit, q0, goal);
        ok = verify<RolloutMinor>(solve<RolloutMinor>(nominal, q0, goal), dh, limit, q0, goal) && ok;
    } catch (const std::exception& e) {
        std::printf("%s\n", e.what());
        ok = false;
    }
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
