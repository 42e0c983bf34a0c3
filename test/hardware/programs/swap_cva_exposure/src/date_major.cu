// Exposures kept date after date; bond tables staged in shared memory.
#include <cuda_runtime.h>
#include <stdexcept>
#include "../include/engine.hpp"
#include "../include/random_normal.cuh"

namespace {

void ok(cudaError_t e) {
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

__global__ void simulate_rates(ShortRateModel m, int paths, unsigned seed, float* __restrict__ rates) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= paths) return;
    float r = m.start, root = m.vol * sqrtf(m.dt);
    for (int d = 0; d < kDates; ++d) {
        r += m.speed * (m.level - r) * m.dt + root * normal_at(seed, p, d);
        rates[d * paths + p] = r;
    }
}

// grid.y is the date; the running annuity of a thread lives in a column of shared memory
__global__ void value_book(const float* __restrict__ rates, const BondTables* __restrict__ tables,
                           const Swap* __restrict__ book, int swaps, int paths, float dt,
                           float* __restrict__ exposure) {
    __shared__ float annuity[kDates + 1][64];
    __shared__ float ta[kDates + 1], tb[kDates + 1];
    __shared__ Swap sw[kMaxSwaps];
    int tid = threadIdx.x, d = blockIdx.y, p = blockIdx.x * 64 + tid;
    if (tid <= kDates) {
        ta[tid] = tables->a[tid];
        tb[tid] = tables->b[tid];
    }
    if (tid < swaps) sw[tid] = book[tid];
    __syncthreads();
    if (p >= paths) return;
    float r = rates[d * paths + p];
    annuity[0][tid] = 0.0f;
    for (int t = 1; t <= kDates - 1 - d; ++t) annuity[t][tid] = annuity[t - 1][tid] + dt * expf(ta[t] - tb[t] * r);
    float v = 0.0f;
    for (int s = 0; s < swaps; ++s) {
        int left = sw[s].maturity - (d + 1);
        if (left <= 0) continue;
        float last = (annuity[left][tid] - annuity[left - 1][tid]) / dt;
        float value = sw[s].notional * (1.0f - last - sw[s].fixed_rate * annuity[left][tid]);
        v += sw[s].payer ? value : -value;
    }
    exposure[d * paths + p] = fmaxf(v, 0.0f);
}

// one block per date, sum and histogram in one pass over float4
__global__ void profile_date(const float4* __restrict__ exposure, int paths4, int buckets, float inv_width,
                             double* __restrict__ ee, unsigned* __restrict__ hist) {
    extern __shared__ unsigned local[];
    __shared__ double warp_sum[8];
    for (int b = threadIdx.x; b < buckets; b += blockDim.x) local[b] = 0;
    __syncthreads();
    const float4* row = exposure + (size_t)blockIdx.x * paths4;
    double s = 0;
    for (int i = threadIdx.x; i < paths4; i += blockDim.x) {
        float4 e = row[i];
        s += double(e.x) + e.y + e.z + e.w;
        atomicAdd(&local[min(int(e.x * inv_width), buckets - 1)], 1u);
        atomicAdd(&local[min(int(e.y * inv_width), buckets - 1)], 1u);
        atomicAdd(&local[min(int(e.z * inv_width), buckets - 1)], 1u);
        atomicAdd(&local[min(int(e.w * inv_width), buckets - 1)], 1u);
    }
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(0xffffffffu, s, k);
    if (threadIdx.x % 32 == 0) warp_sum[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        double t = 0;
        for (int w = 0; w < int(blockDim.x) / 32; ++w) t += warp_sum[w];
        ee[blockIdx.x] = t / (4.0 * paths4);
    }
    for (int b = threadIdx.x; b < buckets; b += blockDim.x) hist[blockIdx.x * buckets + b] = local[b];
}

class DateMajor final : public ExposureEngine {
    ShortRateModel m_;
    std::vector<Swap> swaps_;

public:
    DateMajor(const ShortRateModel& m, const std::vector<Swap>& b) : m_(m), swaps_(b) {}
    const char* name() const override { return "date-major"; }
    ExposureProfile run(const SimulationSpec& spec) override {
        BondTables t = bond_tables(m_);
        int paths = spec.paths / 4 * 4;
        float *rates, *exposure;
        double* ee;
        unsigned* hist;
        BondTables* d_t;
        Swap* d_book;
        ok(cudaMalloc(&rates, sizeof(float) * paths * kDates));
        ok(cudaMalloc(&exposure, sizeof(float) * paths * kDates));
        ok(cudaMalloc(&ee, sizeof(double) * kDates));
        ok(cudaMalloc(&hist, sizeof(unsigned) * kDates * spec.buckets));
        ok(cudaMalloc(&d_t, sizeof t));
        ok(cudaMalloc(&d_book, swaps_.size() * sizeof(Swap)));
        ok(cudaMemcpy(d_t, &t, sizeof t, cudaMemcpyHostToDevice));
        ok(cudaMemcpy(d_book, swaps_.data(), swaps_.size() * sizeof(Swap), cudaMemcpyHostToDevice));
        simulate_rates<<<(paths + 255) / 256, 256>>>(m_, paths, spec.seed, rates);
        value_book<<<dim3((paths + 63) / 64, kDates), 64>>>(rates, d_t, d_book, int(swaps_.size()), paths, m_.dt,
                                                           exposure);
        profile_date<<<kDates, 256, spec.buckets * sizeof(unsigned)>>>(reinterpret_cast<const float4*>(exposure),
                                                                      paths / 4, spec.buckets,
                                                                      1.0f / spec.bucket_width, ee, hist);
        ExposureProfile out;
        out.expected.resize(kDates);
        std::vector<unsigned> flat(kDates * spec.buckets);
        ok(cudaMemcpy(out.expected.data(), ee, sizeof(double) * kDates, cudaMemcpyDeviceToHost));
        ok(cudaMemcpy(flat.data(), hist, flat.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
        for (int d = 0; d < kDates; ++d)
            out.histogram.emplace_back(flat.begin() + d * spec.buckets, flat.begin() + (d + 1) * spec.buckets);
        out.cva = charge(spec, m_, out.expected);
        cudaFree(rates); cudaFree(exposure); cudaFree(ee); cudaFree(hist); cudaFree(d_t); cudaFree(d_book);
        return out;
    }
};

}  // namespace

std::unique_ptr<ExposureEngine> new_date_major(const ShortRateModel& m, const std::vector<Swap>& b) {
    return std::make_unique<DateMajor>(m, b);
}
