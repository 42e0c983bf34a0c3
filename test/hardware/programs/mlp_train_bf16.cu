/*
One training step of the first half of a transformer MLP block, in the manner of the small C/CUDA trainers:
    h   = layernorm(x)            bf16, stats in fp32
    pre = h @ W + b               bf16 tensor cores
    y   = gelu(pre),  loss = 0.5 * mean((y - target)^2)
and all the way back: dgelu, bias grad, dW, dh, layernorm backward, global grad norm, clipping, AdamW.
Sizes are small and B*T is deliberately not a multiple of anything.
*/
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include <assert.h>
#include <vector>
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <mma.h>
using namespace nvcuda;

typedef __nv_bfloat16 floatX;

#define CEIL_DIV(M, N) (((M) + (N) - 1) / (N))
#define WARP_SIZE 32
void cuda_check_(cudaError_t error, const char* file, int line) {
    if (error != cudaSuccess) {
        printf("[CUDA ERROR] at file %s:%d: %s\nFAIL\n", file, line, cudaGetErrorString(error));
        exit(EXIT_FAILURE);
    }
}
#define cudaCheck(err) (cuda_check_(err, __FILE__, __LINE__))

// ----------------------------------------------------------------------------
// model configuration

typedef struct {
    int B, T, C, F;
} Config;

enum { P_GAMMA, P_BETA, P_W, P_BIAS, NUM_PARAMS };

typedef struct {
    size_t count[NUM_PARAMS];
    size_t offset[NUM_PARAMS];
    size_t total;
} ParamLayout;

__host__ __device__ inline float hash_float(unsigned i) {  // [-1, 1)
    i ^= i >> 16; i *= 0x7feb352d; i ^= i >> 15; i *= 0x846ca68b; i ^= i >> 16;
    return (float)(i >> 8) / 8388608.0f - 1.0f;
}

__device__ inline float warpReduceSum(float val) {
    for (int offset = 16; offset > 0; offset /= 2) val += __shfl_xor_sync(0xFFFFFFFF, val, offset);
    return val;
}

// ----------------------------------------------------------------------------
// kernels

__global__ void fill_kernel(floatX* out, size_t n, unsigned seed, float scale, float shift) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) out[i] = __float2bfloat16(shift + scale * hash_float((unsigned)i + seed));
}

// warp per row
__global__ void layernorm_forward_kernel(floatX* __restrict__ out, float* __restrict__ mean, float* __restrict__ rstd,
                                         const floatX* __restrict__ inp, const floatX* __restrict__ weight,
                                         const floatX* __restrict__ bias, int N, int C) {
    int lane = threadIdx.x % WARP_SIZE;
    int row = blockIdx.x * (blockDim.x / WARP_SIZE) + threadIdx.x / WARP_SIZE;
    if (row >= N) return;
    const floatX* x = inp + (size_t)row * C;
    float s = 0.f;
    for (int i = lane; i < C; i += WARP_SIZE) s += __bfloat162float(x[i]);
    float m = warpReduceSum(s) / C;
    s = 0.f;
    for (int i = lane; i < C; i += WARP_SIZE) {
        float d = __bfloat162float(x[i]) - m;
        s += d * d;
    }
    float r = rsqrtf(warpReduceSum(s) / C + 1e-5f);
    if (lane == 0) { mean[row] = m; rstd[row] = r; }
    for (int i = lane; i < C; i += WARP_SIZE) {
        float n = (__bfloat162float(x[i]) - m) * r;
        out[(size_t)row * C + i] = __float2bfloat16(n * __bfloat162float(weight[i]) + __bfloat162float(bias[i]));
    }
}

