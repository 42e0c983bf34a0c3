// 3D Ising model, periodic, checkerboard Metropolis.
//
// Spins are signed chars.  The first sweep runs on the plain L^3 lattice, half of
// the threads idle; then the lattice is split into two colour arrays and a second
// sweep runs on those.  Philox-2x32 written by hand, one counter per (site, sweep),
// so that the CPU can follow bit by bit.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

typedef signed char spin_t;

#ifndef LATTICE_L
#define LATTICE_L 128
#endif
#define L      LATTICE_L
#define LH     (L / 2)
#define NSITES (L * L * L)
#define SITE(x, y, z)  (((z) * L + (y)) * L + (x))
#define HSITE(h, y, z) (((z) * L + (y)) * LH + (h))
#define WRAP(i)        ((i) & (L - 1))

#define CUDA_CALL(x)                                                   \
    if ((x) != cudaSuccess) {                                          \
        std::fprintf(stderr, "CUDA failure at line %d: %s\n", __LINE__, \
                     cudaGetErrorString(cudaGetLastError()));          \
        std::exit(EXIT_FAILURE);                                       \
    }

struct SimParams {
    uint32_t seed;
    uint32_t accept[7];   // index (s * sum + 6) / 2, sum of six neighbours
};

__constant__ SimParams d_par;

__host__ __device__ inline uint32_t philox2x32(uint32_t c0, uint32_t c1, uint32_t key)
{
    for (int r = 0; r < 10; ++r) {
        const uint64_t prod = (uint64_t)0xD256D193u * c0;
        const uint32_t hi = (uint32_t)(prod >> 32);
        c0 = hi ^ key ^ c1;
        c1 = (uint32_t)prod;
        key += 0x9E3779B9u;
    }
    return c0;
}

// ---- initialisation: four sites per thread, one char4 store
__global__ void init_hot(char4 *spins, uint32_t seed)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= NSITES / 4) return;
    uint32_t r = philox2x32((uint32_t)i, 0xffffffffu, seed);
    char4 s;
    s.x = (r & 0x00000007u) ? 1 : -1;
    s.y = (r & 0x00000700u) ? 1 : -1;
    s.z = (r & 0x00070000u) ? 1 : -1;
    s.w = (r & 0x07000000u) ? 1 : -1;
    spins[i] = s;
}

// ---- sweep of one colour on the full lattice
__global__ void metropolis_full(spin_t *spins, int color, uint32_t sweep)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z;
    if (((x + y + z) & 1) != color) return;

    int sum = 0;
    sum += spins[SITE(WRAP(x - 1), y, z)];
    sum += spins[SITE(WRAP(x + 1), y, z)];
    sum += spins[SITE(x, WRAP(y - 1), z)];
    sum += spins[SITE(x, WRAP(y + 1), z)];
    sum += spins[SITE(x, y, WRAP(z - 1))];
    sum += spins[SITE(x, y, WRAP(z + 1))];

    const int site = SITE(x, y, z);
    const int s = spins[site];
    const uint32_t thr = d_par.accept[(s * sum + 6) >> 1];
    const uint32_t r = philox2x32((uint32_t)site, sweep, d_par.seed);
    if (r <= thr)
        spins[site] = (spin_t)-s;
}

// ---- full lattice -> colour arrays
__global__ void split_colors(const spin_t *spins, spin_t *even, spin_t *odd)
{
    const int h = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z;
    if (h >= LH) return;
    const int par = (y + z) & 1;
    even[HSITE(h, y, z)] = spins[SITE(2 * h + par, y, z)];
    odd[HSITE(h, y, z)]  = spins[SITE(2 * h + 1 - par, y, z)];
}

// ---- sweep on colour arrays; acceptance table copied to shared memory
template <int COLOR>
__global__ void metropolis_split(spin_t *__restrict__ mine, const spin_t *__restrict__ other,
                                 uint32_t sweep)
{
    __shared__ uint32_t acc[7];
    const int tid = threadIdx.y * blockDim.x + threadIdx.x;
    if (tid < 7) acc[tid] = d_par.accept[tid];
    __syncthreads();

    const int h = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z;
    const int xodd = (COLOR + y + z) & 1;
    const int hn = xodd ? ((h + 1 == LH) ? 0 : h + 1) : ((h == 0) ? LH - 1 : h - 1);

    const int ym = WRAP(y - 1), yp = WRAP(y + 1);
    const int zm = WRAP(z - 1), zp = WRAP(z + 1);
    const int sum = other[HSITE(h, y, z)]
                  + other[HSITE(hn, y, z)]
                  + other[HSITE(h, ym, z)]
                  + other[HSITE(h, yp, z)]
                  + other[HSITE(h, y, zm)]
                  + other[HSITE(h, y, zp)];

    const int me = HSITE(h, y, z);
    const int s = mine[me];
    const uint32_t r = philox2x32((uint32_t)SITE(2 * h + xodd, y, z), sweep, d_par.seed);
    if (r <= acc[(s * sum + 6) >> 1]) mine[me] = (spin_t)-s;
}

