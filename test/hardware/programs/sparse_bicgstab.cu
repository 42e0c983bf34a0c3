// Convection-diffusion operator in four sparse formats and a (short) BiCGSTAB run on the GPU.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

using index_t = int;
using real = double;

#define SAFE_CALL(call)                                                              \
  do {                                                                               \
    cudaError_t err = call;                                                          \
    if (cudaSuccess != err) {                                                        \
      std::fprintf(stderr, "Cuda error in line %i : %s.\n", __LINE__, cudaGetErrorString(err)); \
      std::exit(EXIT_FAILURE);                                                       \
    }                                                                                \
  } while (0)

struct CsrMatrix { index_t n; index_t nnz; index_t *ptr; index_t *col; real *val; };
struct EllMatrix { index_t n; index_t width; index_t *col; real *val; };      // column-major slots
struct DiaMatrix { index_t n; index_t ndiag; index_t *off; real *val; };      // val[d*n + i]
struct CooMatrix { index_t n; index_t nnz; index_t *row; index_t *col; real *val; };

__global__ void spmv_csr_scalar(CsrMatrix A, const real *x, real *y)
{
    index_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < A.n) {
        real s = 0;
        for (index_t k = A.ptr[i]; k < A.ptr[i + 1]; ++k) {
            s += A.val[k] * x[A.col[k]];
        }
        y[i] = s;
    }
}

// LANES threads cooperate on a row
template <int LANES>
__global__ void spmv_csr_vector(CsrMatrix A, const real *__restrict__ x, real *__restrict__ y)
{
    index_t t = blockIdx.x * blockDim.x + threadIdx.x;
    index_t row = t / LANES;
    int lane = t % LANES;
    real s = 0;
    if (row < A.n) {
        index_t end = A.ptr[row + 1];
        for (index_t k = A.ptr[row] + lane; k < end; k += LANES) {
            s += A.val[k] * __ldg(&x[A.col[k]]);
        }
    }
    for (int o = LANES / 2; o > 0; o /= 2) {
        s += __shfl_down_sync(0xffffffffu, s, o, LANES);
    }
    if (row < A.n && lane == 0) {
        y[row] = s;
    }
}

__global__ void spmv_ell(EllMatrix A, const real *__restrict__ x, real *__restrict__ y)
{
    index_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= A.n) return;
    real s = 0;
    for (index_t w = 0; w < A.width; ++w) {
        index_t c = A.col[w * A.n + i];
        if (c >= 0) {
            s += A.val[w * A.n + i] * x[c];
        }
    }
    y[i] = s;
}

__global__ void spmv_dia(DiaMatrix A, const real *x, real *y)
{
    __shared__ index_t off[16];
    if (threadIdx.x < A.ndiag) {
        off[threadIdx.x] = A.off[threadIdx.x];
    }
    __syncthreads();
    index_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < A.n) {
        real s = 0;
        for (index_t d = 0; d < A.ndiag; ++d) {
            index_t j = i + off[d];
            if (j >= 0 && j < A.n) {
                s += A.val[d * A.n + i] * x[j];
            }
        }
        y[i] = s;
    }
}

__global__ void spmv_coo_atomic(CooMatrix A, const real *x, real *y)
{
    for (index_t k = blockIdx.x * blockDim.x + threadIdx.x; k < A.nnz; k += blockDim.x * gridDim.x) {
        atomicAdd(&y[A.row[k]], A.val[k] * x[A.col[k]]);
    }
}

// two dot products at once: out[0] += a.b, out[1] += c.d
__global__ void dot2(const real *a, const real *b, const real *c, const real *d, real *out, index_t n)
{
    __shared__ real s0[256];
    __shared__ real s1[256];
    real p = 0;
    real q = 0;
    for (index_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        p += a[i] * b[i];
        q += c[i] * d[i];
    }
    s0[threadIdx.x] = p;
    s1[threadIdx.x] = q;
    __syncthreads();
    for (int o = 128; o > 0; o >>= 1) {
        if (threadIdx.x < o) {
            s0[threadIdx.x] += s0[threadIdx.x + o];
            s1[threadIdx.x] += s1[threadIdx.x + o];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        atomicAdd(&out[0], s0[0]);
        atomicAdd(&out[1], s1[0]);
    }
}

// z = a*x + b*y + c*w
__global__ void lincomb3(real a, const real *x, real b, const real *y, real c, const real *w, real *z, index_t n)
{
    index_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        z[i] = a * x[i] + b * y[i] + c * w[i];
    }
}

