/*
 * Small header-style sparse library: one matrix, several storage policies,
 * y = alpha * A * x + beta * y for each of them, plus a Jacobi sweep and
 * a multi-vector product.
 */
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

namespace cg = cooperative_groups;

namespace sp {

inline void throw_on(cudaError_t e, const char* where) {
    if (e != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", where, cudaGetErrorString(e));
        std::exit(EXIT_FAILURE);
    }
}

template <class T>
T* to_device(const std::vector<T>& host) {
    T* p = nullptr;
    throw_on(cudaMalloc(reinterpret_cast<void**>(&p), std::max<size_t>(host.size(), 1) * sizeof(T)), "malloc");
    throw_on(cudaMemcpy(p, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice), "h2d");
    return p;
}

template <class V, class I>
struct csr_view {
    I rows;
    const I* __restrict__ row_ptrs;
    const I* __restrict__ col_idxs;
    const V* __restrict__ values;
};

template <class V, class I>
struct ell_view {
    I rows;
    I width;
    I stride;
    const I* cols;
    const V* vals;

    __device__ I col_at(I row, I k) const { return cols[row + k * stride]; }
    __device__ V val_at(I row, I k) const { return vals[row + k * stride]; }
};

template <class V, class I>
struct sellp_view {
    I rows;
    const I* slice_sets;
    const I* cols;
    const V* vals;
    static constexpr int slice_size = 32;
};

template <class V, class I>
struct coo_view {
    I nnz;
    const I* row_idxs;
    const I* col_idxs;
    const V* vals;
};

namespace kernel {

template <class V, class I>
__global__ void csr_classical_scalar(csr_view<V, I> a, V alpha, const V* x, V beta, V* y) {
    for (I row = blockIdx.x * blockDim.x + threadIdx.x; row < a.rows; row += gridDim.x * blockDim.x) {
        V acc{};
        for (I k = a.row_ptrs[row]; k < a.row_ptrs[row + 1]; ++k) {
            acc += a.values[k] * x[a.col_idxs[k]];
        }
        y[row] = alpha * acc + beta * y[row];
    }
}

template <int SubWarp, class V, class I>
__global__ __launch_bounds__(256) void csr_subwarp(csr_view<V, I> a, V alpha, const V* __restrict__ x, V beta,
                                                   V* __restrict__ y) {
    auto tile = cg::tiled_partition<SubWarp>(cg::this_thread_block());
    const I row = (blockIdx.x * blockDim.x + threadIdx.x) / SubWarp;
    if (row >= a.rows) {
        return;
    }
    const I begin = a.row_ptrs[row];
    const I end = a.row_ptrs[row + 1];
    V acc{};
    for (I k = begin + tile.thread_rank(); k < end; k += SubWarp) {
        acc += a.values[k] * __ldg(x + a.col_idxs[k]);
    }
#pragma unroll
    for (int bit = SubWarp / 2; bit > 0; bit /= 2) {
        acc += tile.shfl_xor(acc, bit);
    }
    if (tile.thread_rank() == 0) {
        y[row] = alpha * acc + beta * y[row];
    }
}

template <class V, class I>
__global__ void ell_spmv(ell_view<V, I> a, V alpha, const V* __restrict__ x, V beta, V* __restrict__ y) {
    const I row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < a.rows) {
        V acc{};
        for (I k = 0; k < a.width; ++k) {
            const I c = a.col_at(row, k);
            if (c >= 0) {
                acc += a.val_at(row, k) * x[c];
            }
        }
        y[row] = alpha * acc + beta * y[row];
    }
}

template <class V, class I>
__global__ void sellp_spmv(sellp_view<V, I> a, V alpha, const V* __restrict__ x, V beta, V* __restrict__ y) {
    constexpr int slice_size = sellp_view<V, I>::slice_size;
    const I slice = blockIdx.x * blockDim.y + threadIdx.y;
    const I row = slice * slice_size + threadIdx.x;
    if (row >= a.rows) {
        return;
    }
    V acc{};
    const I* cols = a.cols + threadIdx.x;
    const V* vals = a.vals + threadIdx.x;
    for (I k = a.slice_sets[slice]; k < a.slice_sets[slice + 1]; ++k) {
        const I c = cols[k * slice_size];
        if (c != -1) {
            acc += vals[k * slice_size] * x[c];
        }
    }
    y[row] = alpha * acc + beta * y[row];
}

template <class V, class I>
__global__ void scale(I n, V beta, V* y) {
    const I i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] *= beta;
    }
}

