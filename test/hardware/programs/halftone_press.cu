/*
 * halftone_press.cu - print pipeline: RGB -> CMYK separation, ordered dither, error diffusion (skewed wavefront),
 * dot gain, 1-bit packing, run-length statistics of the scan lines.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <cuda_runtime.h>

#define W 768
#define H 512
#define NPIX (W * H)
#define WORDS (W / 32)

#define SAFE(call)                                                        \
	do {                                                              \
		cudaError_t rc = (call);                                  \
		if (rc != cudaSuccess) {                                  \
			printf("%s: %s\n", #call, cudaGetErrorString(rc)); \
			return 1;                                         \
		}                                                         \
	} while (0)

__constant__ unsigned char bayer[64] = {
	0, 32, 8, 40, 2, 34, 10, 42, 48, 16, 56, 24, 50, 18, 58, 26,
	12, 44, 4, 36, 14, 46, 6, 38, 60, 28, 52, 20, 62, 30, 54, 22,
	3, 35, 11, 43, 1, 33, 9, 41, 51, 19, 59, 27, 49, 17, 57, 25,
	15, 47, 7, 39, 13, 45, 5, 37, 63, 31, 55, 23, 61, 29, 53, 21};

/* interleaved RGB in, four planes out */
__global__ void separate(const uint8_t *rgb, uint8_t *cmyk)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= NPIX)
		return;
	int c = 255 - rgb[3 * i];
	int m = 255 - rgb[3 * i + 1];
	int y = 255 - rgb[3 * i + 2];
	int k = min(c, min(m, y));
	k = k * 3 / 4;
	cmyk[i] = c - k;
	cmyk[NPIX + i] = m - k;
	cmyk[2 * NPIX + i] = y - k;
	cmyk[3 * NPIX + i] = k;
}

/* one warp makes one word of dots */
__global__ void ordered_dither(const uint8_t *plane, uint32_t *bits)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = blockIdx.y * blockDim.y + threadIdx.y;
	int th = bayer[(y & 7) * 8 + (x & 7)] * 4 + 2;
	unsigned word = __ballot_sync(0xffffffffu, plane[y * W + x] > th);
	if ((x & 31) == 0)
		bits[y * WORDS + (x >> 5)] = word;
}

/*
 * Floyd-Steinberg in 1/16 units. One block per plane; thread = row within a band of 256 rows.
 * At step s, row r works at column s - 2r, so its upper neighbours are finished.
 * The errors for the next row are kept in global memory (err[row][x]).
 */
__global__ void error_diffusion(const uint8_t *cmyk, int *err, uint8_t *dots)
{
	int pl = blockIdx.x;
	const uint8_t *src = cmyk + (size_t)pl * NPIX;
	int *e = err + (size_t)pl * (H + 1) * (W + 2);
	uint8_t *out = dots + (size_t)pl * NPIX;
	int r = threadIdx.x;
	int carry = 0;
	for (int s = 0; s < W + 2 * (H - 1); s++) {
		int x = s - 2 * r;
		if (x >= 0 && x < W) {
			int *mine = e + r * (W + 2) + 1;
			int *below = mine + W + 2;
			int v = src[r * W + x] * 16 + mine[x] + carry;
			int on = v >= 128 * 16;
			int q = (v - (on ? 255 * 16 : 0)) / 16;
			out[r * W + x] = on;
			carry = q * 7;
			below[x - 1] += q * 3;
			below[x] += q * 5;
			below[x + 1] += q;
		}
		__syncthreads();
	}
}

/* column order: as the print head sees it */
__global__ void pack_columns(const uint8_t *dots, uint32_t *heads)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int w = blockIdx.y;
	if (x >= W)
		return;
	uint32_t v = 0;
	for (int k = 0; k < 32; k++)
		v |= (uint32_t)dots[(w * 32 + k) * W + x] << k;
	heads[x * (H / 32) + w] = v;
}

