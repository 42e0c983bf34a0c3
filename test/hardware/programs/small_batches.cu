// Many small systems: 6x6 LU per thread in two layouts, 3x3 symmetric eigenvalues, 24x24 Gauss-Jordan per warp.
// Launched through cudaLaunchKernel, as a plugin would.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

constexpr int M = 6;                 // LU size
constexpr int W = 24;                // Gauss-Jordan size

struct Sym3 { float xx, xy, xz, yy, yz, zz; };

// accessors: how element (i, j) of matrix b is found
struct Packed {
    float *p;
    __device__ float &operator()(int b, int i, int j, int) const { return p[b * M * M + i * M + j]; }
};
struct Interleaved {
    float *p;
    __device__ float &operator()(int b, int i, int j, int batch) const { return p[(i * M + j) * batch + b]; }
};

// LU without pivoting, then solve; x overwrites rhs
template <class Matrix>
__global__ void luSolve(Matrix a, float *rhs, int rhsStride, int rhsStep, int batch)
{
    const int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= batch) return;
    float m[M][M], x[M];
#pragma unroll
    for (int i = 0; i < M; ++i)
#pragma unroll
        for (int j = 0; j < M; ++j) m[i][j] = a(b, i, j, batch);
#pragma unroll
    for (int i = 0; i < M; ++i) x[i] = rhs[b * rhsStride + i * rhsStep];
#pragma unroll
    for (int k = 0; k < M; ++k) {
        const float inv = 1.0f / m[k][k];
#pragma unroll
        for (int i = k + 1; i < M; ++i) {
            m[i][k] *= inv;
#pragma unroll
            for (int j = k + 1; j < M; ++j) m[i][j] -= m[i][k] * m[k][j];
            x[i] -= m[i][k] * x[k];
        }
    }
#pragma unroll
    for (int i = M - 1; i >= 0; --i) {
#pragma unroll
        for (int j = i + 1; j < M; ++j) x[i] -= m[i][j] * x[j];
        x[i] /= m[i][i];
    }
#pragma unroll
    for (int i = 0; i < M; ++i) rhs[b * rhsStride + i * rhsStep] = x[i];
#pragma unroll
    for (int i = 0; i < M; ++i)
#pragma unroll
        for (int j = 0; j < M; ++j) a(b, i, j, batch) = m[i][j];
}

// eigenvalues of symmetric 3x3 by cyclic Jacobi
__global__ void eigen3(const Sym3 *in, float3 *out, int n)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    const Sym3 s = in[t];
    float a[3][3] = {{s.xx, s.xy, s.xz}, {s.xy, s.yy, s.yz}, {s.xz, s.yz, s.zz}};
    for (int sweep = 0; sweep < 6; ++sweep) {
#pragma unroll
        for (int r = 0; r < 3; ++r) {
            const int p = r == 2 ? 1 : 0, q = r == 0 ? 1 : 2, o = 3 - p - q;
            const float apq = a[p][q];
            if (fabsf(apq) < 1e-12f) continue;
            const float theta = 0.5f * (a[q][q] - a[p][p]) / apq;
            const float tt = copysignf(1.0f, theta) / (fabsf(theta) + sqrtf(theta * theta + 1.0f));
            const float c = rsqrtf(tt * tt + 1.0f), sn = tt * c;
            a[p][p] -= tt * apq;
            a[q][q] += tt * apq;
            a[p][q] = a[q][p] = 0.0f;
            const float aop = a[o][p], aoq = a[o][q];
            a[o][p] = a[p][o] = c * aop - sn * aoq;
            a[o][q] = a[q][o] = sn * aop + c * aoq;
        }
    }
    const float lo = fminf(a[0][0], fminf(a[1][1], a[2][2])), hi = fmaxf(a[0][0], fmaxf(a[1][1], a[2][2]));
    out[t] = make_float3(lo, a[0][0] + a[1][1] + a[2][2] - lo - hi, hi);
}

// inverse in place, a warp a matrix, lane = column
__global__ void gaussJordan(float *mats, int batch)
{
    __shared__ float sh[4][W][W];
    const int warp = threadIdx.y, lane = threadIdx.x;
    const int b = blockIdx.x * 4 + warp;
    if (b >= batch) return;
    float *g = mats + b * W * W;
    float(*a)[W] = sh[warp];
    for (int i = lane; i < W * W; i += 32) a[i / W][i % W] = g[i];
    __syncwarp();
    for (int k = 0; k < W; ++k) {
        const float pivot = 1.0f / a[k][k];
        __syncwarp();
        if (lane < W) a[k][lane] = (lane == k ? 1.0f : a[k][lane]) * pivot;
        __syncwarp();
        // lane = row from here: each row subtracts its multiple of row k
        if (lane < W && lane != k) {
            const float f = a[lane][k];
            a[lane][k] = 0.0f;
            for (int j = 0; j < W; ++j) a[lane][j] -= f * a[k][j];
        }
        __syncwarp();
    }
    for (int i = lane; i < W * W; i += 32) g[i] = a[i / W][i % W];
}

static void fail(const std::string &what, cudaError_t e)
{
    std::fprintf(stderr, "%s: %s\n", what.c_str(), cudaGetErrorString(e));
    std::exit(EXIT_FAILURE);
}

