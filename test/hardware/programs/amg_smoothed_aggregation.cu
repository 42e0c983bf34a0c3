// amg_smoothed_aggregation.cu
//
// A small smoothed-aggregation algebraic multigrid solver. The hierarchy is
// set up on the host (strength graph, greedy aggregation, Galerkin product),
// the V-cycles run on the device.  The fine matrix is a diffusion problem with
// a jump in the coefficient, and its unknowns arrive in random order, as they
// do from our mesh generator.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

namespace amg {

inline void check(cudaError_t e, const char* what)
{
    if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

// ---------------------------------------------------------------- device memory
template <class T>
class DeviceArray {
public:
    DeviceArray() = default;
    explicit DeviceArray(std::size_t n) : n_(n) { if (n) check(cudaMalloc(&p_, n * sizeof(T)), "cudaMalloc"); }
    explicit DeviceArray(const std::vector<T>& h) : DeviceArray(h.size())
    {
        if (n_) check(cudaMemcpy(p_, h.data(), n_ * sizeof(T), cudaMemcpyHostToDevice), "upload");
    }
    DeviceArray(DeviceArray&& o) noexcept : p_(std::exchange(o.p_, nullptr)), n_(std::exchange(o.n_, 0)) {}
    DeviceArray& operator=(DeviceArray&& o) noexcept { std::swap(p_, o.p_); std::swap(n_, o.n_); return *this; }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;
    ~DeviceArray() { cudaFree(p_); }
    T* get() const { return p_; }
    std::size_t size() const { return n_; }
    std::vector<T> host() const
    {
        std::vector<T> h(n_);
        check(cudaMemcpy(h.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost), "download");
        return h;
    }
private:
    T* p_ = nullptr;
    std::size_t n_ = 0;
};

// ---------------------------------------------------------------- host matrices
struct Csr {
    int rows = 0, cols = 0;
    std::vector<int> ptr, col;
    std::vector<double> val;
    double diag(int i) const
    {
        for (int k = ptr[i]; k < ptr[i + 1]; ++k) if (col[k] == i) return val[k];
        return 0.0;
    }
};

Csr fromMap(int cols, const std::vector<std::map<int, double>>& rows)
{
    Csr a;
    a.rows = int(rows.size());
    a.cols = cols;
    a.ptr.push_back(0);
    for (auto& r : rows) {
        for (auto& [c, v] : r) { a.col.push_back(c); a.val.push_back(v); }
        a.ptr.push_back(int(a.col.size()));
    }
    return a;
}

Csr transpose(const Csr& a)
{
    Csr t;
    t.rows = a.cols; t.cols = a.rows;
    t.ptr.assign(t.rows + 1, 0);
    t.col.resize(a.col.size()); t.val.resize(a.val.size());
    for (int c : a.col) ++t.ptr[c + 1];
    std::partial_sum(t.ptr.begin(), t.ptr.end(), t.ptr.begin());
    std::vector<int> at(t.ptr.begin(), t.ptr.end() - 1);
    for (int i = 0; i < a.rows; ++i)
        for (int k = a.ptr[i]; k < a.ptr[i + 1]; ++k) {
            int d = at[a.col[k]]++;
            t.col[d] = i; t.val[d] = a.val[k];
        }
    return t;
}

Csr multiply(const Csr& a, const Csr& b)
{
    Csr c;
    c.rows = a.rows; c.cols = b.cols;
    c.ptr.push_back(0);
    std::vector<double> acc(b.cols, 0.0);
    std::vector<int> mark(b.cols, -1), list;
    for (int i = 0; i < a.rows; ++i) {
        list.clear();
        for (int k = a.ptr[i]; k < a.ptr[i + 1]; ++k)
            for (int q = b.ptr[a.col[k]]; q < b.ptr[a.col[k] + 1]; ++q) {
                int j = b.col[q];
                if (mark[j] != i) { mark[j] = i; acc[j] = 0; list.push_back(j); }
                acc[j] += a.val[k] * b.val[q];
            }
        std::sort(list.begin(), list.end());
        for (int j : list) { c.col.push_back(j); c.val.push_back(acc[j]); }
        c.ptr.push_back(int(c.col.size()));
    }
    return c;
}

Csr diffusion(int n, unsigned seed)
{
    std::vector<int> number(n * n);
    std::iota(number.begin(), number.end(), 0);
    std::mt19937 rng(seed);
    std::shuffle(number.begin(), number.end(), rng);
    auto coef = [n](double x, double y) { return (x > 0.3 * n && x < 0.6 * n && y > 0.4 * n) ? 25.0 : 1.0; };
    std::vector<std::map<int, double>> rows(n * n);
    for (int y = 0; y < n; ++y)
        for (int x = 0; x < n; ++x) {
            auto& r = rows[number[y * n + x]];
            double d = 0;
            const int dx[] = {1, -1, 0, 0}, dy[] = {0, 0, 1, -1};
            for (int k = 0; k < 4; ++k) {
                int u = x + dx[k], v = y + dy[k];
                double c = coef(x + 0.5 * dx[k], y + 0.5 * dy[k]);
                d += c;
                if (u >= 0 && v >= 0 && u < n && v < n) r[number[v * n + u]] = -c;
            }
            r[number[y * n + x]] = d;
        }
    return fromMap(n * n, rows);
}

std::vector<int> aggregate(const Csr& a, double theta, int& count)
{
    std::vector<double> d(a.rows);
    for (int i = 0; i < a.rows; ++i) d[i] = a.diag(i);
    auto strong = [&](int i, int k) { return a.col[k] != i && std::abs(a.val[k]) > theta * std::sqrt(d[i] * d[a.col[k]]); };
    std::vector<int> agg(a.rows, -1);
    count = 0;
    for (int i = 0; i < a.rows; ++i) {
        if (agg[i] >= 0) continue;
        bool free = true;
        for (int k = a.ptr[i]; k < a.ptr[i + 1] && free; ++k) if (strong(i, k) && agg[a.col[k]] >= 0) free = false;
        if (!free) continue;
        agg[i] = count;
        for (int k = a.ptr[i]; k < a.ptr[i + 1]; ++k) if (strong(i, k)) agg[a.col[k]] = count;
        ++count;
    }
    std::vector<int> second = agg;
    for (int i = 0; i < a.rows; ++i)
        if (agg[i] < 0)
            for (int k = a.ptr[i]; k < a.ptr[i + 1]; ++k) if (strong(i, k) && agg[a.col[k]] >= 0) { second[i] = agg[a.col[k]]; break; }
    for (auto& s : second) if (s < 0) s = count++;
    return second;
}

Csr prolongator(const Csr& a, const std::vector<int>& agg, int count, double omega)
{
    std::vector<std::map<int, double>> rows(a.rows);
    for (int i = 0; i < a.rows; ++i) {
        double d = a.diag(i);
        rows[i][agg[i]] += 1.0;
        for (int k = a.ptr[i]; k < a.ptr[i + 1]; ++k) rows[i][agg[a.col[k]]] -= omega / d * a.val[k];
    }
    return fromMap(count, rows);
}

// ---------------------------------------------------------------- kernels
enum class Update { Assign, Add, Residual };

template <Update U>
__device__ __forceinline__ void store(double* y, const double* b, int i, double s)
{
    if constexpr (U == Update::Assign) y[i] = s;
    else if constexpr (U == Update::Add) y[i] += s;
    else y[i] = b[i] - s;
}

template <Update U>
__global__ void spmvScalar(int rows, const int* __restrict__ ptr, const int* __restrict__ col,
                           const double* __restrict__ val, const double* __restrict__ x, const double* b, double* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    double s = 0;
    for (int k = ptr[i]; k < ptr[i + 1]; ++k) s += val[k] * x[col[k]];
    store<U>(y, b, i, s);
}

template <Update U, int Lanes>
__global__ void spmvVector(int rows, const int* __restrict__ ptr, const int* __restrict__ col,
                           const double* __restrict__ val, const double* __restrict__ x, const double* b, double* y)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / Lanes, lane = threadIdx.x % Lanes;
    double s = 0;
    if (i < rows)
        for (int k = ptr[i] + lane; k < ptr[i + 1]; k += Lanes) s += val[k] * x[col[k]];
#pragma unroll
    for (int o = Lanes / 2; o; o /= 2) s += __shfl_down_sync(0xffffffffu, s, o, Lanes);
    if (i < rows && lane == 0) store<U>(y, b, i, s);
}

// ELL, column major, padded with column -1
template <Update U>
__global__ void spmvEll(int rows, int width, const int* __restrict__ col, const double* __restrict__ val,
                        const double* __restrict__ x, const double* b, double* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    double s = 0;
    for (int w = 0; w < width; ++w) {
        int c = col[w * rows + i];
        if (c >= 0) s += val[w * rows + i] * x[c];
    }
    store<U>(y, b, i, s);
}

__global__ void jacobiFromZero(int n, double omega, const double* dinv, const double* b, double* x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = omega * dinv[i] * b[i];
}

__global__ void jacobiCorrect(int n, double omega, const double* dinv, const double* r, double* x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += omega * dinv[i] * r[i];
}

// the coarsest level: row-major dense inverse, one thread a row (it is tiny)
__global__ void denseApply(int n, const double* inv, const double* b, double* x)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        double s = 0;
        for (int j = 0; j < n; ++j) s += inv[i * n + j] * b[j];
        x[i] = s;
    }
}

