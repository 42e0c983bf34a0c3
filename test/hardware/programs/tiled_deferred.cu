// Tiled deferred lighting + bloom + auto exposure, the way our little engine does it.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <vector>

static void Check(cudaError_t e, const char* where)
{
    if (e != cudaSuccess) { fprintf(stderr, "[gfx] %s: %s\n", where, cudaGetErrorString(e)); exit(1); }
}
#define GFX(x) Check((x), #x)

// ---- tiny math lib ----------------------------------------------------------
struct Vec3 { float x, y, z; };
__host__ __device__ inline Vec3 operator+(Vec3 a, Vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__host__ __device__ inline Vec3 operator-(Vec3 a, Vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__host__ __device__ inline Vec3 operator*(Vec3 a, Vec3 b) { return {a.x * b.x, a.y * b.y, a.z * b.z}; }
__host__ __device__ inline Vec3 operator*(Vec3 a, float s) { return {a.x * s, a.y * s, a.z * s}; }
__host__ __device__ inline float Dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__host__ __device__ inline float Saturate(float v) { return v < 0.f ? 0.f : (v > 1.f ? 1.f : v); }
__host__ __device__ inline float Luma(Vec3 c) { return 0.2126f * c.x + 0.7152f * c.y + 0.0722f * c.z; }

struct PointLight            // 48 bytes, same layout as the HLSL structured buffer
{
    Vec3 pos; float radius;
    Vec3 color; float intensity;
    int  id; int pad[3];
};

struct GBufferTexel
{
    unsigned albedo;         // rgba8
    short nx, ny;            // octahedral-ish, snorm16
    float height;
};

constexpr int TILE = 16;
constexpr int MAX_TILE_LIGHTS = 320;
constexpr int HIST_BINS = 64;
constexpr int BLUR_RADIUS = 8;
__constant__ float c_blur[2 * BLUR_RADIUS + 1];

__host__ __device__ inline Vec3 UnpackAlbedo(unsigned p)
{
    return {(p & 255u) / 255.f, ((p >> 8) & 255u) / 255.f, ((p >> 16) & 255u) / 255.f};
}
__host__ __device__ inline Vec3 UnpackNormal(short sx, short sy)
{
    float x = sx / 32767.f, y = sy / 32767.f;
    return {x, y, sqrtf(fmaxf(0.f, 1.f - x * x - y * y))};
}
__host__ __device__ inline Vec3 ShadePoint(const PointLight& l, Vec3 p, Vec3 n, Vec3 albedo)
{
    Vec3 d = l.pos - p;
    float d2 = Dot(d, d);
    float r2 = l.radius * l.radius;
    if (d2 >= r2) return {0, 0, 0};
    float inv = 1.f / sqrtf(d2 + 1e-3f);
    float ndl = Saturate(Dot(n, d) * inv);
    float w = 1.f - d2 / r2;
    float h = Saturate(d.z * inv);
    float spec = h * h; spec *= spec; spec *= spec;
    return (albedo * ndl + Vec3{spec, spec, spec} * 0.1f) * l.color * (l.intensity * w * w);
}

// ---- kernels ------------------------------------------------------------------
__global__ void LightTiles(const GBufferTexel* gbuf, const PointLight* lights, int numLights,
                           Vec3* hdr, int* tileCounts, int w, int h)
{
    __shared__ int s_count;
    __shared__ unsigned short s_list[MAX_TILE_LIGHTS];
    __shared__ float s_minZ[TILE * TILE], s_maxZ[TILE * TILE];

    int tid = threadIdx.y * TILE + threadIdx.x;
    int px = blockIdx.x * TILE + threadIdx.x, py = blockIdx.y * TILE + threadIdx.y;
    bool inside = px < w && py < h;

    GBufferTexel g = {};
    if (inside) g = gbuf[py * w + px];
    s_minZ[tid] = inside ? g.height : 1e30f;
    s_maxZ[tid] = inside ? g.height : -1e30f;
    if (tid == 0) s_count = 0;
    __syncthreads();
    for (int stride = 1; stride < TILE * TILE; stride *= 2)
    {
        int i = 2 * stride * tid;
        if (i < TILE * TILE)
        {
            s_minZ[i] = fminf(s_minZ[i], s_minZ[i + stride]);
            s_maxZ[i] = fmaxf(s_maxZ[i], s_maxZ[i + stride]);
        }
        __syncthreads();
    }
    float zmin = s_minZ[0], zmax = s_maxZ[0];

    float x0 = blockIdx.x * TILE, y0 = blockIdx.y * TILE;
    for (int i = tid; i < numLights; i += TILE * TILE)
    {
        const PointLight& l = lights[i];
        float cx = fminf(fmaxf(l.pos.x, x0), x0 + TILE), cy = fminf(fmaxf(l.pos.y, y0), y0 + TILE);
        float cz = fminf(fmaxf(l.pos.z, zmin), zmax);
        float dx = l.pos.x - cx, dy = l.pos.y - cy, dz = l.pos.z - cz;
        if (dx * dx + dy * dy + dz * dz <= l.radius * l.radius * 1.01f)
        {
            int slot = atomicAdd(&s_count, 1);
            if (slot < MAX_TILE_LIGHTS) s_list[slot] = (unsigned short)i;
        }
    }
    __syncthreads();

    int n = min(s_count, MAX_TILE_LIGHTS);
    if (tid == 0) tileCounts[blockIdx.y * gridDim.x + blockIdx.x] = n;
    if (!inside) return;

    Vec3 p = {px + 0.5f, py + 0.5f, g.height};
    Vec3 nrm = UnpackNormal(g.nx, g.ny), albedo = UnpackAlbedo(g.albedo);
    Vec3 sum = albedo * 0.03f;
    for (int i = 0; i < n; ++i) sum = sum + ShadePoint(lights[s_list[i]], p, nrm, albedo);
    hdr[py * w + px] = sum;
}

// half-res bright pass
__global__ void BrightPass(const Vec3* hdr, Vec3* bright, int w, int h, float threshold)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int hw = w / 2, hh = h / 2;
    if (x >= hw || y >= hh) return;
    Vec3 c = (hdr[(2 * y) * w + 2 * x] + hdr[(2 * y) * w + 2 * x + 1] +
              hdr[(2 * y + 1) * w + 2 * x] + hdr[(2 * y + 1) * w + 2 * x + 1]) * 0.25f;
    float l = Luma(c);
    bright[y * hw + x] = c * (fmaxf(l - threshold, 0.f) / (l + 1e-4f));
}

__global__ void BlurH(const Vec3* src, Vec3* dst, int w, int h)
{
    extern __shared__ Vec3 s_row[];
    int y = blockIdx.y, x0 = blockIdx.x * blockDim.x;
    for (int i = threadIdx.x; i < (int)blockDim.x + 2 * BLUR_RADIUS; i += blockDim.x)
        s_row[i] = src[y * w + min(max(x0 + i - BLUR_RADIUS, 0), w - 1)];
    __syncthreads();
    int x = x0 + threadIdx.x;
    if (x >= w) return;
    Vec3 acc = {0, 0, 0};
#pragma unroll
    for (int k = 0; k <= 2 * BLUR_RADIUS; ++k) acc = acc + s_row[threadIdx.x + k] * c_blur[k];
    dst[y * w + x] = acc;
}

__global__ void BlurV(const Vec3* src, Vec3* dst, int w, int h)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    int x = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    Vec3 acc = {0, 0, 0};
    for (int k = -BLUR_RADIUS; k <= BLUR_RADIUS; ++k)
        acc = acc + src[min(max(y + k, 0), h - 1) * w + x] * c_blur[k + BLUR_RADIUS];
    dst[y * w + x] = acc;
}

