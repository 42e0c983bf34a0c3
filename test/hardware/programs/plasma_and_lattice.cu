// Homework-style physics: a 2-D electrostatic particle-in-cell cycle
// (deposit -> Jacobi relaxation -> field -> push) and a D2Q9 lattice Boltzmann box,
// the latter in array-of-structures and structure-of-arrays form.
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <vector>
#include <cuda_runtime.h>

void gpuAssert(cudaError_t code, const char* file, int line)
{
    if (code != cudaSuccess) { fprintf(stderr, "GPU error: %s %s %d\n", cudaGetErrorString(code), file, line); exit(code); }
}
#define gpuErr(ans) gpuAssert((ans), __FILE__, __LINE__)

#define NX 200              // PIC mesh, periodic
#define NY 120
#define QSCALE 4096.0f      // fixed point charge: deposition order does not matter
#define DT 0.05f

struct Particle {           // 20 bytes
    float x, y, vx, vy;
    unsigned species : 2;
    unsigned alive   : 1;
    unsigned tag     : 29;
};

__host__ __device__ inline int wrap(int i, int n) { return i < 0 ? i + n : (i >= n ? i - n : i); }
__host__ __device__ inline float charge_of(unsigned species) { return species == 0 ? -1.0f : (species == 1 ? 1.0f : 2.0f); }

struct Stencil { int c[4]; float w[4]; };
__host__ __device__ inline Stencil cic(float x, float y)
{
    Stencil s;
    int i = (int)floorf(x), j = (int)floorf(y);
    float fx = x - i, fy = y - j;
    int i0 = wrap(i, NX), i1 = wrap(i + 1, NX), j0 = wrap(j, NY), j1 = wrap(j + 1, NY);
    s.c[0] = j0 * NX + i0; s.w[0] = (1 - fx) * (1 - fy);
    s.c[1] = j0 * NX + i1; s.w[1] = fx * (1 - fy);
    s.c[2] = j1 * NX + i0; s.w[2] = (1 - fx) * fy;
    s.c[3] = j1 * NX + i1; s.w[3] = fx * fy;
    return s;
}

__global__ void deposit(const Particle* p, int np, int* rho)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= np) return;
    Particle q = p[t];
    if (!q.alive) return;
    Stencil s = cic(q.x, q.y);
    for (int k = 0; k < 4; k++)
        atomicAdd(&rho[s.c[k]], __float2int_rn(charge_of(q.species) * s.w[k] * QSCALE));
}

// 2-D block, mesh sides are not multiples of it
__global__ void jacobi(const float* __restrict__ phi, const int* __restrict__ rho, float* __restrict__ out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= NX || j >= NY) return;
    float sum = phi[j * NX + wrap(i - 1, NX)] + phi[j * NX + wrap(i + 1, NX)] + phi[wrap(j - 1, NY) * NX + i] + phi[wrap(j + 1, NY) * NX + i];
    out[j * NX + i] = 0.25f * (sum + rho[j * NX + i] / QSCALE);
}

// threads run down the columns: bad on purpose (a student would)
__global__ void efield(const float* phi, float2* E)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y;
    if (j < NY) {
        float ex = -0.5f * (phi[j * NX + wrap(i + 1, NX)] - phi[j * NX + wrap(i - 1, NX)]);
        float ey = -0.5f * (phi[wrap(j + 1, NY) * NX + i] - phi[wrap(j - 1, NY) * NX + i]);
        E[j * NX + i] = make_float2(ex, ey);
    }
}

__host__ __device__ inline void advance(Particle& q, const float2* E)
{
    Stencil s = cic(q.x, q.y);
    float ax = 0, ay = 0;
    for (int k = 0; k < 4; k++) { float2 e = E[s.c[k]]; ax += s.w[k] * e.x; ay += s.w[k] * e.y; }
    float c = charge_of(q.species);
    q.vx += DT * c * ax;
    q.vy += DT * c * ay;
    q.x += DT * q.vx;
    q.y += DT * q.vy;
}

__global__ void push(Particle* p, int np, const float2* E)
{
    for (int t = blockIdx.x * blockDim.x + threadIdx.x; t < np; t += blockDim.x * gridDim.x) {
        if (!p[t].alive) continue;
        advance(p[t], E);
    }
}

