// Tiny SDF renderer. Persistent warps pull 8x4 pixel tiles from a global counter.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <vector>

#define W 640
#define H 384
#define MAX_STEPS 64
#define NUM_SPHERES 12

struct vec3 { float x, y, z; };
__host__ __device__ inline vec3 V(float x, float y, float z) { vec3 r = {x, y, z}; return r; }
__host__ __device__ inline vec3 operator+(vec3 a, vec3 b) { return V(a.x + b.x, a.y + b.y, a.z + b.z); }
__host__ __device__ inline vec3 operator-(vec3 a, vec3 b) { return V(a.x - b.x, a.y - b.y, a.z - b.z); }
__host__ __device__ inline vec3 operator*(vec3 a, float s) { return V(a.x * s, a.y * s, a.z * s); }
__host__ __device__ inline float dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__host__ __device__ inline float len(vec3 a) { return sqrtf(dot(a, a)); }
__host__ __device__ inline vec3 norm(vec3 a) { return a * (1.0f / len(a)); }

struct Sphere { float cx, cy, cz, r; int mat; };   // 20 bytes, as exported by the editor
struct Hit { float t; float nx, ny, nz; int mat; int steps; };

#define CK(e) if ((e) != cudaSuccess) { printf("cuda failure at %d: %s\n", __LINE__, cudaGetErrorString(cudaGetLastError())); exit(1); }

__host__ __device__ inline float scene(const Sphere* s, vec3 p, int* mat)
{
    float d = p.y + 1.0f;
    int m = 0;
    for (int i = 0; i < NUM_SPHERES; i++) {
        float q = len(p - V(s[i].cx, s[i].cy, s[i].cz)) - s[i].r;
        if (q < d) {
            d = q;
            m = s[i].mat;
        }
    }
    *mat = m;
    return d;
}

__host__ __device__ inline vec3 cameraRay(int px, int py)
{
    float u = (px + 0.5f - W * 0.5f) / (H * 0.5f);
    float v = (H * 0.5f - py - 0.5f) / (H * 0.5f);
    return norm(V(u, v, 1.5f));
}

__host__ __device__ inline Hit march(const Sphere* s, vec3 ro, vec3 rd)
{
    Hit h;
    h.t = 0.0f;
    h.mat = -1;
    h.nx = h.ny = h.nz = 0.0f;
    int m;
    int i = 0;
    for (; i < MAX_STEPS; i++) {
        vec3 p = ro + rd * h.t;
        float d = scene(s, p, &m);
        if (d < 1e-3f) {
            h.mat = m;
            break;
        }
        h.t += d;
        if (h.t > 40.0f) break;
    }
    h.steps = i;
    if (h.mat >= 0) {
        vec3 p = ro + rd * h.t;
        const float e = 1e-2f;
        float gx = scene(s, p + V(e, 0, 0), &m) - scene(s, p - V(e, 0, 0), &m);
        float gy = scene(s, p + V(0, e, 0), &m) - scene(s, p - V(0, e, 0), &m);
        float gz = scene(s, p + V(0, 0, e), &m) - scene(s, p - V(0, 0, e), &m);
        vec3 n = norm(V(gx, gy, gz));
        h.nx = n.x;
        h.ny = n.y;
        h.nz = n.z;
    }
    return h;
}

__device__ unsigned int g_nextTile;

// persistent version
__global__ void __launch_bounds__(128) renderPersistent(const Sphere* __restrict__ spheres, Hit* out)
{
    __shared__ Sphere sc[NUM_SPHERES];
    int* dst = (int*)sc;
    const int* srcw = (const int*)spheres;
    for (int i = threadIdx.x; i < NUM_SPHERES * (int)(sizeof(Sphere) / 4); i += blockDim.x) {
        dst[i] = srcw[i];
    }
    __syncthreads();
    const int lane = threadIdx.x & 31;
    const unsigned tilesX = W / 8;
    const unsigned tiles = tilesX * (H / 4);
    while (true) {
        unsigned tile = 0;
        if (lane == 0) {
            tile = atomicAdd(&g_nextTile, 1u);
        }
        tile = __shfl_sync(0xffffffffu, tile, 0);
        if (tile >= tiles) break;
        int px = (tile % tilesX) * 8 + (lane & 7);
        int py = (tile / tilesX) * 4 + (lane >> 3);
        Hit h = march(sc, V(0, 0.5f, -4), cameraRay(px, py));
        out[py * W + px] = h;
    }
}

// reference GPU version: one pixel per thread, spheres read from global memory
__global__ void renderSimple(const Sphere* spheres, float* depth)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < W && y < H) {
        Hit h = march(spheres, V(0, 0.5f, -4), cameraRay(x, y));
        depth[y * W + x] = h.mat >= 0 ? h.t : 1e9f;
    }
}

__constant__ float4 c_albedo[4] = {
    {0.5f, 0.5f, 0.5f, 1}, {0.9f, 0.2f, 0.1f, 1}, {0.1f, 0.7f, 0.3f, 1}, {0.2f, 0.3f, 0.9f, 1}};

__global__ void shade(const Hit* g, float4* color)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= W * H) return;
    int mat = g[i].mat;
    float4 c = make_float4(0.3f, 0.5f, 0.8f, 1.0f);
    if (mat >= 0) {
        float diff = g[i].nx * 0.57735f + g[i].ny * 0.57735f - g[i].nz * 0.57735f;
        diff = fmaxf(diff, 0.1f);
        float4 a = c_albedo[mat];
        c = make_float4(a.x * diff, a.y * diff, a.z * diff, 1.0f);
    }
    color[i] = c;
}

