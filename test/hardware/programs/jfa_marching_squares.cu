// Jump flooding (discrete Voronoi), the distance field it gives, and its iso-lines by marching squares.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_TRY(expr)                                                                                       \
    if (auto status = (expr); status != cudaSuccess) {                                                       \
        std::printf("%s failed: %s\n", #expr, cudaGetErrorString(status));                                   \
        std::exit(EXIT_FAILURE);                                                                             \
    }

namespace config {
constexpr int width = 640;
constexpr int height = 480;
constexpr int sites = 300;
constexpr short none = -1;
}

// corners: 0 bottom left, 1 bottom right, 2 top right, 3 top left; edges: 0 bottom, 1 right, 2 top, 3 left
constexpr std::array<std::array<int8_t, 4>, 16> makeSegments()
{
    return {{{-1, -1, -1, -1}, {3, 0, -1, -1}, {0, 1, -1, -1}, {3, 1, -1, -1}, {1, 2, -1, -1}, {3, 2, 0, 1},
             {0, 2, -1, -1}, {3, 2, -1, -1}, {2, 3, -1, -1}, {2, 0, -1, -1}, {0, 3, 1, 2}, {2, 1, -1, -1},
             {1, 3, -1, -1}, {1, 0, -1, -1}, {0, 3, -1, -1}, {-1, -1, -1, -1}}};
}
constexpr auto segmentsHost = makeSegments();
__constant__ int8_t segmentTable[16][4];

__host__ __device__ inline int sq(int v) { return v * v; }

__host__ __device__ inline short2 closest(short2 best, short2 cand, int x, int y)
{
    if (cand.x == config::none) return best;
    if (best.x == config::none) return cand;
    int db = sq(best.x - x) + sq(best.y - y), dc = sq(cand.x - x) + sq(cand.y - y);
    return dc < db ? cand : best;
}

__global__ void plantSeeds(const short2 *sites, int count, short2 *field)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        short2 s = sites[i];
        field[s.y * config::width + s.x] = s;
    }
}

__global__ void jumpFlood(const short2 *__restrict__ in, short2 *__restrict__ out, int step)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= config::width || y >= config::height) return;
    short2 best = in[y * config::width + x];
    for (int dy = -1; dy <= 1; ++dy) {
        int v = y + dy * step;
        if (v < 0 || v >= config::height) continue;
        for (int dx = -1; dx <= 1; ++dx) {
            int u = x + dx * step;
            if (u < 0 || u >= config::width || (dx == 0 && dy == 0)) continue;
            best = closest(best, in[v * config::width + u], x, y);
        }
    }
    out[y * config::width + x] = best;
}

// The functor of the caller turns the squared distance to the value stored.
struct CappedRoot {
    float cap;
    __host__ __device__ float operator()(int d2) const { return fminf(sqrtf((float)d2), cap); }
};

template <typename Shape>
__global__ void distanceField(const short2 *nearest, float *dist, Shape shape)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= config::width * config::height) return;
    int x = i % config::width, y = i / config::width;
    short2 n = nearest[i];
    dist[i] = shape(sq(n.x - x) + sq(n.y - y));
}

__device__ inline float2 edgePoint(int edge, int x, int y, float a, float b, float c, float d, float iso)
{
    switch (edge) {
    case 0: return make_float2(x + (iso - a) / (b - a), y);
    case 1: return make_float2(x + 1, y + (iso - b) / (c - b));
    case 2: return make_float2(x + (iso - d) / (c - d), y + 1);
    default: return make_float2(x, y + (iso - a) / (d - a));
    }
}

// Places in the output are reserved for a warp at once.
__global__ void marchingSquares(const float *dist, float iso, float4 *segments, unsigned *counter, unsigned *histogram)
{
    __shared__ unsigned cases[16];
    const int tid = threadIdx.y * blockDim.x + threadIdx.x;
    if (tid < 16) cases[tid] = 0;
    __syncthreads();

    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    int code = 0, emit = 0;
    float a = 0, b = 0, c = 0, d = 0;
    if (x < config::width - 1 && y < config::height - 1) {
        const float *p = dist + y * config::width + x;
        a = p[0]; b = p[1]; d = p[config::width]; c = p[config::width + 1];
        code = (a < iso) | (b < iso) << 1 | (c < iso) << 2 | (d < iso) << 3;
        emit = (segmentTable[code][0] >= 0) + (segmentTable[code][2] >= 0);
        atomicAdd(&cases[code], 1u);
    }
    const int lane = tid & 31;
    int inclusive = emit;
    for (int o = 1; o < 32; o <<= 1) {
        int t = __shfl_up_sync(~0u, inclusive, o);
        if (lane >= o) inclusive += t;
    }
    unsigned base = 0;
    if (lane == 31 && inclusive) base = atomicAdd(counter, (unsigned)inclusive);
    base = __shfl_sync(~0u, base, 31);
    for (int s = 0; s < emit; ++s) {
        float2 u = edgePoint(segmentTable[code][2 * s], x, y, a, b, c, d, iso);
        float2 v = edgePoint(segmentTable[code][2 * s + 1], x, y, a, b, c, d, iso);
        segments[base + inclusive - emit + s] = make_float4(u.x, u.y, v.x, v.y);
    }
    __syncthreads();
    if (tid < 16 && cases[tid]) atomicAdd(&histogram[tid], cases[tid]);
}

