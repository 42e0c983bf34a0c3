// Rigid docking: receptor grid maps, trilinear ligand scoring of many poses, pairwise clash term,
// best pose selection. Maps are 3 channels, scored either planar or interleaved (enum).
#include <cuda_fp16.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

enum class MapLayout { Planar, Interleaved };

struct GridSpec {
    int n;
    float spacing;
    float origin;
};

struct Pose {
    float tx, ty, tz;
    float qw, qx, qy, qz;
};

struct Atom {
    float x, y, z;
    float charge;
    int type;
};

constexpr int kLigand = 40;
constexpr int kReceptor = 256;
constexpr int kPoses = 8192;
constexpr int kTypes = 3;

__constant__ Atom c_ligand[kLigand];

#define RT(expr) rt((expr), #expr)
static void rt(cudaError_t e, const char* what)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "%s -> %s\n", what, cudaGetErrorString(e));
        std::exit(1);
    }
}

__host__ __device__ inline void probe(float dx, float dy, float dz, float q, float& elec, float& rep, float& att)
{
    float r2 = dx * dx + dy * dy + dz * dz + 0.6f;
    float inv2 = 1.f / r2;
    float inv6 = inv2 * inv2 * inv2;
    elec += q * inv2;
    rep += inv6 * inv2;
    att -= inv6;
}

// 3-D grid of threads; receptor atoms go through shared memory in chunks
__global__ void buildMaps(const Atom* receptor, float* maps, GridSpec g)
{
    __shared__ Atom chunk[64];
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    const int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const float px = g.origin + x * g.spacing;
    const float py = g.origin + y * g.spacing;
    const float pz = g.origin + z * g.spacing;
    float elec = 0.f;
    float rep = 0.f;
    float att = 0.f;
    for (int base = 0; base < kReceptor; base += 64) {
        if (t < 64)
            chunk[t] = receptor[base + t];
        __syncthreads();
        for (int a = 0; a < 64; ++a)
            probe(px - chunk[a].x, py - chunk[a].y, pz - chunk[a].z, chunk[a].charge, elec, rep, att);
        __syncthreads();
    }
    const int vol = g.n * g.n * g.n;
    const int i = (z * g.n + y) * g.n + x;
    maps[i] = elec;
    maps[vol + i] = rep;
    maps[2 * vol + i] = att;
}

__global__ void interleaveMaps(const float* planar, float4* packed, int vol)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < vol)
        packed[i] = make_float4(planar[i], planar[vol + i], planar[2 * vol + i], 0.f);
}

__global__ void mapsToHalf(const float2* in, __half2* out, int n2)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n2; i += gridDim.x * blockDim.x)
        out[i] = __float22half2_rn(in[i]);
}

__host__ __device__ inline void place(const Pose& p, const Atom& a, float& x, float& y, float& z)
{
    float ux = 2.f * (p.qy * a.z - p.qz * a.y);
    float uy = 2.f * (p.qz * a.x - p.qx * a.z);
    float uz = 2.f * (p.qx * a.y - p.qy * a.x);
    x = a.x + p.qw * ux + p.qy * uz - p.qz * uy + p.tx;
    y = a.y + p.qw * uy + p.qz * ux - p.qx * uz + p.ty;
    z = a.z + p.qw * uz + p.qx * uy - p.qy * ux + p.tz;
}

// one thread per pose; map gathers are scattered
template <MapLayout L>
__global__ void scorePoses(const void* maps, const Pose* poses, float* score, GridSpec g)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= kPoses)
        return;
    const Pose p = poses[k];
    const int vol = g.n * g.n * g.n;
    float total = 0.f;
    for (int a = 0; a < kLigand; ++a) {
        const Atom at = c_ligand[a];
        float x, y, z;
        place(p, at, x, y, z);
        float fx = fminf(fmaxf((x - g.origin) / g.spacing, 0.f), g.n - 1.001f);
        float fy = fminf(fmaxf((y - g.origin) / g.spacing, 0.f), g.n - 1.001f);
        float fz = fminf(fmaxf((z - g.origin) / g.spacing, 0.f), g.n - 1.001f);
        const int ix = (int)fx;
        const int iy = (int)fy;
        const int iz = (int)fz;
        fx -= ix;
        fy -= iy;
        fz -= iz;
        float e = 0.f;
        float v = 0.f;
        for (int c = 0; c < 8; ++c) {
            const int i = ((iz + (c >> 2)) * g.n + iy + ((c >> 1) & 1)) * g.n + ix + (c & 1);
            const float w = ((c & 1) ? fx : 1.f - fx) * ((c & 2) ? fy : 1.f - fy) * ((c & 4) ? fz : 1.f - fz);
            if constexpr (L == MapLayout::Planar) {
                const float* m = static_cast<const float*>(maps);
                e += w * m[i];
                v += w * m[(1 + at.type % 2) * vol + i];
            } else {
                const float4 m = static_cast<const float4*>(maps)[i];
                e += w * m.x;
                v += w * (at.type % 2 ? m.z : m.y);
            }
        }
        total += at.charge * e + v;
    }
    score[k] = total;
}

