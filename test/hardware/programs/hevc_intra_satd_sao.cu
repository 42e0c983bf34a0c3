/*
 * hevc_intra_satd_sao.cu - parts of an encoder's intra search and the SAO loop filter, 8-bit luma.
 *
 * Layout conventions are those of the CPU encoder: frames are byte planes with a stride (not a multiple
 * of 128), CTUs of 32x32, 8x8 prediction units. Kernels: intra cost (planar/DC/angular subset) with
 * Hadamard SATD, best-mode residual + 4x4 integer transform, SAO edge statistics, SAO edge apply.
 */
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t pixel;
#define FRAME_W 640
#define FRAME_H 352
#define STRIDE  (FRAME_W + 2 * PADX)
#define PADX 24
#define PU 8
#define NMODES 6
#define CTU 32

static void fatal(cudaError_t e, int line) { if (e != cudaSuccess) { fprintf(stderr, "cuda %d at %d\n", (int)e, line); exit(3); } }
#define CK(x) fatal((x), __LINE__)

__host__ __device__ static inline int clip3(int lo, int hi, int v) { return v < lo ? lo : v > hi ? hi : v; }
__host__ __device__ static inline int sgn(int v) { return (v > 0) - (v < 0); }

/* ref[0..16] = top-left, top 0..15 ; ref[17..32] = left 0..15 */
__host__ __device__ static inline int predict_px(const pixel *ref, int mode, int x, int y, int dc)
{
    const pixel *top = ref + 1, *left = ref + 17;
    switch (mode) {
    case 0:  return ((7 - x) * left[y] + (x + 1) * top[8] + (7 - y) * top[x] + (y + 1) * left[8] + 8) >> 4;
    case 1:  return dc;
    case 2:  return top[x];                                            /* vertical */
    case 3:  return left[y];                                           /* horizontal */
    case 4:  return x == y ? ref[0] : x > y ? top[x - y - 1] : left[y - x - 1];   /* diagonal down-right */
    default: { int p = (y + 1) * 13, i = p >> 5, f = p & 31;           /* angular, +13/32 per row */
               return ((32 - f) * top[x + i] + f * top[x + i + 1] + 16) >> 5; }
    }
}

/* A warp handles one PU and one mode at a time. 64 pixels = 2 per lane. blockDim = (32, NMODES). */
__global__ void intra_cost_kernel(const pixel *__restrict__ src, int *__restrict__ cost, int pus_w)
{
    __shared__ pixel ref[NMODES][40];
    __shared__ int16_t diff[NMODES][PU][PU];
    const int pu = blockIdx.x, mode = threadIdx.y, lane = threadIdx.x;
    const int px = pu % pus_w * PU, py = pu / pus_w * PU;
    const pixel *org = src + (py + 1) * STRIDE + PADX + px;    /* one padding row above */
    if (lane < 17) ref[mode][lane] = org[-STRIDE - 1 + lane];
    if (lane < 16) ref[mode][17 + lane] = org[clip3(0, FRAME_H - 1 - py, lane) * STRIDE - 1];
    __syncwarp();
    int dc = 8;
    for (int i = 0; i < 8; i++) dc += ref[mode][1 + i] + ref[mode][17 + i];
    dc >>= 4;
    for (int k = 0; k < 2; k++) {
        const int x = lane & 7, y = (lane >> 3) + 4 * k;
        diff[mode][y][x] = (int16_t)(org[y * STRIDE + x] - predict_px(ref[mode], mode, x, y, dc));
    }
    __syncwarp();
    /* 8x8 Hadamard: rows by the first 8 lanes, then columns by the first 8 lanes */
    int v[8];
    if (lane < 8) {
        for (int i = 0; i < 8; i++) v[i] = diff[mode][lane][i];
        for (int s = 1; s < 8; s <<= 1)
            for (int i = 0; i < 8; i++) if (!(i & s)) { int a = v[i], b = v[i + s]; v[i] = a + b; v[i + s] = a - b; }
        for (int i = 0; i < 8; i++) diff[mode][lane][i] = (int16_t)v[i];
    }
    __syncwarp();
    int sum = 0;
    if (lane < 8) {
        for (int i = 0; i < 8; i++) v[i] = diff[mode][i][lane];
        for (int s = 1; s < 8; s <<= 1)
            for (int i = 0; i < 8; i++) if (!(i & s)) { int a = v[i], b = v[i + s]; v[i] = a + b; v[i + s] = a - b; }
        for (int i = 0; i < 8; i++) sum += abs(v[i]);
    }
    for (int o = 4; o; o >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, o);
    if (lane == 0) cost[pu * NMODES + mode] = ((sum + 2) >> 2) + 3 * mode;
}

