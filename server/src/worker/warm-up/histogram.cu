// Atomics on bins of which the data tell which: the host makes the bytes, a first kernel turns them into keys, a second counts them.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                             \
    do {                                                                        \
        cudaError_t status = (call);                                            \
        if (status != cudaSuccess) {                                            \
            fprintf(stderr, "%s:%d: %d\n", __FILE__, __LINE__, (int)status);    \
            exit(EXIT_FAILURE);                                                 \
        }                                                                       \
    } while (0)

__global__ void keysOf(const unsigned char *data, int *keys, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        keys[i] = (data[i] * 5 + 3) % 64;
}

__global__ void count(const int *keys, unsigned int *bins, int n)
{
    __shared__ unsigned int local[64];
    if (threadIdx.x < 64)
        local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[keys[i] % 64], 1u);
    __syncthreads();
    if (threadIdx.x < 64)
        atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

int main()
{
    const int n = 1 << 12;
    unsigned char *data = (unsigned char *)malloc(n);
    unsigned int state = 12345;
    for (int i = 0; i < n; ++i) {
        state = state * 1664525u + 1013904223u;
        data[i] = static_cast<unsigned char>(state >> 24);
    }
    unsigned char *dData;
    int *dKeys;
    unsigned int *dBins;
    CHECK(cudaMalloc(&dData, n));
    CHECK(cudaMalloc(&dKeys, n * sizeof(int)));
    CHECK(cudaMalloc(&dBins, 64 * sizeof(unsigned int)));
    CHECK(cudaMemcpy(dData, data, n, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(dBins, 0, 64 * sizeof(unsigned int)));
    keysOf<<<n / 256, 256>>>(dData, dKeys, n);
    count<<<4, 128>>>(dKeys, dBins, n);
    CHECK(cudaDeviceSynchronize());
    free(data);
    return 0;
}
