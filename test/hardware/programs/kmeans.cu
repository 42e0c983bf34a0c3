// K-means: assignment with centres in constant and in shared memory, then the new centres by atomics.
#include <cfloat>
#include "common.h"

#define K 16
#define DIMS 4

__constant__ float centres[K][DIMS];

__global__ void assignConstant(const float4 *points, int *label, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 p = points[i];
    int best = 0;
    float least = FLT_MAX;
    for (int k = 0; k < K; ++k) {
        float a = p.x - centres[k][0], b = p.y - centres[k][1], c = p.z - centres[k][2], d = p.w - centres[k][3];
        float dist = a * a + b * b + c * c + d * d;
        if (dist < least) { least = dist; best = k; }
    }
    label[i] = best;
}

// Features column by column, as clustering codes with many features keep them.
__global__ void assignColumns(const float *feature, const float *clusters, int *membership, int npoints, int nfeatures)
{
    extern __shared__ float c[];
    for (int i = threadIdx.x; i < K * nfeatures; i += blockDim.x)
        c[i] = clusters[i];
    __syncthreads();
    const int pointId = blockIdx.x * blockDim.x + threadIdx.x;
    if (pointId < npoints) {
        int index = -1;
        float min_dist = FLT_MAX;
        for (int i = 0; i < K; i++) {
            float ans = 0.0f;
            for (int j = 0; j < nfeatures; j++) {
                int addr = pointId + j * npoints;
                float diff = feature[addr] - c[i * nfeatures + j];
                ans += diff * diff;
            }
            if (ans < min_dist) { min_dist = ans; index = i; }
        }
        membership[pointId] = index;
    }
}

__global__ void accumulate(const float *points, const int *label, float *sums, int *counts, int n)
{
    __shared__ float s[K * DIMS];
    __shared__ int c[K];
    if (threadIdx.x < K * DIMS) s[threadIdx.x] = 0;
    if (threadIdx.x < K) c[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int k = label[i];
        for (int d = 0; d < DIMS; ++d)
            atomicAdd(&s[k * DIMS + d], points[i * DIMS + d]);
        atomicAdd(&c[k], 1);
    }
    __syncthreads();
    if (threadIdx.x < K * DIMS) atomicAdd(&sums[threadIdx.x], s[threadIdx.x]);
    if (threadIdx.x < K) atomicAdd(&counts[threadIdx.x], c[threadIdx.x]);
}

int main()
{
    const int n = 20000;
    std::vector<float> rows = randomFloats(n * DIMS, 1), cols(n * DIMS), c = randomFloats(K * DIMS, 2), sums(K * DIMS, 0.0f);
    std::vector<int> label(n), counts(K, 0);
    for (int i = 0; i < n; ++i) {
        float least = FLT_MAX;
        for (int k = 0; k < K; ++k) {
            float dist = 0;
            for (int d = 0; d < DIMS; ++d) dist += (rows[i * DIMS + d] - c[k * DIMS + d]) * (rows[i * DIMS + d] - c[k * DIMS + d]);
            if (dist < least) { least = dist; label[i] = k; }
        }
        counts[label[i]]++;
        for (int d = 0; d < DIMS; ++d) { sums[label[i] * DIMS + d] += rows[i * DIMS + d]; cols[d * n + i] = rows[i * DIMS + d]; }
    }
    auto agree = [&](const std::vector<int> &got) { int off = 0; for (int i = 0; i < n; ++i) off += got[i] != label[i]; return off < 5; };
    CUDA_OK(cudaMemcpyToSymbol(centres, c.data(), c.size() * sizeof(float)));
    float *dr = toDevice(rows), *dsums = deviceZeros<float>(K * DIMS);
    int *dl = deviceZeros<int>(n), *dcounts = deviceZeros<int>(K);
    bool ok = true;
    assignConstant<<<(n + 255) / 256, 256>>>((float4 *)dr, dl, n);
    ok &= report("assignConstant", agree(toHost(dl, n)));
    CUDA_OK(cudaMemset(dl, 0, n * sizeof(int)));
    assignColumns<<<(n + 127) / 128, 128, K * DIMS * sizeof(float)>>>(toDevice(cols), toDevice(c), dl, n, DIMS);
    ok &= report("assignColumns", agree(toHost(dl, n)));
    CUDA_OK(cudaMemcpy(dl, label.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    accumulate<<<(n + 255) / 256, 256>>>(dr, dl, dsums, dcounts, n);
    ok &= report("accumulate", allNear(toHost(dsums, K * DIMS), sums, 1e-3) && toHost(dcounts, K) == counts);
    return ok ? 0 : 1;
}
