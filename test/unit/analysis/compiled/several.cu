// nvcc -ptx -lineinfo -arch=compute_90 several.cu: several.ptx is what comes out of it.
#include <cuda_fp16.h>

#define AT(p, i) (p)[(i)]

__device__ float both(const float* p, int i)
{
    return p[i] * p[2 * i + 1];
    //     ^^^^ global load 1.5-way x1280
    //            ^^^^^^^^^^^^ global load 3-way x1280
}

template <int N>
__global__ void columns(const float* a, const float* b, float* c, int n)
{
    __shared__ float tile[32][32];
    __shared__ float other[1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x][threadIdx.y] = a[i] * b[i * N] + __ldg(&a[i + n]);
    //                               ^^^^ global load 1-way exact
    //                                      ^^^^^^^^ global load 3-way exact
    //                                                 ^^^^^^^^^^^^^^^^ global load 1.25-way exact
    other[threadIdx.x] += AT(a, 2 * i);
    //                    ^^^^^^^^^^^^ global load 2-way
    __syncthreads();
    float x = tile[threadIdx.y][threadIdx.x] + tile[threadIdx.x][threadIdx.y];
    //        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shared load 1-way x640
    //                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shared load 32-way x640
    c[i] = x + both(a, i)
        + both(b, 2 * i) + other[threadIdx.x];
    //                     ^^^^^^^^^^^^^^^^^^ shared load 1-way
}

__global__ void halves(half2* p)
{
    p[threadIdx.x] = __hadd2(p[2 * threadIdx.x], p[threadIdx.x + 64]);
    //                       ^^^^^^^^^^^^^^^^^^ global load 2-way
    //                                           ^^^^^^^^^^^^^^^^^^^ global load 1-way
}

__global__ void rows(const float* in, float* out)
{
    __shared__ float s[8 * 33];
    float sum = 0;
    s[threadIdx.x] = in[threadIdx.x];
#pragma unroll
    for (int j = 0; j < 4; j++)
        sum += s[threadIdx.x * 8 + j] + s[threadIdx.x + j];
    //         ^^^^^^^^^^^^^^^^^^^^^^ shared load 2-way x1 16 bytes
    //                                  ^^^^^^^^^^^^^^^^^^ shared load 1-way x3 4 bytes
    if (threadIdx.x & 1)
        out[threadIdx.x] = sum + in[threadIdx.x + 32];
    else
        out[threadIdx.x] = sum * in[threadIdx.x + 32];
    //                           ^^^^^^^^^^^^^^^^^^^^ global load 1-way x1 32 lanes
}

void run(float* a, half2* h)
{
    columns<3><<<20, dim3(32, 32)>>>(a, a, a, 100);
    halves<<<1, 64>>>(h);
    rows<<<1, 32>>>(a, a);
}
