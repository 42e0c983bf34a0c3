/* Prefix sums: naive double buffered, Blelloch with conflict-free padding, warp-shuffle with int4,
   decoupled look-back single pass, and a segmented scan with flags. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime.h>

#define LOG_BANKS 5
#define CF(i) ((i) + ((i) >> LOG_BANKS))

__global__ void kogge_stone(const int *in, int *out, int *sums, int n)
{
    extern __shared__ int t[];
    int gid = blockIdx.x * blockDim.x + threadIdx.x, pin = 0, pout = 1;
    int N = blockDim.x;
    t[threadIdx.x] = gid < n ? in[gid] : 0;
    __syncthreads();
    for (int d = 1; d < N; d *= 2) {
        if (threadIdx.x >= d) t[pout * N + threadIdx.x] = t[pin * N + threadIdx.x] + t[pin * N + threadIdx.x - d];
        else t[pout * N + threadIdx.x] = t[pin * N + threadIdx.x];
        pin = pout; pout = 1 - pout;
        __syncthreads();
    }
    if (gid < n) out[gid] = t[pin * N + threadIdx.x];
    if (sums && threadIdx.x == N - 1) sums[blockIdx.x] = t[pin * N + N - 1];
}

__global__ void add_offsets(int *out, const int *sums, int n)
{
    int gid = blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x == 0 || gid >= n) return;
    out[gid] += sums[blockIdx.x - 1];
}

__global__ void blelloch(const int *__restrict__ in, int *__restrict__ out, int n)   /* one block, n power of two */
{
    extern __shared__ int s[];
    int t = threadIdx.x, ai = t, bi = t + n / 2, off = 1;
    s[CF(ai)] = in[blockIdx.x * n + ai];
    s[CF(bi)] = in[blockIdx.x * n + bi];
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            int i = off * (2 * t + 1) - 1, j = off * (2 * t + 2) - 1;
            s[CF(j)] += s[CF(i)];
        }
        off *= 2;
    }
    if (t == 0) s[CF(n - 1)] = 0;
    for (int d = 1; d < n; d *= 2) {
        off >>= 1;
        __syncthreads();
        if (t < d) {
            int i = off * (2 * t + 1) - 1, j = off * (2 * t + 2) - 1;
            int x = s[CF(i)];
            s[CF(i)] = s[CF(j)];
            s[CF(j)] += x;
        }
    }
    __syncthreads();
    out[blockIdx.x * n + ai] = s[CF(ai)];
    out[blockIdx.x * n + bi] = s[CF(bi)];
}

/* decoupled look-back: status word = flag << 62 | value */
typedef unsigned long long ull;
__device__ unsigned g_ticket;
__global__ void lookback_scan(const int4 *in, int4 *out, volatile ull *status, int n4)
{
    __shared__ int tile, wsum[8], prefix;
    if (threadIdx.x == 0) tile = atomicAdd(&g_ticket, 1);
    __syncthreads();
    int i = tile * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    int4 v = i < n4 ? in[i] : make_int4(0, 0, 0, 0);
    v.y += v.x; v.z += v.y; v.w += v.z;
    int s = v.w;
    for (int o = 1; o < 32; o <<= 1) { int u = __shfl_up_sync(~0u, s, o); if (lane >= o) s += u; }
    if (lane == 31) wsum[w] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        int run = 0;
        for (int k = 0; k < blockDim.x / 32; k++) { int x = wsum[k]; wsum[k] = run; run += x; }
        int excl = 0;
        if (tile) {
            status[tile] = (1ull << 62) | (unsigned)run;
            __threadfence();
            for (int p = tile - 1; p >= 0;) {
                ull st = status[p];
                if (!(st >> 62)) continue;
                excl += (int)(unsigned)st;
                if ((st >> 62) == 2) break;
                p--;
            }
        }
        __threadfence();
        status[tile] = (2ull << 62) | (unsigned)(excl + run);
        prefix = excl;
    }
    __syncthreads();
    int e = s - v.w + wsum[w] + prefix;
    if (i < n4) out[i] = make_int4(v.x + e, v.y + e, v.z + e, v.w + e);
}

__global__ void segmented_scan(const float *val, const unsigned char *head, float *out, int n)
{
    __shared__ float v[192]; __shared__ unsigned char f[192];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    v[t] = i < n ? val[i] : 0.f;
    f[t] = i < n ? (head[i] | (t == 0)) : 1;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d <<= 1) {
        float a = v[t]; unsigned char g = f[t];
        if (t >= d && !g) { a += v[t - d]; g = f[t - d]; }
        __syncthreads();
        v[t] = a; f[t] = g;
        __syncthreads();
    }
    if (i < n) out[i] = v[t];
}

int main(void)
{
    const int n = 9600, B = 192, nb = (n + B - 1) / B;
    int *h = (int *)malloc(n * 4), *o1 = (int *)malloc(n * 4), *o2 = (int *)malloc(n * 4), *o3 = (int *)malloc(n * 4);
    float *hv = (float *)malloc(n * 4), *ov = (float *)malloc(n * 4);
    unsigned char *hf = (unsigned char *)malloc(n);
    for (int i = 0; i < n; i++) { h[i] = rand() % 10; hv[i] = h[i] * 0.5f; hf[i] = rand() % 17 == 0; }
    int *d, *r1, *r2, *r3, *sm; ull *st; float *dv, *dvo; unsigned char *df;
    cudaMalloc(&d, n * 4); cudaMalloc(&r1, n * 4); cudaMalloc(&r2, n * 4); cudaMalloc(&r3, n * 4); cudaMalloc(&sm, nb * 4);
    cudaMalloc(&st, 256 * 8); cudaMalloc(&dv, n * 4); cudaMalloc(&dvo, n * 4); cudaMalloc(&df, n);
    cudaMemset(st, 0, 256 * 8);
    cudaMemcpy(d, h, n * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(dv, hv, n * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(df, hf, n, cudaMemcpyHostToDevice);
    kogge_stone<<<nb, B, 2 * B * 4>>>(d, r1, sm, n);
    kogge_stone<<<1, 64, 2 * 64 * 4>>>(sm, sm, NULL, nb);
    add_offsets<<<nb, B>>>(r1, sm, n);
    blelloch<<<n / 512, 256, CF(512) * 4>>>(d, r2, 512);
    lookback_scan<<<(n / 4 + 127) / 128, 128>>>((int4 *)d, (int4 *)r3, st, n / 4);
    segmented_scan<<<nb, B>>>(dv, df, dvo, n);
    cudaMemcpy(o1, r1, n * 4, cudaMemcpyDeviceToHost); cudaMemcpy(o2, r2, n * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(o3, r3, n * 4, cudaMemcpyDeviceToHost); cudaMemcpy(ov, dvo, n * 4, cudaMemcpyDeviceToHost);
    int bad = 0; int run = 0, loc = 0; float seg = 0;
    for (int i = 0; i < n; i++) {
        if (i % 512 == 0) loc = 0;
        if (i < n / 512 * 512) bad += o2[i] != loc;
        loc += h[i]; run += h[i];
        bad += (o1[i] != run) + (o3[i] != run);
        if (hf[i] || i % B == 0) seg = 0;
        seg += hv[i];
        bad += seg != ov[i];
    }
    printf("scan mismatches %d (total %d)\n", bad, run);
    return !!bad;
}
