// QR by Householder reflections for a batch of tall-skinny matrices.
// One block per matrix, column-major in shared memory, R and tau written out.
#include <cstdio>
#include <cmath>
#include <vector>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

struct Shape { short rows; short cols; int batch; };

__device__ float block_sum(float v, float* scratch)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    v = cg::reduce(warp, v, cg::plus<float>());
    if (warp.thread_rank() == 0) scratch[warp.meta_group_rank()] = v;
    __syncthreads();
    float total = 0.f;
    for (unsigned w = 0; w < warp.meta_group_size(); ++w) total += scratch[w];
    __syncthreads();
    return total;
}

__global__ void qr_factor(float* mats, float* taus, Shape sh)
{
    extern __shared__ float smem[];
    float* A = smem;                               // rows x cols, column major, padded
    const int ld = sh.rows + 1;
    float* scratch = A + ld * sh.cols;
    float* g = mats + (size_t)blockIdx.x * sh.rows * sh.cols;

    for (int c = 0; c < sh.cols; ++c)
        for (int r = threadIdx.x; r < sh.rows; r += blockDim.x)
            A[c * ld + r] = g[r * sh.cols + c];
    __syncthreads();

    for (short k = 0; k < sh.cols; ++k) {
        float* col = A + k * ld;
        float part = 0.f;
        for (int r = k + 1 + threadIdx.x; r < sh.rows; r += blockDim.x) part += col[r] * col[r];
        float sigma = block_sum(part, scratch);
        float alpha = col[k];
        float norm = sqrtf(alpha * alpha + sigma);
        float beta = alpha <= 0.f ? norm : -norm;
        float tau = (beta - alpha) / beta;
        float inv = 1.0f / (alpha - beta);
        __syncthreads();
        for (int r = k + 1 + threadIdx.x; r < sh.rows; r += blockDim.x) col[r] *= inv;
        if (threadIdx.x == 0) {
            col[k] = beta;
            taus[blockIdx.x * sh.cols + k] = tau;
        }
        __syncthreads();
        for (int j = k + 1; j < sh.cols; ++j) {
            float* cj = A + j * ld;
            float d = 0.f;
            for (int r = k + 1 + threadIdx.x; r < sh.rows; r += blockDim.x) d += col[r] * cj[r];
            d = block_sum(d, scratch) + cj[k];
            d *= tau;
            __syncthreads();
            for (int r = k + 1 + threadIdx.x; r < sh.rows; r += blockDim.x) cj[r] -= d * col[r];
            if (threadIdx.x == 0) cj[k] -= d;
            __syncthreads();
        }
    }
    for (int i = threadIdx.x; i < sh.rows * sh.cols; i += blockDim.x)
        g[i] = A[(i % sh.cols) * ld + i / sh.cols];
}

// y <- Q^T y using the stored reflectors, a warp a matrix
__global__ void apply_qt(const float* __restrict__ mats, const float* __restrict__ taus, float* __restrict__ rhs, Shape sh)
{
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int b = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
    if (b >= sh.batch) return;
    const float* m = mats + (size_t)b * sh.rows * sh.cols;
    float* y = rhs + b * sh.rows;
    for (int k = 0; k < sh.cols; ++k) {
        float d = 0.f;
        for (int r = k + tile.thread_rank(); r < sh.rows; r += 32)
            d += (r == k ? 1.f : m[r * sh.cols + k]) * y[r];
        d = cg::reduce(tile, d, cg::plus<float>()) * taus[b * sh.cols + k];
        for (int r = k + tile.thread_rank(); r < sh.rows; r += 32)
            y[r] -= d * (r == k ? 1.f : m[r * sh.cols + k]);
        tile.sync();
    }
}

__global__ void back_substitute(const float* mats, const float* rhs, float* x, Shape sh)
{
    int b = threadIdx.x + blockIdx.x * blockDim.x;
    if (b >= sh.batch) return;
    const float* R = mats + (size_t)b * sh.rows * sh.cols;
    for (int i = sh.cols - 1; i >= 0; i--) {
        float v = rhs[b * sh.rows + i];
        for (int j = i + 1; j < sh.cols; j++) v -= R[i * sh.cols + j] * x[b * sh.cols + j];
        x[b * sh.cols + i] = v / R[i * sh.cols + i];
    }
}

int main()
{
    Shape sh{70, 12, 90};
    size_t ne = (size_t)sh.rows * sh.cols * sh.batch;
    std::vector<float> a(ne), y(sh.rows * sh.batch), xt(sh.cols), x(sh.cols * sh.batch);
    unsigned seed = 1;
    for (auto& v : a) { seed = seed * 1664525u + 1013904223u; v = (seed >> 9) / 8388608.0f - 0.5f; }
    for (int j = 0; j < sh.cols; ++j) xt[j] = 1.f + j * 0.25f;
    for (int b = 0; b < sh.batch; ++b)
        for (int r = 0; r < sh.rows; ++r) {
            float s = 0;
            for (int j = 0; j < sh.cols; ++j) s += a[((size_t)b * sh.rows + r) * sh.cols + j] * xt[j];
            y[b * sh.rows + r] = s;
        }
    float *dA, *dT, *dY, *dX;
    cudaMalloc(&dA, ne * 4); cudaMalloc(&dT, sh.cols * sh.batch * 4);
    cudaMalloc(&dY, y.size() * 4); cudaMalloc(&dX, x.size() * 4);
    cudaMemcpy(dA, a.data(), ne * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(dY, y.data(), y.size() * 4, cudaMemcpyHostToDevice);
    size_t shm = ((sh.rows + 1) * sh.cols + 32) * sizeof(float);
    qr_factor<<<sh.batch, 64, shm>>>(dA, dT, sh);
    apply_qt<<<(sh.batch + 3) / 4, 128>>>(dA, dT, dY, sh);
    back_substitute<<<(sh.batch + 31) / 32, 32>>>(dA, dY, dX, sh);
    cudaMemcpy(x.data(), dX, x.size() * 4, cudaMemcpyDeviceToHost);
    float err = 0;
    for (int b = 0; b < sh.batch; ++b)
        for (int j = 0; j < sh.cols; ++j) err = fmaxf(err, fabsf(x[b * sh.cols + j] - xt[j]));
    printf("least-squares max error %g (%s)\n", err, cudaGetErrorString(cudaGetLastError()));
    return err < 1e-2f ? 0 : 1;
}
