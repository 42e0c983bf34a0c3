// Multi-stream slab pipeline: a 3-D 27-point smoother in two z slabs on two streams with events, managed statistics.
#include <cuda_runtime.h>
#include <cstdio>
#include <cmath>
#include <vector>
#include <functional>

using Real = float;
struct Dims {
    int x, y, z;
    __host__ __device__ constexpr size_t operator()(int i, int j, int k) const { return ((size_t)k * y + j) * x + i; }
    __host__ __device__ constexpr size_t total() const { return (size_t)x * y * z; }
};

template <class F>
__global__ void for_each_cell(Dims d, F f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i < d.x && j < d.y && k < d.z) f(i, j, k);
}

struct FillWave {
    Dims d; Real* u;
    __device__ void operator()(int i, int j, int k) const { u[d(i, j, k)] = __int2float_rn((i * 13 + j * 7 + k * 29) % 101) * 0.01f; }
};

__global__ void smooth27(Dims d, const Real* __restrict__ u, Real* __restrict__ v, int k0, int k1) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= d.x || j >= d.y) return;
    bool edge = i == 0 || j == 0 || i == d.x - 1 || j == d.y - 1;
    for (int k = k0; k < k1; ++k) {
        size_t c = d(i, j, k);
        if (edge || k == 0 || k == d.z - 1) { v[c] = u[c]; continue; }
        Real s = 0;
#pragma unroll
        for (int dk = -1; dk <= 1; ++dk)
#pragma unroll
            for (int dj = -1; dj <= 1; ++dj)
#pragma unroll
                for (int di = -1; di <= 1; ++di) {
                    const int m = di * di + dj * dj + dk * dk;
                    const Real w = m == 0 ? 0.4f : m == 1 ? 0.05f : m == 2 ? 0.02f : 0.0075f;
                    s += w * u[d(i + di, j + dj, k + dk)];
                }
        v[c] = s;
    }
}

struct Stats { double sum; unsigned maxbits; int count; };

__global__ void slab_stats(const Real* v, size_t first, size_t n, Stats* st) {
    double s = 0; Real m = 0;
    for (size_t q = blockIdx.x * (size_t)blockDim.x + threadIdx.x; q < n; q += (size_t)gridDim.x * blockDim.x) {
        Real t = v[first + q];
        s += t;
        m = fmaxf(m, t);
    }
    for (int o = 16; o; o >>= 1) {
        s += __shfl_down_sync(~0u, s, o);
        m = fmaxf(m, __shfl_down_sync(~0u, m, o));
    }
    if ((threadIdx.x & 31) == 0) {
        atomicAdd(&st->sum, s);
        atomicMax(&st->maxbits, __float_as_uint(m));
        atomicAdd(&st->count, 1);
    }
}

int main() {
    Dims d{101, 67, 48};
    size_t n = d.total();
    Real *u, *v; Stats* st;
    cudaMalloc(&u, n * sizeof(Real)); cudaMalloc(&v, n * sizeof(Real));
    cudaMallocManaged(&st, 2 * sizeof(Stats));
    st[0] = st[1] = Stats{0, 0, 0};
    cudaStream_t s[2]; cudaEvent_t done[2], ready;
    for (int k = 0; k < 2; ++k) { cudaStreamCreate(&s[k]); cudaEventCreateWithFlags(&done[k], cudaEventDisableTiming); }
    cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
    for_each_cell<<<dim3((d.x + 31) / 32, (d.y + 2) / 3, (d.z + 1) / 2), dim3(32, 3, 2), 0, s[0]>>>(d, FillWave{d, u});
    cudaEventRecord(ready, s[0]);
    cudaStreamWaitEvent(s[1], ready, 0);
    dim3 tb(33, 5), gb((d.x + 32) / 33, (d.y + 4) / 5);
    int half = d.z / 2;
    for (int it = 0; it < 3; ++it) {
        for (int k = 0; k < 2; ++k) {
            smooth27<<<gb, tb, 0, s[k]>>>(d, u, v, k * half, k ? d.z : half);
            cudaEventRecord(done[k], s[k]);
        }
        // each slab reads its neighbour's boundary plane in the next iteration
        cudaStreamWaitEvent(s[0], done[1], 0);
        cudaStreamWaitEvent(s[1], done[0], 0);
        std::swap(u, v);
    }
    for (int k = 0; k < 2; ++k) slab_stats<<<20, 224, 0, s[k]>>>(u, d(0, 0, k * half), d(0, 0, half), st + k);
    cudaDeviceSynchronize();
    std::vector<Real> a(n), b(n), o(n);
    for (int k = 0; k < d.z; ++k) for (int j = 0; j < d.y; ++j) for (int i = 0; i < d.x; ++i) a[d(i, j, k)] = ((i * 13 + j * 7 + k * 29) % 101) * 0.01f;
    for (int it = 0; it < 3; ++it) {
        b = a;
        for (int k = 1; k < d.z - 1; ++k) for (int j = 1; j < d.y - 1; ++j) for (int i = 1; i < d.x - 1; ++i) {
            float t = 0;
            for (int q = 0; q < 27; ++q) {
                int di = q % 3 - 1, dj = q / 3 % 3 - 1, dk = q / 9 - 1, m = di * di + dj * dj + dk * dk;
                t += (m == 0 ? 0.4f : m == 1 ? 0.05f : m == 2 ? 0.02f : 0.0075f) * a[d(i + di, j + dj, k + dk)];
            }
            b[d(i, j, k)] = t;
        }
        a.swap(b);
    }
    cudaMemcpy(o.data(), u, n * sizeof(Real), cudaMemcpyDeviceToHost);
    double err = 0, sum[2] = {0, 0};
    for (size_t q = 0; q < n; ++q) { err = fmax(err, fabs(o[q] - a[q])); sum[q >= d(0, 0, half)] += o[q]; }
    bool ok = err < 1e-5 && cudaGetLastError() == cudaSuccess;
    for (int k = 0; k < 2; ++k) ok = ok && fabs(sum[k] - st[k].sum) < 1e-6 * sum[k] && st[k].count == 20 * 7;
    printf("err %g sums %f %f\n%s\n", err, st[0].sum, st[1].sum, ok ? "PASS" : "FAIL");
    return !ok;
}
