// Summed-area table in two scans, then box blur of any radius. Row scan by warps; column scan naive and via transpose.
#include <cstdio>
#include <vector>
#include <cmath>
#include <cstdlib>
#include <cstdint>

#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line)
{
   if (code != cudaSuccess) { fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line); exit(code); }
}

__device__ unsigned warp_incl_scan(unsigned v)
{
    const int lane = threadIdx.x & 31;
    for (int d = 1; d < 32; d <<= 1) {
        unsigned t = __shfl_up_sync(0xffffffff, v, d);
        if (lane >= d) v += t;
    }
    return v;
}

// one block per row; carries between chunks
__global__ void scan_rows(const uint8_t *__restrict__ in, unsigned *__restrict__ out, int w)
{
    __shared__ unsigned wsum[32];
    __shared__ unsigned carry;
    const int row = blockIdx.x, nw = blockDim.x >> 5;
    const int lane = threadIdx.x & 31, wid = threadIdx.x >> 5;
    if (threadIdx.x == 0) carry = 0;
    __syncthreads();
    for (int x0 = 0; x0 < w; x0 += blockDim.x) {
        int x = x0 + threadIdx.x;
        unsigned v = x < w ? in[row * w + x] : 0;
        unsigned s = warp_incl_scan(v);
        if (lane == 31) wsum[wid] = s;
        __syncthreads();
        if (wid == 0) {
            unsigned t = lane < nw ? wsum[lane] : 0;
            t = warp_incl_scan(t);
            wsum[lane] = t;
        }
        __syncthreads();
        s += carry + (wid ? wsum[wid - 1] : 0);
        if (x < w) out[row * w + x] = s;
        __syncthreads();
        if (threadIdx.x == blockDim.x - 1) carry = s;
        __syncthreads();
    }
}

__global__ void scan_cols(unsigned *a, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= w) return;
    unsigned s = 0;
    for (int y = 0; y < h; ++y) {
        s += a[y * w + x];
        a[y * w + x] = s;
    }
}

// each thread scans one row sequentially (after a transpose this is the column scan)
__global__ void scan_rows_serial(unsigned *a, int w, int h)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= h) return;
    unsigned s = 0;
    for (int x = 0; x < w; ++x) { s += a[y * w + x]; a[y * w + x] = s; }
}

template <int TILE, int PAD>
__global__ void transpose(const unsigned *in, unsigned *out, int w, int h)
{
    __shared__ unsigned t[TILE][TILE + PAD];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += blockDim.y)
        if (x < w && y + j < h) t[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x; y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += blockDim.y)
        if (x < h && y + j < w) out[(y + j) * h + x] = t[threadIdx.x][threadIdx.y + j];
}

__global__ void box_blur(const unsigned *__restrict__ sat, uint8_t *__restrict__ out, int w, int h, int r)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    int xa = max(x - r, 0) - 1, xb = min(x + r, w - 1), ya = max(y - r, 0) - 1, yb = min(y + r, h - 1);
    unsigned s = sat[yb * w + xb];
    if (xa >= 0) s -= sat[yb * w + xa];
    if (ya >= 0) s -= sat[ya * w + xb];
    if (xa >= 0 && ya >= 0) s += sat[ya * w + xa];
    out[y * w + x] = s / ((xb - xa) * (yb - ya));
}

int main()
{
    const int w = 2050, h = 1333, n = w * h;
    std::vector<uint8_t> img(n), blur(n);
    for (int i = 0; i < n; ++i) img[i] = (i * 7 + (i / w) * 13 + (i % 91) * (i % 5)) & 255;
    std::vector<unsigned> ref(n), sat(n);
    for (int y = 0; y < h; ++y) {
        unsigned s = 0;
        for (int x = 0; x < w; ++x) { s += img[y * w + x]; ref[y * w + x] = s + (y ? ref[(y - 1) * w + x] : 0); }
    }
    uint8_t *d_img, *d_blur; unsigned *d_a, *d_b;
    gpuErrchk(cudaMalloc(&d_img, n)); gpuErrchk(cudaMalloc(&d_blur, n));
    gpuErrchk(cudaMalloc(&d_a, n * 4)); gpuErrchk(cudaMalloc(&d_b, n * 4));
    gpuErrchk(cudaMemcpy(d_img, img.data(), n, cudaMemcpyHostToDevice));
    int bad = 0;
    // A
    scan_rows<<<h, 512>>>(d_img, d_a, w);
    scan_cols<<<(w + 63) / 64, 64>>>(d_a, w, h);
    gpuErrchk(cudaMemcpy(sat.data(), d_a, n * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i) bad += sat[i] != ref[i];
    printf("A: bad %d\n", bad);
    // B
    scan_rows<<<h, 256>>>(d_img, d_a, w);
    dim3 b(32, 8);
    transpose<32, 1><<<dim3((w + 31) / 32, (h + 31) / 32), b>>>(d_a, d_b, w, h);
    scan_rows_serial<<<(w + 63) / 64, 64>>>(d_b, h, w);
    transpose<32, 0><<<dim3((h + 31) / 32, (w + 31) / 32), b>>>(d_b, d_a, h, w);
    gpuErrchk(cudaMemcpy(sat.data(), d_a, n * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i) bad += sat[i] != ref[i];
    printf("B: bad %d\n", bad);
    const int r = 9;
    box_blur<<<dim3((w + 15) / 16, (h + 15) / 16), dim3(16, 16)>>>(d_a, d_blur, w, h, r);
    gpuErrchk(cudaMemcpy(blur.data(), d_blur, n, cudaMemcpyDeviceToHost));
    for (int t = 0; t < 3000; ++t) {
        int x = (t * 613) % w, y = (t * 389) % h; unsigned s = 0, c = 0;
        for (int yy = y - r; yy <= y + r; ++yy) for (int xx = x - r; xx <= x + r; ++xx)
            if (xx >= 0 && xx < w && yy >= 0 && yy < h) { s += img[yy * w + xx]; ++c; }
        bad += s / c != blur[y * w + x];
    }
    puts(bad ? "FAIL" : "PASS");
    return bad != 0;
}