// warp per pose: count close ligand/receptor pairs, lanes over receptor atoms (20-byte records)
__global__ void clashCount(const Atom* __restrict__ receptor, const Pose* __restrict__ poses, int* clashes, int nposes)
{
    const int k = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (k >= nposes)
        return;
    const Pose p = poses[k];
    int n = 0;
    for (int a = 0; a < kLigand; ++a) {
        float x, y, z;
        place(p, c_ligand[a], x, y, z);
        for (int r = lane; r < kReceptor; r += 32) {
            const float dx = x - receptor[r].x;
            const float dy = y - receptor[r].y;
            const float dz = z - receptor[r].z;
            n += dx * dx + dy * dy + dz * dz < 2.25f;
        }
    }
    n = __reduce_add_sync(0xffffffffu, n);
    if (lane == 0)
        clashes[k] = n;
}

__global__ void bestPose(const float* score, float* bestScore, int* bestIdx)
{
    extern __shared__ unsigned char raw[];
    float* sv = reinterpret_cast<float*>(raw);
    int* si = reinterpret_cast<int*>(raw + blockDim.x * sizeof(float));
    float v = 1e30f;
    int at = -1;
    for (int i = threadIdx.x; i < kPoses; i += blockDim.x)
        if (score[i] < v) {
            v = score[i];
            at = i;
        }
    sv[threadIdx.x] = v;
    si[threadIdx.x] = at;
    // interleaved reduction as in the first CUDA course
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        __syncthreads();
        const unsigned j = 2 * s * threadIdx.x;
        if (j + s < blockDim.x && sv[j + s] < sv[j]) {
            sv[j] = sv[j + s];
            si[j] = si[j + s];
        }
    }
    if (threadIdx.x == 0) {
        *bestScore = sv[0];
        *bestIdx = si[0];
    }
}

