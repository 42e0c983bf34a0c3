// JPEG-like pipeline: level shift, 8x8 DCT, quantise to short (zig-zag), dequantise and IDCT.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cstdint>

#define BLOCK 8
__constant__ float c_dct[64];
__constant__ unsigned char c_quant[64];
__constant__ unsigned char c_zigzag[64] = {
     0, 1, 8,16, 9, 2, 3,10,17,24,32,25,18,11, 4, 5,
    12,19,26,33,40,48,41,34,27,20,13, 6, 7,14,21,28,
    35,42,49,56,57,50,43,36,29,22,15,23,30,37,44,51,
    58,59,52,45,38,31,39,46,53,60,61,54,47,55,62,63 };

static const unsigned char h_quant[64] = {
    16,11,10,16,24,40,51,61, 12,12,14,19,26,58,60,55,
    14,13,16,24,40,57,69,56, 14,17,22,29,51,87,80,62,
    18,22,37,56,68,109,103,77, 24,35,55,64,81,104,113,92,
    49,64,78,87,103,121,120,101, 72,92,95,98,112,100,103,99 };

// 8x8 threads per image block, 4 image blocks along z
__global__ void fdct_quant(const uint8_t *img, size_t pitch, short *coef, int bw, int bh)
{
    __shared__ float px[4][8][9];
    __shared__ float tmp[4][8][9];
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    int bx = blockIdx.x * 4 + z, by = blockIdx.y;
    if (bx < bw) px[z][y][x] = (float)img[(by * 8 + y) * pitch + bx * 8 + x] - 128.f;
    else px[z][y][x] = 0.f;
    __syncthreads();
    float s = 0.f;
#pragma unroll
    for (int k = 0; k < 8; k++) s += c_dct[x * 8 + k] * px[z][y][k];
    tmp[z][y][x] = s;
    __syncthreads();
    s = 0.f;
#pragma unroll
    for (int k = 0; k < 8; k++) s += c_dct[y * 8 + k] * tmp[z][k][x];
    px[z][y][x] = s;
    __syncthreads();
    if (bx < bw) {
        int lin = y * 8 + x;
        int zz = c_zigzag[lin];
        float v = px[z][zz >> 3][zz & 7];
        coef[(size_t)(by * bw + bx) * 64 + lin] = (short)__float2int_rn(v / (float)c_quant[zz]);
    }
}

// one thread a column then a row: 8 threads per block, 32 blocks per CTA
__global__ void idct_cols(const short *__restrict__ coef, uint8_t *__restrict__ img, size_t pitch, int bw, int nblocks)
{
    __shared__ float w[16][64 + 8];
    int col = threadIdx.x & 7, g = threadIdx.x >> 3;
    int blk = blockIdx.x * 16 + g;
    bool ok = blk < nblocks;
    for (int i = col; i < 64; i += 8) {
        int zz = c_zigzag[i];
        w[g][zz + (zz >> 3)] = ok ? (float)coef[blk * 64 + i] * c_quant[zz] : 0.f;
    }
    __syncwarp();
    float v[8];
    for (int r = 0; r < 8; r++) {
        float s = 0;
        for (int k = 0; k < 8; k++) s += c_dct[k * 8 + r] * w[g][k * 9 + col];
        v[r] = s;
    }
    __syncwarp();
    for (int r = 0; r < 8; r++) w[g][r * 9 + col] = v[r];
    __syncwarp();
    const int row = col;
    unsigned char o[8];
    for (int c = 0; c < 8; c++) {
        float s = 128.5f;
        for (int k = 0; k < 8; k++) s += c_dct[k * 8 + c] * w[g][row * 9 + k];
        o[c] = (unsigned char)fminf(255.f, fmaxf(0.f, s));
    }
    if (ok) {
        int by = blk / bw, bx = blk % bw;
        uchar4 *dst = (uchar4 *)(img + (by * 8 + row) * pitch + bx * 8);
        dst[0] = make_uchar4(o[0], o[1], o[2], o[3]);
        dst[1] = make_uchar4(o[4], o[5], o[6], o[7]);
    }
}

__global__ void count_zeros(const short *coef, int n, unsigned *zeros)
{
    unsigned mine = 0;
    const short2 *p = (const short2 *)coef;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 2; i += gridDim.x * blockDim.x) {
        short2 v = p[i];
        mine += (v.x == 0) + (v.y == 0);
    }
    mine = __reduce_add_sync(~0u, mine);
    if ((threadIdx.x & 31) == 0) atomicAdd(zeros, mine);
}

int main()
{
    const int W = 200, H = 152, bw = W / 8, bh = H / 8;
    std::vector<uint8_t> img(W * H), back(W * H);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            img[y * W + x] = (uint8_t)(128 + 80 * sin(x * 0.07) * cos(y * 0.05) + (rand() % 9));
    float m[64];
    for (int k = 0; k < 8; k++)
        for (int n = 0; n < 8; n++) m[k * 8 + n] = (k ? 0.5 : sqrt(0.125)) * cos((2 * n + 1) * k * M_PI / 16);
    cudaMemcpyToSymbol(c_dct, m, sizeof m);
    cudaMemcpyToSymbol(c_quant, h_quant, sizeof h_quant);
    uint8_t *d1, *d2; size_t pitch, pitch2; short *dc; unsigned *dz;
    cudaMallocPitch(&d1, &pitch, W, H);
    cudaMallocPitch(&d2, &pitch2, W, H);
    cudaMalloc(&dc, W * H * sizeof(short)); cudaMalloc(&dz, 4);
    cudaMemset(dz, 0, 4);
    cudaMemcpy2D(d1, pitch, img.data(), W, W, H, cudaMemcpyHostToDevice);
    fdct_quant<<<dim3((bw + 3) / 4, bh), dim3(8, 8, 4)>>>(d1, pitch, dc, bw, bh);
    idct_cols<<<(bw * bh + 15) / 16, 128>>>(dc, d2, pitch2, bw, bw * bh);
    count_zeros<<<10, 96>>>(dc, W * H, dz);
    cudaMemcpy2D(back.data(), W, d2, pitch2, W, H, cudaMemcpyDeviceToHost);
    unsigned z; cudaMemcpy(&z, dz, 4, cudaMemcpyDeviceToHost);
    double mse = 0;
    for (int i = 0; i < W * H; i++) mse += (img[i] - back[i]) * (double)(img[i] - back[i]);
    mse /= W * H;
    printf("psnr %.2f dB, zero coefficients %.1f%%\n", 10 * log10(255.0 * 255.0 / mse), 100.0 * z / (W * H));
    return mse < 100 ? 0 : 1;
}
