/* D2Q9 lattice Boltzmann, lid-driven cavity with an obstacle, pull scheme; AoS and SoA populations */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <vector>
#define NX 700
#define NY 513
#define Q 9
#ifdef __CUDACC__
#define HD __host__ __device__
#endif
typedef float real;
__constant__ int cx[Q], cy[Q], opp[Q];
__constant__ real wt[Q];
static const int hcx[Q] = {0,1,0,-1,0,1,-1,-1,1}, hcy[Q] = {0,0,1,0,-1,1,1,-1,-1}, hopp[Q] = {0,3,4,1,2,7,8,5,6};
static const real hw[Q] = {4.f/9,1.f/9,1.f/9,1.f/9,1.f/9,1.f/36,1.f/36,1.f/36,1.f/36};

#define SOA(q,x,y) ((q)*(NX*NY) + (y)*NX + (x))
#define AOS(q,x,y) (((y)*NX + (x))*Q + (q))

HD inline void collide(real *f, real omega, const real *w, const int *ex, const int *ey)
{
    real rho = 0, ux = 0, uy = 0;
    for (int q = 0; q < Q; q++) { rho += f[q]; ux += f[q]*ex[q]; uy += f[q]*ey[q]; }
    ux /= rho; uy /= rho;
    real usq = 1.5f*(ux*ux + uy*uy);
    for (int q = 0; q < Q; q++) {
        real cu = 3.f*(ex[q]*ux + ey[q]*uy);
        f[q] += omega*(w[q]*rho*(1.f + cu + 0.5f*cu*cu - usq) - f[q]);
    }
}

__global__ void step_soa(const real * __restrict__ src, real * __restrict__ dst, const unsigned char * __restrict__ solid, real omega, real ulid)
{
    int x = blockIdx.x*blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= NX || solid[y*NX + x]) return;
    real f[Q];
#pragma unroll
    for (int q = 0; q < Q; q++) {
        int xs = x - cx[q], ys = y - cy[q];
        if (solid[ys*NX + xs]) {
            f[q] = src[SOA(opp[q],x,y)];
            if (ys == NY-1) f[q] += 6.f*wt[q]*cx[q]*ulid;
        } else f[q] = src[SOA(q,xs,ys)];
    }
    collide(f, omega, wt, cx, cy);
#pragma unroll
    for (int q = 0; q < Q; q++) dst[SOA(q,x,y)] = f[q];
}

__global__ void step_aos(const real *src, real *dst, const unsigned char *solid, real omega, real ulid)
{
    int x = blockIdx.x*blockDim.x + threadIdx.x, y = blockIdx.y*blockDim.y + threadIdx.y;
    if (x >= NX || y >= NY) return;
    if (solid[y*NX + x]) return;
    real f[Q];
    for (int q = 0; q < Q; q++) {
        int xs = x - cx[q], ys = y - cy[q];
        if (solid[ys*NX + xs]) {
            f[q] = src[AOS(opp[q],x,y)];
            if (ys == NY-1) f[q] += 6.f*wt[q]*cx[q]*ulid;
        } else f[q] = src[AOS(q,xs,ys)];
    }
    collide(f, omega, wt, cx, cy);
    for (int q = 0; q < Q; q++) dst[AOS(q,x,y)] = f[q];
}

__global__ void init(real *f, int soa)
{
    int i = blockIdx.x*blockDim.x + threadIdx.x;
    if (i >= NX*NY) return;
    int x = i % NX, y = i / NX;
    real rho = 1.f + 0.01f*sinf(0.05f*x)*cosf(0.03f*y);
    for (int q = 0; q < Q; q++) f[soa ? SOA(q,x,y) : AOS(q,x,y)] = wt[q]*rho;
}

__global__ void density(const real *f, real *rho)
{
    int i = blockIdx.x*blockDim.x + threadIdx.x;
    if (i >= NX*NY) return;
    real s = 0;
    for (int q = 0; q < Q; q++) s += f[i*Q + q];
    rho[i] = s;
}

