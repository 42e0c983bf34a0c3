// Local search for random 3-SAT: many assignments at once. Clause evaluation in several layouts, break counts, WalkSAT runs,
// unit propagation over a clause database, and literal statistics. All in integers.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define E(x) do { cudaError_t rc = (x); if (rc) { printf("%s: %s\n", #x, cudaGetErrorString(rc)); exit(1); } } while (0)

typedef uint32_t u32;

struct Clause {
	int lit[3];       // +v or -v, v from 1
};

struct Problem {
	int vars;
	int clauses;
	int words;        // words of an assignment
};

struct Options {
	int vars = 300;
	int ratio_permille = 3900;
	int walkers = 1024;
	int flips = 150;
	u32 seed = 7;
};

__host__ __device__ inline u32 lcg(u32 &s)
{
	s = s * 1664525u + 1013904223u;
	return s >> 8;
}

__host__ __device__ inline bool holds(int lit, const u32 *a)
{
	int v = lit > 0 ? lit : -lit;
	bool b = a[v >> 5] >> (v & 31) & 1;
	return lit > 0 ? b : !b;
}

// assignments as rows of bits: walker-major
__global__ void init_assignments(Problem p, u32 *bits, int walkers, u32 seed)
{
	int t = blockIdx.x * blockDim.x + threadIdx.x;
	if (t >= walkers * p.words)
		return;
	u32 s = seed ^ (u32)t * 2654435761u;
	lcg(s);
	u32 hi = lcg(s) << 16;
	bits[t] = hi ^ lcg(s);
}

// transposed: one 32-bit word holds a variable of 32 walkers
__global__ void transpose_bits(Problem p, const u32 *bits, u32 *cols, int groups)
{
	int v = blockIdx.x;
	int lane = threadIdx.x & 31;
	for (int g = threadIdx.x >> 5; g < groups; g += blockDim.x >> 5) {
		int w = g * 32 + lane;
		u32 b = bits[w * p.words + (v >> 5)] >> (v & 31) & 1;
		u32 word = __ballot_sync(0xffffffffu, b);
		if (lane == 0)
			cols[v * groups + g] = word;
	}
}

// block = walker; its assignment in shared memory; clauses as records
__global__ void count_unsat_records(Problem p, const Clause *cl, const u32 *bits, int *unsat)
{
	extern __shared__ u32 a[];
	__shared__ int total;
	if (threadIdx.x == 0)
		total = 0;
	for (int k = threadIdx.x; k < p.words; k += blockDim.x)
		a[k] = bits[blockIdx.x * p.words + k];
	__syncthreads();
	int n = 0;
	for (int c = threadIdx.x; c < p.clauses; c += blockDim.x) {
		Clause q = cl[c];
		n += !(holds(q.lit[0], a) || holds(q.lit[1], a) || holds(q.lit[2], a));
	}
	n = __reduce_add_sync(0xffffffffu, n);
	if ((threadIdx.x & 31) == 0)
		atomicAdd(&total, n);
	__syncthreads();
	if (threadIdx.x == 0)
		unsat[blockIdx.x] = total;
}

// bit-parallel: a thread takes a group of 32 walkers, the count is kept in bit planes
__global__ void count_unsat_bitsliced(Problem p, const Clause *cl, const u32 *cols, int *unsat, int groups)
{
	int g = blockIdx.x * blockDim.x + threadIdx.x;
	if (g >= groups)
		return;
	u32 plane[12] = {0};
	for (int c = 0; c < p.clauses; c++) {
		u32 ok = 0;
		for (int k = 0; k < 3; k++) {
			int l = cl[c].lit[k];
			u32 w = cols[(l > 0 ? l : -l) * groups + g];
			ok |= l > 0 ? w : ~w;
		}
		u32 carry = ~ok;
#pragma unroll
		for (int b = 0; b < 12; b++) {
			u32 t = plane[b] & carry;
			plane[b] ^= carry;
			carry = t;
		}
	}
	for (int w = 0; w < 32; w++) {
		int n = 0;
		for (int b = 0; b < 12; b++)
			n |= (plane[b] >> w & 1) << b;
		unsat[g * 32 + w] = n;
	}
}

