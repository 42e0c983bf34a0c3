// Integral image (row scan + column scan), box filter by lookups, bilinear resize of RGB bytes, affine warp, greedy NMS bitmask
#include <cstdio>
#include <vector>
#include <cmath>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <cuda_runtime.h>

struct Image { uint8_t* data; int width, height; size_t pitch; };
struct Affine { float m[2][3]; };

__device__ __forceinline__ const uint8_t* row_ptr(const Image& im, int y) { return im.data + y * im.pitch; }

__global__ void integral_rows(Image im, unsigned* out)
{
    // warp per row
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= im.height) return;
    const uint8_t* p = row_ptr(im, row);
    unsigned carry = 0;
    for (int x0 = 0; x0 < im.width; x0 += 32) {
        int x = x0 + threadIdx.x;
        unsigned v = x < im.width ? p[3 * x + 1] : 0;
        #pragma unroll
        for (int o = 1; o < 32; o *= 2) {
            unsigned u = __shfl_up_sync(~0u, v, o);
            if (threadIdx.x >= o) v += u;
        }
        v += carry;
        if (x < im.width) out[row * im.width + x] = v;
        carry = __shfl_sync(~0u, v, 31);
    }
}

__global__ void integral_cols(unsigned* io, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= w) return;
    unsigned s = 0;
    #pragma unroll 4
    for (unsigned* p = io + x; p < io + w * h; p += w) { s += *p; *p = s; }
}

__global__ void box_filter(const unsigned* __restrict__ ii, uint8_t* __restrict__ out, int w, int h, int r)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    int x0 = max(x - r, 0) - 1, x1 = min(x + r, w - 1), y0 = max(y - r, 0) - 1, y1 = min(y + r, h - 1);
    unsigned s = ii[y1 * w + x1];
    if (x0 >= 0) s -= ii[y1 * w + x0];
    if (y0 >= 0) s -= ii[y0 * w + x1];
    if (x0 >= 0 && y0 >= 0) s += ii[y0 * w + x0];
    out[y * w + x] = s / ((x1 - x0) * (y1 - y0));
}

__device__ float3 sample(const Image& im, float fx, float fy)
{
    fx = fminf(fmaxf(fx, 0.f), im.width - 1.f);
    fy = fminf(fmaxf(fy, 0.f), im.height - 1.f);
    int x = (int)fx, y = (int)fy, xn = min(x + 1, im.width - 1), yn = min(y + 1, im.height - 1);
    float ax = fx - x, ay = fy - y;
    const uint8_t *a = row_ptr(im, y), *b = row_ptr(im, yn);
    float r[3];
    for (int c = 0; c < 3; ++c) {
        float top = a[3 * x + c] * (1 - ax) + a[3 * xn + c] * ax;
        float bot = b[3 * x + c] * (1 - ax) + b[3 * xn + c] * ax;
        r[c] = top * (1 - ay) + bot * ay;
    }
    return make_float3(r[0], r[1], r[2]);
}

__global__ void resize_bilinear(const Image src, Image dst, float sx, float sy)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    for (int y = blockIdx.y; y < dst.height && x < dst.width; y += gridDim.y) {
        float3 v = sample(src, (x + 0.5f) * sx - 0.5f, (y + 0.5f) * sy - 0.5f);
        uint8_t* o = dst.data + y * dst.pitch + 3 * x;
        o[0] = (uint8_t)(v.x + 0.5f); o[1] = (uint8_t)(v.y + 0.5f); o[2] = (uint8_t)(v.z + 0.5f);
    }
}

// planar float output, as networks want
__global__ void warp_affine(Image src, float* __restrict__ dst, int w, int h, Affine A)
{
    int x = blockIdx.x * 16 + (threadIdx.x & 15), y = blockIdx.y * 8 + (threadIdx.x >> 4);
    if (x >= w || y >= h) return;
    float fx = A.m[0][0] * x + A.m[0][1] * y + A.m[0][2], fy = A.m[1][0] * x + A.m[1][1] * y + A.m[1][2];
    bool in = fx >= 0 && fy >= 0 && fx < src.width && fy < src.height;
    float3 v = in ? sample(src, fx, fy) : make_float3(114, 114, 114);
    int plane = w * h;
    float* p = dst + y * w + x;
    p[0] = v.x / 255.f; p[plane] = v.y / 255.f; p[2 * plane] = v.z / 255.f;
}

__device__ inline float iou(const float4& a, const float4& b)
{
    float iw = fmaxf(0.f, fminf(a.z, b.z) - fmaxf(a.x, b.x)), ih = fmaxf(0.f, fminf(a.w, b.w) - fmaxf(a.y, b.y)), in = iw * ih;
    return in / ((a.z - a.x) * (a.w - a.y) + (b.z - b.x) * (b.w - b.y) - in);
}

