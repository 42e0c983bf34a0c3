// Tile based rasterisation of 3D Gaussians (forward), in the manner of diff-gaussian-rasterization.
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>
namespace cg = cooperative_groups;

#define NUM_CHANNELS 3
#define BLOCK_X 16
#define BLOCK_Y 16
#define BLOCK_SIZE (BLOCK_X * BLOCK_Y)
#define CHECK_CUDA(A) { A; auto ret = cudaGetLastError(); if (ret != cudaSuccess) { std::fprintf(stderr, "[CUDA ERROR] in %s line %d: %s\n", __FILE__, __LINE__, cudaGetErrorString(ret)); std::exit(1); } }

__device__ const float SH_C0 = 0.28209479177387814f;
__device__ const float SH_C1 = 0.4886025119029199f;

__forceinline__ __host__ __device__ void getRect(const float2 p, int max_radius, uint2& rect_min, uint2& rect_max, dim3 grid)
{
	const int gx = grid.x, gy = grid.y;
	auto clampi = [](int v, int hi) { return v < 0 ? 0 : v > hi ? hi : v; };
	rect_min.x = clampi((int)((p.x - max_radius) / BLOCK_X), gx);
	rect_min.y = clampi((int)((p.y - max_radius) / BLOCK_Y), gy);
	rect_max.x = clampi((int)((p.x + max_radius + BLOCK_X - 1) / BLOCK_X), gx);
	rect_max.y = clampi((int)((p.y + max_radius + BLOCK_Y - 1) / BLOCK_Y), gy);
}
__forceinline__ __host__ __device__ float3 transformPoint4x3(const float3& p, const float* matrix)
{
	return make_float3(matrix[0] * p.x + matrix[4] * p.y + matrix[8] * p.z + matrix[12],
		matrix[1] * p.x + matrix[5] * p.y + matrix[9] * p.z + matrix[13],
		matrix[2] * p.x + matrix[6] * p.y + matrix[10] * p.z + matrix[14]);
}
__forceinline__ __host__ __device__ void computeCov3D(const float3 scale, const float4 rot, float* cov3D)
{
	const float r = rot.x, x = rot.y, y = rot.z, z = rot.w;
	const float R[9] = { 1.f - 2.f * (y * y + z * z), 2.f * (x * y - r * z), 2.f * (x * z + r * y),
		2.f * (x * y + r * z), 1.f - 2.f * (x * x + z * z), 2.f * (y * z - r * x),
		2.f * (x * z - r * y), 2.f * (y * z + r * x), 1.f - 2.f * (x * x + y * y) };
	const float s2[3] = { scale.x * scale.x, scale.y * scale.y, scale.z * scale.z };
	int o = 0;
	for (int i = 0; i < 3; i++)
		for (int j = i; j < 3; j++)
		{
			float v = 0.f;
			for (int k = 0; k < 3; k++) v += R[i * 3 + k] * s2[k] * R[j * 3 + k];
			cov3D[o++] = v;
		}
}
// Jacobian of the perspective projection applied to the camera space covariance
__forceinline__ __host__ __device__ float3 computeCov2D(const float3& t_in, float focal_x, float focal_y, float tan_fovx, float tan_fovy, const float* cov3D, const float* view)
{
	float3 t = t_in;
	const float limx = 1.3f * tan_fovx, limy = 1.3f * tan_fovy;
	t.x = fminf(limx, fmaxf(-limx, t.x / t.z)) * t.z;
	t.y = fminf(limy, fmaxf(-limy, t.y / t.z)) * t.z;
	const float J[6] = { focal_x / t.z, 0.f, -(focal_x * t.x) / (t.z * t.z), 0.f, focal_y / t.z, -(focal_y * t.y) / (t.z * t.z) };
	float T[6];
	for (int i = 0; i < 2; i++)
		for (int j = 0; j < 3; j++) T[i * 3 + j] = J[i * 3] * view[j * 4] + J[i * 3 + 1] * view[j * 4 + 1] + J[i * 3 + 2] * view[j * 4 + 2];
	const float V[9] = { cov3D[0], cov3D[1], cov3D[2], cov3D[1], cov3D[3], cov3D[4], cov3D[2], cov3D[4], cov3D[5] };
	float c[3] = { 0.f, 0.f, 0.f };
	for (int a = 0; a < 3; a++)
		for (int b = 0; b < 3; b++)
		{
			c[0] += T[a] * V[a * 3 + b] * T[b];
			c[1] += T[a] * V[a * 3 + b] * T[3 + b];
			c[2] += T[3 + a] * V[a * 3 + b] * T[3 + b];
		}
	return make_float3(c[0] + 0.3f, c[1], c[2] + 0.3f);
}

