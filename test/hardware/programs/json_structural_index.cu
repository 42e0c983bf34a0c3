// simdjson-like stage 1 on GPU: quote bitmap, in-string mask via prefix xor,
// structural bitmap, compaction, bracket depth.  64-bit words per thread.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <cuda_runtime.h>

using u64 = unsigned long long;
constexpr int BLOCK = 128;

struct Index {
    const char *text;
    u64 *quotes;
    u64 *structural;
    int *parity;     // per block
    int *counts;     // per block
    int *positions;
    int nbytes;
    int nwords;
};

template <typename T>
T *dev_alloc(size_t n)
{
    void *p = nullptr;
    if (cudaMalloc(&p, n * sizeof(T)) != cudaSuccess) {
        std::fprintf(stderr, "out of memory\n");
        std::exit(1);
    }
    return static_cast<T *>(p);
}

// 64 characters per thread, byte loop: uncoalesced but simple
__global__ void quote_bitmap_bytes(Index ix)
{
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= ix.nwords)
        return;
    u64 q = 0;
    bool esc = false;
    int base = w * 64;
    if (w > 0) {
        int k = base - 1;
        while (k >= 0 && ix.text[k] == '\\') {
            esc = !esc;
            k--;
        }
    }
    for (int i = 0; i < 64; i++) {
        if (base + i >= ix.nbytes)
            break;
        char c = ix.text[base + i];
        if (esc) {
            esc = false;
        } else if (c == '\\') {
            esc = true;
        } else if (c == '"') {
            q |= 1ull << i;
        }
    }
    ix.quotes[w] = q;
}

__global__ void block_parity(Index ix)
{
    int w = blockIdx.x * BLOCK + threadIdx.x;
    int p = w < ix.nwords ? (__popcll(ix.quotes[w]) & 1) : 0;
    int tot = __syncthreads_count(p);
    if (threadIdx.x == 0)
        ix.parity[blockIdx.x] = tot & 1;
}

// One warp walks the block parities; serial in steps of 32
__global__ void scan_parity(int *parity, int n)
{
    int lane = threadIdx.x;
    int carry = 0;
    for (int base = 0; base < n; base += 32) {
        int v = base + lane < n ? parity[base + lane] : 0;
        unsigned m = __ballot_sync(0xffffffffu, v);
        int before = __popc(m & ((1u << lane) - 1u)) & 1;
        if (base + lane < n)
            parity[base + lane] = carry ^ before;
        carry ^= __popc(m) & 1;
    }
}

__device__ u64 prefix_xor(u64 b)
{
    b ^= b << 1;
    b ^= b << 2;
    b ^= b << 4;
    b ^= b << 8;
    b ^= b << 16;
    b ^= b << 32;
    return b;
}

// structural characters outside strings; text staged through shared memory
__global__ void structural_bitmap(Index ix)
{
    __shared__ uint32_t stage[BLOCK * 16];
    __shared__ unsigned warp_par[BLOCK / 32];
    int w = blockIdx.x * BLOCK + threadIdx.x;
    const uint32_t *src = reinterpret_cast<const uint32_t *>(ix.text) + (size_t)blockIdx.x * BLOCK * 16;
    for (int k = threadIdx.x; k < BLOCK * 16; k += BLOCK)
        stage[k] = src[k];
    u64 q = w < ix.nwords ? ix.quotes[w] : 0ull;
    unsigned m = __ballot_sync(0xffffffffu, __popcll(q) & 1);
    int lane = threadIdx.x & 31;
    int warp = threadIdx.x >> 5;
    if (lane == 0)
        warp_par[warp] = __popc(m) & 1;
    __syncthreads();
    int par = ix.parity[blockIdx.x] ^ (__popc(m & ((1u << lane) - 1u)) & 1);
    for (int k = 0; k < warp; k++)
        par ^= warp_par[k];
    u64 in = prefix_xor(q) ^ (par ? ~0ull : 0ull);
    u64 s = 0;
    for (int k = 0; k < 16; k++) {
        uint32_t four = stage[threadIdx.x * 16 + k];
        for (int b = 0; b < 4; b++) {
            char c = (char)(four >> (8 * b));
            bool hit = c == '{' || c == '}' || c == '[' || c == ']' || c == ':' || c == ',';
            if (hit)
                s |= 1ull << (k * 4 + b);
        }
    }
    s &= ~in;
    int cnt = 0;
    if (w < ix.nwords) {
        ix.structural[w] = s;
        cnt = __popcll(s);
    }
    int wsum = __reduce_add_sync(0xffffffffu, cnt);
    if (lane == 0)
        atomicAdd(&ix.counts[blockIdx.x], wsum);
}

__global__ void scan_counts(int *c, int n)
{
    extern __shared__ int sm[];
    int t = threadIdx.x;
    int v = t < n ? c[t] : 0;
    sm[t] = v;
    for (int d = 1; d < blockDim.x; d <<= 1) {
        __syncthreads();
        int a = t >= d ? sm[t - d] : 0;
        __syncthreads();
        sm[t] += a;
    }
    if (t < n)
        c[t] = sm[t] - v;
}

