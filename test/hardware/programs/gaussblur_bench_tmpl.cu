// Gaussian blur bench: binomial weights, radius is a template parameter, edges are clamped.
// All variants must agree to the bit because the intermediate image is kept in 16 bits.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define DIVUP(a, b) (((a) + (b)-1) / (b))
#define GPU(x) gpuAssert((x), #x, __LINE__)

inline void gpuAssert(cudaError_t code, const char *what, int line)
{
    if (code != cudaSuccess) {
        printf("GPU error in %s, line %d: %s\n", what, line, cudaGetErrorString(code));
        exit(3);
    }
}

constexpr __host__ __device__ int choose(int n, int k)
{
    int r = 1;
    for (int i = 1; i <= k; ++i)
        r = r * (n - i + 1) / i;
    return r;
}

// sums to 256 for R = 2, 3, 4
template <int R>
constexpr __host__ __device__ int weight(int k)
{
    return choose(2 * R, k) * (256 >> (2 * R));
}

__host__ __device__ inline int clampi(int v, int hi)
{
    return v < 0 ? 0 : (v > hi ? hi : v);
}

struct Images
{
    int w, h;
    uchar3 *rgb;
    uchar4 *rgba;
    uint8_t *plane[3];
    ushort4 *mid4;
    uint16_t *mid1;
    uchar3 *out3;
    uchar4 *out4;
    uint8_t *out1;
};

// ------------------------------------------------------------------ format changes
// 4 pixels = 3 words in, 4 words out
__global__ void widen_rgb(const uint32_t *__restrict__ src, uint4 *__restrict__ dst, int groups)
{
    int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= groups)
        return;
    uint32_t a = src[3 * g];
    uint32_t b = src[3 * g + 1];
    uint32_t c = src[3 * g + 2];
    uint4 o;
    o.x = a & 0xffffffu;
    o.y = __funnelshift_r(a, b, 24) & 0xffffffu;
    o.z = __funnelshift_r(b, c, 16) & 0xffffffu;
    o.w = c >> 8;
    dst[g] = o;
}

__global__ void split_planes(const uchar4 *__restrict__ src, uint8_t *r, uint8_t *g, uint8_t *b, int n)
{
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        uchar4 p = src[i];
        r[i] = p.x;
        g[i] = p.y;
        b[i] = p.z;
    }
}

// ------------------------------------------------------------------ A: direct 2-D on packed RGB
// SWAP puts consecutive threads on consecutive rows
template <int R, bool SWAP>
__global__ void blur_direct(const uchar3 *src, uchar3 *dst, int w, int h)
{
    int x = SWAP ? blockIdx.y * blockDim.y + threadIdx.y : blockIdx.x * blockDim.x + threadIdx.x;
    int y = SWAP ? blockIdx.x * blockDim.x + threadIdx.x : blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h)
        return;
    int sr = 0, sg = 0, sb = 0;
#pragma unroll
    for (int j = -R; j <= R; ++j) {
        int yy = clampi(y + j, h - 1);
#pragma unroll
        for (int i = -R; i <= R; ++i) {
            uchar3 p = src[yy * w + clampi(x + i, w - 1)];
            int k = weight<R>(i + R) * weight<R>(j + R);
            sr += k * p.x;
            sg += k * p.y;
            sb += k * p.z;
        }
    }
    dst[y * w + x] = make_uchar3((sr + 32768) >> 16, (sg + 32768) >> 16, (sb + 32768) >> 16);
}

// ------------------------------------------------------------------ B: separable on RGBA
template <int R>
__global__ void blur_rows_rgba(const uchar4 *__restrict__ src, ushort4 *__restrict__ dst, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y;
    if (x >= w)
        return;
    int sx = 0, sy = 0, sz = 0;
#pragma unroll
    for (int i = -R; i <= R; ++i) {
        uchar4 p = src[y * w + clampi(x + i, w - 1)];
        sx += weight<R>(i + R) * p.x;
        sy += weight<R>(i + R) * p.y;
        sz += weight<R>(i + R) * p.z;
    }
    dst[y * w + x] = make_ushort4(sx, sy, sz, 0);
}

// columns: walk down a strip with the window held in registers
template <int R>
__global__ void blur_cols_sliding(const ushort4 *__restrict__ src, uchar4 *__restrict__ dst, int w, int h, int strip)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= w)
        return;
    int y0 = blockIdx.y * strip;
    int y1 = min(y0 + strip, h);
    ushort4 win[2 * R + 1];
#pragma unroll
    for (int j = 0; j < 2 * R; ++j)
        win[j] = src[clampi(y0 + j - R, h - 1) * w + x];
    for (int y = y0; y < y1; ++y) {
        win[2 * R] = src[clampi(y + R, h - 1) * w + x];
        int sx = 32768, sy = 32768, sz = 32768;
#pragma unroll
        for (int j = 0; j <= 2 * R; ++j) {
            sx += weight<R>(j) * win[j].x;
            sy += weight<R>(j) * win[j].y;
            sz += weight<R>(j) * win[j].z;
        }
        dst[y * w + x] = make_uchar4(sx >> 16, sy >> 16, sz >> 16, 0);
#pragma unroll
        for (int j = 0; j < 2 * R; ++j)
            win[j] = win[j + 1];
    }
}

