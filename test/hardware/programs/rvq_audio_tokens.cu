// Residual vector quantiser for a neural audio codec: encoder frames (fp16)
// -> Q token streams -> decoder input (bf16).  Inference kernels plus the
// codebook EMA statistics used when the codec is fine-tuned.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

namespace rvq {

constexpr int kDim = 64;
constexpr int kStages = 4;

struct Params {
    int frames;
    int codes;
    const __half* codebook;      // [stage][code][dim]
    const float* norms;          // [stage][code]  |c|^2
};

#define RVQ_CUDA(x)                                                              \
    if (cudaError_t e = (x); e != cudaSuccess) {                                 \
        std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
        std::exit(EXIT_FAILURE);                                                 \
    }

// |c|^2, one thread per code: the first thing that came to mind, rows of 128 bytes per thread
__global__ void codeNorms(int n, const __half* __restrict__ cb, float* __restrict__ norms)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= n) return;
    float s = 0.f;
    for (int d = 0; d < kDim; ++d) {
        float v = __half2float(cb[c * kDim + d]);
        s += v * v;
    }
    norms[c] = s;
}

// [frames][dim] -> [dim][frames], so that the reference kernel reads coalesced
__global__ void framesToChannelMajor(int frames, const __half* __restrict__ x, __half* __restrict__ xt)
{
    __shared__ __half tile[32][34];
    int f = blockIdx.x * 32 + threadIdx.y, d = blockIdx.y * 32 + threadIdx.x;
    for (int k = 0; k < 32; k += 8)
        if (f + k < frames) tile[threadIdx.y + k][threadIdx.x] = x[(f + k) * kDim + d];
    __syncthreads();
    int fo = blockIdx.x * 32 + threadIdx.x, dout = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        if (fo < frames) xt[(dout + k) * frames + fo] = tile[threadIdx.x][threadIdx.y + k];
}

// one thread a frame, frame in registers, all codes streamed from global memory
template <bool ChannelMajor>
__global__ void assignPerThread(Params p, int stage, const __half* __restrict__ x, uint16_t* __restrict__ tokens)
{
    int f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f >= p.frames) return;
    float v[kDim];
#pragma unroll
    for (int d = 0; d < kDim; ++d) v[d] = __half2float(ChannelMajor ? x[d * p.frames + f] : x[f * kDim + d]);
    const __half* cb = p.codebook + stage * p.codes * kDim;
    float best = FLT_MAX;
    int arg = 0;
    for (int c = 0; c < p.codes; ++c) {
        float dot = 0.f;
#pragma unroll
        for (int d = 0; d < kDim; ++d) dot += v[d] * __half2float(cb[c * kDim + d]);
        float dist = p.norms[stage * p.codes + c] - 2.f * dot;
        if (dist < best) { best = dist; arg = c; }
    }
    tokens[f] = static_cast<uint16_t>(arg);
}

// one warp a frame, lane = dimension pair; every distance costs five shuffles
__global__ void assignPerWarp(Params p, int stage, const __half2* __restrict__ x, uint16_t* __restrict__ tokens)
{
    int f = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    if (f >= p.frames) return;
    const __half2* cb = reinterpret_cast<const __half2*>(p.codebook) + stage * p.codes * (kDim / 2);
    float2 v = __half22float2(x[f * (kDim / 2) + lane]);
    float best = FLT_MAX;
    int arg = 0;
    for (int c = 0; c < p.codes; ++c) {
        float2 w = __half22float2(cb[c * (kDim / 2) + lane]);
        float dot = v.x * w.x + v.y * w.y;
        for (int o = 16; o; o >>= 1) dot += __shfl_xor_sync(0xffffffffu, dot, o);
        float dist = p.norms[stage * p.codes + c] - 2.f * dot;
        if (dist < best) { best = dist; arg = c; }
    }
    if (lane == 0) tokens[f] = static_cast<uint16_t>(arg);
}

// Tiled: 64 frames a block; code tiles of 64 double buffered with cp.async.
// Thread (tx, ty) of 16x16 owns frames ty*4.. and codes tx+16*j.
template <int Pad>
struct TileSmem {
    static constexpr int kRow = kDim + Pad;                   // halves
    __half frames[64 * kRow];
    __half codes[2][64 * kRow];
    float bestDist[64][17];
    uint16_t bestCode[64][18];
};

