// Channel coding bench: batched polar SC decoding (warp per codeword) and an 8-state max-log-MAP pass.
#include <cuda_fp16.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

namespace coding {

constexpr int LOGN = 8;
constexpr int N = 1 << LOGN;
constexpr int KINFO = 96;
constexpr int BATCH = 2048;
constexpr int STATES = 8;
constexpr int TRELLIS = 128;

__constant__ unsigned char c_frozen[N];
__constant__ signed char c_next[STATES][2];
__constant__ signed char c_parity[STATES][2];

// x = u F^{(x) n}, one warp per word, bits held in shared memory
__global__ void polarEncode(const unsigned char* __restrict__ u, unsigned char* __restrict__ x)
{
    extern __shared__ unsigned char bits[];
    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const int word = blockIdx.x * (blockDim.x / 32) + warp;
    unsigned char* b = bits + warp * N;
    for (int i = lane; i < N; i += 32)
        b[i] = u[(size_t)word * N + i];
    __syncwarp();
    for (int half = 1; half < N; half <<= 1) {
        for (int i = lane; i < N / 2; i += 32) {
            int top = (i / half) * 2 * half + i % half;
            b[top] ^= b[top + half];
        }
        __syncwarp();
    }
    for (int i = lane; i < N; i += 32)
        x[(size_t)word * N + i] = b[i];
}

// bpsk and given noise to half precision LLRs, two values a thread
__global__ void modulate(const uchar2* x, const float2* noise, __half2* llr, float scale, int n2)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n2)
        return;
    uchar2 b = x[i];
    float2 nz = noise[i];
    float a = scale * (1.f - 2.f * b.x + nz.x);
    float c = scale * (1.f - 2.f * b.y + nz.y);
    llr[i] = __floats2half2_rn(a, c);
}

__device__ __forceinline__ float fmin_sum(float a, float b)
{
    float m = fminf(fabsf(a), fabsf(b));
    return (a < 0.f) != (b < 0.f) ? -m : m;
}

// iterative SC decoder, LLR tree and partial sums in shared memory
template <int WARPS>
__global__ void polarDecodeSC(const __half* __restrict__ llr, unsigned char* __restrict__ uhat)
{
    __shared__ float tree[WARPS][2 * N];
    __shared__ unsigned char part[WARPS][N];
    __shared__ unsigned char dec[WARPS][N];
    const int w = threadIdx.x >> 5;
    const int lane = threadIdx.x & 31;
    const int word = blockIdx.x * WARPS + w;
    float* t = tree[w];
    unsigned char* p = part[w];
    // level s (size 2^s) sits at offset 2^s; the channel is at offset N
    for (int i = lane; i < N; i += 32)
        t[N + i] = __half2float(llr[(size_t)word * N + i]);
    __syncwarp();
    for (int phi = 0; phi < N; ++phi) {
        int top = phi == 0 ? LOGN : __ffs(phi);
        for (int s = top; s >= 1; --s) {
            int half = 1 << (s - 1);
            bool g = phi != 0 && s == top;
            for (int i = lane; i < half; i += 32) {
                float a = t[2 * half + i];
                float b = t[2 * half + half + i];
                float v;
                if (g)
                    v = p[phi - half + i] ? b - a : b + a;
                else
                    v = fmin_sum(a, b);
                t[half + i] = v;
            }
            __syncwarp();
        }
        if (lane == 0) {
            unsigned char bit = c_frozen[phi] ? 0 : (t[1] < 0.f);
            dec[w][phi] = bit;
            p[phi] = bit;
        }
        __syncwarp();
        // fold finished sub-blocks of partial sums
        for (int half = 1; half < N && ((phi + 1) & (2 * half - 1)) == 0; half <<= 1) {
            int start = phi + 1 - 2 * half;
            for (int i = lane; i < half; i += 32)
                p[start + i] ^= p[start + half + i];
            __syncwarp();
        }
    }
    for (int i = lane; i < N; i += 32)
        uhat[(size_t)word * N + i] = dec[w][i];
}

