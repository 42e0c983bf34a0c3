// 2D Ising model, checkerboard Metropolis. Two codings of the same lattice: a byte per spin, and multi-spin coding with
// sixteen 4-bit spins in a 64-bit word. Both draw the same counter-based random numbers, so they must agree exactly.
#include <cmath>
#include <cstdint>
#include <iostream>
#include <vector>
#include <cuda_runtime.h>

using word = unsigned long long;

constexpr int NY = 1536, NX = 2048;          // sites
constexpr int HALF = NX / 2;                 // sites of a colour in a row
constexpr int SPINS = 16;                    // in a word
constexpr int WORDS = HALF / SPINS;          // words of a colour in a row
constexpr uint32_t SEED = 0xC0FFEE;

__constant__ uint32_t accept[2][5];          // [spin up][neighbours up]

__host__ __device__ constexpr uint32_t draw(uint32_t site, uint32_t step)
{
    uint32_t h = site * 0x9E3779B1u ^ (step * 0x85EBCA77u + SEED);
    h ^= h >> 15; h *= 0x2C1B3C6Du; h ^= h >> 12; h *= 0x297A2D39u; h ^= h >> 15;
    return h;
}

template <bool BLACK>
__global__ void updateBytes(signed char *mine, const signed char *__restrict__ other, uint32_t step)
{
    const long long tid = static_cast<long long>(blockDim.x) * blockIdx.x + threadIdx.x;
    const int i = tid / HALF, j = tid % HALF;
    if (i >= NY) return;
    const int inn = (i + 1 < NY) ? i + 1 : 0, ipp = (i > 0) ? i - 1 : NY - 1;
    const int jnn = (j + 1 < HALF) ? j + 1 : 0, jpp = (j > 0) ? j - 1 : HALF - 1;
    const int joff = BLACK ? ((i % 2) ? jnn : jpp) : ((i % 2) ? jpp : jnn);
    const int sum = other[inn * HALF + j] + other[i * HALF + j] + other[ipp * HALF + j] + other[i * HALF + joff];
    const signed char s = mine[i * HALF + j];
    if (draw(i * HALF + j, step) < accept[s > 0][(sum + 4) / 2]) mine[i * HALF + j] = -s;
}

template <bool BLACK>
__global__ void updateWords(word *mine, const word *__restrict__ other, uint32_t step)
{
    const int w = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (w >= WORDS || i >= NY) return;
    const word *row = other + i * WORDS;
    const word up = other[(i > 0 ? i - 1 : NY - 1) * WORDS + w], down = other[(i + 1 < NY ? i + 1 : 0) * WORDS + w];
    const word centre = row[w];
    const bool right = BLACK == (i % 2 == 1);
    const word side = right ? (centre >> 4) | (row[w + 1 < WORDS ? w + 1 : 0] << 60)
                            : (centre << 4) | (row[w > 0 ? w - 1 : WORDS - 1] >> 60);
    const word sum = up + down + centre + side;
    word self = mine[i * WORDS + w], flips = 0;
#pragma unroll
    for (int k = 0; k < SPINS; ++k) {
        const int n = (sum >> (4 * k)) & 7, s = (self >> (4 * k)) & 1;
        const word flip = draw(i * HALF + w * SPINS + k, step) < accept[s][n];
        flips |= flip << (4 * k);
    }
    mine[i * WORDS + w] = self ^ flips;
}

// bytes of -1, +1 to nibbles of 0, 1
__global__ void packLattice(const signed char *bytes, word *packed, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int4 q = reinterpret_cast<const int4 *>(bytes)[i];
    const unsigned v[4] = {(unsigned)q.x, (unsigned)q.y, (unsigned)q.z, (unsigned)q.w};
    word w = 0;
    for (int k = 0; k < 16; ++k) w |= word(!((v[k / 4] >> (8 * (k % 4) + 7)) & 1)) << (4 * k);
    packed[i] = w;
}

// Magnetisation with dp4a, and energy of the black sites against their four neighbours.
__global__ void measure(const signed char *black, const signed char *white, int *magnetisation, int *energy)
{
    const int *b4 = reinterpret_cast<const int *>(black), *w4 = reinterpret_cast<const int *>(white);
    int m = 0, e = 0;
    for (int i = blockIdx.x; i < NY; i += gridDim.x) {
        const int inn = i + 1 < NY ? i + 1 : 0, ipp = i > 0 ? i - 1 : NY - 1;
        for (int j = threadIdx.x; j < HALF / 4; j += blockDim.x) {
            const int b = b4[i * HALF / 4 + j], c = w4[i * HALF / 4 + j];
            m = __dp4a(b, 0x01010101, m);
            m = __dp4a(c, 0x01010101, m);
            e = __dp4a(b, c, e);
            e = __dp4a(b, w4[inn * HALF / 4 + j], e);
            e = __dp4a(b, w4[ipp * HALF / 4 + j], e);
            // the fourth neighbour is one byte to the side
            int side;
            if (i % 2) side = __byte_perm(c, white[i * HALF + (4 * j + 4) % HALF], 0x4321);
            else side = __byte_perm(c, white[i * HALF + (4 * j + HALF - 1) % HALF], 0x2104);
            e = __dp4a(b, side, e);
        }
    }
    m = __reduce_add_sync(0xffffffffu, m);
    e = __reduce_add_sync(0xffffffffu, e);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(magnetisation, m);
        atomicAdd(energy, -e);
    }
}

