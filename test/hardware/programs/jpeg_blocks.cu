////////////////////////////////////////////////////////////////////////////////
// Baseline JPEG front end / back end on the GPU:
//   RGB -> YCbCr (4:2:0)  ->  level shift + 8x8 DCT -> quantisation + zig-zag
//   -> entropy size estimation per block  |  dequantisation + IDCT -> RGB
//
// Host code runs the "gold" versions of every stage.
////////////////////////////////////////////////////////////////////////////////

// System includes
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>

// CUDA runtime
#include <cuda_runtime.h>

typedef unsigned char uchar;

#define checkCudaErrors(val) check((val), #val, __FILE__, __LINE__)
static void check(cudaError_t result, char const *const func, const char *const file, int const line)
{
    if (result)
    {
        fprintf(stderr, "CUDA error at %s:%d code=%d(%s) \"%s\" \n", file, line, (unsigned int)result,
                cudaGetErrorName(result), func);
        exit(EXIT_FAILURE);
    }
}
#define getLastCudaError(msg)                                                            \
    {                                                                                    \
        cudaError_t e = cudaGetLastError();                                              \
        if (e != cudaSuccess) { printf("%s : %s\n", msg, cudaGetErrorString(e)); exit(EXIT_FAILURE); } \
    }

#define BLOCK_SIZE          8
#define BLOCK_SIZE2         64
#define KER2_BLOCK_WIDTH    32      // 4 x 2 image blocks of 8x8 per thread block
#define KER2_BLOCK_HEIGHT   16
#define KER2_BW_LOG2        5
#define KER2_SMEMBLOCK_STRIDE (KER2_BLOCK_WIDTH + 1)

#define C_a 1.387039845322148f //!< a = (2^0.5) * cos(    pi / 16);  Used in forward and inverse DCT.
#define C_b 1.306562964876377f //!< b = (2^0.5) * cos(    pi /  8);  Used in forward and inverse DCT.
#define C_c 1.175875602419359f //!< c = (2^0.5) * cos(3 * pi / 16);  Used in forward and inverse DCT.
#define C_d 0.785694958387102f //!< d = (2^0.5) * cos(5 * pi / 16);  Used in forward and inverse DCT.
#define C_e 0.541196100146197f //!< e = (2^0.5) * cos(3 * pi /  8);  Used in forward and inverse DCT.
#define C_f 0.275899379282943f //!< f = (2^0.5) * cos(7 * pi / 16);  Used in forward and inverse DCT.
#define C_norm 0.3535533905932737f // 1 / (8^0.5)

__constant__ uchar c_zigzag[64];
__constant__ float c_quant[2][64];

