/*
Kernels for the layernorm forward/backward pass, GELU and the fused softmax-crossentropy
classifier, all fp32. CPU versions sit on top, GPU versions below, main() compares them.

nvcc -O3 layernorm_train.cu -o layernorm_train && ./layernorm_train
*/

#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <float.h>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

void cuda_check(cudaError_t error, const char *file, int line) {
    if (error != cudaSuccess) {
        printf("[CUDA ERROR] at file %s:%d:\n%s\n", file, line, cudaGetErrorString(error));
        exit(EXIT_FAILURE);
    }
}
#define cudaCheck(err) (cuda_check(err, __FILE__, __LINE__))

#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))
#define GELU_SCALING_FACTOR sqrtf(2.0f / M_PI)

// CPU code reference

void layernorm_forward_cpu(float* out, float* mean, float* rstd,
                           const float* inp, const float* weight, const float* bias,
                           int B, int T, int C) {
    float eps = 1e-5f;
    for (int bt = 0; bt < B * T; bt++) {
        const float* x = inp + (size_t)bt * C;
        double m = 0.0, v = 0.0;
        for (int i = 0; i < C; i++) { m += x[i]; }
        m = m / C;
        for (int i = 0; i < C; i++) { v += (x[i] - m) * (x[i] - m); }
        double s = 1.0 / sqrt(v / C + eps);
        for (int i = 0; i < C; i++) {
            out[(size_t)bt * C + i] = (float)(s * (x[i] - m)) * weight[i] + bias[i];
        }
        mean[bt] = (float)m;
        rstd[bt] = (float)s;
    }
}

void layernorm_backward_cpu(float* dinp, double* dweight, double* dbias,
                            const float* dout, const float* inp, const float* weight,
                            const float* mean, const float* rstd, int B, int T, int C) {
    for (int bt = 0; bt < B * T; bt++) {
        const float* dout_bt = dout + (size_t)bt * C;
        const float* inp_bt = inp + (size_t)bt * C;
        double dnorm_mean = 0.0, dnorm_norm_mean = 0.0;
        for (int i = 0; i < C; i++) {
            float norm = (inp_bt[i] - mean[bt]) * rstd[bt];
            float dnorm = weight[i] * dout_bt[i];
            dnorm_mean += dnorm;
            dnorm_norm_mean += dnorm * norm;
        }
        dnorm_mean /= C;
        dnorm_norm_mean /= C;
        for (int i = 0; i < C; i++) {
            float norm = (inp_bt[i] - mean[bt]) * rstd[bt];
            float dnorm = weight[i] * dout_bt[i];
            dbias[i] += dout_bt[i];
            dweight[i] += norm * dout_bt[i];
            dinp[(size_t)bt * C + i] += (float)((dnorm - dnorm_mean - norm * dnorm_norm_mean) * rstd[bt]);
        }
    }
}

// GPU kernels

// one warp per row
__global__ void layernorm_forward_kernel3(float* __restrict__ out, float* __restrict__ mean, float* __restrict__ rstd,
                                    const float*  __restrict__ inp, const float*  __restrict__ weight,
                                    const float* __restrict__ bias, int N, int C) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    int idx = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if(idx >= N) {
        return;
    }

    // the row of input that this group of threads is responsible for
    const float* x = inp + idx * C;

    // mean
    float sum = 0.0f;
    for (int i = warp.thread_rank(); i < C; i += warp.size()) {
        sum += x[i];
    }
    sum = cg::reduce(warp, sum, cg::plus<float>{});
    float m = sum / C;
    if(warp.thread_rank() == 0 && mean != nullptr) {
        __stcs(mean + idx, m);
    }

    // rstd
    sum = 0.0f;
    for (int i = warp.thread_rank(); i < C; i += warp.size()) {
        float diff = x[i] - m;
        sum += diff * diff;
    }
    sum = cg::reduce(warp, sum, cg::plus<float>{});
    float s = rsqrtf(sum / C + 1e-5f);
    if(warp.thread_rank() == 0 && rstd != nullptr) {
        __stcs(rstd + idx, s);
    }

    // final normalization and scaling by weight/bias
    float* o = out + idx * C;
    for (int c = warp.thread_rank(); c < C; c += warp.size()) {
        // load and store using the .cs "streaming" hint to the compiler
        float n = s * (__ldcs(x+c) - m);
        __stcs(o+c, n * weight[c] + bias[c]);
    }
}

