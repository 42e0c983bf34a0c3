/* Sequence kernels: 2-bit packing, canonical k-mer spectrum, window minimizers, and the pair-HMM forward algorithm with
 * one warp per read/haplotype pair (rows in registers, wavefront by shuffles) or one thread per pair (rows in memory). */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

#define K 8
#define KMERS (1 << (2 * K))
#define WINDOW 10
#define READ 128
#define HAP 156
#define ROWS (READ / 32)
#define INITIAL 1e30f

#define CHECK(e) do { cudaError_t r_ = (e); if (r_) { printf("%s at line %d\n", cudaGetErrorName(r_), __LINE__); exit(1); } } while (0)

/* 16 bases in a word, A C G T = 0 1 2 3; reads bytes one by one */
__global__ void pack2bit(const char *seq, uint32_t *packed, int words)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= words) return;
    uint32_t w = 0;
#pragma unroll
    for (int k = 0; k < 16; k++) {
        char c = seq[16 * i + k];
        w |= (uint32_t)((c >> 1 ^ c >> 2) & 3) << (2 * k);
    }
    packed[i] = w;
}

__host__ __device__ static inline uint32_t kmerAt(const uint32_t *packed, int pos)
{
    int w = pos >> 4, s = 2 * (pos & 15);
    uint64_t two = packed[w] | (uint64_t)packed[w + 1] << 32;
    return (uint32_t)(two >> s) & (KMERS - 1);
}

__host__ __device__ static inline uint32_t canonical(uint32_t kmer)
{
    uint32_t rc = 0, x = ~kmer;
    for (int i = 0; i < K; i++) { rc = rc << 2 | (x & 3); x >>= 2; }
    return kmer < rc ? kmer : rc;
}

__host__ __device__ static inline uint32_t mix(uint32_t h)
{
    h ^= h >> 16; h *= 0x85ebca6bu; h ^= h >> 13; h *= 0xc2b2ae35u; h ^= h >> 16;
    return h;
}

__global__ void kmer_spectrum(const uint32_t *__restrict__ packed, int count, unsigned *spectrum)
{
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < count; p += blockDim.x * gridDim.x)
        atomicAdd(&spectrum[canonical(kmerAt(packed, p))], 1u);
}

/* position of the smallest hash in every window of WINDOW k-mers */
__global__ void minimizers(const uint32_t *packed, int windows, int *where)
{
    extern __shared__ uint32_t hash[];
    int base = blockIdx.x * blockDim.x;
    for (int i = threadIdx.x; i < (int)blockDim.x + WINDOW - 1; i += blockDim.x)
        hash[i] = base + i < windows + WINDOW - 1 ? mix(canonical(kmerAt(packed, base + i))) : 0xffffffffu;
    __syncthreads();
    int p = base + threadIdx.x;
    if (p >= windows) return;
    int best = 0;
    for (int k = 1; k < WINDOW; k++)
        if (hash[threadIdx.x + k] < hash[threadIdx.x + best]) best = k;
    where[p] = p + best;
}

struct Transitions { float mm, im, mi, ii; };       /* insertion and deletion alike */
__constant__ Transitions T;
__constant__ float errorOf[64];                     /* of a quality */

__global__ void pairhmm_warp(const char *reads, const unsigned char *quals, const char *haps, int nHaps, int pairs, float *likelihood)
{
    int pair = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (pair >= pairs) return;
    const char *read = reads + pair / nHaps * READ, *hap = haps + pair % nHaps * HAP;
    const unsigned char *qual = quals + pair / nHaps * READ;
    char base[ROWS];
    float match[ROWS], miss[ROWS], M[ROWS] = {0}, I[ROWS] = {0}, D[ROWS] = {0};
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        base[r] = read[lane * ROWS + r];
        float e = errorOf[qual[lane * ROWS + r]];
        match[r] = 1.f - e;
        miss[r] = e / 3.f;
    }
    float diagM = 0, diagI = 0, diagD = lane ? 0 : INITIAL / HAP, sum = 0;
    for (int t = 0; t < HAP + 31; t++) {
        float upM = __shfl_up_sync(~0u, M[ROWS - 1], 1);
        float upI = __shfl_up_sync(~0u, I[ROWS - 1], 1);
        float upD = __shfl_up_sync(~0u, D[ROWS - 1], 1);
        if (lane == 0) { upM = 0; upI = 0; upD = INITIAL / HAP; }
        int j = t - lane;
        if (j >= 0 && j < HAP) {
            char h = hap[j];
            float dm = diagM, di = diagI, dd = diagD, um = upM, ui = upI;
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                float prior = base[r] == h ? match[r] : miss[r];
                float oldM = M[r], oldI = I[r], oldD = D[r];
                M[r] = prior * (dm * T.mm + (di + dd) * T.im);
                I[r] = um * T.mi + ui * T.ii;
                D[r] = oldM * T.mi + oldD * T.ii;
                dm = oldM; di = oldI; dd = oldD;
                um = M[r]; ui = I[r];
            }
            if (lane == 31) sum += M[ROWS - 1] + I[ROWS - 1];
            diagM = upM; diagI = upI; diagD = upD;
        }
    }
    if (lane == 31) likelihood[pair] = log10f(sum) - log10f(INITIAL);
}

