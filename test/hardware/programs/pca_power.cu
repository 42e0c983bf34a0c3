// Principal components by power iteration: means, centring, covariance, iteration in one block, projection.
#include <cuda_runtime.h>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

constexpr int DIM = 30;          // features of a sample
constexpr int COMPONENTS = 3;

template <typename Fn, typename... Args>
void launch(Fn *kernel, dim3 grid, dim3 block, size_t shared, Args... args)
{
    kernel<<<grid, block, shared>>>(args...);
    const auto e = cudaGetLastError();
    if (e != cudaSuccess) {
        std::fprintf(stderr, "launch: %s\n", cudaGetErrorString(e));
        std::exit(1);
    }
}

// each block takes a slab of samples, each thread one feature
__global__ void columnSums(const float *__restrict__ data, int samples, int slab, float *sums)
{
    const int f = threadIdx.x;
    const int first = blockIdx.x * slab, last = min(first + slab, samples);
    float s = 0.0f;
    if (f < DIM) {
        for (int i = first; i < last; ++i) s += data[i * DIM + f];
        atomicAdd(&sums[f], s);
    }
}

__global__ void centre(float *data, const float *sums, int samples)
{
    const int total = samples * DIM;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += blockDim.x * gridDim.x)
        data[i] -= sums[i % DIM] / samples;
}

// DIM x DIM threads; a tile of samples at a time in shared memory
template <int TILE>
__global__ void covariance(const float *__restrict__ data, int samples, float *__restrict__ cov)
{
    __shared__ float tile[TILE][DIM];
    const int a = threadIdx.x, b = threadIdx.y;
    const int tid = b * DIM + a;
    float acc = 0.0f;
    for (int s0 = blockIdx.x * TILE; s0 < samples; s0 += gridDim.x * TILE) {
        for (int i = tid; i < TILE * DIM; i += DIM * DIM) {
            const int row = i / DIM;
            tile[row][i % DIM] = s0 + row < samples ? data[s0 * DIM + i] : 0.0f;
        }
        __syncthreads();
        for (int r = 0; r < TILE; ++r) acc += tile[r][a] * tile[r][b];
        __syncthreads();
    }
    atomicAdd(&cov[b * DIM + a], acc / (samples - 1));
}

// one warp; deflation after every component
__global__ void powerIteration(const float *cov, float *vectors, float *values, int iterations)
{
    __shared__ float c[DIM][DIM];
    __shared__ float v[32];
    const int t = threadIdx.x;
    for (int i = t; i < DIM * DIM; i += 32) (&c[0][0])[i] = cov[i];
    __syncwarp();
    for (int k = 0; k < COMPONENTS; ++k) {
        v[t] = t < DIM ? 1.0f + 0.01f * t : 0.0f;
        __syncwarp();
        float lambda = 0.0f;
        for (int it = 0; it < iterations; ++it) {
            float y = 0.0f;
            if (t < DIM)
                for (int j = 0; j < DIM; ++j) y += c[t][j] * v[j];
            float norm = y * y;
            for (int d = 16; d; d >>= 1) norm += __shfl_xor_sync(0xffffffffu, norm, d);
            lambda = sqrtf(norm);
            __syncwarp();
            v[t] = y / lambda;
            __syncwarp();
        }
        if (t < DIM) {
            vectors[k * DIM + t] = v[t];
            for (int j = 0; j < DIM; ++j) c[t][j] -= lambda * v[t] * v[j];
        }
        if (t == 0) values[k] = lambda;
        __syncwarp();
    }
}

__constant__ float basis[COMPONENTS * DIM];

// a thread a sample
__global__ void project(const float *__restrict__ data, int samples, float3 *__restrict__ out)
{
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= samples) return;
    const float2 *row = reinterpret_cast<const float2 *>(data + s * DIM);
    float3 p{0, 0, 0};
#pragma unroll
    for (int f = 0; f < DIM / 2; ++f) {
        const float2 v = row[f];
        p.x += v.x * basis[2 * f] + v.y * basis[2 * f + 1];
        p.y += v.x * basis[DIM + 2 * f] + v.y * basis[DIM + 2 * f + 1];
        p.z += v.x * basis[2 * DIM + 2 * f] + v.y * basis[2 * DIM + 2 * f + 1];
    }
    out[s] = p;
}

