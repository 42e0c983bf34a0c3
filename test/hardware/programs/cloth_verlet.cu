// Cloth demo (position based Verlet). Pinned top row, a sphere below, red/black distance constraints.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

static const int CW = 192;
static const int CH = 160;
static const int NPART = CW * CH;
static const int FRAMES = 2;

struct ClothParams
{
    float dt;
    float damping;
    float gravity;
    float rest;
    float sphereX, sphereY, sphereZ, sphereR;
};

struct Vertex            // what the renderer wants: 36 bytes
{
    float px, py, pz;
    float nx, ny, nz;
    float u, v;
    unsigned color;
};

static void checkCuda(cudaError_t r, const char* msg)
{
    if (r != cudaSuccess)
    {
        printf("[cloth] %s: %s\n", msg, cudaGetErrorString(r));
        exit(1);
    }
}

__host__ __device__ inline float4 sub4(float4 a, float4 b)
{
    return make_float4(a.x - b.x, a.y - b.y, a.z - b.z, 0.0f);
}

// w component is the inverse mass
__host__ __device__ inline void integrateOne(float4& p, float4& q, const ClothParams& cp)
{
    if (p.w == 0.0f)
    {
        return;
    }
    float4 d = sub4(p, q);
    q = p;
    p.x += d.x * cp.damping;
    p.y += d.y * cp.damping + cp.gravity * cp.dt * cp.dt;
    p.z += d.z * cp.damping;
}

__host__ __device__ inline void solvePair(float4& a, float4& b, float rest)
{
    float w = a.w + b.w;
    if (w == 0.0f)
    {
        return;
    }
    float4 d = sub4(b, a);
    float l = sqrtf(d.x * d.x + d.y * d.y + d.z * d.z);
    float s = (l - rest) / (l * w);
    a.x += d.x * s * a.w;
    a.y += d.y * s * a.w;
    a.z += d.z * s * a.w;
    b.x -= d.x * s * b.w;
    b.y -= d.y * s * b.w;
    b.z -= d.z * s * b.w;
}

__host__ __device__ inline void collideOne(float4& p, const ClothParams& cp)
{
    float dx = p.x - cp.sphereX;
    float dy = p.y - cp.sphereY;
    float dz = p.z - cp.sphereZ;
    float l2 = dx * dx + dy * dy + dz * dz;
    if (l2 < cp.sphereR * cp.sphereR && p.w > 0.0f)
    {
        float k = cp.sphereR / sqrtf(l2);
        p.x = cp.sphereX + dx * k;
        p.y = cp.sphereY + dy * k;
        p.z = cp.sphereZ + dz * k;
    }
}

__global__ void IntegrateKernel(float4* pos, float4* prev, ClothParams cp)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < NPART)
    {
        float4 p = pos[i];
        float4 q = prev[i];
        integrateOne(p, q, cp);
        pos[i] = p;
        prev[i] = q;
    }
}

// constraint between (x,y) and (x+1,y); x = 2*t + parity
__global__ void HorizontalKernel(float4* pos, int parity, float rest)
{
    int x = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + parity;
    int y = blockIdx.y;
    if (x + 1 < CW)
    {
        float4 a = pos[y * CW + x];
        float4 b = pos[y * CW + x + 1];
        solvePair(a, b, rest);
        pos[y * CW + x] = a;
        pos[y * CW + x + 1] = b;
    }
}

// constraint between (x,y) and (x,y+1); note threadIdx.x walks down the cloth here
__global__ void VerticalKernel(float4* pos, int parity, float rest)
{
    int y = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + parity;
    int x = blockIdx.y;
    if (y + 1 < CH)
    {
        float4 a = pos[y * CW + x];
        float4 b = pos[(y + 1) * CW + x];
        solvePair(a, b, rest);
        pos[y * CW + x] = a;
        pos[(y + 1) * CW + x] = b;
    }
}

