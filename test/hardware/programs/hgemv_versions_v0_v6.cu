// GEMV, seven versions.  y = A * x with A [M,K].
// v0  one thread per row, row-major fp32          (the one everybody writes first)
// v1  one thread per row, column-major fp32
// v2  one warp per row, fp32, lane-strided
// v3  one warp per row, fp16, 128-bit loads
// v4  ROWS rows per block, bf16, x staged in shared memory
// v5  int8 weights, split-K over grid.y, atomicAdd at the end
// v6  fp16, persistent blocks that grab row groups from a counter
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cstdint>
#include <vector>
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>

#define CEIL_DIV(a, b) (((a) + (b)-1) / (b))
#define CHECK(call)                                                              \
    if (cudaError_t e_ = (call)) {                                               \
        fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
        exit(2);                                                                 \
    }
constexpr int WARP = 32;

struct GemvArgs {
    int M;
    int K;
    const float *A;
    const float *At;
    const half *Ah;
    const __nv_bfloat16 *Ab;
    const int8_t *Aq;
    const float *scale;
    const float *x;
    float *y;
    int *counter;
};

__device__ __forceinline__ float warp_sum(float v)
{
#pragma unroll
    for (int o = WARP / 2; o > 0; o >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, o);
    return v;
}

__global__ void gemv_v0_naive(const float *A, const float *x, float *y, int M, int K)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M)
        return;
    float acc = 0.f;
    for (int k = 0; k < K; ++k)
        acc += A[row * K + k] * x[k];
    y[row] = acc;
}

__global__ void gemv_v1_colmajor(const float *__restrict__ At, const float *__restrict__ x,
                                 float *__restrict__ y, int M, int K)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M)
        return;
    float acc = 0.f;
#pragma unroll 4
    for (int k = 0; k < K; ++k)
        acc = fmaf(At[(size_t)k * M + row], x[k], acc);
    y[row] = acc;
}

__global__ void gemv_v2_warp(const float *__restrict__ A, const float *__restrict__ x,
                             float *__restrict__ y, int M, int K)
{
    int lane = threadIdx.x;
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= M)
        return;
    float acc = 0.f;
    for (int k = lane; k < K; k += WARP)
        acc += A[row * K + k] * x[k];
    acc = warp_sum(acc);
    if (lane == 0)
        y[row] = acc;
}

__device__ __forceinline__ float dot8(uint4 raw, float4 xa, float4 xb)
{
    const half2 *h = reinterpret_cast<const half2 *>(&raw);
    float2 p0 = __half22float2(h[0]);
    float2 p1 = __half22float2(h[1]);
    float2 p2 = __half22float2(h[2]);
    float2 p3 = __half22float2(h[3]);
    float s = p0.x * xa.x + p0.y * xa.y;
    s += p1.x * xa.z + p1.y * xa.w;
    s += p2.x * xb.x + p2.y * xb.y;
    s += p3.x * xb.z + p3.y * xb.w;
    return s;
}

__global__ void gemv_v3_half8(const half *__restrict__ A, const float *__restrict__ x,
                              float *__restrict__ y, int M, int K)
{
    int lane = threadIdx.x;
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= M)
        return;
    const uint4 *Arow = reinterpret_cast<const uint4 *>(A + (size_t)row * K);
    const float4 *x4 = reinterpret_cast<const float4 *>(x);
    float acc = 0.f;
    for (int c = lane; c < K / 8; c += WARP) {
        uint4 raw = Arow[c];
        float4 xa = x4[2 * c];
        float4 xb = x4[2 * c + 1];
        acc += dot8(raw, xa, xb);
    }
    acc = warp_sum(acc);
    if (lane == 0)
        y[row] = acc;
}

