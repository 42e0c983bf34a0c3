// Parallel tempering of the 2-D Edwards-Anderson +-J spin glass. Integer acceptance thresholds, counter-based RNG.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int L = 64;
constexpr int NS = L * L;
constexpr int R = 24;

#define CHK(x)                                                                             \
    if (auto e = (x); e != cudaSuccess) {                                                  \
        std::fprintf(stderr, "[%s:%d] %s\n", __FILE__, __LINE__, cudaGetErrorString(e));   \
        std::exit(1);                                                                      \
    }

__host__ __device__ inline uint32_t mix(uint32_t a, uint32_t b, uint32_t c)
{
    uint64_t x = (uint64_t)a * 0x9E3779B97F4A7C15ull ^ (uint64_t)b * 0xC2B2AE3D27D4EB4Full ^ (uint64_t)c * 0x165667B19E3779F9ull;
    x ^= x >> 31;
    x *= 0xBF58476D1CE4E5B9ull;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBull;
    return (uint32_t)(x >> 32);
}

struct Bonds {
    const int8_t* right;
    const int8_t* down;
};

__host__ __device__ inline int localField(const int8_t* s, const int8_t* jr, const int8_t* jd, int x, int y)
{
    int xr = (x + 1) % L;
    int xl = (x + L - 1) % L;
    int yd = (y + 1) % L;
    int yu = (y + L - 1) % L;
    return s[y * L + xr] * jr[y * L + x] + s[y * L + xl] * jr[y * L + xl] + s[yd * L + x] * jd[y * L + x] + s[yu * L + x] * jd[yu * L + x];
}

// one checkerboard colour, spins byte-per-site in global memory; grid.y = replica
__global__ void sweepGlobal(int8_t* spins, Bonds b, const uint32_t* thr, const int* tempOf, int colour, uint32_t step)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    int rep = blockIdx.y;
    if (k >= NS / 2)
        return;
    int y = k / (L / 2);
    int x = 2 * (k % (L / 2)) + ((y + colour) & 1);
    int8_t* s = spins + rep * NS;
    int h = s[y * L + x] * localField(s, b.right, b.down, x, y);
    bool flip = h <= 0;
    if (!flip)
        flip = mix(step * 2 + colour, rep, y * L + x) < thr[tempOf[rep] * 5 + h];
    if (flip)
        s[y * L + x] = -s[y * L + x];
}

// whole replica in shared memory, several full sweeps per launch
__global__ void sweepShared(int8_t* spins, Bonds b, const uint32_t* thr, const int* tempOf, uint32_t step0, int nsweeps)
{
    __shared__ __align__(16) int8_t s[NS];
    __shared__ uint32_t t[5];
    int rep = blockIdx.x;
    const int* src = reinterpret_cast<const int*>(spins + rep * NS);
    for (int i = threadIdx.x; i < NS / 4; i += blockDim.x)
        reinterpret_cast<int*>(s)[i] = src[i];
    if (threadIdx.x < 5)
        t[threadIdx.x] = thr[tempOf[rep] * 5 + threadIdx.x];
    __syncthreads();
    for (int w = 0; w < nsweeps; ++w) {
        for (int colour = 0; colour < 2; ++colour) {
            for (int k = threadIdx.x; k < NS / 2; k += blockDim.x) {
                int y = k / (L / 2);
                int x = 2 * (k % (L / 2)) + ((y + colour) & 1);
                int h = s[y * L + x] * localField(s, b.right, b.down, x, y);
                bool flip = h <= 0;
                if (!flip)
                    flip = mix((step0 + w) * 2 + colour, rep, y * L + x) < t[h];
                if (flip)
                    s[y * L + x] = -s[y * L + x];
            }
            __syncthreads();
        }
    }
    for (int i = threadIdx.x; i < NS / 4; i += blockDim.x)
        reinterpret_cast<int*>(spins + rep * NS)[i] = reinterpret_cast<int*>(s)[i];
}

