/* 2-D Ising model, checkerboard Metropolis. Black and white sites are kept in two arrays of half width.
 * Acceptance compares 32-bit integers, so that host and device agree exactly.
 */
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

typedef signed char spin;

#define LX 768                 /* even */
#define LY 500
#define HX (LX / 2)

__constant__ unsigned int accept_below[10];      /* index: (spin * neighbour sum + 4) / 2 */

#define GPU_CALL(...)                                                                        \
    do {                                                                                     \
        cudaError_t _st = (__VA_ARGS__);                                                     \
        if (_st != cudaSuccess) {                                                            \
            fprintf(stderr, "%s failed (%s)\n", #__VA_ARGS__, cudaGetErrorString(_st));      \
            exit(EXIT_FAILURE);                                                              \
        }                                                                                    \
    } while (0)

/* Philox 4x32 with 7 rounds */
__host__ __device__ static inline void philox(unsigned int key, unsigned int c[4])
{
    unsigned int k0 = key, k1 = 0x5eed;
    for (int r = 0; r < 7; r++) {
        unsigned long long p0 = 0xD2511F53ull * c[0], p1 = 0xCD9E8D57ull * c[2];
        unsigned int a = (unsigned int)(p1 >> 32) ^ c[1] ^ k0, b = (unsigned int)(p0 >> 32) ^ c[3] ^ k1;
        c[0] = a; c[1] = (unsigned int)p1;
        c[2] = b; c[3] = (unsigned int)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

__host__ __device__ static inline unsigned int draw(unsigned int seed, unsigned int step, unsigned int site)
{
    unsigned int c[4] = {site, step, 0, 0};
    philox(seed, c);
    return c[0];
}

__global__ void init_spins(spin *lattice, int count, unsigned int seed, unsigned int color)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        lattice[i] = draw(seed, 1000 + color, i) & 0x10000 ? 1 : -1;
}

/* color 0: sites with (x + y) even */
template <int COLOR>
__global__ void sweep(spin *__restrict__ mine, const spin *__restrict__ other, unsigned int seed, unsigned int step)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;     /* column in the half-width array */
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (j >= HX || y >= LY)
        return;
    const int up = y == 0 ? LY - 1 : y - 1, down = y == LY - 1 ? 0 : y + 1;
    /* the fourth neighbour is left or right, by the parity of the row */
    int side;
    if ((y & 1) == COLOR)
        side = j == 0 ? HX - 1 : j - 1;
    else
        side = j == HX - 1 ? 0 : j + 1;
    const int sum = other[up * HX + j] + other[down * HX + j] + other[y * HX + j] + other[y * HX + side];
    const spin s = mine[y * HX + j];
    if (draw(seed, step * 2 + COLOR, y * HX + j) <= accept_below[(s * sum + 4) / 2])
        mine[y * HX + j] = -s;
}

/* magnetisation by char4 and bonds to the right-hand/down neighbours through the black sites */
__global__ void magnetisation(const char4 *black, const char4 *white, int n4, long long *total)
{
    __shared__ int part[256];
    int sum = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n4; i += gridDim.x * 256) {
        char4 a = black[i], b = white[i];
        sum += a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w;
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = 1; s < 256; s *= 2) {
        int at = 2 * s * threadIdx.x;
        if (at < 256)
            part[at] += part[at + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd((unsigned long long *)total, (unsigned long long)(long long)part[0]);
}

/* correlation of each row with the row `r` below, full lattice rebuilt on the fly; one block a row */
__global__ void row_correlation(const spin *black, const spin *white, int r, int *corr)
{
    __shared__ int warp_sum[4];
    const int y = blockIdx.x, y2 = (y + r) % LY;
    int sum = 0;
    for (int x = threadIdx.x; x < LX; x += blockDim.x) {
        spin a = ((x + y) & 1 ? white : black)[y * HX + x / 2];
        spin b = ((x + y2) & 1 ? white : black)[y2 * HX + x / 2];
        sum += a * b;
    }
    sum = __reduce_add_sync(0xffffffffu, sum);
    if (threadIdx.x % 32 == 0)
        warp_sum[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        corr[y] = warp_sum[0] + warp_sum[1] + warp_sum[2] + warp_sum[3];
}

static void host_sweep(int color, std::vector<spin> &mine, const std::vector<spin> &other, const unsigned int *acc, unsigned int seed, unsigned int step)
{
    /* through full coordinates, unlike the kernel */
    for (int y = 0; y < LY; y++)
        for (int x = 0; x < LX; x++) {
            if (((x + y) & 1) != color) continue;
            int xl = (x + LX - 1) % LX, xr = (x + 1) % LX, yu = (y + LY - 1) % LY, yd = (y + 1) % LY;
            int sum = other[y * HX + xl / 2] + other[y * HX + xr / 2] + other[yu * HX + x / 2] + other[yd * HX + x / 2];
            int i = y * HX + x / 2;
            if (draw(seed, step * 2 + color, i) <= acc[(mine[i] * sum + 4) / 2]) mine[i] = -mine[i];
        }
}

int main(int argc, char **argv)
{
    const double temperature = argc > 1 ? atof(argv[1]) : 2.2;
    const int steps = argc > 2 ? atoi(argv[2]) : 2;
    const unsigned int seed = 4711;
    const int half = HX * LY;

    unsigned int acc[10] = {0};
    for (int i = 0; i < 5; i++) {
        double p = exp(-2.0 * (2 * i - 4) / temperature);
        acc[i] = p >= 1.0 ? 0xffffffffu : (unsigned int)(p * 4294967295.0);
    }

    spin *db, *dw;
    int *dcorr;
    long long *dtotal, total;
    GPU_CALL(cudaMalloc(&db, half));
    GPU_CALL(cudaMalloc(&dw, half));
    GPU_CALL(cudaMalloc(&dcorr, LY * sizeof(int)));
    GPU_CALL(cudaMalloc(&dtotal, sizeof(long long)));
    GPU_CALL(cudaMemset(dtotal, 0, sizeof(long long)));
    GPU_CALL(cudaMemcpyToSymbol(accept_below, acc, sizeof acc));

    init_spins<<<80, 256>>>(db, half, seed, 0);
    init_spins<<<80, 256>>>(dw, half, seed, 1);
    const dim3 block(64, 4), grid((HX + 63) / 64, (LY + 3) / 4);
    for (int s = 0; s < steps; s++) {
        sweep<0><<<grid, block>>>(db, dw, seed, s);
        sweep<1><<<grid, block>>>(dw, db, seed, s);
    }
    magnetisation<<<60, 256>>>((const char4 *)db, (const char4 *)dw, half / 4, dtotal);
    row_correlation<<<LY, 128>>>(db, dw, 3, dcorr);
    GPU_CALL(cudaDeviceSynchronize());

    std::vector<spin> gotb(half), gotw(half), b(half), w(half);
    std::vector<int> corr(LY);
    GPU_CALL(cudaMemcpy(gotb.data(), db, half, cudaMemcpyDeviceToHost));
    GPU_CALL(cudaMemcpy(gotw.data(), dw, half, cudaMemcpyDeviceToHost));
    GPU_CALL(cudaMemcpy(corr.data(), dcorr, LY * sizeof(int), cudaMemcpyDeviceToHost));
    GPU_CALL(cudaMemcpy(&total, dtotal, sizeof total, cudaMemcpyDeviceToHost));

    for (int i = 0; i < half; i++) {
        b[i] = draw(seed, 1000, i) & 0x10000 ? 1 : -1;
        w[i] = draw(seed, 1001, i) & 0x10000 ? 1 : -1;
    }
    for (int s = 0; s < steps; s++) {
        host_sweep(0, b, w, acc, seed, s);
        host_sweep(1, w, b, acc, seed, s);
    }
    long long want = 0;
    for (int i = 0; i < half; i++) want += b[i] + w[i];
    int bad = (b != gotb) + (w != gotw) + (want != total);
    for (int y = 0; y < LY; y++) {
        int sum = 0, y2 = (y + 3) % LY;
        for (int x = 0; x < LX; x++)
            sum += ((x + y) % 2 ? w : b)[y * HX + x / 2] * ((x + y2) % 2 ? w : b)[y2 * HX + x / 2];
        bad += sum != corr[y];
    }
    printf("T = %.3f, m = %lld of %d\n%s\n", temperature, total, LX * LY, bad ? "FAIL" : "OK");
    return bad ? 1 : 0;
}
