// Sparse matrix-vector products in four storage formats behind one interface.
// SELL-C-sigma, BSR 3x3, ELLPACK (row major on purpose, for comparison) and COO.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace spx {

inline void check(cudaError_t err, const char* file, int line) {
    if (err == cudaSuccess) return;
    std::fprintf(stderr, "%s(%d): CUDA error %d (%s)\n", file, line, int(err), cudaGetErrorString(err));
    std::abort();
}
#define SPX_CHECK(e) ::spx::check((e), __FILE__, __LINE__)

template <class T>
class array {
public:
    array() = default;
    array(const std::vector<T>& h) : n_(h.size()) {
        SPX_CHECK(cudaMalloc(&p_, std::max<size_t>(n_, 1) * sizeof(T)));
        SPX_CHECK(cudaMemcpy(p_, h.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~array() { cudaFree(p_); }
    array(array&& o) noexcept { std::swap(p_, o.p_); std::swap(n_, o.n_); }
    array& operator=(array&& o) noexcept { std::swap(p_, o.p_); std::swap(n_, o.n_); return *this; }
    T* get() const { return p_; }
    size_t size() const { return n_; }
    std::vector<T> host() const {
        std::vector<T> h(n_);
        SPX_CHECK(cudaMemcpy(h.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
        return h;
    }
    void zero() { SPX_CHECK(cudaMemset(p_, 0, n_ * sizeof(T))); }
private:
    T* p_ = nullptr;
    size_t n_ = 0;
};

struct Csr {
    int rows = 0, cols = 0;
    std::vector<int> ptr, col;
    std::vector<double> val;
    int length(int r) const { return ptr[r + 1] - ptr[r]; }
    std::vector<double> multiply(const std::vector<double>& x) const {
        std::vector<double> y(rows, 0.0);
        for (int r = 0; r < rows; ++r)
            for (int k = ptr[r]; k < ptr[r + 1]; ++k) y[r] += val[k] * x[col[k]];
        return y;
    }
};

// ----------------------------------------------------------------- kernels
template <int C>
__global__ void sellKernel(int rows, const int64_t* __restrict__ slicePtr, const int* __restrict__ perm,
                           const int* __restrict__ col, const double* __restrict__ val,
                           const double* __restrict__ x, double* __restrict__ y)
{
    const int slot = blockIdx.x * blockDim.x + threadIdx.x;
    const int slice = slot / C, lane = slot % C;
    if (slot >= rows) return;
    const int64_t begin = slicePtr[slice];
    const int width = int((slicePtr[slice + 1] - begin) / C);
    double sum = 0.0;
    for (int k = 0; k < width; ++k) {
        const int64_t at = begin + int64_t(k) * C + lane;
        sum += val[at] * x[col[at]];
    }
    y[perm[slot]] = sum;
}

__global__ void ellRowMajorKernel(int rows, int width, const int* __restrict__ col, const double* __restrict__ val,
                                  const double* __restrict__ x, double* __restrict__ y)
{
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    double sum = 0.0;
    for (int k = 0; k < width; ++k) {
        const int c = col[r * width + k];
        if (c < 0) break;
        sum += val[r * width + k] * x[c];
    }
    y[r] = sum;
}

// Three threads per block row (one per scalar row). 192 threads = 64 block rows per thread block.
__global__ void bsr3Kernel(int blockRows, const int* __restrict__ ptr, const int* __restrict__ col,
                           const double* __restrict__ val, const double* __restrict__ x, double* __restrict__ y)
{
    __shared__ double ys[192];
    const int br = blockIdx.x * 64 + threadIdx.x / 3, r = threadIdx.x % 3;
    double sum = 0.0;
    if (br < blockRows)
        for (int k = ptr[br]; k < ptr[br + 1]; ++k) {
            const double* a = val + size_t(k) * 9 + r * 3;
            const double* xb = x + col[k] * 3;
            sum += a[0] * xb[0] + a[1] * xb[1] + a[2] * xb[2];
        }
    ys[threadIdx.x] = sum;
    __syncthreads();
    // write back component-wise ("x" plane of the block first) to show up in the profiler
    const int comp = threadIdx.x / 64, who = threadIdx.x % 64;
    const int row = blockIdx.x * 64 + who;
    if (row < blockRows) y[row * 3 + comp] = ys[who * 3 + comp];
}

// Segmented reduction inside a warp over sorted row indices, atomics at segment ends.
__global__ void cooKernel(int nnz, const int* __restrict__ row, const int* __restrict__ col,
                          const double* __restrict__ val, const double* __restrict__ x, double* __restrict__ y)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x & 31;
    const int r = k < nnz ? row[k] : -1;
    double v = k < nnz ? val[k] * x[col[k]] : 0.0;
    for (int d = 1; d < 32; d <<= 1) {
        const double up = __shfl_up_sync(0xffffffffu, v, d);
        const int rup = __shfl_up_sync(0xffffffffu, r, d);
        if (lane >= d && rup == r) v += up;
    }
    const int rnext = __shfl_down_sync(0xffffffffu, r, 1);
    if (r >= 0 && (lane == 31 || rnext != r)) atomicAdd(&y[r], v);
}

// ----------------------------------------------------------------- formats
class Operator {
public:
    virtual ~Operator() = default;
    virtual std::string name() const = 0;
    virtual void apply(const array<double>& x, array<double>& y) const = 0;
};

template <int C>
class SellMatrix final : public Operator {
public:
    SellMatrix(const Csr& a, int sigma) : rows_(a.rows) {
        std::vector<int> perm(a.rows);
        std::iota(perm.begin(), perm.end(), 0);
        for (int s = 0; s < a.rows; s += sigma)
            std::stable_sort(perm.begin() + s, perm.begin() + std::min(a.rows, s + sigma),
                             [&](int l, int r) { return a.length(l) > a.length(r); });
        const int slices = (a.rows + C - 1) / C;
        std::vector<int64_t> sp(slices + 1, 0);
        for (int s = 0; s < slices; ++s) {
            int w = 0;
            for (int l = s * C; l < std::min(a.rows, s * C + C); ++l) w = std::max(w, a.length(perm[l]));
            sp[s + 1] = sp[s] + int64_t(w) * C;
        }
        std::vector<int> col(sp.back(), 0);
        std::vector<double> val(sp.back(), 0.0);
        for (int l = 0; l < a.rows; ++l)
            for (int k = 0; k < a.length(perm[l]); ++k) {
                const int64_t at = sp[l / C] + int64_t(k) * C + l % C;
                col[at] = a.col[a.ptr[perm[l]] + k];
                val[at] = a.val[a.ptr[perm[l]] + k];
            }
        slicePtr_ = array<int64_t>(sp); perm_ = array<int>(perm); col_ = array<int>(col); val_ = array<double>(val);
    }
    std::string name() const override { return "SELL-" + std::to_string(C); }
    void apply(const array<double>& x, array<double>& y) const override {
        sellKernel<C><<<grid(rows_), kBlock>>>(rows_, slicePtr_.get(), perm_.get(), col_.get(), val_.get(), x.get(), y.get());
        SPX_CHECK(cudaGetLastError());
    }
private:
    static constexpr int kBlock = 128;
    static int grid(int n) { return (n + kBlock - 1) / kBlock; }
    int rows_;
    array<int64_t> slicePtr_;
    array<int> perm_, col_;
    array<double> val_;
};

class EllMatrix final : public Operator {
public:
    explicit EllMatrix(const Csr& a) : rows_(a.rows), width_(0) {
        for (int r = 0; r < rows_; ++r) width_ = std::max(width_, a.length(r));
        std::vector<int> col(size_t(rows_) * width_, -1);
        std::vector<double> val(size_t(rows_) * width_, 0.0);
        for (int r = 0; r < rows_; ++r)
            for (int k = 0; k < a.length(r); ++k) { col[r * width_ + k] = a.col[a.ptr[r] + k]; val[r * width_ + k] = a.val[a.ptr[r] + k]; }
        col_ = array<int>(col); val_ = array<double>(val);
    }
    std::string name() const override { return "ELL row major"; }
    void apply(const array<double>& x, array<double>& y) const override {
        ellRowMajorKernel<<<(rows_ + 255) / 256, 256>>>(rows_, width_, col_.get(), val_.get(), x.get(), y.get());
        SPX_CHECK(cudaGetLastError());
    }
private:
    int rows_, width_;
    array<int> col_;
    array<double> val_;
};

class Bsr3Matrix final : public Operator {
public:
    explicit Bsr3Matrix(const Csr& a) : blockRows_(a.rows / 3) {
        std::vector<int> ptr{0}, col;
        std::vector<double> val;
        for (int b = 0; b < blockRows_; ++b) {
            std::vector<int> cols;
            for (int k = a.ptr[3 * b]; k < a.ptr[3 * b + 3]; ++k) cols.push_back(a.col[k] / 3);
            std::sort(cols.begin(), cols.end());
            cols.erase(std::unique(cols.begin(), cols.end()), cols.end());
            const size_t first = col.size();
            col.insert(col.end(), cols.begin(), cols.end());
            val.resize(col.size() * 9, 0.0);
            for (int r = 0; r < 3; ++r)
                for (int k = a.ptr[3 * b + r]; k < a.ptr[3 * b + r + 1]; ++k) {
                    const size_t at = std::lower_bound(cols.begin(), cols.end(), a.col[k] / 3) - cols.begin();
                    val[(first + at) * 9 + r * 3 + a.col[k] % 3] += a.val[k];
                }
            ptr.push_back(int(col.size()));
        }
        ptr_ = array<int>(ptr); col_ = array<int>(col); val_ = array<double>(val);
    }
    std::string name() const override { return "BSR 3x3"; }
    void apply(const array<double>& x, array<double>& y) const override {
        bsr3Kernel<<<(blockRows_ + 63) / 64, 192>>>(blockRows_, ptr_.get(), col_.get(), val_.get(), x.get(), y.get());
        SPX_CHECK(cudaGetLastError());
    }
private:
    int blockRows_;
    array<int> ptr_, col_;
    array<double> val_;
};

class CooMatrix final : public Operator {
public:
    explicit CooMatrix(const Csr& a) {
        std::vector<int> row;
        for (int r = 0; r < a.rows; ++r) row.insert(row.end(), a.length(r), r);
        row_ = array<int>(row); col_ = array<int>(a.col); val_ = array<double>(a.val);
    }
    std::string name() const override { return "COO"; }
    void apply(const array<double>& x, array<double>& y) const override {
        y.zero();
        const int nnz = int(row_.size());
        cooKernel<<<(nnz + 159) / 160, 160>>>(nnz, row_.get(), col_.get(), val_.get(), x.get(), y.get());
        SPX_CHECK(cudaGetLastError());
    }
private:
    array<int> row_, col_;
    array<double> val_;
};

} // namespace spx

// 3 dof per node elasticity-like pattern on a nx*ny grid with some long range couplings
static spx::Csr makeMatrix(int nx, int ny)
{
    spx::Csr a;
    a.rows = a.cols = 3 * nx * ny;
    a.ptr.push_back(0);
    for (int n = 0; n < nx * ny; ++n)
        for (int d = 0; d < 3; ++d) {
            const int i = n % nx, j = n / nx;
            std::vector<int> nodes{n};
            if (i > 0) nodes.push_back(n - 1);
            if (i + 1 < nx) nodes.push_back(n + 1);
            if (j > 0) nodes.push_back(n - nx);
            if (j + 1 < ny) nodes.push_back(n + nx);
            if (n % 5 == d) nodes.push_back(int((n * 7919LL) % (nx * ny)));
            if (n % 23 == 0) for (int q = 1; q < 5; ++q) nodes.push_back((n + q * 997) % (nx * ny));
            std::sort(nodes.begin(), nodes.end());
            nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
            for (int m : nodes)
                for (int e = 0; e < 3; ++e) {
                    if (m != n && e != d && (m + e + d) % 2) continue;
                    a.col.push_back(3 * m + e);
                    a.val.push_back(m == n && e == d ? 9.0 : -0.5 + 0.01 * ((m * 3 + e + n) % 89));
                }
            a.ptr.push_back(int(a.col.size()));
        }
    return a;
}

int main()
{
    const spx::Csr a = makeMatrix(67, 59);
    std::vector<double> hx(a.cols);
    for (int i = 0; i < a.cols; ++i) hx[i] = std::cos(0.013 * i) + 0.1 * (i % 3);
    const std::vector<double> want = a.multiply(hx);

    std::vector<std::unique_ptr<spx::Operator>> ops;
    ops.emplace_back(new spx::SellMatrix<32>(a, 256));
    ops.emplace_back(new spx::SellMatrix<8>(a, 64));
    ops.emplace_back(new spx::EllMatrix(a));
    ops.emplace_back(new spx::Bsr3Matrix(a));
    ops.emplace_back(new spx::CooMatrix(a));

    spx::array<double> x(hx), y(std::vector<double>(a.rows, -1.0));
    bool ok = true;
    for (const auto& op : ops) {
        op->apply(x, y);
        const auto got = y.host();
        double worst = 0;
        int bad = 0;
        for (int r = 0; r < a.rows; ++r) {
            const double e = std::fabs(got[r] - want[r]);
            worst = std::max(worst, e);
            bad += !(e < 1e-10);
        }
        std::printf("%-14s rows %d nnz %zu worst %.2e\n", op->name().c_str(), a.rows, a.val.size(), worst);
        ok &= bad == 0;
    }
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
