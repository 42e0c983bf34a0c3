// A histogram of bytes with 256 bins: atomics on global memory, and on a copy of the bins in shared memory.

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

constexpr int BINS = 256;

__global__ void histogramGlobal(const unsigned char *data, unsigned int *bins, int n)
{
    int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        atomicAdd(&bins[data[i]], 1u);
}

// Each block counts into its own bins first; only one atomic a bin and block goes to global memory.
__global__ void histogramShared(const unsigned char *data, unsigned int *bins, int n)
{
    __shared__ unsigned int local[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        local[b] = 0;
    __syncthreads();

    int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        atomicAdd(&local[data[i]], 1u);
    __syncthreads();

    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        atomicAdd(&bins[b], local[b]);
}

static bool counted(const std::vector<unsigned int> &expected, const unsigned int *dBins, const char *name)
{
    CHECK(cudaGetLastError());
    std::vector<unsigned int> bins(BINS);
    CHECK(cudaMemcpy(bins.data(), dBins, BINS * sizeof(unsigned int), cudaMemcpyDeviceToHost));
    bool same = bins == expected;
    std::printf("%-16s %s\n", name, same ? "PASS" : "FAIL");
    return same;
}

int main()
{
    const int n = 1 << 20;
    std::vector<unsigned char> data(n);
    std::vector<unsigned int> expected(BINS, 0);
    unsigned int state = 12345;
    for (int i = 0; i < n; ++i) {
        state = state * 1664525u + 1013904223u;
        data[i] = static_cast<unsigned char>(state >> 24);
        ++expected[data[i]];
    }

    unsigned char *dData;
    unsigned int *dBins;
    CHECK(cudaMalloc(&dData, n));
    CHECK(cudaMalloc(&dBins, BINS * sizeof(unsigned int)));
    CHECK(cudaMemcpy(dData, data.data(), n, cudaMemcpyHostToDevice));
    bool ok = true;

    CHECK(cudaMemset(dBins, 0, BINS * sizeof(unsigned int)));
    histogramGlobal<<<264, 256>>>(dData, dBins, n);
    ok &= counted(expected, dBins, "histogramGlobal");

    CHECK(cudaMemset(dBins, 0, BINS * sizeof(unsigned int)));
    histogramShared<<<264, 256>>>(dData, dBins, n);
    ok &= counted(expected, dBins, "histogramShared");

    CHECK(cudaFree(dData));
    CHECK(cudaFree(dBins));
    return ok ? 0 : 1;
}
