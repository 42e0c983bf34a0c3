#include <cuda_runtime.h>
#include "se_launch.h"

static __device__ float activate(float x) {  /* hard sigmoid */
    float r = x * (1.0f / 6.0f) + 0.5f;
    return fminf(fmaxf(r, 0.0f), 1.0f);
}

/* thread per output neuron, walks a weight row: neighbouring threads are a row apart */
__global__ void fc_relu(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y, int n_in,
                        int n_out, int batch) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n_out * batch) return;
    int b = i / n_out, o = i % n_out;
    float acc = 0.0f;
    for (int k = 0; k < n_in; ++k) acc += w[o * n_in + k] * x[b * n_in + k];
    y[i] = fmaxf(acc, 0.0f);
}

__global__ void fc_gate(const float4* __restrict__ x, const float4* __restrict__ w, float* __restrict__ y, int n_in4,
                        int n_out, int batch) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n_out * batch) return;
    int b = i / n_out, o = i % n_out;
    float acc = 0.0f;
    for (int k = 0; k < n_in4; ++k) {
        float4 a = w[o * n_in4 + k], v = x[b * n_in4 + k];
        acc += a.x * v.x + a.y * v.y + a.z * v.z + a.w * v.w;
    }
    y[i] = activate(acc);
}

#define PT 16
/* out[o][p] = sum_c pw[o][c] * gate[c] * act[c][p], a 16x16 tile per block, two pixels per thread */
__global__ void pointwise_gated(const float* __restrict__ act, const float* __restrict__ gates,
                                const float* __restrict__ pw, float* __restrict__ out, int channels, int out_channels,
                                int hw) {
    __shared__ float sw[PT][PT];
    __shared__ float sa[PT][2 * PT];
    int n = blockIdx.z;
    int o = blockIdx.y * PT + threadIdx.y, p = blockIdx.x * 2 * PT + threadIdx.x;
    const float* a = act + (size_t)n * channels * hw;
    float acc0 = 0.0f, acc1 = 0.0f;
    for (int c0 = 0; c0 < channels; c0 += PT) {
        int cw = c0 + threadIdx.x, ca = c0 + threadIdx.y;
        sw[threadIdx.x][threadIdx.y] = (o < out_channels && cw < channels) ? pw[o * channels + cw] : 0.0f;
        float gate = ca < channels ? gates[n * channels + ca] : 0.0f;
        sa[threadIdx.y][threadIdx.x] = (ca < channels && p < hw) ? gate * a[ca * hw + p] : 0.0f;
        sa[threadIdx.y][threadIdx.x + PT] = (ca < channels && p + PT < hw) ? gate * a[ca * hw + p + PT] : 0.0f;
        __syncthreads();
        for (int k = 0; k < PT; ++k) {
            float wv = sw[k][threadIdx.y];
            acc0 += wv * sa[k][threadIdx.x];
            acc1 += wv * sa[k][threadIdx.x + PT];
        }
        __syncthreads();
    }
    if (o >= out_channels) return;
    float* dst = out + ((size_t)n * out_channels + o) * hw;
    if (p < hw) dst[p] = acc0;
    if (p + PT < hw) dst[p + PT] = acc1;
}

void launch_gates(const se_shape& s, const float* pooled, const float* fc1, const float* fc2, float* hidden,
                  float* gates) {
    int n1 = s.batch * s.squeezed, n2 = s.batch * s.channels;
    fc_relu<<<(n1 + 63) / 64, 64>>>(pooled, fc1, hidden, s.channels, s.squeezed, s.batch);
    fc_gate<<<(n2 + 127) / 128, 128>>>(reinterpret_cast<const float4*>(hidden), reinterpret_cast<const float4*>(fc2),
                                       gates, s.squeezed / 4, s.channels, s.batch);
}

void launch_pointwise(const se_shape& s, const float* act, const float* gates, const float* pw, float* out) {
    int hw = s.height * s.width;
    dim3 grid((hw + 2 * PT - 1) / (2 * PT), (s.out_channels + PT - 1) / PT, s.batch);
    pointwise_gated<<<grid, dim3(PT, PT)>>>(act, gates, pw, out, s.channels, s.out_channels, hw);
}
