// RGBA8 image filters: bilateral (shared-memory tile), bilateral on packed
// RGB24, 3x3 per-channel median (four rows per thread), and a horizontal
// box blur written by somebody in a hurry.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

using u8 = unsigned char;

constexpr int W = 1280, H = 720;
constexpr int RAD = 2;                       // bilateral radius
constexpr int TX = 32, TY = 8;
__constant__ float kSpatial[2 * RAD + 1];    // separable spatial weights
constexpr float kRangeInv = 1.0f / (2.0f * 30.0f * 30.0f);

#define TRY(c) do { cudaError_t q_ = (c); if (q_ != cudaSuccess) { \
    std::printf("%s -> %s\n", #c, cudaGetErrorString(q_)); std::exit(1); } } while (0)

__host__ __device__ inline int clampi(int v, int lo, int hi) {
    return v < lo ? lo : (v > hi ? hi : v);
}

__device__ __forceinline__ u8 to_u8(float v) { return (u8)__float2int_rn(fminf(fmaxf(v, 0.f), 255.f)); }

__global__ void bilateral_rgba(const uchar4 *__restrict__ src, uchar4 *__restrict__ dst) {
    __shared__ uchar4 tile[TY + 2 * RAD][TX + 2 * RAD];
    const int bx = blockIdx.x * TX, by = blockIdx.y * TY;
    const int tid = threadIdx.y * TX + threadIdx.x;
    for (int p = tid; p < (TY + 2 * RAD) * (TX + 2 * RAD); p += TX * TY) {
        const int r = p / (TX + 2 * RAD), c = p % (TX + 2 * RAD);
        tile[r][c] = src[clampi(by + r - RAD, 0, H - 1) * W + clampi(bx + c - RAD, 0, W - 1)];
    }
    __syncthreads();

    const uchar4 mid = tile[threadIdx.y + RAD][threadIdx.x + RAD];
    float3 sum = make_float3(0.f, 0.f, 0.f);
    float wsum = 0.f;
#pragma unroll
    for (int dy = 0; dy <= 2 * RAD; ++dy)
#pragma unroll
        for (int dx = 0; dx <= 2 * RAD; ++dx) {
            const uchar4 q = tile[threadIdx.y + dy][threadIdx.x + dx];
            const float dr = (float)q.x - mid.x, dg = (float)q.y - mid.y, db = (float)q.z - mid.z;
            const float w = kSpatial[dy] * kSpatial[dx] *
                            __expf(-(dr * dr + dg * dg + db * db) * kRangeInv);
            sum.x += w * q.x; sum.y += w * q.y; sum.z += w * q.z;
            wsum += w;
        }
    const float inv = 1.0f / wsum;
    dst[(by + threadIdx.y) * W + bx + threadIdx.x] =
        make_uchar4(to_u8(sum.x * inv), to_u8(sum.y * inv), to_u8(sum.z * inv), mid.w);
}

// three bytes per pixel, no staging
__global__ void bilateral_rgb24(const u8 *src, u8 *dst) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H) return;
    const u8 *mid = src + 3 * (y * W + x);
    float acc[3] = {0.f, 0.f, 0.f}, wsum = 0.f;
    for (int dy = -RAD; dy <= RAD; ++dy)
        for (int dx = -RAD; dx <= RAD; ++dx) {
            const u8 *q = src + 3 * (clampi(y + dy, 0, H - 1) * W + clampi(x + dx, 0, W - 1));
            const float dr = (float)q[0] - mid[0], dg = (float)q[1] - mid[1], db = (float)q[2] - mid[2];
            const float w = kSpatial[dy + RAD] * kSpatial[dx + RAD] *
                            __expf(-(dr * dr + dg * dg + db * db) * kRangeInv);
            for (int c = 0; c < 3; ++c) acc[c] += w * q[c];
            wsum += w;
        }
    for (int c = 0; c < 3; ++c) dst[3 * (y * W + x) + c] = to_u8(acc[c] / wsum);
}

__device__ __forceinline__ void order(unsigned &a, unsigned &b) {   // four bytes at once
    const unsigned lo = __vminu4(a, b), hi = __vmaxu4(a, b);
    a = lo; b = hi;
}

// 3x3 median on all four channels with byte SIMD; 4 output rows per thread
__global__ void __launch_bounds__(128) median3x3(const unsigned *__restrict__ src, unsigned *__restrict__ dst) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y0 = blockIdx.y * 4;
    const int xl = max(x - 1, 0), xr = min(x + 1, W - 1);
    unsigned row[3][3];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        const unsigned *line = src + clampi(y0 + r - 1, 0, H - 1) * W;
        row[r][0] = line[xl]; row[r][1] = line[x]; row[r][2] = line[xr];
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const unsigned *line = src + min(y0 + k + 1, H - 1) * W;
        row[2][0] = line[xl]; row[2][1] = line[x]; row[2][2] = line[xr];
        unsigned p[9];
#pragma unroll
        for (int i = 0; i < 9; ++i) p[i] = row[i / 3][i % 3];
        order(p[1], p[2]); order(p[4], p[5]); order(p[7], p[8]);
        order(p[0], p[1]); order(p[3], p[4]); order(p[6], p[7]);
        order(p[1], p[2]); order(p[4], p[5]); order(p[7], p[8]);
        order(p[0], p[3]); order(p[5], p[8]); order(p[4], p[7]);
        order(p[3], p[6]); order(p[1], p[4]); order(p[2], p[5]);
        order(p[4], p[7]); order(p[4], p[2]); order(p[6], p[4]);
        order(p[4], p[2]);
        dst[(y0 + k) * W + x] = p[4];
