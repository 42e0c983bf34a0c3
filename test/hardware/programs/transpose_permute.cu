// Data movement: batched transposes, a general rank-4 permute, column-major matrix-vector.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CU(x) do { auto e_ = (x); if (e_ != cudaSuccess) { \
    std::fprintf(stderr, "%s failed: %s\n", #x, cudaGetErrorString(e_)); std::exit(1); } } while (false)

// ---------------------------------------------------------------- transposes
__global__ void transpose_naive(float* out, const float* in, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    size_t batch = (size_t)blockIdx.z * rows * cols;
    if (r < rows && c < cols) out[batch + (size_t)c * rows + r] = in[batch + (size_t)r * cols + c];
}

template <int Tile, int BlockRows, int Pad>
__global__ void transpose_tile(float* __restrict__ out, const float* __restrict__ in, int rows, int cols) {
    static_assert(Tile % BlockRows == 0);
    __shared__ float tile[Tile][Tile + Pad];
    const size_t batch = (size_t)blockIdx.z * rows * cols;
    int c = blockIdx.x * Tile + threadIdx.x;
    int r = blockIdx.y * Tile + threadIdx.y;
#pragma unroll
    for (int k = 0; k < Tile; k += BlockRows)
        if (r + k < rows && c < cols) tile[threadIdx.y + k][threadIdx.x] = in[batch + (size_t)(r + k) * cols + c];
    __syncthreads();
    c = blockIdx.y * Tile + threadIdx.x;     // column of the output
    r = blockIdx.x * Tile + threadIdx.y;     // row of the output
#pragma unroll
    for (int k = 0; k < Tile; k += BlockRows)
        if (r + k < cols && c < rows) out[batch + (size_t)(r + k) * rows + c] = tile[threadIdx.x][threadIdx.y + k];
}

// ------------------------------------------------------------------- permute
template <int Rank>
struct PermutePlan {
    int out_dim[Rank];      // extent of every output axis
    int in_stride[Rank];    // input stride belonging to every output axis
};

template <int Rank, typename T>
__global__ void permute(T* __restrict__ out, const T* __restrict__ in, PermutePlan<Rank> plan, int total) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
        int rest = i, from = 0;
#pragma unroll
        for (int d = Rank - 1; d >= 0; --d) {
            from += rest % plan.out_dim[d] * plan.in_stride[d];
            rest /= plan.out_dim[d];
        }
        out[i] = in[from];
    }
}

// -------------------------------------------------------------------- matvec
// y = A x, A column-major m x n: thread per row, x staged through shared memory
template <int Block>
__global__ void __launch_bounds__(Block) gemv_n(int m, int n, const float* __restrict__ A, int lda,
                                                const float* __restrict__ x, float* __restrict__ y) {
    __shared__ float xs[Block];
    const int row = blockIdx.x * Block + threadIdx.x;
    float acc = 0.f;
    for (int j0 = 0; j0 < n; j0 += Block) {
        __syncthreads();
        xs[threadIdx.x] = j0 + (int)threadIdx.x < n ? x[j0 + threadIdx.x] : 0.f;
        __syncthreads();
        if (row < m) {
            const int lim = min(Block, n - j0);
            for (int j = 0; j < lim; ++j) acc += A[(size_t)(j0 + j) * lda + row] * xs[j];
        }
    }
    if (row < m) y[row] = acc;
}

// y = A^T x, A column-major: thread per column walks down its own column ...
__global__ void gemv_t_thread(int m, int n, const float* A, int lda, const float* x, float* y) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= n) return;
    float acc = 0.f;
    for (int i = 0; i < m; ++i) acc += A[(size_t)col * lda + i] * x[i];
    y[col] = acc;
}

