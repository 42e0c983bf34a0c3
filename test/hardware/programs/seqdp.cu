/* seqdp.cu - small dynamic programming kernels, plain C style.
 *   edit distance (Myers, one 64-bit word per text, two data layouts)
 *   0/1 knapsack, one block per instance
 *   longest common subsequence by anti-diagonals in shared memory
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NTEXT   8192
#define TLEN    96
#define PLEN    64
#define NSYM    32

#define NKNAP   160
#define NITEM   48
#define CAP     1024

#define NPAIR   128
#define LLEN    256

#define MAX(a,b) ((a) > (b) ? (a) : (b))
#define CUDA(x) do { cudaError_t err = (x); if (err != cudaSuccess) { \
	printf("cuda error %d line %d: %s\n", (int)err, __LINE__, cudaGetErrorString(err)); exit(3); } } while (0)

typedef unsigned long long u64;
typedef unsigned char u8;

__constant__ u64 c_peq[NSYM];

#define MYERS_STEP(eq) do {                       \
	u64 xv = (eq) | mv;                       \
	u64 xh = ((((eq) & pv) + pv) ^ pv) | (eq);\
	u64 ph = mv | ~(xh | pv);                 \
	u64 mh = pv & xh;                         \
	score += (int)(ph >> 63);                 \
	score -= (int)(mh >> 63);                 \
	ph = (ph << 1) | 1ull;                    \
	mh <<= 1;                                 \
	pv = mh | ~(xv | ph);                     \
	mv = ph & xv;                             \
} while (0)

/* text i is bytes [i*TLEN, (i+1)*TLEN) : every lane walks its own row */
__global__ void myers_rows(const u8 *text, int *dist, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	u64 pv = ~0ull, mv = 0;
	int score = PLEN, k;
	for (k = 0; k < TLEN; k++) {
		u64 eq = c_peq[text[i * TLEN + k]];
		MYERS_STEP(eq);
	}
	dist[i] = score;
}

/* text stored symbol-major; table kept in shared memory */
__global__ void myers_cols(const u8 *__restrict__ text, const u64 *__restrict__ peq, int *__restrict__ dist, int n)
{
	__shared__ u64 tab[NSYM];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (threadIdx.x < NSYM)
		tab[threadIdx.x] = peq[threadIdx.x];
	__syncthreads();
	if (i >= n)
		return;
	u64 pv = ~0ull, mv = 0;
	int score = PLEN, k;
#pragma unroll 4
	for (k = 0; k < TLEN; k++) {
		u64 eq = tab[text[(size_t)k * n + i]];
		MYERS_STEP(eq);
	}
	dist[i] = score;
}

__global__ void knapsack(const int *weight, const int *value, int *best)
{
	__shared__ int dp[2][CAP];
	int cur = 0;
	for (int w = threadIdx.x; w < CAP; w += blockDim.x)
		dp[0][w] = 0;
	__syncthreads();
	for (int it = 0; it < NITEM; it++) {
		int wt = weight[blockIdx.x * NITEM + it];
		int vl = value[blockIdx.x * NITEM + it];
		for (int w = threadIdx.x; w < CAP; w += blockDim.x) {
			int keep = dp[cur][w];
			int take = w >= wt ? dp[cur][w - wt] + vl : 0;
			dp[cur ^ 1][w] = MAX(keep, take);
		}
		cur ^= 1;
		__syncthreads();
	}
	if (threadIdx.x == 0)
		best[blockIdx.x] = dp[cur][CAP - 1];
}

__global__ void lcs_diag(const u8 *a, const u8 *b, int *len)
{
	__shared__ u8 sa[LLEN], sb[LLEN];
	__shared__ short buf[3][LLEN + 1];
	int i = threadIdx.x, d;
	sa[i] = a[blockIdx.x * LLEN + i];
	sb[i] = b[blockIdx.x * LLEN + i];
	for (d = 0; d < 3; d++) {
		buf[d][i + 1] = 0;
		if (i == 0)
			buf[d][0] = 0;
	}
	__syncthreads();
	for (d = 0; d < 2 * LLEN - 1; d++) {
		short *now = buf[d % 3], *p1 = buf[(d + 2) % 3], *p2 = buf[(d + 1) % 3];
		int j = d - i;
		if (j >= 0 && j < LLEN) {
			short v;
			if (sa[i] == sb[j])
				v = p2[i] + 1;
			else
				v = MAX(p1[i], p1[i + 1]);
			now[i + 1] = v;
		}
		__syncthreads();
	}
	if (i == LLEN - 1)
		len[blockIdx.x] = buf[(2 * LLEN - 2) % 3][LLEN];
}

static unsigned seed = 12345u;
static unsigned rnd(void) { seed = seed * 1664525u + 1013904223u; return seed >> 8; }

static int edit_ref(const u8 *p, const u8 *t)
{
	int row[PLEN + 1], i, k;
	for (i = 0; i <= PLEN; i++) row[i] = i;
	for (k = 0; k < TLEN; k++) {
		int diag = row[0];
		row[0] = k + 1;
		for (i = 1; i <= PLEN; i++) {
			int up = row[i], best = diag + (p[i - 1] != t[k]);
			if (row[i - 1] + 1 < best) best = row[i - 1] + 1;
			if (up + 1 < best) best = up + 1;
			diag = up;
			row[i] = best;
		}
	}
	return row[PLEN];
}

