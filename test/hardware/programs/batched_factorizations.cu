// Dense linear algebra on many small matrices and one tall one:
// Cholesky (block per matrix), LU (thread per matrix, two layouts), forward substitution
// (warp per matrix), norms, transpose, integer matrix power.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <cuda_runtime.h>

#define CHK(e) check((e), #e, __LINE__)
static void check(cudaError_t e, const char* s, int line)
{
    if (e == cudaSuccess) return;
    printf("%d: %s: %s\nFAIL\n", line, s, cudaGetErrorString(e));
    exit(1);
}

template <typename T>
class DeviceMatrixSet {
    T* m_ptr; size_t m_count;
public:
    DeviceMatrixSet(size_t count) : m_ptr(0), m_count(count) { CHK(cudaMalloc((void**)&m_ptr, count * sizeof(T))); CHK(cudaMemset(m_ptr, 0, count * sizeof(T))); }
    DeviceMatrixSet(const std::vector<T>& v) : DeviceMatrixSet(v.size()) { CHK(cudaMemcpy(m_ptr, v.data(), m_count * sizeof(T), cudaMemcpyHostToDevice)); }
    ~DeviceMatrixSet() { cudaFree(m_ptr); }
    DeviceMatrixSet(const DeviceMatrixSet&) = delete;
    operator T*() { return m_ptr; }
    void read(std::vector<T>& v) { v.resize(m_count); CHK(cudaMemcpy(v.data(), m_ptr, m_count * sizeof(T), cudaMemcpyDeviceToHost)); }
};

// ---- Cholesky: thread x is the ROW, so PAD = 0 puts a whole column in one bank --------------
template <int N, int PAD, int TY>
__global__ void __launch_bounds__(N * TY) cholesky_block(const float* A, float* L)
{
    extern __shared__ float s[];
#define S(i, j) s[(i) * (N + PAD) + (j)]
    const int tx = threadIdx.x, ty = threadIdx.y;
    const float* a = A + (size_t)blockIdx.x * N * N;
    float* l = L + (size_t)blockIdx.x * N * N;
    for (int i = ty; i < N; i += TY) S(i, tx) = a[i * N + tx];
    __syncthreads();
    for (int k = 0; k < N; ++k) {
        if (tx == k && ty == 0) S(k, k) = sqrtf(S(k, k));
        __syncthreads();
        if (ty == 0 && tx > k) S(tx, k) /= S(k, k);
        __syncthreads();
        for (int j = k + 1 + ty; j < N; j += TY)
            if (tx >= j) S(tx, j) -= S(tx, k) * S(j, k);
        __syncthreads();
    }
    for (int i = ty; i < N; i += TY) l[i * N + tx] = tx <= i ? S(i, tx) : 0.0f;
#undef S
}

// ---- LU without pivoting: whole matrix in the registers of one thread -----------------------
enum class Layout { Packed, Interleaved };

template <int N, Layout LAY>
__device__ __forceinline__ size_t element(int b, int e, int batch)
{
    return LAY == Layout::Packed ? (size_t)b * (N * N) + e : (size_t)e * batch + b;
}

template <int N, Layout LAY>
__global__ void lu_thread(float* A, int batch)
{
    const int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= batch) return;
    float a[N][N];
#pragma unroll
    for (int i = 0; i < N * N; ++i) a[i / N][i % N] = A[element<N, LAY>(b, i, batch)];
#pragma unroll
    for (int k = 0; k < N; ++k) {
        const float inv = 1.0f / a[k][k];
#pragma unroll
        for (int i = k + 1; i < N; ++i) {
            a[i][k] *= inv;
#pragma unroll
            for (int j = k + 1; j < N; ++j) a[i][j] -= a[i][k] * a[k][j];
        }
    }
#pragma unroll
    for (int i = 0; i < N * N; ++i) A[element<N, LAY>(b, i, batch)] = a[i / N][i % N];
}

