// EM for a Gaussian mixture with diagonal covariances. Course project, part 2: "make it fast".
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>
using namespace std;

const int D = 4;
const int K = 8;
const int N = 1 << 16;
const int STATS = 1 + 2 * D;  // weight, sum x, sum x^2

#define cudaSafe(x) { cudaError_t err = x; if (err != cudaSuccess) { printf("CUDA error: %s, line %d\n", cudaGetErrorString(err), __LINE__); exit(1); } }

struct Model {
    float logpi[K];
    float mean[K][D];
    float var[K][D];
};

__constant__ Model c_model;

// E step: one thread a point, the point is a float4, responsibilities row-major [N][K]
__global__ void estep(const float* X, float* R, float* ll) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    float x[D];
    for (int d = 0; d < D; d++) x[d] = X[i * D + d];
    float lp[K];
    float best = -1e30f;
    for (int k = 0; k < K; k++) {
        float q = c_model.logpi[k];
        for (int d = 0; d < D; d++) {
            float diff = x[d] - c_model.mean[k][d];
            q -= 0.5f * (diff * diff / c_model.var[k][d] + logf(6.2831853f * c_model.var[k][d]));
        }
        lp[k] = q;
        best = fmaxf(best, q);
    }
    float s = 0;
    for (int k = 0; k < K; k++) s += expf(lp[k] - best);
    float lse = best + logf(s);
    for (int k = 0; k < K; k++) R[i * K + k] = expf(lp[k] - lse);
    ll[i] = lse;
}

// M step, first attempt: block (k, chunk), every thread strides over the chunk, tree reduction per statistic
__global__ void mstep_partial(const float* X, const float* R, float* partial) {
    __shared__ float red[STATS][128];
    int k = blockIdx.y;
    int per = N / gridDim.x;
    int start = blockIdx.x * per;
    float acc[STATS];
    for (int s = 0; s < STATS; s++) acc[s] = 0;
    for (int i = start + threadIdx.x; i < start + per; i += blockDim.x) {
        float r = R[i * K + k];
        acc[0] += r;
        float4 v = ((const float4*)X)[i];
        acc[1] += r * v.x;
        acc[2] += r * v.y;
        acc[3] += r * v.z;
        acc[4] += r * v.w;
        acc[5] += r * v.x * v.x;
        acc[6] += r * v.y * v.y;
        acc[7] += r * v.z * v.z;
        acc[8] += r * v.w * v.w;
    }
    for (int s = 0; s < STATS; s++) red[s][threadIdx.x] = acc[s];
    __syncthreads();
    for (int h = 64; h > 0; h /= 2) {
        if (threadIdx.x < h)
            for (int s = 0; s < STATS; s++) red[s][threadIdx.x] += red[s][threadIdx.x + h];
        __syncthreads();
    }
    if (threadIdx.x < STATS) partial[(k * gridDim.x + blockIdx.x) * STATS + threadIdx.x] = red[threadIdx.x][0];
}

// second attempt: thread per point, K*STATS bins in shared memory with atomics
__global__ void mstep_atomic(const float* X, const float* R, float* stats) {
    __shared__ float bins[K * STATS];
    for (int b = threadIdx.x; b < K * STATS; b += blockDim.x) bins[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) {
        for (int k = 0; k < K; k++) {
            float r = R[i * K + k];
            if (r < 1e-7f) continue;
            atomicAdd(&bins[k * STATS], r);
            for (int d = 0; d < D; d++) {
                float x = X[i * D + d];
                atomicAdd(&bins[k * STATS + 1 + d], r * x);
                atomicAdd(&bins[k * STATS + 1 + D + d], r * x * x);
            }
        }
    }
    __syncthreads();
    for (int b = threadIdx.x; b < K * STATS; b += blockDim.x) atomicAdd(&stats[b], bins[b]);
}

// sums the partials of one (k, stat) per thread
__global__ void finish(const float* partial, int chunks, float* stats) {
    int t = threadIdx.x;
    if (t >= K * STATS) return;
    int k = t / STATS;
    int s = t % STATS;
    float a = 0;
    for (int c = 0; c < chunks; c++) a += partial[(k * chunks + c) * STATS + s];
    stats[t] = a;
}

__global__ void update_model(const float* stats, Model* m) {
    int k = threadIdx.x;
    if (k >= K) return;
    float w = stats[k * STATS];
    m->logpi[k] = logf(w / N);
    for (int d = 0; d < D; d++) {
        float mu = stats[k * STATS + 1 + d] / w;
        m->mean[k][d] = mu;
        m->var[k][d] = stats[k * STATS + 1 + D + d] / w - mu * mu + 1e-4f;
    }
}

__global__ void sum_ll(const float* ll, double* out) {
    double s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += blockDim.x * gridDim.x) s += ll[i];
    for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffff, s, o);
    if (threadIdx.x % 32 == 0) atomicAdd(out, s);
}

__global__ void assign(const float* R, unsigned char* label) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int best = 0;
    for (int k = 1; k < K; k++)
        if (R[i * K + k] > R[i * K + best]) best = k;
    label[i] = best;
}

