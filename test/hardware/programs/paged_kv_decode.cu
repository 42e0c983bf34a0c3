// Paged KV cache as in LLM servers: append of the new token, grouped-query decode attention over partitions, their
// combination, and block copies for forked sequences.
#include <cuda_fp16.h>
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(x)                                                                        \
    do {                                                                                     \
        const cudaError_t _e = (x);                                                          \
        if (_e != cudaSuccess) { fprintf(stderr, "[%d] %s\n", __LINE__, cudaGetErrorString(_e)); abort(); } \
    } while (0)

#define DIVIDE_ROUND_UP(a, b) (((a) + (b)-1) / (b))

constexpr int WARP_SIZE = 32;
constexpr int HEAD = 128, BLOCK = 16, X = 8;                // X halves are 16 bytes
constexpr int NUM_HEADS = 32, NUM_KV_HEADS = 8, BATCH = 8;
constexpr int MAX_BLOCKS_PER_SEQ = 48;
constexpr int PARTITION = 256;

union Half8 {
    uint4 raw;
    half2 h2[4];
    half h[8];
};

// cache layouts: K [block][kv head][HEAD / X][BLOCK][X], V [block][kv head][HEAD][BLOCK]
__host__ __device__ inline size_t kIndex(int64_t block, int head, int d, int slot)
{
    return (((block * NUM_KV_HEADS + head) * (HEAD / X) + d / X) * BLOCK + slot) * X + d % X;
}
__host__ __device__ inline size_t vIndex(int64_t block, int head, int d, int slot)
{
    return ((block * NUM_KV_HEADS + head) * HEAD + d) * BLOCK + slot;
}

__global__ void reshape_and_cache_kernel(const half *__restrict__ key, const half *__restrict__ value, half *__restrict__ kCache,
                                         half *__restrict__ vCache, const int64_t *__restrict__ slotMapping)
{
    const int64_t token = blockIdx.x, slot = slotMapping[token];
    if (slot < 0) return;
    for (int i = threadIdx.x; i < NUM_KV_HEADS * HEAD; i += blockDim.x) {
        const int head = i / HEAD, d = i % HEAD;
        kCache[kIndex(slot / BLOCK, head, d, slot % BLOCK)] = key[token * NUM_KV_HEADS * HEAD + i];
        vCache[vIndex(slot / BLOCK, head, d, slot % BLOCK)] = value[token * NUM_KV_HEADS * HEAD + i];
    }
}

// Grid: (heads, batch, partitions)
template <int NUM_THREADS>
__global__ void paged_attention_kernel(const half *__restrict__ q, const half *__restrict__ kCache, const half *__restrict__ vCache,
                                       const int *__restrict__ blockTables, const int *__restrict__ seqLens, float scale,
                                       float *__restrict__ tmpOut, float *__restrict__ maxLogits, float *__restrict__ expSums)
{
    constexpr int NUM_WARPS = NUM_THREADS / WARP_SIZE;
    constexpr int GROUP = WARP_SIZE / BLOCK;                // threads that share a token
    const int head = blockIdx.x, seq = blockIdx.y, part = blockIdx.z;
    const int len = seqLens[seq];
    if (part * PARTITION >= len) return;
    const int kvHead = head / (NUM_HEADS / NUM_KV_HEADS);
    const int first = part * PARTITION, count = min(PARTITION, len - first);
    const int *table = blockTables + seq * MAX_BLOCKS_PER_SEQ + first / BLOCK;
    const int numBlocks = DIVIDE_ROUND_UP(count, BLOCK);
    const int warp = threadIdx.x / WARP_SIZE, lane = threadIdx.x % WARP_SIZE;

    __shared__ Half8 qs[GROUP][HEAD / X / GROUP];
    __shared__ __align__(16) float logits[PARTITION];
    __shared__ float red[NUM_WARPS];
    __shared__ float acc[NUM_WARPS][HEAD];

    const uint4 *qp = reinterpret_cast<const uint4 *>(q + ((size_t)seq * NUM_HEADS + head) * HEAD);
    for (int i = threadIdx.x; i < HEAD / X; i += NUM_THREADS) qs[i % GROUP][i / GROUP].raw = qp[i];
    __syncthreads();

    const int token = lane / GROUP, sub = lane % GROUP;
    float qkMax = -FLT_MAX;
    for (int b = warp; b < numBlocks; b += NUM_WARPS) {
        const int64_t physical = table[b];
        float qk = 0.f;
#pragma unroll
        for (int j = 0; j < HEAD / X / GROUP; ++j) {
            Half8 k;
            k.raw = *reinterpret_cast<const uint4 *>(kCache + kIndex(physical, kvHead, (j * GROUP + sub) * X, token));
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const float2 a = __half22float2(k.h2[e]), c = __half22float2(qs[sub][j].h2[e]);
                qk = fmaf(a.x, c.x, fmaf(a.y, c.y, qk));
            }
        }
#pragma unroll
        for (int m = GROUP / 2; m >= 1; m /= 2) qk += __shfl_xor_sync(0xffffffffu, qk, m);
        qk *= scale;
        const int t = b * BLOCK + token;
        if (sub == 0) logits[t] = t < count ? qk : 0.f;
        if (t < count) qkMax = fmaxf(qkMax, qk);
    }
