// Transposing a matrix, three ways.
//
// The matrix has 1024 x 1024 floats. A block of 32 x 8 threads moves a tile of
// 32 x 32, so each thread moves four elements.
//
//   transposeNaive    reads rows, writes columns: the 32 lanes of a store lie in 32 different sectors
//   transposeTiled    goes through shared memory, but a warp reads a column of a 32-wide tile: 32-way conflict
//   transposePadded   one more column in the tile, and the conflict is gone

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

constexpr int N = 1024;
constexpr int TILE_DIM = 32;
constexpr int BLOCK_ROWS = 8;

__global__ void transposeNaive(float *out, const float *in, int n)
{
    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;

    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        out[x * n + (y + j)] = in[(y + j) * n + x];
}

__global__ void transposeTiled(float *out, const float *in, int n)
{
    __shared__ float tile[TILE_DIM][TILE_DIM];

    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];

    __syncthreads();

    x = blockIdx.y * TILE_DIM + threadIdx.x;
    y = blockIdx.x * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void transposePadded(float *out, const float *in, int n)
{
    __shared__ float tile[TILE_DIM][TILE_DIM + 1];

    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];

    __syncthreads();

    x = blockIdx.y * TILE_DIM + threadIdx.x;
    y = blockIdx.x * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

static bool isTransposed(const std::vector<float> &in, float *dOut, const char *name)
{
    std::vector<float> out(N * N);
    CHECK(cudaMemcpy(out.data(), dOut, out.size() * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaMemset(dOut, 0xff, out.size() * sizeof(float)));
    for (int y = 0; y < N; ++y)
        for (int x = 0; x < N; ++x)
            if (out[x * N + y] != in[y * N + x]) {
                std::printf("%-16s FAIL at (%d, %d)\n", name, x, y);
                return false;
            }
    std::printf("%-16s PASS\n", name);
    return true;
}

int main()
{
    std::vector<float> in(N * N);
    for (int i = 0; i < N * N; ++i)
        in[i] = static_cast<float>(i % 9973);

    float *dIn, *dOut;
    CHECK(cudaMalloc(&dIn, in.size() * sizeof(float)));
    CHECK(cudaMalloc(&dOut, in.size() * sizeof(float)));
    CHECK(cudaMemcpy(dIn, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice));

    dim3 block(TILE_DIM, BLOCK_ROWS);
    dim3 grid(N / TILE_DIM, N / TILE_DIM);
    bool ok = true;

    transposeNaive<<<grid, block>>>(dOut, dIn, N);
    ok &= isTransposed(in, dOut, "transposeNaive");

    transposeTiled<<<grid, block>>>(dOut, dIn, N);
    ok &= isTransposed(in, dOut, "transposeTiled");

    transposePadded<<<grid, block>>>(dOut, dIn, N);
    ok &= isTransposed(in, dOut, "transposePadded");

    CHECK(cudaFree(dIn));
    CHECK(cudaFree(dOut));
    return ok ? 0 : 1;
}