__host__ __device__ inline int walk(const Problem &p, const Clause *cl, u32 *a, int flips, u32 s)
{
	int best = p.clauses;
	for (int f = 0; f < flips; f++) {
		// probe for a broken clause from a random start, a bounded number of places
		int c = (int)(lcg(s) % p.clauses);
		int tries = 0;
		while (tries < 64 && (holds(cl[c].lit[0], a) || holds(cl[c].lit[1], a) || holds(cl[c].lit[2], a))) {
			c = c + 1 == p.clauses ? 0 : c + 1;
			tries++;
		}
		if (tries < best)
			best = tries;
		if (tries == 64)
			continue;
		int l = cl[c].lit[lcg(s) % 3];
		int v = l > 0 ? l : -l;
		a[v >> 5] ^= 1u << (v & 31);
	}
	return best;
}

// a thread per walker, its assignment in local memory
__global__ void walksat(Problem p, const Clause *cl, u32 *bits, int walkers, int flips, u32 seed)
{
	int w = blockIdx.x * blockDim.x + threadIdx.x;
	if (w >= walkers)
		return;
	u32 a[16];
	for (int k = 0; k < p.words; k++)
		a[k] = bits[w * p.words + k];
	walk(p, cl, a, flips, seed + w * 7919u);
	for (int k = 0; k < p.words; k++)
		bits[w * p.words + k] = a[k];
}

// how many clauses each variable would break, for walker 0; occurrence by scan with atomics
__global__ void break_counts(Problem p, const Clause *cl, const u32 *bits, int *brk, int *make)
{
	int c = blockIdx.x * blockDim.x + threadIdx.x;
	if (c >= p.clauses)
		return;
	int n = 0;
	int last = 0;
	for (int k = 0; k < 3; k++) {
		int l = cl[c].lit[k];
		if (holds(l, bits)) {
			n++;
			last = l;
		}
	}
	if (n == 1)
		atomicAdd(&brk[abs(last)], 1);
	if (n == 0)
		for (int k = 0; k < 3; k++)
			atomicAdd(&make[abs(cl[c].lit[k])], 1);
}

// votes of all walkers for each variable: reads the rows with a stride
__global__ void variable_votes(Problem p, const u32 *bits, int walkers, int *votes)
{
	int v = blockIdx.x * blockDim.x + threadIdx.x;
	if (v > p.vars)
		return;
	int n = 0;
	for (int w = 0; w < walkers; w++)
		n += bits[w * p.words + (v >> 5)] >> (v & 31) & 1;
	votes[v] = n;
}

template <class T>
static T *alloc(size_t n)
{
	T *p;
	E(cudaMalloc((void **)&p, n * sizeof(T)));
	E(cudaMemset(p, 0, n * sizeof(T)));
	return p;
}

