/**
 * A handful of PolyBench-GPU style kernels in one file: ATAX, BICG, MVT,
 * GESUMMV, SYR2K, CORRELATION, 3DCONV and 2MM, as the suite writes them
 * (one thread per output, DATA_TYPE macros, run on the GPU and on the CPU, and
 * the two compared by percentDiff).
 */
#include <assert.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#define PERCENT_DIFF_ERROR_THRESHOLD 0.5
#define SMALL_FLOAT_VAL 0.00000001f

/* problem sizes */
#define NX 1024
#define NY 900
#define N_MVT 1000
#define N_GES 700
#define N_SYR 192
#define M_SYR 160
#define M_CORR 180
#define N_CORR 260
#define NI_C3D 72
#define NJ_C3D 60
#define NK_C3D 66
#define NI 144
#define NJ 160
#define NK 176
#define NL 128

#define DIM_THREAD_BLOCK_X 256
#define DIM_THREAD_BLOCK_2D_X 32
#define DIM_THREAD_BLOCK_2D_Y 8

#define ALPHA 1.5f
#define BETA 0.75f
#define FLOAT_N 260.1f
#define EPS 0.005f

#ifndef M_PI
#define M_PI 3.14159
#endif

typedef float DATA_TYPE;

#define sqrt_of_array_cell(x, j) sqrtf(x[j])
#define GRID_1D(n) ((size_t)(ceil(((float)(n)) / ((float)DIM_THREAD_BLOCK_X))))
#define GRID_2D(nx, ny) \
	dim3((size_t)ceil(((float)(nx)) / ((float)DIM_THREAD_BLOCK_2D_X)), (size_t)ceil(((float)(ny)) / ((float)DIM_THREAD_BLOCK_2D_Y)))
#define CUDA_SAFE(call)                                                                           \
	{                                                                                             \
		cudaError_t e = (call);                                                                   \
		if (e != cudaSuccess) {                                                                   \
			fprintf(stderr, "%s in line %d: %s\n", #call, __LINE__, cudaGetErrorString(e));       \
			exit(-1);                                                                             \
		}                                                                                         \
	}

static int totalFails = 0;

float absVal(float a) { return a < 0 ? a * -1 : a; }

float percentDiff(double val1, double val2)
{
	if ((absVal(val1) < 0.01) && (absVal(val2) < 0.01)) return 0.0f;
	return 100.0f * (absVal(absVal(val1 - val2) / absVal(val1 + SMALL_FLOAT_VAL)));
}

static void compareResults(const char *name, const DATA_TYPE *cpu, const DATA_TYPE *gpu, int n)
{
	int fail = 0;
	for (int i = 0; i < n; i++)
		if (!(percentDiff(cpu[i], gpu[i]) <= PERCENT_DIFF_ERROR_THRESHOLD)) fail++;
	printf("%-10s Non-Matching CPU-GPU Outputs Beyond Error Threshold of %4.2f Percent: %d\n", name, PERCENT_DIFF_ERROR_THRESHOLD, fail);
	totalFails += fail;
}

static DATA_TYPE *hostArray(size_t n) { return (DATA_TYPE *)calloc(n, sizeof(DATA_TYPE)); }
static DATA_TYPE *deviceArray(const DATA_TYPE *h, size_t n)
{
	DATA_TYPE *d;
	CUDA_SAFE(cudaMalloc((void **)&d, sizeof(DATA_TYPE) * n));
	CUDA_SAFE(cudaMemcpy(d, h, sizeof(DATA_TYPE) * n, cudaMemcpyHostToDevice));
	return d;
}
static void fetch(DATA_TYPE *h, const DATA_TYPE *d, size_t n) { CUDA_SAFE(cudaMemcpy(h, d, sizeof(DATA_TYPE) * n, cudaMemcpyDeviceToHost)); }

/* ------------------------------------------------------------------ ATAX */
__global__ void atax_kernel1(DATA_TYPE *A, DATA_TYPE *x, DATA_TYPE *tmp)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < NX) {
		for (int j = 0; j < NY; j++) tmp[i] += A[i * NY + j] * x[j];
	}
}
__global__ void atax_kernel2(DATA_TYPE *A, DATA_TYPE *y, DATA_TYPE *tmp)
{
	int j = blockIdx.x * blockDim.x + threadIdx.x;
	if (j < NY) {
		for (int i = 0; i < NX; i++) y[j] += A[i * NY + j] * tmp[i];
	}
}
static void atax()
{
	DATA_TYPE *A = hostArray(NX * NY), *x = hostArray(NY), *y = hostArray(NY), *tmp = hostArray(NX), *out = hostArray(NY);
	for (int j = 0; j < NY; j++) x[j] = j * M_PI / NY;
	for (int i = 0; i < NX; i++) for (int j = 0; j < NY; j++) A[i * NY + j] = ((DATA_TYPE)i * (j)) / NX / NY + 0.01f;
	DATA_TYPE *A_gpu = deviceArray(A, NX * NY), *x_gpu = deviceArray(x, NY), *y_gpu = deviceArray(y, NY), *tmp_gpu = deviceArray(tmp, NX);
	atax_kernel1<<<GRID_1D(NX), DIM_THREAD_BLOCK_X>>>(A_gpu, x_gpu, tmp_gpu);
	atax_kernel2<<<GRID_1D(NY), DIM_THREAD_BLOCK_X>>>(A_gpu, y_gpu, tmp_gpu);
	CUDA_SAFE(cudaDeviceSynchronize());
	fetch(out, y_gpu, NY);
	for (int i = 0; i < NX; i++) {
		for (int j = 0; j < NY; j++) tmp[i] += A[i * NY + j] * x[j];
		for (int j = 0; j < NY; j++) y[j] += A[i * NY + j] * tmp[i];
	}
	compareResults("ATAX", y, out, NY);
	free(A); free(x); free(y); free(tmp); free(out);
	cudaFree(A_gpu); cudaFree(x_gpu); cudaFree(y_gpu); cudaFree(tmp_gpu);
}

