// Encoder pieces packaged as inference plugins: embedding + layer norm, a
// gated feed-forward (cp.async GEMM, GEGLU), skip layer norm and attention
// pooling with a length mask.  Vectorised type traits, BOOL_SWITCH dispatch,
// serialisable plugin fields and a creator registry.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace cg = cooperative_groups;

#define TLLM_CUDA_CHECK(stat)                                                                            \
    do {                                                                                                 \
        cudaError_t const s_ = (stat);                                                                   \
        if (s_ != cudaSuccess) {                                                                         \
            fprintf(stderr, "[TRT] %s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(s_));             \
            exit(1);                                                                                     \
        }                                                                                                \
    } while (0)

#define BOOL_SWITCH(COND, CONST_NAME, ...)            \
    [&] {                                             \
        if (COND) {                                   \
            constexpr static bool CONST_NAME = true;  \
            return __VA_ARGS__();                     \
        } else {                                      \
            constexpr static bool CONST_NAME = false; \
            return __VA_ARGS__();                     \
        }                                             \
    }()

// ------------------------------------------------------------------ traits
template <int Bytes> struct BytesToType;
template <> struct BytesToType<2> { using type = uint16_t; };
template <> struct BytesToType<4> { using type = uint32_t; };
template <> struct BytesToType<8> { using type = uint64_t; };
template <> struct BytesToType<16> { using type = float4; };

template <int Bytes> __device__ inline void copy(void const* local, void* data)
{
    using T = typename BytesToType<Bytes>::type;
    *static_cast<T*>(data) = *static_cast<T const*>(local);
}

template <typename T> struct Traits;
template <> struct Traits<float>
{
    using Vec2 = float2;
    static constexpr char const* name = "float";
    static constexpr double tol = 2e-5;
    __host__ __device__ static float to(float x) { return x; }
    __host__ __device__ static float from(float x) { return x; }
    __device__ static float2 to2(float2 v) { return v; }
    __device__ static float2 from2(float2 v) { return v; }
};
template <> struct Traits<__half>
{
    using Vec2 = __half2;
    static constexpr char const* name = "half";
    static constexpr double tol = 2e-3;
    __host__ __device__ static float to(__half x) { return __half2float(x); }
    __host__ __device__ static __half from(float x) { return __float2half(x); }
    __device__ static float2 to2(__half2 v) { return __half22float2(v); }
    __device__ static __half2 from2(float2 v) { return __floats2half2_rn(v.x, v.y); }
};
template <> struct Traits<__nv_bfloat16>
{
    using Vec2 = __nv_bfloat162;
    static constexpr char const* name = "bfloat16";
    static constexpr double tol = 1.6e-2;
    __host__ __device__ static float to(__nv_bfloat16 x) { return __bfloat162float(x); }
    __host__ __device__ static __nv_bfloat16 from(float x) { return __float2bfloat16(x); }
    __device__ static float2 to2(__nv_bfloat162 v) { return __bfloat1622float2(v); }
    __device__ static __nv_bfloat162 from2(float2 v) { return __floats2bfloat162_rn(v.x, v.y); }
};

struct kvp { float key, value; };
__device__ inline kvp operator+(kvp a, kvp b) { return {a.key + b.key, a.value + b.value}; }

template <int TPB> __device__ kvp blockSum(kvp v)
{
    __shared__ kvp warps[TPB / 32];
    for (int o = 16; o > 0; o >>= 1)
    {
        v.key += __shfl_xor_sync(0xffffffffu, v.key, o);
        v.value += __shfl_xor_sync(0xffffffffu, v.value, o);
    }
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    kvp s{0.f, 0.f};
    for (int w = 0; w < TPB / 32; ++w) s = s + warps[w];
    return s;
}

// VPT consecutive values per thread; one block per row
template <typename T, int TPB, int VPT, bool hasBias>
__global__ void __launch_bounds__(TPB) skipln_vec(int ld, T const* input, T const* skip, T* output, float const* beta,
    float const* gamma, T const* bias, float eps)
{
    int const idx = ld * blockIdx.x + threadIdx.x * VPT;
    alignas(16) T in_local[VPT];
    alignas(16) T skip_local[VPT];
    alignas(16) T bias_local[VPT];
    copy<sizeof(T) * VPT>(&input[idx], in_local);
    copy<sizeof(T) * VPT>(&skip[idx], skip_local);
    if (hasBias) copy<sizeof(T) * VPT>(&bias[threadIdx.x * VPT], bias_local);
    float x[VPT];
    kvp sum{0.f, 0.f};
    float const rld = 1.f / ld;
#pragma unroll
    for (int i = 0; i < VPT; i++)
    {
        x[i] = Traits<T>::to(in_local[i]) + Traits<T>::to(skip_local[i]);
        if (hasBias) x[i] += Traits<T>::to(bias_local[i]);
        sum = sum + kvp{x[i] * rld, x[i] * x[i] * rld};
    }
    sum = blockSum<TPB>(sum);
    float const rstd = rsqrtf(sum.value - sum.key * sum.key + eps);
#pragma unroll
    for (int i = 0; i < VPT; i++)
    {
        int const c = threadIdx.x * VPT + i;
        in_local[i] = Traits<T>::from(gamma[c] * (x[i] - sum.key) * rstd + beta[c]);
    }
    copy<sizeof(T) * VPT>(in_local, &output[idx]);
}

template <typename T, int TPB>
__global__ void embLayerNormKernel(int ld, int const* inputIds, int const* segmentIds, float const* beta, float const* gamma,
    T const* wordEmb, T const* posEmb, T const* tokEmb, int wordSize, int tokSize, T* output)
{
    __shared__ int wordId, tokenId;
    int const seqPos = blockIdx.y * gridDim.x + blockIdx.x;     // batch major
    if (threadIdx.x == 0)
    {
        wordId = inputIds[seqPos];
        tokenId = segmentIds[seqPos];
    }
    __syncthreads();
    bool const inside = wordId >= 0 && wordId < wordSize && tokenId >= 0 && tokenId < tokSize;
    int const poffset = blockIdx.x * ld, woffset = wordId * ld, toffset = tokenId * ld, outOffset = seqPos * ld;
    float const rld = 1.f / ld;
    kvp t{0.f, 0.f};
    for (int it = threadIdx.x; it < ld; it += TPB)
    {
        float v = Traits<T>::to(posEmb[poffset + it]);
        if (inside) v += Traits<T>::to(wordEmb[woffset + it]) + Traits<T>::to(tokEmb[toffset + it]);
        output[outOffset + it] = Traits<T>::from(v);
        t = t + kvp{rld * v, rld * v * v};
    }
    t = blockSum<TPB>(t);
    float const rstd = rsqrtf(t.value - t.key * t.key + 1e-5f);
    for (int it = threadIdx.x; it < ld; it += TPB)
    {
        float const v = Traits<T>::to(output[outOffset + it]);
        output[outOffset + it] = Traits<T>::from(gamma[it] * (v - t.key) * rstd + beta[it]);
    }
}

__device__ inline float gelu(float x) { return 0.5f * x * (1.f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x))); }

// rows of [gate | up], two columns a thread
template <typename T>
__global__ void gegluKernel(T const* __restrict__ in, T* __restrict__ out, int rows, int inter)
{
    using Vec2 = typename Traits<T>::Vec2;
    int const half = inter / 2;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * half; i += gridDim.x * blockDim.x)
    {
        int const r = i / half, c = i % half;
        Vec2 const* row = reinterpret_cast<Vec2 const*>(in + (size_t) r * 2 * inter);
        float2 const g = Traits<T>::to2(row[c]), u = Traits<T>::to2(row[half + c]);
        reinterpret_cast<Vec2*>(out)[i] = Traits<T>::from2(make_float2(gelu(g.x) * u.x, gelu(g.y) * u.y));
    }
}

