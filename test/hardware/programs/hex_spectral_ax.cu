// Spectral element operator (the "Ax" of a Nek-like proxy): gather, local stiffness on hexahedra with N points a
// direction, scatter-add with weights, plus the vector kernels of a CG iteration. Struct-of-pointers and RAII buffers.
#include <cassert>
#include <cmath>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#ifndef NPTS
#define NPTS 8
#endif

class CudaError : public std::runtime_error {
public:
    explicit CudaError(cudaError_t e) : std::runtime_error(cudaGetErrorString(e)) {}
};
#define CUDA_TRY(e) do { cudaError_t s_ = (e); if (s_ != cudaSuccess) throw CudaError(s_); } while (false)

template <class T>
class Buffer {
    T *ptr_ = nullptr;
    size_t count_ = 0;
public:
    Buffer() = default;
    explicit Buffer(size_t count) : count_(count) { CUDA_TRY(cudaMalloc(&ptr_, count * sizeof(T))); }
    Buffer(Buffer &&o) noexcept : ptr_(std::exchange(o.ptr_, nullptr)), count_(std::exchange(o.count_, 0)) {}
    Buffer &operator=(Buffer &&o) noexcept { std::swap(ptr_, o.ptr_); std::swap(count_, o.count_); return *this; }
    ~Buffer() { if (ptr_) cudaFree(ptr_); }
    static Buffer from(const std::vector<T> &v)
    {
        Buffer b(v.size());
        CUDA_TRY(cudaMemcpy(b.ptr_, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
        return b;
    }
    std::vector<T> download() const
    {
        std::vector<T> v(count_);
        CUDA_TRY(cudaMemcpy(v.data(), ptr_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
        return v;
    }
    void zero() { CUDA_TRY(cudaMemset(ptr_, 0, count_ * sizeof(T))); }
    T *data() const { return ptr_; }
    size_t size() const { return count_; }
};

struct MeshDevice {                 // handed to kernels by value
    int elements;
    int dofs;
    const int *__restrict__ map;    // element-local to global
    const double *__restrict__ geo; // 6 factors a point: [element][6][N^3]
    const double *__restrict__ deriv; // N x N
};

// one thread a column (i, j), loop over k; slabs of u in shared memory
template <int N>
__global__ void __launch_bounds__(N *N) axColumns(MeshDevice m, const double *__restrict__ u, double *__restrict__ w)
{
    constexpr int N3 = N * N * N;
    __shared__ double sD[N][N];
    __shared__ double sU[N][N];
    __shared__ double sR[N][N];
    __shared__ double sS[N][N];
    const int i = threadIdx.x, j = threadIdx.y, e = blockIdx.x;
    sD[j][i] = m.deriv[j * N + i];
    double rU[N], rW[N];
#pragma unroll
    for (int k = 0; k < N; ++k) {
        rU[k] = u[m.map[e * N3 + (k * N + j) * N + i]];
        rW[k] = 0.0;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < N; ++k) {
        sU[j][i] = rU[k];
        double dt = 0.0;
#pragma unroll
        for (int l = 0; l < N; ++l) dt += sD[k][l] * rU[l];
        __syncthreads();
        double dr = 0.0, ds = 0.0;
#pragma unroll
        for (int l = 0; l < N; ++l) {
            dr += sD[i][l] * sU[j][l];
            ds += sD[j][l] * sU[l][i];
        }
        const double *g = m.geo + (size_t)e * 6 * N3 + (k * N + j) * N + i;
        const double g00 = g[0], g01 = g[N3], g02 = g[2 * N3], g11 = g[3 * N3], g12 = g[4 * N3], g22 = g[5 * N3];
        sR[j][i] = g00 * dr + g01 * ds + g02 * dt;
        sS[j][i] = g01 * dr + g11 * ds + g12 * dt;
        const double wt = g02 * dr + g12 * ds + g22 * dt;
        __syncthreads();
        double sum = 0.0;
#pragma unroll
        for (int l = 0; l < N; ++l) {
            sum += sD[l][i] * sR[j][l];
            sum += sD[l][j] * sS[l][i];
            rW[l] += sD[k][l] * wt;
        }
        rW[k] += sum;
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < N; ++k) w[(size_t)e * N3 + (k * N + j) * N + i] = rW[k];
}

__global__ void scatterAdd(MeshDevice m, const double *__restrict__ local, double *__restrict__ global, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&global[m.map[i]], local[i]);
}

template <int Block>
__device__ double reduceBlock(double v)
{
    static __shared__ double parts[Block / 32];
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x < Block / 32 ? parts[threadIdx.x] : 0.0;
    if (threadIdx.x < 32)
        for (int o = Block / 64; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
    return v;
}

struct CgVectors {
    double *x, *r, *p, *ap;
    int n;
};

template <int Block>
__global__ void dotKernel(const double *a, const double *b, double *out, int n)
{
    double v = 0;
    for (int i = blockIdx.x * Block + threadIdx.x; i < n; i += gridDim.x * Block) v += a[i] * b[i];
    v = reduceBlock<Block>(v);
    if (threadIdx.x == 0) atomicAdd(out, v);
}

__global__ void updateXR(CgVectors c, double alpha)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= c.n) return;
    c.x[i] += alpha * c.p[i];
    c.r[i] -= alpha * c.ap[i];
}

__global__ void updateP(CgVectors c, double beta)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < c.n) c.p[i] = c.r[i] + beta * c.p[i];
}

