// Two iterations of matrix-free conjugate gradients on a 2D five-point operator.
// Dots are fused into the vector kernels; scalars never leave the device.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cmath>
#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

struct Scalars {
    double rr;
    double pAp;
};

static void ck(cudaError_t e, const char* what) {
    if (e != cudaSuccess) {
        fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(e));
        exit(1);
    }
}

constexpr float kDiag = 4.1f;
constexpr int TX = 32, TY = 8;

__device__ void blockAccumulate(const cg::thread_block& blk, float v, double* dst) {
    __shared__ double warpPart[32];
    auto tile = cg::tiled_partition<32>(blk);
    const float w = cg::reduce(tile, v, cg::plus<float>());
    if (tile.thread_rank() == 0) warpPart[tile.meta_group_rank()] = w;
    blk.sync();
    if (tile.meta_group_rank() == 0) {
        double s = tile.thread_rank() < tile.meta_group_size() ? warpPart[tile.thread_rank()] : 0.0;
        s = cg::reduce(tile, s, cg::plus<double>());
        if (tile.thread_rank() == 0) atomicAdd(dst, s);
    }
}

__global__ void cgInit(const float4* __restrict__ b, float4* __restrict__ x, float4* __restrict__ r,
                       float4* __restrict__ p, size_t n4, Scalars* s) {
    auto blk = cg::this_thread_block();
    float acc = 0.f;
    for (size_t i = cg::this_grid().thread_rank(); i < n4; i += cg::this_grid().size()) {
        const float4 v = b[i];
        x[i] = make_float4(0.f, 0.f, 0.f, 0.f);
        r[i] = v;
        p[i] = v;
        acc += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    blockAccumulate(blk, acc, &s[0].rr);
}

// q = A p with a haloed shared tile, and p.q on the way
__global__ void __launch_bounds__(TX * TY)
cgApply(const float* __restrict__ p, float* __restrict__ q, int nx, int ny, Scalars* s) {
    __shared__ float t[TY + 2][TX + 2];
    auto blk = cg::this_thread_block();
    const int gx = blockIdx.x * TX + threadIdx.x, gy = blockIdx.y * TY + threadIdx.y;
    const int lx = threadIdx.x + 1, ly = threadIdx.y + 1;
    auto at = [&](int xx, int yy) { return (xx >= 0 && yy >= 0 && xx < nx && yy < ny) ? p[(size_t)yy * nx + xx] : 0.f; };

    t[ly][lx] = at(gx, gy);
    if (threadIdx.x == 0) t[ly][0] = at(gx - 1, gy);
    if (threadIdx.x == TX - 1) t[ly][TX + 1] = at(gx + 1, gy);
    if (threadIdx.y == 0) t[0][lx] = at(gx, gy - 1);
    if (threadIdx.y == TY - 1) t[TY + 1][lx] = at(gx, gy + 1);
    blk.sync();

    float dot = 0.f;
    if (gx < nx && gy < ny) {
        const float v = kDiag * t[ly][lx] - t[ly][lx - 1] - t[ly][lx + 1] - t[ly - 1][lx] - t[ly + 1][lx];
        q[(size_t)gy * nx + gx] = v;
        dot = v * t[ly][lx];
    }
    blockAccumulate(blk, dot, &s->pAp);
}

__global__ void cgStep(float4* __restrict__ x, float4* __restrict__ r, const float4* __restrict__ p,
                       const float4* __restrict__ q, size_t n4, Scalars* s) {
    auto blk = cg::this_thread_block();
    const float alpha = (float)(s[0].rr / s[0].pAp);
    float acc = 0.f;
    for (size_t i = cg::this_grid().thread_rank(); i < n4; i += cg::this_grid().size()) {
        float4 xv = x[i], rv = r[i];
        const float4 pv = p[i], qv = q[i];
        xv.x += alpha * pv.x; xv.y += alpha * pv.y; xv.z += alpha * pv.z; xv.w += alpha * pv.w;
        rv.x -= alpha * qv.x; rv.y -= alpha * qv.y; rv.z -= alpha * qv.z; rv.w -= alpha * qv.w;
        x[i] = xv;
        r[i] = rv;
        acc += rv.x * rv.x + rv.y * rv.y + rv.z * rv.z + rv.w * rv.w;
    }
    blockAccumulate(blk, acc, &s[1].rr);
}

__global__ void cgDirection(float* __restrict__ p, const float* __restrict__ r, size_t n, const Scalars* s) {
    const float beta = (float)(s[1].rr / s[0].rr);
    for (size_t i = cg::this_grid().thread_rank(); i < n; i += cg::this_grid().size()) p[i] = r[i] + beta * p[i];
}

class CgSolver {
  public:
    CgSolver(int nx, int ny) : nx_(nx), ny_(ny), n_((size_t)nx * ny) {
        for (float** v : {&b_, &x_, &r_, &p_, &q_}) ck(cudaMalloc(v, n_ * sizeof(float)), "malloc");
        ck(cudaMalloc(&s_, kMax * sizeof(Scalars)), "malloc");
    }
    ~CgSolver() {
        for (float* v : {b_, x_, r_, p_, q_}) cudaFree(v);
        cudaFree(s_);
    }
    void solve(const std::vector<float>& b, int iters) {
        ck(cudaMemcpy(b_, b.data(), n_ * sizeof(float), cudaMemcpyHostToDevice), "copy");
        ck(cudaMemset(s_, 0, kMax * sizeof(Scalars)), "memset");
        const int blocks = 264, threads = 256;
        cgInit<<<blocks, threads>>>(v4(b_), v4(x_), v4(r_), v4(p_), n_ / 4, s_);
        const dim3 tb(TX, TY), tg((nx_ + TX - 1) / TX, (ny_ + TY - 1) / TY);
        for (int k = 0; k < iters; ++k) {
            cgApply<<<tg, tb>>>(p_, q_, nx_, ny_, s_ + k);
            cgStep<<<blocks, threads>>>(v4(x_), v4(r_), v4(p_), v4(q_), n_ / 4, s_ + k);
            if (k + 1 < iters) cgDirection<<<blocks * 2, threads>>>(p_, r_, n_, s_ + k);
        }
        ck(cudaGetLastError(), "launch");
        ck(cudaDeviceSynchronize(), "sync");
    }
    std::vector<float> solution() const {
        std::vector<float> h(n_);
        ck(cudaMemcpy(h.data(), x_, n_ * sizeof(float), cudaMemcpyDeviceToHost), "copy");
        return h;
    }

  private:
    static constexpr int kMax = 8;
    static float4* v4(float* p) { return reinterpret_cast<float4*>(p); }
    int nx_, ny_;
    size_t n_;
    float *b_{}, *x_{}, *r_{}, *p_{}, *q_{};
    Scalars* s_{};
};

int main() {
    const int nx = 1024, ny = 768, iters = 2;
    const size_t n = (size_t)nx * ny;
    std::vector<float> b(n);
    for (size_t i = 0; i < n; ++i) b[i] = 1.f + 0.5f * (float)((i * 2654435761ull >> 7) % 1000) / 1000.f;

    CgSolver solver(nx, ny);
    solver.solve(b, iters);
    const auto got = solver.solution();

    std::vector<double> x(n, 0.0), r(b.begin(), b.end()), p = r, q(n);
    double rr = 0;
    for (double v : r) rr += v * v;
    for (int k = 0; k < iters; ++k) {
        double pq = 0, rn = 0;
        for (int j = 0; j < ny; ++j)
            for (int i = 0; i < nx; ++i) {
                const size_t c = (size_t)j * nx + i;
                double v = (double)kDiag * p[c];
                if (i > 0) v -= p[c - 1];
                if (i + 1 < nx) v -= p[c + 1];
                if (j > 0) v -= p[c - nx];
                if (j + 1 < ny) v -= p[c + nx];
                q[c] = v;
                pq += v * p[c];
            }
        const double a = rr / pq;
        for (size_t c = 0; c < n; ++c) {
            x[c] += a * p[c];
            r[c] -= a * q[c];
            rn += r[c] * r[c];
        }
        for (size_t c = 0; c < n; ++c) p[c] = r[c] + rn / rr * p[c];
        rr = rn;
    }
    size_t bad = 0;
    for (size_t c = 0; c < n; ++c)
        if (std::fabs(x[c] - got[c]) > 2e-3 * (1.0 + std::fabs(x[c]))) ++bad;
    if (bad) printf("mismatch at %zu points\n", bad);
    else printf("OK\n");
    return bad ? 1 : 0;
}
