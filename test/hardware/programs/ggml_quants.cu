// Quantised mat-vec and the usual graph ops of a small LLM runtime: q8_0 / q4_K / q6_K blocks,
// dequantize, get_rows, rope (neox), soft_max with mask+alibi, im2col, argsort, conv_transpose_1d.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <algorithm>
#include <numeric>
#include <vector>
#define WARP_SIZE 32
#define QK8_0 32
#define QK8_1 32
#define QI8_0 8
#define QI8_1 8
#define QK_K 256
#define QI4_K 32
#define QI6_K 32
#define GGML_PAD(x, n) (((x) + (n)-1) / (n) * (n))
#define CUDA_CHECK(err)                                                                  \
    do {                                                                                 \
        cudaError_t err_ = (err);                                                        \
        if (err_ != cudaSuccess) {                                                       \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err_)); \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)
typedef struct { half d; int8_t qs[QK8_0]; } block_q8_0;
typedef struct { half2 ds; int8_t qs[QK8_1]; } block_q8_1;
typedef struct { half2 dm; uint8_t scales[12]; uint8_t qs[QK_K/2]; } block_q4_K;
typedef struct { uint8_t ql[QK_K/2]; uint8_t qh[QK_K/4]; int8_t scales[QK_K/16]; half d; } block_q6_K;
static_assert(sizeof(block_q8_0) == 34, "wrong q8_0 block size");
static_assert(sizeof(block_q4_K) == 144, "wrong q4_K block size");
static_assert(sizeof(block_q6_K) == 210, "wrong q6_K block size");
static __device__ __forceinline__ float warp_reduce_sum(float x) {
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) x += __shfl_xor_sync(0xffffffff, x, offset, 32);
    return x;
}
static __device__ __forceinline__ float warp_reduce_max(float x) {
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, offset, 32));
    return x;
}
static __device__ __forceinline__ int get_int_b2(const void * x, const int & i32) {
    const uint16_t * x16 = (const uint16_t *) x;
    int x32 = x16[2*i32 + 0] << 0;
    x32 |= x16[2*i32 + 1] << 16;
    return x32;
}
static __device__ __forceinline__ int get_int_b4(const void * x, const int & i32) { return ((const int *) x)[i32]; }
enum ggml_type { GGML_TYPE_Q8_0, GGML_TYPE_Q4_K, GGML_TYPE_Q6_K };
template <ggml_type type> struct ggml_cuda_type_traits;
template <> struct ggml_cuda_type_traits<GGML_TYPE_Q8_0> { static constexpr int qk = QK8_0, qi = QI8_0, vdr = 2; typedef block_q8_0 block; };
template <> struct ggml_cuda_type_traits<GGML_TYPE_Q4_K> { static constexpr int qk = QK_K,  qi = QI4_K, vdr = 2; typedef block_q4_K block; };
template <> struct ggml_cuda_type_traits<GGML_TYPE_Q6_K> { static constexpr int qk = QK_K,  qi = QI6_K, vdr = 1; typedef block_q6_K block; };
static __device__ __forceinline__ float vec_dot(const block_q8_0 * bq, const block_q8_1 * bq8_1, const int iqs) {
    int sumi = 0;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        sumi = __dp4a(get_int_b2(bq->qs, iqs + i), get_int_b4(bq8_1->qs, iqs + i), sumi);
    }
    return __half2float(bq->d) * __low2float(bq8_1->ds) * sumi;
}
static __device__ __forceinline__ float vec_dot(const block_q4_K * bq4_K, const block_q8_1 * bq8_1, const int iqs) {
    const int bq8_offset = 2 * ((iqs/2) / 4);
    const int * q4 = (const int *)(bq4_K->qs + 16 * bq8_offset + 4 * ((iqs/2)%4));
    const int v0 = q4[0];
    const int v1 = q4[4];
    const uint16_t * scales = (const uint16_t *) bq4_K->scales;
    uint16_t aux[2];
    const int j = bq8_offset/2;
    if (j < 2) {
        aux[0] = scales[j+0] & 0x3f3f;
        aux[1] = scales[j+2] & 0x3f3f;
    } else {
        aux[0] = ((scales[j+2] >> 0) & 0x0f0f) | ((scales[j-2] & 0xc0c0) >> 2);
        aux[1] = ((scales[j+2] >> 4) & 0x0f0f) | ((scales[j-0] & 0xc0c0) >> 2);
    }
    const uint8_t * sc = (const uint8_t *) aux;
    const uint8_t * m  = sc + 2;
    float sumf_d = 0.0f, sumf_m = 0.0f;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const block_q8_1 * bq8i = bq8_1 + bq8_offset + i;
        const float d8 = __low2float(bq8i->ds);
        const int * q8 = (const int *) bq8i->qs + ((iqs/2)%4);
        const int u0 = q8[0], u1 = q8[4];
        const int dot1 = __dp4a((v1 >> (4*i)) & 0x0F0F0F0F, u1, __dp4a((v0 >> (4*i)) & 0x0F0F0F0F, u0, 0));
        const int dot2 = __dp4a(0x01010101, u1, __dp4a(0x01010101, u0, 0));
        sumf_d += d8 * (dot1 * sc[i]);
        sumf_m += d8 * (dot2 * m[i]);
    }
    const float2 dm4f = __half22float2(bq4_K->dm);
    return dm4f.x*sumf_d - dm4f.y*sumf_m;
}
static __device__ __forceinline__ float vec_dot(const block_q6_K * bq6_K, const block_q8_1 * bq8_1, const int iqs) {
    const int bq8_offset   = 4 * (iqs / 16) + (iqs % 16) / 8;
    const int scale_offset = 8 * (iqs / 16) + (iqs % 16) / 4;
    const int vh_shift     = 2 * ((iqs % 16) / 8);
    const int vl = get_int_b2(bq6_K->ql, iqs);
    const int vh = get_int_b2(bq6_K->qh, 8 * (iqs / 16) + iqs % 8) >> vh_shift;
    const int8_t * scales = bq6_K->scales + scale_offset;
    float sumf = 0.0f;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const int   u  = get_int_b4(bq8_1[bq8_offset + 2*i].qs, iqs % 8);
        const float d8 = __low2float(bq8_1[bq8_offset + 2*i].ds);
        const int vil = (vl >> (4*i)) & 0x0F0F0F0F;
        const int vih = ((vh >> (4*i)) << 4) & 0x30303030;
        const int vi  = __vsubss4((vil | vih), 0x20202020);
        sumf += d8 * (__dp4a(vi, u, 0) * scales[4*i]);
    }
    return __half2float(bq6_K->d)*sumf;
}
static __global__ void quantize_q8_1(const float * __restrict__ x, void * __restrict__ vy, const int kx, const int kx_padded) {
    const int ix = blockDim.x*blockIdx.x + threadIdx.x;
    if (ix >= kx_padded) return;
    const int iy = blockDim.y*blockIdx.y + threadIdx.y;
    const int i_padded = iy*kx_padded + ix;
    block_q8_1 * y = (block_q8_1 *) vy;
    const int ib = i_padded / QK8_1, iqs = i_padded % QK8_1;
    const float xi = ix < kx ? x[iy*kx + ix] : 0.0f;
    float amax = warp_reduce_max(fabsf(xi));
    float sum  = warp_reduce_sum(xi);
    const float d = amax / 127;
    const int8_t q = amax == 0.0f ? 0 : roundf(xi / d);
    y[ib].qs[iqs] = q;
    if (iqs > 0) return;
    y[ib].ds = make_half2(__float2half(d), __float2half(sum));
}
template <ggml_type type, int ncols_y>
__launch_bounds__(4*WARP_SIZE, 1)
static __global__ void mul_mat_vec_q(const void * __restrict__ vx, const void * __restrict__ vy, float * __restrict__ dst,
                                     const int ncols_x, const int nrows_x, const int nrows_y_padded) {
    typedef ggml_cuda_type_traits<type> tr;
    typedef typename tr::block block_t;
    constexpr int nwarps = 4, qk = tr::qk, qi = tr::qi, vdr = tr::vdr;
    const int tid  = WARP_SIZE*threadIdx.y + threadIdx.x;
    const int row0 = blockIdx.x;
    const int blocks_per_row_x = ncols_x / qk;
    const int blocks_per_col_y = nrows_y_padded / QK8_1;
    constexpr int blocks_per_iter = vdr * nwarps*WARP_SIZE / qi;
    float tmp[ncols_y] = {0.0f};
    const block_q8_1 * y = (const block_q8_1 *) vy;
    const block_t    * x = (const block_t *) vx;
    for (int kbx = tid / (qi/vdr); kbx < blocks_per_row_x; kbx += blocks_per_iter) {
        const int kby = kbx * (qk/QK8_1);
        const int kqs = vdr * (tid % (qi/vdr));
#pragma unroll
        for (int j = 0; j < ncols_y; ++j) {
            tmp[j] += vec_dot(x + (size_t) row0*blocks_per_row_x + kbx, &y[j*blocks_per_col_y + kby], kqs);
        }
    }
    __shared__ float tmp_shared[nwarps-1][ncols_y][WARP_SIZE];
    if (threadIdx.y > 0) {
#pragma unroll
        for (int j = 0; j < ncols_y; ++j) tmp_shared[threadIdx.y-1][j][threadIdx.x] = tmp[j];
    }
    __syncthreads();
    if (threadIdx.y > 0) return;
#pragma unroll
    for (int j = 0; j < ncols_y; ++j) {
#pragma unroll
        for (int l = 0; l < nwarps-1; ++l) tmp[j] += tmp_shared[l][j][threadIdx.x];
        tmp[j] = warp_reduce_sum(tmp[j]);
        if (threadIdx.x == 0) dst[j*nrows_x + row0] = tmp[j];
    }
}
static __host__ __device__ inline void get_scale_min_k4(int j, const uint8_t * q, uint8_t & d, uint8_t & m) {
    if (j < 4) { d = q[j] & 63; m = q[j + 4] & 63; }
    else { d = (q[j+4] & 0xF) | ((q[j-4] >> 6) << 4); m = (q[j+4] >> 4) | ((q[j-0] >> 6) << 4); }
}
template <typename dst_t>
static __global__ void dequantize_block_q4_K(const void * __restrict__ vx, dst_t * __restrict__ yy) {
    const block_q4_K * x = (const block_q4_K *) vx;
    const int64_t i = blockIdx.x;
    const int64_t tid = threadIdx.x, il = tid/8, ir = tid%8, is = 2*il, n = 4;
    dst_t * y = yy + i*QK_K + 64*il + n*ir;
    const float dall = __low2half(x[i].dm);
    const float dmin = __high2half(x[i].dm);
    const uint8_t * q = x[i].qs + 32*il + n*ir;
    uint8_t sc, m;
    get_scale_min_k4(is + 0, x[i].scales, sc, m);
    const float d1 = dall * sc, m1 = dmin * m;
    get_scale_min_k4(is + 1, x[i].scales, sc, m);
    const float d2 = dall * sc, m2 = dmin * m;
    for (int l = 0; l < n; ++l) {
        y[l + 0] = d1 * (q[l] & 0xF) - m1;
        y[l +32] = d2 * (q[l] >>  4) - m2;
    }
}
template <typename dst_t>
static __global__ void dequantize_block_q6_K(const void * __restrict__ vx, dst_t * __restrict__ yy) {
    const block_q6_K * x = (const block_q6_K *) vx;
    const int64_t i = blockIdx.x;
    const int64_t tid = threadIdx.x, ip = tid/32, il = tid - 32*ip, is = 8*ip + il/16;
    dst_t * y = yy + i*QK_K + 128*ip + il;
    const float d = x[i].d;
    const uint8_t * ql = x[i].ql + 64*ip + il;
    const uint8_t   qh = x[i].qh[32*ip + il];
    const int8_t  * sc = x[i].scales + is;
    y[ 0] = d * sc[0] * ((int8_t)((ql[ 0] & 0xF) | (((qh >> 0) & 3) << 4)) - 32);
    y[32] = d * sc[2] * ((int8_t)((ql[32] & 0xF) | (((qh >> 2) & 3) << 4)) - 32);
    y[64] = d * sc[4] * ((int8_t)((ql[ 0]  >> 4) | (((qh >> 4) & 3) << 4)) - 32);
    y[96] = d * sc[6] * ((int8_t)((ql[32]  >> 4) | (((qh >> 6) & 3) << 4)) - 32);
}
template <typename dst_t>
static __global__ void k_get_rows_q8_0(const void * src0, const int32_t * src1, dst_t * dst, const int64_t ne00, const size_t nb01, const size_t s1) {
    const int i00 = (blockIdx.y*blockDim.x + threadIdx.x)*2;
    const int i10 = blockIdx.x;
    if (i00 >= ne00) return;
    const int i01 = src1[i10];
    dst_t * dst_row = dst + i10*s1;
    const block_q8_0 * src0_row = (const block_q8_0 *)((const char *) src0 + i01*nb01);
    const int ib = i00/QK8_0, iqs = i00%QK8_0;
    const float d = src0_row[ib].d;
    dst_row[i00 + 0] = src0_row[ib].qs[iqs + 0] * d;
    dst_row[i00 + 1] = src0_row[ib].qs[iqs + 1] * d;
}
static __global__ void rope_neox(const float * x, float * dst, const int ne0, const int ne1, const int n_dims, const int32_t * pos, const float theta_scale) {
    const int i0 = 2*(blockDim.y*blockIdx.y + threadIdx.y);
    if (i0 >= ne0) return;
    const int row = blockDim.x*blockIdx.x + threadIdx.x;
    if (i0 >= n_dims) {
        const int i = row*ne0 + i0;
        dst[i + 0] = x[i + 0];
        dst[i + 1] = x[i + 1];
        return;
    }
    const int i = row*ne0 + i0/2;
    const int i2 = row/ne1;
    const float theta = pos[i2]*powf(theta_scale, i0/2.0f);
    const float c = cosf(theta), s = sinf(theta);
    const float x0 = x[i], x1 = x[i + n_dims/2];
    dst[i]            = x0*c - x1*s;
    dst[i + n_dims/2] = x0*s + x1*c;
}
template <int block_size_template>
static __global__ void soft_max_f32(const float * x, const half * mask, float * dst, const int ncols_par, const int nrows_y, const float scale, const float max_bias) {
    const int ncols = ncols_par;
    const int block_size = block_size_template == 0 ? blockDim.x : block_size_template;
    const int tid = threadIdx.x, rowx = blockIdx.x, rowy = rowx % nrows_y;
    const int warp_id = tid / WARP_SIZE, lane_id = tid % WARP_SIZE;
    const float slope = max_bias > 0.0f ? exp2f(-max_bias * (rowx/nrows_y + 1) / 8.0f) : 1.0f;
    extern __shared__ float data_soft_max_f32[];
    float * buf_iw = data_soft_max_f32;
    float * vals   = buf_iw + WARP_SIZE;
    float max_val = -INFINITY;
    for (int col0 = 0; col0 < ncols; col0 += block_size) {
        const int col = col0 + tid;
        if (col >= ncols) break;
        const float val = x[(int64_t) rowx*ncols + col]*scale + (mask ? slope*__half2float(mask[(int64_t) rowy*ncols + col]) : 0.0f);
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
    for (int col = tid; col < ncols; col += block_size) {
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
    for (int col = tid; col < ncols; col += block_size) dst[(int64_t) rowx*ncols + col] = vals[col]*inv_sum;
}
template <typename T>
static __global__ void im2col_kernel(const float * x, T * dst, int64_t batch_offset, int64_t offset_delta, int64_t IC, int64_t IW, int64_t IH,
        int64_t OH, int64_t OW, int64_t KW, int64_t KH, int64_t pelements, int64_t CHW, int s0, int s1, int p0, int p1, int d0, int d1) {
    const int64_t i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= pelements) return;
    const int64_t ksize = OW * KH;
    const int64_t kx = i / ksize;
    const int64_t kd = kx * ksize;
    const int64_t ky = (i - kd) / OW;
    const int64_t ix = i % OW;
    const int64_t oh = blockIdx.y, batch = blockIdx.z / IC, ic = blockIdx.z % IC;
    const int64_t iiw = ix * s0 + kx * d0 - p0;
    const int64_t iih = oh * s1 + ky * d1 - p1;
    const int64_t offset_dst = ((batch * OH + oh) * OW + ix) * CHW + (ic * (KW * KH) + ky * KW + kx);
    if (iih < 0 || iih >= IH || iiw < 0 || iiw >= IW) {
        dst[offset_dst] = 0.0f;
    } else {
        dst[offset_dst] = x[ic * offset_delta + batch * batch_offset + iih * IW + iiw];
    }
}
template <typename T> static inline __device__ void ggml_cuda_swap(T & a, T & b) { T tmp = a; a = b; b = tmp; }
template <bool ascending>
static __global__ void k_argsort_f32_i32(const float * x, int * dst, const int ncols, int ncols_pad) {
    int col = threadIdx.x, row = blockIdx.y;
    if (col >= ncols_pad) return;
    const float * x_row = x + row * ncols;
    extern __shared__ int dst_row[];
    dst_row[col] = col;
    __syncthreads();
    for (int k = 2; k <= ncols_pad; k *= 2) {
        for (int j = k / 2; j > 0; j /= 2) {
            int ixj = col ^ j;
            if (ixj > col) {
                if ((col & k) == 0) {
                    if (dst_row[col] >= ncols || (dst_row[ixj] < ncols && (ascending ? x_row[dst_row[col]] > x_row[dst_row[ixj]] : x_row[dst_row[col]] < x_row[dst_row[ixj]])))
                        ggml_cuda_swap(dst_row[col], dst_row[ixj]);
                } else {
                    if (dst_row[ixj] >= ncols || (dst_row[col] < ncols && (ascending ? x_row[dst_row[col]] < x_row[dst_row[ixj]] : x_row[dst_row[col]] > x_row[dst_row[ixj]])))
                        ggml_cuda_swap(dst_row[col], dst_row[ixj]);
                }
            }
            __syncthreads();
        }
    }
    if (col < ncols) dst[row * ncols + col] = dst_row[col];
}
static __global__ void conv_transpose_1d_kernel(const int s0, const int output_size, const int src0_ne0, const int src0_ne1, const int src0_ne2,
        const int src1_ne0, const int dst_ne0, const float * src0, const float * src1, float * dst) {
    int global_index = threadIdx.x + blockIdx.x * blockDim.x;
    if (global_index >= output_size) return;
    int out_index = global_index / dst_ne0;
    float accumulator = 0;
    for (int c = 0; c < src0_ne2; c++) {
        int idx = global_index % dst_ne0;
        int kernel_offset = (src0_ne0 * src0_ne1 * c) + (out_index * src0_ne0);
        int input_offset = src1_ne0 * c;
        for (int i = 0; i < src1_ne0; i++) {
            if (!(idx >= i*s0 && idx < i*s0 + src0_ne0)) continue;
            int weight_idx = idx - i*s0;
            accumulator += src0[kernel_offset + weight_idx] * src1[input_offset + i];
        }
    }
    dst[global_index] = accumulator;
}
// ---------------------------------------------------------------- host
static uint64_t rng_state = 88172645463325252ull;
static uint32_t rnd() { rng_state ^= rng_state << 13; rng_state ^= rng_state >> 7; rng_state ^= rng_state << 17; return (uint32_t)(rng_state >> 16); }
static float rndf() { return (rnd() & 0xffff) / 32768.0f - 1.0f; }
template <typename T> static T * up(const std::vector<T> & v) { T * p; CUDA_CHECK(cudaMalloc(&p, v.size()*sizeof(T))); CUDA_CHECK(cudaMemcpy(p, v.data(), v.size()*sizeof(T), cudaMemcpyHostToDevice)); return p; }
template <typename T> static std::vector<T> down(const T * p, size_t n) { std::vector<T> v(n); CUDA_CHECK(cudaMemcpy(v.data(), p, n*sizeof(T), cudaMemcpyDeviceToHost)); return v; }
template <typename T> static T * dalloc(size_t n) { T * p; CUDA_CHECK(cudaMalloc(&p, n*sizeof(T))); return p; }
static int nfail = 0;
static void report(const char * name, double err, double tol) { bool ok = err <= tol; printf("%-24s err %.3e %s\n", name, err, ok ? "ok" : "BAD"); nfail += !ok; }
static void fill(block_q8_0 & b) { b.d = __float2half(0.01f + 0.01f*fabsf(rndf())); for (auto & q : b.qs) q = (int8_t)(rnd() % 255 - 127); }
static void fill(block_q4_K & b) { b.dm = __halves2half2(__float2half(0.002f), __float2half(0.01f + 0.005f*rndf())); for (auto & s : b.scales) s = rnd(); for (auto & q : b.qs) q = rnd(); }
static void fill(block_q6_K & b) { b.d = __float2half(0.001f + 0.0005f*rndf()); for (auto & s : b.scales) s = (int8_t)(rnd() % 63 - 31); for (auto & q : b.ql) q = rnd(); for (auto & q : b.qh) q = rnd(); }
static void to_float(const block_q8_0 & b, float * y) { for (int i = 0; i < 32; i++) y[i] = __half2float(b.d)*b.qs[i]; }
static void to_float(const block_q4_K & b, float * y) {
    float d = __half2float(__low2half(b.dm)), mn = __half2float(__high2half(b.dm));
    for (int s = 0; s < 8; s++) {
        uint8_t sc, m; get_scale_min_k4(s, b.scales, sc, m);
        for (int l = 0; l < 32; l++) { int q = b.qs[32*(s/2) + l]; q = s & 1 ? q >> 4 : q & 0xF; y[32*s + l] = d*sc*q - mn*m; }
    }
}
static void to_float(const block_q6_K & b, float * y) {
    float d = __half2float(b.d);
    for (int e = 0; e < 256; e++) {
        int h = e / 128, r = e % 128, g = r / 32, l = r % 32;
        int lo = b.ql[64*h + 32*(g & 1) + l]; lo = g >= 2 ? lo >> 4 : lo & 0xF;
        int hi = (b.qh[32*h + l] >> (2*g)) & 3;
        y[e] = d * b.scales[8*h + 2*g + l/16] * ((lo | hi << 4) - 32);
    }
}
template <ggml_type type, int ncols_y>
static void test_mmvq(const char * name, int ncols, int nrows, std::vector<float> & w, typename ggml_cuda_type_traits<type>::block ** keep = nullptr) {
    typedef typename ggml_cuda_type_traits<type>::block block_t;
    constexpr int qk = ggml_cuda_type_traits<type>::qk;
    std::vector<block_t> x((size_t) nrows*ncols/qk);
    w.resize((size_t) nrows*ncols);
    for (size_t i = 0; i < x.size(); i++) { fill(x[i]); to_float(x[i], &w[i*qk]); }
    std::vector<float> y((size_t) ncols*ncols_y);
    for (auto & v : y) v = rndf();
    block_t * dx = up(x);
    float * dy = up(y), * dd = dalloc<float>(nrows*ncols_y);
    const int padded = GGML_PAD(ncols, 512);
    block_q8_1 * dq = dalloc<block_q8_1>((size_t) padded/QK8_1*ncols_y);
    quantize_q8_1<<<dim3((padded + 255)/256, ncols_y), 256>>>(dy, dq, ncols, padded);
    mul_mat_vec_q<type, ncols_y><<<nrows, dim3(WARP_SIZE, 4)>>>(dx, dq, dd, ncols, nrows, padded);
    CUDA_CHECK(cudaGetLastError());
    auto got = down(dd, nrows*ncols_y);
    double worst = 0;
    for (int j = 0; j < ncols_y; j++) for (int r = 0; r < nrows; r++) {
        double s = 0, n = 0;
        for (int c = 0; c < ncols; c++) { double p = (double) w[(size_t) r*ncols + c]*y[(size_t) j*ncols + c]; s += p; n += fabs(p); }
        worst = fmax(worst, fabs(s - got[j*nrows + r])/n);
    }
    report(name, worst, 1e-2);
    if (keep) *keep = dx; else cudaFree(dx);
    cudaFree(dy); cudaFree(dd); cudaFree(dq);
}
int main() {
    std::vector<float> w8, w4, w6;
    block_q8_0 * d8; block_q4_K * d4; block_q6_K * d6;
    test_mmvq<GGML_TYPE_Q8_0, 1>("mmvq q8_0 x1", 1056, 770, w8, &d8);
    test_mmvq<GGML_TYPE_Q4_K, 1>("mmvq q4_K x1", 2048, 515, w4, &d4);
    test_mmvq<GGML_TYPE_Q6_K, 1>("mmvq q6_K x1", 1280, 400, w6, &d6);
    std::vector<float> tmp;
    test_mmvq<GGML_TYPE_Q4_K, 4>("mmvq q4_K x4", 768, 300, tmp);
    {
        float * dy = dalloc<float>(w4.size());
        dequantize_block_q4_K<float><<<w4.size()/QK_K, 32>>>(d4, dy);
        auto g = down(dy, w4.size()); double e = 0;
        for (size_t i = 0; i < g.size(); i++) e = fmax(e, fabs(g[i] - w4[i]));
        report("dequantize q4_K", e, 1e-4);
        half * dh = dalloc<half>(w6.size());
        dequantize_block_q6_K<half><<<w6.size()/QK_K, 64>>>(d6, dh);
        auto h = down(dh, w6.size()); e = 0;
        for (size_t i = 0; i < h.size(); i++) e = fmax(e, fabs(__half2float(h[i]) - w6[i]));
        report("dequantize q6_K", e, 5e-3);
        const int nr = 93, ne = 1056;
        std::vector<int32_t> ids(nr);
        for (auto & i : ids) i = rnd() % 770;
        float * dr = dalloc<float>(nr*ne);
        k_get_rows_q8_0<float><<<dim3(nr, (ne + 511)/512), 256>>>(d8, up(ids), dr, ne, ne/QK8_0*sizeof(block_q8_0), ne);
        auto r = down(dr, nr*ne); e = 0;
        for (int i = 0; i < nr; i++) for (int c = 0; c < ne; c++) e = fmax(e, fabs(r[i*ne + c] - w8[(size_t) ids[i]*ne + c]));
        report("get_rows q8_0", e, 1e-5);
    }
    {
        const int ne0 = 96, heads = 12, toks = 45, nd = 64;
        std::vector<float> x(ne0*heads*toks); std::vector<int32_t> pos(toks);
        for (auto & v : x) v = rndf();
        for (int i = 0; i < toks; i++) pos[i] = 3 + i*2;
        const float ts = powf(10000.0f, -2.0f/nd);
        float * o = dalloc<float>(x.size());
        rope_neox<<<dim3(heads*toks, (ne0/2 + 255)/256), dim3(1, 256)>>>(up(x), o, ne0, heads, nd, up(pos), ts);
        auto g = down(o, x.size()); double e = 0;
        for (int r = 0; r < heads*toks; r++) for (int c = 0; c < ne0; c++) {
            double ref = x[r*ne0 + c];
            if (c < nd) {
                double t = pos[r/heads]*pow(10000.0, -2.0*(c % (nd/2))/nd);
                ref = c < nd/2 ? x[r*ne0 + c]*cos(t) - x[r*ne0 + c + nd/2]*sin(t) : x[r*ne0 + c - nd/2]*sin(t) + x[r*ne0 + c]*cos(t);
            }
            e = fmax(e, fabs(ref - g[r*ne0 + c]));
        }
        report("rope neox", e, 1e-3);
    }
    for (int ncols : {333, 1024, 31}) {
        const int nrows_y = 24, heads = 8, rows = nrows_y*heads;
        std::vector<float> x(rows*ncols); std::vector<half> m(nrows_y*ncols);
        for (auto & v : x) v = 4*rndf();
        for (int r = 0; r < nrows_y; r++) for (int c = 0; c < ncols; c++) m[r*ncols + c] = __float2half(c > r + ncols/2 ? -INFINITY : -0.125f*(r + ncols/2 - c));
        float * o = dalloc<float>(x.size());
        int nth = WARP_SIZE; while (nth < ncols && nth < 1024) nth *= 2;
        const size_t sh = (GGML_PAD(ncols, WARP_SIZE) + WARP_SIZE)*sizeof(float);
        float * dx = up(x); half * dm = up(m);
        if (nth == 1024) soft_max_f32<1024><<<rows, nth, sh>>>(dx, dm, o, ncols, nrows_y, 0.5f, 8.0f);
        else             soft_max_f32<0>   <<<rows, nth, sh>>>(dx, dm, o, ncols, nrows_y, 0.5f, 8.0f);
        CUDA_CHECK(cudaGetLastError());
        auto g = down(o, x.size()); double e = 0;
        for (int r = 0; r < rows; r++) {
            double mx = -1e30, s = 0, slope = exp2(-(r/nrows_y + 1.0)); std::vector<double> v(ncols);
            for (int c = 0; c < ncols; c++) { v[c] = x[r*ncols + c]*0.5 + slope*__half2float(m[(r % nrows_y)*ncols + c]); mx = fmax(mx, v[c]); }
            for (auto & t : v) { t = exp(t - mx); s += t; }
            for (int c = 0; c < ncols; c++) e = fmax(e, fabs(v[c]/s - g[r*ncols + c]));
        }
        report("soft_max", e, 1e-4);
    }
    {
        const int N = 2, IC = 5, IH = 30, IW = 37, KH = 3, KW = 3, s = 2, p = 1, d = 1;
        const int OH = (IH + 2*p - d*(KH-1) - 1)/s + 1, OW = (IW + 2*p - d*(KW-1) - 1)/s + 1, CHW = IC*KH*KW;
        std::vector<float> x(N*IC*IH*IW); for (auto & v : x) v = rndf();
        half * o = dalloc<half>((size_t) N*OH*OW*CHW);
        const int pe = OW*KW*KH;
        im2col_kernel<half><<<dim3((pe + 255)/256, OH, N*IC), 256>>>(up(x), o, IC*IH*IW, IH*IW, IC, IW, IH, OH, OW, KW, KH, pe, CHW, s, s, p, p, d, d);
        auto g = down(o, (size_t) N*OH*OW*CHW); double e = 0;
        for (int n = 0; n < N; n++) for (int oh = 0; oh < OH; oh++) for (int ow = 0; ow < OW; ow++) for (int c = 0; c < IC; c++) for (int kh = 0; kh < KH; kh++) for (int kw = 0; kw < KW; kw++) {
            int y = oh*s + kh - p, xx = ow*s + kw - p;
            float ref = y < 0 || y >= IH || xx < 0 || xx >= IW ? 0 : x[((n*IC + c)*IH + y)*IW + xx];
            e = fmax(e, fabs(ref - __half2float(g[((size_t)(n*OH + oh)*OW + ow)*CHW + (c*KH + kh)*KW + kw])));
        }
        report("im2col", e, 1e-3);
    }
    {
        const int ncols = 300, pad = 512, rows = 40;
        std::vector<float> x(ncols*rows);
        for (int r = 0; r < rows; r++) for (int c = 0; c < ncols; c++) x[r*ncols + c] = (float)((c*7919 + r*31) % 1009);   // distinct in a row
        int * o = dalloc<int>(x.size());
        k_argsort_f32_i32<false><<<dim3(1, rows), pad, pad*sizeof(int)>>>(up(x), o, ncols, pad);
        auto g = down(o, x.size()); int bad = 0;
        for (int r = 0; r < rows; r++) {
            std::vector<int> id(ncols); std::iota(id.begin(), id.end(), 0);
            std::sort(id.begin(), id.end(), [&](int a, int b) { return x[r*ncols + a] > x[r*ncols + b]; });
            for (int c = 0; c < ncols; c++) bad += id[c] != g[r*ncols + c];
        }
        report("argsort", bad, 0);
    }
    {
        const int K = 8, OC = 12, IC = 10, L = 41, s0 = 3, OL = (L-1)*s0 + K;
        std::vector<float> wk(K*OC*IC), in(L*IC); for (auto & v : wk) v = rndf(); for (auto & v : in) v = rndf();
        float * o = dalloc<float>(OL*OC);
        conv_transpose_1d_kernel<<<(OL*OC + 255)/256, 256>>>(s0, OL*OC, K, OC, IC, L, OL, up(wk), up(in), o);
        auto g = down(o, OL*OC); std::vector<double> ref(OL*OC, 0.0); double e = 0;
        for (int c = 0; c < IC; c++) for (int oc = 0; oc < OC; oc++) for (int i = 0; i < L; i++) for (int k = 0; k < K; k++) ref[oc*OL + i*s0 + k] += wk[(c*OC + oc)*K + k]*in[c*L + i];
        for (int i = 0; i < OL*OC; i++) e = fmax(e, fabs(ref[i] - g[i]));
        report("conv_transpose_1d", e, 1e-3);
    }
    printf("%s\n", nfail ? "FAIL" : "PASS");
    return nfail != 0;
}
