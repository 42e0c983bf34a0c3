// Rows of a dynamic programme: shortest path down a grid with a ghost zone, and a knapsack row by row.
#include "common.h"

#define BLOCK_SIZE 256
#define HALO 1
#define IN_RANGE(x, min, max) ((x) >= (min) && (x) <= (max))
#define CLAMP_RANGE(x, min, max) x = (x < (min)) ? min : ((x > (max)) ? max : x)
#define MIN(a, b) ((a) <= (b) ? (a) : (b))

__global__ void dynproc_kernel(int iteration, const int *gpuWall, const int *gpuSrc, int *gpuResults, int cols, int startStep, int border)
{
    __shared__ int prev[BLOCK_SIZE];
    __shared__ int result[BLOCK_SIZE];
    int bx = blockIdx.x, tx = threadIdx.x;
    int small_block_cols = BLOCK_SIZE - iteration * HALO * 2;
    int blkX = small_block_cols * bx - border;
    int blkXmax = blkX + BLOCK_SIZE - 1;
    int xidx = blkX + tx;
    int validXmin = (blkX < 0) ? -blkX : 0;
    int validXmax = (blkXmax > cols - 1) ? BLOCK_SIZE - 1 - (blkXmax - cols + 1) : BLOCK_SIZE - 1;
    int W = tx - 1;
    int E = tx + 1;
    W = (W < validXmin) ? validXmin : W;
    E = (E > validXmax) ? validXmax : E;
    bool isValid = IN_RANGE(tx, validXmin, validXmax);
    if (IN_RANGE(xidx, 0, cols - 1))
        prev[tx] = gpuSrc[xidx];
    __syncthreads();
    bool computed;
    for (int i = 0; i < iteration; i++) {
        computed = false;
        if (IN_RANGE(tx, i + 1, BLOCK_SIZE - i - 2) && isValid) {
            computed = true;
            int left = prev[W];
            int up = prev[tx];
            int right = prev[E];
            int shortest = MIN(left, up);
            shortest = MIN(shortest, right);
            int index = cols * (startStep + i) + xidx;
            result[tx] = shortest + gpuWall[index];
        }
        __syncthreads();
        if (i == iteration - 1) break;
        if (computed) prev[tx] = result[tx];
        __syncthreads();
    }
    if (computed) gpuResults[xidx] = result[tx];
}

__global__ void knapsackRow(const int *before, int *after, int capacity, int weight, int value)
{
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w > capacity) return;
    int best = before[w];
    if (w >= weight)
        best = max(best, before[w - weight] + value);
    after[w] = best;
}

int main()
{
    bool ok = true;
    const int cols = 10000, pyramid = 5, border = pyramid * HALO;
    std::vector<int> wall(cols * (pyramid + 1)), row(cols), next;
    Random r(1);
    for (int &v : wall) v = r.below(10);
    for (int &v : row) v = r.below(10);
    int *dw = toDevice(wall), *ds = toDevice(row), *dr = deviceZeros<int>(cols);
    const int small = BLOCK_SIZE - pyramid * HALO * 2;
    dynproc_kernel<<<(10000 + small - 1) / small, BLOCK_SIZE>>>(pyramid, dw, ds, dr, cols, 0, border);
    for (int i = 0; i < pyramid; ++i) {
        next = row;
        for (int x = 0; x < cols; ++x) {
            int s = row[x];
            if (x) s = std::min(s, row[x - 1]);
            if (x < cols - 1) s = std::min(s, row[x + 1]);
            next[x] = s + wall[i * cols + x];
        }
        row = next;
    }
    ok &= report("dynproc_kernel", toHost(dr, cols) == row);

    const int capacity = 9999;
    std::vector<int> before(capacity + 1), after(capacity + 1);
    for (int w = 0; w <= capacity; ++w) before[w] = w / 7 * 3;
    for (int w = 0; w <= capacity; ++w) after[w] = w >= 37 ? std::max(before[w], before[w - 37] + 21) : before[w];
    int *da = deviceZeros<int>(capacity + 1);
    knapsackRow<<<(capacity + 1 + 127) / 128, 128>>>(toDevice(before), da, capacity, 37, 21);
    ok &= report("knapsackRow", toHost(da, capacity + 1) == after);
    return ok ? 0 : 1;
}