int main() {
    mt19937 rng(11);
    normal_distribution<float> g(0, 1);
    vector<float> X(N * D);
    float centers[K][D];
    for (int k = 0; k < K; k++)
        for (int d = 0; d < D; d++) centers[k][d] = ((k >> (d % 3)) & 1) * 3.0f + 0.3f * g(rng);
    for (int i = 0; i < N; i++) {
        int k = rng() % K;
        for (int d = 0; d < D; d++) X[i * D + d] = centers[k][d] + (0.5f + 0.1f * d) * g(rng);
    }
    Model m;
    for (int k = 0; k < K; k++) {
        m.logpi[k] = logf(1.0f / K);
        for (int d = 0; d < D; d++) {
            m.mean[k][d] = centers[k][d] + 0.3f * g(rng);
            m.var[k][d] = 1.0f;
        }
    }
    // host copy in double
    double pi[K], mu[K][D], va[K][D];
    for (int k = 0; k < K; k++) {
        pi[k] = 1.0 / K;
        for (int d = 0; d < D; d++) {
            mu[k][d] = m.mean[k][d];
            va[k][d] = m.var[k][d];
        }
    }

    float *dX, *dR, *dll, *dpart, *dstats;
    double* dsum;
    Model* dm;
    unsigned char* dlab;
    const int chunks = 32;
    cudaSafe(cudaMalloc(&dX, N * D * sizeof(float)));
    cudaSafe(cudaMalloc(&dR, N * K * sizeof(float)));
    cudaSafe(cudaMalloc(&dll, N * sizeof(float)));
    cudaSafe(cudaMalloc(&dpart, K * chunks * STATS * sizeof(float)));
    cudaSafe(cudaMalloc(&dstats, K * STATS * sizeof(float)));
    cudaSafe(cudaMalloc(&dsum, sizeof(double)));
    cudaSafe(cudaMalloc(&dm, sizeof(Model)));
    cudaSafe(cudaMalloc(&dlab, N));
    cudaSafe(cudaMemcpy(dX, X.data(), N * D * sizeof(float), cudaMemcpyHostToDevice));
    cudaSafe(cudaMemcpy(dm, &m, sizeof(Model), cudaMemcpyHostToDevice));

    const int iters = 4;
    vector<double> gpuLL, cpuLL;
    for (int it = 0; it < iters; it++) {
        cudaSafe(cudaMemcpyToSymbol(c_model, dm, sizeof(Model), 0, cudaMemcpyDeviceToDevice));
        estep<<<N / 256, 256>>>(dX, dR, dll);
        cudaSafe(cudaMemset(dsum, 0, sizeof(double)));
        sum_ll<<<32, 256>>>(dll, dsum);
        if (it % 2 == 0) {
            mstep_partial<<<dim3(chunks, K), 128>>>(dX, dR, dpart);
            finish<<<1, 96>>>(dpart, chunks, dstats);
        } else {
            cudaSafe(cudaMemset(dstats, 0, K * STATS * sizeof(float)));
            mstep_atomic<<<256, 256>>>(dX, dR, dstats);
        }
        update_model<<<1, 32>>>(dstats, dm);
        double s;
        cudaSafe(cudaMemcpy(&s, dsum, sizeof(double), cudaMemcpyDeviceToHost));
        gpuLL.push_back(s / N);
    }
    assign<<<N / 256, 256>>>(dR, dlab);
    cudaSafe(cudaDeviceSynchronize());
    vector<unsigned char> lab(N);
    cudaSafe(cudaMemcpy(lab.data(), dlab, N, cudaMemcpyDeviceToHost));
    cudaSafe(cudaMemcpy(&m, dm, sizeof(Model), cudaMemcpyDeviceToHost));

    vector<int> ref(N);
    for (int it = 0; it < iters; it++) {
        double st[K][STATS] = {{0}}, total = 0;
        double lc[K];
        for (int k = 0; k < K; k++) {
            lc[k] = log(pi[k]);
            for (int d = 0; d < D; d++) lc[k] -= 0.5 * log(2 * M_PI * va[k][d]);
        }
        for (int i = 0; i < N; i++) {
            double lp[K], best = -1e300, s = 0;
            for (int k = 0; k < K; k++) {
                lp[k] = lc[k];
                for (int d = 0; d < D; d++) lp[k] -= 0.5 * pow(X[i * D + d] - mu[k][d], 2) / va[k][d];
                if (lp[k] > best) {
                    best = lp[k];
                    ref[i] = k;
                }
            }
            for (int k = 0; k < K; k++) s += exp(lp[k] - best);
            total += best + log(s);
            for (int k = 0; k < K; k++) {
                double r = exp(lp[k] - best) / s;
                st[k][0] += r;
                for (int d = 0; d < D; d++) {
                    st[k][1 + d] += r * X[i * D + d];
                    st[k][1 + D + d] += r * X[i * D + d] * X[i * D + d];
                }
            }
        }
        for (int k = 0; k < K; k++) {
            pi[k] = st[k][0] / N;
            for (int d = 0; d < D; d++) {
                mu[k][d] = st[k][1 + d] / st[k][0];
                va[k][d] = st[k][1 + D + d] / st[k][0] - mu[k][d] * mu[k][d] + 1e-4;
            }
        }
        cpuLL.push_back(total / N);
    }
    double worst = 0, dl = 0;
    for (int k = 0; k < K; k++)
        for (int d = 0; d < D; d++) worst = fmax(worst, fmax(fabs(mu[k][d] - m.mean[k][d]), fabs(va[k][d] - m.var[k][d])));
    for (int it = 0; it < iters; it++) dl = fmax(dl, fabs(gpuLL[it] - cpuLL[it]));
    int diff = 0;
    for (int i = 0; i < N; i++) diff += lab[i] != ref[i];
    printf("loglik %.6f (cpu %.6f), parameter error %g, label differences %d\n", gpuLL.back(), cpuLL.back(), worst, diff);
    bool ok = worst < 5e-3 && dl < 1e-3 && diff < N / 200;
    printf("%s\n", ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
