// Blockwise quantisation (bitsandbytes) and multi-tensor Adam / fused layer norm (Apex) style kernels.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define CUDA_CHECK_RETURN(value) do { cudaError_t _m_cudaStat = value; if (_m_cudaStat != cudaSuccess) { \
    fprintf(stderr, "Error %s at line %d in file %s\n", cudaGetErrorString(_m_cudaStat), __LINE__, __FILE__); exit(1); } } while (0)

// ============================================================ bitsandbytes
typedef enum DataType_t { General8bit = 0, NF4 = 1 } DataType_t;

__constant__ float nf4_data[16] = {-1.0f, -0.6961928f, -0.52507305f, -0.39491749f, -0.28444138f, -0.18477343f, -0.091050036f, 0.0f,
                                   0.0795803f, 0.1609302f, 0.2461123f, 0.33791524f, 0.44070983f, 0.5626170f, 0.72295684f, 1.0f};
static const float nf4_host[16] = {-1.0f, -0.6961928f, -0.52507305f, -0.39491749f, -0.28444138f, -0.18477343f, -0.091050036f, 0.0f,
                                   0.0795803f, 0.1609302f, 0.2461123f, 0.33791524f, 0.44070983f, 0.5626170f, 0.72295684f, 1.0f};

__device__ __forceinline__ float to_float(float v) { return v; }
__device__ __forceinline__ float to_float(half v) { return __half2float(v); }
__device__ __forceinline__ float to_float(__nv_bfloat16 v) { return __bfloat162float(v); }
template <typename T> __device__ __forceinline__ T from_float(float v);
template <> __device__ __forceinline__ float from_float<float>(float v) { return v; }
template <> __device__ __forceinline__ half from_float<half>(float v) { return __float2half(v); }
template <> __device__ __forceinline__ __nv_bfloat16 from_float<__nv_bfloat16>(float v) { return __float2bfloat16(v); }

// nearest entry of a sorted 256 entry code book
__device__ __forceinline__ unsigned char dQuantize(const float* smem_code, float x) {
    int pivot = 127, upper_pivot = 255, lower_pivot = 0;
    float lower = -1.0f, upper = 1.0f, val = smem_code[pivot];
    for (int i = 64; i > 0; i >>= 1) {
        if (x > val) { lower_pivot = pivot; lower = val; pivot += i; }
        else { upper_pivot = pivot; upper = val; pivot -= i; }
        val = smem_code[pivot];
    }
    if (upper_pivot == 255) upper = smem_code[upper_pivot];
    if (lower_pivot == 0) lower = smem_code[lower_pivot];
    if (x > val) return x > (upper + val) * 0.5f ? upper_pivot : pivot;
    return x < (lower + val) * 0.5f ? lower_pivot : pivot;
}
__device__ __forceinline__ unsigned char dQuantizeNF4(float x) {
    int best = 0;
#pragma unroll
    for (int i = 1; i < 16; i++) if (x > 0.5f * (nf4_data[i - 1] + nf4_data[i])) best = i;
    return best;
}

