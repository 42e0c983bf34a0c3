// Semi-global matching: census -> matching cost -> 4-path aggregation -> WTA -> 3x3 median
// All integer arithmetic. Disparity range is fixed at compile time.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

namespace sgm
{

using feature_type = uint64_t;
using cost_type = uint8_t;
using output_type = uint16_t;

static constexpr unsigned int WARP_SIZE = 32u;
static constexpr unsigned int WARPS_PER_BLOCK = 4u;
static constexpr unsigned int BLOCK_SIZE = WARP_SIZE * WARPS_PER_BLOCK;

#define CUDA_SAFE_CALL(error) checkCuda_(error, __FILE__, __LINE__)
static void checkCuda_(cudaError_t error, const char* file, const int line)
{
	if (error != cudaSuccess) {
		fprintf(stderr, "cuda error: %s : %d %s\n", file, line, cudaGetErrorString(error));
		exit(-1);
	}
}

// ---------------------------------------------------------------- census transform 9 x 7
static constexpr int WINDOW_WIDTH = 9;
static constexpr int WINDOW_HEIGHT = 7;
static constexpr int CENSUS_BLOCK = 128;
static constexpr int LINES_PER_BLOCK = 16;

template <typename T>
__global__ void census_transform_kernel(feature_type *dest, const T *src, int width, int height, int pitch)
{
	using pixel_type = T;
	static const int SMEM_BUFFER_SIZE = WINDOW_HEIGHT + 1;

	const int half_kw = WINDOW_WIDTH / 2;
	const int half_kh = WINDOW_HEIGHT / 2;

	__shared__ pixel_type smem_lines[SMEM_BUFFER_SIZE][CENSUS_BLOCK];

	const int tid = threadIdx.x;
	const int x0 = blockIdx.x * (CENSUS_BLOCK - WINDOW_WIDTH + 1) - half_kw;
	const int y0 = blockIdx.y * LINES_PER_BLOCK;

	for (int i = 0; i < WINDOW_HEIGHT; ++i) {
		const int x = x0 + tid, y = y0 - half_kh + i;
		pixel_type value = 0;
		if (0 <= x && x < width && 0 <= y && y < height)
			value = src[x + y * pitch];
		smem_lines[i][tid] = value;
	}
	__syncthreads();

	for (int i = 0; i < LINES_PER_BLOCK; ++i) {
		if (i + 1 < LINES_PER_BLOCK) {
			// Load to smem
			const int x = x0 + tid, y = y0 + half_kh + i + 1;
			pixel_type value = 0;
			if (0 <= x && x < width && 0 <= y && y < height)
				value = src[x + y * pitch];
			smem_lines[(WINDOW_HEIGHT + i) % SMEM_BUFFER_SIZE][tid] = value;
		}

		if (half_kw <= tid && tid < CENSUS_BLOCK - half_kw) {
			// Compute and store
			const int x = x0 + tid, y = y0 + i;
			if (half_kw <= x && x < width - half_kw && half_kh <= y && y < height - half_kh) {
				const pixel_type a = smem_lines[(i + half_kh) % SMEM_BUFFER_SIZE][tid];
				feature_type f = 0;
				for (int dy = -half_kh; dy <= half_kh; ++dy) {
					const int smem_y = (i + half_kh + dy) % SMEM_BUFFER_SIZE;
					for (int dx = -half_kw; dx <= half_kw; ++dx) {
						if (dx != 0 || dy != 0) {
							const pixel_type b = smem_lines[smem_y][tid + dx];
							f = (f << 1) | (a > b);
						}
					}
				}
				dest[x + y * width] = f;
			}
		}
		__syncthreads();
	}
}

// ---------------------------------------------------------------- path aggregation
template <unsigned int SIZE>
__device__ inline uint32_t subgroup_min(uint32_t value, uint32_t mask)
{
	for (unsigned int k = SIZE / 2; k > 0; k >>= 1)
		value = min(value, __shfl_xor_sync(mask, value, k, SIZE));
	return value;
}

// A path is owned by SUBGROUP_SIZE lanes, each of them keeps DP_BLOCK_SIZE neighbouring disparities.
template <int DX, int DY, unsigned int MAX_DISPARITY>
__global__ void aggregate_path_kernel(uint8_t *dest, const feature_type *left, const feature_type *right,
	int width, int height, unsigned int p1, unsigned int p2)
{
	static const unsigned int DP_BLOCK_SIZE = 8u;
	static const unsigned int SUBGROUP_SIZE = MAX_DISPARITY / DP_BLOCK_SIZE;
	static const unsigned int PATHS_PER_BLOCK = BLOCK_SIZE / SUBGROUP_SIZE;

	const unsigned int lane_id = threadIdx.x % WARP_SIZE;
	const unsigned int dp_lane = threadIdx.x % SUBGROUP_SIZE;
	const unsigned int sub = lane_id / SUBGROUP_SIZE;
	const uint32_t mask = SUBGROUP_SIZE == 32 ? 0xffffffffu : (((1u << SUBGROUP_SIZE) - 1u) << (sub * SUBGROUP_SIZE));
	const int path = blockIdx.x * PATHS_PER_BLOCK + threadIdx.x / SUBGROUP_SIZE;
	const int n_paths = DX != 0 ? height : width;
	const int length = DX != 0 ? width : height;
	if (path >= n_paths) return;

	const int dp_offset = dp_lane * DP_BLOCK_SIZE;
	uint32_t dp[DP_BLOCK_SIZE], last_min = 0;
	for (unsigned int k = 0; k < DP_BLOCK_SIZE; ++k) dp[k] = 0;

	for (int iter = 0; iter < length; ++iter) {
		const int x = DX != 0 ? (DX > 0 ? iter : width - 1 - iter) : path;
		const int y = DY != 0 ? (DY > 0 ? iter : height - 1 - iter) : path;
		const feature_type l = __ldg(&left[x + y * width]);

		uint32_t prev = __shfl_up_sync(mask, dp[DP_BLOCK_SIZE - 1], 1, SUBGROUP_SIZE);
		const uint32_t next = __shfl_down_sync(mask, dp[0], 1, SUBGROUP_SIZE);
		uint32_t local_min = 0xffffffffu;
		uint32_t packed[DP_BLOCK_SIZE / 4] = {};
		for (unsigned int k = 0; k < DP_BLOCK_SIZE; ++k) {
			const int rx = x - (dp_offset + (int)k);
			const feature_type r = rx >= 0 ? __ldg(&right[rx + y * width]) : 0;
			const uint32_t cost = __popcll(l ^ r);
			const uint32_t cur = dp[k];
			uint32_t out = min(cur - last_min, p2);
			if (k > 0 || dp_lane != 0) out = min(out, prev - last_min + p1);
			const uint32_t after = k + 1 < DP_BLOCK_SIZE ? dp[(k + 1) % DP_BLOCK_SIZE] : next;
			if (k + 1 < DP_BLOCK_SIZE || dp_lane + 1 != SUBGROUP_SIZE) out = min(out, after - last_min + p1);
			prev = cur;
			dp[k] = out + cost;
			local_min = min(local_min, dp[k]);
			packed[k / 4] |= (dp[k] & 0xffu) << (8 * (k % 4));
		}
		last_min = subgroup_min<SUBGROUP_SIZE>(local_min, mask);
		uint2 v = make_uint2(packed[0], packed[1]);
		*reinterpret_cast<uint2 *>(&dest[dp_offset + (x + (size_t)y * width) * MAX_DISPARITY]) = v;
	}
}

// ---------------------------------------------------------------- winner takes all, a warp per pixel
template <unsigned int MAX_DISPARITY, int NUM_PATHS>
__global__ void winner_takes_all_kernel(output_type *disp, const uint8_t *cost_aggr, int width, int height, float uniqueness)
{
	static const unsigned int REDUCTION_PER_THREAD = MAX_DISPARITY / WARP_SIZE;
	const unsigned int warp_id = threadIdx.x / WARP_SIZE;
	const unsigned int lane_id = threadIdx.x % WARP_SIZE;
	const int y = blockIdx.x * WARPS_PER_BLOCK + warp_id;
	if (y >= height) return;
	const size_t cost_step = (size_t)MAX_DISPARITY * width * height;

	for (int x = 0; x < width; ++x) {
		const uint8_t *p = cost_aggr + (size_t)(y * width + x) * MAX_DISPARITY;
		uint32_t costs[REDUCTION_PER_THREAD];
		uint32_t best = 0xffffffffu;
		for (unsigned int i = 0; i < REDUCTION_PER_THREAD; ++i) {
			const unsigned int d = i * WARP_SIZE + lane_id;
			uint32_t sum = 0;
#pragma unroll
			for (int path = 0; path < NUM_PATHS; ++path) sum += __ldcs(&p[path * cost_step + d]);
			costs[i] = (sum << 16) | d;
			best = min(best, costs[i]);
		}
		best = subgroup_min<WARP_SIZE>(best, 0xffffffffu);
		const uint32_t best_cost = best >> 16, best_disp = best & 0xffffu;
		bool uniq = true;
		for (unsigned int i = 0; i < REDUCTION_PER_THREAD; ++i) {
			const int d = costs[i] & 0xffff;
			const uint32_t c = costs[i] >> 16;
			const bool far_away = abs(d - (int)best_disp) > 1;
			uniq &= !far_away || (float)c * uniqueness >= (float)best_cost;
		}
		uniq = __all_sync(0xffffffffu, uniq);
		if (lane_id == 0) disp[y * width + x] = uniq ? (output_type)best_disp : (output_type)0xffff;
	}
}

template <typename T>
__device__ __host__ inline void median_swap(T &x, T &y)
{
	const T t = x < y ? x : y;
	y = x < y ? y : x;
	x = t;
}

template <typename T>
__device__ __host__ inline T median9(T *b)
{
#define SW(i, j) median_swap(b[i], b[j])
	SW(1, 2); SW(4, 5); SW(7, 8); SW(0, 1); SW(3, 4); SW(6, 7); SW(1, 2); SW(4, 5); SW(7, 8); SW(0, 3);
	SW(5, 8); SW(4, 7); SW(3, 6); SW(1, 4); SW(2, 5); SW(4, 7); SW(4, 2); SW(6, 4); SW(4, 2);
#undef SW
	return b[4];
}

__global__ void median_kernel_3x3(const output_type *src, output_type *dst, int w, int h)
{
	const int x = blockIdx.x * blockDim.x + threadIdx.x;
	const int y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= w || y >= h) return;
	if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) {
		dst[y * w + x] = 0;
		return;
	}
	output_type buf[9];
	for (int i = 0; i < 9; ++i) buf[i] = src[(y - 1 + i / 3) * w + x - 1 + i % 3];
	dst[y * w + x] = median9(buf);
}

} // namespace sgm

