// All-pairs gravity: bodies as float4 through tiles in shared memory, and as plain arrays.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define SOFTENING 1e-2f
#define P 128

#define CK(x) if ((x) != cudaSuccess) { fprintf(stderr, "cuda error at %d\n", __LINE__); exit(2); }

__device__ float3 bodyBodyInteraction(float4 bi, float4 bj, float3 ai)
{
    float3 r;
    r.x = bj.x - bi.x;
    r.y = bj.y - bi.y;
    r.z = bj.z - bi.z;
    float distSqr = r.x * r.x + r.y * r.y + r.z * r.z + SOFTENING;
    float distSixth = distSqr * distSqr * distSqr;
    float s = bj.w * rsqrtf(distSixth);
    ai.x += r.x * s;
    ai.y += r.y * s;
    ai.z += r.z * s;
    return ai;
}

__device__ float3 tile_calculation(float4 myPosition, float3 accel)
{
    extern __shared__ float4 shPosition[];
    for (int i = 0; i < blockDim.x; i++)
        accel = bodyBodyInteraction(myPosition, shPosition[i], accel);
    return accel;
}

__global__ void calculate_forces(void *devX, void *devA, int n)
{
    extern __shared__ float4 shPosition[];
    float4 *globalX = (float4 *)devX;
    float4 *globalA = (float4 *)devA;
    float3 acc = {0.0f, 0.0f, 0.0f};
    int gtid = blockIdx.x * blockDim.x + threadIdx.x;
    float4 myPosition = globalX[gtid];
    for (int i = 0, tile = 0; i < n; i += P, tile++) {
        shPosition[threadIdx.x] = globalX[tile * blockDim.x + threadIdx.x];
        __syncthreads();
        acc = tile_calculation(myPosition, acc);
        __syncthreads();
    }
    globalA[gtid] = make_float4(acc.x, acc.y, acc.z, 0.0f);
}

struct Body { float x, y, z, m, vx, vy, vz; };

__global__ void bodyForce(const Body *p, float *fx, float *fy, float *fz, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) {
        float Fx = 0.0f, Fy = 0.0f, Fz = 0.0f;
        for (int j = 0; j < n; j++) {
            float dx = p[j].x - p[i].x;
            float dy = p[j].y - p[i].y;
            float dz = p[j].z - p[i].z;
            float d2 = dx * dx + dy * dy + dz * dz + SOFTENING;
            float s = p[j].m * rsqrtf(d2 * d2 * d2);
            Fx += dx * s; Fy += dy * s; Fz += dz * s;
        }
        fx[i] = Fx; fy[i] = Fy; fz[i] = Fz;
    }
}

__global__ void integrate(Body *p, const float *fx, const float *fy, const float *fz, float dt, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n) return;
    Body b = p[i];
    b.vx += dt * fx[i]; b.vy += dt * fy[i]; b.vz += dt * fz[i];
    b.x += dt * b.vx; b.y += dt * b.vy; b.z += dt * b.vz;
    p[i] = b;
}

int main()
{
    const int n = 1024;
    static float4 x[n], a[n];
    static Body body[n], after[n];
    static float want[n][3], f[3][n];
    for (int i = 0; i < n; i++) {
        x[i] = make_float4((i * 7 % 101) / 10.f, (i * 13 % 97) / 10.f, (i * 29 % 89) / 10.f, 1.f + i % 3);
        body[i] = {x[i].x, x[i].y, x[i].z, x[i].w, 0.1f, 0.2f, 0.3f};
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float d[3] = {x[j].x - x[i].x, x[j].y - x[i].y, x[j].z - x[i].z};
            float r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + SOFTENING;
            float s = x[j].w / sqrtf(r2 * r2 * r2);
            for (int c = 0; c < 3; c++) want[i][c] += d[c] * s;
        }
    auto near = [](float g, float w) { return fabsf(g - w) <= 1e-3f * (1 + fabsf(w)); };
    float4 *dx, *da;
    Body *db;
    float *df[3];
    CK(cudaMalloc(&dx, sizeof x)); CK(cudaMalloc(&da, sizeof a)); CK(cudaMalloc(&db, sizeof body));
    for (auto &p : df) CK(cudaMalloc(&p, n * sizeof(float)));
    CK(cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(db, body, sizeof body, cudaMemcpyHostToDevice));

    calculate_forces<<<n / P, P, P * sizeof(float4)>>>(dx, da, n);
    CK(cudaMemcpy(a, da, sizeof a, cudaMemcpyDeviceToHost));
    bool ok = true;
    for (int i = 0; i < n; i++) ok = ok && near(a[i].x, want[i][0]) && near(a[i].y, want[i][1]) && near(a[i].z, want[i][2]);
    printf("calculate_forces %s\n", ok ? "PASS" : "FAIL");

    bodyForce<<<n / 64, 64>>>(db, df[0], df[1], df[2], n);
    bool ok2 = true;
    for (int c = 0; c < 3; c++) {
        CK(cudaMemcpy(f[c], df[c], n * sizeof(float), cudaMemcpyDeviceToHost));
        for (int i = 0; i < n; i++) ok2 = ok2 && near(f[c][i], want[i][c]);
    }
    printf("bodyForce %s\n", ok2 ? "PASS" : "FAIL");

    const float dt = 0.01f;
    integrate<<<(n + 255) / 256, 256>>>(db, df[0], df[1], df[2], dt, n);
    CK(cudaMemcpy(after, db, sizeof after, cudaMemcpyDeviceToHost));
    bool ok3 = true;
    for (int i = 0; i < n; i++) {
        float vx = body[i].vx + dt * f[0][i];
        ok3 = ok3 && near(after[i].vx, vx) && near(after[i].x, body[i].x + dt * vx) && after[i].m == body[i].m;
    }
    printf("integrate %s\n", ok3 ? "PASS" : "FAIL");
    return ok && ok2 && ok3 ? 0 : 1;
}
