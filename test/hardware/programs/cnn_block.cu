// Pieces of a small CNN: depthwise 3x3 (activation functor), Winograd F(2x2,3x3) input transform,
// group norm + SiLU, global average pool, classifier with log-softmax.
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>
#include <cuda_runtime.h>

struct Shape {
    int n, c, h, w;
    __host__ __device__ int plane() const { return h * w; }
    __host__ __device__ int size() const { return n * c * h * w; }
};

struct HardSwish {
    __host__ __device__ float operator()(float x) const { return x * fminf(fmaxf(x + 3.f, 0.f), 6.f) * (1.f / 6.f); }
};

constexpr int MAXC = 64;
__constant__ float dwFilter[MAXC * 9];
__constant__ float dwBias[MAXC];

// grid (tiles, c, n), block 16x16 with an 18x18 halo tile
template <int TILE, class Act>
__global__ void depthwise3x3(const float* __restrict__ x, float* __restrict__ y, Shape s, Act act) {
    __shared__ float sm[(TILE + 2) * (TILE + 2)];
    const int tilesX = (s.w + TILE - 1) / TILE;
    const int ox = (blockIdx.x % tilesX) * TILE, oy = (blockIdx.x / tilesX) * TILE;
    const int c = blockIdx.y;
    const size_t plane = ((size_t)blockIdx.z * s.c + c) * s.plane();
    for (int i = threadIdx.y * TILE + threadIdx.x; i < (TILE + 2) * (TILE + 2); i += TILE * TILE) {
        const int iy = oy + i / (TILE + 2) - 1, ix = ox + i % (TILE + 2) - 1;
        sm[i] = (iy >= 0 && iy < s.h && ix >= 0 && ix < s.w) ? x[plane + iy * s.w + ix] : 0.f;
    }
    __syncthreads();
    const int px = ox + threadIdx.x, py = oy + threadIdx.y;
    if (px >= s.w || py >= s.h) return;
    float acc = dwBias[c];
#pragma unroll
    for (int dy = 0; dy < 3; ++dy)
#pragma unroll
        for (int dx = 0; dx < 3; ++dx)
            acc += dwFilter[c * 9 + dy * 3 + dx] * sm[(threadIdx.y + dy) * (TILE + 2) + threadIdx.x + dx];
    y[plane + py * s.w + px] = act(acc);
}

// V = B^T d B for every 4x4 patch (stride 2, pad 1); V is [16][c][n * tiles]
__global__ void winogradInput(const float* __restrict__ x, float* __restrict__ V, Shape s) {
    const int tw = s.w / 2, th = s.h / 2, tiles = tw * th * s.n;
    const int t = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y;
    if (t >= tiles) return;
    const int n = t / (tw * th), ty = t / tw % th, tx = t % tw;
    const float* src = x + ((size_t)n * s.c + c) * s.plane();
    float d[4][4], m[4][4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int iy = 2 * ty - 1 + i, ix = 2 * tx - 1 + j;
            d[i][j] = (iy >= 0 && iy < s.h && ix >= 0 && ix < s.w) ? src[iy * s.w + ix] : 0.f;
        }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        m[0][j] = d[0][j] - d[2][j];
        m[1][j] = d[1][j] + d[2][j];
        m[2][j] = d[2][j] - d[1][j];
        m[3][j] = d[1][j] - d[3][j];
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float v[4] = {m[i][0] - m[i][2], m[i][1] + m[i][2], m[i][2] - m[i][1], m[i][1] - m[i][3]};
#pragma unroll
        for (int j = 0; j < 4; ++j) V[((size_t)(i * 4 + j) * s.c + c) * tiles + t] = v[j];
    }
}

__device__ float2 blockSum2(float2 v) {
    __shared__ float2 part[32];
    for (int o = 16; o; o >>= 1) {
        v.x += __shfl_down_sync(~0u, v.x, o);
        v.y += __shfl_down_sync(~0u, v.y, o);
    }
    const int wid = threadIdx.x >> 5;
    if ((threadIdx.x & 31) == 0) part[wid] = v;
    __syncthreads();
    float2 t = make_float2(0.f, 0.f);
    for (int i = 0; i < (int)(blockDim.x >> 5); ++i) {
        t.x += part[i].x;
        t.y += part[i].y;
    }
    return t;
}

