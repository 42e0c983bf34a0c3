/* Quantised matrix-vector products in the style of small LLM runtimes.
 *   q8 block: 32 int8 + one float scale          (36 bytes)
 *   q4 block: 32 4-bit values + one half scale   (18 bytes, 2-byte aligned)
 */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define QK 32
#define ROWS 4096
#define COLS 4096
#define NBLK (COLS / QK)

struct block_q8 {
    float d;
    int8_t qs[QK];
};
struct block_q4 {
    __half d;
    uint8_t qs[QK / 2];
};
static_assert(sizeof(block_q8) == 36 && sizeof(block_q4) == 18, "packing");

static void cudaOk(cudaError_t e, const char *expr)
{
    if (e == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", expr, cudaGetErrorString(e));
    exit(1);
}
#define OK(x) cudaOk((x), #x)

/* activations -> q8, one warp per block of 32 */
__global__ void quantize_q8(const float *__restrict__ x, block_q8 *__restrict__ y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float v = x[i];
    float amax = fabsf(v);
#pragma unroll
    for (int m = 16; m > 0; m >>= 1)
        amax = fmaxf(amax, __shfl_xor_sync(0xffffffffu, amax, m));
    const float d = amax / 127.0f;
    y[i / QK].qs[i % QK] = d > 0.f ? (int8_t)rintf(v / d) : 0;
    if (i % QK == 0) y[i / QK].d = d;
}

/* plain expansion to float: thread per block, 32 stores 128 bytes apart per warp */
__global__ void dequantize_q4(const block_q4 *x, float *y, int nblocks)
{
    const int ib = blockIdx.x * blockDim.x + threadIdx.x;
    if (ib >= nblocks) return;
    const float d = __half2float(x[ib].d);
    for (int j = 0; j < QK / 2; j++) {
        const uint8_t q = x[ib].qs[j];
        y[ib * QK + j] = d * ((q & 15) - 8);
        y[ib * QK + j + QK / 2] = d * ((q >> 4) - 8);
    }
}

static __device__ __forceinline__ int load_int_a2(const uint8_t *p, int i)
{
    const uint16_t *h = (const uint16_t *)(p + 4 * i);
    return h[0] | (h[1] << 16);
}

/* warp per row, dp4a, each lane takes whole q4 blocks */
__global__ void gemv_q4_dp4a(const block_q4 *__restrict__ w, const block_q8 *__restrict__ x,
                             float *__restrict__ y, int rows)
{
    const int lane = threadIdx.x;
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    const block_q4 *wr = w + (size_t)row * NBLK;
    float sum = 0.f;
    for (int ib = lane; ib < NBLK; ib += 32) {
        const int *xq = (const int *)x[ib].qs;
        int dot = 0, xsum = 0;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int v = load_int_a2(wr[ib].qs, i);
            const int lo = xq[i], hi = xq[i + 4];
            dot = __dp4a(v & 0x0f0f0f0f, lo, dot);
            dot = __dp4a((v >> 4) & 0x0f0f0f0f, hi, dot);
            xsum = __dp4a(0x01010101, lo, xsum);
            xsum = __dp4a(0x01010101, hi, xsum);
        }
        sum += __half2float(wr[ib].d) * x[ib].d * (float)(dot - 8 * xsum);
    }
#pragma unroll
    for (int m = 16; m > 0; m >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, m);
    if (lane == 0) y[row] = sum;
}

/* split layout: nibbles and scales in separate arrays, 16-byte loads,
 * activations staged in shared memory, block of 4 warps shares them */
__global__ void __launch_bounds__(128)
gemv_q4_split(const uint4 *__restrict__ nib, const __half *__restrict__ scale,
              const block_q8 *__restrict__ x, float *__restrict__ y)
{
    __shared__ int sx[NBLK * 8];
    __shared__ float sd[NBLK];
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    for (int i = tid; i < NBLK * 8; i += 128)
        sx[i] = ((const int *)x[i >> 3].qs)[i & 7];
    for (int i = tid; i < NBLK; i += 128) sd[i] = x[i].d;
    __syncthreads();

    for (int r = 0; r < 2; r++) {
        const int row = (blockIdx.x * 4 + warp) * 2 + r;
        float sum = 0.f;
#pragma unroll
        for (int it = 0; it < NBLK / 32; it++) {
            const int ib = it * 32 + lane;
            const uint4 q = nib[(size_t)row * NBLK + ib];
            const unsigned v[4] = {q.x, q.y, q.z, q.w};
            int dot = 0;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int lo = (int)__vsub4(v[i] & 0x0f0f0f0fu, 0x08080808u);
                const int hi = (int)__vsub4((v[i] >> 4) & 0x0f0f0f0fu, 0x08080808u);
                dot = __dp4a(lo, sx[ib * 8 + i], dot);
                dot = __dp4a(hi, sx[ib * 8 + 4 + i], dot);
            }
            sum += __half2float(scale[(size_t)row * NBLK + ib]) * sd[ib] * (float)dot;
        }
        for (int m = 16; m > 0; m >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, m);
        if (lane == 0) y[row] = sum;
    }
}

