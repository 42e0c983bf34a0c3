// Several arrays carved out of one dynamic shared buffer, with types of different width.
#include <cstdint>
#include "common.h"

extern __shared__ unsigned char smem[];

template <typename T>
__device__ T *carve(unsigned char *&at, int count)
{
    uintptr_t p = (reinterpret_cast<uintptr_t>(at) + alignof(T) - 1) / alignof(T) * alignof(T);
    T *result = reinterpret_cast<T *>(p);
    at = reinterpret_cast<unsigned char *>(result + count);
    return result;
}

__global__ void sortByKeyTile(const short *keys, const double *values, double *out, int tile)
{
    unsigned char *at = smem;
    double *v = carve<double>(at, tile);
    int *start = carve<int>(at, 16);
    short *k = carve<short>(at, tile);
    const int t = threadIdx.x, base = blockIdx.x * tile;
    v[t] = values[base + t];
    k[t] = keys[base + t];
    if (t < 16) start[t] = 0;
    __syncthreads();
    // rank among equal and smaller keys of 16 buckets
    int mine = k[t], before = 0;
    for (int i = 0; i < tile; ++i)
        before += k[i] < mine || (k[i] == mine && i < t);
    __syncthreads();
    out[base + before] = v[t];
}

// Two-dimensional view of a flat dynamic buffer; the pitch is a kernel argument.
__global__ void rotateTile(const float *in, float *out, int n, int pitch)
{
    float *tile = (float *)smem;
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * blockDim.x + tx, y = blockIdx.y * blockDim.y + ty;
    tile[ty * pitch + tx] = in[y * n + x];
    __syncthreads();
    // quarter turn within the tile
    out[y * n + x] = tile[(blockDim.x - 1 - tx) * pitch + ty];
}

typedef struct { float w[4]; int id; int next; } Record;    // 24 bytes

__global__ void chaseRecords(const Record *in, int *out, int steps)
{
    Record *r = (Record *)smem;
    for (int i = threadIdx.x; i < 64; i += blockDim.x) r[i] = in[blockIdx.x * 64 + i];
    __syncthreads();
    int at = threadIdx.x, sum = 0;
    for (int s = 0; s < steps; ++s) {
        sum += r[at].id;
        at = r[at].next;
    }
    out[blockIdx.x * 64 + threadIdx.x] = sum;
}

int main()
{
    bool ok = true;
    const int tile = 128, blocks = 30, n = tile * blocks;
    std::vector<short> keys(n);
    std::vector<double> values(n), want(n);
    Random r(1);
    for (int i = 0; i < n; ++i) { keys[i] = (short)r.below(16); values[i] = i; }
    for (int b = 0; b < blocks; ++b) {
        int at = b * tile;
        for (int k = 0; k < 16; ++k) for (int i = 0; i < tile; ++i) if (keys[b * tile + i] == k) want[at++] = values[b * tile + i];
    }
    double *dout = deviceZeros<double>(n);
    sortByKeyTile<<<blocks, tile, 128 * sizeof(double) + 16 * sizeof(int) + 128 * sizeof(short)>>>(toDevice(keys), toDevice(values), dout, tile);
    ok &= report("sortByKeyTile", toHost(dout, n) == want);

    const int m = 320;
    std::vector<float> a = randomFloats(m * m, 2), turned(m * m);
    for (int y = 0; y < m; ++y)
        for (int x = 0; x < m; ++x)
            turned[y * m + x] = a[(y / 16 * 16 + 15 - x % 16) * m + x / 16 * 16 + y % 16];
    float *df = deviceZeros<float>(m * m);
    rotateTile<<<dim3(m / 16, m / 16), dim3(16, 16), 16 * 18 * sizeof(float)>>>(toDevice(a), df, m, 18);
    ok &= report("rotateTile", toHost(df, m * m) == turned);

    std::vector<Record> rec(64 * 20);
    std::vector<int> sums(64 * 20);
    for (size_t i = 0; i < rec.size(); ++i) rec[i] = {{0, 0, 0, 0}, r.below(1000), ((int)i % 64 * 5 + 1) % 64};
    for (int b = 0; b < 20; ++b)
        for (int t = 0; t < 64; ++t)
            for (int s = 0, at = t; s < 10; ++s) { sums[b * 64 + t] += rec[b * 64 + at].id; at = rec[b * 64 + at].next; }
    int *di = deviceZeros<int>(64 * 20);
    chaseRecords<<<20, 64, 64 * sizeof(Record)>>>(toDevice(rec), di, 10);
    ok &= report("chaseRecords", toHost(di, sums.size()) == sums);
    return ok ? 0 : 1;
}
