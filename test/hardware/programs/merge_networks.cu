// Sorting networks and merging: Batcher's odd-even merge sort in shared memory, then pairwise merges by rank,
// and odd-even transposition for many short rows.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

typedef unsigned int uint;

static inline void gpuAssert(cudaError_t code, const char *file, int line)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
        exit(code);
    }
}
#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }

__device__ inline void comparator(uint &keyA, uint &valA, uint &keyB, uint &valB)
{
    if (keyA > keyB) {
        uint t = keyA; keyA = keyB; keyB = t;
        t = valA; valA = valB; valB = t;
    }
}

template <int SIZE>
__global__ void oddEvenMergeSort(uint *keys, uint *vals)
{
    __shared__ uint s_key[SIZE];
    __shared__ uint s_val[SIZE];

    keys += blockIdx.x * SIZE + threadIdx.x;
    vals += blockIdx.x * SIZE + threadIdx.x;
    s_key[threadIdx.x] = keys[0];
    s_val[threadIdx.x] = vals[0];
    s_key[threadIdx.x + SIZE / 2] = keys[SIZE / 2];
    s_val[threadIdx.x + SIZE / 2] = vals[SIZE / 2];

    for (uint size = 2; size <= SIZE; size <<= 1) {
        uint stride = size / 2;
        uint offset = threadIdx.x & (stride - 1);
        __syncthreads();
        {
            uint pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            comparator(s_key[pos], s_val[pos], s_key[pos + stride], s_val[pos + stride]);
        }
        stride >>= 1;
        for (; stride > 0; stride >>= 1) {
            __syncthreads();
            uint pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            if (offset >= stride)
                comparator(s_key[pos - stride], s_val[pos - stride], s_key[pos], s_val[pos]);
        }
    }
    __syncthreads();
    keys[0] = s_key[threadIdx.x];
    vals[0] = s_val[threadIdx.x];
    keys[SIZE / 2] = s_key[threadIdx.x + SIZE / 2];
    vals[SIZE / 2] = s_val[threadIdx.x + SIZE / 2];
}

// number of elements of a sorted run that go before `key`
__device__ int rankIn(const uint *run, int n, uint key, bool beforeEqual)
{
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = (lo + hi) >> 1;
        bool less = beforeEqual ? run[mid] <= key : run[mid] < key;
        if (less) lo = mid + 1; else hi = mid;
    }
    return lo;
}

// every element finds its own place in the merged run
__global__ void mergePairs(const uint *keys, const uint *vals, uint *outKeys, uint *outVals, int run, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int pair = i / (2 * run) * (2 * run);
    int inPair = i - pair;
    bool second = inPair >= run;
    const uint *other = keys + pair + (second ? 0 : run);
    uint k = keys[i];
    int own = second ? inPair - run : inPair;
    int dst = pair + own + rankIn(other, run, k, second);
    outKeys[dst] = k;
    outVals[dst] = vals[i];
}

// a thread sorts a row of LEN values; rows live in dynamic shared memory
template <int LEN>
__global__ void transpositionRows(float *rows, int count)
{
    extern __shared__ float sh[];
    int first = blockIdx.x * blockDim.x;
    int here = min((int)blockDim.x, count - first);
    for (int i = threadIdx.x; i < here * LEN; i += blockDim.x)
        sh[i] = rows[first * LEN + i];
    __syncthreads();

    if ((int)threadIdx.x < here) {
        float *mine = sh + threadIdx.x * LEN;
        for (int round = 0; round < LEN; round++)
            for (int i = round & 1; i + 1 < LEN; i += 2) {
                float a = mine[i], b = mine[i + 1];
                if (a > b) { mine[i] = b; mine[i + 1] = a; }
            }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < here * LEN; i += blockDim.x)
        rows[first * LEN + i] = sh[i];
}

static void sortTiles(int size, uint *k, uint *v, int n)
{
    switch (size) {
    case 256:  oddEvenMergeSort<256><<<n / 256, 128>>>(k, v);   break;
    case 512:  oddEvenMergeSort<512><<<n / 512, 256>>>(k, v);   break;
    case 1024: oddEvenMergeSort<1024><<<n / 1024, 512>>>(k, v); break;
    default:   fprintf(stderr, "no such tile size\n"); exit(1);
    }
    gpuErrchk(cudaPeekAtLastError());
}

