// Sorting: bitonic in shared memory, one global merge step, odd-even, and ranks by counting.
#include <algorithm>
#include "common.h"

typedef unsigned int uint;

__device__ inline void comparator(uint &keyA, uint &keyB, uint dir)
{
    if ((keyA > keyB) == dir) {
        uint t = keyA;
        keyA = keyB;
        keyB = t;
    }
}

template <uint SIZE>
__global__ void bitonicShared(uint *dst, const uint *src)
{
    __shared__ uint s[SIZE];
    src += blockIdx.x * SIZE + threadIdx.x;
    dst += blockIdx.x * SIZE + threadIdx.x;
    s[threadIdx.x] = src[0];
    s[threadIdx.x + SIZE / 2] = src[SIZE / 2];

    for (uint size = 2; size <= SIZE; size <<= 1) {
        uint dir = (threadIdx.x & (size / 2)) == 0 || size == SIZE;
        for (uint stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            uint pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            comparator(s[pos], s[pos + stride], dir);
        }
    }
    __syncthreads();
    dst[0] = s[threadIdx.x];
    dst[SIZE / 2] = s[threadIdx.x + SIZE / 2];
}

__global__ void bitonicStepGlobal(uint *data, uint j, uint k)
{
    uint i = threadIdx.x + blockDim.x * blockIdx.x;
    uint ixj = i ^ j;
    if (ixj > i) {
        if ((i & k) == 0) {
            if (data[i] > data[ixj]) {
                uint temp = data[i];
                data[i] = data[ixj];
                data[ixj] = temp;
            }
        } else if (data[i] < data[ixj]) {
            uint temp = data[i];
            data[i] = data[ixj];
            data[ixj] = temp;
        }
    }
}

__global__ void oddEvenSort(int *keys)
{
    __shared__ int k[128];
    int t = threadIdx.x;
    k[t] = keys[blockIdx.x * 128 + t];
    __syncthreads();
    for (int phase = 0; phase < 128; phase++) {
        int left = 2 * (t / 2) + (phase & 1);
        if ((t & 1) == 0 && left + 1 < 128) {
            int a = k[left], b = k[left + 1];
            if (a > b) { k[left] = b; k[left + 1] = a; }
        }
        __syncthreads();
    }
    keys[blockIdx.x * 128 + t] = k[t];
}

// Every thread counts how many keys come before its own.
__global__ void rankSort(const float *keys, float *sorted, int n)
{
    extern __shared__ float chunk[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float mine = i < n ? keys[i] : 0;
    int rank = 0;
    for (int base = 0; base < n; base += blockDim.x) {
        if (base + threadIdx.x < n)
            chunk[threadIdx.x] = keys[base + threadIdx.x];
        __syncthreads();
        int limit = min(blockDim.x, n - base);
        for (int j = 0; j < limit; j++) {
            float other = chunk[j];
            if (other < mine || (other == mine && base + j < i))
                rank++;
        }
        __syncthreads();
    }
    if (i < n)
        sorted[rank] = mine;
}

int main()
{
    bool ok = true;
    const int n = 512 * 40;
    Random r(3);
    std::vector<uint> keys(n), want;
    for (uint &k : keys) k = r.bits();
    uint *src = toDevice(keys), *dst = deviceZeros<uint>(n);
    bitonicShared<512><<<n / 512, 256>>>(dst, src);
    want = keys;
    for (int b = 0; b < n; b += 512) std::sort(want.begin() + b, want.begin() + b + 512);
    ok &= report("bitonicShared<512>", toHost(dst, n) == want);

    want = keys;
    const uint j = 64, k = 1024;
    for (uint i = 0; i < (uint)n; ++i) {
        uint p = i ^ j;
        if (p > i && (((i & k) == 0) == (want[i] > want[p]))) std::swap(want[i], want[p]);
    }
    bitonicStepGlobal<<<n / 256, 256>>>(src, j, k);
    std::vector<uint> got = toHost(src, n);
    ok &= report("bitonicStepGlobal", got == want);

    std::vector<int> ints(128 * 20), wantInts;
    for (int &v : ints) v = r.below(100000);
    wantInts = ints;
    for (size_t b = 0; b < ints.size(); b += 128) std::sort(wantInts.begin() + b, wantInts.begin() + b + 128);
    int *di = toDevice(ints);
    oddEvenSort<<<20, 128>>>(di);
    ok &= report("oddEvenSort", toHost(di, ints.size()) == wantInts);

    const int m = 3000;
    std::vector<float> f = randomFloats(m, 8), wf = f;
    std::sort(wf.begin(), wf.end());
    float *df = toDevice(f), *ds = deviceZeros<float>(m);
    rankSort<<<(m + 191) / 192, 192, 192 * sizeof(float)>>>(df, ds, m);
    ok &= report("rankSort", toHost(ds, m) == wf);
    return ok ? 0 : 1;
}