// block per (n, group); the group is contiguous in NCHW
__global__ void groupNormSilu(float4* x, const float* __restrict__ gamma, const float* __restrict__ beta,
                              Shape s, int groups) {
    const int cpg = s.c / groups, plane4 = s.plane() / 4, vecs = cpg * plane4;
    const int g = blockIdx.x % groups;
    float4* base = x + (size_t)blockIdx.x * vecs;
    float2 acc = make_float2(0.f, 0.f);
    for (int i = threadIdx.x; i < vecs; i += blockDim.x) {
        const float4 v = base[i];
        acc.x += v.x + v.y + v.z + v.w;
        acc.y += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    acc = blockSum2(acc);
    const float inv = 1.f / (vecs * 4), mean = acc.x * inv, rstd = rsqrtf(acc.y * inv - mean * mean + 1e-5f);
    for (int i = threadIdx.x; i < vecs; i += blockDim.x) {
        const int c = g * cpg + i / plane4;
        const float a = gamma[c] * rstd, b = beta[c] - mean * a;
        float4 v = base[i];
        float* e = &v.x;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float z = e[k] * a + b;
            e[k] = z / (1.f + __expf(-z));
        }
        base[i] = v;
    }
}

// block per image: warps pool channels, then threads compute logits, then log-softmax
__global__ void poolClassify(const float* __restrict__ x, const float* __restrict__ W, float* __restrict__ logp,
                             Shape s, int classes) {
    extern __shared__ float dyn[];
    float* pooled = dyn;
    float* logits = dyn + s.c;
    const int lane = threadIdx.x & 31, wid = threadIdx.x >> 5, nw = blockDim.x >> 5;
    for (int c = wid; c < s.c; c += nw) {
        const float* p = x + ((size_t)blockIdx.x * s.c + c) * s.plane();
        float a = 0.f;
        for (int i = lane; i < s.plane(); i += 32) a += p[i];
        for (int o = 16; o; o >>= 1) a += __shfl_xor_sync(~0u, a, o);
        if (lane == 0) pooled[c] = a / s.plane();
    }
    __syncthreads();
    for (int k = threadIdx.x; k < classes; k += blockDim.x) {
        float a = 0.f;
        for (int c = 0; c < s.c; ++c) a += W[k * s.c + c] * pooled[c];
        logits[k] = a;
    }
    __syncthreads();
    float m = -FLT_MAX, z = 0.f;
    for (int k = 0; k < classes; ++k) m = fmaxf(m, logits[k]);
    for (int k = 0; k < classes; ++k) z += expf(logits[k] - m);
    const float lse = m + logf(z);
    for (int k = threadIdx.x; k < classes; k += blockDim.x) logp[blockIdx.x * classes + k] = logits[k] - lse;
}

static bool fine = true;
static void must(cudaError_t e) { if (e != cudaSuccess) { printf("%s\n", cudaGetErrorString(e)); exit(1); } }
static float* gpuCopy(const std::vector<float>& v) {
    float* p;
    must(cudaMalloc(&p, v.size() * 4));
    must(cudaMemcpy(p, v.data(), v.size() * 4, cudaMemcpyHostToDevice));
    return p;
}
static void expect(const std::string& what, const float* dev, const std::vector<double>& want, double tol) {
    std::vector<float> got(want.size());
    must(cudaMemcpy(got.data(), dev, got.size() * 4, cudaMemcpyDeviceToHost));
    size_t bad = 0;
    for (size_t i = 0; i < got.size(); ++i) bad += !(std::fabs(got[i] - want[i]) <= tol * (1 + std::fabs(want[i])));
    if (bad) { printf("%s: %zu wrong\n", what.c_str(), bad); fine = false; }
}