#pragma unroll
    for (int m = WARP_SIZE / 2; m >= 1; m /= 2) qkMax = fmaxf(qkMax, __shfl_xor_sync(0xffffffffu, qkMax, m));
    if (lane == 0) red[warp] = qkMax;
    __syncthreads();
    for (int w = 0; w < NUM_WARPS; ++w) qkMax = fmaxf(qkMax, red[w]);
    __syncthreads();

    float sum = 0.f;
    for (int t = threadIdx.x; t < numBlocks * BLOCK; t += NUM_THREADS) {
        const float e = t < count ? __expf(logits[t] - qkMax) : 0.f;
        logits[t] = e;
        sum += e;
    }
#pragma unroll
    for (int m = WARP_SIZE / 2; m >= 1; m /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, m);
    if (lane == 0) red[warp] = sum;
    __syncthreads();
    sum = 0.f;
    for (int w = 0; w < NUM_WARPS; ++w) sum += red[w];

    // V: two lanes take a row of 16 tokens
    constexpr int ROWS_PER_ITER = WARP_SIZE / (BLOCK / X), ROWS = HEAD / ROWS_PER_ITER;
    float out[ROWS] = {};
    const int vOff = lane % (BLOCK / X) * X;
    for (int b = warp; b < numBlocks; b += NUM_WARPS) {
        const int64_t physical = table[b];
        const float4 l0 = *reinterpret_cast<const float4 *>(&logits[b * BLOCK + vOff]);
        const float4 l1 = *reinterpret_cast<const float4 *>(&logits[b * BLOCK + vOff + 4]);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int d = lane / (BLOCK / X) + r * ROWS_PER_ITER;
            Half8 v;
            v.raw = *reinterpret_cast<const uint4 *>(vCache + vIndex(physical, kvHead, d, vOff));
            out[r] += l0.x * __half2float(v.h[0]) + l0.y * __half2float(v.h[1]) + l0.z * __half2float(v.h[2]) + l0.w * __half2float(v.h[3])
                    + l1.x * __half2float(v.h[4]) + l1.y * __half2float(v.h[5]) + l1.z * __half2float(v.h[6]) + l1.w * __half2float(v.h[7]);
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        out[r] += __shfl_xor_sync(0xffffffffu, out[r], 1);
        if (lane % 2 == 0) acc[warp][lane / 2 + r * ROWS_PER_ITER] = out[r];
    }
    __syncthreads();
    const size_t at = ((size_t)seq * NUM_HEADS + head) * gridDim.z + part;
    for (int d = threadIdx.x; d < HEAD; d += NUM_THREADS) {
        float v = 0.f;
#pragma unroll
        for (int w = 0; w < NUM_WARPS; ++w) v += acc[w][d];
        tmpOut[at * HEAD + d] = v / sum;
    }
    if (threadIdx.x == 0) {
        maxLogits[at] = qkMax;
        expSums[at] = sum;
    }
}

