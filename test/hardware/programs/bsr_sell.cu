// Sparse matrix times vector in five storage schemes, from one block-structured matrix.
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <algorithm>
#include <cmath>
#include <vector>

#define CHECK_CUDA(func)                                                       \
{                                                                              \
    cudaError_t status = (func);                                               \
    if (status != cudaSuccess) {                                               \
        printf("CUDA API failed at line %d with error: %s (%d)\n",             \
               __LINE__, cudaGetErrorString(status), status);                  \
        exit(EXIT_FAILURE);                                                    \
    }                                                                          \
}

struct CsrView  { int rows; const int *rowPtr; const int *col; const float *val; };
struct EllView  { int rows; int width; const int *col; const float *val; };               // column major, -1 pads
struct SellView { int rows; const int *slicePtr; const int *perm; const int *col; const float *val; };  // slices of 32
struct BsrView  { int blockRows; const int *rowPtr; const int *col; const float *val; };   // 4 x 4 blocks, row major
struct CooView  { int nnz; const int *row; const int *col; const float *val; };

template <int LANES>
__global__ void spmv_csr_vector(CsrView A, const float *__restrict__ x, float *__restrict__ y)
{
    int gid = blockIdx.x * blockDim.x + threadIdx.x;
    int row = gid / LANES, lane = gid % LANES;
    float sum = 0.f;
    if (row < A.rows)
        for (int p = A.rowPtr[row] + lane; p < A.rowPtr[row + 1]; p += LANES)
            sum += A.val[p] * x[A.col[p]];
    for (int d = LANES / 2; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, d, LANES);
    if (row < A.rows && lane == 0)
        y[row] = sum;
}

__global__ void spmv_ell(EllView A, const float *__restrict__ x, float *__restrict__ y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= A.rows) return;
    float sum = 0.f;
    for (int k = 0; k < A.width; ++k) {
        int c = A.col[k * A.rows + row];
        if (c >= 0)
            sum += A.val[k * A.rows + row] * x[c];
    }
    y[row] = sum;
}

__global__ void spmv_sell(SellView A, const float *__restrict__ x, float *__restrict__ y)
{
    int slot = blockIdx.x * blockDim.x + threadIdx.x;
    if (slot >= A.rows) return;
    int slice = slot / 32, lane = slot % 32;
    float sum = 0.f;
    for (int p = A.slicePtr[slice] + lane; p < A.slicePtr[slice + 1]; p += 32)
        sum += A.val[p] * x[A.col[p]];
    y[A.perm[slot]] = sum;
}

// four threads a block row, each one row of the blocks
__global__ void spmv_bsr4(BsrView A, const float4 *__restrict__ x, float *__restrict__ y)
{
    int gid = blockIdx.x * blockDim.x + threadIdx.x;
    int brow = gid >> 2, r = gid & 3;
    if (brow >= A.blockRows) return;
    float sum = 0.f;
    for (int p = A.rowPtr[brow]; p < A.rowPtr[brow + 1]; ++p) {
        float4 a = *reinterpret_cast<const float4 *>(A.val + p * 16 + r * 4);
        float4 v = x[A.col[p]];
        sum += a.x * v.x + a.y * v.y + a.z * v.z + a.w * v.w;
    }
    y[brow * 4 + r] = sum;
}

__global__ void spmv_coo(CooView A, const float *__restrict__ x, float *__restrict__ y)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < A.nnz; i += gridDim.x * blockDim.x)
        atomicAdd(y + A.row[i], A.val[i] * x[A.col[i]]);
}

template <typename T>
static const T *put(const std::vector<T> &h)
{
    void *d;
    CHECK_CUDA(cudaMalloc(&d, h.size() * sizeof(T)))
    CHECK_CUDA(cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice))
    return static_cast<const T *>(d);
}

