// Smith-Waterman local alignment, affine gaps.
//  * batch mode: one thread per read, H/E rows in global memory (interleaved so warps coalesce)
//  * wavefront mode: one block per read, anti-diagonals in shared memory
#include <cuda_runtime.h>
#include <cstdio>
#include <cstring>
#include <algorithm>
#include <vector>

#define REF 256
#define READ 150
#define MATCH 2
#define MISM (-3)
#define GO 5
#define GE 1

__global__ void pack_reference(const char* txt, unsigned* packed, int n) {
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w * 16 >= n) return;
    unsigned v = 0;
    for (int k = 0; k < 16 && w * 16 + k < n; ++k) {
        char c = txt[w * 16 + k];
        v |= (unsigned)((c >> 1) & 3) << (2 * k);
    }
    packed[w] = v;
}
__device__ __forceinline__ int base_at(const unsigned* p, int i) { return p[i >> 4] >> ((i & 15) * 2) & 3; }

__global__ void sw_thread_per_read(const unsigned* __restrict__ ref, const char* __restrict__ reads, short* H, short* Ev, int* score, int nreads) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= nreads) return;
    for (int j = 0; j <= REF; ++j) { H[j * nreads + t] = 0; Ev[j * nreads + t] = -1000; }
    int best = 0;
    const char* rd = reads + t * READ;   // byte loads, strided between lanes
    for (int i = 0; i < READ; ++i) {
        int c = (rd[i] >> 1) & 3, diag = 0, left = 0, F = -1000;
        for (int j = 1; j <= REF; ++j) {
            int up = H[j * nreads + t];
            int e = max(Ev[j * nreads + t] - GE, up - GO);
            F = max(F - GE, left - GO);
            int h = diag + (c == base_at(ref, j - 1) ? MATCH : MISM);
            h = max(max(h, 0), max(e, F));
            H[j * nreads + t] = (short)h;
            Ev[j * nreads + t] = (short)e;
            diag = up; left = h;
            best = max(best, h);
        }
    }
    score[t] = best;
}

__global__ void sw_wavefront(const unsigned* __restrict__ ref, const char* __restrict__ reads, int* score) {
    // thread i handles row i of the matrix; walks anti-diagonals
    __shared__ int h[3][READ + 1], f[2][READ + 1], e[2][READ + 1];
    __shared__ unsigned sref[REF / 16];
    __shared__ int wbest[8];
    int i = threadIdx.x;
    for (int k = i; k < REF / 16; k += blockDim.x) sref[k] = ref[k];
    for (int k = i; k <= READ; k += blockDim.x) {
        h[0][k] = h[1][k] = h[2][k] = 0; f[0][k] = f[1][k] = -1000; e[0][k] = e[1][k] = -1000;
    }
    int c = i < READ ? (reads[blockIdx.x * READ + i] >> 1) & 3 : 0, best = 0;
    __syncthreads();
    for (int d = 0; d < REF + READ - 1; ++d) {
        int cur = d % 3, p1 = (d + 2) % 3, p2 = (d + 1) % 3, ce = d & 1, pe = ce ^ 1;
        int j = d - i;
        if (i < READ && j >= 0 && j < REF) {
            int r = i + 1;
            int hl = j ? h[p1][r] : 0, hu = h[p1][r - 1], hd = j ? h[p2][r - 1] : 0;
            int ff = max((j ? f[pe][r] : -1000) - GE, hl - GO);
            int ee = max((i ? e[pe][r - 1] : -1000) - GE, hu - GO);
            int s = hd + (c == base_at(sref, j) ? MATCH : MISM);
            s = max(max(s, 0), max(ee, ff));
            h[cur][r] = s; f[ce][r] = ff; e[ce][r] = ee;
            best = max(best, s);
        }
        __syncthreads();
    }
    best = __reduce_max_sync(0xffffffffu, best);
    if ((i & 31) == 0) wbest[i >> 5] = best;
    __syncthreads();
    if (i == 0) {
        for (int k = 1; k < blockDim.x / 32; ++k) best = max(best, wbest[k]);
        score[blockIdx.x] = best;
    }
}

__global__ void score_histogram(const int* a, int n, int* bins, int width) {
    __shared__ int s[32];
    if (threadIdx.x < 32) s[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&s[min(31, a[i] / width)], 1);
    __syncthreads();
    if (threadIdx.x < 32 && s[threadIdx.x]) atomicAdd(bins + threadIdx.x, s[threadIdx.x]);
}

int main() {
    const int nreads = 1500;
    std::vector<char> ref(REF), reads(nreads * READ);
    unsigned s = 4242;
    auto rnd = [&](unsigned m) { s = s * 1664525u + 1013904223u; return (s >> 10) % m; };
    for (auto& c : ref) c = "ACGT"[rnd(4)];
    for (int r = 0; r < nreads; ++r) {
        int p = rnd(REF - READ);
        for (int i = 0; i < READ; ++i) {
            unsigned q = rnd(100);
            if (q < 2) ++p; else if (q < 4) --p;
            p = std::max(p, 0);
            reads[r * READ + i] = (q > 92 || p >= REF) ? "ACGT"[rnd(4)] : ref[p];
            ++p;
        }
    }
    char *dr, *dt; unsigned* dp; short *H, *E2; int *s0, *s1, *hb;
    cudaMalloc(&dr, ref.size()); cudaMalloc(&dt, reads.size()); cudaMalloc(&dp, REF / 4);
    cudaMalloc(&H, nreads * (REF + 1) * 2); cudaMalloc(&E2, nreads * (REF + 1) * 2);
    cudaMalloc(&s0, nreads * 4); cudaMalloc(&s1, nreads * 4); cudaMalloc(&hb, 128); cudaMemset(hb, 0, 128);
    cudaMemcpy(dr, ref.data(), REF, cudaMemcpyHostToDevice);
    cudaMemcpy(dt, reads.data(), reads.size(), cudaMemcpyHostToDevice);
    pack_reference<<<1, 32>>>(dr, dp, REF);
    sw_thread_per_read<<<(nreads + 63) / 64, 64>>>(dp, dt, H, E2, s0, nreads);
    sw_wavefront<<<nreads, 160>>>(dp, dt, s1);
    score_histogram<<<3, 96>>>(s1, nreads, hb, 10);
    std::vector<int> a(nreads), b(nreads); int hist[32], rh[32] = {0};
    cudaMemcpy(a.data(), s0, nreads * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(b.data(), s1, nreads * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(hist, hb, 128, cudaMemcpyDeviceToHost);
    if (cudaGetLastError() != cudaSuccess) { puts("FAIL"); return 1; }
    int bad = 0;
    for (int r = 0; r < nreads; ++r) {
        int h[REF + 1] = {0}, e[REF + 1], best = 0;
        std::fill(e, e + REF + 1, -1000);
        for (int i = 0; i < READ; ++i) {
            int diag = 0, left = 0, F = -1000;
            for (int j = 1; j <= REF; ++j) {
                int up = h[j];
                e[j] = std::max(e[j] - GE, up - GO); F = std::max(F - GE, left - GO);
                int v = std::max(std::max(0, diag + (reads[r * READ + i] == ref[j - 1] ? MATCH : MISM)), std::max(e[j], F));
                h[j] = v; diag = up; left = v; best = std::max(best, v);
            }
        }
        rh[std::min(31, best / 10)]++;
        if (a[r] != best || b[r] != best) ++bad;
    }
    if (memcmp(rh, hist, 128)) ++bad;
    printf("bad %d first score %d\n%s\n", bad, a[0], bad ? "FAIL" : "PASS");
    return bad != 0;
}