namespace {
struct Fail { cudaError_t e; };
void ok(cudaError_t e) { if (e != cudaSuccess) throw Fail{e}; }

void sweepHost(std::vector<signed char> &mine, const std::vector<signed char> &other, bool black, uint32_t step, const uint32_t (*acc)[5])
{
    for (int i = 0; i < NY; ++i)
        for (int j = 0; j < HALF; ++j) {
            int up = (i + NY - 1) % NY, down = (i + 1) % NY;
            int joff = (black == (i % 2 == 1)) ? (j + 1) % HALF : (j + HALF - 1) % HALF;
            int sum = other[up * HALF + j] + other[down * HALF + j] + other[i * HALF + j] + other[i * HALF + joff];
            signed char &s = mine[i * HALF + j];
            if (draw(i * HALF + j, step) < acc[s > 0][(sum + 4) / 2]) s = -s;
        }
}
}

int main()
try {
    const double beta = 1 / 2.1;
    uint32_t acc[2][5];
    for (int s = 0; s < 2; ++s)
        for (int n = 0; n < 5; ++n) {
            double p = std::exp(-2 * beta * (2 * s - 1) * (2 * n - 4));
            acc[s][n] = p >= 1 ? 0xffffffffu : static_cast<uint32_t>(p * 4294967295.0);
        }
    ok(cudaMemcpyToSymbol(accept, acc, sizeof(acc)));

    std::vector<signed char> black(NY * HALF), white(NY * HALF);
    for (int k = 0; k < NY * HALF; ++k) {
        black[k] = draw(k, 1000001) >> 30 ? 1 : -1;
        white[k] = draw(k, 1000002) >> 31 ? 1 : -1;
    }
    signed char *dB, *dW;
    word *pB, *pW;
    int *sums;
    ok(cudaMalloc(&dB, black.size()));
    ok(cudaMalloc(&dW, white.size()));
    ok(cudaMalloc(&pB, NY * WORDS * sizeof(word)));
    ok(cudaMalloc(&pW, NY * WORDS * sizeof(word)));
    ok(cudaMalloc(&sums, 2 * sizeof(int)));
    ok(cudaMemset(sums, 0, 2 * sizeof(int)));
    ok(cudaMemcpy(dB, black.data(), black.size(), cudaMemcpyHostToDevice));
    ok(cudaMemcpy(dW, white.data(), white.size(), cudaMemcpyHostToDevice));

    packLattice<<<(NY * WORDS + 255) / 256, 256>>>(dB, pB, NY * WORDS);
    packLattice<<<(NY * WORDS + 255) / 256, 256>>>(dW, pW, NY * WORDS);
    const dim3 block(32, 4), grid((WORDS + 31) / 32, (NY + 3) / 4);
    for (uint32_t sweep = 0; sweep < 2; ++sweep) {
        updateBytes<true><<<(NY * HALF + 127) / 128, 128>>>(dB, dW, 2 * sweep);
        updateBytes<false><<<(NY * HALF + 127) / 128, 128>>>(dW, dB, 2 * sweep + 1);
        updateWords<true><<<grid, block>>>(pB, pW, 2 * sweep);
        updateWords<false><<<grid, block>>>(pW, pB, 2 * sweep + 1);
    }
    measure<<<NY / 4, 128>>>(dB, dW, sums, sums + 1);
    ok(cudaGetLastError());

    std::vector<signed char> gotB(black.size()), gotW(white.size());
    std::vector<word> wordsB(NY * WORDS), wordsW(NY * WORDS);
    int got[2];
    ok(cudaMemcpy(gotB.data(), dB, gotB.size(), cudaMemcpyDeviceToHost));
    ok(cudaMemcpy(gotW.data(), dW, gotW.size(), cudaMemcpyDeviceToHost));
    ok(cudaMemcpy(wordsB.data(), pB, wordsB.size() * 8, cudaMemcpyDeviceToHost));
    ok(cudaMemcpy(wordsW.data(), pW, wordsW.size() * 8, cudaMemcpyDeviceToHost));
    ok(cudaMemcpy(got, sums, sizeof(got), cudaMemcpyDeviceToHost));

    for (uint32_t sweep = 0; sweep < 2; ++sweep) {
        sweepHost(black, white, true, 2 * sweep, acc);
        sweepHost(white, black, false, 2 * sweep + 1, acc);
    }
    long long bad = 0;
    int m = 0, e = 0;
    for (int i = 0; i < NY; ++i)
        for (int j = 0; j < HALF; ++j) {
            const int k = i * HALF + j, joff = i % 2 ? (j + 1) % HALF : (j + HALF - 1) % HALF;
            bad += gotB[k] != black[k];
            bad += gotW[k] != white[k];
            bad += int(wordsB[k / SPINS] >> (4 * (k % SPINS)) & 15) != (black[k] > 0);
            bad += int(wordsW[k / SPINS] >> (4 * (k % SPINS)) & 15) != (white[k] > 0);
            m += black[k] + white[k];
            e -= black[k] * (white[k] + white[i * HALF + joff] + white[(i + 1) % NY * HALF + j] + white[(i + NY - 1) % NY * HALF + j]);
        }
    bad += m != got[0];
    bad += e != got[1];
    std::cout << "magnetisation " << got[0] << " (" << m << "), energy " << got[1] << " (" << e << "), wrong: " << bad << '\n';
    return bad ? 1 : 0;
} catch (const Fail &f) {
    std::cerr << cudaGetErrorString(f.e) << '\n';
    return 2;
}
