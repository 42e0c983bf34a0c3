/* Lecture notes, prefix sums.
 *
 *  (a) Blelloch up-sweep / down-sweep in shared memory, with and without
 *      padding against bank conflicts; block sums scanned by a second launch.
 *  (b) two passes, reduce then scan, with warp shuffles and int4 loads.
 *
 * All scans are exclusive, on ints.
 */
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define LOG_BANKS 5
#define PAD(i) ((i) + ((i) >> LOG_BANKS))
#define SECTION 1024              /* elements per block in (a) */
#define TILE 4096                 /* elements per block in (b) */
#define TWO_PASS_THREADS 256
#define PER_THREAD (TILE / TWO_PASS_THREADS)

#define SAFE(x) safe((x), #x, __LINE__)
static void safe(cudaError_t e, const char *s, int line)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "line %d: %s: %s\n", line, s, cudaGetErrorString(e));
        exit(1);
    }
}

template <bool PADDED>
__device__ __forceinline__ int slot(int i) { return PADDED ? PAD(i) : i; }

/* 512 threads scan 1024 elements; the total goes to blockSums if wanted */
template <bool PADDED>
__global__ void blelloch(const int *in, int *out, int *blockSums, int n)
{
    extern __shared__ int temp[];
    const int tid = threadIdx.x;
    const int base = blockIdx.x * SECTION;
    int ai, bi;
    if (PADDED) {                 /* coalesced, two halves */
        ai = tid;
        bi = tid + SECTION / 2;
    } else {                      /* pairs, as in the first version on the slides */
        ai = 2 * tid;
        bi = 2 * tid + 1;
    }
    temp[slot<PADDED>(ai)] = base + ai < n ? in[base + ai] : 0;
    temp[slot<PADDED>(bi)] = base + bi < n ? in[base + bi] : 0;

    int offset = 1;
    for (int d = SECTION >> 1; d > 0; d >>= 1) {          /* up-sweep */
        __syncthreads();
        if (tid < d) {
            int l = slot<PADDED>(offset * (2 * tid + 1) - 1);
            int r = slot<PADDED>(offset * (2 * tid + 2) - 1);
            temp[r] += temp[l];
        }
        offset *= 2;
    }
    if (tid == 0) {
        int last = slot<PADDED>(SECTION - 1);
        if (blockSums) blockSums[blockIdx.x] = temp[last];
        temp[last] = 0;
    }
    for (int d = 1; d < SECTION; d *= 2) {                /* down-sweep */
        offset >>= 1;
        __syncthreads();
        if (tid < d) {
            int l = slot<PADDED>(offset * (2 * tid + 1) - 1);
            int r = slot<PADDED>(offset * (2 * tid + 2) - 1);
            int t = temp[l];
            temp[l] = temp[r];
            temp[r] += t;
        }
    }
    __syncthreads();
    if (base + ai < n) out[base + ai] = temp[slot<PADDED>(ai)];
    if (base + bi < n) out[base + bi] = temp[slot<PADDED>(bi)];
}

__global__ void addOffsets(int *data, const int *offsets, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] += offsets[i / SECTION];
}

/* ---- two-pass version --------------------------------------------------- */

__device__ int warpInclusive(int v, int lane)
{
    for (int d = 1; d < 32; d <<= 1) {
        int up = __shfl_up_sync(0xffffffff, v, d);
        if (lane >= d) v += up;
    }
    return v;
}

__global__ void __launch_bounds__(TWO_PASS_THREADS)
tileReduce(const int4 *__restrict__ in, int *__restrict__ tileSums)
{
    __shared__ int warpSums[TWO_PASS_THREADS / 32];
    const int4 *tile = in + blockIdx.x * (TILE / 4);
    int sum = 0;
#pragma unroll
    for (int k = 0; k < PER_THREAD / 4; k++) {
        int4 v = tile[k * TWO_PASS_THREADS + threadIdx.x];
        sum += v.x + v.y + v.z + v.w;
    }
    sum = __reduce_add_sync(0xffffffff, sum);
    if (threadIdx.x % 32 == 0) warpSums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        int total = 0;
        for (int w = 0; w < TWO_PASS_THREADS / 32; w++) total += warpSums[w];
        tileSums[blockIdx.x] = total;
    }
}

/* every block adds up the sums of the tiles before it, then scans its own tile;
   each thread owns 16 consecutive ints (four int4, 64 bytes apart per lane) */
