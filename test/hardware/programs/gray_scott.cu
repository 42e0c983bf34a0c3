/* Gray-Scott reaction-diffusion, periodic. Several versions of the same stencil, for the lab report. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

#define N 1024
#define BX 32
#define BY 16

struct GS {
    float Du, Dv, F, k, dt;
};

static void cu(cudaError_t e) {
    if (e != cudaSuccess) {
        printf("CUDA error %s\n", cudaGetErrorString(e));
        exit(1);
    }
}

__host__ __device__ inline int wrap(int i) { return (i + N) & (N - 1); }

__host__ __device__ inline void react(GS p, float u, float v, float lu, float lv, float *ou, float *ov) {
    float uvv = u * v * v;
    *ou = u + p.dt * (p.Du * lu - uvv + p.F * (1.0f - u));
    *ov = v + p.dt * (p.Dv * lv + uvv - (p.F + p.k) * v);
}

/* version 0: everything from global memory, 5 points */
__global__ void gs_naive(GS p, const float *u, const float *v, float *un, float *vn) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int c = y * N + x;
    int l = y * N + wrap(x - 1);
    int r = y * N + wrap(x + 1);
    int d = wrap(y - 1) * N + x;
    int t = wrap(y + 1) * N + x;
    float lu = u[l] + u[r] + u[d] + u[t] - 4.0f * u[c];
    float lv = v[l] + v[r] + v[d] + v[t] - 4.0f * v[c];
    react(p, u[c], v[c], lu, lv, &un[c], &vn[c]);
}

/* version 1: x and y swapped in the thread mapping (the classic mistake) */
__global__ void gs_swapped(GS p, const float *u, const float *v, float *un, float *vn) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    int x = blockIdx.y * blockDim.y + threadIdx.y;
    int c = y * N + x;
    int l = y * N + wrap(x - 1);
    int r = y * N + wrap(x + 1);
    int d = wrap(y - 1) * N + x;
    int t = wrap(y + 1) * N + x;
    float lu = u[l] + u[r] + u[d] + u[t] - 4.0f * u[c];
    float lv = v[l] + v[r] + v[d] + v[t] - 4.0f * v[c];
    react(p, u[c], v[c], lu, lv, &un[c], &vn[c]);
}

/* version 2: tile with halo; edge threads load the halo */
__global__ void gs_shared(GS p, const float *u, const float *v, float *un, float *vn) {
    __shared__ float su[BY + 2][BX + 2];
    __shared__ float sv[BY + 2][BX + 2];
    int x = blockIdx.x * BX + threadIdx.x;
    int y = blockIdx.y * BY + threadIdx.y;
    int i = threadIdx.x + 1;
    int j = threadIdx.y + 1;
    su[j][i] = u[y * N + x];
    sv[j][i] = v[y * N + x];
    if (threadIdx.x == 0) {
        su[j][0] = u[y * N + wrap(x - 1)];
        sv[j][0] = v[y * N + wrap(x - 1)];
    }
    if (threadIdx.x == BX - 1) {
        su[j][BX + 1] = u[y * N + wrap(x + 1)];
        sv[j][BX + 1] = v[y * N + wrap(x + 1)];
    }
    if (threadIdx.y == 0) {
        su[0][i] = u[wrap(y - 1) * N + x];
        sv[0][i] = v[wrap(y - 1) * N + x];
    }
    if (threadIdx.y == BY - 1) {
        su[BY + 1][i] = u[wrap(y + 1) * N + x];
        sv[BY + 1][i] = v[wrap(y + 1) * N + x];
    }
    __syncthreads();
    float lu = su[j][i - 1] + su[j][i + 1] + su[j - 1][i] + su[j + 1][i] - 4.0f * su[j][i];
    float lv = sv[j][i - 1] + sv[j][i + 1] + sv[j - 1][i] + sv[j + 1][i] - 4.0f * sv[j][i];
    react(p, su[j][i], sv[j][i], lu, lv, &un[y * N + x], &vn[y * N + x]);
}

