// Reversible JPEG 2000 front end: component transform, two levels of the 5/3 lifting wavelet, dead-zone quantiser with
// statistics of the magnitudes per sub-band.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

#define GPU_CHECK(x) do { cudaError_t rc = (x); if (rc != cudaSuccess) { \
    fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(rc)); exit(rc); } } while (0)

namespace j2k {

struct Band { int x, y, w, h, shift; };

// interleaved 8 bit RGB to three planes
__global__ void rct_forward(const unsigned char *rgb, int *planes, int size)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) {
        int r = rgb[3 * i] - 128, g = rgb[3 * i + 1] - 128, b = rgb[3 * i + 2] - 128;
        planes[i] = (r + 2 * g + b) >> 2;
        planes[size + i] = b - g;
        planes[2 * size + i] = r - g;
    }
}

// One block a row, the row in dynamic shared memory.
__global__ void dwt53_rows(const int *in, int *out, int width, int pitch, size_t planeSize)
{
    extern __shared__ int row[];
    const int *src = in + blockIdx.y * planeSize + (size_t)blockIdx.x * pitch;
    int *dst = out + blockIdx.y * planeSize + (size_t)blockIdx.x * pitch;
    const int half = width / 2;

    for (int i = threadIdx.x; i < width; i += blockDim.x) row[i] = src[i];
    __syncthreads();
    for (int i = threadIdx.x; i < half; i += blockDim.x) {
        int right = 2 * i + 2 < width ? row[2 * i + 2] : row[2 * i];
        row[2 * i + 1] -= (row[2 * i] + right) >> 1;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < half; i += blockDim.x) {
        int left = i > 0 ? row[2 * i - 1] : row[1];
        row[2 * i] += (left + row[2 * i + 1] + 2) >> 2;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < half; i += blockDim.x) {
        dst[i] = row[2 * i];
        dst[half + i] = row[2 * i + 1];
    }
}

// One thread a column, walking down with a sliding window of registers.
__global__ void dwt53_columns(const int *in, int *out, int width, int height, int pitch, size_t planeSize)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= width) return;
    const int *src = in + blockIdx.y * planeSize + x;
    int *dst = out + blockIdx.y * planeSize + x;
    const int half = height / 2;

    int even = src[0], prevHigh = 0;
    for (int k = 0; k < half; ++k) {
        int odd = src[(2 * k + 1) * pitch];
        int next = 2 * k + 2 < height ? src[(2 * k + 2) * pitch] : even;
        int high = odd - ((even + next) >> 1);
        int low = even + (((k ? prevHigh : high) + high + 2) >> 2);
        dst[k * pitch] = low;
        dst[(half + k) * pitch] = high;
        even = next;
        prevHigh = high;
    }
}

// Sign-magnitude quantisation of a sub-band; counts how many bits the magnitudes need.
__global__ void deadzone_quant(int *plane, Band band, int pitch, size_t planeSize, unsigned *bits)
{
    __shared__ unsigned local[32];
    int tid = threadIdx.y * blockDim.x + threadIdx.x;
    if (tid < 32) local[tid] = 0;
    __syncthreads();
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < band.w && y < band.h) {
        int *p = plane + blockIdx.z * planeSize + (size_t)(band.y + y) * pitch + band.x + x;
        int v = *p;
        unsigned m = (unsigned)abs(v) >> band.shift;
        *p = (int)(m | (v < 0 ? 0x80000000u : 0u));
        atomicAdd(&local[m ? 32 - __clz(m) : 0], 1u);
    }
    __syncthreads();
    if (tid < 32 && local[tid]) atomicAdd(&bits[tid], local[tid]);
}

} // namespace j2k

static void lift(int *v, int n, int stride)
{
    std::vector<int> t(n);
    for (int i = 0; i < n; ++i) t[i] = v[i * stride];
    for (int i = 1; i < n; i += 2) t[i] -= (t[i - 1] + (i + 1 < n ? t[i + 1] : t[i - 1])) >> 1;
    for (int i = 0; i < n; i += 2) t[i] += ((i ? t[i - 1] : t[1]) + t[i + 1] + 2) >> 2;
    for (int i = 0; i < n / 2; ++i) { v[i * stride] = t[2 * i]; v[(n / 2 + i) * stride] = t[2 * i + 1]; }
}

