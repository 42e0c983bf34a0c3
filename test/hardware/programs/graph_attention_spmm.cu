// Sparse half of a graph-attention layer: SDDMM -> edge softmax -> SpMM, plus a
// CSR -> ELLPACK conversion used by an older code path.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call)                                                                   \
    do {                                                                              \
        cudaError_t e_ = (call);                                                      \
        if (e_ != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
            std::exit(2);                                                             \
        }                                                                             \
    } while (0)

template <typename T>
class DeviceBuffer {
  public:
    explicit DeviceBuffer(size_t n) : n_(n) { CHECK(cudaMalloc(&p_, n * sizeof(T))); }
    explicit DeviceBuffer(const std::vector<T>& h) : DeviceBuffer(h.size()) {
        CHECK(cudaMemcpy(p_, h.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    DeviceBuffer(const DeviceBuffer&) = delete;
    ~DeviceBuffer() { cudaFree(p_); }
    T* get() { return p_; }
    std::vector<T> host() const {
        std::vector<T> h(n_);
        CHECK(cudaMemcpy(h.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
        return h;
    }

  private:
    T* p_ = nullptr;
    size_t n_;
};

constexpr int kFeat = 64;

__device__ __forceinline__ float warpSum(float v) {
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
    return v;
}
__device__ __forceinline__ float warpMax(float v) {
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, o));
    return v;
}

// one warp per row, all lanes cooperate on each edge's dot product
template <int FEAT>
__global__ void sddmmWarpPerRow(const int* __restrict__ rowptr, const int* __restrict__ colidx,
                                const float* __restrict__ U, const float* __restrict__ V,
                                float* __restrict__ score, int rows) {
    static_assert(FEAT == 64, "two features per lane");
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    const int lane = threadIdx.x & 31;
    if (row >= rows) return;
    const float2 u = reinterpret_cast<const float2*>(U + (size_t)row * FEAT)[lane];
    for (int e = rowptr[row]; e < rowptr[row + 1]; ++e) {
        const float2 v = reinterpret_cast<const float2*>(V + (size_t)colidx[e] * FEAT)[lane];
        const float s = warpSum(u.x * v.x + u.y * v.y);
        if (lane == 0) score[e] = s * 0.125f;
    }
}

__global__ void edgeSoftmax(const int* __restrict__ rowptr, float* __restrict__ score, int rows) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    const int lane = threadIdx.x & 31;
    if (row >= rows) return;
    const int b = rowptr[row], e = rowptr[row + 1];
    float m = -INFINITY;
    for (int i = b + lane; i < e; i += 32) m = fmaxf(m, score[i]);
    m = warpMax(m);
    float s = 0.f;
    for (int i = b + lane; i < e; i += 32) s += expf(score[i] - m);
    s = warpSum(s);
    const float inv = 1.f / s;
    for (int i = b + lane; i < e; i += 32) score[i] = expf(score[i] - m) * inv;
}

// blockDim = (16, 16): x covers the 64 features as float4, y covers rows
template <int FEAT>
__global__ void __launch_bounds__(256)
spmmVec4(const int* __restrict__ rowptr, const int* __restrict__ colidx, const float* __restrict__ val,
         const float4* __restrict__ X, float4* __restrict__ Y, int rows) {
    constexpr int V4 = FEAT / 4;
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float4 acc = make_float4(0.f, 0.f, 0.f, 0.f);
    const int end = rowptr[row + 1];
    for (int e = rowptr[row]; e < end; ++e) {
        const float a = val[e];
        const float4 x = X[(size_t)colidx[e] * V4 + threadIdx.x];
        acc.x = fmaf(a, x.x, acc.x);
        acc.y = fmaf(a, x.y, acc.y);
        acc.z = fmaf(a, x.z, acc.z);
        acc.w = fmaf(a, x.w, acc.w);
    }
    Y[(size_t)row * V4 + threadIdx.x] = acc;
}

// thread per row; reads CSR with one row per lane, writes ELL column-major
__global__ void csrToEll(const int* rowptr, const int* colidx, const float* val, int* ellCol, float* ellVal,
                         int rows, int width) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const int start = rowptr[row], len = rowptr[row + 1] - start;
    for (int k = 0; k < width; ++k) {
        const bool live = k < len;
        ellCol[k * rows + row] = live ? colidx[start + k] : -1;
        ellVal[k * rows + row] = live ? val[start + k] : 0.f;
    }
}

__global__ void ellSpmv(const int* __restrict__ ellCol, const float* __restrict__ ellVal,
                        const float* __restrict__ x, float* __restrict__ y, int rows, int width) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.f;
    for (int k = 0; k < width; ++k) {
        const int c = ellCol[k * rows + row];
        if (c >= 0) sum += ellVal[k * rows + row] * x[c];
    }
    y[row] = sum;
}

