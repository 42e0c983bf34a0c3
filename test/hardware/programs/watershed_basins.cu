// Rain falling watershed: every pixel of the gradient image points to its lowest neighbour, chains are
// shortened by pointer doubling until nothing changes, basins get numbers and their mean colour.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

#define GPU(x)                                                                           \
    if (cudaError_t status = (x); status != cudaSuccess) {                               \
        std::printf("%s -> %s\n", #x, cudaGetErrorString(status));                       \
        std::exit(1);                                                                    \
    }

namespace cfg {
constexpr int W = 300, H = 196, N = W * H;
constexpr int TX = 16, TY = 12;
constexpr int SCAN = 256;
}
using namespace cfg;

__host__ __device__ inline int luma(uchar4 p) { return (77 * p.x + 150 * p.y + 29 * p.z) >> 8; }
__host__ __device__ inline int clampi(int v, int hi) { return v < 0 ? 0 : v > hi ? hi : v; }
__host__ __device__ inline unsigned hash2(unsigned x, unsigned y)
{
    unsigned h = x * 374761393u + y * 668265263u;
    h = (h ^ (h >> 13)) * 1274126177u;
    return h ^ (h >> 16);
}

// soft checker pattern with rings and a bit of noise, RGBA bytes
__host__ __device__ inline uchar4 paint(int x, int y)
{
    int cx = x / 37, cy = y / 29;
    unsigned k = hash2(cx, cy);
    int ring = ((x - 150) * (x - 150) + (y - 98) * (y - 98)) / 600;
    int n = hash2(x + 1000, y) & 7;
    return make_uchar4((unsigned char)(40 + (k & 127) + n), (unsigned char)(30 + ((k >> 8) & 127) + (ring & 31)),
                       (unsigned char)(20 + ((k >> 16) & 127) + n), 255);
}

__global__ void paint_image(uchar4 *img)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < W && y < H) img[y * W + x] = paint(x, y);
}

// binomial 3x3 blur of the brightness; result keeps 4 fraction bits
__global__ void smooth(const uchar4 *img, uint16_t *out)
{
    __shared__ uint8_t t[TY + 2][TX + 2];
    const int x0 = blockIdx.x * TX, y0 = blockIdx.y * TY;
    for (int k = threadIdx.y * TX + threadIdx.x; k < (TX + 2) * (TY + 2); k += TX * TY) {
        int lx = k % (TX + 2), ly = k / (TX + 2);
        t[ly][lx] = luma(img[clampi(y0 + ly - 1, H - 1) * W + clampi(x0 + lx - 1, W - 1)]);
    }
    __syncthreads();
    const int x = x0 + threadIdx.x, y = y0 + threadIdx.y, lx = threadIdx.x + 1, ly = threadIdx.y + 1;
    if (x >= W || y >= H) return;
    out[y * W + x] = t[ly - 1][lx - 1] + 2 * t[ly - 1][lx] + t[ly - 1][lx + 1]
                   + 2 * t[ly][lx - 1] + 4 * t[ly][lx] + 2 * t[ly][lx + 1]
                   + t[ly + 1][lx - 1] + 2 * t[ly + 1][lx] + t[ly + 1][lx + 1];
}

__global__ void gradient(const uint16_t *in, uint16_t *grad)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H) return;
    int gx = (int)in[y * W + clampi(x + 1, W - 1)] - in[y * W + clampi(x - 1, W - 1)];
    int gy = (int)in[clampi(y + 1, H - 1) * W + x] - in[clampi(y - 1, H - 1) * W + x];
    grad[y * W + x] = (uint16_t)(abs(gx) + abs(gy));
}

// the key (height, position) is unique, so there are no plateaus and no cycles
__global__ void steepest(const uint16_t *grad, int *parent)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H) return;
    unsigned best = 0xffffffffu;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            int a = x + dx, b = y + dy;
            if (a < 0 || b < 0 || a >= W || b >= H) continue;
            unsigned key = ((unsigned)grad[b * W + a] >> 3) << 17 | (unsigned)(b * W + a);
            best = min(best, key);
        }
    parent[y * W + x] = (int)(best & 0x1ffff);
}

__global__ void shorten(const int *in, int *out, int *changed)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    int p = in[i], q = in[p];
    out[i] = q;
    if (p != q) *changed = 1;
}

__global__ void root_scan(const int *parent, int *rank, int *block_sum)
{
    __shared__ int s[2][SCAN];
    int i = blockIdx.x * SCAN + threadIdx.x, t = threadIdx.x, cur = 0;
    int is_root = i < N && parent[i] == i;
    s[0][t] = is_root;
    __syncthreads();
    for (int d = 1; d < SCAN; d *= 2, cur ^= 1) {
        s[cur ^ 1][t] = s[cur][t] + (t >= d ? s[cur][t - d] : 0);
        __syncthreads();
    }
    if (i < N) rank[i] = s[cur][t] - is_root;
    if (t == SCAN - 1) block_sum[blockIdx.x] = s[cur][t];
}

__global__ void sum_scan_serial(int *block_sum, int n, int *total)
{
    int run = 0;
    for (int k = 0; k < n; k++) { int v = block_sum[k]; block_sum[k] = run; run += v; }
    *total = run;
}

__global__ void number_basins(const int *parent, const int *rank, const int *block_sum, int *label)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) label[i] = rank[parent[i]] + block_sum[parent[i] / SCAN];
}

struct Basin { int size, r, g, b; };

