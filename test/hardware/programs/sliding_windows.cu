// Moving averages and maxima over a series: in registers, in a ring in shared memory, by a summed-area table.
#include "common.h"

template <int WINDOW, int PER_THREAD>
__global__ void movingAverageRegisters(const float *__restrict__ x, float *__restrict__ y, int n)
{
    const int first = (blockIdx.x * blockDim.x + threadIdx.x) * PER_THREAD;
    if (first >= n) return;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < WINDOW; ++k)
        sum += x[first + k];
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        y[first + k] = sum / WINDOW;
        sum += x[first + k + WINDOW] - x[first + k];
    }
}

__global__ void movingMax(const float *x, float *y, int n, int window)
{
    extern __shared__ float s[];
    const int base = blockIdx.x * blockDim.x;
    for (int i = threadIdx.x; i < blockDim.x + window - 1; i += blockDim.x)
        s[i] = base + i < n ? x[base + i] : -1e30f;
    __syncthreads();
    float best = s[threadIdx.x];
    for (int k = 1; k < window; ++k)
        best = fmaxf(best, s[threadIdx.x + k]);
    if (base + threadIdx.x < n) y[base + threadIdx.x] = best;
}

// One block a row: inclusive scan of a row of an image in place.
__global__ void rowSums(float *image, int width)
{
    __shared__ float s[2][128];
    float carry = 0;
    float *row = image + blockIdx.x * width;
    for (int start = 0; start < width; start += 128) {
        int x = start + threadIdx.x, p = 0;
        s[0][threadIdx.x] = x < width ? row[x] : 0;
        __syncthreads();
        for (int d = 1; d < 128; d *= 2, p ^= 1) {
            s[p ^ 1][threadIdx.x] = s[p][threadIdx.x] + (threadIdx.x >= d ? s[p][threadIdx.x - d] : 0);
            __syncthreads();
        }
        if (x < width) row[x] = s[p][threadIdx.x] + carry;
        carry += s[p][127];
        __syncthreads();
    }
}

// Then down the columns: one thread a column, coalesced.
__global__ void columnSumsInPlace(float *image, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= width) return;
    float sum = 0;
    for (int y = 0; y < height; ++y)
        image[y * width + x] = sum += image[y * width + x];
}

int main()
{
    bool ok = true;
    const int n = 25600;
    std::vector<float> x = randomFloats(n + 16, 1), want(n);
    float *dx = toDevice(x), *dy = deviceZeros<float>(n);
    for (int i = 0; i < n; ++i) { double s = 0; for (int k = 0; k < 9; ++k) s += x[i + k]; want[i] = (float)(s / 9); }
    movingAverageRegisters<9, 4><<<n / 4 / 128, 128>>>(dx, dy, n);
    ok &= report("movingAverageRegisters", allNear(toHost(dy, n), want, 1e-4));
    for (int i = 0; i < n; ++i) { want[i] = x[i]; for (int k = 1; k < 21 && i + k < n; ++k) want[i] = std::fmax(want[i], x[i + k]); }
    movingMax<<<(n + 191) / 192, 192, (192 + 20) * sizeof(float)>>>(dx, dy, n, 21);
    ok &= report("movingMax", allNear(toHost(dy, n), want, 0));

    const int w = 250, h = 100;
    std::vector<float> img(w * h), rows(w * h), table(w * h);
    for (int i = 0; i < w * h; ++i) img[i] = i % 11;
    for (int y = 0; y < h; ++y) for (int c = 0; c < w; ++c) rows[y * w + c] = img[y * w + c] + (c ? rows[y * w + c - 1] : 0);
    for (int y = 0; y < h; ++y) for (int c = 0; c < w; ++c) table[y * w + c] = rows[y * w + c] + (y ? table[(y - 1) * w + c] : 0);
    float *di = toDevice(img);
    rowSums<<<100, 128>>>(di, w);
    ok &= report("rowSums", allNear(toHost(di, w * h), rows, 1e-6));
    columnSumsInPlace<<<(w + 63) / 64, 64>>>(di, w, h);
    ok &= report("columnSumsInPlace", allNear(toHost(di, w * h), table, 1e-6));
    return ok ? 0 : 1;
}