// C[M,N] = A[M,K] B[K,N] + bias; 64x64 tiles, BK = 32, two stages of cp.async
template <typename T, bool hasBias>
__global__ void __launch_bounds__(256) gemmPipelined(T const* A, T const* B, T const* bias, T* C, int M, int N, int K)
{
    constexpr int BM = 64, BN = 64, BK = 32, CH = 16 / sizeof(T), LDA = BK + CH, LDB = BN + CH;
    extern __shared__ __align__(16) unsigned char smem[];
    T* As = reinterpret_cast<T*>(smem);                 // [2][BM][LDA]
    T* Bs = As + 2 * BM * LDA;                          // [2][BK][LDB]
    int const tid = threadIdx.x, m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
    auto load = [&](int stage, int k0) {
        for (int c = tid; c < BM * BK / CH; c += 256)
        {
            int const r = c / (BK / CH), k = c % (BK / CH) * CH;
            bool const in = m0 + r < M;
            __pipeline_memcpy_async(As + (stage * BM + r) * LDA + k, A + (size_t) (in ? m0 + r : 0) * K + k0 + k, 16, in ? 0 : 16);
        }
        for (int c = tid; c < BK * BN / CH; c += 256)
        {
            int const r = c / (BN / CH), n = c % (BN / CH) * CH;
            __pipeline_memcpy_async(Bs + (stage * BK + r) * LDB + n, B + (size_t) (k0 + r) * N + n0 + n, 16);
        }
        __pipeline_commit();
    };
    int const tx = tid % 16, ty = tid / 16;
    float acc[4][4] = {};
    load(0, 0);
    int const steps = K / BK;
    for (int s = 0; s < steps; ++s)
    {
        if (s + 1 < steps) { load((s + 1) & 1, (s + 1) * BK); __pipeline_wait_prior(1); }
        else { __pipeline_wait_prior(0); }
        __syncthreads();
        T const* a = As + (s & 1) * BM * LDA;
        T const* b = Bs + (s & 1) * BK * LDB;
#pragma unroll 8
        for (int k = 0; k < BK; ++k)
        {
            float av[4], bv[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) av[i] = Traits<T>::to(a[(ty * 4 + i) * LDA + k]);
#pragma unroll
            for (int j = 0; j < 4; ++j) bv[j] = Traits<T>::to(b[k * LDB + tx + 16 * j]);
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) acc[i][j] += av[i] * bv[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
    {
        int const m = m0 + ty * 4 + i;
        if (m >= M) break;
        for (int j = 0; j < 4; ++j)
        {
            int const n = n0 + tx + 16 * j;
            float v = acc[i][j];
            if (hasBias) v += Traits<T>::to(bias[n]);
            C[(size_t) m * N + n] = Traits<T>::from(v);
        }
    }
}

// a warp scores a token against the query vector
template <typename T>
__global__ void poolScores(T const* x, float const* query, float* scores, int tokens, int ld)
{
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int const token = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
    if (token >= tokens) return;
    using Vec2 = typename Traits<T>::Vec2;
    Vec2 const* row = reinterpret_cast<Vec2 const*>(x + (size_t) token * ld);
    float s = 0.f;
    for (int c = tile.thread_rank(); c < ld / 2; c += 32)
    {
        float2 const v = Traits<T>::to2(row[c]);
        float2 const q = reinterpret_cast<float2 const*>(query)[c];
        s += v.x * q.x + v.y * q.y;
    }
    s = cg::reduce(tile, s, cg::plus<float>());
    if (tile.thread_rank() == 0) scores[token] = s * rsqrtf((float) ld);
}

// masked softmax over the tokens in place, then the weighted sum of the rows
template <typename T, int TPB>
__global__ void poolRows(T const* x, float const* scores, int const* lengths, float* out, int S, int ld)
{
    extern __shared__ float prob[];                     // S
    int const b = blockIdx.x, valid = min(lengths[b], S);
    __shared__ float red[TPB / 32];
    float m = -3.4e38f;
    for (int i = threadIdx.x; i < valid; i += TPB) m = fmaxf(m, scores[b * S + i]);
    for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, o));
    if (threadIdx.x % 32 == 0) red[threadIdx.x / 32] = m;
    __syncthreads();
    m = red[0];
    for (int w = 1; w < TPB / 32; ++w) m = fmaxf(m, red[w]);
    float z = 0.f;
    for (int i = threadIdx.x; i < S; i += TPB)
    {
        float const e = i < valid ? __expf(scores[b * S + i] - m) : 0.f;
        prob[i] = e;
        z += e;
    }
    kvp const total = blockSum<TPB>({z, 0.f});
    for (int c = threadIdx.x; c < ld; c += TPB)
    {
        float s = 0.f;
        for (int i = 0; i < valid; ++i) s += prob[i] * Traits<T>::to(x[((size_t) b * S + i) * ld + c]);
        out[b * ld + c] = s / total.key;
    }
}

