// CS 5xx homework 4 - image pipeline: gray, histogram, equalize, transpose, box filter, matmul
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define T 16
#define N_BINS 256

void ck(cudaError_t e) { if (e != cudaSuccess) { printf("%s\nFAIL\n", cudaGetErrorString(e)); exit(1); } }

__global__ void gray(unsigned char *rgb, unsigned char *g, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) g[i] = (77 * rgb[3*i] + 150 * rgb[3*i+1] + 29 * rgb[3*i+2]) >> 8;
}

__global__ void hist(unsigned char *g, int *h, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&h[g[i]], 1);
}

// inclusive Hillis-Steele, one block of 256
__global__ void cdf(int *h, int *c) {
    __shared__ int a[2][N_BINS];
    int t = threadIdx.x, in = 0;
    a[0][t] = h[t];
    __syncthreads();
    for (int d = 1; d < N_BINS; d *= 2) {
        a[1-in][t] = t >= d ? a[in][t] + a[in][t-d] : a[in][t];
        in = 1 - in;
        __syncthreads();
    }
    c[t] = a[in][t];
}

__global__ void equalize(unsigned char *g, int *c, float *out, int w, int h) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    int x = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h) out[y*w+x] = 255.0f * c[g[y*w+x]] / (w*h);
}

// tiled transpose, last step of box filter uses it twice
__global__ void transpose(float *in, float *out, int w, int h) {
    __shared__ float s[T][T];
    int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
    if (x < w && y < h) s[threadIdx.y][threadIdx.x] = in[y*w+x];
    __syncthreads();
    x = blockIdx.y * T + threadIdx.x;
    y = blockIdx.x * T + threadIdx.y;
    if (x < h && y < w) out[y*h+x] = s[threadIdx.x][threadIdx.y];
}

// one thread per row, running sum
__global__ void boxrow(float *in, float *out, int w, int h, int r) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= h) return;
    float *p = in + y*w, *q = out + y*w;
    float s = 0;
    for (int x = 0; x < r && x < w; x++) s += p[x];
    for (int x = 0; x < w; x++) {
        if (x + r < w) s += p[x+r];
        if (x - r - 1 >= 0) s -= p[x-r-1];
        q[x] = s / (2*r+1);
    }
}

// gram = A * A^T, A is h x w
__global__ void gram(float *a, float *c, int h, int w) {
    __shared__ float sa[T][T], sb[T][T];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float acc = 0;
    for (int k = 0; k < w; k += T) {
        sa[ty][tx] = row < h && k + tx < w ? a[row*w + k+tx] : 0;
        sb[ty][tx] = col < h && k + ty < w ? a[col*w + k+ty] : 0;
        __syncthreads();
        for (int i = 0; i < T; i++) acc += sa[ty][i] * sb[i][tx];
        __syncthreads();
    }
    if (row < h && col < h) c[row*h+col] = acc;
}

int main(int argc, char **argv) {
    int w = argc > 1 ? atoi(argv[1]) : 700, h = argc > 2 ? atoi(argv[2]) : 450, r = 5, n = w*h;
    unsigned char *rgb, *g;
    int *hg, *c;
    float *eq, *t1, *t2, *gm;
    ck(cudaMallocManaged(&rgb, 3*n));
    ck(cudaMallocManaged(&g, n));
    ck(cudaMallocManaged(&hg, N_BINS*sizeof(int)));
    ck(cudaMallocManaged(&c, N_BINS*sizeof(int)));
    ck(cudaMallocManaged(&eq, n*sizeof(float)));
    ck(cudaMallocManaged(&t1, n*sizeof(float)));
    ck(cudaMallocManaged(&t2, n*sizeof(float)));
    ck(cudaMallocManaged(&gm, h*h*sizeof(float)));
    srand(1);
    for (int i = 0; i < 3*n; i++) rgb[i] = (rand() % 120) + (i / 3 % w) * 60 / w + (i / 3 / w) * 70 / h;
    for (int i = 0; i < N_BINS; i++) hg[i] = 0;

    gray<<<(n+255)/256, 256>>>(rgb, g, n);
    hist<<<(n+255)/256, 256>>>(g, hg, n);
    cdf<<<1, N_BINS>>>(hg, c);
    equalize<<<dim3((h+T-1)/T, (w+T-1)/T), dim3(T, T)>>>(g, c, eq, w, h);
    boxrow<<<(h+63)/64, 64>>>(eq, t1, w, h, r);
    transpose<<<dim3((w+T-1)/T, (h+T-1)/T), dim3(T, T)>>>(t1, t2, w, h);
    boxrow<<<(w+63)/64, 64>>>(t2, t1, h, w, r);
    transpose<<<dim3((h+T-1)/T, (w+T-1)/T), dim3(T, T)>>>(t1, t2, h, w);
    gram<<<dim3((h+T-1)/T, (h+T-1)/T), dim3(T, T)>>>(t2, gm, h, w);
    ck(cudaGetLastError());
    ck(cudaDeviceSynchronize());

    // check
    int bad = 0, rh[N_BINS] = {0}, sum = 0;
    float *re = (float *)malloc(n*sizeof(float)), *rx = (float *)malloc(n*sizeof(float)), *ry = (float *)malloc(n*sizeof(float));
    for (int i = 0; i < n; i++) {
        int v = (77 * rgb[3*i] + 150 * rgb[3*i+1] + 29 * rgb[3*i+2]) >> 8;
        if (v != g[i]) bad++;
        rh[v]++;
    }
    for (int i = 0; i < N_BINS; i++) {
        sum += rh[i];
        if (hg[i] != rh[i] || c[i] != sum) bad++;
        rh[i] = sum;
    }
    for (int i = 0; i < n; i++) re[i] = 255.0f * rh[g[i]] / n;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            double s = 0;
            for (int k = x-r; k <= x+r; k++) if (k >= 0 && k < w) s += re[y*w+k];
            rx[y*w+x] = s / (2*r+1);
        }
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            double s = 0;
            for (int k = y-r; k <= y+r; k++) if (k >= 0 && k < h) s += rx[k*w+x];
            ry[y*w+x] = s / (2*r+1);
            if (!(fabs(eq[y*w+x] - re[y*w+x]) < 0.01)) bad++;
            if (!(fabs(t2[y*w+x] - ry[y*w+x]) < 0.1)) bad++;
        }
    printf("image errors %d\n", bad);
    int badg = 0;
    for (int i = 0; i < h; i++)
        for (int j = 0; j < h; j++) {
            float s = 0;
            for (int k = 0; k < w; k++) s += t2[i*w+k] * t2[j*w+k];
            if (!(fabs(gm[i*h+j] - s) < 1e-3 * fabs(s) + 1)) badg++;
        }
    printf("gram errors %d\n", badg);
    printf(bad + badg ? "FAIL\n" : "PASS\n");
    free(re); free(rx); free(ry);
    cudaFree(rgb); cudaFree(g); cudaFree(hg); cudaFree(c); cudaFree(eq); cudaFree(t1); cudaFree(t2); cudaFree(gm);
    return bad + badg ? 1 : 0;
}
