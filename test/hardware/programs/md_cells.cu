// Lennard-Jones MD with cell lists: bin, exclusive scan, scatter (sort by cell), force, integrate
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

struct Box { float3 size; int3 dim; float3 inv; };
struct Particles { float4* pos; float3* vel; float3* force; int n; };
__constant__ Box d_box;

__host__ __device__ inline float3 operator-(const float4& a, const float4& b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__device__ inline void operator+=(float3& a, const float3& b) { a.x += b.x; a.y += b.y; a.z += b.z; }
__device__ inline float3 operator*(const float3& a, float s) { return make_float3(a.x * s, a.y * s, a.z * s); }
__device__ inline float dot(const float3& a, const float3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

__device__ int cell_of(const float4& p)
{
    int cx = min((int)(p.x * d_box.inv.x), d_box.dim.x - 1);
    int cy = min((int)(p.y * d_box.inv.y), d_box.dim.y - 1);
    int cz = min((int)(p.z * d_box.inv.z), d_box.dim.z - 1);
    return (cz * d_box.dim.y + cy) * d_box.dim.x + cx;
}

__device__ float wrap(float d, float l) { return d - l * rintf(d / l); }

__global__ void count_cells(Particles p, int* cell_count, int2* where)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= p.n) return;
    int c = cell_of(p.pos[i]);
    where[i] = make_int2(c, atomicAdd(&cell_count[c], 1));
}

__global__ void scan_cells(const int* count, int* start, int n)
{
    // one block; every thread owns a contiguous run
    __shared__ int tot[128];
    int per = (n + blockDim.x - 1) / blockDim.x, b = threadIdx.x * per, e = min(n, b + per), s = 0;
    for (int i = b; i < e; ++i) s += count[i];
    tot[threadIdx.x] = s;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int i = 0, r = 0; i < blockDim.x; ++i) { int t = tot[i]; tot[i] = r; r += t; }
    __syncthreads();
    s = tot[threadIdx.x];
    for (int i = b; i < e; ++i) { start[i] = s; s += count[i]; }
    if (threadIdx.x == blockDim.x - 1) start[n] = s;
}

__global__ void reorder(Particles src, Particles dst, const int2* where, const int* start)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < src.n) {
        int2 w = where[i];
        int d = start[w.x] + w.y;
        dst.pos[d] = src.pos[i];
        dst.vel[d] = src.vel[i];
    }
}

__global__ void lj_force(Particles p, const int* __restrict__ start, float rc2, double* energy)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float e = 0.f;
    if (i < p.n) {
        float4 me = p.pos[i];
        float3 f = make_float3(0, 0, 0);
        int3 c = make_int3((int)(me.x * d_box.inv.x), (int)(me.y * d_box.inv.y), (int)(me.z * d_box.inv.z));
        for (int dz = -1; dz <= 1; ++dz)
            for (int dy = -1; dy <= 1; ++dy)
                for (int dx = -1; dx <= 1; ++dx) {
                    int x = (c.x + dx + d_box.dim.x) % d_box.dim.x, y = (c.y + dy + d_box.dim.y) % d_box.dim.y, z = (c.z + dz + d_box.dim.z) % d_box.dim.z;
                    int id = (z * d_box.dim.y + y) * d_box.dim.x + x;
                    for (int j = start[id]; j < start[id + 1]; ++j) {
                        if (j == i) continue;
                        float3 d = me - p.pos[j];
                        d.x = wrap(d.x, d_box.size.x); d.y = wrap(d.y, d_box.size.y); d.z = wrap(d.z, d_box.size.z);
                        float r2 = dot(d, d);
                        if (r2 < rc2) {
                            float ir2 = 1.f / r2, ir6 = ir2 * ir2 * ir2;
                            f += d * (24.f * ir2 * ir6 * (2.f * ir6 - 1.f));
                            e += 2.f * ir6 * (ir6 - 1.f);
                        }
                    }
                }
        p.force[i] = f;
    }
    for (int o = 16; o; o >>= 1) e += __shfl_down_sync(~0u, e, o);
    if ((threadIdx.x & 31) == 0) atomicAdd(energy, (double)e);
}

__global__ void integrate(Particles p, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= p.n) return;
    p.vel[i] += p.force[i] * dt;
    float4 q = p.pos[i];
    float3 v = p.vel[i];
    q.x += v.x * dt; q.y += v.y * dt; q.z += v.z * dt;
    q.x -= floorf(q.x / d_box.size.x) * d_box.size.x;
    q.y -= floorf(q.y / d_box.size.y) * d_box.size.y;
    q.z -= floorf(q.z / d_box.size.z) * d_box.size.z;
    p.pos[i] = q;
}

int main()
{
    const int side = 11, n = side * side * side;
    const float a = 1.2f;
    Box box;
    box.size = make_float3(side * a, side * a, side * a);
    box.dim = make_int3(5, 5, 5);
    box.inv = make_float3(5 / box.size.x, 5 / box.size.y, 5 / box.size.z);
    cudaMemcpyToSymbol(d_box, &box, sizeof box);
    std::vector<float4> pos(n);
    for (int i = 0; i < n; ++i) {
        float j = (rand() % 100) * 1e-3f;
        pos[i] = make_float4((i % side) * a + j, (i / side % side) * a + 0.1f - j, (i / side / side) * a + 0.05f, 1.f);
    }
    Particles p[2]; int *cnt, *start; int2* wh; double* e;
    const int cells = 125;
    for (auto& q : p) { q.n = n; cudaMalloc(&q.pos, n * 16); cudaMalloc(&q.vel, n * 12); cudaMalloc(&q.force, n * 12); cudaMemset(q.vel, 0, n * 12); }
    cudaMalloc(&cnt, cells * 4); cudaMalloc(&start, (cells + 1) * 4); cudaMalloc(&wh, n * 8); cudaMalloc(&e, 8);
    cudaMemcpy(p[0].pos, pos.data(), n * 16, cudaMemcpyHostToDevice);
    double he = 0; int g = (n + 95) / 96;
    for (int step = 0; step < 2; ++step) {
        cudaMemset(cnt, 0, cells * 4); cudaMemset(e, 0, 8);
        count_cells<<<g, 96>>>(p[0], cnt, wh);
        scan_cells<<<1, 96>>>(cnt, start, cells);
        reorder<<<g, 96>>>(p[0], p[1], wh, start);
        lj_force<<<g, 96>>>(p[1], start, 6.25f, e);
        integrate<<<g, 96>>>(p[1], 0.001f);
        std::swap(p[0], p[1]);
        cudaMemcpy(&he, e, 8, cudaMemcpyDeviceToHost);
        if (step == 0) {
            double ref = 0;
            for (int i = 0; i < n; ++i) for (int j = 0; j < i; ++j) {
                float3 d = pos[i] - pos[j];
                d.x -= box.size.x * rintf(d.x / box.size.x); d.y -= box.size.y * rintf(d.y / box.size.y); d.z -= box.size.z * rintf(d.z / box.size.z);
                double r2 = d.x * d.x + d.y * d.y + d.z * d.z;
                if (r2 < 6.25) { double q = 1 / (r2 * r2 * r2); ref += 4 * q * (q - 1); }
            }
            printf("energy %.4f reference %.4f\n", he, ref);
            if (fabs(he - ref) > 1e-3 * fabs(ref)) return 1;
        }
    }
    printf("after step: %.4f %s\n", he, cudaGetErrorString(cudaGetLastError()));
    return 0;
}