using namespace sgm;

static constexpr int D = 64;

static void cpuAggregate(std::vector<uint8_t> &dst, const std::vector<uint64_t> &l, const std::vector<uint64_t> &r, int w, int h, int dx, int dy, int P1, int P2)
{
	const int n = dx ? h : w, len = dx ? w : h;
	for (int p = 0; p < n; p++) {
		std::vector<int> prev(D, 0), cur(D);
		int pmin = 0;
		for (int i = 0; i < len; i++) {
			int x = dx ? (dx > 0 ? i : w - 1 - i) : p, y = dy ? (dy > 0 ? i : h - 1 - i) : p, m = 1 << 30;
			for (int d = 0; d < D; d++) {
				int o = std::min(prev[d] - pmin, P2);
				if (d > 0) o = std::min(o, prev[d - 1] - pmin + P1);
				if (d + 1 < D) o = std::min(o, prev[d + 1] - pmin + P1);
				cur[d] = o + __builtin_popcountll(l[y * w + x] ^ (x >= d ? r[y * w + x - d] : 0));
				m = std::min(m, cur[d]);
				dst[(size_t)(y * w + x) * D + d] = (uint8_t)cur[d];
			}
			pmin = m;
			prev.swap(cur);
		}
	}
}

int main()
{
	const int w = 300, h = 140, P1 = 10, P2 = 60;
	const float uniqueness = 0.96875f;	// 31/32, exact product with small ints
	std::vector<uint8_t> left(w * h), right(w * h);
	srand(9);
	std::vector<uint8_t> tex(w * 2 * h);
	for (auto &t : tex) t = rand() & 255;
	for (int y = 0; y < h; y++)
		for (int x = 0; x < w; x++) {
			const int d = 8 + 20 * ((x / 60 + y / 50) % 3);
			right[y * w + x] = tex[y * 2 * w + x];
			left[y * w + x] = x >= d ? tex[y * 2 * w + x - d] : tex[y * 2 * w + w + x];
		}

	uint8_t *d_l, *d_r, *d_cost;
	feature_type *d_fl, *d_fr;
	output_type *d_disp, *d_med;
	const size_t vol = (size_t)w * h * D;
	CUDA_SAFE_CALL(cudaMalloc(&d_l, w * h));
	CUDA_SAFE_CALL(cudaMalloc(&d_r, w * h));
	CUDA_SAFE_CALL(cudaMalloc(&d_fl, w * h * sizeof(feature_type)));
	CUDA_SAFE_CALL(cudaMalloc(&d_fr, w * h * sizeof(feature_type)));
	CUDA_SAFE_CALL(cudaMalloc(&d_cost, 4 * vol));
	CUDA_SAFE_CALL(cudaMalloc(&d_disp, w * h * sizeof(output_type)));
	CUDA_SAFE_CALL(cudaMalloc(&d_med, w * h * sizeof(output_type)));
	CUDA_SAFE_CALL(cudaMemcpy(d_l, left.data(), w * h, cudaMemcpyHostToDevice));
	CUDA_SAFE_CALL(cudaMemcpy(d_r, right.data(), w * h, cudaMemcpyHostToDevice));
	CUDA_SAFE_CALL(cudaMemset(d_fl, 0, w * h * sizeof(feature_type)));
	CUDA_SAFE_CALL(cudaMemset(d_fr, 0, w * h * sizeof(feature_type)));

	{
		const int wpb = CENSUS_BLOCK - WINDOW_WIDTH + 1;
		const dim3 gdim((w + wpb - 1) / wpb, (h + LINES_PER_BLOCK - 1) / LINES_PER_BLOCK);
		census_transform_kernel<<<gdim, CENSUS_BLOCK>>>(d_fl, d_l, w, h, w);
		census_transform_kernel<<<gdim, CENSUS_BLOCK>>>(d_fr, d_r, w, h, w);
	}
	{
		const int ppb = BLOCK_SIZE / (D / 8);
		aggregate_path_kernel<+1, 0, D><<<(h + ppb - 1) / ppb, BLOCK_SIZE>>>(d_cost, d_fl, d_fr, w, h, P1, P2);
		aggregate_path_kernel<-1, 0, D><<<(h + ppb - 1) / ppb, BLOCK_SIZE>>>(d_cost + vol, d_fl, d_fr, w, h, P1, P2);
		aggregate_path_kernel<0, +1, D><<<(w + ppb - 1) / ppb, BLOCK_SIZE>>>(d_cost + 2 * vol, d_fl, d_fr, w, h, P1, P2);
		aggregate_path_kernel<0, -1, D><<<(w + ppb - 1) / ppb, BLOCK_SIZE>>>(d_cost + 3 * vol, d_fl, d_fr, w, h, P1, P2);
	}
	winner_takes_all_kernel<D, 4><<<(h + WARPS_PER_BLOCK - 1) / WARPS_PER_BLOCK, BLOCK_SIZE>>>(d_disp, d_cost, w, h, uniqueness);
	median_kernel_3x3<<<dim3((w + 31) / 32, (h + 7) / 8), dim3(32, 8)>>>(d_disp, d_med, w, h);
	CUDA_SAFE_CALL(cudaGetLastError());
	CUDA_SAFE_CALL(cudaDeviceSynchronize());

	std::vector<output_type> disp(w * h), med(w * h);
	CUDA_SAFE_CALL(cudaMemcpy(disp.data(), d_disp, w * h * sizeof(output_type), cudaMemcpyDeviceToHost));
	CUDA_SAFE_CALL(cudaMemcpy(med.data(), d_med, w * h * sizeof(output_type), cudaMemcpyDeviceToHost));

	auto census = [&](const std::vector<uint8_t> &im) {
		std::vector<uint64_t> f(w * h, 0);
		for (int y = 3; y < h - 3; y++)
			for (int x = 4; x < w - 4; x++) {
				uint64_t v = 0;
				for (int dy = -3; dy <= 3; dy++)
					for (int dx = -4; dx <= 4; dx++)
						if (dx || dy) v = (v << 1) | (im[y * w + x] > im[(y + dy) * w + x + dx]);
				f[y * w + x] = v;
			}
		return f;
	};
	const auto fl = census(left), fr = census(right);
	std::vector<std::vector<uint8_t>> paths(4, std::vector<uint8_t>(vol));
	const int dirs[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
	for (int i = 0; i < 4; i++) cpuAggregate(paths[i], fl, fr, w, h, dirs[i][0], dirs[i][1], P1, P2);
	std::vector<output_type> ref(w * h);
	int bad = 0, bad_med = 0, good = 0;
	for (int i = 0; i < w * h; i++) {
		int best = 1 << 30, bd = 0, c[D];
		for (int d = 0; d < D; d++) {
			c[d] = paths[0][(size_t)i * D + d] + paths[1][(size_t)i * D + d] + paths[2][(size_t)i * D + d] + paths[3][(size_t)i * D + d];
			if (c[d] < best) { best = c[d]; bd = d; }
		}
		bool uniq = true;
		for (int d = 0; d < D; d++) if (std::abs(d - bd) > 1 && c[d] * uniqueness < best) uniq = false;
		ref[i] = uniq ? bd : 0xffff;
		bad += ref[i] != disp[i];
	}
	for (int y = 1; y < h - 1; y++)
		for (int x = 1; x < w - 1; x++) {
			output_type b[9];
			for (int i = 0; i < 9; i++) b[i] = ref[(y - 1 + i / 3) * w + x - 1 + i % 3];
			std::nth_element(b, b + 4, b + 9);
			bad_med += b[4] != med[y * w + x];
			good += b[4] == 8 + 20 * ((x / 60 + y / 50) % 3);
		}
	printf("disparity mismatches %d, median mismatches %d, correct %.1f%%\n", bad, bad_med, 100.0 * good / (w * h));
	const bool ok = bad == 0 && bad_med == 0;
	printf("%s\n", ok ? "PASS" : "FAIL");
	return ok ? 0 : 1;
}
