// Gaussian elimination: the two kernels of one step, and a whole small system in a block.
#include "common.h"

#define BLOCK_SIZE_0 512
#define BLOCK_SIZE_XY 16

__global__ void Fan1(float *m_cuda, float *a_cuda, int Size, int t)
{
    if (threadIdx.x + blockIdx.x * blockDim.x >= Size - 1 - t) return;
    *(m_cuda + Size * (blockDim.x * blockIdx.x + threadIdx.x + t + 1) + t) =
        *(a_cuda + Size * (blockDim.x * blockIdx.x + threadIdx.x + t + 1) + t) / *(a_cuda + Size * t + t);
}

__global__ void Fan2(float *m_cuda, float *a_cuda, float *b_cuda, int Size, int t)
{
    if (threadIdx.x + blockIdx.x * blockDim.x >= Size - 1 - t) return;
    if (threadIdx.y + blockIdx.y * blockDim.y >= Size - t) return;
    int xidx = blockIdx.x * blockDim.x + threadIdx.x;
    int yidx = blockIdx.y * blockDim.y + threadIdx.y;
    a_cuda[Size * (xidx + 1 + t) + (yidx + t)] -= m_cuda[Size * (xidx + 1 + t) + t] * a_cuda[Size * t + (yidx + t)];
    if (yidx == 0)
        b_cuda[xidx + 1 + t] -= m_cuda[Size * (xidx + 1 + t) + (yidx + t)] * b_cuda[t];
}

// One 32 x 32 LU factorisation a block, in place in shared memory, without pivoting.
__global__ void luSmall(float *batch)
{
    __shared__ float A[32][32];
    float *mine = batch + blockIdx.x * 32 * 32;
    const int c = threadIdx.x;
    for (int r = threadIdx.y; r < 32; r += blockDim.y)
        A[r][c] = mine[r * 32 + c];
    __syncthreads();
    for (int k = 0; k < 31; ++k) {
        if (threadIdx.y == 0 && c > k)
            A[c][k] /= A[k][k];
        __syncthreads();
        for (int r = threadIdx.y; r < 32; r += blockDim.y)
            if (r > k && c > k)
                A[r][c] -= A[r][k] * A[k][c];
        __syncthreads();
    }
    for (int r = threadIdx.y; r < 32; r += blockDim.y)
        mine[r * 32 + c] = A[r][c];
}

// Forward substitution with a lower-triangular matrix; each thread keeps its right-hand side in registers.
template <int N>
__global__ void forwardSubstitution(const float *__restrict__ L, float *B, int columns)
{
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= columns) return;
    float x[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
        float sum = B[i * columns + col];
#pragma unroll
        for (int j = 0; j < i; ++j)
            sum -= L[i * N + j] * x[j];
        x[i] = sum / L[i * N + i];
    }
#pragma unroll
    for (int i = 0; i < N; ++i)
        B[i * columns + col] = x[i];
}

int main()
{
    bool ok = true;
    const int Size = 208, t = 5;
    std::vector<float> a = randomFloats(Size * Size, 1), b = randomFloats(Size, 2), m(Size * Size, 0.0f);
    for (int i = 0; i < Size; ++i) a[i * Size + i] += 4.0f;
    float *da = toDevice(a), *db = toDevice(b), *dm = toDevice(m);
    Fan1<<<(Size + BLOCK_SIZE_0 - 1) / BLOCK_SIZE_0, BLOCK_SIZE_0>>>(dm, da, Size, t);
    for (int i = t + 1; i < Size; ++i) m[i * Size + t] = a[i * Size + t] / a[t * Size + t];
    ok &= report("Fan1", allNear(toHost(dm, Size * Size), m, 1e-5));
    dim3 dimBlockXY(BLOCK_SIZE_XY, BLOCK_SIZE_XY), dimGridXY(Size / BLOCK_SIZE_XY, Size / BLOCK_SIZE_XY);
    Fan2<<<dimGridXY, dimBlockXY>>>(dm, da, db, Size, t);
    for (int i = t + 1; i < Size; ++i) {
        for (int j = t; j < Size; ++j) a[i * Size + j] -= m[i * Size + t] * a[t * Size + j];
        b[i] -= m[i * Size + t] * b[t];
    }
    ok &= report("Fan2", allNear(toHost(da, Size * Size), a, 1e-4) && allNear(toHost(db, Size), b, 1e-4));

    const int batch = 40;
    std::vector<float> lu = randomFloats(batch * 1024, 3);
    for (int s = 0; s < batch; ++s)
        for (int i = 0; i < 32; ++i) lu[s * 1024 + i * 33] += 20.0f;
    float *dlu = toDevice(lu);
    luSmall<<<batch, dim3(32, 8)>>>(dlu);
    for (int s = 0; s < batch; ++s) {
        float *A = &lu[s * 1024];
        for (int k = 0; k < 31; ++k)
            for (int r = k + 1; r < 32; ++r) {
                A[r * 32 + k] /= A[k * 32 + k];
                for (int c = k + 1; c < 32; ++c) A[r * 32 + c] -= A[r * 32 + k] * A[k * 32 + c];
            }
    }
    ok &= report("luSmall", allNear(toHost(dlu, lu.size()), lu, 1e-4));

    const int columns = 1000, N = 16;
    std::vector<float> L = randomFloats(N * N, 4), B = randomFloats(N * columns, 5);
    for (int i = 0; i < N; ++i) L[i * N + i] = 2.0f;
    float *dB = toDevice(B);
    forwardSubstitution<N><<<(columns + 127) / 128, 128>>>(toDevice(L), dB, columns);
    for (int c = 0; c < columns; ++c)
        for (int i = 0; i < N; ++i) {
            for (int j = 0; j < i; ++j) B[i * columns + c] -= L[i * N + j] * B[j * columns + c];
            B[i * columns + c] /= L[i * N + i];
        }
    ok &= report("forwardSubstitution<16>", allNear(toHost(dB, B.size()), B, 1e-3));
    return ok ? 0 : 1;
}
