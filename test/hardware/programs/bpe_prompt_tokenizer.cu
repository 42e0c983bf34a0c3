// bpe_prompt_tokenizer.cu
//
// Byte pair encoding on the device, for the batch scoring service: raw text
// in, token ids and embedded rows out.  The merge table is trained on the host
// by the classical algorithm (count pairs, merge the most frequent, repeat)
// and shipped as an open-addressing hash table.
//
//   bytes -> word starts (flags, scan, compact) -> merges per word -> compact
//         -> embedding rows + sinusoidal positions
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>
#include <cuda_runtime.h>

#define GPU_OK(call)                                                                           \
    do {                                                                                       \
        cudaError_t status_ = (call);                                                          \
        if (status_ != cudaSuccess) {                                                          \
            fprintf(stderr, "%s at %s:%d\n", cudaGetErrorString(status_), __FILE__, __LINE__); \
            exit(1);                                                                           \
        }                                                                                      \
    } while (0)

static const int kMaxWord = 32;          // bytes; longer words are cut
static const int kEmb = 96;              // floats per embedding row

struct alignas(16) MergeSlot {
    uint32_t key;                        // left << 16 | right, 0xffffffff is empty
    uint32_t rank;
    uint32_t merged;
    uint32_t pad;
};

__host__ __device__ inline uint32_t hashPair(uint32_t k)
{
    k ^= k >> 16; k *= 0x7feb352du; k ^= k >> 15; k *= 0x846ca68bu; k ^= k >> 16;
    return k;
}

__device__ inline uint32_t findMerge(const MergeSlot* __restrict__ table, uint32_t mask, uint32_t l, uint32_t r, uint32_t* merged)
{
    uint32_t key = l << 16 | r;
    for (uint32_t h = hashPair(key) & mask;; h = (h + 1) & mask) {
        uint4 s = *reinterpret_cast<const uint4*>(table + h);
        if (s.x == key) { *merged = s.z; return s.y; }
        if (s.x == 0xffffffffu) return 0xffffffffu;
    }
}

// A word is a run of non-blanks with the blank before it, GPT-2 style.  Only
// the first kMaxWord bytes of a word are looked at.
__global__ void markStarts(const uint8_t* __restrict__ text, int n, int* __restrict__ flag)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    flag[i] = i == 0 || text[i] == ' ' || text[i] == '\n';
}

// ---- a plain three-kernel exclusive scan, 1024 elements a block -------------
__global__ void scanBlocks(const int* __restrict__ in, int* __restrict__ out, int n, int* __restrict__ blockSum)
{
    __shared__ int s[1024];
    int t = threadIdx.x, i = blockIdx.x * 1024 + t;
    int v = i < n ? in[i] : 0;
    s[t] = v;
    __syncthreads();
    for (int o = 1; o < 1024; o <<= 1) {
        int x = t >= o ? s[t - o] : 0;
        __syncthreads();
        s[t] += x;
        __syncthreads();
    }
    if (i < n) out[i] = s[t] - v;
    if (t == 1023) blockSum[blockIdx.x] = s[t];
}
__global__ void scanSums(int* sum, int blocks, int* total)
{
    if (threadIdx.x == 0) {                       // a few hundred at most
        int acc = 0;
        for (int b = 0; b < blocks; ++b) { int v = sum[b]; sum[b] = acc; acc += v; }
        *total = acc;
    }
}
__global__ void addSums(int* out, int n, const int* __restrict__ sum)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] += sum[i / 1024];
}

__global__ void compactStarts(const int* __restrict__ flag, const int* __restrict__ pos, int n, int* __restrict__ starts)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && flag[i]) starts[pos[i]] = i;
}

// ---- merging, version 1: thread per word, the word in local memory ----------
__global__ void mergeThread(const uint8_t* __restrict__ text, int n, const int* __restrict__ starts, int words,
                            const MergeSlot* __restrict__ table, uint32_t mask, uint16_t* __restrict__ ids, int* __restrict__ counts)
{
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= words) return;
    int a = starts[w], b = w + 1 < words ? starts[w + 1] : n;
    int len = min(b - a, kMaxWord);
    uint16_t tok[kMaxWord];
    for (int i = 0; i < len; ++i) tok[i] = text[a + i];
    while (len > 1) {
        uint32_t best = 0xffffffffu, into = 0;
        int at = -1;
        for (int i = 0; i + 1 < len; ++i) {
            uint32_t m, r = findMerge(table, mask, tok[i], tok[i + 1], &m);
            if (r < best) { best = r; at = i; into = m; }
        }
        if (at < 0) break;
        tok[at] = (uint16_t)into;
        for (int i = at + 1; i + 1 < len; ++i) tok[i] = tok[i + 1];
        --len;
    }
    for (int i = 0; i < len; ++i) ids[w * kMaxWord + i] = tok[i];
    counts[w] = len;
}

