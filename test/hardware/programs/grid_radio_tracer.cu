/*
 *  Indoor/outdoor radio coverage on a regular voxel grid.
 *
 *  Host side: small class hierarchy (Scene / Transmitter / Stage).  Device side: an Amanatides-Woo
 *  walk through the occupancy grid for every receiver, one reflected bounce off the ground plane,
 *  and a post-processing chain (dBm conversion, 3x3 smoothing, histogram, best-server map).
 */
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>
#include <map>
#include <cuda_runtime.h>

#define GPU_CALL(x)                                                                         \
    do {                                                                                    \
        cudaError_t err_ = (x);                                                             \
        if (err_ != cudaSuccess) {                                                          \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err_));    \
            printf("FAIL\n");                                                               \
            exit(1);                                                                        \
        }                                                                                   \
    } while (0)

struct Vec3 { float x, y, z; };

struct GridDesc {
    int nx, ny, nz;
    float cell;
};

struct TxParam {           // kept in constant memory
    Vec3  pos;
    float power_dbm;
    float wavelength;
    float downtilt;
    int   sectors;
};

static const int MAX_TX = 8;
__constant__ TxParam c_tx[MAX_TX];
__constant__ float   c_lossPerMaterial[8];

// --------------------------------------------------------------------------------------------
// shared host/device walk
// --------------------------------------------------------------------------------------------
template <class LossTable>
__host__ __device__ inline float walk(const unsigned char *vox, GridDesc g, Vec3 a, Vec3 b, const LossTable &loss, int *steps)
{
    float dx = b.x - a.x, dy = b.y - a.y, dz = b.z - a.z;
    int ix = (int)floorf(a.x / g.cell), iy = (int)floorf(a.y / g.cell), iz = (int)floorf(a.z / g.cell);
    const int ex = (int)floorf(b.x / g.cell), ey = (int)floorf(b.y / g.cell), ez = (int)floorf(b.z / g.cell);
    const int sx = dx > 0 ? 1 : -1, sy = dy > 0 ? 1 : -1, sz = dz > 0 ? 1 : -1;
    const float BIG = 1e30f;
    float tdx = fabsf(dx) > 1e-6f ? g.cell / fabsf(dx) : BIG;
    float tdy = fabsf(dy) > 1e-6f ? g.cell / fabsf(dy) : BIG;
    float tdz = fabsf(dz) > 1e-6f ? g.cell / fabsf(dz) : BIG;
    float tx = tdx < BIG ? ((ix + (sx > 0)) * g.cell - a.x) / dx : BIG;
    float ty = tdy < BIG ? ((iy + (sy > 0)) * g.cell - a.y) / dy : BIG;
    float tz = tdz < BIG ? ((iz + (sz > 0)) * g.cell - a.z) / dz : BIG;
    const int limit = g.nx + g.ny + g.nz;
    float sum = 0.f;
    int n = 0;
    while (n < limit) {
        if (ix < 0 || iy < 0 || iz < 0 || ix >= g.nx || iy >= g.ny || iz >= g.nz) break;
        sum += loss(vox[(iz * g.ny + iy) * g.nx + ix]);
        if (ix == ex && iy == ey && iz == ez) break;
        if (tx < ty && tx < tz)      { tx += tdx; ix += sx; }
        else if (ty < tz)            { ty += tdy; iy += sy; }
        else                         { tz += tdz; iz += sz; }
        ++n;
    }
    *steps = n;
    return sum;
}

struct ConstLoss { __device__ float operator()(unsigned char m) const { return c_lossPerMaterial[m & 7]; } };
struct HostLoss  { const float *t; __host__ __device__ float operator()(unsigned char m) const { return t[m & 7]; } };

__host__ __device__ inline float freeSpace(float d, float lambda)
{
    return 20.f * log10f(12.5663706f * fmaxf(d, 1.f) / lambda);
}

__host__ __device__ inline unsigned char material(int x, int y, int z, int nx, int ny)
{
    if (z == 0) return 1;                                  // ground
    int bx = x % 37, by = y % 29;
    unsigned h = (unsigned)(x / 37) * 2654435761u ^ (unsigned)(y / 29) * 40503u;
    int height = 3 + (int)((h >> 13) % 14u);
    bool inside = bx > 6 && bx < 27 && by > 5 && by < 22;
    if (!inside || z > height) return 0;
    bool wall = bx == 7 || bx == 26 || by == 6 || by == 21 || z == height;
    return wall ? (unsigned char)(2 + (h & 3u)) : (unsigned char)0;
}

// --------------------------------------------------------------------------------------------
// kernels
// --------------------------------------------------------------------------------------------
__global__ void voxelizeKernel(unsigned char *vox, GridDesc g)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= g.nx || y >= g.ny || z >= g.nz) return;
    vox[(z * g.ny + y) * g.nx + x] = material(x, y, z, g.nx, g.ny);
}