class Operator {
public:
    Operator(int ex, int ey, int ez) : elements_(ex * ey * ez)
    {
        const int n = NPTS, n3 = n * n * n;
        const int gx = ex * (n - 1) + 1, gy = ey * (n - 1) + 1, gz = ez * (n - 1) + 1;
        dofs_ = gx * gy * gz;
        hostMap.resize(elements_ * n3);
        hostGeo.resize(elements_ * 6 * n3);
        hostD.resize(n * n);
        for (int a = 0; a < n; ++a)
            for (int b = 0; b < n; ++b) hostD[a * n + b] = a == b ? 0.5 - 0.1 * a : 1.0 / (a - b) * ((a + b) % 2 ? -1 : 1);
        for (int e = 0; e < elements_; ++e)
            for (int q = 0; q < n3; ++q) {
                const int ix = e % ex * (n - 1) + q % n, iy = e / ex % ey * (n - 1) + q / n % n, iz = e / (ex * ey) * (n - 1) + q / (n * n);
                hostMap[e * n3 + q] = (iz * gy + iy) * gx + ix;
                for (int f = 0; f < 6; ++f)
                    hostGeo[(e * 6 + f) * n3 + q] = f == 0 || f == 3 || f == 5 ? 1.0 + 0.01 * (q % 7) : 0.02 * ((q + f) % 3);
            }
        map_ = Buffer<int>::from(hostMap);
        geo_ = Buffer<double>::from(hostGeo);
        d_ = Buffer<double>::from(hostD);
        local_ = Buffer<double>(elements_ * n3);
    }
    MeshDevice device() const { return {elements_, dofs_, map_.data(), geo_.data(), d_.data()}; }
    int dofs() const { return dofs_; }
    void apply(const Buffer<double> &u, Buffer<double> &out)
    {
        axColumns<NPTS><<<elements_, dim3(NPTS, NPTS)>>>(device(), u.data(), local_.data());
        out.zero();
        scatterAdd<<<30, 192>>>(device(), local_.data(), out.data(), (int)local_.size());
        CUDA_TRY(cudaGetLastError());
    }
    void applyHost(const std::vector<double> &u, std::vector<double> &out) const
    {
        const int n = NPTS, n3 = n * n * n;
        out.assign(dofs_, 0.0);
        std::vector<double> ur(n3), g[3];
        for (int e = 0; e < elements_; ++e) {
            for (int q = 0; q < n3; ++q) ur[q] = u[hostMap[e * n3 + q]];
            for (auto &v : g) v.assign(n3, 0.0);
            for (int q = 0; q < n3; ++q) {
                const int i = q % n, j = q / n % n, k = q / (n * n);
                double d[3] = {0, 0, 0};
                for (int l = 0; l < n; ++l) {
                    d[0] += hostD[i * n + l] * ur[(k * n + j) * n + l];
                    d[1] += hostD[j * n + l] * ur[(k * n + l) * n + i];
                    d[2] += hostD[k * n + l] * ur[(l * n + j) * n + i];
                }
                const double *f = &hostGeo[e * 6 * n3 + q];
                g[0][q] = f[0] * d[0] + f[n3] * d[1] + f[2 * n3] * d[2];
                g[1][q] = f[n3] * d[0] + f[3 * n3] * d[1] + f[4 * n3] * d[2];
                g[2][q] = f[2 * n3] * d[0] + f[4 * n3] * d[1] + f[5 * n3] * d[2];
            }
            for (int q = 0; q < n3; ++q) {
                const int i = q % n, j = q / n % n, k = q / (n * n);
                double s = 0;
                for (int l = 0; l < n; ++l)
                    s += hostD[l * n + i] * g[0][(k * n + j) * n + l] + hostD[l * n + j] * g[1][(k * n + l) * n + i] + hostD[l * n + k] * g[2][(l * n + j) * n + i];
                out[hostMap[e * n3 + q]] += s;
            }
        }
    }
private:
    int elements_, dofs_ = 0;
    std::vector<int> hostMap;
    std::vector<double> hostGeo, hostD;
    Buffer<int> map_;
    Buffer<double> geo_, d_, local_;
};

