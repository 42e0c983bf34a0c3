// Stable fluids (Stam 99) on a collocated 2-D grid, with vorticity confinement.
#include <cstdio>
#include <cmath>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

namespace fluid {

constexpr int NX = 512;
constexpr int NY = 384;
constexpr int TX = 32;
constexpr int TY = 8;

#define HD __host__ __device__

HD inline int clampi(int v, int lo, int hi) { return v < lo ? lo : (v > hi ? hi : v); }
HD inline int at(int x, int y) { return clampi(y, 0, NY - 1) * NX + clampi(x, 0, NX - 1); }

template <typename T> HD inline T lerp(T a, T b, float t);
template <> HD inline float lerp<float>(float a, float b, float t) { return a + t * (b - a); }
template <> HD inline float2 lerp<float2>(float2 a, float2 b, float t)
{
    return make_float2(a.x + t * (b.x - a.x), a.y + t * (b.y - a.y));
}

template <typename T>
HD inline T sample(const T *f, float x, float y)
{
    x = fminf(fmaxf(x, 0.0f), NX - 1.0f);
    y = fminf(fmaxf(y, 0.0f), NY - 1.0f);
    int x0 = (int)x;
    int y0 = (int)y;
    float fx = x - x0;
    float fy = y - y0;
    T a = lerp(f[at(x0, y0)], f[at(x0 + 1, y0)], fx);
    T b = lerp(f[at(x0, y0 + 1)], f[at(x0 + 1, y0 + 1)], fx);
    return lerp(a, b, fy);
}

template <typename T>
__global__ void advect(const float2 *vel, const T *src, T *dst, float dt)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= NX || y >= NY) return;
    float2 v = vel[y * NX + x];
    dst[y * NX + x] = sample(src, x - dt * v.x, y - dt * v.y);
}

__global__ void curl(const float2 *vel, float *w)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= NX || y >= NY) return;
    float dvdx = vel[at(x + 1, y)].y - vel[at(x - 1, y)].y;
    float dudy = vel[at(x, y + 1)].x - vel[at(x, y - 1)].x;
    w[y * NX + x] = 0.5f * (dvdx - dudy);
}

__global__ void confine(float2 *vel, const float *w, float eps, float dt)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= NX || y >= NY) return;
    float gx = 0.5f * (fabsf(w[at(x + 1, y)]) - fabsf(w[at(x - 1, y)]));
    float gy = 0.5f * (fabsf(w[at(x, y + 1)]) - fabsf(w[at(x, y - 1)]));
    float len = sqrtf(gx * gx + gy * gy) + 1e-2f;
    float c = w[y * NX + x];
    float2 v = vel[y * NX + x];
    v.x += dt * eps * (gy / len) * c;
    v.y -= dt * eps * (gx / len) * c;
    vel[y * NX + x] = v;
}

__global__ void divergence(const float2 *vel, float *div, float *p)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= NX || y >= NY) return;
    float d = vel[at(x + 1, y)].x - vel[at(x - 1, y)].x;
    d += vel[at(x, y + 1)].y - vel[at(x, y - 1)].y;
    div[y * NX + x] = -0.5f * d;
    p[y * NX + x] = 0.0f;
}

// One Jacobi sweep out of a shared tile with a halo of one.
__global__ void jacobi(const float *p, const float *div, float *out)
{
    __shared__ float tile[TY + 2][TX + 2];
    int bx = blockIdx.x * TX;
    int by = blockIdx.y * TY;
    int tid = threadIdx.y * TX + threadIdx.x;
    for (int k = tid; k < (TY + 2) * (TX + 2); k += TX * TY) {
        int ly = k / (TX + 2);
        int lx = k % (TX + 2);
        tile[ly][lx] = p[at(bx + lx - 1, by + ly - 1)];
    }
    __syncthreads();
    int x = bx + threadIdx.x;
    int y = by + threadIdx.y;
    if (x >= NX || y >= NY) return;
    int i = threadIdx.y + 1;
    int j = threadIdx.x + 1;
    float s = tile[i][j - 1] + tile[i][j + 1] + tile[i - 1][j] + tile[i + 1][j];
    out[y * NX + x] = 0.25f * (s + div[y * NX + x]);
}

__global__ void subtractGradient(float2 *vel, const float *p)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= NX || y >= NY) return;
    float2 v = vel[y * NX + x];
    v.x -= 0.5f * (p[at(x + 1, y)] - p[at(x - 1, y)]);
    v.y -= 0.5f * (p[at(x, y + 1)] - p[at(x, y - 1)]);
    vel[y * NX + x] = v;
}

// Column integrals of the dye, one thread walks one row on purpose (row mass).
__global__ void rowMass(const float *dye, float *mass)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= NY) return;
    float s = 0.0f;
    for (int x = 0; x < NX; x++)
        s += dye[y * NX + x];
    mass[y] = s;
}

} // namespace fluid

using namespace fluid;

