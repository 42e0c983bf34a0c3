// SPH density + pressure forces on a uniform hash grid; particles as AoS (56 bytes), compared with SoA float4.
#include <cuda_runtime.h>
#include <cstdio>
#include <cmath>
#include <vector>
#include <algorithm>

struct Particle { float x, y, z; float vx, vy, vz; float rho, press; float ax, ay, az; int cell; float pad[2]; };
struct Grid { int3 dim; float h; };

__device__ __forceinline__ int cellIndex(int3 c, const Grid& g) { return c.x + g.dim.x * (c.y + g.dim.y * c.z); }
__device__ __forceinline__ int3 cellCoord(float x, float y, float z, const Grid& g) { return make_int3((int)(x / g.h), (int)(y / g.h), (int)(z / g.h)); }

constexpr float PI_F = 3.14159265f;
__host__ __device__ inline float poly6(float r2, float h2, float k) { float d = h2 - r2; return d > 0 ? k * d * d * d : 0.f; }

__global__ void density_aos(Particle* p, int n, const int* cellStart, Grid g, float mass) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float h2 = g.h * g.h, k = 315.f / (64.f * PI_F * powf(g.h, 9.f)), rho = 0;
    int3 c = cellCoord(p[i].x, p[i].y, p[i].z, g);
    for (int z = max(0, c.z - 1); z <= min(g.dim.z - 1, c.z + 1); ++z)
        for (int y = max(0, c.y - 1); y <= min(g.dim.y - 1, c.y + 1); ++y) {
            int a = cellStart[cellIndex(make_int3(max(0, c.x - 1), y, z), g)];
            int b = cellStart[cellIndex(make_int3(min(g.dim.x - 1, c.x + 1), y, z), g) + 1];
            for (int j = a; j < b; ++j) {
                float dx = p[i].x - p[j].x, dy = p[i].y - p[j].y, dz = p[i].z - p[j].z;
                rho += mass * poly6(dx * dx + dy * dy + dz * dz, h2, k);
            }
        }
    p[i].rho = rho;
    p[i].press = 3.0f * (rho - 1000.f);
}

__global__ void split_soa(const Particle* __restrict__ p, float4* posd, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) posd[i] = make_float4(p[i].x, p[i].y, p[i].z, 0.f);
}

__global__ void density_soa(float4* posd, int n, const int* __restrict__ cellStart, Grid g, float mass, float* rhoOut) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float h2 = g.h * g.h, k = 315.f / (64.f * PI_F * powf(g.h, 9.f));
    float4 me = posd[i];
    float rho = 0;
    int3 c = cellCoord(me.x, me.y, me.z, g);
    int z0 = max(0, c.z - 1), z1 = min(g.dim.z - 1, c.z + 1), y0 = max(0, c.y - 1), y1 = min(g.dim.y - 1, c.y + 1);
    int x0 = max(0, c.x - 1), x1 = min(g.dim.x - 1, c.x + 1);
    for (int z = z0; z <= z1; ++z)
        for (int y = y0; y <= y1; ++y) {
            int row = g.dim.x * (y + g.dim.y * z), b = cellStart[row + x1 + 1];
            for (int j = cellStart[row + x0]; j < b; ++j) {
                float4 q = posd[j];
                float dx = me.x - q.x, dy = me.y - q.y, dz = me.z - q.z;
                rho += poly6(dx * dx + dy * dy + dz * dz, h2, k);
            }
        }
    rhoOut[i] = rho * mass;
}

__global__ void pressure_force(Particle* p, int n, const int* cellStart, Grid g, float mass) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle me = p[i];
    float sp = -45.f / (PI_F * powf(g.h, 6.f)), ax = 0, ay = 0, az = 0;
    int3 c = cellCoord(me.x, me.y, me.z, g);
    for (int q = 0; q < 27; ++q) {
        int3 d = make_int3(c.x + q % 3 - 1, c.y + (q / 3) % 3 - 1, c.z + q / 9 - 1);
        if (d.x < 0 || d.y < 0 || d.z < 0 || d.x >= g.dim.x || d.y >= g.dim.y || d.z >= g.dim.z) continue;
        int cc = cellIndex(d, g);
        for (int j = cellStart[cc]; j < cellStart[cc + 1]; ++j) {
            if (j == i) continue;
            float dx = me.x - p[j].x, dy = me.y - p[j].y, dz = me.z - p[j].z;
            float r = sqrtf(dx * dx + dy * dy + dz * dz);
            if (r >= g.h || r < 1e-7f) continue;
            float f = -mass * (me.press + p[j].press) / (2.f * p[j].rho) * sp * (g.h - r) * (g.h - r) / r;
            ax += f * dx; ay += f * dy; az += f * dz;
        }
    }
    p[i].ax = ax / me.rho; p[i].ay = ay / me.rho; p[i].az = az / me.rho - 9.81f;
}

