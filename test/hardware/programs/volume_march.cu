// Volume rendering without textures: central-difference normals, front-to-back compositing, maximum projections along each axis.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <vector>

#define HD __host__ __device__ __forceinline__

struct vec3 {
	float x, y, z;
	HD vec3 operator+(const vec3 &o) const { return {x + o.x, y + o.y, z + o.z}; }
	HD vec3 operator-(const vec3 &o) const { return {x - o.x, y - o.y, z - o.z}; }
	HD vec3 operator*(float s) const { return {x * s, y * s, z * s}; }
};
HD float dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
HD vec3 normalize(vec3 v) { return v * (1.0f / sqrtf(dot(v, v) + 1e-12f)); }
HD float mixf(float a, float b, float t) { return a + (b - a) * t; }

struct Volume {
	const float *data;
	int nx, ny, nz;
	HD float at(int x, int y, int z) const { return data[(z * ny + y) * nx + x]; }
	HD bool contains(vec3 p) const { return p.x >= 0 && p.y >= 0 && p.z >= 0 && p.x < nx - 1 && p.y < ny - 1 && p.z < nz - 1; }
	HD float sample(vec3 p) const
	{
		int x = (int)p.x, y = (int)p.y, z = (int)p.z;
		float fx = p.x - x, fy = p.y - y, fz = p.z - z;
		float c00 = mixf(at(x, y, z), at(x + 1, y, z), fx);
		float c10 = mixf(at(x, y + 1, z), at(x + 1, y + 1, z), fx);
		float c01 = mixf(at(x, y, z + 1), at(x + 1, y, z + 1), fx);
		float c11 = mixf(at(x, y + 1, z + 1), at(x + 1, y + 1, z + 1), fx);
		return mixf(mixf(c00, c10, fy), mixf(c01, c11, fy), fz);
	}
};

struct Camera { vec3 eye, right, up, forward; float scale; };

constexpr int kTransfer = 128;
__constant__ float4 d_transfer[kTransfer];

HD float4 lookup(const float4 *table, float v)
{
	float s = fminf(fmaxf(v, 0.0f), 1.0f) * (kTransfer - 1);
	int i = (int)s;
	if (i > kTransfer - 2) i = kTransfer - 2;
	float f = s - i;
	float4 a = table[i], b = table[i + 1];
	return make_float4(mixf(a.x, b.x, f), mixf(a.y, b.y, f), mixf(a.z, b.z, f), mixf(a.w, b.w, f));
}

HD float4 march(const Volume &vol, const float4 *table, const Camera &cam, int px, int py, int w, int h, int steps, float dt)
{
	float u = (px + 0.5f - 0.5f * w) * cam.scale, v = (py + 0.5f - 0.5f * h) * cam.scale;
	vec3 dir = normalize(cam.forward + cam.right * u + cam.up * v);
	float4 acc = make_float4(0, 0, 0, 0);
	for (int i = 0; i < steps; i++) {
		vec3 p = cam.eye + dir * (i * dt);
		if (!vol.contains(p))
			continue;
		float4 c = lookup(table, vol.sample(p));
		float k = (1.0f - acc.w) * c.w;
		acc.x += k * c.x;
		acc.y += k * c.y;
		acc.z += k * c.z;
		acc.w += k;
		if (acc.w > 0.999f)
			break;
	}
	return acc;
}

__global__ void render(Volume vol, Camera cam, float4 *image, int w, int h, int steps, float dt)
{
	int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
	if (px >= w || py >= h) return;
	image[py * w + px] = march(vol, d_transfer, cam, px, py, w, h, steps, dt);
}

// normals as three floats
__global__ void gradients(Volume vol, vec3 *out)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = blockIdx.y * blockDim.y + threadIdx.y;
	int z = blockIdx.z;
	if (x >= vol.nx || y >= vol.ny) return;
	vec3 g = {0, 0, 0};
	if (x > 0 && x < vol.nx - 1) g.x = vol.at(x + 1, y, z) - vol.at(x - 1, y, z);
	if (y > 0 && y < vol.ny - 1) g.y = vol.at(x, y + 1, z) - vol.at(x, y - 1, z);
	if (z > 0 && z < vol.nz - 1) g.z = vol.at(x, y, z + 1) - vol.at(x, y, z - 1);
	out[(z * vol.ny + y) * vol.nx + x] = g;
}

template <int AXIS>
__global__ void projectMax(Volume vol, float *out)
{
	int a = blockIdx.x * blockDim.x + threadIdx.x, b = blockIdx.y * blockDim.y + threadIdx.y;
	float m = -1e30f;
	if constexpr (AXIS == 0) {                  // along x: a = y, b = z
		if (a >= vol.ny || b >= vol.nz) return;
		for (int x = 0; x < vol.nx; x++) m = fmaxf(m, vol.at(x, a, b));
		out[b * vol.ny + a] = m;
	} else if constexpr (AXIS == 1) {           // along y: a = x, b = z
		if (a >= vol.nx || b >= vol.nz) return;
		for (int y = 0; y < vol.ny; y++) m = fmaxf(m, vol.at(a, y, b));
		out[b * vol.nx + a] = m;
	} else {
		if (a >= vol.nx || b >= vol.ny) return;
		for (int z = 0; z < vol.nz; z++) m = fmaxf(m, vol.at(a, b, z));
		out[b * vol.nx + a] = m;
	}
}

#define CUDA(x) do { cudaError_t err_ = x; if (err_ != cudaSuccess) { printf("%d: %s\n", __LINE__, cudaGetErrorString(err_)); return 1; } } while (0)

