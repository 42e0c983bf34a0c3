// Canonical Huffman: device encode with prefix-summed bit offsets, chunked parallel decode through a 12-bit LUT.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdint>
#include <vector>
#include <queue>
#include <algorithm>

constexpr int MAXLEN = 12, CHUNK = 512;
struct Code { uint16_t bits; uint8_t len; uint8_t sym; };
__constant__ Code c_book[256];

__global__ void byte_histogram(const uint8_t* __restrict__ d, int n, int* hist) {
    __shared__ int h[8][257];
    int w = threadIdx.x >> 5;
    for (int i = threadIdx.x; i < 8 * 257; i += blockDim.x) (&h[0][0])[i] = 0;
    __syncthreads();
    const uchar4* d4 = (const uchar4*)d;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
        uchar4 v = d4[i];
        atomicAdd(&h[w][v.x], 1); atomicAdd(&h[w][v.y], 1); atomicAdd(&h[w][v.z], 1); atomicAdd(&h[w][v.w], 1);
    }
    __syncthreads();
    for (int s = threadIdx.x; s < 256; s += blockDim.x) {
        int t = 0;
        for (int k = 0; k < 8; ++k) t += h[k][s];
        if (t) atomicAdd(hist + s, t);
    }
}

// each chunk of 512 symbols is bit-packed by one block of 128 threads into its own word-aligned slot
__global__ void encode_chunks(const uint8_t* __restrict__ in, unsigned* __restrict__ out, int* __restrict__ bitsOut) {
    constexpr int PER = CHUNK / 128, WORDS = CHUNK * MAXLEN / 32;
    __shared__ unsigned buf[WORDS];
    __shared__ int scan[128];
    int t = threadIdx.x, len = 0;
    const uint8_t* p = in + (size_t)blockIdx.x * CHUNK + t * PER;
    for (int i = t; i < WORDS; i += 128) buf[i] = 0;
    Code c[PER];
    for (int i = 0; i < PER; ++i) { c[i] = c_book[p[i]]; len += c[i].len; }
    scan[t] = len;
    __syncthreads();
    for (int o = 1; o < 128; o *= 2) {
        int v = t >= o ? scan[t - o] : 0;
        __syncthreads();
        scan[t] += v;
        __syncthreads();
    }
    int pos = scan[t] - len;
    for (int i = 0; i < PER; ++i) {      // MSB first
        int w = pos >> 5, off = pos & 31, rem = 32 - off - c[i].len;
        if (rem >= 0) atomicOr(&buf[w], (unsigned)c[i].bits << rem);
        else { atomicOr(&buf[w], (unsigned)c[i].bits >> -rem); atomicOr(&buf[w + 1], (unsigned)c[i].bits << (32 + rem)); }
        pos += c[i].len;
    }
    __syncthreads();
    for (int i = t; i < WORDS; i += 128) out[(size_t)blockIdx.x * WORDS + i] = buf[i];
    if (t == 127) bitsOut[blockIdx.x] = scan[127];
}

// one thread per chunk: sequential bit reader, LUT in shared
__global__ void decode_chunks(const unsigned* __restrict__ in, const uint16_t* __restrict__ lut, uint8_t* __restrict__ out, int nchunks) {
    __shared__ uint16_t s[1 << MAXLEN];
    for (int i = threadIdx.x; i < (1 << MAXLEN); i += blockDim.x) s[i] = lut[i];
    __syncthreads();
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= nchunks) return;
    constexpr int WORDS = CHUNK * MAXLEN / 32;
    const unsigned* p = in + (size_t)c * WORDS;
    unsigned long long acc = 0; int have = 0, w = 0;
    for (int i = 0; i < CHUNK; i += 4) {
        uchar4 q;
        unsigned char* qq = (unsigned char*)&q;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            if (have < MAXLEN) { acc = acc << 32 | (w < WORDS ? p[w] : 0u); ++w; have += 32; }
            uint16_t e = s[(acc >> (have - MAXLEN)) & ((1 << MAXLEN) - 1)];
            qq[k] = e & 255;
            have -= e >> 8;
        }
        *(uchar4*)(out + (size_t)c * CHUNK + i) = q;
    }
}

