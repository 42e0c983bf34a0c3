// Host-side helpers that about half of the programs share; the others bring their own.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_OK(call)                                                                    \
    do {                                                                                 \
        cudaError_t cudaOkStatus = (call);                                               \
        if (cudaOkStatus != cudaSuccess) {                                               \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                      \
                         cudaGetErrorString(cudaOkStatus));                              \
            std::exit(2);                                                                \
        }                                                                                \
    } while (0)

template <typename T>
T *toDevice(const std::vector<T> &host)
{
    T *device = nullptr;
    CUDA_OK(cudaMalloc(&device, host.size() * sizeof(T)));
    CUDA_OK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

template <typename T>
T *deviceZeros(size_t count)
{
    T *device = nullptr;
    CUDA_OK(cudaMalloc(&device, count * sizeof(T)));
    CUDA_OK(cudaMemset(device, 0, count * sizeof(T)));
    return device;
}

template <typename T>
std::vector<T> toHost(const T *device, size_t count)
{
    CUDA_OK(cudaGetLastError());
    std::vector<T> host(count);
    CUDA_OK(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
}

// Prints the verdict and returns it.
inline bool report(const char *name, bool ok)
{
    std::printf("%-28s %s\n", name, ok ? "PASS" : "FAIL");
    return ok;
}

// |got - want| within tolerance * (1 + |want|) everywhere; NaN never passes.
template <typename T>
bool allNear(const std::vector<T> &got, const std::vector<T> &want, double tolerance)
{
    if (got.size() != want.size())
        return false;
    for (size_t i = 0; i < got.size(); ++i) {
        double g = static_cast<double>(got[i]), w = static_cast<double>(want[i]);
        if (!(std::fabs(g - w) <= tolerance * (1.0 + std::fabs(w)))) {
            std::printf("  first difference at %zu: %g, expected %g\n", i, g, w);
            return false;
        }
    }
    return true;
}

// A small generator: the same numbers on every machine.
struct Random {
    unsigned int state;
    explicit Random(unsigned int seed) : state(seed * 747796405u + 2891336453u) {}
    unsigned int bits()
    {
        state = state * 1664525u + 1013904223u;
        return state >> 8;
    }
    int below(int n) { return static_cast<int>(bits() % static_cast<unsigned int>(n)); }
    float uniform() { return static_cast<float>(bits() & 0xffff) / 65536.0f; }
};

inline std::vector<float> randomFloats(size_t count, unsigned int seed)
{
    Random random(seed);
    std::vector<float> values(count);
    for (float &v : values)
        v = random.uniform() - 0.5f;
    return values;
}
