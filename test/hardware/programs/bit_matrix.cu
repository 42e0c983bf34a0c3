// Bits packed into words: matrix transposition by ballot, binary (xnor) matrix product, Game of Life, rank directory.
#include <bitset>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

typedef unsigned int u32;

#define TRY(x)                                                     \
	if ((x) != cudaSuccess) {                                  \
		puts(cudaGetErrorString(cudaGetLastError()));      \
		return 2;                                          \
	}

// a warp turns one 32 x 32 tile; rowWords, outWords: words per row of in and out
__global__ void bitTranspose(const u32 *in, u32 *out, int rowWords, int outWords)
{
	int lane = threadIdx.x;
	int wordCol = blockIdx.x * blockDim.y + threadIdx.y;
	int tileRow = blockIdx.y;
	if (wordCol >= rowWords)
		return;
	u32 v = in[(tileRow * 32 + lane) * rowWords + wordCol];
	u32 mine = 0;
	for (int b = 0; b < 32; b++) {
		u32 column = __ballot_sync(0xffffffffu, (v >> b) & 1);
		if (lane == b)
			mine = column;
	}
	out[(wordCol * 32 + lane) * outWords + tileRow] = mine;
}

// C[i][j] = number of equal bits of row i of A and row j of B
template <int TILE, int WORDS>
__global__ void xnorGemm(const u32 *__restrict__ a, const u32 *__restrict__ b, int *__restrict__ c, int n, int words)
{
	__shared__ u32 sa[TILE][WORDS];
	__shared__ u32 sb[TILE][WORDS];
	int i = blockIdx.y * TILE + threadIdx.y, j = blockIdx.x * TILE + threadIdx.x;
	int count = 0;
	for (int w0 = 0; w0 < words; w0 += WORDS) {
		for (int w = threadIdx.x; w < WORDS; w += TILE) {
			sa[threadIdx.y][w] = a[(blockIdx.y * TILE + threadIdx.y) * words + w0 + w];
			sb[threadIdx.y][w] = b[(blockIdx.x * TILE + threadIdx.y) * words + w0 + w];
		}
		__syncthreads();
#pragma unroll
		for (int w = 0; w < WORDS; w++)
			count += __popc(~(sa[threadIdx.y][w] ^ sb[threadIdx.x][w]));
		__syncthreads();
	}
	c[i * n + j] = count;
}

// 32 cells a word, torus; columns of words first
__global__ void lifeBits(const u32 *in, u32 *out, int w, int h)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= w || y >= h)
		return;
	int xl = x == 0 ? w - 1 : x - 1, xr = x == w - 1 ? 0 : x + 1;
	int yu = y == 0 ? h - 1 : y - 1, yd = y == h - 1 ? 0 : y + 1;

	u32 ones = 0, twos = 0, fours = 0;       // saturating at 4
	u32 me = 0;
	int rows[3] = { yu, y, yd };
#pragma unroll
	for (int r = 0; r < 3; r++) {
		u32 l = in[rows[r] * w + xl], c = in[rows[r] * w + x], e = in[rows[r] * w + xr];
		u32 west = (c << 1) | (l >> 31), east = (c >> 1) | (e << 31);
		u32 add[3] = { west, east, c };
		if (r == 1)
			me = c;
#pragma unroll
		for (int k = 0; k < 3; k++) {
			if (r == 1 && k == 2)
				continue;
			u32 carry = ones & add[k];
			ones ^= add[k];
			u32 carry2 = twos & carry;
			twos ^= carry;
			fours |= carry2;
		}
	}
	out[y * w + x] = ~fours & twos & (ones | me);
}

// ones before each group of eight words: a warp does 32 groups, then the block
__global__ void rankDirectory(const u32 *bits, int groups, int *rank, int *total)
{
	__shared__ int sums[8];
	int g = blockIdx.x * blockDim.x + threadIdx.x;
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	int ones = 0;
	if (g < groups)
		for (int k = 0; k < 8; k++)
			ones += __popc(bits[g * 8 + k]);
	int inc = ones;
	for (int d = 1; d < 32; d <<= 1) {
		int v = __shfl_up_sync(0xffffffffu, inc, d);
		if (lane >= d)
			inc += v;
	}
	if (lane == 31)
		sums[warp] = inc;
	__syncthreads();
	int before = 0;
	for (int k = 0; k < warp; k++)
		before += sums[k];
	if (g < groups)
		rank[g] = before + inc - ones;
	if (threadIdx.x == blockDim.x - 1)
		total[blockIdx.x] = before + inc;
}

