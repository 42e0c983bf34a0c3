#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include "advect.h"
#include "biot_savart.cuh"

#define GPU(call)                                                            \
    do {                                                                     \
        cudaError_t e_ = (call);                                             \
        if (e_ != cudaSuccess) {                                             \
            std::fprintf(stderr, "advect: %s\n", cudaGetErrorString(e_));    \
            std::exit(1);                                                    \
        }                                                                    \
    } while (0)

static const int TILE = 128;

// All pairs, sources staged through shared memory.
__global__ void blob_velocity(const Blob* __restrict__ b, int n, float core2, float2* __restrict__ vel) {
    __shared__ float4 src[TILE];
    int i = blockIdx.x * TILE + threadIdx.x;
    float px = 0.f, py = 0.f, u = 0.f, v = 0.f;
    if (i < n) {
        px = b[i].x;
        py = b[i].y;
    }
    for (int base = 0; base < n; base += TILE) {
        int j = base + threadIdx.x;
        src[threadIdx.x] = j < n ? make_float4(b[j].x, b[j].y, b[j].gamma, 0.f) : make_float4(0.f, 0.f, 0.f, 0.f);
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < TILE; ++k) induce(px, py, src[k].x, src[k].y, src[k].z, core2, u, v);
        __syncthreads();
    }
    if (i < n) vel[i] = make_float2(u, v);
}

// Tracers read the sources straight from global memory (broadcast).
__global__ void move_tracers(const Blob* __restrict__ b, int n, float core2, float dt, float* __restrict__ tx,
                             float* __restrict__ ty, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m) return;
    float x = tx[i], y = ty[i], u = 0.f, v = 0.f;
    for (int k = 0; k < n; ++k) induce(x, y, b[k].x, b[k].y, b[k].gamma, core2, u, v);
    tx[i] = x + dt * u;
    ty[i] = y + dt * v;
}

__global__ void move_blobs(Blob* b, const float* vel, int n, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        b[i].x += dt * vel[2 * i];
        b[i].y += dt * vel[2 * i + 1];
    }
}

void flow_upload(DeviceFlow& f, const FlowConfig& c, const std::vector<Blob>& blobs, const std::vector<float>& tx,
                 const std::vector<float>& ty) {
    GPU(cudaMalloc(&f.blobs, c.blobs * sizeof(Blob)));
    GPU(cudaMalloc(&f.vel, c.blobs * 2 * sizeof(float)));
    GPU(cudaMalloc(&f.tracer_x, c.tracers * sizeof(float)));
    GPU(cudaMalloc(&f.tracer_y, c.tracers * sizeof(float)));
    GPU(cudaMemcpy(f.blobs, blobs.data(), c.blobs * sizeof(Blob), cudaMemcpyHostToDevice));
    GPU(cudaMemcpy(f.tracer_x, tx.data(), c.tracers * sizeof(float), cudaMemcpyHostToDevice));
    GPU(cudaMemcpy(f.tracer_y, ty.data(), c.tracers * sizeof(float), cudaMemcpyHostToDevice));
}

void flow_step(DeviceFlow& f, const FlowConfig& c) {
    float core2 = c.core * c.core;
    blob_velocity<<<(c.blobs + TILE - 1) / TILE, TILE>>>(f.blobs, c.blobs, core2, reinterpret_cast<float2*>(f.vel));
    move_tracers<<<(c.tracers + 191) / 192, 192>>>(f.blobs, c.blobs, core2, c.dt, f.tracer_x, f.tracer_y, c.tracers);
    move_blobs<<<(c.blobs + 255) / 256, 256>>>(f.blobs, f.vel, c.blobs, c.dt);
    GPU(cudaGetLastError());
}

void flow_release(DeviceFlow& f) {
    cudaFree(f.blobs);
    cudaFree(f.vel);
    cudaFree(f.tracer_x);
    cudaFree(f.tracer_y);
    f = DeviceFlow{};
}
