// Terrain analysis on a digital elevation model: hillshade, D8 flow directions, pits and basins, upslope area, viewshed.
// Elevations are integers (cm) so that the flow field is exactly reproducible.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

static void check(cudaError_t e, const char *what)
{
	if (e != cudaSuccess) {
		fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
		exit(2);
	}
}

struct Dem {
	int nx;
	int ny;
	float cell;
};

__constant__ int c_dx[8] = {1, 1, 0, -1, -1, -1, 0, 1};
__constant__ int c_dy[8] = {0, 1, 1, 1, 0, -1, -1, -1};

__global__ void hillshade(Dem g, const int *__restrict__ z, float *__restrict__ shade, float lx, float ly, float lz)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= g.nx || y >= g.ny)
		return;
	int xm = max(x - 1, 0), xp = min(x + 1, g.nx - 1);
	int ym = max(y - 1, 0), yp = min(y + 1, g.ny - 1);
	float a = z[ym * g.nx + xm], b = z[ym * g.nx + x], c = z[ym * g.nx + xp];
	float d = z[y * g.nx + xm], f = z[y * g.nx + xp];
	float p = z[yp * g.nx + xm], q = z[yp * g.nx + x], r = z[yp * g.nx + xp];
	float k = 1.0f / (8.0f * g.cell * 100.0f);
	float gx = ((c + 2.0f * f + r) - (a + 2.0f * d + p)) * k;
	float gy = ((p + 2.0f * q + r) - (a + 2.0f * b + c)) * k;
	float inv = rsqrtf(gx * gx + gy * gy + 1.0f);
	shade[y * g.nx + x] = fmaxf(0.0f, (-gx * lx - gy * ly + lz) * inv);
}

// 18x18 tile with a one-cell halo
__global__ void flow_direction(Dem g, const int *__restrict__ z, signed char *__restrict__ dir)
{
	__shared__ int tile[18][18];
	int x0 = blockIdx.x * 16 - 1;
	int y0 = blockIdx.y * 16 - 1;
	int t = threadIdx.y * 16 + threadIdx.x;
	for (int i = t; i < 18 * 18; i += 256) {
		int ty = i / 18;
		int tx = i % 18;
		int gx = x0 + tx;
		int gy = y0 + ty;
		bool inside = gx >= 0 && gy >= 0 && gx < g.nx && gy < g.ny;
		tile[ty][tx] = inside ? z[gy * g.nx + gx] : 0x3fffffff;
	}
	__syncthreads();
	int x = x0 + 1 + threadIdx.x;
	int y = y0 + 1 + threadIdx.y;
	if (x >= g.nx || y >= g.ny)
		return;
	int mine = tile[threadIdx.y + 1][threadIdx.x + 1];
	long long best = 0;
	int bd = -1;
	for (int k = 0; k < 8; k++) {
		int other = tile[threadIdx.y + 1 + c_dy[k]][threadIdx.x + 1 + c_dx[k]];
		long long drop = (long long)(mine - other) * ((k & 1) ? 7071 : 10000);
		if (drop > best) {
			best = drop;
			bd = k;
		}
	}
	dir[y * g.nx + x] = (signed char)bd;
}

__global__ void link_downstream(Dem g, const signed char *dir, int *next)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= g.nx * g.ny)
		return;
	int d = dir[i];
	next[i] = d < 0 ? i : i + c_dy[d] * g.nx + c_dx[d];
}

__global__ void jump(const int *__restrict__ in, int *__restrict__ out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[i] = in[in[i]];
}

// every cell pours one unit of rain along its way down
__global__ void upslope_area(const int *__restrict__ next, int *area, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	int c = i;
	for (;;) {
		atomicAdd(&area[c], 1);
		int d = next[c];
		if (d == c)
			break;
		c = d;
	}
}

__global__ void basin_size(const int *__restrict__ pit, int *size, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		int p = pit[i];
		unsigned peers = __match_any_sync(__activemask(), p);
		if ((int)(threadIdx.x & 31) == __ffs(peers) - 1)
			atomicAdd(&size[p], __popc(peers));
	}
}

// one thread a ray: the rays go to the cells of the right border of the map, from the middle of the left border
__global__ void viewshed_east(Dem g, const int *__restrict__ z, unsigned char *vis, int oy, int eye)
{
	int ray = blockIdx.x * blockDim.x + threadIdx.x;
	if (ray >= g.ny)
		return;
	int num = -2000000000;
	int den = 1;
	for (int x = 1; x < g.nx; x++) {
		int y = oy + (ray - oy) * x / (g.nx - 1);
		int dz = z[y * g.nx + x] - eye;
		bool seen = (long long)dz * den >= (long long)num * x;
		if (seen) {
			num = dz;
			den = x;
			vis[y * g.nx + x] = 1;
		}
	}
}

