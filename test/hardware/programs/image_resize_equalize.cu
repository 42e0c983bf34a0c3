// Lab 5: photo pipeline.  RGB bytes -> bilinear resize -> luma -> histogram -> equalised luma.
// Step 1: resize + colour conversion in one kernel
// Step 2: histogram with a private copy in shared memory per block
// Step 3: every block rebuilds the 256-entry LUT (scan in shared memory) and applies it
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

const int SRC_W = 1600, SRC_H = 1200;
const int DST_W = 1024, DST_H = 768;

__global__ void resizeToLuma(const uchar3* src, unsigned char* luma) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= DST_W || y >= DST_H) return;

    // position of this output pixel in the source (centre aligned)
    float sx = (x + 0.5f) * ((float)SRC_W / DST_W) - 0.5f;
    float sy = (y + 0.5f) * ((float)SRC_H / DST_H) - 0.5f;
    int x0 = max((int)floorf(sx), 0), y0 = max((int)floorf(sy), 0);
    int x1 = min(x0 + 1, SRC_W - 1),  y1 = min(y0 + 1, SRC_H - 1);
    float fx = fmaxf(sx - x0, 0.0f),  fy = fmaxf(sy - y0, 0.0f);

    uchar3 a = src[y0 * SRC_W + x0], b = src[y0 * SRC_W + x1];
    uchar3 c = src[y1 * SRC_W + x0], d = src[y1 * SRC_W + x1];
    float w00 = (1 - fx) * (1 - fy), w01 = fx * (1 - fy), w10 = (1 - fx) * fy, w11 = fx * fy;
    float r = w00 * a.x + w01 * b.x + w10 * c.x + w11 * d.x;
    float g = w00 * a.y + w01 * b.y + w10 * c.y + w11 * d.y;
    float l = w00 * a.z + w01 * b.z + w10 * c.z + w11 * d.z;
    luma[y * DST_W + x] = (unsigned char)(0.299f * r + 0.587f * g + 0.114f * l + 0.5f);
}

// The same, but a student swapped the roles of x and y in the launch.
__global__ void resizeToLumaSwapped(const uchar3* src, unsigned char* luma) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    int x = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= DST_W || y >= DST_H) return;
    int px = x * SRC_W / DST_W, py = y * SRC_H / DST_H;      // nearest neighbour
    uchar3 p = src[py * SRC_W + px];
    luma[y * DST_W + x] = (unsigned char)((77 * p.x + 150 * p.y + 29 * p.z) >> 8);
}

__global__ void histogram256(const unsigned char* luma, int n, unsigned int* hist) {
    __shared__ unsigned int local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    const uchar4* v = (const uchar4*)luma;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
        uchar4 p = v[i];
        atomicAdd(&local[p.x], 1u);
        atomicAdd(&local[p.y], 1u);
        atomicAdd(&local[p.z], 1u);
        atomicAdd(&local[p.w], 1u);
    }
    __syncthreads();
    atomicAdd(&hist[threadIdx.x], local[threadIdx.x]);
}

__global__ void equalize(const unsigned char* luma, int n, const unsigned int* hist, unsigned char* out) {
    __shared__ unsigned int cdf[2][256];
    __shared__ unsigned char lut[256];
    int t = threadIdx.x, cur = 0;
    cdf[0][t] = hist[t];
    __syncthreads();
    // Hillis-Steele inclusive scan, double buffered
    for (int step = 1; step < 256; step *= 2) {
        unsigned int s = cdf[cur][t];
        if (t >= step) s += cdf[cur][t - step];
        cdf[1 - cur][t] = s;
        cur = 1 - cur;
        __syncthreads();
    }
    lut[t] = (unsigned char)((unsigned long long)cdf[cur][t] * 255ull / (unsigned)n);
    __syncthreads();
    for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256)
        out[i] = lut[luma[i]];
}