__global__ void countErrors(const unsigned char* a, const unsigned char* b, unsigned* errs)
{
    const unsigned* pa = reinterpret_cast<const unsigned*>(a);
    const unsigned* pb = reinterpret_cast<const unsigned*>(b);
    unsigned e = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < BATCH * N / 4; i += gridDim.x * blockDim.x)
        e += __popc(pa[i] ^ pb[i]);
    e = __reduce_add_sync(~0u, e);
    if ((threadIdx.x & 31) == 0 && e)
        atomicAdd(errs, e);
}

// max-log forward recursion; thread = (block of trellis, state); alpha kept [step][word][state]
__global__ void forwardMaxLog(const float* __restrict__ sys, const float* __restrict__ par, float* __restrict__ alpha,
                              int words)
{
    __shared__ float st[2][32][STATES];
    const int s = threadIdx.x;
    const int lw = threadIdx.y;
    const int word = blockIdx.x * 32 + lw;
    st[0][lw][s] = s == 0 ? 0.f : -1e4f;
    st[1][lw][s] = -1e30f;
    __syncthreads();
    for (int k = 0; k < TRELLIS; ++k) {
        const int now = k & 1;
        // word-major input: neighbouring words are TRELLIS apart
        float ls = sys[(size_t)word * TRELLIS + k];
        float lp = par[(size_t)word * TRELLIS + k];
        float best = -1e30f;
        for (int q = 0; q < STATES; ++q) {
            for (int u = 0; u < 2; ++u) {
                if (c_next[q][u] == s) {
                    float gam = 0.5f * ((u ? -ls : ls) + (c_parity[q][u] ? -lp : lp));
                    best = fmaxf(best, st[now][lw][q] + gam);
                }
            }
        }
        __syncthreads();
        st[1 - now][lw][s] = best;
        alpha[((size_t)k * words + word) * STATES + s] = best;
        __syncthreads();
    }
}

template <class T>
T* device(size_t n)
{
    T* p;
    if (cudaMalloc(&p, n * sizeof(T)) != cudaSuccess) {
        std::puts("cudaMalloc failed");
        std::exit(1);
    }
    return p;
}

}  // namespace coding

