/** Meshes: vertices that are shared, normals, edges, subdivision; vectors with operators; a reference in doubles. */
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <vector>
template <class T, int N> struct Vec {
  T v[N]{};
  constexpr T& operator[](int i) { return v[i]; }
  constexpr const T& operator[](int i) const { return v[i]; }
  template <class U> explicit operator Vec<U, N>() const { Vec<U, N> r; for (int i = 0; i < N; ++i) r[i] = static_cast<U>(v[i]); return r; }
  Vec& operator+=(const Vec& o) { for (int i = 0; i < N; ++i) v[i] += o[i]; return *this; }
  friend Vec operator+(Vec a, const Vec& b) { return a += b; }
  friend Vec operator-(const Vec& a, const Vec& b) { Vec r; for (int i = 0; i < N; ++i) r[i] = a[i] - b[i]; return r; }
  friend Vec operator*(T s, const Vec& a) { Vec r; for (int i = 0; i < N; ++i) r[i] = s * a[i]; return r; }
  friend bool operator<(const Vec& a, const Vec& b) { return std::lexicographical_compare(std::begin(a.v), std::end(a.v), std::begin(b.v), std::end(b.v)); }
};
template <class T, int N> T dot(const Vec<T, N>& a, const Vec<T, N>& b) { T s{}; for (int i = 0; i < N; ++i) s += a[i] * b[i]; return s; }
template <class T> Vec<T, 3> cross(const Vec<T, 3>& a, const Vec<T, 3>& b) { return {{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]}}; }
using V3 = Vec<float, 3>;
using Tri = std::array<int, 3>;
struct PairHash { std::size_t operator()(const std::pair<int, int>& p) const { return std::size_t(p.first) << 32 | unsigned(p.second); } };
struct Mesh {
  std::vector<V3> at;
  std::vector<Tri> faces;
  static Mesh octahedron() {
    Mesh m;
    for (int axis = 0; axis < 3; ++axis) for (float s : {1.f, -1.f}) { V3 p; p[axis] = s; m.at.push_back(p); }
    for (int x : {0, 1}) for (int y : {2, 3}) for (int z : {4, 5}) m.faces.push_back((x + y + z) % 2 == 0 ? Tri{x, y, z} : Tri{y, x, z});
    return m;
  }
  Mesh refined() const {
    Mesh m;
    m.at = at;
    std::unordered_map<std::pair<int, int>, int, PairHash> middle;
    auto between = [&](int a, int b) {
      auto [it, isNew] = middle.try_emplace(std::minmax(a, b), (int)m.at.size());
      if (isNew) { V3 p = 0.5f * (at[a] + at[b]); m.at.push_back(1.f / std::sqrt(dot(p, p)) * p); }
      return it->second;
    };
    for (auto [a, b, c] : faces) {
      const int ab = between(a, b), bc = between(b, c), ca = between(c, a);
      m.faces.insert(m.faces.end(), {{a, ab, ca}, {b, bc, ab}, {c, ca, bc}, {ab, bc, ca}});
    }
    return m;
  }
  template <class T> T area() const {
    T sum = 0;
    for (const Tri& f : faces) {
      auto a = static_cast<Vec<T, 3>>(at[f[0]]), b = static_cast<Vec<T, 3>>(at[f[1]]), c = static_cast<Vec<T, 3>>(at[f[2]]);
      const auto n = cross(b - a, c - a);
      sum += std::sqrt(dot(n, n)) / 2;
    }
    return sum;
  }
};
int main() {
  Mesh m = Mesh::octahedron();
  show(m.at.size() * 10 + m.faces.size()); //= 68
  show(m.faces[3][0] * 100 + m.faces[3][1] * 10 + m.faces[3][2]); //= 35
  show(m.area<double>() * 1e6); //= 6928203
  m = m.refined().refined();
  show(m.at.size() * 1000 + m.faces.size()); //= 66128
  show(m.area<double>() * 1e6); //= 11954891
  show(std::fabs(m.area<float>() - m.area<double>()) < 1e-4); //= 1
  show(m.faces[77][0] * 10000 + m.faces[77][1] * 100 + m.faces[77][2]); //= 155149
  std::set<std::pair<int, int>> edges;
  for (const auto& f : m.faces) for (int k = 0; k < 3; ++k) edges.insert(std::minmax(f[k], f[(k + 1) % 3]));
  show((int)m.at.size() - (int)edges.size() + (int)m.faces.size()); //= 2
  std::vector<V3> normals(m.at.size());
  for (auto [a, b, c] : m.faces) { const V3 n = cross(m.at[b] - m.at[a], m.at[c] - m.at[a]); for (int i : {a, b, c}) normals[i] += n; }
  show(normals[20][1] * 1e6f); //= 0
  std::vector<int> order(m.at.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) { return m.at[a] < m.at[b]; });
  show(order[0] * 10000 + order[30] * 100 + order[65]); //= 14500
  std::map<int, int> valence;
  for (auto [a, b] : edges) { ++valence[a]; ++valence[b]; }
  show(std::count_if(valence.begin(), valence.end(), [](const auto& kv) { return kv.second == 4; })); //= 6
  V3 low = m.at[0], high = m.at[0];
  for (const V3& p : m.at) for (int k = 0; k < 3; ++k) { low[k] = std::min(low[k], p[k]); high[k] = std::max(high[k], p[k]); }
  show(dot(high - low, high - low) * 10); //= 120
  std::vector<std::tuple<float, int, int>> longest;
  for (auto [a, b] : edges) { const V3 d = m.at[a] - m.at[b]; longest.emplace_back(-dot(d, d), a, b); }
  std::partial_sort(longest.begin(), longest.begin() + 3, longest.end());
  show(std::get<0>(longest[0]) * -1e6f); //= 333333
  std::vector<float> flat;
  flat.reserve(3 * m.at.size());
  for (const auto& p : m.at) flat.insert(flat.end(), std::begin(p.v), std::end(p.v));
  show(flat.size() * 10 + (flat[50] > 0)); //= 1980
  return 0;
}
