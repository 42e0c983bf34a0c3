// Attention in half precision: local arrays, a lambda, loops that are written out, tiles that all lanes read alike.
#include <cuda_fp16.h>

template <int HEAD, int ROWS>
__global__ void attend(const half *q, const half *k, const half *v, half *out, int T)
{
    __shared__ half keys[ROWS][HEAD];
    __shared__ half vals[ROWS][HEAD];
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const size_t head = (size_t)blockIdx.y * T * HEAD;
    float query[HEAD], sums[HEAD] = {};
    auto at = [&](int row, int column) { return head + (size_t)row * HEAD + column; };
    for (int d = 0; d < HEAD; d += 2) {
        float2 pair = __half22float2(*reinterpret_cast<const half2 *>(&q[at(t, d)]));
        query[d] = pair.x;
        query[d + 1] = pair.y;
    }
    float largest = -1e30f, total = 0.0f;
    for (int start = 0; start < T; start += ROWS) {
        for (int i = threadIdx.x; i < ROWS * HEAD; i += blockDim.x) {
            keys[i / HEAD][i % HEAD] = k[at(start + i / HEAD, i % HEAD)];
            vals[i / HEAD][i % HEAD] = v[at(start + i / HEAD, i % HEAD)];
        }
        __syncthreads();
        for (int r = 0; r < ROWS; ++r) {
            float score = 0.0f;
#pragma unroll
            for (int d = 0; d < HEAD; ++d)
                score += query[d] * __half2float(keys[r][d]);
            float next = fmaxf(largest, score);
            float scale = __expf(largest - next), weight = __expf(score - next);
            total = total * scale + weight;
#pragma unroll
            for (int d = 0; d < HEAD; ++d)
                sums[d] = sums[d] * scale + weight * __half2float(vals[r][d]);
            largest = next;
        }
        __syncthreads();
    }
    for (int d = 0; d < HEAD; ++d)
        out[at(t, d)] = __float2half(sums[d] / total);
}

void forward(const half *q, const half *k, const half *v, half *out, int B, int T)
{
    const int block = 128;
    attend<16, 8><<<dim3(T / block, B), block>>>(q, k, v, out, T);
}