int main()
{
	Dem g = {1000, 720, 30.0f};
	int n = g.nx * g.ny;
	std::vector<int> z(n);
	unsigned s = 2463534242u;
	for (int y = 0; y < g.ny; y++) {
		for (int x = 0; x < g.nx; x++) {
			s = s * 1664525u + 1013904223u;
			double h = 30000.0 + 9000.0 * sin(x * 0.021) * cos(y * 0.017) + 3000.0 * sin(x * 0.09 + y * 0.05) + 10.0 * x;
			z[y * g.nx + x] = (int)h + (int)(s >> 25);
		}
	}
	int *dz, *dn0, *dn1, *dnext, *darea, *dsize;
	float *dshade;
	signed char *ddir;
	unsigned char *dvis;
	size_t ib = n * sizeof(int);
	check(cudaMalloc(&dz, ib), "malloc");
	check(cudaMalloc(&dn0, ib), "malloc");
	check(cudaMalloc(&dn1, ib), "malloc");
	check(cudaMalloc(&dnext, ib), "malloc");
	check(cudaMalloc(&darea, ib), "malloc");
	check(cudaMalloc(&dsize, ib), "malloc");
	check(cudaMalloc(&dshade, n * sizeof(float)), "malloc");
	check(cudaMalloc(&ddir, n), "malloc");
	check(cudaMalloc(&dvis, n), "malloc");
	check(cudaMemcpy(dz, z.data(), ib, cudaMemcpyHostToDevice), "copy");
	check(cudaMemset(darea, 0, ib), "set");
	check(cudaMemset(dsize, 0, ib), "set");
	check(cudaMemset(dvis, 0, n), "set");

	dim3 wide(32, 8);
	dim3 gw((g.nx + 31) / 32, (g.ny + 7) / 8);
	hillshade<<<gw, wide>>>(g, dz, dshade, -0.5f, 0.5f, 0.70710678f);
	flow_direction<<<dim3((g.nx + 15) / 16, (g.ny + 15) / 16), dim3(16, 16)>>>(g, dz, ddir);
	int nb = (n + 255) / 256;
	link_downstream<<<nb, 256>>>(g, ddir, dnext);
	check(cudaMemcpy(dn0, dnext, ib, cudaMemcpyDeviceToDevice), "copy");
	for (int it = 0; it < 12; it++) {
		jump<<<nb, 256>>>(dn0, dn1, n);
		std::swap(dn0, dn1);
	}
	upslope_area<<<nb, 256>>>(dnext, darea, n);
	basin_size<<<512, 256>>>(dn0, dsize, n);
	int oy = g.ny / 2;
	int eye = z[oy * g.nx] + 5000;
	viewshed_east<<<(g.ny + 63) / 64, 64>>>(g, dz, dvis, oy, eye);
	check(cudaGetLastError(), "launch");
	check(cudaDeviceSynchronize(), "sync");

	std::vector<int> pit(n), area(n), size(n);
	std::vector<signed char> dir(n);
	std::vector<unsigned char> vis(n);
	std::vector<float> shade(n);
	check(cudaMemcpy(pit.data(), dn0, ib, cudaMemcpyDeviceToHost), "back");
	check(cudaMemcpy(area.data(), darea, ib, cudaMemcpyDeviceToHost), "back");
	check(cudaMemcpy(size.data(), dsize, ib, cudaMemcpyDeviceToHost), "back");
	check(cudaMemcpy(dir.data(), ddir, n, cudaMemcpyDeviceToHost), "back");
	check(cudaMemcpy(vis.data(), dvis, n, cudaMemcpyDeviceToHost), "back");
	check(cudaMemcpy(shade.data(), dshade, n * sizeof(float), cudaMemcpyDeviceToHost), "back");

	const int dx[8] = {1, 1, 0, -1, -1, -1, 0, 1};
	const int dy[8] = {0, 1, 1, 1, 0, -1, -1, -1};
	int bad = 0;
	std::vector<int> hn(n), harea(n, 0), hsize(n, 0);
	for (int y = 0; y < g.ny; y++) {
		for (int x = 0; x < g.nx; x++) {
			long long best = 0;
			int bd = -1;
			for (int k = 0; k < 8; k++) {
				int X = x + dx[k], Y = y + dy[k];
				if (X < 0 || Y < 0 || X >= g.nx || Y >= g.ny)
					continue;
				long long drop = (long long)(z[y * g.nx + x] - z[Y * g.nx + X]) * ((k & 1) ? 7071 : 10000);
				if (drop > best) {
					best = drop;
					bd = k;
				}
			}
			int i = y * g.nx + x;
			bad += bd != dir[i];
			hn[i] = bd < 0 ? i : i + dy[bd] * g.nx + dx[bd];
		}
	}
	for (int i = 0; i < n; i++) {
		int c = i;
		harea[c]++;
		while (hn[c] != c) {
			c = hn[c];
			harea[c]++;
		}
		hsize[c]++;
		bad += pit[i] != c;
	}
	for (int i = 0; i < n; i++)
		bad += (harea[i] != area[i]) + (hsize[i] != size[i]);
	std::vector<unsigned char> hv(n, 0);
	for (int ray = 0; ray < g.ny; ray++) {
		int num = -2000000000, den = 1;
		for (int x = 1; x < g.nx; x++) {
			int y = oy + (ray - oy) * x / (g.nx - 1);
			int d = z[y * g.nx + x] - eye;
			if ((long long)d * den >= (long long)num * x) {
				num = d;
				den = x;
				hv[y * g.nx + x] = 1;
			}
		}
	}
	bad += hv != vis;
	for (int y = 1; y < g.ny - 1; y += 3) {
		for (int x = 1; x < g.nx - 1; x++) {
			const int *p = &z[y * g.nx + x];
			int w = g.nx;
			double k = 1.0 / (8.0 * 30.0 * 100.0);
			double gx = ((p[-w + 1] + 2.0 * p[1] + p[w + 1]) - (p[-w - 1] + 2.0 * p[-1] + p[w - 1])) * k;
			double gy = ((p[w - 1] + 2.0 * p[w] + p[w + 1]) - (p[-w - 1] + 2.0 * p[-w] + p[-w + 1])) * k;
			double v = (0.5 * gx - 0.5 * gy + 0.70710678) / sqrt(gx * gx + gy * gy + 1.0);
			bad += fabs(std::max(0.0, v) - shade[y * g.nx + x]) > 1e-4;
		}
	}
	printf("%d mismatches\n", bad);
	puts(bad == 0 ? "PASS" : "FAIL");
	return bad == 0 ? 0 : 1;
}
