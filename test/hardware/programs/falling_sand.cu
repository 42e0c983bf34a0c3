// falling-sand toy: sand, water, wall, empty. Margolus (2x2 block) neighbourhood so that
// updates are conflict free and the whole thing is deterministic.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdint>
#include <cstring>
#include <vector>
#include <array>

typedef uint8_t  u8;
typedef uint32_t u32;

enum Cell : u8 { EMPTY = 0, WATER = 1, SAND = 2, WALL = 3 };

struct World {
    int w, h;
    u8* cells;
};

static const int W = 1024;
static const int H = 768;
static const int STEPS = 12;

#define GPU(call) do { cudaError_t err_ = call; if (err_) { fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err_)); return 1; } } while (0)

__host__ __device__ inline u32 hash3(u32 x, u32 y, u32 t)
{
    u32 h = x * 0x9E3779B1u ^ y * 0x85EBCA77u ^ t * 0xC2B2AE3Du;
    h ^= h >> 15;
    h *= 0x2C1B3C6Du;
    h ^= h >> 12;
    return h;
}

// rule for one 2x2 block. a b = upper row, c d = lower row
__host__ __device__ inline void rule(u8& a, u8& b, u8& c, u8& d, u32 rnd)
{
    // straight fall (density order EMPTY < WATER < SAND)
    if (a != WALL && c != WALL && a > c) {
        u8 t = a; a = c; c = t;
    }
    if (b != WALL && d != WALL && b > d) {
        u8 t = b; b = d; d = t;
    }
    // diagonal slide
    if (a == SAND && d < SAND && b != WALL) {
        u8 t = a; a = d; d = t;
    } else if (b == SAND && c < SAND && a != WALL) {
        u8 t = b; b = c; c = t;
    }
    // water spreads sideways now and then
    if ((rnd & 3u) == 0) {
        if (c == WATER && d == EMPTY) {
            c = EMPTY; d = WATER;
        } else if (d == WATER && c == EMPTY) {
            d = EMPTY; c = WATER;
        }
    }
}

__global__ void k_paint(World wd, u32 seed)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= wd.w || y >= wd.h) return;
    u32 r = hash3(x, y, seed) % 100;
    u8 c = EMPTY;
    if (r < 30) c = SAND;
    else if (r < 45) c = WATER;
    if (y % 97 == 60 && (x / 40) % 2 == 0) c = WALL;
    if (x == 0 || y == 0 || x == wd.w - 1 || y == wd.h - 1) c = WALL;
    wd.cells[y * wd.w + x] = c;
}

// one thread = one 2x2 block, four byte loads and four byte stores straight to global memory
__global__ void k_step(World wd, int ox, int oy, u32 t)
{
    int bx = (blockIdx.x * blockDim.x + threadIdx.x) * 2 + ox;
    int by = (blockIdx.y * blockDim.y + threadIdx.y) * 2 + oy;
    if (bx + 1 >= wd.w || by + 1 >= wd.h) return;
    u8* p = wd.cells + by * wd.w + bx;
    u8 a = p[0];
    u8 b = p[1];
    u8 c = p[wd.w];
    u8 d = p[wd.w + 1];
    rule(a, b, c, d, hash3(bx, by, t));
    p[0] = a;
    p[1] = b;
    p[wd.w] = c;
    p[wd.w + 1] = d;
}

// tile version: an even phase and the following odd phase in one launch are not possible without
// halo work, so this one only does the even phase but moves the data 4 cells at a time.
__global__ void k_step_tile(World wd, u32 t)
{
    __shared__ u8 tile[16][128];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int x0 = blockIdx.x * 128;
    int y0 = blockIdx.y * 16;
    for (int r = ty; r < 16; r += 8) {
        uchar4 v = *reinterpret_cast<const uchar4*>(wd.cells + (y0 + r) * wd.w + x0 + tx * 4);
        *reinterpret_cast<uchar4*>(&tile[r][tx * 4]) = v;
    }
    __syncthreads();
    for (int half = 0; half < 2; half++) {
        int lx = (tx + half * 32) * 2;
        int ly = ty * 2;
        u8 a = tile[ly][lx];
        u8 b = tile[ly][lx + 1];
        u8 c = tile[ly + 1][lx];
        u8 d = tile[ly + 1][lx + 1];
        rule(a, b, c, d, hash3(x0 + lx, y0 + ly, t));
        tile[ly][lx] = a;
        tile[ly][lx + 1] = b;
        tile[ly + 1][lx] = c;
        tile[ly + 1][lx + 1] = d;
    }
    __syncthreads();
    for (int r = ty; r < 16; r += 8) {
        uchar4 v = *reinterpret_cast<uchar4*>(&tile[r][tx * 4]);
        *reinterpret_cast<uchar4*>(wd.cells + (y0 + r) * wd.w + x0 + tx * 4) = v;
    }
}

__constant__ uchar4 c_palette[4];