__host__ __device__ inline float Filmic(float c)
{
    float x = fmaxf(c, 0.f);
    return Saturate((x * (2.51f * x + 0.03f)) / (x * (2.43f * x + 0.59f) + 0.14f));
}

__global__ void Composite(const Vec3* hdr, const Vec3* bloom, uchar4* ldr, unsigned* hist, int w, int h, float exposure)
{
    __shared__ unsigned s_hist[HIST_BINS];
    int tid = threadIdx.y * blockDim.x + threadIdx.x;
    if (tid < HIST_BINS) s_hist[tid] = 0;
    __syncthreads();
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h)
    {
        Vec3 c = (hdr[y * w + x] + bloom[(y / 2) * (w / 2) + x / 2] * 0.6f) * exposure;
        uchar4 o;
        o.x = (unsigned char)(Filmic(c.x) * 255.f + 0.5f);
        o.y = (unsigned char)(Filmic(c.y) * 255.f + 0.5f);
        o.z = (unsigned char)(Filmic(c.z) * 255.f + 0.5f);
        o.w = 255;
        ldr[y * w + x] = o;
        atomicAdd(&s_hist[(o.x + 2 * o.y + o.z) / 4 * HIST_BINS / 256], 1u);
    }
    __syncthreads();
    if (tid < HIST_BINS && s_hist[tid]) atomicAdd(&hist[tid], s_hist[tid]);
}

