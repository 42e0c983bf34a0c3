// Quantised matrix-vector products and companion ops, ggml-cuda flavoured.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>
#define WARP_SIZE 32
#define GGML_PAD(x, n) (((x) + (n) - 1) / (n) * (n))
#define GGML_ASSERT(x) do { if (!(x)) { fprintf(stderr, "GGML_ASSERT: %s:%d: %s\n", __FILE__, __LINE__, #x); exit(1); } } while (0)
#define CUDA_CHECK(err) do { cudaError_t e_ = (err); if (e_ != cudaSuccess) { \
    fprintf(stderr, "CUDA error: %s at %s:%d\n", cudaGetErrorString(e_), __FILE__, __LINE__); exit(1); } } while (0)
enum ggml_type { GGML_TYPE_Q4_0, GGML_TYPE_Q8_0 };
#define QK4_0 32
#define QR4_0 2
#define QI4_0 (QK4_0 / (4 * QR4_0))
typedef struct { half d; uint8_t qs[QK4_0 / 2]; } block_q4_0;
static_assert(sizeof(block_q4_0) == 18, "wrong q4_0 block size");
#define QK8_0 32
#define QR8_0 1
#define QI8_0 (QK8_0 / (4 * QR8_0))
typedef struct { half d; int8_t qs[QK8_0]; } block_q8_0;
static_assert(sizeof(block_q8_0) == 34, "wrong q8_0 block size");
#define QK8_1 32
typedef struct { half2 ds; int8_t qs[QK8_1]; } block_q8_1;
static_assert(sizeof(block_q8_1) == 36, "wrong q8_1 block size");
template <ggml_type type> struct ggml_cuda_type_traits;
template <> struct ggml_cuda_type_traits<GGML_TYPE_Q4_0> { typedef block_q4_0 block; static constexpr int qk = QK4_0, qr = QR4_0, qi = QI4_0, vdr = 2; };
template <> struct ggml_cuda_type_traits<GGML_TYPE_Q8_0> { typedef block_q8_0 block; static constexpr int qk = QK8_0, qr = QR8_0, qi = QI8_0, vdr = 2; };
static __device__ __forceinline__ float warp_reduce_sum(float x) {
    for (int mask = 16; mask > 0; mask >>= 1) x += __shfl_xor_sync(0xffffffff, x, mask, 32);
    return x;
}
static __device__ __forceinline__ float warp_reduce_max(float x) {
    for (int mask = 16; mask > 0; mask >>= 1) x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, mask, 32));
    return x;
}
static __device__ __forceinline__ int get_int_b2(const void * x, const int & i32) {
    const uint16_t * x16 = (const uint16_t *) x;
    int x32 = x16[2 * i32 + 0] << 0;
    x32 |= x16[2 * i32 + 1] << 16;
    return x32;
}
static __device__ __forceinline__ int get_int_b4(const void * x, const int & i32) { return ((const int *) x)[i32]; }
// ---- dequantisation -------------------------------------------------------
typedef void (*dequantize_kernel_t)(const void * vx, const int64_t ib, const int iqs, float2 & v);
static __device__ __forceinline__ void dequantize_q4_0(const void * vx, const int64_t ib, const int iqs, float2 & v) {
    const block_q4_0 * x = (const block_q4_0 *) vx;
    const float d = __half2float(x[ib].d);
    const int vui = x[ib].qs[iqs];
    v.x = ((vui & 0xF) - 8.0f) * d;
    v.y = ((vui >> 4) - 8.0f) * d;
}
template <int qk, int qr, dequantize_kernel_t dequantize_kernel>
static __global__ void k_get_rows(const void * src0, const int32_t * src1, float * dst, int64_t ne00, size_t nb01) {
    const int i00 = (blockIdx.x * blockDim.x + threadIdx.x) * 2;
    const int i10 = blockIdx.y;
    if (i00 >= ne00) return;
    const int i01 = src1[i10];
    float * dst_row = dst + (int64_t) i10 * ne00;
    const void * src0_row = (const char *) src0 + i01 * nb01;
    const int ib = i00 / qk;
    const int iqs = (i00 % qk) / qr;
    const int iybs = i00 - i00 % qk;
    const int y_offset = qr == 1 ? 1 : qk / 2;
    float2 v; dequantize_kernel(src0_row, ib, iqs, v);
    dst_row[iybs + iqs + 0] = v.x;
    dst_row[iybs + iqs + y_offset] = v.y;
}
// ---- activations to q8_1 --------------------------------------------------
static __global__ void quantize_q8_1(const float * __restrict__ x, void * __restrict__ vy, const int64_t kx, const int64_t kx0_padded) {
    const int64_t ix0 = (int64_t) blockDim.x * blockIdx.x + threadIdx.x;
    if (ix0 >= kx0_padded) return;
    const int64_t ix1 = blockIdx.y;
    const int64_t i_padded = ix1 * kx0_padded + ix0;
    block_q8_1 * y = (block_q8_1 *) vy;
    const int64_t ib = i_padded / QK8_1, iqs = i_padded % QK8_1;
    const float xi = ix0 < kx ? x[ix1 * kx + ix0] : 0.0f;
    float amax = warp_reduce_max(fabsf(xi));
    float sum = warp_reduce_sum(xi);
    const float d = amax / 127;
    const int8_t q = amax == 0.0f ? 0 : roundf(xi / d);
    y[ib].qs[iqs] = q;
    if (iqs > 0) return;
    y[ib].ds = make_half2(__float2half(d), __float2half(sum));
}
template <ggml_type type>
static __device__ __forceinline__ float vec_dot_q_q8_1(const void * __restrict__ vbq, const block_q8_1 * __restrict__ bq8_1, const int & kbx, const int & iqs) {
    constexpr int vdr = ggml_cuda_type_traits<type>::vdr;
    int sumi = 0;
    const float2 ds8 = __half22float2(bq8_1->ds);
    if constexpr (type == GGML_TYPE_Q4_0) {
        const block_q4_0 * bq = (const block_q4_0 *) vbq + kbx;
#pragma unroll
        for (int i = 0; i < vdr; ++i) {
            const int v = get_int_b2(bq->qs, iqs + i);
            sumi = __dp4a((v >> 0) & 0x0F0F0F0F, get_int_b4(bq8_1->qs, iqs + i), sumi);
            sumi = __dp4a((v >> 4) & 0x0F0F0F0F, get_int_b4(bq8_1->qs, iqs + i + QI4_0), sumi);
        }
        return __half2float(bq->d) * (sumi * ds8.x - (8 * vdr / QI4_0) * ds8.y);
    } else {
        const block_q8_0 * bq = (const block_q8_0 *) vbq + kbx;
#pragma unroll
        for (int i = 0; i < vdr; ++i) sumi = __dp4a(get_int_b2(bq->qs, iqs + i), get_int_b4(bq8_1->qs, iqs + i), sumi);
        return __half2float(bq->d) * ds8.x * sumi;
    }
}
template <ggml_type type, int ncols_y>
__launch_bounds__((ncols_y <= 4 ? 4 : 2) * WARP_SIZE, 1)
static __global__ void mul_mat_vec_q(const void * __restrict__ vx, const void * __restrict__ vy, float * __restrict__ dst,
                                     const int ncols_x, const int nrows_x, const int nrows_y, const int nrows_dst) {
    constexpr int qk = ggml_cuda_type_traits<type>::qk;
    constexpr int qi = ggml_cuda_type_traits<type>::qi;
    constexpr int vdr = ggml_cuda_type_traits<type>::vdr;
    constexpr int nwarps = ncols_y <= 4 ? 4 : 2;
    constexpr int rows_per_cuda_block = ncols_y == 1 ? 1 : 2;
    const int tid = WARP_SIZE * threadIdx.y + threadIdx.x;
    const int row0 = rows_per_cuda_block * blockIdx.x;
    const int blocks_per_row_x = ncols_x / qk;
    const int blocks_per_col_y = nrows_y / QK8_1;
    constexpr int blocks_per_iter = vdr * nwarps * WARP_SIZE / qi;
    float tmp[ncols_y][rows_per_cuda_block] = {{0.0f}};
    const block_q8_1 * y = (const block_q8_1 *) vy;
    for (int kbx = tid / (qi / vdr); kbx < blocks_per_row_x; kbx += blocks_per_iter) {
        const int kby = kbx * (qk / QK8_1);
        const int kqs = vdr * (tid % (qi / vdr));
#pragma unroll
        for (int j = 0; j < ncols_y; ++j) {
            for (int i = 0; i < rows_per_cuda_block; ++i) {
                tmp[j][i] += vec_dot_q_q8_1<type>(vx, &y[j * blocks_per_col_y + kby], (row0 + i) * blocks_per_row_x + kbx, kqs);
            }
        }
    }
    __shared__ float tmp_shared[nwarps - 1][ncols_y][rows_per_cuda_block][WARP_SIZE];
    if (threadIdx.y > 0) {
#pragma unroll
        for (int j = 0; j < ncols_y; ++j)
            for (int i = 0; i < rows_per_cuda_block; ++i) tmp_shared[threadIdx.y - 1][j][i][threadIdx.x] = tmp[j][i];
    }
    __syncthreads();
    if (threadIdx.y > 0) return;
#pragma unroll
    for (int j = 0; j < ncols_y; ++j) {
        for (int i = 0; i < rows_per_cuda_block; ++i) {
            for (int l = 0; l < nwarps - 1; ++l) tmp[j][i] += tmp_shared[l][j][i][threadIdx.x];
            tmp[j][i] = warp_reduce_sum(tmp[j][i]);
        }
        if (threadIdx.x < rows_per_cuda_block && row0 + (int) threadIdx.x < nrows_dst) dst[j * nrows_dst + row0 + threadIdx.x] = tmp[j][threadIdx.x];
    }
    (void) nrows_x;
}
template <ggml_type type>
static void mul_mat_vec_q_cuda(const void * vx, const void * vy, float * dst, int ncols_x, int nrows_x, int nrows_y, int ncols_y, int nrows_dst, cudaStream_t stream) {
    GGML_ASSERT(ncols_x % ggml_cuda_type_traits<type>::qk == 0);
    const int nwarps = ncols_y <= 4 ? 4 : 2;
    const int rows_per_block = ncols_y == 1 ? 1 : 2;
    const dim3 block_nums((nrows_x + rows_per_block - 1) / rows_per_block, 1, 1);
    const dim3 block_dims(WARP_SIZE, nwarps, 1);
    switch (ncols_y) {
        case 1: mul_mat_vec_q<type, 1><<<block_nums, block_dims, 0, stream>>>(vx, vy, dst, ncols_x, nrows_x, nrows_y, nrows_dst); break;
        case 2: mul_mat_vec_q<type, 2><<<block_nums, block_dims, 0, stream>>>(vx, vy, dst, ncols_x, nrows_x, nrows_y, nrows_dst); break;
        case 4: mul_mat_vec_q<type, 4><<<block_nums, block_dims, 0, stream>>>(vx, vy, dst, ncols_x, nrows_x, nrows_y, nrows_dst); break;
        case 8: mul_mat_vec_q<type, 8><<<block_nums, block_dims, 0, stream>>>(vx, vy, dst, ncols_x, nrows_x, nrows_y, nrows_dst); break;
        default: GGML_ASSERT(false);
    }
    CUDA_CHECK(cudaGetLastError());
}
// ---- soft max -------------------------------------------------------------
template <bool vals_smem, int ncols_template, int block_size_template>
static __global__ void soft_max_f32(const float * x, const half * mask, float * dst, const int ncols_par, const int nrows_y, const float scale) {
    const int ncols = ncols_template == 0 ? ncols_par : ncols_template;
    const int block_size = block_size_template == 0 ? blockDim.x : block_size_template;
    const int tid = threadIdx.x, rowx = blockIdx.x, rowy = rowx % nrows_y;
    const int warp_id = tid / WARP_SIZE, lane_id = tid % WARP_SIZE;
    extern __shared__ float data_soft_max_f32[];
    float * buf_iw = data_soft_max_f32;
    float * vals = vals_smem ? buf_iw + WARP_SIZE : dst + (int64_t) rowx * ncols;
    float max_val = -INFINITY;
    for (int col0 = 0; col0 < ncols; col0 += block_size) {
        const int col = col0 + tid;
        if (ncols_template == 0 && col >= ncols) break;
        const float val = x[(int64_t) rowx * ncols + col] * scale + (mask ? __half2float(mask[(int64_t) rowy * ncols + col]) : 0.0f);
        vals[col] = val;
        max_val = fmaxf(max_val, val);
    }
    max_val = warp_reduce_max(max_val);
    if (block_size > WARP_SIZE) {
        if (warp_id == 0) buf_iw[lane_id] = -INFINITY;
        __syncthreads();
        if (lane_id == 0) buf_iw[warp_id] = max_val;
        __syncthreads();
        max_val = warp_reduce_max(buf_iw[lane_id]);
    }
    float tmp = 0.0f;
    for (int col0 = 0; col0 < ncols; col0 += block_size) {
        const int col = col0 + tid;
        if (ncols_template == 0 && col >= ncols) break;
        const float val = expf(vals[col] - max_val);
        tmp += val;
        vals[col] = val;
    }
    tmp = warp_reduce_sum(tmp);
    if (block_size > WARP_SIZE) {
        __syncthreads();
        if (warp_id == 0) buf_iw[lane_id] = 0.0f;
        __syncthreads();
        if (lane_id == 0) buf_iw[warp_id] = tmp;
        __syncthreads();
        tmp = warp_reduce_sum(buf_iw[lane_id]);
    }
    const float inv_sum = 1.0f / tmp;
    for (int col0 = 0; col0 < ncols; col0 += block_size) {
        const int col = col0 + tid;
        if (ncols_template == 0 && col >= ncols) return;
        dst[(int64_t) rowx * ncols + col] = vals[col] * inv_sum;
    }
}
static void soft_max_f32_cuda(const float * x, const half * mask, float * dst, int ncols, int nrows_x, int nrows_y, float scale) {
    int nth = WARP_SIZE;
    while (nth < ncols && nth < 1024) nth *= 2;
    const size_t shmem = (GGML_PAD(ncols, WARP_SIZE) + WARP_SIZE) * sizeof(float);
    if (shmem < 48 * 1024) {
        switch (ncols) {
            case 32: soft_max_f32<true, 32, 32><<<nrows_x, nth, shmem>>>(x, mask, dst, ncols, nrows_y, scale); break;
            case 1024: soft_max_f32<true, 1024, 1024><<<nrows_x, nth, shmem>>>(x, mask, dst, ncols, nrows_y, scale); break;
            default: soft_max_f32<true, 0, 0><<<nrows_x, nth, shmem>>>(x, mask, dst, ncols, nrows_y, scale); break;
        }
    } else {
        soft_max_f32<false, 0, 0><<<nrows_x, nth, WARP_SIZE * sizeof(float)>>>(x, mask, dst, ncols, nrows_y, scale);
    }
    CUDA_CHECK(cudaGetLastError());
}
// ---- host side ------------------------------------------------------------
template <typename T> static T * to_device(const std::vector<T> & v) {
    T * p = nullptr;
    CUDA_CHECK(cudaMalloc(&p, v.size() * sizeof(T)));
    CUDA_CHECK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}
