/** Dijkstra with a queue of pairs, and all pairs. */
#include <climits>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>
using Graph = std::vector<std::vector<std::pair<int, int>>>;
std::vector<int> distances(const Graph& g, int from) {
  std::vector<int> d(g.size(), INT_MAX);
  using Item = std::pair<int, int>;
  std::priority_queue<Item, std::vector<Item>, std::greater<Item>> open;
  open.emplace(d[from] = 0, from);
  while (!open.empty()) {
    auto [dist, u] = open.top();
    open.pop();
    if (dist > d[u]) continue;
    for (auto [v, w] : g[u])
      if (dist + w < d[v]) open.emplace(d[v] = dist + w, v);
  }
  return d;
}
int main() {
  const int n = 30;
  Graph g(n);
  for (int i = 0; i < n; i++)
    for (int k : {1, 4, 9}) {
      int to = (i * k + 3 * k + 1) % n;
      g[i].push_back({to, (i * 13 + k * 7) % 20 + 1});
    }
  auto d = distances(g, 0);
  show(d[n - 1]); //= 9
  show(d[7]); //= 21
  int unreachable = 0;
  long sum = 0;
  for (int x : d) if (x == INT_MAX) unreachable++; else sum += x;
  show(unreachable); //= 0
  show(sum); //= 734
  std::vector<std::vector<int>> all(n, std::vector<int>(n, std::numeric_limits<int>::max() / 2));
  for (int i = 0; i < n; i++) { all[i][i] = 0; for (auto& [v, w] : g[i]) all[i][v] = std::min(all[i][v], w); }
  for (int k = 0; k < n; k++) for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) all[i][j] = std::min(all[i][j], all[i][k] + all[k][j]);
  show(all[0][n - 1]); //= 9
  show(all[3][5]); //= 23
  int same = 0;
  for (int i = 0; i < n; i++) same += all[0][i] == d[i];
  show(same); //= 30
  return 0;
}
