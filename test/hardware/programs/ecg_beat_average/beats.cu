#include "lead_buffers.cuh"

namespace ecg {

__global__ void row_maximum(const int* __restrict__ e, int samples, int* __restrict__ maximum) {
    __shared__ int m[128];
    int best = 0;
    for (int s = threadIdx.x; s < samples; s += 128) best = max(best, e[blockIdx.x * samples + s]);
    m[threadIdx.x] = best;
    __syncthreads();
    for (int h = 64; h; h >>= 1) {
        if (threadIdx.x < h) m[threadIdx.x] = max(m[threadIdx.x], m[threadIdx.x + h]);
        __syncthreads();
    }
    if (threadIdx.x == 0) maximum[blockIdx.x] = m[0];
}

// a peak is the first largest value of its neighbourhood
__global__ void peak_flags(const int* __restrict__ e, const int* __restrict__ maximum, int samples, int half,
                           int percent, unsigned char* __restrict__ flag, int* __restrict__ count) {
    int s = blockIdx.x * blockDim.x + threadIdx.x, lead = blockIdx.y;
    bool peak = false;
    if (s < samples) {
        const int* row = e + lead * samples;
        int v = row[s];
        peak = (long long)v * 100 > (long long)maximum[lead] * percent;
        for (int k = 1; peak && k <= half; ++k) {
            if (s - k >= 0 && row[s - k] >= v) peak = false;
            if (s + k < samples && row[s + k] > v) peak = false;
        }
        flag[lead * samples + s] = peak;
    }
    unsigned votes = __ballot_sync(0xffffffffu, peak);
    if ((threadIdx.x & 31) == 0 && votes) atomicAdd(&count[lead], __popc(votes));
}

// one warp walks a lead and keeps the order
__global__ void ordered_peaks(const unsigned char* __restrict__ flag, const int* __restrict__ first, int leads,
                              int samples, int* __restrict__ peaks) {
    int lead = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x & 31;
    if (lead >= leads) return;
    int out = first[lead];
    for (int base = 0; base < samples; base += 32) {
        int s = base + lane;
        bool p = s < samples && flag[lead * samples + s];
        unsigned votes = __ballot_sync(0xffffffffu, p);
        if (p) peaks[out + __popc(votes & ((1u << lane) - 1))] = s;
        out += __popc(votes);
    }
}

__device__ int sample_or_zero(const int* row, int s, int samples) { return s >= 0 && s < samples ? row[s] : 0; }

__global__ void mean_beat(const int* __restrict__ x, const int* __restrict__ first, const int* __restrict__ peaks,
                          int samples, int before, int width, float* __restrict__ avg) {
    int lead = blockIdx.x, b = first[lead], e = first[lead + 1];
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        int sum = 0;
        for (int k = b; k < e; ++k) sum += sample_or_zero(x + lead * samples, peaks[k] - before + i, samples);
        avg[lead * width + i] = e > b ? float(sum) / float(e - b) : 0.0f;
    }
}

// warp per beat
__global__ void beat_correlation(const int* __restrict__ x, const int* __restrict__ first,
                                 const int* __restrict__ peaks, const float* __restrict__ avg, int samples, int before,
                                 int width, float* __restrict__ corr) {
    int lead = blockIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int* row = x + lead * samples;
    const float* mean = avg + lead * width;
    for (int k = first[lead] + warp; k < first[lead + 1]; k += blockDim.x / 32) {
        float xy = 0, xx = 0, yy = 0;
        for (int i = lane; i < width; i += 32) {
            float a = float(sample_or_zero(row, peaks[k] - before + i, samples)), m = mean[i];
            xy += a * m;
            xx += a * a;
            yy += m * m;
        }
        for (int d = 16; d; d >>= 1) {
            xy += __shfl_xor_sync(0xffffffffu, xy, d);
            xx += __shfl_xor_sync(0xffffffffu, xx, d);
            yy += __shfl_xor_sync(0xffffffffu, yy, d);
        }
        if (lane == 0) corr[k] = xy / sqrtf(xx * yy + 1e-6f);
    }
}

void lead_maximum(const int* e, int leads, int samples, int* maximum) {
    row_maximum<<<leads, 128>>>(e, samples, maximum);
}

void mark_peaks(const int* e, const int* maximum, int leads, int samples, int half, int percent, unsigned char* flag,
                int* count) {
    guard(cudaMemset(count, 0, leads * sizeof(int)), "count");
    peak_flags<<<dim3((samples + 255) / 256, leads), 256>>>(e, maximum, samples, half, percent, flag, count);
    guard(cudaGetLastError(), "mark");
}

void list_peaks(const unsigned char* flag, const int* first, int leads, int samples, int* peaks) {
    ordered_peaks<<<(leads + 3) / 4, 128>>>(flag, first, leads, samples, peaks);
}

void average_beats(const int* x, const int* first, const int* peaks, int leads, int samples, int before, int after,
                   float* avg) {
    mean_beat<<<leads, 64>>>(x, first, peaks, samples, before, before + after, avg);
}

void correlate_beats(const int* x, const int* first, const int* peaks, const float* avg, int leads, int samples,
                     int before, int after, float* corr) {
    beat_correlation<<<leads, 128>>>(x, first, peaks, avg, samples, before, before + after, corr);
    guard(cudaGetLastError(), "correlate");
}

}  // namespace ecg
