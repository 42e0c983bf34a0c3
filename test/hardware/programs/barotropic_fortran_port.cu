//=======================================================================
//  barotropic_fortran_port.cu
//
//  Line-by-line port of SUBROUTINE BAROTROP / IMPVMIX of the regional
//  ocean code.  Index macros keep the Fortran order (first index fastest,
//  lower bound 1) so that the port can be diffed against the .F90 file.
//
//  History:  2009  original F90
//            2021  CUDA C port, one kernel per loop nest
//=======================================================================
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define IMT 182
#define JMT  94
#define KM   20

#define A2(a,i,j)    a[((i)-1) + IMT*((j)-1)]
#define A3(a,i,j,k)  a[((i)-1) + IMT*(((j)-1) + JMT*((k)-1))]
#define A1(a,k)      a[(k)-1]

#define GLOBAL_I(i)  const int i = blockIdx.x*blockDim.x + threadIdx.x + 1
#define GLOBAL_J(j)  const int j = blockIdx.y*blockDim.y + threadIdx.y + 1

#define GRAV   9.806
#define DXT    2.0e4
#define DYT    2.5e4

static int ierr_ = 0;
#define CALL_CUDA(stmt)                                                   \
   do { cudaError_t istat = (stmt);                                       \
        if (istat != cudaSuccess) {                                       \
           printf(" *** CUDA ERROR %d AT LINE %d : %s\n", (int)istat,     \
                  __LINE__, cudaGetErrorString(istat));                   \
           ierr_ = 1; goto L999; } } while (0)

// ---- momentum: ub,vb on the B-grid corner, forward step ----------------
__global__ void baro_momentum_(double *ub, double *vb, const double *eta,
                               const double *fcor, const int *kmu, double dtb)
{
   GLOBAL_I(i);
   GLOBAL_J(j);
   if (i < 2 || i > IMT-1 || j < 2 || j > JMT-1) return;
   if (A2(kmu,i,j) == 0) return;
   const double gx = 0.5*( (A2(eta,i+1,j  ) - A2(eta,i,j  ))
                         + (A2(eta,i+1,j+1) - A2(eta,i,j+1)) )/DXT;
   const double gy = 0.5*( (A2(eta,i  ,j+1) - A2(eta,i  ,j))
                         + (A2(eta,i+1,j+1) - A2(eta,i+1,j)) )/DYT;
   const double f  = A1(fcor,j)*dtb;
   const double rhsu = A2(ub,i,j) - dtb*GRAV*gx;
   const double rhsv = A2(vb,i,j) - dtb*GRAV*gy;
   const double det  = 1.0/(1.0 + f*f);
   A2(ub,i,j) = det*(rhsu + f*rhsv);
   A2(vb,i,j) = det*(rhsv - f*rhsu);
}

// ---- continuity --------------------------------------------------------
__global__ void baro_continuity_(double *eta, const double *ub, const double *vb,
                                 const double *hu, const int *kmt, double dtb)
{
   GLOBAL_I(i);
   GLOBAL_J(j);
   if (i < 2 || i > IMT-1 || j < 2 || j > JMT-1) return;
   if (A2(kmt,i,j) == 0) return;
#define FLX(ii) 0.5*( A2(hu,ii,j)*A2(ub,ii,j) + A2(hu,ii,j-1)*A2(ub,ii,j-1) )
#define FLY(jj) 0.5*( A2(hu,i,jj)*A2(vb,i,jj) + A2(hu,i-1,jj)*A2(vb,i-1,jj) )
   const double div = (FLX(i) - FLX(i-1))/DXT + (FLY(j) - FLY(j-1))/DYT;
#undef FLX
#undef FLY
   A2(eta,i,j) = A2(eta,i,j) - dtb*div;
}

