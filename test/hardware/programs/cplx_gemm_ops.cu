// Complex double-precision matrix product using an operator-overloaded struct,
// followed by conjugate transpose and Frobenius norm.
#include <cstdio>
#include <vector>
#include <cmath>
#include <cuda_runtime.h>

namespace lin {

template <typename T>
struct cplx {
    T re, im;
    __host__ __device__ cplx() : re(0), im(0) {}
    __host__ __device__ cplx(T r, T i = 0) : re(r), im(i) {}
    __host__ __device__ cplx operator*(const cplx& o) const { return {re * o.re - im * o.im, re * o.im + im * o.re}; }
    __host__ __device__ cplx operator+(const cplx& o) const { return {re + o.re, im + o.im}; }
    __host__ __device__ cplx operator-(const cplx& o) const { return {re - o.re, im - o.im}; }
    __host__ __device__ cplx& operator+=(const cplx& o) { re += o.re; im += o.im; return *this; }
    __host__ __device__ cplx conj() const { return {re, -im}; }
    __host__ __device__ T norm2() const { return re * re + im * im; }
};

template <typename T>
struct MatView {
    cplx<T>* data;
    int rows, cols, ld;
    __device__ cplx<T>& operator()(int r, int c) { return data[r * ld + c]; }
    __device__ const cplx<T>& operator()(int r, int c) const { return data[r * ld + c]; }
};

template <typename T, int TILE>
__global__ void multiply(MatView<T> a, MatView<T> b, MatView<T> c)
{
    __shared__ T sa_re[TILE][TILE], sa_im[TILE][TILE];
    __shared__ T sb_re[TILE][TILE], sb_im[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    cplx<T> sum;
    int nt = (a.cols + TILE - 1) / TILE;
    for (int t = 0; t < nt; t++) {
        cplx<T> va, vb;
        if (row < a.rows && t * TILE + threadIdx.x < a.cols) va = a(row, t * TILE + threadIdx.x);
        if (col < b.cols && t * TILE + threadIdx.y < b.rows) vb = b(t * TILE + threadIdx.y, col);
        sa_re[threadIdx.y][threadIdx.x] = va.re;
        sa_im[threadIdx.y][threadIdx.x] = va.im;
        sb_re[threadIdx.y][threadIdx.x] = vb.re;
        sb_im[threadIdx.y][threadIdx.x] = vb.im;
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < TILE; k++) {
            sum += cplx<T>(sa_re[threadIdx.y][k], sa_im[threadIdx.y][k]) *
                   cplx<T>(sb_re[k][threadIdx.x], sb_im[k][threadIdx.x]);
        }
        __syncthreads();
    }
    if (row < c.rows && col < c.cols) c(row, col) = sum;
}

template <typename T, int TILE>
__global__ void hermitian(MatView<T> in, MatView<T> out)
{
    __shared__ cplx<T> s[TILE * (TILE + 1)];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x < in.cols && y < in.rows) s[threadIdx.y * (TILE + 1) + threadIdx.x] = in(y, x).conj();
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    if (x < out.cols && y < out.rows) out(y, x) = s[threadIdx.x * (TILE + 1) + threadIdx.y];
}

template <typename T>
__global__ void frobenius(MatView<T> m, double* result)
{
    extern __shared__ double part[];
    double s = 0;
    for (int r = blockIdx.x; r < m.rows; r += gridDim.x)
        for (int c = threadIdx.x; c < m.cols; c += blockDim.x)
            s += m(r, c).norm2();
    part[threadIdx.x] = s;
    __syncthreads();
    for (unsigned half = blockDim.x >> 1; half; half >>= 1) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(result, part[0]);
}
}  // namespace lin

using Z = lin::cplx<double>;

int main()
{
    const int m = 75, k = 53, n = 90;
    std::vector<Z> A(m * k), B(k * n), C(m * n);
    for (int i = 0; i < m * k; i++) A[i] = Z(sin(i * 0.3), cos(i * 0.7));
    for (int i = 0; i < k * n; i++) B[i] = Z(cos(i * 0.11), -sin(i * 0.5));
    Z *da, *db, *dc, *dh; double* dn;
    cudaMalloc(&da, sizeof(Z) * m * k); cudaMalloc(&db, sizeof(Z) * k * n);
    cudaMalloc(&dc, sizeof(Z) * m * n); cudaMalloc(&dh, sizeof(Z) * m * n); cudaMalloc(&dn, 16);
    cudaMemcpy(da, A.data(), sizeof(Z) * m * k, cudaMemcpyHostToDevice);
    cudaMemcpy(db, B.data(), sizeof(Z) * k * n, cudaMemcpyHostToDevice);
    cudaMemset(dn, 0, 16);
    lin::MatView<double> va{da, m, k, k}, vb{db, k, n, n}, vc{dc, m, n, n}, vh{dh, n, m, m};
    dim3 blk(16, 16), grd((n + 15) / 16, (m + 15) / 16);
    lin::multiply<double, 16><<<grd, blk>>>(va, vb, vc);
    lin::hermitian<double, 16><<<grd, blk>>>(vc, vh);
    lin::frobenius<double><<<20, 64, 64 * sizeof(double)>>>(vc, dn);
    lin::frobenius<double><<<20, 128, 128 * sizeof(double)>>>(vh, dn + 1);
    double nr[2];
    cudaMemcpy(nr, dn, 16, cudaMemcpyDeviceToHost);
    cudaMemcpy(C.data(), dc, sizeof(Z) * m * n, cudaMemcpyDeviceToHost);
    double err = 0;
    for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) {
        Z s;
        for (int q = 0; q < k; q++) s += A[i * k + q] * B[q * n + j];
        err = fmax(err, sqrt((s - C[i * n + j]).norm2()));
    }
    printf("err %g norms %.9f %.9f\n", err, nr[0], nr[1]);
    return !(err < 1e-9 && fabs(nr[0] - nr[1]) < 1e-6 * nr[0]);
}
