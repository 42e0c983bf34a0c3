// Genome-wide association on PLINK-style 2-bit genotypes (4 samples a byte, SNP-major).
// Kernels: allele counts by popcount, score test against a phenotype, LD (r^2) inside windows, polygenic scores,
// and a sample relationship matrix on unpacked tiles.
#include <cstdint>
#include <cstdio>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>
#include <random>
#include <cuda_runtime.h>
using namespace std;

typedef unsigned int u32;
const int SAMPLES_PER_WORD = 16;

#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line)
{
	if (code != cudaSuccess)
	{
		fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
		exit(code);
	}
}

struct SnpCounts
{
	u32 hom_ref, het, hom_alt, missing;
};

// genotype codes: 0 hom ref, 1 missing, 2 het, 3 hom alt (PLINK)
__global__ void count_alleles(const u32* __restrict__ bed, SnpCounts* counts, int words_per_snp, int samples)
{
	// a warp works on one SNP
	int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
	int lane = threadIdx.x & 31;
	const u32* snp = bed + (size_t)warp * words_per_snp;
	u32 het = 0, alt = 0, mis = 0;
	for (int w = lane; w < words_per_snp; w += 32)
	{
		u32 g = snp[w];
		u32 lo = g & 0x55555555u;
		u32 hi = (g >> 1) & 0x55555555u;
		het += __popc(hi & ~lo);
		alt += __popc(hi & lo);
		mis += __popc(lo & ~hi);
	}
	for (int off = 16; off > 0; off /= 2)
	{
		het += __shfl_down_sync(0xffffffff, het, off);
		alt += __shfl_down_sync(0xffffffff, alt, off);
		mis += __shfl_down_sync(0xffffffff, mis, off);
	}
	if (lane == 0)
	{
		counts[warp].het = het;
		counts[warp].hom_alt = alt;
		counts[warp].missing = mis;
		counts[warp].hom_ref = samples - het - alt - mis;
	}
}

__host__ __device__ inline float dosage(u32 code)
{
	return code == 3 ? 2.0f : code == 2 ? 1.0f : 0.0f;
}

// one thread a SNP, walks over the samples: simple and slow
__global__ void score_test(const u32* bed, const float* pheno, float* score, int snps, int words_per_snp, int samples)
{
	int s = blockIdx.x * blockDim.x + threadIdx.x;
	if (s >= snps) return;
	float acc = 0.0f;
	for (int w = 0; w < words_per_snp; w++)
	{
		u32 g = bed[s * words_per_snp + w];
		int n = min(SAMPLES_PER_WORD, samples - w * SAMPLES_PER_WORD);
		for (int i = 0; i < n; i++)
		{
			acc += dosage((g >> (2 * i)) & 3u) * pheno[w * SAMPLES_PER_WORD + i];
		}
	}
	score[s] = acc;
}

#define LD_WINDOW 32
// r^2 of all pairs inside a window of 32 neighbouring SNPs; the window's genotypes sit in shared memory
__global__ void ld_window(const u32* __restrict__ bed, const SnpCounts* __restrict__ counts, float* r2, int words_per_snp, int samples)
{
	extern __shared__ u32 win[];
	int first = blockIdx.x * LD_WINDOW;
	for (int i = threadIdx.y * blockDim.x + threadIdx.x; i < LD_WINDOW * words_per_snp; i += blockDim.x * blockDim.y)
		win[i] = bed[(size_t)first * words_per_snp + i];
	__syncthreads();
	for (int b = threadIdx.y; b < LD_WINDOW; b += blockDim.y)
	{
		int a = threadIdx.x;
		int dot = 0;
		for (int w = 0; w < words_per_snp; w++)
		{
			u32 ga = win[a * words_per_snp + w], gb = win[b * words_per_snp + w];
			u32 ha = (ga >> 1) & 0x55555555u, hb = (gb >> 1) & 0x55555555u;
			u32 la = ga & ha, lb = gb & hb;         // hom alt
			// (ha + la) * (hb + lb) summed
			dot += __popc(ha & hb) + __popc(ha & lb) + __popc(la & hb) + __popc(la & lb);
		}
		SnpCounts ca = counts[first + a], cb = counts[first + b];
		float n = samples;
		float ma = (ca.het + 2.0f * ca.hom_alt) / n, mb = (cb.het + 2.0f * cb.hom_alt) / n;
		float va = (ca.het + 4.0f * ca.hom_alt) / n - ma * ma, vb = (cb.het + 4.0f * cb.hom_alt) / n - mb * mb;
		float cov = dot / n - ma * mb;
		r2[((size_t)blockIdx.x * LD_WINDOW + b) * LD_WINDOW + a] = cov * cov / (va * vb);
	}
}

