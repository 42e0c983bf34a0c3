/* ADI (Peaceman-Rachford) for the 2-D heat equation: Thomas algorithm along x, then along y;
   the same y sweep by cyclic reduction in shared memory */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#define N 512
#define IX(i,j) ((j)*N + (i))
#define LAM 0.4f

/* implicit in x: one thread a row, so neighbouring threads are N apart */
__global__ void sweep_x(const float *u, float *v, float *cp, float *dp)
{
    int j = blockIdx.x*blockDim.x + threadIdx.x;
    if (j >= N) return;
    const float a = -LAM, b = 1.f + 2.f*LAM;
    float c = 0.f, d = 0.f;
    for (int i = 0; i < N; i++) {
        float um = j > 0 ? u[IX(i,j-1)] : 0.f, up = j < N-1 ? u[IX(i,j+1)] : 0.f;
        float rhs = LAM*um + (1.f - 2.f*LAM)*u[IX(i,j)] + LAM*up;
        float m = 1.f/(b - a*c);
        d = (rhs - a*d)*m;
        c = a*m;
        cp[IX(i,j)] = c; dp[IX(i,j)] = d;
    }
    float x = 0.f;
    for (int i = N-1; i >= 0; i--) {
        x = dp[IX(i,j)] - cp[IX(i,j)]*x;
        v[IX(i,j)] = x;
    }
}

/* implicit in y: one thread a column */
__global__ void sweep_y(const float * __restrict__ u, float * __restrict__ v, float * __restrict__ cp, float * __restrict__ dp)
{
    int i = blockIdx.x*blockDim.x + threadIdx.x;
    if (i >= N) return;
    const float a = -LAM, b = 1.f + 2.f*LAM;
    float c = 0.f, d = 0.f;
    for (int j = 0; j < N; j++) {
        float um = i > 0 ? u[IX(i-1,j)] : 0.f, up = i < N-1 ? u[IX(i+1,j)] : 0.f;
        float rhs = LAM*um + (1.f - 2.f*LAM)*u[IX(i,j)] + LAM*up;
        float m = 1.f/(b - a*c);
        d = (rhs - a*d)*m; c = a*m;
        cp[IX(i,j)] = c; dp[IX(i,j)] = d;
    }
    float x = 0.f;
    for (int j = N-1; j >= 0; j--) { x = dp[IX(i,j)] - cp[IX(i,j)]*x; v[IX(i,j)] = x; }
}

/* one block a column: parallel cyclic reduction, a b c d in shared, double buffered in registers */
__global__ void sweep_y_pcr(const float *u, float *v)
{
    __shared__ float sa[N], sb[N], sc[N], sd[N];
    int i = blockIdx.x, j = threadIdx.x;
    float um = i > 0 ? u[IX(i-1,j)] : 0.f, up = i < N-1 ? u[IX(i+1,j)] : 0.f;
    sa[j] = j > 0 ? -LAM : 0.f;
    sc[j] = j < N-1 ? -LAM : 0.f;
    sb[j] = 1.f + 2.f*LAM;
    sd[j] = LAM*um + (1.f - 2.f*LAM)*u[IX(i,j)] + LAM*up;
    __syncthreads();
    for (int s = 1; s < N; s <<= 1) {
        int l = j - s, r = j + s;
        float a = 0.f, b = sb[j], c = 0.f, d = sd[j];
        if (l >= 0) { float k = sa[j]/sb[l]; b -= sc[l]*k; d -= sd[l]*k; a = -sa[l]*k; }
        if (r < N)  { float k = sc[j]/sb[r]; b -= sa[r]*k; d -= sd[r]*k; c = -sc[r]*k; }
        __syncthreads();
        sa[j] = a; sb[j] = b; sc[j] = c; sd[j] = d;
        __syncthreads();
    }
    v[IX(i,j)] = sd[j]/sb[j];
}

static void line(const float *rhs, float *x, int n)
{
    static float c[N], d[N]; float a = -LAM, b = 1 + 2*LAM;
    for (int k = 0; k < n; k++) { float m = 1/(b - (k ? a*c[k-1] : 0)); d[k] = (rhs[k] - (k ? a*d[k-1] : 0))*m; c[k] = a*m; }
    x[n-1] = d[n-1];
    for (int k = n-2; k >= 0; k--) x[k] = d[k] - c[k]*x[k+1];
}

static void ref_step(float *u, float *t)
{
    float r[N], x[N];
    for (int j = 0; j < N; j++) {
        for (int i = 0; i < N; i++) r[i] = LAM*(j ? u[IX(i,j-1)] : 0) + (1-2*LAM)*u[IX(i,j)] + LAM*(j < N-1 ? u[IX(i,j+1)] : 0);
        line(r, x, N);
        for (int i = 0; i < N; i++) t[IX(i,j)] = x[i];
    }
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) r[j] = LAM*(i ? t[IX(i-1,j)] : 0) + (1-2*LAM)*t[IX(i,j)] + LAM*(i < N-1 ? t[IX(i+1,j)] : 0);
        line(r, x, N);
        for (int j = 0; j < N; j++) u[IX(i,j)] = x[j];
    }
}

int main(void)
{
    size_t sz = N*N*sizeof(float);
    float *h = (float*)malloc(sz), *t = (float*)malloc(sz), *o = (float*)malloc(sz), *o2 = (float*)malloc(sz);
    for (int j = 0; j < N; j++) for (int i = 0; i < N; i++) h[IX(i,j)] = sinf(0.03f*i)*cosf(0.02f*j) + (i%17)*0.05f;
    float *u, *v, *cp, *dp, *w;
    cudaMalloc((void**)&u, sz); cudaMalloc((void**)&v, sz); cudaMalloc((void**)&w, sz);
    cudaMalloc((void**)&cp, sz); cudaMalloc((void**)&dp, sz);
    cudaMemcpy(u, h, sz, cudaMemcpyHostToDevice);
    for (int s = 0; s < 2; s++) {
        sweep_x<<<(N+63)/64, 64>>>(u, v, cp, dp);
        if (s == 1) sweep_y_pcr<<<N, N>>>(v, w);
        sweep_y<<<(N+63)/64, 64>>>(v, u, cp, dp);
        ref_step(h, t);
    }
    cudaMemcpy(o, u, sz, cudaMemcpyDeviceToHost);
    cudaMemcpy(o2, w, sz, cudaMemcpyDeviceToHost);
    double e1 = 0, e2 = 0;
    for (int k = 0; k < N*N; k++) { e1 = fmax(e1, fabs(o[k]-h[k])); e2 = fmax(e2, fabs(o2[k]-h[k])); }
    printf("thomas %g pcr %g %s\n%s\n", e1, e2, cudaGetErrorString(cudaGetLastError()), e1 < 1e-4 && e2 < 1e-4 ? "PASS" : "FAIL");
    return 0;
}