template <class T>
class Device {
public:
    explicit Device(size_t n) : n_(n) { CU(cudaMalloc((void**)&p_, n * sizeof(T))); }
    explicit Device(const std::vector<T>& v) : Device(v.size()) {
        CU(cudaMemcpy(p_, v.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~Device() { cudaFree(p_); }
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    operator T*() { return p_; }
    void clear() { CU(cudaMemset(p_, 0, n_ * sizeof(T))); }
    std::vector<T> host() const {
        std::vector<T> v(n_);
        CU(cudaGetLastError());
        CU(cudaMemcpy(v.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
        return v;
    }
private:
    T* p_ = nullptr;
    size_t n_;
};

static PermutePlan<4> make_plan(const std::array<int, 4>& dims, const std::array<int, 4>& perm) {
    std::array<int, 4> stride{};
    stride[3] = 1;
    for (int d = 2; d >= 0; --d) stride[d] = stride[d + 1] * dims[d + 1];
    PermutePlan<4> plan;
    for (int d = 0; d < 4; ++d) {
        plan.out_dim[d] = dims[perm[d]];
        plan.in_stride[d] = stride[perm[d]];
    }
    return plan;
}

static std::vector<float> noise(size_t n, unsigned seed) {
    std::vector<float> v(n);
    for (auto& e : v) {
        seed = seed * 1664525u + 1013904223u;
        e = (float)(seed >> 12) / 524288.f - 1.f;
    }
    return v;
}

static bool report(const char* name, bool good) {
    std::printf("%-24s %s\n", name, good ? "ok" : "WRONG");
    return good;
}

int main() {
    bool good = true;
    {   // three matrices of 1000 x 1500
        const int rows = 1000, cols = 1500, batch = 3;
        const auto in = noise((size_t)rows * cols * batch, 11);
        std::vector<float> ref(in.size());
        for (int b = 0; b < batch; ++b)
            for (int r = 0; r < rows; ++r)
                for (int c = 0; c < cols; ++c)
                    ref[((size_t)b * cols + c) * rows + r] = in[((size_t)b * rows + r) * cols + c];
        Device<float> src(in), dst(in.size());
        dst.clear();
        transpose_naive<<<dim3((cols + 31) / 32, (rows + 7) / 8, batch), dim3(32, 8)>>>(dst, src, rows, cols);
        good &= report("transpose naive", dst.host() == ref);
        const dim3 grid((cols + 31) / 32, (rows + 31) / 32, batch), block(32, 8);
        dst.clear();
        transpose_tile<32, 8, 0><<<grid, block>>>(dst, src, rows, cols);
        good &= report("transpose tile", dst.host() == ref);
        dst.clear();
        transpose_tile<32, 8, 1><<<grid, block>>>(dst, src, rows, cols);
        good &= report("transpose tile padded", dst.host() == ref);
    }
    {   // [batch, token, head, dim]: swap token/head, then reverse all the axes
        const std::array<int, 4> dims{4, 512, 12, 64};
        const int total = dims[0] * dims[1] * dims[2] * dims[3];
        const auto in = noise(total, 12);
        Device<float> src(in), dst(in.size());
        for (const auto& perm : {std::array<int, 4>{0, 2, 1, 3}, std::array<int, 4>{3, 2, 1, 0}}) {
            const auto plan = make_plan(dims, perm);
            std::vector<float> ref(in.size());
            size_t o = 0;
            for (int a = 0; a < plan.out_dim[0]; ++a)
                for (int b = 0; b < plan.out_dim[1]; ++b)
                    for (int c = 0; c < plan.out_dim[2]; ++c)
                        for (int d = 0; d < plan.out_dim[3]; ++d)
                            ref[o++] = in[a * plan.in_stride[0] + b * plan.in_stride[1] + c * plan.in_stride[2] + d * plan.in_stride[3]];
            dst.clear();
            permute<4, float><<<132 * 8, 256>>>(dst, src, plan, total);
            good &= report(perm[0] == 0 ? "permute 0213" : "permute 3210", dst.host() == ref);
        }
    }
    {   // A is 4096 x 2048, column-major
        const int m = 4096, n = 2048;
        const auto A = noise((size_t)m * n, 13), x = noise(m, 14);
        std::vector<double> yn(m, 0.0), yt(n, 0.0);
        for (int j = 0; j < n; ++j)
            for (int i = 0; i < m; ++i) {
                yn[i] += (double)A[(size_t)j * m + i] * x[j];
                yt[j] += (double)A[(size_t)j * m + i] * x[i];
            }
        Device<float> dA(A), dx(x), dn((size_t)m), dt((size_t)n);
        gemv_n<128><<<(m + 127) / 128, 128>>>(m, n, dA, m, dx, dn);
        gemv_t_thread<<<(n + 31) / 32, 32>>>(m, n, dA, m, dx, dt);
        auto close = [](const std::vector<float>& got, const std::vector<double>& ref) {
            for (size_t i = 0; i < ref.size(); ++i)
                if (!(std::fabs(got[i] - ref[i]) <= 2e-3 + 1e-4 * std::fabs(ref[i]))) return false;
            return true;
        };
        good &= report("gemv N", close(dn.host(), yn));
        good &= report("gemv T", close(dt.host(), yt));
    }
    std::puts(good ? "PASS" : "FAIL");
    return good ? 0 : 1;
}