// polygenic score: thread = sample, coalesced over samples only inside a word
__global__ void polygenic(const u32* __restrict__ bed, const float* __restrict__ beta, float* __restrict__ prs, int snps, int words_per_snp, int samples)
{
	__shared__ float s_beta[128];
	int sample = blockIdx.x * 128 + threadIdx.x;
	int word = sample / SAMPLES_PER_WORD, shift = 2 * (sample % SAMPLES_PER_WORD);
	float acc = 0;
	for (int base = 0; base < snps; base += 128)
	{
		int count = min(128, snps - base);
		if (threadIdx.x < count)
			s_beta[threadIdx.x] = beta[base + threadIdx.x];
		__syncthreads();
		if (sample < samples)
			for (int k = 0; k < count; k++)
				acc += s_beta[k] * dosage((bed[(base + k) * words_per_snp + word] >> shift) & 3u);
		__syncthreads();
	}
	if (sample < samples) prs[sample] = acc;
}

// G = X X^T / snps for 16x16 tiles of samples; every word brings 16 samples of a SNP
__global__ void relationship(const u32* __restrict__ bed, float* __restrict__ grm, int snps, int words_per_snp, int samples)
{
	__shared__ float rows[16][32 + 1];
	__shared__ float cols[16][32];
	int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
	float acc = 0;
	for (int base = 0; base < snps; base += 32)
	{
		if (threadIdx.x < 32)
		{
			u32 g = base + threadIdx.x < snps ? bed[(base + threadIdx.x) * words_per_snp + blockIdx.y] : 0;
			for (int i = 0; i < 16; i++) rows[i][threadIdx.x] = dosage((g >> (2 * i)) & 3u);
		}
		else if (threadIdx.x < 64)
		{
			int k = threadIdx.x - 32;
			u32 g = base + k < snps ? bed[(base + k) * words_per_snp + blockIdx.x] : 0;
			for (int i = 0; i < 16; i++) cols[i][k] = dosage((g >> (2 * i)) & 3u);
		}
		__syncthreads();
		for (int k = 0; k < 32; k++)
			acc += rows[ty][k] * cols[tx][k];
		__syncthreads();
	}
	int r = blockIdx.y * 16 + ty, c = blockIdx.x * 16 + tx;
	if (r < samples && c < samples)
		grm[(size_t)r * samples + c] = acc / snps;
}

