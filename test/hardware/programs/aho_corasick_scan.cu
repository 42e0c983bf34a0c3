// Multi-pattern string matching: DFA in global memory, DFA rows in shared memory, and a Rabin-Karp filter.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>
#include <queue>
#include <cstdint>
using std::string;
using std::vector;

static const char* kPats[] = {"gatt", "acag", "ttaga", "cgcg", "aaaa", "tgca", "gacgt", "ccat", "tacca", "ggg"};
constexpr int NP = 10, MAXP = 5, ALPHA = 4;

struct Dfa { vector<short> next; vector<unsigned short> out; int states; };

static int code(char c) { return (c >> 1) & 3; }
static Dfa build() {
    vector<vector<int>> go(1, vector<int>(ALPHA, -1)); vector<unsigned short> out(1, 0);
    for (int p = 0; p < NP; ++p) {
        int s = 0;
        for (const char* c = kPats[p]; *c; ++c) {
            int k = code(*c);
            if (go[s][k] < 0) { go[s][k] = go.size(); go.push_back(vector<int>(ALPHA, -1)); out.push_back(0); }
            s = go[s][k];
        }
        out[s] |= 1 << p;
    }
    vector<int> fail(go.size(), 0); std::queue<int> q;
    for (int k = 0; k < ALPHA; ++k) if (go[0][k] < 0) go[0][k] = 0; else q.push(go[0][k]);
    while (!q.empty()) {
        int s = q.front(); q.pop();
        for (int k = 0; k < ALPHA; ++k) {
            int t = go[s][k];
            if (t < 0) go[s][k] = go[fail[s]][k];
            else { fail[t] = go[fail[s]][k]; out[t] |= out[fail[t]]; q.push(t); }
        }
    }
    Dfa d; d.states = go.size(); d.out = out;
    for (auto& r : go) for (int v : r) d.next.push_back(v);
    return d;
}

// naive: each thread scans a contiguous segment (uncoalesced bytes) with a warm-up overlap
__global__ void scan_segments(const char* __restrict__ text, int n, int seg, const short* __restrict__ next, const unsigned short* __restrict__ out, unsigned* hits) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    long beg = (long)t * seg;
    if (beg >= n) return;
    int end = min((long)n, beg + seg), s = 0;
    for (int i = max(0L, beg - (MAXP - 1)); i < end; ++i) {
        s = next[s * ALPHA + ((text[i] >> 1) & 3)];
        unsigned o = i >= beg ? out[s] : 0;
        while (o) { atomicAdd(&hits[__ffs(o) - 1], 1u); o &= o - 1; }
    }
}

// staged: text tile loaded as uint4, DFA in shared, private counters packed in shared
template <int SEG, int NT>
__global__ void scan_staged(const uint4* __restrict__ text, int n16, const short* __restrict__ next, const unsigned short* __restrict__ out, int states, unsigned* hits) {
    extern __shared__ unsigned char smem[];
    short* sn = (short*)smem;
    unsigned short* so = (unsigned short*)(sn + states * ALPHA);
    unsigned* cnt = (unsigned*)(smem + ((states * ALPHA * 2 + states * 2 + 15) & ~15));
    unsigned char* tile = (unsigned char*)(cnt + 16);          // 16 byte halo + NT*SEG
    for (int i = threadIdx.x; i < states * ALPHA; i += NT) sn[i] = next[i];
    for (int i = threadIdx.x; i < states; i += NT) so[i] = out[i];
    if (threadIdx.x < 16) cnt[threadIdx.x] = 0;
    constexpr int V = NT * SEG / 16;
    int base = blockIdx.x * V;
    for (int i = threadIdx.x; i < V + 1; i += NT) {
        int g = base + i - 1;
        ((uint4*)tile)[i] = (g >= 0 && g < n16) ? text[g] : make_uint4(0, 0, 0, 0);
    }
    __syncthreads();
    int p0 = 16 + threadIdx.x * SEG, s = 0;
    long gpos = (long)blockIdx.x * NT * SEG + threadIdx.x * SEG;
    for (int k = -(MAXP - 1); k < SEG; ++k) {
        if (gpos + k < 0 || gpos + k >= (long)n16 * 16) continue;
        s = sn[s * ALPHA + ((tile[p0 + k] >> 1) & 3)];
        if (k >= 0) for (unsigned o = so[s]; o; o &= o - 1) atomicAdd(&cnt[__ffs(o) - 1], 1u);
    }
    __syncthreads();
    if (threadIdx.x < NP && cnt[threadIdx.x]) atomicAdd(&hits[threadIdx.x], cnt[threadIdx.x]);
}