static bool cudaFine(const char* where) {
    cudaError_t e = cudaDeviceSynchronize();
    if (e != cudaSuccess) printf("%s: %s\n", where, cudaGetErrorString(e));
    return e == cudaSuccess;
}

int main() {
    const int n = DST_W * DST_H;
    std::vector<uchar3> img(SRC_W * SRC_H);
    srand(7);
    for (int y = 0; y < SRC_H; y++)
        for (int x = 0; x < SRC_W; x++)
            img[y * SRC_W + x] = make_uchar3(40 + x / 16 + rand() % 16, 30 + y / 12 + rand() % 32, 90 + rand() % 64);

    uchar3* dImg; unsigned char *dLuma, *dNear, *dOut; unsigned int* dHist;
    cudaMalloc(&dImg, img.size() * sizeof(uchar3));
    cudaMalloc(&dLuma, n); cudaMalloc(&dNear, n); cudaMalloc(&dOut, n);
    cudaMalloc(&dHist, 256 * sizeof(unsigned int));
    cudaMemset(dHist, 0, 256 * sizeof(unsigned int));
    cudaMemcpy(dImg, img.data(), img.size() * sizeof(uchar3), cudaMemcpyHostToDevice);

    dim3 block(32, 8);
    resizeToLuma<<<dim3(DST_W / 32, DST_H / 8), block>>>(dImg, dLuma);
    resizeToLumaSwapped<<<dim3(DST_H / 32, DST_W / 8), block>>>(dImg, dNear);
    histogram256<<<128, 256>>>(dLuma, n, dHist);
    equalize<<<264, 256>>>(dLuma, n, dHist, dOut);
    bool ok = cudaFine("pipeline");

    std::vector<unsigned char> luma(n), near_(n), out(n);
    std::vector<unsigned int> hist(256), ref(256, 0);
    cudaMemcpy(luma.data(), dLuma, n, cudaMemcpyDeviceToHost);
    cudaMemcpy(near_.data(), dNear, n, cudaMemcpyDeviceToHost);
    cudaMemcpy(out.data(), dOut, n, cudaMemcpyDeviceToHost);
    cudaMemcpy(hist.data(), dHist, 256 * sizeof(unsigned int), cudaMemcpyDeviceToHost);

    for (int y = 0; y < DST_H; y++)
        for (int x = 0; x < DST_W; x++) {
            double sx = (x + 0.5) * SRC_W / DST_W - 0.5, sy = (y + 0.5) * SRC_H / DST_H - 0.5;
            sx = sx < 0 ? 0 : sx; sy = sy < 0 ? 0 : sy;
            int x0 = (int)sx, y0 = (int)sy;
            int x1 = x0 + 1 < SRC_W ? x0 + 1 : SRC_W - 1, y1 = y0 + 1 < SRC_H ? y0 + 1 : SRC_H - 1;
            auto Y = [&](int yy, int xx) { uchar3 p = img[yy * SRC_W + xx]; return 0.299 * p.x + 0.587 * p.y + 0.114 * p.z; };
            double fx = sx - x0, fy = sy - y0;
            double v = (1 - fy) * ((1 - fx) * Y(y0, x0) + fx * Y(y0, x1)) + fy * ((1 - fx) * Y(y1, x0) + fx * Y(y1, x1));
            if (abs((int)(v + 0.5) - luma[y * DST_W + x]) > 1) ok = false;
            uchar3 p = img[(y * SRC_H / DST_H) * SRC_W + x * SRC_W / DST_W];
            if (near_[y * DST_W + x] != ((77 * p.x + 150 * p.y + 29 * p.z) >> 8)) ok = false;
        }
    for (int i = 0; i < n; i++) ref[luma[i]]++;
    unsigned long long run = 0;
    std::vector<int> lut(256);
    for (int b = 0; b < 256; b++) {
        if (ref[b] != hist[b]) ok = false;
        run += ref[b];
        lut[b] = (int)(run * 255ull / n);
    }
    for (int i = 0; i < n; i++) if (out[i] != lut[luma[i]]) ok = false;
    puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