// every thread owns a run of consecutive entries
template <int ItemsPerThread, class V, class I>
__global__ void coo_spmv(coo_view<V, I> a, V alpha, const V* x, V* y) {
    const I first = (blockIdx.x * blockDim.x + threadIdx.x) * ItemsPerThread;
    if (first >= a.nnz) {
        return;
    }
    const I last = min(first + ItemsPerThread, a.nnz);
    I current = a.row_idxs[first];
    V acc{};
    for (I k = first; k < last; ++k) {
        const I r = a.row_idxs[k];
        if (r != current) {
            atomicAdd(y + current, alpha * acc);
            acc = V{};
            current = r;
        }
        acc += a.vals[k] * x[a.col_idxs[k]];
    }
    atomicAdd(y + current, alpha * acc);
}

template <class V, class I>
__global__ void extract_diagonal(csr_view<V, I> a, V* diag) {
    const I warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (warp >= a.rows) {
        return;
    }
    for (I k = a.row_ptrs[warp] + threadIdx.x % 32; k < a.row_ptrs[warp + 1]; k += 32) {
        if (a.col_idxs[k] == warp) {
            diag[warp] = a.values[k];
        }
    }
}

template <class V, class I>
__global__ void jacobi_sweep(csr_view<V, I> a, const V* diag, const V* b, const V* x_old, V* x_new) {
    const I row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= a.rows) return;
    V sigma = b[row];
    const I end = a.row_ptrs[row + 1];
    for (I k = a.row_ptrs[row]; k < end; ++k) {
        const I c = a.col_idxs[k];
        if (c != row) {
            sigma -= a.values[k] * x_old[c];
        }
    }
    x_new[row] = sigma / diag[row];
}

// X, Y row-major with Rhs columns; one thread per (row, rhs)
template <int Rhs, class V, class I>
__global__ void csr_spmm(csr_view<V, I> a, const V* __restrict__ X, V* __restrict__ Y) {
    const I row = blockIdx.x * blockDim.y + threadIdx.y;
    const int j = threadIdx.x;
    if (row >= a.rows) return;
    V acc{};
    for (I k = a.row_ptrs[row]; k < a.row_ptrs[row + 1]; ++k) {
        acc += a.values[k] * X[a.col_idxs[k] * Rhs + j];
    }
    Y[row * Rhs + j] = acc;
}

}  // namespace kernel
}  // namespace sp

using value_t = double;
using index_t = int;

static unsigned lcg_state = 2463534242u;
static unsigned lcg() {
    lcg_state = lcg_state * 1664525u + 1013904223u;
    return lcg_state >> 8;
}

static bool verify(const char* name, const value_t* dev, const std::vector<value_t>& ref) {
    std::vector<value_t> got(ref.size());
    sp::throw_on(cudaMemcpy(got.data(), dev, got.size() * sizeof(value_t), cudaMemcpyDeviceToHost), name);
    double worst = 0;
    for (size_t i = 0; i < ref.size(); ++i) {
        worst = std::max(worst, std::fabs(got[i] - ref[i]) / (1.0 + std::fabs(ref[i])));
    }
    std::printf("%-12s max rel diff %.3e\n", name, worst);
    return worst < 1e-10;
}

