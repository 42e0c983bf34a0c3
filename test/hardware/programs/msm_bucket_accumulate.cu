// Multi-scalar multiplication on a toy curve y^2 = x^3 + 7 over a 31-bit
// prime would need EC code; here the group is the multiplicative group of
// F_p (p = 2^31 - 1), which has the same bucket structure:
//    result = prod  base_i ^ scalar_i.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>
#include <algorithm>

template <uint32_t P>
struct Field {
    uint32_t v;
    __host__ __device__ static Field one() { return Field{1u}; }
    __host__ __device__ Field operator*(Field o) const { return Field{(uint32_t)((uint64_t)v * o.v % P)}; }
    __host__ __device__ bool operator==(Field o) const { return v == o.v; }
};

using Fp = Field<2147483647u>;

template <class F>
struct Limbs {   // "coordinates" as in a projective point: 4 independent lanes
    F c[4];
    __host__ __device__ static Limbs identity() { return Limbs{{F::one(), F::one(), F::one(), F::one()}}; }
    __host__ __device__ void add(const Limbs& o)
    {
#pragma unroll
        for (int k = 0; k < 4; k++)
            c[k] = c[k] * o.c[k];
    }
};
using Point = Limbs<Fp>;

constexpr int N = 1 << 15;
constexpr int WBITS = 8;
constexpr int NBUCKET = 1 << WBITS;
constexpr int NWIN = 4;

static void ck(cudaError_t e, const char* f, int l)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "%s:%d %s\n", f, l, cudaGetErrorString(e));
        exit(1);
    }
}
#define CKC(x) ck(x, __FILE__, __LINE__)

__global__ void window_histogram(const uint32_t* scalars, int* hist)
{
    __shared__ int h[NBUCKET];
    h[threadIdx.x] = 0;
    __syncthreads();
    int w = blockIdx.y;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x)
        atomicAdd(&h[(scalars[i] >> (w * WBITS)) & (NBUCKET - 1)], 1);
    __syncthreads();
    if (h[threadIdx.x])
        atomicAdd(&hist[w * NBUCKET + threadIdx.x], h[threadIdx.x]);
}

// exclusive scan, one block per window
__global__ void scan_windows(const int* hist, int* start, int* cursor)
{
    __shared__ int s[2][NBUCKET];
    int t = threadIdx.x;
    int w = blockIdx.x;
    int v = hist[w * NBUCKET + t];
    int cur = 0;
    s[0][t] = v;
    __syncthreads();
    for (int d = 1; d < NBUCKET; d <<= 1) {
        s[cur ^ 1][t] = s[cur][t] + (t >= d ? s[cur][t - d] : 0);
        cur ^= 1;
        __syncthreads();
    }
    start[w * (NBUCKET + 1) + t + 1] = s[cur][t];
    if (t == 0)
        start[w * (NBUCKET + 1)] = 0;
    cursor[w * NBUCKET + t] = s[cur][t] - v;
}

__global__ void scatter_ids(const uint32_t* scalars, int* cursor, int* ids)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N)
        return;
    uint32_t k = scalars[i];
    for (int w = 0; w < NWIN; w++) {
        int b = (k >> (w * WBITS)) & (NBUCKET - 1);
        int at = atomicAdd(&cursor[w * NBUCKET + b], 1);
        ids[w * N + at] = i;
    }
}

// thread per bucket: long serial gather of 16-byte points
__global__ void accumulate_thread(const Point* pts, const int* start, const int* ids, Point* buckets)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int w = t / NBUCKET;
    int b = t % NBUCKET;
    Point acc = Point::identity();
    const int* st = start + w * (NBUCKET + 1);
    for (int k = st[b]; k < st[b + 1]; k++)
        acc.add(pts[ids[w * N + k]]);
    buckets[t] = acc;
}

// warp per bucket with shuffle reduction
__global__ void accumulate_warp(const Point* pts, const int* start, const int* ids, Point* buckets)
{
    int t = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int lane = threadIdx.x & 31;
    int w = t / NBUCKET;
    int b = t % NBUCKET;
    Point acc = Point::identity();
    const int* st = start + w * (NBUCKET + 1);
    for (int k = st[b] + lane; k < st[b + 1]; k += 32)
        acc.add(pts[ids[w * N + k]]);
    for (int o = 16; o > 0; o >>= 1) {
        Point other;
        for (int c = 0; c < 4; c++)
            other.c[c].v = __shfl_xor_sync(0xffffffffu, acc.c[c].v, o);
        acc.add(other);
    }
    if (lane == 0)
        buckets[t] = acc;
}

