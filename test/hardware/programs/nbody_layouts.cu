// All-pairs gravity.  Variants:
//   forces_aos     : array of 28-byte structs read straight from global
//   forces_tiled4  : float4 (xyz + mass) tiles in shared memory
//   forces_soa     : separate x/y/z/m arrays, shared tiles per component
//   kick_drift     : leapfrog update of the AoS array
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

struct Body {
    float x, y, z;
    float vx, vy, vz;
    float m;
};

#define P 128                 /* tile size == block size */
#define SOFTENING 1e-3f

inline void must(cudaError_t e, const char *f, int l)
{
    if (e == cudaSuccess) return;
    fprintf(stderr, "[%s:%d] %s\n", f, l, cudaGetErrorString(e));
    abort();
}
#define MUST(e) must(e, __FILE__, __LINE__)

__device__ __forceinline__ float3 interact(float3 ai, float px, float py, float pz,
                                           float qx, float qy, float qz, float qm)
{
    float dx = qx - px, dy = qy - py, dz = qz - pz;
    float d2 = dx * dx + dy * dy + dz * dz + SOFTENING;
    float inv = rsqrtf(d2);
    float s = qm * inv * inv * inv;
    ai.x += dx * s;
    ai.y += dy * s;
    ai.z += dz * s;
    return ai;
}

__global__ void forces_aos(const Body *b, float3 *acc, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Body me = b[i];
    float3 a = {0.f, 0.f, 0.f};
    for (int j = 0; j < n; j++)
        a = interact(a, me.x, me.y, me.z, b[j].x, b[j].y, b[j].z, b[j].m);
    acc[i] = a;
}

__global__ void __launch_bounds__(P)
forces_tiled4(const float4 *__restrict__ pos, float4 *__restrict__ acc, int n)
{
    __shared__ float4 tile[P];
    int i = blockIdx.x * P + threadIdx.x;
    float4 p = pos[i];
    float3 a = make_float3(0.f, 0.f, 0.f);

    for (int t = 0; t < n / P; t++) {
        tile[threadIdx.x] = pos[t * P + threadIdx.x];
        __syncthreads();
#pragma unroll 16
        for (int j = 0; j < P; j++) {
            float4 q = tile[j];
            a = interact(a, p.x, p.y, p.z, q.x, q.y, q.z, q.w);
        }
        __syncthreads();
    }
    acc[i] = make_float4(a.x, a.y, a.z, 0.f);
}

// gridDim.y splits the source range; partial sums are combined with atomics
__global__ void forces_soa(const float *__restrict__ x, const float *__restrict__ y,
                           const float *__restrict__ z, const float *__restrict__ m,
                           float *ax, float *ay, float *az, int n)
{
    extern __shared__ float sh[];
    float *sx = sh, *sy = sx + blockDim.x, *sz = sy + blockDim.x, *sm = sz + blockDim.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float px = x[i], py = y[i], pz = z[i];
    float3 a = make_float3(0.f, 0.f, 0.f);

    int span = n / gridDim.y;
    int begin = blockIdx.y * span;
    for (int base = begin; base < begin + span; base += blockDim.x) {
        int j = base + threadIdx.x;
        sx[threadIdx.x] = x[j];
        sy[threadIdx.x] = y[j];
        sz[threadIdx.x] = z[j];
        sm[threadIdx.x] = m[j];
        __syncthreads();
        for (int k = 0; k < (int)blockDim.x; k++)
            a = interact(a, px, py, pz, sx[k], sy[k], sz[k], sm[k]);
        __syncthreads();
    }
    atomicAdd(ax + i, a.x);
    atomicAdd(ay + i, a.y);
    atomicAdd(az + i, a.z);
}

__global__ void kick_drift(Body *b, const float3 *acc, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        b[i].vx += dt * acc[i].x;
        b[i].vy += dt * acc[i].y;
        b[i].vz += dt * acc[i].z;
        b[i].x += dt * b[i].vx;
        b[i].y += dt * b[i].vy;
        b[i].z += dt * b[i].vz;
    }
}

