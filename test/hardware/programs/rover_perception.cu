// Perception stack of a small rover: census stereo, lidar ray casting into an occupancy
// grid, exact Euclidean distance transform of the grid, ICP correspondences.
#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define ROVER_CUDA(call)                                                        \
    if (cudaError_t e__ = (call); e__ != cudaSuccess) {                         \
        fprintf(stderr, "rover: %s -> %s\n", #call, cudaGetErrorString(e__));   \
        exit(EXIT_FAILURE);                                                     \
    }

// ---------------------------------------------------------------- parameters
static const int IMG_W = 331, IMG_H = 203;      // odd pitch: rows start unaligned
static const int MAX_DISP = 32;
static const int GRID = 250;
static const int N_BEAMS = 1080;
enum : int { TX = 32, TY = 8, WIN = 1 };

struct ImageView { const uint8_t* px; int w, h, pitch; };
struct Point { float x, y, z; uint8_t intensity; };        // 16 bytes, only 12 of them used
struct Pose  { float R[9]; float t[3]; };
struct Beam  { short ex, ey; uint8_t hit; uint8_t ring; }; // 6 bytes

// ---------------------------------------------------------------- stereo
__host__ __device__ inline uint32_t census_at(const ImageView& im, int x, int y) {
    uint32_t bits = 0;
    const uint8_t c = im.px[y * im.pitch + x];
    for (int dy = -2; dy <= 2; ++dy)
        for (int dx = -2; dx <= 2; ++dx) {
            if (dx == 0 && dy == 0) continue;
            int xx = x + dx, yy = y + dy;
            xx = xx < 0 ? 0 : (xx >= im.w ? im.w - 1 : xx);
            yy = yy < 0 ? 0 : (yy >= im.h ? im.h - 1 : yy);
            bits = (bits << 1) | (im.px[yy * im.pitch + xx] < c ? 1u : 0u);
        }
    return bits;
}

__global__ void census_kernel(ImageView im, uint32_t* out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < im.w && y < im.h) out[y * im.w + x] = census_at(im, x, y);
}

__device__ inline int clampi(int v, int lo, int hi) { return min(max(v, lo), hi); }

__global__ void __launch_bounds__(TX * TY) stereo_kernel(const uint32_t* L, const uint32_t* R, int w, int h, uint8_t* disp) {
    extern __shared__ uint32_t tile[];
    const int lw = TX + 2 * WIN, lh = TY + 2 * WIN, rw = lw + MAX_DISP - 1;
    uint32_t* left = tile;                 // lw x lh
    uint32_t* right = tile + lw * lh;      // rw x lh
    const int x0 = blockIdx.x * TX - WIN, y0 = blockIdx.y * TY - WIN;
    const int tid = threadIdx.y * TX + threadIdx.x;
    for (int i = tid; i < lw * lh; i += TX * TY)
        left[i] = L[clampi(y0 + i / lw, 0, h - 1) * w + clampi(x0 + i % lw, 0, w - 1)];
    for (int i = tid; i < rw * lh; i += TX * TY)
        right[i] = R[clampi(y0 + i / rw, 0, h - 1) * w + clampi(x0 - (MAX_DISP - 1) + i % rw, 0, w - 1)];
    __syncthreads();
    const int x = x0 + WIN + threadIdx.x, y = y0 + WIN + threadIdx.y;
    if (x >= w || y >= h) return;
    int best = INT_MAX, bestd = 0;
    for (int d = 0; d < MAX_DISP; ++d) {
        int cost = 0;
#pragma unroll
        for (int j = 0; j <= 2 * WIN; ++j)
#pragma unroll
            for (int i = 0; i <= 2 * WIN; ++i)
                cost += __popc(left[(threadIdx.y + j) * lw + threadIdx.x + i] ^
                               right[(threadIdx.y + j) * rw + threadIdx.x + i + (MAX_DISP - 1) - d]);
        if (cost < best) { best = cost; bestd = d; }
    }
    disp[y * w + x] = (uint8_t)bestd;
}

