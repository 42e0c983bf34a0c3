/* 2-D P-SV staggered grid velocity-stress propagator, in the style of an acquisition code ported from Fortran. */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define NX 384
#define NZ 300
#define HALO 2
#define LDX (NX + 2 * HALO)
#define IDX(i, k) (((k) + HALO) * LDX + (i) + HALO)
#define C1 1.125f
#define C2 (-1.0f / 24.0f)
#define DXF(a, i, k) (C1 * (a[IDX((i) + 1, k)] - a[IDX(i, k)]) + C2 * (a[IDX((i) + 2, k)] - a[IDX((i) - 1, k)]))
#define DXB(a, i, k) (C1 * (a[IDX(i, k)] - a[IDX((i) - 1, k)]) + C2 * (a[IDX((i) + 1, k)] - a[IDX((i) - 2, k)]))
#define DZF(a, i, k) (C1 * (a[IDX(i, (k) + 1)] - a[IDX(i, k)]) + C2 * (a[IDX(i, (k) + 2)] - a[IDX(i, (k) - 1)]))
#define DZB(a, i, k) (C1 * (a[IDX(i, k)] - a[IDX(i, (k) - 1)]) + C2 * (a[IDX(i, (k) + 1)] - a[IDX(i, (k) - 2)]))

typedef struct { float *vx, *vz, *txx, *tzz, *txz, *lam, *mu, *bu; } Wave;

__global__ void update_velocity(Wave w, float dth) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int k = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= NX || k >= NZ) return;
    float b = dth * w.bu[IDX(i, k)];
    w.vx[IDX(i, k)] += b * (DXB(w.txx, i, k) + DZB(w.txz, i, k));
    w.vz[IDX(i, k)] += b * (DXF(w.txz, i, k) + DZF(w.tzz, i, k));
}

__global__ void update_stress(Wave w, float dth, int sx, int sz, float src) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int k = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= NX || k >= NZ) return;
    int q = IDX(i, k);
    float ex = DXF(w.vx, i, k), ez = DZB(w.vz, i, k);
    float l = w.lam[q], m2 = 2.0f * w.mu[q];
    float s = (i == sx && k == sz) ? src : 0.0f;
    w.txx[q] += dth * ((l + m2) * ex + l * ez) + s;
    w.tzz[q] += dth * (l * ex + (l + m2) * ez) + s;
    w.txz[q] += dth * w.mu[q] * (DXB(w.vz, i, k) + DZF(w.vx, i, k));
}

/* sponge: only the ring is launched; thread index is unrolled into four strips */
__global__ void sponge(Wave w, int width, float alpha) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int top = NX * width, side = (NZ - 2 * width) * width;
    int i, k;
    if (t < top) { k = t / NX; i = t % NX; }
    else if ((t -= top) < top) { k = NZ - 1 - t / NX; i = t % NX; }
    else if ((t -= top) < side) { i = t % width; k = width + t / width; }
    else if ((t -= side) < side) { i = NX - 1 - t % width; k = width + t / width; }
    else return;
    int d = min(min(i, NX - 1 - i), min(k, NZ - 1 - k));
    float u = alpha * (width - d), g = 1.0f / (1.0f + u * u);
    int q = IDX(i, k);
    w.vx[q] *= g; w.vz[q] *= g;
    w.txx[q] *= g; w.tzz[q] *= g; w.txz[q] *= g;
}

static void cpu_step(Wave w, float dth, int sx, int sz, float src, int width, float alpha) {
    for (int k = 0; k < NZ; k++) for (int i = 0; i < NX; i++) {
        float b = dth * w.bu[IDX(i, k)];
        w.vx[IDX(i, k)] += b * (DXB(w.txx, i, k) + DZB(w.txz, i, k));
        w.vz[IDX(i, k)] += b * (DXF(w.txz, i, k) + DZF(w.tzz, i, k));
    }
    for (int k = 0; k < NZ; k++) for (int i = 0; i < NX; i++) {
        int q = IDX(i, k);
        float ex = DXF(w.vx, i, k), ez = DZB(w.vz, i, k), l = w.lam[q], m2 = 2 * w.mu[q];
        float s = (i == sx && k == sz) ? src : 0;
        w.txx[q] += dth * ((l + m2) * ex + l * ez) + s;
        w.tzz[q] += dth * (l * ex + (l + m2) * ez) + s;
        w.txz[q] += dth * w.mu[q] * (DXB(w.vz, i, k) + DZF(w.vx, i, k));
    }
    for (int k = 0; k < NZ; k++) for (int i = 0; i < NX; i++) {
        int a = i < NX - 1 - i ? i : NX - 1 - i, b = k < NZ - 1 - k ? k : NZ - 1 - k, d = a < b ? a : b;
        if (d >= width) continue;
        float u = alpha * (width - d), g = 1 / (1 + u * u);
        int q = IDX(i, k);
        w.vx[q] *= g; w.vz[q] *= g; w.txx[q] *= g; w.tzz[q] *= g; w.txz[q] *= g;
    }
}

int main(void) {
    size_t cells = (size_t)LDX * (NZ + 2 * HALO), bytes = cells * sizeof(float);
    float* pool_h = (float*)calloc(8 * cells, sizeof(float));
    float* pool_d;
    if (cudaMalloc((void**)&pool_d, 8 * bytes)) { puts("FAIL"); return 1; }
    Wave h, d;
    float** hp = (float**)&h; float** dp = (float**)&d;
    for (int a = 0; a < 8; a++) { hp[a] = pool_h + a * cells; dp[a] = pool_d + a * cells; }
    for (int k = -HALO; k < NZ + HALO; k++) for (int i = -HALO; i < NX + HALO; i++) {
        float vp = k < 120 ? 2.0f : (k + i / 8 < 200 ? 2.6f : 3.4f), vs = vp / 1.8f, rho = 2.0f + 0.1f * (k > 120);
        h.mu[IDX(i, k)] = rho * vs * vs;
        h.lam[IDX(i, k)] = rho * (vp * vp - 2 * vs * vs);
        h.bu[IDX(i, k)] = 1 / rho;
    }
    cudaMemcpy(pool_d, pool_h, 8 * bytes, cudaMemcpyHostToDevice);
    float dth = 0.15f; int width = 16;
    dim3 tb(48, 5), gb((NX + 47) / 48, (NZ + 4) / 5);
    int ring = 2 * NX * width + 2 * (NZ - 2 * width) * width;
    for (int it = 0; it < 4; it++) {
        float src = 10.0f * sinf(0.5f * (it + 1));
        update_velocity<<<gb, tb>>>(d, dth);
        update_stress<<<gb, tb>>>(d, dth, 12, 150, src);
        sponge<<<(ring + 191) / 192, 192>>>(d, width, 0.02f);
        cpu_step(h, dth, 12, 150, src, width, 0.02f);
    }
    float* out = (float*)malloc(8 * bytes);
    cudaMemcpy(out, pool_d, 8 * bytes, cudaMemcpyDeviceToHost);
    double err = 0, mx = 0;
    for (size_t q = 0; q < 5 * cells; q++) { err = fmax(err, fabs(out[q] - pool_h[q])); mx = fmax(mx, fabs(pool_h[q])); }
    printf("max %g err %g\n", mx, err);
    int ok = cudaGetLastError() == cudaSuccess && mx > 1 && err < 1e-4 * mx;
    puts(ok ? "PASS" : "FAIL");
    return !ok;
}
