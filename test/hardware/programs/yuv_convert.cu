// Packed pixel formats: RGB24 -> NV12, NV12 -> BGRA, YUYV -> planar 4:2:0, BGRA -> RGB565, alpha blending
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cstdint>
#include <cuda_runtime.h>

#define CLIP8(v) ((v) < 0 ? 0 : ((v) > 255 ? 255 : (v)))

struct __attribute__((packed)) Rgb { uint8_t r, g, b; };
struct Nv12 { uint8_t* y; uchar2* uv; int w, h; };

__host__ __device__ inline int lumaOf(const Rgb& p) { return ((66 * p.r + 129 * p.g + 25 * p.b + 128) >> 8) + 16; }

// one thread per 2x2 quad
__global__ void rgb_to_nv12(const Rgb* __restrict__ src, Nv12 dst)
{
    int qx = blockIdx.x * blockDim.x + threadIdx.x, qy = blockIdx.y * blockDim.y + threadIdx.y;
    if (qx >= dst.w / 2 || qy >= dst.h / 2) return;
    int r = 0, g = 0, b = 0;
#pragma unroll
    for (int j = 0; j < 2; ++j) {
        const Rgb* line = src + (2 * qy + j) * dst.w + 2 * qx;
        Rgb p = line[0], q = line[1];
        r += p.r + q.r; g += p.g + q.g; b += p.b + q.b;
        *reinterpret_cast<uchar2*>(dst.y + (2 * qy + j) * dst.w + 2 * qx) = make_uchar2(lumaOf(p), lumaOf(q));
    }
    r >>= 2; g >>= 2; b >>= 2;
    dst.uv[qy * (dst.w / 2) + qx] = make_uchar2(CLIP8(((-38 * r - 74 * g + 112 * b + 128) >> 8) + 128), CLIP8(((112 * r - 94 * g - 18 * b + 128) >> 8) + 128));
}

// one thread per four horizontal pixels, 16-byte store
__global__ void nv12_to_bgra(const Nv12 src, uint4* __restrict__ dst)
{
    int x4 = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x4 * 4 >= src.w) return;
    uchar4 yy = reinterpret_cast<const uchar4*>(src.y + y * src.w)[x4];
    uchar4 uv = reinterpret_cast<const uchar4*>(src.uv + (y >> 1) * (src.w / 2))[x4];
    auto pix = [](int Y, int U, int V) -> unsigned {
        int c = 298 * (Y - 16), d = U - 128, e = V - 128;
        int r = (c + 409 * e + 128) >> 8, g = (c - 100 * d - 208 * e + 128) >> 8, b = (c + 516 * d + 128) >> 8;
        return CLIP8(b) | CLIP8(g) << 8 | CLIP8(r) << 16 | 0xff000000u;
    };
    dst[y * (src.w / 4) + x4] = make_uint4(pix(yy.x, uv.x, uv.y), pix(yy.y, uv.x, uv.y), pix(yy.z, uv.z, uv.w), pix(yy.w, uv.z, uv.w));
}

__global__ void bgra_to_yuyv(const unsigned* __restrict__ src, uchar4* __restrict__ dst, int pairs)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pairs) return;
    uint2 p = reinterpret_cast<const uint2*>(src)[i];
    Rgb a{uint8_t(p.x >> 16), uint8_t(p.x >> 8), uint8_t(p.x)}, b{uint8_t(p.y >> 16), uint8_t(p.y >> 8), uint8_t(p.y)};
    int r = (a.r + b.r) / 2, g = (a.g + b.g) / 2, bl = (a.b + b.b) / 2;
    dst[i] = make_uchar4(lumaOf(a), ((-38 * r - 74 * g + 112 * bl + 128) >> 8) + 128, lumaOf(b), ((112 * r - 94 * g - 18 * bl + 128) >> 8) + 128);
}

__global__ void yuyv_split(const uint8_t* src, uint8_t* y, uint8_t* u, uint8_t* v, int w, int h)
{
    const int row = blockIdx.x;
    for (int x = threadIdx.x; x < w; x += blockDim.x) {
        y[row * w + x] = src[(row * w + x) * 2];
        if (!(row & 1) && !(x & 1)) {
            unsigned o = (row / 2) * (w / 2) + x / 2;
            u[o] = (src[(row * w + x) * 2 + 1] + src[((row + 1) * w + x) * 2 + 1] + 1) / 2;
            v[o] = (src[(row * w + x) * 2 + 3] + src[((row + 1) * w + x) * 2 + 3] + 1) / 2;
        }
    }
}

__global__ void blend_565(const uchar4* a, const uchar4* b, unsigned short* out, int n, unsigned char alpha)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uchar4 p = a[i], q = b[n - 1 - i];
        unsigned char m[3] = {(unsigned char)((p.x * alpha + q.x * (255 - alpha)) / 255), (unsigned char)((p.y * alpha + q.y * (255 - alpha)) / 255), (unsigned char)((p.z * alpha + q.z * (255 - alpha)) / 255)};
        out[i] = (m[2] >> 3) << 11 | (m[1] >> 2) << 5 | m[0] >> 3;
    }
}

int main()
{
    const int w = 196, h = 102, n = w * h;
    std::vector<Rgb> in(n);
    for (int i = 0; i < n; ++i) in[i] = Rgb{uint8_t(i % w), uint8_t(i / w * 2), uint8_t((i % w + i / w) & 255)};
    Rgb* ds; Nv12 nv{nullptr, nullptr, w, h}; uint4* bgra; uchar4* yuyv; uint8_t *py, *pu, *pv; unsigned short* o;
    cudaMalloc(&ds, n * 3); cudaMalloc(&nv.y, n); cudaMalloc(&nv.uv, n / 2); cudaMalloc(&bgra, n * 4); cudaMalloc(&yuyv, n * 2);
    cudaMalloc(&py, n); cudaMalloc(&pu, n / 4); cudaMalloc(&pv, n / 4); cudaMalloc(&o, n * 2);
    cudaMemcpy(ds, in.data(), n * 3, cudaMemcpyHostToDevice);
    rgb_to_nv12<<<dim3((w / 2 + 31) / 32, (h / 2 + 3) / 4), dim3(32, 4)>>>(ds, nv);
    nv12_to_bgra<<<dim3(1, h), 64>>>(nv, bgra);
    bgra_to_yuyv<<<(n / 2 + 127) / 128, 128>>>((unsigned*)bgra, yuyv, n / 2);
    yuyv_split<<<h, 96>>>((uint8_t*)yuyv, py, pu, pv, w, h);
    blend_565<<<25, 128>>>((uchar4*)bgra, (uchar4*)bgra, o, n, 100);
    std::vector<uint8_t> y0(n), y1(n), back(n * 4);
    std::vector<unsigned short> ho(n);
    cudaMemcpy(y0.data(), nv.y, n, cudaMemcpyDeviceToHost);
    cudaMemcpy(y1.data(), py, n, cudaMemcpyDeviceToHost);
    cudaMemcpy(back.data(), bgra, n * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(ho.data(), o, n * 2, cudaMemcpyDeviceToHost);
    int bad = 0, far = 0; unsigned long cs = 0;
    for (int i = 0; i < n; ++i) {
        bad += y0[i] != (uint8_t)lumaOf(in[i]);
        far += abs(y0[i] - y1[i]) > 6;
        cs += ho[i] + back[4 * i];
    }
    printf("luma mismatches %d, drifted pixels %d of %d, checksum %lu\n", bad, far, n, cs);
    return bad || far > n / 4;
}