// uses shared memory instead for the reduces
__global__ void layernorm_backward_kernel2(float* dinp, float* dweight, float* dbias,
                                           const float* dout, const float* inp, const float* weight,
                                           const float* mean, const float* rstd,
                                           int B, int T, int C) {
    extern __shared__ float shared[]; // size = 2 * C

    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    int idx = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    int N = B * T;

    // init shared memory to zero
    float* dbias_shared = shared;
    float* dweight_shared = shared + C;
    #pragma unroll
    for(int i = threadIdx.x; i < C; i+= blockDim.x){
       dbias_shared[i] = 0.0f;
       dweight_shared[i] = 0.0f;
    }
    __syncthreads();

    if(idx < N) {
        int b = idx / T;
        int t = idx % T;
        const float* dout_bt = dout + b * T * C + t * C;
        const float* inp_bt = inp + b * T * C + t * C;
        float* dinp_bt = dinp + b * T * C + t * C;
        const float mean_bt = mean[b * T + t];
        const float rstd_bt = rstd[b * T + t];

        // first: two reduce operations
        float dnorm_mean = 0.0f;
        float dnorm_norm_mean = 0.0f;
        for (int i = warp.thread_rank(); i < C; i  += warp.size()) {
            float norm_bti = (inp_bt[i] - mean_bt) * rstd_bt;
            float dnorm_i = weight[i] * dout_bt[i];
            dnorm_mean += dnorm_i;
            dnorm_norm_mean += dnorm_i * norm_bti;
        }
        dnorm_mean = cg::reduce(warp, dnorm_mean, cg::plus<float>{});
        dnorm_norm_mean = cg::reduce(warp, dnorm_norm_mean, cg::plus<float>{});
        dnorm_mean = dnorm_mean / C;
        dnorm_norm_mean = dnorm_norm_mean / C;

        // now iterate again and accumulate all the gradients
        for (int i = warp.thread_rank(); i < C; i += warp.size()) {
            float norm_bti = (inp_bt[i] - mean_bt) * rstd_bt;
            float dnorm_i = weight[i] * dout_bt[i];
            // gradient contribution to bias
            atomicAdd(&dbias_shared[i], dout_bt[i]);
            // gradient contribution to weight
            atomicAdd(&dweight_shared[i], norm_bti * dout_bt[i]);
            // gradient contribution to input
            float dval = dnorm_i - dnorm_mean - norm_bti * dnorm_norm_mean;
            dinp_bt[i] += dval * rstd_bt;
        }
    }
    __syncthreads();

    // write to global memory
    for(int i = threadIdx.x; i < C; i+= blockDim.x) {
        atomicAdd(&dbias[i], dbias_shared[i]);
        atomicAdd(&dweight[i], dweight_shared[i]);
    }
}

__global__ void gelu_forward_kernel(float* out, const float* inp, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        float xi = inp[i];
        float cube = 0.044715f * xi * xi * xi;
        out[i] = 0.5f * xi * (1.0f + tanhf(GELU_SCALING_FACTOR * (xi + cube)));
    }
}

__global__ void gelu_backward_kernel(float* dinp, const float* inp, const float* dout, const int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        float x = inp[i];
        float cube = 0.044715f * x * x * x;
        float tanh_arg = GELU_SCALING_FACTOR * (x + cube);
        float tanh_out = tanhf(tanh_arg);
        float coshf_out = coshf(tanh_arg);
        float sech_out = 1.0f / (coshf_out * coshf_out);
        float local_grad = 0.5f * (1.0f + tanh_out) + x * 0.5f * sech_out * GELU_SCALING_FACTOR * (1.0f + 3.0f * 0.044715f * x * x);
        dinp[i] = local_grad * dout[i];
    }
}

struct SoftmaxParams { float Scale; float Offset; };

__device__ SoftmaxParams prepare_softmax_blockwide(cg::thread_block_tile<32>& warp, int idx, const float* inp, int V, int P) {
    // one row of inp, i.e. inp[idx, :] of shape (V,)
    const float* x = inp + idx * P;
    float thread_maxval = -FLT_MAX;
    float thread_sumval = 0.0f;
    // do the loop in reverse to maximise probability of L2 cache hits
    for (int i = V - 1 - threadIdx.x; i >= 0; i -= blockDim.x) {
        float v = x[i];
        float old_maxval = thread_maxval;
        thread_maxval = fmaxf(thread_maxval, v);
        thread_sumval *= expf((old_maxval - thread_maxval));
        thread_sumval += expf(v - thread_maxval);
    }

    __shared__ float shared_maxval[32];
    __shared__ float shared_sumval[32];
    int num_warps = blockDim.x / 32;
    int warp_id = threadIdx.x / 32;
    int lane_id = threadIdx.x % 32;

    float warp_maxval = cg::reduce(warp, thread_maxval, cg::greater<float>{});
    if (lane_id == 0) { shared_maxval[warp_id] = warp_maxval; }
    __syncthreads();
    warp_maxval = (lane_id < num_warps) ? shared_maxval[lane_id] : -FLT_MAX;
    float block_maxval = cg::reduce(warp, warp_maxval, cg::greater<float>{});

    thread_sumval *= expf(thread_maxval - block_maxval);
    float warp_sumval = cg::reduce(warp, thread_sumval, cg::plus<float>{});
    if (lane_id == 0) { shared_sumval[warp_id] = warp_sumval; }
    __syncthreads();
    warp_sumval = (lane_id < num_warps) ? shared_sumval[lane_id] : 0.0f;
    float block_sumval = cg::reduce(warp, warp_sumval, cg::plus<float>{});

    return SoftmaxParams{1.f / block_sumval, block_maxval};
}

