// swk - batched local alignment (affine gaps) and k-mer spectra for short protein/DNA reads
//
// align: one block of 96 threads per pair, thread i owns query residue i, the block sweeps
//        anti-diagonals of the DP matrix.
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>
#include <cuda_runtime.h>

#define MAXQ     96
#define NAA      24
#define GAP_OPEN 11
#define GAP_EXT  1
#define NEG      (-100000)

#define KMER     5
#define NKMER    (1 << (2 * KMER))

#define cuda_ok(stmt) do { cudaError_t rc_ = (stmt); if (rc_ != cudaSuccess) { \
	fprintf(stderr, "[swk] %s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(rc_)); exit(1); } } while (0)

typedef struct {
	int qoff, qlen;
	int toff, tlen;
} pair_t;

typedef struct {
	int score, qend, tend;
} hit_t;

__global__ void sw_align(const uint8_t *__restrict__ qseq, const uint8_t *__restrict__ tseq,
                         const pair_t *__restrict__ pairs, const int8_t *__restrict__ matrix,
                         hit_t *__restrict__ hits)
{
	__shared__ int8_t smat[NAA * NAA];
	__shared__ int h[3][MAXQ + 1];
	__shared__ int f[2][MAXQ + 1];
	__shared__ uint32_t best[MAXQ];
	const int tid = threadIdx.x;
	const pair_t p = pairs[blockIdx.x];

	for (int i = tid; i < NAA * NAA; i += blockDim.x) smat[i] = matrix[i];
	for (int i = tid; i <= MAXQ; i += blockDim.x) {
		h[0][i] = h[1][i] = h[2][i] = 0;
		f[0][i] = f[1][i] = NEG;
	}
	const int8_t *row = smat + (tid < p.qlen ? qseq[p.qoff + tid] : 0) * NAA;
	__syncthreads();

	int hleft = 0, e = NEG;
	uint32_t mybest = 0;
	const int ndiag = p.qlen + p.tlen - 1;
	for (int d = 0; d < ndiag; ++d) {
		const int j = d - tid;
		int hv = 0, fv = NEG;
		if (tid < p.qlen && j >= 0 && j < p.tlen) {
			e = max(hleft - GAP_OPEN, e - GAP_EXT);
			fv = max(h[(d + 2) % 3][tid] - GAP_OPEN, f[(d + 1) & 1][tid] - GAP_EXT);
			hv = h[(d + 1) % 3][tid] + row[tseq[p.toff + j]];
			hv = max(max(hv, 0), max(e, fv));
			hleft = hv;
			const uint32_t key = ((uint32_t)hv << 18) | ((uint32_t)(511 - tid) << 9) | (uint32_t)(511 - j);
			mybest = max(mybest, key);
		}
		h[d % 3][tid + 1] = hv;
		f[d & 1][tid + 1] = fv;
		__syncthreads();
	}

	best[tid] = mybest;
	__syncthreads();
	/* 96 = 3 * 32 */
	if (tid < 32) {
		uint32_t b = max(best[tid], max(best[tid + 32], best[tid + 64]));
		for (int s = 16; s; s >>= 1) b = max(b, __shfl_down_sync(0xffffffffu, b, s));
		if (tid == 0) {
			hits[blockIdx.x].score = b >> 18;
			hits[blockIdx.x].qend = 511 - ((b >> 9) & 511);
			hits[blockIdx.x].tend = 511 - (b & 511);
		}
	}
}

/* ACGT bytes -> 2 bit codes, 16 bases to a word; one thread makes one word */
__global__ void pack2bit(const char *__restrict__ dna, uint32_t *__restrict__ packed, int nbases)
{
	const int w = blockIdx.x * blockDim.x + threadIdx.x;
	const int nwords = (nbases + 15) / 16;
	if (w >= nwords) return;
	uint32_t v = 0;
	for (int i = 0; i < 16; ++i) {
		const int at = w * 16 + i;
		uint32_t c = at < nbases ? (dna[at] >> 1) & 3 : 0;   /* A=0 C=1 T=2 G=3 */
		v |= c << (2 * i);
	}
	packed[w] = v;
}

/* reads are fixed length; each thread complements one base of one read */
__global__ void revcomp(const char *__restrict__ dna, char *__restrict__ out, int nreads, int readlen)
{
	const int r = blockIdx.y * blockDim.y + threadIdx.y;
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (r >= nreads || i >= readlen) return;
	const char b = dna[r * readlen + readlen - 1 - i];
	char c;
	switch (b) {
	case 'A': c = 'T'; break;
	case 'C': c = 'G'; break;
	case 'G': c = 'C'; break;
	default:  c = 'A'; break;
	}
	out[r * readlen + i] = c;
}

/* k-mer spectrum, 16-bit counters paired up in 32-bit words so that atomics work */
__global__ void kmer_count(const uint32_t *__restrict__ packed, uint32_t *__restrict__ spectrum, int nbases)
{
	__shared__ uint32_t cnt[NKMER / 2];
	for (int i = threadIdx.x; i < NKMER / 2; i += blockDim.x) cnt[i] = 0;
	__syncthreads();
	const int last = nbases - KMER;
	for (int pos = blockIdx.x * blockDim.x + threadIdx.x; pos <= last; pos += gridDim.x * blockDim.x) {
		const int w = pos >> 4, sh = (pos & 15) * 2;
		uint32_t lo = packed[w] >> sh;
		if (sh > 32 - 2 * KMER) lo |= packed[w + 1] << (32 - sh);
		const uint32_t code = lo & (NKMER - 1);
		atomicAdd(&cnt[code >> 1], (code & 1) ? 0x10000u : 1u);
	}
	__syncthreads();
	for (int i = threadIdx.x; i < NKMER; i += blockDim.x) {
		const uint32_t c = ((const uint16_t *)cnt)[i];
		if (c) atomicAdd(&spectrum[i], c);
	}
}

static int cpu_sw(const uint8_t *q, int m, const uint8_t *t, int n, const int8_t *mat, int *qe, int *te)
{
	int *H = (int *)calloc((m + 1) * (n + 1), sizeof(int));
	int *F = (int *)malloc((n + 1) * sizeof(int));
	int best = 0;
	*qe = 511; *te = 511;
	for (int j = 0; j <= n; ++j) F[j] = NEG;
	for (int i = 1; i <= m; ++i) {
		int E = NEG;
		for (int j = 1; j <= n; ++j) {
			int up = H[(i - 1) * (n + 1) + j], left = H[i * (n + 1) + j - 1];
			E = (left - GAP_OPEN > E - GAP_EXT) ? left - GAP_OPEN : E - GAP_EXT;
			F[j] = (up - GAP_OPEN > F[j] - GAP_EXT) ? up - GAP_OPEN : F[j] - GAP_EXT;
			int v = H[(i - 1) * (n + 1) + j - 1] + mat[q[i - 1] * NAA + t[j - 1]];
			if (v < 0) v = 0;
			if (v < E) v = E;
			if (v < F[j]) v = F[j];
			H[i * (n + 1) + j] = v;
			if (v > best || (v == best && best > 0 && *qe == 511)) { best = v; *qe = i - 1; *te = j - 1; }
		}
	}
	free(H); free(F);
	return best;
}

static uint32_t lcg_state = 2463534242u;
static uint32_t rnd(void)
{
	lcg_state ^= lcg_state << 13; lcg_state ^= lcg_state >> 17; lcg_state ^= lcg_state << 5;
	return lcg_state;
}

int main(void)
{
	const int npairs = 70;
	int fail = 0;
	int8_t mat[NAA * NAA];
	for (int i = 0; i < NAA; ++i)
		for (int j = 0; j <= i; ++j)
			mat[i * NAA + j] = mat[j * NAA + i] = (i == j) ? 4 + (i % 5) : (int8_t)(-4 + (int)((i * 7 + j * 13) % 6));

	pair_t pairs[70];
	int qtot = 0, ttot = 0;
	for (int k = 0; k < npairs; ++k) {
		pairs[k].qlen = 33 + rnd() % (MAXQ - 32);
		pairs[k].tlen = 60 + rnd() % 111;
		pairs[k].qoff = qtot; pairs[k].toff = ttot;
		qtot += pairs[k].qlen; ttot += pairs[k].tlen;
	}
	uint8_t *q = (uint8_t *)malloc(qtot), *t = (uint8_t *)malloc(ttot);
	for (int i = 0; i < qtot; ++i) q[i] = rnd() % 20;
	for (int i = 0; i < ttot; ++i) t[i] = rnd() % 20;
	for (int k = 0; k < npairs; ++k) /* plant a diverged copy of part of the query */
		for (int i = 5; i < pairs[k].qlen - 3 && i + 10 < pairs[k].tlen; ++i)
			if (rnd() % 4 && i % 17 != 9) t[pairs[k].toff + i + (i > 17 ? 10 : 7)] = q[pairs[k].qoff + i];

	uint8_t *dq, *dt; pair_t *dp; int8_t *dm; hit_t *dh;
	cuda_ok(cudaMalloc(&dq, qtot)); cuda_ok(cudaMalloc(&dt, ttot));
	cuda_ok(cudaMalloc(&dp, sizeof pairs)); cuda_ok(cudaMalloc(&dm, sizeof mat));
	cuda_ok(cudaMalloc(&dh, npairs * sizeof(hit_t)));
	cuda_ok(cudaMemcpy(dq, q, qtot, cudaMemcpyHostToDevice));
	cuda_ok(cudaMemcpy(dt, t, ttot, cudaMemcpyHostToDevice));
	cuda_ok(cudaMemcpy(dp, pairs, sizeof pairs, cudaMemcpyHostToDevice));
	cuda_ok(cudaMemcpy(dm, mat, sizeof mat, cudaMemcpyHostToDevice));
	sw_align<<<npairs, MAXQ>>>(dq, dt, dp, dm, dh);
	cuda_ok(cudaGetLastError());
	hit_t hits[70];
	cuda_ok(cudaMemcpy(hits, dh, sizeof hits, cudaMemcpyDeviceToHost));
	for (int k = 0; k < npairs; ++k) {
		int qe, te, s = cpu_sw(q + pairs[k].qoff, pairs[k].qlen, t + pairs[k].toff, pairs[k].tlen, mat, &qe, &te);
		if (s != hits[k].score || qe != hits[k].qend || te != hits[k].tend) {
			if (!fail) printf("pair %d: cpu %d (%d,%d) gpu %d (%d,%d)\n", k, s, qe, te, hits[k].score, hits[k].qend, hits[k].tend);
			++fail;
		}
	}

	/* ---- reads ---- */
	const int nreads = 1503, readlen = 101, nbases = nreads * readlen, nwords = (nbases + 15) / 16;
	char *dna = (char *)malloc(nbases), *rc = (char *)malloc(nbases);
	for (int i = 0; i < nbases; ++i) dna[i] = "ACGTACGGTTACA"[rnd() % 13];
	char *ddna, *drc; uint32_t *dpk, *dsp;
	cuda_ok(cudaMalloc(&ddna, nbases)); cuda_ok(cudaMalloc(&drc, nbases));
	cuda_ok(cudaMalloc(&dpk, (nwords + 1) * sizeof(uint32_t)));
	cuda_ok(cudaMalloc(&dsp, NKMER * sizeof(uint32_t)));
	cuda_ok(cudaMemset(dpk, 0, (nwords + 1) * sizeof(uint32_t)));
	cuda_ok(cudaMemset(dsp, 0, NKMER * sizeof(uint32_t)));
	cuda_ok(cudaMemcpy(ddna, dna, nbases, cudaMemcpyHostToDevice));
	pack2bit<<<(nwords + 127) / 128, 128>>>(ddna, dpk, nbases);
	revcomp<<<dim3((readlen + 31) / 32, (nreads + 5) / 6), dim3(32, 6)>>>(ddna, drc, nreads, readlen);
	kmer_count<<<12, 256>>>(dpk, dsp, nbases);
	cuda_ok(cudaGetLastError());
	uint32_t spec[NKMER], want[NKMER];
	cuda_ok(cudaMemcpy(spec, dsp, sizeof spec, cudaMemcpyDeviceToHost));
	cuda_ok(cudaMemcpy(rc, drc, nbases, cudaMemcpyDeviceToHost));
	memset(want, 0, sizeof want);
	for (int p = 0; p + KMER <= nbases; ++p) {
		uint32_t c = 0;
		for (int i = 0; i < KMER; ++i) c |= (uint32_t)((dna[p + i] >> 1) & 3) << (2 * i);
		++want[c];
	}
	if (memcmp(spec, want, sizeof want)) { printf("spectrum differs\n"); ++fail; }
	for (int r = 0; r < nreads; ++r)
		for (int i = 0; i < readlen; ++i) {
			char b = dna[r * readlen + i], c = b == 'A' ? 'T' : b == 'C' ? 'G' : b == 'G' ? 'C' : 'A';
			if (rc[r * readlen + readlen - 1 - i] != c) ++fail;
		}

	cudaFree(dq); cudaFree(dt); cudaFree(dp); cudaFree(dm); cudaFree(dh);
	cudaFree(ddna); cudaFree(drc); cudaFree(dpk); cudaFree(dsp);
	free(q); free(t); free(dna); free(rc);
	printf(fail ? "FAIL\n" : "PASS\n");
	return fail ? 1 : 0;
}