__global__ void __launch_bounds__(TWO_PASS_THREADS)
tileScan(const int4 *__restrict__ in, int4 *__restrict__ out, const int *__restrict__ tileSums)
{
    __shared__ int warpSums[TWO_PASS_THREADS / 32];
    __shared__ int before;
    const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    if (tid == 0) before = 0;
    __syncthreads();
    int part = 0;
    for (int t = tid; t < (int)blockIdx.x; t += TWO_PASS_THREADS) part += tileSums[t];
    part = __reduce_add_sync(0xffffffff, part);
    if (lane == 0 && part != 0) atomicAdd(&before, part);

    const int first = blockIdx.x * (TILE / 4) + tid * (PER_THREAD / 4);
    int4 v[PER_THREAD / 4];
    int sum = 0;
#pragma unroll
    for (int k = 0; k < PER_THREAD / 4; k++) {
        v[k] = in[first + k];
        sum += v[k].x + v[k].y + v[k].z + v[k].w;
    }
    int incl = warpInclusive(sum, lane);
    if (lane == 31) warpSums[warp] = incl;
    __syncthreads();
    int running = before + incl - sum;
    for (int w = 0; w < warp; w++) running += warpSums[w];
#pragma unroll
    for (int k = 0; k < PER_THREAD / 4; k++) {
        int4 o;
        o.x = running;
        o.y = o.x + v[k].x;
        o.z = o.y + v[k].y;
        o.w = o.z + v[k].z;
        running = o.w + v[k].w;
        out[first + k] = o;
    }
}

static int countWrong(const char *title, const int *dOut, const std::vector<int> &ref)
{
    std::vector<int> got(ref.size());
    SAFE(cudaMemcpy(got.data(), dOut, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (size_t i = 0; i < ref.size(); i++) wrong += got[i] != ref[i];
    printf("%-20s %d wrong\n", title, wrong);
    return wrong;
}

template <bool PADDED>
static int runBlelloch(const char *title, const int *dIn, int *dOut, int *dSums, int *dOffs,
                       int n, const std::vector<int> &ref)
{
    const int blocks = (n + SECTION - 1) / SECTION;      /* at most SECTION */
    const size_t smem = (PADDED ? PAD(SECTION) : SECTION) * sizeof(int);
    SAFE(cudaMemset(dOut, 0xff, n * sizeof(int)));
    blelloch<PADDED><<<blocks, SECTION / 2, smem>>>(dIn, dOut, dSums, n);
    blelloch<PADDED><<<1, SECTION / 2, smem>>>(dSums, dOffs, nullptr, blocks);
    addOffsets<<<(n + 255) / 256, 256>>>(dOut, dOffs, n);
    SAFE(cudaGetLastError());
    return countWrong(title, dOut, ref);
}

int main()
{
    const int n = 1 << 20;
    std::vector<int> in(n), ref(n);
    unsigned s = 31337;
    int acc = 0;
    for (int i = 0; i < n; i++) {
        s = s * 1103515245u + 12345u;
        in[i] = (int)((s >> 16) % 201u) - 100;
        ref[i] = acc;
        acc += in[i];
    }
    int *dIn, *dOut, *dSums, *dOffs;
    SAFE(cudaMalloc(&dIn, n * sizeof(int)));
    SAFE(cudaMalloc(&dOut, n * sizeof(int)));
    SAFE(cudaMalloc(&dSums, SECTION * sizeof(int)));
    SAFE(cudaMalloc(&dOffs, SECTION * sizeof(int)));
    SAFE(cudaMemcpy(dIn, in.data(), n * sizeof(int), cudaMemcpyHostToDevice));

    int wrong = 0;
    wrong += runBlelloch<false>("blelloch, plain", dIn, dOut, dSums, dOffs, n, ref);
    wrong += runBlelloch<true>("blelloch, padded", dIn, dOut, dSums, dOffs, n, ref);

    SAFE(cudaMemset(dOut, 0xff, n * sizeof(int)));
    tileReduce<<<n / TILE, TWO_PASS_THREADS>>>((const int4 *)dIn, dSums);
    tileScan<<<n / TILE, TWO_PASS_THREADS>>>((const int4 *)dIn, (int4 *)dOut, dSums);
    SAFE(cudaGetLastError());
    wrong += countWrong("reduce then scan", dOut, ref);

    cudaFree(dIn); cudaFree(dOut); cudaFree(dSums); cudaFree(dOffs);
    puts(wrong ? "FAIL" : "PASS");
    return wrong ? 1 : 0;
}