/* one thread per PU: argmin over AoS costs */
__global__ void best_mode_kernel(const int *__restrict__ cost, uint8_t *__restrict__ best, int pus)
{
    int pu = blockIdx.x * blockDim.x + threadIdx.x;
    if (pu >= pus) return;
    int b = 0;
    for (int m = 1; m < NMODES; m++) if (cost[pu * NMODES + m] < cost[pu * NMODES + b]) b = m;
    best[pu] = (uint8_t)b;
}

/* residual of the chosen mode and 4x4 core transform: 16 threads per 4x4 block, 4 blocks per PU */
__constant__ int8_t c_dct4[4][4] = {{64, 64, 64, 64}, {83, 36, -36, -83}, {64, -64, -64, 64}, {36, -83, 83, -36}};
static const int8_t h_dct4[4][4] = {{64, 64, 64, 64}, {83, 36, -36, -83}, {64, -64, -64, 64}, {36, -83, 83, -36}};

__global__ void residual_transform_kernel(const pixel *__restrict__ src, const uint8_t *__restrict__ best, int16_t *__restrict__ coef, int pus_w)
{
    __shared__ pixel ref[33];
    __shared__ int res[4][16], tmp[4][16];
    const int pu = blockIdx.x, t = threadIdx.x, blk = t >> 4, q = t & 15;
    const int px = pu % pus_w * PU, py = pu / pus_w * PU;
    const pixel *org = src + (py + 1) * STRIDE + PADX + px;
    if (t < 17) ref[t] = org[-STRIDE - 1 + t];
    else if (t < 33) ref[t] = org[clip3(0, FRAME_H - 1 - py, t - 17) * STRIDE - 1];
    __syncthreads();
    int dc = 8;
    for (int i = 0; i < 8; i++) dc += ref[1 + i] + ref[17 + i];
    const int x = (blk & 1) * 4 + (q & 3), y = (blk >> 1) * 4 + (q >> 2);
    res[blk][q] = org[y * STRIDE + x] - predict_px(ref, best[pu], x, y, dc >> 4);
    __syncthreads();
    const int r = q >> 2, c = q & 3;
    int s = 0;
    for (int i = 0; i < 4; i++) s += c_dct4[c][i] * res[blk][r * 4 + i];      /* divergent constant index */
    tmp[blk][c * 4 + r] = (s + 1) >> 1;
    __syncthreads();
    s = 0;
    for (int i = 0; i < 4; i++) s += c_dct4[c][i] * tmp[blk][r * 4 + i];
    coef[pu * 64 + blk * 16 + c * 4 + r] = (int16_t)((s + 128) >> 8);
}

/* SAO edge class statistics per CTU: 4 classes x 5 categories of (count, sum of org - rec) */
__constant__ int8_t c_dx[4] = {1, 0, 1, 1}, c_dy[4] = {0, 1, 1, -1};
static const int8_t h_dx[4] = {1, 0, 1, 1}, h_dy[4] = {0, 1, 1, -1};
__constant__ uint8_t c_cat[5] = {1, 2, 0, 3, 4};
static const uint8_t h_cat[5] = {1, 2, 0, 3, 4};

__global__ void sao_stats_kernel(const pixel *__restrict__ org, const pixel *__restrict__ rec, int *__restrict__ stats, int ctus_w)
{
    __shared__ int cnt[4][5], sum[4][5];
    __shared__ pixel tile[CTU + 2][CTU + 2];
    const int tid = threadIdx.y * 32 + threadIdx.x;
    if (tid < 20) { (&cnt[0][0])[tid] = 0; (&sum[0][0])[tid] = 0; }
    const int cx = blockIdx.x * CTU, cy = blockIdx.y * CTU;
    for (int i = tid; i < (CTU + 2) * (CTU + 2); i += 256) {
        const int ty = i / (CTU + 2), tx = i % (CTU + 2);
        tile[ty][tx] = rec[(cy + ty) * STRIDE + PADX + cx + tx - 1];
    }
    __syncthreads();
    for (int y = threadIdx.y; y < CTU; y += 8) {
        const int x = threadIdx.x;
        const int d = org[(cy + y + 1) * STRIDE + PADX + cx + x] - tile[y + 1][x + 1];
        for (int k = 0; k < 4; k++) {
            const int c = tile[y + 1][x + 1];
            const int e = 2 + sgn(c - tile[y + 1 - c_dy[k]][x + 1 - c_dx[k]]) + sgn(c - tile[y + 1 + c_dy[k]][x + 1 + c_dx[k]]);
            atomicAdd(&cnt[k][c_cat[e]], 1);
            atomicAdd(&sum[k][c_cat[e]], d);
        }
    }
    __syncthreads();
    if (tid < 20) {
        int *o = stats + (blockIdx.y * ctus_w + blockIdx.x) * 40;
        o[tid] = (&cnt[0][0])[tid];
        o[20 + tid] = (&sum[0][0])[tid];
    }
}