/* ------------------------------------------------------------------ BICG */
__global__ void bicg_kernel1(DATA_TYPE *A, DATA_TYPE *r, DATA_TYPE *s)
{
	int j = blockIdx.x * blockDim.x + threadIdx.x;
	if (j < NY) {
		s[j] = 0.0f;
		for (int i = 0; i < NX; i++) s[j] += A[i * NY + j] * r[i];
	}
}
__global__ void bicg_kernel2(const DATA_TYPE *__restrict__ A, const DATA_TYPE *__restrict__ p, DATA_TYPE *__restrict__ q)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < NX) {
		DATA_TYPE acc = 0.0f;
		for (int j = 0; j < NY; j++) acc += A[i * NY + j] * p[j];
		q[i] = acc;
	}
}
static void bicg()
{
	DATA_TYPE *A = hostArray(NX * NY), *r = hostArray(NX), *s = hostArray(NY), *p = hostArray(NY), *q = hostArray(NX), *os = hostArray(NY), *oq = hostArray(NX);
	for (int i = 0; i < NX; i++) {
		r[i] = i * M_PI / NX;
		for (int j = 0; j < NY; j++) A[i * NY + j] = ((DATA_TYPE)i * j) / NX / NY;
	}
	for (int j = 0; j < NY; j++) p[j] = j * M_PI / NY;
	DATA_TYPE *A_gpu = deviceArray(A, NX * NY), *r_gpu = deviceArray(r, NX), *s_gpu = deviceArray(s, NY), *p_gpu = deviceArray(p, NY), *q_gpu = deviceArray(q, NX);
	bicg_kernel1<<<GRID_1D(NY), DIM_THREAD_BLOCK_X>>>(A_gpu, r_gpu, s_gpu);
	bicg_kernel2<<<GRID_1D(NX), DIM_THREAD_BLOCK_X>>>(A_gpu, p_gpu, q_gpu);
	fetch(os, s_gpu, NY);
	fetch(oq, q_gpu, NX);
	for (int i = 0; i < NX; i++)
		for (int j = 0; j < NY; j++) { s[j] += r[i] * A[i * NY + j]; q[i] += A[i * NY + j] * p[j]; }
	compareResults("BICG s", s, os, NY);
	compareResults("BICG q", q, oq, NX);
	free(A); free(r); free(s); free(p); free(q); free(os); free(oq);
	cudaFree(A_gpu); cudaFree(r_gpu); cudaFree(s_gpu); cudaFree(p_gpu); cudaFree(q_gpu);
}