static void check(cudaError_t e, const char *what)
{
    if (e == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
    exit(2);
}

int main()
{
    const int N = NX * NY;
    const float dt = 0.8f, eps = 0.3f;
    const int sweeps = 14;
    std::vector<float2> v(N);
    std::vector<float> dye(N);
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX; x++) {
            float u = 1.7f * sinf(x * 0.031f) * cosf(y * 0.023f) + 0.3f * sinf(y * 0.11f);
            float w = -1.1f * cosf(x * 0.027f) * sinf(y * 0.041f) + 0.2f * cosf(x * 0.13f);
            v[y * NX + x] = make_float2(u, w);
            dye[y * NX + x] = 0.5f + 0.5f * sinf(x * 0.05f) * sinf(y * 0.07f);
        }

    float2 *dv0, *dv1;
    float *dd0, *dd1, *dw, *ddiv, *dp0, *dp1, *dm;
    check(cudaMalloc(&dv0, N * sizeof(float2)), "malloc");
    check(cudaMalloc(&dv1, N * sizeof(float2)), "malloc");
    check(cudaMalloc(&dd0, N * sizeof(float)), "malloc");
    check(cudaMalloc(&dd1, N * sizeof(float)), "malloc");
    check(cudaMalloc(&dw, N * sizeof(float)), "malloc");
    check(cudaMalloc(&ddiv, N * sizeof(float)), "malloc");
    check(cudaMalloc(&dp0, N * sizeof(float)), "malloc");
    check(cudaMalloc(&dp1, N * sizeof(float)), "malloc");
    check(cudaMalloc(&dm, NY * sizeof(float)), "malloc");
    check(cudaMemcpy(dv0, v.data(), N * sizeof(float2), cudaMemcpyHostToDevice), "copy");
    check(cudaMemcpy(dd0, dye.data(), N * sizeof(float), cudaMemcpyHostToDevice), "copy");

    dim3 block(TX, TY);
    dim3 grid((NX + TX - 1) / TX, (NY + TY - 1) / TY);
    advect<float2><<<grid, block>>>(dv0, dv0, dv1, dt);
    curl<<<grid, block>>>(dv1, dw);
    confine<<<grid, block>>>(dv1, dw, eps, dt);
    divergence<<<grid, block>>>(dv1, ddiv, dp0);
    for (int k = 0; k < sweeps; k++) {
        jacobi<<<grid, block>>>(dp0, ddiv, dp1);
        std::swap(dp0, dp1);
    }
    subtractGradient<<<grid, block>>>(dv1, dp0);
    advect<float><<<grid, block>>>(dv1, dd0, dd1, dt);
    rowMass<<<(NY + 63) / 64, 64>>>(dd1, dm);
    check(cudaDeviceSynchronize(), "step");

    // the same on the host
    std::vector<float2> hv(N);
    std::vector<float> w(N), dv(N), p(N, 0.0f), q(N), hd(N);
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX; x++) {
            float2 a = v[y * NX + x];
            hv[y * NX + x] = sample(v.data(), x - dt * a.x, y - dt * a.y);
        }
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX; x++)
            w[y * NX + x] = 0.5f * (hv[at(x + 1, y)].y - hv[at(x - 1, y)].y - hv[at(x, y + 1)].x + hv[at(x, y - 1)].x);
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX; x++) {
            float gx = 0.5f * (fabsf(w[at(x + 1, y)]) - fabsf(w[at(x - 1, y)]));
            float gy = 0.5f * (fabsf(w[at(x, y + 1)]) - fabsf(w[at(x, y - 1)]));
            float len = sqrtf(gx * gx + gy * gy) + 1e-2f;
            hv[y * NX + x].x += dt * eps * gy / len * w[y * NX + x];
            hv[y * NX + x].y -= dt * eps * gx / len * w[y * NX + x];
        }
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX; x++)
            dv[y * NX + x] = -0.5f * (hv[at(x + 1, y)].x - hv[at(x - 1, y)].x + hv[at(x, y + 1)].y - hv[at(x, y - 1)].y);
    for (int k = 0; k < sweeps; k++) {
        for (int y = 0; y < NY; y++)
            for (int x = 0; x < NX; x++)
                q[y * NX + x] = 0.25f * (p[at(x - 1, y)] + p[at(x + 1, y)] + p[at(x, y - 1)] + p[at(x, y + 1)] + dv[y * NX + x]);
        p.swap(q);
    }
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX; x++) {
            hv[y * NX + x].x -= 0.5f * (p[at(x + 1, y)] - p[at(x - 1, y)]);
            hv[y * NX + x].y -= 0.5f * (p[at(x, y + 1)] - p[at(x, y - 1)]);
        }
    std::vector<float> mass(NY, 0.0f);
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX; x++) {
            float2 a = hv[y * NX + x];
            hd[y * NX + x] = sample(dye.data(), x - dt * a.x, y - dt * a.y);
            mass[y] += hd[y * NX + x];
        }

    std::vector<float2> gv(N);
    std::vector<float> gd(N), gm(NY);
    check(cudaMemcpy(gv.data(), dv1, N * sizeof(float2), cudaMemcpyDeviceToHost), "back");
    check(cudaMemcpy(gd.data(), dd1, N * sizeof(float), cudaMemcpyDeviceToHost), "back");
    check(cudaMemcpy(gm.data(), dm, NY * sizeof(float), cudaMemcpyDeviceToHost), "back");
    double ev = 0, ed = 0, em = 0;
    for (int i = 0; i < N; i++) {
        ev = std::max(ev, (double)fabsf(gv[i].x - hv[i].x) + fabsf(gv[i].y - hv[i].y));
        ed = std::max(ed, (double)fabsf(gd[i] - hd[i]));
    }
    for (int y = 0; y < NY; y++)
        em = std::max(em, (double)fabsf(gm[y] - mass[y]));
    bool ok = ev < 2e-3 && ed < 2e-3 && em < 0.5;
    printf("velocity err %g, dye err %g, mass err %g\n", ev, ed, em);
    puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
