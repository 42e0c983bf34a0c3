// Weekend ray tracer: spheres in an implicit BVH (median split, stack traversal), diffuse shading, shadows, gamma
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

struct vec3 {
  float x, y, z;
  __host__ __device__ vec3(float a = 0, float b = 0, float c = 0) : x(a), y(b), z(c) {}
  __host__ __device__ vec3 operator+(vec3 o) const { return {x + o.x, y + o.y, z + o.z}; }
  __host__ __device__ vec3 operator-(vec3 o) const { return {x - o.x, y - o.y, z - o.z}; }
  __host__ __device__ vec3 operator*(float s) const { return {x * s, y * s, z * s}; }
};
__host__ __device__ inline float dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__host__ __device__ inline vec3 unit(vec3 a) { return a * (1.f / sqrtf(dot(a, a))); }
struct sphere { vec3 c; float r; vec3 albedo; };
struct node { vec3 lo, hi; int left, right; };  // left < 0: leaf with sphere ~left
struct ray { vec3 o, d; };
struct scene { const sphere* s; const node* n; int ns, nn; };

__host__ __device__ inline float hit_sphere(const sphere& s, const ray& r, float tmax) {
  vec3 oc = r.o - s.c;
  float b = dot(oc, r.d), c = dot(oc, oc) - s.r * s.r, q = b * b - c;
  if (q <= 0) return tmax;
  q = sqrtf(q);
  float t = -b - q;
  if (t > 1e-3f && t < tmax) return t;
  t = -b + q;
  return t > 1e-3f && t < tmax ? t : tmax;
}
__host__ __device__ inline bool hit_box(const node& n, const ray& r, vec3 inv, float tmax) {
  float a = (n.lo.x - r.o.x) * inv.x, b = (n.hi.x - r.o.x) * inv.x;
  float t0 = fminf(a, b), t1 = fmaxf(a, b);
  a = (n.lo.y - r.o.y) * inv.y; b = (n.hi.y - r.o.y) * inv.y;
  t0 = fmaxf(t0, fminf(a, b)); t1 = fminf(t1, fmaxf(a, b));
  a = (n.lo.z - r.o.z) * inv.z; b = (n.hi.z - r.o.z) * inv.z;
  t0 = fmaxf(t0, fminf(a, b)); t1 = fminf(t1, fmaxf(a, b));
  return t1 >= fmaxf(t0, 0.f) && t0 < tmax;
}
template <bool BVH>
__host__ __device__ int trace(const scene& sc, const ray& r, float& t) {
  int id = -1;
  if constexpr (!BVH) {
    for (int i = 0; i < sc.ns; ++i) { float h = hit_sphere(sc.s[i], r, t); if (h < t) { t = h; id = i; } }
  } else {
    vec3 inv(1.f / r.d.x, 1.f / r.d.y, 1.f / r.d.z);
    int stack[32], sp = 0;
    stack[sp++] = 0;
    while (sp) {
      const node n = sc.n[stack[--sp]];
      if (!hit_box(n, r, inv, t)) continue;
      if (n.left < 0) { float h = hit_sphere(sc.s[~n.left], r, t); if (h < t) { t = h; id = ~n.left; } }
      else { stack[sp++] = n.left; stack[sp++] = n.right; }
    }
  }
  return id;
}
__host__ __device__ inline ray camera(int x, int y, int w, int h) {
  return {vec3(0, 2, 12), unit(vec3((x + .5f - w / 2) / h * 1.2f, (h / 2 - y - .5f) / h * 1.2f - .1f, -1.f))};
}

template <bool BVH>
__global__ void render(scene sc, vec3* fb, int* ids, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  const vec3 light = unit(vec3(1, 2, 1));
  ray r = camera(x, y, w, h);
  vec3 col(0.5f, 0.7f, 1.f);
  float t = 1e30f;
  int id = trace<BVH>(sc, r, t);
  if (id >= 0) {
    vec3 p = r.o + r.d * t, n = (p - sc.s[id].c) * (1.f / sc.s[id].r);
    float l = fmaxf(dot(n, light), 0.f), ts = 1e30f;
    if (l > 0 && trace<BVH>(sc, {p + n * 1e-3f, light}, ts) >= 0) l = 0;
    col = sc.s[id].albedo * (0.1f + 0.9f * l);
  }
  fb[y * w + x] = col;
  ids[y * w + x] = id;
}
__global__ void tonemap(const vec3* fb, uchar4* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  vec3 c = fb[i];
  out[i] = make_uchar4(255.99f * sqrtf(c.x), 255.99f * sqrtf(c.y), 255.99f * sqrtf(c.z), 255);
}

