// Tiled deferred lighting prototype, straight port of our DX12 compute shaders.
// CS_* == compute shader entry points.  16x16 tiles, one thread group per tile.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <vector>
#include <algorithm>

typedef unsigned int   uint;
typedef unsigned char  u8;

#define HR(expr) do { cudaError_t hr = (expr); if (hr != cudaSuccess) { \
    printf("HR failed %s (%s:%d): %s\n", #expr, __FILE__, __LINE__, cudaGetErrorString(hr)); exit(1); } } while (0)

static const int kTile = 16;
static const int kMaxLightsPerTile = 128;
static const int kNumLights = 300;

struct Vec3
{
    float x, y, z;
    __host__ __device__ Vec3() {}
    __host__ __device__ Vec3(float X, float Y, float Z) : x(X), y(Y), z(Z) {}
    __host__ __device__ Vec3 operator+(const Vec3& o) const { return Vec3(x + o.x, y + o.y, z + o.z); }
    __host__ __device__ Vec3 operator-(const Vec3& o) const { return Vec3(x - o.x, y - o.y, z - o.z); }
    __host__ __device__ Vec3 operator*(const Vec3& o) const { return Vec3(x * o.x, y * o.y, z * o.z); }
    __host__ __device__ Vec3 operator*(float s) const { return Vec3(x * s, y * s, z * s); }
    __host__ __device__ float Dot(const Vec3& o) const { return x * o.x + y * o.y + z * o.z; }
};

struct GBufferTexel     // 28 bytes
{
    Vec3  albedo;
    Vec3  normal;
    float viewZ;
};

struct PointLight       // 32 bytes
{
    Vec3  posVS;
    float radius;
    Vec3  color;
    float pad;
};

struct FrameConstants
{
    int   width, height;
    float tanHalfFovX, tanHalfFovY;
};

__host__ __device__ inline Vec3 ViewPosFromPixel(const FrameConstants& cb, float px, float py, float z)
{
    float ndcX = (px + 0.5f) / cb.width * 2.0f - 1.0f;
    float ndcY = 1.0f - (py + 0.5f) / cb.height * 2.0f;
    return Vec3(ndcX * cb.tanHalfFovX * z, ndcY * cb.tanHalfFovY * z, z);
}

__host__ __device__ inline Vec3 ShadeLight(const PointLight& l, const Vec3& P, const GBufferTexel& g)
{
    Vec3 d = l.posVS - P;
    float dist2 = d.Dot(d);
    float r2 = l.radius * l.radius;
    if (dist2 >= r2) return Vec3(0, 0, 0);
    float inv = 1.0f / sqrtf(dist2 + 1e-4f);
    float ndl = fmaxf(g.normal.Dot(d) * inv, 0.0f);
    float att = 1.0f - dist2 / r2;
    return l.color * g.albedo * (ndl * att * att);
}

__global__ void CS_TiledLighting(FrameConstants cb, const GBufferTexel* __restrict__ gbuf,
                                 const PointLight* __restrict__ lights, int numLights,
                                 Vec3* __restrict__ hdr, uint* __restrict__ tileCounts)
{
    __shared__ uint       gs_minZ, gs_maxZ, gs_count;
    __shared__ PointLight gs_lights[kMaxLightsPerTile];

    const uint gi = threadIdx.y * kTile + threadIdx.x;
    const int px = blockIdx.x * kTile + threadIdx.x;
    const int py = blockIdx.y * kTile + threadIdx.y;
    const bool inside = px < cb.width && py < cb.height;

    if (gi == 0) { gs_minZ = 0x7f7fffffu; gs_maxZ = 0; gs_count = 0; }
    __syncthreads();

    GBufferTexel g;
    if (inside)
    {
        g = gbuf[py * cb.width + px];
        atomicMin(&gs_minZ, __float_as_uint(g.viewZ));
        atomicMax(&gs_maxZ, __float_as_uint(g.viewZ));
    }
    __syncthreads();

    const float zNear = __uint_as_float(gs_minZ), zFar = __uint_as_float(gs_maxZ);

    // tile AABB in view space (cheaper than planes, slightly conservative)
    float x0 = blockIdx.x * kTile - 1.0f, x1 = x0 + kTile + 1.0f;
    float y0 = blockIdx.y * kTile - 1.0f, y1 = y0 + kTile + 1.0f;
    Vec3 a = ViewPosFromPixel(cb, x0, y0, zNear), b = ViewPosFromPixel(cb, x1, y1, zNear);
    Vec3 c = ViewPosFromPixel(cb, x0, y0, zFar),  d = ViewPosFromPixel(cb, x1, y1, zFar);
    Vec3 lo(fminf(a.x, c.x), fminf(b.y, d.y), zNear);
    Vec3 hi(fmaxf(b.x, d.x), fmaxf(a.y, c.y), zFar);

    for (int i = gi; i < numLights; i += kTile * kTile)
    {
        Vec3 p = lights[i].posVS;
        float dx = fmaxf(fmaxf(lo.x - p.x, p.x - hi.x), 0.0f);
        float dy = fmaxf(fmaxf(lo.y - p.y, p.y - hi.y), 0.0f);
        float dz = fmaxf(fmaxf(lo.z - p.z, p.z - hi.z), 0.0f);
        if (dx * dx + dy * dy + dz * dz < lights[i].radius * lights[i].radius * 1.001f)
        {
            uint slot = atomicAdd(&gs_count, 1u);
            if (slot < kMaxLightsPerTile) gs_lights[slot] = lights[i];
        }
    }
    __syncthreads();

    const uint n = min(gs_count, (uint)kMaxLightsPerTile);
    if (gi == 0) tileCounts[blockIdx.y * gridDim.x + blockIdx.x] = gs_count;
    if (!inside) return;

    Vec3 P = ViewPosFromPixel(cb, (float)px, (float)py, g.viewZ);
    Vec3 sum = g.albedo * 0.03f;
    for (uint i = 0; i < n; ++i) sum = sum + ShadeLight(gs_lights[i], P, g);
    hdr[py * cb.width + px] = sum;
}

// 8x8 -> 1 luminance downsample, log space
__global__ void CS_DownsampleLuma(const Vec3* __restrict__ hdr, float* __restrict__ luma, int w, int h, int lw)
{
    __shared__ float gs_l[8][8];
    int x = min((int)(blockIdx.x * 8 + threadIdx.x), w - 1), y = min((int)(blockIdx.y * 8 + threadIdx.y), h - 1);
    Vec3 c = hdr[y * w + x];
    gs_l[threadIdx.y][threadIdx.x] = logf(1e-3f + 0.2126f * c.x + 0.7152f * c.y + 0.0722f * c.z);
    __syncthreads();
    for (int s = 4; s > 0; s >>= 1)
    {
        if (threadIdx.x < s && threadIdx.y < s)
            gs_l[threadIdx.y][threadIdx.x] += gs_l[threadIdx.y + s][threadIdx.x]
                + gs_l[threadIdx.y][threadIdx.x + s] + gs_l[threadIdx.y + s][threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0 && threadIdx.y == 0) luma[blockIdx.y * lw + blockIdx.x] = gs_l[0][0] / 64.0f;
}

__global__ void CS_ToneMap(const Vec3* __restrict__ hdr, const float* __restrict__ luma, int w, int h, int lw,
                           uchar4* __restrict__ ldr)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float key = 0.35f / expf(luma[(y >> 3) * lw + (x >> 3)]);
    Vec3 c = hdr[y * w + x] * key;
    // Hable-lite
    c = Vec3(c.x / (1.0f + c.x), c.y / (1.0f + c.y), c.z / (1.0f + c.z));
    ldr[y * w + x] = make_uchar4((u8)(c.x * 255.0f + 0.5f), (u8)(c.y * 255.0f + 0.5f), (u8)(c.z * 255.0f + 0.5f), 255);
}

// planar-RGB scanout: three byte planes, one thread per 1 pixel (yes, byte stores)
__global__ void CS_SplitPlanes(const uchar4* __restrict__ ldr, u8* __restrict__ planes, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    uchar4 c = ldr[i];
    planes[i] = c.x;
    planes[count + i] = c.y;
    planes[2 * count + i] = c.z;
}

static float Frand(uint& s) { s ^= s << 13; s ^= s >> 17; s ^= s << 5; return (s >> 8) * (1.0f / 16777216.0f); }

int main()
{
    FrameConstants cb = { 333, 190, 0.9f, 0.52f };
    const int W = cb.width, H = cb.height, N = W * H;
    uint seed = 0xC0FFEEu;

    std::vector<GBufferTexel> gb(N);
    for (int y = 0; y < H; ++y) for (int x = 0; x < W; ++x)
    {
        GBufferTexel& g = gb[y * W + x];
        g.albedo = Vec3(0.2f + 0.8f * ((x / 13 + y / 9) & 1), 0.5f, 0.3f + 0.5f * Frand(seed));
        float nx = sinf(x * 0.11f) * 0.4f, ny = cosf(y * 0.07f) * 0.4f;
        g.normal = Vec3(nx, ny, -sqrtf(1.0f - nx * nx - ny * ny));
        g.viewZ = 6.0f + 3.0f * sinf(x * 0.02f + y * 0.05f);
    }
    std::vector<PointLight> lights(kNumLights);
    for (PointLight& l : lights)
    {
        l.posVS = Vec3((Frand(seed) - 0.5f) * 16.0f, (Frand(seed) - 0.5f) * 9.0f, 2.0f + Frand(seed) * 8.0f);
        l.radius = 0.5f + Frand(seed) * 1.6f;
        l.color = Vec3(Frand(seed), Frand(seed), Frand(seed)) * 3.0f;
        l.pad = 0;
    }

    const int tw = (W + kTile - 1) / kTile, th = (H + kTile - 1) / kTile;
    const int lw = (W + 7) / 8, lh = (H + 7) / 8;
    GBufferTexel* dGB; PointLight* dL; Vec3* dHdr; uint* dCnt; float* dLuma; uchar4* dLdr; u8* dPlanes;
    HR(cudaMalloc(&dGB, N * sizeof(GBufferTexel)));
    HR(cudaMalloc(&dL, kNumLights * sizeof(PointLight)));
    HR(cudaMalloc(&dHdr, N * sizeof(Vec3)));
    HR(cudaMalloc(&dCnt, tw * th * sizeof(uint)));
    HR(cudaMalloc(&dLuma, lw * lh * sizeof(float)));
    HR(cudaMalloc(&dLdr, N * sizeof(uchar4)));
    HR(cudaMalloc(&dPlanes, 3 * N));
    HR(cudaMemcpy(dGB, gb.data(), N * sizeof(GBufferTexel), cudaMemcpyHostToDevice));
    HR(cudaMemcpy(dL, lights.data(), kNumLights * sizeof(PointLight), cudaMemcpyHostToDevice));

    CS_TiledLighting<<<dim3(tw, th), dim3(kTile, kTile)>>>(cb, dGB, dL, kNumLights, dHdr, dCnt);
    HR(cudaGetLastError());
    CS_DownsampleLuma<<<dim3(lw, lh), dim3(8, 8)>>>(dHdr, dLuma, W, H, lw);
    HR(cudaGetLastError());
    CS_ToneMap<<<dim3((W + 63) / 64, (H + 3) / 4), dim3(64, 4)>>>(dHdr, dLuma, W, H, lw, dLdr);
    HR(cudaGetLastError());
    CS_SplitPlanes<<<(N + 127) / 128, 128>>>(dLdr, dPlanes, N);
    HR(cudaGetLastError());
    HR(cudaDeviceSynchronize());

    std::vector<Vec3> hdr(N); std::vector<uint> cnt(tw * th); std::vector<u8> planes(3 * N);
    std::vector<float> luma(lw * lh);
    HR(cudaMemcpy(hdr.data(), dHdr, N * sizeof(Vec3), cudaMemcpyDeviceToHost));
    HR(cudaMemcpy(cnt.data(), dCnt, tw * th * sizeof(uint), cudaMemcpyDeviceToHost));
    HR(cudaMemcpy(luma.data(), dLuma, lw * lh * sizeof(float), cudaMemcpyDeviceToHost));
    HR(cudaMemcpy(planes.data(), dPlanes, 3 * N, cudaMemcpyDeviceToHost));

    int bad = 0;
    uint worst = *std::max_element(cnt.begin(), cnt.end());
    printf("max lights in a tile: %u\n", worst);
    if (worst > (uint)kMaxLightsPerTile) ++bad;
    // brute force, no culling
    for (int y = 0; y < H; ++y) for (int x = 0; x < W; ++x)
    {
        const GBufferTexel& g = gb[y * W + x];
        Vec3 P = ViewPosFromPixel(cb, (float)x, (float)y, g.viewZ), s = g.albedo * 0.03f;
        for (const PointLight& l : lights) s = s + ShadeLight(l, P, g);
        Vec3 e = s - hdr[y * W + x];
        if (!(e.Dot(e) <= 1e-6f * (1.0f + s.Dot(s)))) ++bad;
    }
    for (int ty = 0; ty < lh; ++ty) for (int tx = 0; tx < lw; ++tx)
    {
        float acc = 0;
        for (int j = 0; j < 8; ++j) for (int i = 0; i < 8; ++i)
        {
            Vec3 c = hdr[std::min(ty * 8 + j, H - 1) * W + std::min(tx * 8 + i, W - 1)];
            acc += logf(1e-3f + 0.2126f * c.x + 0.7152f * c.y + 0.0722f * c.z);
        }
        if (fabsf(acc / 64.0f - luma[ty * lw + tx]) > 1e-3f) ++bad;
    }
    for (int i = 0; i < N; ++i)
    {
        float key = 0.35f / expf(luma[(i / W / 8) * lw + (i % W) / 8]);
        float v[3] = { hdr[i].x * key, hdr[i].y * key, hdr[i].z * key };
        for (int k = 0; k < 3; ++k)
            if (fabsf(v[k] / (1.0f + v[k]) * 255.0f - planes[k * N + i]) > 0.6f) ++bad;
    }
    HR(cudaFree(dGB)); HR(cudaFree(dL)); HR(cudaFree(dHdr)); HR(cudaFree(dCnt));
    HR(cudaFree(dLuma)); HR(cudaFree(dLdr)); HR(cudaFree(dPlanes));
    printf("%s\n", bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