// ---- cyclic boundary in i ----------------------------------------------
__global__ void cyclic_(double *a)
{
   const int j = blockIdx.x*blockDim.x + threadIdx.x + 1;
   if (j > JMT) return;
   A2(a,1  ,j) = A2(a,IMT-1,j);
   A2(a,IMT,j) = A2(a,2    ,j);
}

// ---- implicit vertical mixing, Thomas algorithm per water column -------
__global__ void __launch_bounds__(128) impvmix_(double *t, const double *vvc, const double *dz,
                                                const int *kmt, double dtt)
{
   double e[KM+1], f[KM+1];
   GLOBAL_I(i);
   GLOBAL_J(j);
   if (i > IMT || j > JMT) return;
   const int kb = A2(kmt,i,j);
   if (kb < 2) return;

   double a = dtt*A3(vvc,i,j,1)/(0.5*(A1(dz,1) + A1(dz,2)));
   double d = A1(dz,1) + a;
   e[1] = a/d;
   f[1] = A1(dz,1)*A3(t,i,j,1)/d;
   double c = a;
   for (int k = 2; k <= kb; k++) {
      if (k < kb) a = dtt*A3(vvc,i,j,k)/(0.5*(A1(dz,k) + A1(dz,k+1)));
      else        a = 0.0;
      d = A1(dz,k) + a + c*(1.0 - e[k-1]);
      e[k] = a/d;
      f[k] = (A1(dz,k)*A3(t,i,j,k) + c*f[k-1])/d;
      c = a;
   }
   double tk = f[kb];
   A3(t,i,j,kb) = tk;
   for (int k = kb-1; k >= 1; k--) {
      tk = f[k] + e[k]*tk;
      A3(t,i,j,k) = tk;
   }
}

// ---- zonal mean of one level per blockIdx.y: one thread per latitude ---
__global__ void zonal_mean_(const double *t, const int *kmt, double *tz)
{
   const int j = blockIdx.x*blockDim.x + threadIdx.x + 1;
   const int k = blockIdx.y + 1;
   if (j > JMT) return;
   double s = 0.0;
   int n = 0;
   for (int i = 2; i <= IMT-1; i++) {
      if (A2(kmt,i,j) < k) continue;
      s += A3(t,i,j,k);
      n++;
   }
   tz[(j-1) + JMT*(k-1)] = (n > 0) ? s/n : 0.0;
}

// ---- depth integral, k loop outside of i-j tiles, partial sums in smem --
__global__ void column_heat_(const double *t, const double *dz, const int *kmt, double *heat)
{
   __shared__ double part[4][32];
   const int i = blockIdx.x*32 + threadIdx.x + 1;
   const int j = blockIdx.y + 1;
   double s = 0.0;
   if (i <= IMT)
      for (int k = threadIdx.y + 1; k <= A2(kmt,i,j); k += 4)
         s += A1(dz,k)*A3(t,i,j,k);
   part[threadIdx.y][threadIdx.x] = s;
   __syncthreads();
   if (threadIdx.y == 0 && i <= IMT)
      A2(heat,i,j) = part[0][threadIdx.x] + part[1][threadIdx.x]
                   + part[2][threadIdx.x] + part[3][threadIdx.x];
}

