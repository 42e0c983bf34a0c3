/******************************************************************************
 * Selective state space scan (S6) forward, causal depthwise conv1d in front of
 * it, and the single-token state update used at decode time.
 *
 *   h_t = exp(delta_t * A) h_{t-1} + delta_t * B_t * u_t
 *   y_t = C_t . h_t + D * u_t,   out = y * silu(z)
 *
 * u, delta, z: (batch, dim, seqlen)   A: (dim, dstate)   B, C: (batch, dstate, seqlen)
 ******************************************************************************/
#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK_CUDA(x) do { cudaError_t err_ = (x); if (err_ != cudaSuccess) { \
  fprintf(stderr, "CUDA error (%s:%d): %s\n", __FILE__, __LINE__, cudaGetErrorString(err_)); exit(1); } } while (0)
#define CHECK_CUDA_KERNEL_LAUNCH() CHECK_CUDA(cudaGetLastError())

#define BOOL_SWITCH(COND, CONST_NAME, ...)      \
  [&] {                                         \
    if (COND) {                                 \
      constexpr static bool CONST_NAME = true;  \
      return __VA_ARGS__();                     \
    } else {                                    \
      constexpr static bool CONST_NAME = false; \
      return __VA_ARGS__();                     \
    }                                           \
  }()

constexpr int MAX_DSTATE = 16;

struct SSMParamsBase {
    using index_t = uint32_t;
    int batch, dim, seqlen, dstate, n_chunks;
    bool delta_softplus;
    // Strides are in units of elements
    index_t u_batch_stride, u_d_stride;
    index_t B_batch_stride, B_dstate_stride;
    index_t A_d_stride;
    const float *__restrict__ A_ptr;
    const float *__restrict__ B_ptr;
    const float *__restrict__ C_ptr;
    const float *__restrict__ D_ptr;
    const float *__restrict__ u_ptr;
    const float *__restrict__ delta_ptr;
    const float *__restrict__ delta_bias_ptr;
    const float *__restrict__ z_ptr;
    float *__restrict__ out_ptr;
    float *__restrict__ last_state_ptr;
};

template<int kNThreads_, int kNItems_, bool kHasZ_>
struct Selective_Scan_fwd_kernel_traits {
    static constexpr int kNThreads = kNThreads_;
    static constexpr int kNItems = kNItems_;
    static constexpr bool kHasZ = kHasZ_;
    static constexpr int kChunk = kNThreads * kNItems;
    static constexpr int kNWarps = kNThreads / 32;
};

struct SSMScanOp {
    __device__ __forceinline__ float2 operator()(const float2 &ab0, const float2 &ab1) const {
        return make_float2(ab1.x * ab0.x, ab1.x * ab0.y + ab1.y);
    }
};

// inclusive scan over the block with a running prefix carried from the previous chunk
template<typename Ktraits>
__device__ __forceinline__ void block_inclusive_scan(float2 (&data)[Ktraits::kNItems], float2 *smem_warp, float2 &running) {
    SSMScanOp op;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    #pragma unroll
    for (int i = 1; i < Ktraits::kNItems; ++i) { data[i] = op(data[i - 1], data[i]); }
    float2 inc = data[Ktraits::kNItems - 1];
    #pragma unroll
    for (int o = 1; o < 32; o <<= 1) {
        float2 up;
        up.x = __shfl_up_sync(0xffffffff, inc.x, o);
        up.y = __shfl_up_sync(0xffffffff, inc.y, o);
        if (lane >= o) { inc = op(up, inc); }
    }
    float2 exc;
    exc.x = __shfl_up_sync(0xffffffff, inc.x, 1);
    exc.y = __shfl_up_sync(0xffffffff, inc.y, 1);
    if (lane == 0) { exc = make_float2(1.f, 0.f); }
    if (lane == 31) { smem_warp[warp] = inc; }
    __syncthreads();
    float2 prefix = running;
    #pragma unroll
    for (int w = 0; w < Ktraits::kNWarps; ++w) {
        float2 t = smem_warp[w];
        if (w < warp) { prefix = op(prefix, t); }
        running = op(running, t);
    }
    prefix = op(prefix, exc);
    #pragma unroll
    for (int i = 0; i < Ktraits::kNItems; ++i) { data[i] = op(prefix, data[i]); }
    __syncthreads();
}

