/** Meshes: an icosphere with shared midpoints, a grid with tags, adjacency, face normals, an optimised order of vertices. */
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>
template <typename Real> struct Point { Real x, y, z; Real length() const { return std::sqrt(x * x + y * y + z * z); } Point unit() const { const Real l = length(); return {x / l, y / l, z / l}; } friend Point operator+(const Point& a, const Point& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; } friend Point operator-(const Point& a, const Point& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; } };
template <typename Real> Point<Real> cross(const Point<Real>& a, const Point<Real>& b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
using Face = std::array<int, 3>;
struct Mesh {
  std::vector<Point<double>> points;
  std::vector<Face> faces;
  double volume() const { double v = 0; for (const auto& [a, b, c] : faces) { const auto n = cross(points[b], points[c]); v += points[a].x * n.x + points[a].y * n.y + points[a].z * n.z; } return v / 6; }
  int euler() const {
    std::map<std::pair<int, int>, int> edges;
    for (const Face& f : faces) for (int k = 0; k < 3; ++k) ++edges[std::minmax(f[k], f[(k + 1) % 3])];
    return int(points.size()) - int(edges.size()) + int(faces.size());
  }
};
Mesh icosahedron() {
  const double t = (1 + std::sqrt(5.0)) / 2;
  Mesh m;
  for (int s : {-1, 1}) for (int u : {-1, 1}) { m.points.push_back({double(s), u * t, 0}); m.points.push_back({0, double(s), u * t}); m.points.push_back({u * t, 0, double(s)}); }
  for (auto& p : m.points) p = p.unit();
  const int n = static_cast<int>(m.points.size());
  auto near = [&](int i, int j) { return (m.points[i] - m.points[j]).length() < 1.1; };
  for (int i = 0; i < n; ++i) for (int j = i + 1; j < n; ++j) for (int k = j + 1; k < n; ++k) {
    if (!near(i, j) || !near(j, k) || !near(i, k)) continue;
    Face f{i, j, k};
    const auto normal = cross(m.points[j] - m.points[i], m.points[k] - m.points[i]);
    const auto& p = m.points[i];
    if (normal.x * p.x + normal.y * p.y + normal.z * p.z < 0) std::swap(f[1], f[2]);
    m.faces.push_back(f);
  }
  return m;
}
Mesh refined(const Mesh& coarse) {
  Mesh fine{coarse.points, {}};
  std::unordered_map<uint64_t, int> made;
  auto middle = [&](int a, int b) {
    const uint64_t key = (uint64_t(std::min(a, b)) << 32) | uint32_t(std::max(a, b));
    auto [it, isNew] = made.try_emplace(key, static_cast<int>(fine.points.size()));
    if (isNew) fine.points.push_back((fine.points[a] + fine.points[b]).unit());
    return it->second;
  };
  for (const auto& [a, b, c] : coarse.faces) {
    const int ab = middle(a, b), bc = middle(b, c), ca = middle(c, a);
    for (Face f : {Face{a, ab, ca}, Face{ab, b, bc}, Face{ca, bc, c}, Face{ab, bc, ca}}) fine.faces.push_back(f);
  }
  return fine;
}
static std::vector<std::vector<int>> ring(const Mesh& m) {
  std::vector<std::vector<int>> of(m.points.size());
  for (const Face& f : m.faces) for (int k = 0; k < 3; ++k) of[f[k]].push_back(f[(k + 1) % 3]);
  for (auto& each : of) { std::sort(each.begin(), each.end()); each.erase(std::unique(each.begin(), each.end()), each.end()); }
  return of;
}
static int cacheMisses(const std::vector<Face>& faces, int size) {
  std::vector<int> cache;
  int misses = 0;
  for (const Face& f : faces) for (int v : f) {
    auto it = std::find(cache.begin(), cache.end(), v);
    if (it != cache.end()) continue;
    ++misses;
    cache.push_back(v);
    if ((int)cache.size() > size) cache.erase(cache.begin());
  }
  return misses;
}
int main() {
  Mesh m = icosahedron();
  show(m.points.size() * 100 + m.faces.size()); //= 1220
  show(m.euler()); //= 2
  for (int level = 0; level < 2; ++level) {
    m = refined(m);
    show(m.points.size() * 1000 + m.faces.size()); //= 42080 162320
  }
  show(m.volume() * 1e6); //= 4047044
  show(m.euler()); //= 2
  const auto neighbours = ring(m);
  std::array<int, 8> degrees{};
  for (const auto& n : neighbours) ++degrees[n.size()];
  show(degrees[5] * 1000 + degrees[6]); //= 12150
  show(std::accumulate(neighbours[20].begin(), neighbours[20].end(), 0)); //= 417
  show(cacheMisses(m.faces, 16)); //= 277
  auto sorted = m.faces;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Face& a, const Face& b) { return *std::min_element(a.begin(), a.end()) < *std::min_element(b.begin(), b.end()); });
  show(cacheMisses(sorted, 16)); //= 421
  show(sorted[7][0] * 10000 + sorted[7][1] * 100 + sorted[7][2]); //= 14978
  double area = 0;
  for (const auto& [a, b, c] : m.faces) area += cross(m.points[b] - m.points[a], m.points[c] - m.points[a]).length() / 2;
  show(area * 1e6); //= 12329848
  return 0;
}