__global__ void energies(const int8_t* spins, Bonds b, int* energy)
{
    int rep = blockIdx.x;
    const int8_t* s = spins + rep * NS;
    int e = 0;
    for (int i = threadIdx.x; i < NS; i += blockDim.x) {
        int x = i % L;
        int y = i / L;
        e -= s[i] * (s[y * L + (x + 1) % L] * b.right[i] + s[(y + 1) % L * L + x] * b.down[i]);
    }
    e = __reduce_add_sync(0xffffffffu, e);
    __shared__ int part[8];
    if ((threadIdx.x & 31) == 0)
        part[threadIdx.x >> 5] = e;
    __syncthreads();
    if (threadIdx.x == 0) {
        int tot = 0;
        for (int w = 0; w < 8; ++w)
            tot += part[w];
        energy[rep] = tot;
    }
}

__host__ __device__ inline bool acceptSwap(double db, int de, uint32_t u)
{
    double a = db * de;
    return a >= 0 || u < exp(a) * 4294967296.0;
}

// neighbouring temperatures exchange replicas; thread per pair
__global__ void exchange(const int* energy, const double* beta, int* tempOf, int* repAt, int parity, uint32_t step)
{
    int lo = 2 * threadIdx.x + parity;
    if (lo + 1 >= R)
        return;
    int a = repAt[lo];
    int c = repAt[lo + 1];
    if (acceptSwap(beta[lo] - beta[lo + 1], energy[a] - energy[c], mix(step, 0xABCDu, lo))) {
        repAt[lo] = c;
        repAt[lo + 1] = a;
        tempOf[a] = lo + 1;
        tempOf[c] = lo;
    }
}

// overlap of all replica pairs: bit-packed, warp per pair
__global__ void packSpins(const int8_t* spins, uint32_t* bits)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned m = __ballot_sync(0xffffffffu, spins[i] > 0);
    if ((threadIdx.x & 31) == 0)
        bits[i / 32] = m;
}

__global__ void overlaps(const uint32_t* bits, int* q)
{
    int a = blockIdx.x;
    int c = threadIdx.y;
    int d = 0;
    for (int w = threadIdx.x; w < NS / 32; w += 32)
        d += __popc(bits[a * (NS / 32) + w] ^ bits[c * (NS / 32) + w]);
    for (int o = 16; o; o >>= 1)
        d += __shfl_xor_sync(0xffffffffu, d, o);
    if (threadIdx.x == 0)
        q[a * R + c] = NS - 2 * d;
}

