// Small image processing module in the spirit of a device layer of a vision library:
// pitched images wrapped in PtrStepSz, border policies as functors, transform with vector
// smart path, separable filter, bilateral filter, bilinear resize and histogram.

#include <cuda_runtime.h>
#include <vector_types.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

typedef unsigned char uchar;

#define cvCudaSafeCall(expr) ___cudaSafeCall(expr, __FILE__, __LINE__, #expr)
static inline void ___cudaSafeCall(cudaError_t err, const char* file, const int line, const char* expr)
{
    if (cudaSuccess != err)
    {
        std::fprintf(stderr, "%s(%d): error: (%s) %s\n", file, line, cudaGetErrorString(err), expr);
        std::exit(1);
    }
}

namespace dev
{
    template <typename T> struct PtrStep
    {
        T* data;
        size_t step;   // in bytes
        __host__ __device__ __forceinline__ PtrStep() : data(0), step(0) {}
        __host__ __device__ __forceinline__ PtrStep(T* d, size_t s) : data(d), step(s) {}
        __host__ __device__ __forceinline__ T* ptr(int y = 0) { return (T*)((char*)data + y * step); }
        __host__ __device__ __forceinline__ const T* ptr(int y = 0) const { return (const T*)((const char*)data + y * step); }
        __host__ __device__ __forceinline__ T& operator()(int y, int x) { return ptr(y)[x]; }
        __host__ __device__ __forceinline__ const T& operator()(int y, int x) const { return ptr(y)[x]; }
    };

    template <typename T> struct PtrStepSz : public PtrStep<T>
    {
        int cols, rows;
        __host__ __device__ __forceinline__ PtrStepSz(int rows_, int cols_, T* d, size_t s) : PtrStep<T>(d, s), cols(cols_), rows(rows_) {}
    };

    template <typename T> __host__ __device__ __forceinline__ T saturate_cast(float v);
    template <> __host__ __device__ __forceinline__ uchar saturate_cast<uchar>(float v)
    {
        int i = (int)rintf(v);
        return (uchar)(i < 0 ? 0 : (i > 255 ? 255 : i));
    }
    template <> __host__ __device__ __forceinline__ float saturate_cast<float>(float v) { return v; }

    template <typename D> struct BrdReplicate
    {
        int height, width;
        typedef D result_type;
        __host__ __device__ BrdReplicate(int h, int w) : height(h), width(w) {}
        __host__ __device__ __forceinline__ int idx_row(int y) const { return y < 0 ? 0 : (y >= height ? height - 1 : y); }
        __host__ __device__ __forceinline__ int idx_col(int x) const { return x < 0 ? 0 : (x >= width ? width - 1 : x); }
    };

    template <typename D> struct BrdReflect101
    {
        int last_row, last_col;
        typedef D result_type;
        __host__ __device__ BrdReflect101(int h, int w) : last_row(h - 1), last_col(w - 1) {}
        __host__ __device__ __forceinline__ int idx_row_low(int y) const { return abs(y) % (last_row + 1); }
        __host__ __device__ __forceinline__ int idx_row_high(int y) const { return abs(last_row - abs(last_row - y)) % (last_row + 1); }
        __host__ __device__ __forceinline__ int idx_row(int y) const { return idx_row_low(idx_row_high(y)); }
        __host__ __device__ __forceinline__ int idx_col_low(int x) const { return abs(x) % (last_col + 1); }
        __host__ __device__ __forceinline__ int idx_col_high(int x) const { return abs(last_col - abs(last_col - x)) % (last_col + 1); }
        __host__ __device__ __forceinline__ int idx_col(int x) const { return idx_col_low(idx_col_high(x)); }
    };

    const int MAX_KERNEL_SIZE = 32;
    __constant__ float c_kernel[MAX_KERNEL_SIZE];

