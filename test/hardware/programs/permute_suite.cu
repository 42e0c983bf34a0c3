// Transposes: naive, padded tile, XOR-swizzled float4, in-place square, rectangular with cycles of bytes, NCHW->NHWC half, 4D permute
#include <cstdio>
#include <vector>
#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

template <typename T, int TILE, int ROWS, int PAD>
__global__ void transpose_tile(const T* __restrict__ in, T* __restrict__ out, int width, int height)
{
    __shared__ T tile[TILE][TILE + PAD];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

// 32x32 tile moved as float4 along rows, columns swizzled by the row group
__global__ void transpose_swizzled(const float4* __restrict__ in, float4* __restrict__ out, int w4, int h4)
{
    __shared__ float s[32 * 32];
    const int lane = threadIdx.x & 7, row = threadIdx.x >> 3;        // 8 float4 columns x 32 rows
    const int bx = blockIdx.x * 8, by = blockIdx.y * 32;
    float4 v = in[(by + row) * w4 + bx + lane];
    const float e[4] = {v.x, v.y, v.z, v.w};
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        int c = lane * 4 + k;
        s[row * 32 + (c ^ row)] = e[k];
    }
    __syncthreads();
    float o[4];
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        int r = lane * 4 + k;
        o[k] = s[r * 32 + (row ^ r)];
    }
    out[(blockIdx.x * 32 + row) * h4 + blockIdx.y * 8 + lane] = make_float4(o[0], o[1], o[2], o[3]);
}

__global__ void transpose_inplace(double* a, int n)
{
    if (blockIdx.x > blockIdx.y) return;
    __shared__ double lo[16][17], hi[16][17];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x1 = blockIdx.x * 16 + tx, y1 = blockIdx.y * 16 + ty;
    int x2 = blockIdx.y * 16 + tx, y2 = blockIdx.x * 16 + ty;
    bool one = x1 < n && y1 < n, two = x2 < n && y2 < n;
    if (one) lo[ty][tx] = a[y1 * n + x1];
    if (two) hi[ty][tx] = a[y2 * n + x2];
    __syncthreads();
    if (one) a[y1 * n + x1] = hi[tx][ty];
    if (two) a[y2 * n + x2] = lo[tx][ty];
}

__global__ void nchw_to_nhwc(const half* __restrict__ src, half* __restrict__ dst, int C, int HW)
{
    __shared__ half t[16][66];
    int n = blockIdx.z, p0 = blockIdx.x * 64, c0 = blockIdx.y * 16;
    for (int i = threadIdx.x; i < 16 * 64; i += blockDim.x) {
        int c = i / 64, p = i % 64;
        if (c0 + c < C && p0 + p < HW) t[c][p] = src[(n * C + c0 + c) * HW + p0 + p];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 16 * 64; i += blockDim.x) {
        int c = i & 15, p = i >> 4;
        if (c0 + c < C && p0 + p < HW) dst[(n * HW + p0 + p) * C + c0 + c] = t[c][p];
    }
}

struct Perm { int dims[4]; int src_stride[4]; };

template <typename T>
__global__ void permute4(const T* src, T* dst, Perm p, int total)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += blockDim.x * gridDim.x) {
        int rem = i, off = 0;
        #pragma unroll
        for (int d = 3; d >= 0; --d) {
            int q = rem / p.dims[d];
            off += (rem - q * p.dims[d]) * p.src_stride[d];
            rem = q;
        }
        dst[i] = src[off];
    }
}

