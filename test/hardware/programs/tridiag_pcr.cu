// Tridiagonal solvers: Thomas per thread (two layouts), CR in shared, PCR in shared.
#include <cstdio>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

struct Tri { const float *lo, *di, *up, *rhs; float *x; };

// Systems contiguous: each thread walks its own row (strided accesses across the warp)
__global__ void thomas_contiguous(Tri s, float* cp, int n, int systems)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= systems) return;
    int o = id * n;
    float b = s.di[o];
    float prev_c = s.up[o] / b, prev_d = s.rhs[o] / b;
    cp[o] = prev_c; s.x[o] = prev_d;
    for (int i = 1; i < n; ++i) {
        float m = 1.f / (s.di[o + i] - s.lo[o + i] * prev_c);
        prev_c = s.up[o + i] * m;
        prev_d = (s.rhs[o + i] - s.lo[o + i] * prev_d) * m;
        cp[o + i] = prev_c;
        s.x[o + i] = prev_d;
    }
    for (int i = n - 2; i >= 0; --i) {
        prev_d = s.x[o + i] - cp[o + i] * prev_d;
        s.x[o + i] = prev_d;
    }
}

// Systems interleaved: element i of system j at [i * systems + j]
__global__ void thomas_interleaved(Tri s, float* __restrict__ cp, int n, int systems)
{
    unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id < systems) {
        const float *lo = s.lo + id, *di = s.di + id, *up = s.up + id, *r = s.rhs + id;
        float c = *up / *di, d = *r / *di;
        float* x = s.x + id;
        float* q = cp + id;
        *q = c; *x = d;
        int i = n;
        while (--i) {
            lo += systems; di += systems; up += systems; r += systems; x += systems; q += systems;
            float m = 1.f / (*di - *lo * c);
            c = *up * m;
            d = (*r - *lo * d) * m;
            *q = c; *x = d;
        }
        for (i = n - 1; i > 0; --i) {
            x -= systems; q -= systems;
            d = *x - *q * d;
            *x = d;
        }
    }
}

// parallel cyclic reduction, one block a system, block size == system size
__global__ void pcr(Tri s, int n)
{
    extern __shared__ float sh[];
    float* a = sh;
    float* b = a + n;
    float* c = b + n;
    float* d = c + n;
    const int i = threadIdx.x;
    const int o = blockIdx.x * n;
    a[i] = s.lo[o + i]; b[i] = s.di[o + i]; c[i] = s.up[o + i]; d[i] = s.rhs[o + i];
    __syncthreads();
    for (int step = 1; step < n; step <<= 1) {
        float na = 0, nb = b[i], nc = 0, nd = d[i];
        int l = i - step, r = i + step;
        if (l >= 0) {
            float k1 = a[i] / b[l];
            na = -a[l] * k1;
            nb -= c[l] * k1;
            nd -= d[l] * k1;
        }
        if (r < n) {
            float k2 = c[i] / b[r];
            nc = -c[r] * k2;
            nb -= a[r] * k2;
            nd -= d[r] * k2;
        }
        __syncthreads();
        a[i] = na; b[i] = nb; c[i] = nc; d[i] = nd;
        __syncthreads();
    }
    s.x[o + i] = d[i] / b[i];
}

__global__ void interleave(const float* __restrict__ src, float* __restrict__ dst, int n, int systems)
{
    __shared__ float t[8][33];
    int i = blockIdx.x * 32 + threadIdx.x, sidx = blockIdx.y * 8 + threadIdx.y;
    if (i < n && sidx < systems) t[threadIdx.y][threadIdx.x] = src[sidx * n + i];
    __syncthreads();
    int lin = threadIdx.y * 32 + threadIdx.x;
    int ss = lin & 7, ii = lin >> 3;
    if (blockIdx.x * 32 + ii < n && blockIdx.y * 8 + ss < systems)
        dst[(blockIdx.x * 32 + ii) * systems + blockIdx.y * 8 + ss] = t[ss][ii];
}

int main()
{
    const int n = 100, systems = 160, N = n * systems;
    std::vector<float> h[4];
    for (auto& v : h) v.resize(N);
    for (int k = 0; k < N; ++k) {
        int i = k % n;
        h[0][k] = i ? -0.5f - 0.1f * (k % 3) : 0.f;
        h[1][k] = 2.f + 0.05f * (k % 7);
        h[2][k] = i < n - 1 ? -0.6f : 0.f;
        h[3][k] = sinf(0.01f * k);
    }
    float* d[4]; float* t[4]; float *x[3], *cp;
    for (int q = 0; q < 4; ++q) {
        cudaMalloc(&d[q], N * 4); cudaMalloc(&t[q], N * 4);
        cudaMemcpy(d[q], h[q].data(), N * 4, cudaMemcpyHostToDevice);
    }
    for (auto& p : x) cudaMalloc(&p, N * 4);
    cudaMalloc(&cp, N * 4);
    for (int q = 0; q < 4; ++q) interleave<<<dim3((n + 31) / 32, (systems + 7) / 8), dim3(32, 8)>>>(d[q], t[q], n, systems);
    thomas_contiguous<<<(systems + 63) / 64, 64>>>(Tri{d[0], d[1], d[2], d[3], x[0]}, cp, n, systems);
    thomas_interleaved<<<(systems + 63) / 64, 64>>>(Tri{t[0], t[1], t[2], t[3], x[1]}, cp, n, systems);
    pcr<<<systems, n, 4 * n * sizeof(float)>>>(Tri{d[0], d[1], d[2], d[3], x[2]}, n);
    std::vector<float> r[3];
    for (int q = 0; q < 3; ++q) { r[q].resize(N); cudaMemcpy(r[q].data(), x[q], N * 4, cudaMemcpyDeviceToHost); }
    float e1 = 0, e2 = 0;
    for (int s = 0; s < systems; ++s) for (int i = 0; i < n; ++i) {
        e1 = fmaxf(e1, fabsf(r[0][s * n + i] - r[1][i * systems + s]));
        e2 = fmaxf(e2, fabsf(r[0][s * n + i] - r[2][s * n + i]));
    }
    printf("interleaved diff %g, pcr diff %g\n", e1, e2);
    return !(e1 < 1e-4f && e2 < 1e-3f);
}
