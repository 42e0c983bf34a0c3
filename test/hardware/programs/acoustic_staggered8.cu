// acoustic3d: first order velocity-pressure system on a staggered grid,
// O(dt^2, dx^8), sponge boundaries, a few shots worth of time steps.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>
#include <map>
#include <random>
#include <algorithm>
#include <cuda_runtime.h>

#define R 4            // stencil half width
#define BX 32
#define BY 8

#define CUCHK(s) do { cudaError_t rc_ = (s); if (rc_ != cudaSuccess) { \
    fprintf(stderr, "acoustic3d: %s (line %d)\n", cudaGetErrorString(rc_), __LINE__); exit(1); } } while (0)

__constant__ float cc[R];
static const double hc[R] = {1225.0 / 1024.0, -245.0 / 3072.0, 49.0 / 5120.0, -5.0 / 7168.0};

struct Grid {
    int nx, ny, nz;
    size_t sy, sz;                      // strides of the padded cube
    Grid(int x, int y, int z) : nx(x), ny(y), nz(z), sy(x + 2 * R), sz(size_t(x + 2 * R) * (y + 2 * R)) {}
    __host__ __device__ size_t at(int x, int y, int z) const { return (z + R) * sz + (y + R) * sy + (x + R); }
    size_t cells() const { return sz * (nz + 2 * R); }
};

struct Fields { float *p, *vx, *vy, *vz; };
struct Medium { const float *buoy, *kappa, *tx, *ty, *tz; };

// tile load with halo; x and y clamped so that partial blocks stay inside the padded cube
__device__ __forceinline__ void load_tile(float (*tile)[BX + 2 * R], const float* f, const Grid& g, int x0, int y0, int z)
{
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int mx = g.nx + R - 1, my = g.ny + R - 1;
    const int cx = min(x0 + tx, mx), cy = min(y0 + ty, my);
    tile[ty + R][tx + R] = f[g.at(cx, cy, z)];
    if (tx < R) {
        tile[ty + R][tx] = f[g.at(x0 + tx - R, cy, z)];
        tile[ty + R][tx + BX + R] = f[g.at(min(x0 + tx + BX, mx), cy, z)];
    }
    if (ty < R) {
        tile[ty][tx + R] = f[g.at(cx, y0 + ty - R, z)];
        tile[ty + BY + R][tx + R] = f[g.at(cx, min(y0 + ty + BY, my), z)];
    }
}

__global__ __launch_bounds__(BX * BY)
void update_velocity(Grid g, Fields f, Medium m, float dtdx, int zchunk)
{
    __shared__ float tile[BY + 2 * R][BX + 2 * R];
    const int x0 = blockIdx.x * BX, y0 = blockIdx.y * BY;
    const int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
    const int z0 = blockIdx.z * zchunk, z1 = min(z0 + zchunk, g.nz);
    const bool active = x < g.nx && y < g.ny;
    const int xc = min(x, g.nx - 1), yc = min(y, g.ny - 1);

    float q[2 * R];                     // p at z-3 .. z+4
    for (int k = 0; k < 2 * R - 1; k++) q[k + 1] = f.p[g.at(xc, yc, z0 - R + 1 + k)];

    for (int z = z0; z < z1; z++) {
#pragma unroll
        for (int k = 0; k < 2 * R - 1; k++) q[k] = q[k + 1];
        q[2 * R - 1] = f.p[g.at(xc, yc, z + R)];
        __syncthreads();
        load_tile(tile, f.p, g, x0, y0, z);
        __syncthreads();
        if (!active) continue;

        const int tx = threadIdx.x + R, ty = threadIdx.y + R;
        float dx = 0, dy = 0, dz = 0;
#pragma unroll
        for (int k = 1; k <= R; k++) {
            dx += cc[k - 1] * (tile[ty][tx + k] - tile[ty][tx - k + 1]);
            dy += cc[k - 1] * (tile[ty + k][tx] - tile[ty - k + 1][tx]);
            dz += cc[k - 1] * (q[R - 1 + k] - q[R - k]);
        }
        const size_t i = g.at(x, y, z);
        const float s = m.tx[x] * m.ty[y] * m.tz[z], b = dtdx * m.buoy[i];
        f.vx[i] = s * (f.vx[i] - b * dx);
        f.vy[i] = s * (f.vy[i] - b * dy);
        f.vz[i] = s * (f.vz[i] - b * dz);
    }
}

