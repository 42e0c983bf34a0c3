// nvcc: -std=c++20
// Voxel game terrain: chunks of 32^3 blocks, generated, lit and meshed on the GPU.
#include <cuda_runtime.h>
#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <span>
#include <tuple>
#include <vector>

namespace vox {

inline constexpr int C = 32;                       // chunk edge
inline constexpr int P = C + 2;                    // with a one-block apron
using block_t = std::uint8_t;
enum : block_t { air = 0, stone = 1, dirt = 2, grass = 3, water = 4 };

struct Quad { std::uint32_t pos; std::uint32_t size_face_tex; };   // 6+6+6 bits; w,h,face,block

template <class I>
concept ChunkIndexer = requires(int x, int y, int z) { { I::at(x, y, z) } -> std::convertible_to<int>; };

struct Linear { __host__ __device__ static constexpr int at(int x, int y, int z) { return x + P * (z + P * y); } };   // x fastest, then z, then y
struct Columns { __host__ __device__ static constexpr int at(int x, int y, int z) { return y + P * (z + P * x); } };  // y fastest ("column" order)

__host__ __device__ constexpr std::uint32_t mix(std::uint32_t h) { h ^= h >> 16; h *= 0x7feb352du; h ^= h >> 15; h *= 0x846ca68bu; return h ^ (h >> 16); }

__host__ __device__ constexpr int height_at(int wx, int wz) {   // integer value noise, two octaves
    int sum = 0;
    for (int o = 0; o < 2; ++o) {
        const int s = o ? 8 : 16, gx = wx >= 0 ? wx / s : -((-wx + s - 1) / s), gz = wz >= 0 ? wz / s : -((-wz + s - 1) / s);
        const int fx = wx - gx * s, fz = wz - gz * s;
        auto h = [&](int x, int z) { return int(mix(x * 73856093u ^ z * 19349663u ^ o * 83492791u) & 31u); };
        const int a = h(gx, gz) * (s - fx) + h(gx + 1, gz) * fx, b = h(gx, gz + 1) * (s - fx) + h(gx + 1, gz + 1) * fx;
        sum += (a * (s - fz) + b * fz) / (s * s) / (o + 1);
    }
    return sum * 2 / 3;
}

__host__ __device__ constexpr block_t block_at(int wx, int y, int wz) {
    const int h = height_at(wx, wz);
    if (y < h - 3) return mix(wx * 31u + y * 977u + wz * 131071u) % 23u == 0 ? air : stone;   // small caves
    if (y < h) return dirt;
    if (y == h) return grass;
    return y < 10 ? water : air;
}

template <ChunkIndexer I>
__global__ void generate(block_t* chunks, int side) {
    block_t* c = chunks + std::size_t(blockIdx.z) * P * P * P;
    const int cx = blockIdx.z % side, cz = blockIdx.z / side;
    const int x = threadIdx.x, z = blockIdx.x * blockDim.y + threadIdx.y, y = blockIdx.y;
    if (x < P && z < P) c[I::at(x, y, z)] = block_at(cx * C + x - 1, y - 1, cz * C + z - 1);
}

// Sky light: a thread walks down its column, so lanes are neighbours in x. Light fades in water.
template <ChunkIndexer I>
__global__ void skylight(const block_t* __restrict__ chunks, std::uint8_t* __restrict__ light) {
    const block_t* c = chunks + std::size_t(blockIdx.x) * P * P * P;
    std::uint8_t* l = light + std::size_t(blockIdx.x) * P * P * P;
    for (int col = threadIdx.x; col < P * P; col += blockDim.x) {
        const int x = col % P, z = col / P;
        int v = 15;
        for (int y = P - 1; y >= 0; --y) {
            const block_t b = c[I::at(x, y, z)];
            if (b == water) v = v > 2 ? v - 2 : 0;
            else if (b != air) v = 0;
            l[I::at(x, y, z)] = std::uint8_t(v);
        }
    }
}

// Occupancy: one bit per block along x, a warp per (y, z) row.
template <ChunkIndexer I>
__global__ void occupancy(const block_t* __restrict__ chunks, std::uint32_t* __restrict__ solid) {
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;   // row = (chunk * P + y) * P + z
    const int chunk = row / (P * P), y = row / P % P, z = row % P, lane = threadIdx.x % 32;
    const block_t b = chunks[std::size_t(chunk) * P * P * P + I::at(lane + 1, y, z)];
    const std::uint32_t m = __ballot_sync(~0u, b != air && b != water);
    if (lane == 0) solid[row] = m;
}

// Greedy meshing of the +y and -y faces: a warp per slice, lane = z row, merge runs in x, then equal runs in z.
__global__ void greedy_top_bottom(const block_t* __restrict__ chunks, const std::uint32_t* __restrict__ solid, Quad* __restrict__ quads, unsigned* counter, unsigned cap) {
    __shared__ std::uint32_t rows[4][C];
    const int w = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int slice = blockIdx.x * 4 + w;              // (chunk, dir, y)
    const int y = slice % C, dir = slice / C % 2, chunk = slice / (2 * C);
    const std::uint32_t* s = solid + std::size_t(chunk) * P * P;
    const std::uint32_t here = s[(y + 1) * P + lane + 1], there = s[(y + 1 + (dir ? -1 : 1)) * P + lane + 1];
    rows[w][lane] = here & ~there;
    __syncwarp();
    if (lane != 0) return;                             // the serial part that everybody writes first
    for (int z = 0; z < C; ++z) {
        while (rows[w][z]) {
            const int x0 = __ffs(int(rows[w][z])) - 1;
            const std::uint32_t rest = ~(rows[w][z] >> x0);
            const int width = rest ? min(__ffs(int(rest)) - 1, C - x0) : C - x0;
            const std::uint32_t m = (width == 32 ? ~0u : (1u << width) - 1) << x0;
            int height = 0;
            while (z + height < C && (rows[w][z + height] & m) == m) rows[w][z + height++] &= ~m;
            const unsigned at = atomicAdd(counter, 1u);
            const block_t b = chunks[std::size_t(chunk) * P * P * P + Linear::at(x0 + 1, y + 1, z + 1)];
            if (at < cap) quads[at] = {std::uint32_t(x0 | y << 6 | z << 12 | chunk << 18), std::uint32_t((width - 1) | (height - 1) << 5 | dir << 10 | b << 13)};
        }
    }
}

// Ambient occlusion of the upper face corners, block tile in shared memory; S is the padded pitch.
template <int S>
    requires(S >= 34)
__global__ void corner_ao(const block_t* __restrict__ chunks, std::uint8_t* __restrict__ ao) {
    __shared__ block_t t[P][S];                        // one slice above
    const block_t* c = chunks + std::size_t(blockIdx.y) * P * P * P;
    const int y = blockIdx.x + 1;
    const int tid = threadIdx.y * 32 + threadIdx.x;
    if (y + 1 < P)
        for (int i = tid; i < P * P; i += 256) t[i / P][i % P] = c[Linear::at(i % P, y + 1, i / P)];
    __syncthreads();
    for (int z = threadIdx.y; z < C; z += 8) {
        const int x = threadIdx.x;
        auto o = [&](int dx, int dz) { const block_t b = t[z + 1 + dz][x + 1 + dx]; return int(b != air && b != water); };
        int packed = 0;
        for (int k = 0; k < 4; ++k) {
            const int sx = k & 1 ? 1 : -1, sz = k & 2 ? 1 : -1;
            const int a = o(sx, 0), b = o(0, sz), d = o(sx, sz);
            packed |= (a && b ? 0 : 3 - (a + b + d)) << (2 * k);
        }
        ao[((std::size_t(blockIdx.y) * C + (y - 1)) * C + z) * C + x] = std::uint8_t(packed);
    }
}

}  // namespace vox

