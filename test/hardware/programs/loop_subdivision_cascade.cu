// Subdivision surface: a triangulated cube is refined three times. Topology is rebuilt on the host
// by a recursive cascade, geometry is computed on the device with a policy for the masks. The finest
// mesh then gets its area, normals and their octahedral encoding.
#include <cuda_runtime.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace subdiv {

inline void verify(cudaError_t e, const char* file, int line) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorString(e));
    std::exit(EXIT_FAILURE);
  }
}
#define VERIFY(e) ::subdiv::verify((e), __FILE__, __LINE__)
template <class T>
class GpuArray {
 public:
  GpuArray() = default;
  explicit GpuArray(std::size_t n) { resize(n); }
  explicit GpuArray(const std::vector<T>& h) {
    resize(h.size());
    VERIFY(cudaMemcpy(p_, h.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  GpuArray(GpuArray&& o) noexcept { *this = std::move(o); }
  GpuArray& operator=(GpuArray&& o) noexcept {
    std::swap(p_, o.p_);
    std::swap(n_, o.n_);
    return *this;
  }
  ~GpuArray() { cudaFree(p_); }
  T* get() const { return p_; }
  int size() const { return static_cast<int>(n_); }
  std::vector<T> to_host() const {
    std::vector<T> h(n_);
    VERIFY(cudaMemcpy(h.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
    return h;
  }

 private:
  void resize(std::size_t n) {
    n_ = n;
    VERIFY(cudaMalloc(&p_, n * sizeof(T)));
    VERIFY(cudaMemset(p_, 0, n * sizeof(T)));
  }
  T* p_ = nullptr;
  std::size_t n_ = 0;
};

struct Point {
  float x, y, z;
};
__host__ __device__ inline Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__host__ __device__ inline Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__host__ __device__ inline Point operator*(float s, Point a) { return {s * a.x, s * a.y, s * a.z}; }
__host__ __device__ inline Point cross(Point a, Point b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
__host__ __device__ inline float dot(Point a, Point b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

struct Triangle {
  int v[3];
};
struct FaceEdges {
  int e[3];  // e[k] joins v[k] and v[(k + 1) % 3]
};
struct Topology {
  std::vector<Triangle> faces;
  std::vector<FaceEdges> face_edges;
  std::vector<int4> edges;  // end points, then the two opposite vertices
  std::vector<int> ring_begin;
  std::vector<int> ring;
  int vertices = 0;
};
// ---- masks ------------------------------------------------------------------------------
struct LoopMask {
  __host__ __device__ static Point edge(Point a, Point b, Point c, Point d) { return 0.375f * (a + b) + 0.125f * (c + d); }
  __host__ __device__ static float beta(int valence) { return valence == 3 ? 0.1875f : 0.375f / valence; }
};
struct MidpointMask {
  __host__ __device__ static Point edge(Point a, Point b, Point, Point) { return 0.5f * (a + b); }
  __host__ __device__ static float beta(int) { return 0.0f; }
};

template <class Mask>
__global__ void edge_points(const int4* __restrict__ edges, int count, const Point* __restrict__ in, Point* __restrict__ out) {
  const int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e < count) {
    const int4 w = edges[e];
    out[e] = Mask::edge(in[w.x], in[w.y], in[w.z], in[w.w]);
  }
}

template <class Mask>
__global__ void vertex_points(const int* __restrict__ begin, const int* __restrict__ ring, int count,
                              const Point* __restrict__ in, Point* __restrict__ out) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= count) return;
  const int first = begin[v];
  const int last = begin[v + 1];
  Point sum{0.0f, 0.0f, 0.0f};
  for (int k = first; k < last; ++k)
    sum = sum + in[ring[k]];
  const int valence = last - first;
  const float beta = Mask::beta(valence);
  out[v] = (1.0f - valence * beta) * in[v] + beta * sum;
}

// Four children for each face; the middle one comes last.
__global__ void child_faces(const Triangle* __restrict__ faces, const FaceEdges* __restrict__ edges, int count, int vertex_count,
                            Triangle* __restrict__ children) {
  const int f = blockIdx.x * blockDim.x + threadIdx.x;
  if (f >= count) return;
  const Triangle t = faces[f];
  int m[3];
  for (int k = 0; k < 3; ++k)
    m[k] = vertex_count + edges[f].e[k];
  for (int k = 0; k < 3; ++k)
    children[4 * f + k] = Triangle{{t.v[k], m[k], m[(k + 2) % 3]}};
  children[4 * f + 3] = Triangle{{m[0], m[1], m[2]}};
}

// Structure of arrays for the accumulation of normals.
struct NormalField {
  float* x;
  float* y;
  float* z;
  __device__ void add(int i, Point n) const {
    atomicAdd(x + i, n.x);
    atomicAdd(y + i, n.y);
    atomicAdd(z + i, n.z);
  }
  __device__ Point load(int i) const { return {x[i], y[i], z[i]}; }
};

__global__ void splat_normals(const Triangle* __restrict__ faces, int count, const Point* __restrict__ p, NormalField n,
                              double* __restrict__ area) {
  const int f = blockIdx.x * blockDim.x + threadIdx.x;
  float a = 0.0f;
  if (f < count) {
    const Triangle t = faces[f];
    const Point c = cross(p[t.v[1]] - p[t.v[0]], p[t.v[2]] - p[t.v[0]]);
    a = 0.5f * sqrtf(dot(c, c));
    for (int k = 0; k < 3; ++k)
      n.add(t.v[k], c);
  }
  double sum = a;
  for (int d = 16; d > 0; d >>= 1)
    sum += __shfl_down_sync(0xffffffffu, sum, d);
  if ((threadIdx.x & 31) == 0)
    atomicAdd(area, sum);
}

union PackedNormal {
  std::uint32_t bits;
  struct {
    std::int16_t u, v;
  } s;
};

__host__ __device__ inline float fold(float a, float b) { return (1.0f - fabsf(b)) * (a >= 0.0f ? 1.0f : -1.0f); }

__global__ void encode_normals(NormalField n, int count, PackedNormal* __restrict__ out) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= count) return;
  const Point p = n.load(v);
  const float inv = 1.0f / (fabsf(p.x) + fabsf(p.y) + fabsf(p.z));
  float a = p.x * inv;
  float b = p.y * inv;
  if (p.z < 0.0f) {
    const float fa = fold(a, b);
    b = fold(b, a);
    a = fa;
  }
  PackedNormal w;
  w.s.u = static_cast<std::int16_t>(rintf(a * 32767.0f));
  w.s.v = static_cast<std::int16_t>(rintf(b * 32767.0f));
  out[v].bits = w.bits;
}

__host__ __device__ inline Point decode(PackedNormal w) {
  float a = w.s.u / 32767.0f;
  float b = w.s.v / 32767.0f;
  const float z = 1.0f - fabsf(a) - fabsf(b);
  if (z < 0.0f) {
    const float fa = fold(a, b);
    b = fold(b, a);
    a = fa;
  }
  const Point p{a, b, z};
  return (1.0f / sqrtf(dot(p, p))) * p;
}
// ---- host topology ----------------------------------------------------------------------
Topology connect(std::vector<Triangle> faces, int vertices) {
  Topology t;
  t.vertices = vertices;
  t.faces = std::move(faces);
  t.face_edges.resize(t.faces.size());
  std::map<std::pair<int, int>, int> ids;
  for (std::size_t f = 0; f < t.faces.size(); ++f) {
    for (int k = 0; k < 3; ++k) {
      const int a = t.faces[f].v[k];
      const int b = t.faces[f].v[(k + 1) % 3];
      const int c = t.faces[f].v[(k + 2) % 3];
      const auto [it, fresh] = ids.try_emplace(std::minmax(a, b), static_cast<int>(t.edges.size()));
      if (fresh) t.edges.push_back(make_int4(a, b, c, c));
      t.edges[it->second].w = c;
      t.face_edges[f].e[k] = it->second;
    }
  }
  t.ring_begin.assign(vertices + 1, 0);
  for (const int4& e : t.edges) {
    ++t.ring_begin[e.x + 1];
    ++t.ring_begin[e.y + 1];
  }
  for (int v = 0; v < vertices; ++v) t.ring_begin[v + 1] += t.ring_begin[v];
  t.ring.resize(t.ring_begin[vertices]);
  std::vector<int> at(t.ring_begin.begin(), t.ring_begin.end() - 1);
  for (const int4& e : t.edges) {
    t.ring[at[e.x]++] = e.y;
    t.ring[at[e.y]++] = e.x;
  }
  return t;
}

std::tuple<std::vector<Point>, std::vector<Triangle>> cube(int n) {
  std::vector<Point> points;
  std::vector<Triangle> faces;
  std::map<std::array<int, 3>, int> ids;
  auto vertex = [&](std::array<int, 3> c) {
    const auto [it, fresh] = ids.try_emplace(c, static_cast<int>(points.size()));
    if (fresh) points.push_back({2.0f * c[0] / n - 1.0f, 2.0f * c[1] / n - 1.0f, 1.5f * c[2] / n - 0.5f});
    return it->second;
  };
  for (int axis = 0; axis < 3; ++axis) {
    for (int side = 0; side < 2; ++side) {
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
          auto at = [&](int u, int v) {
            std::array<int, 3> c;
            c[axis] = side * n;
            c[(axis + 1) % 3] = u;
            c[(axis + 2) % 3] = v;
            return vertex(c);
          };
          const int a = at(i, j), b = at(i + 1, j), c = at(i + 1, j + 1), d = at(i, j + 1);
          faces.push_back(side == 1 ? Triangle{{a, b, c}} : Triangle{{a, c, b}});
          faces.push_back(side == 1 ? Triangle{{a, c, d}} : Triangle{{a, d, c}});
        }
      }
    }
  }
  return {points, faces};
}

