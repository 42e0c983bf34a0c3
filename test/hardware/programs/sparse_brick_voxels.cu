// Voxelise a point cloud into a two-level sparse grid (brick pool), then downsample an occupancy pyramid.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdint>
#include <vector>
#include <set>
#include <map>
#include <cmath>

constexpr int COARSE = 32, BRICK = 8, RES = COARSE * BRICK;   // 256^3 virtual
constexpr int BVOX = BRICK * BRICK * BRICK;

struct Vec3 { float x, y, z; };
union VoxKey { uint32_t u; struct { uint32_t x : 8, y : 8, z : 8, pad : 8; } f; };

__host__ __device__ inline VoxKey quant(Vec3 p) {
    VoxKey k; k.u = 0;
    k.f.x = (uint32_t)(p.x * RES); k.f.y = (uint32_t)(p.y * RES); k.f.z = (uint32_t)(p.z * RES);
    return k;
}
__host__ __device__ inline int coarse_of(VoxKey k) { return ((k.f.z / BRICK) * COARSE + k.f.y / BRICK) * COARSE + k.f.x / BRICK; }
__host__ __device__ inline int local_of(VoxKey k) { return ((k.f.z % BRICK) * BRICK + k.f.y % BRICK) * BRICK + k.f.x % BRICK; }

__global__ void mark_bricks(const Vec3* pts, int n, int* table) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) table[coarse_of(quant(pts[i]))] = 1;
}
__global__ void allocate_bricks(int* table, int* nbricks, int* owner) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    bool used = table[c] == 1;
    unsigned m = __ballot_sync(~0u, used);
    int base = 0;
    if ((threadIdx.x & 31) == 0) base = atomicAdd(nbricks, __popc(m));
    base = __shfl_sync(~0u, base, 0);
    int id = base + __popc(m & ((1u << (threadIdx.x & 31)) - 1));
    table[c] = used ? id : -1;
    if (used) owner[id] = c;
}
__global__ void splat_points(const Vec3* __restrict__ pts, int n, const int* __restrict__ table, unsigned* __restrict__ pool) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    VoxKey k = quant(pts[i]);
    atomicAdd(&pool[(size_t)table[coarse_of(k)] * BVOX + local_of(k)], 1u);
}
// 8x8x8 threads per brick: max count, occupied count, 3 levels of 2x2x2 any() reduction
__global__ void brick_pyramid(const unsigned* __restrict__ pool, int4* __restrict__ info) {
    __shared__ unsigned char lv[8][8][8];
    __shared__ int occ[4];
    int t = (threadIdx.z * 8 + threadIdx.y) * 8 + threadIdx.x;
    if (t < 4) occ[t] = 0;
    unsigned v = pool[(size_t)blockIdx.x * BVOX + t];
    lv[threadIdx.z][threadIdx.y][threadIdx.x] = v > 0;
    int c = __syncthreads_count(v > 0);
    if (t == 0) occ[0] = c;
    for (int s = 1, l = 1; s < 8; s <<= 1, ++l) {
        int x = threadIdx.x * 2 * s, y = threadIdx.y * 2 * s, z = threadIdx.z * 2 * s;
        bool any = false, in = x < 8 && y < 8 && z < 8;
        if (in) {
            for (int q = 0; q < 8; ++q) any |= lv[z + (q >> 2) * s][y + (q >> 1 & 1) * s][x + (q & 1) * s];
        }
        __syncthreads();
        if (in) lv[z][y][x] = any;
        if (in && any) atomicAdd(&occ[l], 1);
        __syncthreads();
    }
    if (t == 0) info[blockIdx.x] = make_int4(occ[0], occ[1], occ[2], occ[3]);
}
// 26-neighbourhood smoothing across bricks; neighbour bricks found through the table
__global__ void smooth_counts(const unsigned* __restrict__ pool, const int* __restrict__ table, const int* __restrict__ owner, float* __restrict__ out) {
    int c = owner[blockIdx.x], cx = c % COARSE, cy = c / COARSE % COARSE, cz = c / (COARSE * COARSE);
    for (int t = threadIdx.x; t < BVOX; t += blockDim.x) {
        int x = cx * BRICK + t % BRICK, y = cy * BRICK + t / BRICK % BRICK, z = cz * BRICK + t / (BRICK * BRICK);
        float s = 0;
        for (int dz = -1; dz <= 1; ++dz)
            for (int dy = -1; dy <= 1; ++dy)
                for (int dx = -1; dx <= 1; ++dx) {
                    int X = x + dx, Y = y + dy, Z = z + dz;
                    if ((unsigned)X >= RES || (unsigned)Y >= RES || (unsigned)Z >= RES) continue;
                    int b = table[((Z / BRICK) * COARSE + Y / BRICK) * COARSE + X / BRICK];
                    if (b < 0) continue;
                    s += pool[(size_t)b * BVOX + ((Z % BRICK) * BRICK + Y % BRICK) * BRICK + X % BRICK] / float(1 + abs(dx) + abs(dy) + abs(dz));
                }
        out[(size_t)blockIdx.x * BVOX + t] = s;
    }
}

