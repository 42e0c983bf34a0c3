// Gallager (3,6) LDPC, scaled min-sum, flooding schedule, many codewords at a time.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

constexpr int N = 1536;
constexpr int DV = 3;
constexpr int DC = 6;
constexpr int M = N * DV / DC;
constexpr int E = N * DV;
constexpr int CW = 96;
constexpr int ITERS = 8;

#define GPU(x) if (cudaError_t e = (x)) { fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(e)); exit(1); }

// channel values [cw][N] int8 -> llr [N][cw] float
__global__ void load_llr(const int8_t* __restrict__ ch, float* __restrict__ llr, float scale) {
    __shared__ float tile[32][33];
    const int v0 = blockIdx.x * 32;
    const int c0 = blockIdx.y * 32;
    for (int j = threadIdx.y; j < 32; j += 8) {
        tile[j][threadIdx.x] = scale * ch[(c0 + j) * N + v0 + threadIdx.x];
    }
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += 8) {
        llr[(v0 + j) * CW + c0 + threadIdx.x] = tile[threadIdx.x][j];
    }
}

__global__ void init_v2c(const float* __restrict__ llr, const int* __restrict__ edge_var, float* __restrict__ v2c) {
    const int e = blockIdx.x;
    v2c[e * CW + threadIdx.x] = llr[edge_var[e] * CW + threadIdx.x];
}

// blockDim = (CW, 2): one check node per threadIdx.y
__global__ void check_update(const float* __restrict__ v2c, float* __restrict__ c2v, float alpha) {
    const int c = blockIdx.x * blockDim.y + threadIdx.y;
    if (c >= M) return;
    float m1 = 1e30f;
    float m2 = 1e30f;
    int arg = 0;
    unsigned sgn = 0;
    unsigned bits = 0;
#pragma unroll
    for (int j = 0; j < DC; ++j) {
        const float x = v2c[(c * DC + j) * CW + threadIdx.x];
        const float a = fabsf(x);
        const unsigned s = x < 0.f;
        sgn ^= s;
        bits |= s << j;
        if (a < m1) {
            m2 = m1;
            m1 = a;
            arg = j;
        } else if (a < m2) {
            m2 = a;
        }
    }
#pragma unroll
    for (int j = 0; j < DC; ++j) {
        const float mag = alpha * (j == arg ? m2 : m1);
        const unsigned s = sgn ^ (bits >> j & 1u);
        c2v[(c * DC + j) * CW + threadIdx.x] = s ? -mag : mag;
    }
}

__global__ void var_update(const float* __restrict__ llr, const float* __restrict__ c2v, const int* __restrict__ var_edge,
                           float* __restrict__ v2c, float* __restrict__ post) {
    const int v = blockIdx.x;
    const int t = threadIdx.x;
    int e[DV];
    float m[DV];
    float s = llr[v * CW + t];
    for (int j = 0; j < DV; ++j) {
        e[j] = var_edge[v * DV + j];
        m[j] = c2v[e[j] * CW + t];
        s += m[j];
    }
    for (int j = 0; j < DV; ++j) {
        v2c[e[j] * CW + t] = s - m[j];
    }
    post[v * CW + t] = s;
}

// hard decision: a warp packs 32 variables of one codeword (reads down a column)
__global__ void pack_bits(const float* __restrict__ post, uint32_t* __restrict__ words) {
    const int cw = blockIdx.y;
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    const bool bit = v < N && post[v * CW + cw] < 0.f;
    const unsigned w = __ballot_sync(0xffffffffu, bit);
    if ((threadIdx.x & 31) == 0 && v < N) words[cw * (N / 32) + v / 32] = w;
}

__global__ void syndrome(const uint32_t* __restrict__ words, const int* __restrict__ edge_var, int* __restrict__ unsat) {
    __shared__ uint32_t w[N / 32];
    const int cw = blockIdx.x;
    for (int i = threadIdx.x; i < N / 32; i += blockDim.x) w[i] = words[cw * (N / 32) + i];
    __syncthreads();
    int bad = 0;
    for (int c = threadIdx.x; c < M; c += blockDim.x) {
        unsigned p = 0;
        for (int j = 0; j < DC; ++j) {
            const int v = edge_var[c * DC + j];
            p ^= w[v >> 5] >> (v & 31);
        }
        bad += p & 1;
    }
    const int total = __syncthreads_count(bad & 1) + 2 * __syncthreads_count(bad >> 1 & 1) + 4 * __syncthreads_count(bad >> 2 & 1);
    if (threadIdx.x == 0) unsat[cw] = total;
}

