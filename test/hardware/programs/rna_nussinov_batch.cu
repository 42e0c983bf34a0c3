// RNA secondary structure by base-pair maximisation (Nussinov). Homework group 7.
// Version A: whole matrix in global memory, one launch per diagonal block (cooperative loop inside one block per sequence).
// Version B: matrix in shared memory.
#include <cuda_runtime.h>
#include <iostream>
#include <random>
#include <string>
#include <vector>
#include <algorithm>

using std::vector;

const int L = 120;        // length of a sequence
const int NSEQ = 256;
const int MINLOOP = 3;

#define CHECK(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line)
{
    if (code != cudaSuccess) {
        std::cerr << "GPUassert: " << cudaGetErrorString(code) << " " << file << " " << line << std::endl;
        exit(code);
    }
}

__host__ __device__ inline int canPair(int a, int b)
{
    // 0 A, 1 C, 2 G, 3 U: AU, CG, GU
    int m = (1 << a) | (1 << b);
    return m == 9 || m == 6 || m == 12;
}

__global__ void fillGlobal(const unsigned char *seqs, short *M)
{
    const unsigned char *s = seqs + blockIdx.x * L;
    short *m = M + (size_t)blockIdx.x * L * L;
    for (int k = threadIdx.x; k < L * L; k += blockDim.x) {
        m[k] = 0;
    }
    __syncthreads();
    for (int d = MINLOOP + 1; d < L; d++) {
        for (int i = threadIdx.x; i + d < L; i += blockDim.x) {
            int j = i + d;
            int best = max((int)m[(i + 1) * L + j], (int)m[i * L + j - 1]);
            if (canPair(s[i], s[j])) {
                best = max(best, m[(i + 1) * L + j - 1] + 1);
            }
            for (int k = i + 1; k < j; k++) {
                best = max(best, m[i * L + k] + m[(k + 1) * L + j]);
            }
            m[i * L + j] = (short)best;
        }
        __syncthreads();
    }
}

__global__ void fillShared(const unsigned char *seqs, short *M)
{
    extern __shared__ short m[];
    __shared__ unsigned char s[L];
    for (int k = threadIdx.x; k < L; k += blockDim.x) {
        s[k] = seqs[blockIdx.x * L + k];
    }
    for (int k = threadIdx.x; k < L * L; k += blockDim.x) {
        m[k] = 0;
    }
    __syncthreads();
    for (int d = MINLOOP + 1; d < L; d++) {
        int i = threadIdx.x;
        int j = i + d;
        if (j < L) {
            int best = max((int)m[(i + 1) * L + j], (int)m[i * L + j - 1]);
            if (canPair(s[i], s[j])) {
                best = max(best, m[(i + 1) * L + j - 1] + 1);
            }
            for (int k = i + 1; k < j; k++) {
                best = max(best, m[i * L + k] + m[(k + 1) * L + j]);
            }
            m[i * L + j] = (short)best;
        }
        __syncthreads();
    }
    short *out = M + (size_t)blockIdx.x * L * L;
    for (int k = threadIdx.x; k < L * L; k += blockDim.x) {
        out[k] = m[k];
    }
}

// one warp per cell, the lanes share the bifurcation loop; both triangles kept so that column walks become row walks
__global__ void fillMirrored(const unsigned char *seqs, short *M)
{
    const unsigned char *s = seqs + blockIdx.x * L;
    short *m = M + (size_t)blockIdx.x * L * L;
    for (int k = threadIdx.x; k < L * L; k += blockDim.x) {
        m[k] = 0;
    }
    __syncthreads();
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    int nwarp = blockDim.x / 32;
    for (int d = MINLOOP + 1; d < L; d++) {
        for (int i = warp; i + d < L; i += nwarp) {
            int j = i + d;
            int best = 0;
            for (int k = i + lane; k < j; k += 32) {
                // M[i][k] + M[k+1][j], the second read from its mirror M[j][k+1]
                best = max(best, m[i * L + k] + m[j * L + k + 1]);
            }
            for (int o = 16; o > 0; o /= 2) {
                best = max(best, __shfl_xor_sync(0xffffffff, best, o));
            }
            if (lane == 0) {
                if (canPair(s[i], s[j])) {
                    best = max(best, m[(i + 1) * L + j - 1] + 1);
                }
                m[i * L + j] = (short)best;
                m[j * L + i] = (short)best;
            }
        }
        __syncthreads();
    }
}

// one thread per sequence walks its own matrix; the stack is in local memory
__global__ void traceback(const unsigned char *seqs, const short *M, short *partner, int n)
{
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= n) {
        return;
    }
    const unsigned char *s = seqs + q * L;
    const short *m = M + (size_t)q * L * L;
    short *p = partner + q * L;
    short stack[2 * L];
    int top = 0;
    for (int i = 0; i < L; i++) {
        p[i] = -1;
    }
    stack[top++] = 0;
    stack[top++] = L - 1;
    while (top > 0) {
        int j = stack[--top];
        int i = stack[--top];
        if (j - i <= MINLOOP) {
            continue;
        }
        int v = m[i * L + j];
        if (v == m[(i + 1) * L + j]) {
            stack[top++] = i + 1;
            stack[top++] = j;
        } else if (v == m[i * L + j - 1]) {
            stack[top++] = i;
            stack[top++] = j - 1;
        } else if (canPair(s[i], s[j]) && v == m[(i + 1) * L + j - 1] + 1) {
            p[i] = j;
            p[j] = i;
            stack[top++] = i + 1;
            stack[top++] = j - 1;
        } else {
            for (int k = i + 1; k < j; k++) {
                if (v == m[i * L + k] + m[(k + 1) * L + j]) {
                    stack[top++] = i;
                    stack[top++] = k;
                    stack[top++] = k + 1;
                    stack[top++] = j;
                    break;
                }
            }
        }
    }
}

