#include <cuda_runtime.h>
#include "se_launch.h"

#define TILE_X 32
#define TILE_Y 8

static __device__ float activate(float x) {  /* hard swish */
    float r = x + 3.0f;
    r = r < 0.0f ? 0.0f : (r > 6.0f ? 6.0f : r);
    return x * r * (1.0f / 6.0f);
}

__global__ void depthwise3x3(const float* __restrict__ in, const float* __restrict__ dw,
                             const float* __restrict__ scale, const float* __restrict__ bias, float* __restrict__ out,
                             int channels, int h, int w) {
    __shared__ float t[TILE_Y + 2][TILE_X + 2];
    int plane = blockIdx.z, c = plane % channels;
    const float* src = in + (size_t)plane * h * w;
    int bx = blockIdx.x * TILE_X, by = blockIdx.y * TILE_Y;
    for (int yy = threadIdx.y; yy < TILE_Y + 2; yy += TILE_Y)
        for (int xx = threadIdx.x; xx < TILE_X + 2; xx += TILE_X) {
            int gy = by + yy - 1, gx = bx + xx - 1;
            t[yy][xx] = (gy >= 0 && gy < h && gx >= 0 && gx < w) ? src[gy * w + gx] : 0.0f;
        }
    __syncthreads();
    int x = bx + threadIdx.x, y = by + threadIdx.y;
    if (x >= w || y >= h) return;
    float acc = 0.0f;
    for (int r = 0; r < 3; ++r)
        for (int k = 0; k < 3; ++k) acc += dw[c * 9 + r * 3 + k] * t[threadIdx.y + r][threadIdx.x + k];
    out[(size_t)plane * h * w + y * w + x] = activate(acc * scale[c] + bias[c]);
}

/* one block per plane */
__global__ void average_planes(const float* __restrict__ act, float* __restrict__ pooled, int hw) {
    __shared__ float warp_sum[4];
    const float* p = act + (size_t)blockIdx.x * hw;
    float s = 0.0f;
    for (int i = threadIdx.x; i < hw; i += blockDim.x) s += p[i];
    for (int d = 16; d > 0; d >>= 1) s += __shfl_down_sync(0xffffffffu, s, d);
    if ((threadIdx.x & 31) == 0) warp_sum[threadIdx.x >> 5] = s;
    __syncthreads();
    if (threadIdx.x == 0) pooled[blockIdx.x] = (warp_sum[0] + warp_sum[1] + warp_sum[2] + warp_sum[3]) / (float)hw;
}

void launch_depthwise(const se_shape& s, const float* in, const float* dw, const float* scale, const float* bias,
                      float* out) {
    dim3 block(TILE_X, TILE_Y);
    dim3 grid((s.width + TILE_X - 1) / TILE_X, (s.height + TILE_Y - 1) / TILE_Y, s.batch * s.channels);
    depthwise3x3<<<grid, block>>>(in, dw, scale, bias, out, s.channels, s.height, s.width);
}

void launch_pool(const se_shape& s, const float* act, float* pooled) {
    average_planes<<<s.batch * s.channels, 128>>>(act, pooled, s.height * s.width);
}
