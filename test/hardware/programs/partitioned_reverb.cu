// Uniformly partitioned convolution reverb (overlap-save) for several stereo voices.
//
// Left and right travel through the FFT as real and imaginary part; the impulse response is mono,
// so a complex product keeps the channels apart. Audio arrives in blocks of kHop frames, as from a
// sound card callback, through pinned memory and a stream.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

static void throwIf(cudaError_t status, const char* where)
{
    if (status != cudaSuccess)
    {
        std::printf("%s: %s\nFAIL\n", where, cudaGetErrorString(status));
        std::exit(1);
    }
}

constexpr int kHop = 256;
constexpr int kFft = 2 * kHop;
constexpr int kLog2Fft = 9;
constexpr int kThreads = kFft / 2;

__constant__ float2 gTwiddle[kFft / 2];      // exp(-2 pi i k / kFft)

struct Settings
{
    float wet;
    float dry;
    float drive;
};
__constant__ Settings gSettings;

__device__ __forceinline__ float2 cmul(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

// Stockham autosort, one butterfly per thread and stage, two buffers in shared memory.
template <bool Inverse>
__device__ __forceinline__ float2* fftShared(float2* a, float2* b)
{
    const int t = threadIdx.x;
#pragma unroll
    for (int s = 0; s < kLog2Fft; ++s)
    {
        const int half = 1 << s;                      // transforms of length `half` are complete
        const int k = t & (half - 1);
        const int j = t >> s;
        float2 w = gTwiddle[k << (kLog2Fft - 1 - s)]; // lanes want different words: serialised
        if (Inverse) w.y = -w.y;
        const float2 u = a[t];
        const float2 v = cmul(a[t + kThreads], w);
        b[2 * half * j + k] = make_float2(u.x + v.x, u.y + v.y);
        b[2 * half * j + k + half] = make_float2(u.x - v.x, u.y - v.y);
        __syncthreads();
        float2* tmp = a; a = b; b = tmp;
    }
    return a;
}

// Impulse response: exponentially decaying noise with a few early reflections
__host__ __device__ inline float irSample(int n, int length)
{
    unsigned h = (unsigned)n * 2654435761u;
    h ^= h >> 13; h *= 0x5bd1e995u; h ^= h >> 15;
    const float noise = (float)(h & 0xffff) / 32768.0f - 1.0f;
    float v = 0.05f * noise * expf(-5.0f * n / length);
    if (n == 0) v += 1.0f;
    if (n == 441 || n == 797 || n == 1223) v += 0.4f;
    return v;
}

__global__ void synthesizeIr(float* ir, int length, int padded)
{
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n < padded) ir[n] = n < length ? irSample(n, length) : 0.0f;
}

// One block per partition. Spectra are stored [partition][bin].
__global__ void __launch_bounds__(kThreads) transformIr(const float* __restrict__ ir, float2* __restrict__ spectra)
{
    __shared__ float2 bufA[kFft], bufB[kFft];
    const int p = blockIdx.x, t = threadIdx.x;
    bufA[t] = make_float2(ir[p * kHop + t], 0.0f);
    bufA[t + kThreads] = make_float2(0.0f, 0.0f);
    __syncthreads();
    const float2* r = fftShared<false>(bufA, bufB);
    spectra[p * kFft + t] = r[t];
    spectra[p * kFft + t + kThreads] = r[t + kThreads];
}

// Interleaved stereo in, previous block kept in `history`. One block per voice.
__global__ void __launch_bounds__(kThreads)
analyseBlock(const float* __restrict__ input, float2* __restrict__ history, float2* __restrict__ delayLine, int partitions, int slot)
{
    __shared__ float2 bufA[kFft], bufB[kFft];
    const int voice = blockIdx.x, t = threadIdx.x;
    float2* h = history + voice * kHop;
    const float* in = input + voice * 2 * kHop;
    const float2 now = make_float2(in[2 * t], in[2 * t + 1]);   // two strided loads instead of one float2
    bufA[t] = h[t];
    bufA[t + kHop] = now;
    h[t] = now;
    __syncthreads();
    const float2* r = fftShared<false>(bufA, bufB);
    float2* out = delayLine + ((size_t)voice * partitions + slot) * kFft;
    out[t] = r[t];
    out[t + kThreads] = r[t + kThreads];
}

