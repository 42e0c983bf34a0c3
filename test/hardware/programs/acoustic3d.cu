// Acoustic wave equation, 8th order in space, 2nd in time (the seismic kind).
//
// usage: acoustic3d [nx ny nz]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>

#define R 4
#define BX 32
#define BY 8

__constant__ float c_w[R + 1];

typedef struct { int nx, ny, nz; int px, py; } grid_t;   // interior sizes, pitch in x and y

#define IDX(g, x, y, z) (((size_t)((z) + R) * (g).py + ((y) + R)) * (g).px + ((x) + R))

static void ck(cudaError_t e, int line)
{
	if (e != cudaSuccess) {
		fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
		exit(1);
	}
}
#define CK(e) ck((e), __LINE__)

// everything from global memory
__global__ void wave_simple(grid_t g, const float *p, float *q, const float *vel)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = blockIdx.y * blockDim.y + threadIdx.y;
	int z = blockIdx.z;
	if (x >= g.nx || y >= g.ny)
		return;
	size_t i = IDX(g, x, y, z);
	size_t sy = g.px, sz = (size_t)g.px * g.py;
	float lap = 3.0f * c_w[0] * p[i];
#pragma unroll
	for (int r = 1; r <= R; r++)
		lap += c_w[r] * (p[i - r] + p[i + r] + p[i - r * sy] + p[i + r * sy] + p[i - r * sz] + p[i + r * sz]);
	q[i] = 2.0f * p[i] - q[i] + vel[i] * lap;
}

// tile of a plane in shared memory, the z line in registers
__global__ void wave_queue(grid_t g, const float *__restrict__ p, float *__restrict__ q, const float *__restrict__ vel)
{
	__shared__ float tile[BY + 2 * R][BX + 2 * R];
	int tx = threadIdx.x, ty = threadIdx.y;
	int x = blockIdx.x * BX + tx, y = blockIdx.y * BY + ty;
	bool inside = x < g.nx && y < g.ny;
	size_t sz = (size_t)g.px * g.py;
	float line[2 * R + 1];
	size_t at = IDX(g, inside ? x : 0, inside ? y : 0, 0);

	for (int k = 0; k < 2 * R; k++)
		line[k + 1] = p[at + (k - R) * (long)sz];

	for (int z = 0; z < g.nz; z++) {
#pragma unroll
		for (int k = 0; k < 2 * R; k++)
			line[k] = line[k + 1];
		line[2 * R] = p[at + R * sz];

		__syncthreads();
		for (int j = ty; j < BY + 2 * R; j += BY)
			for (int i = tx; i < BX + 2 * R; i += BX) {
				int gx = (int)blockIdx.x * BX + i - R, gy = (int)blockIdx.y * BY + j - R;
				if (gx < g.nx + R && gy < g.ny + R)
					tile[j][i] = p[IDX(g, gx, gy, z)];
			}
		__syncthreads();

		if (inside) {
			float lap = 3.0f * c_w[0] * line[R];
#pragma unroll
			for (int r = 1; r <= R; r++)
				lap += c_w[r] * (tile[ty + R][tx + R - r] + tile[ty + R][tx + R + r] +
				                 tile[ty + R - r][tx + R] + tile[ty + R + r][tx + R] +
				                 line[R - r] + line[R + r]);
			q[at] = 2.0f * line[R] - q[at] + vel[at] * lap;
		}
		at += sz;
	}
}

// damp the wave field near the x faces; one thread for each (y, z)
__global__ void sponge_x(grid_t g, float *q, int width, float strength)
{
	int y = blockIdx.x * blockDim.x + threadIdx.x;
	int z = blockIdx.y;
	if (y >= g.ny)
		return;
	for (int d = 0; d < width; d++) {
		float f = 1.0f - strength * (float)(width - d) * (float)(width - d);
		q[IDX(g, d, y, z)] *= f;
		q[IDX(g, g.nx - 1 - d, y, z)] *= f;
	}
}

// samples at receivers on a line every `step` cells
__global__ void receivers(grid_t g, const float *q, int step, int count, float *trace)
{
	int r = threadIdx.x + blockIdx.x * blockDim.x;
	if (r < count)
		trace[r] = q[IDX(g, (r * step) % g.nx, (r * step / g.nx) % g.ny, 2)];
}