__global__ void __launch_bounds__(256) sumSquares(int n, const double* r, double* out)
{
    __shared__ double part[8];
    double s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += r[i] * r[i];
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        double t = 0;
        for (int w = 0; w < 8; ++w) t += part[w];
        atomicAdd(out, t);
    }
}

// ---------------------------------------------------------------- hierarchy
struct DeviceCsr {
    int rows = 0, nnz = 0, ellWidth = 0;
    DeviceArray<int> ptr, col, ecol;
    DeviceArray<double> val, eval;
    explicit DeviceCsr(const Csr& a, bool ell) : rows(a.rows), nnz(int(a.col.size())), ptr(a.ptr), col(a.col), val(a.val)
    {
        if (!ell) return;
        for (int i = 0; i < rows; ++i) ellWidth = std::max(ellWidth, a.ptr[i + 1] - a.ptr[i]);
        std::vector<int> c(std::size_t(rows) * ellWidth, -1);
        std::vector<double> v(c.size(), 0.0);
        for (int i = 0; i < rows; ++i)
            for (int k = a.ptr[i]; k < a.ptr[i + 1]; ++k) {
                c[std::size_t(k - a.ptr[i]) * rows + i] = a.col[k];
                v[std::size_t(k - a.ptr[i]) * rows + i] = a.val[k];
            }
        ecol = DeviceArray<int>(c);
        eval = DeviceArray<double>(v);
    }
    template <Update U>
    void apply(const double* x, const double* b, double* y) const
    {
        if (ellWidth) spmvEll<U><<<(rows + 127) / 128, 128>>>(rows, ellWidth, ecol.get(), eval.get(), x, b, y);
        else if (nnz < 4 * rows) spmvScalar<U><<<(rows + 127) / 128, 128>>>(rows, ptr.get(), col.get(), val.get(), x, b, y);
        else spmvVector<U, 8><<<(rows * 8 + 127) / 128, 128>>>(rows, ptr.get(), col.get(), val.get(), x, b, y);
        check(cudaGetLastError(), "spmv");
    }
};

