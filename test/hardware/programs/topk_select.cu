// top-k per row three ways: insertion lists merged in shared memory, radix select, and iterated argmax
#include <cstdio>
#include <vector>
#include <algorithm>
#include <climits>
#include <cuda_runtime.h>

template <int K>
struct TopList {
    float val[K];
    int idx[K];
    __device__ TopList() {
#pragma unroll
        for (int i = 0; i < K; ++i) { val[i] = -1e30f; idx[i] = -1; }
    }
    __device__ void insert(float v, int id) {
        if (v <= val[K - 1]) return;
        val[K - 1] = v; idx[K - 1] = id;
#pragma unroll
        for (int i = K - 1; i > 0; --i)
            if (val[i] > val[i - 1]) {
                float tv = val[i]; val[i] = val[i - 1]; val[i - 1] = tv;
                int ti = idx[i]; idx[i] = idx[i - 1]; idx[i - 1] = ti;
            }
    }
};

template <int K, int THREADS>
__global__ void topk_lists(const float* __restrict__ logits, int n, float* __restrict__ ov, int* __restrict__ oi)
{
    __shared__ float sv[K][THREADS];
    __shared__ int si[K][THREADS];
    const float* row = logits + (size_t)blockIdx.x * n;
    TopList<K> mine;
    for (int i = threadIdx.x; i < n; i += THREADS) mine.insert(row[i], i);
    for (int active = THREADS; active > 1; active = (active + 1) >> 1) {
        int half = (active + 1) >> 1;
#pragma unroll
        for (int k = 0; k < K; ++k) { sv[k][threadIdx.x] = mine.val[k]; si[k][threadIdx.x] = mine.idx[k]; }
        __syncthreads();
        if (threadIdx.x + half < active)
            for (int k = 0; k < K; ++k) mine.insert(sv[k][threadIdx.x + half], si[k][threadIdx.x + half]);
        __syncthreads();
        if (active == 2) break;
    }
    if (threadIdx.x == 0)
        for (int k = 0; k < K; ++k) { ov[blockIdx.x * K + k] = mine.val[k]; oi[blockIdx.x * K + k] = mine.idx[k]; }
}

__device__ inline unsigned order_bits(float f)
{
    unsigned u = __float_as_uint(f);
    return (u & 0x80000000u) ? ~u : u | 0x80000000u;
}

// finds the k-th largest key with 4 passes over 8-bit digits
__global__ void radix_select(const float* __restrict__ x, int n, int k, unsigned* kth)
{
    __shared__ int hist[256];
    __shared__ unsigned prefix, mask;
    __shared__ int want;
    const float* row = x + blockIdx.x * n;
    if (threadIdx.x == 0) { prefix = 0; mask = 0; want = k; }
    for (int shift = 24; shift >= 0; shift -= 8) {
        for (int i = threadIdx.x; i < 256; i += blockDim.x) hist[i] = 0;
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            unsigned u = order_bits(row[i]);
            if ((u & mask) == prefix) atomicAdd(hist + ((u >> shift) & 255), 1);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            int d = 255, left = want;
            while (d > 0 && hist[d] < left) left -= hist[d--];
            want = left;
            prefix |= (unsigned)d << shift;
            mask |= 255u << shift;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) kth[blockIdx.x] = prefix;
}

__global__ void gather_above(const float* x, int n, int k, const unsigned* kth, int* out, int* cnt)
{
    unsigned t = kth[blockIdx.y];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool take = i < n && order_bits(x[blockIdx.y * n + i]) >= t;
    unsigned m = __ballot_sync(~0u, take);
    if (!m) return;
    int lane = threadIdx.x & 31, leader = __ffs(m) - 1, base;
    if (lane == leader) base = atomicAdd(cnt + blockIdx.y, __popc(m));
    base = __shfl_sync(~0u, base, leader);
    int slot = base + __popc(m & ((1u << lane) - 1));
    if (take && slot < k) out[blockIdx.y * k + slot] = i;
}

__global__ void argmax_iterated(float* x, int n, int k, int* out)
{
    __shared__ unsigned long long best;
    float* row = x + (size_t)n * blockIdx.x;
    for (int j = 0; j < k; ++j) {
        if (threadIdx.x == 0) best = 0;
        __syncthreads();
        unsigned long long b = 0;
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            unsigned long long key = ((unsigned long long)order_bits(row[i]) << 32) | (unsigned)i;
            b = b > key ? b : key;
        }
        atomicMax(&best, b);
        __syncthreads();
        if (threadIdx.x == 0) {
            int w = (int)(best & 0xffffffffu);
            out[blockIdx.x * k + j] = w;
            row[w] = -3e38f;
        }
        __syncthreads();
    }
}

int main()
{
    const int rows = 24, n = 3000;
    constexpr int K = 6;
    std::vector<float> h(rows * n);
    unsigned s = 5;
    for (auto& v : h) { s = s * 747796405u + 2891336453u; v = (int)(s >> 4) * 1e-6f - 100.f; }
    float *d, *ov; int *oi, *oa, *og, *cnt; unsigned* kth;
    cudaMalloc(&d, h.size() * 4); cudaMalloc(&ov, rows * K * 4); cudaMalloc(&oi, rows * K * 4);
    cudaMalloc(&oa, rows * K * 4); cudaMalloc(&og, rows * K * 4); cudaMalloc(&cnt, rows * 4); cudaMalloc(&kth, rows * 4);
    cudaMemset(cnt, 0, rows * 4);
    cudaMemcpy(d, h.data(), h.size() * 4, cudaMemcpyHostToDevice);
    topk_lists<K, 96><<<rows, 96>>>(d, n, ov, oi);
    radix_select<<<rows, 224>>>(d, n, K, kth);
    gather_above<<<dim3((n + 127) / 128, rows), 128>>>(d, n, K, kth, og, cnt);
    argmax_iterated<<<rows, 128>>>(d, n, K, oa);
    std::vector<int> i1(rows * K), i2(rows * K), i3(rows * K);
    cudaMemcpy(i1.data(), oi, rows * K * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(i2.data(), oa, rows * K * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(i3.data(), og, rows * K * 4, cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int r = 0; r < rows; ++r) {
        std::vector<int> ord(n);
        for (int i = 0; i < n; ++i) ord[i] = i;
        std::partial_sort(ord.begin(), ord.begin() + K, ord.end(), [&](int a, int b) { return h[r * n + a] > h[r * n + b]; });
        float third = 0, ref = 0;
        for (int k = 0; k < K; ++k) {
            bad += h[r * n + i1[r * K + k]] != h[r * n + ord[k]];
            bad += h[r * n + i2[r * K + k]] != h[r * n + ord[k]];
            third += h[r * n + i3[r * K + k]]; ref += h[r * n + ord[k]];
        }
        bad += third < ref - 1e-1f;
    }
    printf("top-%d mismatches %d\n", K, bad);
    return bad != 0;
}
