/*
 * Particles in a uniform grid + gravity between cluster centres.
 *
 * Written for compute capability 1.x in 2009, hence the 24-bit multiplies, the float4 everywhere,
 * the half-warp thinking and the C style. Only the texture fetches were taken out when the
 * toolkit dropped texture references; FETCH() now reads global memory.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cuda_runtime.h>

typedef unsigned int uint;

#define CUDA_SAFE_CALL(call) do {                                                     \
    cudaError err = call;                                                             \
    if (cudaSuccess != err) {                                                         \
        fprintf(stderr, "Cuda error in file '%s' in line %i : %s.\n",                 \
                __FILE__, __LINE__, cudaGetErrorString(err));                         \
        printf("FAIL\n");                                                             \
        exit(EXIT_FAILURE);                                                           \
    } } while (0)

#define CUT_CHECK_ERROR(msg) do {                                                     \
    cudaError err = cudaGetLastError();                                               \
    if (cudaSuccess != err) {                                                         \
        fprintf(stderr, "Cuda error: %s in line %i : %s.\n", msg, __LINE__, cudaGetErrorString(err)); \
        printf("FAIL\n");                                                             \
        exit(EXIT_FAILURE);                                                           \
    } } while (0)

#define IMUL(a, b) __mul24(a, b)
#define FETCH(t, i) t[i]

#define GRID_SIZE       32
#define NUM_CELLS       (GRID_SIZE * GRID_SIZE * GRID_SIZE)
#define CELL_SIZE       (1.0f / GRID_SIZE)
#define PARTICLE_RADIUS (0.5f * CELL_SIZE)
#define SORT_LIMIT      512U               /* elements per block of the bitonic sort (shared memory) */
#define NUM_BODIES      1024
#define NBODY_P         128

struct SimParams {
    float spring;
    float damping;
    float shear;
    float dt;
    float3 gravity;
    uint numBodies;
};

__constant__ SimParams params;

/* ------------------------------------------------------------------ shared by host and device */
__host__ __device__ inline int3 calcGridPos(float4 p)
{
    int3 g;
    g.x = (int)floorf(p.x / CELL_SIZE);
    g.y = (int)floorf(p.y / CELL_SIZE);
    g.z = (int)floorf(p.z / CELL_SIZE);
    g.x = g.x < 0 ? 0 : (g.x > GRID_SIZE - 1 ? GRID_SIZE - 1 : g.x);
    g.y = g.y < 0 ? 0 : (g.y > GRID_SIZE - 1 ? GRID_SIZE - 1 : g.y);
    g.z = g.z < 0 ? 0 : (g.z > GRID_SIZE - 1 ? GRID_SIZE - 1 : g.z);
    return g;
}

__host__ __device__ inline uint calcGridHash(int3 g)
{
    return (uint)((g.z * GRID_SIZE + g.y) * GRID_SIZE + g.x);
}

__host__ __device__ inline void collideSpheres(float4 a, float4 b, float4 va, float4 vb, float spring, float damping, float shear, float3 &f)
{
    float rx = b.x - a.x, ry = b.y - a.y, rz = b.z - a.z;
    float dist = sqrtf(rx * rx + ry * ry + rz * rz);
    float collide = 2.0f * PARTICLE_RADIUS;
    if (dist < collide && dist > 1e-9f) {
        float nx = rx / dist, ny = ry / dist, nz = rz / dist;
        float wx = vb.x - va.x, wy = vb.y - va.y, wz = vb.z - va.z;
        float d = wx * nx + wy * ny + wz * nz;
        float s = -spring * (collide - dist);
        f.x += s * nx + damping * wx + shear * (wx - d * nx);
        f.y += s * ny + damping * wy + shear * (wy - d * ny);
        f.z += s * nz + damping * wz + shear * (wz - d * nz);
    }
}

/* ------------------------------------------------------------------ kernels */
__global__ void calcHashD(uint2 *particleHash, float4 *pos, uint numParticles, uint padded)
{
    uint index = IMUL(blockIdx.x, blockDim.x) + threadIdx.x;
    if (index >= padded) return;
    uint2 h;
    h.x = 0xffffffffu;
    h.y = index;
    if (index < numParticles)
        h.x = calcGridHash(calcGridPos(FETCH(pos, index)));
    particleHash[index] = h;
}