static const uchar h_zigzag[64] = {
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

static const int h_lumQ[64] = {
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62,
    18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99};
static const int h_chrQ[64] = {
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99};

////////////////////////////////////////////////////////////////////////////////
// Colour conversion. Every thread covers a 2x2 quad: 4 luma samples, 1 chroma pair
////////////////////////////////////////////////////////////////////////////////
__global__ void RGBToYCbCr420Kernel(const uchar *pRGB, float *pY, float *pCb, float *pCr, int width, int height, int pitchY, int pitchC)
{
    int cx = blockIdx.x * blockDim.x + threadIdx.x;
    int cy = blockIdx.y * blockDim.y + threadIdx.y;
    if (2 * cx >= width || 2 * cy >= height) return;

    float sumCb = 0.0f, sumCr = 0.0f;
#pragma unroll
    for (int i = 0; i < 4; i++)
    {
        int x = 2 * cx + (i & 1), y = 2 * cy + (i >> 1);
        const uchar *p = pRGB + 3 * (y * width + x);
        float r = p[0], g = p[1], b = p[2];
        pY[y * pitchY + x] = 0.299f * r + 0.587f * g + 0.114f * b;
        sumCb += -0.168736f * r - 0.331264f * g + 0.5f * b;
        sumCr += 0.5f * r - 0.418688f * g - 0.081312f * b;
    }
    pCb[cy * pitchC + cx] = 128.0f + 0.25f * sumCb;
    pCr[cy * pitchC + cx] = 128.0f + 0.25f * sumCr;
}

/**
**************************************************************************
*  Performs in-place DCT of vector of 8 elements.
*
* \param Vect0          [IN/OUT] - Pointer to the first element of vector
* \param Step           [IN/OUT] - Value to add to ptr to access other elements
*/
__device__ void CUDAsubroutineInplaceDCTvector(float *Vect0, int Step)
{
    float *Vect1 = Vect0 + Step;
    float *Vect2 = Vect1 + Step;
    float *Vect3 = Vect2 + Step;
    float *Vect4 = Vect3 + Step;
    float *Vect5 = Vect4 + Step;
    float *Vect6 = Vect5 + Step;
    float *Vect7 = Vect6 + Step;

    float X07P = (*Vect0) + (*Vect7);
    float X16P = (*Vect1) + (*Vect6);
    float X25P = (*Vect2) + (*Vect5);
    float X34P = (*Vect3) + (*Vect4);

    float X07M = (*Vect0) - (*Vect7);
    float X61M = (*Vect6) - (*Vect1);
    float X25M = (*Vect2) - (*Vect5);
    float X43M = (*Vect4) - (*Vect3);

    float X07P34PP = X07P + X34P;
    float X07P34PM = X07P - X34P;
    float X16P25PP = X16P + X25P;
    float X16P25PM = X16P - X25P;

    (*Vect0) = C_norm * (X07P34PP + X16P25PP);
    (*Vect2) = C_norm * (C_b * X07P34PM + C_e * X16P25PM);
    (*Vect4) = C_norm * (X07P34PP - X16P25PP);
    (*Vect6) = C_norm * (C_e * X07P34PM - C_b * X16P25PM);

    (*Vect1) = C_norm * (C_a * X07M - C_c * X61M + C_d * X25M - C_f * X43M);
    (*Vect3) = C_norm * (C_c * X07M + C_f * X61M - C_a * X25M + C_d * X43M);
    (*Vect5) = C_norm * (C_d * X07M + C_a * X61M + C_f * X25M - C_c * X43M);
    (*Vect7) = C_norm * (C_f * X07M + C_d * X61M + C_c * X25M + C_a * X43M);
}

__device__ void CUDAsubroutineInplaceIDCTvector(float *Vect0, int Step)
{
    float V[8];
#pragma unroll
    for (int i = 0; i < 8; i++) V[i] = Vect0[i * Step];

    float Y04P = V[0] + V[4];
    float Y2b6eP = C_b * V[2] + C_e * V[6];
    float Y04P2b6ePP = Y04P + Y2b6eP;
    float Y04P2b6ePM = Y04P - Y2b6eP;
    float Y7f1aP3c5dPP = C_f * V[7] + C_a * V[1] + C_c * V[3] + C_d * V[5];
    float Y7a1fM3d5cMP = C_a * V[7] - C_f * V[1] + C_d * V[3] - C_c * V[5];
    float Y04M = V[0] - V[4];
    float Y2e6bM = C_e * V[2] - C_b * V[6];
    float Y04M2e6bMP = Y04M + Y2e6bM;
    float Y04M2e6bMM = Y04M - Y2e6bM;
    float Y1c7dM3f5aPM = C_c * V[1] - C_d * V[7] - C_f * V[3] - C_a * V[5];
    float Y1d7cP3a5fMM = C_d * V[1] + C_c * V[7] - C_a * V[3] + C_f * V[5];

    Vect0[0 * Step] = C_norm * (Y04P2b6ePP + Y7f1aP3c5dPP);
    Vect0[7 * Step] = C_norm * (Y04P2b6ePP - Y7f1aP3c5dPP);
    Vect0[4 * Step] = C_norm * (Y04P2b6ePM + Y7a1fM3d5cMP);
    Vect0[3 * Step] = C_norm * (Y04P2b6ePM - Y7a1fM3d5cMP);
    Vect0[1 * Step] = C_norm * (Y04M2e6bMP + Y1c7dM3f5aPM);
    Vect0[5 * Step] = C_norm * (Y04M2e6bMM - Y1d7cP3a5fMM);
    Vect0[2 * Step] = C_norm * (Y04M2e6bMM + Y1d7cP3a5fMM);
    Vect0[6 * Step] = C_norm * (Y04M2e6bMP - Y1c7dM3f5aPM);
}

/**
**************************************************************************
*  DCT of a 32x16 macroblock in shared memory. Block is (8, 4, 2): x runs along a row or column
*  of an 8x8 block, (y, z) selects the block. Output: quantised, zig-zag ordered, one 64-vector
*  per block.
*/
__global__ void DCTQuantKernel(const float *SrcPlane, short *DstCoef, int ImgStride, int BlocksX, int table)
{
    __shared__ float block[KER2_BLOCK_HEIGHT * KER2_SMEMBLOCK_STRIDE];

    int OffsThreadInRow = threadIdx.y * BLOCK_SIZE + threadIdx.x;
    int OffsThreadInCol = threadIdx.z * BLOCK_SIZE;
    const float *src = SrcPlane + (blockIdx.y * KER2_BLOCK_HEIGHT + OffsThreadInCol) * ImgStride + blockIdx.x * KER2_BLOCK_WIDTH + OffsThreadInRow;
    float *bl_ptr = block + OffsThreadInCol * KER2_SMEMBLOCK_STRIDE + OffsThreadInRow;

#pragma unroll
    for (unsigned int i = 0; i < BLOCK_SIZE; i++)
        bl_ptr[i * KER2_SMEMBLOCK_STRIDE] = src[i * ImgStride] - 128.0f;
    __syncthreads();

    // rows, then columns
    CUDAsubroutineInplaceDCTvector(block + (OffsThreadInCol + threadIdx.x) * KER2_SMEMBLOCK_STRIDE + OffsThreadInRow - threadIdx.x, 1);
    __syncthreads();
    CUDAsubroutineInplaceDCTvector(bl_ptr, KER2_SMEMBLOCK_STRIDE);
    __syncthreads();

    int bx = blockIdx.x * (KER2_BLOCK_WIDTH / BLOCK_SIZE) + threadIdx.y;
    int by = blockIdx.y * (KER2_BLOCK_HEIGHT / BLOCK_SIZE) + threadIdx.z;
    short *dst = DstCoef + (by * BlocksX + bx) * BLOCK_SIZE2;
    const float *tile = block + OffsThreadInCol * KER2_SMEMBLOCK_STRIDE + threadIdx.y * BLOCK_SIZE;
#pragma unroll
    for (int i = 0; i < BLOCK_SIZE; i++)
    {
        int k = i * BLOCK_SIZE + threadIdx.x;
        int z = c_zigzag[k];
        float v = tile[(z >> 3) * KER2_SMEMBLOCK_STRIDE + (z & 7)];
        dst[k] = (short)__float2int_rn(v / c_quant[table][z]);
    }
}

// One warp estimates the entropy coded size (magnitude bits + run/size symbols) of one block
__global__ void BlockBitsKernel(const short *Coef, int *Bits, int nBlocks)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (warp >= nBlocks) return;
    short2 v = ((const short2 *)(Coef + warp * BLOCK_SIZE2))[lane];
    int sx = v.x ? 32 - __clz(abs((int)v.x)) : 0;
    int sy = v.y ? 32 - __clz(abs((int)v.y)) : 0;
    unsigned int nz = __ballot_sync(0xffffffff, v.x != 0 || v.y != 0);
    int bits = sx + sy + 4 * ((v.x != 0) + (v.y != 0));
    for (int o = 16; o > 0; o >>= 1) bits += __shfl_down_sync(0xffffffff, bits, o);
    if (lane == 0)
    {
        int last = nz ? 31 - __clz(nz) : -1;
        Bits[warp] = bits + (last < 31 ? 4 : 0);    // EOB
    }
}