    template <int KSIZE, typename T, typename D, class B>
    __global__ void linearRowFilter(const PtrStepSz<T> src, PtrStep<D> dst, const int anchor, const B brd)
    {
        const int BLOCK_DIM_X = 32;
        const int BLOCK_DIM_Y = 8;
        const int PATCH_PER_BLOCK = 4;
        const int HALO_SIZE = 1;

        __shared__ float smem[BLOCK_DIM_Y][(PATCH_PER_BLOCK + HALO_SIZE * 2) * BLOCK_DIM_X];

        const int y = blockIdx.y * BLOCK_DIM_Y + threadIdx.y;
        if (y >= src.rows)
            return;

        const T* src_row = src.ptr(y);
        const int xStart = blockIdx.x * (PATCH_PER_BLOCK * BLOCK_DIM_X) + threadIdx.x;

        //Load left halo
        #pragma unroll
        for (int j = 0; j < HALO_SIZE; ++j)
            smem[threadIdx.y][threadIdx.x + j * BLOCK_DIM_X] = src_row[brd.idx_col(xStart - (HALO_SIZE - j) * BLOCK_DIM_X)];
        //Load main data
        #pragma unroll
        for (int j = 0; j < PATCH_PER_BLOCK; ++j)
            smem[threadIdx.y][threadIdx.x + HALO_SIZE * BLOCK_DIM_X + j * BLOCK_DIM_X] = src_row[brd.idx_col(xStart + j * BLOCK_DIM_X)];
        //Load right halo
        #pragma unroll
        for (int j = 0; j < HALO_SIZE; ++j)
            smem[threadIdx.y][threadIdx.x + (PATCH_PER_BLOCK + HALO_SIZE) * BLOCK_DIM_X + j * BLOCK_DIM_X] = src_row[brd.idx_col(xStart + (PATCH_PER_BLOCK + j) * BLOCK_DIM_X)];

        __syncwarp();   // a row belongs to a single warp

        #pragma unroll
        for (int j = 0; j < PATCH_PER_BLOCK; ++j)
        {
            const int x = xStart + j * BLOCK_DIM_X;
            if (x < src.cols)
            {
                float sum = 0.f;
                #pragma unroll
                for (int k = 0; k < KSIZE; ++k)
                    sum = sum + smem[threadIdx.y][threadIdx.x + HALO_SIZE * BLOCK_DIM_X + j * BLOCK_DIM_X - anchor + k] * c_kernel[k];
                dst(y, x) = saturate_cast<D>(sum);
            }
        }
    }

    template <int KSIZE, typename T, typename D, class B>
    __global__ void linearColumnFilter(const PtrStepSz<T> src, PtrStep<D> dst, const int anchor, const B brd)
    {
        const int BLOCK_DIM_X = 16;
        const int BLOCK_DIM_Y = 16;
        const int PATCH_PER_BLOCK = 4;
        const int HALO_SIZE = 1;
        __shared__ float smem[(PATCH_PER_BLOCK + HALO_SIZE * 2) * BLOCK_DIM_Y][BLOCK_DIM_X];

        const int x = blockIdx.x * BLOCK_DIM_X + threadIdx.x;
        const int yStart = blockIdx.y * (BLOCK_DIM_Y * PATCH_PER_BLOCK) + threadIdx.y;
        const int xs = min(x, src.cols - 1);

        #pragma unroll
        for (int j = -HALO_SIZE; j < PATCH_PER_BLOCK + HALO_SIZE; ++j)
            smem[threadIdx.y + (j + HALO_SIZE) * BLOCK_DIM_Y][threadIdx.x] = src(brd.idx_row(yStart + j * BLOCK_DIM_Y), xs);
        __syncthreads();
        if (x >= src.cols)
            return;

        #pragma unroll
        for (int j = 0; j < PATCH_PER_BLOCK; ++j)
        {
            const int y = yStart + j * BLOCK_DIM_Y;
            if (y < src.rows)
            {
                float sum = 0.f;
                #pragma unroll
                for (int k = 0; k < KSIZE; ++k)
                    sum = sum + smem[threadIdx.y + HALO_SIZE * BLOCK_DIM_Y + j * BLOCK_DIM_Y - anchor + k][threadIdx.x] * c_kernel[k];
                dst(y, x) = saturate_cast<D>(sum);
            }
        }
    }