// C[M,N] = op(A) op(B) (+ bias), fp32 accumulate. 64x64 block tile, 4 warps of 32x32.
// TA: A is stored [K,M].  TB: B is stored [N,K].
#define BM 64
#define BN 64
#define BK 32
#define PADX 8
template <bool TA, bool TB>
__global__ void __launch_bounds__(128) matmul_kernel(floatX* __restrict__ out, const floatX* __restrict__ A,
                                                     const floatX* __restrict__ B, const floatX* __restrict__ bias,
                                                     int M, int N, int K) {
    __shared__ __align__(128) floatX As[BM][BK + PADX];
    __shared__ __align__(128) floatX Bs[BK][BN + PADX];
    __shared__ __align__(128) float Cs[BM][BN];          // no padding here
    int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
    int warp = threadIdx.x / WARP_SIZE;
    int wm = (warp / 2) * 32, wn = (warp % 2) * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[2][2];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) wmma::fill_fragment(acc[i][j], 0.0f);
    const floatX zero = __float2bfloat16(0.0f);
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int t = threadIdx.x; t < BM * BK; t += blockDim.x) {
            int m, k;
            if (TA) { m = t % BM; k = t / BM; } else { k = t % BK; m = t / BK; }
            bool ok = m0 + m < M && k0 + k < K;
            size_t ix = TA ? (size_t)(k0 + k) * M + m0 + m : (size_t)(m0 + m) * K + k0 + k;
            As[m][k] = ok ? A[ix] : zero;
        }
        for (int t = threadIdx.x; t < BK * BN; t += blockDim.x) {
            int n, k;
            if (TB) { k = t % BK; n = t / BK; } else { n = t % BN; k = t / BN; }
            bool ok = n0 + n < N && k0 + k < K;
            size_t ix = TB ? (size_t)(n0 + n) * K + k0 + k : (size_t)(k0 + k) * N + n0 + n;
            Bs[k][n] = ok ? B[ix] : zero;
        }
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < BK; kk += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, floatX, wmma::row_major> a[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, floatX, wmma::row_major> b[2];
            for (int i = 0; i < 2; i++) wmma::load_matrix_sync(a[i], &As[wm + 16 * i][kk], BK + PADX);
            for (int j = 0; j < 2; j++) wmma::load_matrix_sync(b[j], &Bs[kk][wn + 16 * j], BN + PADX);
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++) wmma::mma_sync(acc[i][j], a[i], b[j], acc[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            wmma::store_matrix_sync(&Cs[wm + 16 * i][wn + 16 * j], acc[i][j], BN, wmma::mem_row_major);
    __syncthreads();
    for (int t = threadIdx.x; t < BM * BN; t += blockDim.x) {
        int m = t / BN, n = t % BN;
        if (m0 + m < M && n0 + n < N) {
            float v = Cs[m][n];
            if (bias != NULL) v += __bfloat162float(bias[n0 + n]);
            out[(size_t)(m0 + m) * N + n0 + n] = __float2bfloat16(v);
        }
    }
}

#define GELU_SCALING_FACTOR 0.7978845608f
__host__ __device__ inline float gelu(float x) {
    return 0.5f * x * (1.0f + tanhf(GELU_SCALING_FACTOR * (x + 0.044715f * x * x * x)));
}
__host__ __device__ inline float dgelu(float x) {
    float u = GELU_SCALING_FACTOR * (x + 0.044715f * x * x * x);
    float t = tanhf(u), sech2 = 1.0f - t * t;
    return 0.5f * (1.0f + t) + 0.5f * x * sech2 * GELU_SCALING_FACTOR * (1.0f + 3.0f * 0.044715f * x * x);
}

// forward activation, loss and backward through the activation in one pass, two values at a time
__global__ void gelu_loss_backward_kernel(__nv_bfloat162* __restrict__ dpre, float* loss, const __nv_bfloat162* __restrict__ pre,
                                          const __nv_bfloat162* __restrict__ target, int n2, float inv_n, float gscale) {
    __shared__ float shared_sum[WARP_SIZE];
    float local = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n2; i += gridDim.x * blockDim.x) {
        float2 p = __bfloat1622float2(pre[i]);
        float2 t = __bfloat1622float2(target[i]);
        float ex = gelu(p.x) - t.x, ey = gelu(p.y) - t.y;
        local += 0.5f * inv_n * (ex * ex + ey * ey);
        dpre[i] = __floats2bfloat162_rn(gscale * ex * dgelu(p.x), gscale * ey * dgelu(p.y));
    }
    local = warpReduceSum(local);
    if (threadIdx.x % WARP_SIZE == 0) shared_sum[threadIdx.x / WARP_SIZE] = local;
    __syncthreads();
    if (threadIdx.x < WARP_SIZE) {
        float v = threadIdx.x < blockDim.x / WARP_SIZE ? shared_sum[threadIdx.x] : 0.f;
        v = warpReduceSum(v);
        if (threadIdx.x == 0) atomicAdd(loss, v);
    }
}