/* dot gain: each dot soaks into its 3x3 neighbourhood */
__global__ void dot_gain(const uint8_t *dots, uint8_t *tone)
{
	__shared__ uint8_t t[10][34];
	int gx = blockIdx.x * 32;
	int gy = blockIdx.y * 8;
	int id = threadIdx.y * 32 + threadIdx.x;
	for (int k = id; k < 340; k += 256) {
		int y = gy - 1 + k / 34;
		int x = gx - 1 + k % 34;
		t[k / 34][k % 34] = (x < 0 || y < 0 || x >= W || y >= H) ? 0 : dots[y * W + x];
	}
	__syncthreads();
	int a = threadIdx.y;
	int b = threadIdx.x;
	int s = 8 * t[a + 1][b + 1] + 2 * (t[a][b + 1] + t[a + 2][b + 1] + t[a + 1][b] + t[a + 1][b + 2]);
	s += t[a][b] + t[a][b + 2] + t[a + 2][b] + t[a + 2][b + 2];
	tone[(gy + a) * W + gx + b] = min(255, s * 255 / 16);
}

/* number of runs in each scan line, a thread per line */
__global__ void count_runs(const uint32_t *bits, int *runs)
{
	int y = blockIdx.x * blockDim.x + threadIdx.x;
	if (y >= H)
		return;
	int n = 1;
	uint32_t prev = bits[y * WORDS] & 1;
	for (int w = 0; w < WORDS; w++) {
		uint32_t v = bits[y * WORDS + w];
		n += __popc(v ^ (v << 1 | prev));
		prev = v >> 31;
	}
	runs[y] = n;
}

static uint8_t rgb[3 * NPIX], cmyk[4 * NPIX], dots[4 * NPIX], tone[NPIX], h_cmyk[4 * NPIX], h_dots[NPIX];
static uint32_t bits[H * WORDS], heads[W * (H / 32)];
static int runs[H], h_err[(H + 1) * (W + 2)];