// ----------------------------------------------------------------- plugins
template <typename V> static void write(char*& p, V const& v) { memcpy(p, &v, sizeof v); p += sizeof v; }
template <typename V> static void read(char const*& p, V& v) { memcpy(&v, p, sizeof v); p += sizeof v; }

struct Tensors { std::vector<void const*> in; void* out; int rows; };

class IPlugin
{
public:
    virtual ~IPlugin() = default;
    virtual int enqueue(Tensors const& t, cudaStream_t stream) = 0;
    virtual std::string serialize() const = 0;
};

template <typename T> class SkipLayerNormPlugin : public IPlugin
{
public:
    explicit SkipLayerNormPlugin(std::string const& data)
    {
        char const* d = data.data();
        read(d, mLd); read(d, mHasBias);
    }
    SkipLayerNormPlugin(int ld, bool hasBias) : mLd(ld), mHasBias(hasBias) {}
    std::string serialize() const override
    {
        std::string s(sizeof mLd + sizeof mHasBias, 0);
        char* d = &s[0];
        write(d, mLd); write(d, mHasBias);
        return s;
    }
    int enqueue(Tensors const& t, cudaStream_t stream) override
    {
        auto const* in = static_cast<T const*>(t.in[0]);
        auto const* skip = static_cast<T const*>(t.in[1]);
        auto const* beta = static_cast<float const*>(t.in[2]);
        auto const* gamma = static_cast<float const*>(t.in[3]);
        auto const* bias = static_cast<T const*>(t.in[4]);
        constexpr int VPT = 8 / sizeof(T);              // 8-byte accesses
        BOOL_SWITCH(mHasBias, kHasBias, [&] {
            if (mLd == 128 * VPT) skipln_vec<T, 128, VPT, kHasBias><<<t.rows, 128, 0, stream>>>(mLd, in, skip, static_cast<T*>(t.out), beta, gamma, bias, 1e-5f);
            else if (mLd == 64 * VPT) skipln_vec<T, 64, VPT, kHasBias><<<t.rows, 64, 0, stream>>>(mLd, in, skip, static_cast<T*>(t.out), beta, gamma, bias, 1e-5f);
            else { fprintf(stderr, "unsupported width %d\n", mLd); exit(1); }
        });
        return cudaGetLastError() == cudaSuccess ? 0 : -1;
    }
private:
    int mLd; bool mHasBias;
};

