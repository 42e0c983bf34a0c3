// Attention: scores, the weighted sum of values, and a small tiled online-softmax version.
#include "common.h"

// One thread a score: K's row is walked by every lane, C floats apart.
__global__ void attentionScores(float *att, const float *q, const float *k, int B, int T, int NH, int HS)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    int total = B * NH * T * T;
    if (idx < total) {
        int t2 = idx % T;
        int t = (idx / T) % T;
        if (t2 > t) {
            att[idx] = -1e30f;
            return;
        }
        int h = (idx / (T * T)) % NH;
        int b = idx / (NH * T * T);
        const float *query = q + ((b * T + t) * NH + h) * HS;
        const float *key = k + ((b * T + t2) * NH + h) * HS;
        float val = 0.0f;
        for (int i = 0; i < HS; i++)
            val += query[i] * key[i];
        att[idx] = val * rsqrtf((float)HS);
    }
}

__global__ void attentionValues(float *out, const float *att, const float *v, int T, int NH, int HS)
{
    // block: one (b, h, t); thread: one channel
    const int t = blockIdx.x, h = blockIdx.y, b = blockIdx.z, c = threadIdx.x;
    const float *row = att + ((b * NH + h) * T + t) * T;
    float sum = 0, weight = 0;
    for (int t2 = 0; t2 <= t; ++t2) {
        float w = __expf(row[t2]);
        weight += w;
        sum += w * v[((b * T + t2) * NH + h) * HS + c];
    }
    out[((b * T + t) * NH + h) * HS + c] = sum / weight;
}

constexpr int Br = 32, Bc = 32, D = 32;

// Each thread owns a query row; tiles of keys and values in dynamic shared memory.
__global__ void flashForward(const float *Q, const float *K, const float *V, float *O, int T, float scale)
{
    extern __shared__ float sram[];
    float *Qi = sram;
    float *Kj = &sram[Br * D];
    float *Vj = &sram[(Br + Bc) * D];
    float *S = &sram[(Br + 2 * Bc) * D];
    const int tx = threadIdx.x;
    const int head = blockIdx.y * T * D;
    const int row0 = blockIdx.x * Br;

    for (int x = 0; x < D; x++)
        Qi[tx * D + x] = Q[head + (row0 + tx) * D + x];
    float m = -INFINITY, l = 0.0f, acc[D];
#pragma unroll
    for (int x = 0; x < D; x++)
        acc[x] = 0.0f;

    for (int j = 0; j < T / Bc; j++) {
        for (int x = 0; x < D; x++) {
            Kj[x * Bc + tx] = K[head + (j * Bc + x) * D + tx];      // as stored: row x, channel tx
            Vj[x * Bc + tx] = V[head + (j * Bc + x) * D + tx];
        }
        __syncthreads();
        float rowMax = m;
        for (int y = 0; y < Bc; y++) {
            float sum = 0;
            for (int x = 0; x < D; x++)
                sum += Qi[tx * D + x] * Kj[y * D + x];
            sum *= scale;
            S[tx * Bc + y] = sum;
            rowMax = fmaxf(rowMax, sum);
        }
        float correction = __expf(m - rowMax);
        l *= correction;
#pragma unroll
        for (int x = 0; x < D; x++)
            acc[x] *= correction;
        for (int y = 0; y < Bc; y++) {
            float p = __expf(S[tx * Bc + y] - rowMax);
            l += p;
#pragma unroll
            for (int x = 0; x < D; x++)
                acc[x] += p * Vj[y * D + x];
        }
        m = rowMax;
        __syncthreads();
    }
#pragma unroll
    for (int x = 0; x < D; x++)
        O[head + (row0 + tx) * D + x] = acc[x] / l;
}

int main()
{
    const int B = 2, T = 64, NH = 4, HS = 32, n = B * T * NH * HS;
    std::vector<float> q = randomFloats(n, 1), k = randomFloats(n, 2), v = randomFloats(n, 3), want(n), att(B * NH * T * T, -1e30f);
    for (int b = 0; b < B; ++b)
        for (int h = 0; h < NH; ++h)
            for (int t = 0; t < T; ++t) {
                double total = 0;
                std::vector<double> sum(HS, 0.0);
                for (int u = 0; u <= t; ++u) {
                    double s = 0;
                    for (int c = 0; c < HS; ++c) s += (double)q[((b * T + t) * NH + h) * HS + c] * k[((b * T + u) * NH + h) * HS + c];
                    s /= std::sqrt((double)HS);
                    att[((b * NH + h) * T + t) * T + u] = (float)s;
                    total += std::exp(s);
                    for (int c = 0; c < HS; ++c) sum[c] += std::exp(s) * v[((b * T + u) * NH + h) * HS + c];
                }
                for (int c = 0; c < HS; ++c) want[((b * T + t) * NH + h) * HS + c] = (float)(sum[c] / total);
            }
    float *dq = toDevice(q), *dk = toDevice(k), *dv = toDevice(v), *dOut = deviceZeros<float>(n), *dAtt = deviceZeros<float>(att.size());
    bool ok = true;
    attentionScores<<<(B * NH * T * T + 255) / 256, 256>>>(dAtt, dq, dk, B, T, NH, HS);
    ok &= report("attentionScores", allNear(toHost(dAtt, att.size()), att, 1e-4));
    attentionValues<<<dim3(T, NH, B), HS>>>(dOut, dAtt, dv, T, NH, HS);
    ok &= report("attentionValues", allNear(toHost(dOut, n), want, 1e-4));

    // The same data seen as B * NH heads of T x D, not causal.
    flashForward<<<dim3(T / Br, B * NH), Br, (Br + 2 * Bc) * D * sizeof(float) + Br * Bc * sizeof(float)>>>(dq, dk, dv, dOut, T, 0.25f);
    for (int head = 0; head < B * NH; ++head)
        for (int t = 0; t < T; ++t) {
            double total = 0;
            std::vector<double> sum(D, 0.0);
            for (int u = 0; u < T; ++u) {
                double s = 0;
                for (int c = 0; c < D; ++c) s += (double)q[(head * T + t) * D + c] * k[(head * T + u) * D + c];
                double e = std::exp(0.25 * s);
                total += e;
                for (int c = 0; c < D; ++c) sum[c] += e * v[(head * T + u) * D + c];
            }
            for (int c = 0; c < D; ++c) want[(head * T + t) * D + c] = (float)(sum[c] / total);
        }
    ok &= report("flashForward", allNear(toHost(dOut, n), want, 1e-4));
    return ok ? 0 : 1;
}