template <int BLOCK, int ROWS>
__global__ void gemv_v4_bf16_rows(const __nv_bfloat16 *__restrict__ A, const float *__restrict__ x,
                                  float *__restrict__ y, int M, int K)
{
    extern __shared__ float xs[];
    __shared__ float part[ROWS][BLOCK / WARP];
    for (int k = threadIdx.x; k < K; k += BLOCK)
        xs[k] = x[k];
    __syncthreads();

    int row0 = blockIdx.x * ROWS;
    float acc[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        acc[r] = 0.f;

    for (int k = 2 * threadIdx.x; k < K; k += 2 * BLOCK) {
        float xl = xs[k];
        float xh = xs[k + 1];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            if (row0 + r < M) {
                __nv_bfloat162 w = *reinterpret_cast<const __nv_bfloat162 *>(A + (size_t)(row0 + r) * K + k);
                acc[r] += __low2float(w) * xl + __high2float(w) * xh;
            }
        }
    }
    int warp = threadIdx.x / WARP;
    int lane = threadIdx.x % WARP;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        float s = warp_sum(acc[r]);
        if (lane == 0)
            part[r][warp] = s;
    }
    __syncthreads();
    if (threadIdx.x < ROWS && row0 + threadIdx.x < M) {
        float s = 0.f;
        for (int w = 0; w < BLOCK / WARP; ++w)
            s += part[threadIdx.x][w];
        y[row0 + threadIdx.x] = s;
    }
}

// every thread owns a row inside the K slice: 16 int8 per load, rows K bytes apart
__global__ void gemv_v5_int8_splitk(const int8_t *__restrict__ Aq, const float *__restrict__ scale,
                                    const float *__restrict__ x, float *y, int M, int K, int slice)
{
    __shared__ float xs[256];
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int k0 = blockIdx.y * slice;
    for (int i = threadIdx.x; i < slice; i += blockDim.x)
        xs[i] = x[k0 + i];
    __syncthreads();
    if (row >= M)
        return;
    const int4 *p = reinterpret_cast<const int4 *>(Aq + (size_t)row * K + k0);
    float acc = 0.f;
    for (int c = 0; c < slice / 16; ++c) {
        int4 w = p[c];
        const int words[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            char4 q = *reinterpret_cast<const char4 *>(&words[j]);
            int o = c * 16 + j * 4;
            acc += q.x * xs[o];
            acc += q.y * xs[o + 1];
            acc += q.z * xs[o + 2];
            acc += q.w * xs[o + 3];
        }
    }
    atomicAdd(&y[row], acc * scale[row]);
}

__global__ void gemv_v6_persistent(const half *__restrict__ A, const float *__restrict__ x,
                                   float *__restrict__ y, int M, int K, int *counter)
{
    __shared__ int group;
    int warp = threadIdx.x / WARP;
    int lane = threadIdx.x % WARP;
    int rowsPerGroup = blockDim.x / WARP;
    const float4 *x4 = reinterpret_cast<const float4 *>(x);
    while (true) {
        if (threadIdx.x == 0)
            group = atomicAdd(counter, 1);
        __syncthreads();
        int row = group * rowsPerGroup + warp;
        bool finished = group * rowsPerGroup >= M;
        __syncthreads();
        if (finished)
            break;
        if (row < M) {
            const uint4 *Arow = reinterpret_cast<const uint4 *>(A + (size_t)row * K);
            float a0 = 0.f, a1 = 0.f;
            int n = K / 8;
            int c = lane;
            for (; c + WARP < n; c += 2 * WARP) {
                uint4 r0 = __ldg(Arow + c);
                uint4 r1 = __ldg(Arow + c + WARP);
                a0 += dot8(r0, x4[2 * c], x4[2 * c + 1]);
                a1 += dot8(r1, x4[2 * (c + WARP)], x4[2 * (c + WARP) + 1]);
            }
            if (c < n)
                a0 += dot8(Arow[c], x4[2 * c], x4[2 * c + 1]);
            float s = warp_sum(a0 + a1);
            if (lane == 0)
                y[row] = s;
        }
    }
}
typedef void (*Runner)(const GemvArgs &);

