// A small neural field: multiresolution hash encoding, spherical harmonics, fully fused MLP with
// weights in shared memory, ray compositing, L2 loss gradient and Adam. Forward checks against a CPU model.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK_THROW(x) do { cudaError_t r = (x); if (r != cudaSuccess) { fprintf(stderr, "%s failed: %s\n", #x, cudaGetErrorString(r)); exit(1); } } while (0)

namespace tcnn {
using namespace nvcuda;
constexpr uint32_t N_THREADS_LINEAR = 128;
template <typename T> constexpr __host__ __device__ T div_round_up(T v, T d) { return (v + d - 1) / d; }

enum MatrixLayout { RM, CM, SoA = RM, AoS = CM };
template <typename T> struct MatrixView {
	T* data; uint32_t stride_i, stride_j;
	__host__ __device__ MatrixView(T* d, uint32_t si, uint32_t sj) : data(d), stride_i(si), stride_j(sj) {}
	__host__ __device__ T& operator()(uint32_t i, uint32_t j = 0) const { return data[i * stride_i + j * stride_j]; }
	__host__ __device__ void advance_cols(uint32_t n) { data += n * stride_j; }
};
template <typename T> struct GPUMatrix {
	T* m_data = nullptr; uint32_t m_rows, m_cols; MatrixLayout m_layout;
	GPUMatrix(uint32_t m, uint32_t n, MatrixLayout l) : m_rows(m), m_cols(n), m_layout(l) { CUDA_CHECK_THROW(cudaMalloc(&m_data, (size_t)m * n * sizeof(T))); CUDA_CHECK_THROW(cudaMemset(m_data, 0, (size_t)m * n * sizeof(T))); }
	~GPUMatrix() { cudaFree(m_data); }
	GPUMatrix(const GPUMatrix&) = delete;
	MatrixView<T> view() const { return {m_data, m_layout == CM ? 1u : m_cols, m_layout == CM ? m_rows : 1u}; }
	std::vector<T> to_cpu_vector() const { std::vector<T> v((size_t)m_rows * m_cols); CUDA_CHECK_THROW(cudaMemcpy(v.data(), m_data, v.size() * sizeof(T), cudaMemcpyDeviceToHost)); return v; }
	void copy_from(const std::vector<T>& v) { CUDA_CHECK_THROW(cudaMemcpy(m_data, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice)); }
};
template <typename K, typename... A> inline void linear_kernel(K kernel, uint32_t n, A... args) {
	if (n == 0) return;
	kernel<<<div_round_up(n, N_THREADS_LINEAR), N_THREADS_LINEAR>>>(n, args...);
	CUDA_CHECK_THROW(cudaGetLastError());
}

__host__ __device__ inline uint32_t coherent_prime_hash(const uint32_t p[3]) { return p[0] ^ (p[1] * 2654435761u) ^ (p[2] * 805459861u); }
__host__ __device__ inline uint32_t grid_index(uint32_t hashmap_size, uint32_t res, const uint32_t p[3]) {
	uint32_t stride = 1, index = 0;
	for (uint32_t d = 0; d < 3 && stride <= hashmap_size; ++d) { index += p[d] * stride; stride *= res; }
	if (hashmap_size < stride) index = coherent_prime_hash(p);
	return index % hashmap_size;
}
__host__ __device__ inline float grid_scale(uint32_t level, float log2_per_level, uint32_t base) { return exp2f(level * log2_per_level) * base - 1.0f; }
__host__ __device__ inline uint32_t grid_resolution(float scale) { return (uint32_t)ceilf(scale) + 1; }

template <typename T, uint32_t N_FEATURES>
__global__ void kernel_grid(const uint32_t num_elements, const uint32_t* __restrict__ offset_table, const uint32_t base_resolution, const float log2_per_level_scale,
	const T* __restrict__ grid, MatrixView<const float> positions_in, T* __restrict__ encoded_positions) {
	const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= num_elements) return;
	const uint32_t level = blockIdx.y;
	grid += offset_table[level] * N_FEATURES;
	const uint32_t hashmap_size = offset_table[level + 1] - offset_table[level];
	const float scale = grid_scale(level, log2_per_level_scale, base_resolution);
	const uint32_t resolution = grid_resolution(scale);
	float pos[3]; uint32_t pos_grid[3];
	#pragma unroll
	for (uint32_t d = 0; d < 3; ++d) {
		float p = fmaf(scale, positions_in(d, i), 0.5f), f = floorf(p);
		pos_grid[d] = (uint32_t)(int)f; pos[d] = p - f;
	}
	float result[N_FEATURES] = {};
	#pragma unroll
	for (uint32_t idx = 0; idx < 8; ++idx) {
		float weight = 1; uint32_t local[3];
		#pragma unroll
		for (uint32_t d = 0; d < 3; ++d) {
			if ((idx & (1 << d)) == 0) { weight *= 1 - pos[d]; local[d] = pos_grid[d]; } else { weight *= pos[d]; local[d] = pos_grid[d] + 1; }
		}
		const uint32_t index = grid_index(hashmap_size, resolution, local) * N_FEATURES;
		const half2 val = *(const half2*)&grid[index];
		result[0] += weight * __low2float(val); result[1] += weight * __high2float(val);
	}
	#pragma unroll
	for (uint32_t f = 0; f < N_FEATURES; ++f) encoded_positions[i + (level * N_FEATURES + f) * num_elements] = (T)result[f];   // SoA
}