// window sum:  prod_b bucket_b ^ b  by suffix products in shared memory
__global__ void reduce_window(const Point* buckets, Point* winsum)
{
    __shared__ Point s[NBUCKET];
    int t = threadIdx.x;
    s[t] = buckets[blockIdx.x * NBUCKET + t];
    __syncthreads();
    for (int d = 1; d < NBUCKET; d <<= 1) {
        Point o = Point::identity();
        if (t + d < NBUCKET)
            o = s[t + d];
        __syncthreads();
        s[t].add(o);
        __syncthreads();
    }
    if (t == 0)
        s[0] = Point::identity();
    __syncthreads();
    for (int d = NBUCKET / 2; d > 0; d >>= 1) {
        if (t < d)
            s[t].add(s[t + d]);
        __syncthreads();
    }
    if (t == 0)
        winsum[blockIdx.x] = s[0];
}

__global__ void combine_windows(const Point* winsum, Point* out)
{
    int c = threadIdx.x;
    Fp acc = Fp::one();
    for (int w = NWIN - 1; w >= 0; w--) {
        for (int k = 0; k < WBITS; k++)
            acc = acc * acc;
        acc = acc * winsum[w].c[c];
    }
    out->c[c] = acc;
}

int main()
{
    std::vector<Point> pts(N);
    std::vector<uint32_t> sc(N);
    uint64_t s = 0x12345678abcdefull;
    auto next = [&]() {
        s = s * 6364136223846793005ull + 1442695040888963407ull;
        return (uint32_t)(s >> 33);
    };
    for (int i = 0; i < N; i++) {
        for (int c = 0; c < 4; c++)
            pts[i].c[c].v = 1 + next() % 2147483646u;
        sc[i] = next();
    }
    Point *dp, *db1, *db2, *dw, *dout;
    uint32_t* ds;
    int *hist, *start, *cursor, *ids;
    CKC(cudaMalloc(&dp, N * sizeof(Point)));
    CKC(cudaMalloc(&db1, NWIN * NBUCKET * sizeof(Point)));
    CKC(cudaMalloc(&db2, NWIN * NBUCKET * sizeof(Point)));
    CKC(cudaMalloc(&dw, NWIN * sizeof(Point)));
    CKC(cudaMalloc(&dout, sizeof(Point)));
    CKC(cudaMalloc(&ds, N * 4));
    CKC(cudaMalloc(&hist, NWIN * NBUCKET * 4));
    CKC(cudaMalloc(&start, NWIN * (NBUCKET + 1) * 4));
    CKC(cudaMalloc(&cursor, NWIN * NBUCKET * 4));
    CKC(cudaMalloc(&ids, NWIN * N * 4));
    CKC(cudaMemset(hist, 0, NWIN * NBUCKET * 4));
    CKC(cudaMemcpy(dp, pts.data(), N * sizeof(Point), cudaMemcpyHostToDevice));
    CKC(cudaMemcpy(ds, sc.data(), N * 4, cudaMemcpyHostToDevice));

    window_histogram<<<dim3(16, NWIN), NBUCKET>>>(ds, hist);
    scan_windows<<<NWIN, NBUCKET>>>(hist, start, cursor);
    scatter_ids<<<N / 256, 256>>>(ds, cursor, ids);
    accumulate_thread<<<NWIN * NBUCKET / 64, 64>>>(dp, start, ids, db1);
    accumulate_warp<<<NWIN * NBUCKET / 4, 128>>>(dp, start, ids, db2);
    reduce_window<<<NWIN, NBUCKET>>>(db2, dw);
    combine_windows<<<1, 4>>>(dw, dout);
    CKC(cudaGetLastError());
    CKC(cudaDeviceSynchronize());
    std::vector<Point> b1(NWIN * NBUCKET), b2(NWIN * NBUCKET);
    Point out;
    CKC(cudaMemcpy(b1.data(), db1, b1.size() * sizeof(Point), cudaMemcpyDeviceToHost));
    CKC(cudaMemcpy(b2.data(), db2, b2.size() * sizeof(Point), cudaMemcpyDeviceToHost));
    CKC(cudaMemcpy(&out, dout, sizeof(Point), cudaMemcpyDeviceToHost));
    int bad = 0;
    for (size_t i = 0; i < b1.size(); i++)
        for (int c = 0; c < 4; c++)
            if (!(b1[i].c[c] == b2[i].c[c]))
                bad++;
    Point ref = Point::identity();
    for (int i = 0; i < N; i++) {
        Point r = Point::identity();
        for (int b = 31; b >= 0; b--) {
            Point sq = r;
            r.add(sq);
            if ((sc[i] >> b) & 1)
                r.add(pts[i]);
        }
        ref.add(r);
    }
    for (int c = 0; c < 4; c++) {
        printf("%u %u\n", ref.c[c].v, out.c[c].v);
        if (!(ref.c[c] == out.c[c]))
            bad++;
    }
    printf("%s\n", bad ? "FAIL" : "PASS");
    return bad != 0;
}