// fused classifier: writes the loss and overwrites the logits with their gradient
__global__ void fused_classifier_kernel(float* logits, float* losses, const float* dlosses, const int* targets,
                                        int B, int T, int V, int P) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    int idx = blockIdx.x;
    int ix = targets[idx];

    SoftmaxParams sp = prepare_softmax_blockwide(warp, idx, logits, V, P);

    if(threadIdx.x == 0) {
        float prob = expf(logits[idx * P + ix] - sp.Offset) * sp.Scale;
        losses[idx] = -logf(prob);
    }
    __syncthreads(); // thread 0 read a logit that somebody is about to overwrite

    float dloss = dlosses != NULL ? dlosses[idx] : 1.0f / (B*T);
    for (int i = threadIdx.x; i < V; i += blockDim.x) {
        float v = logits[idx * P + i];
        float prob = expf(v - sp.Offset) * sp.Scale;
        float indicator = (i == ix) ? 1.0f : 0.0f;
        logits[idx * P + i] = (prob - indicator) * dloss;
    }
}

// ----------------------------------------------------------------------------
// kernel launchers

void layernorm_forward(float* out, float* mean, float* rstd, const float* inp, const float* weight, const float* bias,
                       int B, int T, int C, const int block_size) {
    const int N = B * T;
    const int grid_size = CEIL_DIV(N * 32, block_size);
    layernorm_forward_kernel3<<<grid_size, block_size>>>(out, mean, rstd, inp, weight, bias, N, C);
    cudaCheck(cudaGetLastError());
}

void layernorm_backward(float* dinp, float* dweight, float* dbias, const float* dout, const float* inp, const float* weight,
                        const float* mean, const float* rstd, int B, int T, int C, const int block_size) {
    const int N = B * T;
    const int grid_size = CEIL_DIV(32*N, block_size);
    size_t shared_mem_size = 2 * C * sizeof(float);
    layernorm_backward_kernel2<<<grid_size, block_size, shared_mem_size>>>(dinp, dweight, dbias, dout, inp, weight, mean, rstd, B, T, C);
    cudaCheck(cudaGetLastError());
}

float* make_random_float(size_t N) {
    float* arr = (float*)malloc(N * sizeof(float));
    for (size_t i = 0; i < N; i++) {
        arr[i] = ((float)rand() / RAND_MAX) * 2.0 - 1.0; // range -1..1
    }
    return arr;
}

float* to_device(const float* h, size_t N) {
    float* d;
    cudaCheck(cudaMalloc(&d, N * sizeof(float)));
    if (h) { cudaCheck(cudaMemcpy(d, h, N * sizeof(float), cudaMemcpyHostToDevice)); }
    else { cudaCheck(cudaMemset(d, 0, N * sizeof(float))); }
    return d;
}

template <class T>
int validate_result(float* d_result, const T* ref, const char* name, size_t n, float tol) {
    float* h = (float*)malloc(n * sizeof(float));
    cudaCheck(cudaMemcpy(h, d_result, n * sizeof(float), cudaMemcpyDeviceToHost));
    int nfaults = 0;
    for (size_t i = 0; i < n; i++) {
        if (fabs((double)ref[i] - h[i]) > tol * (1.0 + fabs((double)ref[i])) || !isfinite(h[i])) {
            if (nfaults++ < 5) { printf("Mismatch of %s at %zu: CPU_ref: %f vs GPU: %f\n", name, i, (double)ref[i], h[i]); }
        }
    }
    printf("%-10s %s\n", name, nfaults ? "NOT OK" : "OK");
    free(h);
    return nfaults;
}