template <typename T, int BLOCK_SIZE, int NUM_PER_TH, int DATA_TYPE>
__global__ void kQuantizeBlockwise(const float* code, const T* __restrict__ A, float* absmax, unsigned char* out, const int n) {
    constexpr int THREADS = BLOCK_SIZE / NUM_PER_TH;
    __shared__ float smem_code[256];
    __shared__ float warp_max[32];
    if (DATA_TYPE == General8bit) {
        for (int i = threadIdx.x; i < 256; i += THREADS) smem_code[i] = code[i];
        __syncthreads();
    }
    const int base_idx = blockIdx.x * BLOCK_SIZE;
    float vals[NUM_PER_TH];
    float local_abs_max = 0.0f;
#pragma unroll
    for (int j = 0; j < NUM_PER_TH; j++) {
        const int i = base_idx + threadIdx.x * NUM_PER_TH + j;
        vals[j] = i < n ? to_float(A[i]) : 0.0f;
        local_abs_max = fmaxf(local_abs_max, fabsf(vals[j]));
    }
    for (int o = 16; o > 0; o >>= 1) local_abs_max = fmaxf(local_abs_max, __shfl_xor_sync(0xffffffff, local_abs_max, o));
    if (threadIdx.x % 32 == 0) warp_max[threadIdx.x / 32] = local_abs_max;
    __syncthreads();
    float block_max = 0.0f;
    for (int w = 0; w < THREADS / 32; w++) block_max = fmaxf(block_max, warp_max[w]);
    if (threadIdx.x == 0) absmax[blockIdx.x] = block_max;
    const float scale = block_max > 0.0f ? 1.0f / block_max : 0.0f;
    if (DATA_TYPE == General8bit) {
#pragma unroll
        for (int j = 0; j < NUM_PER_TH; j++) {
            const int i = base_idx + threadIdx.x * NUM_PER_TH + j;
            if (i < n) out[i] = dQuantize(smem_code, vals[j] * scale);
        }
    } else {
#pragma unroll
        for (int j = 0; j < NUM_PER_TH / 2; j++) {
            const int i = base_idx + threadIdx.x * NUM_PER_TH + 2 * j;
            if (i < n) out[i / 2] = (dQuantizeNF4(vals[2 * j] * scale) << 4) | dQuantizeNF4(vals[2 * j + 1] * scale);
        }
    }
}

template <typename T, int TILE_SIZE, int THREADS, int NUM_PER_TH, int DATA_TYPE>
__global__ void kDequantizeBlockwise(const float* code, const unsigned char* __restrict__ A, const float* __restrict__ absmax, T* out, const int blocksize, const int n) {
    for (int base = blockIdx.x * TILE_SIZE; base < n; base += gridDim.x * TILE_SIZE) {
#pragma unroll
        for (int j = 0; j < NUM_PER_TH; j++) {
            const int i = base + j * THREADS + threadIdx.x;
            if (i >= n) continue;
            const float local_abs_max = __ldg(&absmax[i / blocksize]);
            float v;
            if (DATA_TYPE == General8bit) v = __ldg(&code[A[i]]);
            else v = nf4_data[(i & 1) ? (A[i / 2] & 0x0F) : (A[i / 2] >> 4)];
            out[i] = from_float<T>(v * local_abs_max);
        }
    }
}

// ==================================================================== apex
constexpr int depth_to_max_tensors[5] = {110, 64, 48, 36, 30};
constexpr int depth_to_max_blocks[5] = {320, 320, 320, 320, 320};
template <int n> struct TensorListMetadata {
    void* addresses[n][depth_to_max_tensors[n - 1]];
    int sizes[depth_to_max_tensors[n - 1]];
    unsigned char block_to_tensor[depth_to_max_blocks[n - 1]];
    int block_to_chunk[depth_to_max_blocks[n - 1]];
};

template <typename T, typename U, typename... ArgTypes>
__global__ void multi_tensor_apply_kernel(int chunk_size, volatile int* noop_flag, T tl, U callable, ArgTypes... args) {
    callable(chunk_size, noop_flag, tl, args...);
}

template <int depth, typename U, typename... ArgTypes>
void multi_tensor_apply(int block_size, int chunk_size, int* noop_flag, const std::vector<std::vector<void*>>& tensor_lists, const std::vector<int>& numels, U callable, ArgTypes... args) {
    TensorListMetadata<depth> tl;
    const int ntensors = (int)numels.size();
    int loc_block_info = 0, loc_tensor_info = 0;
    for (int t = 0; t < ntensors; t++) {
        tl.sizes[loc_tensor_info] = numels[t];
        for (int d = 0; d < depth; d++) tl.addresses[d][loc_tensor_info] = tensor_lists[d][t];
        loc_tensor_info++;
        const int chunks = (numels[t] + chunk_size - 1) / chunk_size;
        for (int chunk = 0; chunk < chunks; chunk++) {
            tl.block_to_tensor[loc_block_info] = loc_tensor_info - 1;
            tl.block_to_chunk[loc_block_info] = chunk;
            loc_block_info++;
            const bool tensors_full = loc_tensor_info == depth_to_max_tensors[depth - 1] && chunk == chunks - 1;
            const bool blocks_full = loc_block_info == depth_to_max_blocks[depth - 1];
            const bool last_chunk = t == ntensors - 1 && chunk == chunks - 1;
            if (tensors_full || blocks_full || last_chunk) {
                multi_tensor_apply_kernel<<<loc_block_info, block_size>>>(chunk_size, noop_flag, tl, callable, args...);
                CUDA_CHECK_RETURN(cudaGetLastError());
                loc_block_info = 0;
                if (chunk == chunks - 1) loc_tensor_info = 0;
                else {
                    tl.sizes[0] = tl.sizes[loc_tensor_info - 1];
                    for (int d = 0; d < depth; d++) tl.addresses[d][0] = tl.addresses[d][loc_tensor_info - 1];
                    loc_tensor_info = 1;
                }
            }
        }
    }
}

