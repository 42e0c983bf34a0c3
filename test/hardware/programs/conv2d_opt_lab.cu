// 3x3 same-padding convolution, from naive to pipelined. GPU programming lab, group 7.
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#define CEIL_DIV(x, y) (((x) + (y)-1) / (y))
#define CUDA_OK(expr)                                                                       \
    if (cudaError_t err__ = (expr))                                                         \
    {                                                                                       \
        std::fprintf(stderr, "%s failed (%d): %s\n", #expr, __LINE__, cudaGetErrorString(err__)); \
        std::exit(1);                                                                       \
    }

constexpr int BATCH = 2, CIN = 16, COUT = 32;
constexpr int HEIGHT = 96, WIDTH = 96;

__constant__ float c_weights[COUT * CIN * 9];

// v0: threadIdx.x runs over output channels although the tensors are NCHW
__global__ void conv_v0(const float *x, const float *w, float *y)
{
    int co = threadIdx.x;
    int ox = blockIdx.x * blockDim.y + threadIdx.y;
    int oy = blockIdx.y;
    int n = blockIdx.z;
    if (ox >= WIDTH)
        return;
    float sum = 0.0f;
    for (int ci = 0; ci < CIN; ci++)
        for (int ky = 0; ky < 3; ky++)
            for (int kx = 0; kx < 3; kx++)
            {
                int iy = oy + ky - 1, ix = ox + kx - 1;
                if (iy >= 0 && iy < HEIGHT && ix >= 0 && ix < WIDTH)
                    sum += x[((n * CIN + ci) * HEIGHT + iy) * WIDTH + ix] * w[(co * CIN + ci) * 9 + ky * 3 + kx];
            }
    y[((n * COUT + co) * HEIGHT + oy) * WIDTH + ox] = sum;
}

// v1: halo tile in shared memory, weights in constant memory
template <int TX, int TY>
__global__ void conv_v1(const float *__restrict__ x, const float *, float *__restrict__ y)
{
    __shared__ float tile[TY + 2][TX + 2];
    int ox = blockIdx.x * TX + threadIdx.x;
    int oy = blockIdx.y * TY + threadIdx.y;
    int n = blockIdx.z / COUT;
    int co = blockIdx.z % COUT;
    float sum = 0.0f;
    for (int ci = 0; ci < CIN; ci++)
    {
        const float *plane = x + (n * CIN + ci) * HEIGHT * WIDTH;
        for (int ty = threadIdx.y; ty < TY + 2; ty += TY)
        {
            for (int tx = threadIdx.x; tx < TX + 2; tx += TX)
            {
                int iy = blockIdx.y * TY + ty - 1;
                int ix = blockIdx.x * TX + tx - 1;
                bool inside = iy >= 0 && iy < HEIGHT && ix >= 0 && ix < WIDTH;
                tile[ty][tx] = inside ? plane[iy * WIDTH + ix] : 0.0f;
            }
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 9; k++)
            sum += tile[threadIdx.y + k / 3][threadIdx.x + k % 3] * c_weights[(co * CIN + ci) * 9 + k];
        __syncthreads();
    }
    if (ox < WIDTH && oy < HEIGHT)
        y[((n * COUT + co) * HEIGHT + oy) * WIDTH + ox] = sum;
}

// v2: 4 pixels x 4 channels per thread kept in registers
__global__ void conv_v2(const float *__restrict__ x, const float *, float *__restrict__ y)
{
    __shared__ float tile[10][36];
    int n = blockIdx.z / (COUT / 4);
    int co0 = (blockIdx.z % (COUT / 4)) * 4;
    int tid = threadIdx.y * 8 + threadIdx.x;
    int x0 = blockIdx.x * 32;
    int y0 = blockIdx.y * 8;
    float acc[4][4] = {};
    for (int ci = 0; ci < CIN; ci++)
    {
        const float *plane = x + (n * CIN + ci) * HEIGHT * WIDTH;
        for (int i = tid; i < 340; i += 64)
        {
            int iy = y0 + i / 34 - 1;
            int ix = x0 + i % 34 - 1;
            float v = 0.0f;
            if (iy >= 0 && iy < HEIGHT && ix >= 0 && ix < WIDTH)
                v = plane[iy * WIDTH + ix];
            tile[i / 34][i % 34] = v;
        }
        __syncthreads();
#pragma unroll
        for (int ky = 0; ky < 3; ky++)
        {
            float r[6];
#pragma unroll
            for (int j = 0; j < 6; j++)
                r[j] = tile[threadIdx.y + ky][threadIdx.x * 4 + j];
#pragma unroll
            for (int c = 0; c < 4; c++)
            {
#pragma unroll
                for (int kx = 0; kx < 3; kx++)
                {
                    float wv = c_weights[((co0 + c) * CIN + ci) * 9 + ky * 3 + kx];
#pragma unroll
                    for (int p = 0; p < 4; p++)
                        acc[c][p] += wv * r[p + kx];
                }
            }
        }
        __syncthreads();
    }
    int oy = y0 + threadIdx.y;
    int ox = x0 + threadIdx.x * 4;
#pragma unroll
    for (int c = 0; c < 4; c++)
    {
        float4 o = make_float4(acc[c][0], acc[c][1], acc[c][2], acc[c][3]);
        *reinterpret_cast<float4 *>(&y[((n * COUT + co0 + c) * HEIGHT + oy) * WIDTH + ox]) = o;
    }
}

// v3: double buffered over input channels with cp.async
constexpr int V3_CO = 8;

__device__ __forceinline__ void v3_fetch(float *tile, float *ws, const float *x, const float *w, int n, int ci, int co0)
{
    int tid = threadIdx.y * 32 + threadIdx.x;
    const float *plane = x + (n * CIN + ci) * HEIGHT * WIDTH;
    for (int i = tid; i < 340; i += 256)
    {
        int iy = blockIdx.y * 8 + i / 34 - 1;
        int ix = blockIdx.x * 32 + i % 34 - 1;
        bool inside = iy >= 0 && iy < HEIGHT && ix >= 0 && ix < WIDTH;
        const float *src = inside ? plane + iy * WIDTH + ix : plane;
        __pipeline_memcpy_async(tile + i, src, 4, inside ? 0 : 4);
    }
    if (tid < V3_CO * 9)
        __pipeline_memcpy_async(ws + tid, w + ((co0 + tid / 9) * CIN + ci) * 9 + tid % 9, 4);
    __pipeline_commit();
}

__global__ __launch_bounds__(256) void conv_v3(const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ y)
{
    __shared__ float tile[2][340];
    __shared__ float ws[2][V3_CO * 9];
    int n = blockIdx.z / (COUT / V3_CO);
    int co0 = (blockIdx.z % (COUT / V3_CO)) * V3_CO;
    float acc[V3_CO];
#pragma unroll
    for (int c = 0; c < V3_CO; c++)
        acc[c] = 0.0f;
    v3_fetch(tile[0], ws[0], x, w, n, 0, co0);
    for (int ci = 0; ci < CIN; ci++)
    {
        int cur = ci & 1;
        if (ci + 1 < CIN)
        {
            v3_fetch(tile[cur ^ 1], ws[cur ^ 1], x, w, n, ci + 1, co0);
            __pipeline_wait_prior(1);
        }
        else
            __pipeline_wait_prior(0);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 9; k++)
        {
            float v = tile[cur][(threadIdx.y + k / 3) * 34 + threadIdx.x + k % 3];
#pragma unroll
            for (int c = 0; c < V3_CO; c++)
                acc[c] += v * ws[cur][c * 9 + k];
        }
        __syncthreads();
    }
    int ox = blockIdx.x * 32 + threadIdx.x;
    int oy = blockIdx.y * 8 + threadIdx.y;
#pragma unroll
    for (int c = 0; c < V3_CO; c++)
        y[((n * COUT + co0 + c) * HEIGHT + oy) * WIDTH + ox] = acc[c];
}

