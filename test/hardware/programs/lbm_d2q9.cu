// Lattice Boltzmann D2Q9, BGK collision, pull streaming, bounce-back on solids.
// The memory layout is a policy class: AoS (9 floats per cell) or SoA (9 planes).
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

constexpr int NX = 1024;
constexpr int NY = 512;
constexpr int CELLS = NX * NY;
constexpr int Q = 9;
constexpr int STEPS = 3;
constexpr float OMEGA = 1.2f;

struct LayoutAoS {
    static constexpr const char* name = "AoS";
    __host__ __device__ static constexpr int at(int cell, int q) { return cell * Q + q; }
};
struct LayoutSoA {
    static constexpr const char* name = "SoA";
    __host__ __device__ static constexpr int at(int cell, int q) { return q * CELLS + cell; }
};

struct Moments {
    float rho, ux, uy;
};

template <int I>
struct Dir {
    static constexpr int id = I;
    static constexpr int cx = (I == 1 || I == 5 || I == 8) ? 1 : (I == 3 || I == 6 || I == 7) ? -1 : 0;
    static constexpr int cy = (I == 2 || I == 5 || I == 6) ? 1 : (I == 4 || I == 7 || I == 8) ? -1 : 0;
    static constexpr int opp = I == 0 ? 0 : I <= 4 ? (I + 1) % 4 + 1 : (I - 5 + 2) % 4 + 5;
    static constexpr float w = I == 0 ? 4.f / 9.f : I <= 4 ? 1.f / 9.f : 1.f / 36.f;
};
static_assert(Dir<1>::opp == 3 && Dir<2>::opp == 4 && Dir<3>::opp == 1 && Dir<4>::opp == 2);
static_assert(Dir<5>::opp == 7 && Dir<6>::opp == 8 && Dir<7>::opp == 5 && Dir<8>::opp == 6);

template <class F, int... I>
__host__ __device__ inline void for_each_dir_impl(F&& f, std::integer_sequence<int, I...>) {
    (f(Dir<I>{}), ...);
}
template <class F>
__host__ __device__ inline void for_each_dir(F&& f) {
    for_each_dir_impl(f, std::make_integer_sequence<int, Q>{});
}

__host__ __device__ inline Moments moments(const float (&f)[Q]) {
    Moments m{0.f, 0.f, 0.f};
    for_each_dir([&](auto d) {
        m.rho += f[d.id];
        m.ux += d.cx * f[d.id];
        m.uy += d.cy * f[d.id];
    });
    m.ux /= m.rho;
    m.uy /= m.rho;
    return m;
}

template <class D>
__host__ __device__ inline float equilibrium(D, const Moments& m) {
    const float cu = 3.f * (D::cx * m.ux + D::cy * m.uy);
    const float usq = 1.5f * (m.ux * m.ux + m.uy * m.uy);
    return D::w * m.rho * (1.f + cu + 0.5f * cu * cu - usq);
}

template <class L>
__host__ __device__ inline void update_cell(int x, int y, const float* __restrict__ src, float* __restrict__ dst,
                                            const uint8_t* __restrict__ solid) {
    const int cell = y * NX + x;
    float f[Q];
    if (solid[cell]) {
        for_each_dir([&](auto d) { dst[L::at(cell, d.id)] = src[L::at(cell, d.id)]; });
        return;
    }
    for_each_dir([&](auto d) {
        const int sx = (x - d.cx + NX) % NX;
        const int sy = (y - d.cy + NY) % NY;
        const int from = sy * NX + sx;
        f[d.id] = solid[from] ? src[L::at(cell, d.opp)] : src[L::at(from, d.id)];
    });
    const Moments m = moments(f);
    for_each_dir([&](auto d) { dst[L::at(cell, d.id)] = f[d.id] + OMEGA * (equilibrium(d, m) - f[d.id]); });
}

template <class L>
__global__ void __launch_bounds__(128)
step_kernel(const float* __restrict__ src, float* __restrict__ dst, const uint8_t* __restrict__ solid) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y;
    if (x < NX) update_cell<L>(x, y, src, dst, solid);
}

// densities and velocities out as an array of 12-byte records
template <class L>
__global__ void macroscopic_kernel(const float* __restrict__ src, Moments* __restrict__ out) {
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= CELLS) return;
    float f[Q];
#pragma unroll
    for (int q = 0; q < Q; ++q) f[q] = src[L::at(cell, q)];
    out[cell] = moments(f);
}