__global__ __launch_bounds__(BX * BY)
void update_pressure(Grid g, Fields f, Medium m, float dtdx, int zchunk)
{
    __shared__ float tvx[BY + 2 * R][BX + 2 * R];
    __shared__ float tvy[BY + 2 * R][BX + 2 * R];
    const int x0 = blockIdx.x * BX, y0 = blockIdx.y * BY;
    const int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
    const int z0 = blockIdx.z * zchunk, z1 = min(z0 + zchunk, g.nz);
    const bool active = x < g.nx && y < g.ny;
    const int xc = min(x, g.nx - 1), yc = min(y, g.ny - 1);

    float q[2 * R];                     // vz at z-4 .. z+3
    for (int k = 0; k < 2 * R - 1; k++) q[k + 1] = f.vz[g.at(xc, yc, z0 - R + k)];

    for (int z = z0; z < z1; z++) {
#pragma unroll
        for (int k = 0; k < 2 * R - 1; k++) q[k] = q[k + 1];
        q[2 * R - 1] = f.vz[g.at(xc, yc, z + R - 1)];
        __syncthreads();
        load_tile(tvx, f.vx, g, x0, y0, z);
        load_tile(tvy, f.vy, g, x0, y0, z);
        __syncthreads();
        if (active) {
            const int tx = threadIdx.x + R, ty = threadIdx.y + R;
            float div = 0;
#pragma unroll
            for (int k = 1; k <= R; k++)
                div += cc[k - 1] * (tvx[ty][tx + k - 1] - tvx[ty][tx - k] + tvy[ty + k - 1][tx] - tvy[ty - k][tx] +
                                    q[R + k - 1] - q[R - k]);
            const size_t i = g.at(x, y, z);
            f.p[i] = m.tx[x] * m.ty[y] * m.tz[z] * (f.p[i] - dtdx * m.kappa[i] * div);
        }
    }
}

// one block: source goes in with thread 0, all threads record afterwards
__global__ void source_receivers(Grid g, float* p, int3 src, float amp, const int3* rec, int nrec, float* trace)
{
    if (threadIdx.x == 0) p[g.at(src.x, src.y, src.z)] += amp;
    __syncthreads();
    for (int r = threadIdx.x; r < nrec; r += blockDim.x) trace[r] = p[g.at(rec[r].x, rec[r].y, rec[r].z)];
}