int main()
{
	const int nx = 90, ny = 100, nz = 70, w = 200, h = 150, steps = 240;
	const float dt = 0.9f;
	std::vector<float> data(nx * ny * nz);
	for (int z = 0; z < nz; z++)
		for (int y = 0; y < ny; y++)
			for (int x = 0; x < nx; x++) {
				float r = sqrtf((x - 45.f) * (x - 45.f) + (y - 50.f) * (y - 50.f) + (z - 35.f) * (z - 35.f));
				data[(z * ny + y) * nx + x] = 0.5f + 0.3f * sinf(0.3f * r) + 0.15f * cosf(0.2f * x + 0.1f * y);
			}
	std::vector<float4> transfer(kTransfer);
	for (int i = 0; i < kTransfer; i++) {
		float t = i / (float)(kTransfer - 1);
		transfer[i] = make_float4(t, 4 * t * (1 - t), 1 - t, t < 0.3f ? 0.0f : 0.06f * (t - 0.3f));
	}
	Camera cam;
	cam.eye = {-40.0f, 20.0f, -50.0f};
	cam.forward = normalize(vec3{45, 50, 35} - cam.eye);
	cam.right = normalize(vec3{cam.forward.z, 0, -cam.forward.x});
	cam.up = {cam.forward.y * cam.right.z, cam.forward.z * cam.right.x - cam.forward.x * cam.right.z, -cam.forward.y * cam.right.x};
	cam.scale = 0.006f;

	float *dData, *dMip[3];
	float4 *dImage;
	vec3 *dGrad;
	const int sizes[3] = {ny * nz, nx * nz, nx * ny};
	CUDA(cudaMalloc(&dData, data.size() * sizeof(float)));
	CUDA(cudaMalloc(&dImage, w * h * sizeof(float4)));
	CUDA(cudaMalloc(&dGrad, data.size() * sizeof(vec3)));
	for (int i = 0; i < 3; i++) CUDA(cudaMalloc(&dMip[i], sizes[i] * sizeof(float)));
	CUDA(cudaMemcpy(dData, data.data(), data.size() * sizeof(float), cudaMemcpyHostToDevice));
	CUDA(cudaMemcpyToSymbol(d_transfer, transfer.data(), sizeof(float4) * kTransfer));

	Volume vol{dData, nx, ny, nz}, ref{data.data(), nx, ny, nz};
	auto tiles = [](int a, int b, dim3 t) { return dim3((a + t.x - 1) / t.x, (b + t.y - 1) / t.y); };
	dim3 sq(16, 16), flat(32, 4);
	render<<<tiles(w, h, sq), sq>>>(vol, cam, dImage, w, h, steps, dt);
	dim3 gg = tiles(nx, ny, flat);
	gradients<<<dim3(gg.x, gg.y, nz), flat>>>(vol, dGrad);
	projectMax<0><<<tiles(ny, nz, flat), flat>>>(vol, dMip[0]);
	projectMax<1><<<tiles(nx, nz, flat), flat>>>(vol, dMip[1]);
	projectMax<2><<<tiles(nx, ny, flat), flat>>>(vol, dMip[2]);
	CUDA(cudaDeviceSynchronize());

	std::vector<float4> image(w * h);
	std::vector<vec3> grad(data.size());
	CUDA(cudaMemcpy(image.data(), dImage, image.size() * sizeof(float4), cudaMemcpyDeviceToHost));
	CUDA(cudaMemcpy(grad.data(), dGrad, grad.size() * sizeof(vec3), cudaMemcpyDeviceToHost));

	int far = 0, bad = 0;
	double mean = 0;
	for (int y = 0; y < h; y++)
		for (int x = 0; x < w; x++) {
			float4 c = march(ref, transfer.data(), cam, x, y, w, h, steps, dt), g = image[y * w + x];
			float d = std::max(std::max(fabsf(c.x - g.x), fabsf(c.y - g.y)), std::max(fabsf(c.z - g.z), fabsf(c.w - g.w)));
			mean += d / (w * h);
			if (!(d < 2e-3f)) far++;
		}
	if (far > w * h / 500 || !(mean < 1e-4)) bad++;     // a sample on the border may fall either way
	printf("image: mean difference %.2e, %d pixels off\n", mean, far);
	for (int z = 0; z < nz; z++)
		for (int y = 0; y < ny; y++)
			for (int x = 0; x < nx; x++) {
				vec3 g = grad[(z * ny + y) * nx + x];
				float wx = x > 0 && x < nx - 1 ? ref.at(x + 1, y, z) - ref.at(x - 1, y, z) : 0.0f;
				float wy = y > 0 && y < ny - 1 ? ref.at(x, y + 1, z) - ref.at(x, y - 1, z) : 0.0f;
				float wz = z > 0 && z < nz - 1 ? ref.at(x, y, z + 1) - ref.at(x, y, z - 1) : 0.0f;
				if (g.x != wx || g.y != wy || g.z != wz) bad++;
			}
	for (int axis = 0; axis < 3; axis++) {
		std::vector<float> got(sizes[axis]), want(sizes[axis], -1e30f);
		CUDA(cudaMemcpy(got.data(), dMip[axis], got.size() * sizeof(float), cudaMemcpyDeviceToHost));
		for (int z = 0; z < nz; z++)
			for (int y = 0; y < ny; y++)
				for (int x = 0; x < nx; x++) {
					float &m = want[axis == 0 ? z * ny + y : axis == 1 ? z * nx + x : y * nx + x];
					m = std::max(m, ref.at(x, y, z));
				}
		if (got != want) bad++;
	}
	puts(bad ? "FAIL" : "OK");
	return bad ? 1 : 0;
}