    template <class B>
    __global__ void bilateral_kernel(const PtrStepSz<uchar> src, PtrStep<uchar> dst, const B b, const int ksz, const float sigma_spatial2_inv_half, const float sigma_color2_inv_half)
    {
        int x = threadIdx.x + blockIdx.x * blockDim.x;
        int y = threadIdx.y + blockIdx.y * blockDim.y;
        if (x >= src.cols || y >= src.rows)
            return;

        float center = src(y, x);
        int r = ksz / 2;
        float r2 = r * r;
        float sum1 = 0, sum2 = 0;
        for (int cy = y - r; cy <= y + r; ++cy)
            for (int cx = x - r; cx <= x + r; ++cx)
            {
                float space2 = (x - cx) * (x - cx) + (y - cy) * (y - cy);
                if (space2 > r2)
                    continue;
                float value = src(b.idx_row(cy), b.idx_col(cx));
                float diff = value - center;
                float weight = ::exp(space2 * sigma_spatial2_inv_half + diff * diff * sigma_color2_inv_half);
                sum1 = sum1 + weight * value;
                sum2 = sum2 + weight;
            }
        dst(y, x) = saturate_cast<uchar>(sum1 / sum2);
    }

    template <typename T>
    __global__ void resize_linear(const PtrStepSz<T> src, PtrStepSz<T> dst, const float fy, const float fx)
    {
        const int dst_x = blockDim.x * blockIdx.x + threadIdx.x;
        const int dst_y = blockDim.y * blockIdx.y + threadIdx.y;
        if (dst_x < dst.cols && dst_y < dst.rows)
        {
            const float src_x = dst_x * fx;
            const float src_y = dst_y * fy;
            const int x1 = __float2int_rd(src_x);
            const int y1 = __float2int_rd(src_y);
            const int x2 = x1 + 1;
            const int y2 = y1 + 1;
            const int x2_read = ::min(x2, src.cols - 1);
            const int y2_read = ::min(y2, src.rows - 1);
            float out = 0.f;
            out = out + src(y1, x1) * ((x2 - src_x) * (y2 - src_y));
            out = out + src(y1, x2_read) * ((src_x - x1) * (y2 - src_y));
            out = out + src(y2_read, x1) * ((x2 - src_x) * (src_y - y1));
            out = out + src(y2_read, x2_read) * ((src_x - x1) * (src_y - y1));
            dst(dst_y, dst_x) = saturate_cast<T>(out);
        }
    }

    struct ThreshToZero
    {
        uchar thresh;
        __host__ __device__ __forceinline__ uchar operator()(uchar v) const { return v > thresh ? v : (uchar)0; }
    };

    // four pixels per thread, tail handled element-wise
    template <class UnOp>
    __global__ void transformSmart(const PtrStepSz<uchar> src_, PtrStep<uchar> dst_, const UnOp op)
    {
        const int x = threadIdx.x + blockIdx.x * blockDim.x;
        const int y = threadIdx.y + blockIdx.y * blockDim.y;
        const int x_shifted = x * 4;
        if (y < src_.rows)
        {
            const uchar* src = src_.ptr(y);
            uchar* dst = dst_.ptr(y);
            if (x_shifted + 4 - 1 < src_.cols)
            {
                const uchar4 src_n_el = ((const uchar4*)src)[x];
                ((uchar4*)dst)[x] = make_uchar4(op(src_n_el.x), op(src_n_el.y), op(src_n_el.z), op(src_n_el.w));
            }
            else
            {
                for (int real_x = x_shifted; real_x < src_.cols; ++real_x)
                    dst[real_x] = op(src[real_x]);
            }
        }
    }

