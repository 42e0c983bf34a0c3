// LSTM cell, forward pass over a few time steps. Several versions of the gate kernel are
// compared: they sit in a table, every entry is run on the same data and compared with the CPU.
//   gates = x_t * Wx + h_{t-1} * Wh + b       (4*H columns, order i f g o)
//   c_t = sig(f) * c_{t-1} + sig(i) * tanh(g) ;  h_t = sig(o) * tanh(c_t)
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#define CUDA_CHECK(expr)                                                              \
    do {                                                                              \
        cudaError_t rc = (expr);                                                      \
        if (rc != cudaSuccess) {                                                      \
            fprintf(stderr, "%s failed: %s\n", #expr, cudaGetErrorString(rc));        \
            exit(EXIT_FAILURE);                                                       \
        }                                                                             \
    } while (0)
#define DIVUP(a, b) (((a) + (b)-1) / (b))

static const int B = 60;    // batch
static const int D = 72;    // input features
static const int H = 80;    // hidden units
static const int T = 2;     // time steps

struct Weights {            // all on the device
    const float *wx;        // [D][4H]
    const float *wh;        // [H][4H]
    const float *wxT;       // [4H][D]
    const float *whT;       // [4H][H]
    const float *bias;      // [4H]
};

typedef void (*GateLauncher)(const Weights &, const float *x, const float *h, float *gates);

// ---------------------------------------------------------------- gate kernels
__global__ void gates_naive(const float *x, const float *h, const float *wx, const float *wh,
                            const float *bias, float *gates)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= B || col >= 4 * H) return;
    float acc = bias[col];
    for (int k = 0; k < D; ++k) acc += x[row * D + k] * wx[k * 4 * H + col];
    for (int k = 0; k < H; ++k) acc += h[row * H + k] * wh[k * 4 * H + col];
    gates[row * 4 * H + col] = acc;
}

// thread.x runs over the batch: everything is strided (what the first port looked like)
__global__ void gates_batch_fast(const float *x, const float *h, const float *wx, const float *wh,
                                 const float *bias, float *gates)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= B || col >= 4 * H) return;
    float acc = bias[col];
    for (int k = 0; k < D; ++k) acc += x[row * D + k] * wx[k * 4 * H + col];
    for (int k = 0; k < H; ++k) acc += h[row * H + k] * wh[k * 4 * H + col];
    gates[row * 4 * H + col] = acc;
}

template <int TS, int PAD>
__device__ float tile_product(const float *a, int lda, const float *w, int K, int row, int col,
                              float (*as)[TS + PAD], float (*ws)[TS + PAD], float acc)
{
    const int tx = threadIdx.x, ty = threadIdx.y;
    for (int k0 = 0; k0 < K; k0 += TS) {
        // the activation tile is kept transposed: as[k][row]
        as[tx][ty] = (row < B && k0 + tx < K) ? a[row * lda + k0 + tx] : 0.f;
        ws[ty][tx] = (k0 + ty < K && col < 4 * H) ? w[(k0 + ty) * 4 * H + col] : 0.f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TS; ++k) acc += as[k][ty] * ws[k][tx];
        __syncthreads();
    }
    return acc;
}

template <int TS, int PAD>
__global__ void gates_tiled(const float *x, const float *h, const float *wx, const float *wh,
                            const float *bias, float *gates)
{
    __shared__ float as[TS][TS + PAD];
    __shared__ float ws[TS][TS + PAD];
    int col = blockIdx.x * TS + threadIdx.x;
    int row = blockIdx.y * TS + threadIdx.y;
    float acc = col < 4 * H ? bias[col] : 0.f;
    acc = tile_product<TS, PAD>(x, D, wx, D, row, col, as, ws, acc);
    acc = tile_product<TS, PAD>(h, H, wh, H, row, col, as, ws, acc);
    if (row < B && col < 4 * H) gates[row * 4 * H + col] = acc;
}

