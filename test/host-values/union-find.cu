/** Components and a spanning tree. */
#include <algorithm>
#include <numeric>
#include <set>
#include <vector>
class Sets {
  std::vector<int> parent_, size_;
  int count_;
 public:
  explicit Sets(int n) : parent_(n), size_(n, 1), count_(n) { std::iota(parent_.begin(), parent_.end(), 0); }
  int find(int x) { return parent_[x] == x ? x : parent_[x] = find(parent_[x]); }
  bool join(int a, int b) {
    a = find(a); b = find(b);
    if (a == b) return false;
    if (size_[a] < size_[b]) std::swap(a, b);
    parent_[b] = a;
    size_[a] += size_[b];
    --count_;
    return true;
  }
  int count() const { return count_; }
  int sizeOf(int x) { return size_[find(x)]; }
};
struct Edge { int a, b, w; bool operator<(const Edge& o) const { return w < o.w || (w == o.w && a < o.a); } };
int main() {
  const int n = 40;
  std::vector<Edge> edges;
  unsigned s = 12345;
  auto draw = [&s](int m) { s = s * 1664525u + 1013904223u; return int((s >> 8) % m); };
  for (int i = 0; i < 60; i++) { int a = draw(n); int b = draw(n); int w = draw(100); edges.push_back({a, b, w}); }
  Sets all(n);
  for (const auto& [a, b, w] : edges) all.join(a, b);
  show(all.count()); //= 3
  show(all.sizeOf(0)); //= 37
  std::sort(edges.begin(), edges.end());
  Sets tree(n);
  int weight = 0, used = 0;
  for (const Edge& e : edges) if (tree.join(e.a, e.b)) { weight += e.w; used++; }
  show(weight); //= 1439
  show(used); //= 37
  std::set<int> roots;
  for (int i = 0; i < n; i++) roots.insert(tree.find(i));
  show(roots.size()); //= 3
  std::vector<int> labels(n);
  for (int i = 0; i < n; i++) labels[i] = std::distance(roots.begin(), roots.find(tree.find(i)));
  show(*std::max_element(labels.begin(), labels.end())); //= 2
  show(std::count(labels.begin(), labels.end(), labels[0])); //= 37
  return 0;
}
