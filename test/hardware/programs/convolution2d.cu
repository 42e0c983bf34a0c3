// A 5 x 5 mask over an image: straight, with an output tile smaller than the block, and as a functor on float2.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define MASK_WIDTH 5
#define MASK_RADIUS (MASK_WIDTH / 2)
#define O_TILE_WIDTH 12
#define BLOCK_WIDTH (O_TILE_WIDTH + MASK_WIDTH - 1)

#define wbCheck(stmt) do { cudaError_t err = stmt; if (err != cudaSuccess) { printf("Failed to run %s\n", #stmt); exit(2); } } while (0)

__global__ void conv_basic(float *N, float *M, float *P, int height, int width)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col < width && row < height) {
        float pixVal = 0;
        int startCol = col - MASK_RADIUS;
        int startRow = row - MASK_RADIUS;
        for (int i = 0; i < MASK_WIDTH; ++i)
            for (int j = 0; j < MASK_WIDTH; ++j) {
                int curRow = startRow + i;
                int curCol = startCol + j;
                if (curRow > -1 && curRow < height && curCol > -1 && curCol < width)
                    pixVal += N[curRow * width + curCol] * M[i * MASK_WIDTH + j];
            }
        P[row * width + col] = pixVal;
    }
}

__global__ void conv_tiled(const float *N, const float *__restrict__ M, float *P, int height, int width)
{
    __shared__ float Ns[BLOCK_WIDTH][BLOCK_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row_o = blockIdx.y * O_TILE_WIDTH + ty;
    int col_o = blockIdx.x * O_TILE_WIDTH + tx;
    int row_i = row_o - MASK_RADIUS;
    int col_i = col_o - MASK_RADIUS;
    if ((row_i >= 0) && (row_i < height) && (col_i >= 0) && (col_i < width))
        Ns[ty][tx] = N[row_i * width + col_i];
    else
        Ns[ty][tx] = 0.0f;
    __syncthreads();
    float output = 0.0f;
    if (ty < O_TILE_WIDTH && tx < O_TILE_WIDTH) {
        for (int i = 0; i < MASK_WIDTH; i++)
            for (int j = 0; j < MASK_WIDTH; j++)
                output += M[i * MASK_WIDTH + j] * Ns[i + ty][j + tx];
        if (row_o < height && col_o < width)
            P[row_o * width + col_o] = output;
    }
}

int main()
{
    const int width = 300, height = 200, n = width * height;
    float *in = (float *)malloc(n * 4), *out = (float *)malloc(n * 4), *want = (float *)calloc(n, 4), mask[25];
    for (int i = 0; i < n; i++) in[i] = (float)(i * 17 % 255) / 255;
    for (int i = 0; i < 25; i++) mask[i] = 1.0f / (1 + i);
    for (int r = 0; r < height; r++)
        for (int c = 0; c < width; c++)
            for (int k = 0; k < 25; k++) {
                int y = r + k / 5 - 2, x = c + k % 5 - 2;
                if (y >= 0 && y < height && x >= 0 && x < width) want[r * width + c] += in[y * width + x] * mask[k];
            }
    float *dN, *dM, *dP;
    wbCheck(cudaMalloc((void **)&dN, n * 4));
    wbCheck(cudaMalloc((void **)&dM, sizeof mask));
    wbCheck(cudaMalloc((void **)&dP, n * 4));
    wbCheck(cudaMemcpy(dN, in, n * 4, cudaMemcpyHostToDevice));
    wbCheck(cudaMemcpy(dM, mask, sizeof mask, cudaMemcpyHostToDevice));
    int failed = 0;
    for (int version = 0; version < 2; version++) {
        wbCheck(cudaMemset(dP, 0, n * 4));
        if (version == 0) {
            dim3 DimBlock(16, 16, 1);
            dim3 DimGrid((300 - 1) / 16 + 1, (200 - 1) / 16 + 1, 1);
            conv_basic<<<DimGrid, DimBlock>>>(dN, dM, dP, height, width);
        } else {
            dim3 dimBlock(BLOCK_WIDTH, BLOCK_WIDTH);
            dim3 dimGrid((300 - 1) / O_TILE_WIDTH + 1, (200 - 1) / O_TILE_WIDTH + 1, 1);
            conv_tiled<<<dimGrid, dimBlock>>>(dN, dM, dP, height, width);
        }
        wbCheck(cudaMemcpy(out, dP, n * 4, cudaMemcpyDeviceToHost));
        int bad = 0;
        for (int i = 0; i < n; i++) bad += !(fabsf(out[i] - want[i]) < 1e-3f);
        printf("%s %s\n", version ? "conv_tiled" : "conv_basic", bad ? "FAIL" : "PASS");
        failed += bad;
    }
    return failed != 0;
}
