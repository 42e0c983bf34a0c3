// Ray caster over spheres (AoS with padding, constant-memory camera), persistent-tile Mandelbrot, box downsample of the result
#include <cstdio>
#include <cmath>
#include <cstdint>
#include <vector>
#include <cuda_runtime.h>

struct vec3 {
    float x, y, z;
    __host__ __device__ vec3(float a = 0, float b = 0, float c = 0) : x(a), y(b), z(c) {}
};
__host__ __device__ inline vec3 operator+(vec3 a, vec3 b) { return vec3(a.x + b.x, a.y + b.y, a.z + b.z); }
__host__ __device__ inline vec3 operator-(vec3 a, vec3 b) { return vec3(a.x - b.x, a.y - b.y, a.z - b.z); }
__host__ __device__ inline vec3 operator*(vec3 a, float s) { return vec3(a.x * s, a.y * s, a.z * s); }
__host__ __device__ inline float dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__host__ __device__ inline vec3 unit(vec3 a) { return a * (1.f / sqrtf(dot(a, a))); }

struct Sphere { vec3 centre; float radius; uint8_t rgb[3]; uint8_t shiny; };   // 20 bytes
struct Camera { vec3 eye, fwd, right, up; };
__constant__ float c_cam[12];

template <int MAXS>
__global__ void raycast(const Sphere* __restrict__ spheres, int count, uchar4* image, int w, int h)
{
    __shared__ Sphere cache[MAXS];
    const int tid = threadIdx.y * blockDim.x + threadIdx.x;
    for (int i = tid; i < count; i += blockDim.x * blockDim.y) cache[i] = spheres[i];
    __syncthreads();
    const int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= w || py >= h) return;
    vec3 org(c_cam[0], c_cam[1], c_cam[2]);
    float u = (px + 0.5f) / w * 2 - 1, v = 1 - (py + 0.5f) / h * 2;
    vec3 dir = unit(vec3(c_cam[3], c_cam[4], c_cam[5]) + vec3(c_cam[6], c_cam[7], c_cam[8]) * u + vec3(c_cam[9], c_cam[10], c_cam[11]) * v);
    float r = 0, g = 0, b = 0, weight = 1.f;
    for (int bounce = 0; bounce < 3; ++bounce) {
        float best = 1e20f; int hit = -1;
        for (int i = 0; i < count; ++i) {
            vec3 oc = org - cache[i].centre;
            float bq = dot(oc, dir), c = dot(oc, oc) - cache[i].radius * cache[i].radius, disc = bq * bq - c;
            if (disc < 0) continue;
            float t = -bq - sqrtf(disc);
            if (t > 1e-3f && t < best) { best = t; hit = i; }
        }
        if (hit < 0) { r += weight * 40; g += weight * 60; b += weight * 120; break; }
        const Sphere& s = cache[hit];
        vec3 p = org + dir * best, n = (p - s.centre) * (1.f / s.radius);
        float diff = fmaxf(0.1f, dot(n, vec3(0.577f, 0.577f, -0.577f)));
        float k = s.shiny / 255.f;
        r += weight * (1 - k) * diff * s.rgb[0]; g += weight * (1 - k) * diff * s.rgb[1]; b += weight * (1 - k) * diff * s.rgb[2];
        weight *= k;
        if (weight < 0.02f) break;
        org = p;
        dir = dir - n * (2 * dot(dir, n));
    }
    image[py * w + px] = make_uchar4(min(255, (int)r), min(255, (int)g), min(255, (int)b), 255);
}

__device__ int next_tile;
__global__ void mandel_persistent(unsigned short* iters, int w, int h, int maxit)
{
    __shared__ int tile;
    const int tx = (w + 15) / 16, ntiles = tx * ((h + 15) / 16);
    for (;;) {
        if (threadIdx.x == 0 && threadIdx.y == 0) tile = atomicAdd(&next_tile, 1);
        __syncthreads();
        int t = tile;
        __syncthreads();
        if (t >= ntiles) return;
        int x = (t % tx) * 16 + threadIdx.x, y = (t / tx) * 16 + threadIdx.y;
        if (x < w && y < h) {
            double cr = -2.0 + 3.0 * x / w, ci = -1.2 + 2.4 * y / h, a = 0, b = 0;
            unsigned short k = 0;
            do {
                double na = a * a - b * b + cr;
                b = 2 * a * b + ci;
                a = na;
            } while (a * a + b * b < 4.0 && ++k < maxit);
            iters[y * w + x] = k;
        }
    }
}

__global__ void downsample(const uchar4* src, const unsigned short* it, float4* dst, int w, int h)
{
    int x = threadIdx.x + blockIdx.x * blockDim.x, y = blockIdx.y;
    if (2 * x + 1 >= w) return;
    float4 s = make_float4(0, 0, 0, 0);
    for (int dy = 0; dy < 2; ++dy)
        for (int dx = 0; dx < 2; ++dx) {
            uchar4 c = src[(2 * y + dy) * w + 2 * x + dx];
            s.x += c.x; s.y += c.y; s.z += c.z;
            s.w += it[(2 * y + dy) * w + 2 * x + dx];
        }
    dst[y * (w / 2) + x] = make_float4(s.x / 4, s.y / 4, s.z / 4, s.w / 4);
}

int main()
{
    const int w = 180, h = 130, ns = 23;
    std::vector<Sphere> sp(ns);
    for (int i = 0; i < ns; ++i) {
        sp[i].centre = vec3((i % 5 - 2) * 1.1f, (i / 5 - 2) * 1.0f, 4.f + (i % 3));
        sp[i].radius = 0.45f + 0.02f * i;
        sp[i].rgb[0] = 50 + 8 * i; sp[i].rgb[1] = 250 - 9 * i; sp[i].rgb[2] = (i * 77) % 256;
        sp[i].shiny = (i * 40) % 200;
    }
    float cam[12] = {0, 0, -3, 0, 0, 1.6f, 1, 0, 0, 0, 0.72f, 0};
    cudaMemcpyToSymbol(c_cam, cam, sizeof cam);
    Sphere* ds; uchar4* img; unsigned short* it; float4* small;
    cudaMalloc(&ds, ns * sizeof(Sphere)); cudaMalloc(&img, w * h * 4); cudaMalloc(&it, w * h * 2); cudaMalloc(&small, w * h / 4 * 16);
    cudaMemcpy(ds, sp.data(), ns * sizeof(Sphere), cudaMemcpyHostToDevice);
    raycast<32><<<dim3((w + 15) / 16, (h + 7) / 8), dim3(16, 8)>>>(ds, ns, img, w, h);
    mandel_persistent<<<20, dim3(16, 16)>>>(it, w, h, 200);
    downsample<<<dim3(2, h / 2), 64>>>(img, it, small, w, h);
    std::vector<float4> o(w * h / 4); std::vector<unsigned short> hi(w * h);
    cudaMemcpy(o.data(), small, o.size() * 16, cudaMemcpyDeviceToHost);
    cudaMemcpy(hi.data(), it, w * h * 2, cudaMemcpyDeviceToHost);
    double s = 0; int inside = 0;
    for (auto& p : o) s += p.x + p.y + p.z;
    for (auto k : hi) inside += k >= 200;
    printf("image checksum %.1f, mandelbrot interior %d, %s\n", s, inside, cudaGetErrorString(cudaGetLastError()));
    return !(inside > 1000 && s > 0);
}
