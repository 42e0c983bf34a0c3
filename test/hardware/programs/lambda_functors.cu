// nvcc: --extended-lambda
// Kernels whose body comes from outside: functors, device lambdas, and iterators over fields.
#include <cstdio>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

template <typename F>
__global__ void forEach(int n, F body)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        body(i);
}

template <typename Op, typename... Args>
__global__ void zipWith(float *out, int n, Op op, const Args *...in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = op(in[i]...);
}

struct Fma { __device__ float operator()(float a, float b, float c) const { return a * b + c; } };

template <typename T>
class Strided {
public:
    __host__ __device__ Strided(T *data, int stride) : data_(data), stride_(stride) {}
    __device__ T &operator[](int i) const { return data_[i * stride_]; }
private:
    T *data_;
    int stride_;
};

__global__ void copyStrided(Strided<const float> from, Strided<float> to, int n)
{
    const int i = threadIdx.x + blockDim.x * blockIdx.x;
    auto clampIndex = [n](int k) { return k < n ? k : n - 1; };
    if (i < n) to[i] = 0.5f * (from[i] + from[clampIndex(i + 1)]);
}

template <int W>
struct Window {
    const float *p;
    __device__ float sum(int i) const
    {
        float s = 0;
        #pragma unroll
        for (int k = 0; k < W; ++k) s += p[i + k];
        return s;
    }
};

template <int W>
__global__ void slide(Window<W> w, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + W <= n) out[i] = w.sum(i);
}

int main()
{
    const int n = 40000;
    std::vector<float> a(n), b(n), want(n), got(n);
    for (int i = 0; i < n; ++i) { a[i] = i % 100 * 0.25f; b[i] = i % 33 * 0.5f; }
    float *da, *db, *dc;
    cudaMalloc(&da, n * 4); cudaMalloc(&db, n * 4); cudaMalloc(&dc, n * 4);
    cudaMemcpy(da, a.data(), n * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), n * 4, cudaMemcpyHostToDevice);
    int bad = 0;
    auto verify = [&](const char *name) {
        cudaError_t e = cudaMemcpy(got.data(), dc, n * 4, cudaMemcpyDeviceToHost);
        int off = e != cudaSuccess;
        for (int i = 0; i < n; ++i) off += !(std::fabs(got[i] - want[i]) < 1e-4f);
        std::printf("%s %s\n", name, off ? "FAIL" : "PASS");
        bad += off;
        cudaMemset(dc, 0, n * 4);
        for (float &w : want) w = 0;
    };
    cudaMemset(dc, 0, n * 4);
    forEach<<<66, 256>>>(n, [=] __device__(int i) { dc[i] = da[i] > 10 ? db[n - 1 - i] : da[i]; });
    for (int i = 0; i < n; ++i) want[i] = a[i] > 10 ? b[n - 1 - i] : a[i];
    verify("forEach");
    zipWith<<<(n + 127) / 128, 128>>>(dc, n, Fma(), da, db, da);
    for (int i = 0; i < n; ++i) want[i] = a[i] * b[i] + a[i];
    verify("zipWith");
    const int m = n / 5;
    copyStrided<<<(m + 255) / 256, 256>>>(Strided<const float>(da, 5), Strided<float>(dc, 3), m);
    for (int i = 0; i < m; ++i) want[i * 3] = 0.5f * (a[i * 5] + a[(i + 1 < m ? i + 1 : m - 1) * 5]);
    verify("copyStrided");
    slide<<<(n + 255) / 256, 256>>>(Window<6>{da}, dc, n);
    for (int i = 0; i + 6 <= n; ++i) for (int k = 0; k < 6; ++k) want[i] += a[i + k];
    verify("slide<6>");
    return bad != 0;
}
