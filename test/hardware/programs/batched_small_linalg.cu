// Batched Cholesky / LU / triangular solve for many small matrices.
// Column major, one problem every LDA*N elements. Kernels are generated per size and type by macro,
// run-time dispatch by switch tables -- the way our old LAPACK wrappers did it.

#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <vector>
#include <cuda_runtime.h>

static cudaError_t g_last;
#define OK(x) ((g_last = (x)) == cudaSuccess ? (void)0 : (fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(g_last)), exit(1)))

// ============================================================================
// potrf, one THREAD per matrix, matrix lives in shared memory (N*N stride)
// ============================================================================
#define MATS_PER_BLOCK(N) ((N) <= 6 ? 64 : 32)

#define DEFINE_POTRF_THREAD(T, P, N)                                                    \
__global__ void P##potrf_thread_##N(const T *__restrict__ A, T *__restrict__ L, int batch) \
{                                                                                       \
    __shared__ T sh[MATS_PER_BLOCK(N) * N * N];                                         \
    const int first = blockIdx.x * MATS_PER_BLOCK(N);                                   \
    const int here  = min(MATS_PER_BLOCK(N), batch - first);                            \
    for (int e = threadIdx.x; e < here * N * N; e += blockDim.x)                        \
        sh[e] = A[(size_t)first * N * N + e];                                           \
    __syncthreads();                                                                    \
    if ((int)threadIdx.x < here) {                                                      \
        T *a = sh + threadIdx.x * N * N;                                                \
        for (int j = 0; j < N; ++j) {                                                   \
            T d = a[j + j * N];                                                         \
            for (int k = 0; k < j; ++k) d -= a[j + k * N] * a[j + k * N];               \
            d = sqrt(d);                                                                \
            a[j + j * N] = d;                                                           \
            for (int i = j + 1; i < N; ++i) {                                           \
                T s = a[i + j * N];                                                     \
                for (int k = 0; k < j; ++k) s -= a[i + k * N] * a[j + k * N];           \
                a[i + j * N] = s / d;                                                   \
                a[j + i * N] = T(0);                                                    \
            }                                                                           \
        }                                                                               \
    }                                                                                   \
    __syncthreads();                                                                    \
    for (int e = threadIdx.x; e < here * N * N; e += blockDim.x)                        \
        L[(size_t)first * N * N + e] = sh[e];                                           \
}

DEFINE_POTRF_THREAD(float,  s, 4)
DEFINE_POTRF_THREAD(float,  s, 7)
DEFINE_POTRF_THREAD(float,  s, 8)
DEFINE_POTRF_THREAD(double, d, 6)
DEFINE_POTRF_THREAD(double, d, 8)

#define CASE_POTRF(P, N)                                                                        \
    case N: P##potrf_thread_##N<<<(batch + MATS_PER_BLOCK(N) - 1) / MATS_PER_BLOCK(N),          \
                                  MATS_PER_BLOCK(N)>>>(A, L, batch); break;

static int spotrf_batched(int n, const float *A, float *L, int batch)
{
    switch (n) {
        CASE_POTRF(s, 4)
        CASE_POTRF(s, 7)
        CASE_POTRF(s, 8)
        default: return -1;
    }
    return cudaGetLastError() == cudaSuccess ? 0 : -2;
}

static int dpotrf_batched(int n, const double *A, double *L, int batch)
{
    switch (n) {
        CASE_POTRF(d, 6)
        CASE_POTRF(d, 8)
        default: return -1;
    }
    return cudaGetLastError() == cudaSuccess ? 0 : -2;
}

// ============================================================================
// getrf without pivoting, one WARP-sized row group per matrix: thread (i, p)
// owns row i of problem p.  LD is the leading dimension in shared memory.
// ============================================================================
template <typename T, int N, int LD, int PROBS>
__global__ void __launch_bounds__(N * PROBS) getrf_nopiv(const T *__restrict__ A, T *__restrict__ LU, int batch)
{
    __shared__ T a[PROBS][N][LD];           // a[p][col][row]
    const int i = threadIdx.x, p = threadIdx.y;
    const int prob = blockIdx.x * PROBS + p;
    const T *src = A + (size_t)prob * N * N;

    if (prob < batch)
        for (int j = 0; j < N; ++j) a[p][j][i] = src[j * N + i];
    __syncthreads();
    for (int k = 0; k < N - 1; ++k) {
        T l = T(0);
        if (i > k && prob < batch) {
            l = a[p][k][i] / a[p][k][k];
            a[p][k][i] = l;
            for (int j = k + 1; j < N; ++j) a[p][j][i] -= l * a[p][j][k];
        }
        __syncthreads();
    }
    if (prob < batch) {
        T *dst = LU + (size_t)prob * N * N;
        for (int j = 0; j < N; ++j) dst[j * N + i] = a[p][j][i];
    }
}

// ============================================================================
// Solve L U x = b, thread per problem, right hand sides interleaved by problem
// ============================================================================
template <typename T, int N>
__global__ void getrs_interleaved(const T *__restrict__ LU, const T *__restrict__ b, T *__restrict__ x, int batch)
{
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= batch) return;
    const T *a = LU + (size_t)p * N * N;
    T v[N];
#pragma unroll
    for (int i = 0; i < N; ++i) v[i] = b[i * batch + p];
#pragma unroll
    for (int i = 1; i < N; ++i)
#pragma unroll
        for (int k = 0; k < i; ++k) v[i] -= a[k * N + i] * v[k];
#pragma unroll
    for (int i = N - 1; i >= 0; --i) {
#pragma unroll
        for (int k = i + 1; k < N; ++k) v[i] -= a[k * N + i] * v[k];
        v[i] /= a[i * N + i];
    }
