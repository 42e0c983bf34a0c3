// HMM: scaled forward algorithm and Viterbi decoding for many sequences (profile-like, 64 states)
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <float.h>
#include <vector>
#define NSTATES 64
#define NSYM 20
#define T_LEN 120

__constant__ float c_init[NSTATES];

/* block = sequence, thread = state; A in global as [from][to] */
__global__ void forwardKernel(const unsigned char *obs, const float *A, const float *Bm, float *loglik, int nseq)
{
    __shared__ float alpha[2][NSTATES];
    __shared__ float scale[2];
    int seq = blockIdx.x, s = threadIdx.x;
    const unsigned char *o = obs + seq * T_LEN;
    float ll = 0;
    float v = c_init[s] * Bm[s * NSYM + o[0]];
    for (int t = 0; t < T_LEN; t++) {
        if (t > 0) {
            v = 0;
            for (int k = 0; k < NSTATES; k++) v += alpha[(t - 1) & 1][k] * A[k * NSTATES + s];
            v *= Bm[s * NSYM + o[t]];
        }
        float w = v;
        for (int d = 16; d; d >>= 1) w += __shfl_xor_sync(0xffffffff, w, d);
        if ((s & 31) == 0) scale[s >> 5] = w;
        __syncthreads();
        float c = scale[0] + scale[1];
        alpha[t & 1][s] = v / c;
        ll += logf(c);
        __syncthreads();
    }
    if (s == 0) loglik[seq] = ll;
}

/* logA transposed: row = to state, thread reads its own row from shared (stride 64!) */
__global__ void viterbiKernel(const unsigned char *obs, const float *logAt, const float *logB, unsigned char *bp, unsigned char *path, float *score, int nseq)
{
    extern __shared__ float sh[];
    float *sA = sh;                         /* NSTATES x NSTATES */
    float *dl = sA + NSTATES * NSTATES;     /* 2 x NSTATES */
    int s = threadIdx.x;
    for (int i = s; i < NSTATES * NSTATES; i += NSTATES) sA[i] = logAt[i];
    for (int seq = blockIdx.x; seq < nseq; seq += gridDim.x) {
        const unsigned char *o = obs + seq * T_LEN;
        __syncthreads();
        dl[s] = logf(c_init[s]) + logB[s * NSYM + o[0]];
        __syncthreads();
        for (int t = 1; t < T_LEN; t++) {
            float best = -FLT_MAX; int arg = 0;
            const float *prev = dl + ((t - 1) & 1) * NSTATES;
            for (int k = 0; k < NSTATES; k++) {
                float x = prev[k] + sA[s * NSTATES + k];
                if (x > best) { best = x; arg = k; }
            }
            dl[(t & 1) * NSTATES + s] = best + logB[s * NSYM + o[t]];
            bp[((size_t)seq * T_LEN + t) * NSTATES + s] = arg;
            __syncthreads();
        }
        if (s == 0) {
            const float *last = dl + ((T_LEN - 1) & 1) * NSTATES;
            int arg = 0;
            for (int k = 1; k < NSTATES; k++) if (last[k] > last[arg]) arg = k;
            score[seq] = last[arg];
            for (int t = T_LEN - 1; t >= 0; t--) {
                path[seq * T_LEN + t] = arg;
                if (t) arg = bp[((size_t)seq * T_LEN + t) * NSTATES + arg];
            }
        }
    }
}

__global__ void stateUsage(const unsigned char *path, int n, unsigned int *use)
{
    __shared__ unsigned int h[NSTATES];
    if (threadIdx.x < NSTATES) h[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&h[path[i]], 1);
    __syncthreads();
    if (threadIdx.x < NSTATES) atomicAdd(&use[threadIdx.x], h[threadIdx.x]);
}