#pragma unroll
        for (int i = 0; i < 3; ++i) { row[0][i] = row[1][i]; row[1][i] = row[2][i]; }
    }
}

// one thread per image row, running sum along x: every access is a row apart
__global__ void hblur_rows(const uchar4 *src, uchar4 *dst) {
    const int y = blockIdx.x * blockDim.x + threadIdx.x;
    const int x0 = blockIdx.y * 64;
    if (y >= H) return;
    int4 s = make_int4(0, 0, 0, 0);
    for (int d = -3; d <= 2; ++d) {
        const uchar4 q = src[y * W + clampi(x0 + d, 0, W - 1)];
        s.x += q.x; s.y += q.y; s.z += q.z; s.w += q.w;
    }
    for (int x = x0; x < x0 + 64; ++x) {
        const uchar4 in = src[y * W + min(x + 3, W - 1)];
        s.x += in.x; s.y += in.y; s.z += in.z; s.w += in.w;
        dst[y * W + x] = make_uchar4(s.x / 7, s.y / 7, s.z / 7, s.w / 7);
        const uchar4 out = src[y * W + max(x - 3, 0)];
        s.x -= out.x; s.y -= out.y; s.z -= out.z; s.w -= out.w;
    }
}

int main() {
    std::vector<u8> img(4 * W * H), rgb(3 * W * H), a(4 * W * H), b(3 * W * H), m(4 * W * H), hb(4 * W * H);
    uint64_t s = 0x9E3779B97F4A7C15ull;
    for (int p = 0; p < W * H; ++p)
        for (int c = 0; c < 4; ++c) {
            s ^= s << 7; s ^= s >> 9;
            img[4 * p + c] = (u8)(((p % W) / 8 + (p / W) / 4 + 40 * c + (int)(s & 31)) & 255);
            if (c < 3) rgb[3 * p + c] = img[4 * p + c];
        }
    float sp[2 * RAD + 1];
    for (int d = -RAD; d <= RAD; ++d) sp[d + RAD] = std::exp(-d * d / (2.0f * 1.5f * 1.5f));

    u8 *dSrc, *dDst, *dRgb, *dRgbOut, *dMed, *dBlur;
    TRY(cudaMalloc(&dSrc, img.size())); TRY(cudaMalloc(&dDst, img.size()));
    TRY(cudaMalloc(&dRgb, rgb.size())); TRY(cudaMalloc(&dRgbOut, rgb.size()));
    TRY(cudaMalloc(&dMed, img.size())); TRY(cudaMalloc(&dBlur, img.size()));
    TRY(cudaMemcpy(dSrc, img.data(), img.size(), cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(dRgb, rgb.data(), rgb.size(), cudaMemcpyHostToDevice));
    TRY(cudaMemcpyToSymbol(kSpatial, sp, sizeof(sp)));

    bilateral_rgba<<<dim3(W / TX, H / TY), dim3(TX, TY)>>>((const uchar4 *)dSrc, (uchar4 *)dDst);
    bilateral_rgb24<<<dim3(W / 16, H / 16), dim3(16, 16)>>>(dRgb, dRgbOut);
    median3x3<<<dim3(W / 128, H / 4), 128>>>((const unsigned *)dSrc, (unsigned *)dMed);
    hblur_rows<<<dim3((H + 63) / 64, W / 64), 64>>>((const uchar4 *)dSrc, (uchar4 *)dBlur);
    TRY(cudaGetLastError());
    TRY(cudaMemcpy(a.data(), dDst, a.size(), cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(b.data(), dRgbOut, b.size(), cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(m.data(), dMed, m.size(), cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(hb.data(), dBlur, hb.size(), cudaMemcpyDeviceToHost));

    int bad = 0;                              // every 9th row is enough
    for (int y = 0; y < H; y += (y == H - 9 ? 8 : 9))
        for (int x = 0; x < W; ++x) {
            auto px = [&](int xx, int yy, int c) {
                return (int)img[4 * (clampi(yy, 0, H - 1) * W + clampi(xx, 0, W - 1)) + c];
            };
            float acc[3] = {0, 0, 0}, ws = 0;
            for (int dy = -RAD; dy <= RAD; ++dy)
                for (int dx = -RAD; dx <= RAD; ++dx) {
                    float d2 = 0;
                    for (int c = 0; c < 3; ++c) { float d = float(px(x + dx, y + dy, c) - px(x, y, c)); d2 += d * d; }
                    const float w = sp[dy + RAD] * sp[dx + RAD] * std::exp(-d2 * kRangeInv);
                    for (int c = 0; c < 3; ++c) acc[c] += w * px(x + dx, y + dy, c);
                    ws += w;
                }
            for (int c = 0; c < 3; ++c) {
                bad += std::fabs(a[4 * (y * W + x) + c] - acc[c] / ws) > 0.51f;
                bad += std::fabs(b[3 * (y * W + x) + c] - acc[c] / ws) > 0.51f;
            }
            for (int c = 0; c < 4; ++c) {
                int v[9], sum = 0;
                for (int i = 0; i < 9; ++i) v[i] = px(x + i % 3 - 1, y + i / 3 - 1, c);
                std::nth_element(v, v + 4, v + 9);
                bad += m[4 * (y * W + x) + c] != v[4];
                for (int d = -3; d <= 3; ++d) sum += px(x + d, y, c);
                bad += hb[4 * (y * W + x) + c] != sum / 7;
            }
        }
    for (u8 *p : {dSrc, dDst, dRgb, dRgbOut, dMed, dBlur}) cudaFree(p);
    std::printf("%d bad samples\n%s\n", bad, bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