__global__ void paged_attention_reduce_kernel(half *__restrict__ out, const float *__restrict__ tmpOut, const float *__restrict__ maxLogits,
                                              const float *__restrict__ expSums, const int *__restrict__ seqLens, int maxParts)
{
    extern __shared__ float weight[];
    const int head = blockIdx.x, seq = blockIdx.y;
    const int parts = DIVIDE_ROUND_UP(seqLens[seq], PARTITION);
    const size_t at = ((size_t)seq * NUM_HEADS + head) * maxParts;
    float m = -FLT_MAX, total = 0.f;
    for (int p = 0; p < parts; ++p) m = fmaxf(m, maxLogits[at + p]);
    for (int p = 0; p < parts; ++p) total += expSums[at + p] * expf(maxLogits[at + p] - m);
    if (threadIdx.x < parts) weight[threadIdx.x] = expSums[at + threadIdx.x] * expf(maxLogits[at + threadIdx.x] - m) / total;
    __syncthreads();
    for (int d = threadIdx.x; d < HEAD; d += blockDim.x) {
        float v = 0.f;
        for (int p = 0; p < parts; ++p) v += weight[p] * tmpOut[(at + p) * HEAD + d];
        out[((size_t)seq * NUM_HEADS + head) * HEAD + d] = __float2half_rn(v);
    }
}

__global__ void copy_blocks_kernel(half *kCache, half *vCache, const int2 *mapping, int numelPerBlock)
{
    const int2 m = mapping[blockIdx.x];
    half *cache = blockIdx.y ? vCache : kCache;
    for (int i = threadIdx.x; i < numelPerBlock; i += blockDim.x)
        cache[(int64_t)m.y * numelPerBlock + i] = cache[(int64_t)m.x * numelPerBlock + i];
}

static float noise(uint32_t i) { i = i * 2654435761u ^ i >> 13; i *= 2246822519u; i ^= i >> 16; return (i & 0xffff) / 32768.f - 1.f; }

