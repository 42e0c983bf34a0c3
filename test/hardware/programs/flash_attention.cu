// Single-precision attention forward, O = softmax(Q K^T / sqrt(d)) V.
// Tensors are [head][token][D].
//  attn_rowthread : one thread owns a query row, K/V tiles in dynamic shared
//  attn_warprows  : one warp owns 4 query rows, lanes own keys then columns,
//                   K tile padded, online softmax with shuffles
//  scores_naive / softmax_pv_naive : unfused pair, scores through global
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

constexpr int HEADS = 12, SEQ = 512, D = 32;
constexpr float SCALE = 0.17677669529f;     // 1/sqrt(32)

#define ck(e) ck_(e, __LINE__)
static void ck_(cudaError_t e, int line)
{
    if (e) { fprintf(stderr, "cuda error, line %d: %s\n", line, cudaGetErrorString(e)); exit(1); }
}

template <int BC>
__global__ void attn_rowthread(const float *__restrict__ Q, const float *__restrict__ K,
                               const float *__restrict__ V, float *__restrict__ O)
{
    extern __shared__ __align__(16) float smem[];
    float *sK = smem;                 // BC x D
    float *sV = sK + BC * D;          // BC x D
    float *sS = sV + BC * D;          // blockDim.x x BC: thread-private scores
    const int tid = threadIdx.x;
    const size_t head = (size_t)blockIdx.y * SEQ * D;
    const int row = blockIdx.x * blockDim.x + tid;

    float q[D], acc[D];
    for (int i = 0; i < D; i++) {
        q[i] = Q[head + (size_t)row * D + i] * SCALE;
        acc[i] = 0.f;
    }
    float m = -INFINITY, l = 0.f;
    for (int j0 = 0; j0 < SEQ; j0 += BC) {
        for (int i = tid; i < BC * D; i += blockDim.x) {
            sK[i] = K[head + (size_t)j0 * D + i];
            sV[i] = V[head + (size_t)j0 * D + i];
        }
        __syncthreads();
        float mNew = m;
        for (int j = 0; j < BC; j++) {
            float s = 0.f;
#pragma unroll
            for (int i = 0; i < D; i++) s += q[i] * sK[j * D + i];
            sS[tid * BC + j] = s;
            mNew = fmaxf(mNew, s);
        }
        const float corr = __expf(m - mNew);
        l *= corr;
#pragma unroll
        for (int i = 0; i < D; i++) acc[i] *= corr;
        for (int j = 0; j < BC; j++) {
            const float p = __expf(sS[tid * BC + j] - mNew);
            l += p;
#pragma unroll
            for (int i = 0; i < D; i++) acc[i] += p * sV[j * D + i];
        }
        m = mNew;
        __syncthreads();
    }
    for (int i = 0; i < D; i++) O[head + (size_t)row * D + i] = acc[i] / l;
}

