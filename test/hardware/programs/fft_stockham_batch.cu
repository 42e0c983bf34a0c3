// Batched 1-D complex FFT: Stockham radix-2 in global memory (naive), and 1024-point radix-4 in shared memory
#include <cstdio>
#include <cmath>
#include <vector>
#include <complex>
#define PI_F 3.14159265358979f

__device__ __forceinline__ float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ __forceinline__ float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ __forceinline__ float2 operator*(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ __forceinline__ float2 twiddle(float ang) { float2 w; __sincosf(ang, &w.y, &w.x); return w; }

// one Stockham pass: n points, ns = size of the sub-transforms so far
__global__ void stockham2(const float2 *in, float2 *out, int n, int ns)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= n / 2) return;
    in += (size_t)blockIdx.y * n; out += (size_t)blockIdx.y * n;
    int k = j % ns;
    float s, c;
    sincosf(-PI_F * k / ns, &s, &c);
    float2 a = in[j], b = make_float2(c, s) * in[j + n / 2];
    int d = (j / ns) * ns * 2 + k;
    out[d] = a + b;
    out[d + ns] = a - b;
}

__device__ void butterfly4(float2 *v)
{
    float2 a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3], d = v[1] - v[3];
    d = make_float2(d.y, -d.x);
    v[0] = a + c; v[1] = b + d; v[2] = a - c; v[3] = b - d;
}

template <int N>
__global__ void __launch_bounds__(N / 4) fft_shared4(const float2 *__restrict__ in, float2 *__restrict__ out)
{
    __shared__ float sx[N], sy[N];
    const int t = threadIdx.x;
    const float2 *g = in + (size_t)blockIdx.x * N;
    float2 v[4];
#pragma unroll
    for (int r = 0; r < 4; r++) v[r] = g[t + r * (N / 4)];
    for (int ns = 1; ns < N; ns *= 4) {
        int k = t % ns;
        float ang = -2.f * PI_F * k / (ns * 4);
#pragma unroll
        for (int r = 1; r < 4; r++) v[r] = v[r] * twiddle(ang * r);
        butterfly4(v);
        int d = (t / ns) * ns * 4 + k;
        __syncthreads();
#pragma unroll
        for (int r = 0; r < 4; r++) { sx[d + r * ns] = v[r].x; sy[d + r * ns] = v[r].y; }
        __syncthreads();
#pragma unroll
        for (int r = 0; r < 4; r++) v[r] = make_float2(sx[t + r * (N / 4)], sy[t + r * (N / 4)]);
    }
#pragma unroll
    for (int r = 0; r < 4; r++) out[(size_t)blockIdx.x * N + t + r * (N / 4)] = v[r];
}

__global__ void power_spectrum(const float2 *x, float *p, int n, int batch)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k > n / 2) return;
    float s = 0;
    for (int b = 0; b < batch; b++) { float2 v = x[(size_t)b * n + k]; s += v.x * v.x + v.y * v.y; }
    p[k] = s / batch;
}

int main()
{
    typedef std::complex<double> cd;
    const int batch = 1001, n = 1024, n2 = 256;
    std::vector<float2> x((size_t)batch * n), y(x.size()), z(x.size());
    for (size_t i = 0; i < x.size(); i++) x[i] = make_float2(sinf(0.001f * (i % 7919)) + (i % 17) * 0.05f, cosf(0.013f * (i % 104729)));
    float2 *d[2], *dx; float *dp;
    cudaMalloc(&dx, x.size() * 8); cudaMalloc(&d[0], x.size() * 8); cudaMalloc(&d[1], x.size() * 8); cudaMalloc(&dp, (n / 2 + 1) * 4);
    cudaMemcpy(dx, x.data(), x.size() * 8, cudaMemcpyHostToDevice);
    fft_shared4<n><<<batch, n / 4>>>(dx, d[0]);
    cudaMemcpy(y.data(), d[0], x.size() * 8, cudaMemcpyDeviceToHost);
    power_spectrum<<<(n / 2 + 128) / 128, 128>>>(d[0], dp, n, batch);
    cudaMemcpy(d[0], dx, x.size() * 8, cudaMemcpyDeviceToDevice);
    int cur = 0;
    for (int ns = 1; ns < n2; ns *= 2, cur ^= 1)      // the same data seen as 256-point transforms
        stockham2<<<dim3(1, batch * n / n2), 128>>>(d[cur], d[cur ^ 1], n2, ns);
    cudaMemcpy(z.data(), d[cur], x.size() * 8, cudaMemcpyDeviceToHost);
    std::vector<float> p(n / 2 + 1); cudaMemcpy(p.data(), dp, p.size() * 4, cudaMemcpyDeviceToHost);
    double e1 = 0, e2 = 0, e3 = 0;
    auto dft = [&](size_t off, int len, int k) { cd s = 0; for (int i = 0; i < len; i++) s += cd(x[off + i].x, x[off + i].y) * std::polar(1.0, -2 * M_PI * ((long long)i * k % len) / len); return s; };
    for (int b = 0; b < batch; b += 100) for (int k = 0; k < n; k += 31) { cd r = dft((size_t)b * n, n, k); auto v = y[(size_t)b * n + k]; e1 = fmax(e1, std::abs(r - cd(v.x, v.y))); }
    for (int b = 0; b < batch * 4; b += 333) for (int k = 0; k < n2; k += 7) { cd r = dft((size_t)b * n2, n2, k); auto v = z[(size_t)b * n2 + k]; e2 = fmax(e2, std::abs(r - cd(v.x, v.y))); }
    for (int k = 1; k < n / 2; k += 9) { double s = 0; for (int b = 0; b < batch; b++) { auto v = y[(size_t)b * n + k]; s += (double)v.x * v.x + (double)v.y * v.y; } e3 = fmax(e3, fabs(s / batch - p[k]) / (1 + s / batch)); }
    printf("err %g %g %g %s\n%s\n", e1, e2, e3, cudaGetErrorString(cudaGetLastError()), e1 < 2e-2 && e2 < 1e-2 && e3 < 1e-3 ? "PASS" : "FAIL");
}
