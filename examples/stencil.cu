// A five-point stencil on a 2-D grid: one Jacobi step of the heat equation.
//
// stencilGlobal reads all five points from global memory and leaves the reuse to the caches;
// stencilShared stages a tile with a halo of one cell in shared memory.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call)                                                                     \
    do {                                                                                \
        cudaError_t status = (call);                                                    \
        if (status != cudaSuccess) {                                                    \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(2);                                                               \
        }                                                                               \
    } while (0)

#define BLOCK_X 32
#define BLOCK_Y 8
#define IDX(x, y) ((y) * width + (x))

__global__ void stencilGlobal(const float *in, float *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x > 0 && x < width - 1 && y > 0 && y < height - 1) {
        float centre = in[IDX(x, y)];
        float around = in[IDX(x - 1, y)] + in[IDX(x + 1, y)] + in[IDX(x, y - 1)] + in[IDX(x, y + 1)];
        out[IDX(x, y)] = centre + 0.2f * (around - 4.0f * centre);
    }
}

__global__ void stencilShared(const float *in, float *out, int width, int height)
{
    __shared__ float tile[BLOCK_Y + 2][BLOCK_X + 2];

    int x = blockIdx.x * BLOCK_X + threadIdx.x;
    int y = blockIdx.y * BLOCK_Y + threadIdx.y;
    int tx = threadIdx.x + 1;
    int ty = threadIdx.y + 1;

    if (x < width && y < height) {
        tile[ty][tx] = in[IDX(x, y)];
        if (threadIdx.x == 0 && x > 0)
            tile[ty][0] = in[IDX(x - 1, y)];
        if (threadIdx.x == BLOCK_X - 1 && x < width - 1)
            tile[ty][BLOCK_X + 1] = in[IDX(x + 1, y)];
        if (threadIdx.y == 0 && y > 0)
            tile[0][tx] = in[IDX(x, y - 1)];
        if (threadIdx.y == BLOCK_Y - 1 && y < height - 1)
            tile[BLOCK_Y + 1][tx] = in[IDX(x, y + 1)];
    }
    __syncthreads();

    if (x > 0 && x < width - 1 && y > 0 && y < height - 1) {
        float centre = tile[ty][tx];
        float around = tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx];
        out[IDX(x, y)] = centre + 0.2f * (around - 4.0f * centre);
    }
}

static bool agrees(const std::vector<float> &expected, const float *dOut, const char *name)
{
    CHECK(cudaGetLastError());
    std::vector<float> out(expected.size());
    CHECK(cudaMemcpy(out.data(), dOut, out.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < out.size(); ++i)
        if (!(std::fabs(out[i] - expected[i]) <= 1e-4f)) {
            std::printf("%-14s FAIL at %zu\n", name, i);
            return false;
        }
    std::printf("%-14s PASS\n", name);
    return true;
}

int main()
{
    const int width = 1000, height = 600;
    const size_t bytes = sizeof(float) * width * height;

    std::vector<float> in(width * height);
    for (int i = 0; i < width * height; ++i)
        in[i] = static_cast<float>((i * 31) % 1000) / 1000.0f;
    std::vector<float> expected(width * height, 0.0f);
    for (int y = 1; y < height - 1; ++y)
        for (int x = 1; x < width - 1; ++x) {
            float centre = in[IDX(x, y)];
            float around = in[IDX(x - 1, y)] + in[IDX(x + 1, y)] + in[IDX(x, y - 1)] + in[IDX(x, y + 1)];
            expected[IDX(x, y)] = centre + 0.2f * (around - 4.0f * centre);
        }

    float *dIn, *dOut;
    CHECK(cudaMalloc(&dIn, bytes));
    CHECK(cudaMalloc(&dOut, bytes));
    CHECK(cudaMemcpy(dIn, in.data(), bytes, cudaMemcpyHostToDevice));

    dim3 block(BLOCK_X, BLOCK_Y);
    dim3 grid((width + BLOCK_X - 1) / BLOCK_X, (height + BLOCK_Y - 1) / BLOCK_Y);
    bool ok = true;

    CHECK(cudaMemset(dOut, 0, bytes));
    stencilGlobal<<<grid, block>>>(dIn, dOut, width, height);
    ok &= agrees(expected, dOut, "stencilGlobal");

    CHECK(cudaMemset(dOut, 0, bytes));
    stencilShared<<<grid, block>>>(dIn, dOut, width, height);
    ok &= agrees(expected, dOut, "stencilShared");

    CHECK(cudaFree(dIn));
    CHECK(cudaFree(dOut));
    return ok ? 0 : 1;
}