//======================= host reference ==================================
static void host_step(double *ub, double *vb, double *eta, const double *hu,
                      const double *fcor, const int *kmu, const int *kmt, double dtb)
{
   for (int j = 2; j <= JMT-1; j++) for (int i = 2; i <= IMT-1; i++) {
      if (A2(kmu,i,j) == 0) continue;
      double gx = 0.5*((A2(eta,i+1,j) - A2(eta,i,j)) + (A2(eta,i+1,j+1) - A2(eta,i,j+1)))/DXT;
      double gy = 0.5*((A2(eta,i,j+1) - A2(eta,i,j)) + (A2(eta,i+1,j+1) - A2(eta,i+1,j)))/DYT;
      double f = A1(fcor,j)*dtb, ru = A2(ub,i,j) - dtb*GRAV*gx, rv = A2(vb,i,j) - dtb*GRAV*gy;
      A2(ub,i,j) = (ru + f*rv)/(1.0 + f*f);
      A2(vb,i,j) = (rv - f*ru)/(1.0 + f*f);
   }
   for (int j = 1; j <= JMT; j++) {
      A2(ub,1,j) = A2(ub,IMT-1,j); A2(ub,IMT,j) = A2(ub,2,j);
      A2(vb,1,j) = A2(vb,IMT-1,j); A2(vb,IMT,j) = A2(vb,2,j);
   }
   for (int j = 2; j <= JMT-1; j++) for (int i = 2; i <= IMT-1; i++) {
      if (A2(kmt,i,j) == 0) continue;
      double fe = 0.5*(A2(hu,i,j)*A2(ub,i,j) + A2(hu,i,j-1)*A2(ub,i,j-1));
      double fw = 0.5*(A2(hu,i-1,j)*A2(ub,i-1,j) + A2(hu,i-1,j-1)*A2(ub,i-1,j-1));
      double fn = 0.5*(A2(hu,i,j)*A2(vb,i,j) + A2(hu,i-1,j)*A2(vb,i-1,j));
      double fs = 0.5*(A2(hu,i,j-1)*A2(vb,i,j-1) + A2(hu,i-1,j-1)*A2(vb,i-1,j-1));
      A2(eta,i,j) -= dtb*((fe - fw)/DXT + (fn - fs)/DYT);
   }
   for (int j = 1; j <= JMT; j++) { A2(eta,1,j) = A2(eta,IMT-1,j); A2(eta,IMT,j) = A2(eta,2,j); }
}

static void host_impvmix(double *t, const double *vvc, const double *dz, const int *kmt, double dtt)
{
   double e[KM+1], f[KM+1];
   for (int j = 1; j <= JMT; j++) for (int i = 1; i <= IMT; i++) {
      int kb = A2(kmt,i,j);
      if (kb < 2) continue;
      double c = 0.0;
      e[0] = f[0] = 0.0;
      for (int k = 1; k <= kb; k++) {
         double a = k < kb ? dtt*A3(vvc,i,j,k)/(0.5*(A1(dz,k) + A1(dz,k+1))) : 0.0;
         double d = A1(dz,k) + a + c*(1.0 - e[k-1]);
         e[k] = a/d;
         f[k] = (A1(dz,k)*A3(t,i,j,k) + c*f[k-1])/d;
         c = a;
      }
      for (int k = kb; k >= 1; k--) A3(t,i,j,k) = f[k] + (k < kb ? e[k]*A3(t,i,j,k+1) : 0.0);
   }
}

static double maxdiff(const double *a, const double *b, int n)
{
   double m = 0.0;
   for (int i = 0; i < n; i++) { double d = fabs(a[i] - b[i]); if (!(d <= m)) m = d; }
   return m;
}