template<typename Ktraits>
__device__ __forceinline__ void load_input(const float *p, float (&vals)[Ktraits::kNItems], int remaining) {
    constexpr int kNItems = Ktraits::kNItems;
    const int base = threadIdx.x * kNItems;
    if (base + kNItems <= remaining) {
        #pragma unroll
        for (int v = 0; v < kNItems; v += 4) {
            float4 t = *reinterpret_cast<const float4 *>(p + base + v);
            vals[v] = t.x; vals[v + 1] = t.y; vals[v + 2] = t.z; vals[v + 3] = t.w;
        }
    } else {
        #pragma unroll
        for (int i = 0; i < kNItems; ++i) { vals[i] = base + i < remaining ? p[base + i] : 0.f; }
    }
}

template<typename Ktraits>
__global__ __launch_bounds__(Ktraits::kNThreads)
void selective_scan_fwd_kernel(SSMParamsBase params) {
    constexpr int kNItems = Ktraits::kNItems;
    __shared__ float2 smem_warp[Ktraits::kNWarps];
    __shared__ float2 smem_running_prefix[MAX_DSTATE];

    const int batch_id = blockIdx.x;
    const int dim_id = blockIdx.y;
    const float *u = params.u_ptr + batch_id * params.u_batch_stride + dim_id * params.u_d_stride;
    const float *delta = params.delta_ptr + batch_id * params.u_batch_stride + dim_id * params.u_d_stride;
    const float *z = params.z_ptr + batch_id * params.u_batch_stride + dim_id * params.u_d_stride;
    float *out = params.out_ptr + batch_id * params.u_batch_stride + dim_id * params.u_d_stride;
    const float *A = params.A_ptr + dim_id * params.A_d_stride;
    const float *Bvar = params.B_ptr + batch_id * params.B_batch_stride;
    const float *Cvar = params.C_ptr + batch_id * params.B_batch_stride;
    const float D_val = params.D_ptr[dim_id];
    const float delta_bias = params.delta_bias_ptr[dim_id];

    for (int chunk = 0; chunk < params.n_chunks; ++chunk) {
        const int offset = chunk * Ktraits::kChunk;
        const int remaining = params.seqlen - offset;
        float u_vals[kNItems], delta_vals[kNItems], delta_u_vals[kNItems], out_vals[kNItems];
        load_input<Ktraits>(u + offset, u_vals, remaining);
        load_input<Ktraits>(delta + offset, delta_vals, remaining);
        #pragma unroll
        for (int i = 0; i < kNItems; ++i) {
            delta_vals[i] += delta_bias;
            if (params.delta_softplus) {
                delta_vals[i] = delta_vals[i] <= 20.f ? log1pf(expf(delta_vals[i])) : delta_vals[i];
            }
            delta_u_vals[i] = delta_vals[i] * u_vals[i];
            out_vals[i] = D_val * u_vals[i];
        }
        for (int state_idx = 0; state_idx < params.dstate; ++state_idx) {
            // Multiply the real part of A with LOG2E so we can use exp2f instead of expf.
            constexpr float kLog2e = 1.4426950408889634f;
            const float A_val = A[state_idx] * kLog2e;
            float B_vals[kNItems], C_vals[kNItems];
            load_input<Ktraits>(Bvar + state_idx * params.B_dstate_stride + offset, B_vals, remaining);
            load_input<Ktraits>(Cvar + state_idx * params.B_dstate_stride + offset, C_vals, remaining);
            float2 thread_data[kNItems];
            #pragma unroll
            for (int i = 0; i < kNItems; ++i) {
                thread_data[i] = make_float2(exp2f(delta_vals[i] * A_val), B_vals[i] * delta_u_vals[i]);
                if ((int)threadIdx.x * kNItems + i >= remaining) {  // so that the last state is correct
                    thread_data[i] = make_float2(1.f, 0.f);
                }
            }
            float2 running_prefix = chunk > 0 ? smem_running_prefix[state_idx] : make_float2(1.f, 0.f);
            block_inclusive_scan<Ktraits>(thread_data, smem_warp, running_prefix);
            // There's a syncthreads in the scan op, so we don't need to sync here.
            if (threadIdx.x == 0) {
                smem_running_prefix[state_idx] = running_prefix;
                if (chunk == params.n_chunks - 1) {
                    params.last_state_ptr[(batch_id * params.dim + dim_id) * params.dstate + state_idx] = running_prefix.y;
                }
            }
            #pragma unroll
            for (int i = 0; i < kNItems; ++i) { out_vals[i] += thread_data[i].y * C_vals[i]; }
        }
        if constexpr (Ktraits::kHasZ) {
            float z_vals[kNItems];
            load_input<Ktraits>(z + offset, z_vals, remaining);
            #pragma unroll
            for (int i = 0; i < kNItems; ++i) { out_vals[i] *= z_vals[i] / (1.f + expf(-z_vals[i])); }
        }
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < kNItems; ++i) {
            const int pos = threadIdx.x * kNItems + i;
            if (pos < remaining) { out[offset + pos] = out_vals[i]; }
        }
    }
}