// Frequency domain delay line: thread per bin, loops over all partitions
__global__ void accumulateBins(const float2* __restrict__ delayLine, const float2* __restrict__ spectra, float2* __restrict__ acc,
                               int partitions, int slot)
{
    const int bin = blockIdx.x * blockDim.x + threadIdx.x;
    const int voice = blockIdx.y;
    const float2* line = delayLine + (size_t)voice * partitions * kFft;
    float2 sum = make_float2(0.0f, 0.0f);
#pragma unroll 4
    for (int p = 0; p < partitions; ++p)
    {
        int s = slot - p;
        if (s < 0) s += partitions;
        const float2 m = cmul(line[s * kFft + bin], __ldg(&spectra[p * kFft + bin]));
        sum.x += m.x;
        sum.y += m.y;
    }
    acc[voice * kFft + bin] = sum;
}

// The same with more parallelism: 32 bins per block, 8 warps share the partitions, float4 = two bins per lane
__global__ void accumulateSplit(const float4* __restrict__ delayLine, const float4* __restrict__ spectra, float4* __restrict__ acc,
                                int partitions, int slot)
{
    __shared__ float4 part[8][32];
    const int pair = blockIdx.x * 32 + threadIdx.x;            // pair of bins
    const int voice = blockIdx.y, row = kFft / 2;
    const float4* line = delayLine + (size_t)voice * partitions * row;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int p = threadIdx.y; p < partitions; p += 8)
    {
        const int s = (slot - p + partitions) % partitions;
        const float4 x = line[s * row + pair], y = spectra[p * row + pair];
        sum.x += x.x * y.x - x.y * y.y;
        sum.y += x.x * y.y + x.y * y.x;
        sum.z += x.z * y.z - x.w * y.w;
        sum.w += x.z * y.w + x.w * y.z;
    }
    part[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0)
    {
        for (int w = 1; w < 8; ++w)
        {
            const float4 o = part[w][threadIdx.x];
            sum.x += o.x; sum.y += o.y; sum.z += o.z; sum.w += o.w;
        }
        acc[voice * row + pair] = sum;
    }
}

// Back to time, mix with the dry signal, soft clip. Output planar: left plane, right plane.
__global__ void __launch_bounds__(kThreads)
synthesizeBlock(const float2* __restrict__ acc, const float* __restrict__ input, float* __restrict__ output, int planeStride)
{
    __shared__ float2 bufA[kFft], bufB[kFft];
    const int voice = blockIdx.x, t = threadIdx.x;
    bufA[t] = acc[voice * kFft + t];
    bufA[t + kThreads] = acc[voice * kFft + t + kThreads];
    __syncthreads();
    const float2* r = fftShared<true>(bufA, bufB);
    const float2 wet = r[t + kHop];                            // second half is valid
    const float* in = input + voice * 2 * kHop;
    const float g = gSettings.wet / kFft;
    const float l = g * wet.x + gSettings.dry * in[2 * t];
    const float q = g * wet.y + gSettings.dry * in[2 * t + 1];
    float* o = output + (size_t)voice * 2 * planeStride;
    o[t] = tanhf(gSettings.drive * l);
    o[planeStride + t] = tanhf(gSettings.drive * q);
}

// Loudness per voice and channel over the whole take; one warp each
__global__ void meter(const float* __restrict__ output, int frames, int planeStride, float* __restrict__ rms)
{
    const int ch = blockIdx.x, lane = threadIdx.x;
    float s = 0.0f;
    for (int n = lane; n < frames; n += 32)
    {
        const float v = output[(size_t)ch * planeStride + n];
        s += v * v;
    }
    for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(0xffffffffu, s, d);
    if (lane == 0) rms[ch] = sqrtf(s / frames);
}

