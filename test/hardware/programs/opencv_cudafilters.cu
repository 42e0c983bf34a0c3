// Separable filtering, morphology, integral image and resize in the manner of opencv_contrib cudaimgproc/cudafilters.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

typedef unsigned char uchar;
typedef unsigned int uint;
#define cudaSafeCall(expr) checkCudaError(expr, __FILE__, __LINE__)
static inline void checkCudaError(cudaError_t err, const char* file, const int line)
{
    if (err != cudaSuccess) { fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorString(err)); exit(1); }
}

namespace cv { namespace cuda { namespace device {

template <typename T> struct PtrStep
{
    T* data; size_t step;
    __host__ __device__ PtrStep() : data(0), step(0) {}
    __host__ __device__ PtrStep(T* data_, size_t step_) : data(data_), step(step_) {}
    __host__ __device__ __forceinline__ T* ptr(int y = 0) const { return (T*)((char*)data + y * step); }
    __host__ __device__ __forceinline__ T& operator()(int y, int x) const { return ptr(y)[x]; }
};
template <typename T> struct PtrStepSz : PtrStep<T>
{
    int cols, rows;
    __host__ __device__ PtrStepSz(int rows_, int cols_, T* data_, size_t step_) : PtrStep<T>(data_, step_), cols(cols_), rows(rows_) {}
};

__host__ __device__ __forceinline__ int divUp(int total, int grain) { return (total + grain - 1) / grain; }

template <typename T> struct TypeVec { typedef float work_type; };
template <> struct TypeVec<uchar3> { typedef float3 work_type; };
__device__ __forceinline__ float to_work(uchar v) { return v; }
__device__ __forceinline__ float to_work(float v) { return v; }
__device__ __forceinline__ float3 to_work(uchar3 v) { return make_float3(v.x, v.y, v.z); }
__device__ __forceinline__ void mad(float& s, float v, float k) { s = s + v * k; }
__device__ __forceinline__ void mad(float3& s, float3 v, float k) { s.x = s.x + v.x * k; s.y = s.y + v.y * k; s.z = s.z + v.z * k; }
__device__ __forceinline__ uchar sat(float v) { return (uchar)min(max(__float2int_rn(v), 0), 255); }
template <typename D> struct saturate_cast_;
template <> struct saturate_cast_<uchar> { static __device__ uchar call(float v) { return sat(v); } };
template <> struct saturate_cast_<float> { static __device__ float call(float v) { return v; } };
template <> struct saturate_cast_<float3> { static __device__ float3 call(float3 v) { return v; } };
template <> struct saturate_cast_<uchar3> { static __device__ uchar3 call(float3 v) { return make_uchar3(sat(v.x), sat(v.y), sat(v.z)); } };

struct BrdReplicate { __host__ __device__ static int idx(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; } };
struct BrdReflect101 { __host__ __device__ static int idx(int i, int n) { i = i < 0 ? -i : i; return i >= n ? 2 * (n - 1) - i : i; } };
struct BrdWrap { __host__ __device__ static int idx(int i, int n) { return i < 0 ? i + n : i >= n ? i - n : i; } };

#define MAX_KERNEL_SIZE 32
__constant__ float c_kernel[MAX_KERNEL_SIZE];

namespace row_filter
{
    template <int KSIZE, typename T, typename D, typename B>
    __global__ void linearRowFilter(const PtrStepSz<T> src, PtrStep<D> dst, const int anchor)
    {
        const int BLOCK_DIM_X = 32, BLOCK_DIM_Y = 8, PATCH_PER_BLOCK = 4, HALO_SIZE = KSIZE <= 16 ? 1 : 2;
        typedef typename TypeVec<T>::work_type sum_t;
        __shared__ T smem[BLOCK_DIM_Y][(PATCH_PER_BLOCK + HALO_SIZE * 2) * BLOCK_DIM_X];
        const int y = blockIdx.y * BLOCK_DIM_Y + threadIdx.y;
        if (y >= src.rows) return;
        const T* src_row = src.ptr(y);
        const int xStart = blockIdx.x * (PATCH_PER_BLOCK * BLOCK_DIM_X) + threadIdx.x;
        #pragma unroll
        for (int j = 0; j < PATCH_PER_BLOCK + 2 * HALO_SIZE; ++j)
        {
            const int x = xStart + (j - HALO_SIZE) * BLOCK_DIM_X;
            const int xb = B::idx(x, src.cols);
            smem[threadIdx.y][threadIdx.x + j * BLOCK_DIM_X] = src_row[min(max(xb, 0), src.cols - 1)];
        }
        __syncwarp();
        #pragma unroll
        for (int j = 0; j < PATCH_PER_BLOCK; ++j)
        {
            const int x = xStart + j * BLOCK_DIM_X;
            if (x < src.cols)
            {
                sum_t sum = sum_t();
                #pragma unroll
                for (int k = 0; k < KSIZE; ++k) mad(sum, to_work(smem[threadIdx.y][threadIdx.x + HALO_SIZE * BLOCK_DIM_X + j * BLOCK_DIM_X - anchor + k]), c_kernel[k]);
                dst(y, x) = saturate_cast_<D>::call(sum);
            }
        }
    }
    template <int KSIZE, typename T, typename D, typename B> void caller(PtrStepSz<T> src, PtrStepSz<D> dst, int anchor, cudaStream_t stream)
    {
        const dim3 block(32, 8), grid(divUp(src.cols, 32 * 4), divUp(src.rows, 8));
        linearRowFilter<KSIZE, T, D, B><<<grid, block, 0, stream>>>(src, dst, anchor);
        cudaSafeCall(cudaGetLastError());
    }
}

namespace column_filter
{
    template <int KSIZE, typename T, typename D, typename B>
    __global__ void linearColumnFilter(const PtrStepSz<T> src, PtrStep<D> dst, const int anchor)
    {
        const int BLOCK_DIM_X = 16, BLOCK_DIM_Y = 16, PATCH_PER_BLOCK = 4, HALO_SIZE = KSIZE <= 16 ? 1 : 2;
        __shared__ T smem[(PATCH_PER_BLOCK + HALO_SIZE * 2) * BLOCK_DIM_Y][BLOCK_DIM_X];
        const int x = blockIdx.x * BLOCK_DIM_X + threadIdx.x, yStart = blockIdx.y * (PATCH_PER_BLOCK * BLOCK_DIM_Y) + threadIdx.y;
        const int xc = min(x, src.cols - 1);
        #pragma unroll
        for (int j = 0; j < PATCH_PER_BLOCK + 2 * HALO_SIZE; ++j)
        {
            const int yb = B::idx(yStart + (j - HALO_SIZE) * BLOCK_DIM_Y, src.rows);
            smem[threadIdx.y + j * BLOCK_DIM_Y][threadIdx.x] = src(min(max(yb, 0), src.rows - 1), xc);
        }
        __syncthreads();
        if (x >= src.cols) return;
        #pragma unroll
        for (int j = 0; j < PATCH_PER_BLOCK; ++j)
        {
            const int y = yStart + j * BLOCK_DIM_Y;
            if (y < src.rows)
            {
                T sum = T();
                #pragma unroll
                for (int k = 0; k < KSIZE; ++k) mad(sum, smem[threadIdx.y + HALO_SIZE * BLOCK_DIM_Y + j * BLOCK_DIM_Y - anchor + k][threadIdx.x], c_kernel[k]);
                dst(y, x) = saturate_cast_<D>::call(sum);
            }
        }
    }
    template <int KSIZE, typename T, typename D, typename B> void caller(PtrStepSz<T> src, PtrStepSz<D> dst, int anchor, cudaStream_t stream)
    {
        const dim3 block(16, 16), grid(divUp(src.cols, 16), divUp(src.rows, 16 * 4));
        linearColumnFilter<KSIZE, T, D, B><<<grid, block, 0, stream>>>(src, dst, anchor);
        cudaSafeCall(cudaGetLastError());
    }
}

template <typename T, typename W, typename B> void sepFilter(PtrStepSz<T> src, PtrStepSz<W> buf, PtrStepSz<T> dst, const std::vector<float>& kernel, cudaStream_t stream)
{
    const int ksize = (int)kernel.size(), anchor = ksize / 2;
    cudaSafeCall(cudaMemcpyToSymbolAsync(c_kernel, kernel.data(), ksize * sizeof(float), 0, cudaMemcpyHostToDevice, stream));
    switch (ksize)
    {
    case 5: row_filter::caller<5, T, W, B>(src, buf, anchor, stream); column_filter::caller<5, W, T, B>(buf, dst, anchor, stream); break;
    case 9: row_filter::caller<9, T, W, B>(src, buf, anchor, stream); column_filter::caller<9, W, T, B>(buf, dst, anchor, stream); break;
    case 21: row_filter::caller<21, T, W, B>(src, buf, anchor, stream); column_filter::caller<21, W, T, B>(buf, dst, anchor, stream); break;
    default: fprintf(stderr, "unsupported ksize\n"); exit(1);
    }
}

struct MinOp { template <typename T> __host__ __device__ T operator()(T a, T b) const { return a < b ? a : b; } };
struct MaxOp { template <typename T> __host__ __device__ T operator()(T a, T b) const { return a > b ? a : b; } };

template <typename T, typename Op>
__global__ void morphology(const PtrStepSz<T> src, PtrStep<T> dst, const uchar* __restrict__ element, int ksize, Op op)
{
    extern __shared__ uchar tile[];
    const int r = ksize / 2, tw = blockDim.x + 2 * r, th = blockDim.y + 2 * r;
    const int x0 = blockIdx.x * blockDim.x - r, y0 = blockIdx.y * blockDim.y - r;
    for (int i = threadIdx.y * blockDim.x + threadIdx.x; i < tw * th; i += blockDim.x * blockDim.y)
        tile[i] = src(BrdReplicate::idx(y0 + i / tw, src.rows), BrdReplicate::idx(x0 + i % tw, src.cols));
    __syncthreads();
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= src.cols || y >= src.rows) return;
    T val = tile[(threadIdx.y + r) * tw + threadIdx.x + r];
    for (int i = 0; i < ksize; ++i)
        for (int j = 0; j < ksize; ++j)
            if (element[i * ksize + j]) val = op(val, tile[(threadIdx.y + i) * tw + threadIdx.x + j]);
    dst(y, x) = val;
}

// integral image: scan of rows (one block per row), then of columns
template <int BLOCK> __global__ void integralRows(const PtrStepSz<uchar> src, PtrStep<uint> sum)
{
    __shared__ uint warpSums[BLOCK / 32];
    const int y = blockIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint carry = 0;
    for (int x0 = 0; x0 < src.cols; x0 += BLOCK)
    {
        const int x = x0 + threadIdx.x;
        uint v = x < src.cols ? src(y, x) : 0;
        #pragma unroll
        for (int o = 1; o < 32; o *= 2) { const uint n = __shfl_up_sync(0xffffffff, v, o); if (lane >= o) v += n; }
        if (lane == 31) warpSums[warp] = v;
        __syncthreads();
        if (warp == 0)
        {
            uint w = lane < BLOCK / 32 ? warpSums[lane] : 0;
            for (int o = 1; o < BLOCK / 32; o *= 2) { const uint n = __shfl_up_sync(0xffffffff, w, o); if (lane >= o) w += n; }
            if (lane < BLOCK / 32) warpSums[lane] = w;
        }
        __syncthreads();
        if (x < src.cols) sum(y, x) = v + carry + (warp > 0 ? warpSums[warp - 1] : 0);
        carry += warpSums[BLOCK / 32 - 1];
        __syncthreads();
    }
}
__global__ void integralColumns(PtrStepSz<uint> sum)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= sum.cols) return;
    uint acc = 0;
    for (int y = 0; y < sum.rows; ++y) { acc += sum(y, x); sum(y, x) = acc; }
}

}}} // namespace cv::cuda::device

