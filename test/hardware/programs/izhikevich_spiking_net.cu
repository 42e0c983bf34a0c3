// Izhikevich spiking network: integrate, collect spikes, deliver through a CSR synapse list, trace-based plasticity.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CK(call)                                                                               \
    do {                                                                                       \
        cudaError_t err_ = (call);                                                             \
        if (err_ != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err_)); \
            std::exit(2);                                                                      \
        }                                                                                      \
    } while (0)

namespace snn {

template <class T>
class DeviceArray {
public:
    explicit DeviceArray(size_t n) : n_(n) {
        CK(cudaMalloc(&p_, n * sizeof(T)));
        CK(cudaMemset(p_, 0, n * sizeof(T)));
    }
    explicit DeviceArray(const std::vector<T>& h) : DeviceArray(h.size()) {
        CK(cudaMemcpy(p_, h.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;
    ~DeviceArray() { cudaFree(p_); }
    T* data() { return p_; }
    std::vector<T> host() const {
        std::vector<T> h(n_);
        CK(cudaMemcpy(h.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
        return h;
    }

private:
    T* p_ = nullptr;
    size_t n_ = 0;
};

struct Neuron {
    float v, u;
    float a, b, c, d;
    float current;
    int fired;
};

__host__ __device__ inline uint32_t mix(uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    x ^= x >> 16;
    return x;
}

__host__ __device__ inline bool izhikevich(float& v, float& u, float a, float b, float c, float d, float I) {
    bool spike = false;
    for (int half = 0; half < 2; ++half)
        v += 0.5f * (0.04f * v * v + 5.0f * v + 140.0f - u + I);
    u += a * (b * v - u);
    if (v >= 30.0f) {
        v = c;
        u += d;
        spike = true;
    }
    return spike;
}

__global__ void noise_current(float* I, int n, uint32_t seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        I[i] = (mix(i ^ seed) >> 8) * (18.0f / 16777216.0f);
}

__global__ void integrate_soa(float* __restrict__ v, float* __restrict__ u, const float* __restrict__ abcd, const float* __restrict__ I,
                              uint8_t* __restrict__ fired, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float vi = v[i];
    float ui = u[i];
    bool s = izhikevich(vi, ui, abcd[i], abcd[n + i], abcd[2 * n + i], abcd[3 * n + i], I[i]);
    v[i] = vi;
    u[i] = ui;
    fired[i] = s;
}

__global__ void integrate_aos(Neuron* pop, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Neuron& me = pop[i];
    float v = me.v;
    float u = me.u;
    bool s = izhikevich(v, u, me.a, me.b, me.c, me.d, me.current);
    me.v = v;
    me.u = u;
    me.fired = s ? 1 : 0;
}

__global__ void collect_spikes(const uint8_t* fired, int n, int* list, int* count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool f = i < n && fired[i] != 0;
    unsigned ballot = __ballot_sync(0xffffffffu, f);
    int lane = threadIdx.x & 31;
    int base = 0;
    if (lane == 0 && ballot)
        base = atomicAdd(count, __popc(ballot));
    base = __shfl_sync(0xffffffffu, base, 0);
    if (f)
        list[base + __popc(ballot & ((1u << lane) - 1))] = i;
}

// the first version: every spike walks its own synapses
__global__ void deliver_per_thread(const int* list, const int* count, const int* row, const int* col, const int* w, int* input) {
    int total = *count;
    for (int s = blockIdx.x * blockDim.x + threadIdx.x; s < total; s += gridDim.x * blockDim.x) {
        int src = list[s];
        for (int k = row[src]; k < row[src + 1]; ++k)
            atomicAdd(&input[col[k]], w[k]);
    }
}

__global__ void deliver_per_warp(const int* list, const int* count, const int* row, const int* col, const int* w, int* input) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int nwarps = (gridDim.x * blockDim.x) >> 5;
    int lane = threadIdx.x & 31;
    int total = *count;
    for (int s = warp; s < total; s += nwarps) {
        int src = list[s];
        int end = row[src + 1];
        for (int k = row[src] + lane; k < end; k += 32)
            atomicAdd(&input[col[k]], w[k]);
    }
}

// weight change: potentiate if the target has just fired, depress otherwise
__global__ void plasticity(const int* row, const int* col, int* w, const uint8_t* fired, int n) {
    int src = blockIdx.x;
    if (src >= n || !fired[src])
        return;
    for (int k = row[src] + threadIdx.x; k < row[src + 1]; k += blockDim.x) {
        int nw = w[k] + (fired[col[k]] ? 5 : -1);
        w[k] = min(max(nw, -64), 64);
    }
}

__global__ void voltage_histogram(const float* v, int n, int* bins) {
    __shared__ int local[128];
    if (threadIdx.x < 128)
        local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int b = (int)(v[i] + 100.0f);
        b = b < 0 ? 0 : (b > 127 ? 127 : b);
        atomicAdd(&local[b], 1);
    }
    __syncthreads();
    if (threadIdx.x < 128 && local[threadIdx.x])
        atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

}  // namespace snn

int main() {
    using namespace snn;
    const int n = 40000;
    std::vector<int> row(n + 1, 0);
    std::vector<int> col;
    std::vector<int> w;
    for (int i = 0; i < n; ++i) {
        int deg = 20 + mix(i * 7 + 1) % 60;
        for (int k = 0; k < deg; ++k) {
            col.push_back(mix(i * 131 + k * 977 + 5) % n);
            w.push_back((int)(mix(i + k * 40009) % 41) - 15);
        }
        row[i + 1] = (int)col.size();
    }
    std::vector<float> v(n), u(n), abcd(4 * n);
    std::vector<Neuron> pop(n);
    std::vector<float> I(n);
    for (int i = 0; i < n; ++i) {
        float r = (mix(i + 99) >> 8) / 16777216.0f;
        abcd[i] = i % 5 ? 0.02f : 0.02f + 0.08f * r;
        abcd[n + i] = i % 5 ? 0.2f : 0.25f - 0.05f * r;
        abcd[2 * n + i] = i % 5 ? -65.0f + 15.0f * r * r : -65.0f;
        abcd[3 * n + i] = i % 5 ? 8.0f - 6.0f * r * r : 2.0f;
        v[i] = -75.0f + 50.0f * ((mix(i + 5000) >> 8) / 16777216.0f);
        u[i] = 0.2f * v[i];
        I[i] = (mix(i ^ 0xabcdu) >> 8) * (18.0f / 16777216.0f);
        pop[i] = {v[i], u[i], abcd[i], abcd[n + i], abcd[2 * n + i], abcd[3 * n + i], I[i], 0};
    }

    DeviceArray<float> dv(v), du(u), dabcd(abcd), dI(n);
    DeviceArray<Neuron> dpop(pop);
    DeviceArray<uint8_t> dfired(n);
    DeviceArray<int> dlist(n), dcount(1), drow(row), dcol(col), dw(w), din1(n), din2(n), dbins(128);

    const int T = 256;
    const int B = (n + T - 1) / T;
    noise_current<<<B, T>>>(dI.data(), n, 0xabcdu);
    integrate_soa<<<B, T>>>(dv.data(), du.data(), dabcd.data(), dI.data(), dfired.data(), n);
    integrate_aos<<<B, T>>>(dpop.data(), n);
    collect_spikes<<<B, T>>>(dfired.data(), n, dlist.data(), dcount.data());
    deliver_per_thread<<<B, T>>>(dlist.data(), dcount.data(), drow.data(), dcol.data(), dw.data(), din1.data());
    deliver_per_warp<<<264, T>>>(dlist.data(), dcount.data(), drow.data(), dcol.data(), dw.data(), din2.data());
    plasticity<<<n, 64>>>(drow.data(), dcol.data(), dw.data(), dfired.data(), n);
    voltage_histogram<<<64, T>>>(dv.data(), n, dbins.data());
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());

    int bad = 0;
    auto gv = dv.host();
    auto gf = dfired.host();
    auto gp = dpop.host();
    int spikes = 0;
    for (int i = 0; i < n; ++i) {
        float hv = v[i];
        float hu = u[i];
        bool s = izhikevich(hv, hu, abcd[i], abcd[n + i], abcd[2 * n + i], abcd[3 * n + i], I[i]);
        spikes += gf[i];
        if (s != (gf[i] != 0) || std::fabs(hv - gv[i]) > 1e-2f + 1e-3f * std::fabs(hv))
            ++bad;
        if (gp[i].fired != gf[i])
            ++bad;
    }
    if (bad > 6)
        std::printf("integration: %d differ\n", bad);
    bad = bad > 6 ? bad : 0;
    if (dcount.host()[0] != spikes)
        ++bad;
    std::vector<int> input(n, 0);
    std::vector<int> neww = w;
    for (int i = 0; i < n; ++i) {
        if (!gf[i])
            continue;
        for (int k = row[i]; k < row[i + 1]; ++k) {
            input[col[k]] += w[k];
            int x = w[k] + (gf[col[k]] ? 5 : -1);
            neww[k] = x < -64 ? -64 : (x > 64 ? 64 : x);
        }
    }
    if (input != din1.host() || input != din2.host() || neww != dw.host()) {
        std::printf("delivery or plasticity differs\n");
        ++bad;
    }
    std::vector<int> bins(128, 0);
    for (int i = 0; i < n; ++i) {
        int b = (int)(gv[i] + 100.0f);
        bins[b < 0 ? 0 : (b > 127 ? 127 : b)]++;
    }
    if (bins != dbins.host())
        ++bad;
    std::printf("%d spikes of %d neurons, %zu synapses\n", spikes, n, col.size());
    std::puts(bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