__device__ inline int block_sum(int v, int *scratch)
{
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
    const int w = threadIdx.x >> 5;
    if ((threadIdx.x & 31) == 0) scratch[w] = v;
    __syncthreads();
    if (w == 0) {
        v = (threadIdx.x < blockDim.x / 32) ? scratch[threadIdx.x] : 0;
        for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
    }
    __syncthreads();
    return v;   // valid in thread 0
}

// ---- magnetisation and bond energy, grid-stride
__global__ void measure(const spin_t *__restrict__ spins, int *result)
{
    __shared__ int scratch[32];
    int mag = 0, bonds = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < NSITES; i += gridDim.x * blockDim.x) {
        const int x = i % L, y = (i / L) % L, z = i / (L * L);
        const int s = spins[i];
        mag += s;
        bonds += s * (spins[SITE(WRAP(x + 1), y, z)]
                    + spins[SITE(x, WRAP(y + 1), z)]
                    + spins[SITE(x, y, WRAP(z + 1))]);
    }
    mag = block_sum(mag, scratch);
    bonds = block_sum(bonds, scratch);
    if (threadIdx.x == 0) {
        atomicAdd(&result[0], mag);
        atomicAdd(&result[1], bonds);
    }
}

// ---- magnetisation of each x plane: block = one x, threads walk y and z
__global__ void profile_x(const spin_t *__restrict__ spins, int *prof)
{
    __shared__ int part[256];
    const int x = blockIdx.x;
    int m = 0;
    for (int yz = threadIdx.x; yz < L * L; yz += blockDim.x)
        m += spins[yz * L + x];
    part[threadIdx.x] = m;
    __syncthreads();
    for (int stride = 1; stride < blockDim.x; stride *= 2) {
        int idx = 2 * stride * threadIdx.x;
        if (idx + stride < blockDim.x)
            part[idx] += part[idx + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0) prof[x] = part[0];
}

// ---------------------------------------------------------------- reference

static void cpu_sweep(std::vector<spin_t> &s, int color, uint32_t sweep, const SimParams &par)
{
    for (int z = 0; z < L; ++z)
        for (int y = 0; y < L; ++y)
            for (int x = (color + y + z) & 1; x < L; x += 2) {
                const int sum = s[SITE(WRAP(x - 1), y, z)] + s[SITE(WRAP(x + 1), y, z)]
                              + s[SITE(x, WRAP(y - 1), z)] + s[SITE(x, WRAP(y + 1), z)]
                              + s[SITE(x, y, WRAP(z - 1))] + s[SITE(x, y, WRAP(z + 1))];
                const int i = SITE(x, y, z);
                if (philox2x32((uint32_t)i, sweep, par.seed) <= par.accept[(s[i] * sum + 6) >> 1])
                    s[i] = (spin_t)-s[i];
            }
}

int main(int argc, char **argv)
{
    const double beta = argc > 1 ? std::atof(argv[1]) : 0.2216544;   // critical point
    SimParams par;
    par.seed = 0xC0FFEEu;
    for (int k = 0; k < 7; ++k) {
        const double p = std::exp(-2.0 * beta * (2 * k - 6));
        par.accept[k] = p >= 1.0 ? 0xffffffffu : (uint32_t)(p * 4294967295.0);
    }

    spin_t *d_spins, *d_even, *d_odd;
    int *d_meas, *d_prof;
    CUDA_CALL(cudaMalloc(&d_spins, NSITES));
    CUDA_CALL(cudaMalloc(&d_even, NSITES / 2));
    CUDA_CALL(cudaMalloc(&d_odd, NSITES / 2));
    CUDA_CALL(cudaMalloc(&d_meas, 2 * sizeof(int)));
    CUDA_CALL(cudaMalloc(&d_prof, L * sizeof(int)));
    CUDA_CALL(cudaMemset(d_meas, 0, 2 * sizeof(int)));
    CUDA_CALL(cudaMemcpyToSymbol(d_par, &par, sizeof(par)));

    std::vector<spin_t> init(NSITES), full(NSITES), even(NSITES / 2), odd(NSITES / 2);
    std::vector<int> prof(L);
    int meas[2];

    init_hot<<<NSITES / 4 / 256, 256>>>(reinterpret_cast<char4 *>(d_spins), par.seed);
    CUDA_CALL(cudaMemcpy(init.data(), d_spins, NSITES, cudaMemcpyDeviceToHost));

    const dim3 blk(64, 4), grd(L / 64, L / 4, L);
    metropolis_full<<<grd, blk>>>(d_spins, 0, 0u);
    metropolis_full<<<grd, blk>>>(d_spins, 1, 0u);
    measure<<<264, 256>>>(d_spins, d_meas);
    profile_x<<<L, 256>>>(d_spins, d_prof);
    CUDA_CALL(cudaMemcpy(full.data(), d_spins, NSITES, cudaMemcpyDeviceToHost));

    const dim3 hblk(32, 8), hgrd(LH / 32, L / 8, L);
    split_colors<<<hgrd, hblk>>>(d_spins, d_even, d_odd);
    metropolis_split<0><<<hgrd, hblk>>>(d_even, d_odd, 1u);
    metropolis_split<1><<<hgrd, hblk>>>(d_odd, d_even, 1u);
    CUDA_CALL(cudaGetLastError());
    CUDA_CALL(cudaDeviceSynchronize());
    CUDA_CALL(cudaMemcpy(even.data(), d_even, NSITES / 2, cudaMemcpyDeviceToHost));
    CUDA_CALL(cudaMemcpy(odd.data(), d_odd, NSITES / 2, cudaMemcpyDeviceToHost));
    CUDA_CALL(cudaMemcpy(meas, d_meas, sizeof(meas), cudaMemcpyDeviceToHost));
    CUDA_CALL(cudaMemcpy(prof.data(), d_prof, L * sizeof(int), cudaMemcpyDeviceToHost));

    // follow on the host
    std::vector<spin_t> ref(NSITES);
    long bad_init = 0, bad_full = 0, bad_split = 0, bad_obs = 0;
    for (int i = 0; i < NSITES / 4; ++i) {
        const uint32_t r = philox2x32((uint32_t)i, 0xffffffffu, par.seed);
        for (int k = 0; k < 4; ++k) {
            ref[4 * i + k] = (r & (7u << (8 * k))) ? 1 : -1;
            bad_init += ref[4 * i + k] != init[4 * i + k];
        }
    }
    cpu_sweep(ref, 0, 0u, par);
    cpu_sweep(ref, 1, 0u, par);
    int mag = 0, bonds = 0;
    std::vector<int> rprof(L, 0);
    for (int z = 0; z < L; ++z)
        for (int y = 0; y < L; ++y)
            for (int x = 0; x < L; ++x) {
                const int s = ref[SITE(x, y, z)];
                bad_full += s != full[SITE(x, y, z)];
                mag += s;
                rprof[x] += s;
                bonds += s * (ref[SITE(WRAP(x + 1), y, z)] + ref[SITE(x, WRAP(y + 1), z)]
                            + ref[SITE(x, y, WRAP(z + 1))]);
            }
    bad_obs += mag != meas[0];
    bad_obs += bonds != meas[1];
    for (int x = 0; x < L; ++x) bad_obs += rprof[x] != prof[x];

    cpu_sweep(ref, 0, 1u, par);
    cpu_sweep(ref, 1, 1u, par);
    for (int z = 0; z < L; ++z)
        for (int y = 0; y < L; ++y)
            for (int x = 0; x < L; ++x) {
                const spin_t g = ((x + y + z) & 1) ? odd[HSITE(x / 2, y, z)] : even[HSITE(x / 2, y, z)];
                bad_split += g != ref[SITE(x, y, z)];
            }

    std::printf("L=%d beta=%.6f  m=%.5f  e=%.5f\n", L, beta, (double)meas[0] / NSITES, -(double)meas[1] / NSITES);
    std::printf("mismatches: init %ld full %ld split %ld observables %ld\n", bad_init, bad_full, bad_split, bad_obs);
    cudaFree(d_spins);
    cudaFree(d_even);
    cudaFree(d_odd);
    cudaFree(d_meas);
    cudaFree(d_prof);
    const bool ok = !bad_init && !bad_full && !bad_split && !bad_obs;
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
