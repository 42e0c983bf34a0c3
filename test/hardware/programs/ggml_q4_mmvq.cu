// quantized mat-vec for the token generation path, q4_0 weights x q8_1 activations
// based on the usual ggml block formats

#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <assert.h>
#include <math.h>
#include <vector>

#define CUDA_CHECK_(err)                                                       \
    do {                                                                       \
        cudaError_t err_ = (err);                                              \
        if (err_ != cudaSuccess) {                                             \
            fprintf(stderr, "CUDA error %d at %s:%d: %s\n", err_, __FILE__,    \
                    __LINE__, cudaGetErrorString(err_));                       \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

#define WARP_SIZE 32

#define QK4_0 32
#define QR4_0 2
#define QI4_0 (QK4_0 / (4 * QR4_0))
typedef struct {
    half    d;              // delta
    uint8_t qs[QK4_0 / 2];  // nibbles / quants
} block_q4_0;
static_assert(sizeof(block_q4_0) == sizeof(half) + QK4_0 / 2, "wrong q4_0 block size/padding");

#define QK8_1 32
#define QR8_1 1
#define QI8_1 (QK8_1 / (4 * QR8_1))
typedef struct {
    half2  ds;              // ds.x = delta, ds.y = sum
    int8_t qs[QK8_1];       // quants
} block_q8_1;
static_assert(sizeof(block_q8_1) == 2 * sizeof(half) + QK8_1, "wrong q8_1 block size/padding");

#define VDR_Q4_0_Q8_1_MMVQ 2
#define CUDA_QUANTIZE_BLOCK_SIZE 256
#define CUDA_DEQUANTIZE_BLOCK_SIZE 256
#define GGML_CUDA_MMV_Y 2

static __device__ __forceinline__ float warp_reduce_sum(float x) {
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) {
        x += __shfl_xor_sync(0xffffffff, x, mask, 32);
    }
    return x;
}

static __device__ __forceinline__ float warp_reduce_max(float x) {
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) {
        x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, mask, 32));
    }
    return x;
}

static __device__ __forceinline__ int get_int_from_uint8(const uint8_t * x8, const int & i32) {
    const uint16_t * x16 = (const uint16_t *) (x8 + sizeof(int) * i32); // assume at least 2 byte alignment
    int x32 = 0;
    x32 |= x16[0] <<  0;
    x32 |= x16[1] << 16;
    return x32;
}

static __device__ __forceinline__ int get_int_from_int8_aligned(const int8_t * x8, const int & i32) {
    return *((const int *) (x8 + sizeof(int) * i32)); // assume at least 4 byte alignment
}

static __global__ void rms_norm_f32(const float * x, const float * w, float * dst, const int ncols, const float eps) {
    const int row = blockIdx.x*blockDim.y + threadIdx.y;
    const int tid = threadIdx.x;

    float tmp = 0.0f;
    for (int col = tid; col < ncols; col += blockDim.x) {
        const float xi = x[row*ncols + col];
        tmp += xi * xi;
    }
    tmp = warp_reduce_sum(tmp);
    if (blockDim.x > WARP_SIZE) {
        __shared__ float s_sum[32];
        const int warp_id = threadIdx.x / WARP_SIZE;
        const int lane_id = threadIdx.x % WARP_SIZE;
        if (lane_id == 0) {
            s_sum[warp_id] = tmp;
        }
        __syncthreads();
        tmp = lane_id < (int) blockDim.x / WARP_SIZE ? s_sum[lane_id] : 0.0f;
        tmp = warp_reduce_sum(tmp);
    }

    const float mean  = tmp / ncols;
    const float scale = rsqrtf(mean + eps);
    for (int col = tid; col < ncols; col += blockDim.x) {
        dst[row*ncols + col] = scale * x[row*ncols + col] * w[col];
    }
}

static __global__ void quantize_q8_1(const float * __restrict__ x, void * __restrict__ vy, const int kx, const int kx_padded) {
    const int ix = blockDim.x*blockIdx.x + threadIdx.x;
    if (ix >= kx_padded) {
        return;
    }
    const int iy = blockDim.y*blockIdx.y + threadIdx.y;
    const int i_padded = iy*kx_padded + ix;

    block_q8_1 * y = (block_q8_1 *) vy;

    const int ib  = i_padded / QK8_1; // block index
    const int iqs = i_padded % QK8_1; // quant index

    const float xi = ix < kx ? x[iy*kx + ix] : 0.0f;
    float amax = fabsf(xi);
    float sum  = xi;
    amax = warp_reduce_max(amax);
    sum  = warp_reduce_sum(sum);

    const float  d = amax / 127;
    const int8_t q = amax == 0.0f ? 0 : roundf(xi / d);

    y[ib].qs[iqs] = q;
    if (iqs > 0) {
        return;
    }
    y[ib].ds = __floats2half2_rn(d, sum);
}

