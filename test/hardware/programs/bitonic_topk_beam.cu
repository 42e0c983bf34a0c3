// Beam-search helper: per-row top-8 over a large vocabulary. (1) thread-private insertion lists merged in shared memory,
// (2) radix threshold select on float bits, (3) warp-merge. Includes log-softmax of the winners.
#include <cuda_runtime.h>
#include <cstdio>
#include <cmath>
#include <vector>
#include <algorithm>
#include <cfloat>

constexpr int K = 8;

__global__ void fill_logits(float* x, int rows, int vocab) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (size_t)rows * vocab) return;
    unsigned h = (unsigned)i * 0x9E3779B1u;
    h ^= h >> 16; h *= 0x21f0aaadu; h ^= h >> 15; h *= 0x735a2d97u; h ^= h >> 15;
    x[i] = (h >> 8) * (20.f / 16777216.f) - 10.f;
}

struct TopList {
    float v[K];
    int id[K];
    __device__ void clear() { for (int k = 0; k < K; ++k) { v[k] = -FLT_MAX; id[k] = 0x7fffffff; } }
    __device__ static bool better(float a, int i, float b, int j) { return a > b || (a == b && i < j); }
    __device__ void insert(float x, int i) {
        if (!better(x, i, v[K - 1], id[K - 1])) return;
        v[K - 1] = x; id[K - 1] = i;
#pragma unroll
        for (int k = K - 1; k > 0; --k)
            if (better(v[k], id[k], v[k - 1], id[k - 1])) {
                float t = v[k]; v[k] = v[k - 1]; v[k - 1] = t;
                int q = id[k]; id[k] = id[k - 1]; id[k - 1] = q;
            }
    }
};

__global__ void topk_lists(const float* __restrict__ x, int vocab, float* ov, int* oi) {
    __shared__ float sv[128 * K];          // AoS lists: stride-8 bank conflicts on purpose
    __shared__ int si[128 * K];
    const float* r = x + (size_t)blockIdx.x * vocab;
    TopList t; t.clear();
    for (int i = threadIdx.x; i < vocab; i += blockDim.x) t.insert(r[i], i);
    for (int k = 0; k < K; ++k) { sv[threadIdx.x * K + k] = t.v[k]; si[threadIdx.x * K + k] = t.id[k]; }
    for (int s = blockDim.x / 2; s; s >>= 1) {
        __syncthreads();
        if (threadIdx.x < s) {
            for (int k = 0; k < K; ++k) t.insert(sv[(threadIdx.x + s) * K + k], si[(threadIdx.x + s) * K + k]);
            for (int k = 0; k < K; ++k) { sv[threadIdx.x * K + k] = t.v[k]; si[threadIdx.x * K + k] = t.id[k]; }
        }
    }
    if (threadIdx.x == 0) for (int k = 0; k < K; ++k) { ov[blockIdx.x * K + k] = t.v[k]; oi[blockIdx.x * K + k] = t.id[k]; }
}

__device__ __forceinline__ unsigned flip(float f) { unsigned u = __float_as_uint(f); return u & 0x80000000u ? ~u : u | 0x80000000u; }

__global__ void topk_radix(const float* __restrict__ x, int vocab, float* ov, int* oi) {
    __shared__ int hist[256];
    __shared__ unsigned prefix;
    __shared__ int need, ngt, neq;
    __shared__ float cv[K]; __shared__ int ci[K]; __shared__ int eq[64];
    const float* r = x + (size_t)blockIdx.x * vocab;
    if (threadIdx.x == 0) { prefix = 0; need = K; ngt = neq = 0; }
    for (int shift = 24; shift >= 0; shift -= 8) {
        for (int i = threadIdx.x; i < 256; i += blockDim.x) hist[i] = 0;
        __syncthreads();
        unsigned pm = shift == 24 ? 0 : ~0u << (shift + 8), p = prefix;
        for (int i = threadIdx.x; i < vocab; i += blockDim.x) {
            unsigned u = flip(r[i]);
            if ((u & pm) == p) atomicAdd(&hist[u >> shift & 255], 1);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            int b = 255, n = need;
            while (hist[b] < n) n -= hist[b--];
            prefix |= (unsigned)b << shift;
            need = n;
        }
        __syncthreads();
    }
    unsigned thr = prefix;
    for (int i = threadIdx.x; i < vocab; i += blockDim.x) {
        unsigned u = flip(r[i]);
        if (u > thr) { int p = atomicAdd(&ngt, 1); cv[p] = r[i]; ci[p] = i; }
        else if (u == thr) { int p = atomicAdd(&neq, 1); if (p < 64) eq[p] = i; }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        TopList t; t.clear();
        for (int k = 0; k < ngt; ++k) t.insert(cv[k], ci[k]);
        for (int k = 0; k < min(neq, 64); ++k) t.insert(r[eq[k]], eq[k]);
        for (int k = 0; k < K; ++k) { ov[blockIdx.x * K + k] = t.v[k]; oi[blockIdx.x * K + k] = t.id[k]; }
    }
}