__global__ void basin_sums(const uchar4 *img, const int *label, Basin *basins)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    uchar4 p = img[i];
    Basin *q = &basins[label[i]];
    atomicAdd(&q->size, 1);
    atomicAdd(&q->r, p.x);
    atomicAdd(&q->g, p.y);
    atomicAdd(&q->b, p.z);
}

__global__ void recolour(const int *label, const int4 *basins, uchar4 *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    int4 q = basins[label[i]];
    out[i] = make_uchar4(q.y / q.x, q.z / q.x, q.w / q.x, label[i] & 255);
}

int main()
{
    const dim3 tile(TX, TY), grid((W + TX - 1) / TX, (H + TY - 1) / TY);
    const int lin = (N + SCAN - 1) / SCAN;
    uchar4 *img, *out; uint16_t *blur, *grad; int *pa, *pb, *flag, *rank, *sums, *label;
    GPU(cudaMalloc(&img, N * sizeof *img)); GPU(cudaMalloc(&out, N * sizeof *out));
    GPU(cudaMalloc(&blur, N * sizeof *blur)); GPU(cudaMalloc(&grad, N * sizeof *grad));
    GPU(cudaMalloc(&pa, N * sizeof(int))); GPU(cudaMalloc(&pb, N * sizeof(int)));
    GPU(cudaMalloc(&rank, N * sizeof(int))); GPU(cudaMalloc(&label, N * sizeof(int)));
    GPU(cudaMalloc(&sums, (lin + 1) * sizeof(int))); GPU(cudaMalloc(&flag, sizeof(int)));

    paint_image<<<grid, tile>>>(img);
    smooth<<<grid, tile>>>(img, blur);
    gradient<<<grid, tile>>>(blur, grad);
    steepest<<<grid, tile>>>(grad, pa);
    int rounds = 0, changed = 1;
    while (changed && rounds < 14) {
        GPU(cudaMemset(flag, 0, sizeof(int)));
        shorten<<<lin, SCAN>>>(pa, pb, flag);
        GPU(cudaMemcpy(&changed, flag, sizeof(int), cudaMemcpyDeviceToHost));
        std::swap(pa, pb);
        rounds++;
    }
    root_scan<<<lin, SCAN>>>(pa, rank, sums);
    sum_scan_serial<<<1, 1>>>(sums, lin, sums + lin);
    number_basins<<<lin, SCAN>>>(pa, rank, sums, label);
    int count = 0;
    GPU(cudaMemcpy(&count, sums + lin, sizeof(int), cudaMemcpyDeviceToHost));
    Basin *basins;
    GPU(cudaMalloc(&basins, count * sizeof(Basin)));
    GPU(cudaMemset(basins, 0, count * sizeof(Basin)));
    basin_sums<<<lin, SCAN>>>(img, label, basins);
    recolour<<<lin, SCAN>>>(label, reinterpret_cast<const int4 *>(basins), out);
    GPU(cudaGetLastError());
    std::vector<uchar4> got(N);
    std::vector<int> got_label(N);
    GPU(cudaMemcpy(got.data(), out, N * sizeof(uchar4), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(got_label.data(), label, N * sizeof(int), cudaMemcpyDeviceToHost));

    // the same on the CPU, by walking downhill
    std::vector<int> b(N), g(N), parent(N), lab(N, -1);
    std::vector<uchar4> ref(N);
    for (int i = 0; i < N; i++) ref[i] = paint(i % W, i / W);
    const int wgt[3] = {1, 2, 1};
    auto at = [](int x, int y) { return clampi(y, H - 1) * W + clampi(x, W - 1); };
    for (int i = 0; i < N; i++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++)
                b[i] += wgt[dx + 1] * wgt[dy + 1] * luma(ref[at(i % W + dx, i / W + dy)]);
    for (int i = 0; i < N; i++) {
        int x = i % W, y = i / W;
        g[i] = std::abs(b[at(x + 1, y)] - b[at(x - 1, y)]) + std::abs(b[at(x, y + 1)] - b[at(x, y - 1)]);
    }
    for (int i = 0; i < N; i++) {
        int x = i % W, y = i / W, best = i;
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                int j = (y + dy) * W + x + dx;
                if (x + dx < 0 || x + dx >= W || y + dy < 0 || y + dy >= H) continue;
                if ((g[j] >> 3) < (g[best] >> 3) || ((g[j] >> 3) == (g[best] >> 3) && j < best)) best = j;
            }
        parent[i] = best;
    }
    int n_ref = 0;
    for (int i = 0; i < N; i++) if (parent[i] == i) lab[i] = n_ref++;
    std::vector<Basin> sum(n_ref, Basin{0, 0, 0, 0});
    for (int i = 0; i < N; i++) {
        int r = i;
        while (parent[r] != r) r = parent[r];
        lab[i] = lab[r];
        Basin &s = sum[lab[i]];
        s.size++; s.r += ref[i].x; s.g += ref[i].y; s.b += ref[i].z;
    }
    int bad = (n_ref != count) + changed;
    for (int i = 0; i < N; i++) {
        const Basin &s = sum[lab[i]];
        bad += got_label[i] != lab[i] || got[i].x != s.r / s.size || got[i].y != s.g / s.size
            || got[i].z != s.b / s.size || got[i].w != (lab[i] & 255);
    }
    std::printf("%d basins (expected %d), %d doubling rounds, %d wrong pixels\n", count, n_ref, rounds, bad);
    for (void *p : {(void *)img, (void *)out, (void *)blur, (void *)grad, (void *)pa, (void *)pb, (void *)flag,
                    (void *)rank, (void *)sums, (void *)label, (void *)basins})
        cudaFree(p);
    std::puts(bad ? "FAIL" : "PASS");
    return bad != 0;
}