int main()
{
    std::vector<int8_t> spins(R * NS), jr(NS), jd(NS);
    for (int i = 0; i < NS; ++i) {
        jr[i] = mix(1, 2, i) & 1 ? 1 : -1;
        jd[i] = mix(3, 4, i) & 1 ? 1 : -1;
    }
    for (int i = 0; i < R * NS; ++i)
        spins[i] = mix(5, 6, i) & 1 ? 1 : -1;
    std::vector<double> beta(R);
    std::vector<uint32_t> thr(R * 5);
    std::vector<int> tempOf(R), repAt(R);
    for (int t = 0; t < R; ++t) {
        beta[t] = 1.5 - 0.05 * t;
        tempOf[t] = repAt[t] = t;
        for (int h = 0; h < 5; ++h)
            thr[t * 5 + h] = (uint32_t)(std::exp(-2.0 * beta[t] * h) * 4294967295.0);
    }
    int8_t *dS, *dJr, *dJd;
    uint32_t *dThr, *dBits;
    int *dT, *dRep, *dE, *dQ;
    double* dBeta;
    CHK(cudaMalloc(&dS, R * NS));
    CHK(cudaMalloc(&dJr, NS));
    CHK(cudaMalloc(&dJd, NS));
    CHK(cudaMalloc(&dThr, R * 5 * 4));
    CHK(cudaMalloc(&dBits, R * NS / 8));
    CHK(cudaMalloc(&dT, R * 4));
    CHK(cudaMalloc(&dRep, R * 4));
    CHK(cudaMalloc(&dE, R * 4));
    CHK(cudaMalloc(&dQ, R * R * 4));
    CHK(cudaMalloc(&dBeta, R * 8));
    CHK(cudaMemcpy(dS, spins.data(), R * NS, cudaMemcpyHostToDevice));
    CHK(cudaMemcpy(dJr, jr.data(), NS, cudaMemcpyHostToDevice));
    CHK(cudaMemcpy(dJd, jd.data(), NS, cudaMemcpyHostToDevice));
    CHK(cudaMemcpy(dThr, thr.data(), R * 5 * 4, cudaMemcpyHostToDevice));
    CHK(cudaMemcpy(dT, tempOf.data(), R * 4, cudaMemcpyHostToDevice));
    CHK(cudaMemcpy(dRep, repAt.data(), R * 4, cudaMemcpyHostToDevice));
    CHK(cudaMemcpy(dBeta, beta.data(), R * 8, cudaMemcpyHostToDevice));
    Bonds b{dJr, dJd};

    const int rounds = 3, inner = 8;
    uint32_t step = 0;
    for (int r = 0; r < rounds; ++r) {
        sweepGlobal<<<dim3(NS / 2 / 256, R), 256>>>(dS, b, dThr, dT, 0, step);
        sweepGlobal<<<dim3(NS / 2 / 256, R), 256>>>(dS, b, dThr, dT, 1, step);
        ++step;
        sweepShared<<<R, 256>>>(dS, b, dThr, dT, step, inner);
        step += inner;
        energies<<<R, 256>>>(dS, b, dE);
        exchange<<<1, 32>>>(dE, dBeta, dT, dRep, r & 1, step);
    }
    packSpins<<<R * NS / 256, 256>>>(dS, dBits);
    overlaps<<<R, dim3(32, R)>>>(dBits, dQ);
    CHK(cudaGetLastError());
    CHK(cudaDeviceSynchronize());

    std::vector<int8_t> gS(R * NS);
    std::vector<int> gE(R), gT(R), gQ(R * R), E(R);
    CHK(cudaMemcpy(gS.data(), dS, R * NS, cudaMemcpyDeviceToHost));
    CHK(cudaMemcpy(gE.data(), dE, R * 4, cudaMemcpyDeviceToHost));
    CHK(cudaMemcpy(gT.data(), dT, R * 4, cudaMemcpyDeviceToHost));
    CHK(cudaMemcpy(gQ.data(), dQ, R * R * 4, cudaMemcpyDeviceToHost));

    step = 0;
    for (int r = 0; r < rounds; ++r) {
        for (int w = 0; w < inner + 1; ++w, ++step)
            for (int rep = 0; rep < R; ++rep)
                for (int colour = 0; colour < 2; ++colour)
                    for (int y = 0; y < L; ++y)
                        for (int x = (y + colour) & 1; x < L; x += 2) {
                            int8_t* s = &spins[rep * NS];
                            int h = s[y * L + x] * localField(s, jr.data(), jd.data(), x, y);
                            if (h <= 0 || mix(step * 2 + colour, rep, y * L + x) < thr[tempOf[rep] * 5 + h])
                                s[y * L + x] = -s[y * L + x];
                        }
        for (int rep = 0; rep < R; ++rep) {
            E[rep] = 0;
            const int8_t* s = &spins[rep * NS];
            for (int i = 0; i < NS; ++i)
                E[rep] -= s[i] * (s[i / L * L + (i % L + 1) % L] * jr[i] + s[(i / L + 1) % L * L + i % L] * jd[i]);
        }
        for (int lo = r & 1; lo + 1 < R; lo += 2) {
            int a = repAt[lo], c = repAt[lo + 1];
            if (acceptSwap(beta[lo] - beta[lo + 1], E[a] - E[c], mix(step, 0xABCDu, lo))) {
                repAt[lo] = c;
                repAt[lo + 1] = a;
                tempOf[a] = lo + 1;
                tempOf[c] = lo;
            }
        }
    }
    bool ok = gS == spins && gE == E && gT == tempOf;
    for (int a = 0; a < R; ++a)
        for (int c = 0; c < R; ++c) {
            int q = 0;
            for (int i = 0; i < NS; ++i)
                q += spins[a * NS + i] * spins[c * NS + i];
            ok = ok && q == gQ[a * R + c];
        }
    std::printf("coldest energy per spin %.4f\n%s\n", gE[0] / (double)NS, ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
