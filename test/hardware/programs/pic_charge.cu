// Particle-in-cell: cloud-in-cell charge deposit (global atomics vs shared tile), field gather, Boris-like push; B-spline interpolation; direct n-body tile
#include <cstdio>
#include <cmath>
#include <vector>
#include <utility>
#include <cuda_runtime.h>

struct GridSpec { int nx, ny; float dx, inv_dx; };
struct ParticleView { float *x, *y; float2* v; float* q; int n; };

__device__ __forceinline__ void weights(float p, float inv, int n, int& i, float& f) { float g = p * inv; i = (int)floorf(g); f = g - i; i = ((i % n) + n) % n; }

__global__ void deposit_global(ParticleView p, GridSpec g, float* rho)
{
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < p.n; k += gridDim.x * blockDim.x) {
        int i, j; float fx, fy;
        weights(p.x[k], g.inv_dx, g.nx, i, fx);
        weights(p.y[k], g.inv_dx, g.ny, j, fy);
        int i1 = i + 1 == g.nx ? 0 : i + 1, j1 = j + 1 == g.ny ? 0 : j + 1;
        float q = p.q[k];
        atomicAdd(&rho[j * g.nx + i], q * (1 - fx) * (1 - fy));
        atomicAdd(&rho[j * g.nx + i1], q * fx * (1 - fy));
        atomicAdd(&rho[j1 * g.nx + i], q * (1 - fx) * fy);
        atomicAdd(&rho[j1 * g.nx + i1], q * fx * fy);
    }
}

__global__ void deposit_shared(const ParticleView p, const GridSpec g, float* rho)
{
    extern __shared__ float local[];
    const int cells = g.nx * g.ny;
    for (int c = threadIdx.x; c < cells; c += blockDim.x) local[c] = 0.f;
    __syncthreads();
    int per = (p.n + gridDim.x - 1) / gridDim.x, end = min(p.n, (int)(blockIdx.x + 1) * per);
    for (int k = blockIdx.x * per + threadIdx.x; k < end; k += blockDim.x) {
        int i, j; float f[2], h[2];
        weights(p.x[k], g.inv_dx, g.nx, i, f[1]);
        weights(p.y[k], g.inv_dx, g.ny, j, h[1]);
        f[0] = 1 - f[1]; h[0] = 1 - h[1];
        #pragma unroll
        for (int b = 0; b < 2; ++b)
            #pragma unroll
            for (int a = 0; a < 2; ++a) atomicAdd(&local[((j + b) % g.ny) * g.nx + (i + a) % g.nx], p.q[k] * f[a] * h[b]);
    }
    __syncthreads();
    for (int c = threadIdx.x; c < cells; c += blockDim.x) if (local[c] != 0.f) atomicAdd(rho + c, local[c]);
}

__global__ void field_from_rho(const float* __restrict__ rho, float2* __restrict__ E, GridSpec g)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= g.nx || j >= g.ny) return;
    int l = (i + g.nx - 1) % g.nx, r = (i + 1) % g.nx, d = (j + g.ny - 1) % g.ny, u = (j + 1) % g.ny;
    E[j * g.nx + i] = make_float2(-0.5f * g.inv_dx * (rho[j * g.nx + r] - rho[j * g.nx + l]), -0.5f * g.inv_dx * (rho[u * g.nx + i] - rho[d * g.nx + i]));
}

// quadratic B-spline gather on 3x3 nodes, rotate velocity by constant B, push
__global__ void push(ParticleView p, const float2* __restrict__ E, GridSpec g, float dt, float bz)
{
    int k = threadIdx.x + blockIdx.x * blockDim.x;
    if (k >= p.n) return;
    float gx = p.x[k] * g.inv_dx, gy = p.y[k] * g.inv_dx;
    int i = (int)rintf(gx), j = (int)rintf(gy);
    float fx = gx - i, fy = gy - j;
    float wx[3] = {0.5f * (0.5f - fx) * (0.5f - fx), 0.75f - fx * fx, 0.5f * (0.5f + fx) * (0.5f + fx)};
    float wy[3] = {0.5f * (0.5f - fy) * (0.5f - fy), 0.75f - fy * fy, 0.5f * (0.5f + fy) * (0.5f + fy)};
    float ex = 0, ey = 0;
    for (int b = -1; b < 2; b++) {
        const float2* row = E + ((j + b + g.ny) % g.ny) * g.nx;
        for (int a = -1; a < 2; a++) {
            float2 e = row[(i + a + g.nx) % g.nx];
            ex += wx[a + 1] * wy[b + 1] * e.x;
            ey += wx[a + 1] * wy[b + 1] * e.y;
        }
    }
    float2 v = p.v[k];
    v.x += 0.5f * dt * ex; v.y += 0.5f * dt * ey;
    float t = 0.5f * dt * bz, s = 2 * t / (1 + t * t);
    float px = v.x + v.y * t, py = v.y - v.x * t;
    v.x += py * s; v.y -= px * s;
    v.x += 0.5f * dt * ex; v.y += 0.5f * dt * ey;
    float lx = g.nx * g.dx, ly = g.ny * g.dx, x = p.x[k] + dt * v.x, y = p.y[k] + dt * v.y;
    p.x[k] = x - lx * floorf(x / lx);
    p.y[k] = y - ly * floorf(y / ly);
    p.v[k] = v;
}

