// Sparse matrix times vector: CSR by thread and by warp, ELL, DIA and COO.
#include "common.h"

template <typename IndexType, typename ValueType>
struct CsrMatrix {
    IndexType rows;
    const IndexType *rowStart;
    const IndexType *column;
    const ValueType *value;
};

__global__ void spmvCsrScalar(CsrMatrix<int, float> A, const float *x, float *y)
{
    int row = blockDim.x * blockIdx.x + threadIdx.x;
    if (row < A.rows) {
        float dot = 0;
        int row_start = A.rowStart[row];
        int row_end = A.rowStart[row + 1];
        for (int jj = row_start; jj < row_end; jj++)
            dot += A.value[jj] * x[A.column[jj]];
        y[row] += dot;
    }
}

__global__ void spmvCsrVector(CsrMatrix<int, float> A, const float *__restrict__ x, float *__restrict__ y)
{
    __shared__ float vals[128];
    int thread_id = blockDim.x * blockIdx.x + threadIdx.x;
    int warp_id = thread_id / 32;
    int lane = thread_id & (32 - 1);
    int row = warp_id;
    if (row < A.rows) {
        vals[threadIdx.x] = 0;
        for (int jj = A.rowStart[row] + lane; jj < A.rowStart[row + 1]; jj += 32)
            vals[threadIdx.x] += A.value[jj] * x[A.column[jj]];
        __syncwarp();
        for (int d = 16; d > 0; d /= 2) {
            if (lane < d)
                vals[threadIdx.x] += vals[threadIdx.x + d];
            __syncwarp();
        }
        if (lane == 0)
            y[row] += vals[threadIdx.x];
    }
}

// Column-major slots: lanes of a warp read consecutive words.
__global__ void spmvEll(int rows, int slots, const int *indices, const float *data, const float *x, float *y)
{
    int row = blockDim.x * blockIdx.x + threadIdx.x;
    if (row < rows) {
        float dot = 0;
        for (int n = 0; n < slots; n++) {
            int col = indices[rows * n + row];
            float val = data[rows * n + row];
            if (val != 0)
                dot += val * x[col];
        }
        y[row] += dot;
    }
}

__constant__ int diagonalOffsets[5];

__global__ void spmvDia(int rows, int diagonals, const float *data, const float *x, float *y)
{
    int row = blockDim.x * blockIdx.x + threadIdx.x;
    if (row < rows) {
        float dot = 0;
        for (int n = 0; n < diagonals; n++) {
            int col = row + diagonalOffsets[n];
            float val = data[rows * n + row];
            if (col >= 0 && col < rows)
                dot += val * x[col];
        }
        y[row] += dot;
    }
}

__global__ void spmvCoo(int entries, const int *row, const int *column, const float *value, const float *x, float *y)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < entries)
        atomicAdd(&y[row[i]], value[i] * x[column[i]]);
}

int main()
{
    // The five-point Laplacian on a 60 x 50 grid.
    const int nx = 60, ny = 50, rows = nx * ny, slots = 5;
    const int offsets[5] = {-nx, -1, 0, 1, nx};
    std::vector<int> start(1, 0), col, cooRow, ell(rows * slots, 0);
    std::vector<float> val, ellVal(rows * slots, 0.0f), dia(rows * slots, 0.0f), x = randomFloats(rows, 7), want(rows, 0.0f);
    for (int r = 0; r < rows; ++r) {
        int used = 0;
        for (int d = 0; d < 5; ++d) {
            int c = r + offsets[d];
            if (c < 0 || c >= rows || (d == 1 && r % nx == 0) || (d == 3 && r % nx == nx - 1))
                continue;
            float v = d == 2 ? 4.0f : -1.0f;
            col.push_back(c);
            cooRow.push_back(r);
            val.push_back(v);
            ell[rows * used + r] = c;
            ellVal[rows * used + r] = v;
            dia[rows * d + r] = v;
            want[r] += v * x[c];
            ++used;
        }
        start.push_back((int)col.size());
    }
    CsrMatrix<int, float> A = {rows, toDevice(start), toDevice(col), toDevice(val)};
    const int *dEll = toDevice(ell), *dRow = toDevice(cooRow);
    const float *dEllVal = toDevice(ellVal), *dDia = toDevice(dia), *dx = toDevice(x);
    float *y = deviceZeros<float>(rows);
    CUDA_OK(cudaMemcpyToSymbol(diagonalOffsets, offsets, sizeof(offsets)));
    bool ok = true;
    auto verify = [&](const char *name) {
        ok &= report(name, allNear(toHost(y, rows), want, 1e-4));
        CUDA_OK(cudaMemset(y, 0, rows * sizeof(float)));
    };
    spmvCsrScalar<<<(rows + 127) / 128, 128>>>(A, dx, y);
    verify("spmvCsrScalar");
    spmvCsrVector<<<(rows * 32 + 127) / 128, 128>>>(A, dx, y);
    verify("spmvCsrVector");
    spmvEll<<<(rows + 127) / 128, 128>>>(rows, slots, dEll, dEllVal, dx, y);
    verify("spmvEll");
    spmvDia<<<(rows + 127) / 128, 128>>>(rows, slots, dDia, dx, y);
    verify("spmvDia");
    const int entries = (int)col.size();
    spmvCoo<<<(entries + 255) / 256, 256>>>(entries, dRow, A.column, A.value, dx, y);
    verify("spmvCoo");
    return ok ? 0 : 1;
}
