// PageRank on a synthetic web: push with float atomics (COO edges) against pull over the transposed CSR.
#include <cuda_runtime.h>
#include <cstdio>
#include <cmath>
#include <vector>
#include <algorithm>

struct Edge {
    int src, dst;
};

__global__ void out_degree(const Edge* e, int m, int* deg) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) atomicAdd(&deg[e[i].src], 1);
}

__global__ void start_rank(float* r, float* next, int n, float base) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        r[i] = 1.0f / n;
        next[i] = base;
    }
}

__global__ void push_edges(const Edge* __restrict__ e, int m, const int* __restrict__ deg, const float* __restrict__ r, float* next, float damp) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < m; i += gridDim.x * blockDim.x) {
        Edge q = e[i];
        atomicAdd(&next[q.dst], damp * r[q.src] / deg[q.src]);
    }
}

__global__ void scale_rank(const float* r, const int* deg, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = r[i] / max(1, deg[i]);
}

// 4 threads per destination vertex
__global__ void pull_vertices(const int* __restrict__ row, const int* __restrict__ col, const float* __restrict__ c, float* __restrict__ next, int n, float base, float damp) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, v = t >> 2, l = t & 3;
    float s = 0;
    if (v < n)
        for (int k = row[v] + l; k < row[v + 1]; k += 4) s += c[col[k]];
    s += __shfl_xor_sync(0xffffffffu, s, 1);
    s += __shfl_xor_sync(0xffffffffu, s, 2);
    if (v < n && l == 0) next[v] = base + damp * s;
}

int main() {
    const int n = 30011, m = 8 * n;
    const float damp = 0.85f, base = 0.15f / n;
    std::vector<Edge> e(m);
    unsigned s = 21;
    auto rnd = [&] { s = s * 1664525u + 1013904223u; return s >> 8; };
    for (int i = 0; i < m; ++i) {
        double f = (rnd() & 0xffff) / 65536.0;
        e[i].src = i % n;
        e[i].dst = (int)(f * f * f * n);        // a few popular pages
    }
    std::vector<int> row(n + 1, 0), col(m), fill;
    for (auto& q : e) row[q.dst + 1]++;
    for (int i = 0; i < n; ++i) row[i + 1] += row[i];
    fill.assign(row.begin(), row.end() - 1);
    for (auto& q : e) col[fill[q.dst]++] = q.src;
    Edge* de; int *deg, *dr, *dc; float *r, *np, *c, *pull0, *pull1;
    cudaMalloc(&de, m * sizeof(Edge)); cudaMalloc(&deg, n * 4); cudaMalloc(&dr, (n + 1) * 4); cudaMalloc(&dc, m * 4);
    for (float** p : {&r, &np, &c, &pull0, &pull1}) cudaMalloc(p, n * 4);
    cudaMemset(deg, 0, n * 4);
    cudaMemcpy(de, e.data(), m * sizeof(Edge), cudaMemcpyHostToDevice);
    cudaMemcpy(dr, row.data(), (n + 1) * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(dc, col.data(), m * 4, cudaMemcpyHostToDevice);
    int g = (n + 255) / 256;
    out_degree<<<(m + 255) / 256, 256>>>(de, m, deg);
    start_rank<<<g, 256>>>(r, np, n, base);
    push_edges<<<120, 256>>>(de, m, deg, r, np, damp);      // one push iteration
    cudaMemcpy(pull0, r, n * 4, cudaMemcpyDeviceToDevice);
    std::vector<float> push(n), o(n);
    std::vector<double> a(n, 1.0 / n), b(n), first;
    for (int it = 0; it < 4; ++it) {
        scale_rank<<<g, 256>>>(pull0, deg, c, n);
        pull_vertices<<<(4 * n + 191) / 192, 192>>>(dr, dc, c, pull1, n, base, damp);
        std::swap(pull0, pull1);
        std::fill(b.begin(), b.end(), base);
        for (auto& q : e) b[q.dst] += damp * a[q.src] / 8;
        a = b;
        if (it == 0) first = a;
    }
    cudaMemcpy(push.data(), np, n * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(o.data(), pull0, n * 4, cudaMemcpyDeviceToHost);
    int bad = cudaGetLastError() != cudaSuccess;
    for (int i = 0; i < n; ++i) {
        if (fabs(push[i] - first[i]) > 1e-3 * first[i]) ++bad;
        if (fabs(o[i] - a[i]) > 1e-3 * a[i]) ++bad;
    }
    printf("top %g bad %d\n%s\n", a[0], bad, bad ? "FAIL" : "PASS");
    return bad != 0;
}