__device__ inline void Comparator(uint2 &a, uint2 &b, uint dir)
{
    bool greater = a.x > b.x || (a.x == b.x && a.y > b.y);
    if ((uint)greater == dir) { uint2 t = a; a = b; b = t; }
}

/* sorts SORT_LIMIT elements per block, direction alternating */
__global__ void bitonicSortShared1(uint2 *d_Data)
{
    __shared__ uint2 s_data[SORT_LIMIT];
    d_Data += IMUL(blockIdx.x, SORT_LIMIT) + threadIdx.x;
    s_data[threadIdx.x] = d_Data[0];
    s_data[threadIdx.x + SORT_LIMIT / 2] = d_Data[SORT_LIMIT / 2];
    for (uint size = 2; size < SORT_LIMIT; size <<= 1) {
        uint ddd = (threadIdx.x & (size / 2)) != 0;
        for (uint stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            uint pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            Comparator(s_data[pos], s_data[pos + stride], ddd ^ 1);
        }
    }
    uint ddd = blockIdx.x & 1;
    for (uint stride = SORT_LIMIT / 2; stride > 0; stride >>= 1) {
        __syncthreads();
        uint pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
        Comparator(s_data[pos], s_data[pos + stride], ddd ^ 1);
    }
    __syncthreads();
    d_Data[0] = s_data[threadIdx.x];
    d_Data[SORT_LIMIT / 2] = s_data[threadIdx.x + SORT_LIMIT / 2];
}

__global__ void bitonicMergeGlobal(uint2 *d_Data, uint arrayLength, uint size, uint stride)
{
    uint i = IMUL(blockIdx.x, blockDim.x) + threadIdx.x;
    uint comp = i & (arrayLength / 2 - 1);
    uint ddd = 1 ^ ((comp & (size / 2)) != 0);
    uint pos = 2 * i - (i & (stride - 1));
    uint2 a = d_Data[pos], b = d_Data[pos + stride];
    Comparator(a, b, ddd);
    d_Data[pos] = a;
    d_Data[pos + stride] = b;
}

__global__ void bitonicMergeShared(uint2 *d_Data, uint arrayLength, uint size)
{
    __shared__ uint2 s_data[SORT_LIMIT];
    d_Data += IMUL(blockIdx.x, SORT_LIMIT) + threadIdx.x;
    s_data[threadIdx.x] = d_Data[0];
    s_data[threadIdx.x + SORT_LIMIT / 2] = d_Data[SORT_LIMIT / 2];
    uint comp = (IMUL(blockIdx.x, blockDim.x) + threadIdx.x) & (arrayLength / 2 - 1);
    uint ddd = 1 ^ ((comp & (size / 2)) != 0);
    for (uint stride = SORT_LIMIT / 2; stride > 0; stride >>= 1) {
        __syncthreads();
        uint pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
        Comparator(s_data[pos], s_data[pos + stride], ddd);
    }
    __syncthreads();
    d_Data[0] = s_data[threadIdx.x];
    d_Data[SORT_LIMIT / 2] = s_data[threadIdx.x + SORT_LIMIT / 2];
}

/* rearrange particle data into sorted order, and find the start of each cell */
__global__ void reorderDataAndFindCellStartD(uint2 *particleHash, uint *cellStart, float4 *oldPos, float4 *oldVel,
                                             float4 *sortedPos, float4 *sortedVel, uint numParticles)
{
    extern __shared__ uint sharedHash[];        /* blockDim.x + 1 elements */
    uint index = IMUL(blockIdx.x, blockDim.x) + threadIdx.x;
    uint2 sortedData = make_uint2(0, 0);
    if (index < numParticles) {
        sortedData = particleHash[index];
        sharedHash[threadIdx.x + 1] = sortedData.x;
        if (index > 0 && threadIdx.x == 0)
            sharedHash[0] = particleHash[index - 1].x;
    }
    __syncthreads();
    if (index < numParticles) {
        if (index == 0 || sortedData.x != sharedHash[threadIdx.x])
            cellStart[sortedData.x] = index;
        sortedPos[index] = FETCH(oldPos, sortedData.y);
        sortedVel[index] = FETCH(oldVel, sortedData.y);
    }
}

