// 32-way interleaved rANS, one warp per chunk. 12-bit probabilities, 16-bit renormalisation.
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

#define PROB_BITS 12
#define PROB_SCALE (1u << PROB_BITS)
#define RANS_L (1u << 16)
#define CHUNK 8192
#define WORDS_PER_CHUNK (CHUNK + 128)

static void die(cudaError_t e, const char* f, int l) {
    if (e != cudaSuccess) { fprintf(stderr, "%s:%d: %s\n", f, l, cudaGetErrorString(e)); exit(1); }
}
#define CU(e) die(e, __FILE__, __LINE__)

// x[i] - x[i-1] inside each chunk
__global__ void delta_filter(const uint8_t* in, uint8_t* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint8_t prev = (i % CHUNK) ? in[i - 1] : 0;
    out[i] = (uint8_t)(in[i] - prev);
}

__global__ void histogram256(const uint8_t* data, int n, uint32_t* hist) {
    __shared__ uint32_t h[8][256];
    int w = threadIdx.x / 32;
    for (int i = threadIdx.x; i < 8 * 256; i += blockDim.x) (&h[0][0])[i] = 0;
    __syncthreads();
    const uint32_t* words = (const uint32_t*)data;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
        uint32_t v = words[i];
        atomicAdd(&h[w][v & 255], 1);
        atomicAdd(&h[w][(v >> 8) & 255], 1);
        atomicAdd(&h[w][(v >> 16) & 255], 1);
        atomicAdd(&h[w][v >> 24], 1);
    }
    __syncthreads();
    uint32_t s = 0;
    for (int k = 0; k < 8; k++) s += h[k][threadIdx.x];
    if (s) atomicAdd(&hist[threadIdx.x], s);
}

struct SymInfo {
    uint16_t freq;
    uint16_t cum;
};

__global__ void build_tables(const uint32_t* hist, uint32_t total, SymInfo* sym, uint8_t* slot2sym) {
    __shared__ int f[256];
    __shared__ int c[257];
    int t = threadIdx.x;
    uint64_t v = (uint64_t)hist[t] * PROB_SCALE / total;
    f[t] = v < 1 ? 1 : (int)v;
    __syncthreads();
    if (t == 0) {
        int sum = 0, big = 0;
        for (int i = 0; i < 256; i++) {
            sum += f[i];
            if (f[i] > f[big]) big = i;
        }
        f[big] += (int)PROB_SCALE - sum;
        c[0] = 0;
        for (int i = 0; i < 256; i++) c[i + 1] = c[i] + f[i];
    }
    __syncthreads();
    sym[t].freq = (uint16_t)f[t];
    sym[t].cum = (uint16_t)c[t];
    for (int k = 0; k < f[t]; k++) slot2sym[c[t] + k] = (uint8_t)t;
}

// Lane l owns symbols l, l+32, ...; words are written from the chunk's end backwards.
__global__ void rans_encode(const uint8_t* __restrict__ in, const SymInfo* __restrict__ sym, uint16_t* __restrict__ scratch,
                            uint32_t* __restrict__ states, int* __restrict__ used, int nchunks) {
    __shared__ SymInfo tab[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) tab[i] = sym[i];
    __syncthreads();
    int chunk = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (chunk >= nchunks) return;
    const uint8_t* src = in + (size_t)chunk * CHUNK;
    uint16_t* dst = scratch + (size_t)chunk * WORDS_PER_CHUNK;
    uint32_t x = RANS_L;
    int end = WORDS_PER_CHUNK;
    uint32_t below = (1u << lane) - 1;
    for (int step = CHUNK / 32 - 1; step >= 0; step--) {
        SymInfo s = tab[src[step * 32 + lane]];
        bool emit = x >= ((uint32_t)s.freq << (32 - PROB_BITS));
        uint32_t mask = __ballot_sync(0xffffffffu, emit);
        int cnt = __popc(mask);
        if (emit) {
            dst[end - cnt + __popc(mask & below)] = (uint16_t)x;
            x >>= 16;
        }
        end -= cnt;
        x = ((x / s.freq) << PROB_BITS) + (x % s.freq) + s.cum;
    }
    states[chunk * 32 + lane] = x;
    if (lane == 0) used[chunk] = WORDS_PER_CHUNK - end;
}

// chunk offsets: few chunks, a single warp walks them
__global__ void scan_used(const int* used, int* offs, int n) {
    int lane = threadIdx.x;
    int carry = 0;
    for (int base = 0; base < n; base += 32) {
        int v = base + lane < n ? used[base + lane] : 0;
        int x = v;
        for (int d = 1; d < 32; d *= 2) {
            int y = __shfl_up_sync(0xffffffffu, x, d);
            if (lane >= d) x += y;
        }
        if (base + lane < n) offs[base + lane] = carry + x - v;
        carry += __shfl_sync(0xffffffffu, x, 31);
    }
    if (lane == 0) offs[n] = carry;
}

__global__ void compact(const uint16_t* scratch, const int* used, const int* offs, uint16_t* stream) {
    int chunk = blockIdx.x;
    int n = used[chunk];
    const uint16_t* src = scratch + (size_t)chunk * WORDS_PER_CHUNK + WORDS_PER_CHUNK - n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) stream[offs[chunk] + i] = src[i];
}