/* ----------------------------------------------------------- MVT, GESUMMV */
__global__ void mvt_kernel1(DATA_TYPE *a, DATA_TYPE *x1, DATA_TYPE *y_1)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < N_MVT) for (int j = 0; j < N_MVT; j++) x1[i] += a[i * N_MVT + j] * y_1[j];
}
__global__ void mvt_kernel2(DATA_TYPE *a, DATA_TYPE *x2, DATA_TYPE *y_2)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < N_MVT) for (int j = 0; j < N_MVT; j++) x2[i] += a[j * N_MVT + i] * y_2[j];
}
__global__ void gesummv_kernel(DATA_TYPE *a, DATA_TYPE *b, DATA_TYPE *x, DATA_TYPE *y, DATA_TYPE *tmp)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < N_GES) {
		for (int j = 0; j < N_GES; j++) {
			tmp[i] += a[i * N_GES + j] * x[j];
			y[i] += b[i * N_GES + j] * x[j];
		}
		y[i] = ALPHA * tmp[i] + BETA * y[i];
	}
}
static void mvt_gesummv()
{
	const int n = N_MVT;
	DATA_TYPE *a = hostArray(n * n), *x1 = hostArray(n), *x2 = hostArray(n), *y1 = hostArray(n), *y2 = hostArray(n), *out = hostArray(n);
	for (int i = 0; i < n; i++) {
		x1[i] = ((DATA_TYPE)i) / n; x2[i] = ((DATA_TYPE)i + 1) / n;
		y1[i] = ((DATA_TYPE)i + 3) / n; y2[i] = ((DATA_TYPE)i + 4) / n;
		for (int j = 0; j < n; j++) a[i * n + j] = ((DATA_TYPE)((i * j) % n)) / n;
	}
	DATA_TYPE *a_gpu = deviceArray(a, n * n), *x1_gpu = deviceArray(x1, n), *x2_gpu = deviceArray(x2, n), *y1_gpu = deviceArray(y1, n), *y2_gpu = deviceArray(y2, n);
	mvt_kernel1<<<GRID_1D(N_MVT), DIM_THREAD_BLOCK_X>>>(a_gpu, x1_gpu, y1_gpu);
	mvt_kernel2<<<GRID_1D(N_MVT), DIM_THREAD_BLOCK_X>>>(a_gpu, x2_gpu, y2_gpu);
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) { x1[i] += a[i * n + j] * y1[j]; x2[j] += a[i * n + j] * y2[i]; }
	fetch(out, x1_gpu, n);
	compareResults("MVT x1", x1, out, n);
	fetch(out, x2_gpu, n);
	compareResults("MVT x2", x2, out, n);

	/* GESUMMV on the leading parts of the same arrays */
	const int g = N_GES;
	DATA_TYPE *y = hostArray(g), *tmp = hostArray(g);
	DATA_TYPE *y_gpu = deviceArray(y, g), *tmp_gpu = deviceArray(tmp, g);
	gesummv_kernel<<<GRID_1D(N_GES), DIM_THREAD_BLOCK_X>>>(a_gpu, a_gpu + g, y1_gpu, y_gpu, tmp_gpu);
	fetch(out, y_gpu, g);
	for (int i = 0; i < g; i++) {
		for (int j = 0; j < g; j++) { tmp[i] += a[i * g + j] * y1[j]; y[i] += a[g + i * g + j] * y1[j]; }
		y[i] = ALPHA * tmp[i] + BETA * y[i];
	}
	compareResults("GESUMMV", y, out, g);
	free(a); free(x1); free(x2); free(y1); free(y2); free(out); free(y); free(tmp);
	cudaFree(a_gpu); cudaFree(x1_gpu); cudaFree(x2_gpu); cudaFree(y1_gpu); cudaFree(y2_gpu); cudaFree(y_gpu); cudaFree(tmp_gpu);
}

