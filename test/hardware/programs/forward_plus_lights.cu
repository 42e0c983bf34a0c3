// Forward+ style tiled light culling for a small deferred renderer.
//   pass 1  linearise depth + per tile min/max
//   pass 2  world -> view transform of the light list
//   pass 3  cull lights against tile bounds
//   pass 4  shade
//   pass 5  bloom (separable blur), tonemap to RGBA8

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include <vector>

#define W 960
#define H 544
#define TILE 16
#define TX (W / TILE)
#define TY (H / TILE)
#define NUM_LIGHTS 384
#define MAX_PER_TILE 192
#define BLUR_R 6

typedef unsigned int u32;
typedef unsigned char u8;

struct Light
{
    float pos[3];
    float radius;
    float color[3];
    float intensity;
    u32 flags;
    u32 pad[3];
};

struct ViewLight
{
    float4 posRadius;
    float4 colorIntensity;
};

struct Camera
{
    float view[12];     // 3x4 row major
    float tanX, tanY;
    float zNear, zFar;
};

__constant__ Camera c_cam;
__constant__ float c_blur[2 * BLUR_R + 1];

static void die(cudaError_t e, int line)
{
    if (e == cudaSuccess)
        return;
    printf("cuda error '%s' at line %d\n", cudaGetErrorString(e), line);
    exit(3);
}
#define CU(x) die((x), __LINE__)

// device depth is in [0,1], reversed z not used
__host__ __device__ inline float linearDepth(float d, float n, float f)
{
    return n * f / (f - d * (f - n));
}

__global__ void tileDepthBounds(const float* depth, float* linear, float2* bounds)
{
    __shared__ u32 zmin, zmax;
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    if (threadIdx.x == 0 && threadIdx.y == 0)
    {
        zmin = 0x7f7fffffu;
        zmax = 0u;
    }
    __syncthreads();
    float z = linearDepth(depth[y * W + x], c_cam.zNear, c_cam.zFar);
    linear[y * W + x] = z;
    atomicMin(&zmin, __float_as_uint(z));
    atomicMax(&zmax, __float_as_uint(z));
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0)
        bounds[blockIdx.y * gridDim.x + blockIdx.x] = make_float2(__uint_as_float(zmin), __uint_as_float(zmax));
}

__global__ void transformLights(const Light* lights, ViewLight* out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float x = lights[i].pos[0];
    float y = lights[i].pos[1];
    float z = lights[i].pos[2];
    const float* m = c_cam.view;
    ViewLight v;
    v.posRadius.x = m[0] * x + m[1] * y + m[2] * z + m[3];
    v.posRadius.y = m[4] * x + m[5] * y + m[6] * z + m[7];
    v.posRadius.z = m[8] * x + m[9] * y + m[10] * z + m[11];
    v.posRadius.w = lights[i].radius;
    v.colorIntensity = make_float4(lights[i].color[0], lights[i].color[1], lights[i].color[2], lights[i].intensity);
    if (lights[i].flags & 1u)
        v.colorIntensity.w *= 0.5f;
    out[i] = v;
}

__global__ void cullLights(const ViewLight* lights, int count, const float2* bounds, int* tileCount, unsigned short* tileList)
{
    __shared__ int n;
    __shared__ unsigned short list[MAX_PER_TILE];
    int tile = blockIdx.y * gridDim.x + blockIdx.x;
    if (threadIdx.x == 0)
        n = 0;
    __syncthreads();

    float2 zb = bounds[tile];
    // view space AABB of the tile
    float l = (2.0f * (blockIdx.x * TILE) / W - 1.0f) * c_cam.tanX;
    float r = (2.0f * (blockIdx.x * TILE + TILE) / W - 1.0f) * c_cam.tanX;
    float t = (2.0f * (blockIdx.y * TILE) / H - 1.0f) * c_cam.tanY;
    float b = (2.0f * (blockIdx.y * TILE + TILE) / H - 1.0f) * c_cam.tanY;
    float x0 = fminf(l * zb.x, l * zb.y);
    float x1 = fmaxf(r * zb.x, r * zb.y);
    float y0 = fminf(t * zb.x, t * zb.y);
    float y1 = fmaxf(b * zb.x, b * zb.y);

    for (int i = threadIdx.x; i < count; i += blockDim.x)
    {
        float4 p = lights[i].posRadius;
        float dx = p.x - fminf(fmaxf(p.x, x0), x1);
        float dy = p.y - fminf(fmaxf(p.y, y0), y1);
        float dz = p.z - fminf(fmaxf(p.z, zb.x), zb.y);
        float rad = p.w + 0.01f;
        if (dx * dx + dy * dy + dz * dz <= rad * rad)
        {
            int slot = atomicAdd(&n, 1);
            if (slot < MAX_PER_TILE)
                list[slot] = (unsigned short)i;
        }
    }
    __syncthreads();
    int m = min(n, MAX_PER_TILE);
    if (threadIdx.x == 0)
        tileCount[tile] = n;
    for (int i = threadIdx.x; i < m; i += blockDim.x)
        tileList[tile * MAX_PER_TILE + i] = list[i];
}

