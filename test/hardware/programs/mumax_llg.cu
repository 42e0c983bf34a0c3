// Micromagnetics solver kernels in the way of a Go+CUDA finite-difference package: every kernel takes
// component arrays (x, y, z planes), sizes Nx, Ny, Nz and uses a generated wrapper "k_NAME_async".
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <vector>
#include <cuda_runtime.h>

#define idx(ix, iy, iz) (((iz)*Ny + (iy)) * Nx + (ix))
#define PBCx (PBC & 1)
#define PBCy (PBC & 2)
#define MODx(n) (((n) + Nx) % Nx)
#define MODy(n) (((n) + Ny) % Ny)
#define hclampx(ix) (PBCx ? MODx(ix) : min((ix), Nx - 1))
#define lclampx(ix) (PBCx ? MODx(ix) : max((ix), 0))
#define hclampy(iy) (PBCy ? MODy(iy) : min((iy), Ny - 1))
#define lclampy(iy) (PBCy ? MODy(iy) : max((iy), 0))
#define symidx(i, j) ((j) <= (i) ? (((i) * ((i) + 1)) / 2 + (j)) : (((j) * ((j) + 1)) / 2 + (i)))
#define NREGION 16

#define check(e) do { if ((e) != cudaSuccess) { fprintf(stderr, "CUDA_ERROR line %d\n", __LINE__); exit(1); } } while (0)

__host__ __device__ static inline float3 make3(float x, float y, float z) { float3 v; v.x = x; v.y = y; v.z = z; return v; }
__host__ __device__ static inline float3 operator+(float3 a, float3 b) { return make3(a.x + b.x, a.y + b.y, a.z + b.z); }
__host__ __device__ static inline float3 operator-(float3 a, float3 b) { return make3(a.x - b.x, a.y - b.y, a.z - b.z); }
__host__ __device__ static inline float3 operator*(float s, float3 a) { return make3(s * a.x, s * a.y, s * a.z); }
__host__ __device__ static inline float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__host__ __device__ static inline float3 cross(float3 a, float3 b) { return make3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x); }

// exchange: 6-neighbour Laplacian, inter-region stiffness from a symmetric lookup table
extern "C" __global__ void addexchange(float *__restrict__ Bx, float *__restrict__ By, float *__restrict__ Bz,
                                       const float *__restrict__ mx, const float *__restrict__ my, const float *__restrict__ mz,
                                       const float *__restrict__ aLUT2d, const uint8_t *__restrict__ regions,
                                       float wx, float wy, float wz, int Nx, int Ny, int Nz, uint8_t PBC)
{
    int ix = blockIdx.x * blockDim.x + threadIdx.x;
    int iy = blockIdx.y * blockDim.y + threadIdx.y;
    int iz = blockIdx.z * blockDim.z + threadIdx.z;
    if (ix >= Nx || iy >= Ny || iz >= Nz) return;
    int I = idx(ix, iy, iz);
    float3 m0 = make3(mx[I], my[I], mz[I]);
    if (dot(m0, m0) == 0.0f) return;
    uint8_t r0 = regions[I];
    float3 B = make3(Bx[I], By[I], Bz[I]);
    int i_;
    float3 m_;
    float a__;
#define NEIGH(I2, W)                                                        \
    i_ = (I2);                                                              \
    m_ = make3(mx[i_], my[i_], mz[i_]);                                     \
    m_ = dot(m_, m_) == 0.0f ? m0 : m_;                                     \
    a__ = aLUT2d[symidx(r0, regions[i_])];                                  \
    B = B + (W)*a__ * (m_ - m0);
    NEIGH(idx(lclampx(ix - 1), iy, iz), wx)
    NEIGH(idx(hclampx(ix + 1), iy, iz), wx)
    NEIGH(idx(ix, lclampy(iy - 1), iz), wy)
    NEIGH(idx(ix, hclampy(iy + 1), iz), wy)
    if (Nz != 1) {
        NEIGH(idx(ix, iy, max(iz - 1, 0)), wz)
        NEIGH(idx(ix, iy, min(iz + 1, Nz - 1)), wz)
    }
    Bx[I] = B.x;
    By[I] = B.y;
    Bz[I] = B.z;
}