// one block per (batch, channel) row; each thread keeps kNElts outputs, the left halo comes
// from its neighbour through shared memory
template<int kNThreads, int kWidth, int kNElts>
__global__ __launch_bounds__(kNThreads)
void causal_conv1d_fwd_kernel(const float *__restrict__ x, const float *__restrict__ weight, const float *__restrict__ bias,
                              float *__restrict__ out, int dim, int seqlen, bool silu_activation) {
    __shared__ float4 smem_exchange[kNThreads];
    const int tidx = threadIdx.x, batch_id = blockIdx.x, channel_id = blockIdx.y;
    x += ((size_t)batch_id * dim + channel_id) * seqlen;
    out += ((size_t)batch_id * dim + channel_id) * seqlen;

    if (tidx == 0) { smem_exchange[kNThreads - 1] = make_float4(0.f, 0.f, 0.f, 0.f); }
    float weight_vals[kWidth];
    #pragma unroll
    for (int i = 0; i < kWidth; ++i) { weight_vals[i] = weight[channel_id * kWidth + i]; }
    const float bias_val = bias[channel_id];

    constexpr int kChunkSize = kNThreads * kNElts;
    const int n_chunks = (seqlen + kChunkSize - 1) / kChunkSize;
    for (int chunk = 0; chunk < n_chunks; ++chunk) {
        alignas(16) float x_vals[2 * kNElts] = {};
        const int start = chunk * kChunkSize + tidx * kNElts;
        if (start < seqlen) {   // seqlen is a multiple of kNElts
            reinterpret_cast<float4 *>(x_vals)[1] = reinterpret_cast<const float4 *>(x)[start / kNElts];
        }
        __syncthreads();
        // Thread kNThreads - 1 don't write yet, so that thread 0 can read
        // the last elements of the previous chunk.
        if (tidx < kNThreads - 1) { smem_exchange[tidx] = reinterpret_cast<float4 *>(x_vals)[1]; }
        __syncthreads();
        reinterpret_cast<float4 *>(x_vals)[0] = smem_exchange[tidx > 0 ? tidx - 1 : kNThreads - 1];
        __syncthreads();
        // Now thread kNThreads - 1 can write the last elements of the current chunk.
        if (tidx == kNThreads - 1) { smem_exchange[tidx] = reinterpret_cast<float4 *>(x_vals)[1]; }

        float4 res;
        float *out_vals = reinterpret_cast<float *>(&res);
        #pragma unroll
        for (int i = 0; i < kNElts; ++i) {
            out_vals[i] = bias_val;
            #pragma unroll
            for (int w = 0; w < kWidth; ++w) { out_vals[i] += weight_vals[w] * x_vals[kNElts + i - (kWidth - w - 1)]; }
            if (silu_activation) { out_vals[i] = out_vals[i] / (1 + expf(-out_vals[i])); }
        }
        if (start < seqlen) { reinterpret_cast<float4 *>(out)[start / kNElts] = res; }
    }
}