// weights transposed, float4 along K
__global__ void gates_vec4(const float4 *x, const float4 *h, const float4 *wxT, const float4 *whT,
                           const float *bias, float *gates)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y;
    if (col >= 4 * H) return;
    float acc = bias[col];
    for (int k = 0; k < D / 4; ++k) {
        float4 a = x[row * (D / 4) + k], w = wxT[col * (D / 4) + k];
        acc += a.x * w.x + a.y * w.y + a.z * w.z + a.w * w.w;
    }
    for (int k = 0; k < H / 4; ++k) {
        float4 a = h[row * (H / 4) + k], w = whT[col * (H / 4) + k];
        acc += a.x * w.x + a.y * w.y + a.z * w.z + a.w * w.w;
    }
    gates[row * 4 * H + col] = acc;
}

// one warp per output value, lanes split K and reduce by shuffles
__global__ void gates_warp(const float *x, const float *h, const float *wxT, const float *whT,
                           const float *bias, float *gates)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int lane = threadIdx.x & 31;
    if (warp >= B * 4 * H) return;
    int row = warp / (4 * H), col = warp % (4 * H);
    float acc = 0.f;
    for (int k = lane; k < D; k += 32) acc += x[row * D + k] * wxT[col * D + k];
    for (int k = lane; k < H; k += 32) acc += h[row * H + k] * whT[col * H + k];
    for (int off = 16; off; off >>= 1) acc += __shfl_down_sync(0xffffffffu, acc, off);
    if (lane == 0) gates[warp] = acc + bias[col];
}

__host__ __device__ inline float sigm(float v) { return 1.f / (1.f + expf(-v)); }

__global__ void pointwise(const float *gates, float *c, float *h)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= B * H) return;
    int row = i / H, u = i - row * H;
    const float *g = gates + row * 4 * H;
    float cc = sigm(g[H + u]) * c[i] + sigm(g[u]) * tanhf(g[2 * H + u]);
    c[i] = cc;
    h[i] = sigm(g[3 * H + u]) * tanhf(cc);
}

// ---------------------------------------------------------------- launchers
static void launch_naive(const Weights &w, const float *x, const float *h, float *g)
{
    dim3 b(32, 8), gr(DIVUP(4 * H, 32), DIVUP(B, 8));
    gates_naive<<<gr, b>>>(x, h, w.wx, w.wh, w.bias, g);
}
static void launch_batch_fast(const Weights &w, const float *x, const float *h, float *g)
{
    dim3 b(32, 8), gr(DIVUP(B, 32), DIVUP(4 * H, 8));
    gates_batch_fast<<<gr, b>>>(x, h, w.wx, w.wh, w.bias, g);
}
template <int TS, int PAD>
static void launch_tiled(const Weights &w, const float *x, const float *h, float *g)
{
    dim3 b(TS, TS), gr(DIVUP(4 * H, TS), DIVUP(B, TS));
    gates_tiled<TS, PAD><<<gr, b>>>(x, h, w.wx, w.wh, w.bias, g);
}
static void launch_vec4(const Weights &w, const float *x, const float *h, float *g)
{
    dim3 gr(DIVUP(4 * H, 64), B);
    gates_vec4<<<gr, 64>>>((const float4 *)x, (const float4 *)h, (const float4 *)w.wxT, (const float4 *)w.whT,
                           w.bias, g);
}
static void launch_warp(const Weights &w, const float *x, const float *h, float *g)
{
    gates_warp<<<DIVUP(B * 4 * H * 32, 256), 256>>>(x, h, w.wxT, w.whT, w.bias, g);
}

struct Version { const char *name; GateLauncher run; };
static const Version versions[] = {
    {"naive", launch_naive},
    {"batch along threadIdx.x", launch_batch_fast},
    {"tiled 16, no padding", launch_tiled<16, 0>},
    {"tiled 16, padded", launch_tiled<16, 1>},
    {"float4 on transposed weights", launch_vec4},
    {"warp per output", launch_warp},
};