int main() {
    const index_t n = 60000;
    constexpr int rhs = 16;
    std::vector<index_t> ptr(n + 1, 0), col, coo_row;
    std::vector<value_t> val;
    for (index_t r = 0; r < n; ++r) {
        const int len = 4 + lcg() % 12 + (lcg() % 64 == 0 ? 20 : 0);
        std::vector<index_t> c{r};
        for (int k = 0; k < len; ++k) {
            const index_t near_col = r - 40 + static_cast<index_t>(lcg() % 81);
            c.push_back(lcg() % 4 ? std::min(std::max(near_col, 0), n - 1) : static_cast<index_t>(lcg() % n));
        }
        std::sort(c.begin(), c.end());
        c.erase(std::unique(c.begin(), c.end()), c.end());
        for (index_t j : c) {
            col.push_back(j);
            coo_row.push_back(r);
            val.push_back(j == r ? 50.0 : (lcg() % 2001) / 1000.0 - 1.0);
        }
        ptr[r + 1] = static_cast<index_t>(col.size());
    }
    const index_t nnz = ptr[n];
    index_t width = 0;
    for (index_t r = 0; r < n; ++r) width = std::max(width, ptr[r + 1] - ptr[r]);

    std::vector<index_t> ell_c(size_t(n) * width, -1);
    std::vector<value_t> ell_v(size_t(n) * width, 0.0);
    const index_t slices = (n + 31) / 32;
    std::vector<index_t> sets(slices + 1, 0);
    for (index_t s = 0; s < slices; ++s) {
        index_t w = 0;
        for (index_t r = s * 32; r < std::min(n, s * 32 + 32); ++r) w = std::max(w, ptr[r + 1] - ptr[r]);
        sets[s + 1] = sets[s] + w;
    }
    std::vector<index_t> sell_c(size_t(sets[slices]) * 32, -1);
    std::vector<value_t> sell_v(size_t(sets[slices]) * 32, 0.0);
    for (index_t r = 0; r < n; ++r) {
        for (index_t k = ptr[r]; k < ptr[r + 1]; ++k) {
            const index_t q = k - ptr[r];
            ell_c[size_t(q) * n + r] = col[k];
            ell_v[size_t(q) * n + r] = val[k];
            sell_c[size_t(sets[r / 32] + q) * 32 + r % 32] = col[k];
            sell_v[size_t(sets[r / 32] + q) * 32 + r % 32] = val[k];
        }
    }
    std::vector<value_t> x(n), y0(n), X(size_t(n) * rhs);
    for (auto& e : x) e = (lcg() % 1000) / 500.0 - 1.0;
    for (auto& e : y0) e = (lcg() % 1000) / 500.0 - 1.0;
    for (auto& e : X) e = (lcg() % 1000) / 500.0 - 1.0;

    const value_t alpha = 1.5, beta = -0.25;
    std::vector<value_t> y_ref(n), jac_ref(n), spmm_ref(size_t(n) * rhs, 0.0);
    for (index_t r = 0; r < n; ++r) {
        value_t acc = 0, off = y0[r], d = 1;
        for (index_t k = ptr[r]; k < ptr[r + 1]; ++k) {
            acc += val[k] * x[col[k]];
            if (col[k] == r) {
                d = val[k];
            } else {
                off -= val[k] * x[col[k]];
            }
            for (int j = 0; j < rhs; ++j) spmm_ref[size_t(r) * rhs + j] += val[k] * X[size_t(col[k]) * rhs + j];
        }
        y_ref[r] = alpha * acc + beta * y0[r];
        jac_ref[r] = off / d;
    }

    sp::csr_view<value_t, index_t> csr{n, sp::to_device(ptr), sp::to_device(col), sp::to_device(val)};
    sp::ell_view<value_t, index_t> ell{n, width, n, sp::to_device(ell_c), sp::to_device(ell_v)};
    sp::sellp_view<value_t, index_t> sell{n, sp::to_device(sets), sp::to_device(sell_c), sp::to_device(sell_v)};
    sp::coo_view<value_t, index_t> coo{nnz, sp::to_device(coo_row), csr.col_idxs, csr.values};
    value_t* dx = sp::to_device(x);
    value_t* dy = sp::to_device(y0);
    value_t* db = sp::to_device(y0);
    value_t* dX = sp::to_device(X);
    value_t* dY = sp::to_device(X);
    value_t* ddiag = sp::to_device(x);

    auto reset = [&] {
        sp::throw_on(cudaMemcpy(dy, y0.data(), n * sizeof(value_t), cudaMemcpyHostToDevice), "reset");
    };
    const auto blocks = [](index_t work, int per) { return static_cast<unsigned>((work + per - 1) / per); };
    bool ok = true;

    sp::kernel::csr_classical_scalar<<<blocks(n, 128), 128>>>(csr, alpha, dx, beta, dy);
    ok &= verify("csr scalar", dy, y_ref);
    reset();
    sp::kernel::csr_subwarp<8><<<blocks(n * 8, 256), 256>>>(csr, alpha, dx, beta, dy);
    ok &= verify("csr sub8", dy, y_ref);
    reset();
    sp::kernel::csr_subwarp<32><<<blocks(n * 32, 256), 256>>>(csr, alpha, dx, beta, dy);
    ok &= verify("csr sub32", dy, y_ref);
    reset();
    sp::kernel::ell_spmv<<<blocks(n, 256), 256>>>(ell, alpha, dx, beta, dy);
    ok &= verify("ell", dy, y_ref);
    reset();
    sp::kernel::sellp_spmv<<<blocks(slices, 4), dim3(32, 4)>>>(sell, alpha, dx, beta, dy);
    ok &= verify("sellp", dy, y_ref);
    reset();
    sp::kernel::scale<<<blocks(n, 256), 256>>>(n, beta, dy);
    sp::kernel::coo_spmv<8><<<blocks(blocks(nnz, 8), 128), 128>>>(coo, alpha, dx, dy);
    ok &= verify("coo", dy, y_ref);

    sp::kernel::extract_diagonal<<<blocks(n * 32, 256), 256>>>(csr, ddiag);
    sp::kernel::jacobi_sweep<<<blocks(n, 256), 256>>>(csr, static_cast<const value_t*>(ddiag),
                                                      static_cast<const value_t*>(db),
                                                      static_cast<const value_t*>(dx), dy);
    ok &= verify("jacobi", dy, jac_ref);
    sp::kernel::csr_spmm<rhs><<<blocks(n, 8), dim3(rhs, 8)>>>(csr, static_cast<const value_t*>(dX), dY);
    ok &= verify("spmm", dY, spmm_ref);
    sp::throw_on(cudaDeviceSynchronize(), "final");
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