__global__ void DequantIDCTKernel(const short *SrcCoef, float *DstPlane, int ImgStride, int BlocksX, int table)
{
    __shared__ float block[4][BLOCK_SIZE2];
    int b = threadIdx.y;
    int id = blockIdx.x * 4 + b;    // grid covers whole multiples of 4
    const short *src = SrcCoef + id * BLOCK_SIZE2;
    float *bl = block[b];
    for (int i = 0; i < BLOCK_SIZE; i++)
    {
        int k = i * BLOCK_SIZE + threadIdx.x;
        int z = c_zigzag[k];
        bl[z] = src[k] * c_quant[table][z];
    }
    __syncthreads();
    CUDAsubroutineInplaceIDCTvector(bl + threadIdx.x, BLOCK_SIZE);
    __syncthreads();
    CUDAsubroutineInplaceIDCTvector(bl + threadIdx.x * BLOCK_SIZE, 1);
    __syncthreads();
    float *dst = DstPlane + (id / BlocksX * BLOCK_SIZE) * ImgStride + id % BlocksX * BLOCK_SIZE + threadIdx.x;
    for (int i = 0; i < BLOCK_SIZE; i++) dst[i * ImgStride] = bl[i * BLOCK_SIZE + threadIdx.x] + 128.0f;
}