// v4: no shared memory, neighbours come from shuffles; 30 useful lanes
__global__ void conv_v4(const float *__restrict__ x, const float *, float *__restrict__ y)
{
    int lane = threadIdx.x;
    int ix = blockIdx.x * 30 + lane - 1;
    int oy = blockIdx.y * blockDim.y + threadIdx.y;
    int n = blockIdx.z / COUT;
    int co = blockIdx.z % COUT;
    float sum = 0.0f;
    for (int ci = 0; ci < CIN; ci++)
    {
        const float *plane = x + (n * CIN + ci) * HEIGHT * WIDTH;
#pragma unroll
        for (int ky = 0; ky < 3; ky++)
        {
            int iy = oy + ky - 1;
            float mid = 0.0f;
            if (iy >= 0 && iy < HEIGHT && ix >= 0 && ix < WIDTH)
                mid = plane[iy * WIDTH + ix];
            float left = __shfl_up_sync(0xffffffff, mid, 1);
            float right = __shfl_down_sync(0xffffffff, mid, 1);
            const float *wk = c_weights + (co * CIN + ci) * 9 + ky * 3;
            sum += left * wk[0] + mid * wk[1] + right * wk[2];
        }
    }
    if (lane > 0 && lane < 31 && ix < WIDTH && oy < HEIGHT)
        y[((n * COUT + co) * HEIGHT + oy) * WIDTH + ix] = sum;
}

