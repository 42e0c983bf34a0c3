// Port of a Fortran scalar-pentadiagonal ADI benchmark (in the spirit of SP) to CUDA, keeping the
// Fortran storage: U(5, 0:NX-1, 0:NY-1, 0:NZ-1), first index fastest, LHS(5, n, lines) etc.
// Subroutine names and loop structure follow the original file set: exact/init, compute_rhs,
// txinvr, x_solve, y_solve, z_solve, add, norm.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define PROBLEM_X 26
#define PROBLEM_Y 22
#define PROBLEM_Z 34
#define NX PROBLEM_X
#define NY PROBLEM_Y
#define NZ PROBLEM_Z
#define NPTS (NX*NY*NZ)

// Fortran: u(m,i,j,k)
#define IDX5(m,i,j,k) ((m) + 5*((i) + NX*((j) + NY*(k))))
#define IDX3(i,j,k)   ((i) + NX*((j) + NY*(k)))

#define U(m,i,j,k)    u[IDX5(m,i,j,k)]
#define RHS(m,i,j,k)  rhs[IDX5(m,i,j,k)]
#define RHO_I(i,j,k)  rho_i[IDX3(i,j,k)]
#define SPEED(i,j,k)  speed[IDX3(i,j,k)]

// a line's work arrays: lhs(5, i) with the line index fastest or slowest
#define LHS_FAST(c,i)  lhs[((i)*5 + (c))*lines + line]      /* lines contiguous */
#define LHS_SLOW(c,i)  lhs[(line*(n) + (i))*5 + (c)]        /* as in the Fortran */

#define DT 0.015
#define C2 0.4

__host__ __device__ inline double exact_m(int m, int i, int j, int k)
{
    double xi = (double)i/(NX-1), eta = (double)j/(NY-1), zeta = (double)k/(NZ-1);
    return 2.0 + 0.1*m + 0.3*xi*(1.0-xi) + (0.2 + 0.05*m)*eta*zeta + 0.1*xi*eta*zeta;
}

//---------------------------------------------------------------- initialize
__global__ void initialize_k(double *u)
{
    int m = threadIdx.x;                  // do m = 1, 5
    int i = threadIdx.y, j = blockIdx.x, k = blockIdx.y;
    if (i < NX) U(m,i,j,k) = exact_m(m,i,j,k);
}

//---------------------------------------------------------------- compute_rhs
__global__ void rhs_aux_k(const double *u, double *rho_i, double *speed)
{
    int i = blockIdx.x*blockDim.x + threadIdx.x, j = blockIdx.y, k = blockIdx.z;
    if (i >= NX) return;
    double rho_inv = 1.0/U(0,i,j,k);
    double sq = 0.5*(U(1,i,j,k)*U(1,i,j,k) + U(2,i,j,k)*U(2,i,j,k) + U(3,i,j,k)*U(3,i,j,k))*rho_inv;
    double aux = C2*rho_inv*(U(4,i,j,k) + sq);
    RHO_I(i,j,k) = rho_inv;
    SPEED(i,j,k) = sqrt(aux);
}

__global__ void compute_rhs_k(const double *u, const double *rho_i, double *rhs)
{
    int i = threadIdx.x + 1, j = blockIdx.x + 1, k = blockIdx.y + 1;
    if (i > NX-2) return;
    double r0 = RHO_I(i,j,k);
#pragma unroll
    for (int m = 0; m < 5; m++) {
        double c = U(m,i,j,k);
        double d = (U(m,i+1,j,k) - 2.0*c + U(m,i-1,j,k))
                 + (U(m,i,j+1,k) - 2.0*c + U(m,i,j-1,k))
                 + (U(m,i,j,k+1) - 2.0*c + U(m,i,j,k-1));
        RHS(m,i,j,k) = DT*(d + 0.1*r0*(RHO_I(i+1,j,k) - RHO_I(i-1,j,k)));
    }
}

