// Constant memory, read uniformly and not; the same tables through __ldg and shared memory.
#include "common.h"

#define TABLE 256
__constant__ float table[TABLE];
__constant__ unsigned int crcTable[256];

__global__ void uniformIndex(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float s = 0;
        for (int k = 0; k < 16; k++)
            s += table[(blockIdx.x + k) % TABLE] * x[i];
        y[i] = s;
    }
}

__global__ void laneIndex(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] * table[threadIdx.x % TABLE] + table[(threadIdx.x / 4) % TABLE];
}

// A checksum of 64 bytes a thread: byte loads, and a table lookup that depends on data.
__global__ void crcChunks(const unsigned char *data, unsigned int *crc, int chunks)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= chunks) return;
    const unsigned char *p = data + i * 64;
    unsigned int c = 0xffffffffu;
    for (int k = 0; k < 64; k++)
        c = crcTable[(c ^ p[k]) & 0xff] ^ (c >> 8);
    crc[i] = ~c;
}

__global__ void interpolate(const float *__restrict__ lut, const float *__restrict__ x, float *__restrict__ y, int n)
{
    __shared__ float s[TABLE + 1];
    for (int k = threadIdx.x; k < TABLE; k += blockDim.x) s[k] = __ldg(lut + k);
    if (threadIdx.x == 0) s[TABLE] = __ldg(lut + TABLE - 1);
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float at = __saturatef(__ldg(&x[i])) * (TABLE - 1);
        int cell = (int)at;
        float f = at - cell;
        y[i] = s[cell] + f * (s[cell + 1] - s[cell]);
    }
}

int main()
{
    const int n = 50000;
    std::vector<float> t = randomFloats(TABLE, 1), x = randomFloats(n, 2), want(n);
    unsigned int crc[256];
    for (unsigned int i = 0; i < 256; i++) {
        crc[i] = i;
        for (int k = 0; k < 8; k++) crc[i] = crc[i] & 1 ? 0xedb88320u ^ (crc[i] >> 1) : crc[i] >> 1;
    }
    CUDA_OK(cudaMemcpyToSymbol(table, t.data(), sizeof(table)));
    CUDA_OK(cudaMemcpyToSymbol(crcTable, crc, sizeof(crc)));
    float *dx = toDevice(x), *dy = deviceZeros<float>(n);
    bool ok = true;
    uniformIndex<<<(n + 255) / 256, 256>>>(dx, dy, n);
    for (int i = 0; i < n; i++) { want[i] = 0; for (int k = 0; k < 16; k++) want[i] += t[(i / 256 + k) % TABLE] * x[i]; }
    ok &= report("uniformIndex", allNear(toHost(dy, n), want, 1e-5));
    laneIndex<<<(n + 127) / 128, 128>>>(dx, dy, n);
    for (int i = 0; i < n; i++) want[i] = x[i] * t[i % 128] + t[i % 128 / 4];
    ok &= report("laneIndex", allNear(toHost(dy, n), want, 1e-5));

    const int chunks = 3000;
    std::vector<unsigned char> data(chunks * 64);
    std::vector<unsigned int> sums(chunks);
    Random r(1);
    for (auto &b : data) b = (unsigned char)r.below(256);
    for (int i = 0; i < chunks; i++) {
        unsigned int c = ~0u;
        for (int k = 0; k < 64; k++) c = crc[(c ^ data[i * 64 + k]) & 255] ^ (c >> 8);
        sums[i] = ~c;
    }
    unsigned int *dc = deviceZeros<unsigned int>(chunks);
    crcChunks<<<(chunks + 127) / 128, 128>>>(toDevice(data), dc, chunks);
    ok &= report("crcChunks", toHost(dc, chunks) == sums);

    interpolate<<<64, 192>>>(toDevice(t), dx, dy, n);
    for (int i = 0; i < n; i++) {
        float at = std::fmin(std::fmax(x[i], 0.0f), 1.0f) * (TABLE - 1);
        int cell = (int)at;
        want[i] = t[cell] + (at - cell) * (t[cell + 1] - t[cell]);
    }
    ok &= report("interpolate", allNear(toHost(dy, n), want, 1e-4));
    return ok ? 0 : 1;
}
