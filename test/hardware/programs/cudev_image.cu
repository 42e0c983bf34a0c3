// Templated image processing in the style of a vision library's device layer: PtrStepSz views,
// border readers, separable filters with shared tiles, resize, histogram, morphology, warpAffine,
// integral image, stereo block matching, AoS colour conversion.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define cudaSafeCall(e) do { cudaError_t _r = (e); if (_r != cudaSuccess) { fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(_r)); exit(1); } } while (0)
typedef unsigned char uchar;

namespace cudev {
static inline int divUp(int t, int g) { return (t + g - 1) / g; }

template <typename T> struct PtrStep {
    T* data; size_t step;                       // step in bytes
    __host__ __device__ __forceinline__ T* ptr(int y = 0) const { return (T*)((char*)data + y * step); }
    __host__ __device__ __forceinline__ T& operator()(int y, int x) const { return ptr(y)[x]; }
};
template <typename T> struct PtrStepSz : PtrStep<T> { int cols, rows; };

struct BrdConstant { int dummy; };
struct BrdReplicate {
    int last_col, last_row;
    __host__ __device__ BrdReplicate(int h, int w) : last_col(w - 1), last_row(h - 1) {}
    __host__ __device__ __forceinline__ int idx_col(int x) const { return ::max(0, ::min(x, last_col)); }
    __host__ __device__ __forceinline__ int idx_row(int y) const { return ::max(0, ::min(y, last_row)); }
};
struct BrdReflect101 {
    int last_col, last_row;
    __host__ __device__ BrdReflect101(int h, int w) : last_col(w - 1), last_row(h - 1) {}
    __host__ __device__ __forceinline__ int idx_col(int x) const { x = ::abs(x); return ::abs(last_col - ::abs(last_col - x)) % (last_col + 1); }
    __host__ __device__ __forceinline__ int idx_row(int y) const { y = ::abs(y); return ::abs(last_row - ::abs(last_row - y)) % (last_row + 1); }
};
template <typename Ptr2D, typename B> struct BorderReader {
    Ptr2D ptr; B b;
    __host__ __device__ __forceinline__ auto operator()(int y, int x) const { return ptr(b.idx_row(y), b.idx_col(x)); }
};
template <typename Ptr2D> struct LinearFilter {
    Ptr2D src;
    __host__ __device__ float operator()(float y, float x) const {
        int x1 = (int)floorf(x), y1 = (int)floorf(y), x2 = x1 + 1, y2 = y1 + 1;
        float out = 0;
        out += src(y1, x1) * ((x2 - x) * (y2 - y));
        out += src(y1, x2) * ((x - x1) * (y2 - y));
        out += src(y2, x1) * ((x2 - x) * (y - y1));
        out += src(y2, x2) * ((x - x1) * (y - y1));
        return out;
    }
};
template <typename D> __host__ __device__ __forceinline__ D saturate_cast(float v);
template <> __host__ __device__ __forceinline__ uchar saturate_cast<uchar>(float v) { int i = (int)rintf(v); return (uchar)(i < 0 ? 0 : i > 255 ? 255 : i); }
template <> __host__ __device__ __forceinline__ float saturate_cast<float>(float v) { return v; }

__constant__ float c_kernel[32];

namespace row_filter {
template <int KSIZE, typename T, typename D, typename B>
__global__ void linearRowFilter(const PtrStepSz<T> src, PtrStep<D> dst, const int anchor, const B brd) {
    const int BLOCK_DIM_X = 32, BLOCK_DIM_Y = 8, PATCH_PER_BLOCK = 4, HALO_SIZE = 1;
    __shared__ float smem[BLOCK_DIM_Y][(PATCH_PER_BLOCK + HALO_SIZE * 2) * BLOCK_DIM_X];
    const int y = blockIdx.y * BLOCK_DIM_Y + threadIdx.y;
    if (y >= src.rows) return;
    const T* src_row = src.ptr(y);
    const int xStart = blockIdx.x * (PATCH_PER_BLOCK * BLOCK_DIM_X) + threadIdx.x;
    #pragma unroll
    for (int j = 0; j < HALO_SIZE; ++j) smem[threadIdx.y][threadIdx.x + j * BLOCK_DIM_X] = src_row[brd.idx_col(xStart - (HALO_SIZE - j) * BLOCK_DIM_X)];
    #pragma unroll
    for (int j = 0; j < PATCH_PER_BLOCK; ++j) smem[threadIdx.y][threadIdx.x + HALO_SIZE * BLOCK_DIM_X + j * BLOCK_DIM_X] = src_row[brd.idx_col(xStart + j * BLOCK_DIM_X)];
    #pragma unroll
    for (int j = 0; j < HALO_SIZE; ++j) smem[threadIdx.y][threadIdx.x + (PATCH_PER_BLOCK + HALO_SIZE + j) * BLOCK_DIM_X] = src_row[brd.idx_col(xStart + (PATCH_PER_BLOCK + j) * BLOCK_DIM_X)];
    __syncthreads();
    #pragma unroll
    for (int j = 0; j < PATCH_PER_BLOCK; ++j) {
        const int x = xStart + j * BLOCK_DIM_X;
        if (x < src.cols) {
            float sum = 0;
            #pragma unroll
            for (int k = 0; k < KSIZE; ++k) sum = sum + smem[threadIdx.y][threadIdx.x + HALO_SIZE * BLOCK_DIM_X + j * BLOCK_DIM_X - anchor + k] * c_kernel[k];
            dst(y, x) = saturate_cast<D>(sum);
        }
    }
}
}  // namespace row_filter
namespace column_filter {
template <int KSIZE, typename T, typename D, typename B>
__global__ void linearColumnFilter(const PtrStepSz<T> src, PtrStep<D> dst, const int anchor, const B brd) {
    const int BX = 16, BY = 16, PATCH = 4, HALO = 1;
    __shared__ float smem[(PATCH + HALO * 2) * BY][BX];
    const int x = blockIdx.x * BX + threadIdx.x;
    if (x >= src.cols) return;
    const int yStart = blockIdx.y * (BY * PATCH) + threadIdx.y;
    #pragma unroll
    for (int j = 0; j < PATCH + 2 * HALO; ++j) smem[threadIdx.y + j * BY][threadIdx.x] = src(brd.idx_row(yStart + (j - HALO) * BY), x);
    __syncthreads();
    #pragma unroll
    for (int j = 0; j < PATCH; ++j) {
        const int y = yStart + j * BY;
        if (y < src.rows) {
            float sum = 0;
            #pragma unroll
            for (int k = 0; k < KSIZE; ++k) sum = sum + smem[threadIdx.y + HALO * BY + j * BY - anchor + k][threadIdx.x] * c_kernel[k];
            dst(y, x) = saturate_cast<D>(sum);
        }
    }
}
}  // namespace column_filter

struct RGB2Gray { __host__ __device__ uchar operator()(uchar3 p) const { return (uchar)((p.z * 1868 + p.y * 9617 + p.x * 4899 + (1 << 13)) >> 14); } };
struct Thresh { uchar t; __host__ __device__ uchar operator()(uchar v) const { return v > t ? 255 : 0; } };
template <typename T, typename D, typename Op>
__global__ void transformSimple(const PtrStepSz<T> src, PtrStep<D> dst, const Op op) {
    const int x = blockDim.x * blockIdx.x + threadIdx.x, y = blockDim.y * blockIdx.y + threadIdx.y;
    if (x < src.cols && y < src.rows) dst(y, x) = op(src(y, x));
}
template <typename Op>
__global__ void transformSmart(const PtrStepSz<uchar> src, PtrStep<uchar> dst, const Op op) {      // 4 pixels a thread
    const int x_shifted = (blockDim.x * blockIdx.x + threadIdx.x) * 4, y = blockDim.y * blockIdx.y + threadIdx.y;
    if (y >= src.rows) return;
    if (x_shifted + 3 < src.cols) {
        const uchar4 s = reinterpret_cast<const uchar4*>(src.ptr(y))[x_shifted / 4];
        reinterpret_cast<uchar4*>(dst.ptr(y))[x_shifted / 4] = make_uchar4(op(s.x), op(s.y), op(s.z), op(s.w));
    } else {
        for (int x = x_shifted; x < src.cols; ++x) dst(y, x) = op(src(y, x));
    }
}

__global__ void histogram256Kernel(const uchar* __restrict__ src, int cols, int rows, size_t step, int* __restrict__ hist) {
    __shared__ int shist[256];
    const int y = blockIdx.x * blockDim.y + threadIdx.y, tid = threadIdx.y * blockDim.x + threadIdx.x;
    shist[tid] = 0;
    __syncthreads();
    if (y < rows) {
        const unsigned int* rowPtr = (const unsigned int*)(src + y * step);
        const int cols_4 = cols / 4;
        for (int x = threadIdx.x; x < cols_4; x += blockDim.x) {
            unsigned int d = rowPtr[x];
            atomicAdd(&shist[(d >> 0) & 0xFF], 1); atomicAdd(&shist[(d >> 8) & 0xFF], 1);
            atomicAdd(&shist[(d >> 16) & 0xFF], 1); atomicAdd(&shist[(d >> 24) & 0xFF], 1);
        }
        if (cols % 4 != 0 && threadIdx.x == 0)
            for (int x = cols_4 * 4; x < cols; ++x) atomicAdd(&shist[((const uchar*)rowPtr)[x]], 1);
    }
    __syncthreads();
    if (shist[tid] > 0) atomicAdd(hist + tid, shist[tid]);
}

template <typename Src>
__global__ void resizeLinear(const Src src, PtrStepSz<uchar> dst, float fy, float fx) {
    const int dx = blockDim.x * blockIdx.x + threadIdx.x, dy = blockDim.y * blockIdx.y + threadIdx.y;
    if (dx < dst.cols && dy < dst.rows) dst(dy, dx) = saturate_cast<uchar>(src(dy * fy, dx * fx));
}
__constant__ float c_warpMat[6];
template <typename Src>
__global__ void warpAffineKernel(const Src src, PtrStepSz<uchar> dst) {
    const int x = blockDim.x * blockIdx.x + threadIdx.x, y = blockDim.y * blockIdx.y + threadIdx.y;
    if (x >= dst.cols || y >= dst.rows) return;
    const float xc = c_warpMat[0] * x + c_warpMat[1] * y + c_warpMat[2], yc = c_warpMat[3] * x + c_warpMat[4] * y + c_warpMat[5];
    dst(y, x) = saturate_cast<uchar>(src(yc, xc));
}

template <bool IS_MAX, typename B>
__global__ void morphology3x3(const PtrStepSz<uchar> src, PtrStep<uchar> dst, const B brd) {
    __shared__ uchar tile[10][34];
    const int x0 = blockIdx.x * 32 - 1, y0 = blockIdx.y * 8 - 1;
    for (int i = threadIdx.y * 32 + threadIdx.x; i < 340; i += 256) tile[i / 34][i % 34] = src(brd.idx_row(y0 + i / 34), brd.idx_col(x0 + i % 34));
    __syncthreads();
    const int x = x0 + 1 + threadIdx.x, y = y0 + 1 + threadIdx.y;
    if (x >= src.cols || y >= src.rows) return;
    int v = tile[threadIdx.y][threadIdx.x];
    #pragma unroll
    for (int i = 1; i < 9; ++i) { int t = tile[threadIdx.y + i / 3][threadIdx.x + i % 3]; v = IS_MAX ? max(v, t) : min(v, t); }
    dst(y, x) = v;
}

__global__ void integralRows(const PtrStepSz<uchar> src, PtrStep<unsigned> dst) {           // a block per row
    __shared__ unsigned warpSum[8];
    __shared__ unsigned carry;
    const int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    if (threadIdx.x == 0) carry = 0;
    for (int x0 = 0; x0 < src.cols; x0 += 256) {
        const int x = x0 + threadIdx.x;
        unsigned v = x < src.cols ? src(blockIdx.x, x) : 0;
        for (int d = 1; d < 32; d *= 2) { unsigned o = __shfl_up_sync(~0u, v, d); if (lane >= d) v += o; }
        if (lane == 31) warpSum[w] = v;
        __syncthreads();
        unsigned add = carry;
        for (int i = 0; i < w; ++i) add += warpSum[i];
        if (x < src.cols) dst(blockIdx.x, x) = v + add;
        __syncthreads();
        if (threadIdx.x == 255) carry = v + add;
        __syncthreads();
    }
}
__global__ void integralCols(PtrStepSz<unsigned> img) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= img.cols) return;
    unsigned s = 0;
    for (int y = 0; y < img.rows; ++y) { s += img(y, x); img(y, x) = s; }
}
template <int RADIUS>
__global__ void stereoBM(const PtrStepSz<uchar> left, const PtrStepSz<uchar> right, PtrStep<uchar> disp, int ndisp) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x + RADIUS + ndisp, y = blockIdx.y * blockDim.y + threadIdx.y + RADIUS;
    if (x >= left.cols - RADIUS || y >= left.rows - RADIUS) return;
    int best = 1 << 30, bd = 0;
    for (int d = 0; d < ndisp; ++d) {
        int sad = 0;
        for (int i = -RADIUS; i <= RADIUS; ++i)
            for (int j = -RADIUS; j <= RADIUS; ++j) sad += abs((int)left(y + i, x + j) - (int)right(y + i, x + j - d));
        if (sad < best) { best = sad; bd = d; }
    }
    disp(y, x) = bd;
}

