// Lossless-ish image codec front end: reversible LeGall 5/3 lifting wavelet, dead-zone quantiser,
// zero-run statistics and a packed significance map.  Integer arithmetic -> bit-exact checks.
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace wvlt {

using coef_t = int;

class CudaError : public std::runtime_error {
public:
    CudaError(cudaError_t e, const std::string& where)
        : std::runtime_error(where + ": " + cudaGetErrorString(e)) {}
};

inline void check(cudaError_t e, const char* where)
{
    if (e != cudaSuccess)
        throw CudaError(e, where);
}

struct Plane {
    coef_t* ptr;
    int width;
    int height;
    int pitch;   // in elements
};

constexpr int MAXLINE = 512;

__host__ __device__ inline int mirror(int i, int n)
{
    if (i < 0)
        i = -i;
    if (i >= n)
        i = 2 * (n - 1) - i;
    return i;
}

// One block per row: load the row in shared memory, lift in place, deinterleave on the way out.
__global__ void forwardRows(Plane src, Plane dst)
{
    __shared__ coef_t line[MAXLINE];
    const int n = src.width;
    const coef_t* in = src.ptr + blockIdx.x * src.pitch;
    coef_t* out = dst.ptr + blockIdx.x * dst.pitch;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        line[i] = in[i];
    __syncthreads();
    for (int k = threadIdx.x; k < n / 2; k += blockDim.x) {
        int i = 2 * k + 1;
        line[i] -= (line[i - 1] + line[mirror(i + 1, n)]) >> 1;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < n / 2; k += blockDim.x) {
        int i = 2 * k;
        line[i] += (line[mirror(i - 1, n)] + line[i + 1] + 2) >> 2;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < n / 2; k += blockDim.x) {
        out[k] = line[2 * k];
        out[n / 2 + k] = line[2 * k + 1];
    }
}

// One thread per (column, pair of rows), everything through global memory.
__global__ void forwardColsGlobal(Plane src, Plane dst)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int k = blockIdx.y * blockDim.y + threadIdx.y;
    const int n = src.height;
    if (x >= src.width || k >= n / 2)
        return;
    auto at = [&](int y) { return src.ptr[mirror(y, n) * src.pitch + x]; };
    const int y = 2 * k;
    const coef_t dprev = at(y - 1) - ((at(y - 2) + at(y)) >> 1);
    const coef_t d = at(y + 1) - ((at(y) + at(y + 2)) >> 1);
    const coef_t s = at(y) + ((dprev + d + 2) >> 2);
    dst.ptr[k * dst.pitch + x] = s;
    dst.ptr[(n / 2 + k) * dst.pitch + x] = d;
}

// Dead-zone quantiser with a step depending on the subband.
__global__ void quantise(Plane p, signed char* q, int step, int level0w, int level0h)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y;
    if (x >= p.width)
        return;
    const bool low = x < level0w && y < level0h;
    const int st = low ? 4 : step;
    const coef_t c = p.ptr[y * p.pitch + x];
    int m = abs(c) / st;
    m = min(m, 127);
    q[y * p.width + x] = static_cast<signed char>(c < 0 ? -m : m);
}

// significance bitmap with ballot: one bit per coefficient
__global__ void significance(const signed char* q, unsigned* bits, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool sig = i < n && q[i] != 0;
    const unsigned m = __ballot_sync(0xffffffffu, sig);
    if ((threadIdx.x & 31) == 0 && i < n)
        bits[i >> 5] = m;
}

// each thread scans a whole code-block row of 64 coefficients and counts zero runs
__global__ void zeroRuns(const signed char* q, int* runs, int nseg)
{
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= nseg)
        return;
    int count = 0;
    bool in = false;
    for (int i = 0; i < 64; ++i) {
        const bool z = q[s * 64 + i] == 0;
        if (z && !in)
            ++count;
        in = z;
    }
    runs[s] = count;
}