struct Cell { float m, i, d; };

__global__ void pairhmm_thread(const char *reads, const unsigned char *quals, const char *haps, int nHaps, int pairs, Cell *scratch, float *likelihood)
{
    int pair = blockIdx.x * blockDim.x + threadIdx.x;
    if (pair >= pairs) return;
    const char *read = reads + pair / nHaps * READ, *hap = haps + pair % nHaps * HAP;
    const unsigned char *qual = quals + pair / nHaps * READ;
    Cell *row = scratch + (size_t)pair * (HAP + 1);
    for (int j = 0; j <= HAP; j++) row[j] = {0.f, 0.f, INITIAL / HAP};
    float sum = 0;
    for (int r = 0; r < READ; r++) {
        float e = errorOf[qual[r]];
        char b = read[r];
        Cell diag = row[0], left = {0.f, 0.f, 0.f};
        row[0] = left;
        for (int j = 1; j <= HAP; j++) {
            Cell up = row[j], c;
            float prior = hap[j - 1] == b ? 1.f - e : e / 3.f;
            c.m = prior * (diag.m * T.mm + (diag.i + diag.d) * T.im);
            c.i = up.m * T.mi + up.i * T.ii;
            c.d = left.m * T.mi + left.d * T.ii;
            row[j] = left = c;
            diag = up;
            if (r == READ - 1) sum += c.m + c.i;
        }
    }
    likelihood[pair] = log10f(sum) - log10f(INITIAL);
}

static double pairhmmCpu(const char *read, const unsigned char *q, const char *hap, const Transitions &t, const float *err)
{
    std::vector<double> m(HAP + 1, 0), i(HAP + 1, 0), d(HAP + 1, 1.0 / HAP);
    double sum = 0;
    for (int r = 0; r < READ; r++) {
        double e = err[q[r]], dm = m[0], di = i[0], dd = d[0];
        m[0] = i[0] = d[0] = 0;
        for (int j = 1; j <= HAP; j++) {
            double um = m[j], ui = i[j], ud = d[j];
            m[j] = (hap[j - 1] == read[r] ? 1 - e : e / 3) * (dm * t.mm + (di + dd) * t.im);
            i[j] = um * t.mi + ui * t.ii;
            d[j] = m[j - 1] * t.mi + d[j - 1] * t.ii;
            dm = um; di = ui; dd = ud;
            if (r == READ - 1) sum += m[j] + i[j];
        }
    }
    return log10(sum);
}

template <class X> static X *put(const X *h, size_t n)
{
    X *d;
    CHECK(cudaMalloc(&d, n * sizeof(X)));
    if (h) CHECK(cudaMemcpy(d, h, n * sizeof(X), cudaMemcpyHostToDevice));
    else CHECK(cudaMemset(d, 0, n * sizeof(X)));
    return d;
}