// ---------------------------------------------------------------- mapping
template <class Visit>
__host__ __device__ void bresenham(int x, int y, int x1, int y1, Visit visit) {
    const int dx = x1 > x ? x1 - x : x - x1, dy = y1 > y ? y - y1 : y1 - y;
    const int sx = x < x1 ? 1 : -1, sy = y < y1 ? 1 : -1;
    int err = dx + dy;
    while (x != x1 || y != y1) {
        visit(x, y);
        const int e2 = 2 * err;
        if (e2 >= dy) { err += dy; x += sx; }
        if (e2 <= dx) { err += dx; y += sy; }
    }
}

struct GridUpdate {
    int* cells;
    __host__ __device__ void operator()(int x, int y) const {
#ifdef __CUDA_ARCH__
        atomicAdd(&cells[y * GRID + x], -1);
#else
        cells[y * GRID + x] -= 1;
#endif
    }
};

__global__ void raycast_kernel(const Beam* beams, int n, int ox, int oy, int* grid) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Beam b = beams[i];
    bresenham(ox, oy, b.ex, b.ey, GridUpdate{grid});
    if (b.hit) atomicAdd(&grid[b.ey * GRID + b.ex], 40);
}

__global__ void edt_columns(const int* grid, int n, int thresh, short* g) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= n) return;
    int run = 2 * n;
    for (int y = 0; y < n; ++y) { run = grid[y * n + x] > thresh ? 0 : min(run + 1, 2 * n); g[y * n + x] = (short)run; }
    run = 2 * n;
    for (int y = n - 1; y >= 0; --y) {
        int down = g[y * n + x];
        run = down == 0 ? 0 : min(run + 1, 2 * n);
        g[y * n + x] = (short)min(run, down);
    }
}

__global__ void edt_rows(const short* g, int n, float* dist) {
    extern __shared__ short row[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) row[i] = g[blockIdx.x * n + i];
    __syncthreads();
    for (int x = threadIdx.x; x < n; x += blockDim.x) {
        int best = INT_MAX;
#pragma unroll 4
        for (int u = 0; u < n; ++u) { int v = row[u], d = x - u; best = min(best, d * d + v * v); }
        dist[blockIdx.x * n + x] = sqrtf((float)best);
    }
}

// ---------------------------------------------------------------- registration
__host__ __device__ inline float3 apply(const Pose& T, const Point& p) {
    return make_float3(T.R[0] * p.x + T.R[1] * p.y + T.R[2] * p.z + T.t[0],
                       T.R[3] * p.x + T.R[4] * p.y + T.R[5] * p.z + T.t[1],
                       T.R[6] * p.x + T.R[7] * p.y + T.R[8] * p.z + T.t[2]);
}

template <int TILE>
__global__ void __launch_bounds__(TILE) nearest_kernel(const Point* __restrict__ src, int ns, const Point* __restrict__ dst,
                                                       int nd, Pose T, int* __restrict__ match, float* __restrict__ d2) {
    __shared__ float3 s[TILE];
    const int i = blockIdx.x * TILE + threadIdx.x;
    float3 q = make_float3(0.f, 0.f, 0.f);
    if (i < ns) q = apply(T, src[i]);
    float best = 3.4e38f; int arg = 0;
    for (int base = 0; base < nd; base += TILE) {
        if (base + (int)threadIdx.x < nd) {
            const Point& p = dst[base + threadIdx.x];
            s[threadIdx.x] = make_float3(p.x, p.y, p.z);
        }
        __syncthreads();
        const int m = min(TILE, nd - base);
        for (int j = 0; j < m; ++j) {
            float a = q.x - s[j].x, b = q.y - s[j].y, c = q.z - s[j].z, d = a * a + b * b + c * c;
            if (d < best) { best = d; arg = base + j; }
        }
        __syncthreads();
    }
    if (i < ns) { match[i] = arg; d2[i] = best; }
}