struct Level {
    Csr a, p, r;                       // host copies, used by the reference
    std::vector<double> dinv;
    DeviceCsr da, dp, dr;
    DeviceArray<double> ddinv, x, b, res;
    Level(Csr a_, Csr p_, Csr r_, std::vector<double> di, bool ell)
        : a(std::move(a_)), p(std::move(p_)), r(std::move(r_)), dinv(std::move(di)), da(a, ell), dp(p, false), dr(r, false),
          ddinv(dinv), x(a.rows), b(a.rows), res(a.rows) {}
};

class Hierarchy {
public:
    static constexpr double omega = 2.0 / 3.0;
    Hierarchy(Csr a, int coarsest)
    {
        while (a.rows > coarsest) {
            int count = 0;
            auto agg = aggregate(a, levels.empty() ? 0.08 : 0.02, count);
            if (count >= a.rows) break;
            Csr p = prolongator(a, agg, count, omega), r = transpose(p);
            Csr next = multiply(r, multiply(a, p));
            std::vector<double> di(a.rows);
            for (int i = 0; i < a.rows; ++i) di[i] = 1.0 / a.diag(i);
            levels.emplace_back(std::move(a), std::move(p), std::move(r), std::move(di), levels.empty());
            a = std::move(next);
        }
        invert(a);
    }
    void cycle(std::size_t l)
    {
        if (l == levels.size()) {
            denseApply<<<1, 128>>>(nc, dinvDense.get(), cb.get(), cx.get());
            return;
        }
        Level& L = levels[l];
        int n = L.a.rows, g = (n + 255) / 256;
        double* nb = l + 1 < levels.size() ? levels[l + 1].b.get() : cb.get();
        double* nx = l + 1 < levels.size() ? levels[l + 1].x.get() : cx.get();
        jacobiFromZero<<<g, 256>>>(n, omega, L.ddinv.get(), L.b.get(), L.x.get());
        L.da.apply<Update::Residual>(L.x.get(), L.b.get(), L.res.get());
        L.dr.apply<Update::Assign>(L.res.get(), nullptr, nb);
        cycle(l + 1);
        L.dp.apply<Update::Add>(nx, nullptr, L.x.get());
        L.da.apply<Update::Residual>(L.x.get(), L.b.get(), L.res.get());
        jacobiCorrect<<<g, 256>>>(n, omega, L.ddinv.get(), L.res.get(), L.x.get());
    }
    std::vector<double> cycleHost(std::size_t l, const std::vector<double>& b) const
    {
        auto mul = [](const Csr& m, const std::vector<double>& v) {
            std::vector<double> y(m.rows, 0.0);
            for (int i = 0; i < m.rows; ++i) for (int k = m.ptr[i]; k < m.ptr[i + 1]; ++k) y[i] += m.val[k] * v[m.col[k]];
            return y;
        };
        if (l == levels.size()) {
            std::vector<double> x(nc, 0.0);
            for (int i = 0; i < nc; ++i) for (int j = 0; j < nc; ++j) x[i] += dense[i * nc + j] * b[j];
            return x;
        }
        const Level& L = levels[l];
        std::vector<double> x(L.a.rows);
        for (int i = 0; i < L.a.rows; ++i) x[i] = omega * L.dinv[i] * b[i];
        auto r = mul(L.a, x);
        for (int i = 0; i < L.a.rows; ++i) r[i] = b[i] - r[i];
        auto e = mul(L.p, cycleHost(l + 1, mul(L.r, r)));
        for (int i = 0; i < L.a.rows; ++i) x[i] += e[i];
        r = mul(L.a, x);
        for (int i = 0; i < L.a.rows; ++i) x[i] += omega * L.dinv[i] * (b[i] - r[i]);
        return x;
    }
    std::vector<Level> levels;
    int nc = 0;
private:
    void invert(const Csr& a)
    {
        nc = a.rows;
        std::vector<double> m(nc * nc, 0.0), inv(nc * nc, 0.0);
        for (int i = 0; i < nc; ++i) {
            inv[i * nc + i] = 1;
            for (int k = a.ptr[i]; k < a.ptr[i + 1]; ++k) m[i * nc + a.col[k]] = a.val[k];
        }
        for (int p = 0; p < nc; ++p) {          // SPD: no pivoting
            double d = 1.0 / m[p * nc + p];
            for (int j = 0; j < nc; ++j) { m[p * nc + j] *= d; inv[p * nc + j] *= d; }
            for (int i = 0; i < nc; ++i) {
                double f = m[i * nc + p];
                if (i == p || f == 0) continue;
                for (int j = 0; j < nc; ++j) { m[i * nc + j] -= f * m[p * nc + j]; inv[i * nc + j] -= f * inv[p * nc + j]; }
            }
        }
        dense = inv;
        dinvDense = DeviceArray<double>(inv);
        cb = DeviceArray<double>(std::size_t(nc));
        cx = DeviceArray<double>(std::size_t(nc));
    }
    std::vector<double> dense;
    DeviceArray<double> dinvDense, cb, cx;
};