/* apply: four pixels per thread packed into one 32-bit store */
__global__ void sao_apply_kernel(const pixel *__restrict__ rec, const int *__restrict__ stats, pixel *__restrict__ dst, int ctus_w)
{
    const int x4 = (blockIdx.x * blockDim.x + threadIdx.x) * 4, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x4 >= FRAME_W || y >= FRAME_H) return;
    const int *st = stats + (y / CTU * ctus_w + x4 / CTU) * 40;
    const int k = (x4 / CTU + y / CTU) & 3;
    const pixel *p = rec + (y + 1) * STRIDE + PADX + x4;
    const int o = c_dy[k] * STRIDE + c_dx[k];
    uint32_t out = 0;
    for (int i = 0; i < 4; i++) {
        const int c = p[i], cat = c_cat[2 + sgn(c - p[i - o]) + sgn(c - p[i + o])];
        const int n = st[k * 5 + cat], off = cat && n ? clip3(-7, 7, st[20 + k * 5 + cat] / n) : 0;
        out |= (uint32_t)clip3(0, 255, c + off) << (8 * i);
    }
    *(uint32_t *)(dst + (y + 1) * STRIDE + PADX + x4) = out;
}

static pixel org[(FRAME_H + 2) * STRIDE], rec[(FRAME_H + 2) * STRIDE], out_ref[(FRAME_H + 2) * STRIDE], out_gpu[(FRAME_H + 2) * STRIDE];

static int cpu_satd(const pixel *o, const pixel *ref, int mode, int dc)
{
    int d[8][8], s = 0;
    for (int y = 0; y < 8; y++) for (int x = 0; x < 8; x++) d[y][x] = o[y * STRIDE + x] - predict_px(ref, mode, x, y, dc);
    for (int u = 0; u < 8; u++) for (int v = 0; v < 8; v++) {
        int a = 0;
        for (int y = 0; y < 8; y++) for (int x = 0; x < 8; x++) a += (__builtin_popcount(u & y) + __builtin_popcount(v & x)) & 1 ? -d[y][x] : d[y][x];
        s += abs(a);
    }
    return ((s + 2) >> 2) + 3 * mode;
}

