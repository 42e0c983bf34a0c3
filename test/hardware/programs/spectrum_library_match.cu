// Mass-spectrometry library search. Peak lists are binned into int8 vectors, every query is scored against every
// library spectrum on the integer tensor cores, candidates are filtered by precursor mass, and the best hit is
// re-scored with shifted fragments ("open modification" search).
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define CUDA_TRY(expr) do { cudaError_t rc_ = (expr); if (rc_ != cudaSuccess) { std::fprintf(stderr, "%s failed: %s\n", #expr, cudaGetErrorString(rc_)); std::exit(2); } } while (0)

namespace msms {

constexpr int kBins = 512;               // bytes per spectrum
constexpr int kTile = 64;                // queries and library spectra per block
constexpr int kSlab = 64;                // bytes of k per stage
constexpr int kPitch = kSlab + 16;       // bytes; keeps ldmatrix rows on different banks
constexpr int kShifts = 32;

struct Peak { uint16_t bin; uint8_t height; uint8_t charge; };   // 4 bytes

// ---- PTX wrappers ----
__device__ __forceinline__ void cp_async16(void* dst, const void* src) {
    const unsigned d = static_cast<unsigned>(__cvta_generic_to_shared(dst));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;\n" ::"r"(d), "l"(src));
}
__device__ __forceinline__ void cp_commit() { asm volatile("cp.async.commit_group;\n" ::); }
template <int N> __device__ __forceinline__ void cp_wait() { asm volatile("cp.async.wait_group %0;\n" ::"n"(N)); }
__device__ __forceinline__ void ldmatrix_x4(uint32_t* r, const void* p) {
    const unsigned a = static_cast<unsigned>(__cvta_generic_to_shared(p));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(a));
}
__device__ __forceinline__ void mma_m16n8k32_s8(int* d, const uint32_t* a, const uint32_t* b) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// One block per spectrum; a peak also leaves half of its height in both neighbouring bins.
__global__ void bin_peaks(const Peak* __restrict__ peaks, const int* __restrict__ offsets, int8_t* __restrict__ dense) {
    __shared__ int acc[kBins];
    for (int i = threadIdx.x; i < kBins; i += blockDim.x) acc[i] = 0;
    __syncthreads();
    const int b = offsets[blockIdx.x], e = offsets[blockIdx.x + 1];
    for (int i = b + threadIdx.x; i < e; i += blockDim.x) {
        const Peak p = peaks[i];
        atomicAdd(&acc[p.bin], p.height / p.charge);
        if (p.bin > 0) atomicAdd(&acc[p.bin - 1], p.height / (2 * p.charge));
        if (p.bin < kBins - 1) atomicAdd(&acc[p.bin + 1], p.height / (2 * p.charge));
    }
    __syncthreads();
    char4* row = reinterpret_cast<char4*>(dense + (size_t)blockIdx.x * kBins);
    for (int i = threadIdx.x; i < kBins / 4; i += blockDim.x)
        row[i] = make_char4((signed char)min(acc[4 * i], 127), (signed char)min(acc[4 * i + 1], 127), (signed char)min(acc[4 * i + 2], 127), (signed char)min(acc[4 * i + 3], 127));
}

// Reference path: a thread per pair, both operands from global memory as 32-bit words.
__global__ void score_dp4a(const int* __restrict__ q, const int* __restrict__ lib, int* __restrict__ score, int nq, int nl) {
    const int l = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (l >= nl || i >= nq) return;
    int s = 0;
    for (int k = 0; k < kBins / 4; ++k) s = __dp4a(q[i * (kBins / 4) + k], lib[l * (kBins / 4) + k], s);
    score[(size_t)i * nl + l] = s;
}

__device__ __forceinline__ void stage(int8_t* s, const int8_t* g, int row0, int k0) {
#pragma unroll
    for (int c = threadIdx.x; c < kTile * kSlab / 16; c += 128) {
        const int r = c >> 2, o = (c & 3) * 16;
        cp_async16(s + r * kPitch + o, g + (size_t)(row0 + r) * kBins + k0 + o);
    }
}

__global__ void __launch_bounds__(128) score_mma(const int8_t* __restrict__ q, const int8_t* __restrict__ lib, int* __restrict__ score, int nq, int nl) {
    extern __shared__ __align__(128) int8_t smem[];
    int8_t* sq = smem;                                // [2][kTile][kPitch]
    int8_t* sl = smem + 2 * kTile * kPitch;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int wm = (warp & 1) * 32, wn = (warp >> 1) * 32;
    const int q0 = blockIdx.y * kTile, l0 = blockIdx.x * kTile;
    int acc[2][4][4] = {};
    stage(sq, q, q0, 0);
    stage(sl, lib, l0, 0);
    cp_commit();
    for (int k0 = 0, buf = 0; k0 < kBins; k0 += kSlab, buf ^= 1) {
        if (k0 + kSlab < kBins) {
            stage(sq + (buf ^ 1) * kTile * kPitch, q, q0, k0 + kSlab);
            stage(sl + (buf ^ 1) * kTile * kPitch, lib, l0, k0 + kSlab);
        }
        cp_commit();
        cp_wait<1>();
        __syncthreads();
        const int8_t* a_s = sq + buf * kTile * kPitch;
        const int8_t* b_s = sl + buf * kTile * kPitch;
#pragma unroll
        for (int kk = 0; kk < kSlab; kk += 32) {
            uint32_t a[2][4], b[2][4];
#pragma unroll
            for (int i = 0; i < 2; ++i) ldmatrix_x4(a[i], a_s + (wm + i * 16 + (lane & 15)) * kPitch + kk + (lane >> 4) * 16);
#pragma unroll
            for (int j = 0; j < 2; ++j) ldmatrix_x4(b[j], b_s + (wn + j * 16 + (lane & 7) + ((lane >> 4) << 3)) * kPitch + kk + ((lane >> 3) & 1) * 16);
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) mma_m16n8k32_s8(acc[i][j], a[i], &b[j >> 1][(j & 1) * 2]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const int r = q0 + wm + i * 16 + h * 8 + (lane >> 2), c = l0 + wn + j * 8 + (lane & 3) * 2;
                if (r < nq) {                         // nl may be odd: no 8-byte stores
                    if (c < nl) score[(size_t)r * nl + c] = acc[i][j][2 * h];
                    if (c + 1 < nl) score[(size_t)r * nl + c + 1] = acc[i][j][2 * h + 1];
                }
            }
}

// Warp per query: best library entry whose precursor mass is inside the tolerance.
__global__ void best_hit(const int* __restrict__ score, const int* __restrict__ qmass, const int* __restrict__ lmass, int tol, int2* __restrict__ hit, int nq, int nl) {
    const int i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (i >= nq) return;
    int best = -1, who = -1;
    for (int l = lane; l < nl; l += 32) {
        if (abs(lmass[l] - qmass[i]) > tol) continue;   // most lanes drop out here
        const int s = score[(size_t)i * nl + l];
        if (s > best) { best = s; who = l; }
    }
    for (int o = 16; o; o >>= 1) {
        const int b2 = __shfl_xor_sync(~0u, best, o), w2 = __shfl_xor_sync(~0u, who, o);
        if (b2 > best || (b2 == best && (unsigned)w2 < (unsigned)who)) { best = b2; who = w2; }
    }
    if (lane == 0) hit[i] = make_int2(who, best);
}

// Lane s scores the hit with the query moved by s bins: byte reads of shared memory at lane-shifted offsets.
template <int WARPS>
__global__ void shifted_rescore(const int8_t* __restrict__ q, const int8_t* __restrict__ lib, const int2* __restrict__ hit, int2* __restrict__ out, int nq) {
    __shared__ __align__(16) int8_t sq[WARPS][kBins + kShifts];
    __shared__ __align__(16) int8_t sl[WARPS][kBins];
    const int w = threadIdx.x / 32, lane = threadIdx.x % 32, i = blockIdx.x * WARPS + w;
    if (i >= nq) return;
    const int l = hit[i].x;
    if (l < 0) { if (lane == 0) out[i] = make_int2(0, -1); return; }
    for (int k = lane; k < kBins / 16; k += 32) {
        reinterpret_cast<int4*>(sq[w])[k] = reinterpret_cast<const int4*>(q + (size_t)i * kBins)[k];
        reinterpret_cast<int4*>(sl[w])[k] = reinterpret_cast<const int4*>(lib + (size_t)l * kBins)[k];
    }
    sq[w][kBins + lane] = 0;
    __syncwarp();
    int s = 0;
    for (int k = 0; k < kBins; ++k) s += int(sq[w][k + lane]) * int(sl[w][k]);
    int shift = lane;
    for (int o = 16; o; o >>= 1) {
        const int s2 = __shfl_xor_sync(~0u, s, o), h2 = __shfl_xor_sync(~0u, shift, o);
        if (s2 > s || (s2 == s && h2 < shift)) { s = s2; shift = h2; }
    }
    if (lane == 0) out[i] = make_int2(shift, s);
}

__global__ void score_histogram(const int* __restrict__ score, unsigned* __restrict__ hist, int n) {
    __shared__ unsigned h[64 * 8];                    // a copy per warp
    for (int i = threadIdx.x; i < 512; i += 256) h[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&h[threadIdx.x / 32 * 64 + min(score[i] >> 11, 63)], 1u);
    __syncthreads();
    if (threadIdx.x < 64) {
        unsigned s = 0;
        for (int w = 0; w < 8; ++w) s += h[w * 64 + threadIdx.x];
        if (s) atomicAdd(&hist[threadIdx.x], s);
    }
}

}  // namespace msms

template <class T> static T* upload(const std::vector<T>& v) { T* p; CUDA_TRY(cudaMalloc(&p, v.size() * sizeof(T))); CUDA_TRY(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice)); return p; }
template <class T> static std::vector<T> download(const T* p, size_t n) { std::vector<T> v(n); CUDA_TRY(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost)); return v; }

int main(int argc, char** argv) {
    using namespace msms;
    const int nl = argc > 1 ? std::atoi(argv[1]) : 611, nq = 150, tol = 400;
    const int nqp = (nq + kTile - 1) / kTile * kTile, nlp = (nl + kTile - 1) / kTile * kTile;
    std::mt19937 rng(31337);
    std::vector<Peak> peaks;
    std::vector<int> off{0}, mass;                    // library first, then the queries
    std::vector<std::vector<Peak>> lib(nl);
    for (int l = 0; l < nl; ++l) {
        for (int p = 0, n = 20 + rng() % 60; p < n; ++p) lib[l].push_back({uint16_t(rng() % kBins), uint8_t(5 + rng() % 100), uint8_t(1 + rng() % 3)});
        peaks.insert(peaks.end(), lib[l].begin(), lib[l].end());
        off.push_back(int(peaks.size()));
        mass.push_back(5000 + int(rng() % 10000));
    }
    for (int i = 0; i < nq; ++i) {                    // a noisy copy of some library entry, moved left by up to 20 bins
        const int l = rng() % nl, move = i % 3 ? 0 : rng() % 20;
        for (Peak p : lib[l]) if (rng() % 5) { if (int(p.bin) + move < kBins) { p.bin += move; peaks.push_back(p); } }
        for (int k = 0; k < 15; ++k) peaks.push_back({uint16_t(rng() % kBins), uint8_t(5 + rng() % 30), 1});
        off.push_back(int(peaks.size()));
        mass.push_back(mass[l] + int(rng() % 300) - 150);
    }
    Peak* d_peaks = upload(peaks);
    int *d_off = upload(off), *d_mass = upload(mass), *d_s1, *d_s2;
    int8_t *d_lib, *d_q;
    int2 *d_hit, *d_re;
    unsigned* d_hist;
    CUDA_TRY(cudaMalloc(&d_lib, (size_t)nlp * kBins)); CUDA_TRY(cudaMalloc(&d_q, (size_t)nqp * kBins));
    CUDA_TRY(cudaMemset(d_lib, 0, (size_t)nlp * kBins)); CUDA_TRY(cudaMemset(d_q, 0, (size_t)nqp * kBins));
    CUDA_TRY(cudaMalloc(&d_s1, (size_t)nq * nl * 4)); CUDA_TRY(cudaMalloc(&d_s2, (size_t)nq * nl * 4));
    CUDA_TRY(cudaMalloc(&d_hit, nq * 8)); CUDA_TRY(cudaMalloc(&d_re, nq * 8)); CUDA_TRY(cudaMalloc(&d_hist, 256)); CUDA_TRY(cudaMemset(d_hist, 0, 256));
    bin_peaks<<<nl, 64>>>(d_peaks, d_off, d_lib);
    bin_peaks<<<nq, 64>>>(d_peaks, d_off + nl, d_q);
    score_dp4a<<<dim3((nl + 31) / 32, (nq + 3) / 4), dim3(32, 4)>>>((const int*)d_q, (const int*)d_lib, d_s1, nq, nl);
    const int dyn = 4 * kTile * kPitch;
    CUDA_TRY(cudaFuncSetAttribute(score_mma, cudaFuncAttributeMaxDynamicSharedMemorySize, dyn));
    score_mma<<<dim3(nlp / kTile, nqp / kTile), 128, dyn>>>(d_q, d_lib, d_s2, nq, nl);
    best_hit<<<(nq + 7) / 8, 256>>>(d_s2, d_mass + nl, d_mass, tol, d_hit, nq, nl);
    shifted_rescore<4><<<(nq + 3) / 4, 128>>>(d_q, d_lib, d_hit, d_re, nq);
    score_histogram<<<12, 256>>>(d_s2, d_hist, nq * nl);
    CUDA_TRY(cudaDeviceSynchronize());

    std::vector<int8_t> dense((size_t)(nl + nq) * kBins);
    for (int r = 0; r < nl + nq; ++r) {
        int acc[kBins] = {};
        for (int i = off[r]; i < off[r + 1]; ++i) {
            const Peak p = peaks[i];
            acc[p.bin] += p.height / p.charge;
            if (p.bin > 0) acc[p.bin - 1] += p.height / (2 * p.charge);
            if (p.bin < kBins - 1) acc[p.bin + 1] += p.height / (2 * p.charge);
        }
        for (int b = 0; b < kBins; ++b) dense[(size_t)r * kBins + b] = int8_t(std::min(acc[b], 127));
    }
    const auto s1 = download(d_s1, (size_t)nq * nl), s2 = download(d_s2, (size_t)nq * nl);
    const auto hit = download(d_hit, nq), re = download(d_re, nq);
    const auto hist = download(d_hist, 64);
    std::vector<unsigned> href(64, 0);
    size_t bad_dp = 0, bad_mma = 0, bad_hit = 0, bad_re = 0;
    for (int i = 0; i < nq; ++i) {
        const int8_t* a = &dense[(size_t)(nl + i) * kBins];
        int best = -1, who = -1;
        for (int l = 0; l < nl; ++l) {
            const int8_t* b = &dense[(size_t)l * kBins];
            int s = 0;
            for (int k = 0; k < kBins; ++k) s += a[k] * b[k];
            bad_dp += s1[(size_t)i * nl + l] != s;
            bad_mma += s2[(size_t)i * nl + l] != s;
            href[std::min(s >> 11, 63)]++;
            if (std::abs(mass[l] - mass[nl + i]) <= tol && s > best) { best = s; who = l; }
        }
        bad_hit += hit[i].x != who || hit[i].y != best;
        int bs = -1, bh = 0;
        for (int h = 0; h < kShifts && who >= 0; ++h) {
            int s = 0;
            for (int k = 0; k + h < kBins; ++k) s += a[k + h] * dense[(size_t)who * kBins + k];
            if (s > bs) { bs = s; bh = h; }
        }
        bad_re += re[i].x != bh || re[i].y != bs;
    }
    std::printf("wrong: dp4a %zu mma %zu hits %zu rescored %zu histogram %d\n", bad_dp, bad_mma, bad_hit, bad_re, int(hist != href));
    const bool ok = !bad_dp && !bad_mma && !bad_hit && !bad_re && hist == href;
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