#define TRY(expr)                                                                        \
    do {                                                                                 \
        const cudaError_t status = (expr);                                               \
        if (status != cudaSuccess) {                                                     \
            std::printf("%s (line %d)\n", cudaGetErrorString(status), __LINE__);         \
            std::exit(1);                                                                \
        }                                                                                \
    } while (0)

__host__ __device__ inline void initial(int x, int y, float (&f)[Q]) {
    Moments m;
    m.rho = 1.f + 0.05f * std::sin(6.2831853f * x / NX) * std::cos(6.2831853f * y / NY);
    m.ux = 0.06f * std::sin(6.2831853f * y / NY);
    m.uy = 0.02f * std::cos(6.2831853f * 2.f * x / NX);
    for_each_dir([&](auto d) { f[d.id] = equilibrium(d, m); });
}

template <class L>
static bool run(const std::vector<uint8_t>& solid, const uint8_t* d_solid, const std::vector<float>& start_soa,
                const std::vector<float>& ref_soa) {
    const size_t bytes = sizeof(float) * Q * CELLS;
    std::vector<float> host(Q * CELLS);
    for (int c = 0; c < CELLS; ++c)
        for (int q = 0; q < Q; ++q) host[L::at(c, q)] = start_soa[LayoutSoA::at(c, q)];
    float *a, *b;
    Moments* d_m;
    TRY(cudaMalloc(&a, bytes));
    TRY(cudaMalloc(&b, bytes));
    TRY(cudaMalloc(&d_m, CELLS * sizeof(Moments)));
    TRY(cudaMemcpy(a, host.data(), bytes, cudaMemcpyHostToDevice));
    for (int s = 0; s < STEPS; ++s) {
        step_kernel<L><<<dim3(NX / 128, NY), 128>>>(a, b, d_solid);
        TRY(cudaGetLastError());
        std::swap(a, b);
    }
    macroscopic_kernel<L><<<(CELLS + 255) / 256, 256>>>(a, d_m);
    TRY(cudaGetLastError());
    std::vector<Moments> m(CELLS);
    TRY(cudaMemcpy(m.data(), d_m, CELLS * sizeof(Moments), cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(host.data(), a, bytes, cudaMemcpyDeviceToHost));

    double worst_f = 0, worst_m = 0;
    for (int c = 0; c < CELLS; ++c) {
        float f[Q];
        for (int q = 0; q < Q; ++q) {
            f[q] = ref_soa[LayoutSoA::at(c, q)];
            const double e = std::fabs(host[L::at(c, q)] - f[q]);
            if (!(e <= worst_f)) worst_f = e;
        }
        if (solid[c]) continue;
        const Moments r = moments(f);
        const double e = std::fabs(r.rho - m[c].rho) + std::fabs(r.ux - m[c].ux) + std::fabs(r.uy - m[c].uy);
        if (!(e <= worst_m)) worst_m = e;
    }
    std::printf("%s: populations off by %.2e, moments by %.2e\n", L::name, worst_f, worst_m);
    TRY(cudaFree(a));
    TRY(cudaFree(b));
    TRY(cudaFree(d_m));
    return worst_f < 1e-5 && worst_m < 1e-4;
}

int main() {
    std::vector<uint8_t> solid(CELLS, 0);
    for (int y = 0; y < NY; ++y)
        for (int x = 0; x < NX; ++x) {
            const int dx = x - NX / 4, dy = y - NY / 2;
            solid[y * NX + x] = (y == 0 || y == NY - 1 || dx * dx + dy * dy < 40 * 40) ? 1 : 0;
        }
    std::vector<float> start(Q * CELLS), ref, next(Q * CELLS);
    for (int y = 0; y < NY; ++y)
        for (int x = 0; x < NX; ++x) {
            float f[Q];
            initial(x, y, f);
            for (int q = 0; q < Q; ++q) start[LayoutSoA::at(y * NX + x, q)] = f[q];
        }
    ref = start;
    for (int s = 0; s < STEPS; ++s) {
        for (int y = 0; y < NY; ++y)
            for (int x = 0; x < NX; ++x) update_cell<LayoutSoA>(x, y, ref.data(), next.data(), solid.data());
        ref.swap(next);
    }
    uint8_t* d_solid;
    TRY(cudaMalloc(&d_solid, CELLS));
    TRY(cudaMemcpy(d_solid, solid.data(), CELLS, cudaMemcpyHostToDevice));
    bool ok = run<LayoutAoS>(solid, d_solid, start, ref);
    ok = run<LayoutSoA>(solid, d_solid, start, ref) && ok;
    TRY(cudaFree(d_solid));
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
