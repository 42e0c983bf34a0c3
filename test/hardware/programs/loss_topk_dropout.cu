// Output layer of a language model: cross entropy forward and backward, top-k, dropout with a counter-based generator.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace cg = cooperative_groups;

static void cudaCheck(cudaError_t error, const char *file, int line)
{
    if (error != cudaSuccess) {
        printf("[CUDA ERROR] at file %s:%d:\n%s\n", file, line, cudaGetErrorString(error));
        exit(EXIT_FAILURE);
    }
}
#define cudaCheck(err) (cudaCheck(err, __FILE__, __LINE__))

// one warp a row; online maximum and sum
__global__ void crossentropy_forward(float *losses, float *lse, const float *logits, const int *targets, int B, int V)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if (row >= B) return;
    const float *x = logits + row * V;

    float maxval = -FLT_MAX, sumval = 0.0f;
    for (int i = warp.thread_rank(); i < V; i += warp.size()) {
        float v = x[i];
        if (v > maxval) {
            sumval *= expf(maxval - v);
            maxval = v;
        }
        sumval += expf(v - maxval);
    }
    float globalMax = cg::reduce(warp, maxval, cg::greater<float>{});
    sumval *= expf(maxval - globalMax);
    float sum = cg::reduce(warp, sumval, cg::plus<float>{});
    if (warp.thread_rank() == 0) {
        float l = globalMax + logf(sum);
        lse[row] = l;
        losses[row] = l - x[targets[row]];
    }
}

// in place: logits become their gradient
__global__ void crossentropy_backward(float *logits, const float *lse, const int *targets, int B, int V)
{
    size_t idx = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= (size_t)B * V) return;
    int b = idx / V;
    int v = idx % V;
    float p = expf(logits[idx] - lse[b]);
    float indicator = v == targets[b] ? 1.0f : 0.0f;
    logits[idx] = (p - indicator) / B;
}

// k rounds of block-wide argmax; the row sits in dynamic shared memory
template <int BLOCK>
__global__ void topk_rows(const float *scores, int *outIdx, float *outVal, int V, int k)
{
    extern __shared__ float row[];
    __shared__ float bestVal[BLOCK / 32];
    __shared__ int bestIdx[BLOCK / 32];
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    const float *src = scores + blockIdx.x * V;
    for (int i = threadIdx.x; i < V; i += BLOCK) row[i] = src[i];
    block.sync();

    for (int round = 0; round < k; round++) {
        float v = -FLT_MAX;
        int at = V;
        for (int i = threadIdx.x; i < V; i += BLOCK)
            if (row[i] > v) { v = row[i]; at = i; }
        for (int d = warp.size() / 2; d > 0; d /= 2) {
            float ov = warp.shfl_down(v, d);
            int oi = warp.shfl_down(at, d);
            if (ov > v || (ov == v && oi < at)) { v = ov; at = oi; }
        }
        if (warp.thread_rank() == 0) {
            bestVal[warp.meta_group_rank()] = v;
            bestIdx[warp.meta_group_rank()] = at;
        }
        block.sync();
        if (threadIdx.x == 0) {
            for (int w = 1; w < BLOCK / 32; w++)
                if (bestVal[w] > v || (bestVal[w] == v && bestIdx[w] < at)) { v = bestVal[w]; at = bestIdx[w]; }
            outIdx[blockIdx.x * k + round] = at;
            outVal[blockIdx.x * k + round] = v;
            row[at] = -FLT_MAX;
        }
        block.sync();
    }
}

__host__ __device__ inline void threefry2x32(unsigned k0, unsigned k1, unsigned &x0, unsigned &x1)
{
    const unsigned k2 = k0 ^ k1 ^ 0x1BD11BDAu;
    const unsigned ks[3] = {k0, k1, k2};
    const int rot[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    x0 += k0;
    x1 += k1;
    for (int r = 0; r < 20; r++) {
        x0 += x1;
        x1 = (x1 << rot[r & 7]) | (x1 >> (32 - rot[r & 7]));
        x1 ^= x0;
        if ((r & 3) == 3) {
            const int s = r / 4 + 1;
            x0 += ks[s % 3];
            x1 += ks[(s + 1) % 3] + s;
        }
    }
}

// four values a thread, mask kept as bytes
__global__ void dropout4(const float4 *in, float4 *out, uchar4 *mask, int n4, unsigned threshold, float scale, unsigned seed)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n4) return;
    unsigned a = 2 * i, b = 0, c = 2 * i + 1, d = 0;
    threefry2x32(seed, 0xdeadu, a, b);
    threefry2x32(seed, 0xdeadu, c, d);
    uchar4 m = make_uchar4(a >= threshold, b >= threshold, c >= threshold, d >= threshold);
    float4 v = in[i];
    v.x = m.x ? v.x * scale : 0.0f;
    v.y = m.y ? v.y * scale : 0.0f;
    v.z = m.z ? v.z * scale : 0.0f;
    v.w = m.w ? v.w * scale : 0.0f;
    out[i] = v;
    mask[i] = m;
}