static bool nmse_ok(const char * name, const float * dev, const std::vector<float> & ref, double tol) {
    std::vector<float> got(ref.size());
    CUDA_CHECK(cudaMemcpy(got.data(), dev, got.size() * sizeof(float), cudaMemcpyDeviceToHost));
    double num = 0, den = 0;
    for (size_t i = 0; i < ref.size(); ++i) { num += ((double) got[i] - ref[i]) * ((double) got[i] - ref[i]); den += (double) ref[i] * ref[i]; }
    const bool ok = num <= tol * den;
    printf("  %-24s nmse %.3e %s\n", name, num / den, ok ? "ok" : "BAD");
    return ok;
}
template <ggml_type type> static void quantize_row(const float * x, typename ggml_cuda_type_traits<type>::block * y, int k, float * deq) {
    for (int b = 0; b < k / 32; ++b) {
        const float * xb = x + b * 32;
        float amax = 0, vmax = 0;
        for (int j = 0; j < 32; ++j) if (fabsf(xb[j]) > amax) { amax = fabsf(xb[j]); vmax = xb[j]; }
        if constexpr (type == GGML_TYPE_Q4_0) {
            y[b].d = __float2half(vmax / -8);
            const float d = __half2float(y[b].d), id = d ? 1.0f / d : 0.0f;
            for (int j = 0; j < 16; ++j) {
                const int q0 = std::max(0, std::min(15, (int) (xb[j] * id + 8.5f))), q1 = std::max(0, std::min(15, (int) (xb[j + 16] * id + 8.5f)));
                y[b].qs[j] = (uint8_t) (q0 | (q1 << 4));
                deq[b * 32 + j] = (q0 - 8) * d;
                deq[b * 32 + j + 16] = (q1 - 8) * d;
            }
        } else {
            y[b].d = __float2half(amax / 127);
            const float d = __half2float(y[b].d), id = d ? 1.0f / d : 0.0f;
            for (int j = 0; j < 32; ++j) {
                y[b].qs[j] = (int8_t) std::max(-127.0f, std::min(127.0f, roundf(xb[j] * id)));
                deq[b * 32 + j] = y[b].qs[j] * d;
            }
        }
    }
}
template <ggml_type type> static bool test_type(const char * name, int nrows, int ncols, std::vector<int> batches, std::mt19937 & rng) {
    std::uniform_real_distribution<float> u(-1, 1);
    using traits = ggml_cuda_type_traits<type>;
    std::vector<float> w(nrows * ncols), deq(w.size());
    for (auto & v : w) v = u(rng);
    std::vector<typename traits::block> q(w.size() / traits::qk);
    for (int r = 0; r < nrows; ++r) quantize_row<type>(&w[r * ncols], &q[r * (ncols / traits::qk)], ncols, &deq[r * ncols]);
    auto * d_q = to_device(q);
    bool ok = true;
    const int padded = GGML_PAD(ncols, 512);
    for (int nb : batches) {
        std::vector<float> x(nb * ncols), ref(nb * nrows);
        for (auto & v : x) v = u(rng);
        for (int j = 0; j < nb; ++j) for (int r = 0; r < nrows; ++r) {
            float s = 0;
            for (int k = 0; k < ncols; ++k) s += deq[r * ncols + k] * x[j * ncols + k];
            ref[j * nrows + r] = s;
        }
        float * d_x = to_device(x), * d_dst;
        block_q8_1 * d_y;
        CUDA_CHECK(cudaMalloc(&d_y, nb * (padded / QK8_1) * sizeof(block_q8_1)));
        CUDA_CHECK(cudaMalloc(&d_dst, ref.size() * sizeof(float)));
        quantize_q8_1<<<dim3((padded + 255) / 256, nb), 256>>>(d_x, d_y, ncols, padded);
        CUDA_CHECK(cudaGetLastError());
        mul_mat_vec_q_cuda<type>(d_q, d_y, d_dst, ncols, nrows, padded, nb, nrows, 0);
        ok &= nmse_ok(name, d_dst, ref, 5e-4);
        CUDA_CHECK(cudaFree(d_x)); CUDA_CHECK(cudaFree(d_y)); CUDA_CHECK(cudaFree(d_dst));
    }
    if constexpr (type != GGML_TYPE_Q4_0) { CUDA_CHECK(cudaFree(d_q)); return ok; }
    std::vector<int32_t> rows(33);
    for (auto & r : rows) r = rng() % nrows;
    std::vector<float> ref;
    for (int r : rows) ref.insert(ref.end(), deq.begin() + r * ncols, deq.begin() + (r + 1) * ncols);
    int32_t * d_rows = to_device(rows);
    float * d_dst;
    CUDA_CHECK(cudaMalloc(&d_dst, ref.size() * sizeof(float)));
    const dim3 grid((ncols + 511) / 512, rows.size());
    const size_t nb01 = (ncols / traits::qk) * sizeof(typename traits::block);
    if constexpr (type == GGML_TYPE_Q4_0) k_get_rows<QK4_0, QR4_0, dequantize_q4_0><<<grid, 256>>>(d_q, d_rows, d_dst, ncols, nb01);
    CUDA_CHECK(cudaGetLastError());
    ok &= nmse_ok("get_rows", d_dst, ref, 1e-9);
    CUDA_CHECK(cudaFree(d_q)); CUDA_CHECK(cudaFree(d_rows)); CUDA_CHECK(cudaFree(d_dst));
    return ok;
}
static bool test_soft_max(int ncols, int nrows, int nrows_y, std::mt19937 & rng) {
    std::uniform_real_distribution<float> u(-4, 4);
    std::vector<float> x(nrows * ncols), ref(x.size());
    std::vector<half> mask(nrows_y * ncols);
    for (auto & v : x) v = u(rng);
    for (auto & v : mask) v = __float2half(0.25f * u(rng));
    for (int r = 0; r < nrows; ++r) {
        double m = -1e30, s = 0;
        std::vector<double> t(ncols);
        for (int c = 0; c < ncols; ++c) { t[c] = x[r * ncols + c] * 0.5 + __half2float(mask[(r % nrows_y) * ncols + c]); m = std::max(m, t[c]); }
        for (auto & v : t) s += (v = exp(v - m));
        for (int c = 0; c < ncols; ++c) ref[r * ncols + c] = t[c] / s;
    }
    float * d_x = to_device(x), * d_dst = to_device(x);
    half * d_m = to_device(mask);
    soft_max_f32_cuda(d_x, d_m, d_dst, ncols, nrows, nrows_y, 0.5f);
    const bool ok = nmse_ok("soft_max", d_dst, ref, 1e-7);
    CUDA_CHECK(cudaFree(d_x)); CUDA_CHECK(cudaFree(d_dst)); CUDA_CHECK(cudaFree(d_m));
    return ok;
}
int main() {
    std::mt19937 rng(1234);
    bool ok = true;
    ok &= test_type<GGML_TYPE_Q4_0>("mul_mat_vec_q4_0", 768, 2048, {1, 4}, rng);
    ok &= test_type<GGML_TYPE_Q8_0>("mul_mat_vec_q8_0", 512, 1056, {2, 8}, rng);
    ok &= test_soft_max(1024, 64, 16, rng);
    ok &= test_soft_max(777, 96, 32, rng);
    ok &= test_soft_max(13000, 8, 4, rng);
    printf("%s\n", ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