int main(void)
{
    const int N = 1 << 20, words = N / 16, count = N - K + 1, windows = count - WINDOW + 1;
    std::vector<char> seq(N);
    uint32_t rng = 42;
    for (auto &c : seq) { rng = rng * 1103515245u + 12345u; c = "AACGTTGC"[rng >> 29]; }
    char *dSeq = put(seq.data(), N);
    uint32_t *dPacked = put<uint32_t>(NULL, words + 1);
    unsigned *dSpec = put<unsigned>(NULL, KMERS);
    int *dWhere = put<int>(NULL, windows);
    pack2bit<<<(words + 127) / 128, 128>>>(dSeq, dPacked, words);
    kmer_spectrum<<<264, 256>>>(dPacked, count, dSpec);
    minimizers<<<(windows + 255) / 256, 256, (256 + WINDOW - 1) * sizeof(uint32_t)>>>(dPacked, windows, dWhere);
    CHECK(cudaGetLastError());

    std::vector<uint32_t> packed(words + 1), want(words + 1, 0);
    std::vector<unsigned> spec(KMERS), wantSpec(KMERS, 0);
    std::vector<int> where(windows);
    CHECK(cudaMemcpy(packed.data(), dPacked, packed.size() * 4, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(spec.data(), dSpec, KMERS * 4, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(where.data(), dWhere, windows * 4, cudaMemcpyDeviceToHost));
    int bad = 0;
    for (int i = 0; i < N; i++) {
        uint32_t code = seq[i] == 'A' ? 0 : seq[i] == 'C' ? 1 : seq[i] == 'G' ? 2 : 3;
        want[i / 16] |= code << (2 * (i % 16));
    }
    if (want != packed) { puts("packing differs"); bad++; }
    for (int p = 0; p < count; p++) wantSpec[canonical(kmerAt(want.data(), p))]++;
    if (wantSpec != spec) { puts("spectrum differs"); bad++; }
    for (int p = 0; p < windows; p++) {
        int best = p;
        for (int k = p + 1; k < p + WINDOW; k++)
            if (mix(canonical(kmerAt(want.data(), k))) < mix(canonical(kmerAt(want.data(), best)))) best = k;
        bad += where[p] != best;
    }

    const int nReads = 96, nHaps = 12, pairs = nReads * nHaps;
    std::vector<char> haps(nHaps * HAP), reads(nReads * READ);
    std::vector<unsigned char> quals(nReads * READ);
    for (int h = 0; h < nHaps; h++)
        for (int j = 0; j < HAP; j++) haps[h * HAP + j] = (j * 31 + h * 17) % 61 == 0 ? "ACGT"[h & 3] : seq[5000 + j];
    for (int r = 0; r < nReads; r++)
        for (int i = 0; i < READ; i++) {
            rng = rng * 1103515245u + 12345u;
            reads[r * READ + i] = (rng >> 24) < 3 ? "ACGT"[rng >> 20 & 3] : haps[r % nHaps * HAP + r % (HAP - READ) + i];
            quals[r * READ + i] = (unsigned char)(20 + (rng >> 16) % 21);
        }
    float err[64];
    for (int q = 0; q < 64; q++) err[q] = powf(10.f, -q / 10.f);
    Transitions t = {0.998f, 0.9f, 0.001f, 0.1f};
    CHECK(cudaMemcpyToSymbol(T, &t, sizeof t));
    CHECK(cudaMemcpyToSymbol(errorOf, err, sizeof err));
    char *dHaps = put(haps.data(), haps.size()), *dReads = put(reads.data(), reads.size());
    unsigned char *dQuals = put(quals.data(), quals.size());
    Cell *dScratch = put<Cell>(NULL, (size_t)pairs * (HAP + 1));
    float *dA = put<float>(NULL, pairs), *dB = put<float>(NULL, pairs);
    pairhmm_warp<<<(pairs + 3) / 4, 128>>>(dReads, dQuals, dHaps, nHaps, pairs, dA);
    pairhmm_thread<<<(pairs + 31) / 32, 32>>>(dReads, dQuals, dHaps, nHaps, pairs, dScratch, dB);
    CHECK(cudaGetLastError());
    std::vector<float> a(pairs), b(pairs);
    CHECK(cudaMemcpy(a.data(), dA, pairs * 4, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(b.data(), dB, pairs * 4, cudaMemcpyDeviceToHost));
    for (int p = 0; p < pairs; p++) {
        double w = pairhmmCpu(&reads[p / nHaps * READ], &quals[p / nHaps * READ], &haps[p % nHaps * HAP], t, err);
        if (!(fabs(w - a[p]) < 2e-3) || !(fabs(w - b[p]) < 2e-3)) {
            if (bad++ < 5) printf("pair %d: %g %g for %g\n", p, a[p], b[p], w);
        }
    }
    printf("%d errors\n", bad);
    return bad != 0;
}