int main()
{
    const int blockRows = 2500, rows = blockRows * 4;
    uint32_t seed = 42;
    auto rnd = [&seed]() { seed = seed * 747796405u + 2891336453u; return (seed >> 16) & 0x7fff; };

    std::vector<int> bPtr(1, 0), bCol;
    std::vector<float> bVal;
    for (int b = 0; b < blockRows; ++b) {
        int count = 1 + rnd() % 6 + (b % 100 == 0 ? 10 : 0);
        std::vector<int> cols;
        for (int i = 0; i < count; ++i)
            cols.push_back((b + (int)rnd() % 200 + blockRows - 100) % blockRows);
        std::sort(cols.begin(), cols.end());
        cols.erase(std::unique(cols.begin(), cols.end()), cols.end());
        for (int c : cols) {
            bCol.push_back(c);
            for (int e = 0; e < 16; ++e) bVal.push_back((float)rnd() / 16384.f - 1.f);
        }
        bPtr.push_back((int)bCol.size());
    }

    std::vector<int> ptr(1, 0), col, cooRow;
    std::vector<float> val;
    int width = 0;
    for (int r = 0; r < rows; ++r) {
        for (int p = bPtr[r / 4]; p < bPtr[r / 4 + 1]; ++p)
            for (int c = 0; c < 4; ++c) {
                col.push_back(bCol[p] * 4 + c);
                val.push_back(bVal[p * 16 + (r % 4) * 4 + c]);
                cooRow.push_back(r);
            }
        ptr.push_back((int)col.size());
        width = std::max(width, ptr[r + 1] - ptr[r]);
    }
    const int nnz = (int)col.size();

    std::vector<int> ellCol((size_t)rows * width, -1);
    std::vector<float> ellVal((size_t)rows * width, 0.f);
    for (int r = 0; r < rows; ++r)
        for (int p = ptr[r]; p < ptr[r + 1]; ++p) {
            ellCol[(p - ptr[r]) * rows + r] = col[p];
            ellVal[(p - ptr[r]) * rows + r] = val[p];
        }

    // SELL-32-256: rows sorted by length within windows of 256
    std::vector<int> perm(rows);
    for (int i = 0; i < rows; ++i) perm[i] = i;
    for (int w = 0; w < rows; w += 256)
        std::stable_sort(perm.begin() + w, perm.begin() + std::min(w + 256, rows),
                         [&](int a, int b) { return ptr[a + 1] - ptr[a] > ptr[b + 1] - ptr[b]; });
    std::vector<int> slicePtr(1, 0), sellCol;
    std::vector<float> sellVal;
    for (int s = 0; s < rows; s += 32) {
        int longest = 0;
        for (int i = s; i < std::min(s + 32, rows); ++i) longest = std::max(longest, ptr[perm[i] + 1] - ptr[perm[i]]);
        for (int k = 0; k < longest; ++k)
            for (int i = s; i < s + 32; ++i) {
                bool there = i < rows && ptr[perm[i]] + k < ptr[perm[i] + 1];
                sellCol.push_back(there ? col[ptr[perm[i]] + k] : 0);
                sellVal.push_back(there ? val[ptr[perm[i]] + k] : 0.f);
            }
        slicePtr.push_back((int)sellCol.size());
    }

    std::vector<float> x(rows), got(rows);
    for (int i = 0; i < rows; ++i) x[i] = sinf(0.01f * i) + 0.1f * (i % 7);
    std::vector<double> want(rows, 0.0);
    for (int r = 0; r < rows; ++r)
        for (int p = ptr[r]; p < ptr[r + 1]; ++p) want[r] += (double)val[p] * x[col[p]];

    const int *dCol = put(col);
    const float *dVal = put(val), *dx = put(x);
    CsrView csr{rows, put(ptr), dCol, dVal};
    EllView ell{rows, width, put(ellCol), put(ellVal)};
    SellView sell{rows, put(slicePtr), put(perm), put(sellCol), put(sellVal)};
    BsrView bsr{blockRows, put(bPtr), put(bCol), put(bVal)};
    CooView coo{nnz, put(cooRow), dCol, dVal};
    float *dy;
    CHECK_CUDA(cudaMalloc(&dy, rows * sizeof(float)))

    const char *names[] = {"csr vector 8", "ell", "sell-32", "bsr 4x4", "coo"};
    int bad = 0;
    for (int which = 0; which < 5; ++which) {
        CHECK_CUDA(cudaMemset(dy, 0, rows * sizeof(float)))
        switch (which) {
        case 0: spmv_csr_vector<8><<<(rows * 8 + 255) / 256, 256>>>(csr, dx, dy); break;
        case 1: spmv_ell<<<(rows + 127) / 128, 128>>>(ell, dx, dy); break;
        case 2: spmv_sell<<<(rows + 127) / 128, 128>>>(sell, dx, dy); break;
        case 3: spmv_bsr4<<<(rows + 127) / 128, 128>>>(bsr, reinterpret_cast<const float4 *>(dx), dy); break;
        case 4: spmv_coo<<<96, 256>>>(coo, dx, dy); break;
        }
        CHECK_CUDA(cudaGetLastError())
        CHECK_CUDA(cudaMemcpy(got.data(), dy, rows * sizeof(float), cudaMemcpyDeviceToHost))
        double err = 0;
        for (int r = 0; r < rows; ++r) err = std::fmax(err, std::fabs(got[r] - want[r]));
        printf("%-14s max error %g\n", names[which], err);
        if (!(err < 1e-3)) bad++;
    }
    printf(bad ? "FAILED\n" : "OK (%d non-zeros)\n", nnz);
    return bad;
}
