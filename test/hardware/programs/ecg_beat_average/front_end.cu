// nvcc: --extended-lambda
#include "lead_buffers.cuh"

namespace ecg {

static __constant__ int c_taps[64];

static dim3 tiles(int leads, int samples) { return dim3((leads + 31) / 32, (samples + 31) / 32); }

// interleaved frames to one row per lead; the tile is not padded
__global__ void transpose_frames(const short* __restrict__ frames, int leads, int samples, int* __restrict__ out) {
    __shared__ int tile[32][32];
    int lead = blockIdx.x * 32 + threadIdx.x, s0 = blockIdx.y * 32;
    for (int r = threadIdx.y; r < 32; r += 8)
        if (lead < leads && s0 + r < samples) tile[r][threadIdx.x] = frames[(s0 + r) * leads + lead];
    __syncthreads();
    int s = s0 + threadIdx.x;
    for (int r = threadIdx.y; r < 32; r += 8) {
        int l = blockIdx.x * 32 + r;
        if (l < leads && s < samples) out[l * samples + s] = tile[threadIdx.x][r];
    }
}

__global__ void fir_rows(const int* __restrict__ in, int samples, int taps, int* __restrict__ out) {
    extern __shared__ int win[];
    const int* row = in + blockIdx.y * samples;
    int start = blockIdx.x * blockDim.x, half = taps / 2;
    for (int i = threadIdx.x; i < int(blockDim.x) + taps - 1; i += blockDim.x) {
        int s = start + i - half;
        win[i] = s >= 0 && s < samples ? row[s] : 0;
    }
    __syncthreads();
    int s = start + threadIdx.x;
    if (s >= samples) return;
    int acc = 0;
    for (int k = 0; k < taps; ++k) acc += c_taps[k] * win[threadIdx.x + k];
    out[blockIdx.y * samples + s] = acc >> 12;
}

// every thread adds its own window again
__global__ void window_sum(const int* __restrict__ in, int samples, int window, int* __restrict__ out) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= samples) return;
    const int* row = in + blockIdx.y * samples;
    int acc = 0;
    for (int k = s - window + 1; k <= s; ++k) acc += k >= 0 ? row[k] : 0;
    out[blockIdx.y * samples + s] = acc;
}

void upload_taps(const std::vector<int>& taps) {
    guard(cudaMemcpyToSymbol(c_taps, taps.data(), taps.size() * sizeof(int)), "taps");
}

void split_leads(const short* frames, int leads, int samples, int* out) {
    transpose_frames<<<tiles(leads, samples), dim3(32, 8)>>>(frames, leads, samples, out);
    guard(cudaGetLastError(), "split");
}

void band_pass(const int* in, int leads, int samples, int taps, int* out) {
    const int block = 192;
    fir_rows<<<dim3((samples + block - 1) / block, leads), block, (block + taps - 1) * sizeof(int)>>>(in, samples, taps,
                                                                                                    out);
    guard(cudaGetLastError(), "fir");
}

void energy(const int* in, int leads, int samples, int window, int* scratch, int* out) {
    int n = leads * samples;
    auto slope = [=] __device__(int i) {
        int s = i % samples;
        int a = s >= 2 ? in[i - 2] : 0, b = s >= 1 ? in[i - 1] : 0;
        int c = s + 1 < samples ? in[i + 1] : 0, d = s + 2 < samples ? in[i + 2] : 0;
        int v = (2 * d + c - b - 2 * a) >> 3;
        scratch[i] = (v * v) >> 4;
    };
    for_each_index<<<(n + 255) / 256, 256>>>(n, slope);
    window_sum<<<dim3((samples + 127) / 128, leads), 128>>>(scratch, samples, window, out);
    guard(cudaGetLastError(), "energy");
}

}  // namespace ecg