static std::vector<u32> noise(size_t n, u32 seed)
{
	std::vector<u32> v(n);
	for (auto &x : v) {
		seed ^= seed << 13;
		seed ^= seed >> 17;
		seed ^= seed << 5;
		x = seed * 2654435769u;
	}
	return v;
}

static u32 *dev(const std::vector<u32> &v)
{
	u32 *p = nullptr;
	if (cudaMalloc(&p, v.size() * 4) != cudaSuccess || cudaMemcpy(p, v.data(), v.size() * 4, cudaMemcpyHostToDevice) != cudaSuccess)
		exit(3);
	return p;
}

int main()
{
	const int R = 1024, RW = 40;           // transposition: 1024 rows of 40 words
	const int N = 256, NW = 64;            // product: 256 rows of 2048 bits
	const int W = 33, H = 1000;            // life: 1056 x 1000 cells
	const int G = 20000;                   // rank: 20000 groups of 256 bits

	auto m = noise(R * RW, 11), a = noise(N * NW, 12), b = noise(N * NW, 13), cells = noise(W * H, 14), bits = noise(G * 8, 15);
	std::vector<u32> turned(R * RW), next(W * H);
	std::vector<int> c(N * N), rank(G), total((G + 255) / 256);
	u32 *dm = dev(m), *dt = dev(turned), *da = dev(a), *db = dev(b), *dl = dev(cells), *dn = dev(next), *dbits = dev(bits);
	int *dc, *dr, *dtot;
	TRY(cudaMalloc(&dc, c.size() * 4));
	TRY(cudaMalloc(&dr, rank.size() * 4));
	TRY(cudaMalloc(&dtot, total.size() * 4));

	bitTranspose<<<dim3(RW / 4, R / 32), dim3(32, 4)>>>(dm, dt, RW, R / 32);
	xnorGemm<16, 32><<<dim3(N / 16, N / 16), dim3(16, 16)>>>(da, db, dc, N, NW);
	lifeBits<<<dim3((W + 15) / 16, (H + 15) / 16), dim3(16, 16)>>>(dl, dn, W, H);
	rankDirectory<<<(G + 255) / 256, 256>>>(dbits, G, dr, dtot);
	TRY(cudaDeviceSynchronize());
	TRY(cudaMemcpy(turned.data(), dt, turned.size() * 4, cudaMemcpyDeviceToHost));
	TRY(cudaMemcpy(c.data(), dc, c.size() * 4, cudaMemcpyDeviceToHost));
	TRY(cudaMemcpy(next.data(), dn, next.size() * 4, cudaMemcpyDeviceToHost));
	TRY(cudaMemcpy(rank.data(), dr, rank.size() * 4, cudaMemcpyDeviceToHost));
	TRY(cudaMemcpy(total.data(), dtot, total.size() * 4, cudaMemcpyDeviceToHost));

	long bad = 0;
	for (int r = 0; r < R; r++)
		for (int k = 0; k < RW * 32; k++)
			bad += ((m[r * RW + k / 32] >> (k % 32)) & 1) != ((turned[k * (R / 32) + r / 32] >> (r % 32)) & 1);
	printf("transpose: %ld bad\n", bad);
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			int eq = 0;
			for (int w = 0; w < NW; w++)
				eq += (int)std::bitset<32>(~(a[i * NW + w] ^ b[j * NW + w])).count();
			bad += eq != c[i * N + j];
		}
	printf("product:   %ld bad\n", bad);
	const int CW = W * 32;
	auto cell = [&](int x, int y) {
		x = (x + CW) % CW;
		y = (y + H) % H;
		return (int)((cells[y * W + x / 32] >> (x % 32)) & 1);
	};
	for (int y = 0; y < H; y++)
		for (int x = 0; x < CW; x++) {
			int around = -cell(x, y);
			for (int dy = -1; dy <= 1; dy++)
				for (int dx = -1; dx <= 1; dx++)
					around += cell(x + dx, y + dy);
			int want = around == 3 || (around == 2 && cell(x, y));
			bad += want != (int)((next[y * W + x / 32] >> (x % 32)) & 1);
		}
	printf("life:      %ld bad\n", bad);
	int run = 0;
	for (int g = 0; g < G; g++) {
		if (g % 256 == 0)
			run = 0;
		bad += rank[g] != run;
		for (int k = 0; k < 8; k++)
			run += (int)std::bitset<32>(bits[g * 8 + k]).count();
		if (g % 256 == 255 || g == G - 1)
			bad += total[g / 256] != run;
	}
	printf("rank:      %ld bad\n%s\n", bad, bad ? "FAIL" : "OK");
	return bad ? 1 : 0;
}
