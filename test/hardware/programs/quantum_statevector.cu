// nvcc: -std=c++17
// State-vector simulator backend: gate application on 2^n complex amplitudes.
#include <cuComplex.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

using cfloat = std::complex<float>;
using index_t = std::uint64_t;

namespace qsim {

constexpr int kNumQubits = 21;
constexpr index_t kDim = index_t(1) << kNumQubits;

inline void require(cudaError_t err, const std::string& msg)
{
    if (err != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", msg.c_str(), cudaGetErrorString(err));
        std::exit(1);
    }
}

struct Gate1 {
    cuFloatComplex m[2][2];
};

__device__ __forceinline__ cuFloatComplex cmac(cuFloatComplex acc, cuFloatComplex a, cuFloatComplex b)
{
    acc.x = fmaf(a.x, b.x, acc.x);
    acc.x = fmaf(-a.y, b.y, acc.x);
    acc.y = fmaf(a.x, b.y, acc.y);
    acc.y = fmaf(a.y, b.x, acc.y);
    return acc;
}

__device__ __forceinline__ index_t insert_zero(index_t v, int bit)
{
    const index_t low = v & ((index_t(1) << bit) - 1);
    return ((v >> bit) << (bit + 1)) | low;
}

__global__ void init_basis_state(cuFloatComplex* amps, index_t which, index_t dim)
{
    const index_t i = blockIdx.x * index_t(blockDim.x) + threadIdx.x;
    if (i < dim) {
        amps[i] = make_cuFloatComplex(i == which ? 1.0f : 0.0f, 0.0f);
    }
}

// pair (i, i + 2^target) per thread
__global__ void apply_gate1(cuFloatComplex* __restrict__ amps, Gate1 g, int target, index_t half_dim)
{
    const index_t k = blockIdx.x * index_t(blockDim.x) + threadIdx.x;
    if (k >= half_dim) return;
    const index_t i0 = insert_zero(k, target);
    const index_t i1 = i0 | (index_t(1) << target);
    const cuFloatComplex a = amps[i0];
    const cuFloatComplex b = amps[i1];
    const cuFloatComplex zero = make_cuFloatComplex(0.f, 0.f);
    amps[i0] = cmac(cmac(zero, g.m[0][0], a), g.m[0][1], b);
    amps[i1] = cmac(cmac(zero, g.m[1][0], a), g.m[1][1], b);
}

// low targets: exchange inside the warp instead of touching both addresses
__global__ void apply_gate1_low(cuFloatComplex* __restrict__ amps, Gate1 g, int target, index_t dim)
{
    const index_t i = blockIdx.x * index_t(blockDim.x) + threadIdx.x;
    const cuFloatComplex mine = amps[i];
    cuFloatComplex other;
    other.x = __shfl_xor_sync(0xffffffffu, mine.x, 1 << target);
    other.y = __shfl_xor_sync(0xffffffffu, mine.y, 1 << target);
    const int row = (i >> target) & 1;
    const cuFloatComplex zero = make_cuFloatComplex(0.f, 0.f);
    amps[i] = cmac(cmac(zero, g.m[row][row], mine), g.m[row][row ^ 1], other);
}

__global__ void apply_cnot(cuFloatComplex* amps, int control, int target, index_t quarter)
{
    const index_t k = blockIdx.x * index_t(blockDim.x) + threadIdx.x;
    if (k >= quarter) return;
    const int lo = min(control, target);
    const int hi = max(control, target);
    const index_t base = insert_zero(insert_zero(k, lo), hi) | (index_t(1) << control);
    const index_t flip = base | (index_t(1) << target);
    const cuFloatComplex tmp = amps[base];
    amps[base] = amps[flip];
    amps[flip] = tmp;
}

struct DiagTerm {
    index_t mask;
    float angle;
};

// product of exp(-i angle Z..Z) terms, parity by popcount
template <int MaxTerms>
struct DiagProgram {
    int count;
    DiagTerm term[MaxTerms];
};

template <int MaxTerms>
__global__ void apply_diagonal(float2* __restrict__ amps, const __grid_constant__ DiagProgram<MaxTerms> prog, index_t dim)
{
    const index_t stride = index_t(gridDim.x) * blockDim.x;
    for (index_t i = blockIdx.x * index_t(blockDim.x) + threadIdx.x; i < dim / 2; i += stride) {
        float4 two = reinterpret_cast<const float4*>(amps)[i];
        float phase0 = 0.f, phase1 = 0.f;
        for (int t = 0; t < prog.count; ++t) {
            const index_t m = prog.term[t].mask;
            const float a = prog.term[t].angle;
            phase0 += (__popcll(m & (2 * i)) & 1) ? a : -a;
            phase1 += (__popcll(m & (2 * i + 1)) & 1) ? a : -a;
        }
        float s0, c0, s1, c1;
        sincosf(phase0, &s0, &c0);
        sincosf(phase1, &s1, &c1);
        reinterpret_cast<float4*>(amps)[i] = make_float4(two.x * c0 - two.y * s0, two.x * s0 + two.y * c0,
                                                         two.z * c1 - two.w * s1, two.z * s1 + two.w * c1);
    }
}

// several gates on qubits below log2(Tile): whole tile held in shared memory
template <int LogTile>
__global__ void apply_fused_tile(cuFloatComplex* __restrict__ amps, const Gate1* __restrict__ gates,
                                 const int* __restrict__ targets, int count)
{
    constexpr int tile = 1 << LogTile;
    __shared__ cuFloatComplex s[tile];
    cuFloatComplex* chunk = amps + blockIdx.x * index_t(tile);
    for (int i = threadIdx.x; i < tile; i += blockDim.x) s[i] = chunk[i];
    __syncthreads();
    for (int gidx = 0; gidx < count; ++gidx) {
        const Gate1 g = gates[gidx];
        const int t = targets[gidx];
        for (int k = threadIdx.x; k < tile / 2; k += blockDim.x) {
            const int i0 = ((k >> t) << (t + 1)) | (k & ((1 << t) - 1));
            const int i1 = i0 | (1 << t);
            const cuFloatComplex a = s[i0];
            const cuFloatComplex b = s[i1];
            const cuFloatComplex zero = make_cuFloatComplex(0.f, 0.f);
            s[i0] = cmac(cmac(zero, g.m[0][0], a), g.m[0][1], b);
            s[i1] = cmac(cmac(zero, g.m[1][0], a), g.m[1][1], b);
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < tile; i += blockDim.x) chunk[i] = s[i];
}

// reverse the qubit order (used at the end of a QFT)
__global__ void bit_reverse_copy(const cuFloatComplex* __restrict__ in, cuFloatComplex* __restrict__ out, int bits)
{
    const index_t i = blockIdx.x * index_t(blockDim.x) + threadIdx.x;
    if (i >= (index_t(1) << bits)) return;
    const index_t r = __brevll(i) >> (64 - bits);
    out[r] = in[i];
}

// P(qubit = 1) for every qubit at once
__global__ void qubit_probabilities(const cuFloatComplex* __restrict__ amps, double* prob, int bits)
{
    __shared__ double acc[32];
    if (threadIdx.x < 32) acc[threadIdx.x] = 0.0;
    __syncthreads();
    const index_t stride = index_t(gridDim.x) * blockDim.x;
    double total = 0.0, low[5] = {};
    double high[27] = {};
    for (index_t i = blockIdx.x * index_t(blockDim.x) + threadIdx.x; i < (index_t(1) << bits); i += stride) {
        const cuFloatComplex a = amps[i];
        const float p = a.x * a.x + a.y * a.y;
        total += p;
#pragma unroll
        for (int q = 5; q < 32; ++q) {
            if (q < bits && ((i >> q) & 1)) high[q - 5] += p;
        }
    }
#pragma unroll
    for (int q = 0; q < 5; ++q) low[q] = (threadIdx.x >> q) & 1 ? total : 0.0;
    for (int q = 0; q < 5; ++q) atomicAdd(&acc[q], low[q]);
#pragma unroll
    for (int q = 5; q < 32; ++q) {
        if (q < bits) {
            double v = high[q - 5];
            for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
            if ((threadIdx.x & 31) == 0) atomicAdd(&acc[q], v);
        }
    }
    __syncthreads();
    if (threadIdx.x < bits) atomicAdd(&prob[threadIdx.x], acc[threadIdx.x]);
}

}  // namespace qsim

class HostState {
public:
    std::vector<cfloat> a;
    HostState() : a(qsim::kDim, cfloat(0, 0)) { a[5] = 1; }
    void gate(const qsim::Gate1& g, int t)
    {
        cfloat m[2][2];
        for (int r = 0; r < 2; ++r)
            for (int c = 0; c < 2; ++c) m[r][c] = cfloat(g.m[r][c].x, g.m[r][c].y);
        const index_t bit = index_t(1) << t;
        for (index_t i = 0; i < a.size(); ++i) {
            if (i & bit) continue;
            const cfloat u = a[i], v = a[i | bit];
            a[i] = cfloat(m[0][0].real() * u.real() - m[0][0].imag() * u.imag() + m[0][1].real() * v.real() - m[0][1].imag() * v.imag(),
                          m[0][0].real() * u.imag() + m[0][0].imag() * u.real() + m[0][1].real() * v.imag() + m[0][1].imag() * v.real());
            a[i | bit] = cfloat(m[1][0].real() * u.real() - m[1][0].imag() * u.imag() + m[1][1].real() * v.real() - m[1][1].imag() * v.imag(),
                                m[1][0].real() * u.imag() + m[1][0].imag() * u.real() + m[1][1].real() * v.imag() + m[1][1].imag() * v.real());
        }
    }
    void cnot(int c, int t)
    {
        for (index_t i = 0; i < a.size(); ++i) {
            if ((i >> c & 1) && !(i >> t & 1)) std::swap(a[i], a[i | (index_t(1) << t)]);
        }
    }
};

static qsim::Gate1 random_u3(std::mt19937& rng)
{
    std::uniform_real_distribution<double> u(0.0, 3.14159);
    const double th = u(rng), ph = u(rng), la = u(rng);
    const double c = std::cos(th / 2), s = std::sin(th / 2);
    qsim::Gate1 g;
    g.m[0][0] = make_cuFloatComplex(float(c), 0.f);
    g.m[0][1] = make_cuFloatComplex(float(-std::cos(la) * s), float(-std::sin(la) * s));
    g.m[1][0] = make_cuFloatComplex(float(std::cos(ph) * s), float(std::sin(ph) * s));
    g.m[1][1] = make_cuFloatComplex(float(std::cos(ph + la) * c), float(std::sin(ph + la) * c));
    return g;
}

int main()
{
    using namespace qsim;
    constexpr int log_tile = 10, threads = 256;
    std::mt19937 rng(31337);
    cuFloatComplex *amps = nullptr, *alt = nullptr;
    double* prob = nullptr;
    Gate1* d_gates = nullptr;
    int* d_targets = nullptr;
    require(cudaMalloc(&amps, kDim * sizeof(cuFloatComplex)), "amps");
    require(cudaMalloc(&alt, kDim * sizeof(cuFloatComplex)), "alt");
    require(cudaMalloc(&prob, kNumQubits * sizeof(double)), "prob");
    require(cudaMemset(prob, 0, kNumQubits * sizeof(double)), "prob");

    HostState host;
    const unsigned full = unsigned(kDim / threads);
    init_basis_state<<<full, threads>>>(amps, 5, kDim);

    // fused block of gates on the low qubits
    std::vector<Gate1> fused;
    std::vector<int> targets;
    for (int q = 0; q < log_tile; ++q) {
        fused.push_back(random_u3(rng));
        targets.push_back((q * 7) % log_tile);
        host.gate(fused.back(), targets.back());
    }
    require(cudaMalloc(&d_gates, fused.size() * sizeof(Gate1)), "gates");
    require(cudaMalloc(&d_targets, targets.size() * sizeof(int)), "targets");
    require(cudaMemcpy(d_gates, fused.data(), fused.size() * sizeof(Gate1), cudaMemcpyHostToDevice), "gates");
    require(cudaMemcpy(d_targets, targets.data(), targets.size() * sizeof(int), cudaMemcpyHostToDevice), "targets");
    apply_fused_tile<log_tile><<<unsigned(kDim >> log_tile), threads>>>(amps, d_gates, d_targets, int(fused.size()));

    for (int t : {20, 12, 3, 16}) {
        const Gate1 g = random_u3(rng);
        apply_gate1<<<full / 2, threads>>>(amps, g, t, kDim / 2);
        host.gate(g, t);
    }
    for (int t : {2, 4}) {
        const Gate1 g = random_u3(rng);
        apply_gate1_low<<<full, threads>>>(amps, g, t, kDim);
        host.gate(g, t);
    }
    const int pairs[][2] = {{20, 0}, {1, 15}, {12, 16}};
    for (auto& p : pairs) {
        apply_cnot<<<full / 4, threads>>>(amps, p[0], p[1], kDim / 4);
        host.cnot(p[0], p[1]);
    }
    DiagProgram<24> prog{};
    prog.count = 12;
    for (int t = 0; t < prog.count; ++t) {
        prog.term[t].mask = (index_t(1) << (rng() % kNumQubits)) | (index_t(1) << (rng() % kNumQubits));
        prog.term[t].angle = 0.05f * (t + 1);
    }
    apply_diagonal<24><<<528, threads>>>(amps, prog, kDim);
    for (index_t i = 0; i < kDim; ++i) {
        float ph = 0.f;
        for (int t = 0; t < prog.count; ++t) {
            ph += (__builtin_popcountll(prog.term[t].mask & i) & 1) ? prog.term[t].angle : -prog.term[t].angle;
        }
        const cfloat v = host.a[i];
        const float c = std::cos(ph), s = std::sin(ph);
        host.a[i] = cfloat(v.real() * c - v.imag() * s, v.real() * s + v.imag() * c);
    }
    qubit_probabilities<<<132, threads>>>(amps, prob, kNumQubits);
    bit_reverse_copy<<<full, threads>>>(amps, alt, kNumQubits);
    require(cudaGetLastError(), "launch");
    require(cudaDeviceSynchronize(), "sync");

    std::vector<cuFloatComplex> out(kDim);
    std::vector<double> p(kNumQubits), p_ref(kNumQubits, 0.0);
    require(cudaMemcpy(out.data(), alt, kDim * sizeof(cuFloatComplex), cudaMemcpyDeviceToHost), "d2h");
    require(cudaMemcpy(p.data(), prob, kNumQubits * sizeof(double), cudaMemcpyDeviceToHost), "d2h");
    double worst = 0, worst_p = 0, norm = 0;
    for (index_t i = 0; i < kDim; ++i) {
        index_t r = 0;
        for (int b = 0; b < kNumQubits; ++b) r |= (i >> b & 1) << (kNumQubits - 1 - b);
        worst = std::max({worst, double(std::fabs(out[r].x - host.a[i].real())), double(std::fabs(out[r].y - host.a[i].imag()))});
        const double w = std::norm(host.a[i]);
        norm += w;
        for (int b = 0; b < kNumQubits; ++b) {
            if (i >> b & 1) p_ref[b] += w;
        }
    }
    for (int b = 0; b < kNumQubits; ++b) worst_p = std::max(worst_p, std::fabs(p[b] - p_ref[b]));
    std::printf("norm %.6f amplitude diff %.2e probability diff %.2e\n", norm, worst, worst_p);
    const bool ok = worst < 1e-5 && worst_p < 1e-4 && std::fabs(norm - 1.0) < 1e-3;
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
