/* Yee FDTD, 3-D, PEC walls, soft source.  Port of fdtd.f (1996). */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#define NX 150
#define NY 118
#define NZ 134
#define NT 4
#define IDX3(i,j,k) (((k)*NY + (j))*NX + (i))
#define NTOT (NX*NY*NZ)

typedef float real;

#define DTDX 0.5f

__global__ void updateH(real *hx, real *hy, real *hz,
                        const real *ex, const real *ey, const real *ez)
{
    int i = blockIdx.x*blockDim.x + threadIdx.x;
    int j = blockIdx.y*blockDim.y + threadIdx.y;
    int k = blockIdx.z*blockDim.z + threadIdx.z;
    if (i >= NX-1 || j >= NY-1 || k >= NZ-1) return;
    hx[IDX3(i,j,k)] += DTDX * ((ey[IDX3(i,j,k+1)] - ey[IDX3(i,j,k)]) - (ez[IDX3(i,j+1,k)] - ez[IDX3(i,j,k)]));
    hy[IDX3(i,j,k)] += DTDX * ((ez[IDX3(i+1,j,k)] - ez[IDX3(i,j,k)]) - (ex[IDX3(i,j,k+1)] - ex[IDX3(i,j,k)]));
    hz[IDX3(i,j,k)] += DTDX * ((ex[IDX3(i,j+1,k)] - ex[IDX3(i,j,k)]) - (ey[IDX3(i+1,j,k)] - ey[IDX3(i,j,k)]));
}

/* coefficient from the material index */
__constant__ real c_ca[4], c_cb[4];

__global__ void updateE(real *ex, real *ey, real *ez,
                        const real *hx, const real *hy, const real *hz,
                        const unsigned char *mat)
{
    /* one thread column marches through k */
    int i = blockIdx.x*blockDim.x + threadIdx.x + 1;
    int j = blockIdx.y*blockDim.y + threadIdx.y + 1;
    int k;
    if (i >= NX-1 || j >= NY-1) return;
    real hxm = hx[IDX3(i,j,0)], hym = hy[IDX3(i,j,0)];
    for (k = 1; k < NZ-1; k++) {
        int c = IDX3(i,j,k);
        int m = mat[c];
        real ca = c_ca[m], cb = c_cb[m];
        real hxc = hx[c], hyc = hy[c], hzc = hz[c];
        ex[c] = ca*ex[c] + cb*((hzc - hz[c-NX]) - (hyc - hym));
        ey[c] = ca*ey[c] + cb*((hxc - hxm) - (hzc - hz[c-1]));
        ez[c] = ca*ez[c] + cb*((hyc - hy[c-1]) - (hxc - hx[c-NX]));
        hxm = hxc; hym = hyc;
    }
}

__global__ void source(real *ez, int n)
{
    int k = blockIdx.x*blockDim.x + threadIdx.x;
    if (k < NZ) {
        real t = (n - 3.0f)/2.0f;
        ez[IDX3(NX/2,NY/2,k)] += expf(-t*t);
    }
}

static real *dev(int zero) {
    real *p; cudaMalloc((void**)&p, NTOT*sizeof(real));
    if (zero) cudaMemset(p, 0, NTOT*sizeof(real));
    return p;
}

int main(void)
{
    int i,j,k,n;
    real *ex=dev(1),*ey=dev(1),*ez=dev(1),*hx=dev(1),*hy=dev(1),*hz=dev(1);
    unsigned char *mat=(unsigned char*)malloc(NTOT), *dmat;
    real *E[3],*H[3];
    for (i=0;i<3;i++){ E[i]=(real*)calloc(NTOT,sizeof(real)); H[i]=(real*)calloc(NTOT,sizeof(real)); }
    for (k=0;k<NZ;k++) for (j=0;j<NY;j++) for (i=0;i<NX;i++)
        mat[IDX3(i,j,k)] = ((i/20)+(j/30)+(k/25)) & 3;
    real ca[4]={1.f,0.98f,0.95f,1.f}, cb[4]={0.5f,0.3f,0.25f,0.1f};
    cudaMemcpyToSymbol(c_ca,ca,sizeof(ca)); cudaMemcpyToSymbol(c_cb,cb,sizeof(cb));
    cudaMalloc((void**)&dmat,NTOT); cudaMemcpy(dmat,mat,NTOT,cudaMemcpyHostToDevice);
    /* initial field */
    for (k=1;k<NZ-1;k++) for (j=1;j<NY-1;j++) for (i=1;i<NX-1;i++) {
        E[0][IDX3(i,j,k)]=0.1f*sinf(0.1f*j); E[1][IDX3(i,j,k)]=0.1f*cosf(0.07f*k); }
    cudaMemcpy(ex,E[0],NTOT*sizeof(real),cudaMemcpyHostToDevice);
    cudaMemcpy(ey,E[1],NTOT*sizeof(real),cudaMemcpyHostToDevice);

    dim3 bh(32,4,2), gh((NX+31)/32,(NY+3)/4,(NZ+1)/2);
    dim3 be(32,4), ge((NX+31)/32,(NY+3)/4);
    for (n=0;n<NT;n++) {
        updateH<<<gh,bh>>>(hx,hy,hz,ex,ey,ez);
        updateE<<<ge,be>>>(ex,ey,ez,hx,hy,hz,dmat);
        source<<<(NZ+63)/64,64>>>(ez,n);
    }
    cudaError_t e=cudaDeviceSynchronize();
    if (e!=cudaSuccess) { printf("%s\nFAIL\n",cudaGetErrorString(e)); return 1; }

    /* host reference */
    for (n=0;n<NT;n++) {
        for (k=0;k<NZ-1;k++) for (j=0;j<NY-1;j++) for (i=0;i<NX-1;i++) { int c=IDX3(i,j,k);
            H[0][c]+=DTDX*((E[1][c+NX*NY]-E[1][c])-(E[2][c+NX]-E[2][c]));
            H[1][c]+=DTDX*((E[2][c+1]-E[2][c])-(E[0][c+NX*NY]-E[0][c]));
            H[2][c]+=DTDX*((E[0][c+NX]-E[0][c])-(E[1][c+1]-E[1][c])); }
        for (k=1;k<NZ-1;k++) for (j=1;j<NY-1;j++) for (i=1;i<NX-1;i++) { int c=IDX3(i,j,k), m=mat[c];
            E[0][c]=ca[m]*E[0][c]+cb[m]*((H[2][c]-H[2][c-NX])-(H[1][c]-H[1][c-NX*NY]));
            E[1][c]=ca[m]*E[1][c]+cb[m]*((H[0][c]-H[0][c-NX*NY])-(H[2][c]-H[2][c-1]));
            E[2][c]=ca[m]*E[2][c]+cb[m]*((H[1][c]-H[1][c-1])-(H[0][c]-H[0][c-NX])); }
        for (k=0;k<NZ;k++) { real t=(n-3.0f)/2.0f; E[2][IDX3(NX/2,NY/2,k)]+=expf(-t*t); }
    }
    real *out=(real*)malloc(NTOT*sizeof(real)); double err=0;
    real *d[3]={ex,ey,ez};
    for (i=0;i<3;i++) { cudaMemcpy(out,d[i],NTOT*sizeof(real),cudaMemcpyDeviceToHost);
        for (j=0;j<NTOT;j++) { double q=fabs(out[j]-E[i][j]); if (q>err) err=q; } }
    printf("max |dE| = %g\n%s\n",err,err<1e-3?"PASS":"FAIL");
    return err<1e-3?0:1;
}
