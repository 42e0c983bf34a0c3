/** Graphs that are generated, turned into several sparse forms and walked. */
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <queue>
#include <random>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>
using Edge = std::pair<int, int>;
struct Csr { std::vector<int> offsets, targets; std::vector<float> weights; int degree(int v) const { return offsets[v + 1] - offsets[v]; } };
static std::vector<Edge> rmat(int scale, int edges, unsigned seed) {
  std::mt19937 gen(seed);
  std::discrete_distribution<int> quadrant({0.57, 0.19, 0.19, 0.05});
  std::vector<Edge> out;
  out.reserve(edges);
  for (int e = 0; e < edges; ++e) {
    int u = 0, v = 0;
    for (int bit = scale - 1; bit >= 0; --bit) {
      const int q = quadrant(gen);
      u |= (q >> 1) << bit;
      v |= (q & 1) << bit;
    }
    out.emplace_back(u, v);
  }
  return out;
}
static Csr toCsr(int n, std::vector<Edge> edges) {
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  Csr g;
  g.offsets.assign(n + 1, 0);
  for (auto [u, v] : edges) ++g.offsets[u + 1];
  std::partial_sum(g.offsets.begin(), g.offsets.end(), g.offsets.begin());
  for (const auto& e : edges) { g.targets.push_back(e.second); g.weights.push_back(1.0f / (1 + (e.first ^ e.second))); }
  return g;
}
static Csr transposed(const Csr& g) {
  const int n = static_cast<int>(g.offsets.size()) - 1;
  Csr t;
  t.offsets.resize(n + 1);
  t.targets.resize(g.targets.size());
  t.weights.resize(g.weights.size());
  for (int v : g.targets) t.offsets[v + 1]++;
  std::inclusive_scan(t.offsets.begin(), t.offsets.end(), t.offsets.begin());
  std::vector<int> at(t.offsets.begin(), t.offsets.end() - 1);
  for (int u = 0; u < n; ++u)
    for (int k = g.offsets[u]; k < g.offsets[u + 1]; ++k) {
      const int slot = at[g.targets[k]]++;
      t.targets[slot] = u;
      t.weights[slot] = g.weights[k];
    }
  return t;
}
int main() {
  const int scale = 5, n = 1 << scale;
  auto edges = rmat(scale, 120, 2024u);
  show(edges[0].first * 100 + edges[0].second); //= 329
  show(std::count_if(edges.begin(), edges.end(), [](const Edge& e) { return e.first == e.second; })); //= 11
  Csr g = toCsr(n, edges);
  show(g.targets.size()); //= 89
  show(g.offsets[n / 2]); //= 61
  int widest = 0;
  for (int v = 1; v < n; ++v) if (g.degree(v) > g.degree(widest)) widest = v;
  show(widest * 100 + g.degree(widest)); //= 18
  Csr t = transposed(g);
  show(t.offsets[3] * 1000 + t.targets[5]); //= 34006
  float sum = 0;
  for (std::size_t i = 0; i < t.weights.size(); ++i) sum += t.weights[i] * (i % 3);
  show(sum * 1000); //= 12555
  std::vector<int> level(n, -1);
  std::queue<int> open;
  open.push(widest);
  level[widest] = 0;
  while (!open.empty()) {
    const int u = open.front();
    open.pop();
    for (int k = g.offsets[u]; k < g.offsets[u + 1]; ++k)
      if (level[g.targets[k]] < 0) { level[g.targets[k]] = level[u] + 1; open.push(g.targets[k]); }
  }
  show(*std::max_element(level.begin(), level.end()) * 100 + std::count(level.begin(), level.end(), -1)); //= 308
  std::vector<std::tuple<int, int, float>> coo;
  for (int u = 0; u < n; ++u) for (int k = g.offsets[u]; k < g.offsets[u + 1]; ++k) coo.emplace_back(g.targets[k], u, g.weights[k]);
  std::sort(coo.begin(), coo.end(), [](const auto& a, const auto& b) { return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b)); });
  show(std::get<0>(coo[40]) * 100 + std::get<1>(coo[40])); //= 417
  std::unordered_map<int, int> histogram;
  for (int v = 0; v < n; ++v) ++histogram[g.degree(v)];
  int code = 0;
  for (int d = 0; d < 12; ++d) code = code * 7 + (histogram.count(d) ? histogram.at(d) : 0);
  show(code); //= -1698942013
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return g.degree(a) > g.degree(b); });
  show(order[1] * 10000 + order[2] * 100 + order[n - 1]); //= 80231
  std::vector<int> rank(n);
  for (int i = 0; i < n; ++i) rank[order[i]] = i;
  show(rank[7]); //= 12
  std::set<Edge> undirected;
  for (auto [u, v] : edges) if (u != v) undirected.insert(std::minmax(u, v));
  show(undirected.size() * 100 + undirected.rbegin()->first); //= 7018
  std::size_t triangles = 0;
  for (auto [a, b] : undirected) for (auto [c, d] : undirected) if (c == b && undirected.count({a, d})) ++triangles;
  show(triangles); //= 67
  int ell = 0;
  for (int u = 0; u < n; ++u) ell = std::max(ell, g.degree(u));
  std::vector<int> slots(static_cast<std::size_t>(ell) * n, -1);
  for (int u = 0; u < n; ++u) std::copy(g.targets.begin() + g.offsets[u], g.targets.begin() + g.offsets[u + 1], slots.begin() + static_cast<std::size_t>(u) * ell);
  show(std::accumulate(slots.begin(), slots.end(), 0L)); //= 272
  return 0;
}