__global__ void rans_decode(const uint16_t* __restrict__ stream, const int* __restrict__ offs, const uint32_t* __restrict__ states,
                            const SymInfo* __restrict__ sym, const uint8_t* __restrict__ slot2sym, uint8_t* __restrict__ out, int nchunks) {
    extern __shared__ unsigned char raw[];
    SymInfo* tab = (SymInfo*)raw;
    uint8_t* lut = raw + 256 * sizeof(SymInfo);
    for (int i = threadIdx.x; i < 256; i += blockDim.x) tab[i] = sym[i];
    for (int i = threadIdx.x; i < (int)PROB_SCALE / 4; i += blockDim.x) ((uint32_t*)lut)[i] = ((const uint32_t*)slot2sym)[i];
    __syncthreads();
    int chunk = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (chunk >= nchunks) return;
    const uint16_t* p = stream + offs[chunk];
    uint8_t* dst = out + (size_t)chunk * CHUNK;
    uint32_t x = states[chunk * 32 + lane];
    uint32_t below = (1u << lane) - 1;
    for (int step = 0; step < CHUNK / 32; step++) {
        uint32_t slot = x & (PROB_SCALE - 1);
        uint8_t s = lut[slot];
        dst[step * 32 + lane] = s;
        x = tab[s].freq * (x >> PROB_BITS) + slot - tab[s].cum;
        bool need = x < RANS_L;
        uint32_t mask = __ballot_sync(0xffffffffu, need);
        if (need) x = (x << 16) | p[__popc(mask & below)];
        p += __popc(mask);
    }
}

// undo the delta: prefix sum mod 256 over a chunk, one block a chunk, thread-contiguous pieces
__global__ void undelta(const uint8_t* in, uint8_t* out) {
    __shared__ uint32_t sums[256];
    const uint8_t* src = in + (size_t)blockIdx.x * CHUNK;
    uint8_t* dst = out + (size_t)blockIdx.x * CHUNK;
    const int per = CHUNK / 256;
    int t = threadIdx.x;
    uint32_t s = 0;
    for (int i = 0; i < per; i++) s += src[t * per + i];
    sums[t] = s;
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        uint32_t v = t >= d ? sums[t - d] : 0;
        __syncthreads();
        sums[t] += v;
        __syncthreads();
    }
    uint32_t run = sums[t] - s;
    for (int i = 0; i < per; i++) {
        run += src[t * per + i];
        dst[t * per + i] = (uint8_t)run;
    }
}

int main() {
    const int NCH = 192;
    const int N = NCH * CHUNK;
    std::vector<uint8_t> in(N), out(N), filt(N);
    uint32_t r = 0xC0FFEE;
    int level = 128;
    for (int i = 0; i < N; i++) {
        r = r * 1664525u + 1013904223u;
        uint32_t u = r >> 16;
        int step = __builtin_popcount(u & 0xff) - __builtin_popcount((u >> 8) & 0xff);
        if ((u & 1023) == 5) step = (int)(r >> 24);
        level += step / 2;
        in[i] = (uint8_t)level;
    }
    uint8_t *d_in, *d_f, *d_dec, *d_out, *d_lut;
    uint32_t *d_hist, *d_states;
    SymInfo* d_sym;
    uint16_t *d_scratch, *d_stream;
    int *d_used, *d_offs;
    CU(cudaMalloc(&d_in, N));
    CU(cudaMalloc(&d_f, N));
    CU(cudaMalloc(&d_dec, N));
    CU(cudaMalloc(&d_out, N));
    CU(cudaMalloc(&d_lut, PROB_SCALE));
    CU(cudaMalloc(&d_hist, 256 * 4));
    CU(cudaMalloc(&d_states, NCH * 32 * 4));
    CU(cudaMalloc(&d_sym, 256 * sizeof(SymInfo)));
    CU(cudaMalloc(&d_scratch, (size_t)NCH * WORDS_PER_CHUNK * 2));
    CU(cudaMalloc(&d_stream, (size_t)NCH * WORDS_PER_CHUNK * 2));
    CU(cudaMalloc(&d_used, NCH * 4));
    CU(cudaMalloc(&d_offs, (NCH + 1) * 4));
    CU(cudaMemcpy(d_in, in.data(), N, cudaMemcpyHostToDevice));
    CU(cudaMemset(d_hist, 0, 256 * 4));
    CU(cudaMemset(d_dec, 0, N));

    delta_filter<<<(N + 255) / 256, 256>>>(d_in, d_f, N);
    histogram256<<<64, 256>>>(d_f, N, d_hist);
    build_tables<<<1, 256>>>(d_hist, N, d_sym, d_lut);
    rans_encode<<<(NCH * 32 + 127) / 128, 128>>>(d_f, d_sym, d_scratch, d_states, d_used, NCH);
    scan_used<<<1, 32>>>(d_used, d_offs, NCH);
    compact<<<NCH, 128>>>(d_scratch, d_used, d_offs, d_stream);
    rans_decode<<<(NCH * 32 + 127) / 128, 128, 256 * sizeof(SymInfo) + PROB_SCALE>>>(d_stream, d_offs, d_states, d_sym, d_lut, d_dec, NCH);
    undelta<<<NCH, 256>>>(d_dec, d_out);
    CU(cudaGetLastError());
    CU(cudaDeviceSynchronize());

    uint32_t hist[256], ref[256] = {0};
    int words;
    CU(cudaMemcpy(out.data(), d_out, N, cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(filt.data(), d_f, N, cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(hist, d_hist, sizeof(hist), cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(&words, d_offs + NCH, 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) ref[(uint8_t)(in[i] - (i % CHUNK ? in[i - 1] : 0))]++;
    bool ok = memcmp(hist, ref, sizeof(ref)) == 0;
    ok = ok && memcmp(in.data(), out.data(), N) == 0;
    double ratio = (2.0 * words + 128.0 * NCH) / N;
    ok = ok && ratio < 0.6;
    printf("%d bytes -> %d words, ratio %.3f\n%s\n", N, words, ratio, ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