__global__ void compare_bytes(const uint4* a, const uint4* b, int n, int* diff) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool d = i < n && (a[i].x != b[i].x || a[i].y != b[i].y || a[i].z != b[i].z || a[i].w != b[i].w);
    int c = __syncthreads_count(d);
    if (threadIdx.x == 0 && c) atomicAdd(diff, c);
}

int main() {
    const int chunks = 4096, n = chunks * CHUNK;
    std::vector<uint8_t> h(n), o(n);
    unsigned s = 3;
    for (auto& b : h) {
        s = s * 1664525u + 1013904223u;
        unsigned u = s >> 16, v = 0;
        while ((u & 1) && v < 14) { ++v; u >>= 1; }
        b = (uint8_t)(v * 11 + ((s >> 9) & 3));
    }
    uint8_t *di, *dout; unsigned* db; int *dh, *dbits, *dd; uint16_t* dl;
    const int WORDS = CHUNK * MAXLEN / 32;
    cudaMalloc(&di, n); cudaMalloc(&dout, n); cudaMalloc(&db, (size_t)chunks * WORDS * 4); cudaMalloc(&dh, 1024);
    cudaMalloc(&dbits, chunks * 4); cudaMalloc(&dd, 4); cudaMalloc(&dl, 2 << MAXLEN);
    cudaMemset(dh, 0, 1024); cudaMemset(dd, 0, 4);
    cudaMemcpy(di, h.data(), n, cudaMemcpyHostToDevice);
    byte_histogram<<<96, 256>>>(di, n, dh);
    int hist[256], ref[256] = {0};
    cudaMemcpy(hist, dh, 1024, cudaMemcpyDeviceToHost);
    for (auto b : h) ref[b]++;
    bool ok = std::equal(ref, ref + 256, hist);
    // length-limited code: rescale counts until the tree fits 12 bits
    std::vector<int> len(256, 0);
    for (int shift = 0;; ++shift) {
        std::vector<int> par(512, -1);
        std::priority_queue<std::pair<long, int>, std::vector<std::pair<long, int>>, std::greater<>> q;
        for (int i = 0; i < 256; ++i) if (ref[i]) q.push({(ref[i] >> shift) + 1, i});
        int nx = 256;
        while (q.size() > 1) { auto a = q.top(); q.pop(); auto b = q.top(); q.pop(); par[a.second] = par[b.second] = nx; q.push({a.first + b.first, nx++}); }
        int mx = 0;
        for (int i = 0; i < 256; ++i) { len[i] = 0; if (ref[i]) for (int k = i; par[k] >= 0; k = par[k]) len[i]++; mx = std::max(mx, len[i]); }
        if (mx <= MAXLEN) break;
    }
    Code book[256] = {}; std::vector<uint16_t> lut(1 << MAXLEN, 1 << 8);
    unsigned code = 0;
    for (int l = 1; l <= MAXLEN; ++l, code <<= 1)
        for (int i = 0; i < 256; ++i) if (len[i] == l) {
            book[i] = {(uint16_t)code, (uint8_t)l, (uint8_t)i};
            for (unsigned k = 0; k < (1u << (MAXLEN - l)); ++k) lut[(code << (MAXLEN - l)) + k] = l << 8 | i;
            ++code;
        }
    cudaMemcpyToSymbol(c_book, book, sizeof book);
    cudaMemcpy(dl, lut.data(), 2 << MAXLEN, cudaMemcpyHostToDevice);
    encode_chunks<<<chunks, 128>>>(di, db, dbits);
    decode_chunks<<<(chunks + 63) / 64, 64>>>(db, dl, dout, chunks);
    compare_bytes<<<(n / 16 + 255) / 256, 256>>>((uint4*)di, (uint4*)dout, n / 16, dd);
    std::vector<int> bits(chunks); int diff = -1;
    cudaMemcpy(bits.data(), dbits, chunks * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(&diff, dd, 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(o.data(), dout, n, cudaMemcpyDeviceToHost);
    long total = 0, want = 0;
    for (int b : bits) total += b;
    for (int i = 0; i < 256; ++i) want += (long)ref[i] * len[i];
    ok = ok && o == h && diff == 0 && total == want && cudaGetLastError() == cudaSuccess;
    printf("bits/symbol %.3f diff %d\n%s\n", (double)total / n, diff, ok ? "PASS" : "FAIL");
    return !ok;
}