int main()
{
    const int n = 8192;
    const float dt = 0.01f;
    std::vector<Body> hb(n), after(n);
    std::vector<float4> hp(n), ha4(n);
    std::vector<float> soa(4 * n), hacc(3 * n);
    std::vector<float3> ha(n);

    srand(1234);
    auto rnd = [] { return 2.0f * rand() / (float)RAND_MAX - 1.0f; };
    for (int i = 0; i < n; i++) {
        hb[i] = {rnd(), rnd(), rnd(), 0.1f * rnd(), 0.1f * rnd(), 0.1f * rnd(),
                 (1.5f + rnd()) / n};
        hp[i] = make_float4(hb[i].x, hb[i].y, hb[i].z, hb[i].m);
        soa[i] = hb[i].x;
        soa[n + i] = hb[i].y;
        soa[2 * n + i] = hb[i].z;
        soa[3 * n + i] = hb[i].m;
    }

    Body *db;
    float4 *dp, *da4;
    float3 *da;
    float *ds, *dacc;
    MUST(cudaMalloc(&db, n * sizeof(Body)));
    MUST(cudaMalloc(&dp, n * sizeof(float4)));
    MUST(cudaMalloc(&da4, n * sizeof(float4)));
    MUST(cudaMalloc(&da, n * sizeof(float3)));
    MUST(cudaMalloc(&ds, 4 * n * sizeof(float)));
    MUST(cudaMalloc(&dacc, 3 * n * sizeof(float)));
    MUST(cudaMemcpy(db, hb.data(), n * sizeof(Body), cudaMemcpyHostToDevice));
    MUST(cudaMemcpy(dp, hp.data(), n * sizeof(float4), cudaMemcpyHostToDevice));
    MUST(cudaMemcpy(ds, soa.data(), 4 * n * sizeof(float), cudaMemcpyHostToDevice));
    MUST(cudaMemset(dacc, 0, 3 * n * sizeof(float)));

    forces_aos<<<n / 64, 64>>>(db, da, n);
    forces_tiled4<<<n / P, P>>>(dp, da4, n);
    forces_soa<<<dim3(n / 256, 8), 256, 4 * 256 * sizeof(float)>>>(
        ds, ds + n, ds + 2 * n, ds + 3 * n, dacc, dacc + n, dacc + 2 * n, n);
    kick_drift<<<(n + 255) / 256, 256>>>(db, da, dt, n);
    MUST(cudaGetLastError());

    MUST(cudaMemcpy(after.data(), db, n * sizeof(Body), cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(ha.data(), da, n * sizeof(float3), cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(ha4.data(), da4, n * sizeof(float4), cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(hacc.data(), dacc, 3 * n * sizeof(float), cudaMemcpyDeviceToHost));

    // check a sample of bodies in double precision
    double worst = 0;
    auto note = [&worst](double e) { if (!(e <= worst)) worst = e; };
    for (int i = 5; i < n; i += 67) {
        double a[3] = {0, 0, 0};
        for (int j = 0; j < n; j++) {
            double dx = (double)hb[j].x - hb[i].x, dy = (double)hb[j].y - hb[i].y;
            double dz = (double)hb[j].z - hb[i].z;
            double d2 = dx * dx + dy * dy + dz * dz + SOFTENING;
            double s = hb[j].m / (d2 * sqrt(d2));
            a[0] += dx * s;
            a[1] += dy * s;
            a[2] += dz * s;
        }
        double scale = 1e-3 + sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
        note(fabs(ha[i].x - a[0]) / scale);
        note(fabs(ha[i].z - a[2]) / scale);
        note(fabs(ha4[i].y - a[1]) / scale);
        note(fabs(ha4[i].z - a[2]) / scale);
        for (int c = 0; c < 3; c++) note(fabs(hacc[c * n + i] - a[c]) / scale);
        double vx = hb[i].vx + dt * a[0];
        note(fabs(after[i].vx - vx));
        note(fabs(after[i].x - (hb[i].x + dt * vx)));
    }
    printf("worst relative error %.3e\n", worst);

    cudaFree(db); cudaFree(dp); cudaFree(da4); cudaFree(da); cudaFree(ds); cudaFree(dacc);
    bool pass = worst < 1e-3;
    puts(pass ? "PASS" : "FAIL");
    return pass ? 0 : 1;
}
