// Sphere-traced SDF scene with soft shadows and a tone-map + box blur post pass. Old-school macros for vectors.
#include <cuda_runtime.h>
#include <cstdio>
#include <cmath>
#include <vector>
#include <algorithm>

#define HD __host__ __device__ __forceinline__
HD float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
HD float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
HD float3 operator*(float3 a, float s) { return make_float3(a.x * s, a.y * s, a.z * s); }
HD float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
HD float len(float3 a) { return sqrtf(dot(a, a)); }
HD float3 norm(float3 a) { return a * (1.0f / len(a)); }

struct Sphere { float3 c; float r; };
struct Scene { Sphere s[6]; int n; float3 light; };

struct Map {
    const Scene& sc;
    HD float operator()(float3 p) const {
        float d = p.y + 1.0f;                       // floor
        for (int i = 0; i < sc.n; ++i) d = fminf(d, len(p - sc.s[i].c) - sc.s[i].r);
        float qx = sqrtf(p.x * p.x + p.z * p.z) - 2.2f;   // torus
        return fminf(d, sqrtf(qx * qx + p.y * p.y) - 0.25f);
    }
};

HD float trace(const Map& m, float3 o, float3 d, float tmax) {
    float t = 0.02f;
    for (int i = 0; i < 96 && t < tmax; ++i) {
        float h = m(o + d * t);
        if (h < 1e-3f) return t;
        t += h;
    }
    return t < tmax ? t : -1.f;
}
HD float soft_shadow(const Map& m, float3 o, float3 d, float k) {
    float res = 1.f, t = 0.05f;
    for (int i = 0; i < 40; ++i) {
        float h = m(o + d * t);
        res = fminf(res, k * h / t);
        t += fminf(fmaxf(h, 0.02f), 0.4f);
        if (res < 0.005f || t > 8.f) break;
    }
    return fmaxf(res, 0.f);
}
HD float shade(const Scene& sc, int x, int y, int w, int h) {
    Map m{sc};
    float u = (2.f * x - w) / h, v = (h - 2.f * y) / h;
    float3 o = make_float3(0.3f, 1.6f, -6.f), d = norm(make_float3(u, v - 0.3f, 1.8f));
    float t = trace(m, o, d, 20.f);
    if (t < 0) return 0.1f + 0.2f * fmaxf(0.f, d.y);
    float3 p = o + d * t;
    const float e = 2e-3f;
    float3 n = norm(make_float3(m(p + make_float3(e, 0, 0)) - m(p - make_float3(e, 0, 0)), m(p + make_float3(0, e, 0)) - m(p - make_float3(0, e, 0)),
                                m(p + make_float3(0, 0, e)) - m(p - make_float3(0, 0, e))));
    float3 l = norm(sc.light - p);
    float diff = fmaxf(0.f, dot(n, l));
    return 0.08f + diff * (diff > 0 ? soft_shadow(m, p + n * 0.01f, l, 8.f) : 0.f);
}

__global__ void render_param(Scene sc, float* img, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h) img[y * w + x] = shade(sc, x, y, w, h);
}
// persistent: blocks pull 16x12 tiles off a global counter
__global__ void render_persistent(Scene sc, float* img, int w, int h, unsigned* next) {
    __shared__ unsigned tile;
    int tx = (w + 15) / 16, ty = (h + 11) / 12;
    for (;;) {
        if (threadIdx.x == 0) tile = atomicAdd(next, 1u);
        __syncthreads();
        unsigned t = tile;
        __syncthreads();
        if (t >= (unsigned)(tx * ty)) return;
        int x = t % tx * 16 + threadIdx.x % 16, y = t / tx * 12 + threadIdx.x / 16;
        if (x < w && y < h) img[y * w + x] = shade(sc, x, y, w, h);
    }
}
__global__ void box_rows(const float* in, float* out, int w, int h, int r) {   // one thread a row, running sum
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= h) return;
    float s = 0;
    for (int x = -r; x <= r; ++x) s += in[y * w + min(max(x, 0), w - 1)];
    for (int x = 0; x < w; ++x) {
        out[y * w + x] = s / (2 * r + 1);
        s += in[y * w + min(x + r + 1, w - 1)] - in[y * w + max(x - r, 0)];
    }
}
__global__ void box_cols(const float* in, float* out, int w, int h, int r) {   // coalesced version for columns
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= w) return;
    float s = 0;
    for (int y = -r; y <= r; ++y) s += in[min(max(y, 0), h - 1) * w + x];
    for (int y = 0; y < h; ++y) {
        out[y * w + x] = s / (2 * r + 1);
        s += in[min(y + r + 1, h - 1) * w + x] - in[max(y - r, 0) * w + x];
    }
}
__global__ void tonemap(const float* a, const float* b, uchar4* o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = 0.8f * a[i] + 0.2f * b[i];
    v = v / (1.f + v);
    unsigned char c = (unsigned char)fminf(255.f, 255.f * sqrtf(v) + 0.5f);
    o[i] = make_uchar4(c, c, (unsigned char)(c / 2 + 100), 255);
}