template <typename T>
static T* dev(const std::vector<T>& h) {
    T* d;
    GPU(cudaMalloc(&d, h.size() * sizeof(T)));
    GPU(cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
    return d;
}

int main() {
    std::mt19937 gen(31337);
    std::vector<int> edge_var(E), var_edge(E), fillc(N, 0);
    for (int band = 0; band < DV; ++band) {
        std::vector<int> perm(N);
        std::iota(perm.begin(), perm.end(), 0);
        if (band) std::shuffle(perm.begin(), perm.end(), gen);
        std::copy(perm.begin(), perm.end(), edge_var.begin() + band * N);
    }
    for (int e = 0; e < E; ++e) {
        int v = edge_var[e];
        var_edge[v * DV + fillc[v]++] = e;
    }
    // all-zero codeword, BPSK +1, AWGN
    std::normal_distribution<float> noise(0.f, 0.7f);
    std::vector<int8_t> ch(CW * N);
    for (auto& c : ch) c = (int8_t)std::lround(std::min(127.f, std::max(-127.f, 40.f * (1.f + noise(gen)))));

    const float scale = 2.f / (0.7f * 0.7f) / 40.f;
    const float alpha = 0.75f;
    int8_t* d_ch = dev(ch);
    int* d_ev = dev(edge_var);
    int* d_ve = dev(var_edge);
    float *d_llr, *d_v2c, *d_c2v, *d_post;
    uint32_t* d_words;
    int* d_unsat;
    GPU(cudaMalloc(&d_llr, N * CW * sizeof(float)));
    GPU(cudaMalloc(&d_post, N * CW * sizeof(float)));
    GPU(cudaMalloc(&d_v2c, E * CW * sizeof(float)));
    GPU(cudaMalloc(&d_c2v, E * CW * sizeof(float)));
    GPU(cudaMalloc(&d_words, CW * (N / 32) * sizeof(uint32_t)));
    GPU(cudaMalloc(&d_unsat, CW * sizeof(int)));

    load_llr<<<dim3(N / 32, CW / 32), dim3(32, 8)>>>(d_ch, d_llr, scale);
    init_v2c<<<E, CW>>>(d_llr, d_ev, d_v2c);
    for (int it = 0; it < ITERS; ++it) {
        check_update<<<M / 2, dim3(CW, 2)>>>(d_v2c, d_c2v, alpha);
        var_update<<<N, CW>>>(d_llr, d_c2v, d_ve, d_v2c, d_post);
    }
    pack_bits<<<dim3(N / 128, CW), 128>>>(d_post, d_words);
    syndrome<<<CW, 256>>>(d_words, d_ev, d_unsat);
    GPU(cudaDeviceSynchronize());

    std::vector<float> post(N * CW);
    std::vector<uint32_t> words(CW * (N / 32));
    std::vector<int> unsat(CW);
    GPU(cudaMemcpy(post.data(), d_post, post.size() * 4, cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(words.data(), d_words, words.size() * 4, cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(unsat.data(), d_unsat, unsat.size() * 4, cudaMemcpyDeviceToHost));

    int mismatch = 0, bits_in = 0, bits_out = 0, synd_bad = 0;
    double worst = 0;
    for (int cw = 0; cw < CW; ++cw) {
        std::vector<float> l(N), a(E), b(E), s(N);
        for (int v = 0; v < N; ++v) l[v] = scale * ch[cw * N + v];
        for (int e = 0; e < E; ++e) a[e] = l[edge_var[e]];
        for (int it = 0; it < ITERS; ++it) {
            for (int c = 0; c < M; ++c)
                for (int j = 0; j < DC; ++j) {
                    float mn = 1e30f;
                    bool neg = false;
                    for (int k = 0; k < DC; ++k) {
                        if (k == j) continue;
                        mn = std::min(mn, std::fabs(a[c * DC + k]));
                        neg ^= a[c * DC + k] < 0;
                    }
                    b[c * DC + j] = neg ? -(alpha * mn) : alpha * mn;
                }
            for (int v = 0; v < N; ++v) {
                s[v] = l[v];
                for (int j = 0; j < DV; ++j) s[v] += b[var_edge[v * DV + j]];
                for (int j = 0; j < DV; ++j) a[var_edge[v * DV + j]] = s[v] - b[var_edge[v * DV + j]];
            }
        }
        int un = 0;
        for (int c = 0; c < M; ++c) {
            int p = 0;
            for (int j = 0; j < DC; ++j) {
                int v = edge_var[c * DC + j];
                p ^= words[cw * (N / 32) + v / 32] >> (v % 32) & 1;
            }
            un += p;
        }
        synd_bad += un != unsat[cw];
        for (int v = 0; v < N; ++v) {
            bool bit = words[cw * (N / 32) + v / 32] >> (v % 32) & 1;
            mismatch += bit != (s[v] < 0);
            bits_out += bit;
            bits_in += l[v] < 0;
            worst = std::max(worst, (double)std::fabs(s[v] - post[v * CW + cw]));
        }
    }
    printf("channel errors %d, after decoding %d, mismatches %d, posterior diff %g, syndromes off %d\n", bits_in, bits_out, mismatch, worst, synd_bad);
    const bool ok = mismatch <= 8 && synd_bad == 0 && bits_out < bits_in / 10;
    puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