struct Mesh {
  Topology topology;
  GpuArray<Point> points;
  std::vector<Point> reference;
};

template <class Mask>
Mesh refine(const Mesh& m) {
  const Topology& t = m.topology;
  const int v = t.vertices;
  const int e = static_cast<int>(t.edges.size());
  const int f = static_cast<int>(t.faces.size());
  GpuArray<int4> edges(t.edges);
  GpuArray<Triangle> faces(t.faces);
  GpuArray<FaceEdges> face_edges(t.face_edges);
  GpuArray<int> begin(t.ring_begin), ring(t.ring);
  GpuArray<Triangle> children(4 * f);
  Mesh out;
  out.points = GpuArray<Point>(v + e);
  vertex_points<Mask><<<(v + 127) / 128, 128>>>(begin.get(), ring.get(), v, m.points.get(), out.points.get());
  edge_points<Mask><<<(e + 127) / 128, 128>>>(edges.get(), e, m.points.get(), out.points.get() + v);
  child_faces<<<(f + 255) / 256, 256>>>(faces.get(), face_edges.get(), f, v, children.get());
  VERIFY(cudaGetLastError());
  out.topology = connect(children.to_host(), v + e);
  // same on the host
  for (int i = 0; i < v; ++i) {
    Point sum{0, 0, 0};
    const int valence = t.ring_begin[i + 1] - t.ring_begin[i];
    for (int k = t.ring_begin[i]; k < t.ring_begin[i + 1]; ++k) sum = sum + m.reference[t.ring[k]];
    const float beta = Mask::beta(valence);
    out.reference.push_back((1.0f - valence * beta) * m.reference[i] + beta * sum);
  }
  for (const int4& w : t.edges)
    out.reference.push_back(Mask::edge(m.reference[w.x], m.reference[w.y], m.reference[w.z], m.reference[w.w]));
  return out;
}