__global__ void CollideKernel(float4* pos, ClothParams cp)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < NPART)
    {
        collideOne(pos[i], cp);
    }
}

// normals with a 1 cell halo, then the fat vertex is written out field by field
__global__ void BuildVerticesKernel(const float4* pos, Vertex* vb)
{
    __shared__ float4 tile[10][34];
    int gx0 = blockIdx.x * 32 - 1;
    int gy0 = blockIdx.y * 8 - 1;
    int t = threadIdx.y * 32 + threadIdx.x;
    for (int i = t; i < 340; i += 256)
    {
        int lx = i % 34;
        int ly = i / 34;
        int gx = min(max(gx0 + lx, 0), CW - 1);
        int gy = min(max(gy0 + ly, 0), CH - 1);
        tile[ly][lx] = pos[gy * CW + gx];
    }
    __syncthreads();
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 8 + threadIdx.y;
    if (x >= CW || y >= CH)
    {
        return;
    }
    int lx = threadIdx.x + 1;
    int ly = threadIdx.y + 1;
    float4 c = tile[ly][lx];
    float4 e = sub4(tile[ly][lx + 1], tile[ly][lx - 1]);
    float4 s = sub4(tile[ly + 1][lx], tile[ly - 1][lx]);
    float nx = e.y * s.z - e.z * s.y;
    float ny = e.z * s.x - e.x * s.z;
    float nz = e.x * s.y - e.y * s.x;
    float inv = rsqrtf(nx * nx + ny * ny + nz * nz + 1e-20f);
    Vertex* o = vb + y * CW + x;
    o->px = c.x;
    o->py = c.y;
    o->pz = c.z;
    o->nx = nx * inv;
    o->ny = ny * inv;
    o->nz = nz * inv;
    o->u = x / (float)(CW - 1);
    o->v = y / (float)(CH - 1);
    o->color = ((x / 8 + y / 8) & 1) ? 0xffd0d0ffu : 0xff4040c0u;
}

