// Pieces of a video pipeline: NV12 to RGBA, normalised planar tensor with bilinear resize and letterbox (half),
// YUYV de-interleave, and block matching motion search.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static const int W = 1280, H = 720, STRIDE = 1344;        // decoder surface with padding
static const int DST = 416;                               // network input
static const int MB = 16, RANGE = 7;                      // macroblock, search range

struct Surface {
    uint8_t *luma;
    uint8_t *chroma;
    int pitch;
};

template <typename T> __host__ __device__ T clampTo(T v, T lo, T hi) { return v < lo ? lo : v > hi ? hi : v; }

__host__ __device__ inline uchar4 yuvToRgba(int y, int u, int v)
{
    int c = 298 * (y - 16), d = u - 128, e = v - 128;     // BT.601, 8 bit fixed point
    return make_uchar4((unsigned char)clampTo((c + 409 * e + 128) >> 8, 0, 255),
                       (unsigned char)clampTo((c - 100 * d - 208 * e + 128) >> 8, 0, 255),
                       (unsigned char)clampTo((c + 516 * d + 128) >> 8, 0, 255), 255);
}

// 2 x 2 pixels per thread, one chroma pair.
__global__ void nv12ToRgba(Surface s, uchar4 *rgba, int w, int h)
{
    int x = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    int y = 2 * (blockIdx.y * blockDim.y + threadIdx.y);
    if (x >= w || y >= h) return;
    uchar2 l0 = *(const uchar2 *)(s.luma + y * s.pitch + x);
    uchar2 l1 = *(const uchar2 *)(s.luma + (y + 1) * s.pitch + x);
    uchar2 uv = *(const uchar2 *)(s.chroma + (y >> 1) * s.pitch + x);
    rgba[y * w + x] = yuvToRgba(l0.x, uv.x, uv.y);
    rgba[y * w + x + 1] = yuvToRgba(l0.y, uv.x, uv.y);
    rgba[(y + 1) * w + x] = yuvToRgba(l1.x, uv.x, uv.y);
    rgba[(y + 1) * w + x + 1] = yuvToRgba(l1.y, uv.x, uv.y);
}

struct Letterbox { float scale; int padX, padY; };
__constant__ float c_mean[3] = {0.485f, 0.456f, 0.406f};
__constant__ float c_std[3] = {0.229f, 0.224f, 0.225f};
static const float h_mean[3] = {0.485f, 0.456f, 0.406f}, h_std[3] = {0.229f, 0.224f, 0.225f};

__global__ void resizeNormalize(const uchar4 *src, int w, int h, __half *dst, int size, Letterbox lb)
{
    int dx = blockIdx.x * blockDim.x + threadIdx.x, dy = blockIdx.y * blockDim.y + threadIdx.y;
    if (dx >= size || dy >= size) return;
    float fx = (dx - lb.padX + 0.5f) * lb.scale - 0.5f, fy = (dy - lb.padY + 0.5f) * lb.scale - 0.5f;
    float rgb[3] = {114.f, 114.f, 114.f};
    if (fx > -1.f && fy > -1.f && fx < w && fy < h) {
        int x0 = (int)floorf(fx), y0 = (int)floorf(fy);
        float ax = fx - x0, ay = fy - y0;
        int xa = max(x0, 0), xb = min(x0 + 1, w - 1), ya = max(y0, 0), yb = min(y0 + 1, h - 1);
        uchar4 p00 = src[ya * w + xa], p01 = src[ya * w + xb], p10 = src[yb * w + xa], p11 = src[yb * w + xb];
        float w00 = (1 - ax) * (1 - ay), w01 = ax * (1 - ay), w10 = (1 - ax) * ay, w11 = ax * ay;
        rgb[0] = w00 * p00.x + w01 * p01.x + w10 * p10.x + w11 * p11.x;
        rgb[1] = w00 * p00.y + w01 * p01.y + w10 * p10.y + w11 * p11.y;
        rgb[2] = w00 * p00.z + w01 * p01.z + w10 * p10.z + w11 * p11.z;
    }
    int area = size * size, at = dy * size + dx;
#pragma unroll
    for (int c = 0; c < 3; ++c) dst[c * area + at] = __float2half((rgb[c] / 255.f - c_mean[c]) / c_std[c]);
}

// Packed 4:2:2 to three planes; a thread takes 16 bytes, that is 8 pixels.
__global__ void yuyvSplit(const uint4 *packed, uint2 *y, uint32_t *u, uint32_t *v, int groups)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= groups) return;
    uint4 p = packed[i];
    uint2 luma;
    luma.x = __byte_perm(p.x, p.y, 0x6420);
    luma.y = __byte_perm(p.z, p.w, 0x6420);
    uint32_t c0 = __byte_perm(p.x, p.y, 0x7531);         // u v u v
    uint32_t c1 = __byte_perm(p.z, p.w, 0x7531);
    y[i] = luma;
    u[i] = __byte_perm(c0, c1, 0x6420);
    v[i] = __byte_perm(c0, c1, 0x7531);
}