    __global__ void histogram256Kernel(const uchar* src, int cols, int rows, size_t step, int* hist)
    {
        __shared__ int shist[256];
        const int y = blockIdx.x * blockDim.y + threadIdx.y;
        const int tid = threadIdx.y * blockDim.x + threadIdx.x;
        shist[tid] = 0;
        __syncthreads();
        if (y < rows)
        {
            const unsigned int* rowPtr = (const unsigned int*)(src + y * step);
            const int cols_4 = cols / 4;
            for (int x = threadIdx.x; x < cols_4; x += blockDim.x)
            {
                unsigned int data = rowPtr[x];
                atomicAdd(&shist[(data >>  0) & 0xFFU], 1);
                atomicAdd(&shist[(data >>  8) & 0xFFU], 1);
                atomicAdd(&shist[(data >> 16) & 0xFFU], 1);
                atomicAdd(&shist[(data >> 24) & 0xFFU], 1);
            }
            if (cols % 4 != 0 && threadIdx.x == 0)
                for (int x = cols_4 * 4; x < cols; ++x)
                    atomicAdd(&shist[((const uchar*)rowPtr)[x]], 1);
        }
        __syncthreads();
        const int histVal = shist[tid];
        if (histVal > 0)
            atomicAdd(hist + tid, histVal);
    }
}

using namespace dev;

static inline int divUp(int total, int grain) { return (total + grain - 1) / grain; }

template <typename T> struct GpuMat
{
    T* d; size_t step; int rows, cols;
    GpuMat(int r, int c) : rows(r), cols(c) { cvCudaSafeCall(cudaMallocPitch(&d, &step, c * sizeof(T), r)); }
    ~GpuMat() { cudaFree(d); }
    void upload(const std::vector<T>& h) { cvCudaSafeCall(cudaMemcpy2D(d, step, h.data(), cols * sizeof(T), cols * sizeof(T), rows, cudaMemcpyHostToDevice)); }
    std::vector<T> download() const { std::vector<T> h((size_t)rows * cols); cvCudaSafeCall(cudaMemcpy2D(h.data(), cols * sizeof(T), d, step, cols * sizeof(T), rows, cudaMemcpyDeviceToHost)); return h; }
    operator PtrStepSz<T>() const { return PtrStepSz<T>(rows, cols, d, step); }
};

template <int KSIZE> void sepFilter(const GpuMat<uchar>& src, GpuMat<float>& buf, GpuMat<uchar>& dst, const std::vector<float>& k)
{
    cvCudaSafeCall(cudaMemcpyToSymbol(c_kernel, k.data(), KSIZE * sizeof(float)));
    BrdReflect101<float> brd(src.rows, src.cols);
    linearRowFilter<KSIZE, uchar, float, BrdReflect101<float> ><<<dim3(divUp(src.cols, 128), divUp(src.rows, 8)), dim3(32, 8)>>>(src, buf, KSIZE / 2, brd);
    cvCudaSafeCall(cudaGetLastError());
    linearColumnFilter<KSIZE, float, uchar, BrdReflect101<float> ><<<dim3(divUp(src.cols, 16), divUp(src.rows, 64)), dim3(16, 16)>>>(buf, dst, KSIZE / 2, brd);
    cvCudaSafeCall(cudaGetLastError());
}

static int maxDiff(const std::vector<uchar>& a, const std::vector<uchar>& b, const char* what)
{
    int m = 0, n = 0;
    for (size_t i = 0; i < a.size(); ++i) { int d = std::abs((int)a[i] - b[i]); m = std::max(m, d); n += d != 0; }
    std::printf("%-12s max diff %d (%d px differ)\n", what, m, n);
    return m;
}