// lowest point of every block, ordered-int trick for float atomics
__global__ void LowestKernel(const float4* pos, int* lowest)
{
    __shared__ float m[256];
    float v = 1e30f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < NPART; i += gridDim.x * blockDim.x)
    {
        v = fminf(v, pos[i].y);
    }
    m[threadIdx.x] = v;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1)
    {
        if (threadIdx.x < s)
        {
            m[threadIdx.x] = fminf(m[threadIdx.x], m[threadIdx.x + s]);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
    {
        int k = __float_as_int(m[0]);
        k = k < 0 ? (k ^ 0x7fffffff) : k;
        atomicMin(lowest, k);
    }
}

int main()
{
    ClothParams cp = { 1.0f / 60.0f, 0.995f, -9.81f, 0.05f, 4.8f, -4.0f, 0.3f, 1.5f };
    std::vector<float4> p(NPART), q;
    for (int y = 0; y < CH; y++)
    {
        for (int x = 0; x < CW; x++)
        {
            float jitter = 0.01f * sinf(0.7f * x) * cosf(0.9f * y);
            p[y * CW + x] = make_float4(x * 0.051f, -y * 0.052f, jitter, y == 0 ? 0.0f : 1.0f);
        }
    }
    q = p;

    float4* dPos;
    float4* dPrev;
    Vertex* dVb;
    int* dLow;
    size_t bytes = NPART * sizeof(float4);
    checkCuda(cudaMalloc((void**)&dPos, bytes), "pos");
    checkCuda(cudaMalloc((void**)&dPrev, bytes), "prev");
    checkCuda(cudaMalloc((void**)&dVb, NPART * sizeof(Vertex)), "vb");
    checkCuda(cudaMalloc((void**)&dLow, sizeof(int)), "low");
    int big = 0x7fffffff;
    checkCuda(cudaMemcpy(dLow, &big, sizeof(int), cudaMemcpyHostToDevice), "low init");
    checkCuda(cudaMemcpy(dPos, p.data(), bytes, cudaMemcpyHostToDevice), "pos up");
    checkCuda(cudaMemcpy(dPrev, q.data(), bytes, cudaMemcpyHostToDevice), "prev up");

    const int tpb = 128;
    const int lin = (NPART + tpb - 1) / tpb;
    dim3 gh((CW / 2 + 31) / 32, CH);
    dim3 gv((CH / 2 + 31) / 32, CW);
    for (int f = 0; f < FRAMES; f++)
    {
        IntegrateKernel<<<lin, tpb>>>(dPos, dPrev, cp);
        for (int it = 0; it < 2; it++)
        {
            HorizontalKernel<<<gh, 32>>>(dPos, 0, cp.rest);
            HorizontalKernel<<<gh, 32>>>(dPos, 1, cp.rest);
            VerticalKernel<<<gv, 32>>>(dPos, 0, cp.rest);
            VerticalKernel<<<gv, 32>>>(dPos, 1, cp.rest);
        }
        CollideKernel<<<lin, tpb>>>(dPos, cp);
    }
    BuildVerticesKernel<<<dim3(CW / 32, CH / 8), dim3(32, 8)>>>(dPos, dVb);
    LowestKernel<<<30, 256>>>(dPos, dLow);
    checkCuda(cudaGetLastError(), "launch");
    checkCuda(cudaDeviceSynchronize(), "sync");

    // same thing on the CPU
    for (int f = 0; f < FRAMES; f++)
    {
        for (int i = 0; i < NPART; i++)
        {
            integrateOne(p[i], q[i], cp);
        }
        for (int it = 0; it < 2; it++)
        {
            for (int par = 0; par < 2; par++)
            {
                for (int y = 0; y < CH; y++)
                {
                    for (int x = par; x + 1 < CW; x += 2)
                    {
                        solvePair(p[y * CW + x], p[y * CW + x + 1], cp.rest);
                    }
                }
            }
            for (int par = 0; par < 2; par++)
            {
                for (int y = par; y + 1 < CH; y += 2)
                {
                    for (int x = 0; x < CW; x++)
                    {
                        solvePair(p[y * CW + x], p[(y + 1) * CW + x], cp.rest);
                    }
                }
            }
        }
        for (int i = 0; i < NPART; i++)
        {
            collideOne(p[i], cp);
        }
    }
    std::vector<Vertex> vb(NPART);
    int lowKey = 0;
    checkCuda(cudaMemcpy(vb.data(), dVb, NPART * sizeof(Vertex), cudaMemcpyDeviceToHost), "vb down");
    checkCuda(cudaMemcpy(&lowKey, dLow, sizeof(int), cudaMemcpyDeviceToHost), "low down");
    int bad = 0;
    float low = 1e30f;
    for (int i = 0; i < NPART; i++)
    {
        float e = fabsf(vb[i].px - p[i].x) + fabsf(vb[i].py - p[i].y) + fabsf(vb[i].pz - p[i].z);
        float n = vb[i].nx * vb[i].nx + vb[i].ny * vb[i].ny + vb[i].nz * vb[i].nz;
        if (!(e < 2e-3f) || !(fabsf(n - 1.0f) < 1e-2f))
        {
            bad++;
        }
        low = fminf(low, p[i].y);
    }
    int bitsLow = lowKey < 0 ? (lowKey ^ 0x7fffffff) : lowKey;
    union { int i; float f; } conv;
    conv.i = bitsLow;
    if (!(fabsf(conv.f - low) < 2e-3f))
    {
        bad++;
    }
    cudaFree(dPos);
    cudaFree(dPrev);
    cudaFree(dVb);
    cudaFree(dLow);
    printf("lowest %f vs %f, bad=%d\n%s\n", conv.f, low, bad, bad == 0 ? "PASS" : "FAIL");
    return bad == 0 ? 0 : 1;
}