// decode step: state (batch, dim, dstate) is updated in place
template<int DSTATE>
__global__ void selective_state_update_kernel(float *state, const float *x, const float *dt, const float *dt_bias,
                                              const float *A, const float *B, const float *C, const float *D,
                                              const float *z, float *out, int dim) {
    const int d = blockIdx.x * blockDim.x + threadIdx.x, b = blockIdx.y;
    if (d >= dim) return;
    float t = dt[b * dim + d] + dt_bias[d];
    t = t <= 20.f ? log1pf(expf(t)) : t;
    const float xv = x[b * dim + d];
    float acc = D[d] * xv;
    #pragma unroll
    for (int n = 0; n < DSTATE; ++n) {
        const size_t s = ((size_t)b * dim + d) * DSTATE + n;
        const float h = state[s] * expf(A[d * DSTATE + n] * t) + B[b * DSTATE + n] * t * xv;
        state[s] = h;
        acc += h * C[b * DSTATE + n];
    }
    const float zv = z[b * dim + d];
    out[b * dim + d] = acc * zv / (1.f + expf(-zv));
}

void selective_scan_fwd_launch(SSMParamsBase &params, cudaStream_t stream) {
    BOOL_SWITCH(params.z_ptr != nullptr, kHasZ, [&] {
        if (params.seqlen <= 256) {
            using Ktraits = Selective_Scan_fwd_kernel_traits<32, 8, kHasZ>;
            params.n_chunks = (params.seqlen + Ktraits::kChunk - 1) / Ktraits::kChunk;
            selective_scan_fwd_kernel<Ktraits><<<dim3(params.batch, params.dim), Ktraits::kNThreads, 0, stream>>>(params);
        } else {
            using Ktraits = Selective_Scan_fwd_kernel_traits<64, 8, kHasZ>;
            params.n_chunks = (params.seqlen + Ktraits::kChunk - 1) / Ktraits::kChunk;
            selective_scan_fwd_kernel<Ktraits><<<dim3(params.batch, params.dim), Ktraits::kNThreads, 0, stream>>>(params);
        }
        CHECK_CUDA_KERNEL_LAUNCH();
    });
}

static float rand_uniform(float lo, float hi) { return lo + (hi - lo) * (rand() / (float)RAND_MAX); }
static std::vector<float> randv(size_t n, float lo, float hi) {
    std::vector<float> v(n);
    for (auto &x : v) x = rand_uniform(lo, hi);
    return v;
}
static float *upload(const std::vector<float> &v) {
    float *d;
    CHECK_CUDA(cudaMalloc(&d, v.size() * sizeof(float)));
    CHECK_CUDA(cudaMemcpy(d, v.data(), v.size() * sizeof(float), cudaMemcpyHostToDevice));
    return d;
}