int main(void)
{
	static const unsigned char hb[64] = {
		0, 32, 8, 40, 2, 34, 10, 42, 48, 16, 56, 24, 50, 18, 58, 26,
		12, 44, 4, 36, 14, 46, 6, 38, 60, 28, 52, 20, 62, 30, 54, 22,
		3, 35, 11, 43, 1, 33, 9, 41, 51, 19, 59, 27, 49, 17, 57, 25,
		15, 47, 7, 39, 13, 45, 5, 37, 63, 31, 55, 23, 61, 29, 53, 21};
	uint8_t *d_rgb, *d_cmyk, *d_dots, *d_tone;
	uint32_t *d_bits, *d_heads;
	int *d_err, *d_runs;
	uint32_t lcg = 1;
	size_t err_bytes = sizeof(int) * 4 * (H + 1) * (W + 2);
	int i, p, x, y, bad = 0;

	for (i = 0; i < 3 * NPIX; i++) {
		lcg = lcg * 69069u + 1u;
		rgb[i] = (uint8_t)(((i / 3) % W) / 4 + ((i / 3) / W) / 16 * (i % 3) + (lcg >> 27)) & 0xff;
	}
	SAFE(cudaMalloc(&d_rgb, sizeof rgb));
	SAFE(cudaMalloc(&d_cmyk, sizeof cmyk));
	SAFE(cudaMalloc(&d_dots, sizeof dots));
	SAFE(cudaMalloc(&d_tone, sizeof tone));
	SAFE(cudaMalloc(&d_bits, sizeof bits));
	SAFE(cudaMalloc(&d_heads, sizeof heads));
	SAFE(cudaMalloc(&d_err, err_bytes));
	SAFE(cudaMalloc(&d_runs, sizeof runs));
	SAFE(cudaMemset(d_err, 0, err_bytes));
	SAFE(cudaMemcpy(d_rgb, rgb, sizeof rgb, cudaMemcpyHostToDevice));

	separate<<<(NPIX + 255) / 256, 256>>>(d_rgb, d_cmyk);
	ordered_dither<<<dim3(W / 32, H / 8), dim3(32, 8)>>>(d_cmyk, d_bits);
	error_diffusion<<<4, H>>>(d_cmyk, d_err, d_dots);
	pack_columns<<<dim3((W + 127) / 128, H / 32), 128>>>(d_dots, d_heads);
	dot_gain<<<dim3(W / 32, H / 8), dim3(32, 8)>>>(d_dots + 3 * NPIX, d_tone);
	count_runs<<<(H + 63) / 64, 64>>>(d_bits, d_runs);
	SAFE(cudaGetLastError());
	SAFE(cudaDeviceSynchronize());
	SAFE(cudaMemcpy(cmyk, d_cmyk, sizeof cmyk, cudaMemcpyDeviceToHost));
	SAFE(cudaMemcpy(dots, d_dots, sizeof dots, cudaMemcpyDeviceToHost));
	SAFE(cudaMemcpy(tone, d_tone, sizeof tone, cudaMemcpyDeviceToHost));
	SAFE(cudaMemcpy(bits, d_bits, sizeof bits, cudaMemcpyDeviceToHost));
	SAFE(cudaMemcpy(heads, d_heads, sizeof heads, cudaMemcpyDeviceToHost));
	SAFE(cudaMemcpy(runs, d_runs, sizeof runs, cudaMemcpyDeviceToHost));

	for (i = 0; i < NPIX; i++) {
		int c = 255 - rgb[3 * i], m = 255 - rgb[3 * i + 1], ye = 255 - rgb[3 * i + 2];
		int k = c < m ? c : m;
		k = k < ye ? k : ye;
		k = k * 3 / 4;
		h_cmyk[i] = c - k;
		h_cmyk[NPIX + i] = m - k;
		h_cmyk[2 * NPIX + i] = ye - k;
		h_cmyk[3 * NPIX + i] = k;
	}
	bad += memcmp(cmyk, h_cmyk, sizeof cmyk) != 0;
	for (y = 0; y < H; y++) {
		int n = 1, before = 0;
		for (x = 0; x < W; x++) {
			int on = h_cmyk[y * W + x] > hb[(y & 7) * 8 + (x & 7)] * 4 + 2;
			bad += on != (int)(bits[y * WORDS + x / 32] >> (x % 32) & 1);
			if (x && on != before)
				n++;
			before = on;
		}
		bad += runs[y] != n;
	}
	for (p = 0; p < 4; p++) {
		memset(h_err, 0, sizeof h_err);
		for (y = 0; y < H; y++) {
			int carry = 0;
			int *mine = h_err + y * (W + 2) + 1;
			int *below = mine + W + 2;
			for (x = 0; x < W; x++) {
				int v = h_cmyk[p * NPIX + y * W + x] * 16 + mine[x] + carry;
				int on = v >= 128 * 16;
				int q = (v - (on ? 255 * 16 : 0)) / 16;
				h_dots[y * W + x] = on;
				carry = q * 7;
				below[x - 1] += q * 3;
				below[x] += q * 5;
				below[x + 1] += q;
			}
		}
		bad += memcmp(h_dots, dots + p * NPIX, NPIX) != 0;
	}
	for (x = 0; x < W; x++)
		for (y = 0; y < H; y++)
			bad += (int)(heads[x * (H / 32) + y / 32] >> (y % 32) & 1) != dots[y * W + x];
	for (y = 1; y < H - 1; y++) {
		for (x = 1; x < W - 1; x++) {
			const uint8_t *d = h_dots + y * W + x;
			int s = 8 * d[0] + 2 * (d[-1] + d[1] + d[-W] + d[W]) + d[-W - 1] + d[-W + 1] + d[W - 1] + d[W + 1];
			s = s * 255 / 16;
			bad += tone[y * W + x] != (s > 255 ? 255 : s);
		}
	}
	printf("%d wrong\n", bad);
	printf("%s\n", bad ? "FAIL" : "PASS");
	return bad ? 1 : 0;
}