__global__ void txinvr_k(const double *rho_i, const double *speed, double *rhs)
{
    int t = blockIdx.x*blockDim.x + threadIdx.x;
    if (t >= (NX-2)*(NY-2)*(NZ-2)) return;
    int i = t % (NX-2) + 1, j = t/(NX-2) % (NY-2) + 1, k = t/((NX-2)*(NY-2)) + 1;
    double r1 = RHS(0,i,j,k), r2 = RHS(1,i,j,k), r3 = RHS(2,i,j,k), r4 = RHS(3,i,j,k), r5 = RHS(4,i,j,k);
    double ac = SPEED(i,j,k), ru1 = RHO_I(i,j,k);
    double t1 = C2/(ac*ac)*(r1 - 0.25*r5), t2 = 0.7071*ru1*(r2 - r1), t3 = 0.7071*ru1*ac*t1;
    RHS(0,i,j,k) = r1 - t1;
    RHS(1,i,j,k) = -ru1*(r4 - r1);
    RHS(2,i,j,k) = ru1*(r3 - r1);
    RHS(3,i,j,k) = -t2 + t3;
    RHS(4,i,j,k) = t2 + t3;
}

//---------------------------------------------------------------- pentadiagonal line solve
// coefficients depend on the local speed; rows 0 and n-1 are identity rows
__host__ __device__ inline void coeffs(double s, bool edge, double c[5])
{
    if (edge) { c[0] = c[1] = c[3] = c[4] = 0.0; c[2] = 1.0; return; }
    c[0] = 0.01; c[1] = -0.20 - 0.05*s; c[2] = 1.6 + 0.1*s; c[3] = -0.20 + 0.05*s; c[4] = 0.01;
}

__host__ __device__ inline void eliminate(double *rhs, const double *speed, double *lhs, int line, int lines, int n,
                                          int at, int stride, bool slow)
{
    // at: linear grid index of the line's first point; stride: grid points between neighbours
    (void)slow;
    for (int i = 0; i < n; i++) {
        double c[5];
        coeffs(speed[at + i*stride], i == 0 || i == n-1, c);
        double *r = rhs + 5*(at + i*stride);
        if (i >= 2) {
            double f = c[0];
            c[1] -= f*LHS_FAST(3,i-2); c[2] -= f*LHS_FAST(4,i-2);
            for (int m = 0; m < 5; m++) r[m] -= f*rhs[5*(at + (i-2)*stride) + m];
        }
        if (i >= 1) {
            double f = c[1];
            c[2] -= f*LHS_FAST(3,i-1); c[3] -= f*LHS_FAST(4,i-1);
            for (int m = 0; m < 5; m++) r[m] -= f*rhs[5*(at + (i-1)*stride) + m];
        }
        double fac = 1.0/c[2];
        LHS_FAST(3,i) = c[3]*fac; LHS_FAST(4,i) = c[4]*fac;
        for (int m = 0; m < 5; m++) r[m] *= fac;
    }
    for (int i = n-2; i >= 0; i--) {
        for (int m = 0; m < 5; m++) {
            double v = rhs[5*(at + i*stride) + m] - LHS_FAST(3,i)*rhs[5*(at + (i+1)*stride) + m];
            if (i < n-2) v -= LHS_FAST(4,i)*rhs[5*(at + (i+2)*stride) + m];
            rhs[5*(at + i*stride) + m] = v;
        }
    }
}

__global__ void x_solve_k(double *rhs, const double *speed, double *lhs)
{
    int j = blockIdx.x*blockDim.x + threadIdx.x + 1, k = blockIdx.y + 1;
    if (j > NY-2) return;
    eliminate(rhs, speed, lhs, (j-1) + (NY-2)*(k-1), (NY-2)*(NZ-2), NX, IDX3(0,j,k), 1, false);
}
__global__ void y_solve_k(double *rhs, const double *speed, double *lhs)
{
    int i = blockIdx.x*blockDim.x + threadIdx.x + 1, k = blockIdx.y + 1;
    if (i > NX-2) return;
    eliminate(rhs, speed, lhs, (i-1) + (NX-2)*(k-1), (NX-2)*(NZ-2), NY, IDX3(i,0,k), NX, false);
}