struct Camera { float view[16]; float3 pos; float focal_x, focal_y, tan_fovx, tan_fovy; int W, H; };

template <int C, int DEG>
__global__ void preprocessCUDA(int P, const float3* means3D, const float3* scales, const float4* rotations, const float* opacities, const float3* shs, const Camera cam,
	int* radii, float2* points_xy_image, float* depths, float* rgb, float4* conic_opacity, const dim3 grid, uint32_t* tiles_touched)
{
	auto idx = cg::this_grid().thread_rank();
	if (idx >= P) return;
	radii[idx] = 0;
	tiles_touched[idx] = 0;
	const float3 p_view = transformPoint4x3(means3D[idx], cam.view);
	if (p_view.z <= 0.2f) return;
	float cov3D[6];
	computeCov3D(scales[idx], rotations[idx], cov3D);
	const float3 cov = computeCov2D(p_view, cam.focal_x, cam.focal_y, cam.tan_fovx, cam.tan_fovy, cov3D, cam.view);
	const float det = cov.x * cov.z - cov.y * cov.y;
	if (det == 0.0f) return;
	const float det_inv = 1.f / det;
	const float mid = 0.5f * (cov.x + cov.z);
	const float lambda1 = mid + sqrtf(fmaxf(0.1f, mid * mid - det));
	const int my_radius = (int)ceilf(3.f * sqrtf(lambda1));
	const float2 point_image = { cam.focal_x * p_view.x / p_view.z + 0.5f * (cam.W - 1), cam.focal_y * p_view.y / p_view.z + 0.5f * (cam.H - 1) };
	uint2 rect_min, rect_max;
	getRect(point_image, my_radius, rect_min, rect_max, grid);
	if ((rect_max.x - rect_min.x) * (rect_max.y - rect_min.y) == 0) return;
	float3 dir = make_float3(means3D[idx].x - cam.pos.x, means3D[idx].y - cam.pos.y, means3D[idx].z - cam.pos.z);
	const float inv_len = rsqrtf(dir.x * dir.x + dir.y * dir.y + dir.z * dir.z);
	const float3* sh = shs + idx * (DEG + 1) * (DEG + 1);
	for (int c = 0; c < C; c++)
	{
		float v = SH_C0 * (&sh[0].x)[c];
		if (DEG > 0) v += SH_C1 * inv_len * (-dir.y * (&sh[1].x)[c] + dir.z * (&sh[2].x)[c] - dir.x * (&sh[3].x)[c]);
		rgb[idx * C + c] = fmaxf(v + 0.5f, 0.f);
	}
	depths[idx] = p_view.z;
	radii[idx] = my_radius;
	points_xy_image[idx] = point_image;
	conic_opacity[idx] = make_float4(cov.z * det_inv, -cov.y * det_inv, cov.x * det_inv, opacities[idx]);
	tiles_touched[idx] = (rect_max.y - rect_min.y) * (rect_max.x - rect_min.x);
}

__global__ void duplicateWithKeys(int P, const float2* points_xy, const float* depths, const uint32_t* offsets, uint64_t* keys_unsorted, uint32_t* values_unsorted, const int* radii, dim3 grid)
{
	auto idx = cg::this_grid().thread_rank();
	if (idx >= P) return;
	if (radii[idx] > 0)
	{
		uint32_t off = (idx == 0) ? 0 : offsets[idx - 1];
		uint2 rect_min, rect_max;
		getRect(points_xy[idx], radii[idx], rect_min, rect_max, grid);
		for (int y = rect_min.y; y < (int)rect_max.y; y++)
			for (int x = rect_min.x; x < (int)rect_max.x; x++)
			{
				uint64_t key = y * grid.x + x;
				key <<= 32;
				key |= *((uint32_t*)&depths[idx]);
				keys_unsorted[off] = key;
				values_unsorted[off] = idx;
				off++;
			}
	}
}

__global__ void identifyTileRanges(int L, const uint64_t* point_list_keys, uint2* ranges)
{
	auto idx = cg::this_grid().thread_rank();
	if (idx >= L) return;
	uint32_t currtile = point_list_keys[idx] >> 32;
	if (idx == 0) ranges[currtile].x = 0;
	else
	{
		uint32_t prevtile = point_list_keys[idx - 1] >> 32;
		if (currtile != prevtile)
		{
			ranges[prevtile].y = idx;
			ranges[currtile].x = idx;
		}
	}
	if (idx == L - 1) ranges[currtile].y = L;
}