// Inverse along columns: a 32-column strip lives in dynamic shared memory.
__global__ void inverseCols(Plane src, Plane dst)
{
    extern __shared__ coef_t strip[];   // [height][32]
    const int n = src.height;
    const int tx = threadIdx.x;
    const int x = blockIdx.x * 32 + tx;
    for (int k = threadIdx.y; k < n / 2; k += blockDim.y) {
        strip[(2 * k) * 32 + tx] = src.ptr[k * src.pitch + x];
        strip[(2 * k + 1) * 32 + tx] = src.ptr[(n / 2 + k) * src.pitch + x];
    }
    __syncthreads();
    for (int k = threadIdx.y; k < n / 2; k += blockDim.y) {
        const int i = 2 * k;
        strip[i * 32 + tx] -= (strip[mirror(i - 1, n) * 32 + tx] + strip[(i + 1) * 32 + tx] + 2) >> 2;
    }
    __syncthreads();
    for (int k = threadIdx.y; k < n / 2; k += blockDim.y) {
        const int i = 2 * k + 1;
        strip[i * 32 + tx] += (strip[(i - 1) * 32 + tx] + strip[mirror(i + 1, n) * 32 + tx]) >> 1;
    }
    __syncthreads();
    for (int y = threadIdx.y; y < n; y += blockDim.y)
        dst.ptr[y * dst.pitch + x] = strip[y * 32 + tx];
}

// Inverse along rows, thread per row, textbook sequential lifting (slow but obviously right).
__global__ void inverseRowsSerial(Plane src, Plane dst)
{
    const int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= src.height)
        return;
    const int n = src.width;
    const coef_t* s = src.ptr + y * src.pitch;
    const coef_t* d = s + n / 2;
    coef_t* out = dst.ptr + y * dst.pitch;
    coef_t even = s[0] - ((2 * d[0] + 2) >> 2);
    for (int k = 0; k < n / 2; ++k) {
        coef_t nextEven = even;
        if (k + 1 < n / 2)
            nextEven = s[k + 1] - ((d[k] + d[k + 1] + 2) >> 2);
        out[2 * k] = even;
        out[2 * k + 1] = d[k] + ((even + nextEven) >> 1);
        even = nextEven;
    }
}

struct Codec {
    int w, h, levels;
    coef_t *a = nullptr, *b = nullptr;
    Codec(int w_, int h_, int l_) : w(w_), h(h_), levels(l_)
    {
        check(cudaMalloc(&a, sizeof(coef_t) * w * h), "alloc a");
        check(cudaMalloc(&b, sizeof(coef_t) * w * h), "alloc b");
    }
    ~Codec()
    {
        cudaFree(a);
        cudaFree(b);
    }
    void forward()
    {
        for (int l = 0; l < levels; ++l) {
            Plane pa{a, w >> l, h >> l, w};
            Plane pb{b, w >> l, h >> l, w};
            forwardRows<<<pa.height, 128>>>(pa, pb);
            dim3 blk(32, 4);
            dim3 grd((pa.width + 31) / 32, (pa.height / 2 + 3) / 4);
            forwardColsGlobal<<<grd, blk>>>(pb, pa);
        }
    }
    void inverse()
    {
        for (int l = levels - 1; l >= 0; --l) {
            Plane pa{a, w >> l, h >> l, w};
            Plane pb{b, w >> l, h >> l, w};
            inverseCols<<<pa.width / 32, dim3(32, 8), pa.height * 32 * sizeof(coef_t)>>>(pa, pb);
            inverseRowsSerial<<<(pa.height + 63) / 64, 64>>>(pb, pa);
        }
    }
};

// CPU forward for comparison
void cpuLine(std::vector<int>& v)
{
    const int n = int(v.size());
    for (int i = 1; i < n; i += 2)
        v[i] -= (v[i - 1] + v[mirror(i + 1, n)]) >> 1;
    for (int i = 0; i < n; i += 2)
        v[i] += (v[mirror(i - 1, n)] + v[i + 1] + 2) >> 2;
    std::vector<int> o(n);
    for (int k = 0; k < n / 2; ++k) {
        o[k] = v[2 * k];
        o[n / 2 + k] = v[2 * k + 1];
    }
    v.swap(o);
}

} // namespace wvlt

