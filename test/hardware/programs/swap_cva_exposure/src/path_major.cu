// Exposures kept path after path: easy to inspect, hard on the memory system.
#include <cuda_runtime.h>
#include <stdexcept>
#include "../include/engine.hpp"
#include "../include/random_normal.cuh"

namespace {

__constant__ BondTables tables;
__constant__ Swap book[kMaxSwaps];

void ok(cudaError_t e) {
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

__global__ void simulate(ShortRateModel m, int swaps, int paths, unsigned seed, float* __restrict__ exposure) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= paths) return;
    float r = m.start, root = m.vol * sqrtf(m.dt);
    float annuity[kDates + 1];
    for (int d = 0; d < kDates; ++d) {
        r += m.speed * (m.level - r) * m.dt + root * normal_at(seed, p, d);
        annuity[0] = 0.0f;
        for (int t = 1; t <= kDates - 1 - d; ++t) annuity[t] = annuity[t - 1] + m.dt * expf(tables.a[t] - tables.b[t] * r);
        float v = 0.0f;
        for (int s = 0; s < swaps; ++s) {
            int left = book[s].maturity - (d + 1);
            if (left <= 0) continue;
            float last = (annuity[left] - annuity[left - 1]) / m.dt;
            float value = book[s].notional * (1.0f - last - book[s].fixed_rate * annuity[left]);
            v += book[s].payer ? value : -value;
        }
        exposure[p * kDates + d] = fmaxf(v, 0.0f);
    }
}

__global__ void average_date(const float* __restrict__ exposure, int paths, double* __restrict__ ee) {
    __shared__ double part[256];
    int d = blockIdx.x;
    double s = 0;
    for (int p = threadIdx.x; p < paths; p += blockDim.x) s += exposure[p * kDates + d];
    part[threadIdx.x] = s;
    __syncthreads();
    for (int stride = 1; stride < 256; stride *= 2) {   // interleaved tree
        int i = 2 * stride * threadIdx.x;
        if (i + stride < 256) part[i] += part[i + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0) ee[d] = part[0] / paths;
}

__global__ void bucket_paths(const float* __restrict__ exposure, int paths, int buckets, float inv_width,
                             unsigned* __restrict__ hist) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= paths) return;
    for (int d = 0; d < kDates; ++d) {
        int b = int(exposure[p * kDates + d] * inv_width);
        atomicAdd(&hist[d * buckets + min(b, buckets - 1)], 1u);
    }
}

class PathMajor final : public ExposureEngine {
    ShortRateModel m_;
    std::vector<Swap> swaps_;

public:
    PathMajor(const ShortRateModel& m, const std::vector<Swap>& b) : m_(m), swaps_(b) {}
    const char* name() const override { return "path-major"; }
    ExposureProfile run(const SimulationSpec& spec) override {
        BondTables t = bond_tables(m_);
        ok(cudaMemcpyToSymbol(tables, &t, sizeof t));
        ok(cudaMemcpyToSymbol(book, swaps_.data(), swaps_.size() * sizeof(Swap)));
        float* exposure;
        double* ee;
        unsigned* hist;
        ok(cudaMalloc(&exposure, sizeof(float) * spec.paths * kDates));
        ok(cudaMalloc(&ee, sizeof(double) * kDates));
        ok(cudaMalloc(&hist, sizeof(unsigned) * kDates * spec.buckets));
        ok(cudaMemset(hist, 0, sizeof(unsigned) * kDates * spec.buckets));
        int blocks = (spec.paths + 127) / 128;
        simulate<<<blocks, 128>>>(m_, int(swaps_.size()), spec.paths, spec.seed, exposure);
        average_date<<<kDates, 256>>>(exposure, spec.paths, ee);
        bucket_paths<<<blocks, 128>>>(exposure, spec.paths, spec.buckets, 1.0f / spec.bucket_width, hist);
        ExposureProfile out;
        out.expected.resize(kDates);
        ok(cudaMemcpy(out.expected.data(), ee, sizeof(double) * kDates, cudaMemcpyDeviceToHost));
        for (int d = 0; d < kDates; ++d) {
            out.histogram.emplace_back(spec.buckets);
            ok(cudaMemcpy(out.histogram[d].data(), hist + d * spec.buckets, sizeof(unsigned) * spec.buckets,
                          cudaMemcpyDeviceToHost));
        }
        out.cva = charge(spec, m_, out.expected);
        cudaFree(exposure); cudaFree(ee); cudaFree(hist);
        return out;
    }
};

}  // namespace

std::unique_ptr<ExposureEngine> new_path_major(const ShortRateModel& m, const std::vector<Swap>& b) {
    return std::make_unique<PathMajor>(m, b);
}