// ---- host -----------------------------------------------------------------------
template <typename T> struct GpuArray
{
    T* p = nullptr; size_t n;
    explicit GpuArray(size_t count) : n(count) { GFX(cudaMalloc((void**)&p, n * sizeof(T))); GFX(cudaMemset(p, 0, n * sizeof(T))); }
    ~GpuArray() { cudaFree(p); }
    GpuArray(const GpuArray&) = delete;
    void Upload(const std::vector<T>& v) { GFX(cudaMemcpy(p, v.data(), n * sizeof(T), cudaMemcpyHostToDevice)); }
    std::vector<T> Download() const { std::vector<T> v(n); GFX(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost)); return v; }
};

int main(int argc, char** argv)
{
    const int W = argc > 2 ? atoi(argv[1]) & ~1 : 636, H = argc > 2 ? atoi(argv[2]) & ~1 : 358, L = 256;
    std::mt19937 rng(90210);
    auto frand = [&rng](float a, float b) { return std::uniform_real_distribution<float>(a, b)(rng); };

    std::vector<GBufferTexel> gbuf(W * H);
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x)
        {
            GBufferTexel& t = gbuf[y * W + x];
            float u = x * 0.043f, v = y * 0.061f;
            t.height = 6.f * sinf(u) * cosf(v) + 3.f * sinf(2.7f * u + v);
            float dx = 0.3f * cosf(u), dy = -0.4f * sinf(v), inv = 1.f / sqrtf(1 + dx * dx + dy * dy);
            t.nx = (short)(-dx * inv * 32767.f);
            t.ny = (short)(-dy * inv * 32767.f);
            t.albedo = 0xff000000u | (rng() & 0x00ffffffu) | 0x00202020u;
        }
    std::vector<PointLight> lights(L);
    for (int i = 0; i < L; ++i)
        lights[i] = {{frand(0, (float)W), frand(0, (float)H), frand(4, 30)}, frand(18, 70),
                     {frand(.2f, 1), frand(.2f, 1), frand(.2f, 1)}, frand(.5f, 4), i, {0, 0, 0}};
    std::array<float, 2 * BLUR_RADIUS + 1> blur;
    for (int k = 0; k < (int)blur.size(); ++k) blur[k] = expf(-(k - BLUR_RADIUS) * (k - BLUR_RADIUS) / 18.f);
    const float norm = std::accumulate(blur.begin(), blur.end(), 0.f);
    std::transform(blur.begin(), blur.end(), blur.begin(), [norm](float b) { return b / norm; });
    GFX(cudaMemcpyToSymbol(c_blur, blur.data(), sizeof(blur)));

    const int hw = W / 2, hh = H / 2, tx = (W + TILE - 1) / TILE, ty = (H + TILE - 1) / TILE;
    GpuArray<GBufferTexel> dG(W * H); dG.Upload(gbuf);
    GpuArray<PointLight> dL(L); dL.Upload(lights);
    GpuArray<Vec3> dHdr(W * H), dA(hw * hh), dB(hw * hh);
    GpuArray<int> dCounts(tx * ty);
    GpuArray<uchar4> dLdr(W * H);
    GpuArray<unsigned> dHist(HIST_BINS);

    const float threshold = 0.8f, exposure = 0.7f;
    const int BLUR_PASSES = 2;
    LightTiles<<<dim3(tx, ty), dim3(TILE, TILE)>>>(dG.p, dL.p, L, dHdr.p, dCounts.p, W, H);
    BrightPass<<<dim3((hw + 31) / 32, (hh + 7) / 8), dim3(32, 8)>>>(dHdr.p, dA.p, W, H, threshold);
    for (int i = 0; i < BLUR_PASSES; ++i)
    {
        BlurH<<<dim3((hw + 127) / 128, hh), 128, (128 + 2 * BLUR_RADIUS) * sizeof(Vec3)>>>(dA.p, dB.p, hw, hh);
        BlurV<<<dim3((hh + 63) / 64, (hw + 3) / 4), dim3(64, 4)>>>(dB.p, dA.p, hw, hh);
    }
    Composite<<<dim3((W + 31) / 32, (H + 7) / 8), dim3(32, 8)>>>(dHdr.p, dA.p, dLdr.p, dHist.p, W, H, exposure);
    GFX(cudaGetLastError());
    GFX(cudaDeviceSynchronize());

    // reference: brute force over all lights
    std::vector<Vec3> hdr(W * H), a(hw * hh), b(hw * hh);
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x)
        {
            const GBufferTexel& t = gbuf[y * W + x];
            Vec3 p = {x + 0.5f, y + 0.5f, t.height}, n = UnpackNormal(t.nx, t.ny), alb = UnpackAlbedo(t.albedo), s = alb * 0.03f;
            for (const auto& l : lights) s = s + ShadePoint(l, p, n, alb);
            hdr[y * W + x] = s;
        }
    for (int y = 0; y < hh; ++y)
        for (int x = 0; x < hw; ++x)
        {
            Vec3 c = {0, 0, 0};
            for (int k = 0; k < 4; ++k) c = c + hdr[(2 * y + k / 2) * W + 2 * x + k % 2] * 0.25f;
            a[y * hw + x] = c * (fmaxf(Luma(c) - threshold, 0.f) / (Luma(c) + 1e-4f));
        }
    auto blurDir = [&](const std::vector<Vec3>& s, std::vector<Vec3>& d, int dx, int dy) {
        for (int y = 0; y < hh; ++y)
            for (int x = 0; x < hw; ++x)
            {
                Vec3 c = {0, 0, 0};
                for (int k = -BLUR_RADIUS; k <= BLUR_RADIUS; ++k)
                    c = c + s[std::clamp(y + k * dy, 0, hh - 1) * hw + std::clamp(x + k * dx, 0, hw - 1)] * blur[k + BLUR_RADIUS];
                d[y * hw + x] = c;
            }
    };
    for (int i = 0; i < BLUR_PASSES; ++i) { blurDir(a, b, 1, 0); blurDir(b, a, 0, 1); }

    const auto gHdr = dHdr.Download(), gBloom = dA.Download();
    const auto gLdr = dLdr.Download();
    const auto gHist = dHist.Download();
    const auto counts = dCounts.Download();
    auto worst = [](const std::vector<Vec3>& g, const std::vector<Vec3>& r) {
        float m = 0;
        for (size_t i = 0; i < g.size(); ++i)
            for (float e : {fabsf(g[i].x - r[i].x) / (r[i].x + .1f), fabsf(g[i].y - r[i].y) / (r[i].y + .1f), fabsf(g[i].z - r[i].z) / (r[i].z + .1f)})
                m = e > m || e != e ? e : m;
        return m;
    };
    int badLdr = 0;
    std::vector<unsigned> hist(HIST_BINS, 0);
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x)
        {
            Vec3 c = (hdr[y * W + x] + a[(y / 2) * hw + x / 2] * 0.6f) * exposure;
            uchar4 o = gLdr[y * W + x];
            auto off = [](float v, int q) { return std::abs(int(Filmic(v) * 255.f + .5f) - q) > 2; };
            badLdr += off(c.x, o.x) || off(c.y, o.y) || off(c.z, o.z);
            hist[(o.x + 2 * o.y + o.z) / 4 * HIST_BINS / 256]++;
        }
    float eHdr = worst(gHdr, hdr), eBloom = worst(gBloom, a);
    int maxTile = *std::max_element(counts.begin(), counts.end());
    printf("%dx%d, %d lights, fullest tile %d\nhdr err %.2e, bloom err %.2e, bad ldr pixels %d\n", W, H, L, maxTile, eHdr, eBloom, badLdr);
    bool pass = eHdr < 2e-3f && eBloom < 2e-3f && badLdr == 0 && hist == gHist;
    puts(pass ? "PASS" : "FAIL");
    return pass ? 0 : 1;
}
