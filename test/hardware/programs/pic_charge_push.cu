// 2-D electrostatic particle-in-cell: CIC deposition (AoS and SoA), field gradient, push
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#define GX 256
#define GY 192
#define QM 0.5f

struct Particle { float x, y, vx, vy; int cell; };   // 20 bytes
struct Fields { float *rho, *phi; float2 *E; };

__device__ __forceinline__ int wrap(int i, int n) { return i < 0 ? i + n : (i >= n ? i - n : i); }

__global__ void deposit_aos(const Particle *p, int n, float *rho)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = p[i].x, y = p[i].y;
    int ix = (int)x, iy = (int)y;
    float fx = x - ix, fy = y - iy;
    int ix1 = wrap(ix + 1, GX), iy1 = wrap(iy + 1, GY);
    atomicAdd(&rho[iy * GX + ix], (1 - fx) * (1 - fy));
    atomicAdd(&rho[iy * GX + ix1], fx * (1 - fy));
    atomicAdd(&rho[iy1 * GX + ix], (1 - fx) * fy);
    atomicAdd(&rho[iy1 * GX + ix1], fx * fy);
}

// particles sorted by strip of 4 grid rows; a block handles a strip in shared memory
__global__ void deposit_strip(const float *px, const float *py, const int *start, float *rho)
{
    __shared__ float s[5 * GX];
    for (int t = threadIdx.x; t < 5 * GX; t += blockDim.x) s[t] = 0.f;
    __syncthreads();
    const int y0 = blockIdx.x * 4;
    for (int i = start[blockIdx.x] + threadIdx.x; i < start[blockIdx.x + 1]; i += blockDim.x) {
        float x = px[i], y = py[i];
        int ix = (int)x, iy = (int)y - y0;
        float fx = x - ix, fy = y - y0 - iy;
        int ix1 = ix + 1 == GX ? 0 : ix + 1;
        atomicAdd(&s[iy * GX + ix], (1 - fx) * (1 - fy));
        atomicAdd(&s[iy * GX + ix1], fx * (1 - fy));
        atomicAdd(&s[(iy + 1) * GX + ix], (1 - fx) * fy);
        atomicAdd(&s[(iy + 1) * GX + ix1], fx * fy);
    }
    __syncthreads();
    for (int t = threadIdx.x; t < 5 * GX; t += blockDim.x)
        atomicAdd(&rho[((y0 + t / GX) % GY) * GX + t % GX], s[t]);
}

__global__ void field(Fields f)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= GX || y >= GY) return;
    float ex = 0.5f * (f.phi[y * GX + wrap(x - 1, GX)] - f.phi[y * GX + wrap(x + 1, GX)]);
    float ey = 0.5f * (f.phi[wrap(y - 1, GY) * GX + x] - f.phi[wrap(y + 1, GY) * GX + x]);
    f.E[y * GX + x] = make_float2(ex, ey);
}

__global__ void push(Particle *p, int n, Fields f, float dt)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        Particle q = p[i];
        int ix = (int)q.x, iy = (int)q.y;
        float fx = q.x - ix, fy = q.y - iy;
        int ix1 = wrap(ix + 1, GX), iy1 = wrap(iy + 1, GY);
        float2 a = f.E[iy * GX + ix], b = f.E[iy * GX + ix1], c = f.E[iy1 * GX + ix], d = f.E[iy1 * GX + ix1];
        float ex = (a.x * (1 - fx) + b.x * fx) * (1 - fy) + (c.x * (1 - fx) + d.x * fx) * fy;
        float ey = (a.y * (1 - fx) + b.y * fx) * (1 - fy) + (c.y * (1 - fx) + d.y * fx) * fy;
        q.vx += QM * dt * ex; q.vy += QM * dt * ey;
        q.x += dt * q.vx; q.y += dt * q.vy;
        if (q.x < 0) q.x += GX; if (q.x >= GX) q.x -= GX;
        if (q.y < 0) q.y += GY; if (q.y >= GY) q.y -= GY;
        q.cell = (int)q.y * GX + (int)q.x;
        p[i] = q;
    }
}