__global__ void logsoftmax_pick(const float* __restrict__ x, const int* __restrict__ idx, int vocab, float* lp) {
    __shared__ float red[8];
    const float* r = x + (size_t)blockIdx.x * vocab;
    float m = r[idx[blockIdx.x * K]], s = 0;
    for (int i = threadIdx.x; i < vocab; i += blockDim.x) s += __expf(r[i] - m);
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
    if ((threadIdx.x & 31) == 0) red[threadIdx.x >> 5] = s;
    __syncthreads();
    if (threadIdx.x < K) {
        float t = 0;
        for (int w = 0; w < blockDim.x / 32; ++w) t += red[w];
        lp[blockIdx.x * K + threadIdx.x] = r[idx[blockIdx.x * K + threadIdx.x]] - m - logf(t);
    }
}

int main() {
    const int rows = 60, vocab = 32003;
    float *x, *v0, *v1, *lp; int *i0, *i1;
    cudaMalloc(&x, (size_t)rows * vocab * 4);
    cudaMalloc(&v0, rows * K * 4); cudaMalloc(&v1, rows * K * 4); cudaMalloc(&lp, rows * K * 4); cudaMalloc(&i0, rows * K * 4); cudaMalloc(&i1, rows * K * 4);
    fill_logits<<<(rows * vocab + 255) / 256, 256>>>(x, rows, vocab);
    topk_lists<<<rows, 128>>>(x, vocab, v0, i0);
    topk_radix<<<rows, 512>>>(x, vocab, v1, i1);
    logsoftmax_pick<<<rows, 256>>>(x, i1, vocab, lp);
    std::vector<float> h((size_t)rows * vocab), a(rows * K), b(rows * K), l(rows * K); std::vector<int> ia(rows * K), ib(rows * K), p(vocab);
    cudaMemcpy(h.data(), x, h.size() * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(a.data(), v0, rows * K * 4, cudaMemcpyDeviceToHost); cudaMemcpy(b.data(), v1, rows * K * 4, cudaMemcpyDeviceToHost); cudaMemcpy(l.data(), lp, rows * K * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(ia.data(), i0, rows * K * 4, cudaMemcpyDeviceToHost); cudaMemcpy(ib.data(), i1, rows * K * 4, cudaMemcpyDeviceToHost);
    int bad = cudaGetLastError() != cudaSuccess;
    for (int r = 0; r < rows; ++r) {
        const float* q = &h[(size_t)r * vocab];
        for (int i = 0; i < vocab; ++i) p[i] = i;
        std::partial_sort(p.begin(), p.begin() + K, p.end(), [&](int s, int t) { return q[s] > q[t] || (q[s] == q[t] && s < t); });
        double z = 0;
        for (int i = 0; i < vocab; ++i) z += exp((double)q[i] - q[p[0]]);
        for (int k = 0; k < K; ++k) {
            if (ia[r * K + k] != p[k] || ib[r * K + k] != p[k] || a[r * K + k] != q[p[k]] || b[r * K + k] != q[p[k]]) ++bad;
            if (fabs(q[p[k]] - q[p[0]] - log(z) - l[r * K + k]) > 1e-3) ++bad;
        }
    }
    printf("bad %d\n%s\n", bad, bad ? "FAIL" : "PASS");
    return bad != 0;
}