template <int TILE>
__global__ void nbody(const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ q, int n, float2* __restrict__ acc)
{
    __shared__ float3 tile[TILE];
    int i = blockIdx.x * TILE + threadIdx.x;
    float xi = i < n ? x[i] : 0, yi = i < n ? y[i] : 0, ax = 0, ay = 0;
    for (int base = 0; base < n; base += TILE) {
        int j = base + threadIdx.x;
        tile[threadIdx.x] = j < n ? make_float3(x[j], y[j], q[j]) : make_float3(0, 0, 0);
        __syncthreads();
        #pragma unroll 8
        for (int t = 0; t < TILE; ++t) {
            float dx = tile[t].x - xi, dy = tile[t].y - yi, r = rsqrtf(dx * dx + dy * dy + 0.01f), w = tile[t].z * r * r * r;
            ax += w * dx; ay += w * dy;
        }
        __syncthreads();
    }
    if (i < n) acc[i] = make_float2(ax, ay);
}

int main()
{
    GridSpec g{50, 36, 0.2f, 5.0f};
    const int n = 7001, nn = 900, cells = g.nx * g.ny;
    std::vector<float> x(n), y(n), q(n); std::vector<float2> v(n);
    unsigned s = 31;
    auto rnd = [&] { s = s * 1664525u + 1013904223u; return (s >> 8) / 16777216.f; };
    for (int i = 0; i < n; ++i) { x[i] = rnd() * g.nx * g.dx * 0.999f; y[i] = rnd() * g.ny * g.dx * 0.999f; q[i] = 0.5f + rnd(); v[i] = make_float2(rnd() - 0.5f, rnd() - 0.5f); }
    ParticleView p; p.n = n; float *r1, *r2; float2 *E, *acc;
    cudaMalloc(&p.x, n * 4); cudaMalloc(&p.y, n * 4); cudaMalloc(&p.v, n * 8); cudaMalloc(&p.q, n * 4);
    cudaMalloc(&r1, cells * 4); cudaMalloc(&r2, cells * 4); cudaMalloc(&E, cells * 8); cudaMalloc(&acc, nn * 8);
    cudaMemcpy(p.x, x.data(), n * 4, cudaMemcpyHostToDevice); cudaMemcpy(p.y, y.data(), n * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(p.v, v.data(), n * 8, cudaMemcpyHostToDevice); cudaMemcpy(p.q, q.data(), n * 4, cudaMemcpyHostToDevice);
    cudaMemset(r1, 0, cells * 4); cudaMemset(r2, 0, cells * 4);
    nbody<90><<<(nn + 89) / 90, 90>>>(p.x, p.y, p.q, nn, acc);
    deposit_global<<<25, 128>>>(p, g, r1);
    deposit_shared<<<9, 224, cells * 4>>>(p, g, r2);
    field_from_rho<<<dim3((g.nx + 15) / 16, (g.ny + 3) / 4), dim3(16, 4)>>>(r1, E, g);
    push<<<(n + 95) / 96, 96>>>(p, E, g, 0.01f, 2.f);
    push<<<(n + 95) / 96, 96>>>(p, E, g, 0.01f, 2.f);
    std::vector<float> a(cells), b(cells), nx(n); std::vector<float2> ha(nn);
    cudaMemcpy(a.data(), r1, cells * 4, cudaMemcpyDeviceToHost); cudaMemcpy(b.data(), r2, cells * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(nx.data(), p.x, n * 4, cudaMemcpyDeviceToHost); cudaMemcpy(ha.data(), acc, nn * 8, cudaMemcpyDeviceToHost);
    double tq = 0, ta = 0, diff = 0, mx = 0, my = 0; int out = 0;
    for (float w : q) tq += w;
    for (int i = 0; i < cells; ++i) { ta += a[i]; diff = fmax(diff, fabs(a[i] - b[i])); }
    for (float w : nx) out += !(w >= 0 && w <= g.nx * g.dx);
    for (int i = 0; i < nn; ++i) { mx += q[i] * ha[i].x; my += q[i] * ha[i].y; }
    printf("charge %.3f/%.3f deposit diff %g momentum %g %g outside %d\n", ta, tq, diff, mx, my, out);
    return !(fabs(ta - tq) < 1e-3 * tq && diff < 1e-3 && fabs(mx) < 5 && fabs(my) < 5 && out == 0);
}