__global__ void accumulate(int n, const double* e, double* x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += e[i];
}

} // namespace amg

int main(int argc, char** argv)
try {
    using namespace amg;
    const int n = argc > 1 ? std::atoi(argv[1]) : 88, cycles = 3;
    Hierarchy h(diffusion(n, 7u), 160);
    std::printf("levels:");
    for (auto& l : h.levels) std::printf(" %d(%zu)", l.a.rows, l.a.col.size());
    std::printf(" %d\n", h.nc);

    Level& top = h.levels.front();
    const int rows = top.a.rows;
    std::mt19937 rng(11);
    std::normal_distribution<double> gauss;
    std::vector<double> f(rows), x(rows, 0.0), r;
    for (auto& v : f) v = gauss(rng);
    DeviceArray<double> df(f), dx(x), norm(std::vector<double>(cycles + 1, 0.0));

    r = f;
    double worst = 0;
    for (int c = 0; c < cycles; ++c) {
        top.da.apply<Update::Residual>(dx.get(), df.get(), top.b.get());
        sumSquares<<<16, 256>>>(rows, top.b.get(), norm.get() + c);
        h.cycle(0);
        accumulate<<<(rows + 255) / 256, 256>>>(rows, top.x.get(), dx.get());

        auto e = h.cycleHost(0, r);
        for (int i = 0; i < rows; ++i) x[i] += e[i];
        for (int i = 0; i < rows; ++i) {
            double s = 0;
            for (int k = top.a.ptr[i]; k < top.a.ptr[i + 1]; ++k) s += top.a.val[k] * x[top.a.col[k]];
            r[i] = f[i] - s;
        }
    }
    check(cudaDeviceSynchronize(), "solve");
    auto got = dx.host();
    auto norms = norm.host();
    double scale = 0;
    for (double v : x) scale = std::max(scale, std::abs(v));
    for (int i = 0; i < rows; ++i) worst = std::max(worst, std::abs(got[i] - x[i]) / scale);
    for (int c = 0; c < cycles; ++c) std::printf("|r| before cycle %d: %.3e\n", c, std::sqrt(norms[c]));
    const bool ok = worst < 1e-9 && norms[cycles - 1] < 0.5 * norms[0] && h.levels.size() >= 2;
    std::printf("max rel difference to host %.2e\n%s\n", worst, ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\nFAIL\n", e.what());
    return 2;
}
