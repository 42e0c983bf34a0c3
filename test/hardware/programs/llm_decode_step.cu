// One decode step of a (tiny) GQA transformer attention block:
//   residual add + RMSNorm  ->  W4A16 QKV projection  ->  RoPE + KV append  ->  paged attention
//   ->  router logits / top-k expert selection. Every stage is validated against a CPU version fed with the GPU's own input of that stage.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

static void cuda_ok(cudaError_t e, int line) {
    if (e != cudaSuccess) fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e)), exit(1);
}
#define CUDA_OK(x) cuda_ok((x), __LINE__)

struct CudaFree { void operator()(void* p) const { cudaFree(p); } };
template <typename T> using DevPtr = std::unique_ptr<T[], CudaFree>;

template <typename T> DevPtr<T> dev_alloc(size_t n) {
    void* p = nullptr;
    CUDA_OK(cudaMalloc(&p, n * sizeof(T)));
    CUDA_OK(cudaMemset(p, 0, n * sizeof(T)));
    return DevPtr<T>(static_cast<T*>(p));
}
template <typename T> DevPtr<T> to_dev(const std::vector<T>& v) {
    auto d = dev_alloc<T>(v.size());
    CUDA_OK(cudaMemcpy(d.get(), v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return d;
}
template <typename T> std::vector<T> to_host(const DevPtr<T>& d, size_t n) {
    std::vector<T> v(n);
    CUDA_OK(cudaMemcpy(v.data(), d.get(), n * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
}

struct ModelCfg {
    int batch = 6, hidden = 1024, n_heads = 8, n_kv = 2, head_dim = 128;
    int group = 128;      // int4 quantisation group along K
    int block_size = 16;  // tokens per KV page
    int max_ctx = 512;
    int n_experts = 64, top_k = 4;
    __host__ __device__ int qkv_dim() const { return (n_heads + 2 * n_kv) * head_dim; }
    __host__ __device__ int max_blocks() const { return (max_ctx + block_size - 1) / block_size; }
};

__device__ __forceinline__ float warp_sum(float v) {
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    return v;
}
__device__ __forceinline__ float warp_max(float v) {
    for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
    return v;
}
template <bool IS_MAX> __device__ float block_reduce(float v, float* red) {
    const int lane = threadIdx.x & 31, wid = threadIdx.x >> 5, nw = blockDim.x >> 5;
    v = IS_MAX ? warp_max(v) : warp_sum(v);
    __syncthreads();
    if (lane == 0) red[wid] = v;
    __syncthreads();
    v = lane < nw ? red[lane] : (IS_MAX ? -FLT_MAX : 0.f);
    return IS_MAX ? warp_max(v) : warp_sum(v);
}

// residual += x ; out = rmsnorm(residual) * gamma
__global__ void add_rmsnorm(const half* __restrict__ x, half* __restrict__ residual, const half* __restrict__ gamma,
                            half* __restrict__ out, int hidden, float eps) {
    extern __shared__ float row[];
    __shared__ float red[32];
    const int n2 = hidden / 2;
    const half2* x2 = reinterpret_cast<const half2*>(x + size_t(blockIdx.x) * hidden);
    half2* r2 = reinterpret_cast<half2*>(residual + size_t(blockIdx.x) * hidden);
    float ss = 0.f;
    for (int i = threadIdx.x; i < n2; i += blockDim.x) {
        float2 a = __half22float2(x2[i]), b = __half22float2(r2[i]);
        half2 s = __floats2half2_rn(a.x + b.x, a.y + b.y);
        r2[i] = s;
        float2 f = __half22float2(s);
        row[2 * i] = f.x;
        row[2 * i + 1] = f.y;
        ss += f.x * f.x + f.y * f.y;
    }
    ss = block_reduce<false>(ss, red);
    const float inv = rsqrtf(ss / hidden + eps);
    for (int i = threadIdx.x; i < hidden; i += blockDim.x)
        out[size_t(blockIdx.x) * hidden + i] = __float2half(row[i] * inv * __half2float(gamma[i]));
}

// y[b, n] = sum_k x[b, k] * (q[n, k] - 8) * scale[n, k / group]
// one warp per output row; each lane eats 32 nibbles (uint4) at a time
template <int BATCH>
__global__ void gemv_w4a16(const uint32_t* __restrict__ qweight, const half* __restrict__ scales,
                           const half* __restrict__ x, half* __restrict__ y, int N, int K, int group) {
    const int lane = threadIdx.x & 31;
    const int n = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    if (n >= N) return;
    const uint4* wrow = reinterpret_cast<const uint4*>(qweight + size_t(n) * (K / 8));
    float acc[BATCH] = {};
    for (int c = lane; c < K / 32; c += 32) {
        const uint4 w = wrow[c];
        const uint32_t pack[4] = {w.x, w.y, w.z, w.w};
        const float s = __half2float(scales[size_t(n) * (K / group) + (c * 32) / group]);
#pragma unroll
        for (int p = 0; p < 4; ++p) {
            float dq[8];
            for (int j = 0; j < 8; ++j) dq[j] = (float(int((pack[p] >> (4 * j)) & 0xF)) - 8.f) * s;
            for (int b = 0; b < BATCH; ++b) {
                const uint4 xv = *reinterpret_cast<const uint4*>(x + size_t(b) * K + c * 32 + p * 8);
                const half2* h = reinterpret_cast<const half2*>(&xv);
#pragma unroll
                for (int j = 0; j < 4; ++j) acc[b] += __low2float(h[j]) * dq[2 * j] + __high2float(h[j]) * dq[2 * j + 1];
            }
        }
    }
    for (int b = 0; b < BATCH; ++b) {
        const float r = warp_sum(acc[b]);
        if (lane == 0) y[size_t(b) * N + n] = __float2half(r);
    }
}
// rotate q and k in place (neox style halves) and append k, v to the paged cache
__global__ void rope_append(half* qkv, half* kcache, half* vcache, const int* block_table, const int* ctx_len,
                            const float2* __restrict__ cos_sin, ModelCfg cfg) {
    const int seq = blockIdx.x, head = blockIdx.y, i = threadIdx.x, hd = cfg.head_dim;
    const int pos = ctx_len[seq] - 1;
    half* p = qkv + size_t(seq) * cfg.qkv_dim() + head * hd;
    const bool is_v = head >= cfg.n_heads + cfg.n_kv;
    half lo = p[i], hi = p[i + hd / 2];
    if (!is_v) {
        const float2 cs = cos_sin[pos * (hd / 2) + i];
        const float a = __half2float(lo), b = __half2float(hi);
        lo = __float2half(a * cs.x - b * cs.y);
        hi = __float2half(b * cs.x + a * cs.y);
        p[i] = lo;
        p[i + hd / 2] = hi;
    }
    if (head >= cfg.n_heads) {
        const int kvh = (head - cfg.n_heads) % cfg.n_kv;
        const int page = block_table[seq * cfg.max_blocks() + pos / cfg.block_size];
        const size_t base = ((size_t(page) * cfg.n_kv + kvh) * cfg.block_size + pos % cfg.block_size) * hd;
        half* dst = is_v ? vcache : kcache;
        dst[base + i] = lo;
        dst[base + i + hd / 2] = hi;
    }
}
// block per (head, sequence); head_dim == blockDim.x
__global__ void paged_attention(const half* __restrict__ qkv, const half* __restrict__ kcache,
                                const half* __restrict__ vcache, const int* __restrict__ block_table,
                                const int* __restrict__ ctx_len, float* __restrict__ out, ModelCfg cfg, float scale) {
    extern __shared__ float smem[];
    __shared__ float red[32];
    const int hd = cfg.head_dim;
    float* sq = smem;
    float* logits = smem + hd;
    const int head = blockIdx.x, seq = blockIdx.y, len = ctx_len[seq];
    const int kvh = head / (cfg.n_heads / cfg.n_kv);
    const int* table = block_table + seq * cfg.max_blocks();

    sq[threadIdx.x] = __half2float(qkv[size_t(seq) * cfg.qkv_dim() + head * hd + threadIdx.x]) * scale;
    __syncthreads();

    float mx = -FLT_MAX;
    for (int t = threadIdx.x; t < len; t += blockDim.x) {
        const half* k = kcache + ((size_t(table[t / cfg.block_size]) * cfg.n_kv + kvh) * cfg.block_size + t % cfg.block_size) * hd;
        float s = 0.f;
        for (int d = 0; d < hd; ++d) s += sq[d] * __half2float(k[d]);
        logits[t] = s;
        mx = fmaxf(mx, s);
    }
    mx = block_reduce<true>(mx, red);
    float sum = 0.f;
    for (int t = threadIdx.x; t < len; t += blockDim.x) {
        const float e = __expf(logits[t] - mx);
        logits[t] = e;
        sum += e;
    }
    sum = block_reduce<false>(sum, red);
    __syncthreads();

    float acc = 0.f;
    for (int t = 0; t < len; ++t) {
        const size_t page = table[t / cfg.block_size];
        acc += logits[t] * __half2float(vcache[((page * cfg.n_kv + kvh) * cfg.block_size + t % cfg.block_size) * hd + threadIdx.x]);
    }
    out[(size_t(seq) * cfg.n_heads + head) * hd + threadIdx.x] = acc / sum;
}
// warp per token: E logits spread over the lanes, k rounds of argmax, softmax over the winners
template <int PER_LANE>
__global__ void route_topk(const float* __restrict__ act, const float* __restrict__ gate, float* logits, int* idx,
                           float* wgt, int tokens, int dim, int top_k) {
    const int tok = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    if (tok >= tokens) return;
    const int E = PER_LANE * 32;
    float v[PER_LANE];
    for (int e = 0; e < PER_LANE; ++e) {
        const int ex = e * 32 + lane;
        float s = 0.f;
        for (int d = 0; d < dim; ++d) s += act[size_t(tok) * dim + d] * gate[size_t(d) * E + ex];
        v[e] = s;
        logits[tok * E + ex] = s;
    }
    float first = 0.f, denom = 0.f, mine = 0.f;
    for (int k = 0; k < top_k; ++k) {
        float best = -FLT_MAX;
        int bi = 0;
        for (int e = 0; e < PER_LANE; ++e)
            if (v[e] > best) best = v[e], bi = e * 32 + lane;
        for (int o = 16; o; o >>= 1) {
            const float ov = __shfl_xor_sync(~0u, best, o);
            const int oi = __shfl_xor_sync(~0u, bi, o);
            if (ov > best || (ov == best && oi < bi)) best = ov, bi = oi;
        }
        if (k == 0) first = best;
        const float e = expf(best - first);
        denom += e;
        if (lane == k) mine = e, idx[tok * top_k + k] = bi;
        for (int j = 0; j < PER_LANE; ++j)
            if (bi == j * 32 + lane) v[j] = -FLT_MAX;
    }
    if (lane < top_k) wgt[tok * top_k + lane] = mine / denom;
}

int main(int argc, char** argv) {
    ModelCfg cfg;
    const unsigned seed = argc > 1 ? std::stoul(argv[1]) : 7u;
    std::mt19937 rng(seed);
    std::normal_distribution<float> nd(0.f, 1.f);
    auto rand_half = [&](size_t n, float s) { std::vector<half> v(n); for (auto& h : v) h = __float2half(nd(rng) * s); return v; };
    auto f = [](half h) { return __half2float(h); };
    std::map<std::string, double> errs;
    auto check = [&](const std::string& what, double got, double want) {
        double& e = errs[what];
        e = std::max(e, std::abs(got - want) / (std::abs(want) + 0.05));
    };
    const int B = cfg.batch, H = cfg.hidden, N = cfg.qkv_dim(), hd = cfg.head_dim, G = H / cfg.group;
    auto x = rand_half(B * H, 1.f), res = rand_half(B * H, 1.f), gamma = rand_half(H, 0.3f), scales = rand_half(size_t(N) * G, 0.01f);
    std::vector<uint32_t> qw(size_t(N) * H / 8);
    for (auto& w : qw) w = rng();
    std::vector<int> ctx = {1, 77, 512, 130, 256, 401};
    const int MB = cfg.max_blocks(), pages = B * MB;
    std::vector<int> table(pages);
    std::iota(table.begin(), table.end(), 0);
    std::shuffle(table.begin(), table.end(), rng);
    const size_t cache_n = size_t(pages) * cfg.n_kv * cfg.block_size * hd;
    auto kc = rand_half(cache_n, 0.6f), vc = rand_half(cache_n, 1.f);
    std::vector<float2> cs(size_t(cfg.max_ctx) * hd / 2);
    for (int p = 0; p < cfg.max_ctx; ++p)
        for (int i = 0; i < hd / 2; ++i) {
            const double a = p * std::pow(10000.0, -2.0 * i / hd);
            cs[p * (hd / 2) + i] = make_float2(float(std::cos(a)), float(std::sin(a)));
        }
    const int AD = cfg.n_heads * hd;
    std::vector<float> gate(size_t(AD) * cfg.n_experts);
    for (auto& g : gate) g = nd(rng) * 0.1f;
    auto dx = to_dev(x), dres = to_dev(res), dgamma = to_dev(gamma), dscales = to_dev(scales), dk = to_dev(kc), dv = to_dev(vc);
    auto dqw = to_dev(qw); auto dtable = to_dev(table), dctx = to_dev(ctx); auto dcs = to_dev(cs); auto dgate = to_dev(gate);
    auto dnorm = dev_alloc<half>(B * H), dqkv = dev_alloc<half>(size_t(B) * N);
    auto dattn = dev_alloc<float>(B * AD), dlog = dev_alloc<float>(B * cfg.n_experts), dwgt = dev_alloc<float>(B * cfg.top_k);
    auto didx = dev_alloc<int>(B * cfg.top_k);
    add_rmsnorm<<<B, 256, H * sizeof(float)>>>(dx.get(), dres.get(), dgamma.get(), dnorm.get(), H, 1e-5f);
    const int warps = 4;
    gemv_w4a16<6><<<(N + warps - 1) / warps, warps * 32>>>(dqw.get(), dscales.get(), dnorm.get(), dqkv.get(), N, H, cfg.group);
    auto norm = to_host(dnorm, B * H), res_out = to_host(dres, B * H), qkv0 = to_host(dqkv, size_t(B) * N);
    rope_append<<<dim3(B, cfg.n_heads + 2 * cfg.n_kv), hd / 2>>>(dqkv.get(), dk.get(), dv.get(), dtable.get(), dctx.get(), dcs.get(), cfg);
    paged_attention<<<dim3(cfg.n_heads, B), hd, (hd + cfg.max_ctx) * sizeof(float)>>>(
        dqkv.get(), dk.get(), dv.get(), dtable.get(), dctx.get(), dattn.get(), cfg, 1.f / std::sqrt(float(hd)));
    route_topk<2><<<(B * 32 + 63) / 64, 64>>>(dattn.get(), dgate.get(), dlog.get(), didx.get(), dwgt.get(), B, AD, cfg.top_k);
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaDeviceSynchronize());
    for (int b = 0; b < B; ++b) {
        double ss = 0;
        for (int i = 0; i < H; ++i) {
            check("residual", f(res_out[b * H + i]), double(f(x[b * H + i])) + f(res[b * H + i]));
            ss += double(f(res_out[b * H + i])) * f(res_out[b * H + i]);
        }
        for (int i = 0; i < H; ++i)
            check("rmsnorm", f(norm[b * H + i]), f(res_out[b * H + i]) / std::sqrt(ss / H + 1e-5) * f(gamma[i]));
    }
    for (int n = 0; n < N; ++n)
        for (int b = 0; b < B; ++b) {
            double s = 0;
            for (int k = 0; k < H; ++k) {
                const int q = int((qw[(size_t(n) * H + k) / 8] >> (4 * (k % 8))) & 0xF) - 8;
                s += double(f(norm[b * H + k])) * q * f(scales[size_t(n) * G + k / cfg.group]);
            }
            check("qkv gemv", f(qkv0[size_t(b) * N + n]), s);
        }
    auto qkv1 = to_host(dqkv, size_t(B) * N), k1 = to_host(dk, cache_n), v1 = to_host(dv, cache_n);
    auto slot = [&](int s, int t, int h) {
        return ((size_t(table[s * MB + t / cfg.block_size]) * cfg.n_kv + h) * cfg.block_size + t % cfg.block_size) * hd;
    };
    for (int s = 0; s < B; ++s)
        for (int h = 0; h < cfg.n_heads + 2 * cfg.n_kv; ++h)
            for (int i = 0; i < hd; ++i) {
                const half* p = &qkv0[size_t(s) * N + h * hd];
                const float2 c = cs[(ctx[s] - 1) * (hd / 2) + i % (hd / 2)];
                double want = f(p[i]);
                if (h < cfg.n_heads + cfg.n_kv)
                    want = i < hd / 2 ? f(p[i]) * c.x - f(p[i + hd / 2]) * c.y : f(p[i]) * c.x + f(p[i - hd / 2]) * c.y;
                check("rope", f(qkv1[size_t(s) * N + h * hd + i]), want);
                if (h >= cfg.n_heads + cfg.n_kv) check("v append", f(v1[slot(s, ctx[s] - 1, h - cfg.n_heads - cfg.n_kv) + i]), want);
                else if (h >= cfg.n_heads) check("k append", f(k1[slot(s, ctx[s] - 1, h - cfg.n_heads) + i]), want);
            }
    auto attn = to_host(dattn, B * AD);
    for (int s = 0; s < B; ++s)
        for (int h = 0; h < cfg.n_heads; ++h) {
            std::vector<double> p(ctx[s]), o(hd, 0.0);
            const int kvh = h / (cfg.n_heads / cfg.n_kv);
            for (int t = 0; t < ctx[s]; ++t) {
                double d = 0;
                for (int i = 0; i < hd; ++i) d += double(f(qkv1[size_t(s) * N + h * hd + i])) * f(k1[slot(s, t, kvh) + i]);
                p[t] = d / std::sqrt(double(hd));
            }
            const double mx = *std::max_element(p.begin(), p.end());
            std::transform(p.begin(), p.end(), p.begin(), [mx](double v) { return std::exp(v - mx); });
            const double sum = std::accumulate(p.begin(), p.end(), 0.0);
            for (int t = 0; t < ctx[s]; ++t)
                for (int i = 0; i < hd; ++i) o[i] += p[t] / sum * f(v1[slot(s, t, kvh) + i]);
            for (int i = 0; i < hd; ++i) check("attention", attn[(size_t(s) * cfg.n_heads + h) * hd + i], o[i]);
        }
    auto lg = to_host(dlog, B * cfg.n_experts), wg = to_host(dwgt, B * cfg.top_k);
    auto ix = to_host(didx, B * cfg.top_k);
    bool routes_ok = true;
    for (int t = 0; t < B; ++t) {
        for (int e = 0; e < cfg.n_experts; ++e) {
            double s = 0;
            for (int d = 0; d < AD; ++d) s += double(attn[t * AD + d]) * gate[size_t(d) * cfg.n_experts + e];
            check("router", lg[t * cfg.n_experts + e], s);
        }
        const float* l = &lg[t * cfg.n_experts];
        std::vector<int> order(cfg.n_experts);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [l](int a, int b) { return l[a] > l[b]; });
        double den = 0;
        for (int k = 0; k < cfg.top_k; ++k) den += std::exp(double(l[order[k]]) - l[order[0]]);
        for (int k = 0; k < cfg.top_k; ++k) {
            routes_ok &= order[k] == ix[t * cfg.top_k + k];
            check("topk weight", wg[t * cfg.top_k + k], std::exp(double(l[order[k]]) - l[order[0]]) / den);
        }
    }
    bool ok = routes_ok;
    for (const auto& [name, e] : errs) printf("  %-12s rel err %.2e\n", name.c_str(), e), ok &= e < 1e-2;
    printf("expert ids %s\n%s\n", routes_ok ? "match" : "differ", ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