int main(int argc, char** argv) {
    int w = 500, h = 300, N = w * h, r = 4;
    Scene sc; sc.n = 6; sc.light = make_float3(4, 6, -3);
    for (int i = 0; i < 6; ++i) sc.s[i] = {make_float3(1.4f * cosf(i * 1.05f), -0.4f + 0.15f * i, 1.4f * sinf(i * 1.05f)), 0.35f + 0.05f * i};
    float *a, *b, *t, *bl; uchar4* o; unsigned* nx;
    cudaMalloc(&a, N * 4); cudaMalloc(&b, N * 4); cudaMalloc(&t, N * 4); cudaMalloc(&bl, N * 4); cudaMalloc(&o, N * 4); cudaMalloc(&nx, 4);
    cudaMemset(nx, 0, 4);
    render_param<<<dim3((w + 31) / 32, (h + 3) / 4), dim3(32, 4)>>>(sc, a, w, h);
    render_persistent<<<264, 192>>>(sc, b, w, h, nx);
    box_rows<<<(h + 63) / 64, 64>>>(b, t, w, h, r);
    box_cols<<<(w + 63) / 64, 64>>>(t, bl, w, h, r);
    tonemap<<<(N + 255) / 256, 256>>>(b, bl, o, N);
    std::vector<float> ha(N), hb(N), hbl(N), ht(N), hr(N); std::vector<uchar4> ho(N);
    cudaMemcpy(ha.data(), a, N * 4, cudaMemcpyDeviceToHost); cudaMemcpy(hb.data(), b, N * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(hbl.data(), bl, N * 4, cudaMemcpyDeviceToHost); cudaMemcpy(ho.data(), o, N * 4, cudaMemcpyDeviceToHost);
    if (cudaGetLastError() != cudaSuccess) { puts("FAIL"); return 1; }
    long diff = 0, mism = 0, cnt = 0, bad = 0;
    for (int i = 0; i < N; ++i) if (fabsf(ha[i] - hb[i]) > 1e-2f) ++diff;
    for (int y = 0; y < h; y += 3) for (int x = 0; x < w; x += 3) { ++cnt; if (fabsf(shade(sc, x, y, w, h) - hb[y * w + x]) > 0.03f) ++mism; }
    for (int y = 0; y < h; ++y) for (int x = 0; x < w; ++x) { double s = 0; for (int k = -r; k <= r; ++k) s += hb[y * w + std::min(std::max(x + k, 0), w - 1)]; ht[y * w + x] = s / (2 * r + 1); }
    for (int y = 0; y < h; ++y) for (int x = 0; x < w; ++x) {
        double s = 0; for (int k = -r; k <= r; ++k) s += ht[std::min(std::max(y + k, 0), h - 1) * w + x];
        int i = y * w + x; s /= 2 * r + 1;
        if (fabs(s - hbl[i]) > 1e-3) ++bad;
        float v = 0.8f * hb[i] + 0.2f * hbl[i]; v = v / (1 + v);
        if (abs((int)fminf(255.f, 255.f * sqrtf(v) + 0.5f) - (int)ho[i].x) > 1) ++bad;
    }
    printf("variants differ %ld, cpu mismatch %ld/%ld (grazing rays), bad %ld\n", diff, mism, cnt, bad);
    bool ok = diff < N / 100 && mism < cnt / 50 && bad == 0;   // silhouettes may flip
    puts(ok ? "PASS" : "FAIL");
    return !ok;
}