__global__ void transpose_encoded_position(const uint32_t n_elements, const half* __restrict__ encoded, MatrixView<half> output, uint32_t rows) {
	const uint32_t i = threadIdx.y + blockIdx.x * blockDim.y;
	const uint32_t dim = threadIdx.x;
	if (i >= n_elements || dim >= rows) return;
	output(dim, i) = encoded[i + n_elements * dim];
}

template <typename T>
__global__ void kernel_sh(const uint32_t n, MatrixView<const float> dirs, MatrixView<T> out, uint32_t row0) {
	const uint32_t i = threadIdx.x + blockIdx.x * blockDim.x;
	if (i >= n) return;
	float x = dirs(0, i) * 2.f - 1.f, y = dirs(1, i) * 2.f - 1.f, z = dirs(2, i) * 2.f - 1.f;
	float xy = x * y, xz = x * z, yz = y * z, x2 = x * x, y2 = y * y, z2 = z * z;
	out(row0 + 0, i) = (T)(0.28209479177387814f);
	out(row0 + 1, i) = (T)(-0.48860251190291987f * y);
	out(row0 + 2, i) = (T)(0.48860251190291987f * z);
	out(row0 + 3, i) = (T)(-0.48860251190291987f * x);
	out(row0 + 4, i) = (T)(1.0925484305920792f * xy);
	out(row0 + 5, i) = (T)(-1.0925484305920792f * yz);
	out(row0 + 6, i) = (T)(0.94617469575755997f * z2 - 0.31539156525251999f);
	out(row0 + 7, i) = (T)(-1.0925484305920792f * xz);
	out(row0 + 8, i) = (T)(0.54627421529603959f * x2 - 0.54627421529603959f * y2);
}

// activations in shared memory, SKEW halves of padding per row
template <int WIDTH, int N_ITERS, int SKEW, bool RELU>
__device__ void threadblock_layer(half* __restrict__ act_shmem, const half* __restrict__ weights_this_layer) {
	constexpr uint32_t N_BLOCKS = WIDTH / 16;
	wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> act_frag;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> weights_frag[N_BLOCKS];
	wmma::fragment<wmma::accumulator, 16, 16, 16, half> result_frag[N_ITERS];
	const uint32_t wi = threadIdx.y, weights_col = 16 * wi;
	__syncthreads();
	#pragma unroll
	for (uint32_t i = 0; i < N_BLOCKS; ++i) wmma::load_matrix_sync(weights_frag[i], weights_this_layer + 16 * i + weights_col * (WIDTH + SKEW), WIDTH + SKEW);
	#pragma unroll
	for (int l = 0; l < N_ITERS; ++l) {
		wmma::fill_fragment(result_frag[l], __float2half(0.0f));
		#pragma unroll
		for (uint32_t i = 0; i < N_BLOCKS; ++i) {
			wmma::load_matrix_sync(act_frag, act_shmem + 16 * i + (16 * l) * (WIDTH + SKEW), WIDTH + SKEW);
			wmma::mma_sync(result_frag[l], act_frag, weights_frag[i], result_frag[l]);
		}
		if (RELU) {
			#pragma unroll
			for (int t = 0; t < result_frag[l].num_elements; t++) result_frag[l].x[t] = __hmax(result_frag[l].x[t], __float2half(0.f));
		}
	}
	__syncthreads();
	#pragma unroll
	for (int l = 0; l < N_ITERS; ++l) wmma::store_matrix_sync(act_shmem + weights_col + l * 16 * (WIDTH + SKEW), result_frag[l], WIDTH + SKEW, wmma::mem_row_major);
}