int main(int argc, char** argv) {
    const int rows = argc > 1 ? std::atoi(argv[1]) : 8192;
    std::mt19937 rng(2024);
    std::vector<int> rowptr(rows + 1, 0), col;
    int width = 0;
    for (int r = 0; r < rows; ++r) {
        const int len = 1 + (int)(rng() % 12) + ((rng() % 16) == 0 ? 40 : 0);
        std::vector<int> cs(len);
        for (auto& c : cs) c = (rng() % 4) ? (int)(rng() % rows) : (r + (int)(rng() % 64)) % rows;
        std::sort(cs.begin(), cs.end());
        col.insert(col.end(), cs.begin(), cs.end());
        rowptr[r + 1] = (int)col.size();
        width = std::max(width, len);
    }
    const int nnz = (int)col.size();
    auto fill = [&](size_t n) {
        std::vector<float> v(n);
        for (auto& x : v) x = (float)(rng() % 2001) / 1000.f - 1.f;
        return v;
    };
    const auto U = fill((size_t)rows * kFeat), V = fill((size_t)rows * kFeat), x = fill(rows);

    DeviceBuffer<int> dPtr(rowptr), dCol(col), dEllCol((size_t)rows * width);
    DeviceBuffer<float> dU(U), dV(V), dX(x), dScore(nnz), dY((size_t)rows * kFeat),
        dEllVal((size_t)rows * width), dy(rows);

    const int warpsPerBlock = 8, warpBlocks = (rows + warpsPerBlock - 1) / warpsPerBlock;
    sddmmWarpPerRow<kFeat><<<warpBlocks, 32 * warpsPerBlock>>>(dPtr.get(), dCol.get(), dU.get(), dV.get(),
                                                               dScore.get(), rows);
    edgeSoftmax<<<warpBlocks, 32 * warpsPerBlock>>>(dPtr.get(), dScore.get(), rows);
    spmmVec4<kFeat><<<(rows + 15) / 16, dim3(16, 16)>>>(dPtr.get(), dCol.get(), dScore.get(),
                                                        reinterpret_cast<const float4*>(dV.get()),
                                                        reinterpret_cast<float4*>(dY.get()), rows);
    csrToEll<<<(rows + 127) / 128, 128>>>(dPtr.get(), dCol.get(), dScore.get(), dEllCol.get(), dEllVal.get(),
                                          rows, width);
    ellSpmv<<<(rows + 255) / 256, 256>>>(dEllCol.get(), dEllVal.get(), dX.get(), dy.get(), rows, width);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    const auto Y = dY.host(), y = dy.host();
    int bad = 0;
    for (int r = 0; r < rows; ++r) {
        const int b = rowptr[r], n = rowptr[r + 1] - b;
        std::vector<double> s(n);
        double m = -1e30, z = 0;
        for (int i = 0; i < n; ++i) {
            double d = 0;
            for (int f = 0; f < kFeat; ++f) d += (double)U[(size_t)r * kFeat + f] * V[(size_t)col[b + i] * kFeat + f];
            s[i] = d * 0.125;
            m = std::max(m, s[i]);
        }
        for (auto& v : s) z += (v = std::exp(v - m));
        double yr = 0;
        for (int i = 0; i < n; ++i) yr += s[i] / z * x[col[b + i]];
        bad += std::fabs(yr - y[r]) > 1e-3;
        for (int f = 0; f < kFeat; ++f) {
            double a = 0;
            for (int i = 0; i < n; ++i) a += s[i] / z * V[(size_t)col[b + i] * kFeat + f];
            bad += std::fabs(a - Y[(size_t)r * kFeat + f]) > 1e-3;
        }
    }
    std::printf(bad ? "FAIL %d\n" : "OK\n", bad);
    return bad != 0;
}