int main(void)
{
   const int n2 = IMT*JMT, n3 = n2*KM;
   const size_t b2 = n2*sizeof(double), b3 = n3*sizeof(double), bi = n2*sizeof(int);
   const double dtb = 40.0, dtt = 3600.0;
   double *eta = (double*)calloc(n2, 8), *ub = (double*)calloc(n2, 8), *vb = (double*)calloc(n2, 8);
   double *hu = (double*)calloc(n2, 8), *heat = (double*)calloc(n2, 8), *w2 = (double*)calloc(n2, 8);
   double *t = (double*)calloc(n3, 8), *vvc = (double*)calloc(n3, 8), *w3 = (double*)calloc(n3, 8);
   double fcor[JMT], dz[KM], tz[JMT*KM];
   int *kmt = (int*)calloc(n2, 4), *kmu = (int*)calloc(n2, 4);
   double *eta_d = 0, *ub_d = 0, *vb_d = 0, *hu_d = 0, *t_d = 0, *vvc_d = 0, *f_d = 0, *dz_d = 0, *tz_d = 0, *heat_d = 0;
   int *kmt_d = 0, *kmu_d = 0;
   double err = 0.0;
   dim3 blk(32, 4), grd((IMT + 31)/32, (JMT + 3)/4);
   dim3 gz((JMT + 63)/64, KM), gh((IMT + 31)/32, JMT), bh(32, 4);

   for (int k = 1; k <= KM; k++) A1(dz,k) = 10.0 + 4.0*k;
   for (int j = 1; j <= JMT; j++) A1(fcor,j) = 1.0e-4*sin(0.01*(j - 10));
   for (int j = 1; j <= JMT; j++) for (int i = 1; i <= IMT; i++) {
      int ic = (i == 1) ? IMT-1 : (i == IMT) ? 2 : i;
      int kk = (int)(11.0 + 9.5*sin(0.07*ic)*cos(0.09*j) + 3.0*sin(0.31*(ic + j)));
      if (kk < 0) kk = 0;
      if (kk > KM) kk = KM;
      if (j == 1 || j == JMT) kk = 0;
      A2(kmt,i,j) = kk;
      A2(eta,i,j) = 0.4*exp(-((ic - 80.0)*(ic - 80.0) + (j - 45.0)*(j - 45.0))/200.0);
      for (int k = 1; k <= KM; k++) {
         A3(t,i,j,k) = 4.0 + 18.0*exp(-0.15*k) + 0.5*sin(0.2*ic + 0.1*j);
         A3(vvc,i,j,k) = 1.0e-3*(1.0 + ((ic*7 + j*3 + k) % 11));
      }
   }
   for (int j = 1; j < JMT; j++) for (int i = 1; i <= IMT; i++) {
      int ip = (i == IMT) ? 3 : i + 1;
      int m = A2(kmt,i,j);
      if (A2(kmt,ip,j) < m) m = A2(kmt,ip,j);
      if (A2(kmt,i,j+1) < m) m = A2(kmt,i,j+1);
      if (A2(kmt,ip,j+1) < m) m = A2(kmt,ip,j+1);
      A2(kmu,i,j) = m;
      for (int k = 1; k <= m; k++) A2(hu,i,j) += A1(dz,k);
   }

   CALL_CUDA(cudaMalloc(&eta_d, b2));  CALL_CUDA(cudaMalloc(&ub_d, b2));  CALL_CUDA(cudaMalloc(&vb_d, b2));
   CALL_CUDA(cudaMalloc(&hu_d, b2));   CALL_CUDA(cudaMalloc(&heat_d, b2));
   CALL_CUDA(cudaMalloc(&t_d, b3));    CALL_CUDA(cudaMalloc(&vvc_d, b3));
   CALL_CUDA(cudaMalloc(&f_d, sizeof fcor)); CALL_CUDA(cudaMalloc(&dz_d, sizeof dz));
   CALL_CUDA(cudaMalloc(&tz_d, sizeof tz));
   CALL_CUDA(cudaMalloc(&kmt_d, bi));  CALL_CUDA(cudaMalloc(&kmu_d, bi));
   CALL_CUDA(cudaMemcpy(eta_d, eta, b2, cudaMemcpyHostToDevice));
   CALL_CUDA(cudaMemcpy(ub_d, ub, b2, cudaMemcpyHostToDevice));
   CALL_CUDA(cudaMemcpy(vb_d, vb, b2, cudaMemcpyHostToDevice));
   CALL_CUDA(cudaMemcpy(hu_d, hu, b2, cudaMemcpyHostToDevice));
   CALL_CUDA(cudaMemcpy(t_d, t, b3, cudaMemcpyHostToDevice));
   CALL_CUDA(cudaMemcpy(vvc_d, vvc, b3, cudaMemcpyHostToDevice));
   CALL_CUDA(cudaMemcpy(f_d, fcor, sizeof fcor, cudaMemcpyHostToDevice));
   CALL_CUDA(cudaMemcpy(dz_d, dz, sizeof dz, cudaMemcpyHostToDevice));
   CALL_CUDA(cudaMemcpy(kmt_d, kmt, bi, cudaMemcpyHostToDevice));
   CALL_CUDA(cudaMemcpy(kmu_d, kmu, bi, cudaMemcpyHostToDevice));

   for (int nstep = 1; nstep <= 3; nstep++) {
      baro_momentum_<<<grd, blk>>>(ub_d, vb_d, eta_d, f_d, kmu_d, dtb);
      cyclic_<<<1, JMT>>>(ub_d);
      cyclic_<<<1, JMT>>>(vb_d);
      baro_continuity_<<<grd, blk>>>(eta_d, ub_d, vb_d, hu_d, kmt_d, dtb);
      cyclic_<<<1, JMT>>>(eta_d);
      host_step(ub, vb, eta, hu, fcor, kmu, kmt, dtb);
   }
   impvmix_<<<grd, blk>>>(t_d, vvc_d, dz_d, kmt_d, dtt);
   zonal_mean_<<<gz, 64>>>(t_d, kmt_d, tz_d);
   column_heat_<<<gh, bh>>>(t_d, dz_d, kmt_d, heat_d);
   CALL_CUDA(cudaGetLastError());
   CALL_CUDA(cudaDeviceSynchronize());
   host_impvmix(t, vvc, dz, kmt, dtt);

   CALL_CUDA(cudaMemcpy(w2, eta_d, b2, cudaMemcpyDeviceToHost));
   err = maxdiff(w2, eta, n2);                       printf(" ETA   %12.4e\n", err);  if (!(err < 1e-9)) ierr_ = 2;
   CALL_CUDA(cudaMemcpy(w2, ub_d, b2, cudaMemcpyDeviceToHost));
   err = maxdiff(w2, ub, n2);                        printf(" UB    %12.4e\n", err);  if (!(err < 1e-9)) ierr_ = 3;
   CALL_CUDA(cudaMemcpy(w3, t_d, b3, cudaMemcpyDeviceToHost));
   err = maxdiff(w3, t, n3);                         printf(" T     %12.4e\n", err);  if (!(err < 1e-9)) ierr_ = 4;
   CALL_CUDA(cudaMemcpy(w2, heat_d, b2, cudaMemcpyDeviceToHost));
   for (int j = 1; j <= JMT; j++) for (int i = 1; i <= IMT; i++) {
      A2(heat,i,j) = 0.0;
      for (int k = 1; k <= A2(kmt,i,j); k++) A2(heat,i,j) += A1(dz,k)*A3(t,i,j,k);
   }
   err = maxdiff(w2, heat, n2);                      printf(" HEAT  %12.4e\n", err);  if (!(err < 1e-7)) ierr_ = 5;
   CALL_CUDA(cudaMemcpy(tz, tz_d, sizeof tz, cudaMemcpyDeviceToHost));
   for (int k = 1; k <= KM; k++) for (int j = 1; j <= JMT; j++) {
      double s = 0.0; int n = 0;
      for (int i = 2; i <= IMT-1; i++) if (A2(kmt,i,j) >= k) { s += A3(t,i,j,k); n++; }
      if (!(fabs(tz[(j-1) + JMT*(k-1)] - (n ? s/n : 0.0)) < 1e-9)) ierr_ = 6;
   }

L999:
   cudaFree(eta_d); cudaFree(ub_d); cudaFree(vb_d); cudaFree(hu_d); cudaFree(t_d); cudaFree(vvc_d);
   cudaFree(f_d); cudaFree(dz_d); cudaFree(tz_d); cudaFree(heat_d); cudaFree(kmt_d); cudaFree(kmu_d);
   printf(ierr_ == 0 ? "PASS\n" : "FAIL\n");
   return ierr_ == 0 ? 0 : 1;
}