// direct demagnetising field in a small window with a kernel tile in shared memory: brute-force check path
#define RAD 2
#define TX 16
#define TY 8
extern "C" __global__ void shortdemag(float *__restrict__ Bz, const float *__restrict__ mz, const float *__restrict__ Kzz, int Nx, int Ny, int Nz)
{
    __shared__ float tile[TY + 2 * RAD][TX + 2 * RAD];
    __shared__ float k[(2 * RAD + 1) * (2 * RAD + 1)];
    int tid = threadIdx.y * TX + threadIdx.x;
    int x0 = blockIdx.x * TX - RAD, y0 = blockIdx.y * TY - RAD, iz = blockIdx.z;
    if (tid < (2 * RAD + 1) * (2 * RAD + 1)) k[tid] = Kzz[tid];
    for (int i = tid; i < (TY + 2 * RAD) * (TX + 2 * RAD); i += TX * TY) {
        int x = x0 + i % (TX + 2 * RAD), y = y0 + i / (TX + 2 * RAD);
        tile[i / (TX + 2 * RAD)][i % (TX + 2 * RAD)] = (x >= 0 && x < Nx && y >= 0 && y < Ny) ? mz[idx(x, y, iz)] : 0.0f;
    }
    __syncthreads();
    int ix = blockIdx.x * TX + threadIdx.x, iy = blockIdx.y * TY + threadIdx.y;
    if (ix >= Nx || iy >= Ny) return;
    float s = 0.0f;
#pragma unroll
    for (int dy = 0; dy <= 2 * RAD; dy++)
#pragma unroll
        for (int dx = 0; dx <= 2 * RAD; dx++) s += k[dy * (2 * RAD + 1) + dx] * tile[threadIdx.y + dy][threadIdx.x + dx];
    Bz[idx(ix, iy, iz)] -= s;
}

// Landau-Lifshitz torque with region-wise damping
extern "C" __global__ void lltorque2(float *__restrict__ tx, float *__restrict__ ty, float *__restrict__ tz,
                                     const float *__restrict__ mx, const float *__restrict__ my, const float *__restrict__ mz,
                                     const float *__restrict__ hx, const float *__restrict__ hy, const float *__restrict__ hz,
                                     const float *__restrict__ alphaLUT, const uint8_t *__restrict__ regions, int N)
{
    int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < N) {
        float3 m = make3(mx[i], my[i], mz[i]);
        float3 H = make3(hx[i], hy[i], hz[i]);
        float alpha = alphaLUT[regions[i]];
        float3 mxH = cross(m, H);
        float gilb = -1.0f / (1.0f + alpha * alpha);
        float3 t = gilb * (mxH + alpha * cross(m, mxH));
        tx[i] = t.x;
        ty[i] = t.y;
        tz[i] = t.z;
    }
}

// m += dt * torque, normalise; the AoS copy is for the "snapshot" writer
extern "C" __global__ void eulerstep(float *__restrict__ mx, float *__restrict__ my, float *__restrict__ mz, const float *__restrict__ tx,
                                     const float *__restrict__ ty, const float *__restrict__ tz, float dt, float *__restrict__ snapshot, int N)
{
    int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < N) {
        float3 m = make3(mx[i], my[i], mz[i]) + dt * make3(tx[i], ty[i], tz[i]);
        float n2 = dot(m, m);
        m = (n2 == 0.0f ? 0.0f : 1.0f / sqrtf(n2)) * m;
        mx[i] = m.x;
        my[i] = m.y;
        mz[i] = m.z;
        snapshot[3 * i] = m.x;
        snapshot[3 * i + 1] = m.y;
        snapshot[3 * i + 2] = m.z;
    }
}

// topological charge density (2D solid angle form), z slice 0 only
extern "C" __global__ void settopologicalcharge(float *__restrict__ s, const float *__restrict__ mx, const float *__restrict__ my,
                                                const float *__restrict__ mz, int Nx, int Ny, uint8_t PBC)
{
    int iy = blockIdx.x * blockDim.x + threadIdx.x;      // (x and y swapped, as shipped for a while)
    int ix = blockIdx.y * blockDim.y + threadIdx.y;
    if (ix >= Nx || iy >= Ny) return;
    int I = iy * Nx + ix;
    int l = iy * Nx + lclampx(ix - 1), r = iy * Nx + hclampx(ix + 1), d = lclampy(iy - 1) * Nx + ix, u = hclampy(iy + 1) * Nx + ix;
    float3 m = make3(mx[I], my[I], mz[I]);
    float3 dx = 0.5f * (make3(mx[r], my[r], mz[r]) - make3(mx[l], my[l], mz[l]));
    float3 dy = 0.5f * (make3(mx[u], my[u], mz[u]) - make3(mx[d], my[d], mz[d]));
    s[I] = dot(m, cross(dx, dy));
}