// ------------------------------------------------------------ lattice Boltzmann
#define LX 301
#define LY 150
#define Q  9
__constant__ int   d_cx[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
__constant__ int   d_cy[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant__ float d_wt[Q] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};
static const int h_cx[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
static const int h_cy[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
static const double h_wt[Q] = {4. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 36, 1. / 36, 1. / 36, 1. / 36};

struct AoS { static __host__ __device__ size_t at(int cell, int q) { return (size_t)cell * Q + q; } };
struct SoA { static __host__ __device__ size_t at(int cell, int q) { return (size_t)q * (LX * LY) + cell; } };

template <class LAYOUT, int BX>
__global__ void __launch_bounds__(BX) lbm_step(const float* __restrict__ src, float* __restrict__ dst,
                                               const unsigned char* __restrict__ solid, float omega)
{
    const int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y;
    if (x >= LX) return;
    const int cell = y * LX + x;
    constexpr int opp[Q] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
    float f[Q], rho = 0, ux = 0, uy = 0;
#pragma unroll
    for (int q = 0; q < Q; q++) {
        int nb = wrap(y - d_cy[q], LY) * LX + wrap(x - d_cx[q], LX);
        // bounce back when the upstream cell is a wall
        f[q] = solid[nb] ? src[LAYOUT::at(cell, opp[q])] : src[LAYOUT::at(nb, q)];
        rho += f[q]; ux += d_cx[q] * f[q]; uy += d_cy[q] * f[q];
    }
    if (solid[cell]) {
        for (int q = 0; q < Q; q++) dst[LAYOUT::at(cell, q)] = src[LAYOUT::at(cell, q)];
        return;
    }
    ux /= rho; uy /= rho;
    const float uu = 1.5f * (ux * ux + uy * uy);
#pragma unroll
    for (int q = 0; q < Q; q++) {
        float cu = 3.0f * (d_cx[q] * ux + d_cy[q] * uy);
        float eq = d_wt[q] * rho * (1.0f + cu + 0.5f * cu * cu - uu);
        dst[LAYOUT::at(cell, q)] = f[q] + omega * (eq - f[q]);
    }
}

static void lbm_cpu(std::vector<double>& f, const std::vector<unsigned char>& solid, double omega)
{
    static const int opp[Q] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
    std::vector<double> g(f.size());
    for (int y = 0; y < LY; y++) for (int x = 0; x < LX; x++) {
        int cell = y * LX + x;
        double h[Q], rho = 0, ux = 0, uy = 0;
        for (int q = 0; q < Q; q++) {
            int nb = wrap(y - h_cy[q], LY) * LX + wrap(x - h_cx[q], LX);
            h[q] = solid[nb] ? f[AoS::at(cell, opp[q])] : f[AoS::at(nb, q)];
            rho += h[q]; ux += h_cx[q] * h[q]; uy += h_cy[q] * h[q];
        }
        ux /= rho; uy /= rho;
        for (int q = 0; q < Q; q++) {
            double cu = 3 * (h_cx[q] * ux + h_cy[q] * uy);
            double eq = h_wt[q] * rho * (1 + cu + 0.5 * cu * cu - 1.5 * (ux * ux + uy * uy));
            g[AoS::at(cell, q)] = solid[cell] ? f[AoS::at(cell, q)] : h[q] + omega * (eq - h[q]);
        }
    }
    f.swap(g);
}

int main(int argc, char** argv)
{
    int np = argc > 1 ? atoi(argv[1]) : 150001;
    if (np < 1) np = 1;
    int wrong = 0;

    // ---- particles, 1 in 50 dead; x and y strictly inside the box
    std::vector<Particle> p(np);
    unsigned s = 1u;
    for (int t = 0; t < np; t++) {
        unsigned r[5];
        for (int k = 0; k < 5; k++) { s ^= s << 13; s ^= s >> 17; s ^= s << 5; r[k] = s; }
        p[t].x = 1.0f + (NX - 3) * ((r[0] >> 9) / 8388608.0f);
        p[t].y = 1.0f + (NY - 3) * ((r[1] >> 9) / 8388608.0f);
        p[t].vx = ((r[2] >> 9) / 8388608.0f) - 0.5f;
        p[t].vy = ((r[3] >> 9) / 8388608.0f) - 0.5f;
        p[t].species = r[4] % 3; p[t].alive = (r[4] >> 8) % 50 != 0; p[t].tag = (unsigned)t;
    }
    const int cells = NX * NY, sweeps = 3;
    Particle* d_p; int* d_rho; float *d_a, *d_b; float2* d_E;
    gpuErr(cudaMalloc(&d_p, np * sizeof(Particle)));
    gpuErr(cudaMalloc(&d_rho, cells * sizeof(int)));
    gpuErr(cudaMalloc(&d_a, cells * sizeof(float)));
    gpuErr(cudaMalloc(&d_b, cells * sizeof(float)));
    gpuErr(cudaMalloc(&d_E, cells * sizeof(float2)));
    gpuErr(cudaMemcpy(d_p, p.data(), np * sizeof(Particle), cudaMemcpyHostToDevice));
    gpuErr(cudaMemset(d_rho, 0, cells * sizeof(int)));
    gpuErr(cudaMemset(d_a, 0, cells * sizeof(float)));

    deposit<<<(np + 255) / 256, 256>>>(d_p, np, d_rho);
    gpuErr(cudaPeekAtLastError());
    dim3 block(24, 8), grid((NX + 23) / 24, (NY + 7) / 8);
    for (int k = 0; k < sweeps; k++) {
        jacobi<<<grid, block>>>(d_a, d_rho, d_b);
        gpuErr(cudaPeekAtLastError());
        float* tmp = d_a; d_a = d_b; d_b = tmp;
    }
    efield<<<dim3((NY + 63) / 64, NX), 64>>>(d_a, d_E);
    push<<<150, 256>>>(d_p, np, d_E);
    gpuErr(cudaPeekAtLastError());
    gpuErr(cudaDeviceSynchronize());

    std::vector<int> rho(cells); std::vector<float> phi(cells); std::vector<float2> E(cells); std::vector<Particle> moved(np);
    gpuErr(cudaMemcpy(rho.data(), d_rho, cells * sizeof(int), cudaMemcpyDeviceToHost));
    gpuErr(cudaMemcpy(phi.data(), d_a, cells * sizeof(float), cudaMemcpyDeviceToHost));
    gpuErr(cudaMemcpy(E.data(), d_E, cells * sizeof(float2), cudaMemcpyDeviceToHost));
    gpuErr(cudaMemcpy(moved.data(), d_p, np * sizeof(Particle), cudaMemcpyDeviceToHost));

    std::vector<double> dens(cells, 0.0); std::vector<int> hits(cells, 0);
    for (int t = 0; t < np; t++) {
        if (!p[t].alive) continue;
        Stencil st = cic(p[t].x, p[t].y);
        for (int k = 0; k < 4; k++) { dens[st.c[k]] += (double)charge_of(p[t].species) * st.w[k]; hits[st.c[k]]++; }
    }
    for (int c = 0; c < cells; c++)
        if (fabs(rho[c] / QSCALE - dens[c]) > (hits[c] + 1) * 0.6 / QSCALE) { if (wrong++ < 3) printf("rho[%d] = %g, want %g\n", c, rho[c] / QSCALE, dens[c]); }
    std::vector<double> u(cells, 0.0), v(cells);
    for (int k = 0; k < sweeps; k++) {
        for (int j = 0; j < NY; j++) for (int i = 0; i < NX; i++)
            v[j * NX + i] = 0.25 * (u[j * NX + wrap(i - 1, NX)] + u[j * NX + wrap(i + 1, NX)] + u[wrap(j - 1, NY) * NX + i] + u[wrap(j + 1, NY) * NX + i] + rho[j * NX + i] / QSCALE);
        u.swap(v);
    }
    for (int j = 0; j < NY; j++) for (int i = 0; i < NX; i++) {
        int c = j * NX + i;
        double ex = -0.5 * (u[j * NX + wrap(i + 1, NX)] - u[j * NX + wrap(i - 1, NX)]);
        double ey = -0.5 * (u[wrap(j + 1, NY) * NX + i] - u[wrap(j - 1, NY) * NX + i]);
        if (!(fabs(phi[c] - u[c]) < 1e-3 && fabs(E[c].x - ex) < 1e-3 && fabs(E[c].y - ey) < 1e-3)) { if (wrong++ < 6) printf("field at %d,%d\n", i, j); }
    }
    for (int t = 0; t < np; t++) {
        Particle q = p[t], g = moved[t];
        if (q.alive) advance(q, E.data());
        if (!(fabsf(q.x - g.x) < 1e-3f && fabsf(q.y - g.y) < 1e-3f && fabsf(q.vx - g.vx) < 1e-3f && fabsf(q.vy - g.vy) < 1e-3f && q.tag == g.tag)) { if (wrong++ < 9) printf("particle %d\n", t); }
    }

    // ---- lattice
    const size_t nf = (size_t)LX * LY * Q;
    std::vector<unsigned char> solid(LX * LY, 0);
    std::vector<double> ref(nf); std::vector<float> fa(nf), fs(nf), ga(nf), gs(nf);
    for (int y = 0; y < LY; y++) for (int x = 0; x < LX; x++) {
        int cell = y * LX + x;
        solid[cell] = y == 0 || y == LY - 1 || (x - 80) * (x - 80) + (y - 70) * (y - 70) < 200;
        for (int q = 0; q < Q; q++) {
            float f0 = (float)(h_wt[q] * (1.0 + 0.05 * sin(0.07 * x + q) * cos(0.11 * y)));
            fa[AoS::at(cell, q)] = fs[SoA::at(cell, q)] = f0;
            ref[AoS::at(cell, q)] = f0;
        }
    }
    unsigned char* d_solid; float* d_f[4];
    gpuErr(cudaMalloc(&d_solid, LX * LY));
    gpuErr(cudaMemcpy(d_solid, solid.data(), LX * LY, cudaMemcpyHostToDevice));
    for (int k = 0; k < 4; k++) { gpuErr(cudaMalloc(&d_f[k], nf * sizeof(float))); gpuErr(cudaMemset(d_f[k], 0, nf * sizeof(float))); }
    gpuErr(cudaMemcpy(d_f[0], fa.data(), nf * sizeof(float), cudaMemcpyHostToDevice));
    gpuErr(cudaMemcpy(d_f[2], fs.data(), nf * sizeof(float), cudaMemcpyHostToDevice));
    for (int step = 0; step < 2; step++) {
        lbm_step<AoS, 128><<<dim3((LX + 127) / 128, LY), 128>>>(d_f[step & 1], d_f[1 - (step & 1)], d_solid, 1.2f);
        lbm_step<SoA, 128><<<dim3((LX + 127) / 128, LY), 128>>>(d_f[2 + (step & 1)], d_f[3 - (step & 1)], d_solid, 1.2f);
        gpuErr(cudaPeekAtLastError());
        lbm_cpu(ref, solid, 1.2);
    }
    gpuErr(cudaDeviceSynchronize());
    gpuErr(cudaMemcpy(ga.data(), d_f[0], nf * sizeof(float), cudaMemcpyDeviceToHost));
    gpuErr(cudaMemcpy(gs.data(), d_f[2], nf * sizeof(float), cudaMemcpyDeviceToHost));
    for (int cell = 0; cell < LX * LY; cell++) for (int q = 0; q < Q; q++) {
        double r = ref[AoS::at(cell, q)];
        if (!(fabs(ga[AoS::at(cell, q)] - r) < 1e-5 && fabs(gs[SoA::at(cell, q)] - r) < 1e-5)) { if (wrong++ < 12) printf("lattice cell %d dir %d\n", cell, q); }
    }

    cudaFree(d_p); cudaFree(d_rho); cudaFree(d_a); cudaFree(d_b); cudaFree(d_E); cudaFree(d_solid);
    for (int k = 0; k < 4; k++) cudaFree(d_f[k]);
    printf("%d particles, %d lattice cells, %d errors\n", np, LX * LY, wrong);
    printf(wrong ? "FAIL\n" : "PASS\n");
    return wrong ? 1 : 0;
}