template <typename T> struct GpuMat {
    T* data; size_t step; int rows, cols;
    GpuMat(int r, int c) : rows(r), cols(c) { cudaSafeCall(cudaMallocPitch(&data, &step, c * sizeof(T), r)); cudaSafeCall(cudaMemset2D(data, step, 0, c * sizeof(T), r)); }
    ~GpuMat() { cudaFree(data); }
    operator PtrStepSz<T>() const { PtrStepSz<T> p; p.data = data; p.step = step; p.cols = cols; p.rows = rows; return p; }
    void upload(const std::vector<T>& h) { cudaSafeCall(cudaMemcpy2D(data, step, h.data(), cols * sizeof(T), cols * sizeof(T), rows, cudaMemcpyHostToDevice)); }
    std::vector<T> download() const { std::vector<T> h((size_t)rows * cols); cudaSafeCall(cudaMemcpy2D(h.data(), cols * sizeof(T), data, step, cols * sizeof(T), rows, cudaMemcpyDeviceToHost)); return h; }
};
}  // namespace cudev
using namespace cudev;

template <typename T> PtrStepSz<T> host(std::vector<T>& v, int rows, int cols) { PtrStepSz<T> p; p.data = v.data(); p.step = cols * sizeof(T); p.rows = rows; p.cols = cols; return p; }
static bool ok = true;
template <typename T> static void compare(const char* name, const std::vector<T>& a, const std::vector<T>& b, double tol) {
    double w = 0; size_t bad = 0;
    for (size_t i = 0; i < a.size(); ++i) { double d = fabs((double)a[i] - (double)b[i]); w = std::max(w, d); bad += d > tol; }
    printf("%-18s maxdiff %g %s\n", name, w, bad ? "FAILED" : "ok");
    ok &= bad == 0;
}