// v5: fp16 NHWC. First the relayout, then the convolution
__global__ void nchw_to_nhwc_half(const float *__restrict__ src, half *__restrict__ dst, int total)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x)
    {
        int c = i % CIN;
        int pix = i / CIN;
        int n = pix / (HEIGHT * WIDTH);
        int hw = pix % (HEIGHT * WIDTH);
        dst[i] = __float2half(src[(n * CIN + c) * HEIGHT * WIDTH + hw]);
    }
}

__global__ void conv_v5_nhwc(const half *__restrict__ x, const half *__restrict__ w, float *__restrict__ y)
{
    int co = threadIdx.x;
    int ox = blockIdx.x * blockDim.y + threadIdx.y;
    int oy = blockIdx.y;
    int n = blockIdx.z;
    float sum = 0.0f;
    for (int k = 0; k < 9; k++)
    {
        int iy = oy + k / 3 - 1;
        int ix = ox + k % 3 - 1;
        if (iy < 0 || iy >= HEIGHT || ix < 0 || ix >= WIDTH)
            continue;
        const uint4 *px = reinterpret_cast<const uint4 *>(x + ((n * HEIGHT + iy) * WIDTH + ix) * CIN);
        for (int v = 0; v < CIN / 8; v++)
        {
            uint4 pack = px[v];
            const half *hv = reinterpret_cast<const half *>(&pack);
#pragma unroll
            for (int j = 0; j < 8; j++)
                sum += __half2float(hv[j]) * __half2float(w[(k * CIN + v * 8 + j) * COUT + co]);
        }
    }
    y[((n * HEIGHT + oy) * WIDTH + ox) * COUT + co] = sum;
}

using ConvKernel = void (*)(const float *, const float *, float *);

struct Variant
{
    const char *name;
    ConvKernel kernel;
    dim3 grid;
    dim3 block;
};