/* ----------------------------------------------------------------- SYR2K */
__global__ void syr2k_kernel(DATA_TYPE *a, DATA_TYPE *b, DATA_TYPE *c)
{
	int j = blockIdx.x * blockDim.x + threadIdx.x;
	int i = blockIdx.y * blockDim.y + threadIdx.y;
	if ((i < N_SYR) && (j < N_SYR)) {
		c[i * N_SYR + j] *= BETA;
		for (int k = 0; k < M_SYR; k++)
			c[i * N_SYR + j] += ALPHA * a[i * M_SYR + k] * b[j * M_SYR + k] + ALPHA * b[i * M_SYR + k] * a[j * M_SYR + k];
	}
}
static void syr2k()
{
	DATA_TYPE *A = hostArray(N_SYR * M_SYR), *B = hostArray(N_SYR * M_SYR), *C = hostArray(N_SYR * N_SYR), *out = hostArray(N_SYR * N_SYR);
	for (int i = 0; i < N_SYR; i++) {
		for (int j = 0; j < N_SYR; j++) C[i * N_SYR + j] = ((DATA_TYPE)i * j + 2) / N_SYR;
		for (int j = 0; j < M_SYR; j++) { A[i * M_SYR + j] = ((DATA_TYPE)i * j) / N_SYR; B[i * M_SYR + j] = ((DATA_TYPE)i * j + 1) / N_SYR; }
	}
	DATA_TYPE *A_gpu = deviceArray(A, N_SYR * M_SYR), *B_gpu = deviceArray(B, N_SYR * M_SYR), *C_gpu = deviceArray(C, N_SYR * N_SYR);
	dim3 block(DIM_THREAD_BLOCK_2D_X, DIM_THREAD_BLOCK_2D_Y);
	syr2k_kernel<<<GRID_2D(N_SYR, N_SYR), block>>>(A_gpu, B_gpu, C_gpu);
	fetch(out, C_gpu, N_SYR * N_SYR);
	for (int i = 0; i < N_SYR; i++) for (int j = 0; j < N_SYR; j++) {
		DATA_TYPE s = C[i * N_SYR + j] * BETA;
		for (int k = 0; k < M_SYR; k++) s += ALPHA * A[i * M_SYR + k] * B[j * M_SYR + k] + ALPHA * B[i * M_SYR + k] * A[j * M_SYR + k];
		C[i * N_SYR + j] = s;
	}
	compareResults("SYR2K", C, out, N_SYR * N_SYR);
	free(A); free(B); free(C); free(out);
	cudaFree(A_gpu); cudaFree(B_gpu); cudaFree(C_gpu);
}

/* ----------------------------------------------------------- CORRELATION
 * data is N_CORR + 1 by M_CORR + 1, the Fortran way from 1 */
