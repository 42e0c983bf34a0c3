// Homework: Mandelbrot in double with early exit, float2 escape data, histogram colouring through a prefix-summed CDF.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <vector>

#define WIDTH 640
#define HEIGHT 360
#define MAXIT 200

struct View {
    double cx, cy, scale;
};

__host__ __device__ int escape(double a, double b) {
    double x = 0, y = 0;
    int k = 0;
    while (k < MAXIT && x * x + y * y <= 4.0) {
        double t = x * x - y * y + a;
        y = 2.0 * x * y + b;
        x = t;
        ++k;
    }
    return k;
}

__global__ void mandel_1d(View v, int* it) {
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= WIDTH * HEIGHT) return;
    int x = id % WIDTH, y = id / WIDTH;
    it[id] = escape(v.cx + (x - WIDTH / 2) * v.scale, v.cy + (y - HEIGHT / 2) * v.scale);
}

// wrong way round: threadIdx.x runs along y, stores stride WIDTH
__global__ void mandel_2d_bad(View v, int* it) {
    int y = blockIdx.y * blockDim.x + threadIdx.x;
    int x = blockIdx.x * blockDim.y + threadIdx.y;
    if (x >= WIDTH || y >= HEIGHT) return;
    it[y * WIDTH + x] = escape(v.cx + (x - WIDTH / 2) * v.scale, v.cy + (y - HEIGHT / 2) * v.scale);
}

__global__ void iteration_histogram(const int* it, int n, unsigned* hist) {
    __shared__ unsigned h[MAXIT + 1];
    for (int i = threadIdx.x; i <= MAXIT; i += blockDim.x) h[i] = 0;
    __syncthreads();
    const int4* v = (const int4*)it;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += blockDim.x * gridDim.x) {
        int4 q = v[i];
        atomicAdd(&h[q.x], 1u);
        atomicAdd(&h[q.y], 1u);
        atomicAdd(&h[q.z], 1u);
        atomicAdd(&h[q.w], 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i <= MAXIT; i += blockDim.x) atomicAdd(hist + i, h[i]);
}

__global__ void cdf_scan(const unsigned* hist, unsigned* cdf) {
    extern __shared__ unsigned s[];
    int t = threadIdx.x;
    s[t] = t < MAXIT ? hist[t] : 0;          // the inside of the set is left out
    __syncthreads();
    for (int o = 1; o < blockDim.x; o *= 2) {
        unsigned v = t >= o ? s[t - o] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    if (t <= MAXIT) cdf[t] = s[t];
}

__global__ void colourise(const int* __restrict__ it, const unsigned* __restrict__ cdf, uchar3* __restrict__ rgb) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= WIDTH || y >= HEIGHT) return;
    int k = it[y * WIDTH + x];
    uchar3 c = make_uchar3(0, 0, 0);
    if (k < MAXIT) {
        unsigned u = (unsigned)((unsigned long long)cdf[k] * 255 / cdf[MAXIT]);
        c = make_uchar3(u, 255 - u, u * u / 255);
    }
    rgb[y * WIDTH + x] = c;
}

int main(int argc, char** argv) {
    const int n = WIDTH * HEIGHT;
    View v = {-0.743, 0.126, argc > 1 ? atof(argv[1]) : 4e-4};
    int *a, *b; unsigned *h, *c; uchar3* rgb;
    cudaMalloc(&a, n * sizeof(int)); cudaMalloc(&b, n * sizeof(int));
    cudaMalloc(&h, (MAXIT + 1) * 4); cudaMalloc(&c, (MAXIT + 1) * 4); cudaMalloc(&rgb, n * 3);
    cudaMemset(h, 0, (MAXIT + 1) * 4);
    mandel_1d<<<(n + 191) / 192, 192>>>(v, a);
    mandel_2d_bad<<<dim3((WIDTH + 3) / 4, (HEIGHT + 31) / 32), dim3(32, 4)>>>(v, b);
    iteration_histogram<<<48, 256>>>(a, n, h);
    cdf_scan<<<1, 256, 256 * 4>>>(h, c);
    colourise<<<dim3((WIDTH + 29) / 30, (HEIGHT + 6) / 7), dim3(30, 7)>>>(a, c, rgb);
    std::vector<int> ha(n), hb(n); std::vector<unsigned> hh(MAXIT + 1), hc(MAXIT + 1), rh(MAXIT + 1, 0); std::vector<uchar3> px(n);
    cudaMemcpy(ha.data(), a, n * 4, cudaMemcpyDeviceToHost); cudaMemcpy(hb.data(), b, n * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(hh.data(), h, (MAXIT + 1) * 4, cudaMemcpyDeviceToHost); cudaMemcpy(hc.data(), c, (MAXIT + 1) * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(px.data(), rgb, n * 3, cudaMemcpyDeviceToHost);
    int diff = 0, off = 0, tested = 0, bad = cudaGetLastError() != cudaSuccess;
    for (int i = 0; i < n; i++) {
        diff += ha[i] != hb[i];
        rh[ha[i]]++;
        if (i % 3 == 0) { tested++; off += escape(v.cx + (i % WIDTH - WIDTH / 2) * v.scale, v.cy + (i / WIDTH - HEIGHT / 2) * v.scale) != ha[i]; }
    }
    unsigned run = 0;
    for (int k = 0; k <= MAXIT; k++) {
        if (k < MAXIT) run += rh[k];
        bad += rh[k] != hh[k] || run != hc[k];
    }
    for (int i = 0; i < n; i++) {
        unsigned u = ha[i] < MAXIT ? (unsigned)((unsigned long long)hc[ha[i]] * 255 / hc[MAXIT]) : 0;
        if (ha[i] < MAXIT && (px[i].x != (unsigned char)u || px[i].y != (unsigned char)(255 - u))) bad++;
    }
    printf("variants differ %d, cpu differs %d of %d, bad %d\n", diff, off, tested, bad);
    int ok = diff < n / 1000 && off < tested / 100 && bad == 0;    /* fma contraction flips a few border pixels */
    puts(ok ? "PASS" : "FAIL");
    return !ok;
}