template <uint32_t CHANNELS>
__global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
renderCUDA(const uint2* __restrict__ ranges, const uint32_t* __restrict__ point_list, int W, int H, const float2* __restrict__ points_xy_image, const float* __restrict__ features,
	const float4* __restrict__ conic_opacity, float* __restrict__ final_T, uint32_t* __restrict__ n_contrib, const float3 bg_color, float* __restrict__ out_color)
{
	auto block = cg::this_thread_block();
	uint32_t horizontal_blocks = (W + BLOCK_X - 1) / BLOCK_X;
	uint2 pix_min = { block.group_index().x * BLOCK_X, block.group_index().y * BLOCK_Y };
	uint2 pix = { pix_min.x + block.thread_index().x, pix_min.y + block.thread_index().y };
	uint32_t pix_id = W * pix.y + pix.x;
	float2 pixf = { (float)pix.x, (float)pix.y };
	bool inside = pix.x < W && pix.y < H;
	bool done = !inside;
	uint2 range = ranges[block.group_index().y * horizontal_blocks + block.group_index().x];
	const int rounds = ((range.y - range.x + BLOCK_SIZE - 1) / BLOCK_SIZE);
	int toDo = range.y - range.x;
	__shared__ int collected_id[BLOCK_SIZE];
	__shared__ float2 collected_xy[BLOCK_SIZE];
	__shared__ float4 collected_conic_opacity[BLOCK_SIZE];
	float T = 1.0f;
	uint32_t contributor = 0, last_contributor = 0;
	float C[CHANNELS] = { 0 };
	for (int i = 0; i < rounds; i++, toDo -= BLOCK_SIZE)
	{
		int num_done = __syncthreads_count(done);
		if (num_done == BLOCK_SIZE) break;
		int progress = i * BLOCK_SIZE + block.thread_rank();
		if (range.x + progress < range.y)
		{
			int coll_id = point_list[range.x + progress];
			collected_id[block.thread_rank()] = coll_id;
			collected_xy[block.thread_rank()] = points_xy_image[coll_id];
			collected_conic_opacity[block.thread_rank()] = conic_opacity[coll_id];
		}
		block.sync();
		for (int j = 0; !done && j < min(BLOCK_SIZE, toDo); j++)
		{
			contributor++;
			float2 xy = collected_xy[j];
			float2 d = { xy.x - pixf.x, xy.y - pixf.y };
			float4 con_o = collected_conic_opacity[j];
			float power = -0.5f * (con_o.x * d.x * d.x + con_o.z * d.y * d.y) - con_o.y * d.x * d.y;
			if (power > 0.0f) continue;
			float alpha = min(0.99f, con_o.w * expf(power));
			if (alpha < 1.0f / 255.0f) continue;
			float test_T = T * (1 - alpha);
			if (test_T < 0.0001f)
			{
				done = true;
				continue;
			}
			for (int ch = 0; ch < (int)CHANNELS; ch++) C[ch] += features[collected_id[j] * CHANNELS + ch] * alpha * T;
			T = test_T;
			last_contributor = contributor;
		}
	}
	if (inside)
	{
		final_T[pix_id] = T;
		n_contrib[pix_id] = last_contributor;
		for (int ch = 0; ch < (int)CHANNELS; ch++) out_color[ch * H * W + pix_id] = C[ch] + T * (ch == 0 ? bg_color.x : ch == 1 ? bg_color.y : bg_color.z);
	}
}

template <typename T> T* gpu(size_t n, const T* src = nullptr)
{
	T* p;
	CHECK_CUDA(cudaMalloc(&p, n * sizeof(T)));
	if (src) { CHECK_CUDA(cudaMemcpy(p, src, n * sizeof(T), cudaMemcpyHostToDevice)); }
	else { CHECK_CUDA(cudaMemset(p, 0, n * sizeof(T))); }
	return p;
}
template <typename T> std::vector<T> cpu(const T* p, size_t n) { std::vector<T> h(n); CHECK_CUDA(cudaMemcpy(h.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost)); return h; }