#pragma unroll
    for (int i = 0; i < N; ++i) x[i * batch + p] = v[i];
}

// ============================================================================
// host side
// ============================================================================
template <typename T>
static void fill_spd(std::vector<T> &A, int n, int batch)
{
    A.resize((size_t)batch * n * n);
    for (int b = 0; b < batch; ++b)
        for (int j = 0; j < n; ++j)
            for (int i = 0; i < n; ++i)
                A[((size_t)b * n + j) * n + i] = (T)((i == j ? n + 1.0 + b % 3 : 0.0) + cos(0.3 * (i + j) + 0.01 * b) / (1.0 + abs(i - j)));
}

// checks L*L^T = A
template <typename T>
static int check_potrf(const char *tag, const std::vector<T> &A, const std::vector<T> &L, int n, int batch, double tol)
{
    double worst = 0;
    for (int b = 0; b < batch; ++b) {
        const T *a = &A[(size_t)b * n * n], *l = &L[(size_t)b * n * n];
        for (int j = 0; j < n; ++j)
            for (int i = 0; i < n; ++i) {
                double s = 0;
                for (int k = 0; k < n; ++k) s += (double)l[k * n + i] * l[k * n + j];
                if (i < j && l[j * n + i] != T(0)) return printf("%s: upper part not zero\n", tag), 1;
                const double e = fabs(s - a[j * n + i]);
                if (!(e <= tol)) return printf("%s: batch %d (%d,%d) off by %g\n", tag, b, i, j, e), 1;
                if (e > worst) worst = e;
            }
    }
    printf("%-10s n=%d batch=%d  max|LL'-A| = %.2e\n", tag, n, batch, worst);
    return 0;
}

template <typename T, typename F>
static int run_potrf(const char *tag, F f, int n, int batch, double tol)
{
    std::vector<T> A, L;
    fill_spd(A, n, batch);
    L.resize(A.size());
    T *dA, *dL;
    OK(cudaMalloc(&dA, A.size() * sizeof(T)));
    OK(cudaMalloc(&dL, A.size() * sizeof(T)));
    OK(cudaMemcpy(dA, A.data(), A.size() * sizeof(T), cudaMemcpyHostToDevice));
    const int info = f(n, dA, dL, batch);
    OK(cudaMemcpy(L.data(), dL, A.size() * sizeof(T), cudaMemcpyDeviceToHost));
    OK(cudaFree(dA));
    OK(cudaFree(dL));
    return info != 0 || check_potrf(tag, A, L, n, batch, tol);
}

template <typename T, int N, int LD, int PROBS>
static int run_lu(const char *tag, int batch, double tol)
{
    std::vector<T> A((size_t)batch * N * N), b((size_t)batch * N), x(b.size());
    for (int p = 0; p < batch; ++p)
        for (int j = 0; j < N; ++j) {
            for (int i = 0; i < N; ++i)
                A[((size_t)p * N + j) * N + i] = (T)((i == j ? 2.0 * N : 0.0) + sin(1.0 + i * 0.7 + j * 1.3 + p * 0.05));
            b[(size_t)j * batch + p] = (T)(1.0 + (p + j) % 5);
        }
    T *dA, *dLU, *db, *dx;
    OK(cudaMalloc(&dA, A.size() * sizeof(T)));
    OK(cudaMalloc(&dLU, A.size() * sizeof(T)));
    OK(cudaMalloc(&db, b.size() * sizeof(T)));
    OK(cudaMalloc(&dx, b.size() * sizeof(T)));
    OK(cudaMemcpy(dA, A.data(), A.size() * sizeof(T), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(db, b.data(), b.size() * sizeof(T), cudaMemcpyHostToDevice));
    getrf_nopiv<T, N, LD, PROBS><<<(batch + PROBS - 1) / PROBS, dim3(N, PROBS)>>>(dA, dLU, batch);
    OK(cudaGetLastError());
    getrs_interleaved<T, N><<<(batch + 127) / 128, 128>>>(dLU, db, dx, batch);
    OK(cudaGetLastError());
    OK(cudaMemcpy(x.data(), dx, x.size() * sizeof(T), cudaMemcpyDeviceToHost));
    OK(cudaFree(dA)); OK(cudaFree(dLU)); OK(cudaFree(db)); OK(cudaFree(dx));
    // residual
    double worst = 0;
    for (int p = 0; p < batch; ++p)
        for (int i = 0; i < N; ++i) {
            double r = -(double)b[(size_t)i * batch + p];
            for (int j = 0; j < N; ++j) r += (double)A[((size_t)p * N + j) * N + i] * x[(size_t)j * batch + p];
            if (!(fabs(r) <= tol)) return printf("%s: residual %g in problem %d\n", tag, r, p), 1;
            if (fabs(r) > worst) worst = fabs(r);
        }
    printf("%-10s n=%d ld=%d batch=%d  max|Ax-b| = %.2e\n", tag, N, LD, batch, worst);
    return 0;
}

int main()
{
    int bad = 0;
    bad += run_potrf<float>("spotrf", spotrf_batched, 4, 3001, 1e-4);
    bad += run_potrf<float>("spotrf", spotrf_batched, 7, 2003, 1e-4);
    bad += run_potrf<float>("spotrf", spotrf_batched, 8, 2000, 1e-4);
    bad += run_potrf<double>("dpotrf", dpotrf_batched, 6, 1500, 1e-11);
    bad += run_potrf<double>("dpotrf", dpotrf_batched, 8, 1111, 1e-11);
    bad += run_lu<float, 16, 16, 8>("sgesv", 1003, 1e-3);
    bad += run_lu<float, 16, 17, 8>("sgesv pad", 1003, 1e-3);
    bad += run_lu<double, 12, 12, 5>("dgesv", 701, 1e-10);
    puts(bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