// ------------------------------------------------------------------ C: fused tile
template <int R, int TX, int TY>
__global__ void blur_fused_tile(const uint8_t *__restrict__ src, uint8_t *__restrict__ dst, int w, int h)
{
    __shared__ uint8_t raw[TY + 2 * R][TX + 2 * R];
    __shared__ uint16_t mid[TY + 2 * R][TX];
    int bx = blockIdx.x * TX;
    int by = blockIdx.y * TY;
    for (int j = threadIdx.y; j < TY + 2 * R; j += blockDim.y) {
        int yy = clampi(by + j - R, h - 1);
        for (int i = threadIdx.x; i < TX + 2 * R; i += blockDim.x)
            raw[j][i] = src[yy * w + clampi(bx + i - R, w - 1)];
    }
    __syncthreads();
    for (int j = threadIdx.y; j < TY + 2 * R; j += blockDim.y) {
        for (int i = threadIdx.x; i < TX; i += blockDim.x) {
            int s = 0;
#pragma unroll
            for (int k = 0; k <= 2 * R; ++k)
                s += weight<R>(k) * raw[j][i + k];
            mid[j][i] = (uint16_t)s;
        }
    }
    __syncthreads();
    for (int j = threadIdx.y; j < TY && by + j < h; j += blockDim.y) {
        for (int i = threadIdx.x; i < TX && bx + i < w; i += blockDim.x) {
            int s = 32768;
#pragma unroll
            for (int k = 0; k <= 2 * R; ++k)
                s += weight<R>(k) * mid[j + k][i];
            dst[(by + j) * w + bx + i] = (uint8_t)(s >> 16);
        }
    }
}

// ------------------------------------------------------------------ D: row pass that writes transposed; run twice
template <int R, int PAD, typename TIn, typename TOut, int ROUND, int SHIFT>
__global__ void blur_rows_transposing(const TIn *__restrict__ src, TOut *__restrict__ dst, int w, int h)
{
    __shared__ int line[32][32 + 2 * R];
    __shared__ int res[32][32 + PAD];
    int bx = blockIdx.x * 32;
    int by = blockIdx.y * 32;
    for (int j = threadIdx.y; j < 32; j += blockDim.y) {
        int yy = min(by + j, h - 1);
        for (int i = threadIdx.x; i < 32 + 2 * R; i += 32)
            line[j][i] = src[yy * w + clampi(bx + i - R, w - 1)];
    }
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += blockDim.y) {
        int s = ROUND;
#pragma unroll
        for (int k = 0; k <= 2 * R; ++k)
            s += weight<R>(k) * line[j][threadIdx.x + k];
        res[j][threadIdx.x] = s >> SHIFT;
    }
    __syncthreads();
    int oy = by + threadIdx.x;
    for (int j = threadIdx.y; j < 32; j += blockDim.y) {
        int ox = bx + j;
        if (ox < w && oy < h)
            dst[ox * h + oy] = (TOut)res[threadIdx.x][j];
    }
}

template <int R>
void run_direct(const Images &m)
{
    blur_direct<R, false><<<dim3(DIVUP(m.w, 32), DIVUP(m.h, 8)), dim3(32, 8)>>>(m.rgb, m.out3, m.w, m.h);
}
template <int R>
void run_direct_swapped(const Images &m)
{
    blur_direct<R, true><<<dim3(DIVUP(m.h, 32), DIVUP(m.w, 8)), dim3(32, 8)>>>(m.rgb, m.out3, m.w, m.h);
}
template <int R>
void run_separable(const Images &m)
{
    blur_rows_rgba<R><<<dim3(DIVUP(m.w, 128), m.h), 128>>>(m.rgba, m.mid4, m.w, m.h);
    blur_cols_sliding<R><<<dim3(DIVUP(m.w, 64), DIVUP(m.h, 40)), 64>>>(m.mid4, m.out4, m.w, m.h, 40);
}
template <int R>
void run_fused(const Images &m)
{
    blur_fused_tile<R, 64, 16><<<dim3(DIVUP(m.w, 64), DIVUP(m.h, 16)), dim3(32, 8)>>>(m.plane[1], m.out1, m.w, m.h);
}
template <int R, int PAD>
void run_transposing(const Images &m)
{
    dim3 block(32, 8);
    blur_rows_transposing<R, PAD, uint8_t, uint16_t, 0, 0>
        <<<dim3(DIVUP(m.w, 32), DIVUP(m.h, 32)), block>>>(m.plane[1], m.mid1, m.w, m.h);
    blur_rows_transposing<R, PAD, uint16_t, uint8_t, 32768, 16>
        <<<dim3(DIVUP(m.h, 32), DIVUP(m.w, 32)), block>>>(m.mid1, m.out1, m.h, m.w);
}