int main(int argc, char **argv)
{
    int width = argc > 1 ? atoi(argv[1]) : 1024, height = argc > 2 ? atoi(argv[2]) : 768, levels = 2;
    size_t size = (size_t)width * height;
    std::vector<unsigned char> rgb(3 * size);
    unsigned lcg = 1;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            for (int c = 0; c < 3; ++c) {
                lcg = lcg * 69069u + 1u;
                rgb[3 * ((size_t)y * width + x) + c] = (unsigned char)((x * (c + 1) / 5 + y * (3 - c) / 4 + (lcg >> 28)) & 255);
            }

    unsigned char *dRgb;
    int *dA, *dB;
    unsigned *dBits;
    GPU_CHECK(cudaMalloc(&dRgb, rgb.size()));
    GPU_CHECK(cudaMalloc(&dA, 3 * size * sizeof(int)));
    GPU_CHECK(cudaMalloc(&dB, 3 * size * sizeof(int)));
    GPU_CHECK(cudaMalloc(&dBits, 32 * sizeof(unsigned)));
    GPU_CHECK(cudaMemset(dBits, 0, 32 * sizeof(unsigned)));
    GPU_CHECK(cudaMemcpy(dRgb, rgb.data(), rgb.size(), cudaMemcpyHostToDevice));

    j2k::rct_forward<<<(unsigned)((size + 255) / 256), 256>>>(dRgb, dA, (int)size);
    std::vector<j2k::Band> bands;
    int w = width, h = height;
    for (int l = 0; l < levels; ++l, w /= 2, h /= 2) {
        j2k::dwt53_rows<<<dim3(h, 3), 256, w * sizeof(int)>>>(dA, dB, w, width, size);
        j2k::dwt53_columns<<<dim3((w + 63) / 64, 3), 64>>>(dB, dA, w, h, width, size);
        bands.push_back({w / 2, 0, w / 2, h / 2, 2 - l});
        bands.push_back({0, h / 2, w / 2, h / 2, 2 - l});
    }
    for (const auto &b : bands)
        j2k::deadzone_quant<<<dim3((b.w + 31) / 32, (b.h + 3) / 4, 3), dim3(32, 4)>>>(dA, b, width, size, dBits);
    GPU_CHECK(cudaGetLastError());

    std::vector<int> got(3 * size), want(3 * size);
    unsigned bits[32], wantBits[32] = {0};
    GPU_CHECK(cudaMemcpy(got.data(), dA, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
    GPU_CHECK(cudaMemcpy(bits, dBits, sizeof(bits), cudaMemcpyDeviceToHost));

    for (size_t i = 0; i < size; ++i) {
        int r = rgb[3 * i] - 128, g = rgb[3 * i + 1] - 128, b = rgb[3 * i + 2] - 128;
        want[i] = (r + 2 * g + b) >> 2;
        want[size + i] = b - g;
        want[2 * size + i] = r - g;
    }
    for (int c = 0; c < 3; ++c) {
        int *p = &want[c * size];
        for (int l = 0, W = width, H = height; l < levels; ++l, W /= 2, H /= 2) {
            for (int y = 0; y < H; ++y) lift(p + (size_t)y * width, W, 1);
            for (int x = 0; x < W; ++x) lift(p + x, H, width);
        }
        for (const auto &b : bands)
            for (int y = 0; y < b.h; ++y)
                for (int x = 0; x < b.w; ++x) {
                    int &v = p[(size_t)(b.y + y) * width + b.x + x];
                    unsigned m = (unsigned)std::abs(v) >> b.shift;
                    int n = 0;
                    while (m >> n) ++n;
                    ++wantBits[n];
                    v = (int)(m | (v < 0 ? 0x80000000u : 0u));
                }
    }
    size_t bad = 0;
    for (size_t i = 0; i < want.size(); ++i) bad += want[i] != got[i];
    bool same = memcmp(bits, wantBits, sizeof(bits)) == 0;
    printf("%zu coefficients differ, statistics %s\n", bad, same ? "agree" : "differ");
    cudaFree(dRgb); cudaFree(dA); cudaFree(dB); cudaFree(dBits);
    return bad || !same;
}
