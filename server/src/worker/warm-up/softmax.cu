// Rows of a matrix reduced by blocks: shuffles, functors, loops whose length only the launch knows.
#include <cuda_runtime.h>

struct Sum {
    __device__ float operator()(float a, float b) const { return a + b; }
};
struct Largest {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

template <typename Op>
__device__ float warpReduce(float value, Op op)
{
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1)
        value = op(value, __shfl_xor_sync(0xffffffff, value, offset));
    return value;
}

template <typename Op>
__device__ float blockReduce(float value, float neutral, Op op)
{
    __shared__ float shared[32];
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int warps = blockDim.x / 32;
    value = warpReduce(value, op);
    __syncthreads();
    if (lane == 0)
        shared[warp] = value;
    __syncthreads();
    value = lane < warps ? shared[lane] : neutral;
    return warpReduce(value, op);
}

__global__ void softmax(float *out, const float *in, int N, int C)
{
    const float *x = in + blockIdx.x * C;
    float *y = out + blockIdx.x * C;
    float largest = -INFINITY;
    for (int i = threadIdx.x; i < C; i += blockDim.x)
        largest = fmaxf(largest, x[i]);
    largest = blockReduce(largest, -INFINITY, Largest{});
    float sum = 0.0f;
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        y[i] = expf(x[i] - largest);
        sum += y[i];
    }
    sum = blockReduce(sum, 0.0f, Sum{});
    for (int i = threadIdx.x; i < C; i += blockDim.x)
        y[i] = y[i] / sum;
}

void forward(float *out, const float *inp, int B, int T, int C, int block_size)
{
    const int N = B * T;
    softmax<<<N, block_size>>>(out, inp, N, C);
}

int main(int argc, char **argv)
{
    int B = 8, T = 128, C = 768;
    float *out, *inp;
    cudaMalloc(&out, B * T * C * sizeof(float));
    cudaMalloc(&inp, B * T * C * sizeof(float));
    int sizes[] = {128, 256};
    for (int size : sizes)
        forward(out, inp, B, T, C, size);
    cudaFree(out);
    cudaFree(inp);
}