// reverse complement of every read
__global__ void reverseComplement(const unsigned char *in, unsigned char *out)
{
    int i = threadIdx.x;
    if (i < L) {
        out[blockIdx.x * L + i] = 3 - in[blockIdx.x * L + L - 1 - i];
    }
}

__global__ void pairCounts(const unsigned char *seqs, const short *partner, int *counts, int total)
{
    __shared__ int c[16];
    if (threadIdx.x < 16) {
        c[threadIdx.x] = 0;
    }
    __syncthreads();
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < total) {
        int p = partner[t];
        if (p > t % L) {
            int a = seqs[t];
            int b = seqs[t / L * L + p];
            atomicAdd(&c[a * 4 + b], 1);
        }
    }
    __syncthreads();
    if (threadIdx.x < 16) {
        atomicAdd(&counts[threadIdx.x], c[threadIdx.x]);
    }
}

int main()
{
    std::mt19937 gen(2024);
    vector<unsigned char> seqs(NSEQ * L);
    for (auto &c : seqs) {
        c = gen() % 4;
    }
    unsigned char *dSeq, *dRev;
    short *dA, *dB, *dC, *dPartner;
    int *dCounts;
    size_t mbytes = (size_t)NSEQ * L * L * sizeof(short);
    CHECK(cudaMalloc((void **)&dSeq, NSEQ * L));
    CHECK(cudaMalloc((void **)&dRev, NSEQ * L));
    CHECK(cudaMalloc((void **)&dA, mbytes));
    CHECK(cudaMalloc((void **)&dB, mbytes));
    CHECK(cudaMalloc((void **)&dC, mbytes));
    CHECK(cudaMalloc((void **)&dPartner, NSEQ * L * sizeof(short)));
    CHECK(cudaMalloc((void **)&dCounts, 16 * sizeof(int)));
    CHECK(cudaMemset(dCounts, 0, 16 * sizeof(int)));
    CHECK(cudaMemcpy(dSeq, seqs.data(), seqs.size(), cudaMemcpyHostToDevice));

    fillGlobal<<<NSEQ, 128>>>(dSeq, dA);
    CHECK(cudaGetLastError());
    fillShared<<<NSEQ, 128, L * L * sizeof(short)>>>(dSeq, dB);
    CHECK(cudaGetLastError());
    fillMirrored<<<NSEQ, 256>>>(dSeq, dC);
    CHECK(cudaGetLastError());
    traceback<<<NSEQ / 32, 32>>>(dSeq, dB, dPartner, NSEQ);
    CHECK(cudaGetLastError());
    reverseComplement<<<NSEQ, 128>>>(dSeq, dRev);
    CHECK(cudaGetLastError());
    pairCounts<<<(NSEQ * L + 255) / 256, 256>>>(dSeq, dPartner, dCounts, NSEQ * L);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    vector<short> A(NSEQ * L * L), B(NSEQ * L * L), C(NSEQ * L * L), P(NSEQ * L);
    vector<unsigned char> R(NSEQ * L);
    vector<int> counts(16);
    CHECK(cudaMemcpy(A.data(), dA, mbytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(B.data(), dB, mbytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(C.data(), dC, mbytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(P.data(), dPartner, P.size() * sizeof(short), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(R.data(), dRev, R.size(), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(counts.data(), dCounts, 64, cudaMemcpyDeviceToHost));

    int errors = 0;
    vector<int> want(16, 0);
    for (int q = 0; q < NSEQ; q++) {
        const unsigned char *s = &seqs[q * L];
        vector<int> m(L * L, 0);
        for (int d = MINLOOP + 1; d < L; d++) {
            for (int i = 0; i + d < L; i++) {
                int j = i + d;
                int best = std::max(m[(i + 1) * L + j], m[i * L + j - 1]);
                if (canPair(s[i], s[j])) {
                    best = std::max(best, m[(i + 1) * L + j - 1] + 1);
                }
                for (int k = i + 1; k < j; k++) {
                    best = std::max(best, m[i * L + k] + m[(k + 1) * L + j]);
                }
                m[i * L + j] = best;
                int at = q * L * L + i * L + j;
                if (A[at] != best || B[at] != best || C[at] != best) {
                    errors++;
                }
            }
        }
        int pairs = 0;
        for (int i = 0; i < L; i++) {
            int p = P[q * L + i];
            if (p >= 0 && (P[q * L + p] != i || !canPair(s[i], s[p]))) {
                errors++;
            }
            if (p > i) {
                pairs++;
                want[s[i] * 4 + s[p]]++;
            }
            if (R[q * L + i] != 3 - s[L - 1 - i]) {
                errors++;
            }
        }
        if (pairs != m[L - 1]) {
            errors++;
        }
    }
    if (want != counts) {
        errors++;
    }
    std::cout << errors << " errors" << std::endl;
    std::cout << (errors == 0 ? "PASS" : "FAIL") << std::endl;
    return errors == 0 ? 0 : 1;
}
