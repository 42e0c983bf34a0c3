// k-means (assign + shared accumulation), brute-force kNN with tiled references, decision forest inference
#include <cstdio>
#include <cmath>
#include <cfloat>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

#define D 7          // feature count, odd on purpose
#define KC 12

__global__ void kmeans_assign(const float *__restrict__ pts, const float *__restrict__ cent, unsigned char *__restrict__ label, int n)
{
    __shared__ float c[KC * D];
    for (int i = threadIdx.x; i < KC * D; i += blockDim.x) c[i] = cent[i];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x[D];
    for (int d = 0; d < D; d++) x[d] = pts[d * n + i];       // SoA
    float best = FLT_MAX; int bi = 0;
    for (int k = 0; k < KC; k++) {
        float s = 0;
#pragma unroll
        for (int d = 0; d < D; d++) { float t = x[d] - c[k * D + d]; s += t * t; }
        if (s < best) { best = s; bi = k; }
    }
    label[i] = (unsigned char)bi;
}

__global__ void kmeans_accumulate(const float *pts, const unsigned char *label, float *sum, int *cnt, int n)
{
    extern __shared__ unsigned char raw[];
    float *s = (float *)raw;
    int *m = (int *)(s + KC * D);
    for (int i = threadIdx.x; i < KC * D; i += blockDim.x) s[i] = 0.f;
    if (threadIdx.x < KC) m[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int l = label[i];
        for (int d = 0; d < D; d++) atomicAdd(&s[l * D + d], pts[d * n + i]);
        atomicAdd(&m[l], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < KC * D; i += blockDim.x) atomicAdd(&sum[i], s[i]);
    if (threadIdx.x < KC) atomicAdd(&cnt[threadIdx.x], m[threadIdx.x]);
}

__global__ void kmeans_finish(float *cent, float *sum, int *cnt)
{
    int k = threadIdx.y, d = threadIdx.x;
    int c = cnt[k];
    if (c > 0) cent[k * D + d] = sum[k * D + d] / c;
    sum[k * D + d] = 0.f;
    __syncthreads();
    if (d == 0) cnt[k] = 0;
}

// AoS points with stride D; K nearest kept sorted in registers
template <int K, int TILE>
__global__ void knn(const float *__restrict__ query, int nq, const float *__restrict__ ref, int nr, int *__restrict__ ids, float *__restrict__ dist)
{
    __shared__ float tile[TILE * D];
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    float me[D], bd[K]; int bi[K];
    for (int d = 0; d < D; d++) me[d] = q < nq ? query[q * D + d] : 0.f;
    for (int k = 0; k < K; k++) { bd[k] = FLT_MAX; bi[k] = -1; }
    for (int base = 0; base < nr; base += TILE) {
        int m = min(TILE, nr - base);
        __syncthreads();
        for (int i = threadIdx.x; i < m * D; i += blockDim.x) tile[i] = ref[base * D + i];
        __syncthreads();
        for (int j = 0; j < m; j++) {
            float s = 0;
            #pragma unroll
            for (int d = 0; d < D; d++) { float t = tile[j * D + d] - me[d]; s = fmaf(t, t, s); }
            if (s < bd[K - 1]) {
                int p = base + j; float v = s;
                #pragma unroll
                for (int k = 0; k < K; k++)
                    if (v < bd[k]) { float tv = bd[k]; bd[k] = v; v = tv; int ti = bi[k]; bi[k] = p; p = ti; }
            }
        }
    }
    if (q < nq)
        for (int k = 0; k < K; k++) { ids[k * nq + q] = bi[k]; dist[k * nq + q] = bd[k]; }
}

struct TreeNode { short feature; short left; float thr; };   // leaf: feature < 0, thr = value
struct Forest { const TreeNode *nodes; int trees, per_tree; };

__global__ void forest_predict(Forest f, const float *__restrict__ x, int n, float *__restrict__ y)
{
    // blockDim.x samples, blockDim.y slices of the trees
    __shared__ float acc[4][40];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    if (i < n)
        for (int t = threadIdx.y; t < f.trees; t += blockDim.y) {
            const TreeNode *root = f.nodes + t * f.per_tree;
            TreeNode nd = root[0];
            while (nd.feature >= 0) nd = root[nd.left + (x[i * D + nd.feature] > nd.thr)];
            s += nd.thr;
        }
    acc[threadIdx.y][threadIdx.x] = s;
    __syncthreads();
    if (threadIdx.y == 0 && i < n) y[i] = acc[0][threadIdx.x] + acc[1][threadIdx.x] + acc[2][threadIdx.x] + acc[3][threadIdx.x];
}

template <class T> T *put(const std::vector<T> &v) { T *p; cudaMalloc(&p, v.size() * sizeof(T)); cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice); return p; }