template <int WIDTH, int N_ITERS, int SKEW>
__global__ void kernel_mlp_fused(const half* __restrict__ input /* CM: WIDTH x batch */, const half* __restrict__ weights, half* __restrict__ out, uint32_t n_layers) {
	extern __shared__ half shmem[];
	half* act = shmem;
	half* w = shmem + 16 * N_ITERS * (WIDTH + SKEW);
	const uint32_t li = threadIdx.x, wi = threadIdx.y;
	const uint32_t elem_idx = 16 * blockIdx.x * N_ITERS, t = wi * 32 + li, nt = blockDim.y * 32;
	for (uint32_t v = t; v < 16 * N_ITERS * WIDTH / 8; v += nt) {
		uint32_t r = v / (WIDTH / 8), c = v % (WIDTH / 8) * 8;
		*(int4*)&act[r * (WIDTH + SKEW) + c] = *(const int4*)&input[(size_t)(elem_idx + r) * WIDTH + c];
	}
	for (uint32_t layer = 0; layer < n_layers; ++layer) {
		__syncthreads();
		for (uint32_t v = t; v < WIDTH * WIDTH / 8; v += nt) {
			uint32_t r = v / (WIDTH / 8), c = v % (WIDTH / 8) * 8;
			*(int4*)&w[r * (WIDTH + SKEW) + c] = *(const int4*)&weights[(size_t)layer * WIDTH * WIDTH + r * WIDTH + c];
		}
		if (layer + 1 < n_layers) threadblock_layer<WIDTH, N_ITERS, SKEW, true>(act, w); else threadblock_layer<WIDTH, N_ITERS, SKEW, false>(act, w);
	}
	__syncthreads();
	for (uint32_t v = t; v < 16 * N_ITERS * WIDTH / 8; v += nt) {
		uint32_t r = v / (WIDTH / 8), c = v % (WIDTH / 8) * 8;
		*(int4*)&out[(size_t)(elem_idx + r) * WIDTH + c] = *(int4*)&act[r * (WIDTH + SKEW) + c];
	}
}

// rgb in rows 0..2, log density in row 3; ray r owns samples [numsteps[2r+1], +numsteps[2r])
__global__ void composite_kernel(const uint32_t n_rays, const uint32_t* __restrict__ numsteps, MatrixView<const half> net, const float dt, float4* __restrict__ rgba) {
	const uint32_t i = threadIdx.x + blockIdx.x * blockDim.x;
	if (i >= n_rays) return;
	const uint32_t n = numsteps[i * 2], base = numsteps[i * 2 + 1];
	float T = 1.f, r = 0, g = 0, b = 0;
	for (uint32_t j = 0; j < n; ++j) {
		if (T < 1e-4f) break;
		float density = __expf((float)net(3, base + j)), alpha = 1.f - __expf(-density * dt), weight = alpha * T;
		r += weight / (1.f + __expf(-(float)net(0, base + j)));
		g += weight / (1.f + __expf(-(float)net(1, base + j)));
		b += weight / (1.f + __expf(-(float)net(2, base + j)));
		T *= 1.f - alpha;
	}
	rgba[i] = make_float4(r, g, b, 1.f - T);
}

__global__ void l2_loss(const uint32_t n_elements, const uint32_t dims, const float scale, const half* __restrict__ pred, const float* __restrict__ target, float* __restrict__ values, half* __restrict__ grads) {
	const uint32_t i = threadIdx.x + blockIdx.x * blockDim.x;
	if (i >= n_elements) return;
	const uint32_t intra = i % 64, inter = i / 64;
	if (intra >= dims) { values[i] = 0; grads[i] = 0.f; return; }
	const float diff = (float)pred[i] - target[inter * dims + intra];
	values[i] = diff * diff / (n_elements / 64 * dims);
	grads[i] = (half)(scale * 2 * diff / (n_elements / 64 * dims));
}
template <typename T> __global__ void adam_step(const uint32_t n, const float lr, const float b1, const float b2, float* __restrict__ master, T* __restrict__ weights, const T* __restrict__ grads, float* __restrict__ m1, float* __restrict__ m2, uint32_t* __restrict__ steps) {
	const uint32_t i = threadIdx.x + blockIdx.x * blockDim.x;
	if (i >= n) return;
	const float g = (float)grads[i] / 128.f;
	if (g == 0) return;
	const float m = m1[i] = b1 * m1[i] + (1 - b1) * g, v = m2[i] = b2 * m2[i] + (1 - b2) * g * g;
	const uint32_t s = ++steps[i];
	const float nw = master[i] - lr * sqrtf(1 - powf(b2, s)) / (1 - powf(b1, s)) * m / (sqrtf(v) + 1e-8f);
	master[i] = nw; weights[i] = (T)nw;
}
}  // namespace tcnn
using namespace tcnn;