int main()
{
    const int n = 700001, ng = GX * GY, ns = GY / 4;
    std::vector<Particle> p(n), q(n);
    unsigned s = 3;
    auto rnd = [&] { s = s * 1664525u + 1013904223u; return (s >> 8) * (1.f / 16777216.f); };
    for (auto &a : p) { a.x = rnd() * (GX - 1); a.y = rnd() * (GY - 1); a.vx = rnd() - .5f; a.vy = rnd() - .5f; a.cell = 0; }
    std::vector<int> start(ns + 1, 0);
    for (auto &a : p) start[(int)a.y / 4 + 1]++;
    for (int k = 0; k < ns; k++) start[k + 1] += start[k];
    std::vector<int> pos(start.begin(), start.end() - 1); std::vector<float> sx(n), sy(n);
    for (auto &a : p) { int k = pos[(int)a.y / 4]++; sx[k] = a.x; sy[k] = a.y; }
    std::vector<float> phi(ng), r1(ng), r2(ng);
    for (int i = 0; i < ng; i++) phi[i] = sinf(2 * M_PI * (i % GX) / GX) * cosf(2 * M_PI * (i / GX) / GY);
    Particle *dp; float *dx, *dy, *drho2; int *dst; Fields f;
    cudaMalloc(&dp, n * sizeof(Particle)); cudaMalloc(&dx, n * 4); cudaMalloc(&dy, n * 4); cudaMalloc(&dst, (ns + 1) * 4);
    cudaMalloc(&f.rho, ng * 4); cudaMalloc(&f.phi, ng * 4); cudaMalloc(&f.E, ng * 8); cudaMalloc(&drho2, ng * 4);
    cudaMemset(f.rho, 0, ng * 4); cudaMemset(drho2, 0, ng * 4);
    cudaMemcpy(dp, p.data(), n * sizeof(Particle), cudaMemcpyHostToDevice);
    cudaMemcpy(dx, sx.data(), n * 4, cudaMemcpyHostToDevice); cudaMemcpy(dy, sy.data(), n * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(dst, start.data(), (ns + 1) * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(f.phi, phi.data(), ng * 4, cudaMemcpyHostToDevice);
    deposit_aos<<<(n + 255) / 256, 256>>>(dp, n, f.rho);
    deposit_strip<<<ns, 512>>>(dx, dy, dst, drho2);
    field<<<dim3(GX / 32, GY / 8), dim3(32, 8)>>>(f);
    push<<<528, 256>>>(dp, n, f, 0.1f);
    cudaMemcpy(r1.data(), f.rho, ng * 4, cudaMemcpyDeviceToHost); cudaMemcpy(r2.data(), drho2, ng * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(q.data(), dp, n * sizeof(Particle), cudaMemcpyDeviceToHost);
    double d = 0, sum = 0, e = 0;
    for (int i = 0; i < ng; i++) { d = fmax(d, fabs(r1[i] - r2[i])); sum += r1[i]; }
    auto E = [&](int x, int y, int c) { x = (x + GX) % GX; y = (y + GY) % GY;
        return c ? 0.5f * (phi[(y + GY - 1) % GY * GX + x] - phi[(y + 1) % GY * GX + x]) : 0.5f * (phi[y * GX + (x + GX - 1) % GX] - phi[y * GX + (x + 1) % GX]); };
    for (int i = 0; i < n; i += 13) {
        int ix = p[i].x, iy = p[i].y; float fx = p[i].x - ix, fy = p[i].y - iy;
        float ex = (E(ix, iy, 0) * (1 - fx) + E(ix + 1, iy, 0) * fx) * (1 - fy) + (E(ix, iy + 1, 0) * (1 - fx) + E(ix + 1, iy + 1, 0) * fx) * fy;
        e = fmax(e, fabs(p[i].vx + QM * 0.1f * ex - q[i].vx));
    }
    printf("rho diff %g total %.1f (n %d) push err %g %s\n", d, sum, n, e, cudaGetErrorString(cudaGetLastError()));
    puts(d < 1e-2 && fabs(sum - n) < 10 && e < 1e-5 ? "PASS" : "FAIL");
}