int main() {
    Grid g{make_int3(20, 16, 12), 0.04f};
    const int n = 30000;
    std::vector<Particle> h(n);
    unsigned s = 17;
    auto r = [&] { s = s * 1664525u + 1013904223u; return (s >> 8) / 16777216.f; };
    for (auto& p : h) {
        p = Particle{};
        p.x = r() * g.dim.x * g.h * 0.999f; p.y = r() * g.dim.y * g.h * 0.999f; p.z = r() * g.dim.z * g.h * 0.999f;
        p.cell = std::min((int)(p.x / g.h), g.dim.x - 1) + g.dim.x * (std::min((int)(p.y / g.h), g.dim.y - 1) + g.dim.y * std::min((int)(p.z / g.h), g.dim.z - 1));
    }
    std::stable_sort(h.begin(), h.end(), [](const Particle& a, const Particle& b) { return a.cell < b.cell; });
    int nc = g.dim.x * g.dim.y * g.dim.z;
    std::vector<int> cs(nc + 1, 0);
    for (auto& p : h) cs[p.cell + 1]++;
    for (int i = 0; i < nc; ++i) cs[i + 1] += cs[i];
    const float mass = 0.008f;
    Particle* dp; float4* dq; int* dc; float* dr;
    cudaMalloc(&dp, n * sizeof(Particle)); cudaMalloc(&dq, n * 16); cudaMalloc(&dc, (nc + 1) * 4); cudaMalloc(&dr, n * 4);
    cudaMemcpy(dp, h.data(), n * sizeof(Particle), cudaMemcpyHostToDevice);
    cudaMemcpy(dc, cs.data(), (nc + 1) * 4, cudaMemcpyHostToDevice);
    int b = 96, gr = (n + b - 1) / b;
    density_aos<<<gr, b>>>(dp, n, dc, g, mass);
    split_soa<<<gr, b>>>(dp, dq, n);
    density_soa<<<gr, b>>>(dq, n, dc, g, mass, dr);
    pressure_force<<<gr, b>>>(dp, n, dc, g, mass);
    std::vector<Particle> o(n); std::vector<float> rho(n);
    cudaMemcpy(o.data(), dp, n * sizeof(Particle), cudaMemcpyDeviceToHost);
    cudaMemcpy(rho.data(), dr, n * 4, cudaMemcpyDeviceToHost);
    if (cudaGetLastError() != cudaSuccess) { puts("FAIL"); return 1; }
    int bad = 0;
    double k = 315 / (64 * M_PI * pow(g.h, 9)), h2 = (double)g.h * g.h;
    for (int i = 0; i < n; i += 53) {
        double d = 0, ax = 0, ay = 0, az = 0, mag = 1;
        for (int j = 0; j < n; ++j) {
            double dx = (double)h[i].x - h[j].x, dy = (double)h[i].y - h[j].y, dz = (double)h[i].z - h[j].z, r2 = dx * dx + dy * dy + dz * dz;
            if (r2 >= h2) continue;
            d += mass * k * pow(h2 - r2, 3);
            double rr = sqrt(r2);
            if (j == i || rr < 1e-7) continue;
            double f = mass * (o[i].press + o[j].press) / (2.0 * o[j].rho) * 45 / (M_PI * pow(g.h, 6)) * (g.h - rr) * (g.h - rr) / rr / o[i].rho;
            ax += f * dx; ay += f * dy; az += f * dz; mag += fabs(f) * rr;
        }
        az -= 9.81;
        if (fabs(d - o[i].rho) > 1e-3 * d || fabs(d - rho[i]) > 1e-3 * d) ++bad;
        if (fabs(ax - o[i].ax) + fabs(ay - o[i].ay) + fabs(az - o[i].az) > 3e-3 * mag) ++bad;
    }
    printf("rho0 %f bad %d\n%s\n", rho[0], bad, bad ? "FAIL" : "PASS");
    return bad != 0;
}
