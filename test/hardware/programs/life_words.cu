// Conway's life: byte grid with torus wrap, and a bit-packed version (32 cells a word), compared.
#include <cstdio>
#include <cstdint>
#include <cstdlib>
#include <vector>
#include <utility>

using byte = uint8_t;

template <int BX, int BY>
__global__ void life_bytes(const byte* __restrict__ cur, byte* __restrict__ nxt, int w, int h)
{
    __shared__ byte s[BY + 2][BX + 2];
    const int gx0 = blockIdx.x * BX - 1, gy0 = blockIdx.y * BY - 1;
    for (int y = threadIdx.y; y < BY + 2; y += BY)
        for (int x = threadIdx.x; x < BX + 2; x += BX) {
            int gx = (gx0 + x + w) % w, gy = (gy0 + y + h) % h;
            s[y][x] = cur[gy * w + gx];
        }
    __syncthreads();
    int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y;
    if (x >= w || y >= h) return;
    int n = 0;
#pragma unroll
    for (int dy = 0; dy < 3; ++dy)
#pragma unroll
        for (int dx = 0; dx < 3; ++dx) n += s[threadIdx.y + dy][threadIdx.x + dx];
    byte me = s[threadIdx.y + 1][threadIdx.x + 1];
    n -= me;
    nxt[y * w + x] = (n == 3) | (me & (n == 2));
}

__global__ void pack_bits(const byte* cells, uint32_t* words, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    uint32_t m = __ballot_sync(0xffffffffu, x < w && cells[y * w + x]);
    if ((threadIdx.x & 31) == 0 && x < w) words[y * (w / 32) + x / 32] = m;
}

struct Adder {          // bit-sliced counter of up to 8 neighbours
    uint32_t b0 = 0, b1 = 0, b2 = 0;
    __device__ void add(uint32_t v) {
        uint32_t c0 = b0 & v; b0 ^= v;
        uint32_t c1 = b1 & c0; b1 ^= c0;
        b2 |= c1;
    }
};

__device__ __forceinline__ void row_neighbours(const uint32_t* row, int xw, int ww, uint32_t& l, uint32_t& c, uint32_t& r)
{
    c = row[xw];
    uint32_t pv = row[xw == 0 ? ww - 1 : xw - 1], nx = row[xw + 1 == ww ? 0 : xw + 1];
    l = (c << 1) | (pv >> 31);
    r = (c >> 1) | (nx << 31);
}

__global__ void life_words(const uint32_t* __restrict__ cur, uint32_t* __restrict__ nxt, int ww, int h)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < ww * h; i += gridDim.x * blockDim.x) {
        int y = i / ww, xw = i - y * ww;
        uint32_t l, c, r, me;
        Adder a;
        row_neighbours(cur + ((y + h - 1) % h) * ww, xw, ww, l, c, r);
        a.add(l); a.add(c); a.add(r);
        row_neighbours(cur + y * ww, xw, ww, l, me, r);
        a.add(l); a.add(r);
        row_neighbours(cur + ((y + 1) % h) * ww, xw, ww, l, c, r);
        a.add(l); a.add(c); a.add(r);
        nxt[i] = (a.b1 & ~a.b2) & (a.b0 | me);
    }
}

__global__ void compare(const byte* cells, const uint32_t* words, int w, int h, int* diff, int* alive)
{
    int d = 0, al = 0;
    for (int y = blockIdx.x; y < h; y += gridDim.x)
        for (int x = threadIdx.x; x < w; x += blockDim.x) {
            int a = cells[y * w + x], b = (words[y * (w >> 5) + (x >> 5)] >> (x & 31)) & 1;
            d += a != b;
            al += b;
        }
    if (d) atomicAdd(diff, d);
    atomicAdd(alive, al);
}

int main()
{
    const int w = 224, h = 150;
    std::vector<byte> init(w * h);
    srand(123);
    for (auto& c : init) c = rand() % 3 == 0;
    byte *a, *b; uint32_t *p, *q; int* res;
    cudaMalloc(&a, w * h); cudaMalloc(&b, w * h); cudaMalloc(&p, w * h / 8); cudaMalloc(&q, w * h / 8); cudaMalloc(&res, 8);
    cudaMemset(res, 0, 8);
    cudaMemcpy(a, init.data(), w * h, cudaMemcpyHostToDevice);
    pack_bits<<<dim3((w + 63) / 64, h), 64>>>(a, p, w, h);
    for (int gen = 0; gen < 4; ++gen) {
        life_bytes<24, 10><<<dim3((w + 23) / 24, (h + 9) / 10), dim3(24, 10)>>>(a, b, w, h);
        std::swap(a, b);
        life_words<<<6, 64>>>(p, q, w / 32, h);
        std::swap(p, q);
    }
    compare<<<30, 112>>>(a, p, w, h, res, res + 1);
    int r[2];
    cudaMemcpy(r, res, 8, cudaMemcpyDeviceToHost);
    printf("alive %d, differences %d\n", r[1], r[0]);
    return r[0] != 0 || r[1] == 0;
}
