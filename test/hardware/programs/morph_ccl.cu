// Blob extraction: threshold, opening (erosion and dilation), connected component labels (4-neighbourhood) and areas.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned char u8;

#define WIDTH   1000
#define HEIGHT  750
#define PITCH   1024
#define BX 32
#define BY 8

#define cudaSafe(err) __cudaSafe(err, __FILE__, __LINE__)
inline void __cudaSafe(cudaError_t err, const char *file, const int line)
{
    if (cudaSuccess != err) {
        printf("%s(%d) : CUDA error %d: %s\n", file, line, (int)err, cudaGetErrorString(err));
        exit(-1);
    }
}

struct OpMin { static __device__ __forceinline__ u8 neutral() { return 255; } static __device__ __forceinline__ int apply(int a, int b) { return min(a, b); } };
struct OpMax { static __device__ __forceinline__ u8 neutral() { return 0; }   static __device__ __forceinline__ int apply(int a, int b) { return max(a, b); } };

// Shared tile with a halo of R bytes on each side.
template <class OP, int R>
__global__ void morphology(const u8 *src, u8 *dst, int width, int height, int pitch)
{
    __shared__ u8 tile[BY + 2 * R][BX + 2 * R];
    int x0 = blockIdx.x * BX - R, y0 = blockIdx.y * BY - R;
    for (int k = threadIdx.y * BX + threadIdx.x; k < (BY + 2 * R) * (BX + 2 * R); k += BX * BY) {
        int tx = k % (BX + 2 * R), ty = k / (BX + 2 * R);
        int x = x0 + tx, y = y0 + ty;
        tile[ty][tx] = (x >= 0 && y >= 0 && x < width && y < height) ? src[y * pitch + x] : OP::neutral();
    }
    __syncthreads();
    int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y;
    if (x >= width || y >= height) return;
    int v = OP::neutral();
#pragma unroll
    for (int dy = 0; dy <= 2 * R; dy++)
#pragma unroll
        for (int dx = 0; dx <= 2 * R; dx++)
            v = OP::apply(v, tile[threadIdx.y + dy][threadIdx.x + dx]);
    dst[y * pitch + x] = (u8)v;
}

// Four pixels per thread.
__global__ void thresholdKernel(const uchar4 *src, uchar4 *dst, int n4, int level)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n4) return;
    uchar4 p = src[i];
    p.x = p.x > level ? 255 : 0;
    p.y = p.y > level ? 255 : 0;
    p.z = p.z > level ? 255 : 0;
    p.w = p.w > level ? 255 : 0;
    dst[i] = p;
}

/* ------------------------------------------------------------------ union-find on the pixel grid, label = smallest index */
__device__ int findRoot(const volatile int *label, int p)
{
    while (p != label[p]) p = label[p];
    return p;
}

__device__ void unite(int *label, int a, int b)
{
    bool done;
    do {
        a = findRoot(label, a);
        b = findRoot(label, b);
        if (a < b) {
            int old = atomicMin(&label[b], a);
            done = old == b;
            b = old;
        } else if (b < a) {
            int old = atomicMin(&label[a], b);
            done = old == a;
            a = old;
        } else
            done = true;
    } while (!done);
}

// Runs of a row in a warp are joined by a ballot: the label starts at the first pixel of the run.
__global__ void ccl_init(const u8 *img, int *label, int width, int height, int pitch)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    bool inside = x < width && y < height;
    bool on = inside && img[y * pitch + x];
    unsigned row = __ballot_sync(0xffffffffu, on);
    if (!inside) return;
    if (on) {
        int lane = threadIdx.x & 31;
        unsigned below = ~row & ((1u << lane) - 1);      // unset pixels left of this one
        int start = below ? 32 - __clz(below) : 0;
        label[y * width + x] = y * width + x - (lane - start);
    } else
        label[y * width + x] = -1;
}

__global__ void ccl_merge(int *label, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int i = y * width + x;
    if (label[i] < 0) return;
    if (x > 0 && (x & 31) == 0 && label[i - 1] >= 0) unite(label, i, i - 1);
    if (y > 0 && label[i - width] >= 0) unite(label, i, i - width);
}

__global__ void ccl_compress_count(int *label, int *area, int total)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int l = label[i];
    if (l < 0) return;
    int r = findRoot(label, l);
    label[i] = r;
    atomicAdd(&area[r], 1);
}

/* ------------------------------------------------------------------ host */
static int rootCpu(int *p, int i) { while (p[i] != i) i = p[i] = p[p[i]]; return i; }