// ---- L y = b, one warp per 32x32 system ----------------------------------------------------
__global__ void forward_subst_warp(const float* __restrict__ L, const float* __restrict__ rhs, float* __restrict__ y, int batch)
{
    const int lane = threadIdx.x, sys = blockIdx.x * blockDim.y + threadIdx.y;
    if (sys >= batch) return;
    const float* l = L + (size_t)sys * 1024;
    float x = rhs[sys * 32 + lane];
    for (int k = 0; k < 32; ++k) {
        const float lk = l[lane * 32 + k];              // stride of 128 bytes between lanes
        if (lane == k) x /= lk;
        const float xk = __shfl_sync(0xffffffffu, x, k);
        if (lane > k) x -= lk * xk;
    }
    y[sys * 32 + lane] = x;
}

// ---- norms of rows or columns, the operation is a functor ----------------------------------
struct TwoNorm { __host__ __device__ float put(float a, float v) const { return a + v * v; }
                 __host__ __device__ float merge(float a, float b) const { return a + b; }
                 __host__ __device__ float done(float a) const { return sqrtf(a); } };
struct MaxNorm { __host__ __device__ float put(float a, float v) const { return fmaxf(a, fabsf(v)); }
                 __host__ __device__ float merge(float a, float b) const { return fmaxf(a, b); }
                 __host__ __device__ float done(float a) const { return a; } };

template <class Norm, bool COLUMNS>
__global__ void norm_kernel(const float* M, int rows, int cols, float* out, Norm op)
{
    __shared__ float part[8][33];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int line = blockIdx.x * 32 + tx, lines = COLUMNS ? cols : rows, len = COLUMNS ? rows : cols;
    float acc = 0.0f;
    if (line < lines)
        for (int k = ty; k < len; k += 8)
            acc = op.put(acc, COLUMNS ? M[(size_t)k * cols + line] : M[(size_t)line * cols + k]);
    part[ty][tx] = acc;
    __syncthreads();
    if (ty == 0 && line < lines) {
        for (int k = 1; k < 8; ++k) acc = op.merge(acc, part[k][tx]);
        out[line] = op.done(acc);
    }
}

// ---- transpose through a skewed (xor) tile -------------------------------------------------
template <int T, int ROWS>
__global__ void transpose_swizzled(const double* in, double* out, int rows, int cols)
{
    __shared__ double tile[T * T];
    int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
    for (int j = 0; j < T; j += ROWS) {
        const int r = threadIdx.y + j;
        if (x < cols && y + j < rows) tile[r * T + (threadIdx.x ^ r)] = in[(size_t)(y + j) * cols + x];
    }
    __syncthreads();
    x = blockIdx.y * T + threadIdx.x; y = blockIdx.x * T + threadIdx.y;
    for (int j = 0; j < T; j += ROWS) {
        const int r = threadIdx.y + j;
        if (x < rows && y + j < cols) out[(size_t)(y + j) * rows + x] = tile[threadIdx.x * T + (r ^ threadIdx.x)];
    }
}

// ---- P = M^e modulo 2^32, square and multiply in shared memory -----------------------------
template <int N>
__global__ void matrix_power(const unsigned* M, unsigned* P, unsigned e)
{
    __shared__ unsigned base[N][N], acc[N][N];
    const int j = threadIdx.x, i = threadIdx.y;
    const size_t at = (size_t)blockIdx.x * N * N + i * N + j;
    base[i][j] = M[at];
    acc[i][j] = i == j;
    __syncthreads();
    while (e) {
        unsigned nb = 0, na = 0;
        for (int k = 0; k < N; ++k) nb += base[i][k] * base[k][j];
        if (e & 1u) for (int k = 0; k < N; ++k) na += acc[i][k] * base[k][j];
        __syncthreads();
        base[i][j] = nb;
        if (e & 1u) acc[i][j] = na;
        e >>= 1;
        __syncthreads();
    }
    P[at] = acc[i][j];
}