// threads of a warp lie along x: neighbouring receivers, nearly the same path
__global__ void traceKernel(const unsigned char *__restrict__ vox, GridDesc g, int tx, float rxHeight,
                            float *__restrict__ loss, int *__restrict__ stepCount, int pitch)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= g.nx || y >= g.ny) return;
    Vec3 rx = { (x + 0.5f) * g.cell, (y + 0.5f) * g.cell, rxHeight };
    Vec3 t = c_tx[tx].pos;
    float d = sqrtf((rx.x - t.x) * (rx.x - t.x) + (rx.y - t.y) * (rx.y - t.y) + (rx.z - t.z) * (rx.z - t.z));
    int steps;
    float l = walk(vox, g, t, rx, ConstLoss(), &steps);
    loss[y * pitch + x] = l + freeSpace(d, c_tx[tx].wavelength);
    stepCount[y * pitch + x] = steps;
}

// One reflection at the ground, taken for receivers in shadow only. Written the "transposed" way:
// consecutive threads walk down a column.
__global__ void groundBounceKernel(const unsigned char *vox, GridDesc g, int tx, float rxHeight,
                                   float *loss, float threshold, int pitch)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= g.nx * g.ny) return;
    int x = id / g.ny;
    int y = id % g.ny;
    float direct = loss[y * pitch + x];
    if (direct < threshold) return;
    Vec3 rx = { (x + 0.5f) * g.cell, (y + 0.5f) * g.cell, rxHeight };
    Vec3 t = c_tx[tx].pos;
    float ground = 1.5f * g.cell;                 // just above the ground layer
    float f = (t.z - ground) / ((t.z - ground) + fabsf(rxHeight - ground) + 1e-3f);
    Vec3 hit = { t.x + f * (rx.x - t.x), t.y + f * (rx.y - t.y), ground };
    int s0, s1;
    float l = walk(vox, g, t, hit, ConstLoss(), &s0) + walk(vox, g, hit, rx, ConstLoss(), &s1) + 6.f;
    float d = sqrtf((rx.x - t.x) * (rx.x - t.x) + (rx.y - t.y) * (rx.y - t.y) + (t.z + rxHeight) * (t.z + rxHeight));
    l += freeSpace(d, c_tx[tx].wavelength);
    if (l < direct) loss[y * pitch + x] = l;
}

__global__ void powerKernel(const float *__restrict__ loss, float *__restrict__ dbm, GridDesc g, int tx, int pitch)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < g.nx && y < g.ny) dbm[y * pitch + x] = c_tx[tx].power_dbm - loss[y * pitch + x];
}

#define SM_X 32
#define SM_Y 8
__global__ void smoothKernel(const float *__restrict__ in, float *__restrict__ out, GridDesc g, int pitch)
{
    __shared__ float tile[SM_Y + 2][SM_X + 2];
    int x0 = blockIdx.x * SM_X, y0 = blockIdx.y * SM_Y;
    for (int i = threadIdx.y * SM_X + threadIdx.x; i < (SM_X + 2) * (SM_Y + 2); i += SM_X * SM_Y) {
        int ty = i / (SM_X + 2), tx = i % (SM_X + 2);
        int gx = min(max(x0 + tx - 1, 0), g.nx - 1);
        int gy = min(max(y0 + ty - 1, 0), g.ny - 1);
        tile[ty][tx] = in[gy * pitch + gx];
    }
    __syncthreads();
    int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
    if (x >= g.nx || y >= g.ny) return;
    float s = 0.f;
#pragma unroll
    for (int j = 0; j < 3; j++)
#pragma unroll
        for (int i = 0; i < 3; i++) s += tile[threadIdx.y + j][threadIdx.x + i];
    out[y * pitch + x] = s * (1.f / 9.f);
}

__global__ void bestServerKernel(const float *const *maps, int ntx, unsigned char *best, float *bestDbm, GridDesc g, int pitch)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= g.nx || y >= g.ny) return;
    float m = -1e30f;
    int arg = 0;
    for (int t = 0; t < ntx; t++) {
        float v = maps[t][y * pitch + x];
        if (v > m) { m = v; arg = t; }
    }
    best[y * g.nx + x] = (unsigned char)arg;
    bestDbm[y * g.nx + x] = m;
}