#define LD (M_CORR + 1)
__global__ void mean_kernel(DATA_TYPE *mean, DATA_TYPE *data)
{
	int j = blockIdx.x * blockDim.x + threadIdx.x + 1;
	if ((j >= 1) && (j < (M_CORR + 1))) {
		mean[j] = 0.0;
		for (int i = 1; i < (N_CORR + 1); i++) mean[j] += data[i * LD + j];
		mean[j] /= (DATA_TYPE)FLOAT_N;
	}
}
__global__ void std_kernel(DATA_TYPE *mean, DATA_TYPE *std, DATA_TYPE *data)
{
	int j = blockIdx.x * blockDim.x + threadIdx.x + 1;
	if ((j >= 1) && (j < (M_CORR + 1))) {
		std[j] = 0.0;
		for (int i = 1; i < (N_CORR + 1); i++) std[j] += (data[i * LD + j] - mean[j]) * (data[i * LD + j] - mean[j]);
		std[j] /= (FLOAT_N);
		std[j] = sqrtf(std[j]);
		if (std[j] <= EPS) std[j] = 1.0;
	}
}
__global__ void reduce_kernel(DATA_TYPE *mean, DATA_TYPE *std, DATA_TYPE *data)
{
	int j = blockIdx.x * blockDim.x + threadIdx.x + 1;
	int i = blockIdx.y * blockDim.y + threadIdx.y + 1;
	if ((i >= 1) && (i < (N_CORR + 1)) && (j >= 1) && (j < (M_CORR + 1))) {
		data[i * LD + j] -= mean[j];
		data[i * LD + j] /= (sqrtf(FLOAT_N) * std[j]);
	}
}
__global__ void corr_kernel(DATA_TYPE *symmat, DATA_TYPE *data)
{
	int j1 = blockIdx.x * blockDim.x + threadIdx.x + 1;
	if ((j1 >= 1) && (j1 < M_CORR)) {
		symmat[j1 * LD + j1] = 1.0;
		for (int j2 = (j1 + 1); j2 < (M_CORR + 1); j2++) {
			symmat[j1 * LD + j2] = 0.0;
			for (int i = 1; i < (N_CORR + 1); i++) symmat[j1 * LD + j2] += data[i * LD + j1] * data[i * LD + j2];
			symmat[j2 * LD + j1] = symmat[j1 * LD + j2];
		}
	}
}
static void correlation()
{
	const int n = (N_CORR + 1) * LD;
	DATA_TYPE *data = hostArray(n), *mean = hostArray(LD), *sd = hostArray(LD), *sym = hostArray(LD * LD), *out = hostArray(LD * LD);
	for (int i = 0; i <= N_CORR; i++) for (int j = 0; j < LD; j++) data[i * LD + j] = ((DATA_TYPE)((i * j + i * i) % 101)) / 101 + 0.3f * ((DATA_TYPE)i) / N_CORR;
	DATA_TYPE *data_gpu = deviceArray(data, n), *mean_gpu = deviceArray(mean, LD), *std_gpu = deviceArray(sd, LD), *sym_gpu = deviceArray(sym, LD * LD);
	dim3 block(DIM_THREAD_BLOCK_2D_X, DIM_THREAD_BLOCK_2D_Y);
	mean_kernel<<<GRID_1D(M_CORR), DIM_THREAD_BLOCK_X>>>(mean_gpu, data_gpu);
	std_kernel<<<GRID_1D(M_CORR), DIM_THREAD_BLOCK_X>>>(mean_gpu, std_gpu, data_gpu);
	reduce_kernel<<<GRID_2D(M_CORR, N_CORR), block>>>(mean_gpu, std_gpu, data_gpu);
	corr_kernel<<<GRID_1D(M_CORR), DIM_THREAD_BLOCK_X>>>(sym_gpu, data_gpu);
	DATA_TYPE one = 1.0;
	CUDA_SAFE(cudaMemcpy(&(sym_gpu[M_CORR * LD + M_CORR]), &one, sizeof(DATA_TYPE), cudaMemcpyHostToDevice));
	fetch(out, sym_gpu, LD * LD);
	for (int j = 1; j < LD; j++) {
		double m = 0, s = 0;
		for (int i = 1; i <= N_CORR; i++) m += data[i * LD + j];
		m /= FLOAT_N;
		for (int i = 1; i <= N_CORR; i++) s += (data[i * LD + j] - m) * (data[i * LD + j] - m);
		s = sqrt(s / FLOAT_N);
		if (s <= EPS) s = 1.0;
		for (int i = 1; i <= N_CORR; i++) data[i * LD + j] = (DATA_TYPE)((data[i * LD + j] - m) / (sqrt((double)FLOAT_N) * s));
	}
	for (int j1 = 1; j1 < LD; j1++) {
		sym[j1 * LD + j1] = 1.0;
		for (int j2 = j1 + 1; j2 < LD; j2++) {
			double s = 0;
			for (int i = 1; i <= N_CORR; i++) s += (double)data[i * LD + j1] * data[i * LD + j2];
			sym[j1 * LD + j2] = sym[j2 * LD + j1] = (DATA_TYPE)s;
		}
	}
	compareResults("CORR", sym, out, LD * LD);
	free(data); free(mean); free(sd); free(sym); free(out);
	cudaFree(data_gpu); cudaFree(mean_gpu); cudaFree(std_gpu); cudaFree(sym_gpu);
}