int main()
{
    uint32_t state = 17;
    auto rnd = [&state]() {
        state = state * 1664525u + 1013904223u;
        return (state >> 8) / 16777216.f;
    };
    GridSpec g{64, 0.5f, -16.f};
    const int vol = g.n * g.n * g.n;
    std::vector<Atom> rec(kReceptor), lig(kLigand);
    for (auto& a : rec)
        a = Atom{rnd() * 24 - 12, rnd() * 24 - 12, rnd() * 24 - 12, rnd() - 0.5f, (int)(rnd() * kTypes)};
    for (auto& a : lig)
        a = Atom{rnd() * 6 - 3, rnd() * 6 - 3, rnd() * 6 - 3, rnd() - 0.5f, (int)(rnd() * kTypes)};
    std::vector<Pose> poses(kPoses);
    for (auto& p : poses) {
        p = Pose{rnd() * 20 - 10, rnd() * 20 - 10, rnd() * 20 - 10, rnd() + 0.1f, rnd() - 0.5f, rnd() - 0.5f, rnd() - 0.5f};
        float l = 1.f / std::sqrt(p.qw * p.qw + p.qx * p.qx + p.qy * p.qy + p.qz * p.qz);
        p.qw *= l;
        p.qx *= l;
        p.qy *= l;
        p.qz *= l;
    }
    Atom* dRec;
    Pose* dPoses;
    float *dMaps, *dS1, *dS2, *dBest;
    float4* dPacked;
    __half* dHalf;
    int *dClash, *dIdx;
    RT(cudaMalloc(&dRec, sizeof(Atom) * kReceptor));
    RT(cudaMalloc(&dPoses, sizeof(Pose) * kPoses));
    RT(cudaMalloc(&dMaps, sizeof(float) * 3 * vol));
    RT(cudaMalloc(&dHalf, sizeof(__half) * 3 * vol));
    RT(cudaMalloc(&dPacked, sizeof(float4) * vol));
    RT(cudaMalloc(&dS1, sizeof(float) * kPoses));
    RT(cudaMalloc(&dS2, sizeof(float) * kPoses));
    RT(cudaMalloc(&dBest, sizeof(float)));
    RT(cudaMalloc(&dIdx, sizeof(int)));
    RT(cudaMalloc(&dClash, sizeof(int) * kPoses));
    RT(cudaMemcpy(dRec, rec.data(), sizeof(Atom) * kReceptor, cudaMemcpyHostToDevice));
    RT(cudaMemcpy(dPoses, poses.data(), sizeof(Pose) * kPoses, cudaMemcpyHostToDevice));
    RT(cudaMemcpyToSymbol(c_ligand, lig.data(), sizeof(Atom) * kLigand));

    buildMaps<<<dim3(g.n / 8, g.n / 8, g.n / 4), dim3(8, 8, 4)>>>(dRec, dMaps, g);
    interleaveMaps<<<vol / 256, 256>>>(dMaps, dPacked, vol);
    mapsToHalf<<<256, 256>>>((const float2*)dMaps, (__half2*)dHalf, 3 * vol / 2);
    scorePoses<MapLayout::Planar><<<kPoses / 64, 64>>>(dMaps, dPoses, dS1, g);
    scorePoses<MapLayout::Interleaved><<<kPoses / 64, 64>>>(dPacked, dPoses, dS2, g);
    clashCount<<<kPoses / 8, 256>>>(dRec, dPoses, dClash, kPoses);
    bestPose<<<1, 256, 256 * (sizeof(float) + sizeof(int))>>>(dS2, dBest, dIdx);
    RT(cudaGetLastError());
    RT(cudaDeviceSynchronize());

    std::vector<float> maps(3 * vol), s1(kPoses), s2(kPoses);
    std::vector<__half> half(3 * vol);
    std::vector<int> clash(kPoses);
    float best;
    int idx;
    RT(cudaMemcpy(maps.data(), dMaps, maps.size() * 4, cudaMemcpyDeviceToHost));
    RT(cudaMemcpy(half.data(), dHalf, half.size() * 2, cudaMemcpyDeviceToHost));
    RT(cudaMemcpy(s1.data(), dS1, kPoses * 4, cudaMemcpyDeviceToHost));
    RT(cudaMemcpy(s2.data(), dS2, kPoses * 4, cudaMemcpyDeviceToHost));
    RT(cudaMemcpy(clash.data(), dClash, kPoses * 4, cudaMemcpyDeviceToHost));
    RT(cudaMemcpy(&best, dBest, 4, cudaMemcpyDeviceToHost));
    RT(cudaMemcpy(&idx, dIdx, 4, cudaMemcpyDeviceToHost));
    int bad = 0;
    for (int i = 0; i < vol; i += 97) {
        float e = 0, r = 0, a = 0;
        for (auto& at : rec)
            probe(g.origin + i % g.n * g.spacing - at.x, g.origin + i / g.n % g.n * g.spacing - at.y,
                  g.origin + i / (g.n * g.n) * g.spacing - at.z, at.charge, e, r, a);
        bad += std::fabs(e - maps[i]) > 1e-3f * (1 + std::fabs(e));
        bad += std::fabs(r - maps[vol + i]) > 1e-3f * (1 + std::fabs(r));
        bad += std::fabs(a - maps[2 * vol + i]) > 1e-3f * (1 + std::fabs(a));
        bad += std::fabs(__half2float(half[i]) - maps[i]) > 1e-3f * (1 + std::fabs(maps[i]));
    }
    float low = 1e30f;
    int clashDiff = 0;
    for (int k = 0; k < kPoses; ++k) {
        low = std::min(low, s2[k]);
        bad += std::fabs(s1[k] - s2[k]) > 1e-3f * (1 + std::fabs(s1[k]));
        int n = 0;
        double total = 0;
        for (auto& at : lig) {
            float x, y, z;
            place(poses[k], at, x, y, z);
            for (auto& r : rec)
                n += (x - r.x) * (x - r.x) + (y - r.y) * (y - r.y) + (z - r.z) * (z - r.z) < 2.25f;
            float f[3] = {(x - g.origin) / g.spacing, (y - g.origin) / g.spacing, (z - g.origin) / g.spacing};
            int c0[3];
            for (int d = 0; d < 3; ++d) {
                f[d] = std::min(std::max(f[d], 0.f), g.n - 1.001f);
                c0[d] = (int)f[d];
                f[d] -= c0[d];
            }
            for (int c = 0; c < 8; ++c) {
                int i = ((c0[2] + (c >> 2)) * g.n + c0[1] + ((c >> 1) & 1)) * g.n + c0[0] + (c & 1);
                double w = ((c & 1) ? f[0] : 1 - f[0]) * ((c & 2) ? f[1] : 1 - f[1]) * ((c & 4) ? f[2] : 1 - f[2]);
                total += w * (at.charge * maps[i] + maps[(1 + at.type % 2) * vol + i]);
            }
        }
        clashDiff += std::abs(n - clash[k]);
        bad += std::fabs(total - s1[k]) > 5e-3 * (1 + std::fabs(total));
    }
    bad += clashDiff > 40;
    bad += best != low || idx < 0 || s2[idx] != best;
    std::printf("best pose %d score %g, bad %d, clash diff %d\n", idx, best, bad, clashDiff);
    std::puts(bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