template <int DEG> bool testScene(int P, int W, int H, unsigned seed)
{
	std::mt19937 gen(seed);
	std::uniform_real_distribution<float> u(-1, 1);
	std::normal_distribution<float> nd;
	constexpr int NSH = (DEG + 1) * (DEG + 1);
	std::vector<float3> means(P), scales(P), shs(P * NSH);
	std::vector<float4> rots(P);
	std::vector<float> opac(P);
	for (int i = 0; i < P; i++)
	{
		means[i] = make_float3(2.2f * u(gen), 1.6f * u(gen), 1.5f * u(gen));
		scales[i] = make_float3(std::exp(-3.6f + 0.5f * nd(gen)), std::exp(-3.6f + 0.5f * nd(gen)), std::exp(-3.6f + 0.5f * nd(gen)));
		float4 q = make_float4(nd(gen), nd(gen), nd(gen), nd(gen));
		const float n = std::sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
		rots[i] = make_float4(q.x / n, q.y / n, q.z / n, q.w / n);
		opac[i] = 0.1f + 0.4f * (1 + u(gen));
		for (int s = 0; s < NSH; s++) shs[i * NSH + s] = make_float3(u(gen), u(gen), u(gen));
	}
	Camera cam{};
	const float a = 0.3f;
	const float view[16] = { std::cos(a), 0, -std::sin(a), 0, 0, 1, 0, 0, std::sin(a), 0, std::cos(a), 0, 0.05f, -0.02f, 3.5f, 1 };
	std::copy(view, view + 16, cam.view);
	cam.tan_fovx = 0.6f; cam.tan_fovy = 0.6f * H / W;
	cam.focal_x = W / (2 * cam.tan_fovx); cam.focal_y = H / (2 * cam.tan_fovy);
	cam.pos = make_float3(1.0f, 0.1f, -3.4f);
	cam.W = W; cam.H = H;
	const dim3 tile_grid((W + BLOCK_X - 1) / BLOCK_X, (H + BLOCK_Y - 1) / BLOCK_Y, 1), block(BLOCK_X, BLOCK_Y, 1);

	auto *d_means = gpu(P, means.data()), *d_scales = gpu(P, scales.data()), *d_shs = gpu(shs.size(), shs.data());
	auto* d_rots = gpu(P, rots.data());
	auto *d_opac = gpu(P, opac.data()), *d_depths = gpu<float>(P), *d_rgb = gpu<float>(P * NUM_CHANNELS);
	auto* d_radii = gpu<int>(P);
	auto* d_xy = gpu<float2>(P);
	auto* d_conic = gpu<float4>(P);
	auto* d_tiles = gpu<uint32_t>(P);
	preprocessCUDA<NUM_CHANNELS, DEG><<<(P + 255) / 256, 256>>>(P, d_means, d_scales, d_rots, d_opac, d_shs, cam, d_radii, d_xy, d_depths, d_rgb, d_conic, tile_grid, d_tiles);
	CHECK_CUDA(;);
	auto tiles = cpu(d_tiles, P);
	std::vector<uint32_t> offsets(P);
	std::partial_sum(tiles.begin(), tiles.end(), offsets.begin());
	const int L = offsets.back();
	if (L == 0) return false;
	auto *d_offsets = gpu(P, offsets.data()), *d_vals = gpu<uint32_t>(L);
	auto* d_keys = gpu<uint64_t>(L);
	duplicateWithKeys<<<(P + 255) / 256, 256>>>(P, d_xy, d_depths, d_offsets, d_keys, d_vals, d_radii, tile_grid);
	CHECK_CUDA(;);
	auto keys = cpu(d_keys, L);
	auto vals = cpu(d_vals, L);
	std::vector<int> perm(L);
	std::iota(perm.begin(), perm.end(), 0);
	std::stable_sort(perm.begin(), perm.end(), [&](int x, int y) { return keys[x] < keys[y]; });
	std::vector<uint64_t> skeys(L);
	std::vector<uint32_t> svals(L);
	for (int i = 0; i < L; i++) { skeys[i] = keys[perm[i]]; svals[i] = vals[perm[i]]; }
	CHECK_CUDA(cudaMemcpy(d_keys, skeys.data(), L * sizeof(uint64_t), cudaMemcpyHostToDevice));
	CHECK_CUDA(cudaMemcpy(d_vals, svals.data(), L * sizeof(uint32_t), cudaMemcpyHostToDevice));
	auto* d_ranges = gpu<uint2>(tile_grid.x * tile_grid.y);
	identifyTileRanges<<<(L + 255) / 256, 256>>>(L, d_keys, d_ranges);
	CHECK_CUDA(;);
	auto *d_T = gpu<float>(W * H), *d_out = gpu<float>(NUM_CHANNELS * W * H);
	auto* d_contrib = gpu<uint32_t>(W * H);
	const float3 bg = make_float3(0.1f, 0.2f, 0.3f);
	renderCUDA<NUM_CHANNELS><<<tile_grid, block>>>(d_ranges, d_vals, W, H, d_xy, d_rgb, d_conic, d_T, d_contrib, bg, d_out);
	CHECK_CUDA(;);

	const auto xy = cpu(d_xy, P);
	const auto conic = cpu(d_conic, P);
	const auto radii = cpu(d_radii, P);
	const auto rgb = cpu(d_rgb, P * NUM_CHANNELS), out = cpu(d_out, NUM_CHANNELS * W * H);
	const auto ranges = cpu(d_ranges, tile_grid.x * tile_grid.y);
	int bad_geom = 0, visible = 0, bad_ranges = 0;
	for (int i = 0; i < P; i++)
	{
		if (radii[i] == 0) continue;
		visible++;
		const float3 t = transformPoint4x3(means[i], cam.view);
		float cov3D[6];
		computeCov3D(scales[i], rots[i], cov3D);
		const float3 c = computeCov2D(t, cam.focal_x, cam.focal_y, cam.tan_fovx, cam.tan_fovy, cov3D, cam.view);
		const float det = c.x * c.z - c.y * c.y, px = cam.focal_x * t.x / t.z + 0.5f * (W - 1), py = cam.focal_y * t.y / t.z + 0.5f * (H - 1);
		const float sc = (c.x + c.z) / det;
		bad_geom += !(std::fabs(px - xy[i].x) < 0.05f && std::fabs(py - xy[i].y) < 0.05f && std::fabs(c.z / det - conic[i].x) < 0.02f * sc && std::fabs(c.y / det + conic[i].y) < 0.02f * sc && std::fabs(c.x / det - conic[i].z) < 0.02f * sc);
	}
	for (int i = 0; i < L; i++) { const uint2 r = ranges[skeys[i] >> 32]; bad_ranges += !((uint32_t)i >= r.x && (uint32_t)i < r.y); }
	int bad_pix = 0;
	for (int y = 0; y < H; y++)
		for (int x = 0; x < W; x++)
		{
			const uint2 r = ranges[(y / BLOCK_Y) * tile_grid.x + x / BLOCK_X];
			float T = 1.f, C[3] = { 0, 0, 0 };
			for (uint32_t k = r.x; k < r.y; k++)
			{
				const int g = svals[k];
				const float dx = xy[g].x - x, dy = xy[g].y - y;
				const float power = -0.5f * (conic[g].x * dx * dx + conic[g].z * dy * dy) - conic[g].y * dx * dy;
				if (power > 0.f) continue;
				const float alpha = std::min(0.99f, conic[g].w * std::exp(power));
				if (alpha < 1.f / 255.f) continue;
				if (T * (1 - alpha) < 0.0001f) break;
				for (int c = 0; c < 3; c++) C[c] += rgb[g * 3 + c] * alpha * T;
				T *= 1 - alpha;
			}
			const float b[3] = { bg.x, bg.y, bg.z };
			for (int c = 0; c < 3; c++) if (!(std::fabs(C[c] + T * b[c] - out[c * W * H + y * W + x]) < 0.02f)) { bad_pix++; break; }
		}
	std::printf("%d of %d gaussians visible, %d instances, %d bad geometry, %d bad ranges, %d bad pixels\n", visible, P, L, bad_geom, bad_ranges, bad_pix);
	for (void* p : { (void*)d_means, (void*)d_scales, (void*)d_shs, (void*)d_rots, (void*)d_opac, (void*)d_depths, (void*)d_rgb, (void*)d_radii, (void*)d_xy, (void*)d_conic, (void*)d_tiles,
		(void*)d_offsets, (void*)d_vals, (void*)d_keys, (void*)d_ranges, (void*)d_T, (void*)d_out, (void*)d_contrib }) CHECK_CUDA(cudaFree(p));
	return visible > P / 4 && bad_geom == 0 && bad_ranges == 0 && bad_pix <= W * H / 500;
}

int main()
{
	bool ok = testScene<1>(20000, 640, 360, 1);
	ok &= testScene<0>(3000, 253, 187, 2);
	std::printf("%s\n", ok ? "PASS" : "FAIL");
	return ok ? 0 : 1;
}