static void morphCpu(const u8 *s, u8 *d, int r, int isMax)
{
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            int v = isMax ? 0 : 255;
            for (int dy = -r; dy <= r; dy++)
                for (int dx = -r; dx <= r; dx++) {
                    int X = x + dx, Y = y + dy;
                    if (X < 0 || Y < 0 || X >= WIDTH || Y >= HEIGHT) continue;
                    int q = s[Y * PITCH + X];
                    v = isMax ? (q > v ? q : v) : (q < v ? q : v);
                }
            d[y * PITCH + x] = (u8)v;
        }
}

int main(int argc, char **argv)
{
    int level = argc > 1 ? atoi(argv[1]) : 118;
    size_t bytes = (size_t)PITCH * HEIGHT, total = (size_t)WIDTH * HEIGHT;
    u8 *img = (u8 *)malloc(bytes), *a = (u8 *)calloc(bytes, 1), *b = (u8 *)calloc(bytes, 1), *got = (u8 *)malloc(bytes);
    unsigned seed = 12345;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < PITCH; x++) {
            seed = seed * 1664525u + 1013904223u;
            int wave = (x * x / 97 + y * y / 61 + x * y / 211) & 127;
            img[y * PITCH + x] = (u8)(wave + (seed >> 24) % 96);
        }

    u8 *dImg, *dBin, *dTmp, *dOpen;
    int *dLabel, *dArea;
    cudaSafe(cudaMalloc((void **)&dImg, bytes));
    cudaSafe(cudaMalloc((void **)&dBin, bytes));
    cudaSafe(cudaMalloc((void **)&dTmp, bytes));
    cudaSafe(cudaMalloc((void **)&dOpen, bytes));
    cudaSafe(cudaMalloc((void **)&dLabel, total * sizeof(int)));
    cudaSafe(cudaMalloc((void **)&dArea, total * sizeof(int)));
    cudaSafe(cudaMemset(dTmp, 0, bytes));
    cudaSafe(cudaMemset(dOpen, 0, bytes));
    cudaSafe(cudaMemset(dArea, 0, total * sizeof(int)));
    cudaSafe(cudaMemcpy(dImg, img, bytes, cudaMemcpyHostToDevice));

    dim3 block(BX, BY), grid((WIDTH + BX - 1) / BX, (HEIGHT + BY - 1) / BY);
    thresholdKernel<<<(int)((bytes / 4 + 255) / 256), 256>>>((uchar4 *)dImg, (uchar4 *)dBin, (int)(bytes / 4), level);
    morphology<OpMin, 1><<<grid, block>>>(dBin, dTmp, WIDTH, HEIGHT, PITCH);
    morphology<OpMax, 2><<<grid, block>>>(dTmp, dOpen, WIDTH, HEIGHT, PITCH);
    ccl_init<<<grid, block>>>(dOpen, dLabel, WIDTH, HEIGHT, PITCH);
    ccl_merge<<<grid, block>>>(dLabel, WIDTH, HEIGHT);
    ccl_compress_count<<<(int)((total + 127) / 128), 128>>>(dLabel, dArea, (int)total);
    cudaSafe(cudaGetLastError());
    cudaSafe(cudaDeviceSynchronize());

    int *label = (int *)malloc(total * sizeof(int)), *area = (int *)malloc(total * sizeof(int));
    cudaSafe(cudaMemcpy(got, dOpen, bytes, cudaMemcpyDeviceToHost));
    cudaSafe(cudaMemcpy(label, dLabel, total * sizeof(int), cudaMemcpyDeviceToHost));
    cudaSafe(cudaMemcpy(area, dArea, total * sizeof(int), cudaMemcpyDeviceToHost));

    for (size_t i = 0; i < bytes; i++) img[i] = img[i] > level ? 255 : 0;
    morphCpu(img, a, 1, 0);
    morphCpu(a, b, 2, 1);
    int *parent = (int *)malloc(total * sizeof(int)), *count = (int *)calloc(total, sizeof(int));
    for (size_t i = 0; i < total; i++) parent[i] = (int)i;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            if (!b[y * PITCH + x]) continue;
            for (int k = 0; k < 2; k++) {
                int X = k ? x : x - 1, Y = k ? y - 1 : y;
                if (X < 0 || Y < 0 || !b[Y * PITCH + X]) continue;
                int p = rootCpu(parent, y * WIDTH + x), q = rootCpu(parent, Y * WIDTH + X);
                if (p < q) parent[q] = p; else parent[p] = q;
            }
        }
    int wrong = 0, blobs = 0, pixels = 0;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            int i = y * WIDTH + x, on = b[y * PITCH + x] != 0;
            wrong += got[y * PITCH + x] != b[y * PITCH + x];
            int want = on ? rootCpu(parent, i) : -1;
            wrong += label[i] != want;
            if (on) { count[want]++; pixels++; blobs += want == i; }
        }
    for (size_t i = 0; i < total; i++) wrong += count[i] != area[i];
    printf("%d blobs in %d pixels, %d mismatches\n", blobs, pixels, wrong);
    return wrong != 0;
}
