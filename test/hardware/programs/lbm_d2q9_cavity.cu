// D2Q9 lattice Boltzmann cavity: array-of-structures kernel (slow) and SoA pull kernel, ping-pong
#include <cstdio>
#include <cmath>
#include <vector>
#include <utility>
#include <cuda_runtime.h>

namespace lbm {
constexpr int W = 250, H = 170, Q = 9;
__constant__ int cx[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
__constant__ int cy[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant__ int opp[Q] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
__constant__ float wt[Q] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};
const int hcx[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, hcy[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1}, hopp[Q] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
const float hwt[Q] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};

struct AoS { __host__ __device__ static int at(int x, int y, int q) { return (y * W + x) * Q + q; } };
struct SoA { __host__ __device__ static int at(int x, int y, int q) { return (q * H + y) * W + x; } };

template <class L> __global__ void init(float* f) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H) return;
    for (int q = 0; q < Q; ++q) f[L::at(x, y, q)] = wt[q];
}

template <class L> __global__ void stream_collide(const float* __restrict__ f, float* __restrict__ g, float omega, float ulid) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H) return;
    float p[Q];
#pragma unroll
    for (int q = 0; q < Q; ++q) {
        int sx = x - cx[q], sy = y - cy[q];
        if (sx < 0 || sx >= W || sy < 0 || sy >= H) {
            p[q] = f[L::at(x, y, opp[q])];
            if (sy >= H) p[q] += 6.0f * wt[q] * cx[q] * ulid;
        } else p[q] = f[L::at(sx, sy, q)];
    }
    float rho = 0, ux = 0, uy = 0;
#pragma unroll
    for (int q = 0; q < Q; ++q) { rho += p[q]; ux += cx[q] * p[q]; uy += cy[q] * p[q]; }
    ux /= rho; uy /= rho;
    float usq = 1.5f * (ux * ux + uy * uy);
#pragma unroll
    for (int q = 0; q < Q; ++q) {
        float cu = 3.0f * (cx[q] * ux + cy[q] * uy);
        float eq = wt[q] * rho * (1.0f + cu + 0.5f * cu * cu - usq);
        g[L::at(x, y, q)] = p[q] + omega * (eq - p[q]);
    }
}

__global__ void speed_field(const float* f, float* sp) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= W * H) return;
    int x = i % W, y = i / W;
    float r = 0, u = 0, v = 0;
    for (int q = 0; q < Q; ++q) { float t = f[SoA::at(x, y, q)]; r += t; u += t * cx[q]; v += t * cy[q]; }
    sp[i] = hypotf(u / r, v / r);
}
} // namespace lbm
using namespace lbm;

int main() {
    const size_t N = (size_t)W * H * Q;
    const float om = 1.6f, ul = 0.1f;
    float *a0, *a1, *s0, *s1, *sp;
    for (float** p : {&a0, &a1, &s0, &s1}) cudaMalloc(p, N * 4);
    cudaMalloc(&sp, W * H * 4);
    dim3 blk(50, 6), grd((W + 49) / 50, (H + 5) / 6);
    init<AoS><<<grd, blk>>>(a0);
    init<SoA><<<grd, blk>>>(s0);
    const int steps = 4;
    for (int t = 0; t < steps; ++t) {
        stream_collide<AoS><<<grd, blk>>>(a0, a1, om, ul);
        stream_collide<SoA><<<grd, blk>>>(s0, s1, om, ul);
        std::swap(a0, a1); std::swap(s0, s1);
    }
    speed_field<<<(W * H + 255) / 256, 256>>>(s0, sp);
    std::vector<float> A(N), S(N), V(W * H), r0(N), r1(N);
    cudaMemcpy(A.data(), a0, N * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(S.data(), s0, N * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(V.data(), sp, W * H * 4, cudaMemcpyDeviceToHost);
    if (cudaGetLastError() != cudaSuccess) { puts("FAIL"); return 1; }
    for (size_t i = 0; i < N; ++i) r0[i] = hwt[i / (W * H)];
    for (int t = 0; t < steps; ++t) {
        for (int y = 0; y < H; ++y) for (int x = 0; x < W; ++x) {
            float p[Q], rho = 0, ux = 0, uy = 0;
            for (int q = 0; q < Q; ++q) {
                int sx = x - hcx[q], sy = y - hcy[q];
                if (sx < 0 || sx >= W || sy < 0 || sy >= H) {
                    p[q] = r0[SoA::at(x, y, hopp[q])];
                    if (sy >= H) p[q] += 6.0f * hwt[q] * hcx[q] * ul;
                } else p[q] = r0[SoA::at(sx, sy, q)];
                rho += p[q]; ux += hcx[q] * p[q]; uy += hcy[q] * p[q];
            }
            ux /= rho; uy /= rho;
            float usq = 1.5f * (ux * ux + uy * uy);
            for (int q = 0; q < Q; ++q) {
                float cu = 3 * (hcx[q] * ux + hcy[q] * uy);
                r1[SoA::at(x, y, q)] = p[q] + om * (hwt[q] * rho * (1 + cu + 0.5f * cu * cu - usq) - p[q]);
            }
        }
        std::swap(r0, r1);
    }
    double e = 0, vm = 0;
    for (int y = 0; y < H; ++y) for (int x = 0; x < W; ++x) {
        for (int q = 0; q < Q; ++q) {
            e = fmax(e, fabs(A[AoS::at(x, y, q)] - r0[SoA::at(x, y, q)]));
            e = fmax(e, fabs(S[SoA::at(x, y, q)] - r0[SoA::at(x, y, q)]));
        }
        vm = fmax(vm, V[y * W + x]);
    }
    printf("err %g vmax %g\n", e, vm);
    bool ok = e < 1e-5 && vm > 0.01 && vm < 0.2;
    puts(ok ? "PASS" : "FAIL");
    return !ok;
}
