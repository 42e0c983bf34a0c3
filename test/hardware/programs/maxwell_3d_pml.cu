// 3D Yee FDTD (vacuum, normalised units c = dx = 1) with a UPML-like graded
// conductivity in an absorbing shell.  x is the fastest index.
//   E update: 2.5D, block marches along z with the two H planes in shared memory
//   H update: plain one-thread-per-cell
// Per-axis loss coefficients live in constant memory.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

static constexpr int NX = 128, NY = 96, NZ = 64;
static constexpr int NPML = 10;
static constexpr int STEPS = 2;
static constexpr float DT = 0.55f;          // below 1/sqrt(3)
static constexpr int BX = 32, BY = 8;
static constexpr int ZCHUNK = 16;
static constexpr int MAXDIM = 128;

// decay and gain factor of an axis at integer positions
struct AxisCoef { float a[MAXDIM]; float b[MAXDIM]; };
__constant__ AxisCoef cX, cY, cZ;

struct Fields {
    float *ex, *ey, *ez, *hx, *hy, *hz;
};

__host__ __device__ __forceinline__ int idx3(int i, int j, int k) { return (k * NY + j) * NX + i; }

#define CUCHK(stmt)                                                                            \
    {                                                                                          \
        cudaError_t rc_ = stmt;                                                                \
        if (rc_ != cudaSuccess) {                                                              \
            printf("%s failed in line %d (%s)\n", #stmt, __LINE__, cudaGetErrorString(rc_));   \
            exit(1);                                                                           \
        }                                                                                      \
    }

// H^{n+1/2}: forward differences of E
__global__ void update_h(Fields f)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    const int k = blockIdx.z;
    if (i >= NX - 1 || j >= NY - 1 || k >= NZ - 1) return;
    const int c = idx3(i, j, k);

    const float ex = f.ex[c], ey = f.ey[c], ez = f.ez[c];
    const float curlx = (f.ez[c + NX] - ez) - (f.ey[c + NX * NY] - ey);
    const float curly = (f.ex[c + NX * NY] - ex) - (f.ez[c + 1] - ez);
    const float curlz = (f.ey[c + 1] - ey) - (f.ex[c + NX] - ex);

    f.hx[c] = cY.a[j] * cZ.a[k] * f.hx[c] - cY.b[j] * cZ.b[k] * curlx;
    f.hy[c] = cX.a[i] * cZ.a[k] * f.hy[c] - cX.b[i] * cZ.b[k] * curly;
    f.hz[c] = cX.a[i] * cY.a[j] * f.hz[c] - cX.b[i] * cY.b[j] * curlz;
}

// E^{n+1}: backward differences of H; the current z plane of hx, hy, hz is tiled
// with a one-cell halo at the low side, hx and hy of the plane below stay in
// registers while marching.
__global__ void update_e_march(Fields f)
{
    __shared__ float shx[BY + 1][BX + 1];
    __shared__ float shy[BY + 1][BX + 1];
    __shared__ float shz[BY + 1][BX + 1];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int i = blockIdx.x * BX + tx;
    const int j = blockIdx.y * BY + ty;
    const int k0 = max(1, (int)blockIdx.z * ZCHUNK);
    const int k1 = min(NZ - 1, ((int)blockIdx.z + 1) * ZCHUNK);
    const bool interior = i >= 1 && i < NX - 1 && j >= 1 && j < NY - 1;

    int c = idx3(i, j, k0);
    float hx_below = f.hx[c - NX * NY];
    float hy_below = f.hy[c - NX * NY];
    const float ax = cX.a[i], bx = cX.b[i];
    const float ay = cY.a[j], by = cY.b[j];

    for (int k = k0; k < k1; ++k, c += NX * NY) {
        const float hx = f.hx[c];
        const float hy = f.hy[c];
        const float hz = f.hz[c];
        shx[ty + 1][tx + 1] = hx;
        shy[ty + 1][tx + 1] = hy;
        shz[ty + 1][tx + 1] = hz;
        if (ty == 0 && j > 0) {                 // row below the tile
            shx[0][tx + 1] = f.hx[c - NX];
            shz[0][tx + 1] = f.hz[c - NX];
        }
        if (tx == 0 && i > 0) {                 // column left of the tile
            shy[ty + 1][0] = f.hy[c - 1];
            shz[ty + 1][0] = f.hz[c - 1];
        }
        __syncthreads();
        if (interior) {
            const float az = cZ.a[k], bz = cZ.b[k];
            const float curlx = (hz - shz[ty][tx + 1]) - (hy - hy_below);
            const float curly = (hx - hx_below) - (hz - shz[ty + 1][tx]);
            const float curlz = (hy - shy[ty + 1][tx]) - (hx - shx[ty][tx + 1]);
            f.ex[c] = ay * az * f.ex[c] + by * bz * curlx;
            f.ey[c] = ax * az * f.ey[c] + bx * bz * curly;
            f.ez[c] = ax * ay * f.ez[c] + bx * by * curlz;
        }
        hx_below = hx;
        hy_below = hy;
        __syncthreads();
    }
}