int main()
{
    const size_t nb = (size_t)ROWS * NBLK;
    std::vector<block_q4> w(nb);
    std::vector<uint4> nib(nb);
    std::vector<__half> scale(nb);
    std::vector<float> x(COLS), y1(ROWS), y2(ROWS), deq(nb * QK);
    std::vector<block_q8> xq(NBLK), xqGpu(NBLK);

    uint32_t s = 0xC0FFEEu;
    auto rnd = [&s] { s ^= s << 13; s ^= s >> 17; s ^= s << 5; return s; };
    for (size_t i = 0; i < nb; i++) {
        w[i].d = __float2half(0.01f + (rnd() & 1023) * 1e-5f);
        for (int j = 0; j < QK / 2; j += 4) {
            const uint32_t v = rnd();
            memcpy(w[i].qs + j, &v, 4);
        }
        memcpy(&nib[i], w[i].qs, 16);
        scale[i] = w[i].d;
    }
    for (float &v : x) v = (int)(rnd() % 20001) * 1e-4f - 1.0f;

    block_q4 *dw;
    block_q8 *dxq;
    uint4 *dnib;
    __half *dscale;
    float *dx, *dy1, *dy2, *ddeq;
    OK(cudaMalloc(&dw, nb * sizeof(block_q4)));
    OK(cudaMalloc(&dxq, NBLK * sizeof(block_q8)));
    OK(cudaMalloc(&dnib, nb * sizeof(uint4)));
    OK(cudaMalloc(&dscale, nb * sizeof(__half)));
    OK(cudaMalloc(&dx, COLS * sizeof(float)));
    OK(cudaMalloc(&dy1, ROWS * sizeof(float)));
    OK(cudaMalloc(&dy2, ROWS * sizeof(float)));
    OK(cudaMalloc(&ddeq, nb * QK * sizeof(float)));
    OK(cudaMemcpy(dw, w.data(), nb * sizeof(block_q4), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(dnib, nib.data(), nb * sizeof(uint4), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(dscale, scale.data(), nb * sizeof(__half), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(dx, x.data(), COLS * sizeof(float), cudaMemcpyHostToDevice));

    quantize_q8<<<COLS / 128, 128>>>(dx, dxq, COLS);
    dequantize_q4<<<(int)((nb + 255) / 256), 256>>>(dw, ddeq, (int)nb);
    gemv_q4_dp4a<<<ROWS / 4, dim3(32, 4)>>>(dw, dxq, dy1, ROWS);
    gemv_q4_split<<<ROWS / 8, 128>>>(dnib, dscale, dxq, dy2);
    OK(cudaGetLastError());
    OK(cudaMemcpy(y1.data(), dy1, ROWS * sizeof(float), cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(y2.data(), dy2, ROWS * sizeof(float), cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(xqGpu.data(), dxq, NBLK * sizeof(block_q8), cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(deq.data(), ddeq, nb * QK * sizeof(float), cudaMemcpyDeviceToHost));

    int bad = 0;
    for (int i = 0; i < COLS; i++)            /* quantiser: within half a step */
        bad += !(fabsf(xqGpu[i / QK].d * xqGpu[i / QK].qs[i % QK] - x[i]) <= 0.51f * xqGpu[i / QK].d);
    for (int r = 0; r < ROWS; r++) {
        double ref = 0, mag = 0;
        for (int ib = 0; ib < NBLK; ib++) {
            const block_q4 &b = w[(size_t)r * NBLK + ib];
            const float d = __half2float(b.d);
            int dot = 0;
            for (int j = 0; j < QK; j++) {
                const int q = (j < 16 ? b.qs[j] & 15 : b.qs[j - 16] >> 4) - 8;
                dot += q * xqGpu[ib].qs[j];
                if (r % 16 == 0) bad += deq[((size_t)r * NBLK + ib) * QK + j] != d * q;
            }
            ref += (double)d * xqGpu[ib].d * dot;
            mag += fabs((double)d * xqGpu[ib].d * dot);
        }
        bad += !(fabs(y1[r] - ref) < 1e-5 * mag + 1e-6);
        bad += !(fabs(y2[r] - ref) < 1e-5 * mag + 1e-6);
    }
    for (void *p : {(void *)dw, (void *)dxq, (void *)dnib, (void *)dscale, (void *)dx, (void *)dy1, (void *)dy2, (void *)ddeq})
        cudaFree(p);
    printf("bad = %d\n%s\n", bad, bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
