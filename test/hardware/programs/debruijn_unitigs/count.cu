#include <cstdio>
#include <cstdlib>
#include "device_steps.hpp"

namespace asmx {

void verify(cudaError_t e, const char* what) {
    if (e != cudaSuccess) {
        std::fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(e));
        std::exit(1);
    }
}

namespace {

__global__ void insert_read_kmers(TableView t, const char* __restrict__ reads, int per_read, int read_len, int total,
                                  int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const char* p = reads + (i / per_read) * read_len + i % per_read;
    Key key = 0;
    for (int j = 0; j < k; ++j) {
        char c = p[j];
        int code = (c >> 1) & 3;  // A 0, C 1, T 2, G 3
        key = (key << 2) | Key(code);
    }
    unsigned s = mix(key) & t.mask;
    for (;;) {
        Key old = atomicCAS(&t.key[s], kEmpty, key);
        if (old == kEmpty || old == key) break;
        s = (s + 1) & t.mask;
    }
    atomicAdd(&t.count[s], 1u);
}

__global__ void abundance(TableView t, unsigned* __restrict__ hist, int bins) {
    extern __shared__ unsigned local[];
    for (int b = threadIdx.x; b < bins; b += blockDim.x) local[b] = 0;
    __syncthreads();
    for (unsigned s = blockIdx.x * blockDim.x + threadIdx.x; s <= t.mask; s += gridDim.x * blockDim.x) {
        unsigned c = t.count[s];
        if (c) atomicAdd(&local[c < unsigned(bins) ? c : bins - 1], 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < bins; b += blockDim.x)
        if (local[b]) atomicAdd(&hist[b], local[b]);
}

__global__ void number_slots(TableView t, unsigned threshold, Key* __restrict__ solid, int* cursor) {
    __shared__ int block_n, block_base;
    unsigned s = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) block_n = 0;
    __syncthreads();
    bool take = s <= t.mask && t.count[s] >= threshold;
    int mine = take ? atomicAdd(&block_n, 1) : 0;
    __syncthreads();
    if (threadIdx.x == 0) block_base = atomicAdd(cursor, block_n);
    __syncthreads();
    if (s > t.mask) return;
    t.id[s] = take ? block_base + mine : -1;
    if (take) solid[block_base + mine] = t.key[s];
}

int grid_for(long long n, int block) { return int((n + block - 1) / block); }

}  // namespace

void build_table(TableView t, const char* reads, int reads_n, int read_len, int k) {
    int per = read_len - k + 1, total = reads_n * per;
    insert_read_kmers<<<grid_for(total, 256), 256>>>(t, reads, per, read_len, total, k);
    verify(cudaGetLastError(), "insert");
}

std::vector<unsigned> abundance_histogram(TableView t, int bins) {
    unsigned* d;
    verify(cudaMalloc(&d, bins * sizeof(unsigned)), "histogram");
    verify(cudaMemset(d, 0, bins * sizeof(unsigned)), "histogram");
    abundance<<<grid_for((long long)t.mask + 1, 256 * 8), 256, bins * sizeof(unsigned)>>>(t, d, bins);
    std::vector<unsigned> h(bins);
    verify(cudaMemcpy(h.data(), d, bins * sizeof(unsigned), cudaMemcpyDeviceToHost), "histogram");
    cudaFree(d);
    return h;
}

int number_solid(TableView t, int threshold, Key* solid, int) {
    int *d, n = 0;
    verify(cudaMalloc(&d, sizeof(int)), "cursor");
    verify(cudaMemset(d, 0, sizeof(int)), "cursor");
    number_slots<<<grid_for((long long)t.mask + 1, 256), 256>>>(t, unsigned(threshold), solid, d);
    verify(cudaMemcpy(&n, d, sizeof(int), cudaMemcpyDeviceToHost), "cursor");
    cudaFree(d);
    return n;
}

}  // namespace asmx