// z: the "tuned" one. One component per thread, lhs kept in shared memory for the block's lines.
__global__ void z_solve_k(double *rhs, const double *speed)
{
    const int n = NZ;
    __shared__ double lhs[5*PROBLEM_Z*8];
    int m = threadIdx.x;                 // 5 components
    int line = threadIdx.y;              // 8 lines of a block
    int i = blockIdx.x*8 + line + 1, j = blockIdx.y + 1;
    bool on = i <= NX-2;
    int ii = on ? i : NX-2;
    if (m == 0) {
        for (int k = 0; k < n; k++) {
            double c[5];
            coeffs(SPEED(ii,j,k), k == 0 || k == n-1, c);
            if (k >= 2) { double f = c[0]; c[1] -= f*LHS_SLOW(3,k-2); c[2] -= f*LHS_SLOW(4,k-2); }
            LHS_SLOW(0,k) = c[0];
            if (k >= 1) { double f = c[1]; c[2] -= f*LHS_SLOW(3,k-1); c[3] -= f*LHS_SLOW(4,k-1); }
            LHS_SLOW(1,k) = c[1];
            double fac = 1.0/c[2];
            LHS_SLOW(2,k) = fac; LHS_SLOW(3,k) = c[3]*fac; LHS_SLOW(4,k) = c[4]*fac;
        }
    }
    __syncthreads();
    if (!on) return;
    double p1 = 0.0, p2 = 0.0;
    for (int k = 0; k < n; k++) {
        double v = RHS(m,i,j,k) - LHS_SLOW(0,k)*p2 - LHS_SLOW(1,k)*p1;
        v *= LHS_SLOW(2,k);
        RHS(m,i,j,k) = v;
        p2 = p1; p1 = v;
    }
    p1 = p2 = 0.0;
    for (int k = n-1; k >= 0; k--) {
        double v = RHS(m,i,j,k);
        if (k < n-1) v -= LHS_SLOW(3,k)*p1 + LHS_SLOW(4,k)*p2;
        RHS(m,i,j,k) = v;
        p2 = p1; p1 = v;
    }
}

__global__ void add_k(double *u, const double *rhs)
{
    int t = blockIdx.x*blockDim.x + threadIdx.x;
    if (t < 5*NPTS) u[t] += rhs[t];
}

__global__ void error_norm_k(const double *u, double *rms)
{
    __shared__ double part[5][64];
    int m = blockIdx.x;
    double s = 0.0;
    for (int p = threadIdx.x; p < NPTS; p += blockDim.x) s += u[m + 5*p]*u[m + 5*p];
    part[m][threadIdx.x] = s;
    __syncthreads();
    for (int o = 32; o > 0; o >>= 1) {
        if (threadIdx.x < o) part[m][threadIdx.x] += part[m][threadIdx.x + o];
        __syncthreads();
    }
    if (threadIdx.x == 0) rms[m] = sqrt(part[m][0]/NPTS);
}

static void ok_or_die(cudaError_t e, const char *w) { if (e != cudaSuccess) { printf("%s: %s\n", w, cudaGetErrorString(e)); exit(2); } }

//---------------------------------------------------------------- host reference: same loops, serial
static void reference(double *u, double *rhs, double *rho_i, double *speed, double *lhs, int niter)
{
    int i, j, k, m;
    for (k = 0; k < NZ; k++) for (j = 0; j < NY; j++) for (i = 0; i < NX; i++) for (m = 0; m < 5; m++) { U(m,i,j,k) = exact_m(m,i,j,k); RHS(m,i,j,k) = 0; }
    for (int it = 0; it < niter; it++) {
        for (k = 0; k < NZ; k++) for (j = 0; j < NY; j++) for (i = 0; i < NX; i++) {
            double ri = 1.0/U(0,i,j,k);
            double sq = 0.5*(U(1,i,j,k)*U(1,i,j,k) + U(2,i,j,k)*U(2,i,j,k) + U(3,i,j,k)*U(3,i,j,k))*ri;
            RHO_I(i,j,k) = ri; SPEED(i,j,k) = sqrt(C2*ri*(U(4,i,j,k) + sq));
        }
        for (k = 1; k < NZ-1; k++) for (j = 1; j < NY-1; j++) for (i = 1; i < NX-1; i++) {
            double q[5];
            for (m = 0; m < 5; m++) {
                double c = U(m,i,j,k);
                double d = U(m,i+1,j,k) + U(m,i-1,j,k) + U(m,i,j+1,k) + U(m,i,j-1,k) + U(m,i,j,k+1) + U(m,i,j,k-1) - 6.0*c;
                q[m] = DT*(d + 0.1*RHO_I(i,j,k)*(RHO_I(i+1,j,k) - RHO_I(i-1,j,k)));
            }
            double ac = SPEED(i,j,k), ru1 = RHO_I(i,j,k);
            double t1 = C2/(ac*ac)*(q[0] - 0.25*q[4]), t2 = 0.7071*ru1*(q[1] - q[0]), t3 = 0.7071*ru1*ac*t1;
            RHS(0,i,j,k) = q[0] - t1; RHS(1,i,j,k) = -ru1*(q[3] - q[0]); RHS(2,i,j,k) = ru1*(q[2] - q[0]);
            RHS(3,i,j,k) = -t2 + t3; RHS(4,i,j,k) = t2 + t3;
        }
        for (k = 1; k < NZ-1; k++) for (j = 1; j < NY-1; j++) eliminate(rhs, speed, lhs, 0, 1, NX, IDX3(0,j,k), 1, false);
        for (k = 1; k < NZ-1; k++) for (i = 1; i < NX-1; i++) eliminate(rhs, speed, lhs, 0, 1, NY, IDX3(i,0,k), NX, false);
        for (j = 1; j < NY-1; j++) for (i = 1; i < NX-1; i++) eliminate(rhs, speed, lhs, 0, 1, NZ, IDX3(i,j,0), NX*NY, false);
        for (i = 0; i < 5*NPTS; i++) u[i] += rhs[i];
    }
}