__constant__ unsigned c_pat[NP];
__constant__ int c_len[NP];
// position parallel: 2-bit rolling word of 5 symbols ending at i
__global__ void word_filter(const char* __restrict__ text, int n, unsigned* hits) {
    __shared__ unsigned cnt[NP];
    if (threadIdx.x < NP) cnt[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned w = 0;
#pragma unroll
        for (int k = MAXP - 1; k >= 0; --k) w = w << 2 | (i - k >= 0 ? (text[i - k] >> 1) & 3 : 0);
#pragma unroll
        for (int p = 0; p < NP; ++p)
            if (i + 1 >= c_len[p] && (w & ((1u << 2 * c_len[p]) - 1)) == c_pat[p]) atomicAdd(&cnt[p], 1u);
    }
    __syncthreads();
    if (threadIdx.x < NP) atomicAdd(&hits[threadIdx.x], cnt[threadIdx.x]);
}

int main() {
    const int n = 1 << 20;
    string text(n, 'a');
    unsigned s = 8;
    for (auto& c : text) { s = s * 1664525u + 1013904223u; c = "acgt"[s >> 30]; }
    Dfa d = build();
    char* dt; short* dn; unsigned short* dout; unsigned* dh;
    cudaMalloc(&dt, n); cudaMalloc(&dn, d.next.size() * 2); cudaMalloc(&dout, d.out.size() * 2); cudaMalloc(&dh, 3 * NP * 4);
    cudaMemset(dh, 0, 3 * NP * 4);
    cudaMemcpy(dt, text.data(), n, cudaMemcpyHostToDevice);
    cudaMemcpy(dn, d.next.data(), d.next.size() * 2, cudaMemcpyHostToDevice);
    cudaMemcpy(dout, d.out.data(), d.out.size() * 2, cudaMemcpyHostToDevice);
    unsigned pw[NP]; int pl[NP];
    for (int p = 0; p < NP; ++p) { pw[p] = 0; pl[p] = strlen(kPats[p]); for (const char* c = kPats[p]; *c; ++c) pw[p] = pw[p] << 2 | code(*c); }
    cudaMemcpyToSymbol(c_pat, pw, sizeof pw); cudaMemcpyToSymbol(c_len, pl, sizeof pl);
    const int seg = 100;
    scan_segments<<<(n / seg + 1 + 127) / 128, 128>>>(dt, n, seg, dn, dout, dh);
    constexpr int SEG = 48, NT = 192;
    size_t sm = ((d.states * ALPHA * 2 + d.states * 2 + 15) & ~15) + 64 + 16 + NT * SEG;
    scan_staged<SEG, NT><<<(n + NT * SEG - 1) / (NT * SEG), NT, sm>>>((const uint4*)dt, n / 16, dn, dout, d.states, dh + NP);
    word_filter<<<130, 256>>>(dt, n, dh + 2 * NP);
    unsigned h[3 * NP];
    cudaMemcpy(h, dh, sizeof h, cudaMemcpyDeviceToHost);
    bool ok = cudaGetLastError() == cudaSuccess;
    for (int p = 0; p < NP; ++p) {
        unsigned r = 0;
        for (size_t q = text.find(kPats[p]); q != string::npos; q = text.find(kPats[p], q + 1)) ++r;
        if (h[p] != r || h[NP + p] != r || h[2 * NP + p] != r) { ok = false; printf("%s %u: %u %u %u\n", kPats[p], r, h[p], h[NP + p], h[2 * NP + p]); }
    }
    puts(ok ? "PASS" : "FAIL");
    return !ok;
}
