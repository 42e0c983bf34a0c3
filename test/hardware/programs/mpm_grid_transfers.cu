// Material point method in 2-D: P2G by atomics, P2G by sorted cells, grid
// update, G2P, using pitched 2-D grids.  Quadratic B-spline weights.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define G 128
#define NP 65536

typedef struct {
    float *m;
    float *vx;
    float *vy;
    size_t pitch;   // in bytes, same for all three
} Grid;

typedef struct {
    float2 *x;
    float2 *v;
    float4 *C;
    int n;
} Particles;

#define CALL(x) do { cudaError_t e = x; if (e != cudaSuccess) { printf("%d: %s\n", __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

__device__ __forceinline__ float *at(float *base, size_t pitch, int y, int x)
{
    return (float *)((char *)base + y * pitch) + x;
}

__host__ __device__ inline void weights(float fx, float *w)
{
    w[0] = 0.5f * (1.5f - fx) * (1.5f - fx);
    w[1] = 0.75f - (fx - 1.0f) * (fx - 1.0f);
    w[2] = 0.5f * (fx - 0.5f) * (fx - 0.5f);
}

__global__ void clear_grid(Grid g)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    *at(g.m, g.pitch, y, x) = 0.0f;
    *at(g.vx, g.pitch, y, x) = 0.0f;
    *at(g.vy, g.pitch, y, x) = 0.0f;
}

__global__ void p2g(Particles p, Grid g)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= p.n)
        return;
    float2 x = p.x[i];
    float2 v = p.v[i];
    float4 C = p.C[i];
    int bx = (int)(x.x - 0.5f);
    int by = (int)(x.y - 0.5f);
    float wx[3], wy[3];
    weights(x.x - bx, wx);
    weights(x.y - by, wy);
    for (int b = 0; b < 3; b++)
        for (int a = 0; a < 3; a++) {
            float dx = bx + a - x.x;
            float dy = by + b - x.y;
            float w = wx[a] * wy[b];
            atomicAdd(at(g.m, g.pitch, by + b, bx + a), w);
            atomicAdd(at(g.vx, g.pitch, by + b, bx + a), w * (v.x + C.x * dx + C.y * dy));
            atomicAdd(at(g.vy, g.pitch, by + b, bx + a), w * (v.y + C.z * dx + C.w * dy));
        }
}

__global__ void cell_count(Particles p, int *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= p.n)
        return;
    int c = (int)(p.x[i].y - 0.5f) * G + (int)(p.x[i].x - 0.5f);
    atomicAdd(&count[c], 1);
}

// gather mass: each node looks at 9 cells of sorted particles
__global__ void mass_gather(const float2 *xs, const int *start, float *mass)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float s = 0.0f;
    for (int b = 0; b < 3; b++)
        for (int a = 0; a < 3; a++) {
            int cx = x - a;
            int cy = y - b;
            if (cx < 0 || cy < 0)
                continue;
            int c = cy * G + cx;
            for (int k = start[c]; k < start[c + 1]; k++) {
                float wx[3], wy[3];
                weights(xs[k].x - cx, wx);
                weights(xs[k].y - cy, wy);
                s += wx[a] * wy[b];
            }
        }
    mass[y * G + x] = s;
}

__global__ void grid_update(Grid g, float dt)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float m = *at(g.m, g.pitch, y, x);
    if (m <= 1e-6f)
        return;
    float vx = *at(g.vx, g.pitch, y, x) / m;
    float vy = *at(g.vy, g.pitch, y, x) / m - 9.8f * dt;
    if (x < 3 || x > G - 4)
        vx = 0.0f;
    if (y < 3 || y > G - 4)
        vy = 0.0f;
    *at(g.vx, g.pitch, y, x) = vx;
    *at(g.vy, g.pitch, y, x) = vy;
}

__global__ void g2p(Particles p, Grid g, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= p.n)
        return;
    float2 x = p.x[i];
    int bx = (int)(x.x - 0.5f);
    int by = (int)(x.y - 0.5f);
    float wx[3], wy[3];
    weights(x.x - bx, wx);
    weights(x.y - by, wy);
    float2 v = make_float2(0, 0);
    float4 C = make_float4(0, 0, 0, 0);
    for (int b = 0; b < 3; b++)
        for (int a = 0; a < 3; a++) {
            float w = wx[a] * wy[b];
            float gx = *at(g.vx, g.pitch, by + b, bx + a);
            float gy = *at(g.vy, g.pitch, by + b, bx + a);
            float dx = bx + a - x.x;
            float dy = by + b - x.y;
            v.x += w * gx;
            v.y += w * gy;
            C.x += 4 * w * gx * dx;
            C.y += 4 * w * gx * dy;
            C.z += 4 * w * gy * dx;
            C.w += 4 * w * gy * dy;
        }
    p.v[i] = v;
    p.C[i] = C;
    p.x[i] = make_float2(x.x + dt * v.x, x.y + dt * v.y);
}