// column sums; thread per column, so reads are coalesced, but few blocks
__global__ void bias_backward_kernel(floatX* dbias, const floatX* dout, int N, int F) {
    int f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f >= F) return;
    float s = 0.f;
    for (int row = 0; row < N; row++) s += __bfloat162float(dout[(size_t)row * F + f]);
    dbias[f] = __float2bfloat16(s);
}

// each block goes over several rows, keeps dweight/dbias of its rows in shared memory
__global__ void layernorm_backward_kernel(float* __restrict__ partial, floatX* __restrict__ dinp, const floatX* __restrict__ dout,
                                          const floatX* __restrict__ inp, const floatX* __restrict__ weight,
                                          const float* __restrict__ mean, const float* __restrict__ rstd, int N, int C) {
    extern __shared__ float shared[];        // dbias[C], dweight[C]
    float* dbias_s = shared;
    float* dweight_s = shared + C;
    for (int i = threadIdx.x; i < 2 * C; i += blockDim.x) shared[i] = 0.f;
    __syncthreads();
    int lane = threadIdx.x % WARP_SIZE, warpsPerBlock = blockDim.x / WARP_SIZE;
    int warp = blockIdx.x * warpsPerBlock + threadIdx.x / WARP_SIZE;
    for (int row = warp; row < N; row += gridDim.x * warpsPerBlock) {
        const floatX* dy = dout + (size_t)row * C;
        const floatX* x = inp + (size_t)row * C;
        float m = mean[row], r = rstd[row];
        float s1 = 0.f, s2 = 0.f;
        for (int i = lane; i < C; i += WARP_SIZE) {
            float norm = (__bfloat162float(x[i]) - m) * r;
            float dn = __bfloat162float(weight[i]) * __bfloat162float(dy[i]);
            s1 += dn;
            s2 += dn * norm;
        }
        s1 = warpReduceSum(s1) / C;
        s2 = warpReduceSum(s2) / C;
        for (int i = lane; i < C; i += WARP_SIZE) {
            float g = __bfloat162float(dy[i]);
            float norm = (__bfloat162float(x[i]) - m) * r;
            atomicAdd(&dbias_s[i], g);
            atomicAdd(&dweight_s[i], g * norm);
            dinp[(size_t)row * C + i] = __float2bfloat16((__bfloat162float(weight[i]) * g - s1 - norm * s2) * r);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 2 * C; i += blockDim.x) partial[(size_t)blockIdx.x * 2 * C + i] = shared[i];
}

__global__ void layernorm_backward_finish_kernel(floatX* dgamma, floatX* dbeta, const float* partial, int blocks, int C) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 2 * C) return;
    float s = 0.f;
    for (int b = 0; b < blocks; b++) s += partial[(size_t)b * 2 * C + i];
    if (i < C) dbeta[i] = __float2bfloat16(s); else dgamma[i - C] = __float2bfloat16(s);
}

__global__ void global_norm_squared_kernel(float* out, const floatX* data, size_t count) {
    float acc = 0.f;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x) {
        float g = __bfloat162float(data[i]);
        acc += g * g;
    }
    acc = warpReduceSum(acc);
    if (threadIdx.x % WARP_SIZE == 0) atomicAdd(out, acc);
}

__global__ void adamw_kernel(floatX* params, float* master, const floatX* grads, float* m, float* v, size_t n, size_t decay_begin,
                             size_t decay_end, const float* norm_sq, float max_norm, float lr, float beta1, float beta2,
                             float c1, float c2, float eps, float wd) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    float norm = sqrtf(*norm_sq);
    float scale = norm > max_norm ? max_norm / norm : 1.0f;
    float g = scale * __bfloat162float(grads[i]);
    float mi = beta1 * m[i] + (1.0f - beta1) * g;
    float vi = beta2 * v[i] + (1.0f - beta2) * g * g;
    m[i] = mi;
    v[i] = vi;
    float old = master[i];
    float decay = (i >= decay_begin && i < decay_end) ? wd : 0.0f;
    float p = old - lr * ((mi / c1) / (sqrtf(vi / c2) + eps) + decay * old);
    master[i] = p;
    params[i] = __float2bfloat16(p);
}