int main()
{
    const int n = 3001, nq = 150, trees = 18, depth = 6, per = (1 << (depth + 1)) - 1;
    std::vector<float> aos(n * D), soa(n * D), cent(KC * D);
    unsigned s = 9;
    for (int i = 0; i < n; i++) for (int d = 0; d < D; d++) { s = s * 1664525u + 1013904223u; aos[i * D + d] = (s >> 8) / 16777216.f + (i % KC) * (d == i % D); soa[d * n + i] = aos[i * D + d]; }
    for (int k = 0; k < KC; k++) for (int d = 0; d < D; d++) cent[k * D + d] = aos[k * D + d];
    std::vector<TreeNode> nodes(trees * per);
    for (int t = 0; t < trees; t++) for (int k = 0; k < per; k++) {
        TreeNode &q = nodes[t * per + k]; s = s * 1664525u + 1013904223u;
        bool leaf = k >= (1 << depth) - 1 || (s >> 10) % 11 == 0;
        q.feature = leaf ? -1 : (s >> 12) % D; q.left = 2 * k + 1; q.thr = leaf ? (s >> 20) * 0.001f : (s >> 20) / 4096.f * 1.4f;
    }
    float *da = put(aos), *dsoa = put(soa), *dc = put(cent), *sum, *dist, *dy; unsigned char *lab; int *cnt, *ids;
    cudaMalloc(&sum, KC * D * 4); cudaMemset(sum, 0, KC * D * 4); cudaMalloc(&cnt, KC * 4); cudaMemset(cnt, 0, KC * 4); cudaMalloc(&lab, n);
    cudaMalloc(&ids, nq * 5 * 4); cudaMalloc(&dist, nq * 5 * 4); cudaMalloc(&dy, n * 4);
    for (int it = 0; it < 2; it++) {
        kmeans_assign<<<(n + 95) / 96, 96>>>(dsoa, dc, lab, n);
        kmeans_accumulate<<<7, 128, KC * (D + 1) * 4>>>(dsoa, lab, sum, cnt, n);
        kmeans_finish<<<1, dim3(D, KC)>>>(dc, sum, cnt);
    }
    knn<5, 100><<<(nq + 49) / 50, 50>>>(da, nq, da, n, ids, dist);
    forest_predict<<<(n + 39) / 40, dim3(40, 4)>>>(Forest{put(nodes), trees, per}, da, n, dy);
    std::vector<float> y(n), hd(nq * 5), hc(KC * D); std::vector<int> hi(nq * 5);
    cudaMemcpy(y.data(), dy, n * 4, cudaMemcpyDeviceToHost); cudaMemcpy(hd.data(), dist, hd.size() * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(hi.data(), ids, hi.size() * 4, cudaMemcpyDeviceToHost); cudaMemcpy(hc.data(), dc, hc.size() * 4, cudaMemcpyDeviceToHost);
    int bad = 0; double ye = 0, cs = 0;
    for (int i = 0; i < n; i++) {
        float v = 0;
        for (int t = 0; t < trees; t++) { int k = 0; while (nodes[t * per + k].feature >= 0) k = nodes[t * per + k].left + (aos[i * D + nodes[t * per + k].feature] > nodes[t * per + k].thr); v += nodes[t * per + k].thr; }
        ye = fmax(ye, fabs(v - y[i]));
    }
    for (int q = 0; q < nq; q++) {
        std::vector<float> all(n);
        for (int j = 0; j < n; j++) { float t = 0; for (int d = 0; d < D; d++) { float e = aos[j * D + d] - aos[q * D + d]; t += e * e; } all[j] = t; }
        std::nth_element(all.begin(), all.begin() + 4, all.end());
        bad += fabs(hd[4 * nq + q] - all[4]) > 1e-4 || hi[q] != q;
    }
    for (float v : hc) cs += v;
    printf("knn bad %d forest err %g centroid sum %.4f %s\n", bad, ye, cs, cudaGetErrorString(cudaGetLastError()));
    return bad || ye > 1e-2;
}