template <class T> T* gpu(const std::vector<T>& v) {
    T* p; ROVER_CUDA(cudaMalloc(&p, v.size() * sizeof(T)));
    ROVER_CUDA(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}
template <class T> void fetch(std::vector<T>& v, const T* p) { ROVER_CUDA(cudaMemcpy(v.data(), p, v.size() * sizeof(T), cudaMemcpyDeviceToHost)); }

int main(int argc, char** argv) {
    const int ns = argc > 1 ? std::max(1, atoi(argv[1])) : 3001, nd = 5003;
    uint32_t s = 2463534242u;
    auto rng = [&] { s ^= s << 13; s ^= s >> 17; s ^= s << 5; return s; };
    auto uni = [&] { return (rng() >> 8) * (1.f / 16777216.f); };
    int bad = 0;

    // stereo
    std::vector<uint8_t> li(IMG_W * IMG_H), ri(IMG_W * IMG_H), disp(IMG_W * IMG_H);
    for (auto& p : ri) p = (uint8_t)(rng() >> 13);
    for (int y = 0; y < IMG_H; ++y) for (int x = 0; x < IMG_W; ++x) {
        int d = 4 + (x / 40 + y / 50) % 20; li[y * IMG_W + x] = ri[y * IMG_W + std::max(0, x - d)];
    }
    std::vector<uint32_t> cl(li.size()), cr(li.size());
    uint8_t *dli = gpu(li), *dri = gpu(ri), *ddisp = gpu(disp);
    uint32_t *dcl = gpu(cl), *dcr = gpu(cr);
    dim3 b2(16, 16), g2((IMG_W + 15) / 16, (IMG_H + 15) / 16);
    census_kernel<<<g2, b2>>>(ImageView{dli, IMG_W, IMG_H, IMG_W}, dcl);
    census_kernel<<<g2, b2>>>(ImageView{dri, IMG_W, IMG_H, IMG_W}, dcr);
    const size_t smem = sizeof(uint32_t) * (TY + 2 * WIN) * (2 * (TX + 2 * WIN) + MAX_DISP - 1);
    stereo_kernel<<<dim3((IMG_W + TX - 1) / TX, (IMG_H + TY - 1) / TY), dim3(TX, TY), smem>>>(dcl, dcr, IMG_W, IMG_H, ddisp);
    ROVER_CUDA(cudaGetLastError());
    fetch(disp, ddisp);
    ImageView hl{li.data(), IMG_W, IMG_H, IMG_W}, hr{ri.data(), IMG_W, IMG_H, IMG_W};
    for (int y = 0; y < IMG_H; ++y) for (int x = 0; x < IMG_W; ++x) { cl[y * IMG_W + x] = census_at(hl, x, y); cr[y * IMG_W + x] = census_at(hr, x, y); }
    for (int y = 0; y < IMG_H; ++y) for (int x = 0; x < IMG_W; ++x) {
        int best = INT_MAX, bd = 0;
        for (int d = 0; d < MAX_DISP; ++d) {
            int c = 0;
            for (int j = -WIN; j <= WIN; ++j) for (int i = -WIN; i <= WIN; ++i) {
                int yy = std::clamp(y + j, 0, IMG_H - 1), xl = std::clamp(x + i, 0, IMG_W - 1), xr = std::clamp(x + i - d, 0, IMG_W - 1);
                c += __builtin_popcount(cl[yy * IMG_W + xl] ^ cr[yy * IMG_W + xr]);
            }
            if (c < best) { best = c; bd = d; }
        }
        if (disp[y * IMG_W + x] != bd && bad++ < 3) printf("disparity (%d,%d) %d want %d\n", x, y, disp[y * IMG_W + x], bd);
    }

    // occupancy grid and distance field
    const int ox = 120, oy = 131;
    std::vector<Beam> beams(N_BEAMS);
    for (int i = 0; i < N_BEAMS; ++i) {
        double a = 2 * 3.14159265358979 * i / N_BEAMS, r = 40 + 60 * std::fabs(std::sin(3 * a)) + (int)(rng() % 4);
        beams[i] = {(short)std::clamp((int)(ox + r * std::cos(a)), 0, GRID - 1), (short)std::clamp((int)(oy + r * std::sin(a)), 0, GRID - 1), (uint8_t)(rng() % 5 != 0), (uint8_t)(i % 16)};
    }
    std::vector<int> grid(GRID * GRID, 0), rgrid(GRID * GRID, 0); std::vector<short> gcol(GRID * GRID, 0); std::vector<float> dist(GRID * GRID, 0.f);
    Beam* dbeams = gpu(beams); int* dgrid = gpu(grid); short* dg = gpu(gcol); float* ddist = gpu(dist);
    raycast_kernel<<<(N_BEAMS + 127) / 128, 128>>>(dbeams, N_BEAMS, ox, oy, dgrid);
    edt_columns<<<(GRID + 31) / 32, 32>>>(dgrid, GRID, 10, dg);
    edt_rows<<<GRID, 128, GRID * sizeof(short)>>>(dg, GRID, ddist);
    ROVER_CUDA(cudaGetLastError());
    fetch(grid, dgrid); fetch(dist, ddist);
    for (const Beam& b : beams) { bresenham(ox, oy, b.ex, b.ey, GridUpdate{rgrid.data()}); if (b.hit) rgrid[b.ey * GRID + b.ex] += 40; }
    if (grid != rgrid) { printf("occupancy grid differs\n"); bad++; }
    std::vector<int2> obst;
    for (int y = 0; y < GRID; ++y) for (int x = 0; x < GRID; ++x) if (rgrid[y * GRID + x] > 10) obst.push_back(make_int2(x, y));
    for (int y = 0; y < GRID; ++y) for (int x = 0; x < GRID; ++x) {
        int best = INT_MAX;
        for (int2 o : obst) best = std::min(best, (o.x - x) * (o.x - x) + (o.y - y) * (o.y - y));
        if (!(std::fabs(dist[y * GRID + x] - std::sqrt((double)best)) < 1e-3) && bad++ < 6) printf("edt (%d,%d) %g want %g\n", x, y, dist[y * GRID + x], std::sqrt((double)best));
    }

    // ICP step
    std::vector<Point> src(ns), dst(nd);
    for (auto& p : src) p = {10 * uni(), 10 * uni(), 3 * uni(), (uint8_t)rng()};
    for (auto& p : dst) p = {10 * uni(), 10 * uni(), 3 * uni(), (uint8_t)rng()};
    Pose T = {{0.9998f, -0.02f, 0.f, 0.02f, 0.9998f, 0.f, 0.f, 0.f, 1.f}, {0.05f, -0.03f, 0.01f}};
    std::vector<int> match(ns, 0); std::vector<float> d2(ns, 0.f);
    Point *dsrc = gpu(src), *ddst = gpu(dst); int* dmatch = gpu(match); float* dd2 = gpu(d2);
    nearest_kernel<128><<<(ns + 127) / 128, 128>>>(dsrc, ns, ddst, nd, T, dmatch, dd2);
    ROVER_CUDA(cudaGetLastError());
    fetch(match, dmatch); fetch(d2, dd2);
    for (int i = 0; i < ns; ++i) {
        float3 q = apply(T, src[i]); double best = 1e30;
        for (const Point& p : dst) { double a = q.x - p.x, b = q.y - p.y, c = q.z - p.z; best = std::min(best, a * a + b * b + c * c); }
        if (!(std::fabs(best - d2[i]) < 1e-4) && bad++ < 9) printf("nn %d: %g want %g\n", i, d2[i], best);
        if (match[i] < 0 || match[i] >= nd) { bad++; continue; }
        const Point& m = dst[match[i]];
        double a = q.x - m.x, b = q.y - m.y, c = q.z - m.z;
        if (!(std::fabs(a * a + b * b + c * c - best) < 1e-4) && bad++ < 12) printf("nn %d matched %d\n", i, match[i]);
    }

    for (void* p : {(void*)dli, (void*)dri, (void*)ddisp, (void*)dcl, (void*)dcr, (void*)dbeams, (void*)dgrid, (void*)dg,
                    (void*)ddist, (void*)dsrc, (void*)ddst, (void*)dmatch, (void*)dd2}) cudaFree(p);
    printf("%s\n", bad ? "FAIL" : "PASS");
    return bad != 0;
}