// ---- version 2: warp per word, a lane per symbol ------------------------------
__global__ void __launch_bounds__(256) mergeWarp(const uint8_t* __restrict__ text, int n, const int* __restrict__ starts, int words,
                          const MergeSlot* __restrict__ table, uint32_t mask, uint16_t* __restrict__ ids, int* __restrict__ counts)
{
    const unsigned full = 0xffffffffu;
    int lane = threadIdx.x & 31;
    for (int w = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; w < words; w += (gridDim.x * blockDim.x) >> 5) {
        int a = starts[w], b = w + 1 < words ? starts[w + 1] : n;
        int len = min(b - a, kMaxWord);
        uint32_t tok = lane < len ? text[a + lane] : 0;
        uint32_t right = __shfl_down_sync(full, tok, 1), merged = 0, rank = 0xffffffffu;
        if (lane + 1 < len) rank = findMerge(table, mask, tok, right, &merged);
        while (len > 1) {
            uint32_t best = __reduce_min_sync(full, rank);
            if (best == 0xffffffffu) break;
            int at = __ffs(__ballot_sync(full, rank == best)) - 1;
            uint32_t into = __shfl_sync(full, merged, at);
            // close the gap: symbol, rank and target move down together
            uint32_t nt = __shfl_down_sync(full, tok, 1), nr = __shfl_down_sync(full, rank, 1), nm = __shfl_down_sync(full, merged, 1);
            if (lane > at) { tok = nt; rank = nr; merged = nm; }
            if (lane == at) tok = into;
            --len;
            right = __shfl_down_sync(full, tok, 1);
            // only the two pairs that touch the new symbol have to be looked up again
            if (lane == at || lane + 1 == at) {
                rank = 0xffffffffu;
                if (lane + 1 < len) rank = findMerge(table, mask, tok, right, &merged);
            }
            if (lane + 1 >= len) rank = 0xffffffffu;
        }
        if (lane < len) ids[w * kMaxWord + lane] = (uint16_t)tok;
        if (lane == 0) counts[w] = len;
    }
}

__global__ void gatherTokens(const uint16_t* __restrict__ ids, const int* __restrict__ counts, const int* __restrict__ pos, int words, int* __restrict__ tokens)
{
    int w = blockIdx.x * blockDim.y + threadIdx.y;
    if (w >= words) return;
    for (int i = threadIdx.x; i < counts[w]; i += blockDim.x) tokens[pos[w] + i] = ids[w * kMaxWord + i];
}

// ---- embedding: naive and float4 ------------------------------------------------
__global__ void embedNaive(const int* __restrict__ tokens, int count, const float* __restrict__ table, float* __restrict__ out)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;     // a token per thread, rows 384 bytes apart
    if (t >= count) return;
    for (int d = 0; d < kEmb; ++d) {
        float freq = expf(-9.2103404f * (d & ~1) / kEmb), arg = (t & 511) * freq;
        out[t * kEmb + d] = table[tokens[t] * kEmb + d] + (d & 1 ? cosf(arg) : sinf(arg));
    }
}
__global__ void embedVec(const int* __restrict__ tokens, int count, const float4* __restrict__ table, const float4* __restrict__ pe, float4* __restrict__ out)
{
    int t = blockIdx.x * blockDim.y + threadIdx.y;
    if (t >= count) return;
    float4 e = table[tokens[t] * (kEmb / 4) + threadIdx.x], p = pe[(t & 511) * (kEmb / 4) + threadIdx.x];
    out[t * (kEmb / 4) + threadIdx.x] = make_float4(e.x + p.x, e.y + p.y, e.z + p.z, e.w + p.w);
}

// ---------------------------------------------------------------- host: training
typedef std::vector<uint16_t> Word;

struct Bpe {
    std::map<std::pair<int, int>, std::pair<int, int>> merges;     // pair -> rank, new id
    int vocab = 256;
};

static std::vector<std::string> splitWords(const std::string& s)
{
    std::vector<std::string> w;
    for (char c : s) {
        if (w.empty() || c == ' ' || c == '\n') w.emplace_back();
        w.back() += c;
    }
    return w;
}

static void applyMerge(Word& w, int l, int r, int id)
{
    size_t o = 0;
    for (size_t i = 0; i < w.size(); ++i)
        if (i + 1 < w.size() && w[i] == l && w[i + 1] == r) { w[o++] = (uint16_t)id; ++i; }
        else w[o++] = w[i];
    w.resize(o);
}