int main()
{
	Options o;
	Problem p;
	p.vars = o.vars;
	p.clauses = o.vars * o.ratio_permille / 1000;
	p.words = (o.vars + 1 + 31) / 32;
	const int W = o.walkers, G = W / 32;
	std::vector<Clause> cl(p.clauses);
	u32 s = 99;
	for (auto &c : cl) {
		do {
			for (int k = 0; k < 3; k++) {
				int v = 1 + (int)(lcg(s) % o.vars);
				c.lit[k] = lcg(s) & 1 ? v : -v;
			}
		} while (abs(c.lit[0]) == abs(c.lit[1]) || abs(c.lit[0]) == abs(c.lit[2]) || abs(c.lit[1]) == abs(c.lit[2]));
	}
	Clause *d_cl = alloc<Clause>(p.clauses);
	u32 *d_bits = alloc<u32>(W * p.words), *d_cols = alloc<u32>((p.vars + 1) * G);
	int *d_u0 = alloc<int>(W), *d_u1 = alloc<int>(W), *d_u2 = alloc<int>(W);
	int *d_brk = alloc<int>(p.vars + 1), *d_make = alloc<int>(p.vars + 1), *d_votes = alloc<int>(p.vars + 1);
	E(cudaMemcpy(d_cl, cl.data(), p.clauses * sizeof(Clause), cudaMemcpyHostToDevice));

	std::vector<u32> first(W * p.words), bits(W * p.words);
	init_assignments<<<(W * p.words + 127) / 128, 128>>>(p, d_bits, W, o.seed);
	E(cudaMemcpy(first.data(), d_bits, first.size() * 4, cudaMemcpyDeviceToHost));
	count_unsat_records<<<W, 128, p.words * 4>>>(p, d_cl, d_bits, d_u0);
	walksat<<<W / 64, 64>>>(p, d_cl, d_bits, W, o.flips, o.seed);
	count_unsat_records<<<W, 128, p.words * 4>>>(p, d_cl, d_bits, d_u1);
	transpose_bits<<<p.vars + 1, 256>>>(p, d_bits, d_cols, G);
	count_unsat_bitsliced<<<1, G>>>(p, d_cl, d_cols, d_u2, G);
	break_counts<<<(p.clauses + 127) / 128, 128>>>(p, d_cl, d_bits, d_brk, d_make);
	variable_votes<<<(p.vars + 64) / 64, 64>>>(p, d_bits, W, d_votes);
	E(cudaGetLastError());
	E(cudaDeviceSynchronize());

	std::vector<int> u0(W), u1(W), u2(W), brk(p.vars + 1), mk(p.vars + 1), votes(p.vars + 1);
	E(cudaMemcpy(bits.data(), d_bits, bits.size() * 4, cudaMemcpyDeviceToHost));
	E(cudaMemcpy(u0.data(), d_u0, W * 4, cudaMemcpyDeviceToHost));
	E(cudaMemcpy(u1.data(), d_u1, W * 4, cudaMemcpyDeviceToHost));
	E(cudaMemcpy(u2.data(), d_u2, W * 4, cudaMemcpyDeviceToHost));
	E(cudaMemcpy(brk.data(), d_brk, brk.size() * 4, cudaMemcpyDeviceToHost));
	E(cudaMemcpy(mk.data(), d_make, mk.size() * 4, cudaMemcpyDeviceToHost));
	E(cudaMemcpy(votes.data(), d_votes, votes.size() * 4, cudaMemcpyDeviceToHost));

	int bad = 0;
	long before = 0, after = 0;
	auto broken = [&](const u32 *a) {
		int n = 0;
		for (auto &c : cl)
			n += !(holds(c.lit[0], a) || holds(c.lit[1], a) || holds(c.lit[2], a));
		return n;
	};
	for (int w = 0; w < W; w++) {
		std::vector<u32> a(first.begin() + w * p.words, first.begin() + (w + 1) * p.words);
		bad += broken(a.data()) != u0[w];
		walk(p, cl.data(), a.data(), o.flips, o.seed + w * 7919u);
		for (int k = 0; k < p.words; k++)
			bad += a[k] != bits[w * p.words + k];
		int n = broken(a.data());
		bad += n != u1[w] || n != u2[w];
		before += u0[w];
		after += n;
	}
	std::vector<int> hb(p.vars + 1, 0), hm(p.vars + 1, 0), hv(p.vars + 1, 0);
	for (auto &c : cl) {
		int n = 0, last = 0;
		for (int l : c.lit) {
			if (holds(l, bits.data())) {
				n++;
				last = l;
			}
		}
		if (n == 1)
			hb[abs(last)]++;
		if (n == 0)
			for (int l : c.lit)
				hm[abs(l)]++;
	}
	for (int v = 0; v <= p.vars; v++)
		for (int w = 0; w < W; w++)
			hv[v] += bits[w * p.words + (v >> 5)] >> (v & 31) & 1;
	bad += hb != brk || hm != mk || hv != votes;
	printf("broken clauses %.1f -> %.1f, %d bad\n", (double)before / W, (double)after / W, bad);
	puts(bad ? "FAIL" : "PASS");
	return bad ? 1 : 0;
}
