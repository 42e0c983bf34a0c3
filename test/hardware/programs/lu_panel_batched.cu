// Batched LU with partial pivoting for 64x64 systems (column major, like LAPACK),
// two 32-wide panels: panel factorisation in shared memory, trailing update,
// row swaps to the left, then forward/backward substitution for a few right-hand
// sides.  A 32x32 one-warp-per-matrix variant is included for comparison.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

namespace {

inline void check(cudaError_t e, const char *what) {
    if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

template <typename T>
class DeviceBuffer {
public:
    explicit DeviceBuffer(size_t n) : n_(n) { check(cudaMalloc(&p_, n * sizeof(T)), "malloc"); }
    explicit DeviceBuffer(const std::vector<T> &h) : DeviceBuffer(h.size()) {
        check(cudaMemcpy(p_, h.data(), n_ * sizeof(T), cudaMemcpyHostToDevice), "h2d");
    }
    ~DeviceBuffer() { cudaFree(p_); }
    DeviceBuffer(const DeviceBuffer &) = delete;
    DeviceBuffer &operator=(const DeviceBuffer &) = delete;
    T *get() const { return p_; }
    std::vector<T> host() const {
        std::vector<T> h(n_);
        check(cudaMemcpy(h.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost), "d2h");
        return h;
    }
private:
    T *p_ = nullptr;
    size_t n_;
};

constexpr int kN = 64;
constexpr int kNB = 32;
constexpr int kRhs = 8;
constexpr int kBatch = 384;

// arg-max of |v| over a warp
__device__ inline int warp_iamax(float v, int idx) {
    for (int off = 16; off > 0; off >>= 1) {
        float ov = __shfl_down_sync(0xffffffffu, v, off);
        int oi = __shfl_down_sync(0xffffffffu, idx, off);
        if (ov > v) {
            v = ov;
            idx = oi;
        }
    }
    return __shfl_sync(0xffffffffu, idx, 0);
}

// Factor the panel A[k0:N, k0:k0+NB].  One block (N threads) per matrix, the
// panel sits in shared memory, column major with a leading dimension of N + 1.
template <int N, int NB>
__global__ void panel_factor(float *__restrict__ A, int *__restrict__ ipiv, int k0) {
    constexpr int LD = N + 1;
    __shared__ float P[NB * LD];
    __shared__ int s_piv;
    float *a = A + static_cast<size_t>(blockIdx.x) * N * N;
    const int row = threadIdx.x;
    const int lane = threadIdx.x & 31;

    for (int c = 0; c < NB; ++c)
        P[c * LD + row] = a[(k0 + c) * N + row];
    __syncthreads();

    for (int c = 0; c < NB; ++c) {
        const int k = k0 + c;
        if (threadIdx.x < 32) {
            float best = -1.0f;
            int bi = k;
            for (int r = k + lane; r < N; r += 32) {
                float v = fabsf(P[c * LD + r]);
                if (v > best) {
                    best = v;
                    bi = r;
                }
            }
            bi = warp_iamax(best, bi);
            if (lane == 0) {
                s_piv = bi;
                ipiv[blockIdx.x * N + k] = bi;
            }
        }
        __syncthreads();
        const int piv = s_piv;
        if (piv != k && threadIdx.x < NB) {          // swap whole panel rows
            float t = P[threadIdx.x * LD + k];
            P[threadIdx.x * LD + k] = P[threadIdx.x * LD + piv];
            P[threadIdx.x * LD + piv] = t;
        }
        __syncthreads();
        if (row > k) {
            const float l = P[c * LD + row] / P[c * LD + k];
            P[c * LD + row] = l;
            for (int j = c + 1; j < NB; ++j)
                P[j * LD + row] -= l * P[j * LD + k];
        }
        __syncthreads();
    }

    for (int c = 0; c < NB; ++c)
        a[(k0 + c) * N + row] = P[c * LD + row];
}

// Row swaps, triangular solve and rank-NB update of the columns to the right of
// the panel.  Block is (NB, 8).
template <int N, int NB>
__global__ void update_trailing(float *__restrict__ A, const int *__restrict__ ipiv, int k0) {
    __shared__ float L11[NB][NB];      // [col][row]
    __shared__ float U12[NB][NB + 1];  // [col][row]
    float *a = A + static_cast<size_t>(blockIdx.x) * N * N;
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int tid = ty * NB + tx;

    for (int j0 = k0 + NB; j0 < N; j0 += NB) {
        // laswp: one thread per column, i.e. stride-N accesses
        if (tid < NB) {
            float *col = a + (j0 + tid) * N;
            for (int k = k0; k < k0 + NB; ++k) {
                const int p = ipiv[blockIdx.x * N + k];
                if (p != k) {
                    const float t = col[k];
                    col[k] = col[p];
                    col[p] = t;
                }
            }
        }
        __syncthreads();
        for (int c = ty; c < NB; c += 8) {
            L11[c][tx] = a[(k0 + c) * N + k0 + tx];
            U12[c][tx] = a[(j0 + c) * N + k0 + tx];
        }
        __syncthreads();
        // unit lower solve, one thread per column of U12
        if (ty == 0) {
            for (int k = 0; k < NB; ++k) {
                const float u = U12[tx][k];
                for (int r = k + 1; r < NB; ++r)
                    U12[tx][r] -= L11[k][r] * u;
            }
        }
        __syncthreads();
        for (int c = ty; c < NB; c += 8)
            a[(j0 + c) * N + k0 + tx] = U12[c][tx];
        for (int i0 = k0 + NB; i0 < N; i0 += NB) {
            for (int c = ty; c < NB; c += 8) {
                float acc = a[(j0 + c) * N + i0 + tx];
#pragma unroll 8
                for (int k = 0; k < NB; ++k)
                    acc -= a[(k0 + k) * N + i0 + tx] * U12[c][k];
                a[(j0 + c) * N + i0 + tx] = acc;
            }
        }
        __syncthreads();
    }
}

// Apply the interchanges of panel k0 to the columns left of it.
template <int N, int NB>
__global__ void swap_left(float *__restrict__ A, const int *__restrict__ ipiv, int k0) {
    __shared__ int piv[NB];
    if (threadIdx.x < NB) piv[threadIdx.x] = ipiv[blockIdx.x * N + k0 + threadIdx.x];
    __syncthreads();
    if (threadIdx.x >= k0) return;
    float *col = A + static_cast<size_t>(blockIdx.x) * N * N + threadIdx.x * N;
    for (int k = 0; k < NB; ++k) {
        const float t = col[k0 + k];
        col[k0 + k] = col[piv[k]];
        col[piv[k]] = t;
    }
}

// One warp per right-hand side, one block per matrix.
template <int N, int R>
__global__ void lu_solve(const float *__restrict__ LU, const int *__restrict__ ipiv,
                         const float *__restrict__ B, float *__restrict__ X) {
    __shared__ float x[R][N];
    const int lane = threadIdx.x, rhs = threadIdx.y;
    const float *a = LU + static_cast<size_t>(blockIdx.x) * N * N;
    const float *b = B + (static_cast<size_t>(blockIdx.x) * R + rhs) * N;
    for (int i = lane; i < N; i += 32) x[rhs][i] = b[i];
    __syncwarp();
    if (lane == 0) {
        for (int k = 0; k < N; ++k) {
            const int p = ipiv[blockIdx.x * N + k];
            const float t = x[rhs][k];
            x[rhs][k] = x[rhs][p];
            x[rhs][p] = t;
        }
    }
    __syncwarp();
    for (int k = 0; k < N; ++k) {                    // L y = P b
        const float xk = x[rhs][k];
        for (int i = k + 1 + lane; i < N; i += 32)
            x[rhs][i] -= a[k * N + i] * xk;
        __syncwarp();
    }
    for (int k = N - 1; k >= 0; --k) {               // U x = y, dot product form
        float s = 0.0f;
        for (int j = k + 1 + lane; j < N; j += 32)
            s += a[j * N + k] * x[rhs][j];
        for (int off = 16; off; off >>= 1) s += __shfl_xor_sync(0xffffffffu, s, off);
        if (lane == 0) x[rhs][k] = (x[rhs][k] - s) / a[k * N + k];
        __syncwarp();
    }
    for (int i = lane; i < N; i += 32)
        X[(static_cast<size_t>(blockIdx.x) * R + rhs) * N + i] = x[rhs][i];
}

// Small matrices: a warp each, lane = row, row major and unpadded.
template <int WARPS>
__global__ void lu_small_rows(float *__restrict__ A, int *__restrict__ ipiv, int batch) {
    extern __shared__ float smem[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int id = blockIdx.x * WARPS + warp;
    if (id >= batch) return;
    float *s = smem + warp * 32 * 32;
    float *a = A + static_cast<size_t>(id) * 32 * 32;
    for (int r = 0; r < 32; ++r) s[r * 32 + lane] = a[r * 32 + lane];
    __syncwarp();
    for (int k = 0; k < 32; ++k) {
        float v = lane >= k ? fabsf(s[lane * 32 + k]) : -1.0f;
        const int p = warp_iamax(v, lane);
        if (lane == 0) ipiv[id * 32 + k] = p;
        if (p != k) {
            const float t = s[k * 32 + lane];
            s[k * 32 + lane] = s[p * 32 + lane];
            s[p * 32 + lane] = t;
        }
        __syncwarp();
        if (lane > k) {
            const float l = s[lane * 32 + k] / s[k * 32 + k];
            s[lane * 32 + k] = l;
            for (int j = k + 1; j < 32; ++j)
                s[lane * 32 + j] -= l * s[k * 32 + j];
        }
        __syncwarp();
    }
    for (int r = 0; r < 32; ++r) a[r * 32 + lane] = s[r * 32 + lane];
}

std::vector<float> random_vec(size_t n, unsigned seed) {
    std::mt19937 gen(seed);
    std::uniform_real_distribution<float> d(-1.0f, 1.0f);
    std::vector<float> v(n);
    for (auto &x : v) x = d(gen);
    return v;
}

// max |P A - L U| for a matrix accessed through a functor at(i, j)
template <typename At>
double factor_error(int n, At a, At lu, const int *piv) {
    std::vector<int> perm(n);
    for (int i = 0; i < n; ++i) perm[i] = i;
    for (int k = 0; k < n; ++k) {
        if (piv[k] < k || piv[k] >= n) return 1e30;
        std::swap(perm[k], perm[piv[k]]);
    }
    double err = 0;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            double s = 0;
            for (int k = 0; k <= (i < j ? i : j); ++k)
                s += (k == i ? 1.0 : static_cast<double>(lu(i, k))) * lu(k, j);
            const double e = std::fabs(s - a(perm[i], j));
            if (!(e <= err)) err = e;
            if (j < i && !(std::fabs(lu(i, j)) <= 1.0001f)) return 1e30;
        }
    return err;
}

struct View {
    const float *p;
    int rs, cs;
    float operator()(int i, int j) const { return p[i * rs + j * cs]; }
};

int run() {
    const auto A = random_vec(static_cast<size_t>(kBatch) * kN * kN, 7);
    const auto B = random_vec(static_cast<size_t>(kBatch) * kRhs * kN, 8);
    const auto S = random_vec(static_cast<size_t>(kBatch) * 32 * 32, 9);
    DeviceBuffer<float> dA(A), dB(B), dX(B.size()), dS(S);
    DeviceBuffer<int> dPiv(static_cast<size_t>(kBatch) * kN), dSPiv(static_cast<size_t>(kBatch) * 32);

    panel_factor<kN, kNB><<<kBatch, kN>>>(dA.get(), dPiv.get(), 0);
    update_trailing<kN, kNB><<<kBatch, dim3(kNB, 8)>>>(dA.get(), dPiv.get(), 0);
    panel_factor<kN, kNB><<<kBatch, kN>>>(dA.get(), dPiv.get(), kNB);
    swap_left<kN, kNB><<<kBatch, 64>>>(dA.get(), dPiv.get(), kNB);
    lu_solve<kN, kRhs><<<kBatch, dim3(32, kRhs)>>>(dA.get(), dPiv.get(), dB.get(), dX.get());
    constexpr int warps = 4;
    lu_small_rows<warps><<<(kBatch + warps - 1) / warps, warps * 32, warps * 32 * 32 * sizeof(float)>>>(
        dS.get(), dSPiv.get(), kBatch);
    check(cudaGetLastError(), "launch");
    check(cudaDeviceSynchronize(), "sync");

    const auto LU = dA.host(), X = dX.host(), SLU = dS.host();
    const auto piv = dPiv.host(), spiv = dSPiv.host();
    double ferr = 0, serr = 0, rerr = 0;
    for (int b = 0; b < kBatch; ++b) {
        const float *a = &A[static_cast<size_t>(b) * kN * kN];
        View va{a, 1, kN}, vl{&LU[static_cast<size_t>(b) * kN * kN], 1, kN};
        ferr = std::fmax(ferr, factor_error(kN, va, vl, &piv[b * kN]));
        View sa{&S[b * 1024], 32, 1}, sl{&SLU[b * 1024], 32, 1};
        serr = std::fmax(serr, factor_error(32, sa, sl, &spiv[b * 32]));
        for (int r = 0; r < kRhs; ++r) {
            const float *x = &X[(static_cast<size_t>(b) * kRhs + r) * kN];
            const float *rhs = &B[(static_cast<size_t>(b) * kRhs + r) * kN];
            double xmax = 1.0, res = 0;
            for (int i = 0; i < kN; ++i) {
                double s = rhs[i];
                for (int j = 0; j < kN; ++j) s -= static_cast<double>(a[j * kN + i]) * x[j];
                if (!std::isfinite(s)) return 1;
                res = std::fmax(res, std::fabs(s));
                xmax = std::fmax(xmax, std::fabs(x[i]));
            }
            rerr = std::fmax(rerr, res / (xmax * kN));    // backward-error like
        }
    }
    std::printf("|PA-LU| %.2e (64)  %.2e (32), scaled residual %.2e\n", ferr, serr, rerr);
    return (ferr < 1e-4 && serr < 1e-4 && rerr < 1e-5) ? 0 : 1;
}

}  // namespace

int main() {
    int rc = 1;
    try {
        rc = run();
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
    }
    std::puts(rc == 0 ? "PASS" : "FAIL");
    return rc;
}