int main(int argc, char** argv)
{
	int snps = 320, samples = 500;
	if (argc == 3) { snps = stoi(argv[1]); samples = stoi(argv[2]); }
	int wps = (samples + SAMPLES_PER_WORD - 1) / SAMPLES_PER_WORD;
	vector<u32> bed(snps * wps, 0);
	vector<float> X(snps * samples), pheno(samples), beta(snps);
	mt19937 rng(2024);
	for (int s = 0; s < snps; s++)
	{
		for (int i = 0; i < samples; i++)
		{
			u32 r = rng() % 16;
			u32 code = r < 7 ? 0 : r < 12 ? 2 : r < 15 ? 3 : 1;
			bed[s * wps + i / 16] |= code << (2 * (i % 16));
			X[s * samples + i] = dosage(code);
		}
		beta[s] = (int(rng() % 200) - 100) / 500.0f;
	}
	for (auto& p : pheno) p = (int(rng() % 2000) - 1000) / 700.0f;

	u32* d_bed; SnpCounts* d_counts; float *d_pheno, *d_score, *d_r2, *d_beta, *d_prs, *d_grm;
	gpuErrchk(cudaMalloc(&d_bed, bed.size() * sizeof(u32)));
	gpuErrchk(cudaMalloc(&d_counts, snps * sizeof(SnpCounts)));
	gpuErrchk(cudaMalloc(&d_pheno, samples * sizeof(float)));
	gpuErrchk(cudaMalloc(&d_score, snps * sizeof(float)));
	gpuErrchk(cudaMalloc(&d_r2, snps * LD_WINDOW * sizeof(float)));
	gpuErrchk(cudaMalloc(&d_beta, snps * sizeof(float)));
	gpuErrchk(cudaMalloc(&d_prs, samples * sizeof(float)));
	gpuErrchk(cudaMalloc(&d_grm, samples * samples * sizeof(float)));
	gpuErrchk(cudaMemcpy(d_bed, bed.data(), bed.size() * sizeof(u32), cudaMemcpyHostToDevice));
	gpuErrchk(cudaMemcpy(d_pheno, pheno.data(), samples * sizeof(float), cudaMemcpyHostToDevice));
	gpuErrchk(cudaMemcpy(d_beta, beta.data(), snps * sizeof(float), cudaMemcpyHostToDevice));

	count_alleles<<<snps / 4, 128>>>(d_bed, d_counts, wps, samples);
	score_test<<<(snps + 63) / 64, 64>>>(d_bed, d_pheno, d_score, snps, wps, samples);
	ld_window<<<snps / LD_WINDOW, dim3(LD_WINDOW, 4), LD_WINDOW * wps * sizeof(u32)>>>(d_bed, d_counts, d_r2, wps, samples);
	polygenic<<<(samples + 127) / 128, 128>>>(d_bed, d_beta, d_prs, snps, wps, samples);
	relationship<<<dim3(wps, wps), 256>>>(d_bed, d_grm, snps, wps, samples);
	gpuErrchk(cudaPeekAtLastError());
	gpuErrchk(cudaDeviceSynchronize());

	vector<float> score(snps), r2(snps * LD_WINDOW), prs(samples), grm(samples * samples);
	gpuErrchk(cudaMemcpy(score.data(), d_score, score.size() * 4, cudaMemcpyDeviceToHost));
	gpuErrchk(cudaMemcpy(r2.data(), d_r2, r2.size() * 4, cudaMemcpyDeviceToHost));
	gpuErrchk(cudaMemcpy(prs.data(), d_prs, prs.size() * 4, cudaMemcpyDeviceToHost));
	gpuErrchk(cudaMemcpy(grm.data(), d_grm, grm.size() * 4, cudaMemcpyDeviceToHost));
	int bad = 0;
	auto close = [&](double a, double b) { if (fabs(a - b) > 2e-3 * (1 + fabs(b))) bad++; };
	for (int s = 0; s < snps; s++)
	{
		double sc = 0;
		for (int i = 0; i < samples; i++) sc += X[s * samples + i] * pheno[i];
		close(score[s], sc);
		for (int b = s / 32 * 32; b < s / 32 * 32 + 32; b++)
		{
			double ma = 0, mb = 0, va = 0, vb = 0, ab = 0;
			for (int i = 0; i < samples; i++)
			{
				double x = X[s * samples + i], y = X[b * samples + i];
				ma += x / samples; mb += y / samples; va += x * x / samples; vb += y * y / samples; ab += x * y / samples;
			}
			close(r2[b * 32 + s % 32], pow(ab - ma * mb, 2) / ((va - ma * ma) * (vb - mb * mb)));
		}
	}
	for (int i = 0; i < samples; i++)
	{
		double p = 0;
		for (int s = 0; s < snps; s++) p += beta[s] * X[s * samples + i];
		close(prs[i], p);
		for (int j = 0; j < samples; j += 13)
		{
			double g = 0;
			for (int s = 0; s < snps; s++) g += X[s * samples + i] * X[s * samples + j];
			close(grm[i * samples + j], g / snps);
		}
	}
	printf("%d values differ\n%s\n", bad, bad ? "FAIL" : "PASS");
	return bad ? 1 : 0;
}
