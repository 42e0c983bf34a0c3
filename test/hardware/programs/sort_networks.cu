// Bitonic (shared + global steps), odd-even transposition on bytes, and merge-path merge of key/value pairs
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

struct Pair { unsigned key; unsigned val; };
__host__ __device__ inline bool operator<(const Pair& a, const Pair& b) { return a.key < b.key; }

__device__ __forceinline__ void cmp_swap(Pair& a, Pair& b, bool up)
{
    if ((b < a) == up) { Pair t = a; a = b; b = t; }
}

constexpr unsigned CHUNK = 512;

__global__ void bitonic_chunk(Pair* data)
{
    __shared__ Pair s[CHUNK];
    Pair* d = data + blockIdx.x * CHUNK;
    s[threadIdx.x] = d[threadIdx.x];
    s[threadIdx.x + CHUNK / 2] = d[threadIdx.x + CHUNK / 2];
    for (unsigned size = 2; size <= CHUNK; size <<= 1) {
        bool up = (((threadIdx.x & (size / 2)) == 0) != (size == CHUNK && (blockIdx.x & 1)));
        for (unsigned stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            unsigned pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            cmp_swap(s[pos], s[pos + stride], up);
        }
    }
    __syncthreads();
    d[threadIdx.x] = s[threadIdx.x];
    d[threadIdx.x + CHUNK / 2] = s[threadIdx.x + CHUNK / 2];
}

__global__ void bitonic_step(uint2* data, unsigned size, unsigned stride, unsigned half)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= half) return;
    unsigned pos = 2 * t - (t & (stride - 1));
    bool up = (t & (size / 2)) == 0;
    uint2 a = data[pos], b = data[pos + stride];
    if ((b.x < a.x) == up) {
        data[pos] = b;
        data[pos + stride] = a;
    }
}

// each row of bytes sorted by odd-even transposition
__global__ void odd_even_rows(unsigned char* rows, int n)
{
    extern __shared__ unsigned char line[];
    unsigned char* r = rows + blockIdx.x * n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) line[i] = r[i];
    __syncthreads();
    for (int phase = 0; phase < n; ++phase) {
        for (int i = 2 * threadIdx.x + (phase & 1); i + 1 < n; i += 2 * blockDim.x) {
            unsigned char a = line[i], b = line[i + 1];
            line[i] = min(a, b);
            line[i + 1] = max(a, b);
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < n; i += blockDim.x) r[i] = line[i];
}

__device__ int merge_path(const Pair* a, int na, const Pair* b, int nb, int diag)
{
    int lo = max(0, diag - nb), hi = min(diag, na);
    while (lo < hi) {
        int mid = (lo + hi) >> 1;
        if (!(b[diag - 1 - mid] < a[mid])) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

template <int ITEMS>
__global__ void merge_sorted(const Pair* a, int na, const Pair* b, int nb, Pair* out)
{
    int diag = (blockIdx.x * blockDim.x + threadIdx.x) * ITEMS;
    if (diag >= na + nb) return;
    int i = merge_path(a, na, b, nb, diag), j = diag - i;
    #pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        if (diag + k >= na + nb) break;
        bool take_a = j >= nb || (i < na && !(b[j] < a[i]));
        out[diag + k] = take_a ? a[i++] : b[j++];
    }
}

int main()
{
    const unsigned n = 2048;
    std::vector<Pair> h(n), other(1500), merged(n + 1500);
    std::vector<unsigned char> bytes(20 * 150), bout(bytes.size());
    srand(21);
    for (unsigned i = 0; i < n; ++i) h[i] = {(unsigned)rand() % 100000, i};
    for (unsigned i = 0; i < 1500; ++i) other[i] = {(unsigned)rand() % 100000, i + n};
    for (auto& b : bytes) b = rand();
    std::sort(other.begin(), other.end());
    Pair *d, *o, *m; unsigned char* db;
    cudaMalloc(&d, n * sizeof(Pair)); cudaMalloc(&o, 1500 * sizeof(Pair)); cudaMalloc(&m, merged.size() * sizeof(Pair));
    cudaMalloc(&db, bytes.size());
    cudaMemcpy(d, h.data(), n * sizeof(Pair), cudaMemcpyHostToDevice);
    cudaMemcpy(o, other.data(), 1500 * sizeof(Pair), cudaMemcpyHostToDevice);
    cudaMemcpy(db, bytes.data(), bytes.size(), cudaMemcpyHostToDevice);

    // first only the chunks to 512 then global steps for 1024 (two strides) and one chunk re-sort trick
    bitonic_chunk<<<n / CHUNK, CHUNK / 2>>>(d);
    // merge chunk pairs (0 up,1 down) into 1024, then the two halves into 2048
    for (unsigned stride = 512; stride >= 512; stride >>= 1)
        bitonic_step<<<(n / 2 + 127) / 128, 128>>>((uint2*)d, 1024, stride, n / 2);
    bitonic_chunk<<<n / CHUNK, CHUNK / 2>>>(d);
    // chunks are sorted, alternating; finish on sorted runs with merge path
    std::vector<Pair> c(n);
    cudaMemcpy(c.data(), d, n * sizeof(Pair), cudaMemcpyDeviceToHost);
    for (unsigned k = 1; k < n / CHUNK; k += 2) std::reverse(c.begin() + k * CHUNK, c.begin() + (k + 1) * CHUNK);
    cudaMemcpy(d, c.data(), n * sizeof(Pair), cudaMemcpyHostToDevice);
    Pair* tmp; cudaMalloc(&tmp, n * sizeof(Pair));
    for (unsigned k = 0; k < 2; ++k)
        merge_sorted<5><<<(1024 / 5 + 64) / 64, 64>>>(d + k * 1024, 512, d + k * 1024 + 512, 512, tmp + k * 1024);
    merge_sorted<8><<<(n / 8 + 95) / 96, 96>>>(tmp, n / 2, tmp + n / 2, n / 2, d);
    merge_sorted<7><<<((n + 1500) / 7 + 128) / 128, 128>>>(d, n, o, 1500, m);
    odd_even_rows<<<20, 50, 150>>>(db, 150);
    cudaMemcpy(merged.data(), m, merged.size() * sizeof(Pair), cudaMemcpyDeviceToHost);
    cudaMemcpy(bout.data(), db, bytes.size(), cudaMemcpyDeviceToHost);
    int bad = 0;
    h.insert(h.end(), other.begin(), other.end());
    std::sort(h.begin(), h.end());
    for (size_t i = 0; i < h.size(); ++i) bad += h[i].key != merged[i].key;
    for (int r = 0; r < 20; ++r) bad += !std::is_sorted(bout.begin() + r * 150, bout.begin() + (r + 1) * 150);
    printf("sort errors: %d\n", bad);
    return bad ? 1 : 0;
}