template <class T> struct Dev {
    T* p = nullptr; std::size_t n;
    explicit Dev(std::size_t n) : n(n) { if (cudaMalloc(&p, n * sizeof(T)) != cudaSuccess) std::exit(2); cudaMemset(p, 0, n * sizeof(T)); }
    ~Dev() { cudaFree(p); }
    std::vector<T> get() const { std::vector<T> v(n); if (cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost) != cudaSuccess) { std::puts("FAIL"); std::exit(2); } return v; }
};

int main(int argc, char** argv) {
    using namespace vox;
    const int side = argc > 1 ? std::atoi(argv[1]) : 4, n = side * side;
    const std::size_t vol = std::size_t(P) * P * P;
    Dev<block_t> lin(n * vol), col(n * vol);
    Dev<std::uint8_t> llin(n * vol), lcol(n * vol), ao(std::size_t(n) * C * C * C), ao2(std::size_t(n) * C * C * C);
    Dev<std::uint32_t> solid(std::size_t(n) * P * P), solid2(std::size_t(n) * P * P);
    const unsigned cap = n * 8192;
    Dev<Quad> quads(cap);
    Dev<unsigned> count(1);
    const dim3 gb(P, 7), gg((P + 6) / 7, P, n);
    generate<Linear><<<gg, gb>>>(lin.p, side);
    generate<Columns><<<gg, gb>>>(col.p, side);
    skylight<Linear><<<n, 256>>>(lin.p, llin.p);
    skylight<Columns><<<n, 256>>>(col.p, lcol.p);
    occupancy<Linear><<<n * P * P / 4, 128>>>(lin.p, solid.p);
    occupancy<Columns><<<n * P * P / 4, 128>>>(col.p, solid2.p);
    greedy_top_bottom<<<n * 2 * C / 4, 128>>>(lin.p, solid.p, quads.p, count.p, cap);
    corner_ao<34><<<dim3(C, n), dim3(32, 8)>>>(lin.p, ao.p);
    corner_ao<36><<<dim3(C, n), dim3(32, 8)>>>(lin.p, ao2.p);
    if (cudaDeviceSynchronize() != cudaSuccess) { std::puts("FAIL"); return 2; }

    const auto a = lin.get(), b = col.get(), la = llin.get(), lb = lcol.get(), ga = ao.get(), ga2 = ao2.get();
    const auto sa = solid.get(), sb = solid2.get();
    std::array<std::size_t, 5> bad{};
    std::vector<int> covered(std::size_t(n) * 2 * C * C * C, 0);
    for (int k = 0; k < n; ++k)
        for (int z = 0; z < P; ++z)
            for (int x = 0; x < P; ++x) {
                int v = 15;
                for (int y = P - 1; y >= 0; --y) {
                    const block_t w = block_at(k % side * C + x - 1, y - 1, k / side * C + z - 1);
                    if (w == water) v = v > 2 ? v - 2 : 0;
                    else if (w != air) v = 0;
                    bad[0] += a[k * vol + Linear::at(x, y, z)] != w || b[k * vol + Columns::at(x, y, z)] != w;
                    bad[1] += la[k * vol + Linear::at(x, y, z)] != v || lb[k * vol + Columns::at(x, y, z)] != v;
                }
            }
    auto opaque = [&](int k, int x, int y, int z) { const block_t w = a[k * vol + Linear::at(x, y, z)]; return w != air && w != water; };
    for (int k = 0; k < n; ++k)
        for (int y = 0; y < P; ++y)
            for (int z = 0; z < P; ++z) {
                std::uint32_t m = 0;
                for (int x = 0; x < C; ++x) m |= std::uint32_t(opaque(k, x + 1, y, z)) << x;
                bad[2] += sa[(k * P + y) * P + z] != m || sb[(k * P + y) * P + z] != m;
            }
    const unsigned q = count.get()[0];
    const auto hq = quads.get();
    for (const Quad& f : std::span(hq).first(std::min(q, cap))) {
        const int x0 = f.pos & 63, y = f.pos >> 6 & 63, z0 = f.pos >> 12 & 63, k = f.pos >> 18, w = (f.size_face_tex & 31) + 1, h = (f.size_face_tex >> 5 & 31) + 1, dir = f.size_face_tex >> 10 & 7;
        for (int z = z0; z < z0 + h; ++z) for (int x = x0; x < x0 + w; ++x) ++covered[(((std::size_t(k) * 2 + dir) * C + y) * C + z) * C + x];
    }
    for (int k = 0; k < n; ++k) for (int dir = 0; dir < 2; ++dir) for (int y = 0; y < C; ++y) for (int z = 0; z < C; ++z) for (int x = 0; x < C; ++x) {
        const int want = opaque(k, x + 1, y + 1, z + 1) && !opaque(k, x + 1, y + 1 + (dir ? -1 : 1), z + 1);
        bad[3] += covered[(((std::size_t(k) * 2 + dir) * C + y) * C + z) * C + x] != want;
        if (dir == 0) {
            int packed = 0;
            for (int c4 = 0; c4 < 4; ++c4) {
                const int sx = c4 & 1 ? 1 : -1, sz = c4 & 2 ? 1 : -1;
                const int s1 = opaque(k, x + 1 + sx, y + 2, z + 1), s2 = opaque(k, x + 1, y + 2, z + 1 + sz), s3 = opaque(k, x + 1 + sx, y + 2, z + 1 + sz);
                packed |= (s1 && s2 ? 0 : 3 - (s1 + s2 + s3)) << (2 * c4);
            }
            const std::size_t at = ((std::size_t(k) * C + y) * C + z) * C + x;
            bad[4] += ga[at] != packed || ga2[at] != packed;
        }
    }
    std::printf("quads %u; wrong: blocks %zu light %zu occupancy %zu faces %zu ao %zu\n", q, bad[0], bad[1], bad[2], bad[3], bad[4]);
    const bool ok = q <= cap && std::all_of(bad.begin(), bad.end(), [](auto v) { return v == 0; });
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
