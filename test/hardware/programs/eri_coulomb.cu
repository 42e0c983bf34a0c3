// Coulomb and exchange matrices over s-type Gaussians with Schwarz screening, plus an erfc-screened
// direct sum of point charges (MM part of a QM/MM run).
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define NBF 40
#define NPAIR (NBF * (NBF + 1) / 2)
#define PI 3.14159265358979323846

#define HIP_LIKE(call)                                                            \
    {                                                                             \
        cudaError_t st = call;                                                    \
        if (st != cudaSuccess) {                                                  \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(st));           \
            exit(1);                                                              \
        }                                                                         \
    }

struct Shell {
    double x, y, z, alpha, norm;
};

struct ShellPair {
    double px, py, pz;
    double p;
    double k;
    double q;    // Schwarz factor
    int i, j;
};

__host__ __device__ inline double boysF0(double t)
{
    if (t < 1e-10)
        return 1.0 - t / 3.0;
    double s = sqrt(t);
    return 0.5 * sqrt(PI) * erf(s) / s;
}

__host__ __device__ inline ShellPair formPair(const Shell& a, const Shell& b, int i, int j)
{
    ShellPair sp;
    sp.p = a.alpha + b.alpha;
    sp.px = (a.alpha * a.x + b.alpha * b.x) / sp.p;
    sp.py = (a.alpha * a.y + b.alpha * b.y) / sp.p;
    sp.pz = (a.alpha * a.z + b.alpha * b.z) / sp.p;
    double dx = a.x - b.x;
    double dy = a.y - b.y;
    double dz = a.z - b.z;
    sp.k = a.norm * b.norm * exp(-a.alpha * b.alpha / sp.p * (dx * dx + dy * dy + dz * dz));
    sp.q = 0.0;
    sp.i = i;
    sp.j = j;
    return sp;
}

__host__ __device__ inline double eri(const ShellPair& a, const ShellPair& b)
{
    double dx = a.px - b.px;
    double dy = a.py - b.py;
    double dz = a.pz - b.pz;
    double r2 = dx * dx + dy * dy + dz * dz;
    double pre = 2.0 * PI * PI * sqrt(PI) / (a.p * b.p * sqrt(a.p + b.p));
    return pre * a.k * b.k * boysF0(a.p * b.p / (a.p + b.p) * r2);
}

__global__ void makePairs(const Shell* sh, ShellPair* pairs)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= NBF || j >= NBF || i > j)
        return;
    ShellPair sp = formPair(sh[i], sh[j], i, j);
    sp.q = sqrt(eri(sp, sp));
    pairs[j * (j + 1) / 2 + i] = sp;
}

// keep the pairs that can matter at all (AoS in, AoS out), warp-aggregated append
__global__ void compactPairs(const ShellPair* in, double qmax, double tau, ShellPair* out, int* count)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    bool keep = t < NPAIR && in[t].q * qmax > tau;
    unsigned m = __ballot_sync(0xffffffffu, keep);
    int lane = threadIdx.x & 31;
    int base = 0;
    if (lane == 0)
        base = atomicAdd(count, __popc(m));
    base = __shfl_sync(0xffffffffu, base, 0);
    if (keep)
        out[base + __popc(m & ((1u << lane) - 1))] = in[t];
}

// J, thread per bra pair; ket pairs come through shared memory
__global__ void jThread(const ShellPair* pairs, const int* count, const double* D, double* J, double tau)
{
    __shared__ ShellPair ket[32];
    __shared__ double dk[32];
    int n = *count;
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    ShellPair bra = pairs[min(t, n - 1)];
    double sum = 0.0;
    for (int base = 0; base < n; base += 32) {
        __syncthreads();
        if (threadIdx.x < 32 && base + threadIdx.x < n) {
            ShellPair s = pairs[base + threadIdx.x];
            ket[threadIdx.x] = s;
            dk[threadIdx.x] = (s.i == s.j ? 1.0 : 2.0) * D[s.i * NBF + s.j];
        }
        __syncthreads();
        int m = min(32, n - base);
        for (int c = 0; c < m; ++c) {
            if (bra.q * ket[c].q * fabs(dk[c]) > tau)
                sum += dk[c] * eri(bra, ket[c]);
        }
    }
    if (t < n) {
        J[bra.i * NBF + bra.j] = sum;
        J[bra.j * NBF + bra.i] = sum;
    }
}