/* ---------------------------------------------------------------- 3DCONV */
__host__ __device__ static DATA_TYPE conv_point(const DATA_TYPE *A, int i, int j, int k)
{
	const DATA_TYPE c11 = +2, c21 = +5, c31 = -8, c12 = -3, c22 = +6, c32 = -9, c13 = +4, c23 = +7, c33 = +10;
#define AT(di, dj, dk) A[(i + (di)) * (NK_C3D * NJ_C3D) + (j + (dj)) * NK_C3D + (k + (dk))]
	return c11 * AT(-1, -1, -1) + c13 * AT(+1, -1, -1) + c21 * AT(-1, -1, -1) + c23 * AT(+1, -1, -1) + c31 * AT(-1, -1, -1) + c33 * AT(+1, -1, -1)
	     + c12 * AT(0, -1, 0) + c22 * AT(0, 0, 0) + c32 * AT(0, +1, 0)
	     + c11 * AT(-1, -1, +1) + c13 * AT(+1, -1, +1) + c21 * AT(-1, 0, +1) + c23 * AT(+1, 0, +1) + c31 * AT(-1, +1, +1) + c33 * AT(+1, +1, +1);
#undef AT
}
__global__ void convolution3D_kernel(DATA_TYPE *A, DATA_TYPE *B, int i)
{
	int k = blockIdx.x * blockDim.x + threadIdx.x;
	int j = blockIdx.y * blockDim.y + threadIdx.y;
	if ((i < (NI_C3D - 1)) && (j < (NJ_C3D - 1)) && (k < (NK_C3D - 1)) && (i > 0) && (j > 0) && (k > 0))
		B[i * (NK_C3D * NJ_C3D) + j * NK_C3D + k] = conv_point(A, i, j, k);
}
__global__ void convolution3D_slab_kernel(DATA_TYPE *A, DATA_TYPE *B, int i0)
{
	int k = blockIdx.x * blockDim.x + threadIdx.x;
	int j = blockIdx.y * blockDim.y + threadIdx.y;
	int i = i0 + blockIdx.z;
	if (i < NI_C3D - 1 && j < NJ_C3D - 1 && k < NK_C3D - 1 && j > 0 && k > 0)
		B[i * (NK_C3D * NJ_C3D) + j * NK_C3D + k] = conv_point(A, i, j, k);
}
static void conv3d()
{
	const int n = NI_C3D * NJ_C3D * NK_C3D;
	DATA_TYPE *A = hostArray(n), *B = hostArray(n), *out = hostArray(n);
	for (int i = 0; i < n; i++) A[i] = (i % 12 + 2 * (i % 7) + 3 * (i % 13)) * 0.25f;
	DATA_TYPE *A_gpu = deviceArray(A, n), *B_gpu = deviceArray(B, n);
	dim3 block(DIM_THREAD_BLOCK_2D_X, DIM_THREAD_BLOCK_2D_Y), grid = GRID_2D(NK_C3D, NJ_C3D);
	for (int i = 1; i < 9; ++i) convolution3D_kernel<<<grid, block>>>(A_gpu, B_gpu, i);
	grid.z = NI_C3D - 1 - 9;
	convolution3D_slab_kernel<<<grid, block>>>(A_gpu, B_gpu, 9);
	fetch(out, B_gpu, n);
	for (int i = 1; i < NI_C3D - 1; ++i) for (int j = 1; j < NJ_C3D - 1; ++j) for (int k = 1; k < NK_C3D - 1; ++k)
		B[i * (NK_C3D * NJ_C3D) + j * NK_C3D + k] = conv_point(A, i, j, k);
	compareResults("3DCONV", B, out, n);
	free(A); free(B); free(out);
	cudaFree(A_gpu); cudaFree(B_gpu);
}