struct CudaFree { void operator()(void *p) const { cudaFree(p); } };
template <class T> using DevPtr = std::unique_ptr<T[], CudaFree>;

template <class T>
DevPtr<T> send(const std::vector<T> &v)
{
    T *p = nullptr;
    if (auto e = cudaMalloc(reinterpret_cast<void **>(&p), v.size() * sizeof(T))) fail("malloc", e);
    if (auto e = cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice)) fail("send", e);
    return DevPtr<T>(p);
}
template <class T>
std::vector<T> receive(const DevPtr<T> &p, size_t n)
{
    std::vector<T> v(n);
    if (auto e = cudaMemcpy(v.data(), p.get(), n * sizeof(T), cudaMemcpyDeviceToHost)) fail("receive", e);
    return v;
}

template <class... P>
void call(void (*kernel)(P...), dim3 grid, dim3 block, P... params)
{
    void *args[] = {static_cast<void *>(&params)...};
    if (auto e = cudaLaunchKernel(kernel, grid, block, args, 0, nullptr)) fail("launch", e);
}

int main()
{
    unsigned state = 5;
    auto rnd = [&state] { state = state * 1664525u + 1013904223u; return (state >> 9) / 4194304.0f - 1.0f; };
    int bad = 0;
    {
        const int batch = 30000;
        std::vector<float> a(batch * M * M), at(a.size()), r(batch * M), rt(r.size());
        for (int b = 0; b < batch; ++b)
            for (int i = 0; i < M; ++i) {
                for (int j = 0; j < M; ++j) at[(i * M + j) * batch + b] = a[(b * M + i) * M + j] = rnd() + (i == j ? 8.0f : 0.0f);
                rt[i * batch + b] = r[b * M + i] = rnd();
            }
        auto dA = send(a), dAt = send(at), dR = send(r), dRt = send(rt);
        call(luSolve<Packed>, dim3((batch + 127) / 128), dim3(128), Packed{dA.get()}, dR.get(), M, 1, batch);
        call(luSolve<Interleaved>, dim3((batch + 127) / 128), dim3(128), Interleaved{dAt.get()}, dRt.get(), 1, batch, batch);
        const auto x = receive(dR, r.size()), xt = receive(dRt, r.size());
        for (int b = 0; b < batch; ++b)
            for (int i = 0; i < M; ++i) {
                double s = 0, st = 0;
                for (int j = 0; j < M; ++j) {
                    s += double(a[(b * M + i) * M + j]) * x[b * M + j];
                    st += double(a[(b * M + i) * M + j]) * xt[j * batch + b];
                }
                bad += !(std::fabs(s - r[b * M + i]) < 1e-4) + !(std::fabs(st - r[b * M + i]) < 1e-4);
            }
        std::printf("lu: %d bad\n", bad);
    }
    {
        const int n = 50000;
        std::vector<Sym3> in(n);
        for (auto &s : in) s = {rnd(), rnd(), rnd(), rnd(), rnd(), rnd()};
        auto dIn = send(in);
        auto dOut = send(std::vector<float3>(n));
        call(eigen3, dim3((n + 255) / 256), dim3(256), static_cast<const Sym3 *>(dIn.get()), dOut.get(), n);
        const auto out = receive(dOut, n);
        for (int i = 0; i < n; ++i) {
            const auto &s = in[i];
            // the characteristic polynomial vanishes and the trace is kept
            const double c1 = double(s.xx) * s.yy + double(s.xx) * s.zz + double(s.yy) * s.zz - double(s.xy) * s.xy - double(s.xz) * s.xz - double(s.yz) * s.yz;
            const double det = s.xx * (double(s.yy) * s.zz - double(s.yz) * s.yz) - s.xy * (double(s.xy) * s.zz - double(s.yz) * s.xz) +
                               s.xz * (double(s.xy) * s.yz - double(s.yy) * s.xz);
            const double tr = double(s.xx) + s.yy + s.zz;
            for (double l : {double(out[i].x), double(out[i].y), double(out[i].z)})
                bad += !(std::fabs(((l - tr) * l + c1) * l - det) < 1e-4);
            bad += !(out[i].x <= out[i].y + 1e-5f && out[i].y <= out[i].z + 1e-5f) || !(std::fabs(out[i].x + out[i].y + out[i].z - tr) < 1e-4);
        }
        std::printf("eigen: %d bad\n", bad);
    }
    {
        const int batch = 3001;
        std::vector<float> m(batch * W * W);
        for (int i = 0; i < batch * W * W; ++i) m[i] = rnd() + (i / W % W == i % W ? 20.0f : 0.0f);
        auto dM = send(m);
        call(gaussJordan, dim3((batch + 3) / 4), dim3(32, 4), dM.get(), batch);
        const auto inv = receive(dM, m.size());
        for (int b = 0; b < batch; ++b)
            for (int i = 0; i < W; ++i)
                for (int j = 0; j < W; ++j) {
                    double s = i == j ? -1.0 : 0.0;
                    for (int k = 0; k < W; ++k) s += double(m[b * W * W + i * W + k]) * inv[b * W * W + k * W + j];
                    bad += !(std::fabs(s) < 1e-4);
                }
    }
    std::printf("%d bad: %s\n", bad, bad ? "FAIL" : "OK");
    return bad ? 1 : 0;
}
