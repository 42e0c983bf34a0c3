// One preconditioned CG step in the manner of HPCG: 27-point operator in ELLPACK, multicolour Gauss-Seidel as the
// preconditioner, dot products with cooperative groups, injection to the coarse grid.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace cg = cooperative_groups;
using local_int_t = int;

#define GPU(call)                                                                                   \
    do {                                                                                            \
        cudaError_t e_ = (call);                                                                    \
        if (e_ != cudaSuccess) throw std::runtime_error(std::string(#call) + ": " + cudaGetErrorString(e_)); \
    } while (0)

constexpr int kMaxNnz = 27;
constexpr int kColors = 8;

template <class T>
class DeviceVector {
    T *ptr_ = nullptr;
    size_t n_ = 0;
public:
    explicit DeviceVector(size_t n) : n_(n) { GPU(cudaMalloc(&ptr_, n * sizeof(T))); GPU(cudaMemset(ptr_, 0, n * sizeof(T))); }
    explicit DeviceVector(const std::vector<T> &h) : DeviceVector(h.size()) {
        GPU(cudaMemcpy(ptr_, h.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    DeviceVector(const DeviceVector &) = delete;
    ~DeviceVector() { cudaFree(ptr_); }
    T *data() { return ptr_; }
    const T *data() const { return ptr_; }
    size_t size() const { return n_; }
    std::vector<T> host() const {
        std::vector<T> h(n_);
        GPU(cudaMemcpy(h.data(), ptr_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
        return h;
    }
};

// y = A x, one row per thread; column k of all rows lies together
template <int BLOCK>
__launch_bounds__(BLOCK) __global__ void kernel_spmv_ell(local_int_t m, const double *__restrict__ values,
                                                        const local_int_t *__restrict__ cols,
                                                        const double *__restrict__ x, double *__restrict__ y)
{
    local_int_t row = blockIdx.x * BLOCK + threadIdx.x;
    if (row >= m) return;
    double sum = 0.0;
#pragma unroll 3
    for (int p = 0; p < kMaxNnz; ++p) {
        local_int_t col = __ldg(cols + p * m + row);
        if (col >= 0) sum = fma(values[p * m + row], __ldg(x + col), sum);
    }
    y[row] = sum;
}

// All rows of one colour: their numbers come from a permutation
template <int BLOCK>
__global__ __launch_bounds__(BLOCK) void kernel_symgs_color(local_int_t m, local_int_t count, const local_int_t *perm,
                                                           const double *values, const local_int_t *cols,
                                                           const double *diag, const double *rhs, double *x)
{
    local_int_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= count) return;
    local_int_t row = perm[i];
    double sum = rhs[row];
    for (int p = 0; p < kMaxNnz; ++p) {
        local_int_t col = cols[p * m + row];
        if (col >= 0 && col != row) sum -= values[p * m + row] * x[col];
    }
    x[row] = sum / diag[row];
}

__global__ void kernel_dot(int n, const double *a, const double *b, double *result)
{
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    __shared__ double partial[32];

    double sum = 0.0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += a[i] * b[i];
    sum = cg::reduce(tile, sum, cg::plus<double>());
    if (tile.thread_rank() == 0) partial[tile.meta_group_rank()] = sum;
    block.sync();
    if (tile.meta_group_rank() == 0) {
        double v = tile.thread_rank() < tile.meta_group_size() ? partial[tile.thread_rank()] : 0.0;
        v = cg::reduce(tile, v, cg::plus<double>());
        if (tile.thread_rank() == 0) atomicAdd(result, v);
    }
}

// w = alpha x + beta y on pairs
__global__ void kernel_waxpby(int pairs, double alpha, const double2 *x, double beta, const double2 *y, double2 *w)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pairs) {
        double2 a = x[i], b = y[i];
        w[i] = make_double2(alpha * a.x + beta * b.x, alpha * a.y + beta * b.y);
    }
}

__global__ void kernel_restrict(int nCoarse, const local_int_t *f2c, const double *rf, const double *axf, double *rc)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nCoarse) {
        int f = f2c[i];
        rc[i] = rf[f] - axf[f];
    }
}

struct Problem {
    int nx, m;
    std::vector<double> values, diag;
    std::vector<local_int_t> cols, perm, f2c;
    int start[kColors + 1];

    explicit Problem(int n) : nx(n), m(n * n * n), values((size_t)kMaxNnz * m, 0.0), diag(m), cols((size_t)kMaxNnz * m, -1)
    {
        for (int z = 0; z < n; ++z)
            for (int y = 0; y < n; ++y)
                for (int x = 0; x < n; ++x) {
                    int row = (z * n + y) * n + x, p = 0;
                    for (int dz = -1; dz <= 1; ++dz)
                        for (int dy = -1; dy <= 1; ++dy)
                            for (int dx = -1; dx <= 1; ++dx) {
                                int X = x + dx, Y = y + dy, Z = z + dz;
                                if (X < 0 || Y < 0 || Z < 0 || X >= n || Y >= n || Z >= n) continue;
                                int col = (Z * n + Y) * n + X;
                                values[(size_t)p * m + row] = col == row ? 26.0 : -1.0;
                                cols[(size_t)p * m + row] = col;
                                ++p;
                            }
                    diag[row] = 26.0;
                }
        for (int c = 0; c < kColors; ++c) {
            start[c] = (int)perm.size();
            for (int row = 0; row < m; ++row) {
                int x = row % n, y = row / n % n, z = row / n / n;
                if ((x & 1) + 2 * (y & 1) + 4 * (z & 1) == c) perm.push_back(row);
            }
        }
        start[kColors] = m;
        for (int z = 0; z < n; z += 2)
            for (int y = 0; y < n; y += 2)
                for (int x = 0; x < n; x += 2) f2c.push_back((z * n + y) * n + x);
    }
    void spmv(const std::vector<double> &x, std::vector<double> &y) const {
        for (int r = 0; r < m; ++r) {
            double s = 0;
            for (int p = 0; p < kMaxNnz; ++p)
                if (cols[(size_t)p * m + r] >= 0) s += values[(size_t)p * m + r] * x[cols[(size_t)p * m + r]];
            y[r] = s;
        }
    }
    void sweep(const std::vector<double> &rhs, std::vector<double> &x) const {
        for (int i = 0; i < m; ++i) {
            int r = perm[i];
            double s = rhs[r];
            for (int p = 0; p < kMaxNnz; ++p) {
                int c = cols[(size_t)p * m + r];
                if (c >= 0 && c != r) s -= values[(size_t)p * m + r] * x[c];
            }
            x[r] = s / diag[r];
        }
    }
};

static bool close(const std::vector<double> &a, const std::vector<double> &b, const char *what)
{
    double worst = 0;
    for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::fabs(a[i] - b[i]) / (1 + std::fabs(b[i])));
    std::printf("%-10s max error %.3e\n", what, worst);
    return worst < 1e-9;
}

int main(int argc, char **argv)
try {
    const int n = argc > 1 ? std::atoi(argv[1]) : 40;      // even
    Problem P(n);
    const int m = P.m;
    std::vector<double> b(m);
    for (int i = 0; i < m; ++i) b[i] = 1.0 + 0.5 * std::sin(0.01 * i);

    DeviceVector<double> vals(P.values), diag(P.diag), r(b), z(m), p(m), Ap(m), x(m), rc(P.f2c.size()), scalars(2);
    DeviceVector<local_int_t> cols(P.cols), perm(P.perm), f2c(P.f2c);

    for (int c = 0; c < kColors; ++c) {
        int count = P.start[c + 1] - P.start[c];
        kernel_symgs_color<128><<<(count + 127) / 128, 128>>>(m, count, perm.data() + P.start[c], vals.data(), cols.data(),
                                                              diag.data(), r.data(), z.data());
    }
    kernel_dot<<<132, 256>>>(m, r.data(), z.data(), scalars.data());
    GPU(cudaMemcpy(p.data(), z.data(), m * sizeof(double), cudaMemcpyDeviceToDevice));
    kernel_spmv_ell<256><<<(m + 255) / 256, 256>>>(m, vals.data(), cols.data(), p.data(), Ap.data());
    kernel_dot<<<132, 256>>>(m, p.data(), Ap.data(), scalars.data() + 1);
    auto s = scalars.host();
    const double alpha = s[0] / s[1];
    kernel_waxpby<<<(m / 2 + 511) / 512, 512>>>(m / 2, 1.0, (const double2 *)x.data(), alpha, (const double2 *)p.data(), (double2 *)x.data());
    kernel_restrict<<<((int)P.f2c.size() + 63) / 64, 64>>>((int)P.f2c.size(), f2c.data(), r.data(), Ap.data(), rc.data());
    kernel_waxpby<<<(m / 2 + 511) / 512, 512>>>(m / 2, 1.0, (const double2 *)r.data(), -alpha, (const double2 *)Ap.data(), (double2 *)r.data());
    GPU(cudaDeviceSynchronize());

    std::vector<double> hz(m, 0.0), hAp(m), hx(m), hr(m), hrc(P.f2c.size());
    P.sweep(b, hz);
    P.spmv(hz, hAp);
    double rz = 0, pap = 0;
    for (int i = 0; i < m; ++i) { rz += b[i] * hz[i]; pap += hz[i] * hAp[i]; }
    for (int i = 0; i < m; ++i) { hx[i] = rz / pap * hz[i]; hr[i] = b[i] - rz / pap * hAp[i]; }
    for (size_t i = 0; i < hrc.size(); ++i) hrc[i] = b[P.f2c[i]] - hAp[P.f2c[i]];
    bool ok = close(z.host(), hz, "symgs");
    ok &= close(Ap.host(), hAp, "spmv");
    ok &= close(s, {rz, pap}, "dot");
    ok &= close(x.host(), hx, "x");
    ok &= close(r.host(), hr, "r");
    ok &= close(rc.host(), hrc, "restrict");
    std::puts(ok ? "PASSED" : "FAILED");
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
}