static __global__ void dequantize_block_q4_0(const void * __restrict__ vx, float * __restrict__ y, const int k) {
    const int i = 2*(blockDim.x*blockIdx.x + threadIdx.x);
    if (i >= k) {
        return;
    }
    const int ib       = i/QK4_0;           // block index
    const int iqs      = (i%QK4_0)/QR4_0;   // quant index
    const int iybs     = i - i%QK4_0;       // y block start index
    const int y_offset = QK4_0/2;

    const block_q4_0 * x = (const block_q4_0 *) vx;
    const float d  = __half2float(x[ib].d);
    const int   vui = x[ib].qs[iqs];

    y[iybs + iqs + 0]        = ((vui & 0xF) - 8.0f)*d;
    y[iybs + iqs + y_offset] = ((vui >>  4) - 8.0f)*d;
}

template <int vdr>
static __device__ __forceinline__ float vec_dot_q4_0_q8_1_impl(const int * v, const int * u, const float & d4, const half2 & ds8) {
    int sumi = 0;
#pragma unroll
    for (int i = 0; i < vdr; ++i) {
        const int vi0 = (v[i] >> 0) & 0x0F0F0F0F;
        const int vi1 = (v[i] >> 4) & 0x0F0F0F0F;
        // SIMD dot product of quantized values
        sumi = __dp4a(vi0, u[2*i+0], sumi);
        sumi = __dp4a(vi1, u[2*i+1], sumi);
    }
    const float2 ds8f = __half22float2(ds8);
    // second part effectively subtracts 8 from each quant value
    return d4 * (sumi * ds8f.x - (8*vdr/QI4_0) * ds8f.y);
}

static __device__ __forceinline__ float vec_dot_q4_0_q8_1(const void * __restrict__ vbq, const block_q8_1 * __restrict__ bq8_1, const int & iqs) {
    const block_q4_0 * bq4_0 = (const block_q4_0 *) vbq;

    int v[VDR_Q4_0_Q8_1_MMVQ];
    int u[2*VDR_Q4_0_Q8_1_MMVQ];
#pragma unroll
    for (int i = 0; i < VDR_Q4_0_Q8_1_MMVQ; ++i) {
        v[i]     = get_int_from_uint8(bq4_0->qs, iqs + i);
        u[2*i+0] = get_int_from_int8_aligned(bq8_1->qs, iqs + i);
        u[2*i+1] = get_int_from_int8_aligned(bq8_1->qs, iqs + i + QI4_0);
    }
    return vec_dot_q4_0_q8_1_impl<VDR_Q4_0_Q8_1_MMVQ>(v, u, __half2float(bq4_0->d), bq8_1->ds);
}

typedef float (*vec_dot_q_cuda_t)(const void * __restrict__ vbq, const block_q8_1 * __restrict__ bq8_1, const int & iqs);

template <int qk, int qi, typename block_q_t, int vdr, vec_dot_q_cuda_t vec_dot_q_cuda>
static __global__ void mul_mat_vec_q(const void * __restrict__ vx, const void * __restrict__ vy, float * __restrict__ dst, const int ncols, const int nrows) {
    const int row = blockIdx.x*blockDim.y + threadIdx.y;
    if (row >= nrows) {
        return;
    }

    const int blocks_per_row  = ncols / qk;
    const int blocks_per_warp = vdr * WARP_SIZE / qi;

    // partial sum for each thread
    float tmp = 0.0f;

    const block_q_t  * x = (const block_q_t  *) vx;
    const block_q8_1 * y = (const block_q8_1 *) vy;

    for (int i = threadIdx.x / (qi/vdr); i < blocks_per_row; i += blocks_per_warp) {
        const int ibx = row*blocks_per_row + i; // x block index
        const int iby = i * (qk/QK8_1);         // y block index that aligns with ibx
        const int iqs = vdr * (threadIdx.x % (qi/vdr)); // x block quant index when casting the quants to int

        tmp += vec_dot_q_cuda(&x[ibx], &y[iby], iqs);
    }

    // sum up partial sums and write back result
    tmp = warp_reduce_sum(tmp);
    if (threadIdx.x == 0) {
        dst[row] = tmp;
    }
}

