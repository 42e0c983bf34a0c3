// One 3x3 convolution layer computed twice: im2col followed by a tiled GEMM, and Winograd F(2x2, 3x3).
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

static void check(cudaError_t status, const char *where)
{
    if (status == cudaSuccess)
        return;
    std::printf("%s failed: %s\n", where, cudaGetErrorString(status));
    std::exit(EXIT_FAILURE);
}

struct LayerShape {
    int channels, filters, height, width;
    __host__ __device__ int outHeight() const { return height - 2; }
    __host__ __device__ int outWidth() const { return width - 2; }
    __host__ __device__ int outPixels() const { return outHeight() * outWidth(); }
    __host__ __device__ int tilesX() const { return outWidth() / 2; }
    __host__ __device__ int tilesY() const { return outHeight() / 2; }
    __host__ __device__ int tiles() const { return tilesX() * tilesY(); }
};

template <int KS>
__global__ void im2col(LayerShape s, const float *__restrict__ image, float *__restrict__ columns)
{
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    const int c = blockIdx.y;
    if (pixel >= s.outPixels())
        return;
    const int oy = pixel / s.outWidth();
    const int ox = pixel - oy * s.outWidth();
    const float *plane = image + c * s.height * s.width;
    float *dst = columns + static_cast<size_t>(c) * KS * KS * s.outPixels() + pixel;
#pragma unroll
    for (int r = 0; r < KS; ++r)
#pragma unroll
        for (int q = 0; q < KS; ++q) {
            *dst = plane[(oy + r) * s.width + ox + q];
            dst += s.outPixels();
        }
}

// C (m x n) = A (m x k) * B (k x n), all row major
template <int T>
__global__ void tiledGemm(int m, int n, int k, const float *A, const float *B, float *C)
{
    __shared__ float a[T][T];
    __shared__ float b[T][T];
    const int row = blockIdx.y * T + threadIdx.y;
    const int col = blockIdx.x * T + threadIdx.x;
    float acc = 0.0f;
    for (int k0 = 0; k0 < k; k0 += T) {
        const int ka = k0 + threadIdx.x, kb = k0 + threadIdx.y;
        a[threadIdx.y][threadIdx.x] = (row < m && ka < k) ? A[row * k + ka] : 0.0f;
        b[threadIdx.y][threadIdx.x] = (col < n && kb < k) ? B[kb * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < T; ++i)
            acc += a[threadIdx.y][i] * b[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n)
        C[row * n + col] = acc;
}

// V[e][c][tile], e = 0..15
__global__ void winogradInput(LayerShape s, const float *__restrict__ image, float *__restrict__ V)
{
    const int tile = blockIdx.x * blockDim.x + threadIdx.x;
    const int c = blockIdx.y;
    if (tile >= s.tiles())
        return;
    const int ty = tile / s.tilesX(), tx = tile % s.tilesX();
    const float *src = image + (c * s.height + 2 * ty) * s.width + 2 * tx;
    float d[4][4], w[4][4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
            d[i][j] = src[i * s.width + j];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        w[0][j] = d[0][j] - d[2][j];
        w[1][j] = d[1][j] + d[2][j];
        w[2][j] = d[2][j] - d[1][j];
        w[3][j] = d[1][j] - d[3][j];
    }
    const int plane = s.channels * s.tiles();
    float *out = V + c * s.tiles() + tile;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        out[(4 * i + 0) * plane] = w[i][0] - w[i][2];
        out[(4 * i + 1) * plane] = w[i][1] + w[i][2];
        out[(4 * i + 2) * plane] = w[i][2] - w[i][1];
        out[(4 * i + 3) * plane] = w[i][1] - w[i][3];
    }
}

// M[e][f][tile] = sum_c U[e][f][c] * V[e][c][tile]; FPT filters a thread
template <int FPT>
__global__ void winogradMultiply(LayerShape s, const float *__restrict__ U, const float *__restrict__ V, float *__restrict__ M)
{
    extern __shared__ float u[];       // FPT x channels
    const int e = blockIdx.z;
    const int f0 = blockIdx.y * FPT;
    for (int i = threadIdx.x; i < FPT * s.channels; i += blockDim.x)
        u[i] = U[(e * s.filters + f0) * s.channels + i];
    __syncthreads();
    const int tile = blockIdx.x * blockDim.x + threadIdx.x;
    if (tile >= s.tiles())
        return;
    float acc[FPT] = {};
    for (int c = 0; c < s.channels; ++c) {
        const float v = V[(e * s.channels + c) * s.tiles() + tile];
#pragma unroll
        for (int f = 0; f < FPT; ++f)
            acc[f] += u[f * s.channels + c] * v;
    }
#pragma unroll
    for (int f = 0; f < FPT; ++f)
        M[(e * s.filters + f0 + f) * s.tiles() + tile] = acc[f];
}