class ConvolutionReverb
{
public:
    ConvolutionReverb(int voices, int irLength, int maxFrames)
        : m_voices(voices), m_partitions((irLength + kHop - 1) / kHop), m_planeStride(maxFrames + 13)
    {
        std::vector<float2> tw(kFft / 2);
        for (int k = 0; k < kFft / 2; ++k)
            tw[k] = make_float2((float)std::cos(2 * M_PI * k / kFft), (float)-std::sin(2 * M_PI * k / kFft));
        throwIf(cudaMemcpyToSymbol(gTwiddle, tw.data(), tw.size() * sizeof(float2)), "twiddles");
        throwIf(cudaStreamCreate(&m_stream), "stream");
        throwIf(cudaMalloc((void**)&m_spectra, spectraCount() * sizeof(float2)), "malloc");
        throwIf(cudaMalloc((void**)&m_delayLine, spectraCount() * voices * sizeof(float2)), "malloc");
        throwIf(cudaMalloc((void**)&m_acc, voices * kFft * sizeof(float2)), "malloc");
        throwIf(cudaMalloc((void**)&m_history, voices * kHop * sizeof(float2)), "malloc");
        throwIf(cudaMalloc((void**)&m_input, voices * 2 * kHop * sizeof(float)), "malloc");
        throwIf(cudaMalloc((void**)&m_output, (size_t)voices * 2 * m_planeStride * sizeof(float)), "malloc");
        throwIf(cudaMalloc((void**)&m_rms, voices * 2 * sizeof(float)), "malloc");
        throwIf(cudaHostAlloc((void**)&m_pinned, voices * 2 * kHop * sizeof(float), cudaHostAllocDefault), "pinned");
        throwIf(cudaMemsetAsync(m_delayLine, 0, spectraCount() * voices * sizeof(float2), m_stream), "memset");
        throwIf(cudaMemsetAsync(m_history, 0, voices * kHop * sizeof(float2), m_stream), "memset");

        float* ir;
        throwIf(cudaMalloc((void**)&ir, m_partitions * kHop * sizeof(float)), "malloc");
        synthesizeIr<<<m_partitions, kHop, 0, m_stream>>>(ir, irLength, m_partitions * kHop);
        transformIr<<<m_partitions, kThreads, 0, m_stream>>>(ir, m_spectra);
        throwIf(cudaStreamSynchronize(m_stream), "prepare");
        cudaFree(ir);
    }

    ~ConvolutionReverb()
    {
        for (void* p : {(void*)m_spectra, (void*)m_delayLine, (void*)m_acc, (void*)m_history, (void*)m_input, (void*)m_output, (void*)m_rms})
            cudaFree(p);
        cudaFreeHost(m_pinned);
        cudaStreamDestroy(m_stream);
    }

    float* inputBuffer() { return m_pinned; }

    void process()
    {
        const int slot = m_block % m_partitions;
        throwIf(cudaMemcpyAsync(m_input, m_pinned, m_voices * 2 * kHop * sizeof(float), cudaMemcpyHostToDevice, m_stream), "H2D");
        analyseBlock<<<m_voices, kThreads, 0, m_stream>>>(m_input, m_history, m_delayLine, m_partitions, slot);
        if (m_block % 2)
            accumulateSplit<<<dim3(kFft / 64, m_voices), dim3(32, 8), 0, m_stream>>>((const float4*)m_delayLine, (const float4*)m_spectra,
                                                                                     (float4*)m_acc, m_partitions, slot);
        else
            accumulateBins<<<dim3(kFft / 128, m_voices), 128, 0, m_stream>>>(m_delayLine, m_spectra, m_acc, m_partitions, slot);
        synthesizeBlock<<<m_voices, kThreads, 0, m_stream>>>(m_acc, m_input, m_output + m_block * kHop, m_planeStride);
        throwIf(cudaGetLastError(), "launch");
        throwIf(cudaStreamSynchronize(m_stream), "process");    // the callback owns the pinned buffer again
        ++m_block;
    }