__global__ void shade(const float* linear, const uchar4* albedo, const ViewLight* lights, const int* tileCount,
                      const unsigned short* tileList, float3* hdr)
{
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    int tile = blockIdx.y * gridDim.x + blockIdx.x;
    float z = linear[y * W + x];
    float px = (2.0f * (x + 0.5f) / W - 1.0f) * c_cam.tanX * z;
    float py = (2.0f * (y + 0.5f) / H - 1.0f) * c_cam.tanY * z;
    uchar4 a = albedo[y * W + x];
    float3 acc = make_float3(0.02f, 0.02f, 0.03f);
    int n = min(tileCount[tile], MAX_PER_TILE);
    for (int k = 0; k < n; k++)
    {
        int li = tileList[tile * MAX_PER_TILE + k];
        float4 p = lights[li].posRadius;
        float4 c = lights[li].colorIntensity;
        float dx = p.x - px;
        float dy = p.y - py;
        float dz = p.z - z;
        float d2 = dx * dx + dy * dy + dz * dz;
        float f = 1.0f - d2 / (p.w * p.w);
        if (f > 0.0f)
        {
            float s = f * f * c.w;
            acc.x += s * c.x;
            acc.y += s * c.y;
            acc.z += s * c.z;
        }
    }
    hdr[y * W + x] = make_float3(acc.x * a.x / 255.0f, acc.y * a.y / 255.0f, acc.z * a.z / 255.0f);
}

__global__ void blurX(const float3* src, float3* dst)
{
    __shared__ float3 row[128 + 2 * BLUR_R];
    int y = blockIdx.y;
    int base = blockIdx.x * 128 - BLUR_R;
    for (int i = threadIdx.x; i < 128 + 2 * BLUR_R; i += 128)
    {
        int sx = min(max(base + i, 0), W - 1);
        row[i] = src[y * W + sx];
    }
    __syncthreads();
    int x = blockIdx.x * 128 + threadIdx.x;
    if (x >= W)
        return;
    float3 s = make_float3(0, 0, 0);
#pragma unroll
    for (int k = 0; k <= 2 * BLUR_R; k++)
    {
        float3 v = row[threadIdx.x + k];
        s.x += v.x * c_blur[k];
        s.y += v.y * c_blur[k];
        s.z += v.z * c_blur[k];
    }
    dst[y * W + x] = s;
}

// vertical blur fused with the tonemapper
__global__ void blurYTonemap(const float3* hdr, const float3* blurred, uchar4* ldr, float exposure)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H)
        return;
    float r = 0, g = 0, b = 0;
    for (int k = -BLUR_R; k <= BLUR_R; k++)
    {
        int sy = min(max(y + k, 0), H - 1);
        float3 v = blurred[sy * W + x];
        r += v.x * c_blur[k + BLUR_R];
        g += v.y * c_blur[k + BLUR_R];
        b += v.z * c_blur[k + BLUR_R];
    }
    float3 c = hdr[y * W + x];
    r = (c.x + 0.3f * r) * exposure;
    g = (c.y + 0.3f * g) * exposure;
    b = (c.z + 0.3f * b) * exposure;
    uchar4 o;
    o.x = (u8)(255.0f * r / (1.0f + r) + 0.5f);
    o.y = (u8)(255.0f * g / (1.0f + g) + 0.5f);
    o.z = (u8)(255.0f * b / (1.0f + b) + 0.5f);
    o.w = 255;
    ldr[y * W + x] = o;
}

