// Line relaxation: ADI half steps (x-sweep with shared staging, y-sweep coalesced), red-black SOR, and a 1D FEM assembly
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

typedef float real_t;
#define NX 96
#define NY 72
#define LINES 8
#define PITCH (NX + 4)

// each thread solves one y-line (column), data [y][x] so lanes are adjacent in x
__global__ void adi_y(const real_t *__restrict__ u, real_t *__restrict__ v, real_t r)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= NX) return;
    real_t c[NY];
    real_t d = 0, cp = 0;
    for (int y = 0; y < NY; y++) {
        real_t here = u[y * PITCH + x];
        real_t lx = x > 0 ? u[y * PITCH + x - 1] : 0, rx = x < NX - 1 ? u[y * PITCH + x + 1] : 0;
        real_t rhs = here + r * (lx - 2 * here + rx);
        real_t m = 1 / (1 + 2 * r + (y ? r * cp : 0));
        cp = -r * m;
        d = (rhs + (y ? r * d : 0)) * m;
        c[y] = cp;
        v[y * PITCH + x] = d;
    }
    for (int y = NY - 2; y >= 0; --y) { d = v[y * PITCH + x] - c[y] * d; v[y * PITCH + x] = d; }
}

// x-lines: stage LINES rows in shared, each of LINES threads walks one row
__global__ void adi_x(const real_t *__restrict__ u, real_t *__restrict__ v, real_t r)
{
    __shared__ real_t s[LINES][NX + 1], c[LINES][NX + 1];
    int y0 = blockIdx.x * LINES;
    for (int l = threadIdx.x; l < LINES * NX; l += blockDim.x) {
        int ly = l / NX, x = l % NX, y = y0 + ly;
        if (y < NY) {
            const real_t *p = u + y * PITCH + x;
            real_t up = y > 0 ? p[-PITCH] : 0, dn = y < NY - 1 ? p[PITCH] : 0;
            s[ly][x] = *p + r * (up - 2 * *p + dn);
        }
    }
    __syncthreads();
    if (threadIdx.x < LINES && y0 + threadIdx.x < NY) {
        real_t *row = s[threadIdx.x], *q = c[threadIdx.x];
        q[0] = -r / (1 + 2 * r);
        row[0] /= 1 + 2 * r;
        for (int x = 1; x < NX; ++x) {
            real_t m = 1 / (1 + 2 * r + r * q[x - 1]);
            q[x] = -r * m;
            row[x] = (row[x] + r * row[x - 1]) * m;
        }
        for (int x = NX - 2; x >= 0; --x) row[x] -= q[x] * row[x + 1];
    }
    __syncthreads();
    for (int l = threadIdx.x; l < LINES * NX; l += blockDim.x)
        if (y0 + l / NX < NY) v[(y0 + l / NX) * PITCH + l % NX] = s[l / NX][l % NX];
}

__global__ void sor(real_t *u, const real_t *f, real_t omega, int colour)
{
    for (int y = 1 + blockIdx.x * blockDim.y + threadIdx.y; y < NY - 1; y += gridDim.x * blockDim.y)
        for (int x = 1 + ((y + colour) & 1) + 2 * threadIdx.x; x < NX - 1; x += 2 * blockDim.x) {
            real_t *p = &u[y * PITCH + x];
            real_t gs = 0.25f * (p[-1] + p[1] + p[-PITCH] + p[PITCH] + f[y * PITCH + x]);
            *p += omega * (gs - *p);
        }
}

struct Tri { int n[3]; };
struct Vert { double x, y; };

// linear triangles: element stiffness scattered into CSR-free diagonal and load vector
__global__ void fem_assemble(const Tri *tris, const Vert *verts, int nt, double *diag, double *load, double *area_sum)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    double area = 0;
    if (t < nt) {
        Tri e = tris[t];
        Vert v[3];
        for (int k = 0; k < 3; k++) v[k] = verts[e.n[k]];
        double bx[3], by[3];
        for (int k = 0; k < 3; k++) {
            const Vert &p = v[(k + 1) % 3], &q = v[(k + 2) % 3];
            bx[k] = p.y - q.y; by[k] = q.x - p.x;
        }
        area = 0.5 * fabs(bx[0] * by[1] - bx[1] * by[0]);
        for (int k = 0; k < 3; k++) {
            atomicAdd(&diag[e.n[k]], (bx[k] * bx[k] + by[k] * by[k]) / (4 * area));
            atomicAdd(&load[e.n[k]], area / 3);
        }
    }
    for (int o = 16; o > 0; o /= 2) area += __shfl_down_sync(0xffffffff, area, o);
    if (threadIdx.x % 32 == 0) atomicAdd(area_sum, area);
}