struct pcg32 { uint64_t s = 0x853c49e6748fea9bull; uint32_t next() { uint64_t o = s; s = o * 6364136223846793005ull + 0xda3e39cb94b95bdbull; uint32_t x = ((o >> 18u) ^ o) >> 27u, r = o >> 59u; return (x >> r) | (x << ((~r + 1u) & 31)); } float f() { return (next() >> 8) * (1.f / 16777216.f); } };

int main() {
	const uint32_t B = 128 * 75, L = 12, F = 2, W = 64, LAYERS = 3, base = 12;
	const float log2s = log2f(1.47f);
	pcg32 rng;
	std::vector<uint32_t> offs{0};
	for (uint32_t l = 0; l < L; ++l) {
		uint64_t res = grid_resolution(grid_scale(l, log2s, base)), n = res * res * res;
		offs.push_back(offs.back() + (uint32_t)std::min<uint64_t>((n + 7) / 8 * 8, 1u << 14));
	}
	std::vector<half> table(offs.back() * F), wts(LAYERS * W * W);
	for (auto& x : table) x = __float2half(rng.f() * 2 - 1);
	for (auto& x : wts) x = __float2half((rng.f() * 2 - 1) * 0.2f);
	std::vector<float> pos(3 * B), dir(3 * B);
	for (auto& x : pos) x = rng.f();
	for (auto& x : dir) x = rng.f();
	GPUMatrix<half> g_table(1, table.size(), RM), g_w(1, wts.size(), RM), enc(L * F, B, SoA), in(W, B, AoS), out(W, B, AoS), out2(W, B, AoS);
	GPUMatrix<float> g_pos(3, B, AoS), g_dir(3, B, SoA);
	GPUMatrix<uint32_t> g_off(1, L + 1, RM);
	g_table.copy_from(table); g_w.copy_from(wts); g_pos.copy_from(pos); g_dir.copy_from(dir); g_off.copy_from(offs);
	auto cview = [](auto& m, auto tag) { auto v = m.view(); return MatrixView<const decltype(tag)>(v.data, v.stride_i, v.stride_j); };

	kernel_grid<half, F><<<dim3(div_round_up(B, 512u), L), 512>>>(B, g_off.m_data, base, log2s, g_table.m_data, cview(g_pos, 0.f), enc.m_data);
	transpose_encoded_position<<<div_round_up(B, 8u), dim3(32, 8)>>>(B, enc.m_data, in.view(), L * F);
	linear_kernel(kernel_sh<half>, B, cview(g_dir, 0.f), in.view(), L * F);
	constexpr int ITERS = 8;
	const uint32_t sh8 = (16 * ITERS + W) * (W + 8) * sizeof(half), sh0 = (16 * ITERS + W) * W * sizeof(half);
	kernel_mlp_fused<W, ITERS, 8><<<B / (16 * ITERS), dim3(32, W / 16), sh8>>>(in.m_data, g_w.m_data, out.m_data, LAYERS);
	kernel_mlp_fused<W, ITERS, 0><<<B / (16 * ITERS), dim3(32, W / 16), sh0>>>(in.m_data, g_w.m_data, out2.m_data, LAYERS);
	CUDA_CHECK_THROW(cudaGetLastError());

	// CPU model
	auto h_in = in.to_cpu_vector(); auto h_out = out.to_cpu_vector(); auto h_out2 = out2.to_cpu_vector();
	double e_enc = 0, e_mlp = 0, e_skew = 0;
	for (uint32_t i = 0; i < B; i += 3) {
		for (uint32_t l = 0; l < L; ++l) {
			float sc = grid_scale(l, log2s, base); uint32_t res = grid_resolution(sc), pg[3]; float fr[3];
			for (int d = 0; d < 3; ++d) { float p = fmaf(sc, pos[i * 3 + d], 0.5f); pg[d] = (uint32_t)floorf(p); fr[d] = p - floorf(p); }
			float r[2] = {0, 0};
			for (uint32_t c = 0; c < 8; ++c) {
				float w = 1; uint32_t q[3];
				for (int d = 0; d < 3; ++d) { q[d] = pg[d] + (c >> d & 1); w *= c >> d & 1 ? fr[d] : 1 - fr[d]; }
				uint32_t k = offs[l] + grid_index(offs[l + 1] - offs[l], res, q);
				for (int f = 0; f < 2; ++f) r[f] += w * __half2float(table[k * 2 + f]);
			}
			for (int f = 0; f < 2; ++f) e_enc = fmax(e_enc, fabs(r[f] - __half2float(h_in[(size_t)i * W + l * 2 + f])));
		}
		float z = dir[2 * B + i] * 2 - 1;
		e_enc = fmax(e_enc, fabs(0.48860251 * z - __half2float(h_in[(size_t)i * W + L * F + 2])));
	}
	for (uint32_t i = 0; i < B; i += 29) {
		std::vector<float> a(W), b(W);
		for (uint32_t c = 0; c < W; ++c) a[c] = __half2float(h_in[(size_t)i * W + c]);
		for (uint32_t l = 0; l < LAYERS; ++l) {
			for (uint32_t o = 0; o < W; ++o) { float s = 0; for (uint32_t c = 0; c < W; ++c) s += __half2float(wts[(l * W + o) * W + c]) * a[c]; b[o] = l + 1 < LAYERS ? fmaxf(s, 0) : s; }
			a = b;
		}
		for (uint32_t o = 0; o < W; ++o) e_mlp = fmax(e_mlp, fabs(a[o] - __half2float(h_out[(size_t)i * W + o])));
	}
	for (size_t i = 0; i < h_out.size(); ++i) e_skew = fmax(e_skew, fabs(__half2float(h_out[i]) - __half2float(h_out2[i])));
	printf("encoding err %.4g, mlp err %.4g, skewed vs plain %.4g\n", e_enc, e_mlp, e_skew);
	bool ok = e_enc < 5e-3 && e_mlp < 3e-2 && e_skew < 1e-2;

	// compositing of rays with uneven sample counts
	std::vector<uint32_t> steps; uint32_t used = 0, nrays = 0;
	while (true) { uint32_t n = nrays % 7 == 3 ? 0 : 5 + rng.next() % 60; if (used + n > B) break; steps.push_back(n); steps.push_back(used); used += n; nrays++; }
	GPUMatrix<uint32_t> g_steps(2, nrays, CM); g_steps.copy_from(steps);
	GPUMatrix<float4> g_rgba(1, nrays, RM);
	linear_kernel(composite_kernel, nrays, (const uint32_t*)g_steps.m_data, cview(out, half()), 0.1f, g_rgba.m_data);
	auto rgba = g_rgba.to_cpu_vector();
	double e_c = 0;
	for (uint32_t r = 0; r < nrays; ++r) {
		double T = 1, R = 0;
		for (uint32_t j = 0; j < steps[2 * r]; ++j) {
			const half* p = &h_out[(size_t)(steps[2 * r + 1] + j) * W];
			double al = 1 - exp(-exp((double)__half2float(p[3])) * 0.1);
			R += al * T / (1 + exp(-(double)__half2float(p[0]))); T *= 1 - al;
		}
		e_c = fmax(e_c, fmax(fabs(R - rgba[r].x), fabs(1 - T - rgba[r].w)));
	}
	printf("%u rays, composite err %.4g\n", nrays, e_c);
	ok &= e_c < 2e-3;

	// loss + one Adam step on the (pretend) gradient of the output
	std::vector<float> target(B * 4); for (auto& x : target) x = rng.f();
	GPUMatrix<float> g_t(4, B, CM), vals(W, B, CM), master(1, B * W, RM), m1(1, B * W, RM), m2(1, B * W, RM);
	GPUMatrix<half> grads(W, B, CM), wcopy(1, B * W, RM); GPUMatrix<uint32_t> st(1, B * W, RM);
	g_t.copy_from(target);
	linear_kernel(l2_loss, B * W, 4u, 128.f * 1024.f, (const half*)out.m_data, (const float*)g_t.m_data, vals.m_data, grads.m_data);
	linear_kernel(adam_step<half>, B * W, 0.01f, 0.9f, 0.99f, master.m_data, wcopy.m_data, (const half*)grads.m_data, m1.m_data, m2.m_data, st.m_data);
	auto v = vals.to_cpu_vector(); auto gr = grads.to_cpu_vector(); auto nw = master.to_cpu_vector();
	double s = 0, sr = 0; int bad = 0;
	for (uint32_t i = 0; i < B * W; ++i) {
		s += v[i];
		double want = 0;
		if (i % 64 < 4) { double d = __half2float(h_out[i]) - target[i / 64 * 4 + i % 64]; sr += d * d / (B * 4); float g = __half2float(gr[i]); if (g != 0 && fabs(g) > 1e-3) want = g > 0 ? -0.01 : 0.01; else continue; }
		bad += fabs(nw[i] - want) > 1e-3;
	}
	printf("loss %.6f (ref %.6f), adam mismatches %d\n", s, sr, bad);
	ok &= fabs(s - sr) < 1e-3 * sr && bad == 0;
	puts(ok ? "PASS" : "FAIL");
	return ok ? 0 : 1;
}