static u32 g_seed = 77u;
static float frand(float a, float b)
{
    g_seed = g_seed * 1103515245u + 12345u;
    return a + (b - a) * ((g_seed >> 8) & 0xffff) / 65535.0f;
}

int main()
{
    Camera cam = {};
    float th = 0.3f;
    float v[12] = {cosf(th), 0, -sinf(th), 0.5f, 0, 1, 0, -0.25f, sinf(th), 0, cosf(th), 1.0f};
    memcpy(cam.view, v, sizeof(v));
    cam.tanX = 1.0f;
    cam.tanY = (float)H / W;
    cam.zNear = 0.5f;
    cam.zFar = 100.0f;

    std::vector<float> depth(W * H);
    std::vector<uchar4> albedo(W * H);
    for (int y = 0; y < H; y++)
    {
        for (int x = 0; x < W; x++)
        {
            float z = 12.0f + 6.0f * sinf(x * 0.01f) + 4.0f * cosf(y * 0.02f);
            if (((x / 90) + (y / 70)) % 3 == 0)
                z += 15.0f;
            depth[y * W + x] = cam.zFar * (z - cam.zNear) / (z * (cam.zFar - cam.zNear));
            u8 g = (u8)(100 + (x * 7 + y * 3) % 150);
            albedo[y * W + x] = make_uchar4(g, (u8)(255 - g / 2), 200, 255);
        }
    }
    std::vector<Light> lights(NUM_LIGHTS);
    for (int i = 0; i < NUM_LIGHTS; i++)
    {
        Light& L = lights[i];
        memset(&L, 0, sizeof(L));
        L.pos[2] = frand(5, 40);
        L.pos[0] = frand(-25, 25);
        L.pos[1] = frand(-12, 12);
        L.radius = frand(2.0f, 5.0f);
        for (int k = 0; k < 3; k++)
            L.color[k] = frand(0.2f, 1.0f);
        L.intensity = frand(0.5f, 2.0f);
        L.flags = i % 5 == 0;
    }
    float blur[2 * BLUR_R + 1];
    float sum = 0;
    for (int k = -BLUR_R; k <= BLUR_R; k++)
        sum += blur[k + BLUR_R] = expf(-k * k / 12.0f);
    for (int k = 0; k <= 2 * BLUR_R; k++)
        blur[k] /= sum;

    CU(cudaMemcpyToSymbol(c_cam, &cam, sizeof(cam)));
    CU(cudaMemcpyToSymbol(c_blur, blur, sizeof(blur)));
    float *dDepth, *dLinear;
    float2* dBounds;
    Light* dLights;
    ViewLight* dView;
    int* dCount;
    unsigned short* dList;
    uchar4 *dAlbedo, *dLdr;
    float3 *dHdr, *dTmp;
    CU(cudaMalloc(&dDepth, W * H * sizeof(float)));
    CU(cudaMalloc(&dLinear, W * H * sizeof(float)));
    CU(cudaMalloc(&dBounds, TX * TY * sizeof(float2)));
    CU(cudaMalloc(&dLights, NUM_LIGHTS * sizeof(Light)));
    CU(cudaMalloc(&dView, NUM_LIGHTS * sizeof(ViewLight)));
    CU(cudaMalloc(&dCount, TX * TY * sizeof(int)));
    CU(cudaMalloc(&dList, TX * TY * MAX_PER_TILE * sizeof(unsigned short)));
    CU(cudaMalloc(&dAlbedo, W * H * sizeof(uchar4)));
    CU(cudaMalloc(&dLdr, W * H * sizeof(uchar4)));
    CU(cudaMalloc(&dHdr, W * H * sizeof(float3)));
    CU(cudaMalloc(&dTmp, W * H * sizeof(float3)));
    CU(cudaMemcpy(dDepth, depth.data(), W * H * sizeof(float), cudaMemcpyHostToDevice));
    CU(cudaMemcpy(dAlbedo, albedo.data(), W * H * sizeof(uchar4), cudaMemcpyHostToDevice));
    CU(cudaMemcpy(dLights, lights.data(), NUM_LIGHTS * sizeof(Light), cudaMemcpyHostToDevice));

    dim3 tiles(TX, TY);
    dim3 pix(TILE, TILE);
    tileDepthBounds<<<tiles, pix>>>(dDepth, dLinear, dBounds);
    transformLights<<<(NUM_LIGHTS + 63) / 64, 64>>>(dLights, dView, NUM_LIGHTS);
    cullLights<<<tiles, 64>>>(dView, NUM_LIGHTS, dBounds, dCount, dList);
    shade<<<tiles, pix>>>(dLinear, dAlbedo, dView, dCount, dList, dHdr);
    blurX<<<dim3((W + 127) / 128, H), 128>>>(dHdr, dTmp);
    blurYTonemap<<<dim3((W + 31) / 32, (H + 7) / 8), dim3(32, 8)>>>(dHdr, dTmp, dLdr, 0.8f);
    CU(cudaGetLastError());
    CU(cudaDeviceSynchronize());

    std::vector<float3> hdr(W * H);
    std::vector<uchar4> ldr(W * H);
    std::vector<int> count(TX * TY);
    CU(cudaMemcpy(hdr.data(), dHdr, W * H * sizeof(float3), cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(ldr.data(), dLdr, W * H * sizeof(uchar4), cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(count.data(), dCount, TX * TY * sizeof(int), cudaMemcpyDeviceToHost));

    int errors = 0, maxTile = 0;
    for (int i = 0; i < TX * TY; i++)
    {
        if (count[i] > maxTile)
            maxTile = count[i];
    }
    if (maxTile > MAX_PER_TILE)
        errors++;
    // brute force shading of a subset of the pixels
    for (int p = 3; p < W * H; p += 41)
    {
        int x = p % W, y = p / W;
        float z = linearDepth(depth[p], cam.zNear, cam.zFar);
        float px = (2.0f * (x + 0.5f) / W - 1.0f) * cam.tanX * z;
        float py = (2.0f * (y + 0.5f) / H - 1.0f) * cam.tanY * z;
        float r = 0.02f;
        for (const Light& L : lights)
        {
            float lx = v[0] * L.pos[0] + v[1] * L.pos[1] + v[2] * L.pos[2] + v[3];
            float ly = v[4] * L.pos[0] + v[5] * L.pos[1] + v[6] * L.pos[2] + v[7];
            float lz = v[8] * L.pos[0] + v[9] * L.pos[1] + v[10] * L.pos[2] + v[11];
            float d2 = (lx - px) * (lx - px) + (ly - py) * (ly - py) + (lz - z) * (lz - z);
            float f = 1.0f - d2 / (L.radius * L.radius);
            if (f > 0)
                r += f * f * L.intensity * (L.flags & 1 ? 0.5f : 1.0f) * L.color[0];
        }
        r *= albedo[p].x / 255.0f;
        if (fabsf(r - hdr[p].x) > 4e-3f * (1.0f + r))
            errors++;
    }
    // blur + tonemap from the GPU's own hdr image
    for (int p = 11; p < W * H; p += 301)
    {
        int x = p % W, y = p / W;
        float s = 0;
        for (int j = -BLUR_R; j <= BLUR_R; j++)
        {
            for (int i = -BLUR_R; i <= BLUR_R; i++)
            {
                int sx = x + i < 0 ? 0 : (x + i >= W ? W - 1 : x + i);
                int sy = y + j < 0 ? 0 : (y + j >= H ? H - 1 : y + j);
                s += blur[j + BLUR_R] * blur[i + BLUR_R] * hdr[sy * W + sx].y;
            }
        }
        float g = (hdr[p].y + 0.3f * s) * 0.8f;
        int ref = (int)(255.0f * g / (1.0f + g) + 0.5f);
        if (abs(ref - (int)ldr[p].y) > 1 || ldr[p].w != 255)
            errors++;
    }
    printf("max lights per tile %d, errors %d\n%s\n", maxTile, errors, errors ? "FAIL" : "PASS");
    return errors ? 1 : 0;
}