__global__ void nms_mask(const float4* boxes, int n, float thr, unsigned long long* mask)
{
    const int rb = blockIdx.y, cb = blockIdx.x;
    if (rb > cb) return;
    __shared__ float4 cols[64];
    const int nc = min(n - cb * 64, 64), nr = min(n - rb * 64, 64);
    if (threadIdx.x < nc) cols[threadIdx.x] = boxes[cb * 64 + threadIdx.x];
    __syncthreads();
    if (threadIdx.x < nr) {
        float4 me = boxes[rb * 64 + threadIdx.x];
        unsigned long long t = 0;
        for (int i = (rb == cb ? threadIdx.x + 1 : 0); i < nc; ++i) if (iou(me, cols[i]) > thr) t |= 1ull << i;
        mask[(rb * 64 + threadIdx.x) * gridDim.x + cb] = t;
    }
}

int main()
{
    const int w = 203, h = 120, nw = 96, nh = 96;
    std::vector<uint8_t> rgb(w * h * 3), box(w * h);
    for (size_t i = 0; i < rgb.size(); ++i) rgb[i] = (i * 7 + i / 609 * 3) & 255;
    Image src{nullptr, w, h, 0}, dst{nullptr, nw, nh, 0};
    cudaMallocPitch(&src.data, &src.pitch, w * 3, h); cudaMallocPitch(&dst.data, &dst.pitch, nw * 3, nh);
    cudaMemcpy2D(src.data, src.pitch, rgb.data(), w * 3, w * 3, h, cudaMemcpyHostToDevice);
    unsigned* ii; uint8_t* db; float* planar; float4* dbx; unsigned long long* dm;
    const int nb = 150, words = (nb + 63) / 64;
    cudaMalloc(&ii, w * h * 4); cudaMalloc(&db, w * h); cudaMalloc(&planar, nw * nh * 12); cudaMalloc(&dbx, nb * 16); cudaMalloc(&dm, nb * words * 8);
    cudaMemset(dm, 0, nb * words * 8);
    std::vector<float4> bx(nb);
    for (int i = 0; i < nb; ++i) { float x = i * 13 % 100, y = i * 29 % 80; bx[i] = make_float4(x, y, x + 20 + i % 7, y + 18 + i % 5); }
    cudaMemcpy(dbx, bx.data(), nb * 16, cudaMemcpyHostToDevice);
    integral_rows<<<(h + 4) / 5, dim3(32, 5)>>>(src, ii);
    integral_cols<<<(w + 31) / 32, 32>>>(ii, w, h);
    box_filter<<<dim3((w + 31) / 32, (h + 7) / 8), dim3(32, 8)>>>(ii, db, w, h, 4);
    resize_bilinear<<<dim3((nw + 63) / 64, 40), 64>>>(src, dst, (float)w / nw, (float)h / nh);
    warp_affine<<<dim3(nw / 16, nh / 8), 128>>>(src, planar, nw, nh, Affine{{{1.5f, 0.3f, -5.f}, {-0.2f, 1.1f, 12.f}}});
    nms_mask<<<dim3(words, words), 64>>>(dbx, nb, 0.4f, dm);
    std::vector<unsigned long long> mask(nb * words); std::vector<float> pl(nw * nh * 3);
    cudaMemcpy(box.data(), db, w * h, cudaMemcpyDeviceToHost);
    cudaMemcpy(mask.data(), dm, mask.size() * 8, cudaMemcpyDeviceToHost);
    cudaMemcpy(pl.data(), planar, pl.size() * 4, cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int y = 0; y < h; y += 3) for (int x = 0; x < w; ++x) {
        unsigned s = 0, c = 0;
        for (int j = std::max(0, y - 4); j <= std::min(h - 1, y + 4); ++j) for (int i = std::max(0, x - 4); i <= std::min(w - 1, x + 4); ++i) { s += rgb[(j * w + i) * 3 + 1]; ++c; }
        bad += box[y * w + x] != s / c;
    }
    std::vector<unsigned long long> rem(words, 0); int keep = 0;
    for (int i = 0; i < nb; ++i) if (!(rem[i / 64] >> (i % 64) & 1)) { ++keep; for (int k = i / 64; k < words; ++k) rem[k] |= mask[i * words + k]; }
    double cs = 0; for (float v : pl) cs += v;
    printf("box filter mismatches %d, kept boxes %d, warp sum %.3f %s\n", bad, keep, cs, cudaGetErrorString(cudaGetLastError()));
    return bad || keep < 1;
}