int main() {
    srand(0);
    int B = 2, T = 256, C = 768;
    int V = 1000, P = 1024; // padded vocab
    cudaCheck(cudaSetDevice(0));
    size_t n = (size_t)B * T * C;

    float* inp = make_random_float(n);
    float* weight = make_random_float(C);
    float* bias = make_random_float(C);
    float* dout = make_random_float(n);
    float* logits = make_random_float((size_t)B * T * P);
    for (size_t i = 0; i < (size_t)B * T * P; i++) { logits[i] *= 4.0f; }
    int* targets = (int*)malloc(B * T * sizeof(int));
    for (int i = 0; i < B * T; i++) { targets[i] = rand() % V; }

    float *d_inp = to_device(inp, n), *d_weight = to_device(weight, C), *d_bias = to_device(bias, C);
    float *d_dout = to_device(dout, n), *d_out = to_device(NULL, n), *d_mean = to_device(NULL, B*T), *d_rstd = to_device(NULL, B*T);
    float *d_dinp = to_device(NULL, n), *d_dweight = to_device(NULL, C), *d_dbias = to_device(NULL, C);
    float *d_gelu = to_device(NULL, n), *d_dgelu = to_device(NULL, n);
    float *d_logits = to_device(logits, (size_t)B*T*P), *d_losses = to_device(NULL, B*T);
    int* d_targets;
    cudaCheck(cudaMalloc(&d_targets, B * T * sizeof(int)));
    cudaCheck(cudaMemcpy(d_targets, targets, B * T * sizeof(int), cudaMemcpyHostToDevice));

    layernorm_forward(d_out, d_mean, d_rstd, d_inp, d_weight, d_bias, B, T, C, 256);
    gelu_forward_kernel<<<CEIL_DIV((int)n, 128), 128>>>(d_gelu, d_out, (int)n);
    gelu_backward_kernel<<<CEIL_DIV((int)n, 128), 128>>>(d_dgelu, d_out, d_dout, (int)n);
    layernorm_backward(d_dinp, d_dweight, d_dbias, d_dgelu, d_inp, d_weight, d_mean, d_rstd, B, T, C, 512);
    fused_classifier_kernel<<<B*T, 320>>>(d_logits, d_losses, NULL, d_targets, B, T, V, P);
    cudaCheck(cudaGetLastError());
    cudaCheck(cudaDeviceSynchronize());

    // reference
    float* out = (float*)malloc(n * sizeof(float));
    float* mean = (float*)malloc(B*T*sizeof(float));
    float* rstd = (float*)malloc(B*T*sizeof(float));
    float* gelu = (float*)malloc(n * sizeof(float));
    float* dgelu = (float*)malloc(n * sizeof(float));
    float* dinp = (float*)calloc(n, sizeof(float));
    double* dweight = (double*)calloc(C, sizeof(double));
    double* dbias = (double*)calloc(C, sizeof(double));
    layernorm_forward_cpu(out, mean, rstd, inp, weight, bias, B, T, C);
    for (size_t i = 0; i < n; i++) {
        float x = out[i], u = GELU_SCALING_FACTOR * (x + 0.044715f * x * x * x), t = tanhf(u);
        gelu[i] = 0.5f * x * (1.0f + t);
        dgelu[i] = dout[i] * (0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * GELU_SCALING_FACTOR * (1.0f + 3.0f * 0.044715f * x * x));
    }
    layernorm_backward_cpu(dinp, dweight, dbias, dgelu, inp, weight, mean, rstd, B, T, C);
    float* losses = (float*)malloc(B*T*sizeof(float));
    float* dlogits = (float*)malloc((size_t)B*T*P*sizeof(float));
    for (int r = 0; r < B * T; r++) {
        float* x = logits + (size_t)r * P;
        float mx = -FLT_MAX; double sum = 0.0;
        for (int i = 0; i < V; i++) { mx = fmaxf(mx, x[i]); }
        for (int i = 0; i < V; i++) { sum += expf(x[i] - mx); }
        losses[r] = (float)(log(sum) - (x[targets[r]] - mx));
        for (int i = 0; i < P; i++) {
            dlogits[(size_t)r * P + i] = i < V ? (float)((expf(x[i] - mx) / sum - (i == targets[r])) / (B*T)) : x[i];
        }
    }

    int bad = 0;
    bad += validate_result(d_out, out, "out", n, 1e-4f);
    bad += validate_result(d_mean, mean, "mean", B*T, 1e-5f);
    bad += validate_result(d_rstd, rstd, "rstd", B*T, 1e-4f);
    bad += validate_result(d_gelu, gelu, "gelu", n, 1e-4f);
    bad += validate_result(d_dgelu, dgelu, "dgelu", n, 1e-4f);
    bad += validate_result(d_dinp, dinp, "dinp", n, 1e-3f);
    bad += validate_result(d_dweight, dweight, "dweight", C, 2e-3f);
    bad += validate_result(d_dbias, dbias, "dbias", C, 2e-3f);
    bad += validate_result(d_losses, losses, "losses", B*T, 1e-4f);
    bad += validate_result(d_logits, dlogits, "dlogits", (size_t)B*T*P, 1e-5f);
    printf(bad ? "FAIL\n" : "PASS\n");
    return bad ? 1 : 0;
}