/* version 3: interleaved float2 tile, column-major in shared memory, dynamic */
__global__ void gs_shared2(GS p, const float *u, const float *v, float *un, float *vn) {
    extern __shared__ float2 s[];
    const int H = BY + 2;
    int tid = threadIdx.y * BX + threadIdx.x;
    for (int e = tid; e < (BX + 2) * H; e += BX * BY) {
        int ex = e % (BX + 2);
        int ey = e / (BX + 2);
        int g = wrap(blockIdx.y * BY + ey - 1) * N + wrap(blockIdx.x * BX + ex - 1);
        s[ex * H + ey] = make_float2(u[g], v[g]);
    }
    __syncthreads();
    int i = threadIdx.x + 1;
    int j = threadIdx.y + 1;
    float2 c = s[i * H + j];
    float2 l = s[(i - 1) * H + j];
    float2 r = s[(i + 1) * H + j];
    float2 d = s[i * H + j - 1];
    float2 t = s[i * H + j + 1];
    int o = (blockIdx.y * BY + threadIdx.y) * N + blockIdx.x * BX + threadIdx.x;
    react(p, c.x, c.y, l.x + r.x + d.x + t.x - 4.0f * c.x, l.y + r.y + d.y + t.y - 4.0f * c.y, &un[o], &vn[o]);
}

/* version 4: each thread marches up a column of 32 rows, keeping three rows in registers, left/right by shuffle */
__global__ void gs_march(GS p, const float *__restrict__ u, const float *__restrict__ v, float *un, float *vn) {
    int lane = threadIdx.x & 31;
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y0 = blockIdx.y * 32;
    float ud = u[wrap(y0 - 1) * N + x];
    float vd = v[wrap(y0 - 1) * N + x];
    float uc = u[y0 * N + x];
    float vc = v[y0 * N + x];
    for (int y = y0; y < y0 + 32; y++) {
        int yt = wrap(y + 1) * N;
        float ut = u[yt + x];
        float vt = v[yt + x];
        float ul = __shfl_up_sync(0xffffffffu, uc, 1);
        float vl = __shfl_up_sync(0xffffffffu, vc, 1);
        float ur = __shfl_down_sync(0xffffffffu, uc, 1);
        float vr = __shfl_down_sync(0xffffffffu, vc, 1);
        if (lane == 0) {
            ul = u[y * N + wrap(x - 1)];
            vl = v[y * N + wrap(x - 1)];
        }
        if (lane == 31) {
            ur = u[y * N + wrap(x + 1)];
            vr = v[y * N + wrap(x + 1)];
        }
        react(p, uc, vc, ul + ur + ud + ut - 4.0f * uc, vl + vr + vd + vt - 4.0f * vc, &un[y * N + x], &vn[y * N + x]);
        ud = uc;
        vd = vc;
        uc = ut;
        vc = vt;
    }
}

/* average of v over 8x8 cells, for the plot */
__global__ void downsample(const float *v, float *out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float s = 0.0f;
    for (int j = 0; j < 8; j++)
        for (int i = 0; i < 8; i++)
            s += v[(y * 8 + j) * N + x * 8 + i];
    out[y * (N / 8) + x] = s / 64.0f;
}