    std::vector<float> measure()
    {
        meter<<<2 * m_voices, 32, 0, m_stream>>>(m_output, m_block * kHop, m_planeStride, m_rms);
        std::vector<float> r(2 * m_voices);
        throwIf(cudaMemcpyAsync(r.data(), m_rms, r.size() * sizeof(float), cudaMemcpyDeviceToHost, m_stream), "D2H");
        throwIf(cudaStreamSynchronize(m_stream), "meter");
        return r;
    }

    std::vector<float> channel(int voice, int side) const
    {
        std::vector<float> v(m_block * kHop);
        throwIf(cudaMemcpy(v.data(), m_output + ((size_t)voice * 2 + side) * m_planeStride, v.size() * sizeof(float), cudaMemcpyDeviceToHost), "D2H");
        return v;
    }

    int partitions() const { return m_partitions; }

private:
    size_t spectraCount() const { return (size_t)m_partitions * kFft; }

    int m_voices, m_partitions, m_planeStride, m_block = 0;
    cudaStream_t m_stream = nullptr;
    float2 *m_spectra = nullptr, *m_delayLine = nullptr, *m_acc = nullptr, *m_history = nullptr;
    float *m_input = nullptr, *m_output = nullptr, *m_rms = nullptr, *m_pinned = nullptr;
};

static float testSignal(int voice, int side, int n)
{
    const double f = 110.0 * (voice + 1) * (side ? 1.5 : 1.0);
    return (float)(0.3 * std::sin(2 * M_PI * f * n / 44100.0) * ((n / 300) % 2 ? 0.2 : 1.0));
}

int main()
{
    const int voices = 5, irLength = 7001, blocks = 9;
    const Settings settings = {0.5f, 0.7f, 1.2f};
    throwIf(cudaMemcpyToSymbol(gSettings, &settings, sizeof(settings)), "settings");

    auto reverb = std::make_unique<ConvolutionReverb>(voices, irLength, blocks * kHop);
    for (int b = 0; b < blocks; ++b)
    {
        float* in = reverb->inputBuffer();
        for (int v = 0; v < voices; ++v)
            for (int n = 0; n < kHop; ++n)
                for (int s = 0; s < 2; ++s) in[(v * kHop + n) * 2 + s] = testSignal(v, s, b * kHop + n);
        reverb->process();
    }
    const std::vector<float> rms = reverb->measure();

    std::vector<float> ir(irLength);
    for (int n = 0; n < irLength; ++n) ir[n] = irSample(n, irLength);
    const int frames = blocks * kHop;
    double worst = 0;
    for (int v = 0; v < voices; ++v)
        for (int s = 0; s < 2; ++s)
        {
            std::vector<float> x(frames);
            for (int n = 0; n < frames; ++n) x[n] = testSignal(v, s, n);
            const std::vector<float> y = reverb->channel(v, s);
            double energy = 0;
            for (int n = 0; n < frames; ++n)
            {
                double acc = 0;
                for (int k = std::min(n, irLength - 1); k >= 0; --k) acc += (double)ir[k] * x[n - k];
                const double ref = std::tanh(settings.drive * (settings.wet * acc + settings.dry * x[n]));
                worst = std::max(worst, std::fabs(ref - y[n]));
                energy += ref * ref;
            }
            worst = std::max(worst, std::fabs(std::sqrt(energy / frames) - rms[2 * v + s]));
        }
    std::printf("%d voices, %d partitions, %d blocks: max error %.2e, level %.3f\n", voices, reverb->partitions(), blocks, worst, rms[0]);
    reverb.reset();
    const bool ok = worst < 2e-3;
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