// 2x box downsample + tonemap to packed RGBA8
__device__ unsigned pack(float v)
{
    v = v / (1.0f + v);
    return (unsigned)(v * 255.0f + 0.5f);
}

__global__ void resolve(const float4* color, unsigned* rgba)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W / 2 || y >= H / 2) return;
    float4 a = color[(2 * y) * W + 2 * x];
    float4 b = color[(2 * y) * W + 2 * x + 1];
    float4 c = color[(2 * y + 1) * W + 2 * x];
    float4 d = color[(2 * y + 1) * W + 2 * x + 1];
    unsigned r = pack(0.25f * (a.x + b.x + c.x + d.x));
    unsigned g = pack(0.25f * (a.y + b.y + c.y + d.y));
    unsigned bl = pack(0.25f * (a.z + b.z + c.z + d.z));
    rgba[y * (W / 2) + x] = r | (g << 8) | (bl << 16) | 0xff000000u;
}

// how many steps did the warps take: histogram into 64 bins, block-private copy
__global__ void stepHistogram(const Hit* g, int* bins)
{
    __shared__ int local[MAX_STEPS + 1];
    for (int i = threadIdx.x; i <= MAX_STEPS; i += blockDim.x) local[i] = 0;
    __syncthreads();
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < W * H; i += stride) {
        atomicAdd(&local[g[i].steps], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i <= MAX_STEPS; i += blockDim.x) {
        if (local[i]) atomicAdd(&bins[i], local[i]);
    }
}

int main()
{
    Sphere hs[NUM_SPHERES];
    unsigned s = 4242;
    auto rnd = [&]() { s = s * 1664525u + 1013904223u; return (s >> 8) * (1.0f / 16777216.0f); };
    for (int i = 0; i < NUM_SPHERES; i++) {
        hs[i].cx = rnd() * 8 - 4;
        hs[i].cy = rnd() * 2 - 0.5f;
        hs[i].cz = rnd() * 6;
        hs[i].r = 0.3f + 0.5f * rnd();
        hs[i].mat = 1 + i % 3;
    }
    Sphere* ds;
    Hit* dh;
    float* dd;
    float4* dc;
    unsigned* dp;
    int* db;
    CK(cudaMalloc(&ds, sizeof(hs)));
    CK(cudaMalloc(&dh, W * H * sizeof(Hit)));
    CK(cudaMalloc(&dd, W * H * sizeof(float)));
    CK(cudaMalloc(&dc, W * H * sizeof(float4)));
    CK(cudaMalloc(&dp, W * H / 4 * sizeof(unsigned)));
    CK(cudaMalloc(&db, (MAX_STEPS + 1) * sizeof(int)));
    CK(cudaMemset(db, 0, (MAX_STEPS + 1) * sizeof(int)));
    CK(cudaMemcpy(ds, hs, sizeof(hs), cudaMemcpyHostToDevice));
    unsigned zero = 0;
    CK(cudaMemcpyToSymbol(g_nextTile, &zero, sizeof(zero)));

    dim3 b(16, 16);
    renderPersistent<<<264, 128>>>(ds, dh);
    renderSimple<<<dim3(W / 16, H / 16), b>>>(ds, dd);
    shade<<<(W * H + 127) / 128, 128>>>(dh, dc);
    resolve<<<dim3(W / 32, H / 32), b>>>(dc, dp);
    stepHistogram<<<64, 256>>>(dh, db);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());

    std::vector<Hit> hit(W * H);
    std::vector<float> depth(W * H);
    std::vector<unsigned> rgba(W * H / 4);
    std::vector<float4> color(W * H);
    int bins[MAX_STEPS + 1];
    CK(cudaMemcpy(hit.data(), dh, W * H * sizeof(Hit), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(depth.data(), dd, W * H * sizeof(float), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(rgba.data(), dp, W * H / 4 * sizeof(unsigned), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(color.data(), dc, W * H * sizeof(float4), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(bins, db, sizeof(bins), cudaMemcpyDeviceToHost));

    // grazing rays may decide differently on the host: allow a small fraction of pixels
    int off = 0, total = 0, steps = 0, bad = 0;
    for (int y = 0; y < H; y += 3) {
        for (int x = 0; x < W; x += 3) {
            Hit h = march(hs, V(0, 0.5f, -4), cameraRay(x, y));
            const Hit& g = hit[y * W + x];
            total++;
            float t = h.mat >= 0 ? h.t : 1e9f;
            bool same = h.mat == g.mat;
            if (same && h.mat >= 0) {
                same = fabsf(h.t - g.t) < 0.02f * (1 + h.t) && fabsf(depth[y * W + x] - t) < 0.02f * (1 + h.t);
            }
            if (!same) off++;
        }
    }
    for (int i = 0; i <= MAX_STEPS; i++) steps += bins[i];
    if (steps != W * H) bad++;
    for (int y = 0; y < H / 2; y++) {
        for (int x = 0; x < W / 2; x++) {
            float r = 0;
            for (int k = 0; k < 4; k++) r += 0.25f * color[(2 * y + k / 2) * W + 2 * x + k % 2].x;
            int want = (int)(r / (1 + r) * 255.0f + 0.5f);
            if (abs(want - (int)(rgba[y * (W / 2) + x] & 255)) > 1) bad++;
        }
    }
    printf("differing pixels %d of %d, bad %d\n", off, total, bad);
    bool ok = off * 50 < total && bad == 0;
    printf("%s\n", ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