// double2 version used for the solution update (n is even)
__global__ void update_solution(double2 *x, const double2 *p, const double2 *s, real alpha, real omega, index_t n2)
{
    index_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n2) {
        double2 v = x[i];
        double2 a = p[i];
        double2 b = s[i];
        v.x += alpha * a.x + omega * b.x;
        v.y += alpha * a.y + omega * b.y;
        x[i] = v;
    }
}

template <class T>
T *toDevice(const std::vector<T> &v)
{
    T *p = nullptr;
    SAFE_CALL(cudaMalloc(&p, v.size() * sizeof(T)));
    SAFE_CALL(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}

int main()
{
    const index_t nx = 180, ny = 150, n = nx * ny;
    std::vector<index_t> ptr(1, 0), col, row;
    std::vector<real> val;
    const index_t offs[5] = {-nx, -1, 0, 1, nx};
    std::vector<index_t> ecol(5 * n, -1);
    std::vector<real> eval(5 * n, 0.0), dval(5 * n, 0.0);
    for (index_t i = 0; i < n; ++i) {
        index_t x = i % nx, y = i / nx;
        real c[5] = {-1.2, -1.1 + 0.05 * std::sin(0.1 * x), 4.6 + 0.2 * std::cos(0.07 * y), -0.9, -0.8};
        bool have[5] = {y > 0, x > 0, true, x + 1 < nx, y + 1 < ny};
        int slot = 0;
        for (int d = 0; d < 5; ++d) {
            if (!have[d]) continue;
            col.push_back(i + offs[d]);
            row.push_back(i);
            val.push_back(c[d]);
            ecol[slot * n + i] = i + offs[d];
            eval[slot * n + i] = c[d];
            dval[d * n + i] = c[d];
            ++slot;
        }
        ptr.push_back(static_cast<index_t>(col.size()));
    }
    const index_t nnz = static_cast<index_t>(val.size());
    std::vector<real> b(n);
    for (index_t i = 0; i < n; ++i) b[i] = 1.0 + 0.5 * std::sin(0.013 * i);

    CsrMatrix csr = {n, nnz, toDevice(ptr), toDevice(col), toDevice(val)};
    EllMatrix ell = {n, 5, toDevice(ecol), toDevice(eval)};
    DiaMatrix dia = {n, 5, toDevice(std::vector<index_t>(offs, offs + 5)), toDevice(dval)};
    CooMatrix coo = {n, nnz, toDevice(row), csr.col, csr.val};

    auto host_spmv = [&](const std::vector<real> &x) {
        std::vector<real> y(n);
        for (index_t i = 0; i < n; ++i) {
            real s = 0;
            for (index_t k = ptr[i]; k < ptr[i + 1]; ++k) s += val[k] * x[col[k]];
            y[i] = s;
        }
        return y;
    };
    auto maxdiff = [&](const real *d, const std::vector<real> &r) {
        std::vector<real> h(n);
        SAFE_CALL(cudaMemcpy(h.data(), d, n * sizeof(real), cudaMemcpyDeviceToHost));
        real w = 0;
        for (index_t i = 0; i < n; ++i) {
            real e = std::fabs(h[i] - r[i]);
            if (!(e <= w)) w = e;
        }
        return w;
    };

    std::vector<real> zero(n, 0.0);
    real *x = toDevice(zero), *r = toDevice(b), *r0 = toDevice(b), *p = toDevice(b);
    real *v = toDevice(zero), *s = toDevice(zero), *t = toDevice(zero), *tmp = toDevice(zero);
    real *dots = toDevice(std::vector<real>(2, 0.0));
    const int tb = 128;
    const int g = (n + tb - 1) / tb;

    bool ok = true;
    std::vector<real> Ab = host_spmv(b);
    spmv_csr_scalar<<<g, tb>>>(csr, r, tmp);
    ok &= maxdiff(tmp, Ab) < 1e-11;
    spmv_csr_vector<8><<<(n * 8 + tb - 1) / tb, tb>>>(csr, r, tmp);
    ok &= maxdiff(tmp, Ab) < 1e-11;
    spmv_ell<<<g, tb>>>(ell, r, tmp);
    ok &= maxdiff(tmp, Ab) < 1e-11;
    spmv_dia<<<g, tb>>>(dia, r, tmp);
    ok &= maxdiff(tmp, Ab) < 1e-11;
    SAFE_CALL(cudaMemset(tmp, 0, n * sizeof(real)));
    spmv_coo_atomic<<<264, tb>>>(coo, r, tmp);
    ok &= maxdiff(tmp, Ab) < 1e-11;
    std::printf("spmv formats %s\n", ok ? "agree" : "DIFFER");

    auto dots_of = [&](const real *a, const real *bb, const real *c, const real *d) {
        real h[2];
        SAFE_CALL(cudaMemset(dots, 0, 2 * sizeof(real)));
        dot2<<<64, 256>>>(a, bb, c, d, dots, n);
        SAFE_CALL(cudaMemcpy(h, dots, sizeof(h), cudaMemcpyDeviceToHost));
        return std::pair<real, real>(h[0], h[1]);
    };

    auto hdot = [](const std::vector<real> &a, const std::vector<real> &c) {
        return std::inner_product(a.begin(), a.end(), c.begin(), 0.0);
    };
    std::vector<real> hx = zero, hr = b, hp = b;
    real rho = hdot(b, b), hrho = rho;
    real res = 0, hres = 0;
    for (int it = 0; it < 2; ++it) {
        // device
        spmv_csr_vector<4><<<(n * 4 + tb - 1) / tb, tb>>>(csr, p, v);
        real alpha = rho / dots_of(r0, v, r0, v).first;
        lincomb3<<<g, tb>>>(1.0, r, -alpha, v, 0.0, v, s, n);
        spmv_ell<<<g, tb>>>(ell, s, t);
        auto ts = dots_of(t, s, t, t);
        real omega = ts.first / ts.second;
        update_solution<<<(n / 2 + tb - 1) / tb, tb>>>((double2 *)x, (double2 *)p, (double2 *)s, alpha, omega, n / 2);
        lincomb3<<<g, tb>>>(1.0, s, -omega, t, 0.0, t, r, n);
        auto rr = dots_of(r0, r, r, r);
        real beta = rr.first / rho * alpha / omega;
        lincomb3<<<g, tb>>>(1.0, r, beta, p, -beta * omega, v, p, n);
        rho = rr.first;
        res = std::sqrt(rr.second);
        // host
        std::vector<real> hv = host_spmv(hp), hs(n);
        real ha = hrho / hdot(b, hv);
        for (index_t i = 0; i < n; ++i) hs[i] = hr[i] - ha * hv[i];
        std::vector<real> ht = host_spmv(hs);
        real ho = hdot(ht, hs) / hdot(ht, ht);
        for (index_t i = 0; i < n; ++i) {
            hx[i] += ha * hp[i] + ho * hs[i];
            hr[i] = hs[i] - ho * ht[i];
        }
        real rnew = hdot(b, hr);
        real hb = rnew / hrho * ha / ho;
        for (index_t i = 0; i < n; ++i) hp[i] = hr[i] + hb * (hp[i] - ho * hv[i]);
        hrho = rnew;
        hres = std::sqrt(hdot(hr, hr));
        std::printf("it %d |r| device %.10e host %.10e\n", it, res, hres);
    }
    SAFE_CALL(cudaGetLastError());
    SAFE_CALL(cudaDeviceSynchronize());
    ok &= std::fabs(res - hres) < 1e-7 * hres;
    ok &= maxdiff(x, hx) < 1e-6;
    std::printf("%s\n", ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