// One block a macroblock, one thread a candidate vector: full search, smallest sum of absolute differences.
__global__ void motionSearch(const uint8_t *cur, const uint8_t *ref, int pitch, int w, int h, short2 *vectors, int *cost)
{
    const int SPAN = MB + 2 * RANGE, SIDE = 2 * RANGE + 1;
    __shared__ uint8_t block[MB][MB];
    __shared__ uint8_t window[SPAN][SPAN + 2];
    __shared__ unsigned best;
    int bx = blockIdx.x * MB, by = blockIdx.y * MB, tid = threadIdx.x;
    if (tid == 0) best = UINT_MAX;
    for (int k = tid; k < MB * MB; k += blockDim.x) block[k / MB][k % MB] = cur[(by + k / MB) * pitch + bx + k % MB];
    for (int k = tid; k < SPAN * SPAN; k += blockDim.x) {
        int x = clampTo(bx - RANGE + k % SPAN, 0, w - 1), y = clampTo(by - RANGE + k / SPAN, 0, h - 1);
        window[k / SPAN][k % SPAN] = ref[y * pitch + x];
    }
    __syncthreads();
    if (tid < SIDE * SIDE) {
        int dx = tid % SIDE, dy = tid / SIDE;
        unsigned sad = 0;
        for (int y = 0; y < MB; ++y)
#pragma unroll 8
            for (int x = 0; x < MB; ++x) sad = __sad((int)block[y][x], (int)window[y + dy][x + dx], sad);
        atomicMin(&best, sad << 8 | tid);
    }
    __syncthreads();
    if (tid == 0) {
        int at = blockIdx.y * gridDim.x + blockIdx.x, which = best & 255;
        vectors[at] = make_short2((short)(which % SIDE - RANGE), (short)(which / SIDE - RANGE));
        cost[at] = best >> 8;
    }
}

static void ck(cudaError_t e) { if (e != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(e)); exit(9); } }

