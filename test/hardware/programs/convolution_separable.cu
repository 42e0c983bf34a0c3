// Separable convolution of a 768 x 384 image: rows, then columns.
#include "common.h"

#define KERNEL_RADIUS 8
#define KERNEL_LENGTH (2 * KERNEL_RADIUS + 1)
#define ROWS_BLOCKDIM_X 16
#define ROWS_BLOCKDIM_Y 4
#define ROWS_RESULT_STEPS 8
#define ROWS_HALO_STEPS 1
#define COLUMNS_BLOCKDIM_X 16
#define COLUMNS_BLOCKDIM_Y 8
#define COLUMNS_RESULT_STEPS 8
#define COLUMNS_HALO_STEPS 1

__constant__ float c_Kernel[KERNEL_LENGTH];

__global__ void convolutionRows(float *d_Dst, const float *d_Src, int imageW, int imageH, int pitch)
{
    __shared__ float s_Data[ROWS_BLOCKDIM_Y][(ROWS_RESULT_STEPS + 2 * ROWS_HALO_STEPS) * ROWS_BLOCKDIM_X];
    const int baseX = (blockIdx.x * ROWS_RESULT_STEPS - ROWS_HALO_STEPS) * ROWS_BLOCKDIM_X + threadIdx.x;
    const int baseY = blockIdx.y * ROWS_BLOCKDIM_Y + threadIdx.y;
    d_Src += baseY * pitch + baseX;
    d_Dst += baseY * pitch + baseX;

#pragma unroll
    for (int i = ROWS_HALO_STEPS; i < ROWS_HALO_STEPS + ROWS_RESULT_STEPS; i++)
        s_Data[threadIdx.y][threadIdx.x + i * ROWS_BLOCKDIM_X] = d_Src[i * ROWS_BLOCKDIM_X];
#pragma unroll
    for (int i = 0; i < ROWS_HALO_STEPS; i++)
        s_Data[threadIdx.y][threadIdx.x + i * ROWS_BLOCKDIM_X] = (baseX >= -i * ROWS_BLOCKDIM_X) ? d_Src[i * ROWS_BLOCKDIM_X] : 0;
#pragma unroll
    for (int i = ROWS_HALO_STEPS + ROWS_RESULT_STEPS; i < ROWS_HALO_STEPS + ROWS_RESULT_STEPS + ROWS_HALO_STEPS; i++)
        s_Data[threadIdx.y][threadIdx.x + i * ROWS_BLOCKDIM_X] = (imageW - baseX > i * ROWS_BLOCKDIM_X) ? d_Src[i * ROWS_BLOCKDIM_X] : 0;

    __syncthreads();
#pragma unroll
    for (int i = ROWS_HALO_STEPS; i < ROWS_HALO_STEPS + ROWS_RESULT_STEPS; i++) {
        float sum = 0;
#pragma unroll
        for (int j = -KERNEL_RADIUS; j <= KERNEL_RADIUS; j++)
            sum += c_Kernel[KERNEL_RADIUS - j] * s_Data[threadIdx.y][threadIdx.x + i * ROWS_BLOCKDIM_X + j];
        d_Dst[i * ROWS_BLOCKDIM_X] = sum;
    }
}

__global__ void convolutionColumns(float *d_Dst, const float *d_Src, int imageW, int imageH, int pitch)
{
    __shared__ float s_Data[COLUMNS_BLOCKDIM_X][(COLUMNS_RESULT_STEPS + 2 * COLUMNS_HALO_STEPS) * COLUMNS_BLOCKDIM_Y + 1];
    const int baseX = blockIdx.x * COLUMNS_BLOCKDIM_X + threadIdx.x;
    const int baseY = (blockIdx.y * COLUMNS_RESULT_STEPS - COLUMNS_HALO_STEPS) * COLUMNS_BLOCKDIM_Y + threadIdx.y;
    d_Src += baseY * pitch + baseX;
    d_Dst += baseY * pitch + baseX;
    for (int i = 0; i < COLUMNS_RESULT_STEPS + 2 * COLUMNS_HALO_STEPS; i++) {
        int y = baseY + i * COLUMNS_BLOCKDIM_Y;
        s_Data[threadIdx.x][threadIdx.y + i * COLUMNS_BLOCKDIM_Y] = (y >= 0 && y < imageH) ? d_Src[i * COLUMNS_BLOCKDIM_Y * pitch] : 0;
    }
    __syncthreads();
#pragma unroll
    for (int i = COLUMNS_HALO_STEPS; i < COLUMNS_HALO_STEPS + COLUMNS_RESULT_STEPS; i++) {
        float sum = 0;
#pragma unroll
        for (int j = -KERNEL_RADIUS; j <= KERNEL_RADIUS; j++)
            sum += c_Kernel[KERNEL_RADIUS - j] * s_Data[threadIdx.x][threadIdx.y + i * COLUMNS_BLOCKDIM_Y + j];
        d_Dst[i * COLUMNS_BLOCKDIM_Y * pitch] = sum;
    }
}

// Without tiles: every tap from global memory, edges clamped by a condition.
__global__ void convolveColumnsDirect(const float *src, float *dst, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = -KERNEL_RADIUS; k <= KERNEL_RADIUS; k++) {
        int d = y + k;
        if (d >= 0 && d < h)
            sum += src[d * w + x] * c_Kernel[KERNEL_RADIUS - k];
    }
    dst[y * w + x] = sum;
}

int main()
{
    const int w = 768, h = 384, n = w * h;
    float k[KERNEL_LENGTH];
    for (int i = 0; i < KERNEL_LENGTH; i++) k[i] = 1.0f / (1 + i % 5);
    CUDA_OK(cudaMemcpyToSymbol(c_Kernel, k, sizeof(k)));
    std::vector<float> in = randomFloats(n, 6), rows(n), columns(n);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            for (int j = -KERNEL_RADIUS; j <= KERNEL_RADIUS; j++) {
                if (x + j >= 0 && x + j < w) rows[y * w + x] += k[KERNEL_RADIUS - j] * in[y * w + x + j];
                if (y + j >= 0 && y + j < h) columns[y * w + x] += k[KERNEL_RADIUS - j] * in[(y + j) * w + x];
            }
    float *src = toDevice(in), *dst = deviceZeros<float>(n);
    bool ok = true;
    convolutionRows<<<dim3(w / (ROWS_RESULT_STEPS * ROWS_BLOCKDIM_X), h / ROWS_BLOCKDIM_Y), dim3(ROWS_BLOCKDIM_X, ROWS_BLOCKDIM_Y)>>>(dst, src, w, h, w);
    ok &= report("convolutionRows", allNear(toHost(dst, n), rows, 1e-4));
    convolutionColumns<<<dim3(w / COLUMNS_BLOCKDIM_X, h / (COLUMNS_RESULT_STEPS * COLUMNS_BLOCKDIM_Y)), dim3(COLUMNS_BLOCKDIM_X, COLUMNS_BLOCKDIM_Y)>>>(dst, src, w, h, w);
    ok &= report("convolutionColumns", allNear(toHost(dst, n), columns, 1e-4));
    CUDA_OK(cudaMemset(dst, 0, n * sizeof(float)));
    convolveColumnsDirect<<<dim3(w / 32, h / 8), dim3(32, 8)>>>(src, dst, w, h);
    ok &= report("convolveColumnsDirect", allNear(toHost(dst, n), columns, 1e-4));
    return ok ? 0 : 1;
}