static float *upload(const std::vector<float> &v)
{
    float *d = nullptr;
    CUDA_CHECK(cudaMalloc(&d, v.size() * sizeof(float)));
    CUDA_CHECK(cudaMemcpy(d, v.data(), v.size() * sizeof(float), cudaMemcpyHostToDevice));
    return d;
}
static std::vector<float> transposed(const std::vector<float> &m, int rows, int cols)
{
    std::vector<float> t(m.size());
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < cols; ++c) t[c * rows + r] = m[r * cols + c];
    return t;
}

int main()
{
    std::mt19937 gen(99);
    std::normal_distribution<float> nd(0.f, 0.2f);
    auto fill = [&](size_t n) { std::vector<float> v(n); for (auto &e : v) e = nd(gen); return v; };
    std::vector<float> x = fill(T * B * D), wx = fill(D * 4 * H), wh = fill(H * 4 * H), bias = fill(4 * H);

    // CPU
    std::vector<double> c(B * H, 0.0), h(B * H, 0.0), g(4 * H);
    for (int t = 0; t < T; ++t)
        for (int r = 0; r < B; ++r) {
            for (int j = 0; j < 4 * H; ++j) {
                double a = bias[j];
                for (int k = 0; k < D; ++k) a += (double)x[(t * B + r) * D + k] * wx[k * 4 * H + j];
                for (int k = 0; k < H; ++k) a += h[r * H + k] * wh[k * 4 * H + j];
                g[j] = a;
            }
            for (int u = 0; u < H; ++u) {
                auto s = [](double v) { return 1.0 / (1.0 + std::exp(-v)); };
                double &cc = c[r * H + u];
                cc = s(g[H + u]) * cc + s(g[u]) * std::tanh(g[2 * H + u]);
                h[r * H + u] = s(g[3 * H + u]) * std::tanh(cc);
            }
        }

    float *dx = upload(x), *dwx = upload(wx), *dwh = upload(wh), *db = upload(bias);
    float *dwxT = upload(transposed(wx, D, 4 * H)), *dwhT = upload(transposed(wh, H, 4 * H));
    Weights w = {dwx, dwh, dwxT, dwhT, db};
    float *dg, *dc, *dh;
    CUDA_CHECK(cudaMalloc(&dg, B * 4 * H * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&dc, B * H * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&dh, B * H * sizeof(float)));

    bool ok = true;
    std::vector<float> out(B * H);
    cudaEvent_t t0, t1;
    CUDA_CHECK(cudaEventCreate(&t0));
    CUDA_CHECK(cudaEventCreate(&t1));
    for (const Version &v : versions) {
        CUDA_CHECK(cudaMemset(dc, 0, B * H * sizeof(float)));
        CUDA_CHECK(cudaMemset(dh, 0, B * H * sizeof(float)));
        CUDA_CHECK(cudaEventRecord(t0));
        for (int t = 0; t < T; ++t) {
            v.run(w, dx + t * B * D, dh, dg);
            pointwise<<<DIVUP(B * H, 128), 128>>>(dg, dc, dh);
        }
        CUDA_CHECK(cudaEventRecord(t1));
        CUDA_CHECK(cudaEventSynchronize(t1));
        CUDA_CHECK(cudaGetLastError());
        float ms = 0.f;
        CUDA_CHECK(cudaEventElapsedTime(&ms, t0, t1));
        CUDA_CHECK(cudaMemcpy(out.data(), dh, out.size() * sizeof(float), cudaMemcpyDeviceToHost));
        double worst = 0;
        for (int i = 0; i < B * H; ++i) worst = std::fmax(worst, std::fabs(out[i] - h[i]));
        printf("%-30s %8.3f ms   max error %.2e\n", v.name, ms, worst);
        if (!(worst < 1e-4)) ok = false;
    }
    for (float *p : {dx, dwx, dwh, db, dwxT, dwhT, dg, dc, dh}) cudaFree(p);
    cudaEventDestroy(t0);
    cudaEventDestroy(t1);
    puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