__global__ void collideD(float4 *newVel, float4 *sortedPos, float4 *sortedVel, uint2 *particleHash, uint *cellStart, uint numParticles)
{
    uint index = IMUL(blockIdx.x, blockDim.x) + threadIdx.x;
    if (index >= numParticles) return;
    float4 pos = FETCH(sortedPos, index);
    float4 vel = FETCH(sortedVel, index);
    int3 gridPos = calcGridPos(pos);
    float3 force = make_float3(0.0f, 0.0f, 0.0f);
    for (int z = -1; z <= 1; z++)
        for (int y = -1; y <= 1; y++)
            for (int x = -1; x <= 1; x++) {
                int3 c = make_int3(gridPos.x + x, gridPos.y + y, gridPos.z + z);
                if (c.x < 0 || c.y < 0 || c.z < 0 || c.x >= GRID_SIZE || c.y >= GRID_SIZE || c.z >= GRID_SIZE) continue;
                uint hash = calcGridHash(c);
                uint start = FETCH(cellStart, hash);
                if (start == 0xffffffffu) continue;
                for (uint j = start; j < numParticles && particleHash[j].x == hash; j++)
                    if (j != index)
                        collideSpheres(pos, FETCH(sortedPos, j), vel, FETCH(sortedVel, j), params.spring, params.damping, params.shear, force);
            }
    uint original = particleHash[index].y;
    newVel[original] = make_float4(vel.x + force.x, vel.y + force.y, vel.z + force.z, 0.0f);     /* uncoalesced write */
}

__global__ void integrate(float4 *pos, float4 *vel, uint numParticles)
{
    uint index = IMUL(blockIdx.x, blockDim.x) + threadIdx.x;
    if (index >= numParticles) return;
    float4 p = pos[index], v = vel[index];
    v.x += params.gravity.x * params.dt;
    v.y += params.gravity.y * params.dt;
    v.z += params.gravity.z * params.dt;
    p.x += v.x * params.dt;
    p.y += v.y * params.dt;
    p.z += v.z * params.dt;
    if (p.x > 1.0f - PARTICLE_RADIUS) { p.x = 1.0f - PARTICLE_RADIUS; v.x *= -0.5f; }
    if (p.x < PARTICLE_RADIUS)        { p.x = PARTICLE_RADIUS;        v.x *= -0.5f; }
    if (p.y > 1.0f - PARTICLE_RADIUS) { p.y = 1.0f - PARTICLE_RADIUS; v.y *= -0.5f; }
    if (p.y < PARTICLE_RADIUS)        { p.y = PARTICLE_RADIUS;        v.y *= -0.5f; }
    if (p.z > 1.0f - PARTICLE_RADIUS) { p.z = 1.0f - PARTICLE_RADIUS; v.z *= -0.5f; }
    if (p.z < PARTICLE_RADIUS)        { p.z = PARTICLE_RADIUS;        v.z *= -0.5f; }
    pos[index] = p;
    vel[index] = v;
}

/* all pairs of the first NUM_BODIES particles, tiles through shared memory as in GPU Gems 3 */
__global__ void nbodyD(float4 *acc, float4 *bodies, uint n)
{
    __shared__ float4 shPosition[NBODY_P];
    uint gtid = IMUL(blockIdx.x, blockDim.x) + threadIdx.x;
    float4 my = bodies[gtid];
    float3 a = make_float3(0.0f, 0.0f, 0.0f);
    for (uint i = 0; i < n; i += NBODY_P) {
        shPosition[threadIdx.x] = bodies[i + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < NBODY_P; j++) {
            float rx = shPosition[j].x - my.x, ry = shPosition[j].y - my.y, rz = shPosition[j].z - my.z;
            float d = rx * rx + ry * ry + rz * rz + 0.001f;
            float inv = rsqrtf(d);
            float s = shPosition[j].w * inv * inv * inv;
            a.x += rx * s; a.y += ry * s; a.z += rz * s;
        }
        __syncthreads();
    }
    acc[gtid] = make_float4(a.x, a.y, a.z, 0.0f);
}

/* ------------------------------------------------------------------ host */
static float frand(uint *s) { *s = *s * 1664525u + 1013904223u; return (float)(*s >> 8) / 16777216.0f; }
static uint iDivUp(uint a, uint b) { return (a % b != 0) ? (a / b + 1) : (a / b); }