int main(void)
{
    const int N = NX*NY, steps = 3; const real omega = 1.2f, ulid = 0.1f;
    std::vector<unsigned char> solid(N, 0);
    for (int y = 0; y < NY; y++) for (int x = 0; x < NX; x++)
        solid[y*NX + x] = x == 0 || y == 0 || x == NX-1 || y == NY-1 || (x-200)*(x-200) + (y-250)*(y-250) < 900;
    cudaMemcpyToSymbol(cx, hcx, sizeof(hcx)); cudaMemcpyToSymbol(cy, hcy, sizeof(hcy));
    cudaMemcpyToSymbol(opp, hopp, sizeof(hopp)); cudaMemcpyToSymbol(wt, hw, sizeof(hw));
    real *a[2], *s[2], *drho; unsigned char *ds;
    for (int k = 0; k < 2; k++) { cudaMalloc((void**)&a[k], N*Q*sizeof(real)); cudaMalloc((void**)&s[k], N*Q*sizeof(real)); }
    cudaMalloc((void**)&ds, N); cudaMalloc((void**)&drho, N*sizeof(real));
    cudaMemcpy(ds, solid.data(), N, cudaMemcpyHostToDevice);
    init<<<(N+255)/256, 256>>>(s[0], 1);
    init<<<(N+255)/256, 256>>>(a[0], 0);
    std::vector<real> f(N*Q), g(N*Q), A(N*Q), S(N*Q), rho(N);
    cudaMemcpy(f.data(), a[0], N*Q*sizeof(real), cudaMemcpyDeviceToHost);
    cudaMemcpy(a[1], a[0], N*Q*sizeof(real), cudaMemcpyDeviceToDevice);
    cudaMemcpy(s[1], s[0], N*Q*sizeof(real), cudaMemcpyDeviceToDevice);
    g = f;
    for (int t = 0; t < steps; t++) {
        step_soa<<<dim3((NX+127)/128, NY), 128>>>(s[t&1], s[(t+1)&1], ds, omega, ulid);
        step_aos<<<dim3((NX+15)/16, (NY+15)/16), dim3(16,16)>>>(a[t&1], a[(t+1)&1], ds, omega, ulid);
        for (int y = 0; y < NY; y++) for (int x = 0; x < NX; x++) {
            if (solid[y*NX + x]) continue;
            real h[Q];
            for (int q = 0; q < Q; q++) {
                int xs = x - hcx[q], ys = y - hcy[q];
                if (solid[ys*NX + xs]) { h[q] = f[AOS(hopp[q],x,y)]; if (ys == NY-1) h[q] += 6.f*hw[q]*hcx[q]*ulid; }
                else h[q] = f[AOS(q,xs,ys)];
            }
            collide(h, omega, hw, hcx, hcy);
            for (int q = 0; q < Q; q++) g[AOS(q,x,y)] = h[q];
        }
        f.swap(g);
    }
    density<<<(N+127)/128, 128>>>(a[steps&1], drho);
    cudaMemcpy(A.data(), a[steps&1], N*Q*sizeof(real), cudaMemcpyDeviceToHost);
    cudaMemcpy(S.data(), s[steps&1], N*Q*sizeof(real), cudaMemcpyDeviceToHost);
    cudaMemcpy(rho.data(), drho, N*sizeof(real), cudaMemcpyDeviceToHost);
    double e = 0, m = 0;
    for (int y = 0; y < NY; y++) for (int x = 0; x < NX; x++) {
        if (solid[y*NX+x]) continue;
        m += rho[y*NX + x];
        for (int q = 0; q < Q; q++) { e = fmax(e, fabs(A[AOS(q,x,y)] - f[AOS(q,x,y)])); e = fmax(e, fabs(S[SOA(q,x,y)] - f[AOS(q,x,y)])); }
    }
    printf("err %g mass %.3f %s\n%s\n", e, m, cudaGetErrorString(cudaGetLastError()), e < 1e-5 ? "PASS" : "FAIL");
    return 0;
}