__global__ void k_render(World wd, uchar4* fb)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int n = wd.w * wd.h;
    if (i < n) {
        uchar4 c = c_palette[wd.cells[i]];
        fb[n - 1 - i] = c;   // framebuffer is bottom-up and mirrored
    }
}

__global__ void k_histogram(World wd, u32* hist)
{
    __shared__ u32 s[4];
    if (threadIdx.x < 4) s[threadIdx.x] = 0;
    __syncthreads();
    int n = wd.w * wd.h;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&s[wd.cells[i]], 1u);
    }
    __syncthreads();
    if (threadIdx.x < 4) atomicAdd(&hist[threadIdx.x], s[threadIdx.x]);
}

// height of the highest sand grain in every column (thread per column walks downwards)
__global__ void k_columnTop(World wd, int* top)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= wd.w) return;
    int y = 1;
    while (y < wd.h - 1 && wd.cells[y * wd.w + x] != SAND) y++;
    top[x] = y;
}

// number of wet cells in every row, one thread per row (the UI only needs it once)
__global__ void k_rowWater(World wd, int* wet)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= wd.h) return;
    int n = 0;
    for (int x = 0; x < wd.w; x++) {
        n += wd.cells[y * wd.w + x] == WATER;
    }
    wet[y] = n;
}

int main()
{
    World wd = { W, H, nullptr };
    uchar4* fb = nullptr;
    u32* hist = nullptr;
    int* top = nullptr;
    int* wet = nullptr;
    GPU(cudaMalloc(&wd.cells, W * H));
    GPU(cudaMalloc(&fb, W * H * sizeof(uchar4)));
    GPU(cudaMalloc(&hist, 4 * sizeof(u32)));
    GPU(cudaMalloc(&top, W * sizeof(int)));
    GPU(cudaMalloc(&wet, H * sizeof(int)));
    GPU(cudaMemset(hist, 0, 4 * sizeof(u32)));
    std::array<uchar4, 4> pal = { make_uchar4(0, 0, 0, 255), make_uchar4(30, 60, 200, 255), make_uchar4(220, 190, 90, 255), make_uchar4(90, 90, 90, 255) };
    GPU(cudaMemcpyToSymbol(c_palette, pal.data(), sizeof(pal)));

    dim3 b(32, 8);
    k_paint<<<dim3(W / 32, H / 8), b>>>(wd, 77);
    std::vector<u8> ref(W * H);
    GPU(cudaMemcpy(ref.data(), wd.cells, W * H, cudaMemcpyDeviceToHost));

    for (int t = 0; t < STEPS; t++) {
        if (t % 4 == 2) {
            k_step_tile<<<dim3(W / 128, H / 16), b>>>(wd, t);
        } else {
            int o = t & 1;
            k_step<<<dim3(W / 64, H / 16), b>>>(wd, o, o, t);
        }
    }
    k_render<<<(W * H + 255) / 256, 256>>>(wd, fb);
    k_histogram<<<96, 256>>>(wd, hist);
    k_columnTop<<<W / 128, 128>>>(wd, top);
    k_rowWater<<<(H + 127) / 128, 128>>>(wd, wet);
    GPU(cudaGetLastError());
    GPU(cudaDeviceSynchronize());

    // the CPU plays the same game
    for (int t = 0; t < STEPS; t++) {
        int o = t & 1;
        for (int y = o; y + 1 < H; y += 2) {
            for (int x = o; x + 1 < W; x += 2) {
                u8* p = &ref[y * W + x];
                rule(p[0], p[1], p[W], p[W + 1], hash3(x, y, t));
            }
        }
    }
    std::vector<u8> got(W * H);
    std::vector<uchar4> hfb(W * H);
    std::vector<int> htop(W), hwet(H);
    u32 hh[4], rh[4] = { 0, 0, 0, 0 };
    GPU(cudaMemcpy(got.data(), wd.cells, W * H, cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(hfb.data(), fb, W * H * sizeof(uchar4), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(htop.data(), top, W * sizeof(int), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(hwet.data(), wet, H * sizeof(int), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(hh, hist, sizeof(hh), cudaMemcpyDeviceToHost));

    int bad = 0;
    for (int i = 0; i < W * H; i++) {
        if (got[i] != ref[i]) bad++;
        rh[ref[i]]++;
        if (hfb[W * H - 1 - i].x != pal[ref[i]].x) bad++;
    }
    for (int k = 0; k < 4; k++) bad += hh[k] != rh[k];
    for (int x = 0; x < W; x++) {
        int y = 1;
        while (y < H - 1 && ref[y * W + x] != SAND) y++;
        bad += htop[x] != y;
    }
    for (int y = 0; y < H; y++) {
        int n = 0;
        for (int x = 0; x < W; x++) n += ref[y * W + x] == WATER;
        bad += hwet[y] != n;
    }
    printf("empty %u water %u sand %u wall %u\n", hh[0], hh[1], hh[2], hh[3]);
    puts(bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