__global__ void YCbCr420ToRGBKernel(const float *pY, const float *pCb, const float *pCr, uchar *pRGB, int width, int height, int pitchY, int pitchC)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float Y = pY[y * pitchY + x];
    float cb = pCb[(y / 2) * pitchC + x / 2] - 128.0f, cr = pCr[(y / 2) * pitchC + x / 2] - 128.0f;
    float rgb[3] = {Y + 1.402f * cr, Y - 0.344136f * cb - 0.714136f * cr, Y + 1.772f * cb};
    for (int c = 0; c < 3; c++) pRGB[3 * (y * width + x) + c] = (uchar)fminf(fmaxf(rintf(rgb[c]), 0.0f), 255.0f);
}

////////////////////////////////////////////////////////////////////////////////
// Gold
////////////////////////////////////////////////////////////////////////////////
static double cosTab[8][8];

static void goldDCT(const double *in, double *out, int inverse)
{
    double tmp[64];
    for (int pass = 0; pass < 2; pass++)
    {
        const double *s = pass ? tmp : in;
        double *d = pass ? out : tmp;
        for (int r = 0; r < 8; r++)
            for (int u = 0; u < 8; u++)
            {
                double acc = 0;
                for (int x = 0; x < 8; x++) acc += s[r * 8 + x] * (inverse ? cosTab[x][u] : cosTab[u][x]);
                d[u * 8 + r] = acc;     // transposed store, two passes restore the order
            }
    }
}