enum Output { RGB3, RGBA4, GREEN };
struct Entry
{
    const char *label;
    int radius;
    Output where;
    void (*go)(const Images &);
};

static const Entry kTable[] = {
    {"direct", 2, RGB3, run_direct<2>},
    {"direct swapped", 2, RGB3, run_direct_swapped<2>},
    {"separable sliding", 2, RGBA4, run_separable<2>},
    {"fused tile", 2, GREEN, run_fused<2>},
    {"transposing pad 0", 2, GREEN, run_transposing<2, 0>},
    {"direct", 4, RGB3, run_direct<4>},
    {"separable sliding", 4, RGBA4, run_separable<4>},
    {"fused tile", 4, GREEN, run_fused<4>},
    {"transposing pad 1", 4, GREEN, run_transposing<4, 1>},
};

static void cpu_blur(const std::vector<uint8_t> &src, std::vector<uint8_t> &dst, int w, int h, int R)
{
    std::vector<int> mid(src.size());
    int wt[16];
    for (int k = 0; k <= 2 * R; ++k)
        wt[k] = choose(2 * R, k) * (256 >> (2 * R));
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x)
            for (int c = 0; c < 3; ++c) {
                int s = 0;
                for (int i = -R; i <= R; ++i)
                    s += wt[i + R] * src[(y * w + clampi(x + i, w - 1)) * 3 + c];
                mid[(y * w + x) * 3 + c] = s;
            }
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x)
            for (int c = 0; c < 3; ++c) {
                int s = 32768;
                for (int i = -R; i <= R; ++i)
                    s += wt[i + R] * mid[(clampi(y + i, h - 1) * w + x) * 3 + c];
                dst[(y * w + x) * 3 + c] = (uint8_t)(s >> 16);
            }
}

int main()
{
    Images m;
    m.w = 1000;
    m.h = 600;
    int n = m.w * m.h;
    std::vector<uint8_t> rgb(n * 3);
    uint32_t lcg = 99;
    for (int i = 0; i < n * 3; ++i) {
        lcg = lcg * 1103515245u + 12345u;
        rgb[i] = (uint8_t)((lcg >> 16) & 0xff);
    }
    std::vector<uint8_t> ref[5];
    for (int R : {2, 4}) {
        ref[R].resize(n * 3);
        cpu_blur(rgb, ref[R], m.w, m.h, R);
    }
    GPU(cudaMalloc(&m.rgb, n * sizeof(uchar3)));
    GPU(cudaMalloc(&m.rgba, n * sizeof(uchar4)));
    GPU(cudaMalloc(&m.mid4, n * sizeof(ushort4)));
    GPU(cudaMalloc(&m.mid1, n * sizeof(uint16_t)));
    GPU(cudaMalloc(&m.out3, n * sizeof(uchar3)));
    GPU(cudaMalloc(&m.out4, n * sizeof(uchar4)));
    GPU(cudaMalloc(&m.out1, n));
    for (auto &p : m.plane)
        GPU(cudaMalloc(&p, n));
    GPU(cudaMemcpy(m.rgb, rgb.data(), n * 3, cudaMemcpyHostToDevice));
    widen_rgb<<<DIVUP(n / 4, 256), 256>>>((const uint32_t *)m.rgb, (uint4 *)m.rgba, n / 4);
    split_planes<<<264, 256>>>(m.rgba, m.plane[0], m.plane[1], m.plane[2], n);
    GPU(cudaGetLastError());

    bool all = true;
    std::vector<uint8_t> got(n * 4);
    for (const Entry &e : kTable) {
        GPU(cudaMemset(m.out3, 0, n * 3));
        GPU(cudaMemset(m.out4, 0, n * 4));
        GPU(cudaMemset(m.out1, 0, n));
        e.go(m);
        GPU(cudaGetLastError());
        int bytes = e.where == RGB3 ? 3 : e.where == RGBA4 ? 4 : 1;
        const void *from = e.where == RGB3 ? (void *)m.out3 : e.where == RGBA4 ? (void *)m.out4 : (void *)m.out1;
        GPU(cudaMemcpy(got.data(), from, (size_t)n * bytes, cudaMemcpyDeviceToHost));
        long bad = 0;
        for (int i = 0; i < n; ++i) {
            if (e.where == GREEN)
                bad += got[i] != ref[e.radius][i * 3 + 1];
            for (int c = 0; e.where != GREEN && c < 3; ++c)
                bad += got[i * bytes + c] != ref[e.radius][i * 3 + c];
        }
        printf("R=%d %-20s mismatches %ld\n", e.radius, e.label, bad);
        all = all && bad == 0;
    }
    printf("%s\n", all ? "PASS" : "FAIL");
    return all ? 0 : 1;
}