int main()
{
    std::vector<float2> x(NP), v(NP);
    std::vector<float4> C(NP);
    unsigned s = 2463534242u;
    auto rnd = [&]() {
        s ^= s << 13;
        s ^= s >> 17;
        s ^= s << 5;
        return (s >> 8) / 16777216.0f;
    };
    for (int i = 0; i < NP; i++) {
        x[i] = make_float2(20 + 80 * rnd(), 20 + 60 * rnd());
        v[i] = make_float2(rnd() - 0.5f, rnd() - 0.5f);
        C[i] = make_float4(0.1f * rnd(), 0, 0, 0.1f * rnd());
    }
    Particles p;
    Grid g;
    p.n = NP;
    CALL(cudaMalloc(&p.x, NP * sizeof(float2)));
    CALL(cudaMalloc(&p.v, NP * sizeof(float2)));
    CALL(cudaMalloc(&p.C, NP * sizeof(float4)));
    CALL(cudaMallocPitch(&g.m, &g.pitch, G * sizeof(float), G));
    CALL(cudaMallocPitch(&g.vx, &g.pitch, G * sizeof(float), G));
    CALL(cudaMallocPitch(&g.vy, &g.pitch, G * sizeof(float), G));
    int *count, *start;
    float2 *xs;
    float *mass;
    CALL(cudaMalloc(&count, G * G * sizeof(int)));
    CALL(cudaMalloc(&start, (G * G + 1) * sizeof(int)));
    CALL(cudaMalloc(&xs, NP * sizeof(float2)));
    CALL(cudaMalloc(&mass, G * G * sizeof(float)));
    CALL(cudaMemset(count, 0, G * G * sizeof(int)));
    CALL(cudaMemcpy(p.x, x.data(), NP * sizeof(float2), cudaMemcpyHostToDevice));
    CALL(cudaMemcpy(p.v, v.data(), NP * sizeof(float2), cudaMemcpyHostToDevice));
    CALL(cudaMemcpy(p.C, C.data(), NP * sizeof(float4), cudaMemcpyHostToDevice));

    dim3 gb(32, 4), gg(G / 32, G / 4);
    const float dt = 0.01f;
    cell_count<<<NP / 256, 256>>>(p, count);
    std::vector<int> hcount(G * G), hstart(G * G + 1, 0);
    CALL(cudaMemcpy(hcount.data(), count, G * G * sizeof(int), cudaMemcpyDeviceToHost));
    for (int c = 0; c < G * G; c++)
        hstart[c + 1] = hstart[c] + hcount[c];
    int bad = hstart[G * G] != NP;
    std::vector<float2> hs = x;
    std::stable_sort(hs.begin(), hs.end(), [](float2 a, float2 b) {
        return (int)(a.y - 0.5f) * G + (int)(a.x - 0.5f) < (int)(b.y - 0.5f) * G + (int)(b.x - 0.5f);
    });
    CALL(cudaMemcpy(xs, hs.data(), NP * sizeof(float2), cudaMemcpyHostToDevice));
    CALL(cudaMemcpy(start, hstart.data(), (G * G + 1) * sizeof(int), cudaMemcpyHostToDevice));
    mass_gather<<<gg, gb>>>(xs, start, mass);
    clear_grid<<<gg, gb>>>(g);
    p2g<<<NP / 128, 128>>>(p, g);
    grid_update<<<gg, gb>>>(g, dt);
    g2p<<<NP / 128, 128>>>(p, g, dt);
    CALL(cudaGetLastError());
    CALL(cudaDeviceSynchronize());

    std::vector<float> hm(G * G), hm2(G * G);
    std::vector<float2> nv(NP), nx(NP);
    CALL(cudaMemcpy2D(hm.data(), G * 4, g.m, g.pitch, G * 4, G, cudaMemcpyDeviceToHost));
    CALL(cudaMemcpy(hm2.data(), mass, G * G * 4, cudaMemcpyDeviceToHost));
    CALL(cudaMemcpy(nv.data(), p.v, NP * sizeof(float2), cudaMemcpyDeviceToHost));
    CALL(cudaMemcpy(nx.data(), p.x, NP * sizeof(float2), cudaMemcpyDeviceToHost));
    std::vector<double> m(G * G, 0.0), gx(G * G, 0.0), gy(G * G, 0.0);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < NP; i++) {
            int bx = (int)(x[i].x - 0.5f), by = (int)(x[i].y - 0.5f);
            float wx[3], wy[3];
            weights(x[i].x - bx, wx);
            weights(x[i].y - by, wy);
            double ax = 0, ay = 0;
            for (int b = 0; b < 3; b++)
                for (int a = 0; a < 3; a++) {
                    int c = (by + b) * G + bx + a;
                    double w = wx[a] * wy[b], dx = bx + a - x[i].x, dy = by + b - x[i].y;
                    if (pass == 0) {
                        m[c] += w;
                        gx[c] += w * (v[i].x + C[i].x * dx + C[i].y * dy);
                        gy[c] += w * (v[i].y + C[i].z * dx + C[i].w * dy);
                    } else {
                        ax += w * gx[c];
                        ay += w * gy[c];
                    }
                }
            if (pass == 1) {
                if (std::fabs(ax - nv[i].x) > 2e-3 || std::fabs(ay - nv[i].y) > 2e-3)
                    bad++;
                if (std::fabs(x[i].x + dt * ax - nx[i].x) > 1e-3 || std::fabs(x[i].y + dt * ay - nx[i].y) > 1e-3)
                    bad++;
            }
        }
        for (int c = 0; pass == 0 && c < G * G; c++) {
            if (std::fabs(m[c] - hm[c]) > 1e-3 || std::fabs(m[c] - hm2[c]) > 1e-3)
                bad++;
            if (m[c] > 1e-6) {
                gx[c] /= m[c];
                gy[c] = gy[c] / m[c] - 9.8 * dt;
            }
        }
    }
    printf("bad %d\n%s\n", bad, bad ? "FAIL" : "PASS");
    return bad != 0;
}