// reductions as macros with an atomic on the bit pattern for max
#define REDUCE_BLOCK 512
#define reduce(load, op, atomicOp)                                         \
    __shared__ float sdata[REDUCE_BLOCK];                                  \
    int tid = threadIdx.x;                                                 \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                         \
    float mine = initVal;                                                  \
    int stride = gridDim.x * blockDim.x;                                   \
    while (i < n) { mine = op(mine, load(i)); i += stride; }               \
    sdata[tid] = mine;                                                     \
    __syncthreads();                                                       \
    for (unsigned int s = blockDim.x / 2; s > 32; s >>= 1) {               \
        if (tid < s) sdata[tid] = op(sdata[tid], sdata[tid + s]);          \
        __syncthreads();                                                   \
    }                                                                      \
    if (tid < 32) {                                                        \
        float v = op(sdata[tid], sdata[tid + 32]);                         \
        for (int o = 16; o; o >>= 1) v = op(v, __shfl_down_sync(0xffffffffu, v, o)); \
        if (tid == 0) atomicOp;                                            \
    }
#define opadd(a, b) ((a) + (b))
#define opmax(a, b) fmaxf((a), (b))
#define load_dot(i) (x1[i] * x2[i])
#define load_vecnorm2(i) (x[i] * x[i] + y[i] * y[i] + z[i] * z[i])

extern "C" __global__ void reducedot(const float *__restrict__ x1, const float *__restrict__ x2, float *__restrict__ dst, float initVal, int n)
{
    reduce(load_dot, opadd, atomicAdd(dst, v))
}
extern "C" __global__ void reducemaxvecnorm2(const float *__restrict__ x, const float *__restrict__ y, const float *__restrict__ z, float *__restrict__ dst, float initVal, int n)
{
    reduce(load_vecnorm2, opmax, atomicMax((int *)dst, __float_as_int(v)))
}

// ---- wrappers ----
struct Slice { float *c[3]; };
struct config { dim3 grid, block; };
static config make3DConf(int Nx, int Ny, int Nz) { config c; c.block = dim3(TX, TY, 1); c.grid = dim3((Nx + TX - 1) / TX, (Ny + TY - 1) / TY, Nz); return c; }
static config make1DConf(int N) { config c; c.block = dim3(256); int g = (N + 255) / 256, gx = g > 64 ? 64 : g; c.grid = dim3(gx, (g + gx - 1) / gx); return c; }
static Slice newSlice(int N) { Slice s; for (int c = 0; c < 3; c++) { check(cudaMalloc((void **)&s.c[c], N * 4)); check(cudaMemset(s.c[c], 0, N * 4)); } return s; }
static void k_addexchange_async(Slice B, Slice m, const float *lut, const uint8_t *reg, float wx, float wy, float wz, int Nx, int Ny, int Nz, uint8_t PBC, config cfg)
{
    addexchange<<<cfg.grid, cfg.block>>>(B.c[0], B.c[1], B.c[2], m.c[0], m.c[1], m.c[2], lut, reg, wx, wy, wz, Nx, Ny, Nz, PBC);
}
static void k_lltorque2_async(Slice t, Slice m, Slice h, const float *alpha, const uint8_t *reg, int N, config cfg)
{
    lltorque2<<<cfg.grid, cfg.block>>>(t.c[0], t.c[1], t.c[2], m.c[0], m.c[1], m.c[2], h.c[0], h.c[1], h.c[2], alpha, reg, N);
}