__global__ void histogramKernel(const float *v, int n, float lo, float step, int bins, unsigned *hist)
{
    extern __shared__ unsigned sh[];
    for (int b = threadIdx.x; b < bins; b += blockDim.x) sh[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int b = (int)((v[i] - lo) / step);
        b = b < 0 ? 0 : (b >= bins ? bins - 1 : b);
        atomicAdd(&sh[b], 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < bins; b += blockDim.x) if (sh[b]) atomicAdd(&hist[b], sh[b]);
}

// --------------------------------------------------------------------------------------------
// host classes
// --------------------------------------------------------------------------------------------
class Scene {
public:
    Scene(int nx, int ny, int nz, float cell) { desc = { nx, ny, nz, cell }; GPU_CALL(cudaMalloc(&dVox, bytes())); }
    ~Scene() { cudaFree(dVox); }
    size_t bytes() const { return (size_t)desc.nx * desc.ny * desc.nz; }
    void build()
    {
        dim3 b(32, 4, 2), gr((desc.nx + 31) / 32, (desc.ny + 3) / 4, (desc.nz + 1) / 2);
        voxelizeKernel<<<gr, b>>>(dVox, desc);
    }
    GridDesc desc;
    unsigned char *dVox = nullptr;
};

class Stage {
public:
    Stage(Scene &s, int pitch) : scene(s), pitch(pitch) {}
    virtual ~Stage() {}
    virtual void apply(int tx, float *loss, float *dbm, int *steps) = 0;
protected:
    dim3 grid2d(dim3 b) const { return dim3((scene.desc.nx + b.x - 1) / b.x, (scene.desc.ny + b.y - 1) / b.y); }
    Scene &scene;
    int pitch;
};

class DirectPath : public Stage {
public:
    DirectPath(Scene &s, int p, float h) : Stage(s, p), height(h) {}
    void apply(int tx, float *loss, float *, int *steps) override
    {
        dim3 b(16, 16);
        traceKernel<<<grid2d(b), b>>>(scene.dVox, scene.desc, tx, height, loss, steps, pitch);
    }
    float height;
};

class GroundBounce : public Stage {
public:
    GroundBounce(Scene &s, int p, float h, float thr) : Stage(s, p), height(h), threshold(thr) {}
    void apply(int tx, float *loss, float *, int *) override
    {
        int n = scene.desc.nx * scene.desc.ny;
        groundBounceKernel<<<(n + 127) / 128, 128>>>(scene.dVox, scene.desc, tx, height, loss, threshold, pitch);
    }
    float height, threshold;
};

class Finish : public Stage {
public:
    Finish(Scene &s, int p, float *tmp) : Stage(s, p), tmp(tmp) {}
    void apply(int tx, float *loss, float *dbm, int *) override
    {
        dim3 b(64, 4), sb(SM_X, SM_Y);
        powerKernel<<<grid2d(b), b>>>(loss, tmp, scene.desc, tx, pitch);
        smoothKernel<<<grid2d(sb), sb>>>(tmp, dbm, scene.desc, pitch);
    }
    float *tmp;
};

int main()
{
    Scene scene(203, 171, 24, 2.0f);
    const GridDesc g = scene.desc;
    const int pitch = g.nx + 2;                 // odd on purpose, that is what the file format has
    const int n = g.nx * g.ny;

    std::vector<TxParam> tx;
    std::map<std::string, Vec3> sites = { { "north", { 61.f, 300.f, 41.f } }, { "mall", { 210.5f, 151.f, 45.f } },
                                          { "south", { 333.f, 33.f, 39.f } } };
    for (auto &kv : sites) {
        TxParam t = {};
        t.pos = kv.second; t.power_dbm = 43.f; t.wavelength = 0.15f; t.sectors = 1;
        tx.push_back(t);
    }
    const float lossTable[8] = { 0.f, 12.f, 7.5f, 9.f, 15.f, 4.5f, 0.f, 0.f };
    GPU_CALL(cudaMemcpyToSymbol(c_tx, tx.data(), tx.size() * sizeof(TxParam)));
    GPU_CALL(cudaMemcpyToSymbol(c_lossPerMaterial, lossTable, sizeof(lossTable)));

    const int ntx = (int)tx.size();
    std::vector<float *> dMaps(ntx);
    float *dLoss, *dTmp, *dBest;
    int *dSteps;
    unsigned char *dArg;
    unsigned *dHist;
    const float **dMapPtrs;
    const int bins = 48;
    GPU_CALL(cudaMalloc(&dLoss, pitch * g.ny * sizeof(float)));
    GPU_CALL(cudaMalloc(&dTmp, pitch * g.ny * sizeof(float)));
    GPU_CALL(cudaMalloc(&dSteps, pitch * g.ny * sizeof(int)));
    GPU_CALL(cudaMalloc(&dBest, n * sizeof(float)));
    GPU_CALL(cudaMalloc(&dArg, n));
    GPU_CALL(cudaMalloc(&dHist, bins * sizeof(unsigned)));
    GPU_CALL(cudaMemset(dHist, 0, bins * sizeof(unsigned)));
    for (auto &m : dMaps) GPU_CALL(cudaMalloc(&m, pitch * g.ny * sizeof(float)));
    GPU_CALL(cudaMalloc(&dMapPtrs, ntx * sizeof(float *)));
    GPU_CALL(cudaMemcpy(dMapPtrs, dMaps.data(), ntx * sizeof(float *), cudaMemcpyHostToDevice));

    scene.build();
    std::vector<std::unique_ptr<Stage>> pipeline;
    pipeline.emplace_back(new DirectPath(scene, pitch, 3.4f));
    pipeline.emplace_back(new GroundBounce(scene, pitch, 3.4f, 120.f));
    pipeline.emplace_back(new Finish(scene, pitch, dTmp));

    std::vector<float> lossAfterDirect(pitch * g.ny);
    std::vector<int> steps(pitch * g.ny);
    for (int t = 0; t < ntx; t++)
        for (size_t s = 0; s < pipeline.size(); s++) {
            pipeline[s]->apply(t, dLoss, dMaps[t], dSteps);
            GPU_CALL(cudaGetLastError());
            if (t == 1 && s == 0) {
                GPU_CALL(cudaMemcpy(lossAfterDirect.data(), dLoss, pitch * g.ny * sizeof(float), cudaMemcpyDeviceToHost));
                GPU_CALL(cudaMemcpy(steps.data(), dSteps, pitch * g.ny * sizeof(int), cudaMemcpyDeviceToHost));
            }
        }
    bestServerKernel<<<dim3((g.nx + 31) / 32, (g.ny + 7) / 8), dim3(32, 8)>>>(dMapPtrs, ntx, dArg, dBest, g, pitch);
    histogramKernel<<<20, 256, bins * sizeof(unsigned)>>>(dBest, n, -140.f, 2.5f, bins, dHist);
    GPU_CALL(cudaDeviceSynchronize());

    // ---- checks ----
    int bad = 0;
    std::vector<unsigned char> vox(scene.bytes()), ref(scene.bytes());
    GPU_CALL(cudaMemcpy(vox.data(), scene.dVox, scene.bytes(), cudaMemcpyDeviceToHost));
    for (int z = 0; z < g.nz; z++) for (int y = 0; y < g.ny; y++) for (int x = 0; x < g.nx; x++)
        ref[(z * g.ny + y) * g.nx + x] = material(x, y, z, g.nx, g.ny);
    if (memcmp(vox.data(), ref.data(), ref.size())) { printf("voxels differ\n"); bad++; }

    int off = 0;           // a ray that grazes a voxel edge may take the other side: a small share may differ
    HostLoss hl = { lossTable };
    for (int y = 0; y < g.ny; y++) for (int x = 0; x < g.nx; x++) {
        Vec3 rx = { (x + 0.5f) * g.cell, (y + 0.5f) * g.cell, 3.4f }, t = tx[1].pos;
        float d = sqrtf((rx.x - t.x) * (rx.x - t.x) + (rx.y - t.y) * (rx.y - t.y) + (rx.z - t.z) * (rx.z - t.z));
        int st;
        float l = walk(ref.data(), g, t, rx, hl, &st) + freeSpace(d, tx[1].wavelength);
        if (fabsf(l - lossAfterDirect[y * pitch + x]) > 0.05f) off++;
        if (steps[y * pitch + x] > g.nx + g.ny + g.nz) bad++;
    }
    if (off > n / 50) { printf("%d of %d paths differ\n", off, n); bad++; }

    std::vector<std::vector<float>> maps(ntx, std::vector<float>(pitch * g.ny));
    for (int t = 0; t < ntx; t++) GPU_CALL(cudaMemcpy(maps[t].data(), dMaps[t], pitch * g.ny * sizeof(float), cudaMemcpyDeviceToHost));
    std::vector<unsigned char> arg(n);
    std::vector<float> best(n);
    std::vector<unsigned> hist(bins);
    GPU_CALL(cudaMemcpy(arg.data(), dArg, n, cudaMemcpyDeviceToHost));
    GPU_CALL(cudaMemcpy(best.data(), dBest, n * sizeof(float), cudaMemcpyDeviceToHost));
    GPU_CALL(cudaMemcpy(hist.data(), dHist, bins * sizeof(unsigned), cudaMemcpyDeviceToHost));
    unsigned total = 0;
    for (unsigned h : hist) total += h;
    if (total != (unsigned)n) { printf("histogram holds %u\n", total); bad++; }
    for (int y = 0; y < g.ny; y++) for (int x = 0; x < g.nx; x++) {
        float m = -1e30f; int a = 0;
        for (int t = 0; t < ntx; t++) if (maps[t][y * pitch + x] > m) { m = maps[t][y * pitch + x]; a = t; }
        if (a != arg[y * g.nx + x] || m != best[y * g.nx + x]) bad++;
    }
    printf("%d transmitters, %d receivers, %d grazing rays\n", ntx, n, off);
    printf("%s\n", bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