static Bpe train(const std::vector<std::string>& words, int merges)
{
    std::unordered_map<std::string, int> freq;
    for (auto& w : words) ++freq[w.substr(0, kMaxWord)];
    std::vector<std::pair<Word, int>> items;
    for (auto& f : std::map<std::string, int>(freq.begin(), freq.end())) {
        Word w;
        for (unsigned char c : f.first) w.push_back(c);
        items.push_back({w, f.second});
    }
    Bpe b;
    for (int m = 0; m < merges; ++m) {
        std::map<std::pair<int, int>, int> count;
        for (auto& it : items)
            for (size_t i = 0; i + 1 < it.first.size(); ++i) count[{it.first[i], it.first[i + 1]}] += it.second;
        std::pair<int, int> best;
        int most = 1;
        for (auto& c : count) if (c.second > most) { most = c.second; best = c.first; }
        if (most < 2) break;
        b.merges[best] = {m, b.vocab};
        for (auto& it : items) applyMerge(it.first, best.first, best.second, b.vocab);
        ++b.vocab;
    }
    return b;
}

static Word encode(const Bpe& b, const std::string& s)
{
    Word w;
    for (unsigned char c : s.substr(0, kMaxWord)) w.push_back(c);
    for (;;) {
        int best = -1, rank = 1 << 30;
        for (size_t i = 0; i + 1 < w.size(); ++i) {
            auto it = b.merges.find({w[i], w[i + 1]});
            if (it != b.merges.end() && it->second.first < rank) { rank = it->second.first; best = (int)i; }
        }
        if (best < 0) return w;
        w[best] = (uint16_t)b.merges.at({w[best], w[best + 1]}).second;
        w.erase(w.begin() + best + 1);
    }
}

static std::string makeText(size_t n)
{
    static const char* syl[] = {"re", "con", "ti", "on", "al", "ing", "pre", "sta", "ble", "ment", "un", "der", "stand", "com", "pu", "ter",
                                "gra", "phic", "s", "mem", "o", "ry", "ker", "nel", "a", "the", "of", "to", "lat", "en", "cy", "band", "width"};
    std::mt19937 rng(31);
    std::string t;
    while (t.size() < n) {
        int k = 1 + int(rng() % 4) * int(rng() % 2);
        for (int i = 0; i < k; ++i) t += syl[std::min(rng() % 33, rng() % 33)];
        if (rng() % 400 == 0) t += std::string(20 + rng() % 30, '=');      // rulers, some are over-long words
        t += rng() % 12 == 0 ? '\n' : ' ';
    }
    t.resize(n);
    return t;
}

struct Scan {
    int *sum, *total;
    Scan(int n) { GPU_OK(cudaMalloc(&sum, ((n + 1023) / 1024) * sizeof(int))); GPU_OK(cudaMalloc(&total, sizeof(int))); }
    ~Scan() { cudaFree(sum); cudaFree(total); }
    int operator()(const int* in, int* out, int n)
    {
        int blocks = (n + 1023) / 1024, t;
        scanBlocks<<<blocks, 1024>>>(in, out, n, sum);
        scanSums<<<1, 32>>>(sum, blocks, total);
        addSums<<<(n + 255) / 256, 256>>>(out, n, sum);
        GPU_OK(cudaGetLastError());
        GPU_OK(cudaMemcpy(&t, total, sizeof t, cudaMemcpyDeviceToHost));
        return t;
    }
};

template <typename T> static T* dev(size_t n) { T* p; GPU_OK(cudaMalloc(&p, n * sizeof(T))); return p; }
template <typename T> static T* dev(const std::vector<T>& v) { T* p = dev<T>(v.size()); GPU_OK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice)); return p; }