// J, warp per bra pair, lanes over the kets straight from global memory
__global__ void jWarp(const ShellPair* __restrict__ pairs, const int* count, const double* __restrict__ D, double* J, double tau)
{
    int n = *count;
    int b = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (b >= n)
        return;
    double sum = 0.0;
    for (int c = lane; c < n; c += 32) {
        int ki = pairs[c].i;
        int kj = pairs[c].j;
        double d = (ki == kj ? 1.0 : 2.0) * D[ki * NBF + kj];
        if (pairs[b].q * pairs[c].q * fabs(d) > tau)
            sum += d * eri(pairs[b], pairs[c]);
    }
    for (int o = 16; o > 0; o >>= 1)
        sum += __shfl_down_sync(0xffffffffu, sum, o);
    if (lane == 0) {
        J[pairs[b].i * NBF + pairs[b].j] = sum;
        J[pairs[b].j * NBF + pairs[b].i] = sum;
    }
}

// K, thread per quartet (bra, ket), up to four scattered updates into a private copy per block
__global__ void kQuartets(const ShellPair* pairs, const int* count, const double* D, double* K, double tau)
{
    __shared__ double Kl[NBF * NBF];
    int tid = threadIdx.y * blockDim.x + threadIdx.x;
    int nt = blockDim.x * blockDim.y;
    for (int e = tid; e < NBF * NBF; e += nt)
        Kl[e] = 0.0;
    __syncthreads();
    int n = *count;
    int b = blockIdx.y * blockDim.y + threadIdx.y;
    for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < n && b < n; c += gridDim.x * blockDim.x) {
        ShellPair bra = pairs[b];
        ShellPair ket = pairs[c];
        if (bra.q * ket.q < tau)
            continue;
        double v = eri(bra, ket);
        int i = bra.i;
        int j = bra.j;
        int k = ket.i;
        int l = ket.j;
        atomicAdd(&Kl[i * NBF + k], v * D[j * NBF + l]);
        if (i != j)
            atomicAdd(&Kl[j * NBF + k], v * D[i * NBF + l]);
        if (k != l)
            atomicAdd(&Kl[i * NBF + l], v * D[j * NBF + k]);
        if (i != j && k != l)
            atomicAdd(&Kl[j * NBF + l], v * D[i * NBF + k]);
    }
    __syncthreads();
    for (int e = tid; e < NBF * NBF; e += nt)
        if (Kl[e] != 0.0)
            atomicAdd(&K[e], Kl[e]);
}

// potential of point charges at grid points, erfc-screened, cut off
__global__ void screenedSum(const float4* __restrict__ q, int nq, const float* __restrict__ gx, const float* __restrict__ gy,
                            const float* __restrict__ gz, int ng, float kappa, float cut, float* __restrict__ v)
{
    extern __shared__ float4 tile[];
    int g = blockIdx.x * blockDim.x + threadIdx.x;
    float x = g < ng ? gx[g] : 0.f;
    float y = g < ng ? gy[g] : 0.f;
    float z = g < ng ? gz[g] : 0.f;
    float s = 0.f;
    for (int base = 0; base < nq; base += blockDim.x) {
        if (base + threadIdx.x < nq)
            tile[threadIdx.x] = q[base + threadIdx.x];
        __syncthreads();
        int m = min((int)blockDim.x, nq - base);
        for (int c = 0; c < m; ++c) {
            float dx = tile[c].x - x;
            float dy = tile[c].y - y;
            float dz = tile[c].z - z;
            float r2 = dx * dx + dy * dy + dz * dz;
            if (r2 < cut * cut) {
                float r = sqrtf(r2);
                s += tile[c].w * erfcf(kappa * r) / r;
            }
        }
        __syncthreads();
    }
    if (g < ng)
        v[g] = s;
}