int main(int argc, char **argv)
{
    const uint n = 6001, padded = 8192;
    SimParams hp;
    memset(&hp, 0, sizeof(hp));
    hp.spring = 0.5f; hp.damping = 0.02f; hp.shear = 0.1f; hp.dt = 0.01f;
    hp.gravity = make_float3(0.0f, -0.3f, 0.0f);
    hp.numBodies = n;
    CUDA_SAFE_CALL(cudaMemcpyToSymbol(params, &hp, sizeof(SimParams)));

    float4 *h_pos = (float4 *)malloc(n * sizeof(float4)), *h_vel = (float4 *)malloc(n * sizeof(float4));
    uint seed = 42;
    for (uint i = 0; i < n; i++) {       /* denser towards the floor */
        float y = frand(&seed);
        h_pos[i] = make_float4(frand(&seed), y * y, frand(&seed), 0.5f + frand(&seed));
        h_vel[i] = make_float4(frand(&seed) - 0.5f, frand(&seed) - 0.5f, frand(&seed) - 0.5f, 0.0f);
    }
    float4 *d_pos, *d_vel, *d_sortedPos, *d_sortedVel, *d_newVel, *d_acc;
    uint2 *d_hash;
    uint *d_cellStart;
    CUDA_SAFE_CALL(cudaMalloc((void **)&d_pos, n * sizeof(float4)));
    CUDA_SAFE_CALL(cudaMalloc((void **)&d_vel, n * sizeof(float4)));
    CUDA_SAFE_CALL(cudaMalloc((void **)&d_sortedPos, n * sizeof(float4)));
    CUDA_SAFE_CALL(cudaMalloc((void **)&d_sortedVel, n * sizeof(float4)));
    CUDA_SAFE_CALL(cudaMalloc((void **)&d_newVel, n * sizeof(float4)));
    CUDA_SAFE_CALL(cudaMalloc((void **)&d_acc, NUM_BODIES * sizeof(float4)));
    CUDA_SAFE_CALL(cudaMalloc((void **)&d_hash, padded * sizeof(uint2)));
    CUDA_SAFE_CALL(cudaMalloc((void **)&d_cellStart, NUM_CELLS * sizeof(uint)));
    CUDA_SAFE_CALL(cudaMemcpy(d_pos, h_pos, n * sizeof(float4), cudaMemcpyHostToDevice));
    CUDA_SAFE_CALL(cudaMemcpy(d_vel, h_vel, n * sizeof(float4), cudaMemcpyHostToDevice));
    CUDA_SAFE_CALL(cudaMemset(d_cellStart, 0xff, NUM_CELLS * sizeof(uint)));

    calcHashD<<<iDivUp(padded, 256), 256>>>(d_hash, d_pos, n, padded);
    CUT_CHECK_ERROR("calcHashD");
    bitonicSortShared1<<<padded / SORT_LIMIT, SORT_LIMIT / 2>>>(d_hash);
    for (uint size = 2 * SORT_LIMIT; size <= padded; size <<= 1)
        for (uint stride = size / 2; stride > 0; stride >>= 1)
            if (stride >= SORT_LIMIT) {
                bitonicMergeGlobal<<<padded / 512, 256>>>(d_hash, padded, size, stride);
            } else {
                bitonicMergeShared<<<padded / SORT_LIMIT, SORT_LIMIT / 2>>>(d_hash, padded, size);
                break;
            }
    CUT_CHECK_ERROR("bitonic sort");
    reorderDataAndFindCellStartD<<<iDivUp(n, 256), 256, 257 * sizeof(uint)>>>(d_hash, d_cellStart, d_pos, d_vel, d_sortedPos, d_sortedVel, n);
    collideD<<<iDivUp(n, 64), 64>>>(d_newVel, d_sortedPos, d_sortedVel, d_hash, d_cellStart, n);
    nbodyD<<<NUM_BODIES / NBODY_P, NBODY_P>>>(d_acc, d_pos, NUM_BODIES);
    integrate<<<iDivUp(n, 256), 256>>>(d_pos, d_newVel, n);
    CUT_CHECK_ERROR("step");
    CUDA_SAFE_CALL(cudaDeviceSynchronize());

    float4 *r_pos = (float4 *)malloc(n * sizeof(float4)), *r_vel = (float4 *)malloc(n * sizeof(float4));
    float4 *r_acc = (float4 *)malloc(NUM_BODIES * sizeof(float4));
    uint2 *r_hash = (uint2 *)malloc(padded * sizeof(uint2));
    CUDA_SAFE_CALL(cudaMemcpy(r_pos, d_pos, n * sizeof(float4), cudaMemcpyDeviceToHost));
    CUDA_SAFE_CALL(cudaMemcpy(r_vel, d_newVel, n * sizeof(float4), cudaMemcpyDeviceToHost));
    CUDA_SAFE_CALL(cudaMemcpy(r_acc, d_acc, NUM_BODIES * sizeof(float4), cudaMemcpyDeviceToHost));
    CUDA_SAFE_CALL(cudaMemcpy(r_hash, d_hash, padded * sizeof(uint2), cudaMemcpyDeviceToHost));

    int bad = 0, touching = 0;
    for (uint i = 0; i + 1 < padded; i++)
        if (r_hash[i].x > r_hash[i + 1].x || (r_hash[i].x == r_hash[i + 1].x && r_hash[i].y >= r_hash[i + 1].y)) bad++;
    printf("sort: %d inversions\n", bad);
    for (uint i = 0; i < n; i += 5) {                    /* brute force for every fifth particle */
        float3 f = make_float3(0, 0, 0);
        for (uint j = 0; j < n; j++)
            if (j != i) collideSpheres(h_pos[i], h_pos[j], h_vel[i], h_vel[j], hp.spring, hp.damping, hp.shear, f);
        if (f.x != 0 || f.y != 0 || f.z != 0) touching++;
        float vx = h_vel[i].x + f.x, vy = h_vel[i].y + f.y + hp.gravity.y * hp.dt, vz = h_vel[i].z + f.z;
        float px = h_pos[i].x + vx * hp.dt, py = h_pos[i].y + vy * hp.dt, pz = h_pos[i].z + vz * hp.dt;
        int wall = px < 2 * PARTICLE_RADIUS || py < 2 * PARTICLE_RADIUS || pz < 2 * PARTICLE_RADIUS ||
                   px > 1 - 2 * PARTICLE_RADIUS || py > 1 - 2 * PARTICLE_RADIUS || pz > 1 - 2 * PARTICLE_RADIUS;
        if (wall) {
            if (!(r_pos[i].x > 0 && r_pos[i].y > 0 && r_pos[i].z > 0 && r_pos[i].x < 1 && r_pos[i].y < 1 && r_pos[i].z < 1)) bad++;
            continue;
        }
        if (fabs(px - r_pos[i].x) + fabs(py - r_pos[i].y) + fabs(pz - r_pos[i].z) > 1e-3) bad++;
        if (fabs(vx - r_vel[i].x) + fabs(vy - r_vel[i].y) + fabs(vz - r_vel[i].z) > 1e-2) bad++;
    }
    for (uint i = 0; i < NUM_BODIES; i += 7) {
        double ax = 0, ay = 0, az = 0, mag = 0;
        for (uint j = 0; j < NUM_BODIES; j++) {
            double rx = h_pos[j].x - h_pos[i].x, ry = h_pos[j].y - h_pos[i].y, rz = h_pos[j].z - h_pos[i].z;
            double d = rx * rx + ry * ry + rz * rz + 0.001, s = h_pos[j].w / (d * sqrt(d));
            ax += rx * s; ay += ry * s; az += rz * s;
            mag += s * sqrt(rx * rx + ry * ry + rz * rz);
        }
        if (fabs(ax - r_acc[i].x) + fabs(ay - r_acc[i].y) + fabs(az - r_acc[i].z) > 1e-3 * mag) bad++;
    }
    printf("%u particles, %d of the sampled ones touch a neighbour\n", n, touching);
    cudaFree(d_pos); cudaFree(d_vel); cudaFree(d_sortedPos); cudaFree(d_sortedVel);
    cudaFree(d_newVel); cudaFree(d_acc); cudaFree(d_hash); cudaFree(d_cellStart);
    free(h_pos); free(h_vel); free(r_pos); free(r_vel); free(r_acc); free(r_hash);
    printf(bad ? "FAIL\n" : "PASS\n");
    return bad ? 1 : 0;
}
