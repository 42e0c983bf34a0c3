#pragma once
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace ecg {

inline void guard(cudaError_t e, const char* w) {
    if (e != cudaSuccess) {
        std::fprintf(stderr, "ecg %s: %s\n", w, cudaGetErrorString(e));
        std::exit(1);
    }
}

template <class T>
struct Device {
    T* ptr = nullptr;
    size_t n = 0;
    explicit Device(size_t count) : n(count) { guard(cudaMalloc(&ptr, (n ? n : 1) * sizeof(T)), "alloc"); }
    explicit Device(const std::vector<T>& v) : Device(v.size()) {
        guard(cudaMemcpy(ptr, v.data(), n * sizeof(T), cudaMemcpyHostToDevice), "upload");
    }
    Device(const Device&) = delete;
    ~Device() { cudaFree(ptr); }
    std::vector<T> get() const {
        std::vector<T> v(n);
        guard(cudaMemcpy(v.data(), ptr, n * sizeof(T), cudaMemcpyDeviceToHost), "download");
        return v;
    }
};

// elementwise helper, f receives the flat index
template <class F>
__global__ void for_each_index(int n, F f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) f(i);
}

// front_end.cu
void upload_taps(const std::vector<int>& taps);
void split_leads(const short* frames, int leads, int samples, int* out);
void band_pass(const int* in, int leads, int samples, int taps, int* out);
void energy(const int* in, int leads, int samples, int window, int* scratch, int* out);
// beats.cu
void lead_maximum(const int* e, int leads, int samples, int* maximum);
void mark_peaks(const int* e, const int* maximum, int leads, int samples, int half, int percent,
                unsigned char* flag, int* count);
void list_peaks(const unsigned char* flag, const int* first, int leads, int samples, int* peaks);
void average_beats(const int* x, const int* first, const int* peaks, int leads, int samples, int before, int after,
                   float* avg);
void correlate_beats(const int* x, const int* first, const int* peaks, const float* avg, int leads, int samples,
                     int before, int after, float* corr);

}  // namespace ecg