int main()
{
    std::vector<uint8_t> luma(STRIDE * H), chroma(STRIDE * H / 2), prev(STRIDE * H), yuyv(W * H * 2);
    auto texture = [](int x, int y) { return (uint8_t)(16 + ((x * 7 + y * 13 + (x * y >> 4) + ((x ^ y) & 31) * 3) % 220)); };
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < STRIDE; ++x) {
            luma[y * STRIDE + x] = texture(x, y);
            prev[y * STRIDE + x] = texture(x + 3 + (y / 240), y + (x / 500) - 1);
        }
    for (size_t i = 0; i < chroma.size(); ++i) chroma[i] = (uint8_t)(i * 2654435761u >> 24);
    for (size_t i = 0; i < yuyv.size(); ++i) yuyv[i] = (uint8_t)(i * 40503u >> 7);

    Surface s;
    uint8_t *dPrev, *dPacked, *dY, *dU, *dV;
    uchar4 *dRgba; __half *dTensor; short2 *dVec; int *dCost;
    const int mbx = W / MB, mby = H / MB;
    s.pitch = STRIDE;
    ck(cudaMalloc(&s.luma, luma.size())); ck(cudaMalloc(&s.chroma, chroma.size())); ck(cudaMalloc(&dPrev, prev.size()));
    ck(cudaMalloc(&dPacked, yuyv.size())); ck(cudaMalloc(&dY, W * H)); ck(cudaMalloc(&dU, W * H / 2)); ck(cudaMalloc(&dV, W * H / 2));
    ck(cudaMalloc(&dRgba, W * H * sizeof(uchar4))); ck(cudaMalloc(&dTensor, 3 * DST * DST * sizeof(__half)));
    ck(cudaMalloc(&dVec, mbx * mby * sizeof(short2))); ck(cudaMalloc(&dCost, mbx * mby * sizeof(int)));
    ck(cudaMemcpy(s.luma, luma.data(), luma.size(), cudaMemcpyHostToDevice));
    ck(cudaMemcpy(s.chroma, chroma.data(), chroma.size(), cudaMemcpyHostToDevice));
    ck(cudaMemcpy(dPrev, prev.data(), prev.size(), cudaMemcpyHostToDevice));
    ck(cudaMemcpy(dPacked, yuyv.data(), yuyv.size(), cudaMemcpyHostToDevice));

    Letterbox lb;
    lb.scale = std::max((float)W / DST, (float)H / DST);
    lb.padX = (int)(DST - W / lb.scale) / 2;
    lb.padY = (int)(DST - H / lb.scale) / 2;

    nv12ToRgba<<<dim3(W / 2 / 32, H / 2 / 8), dim3(32, 8)>>>(s, dRgba, W, H);
    resizeNormalize<<<dim3(DST / 16, DST / 16), dim3(16, 16)>>>(dRgba, W, H, dTensor, DST, lb);
    yuyvSplit<<<(W * H / 8 + 255) / 256, 256>>>((const uint4 *)dPacked, (uint2 *)dY, (uint32_t *)dU, (uint32_t *)dV, W * H / 8);
    motionSearch<<<dim3(mbx, mby), 256>>>(s.luma, dPrev, STRIDE, W, H, dVec, dCost);
    ck(cudaGetLastError());
    ck(cudaDeviceSynchronize());

    std::vector<uchar4> rgba(W * H); std::vector<__half> tensor(3 * DST * DST);
    std::vector<uint8_t> py(W * H), pu(W * H / 2), pv(W * H / 2);
    std::vector<short2> vec(mbx * mby); std::vector<int> cost(mbx * mby);
    ck(cudaMemcpy(rgba.data(), dRgba, W * H * 4, cudaMemcpyDeviceToHost));
    ck(cudaMemcpy(tensor.data(), dTensor, tensor.size() * 2, cudaMemcpyDeviceToHost));
    ck(cudaMemcpy(py.data(), dY, py.size(), cudaMemcpyDeviceToHost));
    ck(cudaMemcpy(pu.data(), dU, pu.size(), cudaMemcpyDeviceToHost));
    ck(cudaMemcpy(pv.data(), dV, pv.size(), cudaMemcpyDeviceToHost));
    ck(cudaMemcpy(vec.data(), dVec, vec.size() * sizeof(short2), cudaMemcpyDeviceToHost));
    ck(cudaMemcpy(cost.data(), dCost, cost.size() * sizeof(int), cudaMemcpyDeviceToHost));

    int bad[4] = {0, 0, 0, 0};
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x) {
            const uint8_t *uv = &chroma[(y / 2) * STRIDE + (x & ~1)];
            uchar4 want = yuvToRgba(luma[y * STRIDE + x], uv[0], uv[1]), got = rgba[y * W + x];
            bad[0] += want.x != got.x || want.y != got.y || want.z != got.z || want.w != got.w;
        }
    for (int dy = 0; dy < DST; ++dy)
        for (int dx = 0; dx < DST; ++dx)
            for (int c = 0; c < 3; ++c) {
                float fx = (dx - lb.padX + 0.5f) * lb.scale - 0.5f, fy = (dy - lb.padY + 0.5f) * lb.scale - 0.5f, v = 114.f;
                if (fx > -1.f && fy > -1.f && fx < W && fy < H) {
                    int x0 = (int)floorf(fx), y0 = (int)floorf(fy);
                    float ax = fx - x0, ay = fy - y0;
                    int xa = std::max(x0, 0), xb = std::min(x0 + 1, W - 1), ya = std::max(y0, 0), yb = std::min(y0 + 1, H - 1);
                    auto get = [&](int x, int y) { uchar4 p = rgba[y * W + x]; return (float)(c == 0 ? p.x : c == 1 ? p.y : p.z); };
                    v = (1 - ay) * ((1 - ax) * get(xa, ya) + ax * get(xb, ya)) + ay * ((1 - ax) * get(xa, yb) + ax * get(xb, yb));
                }
                float want = (v / 255.f - h_mean[c]) / h_std[c], got = __half2float(tensor[(c * DST + dy) * DST + dx]);
                bad[1] += !(std::fabs(want - got) < 0.01f);
            }
    for (int i = 0; i < W * H / 2; ++i)
        bad[2] += py[2 * i] != yuyv[4 * i] || pu[i] != yuyv[4 * i + 1] || py[2 * i + 1] != yuyv[4 * i + 2] || pv[i] != yuyv[4 * i + 3];
    for (int m = 0; m < mbx * mby; m += 7) {
        unsigned best = UINT_MAX;
        for (int t = 0; t < 225; ++t) {
            unsigned sad = 0;
            for (int k = 0; k < 256; ++k) {
                int x = m % mbx * MB + k % 16, y = m / mbx * MB + k / 16;
                int rx = clampTo(x + t % 15 - RANGE, 0, W - 1), ry = clampTo(y + t / 15 - RANGE, 0, H - 1);
                sad += std::abs((int)luma[y * STRIDE + x] - (int)prev[ry * STRIDE + rx]);
            }
            best = std::min(best, sad << 8 | (unsigned)t);
        }
        int t = best & 255;
        bad[3] += vec[m].x != t % 15 - RANGE || vec[m].y != t / 15 - RANGE || cost[m] != (int)(best >> 8);
    }
    printf("mismatches: rgba %d tensor %d planes %d motion %d\n", bad[0], bad[1], bad[2], bad[3]);
    return bad[0] + bad[1] + bad[2] + bad[3] ? 1 : 0;
}
