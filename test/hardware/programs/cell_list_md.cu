// Short-range forces with a cell list: count, scan, scatter, sum over the 27 cells around.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

inline void require(cudaError_t e, const char *expr)
{
    if (e != cudaSuccess)
        throw std::runtime_error(std::string(expr) + ": " + cudaGetErrorString(e));
}
#define REQUIRE(expr) require((expr), #expr)

template <class T>
class DeviceArray {
  public:
    explicit DeviceArray(std::size_t n) : n_(n) { REQUIRE(cudaMalloc(&p_, n * sizeof(T))); REQUIRE(cudaMemset(p_, 0, n * sizeof(T))); }
    explicit DeviceArray(const std::vector<T> &v) : DeviceArray(v.size())
    {
        REQUIRE(cudaMemcpy(p_, v.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~DeviceArray() { cudaFree(p_); }
    DeviceArray(const DeviceArray &) = delete;
    DeviceArray &operator=(const DeviceArray &) = delete;
    T *get() { return p_; }
    std::vector<T> download() const
    {
        std::vector<T> v(n_);
        REQUIRE(cudaMemcpy(v.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
        return v;
    }

  private:
    T *p_ = nullptr;
    std::size_t n_;
};

constexpr int kSide = 16;                 // cells along an axis
constexpr int kCells = kSide * kSide * kSide;
constexpr float kCut = 1.25f;
constexpr float kBox = kSide * kCut;

struct Vec3 { float x, y, z; };

__host__ __device__ inline int cellOf(Vec3 p)
{
    auto clampCell = [](float v) {
        int c = static_cast<int>(v / kCut);
        return c < 0 ? 0 : (c >= kSide ? kSide - 1 : c);
    };
    return (clampCell(p.z) * kSide + clampCell(p.y)) * kSide + clampCell(p.x);
}

__host__ __device__ inline float wrap(float d)
{
    if (d > 0.5f * kBox) d -= kBox;
    if (d < -0.5f * kBox) d += kBox;
    return d;
}

__global__ void countCells(int n, const Vec3 *pos, int *cell, int *rank, int *count)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const int c = cellOf(pos[i]);
        cell[i] = c;
        rank[i] = atomicAdd(&count[c], 1);
    }
}

// exclusive scan of kCells counts by one block, four a thread
__global__ void scanCells(const int *count, int *start)
{
    __shared__ int warpSum[32];
    const int t = threadIdx.x;
    const int lane = t & 31, warp = t >> 5;
    const int4 v = reinterpret_cast<const int4 *>(count)[t];
    const int mine = v.x + v.y + v.z + v.w;
    int incl = mine;
    for (int d = 1; d < 32; d <<= 1) {
        const int up = __shfl_up_sync(0xffffffffu, incl, d);
        if (lane >= d) incl += up;
    }
    if (lane == 31) warpSum[warp] = incl;
    __syncthreads();
    if (warp == 0) {
        int w = warpSum[lane];
        for (int d = 1; d < 32; d <<= 1) {
            const int up = __shfl_up_sync(0xffffffffu, w, d);
            if (lane >= d) w += up;
        }
        warpSum[lane] = w;
    }
    __syncthreads();
    const int before = incl - mine + (warp > 0 ? warpSum[warp - 1] : 0);
    start[4 * t] = before;
    start[4 * t + 1] = before + v.x;
    start[4 * t + 2] = before + v.x + v.y;
    start[4 * t + 3] = before + v.x + v.y + v.z;
    if (t == blockDim.x - 1) start[kCells] = before + mine;
}

__global__ void scatter(int n, const Vec3 *pos, const int *cell, const int *rank, const int *start, float4 *sorted)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Vec3 p = pos[i];
    sorted[start[cell[i]] + rank[i]] = make_float4(p.x, p.y, p.z, __int_as_float(i));
}

__global__ void forces(int n, const float4 *__restrict__ sorted, const int *__restrict__ start, Vec3 *__restrict__ force, float *energy)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float e = 0.0f;
    if (i < n) {
        const float4 me = sorted[i];
        const int c = cellOf({me.x, me.y, me.z});
        const int cx = c % kSide, cy = c / kSide % kSide, cz = c / (kSide * kSide);
        Vec3 f{0, 0, 0};
        for (int dz = -1; dz <= 1; ++dz)
            for (int dy = -1; dy <= 1; ++dy)
                for (int dx = -1; dx <= 1; ++dx) {
                    const int nx = (cx + dx + kSide) % kSide, ny = (cy + dy + kSide) % kSide, nz = (cz + dz + kSide) % kSide;
                    const int other = (nz * kSide + ny) * kSide + nx;
                    for (int j = start[other]; j < start[other + 1]; ++j) {
                        const float4 q = sorted[j];
                        const float rx = wrap(me.x - q.x), ry = wrap(me.y - q.y), rz = wrap(me.z - q.z);
                        const float r2 = rx * rx + ry * ry + rz * rz;
                        if (j != i && r2 < kCut * kCut) {
                            const float s = 1.0f - r2 / (kCut * kCut);
                            e += s * s * s;
                            f.x += s * s * rx;
                            f.y += s * s * ry;
                            f.z += s * s * rz;
                        }
                    }
                }
        force[__float_as_int(me.w)] = f;
    }
    for (int d = 16; d > 0; d >>= 1)
        e += __shfl_down_sync(0xffffffffu, e, d);
    if ((threadIdx.x & 31) == 0)
        atomicAdd(energy, 0.5f * e);
}

}  // namespace

