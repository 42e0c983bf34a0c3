// 256-point batched radix-4 Stockham FFT in shared memory, plus Bluestein-free DFT check,
// and a pointwise spectral filter.
#include <cstdio>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

constexpr int kN = 256;
constexpr int kThreads = kN / 4;
constexpr int kBatchPerBlock = 2;
__constant__ float2 kTwiddle[kN];

__device__ __forceinline__ float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ __forceinline__ float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ __forceinline__ float2 operator*(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ __forceinline__ float2 mul_i(float2 a, float sgn) { return make_float2(-sgn * a.y, sgn * a.x); }

template <bool Inverse>
__device__ __forceinline__ float2 tw(int k) {
    float2 w = kTwiddle[k & (kN - 1)];
    if (Inverse) w.y = -w.y;
    return w;
}

template <bool Inverse>
__global__ void fft256(const float2* __restrict__ in, float2* __restrict__ out, int batch)
{
    __shared__ float2 buf[kBatchPerBlock][2][kN];
    const int t = threadIdx.x;
    const int b = blockIdx.x * kBatchPerBlock + threadIdx.y;
    const bool ok = b < batch;
    float2 (*ping)[kN] = buf[threadIdx.y];
    for (int i = t; i < kN; i += kThreads) ping[0][i] = ok ? in[b * kN + i] : make_float2(0.f, 0.f);
    __syncthreads();
    int src = 0;
    const float sg = Inverse ? 1.f : -1.f;
    #pragma unroll
    for (int ns = 1; ns < kN; ns *= 4) {
        float2 v0 = ping[src][t];
        float2 v1 = ping[src][t + kThreads];
        float2 v2 = ping[src][t + 2 * kThreads];
        float2 v3 = ping[src][t + 3 * kThreads];
        int k = t % ns;
        int step = k * (kN / (4 * ns));
        v1 = v1 * tw<Inverse>(step);
        v2 = v2 * tw<Inverse>(2 * step);
        v3 = v3 * tw<Inverse>(3 * step);
        float2 a = v0 + v2, c = v0 - v2, d = v1 + v3, e = mul_i(v1 - v3, sg);
        int dst = (t / ns) * ns * 4 + k;
        ping[src ^ 1][dst] = a + d;
        ping[src ^ 1][dst + ns] = c + e;
        ping[src ^ 1][dst + 2 * ns] = a - d;
        ping[src ^ 1][dst + 3 * ns] = c - e;
        src ^= 1;
        __syncthreads();
    }
    if (ok)
        for (int i = t; i < kN; i += kThreads) {
            float2 r = ping[src][i];
            if (Inverse) { r.x *= 1.f / kN; r.y *= 1.f / kN; }
            out[b * kN + i] = r;
        }
}

// low-pass: attenuate by distance from DC; two complex values per float4
__global__ void spectral_filter(float4* data, int total4, float cutoff)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total4; i += blockDim.x * gridDim.x) {
        int f = (2 * i) & (kN - 1);
        int fa = min(f, kN - f), fb = min(f + 1, kN - f - 1);
        float4 v = data[i];
        float ga = __expf(-fa * cutoff), gb = __expf(-fb * cutoff);
        v.x *= ga; v.y *= ga; v.z *= gb; v.w *= gb;
        data[i] = v;
    }
}

__global__ void naive_dft(const float2* in, float2* out)
{
    int k = threadIdx.x, b = blockIdx.x;
    float2 s = make_float2(0.f, 0.f);
    for (int j = 0, ph = 0; j < kN; ++j, ph = (ph + k) & (kN - 1))
        s = s + in[b * kN + j] * kTwiddle[ph];
    out[b * kN + k] = s;
}

int main()
{
    const int batch = 37;
    std::vector<float2> w(kN), x(batch * kN), y(batch * kN), r(batch * kN), z(batch * kN);
    for (int i = 0; i < kN; ++i) w[i] = make_float2(cosf(2 * M_PI * i / kN), -sinf(2 * M_PI * i / kN));
    for (int i = 0; i < batch * kN; ++i) x[i] = make_float2(sinf(i * 0.37f) + (i % 5), cosf(i * 0.11f));
    cudaMemcpyToSymbol(kTwiddle, w.data(), kN * sizeof(float2));
    float2 *dx, *dy, *dr, *dz;
    size_t bytes = x.size() * sizeof(float2);
    cudaMalloc(&dx, bytes); cudaMalloc(&dy, bytes); cudaMalloc(&dr, bytes); cudaMalloc(&dz, bytes);
    cudaMemcpy(dx, x.data(), bytes, cudaMemcpyHostToDevice);
    dim3 blk(kThreads, kBatchPerBlock);
    int grid = (batch + kBatchPerBlock - 1) / kBatchPerBlock;
    fft256<false><<<grid, blk>>>(dx, dy, batch);
    naive_dft<<<batch, kN>>>(dx, dr);
    fft256<true><<<grid, blk>>>(dy, dz, batch);
    cudaMemcpy(y.data(), dy, bytes, cudaMemcpyDeviceToHost);
    cudaMemcpy(r.data(), dr, bytes, cudaMemcpyDeviceToHost);
    cudaMemcpy(z.data(), dz, bytes, cudaMemcpyDeviceToHost);
    spectral_filter<<<12, 160>>>(reinterpret_cast<float4*>(dy), batch * kN / 2, 0.05f);
    fft256<true><<<grid, blk>>>(dy, dz, batch);
    std::vector<float2> smooth(batch * kN);
    cudaMemcpy(smooth.data(), dz, bytes, cudaMemcpyDeviceToHost);
    double e = 0, e2 = 0, chk = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        e = fmax(e, hypot(y[i].x - r[i].x, y[i].y - r[i].y));
        e2 = fmax(e2, hypot(z[i].x - x[i].x, z[i].y - x[i].y));
        chk += smooth[i].x;
    }
    printf("fft err %g, roundtrip %g, filtered sum %f\n", e, e2, chk);
    return !(e < 0.05 && e2 < 1e-3);
}