int main(void)
{
    const int pus_w = FRAME_W / PU, pus = pus_w * (FRAME_H / PU), cw = FRAME_W / CTU, ch = FRAME_H / CTU;
    uint32_t s = 1;
    for (int y = 0; y < FRAME_H + 2; y++) for (int x = 0; x < STRIDE; x++) {
        s = s * 1664525u + 1013904223u;
        int v = (x * 3 + y) / 7 % 160 + ((x / 40 + y / 24) & 1) * 50 + (s >> 28);
        org[y * STRIDE + x] = (pixel)clip3(0, 255, v);
        rec[y * STRIDE + x] = (pixel)clip3(0, 255, v + (int)((s >> 20) & 7) - 3);
    }
    const size_t fb = sizeof(org);
    pixel *d_org, *d_rec, *d_out; int *d_cost, *d_stats; uint8_t *d_best; int16_t *d_coef;
    CK(cudaMalloc(&d_org, fb)); CK(cudaMalloc(&d_rec, fb)); CK(cudaMalloc(&d_out, fb));
    CK(cudaMalloc(&d_cost, pus * NMODES * 4)); CK(cudaMalloc(&d_best, pus)); CK(cudaMalloc(&d_coef, pus * 128)); CK(cudaMalloc(&d_stats, cw * ch * 160));
    CK(cudaMemcpy(d_org, org, fb, cudaMemcpyHostToDevice)); CK(cudaMemcpy(d_rec, rec, fb, cudaMemcpyHostToDevice)); CK(cudaMemset(d_out, 0, fb));
    intra_cost_kernel<<<pus, dim3(32, NMODES)>>>(d_org, d_cost, pus_w);
    best_mode_kernel<<<(pus + 127) / 128, 128>>>(d_cost, d_best, pus);
    residual_transform_kernel<<<pus, 64>>>(d_org, d_best, d_coef, pus_w);
    sao_stats_kernel<<<dim3(cw, ch), dim3(32, 8)>>>(d_org, d_rec, d_stats, cw);
    sao_apply_kernel<<<dim3((FRAME_W / 4 + 31) / 32, (FRAME_H + 7) / 8), dim3(32, 8)>>>(d_rec, d_stats, d_out, cw);
    CK(cudaDeviceSynchronize());

    int *cost = (int *)malloc(pus * NMODES * 4), *stats = (int *)malloc(cw * ch * 160), bad[4] = {0, 0, 0, 0};
    uint8_t *best = (uint8_t *)malloc(pus); int16_t *coef = (int16_t *)malloc(pus * 128);
    CK(cudaMemcpy(cost, d_cost, pus * NMODES * 4, cudaMemcpyDeviceToHost)); CK(cudaMemcpy(best, d_best, pus, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(coef, d_coef, pus * 128, cudaMemcpyDeviceToHost)); CK(cudaMemcpy(stats, d_stats, cw * ch * 160, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(out_gpu, d_out, fb, cudaMemcpyDeviceToHost));
    for (int pu = 0; pu < pus; pu++) {
        const int px = pu % pus_w * PU, py = pu / pus_w * PU;
        const pixel *o = org + (py + 1) * STRIDE + PADX + px;
        pixel ref[33]; int dc = 8, b = 0, c[NMODES];
        for (int i = 0; i < 17; i++) ref[i] = o[-STRIDE - 1 + i];
        for (int i = 0; i < 16; i++) ref[17 + i] = o[clip3(0, FRAME_H - 1 - py, i) * STRIDE - 1];
        for (int i = 0; i < 8; i++) dc += ref[1 + i] + ref[17 + i];
        dc >>= 4;
        for (int m = 0; m < NMODES; m++) { c[m] = cpu_satd(o, ref, m, dc); bad[0] += c[m] != cost[pu * NMODES + m]; if (c[m] < c[b]) b = m; }
        bad[1] += b != best[pu];
        for (int blk = 0; blk < 4; blk++) {
            int r[16], t[16];
            for (int q = 0; q < 16; q++) { int x = (blk & 1) * 4 + (q & 3), y = (blk >> 1) * 4 + (q >> 2); r[q] = o[y * STRIDE + x] - predict_px(ref, b, x, y, dc); }
            for (int i = 0; i < 4; i++) for (int k = 0; k < 4; k++) { int a = 0; for (int j = 0; j < 4; j++) a += h_dct4[k][j] * r[i * 4 + j]; t[k * 4 + i] = (a + 1) >> 1; }
            for (int i = 0; i < 4; i++) for (int k = 0; k < 4; k++) { int a = 0; for (int j = 0; j < 4; j++) a += h_dct4[k][j] * t[i * 4 + j]; bad[1] += (int16_t)((a + 128) >> 8) != coef[pu * 64 + blk * 16 + k * 4 + i]; }
        }
    }
    for (int cy = 0; cy < ch; cy++) for (int cx = 0; cx < cw; cx++) {
        int st[40] = {0};
        for (int pass = 0; pass < 2; pass++) for (int y = cy * CTU; y < (cy + 1) * CTU; y++) for (int x = cx * CTU; x < (cx + 1) * CTU; x++) {
            const int at = (y + 1) * STRIDE + PADX + x, c = rec[at];
            for (int k = 0; k < 4; k++) {
                const int o = h_dy[k] * STRIDE + h_dx[k], cat = h_cat[2 + sgn(c - rec[at - o]) + sgn(c - rec[at + o])];
                if (!pass) { st[k * 5 + cat]++; st[20 + k * 5 + cat] += org[at] - c; }
                else if (k == ((cx + cy) & 3)) { int n = st[k * 5 + cat]; out_ref[at] = (pixel)clip3(0, 255, c + (cat && n ? clip3(-7, 7, st[20 + k * 5 + cat] / n) : 0)); }
            }
        }
        for (int i = 0; i < 40; i++) bad[2] += st[i] != stats[(cy * cw + cx) * 40 + i];
    }
    bad[3] = memcmp(out_ref, out_gpu, fb) != 0;
    printf("satd %d, mode+coef %d, sao stats %d, sao apply %d wrong\n", bad[0], bad[1], bad[2], bad[3]);
    const int fail = bad[0] || bad[1] || bad[2] || bad[3];
    puts(fail ? "FAIL" : "PASS");
    return fail;
}