template <int WARPS, int ROWS>
__global__ void __launch_bounds__(WARPS * 32)
attn_warprows(const float *__restrict__ Q, const float *__restrict__ K,
              const float *__restrict__ V, float *__restrict__ O)
{
    constexpr int BC = 32, LD = D + 1;
    static_assert(D == 32, "one lane per output column");
    extern __shared__ __align__(16) float smem[];
    float *sQ = smem;                          // WARPS*ROWS x D
    float *sK = sQ + WARPS * ROWS * D;         // BC x LD
    float *sV = sK + BC * LD;                  // BC x D
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t head = (size_t)blockIdx.y * SEQ * D;
    const int row0 = blockIdx.x * WARPS * ROWS;

    for (int i = threadIdx.x; i < WARPS * ROWS * D / 4; i += WARPS * 32) {
        float4 t = reinterpret_cast<const float4 *>(Q + head + (size_t)row0 * D)[i];
        reinterpret_cast<float4 *>(sQ)[i] = make_float4(t.x * SCALE, t.y * SCALE, t.z * SCALE, t.w * SCALE);
    }

    float acc[ROWS], m[ROWS], l[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) { acc[r] = 0.f; l[r] = 0.f; m[r] = -INFINITY; }

    for (int j0 = 0; j0 < SEQ; j0 += BC) {
        __syncthreads();
        for (int i = threadIdx.x; i < BC * D; i += WARPS * 32) {
            sK[(i / D) * LD + i % D] = K[head + (size_t)j0 * D + i];
            sV[i] = V[head + (size_t)j0 * D + i];
        }
        __syncthreads();
        float s[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; r++) s[r] = 0.f;
#pragma unroll 8
        for (int i = 0; i < D; i++) {
            const float k = sK[lane * LD + i];
#pragma unroll
            for (int r = 0; r < ROWS; r++) s[r] += sQ[(warp * ROWS + r) * D + i] * k;
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            float mx = s[r];
#pragma unroll
            for (int o = 16; o; o >>= 1) mx = fmaxf(mx, __shfl_xor_sync(0xffffffff, mx, o));
            mx = fmaxf(mx, m[r]);
            const float p = __expf(s[r] - mx);
            float ps = p;
#pragma unroll
            for (int o = 16; o; o >>= 1) ps += __shfl_xor_sync(0xffffffff, ps, o);
            const float corr = __expf(m[r] - mx);
            m[r] = mx;
            l[r] = l[r] * corr + ps;
            acc[r] *= corr;
            s[r] = p;
        }
#pragma unroll 4
        for (int j = 0; j < BC; j++) {
            const float v = sV[j * D + lane];
#pragma unroll
            for (int r = 0; r < ROWS; r++) acc[r] += __shfl_sync(0xffffffff, s[r], j) * v;
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        O[head + (size_t)(row0 + warp * ROWS + r) * D + lane] = acc[r] / l[r];
}

// S[h][i][j]; lanes vary the key index j, so each lane reads its own K row
__global__ void scores_naive(const float *Q, const float *K, float *S)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    int h = blockIdx.z;
    float s = 0.f;
    for (int d = 0; d < D; d++)
        s += Q[((size_t)h * SEQ + i) * D + d] * K[((size_t)h * SEQ + j) * D + d];
    S[((size_t)h * SEQ + i) * SEQ + j] = s * SCALE;
}

// block of D threads per query row; every thread walks the whole score row
__global__ void softmax_pv_naive(const float *S, const float *V, float *O)
{
    const int i = blockIdx.x, h = blockIdx.y, d = threadIdx.x;
    const float *row = S + ((size_t)h * SEQ + i) * SEQ;
    float mx = -INFINITY, l = 0.f, acc = 0.f;
    for (int j = 0; j < SEQ; j++) mx = fmaxf(mx, row[j]);
    for (int j = 0; j < SEQ; j++) {
        float p = __expf(row[j] - mx);
        l += p;
        acc += p * V[((size_t)h * SEQ + j) * D + d];
    }
    O[((size_t)h * SEQ + i) * D + d] = acc / l;
}

static double check(const char *name, float *dO, const std::vector<float> &q,
                    const std::vector<float> &k, const std::vector<float> &v)
{
    std::vector<float> o(q.size());
    ck(cudaGetLastError());
    ck(cudaMemcpy(o.data(), dO, o.size() * sizeof(float), cudaMemcpyDeviceToHost));
    ck(cudaMemset(dO, 0, o.size() * sizeof(float)));
    double worst = 0;
    std::vector<double> p(SEQ);
    for (int row = 0; row < HEADS * SEQ; row += 13) {
        const size_t hb = (size_t)(row / SEQ) * SEQ * D;
        double l = 0, out[D] = {0};
        for (int j = 0; j < SEQ; j++) {
            double s = 0;
            for (int i = 0; i < D; i++) s += (double)q[(size_t)row * D + i] * k[hb + j * D + i];
            l += p[j] = exp(s * SCALE);
        }
        for (int j = 0; j < SEQ; j++)
            for (int i = 0; i < D; i++) out[i] += p[j] / l * v[hb + j * D + i];
        for (int i = 0; i < D; i++) worst = fmax(worst, fabs(out[i] - o[(size_t)row * D + i]));
    }
    printf("%-16s worst %.2e\n", name, worst);
    return worst;
}

int main()
{
    const size_t n = (size_t)HEADS * SEQ * D, bytes = n * sizeof(float);
    std::vector<float> q(n), k(n), v(n);
    unsigned s = 31337;
    for (std::vector<float> *t : {&q, &k, &v})
        for (float &x : *t) { s = s * 69069u + 1u; x = (s >> 16) / 32768.0f - 1.0f; }
    float *dq, *dk, *dv, *dout, *ds;
    ck(cudaMalloc(&dq, bytes)); ck(cudaMalloc(&dk, bytes)); ck(cudaMalloc(&dv, bytes));
    ck(cudaMalloc(&dout, bytes)); ck(cudaMalloc(&ds, (size_t)HEADS * SEQ * SEQ * sizeof(float)));
    ck(cudaMemcpy(dq, q.data(), bytes, cudaMemcpyHostToDevice));
    ck(cudaMemcpy(dk, k.data(), bytes, cudaMemcpyHostToDevice));
    ck(cudaMemcpy(dv, v.data(), bytes, cudaMemcpyHostToDevice));

    double worst = 0;
    constexpr int BC = 32, BR = 64, WARPS = 8, ROWS = 4;
    attn_rowthread<BC><<<dim3(SEQ / BR, HEADS), BR, (2 * BC * D + BR * BC) * sizeof(float)>>>(dq, dk, dv, dout);
    worst = fmax(worst, check("rowthread", dout, q, k, v));
    const size_t shBytes = (WARPS * ROWS * D + 32 * (D + 1) + 32 * D) * sizeof(float);
    attn_warprows<WARPS, ROWS><<<dim3(SEQ / (WARPS * ROWS), HEADS), WARPS * 32, shBytes>>>(dq, dk, dv, dout);
    worst = fmax(worst, check("warprows", dout, q, k, v));
    scores_naive<<<dim3(SEQ / 32, SEQ / 8, HEADS), dim3(32, 8)>>>(dq, dk, ds);
    softmax_pv_naive<<<dim3(SEQ, HEADS), D>>>(ds, dv, dout);
    worst = fmax(worst, check("unfused", dout, q, k, v));

    cudaFree(dq); cudaFree(dk); cudaFree(dv); cudaFree(dout); cudaFree(ds);
    const bool pass = worst < 1e-4;
    puts(pass ? "PASS" : "FAIL");
    return pass ? 0 : 1;
}