int run_case(int batch, int dim, int seqlen, bool has_z) {
    const int N = MAX_DSTATE, W = 4;
    const size_t total = (size_t)batch * dim * seqlen;
    auto x = randv(total, -1, 1), w = randv(dim * W, -0.5f, 0.5f), cb = randv(dim, -0.1f, 0.1f);
    auto delta = randv(total, -1, 1), dbias = randv(dim, -2, -1), A = randv(dim * N, -2.f, -0.1f), D = randv(dim, -1, 1);
    auto B = randv((size_t)batch * N * seqlen, -1, 1), C = randv((size_t)batch * N * seqlen, -1, 1), z = randv(total, -2, 2);
    auto x1 = randv(batch * dim, -1, 1), dt1 = randv(batch * dim, -1, 1), z1 = randv(batch * dim, -1, 1);
    auto B1 = randv(batch * N, -1, 1), C1 = randv(batch * N, -1, 1);

    float *dx = upload(x), *dw = upload(w), *dcb = upload(cb), *dd = upload(delta), *ddb = upload(dbias), *dA = upload(A), *dD = upload(D);
    float *dB = upload(B), *dC = upload(C), *dz = upload(z), *dx1 = upload(x1), *ddt1 = upload(dt1), *dz1 = upload(z1), *dB1 = upload(B1), *dC1 = upload(C1);
    float *du = upload(std::vector<float>(total, 0.f)), *dout = upload(std::vector<float>(total, 0.f));
    float *dstate = upload(std::vector<float>((size_t)batch * dim * N, 0.f)), *dout1 = upload(std::vector<float>(batch * dim, 0.f));

    causal_conv1d_fwd_kernel<128, 4, 4><<<dim3(batch, dim), 128>>>(dx, dw, dcb, du, dim, seqlen, true);
    SSMParamsBase p = {};
    p.batch = batch; p.dim = dim; p.seqlen = seqlen; p.dstate = N; p.delta_softplus = true;
    p.u_batch_stride = dim * seqlen; p.u_d_stride = seqlen; p.B_batch_stride = N * seqlen; p.B_dstate_stride = seqlen; p.A_d_stride = N;
    p.A_ptr = dA; p.B_ptr = dB; p.C_ptr = dC; p.D_ptr = dD; p.u_ptr = du; p.delta_ptr = dd; p.delta_bias_ptr = ddb;
    p.z_ptr = has_z ? dz : nullptr; p.out_ptr = dout; p.last_state_ptr = dstate;
    selective_scan_fwd_launch(p, 0);
    selective_state_update_kernel<MAX_DSTATE><<<dim3((dim + 63) / 64, batch), 64>>>(dstate, dx1, ddt1, ddb, dA, dB1, dC1, dD, dz1, dout1, dim);
    CHECK_CUDA_KERNEL_LAUNCH();

    std::vector<float> out(total), out1(batch * dim);
    CHECK_CUDA(cudaMemcpy(out.data(), dout, total * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(out1.data(), dout1, out1.size() * sizeof(float), cudaMemcpyDeviceToHost));

    double worst = 0;
    for (int b = 0; b < batch; ++b)
        for (int d = 0; d < dim; ++d) {
            double h[MAX_DSTATE] = {0};
            const size_t row = ((size_t)b * dim + d) * seqlen;
            for (int t = 0; t < seqlen; ++t) {
                double u = cb[d];
                for (int k = 0; k < W; ++k) if (t - (W - 1 - k) >= 0) u += (double)w[d * W + k] * x[row + t - (W - 1 - k)];
                u = u / (1 + exp(-u));
                const double dt = log1p(exp((double)delta[row + t] + dbias[d]));
                double y = D[d] * u;
                for (int n = 0; n < N; ++n) {
                    h[n] = expf((float)(dt * A[d * N + n])) * h[n] + dt * B[((size_t)b * N + n) * seqlen + t] * u;
                    y += h[n] * C[((size_t)b * N + n) * seqlen + t];
                }
                if (has_z) y *= z[row + t] / (1 + exp(-(double)z[row + t]));
                worst = fmax(worst, fabs(y - out[row + t]));
            }
            const double dt = log1p(exp((double)dt1[b * dim + d] + dbias[d])), zv = z1[b * dim + d];
            double y = D[d] * x1[b * dim + d];
            for (int n = 0; n < N; ++n) y += (h[n] * exp(dt * A[d * N + n]) + B1[b * N + n] * dt * x1[b * dim + d]) * C1[b * N + n];
            worst = fmax(worst, fabs(y * zv / (1 + exp(-zv)) - out1[b * dim + d]));
        }
    printf("batch %d dim %d seqlen %d z %d: max err %.3e\n", batch, dim, seqlen, (int)has_z, worst);
    for (float *q : {dx, dw, dcb, dd, ddb, dA, dD, dB, dC, dz, dx1, ddt1, dz1, dB1, dC1, du, dout, dstate, dout1}) cudaFree(q);
    return worst < 1e-4 ? 0 : 1;
}

int main() {
    srand(0);
    int fail = 0;
    fail += run_case(2, 96, 1100, true);
    fail += run_case(3, 40, 200, false);
    printf("%s\n", fail ? "FAIL" : "PASS");
    return fail ? 1 : 0;
}