template <int Pad>
__global__ void __launch_bounds__(256) assignTiled(Params p, int stage, const __half* __restrict__ x, uint16_t* __restrict__ tokens)
{
    extern __shared__ __align__(16) unsigned char raw[];
    auto& sm = *reinterpret_cast<TileSmem<Pad>*>(raw);
    constexpr int kRow = TileSmem<Pad>::kRow;
    const int tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
    const int f0 = blockIdx.x * 64;
    const __half* cb = p.codebook + stage * p.codes * kDim;

    auto loadCodes = [&](int buf, int c0) {
        for (int t = tid; t < 64 * (kDim / 8); t += 256) {    // 16-byte pieces
            int r = t / (kDim / 8), q = t % (kDim / 8);
            __pipeline_memcpy_async(&sm.codes[buf][r * kRow + q * 8], cb + (c0 + r) * kDim + q * 8, 16);
        }
        __pipeline_commit();
    };
    loadCodes(0, 0);
    for (int t = tid; t < 64 * (kDim / 8); t += 256) {
        int r = t / (kDim / 8), q = t % (kDim / 8);
        uint4 z = make_uint4(0, 0, 0, 0);
        if (f0 + r < p.frames) z = *reinterpret_cast<const uint4*>(x + (f0 + r) * kDim + q * 8);
        *reinterpret_cast<uint4*>(&sm.frames[r * kRow + q * 8]) = z;
    }

    float best[4] = {FLT_MAX, FLT_MAX, FLT_MAX, FLT_MAX};
    int arg[4] = {0, 0, 0, 0};
    const int tiles = p.codes / 64;
    for (int t = 0; t < tiles; ++t) {
        if (t + 1 < tiles) {
            loadCodes((t + 1) & 1, (t + 1) * 64);
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
        float acc[4][4] = {};
        const __half* codes = sm.codes[t & 1];
        for (int d = 0; d < kDim; d += 2) {
            float2 a[4], b[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) a[i] = __half22float2(*reinterpret_cast<const __half2*>(&sm.frames[(ty * 4 + i) * kRow + d]));
#pragma unroll
            for (int j = 0; j < 4; ++j) b[j] = __half22float2(*reinterpret_cast<const __half2*>(&codes[(tx + 16 * j) * kRow + d]));
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) acc[i][j] += a[i].x * b[j].x + a[i].y * b[j].y;
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            int c = t * 64 + tx + 16 * j;
            float n = p.norms[stage * p.codes + c];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                float dist = n - 2.f * acc[i][j];
                if (dist < best[i]) { best[i] = dist; arg[i] = c; }
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) {
        sm.bestDist[ty * 4 + i][tx] = best[i];
        sm.bestCode[ty * 4 + i][tx] = static_cast<uint16_t>(arg[i]);
    }
    __syncthreads();
    if (tid < 64 && f0 + tid < p.frames) {
        float b = sm.bestDist[tid][0];
        int a = sm.bestCode[tid][0];
        for (int k = 1; k < 16; ++k) if (sm.bestDist[tid][k] < b) { b = sm.bestDist[tid][k]; a = sm.bestCode[tid][k]; }
        tokens[f0 + tid] = static_cast<uint16_t>(a);
    }
}

// x -= codebook[token], half2 arithmetic
__global__ void subtractCode(Params p, int stage, const uint16_t* __restrict__ tokens, __half2* __restrict__ x)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= p.frames * (kDim / 2)) return;
    int f = t / (kDim / 2), d = t % (kDim / 2);
    const __half2* cb = reinterpret_cast<const __half2*>(p.codebook) + stage * p.codes * (kDim / 2);
    x[t] = __hsub2(x[t], cb[tokens[f] * (kDim / 2) + d]);
}