int main()
{
    const int nseq = 3000;
    std::vector<float> A(NSTATES * NSTATES), At(A.size()), B(NSTATES * NSYM), lB(B.size()), pi(NSTATES, 1.0f / NSTATES);
    std::vector<unsigned char> obs(nseq * T_LEN), path(obs.size());
    for (int i = 0; i < NSTATES; i++) {
        float s = 0;
        for (int j = 0; j < NSTATES; j++) { A[i * NSTATES + j] = 1.0f + 20 * (j == (i + 1) % NSTATES) + 5 * (i == j) + ((i * 31 + j * 17) % 11) * 0.2f; s += A[i * NSTATES + j]; }
        for (int j = 0; j < NSTATES; j++) { A[i * NSTATES + j] /= s; At[j * NSTATES + i] = logf(A[i * NSTATES + j]); }
        s = 0;
        for (int k = 0; k < NSYM; k++) { B[i * NSYM + k] = 0.5f + ((i * 7 + k * 3) % 13); s += B[i * NSYM + k]; }
        for (int k = 0; k < NSYM; k++) { B[i * NSYM + k] /= s; lB[i * NSYM + k] = logf(B[i * NSYM + k]); }
    }
    srand(3);
    for (auto &o : obs) o = rand() % NSYM;
    unsigned char *dobs, *dbp, *dpath; float *dA, *dAt, *dB, *dlB, *dll, *dsc; unsigned *duse;
    cudaMalloc(&dobs, obs.size()); cudaMalloc(&dbp, (size_t)nseq * T_LEN * NSTATES); cudaMalloc(&dpath, obs.size());
    cudaMalloc(&dA, A.size() * 4); cudaMalloc(&dAt, A.size() * 4); cudaMalloc(&dB, B.size() * 4); cudaMalloc(&dlB, B.size() * 4);
    cudaMalloc(&dll, nseq * 4); cudaMalloc(&dsc, nseq * 4); cudaMalloc(&duse, NSTATES * 4); cudaMemset(duse, 0, NSTATES * 4);
    cudaMemcpy(dobs, obs.data(), obs.size(), cudaMemcpyHostToDevice);
    cudaMemcpy(dA, A.data(), A.size() * 4, cudaMemcpyHostToDevice); cudaMemcpy(dAt, At.data(), A.size() * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B.data(), B.size() * 4, cudaMemcpyHostToDevice); cudaMemcpy(dlB, lB.data(), B.size() * 4, cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(c_init, pi.data(), NSTATES * 4);
    forwardKernel<<<nseq, NSTATES>>>(dobs, dA, dB, dll, nseq);
    viterbiKernel<<<1000, NSTATES, (NSTATES + 2) * NSTATES * sizeof(float)>>>(dobs, dAt, dlB, dbp, dpath, dsc, nseq);
    stateUsage<<<64, 256>>>(dpath, nseq * T_LEN, duse);
    std::vector<float> ll(nseq), sc(nseq); unsigned use[NSTATES], tot = 0;
    cudaMemcpy(ll.data(), dll, nseq * 4, cudaMemcpyDeviceToHost); cudaMemcpy(sc.data(), dsc, nseq * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(path.data(), dpath, path.size(), cudaMemcpyDeviceToHost); cudaMemcpy(use, duse, sizeof(use), cudaMemcpyDeviceToHost);
    for (unsigned u : use) tot += u;
    double e1 = 0, e2 = 0, e3 = 0;
    for (int q = 0; q < nseq; q += 111) {
        double al[NSTATES], nl[NSTATES], vt[NSTATES], nv[NSTATES], L = 0, ps = 0; const unsigned char *o = &obs[q * T_LEN], *p = &path[q * T_LEN];
        for (int t = 0; t < T_LEN; t++) {
            double c = 0;
            for (int s = 0; s < NSTATES; s++) {
                double v = 0, m = -1e30;
                if (!t) { v = pi[s]; m = log(pi[s]); }
                else for (int k = 0; k < NSTATES; k++) { v += al[k] * A[k * NSTATES + s]; m = fmax(m, vt[k] + At[s * NSTATES + k]); }
                nl[s] = v * B[s * NSYM + o[t]]; nv[s] = m + lB[s * NSYM + o[t]]; c += nl[s];
            }
            for (int s = 0; s < NSTATES; s++) { al[s] = nl[s] / c; vt[s] = nv[s]; }
            L += log(c);
            ps += lB[p[t] * NSYM + o[t]] + (t ? At[p[t] * NSTATES + p[t - 1]] : log(pi[0]));
        }
        double m = -1e30; for (double x : vt) m = fmax(m, x);
        e1 = fmax(e1, fabs(L - ll[q])); e2 = fmax(e2, fabs(m - sc[q])); e3 = fmax(e3, fabs(ps - m));
    }
    printf("forward err %g viterbi err %g path err %g used %u %s\n", e1, e2, e3, tot, cudaGetErrorString(cudaGetLastError()));
    puts(e1 < 0.02 && e2 < 0.02 && e3 < 0.02 && tot == nseq * T_LEN ? "PASS" : "FAIL");
}
