// One sparse matrix, five SpMV kernels: CSR scalar, CSR vector (sub-warp), ELL, COO atomics, BSR 3x3.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <map>
#include <cuda_runtime.h>

struct CsrView { int rows; const int* ptr; const int* col; const double* val; };
struct EllView { int rows, width, pitch; const int* col; const double* val; };
struct CooView { int nnz; const int* row; const int* col; const double* val; };
struct BsrView { int brows; const int* ptr; const int* col; const double* val; };

__global__ void spmv_csr_scalar(CsrView A, const double* __restrict__ x, double* __restrict__ y)
{
    int r = blockDim.x * blockIdx.x + threadIdx.x;
    if (r < A.rows) {
        double s = 0;
        for (int k = A.ptr[r]; k < A.ptr[r + 1]; k++) s += A.val[k] * x[A.col[k]];
        y[r] = s;
    }
}

template <int LANES>
__global__ void spmv_csr_vector(CsrView A, const double* __restrict__ x, double* __restrict__ y)
{
    const int lane = threadIdx.x % LANES;
    const int group = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    const int ngroups = gridDim.x * blockDim.x / LANES;
    const int rounds = (A.rows + ngroups - 1) / ngroups;
    for (int q = 0, r = group; q < rounds; ++q, r += ngroups) {
        double s = 0;
        if (r < A.rows) {
            const int end = A.ptr[r + 1];
            for (int k = A.ptr[r] + lane; k < end; k += LANES) s += A.val[k] * __ldg(&x[A.col[k]]);
        }
        #pragma unroll
        for (int o = LANES / 2; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffffu, s, o, LANES);
        if (lane == 0 && r < A.rows) y[r] = s;
    }
}

__global__ void spmv_ell(const EllView A, const double* x, double* y)
{
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= A.rows) return;
    double s = 0.0;
    const int* c = A.col + r;
    const double* v = A.val + r;
    for (int j = 0; j < A.width; ++j, c += A.pitch, v += A.pitch) {
        if (*c < 0) break;
        s += *v * x[*c];
    }
    y[r] = s;
}

__global__ void spmv_coo(CooView A, const double* x, double* y)
{
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < A.nnz; k += blockDim.x * gridDim.x)
        atomicAdd(y + A.row[k], A.val[k] * x[A.col[k]]);
}

// blocks stored column-major 3x3; thread (i, br)
__global__ void spmv_bsr3(BsrView A, const double* __restrict__ x, double* __restrict__ y)
{
    int br = blockIdx.x * blockDim.y + threadIdx.y, i = threadIdx.x;
    if (br >= A.brows) return;
    double s = 0;
    for (int b = A.ptr[br]; b < A.ptr[br + 1]; ++b) {
        const double* blk = A.val + 9 * b;
        const double* xv = x + 3 * A.col[b];
        #pragma unroll
        for (int j = 0; j < 3; ++j) s += blk[j * 3 + i] * xv[j];
    }
    y[3 * br + i] = s;
}

template <typename T> static T* dev(const std::vector<T>& v)
{
    T* p; cudaMalloc(&p, v.size() * sizeof(T));
    cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
    return p;
}

int main()
{
    const int bn = 300, n = 3 * bn;
    srand(5);
    std::map<std::pair<int, int>, std::vector<double>> blocks;
    for (int i = 0; i < bn; ++i)
        for (int k = 0; k <= i % 5; ++k) {
            int j = k == 0 ? i : rand() % bn;
            std::vector<double> b(9);
            for (auto& e : b) e = rand() % 100 * 0.01 + 0.01;
            blocks[{i, j}] = b;
        }
    std::vector<int> bptr(bn + 1, 0), bcol; std::vector<double> bval;
    std::vector<std::vector<std::pair<int, double>>> rows(n);
    for (auto& kv : blocks) {
        bptr[kv.first.first + 1]++;
        bcol.push_back(kv.first.second);
        bval.insert(bval.end(), kv.second.begin(), kv.second.end());
        for (int j = 0; j < 3; ++j) for (int i = 0; i < 3; ++i) rows[kv.first.first * 3 + i].push_back({kv.first.second * 3 + j, kv.second[j * 3 + i]});
    }
    for (int i = 0; i < bn; ++i) bptr[i + 1] += bptr[i];
    std::vector<int> ptr(1, 0), col, crow; std::vector<double> val;
    int width = 0;
    for (int r = 0; r < n; ++r) {
        for (auto& e : rows[r]) { col.push_back(e.first); val.push_back(e.second); crow.push_back(r); }
        ptr.push_back((int)col.size());
        width = std::max(width, (int)rows[r].size());
    }
    int pitch = (n + 31) / 32 * 32;
    std::vector<int> ecol(width * pitch, -1); std::vector<double> eval(width * pitch, 0.0);
    for (int r = 0; r < n; ++r) for (size_t j = 0; j < rows[r].size(); ++j) { ecol[j * pitch + r] = rows[r][j].first; eval[j * pitch + r] = rows[r][j].second; }
    std::vector<double> x(n), ref(n, 0.0);
    for (int i = 0; i < n; ++i) x[i] = sin(i * 0.1);
    for (int r = 0; r < n; ++r) for (auto& e : rows[r]) ref[r] += e.second * x[e.first];
    double* dx = dev(x); double* y[5];
    for (auto& p : y) { cudaMalloc(&p, n * 8); cudaMemset(p, 0, n * 8); }
    CsrView csr{n, dev(ptr), dev(col), dev(val)};
    spmv_csr_scalar<<<(n + 127) / 128, 128>>>(csr, dx, y[0]);
    spmv_csr_vector<8><<<20, 128>>>(csr, dx, y[1]);
    spmv_ell<<<(n + 63) / 64, 64>>>(EllView{n, width, pitch, dev(ecol), dev(eval)}, dx, y[2]);
    spmv_coo<<<16, 256>>>(CooView{(int)col.size(), dev(crow), csr.col, csr.val}, dx, y[3]);
    spmv_bsr3<<<(bn + 31) / 32, dim3(3, 32)>>>(BsrView{bn, dev(bptr), dev(bcol), dev(bval)}, dx, y[4]);
    double worst = 0; std::vector<double> h(n);
    for (auto p : y) {
        cudaMemcpy(h.data(), p, n * 8, cudaMemcpyDeviceToHost);
        for (int i = 0; i < n; ++i) worst = fmax(worst, fabs(h[i] - ref[i]));
    }
    printf("nnz %zu width %d worst %g\n", col.size(), width, worst);
    return worst < 1e-10 ? 0 : 1;
}