// sum of the chosen codes, 8 bf16 (16 bytes) per thread
__global__ void decodeTokens(Params p, const uint16_t* __restrict__ tokens, uint4* __restrict__ y)
{
    for (int t = blockIdx.x * blockDim.x + threadIdx.x; t < p.frames * (kDim / 8); t += gridDim.x * blockDim.x) {
        int f = t / (kDim / 8), q = t % (kDim / 8);
        float s[8] = {};
        for (int st = 0; st < kStages; ++st) {
            int c = tokens[st * p.frames + f];
            uint4 w = reinterpret_cast<const uint4*>(p.codebook)[(st * p.codes + c) * (kDim / 8) + q];
            const __half2* h = reinterpret_cast<const __half2*>(&w);
            for (int k = 0; k < 4; ++k) { float2 v = __half22float2(h[k]); s[2 * k] += v.x; s[2 * k + 1] += v.y; }
        }
        uint4 o;
        __nv_bfloat162* b = reinterpret_cast<__nv_bfloat162*>(&o);
        for (int k = 0; k < 4; ++k) b[k] = __floats2bfloat162_rn(s[2 * k], s[2 * k + 1]);
        y[t] = o;
    }
}

// EMA statistics of one stage: usage counts and per-code sums of the residuals
__global__ void emaAccumulate(int frames, const uint16_t* __restrict__ tokens, const __half* __restrict__ x, int* counts, float* sums)
{
    int f = blockIdx.x, d = threadIdx.x;
    if (f >= frames) return;
    int c = tokens[f];
    if (d == 0) atomicAdd(&counts[c], 1);
    atomicAdd(&sums[c * kDim + d], __half2float(x[f * kDim + d]));
}

} // namespace rvq

template <class T>
struct Buffer {
    T* ptr = nullptr;
    size_t n = 0;
    explicit Buffer(size_t count) : n(count) { RVQ_CUDA(cudaMalloc(&ptr, count * sizeof(T))); }
    explicit Buffer(const std::vector<T>& v) : Buffer(v.size()) { RVQ_CUDA(cudaMemcpy(ptr, v.data(), n * sizeof(T), cudaMemcpyHostToDevice)); }
    Buffer(Buffer&& b) noexcept : ptr(std::exchange(b.ptr, nullptr)), n(b.n) {}
    ~Buffer() { if (ptr) cudaFree(ptr); }
    std::vector<T> get() const { std::vector<T> v(n); RVQ_CUDA(cudaMemcpy(v.data(), ptr, n * sizeof(T), cudaMemcpyDeviceToHost)); return v; }
};