int main(int argc, char** argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], nullptr, 10) : 120000;
    int merges = argc > 2 ? atoi(argv[2]) : 90;
    std::string text = makeText(n);
    auto words = splitWords(text);
    Bpe bpe = train(std::vector<std::string>(words.begin(), words.begin() + std::min<size_t>(words.size(), 6000)), merges);

    uint32_t slots = 1;
    while (slots < 2 * bpe.merges.size()) slots *= 2;
    std::vector<MergeSlot> table(slots, MergeSlot{0xffffffffu, 0, 0, 0});
    for (auto& m : bpe.merges) {
        uint32_t key = (uint32_t)m.first.first << 16 | (uint32_t)m.first.second, h = hashPair(key) & (slots - 1);
        while (table[h].key != 0xffffffffu) h = (h + 1) & (slots - 1);
        table[h] = MergeSlot{key, (uint32_t)m.second.first, (uint32_t)m.second.second, 0};
    }

    // reference tokens
    std::unordered_map<std::string, Word> cache;
    std::vector<int> ref;
    for (auto& w : words) {
        auto it = cache.find(w);
        if (it == cache.end()) it = cache.emplace(w, encode(bpe, w)).first;
        ref.insert(ref.end(), it->second.begin(), it->second.end());
    }

    std::vector<uint8_t> bytes(text.begin(), text.end());
    uint8_t* dText = dev(bytes);
    MergeSlot* dTable = dev(table);
    int *dFlag = dev<int>(n), *dPos = dev<int>(n), *dStarts = dev<int>(n), *dCounts = dev<int>(n), *dWordPos = dev<int>(n), *dTokens = dev<int>(n);
    Scan scan((int)n);

    int gn = ((int)n + 255) / 256;
    markStarts<<<gn, 256>>>(dText, (int)n, dFlag);
    int found = scan(dFlag, dPos, (int)n);
    compactStarts<<<gn, 256>>>(dFlag, dPos, (int)n, dStarts);
    bool ok = found == (int)words.size();
    printf("%zu bytes, %d words (%zu), %d merges, %u slots\n", n, found, words.size(), (int)bpe.merges.size(), slots);
    if (!ok) { puts("FAIL"); return 1; }

    uint16_t* dIds = dev<uint16_t>((size_t)found * kMaxWord);
    std::vector<int> tokens;
    for (int v = 0; v < 2; ++v) {
        GPU_OK(cudaMemset(dIds, 0, (size_t)found * kMaxWord * sizeof(uint16_t)));
        if (v == 0) mergeThread<<<(found + 127) / 128, 128>>>(dText, (int)n, dStarts, found, dTable, slots - 1, dIds, dCounts);
        else        mergeWarp<<<528, 256>>>(dText, (int)n, dStarts, found, dTable, slots - 1, dIds, dCounts);
        int total = scan(dCounts, dWordPos, found);
        gatherTokens<<<(found + 15) / 16, dim3(8, 16)>>>(dIds, dCounts, dWordPos, found, dTokens);
        GPU_OK(cudaGetLastError());
        tokens.resize(total);
        GPU_OK(cudaMemcpy(tokens.data(), dTokens, total * sizeof(int), cudaMemcpyDeviceToHost));
        bool same = tokens == ref;
        printf("%s: %d tokens, %s\n", v ? "warp per word" : "thread per word", total, same ? "ok" : "DIFFERENT");
        ok = ok && same;
    }
    if (!ok) { puts("FAIL"); return 1; }

    int count = std::min<int>((int)tokens.size(), 20000);
    std::vector<float> emb((size_t)bpe.vocab * kEmb), pe(512 * kEmb), a((size_t)count * kEmb), b(a.size());
    std::mt19937 rng(6);
    for (auto& e : emb) e = (float)(rng() % 2001) / 1000.0f - 1.0f;
    for (int t = 0; t < 512; ++t)
        for (int d = 0; d < kEmb; ++d) {
            double arg = t * std::exp(-9.2103404 * (d & ~1) / kEmb);
            pe[t * kEmb + d] = (float)(d & 1 ? std::cos(arg) : std::sin(arg));
        }
    float *dEmb = dev(emb), *dPe = dev(pe), *dOut = dev<float>(a.size());
    embedNaive<<<(count + 127) / 128, 128>>>(dTokens, count, dEmb, dOut);
    GPU_OK(cudaMemcpy(a.data(), dOut, a.size() * sizeof(float), cudaMemcpyDeviceToHost));
    embedVec<<<(count + 7) / 8, dim3(kEmb / 4, 8)>>>(dTokens, count, (const float4*)dEmb, (const float4*)dPe, (float4*)dOut);
    GPU_OK(cudaGetLastError());
    GPU_OK(cudaMemcpy(b.data(), dOut, b.size() * sizeof(float), cudaMemcpyDeviceToHost));
    double ea = 0, eb = 0;
    for (int t = 0; t < count; ++t)
        for (int d = 0; d < kEmb; ++d) {
            double r = (double)emb[(size_t)tokens[t] * kEmb + d] + pe[(t & 511) * kEmb + d];
            ea = std::max(ea, std::fabs(a[(size_t)t * kEmb + d] - r));
            eb = std::max(eb, std::fabs(b[(size_t)t * kEmb + d] - r));
        }
    printf("embedding: naive %.2e, vector %.2e\n", ea, eb);
    ok = ea < 2e-3 && eb < 1e-6;
    for (void* p : {(void*)dText, (void*)dTable, (void*)dFlag, (void*)dPos, (void*)dStarts, (void*)dCounts, (void*)dWordPos, (void*)dTokens,
                    (void*)dIds, (void*)dEmb, (void*)dPe, (void*)dOut}) cudaFree(p);
    puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