int main() {
    const int n = 300000;
    std::vector<Vec3> h(n);
    uint32_t s = 77;
    auto r = [&] { s = s * 1664525u + 1013904223u; return (s >> 8) / 16777216.f; };
    for (auto& p : h) {   // noisy sphere shell
        float a = r() * 6.2831853f, c = 2 * r() - 1, q = sqrtf(1 - c * c), R = 0.38f + 0.02f * r();
        p = {0.5f + R * q * cosf(a), 0.5f + R * q * sinf(a), 0.5f + R * c};
    }
    const int NC = COARSE * COARSE * COARSE;
    Vec3* dp; int *dt, *dn, *down;
    cudaMalloc(&dp, n * sizeof(Vec3)); cudaMalloc(&dt, NC * 4); cudaMalloc(&dn, 4); cudaMalloc(&down, NC * 4);
    cudaMemset(dt, 0, NC * 4); cudaMemset(dn, 0, 4);
    cudaMemcpy(dp, h.data(), n * sizeof(Vec3), cudaMemcpyHostToDevice);
    mark_bricks<<<128, 256>>>(dp, n, dt);
    allocate_bricks<<<NC / 256, 256>>>(dt, dn, down);
    int nb = 0;
    cudaMemcpy(&nb, dn, 4, cudaMemcpyDeviceToHost);
    if (nb <= 0) { puts("FAIL"); return 1; }
    unsigned* pool; float* sm; int4* info;
    cudaMalloc(&pool, (size_t)nb * BVOX * 4); cudaMalloc(&sm, (size_t)nb * BVOX * 4); cudaMalloc(&info, nb * 16);
    cudaMemset(pool, 0, (size_t)nb * BVOX * 4);
    splat_points<<<(n + 191) / 192, 192>>>(dp, n, dt, pool);
    brick_pyramid<<<nb, dim3(8, 8, 8)>>>(pool, info);
    smooth_counts<<<nb, 128>>>(pool, dt, down, sm);
    std::vector<int> tab(NC), own(nb); std::vector<float> o((size_t)nb * BVOX); std::vector<int4> inf(nb);
    cudaMemcpy(tab.data(), dt, NC * 4, cudaMemcpyDeviceToHost); cudaMemcpy(own.data(), down, nb * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(o.data(), sm, o.size() * 4, cudaMemcpyDeviceToHost); cudaMemcpy(inf.data(), info, nb * 16, cudaMemcpyDeviceToHost);
    if (cudaGetLastError() != cudaSuccess) { puts("FAIL"); return 1; }
    std::vector<uint16_t> full((size_t)RES * RES * RES, 0);
    std::set<int> used;
    for (auto& p : h) { VoxKey k = quant(p); full[((size_t)k.f.z * RES + k.f.y) * RES + k.f.x]++; used.insert(coarse_of(k)); }
    int bad = (int)used.size() != nb;
    for (int b = 0; b < nb; ++b) {
        int c = own[b], cx = c % COARSE * BRICK, cy = c / COARSE % COARSE * BRICK, cz = c / (COARSE * COARSE) * BRICK;
        if (!used.count(c) || tab[c] != b) ++bad;
        int cnt[4] = {0, 0, 0, 0};
        for (int l = 0; l < 4; ++l) { std::set<int> q; for (int t = 0; t < BVOX; ++t) { int x = t & 7, y = t >> 3 & 7, z = t >> 6; if (full[((size_t)(cz + z) * RES + cy + y) * RES + cx + x]) q.insert(((z >> l) * 8 + (y >> l)) * 8 + (x >> l)); } cnt[l] = q.size(); }
        if (cnt[0] != inf[b].x || cnt[1] != inf[b].y || cnt[2] != inf[b].z || cnt[3] != inf[b].w) ++bad;
        if (b % 16 == 0) for (int t = 0; t < BVOX; ++t) {
            int x = cx + (t & 7), y = cy + (t >> 3 & 7), z = cz + (t >> 6); double v = 0;
            for (int q = 0; q < 27; ++q) { int dx = q % 3 - 1, dy = q / 3 % 3 - 1, dz = q / 9 - 1; v += full[((size_t)(z + dz) * RES + y + dy) * RES + x + dx] / double(1 + abs(dx) + abs(dy) + abs(dz)); }
            if (fabs(v - o[(size_t)b * BVOX + t]) > 1e-3 * (1 + v)) ++bad;
        }
    }
    printf("bricks %d bad %d\n%s\n", nb, bad, bad ? "FAIL" : "PASS");
    return bad != 0;
}