int main()
{
    using namespace coding;
    std::mt19937 rng(555);
    std::normal_distribution<float> gauss(0.f, 0.7f);

    // Bhattacharyya construction
    std::vector<double> z(1, 0.45);
    for (int l = 0; l < LOGN; ++l) {
        std::vector<double> nz(z.size() * 2);
        for (size_t i = 0; i < z.size(); ++i) {
            nz[2 * i] = 2 * z[i] - z[i] * z[i];
            nz[2 * i + 1] = z[i] * z[i];
        }
        z.swap(nz);
    }
    std::vector<int> order(N);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return z[a] < z[b]; });
    std::vector<unsigned char> frozen(N, 1);
    for (int i = 0; i < KINFO; ++i)
        frozen[order[i]] = 0;
    cudaMemcpyToSymbol(c_frozen, frozen.data(), N);
    signed char nxt[STATES][2];
    signed char par[STATES][2];
    for (int s = 0; s < STATES; ++s)
        for (int u = 0; u < 2; ++u) {
            int s0 = s & 1;
            int s1 = (s >> 1) & 1;
            int s2 = (s >> 2) & 1;
            int fb = u ^ s1 ^ s2;
            par[s][u] = (signed char)(fb ^ s0 ^ s2);
            nxt[s][u] = (signed char)(((s << 1) & 7) | fb);
        }
    cudaMemcpyToSymbol(c_next, nxt, sizeof(nxt));
    cudaMemcpyToSymbol(c_parity, par, sizeof(par));

    const size_t total = (size_t)BATCH * N;
    std::vector<unsigned char> u(total, 0);
    std::vector<float> noise(total);
    for (size_t i = 0; i < total; ++i) {
        if (!frozen[i % N])
            u[i] = rng() & 1;
        noise[i] = gauss(rng);
    }
    const int words = 512;
    std::vector<float> sys((size_t)words * TRELLIS);
    std::vector<float> pr(sys.size());
    for (size_t i = 0; i < sys.size(); ++i) {
        sys[i] = gauss(rng) * 3.f;
        pr[i] = gauss(rng) * 3.f;
    }

    auto* du = device<unsigned char>(total);
    auto* dx = device<unsigned char>(total);
    auto* dhat = device<unsigned char>(total);
    auto* dnoise = device<float>(total);
    auto* dllr = device<__half>(total);
    auto* derr = device<unsigned>(1);
    auto* dsys = device<float>(sys.size());
    auto* dpar = device<float>(sys.size());
    auto* dalpha = device<float>(sys.size() * STATES);
    cudaMemcpy(du, u.data(), total, cudaMemcpyHostToDevice);
    cudaMemcpy(dnoise, noise.data(), total * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(dsys, sys.data(), sys.size() * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(dpar, pr.data(), pr.size() * 4, cudaMemcpyHostToDevice);
    cudaMemset(derr, 0, 4);

    polarEncode<<<BATCH / 8, 256, 8 * N>>>(du, dx);
    modulate<<<(int)(total / 2 + 255) / 256, 256>>>(reinterpret_cast<uchar2*>(dx), reinterpret_cast<float2*>(dnoise),
                                                    reinterpret_cast<__half2*>(dllr), 4.0f, (int)(total / 2));
    polarDecodeSC<4><<<BATCH / 4, 128>>>(dllr, dhat);
    countErrors<<<128, 256>>>(du, dhat, derr);
    forwardMaxLog<<<words / 32, dim3(STATES, 32)>>>(dsys, dpar, dalpha, words);
    cudaError_t e = cudaDeviceSynchronize();
    if (e != cudaSuccess) {
        std::printf("%s\nFAIL\n", cudaGetErrorString(e));
        return 1;
    }

    std::vector<unsigned char> x(total);
    std::vector<unsigned char> hat(total);
    std::vector<float> alpha(sys.size() * STATES);
    unsigned errs = 0;
    cudaMemcpy(x.data(), dx, total, cudaMemcpyDeviceToHost);
    cudaMemcpy(hat.data(), dhat, total, cudaMemcpyDeviceToHost);
    cudaMemcpy(alpha.data(), dalpha, alpha.size() * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(&errs, derr, 4, cudaMemcpyDeviceToHost);

    bool ok = true;
    unsigned cpuErrs = 0;
    for (size_t i = 0; i < total; ++i)
        cpuErrs += u[i] != hat[i];
    ok = ok && cpuErrs == errs && (double)errs < 0.05 * BATCH * KINFO;
    for (int w = 0; w < BATCH; ++w) {
        std::array<unsigned char, N> b;
        std::copy(u.begin() + (size_t)w * N, u.begin() + (size_t)(w + 1) * N, b.begin());
        for (int half = 1; half < N; half *= 2)
            for (int i = 0; i < N; i += 2 * half)
                for (int j = 0; j < half; ++j)
                    b[i + j] ^= b[i + j + half];
        ok = ok && std::equal(b.begin(), b.end(), x.begin() + (size_t)w * N);
    }
    double worst = 0;
    for (int w = 0; w < words; ++w) {
        float a[STATES];
        for (int s = 0; s < STATES; ++s)
            a[s] = s == 0 ? 0.f : -1e4f;
        for (int k = 0; k < TRELLIS; ++k) {
            float b[STATES];
            std::fill(b, b + STATES, -1e30f);
            float ls = sys[(size_t)w * TRELLIS + k];
            float lp = pr[(size_t)w * TRELLIS + k];
            for (int q = 0; q < STATES; ++q)
                for (int v = 0; v < 2; ++v) {
                    float gam = 0.5f * ((v ? -ls : ls) + (par[q][v] ? -lp : lp));
                    b[nxt[q][v]] = std::max(b[nxt[q][v]], a[q] + gam);
                }
            for (int s = 0; s < STATES; ++s) {
                a[s] = b[s];
                double d = std::fabs(alpha[((size_t)k * words + w) * STATES + s] - b[s]);
                worst = std::max(worst, d / (1.0 + std::fabs(b[s])));
            }
        }
    }
    ok = ok && worst < 1e-3;
    std::printf("bit errors %u of %d, alpha diff %g\n", errs, BATCH * KINFO, worst);
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