template <class T> static T *dev(const std::vector<T> &h)
{
    T *d;
    CUDA_CHECK(cudaMalloc(&d, h.size() * sizeof(T)));
    CUDA_CHECK(cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
    return d;
}

int main()
{
    const int numBlocks = BATCH * MAX_BLOCKS_PER_SEQ + 64, perBlock = NUM_KV_HEADS * HEAD * BLOCK, maxParts = DIVIDE_ROUND_UP(MAX_BLOCKS_PER_SEQ * BLOCK, PARTITION);
    std::vector<int> lens = {768, 700, 513, 256, 255, 600, 17, 401}, tables(BATCH * MAX_BLOCKS_PER_SEQ);
    for (int i = 0; i < (int)tables.size(); ++i) tables[i] = (int)((i * 89LL + 5) % (BATCH * MAX_BLOCKS_PER_SEQ));   // scattered
    std::vector<half> kc((size_t)numBlocks * perBlock), vc(kc.size()), q(BATCH * NUM_HEADS * HEAD), key(BATCH * NUM_KV_HEADS * HEAD), value(key.size());
    for (size_t i = 0; i < kc.size(); ++i) { kc[i] = __float2half(noise((uint32_t)i)); vc[i] = __float2half(noise((uint32_t)i + 77777u)); }
    for (size_t i = 0; i < q.size(); ++i) q[i] = __float2half(2.f * noise((uint32_t)i * 3 + 1));
    for (size_t i = 0; i < key.size(); ++i) { key[i] = __float2half(noise((uint32_t)i * 5 + 2)); value[i] = __float2half(noise((uint32_t)i * 7 + 3)); }
    std::vector<int64_t> slots(BATCH);
    for (int s = 0; s < BATCH; ++s) slots[s] = (int64_t)tables[s * MAX_BLOCKS_PER_SEQ + (lens[s] - 1) / BLOCK] * BLOCK + (lens[s] - 1) % BLOCK;
    std::vector<int2> mapping;
    for (int i = 0; i < 64; ++i) mapping.push_back(make_int2(i * 5, BATCH * MAX_BLOCKS_PER_SEQ + i));

    half *dK = dev(kc), *dV = dev(vc), *dQ = dev(q), *dKey = dev(key), *dVal = dev(value), *dOut;
    int *dLens = dev(lens), *dTab = dev(tables);
    int64_t *dSlots = dev(slots);
    int2 *dMap = dev(mapping);
    float *dTmp, *dMax, *dSum;
    CUDA_CHECK(cudaMalloc(&dOut, q.size() * sizeof(half)));
    CUDA_CHECK(cudaMalloc(&dTmp, q.size() * maxParts * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&dMax, BATCH * NUM_HEADS * maxParts * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&dSum, BATCH * NUM_HEADS * maxParts * sizeof(float)));
    const float scale = 1.f / sqrtf((float)HEAD);

    reshape_and_cache_kernel<<<BATCH, std::min(NUM_KV_HEADS * HEAD, 512)>>>(dKey, dVal, dK, dV, dSlots);
    paged_attention_kernel<128><<<dim3(NUM_HEADS, BATCH, maxParts), 128>>>(dQ, dK, dV, dTab, dLens, scale, dTmp, dMax, dSum);
    paged_attention_reduce_kernel<<<dim3(NUM_HEADS, BATCH), 128, maxParts * sizeof(float)>>>(dOut, dTmp, dMax, dSum, dLens, maxParts);
    copy_blocks_kernel<<<dim3((unsigned)mapping.size(), 2), 1024>>>(dK, dV, dMap, perBlock);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());

    std::vector<half> gotK(kc.size()), gotV(kc.size()), out(q.size());
    CUDA_CHECK(cudaMemcpy(gotK.data(), dK, kc.size() * 2, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(gotV.data(), dV, vc.size() * 2, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(out.data(), dOut, out.size() * 2, cudaMemcpyDeviceToHost));

    for (int s = 0; s < BATCH; ++s)
        for (int i = 0; i < NUM_KV_HEADS * HEAD; ++i) {
            kc[kIndex(slots[s] / BLOCK, i / HEAD, i % HEAD, slots[s] % BLOCK)] = key[s * NUM_KV_HEADS * HEAD + i];
            vc[vIndex(slots[s] / BLOCK, i / HEAD, i % HEAD, slots[s] % BLOCK)] = value[s * NUM_KV_HEADS * HEAD + i];
        }
    for (auto m : mapping) {
        std::copy_n(&kc[(size_t)m.x * perBlock], perBlock, &kc[(size_t)m.y * perBlock]);
        std::copy_n(&vc[(size_t)m.x * perBlock], perBlock, &vc[(size_t)m.y * perBlock]);
    }
    size_t wrong = 0;
    for (size_t i = 0; i < kc.size(); ++i) wrong += __half2float(kc[i]) != __half2float(gotK[i]) || __half2float(vc[i]) != __half2float(gotV[i]);
    double worst = 0;
    for (int s = 0; s < BATCH; ++s)
        for (int h = 0; h < NUM_HEADS; ++h) {
            std::vector<double> p(lens[s]), o(HEAD, 0.0);
            double m = -1e30, sum = 0;
            for (int t = 0; t < lens[s]; ++t) {
                double dot = 0;
                for (int d = 0; d < HEAD; ++d)
                    dot += (double)__half2float(q[(s * NUM_HEADS + h) * HEAD + d]) * __half2float(kc[kIndex(tables[s * MAX_BLOCKS_PER_SEQ + t / BLOCK], h / 4, d, t % BLOCK)]);
                p[t] = dot * scale;
                m = std::max(m, p[t]);
            }
            for (auto &x : p) sum += x = std::exp(x - m);
            for (int t = 0; t < lens[s]; ++t)
                for (int d = 0; d < HEAD; ++d) o[d] += p[t] / sum * __half2float(vc[vIndex(tables[s * MAX_BLOCKS_PER_SEQ + t / BLOCK], h / 4, d, t % BLOCK)]);
            for (int d = 0; d < HEAD; ++d) worst = std::max(worst, std::fabs(o[d] - __half2float(out[(s * NUM_HEADS + h) * HEAD + d])));
        }
    printf("cache: %zu wrong; attention: worst error %.2e\n", wrong, worst);
    return wrong == 0 && worst < 2e-3 ? 0 : 1;
}
