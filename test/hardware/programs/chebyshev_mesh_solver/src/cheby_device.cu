#include "../include/cheby_solver.hpp"

#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kBlock = 256;
constexpr int kLanesPerRow = 8;

void must(cudaError_t e, const char* where) {
    if (e != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", where, cudaGetErrorString(e));
        std::exit(1);
    }
}

template <class T>
T* upload(const std::vector<T>& v) {
    T* d = nullptr;
    must(cudaMalloc(&d, v.size() * sizeof(T)), "upload alloc");
    must(cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice), "upload copy");
    return d;
}

__global__ void spmv_thread_rows(int n, const int* __restrict__ ptr, const int* __restrict__ col,
                                 const float* __restrict__ val, const float* __restrict__ x,
                                 float* __restrict__ y) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    float acc = 0.0f;
    for (int k = ptr[row]; k < ptr[row + 1]; ++k) acc += val[k] * x[col[k]];
    y[row] = acc;
}

__global__ void spmv_subwarp_rows(int n, const int* __restrict__ ptr, const int* __restrict__ col,
                                  const float* __restrict__ val, const float* __restrict__ x,
                                  float* __restrict__ y) {
    int lane = threadIdx.x % kLanesPerRow;
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / kLanesPerRow;
    float acc = 0.0f;
    if (row < n) {
        int end = ptr[row + 1];
        for (int k = ptr[row] + lane; k < end; k += kLanesPerRow) acc += val[k] * __ldg(&x[col[k]]);
    }
    for (int d = kLanesPerRow / 2; d > 0; d >>= 1) acc += __shfl_down_sync(0xffffffffu, acc, d, kLanesPerRow);
    if (lane == 0 && row < n) y[row] = acc;
}

// x += p; r -= A p; p = c1 * p + c2 * r
__global__ void chebyshev_step(int n4, float c1, float c2, float4* __restrict__ x, float4* __restrict__ r,
                               float4* __restrict__ p, const float4* __restrict__ ap) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n4) return;
    float4 pv = p[i], xv = x[i], rv = r[i], av = ap[i];
    xv.x += pv.x; xv.y += pv.y; xv.z += pv.z; xv.w += pv.w;
    rv.x -= av.x; rv.y -= av.y; rv.z -= av.z; rv.w -= av.w;
    pv.x = c1 * pv.x + c2 * rv.x;
    pv.y = c1 * pv.y + c2 * rv.y;
    pv.z = c1 * pv.z + c2 * rv.z;
    pv.w = c1 * pv.w + c2 * rv.w;
    x[i] = xv; r[i] = rv; p[i] = pv;
}

__global__ void start_direction(int n, float inv_theta, const float* r, float* p, float* x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        p[i] = r[i] * inv_theta;
        x[i] = 0.0f;
    }
}

__global__ void squared_norm_partials(int n, const float* __restrict__ v, double* __restrict__ out) {
    __shared__ double part[kBlock];
    double s = 0.0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        s += double(v[i]) * double(v[i]);
    part[threadIdx.x] = s;
    __syncthreads();
    for (int h = kBlock / 2; h > 0; h >>= 1) {
        if (threadIdx.x < h) part[threadIdx.x] += part[threadIdx.x + h];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

int padded(int n) { return (n + 3) / 4 * 4; }
int blocks_for(int n) { return (n + kBlock - 1) / kBlock; }

}  // namespace

ChebyshevSolver::ChebyshevSolver(const CsrMatrix& a, double lo, double hi)
    : n_(a.rows), theta_(0.5 * (hi + lo)), delta_(0.5 * (hi - lo)) {
    d_ptr_ = upload(a.row_ptr);
    d_col_ = upload(a.col);
    d_val_ = upload(a.val);
    std::size_t bytes = padded(n_) * sizeof(float);
    float** vectors[] = {&d_x_, &d_r_, &d_p_, &d_ap_};
    for (float** v : vectors) {
        must(cudaMalloc(v, bytes), "vector");
        must(cudaMemset(*v, 0, bytes), "clear");
    }
    blocks_ = blocks_for(n_) < 64 ? blocks_for(n_) : 64;
    must(cudaMalloc(&d_partial_, blocks_ * sizeof(double)), "partials");
}

ChebyshevSolver::~ChebyshevSolver() {
    for (void* p : {(void*)d_ptr_, (void*)d_col_, (void*)d_val_, (void*)d_x_, (void*)d_r_, (void*)d_p_,
                    (void*)d_ap_, (void*)d_partial_})
        cudaFree(p);
}

void ChebyshevSolver::load_rhs(const std::vector<float>& b) {
    must(cudaMemcpy(d_r_, b.data(), n_ * sizeof(float), cudaMemcpyHostToDevice), "rhs");
    started_ = false;
}

void ChebyshevSolver::iterate(int steps, SpmvMode mode) {
    if (!started_) {
        start_direction<<<blocks_for(n_), kBlock>>>(n_, float(1.0 / theta_), d_r_, d_p_, d_x_);
        rho_ = delta_ / theta_;
        started_ = true;
    }
    for (int s = 0; s < steps; ++s) {
        if (mode == SpmvMode::RowPerThread)
            spmv_thread_rows<<<blocks_for(n_), kBlock>>>(n_, d_ptr_, d_col_, d_val_, d_p_, d_ap_);
        else
            spmv_subwarp_rows<<<blocks_for(n_ * kLanesPerRow), kBlock>>>(n_, d_ptr_, d_col_, d_val_, d_p_, d_ap_);
        double next = 1.0 / (2.0 * theta_ / delta_ - rho_);
        int n4 = padded(n_) / 4;
        chebyshev_step<<<blocks_for(n4), kBlock>>>(n4, float(next * rho_), float(2.0 * next / delta_),
                                                   reinterpret_cast<float4*>(d_x_), reinterpret_cast<float4*>(d_r_),
                                                   reinterpret_cast<float4*>(d_p_),
                                                   reinterpret_cast<const float4*>(d_ap_));
        rho_ = next;
    }
    must(cudaGetLastError(), "iterate");
}

double ChebyshevSolver::residual_norm() {
    squared_norm_partials<<<blocks_, kBlock>>>(n_, d_r_, d_partial_);
    std::vector<double> h(blocks_);
    must(cudaMemcpy(h.data(), d_partial_, blocks_ * sizeof(double), cudaMemcpyDeviceToHost), "norm");
    double s = 0.0;
    for (double v : h) s += v;
    return std::sqrt(s);
}

std::vector<float> ChebyshevSolver::solution() const {
    std::vector<float> x(n_);
    must(cudaMemcpy(x.data(), d_x_, n_ * sizeof(float), cudaMemcpyDeviceToHost), "solution");
    return x;
}