int main()
{
    const int w = 130, h = 75, n = 60, sw = 128, sh = 96, N = 2, C = 21, HW = 150;
    std::vector<float> a(w * h), b(w * h), sa(sw * sh), sb(sw * sh); std::vector<uint8_t> ba(w * h), bb(w * h);
    std::vector<double> d(n * n), d2(n * n); std::vector<half> ha(N * C * HW), hb(ha.size());
    std::vector<short> pa(5 * 6 * 7 * 8), pb(pa.size());
    for (size_t i = 0; i < a.size(); ++i) { a[i] = i; ba[i] = i * 7; }
    for (size_t i = 0; i < sa.size(); ++i) sa[i] = i * 0.5f;
    for (size_t i = 0; i < d.size(); ++i) d[i] = i;
    for (size_t i = 0; i < ha.size(); ++i) ha[i] = __float2half(float(i % 2000));
    for (size_t i = 0; i < pa.size(); ++i) pa[i] = i;
    float *da, *db, *ds, *dt; uint8_t *dba, *dbb; double* dd; half *dh, *dg; short *dp, *dq;
    cudaMalloc(&da, w * h * 4); cudaMalloc(&db, w * h * 4); cudaMalloc(&ds, sw * sh * 4); cudaMalloc(&dt, sw * sh * 4); cudaMalloc(&dba, w * h); cudaMalloc(&dbb, w * h);
    cudaMalloc(&dd, n * n * 8); cudaMalloc(&dh, ha.size() * 2); cudaMalloc(&dg, ha.size() * 2); cudaMalloc(&dp, pa.size() * 2); cudaMalloc(&dq, pa.size() * 2);
    cudaMemcpy(da, a.data(), w * h * 4, cudaMemcpyHostToDevice); cudaMemcpy(dba, ba.data(), w * h, cudaMemcpyHostToDevice);
    cudaMemcpy(ds, sa.data(), sw * sh * 4, cudaMemcpyHostToDevice); cudaMemcpy(dd, d.data(), n * n * 8, cudaMemcpyHostToDevice);
    cudaMemcpy(dh, ha.data(), ha.size() * 2, cudaMemcpyHostToDevice); cudaMemcpy(dp, pa.data(), pa.size() * 2, cudaMemcpyHostToDevice);
    transpose_tile<float, 32, 8, 0><<<dim3((w + 31) / 32, (h + 31) / 32), dim3(32, 8)>>>(da, db, w, h);
    transpose_tile<float, 32, 8, 1><<<dim3((w + 31) / 32, (h + 31) / 32), dim3(32, 8)>>>(da, db, w, h);
    transpose_tile<uint8_t, 64, 4, 4><<<dim3((w + 63) / 64, (h + 63) / 64), dim3(64, 4)>>>(dba, dbb, w, h);
    transpose_swizzled<<<dim3(sw / 32, sh / 32), 256>>>((float4*)ds, (float4*)dt, sw / 4, sh / 4);
    transpose_inplace<<<dim3(4, 4), dim3(16, 16)>>>(dd, n);
    nchw_to_nhwc<<<dim3((HW + 63) / 64, (C + 15) / 16, N), 128>>>(dh, dg, C, HW);
    // source [5][6][7][8] -> [7][5][8][6]
    Perm p{{7, 5, 8, 6}, {8, 6 * 7 * 8, 1, 7 * 8}};
    permute4<short><<<9, 96>>>(dp, dq, p, (int)pa.size());
    cudaMemcpy(b.data(), db, w * h * 4, cudaMemcpyDeviceToHost); cudaMemcpy(bb.data(), dbb, w * h, cudaMemcpyDeviceToHost);
    cudaMemcpy(sb.data(), dt, sw * sh * 4, cudaMemcpyDeviceToHost); cudaMemcpy(d2.data(), dd, n * n * 8, cudaMemcpyDeviceToHost);
    cudaMemcpy(hb.data(), dg, hb.size() * 2, cudaMemcpyDeviceToHost); cudaMemcpy(pb.data(), dq, pb.size() * 2, cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int y = 0; y < h; ++y) for (int x = 0; x < w; ++x) bad += (b[x * h + y] != a[y * w + x]) + (bb[x * h + y] != ba[y * w + x]);
    for (int y = 0; y < sh; ++y) for (int x = 0; x < sw; ++x) bad += sb[x * sh + y] != sa[y * sw + x];
    for (int y = 0; y < n; ++y) for (int x = 0; x < n; ++x) bad += d2[x * n + y] != d[y * n + x];
    for (int i = 0; i < N; ++i) for (int c = 0; c < C; ++c) for (int q = 0; q < HW; ++q) bad += __half2float(hb[(i * HW + q) * C + c]) != __half2float(ha[(i * C + c) * HW + q]);
    int k = 0;
    for (int i = 0; i < 7; ++i) for (int j = 0; j < 5; ++j) for (int l = 0; l < 8; ++l) for (int m = 0; m < 6; ++m) bad += pb[k++] != pa[((j * 6 + m) * 7 + i) * 8 + l];
    printf("layout errors: %d\n", bad);
    return bad ? 1 : 0;
}
