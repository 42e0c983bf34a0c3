// 3x3 convolution: direct, shared-tile, and Winograd F(2x2,3x3) in three separate kernels.
#include <cuda_runtime.h>
#include <cstdio>
#include <cmath>
#include <vector>

const int CI = 24, CO = 32, HH = 56, WWD = 60;
const int TH = HH / 2, TW = WWD / 2, TILES = TH * TW;

// w is [CO][CI][3][3], x is [CI][H][W], zero padded by one
__global__ void conv_direct(const float* x, const float* w, float* y) {
    int ox = blockIdx.x * blockDim.x + threadIdx.x, oy = blockIdx.y * blockDim.y + threadIdx.y, co = blockIdx.z;
    if (ox >= WWD || oy >= HH) return;
    float s = 0;
    for (int ci = 0; ci < CI; ci++)
        for (int ky = 0; ky < 3; ky++)
            for (int kx = 0; kx < 3; kx++) {
                int iy = oy + ky - 1, ix = ox + kx - 1;
                if (iy >= 0 && iy < HH && ix >= 0 && ix < WWD)
                    s += x[(ci * HH + iy) * WWD + ix] * w[((co * CI + ci) * 3 + ky) * 3 + kx];
            }
    y[(co * HH + oy) * WWD + ox] = s;
}

// 20x8 output tile, 4 output channels a block
__global__ void conv_tile(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y) {
    __shared__ float t[10][22];
    __shared__ float ws[4][9];
    int tid = threadIdx.y * 20 + threadIdx.x, ox = blockIdx.x * 20 + threadIdx.x, oy = blockIdx.y * 8 + threadIdx.y;
    float acc[4] = {0, 0, 0, 0};
    for (int ci = 0; ci < CI; ci++) {
        for (int i = tid; i < 220; i += 160) {
            int ly = i / 22, lx = i % 22, iy = blockIdx.y * 8 + ly - 1, ix = blockIdx.x * 20 + lx - 1;
            t[ly][lx] = (iy >= 0 && iy < HH && ix >= 0 && ix < WWD) ? x[(ci * HH + iy) * WWD + ix] : 0.f;
        }
        if (tid < 36) ws[tid / 9][tid % 9] = w[((blockIdx.z * 4 + tid / 9) * CI + ci) * 9 + tid % 9];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 9; k++) {
            float v = t[threadIdx.y + k / 3][threadIdx.x + k % 3];
#pragma unroll
            for (int c = 0; c < 4; c++) acc[c] += v * ws[c][k];
        }
        __syncthreads();
    }
    for (int c = 0; c < 4; c++) y[((blockIdx.z * 4 + c) * HH + oy) * WWD + ox] = acc[c];
}

__global__ void wino_filter(const float* __restrict__ w, float* __restrict__ U) {   // U[16][CO][CI]
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= CO * CI) return;
    float g[9], h[12];
    for (int i = 0; i < 9; i++) g[i] = w[id * 9 + i];
    for (int c = 0; c < 3; c++) {
        h[c] = g[c];
        h[3 + c] = 0.5f * (g[c] + g[3 + c] + g[6 + c]);
        h[6 + c] = 0.5f * (g[c] - g[3 + c] + g[6 + c]);
        h[9 + c] = g[6 + c];
    }
    for (int r = 0; r < 4; r++) {
        float a = h[r * 3], b = h[r * 3 + 1], c = h[r * 3 + 2];
        U[(r * 4 + 0) * CO * CI + id] = a;
        U[(r * 4 + 1) * CO * CI + id] = 0.5f * (a + b + c);
        U[(r * 4 + 2) * CO * CI + id] = 0.5f * (a - b + c);
        U[(r * 4 + 3) * CO * CI + id] = c;
    }
}
__global__ void wino_input(const float* __restrict__ x, float* __restrict__ V) {   // V[16][CI][TILES]
    int t = blockIdx.x * blockDim.x + threadIdx.x, ci = blockIdx.y;
    if (t >= TILES) return;
    int y0 = (t / TW) * 2 - 1, x0 = (t % TW) * 2 - 1;
    float d[4][4], e[4][4];
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int yy = y0 + i, xx = x0 + j;
            d[i][j] = (yy >= 0 && yy < HH && xx >= 0 && xx < WWD) ? x[(ci * HH + yy) * WWD + xx] : 0.f;
        }