int main()
{
    const int nx = BATCH * CIN * HEIGHT * WIDTH, nw = COUT * CIN * 9, ny = BATCH * COUT * HEIGHT * WIDTH;
    std::mt19937 rng(7);
    std::uniform_real_distribution<float> uni(-1.0f, 1.0f);
    std::vector<float> x(nx), w(nw), y(ny), ref(ny);
    std::vector<half> wh(nw);
    for (auto *vec : {&x, &w})
        for (float &v : *vec)
            v = uni(rng);
    for (int co = 0; co < COUT; co++)
        for (int ci = 0; ci < CIN; ci++)
            for (int k = 0; k < 9; k++)
                wh[(k * CIN + ci) * COUT + co] = __float2half(w[(co * CIN + ci) * 9 + k]);

    for (int n = 0; n < BATCH; n++)
        for (int co = 0; co < COUT; co++)
        {
            float *out = &ref[(n * COUT + co) * HEIGHT * WIDTH];
            for (int ci = 0; ci < CIN; ci++)
                for (int k = 0; k < 9; k++)
                {
                    float wv = w[(co * CIN + ci) * 9 + k];
                    const float *plane = &x[(n * CIN + ci) * HEIGHT * WIDTH];
                    int dy = k / 3 - 1, dx = k % 3 - 1;
                    for (int r = std::max(0, -dy); r < HEIGHT - std::max(0, dy); r++)
                        for (int c = std::max(0, -dx); c < WIDTH - std::max(0, dx); c++)
                            out[r * WIDTH + c] += wv * plane[(r + dy) * WIDTH + c + dx];
                }
        }

    float *dx, *dw, *dy;
    half *dxh, *dwh;
    CUDA_OK(cudaMalloc(&dx, nx * sizeof(float)));
    CUDA_OK(cudaMalloc(&dw, nw * sizeof(float)));
    CUDA_OK(cudaMalloc(&dy, ny * sizeof(float)));
    CUDA_OK(cudaMalloc(&dxh, nx * sizeof(half)));
    CUDA_OK(cudaMalloc(&dwh, nw * sizeof(half)));
    CUDA_OK(cudaMemcpy(dx, x.data(), nx * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy(dw, w.data(), nw * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy(dwh, wh.data(), nw * sizeof(half), cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpyToSymbol(c_weights, w.data(), nw * sizeof(float)));

    const Variant variants[] = {
        {"v0 channel-major threads", conv_v0, dim3(WIDTH / 4, HEIGHT, BATCH), dim3(COUT, 4)},
        {"v1 tile 32x8", conv_v1<32, 8>, dim3(WIDTH / 32, HEIGHT / 8, BATCH * COUT), dim3(32, 8)},
        {"v1 tile 16x16", conv_v1<16, 16>, dim3(WIDTH / 16, HEIGHT / 16, BATCH * COUT), dim3(16, 16)},
        {"v2 register blocking", conv_v2, dim3(WIDTH / 32, HEIGHT / 8, BATCH * COUT / 4), dim3(8, 8)},
        {"v3 cp.async", conv_v3, dim3(WIDTH / 32, HEIGHT / 8, BATCH * COUT / V3_CO), dim3(32, 8)},
        {"v4 shuffles", conv_v4, dim3(CEIL_DIV(WIDTH, 30), HEIGHT / 4, BATCH * COUT), dim3(32, 4)},
    };
    bool pass = true;
    for (const Variant &v : variants)
    {
        CUDA_OK(cudaMemset(dy, 0, ny * sizeof(float)));
        v.kernel<<<v.grid, v.block>>>(dx, dw, dy);
        CUDA_OK(cudaGetLastError());
        CUDA_OK(cudaMemcpy(y.data(), dy, ny * sizeof(float), cudaMemcpyDeviceToHost));
        float worst = 0.0f;
        for (int i = 0; i < ny; i++)
            worst = std::fmax(worst, std::fabs(y[i] - ref[i]));
        std::printf("%-26s %.2e\n", v.name, worst);
        pass &= worst < 1e-3f;
    }

    nchw_to_nhwc_half<<<256, 256>>>(dx, dxh, nx);
    conv_v5_nhwc<<<dim3(WIDTH / 8, HEIGHT, BATCH), dim3(COUT, 8)>>>(dxh, dwh, dy);
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaMemcpy(y.data(), dy, ny * sizeof(float), cudaMemcpyDeviceToHost));
    float worst = 0.0f;
    for (int n = 0; n < BATCH; n++)
        for (int p = 0; p < HEIGHT * WIDTH; p++)
            for (int co = 0; co < COUT; co++)
                worst = std::fmax(worst, std::fabs(y[(n * HEIGHT * WIDTH + p) * COUT + co] - ref[(n * COUT + co) * HEIGHT * WIDTH + p]));
    std::printf("%-26s %.2e\n", "v5 fp16 NHWC", worst);
    pass &= worst < 3e-2f;
    std::printf("%s\n", pass ? "PASS" : "FAIL");
    return pass ? 0 : 1;
}