#define ILP 4
typedef enum { ADAM_MODE_0 = 0, ADAM_MODE_1 = 1 } adamMode_t;  // L2, decoupled

template <typename g_t> struct AdamFunctor {
    __device__ __forceinline__ void operator()(int chunk_size, volatile int*, TensorListMetadata<4>& tl, const float beta1, const float beta2, const float bc1, const float bc2,
                                               const float epsilon, const float lr, adamMode_t mode, const float decay) {
        const int tensor_loc = tl.block_to_tensor[blockIdx.x], chunk_idx = tl.block_to_chunk[blockIdx.x];
        int n = tl.sizes[tensor_loc];
        g_t* g = (g_t*)tl.addresses[0][tensor_loc] + chunk_idx * chunk_size;
        float* p = (float*)tl.addresses[1][tensor_loc] + chunk_idx * chunk_size;
        float* m = (float*)tl.addresses[2][tensor_loc] + chunk_idx * chunk_size;
        float* v = (float*)tl.addresses[3][tensor_loc] + chunk_idx * chunk_size;
        n -= chunk_idx * chunk_size;
        for (int i_start = 0; i_start < n && i_start < chunk_size; i_start += blockDim.x * ILP) {
            float r_g[ILP], r_p[ILP], r_m[ILP], r_v[ILP];
#pragma unroll
            for (int ii = 0; ii < ILP; ii++) {
                const int i = i_start + threadIdx.x + ii * blockDim.x;
                const bool in = i < n && i < chunk_size;
                r_g[ii] = in ? to_float(g[i]) : 0.0f;
                r_p[ii] = in ? p[i] : 0.0f;
                r_m[ii] = in ? m[i] : 0.0f;
                r_v[ii] = in ? v[i] : 0.0f;
            }
#pragma unroll
            for (int ii = 0; ii < ILP; ii++) {
                if (mode == ADAM_MODE_0) r_g[ii] = r_g[ii] + decay * r_p[ii];
                r_m[ii] = beta1 * r_m[ii] + (1 - beta1) * r_g[ii];
                r_v[ii] = beta2 * r_v[ii] + (1 - beta2) * r_g[ii] * r_g[ii];
                const float denom = sqrtf(r_v[ii] / bc2) + epsilon;
                float update = (r_m[ii] / bc1) / denom;
                if (mode == ADAM_MODE_1) update += decay * r_p[ii];
                r_p[ii] = r_p[ii] - lr * update;
            }
#pragma unroll
            for (int ii = 0; ii < ILP; ii++) {
                const int i = i_start + threadIdx.x + ii * blockDim.x;
                if (i < n && i < chunk_size) { p[i] = r_p[ii]; m[i] = r_m[ii]; v[i] = r_v[ii]; }
            }
        }
    }
};

struct L2NormFunctor {
    __device__ __forceinline__ void operator()(int chunk_size, volatile int*, TensorListMetadata<1>& tl, float* output) {
        __shared__ float s_vals[32];
        const int tensor_loc = tl.block_to_tensor[blockIdx.x], chunk_idx = tl.block_to_chunk[blockIdx.x];
        const float* x = (const float*)tl.addresses[0][tensor_loc] + chunk_idx * chunk_size;
        const int n = min(tl.sizes[tensor_loc] - chunk_idx * chunk_size, chunk_size);
        float val = 0.0f;
        for (int i = threadIdx.x; i < n; i += blockDim.x) val += x[i] * x[i];
        for (int o = 16; o > 0; o >>= 1) val += __shfl_down_sync(0xffffffff, val, o);
        if (threadIdx.x % 32 == 0) s_vals[threadIdx.x / 32] = val;
        __syncthreads();
        if (threadIdx.x < 32) {
            val = threadIdx.x < blockDim.x / 32 ? s_vals[threadIdx.x] : 0.0f;
            for (int o = 16; o > 0; o >>= 1) val += __shfl_down_sync(0xffffffff, val, o);
            if (threadIdx.x == 0) atomicAdd(output, val);
        }
    }
};

