// nbody_tiles.cu - all-pairs gravity, in the way of the SDK 2.x samples
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>

#define BLOCK 128
#define SOFT2 0.01f
#define CUDA_SAFE_CALL(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
  fprintf(stderr, "Cuda error in file '%s' in line %i : %s.\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(EXIT_FAILURE); } } while (0)

extern __shared__ char smem_[];

__device__ float3 bodyBody(float3 ai, float4 bi, float4 bj)
{
    float3 r;
    r.x = bj.x - bi.x;  r.y = bj.y - bi.y;  r.z = bj.z - bi.z;
    float d2 = r.x * r.x + r.y * r.y + r.z * r.z + SOFT2;
    float inv = rsqrtf(d2);
    float s = bj.w * inv * inv * inv;
    ai.x += r.x * s;  ai.y += r.y * s;  ai.z += r.z * s;
    return ai;
}

__device__ float3 gravTile(float4 *tile, float4 me, float3 acc, int count)
{
    int j = 0;
    for (; j + 3 < count; j += 4) {
        acc = bodyBody(acc, me, tile[j]);
        acc = bodyBody(acc, me, tile[j + 1]);
        acc = bodyBody(acc, me, tile[j + 2]);
        acc = bodyBody(acc, me, tile[j + 3]);
    }
    for (; j < count; j++) acc = bodyBody(acc, me, tile[j]);
    return acc;
}

__global__ void forces(float4 *pos, float3 *acc, int n)
{
    float4 *sh = (float4 *)smem_;
    const int tid = threadIdx.x;
    const int idx = __mul24(blockIdx.x, blockDim.x) + tid;
    float4 me = make_float4(0, 0, 0, 0);
    if (idx < n) me = pos[idx];
    float3 a = make_float3(0, 0, 0);
    for (int base = 0; base < n; base += BLOCK) {
        int m = min(BLOCK, n - base);
        if (tid < m) sh[tid] = pos[base + tid];
        __syncthreads();
        a = gravTile(sh, me, a, m);
        __syncthreads();
    }
    if (idx < n) acc[idx] = a;
}

// leapfrog update
__global__ void integrate(float4 *pos, float3 *vel, float3 *acc, float dt, int n)
{
    const int idx = __mul24(blockIdx.x, blockDim.x) + threadIdx.x;
    if (idx >= n) return;
    float3 v = vel[idx], a = acc[idx];
    v.x += a.x * dt;  v.y += a.y * dt;  v.z += a.z * dt;
    float4 p = pos[idx];
    p.x += v.x * dt;  p.y += v.y * dt;  p.z += v.z * dt;
    pos[idx] = p;
    vel[idx] = v;
}

// momentum: shared carved in three arrays by pointers
__global__ void momentum(float4 *pos, float3 *vel, float *out, int n)
{
    float *sx = (float *)smem_;
    float *sy = sx + blockDim.x;
    float *sz = sy + blockDim.x;
    const int tid = threadIdx.x;
    float x = 0, y = 0, z = 0;
    for (int i = __mul24(blockIdx.x, blockDim.x) + tid; i < n; i += __mul24(gridDim.x, blockDim.x)) {
        float m = pos[i].w;
        x += m * vel[i].x;  y += m * vel[i].y;  z += m * vel[i].z;
    }
    sx[tid] = x;  sy[tid] = y;  sz[tid] = z;
    __syncthreads();
    for (unsigned int s = 1; s < blockDim.x; s *= 2) {
        if ((tid % (2 * s)) == 0) {
            sx[tid] += sx[tid + s];
            sy[tid] += sy[tid + s];
            sz[tid] += sz[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) {
        out[blockIdx.x * 3 + 0] = sx[0];
        out[blockIdx.x * 3 + 1] = sy[0];
        out[blockIdx.x * 3 + 2] = sz[0];
    }
}

int main(int argc, char **argv)
{
    int n = 12000;
    if (argc > 1) n = atoi(argv[1]);
    const float dt = 0.001f;
    size_t psz = n * sizeof(float4), vsz = n * sizeof(float3);
    float4 *h_p = (float4 *)malloc(psz), *h_q = (float4 *)malloc(psz);
    float3 *h_v = (float3 *)malloc(vsz);
    srand(1234);
    for (int i = 0; i < n; i++) {
        h_p[i].x = rand() / (float)RAND_MAX * 2 - 1;
        h_p[i].y = rand() / (float)RAND_MAX * 2 - 1;
        h_p[i].z = rand() / (float)RAND_MAX * 2 - 1;
        h_p[i].w = 1.0f / n;
    }
    memset(h_v, 0, vsz);
    float4 *d_p; float3 *d_v, *d_a; float *d_m;
    const int mb = 64;
    CUDA_SAFE_CALL(cudaMalloc((void **)&d_p, psz));
    CUDA_SAFE_CALL(cudaMalloc((void **)&d_v, vsz));
    CUDA_SAFE_CALL(cudaMalloc((void **)&d_a, vsz));
    CUDA_SAFE_CALL(cudaMalloc((void **)&d_m, mb * 3 * sizeof(float)));
    CUDA_SAFE_CALL(cudaMemcpy(d_p, h_p, psz, cudaMemcpyHostToDevice));
    CUDA_SAFE_CALL(cudaMemcpy(d_v, h_v, vsz, cudaMemcpyHostToDevice));
    int grid = (n + BLOCK - 1) / BLOCK;
    for (int s = 0; s < 3; s++) {
        forces<<<grid, BLOCK, BLOCK * sizeof(float4)>>>(d_p, d_a, n);
        integrate<<<grid, BLOCK>>>(d_p, d_v, d_a, dt, n);
        if (s == 0) CUDA_SAFE_CALL(cudaMemcpy(h_q, d_p, psz, cudaMemcpyDeviceToHost));
    }
    momentum<<<mb, 256, 3 * 256 * sizeof(float)>>>(d_p, d_v, d_m, n);
    CUDA_SAFE_CALL(cudaGetLastError());
    float h_m[mb * 3];
    CUDA_SAFE_CALL(cudaMemcpy(h_m, d_m, sizeof(h_m), cudaMemcpyDeviceToHost));
    double P[3] = {0, 0, 0};
    for (int i = 0; i < mb * 3; i++) P[i % 3] += h_m[i];
    double err = 0;
    for (int i = 0; i < n; i += 101) {
        double ax = 0, ay = 0, az = 0;
        for (int j = 0; j < n; j++) {
            double dx = h_p[j].x - h_p[i].x, dy = h_p[j].y - h_p[i].y, dz = h_p[j].z - h_p[i].z;
            double q = 1.0 / sqrt(dx * dx + dy * dy + dz * dz + SOFT2);
            double s = h_p[j].w * q * q * q;
            ax += dx * s; ay += dy * s; az += dz * s;
        }
        err = fmax(err, fabs(h_q[i].x - (h_p[i].x + ax * dt * dt)));
        err = fmax(err, fabs(h_q[i].y - (h_p[i].y + ay * dt * dt)));
        err = fmax(err, fabs(h_q[i].z - (h_p[i].z + az * dt * dt)));
    }
    double pm = fabs(P[0]) + fabs(P[1]) + fabs(P[2]);
    printf("err %g momentum %g\n", err, pm);
    int ok = err < 1e-5 && pm < 1e-3;
    printf("Test %s\n", ok ? "PASSED / PASS" : "FAILED / FAIL");
    return !ok;
}