// plain f32 mat-vec on the dequantized matrix, one block per row
static __global__ void mul_mat_vec_f32(const float * __restrict__ x, const float * __restrict__ y, float * __restrict__ dst, const int ncols) {
    const int64_t row = blockIdx.x;
    const float2 * x2 = (const float2 *) (x + row*ncols);
    const float2 * y2 = (const float2 *) y;
    extern __shared__ float buf_iw[];
    if (threadIdx.x < WARP_SIZE) {
        buf_iw[threadIdx.x] = 0.0f;
    }
    __syncthreads();
    float sumf = 0.0f;
    for (int col2 = threadIdx.x; col2 < ncols/2; col2 += blockDim.x) {
        const float2 a = x2[col2];
        const float2 b = y2[col2];
        sumf += a.x*b.x + a.y*b.y;
    }
    sumf = warp_reduce_sum(sumf);
    buf_iw[threadIdx.x/WARP_SIZE] = sumf;
    __syncthreads();
    if (threadIdx.x >= WARP_SIZE) {
        return;
    }
    sumf = buf_iw[threadIdx.x];
    sumf = warp_reduce_sum(sumf);
    if (threadIdx.x != 0) {
        return;
    }
    dst[row] = sumf;
}

static __global__ void silu_mul_f32(const float * gate, const float * up, float * dst, const int k) {
    const int i = blockDim.x*blockIdx.x + threadIdx.x;
    if (i >= k) {
        return;
    }
    const float g = gate[i];
    dst[i] = g / (1.0f + expf(-g)) * up[i];
}

static void quantize_row_q4_0(const float * x, block_q4_0 * y, int k) {
    for (int i = 0; i < k / QK4_0; i++) {
        float amax = 0.0f, max = 0.0f;
        for (int j = 0; j < QK4_0; j++) {
            const float v = x[i*QK4_0 + j];
            if (amax < fabsf(v)) { amax = fabsf(v); max = v; }
        }
        const float d  = max / -8;
        const float id = d ? 1.0f/d : 0.0f;
        y[i].d = __float2half(d);
        for (int j = 0; j < QK4_0/2; ++j) {
            const int x0 = (int) (x[i*QK4_0 + 0       + j]*id + 8.5f);
            const int x1 = (int) (x[i*QK4_0 + QK4_0/2 + j]*id + 8.5f);
            const uint8_t xi0 = x0 < 15 ? x0 : 15;
            const uint8_t xi1 = x1 < 15 ? x1 : 15;
            y[i].qs[j] = xi0 | (xi1 << 4);
        }
    }
}

static uint32_t rng_state = 12345;
static float frand() {
    rng_state = rng_state*1664525u + 1013904223u;
    return (rng_state >> 8) / 8388608.0f - 1.0f;
}