using Creator = std::function<std::unique_ptr<IPlugin>(std::string const&)>;
static std::map<std::string, Creator>& registry() { static std::map<std::string, Creator> r; return r; }
template <typename T> struct Registrar
{
    Registrar() { registry()[std::string("SkipLayerNorm_") + Traits<T>::name] = [](std::string const& s) { return std::make_unique<SkipLayerNormPlugin<T>>(s); }; }
};
static Registrar<float> regF; static Registrar<__half> regH; static Registrar<__nv_bfloat16> regB;

template <typename T> static void runGemm(T const* a, T const* b, T const* bias, T* c, int M, int N, int K)
{
    dim3 const grid(N / 64, (M + 63) / 64);
    int const ch = 16 / sizeof(T);
    size_t const sm = sizeof(T) * (2 * 64 * (32 + ch) + 2 * 32 * (64 + ch));
    BOOL_SWITCH(bias != nullptr, kHasBias, [&] { gemmPipelined<T, kHasBias><<<grid, 256, sm>>>(a, b, bias, c, M, N, K); });
    TLLM_CUDA_CHECK(cudaGetLastError());
}

struct CudaDeleter { void operator()(void* p) const { cudaFree(p); } };
template <typename T> struct DevBuf
{
    std::unique_ptr<T, CudaDeleter> p; size_t n;
    explicit DevBuf(size_t n_) : n(n_) { T* q; TLLM_CUDA_CHECK(cudaMalloc(&q, n * sizeof(T))); p.reset(q); }
    explicit DevBuf(std::vector<T> const& h) : DevBuf(h.size()) { TLLM_CUDA_CHECK(cudaMemcpy(p.get(), h.data(), n * sizeof(T), cudaMemcpyHostToDevice)); }
    T* get() const { return p.get(); }
    std::vector<T> host() const { std::vector<T> h(n); TLLM_CUDA_CHECK(cudaMemcpy(h.data(), p.get(), n * sizeof(T), cudaMemcpyDeviceToHost)); return h; }
};