int main() {
    const int R = 233, C = 427;
    std::vector<uchar3> rgb(R * C);
    for (int y = 0; y < R; ++y) for (int x = 0; x < C; ++x) rgb[y * C + x] = make_uchar3((x * 3 + y) & 255, (x * y / 7) & 255, (uchar)(128 + 100 * sin(x * 0.05) * cos(y * 0.08)));
    GpuMat<uchar3> d_rgb(R, C); d_rgb.upload(rgb);
    GpuMat<uchar> d_gray(R, C), d_bin(R, C), d_bin2(R, C), d_blur(R, C), d_er(R, C), d_di(R, C);
    GpuMat<float> d_tmp(R, C);
    dim3 b(32, 8), g(divUp(C, 32), divUp(R, 8));
    transformSimple<<<g, b>>>((PtrStepSz<uchar3>)d_rgb, (PtrStep<uchar>)(PtrStepSz<uchar>)d_gray, RGB2Gray());
    std::vector<uchar> gray(R * C);
    for (int i = 0; i < R * C; ++i) gray[i] = RGB2Gray()(rgb[i]);
    compare("rgb2gray", d_gray.download(), gray, 0);
    PtrStepSz<uchar> sg = d_gray, hg = host(gray, R, C);

    transformSimple<<<g, b>>>(sg, (PtrStep<uchar>)(PtrStepSz<uchar>)d_bin, Thresh{100});
    transformSmart<<<dim3(divUp(C, 128), g.y), b>>>(sg, (PtrStep<uchar>)(PtrStepSz<uchar>)d_bin2, Thresh{100});
    std::vector<uchar> bin(R * C); for (int i = 0; i < R * C; ++i) bin[i] = Thresh{100}(gray[i]);
    compare("threshold", d_bin.download(), bin, 0); compare("threshold x4", d_bin2.download(), bin, 0);

    float k[7], ks = 0; for (int i = 0; i < 7; ++i) ks += k[i] = expf(-(i - 3) * (i - 3) / 4.5f); for (float& v : k) v /= ks;
    cudaSafeCall(cudaMemcpyToSymbol(c_kernel, k, sizeof(k)));
    BrdReflect101 brd(R, C);
    row_filter::linearRowFilter<7, uchar, float><<<dim3(divUp(C, 128), divUp(R, 8)), dim3(32, 8)>>>(sg, (PtrStep<float>)(PtrStepSz<float>)d_tmp, 3, brd);
    column_filter::linearColumnFilter<7, float, uchar><<<dim3(divUp(C, 16), divUp(R, 64)), dim3(16, 16)>>>((PtrStepSz<float>)d_tmp, (PtrStep<uchar>)(PtrStepSz<uchar>)d_blur, 3, brd);
    cudaSafeCall(cudaGetLastError());
    std::vector<float> t(R * C); std::vector<uchar> blur(R * C);
    for (int y = 0; y < R; ++y) for (int x = 0; x < C; ++x) { float s = 0; for (int i = 0; i < 7; ++i) s += hg(y, brd.idx_col(x + i - 3)) * k[i]; t[y * C + x] = s; }
    for (int y = 0; y < R; ++y) for (int x = 0; x < C; ++x) { float s = 0; for (int i = 0; i < 7; ++i) s += t[brd.idx_row(y + i - 3) * C + x] * k[i]; blur[y * C + x] = saturate_cast<uchar>(s); }
    compare("gaussian 7x7", d_blur.download(), blur, 1);

    int* d_hist; cudaSafeCall(cudaMalloc(&d_hist, 1024)); cudaSafeCall(cudaMemset(d_hist, 0, 1024));
    histogram256Kernel<<<divUp(R, 8), dim3(32, 8)>>>(sg.data, C, R, sg.step, d_hist);
    std::vector<int> hist(256), href(256, 0); for (uchar v : gray) href[v]++;
    cudaSafeCall(cudaMemcpy(hist.data(), d_hist, 1024, cudaMemcpyDeviceToHost));
    compare("histogram", hist, href, 0);

    BrdReplicate rep(R, C);
    morphology3x3<false><<<g, b>>>(sg, (PtrStep<uchar>)(PtrStepSz<uchar>)d_er, rep);
    morphology3x3<true><<<g, b>>>(sg, (PtrStep<uchar>)(PtrStepSz<uchar>)d_di, rep);
    std::vector<uchar> er(R * C), di(R * C);
    for (int y = 0; y < R; ++y) for (int x = 0; x < C; ++x) { int lo = 255, hi = 0; for (int i = -1; i < 2; ++i) for (int j = -1; j < 2; ++j) { int v = hg(rep.idx_row(y + i), rep.idx_col(x + j)); lo = std::min(lo, v); hi = std::max(hi, v); } er[y * C + x] = lo; di[y * C + x] = hi; }
    compare("erode", d_er.download(), er, 0); compare("dilate", d_di.download(), di, 0);

    typedef BorderReader<PtrStepSz<uchar>, BrdReplicate> Reader;
    typedef LinearFilter<Reader> Lin;
    const int R2 = 150, C2 = 611;
    GpuMat<uchar> d_rs(R2, C2), d_w(R, C);
    Lin dl{Reader{sg, rep}}, hl{Reader{hg, rep}};
    resizeLinear<<<dim3(divUp(C2, 32), divUp(R2, 8)), b>>>(dl, (PtrStepSz<uchar>)d_rs, float(R) / R2, float(C) / C2);
    std::vector<uchar> rs(R2 * C2);
    for (int y = 0; y < R2; ++y) for (int x = 0; x < C2; ++x) rs[y * C2 + x] = saturate_cast<uchar>(hl(y * (float(R) / R2), x * (float(C) / C2)));
    compare("resize", d_rs.download(), rs, 2);
    const float M[6] = {0.87f, -0.42f, 60.3f, 0.45f, 0.9f, -51.7f};
    cudaSafeCall(cudaMemcpyToSymbol(c_warpMat, M, sizeof(M)));
    warpAffineKernel<<<g, b>>>(dl, (PtrStepSz<uchar>)d_w);
    std::vector<uchar> wa(R * C);
    for (int y = 0; y < R; ++y) for (int x = 0; x < C; ++x) wa[y * C + x] = saturate_cast<uchar>(hl(M[3] * x + M[4] * y + M[5], M[0] * x + M[1] * y + M[2]));
    compare("warpAffine", d_w.download(), wa, 2);

    GpuMat<unsigned> d_int(R, C);
    integralRows<<<R, 256>>>(sg, (PtrStep<unsigned>)(PtrStepSz<unsigned>)d_int);
    integralCols<<<divUp(C, 64), 64>>>((PtrStepSz<unsigned>)d_int);
    std::vector<unsigned> in(R * C); for (int y = 0; y < R; ++y) { unsigned s = 0; for (int x = 0; x < C; ++x) { s += hg(y, x); in[y * C + x] = s + (y ? in[(y - 1) * C + x] : 0); } }
    compare("integral", d_int.download(), in, 0);

    const int ND = 16;
    std::vector<uchar> right(R * C), disp(R * C, 0);
    for (int y = 0; y < R; ++y) for (int x = 0; x < C; ++x) right[y * C + x] = gray[y * C + std::min(C - 1, x + 3 + (y / 40))];
    GpuMat<uchar> d_right(R, C), d_disp(R, C); d_right.upload(right);
    stereoBM<2><<<dim3(divUp(C - ND - 4, 32), divUp(R - 4, 8)), b>>>(sg, (PtrStepSz<uchar>)d_right, (PtrStep<uchar>)(PtrStepSz<uchar>)d_disp, ND);
    for (int y = 2; y < R - 2; ++y) for (int x = 2 + ND; x < C - 2; ++x) {
        int best = 1 << 30;
        for (int d = 0; d < ND; ++d) { int s = 0; for (int i = -2; i <= 2; ++i) for (int j = -2; j <= 2; ++j) s += abs(gray[(y + i) * C + x + j] - right[(y + i) * C + x + j - d]); if (s < best) { best = s; disp[y * C + x] = d; } }
    }
    compare("stereoBM", d_disp.download(), disp, 0);
    cudaSafeCall(cudaDeviceSynchronize());
    puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
