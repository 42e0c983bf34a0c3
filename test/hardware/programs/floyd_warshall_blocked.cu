// All-pairs shortest paths: naive k-loop (few k's shown) and the three-phase blocked algorithm with a predecessor check.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>

const int B = 32;
const int INF = 1 << 28;

__global__ void fw_naive_k(int* d, int n, int k) {
    // row index on threadIdx.x: column-strided accesses
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    int t = d[i * n + k] + d[k * n + j];
    if (t < d[i * n + j]) d[i * n + j] = t;
}

__global__ void fw_diag(int* d, int n, int kb) {
    __shared__ int s[B][B];
    int x = threadIdx.x, y = threadIdx.y;
    int g = (kb * B + y) * n + kb * B + x;
    s[y][x] = d[g];
    __syncthreads();
    for (int k = 0; k < B; k++) {
        int t = s[y][k] + s[k][x];
        __syncthreads();
        if (t < s[y][x]) s[y][x] = t;
        __syncthreads();
    }
    d[g] = s[y][x];
}

__global__ void fw_cross(int* d, int n, int kb) {
    int o = blockIdx.x;
    if (o >= kb) o++;
    __shared__ int dia[B][B], mine[B][B];
    int x = threadIdx.x, y = threadIdx.y;
    bool row = blockIdx.y == 0;
    int by = row ? kb : o, bx = row ? o : kb;
    int g = (by * B + y) * n + bx * B + x;
    dia[y][x] = d[(kb * B + y) * n + kb * B + x];
    mine[y][x] = d[g];
    __syncthreads();
    int best = mine[y][x];
    for (int k = 0; k < B; k++) {
        int t = row ? dia[y][k] + mine[k][x] : mine[y][k] + dia[k][x];
        best = min(best, t);
        __syncthreads();
        mine[y][x] = best;
        __syncthreads();
    }
    d[g] = best;
}

// 32x8 threads, four rows each
__global__ void fw_rest(int* d, int n, int kb) {
    int bx = blockIdx.x, by = blockIdx.y;
    if (bx >= kb) bx++;
    if (by >= kb) by++;
    __shared__ int L[B][B], U[B][B];
    int x = threadIdx.x;
    for (int y = threadIdx.y; y < B; y += 8) {
        L[y][x] = d[(by * B + y) * n + kb * B + x];
        U[y][x] = d[(kb * B + y) * n + bx * B + x];
    }
    __syncthreads();
    int v[4];
#pragma unroll
    for (int q = 0; q < 4; q++) v[q] = d[(by * B + threadIdx.y + q * 8) * n + bx * B + x];
#pragma unroll 8
    for (int k = 0; k < B; k++) {
        int u = U[k][x];
#pragma unroll
        for (int q = 0; q < 4; q++) v[q] = min(v[q], L[threadIdx.y + q * 8][k] + u);
    }
#pragma unroll
    for (int q = 0; q < 4; q++) d[(by * B + threadIdx.y + q * 8) * n + bx * B + x] = v[q];
}

__global__ void eccentricity(const int* d, int n, int* ecc) {
    int r = blockIdx.x, m = 0;
    for (int j = threadIdx.x; j < n; j += blockDim.x) if (d[r * n + j] < INF) m = max(m, d[r * n + j]);
    m = __reduce_max_sync(~0u, m);
    if ((threadIdx.x & 31) == 0) atomicMax(ecc + r, m);
}

int main() {
    const int n = 128, nb = n / B;
    std::vector<int> w(n * n, INF), o(n * n);
    srand(1);
    for (int i = 0; i < n; i++) {
        w[i * n + i] = 0;
        for (int e = 0; e < 5; e++) w[i * n + rand() % n] = std::min(w[i * n + i] ? INF : 1 + rand() % 100, INF);
        w[i * n + i] = 0;
    }
    int *d, *dn, *ec;
    cudaMalloc(&d, n * n * 4); cudaMalloc(&dn, n * n * 4); cudaMalloc(&ec, n * 4); cudaMemset(ec, 0, n * 4);
    cudaMemcpy(d, w.data(), n * n * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(dn, w.data(), n * n * 4, cudaMemcpyHostToDevice);
    for (int k = 0; k < 2; k++) fw_naive_k<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(dn, n, k);
    for (int kb = 0; kb < nb; kb++) {
        fw_diag<<<1, dim3(B, B)>>>(d, n, kb);
        fw_cross<<<dim3(nb - 1, 2), dim3(B, B)>>>(d, n, kb);
        fw_rest<<<dim3(nb - 1, nb - 1), dim3(B, 8)>>>(d, n, kb);
    }
    eccentricity<<<n, 64>>>(d, n, ec);
    std::vector<int> e(n), part, ref = w;
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) ref[i * n + j] = std::min(ref[i * n + j], ref[i * n + k] + ref[k * n + j]);
        if (k == 1) part = ref;
    }
    int bad = 0;
    cudaMemcpy(o.data(), d, n * n * 4, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n * n; i++) bad += o[i] != ref[i];
    cudaMemcpy(o.data(), dn, n * n * 4, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n * n; i++) bad += o[i] != part[i];
    cudaMemcpy(e.data(), ec, n * 4, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++) { int m = 0; for (int j = 0; j < n; j++) if (ref[i * n + j] < INF) m = std::max(m, ref[i * n + j]); bad += m != e[i]; }
    if (cudaGetLastError() != cudaSuccess) bad++;
    printf("bad %d\n%s\n", bad, bad ? "FAIL" : "PASS");
    return bad != 0;
}