#pragma unroll
    for (int j = 0; j < 4; j++) { e[0][j] = d[0][j] - d[2][j]; e[1][j] = d[1][j] + d[2][j]; e[2][j] = d[2][j] - d[1][j]; e[3][j] = d[1][j] - d[3][j]; }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float r[4] = {e[i][0] - e[i][2], e[i][1] + e[i][2], e[i][2] - e[i][1], e[i][1] - e[i][3]};
#pragma unroll
        for (int j = 0; j < 4; j++) V[((i * 4 + j) * CI + ci) * TILES + t] = r[j];
    }
}
// batched small GEMM per frequency with the output transform in registers: thread = (tile, co)
__global__ void wino_gemm_output(const float* __restrict__ U, const float* __restrict__ V, float* __restrict__ y) {
    extern __shared__ float us[];   // [16][CI] for this block's co
    int co = blockIdx.y;
    for (int i = threadIdx.x; i < 16 * CI; i += blockDim.x) us[i] = U[((i / CI) * CO + co) * CI + i % CI];
    __syncthreads();
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= TILES) return;
    float m[16];
#pragma unroll
    for (int f = 0; f < 16; f++) {
        float s = 0;
        for (int ci = 0; ci < CI; ci++) s += us[f * CI + ci] * V[(f * CI + ci) * TILES + t];
        m[f] = s;
    }
    float a[2][4];
#pragma unroll
    for (int j = 0; j < 4; j++) { a[0][j] = m[j] + m[4 + j] + m[8 + j]; a[1][j] = m[4 + j] - m[8 + j] - m[12 + j]; }
    float* o = y + (co * HH + (t / TW) * 2) * WWD + (t % TW) * 2;
#pragma unroll
    for (int i = 0; i < 2; i++)
        *(float2*)(o + i * WWD) = make_float2(a[i][0] + a[i][1] + a[i][2], a[i][1] - a[i][2] - a[i][3]);
}

int main() {
    std::vector<float> x(CI * HH * WWD), w(CO * CI * 9), ref(CO * HH * WWD), o(ref.size());
    for (size_t i = 0; i < x.size(); i++) x[i] = sinf(i * 0.37f) + 0.2f * cosf(i * 1.7f);
    for (size_t i = 0; i < w.size(); i++) w[i] = 0.3f * cosf(i * 0.91f);
    float *dx, *dw, *y[3], *U, *V;
    cudaMalloc(&dx, x.size() * 4); cudaMalloc(&dw, w.size() * 4); cudaMalloc(&U, 16 * CO * CI * 4); cudaMalloc(&V, 16 * CI * TILES * 4);
    for (auto& p : y) cudaMalloc(&p, ref.size() * 4);
    cudaMemcpy(dx, x.data(), x.size() * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(dw, w.data(), w.size() * 4, cudaMemcpyHostToDevice);
    conv_direct<<<dim3((WWD + 15) / 16, (HH + 15) / 16, CO), dim3(16, 16)>>>(dx, dw, y[0]);
    conv_tile<<<dim3(WWD / 20, HH / 8, CO / 4), dim3(20, 8)>>>(dx, dw, y[1]);
    wino_filter<<<(CO * CI + 127) / 128, 128>>>(dw, U);
    wino_input<<<dim3((TILES + 127) / 128, CI), 128>>>(dx, V);
    wino_gemm_output<<<dim3((TILES + 95) / 96, CO), 96, 16 * CI * 4>>>(U, V, y[2]);
    for (int co = 0; co < CO; co++) for (int oy = 0; oy < HH; oy++) for (int ox = 0; ox < WWD; ox++) {
        double s = 0;
        for (int ci = 0; ci < CI; ci++) for (int k = 0; k < 9; k++) {
            int iy = oy + k / 3 - 1, ix = ox + k % 3 - 1;
            if (iy >= 0 && iy < HH && ix >= 0 && ix < WWD) s += (double)x[(ci * HH + iy) * WWD + ix] * w[(co * CI + ci) * 9 + k];
        }
        ref[(co * HH + oy) * WWD + ox] = s;
    }
    bool ok = true;
    for (int v = 0; v < 3; v++) {
        cudaMemcpy(o.data(), y[v], o.size() * 4, cudaMemcpyDeviceToHost);
        double e = 0;
        for (size_t i = 0; i < o.size(); i++) e = fmax(e, fabs(o[i] - ref[i]));
        printf("%d: %g\n", v, e);
        ok = ok && e < 1e-3;
    }
    ok = ok && cudaGetLastError() == cudaSuccess;
    puts(ok ? "PASS" : "FAIL");
    return !ok;
}
