// Life on a torus: byte-per-cell (homework version), shared tile version, and 32 cells per word with carry-save adders.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cstring>
#include <cuda_runtime.h>
#define W 1024
#define H 768
#define WW (W / 32)
typedef unsigned char cell;

__global__ void life_naive(const cell* in, cell* out) {
    // mapping chosen badly on purpose: x of the block walks rows
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    int x = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H) return;
    int n = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx || dy) n += in[((y + dy + H) % H) * W + (x + dx + W) % W];
    out[y * W + x] = n == 3 || (n == 2 && in[y * W + x]);
}

#define TX 64
#define TY 6
__global__ void life_tile(const cell* in, cell* out) {
    __shared__ cell t[TY + 2][TX + 2];
    int x0 = blockIdx.x * TX, y0 = blockIdx.y * TY;
    int tid = threadIdx.y * TX + threadIdx.x;
    for (int i = tid; i < (TX + 2) * (TY + 2); i += TX * TY) {
        int lx = i % (TX + 2), ly = i / (TX + 2);
        t[ly][lx] = in[((y0 + ly - 1 + H) % H) * W + ((x0 + lx - 1) & (W - 1))];
    }
    __syncthreads();
    int lx = threadIdx.x + 1, ly = threadIdx.y + 1;
    int n = t[ly - 1][lx - 1] + t[ly - 1][lx] + t[ly - 1][lx + 1] + t[ly][lx - 1] + t[ly][lx + 1] + t[ly + 1][lx - 1] + t[ly + 1][lx] + t[ly + 1][lx + 1];
    out[(y0 + threadIdx.y) * W + x0 + threadIdx.x] = (n | t[ly][lx]) == 3;
}

__global__ void pack_cells(const cell* in, unsigned* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned m = __ballot_sync(0xffffffffu, in[i] != 0);
    if ((threadIdx.x & 31) == 0) out[i >> 5] = m;
}

__device__ __forceinline__ void fulladd(unsigned a, unsigned b, unsigned c, unsigned& s, unsigned& k) {
    s = a ^ b ^ c;
    k = (a & b) | (c & (a ^ b));
}
__global__ void life_bits(const unsigned* __restrict__ in, unsigned* __restrict__ out) {
    int wx = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (wx >= WW || y >= H) return;
    unsigned L[3], C[3], R[3];
#pragma unroll
    for (int k = 0; k < 3; k++) {
        int yy = y + k - 1;
        yy = yy < 0 ? H - 1 : (yy == H ? 0 : yy);
        const unsigned* row = in + yy * WW;
        unsigned c = row[wx], l = row[(wx + WW - 1) % WW], r = row[(wx + 1) % WW];
        C[k] = c;
        L[k] = __funnelshift_l(l, c, 1);   // neighbour to the left of each bit
        R[k] = __funnelshift_r(c, r, 1);
    }
    unsigned s0, c0, s1, c1, s2, c2, t, u;
    fulladd(L[0], C[0], R[0], s0, c0);
    fulladd(L[2], C[2], R[2], s1, c1);
    s2 = L[1] ^ R[1]; c2 = L[1] & R[1];
    unsigned ones, k1;
    fulladd(s0, s1, s2, ones, k1);
    fulladd(c0, c1, c2, t, u);
    unsigned twos = t ^ k1, fours = u | (t & k1);
    out[y * WW + wx] = twos & ~fours & (ones | C[1]);
}

__global__ void population(const unsigned* w, int n, int* total) {
    int s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += __popc(w[i]);
    s = __reduce_add_sync(0xffffffffu, s);
    if ((threadIdx.x & 31) == 0) atomicAdd(total, s);
}

int main() {
    std::vector<cell> h(W * H), a(W * H), b(W * H), tmp(W * H);
    srand(2009);
    for (auto& c : h) c = rand() % 3 == 0;
    cell *d0, *d1, *e0, *e1; unsigned *p0, *p1; int* tot;
    cudaMalloc(&d0, W * H); cudaMalloc(&d1, W * H); cudaMalloc(&e0, W * H); cudaMalloc(&e1, W * H);
    cudaMalloc(&p0, W * H / 8); cudaMalloc(&p1, W * H / 8); cudaMalloc(&tot, 4); cudaMemset(tot, 0, 4);
    cudaMemcpy(d0, h.data(), W * H, cudaMemcpyHostToDevice);
    cudaMemcpy(e0, h.data(), W * H, cudaMemcpyHostToDevice);
    pack_cells<<<W * H / 256, 256>>>(d0, p0);
    for (int g = 0; g < 3; g++) {
        life_naive<<<dim3(H / 32, W / 8), dim3(32, 8)>>>(d0, d1);
        life_tile<<<dim3(W / TX, H / TY), dim3(TX, TY)>>>(e0, e1);
        life_bits<<<dim3(WW / 32, (H + 6) / 7), dim3(32, 7)>>>(p0, p1);
        std::swap(d0, d1); std::swap(e0, e1); std::swap(p0, p1);
        for (int y = 0; y < H; y++) for (int x = 0; x < W; x++) {
            int n = 0;
            for (int q = 0; q < 9; q++) if (q != 4) n += h[((y + q / 3 - 1 + H) % H) * W + (x + q % 3 - 1 + W) % W];
            tmp[y * W + x] = n == 3 || (n == 2 && h[y * W + x]);
        }
        h.swap(tmp);
    }
    population<<<24, 128>>>(p0, W * H / 32, tot);
    std::vector<unsigned> p(W * H / 32); int pop, rp = 0, bad = 0;
    cudaMemcpy(a.data(), d0, W * H, cudaMemcpyDeviceToHost);
    cudaMemcpy(b.data(), e0, W * H, cudaMemcpyDeviceToHost);
    cudaMemcpy(p.data(), p0, W * H / 8, cudaMemcpyDeviceToHost);
    cudaMemcpy(&pop, tot, 4, cudaMemcpyDeviceToHost);
    for (int i = 0; i < W * H; i++) {
        rp += h[i];
        bad += a[i] != h[i] || b[i] != h[i] || ((p[i / 32] >> (i % 32)) & 1) != h[i];
    }
    printf("pop %d/%d bad %d\n", pop, rp, bad);
    int ok = pop == rp && !bad && cudaGetLastError() == cudaSuccess;
    puts(ok ? "PASS" : "FAIL");
    return !ok;
}