static void host_step(grid_t g, const float *w, const float *p, float *q, const float *vel)
{
	size_t sy = g.px, sz = (size_t)g.px * g.py;
	for (int z = 0; z < g.nz; z++)
		for (int y = 0; y < g.ny; y++)
			for (int x = 0; x < g.nx; x++) {
				size_t i = IDX(g, x, y, z);
				float lap = 3.0f * w[0] * p[i];
				for (int r = 1; r <= R; r++)
					lap += w[r] * (p[i - r] + p[i + r] + p[i - r * sy] + p[i + r * sy] + p[i - r * sz] + p[i + r * sz]);
				q[i] = 2.0f * p[i] - q[i] + vel[i] * lap;
			}
}

int main(int argc, char **argv)
{
	grid_t g;
	g.nx = argc > 1 ? atoi(argv[1]) : 150;
	g.ny = argc > 2 ? atoi(argv[2]) : 76;
	g.nz = argc > 3 ? atoi(argv[3]) : 40;
	g.px = g.nx + 2 * R + 1;       // one spare column
	g.py = g.ny + 2 * R;
	const float w[R + 1] = { -205.0f / 72, 8.0f / 5, -1.0f / 5, 8.0f / 315, -1.0f / 560 };
	const int width = 12, count = 600, step = 7;
	const float strength = 0.002f;
	size_t cells = (size_t)g.px * g.py * (g.nz + 2 * R), bytes = cells * sizeof(float);

	float *p = (float *)calloc(cells, 4), *q = (float *)calloc(cells, 4), *v = (float *)calloc(cells, 4), *back = (float *)malloc(bytes);
	for (int z = 0; z < g.nz; z++)
		for (int y = 0; y < g.ny; y++)
			for (int x = 0; x < g.nx; x++) {
				size_t i = IDX(g, x, y, z);
				p[i] = sinf(0.11f * x) * cosf(0.07f * y + 0.2f * z);
				q[i] = 0.98f * p[i];
				v[i] = 0.08f + 0.001f * (float)((x + 2 * y + 3 * z) % 32);
			}

	float *dp, *dq, *dv, *dt;
	CK(cudaMalloc(&dp, bytes));
	CK(cudaMalloc(&dq, bytes));
	CK(cudaMalloc(&dv, bytes));
	CK(cudaMalloc(&dt, count * 4));
	CK(cudaMemcpyToSymbol(c_w, w, sizeof w));
	CK(cudaMemcpy(dp, p, bytes, cudaMemcpyHostToDevice));
	CK(cudaMemcpy(dq, q, bytes, cudaMemcpyHostToDevice));
	CK(cudaMemcpy(dv, v, bytes, cudaMemcpyHostToDevice));

	dim3 block(BX, BY), grid((g.nx + BX - 1) / BX, (g.ny + BY - 1) / BY);
	wave_simple<<<dim3(grid.x, grid.y, g.nz), block>>>(g, dp, dq, dv);     // q = t+1
	wave_queue<<<grid, block>>>(g, dq, dp, dv);                            // p = t+2
	sponge_x<<<dim3((g.ny + 63) / 64, g.nz), 64>>>(g, dp, width, strength);
	receivers<<<(count + 127) / 128, 128>>>(g, dp, step, count, dt);
	CK(cudaGetLastError());
	CK(cudaMemcpy(back, dp, bytes, cudaMemcpyDeviceToHost));
	float *trace = (float *)malloc(count * 4);
	CK(cudaMemcpy(trace, dt, count * 4, cudaMemcpyDeviceToHost));

	host_step(g, w, p, q, v);
	host_step(g, w, q, p, v);
	for (int z = 0; z < g.nz; z++)
		for (int y = 0; y < g.ny; y++)
			for (int d = 0; d < width; d++) {
				float f = 1.0f - strength * (float)(width - d) * (float)(width - d);
				p[IDX(g, d, y, z)] *= f;
				p[IDX(g, g.nx - 1 - d, y, z)] *= f;
			}
	double worst = 0;
	for (size_t i = 0; i < cells; i++)
		worst = fmax(worst, fabs((double)back[i] - p[i]));
	for (int r = 0; r < count; r++)
		worst = fmax(worst, fabs((double)trace[r] - p[IDX(g, (r * step) % g.nx, (r * step / g.nx) % g.ny, 2)]));
	printf("max error %.3g: %s\n", worst, worst < 1e-4 ? "OK" : "BAD");
	return worst < 1e-4 ? 0 : 1;
}