int main()
{
    using namespace config;
    constexpr int pixels = width * height;
    std::vector<short2> sitesHost(sites);
    uint64_t state = 88172645463325252ull;
    for (auto &s : sitesHost) {
        state ^= state << 13; state ^= state >> 7; state ^= state << 17;
        s = make_short2((short)(state % width), (short)(state / width % height));
    }
    CUDA_TRY(cudaMemcpyToSymbol(segmentTable, segmentsHost.data(), sizeof(segmentsHost)));

    short2 *dSites, *ping, *pong;
    float *dDist;
    float4 *dSegments;
    unsigned *dCounters;
    CUDA_TRY(cudaMalloc(&dSites, sites * sizeof(short2)));
    CUDA_TRY(cudaMalloc(&ping, pixels * sizeof(short2)));
    CUDA_TRY(cudaMalloc(&pong, pixels * sizeof(short2)));
    CUDA_TRY(cudaMalloc(&dDist, pixels * sizeof(float)));
    CUDA_TRY(cudaMalloc(&dSegments, 2 * pixels * sizeof(float4)));
    CUDA_TRY(cudaMalloc(&dCounters, 17 * sizeof(unsigned)));
    CUDA_TRY(cudaMemset(ping, 0xff, pixels * sizeof(short2)));
    CUDA_TRY(cudaMemset(dCounters, 0, 17 * sizeof(unsigned)));
    CUDA_TRY(cudaMemcpy(dSites, sitesHost.data(), sites * sizeof(short2), cudaMemcpyHostToDevice));

    const dim3 block(16, 16), grid((width + 15) / 16, (height + 15) / 16);
    plantSeeds<<<3, 128>>>(dSites, sites, ping);
    for (int step = 256; step >= 1; step /= 2) {
        jumpFlood<<<grid, block>>>(ping, pong, step);
        std::swap(ping, pong);
    }
    const float cap = 60.f;
    distanceField<<<(pixels + 255) / 256, 256>>>(ping, dDist, CappedRoot{cap});
    const float iso = 12.5f;
    marchingSquares<<<dim3((width + 30) / 32, (height + 6) / 8), dim3(32, 8)>>>(dDist, iso, dSegments, dCounters, dCounters + 1);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaDeviceSynchronize());

    std::vector<short2> got(pixels), cur(pixels, make_short2(none, none)), next(pixels);
    std::vector<float> gotDist(pixels);
    unsigned counters[17];
    CUDA_TRY(cudaMemcpy(got.data(), ping, pixels * sizeof(short2), cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMemcpy(gotDist.data(), dDist, pixels * sizeof(float), cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMemcpy(counters, dCounters, sizeof(counters), cudaMemcpyDeviceToHost));
    std::vector<float4> lines(counters[0]);
    CUDA_TRY(cudaMemcpy(lines.data(), dSegments, lines.size() * sizeof(float4), cudaMemcpyDeviceToHost));

    // the same on the host
    for (auto s : sitesHost) cur[s.y * width + s.x] = s;
    for (int step = 256; step >= 1; step /= 2) {
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x) {
                short2 best = cur[y * width + x];
                for (int dy = -1; dy <= 1; ++dy)
                    for (int dx = -1; dx <= 1; ++dx) {
                        int u = x + dx * step, v = y + dy * step;
                        if ((dx || dy) && u >= 0 && v >= 0 && u < width && v < height) best = closest(best, cur[v * width + u], x, y);
                    }
                next[y * width + x] = best;
            }
        cur.swap(next);
    }
    int wrong = 0;
    std::vector<float> dist(pixels);
    for (int i = 0; i < pixels; ++i) {
        wrong += cur[i].x != got[i].x || cur[i].y != got[i].y;
        dist[i] = std::fmin(std::sqrt((float)(sq(cur[i].x - i % width) + sq(cur[i].y - i / width))), cap);
        wrong += std::fabs(dist[i] - gotDist[i]) > 1e-4f;
    }
    unsigned want[17] = {0};
    for (int y = 0; y + 1 < height; ++y)
        for (int x = 0; x + 1 < width; ++x) {
            const float *p = &gotDist[y * width + x];
            int code = (p[0] < iso) | (p[1] < iso) << 1 | (p[width + 1] < iso) << 2 | (p[width] < iso) << 3;
            ++want[1 + code];
            want[0] += (segmentsHost[code][0] >= 0) + (segmentsHost[code][2] >= 0);
        }
    for (int k = 0; k < 17; ++k) wrong += want[k] != counters[k];
    for (auto &s : lines) {                      // no longer than the diagonal of a cell, and inside of it
        float dx = s.x - s.z, dy = s.y - s.w;
        wrong += !(dx * dx + dy * dy <= 2.001f) || s.x < 0 || s.x > width - 1 || s.y < 0 || s.y > height - 1;
    }
    std::printf("%u segments, %d mismatches\n", counters[0], wrong);
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