Mesh cascade(Mesh m, int depth) {
  if (depth == 0) return m;
  return cascade(depth == 1 ? refine<MidpointMask>(m) : refine<LoopMask>(m), depth - 1);
}

}  // namespace subdiv
int main() {
  using namespace subdiv;
  Mesh base;
  auto [points, faces] = cube(8);
  base.points = GpuArray<Point>(points);
  base.topology = connect(faces, static_cast<int>(points.size()));
  base.reference = points;
  const Mesh fine = cascade(std::move(base), 3);
  const Topology& t = fine.topology;
  const int v = t.vertices;
  const int f = static_cast<int>(t.faces.size());
  GpuArray<Triangle> d_faces(t.faces);
  GpuArray<float> nx(v), ny(v), nz(v);
  GpuArray<double> area(1);
  GpuArray<PackedNormal> packed(v);
  const NormalField normals{nx.get(), ny.get(), nz.get()};
  splat_normals<<<(f + 127) / 128, 128>>>(d_faces.get(), f, fine.points.get(), normals, area.get());
  encode_normals<<<(v + 255) / 256, 256>>>(normals, v, packed.get());
  VERIFY(cudaGetLastError());
  VERIFY(cudaDeviceSynchronize());
  const auto got = fine.points.to_host();
  const auto codes = packed.to_host();
  double worst = 0.0;
  double want_area = 0.0;
  std::vector<Point> n(v, Point{0, 0, 0});
  for (const Triangle& tri : t.faces) {
    const Point a = fine.reference[tri.v[0]];
    const Point c = cross(fine.reference[tri.v[1]] - a, fine.reference[tri.v[2]] - a);
    want_area += 0.5 * std::sqrt(dot(c, c));
    for (int k : tri.v) n[k] = n[k] + c;
  }
  float least_dot = 1.0f;
  for (int i = 0; i < v; ++i) {
    const Point d = got[i] - fine.reference[i];
    worst = std::max(worst, static_cast<double>(std::sqrt(dot(d, d))));
    least_dot = std::min(least_dot, dot(decode(codes[i]), n[i]) / std::sqrt(dot(n[i], n[i])));
  }
  const double area_error = std::fabs(area.to_host()[0] - want_area) / want_area;
  const bool euler = v - static_cast<int>(t.edges.size()) + f == 2;
  const bool ok = worst < 1e-5 && least_dot > 0.999f && area_error < 1e-4 && euler;
  std::printf("%d vertices, %d faces, error %.2e, area %.2e, normal %.5f: %s\n", v, f, worst, area_error, least_dot, ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