static void sortRows(int len, float *rows, int count)
{
    const int threads = 128;
    int blocks = (count + threads - 1) / threads;
    size_t bytes = (size_t)threads * len * sizeof(float);
    switch (len) {
    case 12: transpositionRows<12><<<blocks, threads, bytes>>>(rows, count); break;
    case 15: transpositionRows<15><<<blocks, threads, bytes>>>(rows, count); break;
    case 16: transpositionRows<16><<<blocks, threads, bytes>>>(rows, count); break;
    default: abort();
    }
    gpuErrchk(cudaPeekAtLastError());
}

int main(int argc, char **argv)
{
    int tile = argc > 1 ? atoi(argv[1]) : 1024;
    const int n = 1 << 16;
    std::vector<uint> key(n), val(n), gotKey(n), gotVal(n);
    uint x = 2463534242u;
    for (int i = 0; i < n; i++) {
        x ^= x << 13; x ^= x >> 17; x ^= x << 5;
        key[i] = x % 50000u;
        val[i] = i;
    }
    uint *k0, *v0, *k1, *v1;
    gpuErrchk(cudaMalloc((void **)&k0, n * sizeof(uint)));
    gpuErrchk(cudaMalloc((void **)&v0, n * sizeof(uint)));
    gpuErrchk(cudaMalloc((void **)&k1, n * sizeof(uint)));
    gpuErrchk(cudaMalloc((void **)&v1, n * sizeof(uint)));
    gpuErrchk(cudaMemcpy(k0, key.data(), n * sizeof(uint), cudaMemcpyHostToDevice));
    gpuErrchk(cudaMemcpy(v0, val.data(), n * sizeof(uint), cudaMemcpyHostToDevice));

    sortTiles(tile, k0, v0, n);
    int merges = 0;
    int run = tile;
    for (; run < n && merges < 3; run *= 2, merges++) {
        mergePairs<<<n / 256, 256>>>(k0, v0, k1, v1, run, n);
        std::swap(k0, k1);
        std::swap(v0, v1);
    }
    gpuErrchk(cudaMemcpy(gotKey.data(), k0, n * sizeof(uint), cudaMemcpyDeviceToHost));
    gpuErrchk(cudaMemcpy(gotVal.data(), v0, n * sizeof(uint), cudaMemcpyDeviceToHost));

    bool good = true;
    std::vector<char> seen(n, 0);
    for (int i = 0; i < n; i++) {
        if (gotVal[i] >= (uint)n || seen[gotVal[i]] || key[gotVal[i]] != gotKey[i]) good = false;
        else seen[gotVal[i]] = 1;
    }
    for (int b = 0; b < n; b += run)
        good = good && std::is_sorted(gotKey.begin() + b, gotKey.begin() + b + run);
    printf("runs of %d: %s\n", run, good ? "sorted" : "NOT sorted");

    bool rowsGood = true;
    for (int len : {12, 15, 16}) {
        const int count = 3000;
        std::vector<float> rows(count * len), back(count * len);
        for (size_t i = 0; i < rows.size(); i++) rows[i] = (float)((i * 7919u + 13u) % 1009u);
        float *d;
        gpuErrchk(cudaMalloc((void **)&d, rows.size() * sizeof(float)));
        gpuErrchk(cudaMemcpy(d, rows.data(), rows.size() * sizeof(float), cudaMemcpyHostToDevice));
        sortRows(len, d, count);
        gpuErrchk(cudaMemcpy(back.data(), d, rows.size() * sizeof(float), cudaMemcpyDeviceToHost));
        for (int r = 0; r < count; r++)
            std::sort(rows.begin() + r * len, rows.begin() + (r + 1) * len);
        rowsGood = rowsGood && rows == back;
        gpuErrchk(cudaFree(d));
    }
    printf("rows: %s\n", rowsGood ? "sorted" : "NOT sorted");
    bool ok = good && rowsGood;
    printf("%s\n", ok ? "OK" : "FAIL");
    return ok ? 0 : 1;
}