// vertical energy profile: one block per depth slice
__global__ void slice_energy(Grid g, const float* p, float* out)
{
    __shared__ float sm[256];
    float e = 0;
    for (int i = threadIdx.x; i < g.nx * g.ny; i += blockDim.x) {
        const float v = p[g.at(i / g.ny, i % g.ny, blockIdx.x)];
        e += v * v;
    }
    sm[threadIdx.x] = e;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        if (threadIdx.x % (2 * s) == 0) sm[threadIdx.x] += sm[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = sm[0];
}

static float* dev(const std::vector<float>& h)
{
    float* d = nullptr;
    CUCHK(cudaMalloc(&d, h.size() * sizeof(float)));
    CUCHK(cudaMemcpy(d, h.data(), h.size() * sizeof(float), cudaMemcpyHostToDevice));
    return d;
}

static std::vector<float> sponge(int n, int width)
{
    std::vector<float> t(n, 1.0f);
    for (int i = 0; i < width; i++) t[i] = t[n - 1 - i] = std::exp(-std::pow(0.03 * (width - i), 2.0));
    return t;
}

int main(int argc, char** argv)
{
    std::map<std::string, int> par = {{"nx", 100}, {"ny", 84}, {"nz", 72}, {"nt", 4}};
    for (int a = 1; a < argc; a++)                       // key=value, seismic unix style
        if (const char* eq = strchr(argv[a], '=')) par[std::string(argv[a], eq - argv[a])] = atoi(eq + 1);
    const Grid g(par["nx"], par["ny"], par["nz"]);
    const int nt = par["nt"];
    const float dx = 10.0f, dt = 0.001f, dtdx = dt / dx;

    // layered model with a perturbation
    std::mt19937 rng(77);
    std::uniform_real_distribution<float> u(-1.0f, 1.0f);
    const size_t n = g.cells();
    std::vector<float> buoy(n), kappa(n), p0(n, 0.0f), zero(n, 0.0f);
    for (int z = -R; z < g.nz + R; z++)
        for (int y = -R; y < g.ny + R; y++)
            for (int x = -R; x < g.nx + R; x++) {
                const size_t i = g.at(x, y, z);
                const float vp = 1500.0f + 25.0f * std::max(z, 0) + (z > 40 ? 600.0f : 0.0f) + 40.0f * u(rng);
                const float rho = 1000.0f + 0.2f * (vp - 1500.0f);
                buoy[i] = 1.0f / rho;
                kappa[i] = rho * vp * vp;
                if (x >= 0 && y >= 0 && z >= 0 && x < g.nx && y < g.ny && z < g.nz) {
                    const float r2 = std::pow(x - 0.45f * g.nx, 2.0f) + std::pow(y - 0.5f * g.ny, 2.0f) + std::pow(z - 0.3f * g.nz, 2.0f);
                    p0[i] = std::exp(-r2 / 220.0f) + 0.05f * u(rng);
                }
            }
    const auto tx = sponge(g.nx, 10), ty = sponge(g.ny, 10), tz = sponge(g.nz, 12);
    const int3 src = make_int3(g.nx / 2, g.ny / 2, 6);
    std::vector<int3> rec;
    for (int i = 0; i < 48; i++) rec.push_back(make_int3(2 + (i * (g.nx - 4)) / 48, (i * 13) % g.ny, 4 + i % 5));
    const int nrec = (int)rec.size();
    auto ricker = [](int it) { const double a = std::pow(M_PI * 25.0 * (it * 0.001 - 0.004), 2.0); return float(2.0 * (1 - 2 * a) * std::exp(-a)); };

    const float coeff[R] = {(float)hc[0], (float)hc[1], (float)hc[2], (float)hc[3]};
    CUCHK(cudaMemcpyToSymbol(cc, coeff, sizeof coeff));
    Fields f = {dev(p0), dev(zero), dev(zero), dev(zero)};
    Medium m = {dev(buoy), dev(kappa), dev(tx), dev(ty), dev(tz)};
    float *dtrace = dev(std::vector<float>(size_t(nt) * nrec, 0.0f)), *denergy = dev(std::vector<float>(g.nz, 0.0f));
    int3* drec;
    CUCHK(cudaMalloc(&drec, nrec * sizeof(int3)));
    CUCHK(cudaMemcpy(drec, rec.data(), nrec * sizeof(int3), cudaMemcpyHostToDevice));

    const int zchunk = 24;
    const dim3 blk(BX, BY), grd((g.nx + BX - 1) / BX, (g.ny + BY - 1) / BY, (g.nz + zchunk - 1) / zchunk);
    cudaEvent_t e0, e1;
    CUCHK(cudaEventCreate(&e0));
    CUCHK(cudaEventCreate(&e1));
    CUCHK(cudaEventRecord(e0));
    for (int it = 0; it < nt; it++) {
        update_velocity<<<grd, blk>>>(g, f, m, dtdx, zchunk);
        update_pressure<<<grd, blk>>>(g, f, m, dtdx, zchunk);
        source_receivers<<<1, 64>>>(g, f.p, src, ricker(it), drec, nrec, dtrace + size_t(it) * nrec);
    }
    slice_energy<<<g.nz, 256>>>(g, f.p, denergy);
    CUCHK(cudaGetLastError());
    CUCHK(cudaEventRecord(e1));
    CUCHK(cudaDeviceSynchronize());
    float ms = 0;
    CUCHK(cudaEventElapsedTime(&ms, e0, e1));

    // host propagation
    std::vector<float> p = p0, vx = zero, vy = zero, vz = zero, tr;
    const ptrdiff_t sy = g.sy, sz = g.sz;
    for (int it = 0; it < nt; it++) {
        for (int pass = 0; pass < 2; pass++)
            for (int z = 0; z < g.nz; z++)
                for (int y = 0; y < g.ny; y++)
                    for (int x = 0; x < g.nx; x++) {
                        const ptrdiff_t i = g.at(x, y, z);
                        const float s = tx[x] * ty[y] * tz[z];
                        double ax = 0, ay = 0, az = 0;
                        for (int k = 1; k <= R; k++) {
                            if (pass == 0) {
                                ax += hc[k - 1] * (p[i + k] - p[i - k + 1]);
                                ay += hc[k - 1] * (p[i + k * sy] - p[i - (k - 1) * sy]);
                                az += hc[k - 1] * (p[i + k * sz] - p[i - (k - 1) * sz]);
                            } else {
                                ax += hc[k - 1] * (vx[i + k - 1] - vx[i - k]);
                                ay += hc[k - 1] * (vy[i + (k - 1) * sy] - vy[i - k * sy]);
                                az += hc[k - 1] * (vz[i + (k - 1) * sz] - vz[i - k * sz]);
                            }
                        }
                        if (pass == 0) {
                            vx[i] = s * (vx[i] - dtdx * buoy[i] * ax);
                            vy[i] = s * (vy[i] - dtdx * buoy[i] * ay);
                            vz[i] = s * (vz[i] - dtdx * buoy[i] * az);
                        } else
                            p[i] = s * (p[i] - dtdx * kappa[i] * (ax + ay + az));
                    }
        p[g.at(src.x, src.y, src.z)] += ricker(it);
        for (const auto& r : rec) tr.push_back(p[g.at(r.x, r.y, r.z)]);
    }
    std::vector<double> en(g.nz, 0.0);
    for (int z = 0; z < g.nz; z++)
        for (int y = 0; y < g.ny; y++)
            for (int x = 0; x < g.nx; x++) en[z] += double(p[g.at(x, y, z)]) * p[g.at(x, y, z)];

    auto compare = [](const char* name, const float* d, const auto& ref) {
        std::vector<float> h(ref.size());
        CUCHK(cudaMemcpy(h.data(), d, h.size() * sizeof(float), cudaMemcpyDeviceToHost));
        double mx = 0, er = 0;
        for (size_t i = 0; i < h.size(); i++) {
            mx = std::max(mx, std::fabs(double(ref[i])));
            const double e = std::fabs(double(h[i]) - ref[i]);
            if (!(e <= er)) er = e;
        }
        printf("  %-8s max %.4e  rel err %.2e\n", name, mx, er / mx);
        return er <= 1e-3 * mx;
    };
    printf("%d x %d x %d, %d steps, %.3f ms\n", g.nx, g.ny, g.nz, nt, ms);
    bool ok = compare("p", f.p, p);
    ok = compare("vx", f.vx, vx) && ok;
    ok = compare("vz", f.vz, vz) && ok;
    ok = compare("traces", dtrace, tr) && ok;
    ok = compare("energy", denergy, en) && ok;
    puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