static bool launch_norm(const std::string& kind, const float* m, int rows, int cols, float* out)
{
    enum { COL2, ROWMAX, NONE } which = kind == "col2" ? COL2 : kind == "rowmax" ? ROWMAX : NONE;
    dim3 b(32, 8);
    switch (which) {
    case COL2:   norm_kernel<TwoNorm, true><<<(cols + 31) / 32, b>>>(m, rows, cols, out, TwoNorm()); break;
    case ROWMAX: norm_kernel<MaxNorm, false><<<(rows + 31) / 32, b>>>(m, rows, cols, out, MaxNorm()); break;
    default: return false;
    }
    CHK(cudaGetLastError());
    return true;
}

static unsigned g_seed = 2025u;
static float frand() { g_seed = g_seed * 1664525u + 1013904223u; return (g_seed >> 8) / 8388608.0f - 1.0f; }
static int g_errors = 0;
static void expect(const char* what, double got, double want, double tol)
{
    if (!(fabs(got - want) <= tol * (1 + fabs(want)))) if (g_errors++ < 10) printf("%s: %.8g, expected %.8g\n", what, got, want);
}

int main(int argc, char** argv)
{
    const int batch = argc > 1 ? atoi(argv[1]) : 1003;
    constexpr int N = 32, NL = 6, NP = 20;

    // Cholesky + solve
    std::vector<float> A((size_t)batch * N * N), rhs((size_t)batch * N), L0, L1, y;
    for (int b = 0; b < batch; ++b) {
        float m[N][N];
        for (int i = 0; i < N; ++i) for (int j = 0; j < N; ++j) m[i][j] = frand();
        for (int i = 0; i < N; ++i) for (int j = 0; j <= i; ++j) {
            float d = i == j ? 2.0f : 0.0f;
            for (int k = 0; k < N; ++k) d += m[i][k] * m[j][k] / N;
            A[((size_t)b * N + i) * N + j] = A[((size_t)b * N + j) * N + i] = d;
        }
        for (int i = 0; i < N; ++i) rhs[(size_t)b * N + i] = frand();
    }
    DeviceMatrixSet<float> dA(A), dL0(A.size()), dL1(A.size()), dr(rhs), dy(rhs.size());
    cholesky_block<N, 0, 4><<<batch, dim3(N, 4), N * N * sizeof(float)>>>(dA, dL0);
    cholesky_block<N, 1, 8><<<batch, dim3(N, 8), N * (N + 1) * sizeof(float)>>>(dA, dL1);
    forward_subst_warp<<<(batch + 4) / 5, dim3(32, 5)>>>(dL1, dr, dy, batch);
    CHK(cudaGetLastError());
    dL0.read(L0); dL1.read(L1); dy.read(y);
    for (int b = 0; b < batch; ++b) {
        static double l[N][N], z[N];
        memset(l, 0, sizeof l);
        for (int i = 0; i < N; ++i) {
            for (int j = 0; j <= i; ++j) {
                double v = A[((size_t)b * N + i) * N + j];
                for (int k = 0; k < j; ++k) v -= l[i][k] * l[j][k];
                l[i][j] = i == j ? sqrt(v) : v / l[j][j];
            }
            double v = rhs[(size_t)b * N + i];
            for (int k = 0; k < i; ++k) v -= l[i][k] * z[k];
            z[i] = v / l[i][i];
            expect("solve", y[(size_t)b * N + i], z[i], 1e-4);
        }
        for (int i = 0; i < N; ++i) for (int j = 0; j < N; ++j) {
            expect("chol pad 0", L0[((size_t)b * N + i) * N + j], l[i][j], 1e-4);
            expect("chol pad 1", L1[((size_t)b * N + i) * N + j], l[i][j], 1e-4);
        }
    }

    // LU in both layouts
    const int nlu = 5 * batch + 3;
    std::vector<float> P((size_t)nlu * NL * NL), I(P.size()), gp, gi;
    for (int b = 0; b < nlu; ++b) for (int e = 0; e < NL * NL; ++e)
        P[(size_t)b * NL * NL + e] = I[(size_t)e * nlu + b] = frand() + (e / NL == e % NL ? 8.0f : 0.0f);
    DeviceMatrixSet<float> dP(P), dI(I);
    lu_thread<NL, Layout::Packed><<<(nlu + 95) / 96, 96>>>(dP, nlu);
    lu_thread<NL, Layout::Interleaved><<<(nlu + 95) / 96, 96>>>(dI, nlu);
    CHK(cudaGetLastError());
    dP.read(gp); dI.read(gi);
    for (int b = 0; b < nlu; ++b) {
        double a[NL][NL];
        for (int e = 0; e < NL * NL; ++e) a[e / NL][e % NL] = P[(size_t)b * NL * NL + e];
        for (int k = 0; k < NL; ++k) for (int i = k + 1; i < NL; ++i) { a[i][k] /= a[k][k]; for (int j = k + 1; j < NL; ++j) a[i][j] -= a[i][k] * a[k][j]; }
        for (int e = 0; e < NL * NL; ++e) {
            expect("lu packed", gp[(size_t)b * NL * NL + e], a[e / NL][e % NL], 1e-4);
            expect("lu interleaved", gi[(size_t)e * nlu + b], a[e / NL][e % NL], 1e-4);
        }
    }

    // norms + transpose of one rectangular matrix
    const int R = 777, C = 1001;
    std::vector<float> M((size_t)R * C), c2, rm; std::vector<double> D(M.size()), T;
    for (size_t i = 0; i < M.size(); ++i) { M[i] = frand(); D[i] = M[i] * 3.0 + (double)i; }
    DeviceMatrixSet<float> dM(M), dc2(C), drm(R); DeviceMatrixSet<double> dD(D), dT(D.size());
    if (!launch_norm("col2", dM, R, C, dc2) || !launch_norm("rowmax", dM, R, C, drm)) g_errors++;
    transpose_swizzled<32, 8><<<dim3((C + 31) / 32, (R + 31) / 32), dim3(32, 8)>>>(dD, dT, R, C);
    CHK(cudaGetLastError());
    dc2.read(c2); drm.read(rm); dT.read(T);
    for (int c = 0; c < C; ++c) { double q = 0; for (int r = 0; r < R; ++r) q += (double)M[(size_t)r * C + c] * M[(size_t)r * C + c]; expect("column norm", c2[c], sqrt(q), 1e-4); }
    for (int r = 0; r < R; ++r) { float q = 0; for (int c = 0; c < C; ++c) q = fmaxf(q, fabsf(M[(size_t)r * C + c])); expect("row max", rm[r], q, 0); }
    for (int r = 0; r < R; ++r) for (int c = 0; c < C; ++c) if (T[(size_t)c * R + r] != D[(size_t)r * C + c]) { g_errors++; }

    // powers
    const int np = 200; const unsigned e = 13;
    std::vector<unsigned> W((size_t)np * NP * NP), Q;
    for (size_t i = 0; i < W.size(); ++i) W[i] = (unsigned)(i * 2654435761u) >> 7;
    DeviceMatrixSet<unsigned> dW(W), dQ(W.size());
    matrix_power<NP><<<np, dim3(NP, NP)>>>(dW, dQ, e);
    CHK(cudaGetLastError());
    dQ.read(Q);
    for (int b = 0; b < np; ++b) {
        unsigned acc[NP][NP], t[NP][NP]; const unsigned* m = &W[(size_t)b * NP * NP];
        for (int i = 0; i < NP; ++i) for (int j = 0; j < NP; ++j) acc[i][j] = i == j;
        for (unsigned k = 0; k < e; ++k) {
            for (int i = 0; i < NP; ++i) for (int j = 0; j < NP; ++j) { unsigned v = 0; for (int q = 0; q < NP; ++q) v += acc[i][q] * m[q * NP + j]; t[i][j] = v; }
            memcpy(acc, t, sizeof t);
        }
        if (memcmp(acc, &Q[(size_t)b * NP * NP], sizeof acc)) { if (g_errors++ < 10) printf("power %d\n", b); }
    }
    CHK(cudaDeviceSynchronize());
    printf("%d matrices, %d errors\n%s\n", batch, g_errors, g_errors ? "FAIL" : "PASS");
    return g_errors ? 1 : 0;
}