int main()
{
    std::vector<real_t> u(NY * PITCH, 0.f), a(NY * PITCH), b(NY * PITCH);
    for (int y = 0; y < NY; y++) for (int x = 0; x < NX; x++) u[y * PITCH + x] = sinf(M_PI * (x + 1) / (NX + 1)) * sinf(M_PI * (y + 1) / (NY + 1));
    real_t *d0, *d1, *d2, *df; size_t bytes = u.size() * sizeof(real_t);
    cudaMalloc(&d0, bytes); cudaMalloc(&d1, bytes); cudaMalloc(&d2, bytes); cudaMalloc(&df, bytes);
    cudaMemcpy(d0, u.data(), bytes, cudaMemcpyHostToDevice); cudaMemset(df, 0, bytes);
    const real_t r = 4.f;
    adi_y<<<(NX + 31) / 32, 32>>>(d0, d1, r);
    adi_x<<<(NY + LINES - 1) / LINES, 96>>>(d1, d2, r);
    cudaMemcpy(a.data(), d2, bytes, cudaMemcpyDeviceToHost);
    // the mode is an eigenvector of both half steps
    double lx = 4 * pow(sin(M_PI / 2 / (NX + 1)), 2) * r, ly = 4 * pow(sin(M_PI / 2 / (NY + 1)), 2) * r;
    double factor = (1 - lx) / (1 + ly) * (1 - ly) / (1 + lx), err = 0;
    for (int y = 0; y < NY; y++) for (int x = 0; x < NX; x++) err = fmax(err, fabs(a[y * PITCH + x] - factor * u[y * PITCH + x]));
    for (int it = 0; it < 4; it++) sor<<<9, dim3(16, 4)>>>(d2, df, 1.5f, it & 1);
    cudaMemcpy(b.data(), d2, bytes, cudaMemcpyDeviceToHost);
    double s0 = 0, s1 = 0;
    for (size_t i = 0; i < a.size(); i++) { if (i % PITCH < NX) { s0 += a[i]; s1 += b[i]; } }

    const int m = 40; std::vector<Vert> vs; std::vector<Tri> ts;
    for (int j = 0; j <= m; j++) for (int i = 0; i <= m; i++) vs.push_back({i / (double)m + 0.1 * j / m, j / (double)m});
    for (int j = 0; j < m; j++) for (int i = 0; i < m; i++) { int k = j * (m + 1) + i; ts.push_back({{k, k + 1, k + m + 2}}); ts.push_back({{k, k + m + 2, k + m + 1}}); }
    Vert *dv; Tri *dt; double *dd, *dl, *da;
    cudaMalloc(&dv, vs.size() * sizeof(Vert)); cudaMalloc(&dt, ts.size() * sizeof(Tri)); cudaMalloc(&dd, vs.size() * 8); cudaMalloc(&dl, vs.size() * 8); cudaMalloc(&da, 8);
    cudaMemset(dd, 0, vs.size() * 8); cudaMemset(dl, 0, vs.size() * 8); cudaMemset(da, 0, 8);
    cudaMemcpy(dv, vs.data(), vs.size() * sizeof(Vert), cudaMemcpyHostToDevice); cudaMemcpy(dt, ts.data(), ts.size() * sizeof(Tri), cudaMemcpyHostToDevice);
    fem_assemble<<<((int)ts.size() + 127) / 128, 128>>>(dt, dv, (int)ts.size(), dd, dl, da);
    std::vector<double> hl(vs.size()); double area, ls = 0;
    cudaMemcpy(hl.data(), dl, hl.size() * 8, cudaMemcpyDeviceToHost); cudaMemcpy(&area, da, 8, cudaMemcpyDeviceToHost);
    for (double v : hl) ls += v;
    printf("adi err %g, sor sum %.3f -> %.3f, fem area %.9f load %.9f\n", err, s0, s1, area, ls);
    return !(err < 1e-4 && fabs(area - 1) < 1e-9 && fabs(ls - 1) < 1e-9 && std::isfinite(s1));
}
