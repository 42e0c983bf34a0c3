// k-means colour quantisation of an RGBA image; fixed point accumulation so results are exact.
#include <cuda_runtime.h>
#include <cstdio>
#include <vector>
#include <cstdint>
#include <cstdlib>

template <class T> struct DevVec {       // tiny RAII helper
    T* p = nullptr; size_t n;
    explicit DevVec(size_t n_) : n(n_) { cudaMalloc(&p, n * sizeof(T)); cudaMemset(p, 0, n * sizeof(T)); }
    ~DevVec() { cudaFree(p); }
    void from(const std::vector<T>& h) { cudaMemcpy(p, h.data(), n * sizeof(T), cudaMemcpyHostToDevice); }
    std::vector<T> host() const { std::vector<T> h(n); cudaMemcpy(h.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost); return h; }
    operator T*() const { return p; }
};

constexpr int KC = 12;
struct Accum { unsigned long long r, g, b, n; };
struct Centre { int r, g, b, pad; };   // 24.8 fixed point

__host__ __device__ inline int nearest(uchar4 c, const Centre* k) {
    int best = 0; long long bd = 1ll << 60;
    for (int i = 0; i < KC; ++i) {
        long long dr = (c.x << 8) - k[i].r, dg = (c.y << 8) - k[i].g, db = (c.z << 8) - k[i].b;
        long long d = 2 * dr * dr + 4 * dg * dg + 3 * db * db;
        if (d < bd) { bd = d; best = i; }
    }
    return best;
}

__global__ void assign_global_atomics(const uchar4* px, int n, const Centre* k, uint8_t* label, Accum* acc) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uchar4 c = px[i];
    int b = nearest(c, k);
    label[i] = b;
    atomicAdd(&acc[b].r, (unsigned long long)c.x); atomicAdd(&acc[b].g, (unsigned long long)c.y);
    atomicAdd(&acc[b].b, (unsigned long long)c.z); atomicAdd(&acc[b].n, 1ull);
}

// shared copies per warp; the centres are staged too
__global__ void assign_shared(const uchar4* __restrict__ px, int n, const Centre* __restrict__ k, uint8_t* __restrict__ label, Accum* acc) {
    extern __shared__ unsigned dyn[];
    Centre* sk = (Centre*)dyn;
    unsigned* bins = dyn + KC * 4;                      // [warps][KC][4]
    int warps = blockDim.x >> 5, w = threadIdx.x >> 5;
    for (int i = threadIdx.x; i < KC; i += blockDim.x) sk[i] = k[i];
    for (int i = threadIdx.x; i < warps * KC * 4; i += blockDim.x) bins[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uchar4 c = px[i];
        int b = nearest(c, sk);
        label[i] = b;
        unsigned* q = bins + (w * KC + b) * 4;
        atomicAdd(q, (unsigned)c.x); atomicAdd(q + 1, (unsigned)c.y); atomicAdd(q + 2, (unsigned)c.z); atomicAdd(q + 3, 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < KC * 4; i += blockDim.x) {
        unsigned long long s = 0;
        for (int u = 0; u < warps; ++u) s += bins[u * KC * 4 + i];
        if (s) atomicAdd((unsigned long long*)acc + i, s);
    }
}

__global__ void update_centres(Accum* acc, Centre* k) {
    int i = threadIdx.x;
    if (i >= KC) return;
    Accum a = acc[i];
    if (a.n) { k[i].r = (int)((a.r << 8) / a.n); k[i].g = (int)((a.g << 8) / a.n); k[i].b = (int)((a.b << 8) / a.n); }
    acc[i] = Accum{0, 0, 0, 0};
}

__global__ void recolour(const uint8_t* label, const Centre* k, uchar4* out, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i >= n) return;
    uchar4 l = *(const uchar4*)(label + i);
    unsigned char v[4] = {l.x, l.y, l.z, l.w};
    for (int j = 0; j < 4; ++j) out[i + j] = make_uchar4(k[v[j]].r >> 8, k[v[j]].g >> 8, k[v[j]].b >> 8, 255);
}

int main() {
    const int w = 480, h = 270, n = w * h;
    std::vector<uchar4> img(n); std::vector<Centre> c0(KC);
    unsigned s = 1;
    for (int i = 0; i < n; ++i) {
        s = s * 1664525u + 1013904223u;
        int blob = (i / w / 90) * 3 + (i % w) / 160;
        img[i] = make_uchar4((blob * 53 + (s >> 28)) & 255, (blob * 97 + (s >> 27 & 15)) & 255, (i % w) / 2, 255);
    }
    for (int k = 0; k < KC; ++k) { uchar4 c = img[(size_t)k * n / KC + 77]; c0[k] = {c.x << 8, c.y << 8, c.z << 8, 0}; }
    DevVec<uchar4> px(n), out(n); DevVec<Centre> k(KC); DevVec<uint8_t> lab(n); DevVec<Accum> acc(KC);
    px.from(img); k.from(c0);
    for (int it = 0; it < 4; ++it) {
        if (it & 1) assign_global_atomics<<<(n + 255) / 256, 256>>>(px, n, k, lab, acc);
        else assign_shared<<<66, 224, KC * 16 + 7 * KC * 16>>>(px, n, k, lab, acc);
        update_centres<<<1, 32>>>(acc, k);
    }
    recolour<<<(n / 4 + 127) / 128, 128>>>(lab, k, out, n);
    std::vector<uint8_t> rl(n);
    for (int it = 0; it < 4; ++it) {
        Accum a[KC] = {};
        for (int i = 0; i < n; ++i) { int b = rl[i] = nearest(img[i], c0.data()); a[b].r += img[i].x; a[b].g += img[i].y; a[b].b += img[i].z; a[b].n++; }
        for (int q = 0; q < KC; ++q) if (a[q].n) { c0[q].r = (a[q].r << 8) / a[q].n; c0[q].g = (a[q].g << 8) / a[q].n; c0[q].b = (a[q].b << 8) / a[q].n; }
    }
    auto hl = lab.host(); auto hk = k.host(); auto ho = out.host();
    int bad = cudaGetLastError() != cudaSuccess;
    for (int i = 0; i < n; ++i) bad += hl[i] != rl[i] || ho[i].x != (c0[rl[i]].r >> 8) || ho[i].z != (c0[rl[i]].b >> 8);
    for (int q = 0; q < KC; ++q) bad += hk[q].r != c0[q].r || hk[q].g != c0[q].g || hk[q].b != c0[q].b;
    printf("bad %d\n%s\n", bad, bad ? "FAIL" : "PASS");
    return bad != 0;
}