using namespace cv::cuda::device;
template <typename T> struct GpuMat
{
    int rows, cols; T* data; size_t step;
    GpuMat(int r, int c) : rows(r), cols(c) { cudaSafeCall(cudaMallocPitch((void**)&data, &step, c * sizeof(T), r)); cudaSafeCall(cudaMemset2D(data, step, 0, c * sizeof(T), r)); }
    ~GpuMat() { cudaFree(data); }
    void upload(const std::vector<T>& h) { cudaSafeCall(cudaMemcpy2D(data, step, h.data(), cols * sizeof(T), cols * sizeof(T), rows, cudaMemcpyHostToDevice)); }
    std::vector<T> download() const { std::vector<T> h((size_t)rows * cols); cudaSafeCall(cudaMemcpy2D(h.data(), cols * sizeof(T), data, step, cols * sizeof(T), rows, cudaMemcpyDeviceToHost)); return h; }
    operator PtrStepSz<T>() const { return PtrStepSz<T>(rows, cols, data, step); }
};

static std::vector<float> gaussian(int n, float sigma)
{
    std::vector<float> k(n);
    float s = 0;
    for (int i = 0; i < n; ++i) s += k[i] = std::exp(-(i - n / 2) * (i - n / 2) / (2 * sigma * sigma));
    for (auto& v : k) v /= s;
    return k;
}
template <int CN, typename T, typename W, typename B> static bool testFilter(const char* name, int rows, int cols, int ksize, std::mt19937& rng)
{
    std::vector<T> h((size_t)rows * cols);
    uchar* bytes = (uchar*)h.data();
    for (size_t i = 0; i < h.size() * CN; ++i) bytes[i] = rng() & 255;
    GpuMat<T> src(rows, cols), dst(rows, cols);
    GpuMat<W> buf(rows, cols);
    src.upload(h);
    const auto k = gaussian(ksize, 0.3f * ksize);
    sepFilter<T, W, B>(src, buf, dst, k, 0);
    const auto out = dst.download();
    std::vector<float> tmp((size_t)rows * cols * CN);
    const int a = ksize / 2;
    for (int y = 0; y < rows; ++y) for (int x = 0; x < cols; ++x) for (int c = 0; c < CN; ++c) {
        float s = 0;
        for (int i = 0; i < ksize; ++i) s += k[i] * bytes[((size_t)y * cols + B::idx(x - a + i, cols)) * CN + c];
        tmp[((size_t)y * cols + x) * CN + c] = s;
    }
    size_t bad = 0;
    for (int y = 0; y < rows; ++y) for (int x = 0; x < cols; ++x) for (int c = 0; c < CN; ++c) {
        float s = 0;
        for (int i = 0; i < ksize; ++i) s += k[i] * tmp[((size_t)B::idx(y - a + i, rows) * cols + x) * CN + c];
        bad += std::fabs(((const uchar*)out.data())[((size_t)y * cols + x) * CN + c] - s) > 0.51f;
    }
    printf("%-20s ksize %2d: %zu bad\n", name, ksize, bad);
    return bad == 0;
}
template <typename Op> static bool testMorph(const char* name, int rows, int cols, int ksize, Op op, std::mt19937& rng)
{
    std::vector<uchar> h((size_t)rows * cols), el(ksize * ksize);
    for (auto& v : h) v = rng() & 255;
    const int r = ksize / 2;
    for (int i = 0; i < ksize; ++i) for (int j = 0; j < ksize; ++j) el[i * ksize + j] = (i - r) * (i - r) + (j - r) * (j - r) <= r * r;
    GpuMat<uchar> src(rows, cols), dst(rows, cols);
    src.upload(h);
    uchar* d_el;
    cudaSafeCall(cudaMalloc(&d_el, el.size()));
    cudaSafeCall(cudaMemcpy(d_el, el.data(), el.size(), cudaMemcpyHostToDevice));
    const dim3 block(32, 8), grid(divUp(cols, 32), divUp(rows, 8));
    morphology<uchar, Op><<<grid, block, (32 + 2 * r) * (8 + 2 * r)>>>(src, dst, d_el, ksize, op);
    cudaSafeCall(cudaGetLastError());
    const auto out = dst.download();
    cudaSafeCall(cudaFree(d_el));
    size_t bad = 0;
    for (int y = 0; y < rows; ++y) for (int x = 0; x < cols; ++x) {
        uchar v = h[(size_t)y * cols + x];
        for (int i = 0; i < ksize; ++i) for (int j = 0; j < ksize; ++j)
            if (el[i * ksize + j]) v = op(v, h[(size_t)BrdReplicate::idx(y - r + i, rows) * cols + BrdReplicate::idx(x - r + j, cols)]);
        bad += v != out[(size_t)y * cols + x];
    }
    printf("%-20s ksize %2d: %zu bad\n", name, ksize, bad);
    return bad == 0;
}
static bool testIntegral(int rows, int cols, std::mt19937& rng)
{
    std::vector<uchar> h((size_t)rows * cols);
    for (auto& v : h) v = rng() & 255;
    GpuMat<uchar> src(rows, cols);
    GpuMat<uint> sum(rows, cols);
    src.upload(h);
    integralRows<256><<<rows, 256>>>(src, sum);
    cudaSafeCall(cudaGetLastError());
    integralColumns<<<divUp(cols, 128), 128>>>(sum);
    cudaSafeCall(cudaGetLastError());
    const auto out = sum.download();
    std::vector<uint> col(cols, 0);
    size_t bad = 0;
    for (int y = 0; y < rows; ++y) {
        uint s = 0;
        for (int x = 0; x < cols; ++x) { col[x] += h[(size_t)y * cols + x]; s += col[x]; bad += s != out[(size_t)y * cols + x]; }
    }
    printf("%-20s          : %zu bad\n", "integral", bad);
    return bad == 0;
}

int main()
{
    std::mt19937 rng(42);
    bool ok = testFilter<1, uchar, float, BrdReflect101>("gaussian 8UC1", 480, 701, 5, rng);
    ok &= testFilter<1, uchar, float, BrdReplicate>("gaussian 8UC1", 301, 640, 21, rng);
    ok &= testFilter<3, uchar3, float3, BrdWrap>("gaussian 8UC3", 240, 333, 9, rng);
    ok &= testMorph("erode", 480, 641, 7, MinOp(), rng);
    ok &= testMorph("dilate", 255, 513, 13, MaxOp(), rng);
    ok &= testIntegral(600, 1000, rng);
    printf("%s\n", ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