int main(int argc, char **argv)
{
    const int samples = argc > 1 ? std::atoi(argv[1]) : 20000;
    const int iterations = 60;
    std::mt19937 rng(31337);
    std::normal_distribution<float> normal;
    std::vector<float> data(samples * DIM);
    for (int s = 0; s < samples; ++s) {
        const float a = 9 * normal(rng), b = 4 * normal(rng), c = 1.8f * normal(rng);
        for (int f = 0; f < DIM; ++f)
            data[s * DIM + f] = f * 0.1f + a * std::sin(0.3f * f) + b * std::cos(0.7f * f) + c * ((f * 7) % 5 - 2) + 0.2f * normal(rng);
    }

    float *dData, *dSums, *dCov, *dVec, *dVal;
    float3 *dProj;
    auto ok = [](cudaError_t e) { if (e != cudaSuccess) { std::puts(cudaGetErrorString(e)); std::exit(1); } };
    ok(cudaMalloc(&dData, data.size() * sizeof(float)));
    ok(cudaMalloc(&dSums, DIM * sizeof(float)));
    ok(cudaMalloc(&dCov, DIM * DIM * sizeof(float)));
    ok(cudaMalloc(&dVec, COMPONENTS * DIM * sizeof(float)));
    ok(cudaMalloc(&dVal, COMPONENTS * sizeof(float)));
    ok(cudaMalloc(&dProj, samples * sizeof(float3)));
    ok(cudaMemcpy(dData, data.data(), data.size() * sizeof(float), cudaMemcpyHostToDevice));
    ok(cudaMemset(dSums, 0, DIM * sizeof(float)));
    ok(cudaMemset(dCov, 0, DIM * DIM * sizeof(float)));

    const int slab = 150;
    launch(columnSums, dim3((samples + slab - 1) / slab), dim3(32), 0, dData, samples, slab, dSums);
    launch(centre, dim3(264), dim3(256), 0, dData, dSums, samples);
    launch(covariance<64>, dim3(66), dim3(DIM, DIM), 0, dData, samples, dCov);
    launch(powerIteration, dim3(1), dim3(32), 0, dCov, dVec, dVal, iterations);
    ok(cudaMemcpyToSymbol(basis, dVec, COMPONENTS * DIM * sizeof(float), 0, cudaMemcpyDeviceToDevice));
    launch(project, dim3((samples + 127) / 128), dim3(128), 0, dData, samples, dProj);

    std::vector<float> cov(DIM * DIM), vec(COMPONENTS * DIM), val(COMPONENTS);
    std::vector<float3> proj(samples);
    ok(cudaMemcpy(cov.data(), dCov, cov.size() * sizeof(float), cudaMemcpyDeviceToHost));
    ok(cudaMemcpy(vec.data(), dVec, vec.size() * sizeof(float), cudaMemcpyDeviceToHost));
    ok(cudaMemcpy(val.data(), dVal, val.size() * sizeof(float), cudaMemcpyDeviceToHost));
    ok(cudaMemcpy(proj.data(), dProj, proj.size() * sizeof(float3), cudaMemcpyDeviceToHost));

    int bad = 0;
    std::vector<double> mean(DIM), want(DIM * DIM);
    for (int s = 0; s < samples; ++s)
        for (int f = 0; f < DIM; ++f) mean[f] += double(data[s * DIM + f]) / samples;
    for (int s = 0; s < samples; ++s)
        for (int a = 0; a < DIM; ++a)
            for (int b = 0; b < DIM; ++b) want[a * DIM + b] += (data[s * DIM + a] - mean[a]) * (data[s * DIM + b] - mean[b]) / (samples - 1);
    for (int i = 0; i < DIM * DIM; ++i) bad += !(std::fabs(cov[i] - want[i]) < 0.05);
    std::printf("covariance: %d off\n", bad);

    // eigenpairs: residual against the host's covariance
    for (int k = 0; k < COMPONENTS; ++k) {
        double res = 0, norm = 0;
        for (int a = 0; a < DIM; ++a) {
            double y = 0;
            for (int b = 0; b < DIM; ++b) y += want[a * DIM + b] * vec[k * DIM + b];
            res += (y - val[k] * vec[k * DIM + a]) * (y - val[k] * vec[k * DIM + a]);
            norm += vec[k * DIM + a] * vec[k * DIM + a];
        }
        std::printf("component %d: value %.3f, residual %.3g\n", k, val[k], std::sqrt(res));
        bad += !(std::sqrt(res) < 0.02 * val[0]) || !(std::fabs(norm - 1) < 1e-3);
    }
    for (int s = 0; s < samples; ++s) {
        double p[3] = {};
        for (int k = 0; k < 3; ++k)
            for (int f = 0; f < DIM; ++f) p[k] += (data[s * DIM + f] - mean[f]) * vec[k * DIM + f];
        bad += !(std::fabs(p[0] - proj[s].x) < 5e-3) || !(std::fabs(p[1] - proj[s].y) < 5e-3) || !(std::fabs(p[2] - proj[s].z) < 5e-3);
    }
    std::puts(bad ? "FAIL" : "OK");
    return bad ? 1 : 0;
}
