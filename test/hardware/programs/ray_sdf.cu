// Ray marching with vector classes, spheres in constant memory, BVH-like array traversal with a stack, tone mapping to uchar4.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

struct Vec3 {
  float x, y, z;
  Vec3() = default;
  __host__ __device__ explicit Vec3(float v) : x(v), y(v), z(v) {}
  __host__ __device__ Vec3(float x, float y, float z) : x(x), y(y), z(z) {}
  __host__ __device__ friend Vec3 operator+(const Vec3& a, const Vec3& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  __host__ __device__ friend Vec3 operator-(const Vec3& a, const Vec3& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  __host__ __device__ friend Vec3 operator*(const Vec3& a, float s) { return {a.x * s, a.y * s, a.z * s}; }
  __host__ __device__ Vec3& operator+=(const Vec3& o) { x += o.x; y += o.y; z += o.z; return *this; }
};
__host__ __device__ inline float dot(const Vec3& a, const Vec3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ inline Vec3 normalise(const Vec3& a) { return a * rsqrtf(dot(a, a)); }

struct Sphere { Vec3 centre; float radius; Vec3 colour; float shine; };
__constant__ Sphere c_spheres[8];

struct Ray { Vec3 o, d; };
struct Hit { float t; int id; };

struct Camera {
  Vec3 eye, right, up, fwd;
  __device__ Ray ray(float u, float v) const { return {eye, normalise(fwd + right * u + up * v)}; }
};

__global__ void trace(uchar4* img, int w, int h, Camera cam, int count, int bounces) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  Ray r = cam.ray((x - w * 0.5f) / h, (y - h * 0.5f) / h);
  Vec3 col(0.f);
  float weight = 1.f;
  for (int b = 0; b < bounces; ++b) {
    Hit best{1e20f, -1};
    for (int i = 0; i < count; ++i) {
      Vec3 oc = r.o - c_spheres[i].centre;
      float bb = dot(oc, r.d), c = dot(oc, oc) - c_spheres[i].radius * c_spheres[i].radius;
      float disc = bb * bb - c;
      if (disc > 0) {
        float t = -bb - sqrtf(disc);
        if (t > 1e-3f && t < best.t) best = {t, i};
      }
    }
    if (best.id < 0) { col += Vec3(0.3f, 0.4f, 0.6f) * weight; break; }
    Vec3 p = r.o + r.d * best.t;
    Vec3 n = normalise(p - c_spheres[best.id].centre);
    col += c_spheres[best.id].colour * (weight * fmaxf(0.f, n.y));
    weight *= c_spheres[best.id].shine;
    r = {p, r.d - n * (2.f * dot(n, r.d))};
  }
  auto q = [](float v) { return (unsigned char)(255.f * fminf(fmaxf(v, 0.f), 1.f)); };
  img[y * w + x] = make_uchar4(q(col.x), q(col.y), q(col.z), 255);
}

struct Node { float lo[3]; int left; float hi[3]; int count; };

__global__ void traverse(const Node* __restrict__ nodes, const Vec3* __restrict__ pts, const Vec3* __restrict__ queries, int* __restrict__ found, int nq, float rad) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= nq) return;
  Vec3 q = queries[i];
  int stack[16], sp = 0, hits = 0;
  stack[sp++] = 0;
  while (sp) {
    Node n = nodes[stack[--sp]];
    float d = 0;
    float qa[3] = {q.x, q.y, q.z};
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      float e = fmaxf(fmaxf(n.lo[k] - qa[k], qa[k] - n.hi[k]), 0.f);
      d += e * e;
    }
    if (d > rad * rad) continue;
    if (n.count > 0) {
      for (int j = 0; j < n.count; ++j) {
        Vec3 v = pts[n.left + j] - q;
        hits += dot(v, v) < rad * rad;
      }
    } else {
      stack[sp++] = n.left;
      stack[sp++] = n.left + 1;
    }
  }
  found[i] = hits;
}

__global__ void luminance_rows(const uchar4* img, float* rows, int w) {
  __shared__ float s[128];
  float a = 0;
  for (int x = threadIdx.x; x < w; x += blockDim.x) {
    uchar4 p = img[blockIdx.x * w + x];
    a += 0.2f * p.x + 0.7f * p.y + 0.1f * p.z;
  }
  s[threadIdx.x] = a;
  __syncthreads();
  for (int k = 64; k; k /= 2) {
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) rows[blockIdx.x] = s[0];
}

int main(int argc, char** argv) {
  int w = argc > 1 ? atoi(argv[1]) : 160, h = argc > 2 ? atoi(argv[2]) : 90;
  Sphere sp[8];
  for (int i = 0; i < 8; ++i) sp[i] = {Vec3(i - 3.5f, (i % 3) - 1.f, 6.f + i % 2), 0.6f, Vec3(0.1f * i, 0.5f, 1.f - 0.1f * i), 0.4f};
  cudaMemcpyToSymbol(c_spheres, sp, sizeof(sp));
  uchar4* img;
  float* rows;
  cudaMalloc(&img, w * h * sizeof(uchar4));
  cudaMalloc(&rows, h * sizeof(float));
  Camera cam{Vec3(0.f), Vec3(1, 0, 0), Vec3(0, 1, 0), Vec3(0, 0, 1)};
  dim3 b(8, 8), g((w + 7) / 8, (h + 7) / 8);
  trace<<<g, b>>>(img, w, h, cam, 8, 3);
  luminance_rows<<<h, 128>>>(img, rows, w);
  // a tiny two-level tree over points on a line
  const int np = 256, leaf = 16, leaves = np / leaf;
  std::vector<Vec3> pts(np);
  for (int i = 0; i < np; ++i) pts[i] = Vec3(i * 0.1f, 0, 0);
  std::vector<Node> nodes(2 * leaves - 1);
  for (int i = 0; i < leaves; ++i) {
    Node& n = nodes[leaves - 1 + i];
    n.left = i * leaf; n.count = leaf;
    n.lo[0] = pts[i * leaf].x; n.hi[0] = pts[i * leaf + leaf - 1].x;
    n.lo[1] = n.hi[1] = n.lo[2] = n.hi[2] = 0;
  }
  for (int i = leaves - 2; i >= 0; --i) {
    Node& n = nodes[i];
    n.left = 2 * i + 1; n.count = 0;
    for (int k = 0; k < 3; ++k) { n.lo[k] = fminf(nodes[2 * i + 1].lo[k], nodes[2 * i + 2].lo[k]); n.hi[k] = fmaxf(nodes[2 * i + 1].hi[k], nodes[2 * i + 2].hi[k]); }
  }
  Node* dn; Vec3 *dp; int* df;
  cudaMalloc(&dn, nodes.size() * sizeof(Node));
  cudaMalloc(&dp, np * sizeof(Vec3));
  cudaMalloc(&df, np * sizeof(int));
  cudaMemcpy(dn, nodes.data(), nodes.size() * sizeof(Node), cudaMemcpyHostToDevice);
  cudaMemcpy(dp, pts.data(), np * sizeof(Vec3), cudaMemcpyHostToDevice);
  traverse<<<(np + 63) / 64, 64>>>(dn, dp, dp, df, np, 0.35f);
  std::vector<int> f(np);
  cudaMemcpy(f.data(), df, np * 4, cudaMemcpyDeviceToHost);
  printf("%d\n", f[10]);
  return 0;
}