__global__ void copy_master_kernel(float* master, const floatX* params, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) master[i] = __bfloat162float(params[i]);
}

// ----------------------------------------------------------------------------
// CPU side

static float bf(float x) { return __bfloat162float(__float2bfloat16(x)); }

static double max_rel(const std::vector<floatX>& a, const std::vector<float>& b, size_t off, size_t n) {
    double scale = 1e-20, err = 0;
    for (size_t i = 0; i < n; i++) scale = fmax(scale, fabs(b[off + i]));
    for (size_t i = 0; i < n; i++) err = fmax(err, fabs(__bfloat162float(a[off + i]) - b[off + i]));
    return err / scale;
}

int main() {
    Config cfg = {3, 127, 144, 576};
    const int N = cfg.B * cfg.T, C = cfg.C, F = cfg.F;
    ParamLayout pl;
    size_t sizes[NUM_PARAMS] = {(size_t)C, (size_t)C, (size_t)C * F, (size_t)F};
    pl.total = 0;
    for (int i = 0; i < NUM_PARAMS; i++) { pl.count[i] = sizes[i]; pl.offset[i] = pl.total; pl.total += sizes[i]; }

    floatX *params, *grads, *x, *h, *pre, *dpre, *dh, *dx, *target;
    float *master, *m, *v, *mean, *rstd, *partial, *scalars;
    const int ln_blocks = 24;
    cudaCheck(cudaMalloc(&params, pl.total * sizeof(floatX)));
    cudaCheck(cudaMalloc(&grads, pl.total * sizeof(floatX)));
    for (floatX** p : {&x, &h, &dh, &dx}) cudaCheck(cudaMalloc(p, (size_t)N * C * sizeof(floatX)));
    for (floatX** p : {&pre, &dpre, &target}) cudaCheck(cudaMalloc(p, (size_t)N * F * sizeof(floatX)));
    for (float** p : {&master, &m, &v}) { cudaCheck(cudaMalloc(p, pl.total * sizeof(float))); cudaCheck(cudaMemset(*p, 0, pl.total * sizeof(float))); }
    cudaCheck(cudaMalloc(&mean, N * sizeof(float)));
    cudaCheck(cudaMalloc(&rstd, N * sizeof(float)));
    cudaCheck(cudaMalloc(&partial, (size_t)ln_blocks * 2 * C * sizeof(float)));
    cudaCheck(cudaMalloc(&scalars, 2 * sizeof(float)));

    float pscale[NUM_PARAMS] = {0.1f, 0.1f, 0.12f, 0.05f}, pshift[NUM_PARAMS] = {1.0f, 0.0f, 0.0f, 0.0f};
    for (int i = 0; i < NUM_PARAMS; i++)
        fill_kernel<<<CEIL_DIV(pl.count[i], 256), 256>>>(params + pl.offset[i], pl.count[i], 1000000u * i, pscale[i], pshift[i]);
    fill_kernel<<<CEIL_DIV(N * C, 256), 256>>>(x, (size_t)N * C, 77u, 1.5f, 0.2f);
    fill_kernel<<<CEIL_DIV(N * F, 256), 256>>>(target, (size_t)N * F, 99999u, 1.0f, 0.0f);
    copy_master_kernel<<<CEIL_DIV(pl.total, 512), 512>>>(master, params, pl.total);

    // reference copies
    std::vector<float> rp(pl.total), rm(pl.total, 0.f), rv(pl.total, 0.f), rmaster(pl.total), rg(pl.total), rx(N * C), rt(N * F);
    for (int k = 0; k < NUM_PARAMS; k++)
        for (size_t i = 0; i < pl.count[k]; i++) rp[pl.offset[k] + i] = bf(pshift[k] + pscale[k] * hash_float((unsigned)i + 1000000u * k));
    for (int i = 0; i < N * C; i++) rx[i] = bf(0.2f + 1.5f * hash_float(i + 77u));
    for (int i = 0; i < N * F; i++) rt[i] = bf(hash_float(i + 99999u));
    rmaster = rp;

    const float lr = 1e-3f, b1 = 0.9f, b2 = 0.95f, eps = 1e-8f, wd = 0.1f, max_norm = 1.0f;
    const float gscale = 1.0f / 64.0f;
    bool all_ok = true;
    for (int step = 1; step <= 2; step++) {
        floatX *gamma = params + pl.offset[P_GAMMA], *beta = params + pl.offset[P_BETA], *W = params + pl.offset[P_W], *bias = params + pl.offset[P_BIAS];
        cudaCheck(cudaMemset(scalars, 0, 2 * sizeof(float)));
        layernorm_forward_kernel<<<CEIL_DIV(N, 8), 256>>>(h, mean, rstd, x, gamma, beta, N, C);
        matmul_kernel<false, false><<<dim3(CEIL_DIV(F, BN), CEIL_DIV(N, BM)), 128>>>(pre, h, W, bias, N, F, C);
        gelu_loss_backward_kernel<<<108, 256>>>((__nv_bfloat162*)dpre, scalars, (const __nv_bfloat162*)pre, (const __nv_bfloat162*)target,
                                                N * F / 2, 1.0f / (N * F), gscale);
        bias_backward_kernel<<<CEIL_DIV(F, 64), 64>>>(grads + pl.offset[P_BIAS], dpre, N, F);
        matmul_kernel<true, false><<<dim3(CEIL_DIV(F, BN), CEIL_DIV(C, BM)), 128>>>(grads + pl.offset[P_W], h, dpre, (const floatX*)NULL, C, F, N);
        matmul_kernel<false, true><<<dim3(CEIL_DIV(C, BN), CEIL_DIV(N, BM)), 128>>>(dh, dpre, W, (const floatX*)NULL, N, C, F);
        layernorm_backward_kernel<<<ln_blocks, 256, 2 * C * sizeof(float)>>>(partial, dx, dh, x, gamma, mean, rstd, N, C);
        layernorm_backward_finish_kernel<<<CEIL_DIV(2 * C, 128), 128>>>(grads + pl.offset[P_GAMMA], grads + pl.offset[P_BETA], partial, ln_blocks, C);
        global_norm_squared_kernel<<<64, 512>>>(scalars + 1, grads, pl.total);
        float c1 = 1.0f - powf(b1, step), c2 = 1.0f - powf(b2, step);
        adamw_kernel<<<CEIL_DIV(pl.total, 256), 256>>>(params, master, grads, m, v, pl.total, pl.offset[P_W], pl.offset[P_W] + pl.count[P_W],
                                                       scalars + 1, max_norm, lr, b1, b2, c1, c2, eps, wd);
        cudaCheck(cudaGetLastError());
        float hs[2];
        cudaCheck(cudaMemcpy(hs, scalars, sizeof(hs), cudaMemcpyDeviceToHost));

        // ---- the same on the CPU
        std::vector<float> rh(N * C), rpre(N * F), rmean(N), rrstd(N), rdh(N * C, 0.f), rdx(N * C);
        const float *g_ = &rp[pl.offset[P_GAMMA]], *be_ = &rp[pl.offset[P_BETA]], *W_ = &rp[pl.offset[P_W]], *bi_ = &rp[pl.offset[P_BIAS]];
        std::vector<float> WT((size_t)F * C);
        for (int c = 0; c < C; c++) for (int f = 0; f < F; f++) WT[(size_t)f * C + c] = W_[(size_t)c * F + f];
        double loss = 0;
        std::fill(rg.begin(), rg.end(), 0.f);
        for (int n = 0; n < N; n++) {
            double s = 0, q = 0;
            for (int c = 0; c < C; c++) s += rx[n * C + c];
            s /= C;
            for (int c = 0; c < C; c++) q += (rx[n * C + c] - s) * (rx[n * C + c] - s);
            rmean[n] = s; rrstd[n] = 1.0 / sqrt(q / C + 1e-5);
            float* row = &rpre[(size_t)n * F];
            for (int f = 0; f < F; f++) row[f] = bi_[f];
            for (int c = 0; c < C; c++) {
                float hv = rh[n * C + c] = bf((rx[n * C + c] - rmean[n]) * rrstd[n] * g_[c] + be_[c]);
                for (int f = 0; f < F; f++) row[f] += hv * W_[(size_t)c * F + f];
            }
            for (int f = 0; f < F; f++) {
                float p = bf(row[f]), e = gelu(p) - rt[(size_t)n * F + f];
                loss += 0.5 * e * e / (N * F);
                row[f] = bf(gscale * e * dgelu(p));              // row now holds dpre
                rg[pl.offset[P_BIAS] + f] += row[f];
                for (int c = 0; c < C; c++) rdh[n * C + c] += row[f] * WT[(size_t)f * C + c];
            }
            for (int c = 0; c < C; c++) for (int f = 0; f < F; f++) rg[pl.offset[P_W] + (size_t)c * F + f] += rh[n * C + c] * row[f];
            float s1 = 0, s2 = 0;
            for (int c = 0; c < C; c++) {
                float dy = rdh[n * C + c] = bf(rdh[n * C + c]), norm = (rx[n * C + c] - rmean[n]) * rrstd[n];
                s1 += dy * g_[c] / C; s2 += dy * g_[c] * norm / C;
                rg[pl.offset[P_GAMMA] + c] += dy * norm; rg[pl.offset[P_BETA] + c] += dy;
            }
            for (int c = 0; c < C; c++) rdx[n * C + c] = (g_[c] * rdh[n * C + c] - s1 - (rx[n * C + c] - rmean[n]) * rrstd[n] * s2) * rrstd[n];
        }
        double nsq = 0;
        for (float gv : rg) nsq += (double)gv * gv;
        float clip = sqrt(nsq) > max_norm ? max_norm / sqrt(nsq) : 1.0f;

        std::vector<floatX> hg(pl.total), hdx(N * C), hp(pl.total);
        cudaCheck(cudaMemcpy(hg.data(), grads, pl.total * sizeof(floatX), cudaMemcpyDeviceToHost));
        cudaCheck(cudaMemcpy(hdx.data(), dx, (size_t)N * C * sizeof(floatX), cudaMemcpyDeviceToHost));
        cudaCheck(cudaMemcpy(hp.data(), params, pl.total * sizeof(floatX), cudaMemcpyDeviceToHost));
        bool ok = fabs(hs[0] - loss) < 0.01 * loss && fabs(sqrt(hs[1]) - sqrt(nsq)) < 0.03 * sqrt(nsq);
        printf("step %d loss %f (ref %f) grad norm %f (ref %f)\n", step, hs[0], loss, sqrt(hs[1]), sqrt(nsq));
        const char* nm[NUM_PARAMS] = {"gamma", "beta", "W", "bias"};
        for (int k = 0; k < NUM_PARAMS; k++) {
            double e = max_rel(hg, rg, pl.offset[k], pl.count[k]);
            printf("   d%-6s rel err %.4f\n", nm[k], e);
            if (e > 0.05) ok = false;
        }
        if (max_rel(hdx, rdx, 0, (size_t)N * C) > 0.05) ok = false;
        double sum = 0;
        for (size_t i = 0; i < pl.total; i++) {
            float g = clip * bf(rg[i]);
            rm[i] = b1 * rm[i] + (1 - b1) * g; rv[i] = b2 * rv[i] + (1 - b2) * g * g;
            float decay = (i >= pl.offset[P_W] && i < pl.offset[P_BIAS]) ? wd : 0.f;
            rmaster[i] -= lr * ((rm[i] / c1) / (sqrtf(rv[i] / c2) + eps) + decay * rmaster[i]);
            rp[i] = bf(rmaster[i]);
            sum += fabs(__bfloat162float(hp[i]) - rp[i]);
        }
        printf("   mean param difference %.2e\n", sum / pl.total);
        if (sum / pl.total > 0.2 * lr) ok = false;
        all_ok = all_ok && ok;
    }
    cudaCheck(cudaDeviceSynchronize());
    printf(all_ok ? "PASS\n" : "FAIL\n");
    return all_ok ? 0 : 1;
}