// ==================================================================== test
template <typename T> T* dev(const std::vector<T>& h) {
    T* p;
    CUDA_CHECK_RETURN(cudaMalloc(&p, h.size() * sizeof(T)));
    CUDA_CHECK_RETURN(cudaMemcpy(p, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}
template <typename T> std::vector<T> host(const T* p, size_t n) {
    std::vector<T> h(n);
    CUDA_CHECK_RETURN(cudaMemcpy(h.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
    return h;
}
static std::vector<float> create_signed_map() {
    std::vector<float> c;
    for (int i = 1; i <= 127; i++) { const float v = std::pow(i / 127.0f, 2.5f); c.push_back(v); c.push_back(-v); }
    c.push_back(0.0f);
    c.push_back(0.5f * (c[0] + 0.0f));
    std::sort(c.begin(), c.end());
    return c;
}

template <typename T, int BS, int DATA_TYPE> bool test_blockwise(int n, float (*conv)(T), T (*mk)(float), std::mt19937& rng, double tol) {
    std::normal_distribution<float> nd;
    std::vector<T> A(n);
    for (auto& v : A) v = mk(nd(rng));
    const auto code = create_signed_map();
    const int nblocks = (n + BS - 1) / BS;
    T *dA = dev(A), *dO = dev(std::vector<T>(n));
    float *dcode = dev(code), *dmax = dev(std::vector<float>(nblocks));
    unsigned char* dq = dev(std::vector<unsigned char>(n + 1));
    constexpr int NPT = BS >= 1024 ? 4 : 2;
    kQuantizeBlockwise<T, BS, NPT, DATA_TYPE><<<nblocks, BS / NPT>>>(dcode, dA, dmax, dq, n);
    CUDA_CHECK_RETURN(cudaGetLastError());
    kDequantizeBlockwise<T, 1024, 256, 4, DATA_TYPE><<<(n + 1023) / 1024, 256>>>(dcode, dq, dmax, dO, BS, n);
    CUDA_CHECK_RETURN(cudaGetLastError());
    const auto out = host(dO, n);
    const auto mx = host(dmax, nblocks);
    const float* book = DATA_TYPE == NF4 ? nf4_host : code.data();
    const int nb = DATA_TYPE == NF4 ? 16 : 256;
    int bad = 0;
    for (int b = 0; b < nblocks; b++) {
        float m = 0;
        for (int i = b * BS; i < std::min(n, (b + 1) * BS); i++) m = std::max(m, std::fabs(conv(A[i])));
        bad += m != mx[b];
        for (int i = b * BS; i < std::min(n, (b + 1) * BS); i++) {
            const float x = conv(A[i]) / m;
            const int hi = std::min(nb - 1, (int)(std::lower_bound(book, book + nb, x) - book)), lo = std::max(0, hi - 1);
            const double best = std::min(std::fabs(book[hi] - x), std::fabs(book[lo] - x)), err = std::fabs(conv(out[i]) / m - x);
            bad += !(err <= best + tol);
        }
    }
    printf("blockwise n=%d bs=%d type=%d: %d bad\n", n, BS, DATA_TYPE, bad);
    for (void* p : {(void*)dA, (void*)dO, (void*)dcode, (void*)dmax, (void*)dq}) CUDA_CHECK_RETURN(cudaFree(p));
    return bad == 0;
}

template <typename g_t> bool test_adam(const std::vector<int>& numels, adamMode_t mode, int block, int chunk, float (*conv)(g_t), g_t (*mk)(float), std::mt19937& rng) {
    std::normal_distribution<float> nd;
    std::vector<std::vector<void*>> lists(4);
    std::vector<std::vector<g_t>> G;
    std::vector<std::vector<float>> P, M, V;
    double norm_ref = 0;
    for (int n : numels) {
        G.emplace_back(n); P.emplace_back(n); M.emplace_back(n); V.emplace_back(n);
        for (int i = 0; i < n; i++) { G.back()[i] = mk(nd(rng)); P.back()[i] = nd(rng); M.back()[i] = 0.1f * nd(rng); V.back()[i] = std::fabs(nd(rng)) + 0.05f; }
        lists[0].push_back(dev(G.back())); lists[1].push_back(dev(P.back())); lists[2].push_back(dev(M.back())); lists[3].push_back(dev(V.back()));
    }
    int* noop = dev(std::vector<int>(1, 0));
    float* dnorm = dev(std::vector<float>(1, 0.0f));
    const float b1 = 0.9f, b2 = 0.99f, bc1 = 1 - b1 * b1, bc2 = 1 - b2 * b2, eps = 1e-8f, lr = 1e-2f, decay = 0.05f;
    multi_tensor_apply<4>(block, chunk, noop, lists, numels, AdamFunctor<g_t>(), b1, b2, bc1, bc2, eps, lr, mode, decay);
    multi_tensor_apply<1>(512, chunk, noop, {lists[1]}, numels, L2NormFunctor(), dnorm);
    int bad = 0;
    for (size_t t = 0; t < numels.size(); t++) {
        const int n = numels[t];
        const auto p = host((float*)lists[1][t], n), m = host((float*)lists[2][t], n), v = host((float*)lists[3][t], n);
        for (int i = 0; i < n; i++) {
            double g = conv(G[t][i]);
            const double p0 = P[t][i];
            if (mode == ADAM_MODE_0) g += decay * p0;
            const double mm = b1 * M[t][i] + (1.0 - b1) * g, vv = b2 * V[t][i] + (1.0 - b2) * g * g;
            double u = mm / bc1 / (std::sqrt(vv / bc2) + eps);
            if (mode == ADAM_MODE_1) u += decay * p0;
            const double pp = p0 - lr * u;
            norm_ref += pp * pp;
            bad += !(std::fabs(p[i] - pp) <= 1e-4 * (1 + std::fabs(pp)) && std::fabs(m[i] - mm) <= 1e-4 * (1 + std::fabs(mm)) && std::fabs(v[i] - vv) <= 1e-4 * (1 + vv));
        }
    }
    const float norm = host(dnorm, 1)[0];
    bad += !(std::fabs(norm - norm_ref) <= 1e-3 * norm_ref);
    printf("adam %zu tensors mode %d: %d bad\n", numels.size(), (int)mode, bad);
    for (auto& l : lists) for (void* p : l) CUDA_CHECK_RETURN(cudaFree(p));
    CUDA_CHECK_RETURN(cudaFree(noop)); CUDA_CHECK_RETURN(cudaFree(dnorm));
    return bad == 0;
}

int main() {
    std::mt19937 rng(21);
    auto ff = +[](float v) { return v; };
    auto h2f = +[](half v) { return __half2float(v); };
    auto f2h = +[](float v) { return __float2half(v); };
    auto b2f = +[](__nv_bfloat16 v) { return __bfloat162float(v); };
    auto f2b = +[](float v) { return __float2bfloat16(v); };
    bool ok = test_blockwise<float, 4096, General8bit>(300001, ff, ff, rng, 1e-5);
    ok &= test_blockwise<half, 512, General8bit>(120000, h2f, f2h, rng, 2e-3);
    ok &= test_blockwise<__nv_bfloat16, 64, NF4>(100002, b2f, f2b, rng, 1e-2);
    std::vector<int> many;
    for (int i = 0; i < 50; i++) many.push_back(100 + rng() % 6000);
    ok &= test_adam<float>({200003, 4096, 17, 65536}, ADAM_MODE_1, 512, 4096, ff, ff, rng);
    ok &= test_adam<half>(many, ADAM_MODE_0, 256, 2048, h2f, f2h, rng);
    printf("%s\n", ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
