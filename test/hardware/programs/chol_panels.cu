// Blocked right-looking Cholesky factorisation; kernels launched from a host loop
// with changing panel offsets.
#include <cstdio>
#include <cmath>
#include <vector>
#include <stdexcept>
#include <cuda_runtime.h>

static constexpr int NB = 24;

template <class T>
class DeviceBuffer {
    T* p_ = nullptr;
    size_t n_;
public:
    explicit DeviceBuffer(size_t n) : n_(n) { if (cudaMalloc(&p_, n * sizeof(T)) != cudaSuccess) throw std::runtime_error("alloc"); }
    DeviceBuffer(const std::vector<T>& v) : DeviceBuffer(v.size()) { cudaMemcpy(p_, v.data(), n_ * sizeof(T), cudaMemcpyHostToDevice); }
    ~DeviceBuffer() { cudaFree(p_); }
    T* get() { return p_; }
    std::vector<T> host() const { std::vector<T> v(n_); cudaMemcpy(v.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost); return v; }
};

// factor the diagonal block in shared memory (lower)
__global__ void potf2(double* A, int lda, int k0, int nb)
{
    __shared__ double s[NB][NB + 1];
    const int t = threadIdx.x;
    double* D = A + (size_t)k0 * lda + k0;
    if (t < nb)
        for (int j = 0; j < nb; ++j) s[t][j] = D[(size_t)t * lda + j];
    __syncthreads();
    for (int j = 0; j < nb; ++j) {
        if (t == j) s[j][j] = sqrt(s[j][j]);
        __syncthreads();
        if (t > j && t < nb) {
            s[t][j] /= s[j][j];
        }
        __syncthreads();
        if (t > j && t < nb)
            for (int c = j + 1; c <= t; ++c) s[t][c] -= s[t][j] * s[c][j];
        __syncthreads();
    }
    if (t < nb)
        for (int j = 0; j <= t; ++j) D[(size_t)t * lda + j] = s[t][j];
}

// solve X * L^T = panel, one thread a row
__global__ void trsm_rows(double* A, int lda, int k0, int nb, int n)
{
    __shared__ double L[NB * NB];
    for (int i = threadIdx.x; i < nb * nb; i += blockDim.x)
        L[i] = A[(size_t)(k0 + i / nb) * lda + k0 + i % nb];
    __syncthreads();
    int row = k0 + nb + blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    double x[NB];
    double* r = A + (size_t)row * lda + k0;
    for (int j = 0; j < nb; ++j) {
        double v = r[j];
        for (int q = 0; q < j; ++q) v -= x[q] * L[j * nb + q];
        x[j] = v / L[j * nb + j];
        r[j] = x[j];
    }
}

// trailing update A22 -= P P^T
__global__ void syrk_update(double* A, int lda, int k0, int nb, int n)
{
    __shared__ double P[NB][17], Q[NB][17];
    const int base = k0 + nb;
    const int i0 = base + blockIdx.y * 16, j0 = base + blockIdx.x * 16;
    if (blockIdx.x > blockIdx.y) return;
    for (int q = threadIdx.x; q < nb; q += 16) {
        P[q][threadIdx.y] = (i0 + threadIdx.y < n) ? A[(size_t)(i0 + threadIdx.y) * lda + k0 + q] : 0.0;
        Q[q][threadIdx.y] = (j0 + threadIdx.y < n) ? A[(size_t)(j0 + threadIdx.y) * lda + k0 + q] : 0.0;
    }
    __syncthreads();
    double s = 0;
    #pragma unroll 3
    for (int q = 0; q < nb; ++q) s += P[q][threadIdx.y] * Q[q][threadIdx.x];
    int i = i0 + threadIdx.y, j = j0 + threadIdx.x;
    if (i < n && j <= i) A[(size_t)i * lda + j] -= s;
}

int main()
{
    const int n = 88;
    const int lda = 96;
    std::vector<double> a((size_t)n * lda, 0.0);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) a[i * lda + j] = (i == j ? n : 0) + 1.0 / (1.0 + std::abs(i - j));
    DeviceBuffer<double> d(a);
    for (int k = 0; k < n; k += NB) {
        int nb = std::min(NB, n - k), rest = n - k - nb;
        potf2<<<1, 32>>>(d.get(), lda, k, nb);
        if (rest <= 0) break;
        trsm_rows<<<(rest + 31) / 32, 32>>>(d.get(), lda, k, nb, n);
        dim3 g((rest + 15) / 16, (rest + 15) / 16);
        syrk_update<<<g, dim3(16, 16)>>>(d.get(), lda, k, nb, n);
    }
    cudaError_t e = cudaDeviceSynchronize();
    if (e != cudaSuccess) { printf("%s\n", cudaGetErrorString(e)); return 2; }
    auto l = d.host();
    double worst = 0;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) {
            double s = 0;
            for (int q = 0; q <= j; ++q) s += l[i * lda + q] * l[j * lda + q];
            worst = std::fmax(worst, std::fabs(s - a[i * lda + j]));
        }
    printf("cholesky n=%d max|LL^T-A| = %g\n", n, worst);
    return worst < 1e-9 ? 0 : 1;
}
