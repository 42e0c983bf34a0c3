/** @file   hashgrid_encoding.cu
 *  @brief  Multiresolution hash grid encoding + spherical harmonics + small fused MLP,
 *          forward and backward w.r.t. the grid parameters.
 */

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#define CUDA_CHECK_THROW(x)                                                                                     \
	do {                                                                                                        \
		cudaError_t _result = x;                                                                                \
		if (_result != cudaSuccess)                                                                             \
			throw std::runtime_error(std::string(#x " failed: ") + cudaGetErrorString(_result));                \
	} while (0)

namespace ngp {

constexpr uint32_t N_THREADS_LINEAR = 128;
constexpr uint32_t MAX_N_LEVELS = 32;

template <typename T> __host__ __device__ T div_round_up(T val, T divisor) { return (val + divisor - 1) / divisor; }
template <typename T> __host__ __device__ T next_multiple(T val, T divisor) { return div_round_up(val, divisor) * divisor; }

struct GridOffsetTable {
	uint32_t data[MAX_N_LEVELS + 1] = {};
	uint32_t size = 0;
};

template <typename T, uint32_t N>
struct alignas(sizeof(T) * N) tvec {
	T data[N];
	__host__ __device__ T& operator[](uint32_t i) { return data[i]; }
	__host__ __device__ const T& operator[](uint32_t i) const { return data[i]; }
};

template <typename K, typename... Types>
inline void linear_kernel(K kernel, uint32_t shmem_size, cudaStream_t stream, uint32_t n_elements, Types... args) {
	if (n_elements == 0) return;
	kernel<<<div_round_up(n_elements, N_THREADS_LINEAR), N_THREADS_LINEAR, shmem_size, stream>>>(n_elements, args...);
}

__host__ __device__ inline float grid_scale(uint32_t level, float log2_per_level_scale, uint32_t base_resolution) {
	// The -1 means that `base_resolution` refers to the number of grid _vertices_ rather than the number of cells.
	return exp2f(level * log2_per_level_scale) * base_resolution - 1.0f;
}

__host__ __device__ inline uint32_t grid_resolution(float scale) { return (uint32_t)ceilf(scale) + 1; }

template <uint32_t N_DIMS>
__host__ __device__ uint32_t coherent_prime_hash(const uint32_t (&pos_grid)[N_DIMS]) {
	constexpr uint32_t factors[7] = {1u, 2654435761u, 805459861u, 3674653429u, 2097192037u, 1434869437u, 2165219737u};
	uint32_t result = 0;
#pragma unroll
	for (uint32_t i = 0; i < N_DIMS; ++i) result ^= pos_grid[i] * factors[i];
	return result;
}

template <uint32_t N_DIMS>
__host__ __device__ inline uint32_t grid_index(uint32_t hashmap_size, uint32_t resolution, const uint32_t (&pos_grid)[N_DIMS]) {
	uint32_t stride = 1;
	uint32_t index = 0;
	// The second part of the loop condition is needed to avoid integer overflows in finer levels.
#pragma unroll
	for (uint32_t dim = 0; dim < N_DIMS && stride <= hashmap_size; ++dim) {
		index += pos_grid[dim] * stride;
		stride *= resolution;
	}
	if (hashmap_size < stride) index = coherent_prime_hash<N_DIMS>(pos_grid);
	return index % hashmap_size;
}

__host__ __device__ inline void pos_fract(float input, float* pos, uint32_t* pos_grid, float scale) {
	*pos = fmaf(scale, input, 0.5f);
	float tmp = floorf(*pos);
	*pos_grid = (uint32_t)(int)tmp;
	*pos -= tmp;
}

template <typename T, uint32_t N_POS_DIMS, uint32_t N_FEATURES_PER_LEVEL>
__global__ void kernel_grid(
	const uint32_t num_elements,
	const GridOffsetTable offset_table,
	const uint32_t base_resolution,
	const float log2_per_level_scale,
	const T* __restrict__ grid,
	const float* __restrict__ positions, // SoA: positions[dim * num_elements + i]
	T* __restrict__ encoded_positions    // SoA: encoded[(level * F + f) * num_elements + i]
) {
	const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= num_elements) return;

	const uint32_t level = blockIdx.y; // <- the level is the same for all threads

	grid += offset_table.data[level] * N_FEATURES_PER_LEVEL;
	const uint32_t hashmap_size = offset_table.data[level + 1] - offset_table.data[level];
	const float scale = grid_scale(level, log2_per_level_scale, base_resolution);
	const uint32_t resolution = grid_resolution(scale);

	float pos[N_POS_DIMS];
	uint32_t pos_grid[N_POS_DIMS];
#pragma unroll
	for (uint32_t dim = 0; dim < N_POS_DIMS; ++dim) pos_fract(positions[i + dim * num_elements], &pos[dim], &pos_grid[dim], scale);

	auto grid_val = [&](const uint32_t(&local_pos)[N_POS_DIMS]) {
		const uint32_t index = grid_index<N_POS_DIMS>(hashmap_size, resolution, local_pos) * N_FEATURES_PER_LEVEL;
		return *(const tvec<T, N_FEATURES_PER_LEVEL>*)&grid[index];
	};

	tvec<T, N_FEATURES_PER_LEVEL> result = {};
#pragma unroll
	for (uint32_t idx = 0; idx < (1 << N_POS_DIMS); ++idx) {
		float weight = 1;
		uint32_t pos_grid_local[N_POS_DIMS];
#pragma unroll
		for (uint32_t dim = 0; dim < N_POS_DIMS; ++dim) {
			if ((idx & (1 << dim)) == 0) {
				weight *= 1 - pos[dim];
				pos_grid_local[dim] = pos_grid[dim];
			} else {
				weight *= pos[dim];
				pos_grid_local[dim] = pos_grid[dim] + 1;
			}
		}
		auto val = grid_val(pos_grid_local);
#pragma unroll
		for (uint32_t f = 0; f < N_FEATURES_PER_LEVEL; ++f) result[f] += (T)weight * val[f];
	}
#pragma unroll
	for (uint32_t f = 0; f < N_FEATURES_PER_LEVEL; ++f) encoded_positions[i + (level * N_FEATURES_PER_LEVEL + f) * num_elements] = result[f];
}

template <typename T, uint32_t N_POS_DIMS, uint32_t N_FEATURES_PER_LEVEL, uint32_t N_FEATURES_PER_THREAD>
__global__ void kernel_grid_backward(
	const uint32_t num_elements,
	const GridOffsetTable offset_table,
	const uint32_t base_resolution,
	const float log2_per_level_scale,
	T* __restrict__ grid_gradient,
	const float* __restrict__ positions,
	const T* __restrict__ dL_dy // SoA
) {
	const uint32_t i = ((blockIdx.x * blockDim.x + threadIdx.x) * N_FEATURES_PER_THREAD) / N_FEATURES_PER_LEVEL;
	if (i >= num_elements) return;
	const uint32_t level = blockIdx.y;
	const uint32_t feature = (blockIdx.x * blockDim.x + threadIdx.x) * N_FEATURES_PER_THREAD - i * N_FEATURES_PER_LEVEL;

	grid_gradient += offset_table.data[level] * N_FEATURES_PER_LEVEL;
	const uint32_t hashmap_size = offset_table.data[level + 1] - offset_table.data[level];
	const float scale = grid_scale(level, log2_per_level_scale, base_resolution);
	const uint32_t resolution = grid_resolution(scale);

	float pos[N_POS_DIMS];
	uint32_t pos_grid[N_POS_DIMS];
#pragma unroll
	for (uint32_t dim = 0; dim < N_POS_DIMS; ++dim) pos_fract(positions[i + dim * num_elements], &pos[dim], &pos_grid[dim], scale);

	T grad[N_FEATURES_PER_THREAD];
#pragma unroll
	for (uint32_t f = 0; f < N_FEATURES_PER_THREAD; ++f) grad[f] = dL_dy[i + (level * N_FEATURES_PER_LEVEL + feature + f) * num_elements];

#pragma unroll
	for (uint32_t idx = 0; idx < (1 << N_POS_DIMS); ++idx) {
		float weight = 1;
		uint32_t pos_grid_local[N_POS_DIMS];
#pragma unroll
		for (uint32_t dim = 0; dim < N_POS_DIMS; ++dim) {
			const uint32_t bit = (idx >> dim) & 1;
			weight *= bit ? pos[dim] : 1 - pos[dim];
			pos_grid_local[dim] = pos_grid[dim] + bit;
		}
		const uint32_t index = grid_index<N_POS_DIMS>(hashmap_size, resolution, pos_grid_local) * N_FEATURES_PER_LEVEL + feature;
#pragma unroll
		for (uint32_t f = 0; f < N_FEATURES_PER_THREAD; ++f) atomicAdd(&grid_gradient[index + f], (T)(weight * grad[f]));
	}
}

__host__ __device__ inline void sh_enc(float x, float y, float z, float* out) {
	const float xy = x * y, xz = x * z, yz = y * z, x2 = x * x, y2 = y * y, z2 = z * z;
	out[0] = 0.28209479177387814f;
	out[1] = -0.48860251190291987f * y;
	out[2] = 0.48860251190291987f * z;
	out[3] = -0.48860251190291987f * x;
	out[4] = 1.0925484305920792f * xy;
	out[5] = -1.0925484305920792f * yz;
	out[6] = 0.94617469575755997f * z2 - 0.31539156525251999f;
	out[7] = -1.0925484305920792f * xz;
	out[8] = 0.54627421529603959f * x2 - 0.54627421529603959f * y2;
}

__global__ void kernel_sh(const uint32_t num_elements, const float* __restrict__ dirs, float* __restrict__ data_out) {
	const uint32_t i = threadIdx.x + blockIdx.x * blockDim.x;
	if (i >= num_elements) return;
	float sh[9];
	sh_enc(dirs[i * 3 + 0] * 2.f - 1.f, dirs[i * 3 + 1] * 2.f - 1.f, dirs[i * 3 + 2] * 2.f - 1.f, sh);
#pragma unroll
	for (uint32_t k = 0; k < 9; ++k) data_out[i + k * num_elements] = sh[k];
}

/// IN -> WIDTH (relu) -> OUT, weights staged once per block
template <uint32_t IN, uint32_t WIDTH, uint32_t OUT>
__global__ void kernel_tiny_mlp(
	const uint32_t num_elements,
	const uint32_t n_enc,
	const float* __restrict__ enc,
	const float* __restrict__ sh,
	const float* __restrict__ weights,
	float* __restrict__ rgbs
) {
	__shared__ float w[IN * WIDTH + WIDTH * OUT];
	for (uint32_t k = threadIdx.x; k < IN * WIDTH + WIDTH * OUT; k += blockDim.x) w[k] = weights[k];
	__syncthreads();
	const uint32_t i = threadIdx.x + blockIdx.x * blockDim.x;
	if (i >= num_elements) return;

	float in[IN], out[OUT] = {};
#pragma unroll
	for (uint32_t k = 0; k < IN; ++k) in[k] = k < n_enc ? enc[i + k * num_elements] : sh[i + (k - n_enc) * num_elements];
	for (uint32_t h = 0; h < WIDTH; ++h) {
		float acc = 0;
#pragma unroll
		for (uint32_t k = 0; k < IN; ++k) acc += w[h * IN + k] * in[k];
		acc = fmaxf(acc, 0.0f);
#pragma unroll
		for (uint32_t o = 0; o < OUT; ++o) out[o] += w[IN * WIDTH + o * WIDTH + h] * acc;
	}
#pragma unroll
	for (uint32_t o = 0; o < OUT; ++o) rgbs[i * OUT + o] = 1.0f / (1.0f + expf(-out[o]));
}

template <typename T>
class GPUMemory {
	T* m_data = nullptr;
	size_t m_size = 0;
public:
	explicit GPUMemory(size_t n) : m_size(n) { CUDA_CHECK_THROW(cudaMalloc(&m_data, n * sizeof(T))); CUDA_CHECK_THROW(cudaMemset(m_data, 0, n * sizeof(T))); }
	explicit GPUMemory(const std::vector<T>& v) : GPUMemory(v.size()) { CUDA_CHECK_THROW(cudaMemcpy(m_data, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice)); }
	GPUMemory(const GPUMemory&) = delete;
	~GPUMemory() { cudaFree(m_data); }
	T* data() const { return m_data; }
	std::vector<T> copy_to_host() const { std::vector<T> v(m_size); CUDA_CHECK_THROW(cudaMemcpy(v.data(), m_data, m_size * sizeof(T), cudaMemcpyDeviceToHost)); return v; }
};

} // namespace ngp

using namespace ngp;

int main() {
	try {
		constexpr uint32_t D = 3, F = 2, N_LEVELS = 8, IN = N_LEVELS * F + 9, WIDTH = 32, OUT = 3;
		const uint32_t n = 20000, base_resolution = 8, log2_hashmap_size = 14;
		const float log2_scale = std::log2(1.45f);

		GridOffsetTable table;
		uint32_t offset = 0;
		for (uint32_t l = 0; l < N_LEVELS; ++l) {
			const uint32_t res = grid_resolution(grid_scale(l, log2_scale, base_resolution));
			uint32_t params = next_multiple(res * res * res, 8u);
			params = std::min(params, 1u << log2_hashmap_size);
			table.data[l] = offset;
			offset += params;
		}
		table.data[N_LEVELS] = offset;
		table.size = N_LEVELS + 1;

		std::mt19937 rng{1337};
		std::uniform_real_distribution<float> uni{0.0f, 1.0f};
		std::vector<float> pos(n * D), dirs(n * 3), grid(offset * F), dy(n * N_LEVELS * F), weights(IN * WIDTH + WIDTH * OUT);
		for (auto& v : pos) v = uni(rng);
		for (auto& v : dirs) v = uni(rng);
		for (auto& v : grid) v = uni(rng) * 2.f - 1.f;
		for (auto& v : dy) v = uni(rng) * 2.f - 1.f;
		for (auto& v : weights) v = (uni(rng) * 2.f - 1.f) * 0.4f;

		GPUMemory<float> d_pos(pos), d_dirs(dirs), d_grid(grid), d_dy(dy), d_w(weights);
		GPUMemory<float> d_enc(n * N_LEVELS * F), d_sh(n * 9), d_rgb(n * OUT), d_grad(grid.size());

		const dim3 blocks_hashgrid = {div_round_up(n, 512u), N_LEVELS, 1};
		kernel_grid<float, D, F><<<blocks_hashgrid, 512>>>(n, table, base_resolution, log2_scale, d_grid.data(), d_pos.data(), d_enc.data());
		linear_kernel(kernel_sh, 0, nullptr, n, d_dirs.data(), d_sh.data());
		linear_kernel(kernel_tiny_mlp<IN, WIDTH, OUT>, 0, nullptr, n, N_LEVELS * F, d_enc.data(), d_sh.data(), d_w.data(), d_rgb.data());
		constexpr uint32_t N_FEATURES_PER_THREAD = 1;
		const dim3 blocks_bwd = {div_round_up(n * F / N_FEATURES_PER_THREAD, 256u), N_LEVELS, 1};
		kernel_grid_backward<float, D, F, N_FEATURES_PER_THREAD><<<blocks_bwd, 256>>>(n, table, base_resolution, log2_scale, d_grad.data(), d_pos.data(), d_dy.data());
		CUDA_CHECK_THROW(cudaGetLastError());
		CUDA_CHECK_THROW(cudaDeviceSynchronize());

		auto enc = d_enc.copy_to_host(), sh = d_sh.copy_to_host(), rgb = d_rgb.copy_to_host(), grad = d_grad.copy_to_host();
		double e_enc = 0, e_sh = 0, e_rgb = 0, e_grad = 0;
		std::vector<double> ref_grad(grid.size(), 0.0);
		std::vector<float> in(IN);
		for (uint32_t i = 0; i < n; ++i) {
			for (uint32_t l = 0; l < N_LEVELS; ++l) {
				const float scale = grid_scale(l, log2_scale, base_resolution);
				const uint32_t res = grid_resolution(scale), hs = table.data[l + 1] - table.data[l];
				float fr[D];
				uint32_t pg[D];
				for (uint32_t d = 0; d < D; ++d) pos_fract(pos[i + d * n], &fr[d], &pg[d], scale);
				double acc[F] = {};
				for (uint32_t c = 0; c < 8; ++c) {
					double w = 1;
					uint32_t q[D];
					for (uint32_t d = 0; d < D; ++d) { const bool hi = c >> d & 1; w *= hi ? fr[d] : 1 - fr[d]; q[d] = pg[d] + hi; }
					const size_t at = (size_t)(table.data[l] + grid_index<D>(hs, res, q)) * F;
					for (uint32_t f = 0; f < F; ++f) { acc[f] += w * grid[at + f]; ref_grad[at + f] += w * dy[i + (l * F + f) * n]; }
				}
				for (uint32_t f = 0; f < F; ++f) { e_enc = std::max(e_enc, std::fabs(acc[f] - enc[i + (l * F + f) * n])); in[l * F + f] = (float)acc[f]; }
			}
			float s[9];
			sh_enc(dirs[i * 3] * 2.f - 1.f, dirs[i * 3 + 1] * 2.f - 1.f, dirs[i * 3 + 2] * 2.f - 1.f, s);
			for (uint32_t k = 0; k < 9; ++k) { e_sh = std::max(e_sh, (double)std::fabs(s[k] - sh[i + k * n])); in[N_LEVELS * F + k] = s[k]; }
			double out[OUT] = {};
			for (uint32_t h = 0; h < WIDTH; ++h) {
				float a = 0;
				for (uint32_t k = 0; k < IN; ++k) a += weights[h * IN + k] * in[k];
				if (a > 0) for (uint32_t o = 0; o < OUT; ++o) out[o] += weights[IN * WIDTH + o * WIDTH + h] * a;
			}
			for (uint32_t o = 0; o < OUT; ++o) e_rgb = std::max(e_rgb, std::fabs(1 / (1 + std::exp(-out[o])) - rgb[i * OUT + o]));
		}
		for (size_t k = 0; k < grad.size(); ++k) e_grad = std::max(e_grad, std::fabs(ref_grad[k] - grad[k]) / (1 + std::fabs(ref_grad[k])));
		std::cout << "params " << grid.size() << " errors: enc " << e_enc << " sh " << e_sh << " rgb " << e_rgb << " grad " << e_grad << "\n";
		const bool ok = e_enc < 1e-3 && e_sh < 1e-5 && e_rgb < 1e-3 && e_grad < 2e-3;
		std::cout << (ok ? "PASS" : "FAIL") << std::endl;
		return ok ? 0 : 1;
	} catch (const std::exception& e) {
		std::cout << "Uncaught exception: " << e.what() << std::endl;
		return 1;
	}
}