static double uniform()
{
    static unsigned long long s = 1234567ull;
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    return (s >> 11) * (1.0 / 9007199254740992.0);
}

int main()
{
    std::vector<Shell> sh(NBF);
    for (auto& a : sh) {
        a.x = 12.0 * uniform();
        a.y = 12.0 * uniform();
        a.z = 12.0 * uniform();
        a.alpha = 0.25 + 2.0 * uniform();
        a.norm = pow(2.0 * a.alpha / PI, 0.75);
    }
    std::vector<double> D(NBF * NBF);
    for (int i = 0; i < NBF; ++i)
        for (int j = 0; j <= i; ++j)
            D[i * NBF + j] = D[j * NBF + i] = 2.0 * uniform() - 1.0;
    const int NQ = 3000, NG = 5000;
    std::vector<float4> q(NQ);
    for (auto& c : q)
        c = make_float4(30 * uniform(), 30 * uniform(), 30 * uniform(), uniform() < 0.5 ? -0.8f : 0.8f);
    std::vector<float> gx(NG), gy(NG), gz(NG);
    for (int g = 0; g < NG; ++g) {
        gx[g] = 30 * uniform();
        gy[g] = 30 * uniform();
        gz[g] = 30 * uniform();
    }
    Shell* dSh;
    ShellPair *dP, *dC;
    double *dD, *dJ1, *dJ2, *dK;
    int* dN;
    float4* dQ;
    float *dGx, *dGy, *dGz, *dV;
    const size_t mat = NBF * NBF * sizeof(double);
    HIP_LIKE(cudaMalloc(&dSh, NBF * sizeof(Shell)));
    HIP_LIKE(cudaMalloc(&dP, NPAIR * sizeof(ShellPair)));
    HIP_LIKE(cudaMalloc(&dC, NPAIR * sizeof(ShellPair)));
    HIP_LIKE(cudaMalloc(&dD, mat));
    HIP_LIKE(cudaMalloc(&dJ1, mat));
    HIP_LIKE(cudaMalloc(&dJ2, mat));
    HIP_LIKE(cudaMalloc(&dK, mat));
    HIP_LIKE(cudaMalloc(&dN, sizeof(int)));
    HIP_LIKE(cudaMalloc(&dQ, NQ * sizeof(float4)));
    HIP_LIKE(cudaMalloc(&dGx, NG * sizeof(float)));
    HIP_LIKE(cudaMalloc(&dGy, NG * sizeof(float)));
    HIP_LIKE(cudaMalloc(&dGz, NG * sizeof(float)));
    HIP_LIKE(cudaMalloc(&dV, NG * sizeof(float)));
    HIP_LIKE(cudaMemcpy(dSh, sh.data(), NBF * sizeof(Shell), cudaMemcpyHostToDevice));
    HIP_LIKE(cudaMemcpy(dD, D.data(), mat, cudaMemcpyHostToDevice));
    HIP_LIKE(cudaMemcpy(dQ, q.data(), NQ * sizeof(float4), cudaMemcpyHostToDevice));
    HIP_LIKE(cudaMemcpy(dGx, gx.data(), NG * sizeof(float), cudaMemcpyHostToDevice));
    HIP_LIKE(cudaMemcpy(dGy, gy.data(), NG * sizeof(float), cudaMemcpyHostToDevice));
    HIP_LIKE(cudaMemcpy(dGz, gz.data(), NG * sizeof(float), cudaMemcpyHostToDevice));
    HIP_LIKE(cudaMemset(dJ1, 0, mat));
    HIP_LIKE(cudaMemset(dJ2, 0, mat));
    HIP_LIKE(cudaMemset(dK, 0, mat));
    HIP_LIKE(cudaMemset(dN, 0, sizeof(int)));

    const double tau = 1e-11;
    makePairs<<<dim3((NBF + 15) / 16, (NBF + 15) / 16), dim3(16, 16)>>>(dSh, dP);
    std::vector<ShellPair> hp(NPAIR);
    HIP_LIKE(cudaMemcpy(hp.data(), dP, NPAIR * sizeof(ShellPair), cudaMemcpyDeviceToHost));
    double qmax = 0;
    for (auto& p : hp)
        qmax = std::max(qmax, p.q);
    compactPairs<<<(NPAIR + 127) / 128, 128>>>(dP, qmax, tau, dC, dN);
    jThread<<<(NPAIR + 63) / 64, 64>>>(dC, dN, dD, dJ1, tau);
    jWarp<<<(NPAIR * 32 + 127) / 128, 128>>>(dC, dN, dD, dJ2, tau);
    kQuartets<<<dim3(4, (NPAIR + 7) / 8), dim3(32, 8)>>>(dC, dN, dD, dK, tau);
    const float kappa = 0.3f, cut = 9.0f;
    screenedSum<<<(NG + 127) / 128, 128, 128 * sizeof(float4)>>>(dQ, NQ, dGx, dGy, dGz, NG, kappa, cut, dV);
    HIP_LIKE(cudaGetLastError());
    HIP_LIKE(cudaDeviceSynchronize());

    std::vector<double> J1(NBF * NBF), J2(NBF * NBF), K(NBF * NBF), Jr(NBF * NBF, 0.0), Kr(NBF * NBF, 0.0);
    std::vector<float> v(NG);
    int np;
    HIP_LIKE(cudaMemcpy(J1.data(), dJ1, mat, cudaMemcpyDeviceToHost));
    HIP_LIKE(cudaMemcpy(J2.data(), dJ2, mat, cudaMemcpyDeviceToHost));
    HIP_LIKE(cudaMemcpy(K.data(), dK, mat, cudaMemcpyDeviceToHost));
    HIP_LIKE(cudaMemcpy(v.data(), dV, NG * sizeof(float), cudaMemcpyDeviceToHost));
    HIP_LIKE(cudaMemcpy(&np, dN, sizeof(int), cudaMemcpyDeviceToHost));

    std::vector<ShellPair> full(NBF * NBF);
    for (int i = 0; i < NBF; ++i)
        for (int j = 0; j < NBF; ++j)
            full[i * NBF + j] = formPair(sh[i], sh[j], i, j);
    for (int ij = 0; ij < NBF * NBF; ++ij)
        for (int kl = 0; kl < NBF * NBF; ++kl) {
            if (fabs(full[ij].k * full[kl].k) < 1e-16)
                continue;
            double e = eri(full[ij], full[kl]);
            int i = ij / NBF, j = ij % NBF, k = kl / NBF, l = kl % NBF;
            Jr[ij] += D[kl] * e;
            Kr[i * NBF + k] += D[j * NBF + l] * e;
        }
    double e1 = 0, e2 = 0, e3 = 0, e4 = 0;
    for (int i = 0; i < NBF * NBF; ++i) {
        e1 = std::max(e1, fabs(J1[i] - Jr[i]));
        e2 = std::max(e2, fabs(J2[i] - Jr[i]));
        e3 = std::max(e3, fabs(K[i] - Kr[i]));
    }
    for (int g = 0; g < NG; g += 4) {
        double s = 0, mag = 1;
        for (int c = 0; c < NQ; ++c) {
            double dx = q[c].x - gx[g], dy = q[c].y - gy[g], dz = q[c].z - gz[g];
            double r = sqrt(dx * dx + dy * dy + dz * dz);
            if (r < cut) {
                s += q[c].w * erfc(kappa * r) / r;
                mag += fabs(q[c].w * erfc(kappa * r) / r);
            }
        }
        e4 = std::max(e4, fabs(s - v[g]) / mag);
    }
    printf("%d of %d pairs kept; J %.2e %.2e K %.2e, screened sum %.2e\n", np, NPAIR, e1, e2, e3, e4);
    bool ok = e1 < 1e-6 && e2 < 1e-6 && e3 < 1e-6 && e4 < 1e-3;
    puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