int main(int argc, char **argv)
{
    const int W = 512, H = 352;     // multiples of 64 x 32, so that chroma fits the macroblocks too
    const int planeW[3] = {W, W / 2, W / 2}, planeH[3] = {H, H / 2, H / 2};
    printf("jpeg_blocks: %d x %d, 4:2:0\n", W, H);

    uchar *hRGB = (uchar *)malloc(3 * W * H), *hOut = (uchar *)malloc(3 * W * H);
    srand(2006);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
        {
            uchar *p = hRGB + 3 * (y * W + x);
            double s = sin(0.031 * x + 0.02 * y) + cos(0.05 * y - 0.011 * x);
            p[0] = (uchar)(128 + 50 * s + rand() % 8);
            p[1] = (uchar)(120 + 40 * sin(0.07 * x) + (((x / 37) ^ (y / 29)) & 1) * 50 + rand() % 8);
            p[2] = (uchar)(100 + (x * 80) / W + (y * 60) / H + rand() % 8);
        }
    for (int u = 0; u < 8; u++)
        for (int x = 0; x < 8; x++) cosTab[u][x] = (u ? 0.5 : sqrt(0.125)) * cos((2 * x + 1) * u * M_PI / 16);

    float q[2][64];
    for (int i = 0; i < 64; i++) { q[0][i] = (float)h_lumQ[i]; q[1][i] = (float)h_chrQ[i]; }
    checkCudaErrors(cudaMemcpyToSymbol(c_zigzag, h_zigzag, sizeof(h_zigzag)));
    checkCudaErrors(cudaMemcpyToSymbol(c_quant, q, sizeof(q)));

    uchar *dRGB, *dOut;
    float *dPlane[3], *dRec[3];
    short *dCoef[3];
    int *dBits[3];
    checkCudaErrors(cudaMalloc((void **)&dRGB, 3 * W * H));
    checkCudaErrors(cudaMalloc((void **)&dOut, 3 * W * H));
    for (int c = 0; c < 3; c++)
    {
        int n = planeW[c] * planeH[c];
        checkCudaErrors(cudaMalloc((void **)&dPlane[c], n * sizeof(float)));
        checkCudaErrors(cudaMalloc((void **)&dRec[c], n * sizeof(float)));
        checkCudaErrors(cudaMalloc((void **)&dCoef[c], n * sizeof(short)));
        checkCudaErrors(cudaMalloc((void **)&dBits[c], n / 64 * sizeof(int)));
    }
    checkCudaErrors(cudaMemcpy(dRGB, hRGB, 3 * W * H, cudaMemcpyHostToDevice));

    dim3 cblock(16, 12), cgrid((W / 2 + 15) / 16, (H / 2 + 11) / 12);
    RGBToYCbCr420Kernel<<<cgrid, cblock>>>(dRGB, dPlane[0], dPlane[1], dPlane[2], W, H, W, W / 2);
    getLastCudaError("RGBToYCbCr420Kernel() failed");
    for (int c = 0; c < 3; c++)
    {
        int nb = planeW[c] * planeH[c] / 64, bx = planeW[c] / 8;
        DCTQuantKernel<<<dim3(planeW[c] / KER2_BLOCK_WIDTH, planeH[c] / KER2_BLOCK_HEIGHT), dim3(8, 4, 2)>>>(dPlane[c], dCoef[c], planeW[c], bx, c > 0);
        BlockBitsKernel<<<(nb * 32 + 127) / 128, 128>>>(dCoef[c], dBits[c], nb);
        DequantIDCTKernel<<<nb / 4, dim3(8, 4)>>>(dCoef[c], dRec[c], planeW[c], bx, c > 0);
        getLastCudaError("plane processing failed");
    }
    YCbCr420ToRGBKernel<<<dim3((W + 31) / 32, (H + 3) / 4), dim3(32, 4)>>>(dRec[0], dRec[1], dRec[2], dOut, W, H, W, W / 2);
    getLastCudaError("YCbCr420ToRGBKernel() failed");
    checkCudaErrors(cudaDeviceSynchronize());
    checkCudaErrors(cudaMemcpy(hOut, dOut, 3 * W * H, cudaMemcpyDeviceToHost));

    int badPlane = 0, badCoef = 0, offByOne = 0, badBits = 0, badRec = 0;
    for (int c = 0; c < 3; c++)
    {
        int pw = planeW[c], ph = planeH[c], n = pw * ph;
        float *plane = (float *)malloc(n * sizeof(float)), *rec = (float *)malloc(n * sizeof(float));
        short *coef = (short *)malloc(n * sizeof(short));
        int *bits = (int *)malloc(n / 64 * sizeof(int));
        checkCudaErrors(cudaMemcpy(plane, dPlane[c], n * sizeof(float), cudaMemcpyDeviceToHost));
        checkCudaErrors(cudaMemcpy(rec, dRec[c], n * sizeof(float), cudaMemcpyDeviceToHost));
        checkCudaErrors(cudaMemcpy(coef, dCoef[c], n * sizeof(short), cudaMemcpyDeviceToHost));
        checkCudaErrors(cudaMemcpy(bits, dBits[c], n / 64 * sizeof(int), cudaMemcpyDeviceToHost));
        for (int y = 0; y < ph; y++)
            for (int x = 0; x < pw; x++)
            {
                double ref = 0;
                int s = c ? 2 : 1;
                for (int i = 0; i < s * s; i++)
                {
                    const uchar *p = hRGB + 3 * ((y * s + i / s) * W + x * s + i % s);
                    ref += c == 0 ? 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2]
                         : c == 1 ? 128 - 0.168736 * p[0] - 0.331264 * p[1] + 0.5 * p[2]
                                  : 128 + 0.5 * p[0] - 0.418688 * p[1] - 0.081312 * p[2];
                }
                badPlane += fabs(ref / (s * s) - plane[y * pw + x]) > 1e-3;
            }
        for (int b = 0; b < n / 64; b++)
        {
            int x0 = b % (pw / 8) * 8, y0 = b / (pw / 8) * 8, nbits = 0, last = 0;
            double in[64], out[64];
            for (int i = 0; i < 64; i++) in[i] = plane[(y0 + i / 8) * pw + x0 + i % 8] - 128.0;
            goldDCT(in, out, 0);
            for (int k = 0; k < 64; k++)
            {
                int z = h_zigzag[k], g = coef[b * 64 + k], d = abs(g - (int)rint(out[z] / q[c > 0][z]));
                badCoef += d > 1;
                offByOne += d == 1;
                in[z] = g * q[c > 0][z];
                for (int m = abs(g); m; m >>= 1) nbits++;
                if (g) { nbits += 4; last = k; }
            }
            badBits += bits[b] != nbits + (last < 62 ? 4 : 0);
            goldDCT(in, out, 1);
            for (int i = 0; i < 64; i++) badRec += fabs(out[i] + 128.0 - rec[(y0 + i / 8) * pw + x0 + i % 8]) > 1e-2;
        }
        free(plane); free(rec); free(coef); free(bits);
    }
    double mse = 0;
    for (int i = 0; i < 3 * W * H; i++) mse += (hRGB[i] - hOut[i]) * (double)(hRGB[i] - hOut[i]);
    double psnr = 10 * log10(255.0 * 255.0 / (mse / (3.0 * W * H)));
    printf("plane %d coef %d (off by one %d) bits %d rec %d, PSNR %.2f dB\n", badPlane, badCoef, offByOne, badBits, badRec, psnr);
    bool bPass = !badPlane && !badCoef && offByOne < 40 && !badBits && !badRec && psnr > 26.0;
    printf("%s\n", bPass ? "PASS" : "FAIL");
    exit(bPass ? EXIT_SUCCESS : EXIT_FAILURE);
}