int main(void)
{
	static u8 text[NTEXT * TLEN], textT[NTEXT * TLEN], pat[PLEN], la[NPAIR * LLEN], lb[NPAIR * LLEN];
	static int wt[NKNAP * NITEM], vl[NKNAP * NITEM], d1[NTEXT], d2[NTEXT], best[NKNAP], lens[NPAIR];
	u64 peq[NSYM];
	int i, j, k, errors = 0;

	for (i = 0; i < PLEN; i++) pat[i] = rnd() % NSYM;
	for (i = 0; i < NTEXT; i++)
		for (k = 0; k < TLEN; k++) {
			u8 c = (rnd() % 3 && k < PLEN) ? pat[k] : (u8)(rnd() % NSYM);
			text[i * TLEN + k] = c;
			textT[k * NTEXT + i] = c;
		}
	memset(peq, 0, sizeof peq);
	for (i = 0; i < PLEN; i++) peq[pat[i]] |= 1ull << i;
	for (i = 0; i < NKNAP * NITEM; i++) { wt[i] = 5 + rnd() % 120; vl[i] = 1 + rnd() % 500; }
	for (i = 0; i < NPAIR * LLEN; i++) { la[i] = rnd() % 4; lb[i] = rnd() % 4; }

	u8 *dtext, *dtextT, *dla, *dlb; u64 *dpeq; int *dd1, *dd2, *dw, *dv, *db, *dl;
	CUDA(cudaMalloc((void **)&dtext, sizeof text));   CUDA(cudaMalloc((void **)&dtextT, sizeof textT));
	CUDA(cudaMalloc((void **)&dla, sizeof la));       CUDA(cudaMalloc((void **)&dlb, sizeof lb));
	CUDA(cudaMalloc((void **)&dpeq, sizeof peq));     CUDA(cudaMalloc((void **)&dd1, sizeof d1));
	CUDA(cudaMalloc((void **)&dd2, sizeof d2));       CUDA(cudaMalloc((void **)&dw, sizeof wt));
	CUDA(cudaMalloc((void **)&dv, sizeof vl));        CUDA(cudaMalloc((void **)&db, sizeof best));
	CUDA(cudaMalloc((void **)&dl, sizeof lens));
	CUDA(cudaMemcpy(dtext, text, sizeof text, cudaMemcpyHostToDevice));
	CUDA(cudaMemcpy(dtextT, textT, sizeof textT, cudaMemcpyHostToDevice));
	CUDA(cudaMemcpy(dla, la, sizeof la, cudaMemcpyHostToDevice));
	CUDA(cudaMemcpy(dlb, lb, sizeof lb, cudaMemcpyHostToDevice));
	CUDA(cudaMemcpy(dpeq, peq, sizeof peq, cudaMemcpyHostToDevice));
	CUDA(cudaMemcpy(dw, wt, sizeof wt, cudaMemcpyHostToDevice));
	CUDA(cudaMemcpy(dv, vl, sizeof vl, cudaMemcpyHostToDevice));
	CUDA(cudaMemcpyToSymbol(c_peq, peq, sizeof peq));

	myers_rows<<<NTEXT / 128, 128>>>(dtext, dd1, NTEXT);
	myers_cols<<<NTEXT / 128, 128>>>(dtextT, dpeq, dd2, NTEXT);
	knapsack<<<NKNAP, 256>>>(dw, dv, db);
	lcs_diag<<<NPAIR, LLEN>>>(dla, dlb, dl);
	CUDA(cudaGetLastError());
	CUDA(cudaMemcpy(d1, dd1, sizeof d1, cudaMemcpyDeviceToHost));
	CUDA(cudaMemcpy(d2, dd2, sizeof d2, cudaMemcpyDeviceToHost));
	CUDA(cudaMemcpy(best, db, sizeof best, cudaMemcpyDeviceToHost));
	CUDA(cudaMemcpy(lens, dl, sizeof lens, cudaMemcpyDeviceToHost));

	for (i = 0; i < NTEXT; i++) {
		int r = edit_ref(pat, text + i * TLEN);
		errors += (d1[i] != r) + (d2[i] != r);
	}
	for (k = 0; k < NKNAP; k++) {
		int dp[CAP] = {0};
		for (i = 0; i < NITEM; i++)
			for (j = CAP - 1; j >= wt[k * NITEM + i]; j--)
				dp[j] = MAX(dp[j], dp[j - wt[k * NITEM + i]] + vl[k * NITEM + i]);
		errors += dp[CAP - 1] != best[k];
	}
	for (k = 0; k < NPAIR; k++) {
		static short t[LLEN + 1][LLEN + 1];
		for (i = 1; i <= LLEN; i++)
			for (j = 1; j <= LLEN; j++)
				t[i][j] = la[k * LLEN + i - 1] == lb[k * LLEN + j - 1] ? t[i - 1][j - 1] + 1
				                                                       : MAX(t[i - 1][j], t[i][j - 1]);
		errors += t[LLEN][LLEN] != lens[k];
	}
	cudaFree(dtext); cudaFree(dtextT); cudaFree(dla); cudaFree(dlb); cudaFree(dpeq);
	cudaFree(dd1); cudaFree(dd2); cudaFree(dw); cudaFree(dv); cudaFree(db); cudaFree(dl);
	if (errors) { printf("FAILED: %d errors\n", errors); return 1; }
	printf("OK\n");
	return 0;
}