template <typename T> static bool runEncoder()
{
    int const B = 3, S = 71, H = 256, inter = 384, V = 400, M = B * S;
    std::mt19937 rng(3);
    std::normal_distribution<float> nd(0.f, 1.f);
    auto rnd = [&](size_t n, float s) { std::vector<T> v(n); for (auto& x : v) x = Traits<T>::from(s * nd(rng)); return v; };
    auto rndf = [&](size_t n, float m, float s) { std::vector<float> v(n); for (auto& x : v) x = m + s * nd(rng); return v; };
    auto word = rnd((size_t) V * H, 1), pos = rnd(S * H, 0.5f), seg = rnd(2 * H, 0.5f), w1 = rnd((size_t) H * 2 * inter, 0.06f), b1 = rnd(2 * inter, 0.1f), w2 = rnd((size_t) inter * H, 0.05f), b2 = rnd(H, 0.1f);
    auto gamma = rndf(H, 1, 0.1f), beta = rndf(H, 0, 0.1f), query = rndf(H, 0, 1);
    std::vector<int> ids(M), segs(M), len{S, 40, 17};
    for (int i = 0; i < M; i++) { ids[i] = rng() % V; segs[i] = rng() % 2; }
    DevBuf<T> dWord(word), dPos(pos), dSeg(seg), dW1(w1), dB1(b1), dW2(w2), dB2(b2), x((size_t) M * H), gu((size_t) M * 2 * inter), act((size_t) M * inter), ff((size_t) M * H), y((size_t) M * H);
    DevBuf<float> dG(gamma), dBeta(beta), dQ(query), sc(M), pooled(B * H);
    DevBuf<int> dIds(ids), dSegs(segs), dLen(len);
    embLayerNormKernel<T, 128><<<dim3(S, B), 128>>>(H, dIds.get(), dSegs.get(), dBeta.get(), dG.get(), dWord.get(), dPos.get(), dSeg.get(), V, 2, x.get());
    runGemm<T>(x.get(), dW1.get(), dB1.get(), gu.get(), M, 2 * inter, H);
    gegluKernel<T><<<60, 256>>>(gu.get(), act.get(), M, inter);
    runGemm<T>(act.get(), dW2.get(), nullptr, ff.get(), M, H, inter);
    auto plugin = registry().at(std::string("SkipLayerNorm_") + Traits<T>::name)(SkipLayerNormPlugin<T>(H, true).serialize());
    if (plugin->enqueue({{ff.get(), x.get(), dBeta.get(), dG.get(), dB2.get()}, y.get(), M}, nullptr)) return false;
    poolScores<T><<<(M + 3) / 4, 128>>>(y.get(), dQ.get(), sc.get(), M, H);
    poolRows<T, 128><<<B, 128, S * sizeof(float)>>>(y.get(), sc.get(), dLen.get(), pooled.get(), S, H);
    TLLM_CUDA_CHECK(cudaGetLastError());
    TLLM_CUDA_CHECK(cudaDeviceSynchronize());

    // every stage against the host, from the device's own input to that stage
    auto f = [](T v) { return (double) Traits<T>::to(v); };
    auto hx = x.host(), hgu = gu.host(), hact = act.host(), hff = ff.host(), hy = y.host();
    auto hs = sc.host(), hp = pooled.host();
    double e[6] = {};
    auto err = [](double got, double want) { return std::fabs(got - want) / (1.0 + std::fabs(want)); };
    auto norm = [&](std::vector<double> const& v, int c) {
        double m = 0, s = 0;
        for (double q : v) m += q / H;
        for (double q : v) s += (q - m) * (q - m) / H;
        return gamma[c] * (v[c] - m) / std::sqrt(s + 1e-5) + beta[c];
    };
    for (int r = 0; r < M; r += 5)
    {
        std::vector<double> a(H), b(H);
        for (int c = 0; c < H; c++)
        {
            a[c] = f(word[ids[r] * H + c]) + f(pos[r % S * H + c]) + f(seg[segs[r] * H + c]);
            b[c] = f(hff[r * H + c]) + f(hx[r * H + c]) + f(b2[c]);
        }
        double dot = 0;
        for (int c = 0; c < H; c += 3) { e[0] = std::max(e[0], err(f(hx[r * H + c]), norm(a, c))); e[3] = std::max(e[3], err(f(hy[r * H + c]), norm(b, c))); }
        for (int c = 0; c < 2 * inter; c++)
        {
            double s = f(b1[c]);
            for (int k = 0; k < H; k++) s += f(hx[r * H + k]) * f(w1[(size_t) k * 2 * inter + c]);
            e[1] = std::max(e[1], err(f(hgu[r * 2 * inter + c]), s));
        }
        for (int c = 0; c < inter; c++)
        {
            double const g = f(hgu[r * 2 * inter + c]), u = f(hgu[r * 2 * inter + inter + c]);
            e[2] = std::max(e[2], err(f(hact[r * inter + c]), 0.5 * g * (1 + std::tanh(0.7978845608 * (g + 0.044715 * g * g * g))) * u));
        }
        for (int c = 0; c < H; c++)
        {
            double s = 0;
            for (int k = 0; k < inter; k++) s += f(hact[r * inter + k]) * f(w2[(size_t) k * H + c]);
            e[1] = std::max(e[1], err(f(hff[r * H + c]), s));
            dot += f(hy[r * H + c]) * query[c];
        }
        e[4] = std::max(e[4], err(hs[r], dot / std::sqrt((double) H)));
    }
    for (int b = 0; b < B; b++)
    {
        double m = -1e30, z = 0;
        for (int i = 0; i < len[b]; i++) m = std::max(m, (double) hs[b * S + i]);
        for (int i = 0; i < len[b]; i++) z += std::exp(hs[b * S + i] - m);
        for (int c = 0; c < H; c++)
        {
            double s = 0;
            for (int i = 0; i < len[b]; i++) s += std::exp(hs[b * S + i] - m) / z * f(hy[(b * S + i) * H + c]);
            e[5] = std::max(e[5], err(hp[b * H + c], s));
        }
    }
    printf("%-9s emb %.1e gemm %.1e geglu %.1e skipln %.1e scores %.1e pool %.1e\n", Traits<T>::name, e[0], e[1], e[2], e[3], e[4], e[5]);
    bool ok = true;
    for (int i = 0; i < 6; i++) ok &= e[i] < Traits<T>::tol || (i >= 4 && e[i] < 1e-4);
    return ok;
}

int main()
{
    bool ok = runEncoder<float>();
    ok &= runEncoder<__half>();
    ok &= runEncoder<__nv_bfloat16>();
    printf("%s\n", ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