int main(int argc, char **argv)
{
    const int Nx = argc > 1 ? atoi(argv[1]) : 150, Ny = 90, Nz = 3, N = Nx * Ny * Nz, steps = 2;
    const uint8_t PBC = 1;
    const float wx = 1.0f, wy = 0.81f, wz = 1.44f, dt = 0.05f;
    std::vector<float> m[3], lut(NREGION * (NREGION + 1) / 2), alpha(NREGION), K(25);
    std::vector<uint8_t> reg(N);
    for (int c = 0; c < 3; c++) m[c].assign(N, 0.0f);
    for (int i = 0; i < NREGION; i++) { alpha[i] = 0.02f * (i + 1); for (int j = 0; j <= i; j++) lut[symidx(i, j)] = i == j ? 1.0f : 0.3f + 0.01f * j; }
    for (int i = 0; i < 25; i++) { int x = i % 5 - 2, y = i / 5 - 2; K[i] = 0.2f / (1 + x * x + y * y); }
    for (int z = 0; z < Nz; z++) for (int y = 0; y < Ny; y++) for (int x = 0; x < Nx; x++) {
        int i = idx(x, y, z);
        uint32_t h = (uint32_t)(x / 9 * 31 + y / 7 * 17) * 2654435761u;
        reg[i] = (uint8_t)(h >> 28);
        float cx = x - 0.5f * Nx, cy = y - 0.5f * Ny, r = sqrtf(cx * cx + cy * cy) + 1e-3f, th = 3.14159f * fminf(1.0f, r / 30.0f);
        bool hole = (x - 20) * (x - 20) + (y - 20) * (y - 20) < 60;
        if (!hole) { m[0][i] = sinf(th) * cx / r; m[1][i] = sinf(th) * cy / r; m[2][i] = -cosf(th); }
    }
    Slice dm = newSlice(N), dB = newSlice(N), dt_ = newSlice(N);
    for (int c = 0; c < 3; c++) check(cudaMemcpy(dm.c[c], m[c].data(), N * 4, cudaMemcpyHostToDevice));
    float *dlut, *dal, *dK, *dsnap, *dq, *dred; uint8_t *dreg;
    check(cudaMalloc((void **)&dlut, lut.size() * 4)); check(cudaMalloc((void **)&dal, NREGION * 4)); check(cudaMalloc((void **)&dK, 100));
    check(cudaMalloc((void **)&dsnap, N * 12)); check(cudaMalloc((void **)&dq, Nx * Ny * 4)); check(cudaMalloc((void **)&dred, 8)); check(cudaMalloc((void **)&dreg, N));
    check(cudaMemcpy(dlut, lut.data(), lut.size() * 4, cudaMemcpyHostToDevice)); check(cudaMemcpy(dal, alpha.data(), NREGION * 4, cudaMemcpyHostToDevice));
    check(cudaMemcpy(dK, K.data(), 100, cudaMemcpyHostToDevice)); check(cudaMemcpy(dreg, reg.data(), N, cudaMemcpyHostToDevice)); check(cudaMemset(dred, 0, 8));
    config c3 = make3DConf(Nx, Ny, Nz), c1 = make1DConf(N);
    for (int s = 0; s < steps; s++) {
        for (int c = 0; c < 3; c++) check(cudaMemset(dB.c[c], 0, N * 4));
        k_addexchange_async(dB, dm, dlut, dreg, wx, wy, wz, Nx, Ny, Nz, PBC, c3);
        shortdemag<<<c3.grid, c3.block>>>(dB.c[2], dm.c[2], dK, Nx, Ny, Nz);
        k_lltorque2_async(dt_, dm, dB, dal, dreg, N, c1);
        eulerstep<<<c1.grid, c1.block>>>(dm.c[0], dm.c[1], dm.c[2], dt_.c[0], dt_.c[1], dt_.c[2], dt, dsnap, N);
    }
    settopologicalcharge<<<dim3((Ny + 31) / 32, (Nx + 7) / 8), dim3(32, 8)>>>(dq, dm.c[0], dm.c[1], dm.c[2], Nx, Ny, PBC);
    reducedot<<<8, REDUCE_BLOCK>>>(dm.c[2], dB.c[2], dred, 0.0f, N);
    reducemaxvecnorm2<<<8, REDUCE_BLOCK>>>(dt_.c[0], dt_.c[1], dt_.c[2], dred + 1, 0.0f, N);
    check(cudaDeviceSynchronize());

    std::vector<float> B[3], t[3];
    for (int s = 0; s < steps; s++) {
        for (int c = 0; c < 3; c++) { B[c].assign(N, 0.0f); t[c].assign(N, 0.0f); }
        for (int z = 0; z < Nz; z++) for (int y = 0; y < Ny; y++) for (int x = 0; x < Nx; x++) {
            int I = idx(x, y, z), nb[6] = {idx((x + Nx - 1) % Nx, y, z), idx((x + 1) % Nx, y, z), idx(x, y > 0 ? y - 1 : 0, z), idx(x, y < Ny - 1 ? y + 1 : y, z), idx(x, y, z > 0 ? z - 1 : 0), idx(x, y, z < Nz - 1 ? z + 1 : z)};
            float w[6] = {wx, wx, wy, wy, wz, wz};
            float3 m0 = make3(m[0][I], m[1][I], m[2][I]), b = make3(0, 0, 0);
            if (dot(m0, m0) != 0) for (int q = 0; q < 6; q++) { float3 v = make3(m[0][nb[q]], m[1][nb[q]], m[2][nb[q]]); if (dot(v, v) == 0) v = m0; b = b + w[q] * lut[symidx(reg[I], reg[nb[q]])] * (v - m0); }
            float sd = 0;
            for (int dy = -2; dy <= 2; dy++) for (int dx = -2; dx <= 2; dx++) if (x + dx >= 0 && x + dx < Nx && y + dy >= 0 && y + dy < Ny) sd += K[(dy + 2) * 5 + dx + 2] * m[2][idx(x + dx, y + dy, z)];
            B[0][I] = b.x; B[1][I] = b.y; B[2][I] = b.z - sd;
            float3 H = make3(B[0][I], B[1][I], B[2][I]), mh = cross(m0, H);
            float a = alpha[reg[I]];
            float3 tq = -1.0f / (1.0f + a * a) * (mh + a * cross(m0, mh));
            t[0][I] = tq.x; t[1][I] = tq.y; t[2][I] = tq.z;
        }
        for (int i = 0; i < N; i++) { float3 v = make3(m[0][i], m[1][i], m[2][i]) + dt * make3(t[0][i], t[1][i], t[2][i]); float n2 = dot(v, v); v = (n2 == 0 ? 0 : 1 / sqrtf(n2)) * v; m[0][i] = v.x; m[1][i] = v.y; m[2][i] = v.z; }
    }
    std::vector<float> g(3 * N), q(Nx * Ny); float red[2];
    check(cudaMemcpy(g.data(), dsnap, N * 12, cudaMemcpyDeviceToHost)); check(cudaMemcpy(q.data(), dq, Nx * Ny * 4, cudaMemcpyDeviceToHost)); check(cudaMemcpy(red, dred, 8, cudaMemcpyDeviceToHost));
    double worst = 0, wq = 0, dd = 0, mxn = 0, mag = 0;
    for (int i = 0; i < N; i++) { for (int c = 0; c < 3; c++) worst = fmax(worst, fabs(g[3 * i + c] - m[c][i])); dd += (double)m[2][i] * B[2][i]; mag += fabs(m[2][i] * B[2][i]); mxn = fmax(mxn, (double)t[0][i] * t[0][i] + (double)t[1][i] * t[1][i] + (double)t[2][i] * t[2][i]); }
    for (int y = 0; y < Ny; y++) for (int x = 0; x < Nx; x++) {
        int l = y * Nx + (x + Nx - 1) % Nx, r = y * Nx + (x + 1) % Nx, d = (y > 0 ? y - 1 : 0) * Nx + x, u = (y < Ny - 1 ? y + 1 : y) * Nx + x, I = y * Nx + x;
        float3 dx = 0.5f * (make3(m[0][r], m[1][r], m[2][r]) - make3(m[0][l], m[1][l], m[2][l])), dy = 0.5f * (make3(m[0][u], m[1][u], m[2][u]) - make3(m[0][d], m[1][d], m[2][d]));
        wq = fmax(wq, fabs(q[I] - dot(make3(m[0][I], m[1][I], m[2][I]), cross(dx, dy))));
    }
    printf("m err %.2e  charge err %.2e  <m,B> %.4f (%.4f)  max torque^2 %.5f (%.5f)\n", worst, wq, red[0], dd, red[1], mxn);
    int ok = worst < 1e-4 && wq < 1e-4 && fabs(red[0] - dd) < 1e-4 * mag && fabs(red[1] - mxn) < 1e-3 * (1 + mxn);
    puts(ok ? "PASS" : "FAIL");
    return !ok;
}
