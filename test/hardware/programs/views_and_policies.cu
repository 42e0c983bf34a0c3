// nvcc: --expt-relaxed-constexpr
// A little header-style library: strided views with layout policies, element-wise evaluation, and reductions
// with operation traits.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace tl {

inline void check(cudaError_t status)
{
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

using index_t = std::int32_t;

struct layout_right {
    static constexpr const char *name = "right";
    __host__ __device__ static constexpr index_t stride0(index_t, index_t n1) { return n1; }
    __host__ __device__ static constexpr index_t stride1(index_t, index_t) { return 1; }
};
struct layout_left {
    static constexpr const char *name = "left";
    __host__ __device__ static constexpr index_t stride0(index_t, index_t) { return 1; }
    __host__ __device__ static constexpr index_t stride1(index_t n0, index_t) { return n0; }
};

template <typename T, typename Layout>
class matrix_view {
public:
    using value_type = std::remove_cv_t<T>;
    using layout_type = Layout;
    __host__ __device__ matrix_view(T *data, index_t n0, index_t n1)
        : data_(data), n0_(n0), n1_(n1), s0_(Layout::stride0(n0, n1)), s1_(Layout::stride1(n0, n1)) {}
    __device__ __forceinline__ T &operator()(index_t i, index_t j) const { return data_[i * s0_ + j * s1_]; }
    __host__ __device__ index_t extent(int d) const { return d == 0 ? n0_ : n1_; }
    __host__ __device__ index_t size() const { return n0_ * n1_; }
    __host__ __device__ T *data() const { return data_; }
private:
    T *data_;
    index_t n0_, n1_, s0_, s1_;
};

template <typename T>
class device_array {
public:
    explicit device_array(std::size_t n) : n_(n) { check(cudaMalloc(reinterpret_cast<void **>(&p_), n * sizeof(T))); }
    explicit device_array(const std::vector<T> &h) : device_array(h.size())
    {
        check(cudaMemcpy(p_, h.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~device_array() { cudaFree(p_); }
    device_array(const device_array &) = delete;
    device_array &operator=(const device_array &) = delete;
    T *get() const { return p_; }
    std::vector<T> host() const
    {
        std::vector<T> h(n_);
        check(cudaMemcpy(h.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
        return h;
    }
private:
    T *p_ = nullptr;
    std::size_t n_;
};

// ---------------------------------------------------------------- operations
template <typename T> struct plus_op {
    static __host__ __device__ T identity() { return T(0); }
    __host__ __device__ T operator()(T a, T b) const { return a + b; }
};
template <typename T> struct max_op {
    static __host__ __device__ T identity() { return std::numeric_limits<T>::lowest(); }
    __host__ __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};

template <typename T> struct accumulator { using type = T; };
template <> struct accumulator<float> { using type = double; };
template <> struct accumulator<std::int16_t> { using type = std::int32_t; };
template <typename T> using accumulator_t = typename accumulator<T>::type;

// ---------------------------------------------------------------- kernels
template <typename In, typename Out, typename F>
__global__ void transform_kernel(In in, Out out, F f)
{
    const index_t j = blockIdx.x * blockDim.x + threadIdx.x;
    for (index_t i = blockIdx.y * blockDim.y + threadIdx.y; i < in.extent(0); i += blockDim.y * gridDim.y)
        if (j < in.extent(1))
            out(i, j) = f(in(i, j));
}

template <int BlockSize, typename Op, typename View, typename Acc>
__global__ void reduce_rows_kernel(View in, Acc *out, Op op)
{
    static_assert((BlockSize & (BlockSize - 1)) == 0, "power of two");
    __shared__ Acc scratch[BlockSize];
    const index_t row = blockIdx.x;
    Acc acc = Op::identity();
    for (index_t j = threadIdx.x; j < in.extent(1); j += BlockSize)
        acc = op(acc, static_cast<Acc>(in(row, j)));
    scratch[threadIdx.x] = acc;
    __syncthreads();
#pragma unroll
    for (int half = BlockSize / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            scratch[threadIdx.x] = op(scratch[threadIdx.x], scratch[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0) out[row] = scratch[0];
}

template <int Tile, int Rows, int Pad, typename Src, typename Dst>
__global__ void relayout_kernel(Src src, Dst dst)
{
    using T = typename Src::value_type;
    __shared__ T tile[Tile][Tile + Pad];
    const index_t j0 = blockIdx.x * Tile, i0 = blockIdx.y * Tile;
#pragma unroll
    for (int r = 0; r < Tile; r += Rows) {
        const index_t i = i0 + r + threadIdx.y, j = j0 + threadIdx.x;
        if (i < src.extent(0) && j < src.extent(1)) tile[r + threadIdx.y][threadIdx.x] = src(i, j);
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < Tile; r += Rows) {
        const index_t i = i0 + threadIdx.x, j = j0 + r + threadIdx.y;
        if (i < dst.extent(0) && j < dst.extent(1)) dst(i, j) = tile[threadIdx.x][r + threadIdx.y];
    }
}

// ---------------------------------------------------------------- algorithms
template <typename In, typename Out, typename F> void transform(In in, Out out, F f)
{
    const dim3 block(32, 4);
    const dim3 grid((in.extent(1) + 31) / 32, 5);
    transform_kernel<<<grid, block>>>(in, out, f);
    check(cudaGetLastError());
}

template <template <typename> class Op, typename T, typename L>
std::vector<accumulator_t<T>> reduce_rows(matrix_view<const T, L> in)
{
    using acc_t = accumulator_t<T>;
    device_array<acc_t> out(in.extent(0));
    if (in.extent(1) > 128)
        reduce_rows_kernel<256><<<in.extent(0), 256>>>(in, out.get(), Op<acc_t>{});
    else
        reduce_rows_kernel<64><<<in.extent(0), 64>>>(in, out.get(), Op<acc_t>{});
    check(cudaGetLastError());
    return out.host();
}

template <int Pad, typename Src, typename Dst> void relayout(Src src, Dst dst)
{
    constexpr int tile = 32, rows = 8;
    const dim3 grid((src.extent(1) + tile - 1) / tile, (src.extent(0) + tile - 1) / tile);
    relayout_kernel<tile, rows, Pad><<<grid, dim3(tile, rows)>>>(src, dst);
    check(cudaGetLastError());
}

template <typename T> struct scale_shift {
    T scale, shift;
    __host__ __device__ T operator()(T x) const { return scale * x + shift; }
};
template <typename To, typename From> struct cast_to {
    __host__ __device__ To operator()(From x) const { return static_cast<To>(x); }
};

} // namespace tl

template <typename T> bool same(const char *what, const std::vector<T> &a, const std::vector<T> &b, double tol = 1e-9)
{
    bool ok = a.size() == b.size();
    for (std::size_t i = 0; ok && i < a.size(); ++i)
        ok = std::abs(double(a[i]) - double(b[i])) <= tol * (1 + std::abs(double(b[i])));
    std::printf("%-24s %s\n", what, ok ? "PASS" : "FAIL");
    return ok;
}

int main()
{
    using namespace tl;
    constexpr index_t n = 190, m = 330;
    std::vector<float> a(n * m);
    for (index_t k = 0; k < n * m; ++k) a[k] = float((k * 37 + 11) % 101) - 50.0f;
    device_array<float> da(a), db(a.size()), dc(a.size()), dd(a.size());
    device_array<std::int16_t> ds(a.size());

    matrix_view<const float, layout_right> A(da.get(), n, m);
    matrix_view<float, layout_right> B(db.get(), n, m);
    matrix_view<float, layout_left> C(dc.get(), n, m), D(dd.get(), n, m);
    matrix_view<std::int16_t, layout_right> S(ds.get(), n, m);

    transform(A, B, scale_shift<float>{2.0f, 1.0f});
    transform(A, C, scale_shift<float>{1.0f, -1.0f});
    transform(A, S, cast_to<std::int16_t, float>{});
    relayout<1>(A, D);
    bool ok = true;

    std::vector<float> b(a.size()), c(a.size()), d(a.size());
    std::vector<double> rs(n, 0.0);
    std::vector<std::int32_t> rm(n, -1000), rc(n, 0);
    for (index_t i = 0; i < n; ++i)
        for (index_t j = 0; j < m; ++j) {
            const float x = a[i * m + j];
            b[i * m + j] = 2 * x + 1;
            c[j * n + i] = x - 1;
            d[j * n + i] = x;
            rs[i] += x;
            rc[i] = std::max(rc[i], 0);
            rm[i] = std::max(rm[i], std::int32_t(x));
        }
    ok &= same("right to right", db.host(), b);
    ok &= same("right to left", dc.host(), c);
    ok &= same("relayout", dd.host(), d);
    ok &= same("row sums, right", reduce_rows<plus_op>(A), rs);
    ok &= same("row sums, left", reduce_rows<plus_op>(matrix_view<const float, layout_left>(dd.get(), n, m)), rs);
    ok &= same("row maxima", reduce_rows<max_op>(matrix_view<const std::int16_t, layout_right>(ds.get(), n, m)), rm);

    // the tile without padding, on the square part
    matrix_view<const float, layout_right> Asq(da.get(), 128, 128);
    matrix_view<float, layout_left> Csq(dc.get(), 128, 128);
    relayout<0>(Asq, Csq);
    std::vector<float> sq(128 * 128), got = dc.host();
    got.resize(sq.size());
    for (int i = 0; i < 128; ++i)
        for (int j = 0; j < 128; ++j) sq[j * 128 + i] = a[i * 128 + j];
    ok &= same("relayout, unpadded", got, sq);
    return ok ? 0 : 1;
}