__global__ void compact_positions(Index ix)
{
    __shared__ int pre[BLOCK];
    int t = threadIdx.x;
    int w = blockIdx.x * BLOCK + t;
    u64 s = w < ix.nwords ? ix.structural[w] : 0ull;
    int c = __popcll(s);
    pre[t] = c;
    __syncthreads();
    for (int d = 1; d < BLOCK; d <<= 1) {
        int a = t >= d ? pre[t - d] : 0;
        __syncthreads();
        pre[t] += a;
        __syncthreads();
    }
    int o = ix.counts[blockIdx.x] + pre[t] - c;
    while (s) {
        int b = __ffsll(s) - 1;
        s &= s - 1;
        ix.positions[o++] = w * 64 + b;
    }
}

// histogram of structural kinds through gathered text reads
__global__ void kind_histogram(Index ix, int n, int *hist)
{
    __shared__ int h[6];
    if (threadIdx.x < 6)
        h[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int k = 0;
        switch (ix.text[ix.positions[i]]) {
        case '{': k = 0; break;
        case '}': k = 1; break;
        case '[': k = 2; break;
        case ']': k = 3; break;
        case ':': k = 4; break;
        default: k = 5; break;
        }
        atomicAdd(&h[k], 1);
    }
    __syncthreads();
    if (threadIdx.x < 6)
        atomicAdd(&hist[threadIdx.x], h[threadIdx.x]);
}

static std::string make_json()
{
    std::string s = "[";
    uint32_t r = 42;
    auto rnd = [&](int m) {
        r = r * 1664525u + 1013904223u;
        return (int)((r >> 10) % (uint32_t)m);
    };
    for (int i = 0; i < 20000; i++) {
        if (i)
            s += ",";
        s += "{\"id\":" + std::to_string(i) + ",\"name\":\"";
        int len = rnd(20);
        for (int k = 0; k < len; k++) {
            int c = rnd(30);
            if (c == 0)
                s += "\\\"";
            else if (c == 1)
                s += "\\\\";
            else if (c == 2)
                s += "{,:";
            else
                s += (char)('a' + c % 26);
        }
        s += "\",\"v\":[" + std::to_string(rnd(100)) + "," + std::to_string(rnd(1000)) + "]}";
    }
    return s + "]";
}

int main()
{
    std::string js = make_json();
    Index ix{};
    ix.nbytes = (int)js.size();
    ix.nwords = (ix.nbytes + 63) / 64;
    int nblk = (ix.nwords + BLOCK - 1) / BLOCK;
    if (nblk > 1024) {
        std::puts("FAIL (too many blocks)");
        return 1;
    }
    size_t padded = (size_t)nblk * BLOCK * 64;
    char *text = dev_alloc<char>(padded);
    cudaMemset(text, 0, padded);
    cudaMemcpy(text, js.data(), js.size(), cudaMemcpyHostToDevice);
    ix.text = text;
    ix.quotes = dev_alloc<u64>(ix.nwords);
    ix.structural = dev_alloc<u64>(ix.nwords);
    ix.parity = dev_alloc<int>(nblk);
    ix.counts = dev_alloc<int>(nblk);
    ix.positions = dev_alloc<int>(ix.nbytes);
    int *hist = dev_alloc<int>(6);
    cudaMemset(ix.counts, 0, nblk * sizeof(int));
    cudaMemset(hist, 0, 6 * sizeof(int));

    std::vector<int> want;
    int wh[6] = {0};
    bool in = false, esc = false;
    for (int i = 0; i < ix.nbytes; i++) {
        char c = js[i];
        if (esc) {
            esc = false;
            continue;
        }
        if (c == '\\') {
            esc = true;
            continue;
        }
        if (c == '"')
            in = !in;
        const char *set = "{}[]:,";
        for (int k = 0; k < 6; k++)
            if (!in && c == set[k]) {
                want.push_back(i);
                wh[k]++;
            }
    }

    quote_bitmap_bytes<<<nblk, BLOCK>>>(ix);
    block_parity<<<nblk, BLOCK>>>(ix);
    scan_parity<<<1, 32>>>(ix.parity, nblk);
    structural_bitmap<<<nblk, BLOCK>>>(ix);
    scan_counts<<<1, 1024, 1024 * sizeof(int)>>>(ix.counts, nblk);
    compact_positions<<<nblk, BLOCK>>>(ix);
    kind_histogram<<<40, 256>>>(ix, (int)want.size(), hist);
    cudaError_t e = cudaDeviceSynchronize();
    if (e != cudaSuccess) {
        std::printf("FAIL %s\n", cudaGetErrorString(e));
        return 1;
    }
    std::vector<int> got(want.size());
    int gh[6];
    cudaMemcpy(got.data(), ix.positions, got.size() * sizeof(int), cudaMemcpyDeviceToHost);
    cudaMemcpy(gh, hist, sizeof(gh), cudaMemcpyDeviceToHost);
    bool good = got == want;
    for (int k = 0; k < 6; k++)
        good = good && gh[k] == wh[k];
    std::printf("%zu structurals in %d bytes: %s\n", want.size(), ix.nbytes, good ? "PASS" : "FAIL");
    return good ? 0 : 1;
}