int main(int argc, char** argv)
{
    using namespace rvq;
    const int frames = argc > 1 ? std::atoi(argv[1]) : 1500;       // 20 s at 75 Hz
    const int codes = 256;
    std::mt19937 gen(17);
    std::normal_distribution<float> nd(0.f, 1.f);
    std::vector<__half> x(size_t(frames) * kDim), cb(size_t(kStages) * codes * kDim);
    for (auto& v : x) v = __float2half(nd(gen));
    for (int s = 0; s < kStages; ++s)
        for (int i = 0; i < codes * kDim; ++i) cb[size_t(s) * codes * kDim + i] = __float2half(nd(gen) * (s == 0 ? 0.6f : 0.4f / s));

    Buffer<__half> dx(x), dxt(x.size()), dcb(cb);
    Buffer<float> dn(size_t(kStages) * codes), dsum(std::vector<float>(size_t(codes) * kDim, 0.f));
    Buffer<uint16_t> dtok(size_t(kStages) * frames);
    Buffer<int> dcount(std::vector<int>(codes, 0));
    Buffer<uint4> dy(size_t(frames) * kDim / 8);
    Params p{frames, codes, dcb.ptr, dn.ptr};

    codeNorms<<<(kStages * codes + 127) / 128, 128>>>(kStages * codes, dcb.ptr, dn.ptr);
    bool ok = true;
    std::vector<__half> residual = x;
    for (int s = 0; s < kStages; ++s) {
        uint16_t* tok = dtok.ptr + size_t(s) * frames;
        const char* how = "";
        switch (s) {
        case 0:
            how = "thread, channel major";
            framesToChannelMajor<<<dim3((frames + 31) / 32, kDim / 32), dim3(32, 8)>>>(frames, dx.ptr, dxt.ptr);
            assignPerThread<true><<<(frames + 63) / 64, 64>>>(p, s, dxt.ptr, tok);
            emaAccumulate<<<frames, kDim>>>(frames, tok, dx.ptr, dcount.ptr, dsum.ptr);
            break;
        case 1:
            how = "thread, frame major";
            assignPerThread<false><<<(frames + 63) / 64, 64>>>(p, s, dx.ptr, tok);
            break;
        case 2:
            how = "warp";
            assignPerWarp<<<(frames + 7) / 8, dim3(32, 8)>>>(p, s, reinterpret_cast<const __half2*>(dx.ptr), tok);
            break;
        case 3: {
            how = "tiled, cp.async";
            // the unpadded tile is kept for comparison, the padded one is what ships
            RVQ_CUDA(cudaFuncSetAttribute(assignTiled<0>, cudaFuncAttributeMaxDynamicSharedMemorySize, int(sizeof(TileSmem<0>))));
            assignTiled<0><<<(frames + 63) / 64, 256, sizeof(TileSmem<0>)>>>(p, s, dx.ptr, tok);
            auto first = dtok.get();
            RVQ_CUDA(cudaFuncSetAttribute(assignTiled<8>, cudaFuncAttributeMaxDynamicSharedMemorySize, int(sizeof(TileSmem<8>))));
            assignTiled<8><<<(frames + 63) / 64, 256, sizeof(TileSmem<8>)>>>(p, s, dx.ptr, tok);
            ok &= first == dtok.get();
            break;
        }
        }
        RVQ_CUDA(cudaGetLastError());
        subtractCode<<<(frames * kDim / 2 + 255) / 256, 256>>>(p, s, tok, reinterpret_cast<__half2*>(dx.ptr));

        // the chosen code must be as near as the nearest one, to rounding
        auto tokens = dtok.get();
        int bad = 0;
        for (int f = 0; f < frames; ++f) {
            int got = tokens[size_t(s) * frames + f];
            if (got >= codes) { ++bad; continue; }
            float xv[kDim];
            for (int d = 0; d < kDim; ++d) xv[d] = __half2float(residual[size_t(f) * kDim + d]);
            float best = FLT_MAX, mine = 0;
            if (f % 5 == 0) {                                       // full search on a fifth of the frames
                for (int c = 0; c < codes; ++c) {
                    float q = 0;
                    for (int d = 0; d < kDim; ++d) { float e = xv[d] - __half2float(cb[(size_t(s) * codes + c) * kDim + d]); q += e * e; }
                    if (c == got) mine = q;
                    best = std::fmin(best, q);
                }
                if (mine > best + 1e-3f) ++bad;
            }
            for (int d = 0; d < kDim; ++d)
                residual[size_t(f) * kDim + d] = __float2half(xv[d] - __half2float(cb[(size_t(s) * codes + got) * kDim + d]));
        }
        std::printf("stage %d (%s): %d bad frames\n", s, how, bad);
        ok &= bad == 0;
    }
    decodeTokens<<<48, 128>>>(p, dtok.ptr, dy.ptr);
    RVQ_CUDA(cudaGetLastError());

    auto tokens = dtok.get();
    auto y = dy.get();
    auto left = dx.get();
    auto counts = dcount.get();
    auto sums = dsum.get();
    const __nv_bfloat16* yb = reinterpret_cast<const __nv_bfloat16*>(y.data());
    std::vector<int> rc(codes, 0);
    std::vector<double> rs(size_t(codes) * kDim, 0.0);
    double worst = 0, worstResidual = 0, worstSum = 0;
    for (int f = 0; f < frames; ++f) {
        ++rc[tokens[f]];
        for (int d = 0; d < kDim; ++d) {
            float s = 0;
            for (int st = 0; st < kStages; ++st) s += __half2float(cb[(size_t(st) * codes + tokens[size_t(st) * frames + f]) * kDim + d]);
            worst = std::fmax(worst, std::fabs(s - __bfloat162float(yb[size_t(f) * kDim + d])) / (1.0 + std::fabs(s)));
            worstResidual = std::fmax(worstResidual, std::fabs(__half2float(left[size_t(f) * kDim + d]) - __half2float(residual[size_t(f) * kDim + d])));
            rs[size_t(tokens[f]) * kDim + d] += __half2float(x[size_t(f) * kDim + d]);
        }
    }
    for (size_t i = 0; i < rs.size(); ++i) worstSum = std::fmax(worstSum, std::fabs(rs[i] - sums[i]));
    std::printf("decode %.2e residual %.2e ema %.2e\n", worst, worstResidual, worstSum);
    ok &= worst < 8e-3 && worstResidual < 2e-2 && worstSum < 1e-2 && counts == rc;
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