int main()
try {
    Operator A(3, 3, 2);
    const int n = A.dofs();
    std::vector<double> b(n);
    for (int i = 0; i < n; ++i) b[i] = std::sin(0.37 * i);
    auto x = Buffer<double>::from(std::vector<double>(n, 0.0)), r = Buffer<double>::from(b), p = Buffer<double>::from(b);
    Buffer<double> ap(n), dots(2);
    CgVectors v{x.data(), r.data(), p.data(), ap.data(), n};
    constexpr int T = 256;
    const int blocks = (n + T - 1) / T;

    // host, the same two iterations
    std::vector<double> hx(n, 0.0), hr = b, hp = b, hap;
    auto dot = [](const std::vector<double> &a, const std::vector<double> &c) { double s = 0; for (size_t i = 0; i < a.size(); ++i) s += a[i] * c[i]; return s; };
    for (int it = 0; it < 2; ++it) {
        A.apply(p, ap);
        dots.zero();
        dotKernel<T><<<40, T>>>(v.p, v.ap, dots.data(), n);
        dotKernel<T><<<40, T>>>(v.r, v.r, dots.data() + 1, n);
        const auto d = dots.download();
        updateXR<<<blocks, T>>>(v, d[1] / d[0]);
        dots.zero();
        dotKernel<T><<<40, T>>>(v.r, v.r, dots.data(), n);
        updateP<<<blocks, T>>>(v, dots.download()[0] / d[1]);

        A.applyHost(hp, hap);
        const double rr = dot(hr, hr), alpha = rr / dot(hp, hap);
        for (int i = 0; i < n; ++i) { hx[i] += alpha * hp[i]; hr[i] -= alpha * hap[i]; }
        const double beta = dot(hr, hr) / rr;
        for (int i = 0; i < n; ++i) hp[i] = hr[i] + beta * hp[i];
    }
    const auto gx = x.download();
    double worst = 0, scale = 0;
    for (int i = 0; i < n; ++i) { worst = std::max(worst, std::abs(gx[i] - hx[i])); scale = std::max(scale, std::abs(hx[i])); }
    const bool ok = worst <= 1e-8 * scale;
    std::printf("difference %g of %g\n%s\n", worst, scale, ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
} catch (const std::exception &e) {
    std::printf("%s\nFAIL\n", e.what());
    return 1;
}