__global__ void winogradOutput(LayerShape s, const float *__restrict__ M, float *__restrict__ out)
{
    const int tile = blockIdx.x * blockDim.x + threadIdx.x;
    const int f = blockIdx.y;
    if (tile >= s.tiles())
        return;
    float m[16];
    for (int e = 0; e < 16; ++e)
        m[e] = M[(e * s.filters + f) * s.tiles() + tile];
    float t[2][4];
    for (int j = 0; j < 4; ++j) {
        t[0][j] = m[j] + m[4 + j] + m[8 + j];
        t[1][j] = m[4 + j] - m[8 + j] - m[12 + j];
    }
    const int ty = tile / s.tilesX(), tx = tile % s.tilesX();
    for (int i = 0; i < 2; ++i) {
        float *dst = out + (f * s.outHeight() + 2 * ty + i) * s.outWidth() + 2 * tx;
        dst[0] = t[i][0] + t[i][1] + t[i][2];
        dst[1] = t[i][1] - t[i][2] - t[i][3];
    }
}

template <typename T>
static T *upload(const std::vector<T> &v)
{
    T *p = nullptr;
    check(cudaMalloc(&p, v.size() * sizeof(T)), "malloc");
    check(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice), "upload");
    return p;
}

static bool same(const char *what, const float *device, const std::vector<float> &want)
{
    std::vector<float> got(want.size());
    check(cudaMemcpy(got.data(), device, got.size() * sizeof(float), cudaMemcpyDeviceToHost), what);
    for (size_t i = 0; i < got.size(); ++i)
        if (!(std::fabs(got[i] - want[i]) < 2e-3f)) {
            std::printf("%s: [%zu] = %f, want %f\n", what, i, got[i], want[i]);
            return false;
        }
    std::printf("%s: fine\n", what);
    return true;
}

int main()
{
    const LayerShape s{24, 32, 58, 70};
    std::mt19937 gen(20240607);
    std::uniform_real_distribution<float> dist(-1.0f, 1.0f);
    std::vector<float> image(s.channels * s.height * s.width), weights(s.filters * s.channels * 9);
    for (auto &v : image) v = dist(gen);
    for (auto &v : weights) v = dist(gen);

    // U = G g G^T
    std::vector<float> U(16 * s.filters * s.channels);
    const float G[4][3] = {{1, 0, 0}, {0.5f, 0.5f, 0.5f}, {0.5f, -0.5f, 0.5f}, {0, 0, 1}};
    for (int f = 0; f < s.filters; ++f)
        for (int c = 0; c < s.channels; ++c)
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) {
                    float sum = 0;
                    for (int r = 0; r < 3; ++r)
                        for (int q = 0; q < 3; ++q)
                            sum += G[i][r] * weights[(f * s.channels + c) * 9 + r * 3 + q] * G[j][q];
                    U[((i * 4 + j) * s.filters + f) * s.channels + c] = sum;
                }
    std::vector<float> want(s.filters * s.outPixels());
    for (int f = 0; f < s.filters; ++f)
        for (int y = 0; y < s.outHeight(); ++y)
            for (int x = 0; x < s.outWidth(); ++x) {
                float sum = 0;
                for (int c = 0; c < s.channels; ++c)
                    for (int r = 0; r < 3; ++r)
                        for (int q = 0; q < 3; ++q)
                            sum += image[(c * s.height + y + r) * s.width + x + q] * weights[(f * s.channels + c) * 9 + r * 3 + q];
                want[(f * s.outHeight() + y) * s.outWidth() + x] = sum;
            }

    float *dImage = upload(image), *dWeights = upload(weights), *dU = upload(U);
    float *dColumns = upload(std::vector<float>(s.channels * 9 * s.outPixels()));
    float *dOut = upload(std::vector<float>(want.size())), *dOut2 = upload(std::vector<float>(want.size()));
    float *dV = upload(std::vector<float>(16 * s.channels * s.tiles())), *dM = upload(std::vector<float>(16 * s.filters * s.tiles()));

    im2col<3><<<dim3((s.outPixels() + 255) / 256, s.channels), 256>>>(s, dImage, dColumns);
    tiledGemm<16><<<dim3((s.outPixels() + 15) / 16, (s.filters + 15) / 16), dim3(16, 16)>>>(s.filters, s.outPixels(), s.channels * 9, dWeights, dColumns, dOut);
    bool ok = same("im2col + gemm", dOut, want);

    const int blocks = (s.tiles() + 127) / 128;
    winogradInput<<<dim3(blocks, s.channels), 128>>>(s, dImage, dV);
    winogradMultiply<8><<<dim3(blocks, s.filters / 8, 16), 128, 8 * s.channels * sizeof(float)>>>(s, dU, dV, dM);
    winogradOutput<<<dim3(blocks, s.filters), 128>>>(s, dM, dOut2);
    ok = same("winograd", dOut2, want) && ok;
    std::puts(ok ? "OK" : "FAILED");
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