/* ------------------------------------------------------------------- 2MM
 * the second product maps threads the wrong way round on purpose of comparison */
__global__ void mm2_kernel1(int ni, int nj, int nk, DATA_TYPE *A, DATA_TYPE *B, DATA_TYPE *C)
{
	int j = blockIdx.x * blockDim.x + threadIdx.x;
	int i = blockIdx.y * blockDim.y + threadIdx.y;
	if ((i < ni) && (j < nj)) {
		C[i * nj + j] = 0;
		for (int k = 0; k < nk; k++) C[i * nj + j] += A[i * nk + k] * B[k * nj + j];
	}
}
__global__ void mm2_kernel2(int ni, int nj, int nk, DATA_TYPE *A, DATA_TYPE *B, DATA_TYPE *C)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int j = blockIdx.y * blockDim.y + threadIdx.y;
	if ((i < ni) && (j < nj)) {
		DATA_TYPE s = 0;
		for (int k = 0; k < nk; k++) s += A[i * nk + k] * B[k * nj + j];
		C[i * nj + j] = s;
	}
}
static void mm2()
{
	DATA_TYPE *A = hostArray(NI * NK), *B = hostArray(NK * NJ), *C = hostArray(NI * NJ), *D = hostArray(NJ * NL), *E = hostArray(NI * NL), *out = hostArray(NI * NL);
	for (int i = 0; i < NI * NK; i++) A[i] = ((DATA_TYPE)(i % 91)) / NI;
	for (int i = 0; i < NK * NJ; i++) B[i] = ((DATA_TYPE)(i % 83 + 1)) / NJ;
	for (int i = 0; i < NJ * NL; i++) D[i] = ((DATA_TYPE)(i % 77 + 2)) / NK;
	DATA_TYPE *A_gpu = deviceArray(A, NI * NK), *B_gpu = deviceArray(B, NK * NJ), *C_gpu = deviceArray(C, NI * NJ), *D_gpu = deviceArray(D, NJ * NL), *E_gpu = deviceArray(E, NI * NL);
	dim3 block(DIM_THREAD_BLOCK_2D_X, DIM_THREAD_BLOCK_2D_Y);
	mm2_kernel1<<<GRID_2D(NJ, NI), block>>>(NI, NJ, NK, A_gpu, B_gpu, C_gpu);
	mm2_kernel2<<<GRID_2D(NI, NL), block>>>(NI, NL, NJ, C_gpu, D_gpu, E_gpu);
	fetch(out, E_gpu, NI * NL);
	for (int i = 0; i < NI; i++) for (int j = 0; j < NJ; j++) for (int k = 0; k < NK; k++) C[i * NJ + j] += A[i * NK + k] * B[k * NJ + j];
	for (int i = 0; i < NI; i++) for (int j = 0; j < NL; j++) for (int k = 0; k < NJ; k++) E[i * NL + j] += C[i * NJ + k] * D[k * NL + j];
	compareResults("2MM", E, out, NI * NL);
	free(A); free(B); free(C); free(D); free(E); free(out);
	cudaFree(A_gpu); cudaFree(B_gpu); cudaFree(C_gpu); cudaFree(D_gpu); cudaFree(E_gpu);
}

int main(int argc, char *argv[])
{
	void (*benchmarks[])() = {atax, bicg, mvt_gesummv, syr2k, correlation, conv3d, mm2};
	for (unsigned b = 0; b < sizeof benchmarks / sizeof benchmarks[0]; b++) benchmarks[b]();
	CUDA_SAFE(cudaDeviceSynchronize());
	printf("%s\n", totalFails ? "FAIL" : "PASS");
	return totalFails ? 1 : 0;
}
