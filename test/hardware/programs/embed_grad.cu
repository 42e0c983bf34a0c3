// Embedding bag: lookup (sum mode), backward with atomics, backward by sorted segments, sparse Adagrad update
#include <cstdio>
#include <cmath>
#include <vector>
#include <algorithm>
#include <numeric>
#include <cstdint>
#include <cuda_runtime.h>

typedef long long i64;

__global__ void bag_forward(const float* __restrict__ table, const i64* __restrict__ ids, const int* __restrict__ offsets,
                            float* __restrict__ out, int bags, int dim)
{
    int bag = blockIdx.x * blockDim.y + threadIdx.y;
    if (bag >= bags) return;
    int beg = offsets[bag], end = offsets[bag + 1];
    for (int d = threadIdx.x; d < dim; d += blockDim.x) {
        float s = 0.f;
        for (int i = beg; i < end; ++i) s += table[ids[i] * dim + d];
        out[(i64)bag * dim + d] = s;
    }
}

__global__ void backward_atomic(const float* __restrict__ gout, const i64* __restrict__ ids, const int* __restrict__ bag_of,
                                float* gtable, int nnz, int dim)
{
    const int total = nnz * dim;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
        int e = i / dim, d = i - e * dim;
        atomicAdd(&gtable[ids[e] * dim + d], gout[bag_of[e] * dim + d]);
    }
}

// seg_start: positions in the sorted order where a new id begins
__global__ void backward_segments(const float* __restrict__ gout, const int* __restrict__ order, const i64* __restrict__ ids,
                                  const int* __restrict__ bag_of, const int* __restrict__ seg_start, int nseg,
                                  float* __restrict__ gtable, int dim)
{
    const unsigned lanes = 8;
    unsigned sub = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    int seg = blockIdx.x * (blockDim.x / lanes) + sub;
    if (seg >= nseg) return;
    int e = seg_start[seg], stop = seg_start[seg + 1];
    i64 id = ids[order[e]];
    float acc[5] = {0};
    do {
        const float* g = gout + (size_t)bag_of[order[e]] * dim;
        #pragma unroll
        for (int j = 0; j < 5; ++j)
            if (lane + j * lanes < dim) acc[j] += g[lane + j * lanes];
    } while (++e < stop);
    #pragma unroll
    for (int j = 0; j < 5; ++j)
        if (lane + j * lanes < dim) gtable[id * dim + lane + j * lanes] = acc[j];
}

__global__ void adagrad_rows(float* table, float* state, const float* grad, const i64* ids, const int* order,
                             const int* seg_start, int nseg, int dim, float lr)
{
    for (int seg = blockIdx.x; seg < nseg; seg += gridDim.x) {
        __shared__ float sq;
        i64 id = ids[order[seg_start[seg]]];
        if (threadIdx.x == 0) sq = 0.f;
        __syncthreads();
        float g = threadIdx.x < dim ? grad[id * dim + threadIdx.x] : 0.f;
        atomicAdd(&sq, g * g);
        __syncthreads();
        float s = state[id] + sq / dim;
        __syncthreads();
        if (threadIdx.x == 0) state[id] = s;
        if (threadIdx.x < dim) table[id * dim + threadIdx.x] -= lr * g * rsqrtf(s + 1e-10f);
    }
}

template <class T> T* to_device(const std::vector<T>& v)
{
    T* p = nullptr;
    cudaMalloc(&p, v.size() * sizeof(T));
    cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
    return p;
}

int main()
{
    const int vocab = 500, dim = 36, bags = 210;
    std::vector<int> off(bags + 1, 0), bag_of;
    std::vector<i64> ids;
    uint32_t s = 99;
    for (int b = 0; b < bags; ++b) {
        int cnt = 1 + (b * 7) % 9;
        for (int i = 0; i < cnt; ++i) {
            s ^= s << 13; s ^= s >> 17; s ^= s << 5;
            ids.push_back((s % vocab) * (s % 3 == 0 ? 1 : 0) + (s % 3 ? s % 40 : 0));
            bag_of.push_back(b);
        }
        off[b + 1] = (int)ids.size();
    }
    const int nnz = (int)ids.size();
    std::vector<int> order(nnz), seg;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return ids[a] < ids[b]; });
    for (int i = 0; i < nnz; ++i) if (!i || ids[order[i]] != ids[order[i - 1]]) seg.push_back(i);
    const int nseg = (int)seg.size();
    seg.push_back(nnz);
    std::vector<float> table(vocab * dim), gout(bags * dim), zeros(vocab * dim, 0.f);
    for (size_t i = 0; i < table.size(); ++i) table[i] = sinf(i * 0.01f);
    for (size_t i = 0; i < gout.size(); ++i) gout[i] = cosf(i * 0.03f);
    float *dt = to_device(table), *dg = to_device(gout), *g1 = to_device(zeros), *g2 = to_device(zeros), *st = to_device(zeros);
    float* dout; cudaMalloc(&dout, bags * dim * 4);
    i64* di = to_device(ids); int *doff = to_device(off), *dbo = to_device(bag_of), *dord = to_device(order), *dseg = to_device(seg);
    bag_forward<<<(bags + 7) / 8, dim3(18, 8)>>>(dt, di, doff, dout, bags, dim);
    backward_atomic<<<40, 192>>>(dg, di, dbo, g1, nnz, dim);
    backward_segments<<<(nseg + 15) / 16, 128>>>(dg, dord, di, dbo, dseg, nseg, g2, dim);
    adagrad_rows<<<30, 40>>>(dt, st, g2, di, dord, dseg, nseg, dim, 0.1f);
    std::vector<float> o(bags * dim), a(zeros.size()), b(zeros.size());
    cudaMemcpy(o.data(), dout, o.size() * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(a.data(), g1, a.size() * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(b.data(), g2, b.size() * 4, cudaMemcpyDeviceToHost);
    float e1 = 0, e2 = 0;
    for (int i = 0; i < bags; ++i) for (int d = 0; d < dim; ++d) {
        float r = 0;
        for (int j = off[i]; j < off[i + 1]; ++j) r += table[ids[j] * dim + d];
        e1 = std::max(e1, std::fabs(r - o[i * dim + d]));
    }
    for (size_t i = 0; i < a.size(); ++i) e2 = std::max(e2, std::fabs(a[i] - b[i]));
    printf("forward err %g, atomic vs segmented %g, %d segments of %d entries: %s\n", e1, e2, nseg, nnz, cudaGetErrorString(cudaDeviceSynchronize()));
    return (e1 < 1e-4f && e2 < 1e-3f) ? 0 : 1;
}