int main()
try {
    using namespace wvlt;
    const int w = 512, h = 320, levels = 3, step = 6;
    const int n = w * h;
    std::mt19937 gen(7);
    std::vector<int> img(n);
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x)
            img[y * w + x] = ((x * 3 + y * 2) / 9 + ((x / 64 + y / 32) % 2) * 60 + int(gen() % 8)) & 255;

    Codec c(w, h, levels);
    signed char* dq;
    unsigned* dbits;
    int* druns;
    check(cudaMalloc(&dq, n), "q");
    check(cudaMalloc(&dbits, n / 32 * sizeof(unsigned)), "bits");
    check(cudaMalloc(&druns, n / 64 * sizeof(int)), "runs");
    check(cudaMemcpy(c.a, img.data(), n * sizeof(int), cudaMemcpyHostToDevice), "h2d");

    c.forward();
    check(cudaGetLastError(), "forward");
    std::vector<int> coef(n);
    check(cudaMemcpy(coef.data(), c.a, n * sizeof(int), cudaMemcpyDeviceToHost), "coef");
    quantise<<<dim3((w + 127) / 128, h), 128>>>(Plane{c.a, w, h, w}, dq, step, w >> levels, h >> levels);
    significance<<<(n + 255) / 256, 256>>>(dq, dbits, n);
    zeroRuns<<<(n / 64 + 127) / 128, 128>>>(dq, druns, n / 64);
    c.inverse();
    check(cudaGetLastError(), "inverse");
    check(cudaDeviceSynchronize(), "sync");

    std::vector<int> back(n), runs(n / 64);
    std::vector<signed char> q(n);
    std::vector<unsigned> bits(n / 32);
    check(cudaMemcpy(back.data(), c.a, n * sizeof(int), cudaMemcpyDeviceToHost), "back");
    check(cudaMemcpy(q.data(), dq, n, cudaMemcpyDeviceToHost), "q");
    check(cudaMemcpy(bits.data(), dbits, n / 8, cudaMemcpyDeviceToHost), "bits");
    check(cudaMemcpy(runs.data(), druns, n / 16, cudaMemcpyDeviceToHost), "runs");

    std::vector<int> ref = img;
    for (int l = 0; l < levels; ++l) {
        const int lw = w >> l, lh = h >> l;
        for (int y = 0; y < lh; ++y) {
            std::vector<int> row(ref.begin() + y * w, ref.begin() + y * w + lw);
            cpuLine(row);
            std::copy(row.begin(), row.end(), ref.begin() + y * w);
        }
        for (int x = 0; x < lw; ++x) {
            std::vector<int> col(lh);
            for (int y = 0; y < lh; ++y)
                col[y] = ref[y * w + x];
            cpuLine(col);
            for (int y = 0; y < lh; ++y)
                ref[y * w + x] = col[y];
        }
    }
    int bad = 0;
    for (int i = 0; i < n; ++i) {
        const int x = i % w, y = i / w;
        const int st = (x < (w >> levels) && y < (h >> levels)) ? 4 : step;
        const int m = std::min(std::abs(ref[i]) / st, 127);
        bad += coef[i] != ref[i];
        bad += back[i] != img[i];
        bad += q[i] != (ref[i] < 0 ? -m : m);
        bad += ((bits[i / 32] >> (i % 32)) & 1u) != (m != 0 ? 1u : 0u);
    }
    for (int s = 0; s < n / 64; ++s) {
        int cnt = 0;
        for (int i = 0; i < 64; ++i)
            cnt += q[s * 64 + i] == 0 && (i == 0 || q[s * 64 + i - 1] != 0);
        bad += cnt != runs[s];
    }
    cudaFree(dq);
    cudaFree(dbits);
    cudaFree(druns);
    std::printf("%s (%d)\n", bad ? "FAIL" : "PASS", bad);
    return bad ? 1 : 0;
} catch (const std::exception& e) {
    std::printf("FAIL %s\n", e.what());
    return 2;
}