int main() {
    const Shape s{8, 32, 56, 56};
    const int groups = 8, classes = 100;
    auto gen = [](size_t n, unsigned seed, float amp) {
        std::vector<float> v(n);
        for (size_t i = 0; i < n; ++i) { seed = seed * 69069u + 1u; v[i] = amp * ((int)(seed >> 10) % 2048 - 1024) / 1024.f; }
        return v;
    };
    const auto x = gen(s.size(), 1, 2.f), filt = gen(s.c * 9, 2, 0.5f), bias = gen(s.c, 3, 0.2f), gamma = gen(s.c, 4, 1.f),
               beta = gen(s.c, 5, 0.3f), W = gen((size_t)classes * s.c, 6, 1.f);
    const int tiles = s.n * (s.h / 2) * (s.w / 2);
    float *dx = gpuCopy(x), *dy = gpuCopy(x), *dV = gpuCopy(std::vector<float>((size_t)16 * s.c * tiles, 0.f)),
          *dg = gpuCopy(gamma), *db = gpuCopy(beta), *dW = gpuCopy(W), *dl = gpuCopy(std::vector<float>(s.n * classes));
    must(cudaMemcpyToSymbol(dwFilter, filt.data(), filt.size() * 4));
    must(cudaMemcpyToSymbol(dwBias, bias.data(), bias.size() * 4));

    std::vector<double> ref(s.size()), refV((size_t)16 * s.c * tiles), refL(s.n * classes);
    auto X = [&](int nc, int i, int j) { return (i >= 0 && j >= 0 && i < s.h && j < s.w) ? (double)x[(size_t)nc * s.plane() + i * s.w + j] : 0.0; };

    depthwise3x3<16><<<dim3(16, s.c, s.n), dim3(16, 16)>>>(dx, dy, s, HardSwish{});
    must(cudaDeviceSynchronize());
    for (int nc = 0; nc < s.n * s.c; ++nc)
        for (int i = 0; i < s.h; ++i)
            for (int j = 0; j < s.w; ++j) {
                double a = bias[nc % s.c];
                for (int k = 0; k < 9; ++k) a += filt[nc % s.c * 9 + k] * X(nc, i + k / 3 - 1, j + k % 3 - 1);
                ref[(size_t)nc * s.plane() + i * s.w + j] = a * std::fmin(std::fmax(a + 3, 0.0), 6.0) / 6.0;
            }
    expect("depthwise", dy, ref, 1e-4);

    winogradInput<<<dim3((tiles + 127) / 128, s.c), 128>>>(dx, dV, s);
    static const int B[4][4] = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}};
    for (int c = 0; c < s.c; ++c)
        for (int t = 0; t < tiles; ++t) {
            const int tw = s.w / 2, th = s.h / 2, nc = t / (tw * th) * s.c + c, ty = t / tw % th, tx = t % tw;
            double m[4][4] = {};
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                    for (int k = 0; k < 4; ++k) if (B[i][k]) m[i][j] += B[i][k] * X(nc, 2 * ty - 1 + k, 2 * tx - 1 + j);
            for (int q = 0; q < 16; ++q) {
                double v = 0;
                for (int k = 0; k < 4; ++k) v += m[q / 4][k] * B[q % 4][k];
                refV[((size_t)q * s.c + c) * tiles + t] = v;
            }
        }
    expect("winograd", dV, refV, 1e-4);

    groupNormSilu<<<s.n * groups, 256>>>(reinterpret_cast<float4*>(dy), dg, db, s, groups);
    const int len = s.c / groups * s.plane();
    for (int b = 0; b < s.n * groups; ++b) {
        double m = 0, q = 0;
        for (int i = 0; i < len; ++i) { const double v = ref[(size_t)b * len + i]; m += v; q += v * v; }
        m /= len;
        const double rs = 1 / std::sqrt(q / len - m * m + 1e-5);
        for (int i = 0; i < len; ++i) {
            const int c = b % groups * (s.c / groups) + i / s.plane();
            const double z = (ref[(size_t)b * len + i] - m) * rs * gamma[c] + beta[c];
            ref[(size_t)b * len + i] = z / (1 + std::exp(-z));
        }
    }
    expect("groupnorm", dy, ref, 1e-3);

    poolClassify<<<s.n, 256, (s.c + classes) * sizeof(float)>>>(dy, dW, dl, s, classes);
    must(cudaGetLastError());
    for (int n = 0; n < s.n; ++n) {
        std::vector<double> lg(classes, 0.0);
        double z = 0;
        for (int c = 0; c < s.c; ++c) {
            double p = 0;
            for (int i = 0; i < s.plane(); ++i) p += ref[((size_t)n * s.c + c) * s.plane() + i];
            for (int k = 0; k < classes; ++k) lg[k] += W[(size_t)k * s.c + c] * p / s.plane();
        }
        for (double v : lg) z += std::exp(v);
        for (int k = 0; k < classes; ++k) refL[n * classes + k] = lg[k] - std::log(z);
    }
    expect("logits", dl, refL, 1e-3);
    for (float* p : {dx, dy, dV, dg, db, dW, dl}) cudaFree(p);
    if (!fine) return 1;
    printf("OK\n");
    return 0;
}