int main() {
    GS p = {0.16f, 0.08f, 0.035f, 0.060f, 1.0f};
    std::vector<float> u(N * N, 1.0f), v(N * N, 0.0f);
    unsigned seed = 42;
    for (int b = 0; b < 60; b++) {
        seed = seed * 1664525u + 1013904223u;
        int cx = seed >> 22;
        seed = seed * 1664525u + 1013904223u;
        int cy = seed >> 22;
        for (int j = -9; j < 9; j++)
            for (int i = -9; i < 9; i++) {
                int c = wrap(cy + j) * N + wrap(cx + i);
                u[c] = 0.5f + 0.01f * (i & 3);
                v[c] = 0.25f + 0.02f * (j & 3);
            }
    }
    float *du[2], *dv[2], *dsmall;
    for (int i = 0; i < 2; i++) {
        cu(cudaMalloc(&du[i], N * N * sizeof(float)));
        cu(cudaMalloc(&dv[i], N * N * sizeof(float)));
    }
    cu(cudaMalloc(&dsmall, N / 8 * N / 8 * sizeof(float)));
    cu(cudaMemcpy(du[0], u.data(), N * N * sizeof(float), cudaMemcpyHostToDevice));
    cu(cudaMemcpy(dv[0], v.data(), N * N * sizeof(float), cudaMemcpyHostToDevice));

    int a = 0;
    int steps = 0;
    for (int rep = 0; rep < 2; rep++) {
        gs_naive<<<dim3(N / BX, N / BY), dim3(BX, BY)>>>(p, du[a], dv[a], du[1 - a], dv[1 - a]);
        a = 1 - a;
        gs_swapped<<<dim3(N / BX, N / BY), dim3(BX, BY)>>>(p, du[a], dv[a], du[1 - a], dv[1 - a]);
        a = 1 - a;
        gs_shared<<<dim3(N / BX, N / BY), dim3(BX, BY)>>>(p, du[a], dv[a], du[1 - a], dv[1 - a]);
        a = 1 - a;
        gs_shared2<<<dim3(N / BX, N / BY), dim3(BX, BY), (BX + 2) * (BY + 2) * sizeof(float2)>>>(p, du[a], dv[a], du[1 - a], dv[1 - a]);
        a = 1 - a;
        gs_march<<<dim3(N / 128, N / 32), 128>>>(p, du[a], dv[a], du[1 - a], dv[1 - a]);
        a = 1 - a;
        steps += 5;
    }
    downsample<<<dim3(N / 8 / 32, N / 8 / 8), dim3(32, 8)>>>(dv[a], dsmall);
    cu(cudaGetLastError());
    cu(cudaDeviceSynchronize());

    std::vector<float> gu(N * N), gv(N * N), small(N / 8 * N / 8), nu(N * N), nv(N * N);
    cu(cudaMemcpy(gu.data(), du[a], N * N * sizeof(float), cudaMemcpyDeviceToHost));
    cu(cudaMemcpy(gv.data(), dv[a], N * N * sizeof(float), cudaMemcpyDeviceToHost));
    cu(cudaMemcpy(small.data(), dsmall, small.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (int s = 0; s < steps; s++) {
        for (int y = 0; y < N; y++)
            for (int x = 0; x < N; x++) {
                int c = y * N + x, l = y * N + wrap(x - 1), r = y * N + wrap(x + 1), d = wrap(y - 1) * N + x, t = wrap(y + 1) * N + x;
                react(p, u[c], v[c], u[l] + u[r] + u[d] + u[t] - 4 * u[c], v[l] + v[r] + v[d] + v[t] - 4 * v[c], &nu[c], &nv[c]);
            }
        u.swap(nu);
        v.swap(nv);
    }
    double eu = 0, ev = 0, es = 0;
    for (int i = 0; i < N * N; i++) {
        eu = fmax(eu, fabs(u[i] - gu[i]));
        ev = fmax(ev, fabs(v[i] - gv[i]));
    }
    for (int y = 0; y < N / 8; y++)
        for (int x = 0; x < N / 8; x++) {
            double m = 0;
            for (int k = 0; k < 64; k++) m += v[(y * 8 + k / 8) * N + x * 8 + k % 8];
            es = fmax(es, fabs(m / 64 - small[y * (N / 8) + x]));
        }
    printf("max errors: u %g v %g mean %g\n", eu, ev, es);
    int ok = eu < 1e-4 && ev < 1e-4 && es < 1e-4;
    printf(ok ? "PASS\n" : "FAIL\n");
    return !ok;
}
