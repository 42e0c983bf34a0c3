/** Data as programs make them: drawn numbers, a k-d tree, shortest paths, Huffman codes, a hash table, algorithms over sorted ranges. */
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <sstream>
#include <stack>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>
struct Edge { int u, v; float w; };
struct Node { int axis = -1, left = -1, right = -1; float split = 0; int first = 0, count = 0; };
struct Box { float lo[3] = {1e30f, 1e30f, 1e30f}, hi[3] = {-1e30f, -1e30f, -1e30f}; void grow(const std::array<float, 3>& p) { for (int k = 0; k < 3; k++) { lo[k] = std::min(lo[k], p[k]); hi[k] = std::max(hi[k], p[k]); } } float area() const { float d[3]; for (int k = 0; k < 3; k++) d[k] = hi[k] - lo[k]; return 2 * (d[0] * d[1] + d[1] * d[2] + d[2] * d[0]); } };
template <class K, class V> class Table {
  struct Slot { K key; V value; bool used = false; };
  std::vector<Slot> slots; size_t size_ = 0;
  size_t find(const K& k) const { size_t h = (size_t)k * 2654435761u; for (size_t i = h & (slots.size() - 1);; i = (i + 1) & (slots.size() - 1)) if (!slots[i].used || slots[i].key == k) return i; }
public:
  explicit Table(size_t n = 8) : slots(n) {}
  V& operator[](const K& k) { if (size_ * 2 >= slots.size()) { std::vector<Slot> old(slots.size() * 2); std::swap(old, slots); size_ = 0; for (auto& s : old) if (s.used) (*this)[s.key] = s.value; } auto& s = slots[find(k)]; if (!s.used) { s.used = true; s.key = k; s.value = V(); size_++; } return s.value; }
  size_t size() const { return size_; } size_t capacity() const { return slots.size(); }
};
int main() {
  {
    std::mt19937 gen(7);
    std::normal_distribution<float> nd(1.f, 2.f);
    std::vector<float> v(100);
    for (auto& x : v) x = nd(gen);
    show(std::accumulate(v.begin(), v.end(), 0.f) * 1000); //= 65931
    std::shuffle(v.begin(), v.end(), gen);
    show(v[17] * 100000); //= 177864
    std::discrete_distribution<int> dd({1, 4, 2});
    std::array<int, 3> hist{};
    for (int i = 0; i < 200; i++) hist[dd(gen)]++;
    show(hist[0] * 10000 + hist[1] * 100 + hist[2]); //= 223148
    std::uniform_int_distribution<int> ui(-5, 5);
    std::uniform_real_distribution<double> ur(0, 3);
    std::bernoulli_distribution bd(0.3);
    std::exponential_distribution<double> ed(2);
    long h = 0;
    for (int i = 0; i < 50; i++) h = h * 31 + ui(gen) + (long)(ur(gen) * 1000) + bd(gen) + (long)(ed(gen) * 100);
    show(h % 1000003); //= -221721
    std::mt19937_64 g64(5);
    show(g64() % 100000 + std::generate_canonical<double, 53>(g64) * 100); //= 28345
    std::vector<int> picked;
    std::vector<int> all(20); std::iota(all.begin(), all.end(), 0);
    std::sample(all.begin(), all.end(), std::back_inserter(picked), 5, gen);
    for (int x : picked) show(x); //= 6 15 17 18 19
    std::seed_seq seq{1, 2, 3};
    std::minstd_rand lr(seq);
    show(lr() % 10007); //= 9484
  }
  {
    std::mt19937 gen(3);
    std::vector<std::array<float, 3>> pts(64);
    std::uniform_real_distribution<float> u(-1, 1);
    for (auto& p : pts) for (auto& c : p) c = u(gen);
    std::vector<Node> nodes;
    std::vector<int> idx(64); std::iota(idx.begin(), idx.end(), 0);
    std::function<int(int, int, int)> build = [&](int a, int b, int depth) {
      int id = nodes.size(); nodes.emplace_back();
      if (b - a <= 4) { nodes[id].first = a; nodes[id].count = b - a; return id; }
      int axis = depth % 3, m = (a + b) / 2;
      std::nth_element(idx.begin() + a, idx.begin() + m, idx.begin() + b, [&](int i, int j) { return pts[i][axis] < pts[j][axis]; });
      nodes[id].axis = axis; nodes[id].split = pts[idx[m]][axis];
      int l = build(a, m, depth + 1), r = build(m, b, depth + 1);
      nodes[id].left = l; nodes[id].right = r;
      return id;
    };
    build(0, 64, 0);
    show(nodes.size()); //= 31
    float s = 0; for (auto& n : nodes) s += n.split * (n.axis + 1);
    show(s * 10000); //= 1444
    show(idx[0] + idx[63] * 100); //= 6326
    Box box; for (auto& p : pts) box.grow(p);
    show(box.area() * 1000); //= 21478
  }
  {
    std::vector<Edge> edges{{0, 1, 4}, {0, 2, 1}, {2, 1, 2}, {1, 3, 5}, {2, 3, 8}, {3, 4, 3}};
    std::vector<std::vector<std::pair<int, float>>> adj(5);
    for (const auto& [u, v, w] : edges) { adj[u].emplace_back(v, w); adj[v].push_back({u, w}); }
    std::vector<float> dist(5, std::numeric_limits<float>::infinity());
    using Item = std::pair<float, int>;
    std::priority_queue<Item, std::vector<Item>, std::greater<>> q;
    dist[0] = 0; q.emplace(0.f, 0);
    while (!q.empty()) { auto [d, u] = q.top(); q.pop(); if (d > dist[u]) continue; for (auto [v, w] : adj[u]) if (dist[u] + w < dist[v]) q.emplace(dist[v] = dist[u] + w, v); }
    for (float d : dist) show(d); //= 0 3 1 8 11
    std::vector<int> rowPtr(6, 0), col; for (int i = 0; i < 5; i++) { std::sort(adj[i].begin(), adj[i].end()); for (auto& [v, w] : adj[i]) col.push_back(v); rowPtr[i + 1] = col.size(); }
    show(rowPtr[3] * 100 + col[4] * 10 + col.back()); //= 833
    std::vector<int> comp(5); std::iota(comp.begin(), comp.end(), 0);
    auto find = [&](auto&& self, int x) -> int { return comp[x] == x ? x : comp[x] = self(self, comp[x]); };
    std::sort(edges.begin(), edges.end(), [](auto& a, auto& b) { return std::tie(a.w, a.u) < std::tie(b.w, b.u); });
    float mst = 0; for (auto& e : edges) { int a = find(find, e.u), b = find(find, e.v); if (a != b) { comp[a] = b; mst += e.w; } }
    show(mst); //= 11
  }
  {
    std::string text = "the quick brown fox jumps over the lazy dog the end";
    std::map<char, int> freq; for (char c : text) freq[c]++;
    struct H { int w; char c; int l, r; };
    std::vector<H> tree; auto cmp = [&](int a, int b) { return tree[a].w != tree[b].w ? tree[a].w > tree[b].w : a > b; };
    std::priority_queue<int, std::vector<int>, decltype(cmp)> q(cmp);
    for (auto [c, n] : freq) { tree.push_back({n, c, -1, -1}); q.push(tree.size() - 1); }
    while (q.size() > 1) { int a = q.top(); q.pop(); int b = q.top(); q.pop(); tree.push_back({tree[a].w + tree[b].w, 0, a, b}); q.push(tree.size() - 1); }
    std::map<char, std::string> codes; std::stack<std::pair<int, std::string>> st; st.push({q.top(), ""});
    while (!st.empty()) { auto [n, code] = st.top(); st.pop(); if (tree[n].l < 0) codes[tree[n].c] = code; else { st.push({tree[n].l, code + "0"}); st.push({tree[n].r, code + "1"}); } }
    int bits = 0; for (char c : text) bits += codes[c].size();
    show(bits); //= 221
    show(codes['t'].size() * 10 + codes['z'].size()); //= 45
    std::unordered_map<std::string, int> words; std::istringstream in(text); std::string w; std::vector<int> ids;
    while (in >> w) ids.push_back(words.try_emplace(w, (int)words.size()).first->second);
    for (int i : ids) show(i); //= 0 1 2 3 4 5 0 6 7 0 8
  }
  {
    Table<int, int> t; for (int i = 0; i < 40; i++) t[(i * 37) % 23] += i;
    show(t.size() * 1000 + t.capacity()); //= 23064
    show(t[7] + t[22]); //= 65
    std::unordered_set<int> seen; std::vector<int> uniq; for (int x : {5, 3, 5, 9, 3}) if (seen.insert(x).second) uniq.push_back(x);
    show(uniq.size() * 100 + uniq.back()); //= 309
  }
  {
    std::vector<int> a{5, 1, 4, 2, 3, 9, 7, 8}, b{2, 4, 6, 8};
    std::partial_sort(a.begin(), a.begin() + 3, a.end());
    show(a[0] * 100 + a[1] * 10 + a[2]); //= 123
    auto mid = std::stable_partition(a.begin(), a.end(), [](int x) { return x % 2 == 0; });
    show(mid - a.begin()); //= 3
    int s = 0; for (int x : a) s = s * 10 + x;
    show(s); //= 24813597
    std::rotate(a.begin(), a.begin() + 2, a.end()); s = 0; for (int x : a) s = s * 10 + x;
    show(s); //= 81359724
    std::sort(a.begin(), a.end()); std::vector<int> c; std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(c));
    show(c.size() * 100 + c.back()); //= 308
    std::vector<int> m(a.size() + b.size()); std::merge(a.begin(), a.end(), b.begin(), b.end(), m.begin()); s = 0; for (size_t i = 0; i < m.size(); i++) s += m[i] * (i + 1);
    show(s); //= 489
    m.erase(std::unique(m.begin(), m.end()), m.end());
    show(m.size()); //= 9
    auto [lo, hi] = std::equal_range(m.begin(), m.end(), 4);
    show((lo - m.begin()) * 10 + (hi - lo)); //= 31
    std::vector<int> p(8); std::exclusive_scan(a.begin(), a.end(), p.begin(), 10);
    show(p.back()); std::partial_sum(a.begin(), a.end(), p.begin()); //= 40
    show(p[4]); std::adjacent_difference(a.begin(), a.end(), p.begin()); //= 15
    show(p[3] + p[5]); //= 3
    show(std::inner_product(a.begin(), a.begin() + 4, b.begin(), 0)); //= 60
    show(std::transform_reduce(a.begin(), a.end(), 0, std::plus<>(), [](int x) { return x * x; })); //= 249
    std::vector<int> k{1, 4, 7, 2, 3, 9}; std::inplace_merge(k.begin(), k.begin() + 3, k.end()); s = 0; for (int x : k) s = s * 10 + x;
    show(s); //= 123479
    int n = 0; std::generate(k.begin(), k.end(), [&n] { return n += n + 1; });
    show(k.back()); //= 63
    show(std::lower_bound(a.begin(), a.end(), 6) - a.begin()); //= 5
    show(std::clamp(15, 0, 9) + std::gcd(12, 18) + std::midpoint(2, 9)); //= 20
    std::vector<std::string> names{"bb", "a", "ccc"}; std::sort(names.begin(), names.end(), [](auto& x, auto& y) { return x.size() > y.size(); });
    show(names[0].size() * 10 + names[2].size()); //= 31
    std::nth_element(a.begin(), a.begin() + 4, a.end(), std::greater<>());
    show(a[4]); //= 4
    std::make_heap(a.begin(), a.end()); std::pop_heap(a.begin(), a.end());
    show(a.back() * 10 + a.front()); //= 98
  }
  return 0;
}