int main()
{
    const int B = 192, V = 5003, k = 5, n4 = 120000;
    std::mt19937 gen(1234);
    std::vector<float> logits(B * V), act(4 * n4);
    std::vector<int> targets(B);
    for (auto &v : logits) v = (gen() >> 8) * (12.0f / 16777216.0f) - 6.0f;
    for (auto &t : targets) t = gen() % V;
    for (auto &v : act) v = (gen() >> 8) * (2.0f / 16777216.0f) - 1.0f;

    float *dLogits, *dLoss, *dLse, *dTopVal, *dAct, *dDrop;
    int *dTargets, *dTopIdx;
    uchar4 *dMask;
    cudaCheck(cudaMalloc(&dLogits, B * V * sizeof(float)));
    cudaCheck(cudaMalloc(&dLoss, B * sizeof(float)));
    cudaCheck(cudaMalloc(&dLse, B * sizeof(float)));
    cudaCheck(cudaMalloc(&dTopVal, B * k * sizeof(float)));
    cudaCheck(cudaMalloc(&dTopIdx, B * k * sizeof(int)));
    cudaCheck(cudaMalloc(&dTargets, B * sizeof(int)));
    cudaCheck(cudaMalloc(&dAct, n4 * sizeof(float4)));
    cudaCheck(cudaMalloc(&dDrop, n4 * sizeof(float4)));
    cudaCheck(cudaMalloc(&dMask, n4 * sizeof(uchar4)));
    cudaCheck(cudaMemcpy(dLogits, logits.data(), B * V * sizeof(float), cudaMemcpyHostToDevice));
    cudaCheck(cudaMemcpy(dTargets, targets.data(), B * sizeof(int), cudaMemcpyHostToDevice));
    cudaCheck(cudaMemcpy(dAct, act.data(), n4 * sizeof(float4), cudaMemcpyHostToDevice));

    const float p = 0.2f;
    const unsigned threshold = (unsigned)(p * 4294967296.0);
    crossentropy_forward<<<(B + 3) / 4, 128>>>(dLoss, dLse, dLogits, dTargets, B, V);
    topk_rows<256><<<B, 256, V * sizeof(float)>>>(dLogits, dTopIdx, dTopVal, V, k);
    crossentropy_backward<<<(B * V + 255) / 256, 256>>>(dLogits, dLse, dTargets, B, V);
    dropout4<<<(n4 + 255) / 256, 256>>>((const float4 *)dAct, (float4 *)dDrop, dMask, n4, threshold, 1.0f / (1.0f - p), 99u);
    cudaCheck(cudaGetLastError());
    cudaCheck(cudaDeviceSynchronize());

    std::vector<float> loss(B), grad(B * V), topVal(B * k), drop(4 * n4);
    std::vector<int> topIdx(B * k);
    std::vector<unsigned char> mask(4 * n4);
    cudaCheck(cudaMemcpy(loss.data(), dLoss, B * sizeof(float), cudaMemcpyDeviceToHost));
    cudaCheck(cudaMemcpy(grad.data(), dLogits, B * V * sizeof(float), cudaMemcpyDeviceToHost));
    cudaCheck(cudaMemcpy(topVal.data(), dTopVal, B * k * sizeof(float), cudaMemcpyDeviceToHost));
    cudaCheck(cudaMemcpy(topIdx.data(), dTopIdx, B * k * sizeof(int), cudaMemcpyDeviceToHost));
    cudaCheck(cudaMemcpy(drop.data(), dDrop, n4 * sizeof(float4), cudaMemcpyDeviceToHost));
    cudaCheck(cudaMemcpy(mask.data(), dMask, 4 * n4, cudaMemcpyDeviceToHost));

    int bad = 0;
    for (int b = 0; b < B; b++) {
        const float *x = &logits[b * V];
        double sum = 0;
        for (int v = 0; v < V; v++) sum += exp((double)x[v]);
        double l = log(sum);
        if (!(fabs(loss[b] - (l - x[targets[b]])) < 1e-3)) bad++;
        for (int v = 0; v < V; v++)
            if (!(fabs(grad[b * V + v] - (exp(x[v] - l) - (v == targets[b])) / B) < 1e-6)) bad++;
        std::vector<int> order(V);
        std::iota(order.begin(), order.end(), 0);
        std::partial_sort(order.begin(), order.begin() + k, order.end(), [x](int a, int c) { return x[a] > x[c] || (x[a] == x[c] && a < c); });
        for (int i = 0; i < k; i++)
            if (topIdx[b * k + i] != order[i] || topVal[b * k + i] != x[order[i]]) bad++;
    }
    long kept = 0;
    for (int i = 0; i < 2 * n4; i++) {
        unsigned w[2] = {(unsigned)i, 0};
        threefry2x32(99u, 0xdeadu, w[0], w[1]);
        for (int j = 0; j < 2; j++) {
            bool on = w[j] >= threshold;
            kept += on;
            float want = on ? act[2 * i + j] * (1.0f / (1.0f - p)) : 0.0f;
            if (mask[2 * i + j] != on || !(fabsf(drop[2 * i + j] - want) < 1e-6f)) bad++;
        }
    }
    printf("kept %.4f of the activations, %d errors\n%s\n", (double)kept / (4.0 * n4), bad, bad ? "FAIL" : "OK");
    return bad ? 1 : 0;
}