static void run_v0(const GemvArgs &g)
{
    gemv_v0_naive<<<CEIL_DIV(g.M, 256), 256>>>(g.A, g.x, g.y, g.M, g.K);
}
static void run_v1(const GemvArgs &g)
{
    gemv_v1_colmajor<<<CEIL_DIV(g.M, 64), 64>>>(g.At, g.x, g.y, g.M, g.K);
}
static void run_v2(const GemvArgs &g)
{
    dim3 block(WARP, 4);
    gemv_v2_warp<<<CEIL_DIV(g.M, 4), block>>>(g.A, g.x, g.y, g.M, g.K);
}
static void run_v3(const GemvArgs &g)
{
    dim3 block(WARP, 8);
    gemv_v3_half8<<<CEIL_DIV(g.M, 8), block>>>(g.Ah, g.x, g.y, g.M, g.K);
}
static void run_v4(const GemvArgs &g)
{
    gemv_v4_bf16_rows<128, 4><<<CEIL_DIV(g.M, 4), 128, g.K * sizeof(float)>>>(g.Ab, g.x, g.y, g.M, g.K);
}
static void run_v5(const GemvArgs &g)
{
    const int slice = 256;
    dim3 grid(CEIL_DIV(g.M, 128), g.K / slice);
    gemv_v5_int8_splitk<<<grid, 128>>>(g.Aq, g.scale, g.x, g.y, g.M, g.K, slice);
}
static void run_v6(const GemvArgs &g)
{
    gemv_v6_persistent<<<132, 256>>>(g.Ah, g.x, g.y, g.M, g.K, g.counter);
}

template <class T>
static T *upload(const std::vector<T> &h)
{
    T *d;
    CHECK(cudaMalloc(&d, h.size() * sizeof(T)));
    CHECK(cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
    return d;
}

int main(int argc, char **argv)
{
    int M = argc > 1 ? atoi(argv[1]) : 2000;
    int K = argc > 2 ? atoi(argv[2]) : 2048;
    if (K % 256) {
        printf("K must be a multiple of 256\n");
        return 1;
    }
    std::vector<float> A((size_t)M * K), At((size_t)M * K), x(K), scale(M);
    std::vector<half> Ah((size_t)M * K);
    std::vector<__nv_bfloat16> Ab((size_t)M * K);
    std::vector<int8_t> Aq((size_t)M * K);
    uint32_t s = 12345;
    auto rnd = [&]() {
        s = s * 1664525u + 1013904223u;
        return (float)(s >> 8) / 8388608.f - 1.f;
    };
    for (auto &v : x)
        v = rnd();
    std::vector<double> ref[4];
    for (auto &r : ref)
        r.assign(M, 0.0);
    for (int i = 0; i < M; ++i) {
        scale[i] = 1.f / 127.f;
        for (int k = 0; k < K; ++k) {
            size_t p = (size_t)i * K + k;
            float v = rnd();
            A[p] = v;
            At[(size_t)k * M + i] = v;
            Ah[p] = __float2half(v);
            Ab[p] = __float2bfloat16(v);
            Aq[p] = (int8_t)lrintf(v * 127.f);
            ref[0][i] += (double)v * x[k];
            ref[1][i] += (double)__half2float(Ah[p]) * x[k];
            ref[2][i] += (double)__bfloat162float(Ab[p]) * x[k];
            ref[3][i] += (double)Aq[p] * scale[i] * x[k];
        }
    }
    GemvArgs g;
    g.M = M;
    g.K = K;
    g.A = upload(A);
    g.At = upload(At);
    g.Ah = upload(Ah);
    g.Ab = upload(Ab);
    g.Aq = upload(Aq);
    g.scale = upload(scale);
    g.x = upload(x);
    CHECK(cudaMalloc(&g.y, M * sizeof(float)));
    CHECK(cudaMalloc(&g.counter, sizeof(int)));

    struct {
        const char *name;
        Runner fn;
        int ref;
    } table[] = {{"v0 naive", run_v0, 0}, {"v1 colmajor", run_v1, 0}, {"v2 warp", run_v2, 0},
                 {"v3 half8", run_v3, 1}, {"v4 bf16 rows", run_v4, 2}, {"v5 int8 splitk", run_v5, 3},
                 {"v6 persistent", run_v6, 1}};
    std::vector<float> y(M);
    bool ok = true;
    for (auto &t : table) {
        CHECK(cudaMemset(g.y, 0, M * sizeof(float)));
        CHECK(cudaMemset(g.counter, 0, sizeof(int)));
        t.fn(g);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(y.data(), g.y, M * sizeof(float), cudaMemcpyDeviceToHost));
        double worst = 0;
        for (int i = 0; i < M; ++i)
            worst = fmax(worst, fabs(y[i] - ref[t.ref][i]));
        printf("%-16s max err %.3e\n", t.name, worst);
        ok = ok && worst < 5e-3;
    }
    printf(ok ? "PASS\n" : "FAIL\n");
    return ok ? 0 : 1;
}