int main() try {
    const int n = 12000;
    std::mt19937 rng(99);
    std::vector<Vec3> pos(n);
    for (auto &[x, y, z] : pos) {
        x = (rng() >> 8) * (kBox / 16777216.0f);
        y = (rng() >> 8) * (kBox / 16777216.0f);
        z = (rng() >> 8) * (kBox / 16777216.0f);
    }
    DeviceArray<Vec3> dPos(pos), dForce(n);
    DeviceArray<int> dCell(n), dRank(n), dCount(kCells), dStart(kCells + 1);
    DeviceArray<float4> dSorted(n);
    DeviceArray<float> dEnergy(1);

    countCells<<<40, 128>>>(n, dPos.get(), dCell.get(), dRank.get(), dCount.get());
    scanCells<<<1, kCells / 4>>>(dCount.get(), dStart.get());
    scatter<<<(n + 191) / 192, 192>>>(n, dPos.get(), dCell.get(), dRank.get(), dStart.get(), dSorted.get());
    forces<<<(n + 127) / 128, 128>>>(n, dSorted.get(), dStart.get(), dForce.get(), dEnergy.get());
    REQUIRE(cudaGetLastError());
    const auto force = dForce.download();
    const auto start = dStart.download();

    // all pairs on the host, in double
    std::vector<double> want(3 * n);
    double energy = 0;
    for (int i = 0; i < n; ++i)
        for (int j = i + 1; j < n; ++j) {
            const float rx = wrap(pos[i].x - pos[j].x), ry = wrap(pos[i].y - pos[j].y), rz = wrap(pos[i].z - pos[j].z);
            const float r2 = rx * rx + ry * ry + rz * rz;
            if (r2 >= kCut * kCut) continue;
            const double s = 1.0 - r2 / (kCut * kCut);
            energy += s * s * s;
            const double d[3] = {s * s * rx, s * s * ry, s * s * rz};
            for (int k = 0; k < 3; ++k) {
                want[3 * i + k] += d[k];
                want[3 * j + k] -= d[k];
            }
        }
    double worst = 0;
    for (int i = 0; i < n; ++i) {
        worst = std::max(worst, std::fabs(force[i].x - want[3 * i]));
        worst = std::max(worst, std::fabs(force[i].y - want[3 * i + 1]));
        worst = std::max(worst, std::fabs(force[i].z - want[3 * i + 2]));
    }
    const double got = dEnergy.download()[0];
    const bool ok = worst < 1e-3 && start[kCells] == n && std::fabs(got - energy) < 1e-3 * energy;
    std::cout << "force error " << worst << ", energy " << got << " / " << energy << (ok ? "  OK" : "  MISMATCH") << std::endl;
    return ok ? 0 : 1;
} catch (const std::exception &e) {
    std::cerr << e.what() << '\n';
    return 2;
}