int main(int argc, char **argv)
{
    int niter = argc > 1 ? atoi(argv[1]) : 2;
    double *u, *rhs, *rho_i, *speed, *lhs, *rms;
    ok_or_die(cudaMalloc(&u, 5*NPTS*sizeof(double)), "u");
    ok_or_die(cudaMalloc(&rhs, 5*NPTS*sizeof(double)), "rhs");
    ok_or_die(cudaMalloc(&rho_i, NPTS*sizeof(double)), "rho_i");
    ok_or_die(cudaMalloc(&speed, NPTS*sizeof(double)), "speed");
    ok_or_die(cudaMalloc(&lhs, 5*NPTS*sizeof(double)), "lhs");
    ok_or_die(cudaMalloc(&rms, 5*sizeof(double)), "rms");
    ok_or_die(cudaMemset(rhs, 0, 5*NPTS*sizeof(double)), "memset");
    initialize_k<<<dim3(NY,NZ), dim3(5,NX)>>>(u);
    for (int it = 0; it < niter; it++) {
        rhs_aux_k<<<dim3(1,NY,NZ), 32>>>(u, rho_i, speed);
        compute_rhs_k<<<dim3(NY-2,NZ-2), NX-2>>>(u, rho_i, rhs);
        txinvr_k<<<((NX-2)*(NY-2)*(NZ-2) + 127)/128, 128>>>(rho_i, speed, rhs);
        x_solve_k<<<dim3(1,NZ-2), 32>>>(rhs, speed, lhs);
        y_solve_k<<<dim3(1,NZ-2), 32>>>(rhs, speed, lhs);
        z_solve_k<<<dim3((NX-2+7)/8,NY-2), dim3(5,8)>>>(rhs, speed);
        add_k<<<(5*NPTS + 255)/256, 256>>>(u, rhs);
    }
    error_norm_k<<<5, 64>>>(u, rms);
    ok_or_die(cudaDeviceSynchronize(), "run");

    double *hu = (double*)malloc(5*NPTS*8), *hr = (double*)malloc(5*NPTS*8), *ha = (double*)malloc(NPTS*8);
    double *hs = (double*)malloc(NPTS*8), *hl = (double*)malloc(5*64*8), *gu = (double*)malloc(5*NPTS*8), gr[5];
    reference(hu, hr, ha, hs, hl, niter);
    ok_or_die(cudaMemcpy(gu, u, 5*NPTS*8, cudaMemcpyDeviceToHost), "copy");
    ok_or_die(cudaMemcpy(gr, rms, 5*8, cudaMemcpyDeviceToHost), "copy");
    double worst = 0.0;
    for (int p = 0; p < 5*NPTS; p++) { double e = fabs(gu[p] - hu[p]); if (!(e <= worst)) worst = e; }
    int bad = !(worst < 1e-9);
    for (int m = 0; m < 5; m++) {
        double s = 0.0;
        for (int p = 0; p < NPTS; p++) s += hu[m + 5*p]*hu[m + 5*p];
        s = sqrt(s/NPTS);
        printf(" rms %d %.12f %.12f\n", m + 1, gr[m], s);
        if (!(fabs(s - gr[m]) < 1e-9*s)) bad = 1;
    }
    printf(" max difference %.3e\n%s\n", worst, bad ? "FAIL" : "PASS");
    return bad;
}