int main()
{
    const int rows = 211, cols = 317, drows = 150, dcols = 233;
    std::vector<uchar> img((size_t)rows * cols);
    unsigned lcg = 1;
    for (int y = 0; y < rows; ++y)
        for (int x = 0; x < cols; ++x)
        {
            lcg = lcg * 69069u + 1u;
            img[y * cols + x] = (uchar)((int)(100 + 60 * std::sin(x * 0.05) + 50 * ((x / 40 + y / 30) & 1)) + (lcg >> 28));
        }
    GpuMat<uchar> src(rows, cols), blur(rows, cols), bil(rows, cols), thr(rows, cols), small(drows, dcols);
    GpuMat<float> buf(rows, cols);
    src.upload(img);

    std::vector<float> k5 = {1 / 16.f, 4 / 16.f, 6 / 16.f, 4 / 16.f, 1 / 16.f};
    sepFilter<5>(src, buf, blur, k5);

    const float sc = -0.5f / (20.f * 20.f), ss = -0.5f / (3.f * 3.f);
    BrdReplicate<float> brep(rows, cols);
    bilateral_kernel<<<dim3(divUp(cols, 32), divUp(rows, 8)), dim3(32, 8)>>>(src, bil, brep, 7, ss, sc);
    const float fy = (float)rows / drows, fx = (float)cols / dcols;
    resize_linear<uchar><<<dim3(divUp(dcols, 32), divUp(drows, 8)), dim3(32, 8)>>>(src, small, fy, fx);
    ThreshToZero op = {120};
    transformSmart<<<dim3(divUp(cols, 16 * 4), divUp(rows, 16)), dim3(16, 16)>>>(src, thr, op);
    int* d_hist;
    cvCudaSafeCall(cudaMalloc(&d_hist, 256 * sizeof(int)));
    cvCudaSafeCall(cudaMemset(d_hist, 0, 256 * sizeof(int)));
    histogram256Kernel<<<divUp(rows, 8), dim3(32, 8)>>>(src.d, cols, rows, src.step, d_hist);
    cvCudaSafeCall(cudaGetLastError());
    cvCudaSafeCall(cudaDeviceSynchronize());

    std::vector<uchar> r_blur(img.size()), r_bil(img.size()), r_thr(img.size()), r_small((size_t)drows * dcols);
    std::vector<int> r_hist(256, 0), hist(256);
    cvCudaSafeCall(cudaMemcpy(hist.data(), d_hist, 256 * sizeof(int), cudaMemcpyDeviceToHost));
    BrdReflect101<float> b101(rows, cols);
    for (int y = 0; y < rows; ++y)
        for (int x = 0; x < cols; ++x)
        {
            double s = 0, w = 0, v = 0;
            for (int i = 0; i < 5; ++i)
                for (int j = 0; j < 5; ++j)
                    s += (double)k5[i] * k5[j] * img[b101.idx_row(y + i - 2) * cols + b101.idx_col(x + j - 2)];
            r_blur[y * cols + x] = saturate_cast<uchar>((float)s);
            for (int i = -3; i <= 3; ++i)
                for (int j = -3; j <= 3; ++j)
                {
                    if (i * i + j * j > 9) continue;
                    double p = img[brep.idx_row(y + i) * cols + brep.idx_col(x + j)], d = p - img[y * cols + x];
                    double e = std::exp((i * i + j * j) * (double)ss + d * d * sc);
                    w += e; v += e * p;
                }
            r_bil[y * cols + x] = saturate_cast<uchar>((float)(v / w));
            r_thr[y * cols + x] = op(img[y * cols + x]);
            r_hist[img[y * cols + x]]++;
        }
    for (int y = 0; y < drows; ++y)
        for (int x = 0; x < dcols; ++x)
        {
            double sx = (double)(x * fx), sy = (double)(y * fy);
            int x1 = (int)sx, y1 = (int)sy, x2 = std::min(x1 + 1, cols - 1), y2 = std::min(y1 + 1, rows - 1);
            double ax = sx - x1, ay = sy - y1;
            r_small[y * dcols + x] = saturate_cast<uchar>((float)((1 - ay) * ((1 - ax) * img[y1 * cols + x1] + ax * img[y1 * cols + x2]) + ay * ((1 - ax) * img[y2 * cols + x1] + ax * img[y2 * cols + x2])));
        }
    bool ok = true;
    ok &= maxDiff(blur.download(), r_blur, "sepFilter") <= 1;
    ok &= maxDiff(bil.download(), r_bil, "bilateral") <= 1;
    ok &= maxDiff(small.download(), r_small, "resize") <= 1;
    ok &= maxDiff(thr.download(), r_thr, "threshold") == 0;
    ok &= hist == r_hist;
    cudaFree(d_hist);
    std::printf("%s\n", ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