// soft line source along z
__global__ void add_source(float *ez, int i, int j, int kfirst, int count, float amp)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < count)
        ez[idx3(i, j, kfirst + t)] += amp;
}

// Poynting flux through the plane i = iplane; neighbouring threads are
// neighbours in y, so every access is a row apart
__global__ void flux_x_plane(Fields f, int iplane, float *flux)
{
    __shared__ float red[256];
    float s = 0.f;
    for (int jk = blockIdx.x * blockDim.x + threadIdx.x; jk < NY * NZ; jk += gridDim.x * blockDim.x) {
        const int c = jk * NX + iplane;
        s += f.ey[c] * f.hz[c];
        s -= f.ez[c] * f.hy[c];
    }
    red[threadIdx.x] = s;
    __syncthreads();
    for (int h = blockDim.x / 2; h > 0; h /= 2) {
        if (threadIdx.x < h) red[threadIdx.x] += red[threadIdx.x + h];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(flux, red[0]);
}

// ---------------------------------------------------------------- host

static void make_axis(AxisCoef &ax, int n)
{
    for (int p = 0; p < MAXDIM; ++p) {
        int d = 0;
        if (p < NPML) d = NPML - p;
        if (p >= n - NPML) d = p - (n - NPML) + 1;
        const float u = (float)d / NPML;
        const float sigma = 0.8f * u * u * u;
        ax.a[p] = (1.f - 0.5f * sigma * DT) / (1.f + 0.5f * sigma * DT);
        ax.b[p] = sqrtf(DT) / (1.f + 0.5f * sigma * DT);
    }
}

struct HostFields {
    std::vector<float> v[6];
    HostFields() { for (auto &a : v) a.assign((size_t)NX * NY * NZ, 0.f); }
};

static void cpu_step(HostFields &h, const AxisCoef &X, const AxisCoef &Y, const AxisCoef &Z, int step, float amp)
{
    auto &ex = h.v[0], &ey = h.v[1], &ez = h.v[2], &hx = h.v[3], &hy = h.v[4], &hz = h.v[5];
    const int sy = NX, sz = NX * NY;
    for (int k = 0; k < NZ - 1; ++k)
        for (int j = 0; j < NY - 1; ++j)
            for (int i = 0; i < NX - 1; ++i) {
                const int c = idx3(i, j, k);
                const float cx = (ez[c + sy] - ez[c]) - (ey[c + sz] - ey[c]);
                const float cy = (ex[c + sz] - ex[c]) - (ez[c + 1] - ez[c]);
                const float cz = (ey[c + 1] - ey[c]) - (ex[c + sy] - ex[c]);
                hx[c] = Y.a[j] * Z.a[k] * hx[c] - Y.b[j] * Z.b[k] * cx;
                hy[c] = X.a[i] * Z.a[k] * hy[c] - X.b[i] * Z.b[k] * cy;
                hz[c] = X.a[i] * Y.a[j] * hz[c] - X.b[i] * Y.b[j] * cz;
            }
    for (int k = 1; k < NZ - 1; ++k)
        for (int j = 1; j < NY - 1; ++j)
            for (int i = 1; i < NX - 1; ++i) {
                const int c = idx3(i, j, k);
                const float cx = (hz[c] - hz[c - sy]) - (hy[c] - hy[c - sz]);
                const float cy = (hx[c] - hx[c - sz]) - (hz[c] - hz[c - 1]);
                const float cz = (hy[c] - hy[c - 1]) - (hx[c] - hx[c - sy]);
                ex[c] = Y.a[j] * Z.a[k] * ex[c] + Y.b[j] * Z.b[k] * cx;
                ey[c] = X.a[i] * Z.a[k] * ey[c] + X.b[i] * Z.b[k] * cy;
                ez[c] = X.a[i] * Y.a[j] * ez[c] + X.b[i] * Y.b[j] * cz;
            }
    (void)step;
    for (int k = 8; k < NZ - 8; ++k) ez[idx3(NX / 2, NY / 2, k)] += amp;
}

int main()
{
    const size_t cells = (size_t)NX * NY * NZ, bytes = cells * sizeof(float);
    AxisCoef X, Y, Z;
    make_axis(X, NX);
    make_axis(Y, NY);
    make_axis(Z, NZ);
    CUCHK(cudaMemcpyToSymbol(cX, &X, sizeof(AxisCoef)));
    CUCHK(cudaMemcpyToSymbol(cY, &Y, sizeof(AxisCoef)));
    CUCHK(cudaMemcpyToSymbol(cZ, &Z, sizeof(AxisCoef)));

    // a smooth wave packet already in flight, so that two steps touch real data
    HostFields h;
    for (int k = 0; k < NZ; ++k)
        for (int j = 0; j < NY; ++j)
            for (int i = 0; i < NX; ++i) {
                const float x = (i - NX * 0.4f) / 14.f, y = (j - NY * 0.5f) / 20.f, z = (k - NZ * 0.5f) / 15.f;
                const float g = expf(-(x * x + y * y + z * z));
                const int c = idx3(i, j, k);
                h.v[2][c] = g * cosf(0.5f * i);
                h.v[4][c] = -g * cosf(0.5f * (i + 0.5f));
                h.v[0][c] = 0.1f * g * sinf(0.3f * j);
                h.v[5][c] = 0.05f * g * sinf(0.2f * k + 0.1f * j);
            }

    float *pool, *d_flux;
    CUCHK(cudaMalloc(&pool, 6 * bytes));
    CUCHK(cudaMalloc(&d_flux, sizeof(float)));
    CUCHK(cudaMemset(d_flux, 0, sizeof(float)));
    for (int q = 0; q < 6; ++q)
        CUCHK(cudaMemcpy(pool + q * cells, h.v[q].data(), bytes, cudaMemcpyHostToDevice));
    Fields f = {pool, pool + cells, pool + 2 * cells, pool + 3 * cells, pool + 4 * cells, pool + 5 * cells};

    const dim3 blk(BX, BY);
    const dim3 gridH(NX / BX, NY / BY, NZ), gridE(NX / BX, NY / BY, NZ / ZCHUNK);
    const int srcLen = NZ - 16;
    for (int s = 0; s < STEPS; ++s) {
        const float amp = sinf(0.3f * (s + 1));
        update_h<<<gridH, blk>>>(f);
        update_e_march<<<gridE, blk>>>(f);
        add_source<<<(srcLen + 31) / 32, 32>>>(f.ez, NX / 2, NY / 2, 8, srcLen, amp);
    }
    flux_x_plane<<<12, 256>>>(f, NX / 2 - 5, d_flux);
    CUCHK(cudaGetLastError());
    CUCHK(cudaDeviceSynchronize());

    for (int s = 0; s < STEPS; ++s) cpu_step(h, X, Y, Z, s, sinf(0.3f * (s + 1)));
    static const char *names[6] = {"ex", "ey", "ez", "hx", "hy", "hz"};
    bool ok = true;
    std::vector<float> got(cells);
    for (int q = 0; q < 6; ++q) {
        CUCHK(cudaMemcpy(got.data(), pool + q * cells, bytes, cudaMemcpyDeviceToHost));
        float worst = 0.f, peak = 0.f;
        for (size_t c = 0; c < cells; ++c) {
            const float e = fabsf(got[c] - h.v[q][c]);
            if (!(e <= worst)) worst = e;
            peak = fmaxf(peak, fabsf(h.v[q][c]));
        }
        printf("%s: peak %.4f, max diff %.2e\n", names[q], peak, worst);
        if (!(worst < 2e-5f) || peak == 0.f) ok = false;
    }
    double ref = 0, mag = 0;
    for (int jk = 0; jk < NY * NZ; ++jk) {
        const int c = jk * NX + NX / 2 - 5;
        const double term = (double)h.v[1][c] * h.v[5][c] - (double)h.v[2][c] * h.v[4][c];
        ref += term;
        mag += fabs(term);
    }
    float flux;
    CUCHK(cudaMemcpy(&flux, d_flux, sizeof(float), cudaMemcpyDeviceToHost));
    printf("flux %.6f (cpu %.6f)\n", flux, ref);
    if (!(fabs(flux - ref) < 1e-4 * (1.0 + mag))) ok = false;
    cudaFree(pool);
    cudaFree(d_flux);
    puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