int main(int argc, char ** argv) {
    const int ncols = argc > 1 ? atoi(argv[1]) : 2048;
    const int nrows = argc > 2 ? atoi(argv[2]) : 1411;
    const float eps = 1e-5f;
    assert(ncols % QK4_0 == 0);

    std::vector<float> w((size_t) ncols*nrows), x(ncols), nw(ncols);
    for (auto & v : w)  v = 0.1f*frand();
    for (auto & v : x)  v = 2.0f*frand();
    for (auto & v : nw) v = 1.0f + 0.1f*frand();
    const size_t nblk = w.size()/QK4_0;
    std::vector<block_q4_0> wq(nblk);
    for (int r = 0; r < nrows; r++) {
        quantize_row_q4_0(&w[(size_t) r*ncols], &wq[(size_t) r*ncols/QK4_0], ncols);
    }

    void * d_wq; void * d_xq;
    float * d_x, * d_nw, * d_xn, * d_w, * d_gate, * d_up, * d_dst;
    CUDA_CHECK_(cudaMalloc(&d_wq, nblk*sizeof(block_q4_0)));
    CUDA_CHECK_(cudaMalloc(&d_xq, ncols/QK8_1*sizeof(block_q8_1)));
    CUDA_CHECK_(cudaMalloc((void **) &d_x,  ncols*sizeof(float)));
    CUDA_CHECK_(cudaMalloc((void **) &d_nw, ncols*sizeof(float)));
    CUDA_CHECK_(cudaMalloc((void **) &d_xn, ncols*sizeof(float)));
    CUDA_CHECK_(cudaMalloc((void **) &d_w,  w.size()*sizeof(float)));
    CUDA_CHECK_(cudaMalloc((void **) &d_gate, nrows*sizeof(float)));
    CUDA_CHECK_(cudaMalloc((void **) &d_up,   nrows*sizeof(float)));
    CUDA_CHECK_(cudaMalloc((void **) &d_dst,  nrows*sizeof(float)));
    CUDA_CHECK_(cudaMemcpy(d_wq, wq.data(), nblk*sizeof(block_q4_0), cudaMemcpyHostToDevice));
    CUDA_CHECK_(cudaMemcpy(d_x,  x.data(),  ncols*sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK_(cudaMemcpy(d_nw, nw.data(), ncols*sizeof(float), cudaMemcpyHostToDevice));

    rms_norm_f32<<<1, dim3(1024, 1, 1)>>>(d_x, d_nw, d_xn, ncols, eps);
    {
        const int block_num_x = (ncols + CUDA_QUANTIZE_BLOCK_SIZE - 1) / CUDA_QUANTIZE_BLOCK_SIZE;
        quantize_q8_1<<<dim3(block_num_x, 1, 1), dim3(CUDA_QUANTIZE_BLOCK_SIZE, 1, 1)>>>(d_xn, d_xq, ncols, ncols);
    }
    {
        const dim3 block_nums((nrows + GGML_CUDA_MMV_Y - 1) / GGML_CUDA_MMV_Y, 1, 1);
        const dim3 block_dims(WARP_SIZE, GGML_CUDA_MMV_Y, 1);
        mul_mat_vec_q<QK4_0, QI4_0, block_q4_0, VDR_Q4_0_Q8_1_MMVQ, vec_dot_q4_0_q8_1>
            <<<block_nums, block_dims>>>(d_wq, d_xq, d_gate, ncols, nrows);
    }
    {
        const int k = ncols*nrows;
        const int num_blocks = (k + 2*CUDA_DEQUANTIZE_BLOCK_SIZE - 1) / (2*CUDA_DEQUANTIZE_BLOCK_SIZE);
        dequantize_block_q4_0<<<num_blocks, CUDA_DEQUANTIZE_BLOCK_SIZE>>>(d_wq, d_w, k);
        mul_mat_vec_f32<<<nrows, 256, WARP_SIZE*sizeof(float)>>>(d_w, d_xn, d_up, ncols);
    }
    silu_mul_f32<<<(nrows + 255)/256, 256>>>(d_gate, d_up, d_dst, nrows);
    CUDA_CHECK_(cudaGetLastError());
    CUDA_CHECK_(cudaDeviceSynchronize());

    std::vector<float> xn(ncols), gate(nrows), up(nrows), dst(nrows);
    std::vector<block_q8_1> xq(ncols/QK8_1);
    CUDA_CHECK_(cudaMemcpy(xn.data(),   d_xn,   ncols*sizeof(float), cudaMemcpyDeviceToHost));
    CUDA_CHECK_(cudaMemcpy(xq.data(),   d_xq,   xq.size()*sizeof(block_q8_1), cudaMemcpyDeviceToHost));
    CUDA_CHECK_(cudaMemcpy(gate.data(), d_gate, nrows*sizeof(float), cudaMemcpyDeviceToHost));
    CUDA_CHECK_(cudaMemcpy(up.data(),   d_up,   nrows*sizeof(float), cudaMemcpyDeviceToHost));
    CUDA_CHECK_(cudaMemcpy(dst.data(),  d_dst,  nrows*sizeof(float), cudaMemcpyDeviceToHost));

    int nbad = 0;
    double ss = 0;
    for (float v : x) ss += (double) v*v;
    const double sc = 1.0/sqrt(ss/ncols + eps);
    for (int i = 0; i < ncols; i++) {
        if (fabs(xn[i] - sc*x[i]*nw[i]) > 1e-4) nbad++;
        const float d = __half2float(__low2half(xq[i/QK8_1].ds));
        if (fabs(d*xq[i/QK8_1].qs[i%QK8_1] - xn[i]) > 0.65f*d) nbad++;
    }
    double worst = 0;
    for (int r = 0; r < nrows; r++) {
        double sq = 0, sf = 0;
        for (int b = 0; b < ncols/QK4_0; b++) {
            const block_q4_0 & q = wq[(size_t) r*(ncols/QK4_0) + b];
            const double d4 = __half2float(q.d), d8 = __half2float(__low2half(xq[b].ds)), s8 = __half2float(__high2half(xq[b].ds));
            int isum = 0;
            for (int j = 0; j < QK4_0/2; j++) {
                isum += (q.qs[j] & 0xF)*xq[b].qs[j] + (q.qs[j] >> 4)*xq[b].qs[j + 16];
                sf += d4*((q.qs[j] & 0xF) - 8)*xn[b*32 + j] + d4*((q.qs[j] >> 4) - 8)*xn[b*32 + j + 16];
            }
            sq += d4*(isum*d8 - 8.0*s8);
        }
        const double out = (double) gate[r]/(1.0 + exp(-(double) gate[r]))*up[r];
        worst = fmax(worst, fabs(sq - gate[r]));
        if (fabs(sq - gate[r]) > 2e-3 || fabs(sf - up[r]) > 2e-3 || fabs(out - dst[r]) > 1e-3) nbad++;
    }
    printf("ncols = %d, nrows = %d, worst mmvq diff = %g, bad = %d\n", ncols, nrows, worst, nbad);
    printf("%s\n", nbad == 0 ? "PASS" : "FAIL");
    return nbad == 0 ? 0 : 1;
}