static int build(std::vector<node>& N, std::vector<int>& idx, const std::vector<sphere>& S, int b, int e) {
  int me = N.size();
  N.push_back({});
  vec3 lo(1e30f, 1e30f, 1e30f), hi(-1e30f, -1e30f, -1e30f);
  for (int i = b; i < e; ++i) {
    const sphere& s = S[idx[i]];
    lo = {std::min(lo.x, s.c.x - s.r), std::min(lo.y, s.c.y - s.r), std::min(lo.z, s.c.z - s.r)};
    hi = {std::max(hi.x, s.c.x + s.r), std::max(hi.y, s.c.y + s.r), std::max(hi.z, s.c.z + s.r)};
  }
  int l, r = 0;
  if (e - b == 1) l = ~idx[b];
  else {
    vec3 d = hi - lo;
    int ax = d.x > d.y ? (d.x > d.z ? 0 : 2) : (d.y > d.z ? 1 : 2), m = (b + e) / 2;
    std::nth_element(idx.begin() + b, idx.begin() + m, idx.begin() + e, [&](int p, int q) { return (&S[p].c.x)[ax] < (&S[q].c.x)[ax]; });
    l = build(N, idx, S, b, m); r = build(N, idx, S, m, e);
  }
  N[me].lo = lo; N[me].hi = hi; N[me].left = l; N[me].right = r;
  return me;
}

int main() {
  const int w = 1000, h = 602, ns = 400;
  std::vector<sphere> S(ns);
  unsigned q = 99;
  auto rnd = [&] { q = q * 1664525u + 1013904223u; return (q >> 8) / 16777216.f; };
  for (int i = 0; i < ns; ++i) S[i] = {vec3(rnd() * 16 - 8, rnd() * 6 - 2, rnd() * 16 - 10), 0.15f + 0.35f * rnd(), vec3(rnd(), rnd(), rnd())};
  S[0] = {vec3(0, -1003, 0), 1000, vec3(.5f, .5f, .5f)};
  std::vector<node> N; std::vector<int> idx(ns);
  for (int i = 0; i < ns; ++i) idx[i] = i;
  build(N, idx, S, 0, ns);
  sphere* ds; node* dn; vec3* fb; int *i1, *i2; uchar4* out;
  cudaMalloc(&ds, ns * sizeof(sphere)); cudaMalloc(&dn, N.size() * sizeof(node)); cudaMalloc(&fb, w * h * sizeof(vec3));
  cudaMalloc(&i1, w * h * 4); cudaMalloc(&i2, w * h * 4); cudaMalloc(&out, w * h * 4);
  cudaMemcpy(ds, S.data(), ns * sizeof(sphere), cudaMemcpyHostToDevice);
  cudaMemcpy(dn, N.data(), N.size() * sizeof(node), cudaMemcpyHostToDevice);
  scene sc{ds, dn, ns, (int)N.size()};
  dim3 b(8, 8), g((w + 7) / 8, (h + 7) / 8);
  render<false><<<g, b>>>(sc, fb, i1, w, h);
  render<true><<<g, b>>>(sc, fb, i2, w, h);
  tonemap<<<(w * h + 255) / 256, 256>>>(fb, out, w * h);
  std::vector<int> a(w * h), c(w * h);
  cudaMemcpy(a.data(), i1, w * h * 4, cudaMemcpyDeviceToHost); cudaMemcpy(c.data(), i2, w * h * 4, cudaMemcpyDeviceToHost);
  int diff = 0, cpu = 0, hits = 0, cnt = 0;
  for (int i = 0; i < w * h; ++i) { diff += a[i] != c[i]; hits += a[i] >= 0; }
  scene hs{S.data(), N.data(), ns, (int)N.size()};
  for (int i = 0; i < w * h; i += 31) { float t = 1e30f; cpu += trace<true>(hs, camera(i % w, i / w, w, h), t) != c[i]; cnt++; }
  printf("hits %d, brute/bvh differ %d, cpu differ %d of %d %s\n", hits, diff, cpu, cnt, cudaGetErrorString(cudaGetLastError()));
  puts(diff < w * h / 500 && cpu < cnt / 100 && hits > w * h / 10 ? "PASS" : "FAIL");
}
